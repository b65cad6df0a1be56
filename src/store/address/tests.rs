use chrono::{FixedOffset, NaiveDate, NaiveDateTime, Offset, TimeZone, Utc};

use super::super::names::{Record, session_component};
use super::*;

/// A Sunday, an hour of which has passed in UTC and three in `plus_two`.
const NOW: &str = "2026-03-01T01:00:00Z";

fn moment(text: &str) -> Moment {
    Moment::parse_rfc3339(text).expect("RFC 3339")
}

fn plus_two() -> FixedOffset {
    FixedOffset::east_opt(7200).expect("two hours")
}

fn read(text: &str) -> Result<Address> {
    parse_in(text, moment(NOW), &Utc)
}

fn ok(text: &str) -> Address {
    read(text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

fn code(text: &str) -> Code {
    match read(text) {
        Err(error) => error.code(),
        Ok(address) => panic!("{text:?} reads as {address:?}"),
    }
}

fn bare(text: &str) -> Address {
    Address::Bare(text.to_owned())
}

fn checkpoint_of(session: Option<&str>, n: u64) -> Address {
    let session = session.map(str::to_owned);
    Address::Checkpoint { session, n }
}

#[test]
fn words_are_addresses() {
    assert_eq!(ok("latest"), Address::Latest(0));
    assert_eq!(ok("latest~2"), Address::Latest(2));
    assert_eq!(ok("latest~"), Address::Latest(1));
    assert_eq!(ok("session"), Address::Session);
    assert_eq!(ok(" present "), Address::Present);
    assert_eq!(
        ok("label:before-refactor"),
        Address::Label("before-refactor".to_owned())
    );
    assert_eq!(ok("label:latest"), Address::Label("latest".to_owned()));
    for text in [
        "latest~x",
        "latest~-1",
        "latest~+1",
        "latest~99999999999",
        "label:",
        "label:a b",
        "label:a/b",
    ] {
        assert_eq!(code(text), Code::InvalidAddress, "{text}");
    }
}

#[test]
fn issues_are_named_by_four_characters_or_more() {
    let issue = |text: &str| Address::Issue(text.to_owned());
    for part in [
        "i_20260228_153012_ab12cd",
        "ab12",
        "ab12cd",
        "20260228",
        "i_20",
    ] {
        assert_eq!(ok(&format!("issue:{part}")), issue(part));
    }
    assert_eq!(
        ok("i_20260228_153012_ab12cd"),
        issue("i_20260228_153012_ab12cd")
    );
    for part in [
        "",
        "ab1",
        "s_20260228_153012_ab12cd",
        "ab12cd7",
        "AB12",
        "../x",
        "a b c",
    ] {
        assert_eq!(
            code(&format!("issue:{part}")),
            Code::InvalidIssueId,
            "{part}"
        );
    }
}

#[test]
fn checkpoints_have_numbers_and_perhaps_a_session() {
    assert_eq!(ok("checkpoint:0"), checkpoint_of(None, 0));
    assert_eq!(ok("session:7"), checkpoint_of(None, 7));
    assert_eq!(
        ok("0b9f6c1e-1f2a:12"),
        checkpoint_of(Some("0b9f6c1e-1f2a"), 12)
    );
    assert_eq!(ok("a:b/c:12"), checkpoint_of(Some("a:b/c"), 12));
    assert_eq!(ok("checkpoint:abc:3"), checkpoint_of(Some("abc"), 3));
    assert_eq!(ok("15:3"), checkpoint_of(Some("15"), 3));
    for text in [
        "checkpoint:",
        "checkpoint:x",
        "checkpoint:-1",
        "checkpoint::1",
        "checkpoint:99999999999999999999",
        "abc:99999999999999999999",
    ] {
        assert_eq!(code(text), Code::InvalidCheckpoint, "{text}");
    }
    for text in ["abc:", ":5", "abc:x"] {
        assert_eq!(code(text), Code::InvalidAddress, "{text}");
    }
}

#[test]
fn a_checkpoint_has_an_address_whatever_its_session_is_called() {
    for (session, address) in [
        ("0b9f6c1e-1f2a", "0b9f6c1e-1f2a:2"),
        ("a:b/c", "a:b/c:2"),
        ("my run", "my run:2"),
        (" x", "checkpoint: x:2"),
        ("2026-02-28 15:30", "checkpoint:2026-02-28 15:30:2"),
        ("2026-02-28T15:30:12Z", "checkpoint:2026-02-28T15:30:12Z:2"),
        ("session", "checkpoint:session:2"),
        ("issue", "checkpoint:issue:2"),
    ] {
        assert_eq!(of_checkpoint(session, 2), address);
        assert_eq!(ok(address), checkpoint_of(Some(session), 2));
    }
    let hidden = of_checkpoint("a\nb", 2);
    assert!(hidden.starts_with("x-"), "{hidden}");
    let now = Moment(1_772_292_612_000_000_000);
    assert_eq!(checkpoint_named("7", now), Some((None, 7)));
    assert_eq!(
        checkpoint_named("2026-02-28T15:30:12Z:2", now),
        Some((Some("2026-02-28T15:30:12Z".to_owned()), 2))
    );
    assert_eq!(checkpoint_named("2026-02-28", now), None);
}

#[test]
fn ids_and_commits_are_told_apart_as_far_as_form_goes() {
    for id in [
        "s_20260228_153012_ab12cd",
        "b_20260228_153012_ab12cd",
        "x_20",
        "s_2026022",
    ] {
        assert_eq!(ok(id), Address::Id(id.to_owned()));
    }
    let commits = [
        "8ab686e",
        "8ab686eafeb1f44702738c8b0f24f2567c36da6d",
        "refs/probe/b_1",
        "probe/x",
        "8AB6",
    ];
    for commit in commits {
        assert_eq!(ok(commit), Address::Commit(commit.to_owned()));
    }
    for text in [
        "ab12cd",
        "beef",
        "20260228",
        "20260228_15",
        "before-refactor",
        "fixed",
        "ab1",
        "HEAD",
        "s_x",
        "2h",
        "2026-02-28-fix",
        "ago",
        "nowhere",
        "\u{e9}t\u{e9}",
    ] {
        assert_eq!(ok(text), bare(text));
    }
    for text in [
        "", " ", "a b", "--force", "-1", "a\nb", "a\0b", "HEAD~2", "a^", "a..b", "/a", "a//b",
        "a.lock", "@{1}", "*",
    ] {
        assert_eq!(code(text), Code::InvalidAddress, "{text:?}");
    }
}

fn time(text: &str) -> String {
    match parse_in(text, moment(NOW), &plus_two()) {
        Ok(Address::Time(moment)) => moment.rfc3339(),
        other => panic!("{text:?} reads as {other:?}"),
    }
}

#[test]
fn times_are_read_as_people_write_them() {
    for (text, wanted) in [
        ("now", "2026-03-01T01:00:00Z"),
        ("2h ago", "2026-02-28T23:00:00Z"),
        ("90 minutes ago", "2026-02-28T23:30:00Z"),
        ("90 Minutes Ago", "2026-02-28T23:30:00Z"),
        ("3 days ago", "2026-02-26T01:00:00Z"),
        ("1h30m ago", "2026-02-28T23:30:00Z"),
        ("1 hour, 30 minutes ago", "2026-02-28T23:30:00Z"),
        ("an hour and 1 second ago", "2026-02-28T23:59:59Z"),
        ("2.hours.ago", "2026-02-28T23:00:00Z"),
        ("a week ago", "2026-02-22T01:00:00Z"),
        ("1 month ago", "2026-02-01T01:00:00Z"),
        ("1 year ago", "2025-03-01T01:00:00Z"),
        ("4000000000 years ago", "1970-01-01T00:00:00Z"),
        ("yesterday", "2026-02-28T21:59:59Z"),
        ("today", "2026-03-01T01:00:00Z"),
        ("2026-03-01", "2026-03-01T01:00:00Z"),
        ("5 min ago", "2026-03-01T00:55:00Z"),
        ("an hour ago", "2026-03-01T00:00:00Z"),
        ("last week", "2026-02-22T01:00:00Z"),
        ("last month", "2026-02-01T01:00:00Z"),
        // Now is a Sunday, 3 o'clock there.
        ("monday 9:00", "2026-02-23T07:00:00Z"),
        ("Mon at 9:00", "2026-02-23T07:00:00Z"),
        ("last friday", "2026-02-27T21:59:59Z"),
        ("last fri 3pm", "2026-02-27T13:00:00Z"),
        ("sunday 2:30", "2026-03-01T00:30:00Z"),
        ("sunday 4:00", "2026-02-22T02:00:00Z"),
        ("last sunday", "2026-02-22T21:59:59Z"),
        ("yesterday noon", "2026-02-28T10:00:00Z"),
        ("yesterday 12:30 am", "2026-02-27T22:30:00Z"),
        ("today midnight", "2026-02-28T22:00:00Z"),
        ("@1772292612", "2026-02-28T15:30:12Z"),
        ("yesterday 14:00", "2026-02-28T12:00:00Z"),
        ("yesterday at 9:05", "2026-02-28T07:05:00Z"),
        ("today 02:30", "2026-03-01T00:30:00Z"),
        ("02:30", "2026-03-01T00:30:00Z"),
        ("2:30:15", "2026-03-01T00:30:15Z"),
        ("23:30-05:00", "2026-03-01T04:30:00Z"),
        ("2026-02-28", "2026-02-28T21:59:59Z"),
        ("2026-02-28 15:30", "2026-02-28T13:30:00Z"),
        ("2026-02-28T15:30:12", "2026-02-28T13:30:12Z"),
        ("2026-02-28 15:30 UTC", "2026-02-28T15:30:00Z"),
        ("2026-02-28T15:30:12Z", "2026-02-28T15:30:12Z"),
        ("2026-02-28t15:30:12.75z", "2026-02-28T15:30:12Z"),
        ("2026-02-28T15:30:12+01:00", "2026-02-28T14:30:12Z"),
        ("2026-02-28T15:30:12-0830", "2026-03-01T00:00:12Z"),
        ("2026-12-31T23:59:60Z", "2026-12-31T23:59:59Z"),
    ] {
        assert_eq!(time(text), wanted, "{text}");
    }
}

#[test]
fn words_that_may_be_something_else_are_times_last() {
    for (text, wanted) in [
        ("2h", "2026-02-28T23:00:00Z"),
        ("1h30m", "2026-02-28T23:30:00Z"),
        ("monday", "2026-02-23T21:59:59Z"),
        ("2h ago", "2026-02-28T23:00:00Z"),
    ] {
        let found = time::parse_bare(text, moment(NOW), &plus_two());
        let found = found.expect("a time").ok();
        assert_eq!(
            found.map(Moment::rfc3339).as_deref(),
            Some(wanted),
            "{text}"
        );
    }
    for text in ["", "monda", "h2", "fixed", "2x"] {
        assert!(
            time::parse_bare(text, moment(NOW), &plus_two()).is_none(),
            "{text}"
        );
    }
}

#[test]
fn what_looks_like_a_time_and_is_none_says_so() {
    for text in [
        "2026-02-30",
        "2026-13-01 10:00",
        "2026-02-28 25:00",
        "2026-02-28 15:60",
        "2026-02-28 15",
        "2026-02-28 15:30 CET",
        "2026-02-28T15:30:12+99:00",
        "25:00",
        "15:30:",
        "15:30:1",
        "15:30x",
        "yesterday 13pm",
        "monday 25:00",
        "99999999999 days ago",
        "2 parsecs ago",
        "1.5 hours ago",
    ] {
        let error = read(text).map(|address| format!("{text:?} reads as {address:?}"));
        let error = error.expect_err("no time");
        assert_eq!(error.code(), Code::InvalidAddress, "{text}");
        assert!(error.message().contains(text.trim()), "{error}");
        assert!(error.hints().iter().any(|hint| hint.contains("2h ago")));
    }
}

/// Two hours ahead of UTC in summer, one in winter: forward at 01:00Z on 29 March, back at 01:00Z on 25 October 2026.
#[derive(Clone)]
struct Berlin {
    /// Which of the two readings of the repeated hour comes first.
    first: Reading,
}

#[derive(Clone, Copy)]
enum Reading {
    Earlier,
    Later,
}

impl Berlin {
    fn hours(hours: i32) -> FixedOffset {
        FixedOffset::east_opt(hours * 3600).expect("hours")
    }

    fn change(month: u32, day: u32) -> NaiveDateTime {
        let date = NaiveDate::from_ymd_opt(2026, month, day).expect("date");
        date.and_hms_opt(1, 0, 0).expect("time")
    }
}

impl TimeZone for Berlin {
    type Offset = FixedOffset;

    fn from_offset(_: &FixedOffset) -> Self {
        let first = Reading::Earlier;
        Self { first }
    }

    fn offset_from_local_date(&self, _: &NaiveDate) -> chrono::LocalResult<FixedOffset> {
        chrono::LocalResult::None
    }

    fn offset_from_local_datetime(
        &self,
        shown: &NaiveDateTime,
    ) -> chrono::LocalResult<FixedOffset> {
        let fits = |hours: i32| {
            let offset = Self::hours(hours);
            let utc = *shown - chrono::Duration::hours(hours.into());
            (self.offset_from_utc_datetime(&utc) == offset).then_some(offset.fix())
        };
        match (fits(2), fits(1)) {
            (Some(early), Some(late)) => match self.first {
                Reading::Earlier => chrono::LocalResult::Ambiguous(early, late),
                Reading::Later => chrono::LocalResult::Ambiguous(late, early),
            },
            (Some(one), None) | (None, Some(one)) => chrono::LocalResult::Single(one),
            (None, None) => chrono::LocalResult::None,
        }
    }

    fn offset_from_utc_date(&self, _: &NaiveDate) -> FixedOffset {
        Self::hours(1)
    }

    fn offset_from_utc_datetime(&self, utc: &NaiveDateTime) -> FixedOffset {
        let summer = *utc >= Self::change(3, 29) && *utc < Self::change(10, 25);
        Self::hours(if summer { 2 } else { 1 })
    }
}

#[test]
fn hours_that_clocks_skip_or_repeat_still_mean_something() {
    for first in [Reading::Earlier, Reading::Later] {
        let at = |text: &str| match parse_in(text, moment(NOW), &Berlin { first }) {
            Ok(Address::Time(moment)) => moment.rfc3339(),
            other => panic!("{text:?} reads as {other:?}"),
        };
        assert_eq!(at("2026-03-29 01:59"), "2026-03-29T00:59:00Z");
        assert_eq!(at("2026-03-29 02:30"), "2026-03-29T01:30:00Z");
        assert_eq!(at("2026-03-29 03:00"), "2026-03-29T01:00:00Z");
        assert_eq!(at("2026-10-25 02:30"), "2026-10-25T01:30:00Z");
        assert_eq!(at("2026-07-01"), "2026-07-01T21:59:59Z");
    }
}

#[test]
fn labels_read_as_nothing_but_labels() {
    for name in [
        "before-refactor",
        "fixed",
        "v1.0",
        "phase1",
        "Good_one",
        "2026-02-28-fix",
        "\u{e9}t\u{e9}",
        "works!",
        "a",
        "x",
        "ab1",
        "release-2026",
    ] {
        valid_label(name).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    for name in [
        "latest",
        "2h",
        "3d",
        "90s",
        "monday",
        "LATEST",
        "session",
        "present",
        "now",
        "yesterday",
        "today",
        "issue:ab12",
        "checkpoint:3",
        "label:x",
        "latest~2",
        "s_20260228_153012_ab12cd",
        "s_20",
        "i_2026",
        "20260228_15",
        "ab12cd",
        "1abc",
        "0",
        "12",
        "123456789",
        "1.5",
        "2026-02-28",
        "15:30",
        "2.hours.ago",
        "2h ago",
        "beef",
        "8ab686e",
        "8AB686EAFEB1F44702738C8B0F24F2567C36DA6D",
        "",
        "a b",
        "a/b",
        "a..b",
        ".a",
        "a.",
        "a.lock",
        "a@{b",
        "a~b",
        "-a",
        "a\u{85}b",
        "a\nb",
    ] {
        let error = valid_label(name).err();
        assert_eq!(
            error.map(|error| error.code()),
            Some(Code::InvalidLabel),
            "{name:?}"
        );
    }
    valid_label(&"a".repeat(201)).expect_err("too long for a file name");
}

#[test]
fn a_label_is_no_part_of_an_id_there_is() {
    let ids = ["s_20260228_153012_abcxyz"];
    valid_label("abcxyz").expect("a word");
    for part in ["abcxyz", "abcx"] {
        let error = valid_label_among(part, ids.into_iter()).expect_err("somebody's tail");
        assert_eq!(error.code(), Code::InvalidLabel);
    }
    valid_label_among("fixed", ids.into_iter()).expect("nobody's");
}

/// Every accepted label must come back as one when it is used as an address.
#[test]
fn no_text_makes_the_parsers_panic() {
    let pieces = [
        "latest",
        "~",
        "issue:",
        "checkpoint:",
        "label:",
        ":",
        "s_",
        "i_",
        "20260228",
        "_153012",
        "_ab12cd",
        "2026-02-28",
        " ",
        "T",
        "15:30",
        ":12",
        ".5",
        "Z",
        "+01:00",
        "-",
        "yesterday",
        "today",
        "at ",
        "now",
        "ago",
        "2",
        "h",
        "an ",
        "month",
        "999999999999",
        "\u{e9}",
        "\u{1f600}",
        "\0",
        "\n",
        "/",
        "..",
        ".lock",
        "@{",
        "refs",
        "beef",
        "\u{130}",
        "",
    ];
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("small")
    };
    for _ in 0..30_000 {
        let text: String = (0..next(7)).map(|_| pieces[next(pieces.len())]).collect();
        let address = parse(&text, moment(NOW));
        let _ = read(&text);
        let _ = super::super::id::SnapshotId::parse(&text);
        let _ = Record::parse_note_ref(&text);
        let _ = session_component(&text);
        if valid_label(&text).is_ok() {
            assert!(
                matches!(address, Ok(Address::Bare(label)) if label == text),
                "{text:?}"
            );
        }
    }
}
