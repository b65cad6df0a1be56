//! Which commits this machine made: only they may give special permission bits, owners, attributes and capabilities.
//!
//! A list of commit ids in the common git directory, which neither a clone nor a fetch carries along. Only commits that have something of that
//! kind to give are in it; that a commit of ours is missing costs what it would have given and nothing else.

use std::io::Write;

use super::Store;
use crate::error::{Result, ResultExt};
use crate::git::Oid;
use crate::git::create;
use crate::git::fs::Durable;
use crate::git::regular::{self, Links};

/// The list, in the common git directory's `timewarp`.
const FILE: &str = "made-here";

impl Store {
    /// Notes that this machine makes a commit. Before a ref holds it; waits for the disk when the commit is waited for, too.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn note_made_here(&self, commit: Oid, durable: Durable) -> Result<()> {
        create::private_dir(&self.common(""))?;
        let path = self.common(FILE);
        let what = || format!("cannot write '{}'", path.display());
        // One short line by one 'write' to the end: processes that write at once do not mix.
        let mut file = regular::append(&path, 0o600, Links::Refuse).context(what)?;
        file.write_all(format!("{commit}\n").as_bytes())
            .and_then(|()| match durable {
                Durable::Yes => file.sync_data(),
                Durable::No => Ok(()),
            })
            .context(what)
    }

    /// Whether this machine made a commit that has something to give.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn is_made_here(&self, commit: Oid) -> Result<bool> {
        let list = regular::read_optional(&self.common(FILE))?.unwrap_or_default();
        let line = commit.to_string();
        Ok(list
            .split(|&byte| byte == b'\n')
            .any(|known| known == line.as_bytes()))
    }

    /// Notes a commit that takes the place of another one as ours, when that was.
    ///
    /// # Errors
    /// The list can be neither read nor written.
    pub fn note_successor(&self, old: Oid, new: Oid) -> Result<()> {
        if old != new && self.is_made_here(old)? {
            self.note_made_here(new, Durable::Yes)?;
        }
        Ok(())
    }
}
