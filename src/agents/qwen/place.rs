//! Where Qwen Code keeps its sessions: `~/.qwen/projects/<directory>/chats/<id>.jsonl`, in which the directory's letters and
//! digits stay and all else is `-`. What is recorded decides, as two directories may share a name.

use std::path::{Path, PathBuf};

use super::{HOME, NAME};
use crate::agents::lines;
use crate::agents::places::{self, Candidate, Places, SessionFile, SubAgent};
use crate::agents::value::owned;

fn chats(places: &Places) -> Vec<PathBuf> {
    let directory = places
        .dir("QWEN_RUNTIME_DIR")
        .or_else(|| places.dir(HOME))
        .or_else(|| Some(places.home()?.join(".qwen")));
    let projects = directory.map(|directory| places::subdirectories(&directory.join("projects")));
    let chats = projects.into_iter().flatten();
    chats.map(|project| project.join("chats")).collect()
}

/// Sessions whose recorded directory is `cwd` or lies beneath it, newest first.
pub fn find(cwd: &Path, places: &Places) -> Vec<Candidate> {
    let files: Vec<SessionFile> = chats(places)
        .iter()
        .flat_map(|chats| places::files(chats, ".jsonl"))
        .collect();
    places::matching(NAME, files, cwd, recorded_directory, |file| {
        file.name().strip_suffix(".jsonl").map(str::to_owned)
    })
}

/// The session's file, by its id.
pub fn locate(session: &str, places: &Places) -> Option<PathBuf> {
    if !places::is_plain_id(session) {
        return None;
    }
    let name = format!("{session}.jsonl");
    let mut files = chats(places).into_iter().map(|chats| chats.join(&name));
    files.find(|path| path.is_file())
}

/// The sub-agent that a file is of, by its place: `subagents/<session>/agent-<id>.jsonl`.
pub fn sub_agent(file: &Path) -> Option<SubAgent> {
    let id = places::id_of_sub_agent(file)?;
    let session = file.parent()?;
    let is_place = session.parent()?.ends_with("subagents");
    Some(SubAgent {
        id: Some(id),
        parent: places::name_of(session).filter(|_| is_place),
    })
}

fn recorded_directory(path: &Path) -> Option<String> {
    let mut reader = lines::open(path, None).ok()?;
    owned(&reader.next_line().ok()??.object()?, "cwd")
}
