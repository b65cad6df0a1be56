//! The sources as the rules see them: without comments and unit tests, and with what each names of this crate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use regex::Regex;

/// One source file: its path below `src/` and what is left of it without comments and unit tests.
pub struct Source {
    pub path: String,
    pub code: String,
    pub lines: usize,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        // Unit tests stand at the end of a file.
        let text = text
            .split("\n#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or(text);
        let code = text
            .lines()
            .map(without_comment)
            .collect::<Vec<_>>()
            .join("\n");
        Self {
            path: path.to_owned(),
            code,
            lines: text.lines().count(),
        }
    }

    /// `store` for `store/names.rs` and for `store.rs`.
    pub fn layer(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// `["store", "names"]` for `store/names.rs`, `["store"]` for `store/mod.rs`, nothing for the roots.
    pub fn module(&self) -> Vec<String> {
        let path = self.path.trim_end_matches(".rs");
        let mut parts: Vec<String> = path.split('/').map(str::to_owned).collect();
        if matches!(parts.last().map(String::as_str), Some("mod")) || matches!(path, "lib" | "main")
        {
            parts.pop();
        }
        parts
    }

    /// The paths below the crate that the file names, by `crate::`, by the crate's name, or by `super::` and `self::` however
    /// often.
    pub fn uses(&self) -> BTreeSet<Vec<String>> {
        let start =
            Regex::new(r"\b(?:crate|timewarp|self|super(?:\s*::\s*super)*)\s*::\s*").unwrap();
        let own = self.module();
        let mut found = BTreeSet::new();
        for at in start.find_iter(&self.code) {
            let (word, before) = (at.as_str(), &self.code[..at.start()]);
            if before.ends_with("::") {
                continue;
            }
            let base = if word.starts_with("super") {
                own[..own.len().saturating_sub(word.matches("super").count())].to_vec()
            } else if word.starts_with("self") {
                own.clone()
            } else {
                Vec::new()
            };
            members(&self.code[at.end()..], &base, &mut found);
        }
        found
    }
}

/// The paths of a `use` tree, each after `base`; gives what follows the tree.
fn members<'a>(text: &'a str, base: &[String], found: &mut BTreeSet<Vec<String>>) -> &'a str {
    let mut path = base.to_vec();
    let mut rest = text.trim_start();
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            rest = group.trim_start();
            while !rest.is_empty() && !rest.starts_with('}') {
                let after = members(rest, &path, found);
                let after = after.trim_start().trim_start_matches(',').trim_start();
                // Whatever is no member of a tree ends it.
                if after.len() == rest.len() {
                    break;
                }
                rest = after;
            }
            return rest.strip_prefix('}').unwrap_or(rest);
        }
        let end = rest
            .find(|ch: char| !(ch.is_alphanumeric() || ch == '_'))
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        match name {
            "" | "self" => {}
            "super" => drop(path.pop()),
            name => path.push(name.to_owned()),
        }
        match after.trim_start().strip_prefix("::") {
            Some(more) if end > 0 => rest = more.trim_start(),
            _ => {
                found.insert(path);
                return after.trim_start_matches('*');
            }
        }
    }
}

/// Cuts a comment off. A `//` inside of a string is kept when something precedes it but blanks: URLs are code.
fn without_comment(line: &str) -> &str {
    if line.trim_start().starts_with("//") {
        return "";
    }
    line.find(" // ").map_or(line, |at| &line[..at])
}

/// The modules that are built for tests alone, by their declarations.
fn test_modules(sources: &[Source]) -> BTreeSet<Vec<String>> {
    let declared = Regex::new(
        r"#\[cfg\((?:all\()?test[^\]]*\]\s*((?:#\[[^\]]*\]\s*)*)(?:pub(?:\([^)]*\))? )?mod (\w+);",
    )
    .unwrap();
    let file = Regex::new(r#"path = "(\w+)\.rs""#).unwrap();
    let mut found = BTreeSet::new();
    for source in sources {
        for name in declared.captures_iter(&source.code) {
            let elsewhere = file.captures(&name[1]).map(|file| file[1].to_owned());
            let module = elsewhere.unwrap_or_else(|| name[2].to_owned());
            found.insert([source.module(), vec![module]].concat());
        }
    }
    found
}

/// The sources of the product. Modules for tests may be long and write their fixtures as they please.
pub fn sources() -> Vec<Source> {
    let mut all = everything();
    let tests = test_modules(&all);
    all.retain(|source| {
        let module = source.module();
        !(1..=module.len()).any(|length| tests.contains(&module[..length]))
    });
    all
}

fn everything() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    files
        .iter()
        .map(|file| {
            let path = file.strip_prefix(&root).unwrap().to_str().unwrap();
            Source::new(path, &std::fs::read_to_string(file).unwrap())
        })
        .collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
