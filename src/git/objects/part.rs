//! Objects by a part of their id, as people abbreviate them.

use std::collections::BTreeSet;

use super::store::ObjectStore;
use crate::git::oid::LONGEST;
use crate::git::{ObjectFormat, Oid};

/// The fewest digits that git writes or takes.
const FEWEST: usize = 4;

/// The first digits of an id, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartOfId {
    digits: usize,
    /// The least id that begins so, of the longest there are.
    least: [u8; LONGEST],
}

impl PartOfId {
    /// Reads four to sixty-four hexadecimal digits, nothing around them.
    pub fn parse(word: &[u8]) -> Option<Self> {
        (FEWEST..=2 * LONGEST).contains(&word.len()).then_some(())?;
        let mut whole = [b'0'; 2 * LONGEST];
        whole[..word.len()].copy_from_slice(word);
        let oid = Oid::from_hex_bytes(&whole).ok()?;
        let mut least = [0; LONGEST];
        least.copy_from_slice(oid.as_bytes());
        Some(Self {
            digits: word.len(),
            least,
        })
    }

    /// The id of this format, when all of it is there.
    pub(super) fn whole(self, format: ObjectFormat) -> Option<Oid> {
        (self.digits == format.digits())
            .then(|| format.first_of(&self.least))
            .flatten()
    }

    /// The least id of this format that begins so.
    pub(super) fn least(&self, format: ObjectFormat) -> &[u8] {
        &self.least[..format.width()]
    }

    /// Whether an id begins so.
    pub(super) fn begins(self, oid: &[u8]) -> bool {
        let bytes = self.digits / 2;
        let half = |id: &[u8]| id.get(bytes).map(|byte| byte >> 4);
        oid.get(..bytes) == self.least.get(..bytes)
            && (self.digits.is_multiple_of(2) || half(oid) == half(&self.least))
    }
}

impl ObjectStore {
    /// The id that a part of it names: of the objects that there are one alone begins so. A whole id names itself.
    pub fn resolve(&self, part: PartOfId) -> Option<Oid> {
        if let Some(oid) = part.whole(self.format()) {
            return Some(oid);
        }
        let mut found = self.beginning_with(part);
        if found.is_empty() {
            self.refresh();
            found = self.beginning_with(part);
        }
        found.pop_first().filter(|_| found.is_empty())
    }

    fn beginning_with(&self, part: PartOfId) -> BTreeSet<Oid> {
        let mut found = BTreeSet::new();
        for dir in &self.dirs {
            dir.add_beginning_with(part, &mut found);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_four_to_sixty_four_digits() {
        for word in ["abc", "abcg", "", "0x12", &"a".repeat(65), " abcd"] {
            assert_eq!(PartOfId::parse(word.as_bytes()), None, "{word:?}");
        }
        let part = |word: &str| PartOfId::parse(word.as_bytes()).expect("a part");
        let oid = |start: &str| {
            let hex = format!("{start}{}", "0".repeat(40 - start.len()));
            Oid::from_hex(&hex).expect("an id")
        };
        for (word, start, begins) in [
            ("abcd", "abcd", true),
            ("ABCD", "abcd", true),
            ("abcd", "abce", false),
            ("abcde", "abcdef", true),
            ("abcde", "abcdf", false),
            ("abcde", "abcd", false),
        ] {
            assert_eq!(
                part(word).begins(oid(start).as_bytes()),
                begins,
                "{word} {start}"
            );
        }
    }
}
