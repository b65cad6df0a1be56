//! The pager: which one, for which commands, and that it changes nothing else. On a terminal of its own.

use crate::sandbox::Sandbox;
use crate::terminal::Terminal;

/// Marks each line that it shows.
const MARKS: &str = "sed s/^/paged:/";

/// Two snapshots that differ.
fn taken() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.ok(["snapshot", "-m", "the first"]);
    sandbox.write("a.txt", "changed\n");
    sandbox.ok(["snapshot", "-m", "the second"]);
    sandbox
}

/// Exit code and screen of a command with these variables.
fn shown(sandbox: &Sandbox, vars: &[(&str, &str)], args: &[&str]) -> (i32, String) {
    let mut prepared = sandbox.tw_command();
    prepared.envs(vars.iter().copied());
    Terminal::start(sandbox, &prepared, args).ends()
}

/// Whether every line went through [`MARKS`].
fn is_paged(screen: &str) -> bool {
    // Hints stand on standard error, behind the pager's end.
    let mut lines = screen.lines().filter(|line| !line.starts_with("hint: "));
    !screen.is_empty() && lines.all(|line| line.starts_with("paged:"))
}

#[test]
fn these_commands_are_paged_and_no_others() {
    let sandbox = taken();
    let pager = [("GIT_PAGER", MARKS)];
    for args in [
        &["list"][..],
        &["log"],
        &["show", "latest"],
        &["diff", "latest~1", "latest"],
        &["diff", "latest~1", "latest", "-p"],
        &["list", "-q"],
        &["search", "one"],
        &["find", "a.txt"],
        &["blame", "a.txt"],
    ] {
        let (code, screen) = shown(&sandbox, &pager, args);
        assert!(code == 0 && is_paged(&screen), "{args:?}: {screen}");
    }
    for args in [
        &["status"][..],
        &["doctor"],
        &["session", "list"],
        &["config"],
        &["list", "--json"],
        &["list", "--no-pager"],
        &["travel", "latest", "--dry-run"],
    ] {
        let (code, screen) = shown(&sandbox, &pager, args);
        assert!(
            code == 0 && !screen.contains("paged:"),
            "{args:?}: {screen}"
        );
    }
    // Not off a terminal either.
    let output = sandbox
        .tw_command()
        .env("GIT_PAGER", MARKS)
        .args(["list"])
        .output();
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(output.contains("the second") && !output.contains("paged:"));
}

#[test]
fn it_is_found_as_git_finds_it() {
    let sandbox = taken();
    let list = |vars: &[(&str, &str)]| is_paged(&shown(&sandbox, vars, &["list"]).1);
    assert!(list(&[("PAGER", MARKS)]));
    assert!(!list(&[("PAGER", MARKS), ("GIT_PAGER", "cat")]));
    assert!(!list(&[("PAGER", MARKS), ("GIT_PAGER", "")]));
    sandbox.git(["config", "core.pager", MARKS]);
    assert!(list(&[]));
    assert!(list(&[("PAGER", "cat")]));
    assert!(!list(&[("GIT_PAGER", "cat")]));
    sandbox.git(["config", "core.pager", "cat"]);
    assert!(!list(&[("PAGER", MARKS)]));
}

#[test]
fn it_is_told_what_git_tells_it() {
    let sandbox = taken();
    let say = "echo \"LESS=$LESS LV=$LV\"; cat";
    let (_, screen) = shown(&sandbox, &[("GIT_PAGER", say)], &["list"]);
    assert!(screen.starts_with("LESS=FRX LV=-c\n"), "{screen}");
    let (_, screen) = shown(&sandbox, &[("GIT_PAGER", say), ("LESS", "S")], &["list"]);
    assert!(screen.starts_with("LESS=S LV=-c\n"), "{screen}");
}

#[test]
fn one_that_ends_early_or_is_not_there_changes_no_exit_code() {
    const DIFF: [&str; 3] = ["diff", "latest~1", "latest"];
    let sandbox = taken();
    let all = shown(&sandbox, &[("GIT_PAGER", "cat")], &DIFF);
    for missing in ["/nonexistent/pager", "/nonexistent/pager -R"] {
        assert_eq!(shown(&sandbox, &[("GIT_PAGER", missing)], &DIFF), all);
    }
    let head = shown(&sandbox, &[("GIT_PAGER", "head -n 1")], &DIFF);
    assert_eq!(head.0, 0);
    assert!(all.1.starts_with(&head.1) && head.1.lines().count() == 1);
    for early in ["true", "false", "exec <&-; exit 3"] {
        let (code, screen) = shown(&sandbox, &[("GIT_PAGER", early)], &DIFF);
        assert_eq!((code, screen.as_str()), (0, ""), "{early}");
    }
    // More than fits into a pipe.
    sandbox.write("long.txt", "a line of the long file\n".repeat(20_000));
    let args = ["diff", "-p", "--", "long.txt"];
    let (code, screen) = shown(&sandbox, &[("GIT_PAGER", "head -n 2")], &args);
    assert_eq!((code, screen.lines().count()), (0, 2), "{screen}");
}

#[test]
fn an_error_is_not_paged() {
    let sandbox = taken();
    let (code, screen) = shown(&sandbox, &[("GIT_PAGER", MARKS)], &["show", "nothing"]);
    assert_eq!(code, 3, "{screen}");
    assert!(
        screen.starts_with("error: ") && !screen.contains("paged:"),
        "{screen}"
    );
}

#[test]
fn ctrl_c_is_the_pagers() {
    let sandbox = taken();
    let mut prepared = sandbox.tw_command();
    let waits = "trap 'echo caught' INT; cat; until read -r typed </dev/tty; do :; done; echo \"typed $typed\"";
    prepared.env("GIT_PAGER", waits);
    let mut terminal = Terminal::start(&sandbox, &prepared, &["list"]);
    terminal.shows("the first");
    terminal.types_until(b"\x03", "caught\n").forgets();
    terminal.types_until(b"\x03", "caught\n").types(b"end\n");
    // It was still there, and was waited for.
    terminal.shows("typed end\n");
    let (code, screen) = terminal.ends();
    assert_eq!(code, 0, "{screen}");
}
