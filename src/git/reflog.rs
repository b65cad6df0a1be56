//! Reflogs: where HEAD, or another ref, was, and what moved it.
//!
//! git keeps it as long as it is told to; where it is turned off there is none, and that is no error. A line that is none is passed
//! over.

use std::path::Path;

use super::Oid;
use super::refs::{LogEntry, Refs};
use super::regular;
use super::repo::Repo;
use crate::error::Result;

/// A move of HEAD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Move {
    /// Where it was; None: nowhere.
    pub old: Option<Oid>,
    /// Where it is then.
    pub new: Oid,
    /// When, in seconds.
    pub at: i64,
    /// What moved it, in git's words.
    pub message: String,
}

impl Move {
    fn parse(line: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(line);
        let (who, message) = text.split_once('\t').unwrap_or((&text, ""));
        let mut ids = who.splitn(3, ' ');
        let old = Oid::from_hex(ids.next()?).ok()?;
        let new = Oid::from_hex(ids.next()?).ok()?;
        let at = ids.next()?.rsplit(' ').nth(1)?.parse().ok()?;
        Some(Self {
            old: (!old.is_null()).then_some(old),
            new,
            at,
            message: message.to_owned(),
        })
    }

    /// Whether the commit was made by this move: by a commit, or by something that commits, such as a rebase.
    pub fn makes_commit(&self) -> bool {
        let (verb, rest) = self.message.split_once(':').unwrap_or((&self.message, ""));
        if rest.contains("Fast-forward") || rest.contains("fast-forward") {
            return false;
        }
        let word = verb.split(' ').next().unwrap_or_default();
        match word {
            "commit" | "cherry-pick" | "revert" | "am" => true,
            "merge" => rest.contains("Merge made"),
            "rebase" | "pull" => {
                // What begins and what ends a rebase only moves HEAD.
                let moves = ["(start)", "(finish)", "(abort)"];
                let stepped = verb.contains('(') && !moves.iter().any(|word| verb.contains(word));
                stepped || rest.contains("Merge made")
            }
            _ => false,
        }
    }

    /// Whether the commit was made from another one, and has its author: by a pick, a step of a rebase, or from a mail.
    pub fn copies(&self) -> bool {
        let (verb, rest) = self.message.split_once(':').unwrap_or((&self.message, ""));
        match verb.split(' ').next().unwrap_or_default() {
            "cherry-pick" | "am" | "rebase" => true,
            "pull" => !rest.contains("Merge made"),
            "commit" => verb.contains("(cherry-pick)") || verb.contains("(rebase)"),
            _ => false,
        }
    }

    /// Whether it went to another commit without making one of where it was: to another branch, or back.
    pub fn leaves(&self) -> bool {
        let words = ["checkout:", "reset:"];
        words.iter().any(|word| self.message.starts_with(word))
    }

    /// Whether it put a commit in the place of the one that was there.
    pub fn amends(&self) -> bool {
        let verb = self.message.split(':').next().unwrap_or_default();
        ["(amend)", "(reword)", "(squash)", "(fixup)"]
            .iter()
            .any(|word| verb.contains(word))
    }
}

/// The moves of this worktree's HEAD, oldest first.
pub fn read(repo: &Repo) -> Vec<Move> {
    of_ref(repo, "HEAD").unwrap_or_default()
}

/// The moves of the HEAD of another worktree of the repository, by its git directory, oldest first.
pub fn of_worktree(repo: &Repo, git_dir: &Path) -> Vec<Move> {
    let refs = Refs::new(repo.common_dir(), git_dir, repo.refs().format());
    moves(&refs, git_dir, "HEAD").unwrap_or_default()
}

/// The moves of a ref, oldest first.
///
/// # Errors
/// Its log cannot be read.
pub fn of_ref(repo: &Repo, name: &str) -> Result<Vec<Move>> {
    let dir = if name == "HEAD" {
        repo.git_dir()
    } else {
        repo.common_dir()
    };
    moves(repo.refs(), dir, name)
}

/// What the log of a ref has, in `dir` where it is a file.
fn moves(refs: &Refs, dir: &Path, name: &str) -> Result<Vec<Move>> {
    if let Some(entries) = refs.log(name)? {
        return Ok(entries.into_iter().map(Move::from).collect());
    }
    let bytes = regular::read_optional(&dir.join("logs").join(name))?.unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(Move::parse).collect())
}

impl From<LogEntry> for Move {
    fn from(entry: LogEntry) -> Self {
        Self {
            old: entry.old,
            new: entry.new.unwrap_or(Oid::NULL),
            at: entry.at,
            message: entry.message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str) -> Move {
        let line = format!("{:040} {:040} A <a@b> 17 +0100\t{message}", 0, 1);
        Move::parse(line.as_bytes()).expect("a line")
    }

    #[test]
    fn a_line_is_a_move() {
        let one = said("commit (initial): one: two");
        assert_eq!((one.old, one.at), (None, 17));
        assert_eq!(one.message, "commit (initial): one: two");
        assert_eq!(Move::parse(b""), None);
        assert_eq!(Move::parse(b"x y z"), None);
    }

    #[test]
    fn what_commits_is_told_from_what_moves() {
        for message in [
            "commit: fast",
            "commit (initial): x",
            "commit (amend): x",
            "commit (merge): Merge branch 'a'",
            "cherry-pick: x",
            "rebase (pick): x",
            "rebase -i (squash): x",
            "rebase (continue): x",
            "pull --rebase origin main (pick): x",
            "pull: Merge made by the 'ort' strategy.",
            "merge side: Merge made by the 'ort' strategy.",
        ] {
            assert!(said(message).makes_commit(), "{message}");
        }
        for message in [
            "checkout: moving from a to b",
            "reset: moving to HEAD~1",
            "clone: from x",
            "pull: Fast-forward",
            "merge side: Fast-forward",
            "rebase (start): checkout main",
            "rebase (finish): returning to refs/heads/x",
            "tw travel: s_1",
            "",
        ] {
            assert!(!said(message).makes_commit(), "{message}");
        }
        for message in [
            "am: x",
            "commit (cherry-pick): x",
            "pull --rebase o m (pick): x",
        ] {
            assert!(said(message).copies(), "{message}");
        }
        for message in ["commit: (rebase)", "pull: Merge made by x", "revert: x"] {
            assert!(!said(message).copies(), "{message}");
        }
        assert!(said("commit (amend): x").amends() && !said("commit: (amend)").amends());
    }
}
