//! What the output of several commands says of an issue.

use std::fmt::Write as _;

use crate::cli::human::text::{self};
use crate::cli::prelude::*;
use crate::ops::issue::{IssueOnDesk, IssueSummary, IssueView};
use crate::store::issue::{Issue, Resolution, Run, Status};

/// A text of several lines, indented, each line cleaned.
fn paragraph(page: &mut Page, name: &str, body: &str) {
    let mut lines = body.trim_end().lines();
    page.line(format!(
        "{name}: {}",
        clean(lines.next().unwrap_or_default())
    ));
    for line in lines {
        page.line(format!("  {}", clean(line)));
    }
}

pub fn lines(page: &mut Page, text: &str) {
    for line in text.lines() {
        page.line(clean(line));
    }
}

/// Who is said to have reported an issue that came from elsewhere, above its texts.
pub fn claimed_line(page: &mut Page, name: Option<&str>) {
    if let Some(name) = name {
        page.line(text::claimed(name));
    }
}

fn one_line(text: &str) -> String {
    clean(&crate::text::headline(text, 80))
}

pub fn headline(issue: &IssueSummary, options: &RenderOptions) -> String {
    let status = match issue.status {
        Status::Open => issue.status.as_str().to_owned(),
        Status::Experimenting => options.style.yellow(issue.status.as_str()),
        _ => options.style.dim(issue.status.as_str()),
    };
    let claimed = issue.claimed_by.as_deref().map(text::claimed);
    let claimed = claimed.map(|claimed| format!("  {claimed}"));
    format!(
        "{}  {status}  {}{}  {}  {}{}{}",
        options.id(&issue.issue_id.to_string()),
        issue.severity.as_str(),
        kind(issue),
        options.ago(&issue.created_at),
        one_line(&issue.symptom),
        tries(issue),
        claimed.unwrap_or_default()
    )
}

/// What kind of friction it is.
fn kind(issue: &IssueSummary) -> String {
    let kind = issue.kind.as_deref().map(one_line);
    kind.map_or(String::new(), |kind| format!("  {kind}"))
}

/// How often it was tried, and with what success.
fn tries(issue: &IssueSummary) -> String {
    let count = match issue.tries {
        0 => return String::new(),
        1 => "1 try".to_owned(),
        several => format!("{several} tries"),
    };
    match issue.best {
        Some(best) => format!("  ({count}, run {best} passed)"),
        None => format!("  ({count}, none passed)"),
    }
}

fn show(page: &mut Page, view: &IssueView) {
    let issue = &view.issue;
    page.line(headline(&IssueSummary::from(&issue.issue), &page.options));
    paragraph(page, "task context", &issue.task_context);
    paragraph(page, "symptom", &issue.symptom);
    paragraph(page, "success criteria", &issue.success_criteria);
    let optional = [
        ("suspected cause", &issue.suspected_cause),
        ("chat summary", &issue.chat_summary),
    ];
    for (name, text) in optional {
        if let Some(text) = text {
            paragraph(page, name, text);
        }
    }
    if let Some(command) = &issue.verify_command {
        paragraph(page, "verify command", command);
        let hash = issue.verify_hash.as_deref().unwrap_or_default();
        page.line(if issue.verify_approved {
            format!("  approved on this machine ({hash})")
        } else {
            format!("  not approved on this machine (--allow {hash})")
        });
    }
    from_elsewhere(page, issue);
    page.line(format!(
        "snapshot: {}{}",
        issue.snapshot_id,
        claimed_by(issue.snapshot_claimed_by.as_deref())
    ));
    if let Some(of) = issue.duplicate_of {
        page.line(format!("duplicate of: {of}"));
    }
    if issue.occurrences > 1 {
        page.line(format!("met: {} times", issue.occurrences));
    }
    match &issue.chat_unavailable {
        Some(reason) => paragraph(page, "chat unavailable", reason),
        None => page.line(format!("chat: {}", text::path(&issue.paths.chat))),
    }
    page.line(format!(
        "experiment: {}",
        text::path(&issue.paths.experiment)
    ));
    history(page, issue);
}

/// What others changed, too, and lost, and whether they deleted it.
fn from_elsewhere(page: &mut Page, issue: &IssueOnDesk) {
    for lost in &issue.conflicts {
        let name = format!(
            "{}, claimed by {}, lost",
            clean(&lost.field),
            clean(&lost.claimed_by)
        );
        let value = lost
            .value
            .as_str()
            .map_or(lost.value.to_string(), str::to_owned);
        paragraph(page, &name, &value);
    }
    if let Some(deletion) = &issue.deleted_by {
        let ago = page.options.ago(&deletion.at);
        page.line(format!(
            "deleted elsewhere: {ago}, claimed by {}",
            clean(&deletion.claimed_by)
        ));
    }
}

/// What was done about it.
fn history(page: &mut Page, issue: &IssueOnDesk) {
    for run in &issue.runs {
        page.line(run_line(run, &page.options));
    }
    for comment in &issue.comments {
        let by = comment
            .agent
            .as_deref()
            .map_or(String::new(), |agent| format!(", {agent}"));
        let claimed = claimed_by(comment.claimed_by.as_deref());
        let ago = page.options.ago(&comment.at);
        let name = format!("comment, {ago}{}{claimed}", clean(&by));
        paragraph(page, &name, &comment.text);
    }
    for earlier in &issue.resolutions {
        let name = format!(
            "closed as {}, until {}",
            earlier.status.as_str(),
            page.options.ago(&earlier.until)
        );
        closed(page, &name, (&earlier.resolution, &issue.issue));
    }
    if let Some(resolution) = &issue.resolution {
        closed(page, "closed", (resolution, &issue.issue));
    }
}

/// How it was closed, and what showed that it was solved.
fn closed(page: &mut Page, name: &str, (resolution, issue): (&Resolution, &Issue)) {
    let note = resolution.note.as_deref().unwrap_or_default();
    let said = format!("{} {note}", page.options.ago(&resolution.at));
    paragraph(page, name, &said);
    if let Some(proof) = &resolution.proof {
        let of = match &proof.id {
            Some(id) => format!(" of {id}"),
            None => String::new(),
        };
        let claimed = claimed_by(issue.claimant(proof));
        let shown = format!("run {}{of}, '{}' passed{claimed}", proof.run, proof.command);
        paragraph(page, "proof", &shown);
    }
}

fn run_line(run: &Run, options: &RenderOptions) -> String {
    let mut line = format!("run {}: {}", run.run, options.ago(&run.started_at));
    if run.ended_at.is_none() {
        line.push_str(", in the past now");
    }
    if let Some(stat) = run.diff_stat {
        let files = usize::try_from(stat.files).unwrap_or(usize::MAX);
        let files = count(files, "file");
        let (more, less) = (stat.insertions, stat.deletions);
        let _ = write!(line, ", {files} changed, +{more} -{less}");
    }
    if let Some(check) = run.verify.last() {
        let _ = write!(line, ", check ended with {}", check.exit_status);
    }
    if let Some(id) = &run.experiment_id {
        let _ = write!(line, ", {}", clean(id));
    }
    line.push_str(&claimed_by(run.claimed_by()));
    line
}

/// Who is said to have made what came from elsewhere; nobody proves it.
fn claimed_by(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| {
        format!(", claimed by {}", clean(name))
    })
}

impl Human for IssueView {
    fn print(&self, page: &mut Page) {
        show(page, self);
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.issue_id.to_string()])
    }
}
