//! What the tests of every agent ask of a conversation.

use super::transcript::{Cut, Transcript};

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
