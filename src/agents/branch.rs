//! Sessions whose records name the one before them: which of them lead to a place, and which one a record follows where those
//! between are left out.

use std::collections::{HashMap, HashSet};

use super::fork::Relink;

/// A record of such a session.
pub trait Linked {
    /// Its id; `None` for a record that no other follows.
    fn id(&self) -> Option<&str>;
    /// The id of the record that it names as the one before it.
    fn parent(&self) -> Option<&str>;
}

/// The records of a session by their ids.
pub struct Branches<'a, R> {
    records: &'a [R],
    by_id: HashMap<&'a str, usize>,
}

impl<'a, R: Linked> Branches<'a, R> {
    /// All of a session, in the order of its file.
    pub fn new(records: &'a [R]) -> Self {
        let named = records.iter().enumerate();
        Self {
            records,
            by_id: named
                .filter_map(|(index, record)| Some((record.id()?, index)))
                .collect(),
        }
    }

    /// The record before `index`, when it is there.
    pub fn parent(&self, index: usize) -> Option<usize> {
        let parent = self.records.get(index)?.parent()?;
        self.by_id.get(parent).copied()
    }

    /// For each record whether it is on the branch that ends at `leaf`.
    pub fn to(&self, leaf: Option<usize>) -> Vec<bool> {
        let mut on_branch = vec![false; self.records.len()];
        let mut next = leaf;
        while let Some(index) = next {
            // A circle ends where it began.
            if std::mem::replace(&mut on_branch[index], true) {
                break;
            }
            next = self.parent(index);
        }
        on_branch
    }

    /// What `index` follows instead when the record that it names is left out; `None` when it stays as it is.
    pub fn relinked(&self, kept: &[bool], index: usize, key: &'static str) -> Option<Relink> {
        let mut next = Some(self.parent(index)?);
        let mut seen = HashSet::new();
        while let Some(parent) = next.filter(|&parent| !kept[parent] && seen.insert(parent)) {
            next = self.parent(parent);
        }
        let parent = next.filter(|&parent| kept[parent] && parent != index);
        if parent.is_some() && parent == self.parent(index) {
            return None;
        }
        let parent = parent.and_then(|parent| self.records[parent].id());
        Some(Relink {
            key,
            parent: parent.map(Box::from),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(&'static str, Option<&'static str>);

    impl Linked for Named {
        fn id(&self) -> Option<&str> {
            Some(self.0)
        }

        fn parent(&self) -> Option<&str> {
            self.1
        }
    }

    #[test]
    fn a_branch_is_walked_back_and_closed_over_what_is_left_out() {
        let records = [
            Named("a", None),
            Named("b", Some("a")),
            Named("left", Some("b")),
            Named("c", Some("b")),
            Named("round", Some("trip")),
            Named("trip", Some("round")),
            Named("torn", Some("gone")),
        ];
        let branches = Branches::new(&records);
        let on = |leaf| -> String {
            let on_branch = branches.to(leaf).into_iter();
            on_branch.map(|on| if on { '1' } else { '0' }).collect()
        };
        assert_eq!(on(Some(3)), "1101000");
        assert_eq!(on(Some(5)), "0000110");
        assert_eq!(on(Some(6)), "0000001");
        assert_eq!(on(None), "0000000");
        let kept = [true, false, false, true, false, true, true];
        let relinked = |index| {
            let relink = branches.relinked(&kept, index, "parent")?;
            Some(relink.parent.map(String::from))
        };
        assert_eq!(relinked(3), Some(Some("a".to_owned())));
        assert_eq!(relinked(1), None, "the one before it stays");
        assert_eq!(relinked(6), None, "nothing is known of what it names");
        assert_eq!(relinked(5), Some(None), "a circle leads nowhere");
    }
}
