//! What is to be said of how a swap went.

use crate::git::path;
use crate::text::count;
use crate::worktree::apply::{Applied, Stays};
use crate::worktree::plan::Plan;

/// What is to be said of how a swap was carried out: files that changed meanwhile, and access that could not be kept.
pub fn swap_notices(applied: &Applied) -> Vec<String> {
    let mut notices = Vec::new();
    if let Some(first) = applied.late.first() {
        notices.push(format!(
            "{} changed while the working tree was being replaced, for example '{}'; the later bytes are in the backup",
            count(applied.late.len(), "file"),
            path::display(first)
        ));
    }
    if !applied.with_writer.is_empty() {
        notices.push(format!(
            "open for writing in another program, which keeps using the replaced file until it reopens it: {}",
            path::listed(applied.with_writer.iter(), SHOWN)
        ));
    }
    for (why, reason) in [
        (
            Stays::NotYours,
            "the directory over it is not yours to change",
        ),
        (Stays::InUse, "you are in it, or something is mounted there"),
    ] {
        let those = applied.stayed.iter().filter(|(_, stays)| **stays == why);
        let those: Vec<_> = those.map(|(dir, _)| dir).collect();
        if !those.is_empty() {
            let listed = path::listed(those.into_iter(), SHOWN);
            notices.push(format!("empty, and not removed, since {reason}: {listed}"));
        }
    }
    notices.extend(lost_notices(applied));
    if !applied.unproven.is_empty() {
        notices.push(format!(
            "would come back without setuid, setgid or capabilities, since nothing but a state directory that nobody else may write proves whose backup it is: {}",
            path::listed(applied.unproven.iter(), SHOWN)
        ));
    }
    notices
}

/// What is to be said of access that could not be kept.
pub fn lost_notices(applied: &Applied) -> Vec<String> {
    let mut notices = Vec::new();
    for (path, lost) in applied.lost.iter().take(LOST_SHOWN) {
        let access = if lost.kept_bits() {
            "it belongs to another user, and is as open as they left it"
        } else if lost.is_wider() {
            "its file system made it more open than that"
        } else {
            "nobody else got access to it"
        };
        notices.push(format!(
            "'{}' could not keep: {}; {access}",
            path::display(path),
            lost.words()
        ));
    }
    let more = applied.lost.len().saturating_sub(LOST_SHOWN);
    if more > 0 {
        notices.push(format!(
            "{} more could not keep owner, group or attributes",
            count(more, "file")
        ));
    }
    notices
}

/// What is to be said of what a plan keeps closed.
pub fn narrowed_notice(plan: &Plan) -> Option<String> {
    let paths = &plan.narrowed;
    (!paths.is_empty()).then(|| {
        format!(
            "not as open as it was there, since what it comes from was closed to others meanwhile: {}",
            path::listed(paths.iter(), SHOWN)
        )
    })
}

/// What was in the way of a return and has another name now.
pub fn renamed_notice(from: &str, to: &str) -> String {
    format!("'{from}' was in the way of the return and is now '{to}'")
}

/// So many paths are named in one sentence.
const SHOWN: usize = 5;

/// So many paths are named one by one.
const LOST_SHOWN: usize = 100;
