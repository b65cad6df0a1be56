//! What git's configuration says in the user's repository, for a run of git in the depot.
//!
//! Conditions of includes (`gitdir:`, `onbranch:`, …) are about the repository that git runs in. In the depot they would be about that: a setting
//! that is the user's in this repository would not count, and one of another place might. So git is asked in the user's repository, with the
//! caller's environment, and what it says is given to the run without conditions, in its order. There may be passwords in it: it goes
//! through files that nobody else can read, never through arguments, and they are gone after the run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::command::{Git, NAMES_A_REPOSITORY, configured_hooks, hook_of, run_child};
use crate::git::fs::{create_private, remove_optional};
use crate::git::repo::Repo;

/// From this version on git can be told to read other files instead of the user's and the system's.
const TAKES_OTHER_FILES: (u32, u32) = (2, 32);

/// In the depot, while git runs: what the user's repository and the caller's environment say.
const HERE: &str = "settings-here";
/// The same of what the user and the system say for all repositories.
const EVERYWHERE: &str = "settings-everywhere";

/// What adds settings through the environment, beside numbered keys and values; and a file that only `git config` reads.
const ADDS_SETTINGS: [&str; 2] = ["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"];
const NUMBERED: [&str; 2] = ["GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];
const ONLY_FILE: &str = "GIT_CONFIG";

/// What a run was given: files in the depot, until this is dropped.
#[must_use = "the run needs it"]
pub(super) struct Given {
    files: Vec<PathBuf>,
    /// The names of the hooks that are configured.
    pub hooks: BTreeSet<String>,
}

impl Drop for Given {
    fn drop(&mut self) {
        for file in &self.files {
            // The next run removes what stays.
            let _ = remove_optional(file);
        }
    }
}

/// Sets the user's environment, without what names another repository.
pub(super) fn as_the_user(command: &mut Command, repo: &Repo) {
    command.env_clear();
    for (name, value) in repo.env().vars() {
        if name != ONLY_FILE && !NAMES_A_REPOSITORY.iter().any(|known| name == known) {
            command.env(name, value);
        }
    }
    // What git says is told apart by its words.
    command.env("LC_ALL", "C").env_remove("LANGUAGE");
}

/// Has a run in the depot read what counts in the user's repository. To be called where options of git itself stand, before those that are to
/// count more. Nobody else runs git there meanwhile. `pushed`: a remote that is to be where git pushes to, also for a fetch.
///
/// # Errors
/// `INVALID_CONFIG` where an older git would read another configuration there; git cannot be asked; the files cannot be written.
pub(super) fn give(
    command: &mut Command,
    repo: &Repo,
    depot: &Path,
    pushed: Option<&str>,
) -> Result<Given> {
    let mut given = Given {
        files: Vec::new(),
        hooks: configured_hooks(repo)?,
    };
    let version = Git::version(repo);
    if let Some(old) = version.filter(|version| *version < TAKES_OTHER_FILES) {
        give_files(command, repo, old)?;
        return Ok(given);
    }
    let mut entries = ask(repo)?;
    if let Some(remote) = pushed {
        move_to_where_pushes_go(&mut entries, remote);
    }
    let names = entries.iter().filter_map(|entry| hook_of(&entry.key));
    given.hooks.extend(names.map(str::to_owned));
    for (name, _) in repo.env().vars() {
        let text = name.to_string_lossy();
        if ADDS_SETTINGS.contains(&&*text) || NUMBERED.iter().any(|start| text.starts_with(start)) {
            command.env_remove(name);
        }
    }
    let (everywhere, here): (Vec<_>, Vec<_>) =
        entries.iter().partition(|entry| entry.is_everywhere);
    // Else git reads the same by itself, as does what it starts for a remote on this disk.
    if entries.iter().any(Entry::is_conditional) {
        let file = given.write(depot.join(EVERYWHERE), &everywhere)?;
        command.env("GIT_CONFIG_GLOBAL", file);
        command.env("GIT_CONFIG_SYSTEM", "/dev/null");
    }
    let file = given.write(depot.join(HERE), &here)?;
    include(command, &file);
    Ok(given)
}

impl Given {
    fn write(&mut self, path: PathBuf, entries: &[&Entry]) -> Result<PathBuf> {
        let what = || format!("cannot write '{}'", path.display());
        // What a killed run left.
        remove_optional(&path)?;
        // Whoever else may use the repository may not read it.
        let mut file = create_private(&path).context(what)?;
        self.files.push(path.clone());
        let bytes = entries.iter().flat_map(|entry| entry.encoded());
        file.write_all(&bytes.collect::<Vec<u8>>()).context(what)?;
        Ok(path)
    }
}

/// The same for an older git, where its conditions are none of the question.
fn give_files(command: &mut Command, repo: &Repo, (major, minor): (u32, u32)) -> Result<()> {
    if !repo.config_entries("includeif.")?.is_empty() {
        let message = format!(
            "git {major}.{minor} would read settings under 'includeIf' as if they were for another repository"
        );
        let (major, minor) = TAKES_OTHER_FILES;
        return Err(Error::new(Code::InvalidConfig, message).hint(format!(
            "install git {major}.{minor} or later, or set what is needed here without a condition: git config --show-origin --get-regexp '^includeif'"
        )));
    }
    include(command, &repo.common_dir().join("config"));
    if repo.config("extensions.worktreeConfig")?.is_some() {
        include(command, &repo.git_dir().join("config.worktree"));
    }
    Ok(())
}

fn include(command: &mut Command, file: &Path) {
    let mut include = OsString::from("include.path=");
    include.push(file);
    command.arg("-c").arg(include);
}

/// Asks git what counts in the user's repository.
fn ask(repo: &Repo) -> Result<Vec<Entry>> {
    let mut command = Command::new("git");
    as_the_user(&mut command, repo);
    let (root, git_dir) = (repo.worktree_root(), repo.git_dir());
    let mut named = OsString::from("--git-dir=");
    // As git finds it there: then a path through a symlink, of which the shell tells it, may fit a condition, too.
    named.push(git_dir.strip_prefix(root).unwrap_or(git_dir));
    command
        .arg(named)
        .args(["config", "--null", "--list", "--show-scope", "--includes"])
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let listed = run_child(command, &[], "config")?.into_stdout("config")?;
    Ok(parse(&listed))
}

/// Has a fetch go where pushes go, when a remote has addresses of its own for these. They stay what they are for a push: git rewrites them by other
/// rules than the rest (`pushInsteadOf`).
fn move_to_where_pushes_go(entries: &mut Vec<Entry>, remote: &str) {
    let key = |name: &str| format!("remote.{remote}.{name}").into_bytes();
    let (url, pushurl) = (key("url"), key("pushurl"));
    let pushed = entries.iter().filter(|entry| entry.key == pushurl);
    let moved = pushed.map(|entry| Entry {
        // The remote itself is named here, whoever said this of it.
        is_everywhere: false,
        key: url.clone(),
        value: entry.value.clone(),
    });
    let moved: Vec<Entry> = moved.collect();
    if !moved.is_empty() {
        entries.retain(|entry| entry.key != url);
        entries.extend(moved);
    }
}

/// One entry, as git lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// From the user's files or the system's.
    is_everywhere: bool,
    key: Vec<u8>,
    /// None: a key without a value, which is true.
    value: Option<Vec<u8>>,
}

fn parse(listed: &[u8]) -> Vec<Entry> {
    let listed = listed.strip_suffix(b"\0").unwrap_or(listed);
    let parts: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
    let pairs = parts.chunks_exact(2).filter_map(|pair| {
        let [scope, entry] = pair else { return None };
        let mut halves = entry.splitn(2, |byte| *byte == b'\n');
        Some(Entry {
            is_everywhere: [&b"system"[..], b"global"].contains(scope),
            key: halves.next()?.to_vec(),
            value: halves.next().map(<[u8]>::to_vec),
        })
    });
    pairs.collect()
}

impl Entry {
    /// An include with a condition, whether it holds or not.
    fn is_conditional(&self) -> bool {
        self.key.starts_with(b"includeif.")
    }

    /// The entry as a file has it; nothing of an include, for what it brings is listed, too.
    fn encoded(&self) -> Vec<u8> {
        let dots = || (0..self.key.len()).filter(|at| self.key.get(*at) == Some(&b'.'));
        let (Some(first), Some(last)) = (dots().next(), dots().next_back()) else {
            return Vec::new();
        };
        if self.is_conditional() || self.key.starts_with(b"include.") {
            return Vec::new();
        }
        let part = |from: usize, to: usize| self.key.get(from..to).unwrap_or_default();
        let mut file = b"[".to_vec();
        file.extend(part(0, first));
        if first < last {
            file.push(b' ');
            file.extend(quoted(part(first + 1, last)));
        }
        file.extend(b"]\n\t");
        file.extend(part(last + 1, self.key.len()));
        if let Some(value) = &self.value {
            file.extend(b" = ");
            file.extend(quoted(value));
        }
        file.push(b'\n');
        file
    }
}

fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for byte in bytes {
        match byte {
            b'\n' => quoted.extend(b"\\n"),
            b'"' | b'\\' => quoted.extend([b'\\', *byte]),
            other => quoted.push(*other),
        }
    }
    quoted.push(b'"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::repo::testing::TestRepo;

    #[test]
    fn what_git_lists_it_reads_again() {
        let test = TestRepo::new();
        let entry = |key: &str, value: Option<&str>| Entry {
            is_everywhere: false,
            key: key.into(),
            value: value.map(|value| value.as_bytes().to_vec()),
        };
        let entries = [
            entry("a.plain", Some("one")),
            entry("a.plain", Some("")),
            entry("a.true", None),
            entry(
                "a.s.ub.name",
                Some(" \"quoted\" \\ # ; \t\r\n two\nlines\r"),
            ),
            entry("a..name", Some("of the empty subsection")),
            entry("url.https://x/=\"\\].insteadof", Some("é~/x")),
        ];
        let file = test.dir().join("settings");
        let bytes: Vec<u8> = entries.iter().flat_map(Entry::encoded).collect();
        crate::git::fs::write_atomic(&file, &bytes, crate::git::fs::Durable::No).expect("written");
        let repo = test.open();
        let args = ["config", "--null", "--list", "--show-scope", "--file"];
        let listed = Git::new(&repo).args(args).arg(&file).run().expect("read");
        assert_eq!(parse(&listed), entries);
        for include in ["include.path", "includeif.gitdir:a.b/.path"] {
            assert_eq!(entry(include, Some("x")).encoded(), b"");
        }
    }
}
