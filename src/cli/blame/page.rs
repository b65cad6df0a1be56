//! How origins look to people.

use crate::cli::human::screen::width;
use crate::cli::human::text::{checkpoint_name, short, short_session};
use crate::cli::human::time;
use crate::cli::prelude::*;
use crate::ops::blame::{Blamed, Candidate, Group, Kind, Line, Origin, Run};

/// This many runs of lines are named of a group.
const RUNS: usize = 8;

/// Each line behind its origin.
pub fn lines(page: &mut Page, blamed: &Blamed) {
    let heads: Vec<(String, String)> = blamed
        .lines
        .iter()
        .map(|line| (who(&line.origin), when(page, line.origin.at.as_deref())))
        .collect();
    let widest = |of: fn(&(String, String)) -> &str| heads.iter().map(|head| width(of(head))).max();
    let columns = (widest(|head| &head.0), widest(|head| &head.1));
    let columns = (columns.0.unwrap_or(0), columns.1.unwrap_or(0));
    let digits = blamed
        .lines
        .last()
        .map_or(1, |line| line.line.to_string().len());
    let style = page.options.style;
    for (line, (who, when)) in blamed.lines.iter().zip(&heads) {
        let head = format!("{}  {}", padded(who, columns.0), padded(when, columns.1));
        let head = match line.origin.kind {
            Kind::Prompt | Kind::Imported => style.cyan(&head),
            Kind::Ambiguous | Kind::Dirty => style.yellow(&head),
            Kind::Between | Kind::CommitStep => head,
            Kind::Commit => style.dim(&head),
        };
        let start = format!("{head}  {:>digits$}) ", line.line);
        page.text.extend_from_slice(start.as_bytes());
        text(page, line);
        page.text.push(b'\n');
    }
}

/// Into a file or pipe a line goes byte for byte; what would steer a terminal is escaped there.
fn text(page: &mut Page, line: &Line) {
    if !page.options.terminal && !page.options.style.is_on() {
        page.text.extend_from_slice(&line.text);
        page.text.extend(line.has_return.then_some(b'\r'));
        return;
    }
    let text = String::from_utf8_lossy(&line.text);
    let parts: Vec<_> = text.split('\t').map(clean).collect();
    page.text.extend_from_slice(parts.join("\t").as_bytes());
}

fn padded(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(missing))
}

fn when(page: &Page, at: Option<&str>) -> String {
    at.map_or(String::new(), |at| time::short(page.options.now, at))
}

/// The origin in a word or two.
fn who(origin: &Origin) -> String {
    match origin.kind {
        Kind::Prompt => turn(
            origin.session_id.as_deref(),
            origin.checkpoint_id,
            origin.agent.as_deref(),
        ),
        Kind::Between => "between turns".to_owned(),
        Kind::Ambiguous => {
            let names: Vec<String> = origin.candidates.iter().map(candidate).collect();
            if names.is_empty() {
                return "ambiguous".to_owned();
            }
            format!("? {}", names.join(" or "))
        }
        Kind::CommitStep => format!(
            "{} formatted",
            short(origin.commit.as_deref().unwrap_or_default())
        ),
        Kind::Commit => {
            let commit = short(origin.commit.as_deref().unwrap_or_default());
            format!(
                "{commit} {}",
                clean(origin.author.as_deref().unwrap_or_default())
            )
        }
        Kind::Imported => imported(origin.commit.as_deref(), origin.agent.as_deref()),
        Kind::Dirty => "not captured".to_owned(),
    }
}

/// An agent that a note on a commit names.
fn imported(commit: Option<&str>, agent: Option<&str>) -> String {
    let agent = clean(agent.unwrap_or("an agent"));
    match commit {
        Some(commit) => format!("{} {agent} (imported)", short(commit)),
        None => format!("{agent} (imported)"),
    }
}

fn candidate(one: &Candidate) -> String {
    match one.kind {
        Kind::Prompt => turn(one.session_id.as_deref(), one.checkpoint_id, None),
        Kind::Imported => imported(None, one.agent.as_deref()),
        Kind::Commit => "a person".to_owned(),
        Kind::Ambiguous => "a turn that was forgotten".to_owned(),
        _ => "between".to_owned(),
    }
}

fn turn(session: Option<&str>, checkpoint: Option<u64>, agent: Option<&str>) -> String {
    let session = session.unwrap_or_default();
    let mut text = match checkpoint {
        Some(checkpoint) => checkpoint_name(session, checkpoint),
        None => short_session(session),
    };
    if let Some(agent) = agent {
        text.push(' ');
        text.push_str(&clean(agent));
    }
    text
}

/// Each origin with its lines.
pub fn groups(page: &mut Page, blamed: &Blamed) {
    for group in blamed.groups.iter().flatten() {
        let head = heading(page, group);
        page.line(head);
        let mut runs: Vec<String> = group.ranges.iter().take(RUNS).map(run).collect();
        if group.ranges.len() > RUNS {
            runs.push("…".to_owned());
        }
        let word = if group.lines == 1 { "line" } else { "lines" };
        page.line(format!("    {word} {}", runs.join(", ")));
    }
}

fn run(Run { first, last }: &Run) -> String {
    if first == last {
        return first.to_string();
    }
    format!("{first}-{last}")
}

/// Each origin with the number of its lines.
pub fn stat(page: &mut Page, blamed: &Blamed) {
    let all = blamed.lines.len().max(1);
    let digits = all.to_string().len();
    for group in blamed.groups.iter().flatten() {
        let percent = group.lines * 100 / all;
        let head = heading(page, group);
        page.line(format!("{:>digits$} {percent:>3}%  {head}", group.lines));
    }
}

fn heading(page: &Page, group: &Group) -> String {
    let style = page.options.style;
    let (session, agent) = (group.session_id.as_deref(), group.agent.as_deref());
    let who = match group.kind {
        Kind::Prompt if session.is_none() => clean(agent.unwrap_or("an agent")),
        Kind::Prompt => turn(session, group.checkpoint_id, agent),
        Kind::Commit => match &group.commit {
            Some(commit) => {
                format!(
                    "{} {}",
                    short(commit),
                    clean(group.author.as_deref().unwrap_or_default())
                )
            }
            None => "commits".to_owned(),
        },
        Kind::CommitStep => "formatted in a commit".to_owned(),
        Kind::Between => "between turns".to_owned(),
        Kind::Ambiguous => "ambiguous".to_owned(),
        Kind::Imported => imported(group.commit.as_deref(), agent),
        Kind::Dirty => "not captured".to_owned(),
    };
    let said = group.prompt.as_deref().or(group.title.as_deref());
    let said = said.and_then(|text| text.lines().map(str::trim).find(|line| !line.is_empty()));
    let said = said.map(|text| format!("  '{}'", clean(text)));
    let when = when(page, group.at.as_deref());
    let when = Some(when).filter(|when| !when.is_empty());
    let when = when.map(|when| format!("  {when}"));
    format!(
        "{}{}{}",
        style.bold(&who),
        when.unwrap_or_default(),
        said.unwrap_or_default()
    )
}
