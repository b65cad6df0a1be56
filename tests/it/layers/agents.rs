//! Who may name an agent: its own folder, and the table of all agents. Everybody else asks the table.
//!
//! A name is a path to the folder, or a text of one word that has the agent's name in it: what has blanks in it is for people.

use std::sync::LazyLock;

use regex::Regex;

use super::source::{Source, sources};

/// The agents' names and the modules that they are in.
fn agents() -> Vec<(&'static str, String)> {
    let names = timewarp::agents::AGENTS.iter().map(|agent| agent.name());
    names.map(|name| (name, name.replace('-', "_"))).collect()
}

/// What names an agent: its name as a word of its own, and the path to what is below its folder.
struct Naming {
    name: &'static str,
    module: String,
    word: Regex,
    below: Regex,
}

static NAMINGS: LazyLock<Vec<Naming>> = LazyLock::new(|| {
    let naming = |(name, module): (&'static str, String)| Naming {
        name,
        word: Regex::new(&format!(r"(?:^|[^a-z0-9]){name}(?:[^a-z0-9]|$)")).unwrap(),
        below: Regex::new(&format!(r"(?:^|[^:\w]){module}\s*::")).unwrap(),
        module,
    };
    agents().into_iter().map(naming).collect()
});

static LITERAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r##"(?s)'(?:\\.|[^'\\])'|r#"(.*?)"#|"((?:[^"\\]|\\.)*)""##).unwrap()
});

static TABLE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?s)static AGENTS: [^=]*= &\[.*?\];").unwrap());

/// The agent that a path of modules leads to.
fn agent_of(module: &[String]) -> Option<&'static str> {
    let (layer, rest) = module.split_first()?;
    let folder = rest.first().filter(|_| layer == "agents")?;
    let found = agents().into_iter().find(|(_, own)| own == folder);
    found.map(|(name, _)| name)
}

/// The texts in code that have no blank in them.
fn words(code: &str) -> Vec<String> {
    let texts = LITERAL
        .captures_iter(code)
        .filter_map(|found| found.get(1).or(found.get(2)));
    let texts = texts.map(|text| text.as_str().to_ascii_lowercase());
    texts
        .filter(|text| !text.contains(char::is_whitespace))
        .collect()
}

/// The code without the table of agents.
fn without_table(code: &str) -> String {
    TABLE.replace(code, "").into_owned()
}

/// The agents that a file names and must not.
fn named(source: &Source) -> Vec<String> {
    if agent_of(&source.module()).is_some() {
        return Vec::new();
    }
    let code = without_table(&source.code);
    let words = words(&code);
    let paths = source.uses();
    let mut found = Vec::new();
    for agent in NAMINGS.iter() {
        let word = words.iter().find(|text| agent.word.is_match(text));
        found.extend(word.cloned());
        if paths.iter().any(|path| agent_of(path) == Some(agent.name))
            || (source.layer() == "agents" && agent.below.is_match(&code))
        {
            found.push(format!("{}::", agent.module));
        }
    }
    found.sort();
    found.dedup();
    found
}

#[test]
fn only_an_agent_s_folder_and_the_table_name_it() {
    let sources = sources();
    for (name, module) in agents() {
        let folder = format!("agents/{module}/mod.rs");
        assert!(
            sources.iter().any(|source| source.path == folder),
            "{name} has a folder"
        );
    }
    let found: Vec<String> = sources
        .iter()
        .flat_map(|source| {
            let path = &source.path;
            named(source)
                .into_iter()
                .map(move |name| format!("{path}: names {name}"))
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_way_to_name_an_agent_is_found() {
    for (path, text, name) in [
        ("ops/a.rs", "if agent == \"codex\" {}", "codex"),
        ("ops/a.rs", "agent.starts_with(\"kimi\")", "kimi"),
        ("ops/a.rs", "let a = ['\"', '\\'']; f(\"claude\")", "claude"),
        ("ops/a.rs", "r#\".claude/x\"#", ".claude/x"),
        ("ops/a.rs", "var(\"CODEX_HOME\")", "codex_home"),
        ("ops/a.rs", "use crate::agents::pi::read;", "pi::"),
        ("ops/a.rs", "use crate::agents::{by_name, pi};", "pi::"),
        ("agents/a.rs", "use super::kimi_code::place;", "kimi_code::"),
        ("agents/mod.rs", "opencode::fork::draft()", "opencode::"),
        ("agents/mod.rs", "static OTHER: X = &[&pi::Pi];", "pi::"),
    ] {
        assert_eq!(named(&Source::new(path, text)), [name], "{path}: {text}");
    }
}

#[test]
fn folders_the_table_and_words_for_people_pass() {
    for (path, text) in [
        ("agents/claude/read.rs", "const NAME: &str = \"claude\";"),
        (
            "agents/mod.rs",
            "mod pi;\npub static AGENTS: &[&dyn Agent] = &[\n    &pi::Pi,\n];",
        ),
        ("ops/a.rs", "// \"claude\"\nlet a = \"run claude again\";"),
        ("git/index/a.rs", "use super::cursor::Cursor;"),
        ("cli/a.rs", "\"pick\""),
    ] {
        assert_eq!(named(&Source::new(path, text)), Vec::<String>::new());
    }
}
