//! Large files that a filter converts (git LFS): of them a snapshot has what git's index says, and not their bytes.
//!
//! They stay in place as long as both sides have the same of them. What somebody does to one in the past is in the experiment, and the
//! backup has git's text alone: where the present's bytes are still at hand, in place or under another name, or a swap of the stay saved
//! them, a swap puts these back. Where they are not, git's text is put there, and the return says so.

use std::collections::BTreeMap;

use crate::git::path;
use crate::git::tree::Node;
use crate::ops::unsaved::Filtered;
use crate::store::Store;
use crate::worktree::manifest::{Kind, Manifest};
use crate::worktree::plan::{Plan, PlanEntry, Side};

/// Whether something holds of a path.
pub(super) type OfPath<'a> = &'a dyn Fn(&[u8]) -> bool;

/// Puts the present's bytes into a plan in the place of git's text, as far as they are there. Where nothing differs then, neither of bytes
/// and bits nor, as `has_other_access` says, of owner, group and attributes, the file is let be.
pub(super) fn keep_bytes(
    store: &Store,
    filtered: &BTreeMap<Vec<u8>, Filtered>,
    (manifest, has_other_access): (&Manifest, OfPath<'_>),
    plan: &mut Plan,
) {
    if filtered.is_empty() {
        return;
    }
    for entry in &mut plan.entries {
        let Some(file) = texts(filtered, entry) else {
            continue;
        };
        let in_place = manifest.file(&entry.path).into_iter();
        let elsewhere = manifest.entries().map(|(_, file)| file);
        let mut found = in_place.chain(elsewhere);
        let found = found.find(|found| found.kind == Kind::File && file.is(&found.stamp));
        let saved = || file.saved().filter(|oid| store.objects.contains(*oid));
        let bytes = found.map(|found| found.oid).or_else(saved);
        entry.after = entry.after.map(|after| Side {
            node: Node {
                oid: bytes.unwrap_or(after.node.oid),
                ..after.node
            },
            ..after
        });
    }
    plan.entries.retain(|entry| {
        let is_other = entry.before != entry.after || !filtered.contains_key(&entry.path);
        is_other || has_other_access(&entry.path)
    });
}

/// What is said where a plan puts git's text in the place of the present's bytes.
pub fn notice(filtered: &BTreeMap<Vec<u8>, Filtered>, plan: &Plan) -> Option<String> {
    let entries = plan.entries.iter();
    let lost = entries.filter(|entry| texts(filtered, entry).is_some());
    let lost: Vec<&[u8]> = lost.map(|entry| entry.path.as_slice()).collect();
    (!lost.is_empty()).then(|| {
        format!(
            "not verified, since they changed in the past and the backup has what git's index says of them: {}; \
             to have their filter make them again, remove them and run 'git checkout -- PATH'",
            path::listed(lost.iter(), 5)
        )
    })
}

/// The file of the present in whose place an entry puts git's text.
fn texts<'f>(filtered: &'f BTreeMap<Vec<u8>, Filtered>, entry: &PlanEntry) -> Option<&'f Filtered> {
    let (file, after) = (filtered.get(&entry.path)?, entry.after?);
    (file.has_blob(after.node.oid) && !entry.is_chmod()).then_some(file)
}
