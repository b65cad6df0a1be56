//! What the output of several commands says of a change of the working tree.

use super::Page;
use super::text::{clean, count, quoted, short};
use crate::git::path::RepoPath;
use crate::ops::applying::AppliedRun;
use crate::ops::outcome::{Aftermath, Changes, CommitMade, MemberSwap, MovedAside};

/// This many paths stand in one remark.
const PATHS_IN_REMARK: usize = 10;

/// The hint of every command that ends in the past.
pub const RETURN_HINT: &str = "'tw return' brings the present back";

/// The paths touched: counted, and listed for a dry run or with `-v`.
pub fn changes(page: &mut Page, changes: &Changes, dry_run: bool) {
    let (written, removed) = (changes.written.len(), changes.removed.len());
    let verb = if dry_run { "would be " } else { "" };
    if written + removed == 0 {
        page.line("  no file differs");
        return;
    }
    page.line(format!(
        "  {} {verb}written, {removed} removed",
        count(written, "path")
    ));
    if dry_run || page.options.verbose {
        for path in &changes.written {
            page.line(format!(
                "    {} {}",
                page.options.style.green("write "),
                quoted(path)
            ));
        }
        for path in &changes.removed {
            page.line(format!(
                "    {} {}",
                page.options.style.red("remove"),
                quoted(path)
            ));
        }
    }
}

/// The commits that were made in the past.
pub fn commits(page: &mut Page, made: &[CommitMade]) {
    for CommitMade { oid, title } in made {
        let oid = oid.to_string();
        page.line(format!(
            "  committed in the past: {} {}",
            short(&oid),
            clean(title)
        ));
    }
}

/// A few paths in a sentence.
fn first_paths(paths: &[RepoPath]) -> String {
    let mut names: Vec<_> = paths
        .iter()
        .take(PATHS_IN_REMARK)
        .map(|path| quoted(path))
        .collect();
    if paths.len() > PATHS_IN_REMARK {
        names.push(format!("and {} more", paths.len() - PATHS_IN_REMARK));
    }
    names.join(", ")
}

/// A few paths behind what they have in common; nothing without paths.
pub fn remark(page: &mut Page, what: &str, paths: &[RepoPath]) {
    if !paths.is_empty() {
        page.line(format!("  {what}: {}", first_paths(paths)));
    }
}

/// Under which id something was saved; nothing without an id.
pub fn saved(page: &mut Page, what: &str, id: Option<&str>) {
    if let Some(id) = id {
        page.line(format!("  {what} is saved as {}", page.id(id)));
    }
}

/// What came of a run that was applied. `of`: whose run it is.
pub fn applied_run(page: &mut Page, of: &str, applied: &AppliedRun) {
    let verb = match &applied.backup_id {
        _ if applied.dry_run => "would apply",
        None => "nothing to apply of",
        Some(_) => "applied",
    };
    page.line(format!(
        "{verb} run {} of {of}, {}",
        applied.run,
        page.id(&applied.experiment_id)
    ));
    saved(page, "the present", applied.backup_id.as_deref());
    changes(page, &applied.changes, applied.dry_run);
    remark(page, "merged with changes of the present", &applied.merged);
    for conflict in &applied.conflicts {
        let reason = conflict.reason.as_str();
        let said = format!("  conflict ({reason}): {}", quoted(&conflict.path));
        page.line(page.options.style.red(&said));
    }
    page.notices(&applied.notices);
}

/// The members of a workspace that went along.
pub fn members(page: &mut Page, members: &[MemberSwap], dry_run: bool) {
    let verb = if dry_run { "would be " } else { "" };
    for one in members {
        let path = clean(&one.path);
        let written = count(one.written, "path");
        page.line(format!(
            "  member {path}: {written} {verb}written, {} removed",
            one.removed
        ));
        saved(
            page,
            &format!("what was made in {path}"),
            one.experiment_id.as_deref(),
        );
    }
}

/// What is said of what the present left out and the past changed.
pub const STAYED: &str = "stayed in place and changed in the past";

/// What the returns of members say of paths.
pub fn told_of_members(page: &mut Page, members: &[MemberSwap], dry_run: bool) {
    for member in members {
        if let Some(there) = &member.returned {
            let place = format!("member {}: ", clean(&member.path));
            told(page, there, &place, dry_run);
        }
    }
}

/// What a return says of paths; `place` is where, followed by a colon, or nothing.
pub fn told(page: &mut Page, told: &Aftermath, place: &str, dry_run: bool) {
    for (what, paths) in [
        (
            "changed by someone else since, and left so",
            &told.changed_since,
        ),
        ("carried over", &told.kept),
        ("not kept in the experiment", &told.discarded),
        (STAYED, &told.stayed),
    ] {
        remark(page, &format!("{place}{what}"), paths);
    }
    let verb = if dry_run { "would be " } else { "" };
    for MovedAside { from, to } in &told.moved_aside {
        page.line(format!(
            "  {place}{verb}moved aside: {} to {}",
            quoted(from),
            quoted(to)
        ));
    }
}
