//! Sets a repository up: the team's settings, commented out, and git's `info/exclude`. Never required.
//!
//! Nothing is written through a symlink, and what is there already stays as it is.

use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::Context;
use super::fingerprint;
use super::gitview::read_index;
use super::outcome::Initialised;
use super::request::DryRun;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::git::fs::{Durable, Root, rename_to_free, write_atomic_with_mode};
use crate::git::repo::SharedRepository;
use crate::store::Store;
use crate::worktree::scan::DESK;

/// Set the repository up.
#[derive(Debug, Clone, Default)]
pub struct Init {
    /// List only.
    pub dry_run: DryRun,
}

const CONFIG: &str = ".timewarp/config.toml";
const BEGIN: &str = "# >>> timewarp >>>";
const END: &str = "# <<< timewarp <<<";

/// What `info/exclude` gets: the desk is no content, but the team's settings may be committed.
const EXCLUDED: &str = "# >>> timewarp >>>
.timewarp/*
!.timewarp/config.toml
# <<< timewarp <<<
";

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

# So many of the newest snapshots are kept, whatever their age. Here it can only be raised.
# keep_last = 200

# Backups and experiments younger than this many days are kept. Here it can only be raised.
# keep_backup_days = 30
"#;

/// Sets up.
///
/// # Errors
/// `WOULD_OVERWRITE` when a symlink, or a file that git tracks, stands where the desk should be.
pub fn init(ctx: &Context<'_>, request: &Init) -> Result<Initialised> {
    let store = Store::open(&ctx.repo)?;
    check_desk(ctx, &store)?;
    let mut done = Initialised {
        dry_run: request.dry_run == DryRun::Yes,
        changed: Vec::new(),
        unchanged: Vec::new(),
        notices: ctx.settings.warnings.clone(),
    };
    let mut note = |path: PathBuf, changed: bool| {
        if changed {
            done.changed.push(path);
        } else {
            done.unchanged.push(path);
        }
    };
    let changed = write_config(ctx, request.dry_run)?;
    note(ctx.repo.worktree_root().join(CONFIG), changed);
    let changed = exclude_desk(ctx, request.dry_run)?;
    note(exclude_file(ctx), changed);
    if request.dry_run == DryRun::No {
        fingerprint::refresh(ctx)?;
    }
    Ok(done)
}

/// Refuses a desk that is not ours to write in: `.timewarp` or its `config.toml` a symlink, or `.timewarp` a path of git's.
///
/// # Errors
/// `WOULD_OVERWRITE`, naming the path.
pub fn check_desk(ctx: &Context<'_>, store: &Store) -> Result<()> {
    let refused = |path: &str, what: &str| {
        Err(Error::new(
            Code::WouldOverwrite,
            format!("'{path}' {what}; tw writes nothing there"),
        )
        .hint(format!("move '{path}' away and try again")))
    };
    let root = Root::open(ctx.repo.worktree_root())?;
    match root.stamp(DESK)? {
        Some(stamp) if stamp.is_symlink() => {
            return refused(".timewarp", "is a symbolic link");
        }
        Some(stamp) if !stamp.is_dir() => return refused(".timewarp", "is no directory"),
        _ => {}
    }
    if read_index(&ctx.repo, &store.objects)?.has_path(DESK) {
        return refused(".timewarp", "is a file that git tracks");
    }
    match root.stamp(CONFIG.as_bytes())? {
        Some(stamp) if !stamp.is_file() => refused(CONFIG, "is no regular file"),
        _ => Ok(()),
    }
}

/// Writes the template when there is no file yet. Answers whether it was, or would be, written.
fn write_config(ctx: &Context<'_>, dry_run: DryRun) -> Result<bool> {
    let root = Root::open(ctx.repo.worktree_root())?;
    if root.stamp(CONFIG.as_bytes())?.is_some() {
        return Ok(false);
    }
    if dry_run == DryRun::No {
        place_config(&root).context(|| format!("cannot write '{CONFIG}'"))?;
    }
    Ok(true)
}

fn place_config(root: &Root) -> rustix::io::Result<()> {
    create::dir_in(root.fd(), ".timewarp", 0o777)?;
    let dir = root.open_dir(DESK)?;
    let temp = format!("config.toml.tmp-{}", std::process::id());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&dir, &temp, flags, Mode::from_raw_mode(0o666))?;
    create::settle_in(&file, &dir, SharedRepository::Umask)?;
    let mut rest = TEMPLATE.as_bytes();
    while !rest.is_empty() {
        let count = rustix::io::write(&file, rest)?;
        rest = rest.get(count..).unwrap_or_default();
    }
    let placed = rename_to_free(dir.as_fd(), temp.as_bytes(), b"config.toml");
    if placed.is_err() {
        // Somebody else was first: theirs stays.
        rustix::fs::unlinkat(&dir, &temp, rustix::fs::AtFlags::empty())?;
    }
    match placed {
        Err(Errno::EXIST) => Ok(()),
        other => other,
    }
}

fn exclude_file(ctx: &Context<'_>) -> PathBuf {
    ctx.repo.common_dir().join("info/exclude")
}

/// Puts the desk into `info/exclude`, once. Answers whether the file was, or would be, changed. Also called before the first
/// write to the desk.
///
/// # Errors
/// `WOULD_OVERWRITE` when the file is a symlink.
pub fn exclude_desk(ctx: &Context<'_>, dry_run: DryRun) -> Result<bool> {
    let path = exclude_file(ctx);
    let meta = path.symlink_metadata().ok();
    if meta.as_ref().is_some_and(|meta| !meta.is_file()) {
        return Err(Error::new(
            Code::WouldOverwrite,
            format!("'{}' is no regular file", path.display()),
        )
        .hint("put '.timewarp/*' and '!.timewarp/config.toml' into your excludes by hand"));
    }
    let old = crate::git::fs::read_optional(&path)?.unwrap_or_default();
    let new = with_block(&old);
    if new == old {
        return Ok(false);
    }
    if dry_run == DryRun::No {
        if let Some(dir) = path.parent() {
            create::dirs(dir, 0o777).context(|| format!("cannot create '{}'", dir.display()))?;
        }
        let mode = meta.map_or(0o644, |meta| meta.mode() & 0o7777);
        write_atomic_with_mode(&path, &new, Durable::No, mode)?;
    }
    Ok(true)
}

/// The file with our block in it, exactly once, where it was or at the end; every other byte as it was.
fn with_block(old: &[u8]) -> Vec<u8> {
    let (before, after) = match block(old) {
        Some((start, end)) => (&old[..start], &old[end..]),
        None => (old, &old[old.len()..]),
    };
    let ends_in_crlf = |text: &[u8]| text.windows(2).any(|pair| pair == b"\r\n");
    let end = if ends_in_crlf(before) || ends_in_crlf(after) {
        "\r\n"
    } else {
        "\n"
    };
    let mut new = before.to_vec();
    if new.last().is_some_and(|last| *last != b'\n') {
        new.extend_from_slice(end.as_bytes());
    }
    new.extend_from_slice(EXCLUDED.replace('\n', end).as_bytes());
    new.extend_from_slice(after);
    new
}

/// Start and end of our block: from the last opening line before the first closing one.
fn block(text: &[u8]) -> Option<(usize, usize)> {
    let (mut begin, mut at) = (None, 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = at + line.len();
        let bare = line.trim_ascii_end();
        if bare == BEGIN.as_bytes() {
            begin = Some(at);
        } else if bare == END.as_bytes()
            && let Some(begin) = begin
        {
            return Some((begin, end));
        }
        at = end;
    }
    None
}

/// Whether git's excludes hold our block.
pub fn is_desk_excluded(common_dir: &Path) -> Result<bool> {
    let bytes = crate::git::fs::read_optional(&common_dir.join("info/exclude"))?;
    let bytes = bytes.unwrap_or_default();
    Ok(with_block(&bytes) == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_stands_once_and_all_else_stays() {
        let block = EXCLUDED;
        for (old, new) in [
            (String::new(), block.to_owned()),
            ("*.o".to_owned(), format!("*.o\n{block}")),
            (format!("a\n{block}b\n"), format!("a\n{block}b\n")),
            (format!("a\n{BEGIN}\nold\n{END}\nb"), format!("a\n{block}b")),
            // Lines end as those of the file do.
            (
                "*.o\r\n".to_owned(),
                format!("*.o\r\n{}", block.replace('\n', "\r\n")),
            ),
            // Never closed: not ours to cut.
            (format!("{BEGIN}\nx\n"), format!("{BEGIN}\nx\n{block}")),
        ] {
            let made = with_block(old.as_bytes());
            assert_eq!(String::from_utf8_lossy(&made), new);
            assert_eq!(with_block(&made), made, "again");
        }
    }

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
