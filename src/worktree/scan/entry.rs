//! What a name is, and what becomes of it.

use super::nested::Nested;
use super::{DESK, DESK_CONFIG, FileMode, Run, Seeds, Way};
use crate::error::{Result, ResultExt};
use crate::git::fs::{Stamp, stamp_at, stamp_of};
use crate::git::path;
use crate::worktree::manifest::{DirRec, FileFlags, FileRec, Kind, Manifest, Name, no_oid};
use crate::worktree::rules::{Decision, Sides, SidesInside};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

impl Run<'_, '_, '_> {
    /// Looks at a known name once more; `None` when it is not there any more.
    pub(super) fn stat_again(
        &self,
        old: &Manifest,
        dir: &DirRec,
        file: &FileRec,
        fd: BorrowedFd<'_>,
    ) -> Result<Option<FileRec>> {
        let name = old.bytes(file.name);
        let Some(stamp) = stamp_at(fd, name).context(|| {
            let full = old.path_of(dir, file);
            format!("cannot look at '{}'", path::display(&full))
        })?
        else {
            if name == b".gitignore" && file.kind != Kind::Absent {
                self.needs_full();
            }
            return Ok((file.kind == Kind::Absent).then_some(*file));
        };
        match file.kind {
            Kind::Nested | Kind::StrayGit => {
                if !self.nested().is_as_before(old, dir, file, &stamp) {
                    self.needs_full();
                }
                return Ok(Some(*file));
            }
            Kind::Gitlink => {
                if !stamp.is_dir() {
                    self.needs_full();
                }
                // Of what is in it nothing is captured: its times say nothing.
                let is_same = stamp.permissions() == file.stamp.permissions();
                let stamp = if is_same { file.stamp } else { stamp };
                return Ok(Some(FileRec { stamp, ..*file }));
            }
            Kind::Absent => {
                self.needs_full();
                return Ok(Some(*file));
            }
            Kind::Unreadable => return Ok(Some(self.unreadable_again(old, dir, file, &stamp))),
            _ => {}
        }
        Ok(self.with_stamp(old, dir, file, &stamp))
    }

    /// The record of a name that could not be read. Who looks, and who else holds it, decides that, and no stamp tells.
    fn unreadable_again(
        &self,
        old: &Manifest,
        dir: &DirRec,
        file: &FileRec,
        stamp: &Stamp,
    ) -> FileRec {
        let full = old.path_of(dir, file);
        if !stamp.is_dir() {
            let tracked = file.flags.has(FileFlags::TRACKED);
            return self.file_record(&full, file.name, stamp, tracked);
        }
        let fd = self.scan.root.open_dir_for_reading(&full);
        if fd.is_ok_and(|fd| stamp_at(fd.as_fd(), b".git").is_ok()) {
            self.needs_full();
        }
        *file
    }

    /// A known file's record, now that it has this stamp; `None` when it is no file any more.
    pub(super) fn with_stamp(
        &self,
        old: &Manifest,
        dir: &DirRec,
        file: &FileRec,
        stamp: &Stamp,
    ) -> Option<FileRec> {
        let same = self.same(&file.stamp, stamp);
        if same && !file.flags.has(FileFlags::RACY | FileFlags::TO_HASH) {
            return Some(*file);
        }
        if old.bytes(file.name) == b".gitignore" && !(same && file.kind == Kind::File) {
            self.needs_full();
        }
        let tracked = file.flags.has(FileFlags::TRACKED);
        if stamp.is_dir() {
            // It was no directory and is one now: its parent moved, which is looked at elsewhere or next.
            self.needs_full();
            return None;
        }
        if file.kind == Kind::IgnoreFile {
            return Some(FileRec {
                stamp: *stamp,
                flags: self.racy_flag(stamp),
                ..*file
            });
        }
        let full = old.path_of(dir, file);
        Some(self.file_record(&full, file.name, stamp, tracked))
    }

    pub(super) fn racy_flag(&self, stamp: &Stamp) -> FileFlags {
        FileFlags::RACY.when(self.is_racy(stamp))
    }

    /// A file, symlink or special file that is to be captured as far as its kind allows; content unknown.
    pub(super) fn file_record(
        &self,
        full: &[u8],
        name: Name,
        stamp: &Stamp,
        tracked: bool,
    ) -> FileRec {
        let mut rec = FileRec {
            name,
            kind: Kind::File,
            flags: FileFlags::TRACKED.when(tracked) | self.racy_flag(stamp),
            stamp: *stamp,
            git_mode: 0,
            oid: no_oid(),
        };
        match stamp.mode & 0o170_000 {
            0o100_000 => {
                if stamp.size > self.scan.max_file_size {
                    // What git tracks is captured whatever its size; under a filter (LFS) by its entry, while git holds
                    // it for clean.
                    if !tracked && !self.scan.tracked.is_tracked(full) {
                        rec.kind = Kind::TooLarge;
                        return rec;
                    }
                    if let Some(oid) = self.scan.tracked.filtered_clean(full, stamp) {
                        rec.kind = Kind::FilteredClean;
                        rec.oid = oid;
                    }
                }
                rec.git_mode = self.regular_mode(full, stamp);
            }
            0o120_000 if !path::is_safe_link(path::split(full).1) => rec.kind = Kind::UnsafeName,
            0o120_000 => {
                rec.kind = Kind::Symlink;
                rec.git_mode = 0o120_000;
            }
            0o140_000 => rec.kind = Kind::Socket,
            0o010_000 => rec.kind = Kind::Pipe,
            _ => rec.kind = Kind::Device,
        }
        if matches!(rec.kind, Kind::File | Kind::Symlink) {
            rec.flags |= FileFlags::TO_HASH;
        }
        rec
    }

    pub(super) fn regular_mode(&self, full: &[u8], stamp: &Stamp) -> u32 {
        if self.scan.file_mode == FileMode::FromIndex {
            return match self.scan.tracked.index_mode(full) {
                Some(0o100_755) => 0o100_755,
                _ => 0o100_644,
            };
        }
        if stamp.mode & 0o100 != 0 {
            0o100_755
        } else {
            0o100_644
        }
    }

    /// What a name is and what becomes of it.
    pub(super) fn entry(&self, look: &NameToJudge<'_>) -> Result<Entry> {
        let NameToJudge {
            fd,
            dir_path,
            name,
            known,
            rules,
            ..
        } = *look;
        let full = || path::join(dir_path, name);
        if dir_path.is_empty() && name == DESK {
            return Ok(self.desk(rules, fd, name));
        }
        if path::is_within(dir_path, DESK) && name != DESK_CONFIG {
            return Ok(Entry::Nothing);
        }
        // What the directory's listing says of its kind spares a look at each directory by its name.
        if look.is_dir && self.way == Way::Full && path::is_safe_component(name) {
            return self.dir_entry(look, &full(), None);
        }
        let Some(stamp) = stamp_at(fd, name)
            .context(|| format!("cannot look at '{}'", path::display(&full())))?
        else {
            return Ok(Entry::Nothing);
        };
        if let Some(file) = known.filter(|file| self.is_as_before(file, &stamp)) {
            return Ok(Entry::File(file));
        }
        if name == b".gitignore" {
            self.ignore_file_seen(known, &stamp);
        }
        if name == b".git" {
            let kind = self.nested().kind_of_dot_git(dir_path);
            return Ok(Entry::File(Self::listed(kind, &stamp)));
        }
        if !path::is_safe_component(name) {
            return Ok(Entry::File(Self::listed(Kind::UnsafeName, &stamp)));
        }
        let full = &full();
        if stamp.is_dir() {
            return self.dir_entry(look, full, Some(stamp));
        }
        // `.git` may be a symbolic link to a file in here that says where the git directory is.
        if self.scan.own.is_pointer(fd, &stamp) {
            return Ok(Entry::File(Self::listed(Kind::GitDirectory, &stamp)));
        }
        let mut rec = self.judged_file(full, name, &stamp, rules);
        if let (Some(rec), Some(file)) = (&mut rec, known) {
            self.reuse(&file, rec);
        }
        if let Some(rec) = &mut rec {
            self.take_seed(look, full, rec);
        }
        Ok(match rec {
            Some(rec) => Entry::File(rec),
            None if rules.is_in_nested_repository() => Entry::Nothing,
            None => Entry::Ignored(stamp.size),
        })
    }

    /// Whether a known name is what it was, as far as its stamp tells.
    fn is_as_before(&self, file: &FileRec, stamp: &Stamp) -> bool {
        // Of the kinds that are left aside the stamp does not say whether they are still what they were.
        self.way == Way::Fast
            && file.kind.is_watched()
            // These are more than a stamp can say: what is in them makes them what they are.
            && !matches!(
                file.kind,
                Kind::Nested | Kind::StrayGit | Kind::Gitlink | Kind::Absent | Kind::Unreadable
            )
            && self.same(&file.stamp, stamp)
            && !file.flags.has(FileFlags::RACY | FileFlags::TO_HASH)
    }

    /// Other rules judge names anew in directories that did not move.
    fn ignore_file_seen(&self, known: Option<FileRec>, stamp: &Stamp) {
        let is_file_as_before =
            |file: FileRec| file.kind == Kind::File && self.same(&file.stamp, stamp);
        // Touched, and no more.
        if self.way == Way::Fast && !known.is_some_and(is_file_as_before) {
            self.needs_full();
        }
    }

    /// Takes a file's object id from git's index, on the full way, when that has one for its stamp.
    fn take_seed(&self, look: &NameToJudge<'_>, full: &[u8], rec: &mut FileRec) {
        if self.way == Way::Full
            && rec.flags.has(FileFlags::TO_HASH)
            && rec.kind == Kind::File
            && let Some((oid, mode)) = look.seeds.and_then(|seeds| seeds(full, &rec.stamp))
        {
            rec.oid = oid;
            rec.flags = rec.flags.without(FileFlags::TO_HASH) | FileFlags::UNPROVEN;
            // With another mode than its entry's, the index's tree is not that of the directory.
            if mode == rec.git_mode {
                rec.flags |= FileFlags::SEEDED;
            }
        }
    }

    /// Takes over the object id of the earlier manifest when the stamp vouches for it.
    pub(super) fn reuse(&self, file: &FileRec, rec: &mut FileRec) {
        if rec.flags.has(FileFlags::TO_HASH)
            && file.kind == rec.kind
            && !file.flags.has(FileFlags::RACY | FileFlags::TO_HASH)
            && self.same(&file.stamp, &rec.stamp)
        {
            rec.oid = file.oid;
            rec.flags = rec.flags.without(FileFlags::TO_HASH)
                | file.flags.only(FileFlags::UNPROVEN | FileFlags::ATTRIBUTES);
        }
    }

    pub(super) fn judged_file(
        &self,
        full: &[u8],
        name: &[u8],
        stamp: &Stamp,
        rules: &Sides,
    ) -> Option<FileRec> {
        let unnamed = Name::default();
        let verdict = rules.judge_file(full, false);
        // Most names are captured as untracked ones are, too: the index is asked of the others alone.
        if matches!(verdict, Decision::Capture) {
            return Some(self.file_record(full, unnamed, stamp, false));
        }
        let tracked = if rules.is_in_nested_repository() {
            self.scan.tracked.is_in_index(full)
        } else {
            self.scan.tracked.is_tracked(full)
        };
        if tracked {
            let verdict = rules.judge_file(full, true);
            if let Decision::Excluded(kind) = verdict {
                return Some(Self::listed(kind, stamp));
            }
            return Some(self.file_record(full, unnamed, stamp, true));
        }
        match verdict {
            Decision::Excluded(kind) => Some(Self::listed(kind, stamp)),
            Decision::LeftAlone if name != b".gitignore" => {
                let rec = self.file_record(full, unnamed, stamp, false);
                (!rec.kind.in_tree()).then_some(rec)
            }
            _ if name == b".gitignore" => Some(FileRec {
                flags: self.racy_flag(stamp),
                ..Self::listed(Kind::IgnoreFile, stamp)
            }),
            _ => None,
        }
    }

    pub(super) fn listed(kind: Kind, stamp: &Stamp) -> FileRec {
        FileRec {
            name: Name::default(),
            kind,
            flags: FileFlags::NONE,
            stamp: *stamp,
            git_mode: 0,
            oid: no_oid(),
        }
    }

    /// A directory that is left aside, whose stamp may be known.
    fn listed_dir(
        look: &NameToJudge<'_>,
        full: &[u8],
        stamp: Option<Stamp>,
        kind: Kind,
    ) -> Result<Entry> {
        let now = match stamp {
            Some(stamp) => Ok(Some(stamp)),
            None => stamp_at(look.fd, look.name),
        };
        let stamp = now.context(|| format!("cannot look at '{}'", path::display(full)))?;
        Ok(stamp.map_or(Entry::Nothing, |stamp| {
            Entry::File(Self::listed(kind, &stamp))
        }))
    }

    /// What becomes of a directory, whose stamp may be known: most are entered, and need none here.
    fn dir_entry(
        &self,
        look: &NameToJudge<'_>,
        full: &[u8],
        stamp: Option<Stamp>,
    ) -> Result<Entry> {
        let listed = |kind| Self::listed_dir(look, full, stamp, kind);
        let verdict = self.judge_dir(look.rules, full);
        // A submodule is listed also where the rules leave it out: the index names it.
        if let Some(oid) = self.scan.tracked.gitlink(full) {
            let mut entry = listed(Kind::Gitlink)?;
            if let Entry::File(rec) = &mut entry {
                rec.git_mode = 0o160_000;
                rec.oid = oid;
                rec.flags = FileFlags::TRACKED | FileFlags::SEEDED.when(self.way == Way::Full);
            }
            return Ok(entry);
        }
        let inside = match verdict {
            Decision::Descend(inside) => Some(inside),
            Decision::LeftAlone => None,
            Decision::Excluded(kind) => return listed(kind),
            // What is in a nested repository is that one's own.
            Decision::Ignored if look.rules.is_in_nested_repository() => {
                return Ok(Entry::Nothing);
            }
            Decision::Ignored => return Ok(Entry::Ignored(0)),
            Decision::Capture => return Ok(Entry::Nothing),
        };
        let what = || format!("cannot open '{}'", path::display(full));
        let fd = match self.scan.root.open_dir_for_reading(full) {
            Ok(fd) => fd,
            Err(Errno::ACCESS | Errno::PERM) => return listed(Kind::Unreadable),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Entry::Nothing),
            Err(errno) => return Err(errno).context(what),
        };
        let now = stamp_of(fd.as_fd()).context(what)?;
        if self.scan.own.contains(fd.as_fd(), &now) {
            return Ok(Entry::File(Self::listed(Kind::GitDirectory, &now)));
        }
        let inside = match stamp_at(fd.as_fd(), b".git") {
            Ok(None) => inside,
            // Without the x bit names can be read, but nothing behind them.
            Err(Errno::ACCESS) => return listed(Kind::Unreadable),
            _ if self.nested().is_repository(full) => match self.judge_tracked(look.rules, full) {
                Some(inside) => Some(inside),
                None => return Ok(Entry::File(Self::listed(Kind::Nested, &now))),
            },
            _ => inside,
        };
        Ok(match inside {
            // It stays open: the worker that reads it need not walk down its path again.
            Some(inside) => Entry::Dir(inside, Some((fd, now))),
            None => Entry::Ignored(0),
        })
    }

    /// What follows from a nested repository for what the index has in it; nothing when that is nothing.
    fn judge_tracked(&self, rules: &Sides, full: &[u8]) -> Option<SidesInside> {
        let tracked = self.scan.tracked.index_beneath(full);
        let verdict = tracked.then(|| rules.judge_dir(full, true));
        match verdict {
            Some(Decision::Descend(inside)) => Some(inside.in_nested_repository()),
            _ => None,
        }
    }

    /// What tells nested repositories.
    pub(super) fn nested(&self) -> Nested<'_> {
        Nested {
            root: self.scan.root,
            own: self.scan.own,
        }
    }

    /// The desk is left out silently, but for its `config.toml` when git tracks that.
    pub(super) fn desk(&self, rules: &Sides, fd: BorrowedFd<'_>, full: &[u8]) -> Entry {
        let config = path::join(DESK, DESK_CONFIG);
        match stamp_at(fd, full) {
            Ok(Some(stamp)) if stamp.is_dir() => {
                if !self.scan.tracked.is_tracked(&config) {
                    return Entry::Nothing;
                }
                match rules.judge_dir(full, true) {
                    Decision::Descend(inside) => Entry::Dir(inside, None),
                    _ => Entry::Nothing,
                }
            }
            Ok(Some(stamp)) if self.scan.tracked.is_tracked(full) => {
                Entry::File(self.file_record(full, Name::default(), &stamp, true))
            }
            _ => Entry::Nothing,
        }
    }
}

/// A name of a directory that is read, and what is needed to say what becomes of it.
pub(super) struct NameToJudge<'a> {
    pub(super) fd: BorrowedFd<'a>,
    pub(super) dir_path: &'a [u8],
    pub(super) name: &'a [u8],
    /// It is known to be a directory.
    pub(super) is_dir: bool,
    /// Its record in the earlier manifest.
    pub(super) known: Option<FileRec>,
    pub(super) rules: &'a Sides,
    /// On the full way.
    pub(super) seeds: Option<&'a Seeds<'a>>,
}

/// What becomes of a name.
pub(super) enum Entry {
    File(FileRec),
    /// With the directory and its stamp, when it was opened.
    Dir(SidesInside, Option<(OwnedFd, Stamp)>),
    /// Left out by git's rules; with its size, as far as it is known without looking inside.
    Ignored(u64),
    Nothing,
}
