//! What a tree cannot say of a side: permission bits, empty directories, access.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;

use super::super::Context;
use super::super::capture::Capture;
use crate::error::{Result, ResultExt};
use crate::git::access::{Access, Lost, RUNS_AS, SETUID, without_capabilities};
use crate::git::access_list::AccessList;
use crate::git::tree::{self, ReadTree};
use crate::git::{Oid, path};
use crate::store::Store;
use crate::store::id::SnapshotId;
use crate::store::made::Made;
use crate::store::stored::Stored;
use crate::worktree::plan::{Extras, Plan};

/// The extras of a stored snapshot. Permission bits of one that this machine did not make are cut to the plain nine, and those of
/// one that was pulled to what is usual ([`Extras::permissions`]).
pub fn stored_extras(store: &Store, stored: &Stored) -> Result<Extras> {
    let lists = store.lists(stored)?;
    let is_pulled = store.is_foreign(stored)?;
    let made = store.made(stored.commit)?;
    let foreign = is_pulled || made == Made::Elsewhere;
    // Somebody else's snapshot must not hand out setuid programs.
    let mask = if foreign { 0o777 } else { 0o7777 };
    let record = &stored.record;
    let mut access = if foreign {
        AccessList::default()
    } else {
        store.access(stored)?
    };
    // Nobody looked at the access of its files on this machine: each keeps that of what it replaces.
    access.inherits = is_pulled || record.seeds_unproven.is_some();
    let defaults =
        [0o100_644, 0o100_755, tree::DIR_MODE].map(|mode| record.default_permissions(mode));
    let [file, executable, directory] = defaults;
    let mut extras = Extras {
        modes: lists
            .modes
            .into_iter()
            .map(|(path, mode)| (path, mode & mask))
            .collect(),
        defaults: [file? & mask, executable? & mask, directory? & mask],
        empty_dirs: lists
            .empty_dirs
            .into_iter()
            // A record from elsewhere may name anything, also a path out of the working tree.
            .filter(|dir| path::is_safe(dir))
            .collect(),
        absent: lists.absent.into_iter().collect(),
        access,
        foreign,
        is_pulled,
        claimed: made == Made::Claimed,
        withheld: BTreeMap::new(),
        replaced: None,
    };
    if foreign {
        let closed = bits_without_acls(store, stored, &extras)?;
        extras.modes.extend(closed);
    } else if made == Made::Claimed {
        give_nobody_more(store, stored, &mut extras)?;
    }
    Ok(extras)
}

/// Another user, who owns the git directory, may have written the list of what was made in it, and any record: what is root's would be
/// his to run as root. Programs then run as their owner only where he is that himself, as its group where that is the directory's, and with no
/// capabilities. What is cut is noted.
fn give_nobody_more(store: &Store, stored: &Stored, extras: &mut Extras) -> Result<()> {
    let dir = store.repo.common_dir();
    let meta = dir
        .metadata()
        .context(|| format!("cannot look at '{}'", dir.display()))?;
    let bits_of = |access: &Access| match access {
        // Nobody gets into root's group by the group that a directory of his happens to have.
        one if one.uid == meta.uid() && one.gid == meta.gid() && one.gid != 0 => RUNS_AS,
        one if one.uid == meta.uid() => SETUID,
        _ => 0,
    };
    for (path, access) in &mut extras.access.paths {
        let recorded = access.clone();
        without_capabilities(access);
        let lost = Lost::between(access, &recorded);
        if !lost.is_empty() {
            extras.withheld.insert(path.clone(), lost);
        }
    }
    let runs = |mode: u32| mode & RUNS_AS != 0;
    let programs = extras.modes.iter().filter(|(_, mode)| runs(**mode));
    let mut programs: BTreeSet<&Vec<u8>> = programs.map(|(path, _)| path).collect();
    if extras.defaults.into_iter().any(runs) {
        // The owner of each program is recorded.
        programs.extend(extras.access.paths.keys());
    }
    let mut modes = BTreeMap::new();
    for path in programs {
        let file = tree::find(&store.objects, stored.tree, path)?;
        let is_dir = file.is_none() && extras.leads_to_empty_dir(path);
        let git_mode = file.map_or(0o100_644, |node| node.mode);
        let mode = extras.recorded_permissions(path, git_mode);
        // Those of a directory let nobody run anything.
        if runs(mode) && !is_dir && git_mode != tree::DIR_MODE {
            let kept = extras.access.of(path).map_or(0, |access| bits_of(&access));
            let given = mode & (!RUNS_AS | kept);
            if given != mode {
                let lost = extras.withheld.entry(path.clone()).or_default();
                lost.note_bits(mode, given);
            }
            modes.insert(path.clone(), given);
        }
    }
    extras.modes.extend(modes);
    let [file, executable, _] = &mut extras.defaults;
    *file &= !RUNS_AS;
    *executable &= !RUNS_AS;
    Ok(())
}

/// The paths of a plan that would not come back whole from the backup of its swap, as nothing proves who made that.
///
/// # Errors
/// The backup cannot be read.
pub(super) fn unproven(
    store: &Store,
    (id, commit): (&SnapshotId, Oid),
    plan: &Plan,
) -> Result<BTreeSet<Vec<u8>>> {
    if store.made(commit)? != Made::Claimed {
        return Ok(BTreeSet::new());
    }
    let stored = store.read_noted(id, Some(&commit.to_string()))?;
    let withheld = stored_extras(store, &stored)?.withheld.into_keys();
    Ok(withheld.filter(|path| plan.entry(path).is_some()).collect())
}

/// Of the paths of which a snapshot recorded an ACL the permission bits that they have where it is not given: those alone let in nobody whom it
/// kept out. `extras`: the snapshot's.
///
/// # Errors
/// Its lists or trees cannot be read.
pub fn bits_without_acls(
    store: &Store,
    stored: &Stored,
    extras: &Extras,
) -> Result<BTreeMap<Vec<u8>, u32>> {
    let mut found = BTreeMap::new();
    let mut listed = store.recorded_access(stored)?.paths;
    listed.retain(|_, access| access.has_acl());
    if listed.is_empty() {
        return Ok(found);
    }
    let files = tree::flatten(&store.objects, stored.tree)?;
    let modes: BTreeMap<&[u8], u32> = files
        .iter()
        .map(|(path, node)| (path.as_slice(), node.mode))
        .collect();
    for (path, access) in listed {
        let beneath = path::join(&path, b"");
        let first = modes.range(beneath.as_slice()..).next();
        let is_dir = first.is_some_and(|(file, _)| file.starts_with(&beneath))
            || extras.leads_to_empty_dir(&path);
        let file = modes.get(path.as_slice()).copied();
        let Some(mode) = file.or(is_dir.then_some(tree::DIR_MODE)) else {
            continue;
        };
        // What is usual here is looked at when they are used.
        let recorded = extras.recorded_permissions(&path, mode);
        let bits = access.bits_without_acl(recorded);
        found.extend(bits.map(|bits| (path, bits)));
    }
    Ok(found)
}

/// Whether what somebody left looks as it was before, with the same tree: the same permission bits, no directory more in which nothing
/// is, and none less. Of the paths that `counts` takes. A directory with nothing captured in it may hold what git ignores: `is_bare` tells. One
/// that is not listed any more may have a rule that hides it, or such a file in its place: `is_gone` tells. Owners and attributes do not count.
///
/// # Errors
/// The tree cannot be read.
pub fn looks_as_before(
    trees: &dyn ReadTree,
    tree: Oid,
    (before, now): (&Extras, &Extras),
    counts: impl Fn(&[u8]) -> bool,
    (is_bare, is_gone): (impl Fn(&[u8]) -> bool, impl Fn(&[u8]) -> bool),
) -> Result<bool> {
    // What was pulled is cut to what is usual, whatever it records.
    if !before.is_pulled && before.records_as(now) {
        return Ok(true);
    }
    let bare = now.empty_dirs.iter();
    let bare = bare.filter(|dir| counts(dir) && is_bare(dir));
    let mut dirs: BTreeSet<Vec<u8>> = bare.cloned().collect();
    let mut lost = before.empty_dirs.difference(&now.empty_dirs);
    if dirs.iter().any(|dir| !before.leads_to_empty_dir(dir))
        || lost.any(|dir| counts(dir) && is_gone(dir))
    {
        return Ok(false);
    }
    let over: Vec<_> = dirs
        .iter()
        .flat_map(|dir| path::with_parents(dir))
        .map(<[u8]>::to_vec)
        .collect();
    dirs.extend(over);
    let differs = |path: &[u8], mode| before.permissions(path, mode) != now.permissions(path, mode);
    for (full, node) in tree::flatten(trees, tree)? {
        let is_absent = before.absent.contains(&full) || now.absent.contains(&full);
        if is_absent || !counts(&full) {
            continue;
        }
        let is_file = node.mode != tree::LINK_MODE && !node.is_gitlink();
        if is_file && differs(&full, node.mode) {
            return Ok(false);
        }
        let above = path::split(&full).0;
        dirs.extend(path::with_parents(above).map(<[u8]>::to_vec));
    }
    dirs.remove(&b""[..]);
    Ok(!dirs.iter().any(|dir| differs(dir, tree::DIR_MODE)))
}

/// The extras of what is there now.
///
/// # Errors
/// Something that has attributes cannot be looked at.
pub fn captured_extras(ctx: &Context<'_>, capture: &Capture<'_>) -> Result<Extras> {
    Ok(Extras {
        access: capture.access(ctx)?.clone(),
        ..captured_bits(capture)
    })
}

/// The same without owners and attributes.
pub fn captured_bits(capture: &Capture<'_>) -> Extras {
    let lists = capture.lists();
    Extras {
        modes: lists.modes,
        defaults: capture.derived().usual_modes,
        empty_dirs: lists.empty_dirs.into_iter().collect(),
        absent: lists.absent.into_iter().collect(),
        access: AccessList::default(),
        foreign: false,
        is_pulled: false,
        claimed: false,
        withheld: BTreeMap::new(),
        replaced: None,
    }
}
