//! The settings of git that change what `tw` does, each with git's default; and a setting changed.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Repo;
use super::config::{ConfigEntry, user_config, user_file};
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::fs::{
    change_known, clear_dead_temps_of, create_private, followed, read_optional, temp_of,
};
use crate::git::{create, regular};
use crate::interrupt;

/// `core.sharedRepository`: who else may write here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedRepository {
    /// As the umask says.
    Umask,
    /// The group may write.
    Group,
    /// The group may write and everybody may read.
    Everybody,
    /// Exactly these permission bits.
    Mode(u32),
}

/// Which of git's files is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConfigFile {
    /// This repository's.
    #[default]
    Local,
    /// The user's own, for all repositories.
    Global,
}

/// What a key shall have in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values<'a> {
    /// This one alone.
    Only(&'a str),
    /// What it has, and this.
    OneMore(&'a str),
    /// None.
    None,
}

impl Repo {
    /// Changes a key without git. What is there stays as it is written.
    ///
    /// # Errors
    /// As [`Self::edit_config`].
    pub fn set_config(&self, file: ConfigFile, key: &str, values: Values<'_>) -> Result<()> {
        self.edit_config(file, |copy| Ok(set_values(copy, key, values)?))
    }

    /// Changes one of git's files as `edit` changes the copy that it is given, which nobody else may read. The file stays open to those who
    /// may use it, and to nobody else: git, and libgit2, make one for whoever runs them. git's lock is held meanwhile.
    ///
    /// # Errors
    /// There is no home directory; `BUSY` when the file is locked, or written by somebody else meanwhile; it cannot be written.
    pub fn edit_config(
        &self,
        file: ConfigFile,
        edit: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        let file = followed(self.config_file(file)?);
        let what = || format!("cannot write '{}'", file.display());
        // What stays of the lock keeps everybody out.
        let _deferred = interrupt::defer_quietly();
        // One that cannot be removed is in nobody's way.
        let _ = clear_dead_temps_of(&file);
        let lock = lock(&file)?;
        // As the umask has it, should this be the first.
        let mode = lock.0.metadata().context(what)?.permissions().mode() & 0o666;
        let old = read_optional(&file)?;
        let copy = Fleeting(self.copy_of(&file));
        let made = create_private(&copy.0);
        made.and_then(|mut made| made.write_all(old.as_deref().unwrap_or_default()))
            .context(|| format!("cannot write '{}'", copy.0.display()))?;
        edit(&copy.0)?;
        let new =
            regular::read(&copy.0).context(|| format!("cannot read '{}'", copy.0.display()))?;
        if old.as_deref().unwrap_or_default() == new {
            return Ok(());
        }
        if change_known(&file, old.as_deref(), Some((&new, mode)))?.is_made() {
            return Ok(());
        }
        let message = format!(
            "'{}' was written by somebody else meanwhile",
            file.display()
        );
        Err(Error::new(Code::Busy, message).hint("run the command again"))
    }

    /// The copy of a file that is changed: beside it, where its lock is. libgit2, which changes that of a private repository, makes it anew with the
    /// umask's bits: it lies in the git directory, which is for its owner alone.
    fn copy_of(&self, file: &Path) -> PathBuf {
        if self.is_private() {
            temp_of(&self.common_dir.join("config"))
        } else {
            temp_of(file)
        }
    }

    fn config_file(&self, file: ConfigFile) -> Result<PathBuf> {
        let path = match file {
            ConfigFile::Local => Some(self.common_dir.join("config")),
            ConfigFile::Global => user_config(&self.env),
        };
        let path = path.filter(|path| !path.as_os_str().is_empty());
        path.ok_or_else(|| Error::new(Code::Usage, "there is no home directory: HOME is not set"))
    }

    /// The strongest value of a configuration key, lossy text; empty for a key without a value.
    pub fn config(&self, key: &str) -> Result<Option<String>> {
        Ok(self.config.entry(key).map(ConfigEntry::text))
    }

    /// Every value of a key, weakest first.
    pub fn config_all(&self, key: &str) -> Result<Vec<String>> {
        let entries = self.config.all(key);
        Ok(entries.into_iter().map(ConfigEntry::text).collect())
    }

    /// Every file that the values of a key name, in order; an empty value forgets those before it. They need not exist, but for
    /// optional ones.
    pub fn config_paths(&self, key: &str) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for entry in self.config.all(key) {
            if names_nothing(entry) {
                paths.clear();
            }
            paths.extend(self.config.path_of(entry, &self.root));
        }
        paths
    }

    /// Every entry whose key starts with `prefix` (such as `timewarp.`), weakest first, with where it comes from.
    pub fn config_entries(&self, prefix: &str) -> Result<Vec<ConfigEntry>> {
        let entries = self.config.with_prefix(&prefix.to_ascii_lowercase());
        Ok(entries.into_iter().cloned().collect())
    }

    /// The strongest value of a key as a boolean.
    pub fn config_bool(&self, key: &str) -> Result<Option<bool>> {
        self.config.bool(key)
    }

    /// `core.fileMode`: whether the executable bit counts.
    pub fn file_mode(&self) -> Result<bool> {
        Ok(self.config_bool("core.fileMode")?.unwrap_or(true))
    }

    /// Whether git may both split an index (`core.splitIndex`) and fold it (`index.sparse`). It dies of one that is not split then: it folds
    /// it while reading, and cannot split it any more.
    pub fn needs_split_index(&self) -> Result<bool> {
        let is_true = Some(true);
        Ok(self.config_bool("core.splitIndex")? == is_true
            && self.config_bool("index.sparse")? == is_true)
    }

    /// `core.trustctime`: whether a change of ctime counts.
    pub fn trust_ctime(&self) -> Result<bool> {
        Ok(self.config_bool("core.trustctime")?.unwrap_or(true))
    }

    /// `core.checkStat`: whether of stat data git compares size and whole seconds of mtime alone.
    pub fn checks_stat_minimally(&self) -> bool {
        let entry = self.config.entry("core.checkStat").map(ConfigEntry::text);
        entry.is_some_and(|text| text.eq_ignore_ascii_case("minimal"))
    }

    /// `core.ignoreCase`.
    pub fn ignore_case(&self) -> Result<bool> {
        Ok(self.config_bool("core.ignoreCase")?.unwrap_or(false))
    }

    /// `core.excludesFile`, else the user's `git/ignore`. It need not exist.
    pub fn excludes_file(&self) -> Option<PathBuf> {
        self.user_path("core.excludesFile", "ignore")
    }

    /// `core.attributesFile`, else the user's `git/attributes`. It need not exist.
    pub fn attributes_file(&self) -> Option<PathBuf> {
        self.user_path("core.attributesFile", "attributes")
    }

    /// `core.autocrlf` as it is written: a boolean or `input`.
    pub fn autocrlf(&self) -> Option<String> {
        self.config.entry("core.autocrlf").map(ConfigEntry::text)
    }

    /// `core.eol` as it is written.
    pub fn eol(&self) -> Option<String> {
        self.config.entry("core.eol").map(ConfigEntry::text)
    }

    /// Where git looks for hooks: `core.hooksPath`, else `hooks` in the common git directory.
    pub fn hooks_dir(&self) -> PathBuf {
        let configured = self.config.path("core.hooksPath", &self.root);
        configured.unwrap_or_else(|| self.common_dir.join("hooks"))
    }

    /// `core.sharedRepository`.
    pub fn shared_repository(&self) -> Result<SharedRepository> {
        let Some(entry) = self.config.entry("core.sharedRepository") else {
            return Ok(SharedRepository::Umask);
        };
        let text = entry.text();
        let mode = u32::from_str_radix(&text, 8).ok();
        match (text.as_str(), mode) {
            ("umask", _) | (_, Some(0)) => Ok(SharedRepository::Umask),
            ("group", _) | (_, Some(1)) => Ok(SharedRepository::Group),
            ("all" | "world" | "everybody", _) | (_, Some(2)) => Ok(SharedRepository::Everybody),
            // git: the owner must keep read and write, and the executable bits are not for files.
            (_, Some(mode)) if mode & 0o600 == 0o600 => Ok(SharedRepository::Mode(mode & 0o666)),
            (_, Some(_)) => Err(Error::new(
                Code::InvalidConfig,
                format!(
                    "bad mode '{text}' for 'core.sharedRepository': the owner must be able to read and write"
                ),
            )),
            _ => Ok(if entry.bool()? {
                SharedRepository::Group
            } else {
                SharedRepository::Umask
            }),
        }
    }

    /// A user's file: the configured one (an empty value means none), else the one under the user's configuration.
    fn user_path(&self, key: &str, name: &str) -> Option<PathBuf> {
        if self.config.entry(key).is_some_and(names_nothing) {
            return None;
        }
        let configured = self.config.path(key, &self.root);
        configured.or_else(|| user_file(&self.env, name).filter(|file| !is_out_of_reach(file)))
    }
}

/// A file that goes at the end.
struct Fleeting(PathBuf);

impl Drop for Fleeting {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Locks one of git's files as git does.
fn lock(file: &Path) -> Result<Fleeting> {
    let mut path = file.as_os_str().to_owned();
    path.push(".lock");
    let path = PathBuf::from(path);
    match create::new_file(&path, 0o666) {
        Ok(_) => Ok(Fleeting(path)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let message = format!("'{}' exists", path.display());
            Err(Error::new(Code::Busy, message)
                .hint("another git process seems to be writing there; wait for it to end")
                .hint("if none is, a git process may have crashed: remove that file"))
        }
        Err(error) => Err(error).context(|| format!("cannot create '{}'", path.display())),
    }
}

fn set_values(file: &Path, key: &str, values: Values<'_>) -> std::result::Result<(), git2::Error> {
    let mut config = git2::Config::open(file)?;
    // Matches no value that there is, or every one.
    let pattern = match values {
        Values::OneMore(_) => "^$.",
        _ => ".*",
    };
    match values {
        Values::Only(value) => match config.remove_multivar(key, pattern) {
            Err(error) if error.code() != git2::ErrorCode::NotFound => Err(error),
            _ => config.set_str(key, value),
        },
        Values::OneMore(value) => config.set_multivar(key, pattern, value),
        Values::None => match config.remove_multivar(key, pattern) {
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(()),
            other => other,
        },
    }
}

/// Whether a directory on the way to a file may not be entered, as where HOME is another user's (a container that runs as somebody else
/// than its image was made for). git takes no rules from there and goes on.
fn is_out_of_reach(file: &Path) -> bool {
    let looked = file.symlink_metadata();
    looked.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

fn names_nothing(entry: &ConfigEntry) -> bool {
    entry.value.as_deref().unwrap_or_default().is_empty()
}
