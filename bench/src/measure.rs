//! One command, measured from outside: wall time, processor time of it and all it waited for, its largest process.
//!
//! It is started by a small process of its own (this program again, as `measure`): what a process was before `exec` counts
//! into its peak, and this program holds lists of files.

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
}

/// The `measure` process: runs the words and prints microseconds of wall and processor time, KiB, and the exit code.
pub fn inner(words: &[OsString]) -> io::Result<()> {
    let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let began = Instant::now();
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::inherit())
        .stdout(Stdio::null())
        .spawn()?;
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
    let cpu = micros(usage.user) + micros(usage.system);
    let code = ExitStatus::from_raw(status).code().unwrap_or(255);
    println!("{} {cpu} {} {code}", wall.as_micros(), usage.largest);
    Ok(())
}

/// Runs a command in a directory and tells what it cost.
pub fn measure(dir: &Path, words: &[&OsStr], input: Option<&Path>) -> Result<Sample, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let input = match input {
        Some(file) => Stdio::from(std::fs::File::open(file).map_err(|error| error.to_string())?),
        None => Stdio::null(),
    };
    let output = Command::new(own)
        .arg("measure")
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
