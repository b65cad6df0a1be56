//! `tw diff`.

use std::ffi::OsString;

use serde::Serialize;

use crate::cli::human::patch::patch;
use crate::cli::human::screen::width as columns;
use crate::cli::human::style::Style;
use crate::cli::prelude::*;
use crate::git::textdiff::Layout;
use crate::ops::compare::Patches;
use crate::ops::outcome::{Diff, FileDiff, OtherDiff, OtherKind};

/// Compare two snapshots, or a snapshot with the working tree
///
/// Without addresses: the latest snapshot against the working tree, or in the past the snapshot travelled to. With one:
/// that one against the working tree; a word that names none, and is a path, is taken for one. The word 'present' stands
/// for the working tree as it is now, untracked files included, also in the past. Told below the files: permission bits,
/// empty directories, owners and attributes, git's index, HEAD and the operation under way: everything that travel would put back.
/// Prints counts for each path (--stat) unless told otherwise. Name paths behind two addresses, or after '--', to see only
/// these and what lies beneath them; they are pathspecs as git has them: '*.rs', ':!docs'.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What changed since the latest snapshot?
  tw diff

  # The same as a patch, for one directory
  tw diff -p src

  # Everything but the documents
  tw diff -- '*' ':!docs'

  # Between two snapshots, and of these one directory
  tw diff latest~3 latest
  tw diff latest~3..latest -w -U 1
  tw diff latest~3 latest src

  # From a labelled snapshot to the working tree, as names
  tw diff before-refactor present --name-status")]
pub struct Args {
    /// Compare from this snapshot (default: latest), or A..B
    #[arg(value_name = "A", add = complete::sides())]
    pub from: Option<String>,

    /// Compare to this snapshot (default: the working tree)
    #[arg(value_name = "B", add = complete::sides())]
    pub to: Option<String>,

    /// As behind '--'
    #[arg(value_name = "PATH", hide = true, add = complete::paths_to_compare())]
    pub among: Vec<OsString>,

    /// Look only at these paths
    #[arg(value_name = "PATH", last = true, add = complete::paths_to_compare())]
    pub paths: Vec<OsString>,

    /// How far the addresses look.
    #[command(flatten)]
    pub worktrees: flags::AllWorktrees,

    /// Print the number of lines added and removed for each path (the default)
    #[arg(long, group = "form")]
    pub stat: bool,

    /// Print a patch that 'git apply' takes
    ///
    /// With --json the patch of each path stands beside its counts.
    #[arg(short, long, group = "form")]
    pub patch: bool,

    /// Print patches with this many lines around what differs; implies --patch
    #[arg(short = 'U', long, value_name = "LINES", conflicts_with_all = ["stat", "name_only", "name_status"])]
    pub unified: Option<u32>,

    /// Ignore white space when comparing lines
    ///
    /// Files that differ in nothing else are left out.
    #[arg(short = 'w', long)]
    pub ignore_all_space: bool,

    /// Exit with 1 when something differs, with 0 when nothing does
    #[arg(long)]
    pub exit_code: bool,

    /// Print the names of changed paths only
    #[arg(long, group = "form")]
    pub name_only: bool,

    /// Print the names of changed paths with A, M, D or T for added, modified, deleted or type changed
    #[arg(long, group = "form")]
    pub name_status: bool,
}

/// Those that `git apply` takes, where any are wanted.
pub fn patches(are_wanted: bool) -> Patches {
    if are_wanted {
        Patches::Full
    } else {
        Patches::None
    }
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Diff>("diff")];

    fn is_paged(&self) -> bool {
        true
    }

    fn run(&self, call: &Call<'_>) -> Reply {
        let patch = self.patch || self.unified.is_some();
        let form = if patch {
            Form::Patch
        } else if self.name_only {
            Form::NameOnly
        } else if self.name_status {
            Form::NameStatus
        } else {
            Form::Stat
        };
        let usual = Layout::default();
        let request = request::DiffSides {
            from: self.from.clone(),
            to: self.to.clone(),
            paths: [&self.among[..], &self.paths].concat(),
            patches: patches(patch),
            layout: Layout {
                context: self.unified.unwrap_or(usual.context),
                ignores_space: self.ignore_all_space,
            },
        };
        let diff = ops::diff::diff(&self.worktrees.open(call)?, &request)?;
        reply(Ok(DiffPage {
            exit_code: u8::from(self.exit_code && !diff.is_empty()),
            diff,
            form,
        }))
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
    /// What the command exits with.
    #[serde(skip)]
    pub exit_code: u8,
}

impl Human for DiffPage {
    fn exit_code(&self) -> u8 {
        self.exit_code
    }

    fn print(&self, page: &mut Page) {
        print(page, &self.diff, self.form);
    }
}

/// Prints a diff in a form.
pub fn print(page: &mut Page, diff: &Diff, form: Form) {
    match form {
        Form::Stat => stat(page, diff),
        Form::Patch => {
            for file in &diff.files {
                patch_of(page, file);
            }
        }
        Form::NameOnly => {
            for file in &diff.files {
                page.line(quoted(&file.path));
            }
        }
        Form::NameStatus => {
            for file in &diff.files {
                page.line(format!("{}\t{}", file.status, quoted(&file.path)));
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
        .map(|name| columns(name))
        .max()
        .unwrap_or(0)
        // One long path must not push the counts of all others off the line.
        .min(70);
    for ((file, name), counts) in diff.files.iter().zip(&names).zip(&counts) {
        let pad = " ".repeat(width.saturating_sub(columns(name)));
        page.line(format!(" {} {name}{pad} | {counts}", file.status));
    }
    if diff.files.is_empty() {
        let what = if diff.others.is_empty() {
            "difference"
        } else {
            "file differs"
        };
        page.line(format!(
            "no {what} between {} and {}",
            clean(&diff.from),
            clean(&diff.to)
        ));
        others(page, &diff.others, " ");
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
    others(page, &diff.others, " ");
}

/// How many paths of one kind are named.
const NAMED: usize = 20;

/// What differs beyond contents: a line for each, behind this space, and of many paths of one kind their number.
pub fn others(page: &mut Page, others: &[OtherDiff], space: &str) {
    for kind in OtherKind::ALL {
        let these: Vec<&OtherDiff> = others.iter().filter(|one| one.kind == kind).collect();
        for one in these.iter().take(NAMED) {
            page.line(format!("{space}{}", other(one)));
        }
        if these.len() > NAMED {
            let rest = these.len() - NAMED;
            page.line(format!("{space}{}: {rest} more", word(kind)));
        }
    }
}

fn word(kind: OtherKind) -> &'static str {
    match kind {
        OtherKind::Mode => "mode",
        OtherKind::EmptyDirectory => "empty directory",
        OtherKind::Access => "owner or attributes",
        OtherKind::Index => "index",
        OtherKind::Head => "HEAD",
        OtherKind::Operation => "operation",
    }
}

fn other(one: &OtherDiff) -> String {
    let path = one
        .path
        .as_ref()
        .map_or(String::new(), |path| format!(" {}", quoted(path)));
    let word = word(one.kind);
    let side = |side: &Option<String>| side.as_deref().map_or("none".to_owned(), short);
    match (one.kind, &one.old, &one.new) {
        (OtherKind::EmptyDirectory, None, _) => format!("{word}{path}: added"),
        (OtherKind::EmptyDirectory, ..) => format!("{word}{path}: removed"),
        (OtherKind::Access, ..) => format!("{word}{path}"),
        _ => format!("{word}{path}: {} to {}", side(&one.old), side(&one.new)),
    }
}

/// With commit and object ids as short as git shows them.
fn short(text: &str) -> String {
    let is_id = |word: &&str| word.len() >= 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = text.split(' ').map(|word| match Some(word).filter(is_id) {
        Some(id) => id.get(..7).unwrap_or(id),
        None => word.strip_prefix("refs/heads/").unwrap_or(word),
    });
    clean(&words.collect::<Vec<_>>().join(" "))
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

/// A path's part of the patch.
fn patch_of(page: &mut Page, file: &FileDiff) {
    if file.missing {
        page.line(format!(
            "{} {}: its bytes are not here",
            file.status,
            quoted(&file.path)
        ));
    }
    if let Some(text) = &file.patch {
        patch(page, text);
    }
}
