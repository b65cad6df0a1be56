//! The start of a session: the register first, then its snapshot, then retention.

use std::path::PathBuf;
use std::time::Duration;

use super::{Asked, NoSnapshot, Start, Started, by_environment, touch, view};
use crate::agents::hook::{EventKind, HookEvent};
use crate::agents::{AGENTS, by_name};
use crate::error::{Code, Error, Result};
use crate::git::hex::hex;
use crate::git::random;
use crate::ops::swap::recover::{self, Recovery};
use crate::ops::{Context, redaction, request, retention, snapshots};
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::lock::{Hold, WorktreeLock};
use crate::store::session::{SessionRecord, Sessions};
use crate::store::state::{Mode, State};
use crate::store::trigger::Trigger;

/// Two hooks that tell of one start come within this many seconds: one agent may run another's hooks beside its own.
const REPEATED_SECONDS: i64 = 5;

/// How much of a hint, or of whatever word an agent has for its start, is kept.
const HINT_CHARS: usize = 2000;

/// Starts a session: records it, takes its snapshot, then lets go what retention lets go.
///
/// # Errors
/// `USAGE` for an unknown agent, `UNSAFE_WORKSPACE`, `BUSY`, `INTERRUPTED`, or whatever keeps a file from being captured. The
/// session is recorded all the same, except for the first two.
pub fn start(ctx: &Context<'_>, request: &Start) -> Result<Started> {
    ctx.check_workspace(request.force)?;
    if let Some(agent) = &request.agent
        && by_name(agent).is_none()
    {
        let known: Vec<&str> = AGENTS.iter().map(|agent| agent.name()).collect();
        return Err(Error::new(Code::Usage, format!("no agent '{agent}'"))
            .hint(format!("the agents are {}", known.join(", "))));
    }
    let store = ctx.store()?;
    // As a whole: half of a secret is not known for one.
    let hint = redaction::short_text(ctx, request.hint.as_deref());
    let source = redaction::short_text(ctx, request.source.as_deref());
    let mut request = Start {
        hint: hint.as_deref().map(shortened),
        source: source.as_deref().map(shortened),
        ..request.clone()
    };
    if request.asked == Asked::ByCommand {
        // Later commands are given elsewhere.
        request.transcript = request.transcript.map(|path| absolute(ctx, &path));
    }
    let starting = Starting {
        ctx,
        store,
        sessions: ctx.sessions(),
        request: &request,
    };
    starting.run()
}

/// The start that an agent's event tells of. The lock is waited for no longer than `wait`.
pub fn start_of_event(event: &HookEvent, wait: Duration) -> Start {
    let transcript = event.transcript_path.as_ref();
    let starts = matches!(
        event.event,
        EventKind::SessionStart | EventKind::SubagentStart
    );
    Start {
        session: event.session_id.clone(),
        agent: Some(event.agent.to_owned()),
        parent: event.parent.clone(),
        transcript: transcript.map(|path| path.to_string_lossy().into_owned()),
        source: event.source.clone().filter(|_| starts),
        asked: Asked::ByHook { wait },
        ..Start::default()
    }
}

struct Starting<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    sessions: Sessions,
    request: &'a Start,
}

impl Starting<'_> {
    fn run(&self) -> Result<Started> {
        let (id, agent) = self.identity()?;
        let before = self.sessions.get(&id)?;
        let parent = match (&self.request.parent, &before) {
            (Some(parent), _) if *parent != id => Some(parent.clone()),
            (_, Some(before)) => before.parent.clone(),
            _ => None,
        };
        let record = self.record(&id, agent.as_deref(), parent.as_deref())?;
        if parent.is_some() {
            let root = self.sessions.root_of(&id)?;
            // While a sub-agent works, its root lives: what it holds must not be let go.
            touch(self.ctx, &root)?;
            return self.without(record, NoSnapshot::SubAgent);
        }
        if self.request.source.as_deref() == Some("compact") {
            return self.without(record, NoSnapshot::Compaction);
        }
        // After the register: a session whose snapshot has to wait too long is known all the same.
        let lock = WorktreeLock::acquire(
            self.store.dir.path(),
            Hold::Exclusive,
            "session",
            self.request.asked.wait(self.ctx),
        )?;
        let (recovered, interrupted) = match self.request.asked {
            Asked::ByCommand => {
                let said = recover::recover_locked(self.ctx, self.store, &lock)?;
                (Recovery(said), false)
            }
            // Recovering may take long and may need a decision; a hook has neither the time nor anybody to ask.
            Asked::ByHook { .. } => (Recovery::default(), self.store.dir.needs_recovery()?),
        };
        let done = self.run_locked(record, agent, before.as_ref(), interrupted);
        recovered.tell(done, |started| &mut started.notices)
    }

    fn run_locked(
        &self,
        record: SessionRecord,
        agent: Option<String>,
        before: Option<&SessionRecord>,
        interrupted: bool,
    ) -> Result<Started> {
        let id = record.session_id.clone();
        let state = self.store.dir.state()?;
        // Another hook may have taken it while this one waited.
        if self.is_repeated(before, self.sessions.get(&id)?.as_ref(), &state) {
            return self.without(record, NoSnapshot::Repeated);
        }
        if state.mode == Mode::Past && !interrupted {
            self.note_first(&id, state)?;
            return self.without(record, NoSnapshot::Past);
        }
        self.take(record, agent, state, interrupted)
    }

    /// Notes a session that starts in the past where there is none yet, so that what follows belongs to it and not each to
    /// a session of its own. Another one stays: its snapshot is of the present.
    fn note_first(&self, id: &str, state: State) -> Result<()> {
        if state.session_id.is_some() {
            return Ok(());
        }
        self.store.dir.write_state(&State {
            session_id: Some(id.to_owned()),
            session_ended: false,
            ..state
        })
    }

    /// Takes the session's snapshot, notes it, and lets go what retention lets go; under the exclusive lock.
    fn take(
        &self,
        record: SessionRecord,
        agent: Option<String>,
        state: State,
        interrupted: bool,
    ) -> Result<Started> {
        let id = record.session_id.clone();
        let wanted = self.wanted(&id, agent);
        let said = &mut Vec::new();
        let taken = snapshots::take_locked(self.ctx, self.store, &wanted, said, interrupted)?;
        let mut notices = taken.notices;
        let taken = taken.snapshot;
        let record = match state.mode {
            Mode::Present => self
                .sessions
                .update(record, |record| record.snapshot_ids.push(taken.id.clone()))?,
            Mode::Past => record,
        };
        let mut pruned = Vec::new();
        if !interrupted {
            // In a dead swap the state is the recovery's to write.
            self.store.dir.write_state(&State {
                session_id: Some(id),
                session_snapshot_id: Some(taken.id.clone()),
                session_ended: false,
                workspace_root: self.ctx.repo.worktree_root().display().to_string(),
                ..state
            })?;
            match retention::prune_locked(self.ctx, self.store, &request::Prune::default()) {
                Ok(gone) => pruned = gone.forgotten,
                // The snapshot was taken, which is what was asked for.
                Err(error) => {
                    let hint = error.hints().first();
                    let helps = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
                    notices.push(format!("nothing was pruned: {}{helps}", error.message()));
                }
            }
        }
        let session = view(self.ctx, &self.sessions, record)?;
        Ok(Started {
            session_id: session.session_id.clone(),
            snapshot_id: session.snapshot_id.clone(),
            pruned,
            session,
            snapshot: Ok(taken),
            interrupted,
            notices,
        })
    }

    /// The session's id and agent: as asked, else the environment's, else a new id.
    fn identity(&self) -> Result<(String, Option<String>)> {
        let agent = self.request.agent.clone();
        if let Some(id) = &self.request.session {
            if id.trim().is_empty() {
                return Err(Error::new(Code::Usage, "a session id must not be empty"));
            }
            return Ok((id.clone(), agent));
        }
        if let Some((found, id)) = by_environment(self.ctx.env, agent.as_deref()) {
            return Ok((id.to_owned(), Some(found.to_owned())));
        }
        let mut bytes = [0u8; 3];
        random::fill(&mut bytes)?;
        let now = self.ctx.env.now().utc().format("%Y%m%d-%H%M%S");
        Ok((format!("tw-{now}-{}", hex(&bytes)), agent))
    }

    /// Writes what is known of the session into the register.
    fn record(&self, id: &str, agent: Option<&str>, parent: Option<&str>) -> Result<SessionRecord> {
        let now = self.ctx.env.now();
        let worktree = self.ctx.repo.worktree_name();
        let worktree_id = self.ctx.store()?.ensure_worktree_id()?;
        let request = self.request;
        let hint = request.hint.as_deref();
        self.sessions
            .update(SessionRecord::new(id, &worktree, now), |record| {
                let or = |new: Option<&str>, old: Option<String>| new.map(str::to_owned).or(old);
                // A session may be resumed in another worktree than it began in.
                record.worktree.clone_from(&worktree);
                record.worktree_id.clone_from(&worktree_id);
                record.last_active_at = now.rfc3339();
                record.ended_at = None;
                // After a compaction it only goes on.
                if request.source.as_deref() != Some("compact") {
                    record.last_started_at = Some(now.rfc3339());
                }
                record.agent = or(agent, record.agent.take());
                record.parent = or(parent, record.parent.take());
                record.transcript = or(request.transcript.as_deref(), record.transcript.take());
                record.hint = or(hint, record.hint.take());
                record.source = or(request.source.as_deref(), record.source.take());
                if matches!(request.source.as_deref(), Some("compact" | "clear")) {
                    record.compacted_at = Some(now.rfc3339());
                }
            })
    }

    fn wanted(&self, id: &str, agent: Option<String>) -> request::Take {
        request::Take {
            trigger: Trigger::SessionStart,
            force: self.request.force,
            session: Some(id.to_owned()),
            agent,
            hint: self.request.hint.clone(),
            ..request::Take::default()
        }
    }

    /// Whether a hook tells again of a start that it, or another hook, told a moment ago. It does not where the session has
    /// ended since, or another one has started: then this one goes on, and is the current one again.
    fn is_repeated(
        &self,
        before: Option<&SessionRecord>,
        now: Option<&SessionRecord>,
        state: &State,
    ) -> bool {
        let (Asked::ByHook { .. }, Some(record)) = (self.request.asked, now) else {
            return false;
        };
        let goes_on = before
            .is_none_or(|before| before.source == self.request.source && before.ended_at.is_none());
        let is_current = state.session_id.as_ref() == Some(&record.session_id);
        let last = record.snapshot_id().and_then(SnapshotId::parse);
        let recent = self.ctx.env.now().minus_seconds(REPEATED_SECONDS).seconds();
        goes_on && is_current && last.is_some_and(|id| id.time().seconds() >= recent)
    }

    fn without(&self, record: SessionRecord, why: NoSnapshot) -> Result<Started> {
        let session = view(self.ctx, &self.sessions, record)?;
        Ok(Started {
            session_id: session.session_id.clone(),
            snapshot_id: session.snapshot_id.clone(),
            pruned: Vec::new(),
            session,
            snapshot: Err(why),
            interrupted: false,
            notices: Vec::new(),
        })
    }
}

fn absolute(ctx: &Context<'_>, path: &str) -> String {
    // By its components, so that no './' stays in between.
    let path: PathBuf = ctx.cwd.join(path).components().collect();
    path.to_string_lossy().into_owned()
}

fn shortened(hint: &str) -> String {
    hint.chars().take(HINT_CHARS).collect()
}
