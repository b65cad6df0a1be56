//! The git directory of a private repository: what `git init` would have made, without a template.

use std::path::Path;

use crate::error::{Result, ResultExt};
use crate::git::create;
use crate::git::fs::{Durable, write_atomic};

/// The branch that HEAD names. It never exists: nobody commits here.
const HEAD: &str = "ref: refs/heads/main\n";

/// What git writes, and `core.worktree` after it.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n";

/// Makes it, on disk when this returns.
pub(super) fn repository(dir: &Path, worktree: &str) -> Result<()> {
    create::git_dirs(dir)?;
    let write =
        |name: &str, text: &str| write_atomic(&dir.join(name), text.as_bytes(), Durable::Yes);
    write("info/exclude", "")?;
    write("config", CONFIG)?;
    set_worktree(dir, worktree)?;
    write("HEAD", HEAD)
}

/// Says in git's own words where the working tree is, for whoever looks with git. `tw` itself goes by the registry.
pub(super) fn set_worktree(dir: &Path, worktree: &str) -> Result<()> {
    let file = dir.join("config");
    let what = || format!("cannot write '{}'", file.display());
    let mut config = git2::Config::open(&file).context(what)?;
    config.set_str("core.worktree", worktree).context(what)
}
