//! Which commits were made in this very git directory: only they may give special permission bits, owners, attributes and capabilities.
//!
//! A list in the common git directory, which neither a clone nor a fetch carries along. Each line is a commit id and what tells this git
//! directory from every copy of it, so that one that was copied here, or unpacked, brings no trust along. Only commits that have something of
//! that kind to give are in it; that a commit of ours is missing costs what it would have given and nothing else.
//!
//! Whoever does not own the git directory keeps a list of his own commits in his state directory, too: the owner may have written the other one.
//!
//! Earlier versions wrote the commit id alone. Such a line counts for a commit that is not older than the git directory, which those of
//! a copy are.

use std::collections::HashSet;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Store;
use super::identity::Place;
use crate::error::{Error, Result, ResultExt};
use crate::git::Oid;
use crate::git::access::STICKY;
use crate::git::create;
use crate::git::fs::{Durable, resolved};
use crate::git::private::Registry;
use crate::git::regular::{self, Links};

/// The list, in the common git directory's `timewarp`, or in that of the user's state directory.
const FILE: &str = "made-here";

/// Where a commit was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Somewhere else, as far as it is known.
    Elsewhere,
    /// Here, as another user says, who owns the git directory.
    Claimed,
    /// Here.
    Here,
}

impl Store {
    /// Notes that a commit is made here. Before a ref holds it; waits for the disk when the commit is waited for, too.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn note_made_here(&self, commit: Oid, durable: Durable) -> Result<()> {
        let lists = self.made_lists()?;
        self.add(&lists.common, &[commit], durable)?;
        if let Some(own) = lists.own {
            // Where it cannot be written, the commit gives less.
            let made = own.parent().map_or(Ok(()), |dir| create::dirs(dir, 0o700));
            let _ = made.map(|()| self.add(&own, &[commit], durable));
        }
        Ok(())
    }

    /// Where a commit was made that has something to give.
    ///
    /// # Errors
    /// A list cannot be read.
    pub fn made(&self, commit: Oid) -> Result<Made> {
        let lists = self.made_lists()?;
        let has = |list: &Path| Ok::<_, Error>(!self.listed(list, [commit])?.is_empty());
        if lists.own.as_deref().map_or(Ok(false), has)? {
            return Ok(Made::Here);
        }
        Ok(match has(&lists.common)? {
            false => Made::Elsewhere,
            true if lists.is_another_users => Made::Claimed,
            true => Made::Here,
        })
    }

    /// Notes commits that take the place of others as ours, where those were. Before refs hold them.
    ///
    /// # Errors
    /// The list can be neither read nor written.
    pub fn note_successors(&self, moved: &[(Oid, Oid)]) -> Result<()> {
        for list in self.made_lists()?.all() {
            let ours = self.listed(&list, moved.iter().map(|(old, _)| *old))?;
            let known = self.listed(&list, moved.iter().map(|(_, new)| *new))?;
            let is_new = |(old, new): &&(Oid, Oid)| ours.contains(old) && !known.contains(new);
            let successors: Vec<Oid> = moved.iter().filter(is_new).map(|(_, new)| *new).collect();
            if !successors.is_empty() {
                self.add(&list, &successors, Durable::Yes)?;
            }
        }
        Ok(())
    }

    fn made_lists(&self) -> Result<MadeLists> {
        let dir = self.repo.common_dir();
        let what = || format!("cannot look at '{}'", dir.display());
        let user = rustix::process::geteuid().as_raw();
        let is_another_users = dir.metadata().context(what)?.uid() != user;
        let state = Registry::of(self.repo.env()).filter(|_| is_another_users);
        let own = state.map(|state| state.root().to_owned());
        Ok(MadeLists {
            common: self.common(FILE),
            own: own
                .filter(|dir| is_ours_alone(dir, user))
                .map(|dir| dir.join(FILE)),
            is_another_users,
        })
    }

    /// Those of these commits that are in a list.
    fn listed(&self, list: &Path, commits: impl IntoIterator<Item = Oid>) -> Result<HashSet<Oid>> {
        let Some(list) = regular::read_optional(list)? else {
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

    fn add(&self, list: &Path, commits: &[Oid], durable: Durable) -> Result<()> {
        let what = || format!("cannot write '{}'", list.display());
        create::private_dir(list.parent().unwrap_or(list))?;
        let place = self.place()?;
        let text: String = commits
            .iter()
            .map(|commit| line(*commit, &place) + "\n")
            .collect();
        // By one 'write' to the end: processes that write at once do not mix.
        let mut file = regular::append(list, 0o600, Links::Refuse).context(what)?;
        file.write_all(text.as_bytes())
            .and_then(|()| match durable {
                Durable::Yes => file.sync_data(),
                Durable::No => Ok(()),
            })
            .context(what)
    }
}

/// The lists of one repository.
struct MadeLists {
    common: PathBuf,
    /// The user's own, where he needs one and nobody else can write it.
    own: Option<PathBuf>,
    is_another_users: bool,
}

impl MadeLists {
    fn all(self) -> impl Iterator<Item = PathBuf> {
        [self.common].into_iter().chain(self.own)
    }
}

/// Whether nobody but the user and root can put anything at a path, which need not be there yet.
fn is_ours_alone(path: &Path, user: u32) -> bool {
    let path = resolved(path);
    let mut above = path.ancestors();
    above.all(|dir| match dir.symlink_metadata() {
        Ok(meta) => {
            let is_closed = meta.mode() & 0o022 == 0 || meta.mode() & STICKY != 0;
            [0, user].contains(&meta.uid()) && is_closed
        }
        Err(error) => regular::is_absent(&error),
    })
}

fn line(commit: Oid, place: &Place) -> String {
    format!("{commit} {}", place.key)
}
