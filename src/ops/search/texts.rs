//! Hits in prompts, in the notes of rewinds and in issues: as they are stored, redacted.

use super::Shape;
use super::hit::{Hit, Place};
use super::pattern::Pattern;
use crate::env::Moment;
use crate::error::Result;
use crate::ops::issues;
use crate::ops::versions::Talks;
use crate::store::Store;
use crate::store::checkpoint::{Checkpoint, SessionNotes};
use crate::store::issue::Issue;

/// Which texts count.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Not before.
    pub since: Option<Moment>,
    /// Not after.
    pub until: Option<Moment>,
    /// Of this session.
    pub session: Option<String>,
    /// Of this agent.
    pub agent: Option<String>,
}

impl Limits {
    /// Whether something of that time, session and agent is within them.
    pub fn take_in(&self, at: &str, session: Option<&str>, agent: Option<&str>) -> bool {
        let same = |wanted: &Option<String>, has| wanted.is_none() || wanted.as_deref() == has;
        self.in_time(at) && same(&self.session, session) && same(&self.agent, agent)
    }

    fn in_time(&self, at: &str) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        // Times are kept in seconds.
        let at = Moment::parse_rfc3339(at).map(Moment::seconds);
        at.is_some_and(|at| {
            self.since.is_none_or(|since| at >= since.seconds())
                && self.until.is_none_or(|until| at <= until.seconds())
        })
    }
}

/// A text to look through.
struct Source<'a> {
    place: Place,
    field: Option<&'a str>,
    snapshot: &'a str,
    session: Option<&'a str>,
    checkpoint: Option<u64>,
    issue: Option<&'a Issue>,
    at: &'a str,
}

impl Source<'_> {
    fn look(&self, pattern: &Pattern, text: &str, hits: &mut Vec<Hit>) {
        for (line, number) in text.lines().zip(1..) {
            if !pattern.is_in(line.as_bytes()) {
                continue;
            }
            hits.push(Hit {
                place: self.place,
                path: None,
                line: Some(number),
                text: Some(line.as_bytes().to_vec()),
                change: None,
                first_snapshot: self.snapshot.to_owned(),
                last_snapshot: self.snapshot.to_owned(),
                checkpoint: self.checkpoint,
                session_id: self.session.map(str::to_owned),
                prompt: None,
                or_between: false,
                removed: None,
                staged: false,
                binary: false,
                too_many: false,
                count: None,
                issue_id: self.issue.map(|issue| issue.id.to_string()),
                claimed_by: self.issue.and_then(|issue| issue.claimed_by.clone()),
                field: self.field.map(str::to_owned),
                before: Vec::new(),
                after: Vec::new(),
                at: self.at.to_owned(),
            });
        }
    }
}

/// The hits in the shape that was asked for: those of a prompt, and those of an issue, are one.
pub fn shaped(hits: Vec<Hit>, shape: Shape) -> Vec<Hit> {
    if matches!(shape, Shape::Lines { .. }) {
        return hits;
    }
    let mut whole: Vec<Hit> = Vec::new();
    for hit in hits {
        let name = |hit: &Hit| (hit.session_id.clone(), hit.checkpoint, hit.issue_id.clone());
        // Those of one follow each other.
        match whole.last_mut().filter(|last| name(last) == name(&hit)) {
            Some(last) => last.count = last.count.map(|count| count + 1),
            None => whole.push(Hit {
                line: None,
                text: None,
                field: None,
                count: (shape == Shape::Counts).then_some(1),
                ..hit
            }),
        }
    }
    whole
}

/// Looks through what was asked, and through what was noted at rewinds.
pub fn prompts(talks: &Talks, limits: &Limits, pattern: &Pattern) -> Vec<Hit> {
    let mut hits = Vec::new();
    for notes in &talks.sessions {
        for one in &notes.checkpoints {
            let session = Some(one.session_id.as_str());
            if limits.take_in(&one.created_at, session, one.agent.as_deref()) {
                let text = one.prompt.as_deref().unwrap_or_default();
                of_checkpoint(one, None, &one.created_at).look(pattern, text, &mut hits);
            }
        }
        rewinds(notes, limits, pattern, &mut hits);
    }
    hits
}

fn of_checkpoint<'a>(one: &'a Checkpoint, field: Option<&'a str>, at: &'a str) -> Source<'a> {
    Source {
        place: Place::Prompt,
        field,
        snapshot: &one.snapshot_id,
        session: Some(&one.session_id),
        checkpoint: Some(one.checkpoint_id),
        issue: None,
        at,
    }
}

fn rewinds(notes: &SessionNotes, limits: &Limits, pattern: &Pattern, hits: &mut Vec<Hit>) {
    for rewind in &notes.rewinds {
        let Some(to) = notes.checkpoint(rewind.checkpoint_id) else {
            continue;
        };
        let session = Some(rewind.session_id.as_str());
        if !limits.take_in(&rewind.rewound_at, session, to.agent.as_deref()) {
            continue;
        }
        for (field, text) in [("note", &rewind.note), ("rationale", &rewind.rationale)] {
            let text = text.as_deref().unwrap_or_default();
            of_checkpoint(to, Some(field), &rewind.rewound_at).look(pattern, text, hits);
        }
    }
}

/// Looks through issues: their texts, experiments and conversations. With them, sentences about what cannot be read.
///
/// # Errors
/// The refs cannot be listed.
pub fn issues(
    store: &Store,
    limits: &Limits,
    pattern: &Pattern,
) -> Result<(Vec<Hit>, Vec<String>)> {
    let all = issues::all(store)?;
    let mut hits = Vec::new();
    let invalid = all.invalid.iter();
    let mut unreadable: Vec<String> = invalid
        .map(|(id, error)| format!("issue {id}: {}", error.message()))
        .collect();
    for issue in &all.issues {
        let (session, agent) = (issue.session_id.as_deref(), issue.agent.as_deref());
        if !limits.take_in(&issue.created_at, session, agent) {
            continue;
        }
        let snapshot = issue.snapshot_id.to_string();
        let mut look = |field: &str, text: &str| {
            let source = Source {
                place: Place::Issue,
                field: Some(field),
                snapshot: &snapshot,
                session,
                checkpoint: None,
                issue: Some(issue),
                at: &issue.created_at,
            };
            source.look(pattern, text, &mut hits);
        };
        texts(issue).for_each(|(field, text)| look(field, text));
        match store.chat(issue.id) {
            Ok(Some((chat, _))) => look("chat", &chat.to_markdown()),
            Ok(None) => {}
            Err(error) => {
                unreadable.push(format!("chat of issue {}: {}", issue.id, error.message()));
            }
        }
    }
    Ok((hits, unreadable))
}

fn texts(issue: &Issue) -> impl Iterator<Item = (&str, &str)> {
    let experiment = &issue.experiment;
    let texts = [
        ("task_context", Some(&issue.task_context)),
        ("symptom", Some(&issue.symptom)),
        ("success_criteria", Some(&issue.success_criteria)),
        ("suspected_cause", issue.suspected_cause.as_ref()),
        ("chat_summary", issue.chat_summary.as_ref()),
        ("verify_command", issue.verify_command.as_ref()),
        ("repro", Some(&experiment.repro)),
        ("changes", Some(&experiment.changes)),
        ("validation", Some(&experiment.validation)),
        ("result", Some(&experiment.result)),
    ];
    let texts = texts.into_iter();
    let texts = texts.filter_map(|(field, text)| Some((field, text?.as_str())));
    let extra = experiment.extra.iter();
    texts.chain(extra.map(|(field, text)| (field.as_str(), text.as_str())))
}
