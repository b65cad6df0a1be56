//! Git's configuration as this process sees it: system, global, this repository's, this worktree's, and what
//! `GIT_CONFIG_COUNT` adds.
//!
//! Owns the order of precedence, conditional includes, and the reading of values. Which files count is told by [`Env`]
//! alone (`GIT_CONFIG_NOSYSTEM`, `GIT_CONFIG_SYSTEM`, `GIT_CONFIG_GLOBAL`, `XDG_CONFIG_HOME`, `HOME`), never by libgit2's
//! own look at the process. Leaves out `GIT_CONFIG_PARAMETERS`, which belongs to one `git -c` run and to its hooks. Never
//! writes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::regular;
use crate::git::wildmatch::{Flags, wildmatch};

/// Before a path that counts only while something is there.
const OPTIONAL: &[u8] = b":(optional)";

/// How deep includes may nest, as in git.
const MAX_INCLUDES: u32 = 10;

/// Where a configuration entry comes from, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigLevel {
    /// `/etc/gitconfig`.
    System,
    /// The user's own file under `HOME` or `XDG_CONFIG_HOME`.
    Global,
    /// The repository's `config`.
    Local,
    /// This worktree's `config.worktree`.
    Worktree,
    /// `GIT_CONFIG_COUNT` in the environment.
    Command,
}

/// One entry, as it stands in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEntry {
    /// Section and variable in lower case, subsection as written.
    pub key: String,
    /// The raw value; `None` for a key without `=`, which is true.
    pub value: Option<Vec<u8>>,
    /// The level of the file that led here.
    pub level: ConfigLevel,
    /// The file (of an unconditional include: the including one); empty for [`ConfigLevel::Command`].
    pub origin: PathBuf,
}

impl ConfigEntry {
    /// The value as text, lossy; empty for a key without a value.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.value.as_deref().unwrap_or_default()).into_owned()
    }

    /// The value as a boolean, as git reads one.
    pub fn bool(&self) -> Result<bool> {
        match &self.value {
            None => Ok(true),
            Some(_) => git2::Config::parse_bool(self.text()).map_err(|_| self.invalid("boolean")),
        }
    }

    /// The value as a number with git's `k`, `m`, `g`.
    pub fn int(&self) -> Result<i64> {
        git2::Config::parse_i64(self.text()).map_err(|_| self.invalid("numeric"))
    }

    fn invalid(&self, what: &str) -> Error {
        Error::new(
            Code::InvalidConfig,
            format!(
                "bad {what} config value '{}' for '{}' in '{}'",
                crate::git::path::display(self.text().as_bytes()),
                self.key,
                self.origin.display()
            ),
        )
    }
}

/// The files and entries outside any repository, as the environment names them.
#[derive(Debug, Clone, Default)]
pub(super) struct Sources {
    pub system: Option<PathBuf>,
    /// Weakest first.
    pub global: Vec<PathBuf>,
    pub command: Vec<(String, Vec<u8>)>,
    pub home: Option<PathBuf>,
    pub known: Known,
}

/// What conditions of includes ask for that the files themselves tell; nothing at the first reading.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// The URLs of all remotes.
    pub remote_urls: Vec<Vec<u8>>,
    /// The top of the working tree, resolved.
    pub worktree: Option<PathBuf>,
}

impl Sources {
    pub fn from_env(env: &Env) -> Self {
        let no_system = env
            .text("GIT_CONFIG_NOSYSTEM")
            .is_some_and(|text| git2::Config::parse_bool(text).unwrap_or(true));
        let system = env
            .var("GIT_CONFIG_SYSTEM")
            .map_or_else(|| PathBuf::from("/etc/gitconfig"), PathBuf::from);
        let global = match env.var("GIT_CONFIG_GLOBAL") {
            Some(path) => vec![PathBuf::from(path)],
            // git reads `~/.gitconfig` second, so that it weighs more.
            None => user_file(env, "config")
                .into_iter()
                .chain(env.home().map(|home| home.join(".gitconfig")))
                .collect(),
        };
        Self {
            system: (!no_system).then_some(system),
            global,
            command: command_entries(env),
            home: env.home(),
            known: Known::default(),
        }
    }
}

/// `$XDG_CONFIG_HOME/git/<name>`, else `~/.config/git/<name>`.
pub(super) fn user_file(env: &Env, name: &str) -> Option<PathBuf> {
    let base = match env.var("XDG_CONFIG_HOME") {
        Some(dir) => PathBuf::from(dir),
        None => env.home()?.join(".config"),
    };
    Some(base.join("git").join(name))
}

/// The file that `git config --global` writes: `~/.gitconfig`, unless there is none and one under the user's configuration.
pub(super) fn user_config(env: &Env) -> Option<PathBuf> {
    if let Some(named) = env.var("GIT_CONFIG_GLOBAL") {
        return Some(PathBuf::from(named));
    }
    let own = env.home()?.join(".gitconfig");
    // As git, which takes one that it may not look at for none.
    let is_there = |file: &Path| file.metadata().is_ok();
    let other = user_file(env, "config").filter(|file| is_there(file) && !is_there(&own));
    Some(other.unwrap_or(own))
}

/// `GIT_CONFIG_COUNT`, `GIT_CONFIG_KEY_<n>`, `GIT_CONFIG_VALUE_<n>`.
fn command_entries(env: &Env) -> Vec<(String, Vec<u8>)> {
    let count = env
        .text("GIT_CONFIG_COUNT")
        .and_then(|text| text.parse::<u32>().ok())
        .unwrap_or(0);
    // A number gone wrong is not counted to its end.
    (0..count.min(1000))
        .filter_map(|n| {
            let key = env.text(&format!("GIT_CONFIG_KEY_{n}"))?;
            let value = env
                .var(&format!("GIT_CONFIG_VALUE_{n}"))
                .map(|value| value.as_bytes().to_vec());
            Some((normalize(key), value.unwrap_or_default()))
        })
        .collect()
}

/// Where the repository's own files lie; conditional includes look at both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dirs<'a> {
    pub git_dir: &'a Path,
    pub common_dir: &'a Path,
}

/// All entries, weakest first, in the order in which git reads them.
#[derive(Debug, Clone, Default)]
pub struct Config {
    entries: Vec<ConfigEntry>,
    home: Option<PathBuf>,
    known: Known,
}

impl Config {
    /// What counts before a repository is trusted: system, global and command entries.
    pub(super) fn protected(sources: &Sources, git_dir: &Path) -> Result<Self> {
        let mut config = Self {
            entries: Vec::new(),
            home: sources.home.clone(),
            known: sources.known.clone(),
        };
        if let Some(path) = &sources.system {
            config.add(path, ConfigLevel::System, git_dir, 0)?;
        }
        for path in &sources.global {
            config.add(path, ConfigLevel::Global, git_dir, 0)?;
        }
        config.add_command(sources);
        Ok(config)
    }

    /// The repository's own entries alone.
    pub(super) fn local(sources: &Sources, dirs: Dirs<'_>) -> Result<Self> {
        let mut config = Self {
            entries: Vec::new(),
            home: sources.home.clone(),
            known: sources.known.clone(),
        };
        let path = dirs.common_dir.join("config");
        config.add(&path, ConfigLevel::Local, dirs.git_dir, 0)?;
        if config.bool("extensions.worktreeConfig")? == Some(true) {
            let path = dirs.git_dir.join("config.worktree");
            config.add(&path, ConfigLevel::Worktree, dirs.git_dir, 0)?;
        }
        Ok(config)
    }

    /// Reads both once more where a condition asks for what is known only now: the remotes, which all files tell of together, and
    /// the working tree.
    pub(super) fn read_again(
        (protected, local): (Self, Self),
        sources: &Sources,
        dirs: Dirs<'_>,
        worktree: &Path,
    ) -> Result<(Self, Self)> {
        let entries = || protected.entries.iter().chain(&local.entries);
        let asks = |condition: &str| {
            let names = [HAS_REMOTE, "worktree:", "worktree/i:"];
            names.iter().any(|name| condition.starts_with(name))
        };
        if !entries().any(|entry| condition_of(&entry.key).is_some_and(asks)) {
            return Ok((protected, local));
        }
        let is_url = |key: &str| {
            let name = key.strip_prefix("remote.");
            name.and_then(|name| name.strip_suffix(".url")).is_some()
        };
        let urls = entries().filter(|entry| is_url(&entry.key));
        let known = Known {
            remote_urls: urls.filter_map(|entry| entry.value.clone()).collect(),
            worktree: Some(worktree.to_path_buf()),
        };
        let sources = Sources {
            known,
            ..sources.clone()
        };
        let protected = Self::protected(&sources, dirs.git_dir)?;
        Ok((protected, Self::local(&sources, dirs)?))
    }

    /// Everything: `protected` under `local`, command entries on top.
    pub(super) fn merged(protected: Self, local: Self) -> Self {
        let mut entries = protected.entries;
        entries.extend(local.entries);
        // Stable: within a level the order of reading stays.
        entries.sort_by_key(|entry| entry.level);
        Self {
            entries,
            home: protected.home,
            known: protected.known,
        }
    }

    /// The strongest entry for `key`.
    pub fn entry(&self, key: &str) -> Option<&ConfigEntry> {
        let key = normalize(key);
        self.entries.iter().rev().find(|entry| entry.key == key)
    }

    /// Every entry for `key`, weakest first.
    pub fn all(&self, key: &str) -> Vec<&ConfigEntry> {
        let key = normalize(key);
        self.entries
            .iter()
            .filter(|entry| entry.key == key)
            .collect()
    }

    /// Every entry whose key starts with `prefix` (lower case), weakest first.
    pub fn with_prefix(&self, prefix: &str) -> Vec<&ConfigEntry> {
        self.entries
            .iter()
            .filter(|entry| entry.key.starts_with(prefix))
            .collect()
    }

    /// The strongest entry for `key` as a boolean.
    pub fn bool(&self, key: &str) -> Result<Option<bool>> {
        self.entry(key).map(ConfigEntry::bool).transpose()
    }

    /// The strongest entry for `key` as a path. See [`Self::path_of`].
    pub fn path(&self, key: &str, dir: &Path) -> Option<PathBuf> {
        self.path_of(self.entry(key)?, dir)
    }

    /// An entry's value as a path: `~/` is read as the user's home, a relative one starts at `dir`. An empty value is none, and so is
    /// an optional path where nothing is.
    pub fn path_of(&self, entry: &ConfigEntry, dir: &Path) -> Option<PathBuf> {
        let value = entry.value.as_deref()?;
        let path = without_optional(value);
        let is_optional = path.len() < value.len();
        let full = dir.join(expand(path, self.home.as_deref()));
        if path.is_empty() || (is_optional && is_missing(&full)) {
            return None;
        }
        Some(full)
    }

    fn add_command(&mut self, sources: &Sources) {
        for (key, value) in &sources.command {
            self.entries.push(ConfigEntry {
                key: key.clone(),
                value: Some(value.clone()),
                level: ConfigLevel::Command,
                origin: PathBuf::new(),
            });
        }
    }

    /// Reads one file. libgit2 follows plain includes; conditional ones need a repository, which it is not given here.
    fn add(&mut self, file: &Path, level: ConfigLevel, git_dir: &Path, depth: u32) -> Result<()> {
        regular::check(file)?;
        if !file.is_file() || depth > MAX_INCLUDES {
            return Ok(());
        }
        check_includes(file, self.home.as_deref(), depth)?;
        for (key, value) in
            read_file(file).context(|| format!("cannot read '{}'", file.display()))?
        {
            let included = value
                .as_deref()
                .filter(|_| condition_of(&key).is_some_and(|it| self.holds(it, file, git_dir)))
                .map(|path| resolve(path, file, self.home.as_deref()));
            self.entries.push(ConfigEntry {
                key,
                value,
                level,
                origin: file.to_path_buf(),
            });
            if let Some(path) = included {
                self.add(&path, level, git_dir, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Whether the condition of an `includeIf` holds here.
    fn holds(&self, condition: &str, file: &Path, git_dir: &Path) -> bool {
        if let Some(pattern) = condition.strip_prefix("gitdir:") {
            self.dir_matches(pattern, file, git_dir, false)
        } else if let Some(pattern) = condition.strip_prefix("gitdir/i:") {
            self.dir_matches(pattern, file, git_dir, true)
        } else if let Some(pattern) = condition.strip_prefix("worktree:") {
            let top = self.known.worktree.as_deref();
            top.is_some_and(|top| self.dir_matches(pattern, file, top, false))
        } else if let Some(pattern) = condition.strip_prefix("worktree/i:") {
            let top = self.known.worktree.as_deref();
            top.is_some_and(|top| self.dir_matches(pattern, file, top, true))
        } else if let Some(pattern) = condition.strip_prefix(HAS_REMOTE) {
            let mut urls = self.known.remote_urls.iter();
            urls.any(|url| wildmatch(pattern.as_bytes(), url, Flags::PATHNAME))
        } else if let Some(pattern) = condition.strip_prefix("onbranch:") {
            let head = super::head::reference_in(git_dir);
            let branch = head
                .as_deref()
                .and_then(|head| head.strip_prefix(b"refs/heads/"));
            branch.is_some_and(|branch| {
                wildmatch(&with_beneath(pattern.into()), branch, Flags::PATHNAME)
            })
        } else {
            false
        }
    }

    fn dir_matches(&self, pattern: &str, file: &Path, dir: &Path, fold_case: bool) -> bool {
        let dir = dir.as_os_str().as_bytes();
        let flags = Flags {
            fold_case,
            ..Flags::PATHNAME
        };
        if let Some(rest) = pattern.strip_prefix("./") {
            // The directory of the file is compared as it is, so that no special character in it counts.
            let above = file.parent().unwrap_or(Path::new("/")).as_os_str();
            let above = above
                .as_bytes()
                .strip_suffix(b"/")
                .unwrap_or(above.as_bytes());
            let beneath = dir.split_at_checked(above.len()).filter(|(head, _)| {
                *head == above || (fold_case && head.eq_ignore_ascii_case(above))
            });
            let pattern = with_beneath(format!("/{rest}").into());
            return beneath.is_some_and(|(_, beneath)| wildmatch(&pattern, beneath, flags));
        }
        let mut full = expand(pattern.as_bytes(), self.home.as_deref())
            .into_os_string()
            .into_encoded_bytes();
        if !full.starts_with(b"/") {
            // A relative pattern holds at any depth, as git has it.
            full.splice(..0, *b"**/");
        }
        wildmatch(&with_beneath(full), dir, flags)
    }
}

/// `a/` stands for everything beneath it.
fn with_beneath(mut pattern: Vec<u8>) -> Vec<u8> {
    if pattern.ends_with(b"/") {
        pattern.extend_from_slice(b"**");
    }
    pattern
}

/// One file's entries with its unconditional includes, in order.
fn read_file(file: &Path) -> Result<Vec<(String, Option<Vec<u8>>)>> {
    let invalid = |error: git2::Error| {
        Error::new(Code::InvalidConfig, error.message().to_owned()).caused_by(error)
    };
    let config = git2::Config::open(file).map_err(invalid)?;
    let mut found = Vec::new();
    config
        .entries(None)
        .and_then(|entries| {
            entries.for_each(|entry| {
                let key = String::from_utf8_lossy(entry.name_bytes()).into_owned();
                let value = entry.has_value().then(|| entry.value_bytes().to_vec());
                found.push((key, value));
            })
        })
        .map_err(invalid)?;
    Ok(found)
}

/// Refuses files that [`read_file`], which follows plain includes by itself, would wait for. Comments and continued lines are
/// not told apart: at worst one file more is looked at.
fn check_includes(file: &Path, home: Option<&Path>, depth: u32) -> Result<()> {
    regular::check(file)?;
    if !file.is_file() || depth > MAX_INCLUDES {
        return Ok(());
    }
    let text = regular::read(file).context(|| format!("cannot read '{}'", file.display()))?;
    let mut including = false;
    for line in text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii) {
        if let Some(header) = line.strip_prefix(b"[") {
            including = header
                .get(..7)
                .is_some_and(|name| name.eq_ignore_ascii_case(b"include"));
        }
        if !including {
            continue;
        }
        // The first variable may stand on the line of the header.
        let line = line.rsplit(|&byte| byte == b']').next().unwrap_or(line);
        let mut parts = line.splitn(2, |&byte| byte == b'=').map(<[u8]>::trim_ascii);
        let is_path = parts
            .next()
            .is_some_and(|key| key.eq_ignore_ascii_case(b"path"));
        if let Some(path) = parts.next().filter(|_| is_path) {
            let path: Vec<u8> = path.iter().copied().filter(|&byte| byte != b'"').collect();
            check_includes(&resolve(&path, file, home), home, depth + 1)?;
        }
    }
    Ok(())
}

/// How a condition begins that holds where a remote has such a URL.
const HAS_REMOTE: &str = "hasconfig:remote.*.url:";

/// The condition of `includeif.<condition>.path`.
fn condition_of(key: &str) -> Option<&str> {
    key.strip_prefix("includeif.")?.strip_suffix(".path")
}

/// An included path: `~/` expanded, relative to the including file.
fn resolve(path: &[u8], file: &Path, home: Option<&Path>) -> PathBuf {
    let path = expand(path, home);
    match file.parent() {
        Some(dir) => dir.join(path),
        None => path,
    }
}

/// A path without the mark of those that need not be there.
pub(super) fn without_optional(value: &[u8]) -> &[u8] {
    value.strip_prefix(OPTIONAL).unwrap_or(value)
}

/// As git has it: what cannot be looked at is there.
fn is_missing(path: &Path) -> bool {
    path.metadata()
        .is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// `~/x` under the user's home; anything else as it is.
pub(super) fn expand(path: &[u8], home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix(b"~"), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with(b"/") => {
            let rest = rest.strip_prefix(b"/").unwrap_or(rest);
            let mut full = home.as_os_str().to_owned();
            full.push("/");
            full.push(OsStr::from_bytes(rest));
            PathBuf::from(full)
        }
        _ => PathBuf::from(OsStr::from_bytes(path)),
    }
}

/// Section and variable in lower case; what lies between the first and the last dot as it is.
fn normalize(key: &str) -> String {
    match (key.find('.'), key.rfind('.')) {
        (Some(first), Some(last)) if first < last => format!(
            "{}{}{}",
            key[..first].to_ascii_lowercase(),
            &key[first..last],
            key[last..].to_ascii_lowercase()
        ),
        _ => key.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(global: &str, local: &str, command: &[(&str, &str)]) -> (tempfile::TempDir, Config) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let git_dir = dir.path().join("work/repo/.git");
        std::fs::create_dir_all(&git_dir).expect("made");
        std::fs::write(git_dir.join("HEAD"), "ref: refs/heads/topic/x\n").expect("written");
        std::fs::write(git_dir.join("config"), local).expect("written");
        let file = dir.path().join(".gitconfig");
        std::fs::write(&file, global).expect("written");
        std::fs::write(
            dir.path().join("work.inc"),
            "[timewarp]\n\texclude = work\n",
        )
        .expect("written");
        std::fs::write(
            dir.path().join("topic.inc"),
            "[timewarp]\n\texclude = topic\n",
        )
        .expect("written");
        let sources = Sources {
            system: None,
            global: vec![file],
            command: command
                .iter()
                .map(|(key, value)| (normalize(key), value.as_bytes().to_vec()))
                .collect(),
            home: Some(dir.path().to_path_buf()),
            known: Known::default(),
        };
        let dirs = Dirs {
            git_dir: &git_dir,
            common_dir: &git_dir,
        };
        let protected = Config::protected(&sources, &git_dir).expect("read");
        let local = Config::local(&sources, dirs).expect("read");
        (dir, Config::merged(protected, local))
    }

    fn texts(entries: &[&ConfigEntry]) -> Vec<String> {
        entries.iter().map(|entry| entry.text()).collect()
    }

    #[test]
    fn later_levels_win_and_multi_values_keep_their_order() {
        let (_dir, config) = load(
            "[timewarp]\n\texclude = a\n\texclude = b\n\tkeepDays = 3\n[core]\n\tfileMode\n",
            "[timewarp]\n\texclude = c\n\tkeepdays = 5\n",
            &[("timewarp.keepDays", "7"), ("Timewarp.exclude", "d")],
        );
        assert_eq!(texts(&config.all("timewarp.exclude")), ["a", "b", "c", "d"]);
        let entry = config.entry("TimeWarp.KeepDays").expect("set");
        assert_eq!(
            (entry.text().as_str(), entry.level),
            ("7", ConfigLevel::Command)
        );
        assert_eq!(
            config.bool("core.fileMode").expect("valueless is true"),
            Some(true)
        );
        assert_eq!(config.with_prefix("timewarp.").len(), 7);
    }

    #[test]
    fn conditional_includes_stand_where_they_are_written() {
        let (_dir, config) = load(
            "[timewarp]\n\texclude = a\n[includeIf \"gitdir:~/work/\"]\n\tpath = work.inc\n\
             [includeIf \"gitdir:~/other/\"]\n\tpath = work.inc\n\
             [includeIf \"onbranch:topic/\"]\n\tpath = topic.inc\n[timewarp]\n\texclude = z\n",
            "",
            &[],
        );
        assert_eq!(
            texts(&config.all("timewarp.exclude")),
            ["a", "work", "topic", "z"]
        );
    }

    #[test]
    fn conditions_hold_where_git_says_so() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let home = dir.path().canonicalize().expect("it exists");
        let work = home.join("wo[r]k/{a,b}/Repo1");
        std::fs::create_dir_all(&work).expect("made");
        std::fs::write(home.join("it.inc"), "[a]\n\tb = c\n").expect("written");
        let git = |args: &[&str]| {
            crate::provided::git(&home)
                .args(args)
                .current_dir(&work)
                .env_remove("GIT_CONFIG_GLOBAL")
                .output()
                .expect("git runs")
        };
        git(&["init", "-q", "-b", "topic/{x,y}"]);
        git(&["config", "remote.one.url", "https://a.example/b/c.git"]);
        git(&["config", "remote.two.url", "git@b.example:d"]);
        let dirs = Dirs {
            git_dir: &work.join(".git"),
            common_dir: &work.join(".git"),
        };
        let file = home.join(".gitconfig");
        let mut held = 0;
        for condition in [
            "gitdir:~/",
            "gitdir:~/wo[r]k/",
            "gitdir:~/wo\\\\[r]k/",
            "gitdir:wo*k/",
            "gitdir:{a,b}/",
            "gitdir:{a,c}/",
            "gitdir:a/",
            "gitdir:?a,b?/Repo[[:digit:]]/.git",
            "gitdir:Repo[[:alpha:]]/.git",
            "gitdir:repo1/",
            "gitdir/i:repo1/",
            "gitdir/i:**/REPO?/.GIT",
            "gitdir:./",
            "gitdir:./wo*/**/.git",
            "gitdir:./k/",
            "gitdir:**/Repo1",
            "gitdir:**/Repo1/**",
            "gitdir:[",
            "onbranch:topic/",
            "onbranch:topic/*",
            "onbranch:topic",
            "onbranch:{x,y}",
            "onbranch:**/{x,y}",
            "onbranch:topic/x",
            "onbranch:*",
            "hasconfig:remote.*.url:https://a.example/**",
            "hasconfig:remote.*.url:https://a.example/*",
            "hasconfig:remote.*.url:https://a.example/",
            "hasconfig:remote.*.url:https://*/*/?.git",
            "hasconfig:remote.*.url:**/c.git",
            "hasconfig:remote.*.url:git@b.example:*",
            "hasconfig:remote.*.url:*",
            "hasconfig:remote.*.URL:**",
            "hasconfig:remote.one.url:**",
        ] {
            let text = format!("[includeIf \"{condition}\"]\n\tpath = it.inc\n");
            std::fs::write(&file, text).expect("written");
            let sources = Sources {
                global: vec![file.clone()],
                home: Some(home.clone()),
                ..Sources::default()
            };
            let read = |sources: &Sources| {
                let protected = Config::protected(sources, dirs.git_dir)?;
                let both = (protected, Config::local(sources, dirs)?);
                Config::read_again(both, sources, dirs, &work)
            };
            let (found, _) = read(&sources).expect("read");
            let expected = git(&["config", "a.b"]).status.success();
            assert_eq!(found.entry("a.b").is_some(), expected, "{condition}");
            held += usize::from(expected);
        }
        assert!(held > 10, "{held} conditions held");
    }

    #[test]
    fn values_read_as_git_reads_them() {
        let (dir, config) = load(
            "[core]\n\texcludesFile = ~/ignore\n\tattributesFile =\n\tbigFileThreshold = 2m\n\teol = maybe\n",
            "",
            &[],
        );
        let top = Path::new("/top");
        assert_eq!(
            config.path("core.excludesfile", top),
            Some(dir.path().join("ignore"))
        );
        assert_eq!(config.path("core.attributesFile", top), None);
        let big = config.entry("core.bigFileThreshold").expect("set");
        assert_eq!(big.int().expect("a number"), 2 * 1024 * 1024);
        let error = config.bool("core.eol").expect_err("no boolean");
        assert_eq!(error.code(), Code::InvalidConfig);
    }

    #[test]
    fn an_optional_path_counts_while_something_is_there() {
        let (dir, config) = load(
            "[a]\n\tone = :(optional)~/work.inc\n\ttwo = :(optional)~/absent\n\tthree = :(optional)work.inc\n\
             \tfour = :(optional)\n\tfive = ~/absent\n",
            "",
            &[],
        );
        let path = |key: &str| config.path(key, dir.path());
        let there = Some(dir.path().join("work.inc"));
        assert_eq!((path("a.one"), path("a.three")), (there.clone(), there));
        assert_eq!((path("a.two"), path("a.four")), (None, None));
        assert_eq!(path("a.five"), Some(dir.path().join("absent")));
    }

    #[test]
    fn a_working_tree_is_a_condition() {
        let (dir, first) = load(
            "[includeIf \"worktree:~/work/\"]\n\tpath = work.inc\n\
             [includeIf \"worktree:~/WORK/\"]\n\tpath = topic.inc\n\
             [includeIf \"worktree/i:~/WORK/repo\"]\n\tpath = topic.inc\n",
            "",
            &[],
        );
        let git_dir = dir.path().join("work/repo/.git");
        let dirs = Dirs {
            git_dir: &git_dir,
            common_dir: &git_dir,
        };
        let sources = Sources {
            global: vec![dir.path().join(".gitconfig")],
            home: Some(dir.path().to_path_buf()),
            ..Sources::default()
        };
        assert!(first.all("timewarp.exclude").is_empty());
        let top = dir.path().join("work/repo");
        let read = Config::read_again((first, Config::default()), &sources, dirs, &top);
        let (protected, local) = read.expect("read");
        let config = Config::merged(protected, local);
        assert_eq!(texts(&config.all("timewarp.exclude")), ["work", "topic"]);
    }

    #[test]
    fn a_broken_file_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("broken");
        std::fs::write(&file, "[core\n").expect("written");
        let sources = Sources {
            global: vec![file],
            ..Sources::default()
        };
        let error = Config::protected(&sources, dir.path()).expect_err("broken");
        assert_eq!(error.code(), Code::InvalidConfig);
        assert!(error.message().contains("broken"), "{error}");
    }
}
