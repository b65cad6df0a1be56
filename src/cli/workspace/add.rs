//! `tw workspace add`.

use std::ffi::OsString;

use crate::cli::prelude::*;
use crate::ops::workspace::MembersChanged;

/// Make other repositories members of the workspace of this one
///
/// Each must be the root of a working tree of its own, in the present, and of no other workspace. Snapshots that were taken before have
/// none of it beside them: travel to them is refused while it is a member.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # One beside this repository
  tw workspace add ../lib")]
pub struct Args {
    /// The repositories
    #[arg(value_name = "DIR", required = true, value_hint = clap::ValueHint::DirPath)]
    pub dirs: Vec<OsString>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<MembersChanged>("workspace add")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(ops::workspace::add(&call.open()?, &self.dirs))
    }
}
