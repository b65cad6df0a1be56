//! The access that directories get, and what permission bits alone may not open.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};

use super::temps::is_dir;
use super::{Applied, Apply, Granted, set_permissions};
use crate::error::{Result, ResultExt};
use crate::git::access::{Access, Lost, RUNS_AS, SETGID, may_change};
use crate::git::fs::{Root, Stamp, stamp_at};
use crate::git::path;
use crate::worktree::plan::Plan;

impl<'a> Granted<'a> {
    /// What was recorded of a path by its name, and not with most of that side.
    pub fn named(self, path: &[u8]) -> Option<Cow<'a, Access>> {
        let elsewhere = self.elsewhere.and_then(|access| access.get(path));
        let recorded = || self.recorded.and_then(|list| list.paths.get(path));
        elsewhere.or_else(recorded).map(Cow::Borrowed)
    }

    /// Whether a path keeps what is there.
    pub(super) fn keeps(self, path: &[u8]) -> bool {
        self.kept.is_some_and(|kept| kept.contains(path))
    }

    /// Whether it is known for whom the permission bits of a path were meant: its access was recorded, or is that of what is there, onto which
    /// a side of ours puts them.
    pub(super) fn is_known(self, path: &[u8]) -> bool {
        let is_ours = !self.foreign && !self.claimed;
        self.of(path).is_some() || is_ours && self.keeps(path)
    }

    /// Owner and group of what is made where nothing was, and of which nothing else is known: those of most paths of that side.
    pub(super) fn usual_owner(&self) -> Option<(u32, u32)> {
        self.recorded?.owner
    }

    /// Whether what is made where nothing was keeps what it inherits from its directory.
    pub(super) fn inherits(&self) -> bool {
        self.recorded.is_none_or(|recorded| recorded.inherits)
    }

    /// Whose a file or directory shall be that an ordinary user makes in `dir` where nothing was, and of which nothing else is known: his, and
    /// the group's that most paths of that side have, which is the root directory's unless a list says otherwise. Its permission bits
    /// were meant for that group. None where it gets that group by itself, and of what was pulled, whose bits are usual ones.
    pub(super) fn own_in(
        self,
        root: &Root,
        dir: BorrowedFd<'_>,
    ) -> rustix::io::Result<Option<(u32, u32)>> {
        let Some(recorded) = self.recorded.filter(|list| !list.inherits) else {
            return Ok(None);
        };
        let above = rustix::fs::fstat(dir)?;
        let inherits = above.st_mode & SETGID != 0;
        // Its list may have named another one: then the directory knows better than the root.
        if self.foreign && inherits {
            return Ok(None);
        }
        let usual = match recorded.owner {
            Some((_, group)) => group,
            None => rustix::fs::fstat(root.fd())?.st_gid,
        };
        let by_itself = if inherits {
            above.st_gid
        } else {
            rustix::process::getegid().as_raw()
        };
        let user = rustix::process::geteuid().as_raw();
        Ok((usual != by_itself).then_some((user, usual)))
    }
}

impl Apply<'_> {
    /// Narrows directories that are to be closed to somebody before anything is put in them: what is put there is theirs to see at no
    /// moment. Those of another owner are left to [`Self::set_dir_modes`].
    pub(super) fn narrow_dirs(&self, plan: &Plan) -> Result<()> {
        for dir in &plan.dirs {
            let (Some(before), Some(after)) = (dir.before, dir.after) else {
                continue;
            };
            // Its owner goes on working in it.
            let narrow = before & (after | 0o700);
            let is_ours = |stamp: Stamp| stamp.permissions() == before && may_change(stamp.uid);
            if narrow != before && self.root.dir_stamp(&dir.path).is_some_and(is_ours) {
                set_permissions(self.root, &dir.path, narrow)?;
            }
        }
        Ok(())
    }

    /// Gives directories that stay what they shall have, when all else is done.
    pub(super) fn set_dir_modes(&self, plan: &Plan, applied: &mut Applied) -> Result<()> {
        let lost = &mut applied.lost;
        // The deepest first: final bits may close a directory to us.
        for dir in plan.dirs.iter().rev() {
            let Some(perm) = dir.after else {
                continue;
            };
            let what = || format!("cannot set the mode of '{}'", path::display(&dir.path));
            let (parent, name) = path::split(&dir.path);
            let Some(parent) = self.root.dir_if_there(parent).context(what)? else {
                continue;
            };
            let Some((now, stat)) = Access::at(parent.as_fd(), name).context(what)? else {
                continue;
            };
            if !is_dir(&stat) {
                continue;
            }
            let is_recorded = !plan.unrecorded.contains(&dir.path);
            // What was made just now has its access already.
            let has_access = dir.before.is_some() && is_recorded;
            match self.access.of(&dir.path).filter(|_| has_access) {
                Some(access) if !access.is_as(&now) && may_change(now.uid) => {
                    // Whoever may get in meanwhile is somebody whom neither side keeps out.
                    // It is ours alone while it changes hands.
                    let open = || self.root.open_dir_for_reading(&dir.path);
                    // Before: it may be another's, who lets us in by his bits alone.
                    let opened = open();
                    if set_permissions(self.root, &dir.path, 0o700)? != 0o700 {
                        lost.entry(dir.path.clone()).or_default().keep_bits();
                        continue;
                    }
                    let access = access.into_owned().or_as(&now);
                    let fd = opened.or_else(|_| open()).context(what)?;
                    let mut missed = access.give_owner(&fd).context(what)?;
                    access.give_rest(&fd, perm, &mut missed).context(what)?;
                    if !missed.is_empty() {
                        lost.insert(dir.path.clone(), missed);
                    }
                }
                _ => {
                    let missed = lost.get(&dir.path);
                    let perm = missed.map_or(perm, |lost| lost.narrow(perm));
                    let bits = stat.st_mode & 0o7777;
                    // See [`Self::make_dir`]: one that was made without some keeps what it has.
                    let was_made_so = dir.before.is_none()
                        && perm & 0o700 == 0o700
                        && missed.is_some_and(|lost| lost.leaves(perm, bits));
                    let differs = bits != perm && !was_made_so;
                    if differs && may_change(stat.st_uid) && !is_recorded {
                        // They are narrower than they were, or what they were before: an ACL lets nobody else in.
                        self.chmod(&dir.path, perm, lost)?;
                    } else if differs && may_change(stat.st_uid) {
                        self.chmod_narrowly(&dir.path, perm, lost)?;
                    } else if differs {
                        lost.entry(dir.path.clone()).or_default().keep_bits();
                    }
                }
            }
            let stamp = stamp_at(parent.as_fd(), name).context(what)?;
            if let Some(stamp) = stamp {
                applied
                    .dir_modes
                    .insert(dir.path.clone(), stamp.permissions());
            }
        }
        Ok(())
    }

    /// Bits that make more of an ACL than it is now, where none was recorded, would let in whom it names: the group's bits are its mask.
    /// Whoever has a bit that it is to have keeps it.
    pub(super) fn chmod_narrowly(
        &self,
        full: &[u8],
        perm: u32,
        lost: &mut BTreeMap<Vec<u8>, Lost>,
    ) -> Result<()> {
        let mut perm = perm;
        if !self.access.is_known(full) {
            let (dir, name) = path::split(full);
            let what = || format!("cannot look at '{}'", path::display(full));
            let dir = self.root.open_dir(dir).context(what)?;
            let now = Access::at(dir.as_fd(), name).context(what)?;
            if let Some((now, stat)) = now {
                let mut missed = now.widened(stat.st_mode, perm).unwrap_or_default();
                if perm & RUNS_AS & !stat.st_mode != 0 && rustix::process::geteuid().is_root() {
                    missed.be_of_unknown_owner();
                }
                if !missed.is_empty() {
                    let narrow = missed.narrow(perm);
                    let kept = narrow | stat.st_mode & perm;
                    if kept != narrow {
                        missed.note_bits(perm, kept);
                    }
                    perm = kept;
                    lost.insert(full.to_vec(), missed);
                }
            }
        }
        self.chmod(full, perm, lost)
    }

    /// Sets permission bits, and notes which were given instead.
    fn chmod(&self, full: &[u8], perm: u32, lost: &mut BTreeMap<Vec<u8>, Lost>) -> Result<()> {
        let got = set_permissions(self.root, full, perm)?;
        if got != perm {
            lost.entry(full.to_vec()).or_default().note_bits(perm, got);
        }
        Ok(())
    }
}
