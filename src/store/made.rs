//! Which commits were made in this very git directory: only they may give special permission bits, owners, attributes and capabilities.
//!
//! A list in the common git directory, which neither a clone nor a fetch carries along. Each line is a commit id and what tells this git
//! directory from every copy of it, so that one that was copied here, or unpacked, brings no trust along. Only commits that have something of
//! that kind to give are in it; that a commit of ours is missing costs what it would have given and nothing else.
//!
//! Earlier versions wrote the commit id alone. Such a line counts for a commit that is not older than the git directory, which those of
//! a copy are.

use std::collections::HashSet;
use std::io::Write;

use super::Store;
use super::identity::Place;
use crate::error::{Result, ResultExt};
use crate::git::Oid;
use crate::git::create;
use crate::git::fs::Durable;
use crate::git::regular::{self, Links};

/// The list, in the common git directory's `timewarp`.
const FILE: &str = "made-here";

impl Store {
    /// Notes that a commit is made here. Before a ref holds it; waits for the disk when the commit is waited for, too.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn note_made_here(&self, commit: Oid, durable: Durable) -> Result<()> {
        self.add_made_here(&[commit], durable)
    }

    /// Whether a commit that has something to give was made here.
    ///
    /// # Errors
    /// The list cannot be read.
    pub fn is_made_here(&self, commit: Oid) -> Result<bool> {
        Ok(!self.made_here([commit])?.is_empty())
    }

    /// Notes commits that take the place of others as ours, where those were. Before refs hold them.
    ///
    /// # Errors
    /// The list can be neither read nor written.
    pub fn note_successors(&self, moved: &[(Oid, Oid)]) -> Result<()> {
        let ours = self.made_here(moved.iter().map(|(old, _)| *old))?;
        let known = self.made_here(moved.iter().map(|(_, new)| *new))?;
        let is_new = |(old, new): &&(Oid, Oid)| ours.contains(old) && !known.contains(new);
        let successors: Vec<Oid> = moved.iter().filter(is_new).map(|(_, new)| *new).collect();
        if successors.is_empty() {
            return Ok(());
        }
        self.add_made_here(&successors, Durable::Yes)
    }

    /// Those of these commits that were made here.
    fn made_here(&self, commits: impl IntoIterator<Item = Oid>) -> Result<HashSet<Oid>> {
        let Some(list) = regular::read_optional(&self.common(FILE))? else {
            return Ok(HashSet::new());
        };
        let place = self.place()?;
        let lines: HashSet<&[u8]> = list.split(|byte| *byte == b'\n').collect();
        let has = |line: &str| lines.contains(line.as_bytes());
        let is_ours = |commit: &Oid| {
            has(&line(*commit, &place))
                || has(&commit.to_string()) && self.is_no_older_than(*commit, &place)
        };
        Ok(commits.into_iter().filter(is_ours).collect())
    }

    /// Whether a commit says that it was made since the git directory is where it is.
    fn is_no_older_than(&self, commit: Oid, place: &Place) -> bool {
        let now = self.repo.env().now().seconds();
        self.commit(commit)
            .is_ok_and(|raw| (place.since..=now).contains(&raw.author_time))
    }

    fn add_made_here(&self, commits: &[Oid], durable: Durable) -> Result<()> {
        create::private_dir(&self.common(""))?;
        let place = self.place()?;
        let text: String = commits
            .iter()
            .map(|commit| line(*commit, &place) + "\n")
            .collect();
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

fn line(commit: Oid, place: &Place) -> String {
    format!("{commit} {}", place.key)
}
