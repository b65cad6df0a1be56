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
mod look;
mod paths;
mod rewind;
pub mod schema;
mod session;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Error;

pub use look::{Prompt, Script};
pub use rewind::command_line;
pub use session::AgentHelp;

/// The version of all documents.
pub const VERSION: u32 = 1;

/// An outcome that has a JSON document.
trait Document {
    /// The document's fields, without `ok` and `version`.
    fn fields(&self) -> impl Serialize + '_;
}

macro_rules! by_fields {
    ($($outcome:ty),* $(,)?) => {$(
        impl Serialize for $outcome {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                Document::fields(self).serialize(serializer)
            }
        }
    )*};
}

use crate::ops::{
    backtrack as b, checkpoint as c, context as x, issue as i, rewind as r, session as n,
};
by_fields!(
    b::Scheduled,
    b::Taken,
    b::Shown,
    b::Cancelled,
    c::Taken,
    c::Listing,
    c::Shown,
    x::Appended,
    x::Checkpointed,
    x::Counted,
    x::Shown,
    x::Reverted,
    x::Compacted,
    i::IssueView,
    i::Reported,
    i::IssueListing,
    i::Next,
    i::ChatShown,
    i::ExperimentShown,
    i::Started,
    i::Applied,
    i::Verified,
    crate::ops::redaction::Cleaned,
    r::Rewound,
    r::Undone,
    n::Started,
    n::Listing,
    n::Shown,
    n::Resume,
    n::Ended,
    crate::ops::hook::Hooked,
    crate::ops::install::Installed,
    AgentHelp,
);

/// What every document begins with.
#[derive(Serialize, JsonSchema)]
struct Envelope<T> {
    #[schemars(extend("const" = true))]
    ok: bool,
    #[schemars(extend("const" = VERSION))]
    version: u32,
    #[serde(flatten)]
    fields: T,
}

impl<T> Envelope<T> {
    fn new(fields: T) -> Self {
        Self {
            ok: true,
            version: VERSION,
            fields,
        }
    }
}

/// The document of an outcome as one line of text.
#[expect(
    clippy::missing_panics_doc,
    reason = "plain data with string keys always encodes"
)]
pub fn text<T: Serialize + ?Sized>(outcome: &T) -> String {
    serde_json::to_string(&Envelope::new(outcome))
        .expect("string keys and plain data always encode")
}

/// The document of an outcome as a value.
#[expect(
    clippy::missing_panics_doc,
    reason = "plain data with string keys always encodes"
)]
pub fn value<T: Serialize + ?Sized>(outcome: &T) -> Value {
    serde_json::to_value(Envelope::new(outcome)).expect("string keys and plain data always encode")
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
