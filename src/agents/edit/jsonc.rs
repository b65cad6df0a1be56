//! JSON with comments and trailing commas, read into places: where each value, member and comma stands.
//!
//! The grammar is the library's, with everything switched off that no agent's settings allow.

use std::ops::Range;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast, parse_to_serde_value,
};

/// Deeper nesting is refused: `serde_json` would not read it.
const DEEPEST: usize = 128;

/// Comments and trailing commas are all that may differ from JSON.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A value and where it stands.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its first byte.
    pub start: usize,
    /// Behind its last byte.
    pub end: usize,
    /// The value itself.
    pub kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// `{…}` or `[…]`.
    Container(Items),
    /// Anything else.
    Scalar,
}

/// What stands in a container.
#[derive(Debug, Clone)]
pub struct Items {
    /// Whether it is an object.
    pub is_object: bool,
    /// Its members or elements, in order.
    pub list: Vec<Item>,
}

/// A member of an object, or an element of an array.
#[derive(Debug, Clone)]
pub struct Item {
    /// Its first byte: a member's is its key's.
    pub start: usize,
    /// The key, decoded; empty in an array.
    pub key: String,
    /// Behind the last byte of the key; in an array as `start`.
    pub key_end: usize,
    /// The value.
    pub value: Node,
    /// The comma behind it.
    pub comma: Option<usize>,
}

/// Reads a whole text. `None` when it is no JSON, also with comments.
pub fn parse(text: &str) -> Option<Node> {
    let json = text.trim_start_matches('\u{feff}');
    let collected = CollectOptions {
        comments: CommentCollectionStrategy::AsTokens,
        tokens: true,
    };
    let parsed = parse_to_ast(json, &collected, &OPTIONS).ok()?;
    let tokens = parsed.tokens?;
    if !has_plain_blanks(json, &tokens) {
        return None;
    }
    let places = Places {
        offset: text.len() - json.len(),
        tokens: &tokens,
    };
    places.node(&parsed.value?, 0)
}

/// Whether only JSON's own blanks stand between tokens: the library takes any that Unicode knows.
fn has_plain_blanks(text: &str, tokens: &[TokenAndRange<'_>]) -> bool {
    let starts = tokens.iter().map(Ranged::start);
    let ends = tokens.iter().map(Ranged::end);
    let gaps = std::iter::once(0)
        .chain(ends)
        .zip(starts.chain([text.len()]));
    gaps.into_iter().all(|(from, to)| {
        let gap = text.get(from..to).unwrap_or_default();
        gap.bytes().all(|byte| b" \t\n\r".contains(&byte))
    })
}

/// The value of a text, without its comments.
pub fn value(text: &str) -> Option<serde_json::Value> {
    parse_to_serde_value(text, &OPTIONS).ok()
}

struct Places<'t> {
    /// Where the JSON begins in the text.
    offset: usize,
    tokens: &'t [TokenAndRange<'t>],
}

impl Places<'_> {
    fn node(&self, value: &Value<'_>, depth: usize) -> Option<Node> {
        if depth > DEEPEST {
            return None;
        }
        let kind = match value {
            Value::Object(object) => {
                let members = object.properties.iter();
                let members = members.map(|member| {
                    let name = member.name.as_str().to_owned();
                    (member.start()..member.name.end(), name, &member.value)
                });
                self.container(true, members, depth)?
            }
            Value::Array(array) => {
                let elements = array.elements.iter();
                let elements =
                    elements.map(|value| (value.start()..value.start(), String::new(), value));
                self.container(false, elements, depth)?
            }
            // The library takes numbers that JSON does not know, such as `01`.
            Value::NumberLit(number) => {
                serde_json::from_str::<serde_json::Number>(number.value).ok()?;
                Kind::Scalar
            }
            _ => Kind::Scalar,
        };
        Some(Node {
            start: self.offset + value.start(),
            end: self.offset + value.end(),
            kind,
        })
    }

    fn container<'v>(
        &self,
        is_object: bool,
        items: impl Iterator<Item = (Range<usize>, String, &'v Value<'v>)>,
        depth: usize,
    ) -> Option<Kind> {
        let list = items
            .map(|(name, key, value)| {
                Some(Item {
                    start: self.offset + name.start,
                    key,
                    key_end: self.offset + name.end,
                    value: self.node(value, depth + 1)?,
                    comma: self.comma_behind(value.end()),
                })
            })
            .collect::<Option<_>>()?;
        Some(Kind::Container(Items { is_object, list }))
    }

    fn comma_behind(&self, end: usize) -> Option<usize> {
        let next = self.tokens.partition_point(|token| token.start() < end);
        let is_comment =
            |token: &Token<'_>| matches!(token, Token::CommentLine(_) | Token::CommentBlock(_));
        let mut rest = self.tokens.get(next..)?.iter();
        let next = rest.find(|next| !is_comment(&next.token))?;
        (next.token == Token::Comma).then(|| self.offset + next.start())
    }
}
