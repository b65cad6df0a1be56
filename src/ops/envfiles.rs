//! Where the `.env*` files of a working tree are: in its root and the directories right beneath it.
//!
//! A prompt hook asks at every prompt, and a directory of a thousand names takes a while to read. So the names found are kept
//! beside the stat cache with the stamp that their directory had; one that did not move since is not read again. Never
//! trusted: what cannot be read, or was too fresh when it was read, is read again. The files themselves are always read.

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

use crate::env::clock_nanos;
use crate::git::fs::{self, Durable, Root, Stamp};
use crate::git::path;
use crate::store::paths;

/// What is kept of one directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KnownDir {
    /// `mtime, ctime, ino`.
    stamp: (i64, i64, u64),
    /// Its `.env*` files, as far as the directory tells what is a file.
    #[serde(with = "paths")]
    files: Vec<Vec<u8>>,
    /// The directories in it; of the root alone.
    #[serde(with = "paths")]
    dirs: Vec<Vec<u8>>,
}

/// By name, the root's is empty. Names that are not UTF-8 are not kept.
type KnownDirs = BTreeMap<String, KnownDir>;

/// The paths of the files, in no order. `kept`: where names are kept; nothing is written where its directory is missing.
pub fn find(root: &Root, kept: &Path) -> Vec<Vec<u8>> {
    let old: KnownDirs = crate::git::regular::read(kept)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let mut search = Search {
        root,
        old: &old,
        new: KnownDirs::new(),
        files: Vec::new(),
        buffer: Vec::new(),
    };
    let dirs = search.at(b"");
    for dir in &dirs {
        search.at(dir);
    }
    let Search { new, files, .. } = search;
    if new != old && kept.parent().is_some_and(Path::is_dir) {
        let text = serde_json::to_vec(&new).unwrap_or_default();
        // Without it all is read again the next time.
        let _ = fs::write_atomic(kept, &text, Durable::No);
    }
    files
}

struct Search<'a> {
    root: &'a Root,
    old: &'a KnownDirs,
    new: KnownDirs,
    files: Vec<Vec<u8>>,
    buffer: Vec<u8>,
}

impl Search<'_> {
    /// Looks at one directory and answers those in it.
    fn at(&mut self, dir: &[u8]) -> Vec<Vec<u8>> {
        let name: &[u8] = if dir.is_empty() { b"." } else { dir };
        let Ok(Some(stamp)) = fs::stamp_at(self.root.fd(), name) else {
            return Vec::new();
        };
        if !stamp.is_dir() {
            return Vec::new();
        }
        let key = std::str::from_utf8(dir).ok();
        let old = key.and_then(|key| self.old.get(key));
        let known = old.filter(|old| old.stamp == short(&stamp)).cloned();
        let Some((seen, is_settled)) = known.map(|seen| (seen, true)).or_else(|| self.read(dir))
        else {
            return Vec::new();
        };
        let full = |file: &Vec<u8>| path::join(dir, file);
        self.files.extend(seen.files.iter().map(full));
        let dirs = seen.dirs.clone();
        if let Some(key) = key.filter(|_| is_settled) {
            self.new.insert(key.to_owned(), seen);
        }
        dirs
    }

    /// Reads a directory; also whether its stamp will tell of a change.
    fn read(&mut self, dir: &[u8]) -> Option<(KnownDir, bool)> {
        let started = clock_nanos();
        let fd = self.root.open_dir_for_reading(dir).ok()?;
        let stamp = fs::stamp_of(fd.as_fd()).ok()?;
        let mut seen = KnownDir {
            stamp: short(&stamp),
            files: Vec::new(),
            dirs: Vec::new(),
        };
        let is_root = dir.is_empty();
        fs::each_name(fd.as_fd(), &mut self.buffer, |name, kind| {
            let may_be = |wanted| kind == wanted || kind == FileType::Unknown;
            if may_be(FileType::RegularFile) && name.starts_with(b".env") {
                seen.files.push(name.to_vec());
            }
            let entered = is_root && name != b".git" && name != b".timewarp";
            if may_be(FileType::Directory) && entered {
                seen.dirs.push(name.to_vec());
            }
        })
        .ok()?;
        let is_settled = ![stamp.mtime, stamp.ctime]
            .iter()
            .any(|time| fs::is_racy(*time, started));
        Some((seen, is_settled))
    }
}

fn short(stamp: &Stamp) -> (i64, i64, u64) {
    (stamp.mtime, stamp.ctime, stamp.ino)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn write(dir: &Path, name: &str) {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(path, "A=1").expect("written");
    }

    fn found(dir: &Path, kept: &Path) -> Vec<String> {
        let root = Root::open(dir).expect("a directory");
        let mut files: Vec<String> = find(&root, kept)
            .into_iter()
            .map(|path| String::from_utf8_lossy(&path).into_owned())
            .collect();
        files.sort();
        files
    }

    #[test]
    fn they_are_found_no_deeper_than_one_directory() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for path in [
            ".env.local",
            "app/.env",
            "app/deep/.env",
            ".environments/.env",
            "env",
        ] {
            write(dir.path(), path);
        }
        std::os::unix::fs::symlink("env", dir.path().join(".env.link")).expect("a symlink");
        let missing = dir.path().join("no/kept");
        let expected = [".env.local", ".environments/.env", "app/.env"];
        assert_eq!(found(dir.path(), &missing), expected);
        assert!(!missing.exists());
    }

    #[test]
    fn what_was_kept_is_used_until_a_directory_moves() {
        let (dir, desk) = (tempfile::tempdir(), tempfile::tempdir());
        let (dir, desk) = (dir.expect("a directory"), desk.expect("a directory"));
        let kept = desk.path().join("env-files");
        write(dir.path(), "app/.env");
        // Too fresh to be kept.
        assert_eq!(found(dir.path(), &kept), ["app/.env"]);
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(found(dir.path(), &kept), ["app/.env"]);
        let text = std::fs::read_to_string(&kept).expect("kept");
        assert!(text.contains(r#""files":[".env"]"#), "{text}");
        // Proof that it is used: a name that only the kept list has.
        std::fs::write(&kept, text.replace(r#"[".env"]"#, r#"[".env.kept"]"#)).expect("written");
        assert_eq!(found(dir.path(), &kept), ["app/.env.kept"]);
        write(dir.path(), "app/.env.new");
        write(dir.path(), "lib/.env");
        let all = ["app/.env", "app/.env.new", "lib/.env"];
        assert_eq!(found(dir.path(), &kept), all);
        std::fs::write(&kept, "no JSON").expect("written");
        assert_eq!(found(dir.path(), &kept), all);
        std::fs::remove_dir_all(dir.path().join("app")).expect("removed");
        assert_eq!(found(dir.path(), &kept), ["lib/.env"]);
    }
}
