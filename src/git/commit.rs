//! Commit objects: what they name, and their messages; and which object a tag leads to.
//!
//! Read from their bytes: neither grafts nor replacements count, and an author or a message need not be UTF-8. Leaves out which
//! commits are reachable from which: see [`super::history`].

use crate::git::Oid;

use super::objects::{ObjectKind, ObjectStore, missing};
use crate::env::Moment;
use crate::error::{Code, Error, Result};

/// The fields of a commit that matter here.
#[derive(Debug, Clone)]
pub struct RawCommit {
    /// Its tree.
    pub tree: Oid,
    /// Its parents.
    pub parents: Vec<Oid>,
    /// Its message.
    pub message: Vec<u8>,
    /// Author time, seconds.
    pub author_time: i64,
    /// Committer time, seconds.
    pub committer_time: i64,
}

impl RawCommit {
    /// Parses a commit object.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n");
        let header = bytes.get(..end.unwrap_or(bytes.len()))?;
        let message = end.and_then(|end| bytes.get(end + 2..));
        let mut tree = None;
        let mut parents = Vec::new();
        let (mut author_time, mut committer_time) = (0, 0);
        for line in header.split(|byte| *byte == b'\n') {
            if let Some(oid) = line.strip_prefix(b"tree ") {
                tree = Oid::from_hex_bytes(oid).ok();
            } else if let Some(oid) = line.strip_prefix(b"parent ") {
                parents.push(Oid::from_hex_bytes(oid).ok()?);
            } else if let Some(author) = line.strip_prefix(b"author ") {
                author_time = seconds(author);
            } else if let Some(committer) = line.strip_prefix(b"committer ") {
                committer_time = seconds(committer);
            }
        }
        Some(Self {
            tree: tree?,
            parents,
            message: message.unwrap_or_default().to_vec(),
            author_time,
            committer_time,
        })
    }

    /// The message's first paragraph, in one line.
    pub fn title(&self) -> String {
        let text = String::from_utf8_lossy(&self.message);
        let mut lines = text.trim_start_matches('\n').lines();
        let mut title = lines.next().unwrap_or_default().trim_end().to_owned();
        for line in lines.map(str::trim).take_while(|line| !line.is_empty()) {
            title.push(' ');
            title.push_str(line);
        }
        title
    }
}

/// The time in the line of an author or a committer.
fn seconds(line: &[u8]) -> i64 {
    let word = line.rsplit(|byte| *byte == b' ').nth(1);
    let seconds = word.and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
    seconds.unwrap_or(0)
}

/// The text of a commit by the fixed identity, unsigned. Its committer date is the epoch's first second: git orders fetch
/// negotiation and `log --all` by it, and our commits must never come first there.
pub fn commit_text(tree: Oid, parents: &[Oid], message: &str, at: Moment) -> String {
    use std::fmt::Write as _;
    let mut text = format!("tree {tree}\n");
    for parent in parents {
        let _ = writeln!(text, "parent {parent}");
    }
    let date = at.seconds().max(0);
    let _ = write!(
        text,
        "author timewarp <timewarp@localhost> {date} +0000\n\
         committer timewarp <timewarp@localhost> 1 +0000\n\n"
    );
    // Git cuts a message at a NUL, and fsck complains.
    text.extend(message.trim_end().chars().filter(|ch| *ch != '\0'));
    text.push('\n');
    text
}

/// The object that a tag names.
pub(super) fn tagged(bytes: &[u8]) -> Option<Oid> {
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    Oid::from_hex_bytes(line.strip_prefix(b"object ")?).ok()
}

impl ObjectStore {
    /// What a tag leads to, by way of other tags where there are any, and its kind; any other object is that itself.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`: one of them is missing or damaged.
    pub fn peel(&self, oid: Oid) -> Result<(Oid, ObjectKind)> {
        let mut at = oid;
        // An id is the hash of what names the next one: it cannot go round in a circle.
        loop {
            match self.header(at)? {
                Some((ObjectKind::Tag, _)) => {
                    let (_, bytes) = self.read(at)?;
                    at = tagged(&bytes).ok_or_else(|| {
                        Error::new(Code::CorruptRecord, format!("tag {at} is not well formed"))
                    })?;
                }
                Some((kind, _)) => return Ok((at, kind)),
                None => return Err(missing(at)),
            }
        }
    }

    /// Reads and parses a commit.
    ///
    /// # Errors
    /// `CORRUPT_RECORD`: it is missing, no copy hashes to its name, or it is not a commit.
    pub fn commit(&self, oid: Oid) -> Result<RawCommit> {
        RawCommit::parse(&self.read_commit(oid)?).ok_or_else(|| {
            let message = format!("commit {oid} is not well formed");
            Error::new(Code::CorruptRecord, message)
        })
    }

    /// Whether there is a commit of that id.
    pub fn is_commit(&self, oid: Oid) -> bool {
        self.is_kind(oid, ObjectKind::Commit)
    }

    /// Whether an id leads to no commit: there is nothing of that id, or only what is damaged, or it is something else.
    ///
    /// # Errors
    /// It cannot be looked at: then there may be one.
    pub fn is_no_commit(&self, oid: Oid) -> Result<bool> {
        match self.header(oid) {
            Ok(Some((kind, _))) => Ok(kind != ObjectKind::Commit),
            Ok(None) => self.is_there(oid).map(|is_there| !is_there),
            Err(error) if error.code() == Code::CorruptRecord => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Whether there is a tree of that id.
    pub fn is_tree(&self, oid: Oid) -> bool {
        self.is_kind(oid, ObjectKind::Tree)
    }

    fn is_kind(&self, oid: Oid, kind: ObjectKind) -> bool {
        matches!(self.header(oid), Ok(Some((found, _))) if found == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "0123456789012345678901234567890123456789";
    const PARENT: &str = "9876543210987654321098765432109876543210";

    fn parse(bytes: &[u8]) -> Option<RawCommit> {
        let head = format!("tree {TREE}\nparent {PARENT}\n");
        RawCommit::parse(&[head.as_bytes(), bytes].concat())
    }

    #[test]
    fn what_people_write_is_read() {
        let commit = parse(b"author J\xfcrg <j@x> 17 +0100\ncommitter a <b> 18 +0000\ngpgsig -----\n \n tree no\n\none\n\ntwo\n");
        let commit = commit.expect("a commit");
        assert_eq!(
            (commit.tree.to_string().as_str(), commit.author_time),
            (TREE, 17)
        );
        assert_eq!(commit.parents.len(), 1);
        assert_eq!(commit.message, b"one\n\ntwo\n");
        let silent = parse(b"author a <b> 1 +0000\ncommitter a <b> 1 +0000").expect("a commit");
        assert!(silent.message.is_empty());
        for bad in [&b"parent x\n\n"[..], b"parent 01234\xff\n\n"] {
            assert!(parse(bad).is_none());
        }
        assert!(
            RawCommit::parse(b"author a <b> 1 +0000\n\n").is_none(),
            "no tree"
        );
    }

    #[test]
    fn a_title_is_the_first_paragraph_in_one_line() {
        for (message, title) in [
            ("one\n\nbody\n", "one"),
            ("\n\n  one  \n two\t\n \nbody", "  one two"),
            ("one\r\ntwo\r\n", "one two"),
            ("", ""),
            ("\n\n", ""),
        ] {
            let mut commit = parse(b"\n").expect("a commit");
            commit.message = message.into();
            assert_eq!(commit.title(), title, "{message:?}");
        }
    }
}
