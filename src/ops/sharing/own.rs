//! What our own records say now, as edits of what is shared.
//!
//! Sessions and experiments of others are in the tree of our side alone. What came from elsewhere goes back to where it came from, and to no
//! other remote.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::experiments;
use super::fields::{Fields, Kind, names_of_others, take_apart};
use super::limits::{too_large_to_read, unreadable, way_out};
use super::lost;
use super::record::{Author, LONGEST_NAME, Shared};
use super::sessions;
use super::setup::{Prompts, Setup, author};
use super::tree::{Key, SharedTree};
use super::unfinished;
use super::waiting::{Said, Waiting};
use crate::env::Moment;
use crate::error::Result;
use crate::git::Oid;
use crate::git::depot::Depot;
use crate::ops::Context;
use crate::ops::issues::desk;
use crate::ops::kept;
use crate::ops::tries::Try;
use crate::store::Store;
use crate::store::checkpoint;
use crate::store::id::{IdKind, IssueId};
use crate::store::names::{self, Record, RecordKind, session_component};
use crate::store::records::Json;

/// Of a record that was changed more often than this since it was exchanged, all changes are of the time of the last one.
const MOST_STEPS: usize = 200;

/// Our side of what is shared.
pub struct Own {
    /// Under which names our edits go out.
    pub author: Author,
    /// The commit of our side as it was; None: nothing was ever shared here.
    pub commit: Option<Oid>,
    /// What that holds, and what a pull that died had put into our records.
    pub tree: SharedTree,
    /// The latter, which the commit lacks.
    pub unfinished: BTreeMap<Key, Waiting>,
    /// The records that were edited here since.
    pub edited: BTreeMap<Key, Waiting>,
    /// What each of our records says now.
    now: BTreeMap<Key, Said>,
    /// Whether conversations go along.
    prompts: Prompts,
    /// Issues that are here and came from nobody.
    reported: BTreeSet<String>,
    /// Records of others that our side does not hold: they came from elsewhere.
    elsewhere: BTreeSet<Key>,
    /// Records that can neither go nor take in what comes, for what they say now cannot be shared.
    pub stuck: BTreeSet<Key>,
    /// What stays here, and why.
    pub notices: Vec<String>,
}

impl Own {
    /// Looks at all of our records.
    ///
    /// # Errors
    /// What is shared, or the refs, cannot be read.
    pub fn look(
        ctx: &Context<'_>,
        store: &Store,
        depot: Option<&Depot>,
        setup: &Setup,
    ) -> Result<Self> {
        let commit = match depot {
            Some(depot) => depot.refs.read(names::SHARED_OWN)?,
            None => None,
        };
        let mut tree = SharedTree::of_own(depot, commit)?;
        let unfinished = unfinished::resume(store, depot, &mut tree)?;
        let mut own = Self {
            author: author(ctx, store)?,
            commit,
            tree,
            unfinished,
            edited: BTreeMap::new(),
            now: BTreeMap::new(),
            prompts: setup.prompts,
            reported: BTreeSet::new(),
            elsewhere: BTreeSet::new(),
            stuck: BTreeSet::new(),
            notices: Vec::new(),
        };
        own.look_at(ctx, store, depot, Kind::Issue)?;
        if setup.prompts == Prompts::Redacted {
            own.look_at(ctx, store, depot, Kind::Chat)?;
        }
        own.look_at_sessions(ctx, store, depot, setup)?;
        own.look_at_left(ctx, store, depot)?;
        own.look_at_tries(ctx, depot, setup)?;
        own.notice_lost(store, depot)?;
        Ok(own)
    }

    /// One that is gone here stays as it was shared: retention tells nobody else what to forget.
    fn look_at_sessions(
        &mut self,
        ctx: &Context<'_>,
        store: &Store,
        depot: Option<&Depot>,
        setup: &Setup,
    ) -> Result<()> {
        let (register, invalid) = ctx.sessions().list()?;
        for (name, error) in invalid {
            let notice = format!("session {name} stays here: {}", error.message());
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
            self.take(ctx, depot, key, json)?;
        }
        Ok(())
    }

    /// What stays in the past and scratches left. What came from elsewhere is not ours to share; one that is gone here stays as it was shared.
    fn look_at_left(
        &mut self,
        ctx: &Context<'_>,
        store: &Store,
        depot: Option<&Depot>,
    ) -> Result<()> {
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
            self.take(ctx, depot, key, experiments::left(&document))?;
        }
        Ok(())
    }

    /// Those that have ended. One of ours that was dropped here is deleted. One that is only not here, as in a copy of the repository, is not.
    fn look_at_tries(
        &mut self,
        ctx: &Context<'_>,
        depot: Option<&Depot>,
        setup: &Setup,
    ) -> Result<()> {
        let tries = match kept::all::<Try>(ctx) {
            Ok(tries) => tries,
            Err(error) => {
                let notice = format!("tries stay here: {}", error.message());
                self.notices.push(notice);
                return Ok(());
            }
        };
        let mut here = BTreeSet::new();
        for (id, error) in tries.invalid {
            let notice = format!("try {id} stays here: {}", error.message());
            self.notices.push(notice);
            here.insert(id);
        }
        for one in tries.records {
            here.insert(one.try_id.clone());
            if one.ended_at.is_some() && experiments::is_try(&one.try_id) {
                let json = experiments::tried(&one, setup.prompts, ctx.redactor());
                self.take(ctx, depot, (Kind::Experiment, one.try_id), json)?;
            }
        }
        let dropped = kept::forgotten::<Try>(ctx)?;
        for id in dropped.into_iter().filter(|id| !here.contains(id)) {
            let key = (Kind::Experiment, id);
            if experiments::is_try(&key.1)
                && let Some(record) = self.tree.record(depot, &key)?
                && record.claimed_by(&self.author).is_none()
            {
                self.notice_deletion(ctx, depot, key)?;
            }
        }
        Ok(())
    }

    fn look_at(
        &mut self,
        ctx: &Context<'_>,
        store: &Store,
        depot: Option<&Depot>,
        kind: Kind,
    ) -> Result<()> {
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
        let first = self.notices.len();
        let mut invalid = Vec::new();
        for (name, tip) in store.record_tips(records)? {
            let Some(id) = id_of(&name) else { continue };
            let key = (kind, id);
            let held = match tip {
                Ok((tip, notices)) => {
                    self.notices.extend(notices);
                    if kind == Kind::Chat && self.leave_unread(store, &key, tip) {
                        continue;
                    }
                    store.record_at_commit(&name, tip)
                }
                Err(error) => Err(error),
            };
            let held = match held {
                Ok(held) => held,
                Err(error) => {
                    invalid.push(format!("{name} stays here: {}", error.message()));
                    continue;
                }
            };
            match held.into_only(&name) {
                Ok(note) => self.take(ctx, depot, key, note.json)?,
                Err(error) => self
                    .notices
                    .push(format!("{name} stays here: {}", error.message())),
            }
        }
        self.notices.splice(first..first, invalid);
        Ok(())
    }

    /// Leaves a conversation here that is too large by the header of its note alone, unread.
    fn leave_unread(&mut self, store: &Store, key: &Key, tip: Oid) -> bool {
        let size = store.note_size(tip).unwrap_or(0);
        let Some(why) = too_large_to_read(size) else {
            return false;
        };
        self.notice_elsewhere(key, &Json::new());
        let why = format!("{why}{}", way_out(key.0, &key.1));
        self.stick(key.clone(), &why);
        true
    }

    /// What has no ref here any more was lost, and is nothing to be told to others: it stays as it was shared.
    fn notice_lost(&mut self, store: &Store, depot: Option<&Depot>) -> Result<()> {
        let lost = lost::find(store, depot, &mut self.tree)?;
        self.notices.extend(lost.iter().map(|((kind, id), _)| {
            let kind = kind.as_str();
            format!("{kind} {id} has lost its refs here: 'tw pull' and 'tw push' bring it back")
        }));
        Ok(())
    }

    fn take(
        &mut self,
        ctx: &Context<'_>,
        depot: Option<&Depot>,
        key: Key,
        json: Json,
    ) -> Result<()> {
        self.notice_elsewhere(&key, &json);
        let (json, mut now) = self.fields(ctx, &key, json);
        let (kind, id) = &key;
        let first_of = |names: [&str; 2]| names.iter().find_map(|name| json.get(*name)?.as_str());
        let at = match kind {
            Kind::Issue | Kind::Chat => first_of(["updated_at", "captured_at"]),
            Kind::Session => last_sign(&now),
            Kind::Experiment => first_of(["ended_at", "created_at"]),
        };
        let at = at.and_then(Moment::parse_rfc3339);
        let known = self.tree.record(depot, &key)?;
        if known.is_none() && self.tree.is_there(&key) {
            self.stick(key, "what was exchanged of it cannot be read");
            return Ok(());
        }
        let is_forgotten = known.is_none() && self.elsewhere.contains(&key);
        let mut shared = known.unwrap_or_default();
        self.leave_items_elsewhere(&key, &json, (&shared, &mut now));
        let at = at.unwrap_or_else(|| ctx.env.now());
        if *kind == Kind::Session && is_told_elsewhere(&shared, &now, &self.author, ctx.env.now()) {
            // With texts in it, maybe, of which ours says nothing: then it is not sent from here either.
            if self.prompts == Prompts::Redacted {
                self.now.insert(key, Said::Whole(now));
            }
            return Ok(());
        }
        let is_edited = is_forgotten || !shared.says(&now);
        if is_forgotten {
            shared = Shared::forgotten(&now, at, &self.author);
        } else if is_edited {
            let before = since_exchanged(ctx, &key, &shared, &self.author.by)?;
            let before = before.iter().map(|(then, at)| (then, *at));
            shared.edit(before.chain([(&now, at)]), &self.author);
        }
        let settled = settled(&shared, &json);
        if !settled.is_empty() {
            shared.settle(&settled, at, &self.author);
        }
        if is_edited || !settled.is_empty() {
            if let Some(why) = unreadable(*kind, id, &shared.encode(*kind, id)) {
                let why = format!("{why}{}", way_out(*kind, id));
                self.stick(key, &why);
                return Ok(());
            }
            let record = Waiting::new(&key, shared);
            let said = Said::edited(*kind, now, &record);
            self.now.insert(key.clone(), said);
            self.edited.insert(key, record);
        } else {
            let said = Said::beside(*kind, now, &shared);
            self.now.insert(key, said);
        }
        Ok(())
    }

    /// What of a record goes, redacted where it was said, and the same as fields.
    fn fields(&mut self, ctx: &Context<'_>, (kind, id): &Key, json: Json) -> (Json, Fields) {
        let mut json = Value::Object(json);
        if *kind == Kind::Chat {
            ctx.redactor().json(&mut json);
        }
        let json = match json {
            Value::Object(json) => json,
            _ => Json::new(),
        };
        let mut now = take_apart(*kind, id, &self.author.by, &json);
        let all = now.len();
        now.retain(|name, _| name.len() <= LONGEST_NAME);
        if now.len() < all {
            let what = "a field stays here: its name is too long";
            self.notices.push(format!("{} {id}: {what}", kind.as_str()));
        }
        (json, now)
    }

    /// Says that a record stays here, and that what comes does not change it either: what it says now would be lost.
    fn stick(&mut self, key: Key, why: &str) {
        self.notice(format!("{} {} stays here: {why}", key.0.as_str(), key.1));
        self.stuck.insert(key);
    }

    /// Says something once, however often it is looked at.
    pub fn notice(&mut self, what: String) {
        if !self.notices.contains(&what) {
            self.notices.push(what);
        }
    }

    /// Of an issue that came from elsewhere, and of its conversation: whether that was where our side was made.
    fn notice_elsewhere(&mut self, key: &Key, json: &Json) {
        let (kind, id) = key;
        let is_of_others = match kind {
            Kind::Issue => json.get("claimed_by").is_some_and(Value::is_string),
            Kind::Chat => self.elsewhere.contains(&(Kind::Issue, id.clone())),
            Kind::Session | Kind::Experiment => false,
        };
        if is_of_others && !self.tree.records.contains_key(key) {
            self.elsewhere.insert(key.clone());
        }
        if *kind == Kind::Issue && !is_of_others {
            self.reported.insert(id.clone());
        }
    }

    /// Whether a record was made here, by what is here: what comes proves nothing.
    pub fn made(&self, (kind, id): &Key) -> bool {
        match kind {
            Kind::Issue | Kind::Chat => self.reported.contains(id),
            Kind::Session | Kind::Experiment => self.now.contains_key(&(*kind, id.clone())),
        }
    }

    /// The same of the runs and comments that others put into an issue: they go where they came from, and nowhere else.
    fn leave_items_elsewhere(
        &mut self,
        (kind, id): &Key,
        json: &Json,
        (shared, now): (&Shared, &mut Fields),
    ) {
        let is_elsewhere = self.elsewhere.contains(&(*kind, id.clone()));
        if *kind != Kind::Issue || is_elsewhere {
            return;
        }
        let before = now.len();
        for name in names_of_others(id, &self.author.by, json) {
            if shared.setter(&name).is_none() {
                now.remove(&name);
            }
        }
        let count = before - now.len();
        if count > 0 {
            let what = format!("{count} of its runs and comments came from another remote");
            self.notices
                .push(format!("issue {id}: {what}, and stay here"));
        }
    }

    /// Whether a record that our side holds stays here all the same: it has what was said, maybe, from when that was to go, and none of our records
    /// says what of it may go now.
    pub fn withholds(&self, key: &Key) -> bool {
        let is_looked_at = self.now.contains_key(key) || self.edited.contains_key(key);
        self.prompts == Prompts::None && key.0 != Kind::Issue && !is_looked_at
    }

    /// Those of them that our side holds.
    pub fn withheld(&self) -> impl Iterator<Item = &Key> {
        self.tree.records.keys().filter(|key| self.withholds(key))
    }

    /// Leaves out what came from elsewhere than from where this is.
    pub fn leave_elsewhere(&mut self, there: &SharedTree) {
        for key in std::mem::take(&mut self.elsewhere) {
            if there.is_there(&key) {
                continue;
            }
            self.edited.remove(&key);
            let (kind, id) = &key;
            self.notices.push(format!(
                "{} {id} stays here: it came from another remote",
                kind.as_str()
            ));
        }
        // What is deleted here and never was there is nobody's business, nor what was said in it.
        let is_known = |key: &Key| there.records.contains_key(key);
        self.edited
            .retain(|key, record| !record.is_deleted() || is_known(key));
    }

    fn notice_deletion(
        &mut self,
        ctx: &Context<'_>,
        depot: Option<&Depot>,
        key: Key,
    ) -> Result<()> {
        if let Some(mut shared) = self.tree.record(depot, &key)?
            && shared.deletion().is_none()
        {
            shared.delete(ctx.env.now(), &self.author);
            let record = Waiting::new(&key, shared);
            self.edited.insert(key, record);
        }
        Ok(())
    }

    /// What a record of ours says now.
    ///
    /// # Errors
    /// What our side holds of it cannot be read.
    pub fn said(&self, depot: &Depot, key: &Key) -> Result<Option<Cow<'_, Fields>>> {
        let Some(said) = self.now.get(key) else {
            return Ok(None);
        };
        if let Some(fields) = said.fields() {
            return Ok(Some(fields));
        }
        let shared = self.tree.read_record(Some(depot), key)?;
        Ok(shared
            .and_then(std::result::Result::ok)
            .map(|shared| Cow::Owned(shared.view())))
    }

    /// A record of our side, as it is now.
    ///
    /// # Errors
    /// Its object cannot be read.
    pub fn record(&mut self, depot: Option<&Depot>, key: &Key) -> Result<Option<Shared>> {
        match self.edited.get(key) {
            Some(record) => Ok(Some(record.get().into_owned())),
            None => self.tree.record(depot, key),
        }
    }
}

/// Whether a session that is here and elsewhere goes on elsewhere, and nothing of it is new here: what was shared of it is of a later sign of life
/// than ours, which was told before, or, of the same one, set there. Else each side would set its own again, without end. A time that is still
/// to come keeps back nothing that was not told, nor what was told at once with it.
fn is_told_elsewhere(shared: &Shared, now: &Fields, author: &Author, clock: Moment) -> bool {
    let known = shared.view();
    let (known, here) = (last_sign(&known), last_sign(now));
    match known.cmp(&here) {
        Ordering::Less => false,
        Ordering::Greater => {
            let is_to_come = known > Some(clock.rfc3339().as_str());
            match shared.last_edit_by(&author.by) {
                Some((told, has_lost)) => Some(told) >= here && !(has_lost && is_to_come),
                None => !is_to_come,
            }
        }
        Ordering::Equal => {
            let mut setters = shared.changed(now).into_iter();
            setters.any(|name| {
                let setter = shared.setter(&name);
                setter.is_some_and(|edit| edit.by != author.by)
            })
        }
    }
}

/// The last time at which anything was noted of a session: the register notes no sign of life within a minute of the one before.
fn last_sign(fields: &Fields) -> Option<&str> {
    let times = fields.iter().filter_map(|(name, value)| match value {
        Value::String(time) => (name == "last_active_at").then_some(time.as_str()),
        value => {
            let mut times = ["created_at", "rewound_at"].into_iter();
            times.find_map(|name| value.get(name)?.as_str())
        }
    });
    times.max()
}

/// What an issue was after each change since it was exchanged, but for the last one, the oldest first, and when. Nothing where that is not known, or
/// too long ago, and where it never was.
fn since_exchanged(
    ctx: &Context<'_>,
    (kind, id): &Key,
    shared: &Shared,
    by: &str,
) -> Result<Vec<(Fields, Moment)>> {
    let store = ctx.store()?;
    let name = match (kind, IssueId::parse(id)) {
        (Kind::Issue, Some(id)) if *shared != Shared::default() => Record::Issue(id),
        _ => return Ok(Vec::new()),
    };
    let mut steps = Vec::new();
    let mut at = store.refs.read(&name.record_ref())?;
    while let Some(commit) = at.take_if(|_| steps.len() < MOST_STEPS) {
        let Ok(note) = store.record_in_history(&name, commit) else {
            break;
        };
        let mut then = take_apart(*kind, id, by, &note.json);
        then.retain(|name, _| name.len() <= LONGEST_NAME);
        if shared.says(&then) {
            steps.reverse();
            // What it is now.
            steps.pop();
            return Ok(steps);
        }
        let updated = note.json.get("updated_at").and_then(Value::as_str);
        let Some(updated) = updated.and_then(Moment::parse_rfc3339) else {
            break;
        };
        steps.push((then, updated));
        at = store.objects.commit(commit)?.parents.first().copied();
    }
    Ok(Vec::new())
}

/// The fields of which our record has no lost value any more: somebody here has decided.
fn settled(shared: &Shared, json: &Json) -> BTreeSet<String> {
    let lost = json.get("conflicts").and_then(Value::as_array);
    let is_open = |field: &str| {
        let mut lost = lost.into_iter().flatten();
        lost.any(|one| one.get("field").and_then(Value::as_str) == Some(field))
    };
    let fields = shared.conflicts().into_iter().map(|lost| lost.field);
    fields
        .filter(|field| !is_open(field))
        .map(str::to_owned)
        .collect()
}

fn id_of(name: &Record) -> Option<String> {
    match name {
        Record::Issue(id) | Record::Chat(id) => Some(id.to_string()),
        Record::Session(_) | Record::Label(_) => None,
    }
}
