//! Schemas of checkpoints and rewinds.

use serde_json::{Value, json};

use super::{
    Fields, kind, list_of, nonnull, notices, nullable, object, record_ref, reference, texts, words,
};

/// Every one: the document's name, the command, the fields.
pub fn all() -> Vec<(&'static str, &'static str, Fields)> {
    vec![
        ("checkpoint", "tw checkpoint", take()),
        ("checkpoint-list", "tw checkpoint list", list()),
        ("checkpoint-show", "tw checkpoint show", show()),
        ("rewind", "tw rewind", rewind()),
        ("rewind-undo", "tw rewind --undo", rewind_undo()),
    ]
}

/// A checkpoint.
pub fn checkpoint() -> Value {
    object(vec![
        ("version", kind("integer")),
        ("session_id", kind("string")),
        ("agent", nullable("string", "the agent's name")),
        (
            "checkpoint_id",
            nonnull(
                "integer",
                "counted from 0 in each session, never given twice",
            ),
        ),
        ("created_at", nonnull("string", "RFC 3339, UTC")),
        (
            "prompt",
            nullable(
                "string",
                "what was asked, redacted, its first 2,000 characters",
            ),
        ),
        ("snapshot_id", kind("string")),
        ("transcript", transcript()),
        ("tokens", tokens()),
        ("kind", words(&["prompt", "step", "manual"])),
        (
            "supersedes",
            nullable(
                "string",
                "after a rewind: the checkpoint that was gone back to, SESSION:N",
            ),
        ),
        (
            "tool",
            nullable("string", "the tool that had written, for a step"),
        ),
    ])
}

fn transcript() -> Value {
    object(vec![
        ("path", nullable("string", "the agent's file")),
        (
            "line",
            nullable(
                "integer",
                "the line that begins at offset; null when it was not counted in time",
            ),
        ),
        (
            "offset",
            nonnull(
                "integer",
                "where the file ended when the checkpoint was made",
            ),
        ),
        (
            "prompt_id",
            nullable("string", "the agent's id of the prompt"),
        ),
        (
            "sha256_of_prefix",
            nullable(
                "string",
                "of the bytes before offset; null when they were not read in time",
            ),
        ),
    ])
}

/// Token counts.
pub fn tokens() -> Value {
    object(vec![
        ("context", nullable("integer", "the model's context")),
        ("total", nullable("integer", "everything so far")),
    ])
}

/// A rewind that was done.
pub fn rewind_record() -> Value {
    let from = object(vec![
        (
            "checkpoint_id",
            nullable("integer", "the newest checkpoint then"),
        ),
        (
            "messages",
            nullable("integer", "how many messages the conversation had"),
        ),
        ("offset", nullable("integer", "how long its file was")),
    ]);
    let fork = or_null(object(vec![
        ("session_id", kind("string")),
        ("path", kind("string")),
        ("resume_command", nonnull("string", "one line for a shell")),
    ]));
    object(vec![
        ("session_id", kind("string")),
        ("checkpoint_id", kind("integer")),
        ("rewound_at", nonnull("string", "RFC 3339, UTC")),
        ("mode", words(&["code", "conversation", "both"])),
        (
            "note",
            nullable("string", "what the future self is told, redacted"),
        ),
        ("rationale", nullable("string", "why, redacted")),
        (
            "original_user_message",
            nullable("string", "the prompt that was gone back to, redacted"),
        ),
        ("reverted_from", from),
        (
            "messages_discarded",
            nullable("integer", "messages that the fork leaves out"),
        ),
        (
            "tokens_discarded",
            nullable("integer", "by how much the model's context shrank"),
        ),
        (
            "backup_id",
            nullable("string", "the working tree as it was before"),
        ),
        ("fork", fork),
        ("undone_at", nullable("string", "RFC 3339, UTC")),
    ])
}

fn take() -> Fields {
    vec![
        ("checkpoint", reference("checkpoint")),
        ("snapshot", record_ref()),
        (
            "fresh",
            nonnull("boolean", "false: nothing had changed since that snapshot"),
        ),
        ("notices", notices()),
    ]
}

fn list() -> Fields {
    vec![
        ("session_id", kind("string")),
        ("checkpoints", list_of(&reference("checkpoint"))),
        ("total", nonnull("integer", "before -n")),
        ("rewinds", list_of(&reference("rewind_record"))),
        ("invalid", texts()),
        ("notices", notices()),
    ]
}

fn show() -> Fields {
    let available = object(vec![
        (
            "code",
            nonnull("boolean", "whether its snapshot is still there"),
        ),
        (
            "conversation",
            nonnull("boolean", "whether the agent's file still holds it"),
        ),
        ("reason", nullable("string", "why it does not")),
    ]);
    vec![
        ("checkpoint", reference("checkpoint")),
        ("available", available),
        ("rewinds", list_of(&reference("rewind_record"))),
    ]
}

fn or_null(mut object: Value) -> Value {
    object["type"] = json!(["object", "null"]);
    object
}

fn argv() -> Value {
    json!({"type": ["array", "null"], "items": {"type": "string"}, "description": "the same, word by word"})
}

fn rewind() -> Fields {
    let code = or_null(object(vec![
        ("snapshot_id", kind("string")),
        ("files", list_of(&super::file_diff())),
        ("insertions", nonnull("integer", "lines that come back")),
        ("deletions", nonnull("integer", "lines that go")),
        (
            "backup_id",
            nullable(
                "string",
                "the working tree as it was before; null in a dry run",
            ),
        ),
    ]));
    let fork = or_null(object(vec![
        ("session_id", nullable("string", "null in a dry run")),
        ("path", nullable("string", "its file; null in a dry run")),
        (
            "resume_command",
            nullable("string", "one line for a shell; null in a dry run"),
        ),
        ("resume_argv", argv()),
        ("messages_kept", kind("integer")),
    ]));
    let note = or_null(object(vec![
        ("text", nonnull("string", "what the future self is told")),
        ("delivery", words(&["session-start-hook", "prompt"])),
    ]));
    let conversation = or_null(object(vec![
        (
            "transcript",
            nullable(
                "string",
                "the agent's file, which stays as it is; null where it keeps none",
            ),
        ),
        (
            "messages_discarded",
            nonnull("integer", "messages that the fork leaves out"),
        ),
        (
            "tokens_discarded",
            nullable("integer", "by how much the model's context shrinks"),
        ),
        (
            "original_user_message",
            nullable("string", "the prompt that is gone back to, as typed"),
        ),
        ("fork", fork),
        (
            "resume_command",
            nullable(
                "string",
                "the fork's; before the first prompt the one that starts afresh",
            ),
        ),
        ("resume_argv", argv()),
        ("cwd", nullable("string", "where it has to be run")),
        ("note", note),
    ]));
    vec![
        ("dry_run", kind("boolean")),
        (
            "mode",
            words(&["code", "conversation", "both", "never-mind"]),
        ),
        ("checkpoint", reference("checkpoint")),
        ("code", code),
        ("conversation", conversation),
        ("notices", notices()),
    ]
}

fn rewind_undo() -> Fields {
    vec![
        ("rewind", reference("rewind_record")),
        ("code", or_null(object(super::undo()))),
        (
            "session_id",
            nonnull("string", "the session that was rewound, and goes on"),
        ),
        ("resume_command", nullable("string", "one line for a shell")),
        ("resume_argv", argv()),
        ("notices", notices()),
    ]
}
