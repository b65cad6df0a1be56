//! Rendered files against those checked in: completions, manual pages, help, JSON schemas. `TW_BLESS=1` rewrites them.

mod man;

use std::collections::BTreeMap;
use std::path::Path;

use clap_complete::env::Shells;
use timewarp::cli::complete::VARIABLE;

use crate::sandbox::Sandbox;

/// Compares a directory's files with what is rendered, or with `TW_BLESS=1` makes them so.
fn check(dir: &str, rendered: &BTreeMap<String, Vec<u8>>) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join(dir);
    let bless = std::env::var_os("TW_BLESS").is_some_and(|value| value == "1");
    if bless {
        std::fs::create_dir_all(&dir).unwrap();
        for stale in names(&dir)
            .iter()
            .filter(|name| !rendered.contains_key(*name))
        {
            std::fs::remove_file(dir.join(stale)).unwrap();
        }
        for (name, bytes) in rendered {
            std::fs::write(dir.join(name), bytes).unwrap();
        }
    }
    let mut wrong: Vec<_> = names(&dir);
    wrong.retain(|name| !rendered.contains_key(name));
    for (name, bytes) in rendered {
        if std::fs::read(dir.join(name)).ok().as_ref() != Some(bytes) {
            wrong.push(name.clone());
        }
    }
    assert!(
        wrong.is_empty(),
        "out of date in {}: {}\nTW_BLESS=1 cargo test --test it golden rewrites them; look at the diff",
        dir.display(),
        wrong.join(", ")
    );
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).map(|entries| {
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    });
    entries.unwrap_or_default()
}

/// Clap leaves blanks at the end of empty lines.
fn trimmed(text: &str) -> Vec<u8> {
    let mut out = String::new();
    for line in text.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.into_bytes()
}

/// The commands by their words: `status`, `issue`, `issue report`.
fn commands() -> Vec<String> {
    let mut found = Vec::new();
    add_commands(&timewarp::cli::args::tree(), "", &mut found);
    found
}

fn add_commands(tree: &clap::Command, above: &str, found: &mut Vec<String>) {
    for command in tree
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        let name = format!("{above}{}", command.get_name());
        found.push(name.clone());
        add_commands(command, &format!("{name} "), found);
    }
}

/// The script of each shell: those that are written by hand as they are, those of clap rendered anew.
fn scripts() -> Vec<(&'static str, Vec<u8>)> {
    let by_hand = ["tw.bash", "_tw", "tw.fish"].map(|file| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("completions")
            .join(file);
        (file, std::fs::read(path).unwrap())
    });
    let of_clap = [("tw.elv", "elvish"), ("_tw.ps1", "powershell")].map(|(file, shell)| {
        let mut script = Vec::new();
        let shells = Shells::builtins();
        let shell = shells.completer(shell).unwrap();
        shell
            .write_registration(VARIABLE, "tw", "tw", "tw", &mut script)
            .unwrap();
        (file, [script.trim_ascii(), b"\n"].concat())
    });
    by_hand.into_iter().chain(of_clap).collect()
}

#[test]
fn completions_are_up_to_date() {
    let scripts = scripts();
    check(
        "completions",
        &scripts
            .into_iter()
            .map(|(name, script)| (name.to_owned(), script))
            .collect(),
    );
}

#[test]
fn completions_prints_the_files_checked_in() {
    let sandbox = Sandbox::bare_room();
    for (shell, file) in [
        ("bash", "tw.bash"),
        ("zsh", "_tw"),
        ("fish", "tw.fish"),
        ("elvish", "tw.elv"),
        ("powershell", "_tw.ps1"),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("completions")
            .join(file);
        assert_eq!(
            sandbox.ok(["completions", shell]),
            std::fs::read_to_string(path).unwrap()
        );
    }
}

#[test]
fn manual_pages_are_up_to_date() {
    let pages = man::pages();
    assert_eq!(
        pages.len(),
        commands().len() + 1,
        "one for each command, and tw(1)"
    );
    check(
        "man",
        &pages
            .into_iter()
            .map(|(name, page)| (name, page.into_bytes()))
            .collect(),
    );
}

#[test]
fn help_is_up_to_date() {
    let sandbox = Sandbox::bare_room();
    let mut rendered = BTreeMap::new();
    rendered.insert("tw.txt".to_owned(), trimmed(&sandbox.ok(["--help"])));
    rendered.insert("tw-short.txt".to_owned(), trimmed(&sandbox.ok(["-h"])));
    for command in commands() {
        let help = trimmed(&sandbox.ok(command.split(' ').chain(["--help"])));
        rendered.insert(format!("{}.txt", command.replace(' ', "-")), help);
    }
    check("tests/golden/help", &rendered);
}

#[test]
fn schemas_are_up_to_date() {
    let schemas = timewarp::cli::schemas();
    check(
        "schemas",
        &schemas
            .into_iter()
            .map(|(name, schema)| {
                let mut text = serde_json::to_string_pretty(&schema).unwrap();
                text.push('\n');
                (format!("{name}.json"), text.into_bytes())
            })
            .collect(),
    );
}

#[test]
fn every_command_has_a_schema() {
    let commands = commands();
    let is_group = |command: &str| {
        let below = format!("{command} ");
        commands.iter().any(|other| other.starts_with(&below))
    };
    // What `tw mcp` says are messages of a protocol; its tools' schemas are in `golden/mcp-tools.json`.
    let documents = commands
        .iter()
        .filter(|command| !is_group(command) && *command != "mcp");
    let schemas = timewarp::cli::schemas();
    for command in documents {
        assert!(
            schemas.contains_key(&command.replace(' ', "-")),
            "no schema for '{command}'"
        );
    }
}

#[test]
fn every_error_code_stands_in_the_manual() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/error.rs");
    let source = std::fs::read_to_string(source).unwrap();
    let codes: Vec<_> = source
        .lines()
        .filter_map(|line| line.split_once("=> \"")?.1.strip_suffix("\","))
        .filter(|text| !text.contains(|c: char| c.is_ascii_lowercase()))
        .collect();
    assert!(codes.len() > 30, "the codes were found");
    let pages = man::pages();
    let manual = &pages[0].1;
    let missing: Vec<_> = codes
        .iter()
        .filter(|code| !manual.contains(**code))
        .collect();
    assert!(missing.is_empty(), "not in tw(1): {missing:?}");
}
