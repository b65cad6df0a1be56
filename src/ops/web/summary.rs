//! An entry without what somebody asked an agent.

use crate::ops::timeline::{Entry, EntryKind};

/// What made a snapshot whose title its author chose, or that says what was done.
const OWN_TITLES: [&str; 3] = ["manual", "travel", "return"];

/// Takes a prompt out of an entry, and every title that may have come from one. True when there was something to take.
pub fn without_prompts(entry: &mut Entry) -> bool {
    let operation = entry.operation.as_deref().unwrap_or_default();
    let keeps = match entry.kind {
        EntryKind::Prompt => false,
        EntryKind::Snapshot => OWN_TITLES.contains(&operation),
        // These say what was done, and with which snapshot.
        EntryKind::TurnEnd | EntryKind::Swap => true,
        // An issue's text was written to be read by others; the task that it came from was not.
        EntryKind::Issue => true,
    };
    entry.text.clear();
    if keeps || entry.title == operation {
        return false;
    }
    entry.title = match (entry.kind, operation) {
        (EntryKind::Prompt, _) | (_, "") => "(prompt left out)".to_owned(),
        (_, operation) => operation.to_owned(),
    };
    true
}
