//! From the bytes of an index file to an [`Index`]: header, entries, extensions, trailer, then split and sparse undone.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::arena::Arena;
use super::cursor::Cursor;
use super::entries::{self, HEADER};
use super::split::{self, Link};
use super::{
    CacheTree, Checksum, Entry, Index, MODE_DIRECTORY, Stat, TYPE_MASK, TreeProof, TreeSource,
    corrupt, sparse, unsupported,
};
use crate::error::{Result, ResultExt};
use crate::git::mapped::{self, Bytes, Use};
use crate::git::{ObjectFormat, Oid, objects, path};
use crate::work::{Work, count};

/// A file of this size is mapped, not read.
// A smaller one is read sooner than it is mapped.
const LARGE: u64 = 1 << 16;

/// One index file as it stands: possibly split, with folded directories, its order not yet checked.
pub(super) struct Raw {
    pub(super) format: ObjectFormat,
    pub(super) version: u32,
    pub(super) entries: Vec<Entry>,
    pub(super) paths: Arena,
    pub(super) cache_tree: Option<CacheTree>,
    pub(super) resolve_undo: Option<Vec<u8>>,
    pub(super) checksum: Oid,
    pub(super) link: Option<Link>,
    pub(super) was_split: bool,
    pub(super) was_sparse: bool,
}

/// Reads `file`, naming it in errors. See [`Index::read`].
pub(super) fn file(
    file: &Path,
    git_dir: &Path,
    trees: &dyn TreeSource,
    checksum: Checksum,
) -> Result<Index> {
    count(Work::IndexReads);
    let naming = || {
        let name = path::display(file.as_os_str().as_encoded_bytes());
        format!("cannot read index '{name}'")
    };
    let mut open = match crate::git::regular::open(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Index::new(trees.format()));
        }
        open => open.context(naming)?,
    };
    let meta = open.metadata().context(naming)?;
    let bytes = bytes_of(&mut open, meta.len()).context(naming)?;
    let mut index = whole(bytes, git_dir, trees, checksum).context(naming)?;
    index.file = Some(Stat::from(&meta));
    Ok(index)
}

/// All of an open file. A large one is mapped: most of it are paths that stay where they are.
fn bytes_of(file: &mut File, length: u64) -> io::Result<Bytes> {
    if length >= LARGE {
        // Some file systems cannot map.
        if let Ok(map) = mapped::map(file, Use::Whole) {
            return Ok(Bytes::Mapped(map));
        }
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0).min(1 << 30) + 1);
    file.read_to_end(&mut bytes)?;
    Ok(Bytes::Read(bytes))
}

/// Reads an index from its bytes. See [`Index::parse`].
pub(super) fn whole(
    bytes: Bytes,
    git_dir: &Path,
    trees: &dyn TreeSource,
    checksum: Checksum,
) -> Result<Index> {
    let raw = split::merge(raw(bytes, trees.format(), checksum)?, git_dir, checksum)?;
    let mut index = Index {
        format: raw.format,
        version: raw.version,
        entries: raw.entries,
        paths: raw.paths,
        cache_tree: raw.cache_tree,
        proof: TreeProof::Open,
        resolve_undo: raw.resolve_undo,
        checksum: raw.checksum,
        file: None,
        was_split: raw.was_split,
        was_sparse: raw.was_sparse,
        was_folded: Vec::new(),
        fold: Vec::new(),
        splits: false,
    };
    check_order(&index)?;
    let folded = |entry: &Entry| entry.mode & TYPE_MASK == MODE_DIRECTORY;
    if index.entries.iter().any(folded) {
        sparse::expand(&mut index, trees)?;
        index.was_sparse = true;
        check_order(&index)?;
    }
    Ok(index)
}

/// Reads one file, whatever its kind.
pub(super) fn raw(bytes: Bytes, format: ObjectFormat, check: Checksum) -> Result<Raw> {
    let (version, count) = header(&bytes)?;
    let end = bytes.len().checked_sub(format.width());
    let parts = end
        .filter(|end| *end >= HEADER)
        .and_then(|end| bytes.split_at_checked(end));
    let parts = parts.and_then(|(body, trailer)| Some((body, format.first_of(trailer)?)));
    let Some((body, checksum)) = parts else {
        return Err(corrupt("the file is cut short"));
    };
    if check == Checksum::Verify
        && !checksum.is_null()
        && objects::PlainHash::of(format, body) != checksum
    {
        return Err(corrupt("the checksum does not match"));
    }
    let entries = entries::decode(body, format, version, count)?;
    let mut raw = Raw {
        format,
        version,
        entries: entries.list,
        paths: Arena::default(),
        cache_tree: None,
        resolve_undo: None,
        checksum,
        link: None,
        was_split: false,
        was_sparse: false,
    };
    extensions(&mut raw, body.get(entries.end..).unwrap_or_default())?;
    raw.paths = entries.arena.map_or_else(|| bytes.into(), Arena::from);
    Ok(raw)
}

/// The version and the number of entries.
fn header(bytes: &[u8]) -> Result<(u32, usize)> {
    let mut rest = Cursor::new(bytes);
    let signature = rest.take(4);
    let (Some(b"DIRC"), Some(version), Some(count)) = (signature, rest.u32(), rest.u32()) else {
        return Err(corrupt("no index signature"));
    };
    if !(2..=4).contains(&version) {
        return Err(unsupported(format!("unknown index version {version}")));
    }
    Ok((version, count as usize))
}

/// Takes in the extensions that matter. A lower-case one that is not known changes what the entries mean.
fn extensions(raw: &mut Raw, bytes: &[u8]) -> Result<()> {
    let mut rest = Cursor::new(bytes);
    while !rest.is_empty() {
        let cut = || corrupt("an extension is cut short");
        let name: &[u8; 4] = rest.array().ok_or_else(cut)?;
        let len = rest.u32().ok_or_else(cut)? as usize;
        let payload = rest.take(len).ok_or_else(cut)?;
        match name {
            // Only a cache: git, too, goes on without one that it cannot read.
            b"TREE" => raw.cache_tree = CacheTree::parse(payload, raw.format),
            b"REUC" => raw.resolve_undo = Some(payload.to_vec()),
            b"link" => raw.link = Some(Link::parse(payload, raw.format)?),
            b"sdir" => raw.was_sparse = true,
            [b'A'..=b'Z', ..] => {}
            _ => {
                let name = path::display(name);
                return Err(unsupported(format!(
                    "the index uses the extension '{name}', which is not known"
                )));
            }
        }
    }
    Ok(())
}

/// Makes sure that every entry has a name and stands behind the one before it, with stages only where nothing is merged.
fn check_order(index: &Index) -> Result<()> {
    let mut last: Option<(&[u8], &Entry)> = None;
    for (path, entry) in index.iter() {
        if path.is_empty() {
            return Err(corrupt("an entry has no name"));
        }
        let in_order = match last {
            None => true,
            Some((before, earlier)) => match before.cmp(path) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => earlier.stage != 0 && earlier.stage < entry.stage,
                std::cmp::Ordering::Greater => false,
            },
        };
        if !in_order {
            let path = path::display(path);
            return Err(corrupt(format!("entry '{path}' is out of order")));
        }
        last = Some((path, entry));
    }
    Ok(())
}
