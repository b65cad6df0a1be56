//! `tw session`: sessions listed and shown, and the command that resumes one.

mod traces;

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::Context;
use super::history::Here;
use super::resume_command::{ResumeCommand, ResumeCommandOrNull, gone, gone_notice};
use super::sessions::{SessionView, Talk, children, find, view};
use super::sharing::sessions::{SharedSession, of_others};
use crate::agents::places::Places;
use crate::agents::transcript::{Detail, Transcript};
use crate::agents::{Agent, by_name, is_argument};
use crate::error::{Code, Error, Result};
use crate::git::fs::is_there;
use crate::git::path::RepoPath;
use crate::json::{self, Text};
use crate::ops::outcome::Invalid;
use crate::store::Store;
use crate::store::checkpoint::{self, Counts, Kind, SessionNotes};
use crate::store::session::{SessionRecord, Sessions};
use crate::store::state::Mode;

/// Which sessions to list.
#[derive(Debug, Clone, Copy, Default)]
pub struct List {
    /// At most this many.
    pub limit: Option<usize>,
    /// Only those that go on.
    pub live: bool,
    /// Those of other worktrees, too.
    pub all_worktrees: bool,
}

/// Answer of `session resume`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Resume {
    /// The session.
    pub session_id: String,
    /// Its agent.
    pub agent: &'static str,
    /// The agent's command that resumes it.
    #[serde(flatten, with = "ResumeCommand")]
    pub resume_command: Vec<String>,
    /// Where it has to be run.
    pub cwd: Option<String>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `session list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listing {
    /// Last active first.
    pub sessions: Vec<SessionView>,
    /// How many there are in all, before `-n`.
    pub total: usize,
    /// Those that others shared ('tw pull'), last active first; none with `--live`. `-n` counts them behind ours.
    pub shared: Vec<SharedSession>,
    /// Records that cannot be read. They hide nothing.
    pub invalid: Vec<Invalid>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `session show`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Shown {
    /// The session.
    pub session: SessionView,
    /// The files that changed from its first snapshot to its last, or, while it is live, up to now; null when that cannot be
    /// told.
    pub files: Option<Vec<Touched>>,
    /// Its sub-agents' sessions.
    pub children: Vec<String>,
    /// The agent's command that resumes it.
    #[serde(flatten, with = "ResumeCommandOrNull")]
    pub resume_command: Option<Vec<String>>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

json::fields! {
    TouchedPath = "path",
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Touched {
    /// Its path.
    #[serde(flatten, with = "Text::<TouchedPath>")]
    pub path: RepoPath,
}

/// Forks of forks, and no more of them.
const FORKS: usize = 16;

/// Lists sessions, last active first.
///
/// # Errors
/// None for a record that cannot be read: it is listed as invalid and hides no other.
pub fn list(ctx: &Context<'_>, request: &List) -> Result<Listing> {
    let sessions = ctx.sessions();
    let (records, mut invalid) = sessions.list()?;
    let (here, now) = (Here::of(ctx, ctx.store()?)?, ctx.env.now());
    let mut wanted: Vec<SessionRecord> = records
        .into_iter()
        .filter(|record| request.all_worktrees || here.has_session(record))
        .filter(|record| !request.live || record.is_live(now))
        .collect();
    let total = wanted.len();
    wanted.truncate(request.limit.unwrap_or(usize::MAX));
    let store = ctx.store()?;
    // What cannot be read hides no session.
    let issues = traces::issues(ctx).unwrap_or_default();
    let mut notices = Vec::new();
    let views: Vec<SessionView> = wanted
        .into_iter()
        .map(|record| {
            let mut known = Talk::default();
            if let Ok(notes) = checkpoint::read(store, &record.session_id) {
                known = talk(&notes);
                notices.extend(notes.notices.iter().cloned());
                let of_origin = || title_of_origin(store, &sessions, &record);
                known.title = known.title.or_else(of_origin);
                known.issues = Some(issues.get(&record.session_id).cloned().unwrap_or_default());
                let files = traces::files(ctx, store, &record, &notes, false);
                known.files_touched = files.ok().map(|files| files.len());
            }
            let mut view = view(ctx, &sessions, record)?;
            view.talk = known;
            Ok(view)
        })
        .collect::<Result<_>>()?;
    // Whether they go on nobody here can tell.
    let mut shared = if request.live {
        Vec::new()
    } else {
        of_others(ctx, store).unwrap_or_else(|error| {
            invalid.push(("shared".to_owned(), error));
            Vec::new()
        })
    };
    shared.truncate(
        request
            .limit
            .map_or(usize::MAX, |limit| limit.saturating_sub(views.len())),
    );
    Ok(Listing {
        sessions: views,
        total,
        shared,
        invalid: invalid
            .into_iter()
            .map(|(id, error)| Invalid {
                id,
                reason: error.message().to_owned(),
            })
            .collect(),
        notices,
    })
}

/// Shows a session: an id, the start of one, or the caller's.
///
/// # Errors
/// `SESSION_NOT_FOUND`, `AMBIGUOUS_ADDRESS`, `CORRUPT_RECORD`.
pub fn show(ctx: &Context<'_>, word: Option<&str>) -> Result<Shown> {
    let sessions = ctx.sessions();
    let record = find(ctx, &sessions, word)?;
    let children = children(&sessions, &record.session_id)?
        .into_iter()
        .map(|child| child.session_id)
        .collect();
    let store = ctx.store()?;
    let resume_command = resume_command(store, &record);
    let notes = checkpoint::read(store, &record.session_id)?;
    let mut known = talk(&notes);
    let of_origin = || title_of_origin(store, &sessions, &record);
    known.title = known.title.or_else(of_origin);
    let issues = traces::issues(ctx)?.remove(&record.session_id);
    known.issues = Some(issues.unwrap_or_default());
    // Only then is the working tree the end of what the session has done so far.
    let here = record.is_live(ctx.env.now()) && Here::of(ctx, store)?.has_session(&record);
    let goes_on = here && store.dir.state()?.mode == Mode::Present;
    let files = traces::files(ctx, store, &record, &notes, goes_on).ok();
    known.files_touched = files.as_ref().map(Vec::len);
    let mut notices = Vec::new();
    if let Some(transcript) = transcript(ctx, &record, &mut notices) {
        notices.extend(transcript.caveat());
        let title = transcript
            .title()
            .map(|title| ctx.redactor().text(title).text);
        known.title = title.or(known.title);
        known.prompts = Some(transcript.prompts.len());
        known.tokens = Some(Counts {
            context: transcript.tokens.context,
            total: transcript.tokens.total,
        });
    }
    let mut session = view(ctx, &sessions, record)?;
    session.talk = known;
    Ok(Shown {
        session,
        files: files.map(|files| files.into_iter().map(|path| Touched { path }).collect()),
        children,
        resume_command,
        notices,
    })
}

/// The command that resumes a session, and where it has to be run. Without a word, a session that was rewound and had no prompt
/// since goes on as its fork.
///
/// # Errors
/// `SESSION_NOT_FOUND`, `AMBIGUOUS_ADDRESS`; `USAGE` when its agent has no such command.
pub fn resume(ctx: &Context<'_>, word: Option<&str>) -> Result<Resume> {
    let mut record = find(ctx, &ctx.sessions(), word)?;
    if word.is_none() {
        record = goes_on_as(ctx, record)?;
    }
    let agent = record.agent.as_deref().and_then(by_name);
    let command = resume_command(ctx.store()?, &record);
    let Some((agent, resume_command)) = agent.map(Agent::name).zip(command) else {
        let who = record.agent.as_deref().unwrap_or("its agent");
        let message = format!(
            "{who} has no command that resumes session '{}'",
            record.session_id
        );
        return Err(Error::new(Code::Usage, message).hint(
            "resume it in the agent itself; 'tw session list' shows the sessions there are",
        ));
    };
    let recorded = transcript(ctx, &record, &mut Vec::new()).and_then(|transcript| transcript.cwd);
    let root = || ctx.repo.worktree_root().to_string_lossy().into_owned();
    let cwd = recorded.unwrap_or_else(root);
    Ok(Resume {
        agent,
        resume_command,
        notices: gone(Some(&cwd)).map(gone_notice).into_iter().collect(),
        cwd: Some(cwd),
        session_id: record.session_id,
    })
}

/// The fork that a session goes on as, or a fork of that; the session itself where it was used since, or never rewound.
fn goes_on_as(ctx: &Context<'_>, mut record: SessionRecord) -> Result<SessionRecord> {
    let mut seen = vec![record.session_id.clone()];
    loop {
        let notes = checkpoint::read(ctx.store()?, &record.session_id)?;
        let last = notes.rewinds.last();
        let standing = last.filter(|rewind| rewind.undone_at.is_none());
        let Some((rewind, fork)) =
            standing.and_then(|rewind| Some((rewind, rewind.fork.as_ref()?)))
        else {
            return Ok(record);
        };
        let mut made = notes.checkpoints.iter().map(|known| &known.created_at);
        if made.any(|time| *time > rewind.rewound_at) || seen.contains(&fork.session_id) {
            return Ok(record);
        }
        match ctx.sessions().get(&fork.session_id)? {
            Some(next) => record = next,
            None => return Ok(record),
        }
        seen.push(record.session_id.clone());
    }
}

/// The command that resumes a session. A fork that waits to be imported has one of its own.
fn resume_command(store: &Store, record: &SessionRecord) -> Option<Vec<String>> {
    let agent = by_name(record.agent.as_deref()?)?;
    let id = &record.session_id;
    if !is_argument(id) {
        return None;
    }
    let waiting = record.forked_from.as_ref().and_then(|origin| {
        agent.export_command(id)?;
        let notes = checkpoint::read(store, &origin.session_id).ok()?;
        let mut forks = notes.rewinds.into_iter().filter_map(|rewind| rewind.fork);
        let fork = forks.find(|fork| fork.session_id == *id)?;
        let file = Path::new(&fork.path);
        is_there(file)
            .ok()?
            .then(|| agent.resume_fork_command(id, file))?
    });
    waiting.or_else(|| agent.resume_command(id))
}

/// What a session's notes tell.
fn talk(notes: &SessionNotes) -> Talk {
    let mut prompts = notes
        .checkpoints
        .iter()
        .filter(|known| known.kind == Kind::Prompt);
    let first = prompts
        .clone()
        .next()
        .and_then(|first| first.prompt.as_deref());
    let mut lines = first.unwrap_or_default().lines().map(str::trim);
    Talk {
        title: lines.find(|line| !line.is_empty()).map(str::to_owned),
        prompts: Some(prompts.by_ref().count()),
        tokens: Some(
            notes
                .checkpoints
                .last()
                .map(|last| last.tokens)
                .unwrap_or_default(),
        ),
        checkpoints: Some(notes.checkpoints.len()),
        rewinds: Some(notes.rewinds.len()),
        issues: None,
        files_touched: None,
    }
}

/// A fork begins as the session that it was made from.
fn title_of_origin(store: &Store, sessions: &Sessions, record: &SessionRecord) -> Option<String> {
    let mut origin = record.forked_from.clone();
    for _ in 0..FORKS {
        let id = origin?.session_id;
        let title = checkpoint::read(store, &id).ok().map(|notes| talk(&notes));
        if let Some(title) = title.and_then(|known| known.title) {
            return Some(title);
        }
        origin = sessions.get(&id).ok().flatten()?.forked_from;
    }
    None
}

/// The session's conversation, when its file is there and can be read. Why one that is there cannot is told.
fn transcript(
    ctx: &Context<'_>,
    record: &SessionRecord,
    notices: &mut Vec<String>,
) -> Option<Transcript> {
    let agent = || by_name(record.agent.as_deref()?);
    let path = if let Some(path) = &record.transcript {
        let path = ctx.cwd.join(path);
        let moved = Some(&path).filter(|path| !is_there(path).unwrap_or(true));
        moved.and_then(|path| agent()?.moved(path)).unwrap_or(path)
    } else {
        let root = ctx.repo.worktree_root();
        agent()?.locate(&record.session_id, Some(root), &Places::from(ctx.env))?
    };
    match crate::agents::read(&path, Detail::Outline) {
        Ok(transcript) => Some(transcript),
        Err(error) => {
            let is_there = is_there(&path).unwrap_or(true);
            notices.extend(is_there.then(|| error.message().to_owned()));
            None
        }
    }
}
