//! JSON documents against their schemas. A small validator knows the keywords that our schemas use and no others.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};

/// Built once: the tests check thousands of documents.
static SCHEMAS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(timewarp::cli::schemas);

/// Fails unless the document keeps to the schema of that name, and every field of it is described there.
#[track_caller]
pub fn check(name: &str, document: &Value) {
    let schema = SCHEMAS
        .get(name)
        .unwrap_or_else(|| panic!("no schema '{name}'"));
    let problems = problems(schema, document);
    assert!(problems.is_empty(), "{name}: {problems:#?}\n{document:#}");
}

/// Reads a document. A key that stands twice in one object is an error: readers take the first, the last or none.
pub fn read(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(text).map(|Strict(value)| value)
}

/// A value with each key once.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Once).map(Self)
    }
}

struct Once;

impl<'de> Visitor<'de> for Once {
    type Value = Value;

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some((key, Strict(value))) = fields.next_entry::<String, _>()? {
            if all.contains_key(&key) {
                return Err(A::Error::custom(format!("the key '{key}' stands twice")));
            }
            all.insert(key, value);
        }
        Ok(all.into())
    }
}

/// Lists of `required` in which a name stands twice, each with its place.
fn required_twice(schema: &Value, at: &str, found: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            let required = fields.get("required").and_then(Value::as_array);
            let mut names: Vec<&str> = required
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            names.sort_unstable();
            let twice = names.windows(2).filter(|pair| pair[0] == pair[1]);
            found.extend(twice.map(|pair| format!("{at}: '{}'", pair[0])));
            for (name, value) in fields {
                required_twice(value, &format!("{at}.{name}"), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                required_twice(item, at, found);
            }
        }
        _ => {}
    }
}

/// What is wrong with the document, each with its place.
fn problems(schema: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    validate(schema, schema, document, "$", &mut found);
    found
}

fn validate(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    for (keyword, wanted) in schema.as_object().expect("a schema is an object") {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "additionalProperties" => {}
            "$ref" => {
                let pointer = wanted.as_str().unwrap().trim_start_matches('#');
                let target = root.pointer(pointer).unwrap_or_else(|| panic!("{wanted}"));
                validate(root, target, value, at, found);
            }
            "type" => {
                let kinds = wanted.as_array().cloned().unwrap_or(vec![wanted.clone()]);
                if !kinds
                    .iter()
                    .any(|kind| is_kind(kind.as_str().unwrap(), value))
                {
                    found.push(format!("{at}: {value} is not {wanted}"));
                }
            }
            "const" => {
                if value != wanted {
                    found.push(format!("{at}: {value} is not {wanted}"));
                }
            }
            "enum" => {
                if !wanted.as_array().unwrap().contains(value) {
                    found.push(format!("{at}: {value} is none of {wanted}"));
                }
            }
            "anyOf" => {
                let fits = |one: &Value| {
                    let mut faults = Vec::new();
                    validate(root, one, value, at, &mut faults);
                    faults.is_empty()
                };
                if !wanted.as_array().unwrap().iter().any(fits) {
                    found.push(format!("{at}: {value} is none of {wanted}"));
                }
            }
            "required" => {
                for name in wanted.as_array().unwrap() {
                    let name = name.as_str().unwrap();
                    if value.is_object() && value.get(name).is_none() {
                        found.push(format!("{at}.{name}: missing"));
                    }
                }
            }
            "properties" => properties(root, schema, value, at, found),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    validate(root, wanted, item, &format!("{at}[{index}]"), found);
                }
            }
            other => panic!("the validator does not know '{other}'"),
        }
    }
}

/// Published objects are open; here a field that the schema does not name is a mistake, unless it says that any may come.
fn properties(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(schema) => validate(root, schema, value, &format!("{at}.{name}"), found),
            None if schema.get("additionalProperties") == Some(&true.into()) => {}
            None => found.push(format!("{at}.{name}: not in the schema")),
        }
    }
}

fn is_kind(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the validator does not know the type '{other}'"),
    }
}

#[test]
fn the_validator_finds_every_kind_of_fault() {
    let schema = json!({
        "type": "object", "required": ["a"], "$defs": {"word": {"type": "string", "enum": ["x"]}},
        "properties": {
            "a": {"type": ["integer", "null"]}, "b": {"type": "array", "items": {"$ref": "#/$defs/word"}},
            "c": {"const": true}, "d": {"type": "object", "additionalProperties": true, "properties": {}},
            "f": {"anyOf": [{"$ref": "#/$defs/word"}, {"type": "null"}]},
        },
    });
    let good = json!({"a": null, "b": ["x"], "c": true, "d": {"any": 1}});
    assert_eq!(problems(&schema, &good), Vec::<String>::new());
    assert!(problems(&schema, &json!({"a": 1, "f": null})).is_empty());
    for (bad, fault) in [
        (json!({}), "$.a: missing"),
        (json!({"a": 1.5}), "$.a: 1.5 is not [\"integer\",\"null\"]"),
        (
            json!({"a": 1, "b": ["y"]}),
            "$.b[0]: \"y\" is none of [\"x\"]",
        ),
        (json!({"a": 1, "c": false}), "$.c: false is not true"),
        (json!({"a": 1, "e": 1}), "$.e: not in the schema"),
        (
            json!({"a": 1, "f": "y"}),
            r##"$.f: "y" is none of [{"$ref":"#/$defs/word"},{"type":"null"}]"##,
        ),
        (json!([]), "$: [] is not \"object\""),
    ] {
        assert_eq!(problems(&schema, &bad), [fault]);
    }
}

#[test]
fn a_key_that_stands_twice_is_found() {
    let text = br#"{"a": [{"b": 1, "c": -1.5, "d": null}], "b": "x", "e": true}"#;
    let plain: Value = serde_json::from_slice(text).unwrap();
    assert_eq!(read(text).unwrap(), plain);
    let error = read(br#"{"a": [{"b": 1, "b": 1}]}"#).unwrap_err();
    assert!(error.to_string().contains("'b' stands twice"), "{error}");
}

/// Strict validators refuse a schema that asks for a name twice; such a document has the key twice.
#[test]
fn no_schema_asks_for_a_name_twice() {
    let mut found = Vec::new();
    for (name, schema) in SCHEMAS.iter() {
        required_twice(schema, name, &mut found);
    }
    for dir in ["schemas", "tests/golden"] {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
        for entry in std::fs::read_dir(dir).unwrap() {
            let file = entry.unwrap().path();
            if file.extension().is_some_and(|end| end == "json") {
                let name = file.display().to_string();
                let kept = read(&std::fs::read(&file).unwrap());
                required_twice(
                    &kept.unwrap_or_else(|error| panic!("{name}: {error}")),
                    &name,
                    &mut found,
                );
            }
        }
    }
    assert_eq!(found, [""; 0]);
}
