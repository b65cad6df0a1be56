//! `tw ui`, in a real terminal: tmux is one, and tells what stands on its screen.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, executable, skipped};

/// Nothing that is waited for takes longer, unless it never comes.
const LONG: Duration = Duration::from_secs(60);

/// The foot of a question.
const ASKED: &str = "[ no: Enter ]";

/// A tmux server of its own with one window, in which a shell runs `tw ui` and stays.
struct Tmux<'s> {
    sandbox: &'s Sandbox,
}

impl<'s> Tmux<'s> {
    /// None where there is no tmux.
    fn start(sandbox: &'s Sandbox, (columns, lines): (u16, u16), args: &str) -> Option<Self> {
        if !executable("tmux".as_ref()).is_absolute() {
            skipped("tmux", "there is no tmux");
            return None;
        }
        let prepared = sandbox.tw_command();
        let script = format!(
            "trap gone=1 HUP; stty -g > ../before; sh -c 'echo $$ > ../pid; exec \"$0\" ui {args}' \"$TW\"; \
             code=$?; echo $code > ../code; [ $gone ] && exit; \
             echo \"ended with $code\"; stty -g > ../after; exec sleep 600"
        );
        let tmux = Self { sandbox };
        let mut command = tmux.command();
        command.args(["-f", "/dev/null", "new-session", "-d"]);
        command.args(["-x", &columns.to_string(), "-y", &lines.to_string()]);
        command.args(["env", "-i", "TERM=screen-256color"]);
        for (name, value) in prepared.get_envs() {
            let pair = [name, value.unwrap_or_default()].join("=".as_ref());
            command.arg(pair);
        }
        let program = prepared.get_program().to_str().unwrap();
        command.args(["LC_ALL=C.UTF-8", &format!("TW={program}")]);
        command
            .args(["sh", "-c", &script])
            .current_dir(sandbox.repo());
        assert!(command.status().unwrap().success());
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.sandbox.root().join("tmux"));
        command
    }

    fn ask(&self, args: &[&str]) -> String {
        let output = self.command().args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn screen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// Types keys, by tmux's names.
    fn types(&self, keys: &[&str]) -> &Self {
        self.ask(&[&["send-keys"], keys].concat());
        self
    }

    /// Answers the question on the screen.
    #[track_caller]
    fn answers(&self, key: &str) -> &Self {
        let is_asked = |tmux: &Self| tmux.screen().contains(ASKED);
        self.waits("the question", is_asked)
            .types_until(key, |tmux| !is_asked(tmux))
    }

    /// Types a key, again each second: one that came in the moment in which a question was drawn is no answer.
    #[track_caller]
    fn types_until(&self, key: &str, is: impl Fn(&Self) -> bool) -> &Self {
        let begun = Instant::now();
        while !self.types(&[key]).is_within(Duration::from_secs(1), &is) {
            let screen = self.screen();
            assert!(begun.elapsed() < LONG, "{key} answered nothing:\n{screen}");
        }
        self
    }

    /// Waits so long at most, and says whether it is so.
    fn is_within(&self, long: Duration, is: &impl Fn(&Self) -> bool) -> bool {
        let begun = Instant::now();
        while !is(self) {
            if begun.elapsed() >= long {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Agrees to what would be something else by now, which is shown instead.
    #[track_caller]
    fn asks_again(&self) -> &Self {
        self.types_until("y", |tmux| tmux.screen().contains("something else by now"))
    }

    #[track_caller]
    fn waits(&self, what: &str, is: impl Fn(&Self) -> bool) -> &Self {
        assert!(
            self.is_within(LONG, &is),
            "{what} never came:\n{}",
            self.screen()
        );
        self
    }

    /// Types Escape, and waits until the dialog that says this is gone: a key that comes at once behind Escape is one with it to a terminal.
    #[track_caller]
    fn leaves(&self, said: &str) -> &Self {
        self.types(&["Escape"])
            .waits("the end of the dialog", |tmux| {
                !tmux.screen().contains(said)
            })
    }

    #[track_caller]
    fn shows(&self, text: &str) -> &Self {
        self.waits(text, |tmux| tmux.screen().contains(text))
    }

    /// Whether the program has the whole screen and the mouse.
    fn is_taken(&self) -> bool {
        self.ask(&["display-message", "-p", "#{alternate_on}#{mouse_any_flag}"])
            .trim()
            == "11"
    }

    fn is_given_back(&self) -> bool {
        self.ask(&["display-message", "-p", "#{alternate_on}#{mouse_any_flag}"])
            .trim()
            == "00"
    }

    fn kill(&self, signal: &str) {
        let pid = self.sandbox.root().join("pid");
        let pid = std::fs::read_to_string(pid).unwrap();
        let killed = Command::new("kill").args([signal, pid.trim()]).status();
        assert!(killed.unwrap().success());
    }

    /// The program is gone, and the terminal is as it was before.
    #[track_caller]
    fn ended(&self, code: &str) {
        self.shows(&format!("ended with {code}"));
        self.waits("the terminal", Self::is_given_back);
        let read = |name| std::fs::read_to_string(self.sandbox.root().join(name)).unwrap();
        self.waits("after", |tmux| {
            std::fs::read_to_string(tmux.sandbox.root().join("after"))
                .is_ok_and(|text| !text.is_empty())
        });
        assert_eq!(read("before"), read("after"));
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}

fn some() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("notes.txt", "one\n");
    sandbox.ok(["snapshot", "-m", "first notes"]);
    sandbox.write("notes.txt", "two\n");
    sandbox.ok(["snapshot", "-m", "second notes"]);
    sandbox
}

#[test]
fn off_a_terminal_it_prints_what_log_prints() {
    let sandbox = some();
    let log = sandbox.tw(["log"]);
    let ui = sandbox.tw(["ui"]);
    assert_eq!((ui.code, ui.out()), (0, log.out()));
    let session = ["ui", "--session", "01234567"];
    assert_ne!(sandbox.tw(session).code, 0);
    for (words, has) in [
        (&["ui", "-n", "1"][..], "second"),
        (&["ui", "--grep", "first"], "first"),
        (
            &["ui", "--kind", "snapshot", "--since", "2026-01-01"],
            "second",
        ),
        (
            &["ui", "--until", "2099-01-01", "--all-worktrees"],
            "second",
        ),
        (&["ui", "notes.txt"], "second"),
    ] {
        let said = sandbox.tw(words);
        assert_eq!(said.code, 0, "{words:?}: {}", said.err());
        assert!(said.out().contains(has), "{words:?}: {}", said.out());
    }
    for words in [
        &["ui", "--label", "none"][..],
        &["ui", "--agent", "none"],
        &["ui", "--kind", "prompt"],
        &["ui", "--kind", "turn-end"],
        &["ui", "--kind", "swap"],
        &["ui", "--kind", "issue"],
    ] {
        assert_eq!(sandbox.tw(words).out(), "", "{words:?}");
    }
    assert_eq!(sandbox.json(["ui"]), sandbox.json(["log"]));
}

#[test]
fn in_a_real_terminal_nothing_is_done_without_a_yes() {
    let sandbox = some();
    let Some(tmux) = Tmux::start(&sandbox, (100, 30), "") else {
        return;
    };
    tmux.shows("second notes").shows("-one").shows("+two");
    tmux.types(&["j"]).shows("+one");
    tmux.types(&["r"])
        .shows("would restore")
        .shows("tw restore s_");
    tmux.answers("Enter").shows("nothing was done");
    assert_eq!(sandbox.text("notes.txt"), "two\n");
    tmux.types(&["r"]).shows("would restore");
    tmux.answers("y").shows("restored from");
    assert_eq!(sandbox.text("notes.txt"), "one\n");
    tmux.leaves("restored from").shows("restore to s_");
    tmux.types(&["u"]).shows("would undo restore");
    tmux.answers("y").shows("undid restore");
    assert_eq!(sandbox.text("notes.txt"), "two\n");
    tmux.leaves("undid");
    tmux.types(&["/"]).shows("search for");
    tmux.types(&["first notes", "Enter"]).shows("/first notes");
    tmux.types(&["l"])
        .types(&["good", "Enter"])
        .shows("tw label -- s_");
    tmux.answers("y").shows("labelled 'good'");
    tmux.leaves("labelled 'good'").shows("[good] first notes");
    tmux.types(&["q"]).ended("0");
    assert!(sandbox.ok(["label"]).contains("good"));
}

/// A yes that was typed before the question stood there answers nothing.
#[test]
fn a_yes_typed_ahead_of_its_question_is_none() {
    let sandbox = some();
    let Some(tmux) = Tmux::start(&sandbox, (100, 30), "") else {
        return;
    };
    tmux.shows("second notes");
    // All in one write, as a macro or a fast hand has it.
    for (keys, question) in [("oy", "tw open s_"), ("ry", "would restore")] {
        tmux.types(&["-l", keys]).shows(question);
        tmux.answers("Enter").shows("nothing was done");
        tmux.types(&["j"]);
    }
    tmux.types(&["q"]).ended("0");
    assert_eq!(sandbox.text("notes.txt"), "two\n");
    assert_eq!(sandbox.git(["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_hunk_is_shown_restored_and_undone_and_refused_when_the_file_changed() {
    let sandbox = Sandbox::new();
    let text = |first: &str, last: &str| format!("{first}\n{}{last}\n", "same\n".repeat(9));
    sandbox.write("notes.txt", text("a", "z"));
    sandbox.ok(["snapshot", "-m", "before"]);
    sandbox.write("notes.txt", text("first", "last"));
    let id = sandbox.ok(["-q", "snapshot", "-m", "after"]);
    let read = format!("diff {} ─", &id.trim()[id.trim().len() - 6..]);
    let now = text("mine", "my own");
    sandbox.write("notes.txt", &now);
    let Some(tmux) = Tmux::start(&sandbox, (100, 30), "") else {
        return;
    };
    tmux.shows("+first").shows("+last");
    tmux.types(&["h"]).shows("Enter opens the diff");
    // To the second hunk.
    tmux.types(&["Enter", "G"]);
    let asked = || {
        tmux.types(&["h"])
            .shows("would restore")
            .shows("-L11,11")
            .shows("--expect=")
            .shows("-my own")
            .shows("+last");
    };
    asked();
    assert!(!tmux.screen().contains("-mine"), "{}", tmux.screen());
    tmux.answers("Enter").shows("nothing was done");
    assert_eq!(sandbox.text("notes.txt"), now);
    asked();
    // Somebody writes before the answer.
    sandbox.write("notes.txt", format!("{now}more\n"));
    tmux.asks_again()
        .shows("-my own")
        .answers("Enter")
        .shows("nothing was done");
    assert_eq!(sandbox.text("notes.txt"), format!("{now}more\n"));
    sandbox.write("notes.txt", &now);
    // All was read anew.
    tmux.shows(&read).types(&["G"]);
    asked();
    tmux.answers("y").shows("restored from");
    assert_eq!(sandbox.text("notes.txt"), text("mine", "last"));
    tmux.leaves("restored from").shows("restore (before");
    tmux.types(&["u"]).shows("would undo restore");
    tmux.answers("y").shows("undid restore");
    assert_eq!(sandbox.text("notes.txt"), now);
    tmux.leaves("undid restore").shows("undo (before");
    tmux.types(&["q"]).ended("0");
}

/// A report of the mouse as terminals send it: what was pressed or turned, and where, counted from 1.
fn mouse(button: u8, column: usize, row: usize) -> Vec<String> {
    let report = format!("\x1b[<{button};{column};{row}M");
    report.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_mouse_chooses_and_what_is_copied_reaches_the_clipboard() {
    let sandbox = Sandbox::new();
    let take = |text: &str, message: &str| {
        sandbox.write("notes.txt", text);
        let id = sandbox.ok(["-q", "snapshot", "-m", message]);
        id.trim().to_owned()
    };
    let first = take("one\n", "first notes");
    let second = take("two\n", "second notes");
    let Some(tmux) = Tmux::start(&sandbox, (100, 30), "") else {
        return;
    };
    // What a program may ask a terminal to copy is taken only then.
    tmux.ask(&["set-option", "-s", "set-clipboard", "on"]);
    tmux.shows("second notes").shows("+two");
    tmux.waits("the mouse", Tmux::is_taken);
    let row = |text: &str| {
        let screen = tmux.screen();
        screen.lines().position(|line| line.contains(text)).unwrap() + 1
    };
    let send = |report: Vec<String>| {
        let bytes: Vec<&str> = report.iter().map(String::as_str).collect();
        tmux.types(&[&["-H"], &bytes[..]].concat());
    };
    send(mouse(0, 12, row("first notes")));
    tmux.shows("+one");
    tmux.types(&["y"]).shows("copied s_");
    tmux.waits("the copy", |tmux| tmux.ask(&["show-buffer"]) == first);
    // The wheel goes up to the newest.
    send(mouse(64, 12, row("first notes")));
    tmux.shows("+two");
    tmux.types(&["y"])
        .waits("the copy", |tmux| tmux.ask(&["show-buffer"]) == second);
    tmux.types(&["q"]).ended("0");
}

#[test]
fn the_terminal_is_given_back_on_every_way_out() {
    for (signal, code) in [
        ("-TERM", "143"),
        ("-HUP", "129"),
        ("-INT", "130"),
        ("", "0"),
    ] {
        let sandbox = some();
        let Some(tmux) = Tmux::start(&sandbox, (80, 24), "") else {
            return;
        };
        tmux.shows("second notes")
            .waits("the screen", Tmux::is_taken);
        if signal.is_empty() {
            tmux.types(&["C-c"]);
        } else {
            tmux.kill(signal);
        }
        tmux.ended(code);
    }
}

#[test]
fn it_travels_from_one_past_to_another() {
    let sandbox = some();
    let Some(tmux) = Tmux::start(&sandbox, (100, 30), "--kind snapshot") else {
        return;
    };
    tmux.shows("second notes").shows("first notes");
    tmux.types(&["t"]).shows("would travel to");
    assert!(!tmux.screen().contains("does it"), "{}", tmux.screen());
    // What is in the way is another one by the time of the yes.
    sandbox.write("notes.txt", "three\n");
    tmux.asks_again().answers("Enter").shows("nothing was done");
    assert_eq!(sandbox.text("notes.txt"), "three\n");
    sandbox.write("notes.txt", "two\n");
    tmux.types(&["t"])
        .shows("would travel to")
        .answers("y")
        .shows("in the past")
        .leaves("in the past")
        .shows("first notes");
    assert_eq!(sandbox.text("notes.txt"), "two\n");
    tmux.types(&["j", "t"])
        .shows("would travel to")
        .answers("y")
        .shows("in the past");
    tmux.waits("the first notes", |_| sandbox.text("notes.txt") == "one\n");
}

/// A shell that leads the session and lives on keeps the signal of the terminal's end from the program.
fn ends_when_the_terminal_is_gone(signal: Option<&str>) {
    let sandbox = some();
    let Some(tmux) = Tmux::start(&sandbox, (80, 24), "") else {
        return;
    };
    tmux.shows("second notes")
        .waits("the screen", Tmux::is_taken);
    let code = || std::fs::read_to_string(sandbox.root().join("code")).unwrap_or_default();
    tmux.ask(&["kill-server"]);
    if let Some(signal) = signal {
        let pid = std::fs::read_to_string(sandbox.root().join("pid")).unwrap();
        let _ = Command::new("kill").args([signal, pid.trim()]).status();
    }
    let begin = Instant::now();
    while !code().ends_with('\n') {
        assert!(begin.elapsed() < LONG, "it never ended");
        std::thread::sleep(Duration::from_millis(20));
    }
    // By the signal, or because nothing can be drawn any more: whichever is noticed first.
    assert!(
        ["129\n", "1\n", "0\n"].contains(&code().as_str()),
        "{}",
        code()
    );
}

#[test]
fn a_terminal_that_is_closed_ends_it_without_a_panic() {
    ends_when_the_terminal_is_gone(Some("-HUP"));
}

#[test]
fn a_terminal_that_is_gone_without_a_signal_ends_it() {
    ends_when_the_terminal_is_gone(None);
}

#[test]
fn it_stops_and_goes_on_and_takes_another_size() {
    let sandbox = some();
    let Some(tmux) = Tmux::start(&sandbox, (60, 20), "") else {
        return;
    };
    tmux.shows("second notes")
        .waits("the screen", Tmux::is_taken);
    assert!(!tmux.screen().contains("+two"), "{}", tmux.screen());
    tmux.types(&["C-z"])
        .waits("the terminal", Tmux::is_given_back);
    tmux.kill("-CONT");
    tmux.waits("the screen", Tmux::is_taken)
        .shows("second notes");
    tmux.kill("-TSTP");
    tmux.waits("the terminal", Tmux::is_given_back);
    tmux.kill("-CONT");
    tmux.waits("the screen", Tmux::is_taken)
        .shows("second notes");
    tmux.ask(&["resize-window", "-x", "120", "-y", "40"]);
    tmux.shows("+two");
    tmux.types(&["q"]).ended("0");
}
