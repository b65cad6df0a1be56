//! The only reader of the clock and of the process environment.
//!
//! `GIT_DIR`, `GIT_INDEX_FILE` and the like, as git sets them inside hooks, are never followed: the repository of the
//! current directory is meant. Tests pin the clock with `TW_TEST_NOW` (RFC 3339, debug builds only).

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

/// A moment: nanoseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub i128);

impl Moment {
    /// Whole seconds since the epoch.
    pub fn seconds(self) -> i64 {
        i64::try_from(self.0.div_euclid(1_000_000_000)).unwrap_or(0)
    }

    /// Nanoseconds within the second.
    pub fn nanos(self) -> u32 {
        u32::try_from(self.0.rem_euclid(1_000_000_000)).unwrap_or(0)
    }

    /// This many seconds since the epoch.
    pub fn of_seconds(seconds: i64) -> Self {
        Self(i128::from(seconds) * 1_000_000_000)
    }

    /// The moment this many seconds earlier.
    #[must_use]
    pub fn minus_seconds(self, seconds: i64) -> Self {
        Self(self.0 - i128::from(seconds) * 1_000_000_000)
    }

    /// `2026-02-28T15:30:12Z`.
    pub fn rfc3339(self) -> String {
        self.utc().format("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// For people, in this machine's zone: `2026-02-28 16:30:12 +01:00`; `UTC` where clocks show that.
    pub fn local(self) -> String {
        self.shown_in(&chrono::Local)
    }

    fn shown_in<Z: chrono::TimeZone>(self, zone: &Z) -> String
    where
        Z::Offset: std::fmt::Display,
    {
        use chrono::Offset as _;
        let time = self.utc().with_timezone(zone);
        let is_utc = time.offset().fix().local_minus_utc() == 0;
        let format = if is_utc {
            "%Y-%m-%d %H:%M:%S UTC"
        } else {
            "%Y-%m-%d %H:%M:%S %:z"
        };
        time.format(format).to_string()
    }

    /// As a calendar date and time, UTC.
    pub fn utc(self) -> chrono::DateTime<chrono::Utc> {
        chrono::DateTime::from_timestamp(self.seconds(), 0).unwrap_or_default()
    }

    /// Parses RFC 3339.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let time = chrono::DateTime::parse_from_rfc3339(text).ok()?;
        Some(Self(i128::from(time.timestamp()) * 1_000_000_000))
    }

    /// Whole seconds since the epoch of a time in RFC 3339; 0 of what is none.
    pub fn seconds_of(text: &str) -> i64 {
        Self::parse_rfc3339(text).map_or(0, Self::seconds)
    }
}

/// What the process was given: clock, directory, variables, and what is said of the call that it does.
#[derive(Debug, Clone, Default)]
pub struct Env {
    vars: std::collections::HashMap<OsString, OsString>,
    call: Value,
}

impl Env {
    /// The environment of this process.
    #[allow(
        clippy::disallowed_methods,
        reason = "the one reader of the environment"
    )]
    pub fn from_process() -> Self {
        Self {
            vars: std::env::vars_os().collect(),
            call: Value::Null,
        }
    }

    /// The same for a call over MCP, of which the client says this (`_meta`).
    #[must_use]
    pub fn for_call(&self, meta: &Value) -> Self {
        Self {
            call: meta.clone(),
            ..self.clone()
        }
    }

    /// What the client of a call over MCP says of it; null where there is none.
    pub fn call(&self) -> &Value {
        &self.call
    }

    /// A variable, when set and not empty.
    pub fn var(&self, name: &str) -> Option<&OsString> {
        self.vars
            .get(std::ffi::OsStr::new(name))
            .filter(|value| !value.is_empty())
    }

    /// A variable as text, when it is UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.var(name)?.to_str()
    }

    /// Whether a variable turns something on: set, not empty, and none of the words and numbers that are false to git.
    pub fn is_on(&self, name: &str) -> bool {
        let is_false = |value: &OsString| {
            let text = value.to_string_lossy().trim().to_ascii_lowercase();
            matches!(text.as_str(), "false" | "no" | "off") || text.parse() == Ok(0)
        };
        self.var(name).is_some_and(|value| !is_false(value))
    }

    /// Every variable: name and value.
    pub fn vars(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.vars.iter()
    }

    /// The user's home directory, from `HOME`.
    pub fn home(&self) -> Option<PathBuf> {
        self.var("HOME").map(PathBuf::from)
    }

    /// Now. Never before 1970.
    #[allow(clippy::disallowed_methods, reason = "the one reader of the clock")]
    pub fn now(&self) -> Moment {
        #[cfg(debug_assertions)]
        if let Some(moment) = self.text("TW_TEST_NOW").and_then(Moment::parse_rfc3339) {
            return moment;
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Moment(i128::try_from(now.as_nanos()).unwrap_or(0))
    }
}

#[cfg(test)]
impl<'a> FromIterator<(&'a str, &'a str)> for Env {
    /// One with these variables alone.
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(vars: I) -> Self {
        let vars = vars.into_iter();
        Self {
            vars: vars
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            call: Value::Null,
        }
    }
}

/// The boot that a test lets this process run in, as hex digits: `TW_TEST_BOOT_ID`, debug builds only.
#[allow(
    clippy::disallowed_methods,
    reason = "the one reader of the environment"
)]
pub fn told_boot_id() -> Option<String> {
    #[cfg(debug_assertions)]
    return std::env::var("TW_TEST_BOOT_ID").ok();
    #[cfg(not(debug_assertions))]
    None
}

/// Takes out of the umask what it would take from the owner. With such a umask a command could not read back what it had just
/// made, and `index.lock` would stay as a file that nobody may look into. What it takes from others is left as it is.
pub fn keep_own_permissions() {
    use rustix::fs::Mode;
    let owner = Mode::RWXU;
    let umask = rustix::process::umask(Mode::RWXG | Mode::RWXO | owner);
    rustix::process::umask(umask - owner);
}

/// The real clock, nanoseconds since the epoch, whatever a test pins: stamps of files are compared with it.
#[allow(clippy::disallowed_methods, reason = "the one reader of the clock")]
pub fn clock_nanos() -> i64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

/// Dies here, as by SIGKILL, when `TW_FAIL_POINT` names this place (`name`, or `name:n` for the n-th time it is passed; several
/// with commas between them); stops here until SIGCONT when `TW_STOP_POINT` does. Debug builds only: tests end a swap, or come in
/// between, at every step.
#[cfg(debug_assertions)]
#[allow(
    clippy::disallowed_methods,
    reason = "the one reader of the environment"
)]
pub fn fail_point(name: &str) {
    use rustix::process::Signal;
    use std::sync::atomic::{AtomicUsize, Ordering};
    static PASSED: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];
    let asked = [
        ("TW_FAIL_POINT", Signal::KILL),
        ("TW_STOP_POINT", Signal::STOP),
    ];
    let mut counters = PASSED.iter();
    for (variable, signal) in asked {
        let places = std::env::var(variable).unwrap_or_default();
        for (place, passed) in places.split(',').zip(&mut counters) {
            let (wanted, nth) = place
                .split_once(':')
                .map_or((place, 1), |(name, nth)| (name, nth.parse().unwrap_or(1)));
            if wanted == name && passed.fetch_add(1, Ordering::Relaxed) + 1 == nth {
                let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
            }
        }
    }
}

/// Whether a variable by which tests have what can seldom be had is set: in debug builds alone.
#[allow(
    clippy::disallowed_methods,
    reason = "the one reader of the environment"
)]
#[inline]
fn is_set_by_tests(is_set: &OnceLock<bool>, name: &str) -> bool {
    cfg!(debug_assertions) && *is_set.get_or_init(|| std::env::var_os(name).is_some())
}

/// Whether every file system is to look as one that counts in whole seconds: `TW_TEST_COARSE_TIMES`.
#[inline]
pub fn has_coarse_times() -> bool {
    static IS_SET: OnceLock<bool> = OnceLock::new();
    is_set_by_tests(&IS_SET, "TW_TEST_COARSE_TIMES")
}

/// Whether no file system is to know the flags of a rename, as those over a network do not: `TW_TEST_PLAIN_RENAMES`.
#[inline]
pub fn has_plain_renames() -> bool {
    static IS_SET: OnceLock<bool> = OnceLock::new();
    is_set_by_tests(&IS_SET, "TW_TEST_PLAIN_RENAMES")
}

/// Whether no stamp of a directory tells of new names, as on a file system made of several: `TW_TEST_UNTOLD_NAMES`.
#[inline]
pub fn has_untold_names() -> bool {
    static IS_SET: OnceLock<bool> = OnceLock::new();
    is_set_by_tests(&IS_SET, "TW_TEST_UNTOLD_NAMES")
}

/// Whether files are to count as slow to make and to delete, however few they are: `TW_TEST_SLOW_DISK`.
#[inline]
pub fn has_slow_disk() -> bool {
    static IS_SET: OnceLock<bool> = OnceLock::new();
    is_set_by_tests(&IS_SET, "TW_TEST_SLOW_DISK")
}

/// Whether progress is shown from the first moment, however little there is to do: `TW_TEST_PROGRESS_AT_ONCE`.
pub fn shows_progress_at_once() -> bool {
    static IS_SET: OnceLock<bool> = OnceLock::new();
    is_set_by_tests(&IS_SET, "TW_TEST_PROGRESS_AT_ONCE")
}

/// How long the watcher and whoever asks it wait for each other, where a test says so: `TW_TEST_WATCH_PATIENCE`, in milliseconds,
/// debug builds only. Many tests at once leave them little of a processor.
#[allow(
    clippy::disallowed_methods,
    reason = "the one reader of the environment"
)]
pub fn watch_patience() -> Option<std::time::Duration> {
    #[cfg(debug_assertions)]
    return std::env::var("TW_TEST_WATCH_PATIENCE")
        .ok()
        .and_then(|text| text.parse().ok())
        .map(std::time::Duration::from_millis);
    #[cfg(not(debug_assertions))]
    None
}

/// Nothing, in release builds.
#[cfg(not(debug_assertions))]
#[inline]
pub fn fail_point(_name: &str) {}
