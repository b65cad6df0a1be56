//! The `packed-refs` file, written anew without some refs, or with more.
//!
//! Owns `packed-refs.lock` and, as git does, holds it until the loose files are gone too: a `git pack-refs` in between
//! would pack them again. So the new content goes by way of `packed-refs.new`. The other lines, other people's branches
//! among them, stay byte for byte, and the new file is synced before it takes the old one's place.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, ResultExt};
use crate::git::Oid;
use crate::git::create;

use super::lock::{LockError, LockFile, Locking};
use super::packed::{Line, parse_line};

/// The locked file and what stands in it.
#[derive(Debug)]
pub(super) struct Rewrite {
    _lock: LockFile,
    path: PathBuf,
    data: Vec<u8>,
}

impl Rewrite {
    /// Locks and reads the file. The lock is needed even when it lists none of the refs to delete: a `git pack-refs`
    /// under way may be about to write them.
    pub(super) fn begin(common_dir: &Path, locking: &mut Locking) -> Result<Self, LockError> {
        let link = common_dir.join("packed-refs");
        // Git locks, and replaces, what a symlinked packed-refs leads to.
        let path = std::fs::canonicalize(&link).unwrap_or(link);
        let lock = locking.take(common_dir, &path, b"")?;
        let data = match crate::git::regular::read(&path) {
            Ok(data) => data,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        Ok(Self {
            _lock: lock,
            path,
            data,
        })
    }

    /// The packed values of those of `names` that are packed.
    pub(super) fn values(&self, names: &HashSet<&str>) -> Result<HashMap<String, Oid>, Error> {
        let mut values = HashMap::new();
        for line in lines(&self.data) {
            if let Line::Record(oid, name) = parse_line(trim(line))?
                && let Ok(name) = std::str::from_utf8(name)
                && names.contains(name)
            {
                values.insert(name.to_owned(), oid);
            }
        }
        Ok(values)
    }

    /// Puts the file without `gone` in place and keeps the lock. Nothing is written when it lists none of them.
    pub(super) fn replace(&self, gone: &HashSet<&str>) -> Result<(), Error> {
        let kept = without(&self.data, gone)?;
        if kept.len() == self.data.len() {
            return Ok(());
        }
        self.write(&kept).context(|| "writing 'packed-refs'")
    }

    /// Puts the file with `more` in place, each in place of what it lists under that name, and keeps the lock. No: the file is
    /// not sorted, or does not say of all refs what they peel to, and stays as it is.
    pub(super) fn add(&self, more: &BTreeMap<String, Oid>) -> Result<bool, Error> {
        let Some(merged) = merged(&self.data, more)? else {
            return Ok(false);
        };
        self.write(&merged).context(|| "writing 'packed-refs'")?;
        Ok(true)
    }

    fn write(&self, content: &[u8]) -> io::Result<()> {
        let new = new_path(&self.path);
        // One left by a process that died: whoever holds the lock owns this name.
        let _ = std::fs::remove_file(&new);
        let written = create::new_file(&new, 0o666).and_then(|mut file| {
            match std::fs::metadata(&self.path) {
                Ok(old) => file.set_permissions(old.permissions())?,
                // The first of its name has what the umask leaves, as git's has.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            // The bits of the old one may be of a time before the repository was shared.
            create::settle(&file, &self.path)?;
            file.write_all(content)?;
            file.sync_all()?;
            std::fs::rename(&new, &self.path)
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        written
    }
}

/// Where the new content is written, under the lock.
pub(super) fn new_path(packed: &Path) -> PathBuf {
    let mut new = packed.as_os_str().to_owned();
    new.push(".new");
    new.into()
}

fn without(data: &[u8], gone: &HashSet<&str>) -> Result<Vec<u8>, Error> {
    let mut kept = Vec::with_capacity(data.len());
    let mut keeping = true;
    for line in lines(data) {
        keeping = match parse_line(trim(line))? {
            Line::Record(_, name) => {
                !std::str::from_utf8(name).is_ok_and(|name| gone.contains(name))
            }
            // A peeled line goes with the ref above it.
            Line::Peeled => keeping,
            Line::Comment(_) => true,
        };
        if keeping {
            kept.extend_from_slice(line);
        }
    }
    Ok(kept)
}

/// The header that git writes.
const HEADER: &[u8] = b"# pack-refs with: peeled fully-peeled sorted \n";

fn merged(data: &[u8], more: &BTreeMap<String, Oid>) -> Result<Option<Vec<u8>>, Error> {
    let data = if data.is_empty() { HEADER } else { data };
    let header = lines(data).next().unwrap_or_default();
    let has = |word: &str| {
        trim(header)
            .split(|&byte| byte == b' ')
            .any(|it| it == word.as_bytes())
    };
    if !header.starts_with(b"# pack-refs with:") || !has("sorted") || !has("fully-peeled") {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(data.len() + more.len() * 100);
    let mut more = more.iter().peekable();
    let mut replaced = false;
    for line in lines(data) {
        match parse_line(trim(line))? {
            Line::Record(_, name) => {
                replaced = false;
                while let Some((new, oid)) = more.next_if(|(new, _)| new.as_bytes() <= name) {
                    replaced = new.as_bytes() == name;
                    push(&mut out, *oid, new);
                }
                if !replaced {
                    out.extend_from_slice(line);
                }
            }
            // What the ref above peels to; ours peel to nothing.
            Line::Peeled if replaced => {}
            Line::Peeled | Line::Comment(_) => out.extend_from_slice(line),
        }
    }
    more.for_each(|(new, oid)| push(&mut out, *oid, new));
    Ok(Some(out))
}

fn push(out: &mut Vec<u8>, oid: Oid, name: &str) {
    out.extend_from_slice(format!("{oid} {name}\n").as_bytes());
}

fn lines(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split_inclusive(|&byte| byte == b'\n')
}

fn trim(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::liveness::Flush;

    #[test]
    fn a_ref_goes_with_its_peeled_line_and_nothing_else() {
        let hex = "8ab686eafeb1f44702738c8b0f24f2567c36da6d";
        let text = format!(
            "# pack-refs with: peeled fully-peeled sorted \n{hex} refs/a\n^{hex}\n{hex} refs/b\n{hex} refs/c\n^{hex}\n"
        );
        let kept = without(text.as_bytes(), &HashSet::from(["refs/a", "refs/b"])).expect("read");
        let wanted =
            format!("# pack-refs with: peeled fully-peeled sorted \n{hex} refs/c\n^{hex}\n");
        assert_eq!(String::from_utf8_lossy(&kept), wanted);
    }

    #[test]
    fn more_refs_take_their_places_among_the_others() {
        let [old, new] = ["8a", "9b"].map(|two| two.repeat(20));
        let refs = |names: &[&str]| -> BTreeMap<String, Oid> {
            let oid = Oid::from_hex(&new).expect("hex");
            names.iter().map(|name| ((*name).to_owned(), oid)).collect()
        };
        let head = "# pack-refs with: peeled fully-peeled sorted \n";
        let text = format!("{head}{old} refs/b\n^{old}\n{old} refs/d\n^{old}\n");
        let all = merged(
            text.as_bytes(),
            &refs(&["refs/a", "refs/b", "refs/c", "refs/e"]),
        );
        let wanted = format!(
            "{head}{new} refs/a\n{new} refs/b\n{new} refs/c\n{old} refs/d\n^{old}\n{new} refs/e\n"
        );
        let all = all.expect("read").expect("sorted");
        assert_eq!(String::from_utf8_lossy(&all), wanted);
        let first = merged(b"", &refs(&["refs/a"])).expect("read");
        assert_eq!(first, Some(format!("{head}{new} refs/a\n").into_bytes()));
        for head in [
            "",
            "# pack-refs with: peeled \n",
            "# pack-refs with: peeled sorted \n",
        ] {
            let text = format!("{head}{old} refs/b\n");
            assert_eq!(
                merged(text.as_bytes(), &refs(&["refs/a"])).expect("read"),
                None
            );
        }
        merged(format!("{head}nonsense\n").as_bytes(), &refs(&["refs/a"])).expect_err("nonsense");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_left_alone() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let path = dir.path().join("packed-refs");
        std::fs::write(&path, "nonsense\n").expect("write");
        let rewrite =
            Rewrite::begin(dir.path(), &mut Locking::new(dir.path(), Flush::No)).expect("lock");
        rewrite
            .replace(&HashSet::from(["refs/a"]))
            .expect_err("nonsense");
        assert!(dir.path().join("packed-refs.lock").exists());
        drop(rewrite);
        assert_eq!(std::fs::read(&path).expect("read"), b"nonsense\n");
        assert!(!dir.path().join("packed-refs.lock").exists());
    }
}
