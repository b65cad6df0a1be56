//! `tw stats`.

use clap::ValueEnum;

use crate::cli::human::screen::width;
use crate::cli::human::time::span;
use crate::cli::prelude::*;
use serde::Serialize;

use crate::ops::stats::{Group, Period, Request, Stats, Statuses, Unit};
use crate::ops::timeline::{time, time_since};

/// Show how much friction there is, and how it ends
///
/// Counts the issues that were reported: over time, beside those that were fixed; from the report to the fix; by the agent that
/// reported, by how much it hurts and by its kind; and what was tried. A duplicate counts as a report, too. The periods are days, weeks, months
/// or years, as suits the time that they span; weeks begin on Monday.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Is there less friction than there was?
  tw stats

  # What did one agent run into this month, day by day?
  tw stats --since '30 days ago' --agent claude --by day

  # What kind of friction is it?
  tw stats --by kind

  # For a program
  tw stats --json")]
pub struct Args {
    /// Count only what was reported at TIME or later; a day begins in the morning
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,

    /// Count only what was reported at TIME or earlier; a day ends at night
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,

    /// Count only what this agent reported
    #[arg(long, value_name = "AGENT", add = complete::agents_seen(), value_parser = flags::named())]
    pub agent: Option<String>,

    /// Count only this kind of friction; an empty word means what has none
    #[arg(long, value_name = "WORD", add = complete::kinds())]
    pub kind: Option<String>,

    /// How long a period is: day, week, month or year; or what to count by, alone: agent, severity or kind
    #[arg(long, value_name = "WHAT", hide_possible_values = true)]
    pub by: Option<ByWord>,
}

/// How long a period is, or what is counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ByWord {
    /// From midnight to midnight
    Day,
    /// From Monday on
    Week,
    /// A month of the calendar
    Month,
    /// A year of the calendar
    Year,
    /// The agent that reported
    Agent,
    /// How much it hurts
    Severity,
    /// The kind of friction
    Kind,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Stats>("stats")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let context = call.open()?;
        let since = self.since.as_deref().map(|word| time_since(&context, word));
        let until = self.until.as_deref().map(|word| time(&context, word));
        let request = Request {
            since: since.transpose()?,
            until: until.transpose()?,
            agent: self.agent.as_deref(),
            kind: self.kind.as_deref(),
            by: match self.by {
                Some(ByWord::Day) => Some(Unit::Day),
                Some(ByWord::Week) => Some(Unit::Week),
                Some(ByWord::Month) => Some(Unit::Month),
                Some(ByWord::Year) => Some(Unit::Year),
                Some(ByWord::Agent | ByWord::Severity | ByWord::Kind) | None => None,
            },
        };
        let stats = ops::stats::stats(&context, &request)?;
        reply(Ok(StatsPage { stats, by: self.by }))
    }
}

/// The answer, and what of it is printed.
#[derive(Debug, Serialize)]
struct StatsPage {
    #[serde(flatten)]
    stats: Stats,
    #[serde(skip)]
    by: Option<ByWord>,
}

impl Human for StatsPage {
    fn print(&self, page: &mut Page) {
        let stats = &self.stats;
        let table = match self.by {
            Some(ByWord::Agent) => Some((AGENTS, &stats.agents)),
            Some(ByWord::Severity) => Some((SEVERITIES, &stats.severities)),
            Some(ByWord::Kind) => Some((KINDS, &stats.kinds)),
            _ => None,
        };
        match table.filter(|_| stats.reports > 0) {
            Some((heads, found)) => {
                groups(page, heads, found);
                page.notices(&stats.notices);
            }
            None => stats.print(page),
        }
    }
}

/// The heads of tables, and what stands for what has none.
type Heads = (&'static str, &'static str);
const AGENTS: Heads = ("reported by", "no agent");
const SEVERITIES: Heads = ("severity", "none");
const KINDS: Heads = ("kind", "no kind");

impl Human for Stats {
    fn print(&self, page: &mut Page) {
        page.notices(&self.notices);
        if self.reports == 0 {
            page.line("no reports");
            page.hint("'tw issue report --help' says how to report friction; 'tw issue list --status all' lists what was");
            return;
        }
        page.line(headline(self));
        page.line(to_fix(self));
        page.line("");
        plot(page, self);
        page.line("");
        groups(page, AGENTS, &self.agents);
        page.line("");
        groups(page, SEVERITIES, &self.severities);
        if self.kinds.iter().any(|kind| kind.name.is_some()) {
            page.line("");
            groups(page, KINDS, &self.kinds);
        }
        let tries = &self.tries;
        if tries.tries > 0 {
            page.line("");
            page.line(format!(
                "{} of {}, {} passed",
                count(tries.tries, "try"),
                count(tries.runs, "run"),
                tries.passed
            ));
        }
    }
}

fn headline(stats: &Stats) -> String {
    let mut line = count(stats.reports, "report");
    if usize::try_from(stats.occurrences).ok() != Some(stats.reports) {
        line.push_str(&format!(", met {} times", number(stats.occurrences)));
    }
    let Statuses {
        open,
        experimenting,
        fixed,
        wontfix,
        duplicate,
    } = stats.statuses;
    let words = ["open", "experimenting", "fixed", "wontfix", "duplicate"];
    let counts = [open, experimenting, fixed, wontfix, duplicate];
    let parts = counts.into_iter().zip(words);
    let parts = parts.filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    format!("{line}: {}", parts.join(", "))
}

fn to_fix(stats: &Stats) -> String {
    let Some(time) = stats.time_to_fix else {
        return "nothing is fixed".to_owned();
    };
    let median = span(time.median_seconds);
    let longest = span(time.longest_seconds);
    // Of fewer, nine in ten are all.
    let most = match time.fixes {
        ..10 => String::new(),
        _ => format!(", nine in ten within {}", span(time.p90_seconds)),
    };
    let took = match time.fixes {
        1 => median,
        _ => format!("half within {median}{most}, the slowest {longest}"),
    };
    let proven = match stats.proven {
        0 => "none with a proof".to_owned(),
        proven if proven == time.fixes => "with a proof".to_owned(),
        proven => format!("{proven} of {} with a proof", time.fixes),
    };
    format!("from report to fix: {took}; {proven}")
}

/// So wide is the longest bar.
const WIDEST: usize = 24;
/// So wide it is at least, however narrow the terminal.
const NARROWEST: usize = 4;

/// A line for each period: how many reports, how many fixes, each with a bar.
fn plot(page: &mut Page, stats: &Stats) {
    let most = stats
        .periods
        .iter()
        .map(|period| period.reported.max(period.fixed))
        .max()
        .unwrap_or(0);
    let screen = page.options.screen;
    let digits = most.to_string().len().max(5);
    let head = match stats.unit {
        Unit::Day => "day",
        Unit::Week => "week of",
        Unit::Month => "month",
        Unit::Year => "year",
    };
    // A day, and beside each bar two blanks and its number.
    let taken = 10 + 2 * (3 + digits);
    let room = screen.columns.map_or(WIDEST, |columns| {
        (columns.saturating_sub(taken) / 2).clamp(NARROWEST, WIDEST)
    });
    let room = room.min(most);
    let scale = Scale { most, room };
    let sign = if screen.unicode { '█' } else { '#' };
    let line = format!(
        "{head:<10}  {:>digits$} {:room$}  {:>digits$}",
        "new", "", "fixed"
    );
    page.line(page.options.style.bold(line.trim_end()));
    for period in &stats.periods {
        let (new, fixed) = (
            scale.bar(period.reported, sign),
            scale.bar(period.fixed, sign),
        );
        let line = format!(
            "{:<10}  {:>digits$} {new:room$}  {:>digits$} {fixed}",
            name(period, stats.unit),
            period.reported,
            period.fixed
        );
        page.line(line.trim_end());
    }
}

/// What a bar's length says.
struct Scale {
    most: usize,
    room: usize,
}

impl Scale {
    /// A bar for a number; what is not nothing has one.
    fn bar(&self, number: usize, sign: char) -> String {
        let most = self.most.max(1);
        let long = if most <= self.room {
            number
        } else {
            (number * self.room).div_ceil(most)
        };
        std::iter::repeat_n(sign, long).collect()
    }
}

fn name(period: &Period, unit: Unit) -> &str {
    let day = period.day.as_str();
    let shown = match unit {
        Unit::Day | Unit::Week => Some(day),
        Unit::Month => day.get(..7),
        Unit::Year => day.get(..4),
    };
    shown.unwrap_or(day)
}

/// So wide is a name at most.
const NAME: usize = 20;

fn groups(page: &mut Page, (head, none): Heads, groups: &[Group]) {
    let names: Vec<String> = groups
        .iter()
        .map(|group| match &group.name {
            Some(name) => page.options.screen.fit(&clean(name), NAME),
            None => none.to_owned(),
        })
        .collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let column = widest.max(width(head));
    let line = format!("{head:<column$}  reports  open  fixed  half fixed within");
    page.line(page.options.style.bold(&line));
    for (group, name) in groups.iter().zip(names) {
        let blanks = " ".repeat(column.saturating_sub(width(&name)));
        let median = group.median_seconds.map_or("-".to_owned(), span);
        page.line(format!(
            "{name}{blanks}  {:>7}  {:>4}  {:>5}  {median}",
            group.reports, group.open, group.fixed
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_number_or_in_proportion_to_the_longest() {
        let bars = |most, room, numbers: [usize; 4]| {
            numbers.map(|number| Scale { most, room }.bar(number, '#').len())
        };
        assert_eq!(bars(3, 24, [0, 1, 2, 3]), [0, 1, 2, 3]);
        assert_eq!(bars(1000, 10, [0, 1, 500, 1000]), [0, 1, 5, 10]);
        assert_eq!(bars(0, 10, [0, 0, 0, 0]), [0; 4]);
    }
}
