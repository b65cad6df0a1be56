//! Loose refs: one file each under `refs/`.
//!
//! Owns reading such a file and walking the directories. A file is opened no-follow; the old symbolic refs that are
//! symlinks are read as git reads them. Directories reached through a symlink are not entered.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::error::{Code, Error, Result};
use crate::git::Oid;
use crate::git::regular;

use super::name::{is_valid_component, is_valid_name};

/// What a ref file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::git) enum Value {
    Direct(Oid),
    Symbolic(String),
}

/// Longer than any ref file can mean to be: `ref: ` and a path.
const LIMIT: u64 = 8192;

/// The digits of an id and a newline.
const ID_LINES: [usize; 2] = [41, 65];

/// Reads the ref file at `path`. None: there is no such file (a directory, or a file above it, counts as none: the ref
/// may still be packed).
pub(super) fn read(path: &Path, name: &str) -> Result<Option<Value>> {
    let bytes = match read_bytes(path) {
        Ok(bytes) => bytes,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return read_symlink(path, name);
        }
        Err(error) => return Err(Error::from(error).while_doing(format!("reading ref '{name}'"))),
    };
    parse(&bytes).map(Some).ok_or_else(|| broken(name))
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = regular::open_unlinked(path)?;
    let mut bytes = Vec::with_capacity(64);
    // Most hold an id and a newline: what is that long has been read to its end.
    let mut first = [0; ID_LINES[1] + 1];
    let count = (&file).read(&mut first)?;
    bytes.extend_from_slice(first.get(..count).unwrap_or_default());
    if !ID_LINES.contains(&count) || bytes.last() != Some(&b'\n') {
        file.take(LIMIT).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// A symlink in place of a ref file: a symbolic ref when its target reads as a ref name, else whatever it leads to.
fn read_symlink(path: &Path, name: &str) -> Result<Option<Value>> {
    let bytes = match std::fs::read_link(path) {
        Ok(target) => match target.to_str() {
            Some(target) if target.starts_with("refs/") && is_valid_name(target) => {
                return Ok(Some(Value::Symbolic(target.to_owned())));
            }
            _ => crate::git::regular::read(path),
        },
        Err(error) => Err(error),
    };
    match bytes {
        Ok(bytes) => parse(&bytes).map(Some).ok_or_else(|| broken(name)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(Error::from(error).while_doing(format!("reading ref '{name}'"))),
    }
}

/// An id or `ref: <name>`, as git's `parse_loose_ref_contents` takes them: after the id, white space ends what counts.
fn parse(bytes: &[u8]) -> Option<Value> {
    if let Some(target) = bytes.strip_prefix(b"ref:") {
        let target = std::str::from_utf8(target.trim_ascii()).ok()?;
        return Some(Value::Symbolic(target.to_owned()));
    }
    let (oid, rest) = Oid::leading(bytes)?;
    let ends = rest
        .first()
        .is_none_or(|byte| byte.is_ascii_whitespace() || *byte == 0);
    (ends && !oid.is_null()).then_some(Value::Direct(oid))
}

fn broken(name: &str) -> Error {
    Error::new(Code::CorruptRecord, format!("ref '{name}' is broken"))
}

/// The errors that mean "no file of that name".
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory
    )
}

/// Puts the names of all ref files under `base`/`dir` that begin with `prefix` into `names`, in no order. `dir` is
/// valid and ends in a slash. Lock files and other names that git would not take are left out; what disappears meanwhile is no error.
pub(super) fn walk(base: &Path, dir: &str, prefix: &str, names: &mut Vec<String>) -> Result<()> {
    let mut pending = vec![dir.to_owned()];
    while let Some(dir) = pending.pop() {
        let entries = match std::fs::read_dir(base.join(&dir)) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => continue,
            Err(error) => {
                return Err(Error::from(error).while_doing(format!("reading '{dir}'")));
            }
        };
        for entry in entries {
            let entry = entry?;
            let file_name = entry.file_name();
            let Some(file_name) = file_name.to_str() else {
                continue;
            };
            if !is_valid_component(file_name) {
                continue;
            }
            let name = [&dir, file_name].concat();
            if entry.file_type()?.is_dir() {
                let below = name + "/";
                if below.starts_with(prefix) || prefix.starts_with(&below) {
                    pending.push(below);
                }
            } else if name.starts_with(prefix) && !name.ends_with('.') {
                names.push(name);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "8ab686eafeb1f44702738c8b0f24f2567c36da6d";

    #[test]
    fn a_file_says_an_id_a_name_or_nothing() {
        let id = Some(Value::Direct(Oid::from_hex(HEX).expect("hex")));
        assert_eq!(parse(format!("{HEX}\n").as_bytes()), id);
        assert_eq!(parse(HEX.as_bytes()), id);
        assert_eq!(parse(format!("{HEX}\tmerge\n").as_bytes()), id);
        let symbolic = Some(Value::Symbolic("refs/heads/a".to_owned()));
        assert_eq!(parse(b"ref: refs/heads/a\n"), symbolic);
        assert_eq!(parse(b"ref:refs/heads/a  \n\n"), symbolic);
        for text in ["", "\n", &HEX[..39], &format!("{HEX}0"), &"0".repeat(40)] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(parse(&[0; 64]), None);
    }

    #[test]
    fn symlinks_read_as_git_reads_them() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let link = |target: &str| {
            let path = dir.path().join("link");
            let _ = std::fs::remove_file(&path);
            std::os::unix::fs::symlink(target, &path).expect("symlink");
            read(&path, "refs/x/link")
        };
        let symbolic = Some(Value::Symbolic("refs/heads/a".to_owned()));
        assert_eq!(link("refs/heads/a").expect("symbolic"), symbolic);
        assert_eq!(link("nowhere").expect("dangling"), None);
        std::fs::write(dir.path().join("real"), HEX).expect("write");
        assert!(matches!(link("real"), Ok(Some(Value::Direct(_)))));
    }
}
