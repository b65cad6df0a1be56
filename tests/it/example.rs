//! The examples run, and the documents show what they say: `examples/loop.sh` in `docs/protocol.md`, whole,
//! `examples/rewind.sh` in `docs/rewind.md`, `examples/share.sh` in `docs/sharing.md`,
//! `examples/without-git.sh` in `docs/without-git.md` and `examples/workspaces.sh` in `docs/workspaces.md`, piece by piece.
//! `TW_BLESS=1` puts a new run into both.

use std::path::{Path, PathBuf};

use regex::Regex;

use crate::sandbox::{Kind, Sandbox};

const BEGIN: &str = "<!-- the output of examples/loop.sh -->\n```console\n";
const END: &str = "```\n<!-- its end -->\n";

/// How a piece of output begins and ends in a document.
const PIECE: &str = "```console\n";
const PIECE_END: &str = "```\n";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// What an example says.
fn said_by(example: &str) -> String {
    said_in(&Sandbox::new(), example)
}

fn said_in(sandbox: &Sandbox, example: &str) -> String {
    let output = sandbox
        .command(file(example))
        .env("TW", env!("CARGO_BIN_EXE_tw"))
        .output()
        .unwrap();
    let (said, complained) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(output.status.success(), "{said}\n{complained}");
    said
}

fn is_blessed() -> bool {
    std::env::var_os("TW_BLESS").is_some_and(|value| value == "1")
}

/// The text without what differs from run to run: ids, times, the directory.
fn settled(text: &str) -> String {
    let sandbox = Sandbox::bare_room();
    let mut text = sandbox.redact(text);
    for (pattern, instead) in [
        (r"(?m) after .* ms: ", " after N ms: "),
        (r"\b[0-9a-f]{7}\.\.[0-9a-f]{7}\b", "…"),
        (r"\S*/tw-loop-\S*", "…"),
        (r"\b(issues|sessions|experiments)/[0-9a-f]{2}/", "$1/…/"),
        (r"\btw-\d{8}-\d{6}-[0-9a-f]{6}\b", "[session]"),
        (r"\bt_\d{8}_\d{6}_[a-z0-9]{6}\b", "[try]"),
        (r"--allow-finding [0-9a-f]{12}", "--allow-finding …"),
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "[uuid]"),
        (r"\b(now|[0-9]+ (second|minute)s? ago)\b", "[time]"),
    ] {
        let pattern = Regex::new(pattern).unwrap();
        text = pattern.replace_all(&text, instead).into_owned();
    }
    text
}

#[test]
fn the_loop_runs_and_the_document_shows_it() {
    let said = said_by("examples/loop.sh");
    assert!(!said.contains("hunter2-Violet-77"), "{said}");
    let document = file("docs/protocol.md");
    let text = std::fs::read_to_string(&document).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("where the output begins");
    let (shown, after) = rest.split_once(END).expect("where the output ends");
    if is_blessed() {
        let text = format!("{before}{BEGIN}{said}{END}{after}");
        std::fs::write(&document, text).unwrap();
        return;
    }
    assert_eq!(
        settled(shown),
        settled(&said),
        "TW_BLESS=1 cargo test --test it example puts the new output into docs/protocol.md"
    );
}

/// The output of the command that a piece begins with: up to the empty line that the example puts after each.
fn output_of<'a>(said: &'a str, piece: &str) -> &'a str {
    let command = piece.lines().next().unwrap_or_default();
    let at = said.find(&format!("{command}\n"));
    let rest = &said[at.unwrap_or_else(|| panic!("'{command}' is not in the example:\n{said}"))..];
    rest.split("\n\n").next().unwrap_or_default().trim_end()
}

/// Compares each piece of output in a document with what the example says now, or puts that there. Gives their number.
fn pieces_are_said(name: &str, said: &str) -> usize {
    let document = file(name);
    let text = std::fs::read_to_string(&document).unwrap();
    let mut pieces = text.split(PIECE);
    let mut written = pieces.next().unwrap_or_default().to_owned();
    let mut count = 0;
    for piece in pieces {
        let (shown, after) = piece.split_once(PIECE_END).expect("where it ends");
        let output = output_of(said, shown);
        if !is_blessed() {
            assert_eq!(
                settled(shown.trim_end()),
                settled(output),
                "TW_BLESS=1 cargo test --test it example puts the new output into {name}"
            );
        }
        written.push_str(&format!("{PIECE}{output}\n{PIECE_END}{after}"));
        count += 1;
    }
    if is_blessed() {
        std::fs::write(&document, written).unwrap();
    }
    count
}

#[test]
fn the_rewind_runs_and_the_document_shows_it() {
    let said = said_by("examples/rewind.sh");
    assert!(
        said.contains("\nthe original session file is as it was\n"),
        "{said}"
    );
    let count = pieces_are_said("docs/rewind.md", &said);
    assert!(count >= 6, "the document shows what the example says");
}

#[test]
fn the_sharing_runs_and_the_document_shows_it() {
    let said = said_by("examples/share.sh");
    assert!(!said.contains("Violet"), "{said}");
    assert!(said.contains("\nexit status 5\n"), "{said}");
    let count = pieces_are_said("docs/sharing.md", &said);
    assert!(count >= 8, "the document shows what the example says");
}

#[test]
fn a_directory_without_git_is_kept_and_the_document_shows_it() {
    let said = said_by("examples/without-git.sh");
    assert!(said.contains("\n$ ls -A\ntodo.md\n"), "{said}");
    let count = pieces_are_said("docs/without-git.md", &said);
    assert!(count >= 10, "the document shows what the example says");
}

#[test]
fn three_repositories_go_together_and_the_document_shows_it() {
    // It tells the sizes of objects.
    let said = said_in(&Sandbox::of(Kind::PLAIN), "examples/workspaces.sh");
    let count = pieces_are_said("docs/workspaces.md", &said);
    assert!(count >= 7, "the document shows what the example says");
}
