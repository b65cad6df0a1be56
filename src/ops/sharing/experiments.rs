//! Experiments as they are shared: what stays in the past and scratches left, and tries; and how those of others are read.
//!
//! Only what is named here goes. Of what was left: ids, times, and what it was made from; its files go when it is named ('tw push
//! --snapshots'), as those of snapshots do. Of a try that has ended: how each of its runs came out. What was printed stays here, and so do paths
//! of the working tree, logs, and the names of refs and processes. A command may hold a prompt and goes with `--prompts redacted` alone; a check is
//! shared like that of an issue. What others shared stays in the tree of our side: nothing of it can be applied, shown or run here.
//!
//! What retention lets go of here stays as it was shared. A try that was made here and dropped is deleted for all: nothing but
//! a person drops one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::fields::Kind;
use super::others::{LONGEST, Read, is_time, object, of_others, wrong};
use super::record::{Author, Shared};
use super::setup::{Prompts, author, depot};
use super::tree::SharedTree;
use crate::error::Result;
use crate::git::Oid;
use crate::git::fs::is_there;
use crate::ops::Context;
use crate::ops::kept;
use crate::ops::tries::{Check, Try, TryRun};
use crate::redact::Redactor;
use crate::store::Store;
use crate::store::id::{IdKind, IssueId, SnapshotId};
use crate::store::issue::DiffStat;
use crate::store::names::{SHARED_OWN, snapshot_ref};
use crate::store::records::Json;

/// Whether this is an id of something that a stay or a scratch left.
fn is_left(id: &str) -> bool {
    SnapshotId::parse(id).is_some_and(|id| id.kind() == IdKind::Experiment)
}

/// Whether this is an id of a try.
pub fn is_try(id: &str) -> bool {
    // All ids have one form behind their letter.
    id.strip_prefix("t_")
        .is_some_and(|rest| is_left(&format!("x_{rest}")))
}

/// Whether this is the id of a try that was shared from here, and is not deleted for the others.
///
/// # Errors
/// What is shared cannot be read.
pub fn is_shared_try(ctx: &Context<'_>, store: &Store, id: &str) -> Result<bool> {
    let depot = depot(store)?;
    let Some(depot) = depot.as_ref().filter(|_| is_try(id)) else {
        return Ok(false);
    };
    let commit = depot.refs.read(SHARED_OWN)?;
    let key = (Kind::Experiment, id.to_owned());
    let shared = SharedTree::of_own(Some(depot), commit)?.record(Some(depot), &key)?;
    let author = author(ctx, store)?;
    let is_ours = |shared: &Shared| shared.claimed_by(&author).is_none();
    Ok(shared.is_some_and(|shared| shared.deletion().is_none() && is_ours(&shared)))
}

/// Whether this is an id of either.
pub fn is_id(id: &str) -> bool {
    is_left(id) || is_try(id)
}

/// What of something that was left goes, from its record.
pub fn left(document: &Value) -> Json {
    let of = |name: &str| document.get(name);
    object(json!({
        "experiment_id": of("snapshot_id"),
        "created_at": of("created_at"),
        "trigger": of("trigger"),
        "session_id": of("session_id"),
        "agent": of("agent"),
        "started_from": of("started_from").or_else(|| of("opened_from")),
        "head": of("head").and_then(|head| head.get("oid")),
        "stats": of("stats"),
    }))
}

/// What of a try goes.
pub fn tried(record: &Try, prompts: Prompts, redactor: &Redactor) -> Json {
    object(json!({
        "try_id": record.try_id,
        "created_at": record.created_at,
        "ended_at": record.ended_at,
        "source": record.source,
        "issue_id": record.issue_id,
        "command": prompts.kept(redactor, Some(&record.command)),
        "wanted": record.wanted,
        "best": record.best,
        "base_verify": record.base_verify.as_ref().map(check),
        "runs": record.runs.iter().map(run).collect::<Vec<_>>(),
    }))
}

fn check(check: &Check) -> Value {
    Value::Object(object(json!({
        "command": check.command,
        "status": check.status,
        "exit": check.exit,
        "duration_ms": check.duration_ms,
    })))
}

fn run(run: &TryRun) -> Value {
    Value::Object(object(json!({
        "id": format!("r_{}", run.run),
        "number": run.run,
        "status": run.status,
        "exit": run.exit,
        "verify": run.verify.as_ref().map(check),
        "duration_ms": run.duration_ms,
        "diff_stat": run.diff_stat,
        "experiment_id": run.experiment_id,
        "group": run.group,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
    })))
}

/// Something that a stay in the past or a scratch of somebody else left.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "shared_experiment")]
pub struct SharedExperiment {
    /// Its id.
    pub experiment_id: String,
    /// Who is said to have shared it; nobody proves it.
    pub claimed_by: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// What made it: `return`, `scratch`, …
    pub trigger: Option<String>,
    /// The session it was made in.
    pub session_id: Option<String>,
    /// The session's agent.
    pub agent: Option<String>,
    /// The snapshot that it was made from; the snapshot is here only when it was shared by name.
    pub started_from: Option<String>,
    /// The commit that HEAD was at.
    pub head: Option<String>,
}

/// A try of somebody else.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "shared_try")]
pub struct SharedTry {
    /// Its id.
    pub try_id: String,
    /// Who is said to have shared it; nobody proves it.
    pub claimed_by: String,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// RFC 3339, UTC.
    pub ended_at: Option<String>,
    /// The snapshot that the runs began with.
    pub source: String,
    /// The issue it is of; null: of none.
    pub issue_id: Option<String>,
    /// The command, where texts were shared.
    pub command: Option<String>,
    /// How many runs were asked for.
    pub wanted: Option<u64>,
    /// The check on the snapshot itself; null: there was none.
    pub base_verify: Option<SharedCheck>,
    /// The runs, in the order in which they began.
    pub runs: Vec<SharedTryRun>,
    /// The number of the best run; null: none is good.
    pub best: Option<u64>,
}

/// A check that somebody else made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "shared_check")]
pub struct SharedCheck {
    /// The command. It is shown, and never run.
    pub command: String,
    /// `passed`, `failed` or `timeout`.
    pub status: String,
    /// Its exit status; null when it was ended.
    pub exit: Option<i32>,
    /// How long it took.
    pub duration_ms: u64,
}

/// A run of a try of somebody else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct SharedTryRun {
    /// Counted from 1, in the order in which they began.
    pub number: u64,
    /// How it came out: `passed`, `unverified`, `failed`, `timeout` or `error`.
    pub status: String,
    /// The command's own exit status; null when it was ended, or never began.
    pub exit: Option<i32>,
    /// The check; null: there was none.
    pub verify: Option<SharedCheck>,
    /// How long the command took.
    pub duration_ms: u64,
    /// How much it changed; null: it could not be saved.
    pub diff_stat: Option<DiffStat>,
    /// What it left; null: nothing differed. It is here only when it was shared by name.
    pub experiment_id: Option<String>,
    /// Runs with the same files have the same number; null: nothing was saved.
    pub group: Option<u64>,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC.
    pub ended_at: String,
}

fn is_of(read: &Read, name: &str, id: &str) -> Result<()> {
    match read.short(name) {
        Some(known) if known == id => Ok(()),
        _ => Err(wrong("its id does not match its path")),
    }
}

fn created_at(read: &Read) -> Result<String> {
    read.time("created_at")
        .ok_or_else(|| wrong("it has no time"))
}

fn is_snapshot(text: &str) -> bool {
    SnapshotId::parse(text).is_some()
}

fn is_commit(text: &str) -> bool {
    Oid::from_hex(text).is_ok()
}

impl SharedExperiment {
    /// Reads one that anybody may have written.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` with what is wrong with it.
    pub fn read(id: &str, shared: &Shared, author: &Author) -> Result<Self> {
        let read = Read::new(Kind::Experiment, shared);
        is_of(&read, "experiment_id", id)?;
        Ok(Self {
            experiment_id: id.to_owned(),
            claimed_by: shared.claimed_by(author).unwrap_or_default(),
            created_at: created_at(&read)?,
            trigger: read.owned("trigger"),
            session_id: read.owned("session_id"),
            agent: read.owned("agent"),
            started_from: read.checked("started_from", is_snapshot)?,
            head: read.checked("head", is_commit)?,
        })
    }
}

impl SharedTry {
    /// Reads one that anybody may have written.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` with what is wrong with it.
    pub fn read(id: &str, shared: &Shared, author: &Author) -> Result<Self> {
        let read = Read::new(Kind::Experiment, shared);
        is_of(&read, "try_id", id)?;
        let source = read.checked("source", is_snapshot)?;
        let number = |name: &str| read.json.get(name).and_then(Value::as_u64);
        let base = read.json.get("base_verify");
        let base = base.map(|base| SharedCheck::deserialize(base).ok());
        let base = base.map(|base| base.filter(SharedCheck::is_bounded));
        let base = match base {
            Some(None) => return Err(wrong("its check is malformed")),
            other => other.flatten(),
        };
        let mut runs = Vec::new();
        for one in read.items("runs") {
            let run = SharedTryRun::deserialize(one).ok();
            let run = run.filter(SharedTryRun::is_bounded);
            runs.push(run.ok_or_else(|| wrong("a run of it is malformed"))?);
        }
        runs.sort_by_key(|run| run.number);
        Ok(Self {
            try_id: id.to_owned(),
            claimed_by: shared.claimed_by(author).unwrap_or_default(),
            created_at: created_at(&read)?,
            ended_at: read.time("ended_at"),
            source: source.ok_or_else(|| wrong("it has no snapshot"))?,
            issue_id: read.checked("issue_id", |text| IssueId::parse(text).is_some())?,
            command: read.text("command").map(str::to_owned),
            wanted: number("wanted"),
            base_verify: base,
            best: number("best").filter(|best| runs.iter().any(|run| run.number == *best)),
            runs,
        })
    }
}

impl SharedCheck {
    fn is_bounded(&self) -> bool {
        self.status.len() <= LONGEST
    }
}

impl SharedTryRun {
    fn is_bounded(&self) -> bool {
        let left = self.experiment_id.as_deref();
        self.status.len() <= LONGEST
            && self.verify.as_ref().is_none_or(SharedCheck::is_bounded)
            && left.is_none_or(is_left)
            && is_time(&self.started_at)
            && is_time(&self.ended_at)
    }
}

/// Whether a record that came is an experiment.
///
/// # Errors
/// `CORRUPT_RECORD` with what is wrong with it.
pub fn verify(id: &str, shared: &Shared, author: &Author) -> Result<()> {
    if is_try(id) {
        SharedTry::read(id, shared, author).map(drop)
    } else {
        SharedExperiment::read(id, shared, author).map(drop)
    }
}

/// What stays and scratches of others left and is not here itself, newest first.
///
/// # Errors
/// Our side of what is shared cannot be read.
pub fn left_by_others(ctx: &Context<'_>, store: &Store) -> Result<Vec<SharedExperiment>> {
    let mut found = Vec::new();
    let Some((author, records)) = of_others(ctx, store, Kind::Experiment)? else {
        return Ok(found);
    };
    for one in records.iter().filter(|one| !is_try(&one.id)) {
        let Some(id) = SnapshotId::parse(&one.id) else {
            continue;
        };
        if store.refs.read(&snapshot_ref(&id))?.is_none() {
            found.extend(SharedExperiment::read(&one.id, &one.record, &author));
        }
    }
    found.sort_by(|a, b| (&b.created_at, &b.experiment_id).cmp(&(&a.created_at, &a.experiment_id)));
    Ok(found)
}

/// The tries of others, newest first.
///
/// # Errors
/// Our side of what is shared cannot be read.
pub fn tried_by_others(ctx: &Context<'_>, store: &Store) -> Result<Vec<SharedTry>> {
    let mut found = Vec::new();
    let Some((author, records)) = of_others(ctx, store, Kind::Experiment)? else {
        return Ok(found);
    };
    for one in records.iter().filter(|one| is_try(&one.id)) {
        if !is_there(&kept::dir_of::<Try>(ctx, &one.id))? {
            found.extend(SharedTry::read(&one.id, &one.record, &author));
        }
    }
    found.sort_by(|a, b| (&b.created_at, &b.try_id).cmp(&(&a.created_at, &a.try_id)));
    Ok(found)
}
