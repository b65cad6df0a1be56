//! Schemas of context logs.

use serde_json::{Value, json};

use super::{Fields, bytes, kind, list_of, loose, nonnull, nullable, texts};

/// Every one: the document's name, the command, the fields.
pub fn all() -> Vec<(&'static str, &'static str, Fields)> {
    vec![
        ("context-append", "tw context append", append()),
        ("context-checkpoint", "tw context checkpoint", checkpoint()),
        ("context-usage", "tw context usage", usage()),
        ("context-show", "tw context show", show()),
        ("context-revert", "tw context revert", revert()),
        ("context-compact", "tw context compact", compact()),
    ]
}

fn of_log(fields: Fields) -> Fields {
    let mut all = vec![
        ("file", nonnull("string", "the log")),
        ("file_bytes?", bytes()),
    ];
    all.extend(fields);
    all
}

fn rotated() -> Value {
    nullable("string", "where the log before stays")
}

fn skipped() -> Value {
    nonnull("integer", "malformed and torn lines")
}

fn append() -> Fields {
    of_log(vec![
        ("appended", nonnull("integer", "how many records")),
        ("rotated_to", rotated()),
    ])
}

fn checkpoint() -> Fields {
    of_log(vec![
        ("checkpoint_id", kind("integer")),
        ("marker", nonnull("boolean", "the model sees it")),
    ])
}

fn usage() -> Fields {
    of_log(vec![("token_count", kind("integer"))])
}

fn show() -> Fields {
    let record = loose(vec![("role", kind("string"))]);
    of_log(vec![
        (
            "session_id",
            nullable("string", "null: a file that was named"),
        ),
        ("system_prompt", nullable("string", "the one in effect")),
        ("records", list_of(&record)),
        ("messages", nonnull("integer", "how many of the records")),
        ("checkpoints", list_of(&kind("integer"))),
        ("next_checkpoint", kind("integer")),
        ("token_count", nonnull("integer", "as last recorded")),
        (
            "pending_tokens",
            nonnull("integer", "what came since, guessed from its length"),
        ),
        ("skipped", skipped()),
        ("torn", nonnull("boolean", "the last line has no end")),
        ("rotated", texts()),
    ])
}

fn revert() -> Fields {
    of_log(vec![
        ("checkpoint_id", kind("integer")),
        ("rotated_to", rotated()),
        ("messages_discarded", kind("integer")),
        ("tokens_discarded", kind("integer")),
        ("skipped", skipped()),
        (
            "note_checkpoint",
            nullable("integer", "the checkpoint that came with the note"),
        ),
    ])
}

fn compact() -> Fields {
    of_log(vec![
        ("compacted", kind("boolean")),
        (
            "reason",
            json!({"type": ["string", "null"], "enum": ["under-limit", "nothing-to-compact", null],
                "description": "why nothing was done"}),
        ),
        ("rotated_to", rotated()),
        ("messages_discarded", kind("integer")),
        ("tokens_before", kind("integer")),
        (
            "tokens_after",
            nonnull("integer", "a guess from the length"),
        ),
        (
            "checkpoint_id",
            nullable("integer", "the new one at the end"),
        ),
        ("skipped", skipped()),
    ])
}
