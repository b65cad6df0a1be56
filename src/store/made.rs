//! Which commits this machine made: only they may give special permission bits, owners, attributes and capabilities.
//!
//! A list of commit ids in the common git directory, which neither a clone nor a fetch carries along. Only commits that have something of that
//! kind to give are in it; that a commit of ours is missing costs what it would have given and nothing else.

use std::collections::HashSet;
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
        self.add_made_here(&format!("{commit}\n"), durable)
    }

    /// Whether this machine made a commit that has something to give.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn is_made_here(&self, commit: Oid) -> Result<bool> {
        let list = self.made_here()?;
        Ok(lines(&list).any(|known| known == commit.to_string().as_bytes()))
    }

    /// Notes commits that take the place of others as ours, where those were. Before refs hold them.
    ///
    /// # Errors
    /// The list can be neither read nor written.
    pub fn note_successors(&self, moved: &[(Oid, Oid)]) -> Result<()> {
        let list = self.made_here()?;
        let known: HashSet<&[u8]> = lines(&list).collect();
        let is_known = |commit: Oid| known.contains(commit.to_string().as_bytes());
        let successors: String = moved
            .iter()
            .filter(|(old, new)| is_known(*old) && !is_known(*new))
            .map(|(_, new)| format!("{new}\n"))
            .collect();
        if successors.is_empty() {
            return Ok(());
        }
        self.add_made_here(&successors, Durable::Yes)
    }

    fn made_here(&self) -> Result<Vec<u8>> {
        Ok(regular::read_optional(&self.common(FILE))?.unwrap_or_default())
    }

    fn add_made_here(&self, text: &str, durable: Durable) -> Result<()> {
        create::private_dir(&self.common(""))?;
        let path = self.common(FILE);
        let what = || format!("cannot write '{}'", path.display());
        // By one 'write' to the end: processes that write at once do not mix.
        let mut file = regular::append(&path, 0o600, Links::Refuse).context(what)?;
        file.write_all(text.as_bytes())
            .and_then(|()| match durable {
                Durable::Yes => file.sync_data(),
                Durable::No => Ok(()),
            })
            .context(what)
    }
}

fn lines(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == b'\n')
}
