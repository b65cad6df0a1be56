//! Records that cannot be read: whether one can, and the command of plain git that brings an older version back.
//!
//! `tw` itself takes in only what descends from the record as it stands: an older commit that is put back on the notes ref would lose
//! what came later. So the way back is a new commit with the older one's notes.

use super::typed;
use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::store::Store;
use crate::store::checkpoint::SessionNotes;
use crate::store::names::Record;
use crate::text::typed_path;

/// How far back a readable version is looked for.
const VERSIONS: usize = 1000;

/// Whoever has told git no name needs none for this either.
const IDENTITY: &str = "-c user.name=tw -c user.email=tw@localhost";

/// Brings what a partial clone lacks.
pub const REFETCH: &str = "git fetch --refetch";

/// This many digits of a commit's id are shown.
const SHOWN: usize = 12;

/// Whether all that a record says can be read as what it is, as a commit of it has it.
///
/// # Errors
/// `ISSUE_INVALID`, `CORRUPT_RECORD`, `NEWER_RECORD`.
pub fn check(store: &Store, record: &Record, commit: Oid) -> Result<()> {
    let held = || store.record_at_commit(record, commit);
    match record {
        Record::Issue(id) => {
            let note = held()?.into_only(record)?;
            typed(*id, &note.json).map(drop)
        }
        Record::Chat(_) => store.chat_at_commit(record, commit).map(drop),
        Record::Session(_) => SessionNotes::from(held()?).refusal().map_or(Ok(()), Err),
        Record::Label(_) => held().map(drop),
    }
}

/// The command that brings the last version back that can be read; None where there is none.
pub fn command(store: &Store, record: &Record, tip: Oid) -> Option<String> {
    let name = record.note_ref()?;
    let readable = last_readable(store, record, tip)?.to_string();
    let version = readable.get(..SHOWN).unwrap_or(&readable);
    // That of the durable copy, where this one is damaged.
    let tip = tip.to_string();
    let tip = tip.get(..SHOWN).unwrap_or(&tip);
    let git = git(store);
    Some(format!(
        "{git} update-ref {name} \"$({git} {IDENTITY} commit-tree -m mended -p {tip} '{version}^{{tree}}')\""
    ))
}

/// What is left to do about a record that has no version which can be read: to get back what is
/// lost where another repository has it, else to let the record go. None where it may be read
/// another time.
pub fn last_resort(store: &Store, record: &Record, error: &Error) -> Option<String> {
    if error.code() != Code::CorruptRecord {
        return None;
    }
    if store.repo.is_partial_clone() {
        return Some(REFETCH.to_owned());
    }
    let git = git(store);
    let refs = record.note_ref().into_iter().chain([record.record_ref()]);
    let commands = refs.map(|name| format!("{git} update-ref -d {name}"));
    Some(commands.collect::<Vec<_>>().join("; "))
}

fn git(store: &Store) -> String {
    if store.repo.is_private() {
        // git does not find it by itself.
        format!("git --git-dir={}", typed_path(store.repo.git_dir()))
    } else {
        "git".to_owned()
    }
}

/// The error of a record that cannot be read, with the way back.
pub fn with_way_back(store: &Store, (record, tip): (&Record, Oid), error: Error) -> Error {
    if !matches!(error.code(), Code::CorruptRecord | Code::IssueInvalid) {
        return error;
    }
    match command(store, record, tip) {
        Some(command) => error.hint(format!("this brings the version before back: {command}")),
        None => error,
    }
}

fn last_readable(store: &Store, record: &Record, tip: Oid) -> Option<Oid> {
    let mut at = tip;
    for _ in 0..VERSIONS {
        at = *store.objects.commit(at).ok()?.parents.first()?;
        if check(store, record, at).is_ok() {
            return Some(at);
        }
    }
    None
}
