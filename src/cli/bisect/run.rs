//! `tw bisect run`.

use std::ffi::OsString;
use std::time::Duration;

use crate::cli::diff::others;
use crate::cli::human::text::{self, checkpoint_name};
use crate::cli::prelude::*;
use crate::git::path::RepoPath;
use crate::ops::bisect::{self, Answer, Bisect, Bisected, Point};
use crate::store::address::of_checkpoint;
use crate::text::{first_line, typed};

/// How many files of the difference are named.
const FILES: usize = 10;

/// Run a command on past snapshots and name the one that broke it
///
/// The present is taken for bad; a good snapshot is sought backwards, 1, 2, 4, ... before it, and then the first bad one
/// between them. Both ends are checked first. Each snapshot is laid out in a directory of its own (see 'tw scratch'): the
/// working tree is not touched. What was found out about a tree is kept, and a command that was asked before is not run again.
///
/// The command's exit status says it: 0 is good, 125 cannot be judged (skip), 127 (no such command), a signal and a
/// timeout decide nothing, everything else is bad. The exit code is 0 when the snapshot was found, and when the command was
/// good and bad in turns (all changes that were seen are named); 4 when snapshots that cannot be judged hide it in a range; 1
/// when an end is not as it should be, and when --repeat finds that the command gives different verdicts for one snapshot.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # Which prompt broke the tests?
  tw bisect run -- cargo test

  # It was good yesterday; the test itself is new
  tw bisect run --good yesterday --with tests/new.rs -- cargo test --test new

  # Which one fixed it?
  tw bisect run --find-good --bad latest~20 -- make check")]
pub struct Args {
    /// A good snapshot; default: sought backwards (with --find-good: the present)
    #[arg(long, value_name = "SNAPSHOT", add = complete::snapshots())]
    pub good: Option<String>,

    /// A bad snapshot; default: the present (with --find-good: sought backwards)
    #[arg(long, value_name = "SNAPSHOT", add = complete::snapshots())]
    pub bad: Option<String>,

    /// Run this many side by side
    #[arg(short = 'j', long = "jobs", value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: u16,

    /// Run the command this many times on each snapshot, and blame nothing when its verdicts differ
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// Search the snapshots of this session only: its id or its first characters, four or more
    #[arg(long, value_name = "SESSION", add = complete::sessions(), value_parser = flags::named())]
    pub session: Option<String>,

    /// Search for the first good one instead of the first bad one
    #[arg(long)]
    pub find_good: bool,

    #[command(flatten)]
    pub scratch: flags::Scratch,

    /// End a command that takes longer: '90s', '30m' or '2h'
    #[arg(long, value_name = "TIME", value_parser = flags::duration)]
    pub timeout: Option<Duration>,

    /// The command
    #[arg(value_name = "CMD", last = true, required = true, value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Bisected>("bisect run")];

    fn run(&self, call: &Call<'_>) -> Reply {
        let request = Bisect {
            good: self.good.clone(),
            bad: self.bad.clone(),
            parallel: usize::from(self.jobs),
            repeat: self.repeat,
            session: self.session.clone(),
            with: self.scratch.with.clone(),
            find_good: self.find_good,
            setup: self.scratch.setup.clone(),
            timeout: self.timeout,
            command: self.command.clone(),
            is_typed: true,
        };
        reply(bisect::run(&call.open()?, &request))
    }
}

impl Human for Bisected {
    fn print(&self, page: &mut Page) {
        match self.result {
            Answer::Found => {}
            Answer::Range => page.line(format!(
                "one of {}; the others between cannot be judged",
                text::count(self.candidates.len(), "snapshot")
            )),
            Answer::NotMonotonic => {
                page.line("it changed more than once; what led to the newer end is");
            }
            Answer::Flaky => page
                .line("the command gives different verdicts for one snapshot; nothing is blamed"),
            Answer::Interrupted => page.line("the search was stopped; nothing is blamed yet"),
        }
        let edge = match (&self.first_bad, &self.first_good) {
            (Some(bad), _) => Some((bad, page.options.style.red("first bad"))),
            (_, Some(good)) => Some((good, page.options.style.green("first good"))),
            _ => None,
        };
        let main = edge.map(|(point, word)| {
            point_lines(page, point, &word);
            &point.snapshot_id
        });
        let others = self.candidates.iter();
        for other in others.filter(|other| Some(&other.snapshot_id) != main) {
            let word = page.options.style.yellow("candidate");
            point_lines(page, other, &word);
        }
        if let Some(before) = self.last_good.as_ref().or(self.last_bad.as_ref()) {
            self.difference(page, before);
        }
        self.cost(page);
        self.outside(page);
        page.notices(&self.notices);
        let before = self.last_good.as_ref().or(self.last_bad.as_ref());
        let after = self.first_bad.as_ref().or(self.first_good.as_ref());
        if let (Some(before), Some(after)) = (before, after) {
            let (before, after) = (&before.snapshot_id, &after.snapshot_id);
            page.hint(format!("'tw diff {before} {after}' shows what changed"));
            page.hint(format!(
                "'tw open {after}' lays it out beside the working tree"
            ));
        }
        if self.result == Answer::Interrupted {
            page.hint("run it again: what was found out is kept");
        }
        if let Some((session, checkpoint)) = self.culprit() {
            page.hint(format!(
                "'tw revert {}' takes back what this prompt changed and keeps what came later",
                typed(of_checkpoint(session, checkpoint))
            ));
        }
    }

    fn exit_code(&self) -> u8 {
        match self.result {
            Answer::Found | Answer::NotMonotonic => 0,
            Answer::Range => 4,
            Answer::Flaky | Answer::Interrupted => 1,
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        let ids = self.candidates.iter();
        Some(ids.map(|point| point.snapshot_id.clone()).collect())
    }
}

fn point_lines(page: &mut Page, point: &Point, word: &str) {
    let line = format!(
        "{word}  {}  {}",
        page.id(&point.snapshot_id),
        page.options.ago(&point.at)
    );
    page.line(line);
    if let (Some(session), Some(checkpoint)) = (&point.session_id, point.checkpoint_id) {
        let (agent, prompt) = (point.agent.as_deref(), point.prompt.as_deref());
        turn_lines(page, agent, &checkpoint_name(session, checkpoint), prompt);
    } else if point.candidates.is_empty() {
        let forgotten = " or in a turn whose snapshots were forgotten";
        let forgotten = if point.or_forgotten { forgotten } else { "" };
        page.line(format!("  changed between two prompts{forgotten}"));
    } else {
        page.line("  changed in the turn of one of these prompts");
        for one in &point.candidates {
            let name = checkpoint_name(&one.session_id, one.checkpoint_id);
            turn_lines(page, one.agent.as_deref(), &name, one.prompt.as_deref());
        }
        if point.or_between {
            page.line("  or between two prompts: the end of the turn was not noted");
        }
        if point.or_forgotten {
            page.line("  or in a turn whose snapshots were forgotten");
        }
    }
}

fn turn_lines(page: &mut Page, agent: Option<&str>, name: &str, prompt: Option<&str>) {
    let agent = agent.map(clean).unwrap_or_default();
    page.line(format!("  {agent} {name}").replace("   ", "  "));
    let first = first_line(prompt.unwrap_or_default());
    if !first.is_empty() {
        page.line(format!("  '{}'", clean(first)));
    }
}

trait Parts {
    fn difference(&self, page: &mut Page, before: &Point);
    fn cost(&self, page: &mut Page);
    fn outside(&self, page: &mut Page);
    fn culprit(&self) -> Option<(&str, u64)>;
}

impl Parts for Bisected {
    fn difference(&self, page: &mut Page, before: &Point) {
        let Some(diff) = &self.diff else {
            return;
        };
        let before = page.id(&before.snapshot_id);
        page.line(match diff.files.len() {
            0 => format!("  no file differs from {before}"),
            files => format!(
                "  {} changed since {before}, +{} -{}",
                count(files, "file"),
                diff.insertions,
                diff.deletions
            ),
        });
        for file in diff.files.iter().take(FILES) {
            page.line(format!("    {} {}", file.status, quoted(&file.path)));
        }
        if diff.files.len() > FILES {
            page.line(format!("    and {} more", diff.files.len() - FILES));
        }
        others(page, &diff.others, "    ");
    }

    fn cost(&self, page: &mut Page) {
        let known = self.probes.iter().filter(|probe| probe.known).count();
        let mut line = format!(
            "{} in {} of {}",
            count(self.probes.len() - known, "probe"),
            count(self.rounds as usize, "round"),
            count(self.snapshots, "snapshot")
        );
        if known > 0 {
            line.push_str(&format!(", {known} known from before"));
        }
        page.line(line);
    }

    /// What was seen outside of the scratches.
    fn outside(&self, page: &mut Page) {
        let escapes: Vec<String> = self.escapes.iter().map(RepoPath::display).collect();
        for (what, names) in [
            ("changed in the present", &escapes),
            ("made or changed refs", &self.refs_made),
        ] {
            if !names.is_empty() {
                let names: Vec<String> = names.iter().map(|name| clean(name)).collect();
                page.line(format!("  {what}: {}", names.join(", ")));
            }
        }
    }

    /// The prompt that made it bad, where that is one for certain, and can be named here.
    fn culprit(&self) -> Option<(&str, u64)> {
        let is_certain = matches!(self.result, Answer::Found | Answer::NotMonotonic);
        let bad = self.first_bad.as_ref().filter(|_| is_certain)?;
        if bad.is_of_head {
            return None;
        }
        Some((bad.session_id.as_deref()?, bad.checkpoint_id?))
    }
}
