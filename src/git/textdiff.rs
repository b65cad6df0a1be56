//! Two contents compared by lines, and the text of a patch as git writes it.
//!
//! Owns counts, hunks, git's header lines and the quoting of paths in them. Pure: bytes in, bytes out. Leaves out renames,
//! `diff=` drivers and text conversion of `.gitattributes`: what is compared are stored bytes.

mod binary;
mod same;
pub mod written;

use std::ops::Range;

use git2::{DiffOptions, Patch};

use super::tree::{GITLINK_MODE, Node};
use super::{ObjectFormat, Oid};
use crate::error::Result;

pub use same::{count_lines, same_lines};

/// Content over this size is not compared by lines.
pub const LARGEST: u64 = 50 << 20;
/// git looks this far for a NUL.
pub const FIRST: usize = 8000;
/// Hex digits of an id in an `index` line.
const ABBREVIATED: usize = 7;

/// Lines that differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextDiff {
    /// Lines added.
    pub insertions: usize,
    /// Lines removed.
    pub deletions: usize,
    /// The hunks, from `@@` on. Empty when none were asked for.
    pub hunks: Vec<u8>,
}

/// Whether the hunks are wanted, or the counts alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hunks {
    /// As the layout has them.
    Full,
    /// Counts only.
    None,
}

/// How two texts are laid beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// This many lines around what differs.
    pub context: u32,
    /// Lines that differ in white space alone count as alike.
    pub ignores_space: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            context: 3,
            ignores_space: false,
        }
    }
}

/// One side of a patch.
#[derive(Debug, Clone, Copy)]
pub struct PatchSide<'a> {
    /// Mode and id.
    pub node: Node,
    /// The content; None when it is binary or too large.
    pub text: Option<&'a [u8]>,
    /// The content of a side that may be binary, where that is to be in the patch.
    pub bytes: Option<&'a [u8]>,
}

/// How paths stand in header lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotePath {
    /// `core.quotePath=true`, git's default: bytes over 0x7f are quoted, too.
    All,
    /// `core.quotePath=false`.
    ControlOnly,
}

/// Whether git would call this binary.
pub fn is_binary(content: &[u8]) -> bool {
    content.iter().take(FIRST).any(|byte| *byte == 0)
}

/// The bytes of a text whose lines end in LF alone also where they end in CR LF.
pub fn with_plain_ends(text: &[u8]) -> impl Iterator<Item = &u8> {
    let next = text.iter().skip(1).map(Some).chain([None]);
    let kept = text.iter().zip(next);
    let kept = kept.filter(|pair| *pair != (&b'\r', Some(&b'\n')));
    kept.map(|(byte, _)| byte)
}

/// Compares two texts.
///
/// # Errors
/// When libgit2 runs out of memory.
pub fn compare(old: &[u8], new: &[u8], hunks: Hunks) -> Result<TextDiff> {
    compare_as(old, new, hunks, Layout::default())
}

/// Compares two texts, laid out like this.
///
/// # Errors
/// As [`compare`].
pub fn compare_as(old: &[u8], new: &[u8], hunks: Hunks, layout: Layout) -> Result<TextDiff> {
    let mut options = DiffOptions::new();
    // What is binary was decided before, by git's rule and not by libgit2's.
    options
        .force_text(true)
        .context_lines(layout.context)
        .ignore_whitespace(layout.ignores_space);
    // The whole texts, also where lines are only counted: without what they begin and end with alike another of the ways to come from
    // the one to the other may be found, and the counts were not those of the patch.
    let patch = Patch::from_buffers(old, None, new, None, Some(&mut options))?;
    let (_, insertions, deletions) = patch.line_stats()?;
    let hunks = match hunks {
        Hunks::Full => hunks_of(&patch)?,
        Hunks::None => Vec::new(),
    };
    Ok(TextDiff {
        insertions,
        deletions,
        hunks: hunks.into_iter().flat_map(|hunk| hunk.text).collect(),
    })
}

/// A run of lines that differ, with the lines around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Its lines in the old text, from 0.
    pub old: Range<usize>,
    /// Its lines in the new text, from 0.
    pub new: Range<usize>,
    /// As in a patch, from `@@` on.
    pub text: Vec<u8>,
}

/// The hunks between two texts, in order, with this many lines around each.
///
/// # Errors
/// As [`compare`].
pub fn hunks(old: &[u8], new: &[u8], context: u32) -> Result<Vec<Hunk>> {
    hunks_as(old, new, context, false)
}

fn hunks_as(old: &[u8], new: &[u8], context: u32, ignores_space: bool) -> Result<Vec<Hunk>> {
    let mut options = DiffOptions::new();
    options
        .force_text(true)
        .context_lines(context)
        .ignore_whitespace(ignores_space);
    hunks_of(&Patch::from_buffers(
        old,
        None,
        new,
        None,
        Some(&mut options),
    )?)
}

/// The one place where what libgit2 found becomes hunks.
fn hunks_of(patch: &Patch<'_>) -> Result<Vec<Hunk>> {
    let mut hunks = Vec::new();
    for at in 0..patch.num_hunks() {
        let (hunk, lines) = patch.hunk(at)?;
        let mut text = hunk.header().to_vec();
        for line in 0..lines {
            let line = patch.line_in_hunk(at, line)?;
            // The others are the notes on a missing newline at the end, which begin with a newline themselves.
            if matches!(line.origin(), ' ' | '+' | '-') {
                text.push(line.origin() as u8);
            }
            text.extend_from_slice(line.content());
        }
        hunks.push(Hunk {
            old: lines_of(hunk.old_start(), hunk.old_lines()),
            new: lines_of(hunk.new_start(), hunk.new_lines()),
            text,
        });
    }
    Ok(hunks)
}

/// A hunk's lines from 0. Without any, its header names the line before.
fn lines_of(start: u32, count: u32) -> Range<usize> {
    let from = if count == 0 {
        start
    } else {
        start.saturating_sub(1)
    } as usize;
    from..from + count as usize
}

/// Where lines of the old text stand in the new one, given all hunks without lines around them; with what took the place of some.
pub fn moved(hunks: &[Hunk], lines: &Range<usize>) -> Range<usize> {
    let mut from = lines.start;
    let mut to = lines.end;
    for hunk in hunks {
        let (old, new) = (&hunk.old, &hunk.new);
        if old.end <= lines.start {
            // All of it lies before: what it put there pushes the lines down.
            from = lines.start - old.end + new.end;
        } else if old.start < lines.start {
            from = new.start;
        }
        if old.end <= lines.end
            && !(old.is_empty() && old.end == lines.end && old.end > lines.start)
        {
            to = lines.end - old.end + new.end;
        } else if old.start < lines.end {
            to = new.end;
        }
    }
    from..to.max(from)
}

/// The old text with these of its hunks, in order, as the new one has them.
pub fn with_hunks<'h>(
    old: &[u8],
    new: &[u8],
    chosen: impl IntoIterator<Item = &'h Hunk>,
) -> Vec<u8> {
    let (old, new) = (lines(old), lines(new));
    let part = |of: &[&[u8]], range: Range<usize>| of.get(range).unwrap_or_default().concat();
    let mut text = Vec::new();
    let mut at = 0;
    for hunk in chosen {
        text.extend(part(&old, at..hunk.old.start));
        text.extend(part(&new, hunk.new.clone()));
        at = hunk.old.end;
    }
    text.extend(part(&old, at..old.len()));
    text
}

/// Whether a hunk without lines around it, at these lines of a text of so many, has something to do with a range of them. Where
/// it has none of the text's lines, it stands between two; both have to be in the range, or the one that there is.
pub fn touches(hunk: &Range<usize>, range: &Range<usize>, lines: usize) -> bool {
    if !hunk.is_empty() {
        return hunk.start < range.end && hunk.end > range.start;
    }
    let from = range.start < hunk.start || range.start == 0;
    let to = hunk.start < range.end || range.end == lines;
    from && to && (range.start..=range.end).contains(&hunk.start)
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The whole patch of a path, with git's header lines. A change of type is a removal and a creation, as git has it.
///
/// # Errors
/// As [`compare`].
pub fn patch(
    path: &[u8],
    old: Option<PatchSide<'_>>,
    new: Option<PatchSide<'_>>,
    quote: QuotePath,
    layout: Layout,
) -> Result<Vec<u8>> {
    if let (Some(before), Some(after)) = (old, new)
        && file_type(before.node.mode) != file_type(after.node.mode)
    {
        let mut out = patch(path, old, None, quote, layout)?;
        out.extend(patch(path, None, new, quote, layout)?);
        return Ok(out);
    }
    let mut out = Vec::new();
    let (a, b) = (quoted(b"a/", path, quote), quoted(b"b/", path, quote));
    out.extend([b"diff --git ", &a[..], b" ", &b, b"\n"].concat());
    let nodes = (old.map(|side| side.node), new.map(|side| side.node));
    modes(&mut out, nodes);
    if nodes.0.map(|node| node.oid) == nodes.1.map(|node| node.oid) {
        return Ok(out);
    }
    let text = |side: Option<PatchSide<'_>>| side.map_or(Some(Vec::new()), |side| content(&side));
    let texts = text(old).zip(text(new));
    // Of what is binary `git apply` asks for all of them.
    let digits = texts.as_ref().map(|_| ABBREVIATED);
    index_line(&mut out, nodes, digits);
    // As git: `patch` would end the name at the space.
    let tab: &[u8] = if path.contains(&b' ') { b"\t" } else { b"" };
    let name = |side: Option<PatchSide<'_>>, name: &[u8]| match side {
        Some(_) => name.to_vec(),
        None => b"/dev/null".to_vec(),
    };
    let (old_name, new_name) = (name(old, &a), name(new, &b));
    let Some((old_text, new_text)) = texts else {
        if let (Some(old), Some(new)) = (bytes(old), bytes(new)) {
            out.extend(binary::patch(old, new)?);
            return Ok(out);
        }
        let parts = [b"Binary files ", &old_name[..], b" and ", &new_name];
        out.extend([&parts.concat()[..], b" differ\n"].concat());
        return Ok(out);
    };
    let hunks = compare_as(&old_text, &new_text, Hunks::Full, layout)?.hunks;
    if !hunks.is_empty() {
        let tab = |side: Option<PatchSide<'_>>| if side.is_some() { tab } else { b"" };
        out.extend([b"--- ", &old_name[..], tab(old), b"\n"].concat());
        out.extend([b"+++ ", &new_name[..], tab(new), b"\n"].concat());
        out.extend(hunks);
    }
    Ok(out)
}

/// What is compared: a submodule stands for a line with its commit.
fn content(side: &PatchSide<'_>) -> Option<Vec<u8>> {
    if side.node.mode == GITLINK_MODE {
        return Some(gitlink_text(side.node.oid));
    }
    side.text.map(<[u8]>::to_vec)
}

/// The whole of a side, also where it is binary.
fn bytes(side: Option<PatchSide<'_>>) -> Option<&[u8]> {
    side.map_or(Some(&[]), |side| side.bytes)
}

/// The line that stands for a submodule's commit in a diff.
pub fn gitlink_text(oid: Oid) -> Vec<u8> {
    format!("Subproject commit {oid}\n").into_bytes()
}

/// The bits of a mode that say file, symlink or submodule.
pub fn file_type(mode: u32) -> u32 {
    mode & 0o170_000
}

fn modes(out: &mut Vec<u8>, nodes: (Option<Node>, Option<Node>)) {
    let text = match nodes {
        (None, Some(new)) => format!("new file mode {:06o}\n", new.mode),
        (Some(old), None) => format!("deleted file mode {:06o}\n", old.mode),
        (Some(old), Some(new)) if old.mode != new.mode => {
            format!("old mode {:06o}\nnew mode {:06o}\n", old.mode, new.mode)
        }
        _ => return,
    };
    out.extend_from_slice(text.as_bytes());
}

/// With this many digits of each id; None: all.
fn index_line(out: &mut Vec<u8>, nodes: (Option<Node>, Option<Node>), digits: Option<usize>) {
    let format = nodes.0.or(nodes.1).map(|node| node.oid.format());
    let null = format.map_or(Oid::NULL, ObjectFormat::null);
    let short = |node: Option<Node>| {
        let mut text = node.map_or(null, |node| node.oid).to_string();
        text.truncate(digits.unwrap_or(text.len()));
        text
    };
    let mode = match nodes {
        (Some(old), Some(new)) if old.mode == new.mode => format!(" {:06o}", new.mode),
        _ => String::new(),
    };
    let line = format!("index {}..{}{mode}\n", short(nodes.0), short(nodes.1));
    out.extend_from_slice(line.as_bytes());
}

/// `prefix` and `path` as git writes them in header lines: in double quotes with C escapes when a byte asks for it.
pub fn quoted(prefix: &[u8], path: &[u8], quote: QuotePath) -> Vec<u8> {
    let asks = |byte: &u8| {
        *byte < 0x20
            || matches!(*byte, b'"' | b'\\' | 0x7f)
            || (*byte >= 0x80 && quote == QuotePath::All)
    };
    let mut out = prefix.to_vec();
    if !path.iter().any(asks) {
        out.extend_from_slice(path);
        return out;
    }
    out.insert(0, b'"');
    for byte in path {
        if !asks(byte) {
            out.push(*byte);
            continue;
        }
        match escape_letter(*byte) {
            Some(letter) => out.extend_from_slice(&[b'\\', letter]),
            None => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    out.push(b'"');
    out
}

fn escape_letter(byte: u8) -> Option<u8> {
    Some(match byte {
        0x07 => b'a',
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0b => b'v',
        0x0c => b'f',
        b'\r' => b'r',
        b'"' => b'"',
        b'\\' => b'\\',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::objects::{ObjectKind, hash};

    fn side(mode: u32, text: &[u8]) -> PatchSide<'_> {
        let oid = hash(crate::git::ObjectFormat::Sha1, ObjectKind::Blob, text).expect("hashed");
        PatchSide {
            node: Node { mode, oid },
            text: Some(text),
            bytes: None,
        }
    }

    fn text(path: &str, old: Option<PatchSide<'_>>, new: Option<PatchSide<'_>>) -> String {
        let bytes =
            patch(path.as_bytes(), old, new, QuotePath::All, Layout::default()).expect("a patch");
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn counts_are_lines() {
        let diff = compare(b"a\nb\nc\n", b"a\nx\ny\nc", Hunks::None).expect("compared");
        assert_eq!((diff.insertions, diff.deletions), (3, 2));
        assert!(diff.hunks.is_empty());
        let same = compare(b"a\n", b"a\n", Hunks::Full).expect("compared");
        assert_eq!(same, TextDiff::default());
    }

    #[test]
    fn counts_are_those_of_the_patch() {
        // Few lines that come again and again: there are many ways from one text to the other.
        let mut state = 1_u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for _ in 0..500 {
            let mut text = || -> String {
                let lines =
                    (0..40).map(|_| ["a\n", "b\n", "c\n", "\n", "long\n"][next(5) as usize]);
                lines.collect()
            };
            let (start, end) = (text(), text());
            let (old, new) = (text(), text());
            let (old, new) = (start.clone() + &old + &end, start + &new + &end);
            let count = |hunks| {
                let diff = compare(old.as_bytes(), new.as_bytes(), hunks).expect("compared");
                (diff.insertions, diff.deletions)
            };
            assert_eq!(count(Hunks::None), count(Hunks::Full), "{old:?} {new:?}");
        }
    }

    #[test]
    fn lines_are_found_again_where_hunks_moved_them() {
        let at = |old: &str, new: &str, lines: Range<usize>| {
            let hunks = hunks(old.as_bytes(), new.as_bytes(), 0).expect("compared");
            moved(&hunks, &lines)
        };
        assert_eq!(at("a\nb\nc\n", "x\na\nb\nc\n", 1..2), 2..3);
        assert_eq!(at("a\nb\nc\n", "a\nb\nx\nc\n", 1..2), 1..2);
        assert_eq!(at("a\nb\nc\n", "a\nx\nb\nc\n", 1..2), 2..3);
        assert_eq!(at("a\nb\nc\n", "a\nB\nB\nc\n", 1..2), 1..3);
        assert_eq!(at("a\nb\nc\n", "a\nc\n", 1..2), 1..1);
        assert_eq!(at("a\nb\nc\nd\n", "X\nd\n", 1..2), 0..1);
        assert_eq!(at("a\nb\nc\n", "b\nc\nd\n", 0..3), 0..2);
    }

    #[test]
    fn a_hunk_is_meant_by_its_lines_or_by_those_around_it() {
        for (hunk, range, meant) in [
            (2..4, 0..2, false),
            (2..4, 0..3, true),
            (2..4, 3..9, true),
            (2..4, 4..9, false),
            (3..3, 2..4, true),
            (3..3, 0..3, false),
            (3..3, 3..9, false),
            (0..0, 0..1, true),
            (0..0, 1..9, false),
            (9..9, 8..9, true),
            (9..9, 0..8, false),
        ] {
            assert_eq!(touches(&hunk, &range, 9), meant, "{hunk:?} {range:?}");
        }
    }

    #[test]
    fn a_mode_alone_has_no_index_line() {
        let said = text(
            "x",
            Some(side(0o100_644, b"a\n")),
            Some(side(0o100_755, b"a\n")),
        );
        assert_eq!(
            said,
            "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"
        );
    }

    #[test]
    fn a_type_change_is_a_removal_and_a_creation() {
        let said = text(
            "x",
            Some(side(0o100_644, b"a\n")),
            Some(side(0o120_000, b"a")),
        );
        assert_eq!(
            said,
            "diff --git a/x b/x\ndeleted file mode 100644\nindex 7898192..0000000\n\
             --- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\
             diff --git a/x b/x\nnew file mode 120000\nindex 0000000..2e65efe\n\
             --- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn odd_paths_are_quoted_as_git_quotes_them() {
        for (path, wanted) in [
            (&b"plain name"[..], &b"a/plain name"[..]),
            (b"tab\there", b"\"a/tab\\there\""),
            (b"q\"b\\", b"\"a/q\\\"b\\\\\""),
            (b"\xc3\xa9\x01", b"\"a/\\303\\251\\001\""),
        ] {
            assert_eq!(quoted(b"a/", path, QuotePath::All), wanted);
        }
        let plain = quoted(b"a/", "é".as_bytes(), QuotePath::ControlOnly);
        assert_eq!(plain, "a/é".as_bytes());
    }
}
