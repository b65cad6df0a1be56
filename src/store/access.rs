//! The access list in a state commit: owner, group and attributes by path.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::Store;
use super::state::{parse_versioned, path_from_stored, stored_path};
use super::stored::{Stored, part};
use crate::error::{Code, Error, Result};
use crate::git::access::Access;
use crate::git::access_list::AccessList;

/// The name of the list.
pub const LIST: &str = "access";

#[derive(Serialize, Deserialize)]
struct List {
    version: u32,
    /// Owner and group of the paths that are not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<(u32, u32)>,
    /// The maps of the user namespace by whose numbers owner and groups are noted; nothing where every id is its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ids: Option<String>,
    /// The paths that are not listed have no attributes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    complete: bool,
    paths: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    path: String,
    uid: u32,
    gid: u32,
    /// Name to value in base64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, String>,
}

/// The list's bytes.
pub fn encode(access: &AccessList) -> Vec<u8> {
    let entry = |(path, access): (&Vec<u8>, &Access)| Entry {
        path: stored_path(path),
        uid: access.uid,
        gid: access.gid,
        attributes: access
            .attributes
            .iter()
            .map(|(name, value)| (stored_path(name), STANDARD.encode(value)))
            .collect(),
    };
    let list = List {
        version: 1,
        owner: access.owner,
        ids: access.ids.clone(),
        complete: access.complete,
        paths: access.paths.iter().map(entry).collect(),
    };
    serde_json::to_vec(&list).expect("plain data serialises")
}

/// The list that bytes are, of what is called by this name.
///
/// # Errors
/// `CORRUPT_RECORD` when it is not well formed; `NEWER_RECORD`.
pub fn decode(bytes: &[u8], name: &str) -> Result<AccessList> {
    let corrupt = || {
        Error::new(
            Code::CorruptRecord,
            format!("'{name}' is damaged: its access list"),
        )
    };
    let list: List = parse_versioned(bytes, 1, name)?;
    let mut paths = BTreeMap::new();
    for entry in list.paths {
        let mut access = Access {
            uid: entry.uid,
            gid: entry.gid,
            ..Access::default()
        };
        for (name, value) in &entry.attributes {
            let name = path_from_stored(name).ok_or_else(corrupt)?;
            let value = STANDARD.decode(value).map_err(|_| corrupt())?;
            access.attributes.insert(name, value);
        }
        paths.insert(path_from_stored(&entry.path).ok_or_else(corrupt)?, access);
    }
    Ok(AccessList {
        paths,
        owner: list.owner,
        complete: list.complete,
        ids: list.ids,
        ..AccessList::default()
    })
}

impl Store {
    /// The access that a snapshot recorded, as far as it is known here. The caller asks first whether this machine made it.
    ///
    /// # Errors
    /// `CORRUPT_RECORD` when the list is not well formed.
    pub fn access(&self, stored: &Stored) -> Result<AccessList> {
        Ok(self.recorded_access(stored)?.known_here())
    }

    /// The same, as it was recorded.
    ///
    /// # Errors
    /// As [`Self::access`].
    pub fn recorded_access(&self, stored: &Stored) -> Result<AccessList> {
        let state = self.index_side(stored)?.state;
        match self.state_blob(state, &format!("{}/{LIST}", part::LISTS))? {
            Some(bytes) => decode(&bytes, &stored.id.to_string()),
            None => Ok(AccessList::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_survive() {
        let attributes = BTreeMap::from([(b"user.\xff".to_vec(), vec![0, 255, 10])]);
        let access = Access {
            uid: 7,
            gid: u32::MAX,
            attributes,
        };
        let paths = BTreeMap::from([
            (b"a\xff\n".to_vec(), access),
            (b"b".to_vec(), Access::default()),
        ]);
        for (owner, complete) in [(None, false), (Some((8, 9)), true)] {
            let list = AccessList {
                paths: paths.clone(),
                owner,
                complete,
                ids: owner.map(|_| "0:1000:1;0:1000:1".to_owned()),
                ..AccessList::default()
            };
            assert_eq!(decode(&encode(&list), "x").expect("read"), list);
        }
        assert!(decode(b"{}", "x").is_err());
    }
}
