//! Whom this process can name: owners and groups are numbers, which mean others in a user namespace (a container, the sandbox of an
//! agent) than outside of it. What was written down in one is read in another by way of what both stand for. From `/proc/self/uid_map`
//! and `gid_map`, as in `user_namespaces(7)`.

use std::fmt;
use std::sync::OnceLock;

use rustix::thread::{CapabilitySet, capabilities};

use super::regular;

/// Stands for somebody of whom nothing is known but that he is none of those who can be named. No owner has this number.
pub const UNKNOWN: u32 = u32::MAX;

/// What the system shows for owners and groups that a namespace does not map, unless it is set to another. A namespace may map it as well.
const OVERFLOW: u32 = 65534;

/// How the ids of a namespace are mapped: ranges with the first id inside, the first outside, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdMaps {
    users: Vec<[u32; 3]>,
    groups: Vec<[u32; 3]>,
}

impl IdMaps {
    fn of(users: &str, groups: &str) -> Self {
        let range = |line: &str| {
            let mut numbers = line.split_whitespace().map(str::parse::<u32>);
            let mut next = || numbers.next()?.ok();
            Some([next()?, next()?, next()?])
        };
        let ranges = |map: &str| {
            let mut ranges: Vec<[u32; 3]> = map.lines().filter_map(range).collect();
            // Their order says nothing.
            ranges.sort_unstable();
            ranges
        };
        Self {
            users: ranges(users),
            groups: ranges(groups),
        }
    }

    /// Those of this process; None where nothing tells.
    pub fn here() -> Option<&'static Self> {
        static HERE: OnceLock<Option<IdMaps>> = OnceLock::new();
        let here = HERE.get_or_init(|| {
            let read = |name: &str| regular::read_to_string(format!("/proc/self/{name}")).ok();
            Some(Self::of(&read("uid_map")?, &read("gid_map")?))
        });
        here.as_ref()
    }

    /// As they were written ([`fmt::Display`]).
    pub fn parse(text: &str) -> Option<Self> {
        let (users, groups) = text.split_once(';')?;
        let lines = |ranges: &str| ranges.replace(',', "\n").replace(':', " ");
        Some(Self::of(&lines(users), &lines(groups)))
    }

    /// The user that an id of these is in others.
    pub fn user_in(&self, other: &Self, uid: u32) -> u32 {
        translated(&self.users, &other.users, uid)
    }

    /// The group that an id of these is in others.
    pub fn group_in(&self, other: &Self, gid: u32) -> u32 {
        translated(&self.groups, &other.groups, gid)
    }
}

impl fmt::Display for IdMaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |ranges: &[[u32; 3]]| {
            let ranges = ranges.iter();
            let ranges = ranges.map(|[inside, outside, many]| format!("{inside}:{outside}:{many}"));
            ranges.collect::<Vec<_>>().join(",")
        };
        write!(f, "{};{}", words(&self.users), words(&self.groups))
    }
}

/// Every id is itself.
const ALL: [[u32; 3]; 1] = [[0, 0, u32::MAX]];

/// An id by way of what it stands for. What stands for all who are not mapped is nobody who could be named; and who has no id in the later
/// maps is shown by that.
fn translated(from: &[[u32; 3]], to: &[[u32; 3]], id: u32) -> u32 {
    let within = |first: u32, many: u32, id: u32| id.checked_sub(first).filter(|at| *at < many);
    if id == OVERFLOW && from != ALL {
        return UNKNOWN;
    }
    let outside = from.iter().find_map(|[inside, outside, many]| {
        within(*inside, *many, id).and_then(|at| outside.checked_add(at))
    });
    let Some(outside) = outside else {
        return UNKNOWN;
    };
    let inside = to.iter().find_map(|[inside, first, many]| {
        within(*first, *many, outside).and_then(|at| inside.checked_add(at))
    });
    inside.unwrap_or(OVERFLOW)
}

/// Whether an owner of this number is not known for who he is: the system shows him for all whom the namespace of this process does not map.
pub fn is_any_user(uid: u32) -> bool {
    uid == OVERFLOW && IdMaps::here().is_some_and(|maps| maps.users != ALL)
}

/// The same of a group.
pub fn is_any_group(gid: u32) -> bool {
    gid == OVERFLOW && IdMaps::here().is_some_and(|maps| maps.groups != ALL)
}

/// Whether this process has root's power over what belongs to a user: that of its namespace, and over a user that this one maps.
pub fn rules_over(uid: u32) -> bool {
    static RULES: OnceLock<bool> = OnceLock::new();
    let has_power = || {
        // A kernel or a sandbox that does not answer leaves root what root has.
        capabilities(None).map_or(true, |sets| sets.effective.contains(CapabilitySet::FOWNER))
    };
    let is_mapped = || {
        let users = IdMaps::here().map_or(&ALL[..], |maps| &maps.users);
        let mut users = users.iter();
        users.any(|[first, _, many]| uid.checked_sub(*first).is_some_and(|at| at < *many))
    };
    let is_root = rustix::process::geteuid().is_root() && *RULES.get_or_init(has_power);
    is_root && is_mapped() && !is_any_user(uid)
}

/// Whether this process may change the bits of its own file or directory of a group without that the kernel takes setgid from it: it is in that
/// group, or has root's power over it.
pub fn keeps_setgid(gid: u32) -> bool {
    static HAS_POWER: OnceLock<bool> = OnceLock::new();
    let has_power = || match capabilities(None) {
        Ok(sets) => sets.effective.contains(CapabilitySet::FSETID),
        Err(_) => rustix::process::geteuid().is_root(),
    };
    let is_of = |group: rustix::process::Gid| group.as_raw() == gid;
    let groups = rustix::process::getgroups().unwrap_or_default();
    is_of(rustix::process::getegid())
        || groups.into_iter().any(is_of)
        || (*HAS_POWER.get_or_init(has_power) && !is_any_group(gid))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTSIDE: &str = "         0          0 4294967295\n";

    #[test]
    fn who_is_known_in_both_is_translated() {
        let outside = IdMaps::of(OUTSIDE, OUTSIDE);
        let container = IdMaps::of("1 100000 65535\n0 1000 1\n", "0 1000 1\n");
        let sandbox = IdMaps::of("1000 1000 1\n", "100 100 1\n");
        for (from, to, uid, wanted) in [
            (&outside, &container, 1000, 0),
            (&outside, &container, 100_006, 7),
            (&outside, &container, 4444, OVERFLOW),
            (&container, &outside, 0, 1000),
            (&container, &outside, 7, 100_006),
            // Whoever is shown as nobody: it may be anybody.
            (&container, &outside, OVERFLOW, UNKNOWN),
            (&outside, &sandbox, 1000, 1000),
            (&outside, &sandbox, 0, OVERFLOW),
            (&sandbox, &container, 1000, 0),
            (&sandbox, &outside, OVERFLOW, UNKNOWN),
            (&outside, &outside, OVERFLOW, OVERFLOW),
        ] {
            assert_eq!(from.user_in(to, uid), wanted, "{from} {to} {uid}");
        }
        assert_eq!(outside.group_in(&sandbox, 100), 100);
        assert_eq!(outside.group_in(&sandbox, 1000), OVERFLOW);
    }

    #[test]
    fn maps_are_read_as_they_are_written() {
        let maps = IdMaps::of("1 100000 65535\n0 1000 1\n", OUTSIDE);
        let text = maps.to_string();
        assert_eq!(text, "0:1000:1,1:100000:65535;0:0:4294967295");
        assert_eq!(IdMaps::parse(&text).as_ref(), Some(&maps));
        assert_eq!(IdMaps::parse("none"), None);
    }
}
