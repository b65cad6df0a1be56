//! What changed the working tree: travel, return, restore, undo, recover.

use super::record::{USUAL_TAIL, headline_with_age};
use super::text::{clean, count, quoted, short};
use super::{Human, Page, RenderOptions};
use crate::git::path::RepoPath;
use crate::ops::issue::Applied;
use crate::ops::outcome::{
    Changes, Dropped, HeadReport, Recovered, Restored, Returned, Travelled, Undone,
};

/// So many paths stand in one remark.
const PATHS_IN_REMARK: usize = 10;

/// The paths touched: counted, and listed for a dry run or with `-v`.
fn changes(page: &mut Page, changes: &Changes, dry_run: bool, options: &RenderOptions) {
    let (written, removed) = (changes.written.len(), changes.removed.len());
    let verb = if dry_run { "would be " } else { "" };
    if written + removed == 0 {
        page.line("  no path differs");
        return;
    }
    page.line(format!(
        "  {} {verb}written, {removed} removed",
        count(written, "path")
    ));
    if dry_run || options.verbose {
        for path in &changes.written {
            page.line(format!(
                "    {} {}",
                options.style.green("write "),
                quoted(path)
            ));
        }
        for path in &changes.removed {
            page.line(format!(
                "    {} {}",
                options.style.red("remove"),
                quoted(path)
            ));
        }
    }
}

/// A few paths in a sentence.
fn some(paths: &[RepoPath]) -> String {
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

fn remark(page: &mut Page, what: &str, paths: &[RepoPath]) {
    if !paths.is_empty() {
        page.line(format!("  {what}: {}", some(paths)));
    }
}

fn saved(page: &mut Page, what: &str, id: Option<&str>, options: &RenderOptions) {
    if let Some(id) = id {
        page.line(format!(
            "  {what} is saved as {}",
            options.style.id(&clean(id), USUAL_TAIL)
        ));
    }
}

const HOME: &str = "'tw return' brings the present back";

impl Human for Travelled {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let place = headline_with_age(&self.snapshot, options);
        if self.dry_run {
            page.line(format!("would travel to {place}"));
        } else {
            page.line(format!("{} {place}", options.style.yellow("in the past:")));
        }
        saved(&mut page, "the present", self.backup_id.as_deref(), options);
        changes(&mut page, &self.changes, self.dry_run, options);
        if self.files_only {
            page.line("  HEAD and index stay as they are");
        }
        page.notices(&self.notices);
        if self.dry_run {
            page.hint(format!("'tw travel {}' does it", self.snapshot.id));
        } else {
            page.hint(HOME);
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.backup_id.iter().cloned().collect())
    }
}

impl Human for Returned {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        if self.dry_run {
            page.line(format!(
                "would return to the present, saved as {}",
                self.backup_id
            ));
        } else {
            let proof = if self.verified {
                "verified"
            } else {
                "not verified"
            };
            page.line(options.style.green(&format!("in the present, {proof}")));
        }
        saved(
            &mut page,
            "what was made in the past",
            self.experiment_id.as_deref(),
            options,
        );
        changes(&mut page, &self.changes, self.dry_run, options);
        remark(
            &mut page,
            "changed by someone else since, and left so",
            &self.changed_since,
        );
        remark(&mut page, "carried over", &self.kept);
        remark(&mut page, "not kept in the experiment", &self.discarded);
        remark(
            &mut page,
            "stayed in place and changed in the past",
            &self.stayed,
        );
        for (from, to) in &self.moved_aside {
            page.line(format!("  moved aside: {} to {}", quoted(from), quoted(to)));
        }
        head(&mut page, &self.head);
        for (oid, title) in &self.commits_made {
            let oid = oid.to_string();
            page.line(format!(
                "  committed in the past: {} {}",
                short(&oid),
                clean(title)
            ));
        }
        if let Some((oid, _)) = self.commits_made.first() {
            page.hint(format!(
                "'git branch NAME {oid}' keeps the commits made in the past"
            ));
        }
        page.notices(&self.notices);
        match &self.experiment_id {
            _ if self.dry_run => page.hint("'tw return' does it"),
            Some(id) => page.hint(format!(
                "'tw diff {id} present' shows what differs from the past"
            )),
            None => page.hint("'tw undo' goes back into the past as it was left"),
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.experiment_id.iter().cloned().collect())
    }
}

fn head(page: &mut Page, head: &HeadReport) {
    if head.restored {
        return;
    }
    let reference = head.reference.as_deref().unwrap_or("its branch");
    let branch = clean(reference.strip_prefix("refs/heads/").unwrap_or(reference));
    let why = match head.reason.as_deref() {
        Some("branch-moved") => "has moved since",
        Some("branch-gone") => "is gone",
        Some("branch-broken") => "is broken",
        Some("checked-out-elsewhere") => "is checked out in another worktree",
        _ => "could not be taken up again",
    };
    let oid = head.oid.map(|oid| oid.to_string()).unwrap_or_default();
    page.line(format!(
        "  HEAD stays detached at {}: branch '{branch}' {why}",
        short(&oid)
    ));
    page.hint(match head.reason.as_deref() {
        Some("branch-broken") => "'tw doctor' says how to mend it".to_owned(),
        Some("branch-gone") => format!("'git switch -c {branch}' makes the branch again"),
        Some("checked-out-elsewhere") => "'git worktree list' shows where".to_owned(),
        _ => format!(
            "'git log {}..{branch}' shows what came since; 'git switch {branch}' goes there",
            short(&oid)
        ),
    });
}

impl Human for Restored {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let verb = if self.dry_run {
            "would restore"
        } else {
            "restored"
        };
        page.line(format!(
            "{verb} from {}",
            headline_with_age(&self.snapshot, options)
        ));
        saved(
            &mut page,
            "what was there",
            self.backup_id.as_deref(),
            options,
        );
        changes(&mut page, &self.changes, self.dry_run, options);
        page.notices(&self.notices);
        if !self.dry_run && self.backup_id.is_some() {
            page.hint("'tw undo' takes it back");
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.backup_id.iter().cloned().collect())
    }
}

impl Human for Applied {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let verb = if self.dry_run {
            "would apply"
        } else {
            "applied"
        };
        let verb = match &self.backup_id {
            None if !self.dry_run => "nothing to apply of",
            _ => verb,
        };
        page.line(format!(
            "{verb} run {} of issue {}, {}",
            self.run,
            clean(&self.issue_id),
            options.style.id(&clean(&self.experiment_id), USUAL_TAIL)
        ));
        saved(&mut page, "the present", self.backup_id.as_deref(), options);
        changes(&mut page, &self.changes, self.dry_run, options);
        remark(
            &mut page,
            "merged with changes of the present",
            &self.merged,
        );
        for (path, reason) in &self.conflicts {
            let said = format!("  conflict ({}): {}", reason.as_str(), quoted(path));
            page.line(options.style.red(&said));
        }
        page.notices(&self.notices);
        let id = clean(&self.issue_id);
        if self.dry_run {
            page.hint(format!("'tw issue apply {id} --run {}' does it", self.run));
        } else if self.backup_id.is_some() && !self.conflicts.is_empty() {
            page.hint("mend the files and 'git add' them, or 'tw undo' takes it all back");
        } else if self.backup_id.is_some() {
            page.hint(format!(
                "'tw issue verify {id}' runs its check, 'tw undo' takes it back"
            ));
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.backup_id.iter().cloned().collect())
    }

    fn exit_code(&self) -> u8 {
        u8::from(!self.dry_run && !self.conflicts.is_empty())
    }
}

impl Human for Undone {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let verb = if self.direction == "redo" {
            "redid"
        } else {
            "undid"
        };
        page.line(format!(
            "{verb} {}: in the {}",
            clean(&self.operation),
            self.mode
        ));
        saved(
            &mut page,
            "what was there",
            self.backup_id.as_deref(),
            options,
        );
        saved(
            &mut page,
            "what was made in the past",
            self.experiment_id.as_deref(),
            options,
        );
        changes(&mut page, &self.changes, false, options);
        remark(
            &mut page,
            "changed since; those bytes are in the backup",
            &self.changed_since,
        );
        if let Some(why) = &self.head_stayed {
            page.line(format!("  HEAD and index stay as they are: {}", clean(why)));
        }
        page.notices(&self.notices);
        if self.direction == "undo" {
            page.hint("'tw redo' brings back what this replaced");
        }
        if self.mode == "past" {
            page.hint(HOME);
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.backup_id.iter().cloned().collect())
    }
}

impl Human for Recovered {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        let operation = clean(self.operation.as_deref().unwrap_or("swap"));
        page.line(match self.action {
            "nothing" => "nothing to recover".to_owned(),
            "rolled-back" => format!("undid the interrupted {operation}"),
            "rolled-forward" => format!("finished the interrupted {operation}"),
            "cleaned" => format!("the {operation} was complete; cleaned up after it"),
            "repaired" => format!("repaired what a power cut took of the last {operation}"),
            "undecided" => {
                format!("the interrupted {operation} left paths that neither side explains")
            }
            other => clean(other),
        });
        if self.action == "nothing" {
            return page;
        }
        saved(
            &mut page,
            "what was on disk",
            self.rescue_id.as_deref(),
            options,
        );
        if self.action != "undecided" {
            changes(&mut page, &self.changes, false, options);
        }
        let what = if self.action == "undecided" {
            "changed since"
        } else {
            "changed since, and left so"
        };
        if options.verbose || self.action == "undecided" {
            for path in &self.differing {
                page.line(format!("  {what}: {}", quoted(path)));
            }
        } else {
            remark(&mut page, what, &self.differing);
        }
        page.notices(&self.notices);
        if self.action != "undecided" {
            page.hint("'tw status' shows where you are");
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.rescue_id.iter().cloned().collect())
    }
}

impl Human for Vec<Dropped> {
    fn page(&self, options: &RenderOptions) -> Page {
        let mut page = Page::default();
        for entry in self {
            let state = match (entry.restored, entry.available) {
                (true, _) => "taken back",
                (false, true) => "can be taken back",
                (false, false) => "gone",
            };
            page.line(format!(
                "{}  dropped {}  {state}",
                options.style.id(&clean(&entry.id), USUAL_TAIL),
                super::time::ago(options.now, &entry.at)
            ));
        }
        if self.is_empty() {
            page.notes.push("nothing was dropped".to_owned());
        } else if self.iter().any(|entry| entry.available && !entry.restored) {
            page.hint("'tw recover --dropped ID' takes one back");
        }
        page
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.iter().map(|entry| entry.id.clone()).collect())
    }
}
