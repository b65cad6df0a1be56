//! Which session is meant: from the hook's payload, else the environment, else the newest file of this directory.

use std::path::Path;

use super::hook::HookEvent;
use super::places::{Candidate, Places, SessionFile};
use super::{AGENTS, Agent, by_name};

/// How a session was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// The hook's payload named it.
    Hook,
    /// An environment variable of the agent's named it.
    Environment,
    /// It is the newest file whose recorded directory matches: a guess when sessions run side by side.
    Newest,
}

impl Via {
    /// The word for output and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Environment => "environment",
            Self::Newest => "newest",
        }
    }
}

/// The session file of the session at work in `cwd`, and how it was found. `only` names the one agent to look at.
pub fn current(
    event: Option<&HookEvent>,
    only: Option<&str>,
    cwd: &Path,
    places: &Places,
) -> Option<(Candidate, Via)> {
    if let Some(found) = event.and_then(|event| by_event(event, cwd, places)) {
        return Some((found, Via::Hook));
    }
    let agents = || {
        let fits = move |agent: &&dyn Agent| only.is_none_or(|only| agent.name() == only);
        AGENTS.iter().copied().filter(fits)
    };
    let named = agents().find_map(|agent| {
        let mut ids = agent
            .session_variables()
            .iter()
            .filter_map(|name| places.text(name));
        ids.find_map(|id| by_id(agent, id, cwd, places))
    });
    if let Some(found) = named {
        return Some((found, Via::Environment));
    }
    // Last: it looks into many files, and is no more than a guess.
    let newest = agents().filter_map(|agent| agent.find(cwd, places).into_iter().next());
    newest
        .max_by_key(|candidate| candidate.modified)
        .map(|found| (found, Via::Newest))
}

fn by_event(event: &HookEvent, cwd: &Path, places: &Places) -> Option<Candidate> {
    let id = event.session_id.as_deref();
    let named = event.transcript_path.clone().and_then(SessionFile::at);
    if let Some(file) = named {
        return Some(Candidate {
            agent: event.agent,
            session_id: id.unwrap_or_default().to_owned(),
            modified: file.modified,
            path: file.path,
            cwd: event
                .cwd
                .as_ref()
                .map(|cwd| cwd.to_string_lossy().into_owned()),
        });
    }
    by_id(by_name(event.agent)?, id?, cwd, places)
}

fn by_id(agent: &dyn Agent, id: &str, cwd: &Path, places: &Places) -> Option<Candidate> {
    let file = SessionFile::at(agent.locate(id, Some(cwd), places)?)?;
    Some(Candidate {
        agent: agent.name(),
        session_id: id.to_owned(),
        modified: file.modified,
        path: file.path,
        cwd: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::hook::parse;

    #[test]
    fn payload_before_environment_before_newest() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let project = home.path().join(".claude/projects/-work");
        std::fs::create_dir_all(&project).expect("a directory");
        for id in ["a", "b", "c"] {
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
        let work = Path::new("/work");
        let bare = Places::new(Some(home.path().to_owned()));
        let named = bare.clone().with_var("CLAUDE_CODE_SESSION_ID", "b");
        let event = parse("claude", Some("stop"), br#"{"session_id":"a"}"#).expect("good");
        let found = |event, places| {
            let (candidate, via) = current(event, None, work, places).expect("found");
            (candidate.session_id, via)
        };
        assert_eq!(found(Some(&event), &named), ("a".to_owned(), Via::Hook));
        assert_eq!(found(None, &named), ("b".to_owned(), Via::Environment));
        assert_eq!(found(None, &bare), ("c".to_owned(), Via::Newest));
        assert_eq!(current(None, Some("pi"), work, &bare), None);
        assert_eq!(current(None, None, Path::new("/elsewhere"), &bare), None);
    }
}
