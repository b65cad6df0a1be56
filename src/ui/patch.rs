//! A diff as lines of the screen: what changed in each file, word by word where a line was replaced.
//!
//! Pure: git's own text of a patch in, lines out. What it says of modes and binary content stays, in words.

use std::sync::Arc;

use super::text::{self, LONGEST, shown};
use super::words;
use crate::git::path;
use crate::git::textdiff::written::{self, LineKind, Whose};
use crate::git::tree::Change;
use crate::text::syntax::{self, Ink};

/// A line is taken for another one's successor within this many lines.
const NEAR: usize = 8;

/// What a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The name of a file.
    File,
    /// What is said of it: modes, binary content.
    Remark,
    /// The head of a hunk.
    Hunk,
    /// A line that stayed.
    Context,
    /// A line that came.
    Added,
    /// A line that went.
    Removed,
    /// There is more to ask for.
    More,
}

/// A piece of a line that looks alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Fit for the screen.
    pub text: String,
    /// What it is in its language.
    pub ink: Ink,
    /// Whether it is what changed in the line.
    pub changed: bool,
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What it is.
    pub kind: Kind,
    /// What it says.
    pub parts: Vec<Part>,
    /// The path that it belongs to.
    pub path: Option<Arc<[u8]>>,
    /// Within a hunk the lines of one side, from 1, which name what the hunk changed.
    pub hunk: Option<(usize, usize)>,
}

impl Line {
    /// A line that says something itself.
    pub fn said(kind: Kind, text: &str, path: Option<&Arc<[u8]>>) -> Self {
        Self {
            kind,
            parts: vec![Part {
                text: shown(text),
                ink: Ink::Plain,
                changed: false,
            }],
            path: path.cloned(),
            hunk: None,
        }
    }

    /// Its text.
    pub fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect()
    }
}

/// The line with the name of a file that changed.
pub fn file_line(change: &Change, path: &Arc<[u8]>) -> Line {
    let letter = match (change.old, change.new) {
        (None, _) => 'A',
        (_, None) => 'D',
        _ => 'M',
    };
    let name = path::display(&change.path);
    Line::said(Kind::File, &format!("{letter} {name}"), Some(path))
}

/// The lines below a file's name, from the patch of one path. Its hunks are named by their lines on the side that is asked for.
pub fn lines(patch: &[u8], path: &Arc<[u8]>, side: Whose) -> Vec<Line> {
    let mut lines = laid_out(patch, path);
    let mut hunks = written::changed_lines(patch, side).into_iter();
    let mut hunk = None;
    for line in &mut lines {
        if line.kind == Kind::Hunk {
            hunk = hunks.next().flatten();
        }
        line.hunk = hunk.as_ref().map(|lines| (*lines.start(), *lines.end()));
    }
    lines
}

fn laid_out(patch: &[u8], path: &Arc<[u8]>) -> Vec<Line> {
    let comment = syntax::comment_of(path);
    let mut lines = Vec::new();
    let raw = written::read(patch).filter_map(|line| {
        let text = String::from_utf8_lossy(line.text);
        let kind = match line.kind {
            LineKind::Header => return remark(&text).map(|text| (Kind::Remark, text)),
            LineKind::Hunk => Kind::Hunk,
            LineKind::Context => Kind::Context,
            LineKind::Added => Kind::Added,
            LineKind::Removed => Kind::Removed,
            LineKind::NoNewline => Kind::Remark,
        };
        Some((kind, text.into_owned()))
    });
    let raw: Vec<(Kind, String)> = raw.collect();
    let mut rest = raw.as_slice();
    while let Some((kind, text)) = rest.first() {
        let run =
            |rest: &[(Kind, String)], kind| rest.iter().take_while(|line| line.0 == kind).count();
        if *kind != Kind::Removed {
            lines.push(line(*kind, text, &[], comment, path));
            rest = rest.get(1..).unwrap_or_default();
            continue;
        }
        let (removed, after) = rest.split_at(run(rest, Kind::Removed));
        let (added, after) = after.split_at(run(after, Kind::Added));
        replaced(&mut lines, removed, added, comment, path);
        rest = after;
    }
    lines
}

/// Lines that went, and those that came in their place: each is told word by word beside the next one that it became.
fn replaced(
    lines: &mut Vec<Line>,
    removed: &[(Kind, String)],
    added: &[(Kind, String)],
    comment: Option<&str>,
    path: &Arc<[u8]>,
) {
    let mut came: Vec<Vec<bool>> = vec![Vec::new(); added.len()];
    let mut from = 0;
    for (kind, old) in removed {
        let near = added.iter().enumerate().skip(from).take(NEAR);
        let pair = near
            .map(|(at, (_, new))| (at, words::changed(old, new)))
            .find(|(_, (_, come))| !come.is_empty());
        let gone = pair.map(|(at, (gone, come))| {
            if let Some(place) = came.get_mut(at) {
                *place = come;
            }
            from = at + 1;
            gone
        });
        lines.push(line(*kind, old, &gone.unwrap_or_default(), comment, path));
    }
    for ((kind, new), come) in added.iter().zip(&came) {
        lines.push(line(*kind, new, come, comment, path));
    }
}

/// What a line of the patch's head says to a person.
fn remark(text: &str) -> Option<String> {
    let skipped = ["diff --git ", "index ", "--- ", "+++ "];
    if skipped.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    if text.starts_with("Binary files ") {
        return Some("binary content differs".to_owned());
    }
    Some(text.to_owned())
}

fn line(kind: Kind, text: &str, changed: &[bool], comment: Option<&str>, path: &Arc<[u8]>) -> Line {
    let chars: Vec<char> = text.chars().take(LONGEST).collect();
    let is_code = matches!(kind, Kind::Context | Kind::Added | Kind::Removed);
    let inks = match comment {
        Some(comment) if is_code => syntax::inks(&chars, comment),
        _ => Vec::new(),
    };
    let mut parts: Vec<Part> = Vec::new();
    // Tabs go by the whole line.
    let mut whole = String::new();
    for (at, ch) in chars.iter().enumerate() {
        let from = whole.len();
        text::push(&mut whole, *ch);
        let piece = whole.get(from..).unwrap_or_default();
        let ink = inks.get(at).copied().unwrap_or_default();
        let changed = changed.get(at).copied().unwrap_or(false);
        match parts.last_mut() {
            Some(part) if part.ink == ink && part.changed == changed => part.text.push_str(piece),
            _ => parts.push(Part {
                text: piece.to_owned(),
                ink,
                changed,
            }),
        }
    }
    Line {
        kind,
        parts,
        path: Some(Arc::clone(path)),
        hunk: None,
    }
}

#[cfg(test)]
mod tests {
    use super::Kind::{Added, Context, Hunk, Remark, Removed};
    use super::*;

    #[test]
    fn a_patch_becomes_lines_and_replaced_words_stand_out() {
        let path: Arc<[u8]> = Arc::from(&b"x.txt"[..]);
        let patch =
            b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1..2\n--- a/x\n+++ b/x\n\
            @@ -1,2 +1,2 @@\n same\n-the old word\n+the new word\n\\ No newline at end of file\n";
        let lines = lines(patch, &path, Whose::New);
        let kinds: Vec<Kind> = lines.iter().map(|line| line.kind).collect();
        assert_eq!(
            kinds,
            [Remark, Remark, Hunk, Context, Removed, Added, Remark]
        );
        let changed = |line: &Line| -> String {
            let parts = line.parts.iter().filter(|part| part.changed);
            parts.map(|part| part.text.as_str()).collect()
        };
        let told: Vec<String> = lines.iter().map(changed).collect();
        assert_eq!(told, ["", "", "", "", "old", "new", ""]);
        let named: Vec<_> = lines.iter().map(|line| line.hunk).collect();
        let here = Some((2, 2));
        assert_eq!(named, [None, None, here, here, here, here, here]);
    }

    #[test]
    fn a_line_that_came_between_hides_no_changed_word() {
        let path: Arc<[u8]> = Arc::from(&b"x"[..]);
        let patch =
            b"@@ -1,2 +1,3 @@\n-let a = 1;\n-let b = 2;\n+// new\n+let a = 3;\n+let b = 4;\n";
        let changed = |line: &Line| -> String {
            let parts = line.parts.iter().filter(|part| part.changed);
            parts.map(|part| part.text.as_str()).collect()
        };
        let told: Vec<String> = lines(patch, &path, Whose::New)
            .iter()
            .map(changed)
            .collect();
        assert_eq!(told, ["", "1", "2", "", "3", "4"]);
    }

    #[test]
    fn hostile_content_is_shown_and_binary_content_told() {
        let path: Arc<[u8]> = Arc::from(&b"x"[..]);
        let patch = b"diff --git a/x b/x\nBinary files a/x and b/x differ\ndiff --git a/x b/x\n@@ -0,0 +1 @@\n+\x1b]0;t\x07\xff\n";
        let lines = lines(patch, &path, Whose::New);
        let texts: Vec<String> = lines.iter().map(Line::text).collect();
        assert_eq!(
            texts,
            [
                "binary content differs",
                "@@ -0,0 +1 @@",
                "\\u{1b}]0;t\\u{7}\u{fffd}"
            ]
        );
    }
}
