//! Objects by a part of their id, as people abbreviate them.

use std::collections::BTreeSet;

use git2::Oid;

use super::store::ObjectStore;

/// Digits of a whole id.
const WHOLE: usize = 40;

/// The fewest digits that git writes or takes.
const FEWEST: usize = 4;

/// The first digits of an id, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartOfId {
    digits: usize,
    /// The least id that begins so.
    pub(super) least: Oid,
}

impl PartOfId {
    /// Reads four to forty hexadecimal digits, nothing around them.
    pub fn parse(word: &[u8]) -> Option<Self> {
        let fits = (FEWEST..=WHOLE).contains(&word.len()) && word.iter().all(u8::is_ascii_hexdigit);
        let text = std::str::from_utf8(word).ok().filter(|_| fits)?;
        Some(Self {
            digits: text.len(),
            least: Oid::from_str(text).ok()?,
        })
    }

    /// The id, when all of it is there.
    pub(super) fn whole(self) -> Option<Oid> {
        (self.digits == WHOLE).then_some(self.least)
    }

    /// Whether an id begins so.
    pub(super) fn begins(self, oid: &[u8]) -> bool {
        let (bytes, least) = (self.digits / 2, self.least.as_bytes());
        let half = |id: &[u8]| id.get(bytes).map(|byte| byte >> 4);
        oid.get(..bytes) == least.get(..bytes)
            && (self.digits.is_multiple_of(2) || half(oid) == half(least))
    }
}

impl ObjectStore {
    /// The id that a part of it names: of the objects that there are one alone begins so. A whole id names itself.
    pub fn resolve(&self, part: PartOfId) -> Option<Oid> {
        if let Some(oid) = part.whole() {
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
    fn parts_are_four_to_forty_digits() {
        for word in ["abc", "abcg", "", "0x12", &"a".repeat(41), " abcd"] {
            assert_eq!(PartOfId::parse(word.as_bytes()), None, "{word:?}");
        }
        let part = |word: &str| PartOfId::parse(word.as_bytes()).expect("a part");
        let oid = |start: &str| {
            let hex = format!("{start}{}", "0".repeat(40 - start.len()));
            Oid::from_str(&hex).expect("an id")
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
