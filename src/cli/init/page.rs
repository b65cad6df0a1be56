//! How `tw init` looks to people: what it would write where, and what it did.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::agents::install::{Holds, Scope};
use crate::cli::human::text;
use crate::cli::prelude::*;
use crate::ops::install::{AgentFile, FileChange, Installed, Way};

/// The directories that paths are shown relative to.
#[derive(Debug, Clone, Default)]
pub struct Room {
    /// The working tree.
    pub project: Option<PathBuf>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Whose the files are that are no agent's.
    pub others: &'static str,
}

impl Room {
    fn shown(&self, path: &Path) -> String {
        if let Some(rest) = relative(path, self.project.as_deref()) {
            return text::path(rest);
        }
        match relative(path, self.home.as_deref()) {
            Some(rest) => text::path(&Path::new("~").join(rest)),
            None => text::path(path),
        }
    }
}

fn relative<'a>(path: &'a Path, base: Option<&Path>) -> Option<&'a Path> {
    path.strip_prefix(base?)
        .ok()
        .filter(|rest| !rest.as_os_str().is_empty())
}

/// What is shown before the question.
pub struct Offer<'a> {
    /// What would be done.
    pub plan: &'a Installed,
    /// In or out.
    pub way: Way,
    /// Where.
    pub room: &'a Room,
}

/// A line of an offer: whose file, which, and what of ours is in it.
type Row = (String, String, String);

impl Offer<'_> {
    fn found(&self, page: &mut Page) {
        let mut rows: Vec<Row> = Vec::new();
        for agent in self.plan.agents.iter().filter(|one| !one.found.is_empty()) {
            let found: Vec<String> = agent
                .found
                .iter()
                .map(|path| self.room.shown(path))
                .collect();
            rows.push((agent.title.to_owned(), found.join(", "), String::new()));
        }
        if !rows.is_empty() {
            page.line("coding agents that you use:");
            table(page, &rows);
        }
    }

    /// The agents' files of one scope that something becomes of.
    fn rows(&self, scope: Scope) -> Vec<Row> {
        let mut rows = Vec::new();
        for agent in &self.plan.agents {
            for file in agent.files.iter().filter(|file| file.scope == scope) {
                rows.push((
                    agent.title.to_owned(),
                    self.room.shown(&file.path),
                    content(file),
                ));
            }
        }
        rows
    }

    /// The files that are no agent's: settings of tw, hooks of git.
    fn others(&self) -> Vec<Row> {
        let agents = self.plan.agents.iter().flat_map(|agent| &agent.files);
        let known: Vec<&Path> = agents.map(|file| file.leads_to.as_path()).collect();
        let all = self.plan.changed.iter().chain(&self.plan.removed);
        all.filter(|path| !known.contains(&path.as_path()))
            .map(|path| {
                (
                    self.room.others.to_owned(),
                    self.room.shown(path),
                    String::new(),
                )
            })
            .collect()
    }
}

impl Human for Offer<'_> {
    fn print(&self, page: &mut Page) {
        self.found(page);
        let verb = match self.way {
            Way::In => "tw would set up",
            Way::Out => "tw would take out what it put in",
        };
        let project = self.room.project.as_deref().map(text::path);
        let mut here = self.rows(Scope::Project);
        here.extend(self.others());
        if !here.is_empty() {
            let project = project.unwrap_or_default();
            page.line(format!("{verb}, for this project, in {project}:"));
            table(page, &here);
        }
        let own = self.rows(Scope::User);
        if !own.is_empty() {
            page.line(format!("{verb}, for all your projects:"));
            table(page, &own);
        }
        for file in &self.plan.left {
            page.line(format!("not possible: {}", clean(&file.why)));
        }
    }
}

/// `hooks and MCP server, there already`.
fn content(file: &AgentFile) -> String {
    let words = file.holds.iter().map(|held| match held {
        Holds::Hooks => "hooks",
        Holds::Mcp => "MCP server",
        Holds::Skill => "skill",
    });
    let words: Vec<&str> = words.collect();
    let end = match file.became {
        FileChange::Changed | FileChange::Removed => "",
        FileChange::Unchanged => ", there already",
        FileChange::Left => ", not possible",
    };
    format!("{}{end}", words.join(" and "))
}

/// Columns as wide as their widest cell; a name is not said again.
fn table(page: &mut Page, rows: &[Row]) {
    let width = |cell: fn(&Row) -> &String| {
        let widths = rows.iter().map(|row| cell(row).chars().count());
        widths.max().unwrap_or(0)
    };
    let (names, paths) = (width(|row| &row.0), width(|row| &row.1));
    let mut last = "";
    for (name, path, content) in rows {
        let shown = if name == last { "" } else { name };
        let line = format!("  {shown:names$}  {path:paths$}  {content}");
        page.line(line.trim_end());
        last = name;
    }
}

/// What was done, and which commands go on from there.
#[derive(Serialize, Default)]
pub struct Done {
    /// The answer.
    #[serde(flatten)]
    pub installed: Installed,
    /// In or out.
    #[serde(skip)]
    pub way: Way,
    /// Where.
    #[serde(skip)]
    pub room: Room,
    /// Nobody said what to do.
    #[serde(skip)]
    pub is_unanswered: bool,
    /// The next commands.
    #[serde(skip)]
    pub hints: Vec<&'static str>,
}

impl Done {
    /// After a question that was not answered.
    pub fn nothing() -> Self {
        Self {
            is_unanswered: true,
            ..Self::default()
        }
    }
}

impl Human for Done {
    fn print(&self, page: &mut Page) {
        let done = &self.installed;
        if self.is_unanswered {
            page.line("nothing was done");
        } else if done.dry_run && !done.agents.is_empty() {
            let offer = Offer {
                plan: done,
                way: self.way,
                room: &self.room,
            };
            offer.print(page);
            print_texts(done, page);
        } else {
            print_files(done, page);
        }
        page.notices(&done.notices);
        for hint in &self.hints {
            page.hint(*hint);
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        let files = self.installed.changed.iter().chain(&self.installed.removed);
        Some(files.map(|file| text::path(file)).collect())
    }
}

fn print_files(done: &Installed, page: &mut Page) {
    let [write, remove] = if done.dry_run {
        ["would write", "would remove"]
    } else {
        ["wrote", "removed"]
    };
    let lists = [
        (write, &done.changed),
        (remove, &done.removed),
        ("as it should be:", &done.unchanged),
    ];
    for (verb, files) in lists {
        for file in files {
            page.line(format!("{verb} {}", text::path(file)));
        }
    }
    print_texts(done, page);
    if lists.iter().all(|(_, files)| files.is_empty()) && done.printed.is_empty() {
        page.line("nothing to do");
    }
}

/// What belongs into the files that were left alone.
fn print_texts(done: &Installed, page: &mut Page) {
    for one in &done.printed {
        page.line(format!("for {}:", text::path(&one.path)));
        page.text.extend_from_slice(one.text.as_bytes());
    }
}
