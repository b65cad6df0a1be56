//! `tw web`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::ask::Flag;
use crate::cli::call::Answer;
use crate::cli::human::text::size;
use crate::cli::prelude::*;
use crate::cli::selection::Selection;
use crate::env::Env;
use crate::progress::Silent;
use crate::web::{self, Export, Exported, Serve, Served};

/// Show the timeline as a page in a browser
///
/// Serves it on 127.0.0.1 and prints the address, with a token in it that nobody else has. The page shows what 'tw log' shows:
/// the timeline, what each entry changed, and what was asked. It only looks; with --allow-changes it can travel, return,
/// restore, rewind, undo, redo, open, label and report, each after its dry run. It ends by itself when nobody used it for a while, or with Ctrl-C, and
/// leaves nothing behind.
///
/// With --export it is written into one file instead, which works without tw and without a network. What agents were asked is left
/// out, and so are titles that came from it, unless --prompts is given. Secrets are taken out again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Look at it in a browser
  tw web

  # A page of what happened since yesterday, for somebody else
  tw web --export timeline.html --since yesterday

  # Travel and restore from the page, too
  tw web --allow-changes")]
pub struct Args {
    #[command(flatten)]
    selection: Selection,

    /// Write the page into FILE instead of serving it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    export: Option<PathBuf>,

    /// Replace FILE when it is there
    #[arg(long, requires = "export")]
    force: bool,

    /// Write what agents were asked into the file, too
    ///
    /// Asks first when some of it was asked by somebody else, in a session of another account or home.
    #[arg(long, requires = "export")]
    prompts: bool,

    /// Listen on this port of 127.0.0.1 (default: one that is free)
    #[arg(long, value_name = "PORT", conflicts_with = "export")]
    port: Option<u16>,

    /// Let the page change the working tree, labels and issues
    #[arg(long, conflicts_with = "export")]
    allow_changes: bool,

    /// End when nobody used the page for this long: '90s', '30m' or '2h'
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = flags::duration, conflicts_with = "export")]
    idle: Duration,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<Served>("web"),
        document::<Exported>("web --export"),
    ];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        let filter = self.selection.filter(&context)?;
        let Some(file) = &self.export else {
            // Made once before anybody is told an address: a repository that cannot be read is said here.
            ops::timeline::Timeline::new(&context, &filter)?;
            let what = Serve {
                env: call.env.clone(),
                start: call.start.to_owned(),
                filter,
                port: self.port.unwrap_or(0),
                allow_changes: self.allow_changes,
                idle: self.idle,
                after_change,
            };
            web::serve(what, |served| {
                call.output.answer(served);
            })?;
            return Ok(Box::new(Ended));
        };
        let export = Export {
            file: call.start.join(file),
            filter,
            prompts: self.prompts,
            force: self.force,
        };
        let others = web::plan(&context, &export)?;
        if others.prompts > 0 {
            let question = format!(
                "Of the prompts that go into the page, {} of {} belong to somebody else. Write them?",
                others.prompts,
                count(others.sessions, "session")
            );
            let agreed = call.ask.confirm(&question, Flag::Yes);
            agreed.map_err(|error| match error.code() {
                Code::Usage => Error::usage(error.message())
                    .hint("-y writes them; without --prompts none goes into the page"),
                _ => error,
            })?;
        }
        let mut exported = web::export(&context, &export)?;
        exported.file = file.display().to_string();
        reply(Ok(exported))
    }
}

/// What a command on the command line does after a change.
fn after_change(env: &Env, start: &Path) {
    if let Ok(context) = Context::open(start, env, &Silent) {
        background::start_when_due(&context);
    }
}

impl Human for Served {
    fn print(&self, page: &mut Page) {
        page.line(&self.url);
        let does = if self.allow_changes {
            "it may change the working tree, labels and issues"
        } else {
            "it only looks"
        };
        let (number, unit) = match self.idle_seconds {
            seconds if seconds % 60 == 0 => (seconds / 60, "minute"),
            seconds => (seconds, "second"),
        };
        page.note(format!(
            "{does}; it ends with Ctrl-C, or when nobody used it for {}",
            count(usize::try_from(number).unwrap_or(usize::MAX), unit)
        ));
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.url.clone()])
    }
}

/// Nobody used it any more.
struct Ended;

impl Human for Ended {
    fn print(&self, page: &mut Page) {
        page.note("ended: idle for too long");
    }
}

impl Answer for Ended {
    fn json(&self) -> String {
        String::new()
    }
}

impl Human for Exported {
    fn print(&self, page: &mut Page) {
        page.line(format!(
            "wrote '{}': {}, {}",
            clean(&self.file),
            count(self.entries, "entry"),
            size(self.bytes as u64)
        ));
        let replaced: u64 = self.redacted.values().sum();
        let replaced = usize::try_from(replaced).unwrap_or(usize::MAX);
        if replaced > 0 {
            page.line(format!("  taken out: {}", count(replaced, "secret")));
        }
        if self.prompts > 0 {
            page.line(format!(
                "  with the text of {}",
                count(self.prompts, "prompt")
            ));
        }
        if self.prompts_left_out > 0 {
            page.line(format!(
                "  {} and titles from them are left out; --prompts writes them, too",
                count(self.prompts_left_out, "prompt")
            ));
        }
        if self.without_lines > 0 {
            page.line(format!(
                "  {} named without lines: the page would have become too large",
                count(self.without_lines, "path")
            ));
        }
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.file.clone()])
    }
}
