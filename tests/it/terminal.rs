//! `tw` on a terminal of its own, for what is only asked there: a pseudo-terminal, typed at and read.
//!
//! The program has to lead a session with the terminal as its own, or Ctrl-C reaches nobody. That is set up between fork and
//! exec, which without unsafe code only a program can do: this test binary is started once more, takes the terminal in
//! [`a_program_takes_the_terminal`], and becomes the program.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::sandbox::Sandbox;

/// The terminal that the program is to take.
const DEVICE: &str = "TW_IT_TERMINAL";

/// The program.
const PROGRAM: &str = "TW_IT_PROGRAM";

/// The program's arguments, as JSON.
const ARGS: &str = "TW_IT_ARGS";

/// Comes from a terminal when all else has come; no program writes it.
const END: &str = "\0the end\0";

/// Nothing that is waited for takes longer, unless it never comes.
const LONG: Duration = Duration::from_secs(120);

/// A program that runs on a terminal.
pub struct Terminal {
    keyboard: File,
    /// The program's side.
    line: File,
    screen: Receiver<Vec<u8>>,
    shown: Vec<u8>,
    program: Child,
}

impl Terminal {
    /// Starts `tw` on a new terminal, without colours, bars and pager.
    pub fn tw(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut prepared = sandbox.tw_command();
        prepared.env("GIT_PAGER", "cat");
        Self::start(sandbox, &prepared, args)
    }

    /// As [`Terminal::tw`], with the environment of `prepared`.
    pub fn start(sandbox: &Sandbox, prepared: &assert_cmd::Command, args: &[&str]) -> Self {
        let args: Vec<_> = ["--no-progress"].iter().chain(args).copied().collect();
        Self::program(sandbox, prepared, &args)
    }

    /// Starts `prepared`, whatever program it is.
    pub fn program(sandbox: &Sandbox, prepared: &assert_cmd::Command, args: &[&str]) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let device = ptsname(&master, Vec::new()).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env_clear();
        for (name, value) in prepared.get_envs() {
            command.env(name, value.unwrap());
        }
        let program = command
            .args(["--exact", "terminal::a_program_takes_the_terminal"])
            .env(DEVICE, std::ffi::OsStr::from_bytes(device.as_bytes()))
            .env(PROGRAM, prepared.get_program())
            .env(ARGS, serde_json::to_string(args).unwrap())
            .env("NO_COLOR", "1")
            .current_dir(sandbox.repo())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let keyboard = File::from(master);
        let line = open_line(Path::new(std::ffi::OsStr::from_bytes(device.as_bytes())));
        let screen = keyboard.try_clone().unwrap();
        Self {
            keyboard,
            line,
            screen: watched(screen),
            shown: Vec::new(),
            program,
        }
    }

    /// Reads on until the screen shows `text`.
    pub fn shows(&mut self, text: &str) -> &mut Self {
        while !self.text().contains(text) {
            match self.screen.recv_timeout(LONG) {
                Ok(bytes) => self.shown.extend(bytes),
                Err(error) => panic!("{text:?} never came ({error}):\n{}", self.text()),
            }
        }
        self
    }

    /// Types these keys, again each second, until the screen shows `text`: a shell that is about to read may sleep over a signal.
    pub fn types_until(&mut self, keys: &[u8], text: &str) -> &mut Self {
        let begun = std::time::Instant::now();
        while !self.text().contains(text) {
            assert!(
                begun.elapsed() < LONG,
                "{text:?} never came:\n{}",
                self.text()
            );
            self.types(keys);
            let pause = std::time::Duration::from_secs(1);
            while !self.text().contains(text)
                && let Ok(bytes) = self.screen.recv_timeout(pause)
            {
                self.shown.extend(bytes);
            }
        }
        self
    }

    /// Forgets what was shown so far.
    pub fn forgets(&mut self) {
        self.shown.clear();
    }

    /// Types `keys`.
    pub fn types(&mut self, keys: &[u8]) -> &mut Self {
        self.keyboard.write_all(keys).unwrap();
        self
    }

    /// Waits for the end: the exit code, and all that was shown.
    pub fn ends(mut self) -> (i32, String) {
        let code = self.program.wait().unwrap().code().unwrap();
        // What the program wrote may still be on its way when the program is gone. What is written behind it comes last.
        self.line.write_all(END.as_bytes()).unwrap();
        self.shows(END);
        let text = self.text();
        (code, text.strip_suffix(END).unwrap().to_owned())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).replace("\r\n", "\n")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that failed in the middle leaves nobody waiting for keys.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// The program's side of a terminal, without taking it as one's own.
fn open_line(device: &Path) -> File {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC;
    File::from(open(device, flags, Mode::empty()).unwrap())
}

/// What the screen shows, piece by piece, until nobody has the other side.
fn watched(mut screen: File) -> Receiver<Vec<u8>> {
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        // The end is an error: the other side is closed.
        while let Ok(read @ 1..) = screen.read(&mut piece) {
            if tell.send(piece[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    told
}

#[test]
fn a_program_takes_the_terminal() {
    let Some(device) = std::env::var_os(DEVICE) else {
        return;
    };
    let args: Vec<String> = serde_json::from_str(&std::env::var(ARGS).unwrap()).unwrap();
    rustix::process::setsid().unwrap();
    let terminal = File::options()
        .read(true)
        .write(true)
        .open(Path::new(&device))
        .unwrap();
    rustix::process::ioctl_tiocsctty(&terminal).unwrap();
    let program = std::env::var_os(PROGRAM).unwrap();
    let error = Command::new(&program)
        .args(args)
        .env_remove(PROGRAM)
        .env_remove(DEVICE)
        .env_remove(ARGS)
        .stdin(terminal.try_clone().unwrap())
        .stdout(terminal.try_clone().unwrap())
        .stderr(terminal)
        .exec();
    panic!("{} does not start: {error}", program.display());
}
