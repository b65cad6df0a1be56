//! Which of the turns that went on at a change may have made it.

/// What of a turn decides that.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// The place where it began; None where that was forgotten.
    pub start: Option<usize>,
    /// Nobody said that it ended, and its session does not live any more.
    pub is_abandoned: bool,
    /// It begins with a mark that somebody made by hand.
    pub is_mark: bool,
}

/// Those that may have made it: a turn that was abandoned gives way to one that is known to have
/// begun later, and a mark to an agent's turn.
pub fn prevailing<T>(mut turns: Vec<T>, claim: impl Fn(&T) -> Claim) -> Vec<T> {
    let latest = turns.iter().filter_map(|turn| claim(turn).start).max();
    turns.retain(|turn| {
        let claim = claim(turn);
        !claim.is_abandoned || claim.start == latest
    });
    if turns.iter().any(|turn| !claim(turn).is_mark) {
        turns.retain(|turn| !claim(turn).is_mark);
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(turns: &[(Option<usize>, bool, bool)]) -> Vec<usize> {
        let all = (0..turns.len()).collect();
        prevailing(all, |nth| {
            let (start, is_abandoned, is_mark) = turns[*nth];
            Claim {
                start,
                is_abandoned,
                is_mark,
            }
        })
    }

    #[test]
    fn a_turn_that_was_abandoned_gives_way_to_a_later_one_alone() {
        let (earlier, later) = ((Some(1), true, false), (Some(2), false, false));
        assert_eq!(left(&[earlier]), [0]);
        assert_eq!(left(&[earlier, later]), [1]);
        assert_eq!(left(&[(Some(3), true, false), later]), [0, 1]);
        // Where one began that was forgotten nobody knows.
        assert_eq!(left(&[earlier, (None, false, false)]), [0, 1]);
    }

    #[test]
    fn a_mark_gives_way_to_any_turn_of_an_agent() {
        let mark = (Some(2), false, true);
        assert_eq!(left(&[mark]), [0]);
        assert_eq!(left(&[mark, (Some(1), false, false)]), [1]);
        assert_eq!(left(&[mark, (None, false, false)]), [1]);
    }
}
