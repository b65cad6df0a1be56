//! Issues, chats, experiments and redacted texts as people see them.

use std::fmt::Write as _;

use super::record::USUAL_TAIL;
use super::text::{self, clean, count};
use super::{Human, Page, RenderOptions, time};
use crate::ops::issue::{
    ChatShown, ExperimentShown, IssueListing, IssueView, Next, Reported, Started, Verified,
};
use crate::ops::redaction::Cleaned;
use crate::store::issue::{Issue, Run, Status};

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

fn lines(page: &mut Page, text: &str) {
    for line in text.lines() {
        page.line(clean(line));
    }
}

fn one_line(text: &str) -> String {
    let first = text.lines().find(|line| !line.trim().is_empty());
    let mut line: String = clean(first.unwrap_or_default().trim());
    if line.chars().count() > 80 {
        line = line.chars().take(79).collect();
        line.push('\u{2026}');
    }
    line
}

fn headline(issue: &Issue, options: &RenderOptions) -> String {
    let status = match issue.status {
        Status::Open => issue.status.as_str().to_owned(),
        Status::Experimenting => options.style.yellow(issue.status.as_str()),
        _ => options.style.dim(issue.status.as_str()),
    };
    format!(
        "{}  {status}  {}  {}  {}",
        options.style.id(&issue.id.to_string(), USUAL_TAIL),
        issue.severity.as_str(),
        time::ago(options.now, &issue.created_at),
        one_line(&issue.symptom)
    )
}

fn show(page: &mut Page, view: &IssueView, options: &RenderOptions) {
    let issue = &view.issue;
    page.line(headline(issue, options));
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
        if !view.verify_approved {
            let hash = view.verify_hash.as_deref().unwrap_or_default();
            page.line(format!("  not approved on this machine (--allow {hash})"));
        }
    }
    page.line(format!("snapshot: {}", issue.snapshot_id));
    if let Some(of) = issue.duplicate_of {
        page.line(format!("duplicate of: {of}"));
    }
    if issue.occurrences > 1 {
        page.line(format!("met: {} times", issue.occurrences));
    }
    match &issue.chat_unavailable {
        Some(reason) => paragraph(page, "chat unavailable", reason),
        None => page.line(format!("chat: {}", text::path(&view.paths.chat))),
    }
    page.line(format!(
        "experiment: {}",
        text::path(&view.paths.experiment)
    ));
    for run in &issue.runs {
        page.line(run_line(run, options));
    }
    if let Some(resolution) = &issue.resolution {
        let note = resolution.note.as_deref().unwrap_or_default();
        let closed = format!("{} {note}", time::ago(options.now, &resolution.at));
        paragraph(page, "closed", &closed);
    }
}

fn run_line(run: &Run, options: &RenderOptions) -> String {
    let mut line = format!(
        "run {}: {}",
        run.run,
        time::ago(options.now, &run.started_at)
    );
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
    line
}

impl Human for IssueView {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        show(&mut page, self, options);
        page.notices(&self.notices);
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.issue.id.to_string()])
    }
}

impl Human for Reported {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let issue = &self.view.issue;
        page.line(format!("reported {}", headline(issue, options)));
        if let Some(messages) = self.messages {
            page.line(format!(
                "  with {} of the conversation (found by: {})",
                count(messages, "message"),
                self.found_by.unwrap_or("given")
            ));
        }
        page.line(format!("  at {}", issue.snapshot_id));
        page.notices(&self.view.notices);
        page.hint(format!("'tw issue start {}' goes there", issue.id));
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        self.view.brief()
    }
}

impl Human for IssueListing {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        for entry in &self.issues {
            page.line(headline(&entry.issue, options));
        }
        for entry in &self.invalid {
            page.line(format!(
                "{}  {}  {}",
                options.style.id(&clean(&entry.issue_id), USUAL_TAIL),
                options.style.red("invalid"),
                clean(&entry.reason)
            ));
        }
        if self.issues.is_empty() && self.invalid.is_empty() {
            let what = match self.filter {
                "all" => String::new(),
                status => format!(" {status}"),
            };
            page.line(format!("no{what} issues"));
        }
        page.notices(&self.notices);
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(
            self.issues
                .iter()
                .map(|entry| entry.issue.id.to_string())
                .collect(),
        )
    }
}

impl Human for Next {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        for entry in &self.ranked {
            page.line(headline(&entry.issue, options));
            page.line(format!("  {}", entry.reasons.join(", ")));
        }
        page.notices(&self.notices);
        match self.ranked.first() {
            Some(entry) => page.hint(format!("'tw issue start {}'", entry.issue.id)),
            None => page.line("no issue waits"),
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        let first = self.ranked.first();
        Some(
            first
                .map(|entry| entry.issue.id.to_string())
                .into_iter()
                .collect(),
        )
    }
}

impl Human for ChatShown {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        lines(&mut page, &self.chat.to_markdown());
        page.notices(&self.notices);
        page
    }
}

impl Human for ExperimentShown {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        lines(&mut page, &self.markdown);
        page.notices(&self.notices);
        page
    }
}

impl Human for Started {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = self.travelled.page(options);
        let id = clean(&self.issue_id);
        if !self.travelled.dry_run {
            page.line(format!("  run {} of issue {id}", self.run));
            page.hint(format!("'tw issue verify {id}' runs its check"));
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        self.travelled.brief()
    }
}

impl Human for Verified {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        lines(&mut page, &self.check.output_tail);
        let status = self.check.exit_status;
        let verdict = if status == 0 {
            options.style.green("passed")
        } else {
            options.style.red(&format!("failed with {status}"))
        };
        page.line(format!(
            "{verdict} after {} ms: {}",
            self.check.duration_ms,
            clean(&self.check.command)
        ));
        page.line(format!(
            "  recorded in run {} of issue {}",
            self.run, self.issue_id
        ));
        page.notices(&self.notices);
        page
    }

    fn exit_code(&self) -> u8 {
        u8::from(self.check.exit_status != 0)
    }
}

impl Human for Cleaned {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        if !self.check {
            // The text itself, not a picture of it: it goes into files.
            page.text.extend_from_slice(&self.bytes);
        }
        for (rule, times) in &self.counts {
            let times = usize::try_from(*times).unwrap_or(usize::MAX);
            page.notes
                .push(format!("{rule}: {}", count(times, "replacement")));
        }
        page
    }

    fn exit_code(&self) -> u8 {
        u8::from(self.check && !self.counts.is_empty())
    }
}
