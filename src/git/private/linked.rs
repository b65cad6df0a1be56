//! Linked worktrees of a private repository, made without git: what `git worktree add --no-checkout --detach` would have made.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::env::fail_point;
use crate::error::{Result, ResultExt};
use crate::git::Oid;
use crate::git::create;
use crate::git::fs::{Durable, write_atomic, write_new};
use crate::git::repo::Repo;

/// How often others may take the directory of all worktrees away for being empty while one is made.
const TURNS: u32 = 100;

/// Makes the directory `dir`, which is empty, a worktree with its HEAD at `commit`, and with a file of that name and text in its git
/// directory, before there is anything else.
///
/// # Errors
/// The disk refuses, or it has a `.git` by now; then what was made is named by its `gitdir` file.
pub fn add(repo: &Repo, dir: &Path, commit: Oid, (name, text): (&str, &str)) -> Result<()> {
    let git_dir = free(&repo.common_dir().join("worktrees"), dir)?;
    let link = dir.join(".git");
    let line = |path: &Path, before: &str| {
        let mut text = before.as_bytes().to_vec();
        text.extend_from_slice(path.as_os_str().as_bytes());
        text.push(b'\n');
        text
    };
    // First: by these whoever comes after a death knows what to take back.
    write_atomic(&git_dir.join(name), text.as_bytes(), Durable::No)?;
    write_atomic(&git_dir.join("gitdir"), &line(&link, ""), Durable::No)?;
    write_atomic(&git_dir.join("commondir"), b"../..\n", Durable::No)?;
    let head = format!("{commit}\n");
    write_atomic(&git_dir.join("HEAD"), head.as_bytes(), Durable::No)?;
    // Never in the place of another: somebody else's worktree may be there by now.
    write_new(&link, &line(&git_dir, "gitdir: "), 0o644)
}

/// A new git directory, named after the worktree, with a number where that is taken. Whoever takes the last one away takes the directory
/// of them all with it: so that may have to be made again.
fn free(worktrees: &Path, dir: &Path) -> Result<PathBuf> {
    let name = dir.file_name().unwrap_or_default();
    let mut number = 0;
    let mut turns = 0..TURNS;
    create::private_dir(worktrees)?;
    loop {
        fail_point("worktree-named");
        let mut wanted = name.to_owned();
        if number > 0 {
            wanted.push(number.to_string());
        }
        let git_dir = worktrees.join(wanted);
        match create::new_dir(&git_dir, 0o700) {
            Ok(()) => return Ok(git_dir),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) if error.kind() == ErrorKind::NotFound && turns.next().is_some() => {
                create::private_dir(worktrees)?;
            }
            Err(error) => {
                return Err(error).context(|| format!("cannot create '{}'", git_dir.display()));
            }
        }
    }
}
