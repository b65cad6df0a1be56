//! What only looks: diff, status, config, doctor, completions, prompt.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::record::{at, headline_with_age};
use super::style::Style;
use super::text::{self, clean, count, quoted};
use super::{Human, Page, RenderOptions, time};
use crate::ops::outcome::{CheckStatus, Checkup, ConfigListing, Diff, FileDiff, Status};
use crate::wire::{Document, Prompt, Script};

/// How a diff is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Counts for each path.
    Stat,
    /// Patches.
    Patch,
    /// Names.
    NameOnly,
    /// Names and what happened.
    NameStatus,
}

/// A diff in the form asked for.
#[derive(Debug)]
pub struct DiffPage {
    /// The outcome.
    pub diff: Diff,
    /// How to print it.
    pub form: Form,
}

impl Document for DiffPage {
    fn fields(&self) -> impl Serialize + '_ {
        self.diff.fields()
    }
}

impl Human for DiffPage {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        match self.form {
            Form::Stat => stat(&mut page, &self.diff, options),
            Form::Patch => {
                for file in &self.diff.files {
                    patch(&mut page, file, options);
                }
            }
            Form::NameOnly => {
                for file in &self.diff.files {
                    page.line(quoted(&file.path));
                }
            }
            Form::NameStatus => {
                for file in &self.diff.files {
                    page.line(format!("{}\t{}", file.status, quoted(&file.path)));
                }
            }
        }
        page
    }
}

fn stat(page: &mut Page, diff: &Diff, options: &RenderOptions) {
    let names: Vec<_> = diff.files.iter().map(|file| quoted(&file.path)).collect();
    let counts: Vec<_> = diff
        .files
        .iter()
        .map(|file| counts(file, options.style))
        .collect();
    let width = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0)
        .min(70);
    for ((file, name), counts) in diff.files.iter().zip(&names).zip(&counts) {
        page.line(format!(" {} {name:width$} | {counts}", file.status));
    }
    if diff.files.is_empty() {
        page.line(format!(
            "no difference between {} and {}",
            clean(&diff.from),
            clean(&diff.to)
        ));
        return;
    }
    page.line(format!(
        " {} changed, {}, {}",
        count(diff.files.len(), "file"),
        options
            .style
            .green(&format!("{}(+)", count(diff.insertions, "insertion"))),
        options
            .style
            .red(&format!("{}(-)", count(diff.deletions, "deletion"))),
    ));
}

fn counts(file: &FileDiff, style: Style) -> String {
    if file.missing {
        return "not here".to_owned();
    }
    if file.binary {
        return "binary".to_owned();
    }
    if file.insertions + file.deletions == 0 && file.status == 'M' && file.old_mode != file.new_mode
    {
        return format!("mode {:06o} to {:06o}", file.old_mode, file.new_mode);
    }
    let plus = style.green(&format!("+{}", file.insertions));
    let minus = style.red(&format!("-{}", file.deletions));
    match (file.insertions, file.deletions) {
        (0, 0) => "0".to_owned(),
        (_, 0) => plus,
        (0, _) => minus,
        _ => format!("{plus} {minus}"),
    }
}

/// A patch goes into a file or pipe byte for byte. On a terminal its lines are coloured, and whatever would steer the
/// terminal is escaped.
fn patch(page: &mut Page, file: &FileDiff, options: &RenderOptions) {
    if file.missing {
        page.line(format!(
            "{} {}: its bytes are not here",
            file.status,
            quoted(&file.path)
        ));
    }
    let Some(patch) = &file.patch else { return };
    if !options.terminal && !options.style.is_on() {
        page.text.extend_from_slice(patch);
        return;
    }
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let shown = if options.terminal {
            tabs_kept(line)
        } else {
            String::from_utf8_lossy(line)
        };
        page.line(match line.first() {
            Some(b'+') => options.style.green(&shown),
            Some(b'-') => options.style.red(&shown),
            Some(b'@') => options.style.cyan(&shown),
            Some(b' ') | None => shown.into_owned(),
            Some(_) => options.style.bold(&shown),
        });
    }
}

fn tabs_kept(line: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(line);
    let parts: Vec<_> = text.split('\t').map(clean).collect();
    Cow::Owned(parts.join("\t"))
}

impl Human for Status {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        if let Some(interrupted) = &self.interrupted {
            page.line(options.style.red(&format!(
                "interrupted: a {} that began {} did not end",
                clean(&interrupted.operation),
                time::ago(options.now, &interrupted.since)
            )));
            page.hint("'tw recover' finishes or undoes it");
        }
        let state = |name: &str| self.state.get(name).and_then(Value::as_str);
        if self.mode == "past" {
            let place = match (&self.current, state("current_snapshot_id")) {
                (Some(view), _) => headline_with_age(view, options),
                (None, Some(id)) => clean(id),
                (None, None) => "an unknown snapshot".to_owned(),
            };
            page.line(format!("{} {place}", options.style.yellow("in the past:")));
            if let Some(since) = state("entered_at") {
                page.line(format!("  since {}", time::exactly(options.now, since)));
            }
            if let Some(backup) = state("backup_id") {
                page.line(format!("  the present is saved as {}", clean(backup)));
            }
            page.hint("'tw return' brings the present back");
        } else {
            page.line("in the present");
        }
        repository(&mut page, self, options);
        match &self.latest {
            Some(view) => page.line(format!(
                "  latest snapshot {}",
                headline_with_age(view, options)
            )),
            None => page.hint("'tw snapshot' takes the first snapshot"),
        }
        page.notices(&self.notices);
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        let place = self.current.as_ref().map(|view| format!(" {}", view.id));
        let warning = self.interrupted.as_ref().map(|_| "interrupted ");
        Some(vec![format!(
            "{}{}{}",
            warning.unwrap_or_default(),
            self.mode,
            place.unwrap_or_default()
        )])
    }
}

fn repository(page: &mut Page, status: &Status, options: &RenderOptions) {
    let repository = &status.repository;
    let branch = repository
        .head_ref
        .as_deref()
        .map(|name| clean(name.strip_prefix("refs/heads/").unwrap_or(name)));
    let oid = repository.head_oid.map(|oid| oid.to_string());
    page.line(format!("  HEAD {}", at(branch.as_deref(), oid.as_deref())));
    let counts: Vec<_> = repository
        .counts
        .iter()
        .map(|(name, number)| count(*number, name.trim_end_matches('s')))
        .collect();
    page.line(format!("  {}", counts.join(", ")));
    if options.verbose {
        page.line(format!(
            "  working tree {}",
            text::path(&repository.workspace_root)
        ));
        page.line(format!("  worktree {}", clean(&repository.worktree)));
        page.line(format!(
            "  git directory {}",
            text::path(&repository.git_dir)
        ));
        if let Some(id) = &repository.repository_id {
            page.line(format!("  repository {}", clean(id)));
        }
    }
}

impl Human for ConfigListing {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        for entry in &self.entries {
            let value = clean(&entry.value.to_string());
            page.line(format!(
                "{} = {value}  {}",
                options.style.bold(entry.key),
                options.style.dim(&format!("({})", clean(&entry.origin)))
            ));
            if options.verbose {
                page.line(format!("    {}", clean(entry.description)));
            }
        }
        page.notices(&self.warnings);
        page
    }
}

impl Human for Checkup {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        for check in &self.checks {
            let word = match check.status {
                CheckStatus::Ok => options.style.green("ok     "),
                CheckStatus::Warning => options.style.yellow("warning"),
                CheckStatus::Error => options.style.red("error  "),
            };
            page.line(format!("{word}  {}: {}", check.name, clean(&check.message)));
            if let Some(fix) = &check.fix {
                page.line(format!("         fix: {}", clean(fix)));
            }
        }
        page
    }

    fn exit_code(&self) -> u8 {
        let broken = self
            .checks
            .iter()
            .any(|check| check.status == CheckStatus::Error);
        u8::from(broken)
    }
}

impl Human for Script {
    fn page(&self, _options: &RenderOptions) -> Page {
        Page {
            text: self.script.as_bytes().to_vec(),
            ..Page::default()
        }
    }
}

impl Human for Prompt {
    fn page(&self, _options: &RenderOptions) -> Page {
        let mut page = Page::default();
        if let Some(line) = &self.prompt {
            page.line(clean(line));
        }
        page
    }
}
