//! `tw workspace remove`.

use std::ffi::OsString;

use crate::cli::prelude::*;
use crate::ops::workspace::MembersChanged;

/// Take members out of the workspace
///
/// They stay where they are: one that is in the past returns by a 'tw return' of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # It goes its own way again
  tw workspace remove ../lib")]
pub struct Args {
    /// The members, as the list names them or from the current directory
    #[arg(value_name = "DIR", required = true, value_hint = clap::ValueHint::DirPath)]
    pub dirs: Vec<OsString>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<MembersChanged>("workspace remove")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(ops::workspace::remove(&call.open()?, &self.dirs))
    }
}
