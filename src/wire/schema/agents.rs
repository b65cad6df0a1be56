//! Schemas of what has to do with agents: sessions, hooks, `agent-help`.

use serde_json::{Value, json};

use super::{Fields, kind, list_of, nonnull, notices, nullable, object, reference, texts};

/// Every one: the document's name, the command, the fields.
pub fn all() -> Vec<(&'static str, &'static str, Fields)> {
    vec![
        ("session-start", "tw session start", start()),
        ("session-list", "tw session list", list()),
        ("session-show", "tw session show", show()),
        ("session-resume", "tw session resume", resume()),
        ("session-end", "tw session end", end()),
    ]
}

/// A session's record.
pub fn session() -> Value {
    object(vec![
        ("session_id", kind("string")),
        ("agent", nullable("string", "the agent's name")),
        (
            "parent",
            nullable("string", "the session that it is a sub-agent of"),
        ),
        (
            "root",
            nonnull(
                "string",
                "the session at the top; itself when it is no sub-agent",
            ),
        ),
        ("worktree", kind("string")),
        (
            "live",
            nonnull("boolean", "not ended, and active within 24 hours"),
        ),
        ("started_at", nonnull("string", "RFC 3339, UTC")),
        ("last_active_at", nonnull("string", "RFC 3339, UTC")),
        ("ended_at", nullable("string", "RFC 3339, UTC")),
        (
            "source",
            nullable("string", "how it last started: startup, resume, clear, ..."),
        ),
        (
            "snapshot_id",
            nullable(
                "string",
                "its current snapshot; a sub-agent's is its root's",
            ),
        ),
        ("snapshot_ids", texts()),
        ("transcript", nullable("string", "the conversation's file")),
        ("hint", nullable("string", "what it is about")),
        (
            "title",
            nullable(
                "string",
                "its first prompt, redacted in a list; null where that was not looked at",
            ),
        ),
        (
            "prompts",
            nullable(
                "integer",
                "how many it has, as far as checkpoints tell in a list",
            ),
        ),
        (
            "tokens",
            json!({"type": ["object", "null"], "properties": {"context": {"type": ["integer", "null"]}, "total": {"type": ["integer", "null"]}},
                "required": ["context", "total"], "description": "at the end; in a list at its last checkpoint"}),
        ),
        ("checkpoints", nullable("integer", "how many it has")),
        ("rewinds", nullable("integer", "how often it was rewound")),
        (
            "issues",
            json!({"type": ["array", "null"], "items": {"type": "string"},
                "description": "those reported in it, oldest first; null where that was not looked at"}),
        ),
        (
            "files_touched",
            nullable(
                "integer",
                "how many files changed, by anybody, from its first snapshot to its last",
            ),
        ),
        (
            "forked_from",
            nullable("string", "the checkpoint that it goes on from, SESSION:N"),
        ),
    ])
}

fn start() -> Fields {
    vec![
        ("session_id", kind("string")),
        (
            "snapshot_id",
            nullable("string", "the session's current snapshot"),
        ),
        ("pruned", list_of(&super::forgotten())),
        ("session", reference("session")),
        ("snapshot", reference("snapshot_or_null")),
        (
            "no_snapshot",
            json!({"type": ["string", "null"], "enum": ["past", "sub-agent", "compaction", "repeated", null],
                "description": "why none was taken"}),
        ),
        ("notices", notices()),
    ]
}

fn list() -> Fields {
    let invalid = object(vec![("id", kind("string")), ("reason", kind("string"))]);
    vec![
        ("sessions", list_of(&reference("session"))),
        ("total", nonnull("integer", "before -n")),
        ("invalid", list_of(&invalid)),
    ]
}

fn show() -> Fields {
    let file = object(vec![
        ("path", kind("string")),
        ("path_bytes?", super::bytes()),
    ]);
    vec![
        ("session", reference("session")),
        (
            "files",
            json!({"type": ["array", "null"], "items": file,
                "description": "the files that changed from its first snapshot to its last, or, while it is live, up to now"}),
        ),
        ("children", texts()),
        (
            "resume_command",
            nullable(
                "string",
                "the agent's own, one line for a shell; null when it has none",
            ),
        ),
        (
            "resume_argv",
            json!({"type": ["array", "null"], "items": {"type": "string"}, "description": "the same, word by word"}),
        ),
    ]
}

fn resume() -> Fields {
    vec![
        ("session_id", kind("string")),
        ("agent", kind("string")),
        (
            "resume_command",
            nonnull("string", "the agent's own, one line for a shell"),
        ),
        ("resume_argv", texts()),
        ("cwd", nullable("string", "where it has to be run")),
    ]
}

fn end() -> Fields {
    vec![
        ("session_id", kind("string")),
        ("session", reference("session")),
        ("ended_with_it", texts()),
    ]
}
