//! JSON schemas of every document, named like the command that prints it.
//!
//! Promises: plain JSON Schema 2020-12, each document complete in itself (`$ref` only into its own `$defs`). Objects are
//! open: more fields may come. They are derived from the outcomes, whose comments are the descriptions, and only when they are
//! asked for. Leaves out: limits on text and numbers; the types and names are the contract.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::{AgentHelp, Failure, Prompt, Script, Success};
use crate::ops::{
    backtrack, checkpoint, checkpoints, context, hook, install, issue, outcome, redaction, rewind,
    session, sessions,
};

/// A command and what makes the schema of its document.
type Row = (&'static str, fn(&str) -> Value);

macro_rules! documents {
    ($($command:literal => $outcome:ty,)*) => {
        &[("init", of_init), $(($command, of_outcome::<$outcome>),)*]
    };
}

/// What each command answers.
const DOCUMENTS: &[Row] = documents! {
    "agent-help" => AgentHelp,
    "backtrack" => backtrack::Scheduled,
    "backtrack cancel" => backtrack::Cancelled,
    "backtrack show" => backtrack::Shown,
    "backtrack take" => backtrack::Taken,
    "checkpoint" => checkpoints::Taken,
    "checkpoint list" => checkpoint::Listing,
    "checkpoint show" => checkpoint::Shown,
    "close" => outcome::Closed,
    "completions" => Script,
    "config" => outcome::ConfigListing,
    "context append" => context::Appended,
    "context checkpoint" => context::Checkpointed,
    "context compact" => context::Compacted,
    "context revert" => context::Reverted,
    "context show" => context::Shown,
    "context usage" => context::Counted,
    "diff" => outcome::Diff,
    "doctor" => outcome::Checkup,
    "drop" => outcome::Pruned,
    "hook" => hook::Hooked,
    "issue apply" => issue::Applied,
    "issue chat" => issue::ChatShown,
    "issue close" => issue::IssueView,
    "issue edit" => issue::IssueView,
    "issue experiment" => issue::ExperimentShown,
    "issue get" => issue::IssueView,
    "issue list" => issue::IssueListing,
    "issue next" => issue::Next,
    "issue reopen" => issue::IssueView,
    "issue report" => issue::Reported,
    "issue search" => issue::IssueListing,
    "issue start" => issue::Started,
    "issue verify" => issue::Verified,
    "label" => outcome::Labelled,
    "list" => outcome::Listing,
    "open" => outcome::Opened,
    "prompt" => Prompt,
    "prune" => outcome::Pruned,
    "purge" => outcome::Purged,
    "recover" => outcome::Recovered,
    "recover --dropped" => outcome::DroppedListing,
    "redact" => redaction::Cleaned,
    "redo" => outcome::Undone,
    "restore" => outcome::Restored,
    "return" => outcome::Returned,
    "rewind" => rewind::Rewound,
    "rewind --undo" => rewind::Undone,
    "session end" => sessions::Ended,
    "session list" => session::Listing,
    "session resume" => session::Resume,
    "session show" => session::Shown,
    "session start" => sessions::Started,
    "show" => outcome::Shown,
    "snapshot" => outcome::Taken,
    "status" => outcome::Status,
    "travel" => outcome::Travelled,
    "undo" => outcome::Undone,
};

/// The names of all documents.
pub fn names() -> impl Iterator<Item = String> {
    let commands = DOCUMENTS.iter().map(|(command, _)| name_of(command));
    commands.chain(["error".to_owned()])
}

/// The schema of a document.
pub fn of(name: &str) -> Option<Value> {
    if name == "error" {
        return Some(of_root::<Failure<'_>>("any failed tw command with --json"));
    }
    let mut rows = DOCUMENTS.iter();
    let (command, schema) = rows.find(|(command, _)| name_of(command) == name)?;
    Some(schema(command))
}

fn name_of(command: &str) -> String {
    command.replace(" --", "-").replace(' ', "-")
}

/// The schema of an outcome's document.
fn of_outcome<T: JsonSchema>(command: &str) -> Value {
    of_root::<Success<T>>(&format!("tw {command} --json"))
}

/// What `init` answers for agents and git's hooks; without them it removes and prints nothing, and does not say so.
fn of_init(command: &str) -> Value {
    let mut schema = of_outcome::<install::Installed>(command);
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| name != "removed" && name != "printed");
    }
    schema
}

fn of_root<T: JsonSchema>(title: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut generator = settings.into_generator();
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
    for limit in ["format", "minimum", "default"] {
        keywords.shift_remove(limit);
    }
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
