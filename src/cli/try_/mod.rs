//! `tw try`: a command several times side by side.

mod apply;
mod diff;
mod drop;
mod list;
mod log;
mod show;

use crate::cli::call::verbs;
use crate::cli::prelude::*;
use crate::cli::progress::Lines;
use crate::git::path::RepoPath;
use crate::ops::kept::{RunRecord, to_drop};
use crate::ops::outcome::Invalid;
use crate::ops::tries::{Check, Outside, Status, Try, TryRun};
use crate::ops::try_::{self, Start, Tried};
use crate::store::issue::DiffStat;

/// Run a command several times side by side, each in a scratch, and rank what came of it
///
/// Each run has a directory of its own with the files of the snapshot (default: the present, by a snapshot); the present is not
/// touched. What a run leaves is an experiment. The check decides which passed; it sees the files that its own words name as they
/// were before the run, but for those that it merely reads, or that a pattern over sources names: these are what is judged. Of two
/// files that it compares the one whose name says so ('expected', 'want', 'golden') is as it was, too. 'tw try apply' puts the best onto
/// the present. What changed in the present while a run went on is named with it: files, ignored ones too, permission bits, empty
/// directories, and of the git directory HEAD, index, settings, hooks, excludes and refs. That holds of setup and check as well, also of
/// the check on the snapshot itself.
///
/// For an issue the runs begin with its snapshot, and its verify command is the check. --agent runs a coding agent without a
/// terminal, with the issue as its task; what it may do is up to its own settings and to --agent-args. A command finds
/// TW_RUN_ID, TW_SLOT, TW_SCRATCH, TW_SOURCE and TW_PORT (the first of ten free ports) in its environment, nothing on its
/// input, and ends with all that it started.
///
/// The exit code is 0 when a run passed, and 1 when none did. Without a check no run is judged: one that ended by itself is 'unverified'
/// whatever its command answered, and the exit code is 1 only when there is none.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_field_names, reason = "the flag is called --agent-args")]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  # Three attempts at an issue, two at a time
  tw try i_20260228_153012_ab12cd --agent claude

  # A script, until one run passes
  tw try -n 8 --first --verify 'make test' -- ./mutate.sh

  # Look at the best, and take it over
  tw try diff latest
  tw try apply latest"
)]
pub struct Args {
    /// What to do with a try that was made
    #[command(subcommand)]
    pub verb: Option<Verb>,

    /// Begin with this snapshot, or work on this issue (default: the present)
    #[arg(value_name = "ADDRESS|ISSUE", add = complete::snapshots())]
    pub what: Option<String>,

    #[command(flatten)]
    pub worktrees: flags::AllWorktrees,

    /// Make N runs
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub runs: u64,

    #[command(flatten)]
    pub limits: flags::Limits,

    /// Check each run with this shell command, in place of the issue's
    #[arg(long, value_name = "CMD", value_hint = ValueHint::CommandString)]
    pub verify: Option<String>,

    #[command(flatten)]
    pub scratch: flags::Scratch,

    /// End the other runs once one has passed
    #[arg(long)]
    pub first: bool,

    #[command(flatten)]
    pub program: flags::Program,
}

verbs! {
    /// What can be done with tries.
    Verb {
        List(list::Args),
        Show(show::Args),
        Diff(diff::Args),
        Log(log::Args),
        Apply(apply::Args),
        Drop(drop::Args),
    }
}

impl Run for Args {
    fn documents() -> Vec<Document> {
        let mut all = vec![document::<Tried>("try")];
        all.extend(Verb::documents());
        all
    }

    fn is_paged(&self) -> bool {
        self.verb.as_ref().is_some_and(Run::is_paged)
    }

    fn run(&self, call: &Call<'_>) -> Reply {
        if let Some(verb) = &self.verb {
            return verb.run(call);
        }
        let request = Start {
            what: self.what.clone(),
            runs: self.runs,
            jobs: self.limits.jobs,
            timeout: self.limits.timeout,
            verify: self.verify.clone(),
            setup: self.scratch.setup.clone(),
            first: self.first,
            with: self.scratch.with.clone(),
            command: self.program.command.clone(),
            agent: self.program.agent.clone(),
            agent_args: self.program.agent_args.clone(),
            is_typed: true,
        };
        let lines = Lines::new(call.output.shows_lines());
        let tried = try_::start(&self.worktrees.open(call)?, &request, &lines);
        std::mem::drop(lines);
        reply(tried)
    }
}

impl Human for Tried {
    fn print(&self, page: &mut Page) {
        let record = &self.record;
        page.line(headline(record, page));
        if let Some(check) = &record.base_verify {
            page.line(base(check));
        }
        for said in record.base_outside.iter().flat_map(outside) {
            page.line(format!("      {said}"));
        }
        for run in &record.runs {
            page.line(line(run));
            for said in remarks(run) {
                page.line(format!("      {said}"));
            }
        }
        page.notices(&self.notices);
        if !self.is_kept {
            return;
        }
        let id = clean(&record.try_id);
        // One that could not begin has printed nothing.
        let began = |run: &&TryRun| run.exit.is_some() || run.error.is_none();
        if let Some(best) = record.best {
            page.hint(format!("'tw try diff {id} {best}' shows the best"));
            // In quotes stands what works now.
            page.hint(if self.in_past {
                format!("'tw return' first, then tw try apply {id} {best}")
            } else {
                format!("'tw try apply {id} {best}' puts it onto the present")
            });
            if let Some(issue) = &record.issue_id {
                let issue = clean(issue);
                let run = record.runs.iter().find(|run| run.run == best);
                let proof = match run.map(|run| run.status) {
                    Some(Status::Passed) => format!(" --proof {id}:{best}"),
                    _ => String::new(),
                };
                page.hint(format!(
                    "'tw issue close {issue}{proof}' then closes the issue"
                ));
            }
        } else if let Some(run) = record.runs.iter().find(began) {
            page.hint(format!(
                "'tw try log {id} {}' shows what it printed",
                run.run
            ));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.record.try_id.clone()])
    }

    fn exit_code(&self) -> u8 {
        let good = |run: &TryRun| matches!(run.status, Status::Passed | Status::Unverified);
        u8::from(!self.record.runs.iter().any(good))
    }
}

/// Its id, what it began with, and when.
pub fn headline(record: &Try, page: &Page) -> String {
    let of = match &record.issue_id {
        Some(issue) => format!(" for issue {}", clean(issue)),
        None => String::new(),
    };
    format!(
        "{}  {} of {}{of}  {}",
        clean(&record.try_id),
        count(record.runs.len(), "run"),
        page.id(&record.source),
        page.options.ago(&record.created_at)
    )
}

/// How the check ended before anything was done.
fn base(check: &Check) -> String {
    let command = clean(&check.command);
    let ended = match check.status {
        Status::Passed => "passed already",
        Status::Failed => "failed",
        Status::Timeout => "ran out of time",
        Status::Unverified | Status::Error => "could not be run",
    };
    format!("  before the runs, '{command}' {ended}")
}

/// How much a run changed.
pub fn size(changed: Option<DiffStat>, has_experiment: bool) -> String {
    match changed {
        Some(stat) if stat.files > 0 => {
            format!(
                "{} +{} -{}",
                count(usize::try_from(stat.files).unwrap_or(0), "file"),
                stat.insertions,
                stat.deletions
            )
        }
        Some(_) if has_experiment => "no file, but what is beside their content".to_owned(),
        Some(_) => "no change".to_owned(),
        None => "not saved".to_owned(),
    }
}

fn line(run: &TryRun) -> String {
    let size = size(run.diff_stat, run.experiment_id.is_some());
    let status = run.status.as_str();
    let group = run
        .group
        .map_or(String::new(), |group| format!("  tree {group}"));
    let seconds = run.duration_ms / 1000;
    let tenths = run.duration_ms % 1000 / 100;
    format!(
        "  {:>3}  {status:10}  {size:22}  {seconds}.{tenths}s{group}",
        run.run
    )
}

fn remarks(run: &TryRun) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    said.extend(run.error.as_deref().map(clean));
    said.extend(listed(
        "changed what the check names",
        &displayed(&run.protected),
    ));
    said.extend(outside(&run.outside));
    said
}

/// Says which records of a list cannot be read, and how each is forgotten.
pub fn unreadable<T: RunRecord>(invalid: &[Invalid], page: &mut Page) {
    for Invalid { id, reason } in invalid {
        page.note(format!("{} {id} cannot be read: {reason}", T::WHAT));
        page.hint(format!("'{}' forgets it with its logs", to_drop::<T>(id)));
    }
}

/// What commands did outside of their scratch, a line for each kind of thing.
pub fn outside(outside: &Outside) -> Vec<String> {
    let perhaps = if outside.uncertain {
        " (or another run)"
    } else {
        ""
    };
    let changed = format!("changed in the present{perhaps}");
    let lines = [
        listed(&changed, &displayed(&outside.escapes)),
        listed(&format!("made refs{perhaps}"), &outside.refs_made),
        listed("left running, and ended", &outside.leaks),
    ];
    lines.into_iter().flatten().collect()
}

fn displayed(paths: &[RepoPath]) -> Vec<String> {
    paths.iter().map(RepoPath::display).collect()
}

fn listed(what: &str, names: &[String]) -> Option<String> {
    let names: Vec<String> = names.iter().map(|name| clean(name)).collect();
    (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
}
