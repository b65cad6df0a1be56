//! Where Claude Code keeps its session files.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::NAME;
use crate::agents::lines::{self, parse_object};
use crate::agents::places::{self, Candidate, Places, SubAgent};
use crate::agents::value::{flag, owned};
use crate::git::fs;

/// How many of the newest files of the directory, and of those beneath it, are looked into.
const NEAR: usize = 300;
/// How many files of other projects are looked into for a session that changed its directory.
const FAR: usize = 60;

/// A directory's name under `projects/`: every byte but ASCII letters and digits becomes `-`. Not injective, so the
/// recorded directory decides.
pub fn slug(cwd: &[u8]) -> String {
    String::from_utf8_lossy(cwd)
        // Claude Code replaces by JavaScript's units: a character beyond the basic plane becomes two dashes.
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
            _ => '-',
        })
        .collect()
}

fn projects(places: &Places) -> Option<PathBuf> {
    let root = places
        .dir("CLAUDE_CONFIG_DIR")
        .or_else(|| Some(places.home()?.join(".claude")))?;
    Some(root.join("projects"))
}

/// Session files whose last recorded directory is `cwd` or lies beneath it, newest first.
pub fn find(cwd: &Path, places: &Places) -> Vec<Candidate> {
    let Some(projects) = projects(places) else {
        return Vec::new();
    };
    let own = slug(fs::resolved(cwd).as_os_str().as_bytes());
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for directory in places::subdirectories(&projects) {
        let name = directory
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        // Not the one directory alone: sessions of directories beneath have names that begin so, and so do a few others.
        let list = if name.starts_with(&own) {
            &mut near
        } else {
            &mut far
        };
        list.extend(places::files(&directory, ".jsonl"));
    }
    places::newest_first(&mut far);
    far.truncate(FAR);
    places::newest_first(&mut near);
    near.truncate(NEAR);
    near.extend(far);
    // Sub-agents' own files: none of them is a session that goes on.
    near.retain(|file| !file.name().starts_with("agent-"));
    places::matching(NAME, near, cwd, last_cwd, |file| {
        file.name().strip_suffix(".jsonl").map(str::to_owned)
    })
}

/// The session's file, by its id.
pub fn locate(session: &str, places: &Places) -> Option<PathBuf> {
    if !places::is_plain_id(session) {
        return None;
    }
    let name = format!("{session}.jsonl");
    places::subdirectories(&projects(places)?)
        .into_iter()
        .map(|directory| directory.join(&name))
        .find(|path| path.is_file())
}

/// The sub-agent that a file is of. Its name tells: `<session>/subagents/agent-<id>.jsonl`; older ones stand beside their sessions.
pub fn sub_agent(file: &Path) -> Option<SubAgent> {
    let id = places::id_of_sub_agent(file)?;
    let above = file.parent()?;
    let parent = if above.ends_with("subagents") {
        places::name_of(above.parent()?)
    } else {
        let first = lines::first_record(file, Some(lines::HEAD));
        first.and_then(|record| owned(&record, "sessionId"))
    };
    Some(SubAgent {
        id: Some(id),
        parent,
    })
}

/// The directory recorded last, from the end of the file.
fn last_cwd(path: &Path) -> Option<String> {
    places::tail(path)?
        .split(|&byte| byte == b'\n')
        .rev()
        .filter_map(parse_object)
        .filter(|record| !flag(record, "isSidechain"))
        .find_map(|record| owned(&record, "cwd"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_replace_all_but_letters_and_digits() {
        assert_eq!(slug(b"/home/me/a_b.c"), "-home-me-a-b-c");
        assert_eq!(slug("/é😀".as_bytes()), "----");
    }

    #[test]
    fn the_recorded_directory_decides_not_the_slug() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let work = home.path().join("a_b");
        let twin = home.path().join("a-b");
        for dir in [&work, &twin] {
            std::fs::create_dir(dir).expect("a directory");
        }
        let project = home
            .path()
            .join(".claude/projects")
            .join(slug(fs::resolved(&work).as_os_str().as_bytes()));
        std::fs::create_dir_all(&project).expect("a directory");
        let record = |dir: &Path| format!("{{\"type\":\"user\",\"cwd\":\"{}\"}}\n", dir.display());
        std::fs::write(project.join("one.jsonl"), record(&work)).expect("written");
        std::fs::write(project.join("two.jsonl"), record(&twin)).expect("written");
        std::fs::write(project.join("agent-x.jsonl"), record(&work)).expect("written");
        let places = Places::new(Some(home.path().to_owned()));
        let found = find(&work, &places);
        let ids: Vec<&str> = found
            .iter()
            .map(|found| found.session_id.as_str())
            .collect();
        assert_eq!(ids, ["one"]);
        assert!(locate("two", &places).is_some());
        assert!(locate("../two", &places).is_none());
    }
}
