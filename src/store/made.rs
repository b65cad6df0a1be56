//! Which commits were made in this very git directory: only they may give special permission bits, owners, attributes and capabilities.
//!
//! A list in the common git directory, which neither a clone nor a fetch carries along. Each line is a commit id and what tells this git
//! directory from every copy of it, so that one that was copied here, or unpacked, brings no trust along. Only commits that have something of
//! that kind to give are in it; that a commit of ours is missing costs what it would have given and nothing else.
//!
//! Whoever does not own the git directory keeps a list of his own commits in his state directory, too: the owner may have written the other one.
//! So does everybody where the file system does not say when the git directory was made: the mark that stands for it there is lost with a change
//! of permission bits or owner.
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
use crate::git::private::{Identity, Registry};
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
            let dir = own.path.parent();
            let made = dir.map_or(Ok(()), |dir| create::dirs(dir, 0o700));
            let _ = made.map(|()| self.add(&own, &[commit], durable));
        }
        Ok(())
    }

    /// Where a commit was made that has something to give.
    ///
    /// # Errors
    /// The list in the git directory cannot be read.
    pub fn made(&self, commit: Oid) -> Result<Made> {
        let lists = self.made_lists()?;
        let has = |list: &List| Ok::<_, Error>(!self.listed(list, [commit])?.is_empty());
        // One's own that cannot be read tells nothing.
        if lists
            .own
            .as_ref()
            .is_some_and(|own| has(own).unwrap_or(false))
        {
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
    /// The list in the git directory can be neither read nor written.
    pub fn note_successors(&self, moved: &[(Oid, Oid)]) -> Result<()> {
        let lists = self.made_lists()?;
        self.add_successors(&lists.common, moved)?;
        if let Some(own) = lists.own {
            // As in `note_made_here`.
            let _ = self.add_successors(&own, moved);
        }
        Ok(())
    }

    fn add_successors(&self, list: &List, moved: &[(Oid, Oid)]) -> Result<()> {
        let ours = self.listed(list, moved.iter().map(|(old, _)| *old))?;
        let known = self.listed(list, moved.iter().map(|(_, new)| *new))?;
        let is_new = |(old, new): &&(Oid, Oid)| ours.contains(old) && !known.contains(new);
        let successors: Vec<Oid> = moved.iter().filter(is_new).map(|(_, new)| *new).collect();
        if successors.is_empty() {
            return Ok(());
        }
        self.add(list, &successors, Durable::Yes)
    }

    fn made_lists(&self) -> Result<MadeLists> {
        let dir = self.repo.common_dir();
        let what = || format!("cannot look at '{}'", dir.display());
        let user = rustix::process::geteuid().as_raw();
        let is_another_users = dir.metadata().context(what)?.uid() != user;
        let needs_own = is_another_users || !Identity::of(dir)?.is_certain();
        let state = Registry::of(self.repo.env()).filter(|_| needs_own);
        let own = state.map(|state| state.root().to_owned());
        let own = own.filter(|dir| is_ours_alone(dir, user));
        Ok(MadeLists {
            common: List {
                path: self.common(FILE),
                is_own: false,
            },
            own: own.map(|dir| List {
                path: dir.join(FILE),
                is_own: true,
            }),
            is_another_users,
        })
    }

    /// Where the repository is, as a list has it. What is in one's own is one's own, whatever the git directory says of when it was made.
    fn place_in(&self, list: &List) -> Result<Place> {
        let place = self.place()?;
        Ok(if list.is_own {
            let key = Identity::of(self.repo.common_dir())?.key();
            Place { key, ..place }
        } else {
            place
        })
    }

    /// Those of these commits that are in a list.
    fn listed(&self, list: &List, commits: impl IntoIterator<Item = Oid>) -> Result<HashSet<Oid>> {
        let Some(bytes) = regular::read_optional(&list.path)? else {
            return Ok(HashSet::new());
        };
        let place = self.place_in(list)?;
        let lines: HashSet<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
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

    fn add(&self, list: &List, commits: &[Oid], durable: Durable) -> Result<()> {
        let path = &list.path;
        let what = || format!("cannot write '{}'", path.display());
        create::private_dir(path.parent().unwrap_or(path))?;
        let place = self.place_in(list)?;
        let text: String = commits
            .iter()
            .map(|commit| line(*commit, &place) + "\n")
            .collect();
        // By one 'write' to the end: processes that write at once do not mix.
        let mut file = regular::append(path, 0o600, Links::Refuse).context(what)?;
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
    common: List,
    /// The user's own, where he needs one and nobody else can write it.
    own: Option<List>,
    is_another_users: bool,
}

/// A list of what was made here.
struct List {
    path: PathBuf,
    /// It is in the user's state directory.
    is_own: bool,
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
