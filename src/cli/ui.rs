//! `tw ui`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use std::io::IsTerminal;

use serde_json::Value;

use super::args;
use super::call::Answer;
use crate::cli::ask::Ask;
use crate::cli::human::screen::Screen;
use crate::cli::human::style::Style;
use crate::cli::log;
use crate::cli::prelude::*;
use crate::ops::log::Log;
use crate::progress::Silent;
use crate::ui::model::Theme;
use crate::ui::{self, Answered, Commands, Place};

/// Walk through the timeline on a full screen
///
/// At the left what happened, newest first, by session and prompt; at the right what changed there; below the prompt. Move
/// with the arrows or 'j' and 'k', change the pane with Tab, search with '/'; '?' shows all keys.
///
/// From there travel (t), restore (r), rewind (R), undo (u), label (l), open (o) or report an issue (i): each first shows what its
/// command would do, and asks; Enter means no. 'm' marks and 'c' compares. Off a terminal it prints what 'tw log' prints,
/// which is also the way for screen readers.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Look around
  tw ui

  # Only what changed something in src/
  tw ui -- src/")]
#[group(skip)]
pub struct Args {
    #[command(flatten)]
    log: log::Args,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Log>("ui")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let shows = std::io::stdin().is_terminal()
            && call.output.options().terminal
            && call.env.text("TERM") != Some("dumb");
        if !shows || call.output.is_json() || call.output.options().quiet {
            return self.log.run(call);
        }
        let context = call.open()?;
        let place = Place {
            start: call.start.to_owned(),
            env: call.env.clone(),
            filter: self.log.filter(&context)?,
        };
        let commands = InProcess {
            call,
            root: context.repo.worktree_root().to_owned(),
        };
        let theme = Theme {
            color: call.output.options().style.is_on(),
            unicode: Screen::of_stdout(call.env, true).unicode,
        };
        ui::run(&place, theme, &commands)?;
        Ok(Box::new(Left))
    }
}

/// Runs the commands of this program in this process: the same code as on the command line, without a second program that may
/// be another version, or not be found.
struct InProcess<'c> {
    call: &'c Call<'c>,
    /// Paths of the timeline are relative to it.
    root: PathBuf,
}

impl Commands for InProcess<'_> {
    fn run(&self, words: &[OsString]) -> Answered {
        let answer = self.answer(words, &self.root);
        match answer {
            Ok(answer) => Answered {
                done: answer.exit_code() == 0,
                text: self.page(answer.as_ref()),
                document: serde_json::from_str(&answer.json()).unwrap_or(Value::Null),
            },
            Err(error) => Answered {
                done: false,
                text: told(&error),
                document: Value::Null,
            },
        }
    }
}

impl InProcess<'_> {
    fn answer(&self, words: &[OsString], root: &Path) -> Reply {
        let name = OsString::from("tw");
        let words: Vec<OsString> = [name].into_iter().chain(words.iter().cloned()).collect();
        let cli = args::parse(&words).map_err(|error| Error::usage(error.to_string()))?;
        let command = cli.command.ok_or_else(|| Error::usage("no command"))?;
        command.run(&Call {
            env: self.call.env,
            start: root,
            progress: &Silent,
            yes: false,
            ask: Ask::nobody(),
            output: self.call.output,
        })
    }

    fn page(&self, answer: &dyn Answer) -> String {
        let page = answer.page(&RenderOptions {
            style: Style::new(false),
            now: self.call.env.now(),
            ..*self.call.output.options()
        });
        let mut text = String::from_utf8_lossy(&page.text).into_owned();
        for note in &page.notes {
            text.push_str(&format!("note: {}\n", clean(note)));
        }
        // Here 'y' does what a dry run shows, and the command line stands above it.
        let hints = page.hints.iter();
        for hint in hints.filter(|hint| !hint.ends_with("' does it")) {
            text.push_str(&format!("hint: {}\n", clean(hint)));
        }
        text
    }
}

fn told(error: &Error) -> String {
    let mut text = format!("error: {}\n", clean(error.message()));
    for hint in error.hints() {
        text.push_str(&format!("hint: {}\n", clean(hint)));
    }
    text
}

/// Nothing is left to say.
#[derive(serde::Serialize)]
struct Left;

impl Human for Left {
    fn print(&self, _page: &mut Page) {}
}
