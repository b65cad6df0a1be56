//! An agent's event comes in: `tw hook AGENT EVENT`.
//!
//! Promises: the agent is never failed or held up. Whatever goes wrong becomes a line in `log.jsonl` of the worktree's
//! `timewarp` directory; outside of a repository nothing happens at all; no lock is waited for longer than a quarter of the
//! event's budget; a dead swap is left to a command of the user's, and what is there is snapshotted as interrupted. A setting with a
//! value that it cannot have is logged, and its default holds: an event does not come again.

mod place;

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::checkpoints;
use super::sessions::{self, NoSnapshot, Started};
use super::snapshot_view::SnapshotView;
use super::swap::recover::taken_by_power;
use super::{Context, redaction, watcher, workspaces};
use super::{event_log, sessions::Ended};
use crate::agents::hook::{EventKind, HookEvent, event_kind, parse};
use crate::agents::{Agent, additional_context, by_name};
use crate::env::Env;
use crate::error::{Code, Error, Result};
use crate::git::repo::Repo;
use crate::progress::Progress;
use crate::store::records::settled;
use crate::store::session::Sessions;
use crate::store::state::StateDir;
use place::Place;

/// How long an event may take before its agent's user feels it.
const BUDGET: Duration = Duration::from_secs(10);

/// The same for a prompt or a tool, which a user waits for.
const PROMPT_BUDGET: Duration = Duration::from_secs(2);

/// What came in.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The agent's name, as the command line has it.
    pub agent: &'a str,
    /// The event's name, ours or the agent's own; None: the payload names it.
    pub event: Option<&'a str>,
    /// The payload.
    pub payload: &'a [u8],
    /// The directory that `tw` was started in.
    pub start: &'a Path,
}

/// What was done with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Done {
    /// A snapshot was taken: of a session's start, or of the end of a turn.
    Snapshot,
    /// A checkpoint was made.
    Checkpoint,
    /// A session, or the end of a turn, was recorded; there was no snapshot to take, or nothing had changed since the last.
    Recorded,
    /// A session was ended.
    Ended,
    /// There was nothing to do.
    Nothing,
    /// Something failed; the log says what.
    Failed,
}

/// Answer of `hook`. It is always an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hooked {
    /// Who really called: an agent may run another's hooks.
    pub agent: String,
    /// The event in the words of tw.
    pub event: Option<EventKind>,
    /// What was done.
    pub done: Done,
    /// The session.
    pub session_id: Option<String>,
    /// The session's snapshot, the checkpoint's, or that of the end of the turn.
    pub snapshot_id: Option<String>,
    /// The checkpoint that was made.
    pub checkpoint_id: Option<u64>,
    /// What the agent is told: one JSON document in its own words.
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub output: Option<serde_json::Value>,
    /// What failed, as in a failed command's document; or the setting with a value that it cannot have, in whose place its default
    /// held.
    pub error: Option<Error>,
    /// No log could be had that tells of the error.
    #[serde(skip)]
    pub is_unlogged: bool,
    /// The note of a rewind that the output tells.
    #[serde(skip)]
    pub told: Option<Told>,
}

/// A note that was taken to be told.
#[derive(Debug)]
pub struct Told {
    sessions: Sessions,
    session_id: String,
    note: String,
}

impl Told {
    /// Leaves the note for the next start, since its reader got nothing.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn leave_again(&self) -> Result<()> {
        self.sessions.leave_again(&self.session_id, &self.note)
    }
}

impl Hooked {
    fn nothing(request: &Request<'_>) -> Self {
        Self {
            agent: request.agent.to_owned(),
            event: request.event.map(event_kind),
            done: Done::Nothing,
            session_id: None,
            snapshot_id: None,
            checkpoint_id: None,
            output: None,
            error: None,
            is_unlogged: false,
            told: None,
        }
    }

    /// Of a repository that cannot be opened.
    fn unopened(mut self, dir: &Path, env: &Env, error: Error) -> Self {
        // Outside of a repository there is nothing to do and no log to say so.
        if error.code() == Code::NotARepository || !dir.is_dir() {
            return self;
        }
        self.done = Done::Failed;
        // Nothing is written to what is no working tree, or of a kind that is not known.
        if error.code() == Code::UnsupportedRepository {
            self.is_unlogged = true;
            self.error = Some(error);
            return self;
        }
        // What somebody else owns is not written to, either.
        let logged = Repo::own_git_dir(dir, env).map(|git_dir| {
            let line = self.line(env, "error", Some(error.code()), error.message());
            event_log::append(&StateDir::new(&git_dir), &[line])
        });
        self.is_unlogged = !matches!(logged, Some(Ok(())));
        self.error = Some(error);
        self
    }

    fn line<'a>(
        &'a self,
        env: &Env,
        outcome: &'static str,
        code: Option<Code>,
        message: &'a str,
    ) -> LogLine<'a> {
        LogLine {
            at: env.now().rfc3339(),
            event: "hook",
            agent: &self.agent,
            hook: self.event.as_ref(),
            session_id: self.session_id.as_deref(),
            snapshot_id: self.snapshot_id.as_deref(),
            outcome,
            code: code.map(Code::as_str),
            message,
        }
    }
}

/// A line of the log.
#[derive(Serialize)]
struct LogLine<'a> {
    at: String,
    event: &'static str,
    agent: &'a str,
    hook: Option<&'a EventKind>,
    session_id: Option<&'a str>,
    snapshot_id: Option<&'a str>,
    /// `error`, `interrupted` or `settled`.
    outcome: &'static str,
    code: Option<&'static str>,
    message: &'a str,
}

/// Takes an event in. Never fails.
pub fn take_in(request: &Request<'_>, env: &Env, progress: &dyn Progress) -> Hooked {
    let mut hooked = Hooked::nothing(request);
    let parsed = parse(request.agent, request.event, request.payload).map(HookEvent::by_its_file);
    let event = parsed.as_ref().ok();
    let place = Place::new(request.start, event, env, progress);
    let mut ctx = match place.open(event) {
        Ok(ctx) => ctx,
        Err(error) => return hooked.unopened(&place.dir, env, error),
    };
    if let Ok(event) = &parsed {
        ctx.settings.wait_at_most(budget(&event.event) / 4);
    }
    let result = parsed.and_then(|event| {
        event.agent.clone_into(&mut hooked.agent);
        hooked.event = Some(event.event.clone());
        hooked.session_id.clone_from(&event.session_id);
        let result = handle(&ctx, &event, &mut hooked);
        // What a rewind left for the model waits for no lock and no snapshot: it is told, whatever else failed.
        let told = tell_note(&ctx, &event, &mut hooked);
        result
            .and(told)
            .map_err(|error| error.detail("session_id", event.session_id.unwrap_or_default()))
    });
    if matches!(
        hooked.done,
        Done::Snapshot | Done::Checkpoint | Done::Recorded
    ) {
        watcher::start_when_asked(&ctx);
    }
    if let Err(error) = result {
        hooked.done = Done::Failed;
        fail(&ctx, &mut hooked, error);
    }
    for fault in ctx.settings.faults.clone() {
        fail(&ctx, &mut hooked, fault.into());
    }
    for error in faults_of_members(&ctx, &hooked) {
        fail(&ctx, &mut hooked, error);
    }
    // Nobody reads what a hook says.
    for said in settled::take() {
        let _ = write_log(&ctx, &hooked, "settled", None, &said);
    }
    hooked
}

/// What keeps members of the workspace, which are captured with this repository, from being captured as they should.
fn faults_of_members(ctx: &Context<'_>, hooked: &Hooked) -> Vec<Error> {
    if !matches!(hooked.done, Done::Snapshot | Done::Checkpoint) {
        return Vec::new();
    }
    let mut errors = Vec::new();
    for partner in workspaces::partners(ctx).unwrap_or_default() {
        match partner.open_despite_faults(ctx) {
            Ok(member) => {
                let faults = member.settings.faults.iter();
                errors.extend(faults.map(|fault| partner.has_fault(fault)));
            }
            Err(error) => errors.push(error),
        }
    }
    errors
}

/// Logs an error, and answers with the first.
fn fail(ctx: &Context<'_>, hooked: &mut Hooked, error: Error) {
    hooked.is_unlogged |=
        write_log(ctx, hooked, "error", Some(error.code()), error.message()).is_err();
    hooked.error.get_or_insert(error);
}

/// How long an event may take.
fn budget(event: &EventKind) -> Duration {
    match event {
        EventKind::SessionStart | EventKind::SubagentStart => BUDGET,
        // The end of a session too: its agent is on its way out.
        _ => PROMPT_BUDGET,
    }
}

fn handle(ctx: &Context<'_>, event: &HookEvent, hooked: &mut Hooked) -> Result<()> {
    match event.event {
        // No session has what it does, and it must not take the place of one.
        _ if event.is_orphan && !has_root(ctx, event)? => note_life(ctx, event, hooked)?,
        // Older agents do not say which sub-agent it is: its root goes on.
        EventKind::SubagentStart | EventKind::SubagentStop if is_of_root(ctx, event)? => {
            note_life(ctx, event, hooked)?;
        }
        EventKind::SessionStart | EventKind::SubagentStart => {
            let started = sessions::start(ctx, &sessions::start_of_event(event, BUDGET / 4))?;
            note_start(ctx, hooked, &started);
        }
        EventKind::SessionEnd | EventKind::SubagentStop => {
            let Some(id) = event.session_id.as_deref() else {
                return Ok(());
            };
            hooked.done = match sessions::end(ctx, Some(id)) {
                Ok(Ended { .. }) => Done::Ended,
                // It began before tw was set up.
                Err(error) if error.code() == Code::SessionNotFound => Done::Nothing,
                Err(error) => return Err(error),
            };
        }
        EventKind::UserPromptSubmit | EventKind::PostToolUse => {
            if let Some(taken) = checkpoints::on_event(ctx, event, PROMPT_BUDGET / 4)? {
                hooked.done = Done::Checkpoint;
                hooked.checkpoint_id = Some(taken.checkpoint.checkpoint_id);
                hooked.session_id = Some(taken.checkpoint.session_id);
                hooked.snapshot_id = Some(taken.checkpoint.snapshot_id);
                note_interrupted(ctx, hooked, is_interrupted(&taken.snapshot));
            } else {
                note_life(ctx, event, hooked)?;
            }
        }
        EventKind::Stop => match checkpoints::on_turn_end(ctx, event, PROMPT_BUDGET / 4)? {
            Some(taken) => {
                hooked.done = if taken.fresh {
                    Done::Snapshot
                } else {
                    Done::Recorded
                };
                let is_interrupted = is_interrupted(&taken.snapshot);
                hooked.snapshot_id = Some(taken.snapshot.id);
                note_interrupted(ctx, hooked, is_interrupted);
            }
            None => note_life(ctx, event, hooked)?,
        },
        EventKind::PostCompact => {
            if let Some(id) = event.session_id.as_deref()
                && sessions::compacted(ctx, id)?
            {
                hooked.done = Done::Recorded;
            }
        }
        _ => note_life(ctx, event, hooked)?,
    }
    Ok(())
}

/// Whether the session of an event is known, and is no sub-agent's.
fn is_of_root(ctx: &Context<'_>, event: &HookEvent) -> Result<bool> {
    let Some(id) = event
        .session_id
        .as_deref()
        .filter(|_| event.parent.is_none())
    else {
        return Ok(false);
    };
    let record = ctx.sessions().get(id)?;
    Ok(record.is_some_and(|record| record.parent.is_none()))
}

/// Whether the session of an event is known as a sub-agent's.
fn has_root(ctx: &Context<'_>, event: &HookEvent) -> Result<bool> {
    let Some(id) = event.session_id.as_deref() else {
        return Ok(false);
    };
    Ok(ctx.sessions().root_of(id)? != id)
}

/// Answers with what a rewind left for this session, as its agent takes it, at the event that tells the model.
fn tell_note(ctx: &Context<'_>, event: &HookEvent, hooked: &mut Hooked) -> Result<()> {
    let tells = |agent: &&dyn Agent| additional_context(*agent, &event.event, "").is_some();
    let agent = by_name(event.agent).filter(tells);
    let (Some(agent), Some(id)) = (agent, event.session_id.as_deref()) else {
        return Ok(());
    };
    let sessions = ctx.sessions();
    if let Some(note) = sessions.take_note(id)? {
        hooked.output = additional_context(agent, &event.event, &note);
        hooked.told = Some(Told {
            session_id: id.to_owned(),
            sessions,
            note,
        });
    }
    Ok(())
}

fn note_life(ctx: &Context<'_>, event: &HookEvent, hooked: &mut Hooked) -> Result<()> {
    let Some(id) = event.session_id.as_deref() else {
        return Ok(());
    };
    let is_known = match event.event {
        EventKind::Stop | EventKind::SubagentStop => sessions::touch_by_end(ctx, id)?,
        _ => sessions::touch(ctx, id)?,
    };
    if is_known {
        hooked.done = Done::Recorded;
    }
    Ok(())
}

fn note_start(ctx: &Context<'_>, hooked: &mut Hooked, started: &Started) {
    hooked.session_id = Some(started.session_id.clone());
    hooked.snapshot_id.clone_from(&started.session.snapshot_id);
    hooked.done = match &started.snapshot {
        Ok(taken) => {
            hooked.snapshot_id = Some(taken.id.clone());
            Done::Snapshot
        }
        Err(NoSnapshot::Repeated) => Done::Nothing,
        Err(_) => Done::Recorded,
    };
    let lost = ctx.store().and_then(|store| taken_by_power(ctx, store));
    for title in lost.into_iter().flatten() {
        let message = format!("power was lost before {title} was on disk; run 'tw recover'");
        // What told of it tells again.
        let _ = write_log(ctx, hooked, "interrupted", None, &message);
    }
    note_interrupted(ctx, hooked, started.interrupted);
}

/// Whether a snapshot has what an interrupted swap left.
fn is_interrupted(snapshot: &SnapshotView) -> bool {
    snapshot.json.get("interrupted") == Some(&serde_json::Value::Bool(true))
}

/// Logs that a snapshot has what an interrupted swap left.
fn note_interrupted(ctx: &Context<'_>, hooked: &Hooked, is_interrupted: bool) {
    if is_interrupted {
        let message =
            "a swap was interrupted here: the snapshot has what was on disk; run 'tw recover'";
        let _ = write_log(ctx, hooked, "interrupted", Some(Code::Interrupted), message);
    }
}

/// Writes a line of the log.
fn write_log(
    ctx: &Context<'_>,
    hooked: &Hooked,
    outcome: &'static str,
    code: Option<Code>,
    message: &str,
) -> Result<()> {
    let message = redaction::short_text(ctx, Some(message)).unwrap_or_default();
    let line = hooked.line(ctx.env, outcome, code, &message);
    event_log::append(&ctx.state_dir(), &[line])
}
