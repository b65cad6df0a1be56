//! Where purged paths may still be: what `tw` does not own and does not touch. One sentence each.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::rewrite::contains;
use crate::error::Result;
use crate::git::Oid;
use crate::git::fs::{self, Root};
use crate::git::index::{Checksum, Index};
use crate::git::notes::{blob_bytes, notes_at};
use crate::git::objects::ObjectKind;
use crate::git::path;
use crate::git::reflog;
use crate::git::tree;
use crate::ops::Context;
use crate::ops::event_log::{self, RefFate};
use crate::ops::gitview::Trees;
use crate::ops::holders::record_tips;
use crate::ops::worktrees::{self, Worktree};
use crate::store::Store;
use crate::store::context;
use crate::store::names;
use crate::text::{typed_bytes, typed_path};

/// Where output of commands is kept in the directory that all worktrees share, of what, and the command that forgets it.
const OUTPUT: &[(&str, &str, Option<&str>)] = &[
    ("tries", "tries", Some("tw try drop TRY")),
    ("replays", "replays", Some("tw replay drop REPLAY")),
    ("bisect/logs", "searches by bisect", None),
];

/// What could not be reached.
pub struct Elsewhere {
    /// A sentence each.
    pub sentences: Vec<String>,
    /// Those of the paths that were found there.
    pub found: BTreeSet<Vec<u8>>,
}

/// Looks for what could not be reached.
///
/// # Errors
/// When refs or an index cannot be read; a single unreadable ref is passed over.
pub fn search(
    ctx: &Context<'_>,
    store: &Store,
    paths: &[Vec<u8>],
    worktrees: &[Worktree],
) -> Result<Elsewhere> {
    let mut search = Search {
        ctx,
        store,
        paths,
        known: HashMap::new(),
        said: Vec::new(),
        found: BTreeSet::new(),
    };
    search.working_trees(worktrees)?;
    search.refs()?;
    search.heads(worktrees)?;
    search.stash()?;
    search.records()?;
    search.output();
    search.contexts(worktrees);
    let Search {
        mut said, found, ..
    } = search;
    if ctx.repo.head(&store.objects)?.oid.is_some() {
        let specs: Vec<String> = paths.iter().map(|path| pathspec(path)).collect();
        said.push(format!(
            "earlier commits of branches and tags were not searched: git -C {} log --all --oneline -- {}",
            typed_path(ctx.repo.worktree_root()),
            specs.join(" ")
        ));
    }
    let dropped = event_log::ref_events(&store.dir)?;
    if dropped.iter().any(|event| event.event == RefFate::Dropped) {
        said.push("snapshots that were dropped before, until git has deleted them".to_owned());
    }
    said.push("clones of this repository, and whoever fetched from it".to_owned());
    Ok(Elsewhere {
        sentences: said,
        found,
    })
}

/// The pathspec, typed into a shell, that is this path and no other.
fn pathspec(path: &[u8]) -> String {
    let is_literal = !path.starts_with(b":") && !path.iter().any(|byte| b"*?[\\".contains(byte));
    let magic: &[u8] = if is_literal { b"" } else { b":(literal)" };
    typed_bytes(&[magic, path].concat())
}

/// What is said of a path in a repository of its own, be it a member of the workspace: its records are not ours.
fn in_another_repository(root: &Root, full: &[u8]) -> Result<Option<String>> {
    for dir in path::with_parents(full).filter(|dir| dir.len() < full.len()) {
        if root.stamp(&path::join(dir, b".git"))?.is_some() {
            let there = root.path().join(OsStr::from_bytes(dir));
            return Ok(Some(format!(
                "{} is a repository of its own, which keeps what is in it: tw -C {} purge {}",
                quoted(dir),
                typed_path(&there),
                typed_bytes(&full[dir.len() + 1..])
            )));
        }
    }
    Ok(None)
}

/// A path as it stands in a sentence.
pub fn quoted(path: &[u8]) -> String {
    format!("'{}'", path::display(path))
}

struct Search<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    paths: &'a [Vec<u8>],
    /// The paths that a tree has, by tree.
    known: HashMap<Oid, Vec<String>>,
    said: Vec<String>,
    found: BTreeSet<Vec<u8>>,
}

impl Search<'_> {
    fn working_trees(&mut self, worktrees: &[Worktree]) -> Result<()> {
        for worktree in worktrees {
            let trees = Trees(&self.store.objects);
            let file = worktree.git_dir.join("index");
            let index = Index::read(&file, &worktree.git_dir, &trees, Checksum::Trust)?;
            for gone in self.paths {
                if index.has_path(gone) || !index.within(gone).is_empty() {
                    self.found.insert(gone.clone());
                    let shown = quoted(gone);
                    let spec = pathspec(gone);
                    let there = match self.root_of(worktree) {
                        Some(dir) => format!(" -C {}", typed_path(&dir)),
                        None => String::new(),
                    };
                    self.said.push(format!(
                        "the index of worktree '{}' has {shown}: git{there} rm --cached -r -- {spec}",
                        worktree.name,
                    ));
                }
            }
            let Some(root) = self.root_of(worktree).and_then(|dir| Root::open(&dir).ok()) else {
                continue;
            };
            for gone in self.paths {
                if let Some(told) = in_another_repository(&root, gone)? {
                    self.said.push(told);
                } else if root.stamp(gone)?.is_some() {
                    self.found.insert(gone.clone());
                    self.said.push(format!(
                        "the working tree '{}' has {}: the next snapshot takes it in again unless git ignores it or it is excluded",
                        root.path().display(),
                        quoted(gone)
                    ));
                }
            }
        }
        Ok(())
    }

    /// What a detached HEAD names is on no branch.
    fn heads(&mut self, worktrees: &[Worktree]) -> Result<()> {
        for worktree in worktrees {
            let is_own = worktree.git_dir == self.ctx.repo.git_dir();
            let (oid, whose) = if is_own {
                let head = self.ctx.repo.head(&self.store.objects)?;
                (head.oid.filter(|_| head.detached), String::new())
            } else {
                // Where refs are tables it says nothing of theirs.
                let raw = fs::read_optional(&worktree.git_dir.join("HEAD"))?.unwrap_or_default();
                let raw = String::from_utf8_lossy(&raw).into_owned();
                let whose = format!(" of worktree '{}'", worktree.name);
                (Oid::from_hex(raw.trim()).ok(), whose)
            };
            let found = oid.and_then(|oid| self.peeled(oid));
            for gone in found.map_or(Vec::new(), |tree| self.has(tree)) {
                self.said.push(format!("HEAD{whose} has {gone}"));
            }
        }
        Ok(())
    }

    /// Where a worktree's working tree is, as far as it is known here.
    fn root_of(&self, worktree: &Worktree) -> Option<PathBuf> {
        if worktree.git_dir == self.ctx.repo.git_dir() {
            return Some(self.ctx.repo.worktree_root().to_owned());
        }
        worktrees::root(worktree)
    }

    fn refs(&mut self) -> Result<()> {
        let ours = |name: &str| name.starts_with(names::ROOT) || name.starts_with(names::NOTES);
        for (name, oid) in self.store.refs.list("refs/")? {
            if ours(&name) || name == "refs/stash" {
                continue;
            }
            let found = self.peeled(oid).map_or(Vec::new(), |tree| self.has(tree));
            for gone in found {
                self.said.push(format!("{} has {gone}", called(&name)));
            }
        }
        Ok(())
    }

    /// Every stash: its files, its index, and its untracked files.
    fn stash(&mut self) -> Result<()> {
        // Only the newest stash has a ref; the others stand in its reflog.
        let moves = reflog::of_ref(&self.ctx.repo, "refs/stash")?;
        // The log grows at its end, and stash@{0} is the newest.
        for (nth, stashed) in moves.iter().rev().enumerate() {
            let Ok(raw) = self.store.commit(stashed.new) else {
                continue;
            };
            let mut found = self.has(raw.tree);
            // The first is the commit it was made on; then come its index and its untracked files.
            for parent in raw.parents.iter().skip(1) {
                if let Ok(raw) = self.store.commit(*parent) {
                    found.extend(self.has(raw.tree));
                }
            }
            found.sort();
            found.dedup();
            for gone in found {
                self.said.push(format!("stash@{{{nth}}} has {gone}"));
            }
        }
        Ok(())
    }

    /// Issues, chats and sessions whose text names a path.
    fn records(&mut self) -> Result<()> {
        for (record, tips) in record_tips(self.store)? {
            let mut named: Vec<String> = Vec::new();
            let mut is_read = true;
            for tip in tips {
                let texts = notes_at(&self.store.objects, tip).and_then(|notes| {
                    let blobs = notes.into_iter().map(|(_, blob)| blob);
                    let texts = blobs.map(|blob| blob_bytes(&self.store.objects, blob));
                    texts.collect::<Result<Vec<Vec<u8>>>>()
                });
                is_read &= texts.is_ok();
                for text in texts.unwrap_or_default() {
                    for path in self.paths.iter().filter(|path| contains(&text, path)) {
                        self.found.insert(path.clone());
                        named.push(quoted(path));
                    }
                }
            }
            if !is_read {
                self.said
                    .push(format!("{record} cannot be read, and was not searched"));
            }
            named.sort();
            named.dedup();
            for gone in named {
                self.said.push(format!("{record} mentions {gone}"));
            }
        }
        Ok(())
    }

    /// What commands of runs printed is kept as it was: any of it may be what a file had.
    fn output(&mut self) {
        for (name, what, forget) in OUTPUT {
            let dir = self.store.common(name);
            let has_any = fs::entries(&dir).map_or(true, |entries| !entries.is_empty());
            if has_any {
                let forget = match forget {
                    Some(command) => format!("'{command}' deletes what is of one"),
                    None => format!("'rm -r {}' deletes it", typed_path(&dir)),
                };
                self.said.push(format!(
                    "what commands printed in {what} was not searched, in '{}': {forget}",
                    dir.display()
                ));
            }
        }
    }

    /// Conversations that harnesses keep here, with what their tools read and wrote.
    fn contexts(&mut self, worktrees: &[Worktree]) {
        for worktree in worktrees {
            let dir = context::dir_of_sessions(worktree.dir.path());
            if fs::entries(&dir).map_or(true, |entries| !entries.is_empty()) {
                self.said.push(format!(
                    "what stands in context logs of worktree '{}' was not searched, in '{}': 'rm -r {}' deletes it",
                    worktree.name,
                    dir.display(),
                    typed_path(&dir)
                ));
            }
        }
    }

    /// The purged paths that a tree has.
    fn has(&mut self, root: Oid) -> Vec<String> {
        if let Some(known) = self.known.get(&root) {
            return known.clone();
        }
        let there = |gone: &&Vec<u8>| {
            matches!(
                tree::find_any_names(&self.store.objects, root, gone),
                Ok(Some(_))
            )
        };
        let there: Vec<&Vec<u8>> = self.paths.iter().filter(there).collect();
        let found: Vec<String> = there.iter().map(|gone| quoted(gone)).collect();
        self.found.extend(there.into_iter().cloned());
        self.known.insert(root, found.clone());
        found
    }

    /// The tree of a commit, or of what a tag names.
    fn peeled(&self, oid: Oid) -> Option<Oid> {
        match self.store.objects.peel(oid).ok()? {
            (commit, ObjectKind::Commit) => Some(self.store.commit(commit).ok()?.tree),
            (tree, ObjectKind::Tree) => Some(tree),
            (_, ObjectKind::Blob | ObjectKind::Tag) => None,
        }
    }
}

/// The refs of git that are called by a word, and the word for more than one.
const WORDS: [(&str, &str, &str); 4] = [
    ("refs/heads/", "branch", "branches"),
    ("refs/remotes/", "remote branch", "remote branches"),
    ("refs/tags/", "tag", "tags"),
    ("", "ref", "refs"),
];

fn called(name: &str) -> String {
    let found = WORDS
        .iter()
        .find_map(|(prefix, word, _)| Some((word, name.strip_prefix(prefix)?)));
    let (word, short) = found.unwrap_or((&"ref", name));
    format!("{word} '{short}'")
}

/// This many of a kind are still told one by one.
const FEW: usize = 3;

/// The sentences for people: of many refs or stashes that have the same path their number, and one of them.
pub fn summed(sentences: &[String]) -> Vec<String> {
    let alike = |one: &String, other: &String| match (kind(one), kind(other)) {
        (Some((word, _, gone)), Some((other, _, other_gone))) => {
            word == other && gone == other_gone
        }
        _ => false,
    };
    let mut summed = Vec::new();
    for group in sentences.chunk_by(alike) {
        match group.first().and_then(|first| kind(first)) {
            Some((words, name, gone)) if group.len() > FEW => {
                let count = group.len();
                summed.push(format!(
                    "{count} {words} have {gone}, such as {name}; -v names them"
                ));
            }
            _ => summed.extend_from_slice(group),
        }
    }
    summed
}

/// Of a sentence about a ref or a stash: the word for more of them, its name, and what it has.
fn kind(sentence: &str) -> Option<(&'static str, &str, &str)> {
    // No name of a ref has a blank in it.
    let (subject, gone) = sentence.split_once(" has ")?;
    if subject.starts_with("stash@{") {
        return Some(("stashes", subject, gone));
    }
    let (_, word, words) = WORDS.iter().find(|(_, word, _)| {
        subject
            .strip_prefix(word)
            .is_some_and(|rest| rest.starts_with(" '"))
    })?;
    Some((words, subject.strip_prefix(word)?.trim_start(), gone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_of_a_kind_are_summed_up() {
        let has = |subject: &str, gone: &str| format!("{subject} has '{gone}'");
        let mut said = vec!["the index of worktree 'main' has 'a': git rm --cached -r".to_owned()];
        said.extend((0..3).map(|nth| has(&called(&format!("refs/heads/b{nth}")), "a")));
        said.extend((0..5).map(|nth| has(&called(&format!("refs/tags/v{nth}")), "a")));
        said.extend((0..4).map(|nth| has(&format!("stash@{{{nth}}}"), "b c")));
        said.push("clones of this repository".to_owned());
        let summed = summed(&said);
        assert_eq!(summed.get(..4), said.get(..4));
        assert_eq!(
            summed.get(4..),
            Some(
                &[
                    "5 tags have 'a', such as 'v0'; -v names them".to_owned(),
                    "4 stashes have 'b c', such as stash@{0}; -v names them".to_owned(),
                    "clones of this repository".to_owned(),
                ][..]
            )
        );
    }
}
