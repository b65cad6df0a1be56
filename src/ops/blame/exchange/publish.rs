//! Git notes of what is exported.
//!
//! A commit that has no note gets one; a note that was written here, and that nobody has gone over since, is brought up to date and keeps
//! what it says of other files; any other is left as it is. The notes are read and replaced in one step (compare and swap), so that what
//! another tool writes at the same time is not lost.

use super::agent_trace::Note;
use super::export::{ExportedNote, NoteState};
use super::git_ai::Log;
use super::{Format, LARGEST_NOTE};
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::notes::{note_on, prepare_notes};
use crate::git::objects::NewObjects;
use crate::ops::Context;
use crate::store::Store;

/// How often it is begun again while others write to the same ref.
const TRIES: usize = 100;

/// Writes notes.
///
/// # Errors
/// `BUSY` when others keep writing; those of the refs and objects.
pub fn publish(
    ctx: &Context<'_>,
    store: &Store,
    format: Format,
    commits: &mut [ExportedNote],
) -> Result<()> {
    let name = format.notes_ref();
    for _ in 0..TRIES {
        let tip = store.refs.read_direct(name)?;
        if tip.is_none() && store.refs.read(name)?.is_some() {
            let message = format!("'{name}' stands for another ref");
            return Err(Error::new(Code::WouldOverwrite, message)
                .hint("notes are written only where it is a ref of its own"));
        }
        for one in commits.iter_mut() {
            merge(store, format, tip, one)?;
        }
        let written = commits.iter().filter(|one| one.note == NoteState::Written);
        let changes: Vec<(Oid, Option<&[u8]>)> = written
            .map(|one| (one.id, Some(one.text.as_bytes())))
            .collect();
        if changes.is_empty() {
            return Ok(());
        }
        let mut new = NewObjects::new(store.objects.format());
        let message = "blame: notes for other tools";
        let now = ctx.env.now();
        let next = prepare_notes(&store.objects, &mut new, tip, &changes, message, now)?;
        let mut transaction = store.refs.transaction();
        match tip {
            Some(tip) => transaction.update(name, next, tip),
            None => transaction.create(name, next),
        }
        match transaction.commit_with(&store.objects, &new) {
            Ok(()) => return Ok(()),
            Err(error) if error.is_lost_race() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let message = format!("'{name}' keeps changing");
    Err(Error::new(Code::Busy, message).hint("try again"))
}

/// Decides what becomes of one note.
fn merge(store: &Store, format: Format, tip: Option<Oid>, one: &mut ExportedNote) -> Result<()> {
    let blob = match tip {
        Some(tip) => note_on(&store.objects, tip, one.id)?,
        None => None,
    };
    let old = match blob {
        None => None,
        Some(blob) => {
            let bytes = store.objects.read_blob_up_to(blob, LARGEST_NOTE)?;
            if bytes.is_none() {
                one.note = NoteState::Foreign;
                return Ok(());
            }
            bytes
        }
    };
    let merged = match format {
        Format::GitAi => merge_logs(old.as_deref(), one),
        Format::AgentTrace => merge_records(old.as_deref(), one),
    };
    let Some((text, is_same)) = merged else {
        one.note = NoteState::Foreign;
        return Ok(());
    };
    one.text = text;
    one.note = if is_same {
        NoteState::Unchanged
    } else {
        NoteState::Written
    };
    Ok(())
}

/// The text with what an older note of ours has, and whether that said the same; None where it is none of ours.
fn merge_logs(old: Option<&[u8]>, one: &ExportedNote) -> Option<(String, bool)> {
    let mut log = Log::of(&one.commit, &one.files);
    let Some(old) = old else {
        return Some((log.text(), false));
    };
    let old = Log::parse(old).ok().filter(Log::is_ours)?;
    log.keep(old.clone());
    Some((log.text(), log.is_like(&old)))
}

fn merge_records(old: Option<&[u8]>, one: &ExportedNote) -> Option<(String, bool)> {
    let mut note = Note::of(&one.commit, &one.files);
    let Some(old) = old else {
        return Some((note.text(), false));
    };
    let old = Note::parse(old)?;
    note.keep(old.clone());
    Some((note.text(), note == old))
}
