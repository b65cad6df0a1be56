//! Where gemini-cli keeps its chats: `~/.gemini/tmp/<project>/chats/`, where the project is a short name with a
//! `.project_root` file, or the SHA-256 of the directory.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::NAME;
use super::read::is_document;
use crate::agents::lines;
use crate::agents::places::{self, Candidate, Found, Places};
use crate::agents::value::owned;
use crate::env::Moment;
use crate::git::hex::hex;

fn projects(places: &Places) -> Vec<PathBuf> {
    let home = places
        .dir("GEMINI_CLI_HOME")
        .or_else(|| places.home().map(Path::to_owned));
    home.map(|home| places::subdirectories(&home.join(".gemini/tmp")))
        .unwrap_or_default()
}

/// The directory that a chat belongs to, where its project says so.
pub fn project_root(chat: &Path) -> Option<String> {
    let project = chat.parent()?.parent()?;
    let text = crate::git::regular::read_to_string(project.join(".project_root")).ok()?;
    let root = text.trim();
    (!root.is_empty()).then(|| root.to_owned())
}

fn chats(project: &Path) -> Vec<Found> {
    let directory = project.join("chats");
    let mut found = places::files(&directory, ".jsonl");
    found.extend(places::files(&directory, ".json"));
    found.retain(|file| file.name().starts_with("session-"));
    found
}

/// Chats of `cwd` and of directories beneath it, newest first.
pub fn find(cwd: &Path, places: &Places) -> Vec<Candidate> {
    let resolved = places::resolved(cwd);
    let hashes = [cwd, &resolved].map(|path| hex(&Sha256::digest(path.as_os_str().as_bytes())));
    let mut found = Vec::new();
    for project in projects(places) {
        let name = project
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let named = hashes
            .contains(&name)
            .then(|| cwd.to_string_lossy().into_owned());
        let recorded = |chat: &Path| project_root(chat).or_else(|| named.clone());
        found.extend(places::matching(
            NAME,
            chats(&project),
            cwd,
            recorded,
            |file| session_of(&file.path),
        ));
    }
    places::newest_first(&mut found);
    found
}

/// The chat with this session id. A newer log wins over the document that it was made from.
pub fn locate(session: &str, places: &Places) -> Option<PathBuf> {
    let short = session.get(..8)?;
    let mut found: Vec<Found> = projects(places)
        .iter()
        .flat_map(|project| chats(project))
        .collect();
    found.retain(|file| file.name().contains(short));
    places::newest_first(&mut found);
    found
        .into_iter()
        .find(|file| session_of(&file.path).as_deref() == Some(session))
        .map(|file| file.path)
}

fn session_of(path: &Path) -> Option<String> {
    if is_document(path) {
        let text = crate::git::regular::read(path).ok()?;
        return owned(&lines::parse_object(&text)?, "sessionId");
    }
    let mut reader = lines::open(path, None).ok()?;
    owned(&reader.next_line().ok()??.object()?, "sessionId")
}

/// Where a new chat goes: beside `source`, in the same format.
pub fn new_path(source: &Path, id: &str, now: Moment) -> PathBuf {
    let time = now.utc().format("%Y-%m-%dT%H-%M");
    let short = id.get(..8).unwrap_or(id);
    let extension = source.extension().unwrap_or_default().to_string_lossy();
    source.with_file_name(format!("session-{time}-{short}.{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chats_are_found_by_name_and_by_digest() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let tmp = home.path().join(".gemini/tmp");
        let digest = hex(&Sha256::digest(b"/work"));
        for (project, root) in [
            (digest.as_str(), None),
            ("work-sub", Some("/work/sub")),
            ("other", Some("/else")),
        ] {
            let chats = tmp.join(project).join("chats");
            std::fs::create_dir_all(&chats).expect("a directory");
            let id = format!("{}-chat", &project[..4]);
            let head = format!("{{\"sessionId\":\"{id}-{project}\",\"projectHash\":\"x\"}}\n");
            std::fs::write(
                chats.join(format!("session-2026-01-01T00-00-{}.jsonl", &id[..8])),
                head,
            )
            .expect("written");
            if let Some(root) = root {
                std::fs::write(tmp.join(project).join(".project_root"), root).expect("written");
            }
        }
        let places = Places::new(Some(home.path().to_owned()));
        let found = find(Path::new("/work"), &places);
        assert_eq!(found.len(), 2);
        let id = "work-chat-work-sub";
        assert!(
            found
                .iter()
                .any(|chat| chat.session_id == id && chat.cwd.as_deref() == Some("/work/sub"))
        );
        assert!(locate(id, &places).is_some());
        assert!(locate("work-chat-none", &places).is_none());
    }
}
