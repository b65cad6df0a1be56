//! The team's `.timewarp/config.toml`, which comes with the repository, from a stranger perhaps: what counts there, and what is said of the
//! rest.

use super::{Automatic, KEYS, Key, KeyName, Origin, Settings};
use crate::git::regular;
use crate::git::repo::Repo;
use crate::worktree::globs::{Check, Source, is_secret_name};

/// A larger one is no settings file: it may come from a stranger, and is read whole at every command.
const LARGEST_TEAM_FILE: u64 = 1 << 20;

/// What became of a value of the team's file.
enum Taken {
    Counts,
    WrongType,
    Weakens,
}

impl Settings {
    /// Takes the team's file in.
    pub(super) fn load_team(&mut self, repo: &Repo) {
        let dir = repo.worktree_root().join(".timewarp");
        let path = dir.join("config.toml");
        let is_plain =
            |path: &std::path::Path| path.symlink_metadata().is_ok_and(|meta| !meta.is_symlink());
        // A link in a stranger's repository would have any file of the user's read, and quoted in a warning.
        if !is_plain(&dir) || !is_plain(&path) {
            return;
        }
        let bytes = match regular::read_within(&path, LARGEST_TEAM_FILE) {
            Ok(bytes) => bytes,
            Err(error) if regular::is_absent(&error) => return,
            Err(error) => {
                self.warnings.push(format!(
                    ".timewarp/config.toml cannot be read and is ignored: {error}"
                ));
                return;
            }
        };
        let text = String::from_utf8_lossy(crate::text::without_mark(&bytes));
        let table: toml::Table = match text.parse() {
            Ok(table) => table,
            Err(error) => {
                let reason = error.message().to_owned();
                self.warnings.push(format!(
                    ".timewarp/config.toml is not valid TOML and is ignored: {reason}"
                ));
                return;
            }
        };
        for (key, value) in &table {
            self.team_key(key, value);
        }
        self.leave_bad_globs_aside();
    }

    fn team_key(&mut self, key: &str, value: &toml::Value) {
        let Some(known) = KEYS.iter().find(|known| known.name == key) else {
            self.warnings.push(format!(
                "'{key}' in .timewarp/config.toml is not a setting and is ignored; 'tw config' lists the settings"
            ));
            return;
        };
        match self.team_value(known, value) {
            Taken::Counts => self.origins.push((known.name, Origin::Team)),
            Taken::WrongType => self.warnings.push(format!(
                "'{key}' in .timewarp/config.toml is ignored: it must be {}",
                if known.is_list() { "a list of globs" } else { known.form }
            )),
            Taken::Weakens => self.warnings.push(format!(
                "'{key}' in .timewarp/config.toml does not count there (a repository may not weaken protection); use git config"
            )),
        }
    }

    fn team_value(&mut self, key: &Key, value: &toml::Value) -> Taken {
        let globs = || -> Option<Vec<String>> {
            let list = value.as_array()?.iter();
            list.map(|item| item.as_str().map(str::to_owned)).collect()
        };
        let number = || {
            value
                .as_integer()
                .and_then(|number| u32::try_from(number).ok())
        };
        // A larger one protects more.
        let larger = |least: u32| match number() {
            None => Err(Taken::WrongType),
            Some(number) if number < least => Err(Taken::Weakens),
            Some(number) => Ok(number),
        };
        let counted = match key.which {
            KeyName::Exclude => globs().ok_or(Taken::WrongType).map(|globs| {
                self.team_exclude = globs;
            }),
            KeyName::Include => globs().ok_or(Taken::WrongType).map(|globs| {
                let secret = |glob: &String| is_secret_name(last_part(glob).as_bytes());
                let (refused, taken): (Vec<_>, Vec<_>) = globs.into_iter().partition(secret);
                for glob in refused {
                    self.warnings.push(format!(
                        "include '{glob}' in .timewarp/config.toml names secrets and is ignored; set it with 'git config --add timewarp.include'"
                    ));
                }
                self.team_include = taken;
            }),
            KeyName::KeepDays => larger(self.keep_days).map(|days| self.keep_days = days),
            KeyName::KeepLast => larger(u32::try_from(self.keep_last).unwrap_or(u32::MAX))
                .map(|last| self.keep_last = last as usize),
            KeyName::KeepBackupDays => {
                larger(self.keep_backup_days).map(|days| self.keep_backup_days = days)
            }
            KeyName::Checkpoints => match automatic(value) {
                None => Err(Taken::WrongType),
                Some(wanted) if wanted < self.checkpoints => Err(Taken::Weakens),
                Some(wanted) => {
                    self.checkpoints = wanted;
                    Ok(())
                }
            },
            KeyName::DefaultExcludes
            | KeyName::MaxFileSize
            | KeyName::LockTimeout
            | KeyName::ExperimentLimit
            | KeyName::Watch
            | KeyName::ScratchDir
            | KeyName::ScratchInclude => Err(Taken::Weakens),
        };
        match counted {
            Ok(()) => Taken::Counts,
            Err(not) => not,
        }
    }

    /// Leaves out what snapshots would leave aside, and says why.
    fn leave_bad_globs_aside(&mut self) {
        let mut check = Check::new(Source::Team);
        for globs in [&mut self.team_exclude, &mut self.team_include] {
            globs.retain(|glob| match check.problem(glob) {
                None => true,
                Some(reason) => {
                    self.warnings.push(format!(
                        "glob '{glob}' in .timewarp/config.toml is ignored: {reason}"
                    ));
                    false
                }
            });
        }
    }
}

/// The value of `checkpoints` in `config.toml`.
fn automatic(value: &toml::Value) -> Option<Automatic> {
    match value {
        toml::Value::Boolean(true) => Some(Automatic::Prompts),
        toml::Value::Boolean(false) => Some(Automatic::Off),
        toml::Value::String(word) => Automatic::parse_word(word),
        _ => None,
    }
}

fn last_part(glob: &str) -> &str {
    let glob = glob.trim_end_matches('/');
    glob.rsplit('/').next().unwrap_or(glob)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_team_may_not_weaken_protection() {
        let mut settings = Settings::default();
        let table: toml::Table = "keep_days = 3\nkeep_last = 500\nmax_file_size = 1\ninclude = ['.env', 'data.db']\nexclude = ['big/']"
            .parse()
            .expect("toml");
        for (key, value) in &table {
            settings.team_key(key, value);
        }
        assert_eq!((settings.keep_days, settings.keep_last), (14, 500));
        assert_eq!(settings.team_include, ["data.db"]);
        assert_eq!(settings.team_exclude, ["big/"]);
        assert!(settings.exclude.is_empty());
        assert_eq!(settings.warnings.len(), 3, "{:?}", settings.warnings);
    }
}
