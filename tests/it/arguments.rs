//! Every argument of every command is used by a test: the clap tree is walked, and what the sources of the tests run is read.
//!
//! A test names an argument when a list of words in its source runs the command with it: `["restore", "latest", "--dry-run"]`.
//! Words that a helper puts together at run time do not count, and neither does a list that asks for help. The modules below have
//! what no other test says in one list.

mod issues;
mod keeping;
mod talking;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Files whose lists of words are not runs of a command that are judged by what they do.
const NOT_TESTS: [&str; 3] = ["arguments.rs", "golden.rs", "schema.rs"];

/// One word of a list: a literal, or something that is only known at run time.
type Word = Option<String>;

/// What was used: for each command by its words, the arguments by id and `id=value`.
type Used = BTreeMap<String, BTreeSet<String>>;

/// The lists of words in a source, nested ones, too.
fn lists(source: &str) -> Vec<Vec<Word>> {
    let bytes = source.as_bytes();
    let mut open: Vec<(u8, usize, Vec<Word>)> = Vec::new();
    let mut found = Vec::new();
    let mut at = 0;
    let mut start = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += source[at..].find('\n').unwrap_or(source.len() - at);
                continue;
            }
            b'\'' if bytes.get(at + 2) == Some(&b'\'') => at += 2,
            b'\'' if bytes.get(at + 1) == Some(&b'\\') && bytes.get(at + 3) == Some(&b'\'') => {
                at += 3;
            }
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += 1 + usize::from(bytes[at] == b'\\');
                }
            }
            opening @ (b'[' | b'(' | b'{') => {
                open.push((opening, start, Vec::new()));
                start = at + 1;
            }
            closing @ (b',' | b']' | b')' | b'}') => {
                let piece = source[start..at.max(start)].trim();
                let word = piece
                    .trim_start_matches('&')
                    .strip_prefix('"')
                    .and_then(|piece| piece.strip_suffix('"'))
                    .filter(|piece| !piece.contains('"'));
                if let Some((kind, outer, words)) = open.last_mut() {
                    if *kind == b'[' && !piece.is_empty() {
                        words.push(word.map(str::to_owned));
                    }
                    if closing == b',' {
                        start = at + 1;
                    } else {
                        let (kind, outer, words) = (*kind, *outer, std::mem::take(words));
                        open.pop();
                        start = outer;
                        if kind == b'[' {
                            found.push(words);
                        }
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Reads a list as clap would, as far as it goes, and adds what it uses.
fn read(tree: &clap::Command, words: &[Word], used: &mut Used) {
    let (mut command, mut path) = (tree, String::new());
    let mut here: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut positionals = 0;
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let text = word.as_deref().unwrap_or_default();
        if text == "--help" || text == "-h" {
            return;
        }
        if text == "--" {
            positionals += usize::from(words.peek().is_some());
            break;
        }
        let found = here.entry(path.clone()).or_default();
        if let Some((arg, value)) = option(command, text) {
            found.insert(spelling(arg, text));
            if arg.get_action().takes_values() {
                let value = value.or_else(|| words.next().cloned().flatten());
                found.extend(value.map(|value| format!("{}={value}", arg.get_id())));
            }
        } else if let Some(next) = command.find_subcommand(text).filter(|_| word.is_some()) {
            let below = next.get_name();
            path = if path.is_empty() {
                text.to_owned()
            } else {
                format!("{path} {text}")
            };
            here.entry(path.clone()).or_default();
            assert!(!below.is_empty());
            command = next;
        } else if path.is_empty() {
            return;
        } else {
            let places: Vec<_> = command.get_positionals().collect();
            if let Some(arg) = places.get(positionals).or(places.last()) {
                found.insert(arg.get_id().to_string());
                found.extend(
                    word.as_ref()
                        .map(|value| format!("{}={value}", arg.get_id())),
                );
            }
            positionals += 1;
        }
    }
    if positionals > 0
        && let Some(arg) = command
            .get_positionals()
            .last()
            .filter(|arg| arg.is_last_set())
    {
        here.entry(path.clone())
            .or_default()
            .insert(arg.get_id().to_string());
    }
    if !path.is_empty() {
        for (path, arguments) in here {
            used.entry(path).or_default().extend(arguments);
        }
    }
}

/// The option that a word is, and the value that it carries.
fn option<'a>(command: &'a clap::Command, word: &str) -> Option<(&'a clap::Arg, Word)> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    let mut all = command.get_arguments().filter(|arg| !arg.is_positional());
    let arg = all.find(|arg| spellings(arg).contains(&name.to_owned()))?;
    Some((arg, value))
}

/// Every way to write an option.
fn spellings(arg: &clap::Arg) -> Vec<String> {
    let long = arg.get_long_and_visible_aliases().unwrap_or_default();
    let short = arg.get_short_and_visible_aliases().unwrap_or_default();
    let long = long.into_iter().map(|long| format!("--{long}"));
    long.chain(short.into_iter().map(|short| format!("-{short}")))
        .collect()
}

/// How an argument stands in the list of what is used: an option by what was written.
fn spelling(arg: &clap::Arg, written: &str) -> String {
    if arg.is_positional() {
        arg.get_id().to_string()
    } else {
        written.split('=').next().unwrap_or_default().to_owned()
    }
}

/// What of a command no test uses.
fn missing(
    command: &clap::Command,
    path: &str,
    above: &BTreeSet<String>,
    used: &Used,
    found: &mut Vec<String>,
) {
    let nothing = BTreeSet::new();
    let here = used.get(path);
    if here.is_none() && !path.is_empty() {
        found.push(format!("tw {path}"));
    }
    let here = here.unwrap_or(&nothing);
    // What goes with every command below is used with any of them.
    let below =
        |other: &str| path.is_empty() || other == path || other.starts_with(&format!("{path} "));
    let anywhere: BTreeSet<&String> = used
        .iter()
        .filter(|(other, _)| below(other))
        .flat_map(|(_, words)| words)
        .collect();
    let mut globals = above.clone();
    for arg in command.get_arguments() {
        let id = arg.get_id().as_str();
        if matches!(id, "help" | "version") || above.contains(id) {
            continue;
        }
        if arg.is_global_set() {
            globals.insert(id.to_owned());
        }
        let is_used =
            |what: &String| here.contains(what) || (arg.is_global_set() && anywhere.contains(what));
        let ways = if arg.is_positional() {
            vec![id.to_owned()]
        } else {
            spellings(arg)
        };
        // One way to write it is enough, the others are clap's affair.
        if !ways.iter().any(is_used) {
            found.push(format!("tw {path}: {}", ways.join(" or ")));
        }
        if arg.get_action().takes_values() {
            for value in arg.get_possible_values() {
                let names: Vec<_> = value.get_name_and_aliases().collect();
                if !names.iter().any(|name| is_used(&format!("{id}={name}"))) {
                    found.push(format!("tw {path}: {} {}", ways[0], value.get_name()));
                }
            }
        }
    }
    for below in command
        .get_subcommands()
        .filter(|below| below.get_name() != "help")
    {
        for name in std::iter::once(below.get_name()).chain(below.get_all_aliases()) {
            let path = if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path} {name}")
            };
            if name == below.get_name() {
                missing(below, &path, &globals, used, found);
            } else if !used.contains_key(&path) {
                found.push(format!("tw {path}"));
            }
        }
    }
}

/// One text of each row of a list in a document.
fn column<'a>(rows: &'a serde_json::Value, field: &str) -> Vec<&'a str> {
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| row[field].as_str().unwrap()).collect()
}

fn tree() -> clap::Command {
    let mut tree = timewarp::cli::args::tree();
    tree.build();
    tree
}

fn collect(dir: &Path, used: &mut Used, tree: &clap::Command) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            collect(&path, used, tree);
        } else if !NOT_TESTS.contains(&name.as_str()) {
            for words in lists(&std::fs::read_to_string(&path).unwrap()) {
                read(tree, &words, used);
            }
        }
    }
}

#[test]
fn every_argument_of_every_command_is_used_by_a_test() {
    let tree = tree();
    let mut used = Used::new();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    collect(&dir, &mut used, &tree);
    let mut found = Vec::new();
    missing(&tree, "", &BTreeSet::new(), &used, &mut found);
    assert!(found.is_empty(), "no test uses:\n{}", found.join("\n"));
}

#[test]
fn what_no_list_says_is_found() {
    let tree = tree();
    let unused = |source: &str| {
        let mut used = Used::new();
        for words in lists(source) {
            read(&tree, &words, &mut used);
        }
        let mut found = Vec::new();
        missing(&tree, "", &BTreeSet::new(), &used, &mut found);
        found
    };
    let all = unused("");
    for one in [
        "tw snapshot: --label",
        "tw restore",
        "tw restore: --dry-run",
        "tw completions: shell fish",
        "tw issue close: --of",
        "tw dmail",
        "tw : -C",
    ] {
        assert!(all.contains(&one.to_owned()), "{one} in {all:#?}");
    }
    for (source, now) in [
        (
            r#"sandbox.ok(["snapshot", "--label", &name]);"#,
            "tw snapshot: --label",
        ),
        (
            r#"sandbox.tw(&["restore", "--dry-run", &id][..]);"#,
            "tw restore: --dry-run",
        ),
        (
            r#"x(["-q", "completions", "fish"], &[1, 2])"#,
            "tw completions: shell fish",
        ),
        (
            r#"args(["-C", "dir", "issue", "close", &id, "--of", &(f)(a, b)])"#,
            "tw issue close: --of",
        ),
    ] {
        assert!(!unused(source).contains(&now.to_owned()), "{source}");
    }
    // Neither another command's, nor a comment's, nor a string's, nor what only asks for help.
    for source in [
        r#"["travel", "--label", "x"]"#,
        r#"// ["snapshot", "--label", "x"]"#,
        r#"["snapshot", "--help", "--label", "x"]"#,
        r#"["snapshot"]; ["--label", "x"]"#,
    ] {
        assert!(
            unused(source).contains(&"tw snapshot: --label".to_owned()),
            "{source}"
        );
    }
}
