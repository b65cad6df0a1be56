//! What the output of several commands says of a snapshot.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::RenderOptions;
use super::text::{clean, in_a_line, number, short, size};
use crate::ops::outcome::SnapshotView;
use crate::store::workspace::Covered;

/// A text of a record.
pub fn field<'a>(json: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    json.get(name)?.as_str()
}

/// When the snapshot was taken.
pub fn created_at(view: &SnapshotView) -> &str {
    field(&view.json, "created_at").unwrap_or_default()
}

/// `s_…  title`, as the first line of an answer.
pub fn headline(view: &SnapshotView, options: &RenderOptions) -> String {
    let line = format!("{}  {}", options.id(&view.id), in_a_line(&view.title));
    line.trim_end().to_owned()
}

/// The same with its age.
pub fn headline_with_age(view: &SnapshotView, options: &RenderOptions) -> String {
    let age = options.ago(created_at(view));
    format!("{} ({age})", headline(view, options))
}

/// `8,123 files, 87.0 MiB; 3 new objects, 5.0 KiB`.
pub fn stats(json: &Map<String, Value>) -> Option<String> {
    let stats = json.get("stats")?;
    let get = |name: &str| stats.get(name).and_then(Value::as_u64);
    let (files, bytes) = (get("files")?, get("bytes")?);
    let mut line = format!(
        "{} {}, {}",
        number(files),
        if files == 1 { "file" } else { "files" },
        size(bytes)
    );
    if let (Some(objects), Some(bytes)) = (get("new_objects"), get("new_bytes")) {
        let word = if objects == 1 { "object" } else { "objects" };
        let _ = write!(line, "; {} new {word}, {}", number(objects), size(bytes));
    }
    Some(line)
}

/// `14 entries, 2.1 MiB`: what git ignores; `None` where nobody counted.
pub fn ignored(json: &Map<String, Value>) -> Option<String> {
    let get = |name: &str| json.get("ignored")?.get(name)?.as_u64();
    let (entries, bytes) = (get("entries")?, get("bytes")?);
    Some(match entries {
        0 => "nothing".to_owned(),
        1 => format!("1 entry, {}", size(bytes)),
        _ => format!("{} entries, {}", number(entries), size(bytes)),
    })
}

/// What was not captured, by reason, in the order of first mention.
pub fn uncaptured(json: &Map<String, Value>) -> Vec<(String, Vec<String>)> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    let entries = json.get("uncaptured").and_then(Value::as_array);
    let covered = Covered::of(json);
    let is_covered = |path: &str| {
        let mut covered = covered.iter().filter(|one| one.snapshot_id.is_some());
        covered.any(|one| one.path == path)
    };
    for entry in entries.into_iter().flatten() {
        let get = |name: &str| entry.get(name).and_then(Value::as_str);
        let reason = clean(get("reason").unwrap_or("unknown"));
        let mut path = clean(get("path").unwrap_or_default());
        if let Some(bytes) = entry.get("bytes").and_then(Value::as_u64) {
            let _ = write!(path, " ({})", size(bytes));
        }
        if get("path").is_some_and(is_covered) {
            path.push_str(" (a member: it has a snapshot of its own)");
        }
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, paths)) => paths.push(path),
            None => reasons.push((reason, vec![path])),
        }
    }
    reasons
}

/// How many paths were not captured, of which the record may name only the first.
pub fn uncaptured_count(json: &Map<String, Value>) -> usize {
    let listed = json.get("uncaptured").and_then(Value::as_array);
    json.get("uncaptured_count")
        .and_then(Value::as_u64)
        .and_then(|count| usize::try_from(count).ok())
        .unwrap_or_else(|| listed.map_or(0, Vec::len))
}

/// Where HEAD is: a branch, a commit, or both.
pub fn at(branch: Option<&str>, oid: Option<&str>) -> String {
    match (branch, oid) {
        (Some(branch), Some(oid)) => format!("{branch} at {}", short(oid)),
        (Some(branch), None) => format!("{branch}, no commit yet"),
        (None, Some(oid)) => format!("detached at {}", short(oid)),
        (None, None) => String::new(),
    }
}
