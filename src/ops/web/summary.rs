//! An entry without what somebody asked an agent.

use crate::ops::timeline::{Entry, EntryKind, MadeBy};
use crate::store::trigger::{SwapKind, Trigger};

/// Whether this makes a snapshot whose title its author chose, or that says what was done.
fn titles_itself(trigger: &Trigger) -> bool {
    use SwapKind::{Return, Travel};
    matches!(trigger, Trigger::Manual | Trigger::Swap(Travel | Return))
}

/// Takes a prompt out of an entry, and every title that may have come from one. True when there was something to take.
pub fn without_prompts(entry: &mut Entry) -> bool {
    let operation = entry.operation.as_ref().map_or("", MadeBy::as_str);
    let keeps = match entry.kind {
        EntryKind::Prompt => false,
        EntryKind::Snapshot => entry.trigger().is_some_and(titles_itself),
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
