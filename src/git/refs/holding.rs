//! New objects and the refs that hold them, in the one order in which no gc comes between.
//!
//! First the objects, as it costs least, or all in a kept pack where the refs must outlast a power cut or a gc is under way. Then the refs.
//! Then it is looked whether a gc is under way, which may have begun before and not know of the refs: what it does not know it may still
//! take, but never from a pack that came after it began. Only then everything is looked for once more: a gc that has ended by
//! now has taken what it will take. What is missing, or not safe, is written again, into a kept pack; if that does not help, the
//! refs go back. The `.keep` goes last. Snapshots keep the same order (`ops::record`).

use super::failure::{Reason, TransactionError};
use super::transaction::{Change, Transaction};
use crate::env::fail_point;
use crate::error::{Code, Error};
use crate::git::gc;
use crate::git::liveness::Flush;
use crate::git::objects::{KeptPack, ObjectStore, Storage, Unheld, Written};

impl Transaction {
    /// Makes the changes, as [`Transaction::commit`], for refs that need these objects.
    ///
    /// # Errors
    /// As there; also when the objects cannot be written, or keep disappearing. Then the refs are as they were.
    pub fn commit_with(
        self,
        store: &ObjectStore,
        new: &impl Unheld,
    ) -> Result<(), TransactionError> {
        if new.is_empty() {
            return self.commit();
        }
        let first = self.edits.first().map(|edit| edit.name.clone());
        let failed = |error| TransactionError::new(first.as_deref().unwrap_or_default(), error);
        let common_dir = self.refs.common_dir.clone();
        let storage = match self.flush {
            Flush::Yes => Storage::SyncedPack,
            Flush::No if gc::is_running(&common_dir) => Storage::Pack,
            Flush::No => Storage::Cheapest,
        };
        let written = new
            .write(store, storage)
            .map_err(|error| failed(Reason::Io(error)))?;
        fail_point("objects-written");
        let back = self.inverse();
        if let Err(error) = self.commit() {
            release(Some(written));
            return Err(error);
        }
        fail_point("objects-held");
        let safe = storage != Storage::Cheapest || !gc::is_running(&common_dir);
        if safe && are_there(store, &written) {
            release(Some(written));
            return Ok(());
        }
        let again = new.write(store, Storage::Pack);
        let whole = matches!(&again, Ok(again) if are_there(store, again));
        release(Some(written));
        release(again.ok());
        if whole {
            return Ok(());
        }
        back.commit()?;
        let error = Error::new(Code::Io, "new objects disappear while refs are made");
        Err(failed(Reason::Io(error)))
    }

    /// Returns the transaction that undoes this one.
    fn inverse(&self) -> Self {
        let mut back = Self::new(self.refs.clone());
        for edit in self.edits.iter().rev() {
            match edit.change {
                Change::Create { new } => back.delete(&edit.name, Some(new)),
                Change::Update { new, old } => back.update(&edit.name, old, new),
                Change::Delete { old: Some(old) } => back.create(&edit.name, old),
                Change::Delete { old: None } | Change::Verify { .. } => {}
            }
        }
        back
    }
}

/// Whether all are there, looked for anew.
fn are_there(store: &ObjectStore, written: &Written) -> bool {
    store.refresh();
    store.still_has(&written.written) && store.still_has(&written.reused)
}

/// The refs hold the objects, or nothing should: a `.keep` that stays is cleared away when this process is dead.
fn release(written: Option<Written>) {
    let _ = written.and_then(|written| written.pack.map(KeptPack::release));
}
