//! Outcomes of sessions, hooks and what sets agents up, in JSON.

use serde::Serialize;

use super::Document;
use super::checkpoint::Tokens;
use super::paths::{exact, lossy};
use super::rewind::command_line;
use crate::git::path::RepoPath;
use crate::ops::outcome::{Forgotten, SnapshotView};
use crate::ops::session::{Ended, Listing, NoSnapshot, Resume, SessionView, Shown, Started};

/// A session's record and what follows from it.
#[derive(Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the names are those of the documents"
)]
struct Session<'a> {
    session_id: &'a str,
    agent: Option<&'a str>,
    parent: Option<&'a str>,
    root: &'a str,
    worktree: &'a str,
    live: bool,
    started_at: &'a str,
    last_active_at: &'a str,
    ended_at: Option<&'a str>,
    source: Option<&'a str>,
    snapshot_id: Option<&'a str>,
    snapshot_ids: &'a [String],
    transcript: Option<&'a str>,
    hint: Option<&'a str>,
    title: Option<&'a str>,
    prompts: Option<usize>,
    tokens: Option<Tokens>,
    checkpoints: Option<usize>,
    rewinds: Option<usize>,
    issues: Option<&'a [String]>,
    files_touched: Option<usize>,
    forked_from: Option<String>,
}

impl<'a> From<&'a SessionView> for Session<'a> {
    fn from(view: &'a SessionView) -> Self {
        let record = &view.record;
        let talk = view.talk.as_ref();
        Self {
            session_id: &record.session_id,
            agent: record.agent.as_deref(),
            parent: record.parent.as_deref(),
            root: &view.root,
            worktree: &record.worktree,
            live: view.live,
            started_at: &record.started_at,
            last_active_at: &record.last_active_at,
            ended_at: record.ended_at.as_deref(),
            source: record.source.as_deref(),
            snapshot_id: view.snapshot_id.as_deref(),
            snapshot_ids: &record.snapshot_ids,
            transcript: record.transcript.as_deref(),
            hint: record.hint.as_deref(),
            title: talk.and_then(|talk| talk.title.as_deref()),
            prompts: talk.map(|talk| talk.prompts),
            tokens: talk.map(|talk| talk.tokens.into()),
            checkpoints: talk.map(|talk| talk.checkpoints),
            rewinds: talk.map(|talk| talk.rewinds),
            issues: talk.map(|talk| talk.issues.as_slice()),
            files_touched: talk.and_then(|talk| Some(talk.files.as_ref()?.len())),
            forked_from: record
                .forked_from
                .as_ref()
                .map(|origin| format!("{}:{}", origin.session_id, origin.checkpoint_id)),
        }
    }
}

#[derive(Serialize)]
struct StartFields<'a> {
    session_id: &'a str,
    snapshot_id: Option<&'a str>,
    pruned: &'a [Forgotten],
    session: Session<'a>,
    snapshot: Option<&'a SnapshotView>,
    no_snapshot: Option<&'static str>,
    notices: &'a [String],
}

impl Document for Started {
    fn fields(&self) -> impl Serialize + '_ {
        StartFields {
            session_id: &self.session.record.session_id,
            snapshot_id: self.session.snapshot_id.as_deref(),
            pruned: &self.pruned,
            session: (&self.session).into(),
            snapshot: self.snapshot.as_ref().ok(),
            no_snapshot: self
                .snapshot
                .as_ref()
                .err()
                .copied()
                .map(NoSnapshot::as_str),
            notices: &self.notices,
        }
    }
}

#[derive(Serialize)]
struct ListFields<'a> {
    sessions: Vec<Session<'a>>,
    total: usize,
    invalid: Vec<Invalid<'a>>,
}

#[derive(Serialize)]
struct Invalid<'a> {
    id: &'a str,
    reason: &'a str,
}

impl Document for Listing {
    fn fields(&self) -> impl Serialize + '_ {
        let invalid = self.invalid.iter();
        ListFields {
            sessions: self.sessions.iter().map(Into::into).collect(),
            total: self.total,
            invalid: invalid.map(|(id, reason)| Invalid { id, reason }).collect(),
        }
    }
}

#[derive(Serialize)]
struct ShowFields<'a> {
    session: Session<'a>,
    files: Option<Vec<Touched>>,
    children: &'a [String],
    resume_command: Option<String>,
    resume_argv: Option<&'a [String]>,
}

/// A file that changed.
#[derive(Serialize)]
struct Touched {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
}

impl From<&RepoPath> for Touched {
    fn from(path: &RepoPath) -> Self {
        Self {
            path: lossy(path),
            path_bytes: exact(path),
        }
    }
}

impl Document for Shown {
    fn fields(&self) -> impl Serialize + '_ {
        let talk = self.session.talk.as_ref();
        let files = talk.and_then(|talk| talk.files.as_ref());
        ShowFields {
            session: (&self.session).into(),
            files: files.map(|files| files.iter().map(Into::into).collect()),
            children: &self.children,
            resume_command: self.resume_command.as_deref().map(command_line),
            resume_argv: self.resume_command.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct ResumeFields<'a> {
    session_id: &'a str,
    agent: &'static str,
    resume_command: String,
    resume_argv: &'a [String],
    cwd: Option<&'a str>,
}

impl Document for Resume {
    fn fields(&self) -> impl Serialize + '_ {
        ResumeFields {
            session_id: &self.session_id,
            agent: self.agent,
            resume_command: command_line(&self.resume_command),
            resume_argv: &self.resume_command,
            cwd: self.cwd.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct EndFields<'a> {
    session_id: &'a str,
    session: Session<'a>,
    ended_with_it: &'a [String],
}

impl Document for Ended {
    fn fields(&self) -> impl Serialize + '_ {
        EndFields {
            session_id: &self.session.record.session_id,
            session: (&self.session).into(),
            ended_with_it: &self.with,
        }
    }
}
