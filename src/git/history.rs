//! Which commits are reachable from which: by libgit2, and by git itself where libgit2 does not know the ids, or where history ends
//! early.
//!
//! A shallow clone ends at the commits of the file `shallow` in the common git directory. libgit2 looks for that in the git directory
//! that it has opened, which is another one in a linked worktree, and not at all where it has opened nothing but objects. It
//! would go on to commits that are not there.
//!
//! Neither follows grafts or replacements more than the other would. A process of git costs milliseconds, libgit2 none: who
//! asks for this does so once in a command, and mostly of a repository that libgit2 knows.

use super::Oid;
use super::command::Git;
use super::gc;
use super::objects::ObjectStore;
use super::oid::ObjectFormat;
use super::repo::Repo;
use crate::error::{Code, Error, Result};
use crate::git::fs::is_there;

/// At most this many commits are listed.
const COMMITS: usize = 100;

/// The refs that keep a commit where a branch or a tag of the user's does.
const KEEPING: [&str; 3] = ["refs/heads/", "refs/tags/", "refs/remotes/"];

impl Repo {
    /// The newest commits that are reachable from a commit and not from `base`, at most this many.
    ///
    /// # Errors
    /// A commit on the way is not there.
    pub fn commits_beyond(&self, oid: Oid, base: Option<Oid>, most: usize) -> Result<Vec<Oid>> {
        self.newest(oid, base.into_iter(), most)
    }

    /// The commits, with their titles, that hang on `head` alone: reachable from it, but neither from `base` nor from any branch but `own`, tag or
    /// remote ref. Newest first, at most 100.
    pub fn commits_on_head_alone(
        &self,
        objects: &ObjectStore,
        head: Oid,
        base: Option<Oid>,
        own: Option<&str>,
    ) -> Result<Vec<(Oid, String)>> {
        let mut hidden: Vec<Oid> = base.into_iter().collect();
        for prefix in KEEPING {
            let all = self.refs().list(prefix)?.into_iter();
            let others = all.filter(|(name, _)| Some(name.as_str()) != own);
            hidden.extend(others.map(|(_, oid)| oid));
        }
        let commits = self.newest(head, hidden.into_iter(), COMMITS)?;
        let titled = |oid| -> Result<(Oid, String)> { Ok((oid, objects.commit(oid)?.title())) };
        commits.into_iter().map(titled).collect()
    }

    /// Whether `commit` is `ancestor` or comes after it. False when either is no commit that is there.
    ///
    /// # Errors
    /// When a commit between them cannot be read.
    pub fn descends(&self, objects: &ObjectStore, commit: Oid, ancestor: Oid) -> Result<bool> {
        if commit == ancestor {
            return Ok(true);
        }
        if !objects.is_commit(commit) || !objects.is_commit(ancestor) {
            return Ok(false);
        }
        if self.needs_git() {
            return self.descends_by_git(commit, ancestor);
        }
        let answer = self
            .git2()?
            .graph_descendant_of(sha1(commit)?, sha1(ancestor)?);
        answer.map_err(|error| cannot_compare(commit, ancestor, error.message()).caused_by(error))
    }

    /// Whether everything that hangs on a commit is there, its history included, as git's own fetch would ask. What refs hold, but for the one
    /// named `but`, is whole by git's own promise; without that the whole history would be walked.
    ///
    /// # Errors
    /// git cannot be started.
    pub fn is_connected(&self, objects: &ObjectStore, commit: Oid, but: &str) -> Result<bool> {
        self.are_connected(objects, &[commit], but)
    }

    /// The same of several commits, asked at once: git reads every ref each time. `but` may be a pattern of refs, as `--exclude` has it.
    ///
    /// # Errors
    /// As [`Self::is_connected`].
    pub fn are_connected(&self, objects: &ObjectStore, commits: &[Oid], but: &str) -> Result<bool> {
        if self.is_private() {
            return Ok(objects.reachable(commits.iter().copied()).is_ok());
        }
        for some in commits.chunks(MOST_ARGUMENTS) {
            let mut git = Git::new(self).args(["rev-list", "--objects", "--quiet"]);
            if self.is_partial_clone() {
                // What was never fetched is not missing, and must not be fetched for this.
                git = git.arg("--exclude-promisor-objects");
            }
            let output = git
                .args(some.iter().map(Oid::to_string))
                .args(all_refs_but(but))
                .output()?;
            if !output.status.success() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether what hangs on a commit is there and stays, now that the ref `name` holds it, which may be new: a gc that is under way may not know
    /// of that one, and spares only what another reaches. Where others lend objects they know of none of our refs, and nobody relies on more
    /// than git did before.
    ///
    /// # Errors
    /// git cannot be started.
    pub fn will_stay(&self, objects: &ObjectStore, commit: Oid, name: &str) -> Result<bool> {
        // Asked first: one that has ended by now has taken what it will take, which the look that follows finds.
        let is_in_doubt = gc::is_running(self.common_dir()) || objects.borrows();
        if is_in_doubt && !self.is_reached(commit, name)? {
            return Ok(false);
        }
        self.is_connected(objects, commit, name)
    }

    /// Whether another ref than this one reaches a commit.
    fn is_reached(&self, commit: Oid, but: &str) -> Result<bool> {
        // Whose user need not have git.
        if self.is_private() {
            return Ok(false);
        }
        let git = Git::new(self).args(["rev-list", "--max-count=1"]);
        let output = git
            .arg(commit.to_string())
            .args(all_refs_but(but))
            .output()?;
        Ok(output.status.success() && output.stdout.is_empty())
    }

    /// Whether only git knows where history goes on.
    fn needs_git(&self) -> bool {
        let is_shallow = || is_there(&self.common_dir().join("shallow")).unwrap_or(true);
        self.object_format() != ObjectFormat::Sha1 || is_shallow()
    }

    fn descends_by_git(&self, commit: Oid, ancestor: Oid) -> Result<bool> {
        let output = Git::new(self)
            .args(["merge-base", "--is-ancestor"])
            .args([ancestor, commit].map(|oid| oid.to_string()))
            .output()?;
        match output.status.code() {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(cannot_compare(commit, ancestor, said.trim()))
            }
        }
    }

    /// The newest commits that are reachable from a commit and from none of the hidden ones, of which any may be a tag, no
    /// commit at all, or not there.
    fn newest(&self, oid: Oid, hidden: impl Iterator<Item = Oid>, most: usize) -> Result<Vec<Oid>> {
        if self.needs_git() {
            return self.newest_by_git(oid, hidden, most);
        }
        let mut walk = self.git2()?.revwalk()?;
        walk.push(sha1(oid)?)?;
        for oid in hidden {
            // A tag of a blob hides nothing.
            let _ = walk.hide(sha1(oid)?);
        }
        let own = |oid: std::result::Result<git2::Oid, git2::Error>| -> Result<Oid> {
            Ok(Oid::from_bytes(oid?.as_bytes())?)
        };
        walk.take(most).map(own).collect()
    }

    fn newest_by_git(
        &self,
        oid: Oid,
        hidden: impl Iterator<Item = Oid>,
        most: usize,
    ) -> Result<Vec<Oid>> {
        let mut input = format!("{oid}\n");
        for oid in hidden {
            input += &format!("^{oid}\n");
        }
        let listed = Git::new(self)
            .args(["rev-list", "--stdin", "--ignore-missing"])
            .arg(format!("--max-count={most}"))
            .stdin(input)
            .run()?;
        let lines = listed.split(|&byte| byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty());
        let oids = lines.map(Oid::from_hex_bytes);
        Ok(oids.collect::<std::result::Result<_, _>>()?)
    }
}

/// So many ids are given to one command at the most.
const MOST_ARGUMENTS: usize = 1_000;

/// The arguments for what no ref reaches, but maybe this one.
fn all_refs_but(name: &str) -> [String; 3] {
    let but = format!("--exclude={name}");
    ["--not".to_owned(), but, "--all".to_owned()]
}

fn cannot_compare(commit: Oid, ancestor: Oid, why: &str) -> Error {
    let message = format!("cannot compare {commit} with {ancestor}: {why}");
    Error::new(Code::CorruptRecord, message)
}

/// An id as libgit2 has it.
fn sha1(oid: Oid) -> Result<git2::Oid> {
    Ok(git2::Oid::from_bytes(oid.as_bytes())?)
}
