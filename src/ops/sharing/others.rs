//! Records that others shared and that are kept nowhere but in the tree of our side.

use super::fields::Kind;
use super::record::{Author, Shared};
use super::setup::author;
use super::tree;
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::store::Store;
use crate::store::names::SHARED_OWN;

/// A longer id, name of an agent, or word is none.
pub const LONGEST: usize = 400;

/// A record that somebody else made and nobody has deleted.
#[derive(Debug)]
pub struct OfOthers {
    /// Its id.
    pub id: String,
    /// The record.
    pub record: Shared,
}

/// All such records of a kind, and who we are. What cannot be read was refused when it came.
///
/// # Errors
/// Our side of what is shared cannot be read.
pub fn of_others(
    ctx: &Context<'_>,
    store: &Store,
    kind: Kind,
) -> Result<Option<(Author, Vec<OfOthers>)>> {
    let Some(commit) = store.refs.read(SHARED_OWN)? else {
        return Ok(None);
    };
    let mut shared = tree::read(&store.objects, commit)?;
    let keys: Vec<tree::Key> = shared.records.keys().cloned().collect();
    let author = author(ctx, store)?;
    let mut found = Vec::new();
    for key in keys.into_iter().filter(|key| key.0 == kind) {
        if let Some(record) = shared.record(&store.objects, &key)?
            && record.claimed_by(&author).is_some()
            && record.deletion().is_none()
        {
            found.push(OfOthers { id: key.1, record });
        }
    }
    Ok(Some((author, found)))
}

/// The error of a record that is not what it should be.
pub fn wrong(why: &str) -> Error {
    Error::new(Code::CorruptRecord, why)
}
