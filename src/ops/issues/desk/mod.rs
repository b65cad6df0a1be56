//! The desk: `.timewarp/issues/<id>/` with `issue.json`, `chat.md` and `experiment.md`, a checkout of the notes.
//!
//! Owns writing these files and taking in what an editor did to them, as a three-way merge against what the file had in
//! common with the record last (`common`). Only texts come from there (redacted), never ids, snapshot, status or commands. When both sides changed a text the
//! desk wins, the other version stays in the record's history, and it is said. A file that cannot be read as what it
//! should be, that has what the record has no place for, or that somebody is saving or has saved in part, is left as it is. A desk that cannot be used is said and fails nothing: the record is what counts.

mod base;
mod common;
pub mod exclude;
mod experiment;
mod fields;
mod markdown;
mod place;

use std::fmt::Write as _;

use base::{Base, Stays, hash};
use common::{Common, Taken, Texts};
use fields::Unplaced;
pub use markdown::render;
use place::{DeskEntry, Place};

use super::{DeskPaths, load, update};
use crate::env::fail_point;
use crate::error::{Code, Result};
use crate::git::Oid;
use crate::git::fs::Durable;
use crate::ops::Context;
use crate::ops::gitview::read_index;
use crate::ops::redaction::Redacting;
use crate::ops::request::DryRun;
use crate::store::Store;
use crate::store::id::IssueId;
use crate::store::issue::{CHAT_FILE, EXPERIMENT_FILE, ISSUE_FILE, Issue};
use crate::store::names::Record;
use crate::store::records::Json;
use crate::text::{headline, is_unsafe, listed, visible, without_mark};

/// What a change that came from the desk is called in the record's history.
const EDITED: &str = "edited on the desk";

/// Where the desks of all issues are.
const DESKS: &str = ".timewarp/issues";

fn directory(id: IssueId) -> String {
    format!("{DESKS}/{id}")
}

/// Where an issue's desk files are.
pub fn paths(ctx: &Context<'_>, id: IssueId) -> DeskPaths {
    let dir = ctx.repo.worktree_root().join(directory(id));
    DeskPaths {
        issue: dir.join(ISSUE_FILE),
        chat: dir.join(CHAT_FILE),
        experiment: dir.join(EXPERIMENT_FILE),
        dir,
    }
}

/// Writes an issue's desk, as its record has it now. Gives sentences about what was left alone.
pub fn write(ctx: &Context<'_>, store: &Store, id: IssueId) -> Vec<String> {
    try_write(ctx, store, id)
        .unwrap_or_else(|error| vec![format!("issue {id}: {}", error.message())])
}

fn try_write(ctx: &Context<'_>, store: &Store, id: IssueId) -> Result<Vec<String>> {
    let _lock = base::lock(store)?;
    let loaded = load(store, id)?;
    let mut notices = loaded.notices.clone();
    exclude::exclude_desk(ctx, DryRun::No)?;
    let place = Place::make(ctx, &directory(id))?;
    hide_from_packers(ctx)?;
    let mut base = Base::read(store, id).unwrap_or_default();
    let mut writes = Vec::new();
    let source = ChatSource::find(store, &loaded.issue)?;
    let stands = |base: &mut Base, name, bytes: &[u8]| {
        base.only(name, bytes, loaded.tip);
        if let Some(source) = source.as_ref().filter(|_| name == CHAT_FILE) {
            base.made_of(name, &source.hash);
        }
    };
    let chat = match &source {
        Some(source) => source.render(store, id, (&place, &base))?,
        None => None,
    };
    for (name, bytes) in contents(&loaded.issue, chat) {
        let found = place.read(name, &|found| found == bytes || base.knows(name, found))?;
        let why = match found {
            DeskEntry::File(found) if found == bytes => {
                stands(&mut base, name, &bytes);
                continue;
            }
            DeskEntry::File(found) if !base.knows(name, &found) => {
                "has edits that could not be taken in, so it is left as it is"
            }
            DeskEntry::Busy => "is open for writing in another program and is left alone",
            DeskEntry::TooLarge => "is too large for a desk and is left alone",
            DeskEntry::Other => "is not a regular file and is left alone",
            DeskEntry::Nothing | DeskEntry::File(_) if is_tracked(ctx, store, id, name)? => {
                "is tracked by git and is left alone"
            }
            DeskEntry::Nothing | DeskEntry::File(_) => {
                writes.push((name, bytes));
                continue;
            }
        };
        notices.push(format!("'{}/{name}' {why}", directory(id)));
    }
    for (name, bytes) in &writes {
        base.also(name, bytes);
    }
    base.write(store, id, Durable::No)?;
    for (name, bytes) in &writes {
        if place.write(name, bytes, &|found| base.knows(name, found))? {
            stands(&mut base, name, bytes);
        } else {
            let why = "was edited meanwhile, so it is left as it is";
            notices.push(format!("'{}/{name}' {why}", directory(id)));
        }
    }
    fail_point("desk-written");
    base.write(store, id, Durable::No)?;
    Ok(notices)
}

/// Hides all desks from those who know nothing of git's excludes: programs that pack a directory by its `.gitignore` files, as npm does, and a
/// repository that is made around the directory later. A file that is there stays.
fn hide_from_packers(ctx: &Context<'_>) -> Result<()> {
    const FILE: &str = ".gitignore";
    let desks = Place::make(ctx, DESKS)?;
    if !desks.has(FILE)? {
        desks.write(FILE, b"*\n", &|_| false)?;
    }
    Ok(())
}

/// What the files should hold, given `chat.md` where that is to be looked at.
fn contents(issue: &Issue, chat: Option<Vec<u8>>) -> Vec<(&'static str, Vec<u8>)> {
    let json = serde_json::to_string_pretty(&issue.to_json()).unwrap_or_default();
    let mut json = escaped(&json).into_bytes();
    json.push(b'\n');
    let experiment = markdown::render(issue).into_bytes();
    let files = [(ISSUE_FILE, json), (EXPERIMENT_FILE, experiment)];
    let chat = chat.map(|bytes| (CHAT_FILE, bytes));
    files.into_iter().chain(chat).collect()
}

/// What `chat.md` is made of.
struct ChatSource {
    /// What stands above the conversation.
    header: String,
    /// The record's commit.
    tip: Oid,
    /// By what it is known that the file would be made the same again.
    hash: String,
}

impl ChatSource {
    /// That of an issue; None: there is no conversation. Nothing of it is read.
    fn find(store: &Store, issue: &Issue) -> Result<Option<Self>> {
        let Some((tip, _)) = store.record_tip(&Record::Chat(issue.id))? else {
            return Ok(None);
        };
        let claimed = issue.claimed_by.as_ref();
        let claimed = claimed.map(|name| format!("claimed_by: {}\n", visible(&headline(name, 80))));
        let header = claimed.unwrap_or_default();
        // Another version may write it in another way.
        let all = format!("{}\n{tip}\n{header}", env!("CARGO_PKG_VERSION"));
        let hash = base::hash(all.as_bytes());
        Ok(Some(Self { header, tip, hash }))
    }

    /// What the file should hold. None: it stands as it was made, or the conversation is none. That may be large: where the file is left
    /// alone, or was made of the same, it is not read.
    fn render(
        &self,
        store: &Store,
        id: IssueId,
        (place, base): (&Place, &Base),
    ) -> Result<Option<Vec<u8>>> {
        if let Some(sha256) = base.sha256_of(CHAT_FILE, &self.hash)
            && place.has_sha256(CHAT_FILE, sha256)?
        {
            return Ok(None);
        }
        if place.is_left_alone(CHAT_FILE)? {
            return Ok(Some(Vec::new()));
        }
        let name = Record::Chat(id);
        match store.chat_at_commit(&name, self.tip) {
            Ok(chat) => Ok(Some(chat.under(self.header.clone()).into_bytes())),
            // What is there and says something else is told by whoever reads it.
            Err(_) => store.record_at_commit(&name, self.tip).map(|_| None),
        }
    }
}

/// JSON with what would not be seen as escapes of JSON's own; its writer leaves some as they are.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for ch in json.chars() {
        if is_unsafe(ch) && ch != '\n' {
            for unit in ch.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(ch);
        }
    }
    out
}

/// Whether git tracks a file where a desk file should be.
fn is_tracked(ctx: &Context<'_>, store: &Store, id: IssueId, name: &str) -> Result<bool> {
    let path = format!("{}/{name}", directory(id));
    let index = read_index(&ctx.repo, &store.objects)?;
    Ok(index.has_path(path.as_bytes()))
}

/// An edited file.
struct Found<T> {
    content: T,
    sha256: String,
}

/// What somebody's editor left on the desk.
#[derive(Default)]
struct Edited {
    issue: Option<Found<Json>>,
    /// What of `issue.json` the record has no place for.
    unplaced: Unplaced,
    /// The texts of `issue.json` were taken in by an earlier look.
    is_seen: bool,
    experiment: Option<Found<markdown::Parsed>>,
    notices: Vec<String>,
}

impl Edited {
    fn is_none(&self) -> bool {
        self.issue.is_none() && self.experiment.is_none()
    }

    /// The edited files.
    fn names(&self) -> impl Iterator<Item = &'static str> {
        let issue = self.issue.as_ref().map(|_| ISSUE_FILE);
        let experiment = self.experiment.as_ref().map(|_| EXPERIMENT_FILE);
        issue.into_iter().chain(experiment)
    }

    /// Leaves an `experiment.md` as it is that lacks a heading under which there was a text, and says so: who takes a text out leaves its heading,
    /// and a save that was cut short does not.
    fn leave_cut_experiment(&mut self, common: &InCommon, id: IssueId) -> Option<String> {
        let (found, common) = (self.experiment.as_ref()?, common.experiment.as_ref()?);
        let lost = experiment::lost(common, &found.content);
        if lost.is_empty() {
            return None;
        }
        self.experiment = None;
        let headings = lost.iter().map(|name| format!("'## {}'", visible(name)));
        Some(format!(
            "'{}/{EXPERIMENT_FILE}' has lost {}, under which there was a text, as when a save is cut short, and is not taken in: put that back (a text that is to go leaves its heading), or remove the file",
            directory(id),
            listed(headings, lost.len()),
        ))
    }
}

/// Takes in what was edited on an issue's desk since it was written. Gives sentences about what that did.
pub fn take_in(ctx: &Context<'_>, store: &Store, id: IssueId) -> Result<Vec<String>> {
    // No desk was ever written here: nothing to lock, nothing to take in.
    if Base::read(store, id).is_none() {
        return Ok(Vec::new());
    }
    // Held until all is done: what is read under it is nobody's half of a change, and nobody else takes the same in.
    let _lock = base::lock(store)?;
    let mut base = Base::read(store, id).unwrap_or_default();
    let mut edited = match edits(ctx, store, id, &base) {
        Ok(edited) => edited,
        Err(error) => return Ok(vec![format!("issue {id}: {}", error.message())]),
    };
    let mut notices = edited.notices.clone();
    if edited.is_none() {
        return Ok(notices);
    }
    let common = InCommon {
        issue: Common::read(store, id, &base, ISSUE_FILE),
        experiment: Common::read(store, id, &base, EXPERIMENT_FILE),
    };
    if common.is_missing(&edited) {
        notices.push(format!(
            "issue {id}: what its desk was written from is gone, so edits there cannot be taken in"
        ));
        return Ok(notices);
    }
    if let (Some(desk), Some(common)) = (&edited.issue, &common.issue) {
        let record = common.issue.to_json();
        edited.unplaced = Unplaced::find(&desk.content, &record);
        let path = format!("{}/{ISSUE_FILE}", directory(id));
        notices.extend(edited.unplaced.sentences(&path));
        let not_taken = fields::not_taken(&desk.content, common);
        notices.extend(not_taken.iter().map(|said| format!("issue {id}: {said}")));
    }
    if edited.is_seen {
        edited.issue = None;
    }
    notices.extend(edited.leave_cut_experiment(&common, id));
    if edited.is_none() {
        return Ok(notices);
    }
    for name in edited.names() {
        base.begin_taking(name);
    }
    // Not later than the record on the disk: where that is newer, what was taken in would look like an edit once more.
    base.write(store, id, Durable::Yes)?;
    notices.extend(merge(ctx, store, id, &common, &edited)?);
    fail_point("desk-taken");
    settle(ctx, store, (id, &mut base), (&common, &edited))?;
    Ok(notices)
}

/// Takes in what was edited on any desk, for those who read all issues. Gives sentences about what that did.
pub fn take_in_all(ctx: &Context<'_>, store: &Store) -> Vec<String> {
    let mut said = Vec::new();
    for id in base::ids(store) {
        // What cannot be taken in is told by whoever reads that one issue.
        let edited = edits_seen(ctx, store, id);
        if edited.is_ok_and(|edited| {
            edited.experiment.is_some() || edited.issue.is_some() && !edited.is_seen
        }) {
            said.extend(try_to_take_in(ctx, store, id));
        }
    }
    said
}

/// Takes in what was edited on an issue's desk, for those who read that issue: they do where nothing may be written, too. Gives sentences
/// about what that did.
pub fn take_in_to_read(ctx: &Context<'_>, store: &Store, id: IssueId) -> Vec<String> {
    match edits_seen(ctx, store, id) {
        Ok(edited) if edited.is_none() => edited.notices,
        _ => try_to_take_in(ctx, store, id),
    }
}

/// What is on an issue's desk, without a lock: what another command writes meanwhile may look like an edit.
fn edits_seen(ctx: &Context<'_>, store: &Store, id: IssueId) -> Result<Edited> {
    match Base::read(store, id) {
        None => Ok(Edited::default()),
        Some(base) => edits(ctx, store, id, &base),
    }
}

fn try_to_take_in(ctx: &Context<'_>, store: &Store, id: IssueId) -> Vec<String> {
    match take_in(ctx, store, id) {
        Ok(notices) => notices,
        // What is left of the desk of one that is gone.
        Err(error) if error.code() == Code::IssueNotFound => Vec::new(),
        Err(error) => vec![format!(
            "issue {id}: the edits on its desk were not taken in: {}",
            error.message()
        )],
    }
}

/// What each file has in common with the record.
struct InCommon {
    issue: Option<Common>,
    experiment: Option<Common>,
}

impl InCommon {
    fn is_missing(&self, edited: &Edited) -> bool {
        (edited.issue.is_some() && self.issue.is_none())
            || (edited.experiment.is_some() && self.experiment.is_none())
    }
}

fn edits(ctx: &Context<'_>, store: &Store, id: IssueId, base: &Base) -> Result<Edited> {
    let mut edited = Edited::default();
    let Some(place) = Place::open(ctx, &directory(id))? else {
        return Ok(edited);
    };
    for name in [ISSUE_FILE, EXPERIMENT_FILE] {
        let mut leave = |why: &str| {
            let notice = format!("'{}/{name}' {why}", directory(id));
            edited.notices.push(notice);
        };
        let bytes = match place.read(name, &|found| base.knows(name, found))? {
            DeskEntry::File(bytes) => bytes,
            DeskEntry::Busy => {
                leave("is open for writing in another program: the next command takes it in");
                continue;
            }
            DeskEntry::Nothing | DeskEntry::TooLarge | DeskEntry::Other => continue,
        };
        if base.knows(name, &bytes) || is_tracked(ctx, store, id, name)? {
            continue;
        }
        let Ok(text) = std::str::from_utf8(without_mark(&bytes)) else {
            leave("is not UTF-8 and is not taken in");
            continue;
        };
        if name == EXPERIMENT_FILE {
            let parsed = markdown::parse(text);
            if parsed.is_whole() {
                let (content, sha256) = (parsed, hash(&bytes));
                edited.experiment = Some(Found { content, sha256 });
            } else {
                leave(
                    "has lost its first heading, or all that were written there, as when a save is cut short, and is not taken in: put them back, or remove the file",
                );
            }
        } else {
            edited.is_seen = base.has_seen(name, &bytes);
            match serde_json::from_str(text) {
                Ok(content) => {
                    let sha256 = hash(&bytes);
                    edited.issue = Some(Found { content, sha256 });
                }
                Err(error) => leave(&format!(
                    "is not a JSON object and is not taken in: {error}"
                )),
            }
        }
    }
    Ok(edited)
}

/// What was taken in is what file and record have in common from now on: a file that has no more than that may be replaced.
fn settle(
    ctx: &Context<'_>,
    store: &Store,
    (id, base): (IssueId, &mut Base),
    (common, edited): (&InCommon, &Edited),
) -> Result<()> {
    let Some((tip, _)) = store.record_tip(&Record::Issue(id))? else {
        return Ok(());
    };
    // What is replaced was told when it came into the record.
    let mut redacting = Redacting::new(ctx);
    if let (Some(desk), Some(common)) = (&edited.issue, &common.issue) {
        let mut issue = common.issue.clone();
        fields::merge(&mut issue, &common.alone(), &desk.content, &mut redacting);
        let stays = if edited.unplaced.is_empty() {
            Stays::AsOurs
        } else {
            Stays::AsSeen
        };
        let texts = fields::texts(&desk.content);
        let taken = taken(tip, &issue, texts);
        base.took(ISSUE_FILE, desk.sha256.clone(), stays, taken);
    }
    if let (Some(desk), Some(common)) = (&edited.experiment, &common.experiment) {
        let mut issue = common.issue.clone();
        experiment::merge(&mut issue, &common.alone(), &desk.content, &mut redacting);
        let texts = experiment::texts(&common.issue, &desk.content);
        let taken = taken(tip, &issue, texts);
        let sha256 = desk.sha256.clone();
        base.took(EXPERIMENT_FILE, sha256, Stays::AsOurs, taken);
    }
    base.write(store, id, Durable::No)
}

fn taken(tip: Oid, issue: &Issue, texts: Texts) -> Taken {
    Taken {
        tip: tip.to_string(),
        issue: issue.to_json(),
        texts,
    }
}

/// Puts what the desk changed into the issue, one version for each file: where both have a section, the history keeps the
/// one that does not stand. Gives sentences about what was changed on both sides.
fn merge(
    ctx: &Context<'_>,
    store: &Store,
    id: IssueId,
    common: &InCommon,
    edited: &Edited,
) -> Result<Vec<String>> {
    let mut redacting = Redacting::new(ctx);
    let mut both = Vec::new();
    if let (Some(desk), Some(common)) = (&edited.issue, &common.issue) {
        let (names, _) = update(ctx, store, id, EDITED, |issue| {
            Ok(fields::merge(issue, common, &desk.content, &mut redacting))
        })?;
        both.extend(names);
    }
    if let (Some(desk), Some(common)) = (&edited.experiment, &common.experiment) {
        let (names, _) = update(ctx, store, id, EDITED, |issue| {
            Ok(experiment::merge(
                issue,
                common,
                &desk.content,
                &mut redacting,
            ))
        })?;
        both.extend(names);
    }
    let said = |name| {
        format!(
            "issue {id}: '{name}' was changed here and on the desk; the desk's version stands, the other is in the history"
        )
    };
    let replaced = redacting.notice();
    let replaced = replaced.map(|said| format!("issue {id}: {said}"));
    Ok(both.into_iter().map(said).chain(replaced).collect())
}
