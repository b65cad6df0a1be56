//! The desk is no content: it stands in git's `info/exclude`, and is only where tw may write.

use std::path::{Path, PathBuf};

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::git::fs::{Root, change_known};
use crate::ops::Context;
use crate::ops::gitview::read_index;
use crate::ops::request::DryRun;
use crate::store::Store;
use crate::worktree::scan::DESK;

const BEGIN: &str = "# >>> timewarp >>>";
const END: &str = "# <<< timewarp <<<";

/// The team's settings.
pub const CONFIG: &str = ".timewarp/config.toml";

/// What `info/exclude` gets: the desk is no content, but the team's settings may be committed.
const EXCLUDED: &str = "# >>> timewarp >>>
.timewarp/*
!.timewarp/config.toml
# <<< timewarp <<<
";

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
        Some(stamp) if !stamp.is_dir() => return refused(".timewarp", "is not a directory"),
        _ => {}
    }
    if read_index(&ctx.repo, &store.objects)?.has_path(DESK) {
        return refused(".timewarp", "is a file that git tracks");
    }
    match root.stamp(CONFIG.as_bytes())? {
        Some(stamp) if !stamp.is_file() => refused(CONFIG, "is not a regular file"),
        _ => Ok(()),
    }
}

/// Git's excludes of this repository.
pub fn exclude_file(ctx: &Context<'_>) -> PathBuf {
    ctx.repo.common_dir().join("info/exclude")
}

/// How often others may write it while it is written.
const TURNS: usize = 10;

/// Puts the desk into `info/exclude`, once. Answers whether the file was, or would be, changed. Also called before the first
/// write to the desk.
///
/// # Errors
/// `WOULD_OVERWRITE` when the file is a symlink; `BUSY` when others keep writing it.
pub fn exclude_desk(ctx: &Context<'_>, dry_run: DryRun) -> Result<bool> {
    let path = exclude_file(ctx);
    for _ in 0..TURNS {
        let meta = path.symlink_metadata();
        if meta.is_ok_and(|meta| !meta.is_file()) {
            return Err(Error::new(
                Code::WouldOverwrite,
                format!("'{}' is not a regular file", path.display()),
            )
            .hint("put '.timewarp/*' and '!.timewarp/config.toml' into your excludes by hand"));
        }
        let old = crate::git::fs::read_optional(&path)?;
        let new = with_block(old.as_deref().unwrap_or_default());
        if old.as_ref() == Some(&new) {
            return Ok(false);
        }
        if dry_run == DryRun::Yes {
            return Ok(true);
        }
        if let Some(dir) = path.parent() {
            create::dirs(dir, 0o777).context(|| format!("cannot create '{}'", dir.display()))?;
        }
        // The user's own file.
        if change_known(&path, old.as_deref(), Some((&new, 0o666)))?.is_made() {
            return Ok(true);
        }
    }
    let message = format!("'{}' keeps changing", path.display());
    Err(Error::new(Code::Busy, message))
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

/// The file without our block.
pub fn without_block(text: &[u8]) -> Vec<u8> {
    match block(text) {
        Some((start, end)) => [&text[..start], &text[end..]].concat(),
        None => text.to_vec(),
    }
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
            assert_eq!(super::block(&without_block(&made)), None, "taken out");
        }
    }
}
