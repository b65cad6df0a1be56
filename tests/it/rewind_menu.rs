//! `tw rewind` without a mode on a terminal: what each choice would do, and each answer.

use std::path::PathBuf;

use crate::rewind::{prompts, read, rewinds, session_files, three_turns};
use crate::sandbox::Sandbox;
use crate::state::State;
use crate::terminal::Terminal;
use crate::transcripts::{Kind, Talk};

const QUESTION: &str = "Which [1-4] ";

const MENU: &str = "\
checkpoint 1 (7 minutes ago): two
  1  code and conversation  2 files, +2 -2 lines; 4 messages and 2,500 tokens discarded
  2  conversation           4 messages and 2,500 tokens discarded
  3  code                   2 files, +2 -2 lines
  4  never mind
";

/// The menu of a session with three turns, waiting for an answer.
fn asked(sandbox: &Sandbox) -> Terminal {
    let mut terminal = Terminal::tw(sandbox, &["rewind", "1"]);
    terminal.shows(QUESTION);
    terminal
}

/// What a rewind could have changed.
struct Before {
    tree: State,
    talk: Vec<(PathBuf, Vec<u8>)>,
    files: Vec<PathBuf>,
}

impl Before {
    fn new(sandbox: &Sandbox, talk: &Talk<'_>) -> Self {
        Self {
            tree: sandbox.state(),
            talk: talk.files(),
            files: session_files(sandbox),
        }
    }

    fn assert_nothing_done(&self, sandbox: &Sandbox, talk: &Talk<'_>) {
        self.tree.assert_same(&sandbox.state());
        assert_eq!(talk.files(), self.talk);
        assert_eq!(session_files(sandbox), self.files);
        assert!(rewinds(sandbox, &talk.id).is_empty());
    }
}

/// The one session file that was not there before.
fn fork(sandbox: &Sandbox, before: &Before) -> PathBuf {
    let mut files = session_files(sandbox);
    files.retain(|file| !before.files.contains(file));
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn one_takes_both_back() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let before = Before::new(&sandbox, &talk);
    let mut terminal = asked(&sandbox);
    terminal.types(b"1\n");
    let (code, shown) = terminal.ends();
    let (menu, rest) = shown.split_once(QUESTION).unwrap();
    assert_eq!((code, menu), (0, MENU), "{rest}");
    // The same numbers as were shown before.
    assert!(
        rest.contains(
            "rewound files and conversation to checkpoint 1: two\n  files: 2 files, +2 -2 lines\n"
        ) && rest.contains("  conversation: 4 messages and 2,500 tokens discarded\n"),
        "{rest}"
    );
    assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
    assert!(!sandbox.exists("new.txt"));
    assert_eq!(prompts(&read(&fork(&sandbox, &before))), ["one"]);
    assert_eq!(talk.files(), before.talk);
    assert_eq!(rewinds(&sandbox, &talk.id)[0]["mode"], "both");
}

#[test]
fn two_takes_the_conversation_back() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let before = Before::new(&sandbox, &talk);
    let mut terminal = asked(&sandbox);
    terminal.types(b"2\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("rewound conversation to checkpoint 1: two\n"),
        "{shown}"
    );
    before.tree.assert_same(&sandbox.state());
    assert_eq!(prompts(&read(&fork(&sandbox, &before))), ["one"]);
    assert_eq!(rewinds(&sandbox, &talk.id)[0]["mode"], "conversation");
}

#[test]
fn three_takes_the_files_back() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let before = Before::new(&sandbox, &talk);
    let mut terminal = asked(&sandbox);
    terminal.types(b"3\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains("rewound files to checkpoint 1: two\n"),
        "{shown}"
    );
    assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
    assert_eq!(session_files(&sandbox), before.files);
    assert_eq!(rewinds(&sandbox, &talk.id)[0]["mode"], "code");
}

#[test]
fn four_and_the_end_of_input_do_nothing() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let before = Before::new(&sandbox, &talk);
    for (keys, echo) in [(&b"4\n"[..], "4\n"), (b"\x04", "\n")] {
        let mut terminal = asked(&sandbox);
        terminal.types(keys);
        let (code, shown) = terminal.ends();
        let (_, rest) = shown.split_once(QUESTION).unwrap();
        assert_eq!((code, rest), (0, &*format!("{echo}nothing was done\n")));
        before.assert_nothing_done(&sandbox, &talk);
    }
}

#[test]
fn what_is_no_choice_is_asked_again() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let before = Before::new(&sandbox, &talk);
    let mut terminal = asked(&sandbox);
    for wrong in ["5", "both", "", "0", "-1", "1 2"] {
        terminal.types(format!("{wrong}\n").as_bytes());
        terminal.shows(&format!(
            "{wrong}\na number from 1 to 4 is needed\n{QUESTION}"
        ));
        terminal.forgets();
    }
    before.assert_nothing_done(&sandbox, &talk);
    terminal.types(b" 4 \n");
    let (code, shown) = terminal.ends();
    assert_eq!((code, &*shown), (0, " 4 \nnothing was done\n"));
}

#[test]
fn ctrl_c_ends_it_and_nothing_was_done() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let before = Before::new(&sandbox, &talk);
    for keys in [&b"\x03"[..], b"1\x03"] {
        let mut terminal = asked(&sandbox);
        terminal.types(keys);
        let (code, shown) = terminal.ends();
        assert_eq!(code, 130, "{shown}");
        before.assert_nothing_done(&sandbox, &talk);
    }
}

#[test]
fn a_choice_that_cannot_be_made_says_why_and_refuses() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    std::fs::remove_file(&talk.path).unwrap();
    let before = sandbox.state();
    for (answer, works) in [("1", false), ("2", false), ("3", true)] {
        let mut terminal = Terminal::tw(&sandbox, &["rewind", "1"]);
        terminal
            .shows(QUESTION)
            .types(format!("{answer}\n").as_bytes());
        let (code, shown) = terminal.ends();
        assert!(
            shown.contains("  1  code and conversation  not possible\n  2  conversation           not possible: ")
                && shown.contains("  3  code                   2 files, +2 -2 lines\n"),
            "{shown}"
        );
        if works {
            assert_eq!(code, 0, "{shown}");
            assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
        } else {
            assert_eq!(code, 3, "{shown}");
            before.assert_same(&sandbox.state());
        }
    }
}

#[test]
fn with_a_dry_run_the_choice_is_only_shown() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let before = Before::new(&sandbox, &talk);
    let mut terminal = Terminal::tw(&sandbox, &["rewind", "1", "--dry-run"]);
    terminal.shows(QUESTION).types(b"1\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("would rewind files and conversation to checkpoint 1: two\n"));
    before.assert_nothing_done(&sandbox, &talk);
}

#[test]
fn in_mid_turn_the_prompt_that_is_returned_to_is_named() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    sandbox.ok(["checkpoint", "-m", "tests pass", "--session", &talk.id]);
    let mut terminal = Terminal::tw(&sandbox, &["rewind", "3"]);
    terminal.shows(QUESTION).types(b"4\n");
    let (code, shown) = terminal.ends();
    let menu = "checkpoint 3 (1 minute ago): tests pass\n  1  code and conversation  no file differs; 0 messages and 0 tokens discarded\n  2  conversation           0 messages and 0 tokens discarded\n  3  code                   no file differs\n  4  never mind\nthe prompt there was: three\n";
    assert_eq!(
        (code, shown),
        (0, format!("{menu}{QUESTION}4\nnothing was done\n"))
    );
}
