//! What outcomes and records need to describe themselves as JSON, where serde alone has no form for it: bytes that ought to be
//! text, ids that print themselves, files that `tw` named.
//!
//! Promises: text that is not UTF-8 stands lossy under its name, with its exact bytes in base64 beside it: `path` with
//! `path_bytes`, and for a list `written` with `written_bytes`, a list of the same length in which an entry is null where the
//! text is exact. The `_bytes` fields are absent when nothing needs them. Leaves out what is common to whole documents, which
//! is `wire`'s.

use std::borrow::Cow;
use std::fmt::Display;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

/// A record as it is written into a file: pretty, with a line feed. What is written replaces what was there, so nothing stands in for
/// a value that has no JSON form.
///
/// # Panics
/// On a map whose keys are not text, which none of our types has.
pub fn pretty(value: &impl Serialize) -> Vec<u8> {
    let mut bytes =
        serde_json::to_vec_pretty(value).expect("plain data with text keys has a JSON form");
    bytes.push(b'\n');
    bytes
}

/// The fields of a record.
///
/// # Panics
/// As [`pretty`], and on what is not a struct or a map.
pub fn object(value: &impl Serialize) -> Map<String, Value> {
    let value = serde_json::to_value(value).expect("plain data with text keys has a JSON form");
    let fields = match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    };
    fields.expect("a record is a struct, which is an object")
}

/// What ought to be text and is bytes.
pub trait Bytes {
    /// The bytes.
    fn bytes(&self) -> &[u8];
}

impl Bytes for &[u8] {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl Bytes for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl Bytes for PathBuf {
    fn bytes(&self) -> &[u8] {
        self.as_os_str().as_bytes()
    }
}

fn lossy<B: Bytes>(value: &B) -> Cow<'_, str> {
    String::from_utf8_lossy(value.bytes())
}

/// The exact bytes in base64, when the text is not exact.
fn exact<B: Bytes>(value: &B) -> Option<String> {
    std::str::from_utf8(value.bytes())
        .is_err()
        .then(|| STANDARD.encode(value.bytes()))
}

/// Where bytes stand in a document. `fields!` declares it.
pub trait Field {
    /// The name of the text.
    const NAME: &'static str;
    /// The name of the exact bytes.
    const BESIDE: &'static str;
    /// Both names.
    const BOTH: &'static [&'static str] = &[Self::NAME, Self::BESIDE];
    /// The text's description in the schema; empty: none.
    const ABOUT: &'static str;
}

/// Declares under which names bytes stand, for [`Text`] and [`Texts`]. A doc comment is the description in the schema.
macro_rules! fields {
    ($($(#[doc = $about:literal])* $field:ident = $name:literal),* $(,)?) => {$(
        enum $field {}

        impl $crate::json::Field for $field {
            const NAME: &'static str = $name;
            const BESIDE: &'static str = concat!($name, "_bytes");
            const ABOUT: &'static str = concat!("", $($about),*);
        }
    )*};
}
pub(crate) use fields;

/// Has a type stand in JSON as its `as_str` says.
macro_rules! stands_as_word {
    ($words:ident) => {
        impl serde::Serialize for $words {
            fn serialize<S: serde::Serializer>(
                &self,
                serializer: S,
            ) -> std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
}
pub(crate) use stands_as_word;

/// Gives an enum its words, in one place: in JSON, in its schema, in messages and on the command line each variant is the same word.
/// What is read and no such word is refused, naming those that there are.
macro_rules! words {
    ($words:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $words {
            /// All of them, in their order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// What a word names.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.as_str() == word)
            }
        }

        $crate::json::stands_as_word!($words);

        impl<'de> serde::Deserialize<'de> for $words {
            fn deserialize<D: serde::Deserializer<'de>>(
                deserializer: D,
            ) -> std::result::Result<Self, D::Error> {
                let word = <String as serde::Deserialize>::deserialize(deserializer)?;
                Self::parse(&word)
                    .ok_or_else(|| serde::de::Error::unknown_variant(&word, &[$($word),+]))
            }
        }

        impl schemars::JsonSchema for $words {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($words).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"oneOf": [$({"type": "string", "const": $word}),+]})
            }
        }
    };
}
pub(crate) use words;

/// As [`words`], for words that are stored and that a later version has more of: `Other` keeps such
/// a one as it stands. Behind `or` stands the variant for the words of another enum of this kind.
macro_rules! open_words {
    ($words:ident { $($variant:ident = $word:literal),+ $(,)? } $(or $nested:ident($inner:ident))?) => {
        impl $words {
            /// The word.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    $(Self::$nested(inner) => inner.as_str(),)?
                    Self::Other(word) => word,
                }
            }
        }

        impl From<String> for $words {
            /// What a word names.
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$variant,)+
                    _ => {
                        $(let word = match $inner::from(word) {
                            $inner::Other(word) => word,
                            known => return Self::$nested(known),
                        };)?
                        Self::Other(word)
                    }
                }
            }
        }

        impl From<&str> for $words {
            fn from(word: &str) -> Self {
                Self::from(word.to_owned())
            }
        }

        impl std::fmt::Display for $words {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str(self.as_str())
            }
        }

        $crate::json::stands_as_word!($words);

        impl<'de> serde::Deserialize<'de> for $words {
            fn deserialize<D: serde::Deserializer<'de>>(
                deserializer: D,
            ) -> std::result::Result<Self, D::Error> {
                <String as serde::Deserialize>::deserialize(deserializer).map(Self::from)
            }
        }

        impl schemars::JsonSchema for $words {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($words).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                <String as schemars::JsonSchema>::json_schema(generator)
            }
        }
    };
}
pub(crate) use open_words;

/// One text: `#[serde(flatten, with = "Text::<Declared>")]`.
pub struct Text<F>(PhantomData<F>);

impl<F: Field> Text<F> {
    /// Serialises the text, and its bytes where it is not exact.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<B: Bytes, S: Serializer>(value: &B, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(F::NAME, &lossy(value))?;
        if let Some(exact) = exact(value) {
            map.serialize_entry(F::BESIDE, &exact)?;
        }
        map.end()
    }
}

/// A text that is absent for None: `#[serde(flatten, with = "OptionalText::<Declared>")]`.
pub struct OptionalText<F>(PhantomData<F>);

impl<F: Field> OptionalText<F> {
    /// Serialises the text, if there is one, and its bytes where it is not exact.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<B: Bytes, S: Serializer>(
        value: &Option<B>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => Text::<F>::serialize(value, serializer),
            // Flattened, an empty map adds no field at all.
            None => serializer.serialize_map(Some(0))?.end(),
        }
    }
}

/// A text that is null for None: `#[serde(flatten, with = "TextOrNull::<Declared>")]`.
pub struct TextOrNull<F>(PhantomData<F>);

impl<F: Field> TextOrNull<F> {
    /// Serialises the text or null, and the text's bytes where it is not exact.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<B: Bytes, S: Serializer>(
        value: &Option<B>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let Some(value) = value else {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(F::NAME, &())?;
            return map.end();
        };
        Text::<F>::serialize(value, serializer)
    }
}

/// A list of texts: `#[serde(flatten, with = "Texts::<Declared>")]`.
pub struct Texts<F>(PhantomData<F>);

impl<F: Field> Texts<F> {
    /// Serialises the texts, and the bytes of those that are not exact.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<B: Bytes, S: Serializer>(
        values: &[B],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let (texts, bytes) = texts(values);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(F::NAME, &texts)?;
        if let Some(bytes) = bytes {
            map.serialize_entry(F::BESIDE, &bytes)?;
        }
        map.end()
    }

    /// Reads both lists back as bytes.
    ///
    /// # Errors
    /// The list of texts is not there, or one of the two is none; what is said of the bytes is no base64.
    pub fn deserialize<'de, B: From<Vec<u8>>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<B>, D::Error> {
        deserializer.deserialize_struct(F::NAME, F::BOTH, TextsVisitor::<F, B>(PhantomData))
    }
}

struct TextsVisitor<F, B>(PhantomData<(F, B)>);

impl<'de, F: Field, B: From<Vec<u8>>> Visitor<'de> for TextsVisitor<F, B> {
    type Value = Vec<B>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "the list '{}'", F::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut texts: Option<Vec<String>> = None;
        let mut exact: Vec<Option<String>> = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == F::NAME {
                texts = Some(map.next_value()?);
            } else if name == F::BESIDE {
                exact = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        let texts = texts.ok_or_else(|| A::Error::missing_field(F::NAME))?;
        exact.resize(texts.len(), None);
        let each = texts.into_iter().zip(exact).map(|(text, exact)| {
            let bytes = match exact {
                Some(exact) => STANDARD.decode(exact).map_err(A::Error::custom)?,
                None => text.into_bytes(),
            };
            Ok(B::from(bytes))
        });
        each.collect()
    }
}

/// Texts, and the exact bytes of those that are not exact; None where all are.
pub fn texts<B: Bytes>(values: &[B]) -> (Vec<Cow<'_, str>>, Option<Vec<Option<String>>>) {
    let bytes: Vec<_> = values.iter().map(exact).collect();
    let is_needed = bytes.iter().any(Option::is_some);
    (
        values.iter().map(lossy).collect(),
        is_needed.then_some(bytes),
    )
}

fn field_schema<F: Field>(mut text: Value, bytes: Value) -> Schema {
    if !F::ABOUT.is_empty() {
        text["description"] = F::ABOUT.trim().into();
    }
    let properties = Map::from_iter([(F::NAME.to_owned(), text), (F::BESIDE.to_owned(), bytes)]);
    json_schema!({"type": "object", "properties": properties, "required": [F::NAME]})
}

/// Of one text, which has this type.
fn text_schema<F: Field>(kind: &Value) -> Schema {
    let about = "base64 of the exact bytes; absent when they are UTF-8";
    field_schema::<F>(
        json!({"type": kind}),
        json!({"type": "string", "description": about}),
    )
}

impl<F: Field> JsonSchema for Text<F> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        F::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        text_schema::<F>(&json!("string"))
    }
}

impl<F: Field> JsonSchema for OptionalText<F> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        F::NAME.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Text::<F>::json_schema(generator);
        schema.remove("required");
        schema
    }
}

impl<F: Field> JsonSchema for TextOrNull<F> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        F::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        text_schema::<F>(&json!(["string", "null"]))
    }
}

impl<F: Field> JsonSchema for Texts<F> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        F::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let about =
            "base64 of each path that is not UTF-8, null for the others; absent when all are UTF-8";
        field_schema::<F>(
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": "array", "items": {"type": ["string", "null"]}, "description": about}),
        )
    }
}

/// Serialises what prints itself, such as an id, as a string.
///
/// # Errors
/// The serializer's.
pub fn printed<S: Serializer>(value: &impl Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Serialises what prints itself, or null.
///
/// # Errors
/// The serializer's.
pub fn printed_or_null<S: Serializer>(
    value: &Option<impl Display>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => printed(value, serializer),
        None => serializer.serialize_none(),
    }
}

/// Serialises a file as text alone: `tw` chose all of its name but the repository's directory.
///
/// # Errors
/// The serializer's.
pub fn file<S: Serializer>(file: &PathBuf, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&lossy(file))
}

/// Serialises a file as text alone, or null.
///
/// # Errors
/// The serializer's.
pub fn file_or_null<S: Serializer>(
    file: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    file.as_ref().map(lossy).serialize(serializer)
}

/// Serialises bytes as text alone, or null.
///
/// # Errors
/// The serializer's.
pub fn lossy_or_null<S: Serializer>(
    value: &Option<Vec<u8>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.as_ref().map(lossy).serialize(serializer)
}

/// Serialises files as text alone.
///
/// # Errors
/// The serializer's.
pub fn files<S: Serializer>(files: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(files.iter().map(lossy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[test]
    #[should_panic(expected = "has a JSON form")]
    fn nothing_is_written_instead_of_what_has_no_json_form() {
        pretty(&std::collections::BTreeMap::from([(vec![1], 1)]));
    }

    fields! {
        /// Where it is.
        Place = "path",
        Places = "written",
    }

    #[derive(Serialize, JsonSchema)]
    struct Record {
        #[serde(flatten, with = "Text::<Place>")]
        path: Vec<u8>,
        #[serde(flatten, with = "Texts::<Places>")]
        written: Vec<PathBuf>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Kept {
        #[serde(flatten, with = "Texts::<Places>")]
        written: Vec<Vec<u8>>,
        #[serde(flatten)]
        extra: Map<String, Value>,
    }

    #[test]
    fn what_is_kept_is_read_back_with_its_bytes() {
        for written in [vec![b"a".to_vec(), b"b\xff".to_vec()], Vec::new()] {
            let kept = Kept {
                written,
                extra: Map::from_iter([("later".to_owned(), json!(1))]),
            };
            let read: Result<Kept, _> = serde_json::from_value(json!(kept));
            assert_eq!(read.ok(), Some(kept));
        }
        let read: Result<Kept, _> = serde_json::from_value(json!({"other": 1}));
        assert!(read.is_err_and(|error| error.to_string().contains("written")));
    }

    fn text(path: &[u8], written: &[&[u8]]) -> String {
        let file = |bytes: &&[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
        let record = Record {
            path: path.to_vec(),
            written: written.iter().map(file).collect(),
        };
        serde_json::to_string(&record).unwrap_or_default()
    }

    #[test]
    fn exact_bytes_stand_only_where_the_text_is_not_exact() {
        assert_eq!(text(b"a", &[b"b"]), r#"{"path":"a","written":["b"]}"#);
        assert_eq!(
            text(b"b\xff", &[b"a", b"b\xff"]),
            r#"{"path":"b�","path_bytes":"Yv8=","written":["a","b�"],"written_bytes":[null,"Yv8="]}"#
        );
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Fruit {
        Apple,
        BloodOrange,
    }

    words!(Fruit {
        Apple = "apple",
        BloodOrange = "blood-orange",
    });

    #[test]
    fn a_word_is_the_same_wherever_it_stands() {
        for fruit in Fruit::ALL {
            assert_eq!(json!(fruit), fruit.as_str());
            assert_eq!(Fruit::parse(fruit.as_str()), Some(fruit));
            let read: Result<Fruit, _> = serde_json::from_value(json!(fruit));
            assert_eq!(read.ok(), Some(fruit));
        }
        let schema = schemars::schema_for!(Fruit).to_value();
        let one = |word: &str| json!({"type": "string", "const": word});
        let words = json!([one("apple"), one("blood-orange")]);
        assert_eq!(schema["oneOf"], words);
        let refused =
            serde_json::from_value::<Fruit>(json!("pear")).map_err(|error| error.to_string());
        assert_eq!(
            refused.err().as_deref(),
            Some("unknown variant `pear`, expected `apple` or `blood-orange`")
        );
    }

    #[test]
    fn the_schema_names_both_and_requires_the_text() {
        let schema = schemars::schema_for!(Record).to_value();
        assert_eq!(schema["required"], json!(["path", "written"]));
        assert_eq!(schema["properties"]["path"]["description"], "Where it is.");
        let bytes = &schema["properties"]["written_bytes"];
        assert_eq!(bytes["items"]["type"], json!(["string", "null"]));
    }
}
