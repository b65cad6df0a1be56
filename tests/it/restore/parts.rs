//! `tw restore -p`: hunk by hunk, beside git's own.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::sandbox::Sandbox;
use crate::terminal::Terminal;
use crate::trip::{mode, snapshot};

fn lines(changed: &[(usize, &str)]) -> String {
    let line = |n: usize| {
        let other = changed.iter().find(|(at, _)| *at == n);
        format!(
            "{}\n",
            other.map_or(format!("line {n}"), |(_, text)| (*text).to_owned())
        )
    };
    (0..60).map(line).collect()
}

/// A snapshot, and a present in which one file has five changes, one comes, one goes and one has another mode.
fn changed() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", lines(&[]));
    sandbox.write("dir/gone.txt", "gone\n");
    sandbox.write("run.sh", "#!/bin/sh\n");
    sandbox.chmod("run.sh", 0o755);
    sandbox.write("z.bin", b"\0then");
    sandbox.git(["add", "."]);
    sandbox.git(["commit", "-qm", "then", "--allow-empty"]);
    let id = snapshot(&sandbox);
    sandbox.write(
        "a.txt",
        lines(&[
            (2, "two"),
            (20, "twenty"),
            (23, "more"),
            (40, "forty"),
            (59, "last"),
        ])
        .trim_end(),
    );
    sandbox.remove("dir");
    sandbox.write("run.sh", "#!/bin/sh\necho\n");
    sandbox.chmod("run.sh", 0o640);
    sandbox.write("z.bin", b"\0now");
    (sandbox, id)
}

/// Runs a command with answers from a pipe.
fn answered(mut command: Command, answers: &str) -> (i32, String) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may not read to the end.
    let _ = child.stdin.take().unwrap().write_all(answers.as_bytes());
    let output = child.wait_with_output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

fn command(sandbox: &Sandbox, program: &str, args: &[&str]) -> Command {
    let prepared = sandbox.command(program);
    let mut command = Command::new(prepared.get_program());
    command.env_clear().current_dir(sandbox.repo()).args(args);
    for (name, value) in prepared.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
}

fn tw(sandbox: &Sandbox, args: &[&str], answers: &str) -> (i32, String) {
    answered(command(sandbox, env!("CARGO_BIN_EXE_tw"), args), answers)
}

#[test]
fn what_is_chosen_is_what_git_would_put_back() {
    for answers in [
        "y", "n", "ny", "nyn", "nnny", "nnnny", "ysyn", "nsny", "a", "nya", "yd", "nq", "?yn",
        "syy",
    ] {
        let (sandbox, id) = changed();
        let (now, lines_of) = (
            sandbox.read("a.txt"),
            answers
                .chars()
                .map(|letter| format!("{letter}\n"))
                .collect::<String>(),
        );
        let git = answered(
            command(
                &sandbox,
                "git",
                &["restore", "-p", "--source=HEAD", "--worktree", "a.txt"],
            ),
            &lines_of,
        );
        assert_eq!(git.0, 0, "{answers}: {}", git.1);
        let expected = sandbox.text("a.txt");
        sandbox.write("a.txt", &now);
        let index = sandbox.git(["ls-files", "-s"]);
        let (code, said) = tw(&sandbox, &["restore", &id, "-p", "a.txt"], &lines_of);
        assert_eq!(code, 0, "{answers}: {said}");
        assert_eq!(sandbox.text("a.txt"), expected, "{answers}: {said}");
        assert_eq!(sandbox.git(["ls-files", "-s"]), index);
        if expected.as_bytes() == now {
            assert!(said.contains("nothing was chosen"), "{answers}: {said}");
        } else {
            sandbox.ok(["undo"]);
            assert_eq!(sandbox.read("a.txt"), now, "{answers}");
        }
    }
}

#[test]
fn what_has_no_lines_is_asked_whole_and_all_of_it_is_one_step() {
    let (sandbox, id) = changed();
    sandbox.write("new.txt", "new\n");
    let before = sandbox.state();
    // a.txt, dir/gone.txt, new.txt, run.sh's mode, run.sh's hunk, z.bin
    let (code, said) = tw(&sandbox, &["restore", &id, "-p"], "d\ny\ny\ny\nn\ny\n");
    assert_eq!(code, 0, "{said}");
    for question in [
        "Bring this file back [",
        "Remove this file [",
        "Take the mode, 100644 to 100755 [",
        "Take this hunk [",
        "Replace this file [",
    ] {
        assert!(said.contains(question), "{question}: {said}");
    }
    assert_eq!(sandbox.text("dir/gone.txt"), "gone\n");
    assert!(!sandbox.exists("new.txt"));
    assert_eq!(
        (mode(&sandbox, "run.sh"), sandbox.text("run.sh")),
        (0o755, "#!/bin/sh\necho\n".to_owned())
    );
    assert_eq!(sandbox.read("z.bin"), b"\0then");
    assert!(sandbox.text("a.txt").contains("twenty"));
    sandbox.ok(["undo"]);
    before.assert_same(&sandbox.state());
}

#[test]
fn the_end_of_the_answers_does_nothing() {
    let (sandbox, id) = changed();
    let before = sandbox.state();
    for answers in ["", "q\n", "n\nn\n"] {
        let (code, said) = tw(&sandbox, &["restore", &id, "-p"], answers);
        assert_eq!(code, 0, "{said}");
        before.assert_same(&sandbox.state());
    }
    let (error, code) = sandbox.json_error(["restore", &id, "-p"]);
    assert_eq!((error["code"].as_str(), code), (Some("USAGE"), 2));
}

#[test]
fn a_file_that_changed_since_it_was_asked_about_stops_all_of_it() {
    let (sandbox, id) = changed();
    let mut terminal = Terminal::tw(&sandbox, &["restore", &id, "-p", "a.txt", "z.bin"]);
    terminal.shows("Take this hunk [y,n,q,a,d,?] ");
    sandbox.write("z.bin", b"\0other");
    terminal.types(b"a\n");
    terminal.shows("Replace this file [");
    let before = sandbox.state();
    terminal.types(b"y\n");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 4, "{shown}");
    assert!(
        shown.contains("'z.bin' changed since it was asked about"),
        "{shown}"
    );
    before.assert_same(&sandbox.state());
}

#[test]
fn controls_in_lines_are_shown_as_such() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\x1b[31m\n");
    let id = snapshot(&sandbox);
    sandbox.write("a.txt", "two\n");
    let (_, said) = tw(&sandbox, &["restore", &id, "-p"], "n\n");
    assert!(said.contains("+one") && !said.contains('\x1b'), "{said}");
}

#[test]
fn where_nothing_is_chosen_nothing_is_said_to_be_restored() {
    let (sandbox, id) = changed();
    let answers = sandbox.root().join("answers");
    std::fs::write(&answers, "q\n").unwrap();
    let mut tw = command(&sandbox, env!("CARGO_BIN_EXE_tw"), &["restore", &id, "-p"]);
    let ran = tw
        .stdin(std::fs::File::open(&answers).unwrap())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(said.ends_with("nothing was restored\n"), "{said}");
    assert!(!said.contains("no file differs"), "{said}");
}
