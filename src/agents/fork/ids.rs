//! New ids for sessions, in the form that each agent gives its own.

use crate::env::Moment;
use crate::error::Result;
use crate::git::hex::hex;
use crate::git::random;

/// A new session id for `agent`: a random UUID, for Codex one that begins with the time (version 7), for
/// opencode its own form.
///
/// # Errors
/// `IO` when the system has no random bytes to give.
pub fn new_session_id(agent: &str, now: Moment) -> Result<String> {
    let mut bytes = [0_u8; 20];
    random::fill(&mut bytes)?;
    Ok(match crate::agents::by_name(agent) {
        Some(agent) => agent.new_session_id(bytes, now),
        None => uuid(bytes),
    })
}

/// A random UUID (version 4).
pub fn uuid(random: [u8; 20]) -> String {
    versioned(random, 0x40)
}

/// A UUID that begins with the time (version 7).
pub fn uuid_of_time(mut random: [u8; 20], now: Moment) -> String {
    let millis = u64::try_from(now.0 / 1_000_000).unwrap_or(0).to_be_bytes();
    let [_, _, time @ ..] = millis;
    random[..6].copy_from_slice(&time);
    versioned(random, 0x70)
}

fn versioned(mut random: [u8; 20], version: u8) -> String {
    let (bytes, _) = random.split_first_chunk_mut::<16>().expect("twenty bytes");
    bytes[6] = version | (bytes[6] & 0x0f);
    // The variant of RFC 9562.
    bytes[8] = 0x80 | (bytes[8] & 0x3f);
    format_uuid(*bytes)
}

/// opencode's own form: the newest comes first, by a time that counts down; then letters by chance.
pub fn opencode_id(now: Moment, random: &[u8]) -> String {
    let millis = u64::try_from(now.0 / 1_000_000).unwrap_or(0);
    let [_, _, time @ ..] = (!(millis.wrapping_mul(0x1000) + 1)).to_be_bytes();
    format!("ses_{}{}", hex(&time), letters(random))
}

/// Fourteen letters and digits from random bytes.
pub fn letters(random: &[u8]) -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let letter = |byte: &u8| ALPHABET.get(usize::from(*byte) % ALPHABET.len());
    let letters = random.iter().take(14).filter_map(letter);
    letters.map(|letter| char::from(*letter)).collect()
}

fn format_uuid(bytes: [u8; 16]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        write!(text, "{byte:02x}").expect("writing to a string does not fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_the_form_their_agent_expects() {
        let now = Moment(1_778_488_015_042 * 1_000_000);
        let random = new_session_id("claude", now).expect("random bytes");
        assert_eq!(random.len(), 36);
        assert_eq!(random.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&random.as_bytes()[19]));
        assert_ne!(random, new_session_id("claude", now).expect("random bytes"));
        let timed = new_session_id("codex", now).expect("random bytes");
        assert!(timed.starts_with("019e1625-78c2-7"), "{timed}");
        assert!(
            new_session_id("kimi-code", now)
                .expect("random bytes")
                .starts_with("session_")
        );
    }
}
