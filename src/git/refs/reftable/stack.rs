//! A stack of tables as it is at one moment, and what it says.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::block::{Cursor, Section};
use super::table::Table;
use super::{DIR, LIST, corrupt, kind};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::head::not_utf8;
use crate::git::refs::loose::Value;
use crate::git::regular;

/// More than any list of names can need.
const LONGEST_LIST: u64 = 1 << 20;
/// How often a list is read again whose tables are gone.
const TRIES: u32 = 10;

/// One worktree's stack. Reads it afresh each time; what stays open are tables, which never change.
#[derive(Debug)]
pub(in crate::git::refs) struct Stack {
    dir: PathBuf,
    open: Mutex<Vec<Named>>,
}

/// A table and the name that the list has for it.
pub(super) type Named = (String, Arc<Table>);

impl Stack {
    /// The stack in a git directory.
    pub(in crate::git::refs) fn new(git_dir: &Path) -> Self {
        Self {
            dir: git_dir.join(DIR),
            open: Mutex::default(),
        }
    }

    /// Where its tables are.
    pub(in crate::git::refs) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What names its tables.
    pub(in crate::git::refs) fn list(&self) -> PathBuf {
        self.dir.join(LIST)
    }

    /// The stack as it is now.
    ///
    /// # Errors
    /// `CorruptRecord` when a table is none, or none of its name is there.
    pub(in crate::git::refs) fn view(&self) -> Result<View> {
        for again in 0..TRIES {
            let names = self.names()?;
            if let Some(tables) = self.tables(&names)? {
                return Ok(View { tables });
            }
            // Folded between two looks. Somebody who does that again and again is waited for a little.
            std::thread::sleep(Duration::from_millis(u64::from(again)));
        }
        let list = self.list();
        let message = format!("'{}' names a table that is not there", list.display());
        Err(Error::new(Code::CorruptRecord, message))
    }

    fn names(&self) -> Result<Vec<String>> {
        let list = self.list();
        let what = || format!("reading '{}'", list.display());
        let bytes = match regular::read_within(&list, LONGEST_LIST) {
            // git, too, takes a stack that was never written for an empty one.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.context(what)?,
        };
        let lines = bytes.split(|byte| *byte == b'\n');
        lines
            .filter(|line| !line.is_empty())
            .map(|line| {
                let name = std::str::from_utf8(line).ok();
                let name = name.filter(|name| !name.contains('/') && !name.starts_with('.'));
                name.map(str::to_owned)
                    .ok_or_else(|| corrupt("an invalid name of a table"))
                    .context(what)
            })
            .collect()
    }

    /// The tables of these names; `None` when one is gone.
    fn tables(&self, names: &[String]) -> Result<Option<Vec<Named>>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tables = Vec::with_capacity(names.len());
        for name in names {
            let known = open.iter().find(|(known, _)| known == name);
            let table = match known {
                Some((_, table)) => Arc::clone(table),
                None => match Table::open(&self.dir.join(name)) {
                    Ok(table) => Arc::new(table?),
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                    Err(error) => return Err(error).context(|| format!("opening '{name}'")),
                },
            };
            tables.push((name.clone(), table));
        }
        open.clone_from(&tables);
        Ok(Some(tables))
    }
}

/// A stack at one moment: its tables, oldest first.
#[derive(Debug)]
pub(in crate::git::refs) struct View {
    pub(super) tables: Vec<Named>,
}

/// A move of a ref, as its log has it. `None`: it was not there, or is not any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::git) struct LogEntry {
    /// What it was.
    pub(in crate::git) old: Option<Oid>,
    /// What it was then.
    pub(in crate::git) new: Option<Oid>,
    /// When, in seconds.
    pub(in crate::git) at: i64,
    /// What moved it.
    pub(in crate::git) message: String,
}

impl View {
    /// What a ref itself says.
    ///
    /// # Errors
    /// A table that is damaged.
    pub(in crate::git::refs) fn find(&self, name: &str) -> Result<Option<Value>> {
        for (_, table) in self.tables.iter().rev() {
            let mut records = table.seek(Section::Refs, name.as_bytes())?;
            if records.advance()? && records.key() == name.as_bytes() {
                let (kind, body) = records.value();
                return value(name, kind, body, table.width).transpose();
            }
        }
        Ok(None)
    }

    /// When the table that says what a ref is was written, in seconds. Tables that were folded into one count from then on.
    pub(in crate::git::refs) fn written_at(&self, name: &str) -> Option<i64> {
        for (_, table) in self.tables.iter().rev() {
            let mut records = table.seek(Section::Refs, name.as_bytes()).ok()?;
            if records.advance().ok()? && records.key() == name.as_bytes() {
                return table.written_at();
            }
        }
        None
    }

    /// The refs whose names begin with `prefix`, sorted. Names that are not UTF-8 are nobody's here.
    ///
    /// # Errors
    /// A table that is damaged.
    pub(in crate::git::refs) fn list(&self, prefix: &str) -> Result<Vec<(String, Result<Value>)>> {
        let mut found = BTreeMap::new();
        for (_, table) in &self.tables {
            let mut records = table.seek(Section::Refs, prefix.as_bytes())?;
            while records.advance()? && records.key().starts_with(prefix.as_bytes()) {
                let Ok(name) = std::str::from_utf8(records.key()) else {
                    continue;
                };
                let (kind, body) = records.value();
                let value = value(name, kind, body, table.width);
                found.insert(name.to_owned(), value);
            }
        }
        let there = found.into_iter();
        Ok(there
            .filter_map(|(name, value)| Some((name, value?)))
            .collect())
    }

    /// The log of a ref, oldest entry first.
    ///
    /// # Errors
    /// A table that is damaged.
    pub(in crate::git::refs) fn log(&self, name: &str) -> Result<Vec<LogEntry>> {
        let mut entries: BTreeMap<Vec<u8>, Option<LogEntry>> = BTreeMap::new();
        self.each_log(name, |key, entry| {
            entries.insert(key.to_vec(), entry);
        })?;
        // The key counts down.
        Ok(entries.into_values().rev().flatten().collect())
    }

    /// Whether a ref has a log, be it an empty one.
    ///
    /// # Errors
    /// A table that is damaged.
    pub(in crate::git::refs) fn has_log(&self, name: &str) -> Result<bool> {
        Ok(!self.log_keys(name)?.is_empty())
    }

    /// The keys of the entries of a ref's log.
    pub(super) fn log_keys(&self, name: &str) -> Result<Vec<Vec<u8>>> {
        let mut keys: BTreeMap<Vec<u8>, bool> = BTreeMap::new();
        for (_, table) in &self.tables {
            let prefix = log_prefix(name);
            let mut records = table.seek(Section::Logs, &prefix)?;
            while records.advance()? && records.key().starts_with(&prefix) {
                let is_there = records.value().0 != kind::DELETED;
                keys.insert(records.key().to_vec(), is_there);
            }
        }
        let there = keys.into_iter().filter(|(_, is_there)| *is_there);
        Ok(there.map(|(key, _)| key).collect())
    }

    fn each_log(&self, name: &str, mut see: impl FnMut(&[u8], Option<LogEntry>)) -> Result<()> {
        let prefix = log_prefix(name);
        for (_, table) in &self.tables {
            let mut records = table.seek(Section::Logs, &prefix)?;
            while records.advance()? && records.key().starts_with(&prefix) {
                let entry = match records.value() {
                    (kind::DELETED, _) => None,
                    (_, body) => log_entry(body, table.width)?,
                };
                see(records.key(), entry);
            }
        }
        Ok(())
    }
}

/// How the keys of a ref's log begin.
fn log_prefix(name: &str) -> Vec<u8> {
    [name.as_bytes(), b"\0"].concat()
}

/// What a record says; `None` that there is no such ref.
fn value(name: &str, kind: u8, body: &[u8], width: usize) -> Option<Result<Value>> {
    match kind {
        kind::DELETED => None,
        kind::SYMBOLIC => {
            let symbolic = |target| match std::str::from_utf8(target) {
                Ok(target) => Ok(Value::Symbolic(target.to_owned())),
                Err(_) => Err(not_utf8(name, target)),
            };
            Some(Cursor(body).text().and_then(symbolic))
        }
        _ => {
            let oid = oid(body.get(..width).unwrap_or_default());
            Some(match oid {
                Ok(oid) if !oid.is_null() => Ok(Value::Direct(oid)),
                _ => Err(Error::new(
                    Code::CorruptRecord,
                    format!("ref '{name}' is broken"),
                )),
            })
        }
    }
}

fn oid(bytes: &[u8]) -> Result<Oid> {
    Oid::from_bytes(bytes).map_err(|_| corrupt("an invalid id"))
}

/// `None`: an entry that says only that there is a log.
fn log_entry(body: &[u8], width: usize) -> Result<Option<LogEntry>> {
    let mut cursor = Cursor(body);
    let old = oid(cursor.take(width)?)?;
    let new = oid(cursor.take(width)?)?;
    let (_name, _email) = (cursor.text()?, cursor.text()?);
    let at = i64::try_from(cursor.varint()?).unwrap_or(i64::MAX);
    let _zone = cursor.take(2)?;
    let message = String::from_utf8_lossy(cursor.text()?);
    if old.is_null() && new.is_null() {
        return Ok(None);
    }
    Ok(Some(LogEntry {
        old: (!old.is_null()).then_some(old),
        new: (!new.is_null()).then_some(new),
        at,
        message: message.trim_end_matches('\n').to_owned(),
    }))
}
