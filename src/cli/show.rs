//! `tw show`.

use std::ffi::OsString;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::cli::diff::{self, Form, patches};
use crate::cli::human::snapshot::field;
use crate::cli::human::snapshot::{at, created_at, ignored, stats, uncaptured};
use crate::cli::human::time;
use crate::cli::prelude::*;
use crate::ops::outcome::{Shown, SnapshotView};

/// Show what is recorded of a snapshot
///
/// Prints when, where and why it was taken, HEAD and the operation under way at that time, how much was captured, and
/// everything that was not captured, with the reason; of what git ignores the number and size, where a directory that is
/// ignored whole is one and not looked into. With --json the whole record, every list complete. Backups and
/// experiments can be shown too. Without SNAPSHOT: the latest, in the past the one travelled to.
///
/// With --stat or -p also what it changed: against the snapshot before it in the same worktree, of an experiment against the one that
/// it was made from, of the first snapshot against HEAD.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # The newest one
  tw show

  # By a part of its id
  tw show ab12cd

  # What it changed
  tw show -p ab12cd
  tw show --stat latest -- src

  # A file as it was, by plain git
  git show \"$(tw show latest --json | jq -r .snapshot.commit)\":README.md")]
pub struct Args {
    /// Show this snapshot (default: latest, in the past the one travelled to)
    #[arg(value_name = "SNAPSHOT", add = complete::snapshots())]
    pub address: Option<String>,

    /// Tell what it changed in these paths only; implies --stat
    #[arg(value_name = "PATH", last = true, add = complete::paths_of_all_times())]
    pub paths: Vec<OsString>,

    #[command(flatten)]
    pub worktrees: flags::AllWorktrees,

    /// Print how many lines it added and removed for each path, too
    #[arg(long, group = "form")]
    pub stat: bool,

    /// Print what it changed as a patch, too
    #[arg(short, long, group = "form")]
    pub patch: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Shown>("show")];

    fn is_paged(&self) -> bool {
        true
    }

    fn run(&self, call: &Call<'_>) -> Reply {
        let shown = ops::show::show(
            &self.worktrees.open(call)?,
            &request::Show {
                address: self.address.clone(),
                compared: self.stat || self.patch || !self.paths.is_empty(),
                paths: self.paths.clone(),
                patches: patches(self.patch),
            },
        )?;
        let form = if self.patch { Form::Patch } else { Form::Stat };
        reply(Ok(ShowPage { shown, form }))
    }
}

/// A snapshot, with its changes in the form asked for.
#[derive(Debug, Serialize)]
struct ShowPage {
    #[serde(flatten)]
    shown: Shown,
    #[serde(skip)]
    form: Form,
}

impl ShowPage {
    /// An experiment is compared with the snapshot that it started from, as long as that is kept.
    fn tell_base(&self, page: &mut Page, base: &str) {
        let start = field(&self.shown.snapshot.json, "started_from").map(clean);
        if let Some(start) = start.filter(|start| start != base) {
            page.note(format!(
                "the snapshot that it started from, '{start}', was forgotten: compared with {base}"
            ));
        }
    }
}

impl Human for ShowPage {
    fn print(&self, page: &mut Page) {
        self.shown.print(page);
        if let Some(changes) = &self.shown.diff {
            page.line("");
            diff::print(page, changes, self.form);
            self.tell_base(page, &changes.from);
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        self.shown.brief()
    }
}

impl Human for Shown {
    fn print(&self, page: &mut Page) {
        let view = &self.snapshot;
        what_it_is(page, view);
        where_from(page, &view.json);
        what_it_has(page, view);
        not_captured(page, &view.json);
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.snapshot.id.clone()])
    }
}

/// A row of the page; one that says nothing is left out.
fn row(page: &mut Page, name: &str, value: Option<String>) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        let name = page.options.style.dim(&format!("{name:13}"));
        page.line(format!("{name} {value}"));
    }
}

fn what_it_is(page: &mut Page, view: &SnapshotView) {
    let json = &view.json;
    let options = page.options;
    let of = |name: &str| field(json, name).map(clean);
    row(page, &clean(&view.kind), Some(options.id(&view.id)));
    row(page, "title", Some(clean(&view.title)));
    row(page, "label", Some(clean(&view.labels.join(", "))));
    row(
        page,
        "taken",
        Some(time::exactly(options.now, created_at(view))),
    );
    row(
        page,
        "taken in",
        of("taken_in")
            .filter(|word| word == "past")
            .map(|_| "the past".to_owned()),
    );
    row(page, "commit", Some(view.commit.to_string()));
    row(page, "tree", Some(view.tree.to_string()));
    row(page, "head", json.get("head").map(head));
    row(
        page,
        "in progress",
        json.get("in_progress")
            .filter(|value| !value.is_null())
            .map(plain),
    );
}

fn where_from(page: &mut Page, json: &Map<String, Value>) {
    let of = |name: &str| field(json, name).map(clean);
    row(page, "trigger", of("trigger"));
    row(page, "started from", of("started_from"));
    row(page, "session", of("session_id"));
    row(page, "agent", of("agent"));
    row(page, "hint", of("initial_task_hint"));
    row(page, "worktree", of("worktree"));
    row(page, "workspace", of("workspace_root"));
    row(page, "members", json.get("members").map(members));
    row(page, "captured", stats(json));
    row(page, "ignored", ignored(json));
}

fn what_it_has(page: &mut Page, view: &SnapshotView) {
    let json = &view.json;
    let options = page.options;
    for (name, list) in json
        .get("index")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        row(page, &clean(&name.replace('_', " ")), Some(plain(list)));
    }
    row(page, "empty dirs", json.get("empty_dirs").map(plain));
    row(page, "modes", json.get("modes").map(plain));
    row(page, "unstable", json.get("unstable").map(plain));
    row(
        page,
        "seeds unproven",
        json.get("seeds_unproven").map(plain),
    );
    row(page, "seeds wrong", json.get("seeds_wrong").map(plain));
    row(
        page,
        "excluded by",
        json.get("exclude_globs")
            .filter(|_| options.verbose)
            .map(plain),
    );
    row(
        page,
        "environment",
        json.get("env_fingerprint")
            .filter(|_| options.verbose)
            .map(plain),
    );
    row(
        page,
        "foreign",
        view.foreign
            .then(|| "yes: it comes from another repository".to_owned()),
    );
}

fn not_captured(page: &mut Page, json: &Map<String, Value>) {
    let reasons = uncaptured(json);
    if !reasons.is_empty() {
        page.line("not captured");
    }
    for (reason, paths) in reasons {
        for path in paths {
            page.line(format!("  {reason}  {path}"));
        }
    }
}

/// `main at 1a2b3c4d5e`, from the record's `head`.
fn head(head: &Value) -> String {
    let get = |name: &str| head.get(name).and_then(Value::as_str).map(clean);
    let branch = get("ref").map(|name| match name.strip_prefix("refs/heads/") {
        Some(branch) => branch.to_owned(),
        None => name,
    });
    at(branch.as_deref(), get("oid").as_deref())
}

/// The snapshots of a workspace's members that belong to it.
fn members(members: &Value) -> String {
    let members = members.as_array().into_iter().flatten();
    join(members.map(|one| {
        let get = |name: &str| one.get(name).and_then(Value::as_str).map(clean);
        let path = get("path").unwrap_or_default();
        match (get("snapshot_id"), get("reason")) {
            (Some(id), _) => format!("{path} {id}"),
            (None, reason) => format!("{path} none ({})", reason.unwrap_or_default()),
        }
    }))
}

/// Any stored value in one line; empty for what holds nothing.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => clean(text),
        Value::Array(list) => join(list.iter().map(plain)),
        Value::Object(map) => join(map.iter().map(|(name, value)| match value {
            Value::Null => String::new(),
            value => format!("{} {}", clean(name), plain(value)),
        })),
        other => other.to_string(),
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}
