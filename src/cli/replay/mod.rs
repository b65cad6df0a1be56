//! `tw replay`: issues of the past as a test.

mod drop;
mod list;
mod show;

use crate::cli::call::verbs;
use crate::cli::issue::{StatusWord, status};
use crate::cli::prelude::*;
use crate::cli::progress::Lines;
use crate::cli::try_::outside;
use crate::ops::replay::{self, ReplayAnswer, Start};
use crate::ops::replays::{Replay, Replayed};
use crate::ops::tries::Status;

/// Work on past issues again, to see whether what agents are told now helps
///
/// Each issue is laid out as it was when it was reported, with the present's versions of what --with names (instructions, skills,
/// settings) over it. The command, or an agent, works on it; the issue's verify command judges. The table compares with the last replay
/// of the same command, with the same files where there is one. An issue that counts as fixed, had passed with the same files and fails
/// now is opened again, and is tried with the fixed ones until somebody closes it. The present is not touched.
///
/// Exit code 0 when all passed, else 1. An issue whose verify command was not approved on this machine, or not among the files of a
/// snapshot that was not made here, is an error, the others run.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_field_names, reason = "the flag is called --agent-args")]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  # Do the new instructions still solve what was solved?
  tw replay --with AGENTS.md --agent claude

  # The same of a script, on what is open
  tw replay --status open -- ./fix.sh

  # What came of the last one?
  tw replay show latest"
)]
pub struct Args {
    /// What to do with a replay that was made
    #[command(subcommand)]
    pub verb: Option<Verb>,

    /// Only issues with this status: open, experimenting, fixed, wontfix, duplicate or all
    #[arg(
        long,
        value_name = "STATUS",
        default_value = "fixed",
        hide_possible_values = true
    )]
    pub status: StatusWord,

    /// Make N runs for each issue; it has passed when one of them has
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub runs: u64,

    #[command(flatten)]
    pub limits: flags::Limits,

    #[command(flatten)]
    pub scratch: flags::Scratch,

    #[command(flatten)]
    pub program: flags::Program,
}

verbs! {
    /// What can be done with replays.
    Verb {
        List(list::Args),
        Show(show::Args),
        Drop(drop::Args),
    }
}

impl Run for Args {
    fn documents() -> Vec<Document> {
        let mut all = vec![document::<ReplayAnswer>("replay")];
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
            status: status(self.status),
            with: self.scratch.with.clone(),
            runs: self.runs,
            jobs: self.limits.jobs,
            timeout: self.limits.timeout,
            setup: self.scratch.setup.clone(),
            command: self.program.command.clone(),
            agent: self.program.agent.clone(),
            agent_args: self.program.agent_args.clone(),
        };
        let lines = Lines::new(call.output.shows_lines());
        let answer = replay::start(&call.open()?, &request, &lines);
        std::mem::drop(lines);
        reply(answer)
    }
}

impl Human for ReplayAnswer {
    fn print(&self, page: &mut Page) {
        let record = &self.record;
        page.line(headline(record, page));
        for result in &record.results {
            let line = line(result, page);
            page.line(line);
            for said in remarks(result) {
                page.line(format!("      {said}"));
            }
        }
        page.notices(&self.notices);
        if record.results.is_empty() {
            page.hint("'tw issue list --status all' shows the issues there are");
        }
        let reopened = record.results.iter().find(|result| result.reopened);
        if let Some(result) = reopened {
            let id = clean(&result.issue_id);
            page.hint(format!("'tw issue get {id}' tells of the run that failed"));
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(vec![self.record.replay_id.clone()])
    }

    fn exit_code(&self) -> u8 {
        let passed = |result: &Replayed| result.status == Status::Passed;
        u8::from(!self.record.results.iter().all(passed))
    }
}

/// Its id, how many passed, and when.
fn headline(record: &Replay, page: &Page) -> String {
    format!(
        "{}  {} of {} passed  {}  {}",
        clean(&record.replay_id),
        record.passed,
        count(record.results.len(), "issue"),
        page.options.ago(&record.created_at),
        clean(&record.command)
    )
}

fn line(result: &Replayed, page: &Page) -> String {
    let before = match result.before {
        None => "new".to_owned(),
        Some(before) if before == result.status => "as before".to_owned(),
        Some(before) => format!("was {}", before.as_str()),
    };
    let style = page.options.style;
    let word = format!("{:10}", result.status.as_str());
    let word = match result.status {
        Status::Passed => style.green(&word),
        Status::Unverified => style.yellow(&word),
        _ => style.red(&word),
    };
    let several = match result.runs.len() {
        0 | 1 => String::new(),
        runs => format!("  {} of {runs} runs", result.passes),
    };
    format!(
        "  {}  {word}  {before:12}  {}{several}",
        page.id(&result.issue_id),
        clean(result.symptom.lines().next().unwrap_or_default()),
    )
}

fn remarks(result: &Replayed) -> Vec<String> {
    let mut said: Vec<String> = result.error.iter().map(|error| clean(error)).collect();
    let best = result.runs.first();
    said.extend(best.and_then(|run| run.error.as_deref()).map(clean));
    if result.reopened {
        said.push("its fix broke: opened again".to_owned());
    }
    for run in &result.runs {
        said.extend(outside(&run.outside));
        if run.status != Status::Passed {
            said.push(format!("log of run {}: {}", run.run, clean(&run.log)));
        }
    }
    said
}
