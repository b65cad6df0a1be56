//! Sessions listed, shown and ended.

use std::path::Path;

use super::{Ended, List, Listing, Resume, Shown, Talk, Touched, caller, traces, view};
use crate::agents::places::Places;
use crate::agents::transcript::{Detail, Transcript};
use crate::agents::{Agent, by_name};
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::ops::outcome::Invalid;
use crate::store::Store;
use crate::store::checkpoint::{self, Counts, Kind, SessionNotes};
use crate::store::session::{SessionRecord, Sessions};
use crate::store::state::Mode;

/// Fewer characters name no session.
const SHORTEST_PART: usize = 4;

/// Forks of forks, and no more of them.
const FORKS: usize = 16;

/// Lists sessions, last active first.
///
/// # Errors
/// None for a record that cannot be read: it is listed as invalid and hides no other.
pub fn list(ctx: &Context<'_>, request: &List) -> Result<Listing> {
    let sessions = Sessions::new(ctx.repo.common_dir());
    let (records, invalid) = sessions.list()?;
    let (here, now) = (ctx.repo.worktree_name(), ctx.env.now());
    let mut wanted: Vec<SessionRecord> = records
        .into_iter()
        .filter(|record| request.all_worktrees || record.worktree == here)
        .filter(|record| !request.live || record.is_live(now))
        .collect();
    let total = wanted.len();
    wanted.truncate(request.limit.unwrap_or(usize::MAX));
    let store = Store::open(&ctx.repo)?;
    // What cannot be read hides no session.
    let issues = traces::issues(ctx).unwrap_or_default();
    let views = wanted
        .into_iter()
        .map(|record| {
            let mut known = Talk::default();
            if let Ok(notes) = checkpoint::read(&store, &record.session_id) {
                known = talk(&notes);
                let of_origin = || title_of_origin(&store, &sessions, &record);
                known.title = known.title.or_else(of_origin);
                known.issues = Some(issues.get(&record.session_id).cloned().unwrap_or_default());
                let files = traces::files(ctx, &store, &record, &notes, false);
                known.files_touched = files.ok().map(|files| files.len());
            }
            let mut view = view(ctx, &sessions, record)?;
            view.talk = known;
            Ok(view)
        })
        .collect::<Result<_>>()?;
    Ok(Listing {
        sessions: views,
        total,
        invalid: invalid
            .into_iter()
            .map(|(id, reason)| Invalid { id, reason })
            .collect(),
    })
}

/// The record that a word names: an id or the start of one; None: the caller's.
fn find(ctx: &Context<'_>, sessions: &Sessions, word: Option<&str>) -> Result<SessionRecord> {
    let word = match word {
        Some(word) => word.to_owned(),
        None => {
            caller(ctx, &Store::open(&ctx.repo)?, None, None)?
                .ok_or_else(|| {
                    Error::new(Code::SessionNotFound, "no session was started here")
                        .hint("'tw session start' starts one")
                })?
                .session_id
        }
    };
    if let Some(record) = sessions.get(&word)? {
        return Ok(record);
    }
    let (mut records, _) = sessions.list()?;
    records.retain(|record| word.len() >= SHORTEST_PART && record.session_id.starts_with(&word));
    if records.len() > 1 {
        let candidates: Vec<&str> = records
            .iter()
            .map(|record| record.session_id.as_str())
            .collect();
        return Err(Error::new(
            Code::AmbiguousAddress,
            format!("'{word}' names {} sessions", candidates.len()),
        )
        .hint("give more of the id; 'tw session list' shows the ids")
        .detail("candidates", candidates));
    }
    records.pop().ok_or_else(|| {
        Error::new(Code::SessionNotFound, format!("no session '{word}'"))
            .hint("'tw session list --all-worktrees' shows what there is")
    })
}

/// Shows a session: an id, the start of one, or the caller's.
///
/// # Errors
/// `SESSION_NOT_FOUND`, `AMBIGUOUS_ADDRESS`, `CORRUPT_RECORD`.
pub fn show(ctx: &Context<'_>, word: Option<&str>) -> Result<Shown> {
    let sessions = Sessions::new(ctx.repo.common_dir());
    let record = find(ctx, &sessions, word)?;
    let children = children(&sessions, &record.session_id)?
        .into_iter()
        .map(|child| child.session_id)
        .collect();
    let store = Store::open(&ctx.repo)?;
    let resume_command = resume_command(&store, &record);
    let notes = checkpoint::read(&store, &record.session_id)?;
    let mut known = talk(&notes);
    let of_origin = || title_of_origin(&store, &sessions, &record);
    known.title = known.title.or_else(of_origin);
    let issues = traces::issues(ctx)?.remove(&record.session_id);
    known.issues = Some(issues.unwrap_or_default());
    let here = record.is_live(ctx.env.now()) && record.worktree == ctx.repo.worktree_name();
    let goes_on = here && store.dir.state()?.mode == Mode::Present;
    let files = traces::files(ctx, &store, &record, &notes, goes_on).ok();
    known.files_touched = files.as_ref().map(Vec::len);
    if let Some(transcript) = transcript(ctx, &record) {
        known.title = transcript.title().map(str::to_owned).or(known.title);
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
    })
}

/// The command that resumes a session, and where it has to be run.
///
/// # Errors
/// `SESSION_NOT_FOUND`, `AMBIGUOUS_ADDRESS`; `USAGE` when its agent has no such command.
pub fn resume(ctx: &Context<'_>, word: Option<&str>) -> Result<Resume> {
    let record = find(ctx, &Sessions::new(ctx.repo.common_dir()), word)?;
    let agent = record.agent.as_deref().and_then(by_name);
    let command = resume_command(&Store::open(&ctx.repo)?, &record);
    let Some((agent, resume_command)) = agent.map(Agent::name).zip(command) else {
        let who = record.agent.as_deref().unwrap_or("its agent");
        let message = format!(
            "{who} has no command that resumes session '{}'",
            record.session_id
        );
        return Err(Error::new(Code::Usage, message));
    };
    let recorded = transcript(ctx, &record).and_then(|transcript| transcript.cwd);
    let root = || ctx.repo.worktree_root().to_string_lossy().into_owned();
    Ok(Resume {
        agent,
        resume_command,
        cwd: Some(recorded.unwrap_or_else(root)),
        session_id: record.session_id,
    })
}

/// The command that resumes a session. A fork that waits to be imported has one of its own.
fn resume_command(store: &Store, record: &SessionRecord) -> Option<Vec<String>> {
    let agent = by_name(record.agent.as_deref()?)?;
    let id = &record.session_id;
    let waiting = record.forked_from.as_ref().and_then(|origin| {
        agent.export_command(id)?;
        let notes = checkpoint::read(store, &origin.session_id).ok()?;
        let mut forks = notes.rewinds.into_iter().filter_map(|rewind| rewind.fork);
        let fork = forks.find(|fork| fork.session_id == *id)?;
        let file = Path::new(&fork.path);
        file.exists().then(|| agent.resume_fork_command(id, file))?
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

/// The session's conversation, when its file is there and can be read.
fn transcript(ctx: &Context<'_>, record: &SessionRecord) -> Option<Transcript> {
    let path = if let Some(path) = &record.transcript {
        ctx.cwd.join(path)
    } else {
        let agent = by_name(record.agent.as_deref()?)?;
        let root = ctx.repo.worktree_root();
        agent.locate(&record.session_id, Some(root), &Places::from(ctx.env))?
    };
    crate::agents::read(&path, Detail::Outline).ok()
}

/// The sub-agents beneath a session, however deep.
fn children(sessions: &Sessions, root: &str) -> Result<Vec<SessionRecord>> {
    let (records, _) = sessions.list()?;
    let mut found: Vec<SessionRecord> = Vec::new();
    let mut wanted = vec![root.to_owned()];
    while let Some(parent) = wanted.pop() {
        for record in &records {
            let is_new = record.session_id != root && !found.contains(record);
            if record.parent.as_deref() == Some(&parent) && is_new {
                wanted.push(record.session_id.clone());
                found.push(record.clone());
            }
        }
    }
    Ok(found)
}

/// Ends a session and its sub-agents'. One that ended before stays as it is.
///
/// # Errors
/// `SESSION_NOT_FOUND`, `AMBIGUOUS_ADDRESS`, `CORRUPT_RECORD`.
pub fn end(ctx: &Context<'_>, word: Option<&str>) -> Result<Ended> {
    let sessions = Sessions::new(ctx.repo.common_dir());
    let record = find(ctx, &sessions, word)?;
    let now = ctx.env.now().rfc3339();
    let close = |record: SessionRecord| {
        sessions.update(record, |record| {
            if record.ended_at.is_none() {
                record.ended_at = Some(now.clone());
                record.last_active_at.clone_from(&now);
            }
        })
    };
    let mut ended_with_it = Vec::new();
    for child in children(&sessions, &record.session_id)? {
        if child.ended_at.is_none() {
            ended_with_it.push(close(child)?.session_id);
        }
    }
    Ok(Ended {
        session_id: record.session_id.clone(),
        session: view(ctx, &sessions, close(record)?)?,
        ended_with_it,
    })
}
