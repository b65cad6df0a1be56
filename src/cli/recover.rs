//! `tw recover`: a swap that died, or refs that were dropped.

use crate::cli::ask::Flag;
use crate::cli::background;
use crate::cli::human::swap::{changes, remark, saved};
use crate::cli::prelude::*;
use crate::ops::outcome::{DroppedListing, Recovered, RecoveryAction};
use crate::store::trigger::SwapKind;
use crate::wire;

/// Finish or undo an interrupted swap, or take back what was dropped
///
/// A swap (travel, return, restore, undo) that was killed half-way left a journal. Recover saves what is on disk, then
/// goes back to before the swap, or forward when only the end of it is missing. Paths that somebody changed in between
/// are listed, and their later bytes stay in place when you agree (or with -y). Other commands that change something
/// recover by themselves when every path is as one of the two sides has it.
///
/// After a power cut it also puts right what came back empty or torn of a swap that had ended, and clears away snapshots
/// and records whose objects did not reach the disk, naming them.
///
/// Files of tw's own that are damaged (torn, emptied, a directory in their place) are set aside under another name. Where the working tree
/// stands is made again from the journals of the last swaps, and the repository's id, when it was lost, from their backups. What is kept for sharing is set aside whole: see tw-share(1).
///
/// Where another program rewrote the history of all refs (git filter-repo, git filter-branch -- --all, git lfs migrate), the way back to the
/// present, undo steps and notes go by what became of the commits that are gone. Where nothing has the present any more, or its backup lost
/// something, it says so, and with -y ends the stay in the past: working tree, index and HEAD stay as they are, and the command that brings
/// back what is left of the backup is named. Otherwise it does nothing.
///
/// With --dropped it lists what prune and drop have forgotten, and what undo steps need and whose refs something else deleted; with ids it
/// takes these back while git still has them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # After a crash
  tw recover

  # Take back a snapshot that was dropped
  tw recover --dropped
  tw recover --dropped s_20260228_153012_ab12cd")]
pub struct Args {
    /// Finish the swap
    #[arg(long, conflicts_with = "back")]
    pub forward: bool,

    /// Undo the swap
    #[arg(long)]
    pub back: bool,

    /// List what was dropped, or take these ids back
    #[arg(long, value_name = "ID", num_args = 0.., conflicts_with_all = ["forward", "back"])]
    pub dropped: Option<Vec<String>>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<Recovered>("recover"),
        document::<DroppedListing>("recover --dropped"),
    ];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        if let Some(ids) = &self.dropped {
            return reply(ops::recover_dropped::dropped(&context, ids));
        }
        let mut request = request::Recover {
            direction: match (self.forward, self.back) {
                (true, _) => request::Direction::Forward,
                (false, true) => request::Direction::Back,
                (false, false) => request::Direction::Auto,
            },
            yes: call.ask.answered(Flag::Yes),
        };
        // Whatever can be decided is done by this; what cannot be comes back undone, for the question.
        let recovered = recover(&context, &request)?;
        if recovered.action != RecoveryAction::Undecided {
            return reply(Ok(recovered));
        }
        if !call.ask.can_ask() {
            if !call.output.is_json() {
                call.output.preview(&recovered);
            }
            return Err(undecided(&recovered, request.direction));
        }
        call.output.preview(&recovered);
        call.ask
            .confirm("Keep these as they are and go on?", Flag::Yes)?;
        // All is looked at again: what changed while the question stood open is among it.
        request.yes = true;
        reply(recover(&context, &request))
    }
}

/// What it wrote is waited for in the background, and so is what it replaced.
fn recover(context: &Context<'_>, request: &request::Recover) -> Result<Recovered> {
    let recovered = ops::recover::recover(context, request);
    background::start_when_due(context);
    recovered
}

/// Nobody can be asked: the paths go into the error.
fn undecided(recovered: &Recovered, direction: request::Direction) -> Error {
    let (flag, what) = match direction {
        request::Direction::Forward => (" --forward", "finishes the swap"),
        request::Direction::Back => (" --back", "undoes the swap"),
        request::Direction::Auto => ("", "undoes the swap; with --forward it is finished"),
    };
    let mut error = Error::new(
        Code::Interrupted,
        format!(
            "{} changed since the interrupted swap, and neither side explains it",
            count(recovered.differing.len(), "path")
        ),
    )
    .hint(format!(
        "'tw recover{flag} -y' keeps the later bytes in place and {what}"
    ));
    // The document has the paths as programs read them, whatever their bytes.
    let document = wire::value(recovered);
    for name in ["operation", "rescue_id", "differing", "differing_bytes"] {
        if let Some(value) = document.get(name) {
            error = error.detail(name, value.clone());
        }
    }
    error
}

impl Human for Recovered {
    fn print(&self, page: &mut Page) {
        let operation = clean(self.operation.as_ref().map_or("swap", SwapKind::as_str));
        page.line(match self.action {
            RecoveryAction::Nothing => "nothing to recover".to_owned(),
            RecoveryAction::RolledBack => format!("undid the interrupted {operation}"),
            RecoveryAction::RolledForward => format!("finished the interrupted {operation}"),
            RecoveryAction::Cleaned => format!("the {operation} was complete; cleaned up after it"),
            RecoveryAction::Mended => {
                "put right what tw had left undone or found damaged".to_owned()
            }
            RecoveryAction::Repaired => {
                format!("repaired what a power cut took of the last {operation}")
            }
            RecoveryAction::Undecided => {
                format!("the interrupted {operation} left paths that neither side explains")
            }
        });
        if self.action == RecoveryAction::Nothing {
            page.notices(&self.notices);
            return;
        }
        saved(page, "what was on disk", self.rescue_id.as_deref());
        if self.action != RecoveryAction::Undecided {
            changes(page, &self.changes, false);
        }
        let what = if self.action == RecoveryAction::Undecided {
            "changed since"
        } else {
            "changed since, and left so"
        };
        if page.options.verbose || self.action == RecoveryAction::Undecided {
            for path in &self.differing {
                page.line(format!("  {what}: {}", quoted(path)));
            }
        } else {
            remark(page, what, &self.differing);
        }
        page.notices(&self.notices);
        if self.action != RecoveryAction::Undecided {
            page.hint("'tw status' shows where you are");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.rescue_id.iter().cloned().collect())
    }
}

impl Human for DroppedListing {
    fn print(&self, page: &mut Page) {
        for entry in &self.dropped {
            let state = match (entry.restored, entry.available) {
                (true, _) => "taken back",
                (false, true) => "can be taken back",
                (false, false) => "gone",
            };
            page.line(format!(
                "{}  dropped {}  {state}",
                page.id(&entry.id),
                page.options.ago(&entry.at)
            ));
        }
        if self.dropped.is_empty() {
            page.note("nothing was dropped");
        } else if (self.dropped.iter()).any(|entry| entry.available && !entry.restored) {
            page.hint("'tw recover --dropped ID' takes one back");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.dropped.iter().map(|entry| entry.id.clone()).collect())
    }
}
