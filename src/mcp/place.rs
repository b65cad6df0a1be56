//! Which directory a call works in: where the server was started, or one inside a root that the client announced.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::env::Env;
use crate::error::{Code, Error, Result};
use crate::git::repo::Repo;

/// The directory of a call. `roots` are the URIs that the client announced, None when it has no roots at all.
///
/// # Errors
/// `PATH_NOT_FOUND` when `dir` is no directory, `NOT_APPROVED` when it lies in no root; without roots, when it lies in
/// another repository than the one the server was started in.
pub fn choose(
    start: &Path,
    dir: Option<&str>,
    roots: Option<&[String]>,
    env: &Env,
) -> Result<PathBuf> {
    let roots: Option<Vec<PathBuf>> =
        // A root that is no directory of this machine allows nothing; it is no error, for another one may.
        roots.map(|roots| roots.iter().filter_map(|uri| path_of(uri)).collect());
    let Some(dir) = dir else {
        // A client may start its servers anywhere: then its only root is what is meant.
        return Ok(match roots.as_deref() {
            // Of several nobody knows which is meant.
            Some([only]) if Repo::discover(start, env).is_err() => only.clone(),
            _ => start.to_owned(),
        });
    };
    // By its true path: a link inside a root may lead out of it.
    let found = start
        .join(dir)
        .canonicalize()
        .ok()
        .filter(|dir| dir.is_dir());
    let found = found.ok_or_else(|| {
        Error::new(Code::PathNotFound, format!("'{dir}' is not a directory"))
            .detail("argument", "dir")
    })?;
    let allowed = match &roots {
        Some(roots) => roots.iter().any(|root| lies_in(&found, root)),
        None => same_repository(start, &found, env)?,
    };
    if allowed {
        return Ok(found);
    }
    let hint = match &roots {
        Some(roots) => {
            let roots: Vec<_> = roots.iter().map(|root| root.display().to_string()).collect();
            format!("the roots are {}", roots.join(", "))
        }
        None => "without roots of the client only the repository that the server was started in may be used".to_owned(),
    };
    Err(Error::new(
        Code::NotApproved,
        format!("'{dir}' lies in no root of the client"),
    )
    .detail("argument", "dir")
    .hint(hint))
}

fn lies_in(dir: &Path, root: &Path) -> bool {
    root.canonicalize().is_ok_and(|root| dir.starts_with(root))
}

fn same_repository(start: &Path, dir: &Path, env: &Env) -> Result<bool> {
    let ours = Repo::discover(start, env)?;
    // A directory of no repository, or of one that cannot be used, is not ours.
    let theirs = Repo::discover(dir, env);
    Ok(theirs.is_ok_and(|theirs| theirs.worktree_root() == ours.worktree_root()))
}

/// Whether a call without `dir` needs to know the roots.
pub fn is_nowhere(start: &Path, env: &Env) -> bool {
    Repo::discover(start, env).is_err()
}

/// The path of a `file` URI of this machine; None for any other.
fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.as_bytes();
    while let Some((first, tail)) = left.split_first() {
        left = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        left = tail.get(2..)?;
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_file_uri_of_this_machine() {
        for (uri, path) in [
            ("file:///a/b", Some("/a/b")),
            ("file://localhost/a", Some("/a")),
            ("file:///a%20b/%C3%BC", Some("/a b/ü")),
            ("file:///a#x", Some("/a")),
            ("file://other/a", None),
            ("file:///a%2", None),
            ("file:///a%zz", None),
            ("https://example.com/a", None),
            ("/a", None),
        ] {
            assert_eq!(path_of(uri), path.map(PathBuf::from), "{uri}");
        }
    }

    #[test]
    fn a_root_is_no_prefix_of_its_neighbour() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("resolved");
        for name in ["a", "ab", "a/in"] {
            std::fs::create_dir(root.join(name)).expect("made");
        }
        assert!(lies_in(&root.join("a/in"), &root.join("a")));
        assert!(lies_in(&root.join("a"), &root.join("a")));
        assert!(!lies_in(&root.join("ab"), &root.join("a")));
        assert!(!lies_in(&root.join("a"), &root.join("gone")));
    }
}
