//! Where the parts of a JSON text stand, in bytes: so that one value can be replaced and every other byte kept.
//!
//! Works on texts that a JSON parser has accepted; on others it finds nothing, and never fails.

use std::ops::Range;

use crate::text::without_mark;

/// One member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The raw bytes between the key's quotes.
    pub key: Range<usize>,
    /// The value, without the space around it.
    pub value: Range<usize>,
}

/// The members of the object that `range` of `text` holds.
pub fn members(text: &[u8], range: Range<usize>) -> Vec<Member> {
    let mut found = Vec::new();
    let Some(mut at) = opening(text, &range, b'{') else {
        return found;
    };
    loop {
        at = skip_space(text, at);
        if text.get(at) != Some(&b'"') {
            return found;
        }
        let key_end = skip_value(text, at);
        let colon = skip_space(text, key_end);
        if text.get(colon) != Some(&b':') {
            return found;
        }
        let start = skip_space(text, colon + 1);
        let end = skip_value(text, start);
        if end <= start || end > range.end {
            return found;
        }
        found.push(Member {
            key: at + 1..key_end - 1,
            value: start..end,
        });
        at = skip_space(text, end);
        if text.get(at) != Some(&b',') {
            return found;
        }
        at += 1;
    }
}

/// The elements of the array that `range` of `text` holds.
pub fn elements(text: &[u8], range: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let Some(mut at) = opening(text, &range, b'[') else {
        return found;
    };
    loop {
        let start = skip_space(text, at);
        let end = skip_value(text, start);
        if end <= start || end > range.end {
            return found;
        }
        found.push(start..end);
        at = skip_space(text, end);
        if text.get(at) != Some(&b',') {
            return found;
        }
        at += 1;
    }
}

/// The value at a path of keys, from the object in `text`. Of equal keys the last counts, as JSON parsers have it.
pub fn find(text: &[u8], path: &[&str]) -> Option<Range<usize>> {
    let mut range = 0..text.len();
    for key in path {
        range = members(text, range)
            .into_iter()
            // Keys are compared as they are written: agents do not escape the names of their own fields.
            .rfind(|member| text.get(member.key.clone()) == Some(key.as_bytes()))?
            .value;
    }
    Some(range)
}

fn opening(text: &[u8], range: &Range<usize>, bracket: u8) -> Option<usize> {
    let start = skip_space(text, range.start);
    (start < range.end && text.get(start) == Some(&bracket)).then_some(start + 1)
}

fn skip_space(text: &[u8], mut at: usize) -> usize {
    if at == 0 {
        at = text.len() - without_mark(text).len();
    }
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// The end of the value that starts at `at`; `at` itself when there is none.
fn skip_value(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b'"') => skip_string(text, at),
        Some(b'{' | b'[') => skip_container(text, at),
        _ => {
            let rest = text.get(at..).unwrap_or_default();
            let stop = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
            at + rest.iter().position(stop).unwrap_or(rest.len())
        }
    }
}

fn skip_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

fn skip_container(text: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                at = skip_string(text, at);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<'a>(text: &'a str, path: &[&str]) -> Option<&'a str> {
        find(text.as_bytes(), path).and_then(|range| text.get(range))
    }

    #[test]
    fn values_are_found_whatever_surrounds_them() {
        let text = r#" {"a" : "x\"}" , "b":{"c":[1,{"d":2}],"e":null}, "a":true }"#;
        assert_eq!(shown(text, &["a"]), Some("true"), "the last of equal keys");
        assert_eq!(shown(text, &["b", "c"]), Some(r#"[1,{"d":2}]"#));
        assert_eq!(shown(text, &["b", "e"]), Some("null"));
        assert_eq!(shown(text, &["b", "x"]), None);
        assert_eq!(shown(text, &["a", "x"]), None);
        let first = &members(text.as_bytes(), 0..text.len())[0];
        assert_eq!(text.get(first.value.clone()), Some(r#""x\"}""#));
    }

    #[test]
    fn elements_are_counted_across_lines() {
        let text = "[ \"a,]\",\n [1, 2] ,3 ]";
        let found: Vec<_> = elements(text.as_bytes(), 0..text.len())
            .into_iter()
            .filter_map(|range| text.get(range))
            .collect();
        assert_eq!(found, ["\"a,]\"", "[1, 2]", "3"]);
        assert!(elements(b"[]", 0..2).is_empty());
        assert!(members(b"{}", 0..2).is_empty());
    }

    #[test]
    fn broken_text_yields_nothing_and_does_not_fail() {
        for text in [
            "", "{", "{\"a", "{\"a\"", "{\"a\":", "{\"a\\", "[", "nonsense", "{]",
        ] {
            let _ = members(text.as_bytes(), 0..text.len());
            let _ = elements(text.as_bytes(), 0..text.len());
        }
    }
}
