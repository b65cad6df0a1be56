//! Records that others shared and that are kept nowhere but in the tree of our side, and their fields, which anybody may have written.

use serde_json::{Map, Value};

use super::fields::{Kind, put_together};
use super::record::{Author, Shared};
use super::setup::{author, depot};
use super::tree::{Key, SharedTree};
use crate::env::Moment;
use crate::error::{Code, Error, Result};
use crate::ops::Context;
use crate::store::Store;
use crate::store::names::SHARED_OWN;
use crate::store::records::Json;

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
    let Some(depot) = depot(store)? else {
        return Ok(None);
    };
    let Some(commit) = depot.refs.read(SHARED_OWN)? else {
        return Ok(None);
    };
    let mut shared = SharedTree::of_own(Some(&depot), Some(commit))?;
    let keys: Vec<Key> = shared.records.keys().cloned().collect();
    let author = author(ctx, store)?;
    let mut found = Vec::new();
    for key in keys.into_iter().filter(|key| key.0 == kind) {
        if let Some(record) = shared.record(Some(&depot), &key)?
            && record.claimed_by(&author).is_some()
            && record.deletion().is_none()
        {
            found.push(OfOthers { id: key.1, record });
        }
    }
    Ok(Some((author, found)))
}

/// The fields of a record that anybody may have written.
pub struct Read {
    /// All of them.
    pub json: Json,
}

impl Read {
    /// Those of a record of this kind.
    pub fn new(kind: Kind, shared: &Shared) -> Self {
        let json = put_together(kind, &shared.view());
        Self { json }
    }

    /// A text, however long.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.json.get(name)?.as_str()
    }

    /// A text that is not too long.
    pub fn short(&self, name: &str) -> Option<&str> {
        self.text(name).filter(|text| text.len() <= LONGEST)
    }

    /// The same, to keep.
    pub fn owned(&self, name: &str) -> Option<String> {
        self.short(name).map(str::to_owned)
    }

    /// A time in RFC 3339.
    pub fn time(&self, name: &str) -> Option<String> {
        self.owned(name).filter(|text| is_time(text))
    }

    /// The items of a list.
    pub fn items(&self, name: &str) -> impl Iterator<Item = &Value> {
        let items = self.json.get(name).and_then(Value::as_array);
        items.into_iter().flatten()
    }

    /// What may be missing, and else has to be what it should be.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` when it is not.
    pub fn checked(&self, name: &str, is_good: impl Fn(&str) -> bool) -> Result<Option<String>> {
        match self.json.get(name) {
            None => Ok(None),
            Some(_) => match self.owned(name).filter(|text| is_good(text)) {
                None => Err(wrong(&format!("its '{name}' is malformed"))),
                some => Ok(some),
            },
        }
    }
}

/// Whether this is a time in RFC 3339.
pub fn is_time(text: &str) -> bool {
    text.len() <= LONGEST && Moment::parse_rfc3339(text).is_some()
}

/// The fields that go of what is written as an object: all but those without a value.
pub fn object(value: Value) -> Json {
    match value {
        Value::Object(map) => map
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .collect(),
        _ => Map::new(),
    }
}

/// The error of a record that is not what it should be.
pub fn wrong(why: &str) -> Error {
    Error::new(Code::CorruptRecord, why)
}
