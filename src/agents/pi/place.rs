//! Where pi keeps its sessions: `~/.pi/agent/sessions/--<cwd, / as ->--/<time>_<id>.jsonl`.

use std::path::{Path, PathBuf};

use super::NAME;
use crate::agents::lines;
use crate::agents::places::{self, Candidate, Places, SessionFile};
use crate::agents::value::owned;
use crate::env::Moment;

fn files(places: &Places) -> Vec<SessionFile> {
    let agent = places
        .dir("PI_CODING_AGENT_DIR")
        .or_else(|| Some(places.home()?.join(".pi/agent")));
    let Some(agent) = agent else {
        return Vec::new();
    };
    places::subdirectories(&agent.join("sessions"))
        .iter()
        .flat_map(|directory| places::files(directory, ".jsonl"))
        .collect()
}

/// Sessions whose recorded directory is `cwd` or lies beneath it, newest first.
pub fn find(cwd: &Path, places: &Places) -> Vec<Candidate> {
    places::matching(
        NAME,
        files(places),
        cwd,
        |path| head(path, "cwd"),
        |file| head(&file.path, "id"),
    )
}

/// The session's file, by its id.
pub fn locate(session: &str, places: &Places) -> Option<PathBuf> {
    let suffix = format!("_{session}.jsonl");
    let mut found = files(places);
    found.retain(|file| file.name().ends_with(&suffix));
    places::newest_first(&mut found);
    found.into_iter().next().map(|file| file.path)
}

fn head(path: &Path, key: &str) -> Option<String> {
    let mut reader = lines::open(path, None).ok()?;
    owned(&reader.next_line().ok()??.object()?, key)
}

/// Where a new session goes: beside `source`.
pub fn new_path(source: &Path, id: &str, now: Moment) -> PathBuf {
    let time = now.utc().format("%Y-%m-%dT%H-%M-%S-000Z");
    source.with_file_name(format!("{time}_{id}.jsonl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_by_their_head() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let directory = home.path().join(".pi/agent/sessions/--work--");
        std::fs::create_dir_all(&directory).expect("a directory");
        for (id, cwd) in [("a", "/work"), ("b", "/work/x"), ("c", "/workshop")] {
            let head = format!("{{\"type\":\"session\",\"id\":\"{id}\",\"cwd\":\"{cwd}\"}}\n");
            std::fs::write(directory.join(format!("t_{id}.jsonl")), head).expect("written");
        }
        let places = Places::new(Some(home.path().to_owned()));
        let mut ids: Vec<String> = find(Path::new("/work"), &places)
            .into_iter()
            .map(|found| found.session_id)
            .collect();
        ids.sort();
        assert_eq!(ids, ["a", "b"]);
        assert_eq!(locate("c", &places), Some(directory.join("t_c.jsonl")));
    }
}
