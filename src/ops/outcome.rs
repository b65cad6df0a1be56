//! What the operations answer: plain data, printed by `cli`, carried by `wire`. Nothing here prints.
//!
//! Each answer describes itself as JSON: its fields, in their order, are those of its document, and their comments the
//! descriptions in its schema. They say null for None.

mod beyond;
mod conflict;
mod member;
mod status;
mod words;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;

pub use self::beyond::{OtherDiff, OtherKind};
pub use self::conflict::Conflict;
pub use self::member::{MemberSwap, MemberView, Membership, Role};
pub use self::status::{
    Counts, FilesChanged, Head, Interrupted, RepositoryInfo, SessionHere, Status, Work, WorkedOn,
};
pub use self::words::{DetachedBy, HeadStays, RecoveryAction};
pub use super::snapshot_view::{Listed, SnapshotView};
use crate::git::Oid;
use crate::git::path::RepoPath;
use crate::json::{self, OptionalText, Text, Texts};
use crate::store::state::Mode;
use crate::store::trigger::SwapKind;

json::fields! {
    ChangedSince = "changed_since",
    Differing = "differing",
    Dir = "dir",
    Discarded = "discarded",
    From = "from",
    Kept = "kept",
    PathField = "path",
    /// With `--patch`.
    Patch = "patch",
    Paths = "paths",
    Removed = "removed",
    Stayed = "stayed",
    To = "to",
    Written = "written",
}

/// The paths a swap touched or would touch, sorted.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[schemars(rename = "changes")]
pub struct Changes {
    /// Created or replaced.
    #[serde(flatten, with = "Texts::<Written>")]
    pub written: Vec<RepoPath>,
    /// Removed.
    #[serde(flatten, with = "Texts::<Removed>")]
    pub removed: Vec<RepoPath>,
}

/// Answer of `snapshot`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Taken {
    /// The snapshot.
    pub snapshot: SnapshotView,
    /// False: nothing had changed, the newest one is the answer.
    pub fresh: bool,
    /// Sentences for people: secret-looking names seen for the first time, files that changed while read.
    pub notices: Vec<String>,
}

/// A record that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Invalid {
    /// The id, or the name it is stored under.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// Answer of `show`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Shown {
    /// The snapshot, backup or experiment.
    pub snapshot: SnapshotView,
    /// What it changed, against the snapshot before it in the same worktree (of an experiment: against the one it was made from; of
    /// a first one: against HEAD); null where that was not asked for.
    #[schemars(with = "Option<Diff>")]
    pub diff: Option<Diff>,
}

/// One path of a diff.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct FileDiff {
    /// The path.
    #[serde(flatten, with = "Text::<PathField>")]
    pub path: RepoPath,
    /// Added, modified, deleted, or of another type now.
    #[schemars(with = "String", extend("enum" = ["A", "M", "D", "T"]))]
    pub status: char,
    /// Git mode of the old side in octal, 000000 when absent.
    #[serde(serialize_with = "octal")]
    #[schemars(with = "String")]
    pub old_mode: u32,
    /// Git mode of the new side in octal, 000000 when absent.
    #[serde(serialize_with = "octal")]
    #[schemars(with = "String")]
    pub new_mode: u32,
    /// Blob of the old side.
    #[serde(serialize_with = "json::printed_or_null")]
    #[schemars(with = "Option<String>")]
    pub old_oid: Option<Oid>,
    /// Blob of the new side (hashed, not stored, when it is the present).
    #[serde(serialize_with = "json::printed_or_null")]
    #[schemars(with = "Option<String>")]
    pub new_oid: Option<Oid>,
    /// Lines added; 0 when binary.
    pub insertions: usize,
    /// Lines removed; 0 when binary.
    pub deletions: usize,
    /// Content with NUL bytes, or too large to compare by lines.
    pub binary: bool,
    /// The bytes of a side are not here: a partial clone has not fetched them, and nothing is fetched.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// Unified diff text with git's header lines, when asked for.
    #[serde(flatten, with = "OptionalText::<Patch>")]
    pub patch: Option<Vec<u8>>,
}

impl FileDiff {
    /// Whether it is a text on both sides, under the same mode.
    pub fn is_text_modified(&self) -> bool {
        self.status == 'M' && self.old_mode == self.new_mode && !self.binary && !self.missing
    }
}

/// As git prints a mode: six octal digits.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn octal<S: Serializer>(mode: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    json::printed(&format_args!("{mode:06o}"), serializer)
}

/// Answer of `diff`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Diff {
    /// What the old side is: an id, or `present`.
    pub from: String,
    /// What the new side is: an id, or `present`.
    pub to: String,
    /// Changed paths, sorted.
    pub files: Vec<FileDiff>,
    /// Sum of lines added.
    pub insertions: usize,
    /// Sum of lines removed.
    pub deletions: usize,
    /// What differs beyond the content of files.
    pub others: Vec<OtherDiff>,
}

impl Diff {
    /// With the sums of its files' lines.
    pub fn of(from: String, to: String, files: Vec<FileDiff>, others: Vec<OtherDiff>) -> Self {
        Self {
            from,
            to,
            insertions: files.iter().map(|file| file.insertions).sum(),
            deletions: files.iter().map(|file| file.deletions).sum(),
            files,
            others,
        }
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.others.is_empty()
    }
}

/// Answer of `travel`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Travelled {
    /// Where it leads; with `dry_run` nothing was written.
    #[schemars(extend("const" = "past"))]
    pub mode: Mode,
    /// The snapshot.
    pub snapshot_id: String,
    /// The present, saved; null for a dry run that begins there.
    pub backup_id: Option<String>,
    /// For a hop: what was made in the past that was left; null when nothing was.
    pub experiment_id: Option<String>,
    /// For a hop: the commits made on the detached HEAD of the past that was left, newest first.
    pub commits_made: Vec<CommitMade>,
    /// Nothing was written.
    pub dry_run: bool,
    /// HEAD and index were left alone.
    pub files_only: bool,
    /// Paths touched.
    pub changes: Changes,
    /// Token that `return` over MCP needs.
    pub guard_token: Option<String>,
    /// Where the working tree is now, or would be.
    pub snapshot: SnapshotView,
    /// The members of the workspace, which went along.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberSwap>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Where HEAD ended after `return`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct HeadReport {
    /// The branch HEAD was on in the present.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// HEAD's commit, when born.
    #[serde(serialize_with = "json::printed_or_null")]
    #[schemars(with = "Option<String>")]
    pub oid: Option<Oid>,
    /// HEAD is on its branch again (or was detached or unborn and is so again).
    pub restored: bool,
    /// Why it is not: `branch-moved`, `branch-gone`, `branch-broken`, `checked-out-elsewhere`, or `tag-gone` for a tag.
    #[schemars(with = "Option<String>")]
    pub reason: Option<DetachedBy>,
}

/// A commit made on the detached HEAD of the past.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct CommitMade {
    /// The commit.
    #[serde(serialize_with = "json::printed")]
    #[schemars(with = "String")]
    pub oid: Oid,
    /// The first line of its message.
    pub title: String,
}

/// What `--move-aside` renamed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MovedAside {
    /// The path it had.
    #[serde(flatten, with = "Text::<From>")]
    pub from: RepoPath,
    /// The path it has now.
    #[serde(flatten, with = "Text::<To>")]
    pub to: RepoPath,
}

/// What a return did beside putting files back.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Aftermath {
    /// Paths that somebody else changed after they were put back.
    #[serde(flatten, with = "Texts::<ChangedSince>")]
    pub changed_since: Vec<RepoPath>,
    /// HEAD.
    pub head: HeadReport,
    /// Commits made on the detached HEAD.
    pub commits_made: Vec<CommitMade>,
    /// The branch that they are on: one that was unborn in the past. Else they are on none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits_branch: Option<String>,
    /// Directories left in place whose content changed in the past.
    #[serde(flatten, with = "Texts::<Stayed>")]
    pub stayed: Vec<RepoPath>,
    /// What `--move-aside` renamed.
    pub moved_aside: Vec<MovedAside>,
    /// What `--discard` did not keep in the experiment.
    #[serde(flatten, with = "Texts::<Discarded>")]
    pub discarded: Vec<RepoPath>,
    /// What `--keep` carried over.
    #[serde(flatten, with = "Texts::<Kept>")]
    pub kept: Vec<RepoPath>,
}

/// Answer of `return`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Returned {
    /// Where it leads; with `dry_run` nothing was written.
    #[schemars(extend("const" = "present"))]
    pub mode: Mode,
    /// The backup that was put back.
    pub backup_id: String,
    /// What was made in the past; null for a dry run, or when nothing differed.
    pub experiment_id: Option<String>,
    /// The proof held. False where a large file that a filter converts changed in the past: its bytes were never saved, and git's text is
    /// in its place, or nothing proves that what is there has its bytes.
    pub verified: bool,
    /// Nothing was written.
    pub dry_run: bool,
    /// Paths touched.
    pub changes: Changes,
    /// What else is to be said.
    #[serde(flatten)]
    pub aftermath: Aftermath,
    /// The members of the workspace, which came along.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberSwap>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `restore`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Restored {
    /// The snapshot.
    pub snapshot_id: String,
    /// What was there before; null for a dry run, or when nothing differed.
    pub backup_id: Option<String>,
    /// Nothing was written.
    pub dry_run: bool,
    /// git's index was put back, and no files.
    pub staged: bool,
    /// The lines that were put back; only with -L.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<RestoredLines>,
    /// Paths touched.
    pub changes: Changes,
    /// Whose files were put in place.
    pub snapshot: SnapshotView,
    /// Sentences for people.
    pub notices: Vec<String>,
    /// Differences were shown, and none was chosen.
    #[serde(skip)]
    pub declined: bool,
}

/// Lines of one file that were put back.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct RestoredLines {
    /// The blob that the file was: `--expect` of the same command refuses any other.
    #[serde(serialize_with = "json::printed")]
    #[schemars(with = "String")]
    pub found: Oid,
    /// From what the file was to what it becomes, with git's header lines; absent when nothing differs there.
    #[serde(flatten, with = "OptionalText::<Patch>")]
    pub patch: Option<Vec<u8>>,
}

/// Answer of `recover`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Recovered {
    /// What was done. `repaired`: after a power cut.
    #[schemars(with = "String", extend("enum" = ["nothing", "rolled-back", "rolled-forward", "cleaned", "repaired", "mended"]))]
    pub action: RecoveryAction,
    /// What kind of swap had died.
    pub operation: Option<SwapKind>,
    /// What was on disk before recovery.
    pub rescue_id: Option<String>,
    /// Paths that neither side explains; their later bytes stay in place.
    #[serde(flatten, with = "Texts::<Differing>")]
    pub differing: Vec<RepoPath>,
    /// Paths touched.
    pub changes: Changes,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// One dropped ref that the log remembers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Dropped {
    /// The id.
    pub id: String,
    /// The commit it named.
    #[serde(serialize_with = "json::printed")]
    #[schemars(with = "String")]
    pub commit: Oid,
    /// When it was dropped: RFC 3339, UTC. Of what something else than tw deleted, when the undo step that needs it was made.
    pub at: String,
    /// Git still has the commit and everything it needs.
    pub available: bool,
    /// It was taken back by this call.
    pub restored: bool,
}

/// Answer of `recover --dropped`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DroppedListing {
    /// What the log remembers, newest first.
    pub dropped: Vec<Dropped>,
}

/// Answer of `open`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Opened {
    /// The snapshot.
    pub snapshot_id: String,
    /// Where it was laid out.
    #[serde(flatten, with = "Text::<Dir>")]
    pub dir: PathBuf,
    /// How many files were written.
    pub files: usize,
    /// The snapshot laid out.
    pub snapshot: SnapshotView,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `close`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Closed {
    /// The directory that was removed.
    #[serde(flatten, with = "Text::<Dir>")]
    pub dir: PathBuf,
    /// What was in it; null: nothing had changed in it.
    pub experiment_id: Option<String>,
    /// Refs that all worktrees share and that came while it was open, made in it or elsewhere, and those that moved to where its HEAD
    /// was, or to a stash made there. They stay. Null: an earlier version opened it.
    pub refs_made: Option<Vec<String>>,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `label`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Labelled {
    /// The snapshot.
    pub snapshot_id: String,
    /// The label.
    pub label: String,
    /// It was taken away.
    pub removed: bool,
    /// The snapshot that has it, or had it.
    pub snapshot: SnapshotView,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// One snapshot, backup or experiment that retention forgets.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Forgotten {
    /// The id.
    pub id: String,
    /// `snapshot`, `backup` or `experiment`.
    pub kind: String,
    /// Its commit.
    #[serde(serialize_with = "json::printed")]
    #[schemars(with = "String")]
    pub commit: Oid,
    /// RFC 3339, UTC.
    pub created_at: String,
    /// Upper bound of what git can reclaim.
    pub bytes: u64,
}

/// Answer of `prune` and `drop`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Pruned {
    /// Nothing was written.
    pub dry_run: bool,
    /// What goes, or would go.
    pub forgotten: Vec<Forgotten>,
    /// How many stay.
    pub kept: usize,
    /// Upper bound of what git can reclaim.
    pub bytes: u64,
    /// What was taken back on disk, of this and of earlier times: in a directory without git, where no gc of git's does it.
    pub reclaimed: u64,
    /// Sentences for people.
    pub notices: Vec<String>,
}

/// Answer of `purge`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Purged {
    /// Nothing was written.
    pub dry_run: bool,
    /// The literal paths.
    #[serde(flatten, with = "Texts::<Paths>")]
    pub paths: Vec<RepoPath>,
    /// What was rewritten, or would be.
    pub rewritten: Vec<Rewritten>,
    /// What it cannot reach: one sentence each (branches, stash, clones).
    pub unreachable: Vec<String>,
    /// The command that really deletes; empty where that is done.
    pub finish: String,
}

/// A record without the paths that were purged.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Rewritten {
    /// Its id.
    pub id: String,
    /// The commit it had.
    #[serde(serialize_with = "json::printed")]
    #[schemars(with = "String")]
    pub old: Oid,
    /// The commit it has now; equal to `old` for a dry run.
    #[serde(serialize_with = "json::printed")]
    #[schemars(with = "String")]
    pub new: Oid,
}

/// One configuration key.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ConfigEntry {
    /// The key as in `config.toml`, such as `keep_days`.
    pub key: &'static str,
    /// Its value as JSON.
    #[schemars(extend("type" = ["string", "number", "boolean", "array", "null"]))]
    pub value: Value,
    /// `default`, `team` (`.timewarp/config.toml`) or `git` (`git config`), with the file where known.
    pub origin: String,
    /// One line on what it does.
    pub description: &'static str,
}

/// Answer of `config`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConfigListing {
    /// Every key.
    #[serde(rename = "config")]
    pub entries: Vec<ConfigEntry>,
    /// Keys that do not count where they stand.
    pub warnings: Vec<String>,
}

/// How a check of `doctor` came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// Works, with a risk.
    Warning,
    /// Broken.
    Error,
}

/// One check of `doctor`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Check {
    /// Short name, kebab-case.
    pub name: &'static str,
    /// How it came out.
    pub status: CheckStatus,
    /// What was found.
    pub message: String,
    /// The command that fixes it.
    pub fix: Option<String>,
}

/// Answer of `doctor`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checkup {
    /// Every check.
    pub checks: Vec<Check>,
}
