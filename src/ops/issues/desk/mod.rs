//! The desk: `.timewarp/issues/<id>/` with `issue.json`, `chat.md` and `experiment.md`, a checkout of the notes.
//!
//! Owns writing these files and taking in what an editor did to them, as a three-way merge against the version written
//! last. Only texts come from there (redacted), never ids, snapshot, status or commands. When both sides changed a text the
//! desk wins, the other version stays in the record's history, and it is said. A file that cannot be read as what it
//! should be, that has what the record has no place for, or that somebody is saving or has saved in part, is left as it is. A desk that cannot be used is said and fails nothing: the record is what counts.

mod base;
pub mod exclude;
mod fields;
mod markdown;
mod place;

use std::fmt::Write as _;

use base::Base;
use fields::Unplaced;
pub use markdown::render;
use place::{DeskEntry, Place};

use super::{DeskPaths, load, update};
use crate::error::{Code, Result};
use crate::git::Oid;
use crate::ops::Context;
use crate::ops::gitview::read_index;
use crate::ops::redaction::Redacting;
use crate::ops::request::DryRun;
use crate::store::Store;
use crate::store::id::IssueId;
use crate::store::issue::{CHAT_FILE, EXPERIMENT_FILE, ISSUE_FILE, Issue};
use crate::store::names::Record;
use crate::store::records::Json;
use crate::text::{has_hidden, headline, hidden, is_unsafe, listed, visible, without_mark};

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
    base.write(store, id)?;
    for (name, bytes) in &writes {
        if place.write(name, bytes, &|found| base.knows(name, found))? {
            stands(&mut base, name, bytes);
        } else {
            let why = "was edited meanwhile, so it is left as it is";
            notices.push(format!("'{}/{name}' {why}", directory(id)));
        }
    }
    base.write(store, id)?;
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

/// What somebody's editor left on the desk.
#[derive(Default)]
struct Edited {
    issue: Option<Json>,
    /// What of `issue.json` the record has no place for.
    unplaced: Unplaced,
    /// The texts of `issue.json` were taken in by an earlier look.
    is_seen: bool,
    experiment: Option<markdown::Parsed>,
    notices: Vec<String>,
}

impl Edited {
    /// Leaves an `experiment.md` as it is that lacks a heading under which there was a text, and says so: who takes a text out leaves its heading,
    /// and a save that was cut short does not.
    fn leave_cut_experiment(&mut self, written: &Written, id: IssueId) -> Option<String> {
        let (parsed, written) = (self.experiment.as_ref()?, written.experiment.as_ref()?);
        let lost = parsed.lost(&markdown::parse(&markdown::render(written)));
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
    let (base, mut edited) = {
        let _lock = base::lock(store)?;
        // Read under the lock: what another command writes meanwhile is nobody's edit.
        let base = Base::read(store, id).unwrap_or_default();
        match edits(ctx, store, id, &base) {
            Ok(edited) => (base, edited),
            Err(error) => return Ok(vec![format!("issue {id}: {}", error.message())]),
        }
    };
    let mut notices = edited.notices.clone();
    if edited.issue.is_none() && edited.experiment.is_none() {
        return Ok(notices);
    }
    let written = |name: &str| {
        let note = store.record_in_history(&Record::Issue(id), base.tip(name)?);
        Issue::from_json(&note.ok()?.json).ok()
    };
    let written = Written {
        issue: written(ISSUE_FILE),
        experiment: written(EXPERIMENT_FILE),
    };
    if written.is_missing(&edited) {
        notices.push(format!(
            "issue {id}: what its desk was written from is gone, so edits there cannot be taken in"
        ));
        return Ok(notices);
    }
    if let (Some(desk), Some(written)) = (&edited.issue, &written.issue) {
        let record = written.to_json();
        edited.unplaced = Unplaced::find(desk, &record);
        let path = format!("{}/{ISSUE_FILE}", directory(id));
        notices.extend(edited.unplaced.sentences(&path));
        let not_taken = fields::not_taken(desk, &record);
        notices.extend(not_taken.iter().map(|said| format!("issue {id}: {said}")));
    }
    if edited.is_seen {
        edited.issue = None;
    }
    notices.extend(edited.leave_cut_experiment(&written, id));
    notices.extend(merge(ctx, store, id, &written, &edited)?);
    settle(ctx, store, id, &edited)?;
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
        Ok(edited) if edited.issue.is_none() && edited.experiment.is_none() => edited.notices,
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

/// The issue as each file was written from it.
struct Written {
    issue: Option<Issue>,
    experiment: Option<Issue>,
}

impl Written {
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
                edited.experiment = Some(parsed);
            } else {
                leave(
                    "has lost its first heading, or all that were written there, as when a save is cut short, and is not taken in: put them back, or remove the file",
                );
            }
        } else {
            edited.is_seen = base.has_seen(name, &bytes);
            match serde_json::from_str(text) {
                Ok(json) => edited.issue = Some(json),
                Err(error) => leave(&format!(
                    "is not a JSON object and is not taken in: {error}"
                )),
            }
        }
    }
    Ok(edited)
}

/// What was taken in counts as written, so that the next writing may replace it; a file that has more than that as seen.
fn settle(ctx: &Context<'_>, store: &Store, id: IssueId, edited: &Edited) -> Result<()> {
    let _lock = base::lock(store)?;
    let Some(place) = Place::open(ctx, &directory(id))? else {
        return Ok(());
    };
    let mut base = Base::read(store, id).unwrap_or_default();
    let taken = [
        (ISSUE_FILE, edited.issue.is_some()),
        (EXPERIMENT_FILE, edited.experiment.is_some()),
    ];
    for (name, _) in taken.into_iter().filter(|(_, taken)| *taken) {
        let DeskEntry::File(bytes) = place.read(name, &|found| base.knows(name, found))? else {
            continue;
        };
        let text = without_mark(&bytes);
        // Edited again since: the next look takes that in.
        let same = match name {
            EXPERIMENT_FILE => {
                edited.experiment == Some(markdown::parse(&String::from_utf8_lossy(text)))
            }
            _ => edited.issue == serde_json::from_slice(text).ok(),
        };
        if same && name == ISSUE_FILE && !edited.unplaced.is_empty() {
            base.see(name, &bytes);
        } else if same {
            base.also(name, &bytes);
        }
    }
    base.write(store, id)
}

/// One text of three: None when the desk did not change it. Tells whether the other side had changed it too.
fn decide(written: &str, ours: &str, desk: &str) -> Option<bool> {
    let (written, ours, desk) = (written.trim_end(), ours.trim_end(), desk.trim_end());
    (desk != written && desk != ours).then(|| ours != written)
}

/// Puts what the desk changed into the issue, one version for each file: where both have a section, the history keeps the
/// one that does not stand. Gives sentences about what was changed on both sides.
fn merge(
    ctx: &Context<'_>,
    store: &Store,
    id: IssueId,
    written: &Written,
    edited: &Edited,
) -> Result<Vec<String>> {
    let mut redacting = Redacting::new(ctx);
    let mut both = Vec::new();
    if let (Some(desk), Some(written)) = (&edited.issue, &written.issue) {
        let (names, _) = update(ctx, store, id, EDITED, |issue| {
            Ok(fields::merge(issue, written, desk, &mut redacting))
        })?;
        both.extend(names);
    }
    if let (Some(parsed), Some(written)) = (&edited.experiment, &written.experiment) {
        let (names, _) = update(ctx, store, id, EDITED, |issue| {
            Ok(merge_experiment(issue, written, parsed, &mut redacting))
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

/// Puts what `experiment.md` changed into the issue. Gives the sections that were changed on both sides.
fn merge_experiment(
    issue: &mut Issue,
    written: &Issue,
    parsed: &markdown::Parsed,
    redacting: &mut Redacting,
) -> Vec<String> {
    let mut both = Vec::new();
    let before = markdown::parse(&markdown::render(written));
    let parsed = &parsed.clone().with_notes(&before);
    let ours = markdown::parse(&markdown::render(issue));
    let mut was_written = written.experiment.clone();
    let was_written = markdown::fields(&mut was_written);
    let slots = markdown::fields(&mut issue.experiment);
    for ((at, slot), was_written) in slots.into_iter().enumerate().zip(was_written) {
        let text = |parsed: &markdown::Parsed| parsed.known.get(at).cloned().flatten();
        let (Some(desk), Some(name)) = (text(parsed), markdown::FIELDS.get(at)) else {
            continue;
        };
        let before = text(&before).unwrap_or_default();
        if let Some(conflict) = decide(&before, &text(&ours).unwrap_or_default(), &desk) {
            both.extend(conflict.then(|| (*name).to_owned()));
            *slot = redacting.text(&as_meant(&desk, was_written));
        }
    }
    let of = |parsed: &markdown::Parsed, name: &str| {
        let found = parsed.extra.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.clone())
    };
    for (name, desk) in &parsed.extra {
        let ours = of(&ours, name).unwrap_or_default();
        let was = of(&before, name).unwrap_or_default();
        let is_new = of(&before, name).is_none() && desk.is_empty();
        if let Some(conflict) = decide(&was, &ours, desk).or(is_new.then_some(false)) {
            both.extend(conflict.then(|| name.clone()));
            let was_written = written
                .experiment
                .extra
                .iter()
                .find(|(known, _)| visible(known) == *name);
            let was_written = was_written.map(|(_, text)| text.as_str());
            let text = redacting.text(&as_meant(desk, was_written.unwrap_or_default()));
            let extra = &mut issue.experiment.extra;
            match extra.iter_mut().find(|(known, _)| visible(known) == *name) {
                Some((_, slot)) => *slot = text,
                None => extra.push((redacting.text(name), text)),
            }
        }
    }
    // A section that the desk had and has no more goes, unless it was changed meanwhile, or the file is only a part of what it was.
    let is_complete = parsed.known.iter().all(Option::is_some);
    let gone =
        |name: &str| is_complete && of(&before, name).is_some() && of(parsed, name).is_none();
    issue.experiment.extra.retain(|(name, _)| {
        let name = &visible(name);
        !(gone(name) && of(&before, name) == of(&ours, name))
    });
    both
}

/// A section as an editor meant it: where it was written with escapes, an escape stands for what it escaped.
fn as_meant(desk: &str, written: &str) -> String {
    if has_hidden(written) {
        hidden(desk)
    } else {
        desk.to_owned()
    }
}
