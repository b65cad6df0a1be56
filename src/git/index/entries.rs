//! The entries of one index file, versions 2 to 4.
//!
//! Decodes what stands there: order, folded directories and the empty names of a split index are judged later.

use super::cursor::Cursor;
use super::{Entry, Flags, MODE_DIRECTORY, Span, Stat, TYPE_MASK, corrupt, unsupported};
use crate::error::Result;
use crate::git::{ObjectFormat, Oid};

/// The least that an entry takes in any version, padding included.
const MIN_ENTRY: usize = 64;
/// Signature, version, count.
pub(super) const HEADER: usize = 12;
/// Stat data and mode, and flags: with the id between them, what precedes extended flags and name.
const FIXED: usize = 42;
/// The flags' name length when the name is this long or longer.
pub(super) const NAME_MASK: u16 = 0xfff;

/// `flags`: assume-valid.
pub(super) const ON_DISK_VALID: u16 = 0x8000;
/// `flags`: a second flags word follows.
pub(super) const ON_DISK_EXTENDED: u16 = 0x4000;
/// Second flags word: skip-worktree.
pub(super) const ON_DISK_SKIP: u16 = 0x4000;
/// Second flags word: intent-to-add.
pub(super) const ON_DISK_INTENT: u16 = 0x2000;

/// The entries of a file, their spans still pointing into the file's bytes or into an arena of their own.
pub(super) struct Entries {
    pub(super) list: Vec<Entry>,
    /// The names of version 4, which stand nowhere whole.
    pub(super) arena: Option<Vec<u8>>,
    /// Where the extensions begin.
    pub(super) end: usize,
}

/// Decodes `count` entries of `body`, the file without its trailer.
pub(super) fn decode(
    body: &[u8],
    format: ObjectFormat,
    version: u32,
    count: usize,
) -> Result<Entries> {
    // Both formats' entries are at least so long.
    if count > body.len().saturating_sub(HEADER) / MIN_ENTRY {
        return Err(corrupt("more entries are announced than the file can hold"));
    }
    let mut list = Vec::with_capacity(count);
    let mut names = (version == 4).then(|| Names::new(body.len()));
    let mut at = HEADER;
    for number in 0..count {
        let next = fixed(body, at, format, version).and_then(|fixed| {
            let (span, next) = match &mut names {
                None => plain(body, at, &fixed)?,
                Some(names) => names.next(body, at, &fixed)?,
            };
            list.push(fixed.entry(span));
            Ok(next)
        });
        at = next.map_err(|error| error.while_doing(format!("entry {number}")))?;
    }
    Ok(Entries {
        list,
        arena: names.map(|names| names.arena),
        end: at,
    })
}

/// The name of an entry of version 2 or 3 that begins at `at`, and where the next entry does.
fn plain(body: &[u8], at: usize, fixed: &Fixed) -> Result<(Span, usize)> {
    let start = at + fixed.len;
    let mut rest = Cursor::new(body.get(start..).unwrap_or_default());
    let len = fixed.name_len.or_else(|| rest.until_nul().map(<[u8]>::len));
    // The name is padded by one to eight zeros, so that the next entry is aligned.
    let next = len.map(|len| at + ((fixed.len + len + 8) & !7));
    let (Some(len), Some(next)) = (len, next.filter(|&next| next <= body.len())) else {
        return Err(corrupt("the file ends within a name"));
    };
    Ok((name(body, start, len)?, next))
}

/// The names of version 4: each is what it keeps of the one before, and a suffix.
struct Names {
    arena: Vec<u8>,
    last: Span,
    limit: usize,
}

impl Names {
    fn new(file_len: usize) -> Self {
        Self {
            arena: Vec::with_capacity(file_len),
            last: Span::default(),
            // An entry takes 64 bytes and no path that a system opens is longer than 4096: a file whose names grow
            // beyond that ratio was made to exhaust memory.
            limit: file_len.saturating_mul(64),
        }
    }

    /// The name of the entry that begins at `at`, and where the next entry does.
    fn next(&mut self, body: &[u8], at: usize, fixed: &Fixed) -> Result<(Span, usize)> {
        let mut rest = Cursor::new(body.get(at + fixed.len..).unwrap_or_default());
        let end = || corrupt("the file ends within a name");
        let strip = rest.varint().ok_or_else(end)?;
        let kept = (self.last.len as usize)
            .checked_sub(strip)
            .ok_or_else(|| corrupt("a name drops more of the one before than it has"))?;
        let suffix = rest.until_nul().ok_or_else(end)?;
        let len = kept + suffix.len();
        if fixed.name_len.is_some_and(|wanted| wanted != len) {
            return Err(corrupt("a name is not as long as its flags say"));
        }
        let start = self.arena.len();
        if start + len > self.limit {
            return Err(corrupt("the names are longer than the file can mean"));
        }
        let previous = self.last.start as usize;
        self.arena.extend_from_within(previous..previous + kept);
        self.arena.extend_from_slice(suffix);
        self.last = Span::new(start..start + len)?;
        Ok((self.last, body.len() - rest.len()))
    }
}

/// What precedes a name.
struct Fixed<'a> {
    /// Stat data and mode.
    words: &'a [u8; 40],
    id: Oid,
    stage: u8,
    flags: Flags,
    mode: u32,
    /// Length of the fixed part with the extended flags.
    len: usize,
    /// Length of the name, unless it is too long for the flags.
    name_len: Option<usize>,
}

#[inline]
fn fixed(body: &[u8], at: usize, format: ObjectFormat, version: u32) -> Result<Fixed<'_>> {
    let mut rest = Cursor::new(body.get(at..).unwrap_or_default());
    let end = || corrupt("the file ends within an entry");
    let words = rest.array().ok_or_else(end)?;
    let id = rest.id(format).ok_or_else(end)?;
    let bits = u16::from_be_bytes(*rest.array().ok_or_else(end)?);
    let mut flags = Flags::empty();
    let mut len = FIXED + format.width();
    if bits & ON_DISK_VALID != 0 {
        flags = flags | Flags::ASSUME_VALID;
    }
    if bits & ON_DISK_EXTENDED != 0 {
        if version < 3 {
            return Err(corrupt("extended flags in version 2"));
        }
        flags = flags | extended(u16::from_be_bytes(*rest.array().ok_or_else(end)?))?;
        len += 2;
    }
    let name_len = bits & NAME_MASK;
    let mode = word(words, 6);
    // Types a tree can hold: directory, file, symlink, gitlink. Anything else is no index of git's.
    if !matches!(
        mode & TYPE_MASK,
        MODE_DIRECTORY | 0o100_000 | 0o120_000 | 0o160_000
    ) {
        return Err(corrupt(format!("unknown mode {mode:o}")));
    }
    Ok(Fixed {
        words,
        id,
        stage: u8::try_from(bits >> 12 & 3).expect("two bits"),
        flags,
        mode,
        len,
        name_len: (name_len != NAME_MASK).then_some(usize::from(name_len)),
    })
}

impl Fixed<'_> {
    #[inline]
    fn entry(&self, span: Span) -> Entry {
        let word = |number| word(self.words, number);
        Entry {
            span,
            mode: self.mode,
            oid: self.id,
            stage: self.stage,
            flags: self.flags,
            stat: Stat {
                ctime: (word(0), word(1)),
                mtime: (word(2), word(3)),
                dev: word(4),
                ino: word(5),
                uid: word(7),
                gid: word(8),
                size: word(9),
            },
        }
    }
}

/// The marks in a second flags word. Bits that mean nothing yet are a format of the future.
fn extended(bits: u16) -> Result<Flags> {
    if bits & !(ON_DISK_SKIP | ON_DISK_INTENT) != 0 {
        return Err(unsupported(format!(
            "unknown index entry format 0x{bits:04x}"
        )));
    }
    let mut marks = Flags::empty();
    if bits & ON_DISK_SKIP != 0 {
        marks = marks | Flags::SKIP_WORKTREE;
    }
    if bits & ON_DISK_INTENT != 0 {
        marks = marks | Flags::INTENT_TO_ADD;
    }
    Ok(marks)
}

/// The 32-bit word `number` of an entry's first ten.
#[inline]
fn word(words: &[u8; 40], number: usize) -> u32 {
    let (chunks, _) = words.as_chunks::<4>();
    u32::from_be_bytes(chunks[number])
}

/// The name of `len` bytes at `start`, which no zero may cut and one must end.
fn name(body: &[u8], start: usize, len: usize) -> Result<Span> {
    let end = start + len;
    let bytes = body.get(start..end).unwrap_or_default();
    if bytes.len() != len || bytes.contains(&0) || body.get(end) != Some(&0) {
        return Err(corrupt("a name is not as long as its flags say"));
    }
    Span::new(start..end)
}
