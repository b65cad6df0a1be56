//! `tw init` as one command for all agents that a person uses: the question, and everything in and out at once.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::init::{ALL, SETTINGS, both};
use crate::sandbox::{Ran, Sandbox};
use crate::terminal::Terminal;

const QUESTION: &str = "Set all of this up? [Y/n] ";

/// A person's machine: no program is on PATH but those that are put there.
struct Machine {
    sandbox: Sandbox,
}

impl Machine {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.mkdir("../bin");
        Self { sandbox }
    }

    /// Claude Code by its program, Codex by its directory under HOME, Kimi Code, and Cursor by its directory here.
    fn with_four() -> Self {
        let machine = Self::new();
        machine.program("claude");
        machine.sandbox.mkdir("../home/.codex");
        machine.sandbox.mkdir("../home/.kimi-code");
        machine.sandbox.mkdir(".cursor");
        machine
    }

    fn program(&self, name: &str) {
        let path = format!("../bin/{name}");
        self.sandbox.program(path, "#!/bin/sh\n");
    }

    fn command(&self) -> assert_cmd::Command {
        let mut command = self.sandbox.tw_command();
        command.env("PATH", self.sandbox.root().join("bin"));
        command
    }

    fn tw(&self, args: &[&str]) -> Ran {
        self.command().args(args).output().unwrap().into()
    }

    /// Runs `tw --json`: the exit code and the document.
    fn json(&self, args: &[&str]) -> (i32, Value) {
        let ran = self.tw(&[&["--json"], args].concat());
        (ran.code, serde_json::from_slice(&ran.stdout).unwrap())
    }

    fn terminal(&self, args: &[&str]) -> Terminal {
        Terminal::start(&self.sandbox, &self.command(), args)
    }

    /// Types at the question: the exit code, what stood before it, and what came after.
    fn answer(&self, args: &[&str], question: &str, keys: &[u8]) -> (i32, String, String) {
        let mut terminal = self.terminal(args);
        terminal.shows(question).types(keys);
        let (code, shown) = terminal.ends();
        let (before, after) = shown.split_once(question).unwrap();
        (code, self.plain(before), self.plain(after))
    }

    /// Without the temporary directory.
    fn plain(&self, text: &str) -> String {
        text.replace(self.sandbox.root().to_str().unwrap(), "ROOT")
    }

    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        both(&self.sandbox)
    }

    fn has_config(&self) -> bool {
        self.sandbox.exists(".timewarp/config.toml")
    }

    /// The names of the agents in an answer.
    fn agents(document: &Value) -> Vec<&str> {
        let agents = document["agents"].as_array().unwrap().iter();
        agents
            .map(|agent| agent["name"].as_str().unwrap())
            .collect()
    }
}

const OFFER: &str = "\
coding agents that you use:
  Claude Code  ROOT/bin/claude
  Codex        ~/.codex
  Kimi Code    ~/.kimi-code
  Cursor       .cursor
tw would set up, for this project, in ROOT/repo:
  Claude Code  .claude/settings.json             hooks
               .claude/skills/timewarp/SKILL.md  skill
               .mcp.json                         MCP server
  Codex        .codex/hooks.json                 hooks
               .agents/skills/timewarp/SKILL.md  skill
  Kimi Code    .agents/skills/timewarp/SKILL.md  skill
  Cursor       .cursor/hooks.json                hooks
               .cursor/mcp.json                  MCP server
               .agents/skills/timewarp/SKILL.md  skill
  tw           .timewarp/config.toml
               .git/info/exclude
tw would set up, for all your projects:
  Codex      ~/.codex/config.toml      MCP server
  Kimi Code  ~/.kimi-code/config.toml  hooks
             ~/.kimi-code/mcp.json     MCP server
";

#[test]
fn enter_and_yes_set_up_what_was_shown() {
    let mut results = Vec::new();
    for keys in ["\n", "y\n", "what?\nYES\n"] {
        let machine = Machine::with_four();
        let (code, offer, rest) = machine.answer(&["init"], QUESTION, keys.as_bytes());
        assert_eq!((code, offer.as_str()), (0, OFFER), "{rest}");
        let files = machine.files();
        for line in OFFER.lines().filter(|line| line.contains("  hooks")) {
            let path = line
                .split_whitespace()
                .find(|word| word.contains('/'))
                .unwrap();
            let path = match path.strip_prefix("~/") {
                Some(rest) => machine.sandbox.home().join(rest),
                None => machine.sandbox.path(path),
            };
            let text = String::from_utf8_lossy(&files[&path]);
            assert!(text.contains("tw hook "), "{}: {text}", path.display());
        }
        assert!(machine.has_config());
        assert_eq!(rest.matches("wrote ").count(), 12, "{rest}");
        assert!(
            rest.ends_with("hint: 'tw init --remove' takes it out again\n"),
            "{rest}"
        );
        let shown: BTreeMap<String, usize> = files
            .iter()
            .map(|(path, bytes)| (machine.plain(&path.to_string_lossy()), bytes.len()))
            .collect();
        results.push(shown);

        // All is there now: nothing is asked.
        let (code, shown) = machine.terminal(&["init"]).ends();
        assert_eq!((code, shown.contains("[Y/n]")), (0, false), "{shown}");
        assert_eq!(shown.matches("as it should be: ").count(), 12, "{shown}");
        assert_eq!(machine.files(), files);
    }
    assert!(results.iter().all(|files| *files == results[0]));
}

#[test]
fn yes_is_said_in_advance() {
    let machine = Machine::with_four();
    let (code, shown) = machine.terminal(&["init", "-y"]).ends();
    assert_eq!((code, shown.contains("[Y/n]")), (0, false), "{shown}");
    assert_eq!(shown.matches("wrote ").count(), 12, "{shown}");
    assert!(machine.has_config() && machine.sandbox.exists(".mcp.json"));
}

#[test]
fn no_writes_the_settings_of_tw_alone() {
    let machine = Machine::with_four();
    let (code, offer, rest) = machine.answer(&["init"], QUESTION, b"n\n");
    assert_eq!((code, offer.as_str()), (0, OFFER));
    let expected = "n\nwrote ROOT/repo/.timewarp/config.toml\nwrote ROOT/repo/.git/info/exclude\nhint: 'tw snapshot' takes a snapshot\nhint: 'tw init --agent NAME' sets one of them up\n";
    assert_eq!(rest, expected);
    let other = Machine::with_four();
    assert_eq!(other.tw(&["init"]).code, 0);
    let names = |machine: &Machine| -> Vec<String> {
        let files = machine.files().into_keys();
        files
            .map(|path| machine.plain(&path.to_string_lossy()))
            .collect()
    };
    assert_eq!(names(&machine), names(&other), "as without a terminal");
}

#[test]
fn ctrl_c_and_the_end_of_input_do_nothing() {
    let machine = Machine::with_four();
    let before = machine.files();
    for (keys, expected, end) in [
        (&b"\x03"[..], 130, ""),
        (b"y\x03", 130, ""),
        (b"\x04", 0, "\nnothing was done\n"),
    ] {
        let (code, _, rest) = machine.answer(&["init"], QUESTION, keys);
        assert_eq!(code, expected, "{rest}");
        assert!(rest.ends_with(end), "{rest}");
        assert_eq!(machine.files(), before);
    }
}

#[test]
fn where_no_agent_is_used_nothing_is_asked() {
    let machine = Machine::new();
    let (code, shown) = machine.terminal(&["init"]).ends();
    let expected = "wrote ROOT/repo/.timewarp/config.toml\nwrote ROOT/repo/.git/info/exclude\nhint: 'tw snapshot' takes a snapshot\nhint: no coding agent was found; 'tw init --agent NAME' sets one up all the same\n";
    assert_eq!((code, machine.plain(&shown).as_str()), (0, expected));
    let (code, done) = machine.json(&["init", "--agent", "all"]);
    assert_eq!(
        (code, &done["agents"], &done["changed"]),
        (0, &json!([]), &json!([]))
    );
    assert!(
        done["notices"][0]
            .to_string()
            .contains("no coding agent was found")
    );
}

#[test]
fn without_a_terminal_and_with_json_no_agent_is_touched() {
    let machine = Machine::with_four();
    let (code, done) = machine.json(&["init"]);
    assert_eq!(
        (code, done["changed"].as_array().unwrap().len()),
        (0, 2),
        "{done}"
    );
    let ran = machine.tw(&["init", "-y"]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        ran.err(),
        "hint: 'tw snapshot' takes a snapshot\nhint: 'tw init --agent all' sets up the coding agents that you use\n"
    );
    let (code, shown) = machine.terminal(&["init", "--json"]).ends();
    assert_eq!(code, 0);
    let done: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (&done["agents"], &done["changed"]),
        (&json!([]), &json!([]))
    );
    assert!(!machine.sandbox.exists(".mcp.json"));
}

#[test]
fn in_the_past_no_agent_is_set_up() {
    let machine = Machine::with_four();
    machine.sandbox.ok(["snapshot"]);
    machine.sandbox.ok(["travel", "latest"]);
    let (code, shown) = machine.terminal(&["init"]).ends();
    assert_eq!((code, shown.contains("[Y/n]")), (0, false), "{shown}");
    assert!(!machine.sandbox.exists(".mcp.json"));
    let (code, error) = machine.json(&["init", "--agent", "all"]);
    assert_eq!(
        (code, &error["error"]["code"]),
        (4, &json!("ALREADY_IN_PAST"))
    );
    let (code, shown) = machine.terminal(&["init", "--remove"]).ends();
    assert_eq!((code, shown.contains("[y/N]")), (4, false), "{shown}");
}

#[test]
fn a_dry_run_shows_it_and_neither_asks_nor_writes() {
    let machine = Machine::with_four();
    let before = machine.files();
    let (code, shown) = machine.terminal(&["init", "--dry-run"]).ends();
    assert_eq!(code, 0);
    assert!(machine.plain(&shown).starts_with(OFFER), "{shown}");
    assert!(!shown.contains("[Y/n]"), "{shown}");
    let ran = machine.tw(&["init", "--agent", "all", "--dry-run"]);
    let agents_alone = OFFER.lines().filter(|line| {
        !line.ends_with(".timewarp/config.toml") && !line.ends_with(".git/info/exclude")
    });
    let expected: Vec<&str> = agents_alone.collect();
    assert_eq!(
        machine.plain(&ran.out()).lines().collect::<Vec<_>>(),
        expected
    );
    let ran = machine.tw(&["init", "--agent", "gemini", "--git-hooks", "--dry-run"]);
    let expected = "\
tw would set up, for this project, in ROOT/repo:
  Gemini CLI  .gemini/settings.json             hooks and MCP server
              .agents/skills/timewarp/SKILL.md  skill
  git         .git/hooks/pre-push
              .git/hooks/post-checkout
";
    assert_eq!(machine.plain(&ran.out()), expected);
    // Where an earlier version had the plugin there is nothing, and nothing is said of it.
    let ran = machine.tw(&["init", "--agent", "opencode", "--dry-run"]);
    assert!(!ran.out().contains(".opencode"), "{}", ran.out());
    assert_eq!(machine.files(), before);
}

/// As a manager of dotfiles has it.
#[test]
fn settings_behind_a_link_are_named_where_the_agent_looks_for_them() {
    let machine = Machine::new();
    let sandbox = &machine.sandbox;
    sandbox.write("../home/dotfiles/claude.json", SETTINGS);
    sandbox.symlink("../dotfiles/claude.json", "../home/.claude/settings.json");
    let before = machine.files();
    let args = ["init", "--agent", "all", "--user"];
    let ran = machine.tw(&[&args[..], &["--dry-run"]].concat());
    let expected = "\
coding agents that you use:
  Claude Code  ~/.claude
tw would set up, for all your projects:
  Claude Code  ~/.claude/settings.json             hooks
               ~/.claude/skills/timewarp/SKILL.md  skill
";
    assert_eq!(machine.plain(&ran.out()), expected);
    let (code, done) = machine.json(&args);
    assert_eq!(code, 0);
    let dotfile = sandbox.home().join("dotfiles/claude.json");
    assert_eq!(done["changed"][0], json!(dotfile));
    assert!(
        std::fs::read_to_string(dotfile)
            .unwrap()
            .contains("tw hook")
    );
    let (code, done) = machine.json(&["init", "--remove", "-y"]);
    assert_eq!((code, Machine::agents(&done)), (0, vec!["claude"]));
    assert_eq!(machine.files(), before);
}

#[test]
fn all_stands_for_the_agents_that_are_used() {
    let machine = Machine::with_four();
    let (code, done) = machine.json(&["init", "--agent", "all"]);
    assert_eq!(code, 0, "{done}");
    assert_eq!(
        Machine::agents(&done),
        ["claude", "codex", "kimi-code", "cursor"]
    );
    let bin = machine.sandbox.root().join("bin/claude");
    assert_eq!(done["agents"][0]["found"], json!([bin]));
    assert_eq!(
        done["agents"][0]["files"][2],
        json!({
            "path": machine.sandbox.path(".mcp.json"),
            "scope": "project", "holds": ["mcp"], "became": "changed",
        })
    );
    assert_eq!(done["agents"][2]["files"][0]["scope"], "user");
    assert!(!machine.has_config() && !machine.sandbox.exists(".gemini"));
    // With others by name, each once.
    let (_, done) = machine.json(&["init", "--agent", "codex,all", "--agent", "gemini"]);
    assert_eq!(
        Machine::agents(&done),
        ["claude", "codex", "kimi-code", "cursor", "gemini"]
    );
    assert_eq!(done["agents"][4]["found"], json!([]));
    assert!(machine.sandbox.exists(".gemini/settings.json"));
}

#[test]
fn all_needs_no_repository_for_the_user_s_settings() {
    let sandbox = Sandbox::bare_room();
    std::fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    let run = |args: &[&str]| -> Ran {
        let mut command = sandbox.tw_command();
        let command = command.env("PATH", "/nowhere").current_dir(sandbox.home());
        command.args(args).output().unwrap().into()
    };
    let ran = run(&["init", "--agent", "all", "--user"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    let settings = sandbox.home().join(".claude/settings.json");
    assert!(settings.exists());
    for command in ["init --agent all", "init --remove -y", "init"] {
        let ran = run(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, 1, "{command}");
        assert!(
            ran.err().contains("not in a git"),
            "{command}: {}",
            ran.err()
        );
    }
    let ran = run(&["init", "--remove", "--user", "-y"]);
    assert_eq!(ran.code, 0, "{}", ran.err());
    assert!(!settings.exists());
}

/// Settings of every agent as a person has them, in the project and under HOME, and hooks of git.
fn with_settings_of_all(machine: &Machine) {
    let sandbox = &machine.sandbox;
    for (path, text) in [
        (".claude/settings.json", SETTINGS),
        (
            ".mcp.json",
            "{\r\n  \"mcpServers\": {\"other\": {\"command\": \"x\"}}\r\n}",
        ),
        (".codex/hooks.json", "\u{feff}{\"hooks\": {}}\n"),
        (".gemini/settings.json", "{\"a\":1}"),
        ("opencode.json", "{ /* mine */ \"theme\": \"x\" }\n"),
        (".cursor/hooks.json", "{\"version\": 1, \"hooks\": {}}"),
        (".github/workflows/ci.yml", "on: push\n"),
        (".github/mcp.json", "{\"mcpServers\": {}}\n"),
        ("../home/.claude/settings.json", SETTINGS),
        ("../home/.codex/config.toml", "# mine\r\nmodel = \"c\"\r\n"),
        ("../home/.gemini/settings.json", "{}\n"),
        ("../home/.kimi/config.toml", "model = \"k\""),
        (
            "../home/.kimi-code/config.toml",
            "[[hooks]]\nevent = \"Stop\"\ncommand = \"x\"\n",
        ),
        ("../home/.config/opencode/opencode.json", "{}"),
        ("../home/.copilot/mcp-config.json", "{\"mcpServers\": {}}\n"),
        (".git/hooks/pre-push", "#!/bin/bash\ncat >/dev/null\n"),
    ] {
        sandbox.write(path, text);
    }
    sandbox.chmod(".git/hooks/pre-push", 0o755);
}

fn hooks(machine: &Machine) -> BTreeMap<PathBuf, Vec<u8>> {
    let dir = machine.sandbox.path(".git/hooks");
    let entries = std::fs::read_dir(dir).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

/// Everything that tw can put in, but its own settings.
fn put_in_everything(machine: &Machine) {
    for args in [
        &["init", "--agent", ALL][..],
        &["init", "--agent", ALL, "--user"],
        &["init", "--git-hooks"],
    ] {
        let ran = machine.tw(args);
        assert_eq!(ran.code, 0, "{}", ran.err());
    }
}

#[test]
fn everything_comes_out_again_byte_for_byte() {
    for has_settings in [true, false] {
        let machine = Machine::new();
        if has_settings {
            with_settings_of_all(&machine);
        }
        machine.tw(&["init"]);
        let before = (machine.files(), hooks(&machine));
        put_in_everything(&machine);
        let made = (machine.files(), hooks(&machine));

        let (code, planned) = machine.json(&["init", "--remove", "--dry-run"]);
        assert_eq!(code, 0, "{planned}");
        assert_eq!((machine.files(), hooks(&machine)), made, "a dry run");
        let every: Vec<&str> = ALL.split(',').collect();
        assert_eq!(Machine::agents(&planned).len(), every.len());

        let ran = machine.tw(&["init", "--remove"]);
        assert_eq!(ran.code, 2);
        assert!(ran.err().contains("-y is needed"), "{}", ran.err());
        assert_eq!((machine.files(), hooks(&machine)), made, "nobody said yes");

        let (code, done) = machine.json(&["init", "--remove", "-y"]);
        assert_eq!(code, 0, "{done}");
        for list in ["changed", "removed", "agents"] {
            assert_eq!(done[list], planned[list], "{list}");
        }
        assert_eq!((machine.files(), hooks(&machine)), before);
        assert!(machine.has_config(), "settings of tw stay");
        let (code, again) = machine.json(&["init", "--remove", "-y"]);
        assert_eq!(
            (code, &again["changed"], &again["removed"], &again["agents"]),
            (0, &json!([]), &json!([]), &json!([]))
        );
    }
}

/// Where people keep their dotfiles in git, the project's settings and the user's are the same files.
#[test]
fn everything_comes_out_of_a_working_tree_that_is_the_home_directory() {
    let machine = Machine::new();
    machine.sandbox.write(".claude/settings.json", SETTINGS);
    machine.sandbox.write(".gemini/settings.json", "{\"a\":1}");
    let before = machine.files();
    let run = |args: &[&str]| {
        let mut command = machine.command();
        command.env("HOME", machine.sandbox.repo()).args(args);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.code, 0, "{}", ran.err());
        ran.out()
    };
    run(&["init", "--agent", ALL]);
    run(&["init", "--agent", ALL, "--user"]);
    let shown = run(&["init", "--remove", "--dry-run"]);
    assert_eq!(
        shown.matches(" .claude/settings.json ").count(),
        1,
        "{shown}"
    );
    run(&["init", "--remove", "-y"]);
    assert_eq!(machine.files(), before);
}

#[test]
fn the_user_s_settings_are_taken_out_alone() {
    let machine = Machine::new();
    with_settings_of_all(&machine);
    let untouched = machine.files();
    put_in_everything(&machine);
    let made = (machine.files(), hooks(&machine));
    let (code, done) = machine.json(&["init", "--remove", "--user", "-y"]);
    assert_eq!(code, 0, "{done}");
    let home = machine.sandbox.home();
    let of_home = |files: BTreeMap<PathBuf, Vec<u8>>, is: bool| -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = files;
        files.retain(|path, _| path.starts_with(&home) == is);
        files
    };
    assert_eq!(of_home(machine.files(), true), of_home(untouched, true));
    assert_eq!(of_home(machine.files(), false), of_home(made.0, false));
    assert_eq!(hooks(&machine), made.1);
    let ran = machine.tw(&["init", "--git-hooks", "--remove", "--user"]);
    assert_eq!(ran.code, 2, "{}", ran.err());
    let ran = machine.tw(&["init", "--user"]);
    assert_eq!(ran.code, 2, "{}", ran.err());
}

const OUT: &str = "Take it out? [y/N] ";

#[test]
fn taking_out_is_asked_on_a_terminal() {
    let machine = Machine::with_four();
    let before = machine.files();
    let (_, _, _) = machine.answer(&["init"], QUESTION, b"\n");
    machine.tw(&["init", "--git-hooks"]);
    let made = (machine.files(), hooks(&machine));
    for (keys, expected) in [(&b"\n"[..], 5), (b"n\n", 5), (b"\x04", 5), (b"\x03", 130)] {
        let (code, offer, rest) = machine.answer(&["init", "--remove"], OUT, keys);
        assert_eq!(code, expected, "{rest}");
        let expected = "\
tw would take out what it put in, for this project, in ROOT/repo:
  Claude Code  .claude/settings.json             hooks
               .claude/skills/timewarp/SKILL.md  skill
               .mcp.json                         MCP server
  Codex        .codex/hooks.json                 hooks
               .agents/skills/timewarp/SKILL.md  skill
";
        assert!(offer.starts_with(expected), "{offer}");
        assert!(
            offer.contains("  git          .git/hooks/pre-push\n"),
            "{offer}"
        );
        assert!(
            !offer.contains("Gemini"),
            "it shares a skill alone: {offer}"
        );
        assert!(
            offer
                .contains("for all your projects:\n  Codex      ~/.codex/config.toml      MCP server\n  Kimi Code  ~/.kimi-code/config.toml  hooks\n"),
            "{offer}"
        );
        assert_eq!((machine.files(), hooks(&machine)), made);
    }
    let (code, _, rest) = machine.answer(&["init", "--remove"], OUT, b"y\n");
    assert_eq!(code, 0, "{rest}");
    assert_eq!(rest.matches("removed ").count(), 12, "{rest}");
    let mut left = machine.files();
    left.remove(&machine.sandbox.path(".timewarp/config.toml"));
    assert_eq!(left, before);
    // There is nothing to ask about any more.
    let (code, shown) = machine.terminal(&["init", "--remove"]).ends();
    assert_eq!((code, shown.as_str()), (0, "nothing to do\n"));
}

/// Each of these cannot be edited: a link that leads out, a directory, settings that nobody can read, a hook of git.
fn with_obstacles(machine: &Machine) {
    let sandbox = &machine.sandbox;
    sandbox.write("../elsewhere.json", "{}");
    sandbox.symlink(sandbox.root().join("elsewhere.json"), ".codex/hooks.json");
    sandbox.mkdir(".cursor/mcp.json/in-the-way");
    sandbox.write("../home/.kimi-code/config.toml", "[broken\n");
}

#[test]
fn what_fails_for_one_agent_is_named_and_the_others_are_done() {
    let machine = Machine::with_four();
    with_obstacles(&machine);
    let before = machine.files();
    let (code, offer, rest) = machine.answer(&["init"], QUESTION, b"\n");
    assert_eq!(code, 5, "{rest}");
    for words in [
        "  Codex        .codex/hooks.json                 hooks, not possible\n",
        "not possible: 'ROOT/repo/.codex/hooks.json' leads out of the working tree",
        "not possible: cannot read 'ROOT/repo/.cursor/mcp.json'",
        "not possible: 'ROOT/home/.kimi-code/config.toml' cannot be read as the settings",
    ] {
        assert!(offer.contains(words), "{words}:\n{offer}");
    }
    for words in [
        "hooks.json' leads out",
        "cannot read 'ROOT",
        "config.toml' cannot be read",
    ] {
        assert!(rest.contains(words), "{words}:\n{rest}");
    }
    assert!(machine.has_config(), "tw's own");
    for done in [
        ".mcp.json",
        ".claude/settings.json",
        ".cursor/hooks.json",
        "../home/.kimi-code/mcp.json",
        ".agents/skills/timewarp/SKILL.md",
    ] {
        assert!(machine.sandbox.text(done).contains("tw"), "{done}");
    }
    // Out again: the obstacles are named again, and all the rest goes.
    let (code, error) = machine.json(&["init", "--remove", "-y"]);
    assert_eq!(
        (code, &error["error"]["code"]),
        (5, &json!("WOULD_OVERWRITE")),
        "{error}"
    );
    let named = error["error"]["left"].to_string();
    assert!(
        named.contains(".codex/hooks.json") && named.contains(".cursor/mcp.json"),
        "{named}"
    );
    let mut left = machine.files();
    left.remove(&machine.sandbox.path(".timewarp/config.toml"));
    assert_eq!(left, before);
}

#[test]
fn a_link_that_leads_nowhere_is_left_and_named() {
    let machine = Machine::new();
    let sandbox = &machine.sandbox;
    sandbox.symlink("dotfiles/gone.json", "../home/.claude/settings.json");
    sandbox.symlink("gone.json", ".mcp.json");
    sandbox.symlink("../gone", "../home/.cursor");
    for args in [
        &["init", "--agent", "claude"][..],
        &["init", "--agent", "claude,cursor", "--user"],
    ] {
        let (code, error) = machine.json(args);
        assert_eq!(code, 5, "{error}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("is behind a symbolic link that leads nowhere"),
            "{message}"
        );
        assert!(!message.contains("leads out"), "{message}");
    }
    assert!(sandbox.exists(".claude/settings.json"));
    assert!(
        sandbox
            .home()
            .join(".claude/skills/timewarp/SKILL.md")
            .exists()
    );
    assert!(sandbox.home().join(".cursor").is_symlink());
}

#[test]
fn what_cannot_be_written_is_no_reason_to_stop() {
    let machine = Machine::new();
    machine.sandbox.mkdir("../home/.claude");
    machine.sandbox.mkdir("../home/.cursor");
    // A file where a directory has to be.
    machine.sandbox.write(".claude", "in the way\n");
    machine.sandbox.mkdir(".git/hooks/pre-push");
    let (code, error) = machine.json(&["init", "--agent", "all", "--git-hooks"]);
    assert_eq!(
        (code, &error["error"]["code"]),
        (5, &json!("WOULD_OVERWRITE")),
        "{error}"
    );
    assert_eq!(
        error["error"]["left"].as_array().unwrap().len(),
        3,
        "{error}"
    );
    assert!(machine.sandbox.exists(".mcp.json"));
    assert!(machine.sandbox.exists(".cursor/hooks.json"));
    assert!(machine.sandbox.exists(".git/hooks/post-checkout"));
    assert_eq!(machine.sandbox.text(".claude"), "in the way\n");
}
