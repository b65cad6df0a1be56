//! What an agent's own tools say that they wrote: the conversation names files, and the text that was put into them.
//!
//! What a tool's text says of the lines of a file is told by `agents::writes`; here it is asked for a turn, and its answers are kept.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use serde_json::Value;

use super::content;
use super::graph::{Links, Node};
use super::trace::Spot;
use crate::agents;
use crate::agents::transcript::{Detail, Message, Transcript};
use crate::agents::writes::Lines;
use crate::git::regular;
use crate::ops::Context;
use crate::ops::checkpoints::{TurnWrites, spot};
use crate::ops::versions::Turn;
use crate::store::Store;
use crate::text::foreign_json;

/// So much of a turn's part of the file is looked at for the model.
const LOOKED_AT: u64 = 4 << 20;

/// So much of a model's name is told.
const MODEL_CHARS: usize = 200;

/// A turn by its session and checkpoint.
type Name = (String, u64);

/// A turn, and a file of a state or a commit.
type Key = (Name, Node, Vec<u8>);

/// What a turn's tools say of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Says {
    /// They do not name it.
    Nothing,
    /// They wrote it, if nobody else did who does not say so.
    Likely,
    /// They wrote it.
    Sure,
}

/// Reads conversations as they are asked for.
pub struct Named<'a> {
    ctx: &'a Context<'a>,
    store: &'a Store,
    conversations: RefCell<HashMap<String, Option<Rc<Transcript>>>>,
    writes: RefCell<HashMap<Name, Option<Rc<TurnWrites>>>>,
    lines: RefCell<HashMap<Key, Rc<Lines>>>,
    models: RefCell<HashMap<Name, Option<String>>>,
}

impl<'a> Named<'a> {
    pub fn new(ctx: &'a Context<'a>, store: &'a Store) -> Self {
        Self {
            ctx,
            store,
            conversations: RefCell::default(),
            writes: RefCell::default(),
            lines: RefCell::default(),
            models: RefCell::default(),
        }
    }

    /// What the tools of this turn say of a line.
    pub fn says(&self, turn: &Turn, spot: &Spot, links: &Links<'_>) -> Says {
        let key = (name(turn), spot.node, spot.path.clone());
        let known = self.lines.borrow().get(&key).cloned();
        let lines = known.unwrap_or_else(|| {
            let lines = Rc::new(self.lines(turn, spot, links));
            self.lines.borrow_mut().insert(key, Rc::clone(&lines));
            lines
        });
        if lines.sure.contains(&spot.line) {
            Says::Sure
        } else if lines.likely.contains(&spot.line) {
            Says::Likely
        } else {
            Says::Nothing
        }
    }

    /// Whether the turn may have written what no tool of it names: a shell ran, or its conversation is not there.
    pub fn has_untold(&self, turn: &Turn) -> bool {
        self.writes(turn).is_none_or(|writes| writes.has_untold)
    }

    /// The model that answered in this turn, where the agent records it.
    pub fn model(&self, turn: &Turn) -> Option<String> {
        let mut known = self.models.borrow_mut();
        known
            .entry(name(turn))
            .or_insert_with(|| {
                // What a session file has for a name is as free as what was said.
                let redactor = self.ctx.redactor();
                model(turn).map(|name| redactor.beginning(&name, MODEL_CHARS))
            })
            .clone()
    }

    /// The lines of a file that tools wrote in a turn.
    fn lines(&self, turn: &Turn, spot: &Spot, links: &Links<'_>) -> Lines {
        let commit = match spot.node {
            Node::State(at) => links.states.all[at].commit,
            Node::Made(commit) | Node::End(commit) => commit,
        };
        let writes = self.writes(turn);
        let mut lines = Lines::default();
        let Some(calls) = writes
            .as_ref()
            .and_then(|writes| writes.files.get(&spot.path))
        else {
            return lines;
        };
        let Some(text) = content(self.store, commit, &spot.path).ok().flatten() else {
            return lines;
        };
        for call in calls {
            let added = call.added(&text);
            lines.sure.extend(added.sure);
            lines.likely.extend(added.likely);
        }
        lines
    }

    /// What the tools of this turn wrote; None without its conversation.
    fn writes(&self, turn: &Turn) -> Option<Rc<TurnWrites>> {
        let read = || {
            let transcript = self.conversation(turn)?;
            let messages = self.messages(turn, &transcript)?;
            let root = self.ctx.repo.worktree_root();
            let writes = TurnWrites::of(root, transcript.cwd.as_deref(), messages);
            Some(Rc::new(writes))
        };
        let mut known = self.writes.borrow_mut();
        known.entry(name(turn)).or_insert_with(read).clone()
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

    /// What was said and done in a turn. None: it is not there any more.
    fn messages<'t>(&self, turn: &Turn, transcript: &'t Transcript) -> Option<&'t [Message]> {
        let redactor = self.ctx.redactor();
        let found = spot(transcript, &turn.prompt, redactor, false).ok()?;
        let start = found.prompt()?.message;
        transcript
            .messages
            .get(start..transcript.end_of_turn(start))
    }
}

fn name(turn: &Turn) -> Name {
    (turn.prompt.session_id.clone(), turn.prompt.checkpoint_id)
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
