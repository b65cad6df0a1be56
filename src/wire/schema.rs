//! JSON schemas of every document, named like the command that prints it.
//!
//! Promises: plain JSON Schema 2020-12, each document complete in itself (`$ref` only into its own `$defs`). Objects are
//! open: more fields may come. Leaves out: limits on text and numbers; the types and names are the contract.

mod agents;
mod backtrack;
mod checkpoint;
mod context;
mod issue;

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::{Map, Value, json};

/// Every schema: the document's name and the schema.
pub fn all() -> Vec<(&'static str, Value)> {
    let answers = [
        ("snapshot", "tw snapshot", taken()),
        ("list", "tw list", list()),
        ("show", "tw show", vec![("snapshot", record_ref())]),
        ("diff", "tw diff", diff()),
        ("status", "tw status", status()),
        ("travel", "tw travel", travel()),
        ("return", "tw return", return_()),
        ("restore", "tw restore", restore()),
        ("undo", "tw undo", undo()),
        ("redo", "tw redo", undo()),
        ("recover", "tw recover", recover()),
        ("recover-dropped", "tw recover --dropped", dropped()),
        ("open", "tw open", open()),
        ("close", "tw close", close()),
        ("label", "tw label", label()),
        ("prune", "tw prune", prune()),
        ("drop", "tw drop", prune()),
        ("purge", "tw purge", purge()),
        ("init", "tw init", init()),
        ("config", "tw config", config()),
        ("doctor", "tw doctor", doctor()),
        (
            "completions",
            "tw completions",
            vec![
                ("shell", kind("string")),
                ("script", nonnull("string", "the registration script")),
            ],
        ),
        (
            "prompt",
            "tw prompt",
            vec![("prompt", nullable("string", "null: nothing to say"))],
        ),
    ];
    let mut schemas: Vec<_> = answers
        .into_iter()
        .chain(agents::all())
        .chain(checkpoint::all())
        .chain(backtrack::all())
        .chain(context::all())
        .chain(issue::answers())
        .map(|(name, command, fields)| (name, document(command, fields)))
        .collect();
    schemas.push(("error", error()));
    schemas
}

/// One schema by name.
pub fn of(name: &str) -> Option<Value> {
    static ALL: LazyLock<BTreeMap<&str, Value>> = LazyLock::new(|| all().into_iter().collect());
    ALL.get(name).cloned()
}

type Fields = Vec<(&'static str, Value)>;

fn document(command: &str, fields: Fields) -> Value {
    let mut all = vec![
        ("ok", json!({"type": "boolean", "const": true})),
        (
            "version",
            json!({"type": "integer", "const": super::VERSION}),
        ),
    ];
    all.extend(fields);
    let Value::Object(body) = object(all) else {
        unreachable!("an object schema is an object")
    };
    let mut schema = Map::new();
    schema.insert(
        "$schema".to_owned(),
        "https://json-schema.org/draft/2020-12/schema".into(),
    );
    schema.insert("title".to_owned(), format!("{command} --json").into());
    schema.extend(body);
    let text = Value::from(schema.clone()).to_string();
    let defs: Map<String, Value> = definitions()
        .into_iter()
        .filter(|(name, _)| text.contains(&format!("#/$defs/{name}\"")))
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    if !defs.is_empty() {
        schema.insert("$defs".to_owned(), defs.into());
    }
    schema.into()
}

/// An open object. A name that ends in `?` may be absent.
fn object(fields: Fields) -> Value {
    let required: Vec<_> = fields
        .iter()
        .filter(|(name, _)| !name.ends_with('?'))
        .map(|(name, _)| *name)
        .collect();
    let properties: Map<String, Value> = fields
        .into_iter()
        .map(|(name, schema)| (name.trim_end_matches('?').to_owned(), schema))
        .collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// An object whose further fields have no fixed names.
fn loose(fields: Fields) -> Value {
    let mut schema = object(fields);
    schema["additionalProperties"] = true.into();
    schema
}

fn kind(kind: &str) -> Value {
    json!({"type": kind})
}

fn nonnull(kind: &str, description: &str) -> Value {
    json!({"type": kind, "description": description})
}

fn nullable(kind: &str, description: &str) -> Value {
    json!({"type": [kind, "null"], "description": description})
}

fn list_of(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

fn texts() -> Value {
    list_of(&kind("string"))
}

fn words(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

fn record_ref() -> Value {
    reference("snapshot")
}

/// The exact bytes of a list of paths.
fn bytes_list() -> Value {
    json!({"type": "array", "items": {"type": ["string", "null"]},
        "description": "base64 of each path that is not UTF-8, null for the others; absent when all are UTF-8"})
}

fn bytes() -> Value {
    nonnull(
        "string",
        "base64 of the exact bytes; absent when they are UTF-8",
    )
}

fn notices() -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": "sentences for people"})
}

fn definitions() -> Fields {
    let changes = object(vec![
        ("written", texts()),
        ("written_bytes?", bytes_list()),
        ("removed", texts()),
        ("removed_bytes?", bytes_list()),
    ]);
    let mut optional_record = record();
    optional_record["type"] = json!(["object", "null"]);
    vec![
        ("snapshot", record()),
        ("snapshot_or_null", optional_record),
        ("session", agents::session()),
        ("checkpoint", checkpoint::checkpoint()),
        ("rewind_record", checkpoint::rewind_record()),
        ("changes", changes),
    ]
}

/// A stored snapshot. Only what every record has is required; the rest is as the version of `tw` that wrote it had it.
fn record() -> Value {
    loose(vec![
        ("snapshot_id", kind("string")),
        ("kind", words(&["snapshot", "backup", "experiment"])),
        ("title", kind("string")),
        ("version", kind("integer")),
        ("created_at", nonnull("string", "RFC 3339, UTC")),
        ("session_id?", nullable("string", "the agent's session")),
        ("agent?", nullable("string", "the agent's name")),
        ("worktree?", kind("string")),
        ("workspace_root?", kind("string")),
        ("trigger?", nullable("string", "who asked")),
        ("label?", nullable("string", "its label")),
        ("exclude_globs?", texts()),
        ("env_fingerprint?", kind("object")),
        (
            "head?",
            loose(vec![
                ("ref", nullable("string", "the branch HEAD was on")),
                ("oid", nullable("string", "HEAD's commit")),
                ("detached", kind("boolean")),
                ("unborn", kind("boolean")),
            ]),
        ),
        ("index?", kind("object")),
        ("seq?", kind("integer")),
        ("repository_id?", kind("string")),
        ("taken_in?", words(&["present", "past"])),
        ("modes?", kind("object")),
        ("empty_dirs?", kind("array")),
        ("stats?", kind("object")),
        ("seeds_unproven?", kind("integer")),
        ("seeds_wrong?", texts()),
        (
            "uncaptured?",
            list_of(&loose(vec![
                ("path", kind("string")),
                ("path_bytes?", bytes()),
                ("reason", kind("string")),
            ])),
        ),
        ("commit", nonnull("string", "the snapshot commit")),
        ("tree", nonnull("string", "the captured files")),
        (
            "foreign",
            nonnull("boolean", "another repository's id stands in it"),
        ),
    ])
}

fn taken() -> Fields {
    vec![
        ("snapshot", record_ref()),
        (
            "fresh",
            nonnull(
                "boolean",
                "false: nothing had changed, the newest one is the answer",
            ),
        ),
        ("notices", notices()),
    ]
}

fn list() -> Fields {
    let invalid = object(vec![("id", kind("string")), ("reason", kind("string"))]);
    vec![
        ("snapshots", list_of(&record_ref())),
        ("total", nonnull("integer", "how many there are, before -n")),
        ("invalid", list_of(&invalid)),
    ]
}

/// A path of a diff.
fn file_diff() -> Value {
    let mode = nonnull("string", "git mode in octal, 000000 when absent");
    object(vec![
        ("path", kind("string")),
        ("path_bytes?", bytes()),
        ("status", words(&["A", "M", "D", "T"])),
        ("old_mode", mode.clone()),
        ("new_mode", mode),
        ("old_oid", nullable("string", "blob id")),
        ("new_oid", nullable("string", "blob id")),
        ("insertions", kind("integer")),
        ("deletions", kind("integer")),
        ("binary", kind("boolean")),
        ("missing?", kind("boolean")),
        ("patch?", nonnull("string", "with --patch")),
        ("patch_bytes?", bytes()),
    ])
}

fn diff() -> Fields {
    vec![
        ("from", nonnull("string", "an id, or present")),
        ("to", nonnull("string", "an id, or present")),
        ("files", list_of(&file_diff())),
        ("insertions", kind("integer")),
        ("deletions", kind("integer")),
    ]
}

fn mode_word() -> Value {
    words(&["present", "past"])
}

fn status() -> Fields {
    let mut interrupted = object(vec![
        ("operation", kind("string")),
        ("swap_id", kind("string")),
        ("since", nonnull("string", "RFC 3339, UTC")),
    ]);
    interrupted["type"] = json!(["object", "null"]);
    let head = object(vec![
        ("ref", nullable("string", "null: detached")),
        ("oid", nullable("string", "null: unborn")),
    ]);
    let repository = object(vec![
        ("workspace_root", kind("string")),
        ("workspace_root_bytes?", bytes()),
        ("worktree", kind("string")),
        ("git_dir", kind("string")),
        ("git_dir_bytes?", bytes()),
        (
            "repository_id",
            nullable("string", "null: no snapshot was ever taken"),
        ),
        ("head", head),
        ("counts", loose(Vec::new())),
    ]);
    vec![
        ("mode", mode_word()),
        ("state", loose(Vec::new())),
        ("interrupted", interrupted),
        ("repository", repository),
        ("latest", reference("snapshot_or_null")),
        ("current", reference("snapshot_or_null")),
        ("notices", notices()),
    ]
}

fn travel() -> Fields {
    vec![
        (
            "mode",
            json!({"type": "string", "const": "past", "description": "where it leads; with dry_run nothing was written"}),
        ),
        ("snapshot_id", kind("string")),
        ("backup_id", nullable("string", "null: a dry run")),
        ("dry_run", kind("boolean")),
        ("files_only", kind("boolean")),
        ("changes", reference("changes")),
        (
            "guard_token",
            nullable("string", "what return over MCP needs"),
        ),
        ("snapshot", record_ref()),
        ("notices", notices()),
    ]
}

fn return_() -> Fields {
    let head = object(vec![
        ("ref", nullable("string", "the branch of the present")),
        ("oid", nullable("string", "HEAD's commit")),
        ("restored", kind("boolean")),
        (
            "reason",
            nullable(
                "string",
                "branch-moved, branch-gone, branch-broken or checked-out-elsewhere",
            ),
        ),
    ]);
    let commit = object(vec![("oid", kind("string")), ("title", kind("string"))]);
    let moved = object(vec![
        ("from", kind("string")),
        ("from_bytes?", bytes()),
        ("to", kind("string")),
        ("to_bytes?", bytes()),
    ]);
    vec![
        ("mode", json!({"type": "string", "const": "present"})),
        ("backup_id", kind("string")),
        (
            "experiment_id",
            nullable("string", "null: nothing was made in the past"),
        ),
        ("verified", kind("boolean")),
        ("dry_run", kind("boolean")),
        ("changes", reference("changes")),
        ("changed_since", texts()),
        ("changed_since_bytes?", bytes_list()),
        ("head", head),
        ("commits_made", list_of(&commit)),
        ("stayed", texts()),
        ("stayed_bytes?", bytes_list()),
        ("moved_aside", list_of(&moved)),
        ("discarded", texts()),
        ("discarded_bytes?", bytes_list()),
        ("kept", texts()),
        ("kept_bytes?", bytes_list()),
        ("notices", notices()),
    ]
}

fn restore() -> Fields {
    vec![
        ("snapshot_id", kind("string")),
        (
            "backup_id",
            nullable("string", "null: a dry run, or nothing differed"),
        ),
        ("dry_run", kind("boolean")),
        ("changes", reference("changes")),
        ("snapshot", record_ref()),
        ("notices", notices()),
    ]
}

fn undo() -> Fields {
    vec![
        ("direction", words(&["undo", "redo"])),
        ("operation", kind("string")),
        ("mode", mode_word()),
        ("backup_id", nullable("string", "what was there before")),
        (
            "experiment_id",
            nullable("string", "when this left the past"),
        ),
        ("changes", reference("changes")),
        ("changed_since", texts()),
        ("changed_since_bytes?", bytes_list()),
        (
            "head_stayed",
            nullable("string", "why HEAD and index stayed"),
        ),
        ("notices", notices()),
    ]
}

fn recover() -> Fields {
    vec![
        (
            "action",
            words(&[
                "nothing",
                "rolled-back",
                "rolled-forward",
                "cleaned",
                "repaired",
            ]),
        ),
        ("operation", nullable("string", "the swap that had died")),
        ("rescue_id", nullable("string", "what was on disk before")),
        ("differing", texts()),
        ("differing_bytes?", bytes_list()),
        ("changes", reference("changes")),
        ("notices", notices()),
    ]
}

fn dropped() -> Fields {
    let entry = object(vec![
        ("id", kind("string")),
        ("commit", kind("string")),
        ("at", nonnull("string", "RFC 3339, UTC")),
        (
            "available",
            nonnull("boolean", "git still has all that it needs"),
        ),
        ("restored", nonnull("boolean", "taken back by this call")),
    ]);
    vec![("dropped", list_of(&entry))]
}

fn open() -> Fields {
    vec![
        ("snapshot_id", kind("string")),
        ("dir", kind("string")),
        ("dir_bytes?", bytes()),
        ("files", kind("integer")),
        ("snapshot", record_ref()),
        ("notices", notices()),
    ]
}

fn close() -> Fields {
    vec![
        ("dir", kind("string")),
        ("dir_bytes?", bytes()),
        (
            "experiment_id",
            nullable("string", "null: nothing had changed in it"),
        ),
        ("notices", notices()),
    ]
}

fn label() -> Fields {
    vec![
        ("snapshot_id", kind("string")),
        ("label", kind("string")),
        ("removed", kind("boolean")),
        ("snapshot", record_ref()),
    ]
}

fn forgotten() -> Value {
    object(vec![
        ("id", kind("string")),
        ("kind", kind("string")),
        ("commit", kind("string")),
        ("created_at", kind("string")),
        ("bytes", kind("integer")),
    ])
}

fn prune() -> Fields {
    vec![
        ("dry_run", kind("boolean")),
        ("forgotten", list_of(&forgotten())),
        ("kept", nonnull("integer", "how many stay")),
        (
            "bytes",
            nonnull("integer", "upper bound of what git can reclaim"),
        ),
        ("notices", notices()),
    ]
}

fn purge() -> Fields {
    let rewritten = object(vec![
        ("id", kind("string")),
        ("old", kind("string")),
        ("new", nonnull("string", "equal to old for a dry run")),
    ]);
    vec![
        ("dry_run", kind("boolean")),
        ("paths", texts()),
        ("paths_bytes?", bytes_list()),
        ("rewritten", list_of(&rewritten)),
        ("unreachable", notices()),
        (
            "finish",
            nonnull("string", "the command that really deletes"),
        ),
    ]
}

fn init() -> Fields {
    let printed = object(vec![("path", kind("string")), ("text", kind("string"))]);
    vec![
        ("dry_run", kind("boolean")),
        ("changed", texts()),
        ("removed?", texts()),
        ("unchanged", texts()),
        ("printed?", list_of(&printed)),
        ("notices", notices()),
    ]
}

fn config() -> Fields {
    let key = object(vec![
        ("key", kind("string")),
        (
            "value",
            json!({"type": ["string", "number", "boolean", "array", "null"]}),
        ),
        ("origin", kind("string")),
        ("description", kind("string")),
    ]);
    vec![("config", list_of(&key)), ("warnings", notices())]
}

fn doctor() -> Fields {
    let check = object(vec![
        ("name", kind("string")),
        ("status", words(&["ok", "warning", "error"])),
        ("message", kind("string")),
        ("fix", nullable("string", "the command that mends it")),
    ]);
    vec![("checks", list_of(&check))]
}

fn error() -> Value {
    let body = loose(vec![
        ("code", nonnull("string", "upper snake case, stable")),
        ("message", kind("string")),
        ("hint", nullable("string", "the first of hints")),
        ("hints", texts()),
    ]);
    let mut schema = object(vec![
        ("ok", json!({"type": "boolean", "const": false})),
        (
            "version",
            json!({"type": "integer", "const": super::VERSION}),
        ),
        ("error", body),
    ]);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["title"] = "any failed tw command with --json".into();
    schema
}
