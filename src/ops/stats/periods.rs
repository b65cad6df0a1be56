//! Days, weeks, months and years of this machine's zone, one after another.

use chrono::{DateTime, Datelike, Days, Local, Months, NaiveDate, NaiveTime, TimeZone, Utc};

use super::Period;
use crate::env::Moment;
use crate::json;

/// No more periods are told, the newest: a clock that was wrong once must not make millions of them.
pub const MOST: usize = 400;

/// How long a period is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// From midnight to midnight.
    Day,
    /// From Monday on.
    Week,
    /// A month of the calendar.
    Month,
    /// A year of the calendar.
    Year,
}

json::words!(Unit {
    Day = "day",
    Week = "week",
    Month = "month",
    Year = "year",
});

impl Unit {
    /// The first day of the period that has this day.
    fn start(self, day: NaiveDate) -> NaiveDate {
        let first = match self {
            Self::Day => Some(day),
            Self::Week => {
                let past = u64::from(day.weekday().num_days_from_monday());
                day.checked_sub_days(Days::new(past))
            }
            Self::Month => day.with_day(1),
            Self::Year => NaiveDate::from_ymd_opt(day.year(), 1, 1),
        };
        first.unwrap_or(day)
    }

    fn step(self, day: NaiveDate, back: bool) -> Option<NaiveDate> {
        let (days, months) = match self {
            Self::Day => (1, 0),
            Self::Week => (7, 0),
            Self::Month => (0, 1),
            Self::Year => (0, 12),
        };
        let (days, months) = (Days::new(days), Months::new(months));
        if back {
            day.checked_sub_days(days)?.checked_sub_months(months)
        } else {
            day.checked_add_days(days)?.checked_add_months(months)
        }
    }
}

/// From when to when.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The first moment.
    pub first: Moment,
    /// The last moment, not before the first.
    pub last: Moment,
}

impl Span {
    /// The unit of which so much time has some two dozen at most.
    pub fn unit(self) -> Unit {
        let days = (self.last.seconds() - self.first.seconds()) / (24 * 3600);
        match days {
            ..14 => Unit::Day,
            14..168 => Unit::Week,
            168..730 => Unit::Month,
            _ => Unit::Year,
        }
    }

    /// The periods of this machine's zone that cover it, oldest first, the newest [`MOST`].
    pub fn periods(self, unit: Unit) -> Vec<Period> {
        self.periods_in(unit, &Local)
    }

    fn periods_in<Z: TimeZone>(self, unit: Unit, zone: &Z) -> Vec<Period> {
        let day = |moment: Moment| unit.start(moment.utc().with_timezone(zone).date_naive());
        let first = day(self.first);
        let mut periods = Vec::new();
        let mut next = Some(day(self.last));
        while let Some(start) = next.filter(|start| *start >= first && periods.len() < MOST) {
            let end = unit.step(start, false).unwrap_or(start);
            periods.push(Period {
                day: start.to_string(),
                from: midnight(start, zone),
                to: midnight(end, zone),
                reported: 0,
                fixed: 0,
            });
            next = unit.step(start, true);
        }
        periods.reverse();
        periods
    }
}

/// When a day begins. Where clocks are put forward at midnight it begins later.
fn midnight<Z: TimeZone>(day: NaiveDate, zone: &Z) -> String {
    let begin = (0..24).find_map(|hour| {
        let time = NaiveTime::from_hms_opt(hour, 0, 0)?;
        zone.from_local_datetime(&day.and_time(time)).earliest()
    });
    let begin = begin.map(|begin: DateTime<Z>| begin.with_timezone(&Utc));
    let begin = begin.unwrap_or_else(|| day.and_time(NaiveTime::MIN).and_utc());
    Moment::of_seconds(begin.timestamp()).rfc3339()
}

#[cfg(test)]
mod tests {
    use chrono::FixedOffset;

    use super::*;

    fn days(first: &str, last: &str, unit: Option<Unit>) -> Vec<String> {
        let moment = |text| Moment::parse_rfc3339(text).expect("a fixed time");
        let span = Span {
            first: moment(first),
            last: moment(last),
        };
        let zone = FixedOffset::east_opt(2 * 3600).expect("an offset");
        let periods = span.periods_in(unit.unwrap_or_else(|| span.unit()), &zone);
        for pair in periods.windows(2) {
            assert_eq!(pair[0].to, pair[1].from, "without a gap");
        }
        periods.into_iter().map(|period| period.day).collect()
    }

    #[test]
    fn periods_follow_the_calendar_of_the_zone() {
        // 23:00 in Greenwich is the next day here.
        assert_eq!(
            days("2026-02-27T23:00:00Z", "2026-03-01T12:00:00Z", None),
            ["2026-02-28", "2026-03-01"]
        );
        assert_eq!(
            days("2026-02-01T12:00:00Z", "2026-02-20T12:00:00Z", None),
            ["2026-01-26", "2026-02-02", "2026-02-09", "2026-02-16"]
        );
        let months = days("2025-08-31T12:00:00Z", "2026-03-01T12:00:00Z", None);
        assert_eq!(
            (months[0].as_str(), months.len(), months[6].as_str()),
            ("2025-08-01", 8, "2026-02-01")
        );
        assert_eq!(
            days("2023-08-31T12:00:00Z", "2026-03-01T12:00:00Z", None),
            ["2023-01-01", "2024-01-01", "2025-01-01", "2026-01-01"]
        );
        let at = "2026-02-28T12:00:00Z";
        assert_eq!(days(at, at, None), ["2026-02-28"]);
    }

    #[test]
    fn a_clock_that_was_wrong_makes_no_endless_list() {
        let many = days(
            "0001-01-01T12:00:00Z",
            "2026-02-28T12:00:00Z",
            Some(Unit::Day),
        );
        assert_eq!((many.len(), many[MOST - 1].as_str()), (MOST, "2026-02-28"));
    }

    #[test]
    fn a_period_begins_when_its_day_does() {
        let zone = FixedOffset::east_opt(2 * 3600).expect("an offset");
        let day = NaiveDate::from_ymd_opt(2026, 2, 28).expect("a day");
        assert_eq!(midnight(day, &zone), "2026-02-27T22:00:00Z");
    }
}
