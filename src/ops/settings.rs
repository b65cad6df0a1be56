//! Settings: defaults, under the team's `.timewarp/config.toml`, under the user's `git config timewarp.*`.
//!
//! The team's file comes with the repository, from a stranger perhaps. Only keys count there that neither run a program nor
//! weaken protection: `exclude` (shown as `team-exclude`, never for tracked files), `include` (never for secret-looking names) and
//! larger retention. Everything else there is ignored with one warning.
//!
//! A value of the user's own that can be none of its key stops every command but those that help to mend it: `doctor` and `config`.

mod team;

use std::time::Duration;

use serde_json::{Value, json};

use crate::error::{Code, Error, Result};
use crate::git::repo::{ConfigEntry, ConfigLevel, Repo};
use crate::text::{typed, typed_path};
use crate::worktree::globs::{DEFAULT_GLOBS, Source, problem};

/// Which setting it is. What reads a value, or shows it, has an arm for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is described by its key")]
pub enum KeyName {
    Exclude,
    Include,
    DefaultExcludes,
    MaxFileSize,
    LockTimeout,
    KeepDays,
    KeepLast,
    KeepBackupDays,
    ExperimentLimit,
    Checkpoints,
    Watch,
    ScratchDir,
    ScratchInclude,
}

/// One key: name in `config.toml`, name in git config, what it does.
pub struct Key {
    /// Which setting it is.
    pub which: KeyName,
    /// As in `config.toml`.
    pub name: &'static str,
    /// As in git config.
    pub git: &'static str,
    /// What its value has to be.
    pub form: &'static str,
    /// One line for people.
    pub description: &'static str,
}

/// What a setting of a size must be.
const A_SIZE: &str = "a number of bytes, or with a unit: 512k, 10m or 1g";

/// Every key there is.
pub const KEYS: &[Key] = &[
    Key {
        which: KeyName::Exclude,
        name: "exclude",
        git: "timewarp.exclude",
        form: "a glob",
        description: "globs of untracked files to leave out of snapshots (git config: also of tracked ones)",
    },
    Key {
        which: KeyName::Include,
        name: "include",
        git: "timewarp.include",
        form: "a glob",
        description: "globs of ignored files to take into snapshots",
    },
    Key {
        which: KeyName::DefaultExcludes,
        name: "default_excludes",
        git: "timewarp.defaultExcludes",
        form: "a boolean",
        description: "whether the built-in globs (node_modules/, target/, *.log, ...) leave untracked files out",
    },
    Key {
        which: KeyName::MaxFileSize,
        name: "max_file_size",
        git: "timewarp.maxFileSize",
        form: A_SIZE,
        description: "untracked files over this size are listed, not captured",
    },
    Key {
        which: KeyName::LockTimeout,
        name: "lock_timeout",
        git: "timewarp.lockTimeout",
        form: "a number of seconds, 0 to 86400",
        description: "seconds to wait for a lock",
    },
    Key {
        which: KeyName::KeepDays,
        name: "keep_days",
        git: "timewarp.keepDays",
        form: "a number of days: a non-negative integer",
        description: "snapshots younger than this many days are kept",
    },
    Key {
        which: KeyName::KeepLast,
        name: "keep_last",
        git: "timewarp.keepLast",
        form: "a non-negative integer",
        description: "this many of the newest snapshots are kept, whatever their age",
    },
    Key {
        which: KeyName::KeepBackupDays,
        name: "keep_backup_days",
        git: "timewarp.keepBackupDays",
        form: "a number of days: a non-negative integer",
        description: "backups and experiments younger than this many days are kept",
    },
    Key {
        which: KeyName::ExperimentLimit,
        name: "experiment_limit",
        git: "timewarp.experimentLimit",
        form: A_SIZE,
        description: "return --discard keeps no untracked files of the past over this total size",
    },
    Key {
        which: KeyName::Checkpoints,
        name: "checkpoints",
        git: "timewarp.checkpoints",
        form: "a boolean, 'prompts' or 'steps'",
        description: "checkpoints by themselves: true at each prompt, 'steps' also after each tool that wrote, false none",
    },
    Key {
        which: KeyName::Watch,
        name: "watch",
        git: "timewarp.watch",
        form: "a boolean",
        description: "whether an agent's hook starts the watcher (tw-watch) when there is none",
    },
    Key {
        which: KeyName::ScratchDir,
        name: "scratch_dir",
        git: "timewarp.scratchDir",
        form: "a directory outside the working tree",
        description: "where snapshots are laid out, in place of ../REPOSITORY.tw; relative to the working tree",
    },
    Key {
        which: KeyName::ScratchInclude,
        name: "scratch_include",
        git: "timewarp.scratchInclude",
        form: "a pattern as in .gitignore",
        description: "ignored files that are copied into every scratch, beside those that .worktreeinclude names",
    },
];

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// `.timewarp/config.toml`.
    Team,
    /// git config, with the file where known.
    Git(String),
}

/// Which checkpoints are made by themselves, fewest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Automatic {
    /// None.
    Off,
    /// One at each prompt.
    #[default]
    Prompts,
    /// Also one after each tool that wrote.
    Steps,
}

impl Key {
    /// The key that a word names, in any of its spellings: `keep_days`, `keep-days`, `keepDays`, `timewarp.keepDays`.
    ///
    /// # Errors
    /// `USAGE` names all keys.
    pub fn named(word: &str) -> Result<&'static Self> {
        let bare = |word: &str| -> String {
            let word = word.to_ascii_lowercase();
            let word = word.strip_prefix("timewarp.").unwrap_or(&word);
            word.replace(['_', '-'], "")
        };
        let wanted = bare(word);
        let found = KEYS.iter().find(|key| bare(key.name) == wanted);
        found.ok_or_else(|| {
            let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
            let message = format!("unknown setting '{}'", word.escape_debug());
            Error::new(Code::Usage, message).hint(format!("the settings are {}", names.join(", ")))
        })
    }

    /// Whether it has any number of values.
    pub fn is_list(&self) -> bool {
        matches!(
            self.which,
            KeyName::Exclude | KeyName::Include | KeyName::ScratchInclude
        )
    }
}

impl Automatic {
    fn value(self) -> Value {
        match self {
            Self::Off => json!(false),
            Self::Prompts => json!(true),
            Self::Steps => json!("steps"),
        }
    }

    fn parse_word(word: &str) -> Option<Self> {
        match word {
            "prompts" => Some(Self::Prompts),
            "steps" => Some(Self::Steps),
            _ => None,
        }
    }
}

/// Everything that can be set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The user's own `exclude` globs.
    pub exclude: Vec<String>,
    /// The team's.
    pub team_exclude: Vec<String>,
    /// The user's own `include` globs.
    pub include: Vec<String>,
    /// The team's.
    pub team_include: Vec<String>,
    /// Built-in globs on.
    pub default_excludes: bool,
    /// Bytes.
    pub max_file_size: u64,
    /// How long to wait for a lock.
    pub lock_timeout: Duration,
    /// Days.
    pub keep_days: u32,
    /// Count.
    pub keep_last: usize,
    /// Days, for backups and experiments.
    pub keep_backup_days: u32,
    /// Bytes.
    pub experiment_limit: u64,
    /// Which checkpoints are made by themselves.
    pub checkpoints: Automatic,
    /// Whether hooks start the watcher.
    pub watch: bool,
    /// Where scratches are made.
    pub scratch_dir: Option<String>,
    /// Ignored files that come into scratches.
    pub scratch_include: Vec<String>,
    /// Where each key's value comes from, by name.
    pub origins: Vec<(&'static str, Origin)>,
    /// What does not count where it stands.
    pub warnings: Vec<String>,
    /// Values of the user's own that are none of their keys.
    pub faults: Vec<Fault>,
    /// How each glob of the user's own is taken away again, by key and glob.
    removals: Vec<(&'static str, String, String)>,
}

/// A value that a setting cannot have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The setting.
    pub key: &'static str,
    /// Key, value, and what it must be.
    pub message: String,
    /// The command that takes it away.
    pub fix: String,
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::new(Code::InvalidConfig, fault.message).hint(fault.fix)
    }
}

/// Long enough for the changes of all who ask at once.
const A_TURN: Duration = Duration::from_millis(500);

impl Default for Settings {
    fn default() -> Self {
        Self {
            exclude: Vec::new(),
            team_exclude: Vec::new(),
            include: Vec::new(),
            team_include: Vec::new(),
            default_excludes: true,
            max_file_size: 100 << 20,
            lock_timeout: Duration::from_secs(5),
            keep_days: 14,
            keep_last: 200,
            keep_backup_days: 30,
            experiment_limit: 2 << 30,
            checkpoints: Automatic::default(),
            watch: false,
            scratch_dir: None,
            scratch_include: Vec::new(),
            origins: Vec::new(),
            warnings: Vec::new(),
            faults: Vec::new(),
            removals: Vec::new(),
        }
    }
}

impl Settings {
    /// Reads all of them. What can be no value of its key is a fault, and of the team's a warning.
    ///
    /// # Errors
    /// git's configuration cannot be read.
    pub fn load(repo: &Repo) -> Result<Self> {
        let mut settings = Self::default();
        settings.load_team(repo);
        settings.load_git(repo)?;
        Ok(settings)
    }

    /// The globs of all settings that leave paths out.
    pub fn exclude_globs(&self) -> Vec<String> {
        let defaults: &[&str] = if self.default_excludes {
            &DEFAULT_GLOBS
        } else {
            &[]
        };
        let defaults = defaults.iter().map(|glob| (*glob).to_owned());
        let set = self.team_exclude.iter().chain(&self.exclude).cloned();
        defaults.chain(set).collect()
    }

    /// Waits no longer than this for any lock.
    pub fn wait_at_most(&mut self, wait: Duration) {
        self.lock_timeout = self.lock_timeout.min(wait);
    }

    /// How long to wait for a file that is held for a change of microseconds: also where no lock is to be waited for, those who
    /// come at the same time take turns.
    pub fn file_wait(&self) -> Duration {
        self.lock_timeout.max(A_TURN)
    }

    /// The value of a key as JSON.
    pub fn value(&self, key: &Key) -> Value {
        match key.which {
            KeyName::Exclude => json!([self.team_exclude.clone(), self.exclude.clone()].concat()),
            KeyName::Include => json!([self.team_include.clone(), self.include.clone()].concat()),
            KeyName::DefaultExcludes => json!(self.default_excludes),
            KeyName::MaxFileSize => json!(self.max_file_size),
            KeyName::LockTimeout => json!(self.lock_timeout.as_secs_f64()),
            KeyName::KeepDays => json!(self.keep_days),
            KeyName::KeepLast => json!(self.keep_last),
            KeyName::KeepBackupDays => json!(self.keep_backup_days),
            KeyName::ExperimentLimit => json!(self.experiment_limit),
            KeyName::Checkpoints => self.checkpoints.value(),
            KeyName::Watch => json!(self.watch),
            KeyName::ScratchDir => json!(self.scratch_dir),
            KeyName::ScratchInclude => json!(self.scratch_include),
        }
    }

    /// Where a key's value comes from.
    pub fn origin(&self, name: &str) -> Origin {
        // The last one counts, as in git's own configuration.
        let found = self.origins.iter().rev().find(|(known, _)| *known == name);
        found.map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    fn load_git(&mut self, repo: &Repo) -> Result<()> {
        for entry in repo.config_entries("timewarp.")? {
            // git writes the section and the key of a setting in lower case.
            let key = KEYS
                .iter()
                .find(|key| key.git.eq_ignore_ascii_case(&entry.key));
            let Some(key) = key else { continue };
            // Its user need not have git, which would not find it either.
            let is_kept_by_tw = repo.is_private() && entry.level == ConfigLevel::Local;
            let own = is_kept_by_tw.then(|| format!("tw config --unset {}", key.name));
            if let Err(mut fault) = self.take(key, &entry) {
                fault.fix = own.unwrap_or(fault.fix);
                self.faults.push(fault);
            } else if key.is_list() {
                let removal = own.unwrap_or_else(|| removal(key, &entry));
                self.removals.push((key.name, entry.text(), removal));
            }
        }
        Ok(())
    }

    /// The globs of the user's own that cannot be read: snapshots stop at them.
    pub fn bad_globs(&self) -> Vec<Fault> {
        let globs = [("exclude", &self.exclude), ("include", &self.include)];
        let globs = globs
            .into_iter()
            .flat_map(|(key, globs)| globs.iter().map(move |glob| (key, glob)));
        let bad = globs.filter_map(|(key, glob)| {
            let reason = problem(glob, Source::User)?;
            let mut removals = self.removals.iter();
            let removal = removals.find(|(name, text, _)| *name == key && text == glob);
            Some(Fault {
                key,
                message: format!("invalid glob '{glob}' in '{key}': {reason}"),
                fix: removal.map_or_else(|| format!("tw config --unset {key}"), |it| it.2.clone()),
            })
        });
        bad.collect()
    }

    /// Takes an entry of git's configuration in.
    ///
    /// # Errors
    /// It can be no value of that key.
    pub fn take(&mut self, key: &Key, entry: &ConfigEntry) -> std::result::Result<(), Fault> {
        let text = entry.text();
        let invalid = || Fault {
            key: key.name,
            message: format!("'{}' is set to '{text}', but must be {}", key.git, key.form),
            fix: removal(key, entry),
        };
        match key.which {
            KeyName::Exclude => self.exclude.push(text.clone()),
            KeyName::Include => self.include.push(text.clone()),
            KeyName::ScratchInclude => self.scratch_include.push(text.clone()),
            KeyName::ScratchDir => {
                self.scratch_dir = Some(text.clone()).filter(|text| !text.is_empty());
            }
            KeyName::DefaultExcludes => {
                self.default_excludes = entry.bool().map_err(|_| invalid())?;
            }
            KeyName::Watch => self.watch = entry.bool().map_err(|_| invalid())?,
            KeyName::MaxFileSize => {
                self.max_file_size = size(&text).ok_or_else(invalid)?;
            }
            KeyName::ExperimentLimit => {
                self.experiment_limit = size(&text).ok_or_else(invalid)?;
            }
            KeyName::LockTimeout => {
                let seconds = text
                    .parse()
                    .ok()
                    // 'from_secs_f64' panics on what is negative, infinite or no number.
                    .filter(|seconds| (0.0..=86_400.0).contains(seconds));
                let seconds = seconds.ok_or_else(invalid)?;
                self.lock_timeout = Duration::from_secs_f64(seconds);
            }
            KeyName::KeepDays => {
                self.keep_days = text.parse().map_err(|_| invalid())?;
            }
            KeyName::Checkpoints => {
                self.checkpoints = match (Automatic::parse_word(&text), entry.bool()) {
                    (Some(wanted), _) => wanted,
                    (None, Ok(true)) => Automatic::Prompts,
                    (None, Ok(false)) => Automatic::Off,
                    (None, Err(_)) => return Err(invalid()),
                };
            }
            KeyName::KeepLast => {
                self.keep_last = text.parse().map_err(|_| invalid())?;
            }
            KeyName::KeepBackupDays => {
                self.keep_backup_days = text.parse().map_err(|_| invalid())?;
            }
        }
        self.origins
            .push((key.name, Origin::Git(entry.origin.display().to_string())));
        Ok(())
    }
}

/// The command that takes an entry out of the file in which it stands; of a list, this entry alone.
fn removal(key: &Key, entry: &ConfigEntry) -> String {
    let place = match entry.level {
        ConfigLevel::Local => String::new(),
        ConfigLevel::Worktree => "--worktree ".to_owned(),
        // What '--global' means depends on which files there are.
        ConfigLevel::Global if entry.origin.ends_with(".gitconfig") => "--global ".to_owned(),
        ConfigLevel::Global | ConfigLevel::System => {
            format!("--file {} ", typed_path(&entry.origin))
        }
        ConfigLevel::Command => {
            return format!(
                "take '{}' out of the environment (GIT_CONFIG_COUNT)",
                key.git
            );
        }
    };
    if key.is_list() {
        let value = typed(entry.text());
        return format!(
            "git config {place}--fixed-value --unset-all {} {value}",
            key.git
        );
    }
    format!("git config {place}--unset-all {}", key.git)
}

/// A size with `k`, `m`, `g` as git's config has them.
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, factor) = match text.chars().last()?.to_ascii_lowercase() {
        'k' => (&text[..text.len() - 1], 1 << 10),
        'm' => (&text[..text.len() - 1], 1 << 20),
        'g' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_git_s() {
        assert_eq!(size("12"), Some(12));
        assert_eq!(size("2k"), Some(2048));
        assert_eq!(size("1G"), Some(1 << 30));
        assert_eq!(size("x"), None);
        assert_eq!(size(""), None);
        assert_eq!(size("99999999999g"), None);
    }
}
