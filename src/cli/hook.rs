//! `tw hook`: the payload from standard input, nothing on standard output, always 0.

use std::ffi::OsString;
use std::io::{IsTerminal, Stdin};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::cli::output::Output;
use crate::cli::prelude::*;
use crate::ops::hook::{Done, Hooked, Request, take_in};

/// Take in an event of an agent
///
/// Agents call this; 'tw init' sets it up. Reads the event's payload from standard input as JSON, and prints nothing, but
/// for the note that a rewind left for the session that starts (see tw-rewind). Never fails the agent: the exit code is 0
/// whatever happens, and what went wrong is recorded in timewarp/log.jsonl in the git directory; where that cannot be written,
/// standard error has it.
///
/// EVENT is the agent's own name of it or ours: session-start and session-end start and end a session; user-prompt-submit
/// makes a checkpoint (see tw-checkpoint), and post-tool-use does when timewarp.checkpoints is 'steps'; stop, the end of
/// a turn, takes a snapshot when something changed, so that what you edit before the next prompt is not taken for the
/// agent's work. Others only note that the session is live. Outside of a repository nothing happens.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # By hand, as a harness would
  echo '{\"session_id\": \"abcd\"}' | tw hook generic session-start")]
pub struct Args {
    /// The agent: claude, codex, gemini, qwen, kimi, kimi-code, pi, opencode, cursor, copilot, generic
    #[arg(value_name = "AGENT", add = complete::agents())]
    pub agent: String,

    /// The event; default: what the payload says
    #[arg(value_name = "EVENT")]
    pub event: Option<String>,

    /// More words of the agent's; the last one may be the payload
    #[arg(
        value_name = "PAYLOAD",
        hide = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub rest: Vec<OsString>,
}

/// A payload may hold a whole file that a tool wrote.
const LARGEST: usize = 16 << 20;

/// An agent that leaves standard input open is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Hooked>("hook")];

    fn run(&self, call: &Call<'_>) -> Reply {
        // Codex hands its notifications over as the last word.
        let word = self.rest.last().map(|word| word.as_encoded_bytes());
        let payload = match word.filter(|word| word.starts_with(b"{")) {
            Some(word) => word.to_vec(),
            None => standard_input(),
        };
        let request = Request {
            agent: &self.agent,
            event: self.event.as_deref(),
            payload: &payload,
            start: call.start,
        };
        let mut hooked = take_in(&request, call.env, call.progress);
        if !call.output.is_json() {
            tell(&mut hooked, call.output);
        }
        // Where nobody waits for a prompt.
        if matches!(hooked.done, Done::Snapshot | Done::Ended)
            && let Ok(context) = call.open()
        {
            background::start_when_due(&context);
        }
        reply(Ok(hooked))
    }
}

/// Writes what the agent is told. Where nobody takes it, what a rewind left is told at the next start.
fn tell(hooked: &mut Hooked, output: &Output) {
    let Some(document) = hooked.output.take() else {
        return;
    };
    let is_written = output.part(format!("{document}\n").as_bytes());
    if !matches!(is_written, Ok(true))
        && let Some(told) = &hooked.told
        && let Err(error) = told.leave_again()
    {
        hooked.is_unlogged = true;
        hooked.error.get_or_insert(error);
    }
}

/// Ends even a panic with 0: an agent takes any other code for a verdict on what it was about to do.
#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "what panics never comes to main"
)]
pub fn never_fail() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::exit(0);
    }));
}

fn standard_input() -> Vec<u8> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Vec::new();
    }
    let deadline = Instant::now() + PATIENCE;
    let mut payload = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    // Of what is always ready, the size is the end, or the time.
    while is_there(&stdin, deadline) && (payload.len() <= LARGEST || Instant::now() < deadline) {
        // Without a buffer of the library's in between: what is in there, `poll` does not see.
        match rustix::io::read(&stdin, &mut chunk) {
            // What is too long is read to its end, for the agent's sake, and is no payload.
            Ok(1..) if payload.len() > LARGEST => {}
            Ok(count @ 1..) => payload.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(_) | Err(_) => break,
        }
    }
    payload
}

/// Waits for bytes or the end; false: for too long.
fn is_there(stdin: &Stdin, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(stdin, PollFlags::IN)], left.as_ref()) {
            Err(Errno::INTR) => {}
            ready => return ready.is_ok_and(|ready| ready > 0),
        }
    }
}

/// Agents take what a hook prints for an order: it prints nothing, or one document in the agent's own words, which `tell` writes.
impl Human for Hooked {
    fn print(&self, page: &mut Page) {
        // Agents show, or keep, what goes to standard error.
        if let Some(error) = self.error.as_ref().filter(|_| self.is_unlogged) {
            page.note(format!("nothing was recorded: {}", error.message()));
        }
    }
}
