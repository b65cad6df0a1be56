//! Sessions: one run of an agent, from its start (a snapshot, then retention) to its end.
//!
//! Promises: a sub-agent is recorded under its root and takes nothing of the root's; a start in the past, or after a
//! compaction, records the session and no more; the register is written before anything that can fail. Leaves out
//! checkpoints.

mod end;
mod find;
mod start;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::Context;
use super::caller::by_environment;
use super::history::Here;
use super::outcome::{Forgotten, SnapshotView};
use crate::error::{Code, Error, Result};
use crate::json;
use crate::store::Store;
use crate::store::checkpoint::Counts;
use crate::store::id::SnapshotId;
use crate::store::session::{Origin, SessionRecord, Sessions};
use crate::store::state::State;

pub use super::caller::{Caller, Via, caller, caller_or_ended, session_flag};
pub use end::end;
pub use find::{SHORTEST_PART, ambiguous, children, find, not_found};
pub use start::{start, start_of_event};

/// Who starts a session, and how much may be done for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Asked {
    /// A command: a dead swap is recovered first, the lock is waited for as the settings say.
    #[default]
    ByCommand,
    /// A hook: nothing is recovered, and the lock is waited for no longer than this.
    ByHook {
        /// How long the lock is waited for.
        wait: Duration,
    },
}

impl Asked {
    /// How long the worktree's lock is waited for.
    pub fn wait(self, ctx: &Context<'_>) -> Duration {
        match self {
            Self::ByCommand => ctx.settings.lock_timeout,
            // An agent kills a hook that takes too long, and with it what the hook would have said.
            Self::ByHook { wait } => wait.min(ctx.settings.lock_timeout),
        }
    }
}

/// Start a session.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// Its id; None: the environment's, else a new one.
    pub session: Option<String>,
    /// The agent's name.
    pub agent: Option<String>,
    /// The session that it is a sub-agent of.
    pub parent: Option<String>,
    /// Its conversation's file.
    pub transcript: Option<String>,
    /// What it is about.
    pub hint: Option<String>,
    /// Why it starts: `startup`, `resume`, `clear`, `compact`, `fork`.
    pub source: Option<String>,
    /// Go on where the workspace is `/`, `$HOME` or above.
    pub force: bool,
    /// Who asks.
    pub asked: Asked,
}

/// A session as readers see it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "session")]
pub struct SessionView {
    /// The true id, whatever characters it has.
    pub session_id: String,
    /// The agent's name.
    pub agent: Option<String>,
    /// The session that it is a sub-agent of.
    pub parent: Option<String>,
    /// The session at the top of its chain of parents: itself when it is no sub-agent.
    pub root: String,
    /// The worktree that it works in.
    pub worktree: String,
    /// Whether it goes on: not ended, and active within 24 hours.
    pub live: bool,
    /// When it was first started: RFC 3339, UTC.
    pub started_at: String,
    /// Its last sign of life: RFC 3339, UTC.
    pub last_active_at: String,
    /// When it ended: RFC 3339, UTC; null while it goes on, and again once it was resumed.
    pub ended_at: Option<String>,
    /// How it last started: `startup`, `resume`, `clear`, ….
    pub source: Option<String>,
    /// Its current snapshot: the root's for a sub-agent.
    pub snapshot_id: Option<String>,
    /// Snapshots taken at its starts, oldest first.
    pub snapshot_ids: Vec<String>,
    /// Its conversation's file.
    pub transcript: Option<String>,
    /// What it is about.
    pub hint: Option<String>,
    /// What its checkpoints tell.
    #[serde(flatten)]
    pub talk: Talk,
    /// The checkpoint that it goes on from, after a rewind: `SESSION:N`.
    #[serde(serialize_with = "json::printed_or_null")]
    #[schemars(with = "Option<String>")]
    pub forked_from: Option<Origin>,
}

/// What is known of a session's conversation; null where that was not looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Talk {
    /// Its first prompt's first line, redacted in a list; null where that was not looked at.
    pub title: Option<String>,
    /// How many prompts it has; in a list, how many were checkpointed.
    pub prompts: Option<usize>,
    /// Token counts at the end; in a list, at its last checkpoint.
    pub tokens: Option<Counts>,
    /// How many checkpoints it has.
    pub checkpoints: Option<usize>,
    /// How often it was rewound.
    pub rewinds: Option<usize>,
    /// The issues reported in it, oldest first; null where that was not looked at.
    pub issues: Option<Vec<String>>,
    /// How many files changed, by anybody, from its first snapshot to its last.
    pub files_touched: Option<usize>,
}

/// Why a start took no snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum NoSnapshot {
    /// The working tree is in the past.
    Past,
    /// It is a sub-agent's session.
    SubAgent,
    /// The conversation was compacted; the session goes on.
    Compaction,
    /// The same start was told a moment ago.
    Repeated,
}

/// Answer of `session start`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Started {
    /// The session's id.
    pub session_id: String,
    /// The session's current snapshot.
    pub snapshot_id: Option<String>,
    /// What retention forgot.
    pub pruned: Vec<Forgotten>,
    /// The session.
    pub session: SessionView,
    /// The snapshot taken.
    #[serde(flatten, with = "SnapshotOrNot")]
    pub snapshot: std::result::Result<SnapshotView, NoSnapshot>,
    /// The snapshot is of a working tree in which a swap had died.
    #[serde(skip)]
    pub interrupted: bool,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// How the result of taking a snapshot stands in an answer.
#[derive(Serialize, JsonSchema)]
struct SnapshotOrNot<'a> {
    /// The snapshot taken.
    snapshot: Option<&'a SnapshotView>,
    /// Why none was taken.
    no_snapshot: Option<NoSnapshot>,
}

impl SnapshotOrNot<'_> {
    fn serialize<S: Serializer>(
        taken: &std::result::Result<SnapshotView, NoSnapshot>,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        let fields = SnapshotOrNot {
            snapshot: taken.as_ref().ok(),
            no_snapshot: taken.as_ref().err().copied(),
        };
        Serialize::serialize(&fields, serializer)
    }
}

/// Answer of `session end`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ended {
    /// The session's id.
    pub session_id: String,
    /// The session.
    pub session: SessionView,
    /// True: it had ended before, and was left as it is.
    pub had_ended: bool,
    /// Sub-agents' sessions that ended with it.
    pub ended_with_it: Vec<String>,
}

/// The current snapshot of the session with this id: for a sub-agent that of its root.
///
/// # Errors
/// `NO_SESSION_SNAPSHOT` when there is no such session or it has none, or when the register cannot be read.
pub fn snapshot_of(ctx: &Context<'_>, session_id: &str) -> Result<SnapshotId> {
    let sessions = ctx.sessions();
    let record = sessions.get(&sessions.root_of(session_id)?)?;
    let id = record.and_then(|record| SnapshotId::parse(record.snapshot_id()?));
    id.ok_or_else(|| {
        let message = format!("session '{session_id}' has no snapshot");
        Error::new(Code::NoSessionSnapshot, message).hint(
            "'tw session start --session ID' takes one, and 'tw session list' shows the sessions there are",
        )
    })
}

/// The snapshot that the address `session` means: that of the caller's session, never another one's.
///
/// # Errors
/// `NO_SESSION_SNAPSHOT`, or when state or register cannot be read.
pub fn current_snapshot(ctx: &Context<'_>, store: &Store) -> Result<SnapshotId> {
    let state = store.dir.state()?;
    let id = match caller(ctx, store, None, None)? {
        Some(caller) if caller.via != Via::State => snapshot_here(ctx, &state, &caller.session_id)?,
        _ => state.session_snapshot_id,
    };
    id.as_deref().and_then(SnapshotId::parse).ok_or_else(|| {
        Error::new(Code::NoSessionSnapshot, "this session has no snapshot")
            .hint("run 'tw snapshot' and use 'latest'")
    })
}

/// The snapshot that a session has in this worktree: an agent may run a command in another one, whose files the session's
/// snapshot does not have.
fn snapshot_here(ctx: &Context<'_>, state: &State, session_id: &str) -> Result<Option<String>> {
    let sessions = ctx.sessions();
    let root = sessions.root_of(session_id)?;
    let here = Here::of(ctx, ctx.store()?)?;
    let record = sessions.get(&root)?;
    let here = record.filter(|record| here.has_session(record));
    let id = here.and_then(|record| record.snapshot_id().map(str::to_owned));
    // Its start in the past took none, or it went on elsewhere since: what this worktree's state notes of it stands.
    let noted = state.session_id.as_ref().filter(|last| **last == root);
    Ok(id.or_else(|| noted.and(state.session_snapshot_id.clone())))
}

/// Notes a sign of life of a session that the register knows; one that had ended goes on. Answers whether the register knows it.
///
/// # Errors
/// When the register cannot be read or written.
pub fn touch(ctx: &Context<'_>, session_id: &str) -> Result<bool> {
    note_sign(ctx, session_id, Sign::GoesOn)
}

/// Notes that something of a session came to an end: word of it may come after that of the session's own end, which it does not undo.
/// Answers as [`touch`].
///
/// # Errors
/// As [`touch`].
pub fn touch_by_end(ctx: &Context<'_>, session_id: &str) -> Result<bool> {
    note_sign(ctx, session_id, Sign::Ends)
}

/// What an event says of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    GoesOn,
    Ends,
}

fn note_sign(ctx: &Context<'_>, session_id: &str, sign: Sign) -> Result<bool> {
    let sessions = ctx.sessions();
    let now = ctx.env.now();
    let Some(known) = sessions.get(session_id)? else {
        return Ok(false);
    };
    if known.ended_at.is_some() && sign == Sign::Ends {
        return Ok(true);
    }
    // A file written at every prompt would tell nothing more.
    if known.ended_at.is_some() || known.is_silent_for(now, 60) {
        sessions.update(known, |record| {
            record.last_active_at = now.rfc3339();
            record.ended_at = None;
        })?;
    }
    Ok(true)
}

/// Notes that a session's agent has summarised its conversation. Answers whether the register knows the session.
///
/// # Errors
/// When the register cannot be read or written.
pub fn compacted(ctx: &Context<'_>, session_id: &str) -> Result<bool> {
    let sessions = ctx.sessions();
    let Some(known) = sessions.get(session_id)? else {
        return Ok(false);
    };
    let now = ctx.env.now().rfc3339();
    sessions.update(known, |record| {
        record.last_active_at.clone_from(&now);
        record.compacted_at = Some(now);
        record.ended_at = None;
    })?;
    Ok(true)
}

/// A session as readers see it.
///
/// # Errors
/// When the register cannot be read.
pub fn view(ctx: &Context<'_>, sessions: &Sessions, record: SessionRecord) -> Result<SessionView> {
    let root = sessions.root_of(&record.session_id)?;
    let snapshot_id = if root == record.session_id {
        record.snapshot_id().map(str::to_owned)
    } else {
        let root = sessions.get(&root)?;
        root.and_then(|root| root.snapshot_id().map(str::to_owned))
    };
    Ok(SessionView {
        live: record.is_live(ctx.env.now()),
        session_id: record.session_id,
        agent: record.agent,
        parent: record.parent,
        root,
        worktree: record.worktree,
        started_at: record.started_at,
        last_active_at: record.last_active_at,
        ended_at: record.ended_at,
        source: record.source,
        snapshot_id,
        snapshot_ids: record.snapshot_ids,
        transcript: record.transcript,
        hint: record.hint,
        talk: Talk::default(),
        forked_from: record.forked_from,
    })
}
