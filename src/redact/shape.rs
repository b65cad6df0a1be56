//! How a string looks: character classes, entropy, and whether it reads like words.
//!
//! Pure functions over bytes, no tables of secrets. "Random" is always a guess; callers choose how sure they must be.

use std::sync::LazyLock;

use super::runs::run_at_start;

/// What one pass over a string tells.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Shape {
    pub(super) len: usize,
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) digit: usize,
    /// Bytes that are no ASCII letter or digit.
    pub(super) symbol: usize,
    pub(super) distinct: usize,
    /// Changes between lower, upper, digit and symbol.
    pub(super) turns: usize,
    /// Shannon entropy in bits a byte.
    pub(super) entropy: f32,
    /// Hex digits of one case only.
    pub(super) hex: bool,
}

#[derive(PartialEq, Clone, Copy)]
enum Class {
    Lower,
    Upper,
    Digit,
    Symbol,
}

fn class(byte: u8) -> Class {
    match byte {
        b'a'..=b'z' => Class::Lower,
        b'A'..=b'Z' => Class::Upper,
        b'0'..=b'9' => Class::Digit,
        _ => Class::Symbol,
    }
}

impl Shape {
    /// Looks at the whole string.
    pub(super) fn of(text: &str) -> Self {
        let mut shape = Self {
            len: text.len(),
            hex: !text.is_empty(),
            ..Self::default()
        };
        let mut seen = [0u16; 256];
        let mut sum = 0.0;
        let mut previous = None;
        let (mut low_hex, mut high_hex) = (false, false);
        for byte in text.bytes() {
            let count = &mut seen[usize::from(byte)];
            shape.distinct += usize::from(*count == 0);
            sum += step(*count);
            *count = count.saturating_add(1);
            let class = class(byte);
            match class {
                Class::Lower => shape.lower += 1,
                Class::Upper => shape.upper += 1,
                Class::Digit => shape.digit += 1,
                Class::Symbol => shape.symbol += 1,
            }
            low_hex |= byte.is_ascii_lowercase();
            high_hex |= byte.is_ascii_uppercase();
            shape.hex &= byte.is_ascii_hexdigit();
            shape.turns += usize::from(previous.is_some_and(|before| before != class));
            previous = Some(class);
        }
        shape.hex &= !(low_hex && high_hex);
        shape.entropy = entropy(sum, shape.len);
        shape
    }

    /// ASCII letters of either case.
    pub(super) fn letters(&self) -> usize {
        self.lower + self.upper
    }
}

/// What `count · log2(count)` grows by with one more; the entropy is `log2(length)` less the mean of these.
fn step(count: u16) -> f32 {
    static STEPS: LazyLock<Vec<f32>> = LazyLock::new(|| (0..1024).map(exact_step).collect());
    STEPS
        .get(usize::from(count))
        .copied()
        .unwrap_or_else(|| exact_step(count))
}

fn exact_step(count: u16) -> f32 {
    let weight = |count: f32| {
        if count < 1.0 {
            0.0
        } else {
            count * count.log2()
        }
    };
    weight(f32::from(count) + 1.0) - weight(f32::from(count))
}

#[allow(
    clippy::cast_precision_loss,
    reason = "the length of a short string fits a float"
)]
fn entropy(sum: f32, len: usize) -> f32 {
    if len == 0 {
        return 0.0;
    }
    let len = len as f32;
    len.log2() - sum / len
}

/// Shannon entropy of a string in bits a byte.
pub(super) fn entropy_of(text: &str) -> f32 {
    Shape::of(text).entropy
}

/// For each first letter from `a` on, the second letters that English words and names in code often have after it.
const FOLLOWERS: &str = "bcdfgiklmnprstuvwxy aceilorsuy acehiklorstuy adeilorsuy abcdefgilmnopqrstvwxy adefilorstu \
    aehilnorsu aeiortuy abcdefglmnoprstvxz aosu aeiswny adefiloskptuy abeimopsuy acdefgiklnostuvy \
    abcdfgiklmnoprstuvwy aehiloprstuy lu acdefgiklmnoprstuvy aceghiklmnopqrstuwy acefhilmoprstuwy abcdefgilmnprst \
    aeio aehinorsd acept enpsmt aeioz";

/// The same as sets of bits.
static FOLLOWS: [u32; 26] = bits();

const fn bits() -> [u32; 26] {
    let mut bits = [0; 26];
    let (seconds, mut first, mut at) = (FOLLOWERS.as_bytes(), 0, 0);
    while at < seconds.len() {
        if seconds[at] == b' ' {
            first += 1;
        } else {
            bits[first] |= 1 << (seconds[at] - b'a');
        }
        at += 1;
    }
    bits
}

fn follows(first: u8, second: u8) -> bool {
    FOLLOWS
        .get(usize::from((first | 0x20).wrapping_sub(b'a')))
        .is_some_and(|bits| bits >> ((second | 0x20).wrapping_sub(b'a') & 31) & 1 == 1)
}

/// How much of the string reads like words: the share, 0 to 1, of its bytes that stand in runs of letters whose
/// neighbours are common ones.
#[allow(
    clippy::cast_precision_loss,
    reason = "counts of a short string fit a float"
)]
pub(super) fn wordiness(text: &str) -> f32 {
    let bytes = text.as_bytes();
    let mut wordy = 0usize;
    let mut counted = 0usize;
    let mut at = 0;
    while at < bytes.len() {
        let run = letter_run(bytes, at);
        if run == 0 {
            counted += usize::from(bytes[at].is_ascii_digit());
            at += 1;
            continue;
        }
        let word = &bytes[at..at + run];
        counted += run;
        if reads_like_a_word(word) {
            wordy += run;
        }
        at += run;
    }
    if counted == 0 {
        return 0.0;
    }
    wordy as f32 / counted as f32
}

/// The words of a string: `Hunter2Horse` has two.
pub(super) fn letter_words(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        while at < bytes.len() {
            let start = at;
            let run = letter_run(bytes, at);
            at += run.max(1);
            if run > 0 {
                return text.get(start..at);
            }
        }
        None
    })
}

/// The length of the word that starts at `at`: `Word`, `word` or `WORD`.
fn letter_run(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let Some(first) = rest.first().filter(|byte| byte.is_ascii_alphabetic()) else {
        return 0;
    };
    let lower =
        |from: usize| run_at_start(&rest[from..], usize::MAX, |byte| byte.is_ascii_lowercase());
    if first.is_ascii_lowercase() {
        return lower(0);
    }
    let uppers = run_at_start(rest, usize::MAX, |byte| byte.is_ascii_uppercase());
    let tail = lower(uppers);
    match (uppers, tail) {
        (1, tail) => 1 + tail,
        (uppers, 0) => uppers,
        // `HTTPServer`: the last capital begins the next word.
        (uppers, _) => uppers - 1,
    }
}

fn reads_like_a_word(word: &[u8]) -> bool {
    if word.len() < 3 {
        return false;
    }
    let common = word
        .windows(2)
        .filter(|pair| follows(pair[0], pair[1]))
        .count();
    let vowels = word
        .iter()
        .filter(|byte| b"aeiouyAEIOUY".contains(byte))
        .count();
    // One odd pair of neighbours in six, none in a short word.
    let odd = if word.len() < 5 {
        0
    } else {
        word.len().saturating_add(1) / 6
    };
    let enough = (word.len() - 1).saturating_sub(odd);
    common >= enough && vowels * 8 >= word.len() && vowels > 0
}

/// How many different punctuation signs stand in a string.
pub(super) fn symbols(text: &str) -> u32 {
    let seen = text
        .bytes()
        .filter(u8::is_ascii_punctuation)
        .fold(0u128, |seen, byte| seen | 1 << byte);
    seen.count_ones()
}

/// Whether the string is one uuid, dashes in place.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_entropy() {
        let shape = Shape::of("aB3$");
        assert_eq!(
            (shape.lower, shape.upper, shape.digit, shape.symbol),
            (1, 1, 1, 1)
        );
        assert_eq!(shape.turns, 3);
        assert!((shape.entropy - 2.0).abs() < 1e-6);
        assert!(entropy_of("aaaaaaaa") < 0.01);
        assert!(Shape::of("deadbeef01").hex);
        assert!(!Shape::of("deadBEEF01").hex, "mixed case is no hash");
        assert!(!Shape::of("").hex);
    }

    #[test]
    fn words_and_noise_differ() {
        for words in [
            "access_token_factory",
            "getPasswordFromVault",
            "my-application-name",
            "HTTPServerHandler",
            "CONNECTION_TIMEOUT",
        ] {
            assert!(wordiness(words) > 0.6, "{words}: {}", wordiness(words));
        }
        for noise in [
            "xI3WMNfLbkpKy0aRpBvCr8jXhkj4Kcfc3IRRItDD",
            "q7gzkxv0w1jh9p2mc4tf",
            "qzxkvwpjhmtrbfgdqxzv",
        ] {
            assert!(wordiness(noise) < 0.35, "{noise}: {}", wordiness(noise));
        }
    }

    #[test]
    fn uuids() {
        assert!(is_uuid("e8e4df51-2054-49b0-ab1c-516ac95c691d"));
        assert!(!is_uuid("e8e4df51-2054-49b0-ab1c-516ac95c691g"));
        assert!(!is_uuid("e8e4df51205449b0ab1c516ac95c691d"));
    }
}
