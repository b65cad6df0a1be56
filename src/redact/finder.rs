//! Finds the words of a list in a text without making an automaton first.
//!
//! An automaton for a thousand words takes milliseconds to make, more than a hook that redacts one prompt may take in all.
//! Here the words are only sorted into buckets by their first two bytes, and a text is compared word by word where a bucket
//! is not empty. ASCII letters match in either case. Answers what an overlapping automaton would, in its order.

use std::ops::Range;

/// Buckets; a power of two, so that few words share one.
const BUCKETS: usize = 4096;

/// Words of two bytes and more, ready to be found.
pub(super) struct WordFinder<W> {
    words: Vec<W>,
    /// Where each bucket begins in `order`, and one past the last.
    heads: Vec<u16>,
    /// The words' numbers, bucket by bucket.
    order: Vec<u16>,
}

/// A word of the list in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    /// Its place in the list.
    pub(super) word: usize,
    /// Where it stands, in bytes.
    pub(super) range: Range<usize>,
}

fn bucket(first: u8, second: u8) -> usize {
    // In either case a letter gives the same; that other bytes share a bucket does not matter.
    let (first, second) = (first | 0x20, second | 0x20);
    (usize::from(first) << 5 ^ usize::from(second)) % BUCKETS
}

impl<W: AsRef<str>> WordFinder<W> {
    /// Over a list of fewer than 65,536 words, none shorter than two bytes.
    pub(super) fn new(words: Vec<W>) -> Self {
        let of = |word: &W| {
            let [first, second] = word
                .as_ref()
                .as_bytes()
                .first_chunk()
                .expect("the lists have no word of one byte");
            bucket(*first, *second)
        };
        let mut counts = vec![0u16; BUCKETS + 1];
        for word in &words {
            counts[of(word) + 1] += 1;
        }
        let mut total = 0;
        for count in &mut counts {
            total += *count;
            *count = total;
        }
        let heads = counts;
        // Counting sort: two passes over the list and no allocation for each bucket.
        let mut next = heads.clone();
        let mut order = vec![0u16; words.len()];
        for (number, word) in words.iter().enumerate() {
            let slot = &mut next[of(word)];
            order[usize::from(*slot)] = u16::try_from(number).expect("a list is short");
            *slot += 1;
        }
        Self {
            words,
            heads,
            order,
        }
    }

    /// Whether any word at any place suits, asked in the order of the places.
    fn find(&self, text: &str, mut suits: impl FnMut(Hit) -> bool) -> bool {
        let bytes = text.as_bytes();
        for (at, pair) in bytes.windows(2).enumerate() {
            let bucket = bucket(pair[0], pair[1]);
            let here = usize::from(self.heads[bucket])..usize::from(self.heads[bucket + 1]);
            for number in &self.order[here] {
                let word = usize::from(*number);
                let wanted = self.words[word].as_ref().as_bytes();
                let range = at..at + wanted.len();
                let found = bytes.get(range.clone());
                if found.is_some_and(|found| found.eq_ignore_ascii_case(wanted))
                    && suits(Hit { word, range })
                {
                    return true;
                }
            }
        }
        false
    }

    /// Whether any hit suits.
    pub(super) fn any(&self, text: &str, mut suits: impl FnMut(Range<usize>) -> bool) -> bool {
        self.find(text, |hit| suits(hit.range))
    }

    /// Whether any hit in the very letters of its word suits.
    pub(super) fn any_exact(
        &self,
        text: &str,
        mut suits: impl FnMut(Range<usize>) -> bool,
    ) -> bool {
        self.find(text, |hit| {
            text.get(hit.range.clone()) == Some(self.words[hit.word].as_ref()) && suits(hit.range)
        })
    }

    /// Every hit, by its end, of several that end at one place the longest first.
    pub(super) fn hits(&self, text: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.find(text, |hit| {
            hits.push(hit);
            false
        });
        // The order in which an overlapping automaton answers: both finders have to lead to the same.
        hits.sort_by_key(|hit| (hit.range.end, hit.range.start, hit.word));
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::tests::Dice;
    use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

    /// What an automaton finds is what is found here, in the same order.
    #[test]
    fn an_automaton_agrees() {
        let mut dice = Dice(0x5eed);
        for round in 0..300 {
            let words: Vec<String> = (0..=dice.below(40))
                .map(|_| {
                    let length = dice.below(5) + 2;
                    dice.string("abAB_•"[..5].trim(), length)
                })
                .collect();
            let length = dice.below(400);
            let text = dice.string("abABc_. ", length);
            let automaton = AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .kind(Some(AhoCorasickKind::NoncontiguousNFA))
                .match_kind(MatchKind::Standard)
                .build(&words)
                .expect("built");
            let expected: Vec<Hit> = automaton
                .find_overlapping_iter(&text)
                .map(|found| Hit {
                    word: found.pattern().as_usize(),
                    range: found.range(),
                })
                .collect();
            assert_eq!(
                WordFinder::new(words).hits(&text),
                expected,
                "round {round}"
            );
        }
    }

    #[test]
    fn words_beyond_ascii_are_found() {
        let index = WordFinder::new(vec!["••", "ab"]);
        assert!(index.any("x•••", |range| range == (1..7)));
        assert!(!index.any("•a", |_| true));
        assert!(!index.any("", |_| true));
        assert!(!index.any("a", |_| true));
    }
}
