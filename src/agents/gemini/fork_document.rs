//! Checks a fork that is one document: Gemini's older format.

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;

use crate::agents::document::Document;
use crate::agents::fork::validate::{Validation, invalid};
use crate::agents::fork::{KeyPath, span};
use crate::agents::gemini::record::calls;
use crate::agents::lines::parse_object;
use crate::agents::value::{items, owned};
use crate::error::Result;

const SESSION: KeyPath = &["sessionId"];

/// Checks the document `fork` against the one that it was made from: the same text around the same messages, some left out.
pub fn validate(original: &Path, fork: &Path) -> Result<Validation> {
    let wrong = |what: &str| invalid(fork, what);
    let (old, new) = (Document::load(original)?, Document::load(fork)?);
    let Some(record) = parse_object(&new.text) else {
        return Err(wrong("unreadable"));
    };
    if around(&old) != around(&new) {
        return Err(wrong("another text around the messages"));
    }
    let mut rest = old.messages.iter();
    for range in &new.messages {
        let wanted = new.text.get(range.clone());
        if !rest.any(|range| old.text.get(range.clone()) == wanted) {
            return Err(wrong("not a message of the original, or out of order"));
        }
    }
    let messages = items(record.get("messages"));
    let mut ids = HashSet::new();
    let mut count = 0;
    for message in messages {
        if let Some(id) = owned(message, "id")
            && !ids.insert(id.clone())
        {
            return Err(wrong(&format!("id '{id}' appears twice")));
        }
        for call in calls(message) {
            count += 1;
            if call.get("result").is_none_or(Value::is_null) {
                return Err(wrong("a tool call without its result"));
            }
        }
    }
    Ok(Validation {
        lines: messages.len() as u64,
        ids: ids.len() as u64,
        calls: count,
    })
}

/// The text before and after the messages, without the session's id.
fn around(document: &Document) -> Vec<u8> {
    let text = &document.text;
    let inside = match (document.messages.first(), document.messages.last()) {
        (Some(first), Some(last)) => first.start..last.end,
        _ => 0..0,
    };
    let id = span::find(text, SESSION).unwrap_or(0..0);
    let outside = |at: usize, range: &Range<usize>| !range.contains(&at);
    text.iter()
        .enumerate()
        .filter(|(at, _)| outside(*at, &inside) && outside(*at, &id))
        .map(|(_, &byte)| byte)
        .collect()
}
