//! `tw workspace off`.

use crate::cli::prelude::*;
use crate::ops::workspace::MembersChanged;

/// End the workspace; in a member, leave it
///
/// Snapshots, and what is in the past, stay as they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Every repository goes its own way again
  tw workspace off")]
pub struct Args {}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<MembersChanged>("workspace off")];

    fn run(&self, call: &Call<'_>) -> Reply {
        reply(ops::workspace::off(&call.open()?))
    }
}
