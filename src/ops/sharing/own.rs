//! What our own records say now, as edits of what is shared; and what others made of them, put into our own.
//!
//! An issue that came from elsewhere becomes a record like any other, with `claimed_by` and, where values lost, `conflicts`: both are
//! written here alone and never taken from what came. It annotates its snapshot where that is here, else an object that does not exist.
//! What others deleted stays here, and says so. What would not be a record of ours is refused. Sessions and experiments of others are in the
//! tree of our side alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::experiments;
use super::fields::{
    Fields, Kind, PRIVATE_OF_RUN, PROOF_RUN, name_in_list, proofs_of, put_together, run_id,
    take_apart,
};
use super::record::{Author, LONGEST_NAME, Shared};
use super::sessions::{self, SharedSession};
use super::setup::{Prompts, Setup, author};
use super::tree::{self, Key, LARGEST_RECORD, SharedTree};
use crate::env::Moment;
use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::ObjectKind;
use crate::ops::Context;
use crate::ops::issues::desk;
use crate::ops::kept;
use crate::ops::tries::Try;
use crate::store::Store;
use crate::store::chat::Chat;
use crate::store::checkpoint;
use crate::store::id::{IdKind, IssueId, SnapshotId};
use crate::store::issue::{CHAT_FILE, Issue};
use crate::store::names::{self, Record, RecordKind, session_component};
use crate::store::records::{Json, VERSION};

/// Our side of what is shared.
pub struct Own {
    /// Under which names our edits go out.
    pub author: Author,
    /// The commit of our side as it was; None: nothing was ever shared here.
    pub commit: Option<Oid>,
    /// What that holds.
    pub tree: SharedTree,
    /// The records that were edited here since.
    pub edited: BTreeMap<Key, Shared>,
    /// What each of our records says now.
    pub now: BTreeMap<Key, Fields>,
    /// What stays here, and why.
    pub notices: Vec<String>,
}

impl Own {
    /// Looks at all of our records.
    ///
    /// # Errors
    /// What is shared, or the refs, cannot be read.
    pub fn look(ctx: &Context<'_>, store: &Store, setup: &Setup) -> Result<Self> {
        let commit = store.refs.read(names::SHARED_OWN)?;
        let tree = match commit {
            Some(commit) => tree::read(&store.objects, commit)?,
            None => SharedTree::default(),
        };
        let mut own = Self {
            author: author(ctx, store)?,
            commit,
            tree,
            edited: BTreeMap::new(),
            now: BTreeMap::new(),
            notices: Vec::new(),
        };
        own.look_at(ctx, store, Kind::Issue)?;
        if setup.prompts == Prompts::Redacted {
            own.look_at(ctx, store, Kind::Chat)?;
        }
        own.look_at_sessions(ctx, store, setup)?;
        own.look_at_left(ctx, store)?;
        own.look_at_tries(ctx, store, setup)?;
        Ok(own)
    }

    /// One that is gone here stays as it was shared: retention tells nobody else what to forget.
    fn look_at_sessions(&mut self, ctx: &Context<'_>, store: &Store, setup: &Setup) -> Result<()> {
        let (register, invalid) = ctx.sessions().list()?;
        for (name, why) in invalid {
            let notice = format!("session {name} stays here: {why}");
            self.notices.push(notice);
        }
        for session in register {
            let notes = match checkpoint::read(store, &session.session_id) {
                Ok(notes) => notes,
                Err(error) => {
                    let (id, why) = (&session.session_id, error.message());
                    let notice = format!("session {id} stays here: {why}");
                    self.notices.push(notice);
                    continue;
                }
            };
            let json = sessions::record(&session, &notes, setup.prompts, ctx.redactor());
            let key = (Kind::Session, session_component(&session.session_id));
            self.take(ctx, store, key, json)?;
        }
        Ok(())
    }

    /// What stays in the past and scratches left. What came from elsewhere is not ours to share; one that is gone here stays as it was shared.
    fn look_at_left(&mut self, ctx: &Context<'_>, store: &Store) -> Result<()> {
        let all = store.summaries(&[IdKind::Experiment])?;
        for (id, error) in all.invalid {
            let notice = format!("experiment {id} stays here: {}", error.message());
            self.notices.push(notice);
        }
        let repository = store.repository_id()?;
        let ours = all.found.into_iter();
        for one in ours.filter(|one| repository.as_ref() == Some(&one.repository_id)) {
            let document = serde_json::from_str(&one.document).unwrap_or_default();
            let key = (Kind::Experiment, one.id.to_string());
            self.take(ctx, store, key, experiments::left(&document))?;
        }
        Ok(())
    }

    /// Those that have ended. One of ours that was dropped is deleted: only somebody's hand drops one.
    fn look_at_tries(&mut self, ctx: &Context<'_>, store: &Store, setup: &Setup) -> Result<()> {
        let tries = match kept::all::<Try>(ctx) {
            Ok(tries) => tries,
            Err(error) => {
                let notice = format!("tries stay here: {}", error.message());
                self.notices.push(notice);
                return Ok(());
            }
        };
        let mut here = BTreeSet::new();
        for one in tries {
            here.insert(one.try_id.clone());
            if one.ended_at.is_some() && experiments::is_try(&one.try_id) {
                let json = experiments::tried(&one, setup.prompts, ctx.redactor());
                self.take(ctx, store, (Kind::Experiment, one.try_id), json)?;
            }
        }
        let known: Vec<Key> = self.tree.records.keys().cloned().collect();
        for key in known {
            let is_gone =
                key.0 == Kind::Experiment && experiments::is_try(&key.1) && !here.contains(&key.1);
            if is_gone
                && let Some(record) = self.tree.record(&store.objects, &key)?
                && record.claimed_by(&self.author).is_none()
            {
                self.notice_deletion(ctx, store, key)?;
            }
        }
        Ok(())
    }

    fn look_at(&mut self, ctx: &Context<'_>, store: &Store, kind: Kind) -> Result<()> {
        let records = match kind {
            Kind::Issue => RecordKind::Issues,
            Kind::Chat => RecordKind::Chats,
            Kind::Session | Kind::Experiment => return Ok(()),
        };
        if kind == Kind::Issue {
            // What an editor left on a desk is part of the record.
            for name in store.record_names(records)? {
                if let Record::Issue(id) = name {
                    self.notices
                        .extend(desk::take_in(ctx, store, id).unwrap_or_default());
                }
            }
        }
        let mut here = BTreeSet::new();
        let listed = store.records(records)?;
        for (name, error) in listed.invalid {
            here.extend(id_of(&name));
            self.notices
                .push(format!("{name} stays here: {}", error.message()));
        }
        for (name, held) in listed.records {
            let Some(id) = id_of(&name) else { continue };
            here.insert(id.clone());
            self.notices.extend(held.notices.iter().cloned());
            match held.into_only(&name) {
                Ok(note) => self.take(ctx, store, (kind, id), note.json)?,
                Err(error) => self
                    .notices
                    .push(format!("{name} stays here: {}", error.message())),
            }
        }
        let known: Vec<Key> = self.tree.records.keys().cloned().collect();
        for key in known {
            if key.0 == kind && !here.contains(&key.1) {
                self.notice_deletion(ctx, store, key)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, ctx: &Context<'_>, store: &Store, key: Key, json: Json) -> Result<()> {
        let (kind, id) = &key;
        let mut json = Value::Object(json);
        if *kind == Kind::Chat {
            ctx.redactor().json(&mut json);
        }
        let json = json.as_object().cloned().unwrap_or_default();
        let mut now = take_apart(*kind, id, &self.author.by, &json);
        let all = now.len();
        now.retain(|name, _| name.len() <= LONGEST_NAME);
        if now.len() < all {
            let what = "a field stays here: its name is too long";
            self.notices.push(format!("{} {id}: {what}", kind.as_str()));
        }
        let times: &[&str] = match kind {
            Kind::Issue | Kind::Chat | Kind::Session => {
                &["updated_at", "captured_at", "last_active_at"]
            }
            Kind::Experiment => &["ended_at", "created_at"],
        };
        let at = times.iter().find_map(|name| json.get(*name)?.as_str());
        let at = at.and_then(Moment::parse_rfc3339);
        let mut shared = self.tree.record(&store.objects, &key)?.unwrap_or_default();
        if shared.edit(&now, at.unwrap_or_else(|| ctx.env.now()), &self.author) {
            let size = shared.encode(*kind, id).len();
            if u64::try_from(size).unwrap_or(u64::MAX) > LARGEST_RECORD {
                let what = format!("{} {id} stays here: it has {size} bytes", kind.as_str());
                self.notices.push(what);
                return Ok(());
            }
            self.edited.insert(key.clone(), shared);
        }
        self.now.insert(key, now);
        Ok(())
    }

    fn notice_deletion(&mut self, ctx: &Context<'_>, store: &Store, key: Key) -> Result<()> {
        if let Some(mut shared) = self.tree.record(&store.objects, &key)?
            && shared.deletion().is_none()
        {
            shared.delete(ctx.env.now(), &self.author);
            self.edited.insert(key, shared);
        }
        Ok(())
    }

    /// A record of our side, as it is now.
    ///
    /// # Errors
    /// Its object cannot be read.
    pub fn record(&mut self, store: &Store, key: &Key) -> Result<Option<Shared>> {
        match self.edited.get(key) {
            Some(shared) => Ok(Some(shared.clone())),
            None => self.tree.record(&store.objects, key),
        }
    }
}

fn id_of(name: &Record) -> Option<String> {
    match name {
        Record::Issue(id) | Record::Chat(id) => Some(id.to_string()),
        Record::Session(_) | Record::Label(_) => None,
    }
}

/// Puts a record as it was merged into our own. `now` is what ours said when it was merged: what was edited since stays.
///
/// # Errors
/// It would be no record; ours cannot be written.
pub fn put(
    ctx: &Context<'_>,
    store: &Store,
    (kind, id): &Key,
    shared: &Shared,
    (now, author): (Option<&Fields>, &Author),
) -> Result<()> {
    // Ours is where such are kept, whatever others say of it.
    match kind {
        Kind::Issue | Kind::Chat => {}
        Kind::Session | Kind::Experiment if now.is_some() => return Ok(()),
        Kind::Session => return SharedSession::read(id, shared, author).map(drop),
        Kind::Experiment => return experiments::verify(id, shared, author),
    }
    let Some(issue) = IssueId::parse(id) else {
        return Ok(());
    };
    let name = match kind {
        Kind::Chat => Record::Chat(issue),
        _ => Record::Issue(issue),
    };
    if shared.deletion().is_some() && now.is_none() {
        return Ok(());
    }
    let annotated = annotated_by(store, shared)?;
    let has_chat = store.has_record(&Record::Chat(issue))?;
    let message = format!("{}: as others have it", kind.as_str());
    let written = store.change_record(&name, &message, ctx.env.now(), |draft| {
        let refusal = draft.refusal(&name);
        let is_new = draft.notes().next().is_none();
        let before = draft.only().cloned();
        if before.is_none() && !is_new {
            return Err(refusal);
        }
        let mut fields = shared.view();
        if let (Some(before), Some(then)) = (&before, now) {
            keep_edits(
                &mut fields,
                then,
                &take_apart(*kind, id, &author.by, before),
            );
        }
        let mut json = put_together(*kind, &fields);
        let of = Local {
            id,
            before: before.as_ref(),
            shared,
            author,
        };
        match kind {
            Kind::Issue | Kind::Session | Kind::Experiment => {
                of.complete(&mut json, has_chat);
                let read = Issue::from_json(&json)?;
                if before.as_ref().and_then(|json| Issue::from_json(json).ok()) == Some(read) {
                    return Ok(());
                }
            }
            Kind::Chat => {
                json.insert("version".to_owned(), VERSION.into());
                let read = Chat::from_json(&json)?;
                if before.as_ref().and_then(|json| Chat::from_json(json).ok()) == Some(read) {
                    return Ok(());
                }
            }
        }
        match draft.only() {
            Some(there) => *there = json,
            None => draft.put(annotated, json)?,
        }
        Ok(())
    });
    written.map(drop)
}

/// What was edited here after it was looked at.
fn keep_edits(fields: &mut Fields, then: &Fields, now: &Fields) {
    let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    for name in names
        .into_iter()
        .filter(|name| then.get(*name) != now.get(*name))
    {
        match now.get(name) {
            Some(value) => drop(fields.insert(name.clone(), value.clone())),
            None => drop(fields.remove(name)),
        }
    }
}

/// The commit of a record's snapshot where that is here; else an object that is not, so that no note stands on anything else.
fn annotated_by(store: &Store, shared: &Shared) -> Result<Oid> {
    let snapshot = shared.view().remove("snapshot_id");
    let snapshot = snapshot.and_then(|id| SnapshotId::parse(id.as_str()?));
    if let Some(id) = snapshot
        && let Some(commit) = store.refs.read(&names::snapshot_ref(&id))?
    {
        return Ok(commit);
    }
    let text = snapshot.map_or_else(|| "a snapshot".to_owned(), |id| id.to_string());
    let text = format!("{text} is in another repository\n");
    store.objects.hash(ObjectKind::Blob, text.as_bytes())
}

/// What is not shared of an issue.
struct Local<'a> {
    id: &'a str,
    before: Option<&'a Json>,
    shared: &'a Shared,
    author: &'a Author,
}

impl Local<'_> {
    fn complete(&self, json: &mut Json, has_chat: bool) {
        for private in Kind::Issue.private() {
            json.shift_remove(*private);
            if let Some(value) = self.before.and_then(|before| before.get(*private)) {
                json.insert((*private).to_owned(), value.clone());
            }
        }
        self.number_runs(json);
        self.name_senders(json);
        json.insert("version".to_owned(), VERSION.into());
        json.insert("issue_id".to_owned(), self.id.into());
        if has_chat {
            json.insert("chat_file".to_owned(), CHAT_FILE.into());
            json.shift_remove("chat_unavailable");
        } else if self.before.is_none() {
            json.insert("chat_unavailable".to_owned(), "it was not shared".into());
        }
        let mut put = |name: &str, value: Option<Value>| match value {
            Some(value) => drop(json.insert(name.to_owned(), value)),
            None => drop(json.shift_remove(name)),
        };
        let claimed = self.shared.claimed_by(self.author);
        put("claimed_by", claimed.map(Value::from));
        let lost = self.shared.conflicts();
        let lost: Vec<Value> = lost.iter().map(|lost| {
            json!({"field": lost.field, "value": lost.value, "at": lost.edit.at, "claimed_by": lost.edit.claimant()})
        }).collect();
        put("conflicts", (!lost.is_empty()).then(|| lost.into()));
        let deleted = self.shared.deletion();
        let deleted = deleted.map(|edit| json!({"claimed_by": edit.claimant(), "at": edit.at}));
        put("deleted_by", deleted);
    }

    /// Says of each run and comment that came from elsewhere who is said to have sent it.
    fn name_senders(&self, json: &mut Json) {
        for list in ["runs", "comments"] {
            let items = json.get_mut(list).and_then(Value::as_array_mut);
            for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
                let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
                let sender = self.shared.setter(&name_in_list(list, id));
                match sender.filter(|edit| edit.by != self.author.by) {
                    Some(edit) => item.insert("claimed_by".to_owned(), edit.claimant().into()),
                    None => item.shift_remove("claimed_by"),
                };
            }
        }
    }

    /// Gives runs their numbers here, with what of them stays here; the one that goes on comes last.
    fn number_runs(&self, json: &mut Json) {
        let before = self
            .before
            .and_then(|before| before.get("runs")?.as_array());
        let before: Vec<&Json> = before
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
            .collect();
        let id = |run: &Json| match run.get("id").and_then(Value::as_str) {
            Some(id) => Some(id.to_owned()),
            None => run_id(self.id, &self.author.by, run),
        };
        let mut numbers = BTreeMap::new();
        let mut count = 0u64;
        let mut runs: Vec<Value> = Vec::new();
        let shared = json.get("runs").and_then(Value::as_array).cloned();
        let ended = shared.unwrap_or_default();
        let open = before
            .iter()
            .filter(|run| run.get("ended_at").is_none_or(Value::is_null));
        let open = open.map(|run| Value::Object((*run).clone()));
        for mut run in ended.into_iter().chain(open) {
            let Some(fields) = run.as_object_mut() else {
                continue;
            };
            let own = id(fields);
            let ours = before.iter().find(|run| own.is_some() && id(run) == own);
            for private in PRIVATE_OF_RUN {
                if let Some(value) = ours.and_then(|ours| ours.get(*private)) {
                    fields.insert((*private).to_owned(), value.clone());
                }
            }
            count += 1;
            if let Some(own) = own {
                fields.insert("id".to_owned(), own.clone().into());
                numbers.insert(own, count);
            }
            fields.insert("run".to_owned(), count.into());
            runs.push(run);
        }
        if !runs.is_empty() {
            json.insert("runs".to_owned(), runs.into());
        }
        for proof in proofs_of(json) {
            let run = proof.shift_remove(PROOF_RUN);
            let run = run.as_ref().and_then(Value::as_str);
            if let Some(number) = run.and_then(|run| numbers.get(run)) {
                proof.insert("issue_run".to_owned(), (*number).into());
            }
        }
    }
}
