//! What a rollout goes on from. A session that Codex itself forked has only what came after in its file, and so has the segment in which
//! a thread goes on: the head names the rollout that holds the rest, and where in it that ends (`history_base`); that one may name another.
//!
//! Such a beginning is read, never copied: Codex resumes a session by the same names. Where one is gone or is not what it was,
//! the reason is told, and nothing is guessed.

use std::collections::HashSet;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::place::{self, how_to_unpack, id_of, is_compressed, own_id_of};
use crate::agents::lines::{self, Lines};
use crate::agents::value::{owned, text};
use crate::git::regular;

/// The beginning of an older rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The rollout.
    pub path: PathBuf,
    /// Where the stretch ends, in bytes: after a line.
    pub end: u64,
}

/// What the head of a rollout says.
struct Base {
    /// The last id in the name of the rollout.
    rollout: String,
    ordinal: u64,
    end: u64,
}

/// The stretches that precede the rollout at `path`, oldest first: none for most. The error is why they cannot be read.
pub fn stretches(path: &Path) -> std::result::Result<Vec<Stretch>, String> {
    let Some(head) = head(path) else {
        return Ok(Vec::new());
    };
    let mut next = base(&head)?;
    if next.is_none() {
        return Ok(Vec::new());
    }
    let rollouts = place::named_beside(path);
    let mut seen: HashSet<String> = own_id_of(path).into_iter().collect();
    let mut found = Vec::new();
    while let Some(base) = next {
        if !seen.insert(base.rollout.clone()) {
            return Err("its rollouts go on from each other in a circle".to_owned());
        }
        let wrong =
            |how: &str| format!("the rollout '{}' that it goes on from {how}", base.rollout);
        let file = rollouts.get(&base.rollout).cloned();
        let file = file.ok_or_else(|| wrong("is gone"))?;
        if is_compressed(&file) {
            return Err(wrong(&format!("is compressed: {}", how_to_unpack(&file))));
        }
        let older = head_of(&file)
            .filter(|_| ends_there(&file, &base).unwrap_or(false))
            .ok_or_else(|| wrong("is not what it was"))?;
        next = self::base(&older)?;
        found.push(Stretch {
            path: file,
            end: base.end,
        });
    }
    found.reverse();
    Ok(found)
}

/// What the head of a rollout has for its session.
fn head(path: &Path) -> Option<Value> {
    let mut reader = lines::open(path, None).ok()?;
    let mut record = reader.next_line().ok()??.object()?;
    let is_head = text(&record, "type") == Some("session_meta");
    is_head.then(|| record.get_mut("payload").map(Value::take))?
}

fn head_of(path: &Path) -> Option<Value> {
    let thread = id_of(path);
    head(path).filter(|head| text(head, "id") == thread.as_deref())
}

fn base(head: &Value) -> std::result::Result<Option<Base>, String> {
    let Some(base) = head.get("history_base").filter(|base| !base.is_null()) else {
        return Ok(None);
    };
    let number = |key: &str| base.get(key).and_then(Value::as_u64);
    let read = || {
        Some(Base {
            rollout: owned(base, "thread_id")?,
            ordinal: number("end_ordinal_exclusive")?,
            end: number("end_byte_offset").filter(|end| *end > 0)?,
        })
    };
    let unread = || "its head does not say what it goes on from in a way that is known".to_owned();
    read().map(Some).ok_or_else(unread)
}

/// Whether a line of `path` ends where the base does, and the next one, if there is any, is numbered as one behind it.
fn ends_there(path: &Path, base: &Base) -> std::io::Result<bool> {
    let mut file = regular::open(path)?;
    if file.metadata()?.len() < base.end {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(base.end - 1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    let mut rest = Lines::new(BufReader::new(file));
    let next = rest.next_line()?.and_then(|line| line.object());
    let number = next.and_then(|row| row.get("ordinal")?.as_u64());
    Ok(last == *b"\n" && number.is_none_or(|number| number >= base.ordinal))
}
