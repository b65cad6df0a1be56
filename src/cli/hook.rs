//! `tw hook`: the payload from standard input, nothing on standard output, always 0.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::cli::prelude::*;
use crate::ops::hook::{Done, Hooked, Request, take_in};

/// Take in an event of an agent
///
/// Agents call this; 'tw init' sets it up. Reads the event's payload from standard input as JSON, and prints nothing, but
/// for the note that a rewind left for the session that starts (see tw-rewind). Never fails the agent: the exit code is 0
/// whatever happens, and what went wrong stands in timewarp/log.jsonl in the git directory.
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
        let hooked = take_in(&request, call.env, call.progress);
        // Where nobody waits for a prompt.
        if matches!(hooked.done, Done::Snapshot | Done::Ended)
            && let Ok(context) = call.open()
        {
            background::start_when_due(&context);
        }
        reply(Ok(hooked))
    }
}

fn standard_input() -> Vec<u8> {
    if std::io::stdin().is_terminal() {
        return Vec::new();
    }
    let (sender, chunks) = mpsc::channel::<Vec<u8>>();
    // Left behind when nobody closes the other end; it goes with the process.
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        let mut chunk = vec![0; 64 << 10];
        while let Ok(count @ 1..) = stdin.read(&mut chunk) {
            if sender
                .send(chunk.get(..count).unwrap_or_default().to_vec())
                .is_err()
            {
                break;
            }
        }
    });
    let deadline = Instant::now() + PATIENCE;
    let mut payload = Vec::new();
    while let Ok(chunk) = chunks.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        // What is too long is read to its end, for the agent's sake, and is no payload.
        if payload.len() <= LARGEST {
            payload.extend_from_slice(&chunk);
        }
    }
    payload
}

/// Agents take what a hook prints for an order: it prints nothing, or one document in the agent's own words.
impl Human for Hooked {
    fn print(&self, page: &mut Page) {
        if let Some(output) = &self.output {
            page.line(output.to_string());
        }
    }
}
