//! What the body of a note says, and what is said of one that says nothing.

use serde_json::Value;

use super::{Json, VERSION};
use crate::error::{Code, Error, Result};
use crate::store::names::Record;
use crate::text::without_mark;

/// Reads the body of a note.
///
/// # Errors
/// `ISSUE_INVALID` when it is JSON and no issue, where it should be one; `CORRUPT_RECORD` for other records, and for what is no JSON;
/// `NEWER_RECORD`.
pub fn decode(name: &Record, body: &[u8]) -> Result<Json> {
    let json: Json = serde_json::from_slice(without_mark(body)).map_err(|error| {
        let what = format!("it is not a JSON object: {error}");
        if error.is_data() {
            invalid(name, &what)
        } else {
            corrupt(name, &what)
        }
    })?;
    match json.get("version").and_then(Value::as_u64) {
        None => Err(invalid(name, "it has no version")),
        Some(version) if version > VERSION => {
            let message = format!("{name} was written by a newer tw (version {version})");
            Err(Error::new(Code::NewerRecord, message).hint("upgrade tw"))
        }
        Some(_) => Ok(json),
    }
}

/// The error of a note that is not to be changed. The usual hint for the code says what to do.
pub fn left_alone((code, message): &(Code, String)) -> Error {
    Error::new(*code, format!("{message}; it is left alone"))
}

/// The error of JSON that is no record of that kind. Issues alone have a code for that.
fn invalid(name: &Record, what: &str) -> Error {
    let code = match name {
        Record::Issue(_) => Code::IssueInvalid,
        Record::Chat(_) | Record::Session(_) | Record::Label(_) => Code::CorruptRecord,
    };
    unreadable(code, name, what)
}

/// The error of a record that cannot be read.
pub fn corrupt(name: &Record, what: &str) -> Error {
    unreadable(Code::CorruptRecord, name, what)
}

fn unreadable(code: Code, name: &Record, what: &str) -> Error {
    let history = name.note_ref().unwrap_or_else(|| name.record_ref());
    Error::new(code, format!("{name} cannot be read: {what}"))
        .hint(format!("'git log -p {history}' shows its history"))
}
