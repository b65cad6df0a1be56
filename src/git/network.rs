//! The user's own git on the network: one ref fetched, one ref pushed. Nothing else of `tw` talks to a remote.
//!
//! Runs in a [`Depot`], with the user's environment, credentials and transports, and with the configuration that git has in the user's repository
//! (`theirs`): where these lead is theirs. What of them would have more transferred, or more changed, than the one ref is turned off for the
//! run: tags, submodules, pruning, `FETCH_HEAD`, filters of partial clones, mirrors. No hook is started. Promises to change nothing in the
//! user's repository, to tell the remote of nothing that is not in the depot, to write no file of more than 256 MiB in a fetch, and never to
//! force.

mod theirs;

use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::Oid;
use super::command::{Output, run_child, said_by, start_no_configured_hook};
use super::create;
use super::depot::Depot;
use super::repo::Repo;
use crate::error::{Code, Error, Result, ResultExt};
use crate::text::typed;

/// What a fetch may write into one file, in blocks of 512 bytes (of 1,024 in some shells): 256 MiB.
const LARGEST_FILE: u32 = 512 * 1024;

/// Settings for every run. What comes stays in the one pack that it came in, of which the size is bounded. Nothing is tidied up there: the
/// limit would hold for that as well.
const SETTINGS: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "fetch.unpackLimit=1",
    "push.followTags=false",
];

/// When the depot is tidied up, which nobody else does.
const TIDYING: [&str; 3] = ["gc.auto=6700", "gc.autoPackLimit=50", "gc.autoDetach=false"];

/// What git itself looks at of the objects that a fetch brings. That all of them came it always looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Their form: one that is not well formed stops the fetch.
    Form,
    /// Nothing more: whoever takes something of them looks at it first, and refuses that alone.
    Nothing,
}

/// What git says against the content of a file that it reads itself in a checkout, which nobody makes here. Any fetch brings such a file, and
/// so would somebody's push of one keep everybody else from fetching.
const OF_CONTENT: [&str; 13] = [
    "gitattributesBlob",
    "gitattributesLarge",
    "gitattributesLineLength",
    "gitattributesMissing",
    "gitmodulesBlob",
    "gitmodulesLarge",
    "gitmodulesMissing",
    "gitmodulesName",
    "gitmodulesParse",
    "gitmodulesPath",
    "gitmodulesSymlink",
    "gitmodulesUpdate",
    "gitmodulesUrl",
];

/// What an older git says of one of them that it does not know.
const NOT_KNOWN: &str = "warning: Skipping unknown msg id";

impl Check {
    fn settings(self) -> Vec<String> {
        let is_on = self == Self::Form;
        let mut settings = vec![format!("fetch.fsckObjects={is_on}")];
        if is_on {
            settings.extend(OF_CONTENT.map(|id| format!("fetch.fsck.{id}=ignore")));
        }
        settings
    }
}

/// How a push ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    /// The remote has it.
    Done,
    /// The remote's ref is not where it was, or the remote does not want it.
    Refused(Refusal),
}

/// Why a remote did not take a ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What git says of the ref.
    reason: String,
    /// What the remote said beside it.
    said: String,
}

impl Refusal {
    /// Whether somebody else had the ref at that moment. A ref below it, or one that it would be below, stays there.
    pub fn is_race(&self) -> bool {
        const WORDS: [&str; 3] = ["cannot lock ref", "failed to update ref", "fetch first"];
        let is_in_the_way = [&self.reason, &self.said]
            .iter()
            .any(|text| text.contains("cannot create"));
        !is_in_the_way && WORDS.iter().any(|words| self.reason.contains(words))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        match self.said.as_str() {
            "" => Ok(()),
            said => write!(f, ": {said}"),
        }
    }
}

/// A remote of the user's repository, and the depot that is exchanged through.
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// The user's repository, whose configuration counts.
    pub repo: &'a Repo,
    /// Where objects and refs are.
    pub depot: &'a Depot,
    /// The remote, as git's configuration names it.
    pub remote: &'a str,
    /// Which place of it.
    pub place: Place,
}

/// Where a remote is: git may have another address for what it sends there (`remote.<name>.pushurl`), even of another repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Where git fetches from.
    Fetched,
    /// Where git pushes to. Whoever pushes has to know what is there.
    Pushed,
}

/// Fetches the ref `from` of a remote into the depot's ref `to`, whatever that was. False: the remote has no such ref.
///
/// # Errors
/// `IO` with what git said.
pub fn fetch(line: Line<'_>, from: &str, to: &str, check: Check) -> Result<bool> {
    let Line { repo, remote, .. } = line;
    let settings = check.settings().into_iter();
    let settings = settings.flat_map(|setting| ["-c".to_owned(), setting]);
    let mut args: Vec<String> = settings.chain(["fetch".to_owned()]).collect();
    let flags = [
        "--quiet",
        "--no-tags",
        "--no-prune",
        "--no-recurse-submodules",
        "--no-show-forced-updates",
        "--refmap=",
        "--no-filter",
    ];
    args.extend(flags.map(str::to_owned));
    args.extend(["--".to_owned(), remote.to_owned(), format!("+{from}:{to}")]);
    let largest = largest_file(repo);
    let before = unfinished(line.depot);
    let output = run(line, "fetch", &args, Some(largest));
    // git before 2.29 has no option that keeps it from being written.
    super::fs::remove_optional(&line.depot.dir().join("FETCH_HEAD"))?;
    let output = output?;
    if output.status.success() {
        tidy_up(line)?;
        return Ok(true);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if remove_cut_off(line.depot, &before, largest) {
        let message = format!("'{remote}' sends more than {} MiB at once", largest / 2048);
        return Err(Error::new(Code::Io, message)
            .hint("nothing of it was kept; ask who may write to the remote"));
    }
    if said.contains("couldn't find remote ref") || said.contains("could not find remote ref") {
        return Ok(false);
    }
    Err(failed(repo, "fetch from", remote, &output))
}

/// Has git make one pack of many, when there are. What keeps it from that is no failure of a fetch.
fn tidy_up(line: Line<'_>) -> Result<()> {
    let settings = TIDYING.iter().flat_map(|setting| ["-c", setting]);
    let args = settings.chain(["gc", "--auto", "--quiet"]);
    let args: Vec<String> = args.map(str::to_owned).collect();
    run(line, "gc", &args, None).map(drop)
}

/// The most bytes that any fetch brings at once.
pub fn most_at_once(repo: &Repo) -> u64 {
    u64::from(largest_file(repo)) * 512
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
fn unfinished(depot: &Depot) -> Vec<(PathBuf, u64)> {
    let entries = std::fs::read_dir(depot.dir().join("objects/pack"));
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
fn remove_cut_off(depot: &Depot, before: &[(PathBuf, u64)], largest: u32) -> bool {
    let limits = [512, 1024].map(|block| u64::from(largest) * block);
    let mut found = false;
    for (path, size) in unfinished(depot) {
        let is_new = before.iter().all(|(known, _)| *known != path);
        if is_new && limits.contains(&size) {
            found |= super::fs::remove_optional(&path).is_ok();
        }
    }
    found
}

/// Pushes a commit of the depot to the ref `to` of a remote, without force.
///
/// # Errors
/// `IO` with what git said, when it did not come so far that the ref could be refused.
pub fn push(line: Line<'_>, commit: Oid, to: &str) -> Result<Pushed> {
    let Line { repo, remote, .. } = line;
    let mut args = vec!["push".to_owned()];
    let flags = [
        "--porcelain",
        "--no-follow-tags",
        "--recurse-submodules=no",
        "--no-force-with-lease",
    ];
    args.extend(flags.map(str::to_owned));
    args.extend(["--".to_owned(), remote.to_owned(), format!("{commit}:{to}")]);
    let output = run(line, "push", &args, None)?;
    if output.status.success() {
        return Ok(Pushed::Done);
    }
    let status = String::from_utf8_lossy(&output.stdout);
    let refused = status.lines().find(|line| line.starts_with("!\t"));
    match refused {
        Some(line) => {
            let reason = line.rsplit('\t').next().unwrap_or_default().to_owned();
            Ok(Pushed::Refused(Refusal {
                said: if reason.contains("fetch first") {
                    String::new()
                } else {
                    said_by(&output)
                },
                reason,
            }))
        }
        None => Err(failed(repo, "push to", remote, &output)),
    }
}

fn run(line: Line<'_>, name: &str, args: &[String], largest: Option<u32>) -> Result<Output> {
    let Line { repo, remote, .. } = line;
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
    theirs::as_the_user(&mut command, repo);
    command
        .arg("--git-dir")
        .arg(line.depot.dir())
        .arg("--no-pager");
    // The user's own first: of two, the later one counts.
    let pushed = (line.place == Place::Pushed).then_some(remote);
    let given = theirs::give(&mut command, repo, line.depot.dir(), pushed)?;
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    for setting in [
        "mirror=false",
        "promisor=false",
        "prune=false",
        "pruneTags=false",
    ] {
        command.args(["-c".to_owned(), format!("remote.{remote}.{setting}")]);
    }
    start_no_configured_hook(&mut command, &given.hooks);
    command
        .args(args)
        .current_dir(repo.worktree_root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = run_child(command, &[], name);
    // Before the rest is given away: what the user has elsewhere is not for the owner of the depot.
    drop(given);
    // git makes what comes, and its own ref of it, as whoever runs it.
    let depot = line.depot.dir();
    create::give_all(depot).context(|| format!("cannot give away '{}'", depot.display()))?;
    output
}

/// What git says when the other side names its objects by another hash.
const ANOTHER_HASH: [&str; 2] = ["mismatched algorithms", "hash algorithm"];

fn failed(repo: &Repo, what: &str, remote: &str, output: &Output) -> Error {
    let said = said_by(output);
    let lines = said.lines().filter(|line| !line.starts_with(NOT_KNOWN));
    let said = lines.collect::<Vec<_>>().join("; ");
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
    Error::new(Code::Io, format!("cannot {what} '{remote}': {said}")).hint(format!(
        "whether git gets there: git ls-remote {}",
        typed(remote)
    ))
}
