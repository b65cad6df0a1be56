//! JSON schemas of every document, named like the command that prints it.
//!
//! Promises: plain JSON Schema 2020-12, each document complete in itself (`$ref` only into its own `$defs`). Objects are
//! open: more fields may come. Leaves out: limits on text and numbers; the types and names are the contract.

mod issue;

use std::{collections::BTreeMap, sync::LazyLock};

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::{AgentHelp, Failure, Prompt, Script, Success};
use crate::ops::hook::Hooked;
use crate::ops::install::Installed;
use crate::ops::outcome::{
    Checkup, Closed, ConfigListing, Diff, DroppedListing, Labelled, Listing, Opened, Pruned,
    Purged, Recovered, Restored, Returned, Shown, Status, Taken, Travelled, Undone,
};
use crate::ops::{backtrack, checkpoint, checkpoints, context, rewind, session, sessions};

/// A document's name, the command that prints it, and what makes its schema.
type Row = (&'static str, &'static str, fn(&str) -> Value);

/// Documents that describe themselves.
const DERIVED: &[Row] = &[
    ("snapshot", "tw snapshot", derived::<Taken>),
    ("list", "tw list", derived::<Listing>),
    ("show", "tw show", derived::<Shown>),
    ("diff", "tw diff", derived::<Diff>),
    ("status", "tw status", derived::<Status>),
    ("travel", "tw travel", derived::<Travelled>),
    ("return", "tw return", derived::<Returned>),
    ("restore", "tw restore", derived::<Restored>),
    ("undo", "tw undo", derived::<Undone>),
    ("redo", "tw redo", derived::<Undone>),
    ("recover", "tw recover", derived::<Recovered>),
    (
        "recover-dropped",
        "tw recover --dropped",
        derived::<DroppedListing>,
    ),
    ("open", "tw open", derived::<Opened>),
    ("close", "tw close", derived::<Closed>),
    ("label", "tw label", derived::<Labelled>),
    ("prune", "tw prune", derived::<Pruned>),
    ("drop", "tw drop", derived::<Pruned>),
    ("purge", "tw purge", derived::<Purged>),
    ("config", "tw config", derived::<ConfigListing>),
    ("doctor", "tw doctor", derived::<Checkup>),
    ("completions", "tw completions", derived::<Script>),
    ("prompt", "tw prompt", derived::<Prompt>),
    ("init", "tw init", init),
    ("agent-help", "tw agent-help", derived::<AgentHelp>),
    ("hook", "tw hook", derived::<Hooked>),
    (
        "session-start",
        "tw session start",
        derived::<sessions::Started>,
    ),
    (
        "session-list",
        "tw session list",
        derived::<session::Listing>,
    ),
    ("session-show", "tw session show", derived::<session::Shown>),
    (
        "session-resume",
        "tw session resume",
        derived::<session::Resume>,
    ),
    ("session-end", "tw session end", derived::<sessions::Ended>),
    ("checkpoint", "tw checkpoint", derived::<checkpoints::Taken>),
    (
        "checkpoint-list",
        "tw checkpoint list",
        derived::<checkpoint::Listing>,
    ),
    (
        "checkpoint-show",
        "tw checkpoint show",
        derived::<checkpoint::Shown>,
    ),
    ("rewind", "tw rewind", derived::<rewind::Rewound>),
    ("rewind-undo", "tw rewind --undo", derived::<rewind::Undone>),
    ("backtrack", "tw backtrack", derived::<backtrack::Scheduled>),
    (
        "backtrack-take",
        "tw backtrack take",
        derived::<backtrack::Taken>,
    ),
    (
        "backtrack-show",
        "tw backtrack show",
        derived::<backtrack::Shown>,
    ),
    (
        "backtrack-cancel",
        "tw backtrack cancel",
        derived::<backtrack::Cancelled>,
    ),
    (
        "context-append",
        "tw context append",
        derived::<context::Appended>,
    ),
    (
        "context-checkpoint",
        "tw context checkpoint",
        derived::<context::Checkpointed>,
    ),
    (
        "context-usage",
        "tw context usage",
        derived::<context::Counted>,
    ),
    ("context-show", "tw context show", derived::<context::Shown>),
    (
        "context-revert",
        "tw context revert",
        derived::<context::Reverted>,
    ),
    (
        "context-compact",
        "tw context compact",
        derived::<context::Compacted>,
    ),
];

/// Every schema: the document's name and the schema.
pub fn all() -> Vec<(&'static str, Value)> {
    let derived = DERIVED
        .iter()
        .map(|(name, command, schema)| (*name, schema(command)));
    let mut schemas: Vec<_> = issue::answers()
        .into_iter()
        .map(|(name, command, fields)| (name, document(command, fields)))
        .chain(derived)
        .collect();
    let failed = of_root::<Failure<'_>>("any failed tw command with --json");
    schemas.push(("error", failed));
    schemas
}

/// The schema of an outcome's document.
fn derived<T: JsonSchema>(command: &str) -> Value {
    of_root::<Success<T>>(&format!("{command} --json"))
}

/// What `init` answers for agents and git's hooks; without them it removes and prints nothing, and does not say so.
fn init(command: &str) -> Value {
    let mut schema = derived::<Installed>(command);
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| name != "removed" && name != "printed");
    }
    schema
}

fn of_root<T: JsonSchema>(title: &str) -> Value {
    let mut generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut body = T::json_schema(&mut generator);
    // What is said of the type is for who reads the source.
    body.remove("description");
    let mut schema = Schema::default();
    let dialect = generator.settings().meta_schema.as_deref();
    schema.insert("$schema".to_owned(), dialect.into());
    schema.insert("title".to_owned(), title.into());
    for (keyword, value) in std::mem::take(body.ensure_object()) {
        schema.insert(keyword, value);
    }
    let definitions = generator.take_definitions(false);
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    plain(&mut schema);
    schema.to_value()
}

/// Brings a derived schema into the form in which types and names are the contract: an enum of words lists them, what may
/// be null says so by its type, and there are no limits of machine numbers.
fn plain(schema: &mut Schema) {
    transform_subschemas(&mut plain, schema);
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    keywords.shift_remove("format");
    keywords.shift_remove("minimum");
    keywords.shift_remove("default");
    if let Some(Value::String(text)) = keywords.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if keywords.contains_key("const") {
        keywords.shift_remove("enum");
    }
    if let Some(words) = words_of(keywords.get("oneOf")) {
        keywords.shift_remove("oneOf");
        keywords.insert("type".to_owned(), "string".into());
        keywords.insert("enum".to_owned(), words);
    }
    if let Some(nullable) = nullable_of(keywords.get("anyOf")) {
        keywords.shift_remove("anyOf");
        for (keyword, value) in nullable {
            keywords.entry(keyword).or_insert(value);
        }
    }
}

/// The words of alternatives that are one word each.
fn words_of(alternatives: Option<&Value>) -> Option<Value> {
    let words = alternatives?.as_array()?.iter();
    words.map(|word| word.get("const").cloned()).collect()
}

/// A plain schema or null, as one schema whose type may be null.
fn nullable_of(alternatives: Option<&Value>) -> Option<Map<String, Value>> {
    let [Value::Object(schema), null] = alternatives?.as_array()?.as_slice() else {
        return None;
    };
    if *null != json!({"type": "null"}) {
        return None;
    }
    let mut schema = schema.clone();
    let kind = schema.get("type")?.clone();
    schema.insert("type".to_owned(), json!([kind, "null"]));
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.push(Value::Null);
    }
    Some(schema)
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
