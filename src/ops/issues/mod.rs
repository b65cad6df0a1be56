//! Issues as records: found by part of an id, read, changed, with their desks and runs.
//!
//! Every change is read, modify, compare and swap on the issue's record, so that none is lost. What the commands do is in `issue`.

pub mod desk;
pub mod mend;
pub mod run;

use std::cmp::Reverse;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Context;
use super::elsewhere::Files;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::json::{self, Text};
use crate::store::Store;
use crate::store::id::{IssueId, PartMatch, is_part, resolve_part};
use crate::store::issue::{Issue, Status};
use crate::store::names::{self, Record, RecordKind};
use crate::store::records::{Draft, Note};
use crate::store::stored::Stored;

/// Where an issue's desk files are.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DeskPaths {
    /// Their directory.
    #[serde(flatten, with = "Text::<IssueDir>")]
    pub dir: PathBuf,
    /// `issue.json`.
    #[serde(flatten, with = "Text::<IssueFile>")]
    pub issue: PathBuf,
    /// `chat.md`.
    #[serde(flatten, with = "Text::<ChatFile>")]
    pub chat: PathBuf,
    /// `experiment.md`.
    #[serde(flatten, with = "Text::<ExperimentFile>")]
    pub experiment: PathBuf,
}

json::fields! {
    IssueDir = "issue_dir",
    IssueFile = "issue_file",
    ChatFile = "chat_file",
    ExperimentFile = "experiment_file",
}

/// The issue that is being worked on: the one whose snapshot the working tree is at, else the only one that is experimented on.
///
/// # Errors
/// `USAGE` when there is none, or more than one.
pub fn under_way(ctx: &Context<'_>) -> Result<String> {
    let store = ctx.store()?;
    if let Some(id) = store.dir.state()?.issue_id {
        return Ok(id);
    }
    let issues = all(store)?.issues;
    let experimenting: Vec<&Issue> = issues
        .iter()
        .filter(|issue| issue.status == Status::Experimenting)
        .collect();
    if let [only] = experimenting.as_slice() {
        return Ok(only.id.to_string());
    }
    let open = |issue: &&Issue| !issue.status.is_closed();
    let missing = match experimenting.len() {
        0 => Error::new(
            Code::Usage,
            "ISSUE is missing, and none is being worked on here",
        ),
        count => {
            let message = format!("ISSUE is missing, and {count} are being worked on");
            Error::new(Code::Usage, message)
        }
    };
    let newest = experimenting.first().copied().or(issues.iter().find(open));
    let missing = match newest {
        Some(issue) => missing.hint(format!("the newest is {}: name it", issue.id)),
        None => missing,
    };
    Err(missing.hint("'tw issue list' shows them"))
}

/// An issue as its record has it.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The issue.
    pub issue: Issue,
    /// The snapshot commit that it annotates.
    pub annotated: Oid,
    /// The record's commit.
    pub tip: Oid,
    /// What had to be settled.
    pub notices: Vec<String>,
}

/// The issue that a whole id or a part of one names.
///
/// # Errors
/// `INVALID_ISSUE_ID`, `ISSUE_NOT_FOUND`, `AMBIGUOUS_ADDRESS`.
pub fn find(store: &Store, text: &str) -> Result<IssueId> {
    let text = text.trim();
    let text = text.strip_prefix("issue:").unwrap_or(text);
    if let Some(id) = IssueId::parse(text) {
        return if store.has_record(&Record::Issue(id))? {
            Ok(id)
        } else {
            Err(not_found(text))
        };
    }
    if !is_part(text, "i") {
        return Err(Error::new(
            Code::InvalidIssueId,
            format!("'{text}' is not an issue id or part of one"),
        )
        .hint(
            "an issue id reads i_20260228_153012_ab12cd; four characters of it or more will do",
        ));
    }
    let ids = ids(store)?;
    match resolve_part(text, ids.iter().map(String::as_str)) {
        PartMatch::None => Err(not_found(text)),
        PartMatch::One(id) => IssueId::parse(&id).ok_or_else(|| not_found(text)),
        PartMatch::Many(candidates) => Err(Error::new(
            Code::AmbiguousAddress,
            format!("'{text}' is ambiguous: {}", candidates.join(", ")),
        )
        .hint("give more characters, or the last six of the id")
        .detail("candidates", candidates)),
    }
}

fn ids(store: &Store) -> Result<Vec<String>> {
    let names = store.record_names(RecordKind::Issues)?;
    Ok(names
        .into_iter()
        .filter_map(|name| match name {
            Record::Issue(id) => Some(id.to_string()),
            _ => None,
        })
        .collect())
}

fn not_found(text: &str) -> Error {
    Error::new(Code::IssueNotFound, format!("issue '{text}' not found"))
        .hint("run 'tw issue list --status all' to see what there is")
}

/// Reads one issue.
///
/// # Errors
/// `ISSUE_NOT_FOUND`, `ISSUE_INVALID`, `CORRUPT_RECORD`, `NEWER_RECORD`.
pub fn load(store: &Store, id: IssueId) -> Result<Loaded> {
    let name = Record::Issue(id);
    let held = store
        .record(&name)?
        .ok_or_else(|| not_found(&id.to_string()))?;
    let (tip, notices) = (held.tip, held.notices.clone());
    let read = held.into_only(&name).and_then(|note| {
        let Note { annotated, json } = note;
        Ok((typed(id, &json)?, annotated))
    });
    match read {
        Ok((issue, annotated)) => Ok(Loaded {
            issue,
            annotated,
            tip,
            notices,
        }),
        Err(error) => {
            let error = notices.into_iter().fold(error, Error::hint);
            Err(mend::with_way_back(store, (&name, tip), error))
        }
    }
}

/// The snapshot that an issue was met at.
///
/// # Errors
/// `SNAPSHOT_NOT_FOUND`, with the way to it, when it is not in this repository; `CORRUPT_RECORD` or `NEWER_RECORD`.
pub fn snapshot_of(store: &Store, issue: &Issue) -> Result<Stored> {
    let id = &issue.snapshot_id;
    match store.refs.read(&names::snapshot_ref(id))? {
        Some(commit) => store.read(id, commit),
        None => Err(way_to_snapshot(issue).into_iter().fold(
            Error::new(
                Code::SnapshotNotFound,
                format!(
                    "snapshot '{id}' of issue {} is not in this repository",
                    issue.id
                ),
            ),
            Error::hint,
        )),
    }
}

/// Whose files an issue's snapshot is laid out with. Those of one that is not in this repository run nothing.
///
/// # Errors
/// The ref or the record cannot be read.
pub fn snapshot_files(store: &Store, issue: &Issue) -> Result<Files> {
    if has_snapshot(store, issue)? {
        return Files::laid_out(store, &snapshot_of(store, issue)?);
    }
    Ok(Files::OfHere)
}

/// Whether the snapshot of an issue is in this repository.
///
/// # Errors
/// The ref cannot be read.
pub fn has_snapshot(store: &Store, issue: &Issue) -> Result<bool> {
    let name = names::snapshot_ref(&issue.snapshot_id);
    Ok(store.refs.read(&name)?.is_some())
}

/// How to come by the snapshot of an issue that is not in this repository.
pub fn way_to_snapshot(issue: &Issue) -> [String; 2] {
    let Issue {
        id, snapshot_id, ..
    } = issue;
    if issue.claimed_by.is_some() {
        return [
            format!(
                "whoever shared the issue has it: 'tw push --snapshots issue:{id}' sends it from there"
            ),
            "then 'tw pull' brings it here".to_owned(),
        ];
    }
    [
        "when it was dropped, 'tw recover --dropped' lists what git still has".to_owned(),
        format!("'tw recover --dropped {snapshot_id}' takes it back"),
    ]
}

/// What a record says, as an issue.
///
/// # Errors
/// `ISSUE_INVALID`, `CORRUPT_RECORD`, `NEWER_RECORD`.
pub fn typed(id: IssueId, json: &crate::store::records::Json) -> Result<Issue> {
    let issue = Issue::from_json(json).map_err(|error| error.while_doing(format!("issue {id}")))?;
    if issue.id == id {
        return Ok(issue);
    }
    let message = format!("issue {id} says that it is {}", issue.id);
    Err(Error::new(Code::IssueInvalid, message))
}

/// Every issue there is.
#[derive(Debug, Default)]
pub struct All {
    /// Those that can be read, newest first.
    pub issues: Vec<Issue>,
    /// Why the others cannot.
    pub invalid: Vec<(IssueId, Error)>,
    /// What had to be settled.
    pub notices: Vec<String>,
}

/// Reads every issue.
///
/// # Errors
/// Only when refs cannot be read at all.
pub fn all(store: &Store) -> Result<All> {
    let mut found = All::default();
    let listed = store.records(RecordKind::Issues)?;
    for (name, error) in listed.invalid {
        if let Record::Issue(id) = name {
            found.invalid.push((id, error));
        }
    }
    for (name, held) in listed.records {
        let Record::Issue(id) = name else { continue };
        found.notices.extend(held.notices.iter().cloned());
        match held.into_only(&name).and_then(|note| typed(id, &note.json)) {
            Ok(issue) => found.issues.push(issue),
            Err(error) => found.invalid.push((id, error)),
        }
    }
    found.issues.sort_by_key(|issue| Reverse(issue.made()));
    Ok(found)
}

/// Reads every issue, after what was edited on their desks is taken in.
///
/// # Errors
/// As [`all`].
pub fn all_as_edited(ctx: &Context<'_>) -> Result<All> {
    let store = ctx.store()?;
    let said = desk::take_in_all(ctx, store);
    let mut found = all(store)?;
    found.notices.splice(0..0, said);
    Ok(found)
}

/// Changes one issue: reads it, lets `change` work on it, and writes it if nobody was faster, else begins again. The time
/// of the change is set when there was one.
///
/// # Errors
/// Those of [`load`] and of `change`; `BUSY`.
pub fn update<T>(
    ctx: &Context<'_>,
    store: &Store,
    id: IssueId,
    what: &str,
    change: impl FnMut(&mut Issue) -> Result<T>,
) -> Result<(T, Issue)> {
    update_at(ctx, store, id, (what, None), change)
}

/// What is to be said of runs that were to be noted in an issue. They were made: what keeps them from being noted is told with them.
pub fn noted_runs(id: IssueId, noted: Result<Vec<String>>) -> Vec<String> {
    noted.unwrap_or_else(|error| {
        let why = error.message();
        vec![format!("what was run could not be noted in {id}: {why}")]
    })
}

/// As [`update`], and ties the issue to another snapshot where one is given: its record is a note on that then.
///
/// # Errors
/// As [`update`].
pub fn update_at<T>(
    ctx: &Context<'_>,
    store: &Store,
    id: IssueId,
    (what, at): (&str, Option<&Stored>),
    mut change: impl FnMut(&mut Issue) -> Result<T>,
) -> Result<(T, Issue)> {
    let now = ctx.env.now();
    let message = format!("issue: {what}");
    let done = store.update_record(&Record::Issue(id), &message, now, |draft| {
        let refusal = draft.refusal(&Record::Issue(id));
        let Some(json) = draft.only() else {
            return Err(refusal);
        };
        let before = typed(id, json)?;
        let mut issue = before.clone();
        let answer = change(&mut issue)?;
        if let Some(at) = at {
            issue.snapshot_id = at.id;
            issue.snapshot_claimed_by = None;
        }
        issue.settle_changed(&before);
        if issue != before {
            issue.updated_at = now.rfc3339();
            *json = issue.to_json();
        }
        if let Some(at) = at {
            move_note(draft, at.commit)?;
        }
        Ok((answer, issue))
    })?;
    match done {
        Some((answer, _)) => Ok(answer),
        None => Err(not_found(&id.to_string())),
    }
}

/// Moves the one note of an issue or a chat to another snapshot's commit.
///
/// # Errors
/// What stands there cannot be read.
pub fn move_note(draft: &mut Draft, to: Oid) -> Result<()> {
    let Some((from, json)) = draft.notes().next() else {
        return Ok(());
    };
    if from == to {
        return Ok(());
    }
    let json = json.clone();
    draft.remove(from);
    draft.put(to, json)
}

/// A field of JSON from outside, which may be missing or null.
pub fn text_field(json: &crate::store::records::Json, name: &str) -> Result<Option<String>> {
    match json.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(Error::new(
            Code::IssueInvalid,
            format!("'{name}' must be a string, not {other}"),
        )),
    }
}
