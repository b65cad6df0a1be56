//! Times as people write them: `2h ago`, `yesterday 14:00`, `monday 9:00`, `last week`, `2026-02-28 15:30`, RFC 3339, `@1772292612`.
//!
//! Without a zone they are in the zone given. What is ambiguous there, in the hour that autumn repeats, is the later of
//! the two: "at or before" then leaves nothing out. A date alone is the end of that day, today alone is now. All of them look back: a
//! day of the week is the last one that had this time of day. Libraries for dates in words look forward there, and know nothing of
//! hours that clocks skip or repeat; the calendar itself is chrono's.

use chrono::{
    DateTime, Datelike, Days, Duration, FixedOffset, LocalResult, Months, NaiveDate, NaiveDateTime,
    NaiveTime, TimeZone, Weekday,
};

use crate::env::Moment;

/// The moment that `text` means. None: it has no form of a time. An error: it has, and there is no such time.
pub(super) fn parse<Z: TimeZone>(
    text: &str,
    now: Moment,
    zone: &Z,
) -> Option<Result<Moment, &'static str>> {
    let text = text.trim().to_ascii_lowercase();
    if text == "now" {
        return Some(Ok(now));
    }
    if let Some(seconds) = text
        .strip_prefix('@')
        .and_then(|text| text.parse::<u32>().ok())
    {
        return Some(Ok(Moment(0).minus_seconds(-i64::from(seconds))));
    }
    if let Some(unit) = text
        .strip_prefix("last ")
        .and_then(|word| unit(word.trim()))
    {
        return Some(Ok(unit.before(now, 1, zone)));
    }
    if let Some(amounts) = text.strip_suffix(" ago") {
        return ago(amounts, now, zone);
    }
    if let Some(amounts) = text.strip_suffix(".ago") {
        // Git's own spelling that needs no quotes: 2.hours.ago
        return ago(&amounts.replace('.', " "), now, zone);
    }
    let today = zone.from_utc_datetime(&now.utc().naive_utc()).date_naive();
    if text.contains(' ')
        && let Some((day, clock)) = weekday(&text)
    {
        return Some(on_weekday(day, clock, today, now, zone));
    }
    let (date, clock) = match day(&text, today)? {
        Ok(parts) => parts,
        Err(why) => return Some(Err(why)),
    };
    match clock {
        "" if date == today => Some(Ok(now)),
        "" => Some(Ok(end_of(date, zone))),
        clock => Some(on(date, clock, now, zone, &text).ok_or("no such time of day")),
    }
}

/// As [`parse`], and words that may be something else as well: `2h`, `monday`.
pub(super) fn parse_bare<Z: TimeZone>(
    text: &str,
    now: Moment,
    zone: &Z,
) -> Option<Result<Moment, &'static str>> {
    parse(text, now, zone).or_else(|| {
        let text = text.trim().to_ascii_lowercase();
        let today = zone.from_utc_datetime(&now.utc().naive_utc()).date_naive();
        match weekday(&text) {
            Some((day, clock)) => Some(on_weekday(day, clock, today, now, zone)),
            None => ago(&text, now, zone),
        }
    })
}

/// A day of the week, `last` before it or not, and the rest of the text.
fn weekday(text: &str) -> Option<(Weekday, &str)> {
    let text = text.strip_prefix("last ").map_or(text, str::trim_start);
    let end = text.find(' ').unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end)?;
    // Three letters, or all of them.
    let day: Weekday = word.parse().ok()?;
    after_word(rest).map(|clock| (day, clock))
}

/// The last such day that had this time of day; without one, the end of the last such day before today.
fn on_weekday<Z: TimeZone>(
    day: Weekday,
    clock: &str,
    today: NaiveDate,
    now: Moment,
    zone: &Z,
) -> Result<Moment, &'static str> {
    let back = (7 + today.weekday().num_days_from_monday() - day.num_days_from_monday()) % 7;
    let before = |days: u32| {
        today
            .checked_sub_days(Days::new(days.into()))
            .unwrap_or(today)
    };
    let week = if back == 0 { 7 } else { back };
    if clock.is_empty() {
        return Ok(end_of(before(week), zone));
    }
    let at = |date| on(date, clock, now, zone, "").ok_or("no such time of day");
    let same_day = at(before(back))?;
    if same_day <= now {
        Ok(same_day)
    } else {
        at(before(back + 7))
    }
}

/// A day and the rest of the text; `today` when it begins with a time of day.
fn day(text: &str, today: NaiveDate) -> Option<Result<(NaiveDate, &str), &'static str>> {
    if let Some(rest) = text.strip_prefix("yesterday") {
        let date = today.checked_sub_days(Days::new(1)).unwrap_or(today);
        return after_word(rest).map(|clock| Ok((date, clock)));
    }
    if let Some(rest) = text.strip_prefix("today") {
        return after_word(rest).map(|clock| Ok((today, clock)));
    }
    if is_like(text, "dddd-dd-dd") {
        let (date, rest) = text.split_at_checked(10)?;
        let clock = match rest.strip_prefix('t') {
            Some(clock) => clock,
            None => after_word(rest)?,
        };
        let date = NaiveDate::parse_from_str(date, "%Y-%m-%d");
        return Some(date.map(|date| (date, clock)).map_err(|_| "no such date"));
    }
    Some(Ok((today, text))).filter(|_| is_clock(text))
}

/// What follows a day: nothing, or a space and more.
fn after_word(rest: &str) -> Option<&str> {
    let trimmed = rest.trim_start();
    if rest.is_empty() {
        return Some("");
    }
    (trimmed.len() < rest.len()).then(|| trimmed.strip_prefix("at ").unwrap_or(trimmed))
}

/// The time of day `clock` on `date`. `clock` alone, with a zone, means that zone's today.
fn on<Z: TimeZone>(
    date: NaiveDate,
    clock: &str,
    now: Moment,
    zone: &Z,
    whole: &str,
) -> Option<Moment> {
    if let Some(time) = twelve_hours(clock) {
        return Some(resolve(date.and_time(time), zone));
    }
    let (time, offset) = split_zone(clock)?;
    let time = time_of_day(time)?;
    let Some(offset) = offset else {
        return Some(resolve(date.and_time(time), zone));
    };
    let date = if clock == whole {
        now.utc().with_timezone(&offset).date_naive()
    } else {
        date
    };
    Some(resolve(date.and_time(time), &offset))
}

fn is_clock(text: &str) -> bool {
    is_like(text, "d:dd") || is_like(text, "dd:dd")
}

/// `3pm`, `3:30 am`, `noon`, `midnight`.
fn twelve_hours(clock: &str) -> Option<NaiveTime> {
    let (hour, minute) = match clock {
        "noon" => (12, 0),
        "midnight" => (0, 0),
        _ => {
            let afternoon = clock.ends_with("pm");
            let text = clock
                .strip_suffix("pm")
                .or_else(|| clock.strip_suffix("am"))?;
            let (hour, minute) = text
                .trim_end()
                .split_once(':')
                .unwrap_or((text.trim_end(), "00"));
            let number = |text: &str| {
                let shaped = (1..=2).contains(&text.len());
                text.parse::<u32>().ok().filter(|_| shaped)
            };
            let hour = number(hour).filter(|hour| (1..=12).contains(hour))? % 12;
            let minute = number(minute).filter(|_| minute.len() == 2)?;
            (hour + if afternoon { 12 } else { 0 }, minute)
        }
    };
    NaiveTime::from_hms_opt(hour, minute, 0)
}

/// Whether `text` begins with this pattern, where `d` is a digit, and no digit follows.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut bytes = text.bytes();
    let begins = pattern.bytes().all(|wanted| match bytes.next() {
        Some(byte) if wanted == b'd' => byte.is_ascii_digit(),
        Some(byte) => byte == wanted,
        None => false,
    });
    begins && !bytes.next().is_some_and(|byte| byte.is_ascii_digit())
}

/// Splits `15:30+01:00` and the like. None: what follows the time of day is no zone.
fn split_zone(clock: &str) -> Option<(&str, Option<FixedOffset>)> {
    let is_time = |ch: char| ch.is_ascii_digit() || ch == ':' || ch == '.';
    let at = clock.find(|ch| !is_time(ch)).unwrap_or(clock.len());
    let (time, zone) = clock.split_at_checked(at)?;
    let offset = match zone.trim() {
        "" => None,
        "z" | "utc" | "gmt" => FixedOffset::east_opt(0),
        zone => Some(offset(zone)?),
    };
    Some((time, offset))
}

/// `+01:00`, `+0100` or `+01`.
fn offset(zone: &str) -> Option<FixedOffset> {
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits = zone.get(1..)?.replacen(':', "", 1);
    let shaped = is_like(&digits, "dd") && digits.len() == 2
        || is_like(&digits, "dddd") && digits.len() == 4;
    if !shaped {
        return None;
    }
    let number: i32 = digits.parse().ok()?;
    let (hours, minutes) = if digits.len() == 2 {
        (number, 0)
    } else {
        (number / 100, number % 100)
    };
    (minutes < 60)
        .then(|| FixedOffset::east_opt(sign * (hours * 3600 + minutes * 60)))
        .flatten()
}

/// `15:30`, `15:30:12` or `15:30:12.345`; parts of a second are dropped.
fn time_of_day(text: &str) -> Option<NaiveTime> {
    let (text, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let fraction_ok = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.split(':');
    let mut next = |longest: usize| -> Option<u32> {
        let part = parts.next()?;
        let shaped = part.len() == 2 || part.len() == longest;
        (shaped && part.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| part.parse().ok())
            .flatten()
    };
    let (hour, minute) = (next(1)?, next(2)?);
    let second = match text.matches(':').count() {
        1 => 0,
        2 => next(2)?,
        _ => return None,
    };
    // A leap second counts as the one before it.
    let second = if second == 60 { 59 } else { second };
    NaiveTime::from_hms_opt(hour, minute, second).filter(|_| fraction_ok)
}

fn end_of<Z: TimeZone>(date: NaiveDate, zone: &Z) -> Moment {
    let last = NaiveTime::from_hms_opt(23, 59, 59).expect("a time of day");
    resolve(date.and_time(last), zone)
}

/// The moment when clocks in `zone` show this; the later one when they show it twice.
fn resolve<Z: TimeZone>(shown: NaiveDateTime, zone: &Z) -> Moment {
    // Clocks that were put forward never showed it: count on from the last hour that they did show.
    for hours in 0..=25 {
        let ahead = Duration::hours(hours);
        let Some(earlier) = shown.checked_sub_signed(ahead) else {
            break;
        };
        match zone.from_local_datetime(&earlier) {
            LocalResult::Single(time) => return moment(&time).minus_seconds(-ahead.num_seconds()),
            // chrono gives the two in either order, and also for the first time after the repeated hour, which is the later.
            LocalResult::Ambiguous(one, other) => {
                let later = moment(&one).max(moment(&other));
                return later.minus_seconds(-ahead.num_seconds());
            }
            LocalResult::None => {}
        }
    }
    moment(&shown.and_utc())
}

fn moment<Z: TimeZone>(time: &DateTime<Z>) -> Moment {
    Moment(i128::from(time.timestamp()) * 1_000_000_000)
}

/// `2h`, `90 minutes`, `1 day 2 hours`, `an hour`: this long before now, not before 1970.
fn ago<Z: TimeZone>(text: &str, now: Moment, zone: &Z) -> Option<Result<Moment, &'static str>> {
    let mut at = now;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (count, after) = count(rest)?;
        let after = after.trim_start();
        let end = after
            .find(|ch: char| !ch.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (word, after) = after.split_at_checked(end)?;
        let unit = unit(word)?;
        let Ok(count) = count.parse::<u32>() else {
            return Some(Err("too long ago"));
        };
        at = unit.before(at, count, zone);
        let after = after.trim_start_matches([' ', ',']);
        rest = after.strip_prefix("and ").unwrap_or(after).trim_start();
    }
    Some(Ok(at.max(Moment(0)))).filter(|_| !text.trim().is_empty())
}

/// Digits, or `a` or `an`, and what follows.
fn count(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix("an ").or_else(|| text.strip_prefix("a ")) {
        return Some(("1", rest));
    }
    let end = text.find(|ch: char| !ch.is_ascii_digit())?;
    text.split_at_checked(end)
        .filter(|(digits, _)| !digits.is_empty())
}

enum Unit {
    Seconds(i64),
    Months(u32),
}

fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Seconds(1),
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Seconds(60),
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Seconds(3600),
        "d" | "day" | "days" => Unit::Seconds(86_400),
        "w" | "week" | "weeks" => Unit::Seconds(7 * 86_400),
        "mo" | "month" | "months" => Unit::Months(1),
        "y" | "year" | "years" => Unit::Months(12),
        _ => return None,
    })
}

impl Unit {
    fn before<Z: TimeZone>(&self, at: Moment, count: u32, zone: &Z) -> Moment {
        match self {
            Self::Seconds(seconds) => at.minus_seconds(seconds * i64::from(count)),
            Self::Months(months) => zone
                .from_utc_datetime(&at.utc().naive_utc())
                .naive_local()
                .checked_sub_months(Months::new(months.saturating_mul(count)))
                .map_or(Moment(0), |shown| resolve(shown, zone)),
        }
    }
}
