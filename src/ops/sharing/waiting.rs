//! Records, and what they say, while they wait in memory to go or to be put. Conversations wait packed, for all of them together may be
//! more than memory holds: whoever works on one holds that one whole.

use std::borrow::Cow;
use std::sync::Arc;

use super::fields::{Fields, Kind};
use super::record::Shared;
use super::tree::Key;
use crate::error::Result;
use crate::git::Oid;
use crate::git::objects::{NewObjects, ObjectKind, Packed};

/// A record that waits.
#[derive(Debug, Clone)]
pub struct Waiting {
    is_deleted: bool,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    Whole(Arc<Shared>),
    /// The bytes of a conversation, and its id.
    Packed(Arc<Packed>, String),
}

impl Waiting {
    /// Lets a record wait.
    pub fn new((kind, id): &Key, shared: Shared) -> Self {
        if *kind == Kind::Chat {
            let bytes = shared.encode(*kind, id);
            // A number may be read as its neighbour; what would come out as another record waits as it is.
            if Shared::decode(*kind, id, &bytes).as_ref() == Ok(&shared) {
                return Self {
                    is_deleted: shared.deletion().is_some(),
                    form: Form::Packed(Arc::new(Packed::new(&bytes)), id.clone()),
                };
            }
        }
        Self {
            is_deleted: shared.deletion().is_some(),
            form: Form::Whole(Arc::new(shared)),
        }
    }

    /// The record.
    pub fn get(&self) -> Cow<'_, Shared> {
        match &self.form {
            Form::Whole(shared) => Cow::Borrowed(shared),
            Form::Packed(packed, id) => {
                let read = Shared::decode(Kind::Chat, id, &packed.bytes());
                Cow::Owned(read.expect("it was read when it was packed"))
            }
        }
    }

    /// Puts its bytes among objects that are to be written.
    ///
    /// # Errors
    /// A collision attack.
    pub fn put_into(&self, new: &mut NewObjects, (kind, id): &Key) -> Result<Oid> {
        match &self.form {
            Form::Whole(shared) => new.put(ObjectKind::Blob, &shared.encode(*kind, id)),
            Form::Packed(packed, _) => new.put_packed(ObjectKind::Blob, packed),
        }
    }

    /// Whether it is deleted.
    pub fn is_deleted(&self) -> bool {
        self.is_deleted
    }
}

/// What a record of ours says.
#[derive(Debug)]
pub enum Said {
    /// These fields.
    Whole(Fields),
    /// Those of a conversation, as JSON.
    Packed(Packed),
    /// What this record says.
    AsEdited(Waiting),
    /// What our side holds of it says the same.
    AsShared,
}

impl Said {
    /// What a record of this kind says.
    fn new(kind: Kind, fields: Fields) -> Self {
        if kind == Kind::Chat
            && let Ok(bytes) = serde_json::to_vec(&fields)
            && serde_json::from_slice(&bytes).is_ok_and(|read: Fields| read == fields)
        {
            return Self::Packed(Packed::new(&bytes));
        }
        Self::Whole(fields)
    }

    /// The same of one that waits, as it was edited.
    pub fn edited(kind: Kind, fields: Fields, record: &Waiting) -> Self {
        if kind == Kind::Chat && record.get().view() == fields {
            Self::AsEdited(record.clone())
        } else {
            Self::new(kind, fields)
        }
    }

    /// The same of one that was not edited since our side has it.
    pub fn beside(kind: Kind, fields: Fields, shared: &Shared) -> Self {
        if kind == Kind::Chat && !fields.is_empty() && shared.view() == fields {
            Self::AsShared
        } else {
            Self::new(kind, fields)
        }
    }

    /// The fields; None: those that our side holds.
    pub fn fields(&self) -> Option<Cow<'_, Fields>> {
        match self {
            Self::Whole(fields) => Some(Cow::Borrowed(fields)),
            Self::Packed(packed) => {
                let fields = serde_json::from_slice(&packed.bytes());
                Some(Cow::Owned(
                    fields.expect("they were read when they were packed"),
                ))
            }
            Self::AsEdited(record) => Some(Cow::Owned(record.get().view())),
            Self::AsShared => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::record::Author;
    use super::*;
    use crate::env::Moment;

    fn record(messages: &serde_json::Value) -> (Fields, Shared) {
        let fields = Fields::from([("messages".to_owned(), messages.clone())]);
        let author = Author {
            by: "here".to_owned(),
            name: None,
        };
        let mut shared = Shared::default();
        shared.edit([(&fields, Moment(0))], &author);
        (fields, shared)
    }

    #[test]
    fn a_conversation_waits_packed_and_comes_out_as_it_was() {
        let key = (Kind::Chat, "i_20260228_153012_ab12cd".to_owned());
        let long = json!([{"role": "user", "text": "again and again, ".repeat(20_000)}]);
        let (fields, shared) = record(&long);
        let waiting = Waiting::new(&key, shared.clone());
        let Form::Packed(packed, _) = &waiting.form else {
            panic!("it is not packed: {waiting:?}");
        };
        assert_eq!(packed.bytes(), shared.encode(key.0, &key.1));
        assert_eq!(*waiting.get(), shared);
        let said = Said::new(key.0, fields.clone());
        assert!(matches!(said, Said::Packed(_)), "{said:?}");
        assert_eq!(said.fields().as_deref(), Some(&fields));
        // What waits once, and what our side holds, is not held once more.
        let said = Said::edited(key.0, fields.clone(), &waiting);
        assert!(matches!(said, Said::AsEdited(_)), "{said:?}");
        assert_eq!(said.fields().as_deref(), Some(&fields));
        // What our side holds is not held once more.
        assert!(Said::beside(key.0, fields, &shared).fields().is_none());
    }
}
