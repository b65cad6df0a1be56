//! Whether the tools of some turns wrote all that differs in a file: by its lines, as `blame` has them.

use std::collections::HashSet;
use std::ops::Range;
use std::rc::Rc;

use crate::error::Result;
use crate::git::textdiff::{hunks, is_binary};
use crate::ops::checkpoints::TurnWrites;

/// The mode of a file as editors make it.
const PLAIN: u32 = 0o100_644;

/// What the tools of some turns say; None for a turn whose conversation is not there.
pub struct Said(pub Vec<Option<Rc<TurnWrites>>>);

impl Said {
    /// Whether a tool wrote this path.
    pub fn names(&self, path: &[u8]) -> bool {
        let mut known = self.0.iter().flatten();
        known.any(|writes| writes.files.contains_key(path))
    }

    /// Whether one of the turns may have written what no tool names.
    pub fn has_untold(&self) -> bool {
        let untold =
            |writes: &Option<Rc<TurnWrites>>| writes.as_ref().is_none_or(|one| one.has_untold);
        self.0.iter().any(untold)
    }

    /// Whether tools wrote each line in which a file differs, given mode and content of it before and after; None: there is none.
    ///
    /// # Errors
    /// When libgit2 runs out of memory.
    pub fn is_all(
        &self,
        path: &[u8],
        before: Option<(u32, Vec<u8>)>,
        after: Option<(u32, Vec<u8>)>,
    ) -> Result<bool> {
        let mode = |side: &Option<(u32, Vec<u8>)>| side.as_ref().map(|(mode, _)| *mode);
        let is_plain = match (mode(&before), mode(&after)) {
            (Some(before), Some(after)) => before == after,
            (one, other) => one.or(other) == Some(PLAIN),
        };
        let [before, after] = [before, after].map(|side| side.unwrap_or_default().1);
        if !is_plain || is_binary(&before) || is_binary(&after) {
            return Ok(false);
        }
        let (mut added, mut removed) = (HashSet::new(), HashSet::new());
        let calls = self.0.iter().flatten();
        for call in calls.filter_map(|writes| writes.files.get(path)).flatten() {
            added.extend(call.added(&after).sure);
            removed.extend(call.removed(&before).sure);
        }
        let hunks = hunks(&before, &after, 0)?;
        let is_known = hunks.iter().all(|hunk| {
            let has_new = is_all_of(&lines(&after), &hunk.new, &added, hunk.old.is_empty());
            has_new && is_all_of(&lines(&before), &hunk.old, &removed, hunk.new.is_empty())
        });
        Ok(is_known && !hunks.is_empty())
    }
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split(|byte| *byte == b'\n').collect()
}

/// Whether all lines of a run are known. One that has nothing in its place may as well stand a line further up, where the line before it is
/// its last one again: which of the two came is not to be seen.
fn is_all_of(text: &[&[u8]], run: &Range<usize>, known: &HashSet<usize>, is_movable: bool) -> bool {
    let mut run = run.clone();
    while !run.clone().all(|line| known.contains(&line)) {
        let above = run.start.checked_sub(1).and_then(|above| text.get(above));
        let is_same = above.is_some() && above == text.get(run.end - 1);
        if !is_movable || !is_same {
            return false;
        }
        run = run.start - 1..run.end - 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::agents::transcript::Tool;
    use crate::agents::writes::Writes;

    /// Whether these edits are all that differs.
    fn is_all(edits: &[(&str, &str)], before: &str, after: &str) -> bool {
        let edits = edits
            .iter()
            .map(|(old, new)| json!({"old_string": old, "new_string": new}));
        let input = json!({"file_path": "m", "edits": edits.collect::<Vec<Value>>()});
        let tool = Tool {
            name: "MultiEdit".to_owned(),
            input,
            output: None,
            error: false,
        };
        let mut writes = TurnWrites::default();
        for (path, how) in Writes::of(&tool).files {
            assert_eq!(path, Path::new("m"));
            writes.files.entry(b"m".to_vec()).or_default().push(how);
        }
        let side = |text: &str| Some((PLAIN, text.as_bytes().to_vec()));
        let said = Said(vec![Some(Rc::new(writes)), None]);
        said.is_all(b"m", side(before), side(after))
            .expect("compared")
    }

    #[test]
    fn each_line_that_came_or_went_has_to_be_named() {
        let edits = [("a", "a\nnew"), ("gone\n", ""), ("x", "y")];
        assert!(is_all(&edits, "a\ngone\nx\n", "a\nnew\ny\n"));
        assert!(is_all(&edits, "a\nx\n", "a\nnew\ny\n"));
        assert!(!is_all(&edits, "a\nx\n", "other\na\nnew\ny\n"));
        assert!(!is_all(&edits, "a\nother\nx\n", "a\nnew\ny\n"));
        assert!(!is_all(&edits, "a\nx\n", "a\nx\n"));
    }

    #[test]
    fn it_does_not_matter_which_of_two_lines_that_are_alike_came() {
        let edits = [("fn a() {\n}", "fn a() {\n}\n\nfn b() {\n}")];
        let before = "fn a() {\n}\n\nfn c() {\n}\n";
        let after = "fn a() {\n}\n\nfn b() {\n}\n\nfn c() {\n}\n";
        assert!(is_all(&edits, before, after));
        assert!(is_all(&[("\n\nfn b() {\n}", "")], after, before));
    }
}
