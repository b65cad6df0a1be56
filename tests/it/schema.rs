//! JSON documents against their schemas. A small validator knows the keywords that our schemas use and no others.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Value, json};

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
