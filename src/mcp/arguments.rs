//! The arguments of a tool: a closed list, described once for the schema and for the check of a call.

use std::ffi::OsString;

use serde_json::{Map, Value, json};

use crate::error::{Code, Error, Result};

/// What an argument takes.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A text.
    Text,
    /// A snapshot, checkpoint or issue: a text, or a number where it is all digits.
    Address,
    /// Yes or no.
    Flag,
    /// A number, 0 or more.
    Count,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of texts.
    Texts,
}

/// One argument.
#[derive(Debug, Clone, Copy)]
pub struct Arg {
    /// Its name: that of the command's flag, in `snake_case`.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// A call without it is refused.
    pub required: bool,
    /// What it means.
    pub about: &'static str,
}

impl Arg {
    /// One that may be left out.
    pub const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            kind,
            required: false,
            about,
        }
    }

    /// One that a call must have.
    pub const fn required(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            kind,
            required: true,
            about,
        }
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text => json!({"type": "string"}),
            Kind::Address => json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::Count => json!({"type": "integer", "minimum": 0}),
            Kind::Word(words) => json!({"type": "string", "enum": words}),
            Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        };
        schema["description"] = self.about.into();
        schema
    }

    fn check(&self, value: &Value) -> Result<()> {
        let fits = match self.kind {
            Kind::Text => value.is_string(),
            Kind::Address => value.is_string() || value.is_i64() || value.is_u64(),
            Kind::Flag => value.is_boolean(),
            Kind::Count => value
                .as_u64()
                .is_some_and(|count| count < u64::from(u32::MAX)),
            Kind::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Kind::Texts => value
                .as_array()
                .is_some_and(|list| list.iter().all(Value::is_string)),
        };
        if fits {
            return Ok(());
        }
        let wanted = match self.kind {
            Kind::Text => "a string".to_owned(),
            Kind::Address => "a string or an integer".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Count => "an integer, 0 or more".to_owned(),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
            Kind::Texts => "a list of strings".to_owned(),
        };
        Err(usage(self.name, format!("'{}' is {wanted}", self.name)))
    }
}

/// Every tool has it.
pub const DIR: Arg = Arg::new(
    "dir",
    Kind::Text,
    "Work in the repository of this directory, which has to lie in a root that the client announced. Default: where the \
     server was started.",
);

/// Every tool that replaces files has it.
pub const DRY_RUN: Arg = Arg::new(
    "dry_run",
    Kind::Flag,
    "List what would change, and change nothing.",
);

fn usage(name: &str, message: String) -> Error {
    Error::new(Code::Usage, message).detail("argument", name)
}

/// The JSON schema of a list of arguments.
pub fn schema(args: &[Arg]) -> Map<String, Value> {
    let every = || args.iter().chain([&DIR]);
    let properties: Map<String, Value> = every()
        .map(|arg| (arg.name.to_owned(), arg.schema()))
        .collect();
    let required: Vec<_> = every()
        .filter(|arg| arg.required)
        .map(|arg| arg.name)
        .collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// The arguments of one call, checked.
#[derive(Debug)]
pub struct Arguments(Map<String, Value>);

impl Arguments {
    /// Checks a call's arguments against the list. A null is an argument left out.
    ///
    /// # Errors
    /// `USAGE`, with the argument's name: unknown, missing, or not what it takes.
    pub fn check(args: &[Arg], mut given: Map<String, Value>) -> Result<Self> {
        given.retain(|_, value| !value.is_null());
        let every = || args.iter().chain([&DIR]);
        for (name, value) in &given {
            let Some(arg) = every().find(|arg| arg.name == name) else {
                let known: Vec<_> = every().map(|arg| arg.name).collect();
                return Err(usage(name, format!("there is no argument '{name}'"))
                    .hint(format!("the arguments are {}", known.join(", "))));
            };
            arg.check(value)?;
        }
        match every().find(|arg| arg.required && !given.contains_key(arg.name)) {
            Some(missing) => {
                let message = format!("'{}' is missing", missing.name);
                Err(usage(missing.name, message).hint(format!("it is: {}", missing.about)))
            }
            None => Ok(Self(given)),
        }
    }

    /// A text or a word.
    pub fn text(&self, name: &str) -> Option<String> {
        self.0.get(name)?.as_str().map(str::to_owned)
    }

    /// An address, also when it came as a number.
    pub fn address(&self, name: &str) -> Option<String> {
        match self.0.get(name)? {
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// An address that the list requires.
    pub fn needed(&self, name: &str) -> String {
        self.address(name).unwrap_or_default()
    }

    /// A flag; left out it is off.
    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// A number.
    pub fn count(&self, name: &str) -> Option<usize> {
        usize::try_from(self.0.get(name)?.as_u64()?).ok()
    }

    /// A list of texts; empty when left out.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let list = self.0.get(name).and_then(Value::as_array);
        let texts = list.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    }

    /// A list of paths; empty when left out.
    pub fn paths(&self, name: &str) -> Vec<OsString> {
        self.texts(name).into_iter().map(OsString::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARGS: [Arg; 4] = [
        Arg::required("snapshot", Kind::Address, "Which."),
        Arg::new("limit", Kind::Count, "How many."),
        Arg::new("kind", Kind::Word(&["a", "b"]), "Of which kind."),
        Arg::new("paths", Kind::Texts, "Where."),
    ];

    fn refused(given: &Value) -> String {
        let given = given.as_object().cloned().unwrap_or_default();
        let error = Arguments::check(&ARGS, given).expect_err("refused");
        assert_eq!(error.code(), Code::Usage);
        error.message().to_owned()
    }

    #[test]
    fn only_what_is_listed_gets_in() {
        for (given, message) in [
            (json!({}), "'snapshot' is missing"),
            (json!({"snapshot": null}), "'snapshot' is missing"),
            (
                json!({"snapshot": "a", "force": true}),
                "there is no argument 'force'",
            ),
            (
                json!({"snapshot": ["a"]}),
                "'snapshot' is a string or an integer",
            ),
            (
                json!({"snapshot": 1.5}),
                "'snapshot' is a string or an integer",
            ),
            (
                json!({"snapshot": "a", "limit": -1}),
                "'limit' is an integer, 0 or more",
            ),
            (
                json!({"snapshot": "a", "kind": "c"}),
                "'kind' is one of a, b",
            ),
            (
                json!({"snapshot": "a", "paths": "x"}),
                "'paths' is a list of strings",
            ),
        ] {
            assert_eq!(refused(&given), message, "{given}");
        }
    }

    #[test]
    fn an_address_may_be_a_number() {
        let given = json!({"snapshot": 123_456, "limit": 3, "dir": null});
        let given = given.as_object().cloned().expect("an object");
        let arguments = Arguments::check(&ARGS, given).expect("good");
        assert_eq!(arguments.needed("snapshot"), "123456");
        assert_eq!(arguments.count("limit"), Some(3));
        assert_eq!(arguments.text("dir"), None);
        assert!(arguments.paths("paths").is_empty());
    }
}
