//! A record as it was merged, put into our own.
//!
//! An issue that came from elsewhere becomes a record like any other, with `claimed_by` and, where values lost, `conflicts`: both are
//! written here alone and never taken from what came. It annotates its snapshot where that is here, else an object that does not exist;
//! either way it holds the snapshot by its id.
//! What others deleted stays here, and says so. What would not be a record of ours is refused. That something is ours is known by what
//! is here: a name that came along proves nothing. A run keeps the number that it has here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::experiments;
use super::fields::{
    Fields, Kind, PRIVATE_OF_RUN, PROOF_RUN, name_in_list, proofs_of, put_together, run_id,
    take_apart,
};
use super::record::{Author, Shared};
use super::sessions::SharedSession;
use super::tree::Key;
use super::unfinished;
use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::ObjectKind;
use crate::ops::Context;
use crate::store::Store;
use crate::store::chat::Chat;
use crate::store::id::{IssueId, SnapshotId};
use crate::store::issue::{CHAT_FILE, Issue};
use crate::store::names::{self, Record};
use crate::store::records::{Json, VERSION};

/// Puts a record as it was merged into our own. `now` is what ours said when it was merged: what was edited since stays.
///
/// # Errors
/// It would be no record; ours cannot be written.
pub fn put(
    ctx: &Context<'_>,
    store: &Store,
    key: &Key,
    shared: &Shared,
    (now, author): (Option<&Fields>, &Author),
) -> Result<()> {
    write(ctx, store, key, shared, (now, author, Source::Others))
}

/// Puts one back that our side holds and that was lost here: what is ours of it is ours again.
///
/// # Errors
/// As [`put`].
pub fn put_back(
    ctx: &Context<'_>,
    store: &Store,
    key: &Key,
    shared: &Shared,
    author: &Author,
) -> Result<()> {
    write(ctx, store, key, shared, (None, author, Source::OurSide))
}

/// Where a record comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Others,
    OurSide,
}

fn write(
    ctx: &Context<'_>,
    store: &Store,
    key: &Key,
    shared: &Shared,
    (now, author, source): (Option<&Fields>, &Author, Source),
) -> Result<()> {
    let (kind, id) = key;
    // Ours is where such are kept, whatever others say of it.
    match kind {
        Kind::Issue | Kind::Chat => {}
        Kind::Session | Kind::Experiment if now.is_some() => return Ok(()),
        Kind::Session => return SharedSession::read(id, shared, author).map(drop),
        Kind::Experiment => return experiments::verify(id, shared, author),
    }
    let (Some(issue), Some(name)) = (IssueId::parse(id), record_of(key)) else {
        return Ok(());
    };
    if shared.deletion().is_some() && now.is_none() {
        return Ok(());
    }
    let annotated = annotated_by(store, shared)?;
    let has_chat = store.has_record(&Record::Chat(issue))?;
    let version = store
        .objects
        .hash(ObjectKind::Blob, &shared.encode(*kind, id))?;
    let message = unfinished::message(*kind, version);
    let written = store.change_record(&name, &message, ctx.env.now(), |draft| {
        let refusal = draft.refusal(&name);
        let is_new = draft.notes().next().is_none();
        let before = draft.only().cloned();
        if before.is_none() && !is_new {
            return Err(refusal);
        }
        let of = Local {
            id,
            before: before.as_ref(),
            shared,
            author,
            source,
        };
        let json = of.json(*kind, now, has_chat);
        if reads_alike(*kind, &json, before.as_ref())? {
            return Ok(());
        }
        match draft.only() {
            Some(there) => *there = json,
            None => draft.put(annotated, json)?,
        }
        Ok(())
    });
    written.map(drop)
}

/// Our record of a key, where such are records of ours.
pub fn record_of((kind, id): &Key) -> Option<Record> {
    let issue = IssueId::parse(id)?;
    match kind {
        Kind::Issue => Some(Record::Issue(issue)),
        Kind::Chat => Some(Record::Chat(issue)),
        Kind::Session | Kind::Experiment => None,
    }
}

/// Whether a record would say what the one before it says.
///
/// # Errors
/// It would be no record.
fn reads_alike(kind: Kind, json: &Json, before: Option<&Json>) -> Result<bool> {
    Ok(match kind {
        Kind::Issue | Kind::Session | Kind::Experiment => {
            let read = Issue::from_json(json)?;
            before.and_then(|json| Issue::from_json(json).ok()) == Some(read)
        }
        Kind::Chat => {
            let read = Chat::from_json(json.clone())?;
            before.and_then(|json| Chat::from_json(json.clone()).ok()) == Some(read)
        }
    })
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
    store.placeholder(snapshot)
}

/// What is not shared of an issue.
struct Local<'a> {
    id: &'a str,
    before: Option<&'a Json>,
    shared: &'a Shared,
    author: &'a Author,
    source: Source,
}

impl Local<'_> {
    /// The record as it is to stand here. `then`: what ours said when it was merged.
    fn json(&self, kind: Kind, then: Option<&Fields>, has_chat: bool) -> Json {
        let mut fields = self.shared.view();
        if let (Some(before), Some(then)) = (self.before, then) {
            let now = take_apart(kind, self.id, &self.author.by, before);
            keep_edits(&mut fields, then, &now);
        }
        let mut json = put_together(kind, &fields);
        match kind {
            Kind::Issue | Kind::Session | Kind::Experiment => self.complete(&mut json, has_chat),
            Kind::Chat => drop(json.insert("version".to_owned(), VERSION.into())),
        }
        json
    }

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
        let snapshot_claimed_by = self.snapshot_claimed_by(json);
        let mut put = |name: &str, value: Option<Value>| match value {
            Some(value) => drop(json.insert(name.to_owned(), value)),
            None => drop(json.shift_remove(name)),
        };
        put("claimed_by", self.claimed_by());
        put("snapshot_claimed_by", snapshot_claimed_by);
        let lost = self.shared.conflicts();
        let lost: Vec<Value> = lost.iter().map(|lost| {
            json!({"field": lost.field, "value": lost.value, "at": lost.edit.at, "claimed_by": lost.edit.claimant()})
        }).collect();
        put("conflicts", (!lost.is_empty()).then(|| lost.into()));
        let deleted = self.shared.deletion();
        let deleted = deleted.map(|edit| json!({"claimed_by": edit.claimant(), "at": edit.at}));
        put("deleted_by", deleted);
    }

    /// Who is said to have made it. One that comes from others and was not here before is not ours, whoever it says.
    fn claimed_by(&self) -> Option<Value> {
        let claimed = self.shared.claimed_by(self.author).map(Value::from);
        match (self.before, self.source) {
            // Nor does it become theirs that was made here.
            (Some(before), _) => {
                let known = before.get("claimed_by").cloned();
                known.map(|known| claimed.unwrap_or(known))
            }
            (None, Source::OurSide) => claimed,
            (None, Source::Others) => self.shared.origin().map(|edit| edit.claimant().into()),
        }
    }

    /// Who is said to have tied one of ours to another snapshot. Whoever it says: it was not done here.
    fn snapshot_claimed_by(&self, json: &Json) -> Option<Value> {
        const FIELD: &str = "snapshot_id";
        let before = self.before?;
        if before.contains_key("claimed_by") {
            return None;
        }
        if before.get(FIELD) == json.get(FIELD) {
            return before.get("snapshot_claimed_by").cloned();
        }
        let setter = self.shared.setter(FIELD);
        setter.map(|edit| edit.claimant().into())
    }

    /// The things of a list that were here before, by their ids.
    fn known(&self, list: &str) -> BTreeMap<String, &Json> {
        let before = self
            .before
            .and_then(|before| before.get(list)?.as_array())
            .into_iter()
            .flatten()
            .filter_map(Value::as_object);
        before
            .filter_map(|item| {
                let id = item.get("id").and_then(Value::as_str).map(str::to_owned);
                let id = id.or_else(|| run_id(self.id, &self.author.by, item))?;
                Some((id, item))
            })
            .collect()
    }

    /// Says of each run and comment that came from elsewhere who is said to have sent it.
    fn name_senders(&self, json: &mut Json) {
        let was = self.before;
        let was = was.map(|json| take_apart(Kind::Issue, self.id, &self.author.by, json));
        let was = was.unwrap_or_default();
        let stands = self.shared.view();
        for list in ["runs", "comments"] {
            let known = self.known(list);
            let items = json.get_mut(list).and_then(Value::as_array_mut);
            for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
                let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
                let before = known.get(id);
                let is_back = before.is_none() && self.source == Source::OurSide;
                let is_ours =
                    is_back || before.is_some_and(|before| !before.contains_key("claimed_by"));
                let name = name_in_list(list, id);
                let sender = self.shared.setter(&name);
                // Whoever sent ours once more has not made it theirs.
                let is_as_it_was = is_ours && was.get(&name) == stands.get(&name);
                let others = sender.filter(|edit| edit.by != self.author.by && !is_as_it_was);
                // What is noted here of something of somebody else's makes it none of ours, nor that it went to no other remote.
                let known = before.and_then(|before| before.get("claimed_by")).cloned();
                let others = others.map(|edit| edit.claimant().into()).or(known);
                let unknown = sender.filter(|_| !is_ours);
                match others.or_else(|| unknown.map(|edit| edit.claimant().into())) {
                    Some(name) => item.insert("claimed_by".to_owned(), name),
                    None => item.shift_remove("claimed_by"),
                };
            }
        }
    }

    /// Gives runs their numbers here, with what of them stays here. Whoever has one keeps it: tries, checks and people name it. What comes
    /// gets the next ones, in the order in which they began.
    fn number_runs(&self, json: &mut Json) {
        let known = self.known("runs");
        let shared = json.get("runs").and_then(Value::as_array).cloned();
        let is_open = |run: &&&Json| run.get("ended_at").is_none_or(Value::is_null);
        let open = known.values().filter(is_open);
        let open = open.map(|run| Value::Object((*run).clone()));
        let mut highest = known.values().filter_map(|run| number(run)).max();
        let mut numbers = BTreeMap::new();
        let mut runs: Vec<(u64, Value)> = Vec::new();
        for mut run in shared.unwrap_or_default().into_iter().chain(open) {
            let Some(fields) = run.as_object_mut() else {
                continue;
            };
            let own = fields.get("id").and_then(Value::as_str).map(str::to_owned);
            let own = own.or_else(|| run_id(self.id, &self.author.by, fields));
            let before = own.as_ref().and_then(|own| known.get(own));
            for private in PRIVATE_OF_RUN {
                if let Some(value) = before.and_then(|before| before.get(*private)) {
                    fields.insert((*private).to_owned(), value.clone());
                }
            }
            let number = before.and_then(|run| number(run)).unwrap_or_else(|| {
                let next = highest.unwrap_or(0) + 1;
                highest = Some(next);
                next
            });
            if let Some(own) = own {
                fields.insert("id".to_owned(), own.clone().into());
                numbers.insert(own, number);
            }
            fields.insert("run".to_owned(), number.into());
            runs.push((number, run));
        }
        runs.sort_by_key(|(number, _)| *number);
        if !runs.is_empty() {
            let runs: Vec<Value> = runs.into_iter().map(|(_, run)| run).collect();
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

fn number(run: &Json) -> Option<u64> {
    run.get("run")?.as_u64()
}
