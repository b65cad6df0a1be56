//! The context log of a harness that has no file of its own, in the form of kimi-cli's `context.jsonl`: the whole log as its
//! lines say it, and the logs that follow from it: reverted, compacted, with a system prompt.
//!
//! Pure: bytes in, bytes out. Promises: lines that are kept are kept byte for byte, but for thoughts that a compaction
//! drops; a line that the loader would not take is left out and counted; the system prompt survives; no result of
//! [`revert`] or [`compact`] ends in a tool call without its result.

pub mod record;

use record::{Message, Record};
use schemars::JsonSchema;
use serde::Serialize;

/// A line that says something.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<'a> {
    /// Its bytes, without the newline.
    pub line: &'a [u8],
    /// The record on it.
    pub record: Record,
}

/// A log, read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log<'a> {
    /// The lines that say something.
    pub entries: Vec<Entry<'a>>,
    /// How many lines do not.
    pub skipped: usize,
    /// Whether the last of those has no end: a crash tore it.
    pub torn: bool,
}

/// How large a context is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tokens {
    /// As last recorded.
    #[serde(rename = "token_count")]
    pub counted: u64,
    /// What came since, guessed from its length.
    #[serde(rename = "pending_tokens")]
    pub pending: u64,
}

impl Tokens {
    /// Returns the tokens that were counted and those that are estimated, together.
    pub fn total(self) -> u64 {
        self.counted.saturating_add(self.pending)
    }
}

impl<'a> Log<'a> {
    /// Reads the bytes of a log.
    pub fn read(bytes: &'a [u8]) -> Self {
        let mut log = Self::default();
        // The loader opens the file as text, where a carriage return ends a line, too.
        let mut lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).peekable();
        while let Some(line) = lines.next() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            if let Some(record) = record::read(line) {
                log.entries.push(Entry { line, record });
            } else {
                log.skipped += 1;
                log.torn = lines.peek().is_none();
            }
        }
        log
    }

    /// The system prompt in effect: the last one, as the loader has it.
    pub fn system_prompt(&self) -> Option<&str> {
        self.entries
            .iter()
            .rev()
            .find_map(|entry| match &entry.record {
                Record::SystemPrompt(prompt) => Some(prompt.as_str()),
                _ => None,
            })
    }

    /// The ids of its checkpoints, in order.
    pub fn checkpoints(&self) -> impl DoubleEndedIterator<Item = i64> {
        self.entries.iter().filter_map(|entry| match entry.record {
            Record::Checkpoint(id) => Some(id),
            _ => None,
        })
    }

    /// The id of the next checkpoint.
    pub fn next_checkpoint(&self) -> i64 {
        self.checkpoints()
            .next_back()
            .map_or(0, |id| id.saturating_add(1))
            .max(0)
    }

    /// Iterates over the messages of the log, without its other records.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.entries.iter().filter_map(Entry::message)
    }

    /// How large the context is.
    pub fn tokens(&self) -> Tokens {
        let (mut counted, mut characters) = (0, 0);
        for entry in &self.entries {
            match &entry.record {
                Record::Usage(tokens) => (counted, characters) = (*tokens, 0),
                Record::Message(message) => characters += message.characters(),
                _ => {}
            }
        }
        Tokens {
            counted,
            pending: estimate(characters),
        }
    }
}

impl Entry<'_> {
    /// The message on it.
    pub fn message(&self) -> Option<&Message> {
        match &self.record {
            Record::Message(message) => Some(message),
            _ => None,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.line);
        out.push(b'\n');
    }
}

/// Tokens of this many characters, roughly: kimi-cli's own rule.
fn estimate(characters: usize) -> u64 {
    u64::try_from(characters / 4).unwrap_or(u64::MAX)
}

/// What a log becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// The new log.
    pub bytes: Vec<u8>,
    /// How many messages of the old one are not in it.
    pub discarded: usize,
    /// The checkpoint that was added, if any.
    pub checkpoint: Option<i64>,
}

/// The log before its checkpoint `id`, or `None` when it has no such checkpoint. Where the checkpoint stands between a
/// tool call and its result, the call goes too. With a note: a new checkpoint, visible when the old one was, and the note.
pub fn revert(log: &Log<'_>, id: i64, note: Option<&str>) -> Option<Rewritten> {
    let is_it = |entry: &Entry<'_>| entry.record == Record::Checkpoint(id);
    let at = log.entries.iter().position(is_it)?;
    let (before, after) = log.entries.split_at(at);
    let kept = before.get(..settled(before)).unwrap_or(before);
    let mut bytes = Vec::new();
    let is_prompt = |entry: &Entry<'_>| matches!(entry.record, Record::SystemPrompt(_));
    if let Some(prompt) = log.system_prompt()
        && !kept.iter().any(is_prompt)
    {
        bytes.extend(record::system_prompt(prompt));
    }
    for entry in kept {
        entry.write(&mut bytes);
    }
    let checkpoint = note.map(|note| {
        let next = Log {
            entries: kept.to_vec(),
            ..Log::default()
        }
        .next_checkpoint();
        bytes.extend(record::checkpoint(next));
        let marked = after
            .get(1)
            .and_then(Entry::message)
            .is_some_and(Message::is_marker);
        if marked {
            bytes.extend(record::marker(next));
        }
        bytes.extend(record::note(note));
        next
    });
    let kept = kept.iter().filter_map(Entry::message).count();
    Some(Rewritten {
        bytes,
        discarded: log.messages().count() - kept,
        checkpoint,
    })
}

/// How many of the entries can stay so that they do not end in a tool call without its result.
fn settled(entries: &[Entry<'_>]) -> usize {
    match open_step(entries) {
        Some((at, _)) => at,
        None => entries.len(),
    }
}

/// The message whose calls are under way: the last one of a model, when nothing but results follows and some lack. With
/// the first call that does.
fn open_step<'e>(entries: &'e [Entry<'_>]) -> Option<(usize, &'e str)> {
    let mut answered = Vec::new();
    for (at, entry) in entries.iter().enumerate().rev() {
        let Some(message) = entry.message() else {
            continue;
        };
        if let Some(call) = message.answers() {
            answered.push(call);
            continue;
        }
        let mut open = message.calls().map(|(id, _, _)| id);
        return Some((at, open.find(|id| !answered.contains(id))?));
    }
    None
}

/// The log with a system prompt as its first line, and whether another one had to go for it.
pub fn with_system_prompt(log: &Log<'_>, prompt: &str) -> (Vec<u8>, bool) {
    let mut bytes = record::system_prompt(prompt);
    let mut dropped = log.skipped > 0;
    for entry in &log.entries {
        if matches!(entry.record, Record::SystemPrompt(_)) {
            dropped = true;
        } else {
            entry.write(&mut bytes);
        }
    }
    (bytes, dropped)
}

/// Where a compaction cuts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    /// What stands before this entry is summarized.
    At(usize),
    /// There are no more turns than are kept.
    Nothing,
    /// A tool call would be left without its result.
    Dangling(String),
}

/// Where to cut so that the last `keep` turns stay. A turn begins with what a person typed.
pub fn cut(log: &Log<'_>, keep: usize) -> Cut {
    if let Some((_, call)) = open_step(&log.entries) {
        return Cut::Dangling(call.to_owned());
    }
    let starts: Vec<usize> = log
        .entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.message().is_some_and(Message::is_prompt))
        .map(|(at, _)| at)
        .collect();
    let Some(first) = starts.len().checked_sub(keep) else {
        return Cut::Nothing;
    };
    if keep == 0 {
        return found(log, log.entries.len());
    }
    // Of a result that is kept its call is kept, too: then the turn before it stays as well.
    for start in starts.get(..=first).unwrap_or_default().iter().rev() {
        let from = start - bookkeeping_before(log, *start);
        match dangling(log.entries.get(from..).unwrap_or_default()) {
            Dangling::Nothing => return found(log, from),
            Dangling::Call(call) => return Cut::Dangling(call),
            Dangling::Result => {}
        }
    }
    Cut::Nothing
}

fn found(log: &Log<'_>, at: usize) -> Cut {
    let before = log.entries.get(..at).unwrap_or_default();
    let mut messages = before.iter().filter_map(Entry::message);
    // A summary alone is not summarized again.
    if messages.all(Message::is_summary) {
        Cut::Nothing
    } else {
        Cut::At(at)
    }
}

/// How many entries before a prompt belong to it: its checkpoint with the marker.
fn bookkeeping_before(log: &Log<'_>, at: usize) -> usize {
    let before = log.entries.get(..at).unwrap_or_default();
    let belongs = |entry: &&Entry<'_>| match &entry.record {
        Record::Checkpoint(_) => true,
        Record::Message(message) => message.is_marker(),
        _ => false,
    };
    before.iter().rev().take_while(belongs).count()
}

/// A call without its result in what a cut at `at` keeps, or at the end of what it does not.
pub fn unanswered(log: &Log<'_>, at: usize) -> Option<String> {
    if let Some((_, call)) = open_step(&log.entries) {
        return Some(call.to_owned());
    }
    match dangling(log.entries.get(at..).unwrap_or_default()) {
        Dangling::Call(call) => Some(call),
        _ => None,
    }
}

enum Dangling {
    Nothing,
    /// A call without its result.
    Call(String),
    /// A result without its call.
    Result,
}

fn dangling(entries: &[Entry<'_>]) -> Dangling {
    let mut open: Vec<&str> = Vec::new();
    for message in entries.iter().filter_map(Entry::message) {
        if let Some(call) = message.answers() {
            match open.iter().position(|id| *id == call) {
                Some(at) => drop(open.remove(at)),
                None => return Dangling::Result,
            }
        }
        open.extend(message.calls().map(|(id, _, _)| id));
    }
    match open.first() {
        Some(call) => Dangling::Call((*call).to_owned()),
        None => Dangling::Nothing,
    }
}

/// What stands before the cut as a text to summarize, without thoughts.
pub fn to_summarize(log: &Log<'_>, at: usize) -> String {
    let mut text = String::new();
    let before = log.entries.get(..at).unwrap_or_default();
    let messages = before.iter().filter_map(Entry::message);
    for (number, message) in messages.filter(|message| !message.is_marker()).enumerate() {
        text.push_str(&format!(
            "## Message {}: {}\n\n",
            number + 1,
            message.role()
        ));
        let said = message.said();
        if !said.trim().is_empty() {
            text.push_str(&format!("{}\n\n", said.trim()));
        }
        for (_, name, arguments) in message.calls() {
            text.push_str(&format!("[calls {name} {arguments}]\n\n"));
        }
    }
    text
}

/// The log with a summary in the place of what stands before `at`, and a new checkpoint at its end. Checkpoints that are
/// kept keep their ids and no id comes again; thoughts go.
pub fn compact(log: &Log<'_>, at: usize, summary: &str) -> Rewritten {
    let mut bytes = Vec::new();
    if let Some(prompt) = log.system_prompt() {
        bytes.extend(record::system_prompt(prompt));
    }
    bytes.extend(record::summary(summary));
    let mut kept = 0;
    for entry in log.entries.get(at..).unwrap_or_default() {
        match &entry.record {
            Record::SystemPrompt(_) | Record::Usage(_) => {}
            Record::Message(message) if message.has_thoughts() => {
                if let Some(rest) = message.without_thoughts() {
                    bytes.extend(record::line(rest.value()));
                    kept += 1;
                }
            }
            Record::Message(_) => {
                entry.write(&mut bytes);
                kept += 1;
            }
            Record::Checkpoint(_) => entry.write(&mut bytes),
        }
    }
    let next = log.next_checkpoint();
    bytes.extend(record::usage(Log::read(&bytes).tokens().total()));
    bytes.extend(record::checkpoint(next));
    Rewritten {
        bytes,
        discarded: log.messages().count() - kept,
        checkpoint: Some(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"role":"assistant","content":[{"type":"think","think":"hm"}],"tool_calls":[{"type":"function","id":"c1","function":{"name":"Shell","arguments":"{}"}}]}"#;
    const RESULT: &str = r#"{"role":"tool","content":"done","tool_call_id":"c1"}"#;

    fn user(text: &str) -> String {
        format!(r#"{{"role":"user","content":"{text}"}}"#)
    }

    fn joined(lines: &[&str]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn text(rewritten: &Rewritten) -> String {
        String::from_utf8(rewritten.bytes.clone()).expect("text")
    }

    fn point(id: i64) -> String {
        format!(r#"{{"role": "_checkpoint", "id": {id}}}"#)
    }

    #[test]
    fn lines_end_as_the_loader_s_do_and_bad_ones_are_counted() {
        let text = "{\"role\":\"user\",\"content\":\"a\"}\r\n\n{\"oops\":1}\r{\"role\":\"_usage\",\"token_count\":9}\n{\"role\":\"us";
        let log = Log::read(text.as_bytes());
        assert_eq!((log.entries.len(), log.skipped, log.torn), (2, 2, true));
        assert_eq!(
            log.tokens(),
            Tokens {
                counted: 9,
                pending: 0
            }
        );
        assert!(!Log::read(b"{\"oops\":1}\n").torn);
    }

    #[test]
    fn a_revert_takes_the_checkpoint_itself_and_keeps_the_system_prompt() {
        let lines = [
            user("old"),
            point(0),
            user("dropped"),
            r#"{"role": "_system_prompt", "content": "late"}"#.to_owned(),
            point(1),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let bytes = joined(&lines);
        let log = Log::read(bytes.as_bytes());
        let reverted = revert(&log, 0, None).expect("there");
        assert_eq!(text(&reverted), joined(&[lines[3], lines[0]]));
        assert_eq!((reverted.discarded, reverted.checkpoint), (1, None));
        assert_eq!(revert(&log, 2, None), None);
    }

    #[test]
    fn a_revert_into_a_step_takes_the_call_along() {
        let (hello, at) = (user("hello"), point(0));
        let bytes = joined(&[&hello, CALL, &at, RESULT]);
        let reverted = revert(&Log::read(bytes.as_bytes()), 0, None).expect("there");
        assert_eq!(text(&reverted), joined(&[&hello]));
        let bytes = joined(&[&hello, CALL, RESULT, &at]);
        let reverted = revert(&Log::read(bytes.as_bytes()), 0, None).expect("there");
        assert_eq!(text(&reverted), joined(&[&hello, CALL, RESULT]));
    }

    #[test]
    fn a_note_comes_with_a_checkpoint_and_its_marker() {
        let (hello, zero, one) = (user("hello"), point(0), point(1));
        let marker = String::from_utf8(record::marker(1)).expect("text");
        let bytes = joined(&[&zero, &hello, &one, marker.trim(), CALL]);
        let reverted = revert(&Log::read(bytes.as_bytes()), 1, Some("look")).expect("there");
        let note = String::from_utf8(record::note("look")).expect("text");
        let expected = joined(&[&zero, &hello, &one, marker.trim(), note.trim()]);
        assert_eq!(text(&reverted), expected);
        assert_eq!(reverted.checkpoint, Some(1));
    }

    #[test]
    fn a_compaction_keeps_whole_turns_and_counts_on() {
        let (one, two, three) = (user("one"), user("two"), user("three"));
        let points: Vec<String> = (0..3).map(point).collect();
        let usage = r#"{"role": "_usage", "token_count": 900}"#;
        let bytes = joined(&[
            &points[0], &one, CALL, RESULT, &points[1], &two, usage, &points[2], &three, CALL,
            RESULT,
        ]);
        let log = Log::read(bytes.as_bytes());
        assert_eq!(
            cut(&log, 3),
            Cut::Nothing,
            "nothing stands before the first turn"
        );
        assert_eq!(cut(&log, 1), Cut::At(7));
        let Cut::At(at) = cut(&log, 2) else {
            panic!("two turns are kept")
        };
        let compacted = compact(&log, at, "so far");
        let lines = text(&compacted);
        let lines: Vec<&str> = lines.lines().collect();
        let without = CALL.replace(r#"{"type":"think","think":"hm"}"#, "");
        assert_eq!(
            lines.get(1..7).expect("lines"),
            [&points[1], &two, &points[2], &three, &without, RESULT]
        );
        assert_eq!(lines.last(), Some(&point(3).as_str()));
        assert_eq!((compacted.discarded, compacted.checkpoint), (3, Some(3)));
        let again = Log::read(&compacted.bytes);
        assert_eq!(again.next_checkpoint(), 4);
        assert_eq!(
            cut(&again, 2),
            Cut::Nothing,
            "a summary is not summarized alone"
        );
        assert!(matches!(cut(&again, 0), Cut::At(_)));
    }

    #[test]
    fn a_compaction_leaves_no_tool_call_alone() {
        let (one, two) = (user("one"), user("two"));
        let bytes = joined(&[&one, &two, CALL]);
        for keep in 0..3 {
            let found = cut(&Log::read(bytes.as_bytes()), keep);
            assert_eq!(found, Cut::Dangling("c1".to_owned()));
        }
        // A prompt that came in the middle of a step: the turn of the call stays with its result.
        let (three, zero) = (user("three"), user("zero"));
        let bytes = joined(&[&zero, &one, CALL, &two, RESULT, &three]);
        let log = Log::read(bytes.as_bytes());
        assert_eq!(cut(&log, 1), Cut::At(5));
        assert_eq!(cut(&log, 2), Cut::At(1));
        // A call that never got its result, in what is kept and in what goes.
        let bytes = joined(&[&zero, &one, CALL, &two]);
        let log = Log::read(bytes.as_bytes());
        assert_eq!(cut(&log, 2), Cut::Dangling("c1".to_owned()));
        assert_eq!(cut(&log, 1), Cut::At(3));
    }

    #[test]
    fn a_new_system_prompt_takes_the_first_line() {
        let hello = user("hello");
        let log = Log::read(hello.as_bytes());
        let (bytes, dropped) = with_system_prompt(&log, "one");
        assert!(!dropped);
        let (bytes, dropped) = with_system_prompt(&Log::read(&bytes), "two");
        assert!(dropped);
        let log = Log::read(&bytes);
        assert_eq!((log.entries.len(), log.system_prompt()), (2, Some("two")));
    }
}
