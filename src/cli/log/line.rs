//! One entry in one line: the graph, the part of the id that names it, when, what, and how much changed.

use super::graph::Row;
use crate::cli::human::RenderOptions;
use crate::cli::human::screen::{Screen, width};
use crate::cli::human::style::Style;
use crate::cli::human::text::{claimed, clean, count, in_a_line, short_session};
use crate::ops::timeline::{Entry, EntryKind, MadeBy};
use crate::store::checkpoint::Kind;
use crate::store::trigger::Trigger;

/// The fewest columns for what happened; where there are fewer, the numbers go.
const LEAST: usize = 24;

/// What stands left of what happened: the graph, the id, the time, each as wide as in the lines around.
pub struct Head<'a> {
    /// The graph.
    pub row: &'a Row,
    /// The time.
    pub when: String,
}

/// The line of an entry.
pub fn line(entry: &Entry, head: &Head<'_>, options: &RenderOptions, screen: Screen) -> String {
    let style = options.style;
    let id = clean(&entry.id);
    let tail = id.rsplit('_').next().unwrap_or_default();
    let (shown_id, id_width) = if options.verbose {
        (options.id(&entry.id), width(&id))
    } else {
        (style.bold(tail), width(tail))
    };
    let (graph, when) = (&head.row.graph, &head.when);
    let mut line = format!("{graph}  {shown_id}  {}  ", style.dim(when));
    let used = width(graph) + id_width + width(when) + 6;
    let room = screen.columns.map(|columns| columns.saturating_sub(used));
    // What happened is cut last of all.
    let mut left = room.map_or(usize::MAX, |room| room.saturating_sub(LEAST));
    let mut keep = |text: &str| {
        let fits = width(text) <= left;
        left -= if fits { width(text) } else { 0 };
        fits
    };
    let numbers = numbers(entry)
        .into_iter()
        .find(|numbers| keep(&numbers.text()));
    let (labels, session) = (labels(entry), session(entry, head.row));
    let labels = Some(labels)
        .filter(|labels| keep(labels))
        .unwrap_or_default();
    let session = Some(session)
        .filter(|session| keep(session))
        .unwrap_or_default();
    let what = match room {
        None => what(entry),
        Some(room) => {
            let beside = width(&labels) + width(&session);
            let beside = beside + numbers.as_ref().map_or(0, |numbers| width(&numbers.text()));
            screen.fit(&what(entry), room.saturating_sub(beside))
        }
    };
    line.push_str(&painted(entry, &what, style));
    line.push_str(&style.green(&labels));
    line.push_str(&style.dim(&session));
    if let Some(numbers) = numbers {
        line.push_str(&numbers.painted(style));
    }
    line.truncate(line.trim_end().len());
    line
}

/// What happened, in words.
fn what(entry: &Entry) -> String {
    let title = in_a_line(&entry.title);
    match (entry.kind, entry.checkpoint_id) {
        (EntryKind::Prompt, Some(n))
            if entry.operation == Some(MadeBy::Checkpoint(Kind::Manual)) =>
        {
            format!("checkpoint {n}: {title}")
        }
        (EntryKind::Prompt, Some(n)) => format!("prompt {n}: {title}"),
        (EntryKind::TurnEnd, Some(n)) => format!("end of turn {n}"),
        (EntryKind::Snapshot, Some(n))
            if entry.operation == Some(MadeBy::Checkpoint(Kind::Step)) =>
        {
            format!("step {n}")
        }
        // Its title is the prompt's.
        (EntryKind::Snapshot, Some(n)) => format!("changed before prompt {n}"),
        (EntryKind::Snapshot, None)
            if starts_session(entry) && title == Trigger::SessionStart.as_str() =>
        {
            "session starts".to_owned()
        }
        (EntryKind::Issue, _) => {
            let status = entry.status.as_deref().unwrap_or_default();
            format!("issue, {}: {title}", clean(status))
        }
        _ => title,
    }
}

fn painted(entry: &Entry, what: &str, style: Style) -> String {
    match entry.kind {
        EntryKind::Prompt => style.cyan(what),
        EntryKind::Swap => style.yellow(what),
        EntryKind::Issue => style.red(what),
        EntryKind::TurnEnd => style.dim(what),
        EntryKind::Snapshot if entry.checkpoint_id.is_some() => style.dim(what),
        EntryKind::Snapshot => what.to_owned(),
    }
}

/// The labels of an entry, and whether it came from another repository, or from whom it is said to have come.
fn labels(entry: &Entry) -> String {
    let labels = entry.labels.iter();
    let mut labels: String = labels
        .map(|label| format!("  [{}]", clean(label)))
        .collect();
    match &entry.claimed_by {
        Some(name) => labels.push_str(&format!("  {}", claimed(name))),
        None if entry.foreign => labels.push_str("  (foreign)"),
        None => {}
    }
    labels
}

fn starts_session(entry: &Entry) -> bool {
    entry.trigger() == Some(&Trigger::SessionStart)
}

/// Whose an entry is, at both ends of a session.
fn session(entry: &Entry, row: &Row) -> String {
    let is_told = row.begins || starts_session(entry);
    let session = entry.session_id.as_deref().filter(|_| is_told);
    let said = session.map(|session| {
        let start = short_session(session);
        let agent = entry.agent.as_deref().map(clean).unwrap_or_default();
        format!("  ({})", format!("{agent} {start}").trim())
    });
    said.unwrap_or_default()
}

/// How much changed.
struct Numbers {
    files: String,
    added: String,
    removed: String,
}

impl Numbers {
    fn text(&self) -> String {
        format!("  {}{} {}", self.files, self.added, self.removed)
    }

    fn painted(&self, style: Style) -> String {
        let (added, removed) = (style.green(&self.added), style.red(&self.removed));
        format!("  {}{added} {removed}", style.dim(&self.files))
    }
}

/// Whole and in short; nothing where it is not known, or nothing changed.
fn numbers(entry: &Entry) -> Vec<Numbers> {
    let counts = (entry.files, entry.insertions, entry.deletions);
    let (Some(files @ 1..), Some(insertions), Some(deletions)) = counts else {
        return Vec::new();
    };
    let of = |files: String| Numbers {
        files,
        added: format!("+{insertions}"),
        removed: format!("-{deletions}"),
    };
    let files = count(usize::try_from(files).unwrap_or(usize::MAX), "file");
    vec![of(format!("{files}, ")), of(String::new())]
}
