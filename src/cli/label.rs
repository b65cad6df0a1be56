//! `tw label`.

use crate::cli::human::snapshot::headline;
use crate::cli::prelude::*;
use crate::ops::outcome::Labelled;

/// Give a snapshot a label, or take one away
///
/// A label names one snapshot of the repository, and holds it: 'tw prune' keeps labelled snapshots. It reads like a
/// component of a ref name and may not look like another kind of address (a keyword, a part of an id, a number, a time,
/// 4 to 40 hex digits).
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tw label [OPTIONS] <SNAPSHOT> <NAME>\n       tw label [OPTIONS] --remove <NAME>",
    after_help = "\
Examples:
  # Find it again by name
  tw label latest before-refactor
  tw travel before-refactor

  # Take the label away
  tw label --remove before-refactor"
)]
pub struct Args {
    /// Label this snapshot
    #[arg(value_name = "SNAPSHOT", required_unless_present = "remove", add = complete::snapshots())]
    pub address: Option<String>,

    /// Use this label
    #[arg(value_name = "NAME", required_unless_present = "remove")]
    pub name: Option<String>,

    /// Take the label NAME away
    #[arg(long, value_name = "NAME", conflicts_with_all = ["address", "name"])]
    pub remove: Option<String>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Labelled>("label")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = ops::label::Label {
            address: self.address.clone(),
            name: self
                .remove
                .as_ref()
                .or(self.name.as_ref())
                .cloned()
                .unwrap_or_default(),
            remove: self.remove.is_some(),
        };
        reply(ops::label::label(&call.open()?, &request))
    }
}

impl Human for Labelled {
    fn print(&self, page: &mut Page) {
        let verb = if self.removed {
            "took the label"
        } else {
            "labelled"
        };
        let (label, place) = (clean(&self.label), headline(&self.snapshot, &page.options));
        page.line(if self.removed {
            format!("{verb} '{label}' away from {place}")
        } else {
            format!("{verb} '{label}': {place}")
        });
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.snapshot.id.clone()])
    }
}
