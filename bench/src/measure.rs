//! One command, measured from outside: wall time, processor time of it and all it waited for, its largest process.
//!
//! It is started by a small process of its own (this program again, as `measure`): what a process was before `exec` counts
//! into its peak, and this program holds lists of files. Where the command leaves work to a process in the background, as `tw` does after a swap, the
//! wall time ends with the command, and the processor time with that process: nothing is measured beside it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What a run cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sample {
    pub wall: Duration,
    pub cpu: Duration,
    /// KiB.
    pub peak: u64,
}

impl Sample {
    /// Both, one after the other.
    pub fn then(self, next: Self) -> Self {
        Self {
            wall: self.wall + next.wall,
            cpu: self.cpu + next.cpu,
            peak: self.peak.max(next.peak),
        }
    }
}

/// The C library's `struct rusage` on 64-bit systems.
#[repr(C)]
#[derive(Default)]
struct Usage {
    user: [i64; 2],
    system: [i64; 2],
    largest: i64,
    rest: [i64; 13],
}

unsafe extern "C" {
    fn wait4(pid: i32, status: *mut i32, options: i32, usage: *mut Usage) -> i32;
    fn prctl(option: i32, argument: u64, ...) -> i32;
}

/// `PR_SET_CHILD_SUBREAPER`: what a child leaves behind becomes a child of this process.
const SUBREAPER: i32 = 36;

/// Whether a command may leave work to a process in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Background {
    /// It does all of it itself.
    Off,
    /// The processor time of such a process counts.
    Counted,
}

impl Background {
    /// What a word of [`Self::word`] stands for.
    pub fn of(word: &OsStr) -> Option<Self> {
        [Self::Off, Self::Counted]
            .into_iter()
            .find(|one| word == one.word())
    }

    /// The word by which this program measures.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "measure",
            Self::Counted => "measure-all",
        }
    }
}

/// The `measure` process: runs the words and prints microseconds of wall and processor time, KiB, and the exit code.
pub fn inner(words: &[OsString], background: Background) -> io::Result<()> {
    let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::inherit())
        .stdout(Stdio::null());
    if background == Background::Counted {
        command.env_remove("TW_NO_BACKGROUND");
        // SAFETY: it takes numbers.
        if unsafe { prctl(SUBREAPER, 1) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    let began = Instant::now();
    let child = command.spawn()?;
    let mut usage = Usage::default();
    let mut status = 0;
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    // SAFETY: both pointers lead to live values of the layout that the call fills.
    let reaped = unsafe { wait4(pid, &raw mut status, 0, &raw mut usage) };
    let wall = began.elapsed();
    if reaped != pid {
        return Err(io::Error::last_os_error());
    }
    let micros = |time: [i64; 2]| time[0] * 1_000_000 + time[1];
    let spent = |usage: &Usage| micros(usage.user) + micros(usage.system);
    let mut cpu = spent(&usage);
    loop {
        let (mut left, mut ended) = (Usage::default(), 0);
        // SAFETY: as above. None is left when it fails.
        if unsafe { wait4(-1, &raw mut ended, 0, &raw mut left) } < 0 {
            break;
        }
        cpu += spent(&left);
    }
    let code = ExitStatus::from_raw(status).code().unwrap_or(255);
    println!("{} {cpu} {} {code}", wall.as_micros(), usage.largest);
    Ok(())
}

/// Runs a command in a directory and tells what it cost.
pub fn measure(
    dir: &Path,
    words: &[&OsStr],
    (input, background): (Option<&Path>, Background),
) -> Result<Sample, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let input = match input {
        Some(file) => Stdio::from(std::fs::File::open(file).map_err(|error| error.to_string())?),
        None => Stdio::null(),
    };
    let output = Command::new(own)
        .arg(background.word())
        .args(words)
        .current_dir(dir)
        .stdin(input)
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = text.split_whitespace().flat_map(str::parse).collect();
    let [wall, cpu, peak, code] = numbers[..] else {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    };
    if code != 0 {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("exit code {code} of {words:?}: {said}"));
    }
    Ok(Sample {
        wall: Duration::from_micros(wall),
        cpu: Duration::from_micros(cpu),
        peak,
    })
}

/// The time to `lstat` every path of a list with as many threads as there are processors: no scan can be faster without
/// somebody who watches.
pub fn floor(root: &Path, paths: &[String]) -> Duration {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(8);
    let full: Vec<_> = paths.iter().map(|path| root.join(path)).collect();
    let began = Instant::now();
    std::thread::scope(|scope| {
        for part in full.chunks(full.len().div_ceil(threads).max(1)) {
            scope.spawn(move || {
                part.iter()
                    .filter(|path| path.symlink_metadata().is_ok())
                    .count()
            });
        }
    });
    began.elapsed()
}
