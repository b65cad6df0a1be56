//! `tw hook`: the payload from standard input, nothing on standard output, always 0.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{Call, Reply, reply};
use crate::cli::{args, background};
use crate::ops::hook::{Done, Request, take_in};

/// A payload may hold a whole file that a tool wrote.
const LARGEST: usize = 16 << 20;

/// An agent that leaves standard input open is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn run(args: &args::Hook, call: &Call<'_>) -> Reply {
    // Codex hands its notifications over as the last word.
    let word = args.rest.last().or(None).map(OsString::as_os_str);
    let payload = match word.filter(|word| word.as_encoded_bytes().starts_with(b"{")) {
        Some(word) => word.as_encoded_bytes().to_vec(),
        None => standard_input(),
    };
    let request = Request {
        agent: &args.agent,
        event: args.event.as_deref(),
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
