//! Checkpoints: numbered points of a session's conversation, each tied to a snapshot.
//!
//! Owns how one is made: the snapshot (none when tree, index and HEAD are as the newest has them), the place in the agent's
//! file, the entry in the session's notes. Promises: ids count up and are never given twice; a double event makes one
//! checkpoint; the agent's file is never read at length for a hook. Leaves out going back (`rewind`).

mod find;
mod mark;
mod noted;
mod resolve;
mod turn_end;
mod turn_writes;

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::outcome::SnapshotView;
use super::refspecs;
use super::sessions::{self, Asked, Start, caller, touch};
use super::settings::Automatic;
use super::swap::recover::{self, Recovery};
use super::whole::{Again, make_ref_again};
use super::{request, snapshots};
use crate::agents::hook::{EventKind, HookEvent};
use crate::agents::writes::may_write;
use crate::error::{Code, Error, Result};
use crate::store::Store;
use crate::store::checkpoint::{self, Checkpoint, Counts, Kind, Place, SessionNotes};
use crate::store::id::SnapshotId;
use crate::store::lock::{Hold, WorktreeLock};
use crate::store::names::{session_component, snapshot_ref};
use crate::store::session::SessionRecord;
use crate::store::stored::not_found;
use crate::store::trigger::Trigger;

pub use find::{
    Named, find, known_or_new, no_number, resolve_named_session, resolve_session, snapshot_of,
    stored,
};
pub use noted::Noted;
pub use resolve::{Conversation, Spot, conversation, spot};
pub use turn_end::on_turn_end;
pub use turn_writes::{TurnWrites, turn_writes};

/// When on, automatic checkpoints are off.
pub const DISABLE: &str = "TW_DISABLE_CHECKPOINTS";

/// How much of a prompt is kept.
const PROMPT_CHARS: usize = 2000;

/// How much of it names the snapshot.
const TITLE_CHARS: usize = 72;

/// So much of a tool's name is kept.
const TOOL_CHARS: usize = 200;

/// Two hooks that tell of one prompt come within this many seconds: one agent may run another's hooks beside its own.
const REPEATED_SECONDS: i64 = 5;

/// Make a checkpoint.
#[derive(Debug, Clone, Default)]
pub struct Take {
    /// What it is about.
    pub message: Option<String>,
    /// What makes it.
    pub kind: Kind,
    /// The session; None: the caller's, or a new one where there is none.
    pub session: Option<String>,
}

/// Answer of `checkpoint`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Taken {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Its snapshot.
    pub snapshot: SnapshotView,
    /// Whether the snapshot was taken for it; false: nothing had changed since that snapshot.
    pub fresh: bool,
    /// Sentences for people.
    pub notices: Vec<String>,
    /// How a command has to name the session, for a hint.
    #[serde(skip)]
    pub session_flag: String,
}

/// Makes a checkpoint of the working tree and of the session's conversation as it stands.
///
/// # Errors
/// As `snapshot` and `session start`; `BUSY` when others write the session's notes for too long.
pub fn take(ctx: &Context<'_>, request: &Take) -> Result<Taken> {
    ctx.check_workspace_was_meant()?;
    let store = ctx.store()?;
    let named = request.session.as_deref();
    let named = named
        .map(|word| known_or_new(ctx, store, word))
        .transpose()?;
    let named = caller(ctx, store, named.as_deref(), None)?;
    let known = match &named {
        Some(caller) => touch(ctx, &caller.session_id)?,
        None => false,
    };
    let mut notices = Vec::new();
    let session_id = match named {
        Some(caller) if known => caller.session_id,
        named => {
            let (session, agent) = named.map_or((None, None), |caller| {
                (Some(caller.session_id), caller.agent)
            });
            let started = sessions::start(
                ctx,
                &Start {
                    session,
                    agent,
                    // It was asked above.
                    force: true,
                    ..Start::default()
                },
            )?;
            notices.extend(started.notices);
            started.session_id
        }
    };
    let new = NewCheckpoint {
        ctx,
        store,
        session: subject(ctx, &session_id)?,
        kind: request.kind,
        prompt: request.message.clone(),
        prompt_id: None,
        tool: None,
        call_id: None,
        asked: Asked::ByCommand,
    };
    let mut taken = new
        .make()?
        .ok_or_else(|| Error::new(Code::Io, "no checkpoint was made"))?;
    taken.notices.splice(0..0, notices);
    taken.session_flag = sessions::session_flag(ctx, store, &session_id);
    Ok(taken)
}

/// Makes the checkpoint that an agent's event calls for, waiting for a lock no longer than `wait`. None when there is none
/// to make: turned off, told twice, or nothing was written.
///
/// # Errors
/// As [`take`].
pub fn on_event(ctx: &Context<'_>, event: &HookEvent, wait: Duration) -> Result<Option<Taken>> {
    let wanted = match (&event.event, ctx.settings.checkpoints) {
        (_, Automatic::Off) => None,
        (EventKind::UserPromptSubmit, _) => Some(Kind::Prompt),
        (EventKind::PostToolUse, Automatic::Steps) if writes(event) => Some(Kind::Step),
        _ => None,
    };
    let (Some(kind), Some(session_id)) = (wanted, event.session_id.as_deref()) else {
        return Ok(None);
    };
    if !are_on(ctx) {
        return Ok(None);
    }
    ctx.check_workspace(false)?;
    let store = ctx.store()?;
    // Its start was never told: tw was set up in the middle of it, or the hook failed.
    if !touch(ctx, session_id)? {
        sessions::start(ctx, &sessions::start_of_event(event, wait))?;
    }
    // What a sub-agent does is a step of its root's conversation.
    let root = ctx.sessions().root_of(session_id)?;
    let mut session = subject(ctx, &root)?;
    if root == session_id {
        session.agent = Some(event.agent.to_owned());
        session.transcript = event.transcript_path.clone().or(session.transcript);
    } else if kind == Kind::Prompt {
        return Ok(None);
    }
    let new = NewCheckpoint {
        ctx,
        store,
        session,
        kind,
        prompt: event.prompt.clone().filter(|_| kind == Kind::Prompt),
        prompt_id: event.prompt_id.clone(),
        tool: event.tool.as_ref().map(|tool| tool.name.clone()),
        call_id: event.tool.as_ref().and_then(|tool| tool.id.clone()),
        asked: Asked::ByHook { wait },
    };
    new.make()
}

/// Whether events are to leave anything.
fn are_on(ctx: &Context<'_>) -> bool {
    ctx.settings.checkpoints != Automatic::Off && !ctx.env.is_on(DISABLE)
}

/// The lock, for an event, which waits for nothing else: it keeps also what a swap left that died. With it, whether one did.
fn lock_for_event(store: &Store, wait: Duration) -> Result<(WorktreeLock, bool)> {
    let lock = WorktreeLock::acquire(store.dir.path(), Hold::Shared, "checkpoint", wait)?;
    let interrupted = store.dir.needs_recovery()?;
    Ok((lock, interrupted))
}

/// Another worktree's prune may have let the snapshot go before the note held it.
fn keep_snapshot(store: &Store, view: &SnapshotView) -> Result<()> {
    let Some(id) = SnapshotId::parse(&view.id) else {
        return Ok(());
    };
    let name = snapshot_ref(&id);
    if store.refs.read(&name)?.is_none()
        && make_ref_again(store, &name, view.commit)? == Again::Torn
    {
        return Err(not_found(&view.id));
    }
    Ok(())
}

/// Whether the tool of an event may have written.
fn writes(event: &HookEvent) -> bool {
    let Some(tool) = &event.tool else {
        // Agents whose event says that a file was edited name no tool.
        return true;
    };
    may_write(&tool.name)
}

/// The session that a checkpoint belongs to.
struct Subject {
    id: String,
    agent: Option<String>,
    transcript: Option<PathBuf>,
    record: Option<SessionRecord>,
}

fn subject(ctx: &Context<'_>, session_id: &str) -> Result<Subject> {
    let record = ctx.sessions().get(session_id)?;
    let of = |field: fn(&SessionRecord) -> Option<String>| record.as_ref().and_then(field);
    Ok(Subject {
        id: session_id.to_owned(),
        agent: of(|record| record.agent.clone()),
        transcript: of(|record| record.transcript.clone()).map(PathBuf::from),
        record,
    })
}

struct NewCheckpoint<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    session: Subject,
    kind: Kind,
    prompt: Option<String>,
    prompt_id: Option<String>,
    tool: Option<String>,
    call_id: Option<String>,
    asked: Asked,
}

/// What is known of a checkpoint before it has a number.
struct Known {
    prompt: Option<String>,
    place: Place,
    tokens: Counts,
    snapshot: SnapshotView,
}

impl NewCheckpoint<'_> {
    fn make(mut self) -> Result<Option<Taken>> {
        let (lock, interrupted, recovered) = self.lock()?;
        let Some(done) = self.make_locked(interrupted).transpose() else {
            return Ok(None);
        };
        drop(lock);
        let mut taken = recovered.tell(done, |taken| &mut taken.notices)?;
        // What an event makes is told to nobody.
        if self.asked == Asked::ByCommand {
            let told = refspecs::told_once(self.ctx, self.store);
            taken.notices.extend(told);
        }
        Ok(Some(taken))
    }

    fn make_locked(&mut self, interrupted: bool) -> Result<Option<Taken>> {
        let prompt = self.prompt.take();
        let prompt = prompt.map(|prompt| self.ctx.redactor().beginning(&prompt, PROMPT_CHARS));
        let taken = snapshots::take_locked(
            self.ctx,
            self.store,
            &self.wanted(prompt.as_deref()),
            &mut Vec::new(),
            interrupted,
        )?;
        let marked = mark::mark(self.ctx, self.store, &self.session, self.asked);
        let known = Known {
            prompt,
            place: Place {
                prompt_id: self.prompt_id.take(),
                // In a file the offset says it.
                call_id: self.call_id.take().filter(|_| marked.place.path.is_none()),
                ..marked.place
            },
            tokens: marked.tokens,
            snapshot: taken.snapshot,
        };
        let Some(checkpoint) = self.add(&known)? else {
            return Ok(None);
        };
        keep_snapshot(self.store, &known.snapshot)?;
        self.remember(&checkpoint)?;
        Ok(Some(Taken {
            checkpoint,
            snapshot: known.snapshot,
            fresh: taken.fresh,
            notices: taken.notices,
            session_flag: String::new(),
        }))
    }

    /// A command recovers what a swap left that died; an event does not.
    fn lock(&self) -> Result<(WorktreeLock, bool, Recovery)> {
        let wait = self.asked.wait(self.ctx);
        if self.asked == Asked::ByCommand {
            let (lock, recovered) =
                recover::lock_recovered(self.ctx, self.store, "checkpoint", wait)?;
            return Ok((lock, false, recovered));
        }
        let (lock, interrupted) = lock_for_event(self.store, wait)?;
        Ok((lock, interrupted, Recovery::default()))
    }

    fn wanted(&self, prompt: Option<&str>) -> request::Take {
        let title = prompt.and_then(|prompt| prompt.lines().find(|line| !line.trim().is_empty()));
        request::Take {
            message: title.map(|title| title.trim().chars().take(TITLE_CHARS).collect()),
            if_changed: true,
            trigger: Trigger::Checkpoint,
            session: Some(self.session.id.clone()),
            agent: self.session.agent.clone(),
            ..request::Take::default()
        }
    }

    /// Gives it a number and writes it into the session's notes; None when it is there already.
    fn add(&self, known: &Known) -> Result<Option<Checkpoint>> {
        let now = self.ctx.env.now();
        let record = self.session.record.as_ref();
        let least = record
            .and_then(|record| record.next_checkpoint_id)
            .unwrap_or(0);
        let (session, commit) = (&self.session.id, known.snapshot.commit);
        // What an agent, or a server that it asks, calls its tools is as free as a prompt.
        let tool = self.tool.as_deref().filter(|_| self.kind == Kind::Step);
        let tool = tool.map(|tool| self.ctx.redactor().beginning(tool, TOOL_CHARS));
        checkpoint::add(self.store, session, commit, now, least, |id, notes| {
            let made = Checkpoint {
                version: checkpoint::FIELDS_VERSION,
                session_id: session.clone(),
                agent: self.session.agent.clone(),
                checkpoint_id: id,
                created_at: now.rfc3339(),
                prompt: known.prompt.clone(),
                snapshot_id: known.snapshot.id.clone(),
                transcript: known.place.clone(),
                tokens: known.tokens,
                kind: self.kind,
                supersedes: self.supersedes(notes),
                tool: tool.clone(),
            };
            (!self.is_told(&made, notes)).then_some(made)
        })
    }

    /// After a rewind: the checkpoint that was gone back to, for the first one of the fork.
    fn supersedes(&self, notes: &SessionNotes) -> Option<String> {
        let origin = self.session.record.as_ref()?.forked_from.as_ref()?;
        let first = !notes
            .checkpoints
            .iter()
            .any(|earlier| earlier.kind == Kind::Prompt);
        let address = || {
            format!(
                "{}:{}",
                session_component(&origin.session_id),
                origin.checkpoint_id
            )
        };
        (first && self.kind == Kind::Prompt).then(address)
    }

    /// Whether a hook tells again of what another told, or of a step that wrote nothing.
    fn is_told(&self, made: &Checkpoint, notes: &SessionNotes) -> bool {
        if self.asked == Asked::ByCommand {
            return false;
        }
        let Some(last) = notes.checkpoints.last() else {
            return false;
        };
        if made.kind == Kind::Step {
            return last.snapshot_id == made.snapshot_id;
        }
        let same = last.kind == made.kind && last.prompt == made.prompt;
        let ids = (&last.transcript.prompt_id, &made.transcript.prompt_id);
        let recent = self.ctx.env.now().minus_seconds(REPEATED_SECONDS).rfc3339();
        let is_recent = last.created_at >= recent;
        let is_in_place = last.transcript.offset == made.transcript.offset;
        if let (Some(last), Some(made)) = ids {
            // The same words may be sent again in a turn that goes on.
            return same && last == made && (is_recent || is_in_place);
        }
        // Its turn has ended: whoever says the same again says it anew.
        let ended = notes.turn_ends.last().and_then(|end| end.checkpoint_id);
        if ended == Some(last.checkpoint_id) {
            return false;
        }
        same && is_in_place && is_recent
    }

    /// The register remembers the file, and the number that comes next, in case that somebody takes the notes away.
    fn remember(&self, made: &Checkpoint) -> Result<()> {
        let Some(record) = self.session.record.clone() else {
            return Ok(());
        };
        let path = made.transcript.path.clone();
        self.ctx.sessions().update(record, |record| {
            let next = made.checkpoint_id + 1;
            record.next_checkpoint_id = Some(record.next_checkpoint_id.unwrap_or(0).max(next));
            if record.transcript.is_none() {
                record.transcript = path;
            }
        })?;
        Ok(())
    }
}
