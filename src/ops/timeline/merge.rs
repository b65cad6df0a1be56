//! The five sources in one line, second by second.
//!
//! Times are kept in seconds. What happened within one is put in order by what was there: a snapshot's number, then the prompts
//! and ends of turns that were noted on it; last the issues.

use std::cmp::Reverse;
use std::sync::Arc;

use super::entry::{Entry, EntryKind, MadeBy, Source};
use super::levels::{Bare, Levels};
use super::meta::Meta;
use super::talks::Point;
use super::{Timeline, changes};
use crate::error::{Code, Result};
use crate::git::threads;
use crate::ops::history::is_in_plain_list;
use crate::ops::issues;
use crate::store::checkpoint::Kind;
use crate::store::id::{IdKind, IssueId, SnapshotId};
use crate::store::snapshot::TakenIn;
use crate::store::trigger::Trigger;
use crate::text::first_line;

/// The place of an entry within its second: the number of the snapshot that was there, and how long after it.
type Place = (u64, u64);

/// Sorts an entry after everything else of its second.
const LAST: u64 = u64::MAX;

impl Timeline<'_> {
    /// Adds the entries of the newest second that is left. False: there is none, or it is before what is wanted.
    pub(super) fn read_on(&mut self, entries: &mut Vec<Entry>) -> Result<bool> {
        let Some(second) = self.newest_second() else {
            return Ok(false);
        };
        if second < self.matcher.since {
            return Ok(false);
        }
        let mut found: Vec<(Place, Entry)> = Vec::new();
        // Before the records: the end of a turn tells of its snapshot.
        for point in self.talks.take(second) {
            found.extend(self.of_point(point)?);
        }
        if self.records.second().is_some_and(|newest| newest >= second) {
            for meta in self.records.take_second()? {
                found.extend(self.of_record(&meta));
            }
        }
        let logs = self.levels.iter_mut();
        let bare: Vec<Bare> = logs.flat_map(|levels| levels.take(second)).collect();
        for swap in bare {
            found.push(self.of_level(swap)?);
        }
        while self.issues.last().is_some_and(|id| seconds(id) >= second) {
            let id = self.issues.pop();
            found.extend(id.and_then(|id| self.of_issue(id)));
        }
        found.retain(|(_, entry)| self.matcher.matches(entry));
        found.sort_by_key(|(place, _)| Reverse(*place));
        entries.extend(found.into_iter().map(|(_, entry)| entry));
        Ok(true)
    }

    /// The newest second of all sources. Notes that may be as new are read first.
    fn newest_second(&mut self) -> Option<i64> {
        loop {
            let newest = [
                self.records.second(),
                self.levels.iter().filter_map(Levels::second).max(),
                self.talks.second(),
                self.issues.last().map(seconds),
            ];
            let newest = newest.into_iter().flatten().max();
            match self.talks.bound() {
                Some(bound) if newest.is_none_or(|newest| bound >= newest) => self.talks.open_one(),
                _ => return newest,
            }
        }
    }

    fn of_record(&self, meta: &Arc<Meta>) -> Option<(Place, Entry)> {
        let said = &meta.said;
        let kind = meta.id.kind();
        let is_here = || self.here.is_named(&**meta) && is_in_plain_list(kind, &said.taken_in);
        if self.listed && !self.matcher.all_worktrees() && !is_here() {
            return None;
        }
        let is_swap = match kind {
            IdKind::Snapshot => false,
            IdKind::Backup => true,
            // A closed directory and the scratch of a run leave one, too, and nothing was swapped.
            IdKind::Experiment => !matches!(said.trigger, Trigger::Close | Trigger::Scratch),
        };
        let only_snapshots = !self.matcher.wants(EntryKind::TurnEnd);
        if !only_snapshots && said.trigger == Trigger::TurnEnd && self.told.contains(&meta.id) {
            return None;
        }
        let id = meta.id.to_string();
        let on = self.talks.checkpoint_on(&id);
        let on = on.filter(|_| said.trigger == Trigger::Checkpoint);
        let operation = match on {
            Some((_, kind @ Kind::Step)) => MadeBy::Checkpoint(kind),
            _ => MadeBy::Trigger(said.trigger.clone()),
        };
        let entry = Entry {
            kind: if is_swap {
                EntryKind::Swap
            } else {
                EntryKind::Snapshot
            },
            at: meta.created_at.clone(),
            title: title_of(meta, is_swap),
            session_id: said.session_id.clone(),
            checkpoint_id: on.map(|(n, _)| n),
            agent: said.agent.clone(),
            operation: Some(operation),
            text: said.initial_task_hint.clone().unwrap_or_default(),
            worktree: Some(meta.worktree.clone()),
            worktree_id: self.worktree_id(meta),
            taken_in: Some(said.taken_in.clone()),
            foreign: self.is_foreign(meta),
            claimed_by: said.claimed_by.clone(),
            labels: self.labels.get(&meta.commit).cloned().unwrap_or_default(),
            ..Entry::new(EntryKind::Snapshot, id, Source::Record(Arc::clone(meta)))
        };
        Some(((meta.seq, 0), entry))
    }

    fn is_foreign(&self, meta: &Meta) -> bool {
        self.repository_id.as_ref() != Some(&meta.repository_id)
    }

    /// Of a worktree of another repository the name alone counts.
    fn worktree_id(&self, meta: &Meta) -> Option<String> {
        let id = meta.worktree_id.clone();
        id.filter(|_| !self.is_foreign(meta))
    }

    fn of_point(&mut self, point: Point) -> Result<Option<(Place, Entry)>> {
        let id = SnapshotId::parse(&point.snapshot_id);
        let meta = id.map(|id| self.records.meta(&id)).transpose()?.flatten();
        if let Some(id) = id.filter(|_| point.is_end) {
            self.told.insert(id);
        }
        let seq = meta.as_ref().map_or(0, |meta| meta.seq);
        let n = point.n.unwrap_or(0);
        let after = 1 + n.saturating_mul(2) + u64::from(point.is_end);
        let labels = meta.as_ref().and_then(|meta| self.labels.get(&meta.commit));
        let kind = if point.is_end {
            EntryKind::TurnEnd
        } else {
            EntryKind::Prompt
        };
        let title = match (point.is_end, point.n) {
            (false, _) => first_line(&point.text).to_owned(),
            (true, Some(n)) => format!("end of turn, after checkpoint {n}"),
            (true, None) => "end of turn".to_owned(),
        };
        // Without the snapshot the session tells where it was.
        let registered = || {
            let session = self.sessions.get(&point.session_id).ok().flatten();
            session.map(|session| (session.worktree, session.worktree_id))
        };
        let recorded = meta.as_ref();
        let recorded = recorded.map(|meta| (meta.worktree.clone(), self.worktree_id(meta)));
        let (worktree, worktree_id) = recorded.or_else(registered).unzip();
        let entry = Entry {
            worktree,
            worktree_id: worktree_id.flatten(),
            at: point.at,
            title,
            checkpoint_id: point.n,
            operation: point.made_by.map(MadeBy::Checkpoint),
            session_id: Some(point.session_id),
            agent: point.agent,
            text: point.text,
            labels: labels.cloned().unwrap_or_default(),
            foreign: meta.as_ref().is_some_and(|meta| self.is_foreign(meta)),
            taken_in: meta.as_ref().map(|meta| meta.said.taken_in.clone()),
            ..Entry::new(
                kind,
                point.snapshot_id,
                Source::Turn(point.turn.0, point.turn.1),
            )
        };
        Ok(Some(((seq, after), entry)))
    }

    fn of_level(&self, swap: Bare) -> Result<(Place, Entry)> {
        let Bare {
            worktree,
            file,
            head,
        } = swap;
        let target = head.target_id.as_deref().and_then(SnapshotId::parse);
        let meta = target
            .map(|id| self.records.meta(&id))
            .transpose()?
            .flatten();
        let title = match &head.target_id {
            Some(target) => format!("{} to {target}", head.operation),
            None => head.operation.to_string(),
        };
        let entry = Entry {
            at: head.started_at,
            title,
            operation: Some(MadeBy::Trigger(head.operation.into())),
            worktree: Some(worktree.name().to_owned()),
            worktree_id: worktree.worktree_id().map(str::to_owned),
            taken_in: Some(TakenIn::Past),
            ..Entry::new(EntryKind::Swap, head.backup_id, Source::Level(file))
        };
        Ok(((meta.map_or(0, |meta| meta.seq), LAST), entry))
    }

    fn of_issue(&mut self, id: IssueId) -> Option<(Place, Entry)> {
        if !self.matcher.wants(EntryKind::Issue) {
            return None;
        }
        let issue = match issues::load(self.store, id) {
            Ok(loaded) => loaded.issue,
            Err(error) => {
                if error.code() != Code::IssueNotFound {
                    let said = (format!("issue {id}"), error.message().to_owned());
                    self.invalid.push(said);
                }
                return None;
            }
        };
        let entry = Entry {
            at: issue.created_at.clone(),
            title: first_line(&issue.symptom).to_owned(),
            session_id: issue.session_id.clone(),
            agent: issue.agent.clone(),
            status: Some(issue.status.as_str().to_owned()),
            claimed_by: issue.claimed_by.clone(),
            text: format!("{}\n{}", issue.symptom, issue.task_context),
            ..Entry::new(EntryKind::Issue, id.to_string(), Source::Issue)
        };
        Some(((LAST, issue.seq.unwrap_or(0)), entry))
    }

    /// Those that changed something in the paths of the filter.
    pub(super) fn touching(&self, entries: Vec<Entry>) -> Result<Vec<Entry>> {
        if self.paths.is_everything() {
            return Ok(entries);
        }
        let mut sides = Vec::with_capacity(entries.len());
        for entry in &entries {
            sides.push(self.sides(entry)?);
        }
        let (objects, paths) = (&self.store.objects, &self.paths);
        let touch = threads::map_from(super::FEW, &sides, |sides: &Option<changes::Sides>| {
            let sides = sides.as_ref()?;
            Some(!sides.changes(objects, paths).ok()?.is_empty())
        });
        let both = entries.into_iter().zip(touch);
        let touching = both.filter(|(_, touch)| *touch == Some(true));
        Ok(touching.map(|(entry, _)| entry).collect())
    }
}

/// What was there before a swap has a title of its own, which says what was to come.
fn title_of(meta: &Meta, is_swap: bool) -> String {
    let operation = &meta.said.trigger;
    match &meta.said.target_id {
        Some(target) if is_swap => format!("{operation} to {target}"),
        None if is_swap => format!("{operation} ({})", meta.title),
        _ => meta.title.clone(),
    }
}

fn seconds(id: &IssueId) -> i64 {
    id.time().seconds()
}
