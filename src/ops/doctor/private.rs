//! Histories that are kept without git: this directory's own, one that it had before git came, and one that lost its directory.

use std::path::Path;

use super::{Finding, listed, ok, tell, warning};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::git::private::{DirectoryStatus, Known, Registry};
use crate::ops::Context;
use crate::ops::here::{before_git, bytes_in, snapshots_of, stranded};
use crate::ops::outcome::{Check, Checkup};
use crate::store::id::IdKind;
use crate::store::names;
use crate::text::{typed, typed_path};

/// The name of the check.
const NAME: &str = "private-repository";

/// What there is to say in a repository: always something in a private one, else only where there is an earlier history.
pub fn check(ctx: &Context<'_>) -> Option<Check> {
    let found = if ctx.repo.is_private() {
        own(ctx).map(Some)
    } else {
        earlier(ctx)
    };
    found.transpose().map(|found| tell(NAME, found))
}

fn own(ctx: &Context<'_>) -> Result<Finding> {
    let repository = ctx.repo.common_dir();
    let mut message = format!(
        "the history of this directory is in '{}', {} KiB; git is not needed",
        repository.display(),
        bytes_in(repository).div_ceil(1024)
    );
    let lost = lost(ctx.env)?;
    if lost.is_empty() {
        return Ok(ok(message));
    }
    message.push_str(&format!(
        "; directories with a history that are not where they were: {}",
        listed(&lost)
    ));
    Ok((
        super::CheckStatus::Ok,
        message,
        Some("tw init --here --list".to_owned()),
    ))
}

/// In a repository of git's, between where one stands and its top.
fn earlier(ctx: &Context<'_>) -> Result<Option<Finding>> {
    let Some((dir, known)) = before_git(ctx)? else {
        return Ok(None);
    };
    if let Some(stranded) = stranded(ctx, &dir, &known)? {
        return Ok(Some(super::broken(
            stranded.message,
            Some(stranded.command),
        )));
    }
    let refs = format!("{}*", names::prefix(IdKind::Snapshot));
    let refs = typed(format!("{refs}:{refs}"));
    let message = format!(
        "before git came, tw kept the history of '{}', {}, in '{}'; 'git fetch {} {refs}' brings them here, 'tw init --here --remove --delete-history' deletes them there",
        dir.display(),
        snapshots_of(&known),
        known.repository().display(),
        typed_path(&known.repository()),
    );
    Ok(Some(ok(message)))
}

/// Directories whose history has no place any more.
fn lost(env: &Env) -> Result<Vec<String>> {
    let Some(registry) = Registry::of(env) else {
        return Ok(Vec::new());
    };
    let mut all = registry.all()?;
    all.retain(|one| {
        let status = one.status();
        let is_elsewhere = matches!(status, DirectoryStatus::Gone | DirectoryStatus::Replaced);
        is_elsewhere && !one.is_gone().unwrap_or(false)
    });
    Ok(all
        .iter()
        .map(|one| one.path().display().to_string())
        .collect())
}

/// Outside of every repository: whether a history waits for this directory. The error is what it was found with.
///
/// # Errors
/// That error, when none does.
pub fn outside(start: &Path, env: &Env, error: Error) -> Result<Checkup> {
    if let Some(found) = waiting(start, env)? {
        let found = super::tell(NAME, Ok(found));
        return Ok(Checkup {
            checks: vec![found],
        });
    }
    Err(error)
}

fn waiting(start: &Path, env: &Env) -> Result<Option<Finding>> {
    let Some(registry) = Registry::of(env).filter(Registry::exists) else {
        return Ok(None);
    };
    for dir in start.canonicalize()?.ancestors() {
        let here = dir.display();
        let there = typed_path(dir);
        let found = match registry.look(dir)? {
            Some(Known::Here(known) | Known::Moved(known)) if known.is_gone()? => super::broken(
                format!(
                    "the history of '{here}' is gone from '{}', and has to be put back there; 'tw init --here' begins a new one",
                    known.repository().display()
                ),
                Some(format!("tw -C {there} init --here")),
            ),
            Some(Known::SetAside(known) | Known::Former(known)) if known.is_gone()? => continue,
            Some(Known::Moved(known)) => {
                let was = known.path().display();
                let count = snapshots_of(&known);
                super::broken(
                    format!(
                        "'{here}' is the directory that was '{was}': its history, {count}, waits"
                    ),
                    Some(format!("tw -C {there} init --here")),
                )
            }
            Some(Known::SetAside(known)) => warning(
                format!(
                    "the history of '{here}', {}, was set aside",
                    snapshots_of(&known)
                ),
                format!("tw -C {there} init --here"),
            ),
            Some(Known::Former(known)) => warning(
                format!(
                    "another directory was at '{here}', whose history, {}, is kept",
                    snapshots_of(&known)
                ),
                format!("tw -C {there} init --here --adopt {}", known.key()),
            ),
            Some(Known::Here(_)) | None => continue,
        };
        return Ok(Some(found));
    }
    let lost = lost(env)?;
    Ok(lost.first().map(|first| {
        warning(
            format!(
                "no history is kept here; directories with one that are not where they were: {}",
                listed(&lost)
            ),
            format!("tw init --here --adopt {}, where that is now", typed(first)),
        )
    }))
}
