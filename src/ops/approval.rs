//! Which commands may run on this machine.
//!
//! A command comes with an issue, and an issue may come from elsewhere; or a program asks for it. It runs only when somebody here said
//! so, or has typed it. What was approved stands in a file of the common git directory, which nothing fetches or pushes: a line for each
//! command, a hash over it and over what tells this git directory from every copy of it. A repository that was copied here, or unpacked,
//! brings no approvals along. The same file remembers which commands were shown here, by their sha256: two that begin with the same
//! digits are quickly made, and `--allow` takes those digits for the one that was shown.
//!
//! A command does what the files say that it runs among: `sh check.sh` is whatever `check.sh` is. So one that was approved may run among
//! files that were made here; among those of a snapshot from elsewhere it has to be approved for their very tree ([`Files`]).

use std::ffi::OsString;
use std::io::Write;

use sha2::{Digest, Sha256};

use super::elsewhere::Files;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::git::hex::hex;
use crate::git::regular::{self, Links};
use crate::redact;
use crate::store::Store;
use crate::store::id::{IssueId, SnapshotId};
use crate::store::stored::Stored;
use crate::text::command_line;

/// The detail of a refusal: the command.
pub const COMMAND: &str = "command";
/// The detail of a refusal: what `--allow` takes for the command.
pub const VERIFY_HASH: &str = "verify_hash";
/// The detail of a refusal: the snapshot among whose files it would have run, when they were not made here.
pub const SNAPSHOT: &str = "snapshot_id";
/// The file in the common `timewarp` directory.
const FILE: &str = "approved";
/// How many digits a person has to repeat.
const SHOWN: usize = 12;
/// What a line begins with that names a command that was shown.
const SHOWN_LINE: &str = "shown ";

/// Refuses a command without a word: an unset variable of a script's, whose success would say nothing.
///
/// # Errors
/// `USAGE`.
pub fn check_words(command: &str) -> Result<()> {
    if command.trim().is_empty() {
        return Err(Error::usage("the command is empty"));
    }
    Ok(())
}

fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// The first 12 hex digits of a sha256, which name it in `--allow`.
fn short(text: &str) -> String {
    digest(text).chars().take(SHOWN).collect()
}

/// What `--allow` takes for a command that is shown now: the first 12 hex digits of its sha256; all of them where another command with
/// these was shown here, or where nobody can remember that this one was.
pub fn show(store: &Store, command: &str, files: Files) -> String {
    name(store, &files.with(command), |line| add(store, line).is_ok())
}

/// As [`show`], for those who may write nothing: 12 digits only of a command that was shown before.
pub fn shown(store: &Store, command: &str, files: Files) -> String {
    let is_known = |line: &str| read(store).is_ok_and(|text| text.lines().any(|one| one == line));
    name(store, &files.with(command), is_known)
}

fn name(store: &Store, text: &str, remembers: impl Fn(&str) -> bool) -> String {
    let whole = digest(text);
    let is_alone = matches!(was_another_shown(store, text), Ok(false));
    if is_alone && remembers(&format!("{SHOWN_LINE}{whole}")) {
        short(text)
    } else {
        whole
    }
}

/// Whether something was shown here that begins with the same digits and is something else.
fn was_another_shown(store: &Store, text: &str) -> Result<bool> {
    let (known, digest, short) = (read(store)?, digest(text), short(text));
    let mut shown = known
        .lines()
        .filter_map(|line| line.strip_prefix(SHOWN_LINE));
    Ok(shown.any(|other| other.starts_with(&short) && other != digest))
}

/// Approves a command when `word` names it: its whole sha256, or the first 12 digits unless another command with these was shown here.
/// Among files from elsewhere the sha256 is that of the command and their tree.
///
/// # Errors
/// `NOT_APPROVED` for digits that name another command, too; `USAGE` for a part of a sha256 of another length.
pub fn allow(
    store: &Store,
    id: IssueId,
    (command, files): (&str, Files),
    word: &str,
) -> Result<bool> {
    let text = files.with(command);
    let whole = digest(&text);
    let is_part = word.len() != SHOWN && word.len() < whole.len() && !word.is_empty();
    if is_part && whole.starts_with(word) {
        let message = format!("'{word}' is not 12 hex digits or a whole sha256");
        return Err(Error::new(Code::Usage, message).hint(format!("tw issue get {id}")));
    }
    if word != whole && word != short(&text) {
        return Ok(false);
    }
    if word != whole && was_another_shown(store, &text)? {
        let message =
            format!("another command was shown here as '{word}' than this one: {command}");
        return Err(Error::new(Code::NotApproved, message)
            .hint(format!(
                "when it is harmless: tw issue verify {id} --allow {whole}"
            ))
            .detail(COMMAND, command)
            .detail(VERIFY_HASH, whole));
    }
    approve(store, command, files)?;
    Ok(true)
}

/// Where a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// In the working tree, too: it checks issues.
    Anywhere,
    /// In a scratch: somebody typed it for `tw try` or `tw bisect run`, and approved it for no issue.
    Scratch,
}

/// A command that is approved in this very git directory.
fn line(store: &Store, (command, files): (&str, Files), place: Where) -> Result<String> {
    let here = store.place()?.key;
    let place = match place {
        Where::Anywhere => "",
        Where::Scratch => "\0scratch",
    };
    Ok(digest(&format!("{here}\0{}{place}", files.with(command))))
}

fn read(store: &Store) -> Result<String> {
    let bytes = regular::read_optional(&store.common(FILE))?.unwrap_or_default();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Adds a line that is not there yet.
fn add(store: &Store, line: &str) -> Result<()> {
    let text = read(store)?;
    if text.lines().any(|known| known == line) {
        return Ok(());
    }
    create::private_dir(&store.common(""))?;
    let path = store.common(FILE);
    let what = || format!("cannot write '{}'", path.display());
    // A line that was not written to its end stays by itself.
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    // By one 'write' to the end: of those that are added at the same moment none is lost.
    let mut file = regular::append(&path, 0o600, Links::Refuse).context(what)?;
    file.write_all(format!("{end}{line}\n").as_bytes())
        .context(what)
}

/// Whether a command may run here as the check of an issue.
///
/// # Errors
/// When the file cannot be read.
pub fn is_approved(store: &Store, command: &str, files: Files) -> Result<bool> {
    is_approved_for(store, (command, files), Where::Anywhere)
}

fn is_approved_for(store: &Store, what: (&str, Files), place: Where) -> Result<bool> {
    let text = read(store)?;
    if text.is_empty() {
        return Ok(false);
    }
    let line = line(store, what, place)?;
    Ok(text.lines().any(|known| known == line))
}

/// Lets a command run here from now on, as the check of an issue, too. One that may run among files from elsewhere may among those of
/// here.
///
/// # Errors
/// When the file cannot be written.
pub fn approve(store: &Store, command: &str, files: Files) -> Result<()> {
    store.ensure_repository_id()?;
    add(store, &line(store, (command, files), Where::Anywhere)?)?;
    if files == Files::OfHere {
        return Ok(());
    }
    add(
        store,
        &line(store, (command, Files::OfHere), Where::Anywhere)?,
    )
}

/// Lets a command run that a person typed here as the check of an issue: among the files that are here, among those of the snapshot that the
/// issue is at with it, and of both.
///
/// # Errors
/// As [`approve`]; what is known of the files cannot be read.
pub fn approve_typed(store: &Store, command: &str, snapshot: Option<&Stored>) -> Result<()> {
    approve(store, command, Files::of_worktree(store)?)?;
    if let Some(stored) = snapshot {
        approve(store, command, Files::of(store, stored)?)?;
        approve(store, command, Files::laid_out(store, stored)?)?;
    }
    Ok(())
}

/// What to do about a command that redaction changed.
pub const UNREDACTED: &str = "let it read the secret from the environment or a file, and give it anew with 'tw issue edit ISSUE --verify COMMAND'";

/// Refuses the verify command of an issue unless it was approved to run among these files.
///
/// # Errors
/// `NOT_APPROVED` with the command, and the hash that allows it; of one that redaction changed, what else to do.
pub fn check_of_issue(store: &Store, id: IssueId, command: &str, files: Files) -> Result<()> {
    if is_approved(store, command, files)? {
        return Ok(());
    }
    let hash = show(store, command, files);
    let hint = if command.contains(redact::MARK) {
        format!("it was redacted: {UNREDACTED}")
    } else {
        format!("when it is harmless: tw issue verify {id} --allow {hash}")
    };
    Err(not_approved("the verify command", command, files)
        .hint(hint)
        .detail(VERIFY_HASH, hash))
}

/// Refuses to run anything for an issue among files from elsewhere before its check was approved for them: who works on an issue names
/// no snapshot, and whoever may change the issue chooses which it is.
///
/// # Errors
/// As [`check_of_issue`]; `NOT_APPROVED` for an issue without a check.
pub fn check_files(store: &Store, id: IssueId, command: Option<&str>, files: Files) -> Result<()> {
    match (files, command) {
        (Files::OfHere, _) => Ok(()),
        (_, Some(command)) => check_of_issue(store, id, command, files),
        (Files::FromElsewhere { snapshot, .. }, None) => {
            let message = format!(
                "the files of snapshot '{snapshot}' were not made on this machine, and issue {id} has no verify command that was approved to run among them"
            );
            Err(Error::new(Code::NotApproved, message)
                .hint(look_at(snapshot))
                .hint(format!(
                    "when they are harmless: tw try {snapshot} -- COMMAND, or give the issue a check with 'tw issue edit {id} --verify COMMAND'"
                ))
                .detail(SNAPSHOT, snapshot.to_string()))
        }
    }
}

fn look_at(snapshot: SnapshotId) -> String {
    format!("look at what is in them: tw diff {snapshot} present")
}

/// That a command may not run here, and where that would have been.
fn not_approved(what: &str, command: &str, files: Files) -> Error {
    let error = |among: &str| {
        let message = format!("{what} was not approved on this machine{among}: {command}");
        Error::new(Code::NotApproved, message).detail(COMMAND, command)
    };
    match files {
        Files::OfHere => error(""),
        Files::FromElsewhere { snapshot, .. } => {
            let among = format!(
                " to run among the files of snapshot '{snapshot}', which were not made here"
            );
            error(&among)
                .hint(look_at(snapshot))
                .detail(SNAPSHOT, snapshot.to_string())
        }
    }
}

/// Lets commands run in scratches that a person has typed here, and refuses others unless they were typed for one before, or
/// approved. Who types a command approves no issue's check that says the same, and none among other files from elsewhere.
///
/// # Errors
/// `NOT_APPROVED` with the command and its hash.
pub fn check<'a>(
    store: &Store,
    is_typed: bool,
    commands: impl IntoIterator<Item = &'a str>,
    files: Files,
) -> Result<()> {
    for command in commands {
        let what = (command, files);
        if is_typed {
            store.ensure_repository_id()?;
            add(store, &line(store, what, Where::Scratch)?)?;
        } else if !is_approved_for(store, what, Where::Scratch)?
            && !is_approved(store, command, files)?
        {
            let by = match files {
                Files::OfHere => "tw try -- COMMAND".to_owned(),
                Files::FromElsewhere { snapshot, .. } => format!("tw try {snapshot} -- COMMAND"),
            };
            return Err(not_approved("the command", command, files)
                .hint(format!("a person approves it by running it once: {by}"))
                .detail(VERIFY_HASH, show(store, command, files)));
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
        assert_eq!(short("make check").len(), 12);
        assert!(digest("make check").starts_with(&short("make check")));
        assert_ne!(short("make check"), short("make check "));
    }
}
