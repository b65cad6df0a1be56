//! Whether a repository belongs to the person who runs `tw`: git's ownership rule and `safe.directory`.
//!
//! libgit2 has this check too, but does not know `GIT_CONFIG_GLOBAL` nor patterns such as `/srv/*`; so the rule is
//! applied here, before a byte of the repository's own configuration is read.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::config::{Config, expand, without_optional};
use super::discover::Discovered;
use crate::env::Env;
use crate::error::{Code, Error, Result};

/// Fails with `UNSAFE_REPOSITORY` when someone else owns the worktree, its `.git` file or the git directory, unless
/// `safe.directory` in the user's or the system's configuration names it.
pub(super) fn check(found: &Discovered, protected: &Config, env: &Env) -> Result<()> {
    let uid = rustix::process::geteuid().as_raw();
    let sudo = env.text("SUDO_UID").and_then(|text| text.parse().ok());
    let home = env.home();
    check_as(found, protected, home.as_deref(), uid, sudo)
}

fn check_as(
    found: &Discovered,
    protected: &Config,
    home: Option<&Path>,
    uid: u32,
    sudo: Option<u32>,
) -> Result<()> {
    let paths = [
        found.gitfile.as_deref(),
        found.top.as_deref(),
        Some(&found.git_dir),
    ];
    let owned = |path: &Path| {
        std::fs::symlink_metadata(path).is_ok_and(|meta| {
            // git: root may also work in what belongs to the one who called sudo.
            meta.uid() == uid || (uid == 0 && Some(meta.uid()) == sudo)
        })
    };
    let path = found.top.as_deref().unwrap_or(&found.git_dir);
    if paths.into_iter().flatten().all(owned) || is_named_safe(path, protected, home) {
        return Ok(());
    }
    Err(unsafe_error(path))
}

/// The error, with the exact line that lifts it.
pub(super) fn unsafe_error(path: &Path) -> Error {
    let text = path.display().to_string();
    let quoted = format!("'{}'", text.replace('\'', r"'\''"));
    let line = format!("git config --global --add safe.directory {quoted}");
    Error::new(
        Code::UnsafeRepository,
        format!("the repository at {quoted} is owned by someone else; to trust it, run: {line}"),
    )
    .hint(line)
    .detail("path", text)
}

/// git's reading of `safe.directory`: in order, an empty value forgets, `*` is everything, `dir/*` all beneath `dir`.
fn is_named_safe(path: &Path, protected: &Config, home: Option<&Path>) -> bool {
    let mut safe = false;
    for entry in protected.all("safe.directory") {
        match entry.value.as_deref() {
            None | Some(b"") => safe = false,
            Some(b"*") => safe = true,
            Some(value) => {
                let value = without_optional(value);
                let (dir, beneath) = match value.strip_suffix(b"/*") {
                    Some(dir) => (dir, true),
                    None => (value, false),
                };
                let dir = expand(dir, home);
                let dir = std::fs::canonicalize(&dir).unwrap_or(dir);
                if dir.is_absolute() {
                    safe |= path == dir || (beneath && path.starts_with(&dir));
                }
            }
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::super::config::Sources;
    use super::*;

    fn found(dir: &Path) -> Discovered {
        Discovered {
            git_dir: dir.join(".git"),
            common_dir: dir.join(".git"),
            gitfile: None,
            top: Some(dir.to_path_buf()),
            is_private: false,
        }
    }

    fn safe_directories(values: &[&str]) -> Config {
        let sources = Sources {
            command: values
                .iter()
                .map(|value| ("safe.directory".to_owned(), value.as_bytes().to_vec()))
                .collect(),
            ..Sources::default()
        };
        Config::protected(&sources, Path::new("/")).expect("read")
    }

    #[test]
    fn another_owner_is_refused_with_the_exact_line() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let dir = std::fs::canonicalize(temp.path())
            .expect("resolved")
            .join("it's");
        std::fs::create_dir_all(dir.join(".git")).expect("made");
        let me = rustix::process::geteuid().as_raw();
        let none = safe_directories(&[]);
        assert!(check_as(&found(&dir), &none, None, me, None).is_ok());
        let error = check_as(&found(&dir), &none, None, me + 1, None).expect_err("not mine");
        assert_eq!(error.code(), Code::UnsafeRepository);
        let line = format!(
            r"git config --global --add safe.directory '{}'",
            dir.display().to_string().replace('\'', r"'\''")
        );
        assert_eq!(error.hints(), [line]);
    }

    #[test]
    fn safe_directory_is_read_in_order() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let dir = std::fs::canonicalize(temp.path()).expect("resolved");
        let exact = dir.display().to_string();
        let beneath = format!("{}/*", dir.parent().expect("a parent").display());
        for (values, safe) in [
            (vec![exact.as_str()], true),
            (vec!["*"], true),
            (vec![beneath.as_str()], true),
            (vec!["*", ""], false),
            (vec!["", exact.as_str()], true),
            (vec!["/elsewhere"], false),
            (vec!["."], false),
        ] {
            let config = safe_directories(&values);
            assert_eq!(is_named_safe(&dir, &config, None), safe, "{values:?}");
        }
    }
}
