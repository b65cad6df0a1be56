//! A talk with a child over its pipes: it is fed and heard at once, so that no full pipe holds the other side up.
//!
//! Without threads, which the system may refuse. Leaves starting it and waiting for its end to the caller.

use std::io::{ErrorKind, Read, Result, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};

/// What a child said, where its output is a pipe.
pub struct Said {
    /// Everything on stdout.
    pub stdout: Vec<u8>,
    /// Everything on stderr.
    pub stderr: Vec<u8>,
}

/// Feeds a child's stdin and reads both of its outputs to their end. It may end without having read all.
///
/// # Errors
/// A pipe fails.
pub fn converse(child: &mut Child, fed: &[u8]) -> Result<Said> {
    let said = converse_until(child, fed, None)?;
    Ok(said.expect("without a deadline there is no end before the child's"))
}

/// The same until a deadline; `None` when that came first.
///
/// # Errors
/// A pipe fails.
pub fn converse_until(
    child: &mut Child,
    fed: &[u8],
    deadline: Option<Instant>,
) -> Result<Option<Said>> {
    let mut input = Input::new(child.stdin.take(), fed)?;
    let mut out = Output::new(child.stdout.take())?;
    let mut err = Output::new(child.stderr.take())?;
    loop {
        let pipes = [input.look(), out.look(), err.look()];
        let mut pipes: Vec<_> = pipes.into_iter().flatten().collect();
        if pipes.is_empty() {
            break;
        }
        let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut pipes, left.as_ref()) {
            Ok(0) => return Ok(None),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        input.feed();
        out.read()?;
        err.read()?;
    }
    Ok(Some(Said {
        stdout: out.said,
        stderr: err.said,
    }))
}

struct Input<'a> {
    pipe: Option<ChildStdin>,
    left: &'a [u8],
}

impl<'a> Input<'a> {
    fn new(pipe: Option<ChildStdin>, left: &'a [u8]) -> Result<Self> {
        if let Some(pipe) = &pipe {
            ioctl_fionbio(pipe, true)?;
        }
        Ok(Self { pipe, left })
    }

    fn look(&self) -> Option<PollFd<'_>> {
        let pipe = self.pipe.as_ref()?;
        Some(PollFd::new(pipe, PollFlags::OUT))
    }

    /// Writes as much as it takes now, and closes it after the last or when nobody reads any more.
    fn feed(&mut self) {
        while let Some(pipe) = &mut self.pipe {
            match pipe.write(self.left) {
                Ok(count @ 1..) => self.left = self.left.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Its status tells whether it was right not to read all.
                Ok(_) | Err(_) => self.pipe = None,
            }
        }
    }
}

struct Output<P> {
    pipe: Option<P>,
    said: Vec<u8>,
}

impl<P: Read + AsFd> Output<P> {
    fn new(pipe: Option<P>) -> Result<Self> {
        if let Some(pipe) = &pipe {
            ioctl_fionbio(pipe, true)?;
        }
        let said = Vec::new();
        Ok(Self { pipe, said })
    }

    fn look(&self) -> Option<PollFd<'_>> {
        let pipe = self.pipe.as_ref()?;
        Some(PollFd::new(pipe, PollFlags::IN))
    }

    /// Reads what is there now.
    fn read(&mut self) -> Result<()> {
        let Some(pipe) = &mut self.pipe else {
            return Ok(());
        };
        match pipe.read_to_end(&mut self.said) {
            Ok(_) => self.pipe = None,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn talk(script: &str, fed: &[u8]) -> (Said, bool) {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let said = converse(&mut child, fed).expect("heard");
        (said, child.wait().expect("ended").success())
    }

    #[test]
    fn more_than_a_pipe_holds_goes_through_all_three() {
        let fed: Vec<u8> = (0..2_000_000u32).map(|n| n.to_le_bytes()[0]).collect();
        let (said, is_well) = talk("tee /dev/stderr", &fed);
        assert!(is_well && said.stdout == fed && said.stderr == fed);
    }

    #[test]
    fn a_child_need_not_read_or_may_close_its_outputs_first() {
        let fed = vec![0; 1_000_000];
        let (said, is_well) = talk("exec <&-; echo done; echo so >&2", &fed);
        assert_eq!(
            (&said.stdout[..], &said.stderr[..]),
            (&b"done\n"[..], &b"so\n"[..])
        );
        assert!(is_well);
        let (said, is_well) = talk("exec >&- 2>&-; test $(wc -c) = 1000000", &fed);
        assert!(is_well && said.stdout.is_empty() && said.stderr.is_empty());
        assert!(talk("test -z \"$(cat)\"", b"").1);
    }
}
