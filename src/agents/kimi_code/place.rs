//! Where Kimi Code keeps its sessions: `sessions/wd_<name>_<digest>/<session>/agents/main/wire.jsonl`, listed in
//! `session_index.jsonl`.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::NAME;
use crate::agents::lines;
use crate::agents::places::{self, Candidate, Places, SessionFile};
use crate::agents::value::{owned, text};
use crate::git::fs;
use crate::git::hex::hex;

/// The journal's place in its session's directory.
pub const JOURNAL: &str = "agents/main/wire.jsonl";

fn root(places: &Places) -> Option<PathBuf> {
    places
        .dir("KIMI_CODE_HOME")
        .or_else(|| Some(places.home()?.join(".kimi-code")))
}

/// The directory of the session that a journal belongs to.
pub fn session_directory(journal: &Path) -> Option<&Path> {
    let directory = journal.ancestors().nth(3)?;
    (journal == directory.join(JOURNAL)).then_some(directory)
}

/// The list of sessions beside the `sessions` directory that a session stands in.
pub fn index_of(session: &Path) -> Option<PathBuf> {
    let sessions = session.ancestors().nth(2)?;
    let index = sessions.parent()?.join("session_index.jsonl");
    (sessions.file_name()? == "sessions").then_some(index)
}

/// Directory and working directory of every listed session; a later line wins.
fn listed(index: &Path) -> BTreeMap<String, (PathBuf, String)> {
    let mut found = BTreeMap::new();
    let Ok(mut reader) = lines::open(index, None) else {
        return found;
    };
    while let Ok(Some(line)) = reader.next_line() {
        let Some(entry) = line.object() else { continue };
        if let (Some(id), Some(directory), Some(work)) = (
            owned(&entry, "sessionId"),
            text(&entry, "sessionDir"),
            owned(&entry, "workDir"),
        ) {
            found.insert(id, (PathBuf::from(directory), work));
        }
    }
    found
}

/// The directory that a session works in: as listed, else as its state says.
pub fn work_dir_of(session: &Path) -> Option<String> {
    let id = session.file_name()?.to_str()?;
    let known = index_of(session).and_then(|index| listed(&index).remove(id));
    known.map(|(_, work)| work).or_else(|| {
        let state = crate::git::regular::read(session.join("state.json")).ok()?;
        let state = lines::parse_object(&state)?;
        owned(&state, "workDir").or_else(|| owned(state.get("custom")?, "cwd"))
    })
}

/// Sessions of `cwd` and of directories beneath it, newest first.
pub fn find(cwd: &Path, places: &Places) -> Vec<Candidate> {
    let Some(root) = root(places) else {
        return Vec::new();
    };
    let resolved = fs::resolved(cwd);
    let mut directories: BTreeMap<PathBuf, String> = listed(&root.join("session_index.jsonl"))
        .into_values()
        .filter(|(_, work)| fs::resolved(Path::new(work)).starts_with(&resolved))
        .collect();
    let suffixes = [cwd, &resolved].map(|path| format!("_{}", digest(path)));
    for bucket in places::subdirectories(&root.join("sessions")) {
        let name = bucket
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if suffixes.iter().any(|suffix| name.ends_with(suffix)) {
            for session in places::subdirectories(&bucket) {
                directories
                    .entry(session)
                    .or_insert_with(|| cwd.to_string_lossy().into_owned());
            }
        }
    }
    let mut found: Vec<Candidate> = directories
        .into_iter()
        .filter_map(|(directory, work)| {
            let file = SessionFile::at(directory.join(JOURNAL))?;
            Some(Candidate {
                agent: NAME,
                session_id: directory.file_name()?.to_string_lossy().into_owned(),
                path: file.path,
                modified: file.modified,
                cwd: Some(work),
            })
        })
        .collect();
    places::newest_first(&mut found);
    found
}

/// The session's journal, by its id.
pub fn locate(session: &str, places: &Places) -> Option<PathBuf> {
    if !places::is_plain_id(session) {
        return None;
    }
    places::subdirectories(&root(places)?.join("sessions"))
        .into_iter()
        .map(|bucket| bucket.join(session).join(JOURNAL))
        .find(|path| path.is_file())
}

/// The first twelve hex digits of a directory's SHA-256: the end of its bucket's name.
fn digest(path: &Path) -> String {
    let bytes = Sha256::digest(path.as_os_str().as_bytes());
    hex(bytes.get(..6).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_by_the_list_and_by_the_bucket() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let root = home.path().join(".kimi-code");
        let bucket = root
            .join("sessions")
            .join(format!("wd_work_{}", digest(Path::new("/work"))));
        let other = root.join("sessions/wd_sub_0123456789ab");
        for directory in [
            bucket.join("session_a"),
            other.join("session_b"),
            other.join("session_c"),
        ] {
            let journal = directory.join(JOURNAL);
            std::fs::create_dir_all(journal.parent().expect("a parent")).expect("a directory");
            std::fs::write(journal, "").expect("written");
        }
        let entry = |id: &str, work: &str| {
            let directory = other.join(id).display().to_string();
            serde_json::json!({"sessionId": id, "sessionDir": directory, "workDir": work})
                .to_string()
                + "\n"
        };
        let list = entry("session_b", "/work/sub") + &entry("session_c", "/elsewhere");
        std::fs::write(root.join("session_index.jsonl"), list).expect("written");
        let places = Places::new(Some(home.path().to_owned()));
        let mut ids: Vec<String> = find(Path::new("/work"), &places)
            .into_iter()
            .map(|found| found.session_id)
            .collect();
        ids.sort();
        assert_eq!(ids, ["session_a", "session_b"]);
        assert_eq!(
            work_dir_of(&other.join("session_b")).as_deref(),
            Some("/work/sub")
        );
        let journal = locate("session_c", &places).expect("there");
        assert_eq!(
            session_directory(&journal),
            Some(other.join("session_c").as_path())
        );
    }
}
