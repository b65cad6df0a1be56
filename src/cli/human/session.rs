//! What has to do with agents: sessions, hooks, setting agents up.

use super::record::{USUAL_TAIL, headline};
use super::text::{self, clean, count, quoted};
use super::{Human, Page, RenderOptions, time};
use crate::git::path::RepoPath;
use crate::ops::hook::Hooked;
use crate::ops::install::Installed;
use crate::ops::session::{Ended, Listing, NoSnapshot, SessionView, Shown, Started, Talk};
use crate::wire::AgentHelp;

/// So many files are named without `-v`.
const FILES: usize = 10;

/// Agent, id and how it stands, on one line.
fn line(view: &SessionView, options: &RenderOptions) -> String {
    let record = &view.record;
    let state = match (&record.ended_at, view.live) {
        (Some(at), _) => format!("ended {}", time::ago(options.now, at)),
        (None, true) => format!(
            "live, active {}",
            time::ago(options.now, &record.last_active_at)
        ),
        (None, false) => format!(
            "silent since {}",
            time::ago(options.now, &record.last_active_at)
        ),
    };
    let mut parts = vec![clean(&record.session_id)];
    parts.extend(record.agent.as_deref().map(clean));
    parts.push(state);
    if let Some(parent) = &record.parent {
        parts.push(format!("sub-agent of {}", clean(parent)));
    }
    let counted = view.talk.as_ref().map(counts).unwrap_or_default();
    if !counted.is_empty() {
        parts.push(counted);
    }
    let title = view.talk.as_ref().and_then(|talk| talk.title.as_deref());
    parts.extend(record.hint.as_deref().or(title).map(|hint| {
        let first: String = hint
            .lines()
            .next()
            .unwrap_or_default()
            .chars()
            .take(60)
            .collect();
        clean(&first)
    }));
    parts.join("  ")
}

/// `3 prompts, 1 rewind, 2 files`: what there is of each.
fn counts(talk: &Talk) -> String {
    let files = talk.files.as_ref().map_or(0, Vec::len);
    let all = [
        (talk.prompts, "prompt"),
        (talk.rewinds, "rewind"),
        (talk.issues.len(), "issue"),
        (files, "file"),
    ];
    let there = all.into_iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = there.map(|(number, what)| count(number, what)).collect();
    parts.join(", ")
}

impl Human for Started {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        page.line(format!(
            "session {}",
            clean(&self.session.record.session_id)
        ));
        match &self.snapshot {
            Ok(taken) => page.line(format!("  {}", headline(taken, options.style))),
            Err(why) => page.line(match why {
                NoSnapshot::Past => "  recorded only: the working tree is in the past",
                NoSnapshot::SubAgent => "  recorded only: a sub-agent shares its root's snapshot",
                NoSnapshot::Compaction => "  goes on after a compaction, with the snapshot it had",
                NoSnapshot::Repeated => "  was started a moment ago",
            }),
        }
        for entry in &self.pruned {
            let id = options.style.id(&clean(&entry.id), USUAL_TAIL);
            page.line(format!(
                "  forgot {id}  {}",
                time::ago(options.now, &entry.created_at)
            ));
        }
        page.notices(&self.notices);
        if self.snapshot.is_ok() {
            page.hint("'tw diff session' shows what has changed since");
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.session.record.session_id.clone()])
    }
}

impl Human for Listing {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        for view in &self.sessions {
            page.line(line(view, options));
        }
        for (name, reason) in &self.invalid {
            page.notes.push(format!(
                "the record of session '{name}' cannot be read: {reason}"
            ));
        }
        if self.sessions.is_empty() {
            page.hint("'tw session start' starts one; 'tw init --agent NAME' lets an agent do it");
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        let ids = self.sessions.iter();
        Some(ids.map(|view| view.record.session_id.clone()).collect())
    }
}

/// How many files, and which, where they are few.
fn named(files: &[RepoPath], options: &RenderOptions) -> String {
    let few = if options.verbose { files.len() } else { FILES };
    let mut names: Vec<String> = files.iter().take(few).map(|path| quoted(path)).collect();
    if files.len() > few {
        names.push(format!("and {} more", files.len() - few));
    }
    match names.as_slice() {
        [] => "none".to_owned(),
        names => format!("{}: {}", files.len(), names.join(", ")),
    }
}

impl Human for Shown {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let record = &self.session.record;
        page.line(line(&self.session, options));
        let mut row = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                page.line(format!("  {name:<11} {}", clean(value)));
            }
        };
        row("started", Some(&record.started_at));
        row("worktree", Some(&record.worktree));
        row("source", record.source.as_deref());
        row("snapshot", self.session.snapshot_id.as_deref());
        row("transcript", record.transcript.as_deref());
        if let Some(talk) = &self.session.talk {
            row("title", talk.title.as_deref());
            row("prompts", Some(&talk.prompts.to_string()));
            row("tokens", talk.tokens.context.map(text::number).as_deref());
            row("checkpoints", Some(&talk.checkpoints.to_string()));
            row("rewinds", Some(&talk.rewinds.to_string()));
            for issue in &talk.issues {
                row("issue", Some(issue));
            }
            let files = talk.files.as_ref().map(|files| named(files, options));
            row("files", files.as_deref());
        }
        let origin = record.forked_from.as_ref();
        let origin = origin.map(|origin| format!("{}:{}", origin.session_id, origin.checkpoint_id));
        row("forked from", origin.as_deref());
        for child in &self.children {
            row("sub-agent", Some(child));
        }
        row(
            "resume",
            self.resume_command
                .as_ref()
                .map(|words| words.join(" "))
                .as_deref(),
        );
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.session.record.session_id.clone()])
    }
}

impl Human for Ended {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        page.line(format!(
            "ended session {}",
            clean(&self.session.record.session_id)
        ));
        for child in &self.with {
            page.line(format!("  and its sub-agent's {}", clean(child)));
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.session.record.session_id.clone()])
    }
}

/// Agents take what a hook prints for an order: it prints nothing, or one document in the agent's own words.
impl Human for Hooked {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        if let Some(output) = &self.output {
            page.line(output.to_string());
        }
        page
    }
}

impl Human for Installed {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let would = if self.dry_run { "would " } else { "" };
        let verbs = if self.dry_run {
            ["write", "remove"]
        } else {
            ["wrote", "removed"]
        };
        for file in &self.changed {
            page.line(format!("{would}{} {}", verbs[0], text::path(file)));
        }
        for file in &self.removed {
            page.line(format!("{would}{} {}", verbs[1], text::path(file)));
        }
        for file in &self.unchanged {
            page.line(format!("as it should be: {}", text::path(file)));
        }
        for (file, lines) in &self.printed {
            page.line(format!("for {}:", text::path(file)));
            page.text.extend_from_slice(lines.as_bytes());
        }
        if self.changed.len() + self.removed.len() + self.unchanged.len() + self.printed.len() == 0
        {
            page.line("nothing to do");
        }
        page.notices(&self.notices);
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        let files = self.changed.iter().chain(&self.removed);
        Some(files.map(|file| text::path(file)).collect())
    }
}

impl Human for AgentHelp {
    fn page(&self, _options: &RenderOptions) -> Page {
        Page {
            text: self.help.as_bytes().to_vec(),
            ..Page::default()
        }
    }
}
