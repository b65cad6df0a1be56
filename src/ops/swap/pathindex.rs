//! Index entries of single paths, for swaps that leave the rest of the index alone, and how the journal keeps them.
//!
//! The journal has both sides, so that an undo needs no other record of the index than its own level.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::journal::SwapSide;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::index::{Entry, Flags, Index};
use crate::git::path;
use crate::store::state::{Journal, path_from_stored, stored_path};

/// The field of the journal.
pub const FIELD: &str = "index_entries";

/// What the index has for a path: no entry, a merged one, or the stages of a conflict.
pub type PathEntries = BTreeMap<Vec<u8>, Vec<Entry>>;

/// The flags by name, as the journal has them.
const FLAGS: [(&str, Flags); 3] = [
    ("assume-unchanged", Flags::ASSUME_VALID),
    ("skip-worktree", Flags::SKIP_WORKTREE),
    ("intent-to-add", Flags::INTENT_TO_ADD),
];

fn one(entry: &Entry) -> Value {
    let flags: Vec<&str> = FLAGS
        .iter()
        .filter(|(_, flag)| entry.flags.contains(*flag))
        .map(|(name, _)| *name)
        .collect();
    json!({"mode": format!("{:06o}", entry.mode), "oid": entry.oid.to_string(), "stage": entry.stage, "flags": flags})
}

/// What the index that is there has for the paths, and what it will have, for the journal.
pub fn stored(index: &Index, after: &PathEntries) -> Value {
    let list = |entries: &[Entry]| entries.iter().map(one).collect::<Vec<_>>();
    let paths = after.iter().map(|(path, entries)| {
        let before = index.stages(path);
        json!({"path": stored_path(path), "before": list(before), "after": list(entries)})
    });
    paths.collect()
}

/// One side of what the journal has; None when its swap touched no single paths of the index.
///
/// # Errors
/// `CORRUPT_RECORD`.
pub fn read(journal: &Journal, which: SwapSide) -> Result<Option<PathEntries>> {
    let Some(list) = journal.extra.get(FIELD) else {
        return Ok(None);
    };
    let side = which.of("before", "after");
    let corrupt = || {
        Error::new(
            Code::CorruptRecord,
            "the journal's index entries are not well formed",
        )
    };
    let mut paths = PathEntries::new();
    for item in list.as_array().ok_or_else(corrupt)? {
        let path = item.get("path").and_then(Value::as_str);
        let path = path
            .and_then(path_from_stored)
            .filter(|path| path::is_indexable(path))
            .ok_or_else(corrupt)?;
        let entries = item
            .get(side)
            .and_then(Value::as_array)
            .ok_or_else(corrupt)?;
        let entries: Option<Vec<Entry>> = entries.iter().map(entry).collect();
        paths.insert(path, entries.ok_or_else(corrupt)?);
    }
    Ok(Some(paths))
}

/// Whether two paths have the same stages in an index, stat data aside.
pub fn are_alike(one: &[Entry], other: &[Entry]) -> bool {
    let all = |entries: &[Entry]| entries.iter().map(self::one).collect::<Vec<_>>();
    all(one) == all(other)
}

/// What becomes of single paths of an index.
#[derive(Debug, Clone, Default)]
pub struct EntryChanges {
    wanted: PathEntries,
    /// What is left of others, which an index cannot have beside these.
    room: PathEntries,
}

impl From<PathEntries> for EntryChanges {
    fn from(wanted: PathEntries) -> Self {
        Self {
            wanted,
            room: PathEntries::new(),
        }
    }
}

impl EntryChanges {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// All of it.
    pub fn all(&self) -> PathEntries {
        let mut all = self.room.clone();
        all.extend(self.wanted.clone());
        all
    }

    /// Takes out what this index cannot have beside the entries that come. What had to give way in another one does not count: somebody
    /// staged something since.
    pub(super) fn make_room(&mut self, now: &Index) {
        let mut in_the_way: BTreeMap<Vec<u8>, BTreeSet<u8>> = BTreeMap::new();
        for (path, coming) in &self.wanted {
            for (other, stages) in in_its_place(now, path, coming) {
                in_the_way.entry(other).or_default().extend(stages);
            }
        }
        let left = in_the_way.into_iter().map(|(path, stages)| {
            let stays = |entry: &&Entry| !stages.contains(&entry.stage);
            let left = now.stages(&path).iter().filter(stays).cloned().collect();
            (path, left)
        });
        self.room = left.collect();
    }
}

/// What an index cannot have beside entries that come, with its stages: a file where they need a directory, and the other way round. git
/// writes no tree of such an index. The stages of a conflict may stand beside what was merged, as git has it.
pub fn in_its_place(now: &Index, path: &[u8], coming: &[Entry]) -> Vec<(Vec<u8>, BTreeSet<u8>)> {
    let over = path::with_parents(path::split(path).0).filter(|dir| now.has_path(dir));
    let beneath = path::join(path, b"");
    let (Ok(from) | Err(from)) = now.position(&beneath, 0);
    let within = now.entries().iter().skip(from).map(|entry| now.path(entry));
    let within = within.take_while(|other| other.starts_with(&beneath));
    let others: BTreeSet<&[u8]> = over.chain(within).collect();
    let clashing = others.into_iter().map(|other| {
        let stages = now.stages(other).iter().map(|entry| entry.stage);
        let clash = stages.filter(|stage| coming.iter().any(|entry| entry.stage == *stage));
        (other.to_vec(), clash.collect::<BTreeSet<u8>>())
    });
    clashing.filter(|(_, clash)| !clash.is_empty()).collect()
}

fn entry(value: &Value) -> Option<Entry> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let mode = u32::from_str_radix(text("mode")?, 8).ok()?;
    let mut entry = Entry::new(mode, Oid::from_hex(text("oid")?).ok()?);
    entry.stage = u8::try_from(value.get("stage")?.as_u64()?)
        .ok()
        .filter(|stage| *stage <= 3)?;
    for flag in value.get("flags")?.as_array()? {
        let (_, flag) = FLAGS
            .iter()
            .find(|(name, _)| Some(*name) == flag.as_str())?;
        entry.flags = entry.flags | *flag;
    }
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::index::Builder;

    /// Between two looks of one swap somebody may stage something.
    #[test]
    fn what_gave_way_in_an_earlier_look_does_not_come_back() {
        let oid = |digit: &str| Oid::from_hex(&digit.repeat(40)).expect("an id");
        let index = |entries: &[(&[u8], u8)]| {
            let mut builder = Builder::new(crate::git::ObjectFormat::Sha1);
            for (path, stage) in entries {
                let mut entry = Entry::new(0o100_644, oid("a"));
                entry.stage = *stage;
                builder.push(path, entry).expect("small");
            }
            builder.finish()
        };
        let coming = PathEntries::from([(b"x".to_vec(), vec![Entry::new(0o100_644, oid("b"))])]);
        let mut changes = EntryChanges::from(coming);
        changes.make_room(&index(&[(b"x/in", 0), (b"x/un", 0), (b"x/un", 2)]));
        let left = |changes: &EntryChanges| -> Vec<(Vec<u8>, usize)> {
            let all = changes.all().into_iter();
            all.map(|(path, entries)| (path, entries.len())).collect()
        };
        let (x, inner, conflict) = (b"x".to_vec(), b"x/in".to_vec(), b"x/un".to_vec());
        assert_eq!(
            left(&changes),
            [(x.clone(), 1), (inner.clone(), 0), (conflict, 1)]
        );
        changes.make_room(&index(&[(b"x/in", 0), (b"x/un", 3)]));
        assert_eq!(left(&changes), [(x, 1), (inner, 0)]);
    }

    #[test]
    fn both_sides_come_back_from_the_journal() {
        let oid = |digit: &str| Oid::from_hex(&digit.repeat(40)).expect("an id");
        let staged = |stage: u8| {
            let mut entry = Entry::new(0o100_755, oid("b"));
            entry.stage = stage;
            entry
        };
        let mut builder = Builder::new(crate::git::ObjectFormat::Sha1);
        let mut plain = Entry::new(0o100_644, oid("a"));
        plain.flags = Flags::SKIP_WORKTREE | Flags::ASSUME_VALID;
        builder.push(b"x", plain).expect("small");
        let after = PathEntries::from([
            (b"x".to_vec(), vec![staged(1), staged(3)]),
            (b"\xff".to_vec(), Vec::new()),
        ]);
        let value = stored(&builder.finish(), &after);
        let entries = value.as_array().expect("a list").iter().map(|item| {
            let list = |side: &str| -> Vec<(u32, u8, bool)> {
                let list = item[side].as_array().expect("a list").iter();
                list.map(|value| entry(value).expect("an entry"))
                    .map(|entry| {
                        (
                            entry.mode,
                            entry.stage,
                            entry.flags.contains(Flags::SKIP_WORKTREE),
                        )
                    })
                    .collect()
            };
            (list("before"), list("after"))
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort();
        let x = (
            vec![(0o100_644, 0, true)],
            vec![(0o100_755, 1, false), (0o100_755, 3, false)],
        );
        assert_eq!(entries, [(Vec::new(), Vec::new()), x]);
        assert!(entry(&json!({"mode": "100644", "oid": "zz", "stage": 0, "flags": []})).is_none());
    }
}
