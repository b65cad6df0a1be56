//! Three versions of a text made one where git sees a conflict in changes that only lie beside each other.
//!
//! Each side's changes are taken line by line, without lines around them: only those that touch the same lines of the base conflict.
//! What ours added is in the result, always. Where it is not certain what a reader would expect, there is a conflict: two texts at
//! one place, or beside each other where the lines do not tell which comes first; the same text on both sides of a seam; a line that
//! would lose its end. Lines that took the place of as many others stand where those stood.

use std::ops::Range;

use super::{Labels, Style, merge};
use crate::error::Result;
use crate::git::textdiff;

/// A text made of three, change by change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parted {
    /// The text, with git's markers where both changed the same lines.
    pub content: Vec<u8>,
    /// Where they did.
    pub overlaps: Vec<Overlap>,
    /// Lines of the result, from 0, that are ours and lie directly beside a change of theirs.
    pub adjacent: Vec<Range<usize>>,
}

/// Lines that both sides changed, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// In ours.
    pub ours: Range<usize>,
    /// What theirs changed of the base.
    pub base: Range<usize>,
}

/// Merges. None where lines would run into each other: that is for [`merge`] to mark.
///
/// # Errors
/// When libgit2 runs out of memory.
pub fn merge_apart(texts: [&[u8]; 3], labels: &Labels<'_>, style: Style) -> Result<Option<Parted>> {
    let [base, ours, theirs] = texts;
    let merging = Merging {
        base: lines(base),
        ours: changes(base, ours)?,
        theirs: changes(base, theirs)?,
        labels,
        style,
        made: Parted::default(),
        shift: 0,
        line: 0,
        seam: None,
    };
    merging.run()
}

/// Lines of the base, and what stands in their place.
struct Change<'t> {
    old: Range<usize>,
    new: Vec<&'t [u8]>,
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn changes<'t>(base: &[u8], side: &'t [u8]) -> Result<Vec<Change<'t>>> {
    let lines = lines(side);
    let hunks = textdiff::hunks(base, side, 0)?.into_iter();
    let change = |hunk: textdiff::Hunk| Change {
        new: lines.get(hunk.new).unwrap_or_default().to_vec(),
        old: hunk.old,
    };
    Ok(hunks.map(change).collect())
}

/// Whether two changes of one text touch the same lines. What is put between two lines touches neither.
pub fn overlaps(one: &Range<usize>, other: &Range<usize>) -> bool {
    match (one.is_empty(), other.is_empty()) {
        (true, true) => one.start == other.start,
        (true, false) => other.start < one.start && one.start < other.end,
        (false, true) => one.start < other.start && other.start < one.end,
        (false, false) => one.start < other.end && other.start < one.end,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Ours,
    Theirs,
}

/// A change just taken: another one right behind it lies beside it.
struct Seam {
    from: From,
    /// Where it ends in the base.
    end: usize,
    /// What it put there, in the result.
    made: Range<usize>,
}

struct Merging<'t, 'l> {
    base: Vec<&'t [u8]>,
    ours: Vec<Change<'t>>,
    theirs: Vec<Change<'t>>,
    labels: &'l Labels<'l>,
    style: Style,
    made: Parted,
    /// How many lines more ours has than the base, so far.
    shift: isize,
    /// Lines of the result so far.
    line: usize,
    seam: Option<Seam>,
}

impl<'t> Merging<'t, '_> {
    fn run(mut self) -> Result<Option<Parted>> {
        let ours = std::mem::take(&mut self.ours);
        let theirs = std::mem::take(&mut self.theirs);
        let (mut mine, mut their) = (ours.as_slice(), theirs.as_slice());
        let mut at = 0;
        loop {
            let group = next_group(&self.base, &mut mine, &mut their);
            let (Some(first), Some(last)) = (group.first(), group.last()) else {
                break;
            };
            let whole = first.range.start..last.range.end;
            let kept = self.base.get(at..whole.start).unwrap_or_default().to_vec();
            if !self.push(&kept) || !self.take_group(&group, &whole)? {
                return Ok(None);
            }
            at = whole.end;
        }
        let kept = self.base.get(at..).unwrap_or_default().to_vec();
        Ok(self.push(&kept).then_some(self.made))
    }

    /// Takes changes beside each other; false where lines would run into each other, or come twice.
    fn take_group(&mut self, group: &[Cluster<'_, 't>], whole: &Range<usize>) -> Result<bool> {
        if group.len() > 1 {
            let ours: Vec<&Change<'_>> = group.iter().flat_map(|one| one.ours).collect();
            let theirs: Vec<&Change<'_>> = group.iter().flat_map(|one| one.theirs).collect();
            let base = self.base.get(whole.clone()).unwrap_or_default();
            let mine = self.with(ours, whole);
            if is_in(base, &mine, &self.with(theirs, whole))? {
                self.shift += mine.len().cast_signed() - whole.len().cast_signed();
                return Ok(self.push(&mine));
            }
        }
        self.seam = None;
        for cluster in group {
            if !self.take(cluster)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds lines; false where the line before has no end.
    fn push(&mut self, lines: &[&[u8]]) -> bool {
        if lines.is_empty() {
            return true;
        }
        let content = &mut self.made.content;
        if content.last().is_some_and(|last| *last != b'\n') {
            return false;
        }
        content.extend(lines.concat());
        self.line += lines.len();
        true
    }

    /// Takes changes that touch each other, of these lines of the base.
    fn take(&mut self, cluster: &Cluster<'_, 't>) -> Result<bool> {
        let (ours, theirs, range) = (cluster.ours, cluster.theirs, cluster.range.clone());
        let from = self.line;
        let mine = self.with(ours, &range);
        let their = self.with(theirs, &range);
        let start = range.start.saturating_add_signed(self.shift);
        let in_ours = start..start + mine.len();
        self.shift += mine.len().cast_signed() - range.len().cast_signed();
        if ours.is_empty() || theirs.is_empty() {
            let (whose, lines) = if theirs.is_empty() {
                (From::Ours, mine)
            } else {
                (From::Theirs, their)
            };
            return Ok(self.beside(whose, &lines, &range));
        }
        self.seam = None;
        let removals = |side: &[Change<'_>]| side.iter().all(|change| change.new.is_empty());
        if removals(ours) && removals(theirs) {
            // Lines that both took away, and lines that one of them did: all of them go.
            let gone = |at: &usize| {
                let mut all = ours.iter().chain(theirs);
                all.any(|change| change.old.contains(at))
            };
            let kept: Vec<&[u8]> = range
                .filter(|at| !gone(at))
                .filter_map(|at| self.base.get(at).copied())
                .collect();
            return Ok(self.push(&kept));
        }
        let base: Vec<&[u8]> = self.base.get(range).unwrap_or_default().to_vec();
        if mine == their || is_in(&base, &mine, &their)? {
            return Ok(self.push(&mine));
        }
        self.made
            .overlaps
            .extend(theirs.iter().map(|change| Overlap {
                ours: in_ours.clone(),
                base: change.old.clone(),
            }));
        let texts = [base.concat(), mine.concat(), their.concat()];
        let texts = [&texts[0][..], &texts[1][..], &texts[2][..]];
        let marked = merge(texts, self.labels, self.style)?.content;
        let pushed = self.push(&lines(&marked));
        self.line = from + lines(&marked).len();
        Ok(pushed)
    }

    /// These lines of the base as a side has them.
    fn with<'c>(
        &self,
        changes: impl IntoIterator<Item = &'c Change<'t>>,
        range: &Range<usize>,
    ) -> Vec<&'t [u8]>
    where
        't: 'c,
    {
        let mut all = Vec::new();
        let mut at = range.start;
        for change in changes {
            all.extend(self.base.get(at..change.old.start).unwrap_or_default());
            all.extend(&change.new);
            at = change.old.end;
        }
        all.extend(self.base.get(at..range.end).unwrap_or_default());
        all
    }

    /// Takes a change of one side alone, which may lie beside one of the other.
    fn beside(&mut self, from: From, lines: &[&[u8]], range: &Range<usize>) -> bool {
        let made = self.line..self.line + lines.len();
        if let Some(seam) = self.seam.take()
            && seam.from != from
            && seam.end == range.start
        {
            let before = lines_between(&self.made.content, &seam.made);
            // Both put the same there: nobody wants it twice.
            if has_one_of(lines, &before) {
                return false;
            }
            let ours = if from == From::Ours {
                made.clone()
            } else {
                seam.made
            };
            self.made.adjacent.push(ours);
        }
        let pushed = self.push(lines);
        self.seam = Some(Seam {
            from,
            end: range.end,
            made,
        });
        pushed
    }
}

fn lines_between<'t>(text: &'t [u8], range: &Range<usize>) -> Vec<&'t [u8]> {
    lines(text).get(range.clone()).unwrap_or_default().to_vec()
}

/// Changes that touch the same lines.
struct Cluster<'c, 't> {
    ours: &'c [Change<'t>],
    theirs: &'c [Change<'t>],
    range: Range<usize>,
}

/// The changes that come next and lie beside each other.
fn next_group<'c, 't>(
    base: &[&[u8]],
    ours: &mut &'c [Change<'t>],
    theirs: &mut &'c [Change<'t>],
) -> Vec<Cluster<'c, 't>> {
    let mut group: Vec<Cluster<'c, 't>> = Vec::new();
    loop {
        let (mut mine, mut their) = (*ours, *theirs);
        let Some(cluster) = next(base, &mut mine, &mut their) else {
            return group;
        };
        let end = group.last().map(|last| last.range.end);
        if end.is_some_and(|end| end != cluster.range.start) {
            return group;
        }
        (*ours, *theirs) = (mine, their);
        group.push(cluster);
    }
}

/// The changes that come next and touch the same lines, of both sides.
fn next<'c, 't>(
    base: &[&[u8]],
    ours: &mut &'c [Change<'t>],
    theirs: &mut &'c [Change<'t>],
) -> Option<Cluster<'c, 't>> {
    let key = |change: Option<&Change<'_>>| change.map(|change| (change.old.start, change.old.end));
    let first = match (key(ours.first()), key(theirs.first())) {
        (Some(one), Some(other)) => one.min(other),
        (one, other) => one.or(other)?,
    };
    let mut range = first.0..first.1;
    let sides = [*ours, *theirs];
    let mut taken = [0, 0];
    loop {
        let before = taken;
        for (side, other) in [(0, 1), (1, 0)] {
            while let Some(change) = sides[side].get(taken[side]) {
                let last = taken[other].checked_sub(1);
                let last = last.and_then(|last| sides[other].get(last));
                let joins = change.old == range
                    || overlaps(&change.old, &range)
                    || last.is_some_and(|last| is_order_unknown(base, last, change));
                if !joins {
                    break;
                }
                range = range.start.min(change.old.start)..range.end.max(change.old.end);
                taken[side] += 1;
            }
        }
        if before == taken {
            break;
        }
    }
    let (our_part, rest) = ours.split_at(taken[0]);
    *ours = rest;
    let (their_part, rest) = theirs.split_at(taken[1]);
    *theirs = rest;
    Some(Cluster {
        ours: our_part,
        theirs: their_part,
        range,
    })
}

/// Whether two changes, the second right behind the first, may both have put lines between what they changed: nothing tells which
/// of them come first.
fn is_order_unknown(base: &[&[u8]], first: &Change<'_>, second: &Change<'_>) -> bool {
    if first.old.end != second.old.start || first.new.is_empty() || second.new.is_empty() {
        return false;
    }
    let old = |change: &Change<'_>| base.get(change.old.clone()).unwrap_or_default().to_vec();
    match (first.old.is_empty(), second.old.is_empty()) {
        (true, true) => true,
        (true, false) => {
            let (old, new) = (old(second), &second.new);
            new.len() > old.len() || !are_alike(old.first(), new.first())
        }
        (false, true) => {
            let (old, new) = (old(first), &first.new);
            new.len() > old.len() || !are_alike(old.last(), new.last())
        }
        (false, false) => {
            let grows = |change: &Change<'_>| change.new.len() > change.old.len();
            grows(first) && grows(second)
        }
    }
}

/// Whether one line is the other, edited: most of it is as it was.
fn are_alike(one: Option<&&[u8]>, other: Option<&&[u8]>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return false;
    };
    let (one, other) = (one.trim_ascii(), other.trim_ascii());
    let (short, long) = (one.len().min(other.len()), one.len().max(other.len()));
    let same = |(a, b): &(&u8, &u8)| a == b;
    let start = one.iter().zip(other).take_while(same).count();
    let backwards = one.iter().rev().zip(other.iter().rev());
    let end = backwards.take(short - start).take_while(same).count();
    (start + end) * 2 > long
}

/// Whether ours has come from theirs by changes that leave the lines alone in which theirs and the base differ: it has all of theirs,
/// and nothing of what only the base has.
fn is_in(base: &[&[u8]], ours: &[&[u8]], theirs: &[&[u8]]) -> Result<bool> {
    let (base, ours, theirs) = (base.concat(), ours.concat(), theirs.concat());
    let in_base = changes(&theirs, &base)?;
    let in_ours = changes(&theirs, &ours)?;
    let touched = |one: &Change<'_>| in_ours.iter().any(|other| meet(one, other));
    Ok(!in_base.iter().any(touched))
}

/// Whether two changes of one text touch the same lines, or put the same line somewhere.
fn meet(one: &Change<'_>, other: &Change<'_>) -> bool {
    overlaps(&one.old, &other.old) || has_one_of(&one.new, &other.new)
}

/// Whether some lines have one of others, of those that say something.
fn has_one_of(lines: &[&[u8]], others: &[&[u8]]) -> bool {
    let says = |line: &&&[u8]| line.iter().any(u8::is_ascii_alphanumeric);
    lines.iter().filter(says).any(|line| others.contains(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(base: &str, ours: &str, theirs: &str) -> Parted {
        let labels = Labels {
            base: "b",
            ours: "o",
            theirs: "t",
        };
        let texts = [base, ours, theirs].map(str::as_bytes);
        let parted = merge_apart(texts, &labels, Style::Merge).expect("merged");
        parted.expect("lines with ends")
    }

    #[track_caller]
    fn joins(base: &str, ours: &str, theirs: &str, wanted: &str) -> Vec<(usize, usize)> {
        let parted = merged(base, ours, theirs);
        assert_eq!(String::from_utf8_lossy(&parted.content), wanted);
        assert!(parted.overlaps.is_empty());
        let adjacent = parted.adjacent.iter();
        adjacent.map(|lines| (lines.start, lines.end)).collect()
    }

    #[test]
    fn changes_beside_each_other_come_together_and_are_named() {
        // What one added is taken away, and what was put right behind it stays.
        assert_eq!(joins("a\nT\n", "a\nT\nl\n", "a\n", "a\nl\n"), [(1, 2)]);
        assert_eq!(joins("T\na\n", "l\nT\na\n", "a\n", "l\na\n"), [(0, 1)]);
        assert_eq!(
            joins("T\na\nb\n", "T\nA\nb\n", "t\na\nb\n", "t\nA\nb\n"),
            [(1, 2)]
        );
        assert_eq!(joins("a\nT\n", "A\nT\n", "a\nt\n", "A\nt\n"), [(0, 1)]);
        assert_eq!(
            joins("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
            []
        );
        // A line that was edited stands where it stood.
        let (base, ours) = ("a\nlet x = 1;\n", "a\nlet x = 2;\n");
        let joined = "a\nb\nlet x = 2;\n";
        assert_eq!(joins(base, ours, "a\nb\nlet x = 1;\n", joined), [(2, 3)]);
    }

    #[test]
    fn what_is_done_already_is_not_done_again() {
        assert_eq!(joins("a\nc\n", "b\nx\nc\n", "a\nx\nc\n", "b\nx\nc\n"), []);
        assert_eq!(joins("T\nx\n", "t\ny\n", "t\nx\n", "t\ny\n"), []);
        assert_eq!(joins("T\nx\n", "t\nx\n", "t\nx\n", "t\nx\n"), []);
        assert_eq!(
            joins("a\n", "a\nold\nnew\n", "a\nold\n", "a\nold\nnew\n"),
            []
        );
    }

    #[test]
    fn lines_that_either_took_away_go() {
        assert_eq!(
            joins("a\n1\n2\n3\nb\n", "a\n1\n2\nb\n", "a\nb\n", "a\nb\n"),
            []
        );
        assert_eq!(joins("1\n2\n3\n4\n", "1\n4\n", "1\n2\n", "1\n"), []);
    }

    #[test]
    fn the_same_lines_conflict_and_only_they_are_marked() {
        let parted = merged("a\nb\nT\nc\nd\n", "a\nb\nL\nc\nm\nd\n", "a\nt\nc\nd\n");
        let marked = "a\n<<<<<<< o\nb\nL\n=======\nt\n>>>>>>> t\nc\nm\nd\n";
        assert_eq!(String::from_utf8_lossy(&parted.content), marked);
        let overlap = Overlap {
            ours: 1..3,
            base: 1..3,
        };
        assert_eq!(parted.overlaps, [overlap]);
        // Inside of what goes, two texts at one place, and beside each other where nothing tells which comes first.
        for [base, ours, theirs] in [
            ["a\n", "b\nx\n", "a\nx\ny\n"],
            ["s\n", "old\ns\n", "old\n"],
            ["t\na\n", "t", "t\na\nz\n"],
        ] {
            assert_eq!(merged(base, ours, theirs).overlaps.len(), 1, "{base:?}");
        }
        assert_eq!(merged("a\nx\n", "a\n1\n2\n", "a\nb\nx\n").overlaps.len(), 1);
        assert_eq!(merged("a\nx\n", "a\n1\n", "a\nb\nx\n").overlaps.len(), 1);
        assert_eq!(merged("x\na\n", "1\na\n", "x\nb\na\n").overlaps.len(), 1);
        assert_eq!(merged("x\ny\n", "1\n2\ny\n", "x\n3\n4\n").overlaps.len(), 1);
        assert_eq!(merged("1\n2\n", "1\nx\n2\n", "").overlaps.len(), 1);
        assert_eq!(merged("a\n", "a\nx\n", "a\ny\n").overlaps.len(), 1);
    }

    #[test]
    fn nothing_runs_into_a_line_without_an_end_and_nothing_comes_twice() {
        let labels = Labels {
            base: "b",
            ours: "o",
            theirs: "t",
        };
        for [base, ours, theirs] in [
            ["let x = 1;\n", "let x = 2;", "let x = 1;\nz\n"],
            ["let x = 1;\n", "let x = 2;\nlet x = 1;\n", "let x = 2;\n"],
        ] {
            let texts = [base, ours, theirs].map(str::as_bytes);
            let parted = merge_apart(texts, &labels, Style::Merge).expect("merged");
            assert_eq!(parted, None, "{base:?}");
        }
    }
}
