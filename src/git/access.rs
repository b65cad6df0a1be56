//! Who may use a file beyond its permission bits: owner, group, ACL, extended attributes, capabilities.
//!
//! What is read is exactly what can be given: `user.*`, POSIX ACLs and `security.capability`. What the process may not give, or the file
//! system does not have, is told, and then narrower permission bits apply: nobody gets at a file who could not before.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Gid, Mode, Stat, Uid, XattrFlags};
use rustix::io::Errno;

use super::fs::open_at;
use super::ids::{self, IdMaps, UNKNOWN};

/// The entries of an ACL that say who may use the file itself.
const ACL: &[u8] = b"system.posix_acl_access";
/// Those that new files in a directory get.
const DEFAULT_ACL: &[u8] = b"system.posix_acl_default";
/// What a program may do when it is run.
const CAPABILITY: &[u8] = b"security.capability";

/// Owner, group and the attributes that are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Extended attributes by name; ACLs and capabilities are among them.
    pub attributes: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// What could not be given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a thing of its own that a file has"
)]
pub struct Lost {
    owner: bool,
    group: bool,
    acl: bool,
    attributes: Vec<Vec<u8>>,
    /// It has the permission bits that it had.
    bits: bool,
    /// The permission bits that it was to have, and those that the system gave it instead.
    refused_bits: Option<(u32, u32)>,
}

impl Lost {
    /// Whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a file does not have that it should have.
    pub fn between(now: &Access, wanted: &Access) -> Self {
        let differs = |name: &[u8]| !now.has_same(wanted, name);
        let names = now.attributes.keys().chain(wanted.attributes.keys());
        let others = names.filter(|name| *name != ACL && differs(name));
        let mut attributes: Vec<Vec<u8>> = others.cloned().collect();
        attributes.sort();
        attributes.dedup();
        Self {
            owner: !is_same_id(now.uid, wanted.uid),
            group: !is_same_id(now.gid, wanted.gid),
            acl: differs(ACL),
            attributes,
            ..Self::default()
        }
    }

    /// Notes which permission bits the system gave a path that was to have these.
    pub fn note_bits(&mut self, wanted: u32, got: u32) {
        self.refused_bits = (wanted != got).then_some((wanted, got));
    }

    /// Whether the system gave it bits for others that it was not to have.
    pub fn is_wider(&self) -> bool {
        self.refused_bits
            .is_some_and(|(wanted, got)| got & !wanted & 0o077 != 0)
    }

    /// With the owner and the group that were lost elsewhere.
    pub fn join(&mut self, other: &Self) {
        self.owner |= other.owner;
        self.group |= other.group;
    }

    /// Nobody knows whose it was: setuid and setgid would be of whoever has it now.
    pub fn be_of_unknown_owner(&mut self) {
        (self.owner, self.group) = (true, true);
    }

    /// The permission bits stay what they are, too: only an owner may change them.
    pub fn keep_bits(&mut self) {
        self.bits = true;
    }

    /// Whether it has the permission bits that it had.
    pub fn kept_bits(&self) -> bool {
        self.bits
    }

    /// Whether these are the bits of a file that was to have others.
    pub fn leaves(&self, perm: u32, now: u32) -> bool {
        let is_given = self.refused_bits.is_some_and(|(_, got)| got == now);
        self.bits || is_given || self.narrow(perm) == now
    }

    /// What was lost, in words.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        for (lost, word) in [
            (self.owner, "owner"),
            (self.group, "group"),
            (self.acl, "ACL"),
            (self.bits || self.refused_bits.is_some(), "permission bits"),
        ] {
            if lost {
                words.push(word.to_owned());
            }
        }
        let names = self.attributes.iter();
        words.extend(names.map(|name| String::from_utf8_lossy(name).into_owned()));
        words.join(", ")
    }

    /// Where these permission bits give nobody more for it, nothing was lost: of what nobody recorded the group of.
    pub fn forget_if_harmless(&mut self, perm: u32) {
        if self.narrow(perm) == perm {
            *self = Self::default();
        }
    }

    /// The permission bits that let nobody in who was kept out: a group that is another one, or without the ACL that said what its bits mean, gets
    /// what everybody has.
    pub fn narrow(&self, perm: u32) -> u32 {
        let mut perm = perm;
        if self.owner {
            perm &= !0o4000;
        }
        if self.group || self.acl {
            perm &= !0o2070 | (perm & 0o007) << 3;
        }
        perm
    }
}

impl Access {
    /// That of what has an owner and a group, and no attributes.
    pub fn owned((uid, gid): (u32, u32)) -> Self {
        Self {
            uid,
            gid,
            ..Self::default()
        }
    }

    /// As this process knows owners and groups, of what was written by one that knew others.
    pub fn translate(&mut self, then: &IdMaps, here: &IdMaps) {
        self.uid = then.user_in(here, self.uid);
        self.gid = then.group_in(here, self.gid);
        for name in [ACL, DEFAULT_ACL] {
            if let Some(list) = self.attributes.get_mut(name) {
                for (tag, id) in acl_ids(list) {
                    let known = u32::from_le_bytes(*id);
                    let known = if tag == ACL_USER {
                        then.user_in(here, known)
                    } else {
                        then.group_in(here, known)
                    };
                    *id = known.to_le_bytes();
                }
            }
        }
    }

    /// Whether it names somebody of whom nothing is known here.
    pub fn has_unknown(&self) -> bool {
        [self.uid, self.gid].contains(&UNKNOWN)
            || [ACL, DEFAULT_ACL].iter().any(|name| self.is_unknown(name))
    }

    /// Whether this is an ACL that names somebody of whom nothing is known here.
    pub fn is_unknown(&self, name: &[u8]) -> bool {
        let list = self
            .attributes
            .get(name)
            .filter(|_| [ACL, DEFAULT_ACL].contains(&name));
        list.is_some_and(|list| {
            acl_ids(&mut list.clone()).any(|(_, id)| u32::from_le_bytes(*id) == UNKNOWN)
        })
    }

    /// Whether it is that of another path, as far as it is known.
    pub fn is_as(&self, other: &Self) -> bool {
        let mut names = self.attributes.keys().chain(other.attributes.keys());
        is_same_id(self.uid, other.uid)
            && is_same_id(self.gid, other.gid)
            && names.all(|name| self.has_same(other, name))
    }

    fn has_same(&self, other: &Self, name: &[u8]) -> bool {
        let is_same = self.attributes.get(name) == other.attributes.get(name);
        is_same || self.is_unknown(name) || other.is_unknown(name)
    }

    /// The same, with what stands there for whatever is not known.
    #[must_use]
    pub fn or_as(mut self, there: &Self) -> Self {
        if self.uid == UNKNOWN {
            self.uid = there.uid;
        }
        if self.gid == UNKNOWN {
            self.gid = there.gid;
        }
        for name in [ACL, DEFAULT_ACL] {
            if self.is_unknown(name) {
                self.attributes.remove(name);
                let list = there.attributes.get(name);
                self.attributes
                    .extend(list.map(|list| (name.to_vec(), list.clone())));
            }
        }
        self
    }

    /// That of what stands at a name; `None` when nothing does.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn at(dir: BorrowedFd<'_>, name: &[u8]) -> rustix::io::Result<Option<(Self, Stat)>> {
        let place = OsStr::from_bytes(name);
        let stat = match rustix::fs::statat(dir, place, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        let attributes = match stat.st_mode & 0o170_000 {
            0o100_000 | 0o040_000 => read_attributes(dir, name)?,
            _ => BTreeMap::new(),
        };
        let access = Self {
            uid: stat.st_uid,
            gid: stat.st_gid,
            attributes,
        };
        Ok(Some((access, stat)))
    }

    /// Permission bits that without its ACL let in nobody whom that keeps out: those of the group are its mask, and what the group itself may is
    /// an entry of it. None where it has no ACL.
    pub fn bits_without_acl(&self, perm: u32) -> Option<u32> {
        let list = self.attributes.get(ACL)?;
        let entries = || acl_entries(list);
        let mask = entries().find(|(tag, _)| *tag == ACL_MASK);
        let mask = mask.map_or(0o7, |(_, bits)| bits & perm >> 3);
        Some(entries().fold(perm, |perm, (tag, bits)| {
            let bits = bits & mask;
            match tag {
                ACL_OWNING_GROUP => perm & (0o7707 | bits << 3),
                ACL_USER => perm & (0o7700 | bits << 3 | bits),
                ACL_GROUP => perm & (0o7770 | bits),
                _ => perm,
            }
        }))
    }

    /// Whether it has an ACL for itself.
    pub fn has_acl(&self) -> bool {
        self.attributes.contains_key(ACL)
    }

    /// What is to be given up when a file of this access and mode gets permission bits that were recorded without its ACL, and that would give
    /// those it names more than they have.
    pub fn widened(&self, mode: u32, perm: u32) -> Option<Lost> {
        let more = perm & !mode & 0o070;
        (more != 0 && self.has_acl()).then(|| Lost {
            acl: true,
            ..Lost::default()
        })
    }

    /// Gives a new file its owner and group, before anything else is in it.
    ///
    /// # Errors
    /// The disk refuses for another reason than that this process may not.
    pub fn give_owner(&self, new: impl AsFd) -> rustix::io::Result<Lost> {
        let made = rustix::fs::fstat(&new)?;
        self.give(&made, |uid, gid| rustix::fs::fchown(&new, uid, gid))
    }

    /// The same for a new symlink, which cannot be opened.
    ///
    /// # Errors
    /// As [`Self::give_owner`].
    pub fn give_link_owner(&self, dir: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<Lost> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let made = rustix::fs::statat(dir, name, flags)?;
        self.give(&made, |uid, gid| {
            rustix::fs::chownat(dir, name, uid, gid, flags)
        })
    }

    fn give(
        &self,
        made: &Stat,
        chown: impl Fn(Option<Uid>, Option<Gid>) -> rustix::io::Result<()>,
    ) -> rustix::io::Result<Lost> {
        let mut lost = Lost::default();
        // Two calls: who may not give a file away may still give it to another of his groups.
        if self.uid == UNKNOWN {
            lost.owner = true;
        } else if made.st_uid != self.uid {
            let give = || chown(Some(Uid::from_raw(self.uid)), None);
            lost.owner = ids::is_any_user(self.uid) || refused(give())?;
        }
        if self.gid == UNKNOWN {
            lost.group = true;
        } else if made.st_gid != self.gid {
            let give = || chown(None, Some(Gid::from_raw(self.gid)));
            lost.group = ids::is_any_group(self.gid) || refused(give())?;
        }
        Ok(lost)
    }

    /// Gives a file that is whole its attributes and its permission bits, and takes away what else it has. Capabilities come last: whatever
    /// else changes a file takes them away.
    ///
    /// # Errors
    /// The disk is full, or refuses for another reason than that this process may not.
    pub fn give_rest(&self, new: impl AsFd, perm: u32, lost: &mut Lost) -> rustix::io::Result<()> {
        let new = new.as_fd();
        keep_only(new, &self.attributes)?;
        let capability = self.attributes.get(CAPABILITY);
        for (name, value) in &self.attributes {
            if name != CAPABILITY && !set(new, name, value)? {
                if name == ACL {
                    lost.acl = true;
                } else {
                    lost.attributes.push(name.clone());
                }
            }
        }
        give_bits(new, perm, lost)?;
        if let Some(value) = capability
            && (lost.owner || !set(new, CAPABILITY, value)?)
        {
            lost.attributes.push(CAPABILITY.to_vec());
        }
        Ok(())
    }
}

/// Gives a file that is ours its permission bits, those that let nobody in who is kept out by what it has lost. A file system may have bits
/// of its own, and the kernel takes setgid from who is not in the group, without a word: both are noted.
///
/// # Errors
/// The disk refuses for another reason than that this process may not.
pub fn give_bits(new: impl AsFd, perm: u32, lost: &mut Lost) -> rustix::io::Result<()> {
    let new = new.as_fd();
    let perm = lost.narrow(perm);
    let bits = || Ok(rustix::fs::fstat(new)?.st_mode & 0o7777);
    if bits()? == perm {
        return Ok(());
    }
    refused(rustix::fs::fchmod(new, Mode::from_raw_mode(perm)))?;
    lost.note_bits(perm, bits()?);
    Ok(())
}

/// Whether an open file or directory has attributes that are kept.
///
/// # Errors
/// The disk fails.
pub fn has_attributes(file: impl AsFd) -> rustix::io::Result<bool> {
    let file = file.as_fd();
    let any_kept = |names: &[u8]| names.split(|&byte| byte == 0).any(is_kept);
    let mut buffer = [0; 512];
    match rustix::fs::flistxattr(file, &mut buffer) {
        Ok(length) => Ok(buffer.get(..length).is_some_and(any_kept)),
        Err(Errno::NOTSUP) => Ok(false),
        Err(Errno::RANGE) => {
            let names = grown(|buffer| rustix::fs::flistxattr(file, buffer))?;
            Ok(any_kept(&names))
        }
        Err(errno) => Err(errno),
    }
}

/// Whether this process may change who may use a file of this owner.
pub fn may_change(owner: u32) -> bool {
    rustix::process::geteuid().as_raw() == owner || ids::rules_over(owner)
}

/// The bits of a program that runs as its owner, or as its group.
pub const RUNS_AS: u32 = 0o6000;

/// The bit of a program that runs as its owner.
pub const SETUID: u32 = 0o4000;

/// The bit of a directory in which only the owner of a name changes it, or that of the directory.
pub const STICKY: u32 = 0o1000;

/// The bit of a directory whose group is that of what is made in it.
pub const SETGID: u32 = 0o2000;

/// Whether this process may make, rename and remove names in an open directory, as far as its owner's bits and ACLs say.
pub fn lets_us_write(dir: impl AsFd) -> bool {
    let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    let asked = rustix::fs::accessat(dir, ".", wanted, AtFlags::EACCESS);
    // Whatever else stops it, a flag of the file system or an old kernel that cannot be asked, is told where it is tried.
    asked != Err(Errno::ACCESS)
}

/// Takes away from an access what makes a program more than its content is.
pub fn without_capabilities(access: &mut Access) {
    access.attributes.remove(CAPABILITY);
}

fn is_same_id(one: u32, other: u32) -> bool {
    one == other || [one, other].contains(&UNKNOWN)
}

/// An entry of an ACL that is for one user, or one group.
const ACL_USER: u16 = 0x02;
const ACL_GROUP: u16 = 0x08;
/// The entries for the owning group, and for the most that it and all who are named get.
const ACL_OWNING_GROUP: u16 = 0x04;
const ACL_MASK: u16 = 0x10;

/// The entries of an ACL: each a tag, and what it lets do.
fn acl_entries(list: &[u8]) -> impl Iterator<Item = (u16, u32)> {
    let entries = list.get(4..).unwrap_or_default().as_chunks::<8>().0;
    entries.iter().map(|entry| {
        let tag = u16::from_le_bytes([entry[0], entry[1]]);
        let bits = u16::from_le_bytes([entry[2], entry[3]]);
        (tag, u32::from(bits) & 0o7)
    })
}

/// The ids in an ACL as the system gives it: a version, then entries of a tag, bits and an id (`acl(5)`, `linux/posix_acl_xattr.h`).
fn acl_ids(list: &mut [u8]) -> impl Iterator<Item = (u16, &mut [u8; 4])> {
    let entries = list.get_mut(4..).unwrap_or_default().as_chunks_mut::<8>().0;
    entries.iter_mut().filter_map(|entry| {
        let tag = u16::from_le_bytes([entry[0], entry[1]]);
        let id = entry.last_chunk_mut::<4>()?;
        [ACL_USER, ACL_GROUP].contains(&tag).then_some((tag, id))
    })
}

/// Whether this process may not do it.
pub fn refused(done: rustix::io::Result<()>) -> rustix::io::Result<bool> {
    match done {
        Ok(()) => Ok(false),
        // A user namespace answers `INVAL` for an id that it does not map, a mount with ids of its own `OVERFLOW`.
        Err(Errno::PERM | Errno::INVAL | Errno::OVERFLOW | Errno::NOSYS | Errno::NOTSUP) => {
            Ok(true)
        }
        Err(errno) => Err(errno),
    }
}

/// Takes away what a new file or directory inherited from the directory that it is in.
///
/// # Errors
/// The disk fails.
pub fn disinherit(new: impl AsFd) -> rustix::io::Result<()> {
    keep_only(new.as_fd(), &BTreeMap::new())
}

/// Whether what is made in an open directory may get an ACL from it.
pub fn may_hand_down_acl(dir: BorrowedFd<'_>) -> bool {
    let read = read_attributes(dir, b".");
    read.map_or(true, |attributes| attributes.contains_key(DEFAULT_ACL))
}

/// Takes away the attributes of an open file that are not among these.
fn keep_only(file: BorrowedFd<'_>, wanted: &BTreeMap<Vec<u8>, Vec<u8>>) -> rustix::io::Result<()> {
    if !has_attributes(file)? {
        return Ok(());
    }
    let names = grown(|buffer| rustix::fs::flistxattr(file, buffer))?;
    let names = names.split(|&byte| byte == 0);
    for name in names.filter(|name| is_kept(name) && !wanted.contains_key(*name)) {
        match rustix::fs::fremovexattr(file, OsStr::from_bytes(name)) {
            Ok(()) | Err(Errno::NODATA | Errno::NOTSUP) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Gives an attribute, and says whether that could be done: it may be nothing for this process or this file system, or too large for it.
fn set(file: BorrowedFd<'_>, name: &[u8], value: &[u8]) -> rustix::io::Result<bool> {
    match rustix::fs::fsetxattr(file, OsStr::from_bytes(name), value, XattrFlags::empty()) {
        Err(Errno::ACCESS | Errno::RANGE | Errno::TOOBIG) => Ok(false),
        // What is too large for the place that a file has for attributes is refused as on a full disk.
        Err(Errno::NOSPC) if has_room(file)? => Ok(false),
        done => Ok(!refused(done)?),
    }
}

/// Whether a disk is not full: any attribute would find a place.
fn has_room(file: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    const LARGEST: u64 = 64 << 10;
    let disk = rustix::fs::fstatvfs(file)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize) > 16 * LARGEST)
}

fn is_kept(name: &[u8]) -> bool {
    name.starts_with(b"user.") || [ACL, DEFAULT_ACL, CAPABILITY].contains(&name)
}

/// The attributes of a file or directory, also where its bits forbid opening it. None where the file system has none.
fn read_attributes(
    dir: BorrowedFd<'_>,
    name: &[u8],
) -> rustix::io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    // There is no `getxattrat` before Linux 6.13, and a file that its bits close could not be opened to be asked.
    let mut path = format!("/proc/self/fd/{}/", dir.as_raw_fd()).into_bytes();
    path.extend_from_slice(name);
    let listed = grown(|buffer| rustix::fs::llistxattr(OsStr::from_bytes(&path), buffer));
    let names = match listed {
        Ok(names) => names,
        Err(Errno::NOTSUP) => return Ok(BTreeMap::new()),
        Err(Errno::NOENT) => return read_opened_attributes(dir, name),
        Err(errno) => return Err(errno),
    };
    each_kept(&names, |attribute| {
        grown(|buffer| rustix::fs::lgetxattr(OsStr::from_bytes(&path), attribute, buffer))
    })
}

/// The same where there is no `/proc`.
fn read_opened_attributes(
    dir: BorrowedFd<'_>,
    name: &[u8],
) -> rustix::io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let file = match open_at(dir, name) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::ACCESS) => return Ok(BTreeMap::new()),
        Err(errno) => return Err(errno),
    };
    let names = match grown(|buffer| rustix::fs::flistxattr(&file, buffer)) {
        Ok(names) => names,
        Err(Errno::NOTSUP) => return Ok(BTreeMap::new()),
        Err(errno) => return Err(errno),
    };
    each_kept(&names, |attribute| {
        grown(|buffer| rustix::fs::fgetxattr(&file, attribute, buffer))
    })
}

fn each_kept(
    names: &[u8],
    get: impl Fn(&OsStr) -> rustix::io::Result<Vec<u8>>,
) -> rustix::io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut attributes = BTreeMap::new();
    for name in names.split(|&byte| byte == 0).filter(|name| is_kept(name)) {
        match get(OsStr::from_bytes(name)) {
            Ok(value) => drop(attributes.insert(name.to_vec(), value)),
            // Gone meanwhile. One that is not for us to read is not taken for one that is not there.
            Err(Errno::NODATA) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(attributes)
}

/// What a call fills a buffer with that has to be large enough.
fn grown(call: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    // The largest that Linux knows.
    for size in [512, 64 << 10] {
        let mut buffer = vec![0; size];
        match call(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::RANGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_narrowed_for_whom_they_were_not_meant() {
        let lost = |owner, group, acl| Lost {
            owner,
            group,
            acl,
            ..Lost::default()
        };
        for (lost, perm, narrow) in [
            (lost(false, false, false), 0o6775, 0o6775),
            (lost(true, false, false), 0o4755, 0o0755),
            (lost(false, true, false), 0o0640, 0o0600),
            (lost(false, true, false), 0o2775, 0o0755),
            (lost(false, false, true), 0o0664, 0o0644),
            (lost(false, true, true), 0o0604, 0o0604),
        ] {
            assert_eq!(lost.narrow(perm), narrow, "{perm:o}");
        }
    }

    #[test]
    fn without_its_acl_a_file_is_open_to_nobody_more() {
        let list = |entries: &[(u16, u16)]| {
            let entries = entries.iter().flat_map(|(tag, bits)| {
                let [tag, bits] = [tag, bits].map(|word| word.to_le_bytes());
                [tag[0], tag[1], bits[0], bits[1], 7, 0, 0, 0]
            });
            let list = [2, 0, 0, 0].into_iter().chain(entries).collect();
            let attributes = BTreeMap::from([(ACL.to_vec(), list)]);
            Access {
                attributes,
                ..Access::default()
            }
        };
        for (entries, perm, without) in [
            (&[][..], 0o2755, 0o2755),
            (
                &[(ACL_USER, 4), (ACL_OWNING_GROUP, 0), (ACL_MASK, 4)],
                0o640,
                0o600,
            ),
            (
                &[(ACL_USER, 6), (ACL_OWNING_GROUP, 4), (ACL_MASK, 6)],
                0o664,
                0o644,
            ),
            // The bits of the group were changed since: they are the mask.
            (
                &[(ACL_USER, 6), (ACL_OWNING_GROUP, 6), (ACL_MASK, 6)],
                0o644,
                0o644,
            ),
            (
                &[(ACL_USER, 0), (ACL_OWNING_GROUP, 4), (ACL_MASK, 4)],
                0o644,
                0o600,
            ),
            (
                &[(ACL_GROUP, 0), (ACL_OWNING_GROUP, 4), (ACL_MASK, 4)],
                0o644,
                0o640,
            ),
        ] {
            let bits = list(entries).bits_without_acl(perm);
            assert_eq!(bits, Some(without), "{entries:?} {perm:o}");
        }
    }

    #[test]
    fn what_is_read_is_what_is_given() {
        let dir = tempfile::tempdir().expect("tempdir");
        let fd = std::fs::File::open(dir.path()).expect("opened");
        let (old, new) = (dir.path().join("old"), dir.path().join("new"));
        std::fs::write(&old, "x").expect("written");
        if rustix::fs::setxattr(&old, "user.tw", b"value", XattrFlags::empty()).is_err() {
            crate::provided::skipped("extended attributes", "no extended attributes here");
            return;
        }
        let read = |name: &[u8]| Access::at(fd.as_fd(), name).expect("read");
        let (access, _) = read(b"old").expect("there");
        assert_eq!(
            access.attributes.get(&b"user.tw"[..]).expect("kept"),
            b"value"
        );
        let opened = read_opened_attributes(fd.as_fd(), b"old").expect("read");
        assert_eq!(opened, access.attributes);
        let file = std::fs::File::create(&new).expect("made");
        let mut lost = access.give_owner(&file).expect("given");
        access.give_rest(&file, 0o640, &mut lost).expect("given");
        assert!(lost.is_empty(), "{}", lost.words());
        let (given, stat) = read(b"new").expect("there");
        assert_eq!((given, stat.st_mode & 0o7777), (access, 0o640));
        assert!(read(b"nothing").is_none());
    }
}
