//! The team's settings, commented out, and git's `info/exclude`.
//!
//! Nothing is written through a symlink, and what is there already stays as it is.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;

use crate::error::{Result, ResultExt};
use crate::git::create;
use crate::git::fs::{Below, Root, clear_dead_temps, create_at, place_to_free, temp_of};
use crate::git::repo::SharedRepository;
use crate::ops::Context;
use crate::ops::fingerprint;
use crate::ops::install::Installed;
use crate::ops::issues::desk::exclude::{CONFIG, check_desk, exclude_desk, exclude_file};
use crate::ops::request::DryRun;
use crate::worktree::scan::DESK;

/// The team's settings, every one commented out.
const TEMPLATE: &str = r#"# Settings of tw for everyone who works on this repository.
# Only what stands here counts here; your own settings are 'git config timewarp.*' and win.
# 'tw config' lists every setting with its value and where it comes from.

# Untracked files to leave out of snapshots, as in .gitignore. What git tracks is never left out.
# exclude = ["data/raw/", "*.sqlite"]

# Ignored files to take into snapshots all the same. Names that look like secrets do not count here.
# include = ["local.settings.json"]

# Snapshots younger than this many days are kept. Here it can only be raised.
# keep_days = 14

# This many of the newest snapshots are kept, whatever their age. Here it can only be raised.
# keep_last = 200

# Backups and experiments younger than this many days are kept. Here it can only be raised.
# keep_backup_days = 30
"#;

/// Writes the template of the team's settings and excludes the desk in git.
///
/// # Errors
/// `WOULD_OVERWRITE` when a symlink, or a file that git tracks, stands where the desk should be.
pub fn write(ctx: &Context<'_>, dry_run: DryRun, done: &mut Installed) -> Result<()> {
    check_desk(ctx, ctx.store()?)?;
    done.notices.extend(ctx.settings.warnings.iter().cloned());
    let mut note = |path, changed| {
        let list = if changed {
            &mut done.changed
        } else {
            &mut done.unchanged
        };
        list.push(path);
    };
    let changed = write_config(ctx, dry_run)?;
    note(ctx.repo.worktree_root().join(CONFIG), changed);
    let changed = exclude_desk(ctx, dry_run)?;
    note(exclude_file(ctx), changed);
    if dry_run == DryRun::No {
        fingerprint::refresh(ctx)?;
    }
    Ok(())
}

/// Writes the template when there is no file yet. Answers whether it was, or would be, written.
fn write_config(ctx: &Context<'_>, dry_run: DryRun) -> Result<bool> {
    let root = Root::open(ctx.repo.worktree_root())?;
    if root.stamp(CONFIG.as_bytes())?.is_some() {
        return Ok(false);
    }
    if dry_run == DryRun::No {
        place_config(&root).context(|| format!("cannot write '{CONFIG}'"))?;
        // Of an earlier 'init' that died.
        clear_dead_temps(&root.path().join(OsStr::from_bytes(DESK)), Below::Not)?;
    }
    Ok(true)
}

fn place_config(root: &Root) -> rustix::io::Result<()> {
    create::dir_in(root.fd(), ".timewarp", 0o777)?;
    let dir = root.open_dir(DESK)?;
    let temp = temp_of(Path::new("config.toml"));
    let temp_name = temp.as_os_str().as_bytes();
    let file = create_at(&dir, &temp, 0o666)?;
    create::settle_in(&file, &dir, SharedRepository::Umask)?;
    let mut rest = TEMPLATE.as_bytes();
    while !rest.is_empty() {
        let count = rustix::io::write(&file, rest)?;
        rest = rest.get(count..).unwrap_or_default();
    }
    let placed = place_to_free(dir.as_fd(), temp_name, b"config.toml");
    if placed.is_err() {
        // Somebody else was first: theirs stays.
        rustix::fs::unlinkat(&dir, &temp, rustix::fs::AtFlags::empty())?;
    }
    match placed {
        Err(Errno::EXIST) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_sets_nothing() {
        let table: toml::Table = TEMPLATE.parse().expect("valid TOML");
        assert!(table.is_empty());
        let bare = TEMPLATE
            .replace("# exclude", "exclude")
            .replace("# keep", "keep");
        let table: toml::Table = bare.replace("# include", "include").parse().expect("TOML");
        assert_eq!(table.len(), 5);
    }
}
