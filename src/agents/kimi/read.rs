//! A kimi-cli session as a neutral conversation: words, times and totals from the wire, places to cut and the size of the
//! context from the context file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::context::{self, CutPoint};
use super::place::{CONTEXT, WIRE, session_of, work_dir_of};
use super::{NAME, wire};
use crate::agents::transcript::{Cut, Detail, Position, Prompt, Transcript};
use crate::error::Result;

/// Reads a session: its context file, or its wire file.
pub fn read(path: &Path, detail: Detail) -> Result<Transcript> {
    let main = main_file(path);
    let path = main.as_deref().unwrap_or(path);
    let mut transcript = match wire_of(path) {
        Some(wire) => merge(
            context::scan(path, detail, None)?,
            wire::scan(&wire, detail, None)?,
        ),
        None if path.file_name().is_some_and(|name| name == WIRE) => wire_alone(path, detail)?,
        None => context::scan(path, detail, None)?.transcript,
    };
    transcript.agent = NAME;
    transcript.session_id = session_of(path);
    transcript.cwd = work_dir_of(path);
    Ok(transcript)
}

/// The model's context, of a session's directory or beside the record of what people saw.
pub fn main_file(named: &Path) -> Option<PathBuf> {
    let accompanies = named.file_name().is_some_and(|name| name == WIRE);
    let context = if accompanies {
        named.with_file_name(CONTEXT)
    } else {
        named.join(CONTEXT)
    };
    context.is_file().then_some(context)
}

/// The wire file beside a context file, where it holds a turn at all.
pub fn wire_of(context: &Path) -> Option<PathBuf> {
    let wire = context.with_file_name(WIRE);
    (context.file_name().is_some_and(|name| name == CONTEXT) && wire.is_file()).then_some(wire)
}

/// A wire file without its context: a conversation that cannot be forked.
fn wire_alone(path: &Path, detail: Detail) -> Result<Transcript> {
    let mut transcript = wire::scan(path, detail, None)?.transcript;
    transcript.boundaries.clear();
    for prompt in &mut transcript.prompts {
        prompt.cut = None;
    }
    Ok(transcript)
}

fn merge(context: context::Scan, wire: wire::Scan) -> Transcript {
    let held = context.transcript;
    let mut transcript = wire.transcript;
    if transcript.prompts.is_empty() {
        return held;
    }
    let turns = align(&held.prompts, &transcript.prompts);
    for prompt in &mut transcript.prompts {
        let place = turns
            .iter()
            .position(|turn| *turn == Some(prompt.index))
            .and_then(|at| held.prompts.get(at))
            .and_then(|held| held.cut);
        let own = prompt.position;
        prompt.cut = place.map(|place| joined(&place, own, prompt));
        prompt.position = place.map_or(Position::default(), |place| place.position);
        if let Some(cut) = prompt.cut {
            prompt.tokens = cut.tokens;
        }
    }
    let shared = shared(&context.cut_points, &wire.cut_points, &turns);
    let rest = shared
        .last()
        .map(|last| take_rest(&mut transcript, &held, last));
    transcript.boundaries = boundaries(&shared, rest.unwrap_or_default(), &transcript.prompts);
    transcript.tokens.context = held.tokens.context.or(transcript.tokens.context);
    transcript.companion = Some(transcript.path);
    transcript.path = held.path;
    transcript.lines += held.lines;
    transcript.bytes = held.bytes;
    transcript.skipped += held.skipped;
    transcript
}

fn joined(place: &Cut, companion: Position, prompt: &Prompt) -> Cut {
    let mut tokens = place.tokens;
    tokens.total = prompt.tokens.total;
    Cut {
        position: place.position,
        companion: Some(companion),
        tokens,
        messages: prompt.message,
    }
}

/// For each prompt of the context the turn of the wire that it is: by their texts, from the end on. The context holds fewer:
/// a compaction leaves a summary, and commands never enter it; prompts that no turn has are steers and notices.
fn align(held: &[Prompt], turns: &[Prompt]) -> Vec<Option<usize>> {
    let mut aligned = vec![None; held.len()];
    let mut end = turns.len();
    for (index, prompt) in held.iter().enumerate().rev() {
        let found = turns
            .get(..end)
            .and_then(|turns| turns.iter().rposition(|turn| turn.text == prompt.text));
        if let Some(found) = found {
            aligned[index] = Some(found);
            end = found;
        }
    }
    aligned
}

/// A place in mid-turn that both files have.
struct Shared {
    /// As the context has it.
    held: Cut,
    /// As the wire has it.
    shown: Cut,
}

impl Shared {
    /// A later place of the context, of which the wire has nothing.
    fn later(&self, held: &Cut) -> Cut {
        let mut tokens = held.tokens;
        tokens.total = self.shown.tokens.total;
        Cut {
            position: held.position,
            companion: Some(self.shown.position),
            tokens,
            messages: self.message(held.messages),
        }
    }

    /// The place of a message behind this one, from its place in the context.
    fn message(&self, held: usize) -> usize {
        held - self.held.messages + self.shown.messages
    }
}

/// The places in mid-turn that both files have: the same turn, with as many messages and as many calls answered.
fn shared(context: &[CutPoint], wire: &[CutPoint], turns: &[Option<usize>]) -> Vec<Shared> {
    let mut places: HashMap<(usize, usize, usize), Cut> = HashMap::new();
    for mark in wire {
        places.insert((mark.turn, mark.messages, mark.answered), mark.cut);
    }
    let shown = |mark: &CutPoint| {
        let turn = turns.get(mark.turn).copied().flatten()?;
        places.get(&(turn, mark.messages, mark.answered)).copied()
    };
    let both = context.iter().filter_map(|mark| {
        let shown = shown(mark)?;
        Some(Shared {
            held: mark.cut,
            shown,
        })
    });
    both.collect()
}

/// Where the wire ends before the context does, the rest of the conversation is as the context has it. Turns are the wire's, as
/// kimi itself counts them: the rest belongs to the last one. Gives the places in the rest.
fn take_rest(transcript: &mut Transcript, held: &Transcript, last: &Shared) -> Vec<Cut> {
    let rest = held.messages.get(last.held.messages..).unwrap_or_default();
    let shown = transcript.messages.len() - last.shown.messages;
    let prompts = &transcript.prompts;
    let is_last_turn = |prompt: &Prompt| prompt.message < last.shown.messages;
    if rest.len() <= shown || !prompts.last().is_some_and(is_last_turn) {
        return Vec::new();
    }
    transcript.messages.truncate(last.shown.messages);
    transcript.messages.extend(rest.iter().cloned());
    let places = held.boundaries.iter();
    let places = places.filter(|cut| cut.position > last.held.position);
    places.map(|cut| last.later(cut)).collect()
}

/// Every place to cut: before prompts, where both files are in mid-turn, and in what the context has alone.
fn boundaries(shared: &[Shared], rest: Vec<Cut>, prompts: &[Prompt]) -> Vec<Cut> {
    let mut found: Vec<Cut> = prompts.iter().filter_map(|prompt| prompt.cut).collect();
    found.extend(shared.iter().map(|both| both.later(&both.held)));
    found.extend(rest);
    found.sort_by_key(|cut| cut.position);
    // Where a prompt begins, its own cut counts, not the end of the turn before.
    found.dedup_by_key(|cut| cut.position.offset);
    found
}
