//! The arguments of a tool: a closed list, said once by the struct that takes them in.
//!
//! The struct derives the JSON schema that clients are shown, with its comments as descriptions, and the parser of a call. A call is
//! checked against that schema first, so that what is refused is named and what would do is said.

use std::borrow::Cow;
use std::ffi::OsString;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use crate::error::{Error, Result};
use crate::ops::pathspec::literally;
use crate::text::duration;

/// Every tool has these.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Everywhere {
    /// Work in the repository of this directory, which has to lie in a root that the client announced. Default: where the
    /// server was started.
    pub dir: Option<String>,
}

/// A snapshot, checkpoint or issue: a text, or a number where it is all digits.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Address {
    /// As it came.
    Text(String),
    /// All digits, without zeros before them.
    Number(Number),
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        match address {
            Address::Text(text) => text,
            Address::Number(number) => number.to_string(),
        }
    }
}

impl JsonSchema for Address {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "string"}, {"type": "integer"}]})
    }
}

/// Paths of a call, as `ops` takes them.
pub fn paths(texts: Vec<String>) -> Vec<OsString> {
    texts.into_iter().map(OsString::from).collect()
}

/// Paths of a call that are names and no patterns: an agent names files, also where the names have brackets in them.
pub fn literal_paths(texts: Vec<String>) -> Vec<OsString> {
    paths(texts).iter().map(|path| literally(path)).collect()
}

/// How long a command may run, from the two arguments that say it.
///
/// # Errors
/// `USAGE` when both are given, or a text is no time.
pub fn time_limit(seconds: Option<u64>, text: Option<Address>) -> Result<Duration> {
    let wrong = |what: &str| usage("timeout", format!("'timeout' {what}"));
    let seconds = match (seconds, text) {
        (Some(_), Some(_)) => {
            return Err(wrong(
                "and 'timeout_seconds' are the same: give one of them",
            ));
        }
        (None, Some(Address::Text(text))) => {
            return duration(&text).map_err(|what| wrong(&what));
        }
        (None, Some(Address::Number(number))) => number.as_u64(),
        (seconds, None) => seconds,
    };
    Ok(Duration::from_secs(seconds.unwrap_or(600).max(1)))
}

/// The schema of what a struct takes in, its title and its description beside the arguments.
pub fn described<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = schemars::schema_for!(T).to_value();
    tidy(&mut schema);
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

/// Takes out what says nothing to a client: null (an argument left out), defaults that are off or empty, and the formats of
/// numbers, about which clients in JavaScript warn. The lines of a comment become one.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for name in ["$schema", "format", "default"] {
                fields.shift_remove(name);
            }
            if let Some(Value::Array(words)) = fields.get_mut("enum") {
                words.retain(|word| !word.is_null());
            }
            if let Some(Value::Array(types)) = fields.get("type")
                && let Some(only) = types.iter().find(|one| *one != "null").cloned()
            {
                fields.insert("type".to_owned(), only);
            }
            if let Some(Value::Array(choices)) = fields.get("anyOf")
                && let [Value::Object(only), null] = choices.as_slice()
                && null["type"] == "null"
            {
                let only = only.clone();
                fields.shift_remove("anyOf");
                fields.extend(only);
            }
            if let Some(Value::String(text)) = fields.shift_remove("description") {
                fields.insert("description".to_owned(), text.replace('\n', " ").into());
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// The JSON schema of a tool's arguments.
pub fn schema<T: JsonSchema>() -> Map<String, Value> {
    let mut own = described::<T>();
    let mut schema = Map::new();
    let mut properties = properties(&mut own);
    properties.extend(self::properties(&mut described::<Everywhere>()));
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if let Some(required) = own.shift_remove("required") {
        schema.insert("required".to_owned(), required);
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

fn properties(schema: &mut Map<String, Value>) -> Map<String, Value> {
    match schema.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    }
}

/// The arguments of one call, checked. A null is an argument left out, and so is an empty text for one that may be: models send both
/// for what they do not mean. Where an empty text means something, the argument's schema says `minLength: 0`.
///
/// # Errors
/// `USAGE`, with the argument's name: unknown, missing, or not what it takes.
pub fn parse<T: DeserializeOwned + JsonSchema>(
    mut given: Map<String, Value>,
) -> Result<(Everywhere, T)> {
    given.retain(|_, value| !value.is_null());
    let schema = Value::from(schema::<T>());
    given.retain(|name, value| *value != "" || counts_when_empty(&schema, name));
    // Before serde: its messages name neither the argument nor what would do, and a model has nothing else to go by.
    check(&schema, &given)?;
    let dir = given.shift_remove("dir");
    let everywhere = Everywhere {
        dir: dir.and_then(|dir| dir.as_str().map(str::to_owned)),
    };
    // What the schema lets through the struct takes in; this is for a schema that says too little.
    let own = serde_json::from_value(given.into())
        .map_err(|error| Error::usage(format!("the arguments are wrong: {error}")))?;
    Ok((everywhere, own))
}

/// Whether an empty text is more than an argument left out.
fn counts_when_empty(schema: &Value, name: &str) -> bool {
    let mut required = schema["required"].as_array().into_iter().flatten();
    let argument = &schema["properties"][name];
    let takes_text = fits(argument, &"".into()) || argument["enum"].is_array();
    required.any(|one| *one == name) || !takes_text || argument["minLength"] == 0
}

fn check(schema: &Value, given: &Map<String, Value>) -> Result<()> {
    let known = |name: &str| schema["properties"].get(name);
    for (name, value) in given {
        let Some(argument) = known(name) else {
            let all = schema["properties"].as_object().into_iter().flatten();
            let all: Vec<_> = all.map(|(name, _)| name.as_str()).collect();
            return Err(usage(name, format!("unknown argument '{name}'"))
                .hint(format!("the arguments are {}", all.join(", "))));
        };
        if !fits(argument, value) {
            return Err(usage(
                name,
                format!("'{name}' must be {}", what_fits(argument)),
            ));
        }
    }
    let required = schema["required"].as_array().into_iter().flatten();
    let mut missing = required
        .filter_map(Value::as_str)
        .filter(|name| !given.contains_key(*name));
    match missing.next() {
        Some(name) => {
            let about = known(name).and_then(|argument| argument["description"].as_str());
            Err(usage(name, format!("'{name}' is missing"))
                .hint(format!("it is: {}", about.unwrap_or_default())))
        }
        None => Ok(()),
    }
}

fn usage(name: &str, message: String) -> Error {
    Error::usage(message).detail("argument", name)
}

fn fits(schema: &Value, value: &Value) -> bool {
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().any(|choice| fits(choice, value));
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.contains(value);
    }
    match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64() || (value.is_i64() && schema["minimum"].is_null()),
        Some("array") => value
            .as_array()
            .is_some_and(|items| items.iter().all(|item| fits(&schema["items"], item))),
        _ => false,
    }
}

/// What would do, for the sentence "'x' must be …".
fn what_fits(schema: &Value) -> String {
    if let Some(choices) = schema["anyOf"].as_array() {
        let choices: Vec<_> = choices.iter().map(what_fits).collect();
        return choices.join(" or ");
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", words.join(", "));
    }
    match schema["type"].as_str() {
        Some("string") => "a string",
        Some("boolean") => "true or false",
        Some("integer") if schema["minimum"].is_null() => "an integer",
        Some("integer") => "a non-negative integer",
        _ => "a list of strings",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(inline)]
    enum Kind {
        A,
        B,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Request {
        /// The one
        /// that is meant.
        snapshot: Address,
        /// How many.
        limit: Option<usize>,
        /// Of which kind.
        kind: Option<Kind>,
        /// Where.
        #[serde(default)]
        paths: Vec<String>,
        /// In full.
        #[serde(default)]
        all: bool,
        /// Another one.
        other: Option<Address>,
        /// A word, or an empty one.
        #[schemars(length(min = 0))]
        word: Option<String>,
    }

    fn parsed(given: &Value) -> Result<(Everywhere, Request)> {
        parse(given.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn a_schema_says_what_the_struct_takes_in() {
        let expected = json!({
            "type": "object",
            "properties": {
                "snapshot": {
                    "description": "The one that is meant.",
                    "anyOf": [{"type": "string"}, {"type": "integer"}],
                },
                "limit": {"description": "How many.", "type": "integer", "minimum": 0},
                "kind": {"description": "Of which kind.", "type": "string", "enum": ["a", "b"]},
                "paths": {"description": "Where.", "type": "array", "items": {"type": "string"}},
                "all": {"description": "In full.", "type": "boolean"},
                "other": {
                    "description": "Another one.",
                    "anyOf": [{"type": "string"}, {"type": "integer"}],
                },
                "word": {
                    "description": "A word, or an empty one.",
                    "type": "string",
                    "minLength": 0,
                },
            },
            "required": ["snapshot"],
            "additionalProperties": false,
        });
        let mut schema: Value = schema::<Request>().into();
        let dir = schema["properties"]
            .as_object_mut()
            .and_then(|properties| properties.shift_remove("dir"));
        assert_eq!(dir.map(|dir| dir["type"].clone()), Some("string".into()));
        assert_eq!(schema, expected);
    }

    #[test]
    fn only_what_is_listed_gets_in() {
        for (given, message) in [
            (json!({}), "'snapshot' is missing"),
            (json!({"snapshot": null}), "'snapshot' is missing"),
            (
                json!({"snapshot": "a", "force": true}),
                "unknown argument 'force'",
            ),
            (
                json!({"snapshot": ["a"]}),
                "'snapshot' must be a string or an integer",
            ),
            (
                json!({"snapshot": 1.5}),
                "'snapshot' must be a string or an integer",
            ),
            (
                json!({"snapshot": "a", "limit": -1}),
                "'limit' must be a non-negative integer",
            ),
            (
                json!({"snapshot": "a", "kind": "c"}),
                "'kind' must be one of a, b",
            ),
            (
                json!({"snapshot": "a", "paths": "x"}),
                "'paths' must be a list of strings",
            ),
            (
                json!({"snapshot": "a", "paths": ""}),
                "'paths' must be a list of strings",
            ),
            (
                json!({"snapshot": "a", "paths": [1]}),
                "'paths' must be a list of strings",
            ),
            (
                json!({"snapshot": "a", "all": "yes"}),
                "'all' must be true or false",
            ),
            (json!({"snapshot": "a", "dir": 1}), "'dir' must be a string"),
        ] {
            let error = parsed(&given).expect_err("refused");
            assert_eq!(error.code(), crate::error::Code::Usage);
            assert_eq!(error.message(), message, "{given}");
        }
    }

    #[test]
    fn an_address_may_be_a_number() {
        let given = json!({
            "snapshot": 123_456, "limit": 3, "kind": "b", "dir": "x", "all": null, "other": -1,
        });
        let (everywhere, request) = parsed(&given).expect("good");
        assert_eq!(String::from(request.snapshot), "123456");
        assert_eq!(request.other.map(String::from), Some("-1".to_owned()));
        assert_eq!(request.limit, Some(3));
        assert_eq!(request.kind, Some(Kind::B));
        assert_eq!(everywhere.dir.as_deref(), Some("x"));
        assert!(request.paths.is_empty() && !request.all);
    }

    #[test]
    fn an_empty_text_is_left_out_where_it_means_nothing() {
        let given = json!({"snapshot": "", "kind": "", "other": "", "word": "", "dir": ""});
        let (everywhere, request) = parsed(&given).expect("good");
        assert_eq!(String::from(request.snapshot), "");
        assert_eq!((request.kind, everywhere.dir), (None, None));
        assert!(request.other.is_none());
        assert_eq!(request.word.as_deref(), Some(""));
    }
}
