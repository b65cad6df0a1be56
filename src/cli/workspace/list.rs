//! `tw workspace list`.

use crate::cli::prelude::*;
use crate::ops::outcome::Membership;
use crate::ops::workspaces::membership;

/// Show the members, and whether each can take part
///
/// In a member it shows the workspace that it belongs to.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Who goes along?
  tw workspace list")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Membership>("workspace list")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(membership(&call.open()?))
    }
}
