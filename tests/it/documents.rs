//! The documents that name tests name tests that there are.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::sandbox::skipped;

/// Every source file beneath a directory, with its path below it.
fn sources(root: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(root).unwrap().to_owned(), text));
            }
        }
    }
    found
}

/// The tests of a tree of sources, as `cargo test` prints them but for the modules that a path does not tell.
fn tests(root: &Path) -> BTreeSet<String> {
    let function = Regex::new(r"#\[test\]\s+(?:#\[[^\]]*\]\s+)*(?:pub )?fn (\w+)\(").unwrap();
    let mut names = BTreeSet::new();
    for (path, text) in sources(root) {
        let module = path.with_extension("");
        let parts = module
            .iter()
            .map(|part| part.to_string_lossy().into_owned());
        let parts: Vec<String> = parts.filter(|part| part != "mod").collect();
        for found in function.captures_iter(&text) {
            let name = [&parts.join("::"), "::", &found[1]].concat();
            // Most unit tests are in a module at the end of their file.
            let (module, function) = name.rsplit_once("::").unwrap();
            names.insert(format!("{module}::tests::{function}"));
            names.insert(function.to_owned());
            names.insert(name);
        }
    }
    names
}

#[test]
fn every_test_that_a_document_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut known = tests(&root.join("tests/it"));
    known.extend(tests(&root.join("src")));
    // With its module, or alone: no other name has so many words.
    let quoted = Regex::new(r"`((?:\w+::)+\w+|[a-z0-9]+(?:_[a-z0-9]+){3,})`").unwrap();
    let mut missing = Vec::new();
    let mut count = 0;
    let entries = [root.to_owned(), root.join("docs")].map(|dir| std::fs::read_dir(dir).unwrap());
    for entry in entries.into_iter().flatten() {
        let path = entry.unwrap().path();
        // The list of changes names what there was.
        if path.extension().is_none_or(|extension| extension != "md")
            || path.ends_with("CHANGELOG.md")
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for name in quoted.captures_iter(&text).map(|found| found[1].to_owned()) {
            count += 1;
            if !known.contains(&name) {
                missing.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(count > 500, "{count}");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_picture_that_a_document_shows_is_there() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let text = ["ui.md", "web.md"].map(|name| std::fs::read_to_string(docs.join(name)).unwrap());
    let text = text.concat();
    let shown = Regex::new(r"!\[[^\]]+\]\((pictures/[^)]+)\)").unwrap();
    let shown: BTreeSet<PathBuf> = shown
        .captures_iter(&text)
        .map(|found| docs.join(&found[1]))
        .collect();
    let kept = std::fs::read_dir(docs.join("pictures")).unwrap();
    let kept: BTreeSet<PathBuf> = kept
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some())
        .collect();
    assert_eq!(shown, kept);
    assert_eq!(shown.len(), 6);
}

/// What somebody fetched, built or packed belongs to no commit.
#[test]
fn all_that_is_tracked_is_text_but_for_pictures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // By itself: to git a clone of another user is none to look into.
    let index = root.join(".git/index");
    if !index.is_file() {
        skipped("a clone", "the sources are in no repository of their own");
        return;
    }
    let index = git2::Index::open(&index).unwrap();
    let paths = index
        .iter()
        .map(|entry| PathBuf::from(OsString::from_vec(entry.path)));
    let is_other = |path: &PathBuf| {
        let is_picture =
            path.starts_with("docs/pictures") && path.extension() == Some("png".as_ref());
        // What is removed and not committed yet has no bytes.
        let bytes = std::fs::read(root.join(path)).unwrap_or_default();
        !is_picture && String::from_utf8(bytes).is_err()
    };
    let others: Vec<PathBuf> = paths.filter(is_other).collect();
    assert_eq!(others, Vec::<PathBuf>::new());
    assert!(index.len() > 1000, "{}", index.len());
}

/// Whether a source has an item, or a type and its method.
fn has(text: &str, names: &[&str]) -> bool {
    names.iter().all(|name| {
        let kinds = "fn|struct|enum|trait|const|static|type|mod|macro_rules!";
        let item = format!(r"\b(?:{kinds}) {}\b", regex::escape(name));
        Regex::new(&item).unwrap().is_match(text)
    })
}

#[test]
fn every_place_that_the_architecture_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let place = Regex::new(r"`([\w/]+/)?(\w+\.rs)((?:::\w+)*)`").unwrap();
    let mut missing = Vec::new();
    let mut count = 0;
    for found in place.captures_iter(&text) {
        count += 1;
        let dir = found.get(1).map_or("", |dir| dir.as_str());
        let path = root.join("src").join(dir).join(&found[2]);
        let names: Vec<&str> = found[3]
            .split("::")
            .filter(|name| !name.is_empty())
            .collect();
        let source = std::fs::read_to_string(&path).unwrap_or_default();
        if source.is_empty() || !has(&source, &names) {
            missing.push(found[0].to_owned());
        }
    }
    assert!(count > 60, "{count}");
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn a_test_that_cannot_be_had_says_so() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let silent = Regex::new(r#"is_root\(\) \{\s+return|println!\(\s*"skipp"#).unwrap();
    let found: Vec<String> = sources(&root.join("tests/it"))
        .into_iter()
        .filter(|(path, text)| path != Path::new("documents.rs") && silent.is_match(text))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert_eq!(found, [""; 0], "call `sandbox::skipped` with the reason");
}
