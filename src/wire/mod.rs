//! The JSON that programs see: one document per outcome, the same for `--json` and for MCP.
//!
//! Owns what is common to all documents; outcomes and records describe themselves, with the forms of [`crate::json`].
//! Promises: every document starts with `ok` and `version`; names are `snake_case`; fields are added, never renamed or
//! taken away within a version. [`schema`] describes every document; the rendered schemas are checked in under `schemas/`.

pub mod schema;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::store::records::settled;

/// The version of all documents.
pub const VERSION: u32 = 1;

/// The document of an outcome.
#[derive(Serialize, JsonSchema)]
struct Success<T> {
    #[schemars(extend("const" = true))]
    ok: bool,
    #[schemars(extend("const" = VERSION))]
    version: u32,
    #[serde(flatten)]
    fields: T,
}

impl<T> Success<T> {
    fn new(fields: T) -> Self {
        Self {
            ok: true,
            version: VERSION,
            fields,
        }
    }
}

/// The document of an outcome as one line of text.
pub fn text<T: Serialize + ?Sized>(outcome: &T) -> String {
    if settled::is_untold() {
        return value(outcome).to_string();
    }
    serde_json::to_string(&Success::new(outcome)).expect("string keys and plain data always encode")
}

/// The document of an outcome as a value.
pub fn value<T: Serialize + ?Sized>(outcome: &T) -> Value {
    let document = serde_json::to_value(Success::new(outcome));
    let mut document = document.expect("string keys and plain data always encode");
    tell_settled(&mut document);
    document
}

/// Adds what had to be settled in records on the way to a document that has sentences for people.
fn tell_settled(document: &mut Value) {
    if let Some(Value::Array(notices)) = document.get_mut("notices") {
        for said in settled::take().into_iter().map(Value::from) {
            if !notices.contains(&said) {
                notices.push(said);
            }
        }
    }
}

/// The document of whatever failed.
#[derive(Serialize, JsonSchema)]
struct Failure<'a> {
    #[schemars(extend("const" = false))]
    ok: bool,
    #[schemars(extend("const" = VERSION))]
    version: u32,
    /// What the command answers all the same, where its answers have such a field: `not-reproduced` of `bisect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    result: Option<&'a Value>,
    error: &'a Error,
}

/// The document of an error: `{"ok": false, "error": {"code", "message", "hint", "hints", …details}}`.
pub fn error(error: &Error) -> Value {
    let failure = Failure {
        ok: false,
        version: VERSION,
        result: error.find_detail("result"),
        error,
    };
    serde_json::to_value(failure).expect("string keys and plain data always encode")
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
