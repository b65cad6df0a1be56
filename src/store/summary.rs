//! What a list says of thousands of snapshots, without reading thousands of commits.
//!
//! Owns `summaries` in the shared `timewarp` directory: for each commit what its record says. A commit never changes, so what
//! was read from it once holds as long as it is there. The file is derived and never trusted: each entry has a checksum, and
//! counts only for the ref and the commit that it names, while git still has that commit. What is missing, or does not fit, is
//! read from the objects, on all cores; when that was much, the file is written anew with what is there now, by whoever read
//! it. Deleting it costs time alone.
//!
//! Leaves out records that cannot be read: those are read again each time, and said each time.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Store;
use super::id::{IdKind, SnapshotId};
use super::names;
use super::snapshot::TakenIn;
use super::stored::{self, Stored};
use crate::error::{Error, Result};
use crate::git::fs::{self, Durable};
use crate::git::threads;
use crate::git::{ObjectFormat, Oid};

/// Says what the file is, and the version of what stands in it: one for each length of ids.
fn magic(format: ObjectFormat) -> &'static [u8; 8] {
    match format {
        ObjectFormat::Sha1 => b"twsums\x00\x03",
        ObjectFormat::Sha256 => b"twsums\x00\x04",
    }
}

/// The name of the file.
const FILE: &str = "summaries";

/// This many may be read from the objects before the file is written again; of a long list, this part of it.
const FEW: usize = 64;
const PART: usize = 16;

/// What a list says of a snapshot, backup or experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The id.
    pub id: SnapshotId,
    /// The commit.
    pub commit: Oid,
    /// The captured files.
    pub tree: Oid,
    /// Counts up per repository.
    pub seq: u64,
    /// The title.
    pub title: String,
    /// `main`, or the linked worktree's name.
    pub worktree: String,
    /// The linked worktree's random id; empty where none is recorded.
    pub worktree_id: String,
    /// Where the working tree was.
    pub taken_in: TakenIn,
    /// RFC 3339.
    pub created_at: String,
    /// The repository's random id.
    pub repository_id: String,
    /// The record as it stands, unknown fields included, as JSON without blanks.
    pub document: String,
}

/// Summaries in the order of what was asked for, and what cannot be read.
#[derive(Debug, Default)]
pub struct Summaries {
    /// What can be read.
    pub found: Vec<Summary>,
    /// The rest: id and reason.
    pub invalid: Vec<(SnapshotId, Error)>,
}

impl From<Stored> for Summary {
    fn from(stored: Stored) -> Self {
        let document = serde_json::to_string(&stored.json);
        Self {
            id: stored.id,
            commit: stored.commit,
            tree: stored.tree,
            seq: stored.record.seq,
            title: stored.title,
            worktree: stored.record.worktree,
            worktree_id: stored.record.worktree_id.unwrap_or_default(),
            taken_in: stored.record.taken_in,
            created_at: stored.record.created_at,
            repository_id: stored.record.repository_id,
            document: document.expect("string keys and plain data always encode"),
        }
    }
}

impl Store {
    /// Everything of these kinds, newest second first.
    ///
    /// # Errors
    /// The refs cannot be listed. A record that cannot be read is no error: it hides no other.
    pub fn summaries(&self, kinds: &[IdKind]) -> Result<Summaries> {
        let mut refs = Vec::new();
        for kind in kinds {
            let all = self.refs.read_all(names::prefix(*kind))?;
            // Refs of one kind differ in the id's date, time and tail alone, and come sorted.
            let all = all.into_iter().rev();
            refs.extend(all.filter_map(|(name, commit)| {
                let id = names::parse_snapshot_ref(&name)?;
                Some(SnapshotRef { id, name, commit })
            }));
        }
        refs.sort_by_key(|found| Reverse(found.id.time()));
        // One that cannot be read is as good as none.
        let file = fs::read_optional(&self.common(FILE)).unwrap_or_default();
        let file = file.unwrap_or_default();
        let format = self.objects.format();
        let known = entries(&file, format);
        let objects = &self.objects;
        // The threads ask the disk; what they need not hold, they do not make.
        let sources = threads::map(&refs, |SnapshotRef { id, name, commit }| {
            let commit = *commit.as_ref().ok()?;
            let entry = known
                .get(&commit)
                .filter(|entry| is_for(entry, format, name));
            // What git has lost is not shown as if it were there.
            Some(match entry {
                Some(entry) if objects.contains(commit) => Source::Known(entry),
                _ => Source::Read(stored::read(objects, id, commit).map(Summary::from)),
            })
        });
        let mut summaries = Summaries::default();
        let mut read = 0;
        for (SnapshotRef { id, commit, .. }, source) in refs.into_iter().zip(sources) {
            let summary = match (source, commit) {
                (Some(Source::Read(summary)), _) => {
                    read += usize::from(summary.is_ok());
                    summary
                }
                (Some(Source::Known(entry)), Ok(commit)) => {
                    let summary = Summary::decode(entry, format, id);
                    summary.map_or_else(|| self.read(&id, commit).map(Summary::from), Ok)
                }
                (_, Err(error)) => Err(error),
                (None, Ok(_)) => continue,
            };
            match summary {
                Ok(summary) => summaries.found.push(summary),
                Err(error) => summaries.invalid.push((id, error)),
            }
        }
        if read > FEW.max(summaries.found.len() / PART) {
            let others = known.values().filter(|entry| !is_of(entry, format, kinds));
            // A repository that cannot be written can still be read.
            let _ = self.write_summaries(others, &summaries.found);
        }
        Ok(summaries)
    }

    /// Removes what is kept of the records: of commits that are to be forgotten nothing stays.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn forget_summaries(&self) -> Result<()> {
        fs::remove_optional(&self.common(FILE))
    }

    fn write_summaries<'e>(
        &self,
        others: impl Iterator<Item = &'e &'e [u8]>,
        summaries: &[Summary],
    ) -> Result<()> {
        let mut file = magic(self.objects.format()).to_vec();
        others.for_each(|entry| put(&mut file, entry));
        let mut entry = Vec::new();
        for summary in summaries {
            entry.clear();
            summary.encode(&mut entry);
            put(&mut file, &entry);
        }
        fs::write_atomic(&self.common(FILE), &file, Durable::No)
    }
}

/// A ref to look at.
struct SnapshotRef {
    id: SnapshotId,
    name: String,
    commit: Result<Oid>,
}

/// How a summary was had.
#[expect(
    clippy::large_enum_variant,
    reason = "each is taken apart as soon as all are had"
)]
enum Source<'a> {
    /// The file has this entry.
    Known(&'a [u8]),
    /// From the objects.
    Read(Result<Summary>),
}

/// The sound entries of the file by their commits. What follows an unsound one is not looked at.
fn entries(file: &[u8], format: ObjectFormat) -> HashMap<Oid, &[u8]> {
    let mut entries = HashMap::new();
    let mut rest = file.strip_prefix(magic(format)).unwrap_or_default();
    while let Some((entry, after)) = take(rest) {
        if let Some(commit) = format.first_of(entry) {
            entries.insert(commit, entry);
        }
        rest = after;
    }
    entries
}

/// The first entry: its length, its checksum, its bytes.
fn take(file: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = file.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (entry, rest) = rest.split_at_checked(length)?;
    (crc32fast::hash(entry) == u32::from_le_bytes(*sum)).then_some((entry, rest))
}

fn put(file: &mut Vec<u8>, entry: &[u8]) {
    // Longer than any commit that was read; such a one is read again each time.
    let Ok(length) = u32::try_from(entry.len()) else {
        return;
    };
    file.extend_from_slice(&length.to_le_bytes());
    file.extend_from_slice(&crc32fast::hash(entry).to_le_bytes());
    file.extend_from_slice(entry);
}

fn is_of(entry: &[u8], format: ObjectFormat, kinds: &[IdKind]) -> bool {
    let letter = id_of(entry, format).and_then(|(id, _)| id.chars().next());
    kinds.iter().any(|kind| Some(kind.letter()) == letter)
}

/// Whether an entry was made of the record of this ref's id.
fn is_for(entry: &[u8], format: ObjectFormat, name: &str) -> bool {
    let last = name.rsplit('/').next();
    id_of(entry, format).is_some_and(|(id, _)| Some(id) == last)
}

/// The id, and what follows it.
fn id_of(entry: &[u8], format: ObjectFormat) -> Option<(&str, &[u8])> {
    // Behind two ids and a number.
    text(entry.get(2 * format.width() + 8..)?)
}

impl Summary {
    /// The id comes first: it is asked for most.
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.commit.as_bytes());
        out.extend_from_slice(self.tree.as_bytes());
        out.extend_from_slice(&self.seq.to_le_bytes());
        let texts: [&str; 7] = [
            &self.id.to_string(),
            &self.title,
            &self.worktree,
            &self.worktree_id,
            self.taken_in.as_str(),
            &self.created_at,
            &self.repository_id,
        ];
        for text in texts {
            // A longer one makes the entry longer than any that is kept.
            let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        out.extend_from_slice(self.document.as_bytes());
    }

    /// An entry of this id.
    fn decode(entry: &[u8], format: ObjectFormat, id: SnapshotId) -> Option<Self> {
        let (commit, rest) = format.split(entry)?;
        let (tree, rest) = format.split(rest)?;
        let (seq, _) = rest.split_first_chunk()?;
        let (_, rest) = id_of(entry, format)?;
        let (title, rest) = text(rest)?;
        let (worktree, rest) = text(rest)?;
        let (worktree_id, rest) = text(rest)?;
        let (taken_in, rest) = text(rest)?;
        let (created_at, rest) = text(rest)?;
        let (repository_id, rest) = text(rest)?;
        Some(Self {
            id,
            commit,
            tree,
            seq: u64::from_le_bytes(*seq),
            title: title.to_owned(),
            worktree: worktree.to_owned(),
            worktree_id: worktree_id.to_owned(),
            taken_in: TakenIn::from(taken_in),
            created_at: created_at.to_owned(),
            repository_id: repository_id.to_owned(),
            document: std::str::from_utf8(rest).ok()?.to_owned(),
        })
    }
}

/// A text and what follows it.
fn text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (text, rest) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(text).ok()?, rest))
}
