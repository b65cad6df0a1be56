//! Which repositories can be worked in, and where their working tree is.
//!
//! Owns the check of the repository format (version, extensions, bare) and the rules for `core.worktree`. What is refused
//! is refused before libgit2 opens it, by name, with nothing touched. Leaves out whom it belongs to; see `trust`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Once;

use super::config::{Config, ConfigEntry};
use super::discover::{Discovered, gitfile_of};
use crate::env::Env;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::ObjectFormat;
use crate::git::fs::is_there;
use crate::git::refs::RefFormat;

/// Extensions that are known. `objectFormat` and `refStorage` are judged by their value.
const EXTENSIONS: [&str; 9] = [
    "noop",
    "noop-v1",
    "preciousobjects",
    "partialclone",
    "worktreeconfig",
    "relativeworktrees",
    "submodulepathconfig",
    "objectformat",
    "refstorage",
];

/// The way on where a format is not known here.
const NEWER: &str = "nothing was touched; a newer tw may know this format";

/// Refuses formats that are not read here.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY`, naming the format or extension.
pub(super) fn check(local: &Config) -> Result<()> {
    let version = local
        .entry("core.repositoryFormatVersion")
        .map_or(Ok(0), ConfigEntry::int)?;
    if !(0..=1).contains(&version) {
        let message = format!("repository format version {version} is not supported");
        return Err(unsupported(message).hint(NEWER));
    }
    for entry in local.with_prefix("extensions.") {
        let name = entry.key.trim_start_matches("extensions.");
        let value = entry.text();
        let known = match name {
            // git: another one than its default only from version 1 on.
            "objectformat" => ObjectFormat::from_name(&value)
                .is_some_and(|format| version == 1 || format == ObjectFormat::Sha1),
            "refstorage" => version == 1 && ref_storage(&value).is_some(),
            // git: an unknown extension counts only from version 1 on.
            _ => version == 0 || EXTENSIONS.contains(&name),
        };
        if !known {
            let message = format!(
                "the repository uses '{}={}', which is not supported",
                spelled(name),
                crate::git::path::display(value.as_bytes())
            );
            return Err(unsupported(message).hint(NEWER));
        }
    }
    Ok(())
}

/// Refuses an environment that tells git to keep refs elsewhere than the repository's configuration says.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY`, naming the variable.
pub(super) fn check_environment(env: &Env) -> Result<()> {
    let name = "GIT_REFERENCE_BACKEND";
    let Some(value) = env.var(name) else {
        return Ok(());
    };
    let value = crate::git::path::display(value.as_bytes());
    let message = format!("refs are kept elsewhere by '{name}={value}', which is not supported");
    Err(unsupported(message).hint(format!(
        "nothing was touched; unset {name} to work with the repository's own refs"
    )))
}

/// How the repository keeps its refs. [`check`] has let it pass.
pub(super) fn ref_format(local: &Config) -> RefFormat {
    let entry = local.entry("extensions.refStorage");
    let format = entry.and_then(|entry| ref_storage(&entry.text()));
    format.unwrap_or_default()
}

fn ref_storage(value: &str) -> Option<RefFormat> {
    match value {
        "files" => Some(RefFormat::Files),
        "reftable" => Some(RefFormat::Reftable),
        _ => None,
    }
}

/// How the repository names its objects. [`check`] has let it pass.
pub(super) fn object_format(local: &Config) -> ObjectFormat {
    let entry = local.entry("extensions.objectFormat");
    let format = entry.and_then(|entry| ObjectFormat::from_name(&entry.text()));
    format.unwrap_or_default()
}

/// An extension as git's documentation spells it.
fn spelled(name: &str) -> String {
    match name {
        "objectformat" => "extensions.objectFormat".to_owned(),
        "refstorage" => "extensions.refStorage".to_owned(),
        "compatobjectformat" => "extensions.compatObjectFormat".to_owned(),
        other => format!("extensions.{other}"),
    }
}

/// The top of the working tree, resolved.
///
/// # Errors
/// `UNSUPPORTED_REPOSITORY` for a bare repository, and when the working tree is not there.
pub(super) fn worktree_root(found: &Discovered, local: &Config) -> Result<PathBuf> {
    let linked = found.is_linked();
    // git: where `commondir` names another directory, core.bare and core.worktree say nothing, unless each worktree has a
    // configuration of its own; then even the shared file's do.
    let is_shared = is_there(&found.git_dir.join("commondir"))?;
    let has_own = local.bool("extensions.worktreeConfig")? == Some(true);
    let own = |key: &str| local.entry(key).filter(|_| !is_shared || has_own);
    if let Some(entry) = own("core.bare")
        && entry.bool()?
    {
        return Err(bare(&found.git_dir));
    }
    let root = if let Some(top) = found.top.as_ref().filter(|_| found.is_private) {
        // The registry knows, by the directory's identity.
        top.clone()
    } else if let Some(entry) = own("core.worktree") {
        let value = entry.value.clone().unwrap_or_default();
        found.git_dir.join(OsStr::from_bytes(&value))
    } else if let Some(top) = &found.top {
        top.clone()
    } else if linked {
        let file = gitfile_of(&found.git_dir)
            .context(|| format!("cannot read '{}'", found.git_dir.join("gitdir").display()))?;
        let top = file.as_deref().and_then(Path::parent);
        top.map(Path::to_path_buf).unwrap_or_default()
    } else {
        // git: without core.bare, a git directory that is not called .git is taken to be bare.
        match found.git_dir.parent() {
            Some(parent) if found.git_dir.ends_with(".git") => parent.to_path_buf(),
            _ => return Err(bare(&found.git_dir)),
        }
    };
    match std::fs::canonicalize(&root) {
        // What git keeps there would be files of the working tree at the same time.
        Ok(root) if root == found.git_dir || root == found.common_dir => Err(unsupported(format!(
            "the git directory '{}' is its own working tree",
            root.display()
        ))),
        Ok(root) if root.is_dir() => Ok(root),
        _ => Err(unsupported(format!(
            "the working tree '{}' of the repository at '{}' is not there",
            root.display(),
            found.git_dir.display()
        ))),
    }
}

/// Whether a repository's main worktree is none.
///
/// # Errors
/// `INVALID_CONFIG` when `core.bare` is neither true nor false.
pub(super) fn is_bare(local: &Config) -> Result<bool> {
    local
        .entry("core.bare")
        .map_or(Ok(false), ConfigEntry::bool)
}

fn bare(git_dir: &Path) -> Error {
    unsupported(format!(
        "the repository at '{}' is bare: it has no working tree",
        git_dir.display()
    ))
    .hint("nothing was touched; 'git worktree add DIR' makes a working tree of it")
}

fn unsupported(message: String) -> Error {
    Error::new(Code::UnsupportedRepository, message)
}

/// Tells libgit2, once per process, that the extensions that [`check`] lets pass are no reason to refuse.
#[expect(
    unsafe_code,
    reason = "libgit2 keeps this list in a static, and offers no other way"
)]
pub(in crate::git) fn teach_libgit2() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the list is set once, before any repository is opened through this layer, the only one that opens any.
        // A failure leaves the list as it was; opening then names the extension.
        let _ = unsafe { git2::opts::set_extensions(&EXTENSIONS) };
    });
}
