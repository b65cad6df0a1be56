//! What the screen shows, and what has been asked of the rest of the program.
//!
//! Owns no thread, file or terminal: `update` changes it, `view` draws it.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;

use super::patch::Line;
use crate::env::Moment;
use crate::ops::preview::Preview;
use crate::ops::timeline::{Entry, EntryKind};

/// How the terminal wants it.
#[derive(Debug, Clone, Copy)]
pub struct Theme {
    /// Colours may be used. Nothing is told by them alone.
    pub color: bool,
    /// More than ASCII can be shown.
    pub unicode: bool,
}

/// A part of the screen that keys go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    /// The timeline.
    List,
    /// The diff.
    Diff,
    /// The prompt.
    Prompt,
}

/// A line of the timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// A session begins here, or the work of people does.
    Group(String),
    /// An entry, by its number.
    Entry(usize),
}

/// What a diff is of.
#[derive(Debug, Clone)]
pub enum Subject {
    /// What an entry changed.
    Entry(Box<Entry>),
    /// From one id to another.
    Between(String, String),
}

/// The diff as far as it is known.
#[derive(Debug, Default)]
pub struct DiffView {
    /// What it is of.
    pub subject: Option<Subject>,
    /// The number of the question; answers to others are late.
    pub asked: u64,
    /// What came so far.
    pub lines: Vec<Line>,
    /// All that was asked for came.
    pub done: bool,
    /// This many lines are asked for.
    pub limit: usize,
    /// The line that the cursor is on.
    pub cursor: usize,
    /// The first line on the screen.
    pub top: usize,
}

/// What a command line would do, to be shown first, and the command line itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Shows what would be done; none where the command has no such way.
    pub dry: Option<Vec<OsString>>,
    /// Does it.
    pub real: Vec<OsString>,
    /// What of the answer of the dry run goes into the command line, so that nothing else is done after it.
    pub pinned: Option<Pin>,
    /// What a yes would agree to, once it was shown.
    pub seen: Option<Box<Seen>>,
}

/// What was shown of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The plan, as it was before.
    pub plan: Plan,
    /// What its dry run said.
    pub preview: Preview,
}

/// A part of an answer that becomes a word of a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin {
    /// Where in the document it stands.
    pub place: &'static str,
    /// What stands before it in the word.
    pub option: &'static str,
}

impl Plan {
    /// Adds a word in front of those that are paths.
    pub fn add(&mut self, word: OsString) {
        let paths = self.real.iter().position(|word| word == "--");
        self.real.insert(paths.unwrap_or(self.real.len()), word);
    }
}

/// What is asked in a line of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// What to search for in the pane.
    Search(Pane),
    /// A label for this snapshot.
    Label(String),
    /// An issue at this snapshot; the texts that were given so far.
    Report(Option<String>, Vec<String>),
}

/// What stands before everything else and takes the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialog {
    /// The keys, from this line on.
    Help(usize),
    /// Shall this be done? It says what was found out, and from which line on it is shown.
    Ask(Plan, String, usize),
    /// What was done, or why not.
    Told(String, usize),
    /// A line is typed.
    Input(Purpose, String),
    /// How to go back to this checkpoint.
    Rewind(String),
}

/// What is searched for, in lower case unless it has capital letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The text.
    pub text: String,
    /// Where.
    pub pane: Pane,
    /// More entries are awaited to go on, towards older ones.
    pub waiting: bool,
}

impl Search {
    /// Whether a text has what is searched for.
    pub fn matches(&self, text: &str) -> bool {
        if self.text.chars().any(char::is_uppercase) {
            text.contains(&self.text)
        } else {
            text.to_lowercase().contains(&self.text)
        }
    }
}

/// All that the screen shows.
#[derive(Debug)]
pub struct Model {
    /// Columns and lines.
    pub size: (u16, u16),
    /// How it is drawn.
    pub theme: Theme,
    /// For times.
    pub now: Moment,
    /// Newest first, as far as they were read.
    pub entries: Vec<Entry>,
    /// They and their headings.
    pub rows: Vec<Row>,
    /// There are no older ones.
    pub ended: bool,
    /// The entries were asked for the so-manyth time; others are late.
    pub reading: u64,
    /// A page is on its way.
    pub awaited: bool,
    /// Entries whose lines were counted, or are being counted.
    pub counted: HashSet<usize>,
    /// The row of the cursor.
    pub cursor: usize,
    /// The first row on the screen.
    pub top: usize,
    /// Where keys go.
    pub pane: Pane,
    /// What changed there.
    pub diff: DiffView,
    /// The first line of the prompt on the screen.
    pub prompt_top: usize,
    /// At most two ids to compare.
    pub marks: Vec<String>,
    /// The oldest entry is wanted, and is not read yet.
    pub to_end: bool,
    /// What is searched for.
    pub search: Option<Search>,
    /// What stands before all.
    pub dialog: Option<Dialog>,
    /// The last line of the screen says this.
    pub message: Option<String>,
}

/// No diff has more lines than this at first.
pub const FIRST_LINES: usize = 2000;

impl Model {
    /// Makes the model of a screen on which nothing was read yet.
    pub fn new(size: (u16, u16), theme: Theme, now: Moment) -> Self {
        Self {
            size,
            theme,
            now,
            entries: Vec::new(),
            rows: Vec::new(),
            ended: false,
            reading: 0,
            awaited: false,
            counted: HashSet::new(),
            cursor: 0,
            top: 0,
            pane: Pane::List,
            diff: DiffView::default(),
            prompt_top: 0,
            marks: Vec::new(),
            to_end: false,
            search: None,
            dialog: None,
            message: None,
        }
    }

    /// The number of the entry under the cursor.
    pub fn selected(&self) -> Option<usize> {
        match self.rows.get(self.cursor) {
            Some(Row::Entry(entry)) => Some(*entry),
            _ => None,
        }
    }

    /// The entry under the cursor.
    pub fn entry(&self) -> Option<&Entry> {
        self.selected().and_then(|entry| self.entries.get(entry))
    }

    /// The snapshot, backup or experiment of the entry under the cursor; an issue has none of its own.
    pub fn snapshot(&self) -> Option<&str> {
        let entry = self.entry()?;
        (entry.kind != EntryKind::Issue).then_some(entry.id.as_str())
    }

    /// The line that the cursor of the diff is at, while the diff has the keys.
    pub fn line(&self) -> Option<&Line> {
        let line = self.diff.lines.get(self.diff.cursor);
        line.filter(|_| self.pane == Pane::Diff)
    }

    /// The snapshot that a restore takes files from: in the diff of two that which it leads to.
    pub fn source(&self) -> Option<&str> {
        match (&self.diff.subject, self.pane) {
            (Some(Subject::Between(_, to)), Pane::Diff) => Some(to),
            _ => self.snapshot(),
        }
    }

    /// Adds older entries, each group under a heading.
    pub fn add(&mut self, entries: Vec<Entry>) {
        // Not each entry of a session knows who worked there.
        let known = entries.iter().filter_map(|entry| {
            let agent = entry.agent.clone()?;
            Some((entry.session_id.clone(), agent))
        });
        let agents: HashMap<Option<String>, String> = known.collect();
        for entry in entries {
            let same = |last: &Entry| last.session_id == entry.session_id;
            if !self.entries.last().is_some_and(same) {
                let agent = agents.get(&entry.session_id);
                self.rows.push(Row::Group(group(&entry, agent)));
            }
            self.rows.push(Row::Entry(self.entries.len()));
            self.entries.push(entry);
        }
    }

    /// What the pane below shows: the text of the prompt, or the entry's own.
    pub fn text_below(&self) -> (String, String) {
        let Some(entry) = self.entry() else {
            return Default::default();
        };
        if let Some(prompt) = &entry.prompt {
            let what = format!("prompt {}", prompt.checkpoint_id);
            return (what, prompt.text.clone());
        }
        let text = if entry.text.trim().is_empty() {
            entry.title.clone()
        } else {
            entry.text.clone()
        };
        (super::rows::word(entry).to_owned(), text)
    }
}

/// The heading over entries of one session.
fn group(entry: &Entry, agent: Option<&String>) -> String {
    match (&entry.session_id, agent) {
        (Some(session), Some(agent)) => format!("{agent} {session}"),
        (Some(session), None) => format!("session {session}"),
        (None, _) => "no session".to_owned(),
    }
}
