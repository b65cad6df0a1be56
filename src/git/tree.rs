//! Trees: strict parsing, encoding, and the difference of two, without touching what is equal.
//!
//! What is read may be hostile: entries out of order, twice, with unsafe names or without a mode, or nesting without end make the
//! whole tree refused. A tree of the user's own commits may have unsafe names and is theirs all the same: [`parse_any_names`] takes it,
//! and [`safe_part`] is what other functions may read of it. Modes are what git takes them for; who is to refuse those that it does not
//! write asks [`odd_mode`].

mod lookup;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use super::path;
use super::{ObjectFormat, Oid};
use crate::error::{Code, Error, Result};
use crate::work::{Work, count};

pub use lookup::Lookup;

/// Mode of a directory entry.
pub const DIR_MODE: u32 = 0o040_000;
/// Mode of a symlink entry.
pub const LINK_MODE: u32 = 0o120_000;
/// Mode of a submodule entry.
pub const GITLINK_MODE: u32 = 0o160_000;
/// Longest path, bytes; Linux's `PATH_MAX` is 4096, deeper trees can be made component by component but not by us.
const LONGEST_PATH: usize = 65_536;
/// Deepest nesting of directories.
const DEEPEST: usize = 8_192;

/// A mode and an object: what a path is in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// `0o100644`, `0o100755`, `0o120000`, `0o160000`, or `0o040000`.
    pub mode: u32,
    /// The object.
    pub oid: Oid,
}

impl Node {
    /// A directory.
    pub fn is_dir(self) -> bool {
        self.mode == DIR_MODE
    }

    /// A submodule's commit.
    pub fn is_gitlink(self) -> bool {
        self.mode == GITLINK_MODE
    }

    /// Whether both are files with the same bytes. One may be executable: with `core.fileMode=false` the index says so, whatever the
    /// permission bits are.
    pub fn is_same_file(self, other: Self) -> bool {
        let is_plain = |node: Self| node.mode & 0o170_000 == 0o100_000;
        self.oid == other.oid && is_plain(self) && is_plain(other)
    }
}

/// One entry of a tree.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its mode and its object.
    pub node: Node,
}

/// Orders names as git does in trees: a directory as if its name ended in `/`.
pub fn tree_order(a: (&[u8], bool), b: (&[u8], bool)) -> Ordering {
    let common = a.0.len().min(b.0.len());
    a.0[..common].cmp(&b.0[..common]).then_with(|| {
        let next = |(name, is_dir): (&[u8], bool)| {
            name.get(common)
                .copied()
                .map_or(if is_dir { i16::from(b'/') } else { 0 }, i16::from)
        };
        next(a).cmp(&next(b)).then(a.0.len().cmp(&b.0.len()))
    })
}

/// Parses a tree that names objects in this format, which is that of its own id.
///
/// # Errors
/// `CORRUPT_RECORD` when it is torn, unsorted, holds a name twice, an unsafe name or a mode that is none to git.
pub fn parse(bytes: &[u8], format: ObjectFormat) -> Result<Vec<Entry<'_>>> {
    let entries = parse_any_names(bytes, format)?;
    match entries.iter().find(|entry| !is_safe(entry)) {
        Some(entry) => Err(refused("it has an unsafe name", entry.name)),
        None => Ok(entries),
    }
}

/// Parses a tree as [`parse`] does, whatever its names: for those who write none of them anywhere.
///
/// # Errors
/// As [`parse`], but for unsafe names.
pub fn parse_any_names(bytes: &[u8], format: ObjectFormat) -> Result<Vec<Entry<'_>>> {
    count(Work::TreeReads);
    let mut entries: Vec<Entry<'_>> = Vec::with_capacity(bytes.len() / 32);
    let mut rest = bytes;
    while !rest.is_empty() {
        let (entry, after) = parse_entry(rest, format)?;
        rest = after;
        if let Some(last) = entries.last() {
            let before = (last.name, last.node.is_dir());
            if tree_order(before, (entry.name, entry.node.is_dir())).is_ge() {
                return Err(refused("its entries are not in order", entry.name));
            }
        }
        // The same name as file and as directory sorts apart; git refuses that too.
        if entry.node.is_dir() && has_file_twin(&entries, entry.name) {
            return Err(refused("it holds a name twice", entry.name));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// What a tree leads to, whatever its names are and however they are ordered: for whoever copies it as it is. None: it is torn.
pub fn leads_to(bytes: &[u8], format: ObjectFormat) -> Option<Vec<Node>> {
    let mut nodes = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (RawEntry { mode, oid, .. }, after) = split_entry(rest, format)?;
        let mode = mode_of(mode)?;
        nodes.push(Node { mode, oid });
        rest = after;
    }
    Some(nodes)
}

/// The first mode in a tree that no git writes of itself, in octal digits: `git fsck --strict` complains of it, also where only a zero comes first.
pub fn odd_mode(bytes: &[u8], format: ObjectFormat) -> Option<&[u8]> {
    let known: [&[u8]; 6] = [
        b"100644", b"100755", b"100664", b"120000", b"160000", b"40000",
    ];
    let mut rest = bytes;
    while let Some((entry, after)) = split_entry(rest, format) {
        if !known.contains(&entry.mode) {
            return Some(entry.mode);
        }
        rest = after;
    }
    None
}

/// What is left of a tree without the entries that have unsafe names.
///
/// # Errors
/// As [`parse_any_names`].
pub fn safe_part(bytes: Vec<u8>, format: ObjectFormat) -> Result<Vec<u8>> {
    let mut entries = parse_any_names(&bytes, format)?;
    let all = entries.len();
    entries.retain(is_safe);
    if entries.len() == all {
        return Ok(bytes);
    }
    Ok(encode(&mut entries))
}

fn is_safe(entry: &Entry<'_>) -> bool {
    let is_link = entry.node.mode == LINK_MODE;
    path::is_safe_component(entry.name) && (!is_link || path::is_safe_link(entry.name))
}

fn has_file_twin(entries: &[Entry<'_>], name: &[u8]) -> bool {
    // Only names that start with `name` lie between the two places.
    entries
        .iter()
        .rev()
        .take_while(|entry| entry.name.starts_with(name))
        .any(|entry| entry.name == name)
}

/// An entry as it stands in a tree.
struct RawEntry<'a> {
    /// Octal digits.
    mode: &'a [u8],
    name: &'a [u8],
    oid: Oid,
}

/// The first entry, and what comes after it. None: the tree is torn.
fn split_entry(bytes: &[u8], format: ObjectFormat) -> Option<(RawEntry<'_>, &[u8])> {
    let space = bytes.iter().position(|&byte| byte == b' ')?;
    let (mode, named) = (bytes.get(..space)?, bytes.get(space + 1..)?);
    let end = named.iter().position(|&byte| byte == 0)?;
    let (name, rest) = (named.get(..end)?, named.get(end + 1..)?);
    let (oid, after) = format.split(rest)?;
    Some((RawEntry { mode, name, oid }, after))
}

fn parse_entry(bytes: &[u8], format: ObjectFormat) -> Result<(Entry<'_>, &[u8])> {
    let entry = split_entry(bytes, format);
    let torn = || Error::new(Code::CorruptRecord, "a tree is torn");
    let (RawEntry { mode, name, oid }, after) = entry.ok_or_else(torn)?;
    let mode = mode_of(mode).ok_or_else(|| refused("it has an entry without a mode", name))?;
    let node = Node { mode, oid };
    Ok((Entry { name, node }, after))
}

/// The mode that git takes these digits for, whatever permission bits old gits and other programs wrote: it goes by the type alone, and
/// what has none that it knows is a submodule to it (its `canon_mode`). None: they are no octal digits.
fn mode_of(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    // As in git, digits that are too many go.
    let mode = digits.iter().try_fold(0u32, |mode, &digit| {
        matches!(digit, b'0'..=b'7').then(|| (mode << 3) | u32::from(digit - b'0'))
    })?;
    Some(match mode & 0o170_000 {
        0o100_000 if mode & 0o100 != 0 => 0o100_755,
        0o100_000 => 0o100_644,
        known @ (DIR_MODE | LINK_MODE) => known,
        _ => GITLINK_MODE,
    })
}

fn refused(why: &str, name: &[u8]) -> Error {
    Error::new(
        Code::CorruptRecord,
        format!("tree refused: {why}: '{}'", path::display(name)),
    )
}

/// The bytes of a tree; entries in any order.
pub fn encode(entries: &mut [Entry<'_>]) -> Vec<u8> {
    entries.sort_by(|a, b| tree_order((a.name, a.node.is_dir()), (b.name, b.node.is_dir())));
    let mut out = Vec::with_capacity(entries.len() * 40);
    for entry in entries.iter() {
        put_mode(&mut out, entry.node.mode);
        out.push(b' ');
        out.extend_from_slice(entry.name);
        out.push(0);
        out.extend_from_slice(entry.node.oid.as_bytes());
    }
    out
}

/// A mode as trees have it: octal digits, no leading zero.
fn put_mode(out: &mut Vec<u8>, mode: u32) {
    let digits = (32 - mode.leading_zeros()).div_ceil(3).max(1);
    for digit in (0..digits).rev() {
        out.push(b"01234567"[(mode >> (3 * digit) & 7) as usize]);
    }
}

/// How a path differs between two trees. Directories never stand for themselves, only what is in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: Vec<u8>,
    /// In the first tree.
    pub old: Option<Node>,
    /// In the second tree.
    pub new: Option<Node>,
}

/// How a tree is parsed: as [`parse`] or as [`parse_any_names`] does it.
pub type Parse = fn(&[u8], ObjectFormat) -> Result<Vec<Entry<'_>>>;

/// Where trees are read from: the repository, or with what is not stored there yet.
pub trait ReadTree {
    /// A tree's bytes.
    ///
    /// # Errors
    /// When it is missing, torn or no tree.
    fn read_tree(&self, oid: Oid) -> Result<Vec<u8>>;
}

impl<F: Fn(Oid) -> Result<Vec<u8>>> ReadTree for F {
    fn read_tree(&self, oid: Oid) -> Result<Vec<u8>> {
        self(oid)
    }
}

/// The paths that differ between two trees, sorted by bytes. Equal subtrees are not read.
pub fn diff(trees: &dyn ReadTree, old: Option<Oid>, new: Option<Oid>) -> Result<Vec<Change>> {
    diff_sides((trees, old), (trees, new))
}

/// As [`diff`], of trees that are read in different ways: one may be of the user's own commits, and the other is not to be trusted.
pub fn diff_sides(
    old: (&dyn ReadTree, Option<Oid>),
    new: (&dyn ReadTree, Option<Oid>),
) -> Result<Vec<Change>> {
    diff_by(parse, old, new)
}

fn diff_by(
    parse: Parse,
    (old_trees, old): (&dyn ReadTree, Option<Oid>),
    (new_trees, new): (&dyn ReadTree, Option<Oid>),
) -> Result<Vec<Change>> {
    let mut changes = Vec::new();
    // A list and not recursion: how deep a tree nests must not depend on the stack.
    let mut pending = vec![(Vec::new(), old, new, 0)];
    while let Some((dir, old, new, depth)) = pending.pop() {
        if old == new {
            continue;
        }
        check_depth(&dir, depth)?;
        let old_bytes = old
            .map(|oid| old_trees.read_tree(oid))
            .transpose()?
            .unwrap_or_default();
        let new_bytes = new
            .map(|oid| new_trees.read_tree(oid))
            .transpose()?
            .unwrap_or_default();
        // In tree order a file and a directory of one name may stand apart; by name they meet.
        let format = format_of(old.or(new));
        let pairs = Pairs {
            old: by_name(parse(&old_bytes, format)?).into_iter().peekable(),
            new: by_name(parse(&new_bytes, format)?).into_iter().peekable(),
        };
        for Pair {
            name,
            before,
            after,
        } in pairs
        {
            if before == after {
                continue;
            }
            let full = path::join(&dir, name);
            let tree_of =
                |node: Option<Node>| node.filter(|node| node.is_dir()).map(|node| node.oid);
            let leaf_of = |node: Option<Node>| node.filter(|node| !node.is_dir());
            let (old_leaf, new_leaf) = (leaf_of(before), leaf_of(after));
            if old_leaf != new_leaf {
                changes.push(Change {
                    path: full.clone(),
                    old: old_leaf,
                    new: new_leaf,
                });
            }
            let (old_tree, new_tree) = (tree_of(before), tree_of(after));
            if old_tree != new_tree {
                pending.push((full, old_tree, new_tree, depth + 1));
            }
        }
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

/// The format of a tree's entries. There are none in no tree.
fn format_of(tree: Option<Oid>) -> ObjectFormat {
    tree.map(|oid| oid.format()).unwrap_or_default()
}

fn by_name(mut entries: Vec<Entry<'_>>) -> Vec<Entry<'_>> {
    entries.sort_by(|a, b| a.name.cmp(b.name));
    entries
}

/// The entries of two trees, sorted by name, that have one name.
struct Pairs<'a> {
    old: Peekable<IntoIter<Entry<'a>>>,
    new: Peekable<IntoIter<Entry<'a>>>,
}

/// A name, and what it is in two trees.
struct Pair<'a> {
    name: &'a [u8],
    before: Option<Node>,
    after: Option<Node>,
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Pair<'a>;

    fn next(&mut self) -> Option<Pair<'a>> {
        let order = match (self.old.peek(), self.new.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.name.cmp(b.name),
        };
        let before = if order.is_le() { self.old.next() } else { None };
        let after = if order.is_ge() { self.new.next() } else { None };
        Some(Pair {
            name: before.or(after)?.name,
            before: before.map(|entry| entry.node),
            after: after.map(|entry| entry.node),
        })
    }
}

fn check_depth(dir: &[u8], depth: usize) -> Result<()> {
    if depth > DEEPEST || dir.len() > LONGEST_PATH {
        let start = &dir[..dir.len().min(60)];
        return Err(refused("it nests too deep", start));
    }
    Ok(())
}

/// What stands at a path in a tree.
pub fn find(trees: &dyn ReadTree, root: Oid, wanted: &[u8]) -> Result<Option<Node>> {
    find_by(parse, trees, root, wanted)
}

/// As [`find`], whatever the tree's names.
pub fn find_any_names(trees: &dyn ReadTree, root: Oid, wanted: &[u8]) -> Result<Option<Node>> {
    find_by(parse_any_names, trees, root, wanted)
}

fn find_by(parse: Parse, trees: &dyn ReadTree, root: Oid, wanted: &[u8]) -> Result<Option<Node>> {
    walk(root, wanted, |tree, name| {
        let bytes = trees.read_tree(tree)?;
        let entries = parse(&bytes, tree.format())?;
        let found = entries.iter().find(|entry| entry.name == name);
        Ok(found.map(|entry| entry.node))
    })
}

/// What stands at a path below a tree, by what stands for a name in each tree on the way.
fn walk(
    root: Oid,
    wanted: &[u8],
    mut named: impl FnMut(Oid, &[u8]) -> Result<Option<Node>>,
) -> Result<Option<Node>> {
    let mut node = Node {
        mode: DIR_MODE,
        oid: root,
    };
    if wanted.is_empty() {
        return Ok(Some(node));
    }
    for part in wanted.split(|&byte| byte == b'/') {
        if !node.is_dir() {
            return Ok(None);
        }
        match named(node.oid, part)? {
            Some(found) => node = found,
            None => return Ok(None),
        }
    }
    Ok(Some(node))
}

/// The bytes-only change of one tree: `edits` maps paths to what they become; answers the new root.
/// Directories that become empty go. Objects made are handed to `put`.
pub fn edit(
    trees: &dyn ReadTree,
    put: &mut dyn FnMut(&[u8]) -> Result<Oid>,
    root: Option<Oid>,
    edits: &[(Vec<u8>, Option<Node>)],
) -> Result<Oid> {
    edit_by(parse, trees, put, root, edits)
}

/// As [`edit`], whatever the tree's names: those that stay do so as they are.
pub fn edit_any_names(
    trees: &dyn ReadTree,
    put: &mut dyn FnMut(&[u8]) -> Result<Oid>,
    root: Option<Oid>,
    edits: &[(Vec<u8>, Option<Node>)],
) -> Result<Oid> {
    edit_by(parse_any_names, trees, put, root, edits)
}

fn edit_by(
    parse: Parse,
    trees: &dyn ReadTree,
    put: &mut dyn FnMut(&[u8]) -> Result<Oid>,
    root: Option<Oid>,
    edits: &[(Vec<u8>, Option<Node>)],
) -> Result<Oid> {
    let mut sorted: Vec<(&[u8], Option<Node>)> = edits
        .iter()
        .map(|(path, node)| (path.as_slice(), *node))
        .collect();
    sorted.sort_by(|a, b| a.0.cmp(b.0));
    match edit_dir((parse, trees), put, root, &sorted, 0)? {
        Some(oid) => Ok(oid),
        None => put(b""),
    }
}

/// The edits beneath each directory, by its name; their paths start there.
fn edits_beneath<'a>(edits: &[Edit<'a>]) -> BTreeMap<&'a [u8], Vec<Edit<'a>>> {
    let mut beneath: BTreeMap<&[u8], Vec<Edit<'_>>> = BTreeMap::new();
    for (path, node) in edits {
        if let Some(at) = path.iter().position(|&byte| byte == b'/') {
            beneath
                .entry(&path[..at])
                .or_default()
                .push((&path[at + 1..], *node));
        }
    }
    beneath
}

/// What becomes of a path.
type Edit<'a> = (&'a [u8], Option<Node>);

fn edit_dir(
    (parse, trees): (Parse, &dyn ReadTree),
    put: &mut dyn FnMut(&[u8]) -> Result<Oid>,
    tree: Option<Oid>,
    edits: &[(&[u8], Option<Node>)],
    depth: usize,
) -> Result<Option<Oid>> {
    check_depth(b"", depth)?;
    let bytes = tree
        .map(|oid| trees.read_tree(oid))
        .transpose()?
        .unwrap_or_default();
    let mut entries: BTreeMap<Vec<u8>, Node> = parse(&bytes, format_of(tree))?
        .into_iter()
        .map(|entry| (entry.name.to_vec(), entry.node))
        .collect();
    // Removals come first: a file may give way to a directory of its name, or the other way round.
    for (name, node) in edits.iter().filter(|(path, _)| !path.contains(&b'/')) {
        if node.is_none() && entries.get(*name).is_some_and(|node| !node.is_dir()) {
            entries.remove(*name);
        }
    }
    for (name, edits) in edits_beneath(edits) {
        let old = entries
            .get(name)
            .filter(|node| node.is_dir())
            .map(|node| node.oid);
        let all_removals = edits.iter().all(|(_, node)| node.is_none());
        if old.is_none() && all_removals {
            continue;
        }
        match edit_dir((parse, trees), put, old, &edits, depth + 1)? {
            Some(oid) => {
                let node = Node {
                    mode: DIR_MODE,
                    oid,
                };
                entries.insert(name.to_vec(), node);
            }
            None => {
                entries.remove(name);
            }
        }
    }
    for (name, node) in edits.iter().filter(|(path, _)| !path.contains(&b'/')) {
        if let Some(node) = node {
            entries.insert(name.to_vec(), *node);
        }
    }
    if entries.is_empty() {
        return Ok(None);
    }
    let mut list: Vec<Entry<'_>> = entries
        .iter()
        .map(|(name, node)| Entry { name, node: *node })
        .collect();
    Ok(Some(put(&encode(&mut list))?))
}

/// Every file of a tree with its path, sorted by bytes.
pub fn flatten(trees: &dyn ReadTree, root: Oid) -> Result<Vec<(Vec<u8>, Node)>> {
    flatten_by(parse, trees, root)
}

/// As [`flatten`], whatever the tree's names.
pub fn flatten_any_names(trees: &dyn ReadTree, root: Oid) -> Result<Vec<(Vec<u8>, Node)>> {
    flatten_by(parse_any_names, trees, root)
}

fn flatten_by(parse: Parse, trees: &dyn ReadTree, root: Oid) -> Result<Vec<(Vec<u8>, Node)>> {
    let changes = diff_by(parse, (trees, None), (trees, Some(root)))?;
    Ok(changes
        .into_iter()
        .filter_map(|change| change.new.map(|node| (change.path, node)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::collections::HashMap;

    #[test]
    fn modes_are_octal_without_leading_zeros() {
        for mode in [0o100_644, 0o100_755, 0o120_000, 0o160_000, DIR_MODE, 0o7, 0] {
            let mut out = Vec::new();
            put_mode(&mut out, mode);
            assert_eq!(out, format!("{mode:o}").into_bytes());
        }
    }

    fn oid(byte: u8) -> Oid {
        Oid::from_bytes(&[byte; 20]).expect("20 bytes")
    }

    fn file(byte: u8) -> Node {
        Node {
            mode: 0o100_644,
            oid: oid(byte),
        }
    }

    #[derive(Default)]
    struct Memory(RefCell<HashMap<Oid, Vec<u8>>>);

    impl Memory {
        #[expect(
            clippy::unnecessary_wraps,
            reason = "the shape that readers of trees have"
        )]
        fn read(&self, oid: Oid) -> Result<Vec<u8>> {
            Ok(self.0.borrow().get(&oid).cloned().expect("a known tree"))
        }

        fn put(&self, bytes: &[u8]) -> Result<Oid> {
            let mut sum = [0u8; 20];
            for (at, byte) in bytes.iter().enumerate() {
                sum[at % 20] = sum[at % 20].wrapping_mul(31).wrapping_add(*byte);
            }
            let oid = Oid::from_bytes(&sum)?;
            self.0.borrow_mut().insert(oid, bytes.to_vec());
            Ok(oid)
        }

        fn edit(&self, root: Option<Oid>, edits: &[(&str, Option<Node>)]) -> Oid {
            let edits: Vec<_> = edits
                .iter()
                .map(|(path, node)| (path.as_bytes().to_vec(), *node))
                .collect();
            edit(
                &|oid| self.read(oid),
                &mut |bytes| self.put(bytes),
                root,
                &edits,
            )
            .expect("edit")
        }

        fn paths(&self, root: Oid) -> Vec<String> {
            flatten(&|oid| self.read(oid), root)
                .expect("flatten")
                .into_iter()
                .map(|(path, _)| String::from_utf8(path).expect("utf-8"))
                .collect()
        }
    }

    #[test]
    fn edits_make_and_unmake_directories() {
        let memory = Memory::default();
        let root = memory.edit(
            None,
            &[
                ("a/b/c", Some(file(1))),
                ("a.x", Some(file(2))),
                ("z", Some(file(3))),
            ],
        );
        assert_eq!(memory.paths(root), ["a.x", "a/b/c", "z"]);
        let swapped = memory.edit(
            Some(root),
            &[
                ("a/b/c", None),
                ("a", Some(file(4))),
                ("z", None),
                ("z/y", Some(file(5))),
            ],
        );
        assert_eq!(memory.paths(swapped), ["a", "a.x", "z/y"]);
        let back = memory.edit(
            Some(swapped),
            &[
                ("a", None),
                ("a/b/c", Some(file(1))),
                ("z/y", None),
                ("z", Some(file(3))),
            ],
        );
        assert_eq!(back, root);
    }

    #[test]
    fn a_diff_names_leaves_only() {
        let memory = Memory::default();
        let old = memory.edit(
            None,
            &[
                ("d/x", Some(file(1))),
                ("f", Some(file(2))),
                ("same/s", Some(file(3))),
            ],
        );
        let new = memory.edit(
            Some(old),
            &[
                ("d/x", None),
                ("d", Some(file(4))),
                ("f", None),
                ("f/g", Some(file(5))),
            ],
        );
        let changes = diff(&|oid| memory.read(oid), Some(old), Some(new)).expect("diff");
        let told: Vec<_> = changes
            .iter()
            .map(|change| {
                (
                    String::from_utf8_lossy(&change.path).into_owned(),
                    change.old.is_some(),
                    change.new.is_some(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("d".to_owned(), false, true),
                ("d/x".to_owned(), true, false),
                ("f".to_owned(), true, false),
                ("f/g".to_owned(), false, true)
            ]
        );
    }

    fn raw(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut out = Vec::new();
        for (mode, name) in entries {
            out.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            out.extend_from_slice(&[1; 20]);
        }
        out
    }

    #[test]
    fn hostile_trees_are_refused() {
        for entries in [
            &[("100644", "..")][..],
            &[("100644", ".git")],
            &[("40000", ".GIT")],
            &[("100644", "a/b")],
            &[("100644", "b"), ("100644", "a")],
            &[("100644", "a"), ("100644", "a")],
            &[("100644", "a"), ("100644", "a.b"), ("40000", "a")],
            &[("99", "a")],
            &[("", "a")],
            &[("100644", "")],
        ] {
            assert!(
                parse(&raw(entries), ObjectFormat::Sha1).is_err(),
                "{entries:?}"
            );
        }
        let good = raw(&[("100644", "a"), ("100644", "a.b"), ("40000", "a0")]);
        assert!(parse(&good, ObjectFormat::Sha1).is_ok());
        for at in 1..good.len() {
            let between_entries = at == 29 || at == 60;
            assert_eq!(
                parse(&good[..at], ObjectFormat::Sha1).is_ok(),
                between_entries,
                "torn at {at}"
            );
        }
    }

    #[test]
    fn modes_are_what_git_takes_them_for() {
        for (digits, mode) in [
            ("100000", 0o100_644),
            ("100044", 0o100_644),
            ("0100644", 0o100_644),
            ("000100711", 0o100_755),
            ("120777", LINK_MODE),
            ("40755", DIR_MODE),
            ("160755", GITLINK_MODE),
            ("160644", GITLINK_MODE),
            // No type of its own, and that of a device.
            ("644", GITLINK_MODE),
            ("60644", GITLINK_MODE),
        ] {
            let bytes = raw(&[(digits, "a")]);
            let entries = parse(&bytes, ObjectFormat::Sha1).expect(digits);
            let modes: Vec<u32> = entries.iter().map(|entry| entry.node.mode).collect();
            assert_eq!(modes, [mode], "{digits}");
            let nodes = leads_to(&bytes, ObjectFormat::Sha1).expect(digits);
            assert_eq!(nodes.first().map(|node| node.mode), Some(mode), "{digits}");
        }
    }

    #[test]
    fn the_safe_part_of_a_tree_has_no_unsafe_names() {
        let entries = [
            ("100644", ".git "),
            ("120000", ".gitmodules"),
            ("100644", "a"),
            ("100664", "b"),
            ("40000", "git~1"),
        ];
        let all = raw(&entries);
        assert!(parse(&all, ObjectFormat::Sha1).is_err());
        let any = parse_any_names(&all, ObjectFormat::Sha1).expect("theirs");
        assert_eq!(any.len(), entries.len());
        let safe = safe_part(all, ObjectFormat::Sha1).expect("the rest");
        assert_eq!(safe, raw(&[("100644", "a"), ("100644", "b")]));
        // Nothing is left out, and nothing changes.
        let old = raw(&[("100664", "b")]);
        let same = safe_part(old.clone(), ObjectFormat::Sha1).expect("all");
        assert_eq!(same, old);
        assert!(safe_part(b"torn".to_vec(), ObjectFormat::Sha1).is_err());
    }

    #[test]
    fn nesting_without_end_is_refused() {
        let bytes = raw(&[("40000", "d")]);
        let error = diff(&|_| Ok(bytes.clone()), None, Some(oid(1))).expect_err("a cycle");
        assert_eq!(error.code(), Code::CorruptRecord);
    }
}
