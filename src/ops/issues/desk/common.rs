//! What a desk file and the record have in common: the version that an edit of the file is told against.
//!
//! That is the record that the file was written from and, once edits of it were taken in while it stayed, that record with these edits. What
//! others changed meanwhile is not in the file, and so not in there: a text of the file that stays as it is never counts as an edit of theirs.
//! The file may say a text in another way than the record does (a secret, a character that would not be seen), so its own texts are known by
//! their hashes.
//!
//! Where a command died between the record and the file, or an older version was at work, it is not known what of the file was taken in. A
//! text that the record has had since then was.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::base::{Base, hash};
use crate::git::Oid;
use crate::store::Store;
use crate::store::id::IssueId;
use crate::store::issue::Issue;
use crate::store::names::Record;
use crate::store::records::Json;

/// This many versions of a record are looked through.
const VERSIONS: usize = 1000;

/// The texts of a desk file: the sha256 of each, by that of its name. Either may be a secret.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Texts(BTreeMap<String, String>);

impl Texts {
    /// Notes a text.
    pub fn put(&mut self, name: &str, text: &str) {
        self.0.insert(key(name), key(text.trim_end()));
    }
}

fn key(text: &str) -> String {
    hash(text.as_bytes())
}

/// A desk file whose edits were taken in while it stayed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// The record's commit right after that.
    pub tip: String,
    /// The issue as the file has it, in the record's words.
    pub issue: Json,
    /// The file's texts.
    pub texts: Texts,
}

/// The version that the edits of a file are told against.
pub struct Common {
    /// As an issue.
    pub issue: Issue,
    /// What texts the file had when its edits were taken in last. None: the issue's, for it was written from that.
    texts: Option<Texts>,
    /// What the record has been since, where it is not known what of the file was taken in.
    past: Vec<Issue>,
}

impl Common {
    /// What is known of a file. None: what it was written from is gone.
    pub fn read(store: &Store, id: IssueId, base: &Base, name: &str) -> Option<Self> {
        let taken = base.taken(name);
        let (issue, since) = if let Some(taken) = taken {
            let issue = Issue::from_json(&taken.issue).ok()?;
            (issue, Oid::from_hex(&taken.tip).ok()?)
        } else {
            let tip = base.tip(name)?;
            (version(store, id, tip)?, tip)
        };
        let past = if base.is_settled(name) {
            Vec::new()
        } else {
            versions_since(store, id, since)
        };
        Some(Self {
            issue,
            texts: taken.map(|taken| taken.texts.clone()),
            past,
        })
    }

    /// The same, as if nothing had been changed since.
    pub fn alone(&self) -> Self {
        Self {
            issue: self.issue.clone(),
            texts: self.texts.clone(),
            past: Vec::new(),
        }
    }

    /// One text of three: None when the desk did not change it. Tells whether the other side had changed it too.
    pub fn decide(&self, name: &str, written: &str, ours: &str, desk: &str) -> Option<bool> {
        let (written, ours, desk) = (written.trim_end(), ours.trim_end(), desk.trim_end());
        let before = self.text(name);
        let is_edited = before.map_or(desk != written, |before| *before != key(desk));
        (is_edited && desk != ours).then(|| ours != written)
    }

    /// Whether the file had a text of this name; `written`: whether the issue has.
    pub fn had(&self, name: &str, written: bool) -> bool {
        match &self.texts {
            Some(_) => self.text(name).is_some(),
            None => written,
        }
    }

    fn text(&self, name: &str) -> Option<&String> {
        self.texts.as_ref()?.0.get(&key(name))
    }

    /// Whether a text of the file that is told by `is_there` has come into the record already, as far as that is not known otherwise.
    pub fn was_taken_in(&self, is_there: impl Fn(&Issue) -> bool) -> bool {
        self.past.iter().any(is_there)
    }
}

fn version(store: &Store, id: IssueId, commit: Oid) -> Option<Issue> {
    let note = store.record_in_history(&Record::Issue(id), commit).ok()?;
    Issue::from_json(&note.json).ok()
}

/// What the record has been, from a commit on.
fn versions_since(store: &Store, id: IssueId, since: Oid) -> Vec<Issue> {
    let tip = store.record_tip(&Record::Issue(id)).ok().flatten();
    let mut next: Vec<Oid> = tip.into_iter().map(|(tip, _)| tip).collect();
    let mut seen = BTreeSet::new();
    while let Some(commit) = next.pop() {
        if seen.len() < VERSIONS && seen.insert(commit) && commit != since {
            let parents = store.objects.commit(commit).map(|commit| commit.parents);
            next.extend(parents.unwrap_or_default());
        }
    }
    let found = seen.into_iter();
    found
        .filter_map(|commit| version(store, id, commit))
        .collect()
}
