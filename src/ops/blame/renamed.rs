//! The name that a file had when it was last captured, where it has been renamed since.

use super::forms::Form;
use crate::error::Result;
use crate::git::fs::Root;
use crate::git::objects::ObjectKind;
use crate::git::textdiff::{LARGEST, count_lines};
use crate::git::{Oid, tree};
use crate::ops::Context;
use crate::store::Store;

/// More files that are gone are not compared.
const MOST: usize = 100;

/// The file of a commit that is gone from the working tree, and that has this text, or at least half of its lines.
///
/// # Errors
/// When a tree of the commit, or the working tree, cannot be read.
pub fn former(
    ctx: &Context<'_>,
    store: &Store,
    commit: Oid,
    text: &[u8],
    form: Form,
) -> Result<Option<Vec<u8>>> {
    let read = |oid| store.objects.read_safe_tree(oid);
    let root = Root::open(ctx.repo.worktree_root())?;
    let is_gone = |path: &[u8]| root.stamp(path).is_ok_and(|stamp| stamp.is_none());
    let files = tree::flatten(&read, store.objects.commit(commit)?.tree)?;
    let files = files
        .into_iter()
        .filter(|(_, node)| node.mode != tree::GITLINK_MODE);
    let hash = |text: &[u8]| store.objects.hash(ObjectKind::Blob, text);
    let oids = [hash(text)?, hash(&form.kept(text))?];
    let (same, others): (Vec<_>, Vec<_>) = files.partition(|(_, node)| oids.contains(&node.oid));
    if let Some((path, _)) = same.into_iter().find(|(path, _)| is_gone(path)) {
        return Ok(Some(path));
    }
    let gone = others.into_iter().filter(|(path, _)| is_gone(path));
    let mut best = None;
    for (path, node) in gone.take(MOST) {
        let Some(old) = store.objects.read_blob_up_to(node.oid, LARGEST)? else {
            continue;
        };
        let same = form.same_lines(&old, text, false)?;
        let alike = same.iter().flatten().count();
        let is_like = alike > 0 && alike * 2 >= count_lines(&old).max(same.len());
        if is_like && best.as_ref().is_none_or(|(most, _)| alike > *most) {
            best = Some((alike, path));
        }
    }
    Ok(best.map(|(_, path)| path))
}
