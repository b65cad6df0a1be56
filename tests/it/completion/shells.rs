//! The scripts in real shells: bash and zsh at a keyboard, fish as it answers its own `complete`.

use std::path::Path;

use crate::provided::skipped;
use crate::sandbox::Sandbox;
use crate::terminal::Terminal;

/// Names that a shell would take apart, run, or take for something else, each with what is typed of it for bash and zsh.
const HOSTILE: [(&str, &str); 15] = [
    ("sp ace.txt", "odd/sp"),
    ("it's.txt", "odd/it"),
    ("dou\"ble.txt", "odd/do"),
    ("$(touch ran).txt", r"odd/\$"),
    ("$(touch ran).txt", "'odd/$(t"),
    ("$(touch ran).txt", r#""odd/\$(t"#),
    ("`touch ran`.txt", r"odd/\`"),
    ("semi;touch ran", "odd/se"),
    ("new\nline.txt", "odd/ne"),
    ("co:lon=equals@at.txt", "odd/co:lo"),
    ("co:lon=equals@at.txt", r"odd/co\:lon=eq"),
    ("back\\slash.txt", "odd/ba"),
    ("st*r[1].txt", "odd/st"),
    ("-rf", "odd/-"),
    ("!bang", r"odd/\!"),
];

/// A snapshot with all of them, which are gone since.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, _) in HOSTILE {
        sandbox.write(format!("odd/{name}"), name);
    }
    sandbox.write("a dir/in/deep", "");
    sandbox.write("-dash", "");
    sandbox.ok(["snapshot", "-m", r"odd: \names"]);
    for gone in ["odd", "a dir", "-dash"] {
        sandbox.remove(gone);
    }
    sandbox
}

/// A shell that finds `tw`; None where there is no such shell.
fn shell(sandbox: &Sandbox, shell: &str) -> Option<assert_cmd::Command> {
    let found = std::process::Command::new(shell).arg("--version").output();
    if found.is_err() {
        skipped(shell, &format!("there is no {shell} here"));
        return None;
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_tw")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = sandbox.command(shell);
    command
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("LC_ALL", "C.UTF-8")
        .env("TERM", "dumb")
        .env("PS1", "$ ");
    Some(command)
}

/// The line by which the README switches it on.
fn switch(shell: &str) -> String {
    let readme = include_str!("../../../README.md");
    let mut lines = readme.lines().filter_map(|line| line.split_once("`: `"));
    let line = lines.find(|(before, _)| before.starts_with(&format!("- {shell}, in ")));
    let line = line.and_then(|(_, line)| line.strip_suffix('`'));
    line.expect("the README has it").to_owned()
}

/// What a shell at a keyboard makes of each line, with a tab behind it.
fn at_a_keyboard(name: &str, options: &[&str], before: &str) {
    let sandbox = sandbox();
    let Some(prepared) = shell(&sandbox, name) else {
        return;
    };
    let mut terminal = Terminal::program(&sandbox, &prepared, options);
    let on = switch(name);
    // `tw` says what it is called with; the script asks the true one.
    let says = r#"tw() { printf '<%s>' "$@"; echo; }; echo re''ady"#;
    terminal.types(format!("{before}{on}; {says}\r").as_bytes());
    terminal.shows("ready");
    let mut line = |typed: &str, words: &[&str]| {
        let said: String = words.iter().map(|word| format!("<{word}>")).collect();
        terminal.forgets();
        terminal.types(format!("tw {typed}\t").as_bytes());
        terminal.types(b"\r");
        terminal.shows(&format!("{said}\n"));
    };
    for (file, typed) in HOSTILE {
        let path = format!("odd/{file}");
        line(
            &format!("restore latest {typed}"),
            &["restore", "latest", &path],
        );
    }
    line(r"restore latest a\ ", &["restore", "latest", "a dir/"]);
    line(
        r"restore latest a\ dir/",
        &["restore", "latest", "a dir/in/"],
    );
    line(
        "restore latest -- -d",
        &["restore", "latest", "--", "-dash"],
    );
    line("statu", &["status"]);
    line("list --kind=b", &["list", "--kind=backup"]);
    line("travel lat", &["travel", "latest"]);
    // Nothing to offer: the line stays.
    line("travel nonsense", &["travel", "nonsense"]);
    // A directory with the name of a command.
    sandbox.mkdir("web");
    line("-C web show lat", &["-C", "web", "show", "latest"]);
    terminal.types(b"exit\r");
    terminal.ends();
    assert!(!sandbox.exists("ran"), "a name was run");
}

#[test]
fn bash_completes_at_a_keyboard() {
    at_a_keyboard("bash", &["--norc", "-i"], "");
}

#[test]
fn zsh_completes_at_a_keyboard() {
    at_a_keyboard("zsh", &["-f", "-i"], "autoload -Uz compinit; compinit -u; ");
}

#[test]
fn zsh_shows_titles_newest_first() {
    let sandbox = sandbox();
    let Some(prepared) = shell(&sandbox, "zsh") else {
        return;
    };
    sandbox.wait(60);
    sandbox.write("newer", "");
    sandbox.ok(["snapshot", "-m", "the newer one"]);
    let mut terminal = Terminal::program(&sandbox, &prepared, &["-f", "-i"]);
    let on = switch("zsh");
    terminal.types(format!("autoload -Uz compinit; compinit -u; {on}; echo re''ady\r").as_bytes());
    terminal.shows("ready");
    terminal.forgets();
    terminal.types(b"tw travel s_\t\t");
    terminal.shows("-- the newer one").shows(r"-- odd: \names");
    terminal.types(b"\x15exit\r");
    let (_, shown) = terminal.ends();
    let at = |text: &str| shown.find(text).unwrap();
    assert!(at("-- the newer one") < at(r"-- odd: \names"), "{shown}");
}

/// As a file of fpath, it answers at its first call.
#[test]
fn zsh_completes_from_a_file() {
    let sandbox = sandbox();
    let Some(prepared) = shell(&sandbox, "zsh") else {
        return;
    };
    let script = sandbox.ok(["completions", "zsh"]);
    std::fs::create_dir(sandbox.home().join("functions")).unwrap();
    std::fs::write(sandbox.home().join("functions/_tw"), script).unwrap();
    let mut terminal = Terminal::program(&sandbox, &prepared, &["-f", "-i"]);
    let on = "fpath=(~/functions $fpath); autoload -Uz compinit; compinit -u";
    let says = r#"tw() { printf '<%s>' "$@"; echo; }; echo re''ady"#;
    terminal.types(format!("{on}; {says}\r").as_bytes());
    terminal.shows("ready");
    terminal.types(b"tw travel lat\t");
    terminal.types(b"\r");
    terminal.shows("<travel><latest>");
    terminal.types(b"exit\r");
    terminal.ends();
}

#[test]
fn fish_completes() {
    let sandbox = sandbox();
    let Some(mut prepared) = shell(&sandbox, "fish") else {
        return;
    };
    // What fish would put on the line, read back as fish reads a line.
    let mut script = format!("{}\n", switch("fish"));
    let ask = |line: &str| {
        let line = line.replace('\\', r"\\").replace('\'', r"\'");
        let read = "eval set word (string split -f 1 \\t -- $one); printf '%s\\0' $word";
        format!("for one in (complete --escape -C '{line}'); {read}; end\n")
    };
    let mut wanted = Vec::new();
    for (file, typed) in HOSTILE {
        // Its quotes are others; what is typed begins the same in both where there are none.
        if typed.contains(['\'', '"', '`', '!']) {
            continue;
        }
        script += &ask(&format!("tw restore latest {typed}"));
        wanted.push(format!("odd/{file}"));
    }
    script += &ask("tw restore latest 'odd/it\\'");
    wanted.push("odd/it's.txt".to_owned());
    script += &ask(r"tw restore latest a\ dir/");
    wanted.push("a dir/in/".to_owned());
    script += &ask("tw statu");
    wanted.push("status".to_owned());
    script += &ask("tw list --kind=b");
    wanted.push("--kind=backup".to_owned());
    script += "complete -C 'tw travel s_'\n";
    let output = prepared
        .args(["--no-config", "-c", &script])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    let said = String::from_utf8(output.stdout).unwrap();
    let said: Vec<&str> = said.split('\0').collect();
    let (titled, said) = said.split_last().unwrap();
    assert_eq!(said, wanted);
    assert!(titled.starts_with("s_"), "{titled}");
    assert!(titled.ends_with("\todd: \\names\n"), "{titled}");
    assert!(!sandbox.exists("ran"), "a name was run");
}
