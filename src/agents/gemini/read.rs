//! A Gemini chat as a neutral conversation: a log of records (`.jsonl`), or one document (`.json`, older).
//!
//! In the log the same id again replaces a message, `$rewindTo` takes messages back, `$set` changes the head, or puts another history
//! in the place of all messages. What a compressed history leaves out was said all the same: what the program has of a chat ([`Held`])
//! and what a person has said in it ([`Live`]) differ from then on.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use super::NAME;
use super::place;
use super::record::Record;
use crate::agents::builder::Builder;
use crate::agents::document::{Document, advance};
use crate::agents::lines::{self, Counts, Entry, Line};
use crate::agents::transcript::{Cut, Detail, Position, Prompt, Shrink, Transcript};
use crate::agents::value::{items, owned, text};
use crate::error::{Code, Error, Result};
use crate::text::without_mark;

/// A message as the log has it now, and the lines that say so.
pub struct Live {
    /// The message.
    pub record: Record,
    /// Where its first line begins; `None` when only a `$set` brought it.
    pub position: Option<Position>,
    /// Where its last line ends.
    end: Position,
    /// Its lines, as indices of [`Scan::entries`].
    pub entries: Vec<usize>,
}

/// A message as the program has it in its history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its id.
    pub id: String,
    /// Whether a `$set` brought it: then no line of its own can be left out to be rid of it.
    pub is_set: bool,
    /// Whether what the `$set` brought has a call without a result, which no later line has given it.
    pub is_open: bool,
}

/// What a line is to a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// The head, or a change of it.
    Head,
    /// A message.
    Message,
    /// Takes messages back that have lines of their own.
    Rewind,
    /// Takes back what a `$set` brought, too.
    RewindOfSet,
    /// Something that is not known.
    Other,
}

/// A log, read.
#[derive(Default)]
pub struct Scan {
    /// The messages that are not taken back, in order of first appearance.
    pub live: Vec<Live>,
    /// The program's history.
    pub held: Vec<Held>,
    /// Its readable lines.
    pub entries: Vec<Entry<Item>>,
    taken_back: Vec<(Record, Position)>,
    shrinks: Vec<(Position, usize)>,
    session_id: Option<String>,
    directory: Option<String>,
    counts: Counts,
}

/// Whether the file is one document of the older format: its first line is the whole of it, or only its beginning.
pub fn is_document(path: &Path) -> bool {
    let Ok(mut reader) = lines::open(path, None) else {
        return false;
    };
    let Ok(Some(line)) = reader.next_line() else {
        return false;
    };
    if let Some(record) = line.object() {
        return record.get("sessionId").is_some() && record.get("messages").is_some();
    }
    let mut head = Vec::new();
    let opened = without_mark(line.bytes)
        .trim_ascii_start()
        .starts_with(b"{");
    // A document over several lines has its head near the beginning; reading it all only to know what it is could take long.
    let file = crate::git::regular::open(path).map(|file| file.take(4096));
    let read = file.and_then(|mut file| file.read_to_end(&mut head));
    let head = String::from_utf8_lossy(&head);
    opened && read.is_ok() && head.contains("\"sessionId\"") && head.contains("\"projectHash\"")
}

/// Reads the chat at `path`.
pub fn read(path: &Path, detail: Detail) -> Result<Transcript> {
    let mut transcript = if is_document(path) {
        document(path, detail)?
    } else {
        log(scan(path, detail, None)?, detail)
    };
    path.clone_into(&mut transcript.path);
    let root = place::project_root(path);
    transcript.cwd = root.or(transcript.cwd);
    Ok(transcript)
}

/// Reads the log at `path`, up to `limit` bytes.
pub fn scan(path: &Path, detail: Detail, limit: Option<u64>) -> Result<Scan> {
    let mut scan = Scan::default();
    scan.counts = lines::each_record(path, limit, |record, line| {
        scan.take(record, line, detail);
    })?;
    Ok(scan)
}

impl Scan {
    /// Whether somebody typed something that stands.
    pub fn has_prompts(&self) -> bool {
        self.live.iter().any(|live| live.record.is_prompt())
    }

    fn take(&mut self, record: &Value, line: &Line<'_>, detail: Detail) {
        let item = if let Some(id) = text(record, "$rewindTo") {
            self.rewind(id)
        } else if let Some(message) = Record::of(record, detail) {
            self.message(message, line);
            Item::Message
        } else if !is_head(record) && self.session_id.is_some() {
            Item::Other
        } else {
            let head = record.get("$set").unwrap_or(record);
            self.head(head);
            if let Some(messages) = head
                .get("messages")
                .filter(|_| record.get("$set").is_some())
            {
                self.replace_all(messages, line);
            }
            Item::Head
        };
        self.entries.push(Entry::new(line, item));
    }

    fn head(&mut self, head: &Value) {
        if let Some(id) = owned(head, "sessionId") {
            self.session_id = Some(id);
        }
        let directories = items(head.get("directories"));
        if let Some(first) = directories.first().and_then(Value::as_str) {
            self.directory = Some(first.to_owned());
        }
    }

    fn message(&mut self, record: Record, line: &Line<'_>) {
        let entry = self.entries.len();
        match self.held.iter_mut().rfind(|held| held.id == record.id) {
            Some(held) => held.is_open &= !record.is_settled(),
            None => self.held.push(Held {
                id: record.id.clone(),
                is_set: false,
                is_open: false,
            }),
        }
        if let Some(known) = self
            .live
            .iter_mut()
            .rfind(|live| live.record.id == record.id)
        {
            known.record = record;
            known.position.get_or_insert(line.position);
            known.end = line.end();
            known.entries.push(entry);
            return;
        }
        self.live.push(Live {
            record,
            position: Some(line.position),
            end: line.end(),
            entries: vec![entry],
        });
    }

    /// Takes back a message and all later ones; an unknown id takes back everything, and what was compressed with it.
    fn rewind(&mut self, id: &str) -> Item {
        let from = self.held.iter().position(|held| held.id == id).unwrap_or(0);
        let gone = self.held.split_off(from);
        let of_set = gone.iter().any(|held| held.is_set);
        let ids: HashSet<&str> = gone.iter().map(|held| held.id.as_str()).collect();
        let is_gone = |live: &mut Live| from == 0 || ids.contains(live.record.id.as_str());
        for gone in self.live.extract_if(.., is_gone) {
            if let Some(position) = gone.position.filter(|_| gone.record.is_prompt()) {
                self.taken_back.push((gone.record, position));
            }
        }
        if of_set {
            Item::RewindOfSet
        } else {
            Item::Rewind
        }
    }

    /// Another history, mostly a compressed one: what it leaves out was said all the same, what it adds nobody typed.
    fn replace_all(&mut self, messages: &Value, line: &Line<'_>) {
        let set = items(Some(messages)).iter().filter_map(|message| {
            Some(Held {
                id: owned(message, "id")?,
                is_set: true,
                is_open: is_open(message),
            })
        });
        let set: Vec<Held> = set.collect();
        let kept: HashSet<&str> = set.iter().map(|held| held.id.as_str()).collect();
        if self
            .held
            .iter()
            .any(|held| !kept.contains(held.id.as_str()))
        {
            self.shrinks.push((line.position, self.live.len()));
        }
        self.held = set;
    }

    /// The ids of the program's history, but for messages with a call that has no result.
    pub fn settled(&self) -> Vec<&str> {
        let live = self.live.iter();
        let open: HashSet<&str> = live
            .filter(|live| !live.record.is_settled())
            .map(|live| live.record.id.as_str())
            .collect();
        let held = self.held.iter();
        let is_settled = |held: &&Held| {
            if held.is_set {
                !held.is_open
            } else {
                !open.contains(held.id.as_str())
            }
        };
        held.filter(is_settled)
            .map(|held| held.id.as_str())
            .collect()
    }

    /// Whether the history that a `$set` put there has a message with a call that has no result.
    pub fn has_open_set(&self) -> bool {
        self.held.iter().any(|held| held.is_open)
    }
}

/// Whether a message has a call without its result.
pub fn is_open(message: &Value) -> bool {
    Record::of(message, Detail::Outline).is_some_and(|record| !record.is_settled())
}

/// Whether a record speaks for the session: its head, or a change of it.
pub fn is_head(record: &Value) -> bool {
    record.get("$set").is_some()
        || record.get("sessionId").is_some() && record.get("projectHash").is_some()
}

fn log(scan: Scan, detail: Detail) -> Transcript {
    let mut builder = Builder::new(NAME, detail);
    let mut shrinks = scan.shrinks.into_iter().peekable();
    let starts: Vec<Option<Position>> = scan.live.iter().map(|live| live.position).collect();
    let mut reached = Position::default();
    for (index, live) in scan.live.into_iter().enumerate() {
        while let Some((position, _)) = shrinks.next_if(|(_, count)| *count <= index) {
            builder.shrink(position, Shrink::Compaction);
        }
        let position = live.position.unwrap_or_default();
        reached = reached.max(live.end);
        live.record.add_to(&mut builder, position, live.position);
        // A later line may still belong to this message: then there is no place between it and the next.
        let next = starts.get(index + 1).copied().flatten();
        if next.is_none_or(|next| next.offset >= reached.offset) {
            builder.boundary(reached, None);
        }
    }
    for (position, _) in shrinks {
        builder.shrink(position, Shrink::Compaction);
    }
    let mut transcript = builder.transcript;
    transcript.abandoned = abandoned(scan.taken_back, &transcript);
    transcript.session_id = scan.session_id.unwrap_or_default();
    transcript.cwd = scan.directory;
    transcript.set_counts(scan.counts);
    transcript
}

fn abandoned(taken_back: Vec<(Record, Position)>, transcript: &Transcript) -> Vec<Prompt> {
    let mut found = Vec::new();
    for (record, position) in taken_back {
        let known = transcript.cut_at(position.offset);
        let cut = Cut {
            position,
            companion: None,
            tokens: known.map(|cut| cut.tokens).unwrap_or_default(),
            messages: known.map_or(0, |cut| cut.messages),
        };
        let mut single = Builder::new(NAME, Detail::Outline);
        record.add_to(&mut single, position, Some(position));
        found.extend(single.transcript.prompts.pop().map(|prompt| Prompt {
            index: found.len(),
            message: cut.messages,
            tokens: cut.tokens,
            cut: Some(cut),
            ..prompt
        }));
    }
    found
}

fn document(path: &Path, detail: Detail) -> Result<Transcript> {
    let document = Document::load(path)?;
    let text = &document.text;
    let id = document.value(&["sessionId"]);
    let Some(session_id) = id.and_then(|id| id.as_str().map(str::to_owned)) else {
        return Err(Error::new(
            Code::TranscriptNotFound,
            format!("'{}' names no session", path.display()),
        ));
    };
    let mut builder = Builder::new(NAME, detail);
    builder.transcript.session_id = session_id;
    let mut place = Position { line: 1, offset: 0 };
    let mut reached = 0;
    for range in &document.messages {
        place = advance(text, place, range.start);
        reached = range.end;
        match text.get(range.clone()).and_then(lines::parse_object) {
            Some(value) => {
                if let Some(record) = Record::of(&value, detail) {
                    record.add_to(&mut builder, place, Some(place));
                }
            }
            None => builder.transcript.skipped += 1,
        }
        builder.boundary(advance(text, place, reached), None);
    }
    let mut transcript = builder.transcript;
    transcript.lines = advance(text, place, text.len()).line;
    transcript.bytes = text.len() as u64;
    if reached == 0 && !text.trim_ascii_end().ends_with(b"}") {
        transcript.skipped += 1;
    }
    Ok(transcript)
}
