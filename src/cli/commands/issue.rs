//! `tw issue`: the commands that look, and those that go.

use super::{Call, Reply, dry_run, issue_write, reply, swapped};
use crate::cli::args::{self, ClosedWord, IssueCommand, StatusWord};
use crate::cli::ask::Flag;
use crate::error::{Code, Result};
use crate::ops::issue::{self, Apply, ChatPart, Close, Filter, Verified, Verify};
use crate::ops::request::Travel;
use crate::store::issue::Status;

pub fn run(command: &IssueCommand, call: &Call<'_>) -> Reply {
    match command {
        IssueCommand::Report(args) => issue_write::report(args, call),
        IssueCommand::Edit(args) => issue_write::edit(args, call),
        IssueCommand::Experiment(args) => issue_write::experiment(args, call),
        IssueCommand::List(args) => {
            let filter = Filter {
                status: status(args.status),
                limit: args.limit,
            };
            reply(issue::list(&call.open()?, &filter))
        }
        IssueCommand::Search(args) => {
            let filter = Filter {
                status: status(args.status),
                limit: None,
            };
            reply(issue::search(&call.open()?, &args.text, &filter))
        }
        IssueCommand::Next(_) => reply(issue::next(&call.open()?)),
        IssueCommand::Get(args) => reply(issue::get(&call.open()?, &args.issue)),
        IssueCommand::Chat(args) => {
            let part = ChatPart { last: args.last };
            reply(issue::chat(&call.open()?, &args.issue, part))
        }
        IssueCommand::Start(args) => {
            let request = Travel {
                dry_run: dry_run(args.dry_run),
                force: args.force,
                ..Travel::default()
            };
            swapped(call, |context| issue::start(context, &args.issue, &request))
        }
        IssueCommand::Verify(args) => reply(verify(args, call)),
        IssueCommand::Apply(args) => {
            let request = Apply {
                issue: args.issue.clone(),
                run: args.run,
                dry_run: dry_run(args.dry_run),
            };
            swapped(call, |context| issue::apply(context, &request))
        }
        IssueCommand::Close(args) => {
            let request = Close {
                issue: args.issue.clone(),
                status: match args.status {
                    ClosedWord::Fixed => Status::Fixed,
                    ClosedWord::Wontfix => Status::Wontfix,
                    ClosedWord::Duplicate => Status::Duplicate,
                },
                duplicate_of: args.of.clone(),
                note: args.note.clone(),
            };
            reply(issue::close(&call.open()?, &request))
        }
        IssueCommand::Reopen(args) => reply(issue::reopen(&call.open()?, &args.issue)),
    }
}

fn status(word: StatusWord) -> Option<Status> {
    match word {
        StatusWord::Open => Some(Status::Open),
        StatusWord::Experimenting => Some(Status::Experimenting),
        StatusWord::Fixed => Some(Status::Fixed),
        StatusWord::Wontfix => Some(Status::Wontfix),
        StatusWord::Duplicate => Some(Status::Duplicate),
        StatusWord::All => None,
    }
}

/// Runs the check. On a terminal a command that was not approved is shown, and a yes approves it.
fn verify(args: &args::IssueVerify, call: &Call<'_>) -> Result<Verified> {
    let context = call.open()?;
    let mut request = Verify {
        issue: args.issue.clone(),
        command: shell_line(&args.command),
        run: args.run,
        allow: args.allow.clone(),
    };
    let error = match issue::verify(&context, &request) {
        Err(error) if error.code() == Code::NotApproved && call.ask.can_ask() => error,
        other => return other,
    };
    let detail = |name: &str| {
        let found = error.details().iter().find(|(known, _)| known == name);
        found.and_then(|(_, value)| value.as_str().map(str::to_owned))
    };
    let command = detail("command").unwrap_or_default();
    let question = format!(
        "Run this command, now and later? {}",
        crate::cli::human::text::clean(&command)
    );
    call.ask.confirm(&question, Flag::Own("--allow"))?;
    request.allow = detail("verify_hash");
    issue::verify(&context, &request)
}

/// One word is a line for the shell as it is; several are the words of one command.
fn shell_line(words: &[String]) -> Option<String> {
    match words {
        [] => None,
        [line] => Some(line.clone()),
        words => {
            let quoted = words
                .iter()
                .map(|word| format!("'{}'", word.replace('\'', "'\\''")));
            Some(quoted.collect::<Vec<_>>().join(" "))
        }
    }
}
