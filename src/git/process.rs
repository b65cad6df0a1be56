//! Which process made something, and whether it still runs.
//!
//! Never judged by a pid alone: it is used again, and another boot or another container (pid namespace) gives the same number to
//! somebody else. Whoever has a file that stays open while it lives says so by that file's lock (`flock`), which death frees:
//! [`freed`]. What has only a name carries its [`Maker`]: pid, start, boot and pid namespace. A maker that cannot be seen from
//! here counts as alive.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::OnceLock;

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use super::durable::boot_id;
use super::regular;

/// So much of the boot id stands in a name.
const BOOT_DIGITS: usize = 8;

/// Who made something that has only a name: `<pid>-<start>-<boot>.<namespace>`, or without the last part where the system
/// does not say. Without any `.` or `-` at its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maker {
    pid: u32,
    start: u64,
    place: Option<Place>,
}

/// Where a pid means something.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    boot: String,
    namespace: u64,
}

impl Maker {
    /// Returns this process as a maker.
    pub fn this() -> &'static Self {
        static MAKER: OnceLock<Maker> = OnceLock::new();
        MAKER.get_or_init(|| Self {
            pid: std::process::id(),
            start: own_start(),
            place: Place::here(),
        })
    }

    /// Its pid.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// When it started, clock ticks since boot; 0 where the system does not say.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Reads what [`Display`](fmt::Display) writes from the beginning of `text`; gives also what follows, without the `-` before it.
    pub fn parse(text: &str) -> Option<(Self, &str)> {
        let (pid, rest) = text.split_once('-')?;
        let (start, rest) = rest.split_once('-').unwrap_or((rest, ""));
        let (word, after) = rest.split_once('-').unwrap_or((rest, ""));
        let place = Place::parse(word);
        let rest = if place.is_some() { after } else { rest };
        let maker = Self {
            pid: pid.parse().ok()?,
            start: start.parse().ok()?,
            place,
        };
        Some((maker, rest))
    }

    /// False only when it surely does not run any more.
    pub fn is_alive(&self) -> bool {
        match (&self.place, Place::here()) {
            (Some(theirs), Some(ours)) if theirs.boot != ours.boot => false,
            (Some(theirs), Some(ours)) if theirs.namespace != ours.namespace => true,
            _ => is_running(self.pid, self.start),
        }
    }
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.pid, self.start)?;
        match &self.place {
            Some(place) => write!(f, "-{}.{}", place.boot, place.namespace),
            None => Ok(()),
        }
    }
}

impl Place {
    fn here() -> Option<Self> {
        let boot: String = boot_id()?
            .chars()
            .filter(char::is_ascii_hexdigit)
            .take(BOOT_DIGITS)
            .collect();
        Some(Self {
            boot,
            namespace: pid_namespace()?,
        })
    }

    fn parse(word: &str) -> Option<Self> {
        let (boot, namespace) = word.split_once('.')?;
        let boot_is_one =
            boot.len() == BOOT_DIGITS && boot.bytes().all(|byte| byte.is_ascii_hexdigit());
        boot_is_one.then_some(Self {
            boot: boot.to_owned(),
            namespace: namespace.parse().ok()?,
        })
    }
}

/// The pid namespace of this process: pids mean something only in it.
fn pid_namespace() -> Option<u64> {
    static NAMESPACE: OnceLock<Option<u64>> = OnceLock::new();
    *NAMESPACE.get_or_init(|| Some(std::fs::metadata("/proc/self/ns/pid").ok()?.ino()))
}

/// Whether `/proc` shows the pids of this process's own namespace. A new namespace may still have the old mount.
fn proc_is_ours() -> bool {
    static OURS: OnceLock<bool> = OnceLock::new();
    *OURS.get_or_init(|| {
        let shown = std::fs::read_link("/proc/self").ok();
        shown.is_some_and(|shown| shown.as_os_str() == &*std::process::id().to_string())
    })
}

fn own_start() -> u64 {
    start_in(Path::new("/proc/self/stat")).unwrap_or(0)
}

/// When a process started, in clock ticks since boot. `None` when there is none, or only a dead one that nobody has waited for
/// yet.
fn start_in(stat: &Path) -> Option<u64> {
    let stat = regular::read(stat).ok()?;
    // The command name, in parentheses, may hold spaces and parentheses.
    let after = stat.iter().rposition(|&byte| byte == b')')? + 2;
    let rest = std::str::from_utf8(stat.get(after..)?).ok()?;
    let mut fields = rest.split(' ');
    if matches!(fields.next()?, "Z" | "X" | "x") {
        return None;
    }
    // `starttime`, the 22nd field of all: the state above was the third.
    fields.nth(18)?.parse().ok()
}

/// Whether the process with this pid and start runs, in this namespace.
fn is_running(pid: u32, start: u64) -> bool {
    if proc_is_ours() {
        let stat = format!("/proc/{pid}/stat");
        return start_in(Path::new(&stat)).is_some_and(|now| start == 0 || now == start);
    }
    let Some(pid) = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    else {
        return false;
    };
    // `/proc` shows another namespace's processes; the kernel is asked by a signal that is not sent.
    !matches!(rustix::process::test_kill_process(pid), Err(Errno::SRCH))
}

/// Linux: the number of the first pid namespace, from which every process of the machine is seen.
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Whether no process of this machine has this pid, neither here nor in the pid namespace that it runs in itself. Not when not
/// every process is seen from here: what nobody sees may live.
pub fn is_nobodys(pid: u32) -> bool {
    if pid_namespace() != Some(FIRST_NAMESPACE) || !proc_is_ours() {
        return false;
    }
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return false;
    };
    // Where `/proc` hides other users' processes, the first one is hidden, too.
    let mut first_is_seen = false;
    for entry in entries {
        let Ok(entry) = entry else { return false };
        let Some(shown) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let status = match regular::read(entry.path().join("status")) {
            Ok(status) => status,
            Err(error) if has_ended(&error) => continue,
            Err(_) => return false,
        };
        let own = pid_of_its_own(&status);
        if shown == pid || own.is_none_or(|own| own == pid) {
            return false;
        }
        first_is_seen |= shown == 1;
    }
    first_is_seen
}

fn has_ended(error: &std::io::Error) -> bool {
    regular::is_absent(error) || Errno::from_io_error(error) == Some(Errno::SRCH)
}

/// What `getpid` tells a process, by its `status`: its number in the innermost of the namespaces that it is in.
fn pid_of_its_own(status: &[u8]) -> Option<u32> {
    let mut lines = status.split(|&byte| byte == b'\n');
    let numbers = lines.find_map(|line| line.strip_prefix(b"NSpid:"))?;
    let numbers = std::str::from_utf8(numbers).ok()?;
    numbers.split_whitespace().last()?.parse().ok()
}

/// The file at `path`, locked by us, when no process that held its lock lives any more. Only who has it may remove it. `None` also
/// when it is not to be opened, or when another file has the name by now.
pub fn freed(path: &Path) -> Option<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let no_follow = i32::try_from(flags.bits()).unwrap_or(0);
    let open = |write: bool| {
        let mut options = OpenOptions::new();
        options.read(true).write(write).custom_flags(no_follow);
        options.open(path)
    };
    // A network file system locks only what is open for writing.
    let file = open(true)
        .or_else(|_| open(false))
        .and_then(regular::accept)
        .ok()?;
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let (ours, there) = (file.metadata().ok()?, path.symlink_metadata().ok()?);
    ((ours.dev(), ours.ino()) == (there.dev(), there.ino())).then_some(file)
}

/// Whether somebody holds the lock of a file alone. Asks for a moment by sharing it; whoever wants it then tries again.
pub fn is_held(path: &Path) -> bool {
    let Ok(file) = regular::open(path) else {
        return false;
    };
    let shared = rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared);
    shared == Err(Errno::WOULDBLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maker_is_read_as_it_was_written() {
        let maker = Maker::this();
        let text = maker.to_string();
        assert_eq!(Maker::parse(&text), Some((maker.clone(), "")));
        let longer = format!("{text}-17-x");
        assert_eq!(Maker::parse(&longer), Some((maker.clone(), "17-x")));
        let (old, rest) = Maker::parse("12-345-00ff").expect("without a place");
        assert_eq!(
            (old.pid, old.start, old.place, rest),
            (12, 345, None, "00ff")
        );
        for text in ["", "12", "x-1", "1-x", "-1-1"] {
            assert_eq!(Maker::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn only_a_process_seen_from_here_is_judged_by_its_pid() {
        let this = Maker::this();
        assert!(this.is_alive());
        let later = Maker {
            start: this.start + 1,
            ..this.clone()
        };
        assert!(!later.is_alive());
        let Some(here) = Place::here() else { return };
        let elsewhere = |boot: &str, namespace| {
            let place = Some(Place {
                boot: boot.to_owned(),
                namespace,
            });
            Maker {
                place,
                ..later.clone()
            }
        };
        assert!(elsewhere(&here.boot, here.namespace + 1).is_alive());
        assert!(!elsewhere("00000000", here.namespace).is_alive());
    }

    #[test]
    fn a_number_is_nobodys_only_where_every_process_is_seen() {
        assert!(!is_nobodys(std::process::id()));
        assert!(!is_nobodys(1));
        let sees_all = pid_namespace() == Some(FIRST_NAMESPACE)
            && std::fs::read("/proc/1/status").is_ok()
            && proc_is_ours();
        assert_eq!(is_nobodys(u32::MAX), sees_all);
        assert_eq!(
            pid_of_its_own(b"Pid:\t7\nNSpid:\t812\t31\t2\nx:\t3\n"),
            Some(2)
        );
        assert_eq!(pid_of_its_own(b"Pid:\t7\n"), None);
    }

    #[test]
    fn a_dead_process_that_nobody_waited_for_is_dead() {
        let mut child = std::process::Command::new("true").spawn().expect("started");
        let stat = format!("/proc/{}/stat", child.id());
        let died = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            start_in(Path::new(&stat)).is_none()
        });
        assert!(died && Path::new(&stat).exists());
        child.wait().expect("waited");
    }

    #[test]
    fn a_lock_is_held_until_its_file_is_closed() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("lock");
        assert!(!is_held(&path) && freed(&path).is_none());
        std::fs::write(&path, "").expect("written");
        let held = freed(&path).expect("free");
        assert!(is_held(&path) && freed(&path).is_none());
        // Not by closing alone: a child that another test is just starting still has it open.
        rustix::fs::flock(&held, FlockOperation::Unlock).expect("unlocked");
        drop(held);
        assert!(!is_held(&path));
    }
}
