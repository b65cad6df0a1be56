//! What two texts begin and end with alike.
//!
//! Lines that are only counted need no context: most changes of a large file are small, and what is alike at both ends need not
//! be compared by lines at all. git does the same at the end of a text.

/// Two texts without the whole lines that they begin and end with alike.
pub(super) fn without_ends<'a>(old: &'a [u8], new: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let pairs = old.iter().zip(new);
    let alike = pairs.take_while(|(a, b)| a == b).count();
    // From the start of the first line that differs.
    let start = old.get(..alike).map_or(0, |same| {
        let end = same.iter().rposition(|byte| *byte == b'\n');
        end.map_or(0, |end| end + 1)
    });
    let old = old.get(start..).unwrap_or_default();
    let new = new.get(start..).unwrap_or_default();
    let pairs = old.iter().rev().zip(new.iter().rev());
    let alike = pairs.take_while(|(a, b)| a == b).count();
    // To the end of the last line that differs: the bytes after its line feed are lines of both.
    let same = old.get(old.len() - alike..).unwrap_or_default();
    let end = same.iter().position(|byte| *byte == b'\n');
    let kept = end.map_or(0, |end| alike - end - 1);
    let cut = |text: &'a [u8]| text.get(..text.len() - kept).unwrap_or_default();
    (cut(old), cut(new))
}

#[cfg(test)]
mod tests {
    use super::super::{Hunks, compare};
    use super::*;

    #[test]
    fn lines_that_both_ends_have_are_not_compared() {
        let text = |text: &'static str| text.as_bytes();
        for (old, new, left) in [
            ("a\nb\nc\n", "a\nx\nc\n", ("b\n", "x\n")),
            ("a\n", "a\nb\n", ("", "b\n")),
            ("b\n", "a\nb\n", ("", "a\n")),
            ("a\na\n", "a\n", ("a\n", "")),
            ("ab\n", "ac\n", ("ab\n", "ac\n")),
            // A line without a line feed at its end is another line.
            ("a\nb", "a\nb\n", ("b", "b\n")),
            ("xb\nc", "b\nc", ("xb\n", "b\n")),
            ("", "a", ("", "a")),
            ("a", "a", ("a", "a")),
        ] {
            let found = without_ends(text(old), text(new));
            let left = (text(left.0), text(left.1));
            // A last line without a line feed may stay: it counts for nothing.
            let same_tail = found.0.strip_prefix(left.0) == found.1.strip_prefix(left.1);
            assert!(found == left || same_tail, "{old:?} {new:?}: {found:?}");
            let whole = compare(text(old), text(new), Hunks::None).expect("compared");
            let part = compare(found.0, found.1, Hunks::None).expect("compared");
            assert_eq!(
                (whole.insertions, whole.deletions),
                (part.insertions, part.deletions),
                "{old:?} {new:?}"
            );
        }
    }
}
