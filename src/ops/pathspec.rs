//! Which paths the words behind a command mean: git's pathspecs.
//!
//! A word names a path and what lies beneath it, or is a pattern in which `*`, `?` and brackets match a `/`, too. `:(glob)` keeps them
//! from that, and gives `**` its meaning; `:(literal)` takes them as they are; `:(icase)` ignores case; `:(top)`, or `:/`, begins at
//! the root of the working tree instead of the current directory; `:(exclude)`, `:!` or `:^` takes away. Only exclusions mean
//! everything but these. A word that names something by its exact letters means that, whatever pattern it may be.
//!
//! Promises git's answers for paths of files, checked against git. Leaves out `:(attr:…)`, which it refuses.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::Context;
use crate::error::{Code, Error, Result};
use crate::git::path;
use crate::git::wildmatch::{Flags, wildmatch};

/// What some words mean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pathspec {
    wanted: Vec<Item>,
    excluded: Vec<Item>,
}

/// What one word means.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    /// The word as it was given.
    word: OsString,
    /// From the root of the working tree; ends with `/` when only what lies beneath is meant.
    pattern: Vec<u8>,
    /// How much of it is compared byte for byte, in any case.
    prefix: usize,
    /// Where its first wildcard stands; its length when it has none.
    literal: usize,
    magic: Magic,
}

/// What git keeps for magic of one letter; anything else behind the `:` begins the path.
const RESERVED: &[u8] = b"\"#%&',-;<=>@_`~";

/// What stands between `:(` and `)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Magic {
    top: bool,
    wildcards: Wildcards,
    icase: bool,
    exclude: bool,
}

/// What `*` and the like mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Wildcards {
    /// Any letters, `/` too.
    #[default]
    Any,
    /// Any letters of one name.
    OfOneName,
    /// Themselves.
    None,
}

impl Pathspec {
    /// What words mean in the current directory. No words mean everything.
    ///
    /// # Errors
    /// `USAGE` for an empty word, one that leads outside the working tree, or magic that is not known.
    pub fn parse(ctx: &Context<'_>, words: &[OsString]) -> Result<Self> {
        let mut spec = Self::default();
        for word in words {
            let item = Item::parse(ctx, word)?;
            if item.magic.exclude {
                spec.excluded.push(item);
            } else {
                spec.wanted.push(item);
            }
        }
        Ok(spec)
    }

    /// Whether it leaves nothing out.
    pub fn is_everything(&self) -> bool {
        let takes_all = |item: &Item| item.pattern.is_empty();
        self.excluded.is_empty() && (self.wanted.is_empty() || self.wanted.iter().any(takes_all))
    }

    /// Whether it takes the path of a file.
    pub fn matches(&self, path: &[u8]) -> bool {
        (self.wanted.is_empty() || self.wanted.iter().any(|item| item.matches(path)))
            && !self.excluded.iter().any(|item| item.matches(path))
    }

    /// False when it surely takes nothing beneath a directory.
    pub fn may_match_in(&self, dir: &[u8]) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|item| item.may_match_in(dir))
    }

    /// The paths it means with all that lies beneath them, when it has no pattern and excludes nothing.
    pub fn plain(&self) -> Option<Vec<Vec<u8>>> {
        if !self.excluded.is_empty() {
            return None;
        }
        let plain = |item: &Item| {
            let is_plain = item.literal == item.pattern.len() && !item.magic.icase;
            let path = item.pattern.strip_suffix(b"/").unwrap_or(&item.pattern);
            is_plain.then(|| path.to_vec())
        };
        self.wanted.iter().map(plain).collect()
    }

    /// The path that its first word names, as a message shows it, from the root of the working tree; of a pattern the word itself.
    pub fn shown_path(&self) -> String {
        match (self.plain().as_deref(), self.wanted.first()) {
            (Some([path, ..]), _) if !path.is_empty() => path::display(path),
            (_, first) => first.map_or_else(String::new, |item| shown(&item.word)),
        }
    }

    /// The words that mean the same at the root of the working tree, each once and sorted: by them what was typed in different directories
    /// is compared.
    pub fn words_from_root(&self) -> Vec<String> {
        let items = self.wanted.iter().chain(&self.excluded);
        let words: BTreeSet<String> = items.map(Item::word_from_root).collect();
        words.into_iter().collect()
    }

    /// The first word, of those that do not exclude, that takes none of the paths.
    pub fn unmatched<'p>(&self, paths: impl Iterator<Item = &'p [u8]>) -> Option<&OsStr> {
        let mut open: Vec<&Item> = self.wanted.iter().collect();
        for path in paths {
            if open.is_empty() {
                return None;
            }
            open.retain(|item| !item.matches(path));
        }
        open.first().map(|item| item.word.as_os_str())
    }
}

/// A word that means this path, from the root of the working tree, and no other, where that is the current directory.
pub fn word_of(path: &[u8]) -> OsString {
    let is_plain = !path.starts_with(b":") && !path.iter().any(|byte| b"*?[\\".contains(byte));
    let magic: &[u8] = if is_plain { b"" } else { b":(top,literal)" };
    OsString::from_vec([magic, path].concat())
}

/// What [`literally`] puts before a word.
const LITERAL: &[u8] = b":(literal)";

/// The word of a program, which means a path and never a pattern.
pub fn literally(word: &OsStr) -> OsString {
    OsString::from_vec([LITERAL, word.as_bytes()].concat())
}

/// A word as a message shows it: as a program gave it, too.
pub fn shown(word: &OsStr) -> String {
    let word = word.as_bytes();
    path::display(word.strip_prefix(LITERAL).unwrap_or(word))
}

impl Item {
    fn parse(ctx: &Context<'_>, word: &OsStr) -> Result<Self> {
        let (magic, rest) = Magic::parse(word)?;
        if word.is_empty() {
            return Err(Error::new(Code::Usage, "a path must not be empty")
                .hint("'.' is the directory that you are in"));
        }
        let (pattern, prefix) = if magic.top {
            // As git: taken as it stands, so that './' in it names nothing.
            (rest.to_vec(), 0)
        } else {
            from_here(ctx, rest)?
        };
        let prefix = prefix.min(pattern.len());
        let is_wild = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
        let literal = pattern
            .iter()
            .skip(prefix)
            .position(is_wild)
            .filter(|_| magic.wildcards != Wildcards::None)
            .map_or(pattern.len(), |at| prefix + at);
        Ok(Self {
            word: word.to_owned(),
            pattern,
            prefix,
            literal,
            magic,
        })
    }

    fn word_from_root(&self) -> String {
        let path = match path::display(&self.pattern) {
            path if path.is_empty() => ".".to_owned(),
            path => path,
        };
        let is_wild = self.pattern.iter().any(|byte| b"*?[\\".contains(byte));
        let magic = [
            (self.magic.exclude, "exclude"),
            (self.magic.icase, "icase"),
            (
                self.magic.wildcards == Wildcards::OfOneName && is_wild,
                "glob",
            ),
            (
                self.magic.wildcards == Wildcards::None && is_wild,
                "literal",
            ),
        ];
        let names = magic.iter().filter(|(is_set, _)| *is_set);
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        if names.is_empty() {
            return path;
        }
        format!(":({}){path}", names.join(","))
    }

    fn matches(&self, path: &[u8]) -> bool {
        self.names(path) || self.is_wild_match(path)
    }

    /// Whether its letters are those of the path, or of a directory above.
    fn names(&self, path: &[u8]) -> bool {
        if self.pattern.is_empty() {
            return true;
        }
        let Some(beginning) = path.get(..self.pattern.len()) else {
            return false;
        };
        let ends = path.len() == self.pattern.len()
            || self.pattern.ends_with(b"/")
            || path.get(self.pattern.len()) == Some(&b'/');
        ends && self.is_same(beginning, &self.pattern)
    }

    fn is_wild_match(&self, path: &[u8]) -> bool {
        if self.literal == self.pattern.len() {
            return false;
        }
        let (Some(beginning), Some(rest)) = (path.get(..self.prefix), path.get(self.prefix..))
        else {
            return false;
        };
        let flags = Flags {
            pathname: self.magic.wildcards == Wildcards::OfOneName,
            fold_case: self.magic.icase,
        };
        let pattern = self.pattern.get(self.prefix..).unwrap_or_default();
        self.pattern.starts_with(beginning) && wildmatch(pattern, rest, flags)
    }

    /// Compares what comes from the current directory byte for byte, and the rest as the magic says.
    fn is_same(&self, path: &[u8], pattern: &[u8]) -> bool {
        if !self.magic.icase {
            return path == pattern;
        }
        let at = self.prefix.min(path.len()).min(pattern.len());
        let ((a, b), (c, d)) = (path.split_at(at), pattern.split_at(at));
        a == c && b.eq_ignore_ascii_case(d)
    }

    fn may_match_in(&self, dir: &[u8]) -> bool {
        let dir = [dir, b"/"].concat();
        let fixed = self.pattern.get(..self.literal).unwrap_or_default();
        let common = dir.len().min(fixed.len());
        dir == b"/"
            || self.is_same(
                dir.get(..common).unwrap_or_default(),
                fixed.get(..common).unwrap_or_default(),
            )
    }
}

/// A word from the root of the working tree, and how much of that is the current directory, which is no pattern, whatever letters
/// it has.
fn from_here(ctx: &Context<'_>, word: &[u8]) -> Result<(Vec<u8>, usize)> {
    let mut pattern = ctx.path_from_root(OsStr::from_bytes(word))?;
    let here = if word.starts_with(b"/") {
        Vec::new()
    } else {
        ctx.path_from_root(OsStr::new(""))?
    };
    let prefix = still_here(&here, word);
    // Where no name stands at the end, a directory is meant.
    let last = word.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    if matches!(last, b"" | b"." | b"..") && !pattern.is_empty() {
        pattern.push(b'/');
    }
    Ok((pattern, prefix))
}

/// The length of the directories of `here` that a word does not leave, with the `/` behind them.
fn still_here(here: &[u8], word: &[u8]) -> usize {
    let dirs: Vec<&[u8]> = here
        .split(|byte| *byte == b'/')
        .filter(|dir| !dir.is_empty())
        .collect();
    let (mut depth, mut left) = (dirs.len(), dirs.len());
    for part in word.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => depth = depth.saturating_sub(1),
            _ => depth += 1,
        }
        left = left.min(depth);
    }
    dirs.iter().take(left).map(|dir| dir.len() + 1).sum()
}

impl Magic {
    /// The magic at the beginning of a word, and what follows it.
    fn parse(word: &OsStr) -> Result<(Self, &[u8])> {
        let bytes = word.as_bytes();
        let mut magic = Self::default();
        let Some(rest) = bytes.strip_prefix(b":") else {
            return Ok((magic, bytes));
        };
        if rest.is_empty() {
            // "There is no pathspec."
            magic.top = true;
        }
        if let Some(rest) = rest.strip_prefix(b"(") {
            let unclosed = || unknown(word, "its ')' is missing");
            let end = rest
                .iter()
                .position(|byte| *byte == b')')
                .ok_or_else(unclosed)?;
            let (names, rest) = rest.split_at(end);
            for name in names
                .split(|byte| *byte == b',')
                .filter(|name| !name.is_empty())
            {
                magic.set(word, name)?;
            }
            return Ok((magic, rest.get(1..).unwrap_or_default()));
        }
        let mut rest = rest;
        while let Some((first, after)) = rest.split_first() {
            match first {
                b'/' => magic.top = true,
                b'!' | b'^' => magic.exclude = true,
                b':' => return Ok((magic, after)),
                byte if RESERVED.contains(byte) => {
                    return Err(unknown(word, "unknown pathspec magic"));
                }
                _ => break,
            }
            rest = after;
        }
        Ok((magic, rest))
    }

    fn set(&mut self, word: &OsStr, name: &[u8]) -> Result<()> {
        match name {
            b"top" => self.top = true,
            b"literal" | b"glob" if self.wildcards != Wildcards::Any => {
                return Err(unknown(word, "'literal' and 'glob' are incompatible"));
            }
            b"literal" => self.wildcards = Wildcards::None,
            b"glob" => self.wildcards = Wildcards::OfOneName,
            b"icase" => self.icase = true,
            b"exclude" => self.exclude = true,
            _ => {
                let name = path::display(name);
                return Err(unknown(word, &format!("unknown pathspec magic '{name}'")));
            }
        }
        Ok(())
    }
}

fn unknown(word: &OsStr, why: &str) -> Error {
    let word = path::display(word.as_bytes());
    Error::new(
        Code::Usage,
        format!("'{word}' is not a valid pathspec: {why}"),
    )
    .hint("magic is top, literal, glob, icase and exclude; a path that begins with ':' is './:...'")
}

#[cfg(test)]
mod tests;
