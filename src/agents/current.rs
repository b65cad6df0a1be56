//! The session at work in a directory, where nothing says which one that is.

use std::path::Path;

use super::AGENTS;
use super::places::{Candidate, Places};

/// The newest session file whose recorded directory is `cwd` or lies beneath it: a guess when sessions run side by side. It
/// looks into many files.
pub fn newest(cwd: &Path, places: &Places) -> Option<Candidate> {
    let newest = AGENTS
        .iter()
        .filter_map(|agent| agent.find(cwd, places).into_iter().next());
    newest.max_by_key(|candidate| candidate.modified)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_the_directory_whatever_the_environment_names() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let project = home.path().join(".claude/projects/-work");
        std::fs::create_dir_all(&project).expect("a directory");
        for id in ["a", "c", "b"] {
            let path = project.join(format!("{id}.jsonl"));
            std::fs::write(&path, "{\"type\":\"user\",\"cwd\":\"/work\"}\n").expect("written");
            let age = std::time::Duration::from_secs(u64::from(id.as_bytes()[0]) * 1000);
            let file = std::fs::File::options()
                .append(true)
                .open(&path)
                .expect("opened");
            file.set_modified(std::time::SystemTime::UNIX_EPOCH + age)
                .expect("aged");
        }
        let bare = Places::new(Some(home.path().to_owned()));
        let found = newest(Path::new("/work"), &bare).expect("found");
        assert_eq!((found.agent, found.session_id.as_str()), ("claude", "c"));
        assert_eq!(newest(Path::new("/elsewhere"), &bare), None);
    }
}
