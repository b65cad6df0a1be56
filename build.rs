//! Tells the program which commit it is made of and which features it has, for `tw --version`, and where a debug build lies.
//!
//! Promises: a build outside of git, of a package from a registry or of sources inside somebody else's repository works, and names no
//! commit that is not its own. A debug build names none, so that a commit does not make it build anew.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script is told everything by its environment, and answers on standard output"
)]

use std::path::Path;
use std::process::Command;

/// The features, in the order in which they are named.
pub const FEATURES: [&str; 3] = ["mcp", "ui", "web"];

/// What goes into the program, and so tells whether it is the commit's.
const SOURCES: [&str; 5] = ["Cargo.lock", "Cargo.toml", "build.rs", "completions", "src"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TW_BUILD_COMMIT");
    let told = std::env::var("TW_BUILD_COMMIT").unwrap_or_default();
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let made_of = if told.is_empty() && is_release {
        MadeOf::find(Path::new("."))
    } else {
        MadeOf {
            commit: told,
            watched: Vec::new(),
        }
    };
    for path in made_of.watched {
        println!("cargo::rerun-if-changed={path}");
    }
    let build = match made_of.commit {
        commit if commit.is_empty() => commit,
        commit => format!(" ({commit})"),
    };
    println!("cargo::rustc-env=TW_BUILD={build}");
    // A large program that may lie anywhere has a hundred thousand addresses to mend at each start. The tests start it thousands of
    // times, and are a tenth quicker when it lies in one place.
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|is| is == value);
    if !is_release && is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    let has = |feature: &&str| {
        std::env::var_os(format!("CARGO_FEATURE_{}", feature.to_uppercase())).is_some()
    };
    let features: Vec<&str> = FEATURES.into_iter().filter(has).collect();
    let features = match features.join(", ") {
        none if none.is_empty() => "none".to_owned(),
        features => features,
    };
    println!("cargo::rustc-env=TW_FEATURES={features}");
}

/// What sources are.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct MadeOf {
    /// The commit and, where it is known, its day; empty when they are no commit's.
    pub commit: String,
    /// What changes when that does.
    pub watched: Vec<String>,
}

impl MadeOf {
    /// Looks at the sources in a directory.
    pub fn find(root: &Path) -> Self {
        package(root).or_else(|| checkout(root)).unwrap_or_default()
    }
}

/// The commit that cargo wrote into a package; it knows no day.
fn package(root: &Path) -> Option<MadeOf> {
    let info = std::fs::read_to_string(root.join(".cargo_vcs_info.json")).ok()?;
    let id = info.split("\"sha1\": \"").nth(1)?.split('"').next()?;
    let modified = if info.contains("\"dirty\": true") {
        "-modified"
    } else {
        ""
    };
    Some(MadeOf {
        commit: format!("{}{modified}", id.get(..10)?),
        watched: Vec::new(),
    })
}

/// The commit that is checked out, when these sources are a repository of their own.
fn checkout(root: &Path) -> Option<MadeOf> {
    let git = |args: &[&str]| git(root, args);
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if Path::new(&top).canonicalize().ok()? != root.canonicalize().ok()? {
        return None;
    }
    // Each commit and each change of branch adds to it: a line, or a table.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    let tables = git(&["rev-parse", "--git-path", "reftable/tables.list"])?;
    let watched = SOURCES.into_iter().chain([log.as_str(), tables.as_str()]);
    let watched = watched.filter(|path| root.join(path).exists());
    let commit = git(&[
        "log",
        "-1",
        "--no-show-signature",
        "--abbrev=10",
        "--format=%h %cs",
    ])?;
    let changed = git(&[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
    let commit = match commit.split_once(' ') {
        Some((id, day)) if !changed.is_empty() => format!("{id}-modified {day}"),
        _ => commit,
    };
    Some(MadeOf {
        commit,
        watched: watched.map(str::to_owned).collect(),
    })
}

/// What git answers; none where it fails or is not there. Variables that a hook of git hands on would lead it elsewhere.
fn git(root: &Path, args: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command.current_dir(root).env("GIT_OPTIONAL_LOCKS", "0");
    let answer = command.args(args).output().ok()?;
    if !answer.status.success() {
        return None;
    }
    let text = String::from_utf8(answer.stdout).ok()?;
    Some(text.trim_end().to_owned())
}
