//! A merge, rebase, am, cherry-pick, revert or bisect under way: what git keeps of it in this worktree's git directory.
//!
//! Owns the closed list of names that make up such a state, reading it, putting it back exactly, and saying which commits
//! it needs. `ORIG_HEAD` alone is state too, though no operation. Promises: only regular files of the list are read,
//! written or removed, never through a symlink; [`restore`] can be run again after a crash half-way. Leaves out
//! `FETCH_HEAD`, rerere's shared cache, reflogs, the index and HEAD, and how a state is stored as objects.
//!
//! The caller of [`restore`] holds `tw`'s lock and git's `index.lock` and `HEAD.lock`.

mod commits;
mod files;
mod names;
mod refs;
mod tables;
#[cfg(test)]
mod tests;

use crate::git::Oid;

pub use self::names::{is_known_name, is_known_ref};

use super::create;
use super::objects::ObjectStore;
use super::refs::RefFormat;
use super::repo::Repo;
use crate::error::{Code, Error, Result, ResultExt};

/// The largest file that an operation may have.
pub const MAX_FILE: u64 = 16 << 20;

/// One file of an operation: its name under the git directory, its bytes, its permission bits.
pub type OperationFile = (String, Vec<u8>, u32);

/// Everything that git keeps of what is under way in one worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationState {
    /// Files by name, sorted. Pseudo refs such as `MERGE_HEAD` are among them.
    pub files: Vec<OperationFile>,
    /// `refs/bisect/*` and `refs/rewritten/*` of this worktree, sorted.
    pub refs: Vec<(String, Oid)>,
    /// Every commit that files and refs name and that exists, each once. A gc must not take them.
    pub commits: Vec<Oid>,
    /// Trees that they name (`AUTO_MERGE`), by the name of the file.
    pub trees: Vec<(String, Oid)>,
    /// What lies there under a name that is not on the list, or is no regular file. Neither captured nor touched.
    pub unknown: Vec<String>,
}

impl OperationState {
    /// True when there is nothing to put back.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.refs.is_empty()
    }

    /// The bytes of one file.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        let found = self.files.iter().find(|(found, _, _)| found == name)?;
        Some(&found.1)
    }

    /// Whether a commit that it names is not there, so that git could neither go on with it nor abort it.
    pub fn lacks_commits(&self, objects: &ObjectStore) -> bool {
        commits::lacks(objects, self)
    }

    /// The commits whose lines come into the files: those that are merged, and the one that is picked.
    pub fn brings(&self, objects: &ObjectStore) -> Vec<Oid> {
        let names = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD"];
        let files = names.iter().filter_map(|name| self.file(name));
        commits::peeled(objects, files.flat_map(commits::full_ids))
    }
}

/// Reads what is under way now.
///
/// # Errors
/// `IO` when a file there is larger than [`MAX_FILE`] or cannot be read.
pub fn read(repo: &Repo, objects: &ObjectStore) -> Result<OperationState> {
    let mut state = OperationState::default();
    read_into(repo, &mut state).context(|| "read the operation under way")?;
    state.files.sort();
    state.refs.sort();
    state.unknown.sort();
    commits::collect(objects, &mut state);
    Ok(state)
}

fn read_into(repo: &Repo, state: &mut OperationState) -> Result<()> {
    let dir = files::open(repo.git_dir())?;
    let format = repo.refs().format();
    files::read(&dir, format, state)?;
    match format {
        RefFormat::Files => refs::read(&dir, state),
        RefFormat::Reftable => tables::read(repo.refs(), state),
    }
}

/// Makes the git directory have exactly this state: files and refs of the list that are not in it go, and the directories
/// that this empties. Files that are right already are not touched. Run again, it ends the same.
///
/// # Errors
/// `CORRUPT_RECORD`, with nothing touched, when `state` has a name that is not on the list; `WOULD_OVERWRITE` when something
/// other than a regular file stands where one must be written.
pub fn restore(repo: &Repo, state: &OperationState) -> Result<()> {
    check(state)?;
    let dir = files::open(repo.git_dir())?;
    let sharing = create::sharing(repo.git_dir());
    let format = repo.refs().format();
    files::restore(&dir, format, &state.files, sharing)
        .and_then(|()| match repo.refs().change_own()? {
            None => refs::restore(&dir, &state.refs, sharing),
            Some(change) => tables::restore(repo.refs(), change, state),
        })
        .map_err(|error| match error.code() {
            Code::WouldOverwrite => error.hint(format!(
                "move it out of '{}', then do this again",
                repo.git_dir().display()
            )),
            _ => error,
        })
        .context(|| "put back the operation under way")
}

/// Refuses what no `read` of ours could have made.
fn check(state: &OperationState) -> Result<()> {
    let corrupt = |what: &str, name: &str| {
        let name = super::path::display(name.as_bytes());
        Error::new(Code::CorruptRecord, format!("{what}: '{name}'"))
    };
    let mut names: Vec<&str> = state.refs.iter().map(|(name, _)| name.as_str()).collect();
    if let Some(name) = names.iter().find(|name| !is_known_ref(name)) {
        return Err(corrupt("not a ref of an operation", name));
    }
    for (name, content, _) in &state.files {
        if !is_known_name(name) {
            return Err(corrupt("not a file of an operation", name));
        }
        if content.len() as u64 > MAX_FILE {
            return Err(corrupt("too large for a file of an operation", name));
        }
        names.push(name);
    }
    names.sort_unstable();
    match names.windows(2).find(|pair| pair.first() == pair.last()) {
        Some(pair) => Err(corrupt(
            "twice in one operation",
            pair.first().unwrap_or(&""),
        )),
        None => Ok(()),
    }
}

/// The state as it is when [`restore`] has put it into this repository: files have the bits that `core.sharedRepository`
/// gives them, and what is kept as a ref has none of its own.
pub fn as_kept(state: &OperationState, repo: &Repo) -> OperationState {
    let sharing = create::sharing(repo.git_dir());
    let format = repo.refs().format();
    let mut state = state.clone();
    for (name, _, mode) in &mut state.files {
        *mode = if format == RefFormat::Reftable && tables::is_ref(name) {
            tables::MODE
        } else {
            create::shared_bits(*mode, sharing)
        };
    }
    state
}

/// Whether both are the same state: the same files with the same bytes and permission bits, and the same refs. What is
/// derived (`commits`, `trees`) or unknown does not count.
pub fn equal(a: &OperationState, b: &OperationState) -> bool {
    let files = |state: &OperationState| {
        let mut files = state.files.clone();
        files.sort();
        files
    };
    let refs = |state: &OperationState| {
        let mut refs = state.refs.clone();
        refs.sort();
        refs
    };
    files(a) == files(b) && refs(a) == refs(b)
}

/// What is under way, in git status' words and by its rules: `merge`, `rebase-merge`, `rebase-apply`, `am`, `cherry-pick`,
/// `revert`, `bisect`. More than one may be, and `ORIG_HEAD` alone is none.
pub fn kinds(state: &OperationState) -> Vec<&'static str> {
    let has = |name: &str| state.file(name).is_some();
    let within = |dir: &str| state.files.iter().any(|(name, _, _)| name.starts_with(dir));
    let mut kinds = Vec::new();
    let merge = has("MERGE_HEAD");
    if merge {
        kinds.push("merge");
    }
    let rebase = if within("rebase-apply/") {
        let am = has("rebase-apply/applying");
        Some(if am { "am" } else { "rebase-apply" })
    } else {
        within("rebase-merge/").then_some("rebase-merge")
    };
    kinds.extend(rebase);
    let todo = sequencer_command(state);
    // git: a rebase picks commits too; that is no cherry-pick.
    let picking = has("CHERRY_PICK_HEAD") && !merge && rebase.is_none();
    if picking || todo == Some("cherry-pick") {
        kinds.push("cherry-pick");
    }
    if has("REVERT_HEAD") || todo == Some("revert") {
        kinds.push("revert");
    }
    if has("BISECT_LOG") {
        kinds.push("bisect");
    }
    kinds
}

/// The part that a travel puts in place: a merge, cherry-pick or revert, and `ORIG_HEAD`. Going on with a rebase or a bisect
/// would move branches; nothing of them, nor of what they pick on their way, is in it.
pub fn revivable(state: &OperationState) -> OperationState {
    let rebasing = kinds(state)
        .iter()
        .any(|kind| matches!(*kind, "rebase-merge" | "rebase-apply" | "am"));
    let has = |name: &str| state.file(name).is_some();
    let is_its_pick = rebasing
        && has("CHERRY_PICK_HEAD")
        && state.file("CHERRY_PICK_HEAD") == state.file("REBASE_HEAD");
    // As somebody may begin where a rebase stopped.
    let has_another = has("MERGE_HEAD")
        || has("REVERT_HEAD")
        || has("sequencer/todo")
        || (has("CHERRY_PICK_HEAD") && !is_its_pick);
    let mut away = vec!["rebase-merge/", "rebase-apply/", "BISECT_", "REBASE_HEAD"];
    away.extend(is_its_pick.then_some("CHERRY_PICK_HEAD"));
    let stays = |name: &str| {
        let is_away = || away.iter().any(|prefix| name.starts_with(prefix));
        name == "ORIG_HEAD" || !((rebasing && !has_another) || is_away())
    };
    let mut part = state.clone();
    part.files.retain(|(name, _, _)| stays(name));
    part.trees.retain(|(name, _)| stays(name));
    part.refs.clear();
    part
}

/// The branch that a rebase under way moves in the end, with its whole name, and the commit that it began at: aborting sets it back to
/// that, wherever it is by then.
pub fn rebased_branch(state: &OperationState) -> Option<(String, Oid)> {
    ["rebase-merge", "rebase-apply"].iter().find_map(|dir| {
        let line = |name: &str| {
            let file = state.file(&format!("{dir}/{name}"))?;
            std::str::from_utf8(file.trim_ascii_end()).ok()
        };
        let branch = line("head-name").filter(|name| name.starts_with("refs/heads/"))?;
        Some((branch.to_owned(), Oid::from_hex(line("orig-head")?).ok()?))
    })
}

/// What the sequencer's first line does. After a commit by hand this file is all that is left of a longer pick.
fn sequencer_command(state: &OperationState) -> Option<&'static str> {
    let todo = state.file("sequencer/todo")?;
    let word = todo
        .split(u8::is_ascii_whitespace)
        .find(|word| !word.is_empty())?;
    match word {
        b"pick" | b"p" => Some("cherry-pick"),
        b"revert" => Some("revert"),
        _ => None,
    }
}
