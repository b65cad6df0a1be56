//! JSON schemas of the documents, each named like the command that prints it. Which those are, each command in `cli` says.
//!
//! Promises: plain JSON Schema 2020-12, each document complete in itself (`$ref` only into its own `$defs`). Objects are
//! open: more fields may come. They are derived from the outcomes, whose comments are the descriptions, and only when they are
//! asked for. Leaves out: limits on text and numbers; the types and names are the contract.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::{Failure, Success};

/// A document, by the command that prints it.
#[derive(Debug, Clone, Copy)]
pub struct Document {
    command: &'static str,
    /// What it is called, where that is not the command.
    name: Option<&'static str>,
    /// When that command prints it, where another call of it prints another.
    when: &'static str,
    describe: fn(&str) -> Value,
}

/// The document of an outcome.
pub const fn document<T: JsonSchema>(command: &'static str) -> Document {
    Document {
        command,
        name: None,
        when: "",
        describe: of_root::<Success<T>>,
    }
}

impl Document {
    /// With words behind the command that say when it prints this document.
    #[must_use]
    pub const fn when(self, when: &'static str) -> Self {
        Self { when, ..self }
    }

    /// Under another name than the command's, which prints several.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Self {
        Self {
            name: Some(name),
            ..self
        }
    }

    /// Its name: that of the command, `recover-dropped` for `recover --dropped`.
    pub fn name(&self) -> String {
        let name = self.name.unwrap_or(self.command);
        name.replace(" --", "-").replace(' ', "-")
    }

    /// Its schema.
    pub fn schema(&self) -> Value {
        let Self { command, when, .. } = self;
        let title = format!("tw {command} --json {when}");
        (self.describe)(title.trim_end())
    }
}

/// The schema of an error's document.
pub fn of_error() -> Value {
    of_root::<Failure<'_>>("any failed tw command with --json")
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
