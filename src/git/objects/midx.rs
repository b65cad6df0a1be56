//! Which packs git's multi-pack-index names: it leads to objects by their places in those packs, so they stay as they are.
//!
//! Both forms are read: one `multi-pack-index`, and the chain of layers below `multi-pack-index.d`. What cannot be read may name
//! every pack.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::git::regular;

const HEADER: usize = 12;
/// An entry of the table of chunks: a name and an offset.
const ROW: usize = 12;

/// The packs that are named, without extension.
pub(super) struct Named(Option<HashSet<String>>);

impl Named {
    /// Reads what is in a `pack` directory.
    pub(super) fn read(dir: &Path) -> Self {
        let read = || {
            let mut all = HashSet::new();
            for path in files(dir)? {
                match regular::open(&path) {
                    Ok(file) => all.extend(names(&file)?),
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            Ok::<_, io::Error>(all)
        };
        Self(read().ok())
    }

    /// Whether this pack is, or may be, named.
    pub(super) fn has(&self, pack: &Path) -> bool {
        let stem = pack.file_stem().and_then(std::ffi::OsStr::to_str);
        match (&self.0, stem) {
            (Some(names), Some(stem)) => names.contains(stem),
            _ => true,
        }
    }
}

fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let layers = dir.join("multi-pack-index.d");
    let mut found = vec![dir.join("multi-pack-index")];
    match regular::read_to_string(layers.join("multi-pack-index-chain")) {
        Ok(chain) => found.extend(
            chain
                .lines()
                .map(|hash| layers.join(format!("multi-pack-index-{hash}.midx"))),
        ),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(found)
}

/// The names in the chunk `PNAM`: `pack-….idx`, each with a NUL.
fn names(file: &File) -> io::Result<Vec<String>> {
    let damaged = || io::Error::from(ErrorKind::InvalidData);
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0)?;
    // Signature, version, kind of ids, number of chunks.
    let (magic, chunks) = (&header[..4], usize::from(header[6]));
    if magic != b"MIDX" {
        return Err(damaged());
    }
    // The last row has no name and says where the last chunk ends.
    let mut table = vec![0; (chunks + 1) * ROW];
    file.read_exact_at(&mut table, HEADER as u64)?;
    let rows: Vec<&[u8]> = table.chunks_exact(ROW).collect();
    let offset = |row: &[u8]| {
        let bytes = row.get(4..).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u64::from_be_bytes).ok_or_else(damaged)
    };
    let at = rows.iter().position(|row| row.starts_with(b"PNAM"));
    let at = at.ok_or_else(damaged)?;
    let (start, end) = (
        offset(rows[at])?,
        offset(rows.get(at + 1).ok_or_else(damaged)?)?,
    );
    let length = end
        .checked_sub(start)
        .filter(|_| file.metadata().is_ok_and(|meta| end <= meta.len()))
        .and_then(|length| usize::try_from(length).ok());
    let mut text = vec![0; length.ok_or_else(damaged)?];
    file.read_exact_at(&mut text, start)?;
    let names = text
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty());
    names
        .map(|name| {
            let name = std::str::from_utf8(name).map_err(|_| damaged())?;
            let (stem, _) = name.rsplit_once('.').ok_or_else(damaged)?;
            Ok(stem.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::refs::sandbox::Sandbox;

    #[test]
    fn every_pack_of_a_multi_pack_index_is_named() {
        let sandbox = Sandbox::new();
        let dir = sandbox.git_dir().join("objects/pack");
        let commit = sandbox.commit("one").to_string();
        sandbox.git(&["update-ref", "refs/heads/main", &commit]);
        assert!(!Named::read(&dir).has(Path::new("pack-0.pack")));
        sandbox.git(&["repack", "-dq"]);
        sandbox.git(&["multi-pack-index", "write"]);
        let entries = std::fs::read_dir(&dir).expect("there");
        let packs: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "pack"))
            .collect();
        let named = Named::read(&dir);
        assert!(packs.iter().all(|pack| named.has(pack)), "{packs:?}");
        assert!(!named.has(Path::new("pack-0.pack")));
        // The same as a layer of a chain.
        let layers = dir.join("multi-pack-index.d");
        std::fs::create_dir(&layers).expect("made");
        let whole = dir.join("multi-pack-index");
        std::fs::rename(&whole, layers.join("multi-pack-index-00ff.midx")).expect("moved");
        std::fs::write(layers.join("multi-pack-index-chain"), "00ff\n").expect("written");
        let named = Named::read(&dir);
        assert!(packs.iter().all(|pack| named.has(pack)), "{packs:?}");
        assert!(!named.has(Path::new("pack-0.pack")));
        std::fs::write(&whole, "torn").expect("written");
        assert!(Named::read(&dir).has(Path::new("pack-0.pack")));
    }
}
