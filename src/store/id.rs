//! Ids: `<letter>_YYYYMMDD_HHMMSS_<6 of a-z0-9>`, UTC.
//!
//! Owns their form and how a part of one names it. An id orders by time, then by its tail; what one second cannot order,
//! the record's `seq` does. Parsing is strict: what parses prints the same again.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

use crate::env::Moment;
use crate::error::Result;
use crate::git::random;

/// The fewest characters of an id that may stand for it.
pub const MIN_PART: usize = 4;

/// Characters in an id's random tail.
const TAIL: usize = 6;

const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// What a [`SnapshotId`] is the id of: three records of one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdKind {
    /// `s_`: taken on purpose, by a person, an agent or a hook.
    Snapshot,
    /// `b_`: the present, saved before it was replaced.
    Backup,
    /// `x_`: the past as `return` left it.
    Experiment,
}

impl IdKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Snapshot, Self::Backup, Self::Experiment];

    /// The letter that ids of this kind begin with.
    pub fn letter(self) -> char {
        match self {
            Self::Snapshot => 's',
            Self::Backup => 'b',
            Self::Experiment => 'x',
        }
    }

    /// The word for it, as it stands in JSON and messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Backup => "backup",
            Self::Experiment => "experiment",
        }
    }
}

/// The random end of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tail([u8; TAIL]);

impl Tail {
    /// Makes a new random tail.
    ///
    /// # Errors
    /// `IO` when the system has no random bytes to give.
    pub fn random() -> Result<Self> {
        let mut tail = [0; TAIL];
        let mut have = 0;
        // Some are thrown away below: enough, as a rule, for one call.
        let mut bytes = [0; 16];
        while have < TAIL {
            random::fill(&mut bytes)?;
            // 252 is the greatest multiple of 36 in a byte: above it some letters would be likelier.
            for byte in bytes.into_iter().filter(|byte| *byte < 252) {
                let letter = ALPHABET.get(usize::from(byte % 36));
                if let (Some(slot), Some(letter)) = (tail.get_mut(have), letter) {
                    *slot = *letter;
                    have += 1;
                }
            }
        }
        Ok(Self(tail))
    }

    /// Exactly six of `a-z0-9`.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; TAIL] = text.as_bytes().try_into().ok()?;
        bytes
            .iter()
            .all(|byte| ALPHABET.contains(byte))
            .then_some(Self(bytes))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        // ASCII by construction.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// What all ids have: a second and a tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Stamp {
    seconds: i64,
    tail: Tail,
}

/// 9999-12-31T23:59:59Z, the last second that four digits of a year can say.
const LAST_SECOND: i64 = 253_402_300_799;

impl Stamp {
    fn new(at: Moment, tail: Tail) -> Self {
        // A clock that is far off still gives ids that parse again.
        let seconds = at.seconds().clamp(0, LAST_SECOND);
        Self { seconds, tail }
    }

    fn time(self) -> Moment {
        Moment(i128::from(self.seconds) * 1_000_000_000)
    }

    /// `YYYYMMDD_HHMMSS_tail`.
    fn parse(text: &str) -> Option<Self> {
        let (time, tail) = text.rsplit_once('_')?;
        let shaped = time.len() == 15
            && time.bytes().enumerate().all(|(at, byte)| match at {
                8 => byte == b'_',
                _ => byte.is_ascii_digit(),
            });
        if !shaped {
            return None;
        }
        let number = |digits: std::ops::Range<usize>| time.get(digits)?.parse::<u32>().ok();
        let year = i32::try_from(number(0..4)?).ok()?;
        let date = chrono::NaiveDate::from_ymd_opt(year, number(4..6)?, number(6..8)?)?;
        let parsed = date.and_hms_opt(number(9..11)?, number(11..13)?, number(13..15)?)?;
        let stamp = Self {
            seconds: parsed.and_utc().timestamp(),
            tail: Tail::parse(tail)?,
        };
        // Digits of a date and a time print the same again: there are no leap seconds here. Years before 1970 would not.
        (stamp.seconds >= 0).then_some(stamp)
    }
}

/// Characters of an id, its letter with it.
const LENGTH: usize = 24;

impl Stamp {
    /// The id that begins with a letter. Lists of thousands are sorted and matched by these names, so they are put together here:
    /// chrono's own formatting is forty times slower.
    fn named(self, letter: char) -> [u8; LENGTH] {
        use chrono::{Datelike, Timelike};
        let time = self.time().utc();
        let (date, clock) = (time.date_naive(), time.time());
        let year = u32::try_from(date.year()).unwrap_or(0);
        let numbers = [
            year / 100,
            year % 100,
            date.month(),
            date.day(),
            clock.hour(),
            clock.minute(),
            clock.second(),
        ];
        let mut text = *b"-_00000000_000000_------";
        text[0] = u8::try_from(letter).unwrap_or(b'-');
        for (nth, number) in numbers.into_iter().enumerate() {
            let at = 2 + nth * 2 + usize::from(nth > 3);
            if let (Some(digits), Ok(number)) = (text.get_mut(at..at + 2), u8::try_from(number)) {
                digits.copy_from_slice(&[b'0' + number / 10 % 10, b'0' + number % 10]);
            }
        }
        text[LENGTH - TAIL..].copy_from_slice(&self.tail.0);
        text
    }
}

fn write_name(f: &mut fmt::Formatter<'_>, name: &[u8]) -> fmt::Result {
    // ASCII by construction. One write, for a text of the right size from the start.
    f.write_str(std::str::from_utf8(name).unwrap_or_default())
}

/// The id of a snapshot, backup or experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId {
    stamp: Stamp,
    kind: IdKind,
}

impl SnapshotId {
    /// The id of something taken at `at`.
    pub fn new(kind: IdKind, at: Moment, tail: Tail) -> Self {
        let stamp = Stamp::new(at, tail);
        Self { stamp, kind }
    }

    /// A new id with a random tail.
    ///
    /// # Errors
    /// As [`Tail::random`].
    pub fn generate(kind: IdKind, at: Moment) -> Result<Self> {
        Ok(Self::new(kind, at, Tail::random()?))
    }

    /// Reads a whole id, nothing around it.
    pub fn parse(text: &str) -> Option<Self> {
        let (letter, rest) = text.split_once('_')?;
        let kind = IdKind::ALL
            .into_iter()
            .find(|kind| letter.chars().eq([kind.letter()]))?;
        let stamp = Stamp::parse(rest)?;
        Some(Self { stamp, kind })
    }

    /// Which of the three it is.
    pub fn kind(&self) -> IdKind {
        self.kind
    }

    /// The six random characters.
    pub fn tail(&self) -> &str {
        self.stamp.tail.as_str()
    }

    /// When it was taken, to the second.
    pub fn time(&self) -> Moment {
        self.stamp.time()
    }
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(f, &self.stamp.named(self.kind.letter()))
    }
}

/// The id of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IssueId(Stamp);

impl IssueId {
    /// The id of an issue reported at `at`.
    pub fn new(at: Moment, tail: Tail) -> Self {
        Self(Stamp::new(at, tail))
    }

    /// A new id with a random tail.
    ///
    /// # Errors
    /// As [`Tail::random`].
    pub fn generate(at: Moment) -> Result<Self> {
        Ok(Self::new(at, Tail::random()?))
    }

    /// Reads a whole id, nothing around it.
    pub fn parse(text: &str) -> Option<Self> {
        text.strip_prefix("i_").and_then(Stamp::parse).map(Self)
    }

    /// When it was reported, to the second.
    pub fn time(&self) -> Moment {
        self.0.time()
    }
}

impl fmt::Display for IssueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_name(f, &self.0.named('i'))
    }
}

/// Ids stand in JSON as they print, and are parsed when they are read.
macro_rules! as_text {
    ($id:ty: $what:literal) => {
        impl Serialize for $id {
            fn serialize<S: Serializer>(
                &self,
                serializer: S,
            ) -> std::result::Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $id {
            fn deserialize<D: Deserializer<'de>>(
                deserializer: D,
            ) -> std::result::Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text)
                    .ok_or_else(|| D::Error::custom(format!("'{text}' is not {}", $what)))
            }
        }

        impl JsonSchema for $id {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($id).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                String::json_schema(generator)
            }
        }
    };
}

as_text!(SnapshotId: "a snapshot id");
as_text!(IssueId: "an issue id");

/// What a part of an id names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartMatch {
    /// Nothing, or the part is too short.
    None,
    /// One id.
    One(String),
    /// Several, sorted.
    Many(Vec<String>),
}

/// Finds what `part` names among `ids`: the beginning of an id, with or without its letter, or of its tail, four
/// characters or more. A whole id wins.
pub fn resolve_part<'a>(part: &str, ids: impl Iterator<Item = &'a str>) -> PartMatch {
    if part.len() < MIN_PART {
        return PartMatch::None;
    }
    let mut found = Vec::new();
    for id in ids {
        if id == part {
            return PartMatch::One(id.to_owned());
        }
        if id.starts_with(part) || stamp_of(id).starts_with(part) || tail_of(id).starts_with(part) {
            found.push(id);
        }
    }
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [] => PartMatch::None,
        [id] => PartMatch::One((*id).to_owned()),
        _ => PartMatch::Many(found.into_iter().map(str::to_owned).collect()),
    }
}

/// Whether `text`, four characters or more, can be the beginning of an id of `letters`, with or without its letter, or
/// of a tail.
pub fn is_part(text: &str, letters: &str) -> bool {
    let stamp = text
        .split_once('_')
        .filter(|(letter, _)| letter.len() == 1 && letters.contains(letter))
        .map_or(text, |(_, stamp)| stamp);
    let tail = text.len() <= TAIL && text.bytes().all(|byte| ALPHABET.contains(&byte));
    text.len() >= MIN_PART && (tail || is_stamp_start(stamp))
}

/// Whether `text` is `YYYYMMDD_HHMMSS_tail` or its beginning.
fn is_stamp_start(text: &str) -> bool {
    text.len() <= 16 + TAIL
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 15 => byte == b'_',
            0..15 => byte.is_ascii_digit(),
            _ => ALPHABET.contains(&byte),
        })
}

/// The id without its letter.
fn stamp_of(id: &str) -> &str {
    id.split_once('_').map_or(id, |(_, stamp)| stamp)
}

fn tail_of(id: &str) -> &str {
    id.rsplit_once('_').map_or(id, |(_, tail)| tail)
}

/// The ids among which short names are given: sorted once, so that each of thousands gets its own quickly.
#[derive(Debug)]
pub struct ShortNames<'a> {
    ids: &'a [SnapshotId],
    tails: Vec<[u8; TAIL]>,
    /// The ids without their letters, sorted; made for the first tail that may be the beginning of one.
    stamps: OnceCell<Vec<[u8; LENGTH]>>,
}

impl<'a> ShortNames<'a> {
    /// Names among `ids`.
    pub fn new(ids: &'a [SnapshotId]) -> Self {
        let mut tails: Vec<_> = ids.iter().map(|id| id.stamp.tail.0).collect();
        tails.sort_unstable();
        Self {
            ids,
            tails,
            stamps: OnceCell::new(),
        }
    }

    /// The length of the shortest beginning of the tail, four characters or more, that [`resolve_part`] takes for `id`, one of
    /// these, and no other; the length of the whole id when even the whole tail is not enough.
    pub fn length(&self, id: &SnapshotId) -> usize {
        let tail = &id.stamp.tail.0;
        (MIN_PART..=TAIL)
            .find(|&length| {
                let part = &tail[..length];
                beginning_with(&self.tails, part) <= 1 && !self.is_time(part)
            })
            .unwrap_or(LENGTH)
    }

    /// Whether an id's date and time begin with this.
    fn is_time(&self, part: &[u8]) -> bool {
        // A tail of digits alone may read as the year of any id.
        if !part.iter().all(u8::is_ascii_digit) {
            return false;
        }
        let stamps = self.stamps.get_or_init(|| {
            let mut stamps: Vec<_> = self.ids.iter().map(|id| id.stamp.named('-')).collect();
            stamps.sort_unstable();
            stamps
        });
        beginning_with(stamps, &[b"-_", part].concat()) > 0
    }
}

/// How many of `sorted` begin with `part`.
fn beginning_with<const N: usize>(sorted: &[[u8; N]], part: &[u8]) -> usize {
    let from = sorted.partition_point(|text| &text[..] < part);
    let rest = sorted.get(from..).unwrap_or_default();
    rest.partition_point(|text| text.starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(text: &str) -> Tail {
        Tail::parse(text).expect("six of a-z0-9")
    }

    fn at(text: &str) -> Moment {
        Moment::parse_rfc3339(text).expect("RFC 3339")
    }

    #[test]
    fn an_id_says_kind_second_and_tail() {
        let taken = at("2026-02-28T15:30:12Z");
        let id = SnapshotId::new(IdKind::Snapshot, taken, tail("ab12cd"));
        assert_eq!(id.to_string(), "s_20260228_153012_ab12cd");
        assert_eq!((id.kind(), id.tail()), (IdKind::Snapshot, "ab12cd"));
        assert_eq!(id.time(), taken);
        for kind in IdKind::ALL {
            let id = SnapshotId::new(kind, taken, tail("zzzzz9"));
            assert_eq!(SnapshotId::parse(&id.to_string()), Some(id));
        }
        let issue = IssueId::new(taken, tail("ab12cd"));
        assert_eq!(issue.to_string(), "i_20260228_153012_ab12cd");
        assert_eq!(IssueId::parse("i_20260228_153012_ab12cd"), Some(issue));
    }

    #[test]
    fn only_the_exact_form_parses() {
        for text in [
            "",
            "s_",
            "s_20260228_153012_ab12c",
            "s_20260228_153012_ab12cde",
            "s_20260228_153012_AB12CD",
            "s_20260228_153012_ab12c\u{e9}",
            "s_20260230_153012_ab12cd",
            "s_20260228_243012_ab12cd",
            "s_20260228_153060_ab12cd",
            "s_20260228-153012-ab12cd",
            "s_2026022_1530120_ab12cd",
            "s_+2026022_153012_ab12cd",
            "s_19691231_235959_ab12cd",
            "s_20260228_153012_ab12cd ",
            " s_20260228_153012_ab12cd",
            "s_20260228_153012_ab12cd_",
            "S_20260228_153012_ab12cd",
            "i_20260228_153012_ab12cd",
            "ss_20260228_153012_ab12cd",
            "20260228_153012_ab12cd",
        ] {
            assert_eq!(SnapshotId::parse(text), None, "{text:?}");
        }
        assert_eq!(IssueId::parse("s_20260228_153012_ab12cd"), None);
    }

    #[test]
    fn ids_order_by_time_first() {
        let early = SnapshotId::new(
            IdKind::Experiment,
            at("2026-01-01T00:00:00Z"),
            tail("zzzzzz"),
        );
        let late = SnapshotId::new(IdKind::Backup, at("2026-01-01T00:00:01Z"), tail("aaaaaa"));
        assert!(early < late);
        let far = SnapshotId::new(IdKind::Backup, Moment(i128::MAX), tail("aaaaaa"));
        assert!(SnapshotId::parse(&far.to_string()).is_some());
        let past = SnapshotId::new(IdKind::Backup, Moment(-1), tail("aaaaaa"));
        assert_eq!(past.to_string(), "b_19700101_000000_aaaaaa");
    }

    #[test]
    fn random_tails_are_well_formed_and_differ() {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..500 {
            let tail = Tail::random().expect("random");
            assert_eq!(Tail::parse(tail.as_str()), Some(tail));
            seen.insert(tail);
        }
        assert!(seen.len() > 495, "{}", seen.len());
        let used: std::collections::HashSet<u8> = seen.iter().flat_map(|tail| tail.0).collect();
        assert_eq!(used.len(), 36);
    }

    const IDS: [&str; 5] = [
        "s_20260228_153012_ab12cd",
        "s_20260228_153013_ab12ce",
        "b_20260228_153012_qqqqqq",
        "x_20260301_000000_2026ab",
        "s_20260302_000000_zzzzzz",
    ];

    fn resolve(part: &str) -> PartMatch {
        resolve_part(part, IDS.into_iter())
    }

    fn one(id: &str) -> PartMatch {
        PartMatch::One(id.to_owned())
    }

    #[test]
    fn any_unambiguous_part_names_an_id() {
        assert_eq!(resolve("qqqqqq"), one(IDS[2]));
        assert_eq!(resolve("qqqq"), one(IDS[2]));
        assert_eq!(resolve("b_20"), one(IDS[2]));
        assert_eq!(resolve("20260302"), one(IDS[4]));
        assert_eq!(resolve("s_20260302"), one(IDS[4]));
        assert_eq!(resolve("20260228_153013"), one(IDS[1]));
        assert_eq!(resolve("ab12ce"), one(IDS[1]));
        assert_eq!(resolve(IDS[0]), one(IDS[0]));
        assert_eq!(resolve("20260228_153012_ab12cd"), one(IDS[0]));
    }

    #[test]
    fn too_short_absent_and_ambiguous_parts_name_none() {
        for part in ["", "qqq", "s_2", "12cd", "qqqqqqq", "_2026", "QQQQ"] {
            assert_eq!(resolve(part), PartMatch::None, "{part:?}");
        }
        let both = PartMatch::Many(vec![IDS[0].to_owned(), IDS[1].to_owned()]);
        assert_eq!(resolve("ab12"), both);
        let PartMatch::Many(all) = resolve("2026") else {
            panic!("a tail that looks like a year is ambiguous too")
        };
        assert_eq!(all.len(), 5);
        let twice = resolve_part("qqqq", [IDS[2], IDS[2]].into_iter());
        assert_eq!(twice, one(IDS[2]));
    }

    #[test]
    fn a_short_name_resolves_to_its_id_alone() {
        let ids = IDS.map(|id| SnapshotId::parse(id).expect("an id"));
        let names = ShortNames::new(&ids);
        let short = |id: &SnapshotId| id.tail()[..names.length(id)].to_owned();
        let short: Vec<String> = ids.iter().map(short).collect();
        assert_eq!(short, ["ab12cd", "ab12ce", "qqqq", "2026a", "zzzz"]);
        for (id, short) in IDS.iter().zip(short) {
            assert_eq!(resolve(&short), one(id));
        }
        let twins = ["s_20260228_153012_aaaaaa", "b_20260228_153012_aaaaaa"];
        let twins = twins.map(|id| SnapshotId::parse(id).expect("an id"));
        assert_eq!(ShortNames::new(&twins).length(&twins[0]), LENGTH);
    }

    #[test]
    fn parts_are_known_by_their_shape() {
        for text in [
            "s_20",
            "s_20260228_153012_ab12cd",
            "2026",
            "20260228_1",
            "ab12",
            "fixed",
        ] {
            assert!(is_part(text, "sbx"), "{text}");
        }
        for text in [
            "",
            "abc",
            "i_20",
            "before-refactor",
            "s_2x",
            "20260228_153012_ab12cde",
            "refactor",
        ] {
            assert!(!is_part(text, "sbx"), "{text}");
        }
    }
}
