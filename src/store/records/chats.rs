//! Conversations, read without holding them more often than it takes: they are the only records that are large.
//!
//! Promises to answer what [`Store::record`] and [`Chat::from_json`] answer together, errors too.

use super::decode::decode;
use super::{Store, VERSION};
use crate::error::{Result, ResultExt};
use crate::git::Oid;
use crate::git::notes::{blob_bytes, notes_at};
use crate::store::chat::Chat;
use crate::store::id::IssueId;
use crate::store::names::{Record, RecordKind};
use crate::text::without_mark;
use crate::work::{Work, count};

/// The commit at which a record stands, and what had to be settled for that.
pub type Tip = Result<(Oid, Vec<String>)>;

/// Counts a note that is read, where it is a conversation.
pub(super) fn count_read(name: &Record) {
    if let Record::Chat(_) = name {
        count(Work::ChatReads);
    }
}

impl Store {
    /// The commit at which a record stands, and what had to be settled for that. None: there is none. Nothing that it says is read.
    ///
    /// # Errors
    /// Its refs cannot be read.
    pub fn record_tip(&self, name: &Record) -> Result<Option<(Oid, Vec<String>)>> {
        let at = self.where_it_stands(name)?;
        self.settle(name, at)
    }

    /// The records of a kind, sorted, each with the same. Nothing that they say is read.
    ///
    /// # Errors
    /// The refs cannot be listed. A single record that stands nowhere hides no other.
    pub fn record_tips(&self, kind: RecordKind) -> Result<Vec<(Record, Tip)>> {
        let (standing, broken) = self.standing_and_broken(kind)?;
        let broken = broken.into_iter().map(|(name, error)| (name, Err(error)));
        let settled = standing.into_iter().filter_map(|(name, at)| {
            let tip = self.settle(&name, at).transpose()?;
            Some((name, tip))
        });
        Ok(broken.chain(settled).collect())
    }

    /// How many bytes the largest note in a commit of a record has, by its header alone.
    ///
    /// # Errors
    /// It is no notes commit, or cannot be read.
    pub fn note_size(&self, commit: Oid) -> Result<u64> {
        let notes = notes_at(&self.objects, commit)?.into_iter();
        let sizes = notes.filter_map(|(_, blob)| self.objects.blob_size(blob));
        Ok(sizes.max().unwrap_or(0))
    }

    /// The conversation of an issue, and what had to be settled. None: it has none.
    ///
    /// # Errors
    /// As [`Store::record`]; `CORRUPT_RECORD` or `NEWER_RECORD` when it is no conversation.
    pub fn chat(&self, id: IssueId) -> Result<Option<(Chat, Vec<String>)>> {
        let name = Record::Chat(id);
        let Some((tip, notices)) = self.record_tip(&name)? else {
            return Ok(None);
        };
        Ok(Some((self.chat_at_commit(&name, tip)?, notices)))
    }

    /// A conversation as a commit of its record has it.
    ///
    /// # Errors
    /// As [`Store::chat`].
    pub fn chat_at_commit(&self, name: &Record, commit: Oid) -> Result<Chat> {
        let cannot = || format!("{name} cannot be read");
        if let [(_, blob)] = *notes_at(&self.objects, commit).context(cannot)? {
            count_read(name);
            let body = blob_bytes(&self.objects, blob).context(cannot)?;
            let read: Option<Chat> = serde_json::from_slice(without_mark(&body)).ok();
            match read.filter(|chat| chat.version <= VERSION) {
                Some(chat) => return Ok(chat),
                // What is wrong with it is said where all records are read.
                None => return Chat::from_json(decode(name, &body)?),
            }
        }
        Chat::from_json(self.record_at_commit(name, commit)?.into_only(name)?.json)
    }
}
