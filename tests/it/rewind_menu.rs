//! `tw rewind` without a mode on a terminal: what each choice would do, and each answer.

use std::path::PathBuf;

use serde_json::Value;

use crate::rewind::{prompts, read, rewinds, session_files, three_turns};
use crate::sandbox::Sandbox;
use crate::state::State;
use crate::terminal::Terminal;
use crate::transcripts::{Kind, Talk};

const QUESTION: &str = "Which [1-4] ";

const MENU: &str = "\
checkpoint 1 (5 minutes ago): two
  1 b  code and conversation  2 files, +2 -2 lines; 4 messages and 2,500 tokens discarded
  2 c  conversation           4 messages and 2,500 tokens discarded
  3 f  code                   2 files, +2 -2 lines
  4 n  never mind
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
    for wrong in ["5", "x", "0", "-1", "1 2"] {
        terminal.types(format!("{wrong}\n").as_bytes());
        terminal.shows(&format!(
            "{wrong}\none of these is needed: 1-4, b, c, f, n\n{QUESTION}"
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
fn what_cannot_go_back_is_no_choice_and_says_why() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    std::fs::remove_file(&talk.path).unwrap();
    let before = sandbox.state();
    let mut terminal = Terminal::tw(&sandbox, &["rewind", "1"]);
    let question = "Which [3-4] ";
    terminal.shows(question);
    for hidden in ["1", "2", "b", "c", "both"] {
        terminal.types(format!("{hidden}\n").as_bytes());
        terminal.shows(&format!(
            "{hidden}\none of these is needed: 3-4, f, n\n{question}"
        ));
        before.assert_same(&sandbox.state());
    }
    // The first that is left is what Enter takes.
    terminal.types(b"\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(
        shown.contains(
            "\n  3 f  code                   2 files, +2 -2 lines\n  4 n  never mind\nconversation cannot go back: "
        ) && !shown.contains("  1 b  "),
        "{shown}"
    );
    assert_eq!(sandbox.text("a.txt"), "one\ntwo\n");
}

#[test]
fn letters_words_and_enter_are_answers() {
    for (answer, done) in [
        (
            "\n",
            "rewound files and conversation to checkpoint 1: two\n",
        ),
        (
            "b\n",
            "rewound files and conversation to checkpoint 1: two\n",
        ),
        (
            "Conversation\n",
            "rewound conversation to checkpoint 1: two\n",
        ),
        ("f\n", "rewound files to checkpoint 1: two\n"),
        ("n\n", "nothing was done\n"),
    ] {
        let sandbox = Sandbox::new();
        three_turns(&sandbox, Kind::Claude);
        let mut terminal = asked(&sandbox);
        terminal.types(answer.as_bytes());
        let (code, shown) = terminal.ends();
        assert!(code == 0 && shown.contains(done), "{answer:?}: {shown}");
    }
}

#[test]
fn a_dry_run_without_a_mode_shows_what_each_would_do_and_asks_nothing() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let before = Before::new(&sandbox, &talk);
    let (code, shown) = Terminal::tw(&sandbox, &["rewind", "1", "--dry-run"]).ends();
    assert_eq!((code, shown.as_str()), (0, MENU));
    // The clock of the tests goes on with each command.
    let piped = sandbox.tw(["rewind", "1", "--dry-run"]);
    let later = MENU.replace("5 minutes", "6 minutes");
    assert_eq!((piped.code, piped.out()), (0, later));
    before.assert_nothing_done(&sandbox, &talk);
}

#[test]
fn a_dry_run_without_a_mode_is_one_document_with_what_each_would_do() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let before = Before::new(&sandbox, &talk);
    let mut all = sandbox.json(["rewind", "1", "--dry-run"]);
    let mut both = sandbox.json(["rewind", "1", "--both", "--dry-run"]);
    for refused in ["code_refused", "conversation_refused"] {
        assert_eq!(all[refused], Value::Null);
        all.as_object_mut().unwrap().remove(refused);
    }
    assert_eq!(all["mode"], Value::Null);
    both["mode"] = Value::Null;
    assert_eq!(all, both);
    before.assert_nothing_done(&sandbox, &talk);
    std::fs::remove_file(&talk.path).unwrap();
    let code = sandbox.json(["rewind", "1", "--dry-run"]);
    assert_eq!(
        (&code["code"], &code["conversation"]),
        (&both["code"], &Value::Null)
    );
    let why = code["conversation_refused"].as_str().unwrap();
    assert!(why.contains("not found") || why.contains("gone"), "{why}");
}

#[test]
fn without_a_checkpoint_those_of_the_session_are_listed() {
    let sandbox = Sandbox::new();
    let talk = three_turns(&sandbox, Kind::Claude);
    let before = Before::new(&sandbox, &talk);
    let listed = sandbox.tw(["rewind"]);
    assert_eq!(listed.code, 0, "{}", listed.err());
    for (number, prompt) in [(0, "one"), (1, "two"), (2, "three")] {
        let row =
            |line: &str| line.starts_with(&format!("{number:>4}  ")) && line.ends_with(prompt);
        assert!(listed.out().lines().any(row), "{}", listed.out());
    }
    assert_eq!(
        listed.err(),
        "hint: 'tw rewind N' shows what going back would do\n"
    );
    assert_eq!(
        sandbox.json(["rewind"])["checkpoints"],
        sandbox.json(["checkpoint", "list"])["checkpoints"]
    );
    let other = sandbox.tw(["rewind", "--session", &talk.id]);
    assert_eq!(other.out().lines().count(), 3);
    // What only makes sense with a checkpoint is refused, not ignored.
    for flag in [
        &["--both"][..],
        &["--note", "x"],
        &["--rationale", "x"],
        &["--exec"],
        &["--dry-run"],
    ] {
        let (error, code) = sandbox.json_error([&["rewind"], flag].concat());
        assert_eq!(
            (error["code"].as_str(), code),
            (Some("USAGE"), 2),
            "{flag:?}"
        );
    }
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
    let menu = "checkpoint 3 (1 minute ago): tests pass\n  1 b  code and conversation  no file differs; 0 messages and 0 tokens discarded\n  2 c  conversation           0 messages and 0 tokens discarded\n  3 f  code                   no file differs\n  4 n  never mind\nthe prompt before it, which stays, was: three\n";
    assert_eq!(
        (code, shown),
        (0, format!("{menu}{QUESTION}4\nnothing was done\n"))
    );
}
