//! `tw context compact`.

use std::path::PathBuf;

use super::{kept, skipped};
use crate::cli::input;
use crate::cli::prelude::*;
use crate::ops::context::{self, Compact, Compacted, ContextLog, NotDone, Summary};

/// Put a summary in the place of old turns
///
/// A turn begins with what a person said. The last turns stay, without thoughts; a summary stands for the others. It is
/// read from a file, or printed by CMD, a line for sh that reads the old turns as Markdown on its standard input. Refuses
/// while a tool call waits for its result. Checkpoints in the turns that stay keep their numbers, the others cannot be
/// reverted to any more, and no number comes again.
#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("summary").required(true),
    after_help = "\
Examples:
  # Before each call of the model
  tw context compact --if-over 200000 --summarizer 'my-model summarize'

  # With a summary that was written elsewhere
  tw context compact --keep 1 --summary-file summary.md"
)]
pub struct Args {
    /// Keep the last N turns
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub keep: usize,

    /// Read the summary from FILE; '-' is standard input
    #[arg(long, value_name = "FILE", group = "summary", value_hint = ValueHint::FilePath)]
    pub summary_file: Option<PathBuf>,

    /// Let CMD make the summary
    #[arg(long, value_name = "CMD", group = "summary", value_hint = ValueHint::CommandString)]
    pub summarizer: Option<String>,

    /// Do nothing unless tokens and --reserved reach MAX
    #[arg(long, value_name = "MAX")]
    pub if_over: Option<u64>,

    /// Keep N tokens free for what comes
    #[arg(long, value_name = "N", default_value_t = 50_000, requires = "if_over")]
    pub reserved: u64,
}

impl Args {
    pub fn run(&self, log: &ContextLog, call: &Call<'_>) -> Reply {
        reply(context::compact(log, &compaction(self, call)?))
    }
}

fn compaction(args: &Args, call: &Call<'_>) -> Result<Compact> {
    let summary = match (&args.summarizer, &args.summary_file) {
        (Some(line), _) => Summary::Command(line.clone()),
        (None, Some(file)) => {
            let file = if file.as_os_str() == "-" {
                file.clone()
            } else {
                call.start.join(file)
            };
            Summary::Text(String::from_utf8_lossy(&input::read(&file)?).into_owned())
        }
        // One of the two is required.
        (None, None) => Summary::Text(String::new()),
    };
    Ok(Compact {
        keep: args.keep,
        summary,
        if_over: args.if_over,
        reserved: args.reserved,
    })
}

impl Human for Compacted {
    fn print(&self, page: &mut Page) {
        match self.reason {
            None => {
                page.line(format!(
                    "compacted: a summary stands for {}, {} tokens are about {}",
                    count(self.messages_discarded, "message"),
                    number(self.tokens_before),
                    number(self.tokens_after)
                ));
                kept(page, self.rotated_to.as_deref());
            }
            Some(NotDone::UnderLimit) => page.line(format!(
                "nothing to do: {} tokens are within the limit",
                number(self.tokens_before)
            )),
            Some(NotDone::NothingToCompact) => {
                page.line("nothing to do: there are no more turns than are kept");
                page.hint("'--keep 0' keeps none");
            }
        }
        skipped(page, self.skipped);
    }
}
