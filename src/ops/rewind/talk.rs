//! The conversation of a rewind: a fork planned, written and checked, put in place, and made known.

use std::path::Path;

use super::{ConversationPart, Delivery, Forked, Note, sessions};
use crate::agents::fork::{
    ForkPlan, StagedFork, dead_forks, destination, new_session_id, plan_fork, stage_fork,
    tokens_discarded,
};
use crate::agents::hook::EventKind;
use crate::agents::transcript::{GoesOn, Tokens, Transcript};
use crate::agents::{Agent, by_name};
use crate::env::fail_point;
use crate::error::{Code, Error, Result};
use crate::git::fs;
use crate::ops::Context;
use crate::ops::checkpoints::{conversation, spot};
use crate::ops::exports::Export;
use crate::ops::resume_command::gone;
use crate::store::address::of_checkpoint;
use crate::store::checkpoint::{Checkpoint, Kind};
use crate::store::session::{Origin, SessionRecord};
use crate::text::{headline, typed};

/// So much of a prompt is named in what the future self is told.
const PROMPT_CHARS: usize = 200;

/// So much of what a hook says an agent hands to its model, in units of UTF-16; the rest it cuts off without a word.
const TOLD_BY_HOOK: usize = 10_000;

/// What the future self is to be told, redacted.
pub struct NoteToSelf {
    /// The note.
    pub note: Option<String>,
    /// Why.
    pub rationale: Option<String>,
    /// Whether the files go back, too.
    pub code: bool,
}

/// A fork that was planned. Making one changes nothing.
pub struct Plan {
    agent: &'static dyn Agent,
    fork: Option<ForkPlan>,
    part: ConversationPart,
    /// What a hook of the fork's is to tell: where the agent has one that tells, be it unproven that hooks run here.
    told: Option<String>,
    /// What is forked, where the agent keeps no file.
    export: Option<Export>,
}

/// A fork that was written under a temporary name and checked; dropped, it goes again.
pub struct Staged {
    agent: &'static dyn Agent,
    fork: Option<StagedFork>,
    part: ConversationPart,
    told: Option<String>,
}

/// A fork in its place.
pub struct Placed {
    part: ConversationPart,
    noted: Result<()>,
}

impl Plan {
    /// Finds the checkpoint in its conversation and plans a fork that ends there.
    ///
    /// # Errors
    /// `TRANSCRIPT_NOT_FOUND`, `CHECKPOINT_UNAVAILABLE`.
    pub fn new(
        ctx: &Context<'_>,
        checkpoint: &Checkpoint,
        told: Option<&NoteToSelf>,
    ) -> Result<Self> {
        let transcript =
            conversation(ctx, checkpoint).map_err(|error| or_files_alone(error, checkpoint))?;
        let redactor = ctx.redactor();
        let spot = spot(&transcript, checkpoint, redactor, true)?;
        let fork = match spot.cut() {
            Some(cut) => plan_fork(&transcript, cut)?,
            None => None,
        };
        let agent = by_name(transcript.agent).ok_or_else(|| {
            Error::new(
                Code::CheckpointUnavailable,
                format!("sessions of '{}' cannot be forked", transcript.agent),
            )
        })?;
        let noted = checkpoint.prompt.clone();
        let asked = spot
            .prompt()
            .map(|prompt| prompt.text.clone())
            .or_else(|| noted.filter(|_| checkpoint.kind == Kind::Prompt));
        let mut part = what_goes(&transcript, fork.as_ref(), agent.goes_on(&transcript));
        part.original_user_message = asked;
        let path = transcript.path.to_string_lossy().into_owned();
        let export = transcript.into_export();
        part.transcript = export.is_none().then_some(path);
        let prompt = part
            .original_user_message
            .as_deref()
            .map(|text| redactor.text(text).text);
        let text = told.and_then(|told| {
            pending_note(told, checkpoint, prompt.as_deref(), part.messages_discarded)
        });
        let delivery = match &fork {
            Some(_) => delivery(ctx, agent, checkpoint)?,
            None => Delivery::Prompt,
        };
        let told = text
            .clone()
            .map(|text| fitting(text, &checkpoint.session_id));
        let text = match delivery {
            Delivery::Prompt => text,
            Delivery::SessionStartHook | Delivery::PromptHook => told.clone(),
        };
        part.note = text.map(|text| Note { text, delivery });
        Ok(Self {
            agent,
            fork,
            part,
            told: told.filter(|_| agent.event_that_tells().is_some()),
            export,
        })
    }

    /// The directory that the command has to be run in, when it is gone.
    pub fn lost_directory(&self) -> Option<&str> {
        gone(self.part.cwd.as_deref())
    }

    /// What a dry run answers.
    pub fn into_dry(self) -> ConversationPart {
        self.part
    }

    /// Writes the fork under a temporary name and has it checked.
    ///
    /// # Errors
    /// `VERIFY_FAILED`, or when it cannot be written.
    pub fn stage(self, ctx: &Context<'_>) -> Result<Staged> {
        let now = ctx.env.now();
        let fork = match &self.fork {
            Some(plan) => {
                let id = new_session_id(plan.agent, now)?;
                let dest = destination(plan, &id, now);
                for dead in dead_forks(&dest) {
                    // Best effort: a note that stays is one that nobody asks for.
                    let _ = dead.unplaced().map(|id| withdraw(ctx, id));
                }
                Some(stage_fork(plan, &id, &dest)?)
            }
            None => None,
        };
        // The file that the agent exported for this is read to the end.
        drop(self.export);
        Ok(Staged {
            agent: self.agent,
            fork,
            part: self.part,
            told: self.told,
        })
    }
}

/// A conversation that is not there keeps the files from nothing.
fn or_files_alone(error: Error, checkpoint: &Checkpoint) -> Error {
    match error.code() {
        Code::TranscriptNotFound => error.hint(format!(
            "the files can go back without it: 'tw rewind {} --code'",
            typed(of_checkpoint(
                &checkpoint.session_id,
                checkpoint.checkpoint_id
            ))
        )),
        _ => error,
    }
}

/// How much of a conversation goes: with no fork, all of it. `goes_on`: where it stands by now, when that is another file.
fn what_goes(
    transcript: &Transcript,
    fork: Option<&ForkPlan>,
    goes_on: Option<GoesOn>,
) -> ConversationPart {
    let kept = fork.map_or(0, |fork| fork.messages_kept);
    let now = goes_on.unwrap_or(GoesOn {
        messages: transcript.messages.len(),
        kept,
        tokens: transcript.tokens,
    });
    let then = fork.map_or(Tokens::default(), |fork| fork.cut.tokens);
    let discarded = now.messages.saturating_sub(kept.min(now.kept));
    let tokens = tokens_discarded(now.tokens, then);
    ConversationPart {
        transcript: None,
        messages_discarded: discarded,
        tokens_discarded: tokens,
        original_user_message: None,
        fork: fork.map(|fork| Forked {
            session_id: None,
            path: None,
            resume_command: None,
            messages_kept: fork.messages_kept,
        }),
        resume_command: None,
        cwd: transcript.cwd.clone(),
        note: None,
    }
}

impl Staged {
    /// Puts the fork in its place, never over anything. Its note comes first: no fork is to be found that lacks it.
    ///
    /// # Errors
    /// When something is there, or the directory cannot be written.
    pub fn place(self, ctx: &Context<'_>) -> Result<Placed> {
        let noted = self.leave_note(ctx);
        fail_point("rewind-noted");
        let mut part = self.part;
        let Some(staged) = self.fork else {
            // Before the first prompt there is nothing to fork from: the agent starts afresh.
            part.resume_command = self.agent.start_command();
            return Ok(Placed { part, noted });
        };
        let id = staged.session_id().to_owned();
        let placed = match staged.place() {
            Ok(placed) => placed,
            Err(error) => {
                // Best effort: the error to report is the other one.
                let _ = withdraw(ctx, &id);
                return Err(error);
            }
        };
        part.resume_command.clone_from(&placed.resume_command);
        part.fork = Some(Forked {
            session_id: Some(placed.session_id),
            path: Some(placed.path.to_string_lossy().into_owned()),
            resume_command: placed.resume_command,
            messages_kept: placed.messages_kept,
        });
        Ok(Placed { part, noted })
    }

    /// Leaves the note for the fork's first start.
    fn leave_note(&self, ctx: &Context<'_>) -> Result<()> {
        match (&self.fork, &self.told) {
            (Some(fork), Some(told)) => sessions(ctx).leave_note(fork.session_id(), told),
            _ => Ok(()),
        }
    }
}

impl Placed {
    /// What was done, and whether the note could be left.
    pub fn into_parts(self) -> (ConversationPart, Result<()>) {
        (self.part, self.noted)
    }
}

/// Enters the fork into the register.
///
/// # Errors
/// When the register cannot be written.
pub fn register(ctx: &Context<'_>, checkpoint: &Checkpoint, part: &ConversationPart) -> Result<()> {
    let fork = part.fork.as_ref();
    let known = fork.and_then(|fork| fork.session_id.as_deref().zip(fork.path.as_deref()));
    let Some((id, path)) = known else {
        return Ok(());
    };
    let agent = checkpoint.agent.as_deref().and_then(by_name);
    let new = SessionRecord::new(id, &ctx.repo.worktree_name(), ctx.env.now());
    let worktree_id = ctx.store()?.ensure_worktree_id()?;
    sessions(ctx).update(new, |record| {
        record.worktree_id = worktree_id;
        record.agent.clone_from(&checkpoint.agent);
        // What an agent imports is not where it goes on.
        let imported = agent.is_some_and(|agent| agent.export_command(id).is_some());
        record.transcript = (!imported).then(|| path.to_owned());
        record.forked_from = Some(Origin {
            session_id: checkpoint.session_id.clone(),
            checkpoint_id: checkpoint.checkpoint_id,
        });
    })?;
    Ok(())
}

/// How a note gets to the fork: by the agent's hook where its hooks are known to run here and tell the model something.
fn delivery(ctx: &Context<'_>, agent: &dyn Agent, checkpoint: &Checkpoint) -> Result<Delivery> {
    let record = sessions(ctx).get(&checkpoint.session_id)?;
    let hooked = record.is_some_and(|record| record.source.is_some());
    Ok(match agent.event_that_tells().filter(|_| hooked) {
        Some((EventKind::SessionStart, _)) => Delivery::SessionStartHook,
        Some(_) => Delivery::PromptHook,
        None => Delivery::Prompt,
    })
}

/// What the future self is told; None when there is nothing to tell.
fn pending_note(
    told: &NoteToSelf,
    checkpoint: &Checkpoint,
    prompt: Option<&str>,
    discarded: usize,
) -> Option<String> {
    use std::fmt::Write as _;
    let note = told.note.as_deref()?;
    let number = checkpoint.checkpoint_id;
    let mut text = format!("This conversation was rewound with 'tw rewind' to checkpoint {number}");
    let is_of_prompt = checkpoint.kind == Kind::Prompt;
    if let Some(message) = checkpoint.prompt.as_deref().filter(|_| !is_of_prompt) {
        let _ = write!(text, " (\"{}\")", headline(message, PROMPT_CHARS));
    }
    if let Some(prompt) = prompt {
        // One made in a turn, or after it, keeps that turn's prompt.
        let place = if is_of_prompt { "just before" } else { "after" };
        let _ = write!(
            text,
            ", {place} the prompt \"{}\"",
            headline(prompt, PROMPT_CHARS)
        );
    }
    let files = if told.code {
        "The files were put back to that point, too."
    } else {
        "The files were not put back: they are as they were left."
    };
    let _ = write!(
        text,
        ". {discarded} messages that followed are gone from it. {files}\n\nA note from the part that is gone:\n{note}\n"
    );
    if let Some(rationale) = told.rationale.as_deref() {
        let _ = write!(text, "\nWhy it was rewound:\n{rationale}\n");
    }
    Some(text)
}

/// The beginning of what a hook is to tell, as much as the agent takes, and where the rest is.
fn fitting(text: String, session_id: &str) -> String {
    let units = |text: &str| text.encode_utf16().count();
    if units(&text) <= TOLD_BY_HOOK {
        return text;
    }
    let session = typed(session_id);
    let pointer = format!(
        "…\n\nThis is only the beginning. 'tw checkpoint list --session {session} --json' has all of it: note and rationale of the last of 'rewinds'.\n"
    );
    let mut room = TOLD_BY_HOOK.saturating_sub(units(&pointer));
    let fits = |ch: &char| {
        let left = room.checked_sub(ch.len_utf16());
        room = left.unwrap_or(0);
        left.is_some()
    };
    let mut told: String = text.chars().take_while(fits).collect();
    told.push_str(&pointer);
    told
}

/// Removes a note that was left for a fork and not taken.
pub fn withdraw(ctx: &Context<'_>, fork: &str) -> Result<()> {
    sessions(ctx).take_note(fork).map(|_| ())
}

/// Whether a fork's file is still there.
pub fn is_there(path: &str) -> bool {
    fs::is_there(Path::new(path)).unwrap_or(false)
}
