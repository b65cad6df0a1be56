//! Where gemini-cli keeps its chats: `~/.gemini/tmp/<project>/chats/`, where the project is a short name with a
//! `.project_root` file, or the SHA-256 of the directory.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::NAME;
use super::read::{is_document, read, scan};
use crate::agents::lines;
use crate::agents::places::{self, Candidate, Places, SessionFile, SubAgent};
use crate::agents::transcript::Detail;
use crate::agents::value::owned;
use crate::env::Moment;
use crate::git::fs;
use crate::git::hex::hex;

/// So much of a chat is read to see whether it is one.
const BEGINNING: u64 = 1 << 20;

fn projects(places: &Places) -> Vec<PathBuf> {
    let home = places
        .dir(super::HOME)
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

fn chats(project: &Path) -> Vec<SessionFile> {
    let directory = project.join("chats");
    let mut found = places::files(&directory, ".jsonl");
    found.extend(places::files(&directory, ".json"));
    found.retain(|file| file.name().starts_with("session-"));
    without_shells(found)
}

/// Without files that only begin a session that another file has the conversation of: resuming one in a later minute than it
/// was begun in leaves such a file, under the newer name.
fn without_shells(found: Vec<SessionFile>) -> Vec<SessionFile> {
    let mut by_id: HashMap<String, Vec<SessionFile>> = HashMap::new();
    for file in found {
        by_id.entry(short_id(&file.path)).or_default().push(file);
    }
    let has_prompts = |file: &SessionFile| has_prompts(&file.path);
    let mut kept = Vec::new();
    for mut files in by_id.into_values() {
        if files.len() > 1 && files.iter().any(has_prompts) {
            files.retain(has_prompts);
        }
        kept.append(&mut files);
    }
    kept
}

/// The beginning of a session's id, at the end of its chats' names.
fn short_id(chat: &Path) -> String {
    let stem = chat.file_stem().unwrap_or_default().to_string_lossy();
    stem.rsplit('-').next().unwrap_or_default().to_owned()
}

/// Whether somebody said something near the beginning of a chat.
fn has_prompts(chat: &Path) -> bool {
    if is_document(chat) {
        return read(chat, Detail::Outline).is_ok_and(|chat| !chat.prompts.is_empty());
    }
    scan(chat, Detail::Outline, Some(BEGINNING)).is_ok_and(|scan| scan.has_prompts())
}

/// The chat that has the conversation of the session that the named one only begins.
pub fn main_file(named: &Path) -> Option<PathBuf> {
    let directory = named.parent().filter(|parent| parent.ends_with("chats"))?;
    let mut found = chats(directory.parent()?);
    found.retain(|file| short_id(&file.path) == short_id(named));
    if found.iter().any(|file| file.path == named) {
        return None;
    }
    places::newest_first(&mut found);
    found.into_iter().next().map(|file| file.path)
}

/// Chats of `cwd` and of directories beneath it, newest first.
pub fn find(cwd: &Path, places: &Places) -> Vec<Candidate> {
    let resolved = fs::resolved(cwd);
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
    // The name has the beginning of the id only: several chats may share it.
    let short = session.get(..8)?;
    let mut found: Vec<SessionFile> = projects(places)
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

/// The sub-agent that a chat is of, by its place: `chats/<session>/<id>.jsonl`.
pub fn sub_agent(chat: &Path) -> Option<SubAgent> {
    let session = chat.parent()?;
    session.parent().filter(|above| above.ends_with("chats"))?;
    Some(SubAgent {
        id: chat.file_stem()?.to_str().map(str::to_owned),
        parent: places::name_of(session),
    })
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

    /// A session that is resumed in a later minute than it was begun in has a second file, that only begins it.
    #[test]
    fn of_two_files_of_a_session_the_one_with_its_conversation_counts() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let project = home.path().join(".gemini/tmp/work");
        let chats = project.join("chats");
        std::fs::create_dir_all(&chats).expect("a directory");
        std::fs::write(project.join(".project_root"), "/work").expect("written");
        let id = "0123abcd-1111-4222-8333-444444444444";
        let head = format!("{{\"sessionId\":\"{id}\",\"projectHash\":\"x\"}}\n");
        let prompt = "{\"id\":\"u\",\"type\":\"user\",\"content\":[{\"text\":\"one\"}]}\n";
        let said = chats.join("session-2026-01-01T00-00-0123abcd.jsonl");
        let shell = chats.join("session-2026-01-01T00-01-0123abcd.jsonl");
        std::fs::write(&shell, &head).expect("written");
        let places = Places::new(Some(home.path().to_owned()));
        assert_eq!(locate(id, &places), Some(shell.clone()));
        std::fs::write(&said, head.clone() + prompt).expect("written");
        let old = std::time::SystemTime::UNIX_EPOCH;
        let file = std::fs::File::open(&said).expect("opened");
        file.set_modified(old).expect("set");
        assert_eq!(locate(id, &places), Some(said.clone()));
        let found = find(Path::new("/work"), &places);
        let paths: Vec<&PathBuf> = found.iter().map(|chat| &chat.path).collect();
        assert_eq!(paths, [&said]);
        assert_eq!(main_file(&shell), Some(said.clone()));
        assert_eq!(main_file(&said), None);
    }
}
