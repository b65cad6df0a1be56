//! What the tests of every agent ask of a conversation.

use std::path::Path;

use super::fork::{ForkOutcome, ForkPlan, stage_fork};
use super::transcript::{Cut, Transcript};
use crate::error::Result;

/// The prompts' texts.
pub fn prompts(transcript: &Transcript) -> Vec<&str> {
    transcript
        .prompts
        .iter()
        .map(|prompt| prompt.text.as_str())
        .collect()
}

/// Where a fork before a prompt is cut.
pub fn cut(transcript: &Transcript, prompt: usize) -> Cut {
    transcript.prompts[prompt].cut.expect("the file holds it")
}

/// Writes the fork of `plan`, checks it, and puts it in place.
pub fn write_fork(plan: &ForkPlan, new_id: &str, dest: &Path) -> Result<ForkOutcome> {
    stage_fork(plan, new_id, dest)?.place()
}
