//! git's ignore rules: the files of patterns and the order in which they speak.
//!
//! The deepest `.gitignore` speaks first, then those above it, then `info/exclude`, then `core.excludesFile`; in one
//! file the last match counts. Nothing beneath an ignored directory can be brought back: [`PathRules`] sees to that,
//! whoever walks with [`DirRules`] does by not entering it. Reads no files: callers bring the bytes, read no-follow,
//! because git takes a symlink named `.gitignore` for no file. Whether a path is tracked is not known here.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::pattern::{Pattern, Subject};
use crate::error::Result;

/// git leaves larger files of patterns unread.
const MAX_FILE: usize = 100 * 1024 * 1024;

/// What the rules say of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The last match is a pattern.
    Ignored,
    /// The last match is a pattern that begins with `!`.
    Included,
    /// Nothing matches.
    Undecided,
}

/// The patterns of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatternFile {
    base: Box<[u8]>,
    patterns: Vec<Pattern>,
}

impl PatternFile {
    /// Reads a file that lies in `base_dir` (empty for the root, `info/exclude` and `core.excludesFile`).
    pub fn parse(bytes: &[u8], base_dir: &[u8]) -> Self {
        if bytes.len() > MAX_FILE {
            return Self::default();
        }
        // git skips the byte order mark that some editors put in front.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        Self {
            base: base_dir.into(),
            patterns: bytes
                .split(|&byte| byte == b'\n')
                .filter_map(parse_line)
                .collect(),
        }
    }

    /// Whether the file decides nothing.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    fn verdict(&self, path: &[u8], is_dir: bool, fold_case: bool) -> Verdict {
        if self.is_empty() {
            return Verdict::Undecided;
        }
        let subject = Subject::new(path, &self.base, is_dir);
        let last = self
            .patterns
            .iter()
            .rev()
            .find(|pattern| pattern.matches(subject, fold_case));
        match last {
            None => Verdict::Undecided,
            Some(pattern) if pattern.is_negative() => Verdict::Included,
            Some(_) => Verdict::Ignored,
        }
    }
}

fn parse_line(line: &[u8]) -> Option<Pattern> {
    // Before anything is cut off, as git does: `\#` begins a pattern.
    if line.first() == Some(&b'#') {
        return None;
    }
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // git reads the line as a C string.
    let end = line.iter().position(|&byte| byte == 0);
    let line = &line[..end.unwrap_or(line.len())];
    Pattern::parse(without_trailing_spaces(line))
}

/// Cuts unescaped spaces off the end, as git's `trim_trailing_spaces` does: spaces only, no tabs.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let mut spaces_from = None;
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        match byte {
            b' ' => spaces_from = spaces_from.or(Some(at)),
            b'\\' => {
                at += 1;
                spaces_from = None;
            }
            _ => spaces_from = None,
        }
        at += 1;
    }
    &line[..spaces_from.unwrap_or(line.len())]
}

/// The rules that hold everywhere in a working tree.
#[derive(Debug, Clone, Default)]
pub struct Globals {
    /// `info/exclude` of the common git directory.
    pub info_exclude: PatternFile,
    /// The file that `core.excludesFile` names, or git's default for it.
    pub excludes_file: PatternFile,
    /// `core.ignoreCase`.
    pub ignore_case: bool,
    /// What no pattern decides on: no rule of git's.
    pub left_alone: LeftAlone,
}

/// Whole paths that are ignored with all that is beneath them, but for some.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftAlone {
    /// These.
    pub roots: BTreeSet<Vec<u8>>,
    /// But for these, with the directories over them.
    pub written: BTreeSet<Vec<u8>>,
}

/// The patterns that hold in one directory. Cheap to clone and to extend while descending; shared across threads.
#[derive(Debug, Clone)]
pub struct DirRules {
    globals: Arc<Globals>,
    /// The deepest `.gitignore` that has patterns.
    deepest: Option<Arc<Level>>,
}

#[derive(Debug)]
struct Level {
    file: PatternFile,
    above: Option<Arc<Level>>,
}

impl DirRules {
    /// The rules above the root's own `.gitignore`; `descend(b"", …)` adds that.
    pub fn root(globals: Arc<Globals>) -> Self {
        Self {
            globals,
            deepest: None,
        }
    }

    /// The rules in `dir` (its whole path), given the bytes of its `.gitignore`.
    #[must_use]
    pub fn descend(&self, dir: &[u8], gitignore: Option<&[u8]>) -> Self {
        let file = gitignore.map(|bytes| PatternFile::parse(bytes, dir));
        let mut rules = self.clone();
        if let Some(file) = file.filter(|file| !file.is_empty()) {
            rules.deepest = Some(Arc::new(Level {
                file,
                above: rules.deepest,
            }));
        }
        rules
    }

    /// Whether what is at this path and beneath it is left alone.
    pub fn is_left_alone(&self, path: &[u8]) -> bool {
        self.globals.left_alone.roots.contains(path)
    }

    /// Whether it is none of that.
    pub fn is_written(&self, path: &[u8]) -> bool {
        self.globals.left_alone.written.contains(path)
    }

    /// What git says of an entry directly in this directory, given by its whole path, when no directory above it is
    /// ignored.
    pub fn is_ignored(&self, path: &[u8], is_dir: bool) -> Verdict {
        let fold_case = self.globals.ignore_case;
        let mut level = self.deepest.as_deref();
        while let Some(Level { file, above }) = level {
            let verdict = file.verdict(path, is_dir, fold_case);
            if verdict != Verdict::Undecided {
                return verdict;
            }
            level = above.as_deref();
        }
        match self.globals.info_exclude.verdict(path, is_dir, fold_case) {
            Verdict::Undecided => self.globals.excludes_file.verdict(path, is_dir, fold_case),
            decided => decided,
        }
    }
}

/// Judges whole paths, in any order, with the `.gitignore` files that a callback yields: of a tree, say, in place of the
/// disk. Each directory is asked for once.
pub struct PathRules<F> {
    load: F,
    above_root: DirRules,
    seen: HashMap<Box<[u8]>, KnownRules>,
}

#[derive(Clone)]
enum KnownRules {
    Open(DirRules),
    Ignored,
}

impl<F: FnMut(&[u8]) -> Result<Option<Vec<u8>>>> PathRules<F> {
    /// Starts with nothing loaded. `load` is given a directory's path and yields the bytes of its `.gitignore`.
    pub fn new(globals: Arc<Globals>, load: F) -> Self {
        Self {
            load,
            above_root: DirRules::root(globals),
            seen: HashMap::new(),
        }
    }

    /// What git says of `path`, directories above it included.
    ///
    /// # Errors
    /// What the callback returns.
    pub fn is_path_ignored(&mut self, path: &[u8], is_dir: bool) -> Result<Verdict> {
        let mut rules = match self.enter(b"", None)? {
            KnownRules::Open(rules) => rules,
            KnownRules::Ignored => return Ok(Verdict::Ignored),
        };
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (slash, _) in slashes {
            rules = match self.enter(&path[..slash], Some(&rules))? {
                KnownRules::Open(rules) => rules,
                KnownRules::Ignored => return Ok(Verdict::Ignored),
            };
        }
        Ok(rules.is_ignored(path, is_dir))
    }

    /// Looks into a directory; `above` holds the rules of the one it lies in, none for the root.
    fn enter(&mut self, dir: &[u8], above: Option<&DirRules>) -> Result<KnownRules> {
        if let Some(seen) = self.seen.get(dir) {
            return Ok(seen.clone());
        }
        let ignored = above.is_some_and(|rules| rules.is_ignored(dir, true) == Verdict::Ignored);
        let seen = if ignored {
            KnownRules::Ignored
        } else {
            let gitignore = (self.load)(dir)?;
            let rules = above.unwrap_or(&self.above_root);
            KnownRules::Open(rules.descend(dir, gitignore.as_deref()))
        };
        self.seen.insert(dir.into(), seen.clone());
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(file: &[u8], path: &str, is_dir: bool) -> Verdict {
        DirRules::root(Arc::default())
            .descend(b"", Some(file))
            .is_ignored(path.as_bytes(), is_dir)
    }

    #[test]
    fn lines_are_read_as_git_reads_them() {
        let file = b"\xef\xbb\xbfbom\n# note\n\\#hash\n\\!bang\nspaced\\ \ntrimmed  \ncrlf\r\n\n   \ntab\t\nlast";
        for name in [
            "bom", "#hash", "!bang", "spaced ", "trimmed", "crlf", "tab\t", "last",
        ] {
            assert_eq!(verdict(file, name, false), Verdict::Ignored, "{name:?}");
        }
        for name in ["# note", "note", "spaced", "trimmed  ", "tab", " "] {
            assert_eq!(verdict(file, name, false), Verdict::Undecided, "{name:?}");
        }
    }

    #[test]
    fn the_last_match_of_the_deepest_file_counts() {
        let globals = Globals {
            info_exclude: PatternFile::parse(b"!c\nd", b""),
            excludes_file: PatternFile::parse(b"c\n!d\ne", b""),
            ignore_case: false,
            ..Globals::default()
        };
        let root = DirRules::root(Arc::new(globals)).descend(b"", Some(b"a\nb\n!b\n/sub/f"));
        let sub = root.descend(b"sub", Some(b"!a\n/g"));
        assert_eq!(root.is_ignored(b"a", false), Verdict::Ignored);
        assert_eq!(root.is_ignored(b"b", false), Verdict::Included);
        assert_eq!(sub.is_ignored(b"sub/a", false), Verdict::Included);
        assert_eq!(sub.is_ignored(b"sub/f", false), Verdict::Ignored);
        assert_eq!(sub.is_ignored(b"sub/g", false), Verdict::Ignored);
        assert_eq!(root.is_ignored(b"g", false), Verdict::Undecided);
        assert_eq!(root.is_ignored(b"c", false), Verdict::Included);
        assert_eq!(root.is_ignored(b"d", false), Verdict::Ignored);
        assert_eq!(root.is_ignored(b"e", false), Verdict::Ignored);
    }

    #[test]
    fn nothing_beneath_an_ignored_directory_comes_back() {
        let mut asked = Vec::new();
        let mut rules = PathRules::new(Arc::default(), |dir: &[u8]| {
            asked.push(dir.to_vec());
            Ok(match dir {
                b"" => Some(b"out/\n!out/keep".to_vec()),
                b"out" => Some(b"!*".to_vec()),
                _ => None,
            })
        });
        let mut judge = |path: &str| {
            rules
                .is_path_ignored(path.as_bytes(), false)
                .expect("loads")
        };
        assert_eq!(judge("out/keep"), Verdict::Ignored);
        assert_eq!(judge("out/deep/er"), Verdict::Ignored);
        assert_eq!(judge("src/out"), Verdict::Undecided);
        assert_eq!(judge("src/other"), Verdict::Undecided);
        assert_eq!(asked, [b"".to_vec(), b"src".to_vec()]);
    }

    #[test]
    fn rules_are_shared_across_threads() {
        fn shared<T: Send + Sync + Clone>() {}
        shared::<DirRules>();
    }
}
