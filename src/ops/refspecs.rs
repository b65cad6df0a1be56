//! Refspecs that would publish, overwrite or prune what `tw` keeps: a fetch with prune into `refs/notes/*`, a push of `refs/*`, a
//! mirror. Only tells; the user's config is the user's.

use super::Context;
use crate::error::Result;
use crate::git::command::Git;
use crate::git::create;
use crate::git::fs::{self, Durable};
use crate::git::repo::ConfigEntry;
use crate::store::Store;
use crate::store::names::{NOTES, ROOT};
use crate::text::typed;

/// What was found, and the commands that mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Risk {
    /// One sentence.
    pub message: String,
    /// A shell line, or what is needed first.
    pub fix: String,
}

/// The first git that knows refspecs which leave refs out. One before it dies of them.
const KNOWS_NEGATIVE: (u32, u32) = (2, 29);

/// Says once in a repository which refspecs would publish, overwrite or prune records, with the command that mends each: for who has made
/// a record's ref, and has somebody to tell.
pub fn told_once(ctx: &Context<'_>, store: &Store) -> Vec<String> {
    let told = store.common("told-refspecs");
    if fs::is_there(&told).unwrap_or(false) {
        return Vec::new();
    }
    // One that there is later is as good as new.
    let risks = risks(ctx).unwrap_or_default();
    if risks.is_empty() {
        return Vec::new();
    }
    let marked = create::private_dir(&store.common(""))
        .and_then(|()| fs::write_atomic(&told, b"", Durable::No));
    // When the mark cannot be left it is said again next time.
    let _ = marked;
    let risks = risks.into_iter();
    risks
        .map(|risk| format!("{}: {}", risk.message, risk.fix))
        .collect()
}

/// The risks in the configuration of all remotes.
///
/// # Errors
/// When git's configuration cannot be asked.
pub fn risks(ctx: &Context<'_>) -> Result<Vec<Risk>> {
    let entries = ctx.repo.config_entries("remote.")?;
    let mut found = Vec::new();
    for entry in &entries {
        let Some((remote, variable)) = split_key(&entry.key) else {
            continue;
        };
        let risk = match variable {
            "mirror" if entry.bool().unwrap_or(false) => Some(mirror(remote)),
            "fetch" | "push" => {
                let all = ctx.repo.config_all(&entry.key)?;
                of_spec(remote, variable, &entry.text(), &all)
            }
            _ => None,
        };
        if let Some(risk) = risk
            && !found.contains(&risk)
        {
            found.push(risk);
        }
    }
    let shut: Vec<(&str, &ConfigEntry)> = entries
        .iter()
        .filter(|entry| {
            [ROOT, NOTES]
                .map(|prefix| format!("^{prefix}*"))
                .contains(&entry.text())
        })
        .filter_map(|entry| Some((split_key(&entry.key)?.0, entry)))
        .collect();
    if !(found.is_empty() && shut.is_empty())
        && let Some(git) = Git::version(&ctx.repo).filter(|git| *git < KNOWS_NEGATIVE)
    {
        found = without_negative(found, &shut, git);
    }
    Ok(found)
}

/// What is told where git knows no negative refspec: those that stand there make each fetch and push of the remote fail.
fn without_negative(
    mut found: Vec<Risk>,
    shut: &[(&str, &ConfigEntry)],
    (major, minor): (u32, u32),
) -> Vec<Risk> {
    for risk in &mut found {
        risk.fix = format!(
            "install git 2.29 or later, which knows refspecs that leave refs out (this is {major}.{minor}), and run 'tw doctor' again"
        );
    }
    for (remote, entry) in shut {
        let (key, spec) = (&entry.key, entry.text());
        let risk = Risk {
            message: format!(
                "git {major}.{minor} does not know the refspec '{spec}', and every fetch from or push to '{remote}' fails"
            ),
            fix: format!(
                "git config --unset-all {} {}",
                typed(key),
                typed(format!("^\\{}$", spec.replace('*', "\\*")))
            ),
        };
        if !found.contains(&risk) {
            found.push(risk);
        }
    }
    found
}

/// `remote.<name>.<variable>`; the name may hold dots.
fn split_key(key: &str) -> Option<(&str, &str)> {
    key.strip_prefix("remote.")?.rsplit_once('.')
}

fn mirror(remote: &str) -> Risk {
    let push = format!(
        "git config --add {}",
        typed(format!("remote.{remote}.push"))
    );
    Risk {
        message: format!(
            "'git push {}' mirrors every ref, those of tw too",
            typed(remote)
        ),
        fix: format!(
            "git config --unset {} && {push} '+refs/*:refs/*' && {push} '^{ROOT}*' && {push} '^{NOTES}*'",
            typed(format!("remote.{remote}.mirror"))
        ),
    }
}

fn of_spec(remote: &str, variable: &str, spec: &str, all: &[String]) -> Option<Risk> {
    if spec.starts_with('^') {
        return None;
    }
    let plain = spec.strip_prefix('+').unwrap_or(spec);
    let (source, target) = plain.split_once(':').unwrap_or((plain, plain));
    // A fetch harms what it writes and prunes, a push shows what it reads.
    let side = if variable == "fetch" { target } else { source };
    let open = |prefix: &&str| {
        // A negative refspec of the same variable takes them out again.
        let shut = all.contains(&format!("^{prefix}*"));
        covers(side, prefix) && !shut
    };
    let exposed: Vec<&str> = [ROOT, NOTES]
        .iter()
        .filter(|prefix| open(prefix))
        .copied()
        .collect();
    if exposed.is_empty() {
        return None;
    }
    let fixes: Vec<String> = exposed
        .iter()
        .map(|prefix| {
            format!(
                "git config --add {} '^{prefix}*'",
                typed(format!("remote.{remote}.{variable}"))
            )
        })
        .collect();
    let does = if variable == "fetch" {
        "writes, and with prune deletes, refs of tw"
    } else {
        "publishes refs of tw"
    };
    Some(Risk {
        message: format!("remote '{remote}' has the {variable} refspec '{spec}', which {does}"),
        fix: fixes.join(" && "),
    })
}

/// Whether a side of a refspec takes in refs below `prefix`. One that names them and nothing else is meant so.
fn covers(side: &str, prefix: &str) -> bool {
    match side.split_once('*') {
        Some((before, _)) => prefix.starts_with(before) && before.len() < prefix.len(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::repo::ConfigLevel;

    fn risk(variable: &str, spec: &str, others: &[&str]) -> Option<String> {
        let mut all: Vec<String> = others.iter().map(|text| (*text).to_owned()).collect();
        all.push(spec.to_owned());
        of_spec("origin", variable, spec, &all).map(|risk| risk.fix)
    }

    #[test]
    fn a_git_that_knows_no_negative_refspec_is_offered_none() {
        let risk = mirror("hub");
        let entry = ConfigEntry {
            key: "remote.hub.push".to_owned(),
            value: Some(format!("^{NOTES}*").into_bytes()),
            level: ConfigLevel::Local,
            origin: std::path::PathBuf::new(),
        };
        let found = without_negative(vec![risk], &[("hub", &entry)], (2, 25));
        let fixes: Vec<&str> = found.iter().map(|risk| risk.fix.as_str()).collect();
        let [
            "install git 2.29 or later, which knows refspecs that leave refs out (this is 2.25), and run 'tw doctor' again",
            unset,
        ] = fixes[..]
        else {
            panic!("{fixes:?}");
        };
        assert_eq!(
            unset,
            format!("git config --unset-all remote.hub.push '^\\^{NOTES}\\*$'")
        );
    }

    #[test]
    fn only_what_takes_ours_in_is_a_risk() {
        for spec in [
            "+refs/heads/*:refs/remotes/origin/*",
            "refs/notes/commits:refs/notes/commits",
            "+refs/*:refs/remotes/origin/*",
            "^refs/notes/*",
        ] {
            assert_eq!(risk("fetch", spec, &[]), None, "{spec}");
        }
        let fix = risk("fetch", "+refs/notes/*:refs/notes/*", &[]).expect("a risk");
        assert_eq!(
            fix,
            format!("git config --add remote.origin.fetch '^{NOTES}*'")
        );
        let shut = format!("^{NOTES}*");
        assert_eq!(risk("fetch", "+refs/notes/*:refs/notes/*", &[&shut]), None);
        let fix = risk("push", "refs/*", &[&shut]).expect("a risk");
        assert_eq!(
            fix,
            format!("git config --add remote.origin.push '^{ROOT}*'")
        );
        let meant = format!("{ROOT}*:{ROOT}*");
        assert_eq!(risk("push", &meant, &[]), None);
    }
}
