//! What the watcher says before a look, and the moment that is kept after it: see [`crate::worktree::watch`].

use std::path::Path;

use super::{Capture, CaptureRun, index_stamp};
use crate::error::Result;
use crate::git::fs::{Root, Stamp};
use crate::git::operation;
use crate::worktree::cache::{Identity, Meta};
use crate::worktree::manifest::{DirFlags, DirRec, Ignored, Manifest, no_oid};
use crate::worktree::scan::{Ctime, Suspects};
use crate::worktree::watch::ask::ask;
use crate::worktree::watch::changes::Dirty;
use crate::worktree::watch::message::Token;
use crate::worktree::watch::seen::{About, Seen, apart};

/// Whether a look may leave out directories in which nothing happened, as the watcher says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// Everything is looked at: whoever is about to overwrite something.
    #[default]
    Nobody,
    /// It may: snapshots in passing.
    Watcher,
}

/// What the watcher said.
#[derive(Debug)]
pub(super) struct Watched {
    /// What moment it was, before anything was looked at.
    now: Token,
    /// The clock then.
    at: i64,
    /// What it goes with, where it is known what happened since.
    since: Option<Since>,
}

#[derive(Debug)]
struct Since {
    seen: Seen,
    dirty: Dirty,
}

/// What is left to do once the look is over, so that the next one has something to start from.
#[derive(Debug)]
pub(super) struct Keeping {
    now: Token,
    at: i64,
    /// The cache that the look started from, and what it was made under.
    cache: Option<(Identity, Meta)>,
    /// Something happened since the moment that is kept already, or there is none.
    is_news: bool,
}

impl Watched {
    /// Asks, where there is a watcher.
    pub(super) fn ask(own: &Path, root: &Root, started: i64) -> Option<Self> {
        let seen = Seen::load(own);
        let token = seen.as_ref().map_or_else(no_token, |seen| seen.token);
        let answer = ask(own, root, token)?;
        let since = seen
            .zip(answer.dirty)
            .map(|(seen, dirty)| Since { seen, dirty });
        let since = since.filter(|Since { seen, .. }| {
            seen.token.instance == answer.now.instance
                && answer.cache == Some(seen.cache)
                && Identity::on_disk(&own.join("cache")) == Some(seen.cache)
                // A clock that was set back gives what changes now stamps of the past.
                && seen.about.at <= started
        });
        Some(Self {
            now: answer.now,
            at: started,
            since,
        })
    }

    /// What the cache was made under, when nothing happened since.
    fn quiet(&self) -> Option<&About> {
        let Since { seen, dirty } = self.since.as_ref()?;
        (dirty.is_empty() && seen.about.apart.is_empty()).then_some(&seen.about)
    }

    /// The directories of a cache to compare.
    pub(super) fn suspects(&self, cache: Identity, manifest: &Manifest) -> Suspects {
        match &self.since {
            Some(Since { seen, dirty }) if seen.cache == cache => {
                Suspects::of(manifest, dirty, &seen.about.apart)
            }
            _ => Suspects::All,
        }
    }

    /// What to keep after a look that started from this cache.
    pub(super) fn keeping(self, cache: Option<(Identity, Meta)>) -> Keeping {
        let Self { now, at, since } = self;
        Keeping {
            now,
            at,
            is_news: since.is_none_or(|since| !since.dirty.is_empty()),
            cache,
        }
    }
}

/// No watcher has it.
fn no_token() -> Token {
    Token {
        instance: [0; 16],
        sequence: 0,
    }
}

impl<'s> CaptureRun<'_, 's, '_> {
    /// The whole look, when the watcher says that nothing happened since the last one and nothing else moved either: the cache
    /// itself stays closed, and the manifest of the answer holds the root directory alone.
    pub(super) fn quiet(&self, watched: &Watched) -> Result<Option<Capture<'s>>> {
        let Some(about) = watched.quiet() else {
            return Ok(None);
        };
        let meta = &about.meta;
        let stamp = index_stamp(self.ctx);
        let may = self.wanted.before_hashing.is_none()
            && !self.wanted.whole_index
            && !meta.derived.is_null()
            && !meta.index.record.is_null()
            && !stamp.is_empty()
            && stamp == meta.index.stamp
            // Without these times a list of all paths is needed.
            && self.ctime()? == Ctime::Trusted;
        if !may {
            return Ok(None);
        }
        let head = self.ctx.repo.head(&self.store.objects)?;
        let Some(anchor) = self.anchor(meta)? else {
            return Ok(None);
        };
        let mut state = self.index_state(&head, meta, true)?;
        let operation = operation::read(&self.ctx.repo, &self.store.objects)?;
        let (_, _, options) = self.rules()?;
        let is_same = meta.options == options
            && meta.index.tracked == state.tracked
            && state.stamp == stamp
            && self.has_proven(meta);
        if !is_same {
            return Ok(None);
        }
        let parsed = state.parsed.take();
        let Some(files) = self.unread(about, parsed, &state)? else {
            return Ok(None);
        };
        let index_stamp = meta.index.stamp.clone();
        Ok(Some(self.captured(
            files,
            (head, operation),
            state,
            (Some(anchor), &meta.index.index_commit, index_stamp),
            options,
        )))
    }
}

/// A manifest of the root directory alone, of which only the owner is known.
pub(super) fn root_alone(owner: (u32, u32)) -> Manifest {
    let mut manifest = Manifest::default();
    let path = manifest.intern(b"");
    manifest.dirs.push(DirRec {
        path,
        parent: 0,
        first: 0,
        end: 0,
        flags: DirFlags::NONE,
        stamp: Stamp {
            uid: owner.0,
            gid: owner.1,
            ..Stamp::default()
        },
        tree: no_oid(),
        ignored: Ignored::default(),
    });
    manifest
}

impl Capture<'_> {
    /// Keeps the moment before this look with the cache that it is in by now: the one that it started from when nothing differed,
    /// else the one that was just written (`saved`). Nothing depends on it: without it the next look is a full one.
    pub fn keep_moment(&self, own: &Path, saved: Option<(Identity, &Meta)>) {
        let Some(keeping) = &self.keeping else { return };
        let started_from = keeping.cache.as_ref().filter(|_| self.unchanged);
        let started_from = started_from.map(|(identity, meta)| (*identity, meta));
        let Some((cache, meta)) = saved.or(started_from) else {
            return;
        };
        if saved.is_none() && !keeping.is_news {
            return;
        }
        let dirs = &self.manifest.dirs;
        let is_whole = dirs.iter().all(|dir| !dir.flags.has(DirFlags::DIRTY));
        let (Some(root), Some(apart)) = (dirs.first(), apart(&self.manifest)) else {
            return;
        };
        if !is_whole || root.tree == no_oid() {
            return;
        }
        let seen = Seen {
            token: keeping.now,
            cache,
            about: About {
                at: keeping.at,
                apart,
                owner: (root.stamp.uid, root.stamp.gid),
                meta: meta.clone(),
            },
        };
        let _ = seen.save(own);
    }
}
