//! Directories that snapshots leave out (`node_modules`, `target`, …) and that changed in the past: the proof does not speak for them.

use std::path::Path;

use crate::env::Moment;
use crate::git::path::RepoPath;
use crate::store::stored::Stored;

/// At most so many entries of one directory are looked at.
const MOST: usize = 5_000;

/// The left-out directories at the top two levels with something in them newer than `since`.
pub fn changed_dirs(root: &Path, backup: &Stored, since: Moment) -> Vec<RepoPath> {
    let mut candidates: Vec<Vec<u8>> = Vec::new();
    for entry in &backup.record.uncaptured {
        if let ("default-exclude" | "exclude" | "team-exclude", Ok(path)) =
            (entry.reason.as_str(), entry.raw_path())
        {
            candidates.push(path);
        }
    }
    // What git's rules leave out is not in the record: the usual names are looked for where they usually are.
    for name in [
        "node_modules",
        "target",
        ".venv",
        "venv",
        "dist",
        "build",
        ".next",
        ".cache",
        ".gradle",
        "vendor",
    ] {
        candidates.push(name.as_bytes().to_vec());
    }
    candidates.sort();
    candidates.dedup();
    candidates
        .into_iter()
        .filter(|path| changed(&to_path(root, path), since))
        .map(RepoPath::new)
        .collect()
}

fn to_path(root: &Path, path: &[u8]) -> std::path::PathBuf {
    use std::os::unix::ffi::OsStrExt;
    root.join(std::ffi::OsStr::from_bytes(path))
}

fn changed(dir: &Path, since: Moment) -> bool {
    use std::os::unix::fs::MetadataExt;
    let newer = |path: &Path| {
        path.symlink_metadata()
            // Package managers set the modification time back to that of an archive; nobody sets the change time.
            .is_ok_and(|meta| meta.ctime() >= since.seconds())
    };
    if !dir.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return false;
    }
    if newer(dir) {
        return true;
    }
    let mut pending = vec![dir.to_owned()];
    let mut entries_seen = 0;
    while let Some(at) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(&at) else {
            continue;
        };
        for entry in entries.flatten() {
            entries_seen += 1;
            if entries_seen > MOST {
                return false;
            }
            let path = entry.path();
            if newer(&path) {
                return true;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(path);
            }
        }
    }
    false
}
