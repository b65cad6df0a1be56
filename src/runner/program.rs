//! This program started once more, and a line given to a shell.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};
use crate::git::command::NAMES_A_REPOSITORY;

/// Whether this process is `tw`, and not another program that calls the library.
static IS_TW: AtomicBool = AtomicBool::new(false);

/// Says that this process is `tw`, which is started once more for work in processes of its own. Another program would start itself.
pub fn this_is_tw() {
    IS_TW.store(true, Ordering::Relaxed);
}

/// This program, also when its file was replaced since it was started. By its own name, which is what `ps` shows, where it still has it.
///
/// # Errors
/// `USAGE` in a program that is not `tw`.
#[expect(
    clippy::disallowed_methods,
    reason = "whether it is still there is looked at here"
)]
pub fn own_program() -> Result<PathBuf> {
    if !IS_TW.load(Ordering::Relaxed) {
        let message = "this works in processes of 'tw', which the calling program is not";
        return Err(Error::usage(message).hint("run the command 'tw' for it, with --json"));
    }
    let running = Path::new("/proc/self/exe");
    Ok(match std::env::current_exe() {
        // Of a file that was replaced, Linux says 'tw (deleted)'.
        Ok(named) if named.exists() || !running.exists() => named,
        _ => running.to_owned(),
    })
}

/// This program once more, for work that nobody waits for: without input and output nor what else is open here (somebody's lock would be
/// held, a pipe have no end), and in a group of its own, so that Ctrl-C at the terminal does not reach it.
///
/// # Errors
/// As [`own_program`].
pub fn detached(dir: &Path) -> Result<Command> {
    let mut command = Command::new(own_program()?);
    command
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    take_no_descriptors(&mut command);
    Ok(command)
}

#[cfg(target_os = "linux")]
fn take_no_descriptors(command: &mut Command) {
    let close = || {
        #[expect(unsafe_code, reason = "no library at hand has this call")]
        // SAFETY: it takes integers, and closes nothing before the new program begins. Kernels before 5.11 do not know it: all stays open.
        unsafe {
            libc::syscall(
                libc::SYS_close_range,
                3,
                libc::c_uint::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            );
        }
        Ok(())
    };
    #[expect(unsafe_code, reason = "between fork and exec")]
    // SAFETY: one system call, without memory or locks.
    unsafe {
        command.pre_exec(close);
    }
}

#[cfg(not(target_os = "linux"))]
fn take_no_descriptors(_: &mut Command) {}

/// A line for a shell that works in `dir`. Started from a git hook, it would work in that hook's repository, index and objects: it is not
/// told of them.
pub fn shell(line: impl AsRef<OsStr>, dir: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(dir);
    for name in NAMES_A_REPOSITORY {
        command.env_remove(name);
    }
    command
}
