//! Moments for people: how long ago, and when exactly.

use crate::env::Moment;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// `3 minutes ago`. Text that is no time is shown as it is.
pub fn ago(now: Moment, then: &str) -> String {
    let Some(moment) = Moment::parse_rfc3339(then) else {
        return super::text::clean(then);
    };
    let seconds = now.seconds().saturating_sub(moment.seconds());
    let span = span(seconds.abs());
    match seconds {
        1.. => format!("{span} ago"),
        // A command has the time at which it began: what it made since is no future, nor is what a clock made that is a little ahead.
        _ if seconds > -MINUTE => "now".to_owned(),
        _ => format!("in {span}"),
    }
}

/// `3 minutes`.
pub fn span(seconds: i64) -> String {
    let (number, unit) = match seconds {
        ..MINUTE => (seconds, "second"),
        MINUTE..HOUR => (seconds / MINUTE, "minute"),
        HOUR..DAY => (seconds / HOUR, "hour"),
        // From here on at least two of a unit: one of them could be off by almost a half.
        _ if seconds < 14 * DAY => (seconds / DAY, "day"),
        _ if seconds < 60 * DAY => (seconds / (7 * DAY), "week"),
        _ if seconds < 730 * DAY => (seconds / (30 * DAY), "month"),
        _ => (seconds / (365 * DAY), "year"),
    };
    super::text::count(usize::try_from(number).unwrap_or(0), unit)
}

/// `2026-02-28 16:30:12 +01:00 (3 minutes ago)`, in this machine's zone.
pub fn exactly(now: Moment, then: &str) -> String {
    match Moment::parse_rfc3339(then) {
        Some(moment) => format!("{} ({})", moment.local(), ago(now, then)),
        None => super::text::clean(then),
    }
}

/// `15:30` today, `Feb 27 15:30` within the year, `2025-02-28` before, in this machine's zone.
pub fn short(now: Moment, then: &str) -> String {
    let Some(moment) = Moment::parse_rfc3339(then) else {
        return super::text::clean(then);
    };
    let local = |moment: Moment| moment.utc().with_timezone(&chrono::Local);
    let (now, then) = (local(now), local(moment));
    let format = if now.date_naive() == then.date_naive() {
        "%H:%M"
    } else if (now - then).num_days().abs() < 300 {
        "%b %e %H:%M"
    } else {
        "%Y-%m-%d"
    };
    then.format(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_in_the_largest_unit_that_says_enough() {
        let now = Moment::parse_rfc3339("2026-02-28T15:30:12Z").expect("a fixed time");
        for (then, expected) in [
            ("2026-02-28T15:30:12Z", "now"),
            ("2026-02-28T15:30:14Z", "now"),
            ("2026-02-28T15:30:11Z", "1 second ago"),
            ("2026-02-28T15:28:00Z", "2 minutes ago"),
            ("2026-02-28T13:00:00Z", "2 hours ago"),
            ("2026-02-27T15:30:12Z", "1 day ago"),
            ("2026-02-23T15:30:12Z", "5 days ago"),
            ("2026-02-10T15:30:12Z", "2 weeks ago"),
            ("2025-11-28T15:30:12Z", "3 months ago"),
            ("2020-02-28T15:30:12Z", "6 years ago"),
            ("2026-02-28T15:31:12Z", "in 1 minute"),
            ("no time\x1b", "no time\\u{1b}"),
        ] {
            assert_eq!(ago(now, then), expected);
        }
        // In whatever zone this runs, the columns are the same.
        for (then, columns) in [
            ("2026-02-28T15:30:11Z", 5),
            ("2026-01-10T15:30:12Z", 12),
            ("2020-02-28T15:30:12Z", 10),
        ] {
            assert_eq!(short(now, then).len(), columns, "{then}");
        }
    }
}
