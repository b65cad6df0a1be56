//! A stack that is held, and changed in one step.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use super::block::{Section, push_text, push_varint};
use super::stack::Named;
use super::table::Table;
use super::write::{BLOCK_SIZE, Plan, table};
use super::{DIR, LogEntry, Record, Stack, View, corrupt, kind};
use crate::env::fail_point;
use crate::error::{Result, ResultExt};
use crate::git::fs::{Below, Durable, clear_dead_temps, entries, remove_optional, write_atomic_by};
use crate::git::liveness::Flush;
use crate::git::refs::lock::{LockError, LockFile, Locking, lock_path};
use crate::git::refs::loose::Value;

/// How long SHA-1's ids are.
const SHA1: usize = 20;
/// So much longer than its parts a record can be, headers of its block included.
const ROOM: usize = 128;

/// A stack that nobody else changes until this is dropped.
#[derive(Debug)]
pub(in crate::git::refs) struct Held {
    stack: Arc<Stack>,
    view: View,
    changes: BTreeMap<Vec<u8>, Change>,
    logs: Vec<(String, LogEntry)>,
    /// Refs whose logs go.
    forgotten: Vec<String>,
    _lock: LockFile,
}

/// What becomes of a ref.
#[derive(Debug)]
enum Change {
    Set(Value),
    Delete,
}

impl Held {
    /// Takes git's lock of the stack, and looks at it.
    pub(in crate::git::refs) fn take(
        stack: Arc<Stack>,
        locking: &mut Locking,
    ) -> std::result::Result<Self, LockError> {
        let lock = locking.take(stack.dir(), &stack.list(), b"")?;
        Ok(Self {
            view: stack.view().map_err(LockError::Io)?,
            stack,
            changes: BTreeMap::new(),
            logs: Vec::new(),
            forgotten: Vec::new(),
            _lock: lock,
        })
    }

    /// What it says, before any change.
    pub(in crate::git::refs) fn view(&self) -> &View {
        &self.view
    }

    /// Puts a ref to a value.
    pub(in crate::git::refs) fn set(&mut self, name: &str, value: Value) {
        let name = name.as_bytes().to_vec();
        self.changes.insert(name, Change::Set(value));
    }

    /// Removes a ref and its log.
    pub(in crate::git::refs) fn delete(&mut self, name: &str) {
        self.forget_log(name);
        let name = name.as_bytes().to_vec();
        self.changes.insert(name, Change::Delete);
    }

    /// Adds an entry to a ref's log, whether or not there is one.
    pub(in crate::git::refs) fn log(&mut self, name: &str, entry: LogEntry) {
        self.logs.push((name.to_owned(), entry));
    }

    /// Removes a ref's log.
    pub(in crate::git::refs) fn forget_log(&mut self, name: &str) {
        self.forgotten.push(name.to_owned());
    }

    /// Makes the changes, all in one moment. Nothing to change is nothing to write.
    ///
    /// # Errors
    /// A record that is too long, tables that cannot be read, a disk that refuses. Then nothing has changed.
    pub(in crate::git::refs) fn commit(self, flush: Flush) -> Result<()> {
        fail_point("refs-locked");
        if self.changes.is_empty() && self.logs.is_empty() && self.forgotten.is_empty() {
            return Ok(());
        }
        let tables = &self.view.tables;
        let newest = tables.last().map_or(0, |(_, table)| table.last_update);
        let update = newest
            .checked_add(1)
            .ok_or_else(|| corrupt("no update is left"))?;
        let mut new = Content::default();
        let width = self.width();
        self.describe((update, width), &mut new)?;
        let (kept, folded) = tables.split_at(self.unfolded(new.size()));
        let mut content = Content::default();
        for (_, table) in folded {
            content.take_in(table)?;
        }
        content.refs.append(&mut new.refs);
        content.logs.append(&mut new.logs);
        if kept.is_empty() {
            content.forget_deleted();
        }
        let first = folded
            .first()
            .map_or(update, |(_, table)| table.first_update);
        let mut names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
        let written = self.write_table(&content, (first, update), folded)?;
        names.extend(written.as_deref());
        fail_point("ref-placed");
        let mut list = names.join("\n");
        list.push('\n');
        let durable = match flush {
            Flush::Yes => Durable::Yes,
            Flush::No => Durable::No,
        };
        self.write(&self.stack.list(), list.as_bytes(), durable)?;
        fail_point("refs-placed");
        self.remove_unnamed(&names);
        Ok(())
    }

    /// Removes the tables that the list does not name: those that were folded, and what was left by somebody who died
    /// before the list had it. Tables are given their names under the lock alone. Whoever still reads one has it open, or
    /// reads the list again; one that cannot be removed now can be next time.
    fn remove_unnamed(&self, names: &[&str]) {
        for entry in std::fs::read_dir(self.stack.dir())
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name();
            let is_table = name.as_encoded_bytes().ends_with(b".ref");
            if is_table && !names.iter().any(|known| name == *known) {
                let _ = remove_optional(&entry.path());
            }
        }
    }

    /// How many tables stay as they are: all but the last ones that are not twice as large as what comes after them.
    fn unfolded(&self, new: u64) -> usize {
        let mut total = new;
        let mut count = self.view.tables.len();
        for (name, table) in self.view.tables.iter().rev() {
            let lock = lock_path(&self.stack.dir().join(name));
            // git holds this while it folds the table itself, and could not end otherwise.
            let is_locked = lock.symlink_metadata().is_ok();
            if is_locked || table.size >= total.saturating_mul(2) {
                break;
            }
            total += table.size;
            count -= 1;
        }
        count
    }

    /// The changes as records.
    fn describe(&self, (update, width): (u64, usize), new: &mut Content) -> Result<()> {
        for (name, change) in &self.changes {
            let (kind, body) = match change {
                // A table with ids of two widths could not be read any more.
                Change::Set(Value::Direct(oid)) if oid.as_bytes().len() != width => {
                    return Err(corrupt("an id of another format"));
                }
                Change::Set(Value::Direct(oid)) => (kind::OID, oid.as_bytes().to_vec()),
                Change::Set(Value::Symbolic(target)) => {
                    let mut body = Vec::new();
                    push_text(&mut body, target.as_bytes());
                    (kind::SYMBOLIC, body)
                }
                Change::Delete => (kind::DELETED, Vec::new()),
            };
            let record = Record {
                update,
                ..record(name.clone(), kind, body)
            };
            new.refs.insert(name.clone(), record);
        }
        for name in &self.forgotten {
            for key in self.view.log_keys(name)? {
                let gone = record(key.clone(), kind::DELETED, Vec::new());
                new.logs.insert(key, gone);
            }
        }
        for (name, entry) in &self.logs {
            let mut key = name.as_bytes().to_vec();
            key.push(0);
            key.extend_from_slice(&(u64::MAX - update).to_be_bytes());
            let record = record(key.clone(), kind::OID, log_body(entry, width));
            new.logs.insert(key, record);
        }
        Ok(())
    }

    /// Writes the one table that has all this. `None`: it would be empty.
    fn write_table(
        &self,
        content: &Content,
        (first, last): (u64, u64),
        folded: &[Named],
    ) -> Result<Option<String>> {
        if content.refs.is_empty() && content.logs.is_empty() {
            return Ok(None);
        }
        let sizes = folded.iter().map(|(_, table)| table.block_size);
        let block_size = sizes.chain([BLOCK_SIZE, content.longest() + ROOM]).max();
        let refs: Vec<Record> = content.refs.values().cloned().collect();
        let logs: Vec<Record> = content.logs.values().cloned().collect();
        let bytes = table(&Plan {
            width: self.width(),
            block_size: block_size.unwrap_or(BLOCK_SIZE),
            first_update: first,
            last_update: last,
            refs: &refs,
            logs: &logs,
        })?;
        let random = getrandom::u32().map_err(|error| corrupt(&error.to_string()))?;
        let name = format!("0x{first:012x}-0x{last:012x}-{random:08x}.ref");
        self.write(&self.stack.dir().join(&name), &bytes, Durable::No)?;
        Ok(Some(name))
    }

    /// How long ids are: as in the tables there are, or as the first id here.
    fn width(&self) -> usize {
        let known = self.view.tables.first().map(|(_, table)| table.width);
        let mut changes = self.changes.values();
        known.unwrap_or_else(|| {
            let oid = changes.find_map(|change| match change {
                Change::Set(Value::Direct(oid)) => Some(*oid),
                Change::Set(Value::Symbolic(_)) | Change::Delete => None,
            });
            oid.map_or(SHA1, |oid| oid.as_bytes().len())
        })
    }

    /// Writes a file whose bytes are on disk before it has its name.
    fn write(&self, path: &Path, bytes: &[u8], durable: Durable) -> Result<()> {
        let mode = std::fs::metadata(self.stack.list()).map_or(0o644, |meta| meta.mode() & 0o777);
        write_atomic_by(path, durable, mode, &mut |file| {
            file.write_all(bytes)?;
            match durable {
                Durable::Yes => Ok(()),
                Durable::No => file.sync_data(),
            }
        })
    }
}

fn record(key: Vec<u8>, kind: u8, body: Vec<u8>) -> Record {
    Record {
        key,
        kind,
        update: 0,
        body,
    }
}

fn log_body(entry: &LogEntry, width: usize) -> Vec<u8> {
    let mut body = Vec::with_capacity(2 * width + entry.message.len() + 64);
    for oid in [entry.old, entry.new] {
        match oid {
            Some(oid) => body.extend_from_slice(oid.as_bytes()),
            None => body.resize(body.len() + width, 0),
        }
    }
    push_text(&mut body, b"timewarp");
    push_text(&mut body, b"timewarp@localhost");
    push_varint(&mut body, u64::try_from(entry.at).unwrap_or_default());
    // The zone.
    body.extend_from_slice(&[0, 0]);
    push_text(&mut body, format!("{}\n", entry.message).as_bytes());
    body
}

/// The records of a table, by key.
#[derive(Default)]
struct Content {
    refs: BTreeMap<Vec<u8>, Record>,
    logs: BTreeMap<Vec<u8>, Record>,
}

impl Content {
    /// Adds the records of a table that is newer than what there is.
    fn take_in(&mut self, table: &Table) -> Result<()> {
        for (section, into) in [
            (Section::Refs, &mut self.refs),
            (Section::Logs, &mut self.logs),
        ] {
            let mut records = table.seek(section, b"")?;
            while records.advance()? {
                let record = records.record()?;
                into.insert(record.key.clone(), record);
            }
        }
        Ok(())
    }

    fn forget_deleted(&mut self) {
        for records in [&mut self.refs, &mut self.logs] {
            records.retain(|_, record| record.kind != kind::DELETED);
        }
    }

    fn all(&self) -> impl Iterator<Item = &Record> {
        self.refs.values().chain(self.logs.values())
    }

    /// About how large the table will be.
    fn size(&self) -> u64 {
        let sizes = self
            .all()
            .map(|record| record.key.len() + record.body.len());
        sizes.sum::<usize>() as u64 + ROOM as u64
    }

    fn longest(&self) -> usize {
        let sizes = self
            .all()
            .map(|record| record.key.len() + record.body.len());
        sizes.max().unwrap_or_default()
    }
}

/// Removes the unfinished files that the dead left in all stacks of a repository.
///
/// # Errors
/// One cannot be removed, or the worktrees cannot be listed.
pub(in crate::git::refs) fn clear_unfinished(common_dir: &Path) -> Result<()> {
    let worktrees = entries(&common_dir.join("worktrees"))?;
    for git_dir in [common_dir.to_owned()].into_iter().chain(worktrees) {
        clear_dead_temps(&git_dir.join(DIR), Below::Not)?;
    }
    Ok(())
}

/// Brings a stack to disk: its tables, its list, and their names.
///
/// # Errors
/// The disk refuses.
pub(in crate::git::refs) fn sync(stack: &Stack) -> Result<()> {
    let what = || format!("syncing '{}'", stack.dir().display());
    let synced = || -> Result<()> {
        for (name, _) in stack.view()?.tables {
            match crate::git::regular::open(stack.dir().join(name)) {
                // Folded into one that is.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                other => other?.sync_all()?,
            }
        }
        crate::git::regular::open(stack.list())?.sync_all()?;
        crate::git::fs::sync_dir(stack.dir())?;
        Ok(())
    };
    synced().context(what)
}
