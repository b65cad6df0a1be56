//! `tw rewind`: without a mode it shows what each choice would do, and asks.

mod menu;

use clap::ArgGroup;

use crate::agents::by_name;
use crate::cli::checkpoint::headline;
use crate::cli::exec::{self, resume_line};
use crate::cli::human::swap::members;
use crate::cli::prelude::*;
use crate::ops::checkpoint::{self, List};
use crate::ops::request::DryRun;
use crate::ops::rewind::{
    self, Choices, CodePart, ConversationPart, Delivery, Mode, Rewind, Rewound, Then, Undo, Undone,
};
use crate::store::checkpoint::{Checkpoint, Kind};
use crate::text::one_line;

/// Go back to a checkpoint: files, conversation, or both
///
/// The files go back as 'tw restore' puts them back: all that any tool, command or person changed since, saved in a backup
/// first. The conversation goes back by a fork: a new session file beside the agent's own, which ends just before the
/// checkpoint's prompt; tw prints the agent's command that resumes it. The file of the session that is rewound is never
/// touched. On a terminal without a mode, tw shows what each would do and asks (Enter takes the first); elsewhere a mode is needed. With --dry-run and
/// without a mode it shows what each would do, and asks nothing; without a CHECKPOINT it lists those of the session, as 'tw checkpoint list' does. The files
/// of another worktree's session go back in that worktree alone.
///
/// --note tells the future self what the discarded part has taught. The agent gets it when the fork starts, by its
/// session-start hook where that is set up; else it is printed, to be pasted as the first prompt. 'tw rewind --undo' takes
/// the last rewind back.
#[derive(Debug, clap::Args)]
#[command(
    group = ArgGroup::new("mode").args(["code", "conversation", "both", "never_mind"]).requires("checkpoint"),
    mut_arg("dry_run", |flag| flag.requires("checkpoint")),
    after_help = "\
Examples:
  # Where to?
  tw rewind

  # What would going back to checkpoint 3 do?
  tw rewind 3 --dry-run

  # Go back, and pass on what was learned
  tw rewind 3 --both --note 'the cache is not the problem; look at the parser'

  # Only the files
  tw rewind 3 --code

  # Think again
  tw rewind --undo"
)]
pub struct Args {
    /// The checkpoint's number, 'checkpoint:N' or 'SESSION:N'; without one, list them
    #[arg(value_name = "CHECKPOINT", add = complete::checkpoints())]
    pub checkpoint: Option<String>,

    /// Put the files back
    #[arg(long)]
    pub code: bool,

    /// Fork the conversation
    #[arg(long)]
    pub conversation: bool,

    /// Do both
    #[arg(long)]
    pub both: bool,

    /// Do nothing
    #[arg(long)]
    pub never_mind: bool,

    /// Tell the future self this
    #[arg(long, value_name = "TEXT", requires = "checkpoint")]
    pub note: Option<String>,

    /// Say why, for the record
    #[arg(long, value_name = "TEXT", requires = "checkpoint")]
    pub rationale: Option<String>,

    #[command(flatten)]
    pub dry_run: flags::DryRun,

    /// Mean this session: its id or its first characters, four or more; default: the caller's, or the last one here
    #[arg(long, value_name = "SESSION", add = complete::sessions(), value_parser = flags::named())]
    pub session: Option<String>,

    /// Then run the agent's command that resumes the fork; not with --code, which makes none
    #[arg(long, requires = "checkpoint", conflicts_with_all = ["dry_run", "code", "never_mind"])]
    pub exec: bool,

    /// Take the last rewind back: the files, and the way back to the session
    #[arg(long, conflicts_with_all = ["checkpoint", "mode", "note", "rationale", "dry_run", "exec"])]
    pub undo: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<Rewound>("rewind").when("with a CHECKPOINT"),
        document::<Choices>("rewind --dry-run").when("without --code, --conversation or --both"),
        document::<Undone>("rewind --undo"),
    ];

    fn run(&self, call: &Call<'_>) -> Reply {
        let ctx = call.open()?;
        if self.undo {
            let session = self.session.clone();
            let undone = rewind::undo(&ctx, &Undo { session });
            background::start_when_due(&ctx);
            return reply(undone);
        }
        let Some(checkpoint) = self.checkpoint.clone() else {
            return self.list(&ctx);
        };
        // Behind the document would come whatever the agent prints.
        if self.exec && call.output.is_json() {
            return Err(Error::usage("--exec and --json cannot be used together"));
        }
        let dry_run = DryRun::from(self.dry_run);
        let mode = match mode_of(self) {
            Some(mode) => mode,
            None if dry_run == DryRun::Yes => {
                return reply(rewind::choices(&ctx, &checkpoint, self.session.as_deref()));
            }
            None => menu::ask(&ctx, call, &checkpoint, self.session.as_deref())?,
        };
        let rewound = rewind::rewind(
            &ctx,
            &Rewind {
                checkpoint,
                session: self.session.clone(),
                mode,
                note: self.note.clone(),
                rationale: self.rationale.clone(),
                dry_run,
                then: if self.exec {
                    Then::RunCommand
                } else {
                    Then::Nothing
                },
            },
        )?;
        if self.exec
            && let Some(part) = &rewound.conversation
            && let Some(words) = &part.resume_command
        {
            // Nothing of this process is left to print it later.
            call.output.answer(&rewound);
            return Err(exec::replace_process(words, part.cwd.as_deref()));
        }
        background::start_when_due(&ctx);
        reply(Ok(rewound))
    }
}

impl Args {
    /// The checkpoints that there are, as 'tw checkpoint list' answers.
    fn list(&self, ctx: &Context<'_>) -> Reply {
        let session = self.session.clone();
        let limit = None;
        reply(checkpoint::list(ctx, &List { session, limit }))
    }
}

fn mode_of(args: &Args) -> Option<Mode> {
    let asked = [
        (args.code, Mode::Code),
        (args.conversation, Mode::Conversation),
        (args.both, Mode::Both),
        (args.never_mind, Mode::NeverMind),
    ];
    asked
        .into_iter()
        .find_map(|(flag, mode)| flag.then_some(mode))
}

/// This many files are named without `-v`.
const FILES: usize = 20;

/// `2 files, +3 -10 lines`.
fn code_numbers(part: &CodePart) -> String {
    if part.files.is_empty() {
        return "no file differs".to_owned();
    }
    format!(
        "{}, +{} -{} lines",
        count(part.files.len(), "file"),
        number(part.insertions as u64),
        number(part.deletions as u64)
    )
}

/// `12 messages and 8,123 tokens discarded`.
fn talk_numbers(part: &ConversationPart) -> String {
    let messages = count(part.messages_discarded, "message");
    match part.tokens_discarded {
        Some(tokens) if tokens < 0 => format!(
            "{messages} discarded; the context grows by {} tokens, as what was summarised comes back",
            number(tokens.unsigned_abs())
        ),
        Some(tokens) => format!(
            "{messages} and {} tokens discarded",
            number(tokens.unsigned_abs())
        ),
        None => format!("{messages} discarded"),
    }
}

/// A line about a checkpoint with the checkpoint's prompt behind it, where it has one.
fn called(line: String, checkpoint: &Checkpoint) -> String {
    match headline(checkpoint).as_str() {
        "" => line,
        prompt => format!("{line}: {prompt}"),
    }
}

/// What the prompt is to the checkpoint.
fn which_prompt(checkpoint: &Checkpoint) -> &'static str {
    match checkpoint.kind {
        Kind::Prompt => "the prompt there was",
        Kind::Step | Kind::Manual => "the prompt before it, which stays, was",
    }
}

fn code_lines(page: &mut Page, part: &CodePart) {
    page.line(format!("  files: {}", code_numbers(part)));
    let shown = if page.options.verbose {
        part.files.len()
    } else {
        FILES
    };
    for file in part.files.iter().take(shown) {
        let lines = if file.binary {
            "binary".to_owned()
        } else {
            format!("+{} -{}", file.insertions, file.deletions)
        };
        page.line(format!(
            "    {} {}  {lines}",
            file.status,
            quoted(&file.path)
        ));
    }
    if part.files.len() > shown {
        page.line(format!(
            "    and {} more",
            count(part.files.len() - shown, "file")
        ));
    }
    if let Some(backup) = &part.backup_id {
        page.line(format!("  what was there: {}", page.id(backup)));
    }
    members(page, &part.members, part.backup_id.is_none());
}

fn talk_lines(page: &mut Page, checkpoint: &Checkpoint, part: &ConversationPart) {
    page.line(format!("  conversation: {}", talk_numbers(part)));
    if let Some(message) = &part.original_user_message {
        page.line(format!("  {}:", which_prompt(checkpoint)));
        page.lines("    ", message);
    }
    match (&part.fork, &part.resume_command) {
        (Some(_), Some(words)) => {
            page.line(format!(
                "  go on with: {}",
                resume_line(words, part.cwd.as_deref())
            ));
        }
        (None, Some(words)) => page.line(format!(
            "  nothing was said before it; start afresh with: {}",
            resume_line(words, part.cwd.as_deref())
        )),
        (None, None) => page.line("  nothing was said before it: the agent starts afresh"),
        (Some(fork), None) => {
            if let Some(path) = &fork.path {
                page.line(format!("  the fork: {}", clean(path)));
            }
        }
    }
    let Some(note) = &part.note else {
        return;
    };
    match note.delivery {
        Delivery::SessionStartHook => page.line("  the note is handed over when the fork starts"),
        Delivery::PromptHook => page.line("  the note is handed over with the fork's first prompt"),
        Delivery::Prompt => {
            let agent = checkpoint.agent.as_deref().and_then(by_name);
            let tells = agent.is_some_and(|agent| agent.event_that_tells().is_some());
            let unless = if tells && part.fork.is_some() {
                ", unless a hook of tw's runs in the fork, which hands it over"
            } else {
                ""
            };
            page.line(format!("  paste this as the first prompt{unless}:"));
            page.lines("    ", &note.text);
        }
    }
}

impl Human for Rewound {
    fn print(&self, page: &mut Page) {
        let what = match self.mode {
            Mode::Code => "files",
            Mode::Conversation => "conversation",
            Mode::Both => "files and conversation",
            Mode::NeverMind => {
                page.line("nothing was done");
                return;
            }
        };
        let verb = if self.dry_run {
            "would rewind"
        } else {
            "rewound"
        };
        let id = self.checkpoint.checkpoint_id;
        let line = format!("{verb} {what} to checkpoint {id}");
        page.line(called(line, &self.checkpoint));
        if let Some(part) = &self.code {
            code_lines(page, part);
        }
        if let Some(part) = &self.conversation {
            talk_lines(page, &self.checkpoint, part);
        }
        page.notices(&self.notices);
        if !self.dry_run {
            let flag = &self.session_flag;
            page.hint(format!("'tw rewind --undo{flag}' takes this back"));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        let Some(conversation) = &self.conversation else {
            let backup = self.code.as_ref()?.backup_id.clone();
            return Some(backup.into_iter().collect());
        };
        let words = conversation.resume_command.as_ref()?;
        Some(vec![resume_line(words, conversation.cwd.as_deref())])
    }
}

impl Human for Undone {
    fn print(&self, page: &mut Page) {
        if let Some(code) = &self.code {
            code.print(page);
        }
        page.line(format!(
            "took back the rewind to checkpoint {}",
            self.rewind.checkpoint_id
        ));
        match &self.resume_command {
            Some(words) => page.line(format!("  the session goes on with: {}", one_line(words))),
            None => page.line(format!("  the session was {}", clean(&self.session_id))),
        }
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        let backup = self.code.as_ref().and_then(|code| code.backup_id.clone());
        Some(backup.into_iter().collect())
    }
}
