//! HEAD as it stands on disk: one small file, and the branch it names; or a record of a reftable.
//!
//! Owns the reading of `HEAD`, of loose refs on the way to a commit id, and of `packed-refs`, by binary search, so that
//! a hundred thousand refs cost nothing. Leaves out every write.

use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::git::Oid;
use rustix::io::Errno;

use super::config::Dirs;
use crate::error::{Code, Error, Result, ResultExt};
use crate::git::head::not_utf8;
use crate::git::objects::{ObjectKind, ObjectStore};
use crate::git::refs::{RefFormat, Refs, Value, head_of, is_per_worktree};
use crate::git::regular;
use crate::text::{typed, typed_path};

/// How many symbolic refs may stand in a row, as in git.
const MAX_CHAIN: u32 = 5;

/// Where HEAD points.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says one thing about HEAD, and any of them may hold"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The ref that `HEAD` itself names; `None` when detached.
    pub reference: Option<String>,
    /// The commit at the end of the chain, also where a tag leads to it; `None` when unborn. Where the chain leads to no commit,
    /// what it leads to: whoever reads it as a commit finds out.
    pub oid: Option<Oid>,
    /// The annotated tag that the chain leads to, when it leads to the commit by way of one.
    pub tag: Option<Oid>,
    /// True when `HEAD` holds a commit id.
    pub detached: bool,
    /// True when `HEAD` names a ref that does not exist yet, or one that is broken: git, too, then takes what is staged for new.
    pub unborn: bool,
    /// True when the ref is there and names nothing: a crash may have cut its file short. Also when git takes the name for
    /// none: what stands there is never read.
    pub broken: bool,
    /// True when `HEAD` is a symlink to its branch, as old versions of git made it.
    pub symlink: bool,
}

enum Target {
    Oid(Oid),
    Ref(String),
    /// A symlink to a ref.
    Link(String),
}

impl Head {
    fn detached(oid: Oid) -> Self {
        Self {
            reference: None,
            oid: Some(oid),
            tag: None,
            detached: true,
            unborn: false,
            broken: false,
            symlink: false,
        }
    }

    /// Puts the commit in the place of a tag that leads to one.
    pub(super) fn peeled(self, objects: &ObjectStore) -> Self {
        let peeled = self.oid.map(|oid| (oid, objects.peel(oid)));
        match peeled {
            Some((tag, Ok((commit, ObjectKind::Commit)))) if commit != tag => Self {
                oid: Some(commit),
                tag: Some(tag),
                ..self
            },
            _ => self,
        }
    }

    /// On a ref, which was followed to this; what cannot be read there is a broken one.
    fn at_ref(reference: String, resolved: Result<Option<Oid>>, symlink: bool) -> Result<Self> {
        let (oid, broken) = match resolved {
            Err(error) if error.code() == Code::CorruptRecord => (None, true),
            resolved => (resolved?, false),
        };
        Ok(Self {
            reference: Some(reference),
            oid,
            tag: None,
            detached: false,
            unborn: oid.is_none(),
            broken,
            symlink,
        })
    }
}

/// HEAD where refs are in the reftable format.
pub(super) fn read_reftable(refs: &Refs) -> Result<Head> {
    let reference = match refs.read_value("HEAD")? {
        None => return Err(corrupt("HEAD")),
        Some(Value::Direct(oid)) => return Ok(Head::detached(oid)),
        Some(Value::Symbolic(name)) => checked(name.as_bytes())?,
    };
    let resolved = if git2::Reference::is_valid_name(&reference) {
        refs.read(&reference)
    } else {
        Err(corrupt(&reference))
    };
    Head::at_ref(reference, resolved, false)
}

/// The ref that a git directory's HEAD names, for who knows nothing else of the repository.
pub(super) fn reference_in(git_dir: &Path) -> Option<Vec<u8>> {
    if let Some(head) = head_of(git_dir) {
        return match head {
            Value::Symbolic(name) => Some(name.into_bytes()),
            Value::Direct(_) => None,
        };
    }
    let head = regular::read(git_dir.join("HEAD")).unwrap_or_default();
    head.trim_ascii().strip_prefix(b"ref: ").map(<[u8]>::to_vec)
}

pub(super) fn read(dirs: Dirs<'_>) -> Result<Head> {
    let Some(target) = read_loose(&dirs.git_dir.join("HEAD"), "HEAD")? else {
        return Err(corrupt("HEAD"));
    };
    let (reference, symlink) = match target {
        Target::Oid(oid) => return Ok(Head::detached(oid)),
        Target::Ref(name) => (name, false),
        Target::Link(name) => (name, true),
    };
    let resolved = resolve(dirs, &reference);
    Head::at_ref(reference, resolved, symlink)
}

/// The id at the end of a chain of symbolic refs.
fn resolve(dirs: Dirs<'_>, name: &str) -> Result<Option<Oid>> {
    let mut name = name.to_owned();
    for _ in 0..MAX_CHAIN {
        if !git2::Reference::is_valid_name(&name) {
            return Err(corrupt(&name));
        }
        let dir = if is_per_worktree(&name) {
            dirs.git_dir
        } else {
            dirs.common_dir
        };
        match read_loose(&dir.join(&name), &name)? {
            Some(Target::Oid(oid)) => return Ok(Some(oid)),
            Some(Target::Ref(next) | Target::Link(next)) => name = next,
            None => return read_packed(dirs.common_dir, &name),
        }
    }
    Err(corrupt(&name))
}

/// A loose ref. A missing file, or a directory of that name, is `None`.
fn read_loose(path: &Path, name: &str) -> Result<Option<Target>> {
    let what = || format!("read ref '{name}'");
    let content = match read_unlinked(path) {
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            match std::fs::read_link(path)
                .context(what)?
                .as_os_str()
                .as_bytes()
            {
                // As git does: a symlink that does not lead to a ref by its name is only followed.
                target if target.starts_with(b"refs/") => {
                    let name = checked(target)?;
                    if !git2::Reference::is_valid_name(&name) {
                        return Err(corrupt(&name));
                    }
                    return Ok(Some(Target::Link(name)));
                }
                _ => regular::read(path),
            }
        }
        other => other,
    };
    let content = match content {
        Ok(content) => content,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error).context(what),
    };
    let content = content.trim_ascii_end();
    if let Some(rest) = content.strip_prefix(b"ref:") {
        return checked(rest.trim_ascii_start()).map(|name| Some(Target::Ref(name)));
    }
    match parse_oid(content) {
        Some(oid) => Ok(Some(Target::Oid(oid))),
        None => Err(corrupt(name)),
    }
}

/// Whether HEAD is a symlink to a ref, as old versions of git made it.
pub(super) fn is_symlink(git_dir: &Path) -> bool {
    std::fs::read_link(git_dir.join("HEAD")).is_ok_and(|target| target.starts_with("refs"))
}

/// The bytes of a file that is no symlink.
fn read_unlinked(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = regular::open_unlinked(path)?;
    let mut bytes = Vec::with_capacity(64);
    regular::accept(file)?
        .take(regular::LARGEST)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A ref name as it stands in a symbolic ref. It need not be one that git would make (`refs/heads/a.lock`): git works on
/// such a HEAD as on one without a commit. A way out of the directory of refs is none.
fn checked(name: &[u8]) -> Result<String> {
    let text = std::str::from_utf8(name).map_err(|_| not_utf8("HEAD", name))?;
    let leads_out = text.split('/').any(|part| matches!(part, "" | "." | ".."));
    if text.starts_with("refs/") && !leads_out && !text.bytes().any(|byte| byte.is_ascii_control())
    {
        Ok(text.to_owned())
    } else {
        Err(corrupt("HEAD"))
    }
}

/// The digits of an id, and nothing but white space after them.
fn parse_oid(content: &[u8]) -> Option<Oid> {
    let (oid, rest) = Oid::leading(content)?;
    rest.first()
        .is_none_or(u8::is_ascii_whitespace)
        .then_some(oid)
}

/// How to put a broken branch back: where its reflog ends, when there is one.
pub(super) fn mending(refs: &Refs, common_dir: &Path, branch: &str) -> String {
    if !git2::Reference::is_valid_name(branch) {
        return format!(
            "HEAD names '{branch}', which is not a valid name of a branch, and counts as without a commit; to go on elsewhere: git symbolic-ref HEAD refs/heads/NAME"
        );
    }
    let named = typed(branch);
    if refs.format() == RefFormat::Reftable {
        return format!(
            "'{branch}' leads through too many symbolic refs, and counts as without a commit; 'git symbolic-ref {named}' says where it leads"
        );
    }
    let log = crate::git::regular::read(common_dir.join("logs").join(branch)).unwrap_or_default();
    let last = log.trim_ascii_end().rsplit(|&byte| byte == b'\n').next();
    let last = last.and_then(|line| {
        let (_, rest) = Oid::leading(line)?;
        parse_oid(rest.strip_prefix(b" ")?)
    });
    let short = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    let file = typed_path(&common_dir.join(branch));
    match last {
        Some(oid) => format!(
            "'{short}' is broken, as after a crash, and counts as without a commit; its reflog ends at {oid}: rm {file} && git update-ref {named} {oid}"
        ),
        None => format!(
            "'{short}' is broken, as after a crash, and counts as without a commit; 'git fsck --lost-found' finds what it had, then: rm {file} && git update-ref {named} ID"
        ),
    }
}

fn corrupt(name: &str) -> Error {
    Error::new(
        Code::CorruptRecord,
        format!("ref '{name}' holds neither a commit id nor the name of a ref"),
    )
}

/// A ref in `packed-refs`. git has sorted the file by name since 2.15 and says so in its header.
fn read_packed(common_dir: &Path, name: &str) -> Result<Option<Oid>> {
    let content = match crate::git::regular::read(common_dir.join("packed-refs")) {
        Ok(content) => content,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).context(|| "read 'packed-refs'"),
    };
    let header = content
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    if header.starts_with(b"#")
        && header
            .split(|&byte| byte == b' ')
            .any(|word| word == b"sorted")
    {
        let body = content.get(header.len() + 1..).unwrap_or_default();
        return Ok(search(body, name.as_bytes()));
    }
    let mut lines = content.split(|&byte| byte == b'\n').filter_map(parse_line);
    Ok(lines
        .find(|(found, _)| *found == name.as_bytes())
        .map(|(_, oid)| oid))
}

/// `<oid> <name>`; comments and peeled lines are none.
fn parse_line(line: &[u8]) -> Option<(&[u8], Oid)> {
    let (oid, rest) = Oid::leading(line)?;
    let name = rest.strip_prefix(b" ")?;
    Some((name.strip_suffix(b"\r").unwrap_or(name), oid))
}

/// Binary search over lines. A `^peeled` line belongs to the line before it.
fn search(body: &[u8], name: &[u8]) -> Option<Oid> {
    let (mut low, mut high) = (0, body.len());
    while low < high {
        let start = record_start(body, low, usize::midpoint(low, high));
        let line = body.get(start..)?.split(|&byte| byte == b'\n').next()?;
        let (found, oid) = parse_line(line)?;
        match found.cmp(name) {
            std::cmp::Ordering::Equal => return Some(oid),
            std::cmp::Ordering::Less => low = next_record(body, start + line.len()),
            std::cmp::Ordering::Greater => high = start,
        }
    }
    None
}

/// The start of the record that holds the byte at `at`, not before `low`, which starts one.
fn record_start(body: &[u8], low: usize, at: usize) -> usize {
    let mut start = at;
    loop {
        while start > low && body.get(start - 1) != Some(&b'\n') {
            start -= 1;
        }
        if start > low && body.get(start) == Some(&b'^') {
            start -= 1;
        } else {
            return start;
        }
    }
}

/// The first record after the line that ends at `end`.
fn next_record(body: &[u8], end: usize) -> usize {
    let mut at = end + 1;
    while body.get(at) == Some(&b'^') {
        let rest = body.get(at..).unwrap_or_default();
        at += rest
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(rest.len(), |n| n + 1);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    const HEX: &str = "0123456789012345678901234567890123456789";

    fn dir(head: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir_all(dir.path().join("refs/heads")).expect("made");
        std::fs::write(dir.path().join("HEAD"), head).expect("written");
        dir
    }

    fn head(dir: &tempfile::TempDir) -> Result<Head> {
        read(Dirs {
            git_dir: dir.path(),
            common_dir: dir.path(),
        })
    }

    #[test]
    fn head_detached_unborn_loose_and_through_a_chain() {
        let detached = head(&dir(&format!("{HEX}\n"))).expect("read");
        assert!(detached.detached && !detached.unborn && detached.reference.is_none());

        let repo = dir("ref: refs/heads/alias\n");
        let unborn = head(&repo).expect("read");
        assert!(unborn.unborn && unborn.oid.is_none());
        assert_eq!(unborn.reference.as_deref(), Some("refs/heads/alias"));

        std::fs::write(
            repo.path().join("refs/heads/alias"),
            "ref: refs/heads/main\n",
        )
        .expect("written");
        std::fs::write(repo.path().join("refs/heads/main"), HEX).expect("written");
        let through = head(&repo).expect("read");
        assert_eq!(through.reference.as_deref(), Some("refs/heads/alias"));
        assert_eq!(through.oid.map(|oid| oid.to_string()).as_deref(), Some(HEX));
    }

    #[test]
    fn a_directory_of_the_branch_name_does_not_hide_the_packed_ref() {
        let repo = dir("ref: refs/heads/a\n");
        std::fs::create_dir(repo.path().join("refs/heads/a")).expect("made");
        std::fs::write(
            repo.path().join("packed-refs"),
            format!("{HEX} refs/heads/a\n"),
        )
        .expect("written");
        assert!(head(&repo).expect("read").oid.is_some());
    }

    #[test]
    fn every_packed_ref_is_found_and_no_other() {
        let mut body = String::new();
        for n in 0..500 {
            let _ = writeln!(body, "{n:040x} refs/tags/t{n:04}");
            if n % 3 == 0 {
                let _ = writeln!(body, "^{HEX}");
            }
        }
        for n in 0..500 {
            let name = format!("refs/tags/t{n:04}");
            let oid = search(body.as_bytes(), name.as_bytes()).expect("found");
            assert_eq!(oid.to_string(), format!("{n:040x}"));
            let absent = format!("refs/tags/t{n:04}x");
            assert_eq!(search(body.as_bytes(), absent.as_bytes()), None);
        }
        assert_eq!(search(body.as_bytes(), b"refs/tags/a"), None);
        assert_eq!(search(b"", b"refs/heads/main"), None);
    }

    #[test]
    fn head_that_is_neither_is_an_error() {
        for text in [
            "",
            "ref: ../../config\n",
            "ref: refs/heads/..\n",
            "ref: refs/heads/../../config\n",
            "ref: main\n",
            "0123\n",
        ] {
            assert!(head(&dir(text)).is_err(), "{text:?}");
        }
    }
}
