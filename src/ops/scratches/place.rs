//! Where a scratch may be, and the directories that lead there.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::error::{Code, Error, Result, ResultExt};
use crate::git::access::{Access, SETGID, give_bits};
use crate::git::create;
use crate::git::fs::{open_dir, spread_dirs_in};
use crate::git::pinned::PinnedDir;
use crate::ops::Context;

/// How often others may take away, while one is made, what leads there.
const TURNS: u32 = 100;

/// What to do where none can be beside the working tree.
const ELSEWHERE: &str = "name a directory of your own: tw open SNAPSHOT DIR, or set 'scratch_dir'";

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
    /// `USAGE` for a place inside the workspace; `WOULD_OVERWRITE` when it is not empty; `UNSAFE_WORKSPACE` when it is somebody else's.
    pub fn find(ctx: &Context<'_>, wanted: &Path) -> Result<Self> {
        let wanted = normal(&ctx.cwd.join(wanted));
        if wanted.symlink_metadata().is_ok() {
            check_empty(&wanted)?;
        }
        let (existing, resolved) = nearest(&wanted)?;
        let rest = wanted.strip_prefix(existing).unwrap_or(Path::new(""));
        let dir = if rest.as_os_str().is_empty() {
            resolved.clone()
        } else {
            resolved.join(rest)
        };
        check_outside(ctx, &dir)?;
        check_owner(ctx, &dir)?;
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

    /// Makes it, and what has to lead there, for nobody but those who may enter the working tree, too. From then on nobody takes away what leads there for being empty.
    ///
    /// # Errors
    /// The system refuses.
    pub fn make_dirs(&self, ctx: &Context<'_>) -> Result<MadeDirs> {
        let root = ctx.repo.worktree_root();
        let bits = RootBits::of(root).context(|| format!("cannot look at '{}'", root.display()))?;
        let mut made = MadeDirs(Vec::new());
        made.make(&self.dir, &bits)
            .context(|| format!("cannot create '{}'", self.dir.display()))
            .map_err(|error| {
                if error.is_refusal() {
                    error.hint(ELSEWHERE)
                } else {
                    error
                }
            })?;
        Ok(made)
    }

    /// Claims the directory that was made, for as long as it is held open: what was empty when the place was looked for may be laid out by
    /// another command by now.
    ///
    /// # Errors
    /// `WOULD_OVERWRITE`.
    pub fn claim(&self, dir: &PinnedDir) -> Result<()> {
        if !dir.claim() {
            return refused(&self.dir, "is being laid out by another command");
        }
        check_empty(&self.dir)
    }
}

/// The nearest directory above that exists, as it is named and resolved.
fn nearest(wanted: &Path) -> Result<(&Path, PathBuf)> {
    let mut turns = 0..TURNS;
    loop {
        let mut existing = wanted;
        while existing.symlink_metadata().is_err() {
            existing = existing.parent().unwrap_or(Path::new("/"));
        }
        match existing.canonicalize() {
            // The last scratch in it has just gone, and it, too.
            Err(error) if error.kind() == ErrorKind::NotFound && turns.next().is_some() => {}
            other => {
                let what = || format!("cannot resolve '{}'", existing.display());
                return Ok((existing, other.context(what)?));
            }
        }
    }
}

/// Who may enter a working tree, as its root has it: a copy of what is in it lets in nobody else.
struct RootBits {
    bits: u32,
    group: u32,
}

impl RootBits {
    fn of(root: &Path) -> std::io::Result<Self> {
        let meta = root.metadata()?;
        // An access control list may keep out whom these bits would let in: the copy is its owner's alone.
        let list = rustix::fs::getxattr(root, "system.posix_acl_access", &mut [0u8; 0][..]);
        let most = if list.is_ok() { 0o700 } else { 0o777 | SETGID };
        Ok(Self {
            bits: meta.mode() & most | 0o700,
            group: meta.gid(),
        })
    }

    /// Makes a directory with the group and the permission bits of the root.
    fn make(&self, dir: &Path) -> std::io::Result<()> {
        create::new_dir(dir, self.bits & 0o777)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = match rustix::fs::open(dir, flags, Mode::empty()) {
            // Others take away what is empty; whoever makes something in it finds out.
            Err(Errno::NOENT) => return Ok(()),
            other => other?,
        };
        let stat = rustix::fs::fstat(&fd)?;
        // Another group gets what everybody has.
        let mut lost = Access::owned((stat.st_uid, self.group)).give_owner(&fd)?;
        let bits = stat.st_mode & 0o7777 | self.bits & SETGID;
        Ok(give_bits(&fd, bits, &mut lost)?)
    }
}

/// Refuses to lay anything out in the directory beside the working tree when it is somebody else's, who could read and replace it.
///
/// # Errors
/// `UNSAFE_WORKSPACE`.
fn check_owner(ctx: &Context<'_>, dir: &Path) -> Result<()> {
    let root = ctx.repo.worktree_root();
    let Ok(beside) = beside(root) else {
        return Ok(());
    };
    let Ok(resolved) = beside.canonicalize() else {
        return Ok(());
    };
    if !dir.starts_with(&resolved) {
        return Ok(());
    }
    let what = |path: &Path| format!("cannot look at '{}'", path.display());
    let owner = match resolved.metadata() {
        // The last scratch in it has just gone, and it, too.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.context(|| what(&resolved))?.uid(),
    };
    let of_root = root.metadata().context(|| what(root))?.uid();
    if owner == rustix::process::geteuid().as_raw() || owner == of_root {
        return Ok(());
    }
    let message = format!("'{}' belongs to another user", beside.display());
    Err(Error::new(Code::UnsafeWorkspace, message).hint(ELSEWHERE))
}

/// Directories that go again unless they are kept.
#[must_use]
pub struct MadeDirs(Vec<PathBuf>);

impl MadeDirs {
    /// Keeps the directories that were made.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl MadeDirs {
    /// Makes one with those above it, as often as others take away an empty one on the way.
    fn make(&mut self, dir: &Path, bits: &RootBits) -> std::io::Result<()> {
        let mut turns = 0..TURNS;
        loop {
            let again = |turns: &mut std::ops::Range<u32>| turns.next().is_some();
            match bits.make(dir) {
                Ok(()) => {
                    self.0.push(dir.to_owned());
                    return Ok(());
                }
                Err(error) => match (error.kind(), dir.parent()) {
                    (ErrorKind::AlreadyExists, _) if dir.is_dir() => return Ok(()),
                    // It went in between; a link that leads nowhere stays.
                    (ErrorKind::AlreadyExists, _)
                        if dir.symlink_metadata().is_err() && again(&mut turns) => {}
                    (ErrorKind::NotFound, Some(above)) if again(&mut turns) => {
                        self.make(above, bits)?;
                        // What it is made for is the place of whole trees, which come and go: beside inodes that were freed an
                        // ext4 without a journal makes files slowly.
                        let _ = open_dir(above).map(spread_dirs_in);
                    }
                    _ => return Err(error),
                },
            }
        }
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
    let what = || format!("cannot read '{}'", dir.display());
    let meta = dir.symlink_metadata().context(what)?;
    if !meta.is_dir() {
        return refused(dir, "is not a directory");
    }
    match std::fs::read_dir(dir).context(what)?.next() {
        None => Ok(()),
        Some(_) => refused(dir, "is not empty"),
    }
}

fn refused(dir: &Path, what: &str) -> Result<()> {
    let message = format!("'{}' {what}", dir.display());
    Err(Error::new(Code::WouldOverwrite, message)
        .hint("name a directory that is empty or not there: tw open SNAPSHOT DIR"))
}

pub(super) fn check_outside(ctx: &Context<'_>, dir: &Path) -> Result<()> {
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
