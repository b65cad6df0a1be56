//! Every setting with its value and where it comes from; one of them read, set or taken away.
//!
//! What is set is git's configuration, written by git itself: its other lines stay as they are. The team's file is left to its
//! editors.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Context;
use super::outcome::{ConfigEntry, ConfigListing};
use super::settings::{KEYS, Key, Origin, Settings};
use crate::error::{Code, Error, Result};
use crate::git::command::Git;
use crate::git::repo::{ConfigEntry as GitEntry, ConfigFile, ConfigLevel, Values};

/// What becomes of a setting in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It has this value alone.
    Set(String),
    /// It has these values, too: of a list.
    Add(Vec<String>),
    /// It has none there.
    Unset,
}

/// Answer of `config KEY`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Setting {
    /// The setting as it holds now.
    #[serde(flatten)]
    pub entry: ConfigEntry,
    /// What holds is not what was set: a stronger place has another value.
    pub overridden: bool,
    /// What is set and can be no value of it: other commands stop there.
    pub warnings: Vec<String>,
    /// Whether it was asked to be changed.
    #[serde(skip)]
    pub changed: bool,
}

/// Lists every key, in the order of the manual.
///
/// # Errors
/// None of its own.
pub fn list(ctx: &Context<'_>) -> Result<ConfigListing> {
    Ok(ConfigListing {
        entries: KEYS.iter().map(|key| entry(&ctx.settings, key)).collect(),
        warnings: faults(&ctx.settings, |_| true)
            .chain(ctx.settings.warnings.iter().cloned())
            .collect(),
    })
}

/// What is set of some keys and can be no value, with the command that takes it away.
fn faults(settings: &Settings, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = String> {
    let faults = settings.faults.iter().cloned();
    let faults = faults.chain(settings.bad_globs());
    let wanted = faults.filter(move |fault| is_wanted(fault.key));
    wanted.map(|fault| format!("{}; to take it away: {}", fault.message, fault.fix))
}

/// Returns one setting with its value and where that comes from.
///
/// # Errors
/// `USAGE` for a key that is none.
pub fn get(ctx: &Context<'_>, key: &str) -> Result<Setting> {
    let key = Key::named(key)?;
    Ok(Setting {
        entry: entry(&ctx.settings, key),
        overridden: false,
        warnings: faults(&ctx.settings, |name| name == key.name).collect(),
        changed: false,
    })
}

/// Changes a setting, and gives what holds then.
///
/// # Errors
/// `USAGE` for a key that is none and for a value that it cannot have: nothing is written then.
pub fn change(ctx: &Context<'_>, key: &str, file: ConfigFile, change: &Change) -> Result<Setting> {
    let key = Key::named(key)?;
    if matches!(change, Change::Add(_)) && !key.is_list() {
        let message = format!("'{}' has one value: nothing can be added to it", key.name);
        return Err(Error::usage(message).hint(format!("tw config {} VALUE", key.name)));
    }
    let wanted = match change {
        Change::Set(value) => Some(tried(key, value)?),
        Change::Add(values) => {
            for value in values {
                tried(key, value)?;
            }
            None
        }
        Change::Unset => None,
    };
    write(ctx, key, file, change)?;
    let settings = Context::open_despite_faults(&ctx.cwd, ctx.env, ctx.progress)?.settings;
    let holds = settings.value(key);
    Ok(Setting {
        overridden: wanted.is_some_and(|wanted| !key.is_list() && wanted != holds),
        warnings: faults(&settings, |name| name == key.name).collect(),
        entry: entry(&settings, key),
        changed: true,
    })
}

/// What a key's value would be.
fn tried(key: &'static Key, value: &str) -> Result<Value> {
    let entry = GitEntry {
        key: key.git.to_owned(),
        value: Some(value.as_bytes().to_vec()),
        level: ConfigLevel::Local,
        origin: PathBuf::new(),
    };
    let mut settings = Settings::default();
    settings.take(key, &entry).map_err(|_| {
        let value = value.escape_debug();
        let message = format!("'{}' must be {}, not '{value}'", key.name, key.form);
        Error::usage(message).hint(format!("{}: {}", key.name, key.description))
    })?;
    if let Some(bad) = settings.bad_globs().into_iter().next() {
        return Err(Error::usage(bad.message)
            .hint("globs are written as in gitignore(5): '*.log', 'data/raw/'"));
    }
    Ok(settings.value(key))
}

fn write(ctx: &Context<'_>, key: &Key, file: ConfigFile, change: &Change) -> Result<()> {
    if ctx.repo.is_private() {
        // Its user need not have git.
        return match change {
            Change::Set(value) => ctx.repo.set_config(file, key.git, Values::Only(value)),
            Change::Add(values) => values
                .iter()
                .try_for_each(|value| ctx.repo.set_config(file, key.git, Values::OneMore(value))),
            Change::Unset => ctx.repo.set_config(file, key.git, Values::None),
        };
    }
    ctx.repo
        .edit_config(file, |copy| write_by_git(ctx, key, copy, change))
}

fn write_by_git(ctx: &Context<'_>, key: &Key, file: &Path, change: &Change) -> Result<()> {
    let git = || Git::new(&ctx.repo).args(["config", "--file"]).arg(file);
    match change {
        Change::Set(value) => git()
            .args(["--replace-all", key.git, value])
            .run()
            .map(|_| ()),
        Change::Add(values) => values
            .iter()
            .try_for_each(|value| git().args(["--add", key.git, value]).run().map(|_| ())),
        Change::Unset => {
            let output = git().args(["--unset-all", key.git]).output()?;
            // 5: it had no value there.
            if output.status.success() || output.status.code() == Some(5) {
                return Ok(());
            }
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(Error::new(
                Code::Io,
                format!("git cannot unset '{}': {said}", key.git),
            ))
        }
    }
}

fn entry(settings: &Settings, key: &Key) -> ConfigEntry {
    ConfigEntry {
        key: key.name,
        value: settings.value(key),
        origin: origin(settings, key),
        description: key.description,
    }
}

/// Where the value comes from. Lists have as many origins as files that add to them; of a single value the last counts.
fn origin(settings: &Settings, key: &Key) -> String {
    if !key.is_list() {
        return said(&settings.origin(key.name));
    }
    let mut origins: Vec<String> = Vec::new();
    let all = settings.origins.iter();
    for (_, origin) in all.filter(|(known, _)| *known == key.name) {
        let text = said(origin);
        if !origins.contains(&text) {
            origins.push(text);
        }
    }
    if origins.is_empty() {
        return said(&Origin::Default);
    }
    origins.join(", ")
}

fn said(origin: &Origin) -> String {
    match origin {
        Origin::Default => "default".to_owned(),
        Origin::Team => "team (.timewarp/config.toml)".to_owned(),
        Origin::Git(file) => match file.trim_matches('"') {
            // GIT_CONFIG_COUNT has no file.
            "" => "git (environment)".to_owned(),
            file => format!("git ({file})"),
        },
    }
}
