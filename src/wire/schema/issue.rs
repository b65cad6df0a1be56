//! Schemas of `tw issue` and `tw redact`.

use serde_json::{Value, json};

use super::{
    Fields, bytes_list, kind, list_of, loose, nonnull, notices, nullable, object, reference, texts,
    words,
};

/// Document names, commands and fields.
pub(super) fn answers() -> Vec<(&'static str, &'static str, Fields)> {
    vec![
        ("issue-report", "tw issue report", report()),
        ("issue-list", "tw issue list", list()),
        ("issue-get", "tw issue get", one()),
        ("issue-chat", "tw issue chat", chat()),
        ("issue-edit", "tw issue edit", one()),
        ("issue-experiment", "tw issue experiment", experiment()),
        ("issue-next", "tw issue next", next()),
        ("issue-search", "tw issue search", list()),
        ("issue-start", "tw issue start", start()),
        ("issue-verify", "tw issue verify", verify()),
        ("issue-apply", "tw issue apply", apply()),
        ("issue-close", "tw issue close", one()),
        ("issue-reopen", "tw issue reopen", one()),
        (
            "redact",
            "tw redact",
            vec![
                ("replaced", kind("integer")),
                (
                    "counts",
                    json!({"type": "object", "additionalProperties": true, "properties": {}, "description": "by rule"}),
                ),
                ("text", nullable("string", "null: --check")),
            ],
        ),
    ]
}

fn one() -> Fields {
    vec![
        ("issue_id", kind("string")),
        ("issue", issue()),
        ("notices", notices()),
    ]
}

fn report() -> Fields {
    let mut fields = one();
    let mut chat = object(vec![
        ("messages", kind("integer")),
        (
            "found_by",
            nullable(
                "string",
                "how its file was found: given; session, as the session's hook named it or by its id; environment; newest of this directory",
            ),
        ),
    ]);
    chat["type"] = json!(["object", "null"]);
    fields.push(("chat", chat));
    fields
}

fn status() -> Value {
    words(&["open", "experimenting", "fixed", "wontfix", "duplicate"])
}

fn severity() -> Value {
    words(&["low", "medium", "high"])
}

fn issue() -> Value {
    let text = || kind("string");
    let id = || nullable("string", "an id");
    let check = loose(vec![
        ("command", text()),
        ("exit_status", kind("integer")),
        ("duration_ms", kind("integer")),
        ("output_tail", text()),
    ]);
    let mut stat = object(vec![
        ("files", kind("integer")),
        ("insertions", kind("integer")),
        ("deletions", kind("integer")),
    ]);
    stat["type"] = json!(["object", "null"]);
    let run = loose(vec![
        ("run", kind("integer")),
        ("started_at", text()),
        ("ended_at", nullable("string", "null: in the past now")),
        ("backup_id", id()),
        ("experiment_id", id()),
        ("verify", list_of(&check)),
        ("diff_stat", stat),
        ("result", nullable("string", "passed or failed")),
    ]);
    let mut resolution = loose(vec![
        ("at", text()),
        ("commit", nullable("string", "HEAD then")),
        ("note", nullable("string", "what was said")),
    ]);
    resolution["type"] = json!(["object", "null"]);
    loose(vec![
        ("version", kind("integer")),
        ("issue_id", text()),
        ("created_at", nonnull("string", "RFC 3339, UTC")),
        ("updated_at", nonnull("string", "RFC 3339, UTC")),
        ("status", status()),
        ("snapshot_id", text()),
        ("session_id", nullable("string", "the agent's session")),
        ("agent", nullable("string", "the agent's name")),
        ("task_context", text()),
        ("symptom", text()),
        ("success_criteria", text()),
        ("suspected_cause", nullable("string", "a guess at why")),
        ("severity", severity()),
        ("verify_command", nullable("string", "a shell command")),
        ("chat_file", nullable("string", "null: no chat")),
        ("chat_unavailable", nullable("string", "why there is none")),
        ("chat_summary", nullable("string", "the chat in short")),
        ("experiment_file", text()),
        ("occurrences", kind("integer")),
        ("duplicate_of", id()),
        ("experiment", sections()),
        ("runs", list_of(&run)),
        ("resolution", resolution),
        (
            "paths",
            loose(vec![
                ("issue_dir", text()),
                ("issue_file", text()),
                ("chat_file", text()),
                ("experiment_file", text()),
            ]),
        ),
        (
            "verify_hash",
            nullable("string", "what --allow takes; null: no command"),
        ),
        (
            "verify_approved",
            nonnull("boolean", "the command may run on this machine"),
        ),
    ])
}

fn sections() -> Value {
    let text = || kind("string");
    object(vec![
        ("success_criteria", text()),
        ("repro", text()),
        ("changes", text()),
        ("validation", text()),
        ("result", text()),
        (
            "extra",
            json!({"type": "object", "additionalProperties": true, "properties": {}, "description": "other headings"}),
        ),
    ])
}

fn list() -> Fields {
    let entry = object(vec![
        ("issue_id", kind("string")),
        ("status", nonnull("string", "a status, or invalid")),
        ("created_at", nullable("string", "null: invalid")),
        ("snapshot_id", nullable("string", "null: invalid")),
        ("symptom", nullable("string", "null: invalid")),
        ("severity?", severity()),
        ("occurrences?", kind("integer")),
        ("updated_at?", kind("string")),
        ("reason?", nonnull("string", "why it cannot be read")),
    ]);
    vec![
        (
            "filter",
            object(vec![("status", kind("string")), ("text?", kind("string"))]),
        ),
        ("count", kind("integer")),
        ("issues", list_of(&entry)),
        ("notices", notices()),
    ]
}

fn next() -> Fields {
    let entry = object(vec![
        ("issue_id", kind("string")),
        ("status", status()),
        ("created_at", kind("string")),
        ("updated_at", kind("string")),
        ("snapshot_id", kind("string")),
        ("symptom", kind("string")),
        ("severity", severity()),
        ("occurrences", kind("integer")),
        ("score", kind("integer")),
        ("reasons", texts()),
    ]);
    vec![
        ("issue_id", nullable("string", "null: nothing waits")),
        ("issues", list_of(&entry)),
        ("notices", notices()),
    ]
}

fn chat() -> Fields {
    let mut tool = object(vec![
        ("name", kind("string")),
        (
            "input",
            json!({"description": "as the agent recorded it, redacted"}),
        ),
        ("output", nullable("string", "null: none was recorded")),
        ("error", kind("boolean")),
    ]);
    tool["type"] = json!(["object", "null"]);
    let message = object(vec![
        ("role", words(&["user", "assistant", "tool"])),
        ("at", nullable("string", "RFC 3339, as recorded")),
        ("text", kind("string")),
        ("tool", tool),
    ]);
    let chat = loose(vec![
        ("version", kind("integer")),
        ("session_id", nullable("string", "the agent's session")),
        ("agent", nullable("string", "the agent's name")),
        ("captured_at", kind("string")),
        ("selection", kind("string")),
        (
            "redaction",
            loose(vec![
                ("applied", kind("boolean")),
                ("counts", loose(Vec::new())),
            ]),
        ),
        ("messages", list_of(&message)),
    ]);
    vec![
        ("issue_id", kind("string")),
        ("total", nonnull("integer", "messages in all")),
        ("chat", chat),
        ("notices", notices()),
    ]
}

fn experiment() -> Fields {
    vec![
        ("issue_id", kind("string")),
        ("experiment", sections()),
        ("markdown", nonnull("string", "as experiment.md")),
        ("experiment_file", kind("string")),
        ("notices", notices()),
    ]
}

fn start() -> Fields {
    let mut fields = vec![
        ("issue_id", kind("string")),
        ("run", nonnull("integer", "counted from 1")),
    ];
    fields.extend(super::travel());
    fields
}

fn apply() -> Fields {
    let conflict = object(vec![
        ("path", kind("string")),
        (
            "path_bytes?",
            nonnull("string", "base64, when the path is no UTF-8"),
        ),
        (
            "reason",
            words(&[
                "content",
                "both-added",
                "binary",
                "deleted-here",
                "deleted-there",
                "kind",
            ]),
        ),
    ]);
    vec![
        ("issue_id", kind("string")),
        ("run", kind("integer")),
        ("snapshot_id", nonnull("string", "where the run started")),
        ("experiment_id", nonnull("string", "what the run left")),
        ("backup_id", nullable("string", "null: nothing was written")),
        ("dry_run", kind("boolean")),
        ("changes", reference("changes")),
        ("merged", texts()),
        ("merged_bytes?", bytes_list()),
        ("conflicts", list_of(&conflict)),
        ("notices", notices()),
    ]
}

fn verify() -> Fields {
    vec![
        ("issue_id", kind("string")),
        ("run", nonnull("integer", "where it was recorded")),
        ("command", kind("string")),
        ("exit_status", kind("integer")),
        ("passed", kind("boolean")),
        ("duration_ms", kind("integer")),
        ("output_tail", kind("string")),
        ("notices", notices()),
    ]
}
