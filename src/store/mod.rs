//! What `tw` keeps in a repository: refs, snapshot commits, state. The one door to `refs/timewarp/*` and to our notes.

pub mod access;
pub mod address;
pub mod backtrack;
mod boot;
pub mod chat;
pub mod checkpoint;
pub mod context;
mod counter;
pub mod damaged;
pub mod id;
pub mod identity;
pub mod issue;
pub mod lock;
pub mod made;
pub mod names;
pub mod paths;
pub mod recording;
pub mod records;
pub mod session;
pub mod snapshot;
pub mod state;
pub mod stored;
pub mod summary;
pub mod trigger;
pub mod workspace;

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use crate::error::Result;
use crate::git::fs::read_optional;
use crate::git::objects::ObjectStore;
use crate::git::refs::Refs;
use crate::git::repo::Repo;
use counter::Counter;
use id::IdKind;
use state::StateDir;

/// The door: refs, objects and state of one worktree.
pub struct Store {
    /// The repository.
    pub repo: Rc<Repo>,
    /// Its refs.
    pub refs: Refs,
    /// Its objects.
    pub objects: ObjectStore,
    /// This worktree's `timewarp` directory.
    pub dir: StateDir,
    /// How long a file that others hold is waited for.
    pub wait: Duration,
}

impl Store {
    /// Opens the store of a worktree, in which a file that others hold is waited for no longer than `wait`. Writes nothing.
    pub fn open(repo: &Rc<Repo>, wait: Duration) -> Result<Self> {
        Ok(Self {
            repo: Rc::clone(repo),
            refs: repo.refs().clone(),
            objects: ObjectStore::open(repo.common_dir(), repo.object_format())?,
            dir: StateDir::new(repo.git_dir()),
            wait,
        })
    }

    /// The `timewarp` directory that all worktrees share.
    pub fn common(&self, name: &str) -> PathBuf {
        self.repo.common_dir().join("timewarp").join(name)
    }

    /// Waits until every object there is, whoever wrote it, is on disk. Costs little where nothing was added since the last time.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn wait_for_objects(&self) -> Result<()> {
        if self.is_another_boot()? {
            // What a power cut took was not looked for yet: the mark would say that it is there.
            return self.objects.sync();
        }
        self.objects.wait_for_disk(&self.common("synced"))
    }

    /// The next number in the order of taking, unique in the repository.
    pub fn next_seq(&self) -> Result<u64> {
        let counter = self.counter()?;
        let next = match counter.last()? {
            Some(last) => last,
            None => self.last_seq()?,
        } + 1;
        counter.set(next)?;
        Ok(next)
    }

    /// Gives a number back that nothing has after all, so that nobody takes it for something that was forgotten. One after which others
    /// were given stays given.
    pub fn give_back_seq(&self, seq: u64) -> Result<()> {
        let counter = self.counter()?;
        if counter.last()? == Some(seq) {
            counter.set(seq.saturating_sub(1))?;
        }
        Ok(())
    }

    fn counter(&self) -> Result<Counter> {
        crate::git::create::private_dir(&self.common(""))?;
        Counter::hold(self.common("seq"), self.wait)
    }

    /// The last number that was given, as far as that can be read.
    pub fn counted(&self) -> Option<u64> {
        let text = read_optional(&self.common("seq")).ok()??;
        std::str::from_utf8(&text).ok()?.trim().parse().ok()
    }

    /// The highest number among the newest of each kind: for a counter that was lost.
    fn last_seq(&self) -> Result<u64> {
        let mut last = 0;
        for kind in IdKind::ALL {
            // Ids sort by the second only: the greatest number is among those of the last one, unless more were taken in it.
            for id in self.ids(kind)?.iter().take(16) {
                if let Ok(stored) = self.read_id(id) {
                    last = last.max(stored.record.seq);
                }
            }
        }
        Ok(last)
    }
}
