//! Where a scratch may be, and the directories that lead there.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::create;
use crate::ops::Context;

/// Where the directory will be.
pub struct Place {
    /// Absolute, resolved as far as it exists.
    pub dir: PathBuf,
    /// The nearest directory above that exists.
    pub existing: PathBuf,
    /// What has to be made between the two, outermost first.
    pub parents: Vec<PathBuf>,
}

impl Place {
    /// Where a directory can be laid out.
    ///
    /// # Errors
    /// `USAGE` for a place inside the workspace; `WOULD_OVERWRITE` when it is not empty.
    pub fn find(ctx: &Context<'_>, wanted: &Path) -> Result<Self> {
        let wanted = normal(&ctx.cwd.join(wanted));
        let mut existing = wanted.as_path();
        while existing.symlink_metadata().is_err() {
            existing = existing.parent().unwrap_or(Path::new("/"));
        }
        let rest = wanted.strip_prefix(existing).unwrap_or(Path::new(""));
        if existing == wanted {
            check_empty(&wanted)?;
        }
        let resolved = existing
            .canonicalize()
            .context(|| format!("cannot resolve '{}'", existing.display()))?;
        let dir = if rest.as_os_str().is_empty() {
            resolved.clone()
        } else {
            resolved.join(rest)
        };
        check_outside(ctx, &dir)?;
        let mut parents: Vec<PathBuf> = dir
            .ancestors()
            .skip(1)
            .take_while(|above| *above != resolved && above.starts_with(&resolved))
            .map(Path::to_path_buf)
            .collect();
        parents.reverse();
        Ok(Self {
            dir,
            existing: resolved,
            parents,
        })
    }

    /// Makes what has to lead there.
    ///
    /// # Errors
    /// The system refuses.
    pub fn make_parents(&self) -> Result<MadeDirs> {
        let mut made = MadeDirs(Vec::new());
        for dir in &self.parents {
            match create::new_dir(dir, 0o777) {
                Ok(()) => made.0.push(dir.clone()),
                // Another scratch was quicker.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && dir.is_dir() => {}
                other => other.context(|| format!("cannot create '{}'", dir.display()))?,
            }
        }
        Ok(made)
    }
}

/// Directories that go again unless they are kept.
#[must_use]
pub struct MadeDirs(Vec<PathBuf>);

impl MadeDirs {
    /// They stay.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for MadeDirs {
    fn drop(&mut self) {
        for dir in self.0.iter().rev() {
            // Only when empty, and the error that brought us here is the one to tell.
            let _ = std::fs::remove_dir(dir);
        }
    }
}

/// The directory of scratches: the `scratch_dir` setting, else `../<repo>.tw`.
///
/// # Errors
/// As [`beside`].
pub fn base(ctx: &Context<'_>) -> Result<PathBuf> {
    let root = ctx.repo.worktree_root();
    match &ctx.settings.scratch_dir {
        None => beside(root),
        Some(named) => match (named.strip_prefix("~/"), ctx.env.home()) {
            (Some(rest), Some(home)) => Ok(home.join(rest)),
            _ => Ok(root.join(named)),
        },
    }
}

/// Beside the working tree: `../<repo>.tw`.
///
/// # Errors
/// `USAGE` where there is no place beside it.
pub fn beside(root: &Path) -> Result<PathBuf> {
    let (Some(above), Some(name)) = (root.parent(), root.file_name()) else {
        return Err(Error::new(Code::Usage, "there is no place beside '/'")
            .hint("name a directory: tw open SNAPSHOT DIR, or set 'scratch_dir'"));
    };
    let mut beside = name.to_owned();
    beside.push(".tw");
    Ok(above.join(beside))
}

/// Without `.` and `..`, as the shell's own `cd` would walk.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

fn check_empty(dir: &Path) -> Result<()> {
    let refused = |what: &str| {
        Err(
            Error::new(Code::WouldOverwrite, format!("'{}' {what}", dir.display()))
                .hint("name a directory that is empty or not there: tw open SNAPSHOT DIR"),
        )
    };
    let what = || format!("cannot read '{}'", dir.display());
    let meta = dir.symlink_metadata().context(what)?;
    if !meta.is_dir() {
        return refused("is not a directory");
    }
    match std::fs::read_dir(dir).context(what)?.next() {
        None => Ok(()),
        Some(_) => refused("is not empty"),
    }
}

fn check_outside(ctx: &Context<'_>, dir: &Path) -> Result<()> {
    for (inside, what) in [
        (ctx.repo.worktree_root(), "the workspace"),
        (ctx.repo.git_dir(), "the git directory"),
        (ctx.repo.common_dir(), "the git directory"),
    ] {
        if dir.starts_with(inside) {
            let message = format!("'{}' lies inside {what}", dir.display());
            return Err(Error::new(Code::Usage, message)
                .hint("a snapshot is laid out beside the workspace, never in it"));
        }
    }
    Ok(())
}
