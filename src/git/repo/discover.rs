//! The walk from a directory up to its repository.
//!
//! Owns git's rules for what is a git directory, `.git` files, ceilings and file system boundaries. `GIT_DIR` and its
//! kin are not looked at: only `GIT_CEILING_DIRECTORIES` and `GIT_DISCOVERY_ACROSS_FILESYSTEM` steer the walk, as they
//! do for git. Where no `.git` was found, the user's private repositories are asked (`git::private`). Leaves out whether the repository may be trusted and can be read; see `trust` and `format`.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::private::{Directory, Known, Registry};
use crate::git::regular;
use crate::text::typed_path;

/// A `.git` file is one short line; more than this is none.
const MAX_GITFILE: u64 = 1 << 20;

/// Where the walk stops.
#[derive(Debug, Clone, Default)]
pub(super) struct Limits {
    pub ceilings: Vec<PathBuf>,
    pub across_filesystems: bool,
}

impl Limits {
    pub fn from_env(env: &Env) -> Self {
        let mut resolve = true;
        let mut ceilings = Vec::new();
        if let Some(list) = env.var("GIT_CEILING_DIRECTORIES") {
            for path in std::env::split_paths(list) {
                // git: symlinks are not resolved in what follows an empty entry.
                if path.as_os_str().is_empty() {
                    resolve = false;
                } else if path.is_absolute() {
                    let resolved = resolve.then(|| std::fs::canonicalize(&path).ok()).flatten();
                    ceilings.push(resolved.unwrap_or(path));
                }
            }
        }
        let across = env.text("GIT_DISCOVERY_ACROSS_FILESYSTEM");
        Self {
            ceilings,
            across_filesystems: across
                .is_some_and(|text| git2::Config::parse_bool(text).unwrap_or(false)),
        }
    }
}

/// What the walk met. All paths are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Discovered {
    pub git_dir: PathBuf,
    pub common_dir: PathBuf,
    /// The `.git` file that led here, or the registry's entry of a private repository: whoever owns it says what is read.
    pub gitfile: Option<PathBuf>,
    /// The directory that holds `.git`; `None` when the walk began inside the git directory.
    pub top: Option<PathBuf>,
    /// The git directory is the private repository of `top`, which has no `.git`.
    pub is_private: bool,
}

impl Discovered {
    /// A directory that is all of it.
    pub fn at(dir: &Path) -> Self {
        Self {
            git_dir: dir.to_path_buf(),
            common_dir: dir.to_path_buf(),
            gitfile: None,
            top: Some(dir.to_path_buf()),
            is_private: false,
        }
    }

    /// Whether this is a linked worktree's git directory.
    pub fn is_linked(&self) -> bool {
        self.git_dir != self.common_dir && self.git_dir.join("gitdir").is_file()
    }
}

/// Walks up from `start`. A repository of git's, wherever on the way, comes before any private one.
///
/// # Errors
/// `NOT_A_REPOSITORY` when there is none, a `.git` file leads nowhere, or a directory whose history is kept was moved here.
pub(super) fn find(start: &Path, limits: &Limits, env: &Env) -> Result<Discovered> {
    let start = match std::fs::canonicalize(start) {
        Err(error) if regular::is_absent(&error) => {
            let message = format!("there is no directory '{}'", start.display());
            return Err(Error::new(Code::PathNotFound, message)
                .caused_by(error)
                .hint("name one that exists"));
        }
        found => {
            found.context(|| format!("cannot look for a repository in '{}'", start.display()))?
        }
    };
    let device = std::fs::metadata(&start)?.dev();
    let mut dir = start.as_path();
    let mut seen = Vec::new();
    loop {
        seen.push(dir);
        if let Some(found) = look(dir)? {
            return Ok(found);
        }
        let Some(parent) = dir.parent() else {
            return find_private(&seen, None, env);
        };
        // A ceiling is not gone up into; whoever starts in one is still answered.
        if limits.ceilings.iter().any(|ceiling| ceiling == parent) {
            return find_private(&seen, None, env);
        }
        if !limits.across_filesystems && std::fs::metadata(parent)?.dev() != device {
            return find_private(&seen, Some(dir), env);
        }
        dir = parent;
    }
}

/// The private repository of the nearest of these directories that has one.
fn find_private(seen: &[&Path], boundary: Option<&Path>, env: &Env) -> Result<Discovered> {
    let start = seen.first().copied().unwrap_or(Path::new("/"));
    if let Some(head) = damaged_head(start) {
        return Err(damaged(&head));
    }
    let mut hints = Vec::new();
    if let Some(registry) = Registry::of(env).filter(Registry::exists) {
        for dir in seen {
            match registry.look(dir)? {
                Some(Known::Here(known)) => return from_private(&known, dir),
                Some(Known::Moved(known)) => {
                    known.check()?;
                    return Err(moved(dir, &known));
                }
                // Nobody can go on with it.
                Some(Known::SetAside(known) | Known::Former(known)) if known.is_gone()? => {}
                Some(Known::SetAside(_)) => hints.push(format!(
                    "the history of '{}' was set aside: 'tw init --here' there goes on with it",
                    dir.display()
                )),
                Some(Known::Former(_)) => hints.push(format!(
                    "another directory was at '{}', whose history is kept: 'tw init --here --adopt {}' there goes on with it",
                    dir.display(),
                    typed_path(dir)
                )),
                None => {}
            }
        }
    }
    Err(none(start, hints, boundary))
}

fn from_private(known: &Directory, dir: &Path) -> Result<Discovered> {
    let repository = known.repository();
    known.check()?;
    let found = from_git_dir(&repository).ok_or_else(|| {
        let message = format!("'{}' was just removed", repository.display());
        Error::new(Code::NotARepository, message)
    })?;
    Ok(Discovered {
        gitfile: Some(known.entry().to_path_buf()),
        top: Some(dir.to_path_buf()),
        is_private: true,
        ..found
    })
}

fn moved(dir: &Path, known: &Directory) -> Error {
    let message = format!(
        "'{}' was '{}' when tw last kept its history",
        dir.display(),
        known.path().display()
    );
    Error::new(Code::NotARepository, message)
        .hint(format!(
            "run 'tw init --here' in '{}' to go on with it",
            dir.display()
        ))
        .detail("moved_from", known.path().display().to_string())
}

/// One step: `.git` in `dir`, then `dir` itself.
fn look(dir: &Path) -> Result<Option<Discovered>> {
    let dot_git = dir.join(".git");
    match std::fs::metadata(&dot_git) {
        Ok(meta) if meta.is_file() => {
            return from_gitfile(dir, &dot_git, meta.len()).map(Some);
        }
        Ok(meta) if meta.is_dir() => {
            if let Some(found) = from_git_dir(&dot_git) {
                return Ok(Some(Discovered {
                    top: Some(dir.to_path_buf()),
                    ..found
                }));
            }
        }
        _ => {}
    }
    Ok(from_git_dir(dir))
}

fn from_gitfile(top: &Path, file: &Path, size: u64) -> Result<Discovered> {
    let bad = |what: &str| {
        Error::new(
            Code::NotARepository,
            format!("the file '{}' {what}", file.display()),
        )
    };
    if size > MAX_GITFILE {
        return Err(bad("is too large to name a git directory"));
    }
    let content = regular::read(file).context(|| format!("cannot read '{}'", file.display()))?;
    let target =
        gitfile_target(top, &content).ok_or_else(|| bad("does not start with 'gitdir: '"))?;
    let found = from_git_dir(&target).ok_or_else(|| {
        bad(&format!(
            "names '{}', which is not a git directory",
            target.display()
        ))
    })?;
    Ok(Discovered {
        gitfile: Some(file.to_path_buf()),
        top: Some(top.to_path_buf()),
        ..found
    })
}

/// Where the `.git` file of a directory leads, by what it holds. Whether that is a git directory is not looked at.
pub fn gitfile_target(top: &Path, content: &[u8]) -> Option<PathBuf> {
    let target = content.strip_prefix(b"gitdir: ")?;
    let end = target
        .iter()
        // As git: line ends alone are cut, for a path may end in a space.
        .rposition(|byte| !matches!(byte, b'\n' | b'\r'))
        .map_or(0, |at| at + 1);
    Some(top.join(OsStr::from_bytes(target.get(..end)?)))
}

/// The `.git` file that the git directory of a linked worktree was made for, wherever it is by now. None: it names none, as
/// that of a main worktree.
///
/// # Errors
/// It cannot be read.
pub fn gitfile_of(git_dir: &Path) -> std::io::Result<Option<PathBuf>> {
    let link = match regular::read(git_dir.join("gitdir")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read?,
    };
    let link = link.trim_ascii_end();
    Ok((!link.is_empty()).then(|| git_dir.join(OsStr::from_bytes(link))))
}

/// Where a relative path leads from a directory without symlinks on its way: without the `..` at its start, for which the C library
/// asks a call that some sandboxes forbid.
fn above(dir: &Path, relative: &Path) -> PathBuf {
    let (mut from, mut relative) = (dir, relative);
    while let (Ok(rest), Some(parent)) = (relative.strip_prefix(".."), from.parent()) {
        (from, relative) = (parent, rest);
    }
    if relative.as_os_str().is_empty() {
        return from.to_owned();
    }
    from.join(relative)
}

/// git's `is_git_directory`: a HEAD that reads like one, `objects` and `refs`.
fn from_git_dir(dir: &Path) -> Option<Discovered> {
    if !has_head(dir) {
        return None;
    }
    let git_dir = std::fs::canonicalize(dir).ok()?;
    let mut is_known = true;
    let common_dir = match regular::read(git_dir.join("commondir")) {
        Ok(text) => {
            let relative = Path::new(OsStr::from_bytes(text.trim_ascii_end()));
            std::fs::canonicalize(above(&git_dir, relative)).ok()?
        }
        Err(error) => {
            is_known = regular::is_absent(&error);
            git_dir.clone()
        }
    };
    let has = |name: &str| common_dir.join(name).is_dir();
    let whole = !is_known || has("objects") && has("refs");
    whole.then_some(Discovered {
        git_dir,
        common_dir,
        gitfile: None,
        top: None,
        is_private: false,
    })
}

/// The git directory that `.git` in a directory is or names, and the directory with its refs.
pub(in crate::git) fn git_dirs_of(dir: &Path) -> Option<(PathBuf, PathBuf)> {
    let found = look(dir).ok()??;
    found.top.map(|_| (found.git_dir, found.common_dir))
}

/// Whether a directory is the working tree of a repository, as git decides it: its `.git` is a git directory or a file that names
/// one. What cannot be read counts as one.
pub fn holds_repository(dir: &Path) -> bool {
    let dot_git = dir.join(".git");
    let Ok(meta) = std::fs::metadata(&dot_git) else {
        return false;
    };
    if meta.is_file() {
        return is_unreadable(&dot_git) || from_gitfile(dir, &dot_git, meta.len()).is_ok();
    }
    from_git_dir(&dot_git).is_some()
}

/// Whether something of git's is in a directory or above it, were it damaged: an empty `.git` is nothing.
pub fn has_git(dir: &Path) -> bool {
    let mut git_dirs = dir.ancestors().map(|dir| dir.join(".git"));
    git_dirs.any(|dot_git| dot_git.is_file() || dot_git.join("objects").is_dir())
}

fn is_unreadable(file: &Path) -> bool {
    let kind = regular::open(file).err().map(|error| error.kind());
    kind == Some(std::io::ErrorKind::PermissionDenied)
}

/// Whether git would take this directory for a git directory, bare or not.
pub fn is_git_directory(dir: &Path) -> bool {
    from_git_dir(dir).is_some()
}

/// A symlink or symbolic ref into `refs/`, or a commit id of either length.
fn has_head(dir: &Path) -> bool {
    let head = dir.join("HEAD");
    if let Ok(target) = std::fs::read_link(&head) {
        return target.starts_with("refs");
    }
    if !std::fs::symlink_metadata(&head).is_ok_and(|meta| meta.is_file()) {
        return false;
    }
    let content = match regular::read(&head) {
        Ok(content) => content,
        // As git: what is closed to us is none.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return false,
        Err(error) if regular::is_absent(&error) || regular::is_unfit(&error) => return false,
        // It is there. Whoever goes on reading it is told what is wrong, and nobody takes the repository around it for this one.
        Err(_) => return true,
    };
    if let Some(rest) = content.strip_prefix(b"ref:") {
        rest.trim_ascii_start().starts_with(b"refs/")
    } else {
        let digits = content.iter().take_while(|byte| byte.is_ascii_hexdigit());
        digits.count() >= 40
    }
}

/// The HEAD of a git directory on the way up that has all but a HEAD that can be read, as after a crash.
fn damaged_head(start: &Path) -> Option<PathBuf> {
    let git_dirs = start.ancestors().map(|dir| dir.join(".git"));
    let mut all_but_head =
        git_dirs.filter(|dir| dir.join("objects").is_dir() && dir.join("refs").is_dir());
    let dir = all_but_head.next().filter(|dir| !has_head(dir))?;
    let head = dir.join("HEAD");
    head.symlink_metadata().is_ok().then_some(head)
}

fn damaged(head: &Path) -> Error {
    let head = head.display();
    let message = format!("'{head}' is damaged: it names neither a branch nor a commit");
    Error::new(Code::NotARepository, message).hint(format!(
        "put it back with the name of your branch: echo 'ref: refs/heads/NAME' > '{head}'"
    ))
}

fn none(start: &Path, hints: Vec<String>, boundary: Option<&Path>) -> Error {
    let error = Error::new(
        Code::NotARepository,
        format!(
            "'{}' is not in a git repository (nor is any of its parents)",
            start.display()
        ),
    )
    .hint("run 'git init' to make this directory a repository, or 'tw init --here' to have its history kept without git");
    let error = hints.into_iter().fold(error, Error::hint);
    match boundary {
        Some(dir) => error.hint(format!(
            "the search stopped at the file system boundary '{}'; set GIT_DISCOVERY_ACROSS_FILESYSTEM=1 to go on",
            dir.display()
        )),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(dir: &Path) {
        std::fs::create_dir_all(dir.join("objects")).expect("made");
        std::fs::create_dir_all(dir.join("refs")).expect("made");
        std::fs::write(dir.join("HEAD"), "ref: refs/heads/main\n").expect("written");
    }

    #[test]
    fn the_nearest_git_directory_counts_and_an_empty_one_is_passed_over() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = std::fs::canonicalize(temp.path()).expect("resolved");
        make(&root.join(".git"));
        std::fs::create_dir_all(root.join("a/b/.git")).expect("made");
        let found = find(&root.join("a/b"), &Limits::default(), &Env::default()).expect("found");
        assert_eq!(found.top.as_deref(), Some(root.as_path()));
        assert_eq!(found.git_dir, root.join(".git"));
        make(&root.join("a/.git"));
        let found = find(&root.join("a/b"), &Limits::default(), &Env::default()).expect("found");
        assert_eq!(found.git_dir, root.join("a/.git"));
    }

    #[test]
    fn a_ceiling_stops_the_walk_but_never_hides_the_start() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = std::fs::canonicalize(temp.path()).expect("resolved");
        make(&root.join(".git"));
        std::fs::create_dir_all(root.join("a/b")).expect("made");
        let limits = Limits {
            ceilings: vec![root.clone()],
            ..Limits::default()
        };
        let error = find(&root.join("a/b"), &limits, &Env::default()).expect_err("stopped");
        assert_eq!(error.code(), Code::NotARepository);
        assert!(error.message().contains("a/b"), "{error}");
        assert!(error.hints().iter().any(|hint| hint.contains("git init")));
        assert!(find(&root, &limits, &Env::default()).is_ok());
    }

    #[test]
    fn a_git_file_may_be_relative_and_must_lead_somewhere() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = std::fs::canonicalize(temp.path()).expect("resolved");
        make(&root.join("store/x"));
        std::fs::create_dir(root.join("work")).expect("made");
        std::fs::write(root.join("work/.git"), "gitdir: ../store/x\n").expect("written");
        let found = find(&root.join("work"), &Limits::default(), &Env::default()).expect("found");
        assert_eq!(found.git_dir, root.join("store/x"));
        assert_eq!(found.gitfile, Some(root.join("work/.git")));
        std::fs::write(root.join("work/.git"), "gitdir: ../nowhere\n").expect("written");
        let error = find(&root.join("work"), &Limits::default(), &Env::default())
            .expect_err("leads nowhere");
        assert_eq!(error.code(), Code::NotARepository);
    }
}
