//! A session file that is one JSON document with its messages in an array.

use std::ops::Range;
use std::path::Path;

use serde_json::Value;

use super::fork::span;
use super::lines;
use super::transcript::Position;
use crate::error::Result;
use crate::git::regular;
use crate::text::foreign_json;

/// A document: its bytes, and where its messages stand.
pub struct Document {
    /// The bytes of the file.
    pub text: Vec<u8>,
    /// Where each message stands in it.
    pub messages: Vec<Range<usize>>,
}

impl Document {
    /// Reads the document at `path`.
    ///
    /// # Errors
    /// `TRANSCRIPT_NOT_FOUND` when it is not there, or cannot be read.
    pub fn load(path: &Path) -> Result<Self> {
        let text = regular::read(path).map_err(|error| lines::cannot_open(path, error))?;
        let messages = span::find(&text, &["messages"])
            .map(|range| span::elements(&text, range))
            .unwrap_or_default();
        Ok(Self { text, messages })
    }

    /// The value at a path of keys.
    pub fn value(&self, path: &[&str]) -> Option<Value> {
        let range = span::find(&self.text, path)?;
        foreign_json::from_slice(self.text.get(range)?).ok()
    }
}

/// The position of byte `to`, counted on from an earlier one.
pub fn advance(text: &[u8], from: Position, to: usize) -> Position {
    let start = usize::try_from(from.offset).unwrap_or(usize::MAX);
    let passed = text.get(start..to).unwrap_or_default();
    let lines = passed
        .split(|&byte| byte == b'\n')
        .count()
        .saturating_sub(1);
    Position {
        line: from.line + lines as u64,
        offset: to as u64,
    }
}
