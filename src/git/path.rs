//! Paths inside a repository: bytes, `/`-separated, relative, without empty, `.` or `..` components.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;

use crate::json::Bytes;
use crate::text;

/// A path inside the repository, as git stores it: raw bytes. Orders by bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RepoPath(Vec<u8>);

impl RepoPath {
    /// Takes the bytes as they are. Use [`is_safe`] on what comes from outside.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The path's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// For people: lossy, control characters escaped.
    pub fn display(&self) -> String {
        display(&self.0)
    }
}

impl Deref for RepoPath {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Bytes for RepoPath {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for RepoPath {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

impl From<Vec<u8>> for RepoPath {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for RepoPath {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<&str> for RepoPath {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

/// Bytes for people: lossy UTF-8, control characters escaped.
pub fn display(bytes: &[u8]) -> String {
    let mut out = String::new();
    for ch in String::from_utf8_lossy(bytes).chars() {
        if ch.is_control() {
            out.extend(ch.escape_default());
        } else {
            out.push(ch);
        }
    }
    out
}

/// The directory part and the last component.
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

/// `dir/name`, or `name` at the root.
pub fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(dir.len() + 1 + name.len());
    if !dir.is_empty() {
        path.extend_from_slice(dir);
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}

/// True when `path` is `dir` or lies beneath it. The root holds everything.
pub fn is_within(path: &[u8], dir: &[u8]) -> bool {
    dir.is_empty()
        || (path.starts_with(dir) && (path.len() == dir.len() || path[dir.len()] == b'/'))
}

/// Whether a path is one of these, or in one of them.
pub fn has_or_is_within(paths: &BTreeSet<Vec<u8>>, full: &[u8]) -> bool {
    !paths.is_empty() && with_parents(full).any(|at| paths.contains(at))
}

/// Whether one of these paths is beneath a directory.
pub fn any_within(paths: &BTreeSet<Vec<u8>>, dir: &[u8]) -> bool {
    let first = join(dir, b"");
    let mut from_there = paths.range(first..);
    from_there.next().is_some_and(|path| is_within(path, dir))
}

/// The paths at or beneath a directory, among those of a set that is sorted by bytes.
pub fn all_within<'p>(
    paths: &'p BTreeSet<Vec<u8>>,
    dir: &'p [u8],
) -> impl Iterator<Item = &'p Vec<u8>> {
    let from_there = paths.range(join(dir, b"")..);
    from_there.take_while(move |path| is_within(path, dir))
}

/// Paths in quotes, for people, no more than this many of them.
pub fn listed<P: AsRef<[u8]>>(paths: impl ExactSizeIterator<Item = P>, most: usize) -> String {
    text::listed(
        paths.map(|path| format!("'{}'", display(path.as_ref()))),
        most,
    )
}

/// The directories that hold a path, from the outermost, and the path itself. The root is none of them.
pub fn with_parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &path[..at]).chain([path])
}

/// Whether one component may be captured and written: what git's own path check accepts with `core.protectHFS` and
/// `core.protectNTFS` on, so that a snapshot made here is safe on every machine. The single judge for both directions.
pub fn is_safe_component(name: &[u8]) -> bool {
    if !name.contains(&b'/') && is_plainly_safe(name) {
        return true;
    }
    if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') || name.contains(&0)
    {
        return false;
    }
    !(is_ntfs_dot_git(name) || is_hfs_dot_git(name))
}

/// Whether a symlink may have this name: as [`is_safe_component`], and no spelling of `.gitmodules`, which git reads before
/// anybody has looked at what it leads to.
pub fn is_safe_link(name: &[u8]) -> bool {
    is_safe_component(name) && !is_ntfs_dot_gitmodules(name) && !is_hfs_dot(name, ".gitmodules")
}

/// Whether every component of `path` is safe.
pub fn is_safe(path: &[u8]) -> bool {
    is_plainly_safe(path) || path.split(|&byte| byte == b'/').all(is_safe_component)
}

/// Whether no component of `path` needs a closer look, as in nearly every one: no spelling that [`is_safe_component`] refuses begins
/// otherwise than like these, or is cut or skipped without one of these bytes. An index has many paths: each byte is looked at once, and
/// without a branch.
fn is_plainly_safe(path: &[u8]) -> bool {
    let (Some(&first), Some(&last)) = (path.first(), path.last()) else {
        return false;
    };
    let is_plain = |byte: u8| byte.is_ascii() & !matches!(byte, b'\\' | b':' | 0);
    let begins_well = |byte: u8| !matches!(byte, b'/' | b'.' | b'g' | b'G');
    let pairs = path.iter().zip(path.get(1..).unwrap_or_default());
    begins_well(first)
        && last != b'/'
        && path.iter().fold(true, |all, &byte| all & is_plain(byte))
        && pairs.fold(true, |all, (&byte, &next)| {
            all & ((byte != b'/') | begins_well(next))
        })
}

/// Whether git may have taken a path into the index of this machine: what every git refuses it has not, and on macOS no spelling that HFS+
/// reads as `.git`. Whether it takes a name that only NTFS reads so is for its configuration to say, which may have been another one then.
///
/// Such an entry can do no harm here; what is not [`is_safe`] all the same is never captured and never written.
pub fn is_indexable(path: &[u8]) -> bool {
    let is_taken = |name: &[u8]| {
        !(name.is_empty()
            || name == b"."
            || name == b".."
            || name.contains(&0)
            || name.eq_ignore_ascii_case(b".git")
            || cfg!(target_os = "macos") && is_hfs_dot_git(name))
    };
    path.split(|&byte| byte == b'/').all(is_taken)
}

/// `.git` and `git~1` as NTFS reads them: case-insensitive, trailing dots and spaces dropped, cut at a stream colon or a
/// backslash (git's `is_ntfs_dotgit`, applied to each backslash-separated part as `verify_path` does).
fn is_ntfs_dot_git(name: &[u8]) -> bool {
    name.split(|&byte| byte == b'\\').any(|part| {
        let head = part.split(|&byte| byte == b':').next().unwrap_or_default();
        let end = head
            .iter()
            .rposition(|&byte| byte != b'.' && byte != b' ')
            .map_or(0, |at| at + 1);
        let core = &head[..end];
        core.eq_ignore_ascii_case(b".git") || core.eq_ignore_ascii_case(b"git~1")
    })
}

/// `.gitmodules` as NTFS reads it, its short names too (git's `is_ntfs_dotgitmodules`).
fn is_ntfs_dot_gitmodules(name: &[u8]) -> bool {
    let head = name.split(|&byte| byte == b':').next().unwrap_or_default();
    let end = head
        .iter()
        .rposition(|&byte| byte != b'.' && byte != b' ')
        .map_or(0, |at| at + 1);
    let core = head[..end].to_ascii_lowercase();
    match core.as_slice() {
        b".gitmodules" => true,
        [b'g', b'i', b't', b'm', b'o', b'd', b'~', digit] => matches!(digit, b'1'..=b'4'),
        short if short.len() == 8 => {
            let digits = short.iter().rev().take_while(|byte| byte.is_ascii_digit());
            let (stem, tail) = short.split_at(8 - digits.count());
            let stem = stem.strip_suffix(b"~");
            stem.is_some_and(|stem| b"gi7eba".starts_with(stem))
                && matches!(tail.first(), Some(b'1'..=b'9'))
        }
        _ => false,
    }
}

fn is_hfs_dot_git(name: &[u8]) -> bool {
    is_hfs_dot(name, ".git")
}

/// A name as HFS+ reads it: case-insensitive, code points ignored that HFS+ ignores (git's `is_hfs_dot_str`).
fn is_hfs_dot(name: &[u8], wanted: &str) -> bool {
    let Ok(text) = std::str::from_utf8(name) else {
        return false;
    };
    let ignored = |ch: char| matches!(ch, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let mut wanted = wanted.chars();
    for ch in text.chars().filter(|&ch| !ignored(ch)) {
        if wanted.next() != Some(ch.to_ascii_lowercase()) {
            return false;
        }
    }
    wanted.next().is_none()
}

/// A name as git writes it into a line of its own: with C-style quotes where it needs them.
pub fn unquoted(line: &[u8]) -> Vec<u8> {
    let Some(inner) = line
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""))
    else {
        return line.to_vec();
    };
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let (value, taken) = escape(rest);
        out.push(value);
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

/// What follows a backslash: its byte, and how many bytes name it.
fn escape(rest: &[u8]) -> (u8, usize) {
    let octal = rest.get(..3).and_then(|digits| {
        let text = std::str::from_utf8(digits).ok()?;
        u8::from_str_radix(text, 8).ok()
    });
    if let Some(value) = octal {
        return (value, 3);
    }
    let value = match rest.first().copied().unwrap_or(b'\\') {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        other => other,
    };
    (value, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_dot_git_is_unsafe() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            ".git ",
            ".git.",
            ".git . .",
            ".git::$INDEX_ALLOCATION",
            "a\\.git",
            "x\\git~1",
            "a\\.GIT:b",
            "\u{200c}.git",
            "x/.git",
            "x\0",
            ".g\u{200c}it",
            "..",
            ".",
            "",
        ] {
            assert!(!is_safe_component(name.as_bytes()), "{name:?}");
        }
        for name in [
            ".gitignore",
            ".gitmodules",
            "git",
            "git~2",
            ".gi",
            ".git-x",
            "...",
            "a\\b",
            "-",
            "*",
            "\u{200c}git",
        ] {
            assert!(is_safe_component(name.as_bytes()), "{name:?}");
        }
    }

    /// Every short path over these bytes: the quick look never passes what the closer one refuses, and both take the same.
    #[test]
    fn a_quick_look_at_a_whole_path_finds_what_one_at_each_component_does() {
        let closer = |name: &[u8]| {
            !matches!(name, b"" | b"." | b"..")
                && !name.contains(&0)
                && !is_ntfs_dot_git(name)
                && !is_hfs_dot_git(name)
        };
        let (mut all, mut count) = (vec![Vec::new()], 0);
        for _ in 0..4 {
            let tails = [
                &b"a"[..],
                b"g",
                b".git",
                b"GIT~1",
                b".",
                b"/",
                b"\\",
                b":",
                b"\0",
                b" ",
                b"\xe2\x80\x8c",
                b"\xc3",
            ];
            let longer = all
                .iter()
                .flat_map(|path: &Vec<u8>| tails.map(|tail| [path, tail].concat()));
            all = longer.collect();
            for path in &all {
                let expected = path.split(|&byte| byte == b'/').all(closer);
                assert_eq!(is_safe(path), expected, "{}", display(path));
                let is_one = !path.contains(&b'/');
                assert_eq!(
                    is_safe_component(path),
                    is_one && expected,
                    "{}",
                    display(path)
                );
                count += 1;
            }
        }
        assert_eq!(count, 12 + 12 * 12 + 12 * 12 * 12 + 12 * 12 * 12 * 12);
    }

    #[test]
    fn what_only_other_systems_read_as_dot_git_may_be_in_an_index() {
        for name in ["a/git~1", "git~1/x", ".git /x", "a\\.git", ".git:x", "a"] {
            assert!(is_indexable(name.as_bytes()), "{name:?}");
        }
        let is_other = cfg!(not(target_os = "macos"));
        assert_eq!(is_indexable(".gi\u{200c}t/x".as_bytes()), is_other);
        for name in [
            "", "a//b", "/a", "a/", "a/..", "./a", ".git", "a/.GIT/x", "a\0",
        ] {
            assert!(!is_indexable(name.as_bytes()), "{name:?}");
        }
    }

    #[test]
    fn a_symlink_may_not_pass_for_gitmodules() {
        for name in [
            ".gitmodules",
            ".GitModules",
            ".gitmodules .",
            ".gitmodules:x",
            "GITMOD~1",
            "gitmod~4",
            "gi7eba~1",
            "gi7eb~10",
            ".git\u{200c}modules",
            ".git",
        ] {
            assert!(!is_safe_link(name.as_bytes()), "{name:?}");
        }
        for name in [
            ".gitmodule",
            ".gitmodules2",
            "gitmod~5",
            "gi7eba~0",
            "gi7ebaxx",
            "a1234567",
            "12345678",
            ".gitignore",
        ] {
            assert!(is_safe_link(name.as_bytes()), "{name:?}");
        }
    }

    #[test]
    fn a_path_is_within_its_directories_only() {
        assert!(is_within(b"a/b", b"a"));
        assert!(is_within(b"a", b"a"));
        assert!(is_within(b"a", b""));
        assert!(!is_within(b"ab", b"a"));
    }

    #[test]
    fn names_are_unquoted_as_git_quotes() {
        assert_eq!(unquoted(b"/plain path"), b"/plain path");
        assert_eq!(unquoted(br#""/a\tb\"c\\\303\251""#), b"/a\tb\"c\\\xc3\xa9");
        assert_eq!(unquoted(b"\""), b"\"");
    }
}
