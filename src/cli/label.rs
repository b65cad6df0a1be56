//! `tw label`.

use crate::cli::human::snapshot::headline;
use crate::cli::prelude::*;
use crate::ops::label::Labels;
use crate::ops::outcome::Labelled;

/// Give a snapshot a label, take one away, or list all labels
///
/// Without arguments: every label of the repository, with what it names. A label names one snapshot of the repository, and holds it: 'tw prune' keeps labelled snapshots. It reads like a
/// component of a ref name and may not look like another kind of address (a keyword, a part of an id, a number, a time,
/// 4 to 64 hex digits).
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "tw label [OPTIONS]\n       tw label [OPTIONS] <SNAPSHOT> <NAME>\n       tw label [OPTIONS] --remove <NAME>",
    after_help = "\
Examples:
  # Find it again by name
  tw label latest before-refactor
  tw travel before-refactor

  # Which labels are there?
  tw label

  # Take the label away
  tw label --remove before-refactor"
)]
pub struct Args {
    /// Label this snapshot
    #[arg(value_name = "SNAPSHOT", requires = "name", add = complete::destinations())]
    pub address: Option<String>,

    /// Use this label
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    #[command(flatten)]
    pub worktrees: flags::AllWorktrees,

    /// Take the label NAME away
    #[arg(long, value_name = "NAME", add = complete::labels(), conflicts_with_all = ["address", "name"])]
    pub remove: Option<String>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<Labelled>("label"),
        document::<Labels>("label")
            .named("label-list")
            .when("without a NAME"),
    ];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = self.worktrees.open(call)?;
        let Some(name) = self.remove.as_ref().or(self.name.as_ref()) else {
            return reply(ops::label::all(&context));
        };
        let request = ops::label::Label {
            address: self.address.clone(),
            name: name.clone(),
            remove: self.remove.is_some(),
        };
        reply(ops::label::label(&context, &request))
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
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.snapshot.id.clone()])
    }
}

impl Human for Labels {
    fn print(&self, page: &mut Page) {
        let widths = self
            .labels
            .iter()
            .map(|one| clean(&one.label).chars().count());
        let width = widths.max().unwrap_or(0);
        for one in &self.labels {
            let label = clean(&one.label);
            let gap = " ".repeat(width - label.chars().count());
            let label = page.options.style.green(&label);
            let (Some(id), Some(title), Some(at)) = (&one.snapshot_id, &one.title, &one.created_at)
            else {
                page.line(format!("{label}{gap}  {}  (not readable)", one.commit));
                continue;
            };
            let (id, age) = (page.id(id), page.options.ago(at));
            page.line(format!("{label}{gap}  {id}  {}  ({age})", clean(title)));
        }
        if self.labels.is_empty() {
            page.note("there are no labels");
            page.hint("'tw label latest NAME' gives the newest snapshot one");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.labels.iter().map(|one| one.label.clone()).collect())
    }
}
