//! Back to a checkpoint: the files, the conversation, or both.
//!
//! Files go back as `restore` puts them back: backed up, in the undo log. A conversation is never edited: a fork that ends
//! just before the checkpoint is written beside it under a new id. With both, the fork is written and checked first, then
//! the files are put back, then the fork gets its name: what fails leaves nothing half-done. A dry run looks at the same
//! things and counts the same numbers. What was done is recorded in the session's notes.

mod code;
mod talk;
mod undo;

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::caller::session_flag;
use super::checkpoints::{self, Named};
use super::outcome::{FileDiff, MemberSwap};
use super::redaction::Redacting;
use super::refspecs;
use super::request::DryRun;
use super::resume_command::{ResumeCommandOrNull, gone, gone_notice, refusal};
use super::steps::{StepRequest, step};
use super::swap::undo_log::Log;
use crate::env::fail_point;
use crate::error::Result;
use crate::json;
use crate::store::Store;
use crate::store::checkpoint::{self as notes, Checkpoint, RevertedFrom};
use crate::store::session::Sessions;

pub use undo::{Undo, Undone, undo};

/// What goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The files.
    Code,
    /// The conversation.
    Conversation,
    /// Both.
    Both,
    /// Nothing.
    NeverMind,
}

json::words!(Mode {
    Code = "code",
    Conversation = "conversation",
    Both = "both",
    NeverMind = "never-mind",
});

impl Mode {
    fn code(self) -> bool {
        matches!(self, Self::Code | Self::Both)
    }

    fn conversation(self) -> bool {
        matches!(self, Self::Conversation | Self::Both)
    }
}

/// Go back to a checkpoint.
#[derive(Debug, Clone)]
pub struct Rewind {
    /// Its number, `checkpoint:<n>` or `<session>:<n>`.
    pub checkpoint: String,
    /// Whose it is when that does not say; None: the caller's.
    pub session: Option<String>,
    /// What goes back.
    pub mode: Mode,
    /// What the future self is told.
    pub note: Option<String>,
    /// Why, for the record.
    pub rationale: Option<String>,
    /// Look only.
    pub dry_run: DryRun,
    /// What comes after it.
    pub then: Then,
}

/// What the caller does when a rewind is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Then {
    /// Nothing.
    #[default]
    Nothing,
    /// It runs the command that goes on: what keeps that from running is found out before anything is done.
    RunCommand,
}

/// What goes back in the working tree: the present against the checkpoint's snapshot.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct CodePart {
    /// The checkpoint's snapshot.
    pub snapshot_id: String,
    /// What differs, sorted; from the present to the checkpoint.
    pub files: Vec<FileDiff>,
    /// Lines that come back.
    pub insertions: usize,
    /// Lines that go.
    pub deletions: usize,
    /// The working tree as it was before; null in a dry run.
    pub backup_id: Option<String>,
    /// The members of the workspace, which went back as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberSwap>,
}

/// The session that goes on from the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Forked {
    /// Its id; null in a dry run.
    pub session_id: Option<String>,
    /// Its file; null in a dry run.
    pub path: Option<String>,
    /// The agent's command that resumes it; None in a dry run.
    #[serde(flatten, with = "ResumeCommandOrNull")]
    pub resume_command: Option<Vec<String>>,
    /// Messages that it keeps.
    pub messages_kept: usize,
}

/// How a note reaches the future self.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Delivery {
    /// The agent's session-start hook hands it over.
    SessionStartHook,
    /// The hook of the first prompt hands it over.
    PromptHook,
    /// It is to be pasted as a prompt. An agent whose hooks run, though nothing tells that they do, is handed it, too.
    Prompt,
}

/// What the future self is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Note {
    /// The note, with what there is to say of where it comes from.
    pub text: String,
    /// How it gets there.
    pub delivery: Delivery,
}

/// What goes back in the conversation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ConversationPart {
    /// The agent's file, which stays as it is; null where it keeps none.
    pub transcript: Option<String>,
    /// Messages that the fork leaves out.
    pub messages_discarded: usize,
    /// By how much the model's context shrinks; null where the agent records no counts.
    pub tokens_discarded: Option<i64>,
    /// The prompt that is gone back to, as typed; that of its turn, which stays, where the checkpoint was made in or after one.
    pub original_user_message: Option<String>,
    /// The session that goes on; null before the first prompt, where the agent starts afresh.
    pub fork: Option<Forked>,
    /// The agent's command that goes on: the fork's, or before the first prompt the one that starts afresh.
    #[serde(flatten, with = "ResumeCommandOrNull")]
    pub resume_command: Option<Vec<String>>,
    /// Where it has to be run.
    pub cwd: Option<String>,
    /// What the future self is told, and how.
    pub note: Option<Note>,
}

/// Answer of `rewind`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Rewound {
    /// Nothing was written.
    pub dry_run: bool,
    /// What went back.
    pub mode: Mode,
    /// Where to.
    pub checkpoint: Checkpoint,
    /// The files, when they went back.
    pub code: Option<CodePart>,
    /// The conversation, when it went back.
    pub conversation: Option<ConversationPart>,
    /// Sentences for people.
    pub notices: Vec<String>,
    /// How a command has to name the session, for a hint.
    #[serde(skip)]
    pub session_flag: String,
}

/// Answer of `rewind --dry-run` without a mode: what each would do. 'both' does both parts, and cannot where one of them cannot.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Choices {
    /// Nothing was written.
    pub dry_run: bool,
    /// None was chosen.
    pub mode: (),
    /// Where to.
    pub checkpoint: Checkpoint,
    /// What the files would do; null when they cannot go back.
    pub code: Option<CodePart>,
    /// Why the files cannot go back.
    pub code_refused: Option<String>,
    /// What the conversation would do; null when it cannot go back.
    pub conversation: Option<ConversationPart>,
    /// Why the conversation cannot go back.
    pub conversation_refused: Option<String>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Goes back to a checkpoint.
///
/// # Errors
/// `INVALID_CHECKPOINT`, `CHECKPOINT_UNAVAILABLE` and `TRANSCRIPT_NOT_FOUND` for a conversation that no longer holds it,
/// `VERIFY_FAILED` when the fork is not sound, `WOULD_OVERWRITE` for files of another worktree's session, and where what goes back has the
/// session's own file, `PATH_NOT_FOUND` when the command cannot be run that is to be run then; else as `restore`.
/// Then nothing was done.
pub fn rewind(ctx: &Context<'_>, request: &Rewind) -> Result<Rewound> {
    ctx.check_workspace_was_meant()?;
    let store = ctx.store()?;
    let named = checkpoints::find(ctx, store, &request.checkpoint, request.session.as_deref())?;
    if request.mode.code() {
        code::refuse_other_worktree(ctx, store, &named.checkpoint, request.mode)?;
    }
    let rewinding = Rewinding {
        ctx,
        store,
        named,
        request,
    };
    match (request.mode, request.dry_run) {
        (Mode::NeverMind, dry_run) => Ok(rewinding.outcome(dry_run, None, None)),
        (_, DryRun::Yes) => rewinding.look(),
        (_, DryRun::No) => rewinding.go(),
    }
}

/// What going back would do, each way.
///
/// # Errors
/// `INVALID_CHECKPOINT`, or when the session's notes cannot be read.
pub fn choices(ctx: &Context<'_>, word: &str, session: Option<&str>) -> Result<Choices> {
    let store = ctx.store()?;
    let named = checkpoints::find(ctx, store, word, session)?;
    let checkpoint = named.checkpoint;
    let code = code::refuse_other_worktree(ctx, store, &checkpoint, Mode::Code)
        .and_then(|()| code::look(ctx, store, &checkpoint));
    let conversation = talk::Plan::new(ctx, &checkpoint, None).map(talk::Plan::into_dry);
    let (code, code_refused) = or_why(code);
    let (conversation, conversation_refused) = or_why(conversation);
    Ok(Choices {
        dry_run: true,
        mode: (),
        checkpoint,
        code,
        code_refused,
        conversation,
        conversation_refused,
        notices: named.notes.notices,
    })
}

fn or_why<T>(part: Result<T>) -> (Option<T>, Option<String>) {
    match part {
        Ok(part) => (Some(part), None),
        Err(error) => (None, Some(error.message().to_owned())),
    }
}

struct Rewinding<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    named: Named,
    request: &'a Rewind,
}

impl Rewinding<'_> {
    fn outcome(
        self,
        dry_run: DryRun,
        code: Option<CodePart>,
        conversation: Option<ConversationPart>,
    ) -> Rewound {
        let session_id = &self.named.checkpoint.session_id;
        let session_flag = session_flag(self.ctx, self.store, session_id);
        let mut notices = self.named.notes.notices;
        let cwd = conversation.as_ref().and_then(|part| part.cwd.as_deref());
        notices.extend(gone(cwd).map(gone_notice));
        Rewound {
            dry_run: dry_run == DryRun::Yes,
            mode: self.request.mode,
            checkpoint: self.named.checkpoint,
            code,
            conversation,
            notices,
            session_flag,
        }
    }

    fn plan(&self, redacting: &mut Redacting) -> Result<Option<talk::Plan>> {
        if !self.request.mode.conversation() {
            return Ok(None);
        }
        let told = talk::NoteToSelf {
            note: redacting.optional(self.request.note.as_deref()),
            rationale: redacting.optional(self.request.rationale.as_deref()),
            code: self.request.mode.code(),
        };
        talk::Plan::new(self.ctx, &self.named.checkpoint, Some(&told)).map(Some)
    }

    fn look(self) -> Result<Rewound> {
        let plan = self.plan(&mut Redacting::new(self.ctx))?;
        let code = if self.request.mode.code() {
            Some(code::look(self.ctx, self.store, &self.named.checkpoint)?)
        } else {
            None
        };
        Ok(self.outcome(DryRun::Yes, code, plan.map(talk::Plan::into_dry)))
    }

    fn go(self) -> Result<Rewound> {
        let mut redacting = Redacting::new(self.ctx);
        let plan = self.plan(&mut redacting)?;
        if self.request.then == Then::RunCommand
            && let Some(dir) = plan.as_ref().and_then(talk::Plan::lost_directory)
        {
            return Err(refusal(dir));
        }
        if self.request.mode == Mode::Both {
            code::refuse_session_file(self.ctx, self.store, &self.named.checkpoint)?;
        }
        let mut notices = Vec::new();
        let staged = plan.map(|plan| plan.stage(self.ctx)).transpose()?;
        fail_point("rewind-staged");
        let code = if self.request.mode.code() {
            // Only for the files: the lock is let go before a failure below takes its own for the undo.
            let (part, said) = code::go(self.ctx, self.store, &self.named.checkpoint)?;
            notices.extend(said);
            Some(part)
        } else {
            None
        };
        fail_point("rewind-swapped");
        let placed = match staged.map(|staged| staged.place(self.ctx)).transpose() {
            Ok(placed) => placed,
            Err(error) => {
                // The files went back alone: that is not what was asked for.
                if code.is_some_and(|part| part.backup_id.is_some()) {
                    step(self.ctx, &StepRequest::last(Log::Undo))?;
                }
                return Err(error);
            }
        };
        fail_point("rewind-placed");
        // What was done is done: a record that cannot be written makes it no failure.
        let (conversation, registered) = match placed.map(talk::Placed::into_parts) {
            Some((part, noted)) => {
                let register = || talk::register(self.ctx, &self.named.checkpoint, &part);
                let registered = noted.and_then(|()| register());
                (Some(part), registered)
            }
            None => (None, Ok(())),
        };
        let recorded = self.record(&mut redacting, code.as_ref(), conversation.as_ref());
        for error in [registered, recorded].into_iter().filter_map(Result::err) {
            notices.push(format!(
                "this was done, but not recorded: {}",
                error.message()
            ));
        }
        notices.extend(refspecs::told_once(self.ctx, self.store));
        let mut rewound = self.outcome(DryRun::No, code, conversation);
        rewound.notices.extend(notices);
        Ok(rewound)
    }

    /// Writes into the session's notes what was done.
    fn record(
        &self,
        redacting: &mut Redacting,
        code: Option<&CodePart>,
        conversation: Option<&ConversationPart>,
    ) -> Result<()> {
        let now = self.ctx.env.now();
        let checkpoint = &self.named.checkpoint;
        let fork = conversation.and_then(|part| part.fork.as_ref());
        let asked = conversation.and_then(|part| part.original_user_message.as_deref());
        let whole = conversation.map(|part| {
            let kept = part.fork.as_ref().map_or(0, |fork| fork.messages_kept);
            (part.messages_discarded + kept) as u64
        });
        let file = conversation
            .and_then(|part| part.transcript.as_deref())
            .and_then(|path| std::fs::metadata(path).ok());
        let rewind = notes::Rewind {
            session_id: checkpoint.session_id.clone(),
            checkpoint_id: checkpoint.checkpoint_id,
            rewound_at: now.rfc3339(),
            mode: self.request.mode.as_str().to_owned(),
            note: redacting.optional(self.request.note.as_deref()),
            rationale: redacting.optional(self.request.rationale.as_deref()),
            original_user_message: asked
                .map(|text| redacting.text(text))
                .or_else(|| checkpoint.prompt.clone()),
            reverted_from: RevertedFrom {
                checkpoint_id: self
                    .named
                    .notes
                    .checkpoints
                    .last()
                    .map(|last| last.checkpoint_id),
                messages: whole,
                offset: file.map(|file| file.len()),
            },
            messages_discarded: conversation.map(|part| part.messages_discarded as u64),
            tokens_discarded: conversation.and_then(|part| part.tokens_discarded),
            backup_id: code.and_then(|part| part.backup_id.clone()),
            fork: fork.and_then(|fork| {
                Some(notes::Fork {
                    session_id: fork.session_id.clone()?,
                    path: fork.path.clone()?,
                    resume_command: fork.resume_command.clone().unwrap_or_default(),
                })
            }),
            undone_at: None,
        };
        notes::add_rewind(self.store, now, &rewind)
    }
}

/// The register of sessions.
fn sessions(ctx: &Context<'_>) -> Sessions {
    ctx.sessions()
}
