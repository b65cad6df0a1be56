//! Whom this process can name: owners and groups are numbers, which mean others in a user namespace (a container, the sandbox of an
//! agent) than outside of it. From `/proc/self/uid_map` and `gid_map`, as in `user_namespaces(7)`.

use std::sync::OnceLock;

use super::regular;
use rustix::thread::{CapabilitySet, capabilities};

/// What the process has for owners and groups that its namespace does not map, unless the system is set to another.
const OVERFLOW: u32 = 65534;

/// How ids are mapped.
#[derive(Debug, Default)]
struct View {
    /// Both maps; None where every id is mapped.
    maps: Option<String>,
    /// The users that are mapped: the first, and how many.
    users: Vec<(u32, u32)>,
    /// What stands for the users that are not.
    overflow: u32,
}

fn view() -> &'static View {
    static VIEW: OnceLock<View> = OnceLock::new();
    VIEW.get_or_init(|| {
        let read = |name: &str| regular::read_to_string(format!("/proc/self/{name}"));
        // Without `/proc` nothing tells, as on most machines there is nothing to tell.
        let (Ok(users), Ok(groups)) = (read("uid_map"), read("gid_map")) else {
            return View::default();
        };
        let overflow = regular::read_to_string("/proc/sys/kernel/overflowuid");
        let overflow = overflow.ok().and_then(|text| text.trim().parse().ok());
        View::of(&users, &groups, overflow.unwrap_or(OVERFLOW))
    })
}

impl View {
    fn of(users: &str, groups: &str, overflow: u32) -> Self {
        let [users, groups] = [users, groups].map(ranges);
        let all = [[0, 0, u32::MAX]];
        if users == all && groups == all {
            return Self::default();
        }
        let words = |ranges: &[[u32; 3]]| {
            let ranges = ranges.iter();
            let ranges =
                ranges.map(|[inside, outside, count]| format!("{inside}:{outside}:{count}"));
            ranges.collect::<Vec<_>>().join(",")
        };
        Self {
            maps: Some(format!("{};{}", words(&users), words(&groups))),
            users: users.iter().map(|range| (range[0], range[2])).collect(),
            overflow,
        }
    }

    fn has_user(&self, uid: u32) -> bool {
        let is_within = |(first, count): &(u32, u32)| uid >= *first && uid - *first < *count;
        self.maps.is_none() || uid != self.overflow && self.users.iter().any(is_within)
    }
}

/// The ranges of a map: the first id inside, the first outside, how many. Sorted: their order says nothing.
fn ranges(map: &str) -> Vec<[u32; 3]> {
    let range = |line: &str| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        let mut next = || numbers.next()?.ok();
        Some([next()?, next()?, next()?])
    };
    let mut ranges: Vec<[u32; 3]> = map.lines().filter_map(range).collect();
    ranges.sort_unstable();
    ranges
}

/// As whom this process knows owners and groups; None where every id is mapped, as it is outside of containers. Ids that were written down under
/// another answer mean others here.
pub fn maps() -> Option<&'static str> {
    view().maps.as_deref()
}

/// Whether this process has root's power over what belongs to a user: that of this namespace, and over a user that it knows.
pub fn rules_over(uid: u32) -> bool {
    static RULES: OnceLock<bool> = OnceLock::new();
    let has_power = || {
        // A kernel or a sandbox that does not answer leaves root what root has.
        capabilities(None).map_or(true, |sets| sets.effective.contains(CapabilitySet::FOWNER))
    };
    rustix::process::geteuid().is_root() && *RULES.get_or_init(has_power) && view().has_user(uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_of_namespaces_every_id_is_what_it_is() {
        let all = "         0          0 4294967295\n";
        let view = View::of(all, all, OVERFLOW);
        assert_eq!(view.maps, None);
        assert!(view.has_user(0) && view.has_user(OVERFLOW));
    }

    #[test]
    fn a_namespace_knows_whom_it_maps() {
        let (users, groups) = ("1 100000 65534\n0 1000 1\n", "0 1000 1\n");
        let view = View::of(users, groups, OVERFLOW);
        assert_eq!(
            view.maps.as_deref(),
            Some("0:1000:1,1:100000:65534;0:1000:1")
        );
        assert!(view.has_user(0) && view.has_user(65533));
        // Mapped, but no one can tell such a user from those that are not.
        assert!(!view.has_user(OVERFLOW) && !view.has_user(65536));
    }
}
