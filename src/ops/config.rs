//! Every setting with its value and where it comes from.

use super::Context;
use super::outcome::{ConfigEntry, ConfigListing};
use super::settings::{KEYS, Origin, Settings};
use crate::error::Result;

/// Lists every key, in the order of the manual.
///
/// # Errors
/// None of its own: settings that do not parse have failed before.
pub fn list(ctx: &Context<'_>) -> Result<ConfigListing> {
    let settings = &ctx.settings;
    let entries = KEYS.iter().map(|key| ConfigEntry {
        key: key.name,
        value: settings.value(key.name),
        origin: origin(settings, key.name),
        description: key.description,
    });
    Ok(ConfigListing {
        entries: entries.collect(),
        warnings: settings.warnings.clone(),
    })
}

/// Where the value comes from. Lists have as many origins as files that add to them; of a single value the last counts.
fn origin(settings: &Settings, name: &str) -> String {
    if !matches!(name, "exclude" | "include") {
        return said(&settings.origin(name));
    }
    let mut origins: Vec<String> = Vec::new();
    for (_, origin) in settings.origins.iter().filter(|(known, _)| *known == name) {
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
