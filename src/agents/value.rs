//! Reading loosely typed JSON: a field that is missing or of another type is simply not there.

use serde_json::Value;

use crate::text::foreign_json;

/// A string field.
pub fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// A string field, owned.
pub fn owned(value: &Value, key: &str) -> Option<String> {
    text(value, key).map(str::to_owned)
}

/// A whole number; 0 when it is not there.
pub fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(0)
}

/// Whether a field is `true`.
pub fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// The elements of an array; nothing when it is none.
pub fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Text for people of any JSON value: strings as they are, `null` empty, the rest as JSON.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value that may be JSON in a string, as tool arguments often are.
pub fn unquoted(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            foreign_json::from_slice(text.as_bytes()).unwrap_or_else(|_| value.clone())
        }
        other => other.clone(),
    }
}

/// Text and number of images in a message's content: a string, or a list of parts of which those with `text` speak.
/// Parts that are thoughts are left out.
pub fn content(value: Option<&Value>) -> (String, u32) {
    let mut texts = Vec::new();
    let mut images = 0;
    match value {
        Some(Value::String(text)) => return (text.clone(), 0),
        Some(Value::Array(parts)) => {
            for part in parts {
                match part {
                    Value::String(text) => texts.push(text.as_str()),
                    part if is_image(part) => images += 1,
                    part if is_thought(part) => {}
                    part => texts.extend(text(part, "text")),
                }
            }
        }
        Some(part @ Value::Object(_)) => texts.extend(text(part, "text")),
        _ => {}
    }
    (texts.join("\n"), images)
}

fn is_image(part: &Value) -> bool {
    let kind = text(part, "type").unwrap_or_default();
    kind.contains("image")
        || kind.contains("video")
        || kind.contains("audio")
        || kind == "document"
        || part.get("inlineData").is_some()
        || part.get("fileData").is_some()
}

fn is_thought(part: &Value) -> bool {
    matches!(text(part, "type"), Some("think" | "thinking" | "reasoning")) || flag(part, "thought")
}

/// RFC 3339 in milliseconds, UTC, of milliseconds since the epoch.
pub fn time_of_millis(millis: i64) -> Option<String> {
    let time = chrono::DateTime::from_timestamp_millis(millis)?;
    Some(time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}

/// RFC 3339 in milliseconds, UTC, of seconds since the epoch.
#[expect(
    clippy::cast_possible_truncation,
    reason = "out of range saturates, and is no date then"
)]
pub fn time_of_seconds(seconds: f64) -> Option<String> {
    time_of_millis((seconds * 1000.0).round() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn content_joins_texts_counts_images_and_leaves_thoughts_out() {
        let parts = json!([
            {"type": "think", "think": "hm", "text": "hidden"},
            {"type": "text", "text": "a"},
            {"type": "image_url", "image_url": {"url": "data:"}},
            {"inlineData": {"mimeType": "image/png"}},
            "b"
        ]);
        assert_eq!(content(Some(&parts)), ("a\nb".to_owned(), 2));
        assert_eq!(content(Some(&json!("plain"))), ("plain".to_owned(), 0));
        assert_eq!(content(None), (String::new(), 0));
    }

    #[test]
    fn times_are_shown_in_utc() {
        assert_eq!(
            time_of_seconds(1_773_128_640.587).as_deref(),
            Some("2026-03-10T07:44:00.587Z")
        );
        assert_eq!(time_of_millis(i64::MAX), None);
    }

    #[test]
    fn arguments_in_a_string_are_opened() {
        assert_eq!(unquoted(&json!("{\"a\":1}")), json!({"a": 1}));
        assert_eq!(unquoted(&json!("not json")), json!("not json"));
    }
}
