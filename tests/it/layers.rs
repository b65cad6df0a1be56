//! The lay-out of the house, read from the sources: which layer may use which, and who may name what.

mod agents;
mod ops;
mod source;

use std::collections::BTreeSet;

use self::source::{Source, sources};

/// The layers from top to bottom. One may use any below it, none above or beside it.
const LAYERS: [&[&str]; 6] = [
    &["main"],
    &["cli", "mcp", "ui", "web"],
    &["wire"],
    &["ops"],
    &["store", "worktree", "agents", "runner"],
    &["git"],
];

/// Used by all, and using no layer.
const GROUND: [&str; 8] = [
    "error",
    "env",
    "interrupt",
    "json",
    "progress",
    "redact",
    "text",
    "work",
];

/// Who alone may name what.
const RESERVED: [(&str, &[&str]); 21] = [
    ("clap", &["cli/"]),
    ("clap_complete", &["cli/"]),
    ("indicatif", &["cli/progress.rs"]),
    ("grep_matcher", &["ops/search/"]),
    ("grep_regex", &["ops/search/"]),
    ("grep_searcher", &["ops/search/"]),
    ("ratatui", &["ui/"]),
    ("rmcp", &["mcp/"]),
    ("tokio", &["mcp/"]),
    ("httparse", &["web/"]),
    // The error type takes in git2's own, so that `?` works in the git layer.
    ("git2", &["git/", "error.rs"]),
    ("refs/timewarp/", &["store/names.rs"]),
    // Whoever reads a file by its name reads a regular one, within a bound.
    ("fs::read", &["git/regular.rs"]),
    ("fs::read_to_string", &["git/regular.rs"]),
    ("File::open", &["git/regular.rs"]),
    ("env::var", &["env.rs"]),
    ("env::var_os", &["env.rs"]),
    ("env::vars", &["env.rs"]),
    ("env::vars_os", &["env.rs"]),
    ("SystemTime::now", &["env.rs"]),
    ("Utc::now", &["env.rs"]),
];

/// What writes objects or refs in libgit2, and the commands of git's that write what comes, in none of the orders that `tw` promises: named
/// nowhere. There is one writer of objects, `git::objects::ObjectWriter`, and one of refs, `git::refs`.
const OTHER_WRITERS: [&str; 43] = [
    "index-pack",
    "unpack-objects",
    "fast-import",
    "treebuilder",
    "TreeBuilder",
    "TreeUpdateBuilder",
    "packbuilder",
    "PackBuilder",
    "OdbWriter",
    "OdbPackwriter",
    "packwriter",
    "blob_path",
    "blob_writer",
    "commit_create_buffer",
    "commit_signed",
    "commit_as",
    "annotation_create",
    "tag_lightweight",
    "tag_annotation_create",
    "note_delete",
    "reference_symbolic",
    "reference_matching",
    "reference_symbolic_matching",
    "set_head",
    "set_head_detached",
    "set_target",
    "symbolic_set_target",
    "stash_save",
    "stash_save2",
    "stash_save_ext",
    "stash_apply",
    "merge_commits",
    "merge_trees",
    "cherrypick",
    "cherrypick_commit",
    "revert_commit",
    "checkout_tree",
    "checkout_head",
    "checkout_index",
    "write_tree",
    "write_tree_to",
    "write(ObjectType",
    "odb.write",
];

/// What reads objects in libgit2: named nowhere. There is one reader, `git::objects::ObjectStore`, which proves what it reads.
const OTHER_READERS: [&str; 9] = [
    "find_object",
    "find_commit",
    "find_tree",
    "find_blob",
    "find_commit_by_prefix",
    "find_annotated_commit",
    "revparse_single",
    "exists_prefix",
    "odb()",
];

/// Writers whose names mean other things, too: as methods of libgit2's repository.
const OTHER_METHODS: [&str; 8] = [
    "blob",
    "commit",
    "note",
    "reference",
    "tag",
    "branch",
    "worktree",
    "rebase",
];

/// Lines of a file without its unit tests.
const LONGEST: usize = 600;
/// The same in `cli`, where a file is one command: its help, its call and its output.
const LONGEST_IN_CLI: usize = 400;

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&layer))
}

/// What a file breaks.
fn breaches(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    let own = source.layer();
    let used: BTreeSet<String> = source
        .uses()
        .into_iter()
        .filter_map(|path| path.into_iter().next())
        .filter(|name| is_module(name))
        .collect();
    for used in used {
        if !may_use(own, &used, &source.path) {
            found.push(format!("{}: {own} uses {used}", source.path));
        }
    }
    for (word, homes) in RESERVED {
        let home = homes.iter().any(|home| source.path.starts_with(home));
        if !home && names(&source.code, word) {
            found.push(format!("{}: names {word}", source.path));
        }
    }
    for word in OTHER_WRITERS {
        if names(&source.code, word) {
            found.push(format!("{}: writes by {word}", source.path));
        }
    }
    for word in OTHER_READERS {
        if names(&source.code, word) {
            found.push(format!("{}: reads by {word}", source.path));
        }
    }
    for word in OTHER_METHODS {
        let called = |of: &str| names(&source.code, &format!("{of}.{word}"));
        if ["git2", "git2()", "git2()?"].into_iter().any(called) {
            found.push(format!("{}: writes by {word}", source.path));
        }
    }
    let limit = if own == "cli" {
        LONGEST_IN_CLI
    } else {
        LONGEST
    };
    if source.lines > limit {
        found.push(format!(
            "{}: {} lines, more than {limit}",
            source.path, source.lines
        ));
    }
    found
}

fn may_use(own: &str, used: &str, path: &str) -> bool {
    if own == used || own == "lib" || GROUND.contains(&used) {
        return true;
    }
    // `cli` only starts `mcp`, `ui` and `web`.
    if [
        ("mcp", "cli/mcp.rs"),
        ("ui", "cli/ui.rs"),
        ("web", "cli/web.rs"),
    ]
    .contains(&(used, path))
    {
        return true;
    }
    match (rank(own), rank(used)) {
        (Some(own), Some(used)) => used > own,
        // The ground uses no layer; a module that no list knows has to be put in one.
        _ => false,
    }
}

fn is_module(name: &str) -> bool {
    !name.is_empty() && name.starts_with(|ch: char| ch.is_lowercase())
}

/// True when the word stands in the code as a word of its own.
fn names(code: &str, word: &str) -> bool {
    let inside = |ch: char| ch.is_alphanumeric() || ch == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(inside) && (word.ends_with('/') || !after.is_some_and(inside))
    })
}

#[test]
fn every_layer_uses_only_those_below() {
    let sources = sources();
    assert!(sources.len() > 40, "the sources were found");
    let found: Vec<_> = sources.iter().flat_map(breaches).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_kind_of_breach_is_found() {
    for (path, text, breach) in [
        ("git/repo.rs", "use crate::store::Store;", "git uses store"),
        (
            "ops/travel.rs",
            "let a = crate::cli::run();",
            "ops uses cli",
        ),
        (
            "store/mod.rs",
            "use crate::worktree::scan;",
            "store uses worktree",
        ),
        ("env.rs", "use crate::git::Oid;", "env uses git"),
        (
            "wire/mod.rs",
            "use crate::{env::Env, cli::{a, b}};",
            "wire uses cli",
        ),
        ("cli/mod.rs", "use crate::mcp::serve;", "cli uses mcp"),
        ("new/mod.rs", "use crate::git::Oid;", "new uses git"),
        (
            "git/repo.rs",
            "use super::super::ops::travel;",
            "git uses ops",
        ),
        (
            "git/repo/head.rs",
            "super::super::super::store::names()",
            "git uses store",
        ),
        (
            "store/mod.rs",
            "use super::{git, ops::a};",
            "store uses ops",
        ),
        ("ops/mod.rs", "fn f() -> clap::Command", "names clap"),
        (
            "cli/human/mod.rs",
            "use indicatif::ProgressBar;",
            "names indicatif",
        ),
        ("store/mod.rs", "use git2::Repository;", "names git2"),
        (
            "ops/mod.rs",
            "\"refs/timewarp/snapshots/x\"",
            "names refs/timewarp/",
        ),
        ("ops/mod.rs", "std::env::var(\"HOME\")", "names env::var"),
        (
            "agents/lines.rs",
            "let file = std::fs::File::open(path)?;",
            "names File::open",
        ),
        ("ops/mod.rs", "std::fs::read(path)", "names fs::read"),
        (
            "git/notes.rs",
            "let mut b = repo.treebuilder(None)?;",
            "writes by treebuilder",
        ),
        (
            "git/notes.rs",
            "odb.write(kind, body)?",
            "writes by odb.write",
        ),
        ("git/repo.rs", "self.git2.blob(b\"x\")?", "writes by blob"),
        ("git/x.rs", "repo.git2().commit(None)", "writes by commit"),
        ("git/x.rs", "repo.git2()?.tag(a)", "writes by tag"),
        (
            "git/depot.rs",
            "index.args([\"index-pack\", \"--stdin\"])",
            "writes by index-pack",
        ),
        (
            "git/x.rs",
            "repo.git2()?.find_commit(a)",
            "reads by find_commit",
        ),
        (
            "git/x.rs",
            "let odb = repo.git2()?.odb()?;",
            "reads by odb()",
        ),
        (
            "git/fs.rs",
            "let t = SystemTime::now();",
            "names SystemTime::now",
        ),
        ("cli/x.rs", &"\n".repeat(401), "401 lines, more than 400"),
        ("git/x.rs", &"\n".repeat(601), "601 lines, more than 600"),
    ] {
        assert_eq!(
            breaches(&Source::new(path, text)),
            [format!("{path}: {breach}")]
        );
    }
}

#[test]
fn what_is_allowed_passes() {
    for (path, text) in [
        ("main.rs", "timewarp::cli::run(args)"),
        (
            "cli/mod.rs",
            "use crate::{ops, wire, git::Oid, error::Result};",
        ),
        ("cli/mcp.rs", "crate::mcp::serve()"),
        ("error.rs", "impl From<git2::Error> for Error"),
        (
            "ops/mod.rs",
            "/// Says refs/timewarp/ and clap in a comment.",
        ),
        ("ops/mod.rs", "x\n#[cfg(test)]\nmod tests { use git2::X; }"),
        ("git/refs.rs", "use crate::git::repo::Repo;"),
    ] {
        assert_eq!(breaches(&Source::new(path, text)), Vec::<String>::new());
    }
}
