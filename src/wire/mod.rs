//! The JSON that programs see: one document per outcome, the same for `--json` and for MCP.
//!
//! Promises: every document starts with `ok` and `version`; names are `snake_case`; fields are added, never renamed or
//! taken away within a version. A path that is not UTF-8 appears lossy, with its exact bytes in base64 beside it:
//! `path` with `path_bytes`, and for a list `written` with `written_bytes`, a list of the same length in which an entry
//! is null where the string is exact. The `_bytes` fields are absent when nothing needs them. [`schema`] describes every
//! document; the rendered schemas are checked in under `schemas/`.

mod backtrack;
mod checkpoint;
mod context;
mod issue;
mod keep;
mod look;
mod paths;
mod record;
mod rewind;
pub mod schema;
mod session;
mod swap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Error;

pub use look::{Prompt, Script};
pub use rewind::command_line;
pub use session::AgentHelp;

/// The version of all documents.
pub const VERSION: u32 = 1;

/// An outcome that has a JSON document.
pub trait Document {
    /// The document's fields, without `ok` and `version`.
    fn fields(&self) -> impl Serialize + '_;
}

#[derive(Serialize)]
struct Envelope<T> {
    ok: bool,
    version: u32,
    #[serde(flatten)]
    fields: T,
}

fn envelope<D: Document + ?Sized>(outcome: &D) -> Envelope<impl Serialize + '_> {
    Envelope {
        ok: true,
        version: VERSION,
        fields: outcome.fields(),
    }
}

/// The document as one line of text.
#[expect(
    clippy::missing_panics_doc,
    reason = "plain data with string keys always encodes"
)]
pub fn text<D: Document + ?Sized>(outcome: &D) -> String {
    serde_json::to_string(&envelope(outcome)).expect("string keys and plain data always encode")
}

/// The document as a value.
#[expect(
    clippy::missing_panics_doc,
    reason = "plain data with string keys always encodes"
)]
pub fn value<D: Document + ?Sized>(outcome: &D) -> Value {
    serde_json::to_value(envelope(outcome)).expect("string keys and plain data always encode")
}

/// The document of an error: `{"ok": false, "error": {"code", "message", "hint", "hints", …details}}`.
///
/// `hint` is the first of `hints`, null when there is none. A detail never replaces one of these names.
pub fn error(error: &Error) -> Value {
    let mut body = Map::new();
    body.insert("code".to_owned(), error.code().as_str().into());
    body.insert("message".to_owned(), error.message().into());
    body.insert("hint".to_owned(), error.hints().first().cloned().into());
    body.insert("hints".to_owned(), error.hints().to_vec().into());
    for (name, detail) in error.details() {
        if !body.contains_key(name) {
            body.insert(name.clone(), detail.clone());
        }
    }
    let mut document = Map::new();
    document.insert("ok".to_owned(), false.into());
    document.insert("version".to_owned(), VERSION.into());
    document.insert("error".to_owned(), body.into());
    document.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn details_stand_beside_the_code_and_never_replace_it() {
        let document = error(
            &Error::new(Code::Busy, "locked")
                .hint("wait")
                .hint("or not")
                .detail("file", "index.lock")
                .detail("code", "FORGED"),
        );
        assert_eq!(
            document.to_string(),
            r#"{"ok":false,"version":1,"error":{"code":"BUSY","message":"locked","hint":"wait","hints":["wait","or not"],"file":"index.lock"}}"#
        );
    }
}
