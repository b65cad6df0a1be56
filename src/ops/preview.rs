//! What a dry run showed, and what was in the files that it would overwrite or remove: a yes means these, and none that came later.
//!
//! A dry run names paths. What is in them is looked at here, for the repository that is asked; of the members of a workspace a dry
//! run gives numbers alone.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::git::regular;

/// Equal to another one when a yes to that is one to this as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// What the dry run answered.
    pub document: Value,
    /// SHA-256 of the paths that it names, and of what is in them.
    overwritten: Vec<u8>,
}

impl Preview {
    /// Of this dry run, whose paths are below this directory.
    pub fn of(document: Value, root: &Path) -> Self {
        let mut hash = Sha256::new();
        for path in paths(&document) {
            hash.update(path.as_bytes());
            hash.update([0]);
            // What cannot be read, or is gone, is that; the command says what it thinks of it.
            if let Err(error) = look(&root.join(&path), &mut hash) {
                hash.update(format!("{:?}", error.kind()));
            }
            hash.update([0]);
        }
        Self {
            document,
            overwritten: hash.finalize().to_vec(),
        }
    }
}

/// The paths that a dry run would change, in any of the forms that documents have.
fn paths(document: &Value) -> Vec<OsString> {
    let changes = &document["changes"];
    let lists = ["written", "removed"].map(|name| {
        let bytes = &changes[format!("{name}_bytes")];
        let texts = changes[name].as_array().into_iter().flatten().enumerate();
        texts.filter_map(|(at, text)| exact(text, &bytes[at]))
    });
    let files = document["code"]["files"].as_array().into_iter().flatten();
    let files = files.filter_map(|file| exact(&file["path"], &file["path_bytes"]));
    lists.into_iter().flatten().chain(files).collect()
}

/// A path: its bytes in base64 where the text is not exact.
fn exact(text: &Value, bytes: &Value) -> Option<OsString> {
    let decoded = bytes.as_str().and_then(|text| STANDARD.decode(text).ok());
    let text = || Some(text.as_str()?.as_bytes().to_vec());
    decoded.or_else(text).map(OsString::from_vec)
}

fn look(path: &Path, hash: &mut Sha256) -> io::Result<()> {
    let meta = path.symlink_metadata()?;
    hash.update(meta.mode().to_le_bytes());
    if meta.is_symlink() {
        hash.update(path.read_link()?.as_os_str().as_bytes());
    } else if meta.is_file() {
        let mut file = regular::open(path)?;
        io::copy(&mut file, &mut Hashing(hash))?;
    }
    Ok(())
}

/// Takes what is written.
struct Hashing<'h>(&'h mut Sha256);

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn contents_modes_kinds_and_names_that_are_no_text_count() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path();
        let odd = OsString::from_vec(b"\xff".to_vec());
        let bytes = STANDARD.encode(b"\xff");
        let document = json!({
            "changes": {"written": ["a", "\u{fffd}"], "written_bytes": [null, bytes], "removed": ["gone"]},
            "code": {"files": [{"path": "link"}]},
        });
        let mut seen = vec![Preview::of(document.clone(), root)];
        let mut differs = |what: &str| {
            let now = Preview::of(document.clone(), root);
            assert!(!seen.contains(&now), "{what}");
            assert_eq!(now, Preview::of(document.clone(), root), "{what}");
            seen.push(now);
        };
        std::fs::write(root.join("a"), "one").expect("written");
        differs("a file came");
        std::fs::write(root.join("a"), "two").expect("written");
        differs("its content");
        std::fs::write(root.join(&odd), "x").expect("written");
        differs("a name that is no text");
        std::fs::write(root.join("gone"), "x").expect("written");
        differs("what would be removed");
        std::os::unix::fs::symlink("a", root.join("link")).expect("made");
        differs("a link");
        std::fs::remove_file(root.join("link")).expect("removed");
        std::os::unix::fs::symlink("b", root.join("link")).expect("made");
        differs("where it leads");
        let other = root.join("other");
        std::fs::write(other, "x").expect("written");
        assert_eq!(
            Preview::of(document.clone(), root),
            *seen.last().expect("one")
        );
    }
}
