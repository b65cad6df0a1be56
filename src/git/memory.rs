//! How much memory this process may still take.

use super::regular;

/// The control group that a container sees as its own, or nothing where groups are not confined.
const GROUP: &str = "/sys/fs/cgroup";

/// Bytes that can be had without anything being swapped out, by what the machine and the container allow; nothing where the
/// system does not tell.
pub fn free() -> Option<u64> {
    let read = |path: &str| regular::read(path).ok();
    let machine = available(&read("/proc/meminfo")?)?;
    // A file says `max` where there is no limit, and is not there in the group above all.
    let limit = read(&format!("{GROUP}/memory.max")).and_then(|text| number(&text));
    let used = read(&format!("{GROUP}/memory.current")).and_then(|text| number(&text));
    let container = limit.map(|limit| limit.saturating_sub(used.unwrap_or(0)));
    Some(container.map_or(machine, |container| container.min(machine)))
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn available(meminfo: &[u8]) -> Option<u64> {
    let mut lines = meminfo.split(|&byte| byte == b'\n');
    let line = lines.find_map(|line| line.strip_prefix(b"MemAvailable:"))?;
    number(line.strip_suffix(b" kB")?)?.checked_mul(1024)
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_read() {
        let meminfo =
            b"MemTotal:       24 kB\nMemFree:  1 kB\nMemAvailable:   20576 kB\nBuffers: 3 kB\n";
        assert_eq!(available(meminfo), Some(20_576 * 1024));
        assert_eq!(available(b"MemTotal: 24 kB\n"), None);
        assert_eq!(available(b"MemAvailable: much\n"), None);
        assert_eq!((number(b"4096\n"), number(b"max\n")), (Some(4096), None));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_has_some() {
        assert!(free().is_some_and(|free| free > 0));
    }
}
