//! How an entry is told in a few characters.

use crate::env::Moment;
use crate::ops::timeline::{Entry, EntryKind};

/// Its kind in a word.
pub fn word(entry: &Entry) -> &'static str {
    match entry.kind {
        EntryKind::Snapshot => "snapshot",
        EntryKind::Prompt => "prompt",
        EntryKind::TurnEnd => "end of turn",
        EntryKind::Swap => "swap",
        EntryKind::Issue => "issue",
    }
}

/// `15:30` today, else `02-27 15:30`, in this machine's zone.
pub fn when(now: Moment, at: &str) -> String {
    let Some(then) = Moment::parse_rfc3339(at) else {
        return String::new();
    };
    let (now, then) = (now.local(), then.local());
    let part = if now.get(..10) == then.get(..10) {
        then.get(11..16)
    } else {
        then.get(5..16)
    };
    part.unwrap_or_default().to_owned()
}

/// `3 files +10 -2` as far as it is known.
pub fn counts(entry: &Entry) -> String {
    match (entry.files, entry.insertions, entry.deletions) {
        (Some(0), ..) => String::new(),
        (Some(files), Some(more), Some(less)) => format!("{files}f +{more} -{less}"),
        _ => String::new(),
    }
}

/// The part of an id that a person types: its last characters.
pub fn short(id: &str) -> &str {
    let from = id.len().saturating_sub(6);
    id.get(from..).unwrap_or(id)
}
