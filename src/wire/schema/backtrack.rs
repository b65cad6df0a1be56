//! Schemas of backtrack.

use serde_json::{Value, json};

use super::{Fields, kind, nonnull, notices, nullable, object, words};

/// Every one: the document's name, the command, the fields.
pub fn all() -> Vec<(&'static str, &'static str, Fields)> {
    vec![
        ("backtrack", "tw backtrack", vec![("backtrack", message())]),
        ("backtrack-take", "tw backtrack take", perhaps()),
        ("backtrack-show", "tw backtrack show", perhaps()),
        ("backtrack-cancel", "tw backtrack cancel", cancel()),
    ]
}

fn message() -> Value {
    let mut of = words(&["session", "context"]);
    of["description"] =
        "where the checkpoint is: in the session's notes or in its context log".into();
    object(vec![
        ("session_id", kind("string")),
        ("checkpoint_id", kind("integer")),
        ("of", of),
        ("note", nonnull("string", "what the earlier self is told")),
        ("rationale", nullable("string", "why")),
        ("created_at", nonnull("string", "RFC 3339, UTC")),
    ])
}

/// Null: nothing waits.
fn perhaps() -> Fields {
    let mut message = message();
    message["type"] = json!(["object", "null"]);
    vec![("backtrack", message)]
}

fn cancel() -> Fields {
    let mut fields = perhaps();
    fields.push(("cancelled", nonnull("boolean", "something waited")));
    fields.push(("notices", notices()));
    fields
}
