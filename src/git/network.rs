//! The user's own git on the network: one ref fetched, one ref pushed. Nothing else of `tw` talks to a remote.
//!
//! Runs with the user's environment, configuration, credentials, transports and hooks: where these lead is theirs. What of them would have
//! more transferred, or more changed here, than the one ref is turned off for the run: tags, submodules, pruning, remote-tracking branches,
//! `FETCH_HEAD`, background maintenance, mirrors. Promises to write no other ref than the one named, not to tell the remote what else
//! this repository has, to write no file of more than 256 MiB in a fetch, and never to force.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::Oid;
use super::command::{Output, run_child, said_by};
use super::repo::Repo;
use crate::error::{Code, Error, Result};

/// What a fetch may write into one file, in blocks of 512 bytes (of 1,024 in some shells): 256 MiB.
const LARGEST_FILE: u32 = 512 * 1024;

/// What names a repository to git: the one that `tw` works in is named by an option.
const NAMES_A_REPOSITORY: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_QUARANTINE_PATH",
];

/// Settings for every run. What comes stays in the one pack that it came in, of which the size is bounded.
const SETTINGS: [&str; 9] = [
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.pruneTags=false",
    "fetch.writeCommitGraph=false",
    "fetch.fsckObjects=true",
    "fetch.unpackLimit=1",
    "push.followTags=false",
];

/// How a push ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has it.
    Done,
    /// The remote's ref is not where it was, or the remote does not want it: what it said.
    Refused(String),
}

/// Fetches the ref `from` of a remote into our ref `to`, whatever that was. False: the remote has no such ref.
///
/// # Errors
/// `IO` with what git said.
pub fn fetch(repo: &Repo, remote: &str, from: &str, to: &str, has_been_seen: bool) -> Result<bool> {
    let mut args = vec!["fetch".to_owned()];
    let flags = [
        "--quiet",
        "--no-tags",
        "--no-prune",
        "--no-recurse-submodules",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--no-show-forced-updates",
        "--refmap=",
        "--no-filter",
    ];
    args.extend(flags.map(str::to_owned));
    // Ids of private commits would stand among what git says that it has.
    if has_been_seen {
        args.push(format!("--negotiation-tip={to}"));
    } else {
        args.splice(
            0..0,
            [
                "-c".to_owned(),
                "fetch.negotiationAlgorithm=noop".to_owned(),
            ],
        );
    }
    args.extend(["--".to_owned(), remote.to_owned(), format!("+{from}:{to}")]);
    let largest = largest_file(repo);
    let before = unfinished(repo);
    let output = run(repo, &args, Some(largest))?;
    if output.status.success() {
        return Ok(true);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if remove_cut_off(repo, &before, largest) {
        let message = format!("'{remote}' sends more than {} MiB at once", largest / 2048);
        return Err(Error::new(Code::Io, message)
            .hint("nothing of it was kept; ask who may write to the remote"));
    }
    if said.contains("couldn't find remote ref") || said.contains("could not find remote ref") {
        return Ok(false);
    }
    Err(failed(repo, "fetch from", remote, &output))
}

/// The limit of a file that a fetch writes, in blocks of 512 bytes. Tests have a smaller one.
fn largest_file(repo: &Repo) -> u32 {
    #[cfg(debug_assertions)]
    if let Some(blocks) = repo.env().text("TW_TEST_FETCH_BLOCKS") {
        return blocks.parse().unwrap_or(LARGEST_FILE);
    }
    let _ = repo;
    LARGEST_FILE
}

/// The packs that somebody is writing, or died writing, with their sizes.
fn unfinished(repo: &Repo) -> Vec<(PathBuf, u64)> {
    let entries = std::fs::read_dir(repo.objects_dir().join("pack"));
    let entries = entries.into_iter().flatten().flatten();
    let temporary = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with("tmp_pack_")
    });
    let sized = temporary.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?.len())));
    sized.collect()
}

/// Removes the pack that a fetch was cut off in, which git would leave for weeks: new since then, and of exactly as many bytes as the limit
/// lets it have, in blocks of either size. Tells whether there was one.
fn remove_cut_off(repo: &Repo, before: &[(PathBuf, u64)], largest: u32) -> bool {
    let limits = [512, 1024].map(|block| u64::from(largest) * block);
    let mut found = false;
    for (path, size) in unfinished(repo) {
        let is_new = before.iter().all(|(known, _)| *known != path);
        if is_new && limits.contains(&size) {
            found |= super::fs::remove_optional(&path).is_ok();
        }
    }
    found
}

/// Pushes a commit to the ref `to` of a remote, without force.
///
/// # Errors
/// `IO` with what git said, when it did not come so far that the ref could be refused.
pub fn push(repo: &Repo, remote: &str, commit: Oid, to: &str) -> Result<Pushed> {
    let mut args = vec!["push".to_owned()];
    let flags = [
        "--porcelain",
        "--no-follow-tags",
        "--recurse-submodules=no",
        "--no-force-with-lease",
    ];
    args.extend(flags.map(str::to_owned));
    args.extend(["--".to_owned(), remote.to_owned(), format!("{commit}:{to}")]);
    let output = run(repo, &args, None)?;
    if output.status.success() {
        return Ok(Pushed::Done);
    }
    let status = String::from_utf8_lossy(&output.stdout);
    let refused = status.lines().find(|line| line.starts_with("!\t"));
    match refused {
        Some(line) => {
            let why = line.rsplit('\t').next().unwrap_or_default();
            let said = said_by(&output);
            Ok(Pushed::Refused(
                if said.is_empty() || why.contains("fetch first") {
                    why.to_owned()
                } else {
                    format!("{why}: {said}")
                },
            ))
        }
        None => Err(failed(repo, "push to", remote, &output)),
    }
}

fn run(repo: &Repo, args: &[String], largest: Option<u32>) -> Result<Output> {
    let mut command = match largest {
        None => Command::new("git"),
        // The limit is inherited by whatever unpacks what comes.
        Some(largest) => {
            let mut shell = Command::new("sh");
            let script = format!("ulimit -f {largest} 2>/dev/null; exec git \"$@\"");
            shell.args([OsStr::new("-c"), OsStr::new(&script), OsStr::new("sh")]);
            shell
        }
    };
    command.env_clear();
    for (name, value) in repo.env().vars() {
        if !NAMES_A_REPOSITORY.iter().any(|known| name == known) {
            command.env(name, value);
        }
    }
    // What git says is told apart by its words.
    command.env("LC_ALL", "C").env_remove("LANGUAGE");
    command
        .arg("--git-dir")
        .arg(repo.git_dir())
        .arg("--no-pager");
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command
        .args(args)
        .current_dir(repo.worktree_root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    run_child(command, &[], args.first().map_or("git", String::as_str))
}

/// What git says when the other side names its objects by another hash.
const ANOTHER_HASH: [&str; 2] = ["mismatched algorithms", "hash algorithm"];

fn failed(repo: &Repo, what: &str, remote: &str, output: &Output) -> Error {
    let said = said_by(output).replace('\n', "; ");
    if ANOTHER_HASH.iter().any(|words| said.contains(words)) {
        let format = repo.object_format();
        let message = format!(
            "cannot {what} '{remote}': it does not name objects by {format}, as this repository does"
        );
        return Error::new(Code::UnsupportedRepository, message).hint(format!(
            "objects of the one format cannot go to the other; a remote that can take these: git init --bare --object-format={format}"
        ));
    }
    let said = if said.is_empty() {
        format!("git ended with {}", output.status)
    } else {
        said
    };
    Error::new(Code::Io, format!("cannot {what} '{remote}': {said}"))
        .hint(format!("whether git gets there: git ls-remote {remote}"))
}
