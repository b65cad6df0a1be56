//! Where kimi-cli keeps its sessions: `sessions/<md5 of the working directory>/<session>/context.jsonl`, before 0.59
//! `sessions/<md5>/<session>.jsonl`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use md5::{Digest as _, Md5};
use serde_json::Value;

use super::NAME;
use crate::agents::places::{self, Candidate, Places, SessionFile};
use crate::agents::value::{items, text};
use crate::git::fs;
use crate::git::hex::hex;
use crate::text::foreign_json;

/// The name of the file that holds the model's context.
pub const CONTEXT: &str = "context.jsonl";
/// The name of the file that holds what people saw.
pub const WIRE: &str = "wire.jsonl";

/// kimi-cli names a working directory's sessions after the MD5 of its path.
fn bucket_of(path: &str) -> String {
    hex(&Md5::digest(path))
}

fn root(places: &Places) -> Option<PathBuf> {
    places
        .dir("KIMI_SHARE_DIR")
        .or_else(|| Some(places.home()?.join(".kimi")))
}

/// A directory that kimi-cli has worked in, and the bucket of its sessions.
struct WorkDir {
    path: String,
    bucket: String,
}

fn work_dirs(root: &Path) -> Vec<WorkDir> {
    let bytes = crate::git::regular::read(root.join("kimi.json")).unwrap_or_default();
    let known: Value = foreign_json::from_slice(&bytes).unwrap_or_default();
    items(known.get("work_dirs"))
        .iter()
        .filter_map(|entry| {
            let path = text(entry, "path")?;
            let digest = bucket_of(path);
            let bucket = match text(entry, "kaos") {
                None | Some("local") => digest,
                Some(kaos) => format!("{kaos}_{digest}"),
            };
            Some(WorkDir {
                path: path.to_owned(),
                bucket,
            })
        })
        .collect()
}

/// The directory that the sessions beside `file` belong to, when kimi-cli knows it.
pub fn work_dir_of(file: &Path) -> Option<String> {
    let sessions = file.ancestors().find(|path| path.ends_with("sessions"))?;
    let bucket = file.strip_prefix(sessions).ok()?.components().next()?;
    work_dirs(sessions.parent()?)
        .into_iter()
        .find(|known| bucket.as_os_str() == known.bucket.as_str())
        .map(|known| known.path)
}

/// Sessions of `cwd` and of directories beneath it, newest first.
pub fn find(cwd: &Path, places: &Places) -> Vec<Candidate> {
    let Some(root) = root(places) else {
        return Vec::new();
    };
    let resolved = fs::resolved(cwd);
    let mut buckets: BTreeSet<(String, String)> = [cwd, &resolved]
        .iter()
        .filter_map(|path| path.to_str())
        .map(|path| (bucket_of(path), path.to_owned()))
        .collect();
    for known in work_dirs(&root) {
        if fs::resolved(Path::new(&known.path)).starts_with(&resolved) {
            buckets.insert((known.bucket, known.path));
        }
    }
    let mut found = Vec::new();
    for (bucket, path) in buckets {
        let directory = root.join("sessions").join(bucket);
        found.extend(sessions(&directory).into_iter().map(|file| Candidate {
            agent: NAME,
            session_id: session_of(&file.path),
            modified: file.modified,
            cwd: Some(path.clone()),
            path: file.path,
        }));
    }
    places::newest_first(&mut found);
    found
}

/// The sessions of one bucket, each with the time of its last write.
fn sessions(bucket: &Path) -> Vec<SessionFile> {
    let mut found = places::files(bucket, ".jsonl");
    // Sub-agents of the old form stand beside their session: `<session>_read_1.jsonl`.
    found.retain(|file| session_of(&file.path).len() == 36);
    for directory in places::subdirectories(bucket) {
        if let Some(mut file) = SessionFile::at(directory.join(CONTEXT)) {
            if let Some(wire) = SessionFile::at(directory.join(WIRE)) {
                file.modified = file.modified.max(wire.modified);
            }
            found.push(file);
        }
    }
    found
}

/// The session that a file belongs to: its directory's name, in the old form its own.
pub fn session_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    let named = if name == CONTEXT || name == WIRE {
        path.parent().and_then(Path::file_name)
    } else {
        path.file_stem()
    };
    named.unwrap_or_default().to_string_lossy().into_owned()
}

/// The session's context file, by its id.
pub fn locate(session: &str, places: &Places) -> Option<PathBuf> {
    if !places::is_plain_id(session) {
        return None;
    }
    places::subdirectories(&root(places)?.join("sessions"))
        .into_iter()
        .flat_map(|bucket| {
            [
                bucket.join(session).join(CONTEXT),
                bucket.join(format!("{session}.jsonl")),
            ]
        })
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_stand_under_the_md5_of_the_directory() {
        assert_eq!(
            bucket_of("message digest"),
            "f96b697d7cb7938d525a2f31aaf161d0"
        );
    }

    #[test]
    fn sessions_are_found_by_the_digest_of_the_directory() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let root = home.path().join(".kimi");
        let here = root.join("sessions").join(bucket_of("/work"));
        let beneath = root
            .join("sessions")
            .join(format!("ssh_{}", bucket_of("/work/sub")));
        let other = root.join("sessions").join(bucket_of("/elsewhere"));
        for directory in [here.join("a"), beneath.join("b"), other.join("c")] {
            std::fs::create_dir_all(&directory).expect("a directory");
            std::fs::write(directory.join(CONTEXT), "").expect("written");
        }
        let old = "531d195b-6436-426e-b010-4bf723a992de";
        for name in [format!("{old}.jsonl"), format!("{old}_read_1.jsonl")] {
            std::fs::write(here.join(name), "").expect("written");
        }
        let known = r#"{"work_dirs":[{"path":"/work/sub","kaos":"ssh"},{"path":"/elsewhere","kaos":"local"}]}"#;
        std::fs::write(root.join("kimi.json"), known).expect("written");
        let places = Places::new(Some(home.path().to_owned()));
        let mut ids: Vec<String> = find(Path::new("/work"), &places)
            .into_iter()
            .map(|found| found.session_id)
            .collect();
        ids.sort();
        assert_eq!(ids, [old, "a", "b"]);
        assert_eq!(
            work_dir_of(&beneath.join("b").join(CONTEXT)).as_deref(),
            Some("/work/sub")
        );
        assert_eq!(locate("a", &places), Some(here.join("a").join(CONTEXT)));
        assert!(locate(old, &places).is_some());
    }
}
