//! Medians and ratios, as Markdown.

use std::fmt::Write;
use std::time::Duration;

use crate::case::Result_;
use crate::measure::Sample;
use crate::route::{Lab, ROUTES, words};

fn median<T: PartialOrd + Copy>(mut list: Vec<T>) -> Option<T> {
    list.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    list.get(list.len() / 2).copied()
}

fn ms(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    if ms < 20.0 {
        format!("{ms:.1}")
    } else {
        format!("{ms:.0}")
    }
}

fn cell(samples: &[Sample], base: &[Sample]) -> String {
    let wall = median(samples.iter().map(|sample| sample.wall).collect());
    let cpu = median(samples.iter().map(|sample| sample.cpu).collect());
    let peak = samples.iter().map(|sample| sample.peak).max();
    let (Some(wall), Some(cpu), Some(peak)) = (wall, cpu, peak) else {
        return "-".to_owned();
    };
    let ratio = |of: fn(&Sample) -> Duration| {
        let pairs = samples.iter().zip(base);
        median(
            pairs
                .map(|(a, b)| of(a).as_secs_f64() / of(b).as_secs_f64())
                .collect(),
        )
    };
    let mut text = format!("{} / {} / {}", ms(wall), ms(cpu), peak >> 10);
    if !std::ptr::eq(samples, base)
        && let (Some(wall), Some(cpu)) = (ratio(|sample| sample.wall), ratio(|sample| sample.cpu))
    {
        let _ = write!(text, " (**{wall:.1}×** / {cpu:.1}×)");
    }
    text
}

/// One tree's table: a line for each case, a column for each route that took part in any.
pub fn table(results: &[Result_]) -> String {
    let takes_part = |name: &str| {
        let mut rows = results.iter().flat_map(|result| &result.rows);
        rows.any(|row| row.name == name && !row.samples.is_empty())
    };
    let names: Vec<_> = ROUTES
        .iter()
        .map(|route| route.name())
        .filter(|name| takes_part(name))
        .collect();
    let mut text = format!("| case | stat floor | {} |\n", names.join(" | "));
    let _ = writeln!(text, "|---|---{}|", "|---".repeat(names.len()));
    for result in results {
        let samples = |name: &str| {
            let row = result.rows.iter().find(|row| row.name == name);
            row.map(|row| row.samples.as_slice()).unwrap_or_default()
        };
        let base = samples("tw");
        let floor =
            median(result.floors.clone()).zip(median(base.iter().map(|s| s.wall).collect()));
        let floor = floor.map_or_else(
            || "-".to_owned(),
            |(floor, tw)| {
                format!(
                    "{} (tw {:.2}×)",
                    ms(floor),
                    tw.as_secs_f64() / floor.as_secs_f64()
                )
            },
        );
        let cells: Vec<_> = names.iter().map(|name| cell(samples(name), base)).collect();
        let _ = writeln!(
            text,
            "| {} | {floor} | {} |",
            result.case,
            cells.join(" | ")
        );
    }
    text
}

/// What the figures were taken on.
pub fn machine(lab: &Lab) -> String {
    let ask = |script: &str| words(lab, script).unwrap_or_default();
    let cpu = ask("sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1");
    let memory = ask("sed -n 's/^MemTotal: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo");
    let memory = memory
        .parse::<u64>()
        .map_or(0, |kib| (kib + (1 << 19)) >> 20);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let system = ask("uname -sr");
    let disk = ask("df -T . | awk 'NR==2 {print $2}'");
    let load = ask("cut -d' ' -f1-3 /proc/loadavg");
    let git = ask("git --version");
    let tw = ask("\"$TW\" --version");
    format!(
        "{cores} cores ({cpu}), {memory} GiB, {system}, {disk}; {git}; {tw}; load at the end {load}. Files and objects in the page cache."
    )
}
