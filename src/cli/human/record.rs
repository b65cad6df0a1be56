//! Snapshots, one by one and in a list.

use serde_json::{Map, Value};
use std::fmt::Write as _;

use super::style::Style;
use super::text::{clean, count, number, short, size};
use super::{Human, Page, RenderOptions, time};
use crate::ops::outcome::{Listed, Listing, SnapshotView, Taken};

/// So much of an id's random tail names it almost always.
pub const USUAL_TAIL: usize = 4;

/// So many paths of one reason are named in one line.
const PATHS_IN_LINE: usize = 5;

fn text<'a>(json: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    json.get(name)?.as_str()
}

fn created_at(view: &SnapshotView) -> &str {
    text(&view.json, "created_at").unwrap_or_default()
}

/// `s_…  title`, as the first line of an answer.
pub fn headline(view: &SnapshotView, style: Style) -> String {
    format!(
        "{}  {}",
        style.id(&clean(&view.id), USUAL_TAIL),
        clean(&view.title)
    )
    .trim_end()
    .to_owned()
}

/// The same with its age.
pub fn headline_with_age(view: &SnapshotView, options: &RenderOptions) -> String {
    format!(
        "{} ({})",
        headline(view, options.style),
        time::ago(options.now, created_at(view))
    )
}

/// `8,123 files, 87.0 MiB; 3 new objects, 5.0 KiB`.
fn stats(json: &Map<String, Value>) -> Option<String> {
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

/// What was not captured, by reason, in the order of first mention.
fn uncaptured(json: &Map<String, Value>) -> Vec<(String, Vec<String>)> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    let entries = json.get("uncaptured").and_then(Value::as_array);
    for entry in entries.into_iter().flatten() {
        let get = |name: &str| entry.get(name).and_then(Value::as_str);
        let reason = clean(get("reason").unwrap_or("unknown"));
        let mut path = clean(get("path").unwrap_or_default());
        if let Some(bytes) = entry.get("bytes").and_then(Value::as_u64) {
            let _ = write!(path, " ({})", size(bytes));
        }
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, paths)) => paths.push(path),
            None => reasons.push((reason, vec![path])),
        }
    }
    reasons
}

/// How many paths were not captured, of which the record may name only the first.
fn uncaptured_count(json: &Map<String, Value>) -> usize {
    let listed = json.get("uncaptured").and_then(Value::as_array);
    json.get("uncaptured_count")
        .and_then(Value::as_u64)
        .and_then(|count| usize::try_from(count).ok())
        .unwrap_or_else(|| listed.map_or(0, Vec::len))
}

impl Human for Taken {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let view = &self.snapshot;
        if !self.fresh {
            page.line(format!(
                "nothing changed since {}",
                headline_with_age(view, options)
            ));
            page.notices(&self.notices);
            return page;
        }
        page.line(headline(view, options.style));
        if let Some(stats) = stats(&view.json) {
            page.line(format!("  {stats}"));
        }
        if let Some(label) = text(&view.json, "label") {
            page.line(format!("  label: {}", clean(label)));
        }
        let reasons = uncaptured(&view.json);
        let mut named = 0;
        for (reason, paths) in &reasons {
            let shown = if options.verbose {
                paths.len()
            } else {
                PATHS_IN_LINE.min(paths.len())
            };
            named += shown;
            page.line(format!(
                "  not captured, {reason}: {}",
                paths[..shown].join(", ")
            ));
        }
        let rest = uncaptured_count(&view.json).saturating_sub(named);
        if rest > 0 {
            page.line(format!("  and {} more", count(rest, "path")));
            page.hint(format!("'tw show {}' lists all", view.id));
        }
        page.notices(&self.notices);
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.snapshot.id.clone()])
    }
}

impl Human for Listing {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let kinds = self.snapshots.iter().any(|row| row.kind != "snapshot");
        let first = self.snapshots.first().map(|row| &row.worktree);
        let worktrees = self
            .snapshots
            .iter()
            .any(|row| Some(&row.worktree) != first);
        let ages: Vec<_> = self
            .snapshots
            .iter()
            .map(|row| time::ago(options.now, &row.created_at))
            .collect();
        let width = ages.iter().map(String::len).max().unwrap_or(0);
        for (at, (row, age)) in self.snapshots.iter().zip(&ages).enumerate() {
            let unique = self.unique_tail.get(at).copied().unwrap_or(USUAL_TAIL);
            let mut line = options.style.id(&clean(&row.id), unique);
            if options.verbose {
                let _ = write!(line, "  {}", short(&row.commit.to_string()));
            }
            let _ = write!(line, "  {age:width$}");
            if kinds {
                let _ = write!(line, "  {:10}", row.kind);
            }
            if worktrees {
                let _ = write!(line, "  {}:", clean(&row.worktree));
            }
            let _ = write!(line, "  {}", clean(&row.title));
            line.push_str(&marks(row, options.style));
            page.line(line.trim_end());
        }
        for (id, reason) in &self.invalid {
            page.notes.push(format!("'{id}' cannot be read: {reason}"));
        }
        if self.total == 0 && self.invalid.is_empty() {
            page.notes.push("there is nothing to list".to_owned());
            page.hint("'tw snapshot' takes a snapshot");
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.snapshots.iter().map(|row| row.id.clone()).collect())
    }
}

/// What sets a snapshot apart, after its title: label, where it was taken, where it comes from.
fn marks(row: &Listed, style: Style) -> String {
    let mut marks = String::new();
    if let Some(label) = &row.label {
        let _ = write!(marks, "  [{}]", style.green(&clean(label)));
    }
    if row.kind == "snapshot" && row.taken_in == "past" {
        marks.push_str(&style.dim("  (taken in the past)"));
    }
    if row.foreign {
        marks.push_str(&style.yellow("  (foreign)"));
    }
    marks
}

impl Human for SnapshotView {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let json = &self.json;
        let mut row = |name: &str, value: Option<String>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                page.line(format!(
                    "{} {value}",
                    options.style.dim(&format!("{name:13}"))
                ));
            }
        };
        let of = |name: &str| text(json, name).map(clean);
        row(
            &clean(&self.kind),
            Some(options.style.id(&clean(&self.id), USUAL_TAIL)),
        );
        row("title", Some(clean(&self.title)));
        row("label", of("label"));
        row("taken", Some(time::exactly(options.now, created_at(self))));
        row(
            "taken in",
            of("taken_in")
                .filter(|word| word == "past")
                .map(|_| "the past".to_owned()),
        );
        row("commit", Some(self.commit.to_string()));
        row("tree", Some(self.tree.to_string()));
        row("head", json.get("head").map(head));
        row(
            "in progress",
            json.get("in_progress")
                .filter(|value| !value.is_null())
                .map(plain),
        );
        row("trigger", of("trigger"));
        row("session", of("session_id"));
        row("agent", of("agent"));
        row("hint", of("initial_task_hint"));
        row("worktree", of("worktree"));
        row("workspace", of("workspace_root"));
        row("captured", stats(json));
        for (name, list) in json
            .get("index")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            row(&clean(&name.replace('_', " ")), Some(plain(list)));
        }
        row("empty dirs", json.get("empty_dirs").map(plain));
        row("modes", json.get("modes").map(plain));
        row("unstable", json.get("unstable").map(plain));
        row("seeds unproven", json.get("seeds_unproven").map(plain));
        row("seeds wrong", json.get("seeds_wrong").map(plain));
        row(
            "excluded by",
            json.get("exclude_globs")
                .filter(|_| options.verbose)
                .map(plain),
        );
        row(
            "environment",
            json.get("env_fingerprint")
                .filter(|_| options.verbose)
                .map(plain),
        );
        row(
            "foreign",
            self.foreign
                .then(|| "yes: it comes from another repository".to_owned()),
        );
        let reasons = uncaptured(json);
        if !reasons.is_empty() {
            page.line("not captured");
        }
        for (reason, paths) in reasons {
            for path in paths {
                page.line(format!("  {reason}  {path}"));
            }
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.id.clone()])
    }
}

/// `main at 1a2b3c4d5e`, from the record's `head`.
fn head(head: &Value) -> String {
    let get = |name: &str| head.get(name).and_then(Value::as_str).map(clean);
    let branch = get("ref").map(|name| match name.strip_prefix("refs/heads/") {
        Some(branch) => branch.to_owned(),
        None => name,
    });
    at(branch.as_deref(), get("oid").as_deref())
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

/// Any stored value in one line; empty for what holds nothing.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => clean(text),
        Value::Array(list) => join(list.iter().map(plain)),
        Value::Object(map) => join(map.iter().map(|(name, value)| match value {
            Value::Null => String::new(),
            value => format!("{} {}", clean(name), plain(value)),
        })),
        other => other.to_string(),
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}
