//! What an agent's own tools say that they wrote: the conversation names files, and the text that was put into them.
//!
//! A tool's text counts where a file has it exactly once: what is found twice may have been there before. A text that is the whole file
//! is compared line by line.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use serde_json::Value;

use super::content;
use super::graph::{Links, Node};
use super::owners::Turn;
use super::trace::Spot;
use crate::agents;
use crate::agents::transcript::{Detail, Message, Transcript};
use crate::git::regular;
use crate::git::textdiff::same_lines;
use crate::ops::Context;
use crate::ops::checkpoints::spot;
use crate::store::Store;
use crate::text::foreign_json;

/// So much of a turn's part of the file is looked at for the model.
const LOOKED_AT: u64 = 4 << 20;

/// A turn by its session and checkpoint, and a file of a state or a commit.
type Key = (String, u64, Node, Vec<u8>);

/// Reads conversations as they are asked for.
pub struct Named<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    conversations: RefCell<HashMap<String, Option<Rc<Transcript>>>>,
    lines: RefCell<HashMap<Key, Rc<HashSet<usize>>>>,
    models: RefCell<HashMap<(String, u64), Option<String>>>,
}

impl<'a> Named<'a> {
    pub fn new(ctx: &'a Context<'a>, store: &'a Store) -> Self {
        Self {
            ctx,
            store,
            conversations: RefCell::default(),
            lines: RefCell::default(),
            models: RefCell::default(),
        }
    }

    /// Whether a tool in this turn wrote this line.
    pub fn has(&self, turn: &Turn, spot: &Spot, links: &Links<'_>) -> bool {
        let prompt = &turn.prompt;
        let key = (
            prompt.session_id.clone(),
            prompt.checkpoint_id,
            spot.node,
            spot.path.clone(),
        );
        let known = self.lines.borrow().get(&key).cloned();
        let lines = known.unwrap_or_else(|| {
            let lines = Rc::new(self.lines(turn, spot, links));
            self.lines.borrow_mut().insert(key, Rc::clone(&lines));
            lines
        });
        lines.contains(&spot.line)
    }

    /// The model that answered in this turn, where the agent records it.
    pub fn model(&self, turn: &Turn) -> Option<String> {
        let key = (turn.prompt.session_id.clone(), turn.prompt.checkpoint_id);
        let mut known = self.models.borrow_mut();
        known.entry(key).or_insert_with(|| model(turn)).clone()
    }

    /// The lines of a file that tools wrote in a turn.
    fn lines(&self, turn: &Turn, spot: &Spot, links: &Links<'_>) -> HashSet<usize> {
        let commit = match spot.node {
            Node::State(at) => links.states.all[at].commit,
            Node::Made(commit) | Node::End(commit) => commit,
        };
        let text = content(self.store, commit, &spot.path).ok().flatten();
        let (Some(text), Some(transcript)) = (text, self.conversation(turn)) else {
            return HashSet::new();
        };
        let path = String::from_utf8_lossy(&spot.path).into_owned();
        let mut lines = HashSet::new();
        for message in self.messages(turn, &transcript) {
            let Some(tool) = message.tool.as_ref().filter(|tool| !tool.error) else {
                continue;
            };
            let mut words = Vec::new();
            strings(&tool.input, "", &mut words);
            if !words.iter().any(|(_, word)| word.contains(&path)) {
                continue;
            }
            for (key, word) in words {
                // What is replaced is not what was written.
                if !key.starts_with("old") && word != path {
                    lines.extend(written(&text, &word));
                }
            }
        }
        lines
    }

    fn conversation(&self, turn: &Turn) -> Option<Rc<Transcript>> {
        let path = turn.prompt.transcript.path.clone()?;
        let mut known = self.conversations.borrow_mut();
        let read = known.entry(path).or_insert_with_key(|path| {
            // One that cannot be read names nothing.
            agents::read(Path::new(path), Detail::Full)
                .ok()
                .map(Rc::new)
        });
        read.clone()
    }

    /// What was said and done in a turn.
    fn messages<'t>(&self, turn: &Turn, transcript: &'t Transcript) -> &'t [Message] {
        let redactor = self.ctx.redactor();
        let found = spot(transcript, &turn.prompt, redactor, false).ok();
        let Some(start) = found.as_ref().and_then(|spot| Some(spot.prompt()?.message)) else {
            return &[];
        };
        let mut prompts = transcript.prompts.iter().map(|prompt| prompt.message);
        let end = prompts.find(|message| *message > start);
        let end = end.unwrap_or(transcript.messages.len());
        transcript.messages.get(start..end).unwrap_or_default()
    }
}

/// All texts of a tool's input, with the name that each has there.
fn strings(input: &Value, key: &str, found: &mut Vec<(String, String)>) {
    match input {
        Value::String(text) => found.push((key.to_owned(), text.clone())),
        Value::Array(items) => items.iter().for_each(|item| strings(item, key, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                strings(value, name, found);
            }
        }
        _ => {}
    }
}

/// The lines of a file that have what a tool wrote.
fn written(file: &[u8], word: &str) -> HashSet<usize> {
    let mut lines = HashSet::new();
    let mut blocks = vec![word.trim_end_matches('\n').to_owned()];
    blocks.extend(added(word));
    for block in blocks {
        lines.extend(once(file, &block));
    }
    // The whole file, into which somebody wrote since.
    let is_whole = word.ends_with('\n') && word.lines().count() > 1;
    if lines.is_empty() && is_whole {
        let same = same_lines(word.as_bytes(), file, false).unwrap_or_default();
        let alike = same.iter().filter(|line| line.is_some()).count();
        if alike * 2 > same.len() {
            let found = same.iter().enumerate().filter(|(_, line)| line.is_some());
            lines.extend(found.map(|(at, _)| at));
        }
    }
    lines
}

/// The runs of lines that a patch adds.
fn added(patch: &str) -> Vec<String> {
    let mut runs: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in patch.lines() {
        let line = line
            .strip_prefix('+')
            .filter(|rest| !rest.starts_with("++ "));
        match (line, runs.last_mut()) {
            (Some(line), Some(run)) if goes_on => {
                run.push('\n');
                run.push_str(line);
            }
            (Some(line), _) => runs.push(line.to_owned()),
            (None, _) => {}
        }
        goes_on = line.is_some();
    }
    runs
}

/// The lines of the one place where a file has a text.
fn once(file: &[u8], text: &str) -> std::ops::Range<usize> {
    let file = String::from_utf8_lossy(file);
    let mut found = file.match_indices(text);
    let (Some((start, _)), None) = (found.next(), found.next()) else {
        return 0..0;
    };
    if text.trim().is_empty() {
        return 0..0;
    }
    let before = |end: usize| file.bytes().take(end).filter(|byte| *byte == b'\n').count();
    before(start)..before(start + text.len()) + 1
}

/// The model that an agent's file names in a turn; files that are not written line by line name none.
fn model(turn: &Turn) -> Option<String> {
    let place = &turn.prompt.transcript;
    let next = turn.next.as_ref().map(|next| &next.transcript);
    let next = next.filter(|next| next.path == place.path);
    let length = next.map_or(LOOKED_AT, |next| next.offset.saturating_sub(place.offset));
    let mut file = regular::open(place.path.as_ref()?).ok()?;
    file.seek(SeekFrom::Start(place.offset)).ok()?;
    let mut bytes = Vec::new();
    file.take(length.min(LOOKED_AT))
        .read_to_end(&mut bytes)
        .ok()?;
    let mut lines = bytes.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let row: Value = foreign_json::from_slice(line).ok()?;
        let inner = ["message", "payload"]
            .iter()
            .filter_map(|name| row.get(name));
        let found = std::iter::once(&row).chain(inner);
        let mut names = found.filter_map(|fields| fields.get("model")?.as_str());
        // Some agents write in the name of a model that is none.
        names.find(|name| !name.starts_with('<')).map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &str, word: &str) -> Vec<usize> {
        let mut lines: Vec<usize> = written(file.as_bytes(), word).into_iter().collect();
        lines.sort_unstable();
        lines
    }

    #[test]
    fn a_text_counts_where_it_is_once() {
        assert_eq!(lines("a\nb\nc\n", "b"), [1]);
        assert_eq!(lines("a\nb\nb\n", "b"), [0; 0]);
        assert_eq!(lines("a\nb\nc\nd\n", "b\nc\n"), [1, 2]);
        assert_eq!(lines("x\na(b, c)\n", "(b, "), [1]);
        assert_eq!(lines("a\n\nc\n", "\n"), [0; 0]);
    }

    #[test]
    fn patches_and_whole_files_are_understood() {
        let patch = "*** Update File: x\n@@\n a\n-b\n+B\n+C\n c\n+d\n";
        assert_eq!(lines("a\nB\nC\nc\nd\n", patch), [1, 2, 4]);
        assert_eq!(lines("a\nmine\nb\nc\n", "a\nb\nc\n"), [0, 2, 3]);
    }
}
