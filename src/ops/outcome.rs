//! What the operations answer: plain data, printed by `cli`, carried by `wire`. Nothing here prints.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::git::Oid;
use crate::git::path::RepoPath;

/// A stored snapshot, backup or experiment as readers see it: the commit's JSON document plus where it stands.
#[derive(Debug, Clone)]
pub struct SnapshotView {
    /// The id, such as `s_20260228_153012_ab12cd`.
    pub id: String,
    /// `snapshot`, `backup` or `experiment`.
    pub kind: String,
    /// The snapshot commit.
    pub commit: Oid,
    /// The captured files.
    pub tree: Oid,
    /// The first line of the commit's message without its `snapshot: ` prefix.
    pub title: String,
    /// The commit's JSON document, unknown fields included.
    pub json: Map<String, Value>,
    /// True when another repository's id stands in it.
    pub foreign: bool,
}

/// The paths a swap touched or would touch, sorted.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Created or replaced.
    pub written: Vec<RepoPath>,
    /// Removed.
    pub removed: Vec<RepoPath>,
}

/// Answer of `snapshot`.
#[derive(Debug)]
pub struct Taken {
    /// The snapshot.
    pub snapshot: SnapshotView,
    /// False when `--if-changed` answered with the newest one.
    pub fresh: bool,
    /// Sentences for people: secret-looking names seen for the first time, files that changed while read.
    pub notices: Vec<String>,
}

/// One snapshot, backup or experiment of many: what [`SnapshotView`] has, the document as text.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The id.
    pub id: String,
    /// `snapshot`, `backup` or `experiment`.
    pub kind: &'static str,
    /// The snapshot commit.
    pub commit: Oid,
    /// The captured files.
    pub tree: Oid,
    /// The first line of the commit's message without its `snapshot: ` prefix.
    pub title: String,
    /// The label it has now.
    pub label: Option<String>,
    /// The worktree it was taken in.
    pub worktree: String,
    /// `present` or `past`.
    pub taken_in: String,
    /// RFC 3339.
    pub created_at: String,
    /// True when another repository's id stands in it.
    pub foreign: bool,
    /// The commit's JSON document, unknown fields included, without blanks.
    pub document: String,
}

/// Answer of `list`: newest first.
#[derive(Debug)]
pub struct Listing {
    /// What was asked for, newest first.
    pub snapshots: Vec<Listed>,
    /// For each entry, the length of the shortest part of its random tail that names it.
    pub unique_tail: Vec<usize>,
    /// Records that cannot be read: id and reason. They hide nothing.
    pub invalid: Vec<(String, String)>,
    /// How many there are in all, before `-n`.
    pub total: usize,
}

/// One path of a diff.
#[derive(Debug, Clone)]
pub struct FileDiff {
    /// The path.
    pub path: RepoPath,
    /// `A`, `M`, `D` or `T` (type change).
    pub status: char,
    /// git mode of the old side, `0` when absent.
    pub old_mode: u32,
    /// git mode of the new side, `0` when absent.
    pub new_mode: u32,
    /// Blob of the old side.
    pub old_oid: Option<Oid>,
    /// Blob of the new side (hashed, not stored, when it is the present).
    pub new_oid: Option<Oid>,
    /// Lines added; 0 when binary.
    pub insertions: usize,
    /// Lines removed; 0 when binary.
    pub deletions: usize,
    /// Content with NUL bytes, or too large to compare by lines.
    pub binary: bool,
    /// The bytes of a side are not here: a partial clone has not fetched them, and nothing is fetched.
    pub missing: bool,
    /// Unified diff text with git's header lines, when asked for.
    pub patch: Option<Vec<u8>>,
}

/// Answer of `diff`.
#[derive(Debug)]
pub struct Diff {
    /// What the old side is: an id, or `present`.
    pub from: String,
    /// What the new side is.
    pub to: String,
    /// Changed paths, sorted.
    pub files: Vec<FileDiff>,
    /// Sum of lines added.
    pub insertions: usize,
    /// Sum of lines removed.
    pub deletions: usize,
}

/// Answer of `travel`.
#[derive(Debug)]
pub struct Travelled {
    /// Where the working tree is now, or would be.
    pub snapshot: SnapshotView,
    /// The present, saved. None for a dry run.
    pub backup_id: Option<String>,
    /// Nothing was written.
    pub dry_run: bool,
    /// Paths touched.
    pub changes: Changes,
    /// Token that `return` over MCP needs.
    pub guard_token: Option<String>,
    /// HEAD and index were left alone.
    pub files_only: bool,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Where HEAD ended after `return`.
#[derive(Debug, Clone)]
pub struct HeadReport {
    /// The branch HEAD was on in the present.
    pub reference: Option<String>,
    /// HEAD's commit, when born.
    pub oid: Option<Oid>,
    /// HEAD is on its branch again (or was detached or unborn and is so again).
    pub restored: bool,
    /// `branch-moved`, `branch-gone`, `branch-broken` or `checked-out-elsewhere`.
    pub reason: Option<String>,
}

/// Answer of `return`.
#[derive(Debug)]
pub struct Returned {
    /// The backup that was put back.
    pub backup_id: String,
    /// What was made in the past. None for a dry run, or when nothing differed and none was needed.
    pub experiment_id: Option<String>,
    /// Nothing was written.
    pub dry_run: bool,
    /// The proof held.
    pub verified: bool,
    /// Paths touched.
    pub changes: Changes,
    /// Paths that somebody else changed after they were put back.
    pub changed_since: Vec<RepoPath>,
    /// HEAD.
    pub head: HeadReport,
    /// Commits made on the detached HEAD: commit id and title.
    pub commits_made: Vec<(Oid, String)>,
    /// Directories left in place whose content changed in the past.
    pub stayed: Vec<RepoPath>,
    /// What `--move-aside` renamed: old and new path.
    pub moved_aside: Vec<(RepoPath, RepoPath)>,
    /// What `--discard` did not keep in the experiment.
    pub discarded: Vec<RepoPath>,
    /// What `--keep` carried over.
    pub kept: Vec<RepoPath>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `restore`.
#[derive(Debug)]
pub struct Restored {
    /// Whose files were put in place.
    pub snapshot: SnapshotView,
    /// What was there before.
    pub backup_id: Option<String>,
    /// Nothing was written.
    pub dry_run: bool,
    /// Paths touched.
    pub changes: Changes,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `undo` and `redo`.
#[derive(Debug)]
pub struct Undone {
    /// `undo` or `redo`.
    pub direction: &'static str,
    /// What kind of swap was undone or redone: `travel`, `return`, `restore`, `rewind`, `apply`.
    pub operation: String,
    /// `present` or `past`, afterwards.
    pub mode: &'static str,
    /// What was there before this undo.
    pub backup_id: Option<String>,
    /// The experiment taken, when this left the past.
    pub experiment_id: Option<String>,
    /// Paths touched.
    pub changes: Changes,
    /// Paths changed since the swap; their bytes are in the backup.
    pub changed_since: Vec<RepoPath>,
    /// Why HEAD and index stayed, when they did.
    pub head_stayed: Option<String>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `recover`.
#[derive(Debug)]
pub struct Recovered {
    /// `nothing`, `rolled-back`, `rolled-forward`, `cleaned`, `repaired` (after a power cut), or `undecided` (paths differ from both sides; asked again with yes, they are kept).
    pub action: &'static str,
    /// What kind of swap had died.
    pub operation: Option<String>,
    /// What was on disk before recovery.
    pub rescue_id: Option<String>,
    /// Paths that neither side explains; their later bytes stay in place.
    pub differing: Vec<RepoPath>,
    /// Paths touched.
    pub changes: Changes,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// One dropped ref that the log remembers.
#[derive(Debug, Clone)]
pub struct Dropped {
    /// The id.
    pub id: String,
    /// The commit it named.
    pub commit: Oid,
    /// When it was dropped, RFC 3339.
    pub at: String,
    /// git still has the commit and everything it needs.
    pub available: bool,
    /// It was taken back by this call.
    pub restored: bool,
}

/// Answer of `status`.
#[derive(Debug)]
pub struct Status {
    /// `present` or `past`.
    pub mode: &'static str,
    /// `state.json` as it stands.
    pub state: Map<String, Value>,
    /// The swap that died, when one did: operation, swap id, since.
    pub interrupted: Option<Interrupted>,
    /// The repository.
    pub repository: RepositoryInfo,
    /// The newest snapshot of this worktree taken in the present.
    pub latest: Option<SnapshotView>,
    /// The snapshot the working tree stands in, when in the past.
    pub current: Option<SnapshotView>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// A swap that died.
#[derive(Debug, Clone)]
pub struct Interrupted {
    /// `travel`, `return`, …
    pub operation: String,
    /// The swap's id.
    pub swap_id: String,
    /// When it began, RFC 3339.
    pub since: String,
}

/// What `status` says of the repository.
#[derive(Debug, Clone)]
pub struct RepositoryInfo {
    /// The working tree's root.
    pub workspace_root: PathBuf,
    /// `main`, or the linked worktree's name.
    pub worktree: String,
    /// This worktree's git directory.
    pub git_dir: PathBuf,
    /// The repository's random id; None before the first snapshot.
    pub repository_id: Option<String>,
    /// HEAD's branch, when on one.
    pub head_ref: Option<String>,
    /// HEAD's commit, when born.
    pub head_oid: Option<Oid>,
    /// How many snapshots, backups and experiments there are.
    pub counts: [(&'static str, usize); 3],
}

/// Answer of `open`.
#[derive(Debug)]
pub struct Opened {
    /// The snapshot laid out.
    pub snapshot: SnapshotView,
    /// Where.
    pub dir: PathBuf,
    /// How many files were written.
    pub files: usize,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `close`.
#[derive(Debug)]
pub struct Closed {
    /// The directory that was removed.
    pub dir: PathBuf,
    /// What was in it.
    pub experiment_id: Option<String>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `label`.
#[derive(Debug)]
pub struct Labelled {
    /// The snapshot.
    pub snapshot: SnapshotView,
    /// The label.
    pub label: String,
    /// It was taken away.
    pub removed: bool,
}

/// One snapshot, backup or experiment that retention forgets.
#[derive(Debug, Clone)]
pub struct Forgotten {
    /// The id.
    pub id: String,
    /// `snapshot`, `backup` or `experiment`.
    pub kind: String,
    /// Its commit.
    pub commit: Oid,
    /// RFC 3339.
    pub created_at: String,
    /// Upper bound of what git can reclaim.
    pub bytes: u64,
}

/// Answer of `prune` and `drop`.
#[derive(Debug)]
pub struct Pruned {
    /// Nothing was written.
    pub dry_run: bool,
    /// What goes, or would go.
    pub forgotten: Vec<Forgotten>,
    /// How many stay.
    pub kept: usize,
    /// Upper bound of what git can reclaim.
    pub bytes: u64,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `purge`.
#[derive(Debug)]
pub struct Purged {
    /// Nothing was written.
    pub dry_run: bool,
    /// The literal paths.
    pub paths: Vec<RepoPath>,
    /// Ids rewritten: id, old commit, new commit (equal for a dry run).
    pub rewritten: Vec<(String, Oid, Oid)>,
    /// What it cannot reach: one sentence each (branches, stash, clones).
    pub unreachable: Vec<String>,
    /// The command that really deletes.
    pub finish: String,
}

/// One configuration key.
#[derive(Debug, Clone)]
pub struct ConfigEntry {
    /// The key as in `config.toml`, such as `keep_days`.
    pub key: &'static str,
    /// Its value as JSON.
    pub value: Value,
    /// `default`, `team` (`.timewarp/config.toml`) or `git` (`git config`), with the file where known.
    pub origin: String,
    /// One line on what it does.
    pub description: &'static str,
}

/// Answer of `config`.
#[derive(Debug)]
pub struct ConfigListing {
    /// Every key.
    pub entries: Vec<ConfigEntry>,
    /// Keys that do not count where they stand.
    pub warnings: Vec<String>,
}

/// How a check of `doctor` came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// Works, with a risk.
    Warning,
    /// Broken.
    Error,
}

/// One check of `doctor`.
#[derive(Debug, Clone)]
pub struct Check {
    /// Short name, kebab-case.
    pub name: &'static str,
    /// How it came out.
    pub status: CheckStatus,
    /// What was found.
    pub message: String,
    /// The command that mends it.
    pub fix: Option<String>,
}

/// Answer of `doctor`.
#[derive(Debug)]
pub struct Checkup {
    /// Every check.
    pub checks: Vec<Check>,
}

/// Answer of `init`.
#[derive(Debug)]
pub struct Initialised {
    /// Nothing was written.
    pub dry_run: bool,
    /// Files made or changed (or that would be).
    pub changed: Vec<PathBuf>,
    /// Files that were right already.
    pub unchanged: Vec<PathBuf>,
    /// Sentences for people.
    pub notices: Vec<String>,
}
