//! `tw diff`.

use std::borrow::Cow;
use std::ffi::OsString;

use serde::Serialize;

use crate::cli::human::style::Style;
use crate::cli::prelude::*;
use crate::ops::outcome::{Diff, FileDiff};

/// Compare two snapshots, or a snapshot with the present
///
/// Without addresses: the latest snapshot against the present. With one: that one against the present. 'present' is the
/// working tree as it is, untracked files included. Prints counts for each path (--stat) unless told otherwise. Name
/// paths behind two addresses, or after '--', to see only these and what lies beneath them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What changed since the latest snapshot?
  tw diff

  # The same as a patch, for one directory
  tw diff -p -- src

  # Between two snapshots, and of these one directory
  tw diff latest~3 latest
  tw diff latest~3 latest src

  # What did the present look like before I travelled?
  tw diff before-refactor present --name-status")]
pub struct Args {
    /// Compare from this snapshot (default: latest)
    #[arg(value_name = "A", add = complete::snapshots())]
    pub from: Option<String>,

    /// Compare to this snapshot (default: present)
    #[arg(value_name = "B", add = complete::snapshots())]
    pub to: Option<String>,

    /// As behind '--'
    #[arg(value_name = "PATH", hide = true, value_hint = ValueHint::AnyPath)]
    pub among: Vec<OsString>,

    /// Look only at these paths
    #[arg(value_name = "PATH", last = true, value_hint = ValueHint::AnyPath)]
    pub paths: Vec<OsString>,

    /// Print the number of lines added and removed for each path (the default)
    #[arg(long, group = "form")]
    pub stat: bool,

    /// Print a patch that 'git apply' takes
    ///
    /// With --json the patch of each path stands beside its counts.
    #[arg(short, long, group = "form")]
    pub patch: bool,

    /// Print the names of changed paths only
    #[arg(long, group = "form")]
    pub name_only: bool,

    /// Print the names of changed paths with A, M, D or T for added, modified, deleted or type changed
    #[arg(long, group = "form")]
    pub name_status: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Diff>("diff")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let form = if self.patch {
            Form::Patch
        } else if self.name_only {
            Form::NameOnly
        } else if self.name_status {
            Form::NameStatus
        } else {
            Form::Stat
        };
        let request = request::DiffSides {
            from: self.from.clone(),
            to: self.to.clone(),
            paths: [&self.among[..], &self.paths].concat(),
            patch: self.patch,
        };
        let diff = ops::diff::diff(&call.open()?, &request)?;
        reply(Ok(DiffPage { diff, form }))
    }
}

/// How a diff is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Counts for each path.
    Stat,
    /// Lines removed and added, for `git apply`.
    Patch,
    /// Paths alone, one a line.
    NameOnly,
    /// Names and what happened.
    NameStatus,
}

/// A diff in the form asked for.
#[derive(Debug, Serialize)]
pub struct DiffPage {
    /// What differs.
    #[serde(flatten)]
    pub diff: Diff,
    /// How to print it.
    #[serde(skip)]
    pub form: Form,
}

impl Human for DiffPage {
    fn print(&self, page: &mut Page) {
        match self.form {
            Form::Stat => stat(page, &self.diff),
            Form::Patch => {
                for file in &self.diff.files {
                    patch(page, file);
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
    }
}

fn stat(page: &mut Page, diff: &Diff) {
    let names: Vec<_> = diff.files.iter().map(|file| quoted(&file.path)).collect();
    let counts: Vec<_> = diff
        .files
        .iter()
        .map(|file| counts(file, page.options.style))
        .collect();
    let width = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0)
        // One long path must not push the counts of all others off the line.
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
        page.options
            .style
            .green(&format!("{}(+)", count(diff.insertions, "insertion"))),
        page.options
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
    // Without a line that differs it is the mode that changed.
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
fn patch(page: &mut Page, file: &FileDiff) {
    if file.missing {
        page.line(format!(
            "{} {}: its bytes are not here",
            file.status,
            quoted(&file.path)
        ));
    }
    let Some(patch) = &file.patch else { return };
    if !page.options.terminal && !page.options.style.is_on() {
        page.text.extend_from_slice(patch);
        return;
    }
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let shown = if page.options.terminal {
            tabs_kept(line)
        } else {
            String::from_utf8_lossy(line)
        };
        page.line(match line.first() {
            Some(b'+') => page.options.style.green(&shown),
            Some(b'-') => page.options.style.red(&shown),
            Some(b'@') => page.options.style.cyan(&shown),
            Some(b' ') | None => shown.into_owned(),
            Some(_) => page.options.style.bold(&shown),
        });
    }
}

fn tabs_kept(line: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(line);
    let parts: Vec<_> = text.split('\t').map(clean).collect();
    Cow::Owned(parts.join("\t"))
}
