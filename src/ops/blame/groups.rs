//! Lines by whose they are.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::origin::{Kind, Line, Origin};

/// What lines are put together by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A turn, a commit.
    Prompt,
    /// The sessions of agents.
    Session,
    /// Agents.
    Agent,
}

/// Lines that have something in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Group {
    /// What they come from.
    pub kind: Kind,
    /// The session, where it is one's.
    pub session_id: Option<String>,
    /// The agent, where it is one's.
    pub agent: Option<String>,
    /// The checkpoint, by prompt.
    pub checkpoint_id: Option<u64>,
    /// What was asked, redacted, by prompt.
    pub prompt: Option<String>,
    /// The commit that they come from, by prompt, where it is no turn's.
    pub commit: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// When, by prompt; else when the last of it was written. RFC 3339, UTC.
    pub at: Option<String>,
    /// How many lines there are.
    pub lines: usize,
    /// Each run of them.
    pub ranges: Vec<Run>,
}

/// Lines in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Run {
    /// The first one.
    pub first: usize,
    /// The last one.
    pub last: usize,
}

/// Puts lines together, those with most lines first.
pub fn groups(lines: &[Line], by: By) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<Key<'_>, usize> = HashMap::new();
    for line in lines {
        let at = *known.entry(key(&line.origin, by)).or_insert_with(|| {
            groups.push(first(&line.origin, by));
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(at) else {
            continue;
        };
        group.lines += 1;
        group.at = group.at.take().max(line.origin.at.clone());
        match group.ranges.last_mut() {
            Some(run) if run.last + 1 == line.line => run.last = line.line,
            _ => group.ranges.push(Run {
                first: line.line,
                last: line.line,
            }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.lines));
    groups
}

type Key<'a> = (Kind, Option<&'a str>, Option<&'a str>, Option<u64>);

fn key(origin: &Origin, by: By) -> Key<'_> {
    let (session, agent) = (origin.session_id.as_deref(), origin.agent.as_deref());
    let is_commit = matches!(origin.kind, Kind::Commit | Kind::CommitStep);
    let commit = origin.commit.as_deref().filter(|_| is_commit);
    // A note may name an agent without its session.
    let imported = agent.filter(|_| origin.kind == Kind::Imported);
    match by {
        By::Prompt => (
            origin.kind,
            session.or(commit),
            imported,
            origin.checkpoint_id,
        ),
        By::Session => (origin.kind, session, imported, None),
        By::Agent => (origin.kind, None, agent, None),
    }
}

fn first(origin: &Origin, by: By) -> Group {
    let is_commit = matches!(origin.kind, Kind::Commit | Kind::CommitStep);
    let of_prompt = |text: &Option<String>| text.clone().filter(|_| by == By::Prompt);
    Group {
        kind: origin.kind,
        session_id: origin.session_id.clone().filter(|_| by != By::Agent),
        agent: origin.agent.clone(),
        checkpoint_id: origin.checkpoint_id.filter(|_| by == By::Prompt),
        prompt: of_prompt(&origin.prompt),
        commit: of_prompt(&origin.commit).filter(|_| is_commit),
        title: of_prompt(&origin.title),
        author: of_prompt(&origin.author),
        at: None,
        lines: 0,
        ranges: Vec::new(),
    }
}
