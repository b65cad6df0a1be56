//! Which commands may run on this machine.
//!
//! A command comes with an issue, and an issue may come from elsewhere; or a program asks for it. It runs only when somebody here said
//! so, or has typed it: the sha256 of each such command stands in a file of the common git directory, one a line, which nothing fetches or pushes.

use std::ffi::OsString;

use sha2::{Digest, Sha256};

use crate::error::{Code, Error, Result};
use crate::git::fs::{self, Durable};
use crate::git::hex::hex;
use crate::redact;
use crate::store::Store;
use crate::store::id::IssueId;
use crate::text::command_line;

/// The file in the common `timewarp` directory.
const FILE: &str = "approved";
/// How many digits a person has to repeat.
const SHOWN: usize = 12;

fn digest(command: &str) -> String {
    hex(&Sha256::digest(command.as_bytes()))
}

/// The first 12 hex digits of a command's sha256, which name it in `--allow`.
pub fn fingerprint(command: &str) -> String {
    digest(command).chars().take(SHOWN).collect()
}

/// Whether a command may run here.
/// # Errors
/// When the file cannot be read.
pub fn is_approved(store: &Store, command: &str) -> Result<bool> {
    let bytes = fs::read_optional(&store.common(FILE))?.unwrap_or_default();
    let digest = digest(command);
    Ok(bytes
        .split(|byte| *byte == b'\n')
        .any(|line| line == digest.as_bytes()))
}

/// Lets a command run here from now on.
///
/// # Errors
/// When the file cannot be written.
pub fn approve(store: &Store, command: &str) -> Result<()> {
    if is_approved(store, command)? {
        return Ok(());
    }
    crate::git::create::private_dir(&store.common(""))?;
    let path = store.common(FILE);
    let mut bytes = fs::read_optional(&path)?.unwrap_or_default();
    bytes.extend_from_slice(digest(command).as_bytes());
    bytes.push(b'\n');
    fs::write_atomic(&path, &bytes, Durable::No)
}

/// What to do about a command that redaction changed.
pub const UNREDACTED: &str = "let it read the secret from the environment or a file, and give it anew with 'tw issue edit ISSUE --verify COMMAND'";

/// Refuses the verify command of an issue unless it was approved.
///
/// # Errors
/// `NOT_APPROVED` with the command, and the hash that allows it; of one that redaction changed, what else to do.
pub fn check_of_issue(store: &Store, id: IssueId, command: &str) -> Result<()> {
    if is_approved(store, command)? {
        return Ok(());
    }
    let hash = fingerprint(command);
    let hint = if command.contains(redact::MARK) {
        format!("it was redacted: {UNREDACTED}")
    } else {
        format!("when it is harmless: tw issue verify {id} --allow {hash}")
    };
    let message = format!("the verify command was not approved on this machine: {command}");
    Err(Error::new(Code::NotApproved, message)
        .hint(hint)
        .detail("command", command)
        .detail("verify_hash", hash))
}

/// Lets commands run that a person has typed here, and refuses others unless they were approved.
///
/// # Errors
/// `NOT_APPROVED` with the command and its hash.
pub fn check<'a>(
    store: &Store,
    is_typed: bool,
    commands: impl IntoIterator<Item = &'a str>,
) -> Result<()> {
    for command in commands {
        if is_typed {
            approve(store, command)?;
        } else if !is_approved(store, command)? {
            let message = format!("the command was not approved on this machine: {command}");
            return Err(Error::new(Code::NotApproved, message)
                .hint("a person approves it by running it once: tw try -- COMMAND")
                .detail("command", command)
                .detail("verify_hash", fingerprint(command)));
        }
    }
    Ok(())
}

/// A command as it is approved: the line for a shell that does the same.
pub fn line_of(words: &[OsString]) -> String {
    match words {
        [line] => line.to_string_lossy().into_owned(),
        words => {
            let words = words.iter().map(|word| word.to_string_lossy().into_owned());
            command_line(&words.collect::<Vec<_>>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_named_by_the_start_of_its_hash() {
        // printf 'make check' | sha256sum
        assert_eq!(fingerprint("make check").len(), 12);
        assert!(digest("make check").starts_with(&fingerprint("make check")));
        assert_ne!(fingerprint("make check"), fingerprint("make check "));
    }
}
