//! `tw init`: on a terminal it shows what it would set up, and asks once.

mod here;
mod page;

use clap::ArgGroup;

use crate::cli::ask::Flag;
use crate::cli::prelude::*;
use crate::ops::here::{Directories, KeptHere};
use crate::ops::init::Init;
use crate::ops::install::{Install, Installed, Way, Whose};
use crate::ops::request::DryRun;
use page::{Done, Offer, Room};

/// Set the repository up for tw and the coding agents that you use
///
/// Never required: every command works without it. Writes a .timewarp/config.toml with every setting commented out, and
/// puts the rest of .timewarp/ into git's info/exclude. Files that are right already stay as they are.
///
/// On a terminal it first looks for the agents that you use, by their programs on PATH and their directories here and under
/// HOME, shows what it would write where, and asks once: Enter or -y sets all of them up, 'n' writes tw's own settings
/// alone. Each agent gets its hooks, its entry for 'tw mcp' and a skill that teaches it tw, in the project's files where it
/// has such, else in your own settings. Without a terminal and with --json no agent is touched: --agent all does it there.
///
/// With --agent or --git-hooks it sets up those instead and asks nothing. --git-hooks adds a pre-push hook that refuses to
/// publish what is tw's by accident, and a post-checkout hook that takes a snapshot, as marked blocks in the hooks that are
/// there.
///
/// --remove takes out what was put in and leaves every byte that is not tw's. Alone it takes out everything: of every agent,
/// in the project and in your own settings, and git's hooks here; it asks first, and needs -y without a terminal.
/// .timewarp/ and its lines in info/exclude stay. Files and entries that somebody has changed since, or has written otherwise
/// than tw would, stay and are named; they are not written over either.
///
/// --here is for a directory without git: tw keeps its history in a private repository outside of it.
///
/// A file that cannot be edited is named and makes the command fail; all others are done.
#[derive(Debug, clap::Args)]
#[command(
    group = ArgGroup::new("settings").args(["agent", "remove"]).multiple(true),
    after_help = "\
Examples:
  # Set up the agents that you use; what would it write?
  tw init --dry-run
  tw init

  # Share tw's settings with your team
  git add .timewarp/config.toml

  # The same in a script, or in your own settings for all your projects
  tw init --agent all
  tw init --agent all --user

  # Two agents, and away again
  tw init --agent claude,codex
  tw init --agent claude,codex --remove

  # Take out everything
  tw init --remove

  # Guard against publishing tw's refs
  tw init --git-hooks

  # Keep the history of a directory that has no git; which are there?
  tw init --here
  tw init --here --list"
)]
pub struct Args {
    /// List what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Set these agents up: all, claude, codex, gemini, qwen, kimi, kimi-code, pi, opencode, cursor, copilot
    ///
    /// May be given more than once, or with commas between the names. 'all' stands for those that you use, with --remove for
    /// every one. kimi and kimi-code have settings for the user only.
    #[arg(long, value_name = "NAME", value_delimiter = ',', add = complete::agents_to_set_up())]
    pub agent: Vec<String>,

    /// Write your own settings under HOME instead of the project's; with --remove, touch those alone
    #[arg(long, requires = "settings")]
    pub user: bool,

    /// Set up git's pre-push and post-checkout hooks
    ///
    /// A hooks directory outside of this repository's git directory (core.hooksPath) is not written: the lines are
    /// printed. --yes writes them all the same.
    #[arg(long)]
    pub git_hooks: bool,

    /// Take out what was put in; without --agent, --git-hooks and --here, everything
    #[arg(long)]
    pub remove: bool,

    #[command(flatten)]
    pub without_git: here::Options,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[
        document::<Installed>("init"),
        document::<KeptHere>("init --here"),
        document::<Directories>("init --here --list"),
    ];

    fn run(&self, call: &Call<'_>) -> Reply {
        if self.without_git.here {
            return self.without_git.run(call, self.remove, self.dry_run.into());
        }
        let request = self.request(call);
        if !request.config && self.user && self.agent.is_empty() && self.git_hooks {
            return Err(Error::usage(
                "--user is for agents' settings, not git's hooks",
            ));
        }
        // The user's own settings need no repository.
        let ctx = match call.open() {
            Err(error) if error.code() == Code::NotARepository && !request.config => None,
            other => Some(other?),
        };
        if self.git_hooks && !self.remove && ctx.as_ref().is_some_and(|ctx| ctx.repo.is_private()) {
            return Err(Error::usage(
                "a directory without git has no hooks of git's",
            ));
        }
        let session = Session {
            call,
            room: Room {
                project: ctx.as_ref().map(|ctx| ctx.repo.worktree_root().to_owned()),
                home: call.env.home(),
                others: if request.config { "tw" } else { "git" },
            },
            ctx,
        };
        if request.config {
            return session.set_up(request);
        }
        if self.remove && self.agent.is_empty() && !self.git_hooks && !self.dry_run {
            return session.take_out(&request);
        }
        session.perform(&request, Vec::new())
    }
}

impl Args {
    fn request(&self, call: &Call<'_>) -> Init {
        let is_alone = self.agent.is_empty() && !self.git_hooks;
        let everything = is_alone && self.remove;
        let named = |name: &&String| *name != complete::ALL_AGENTS;
        Init {
            config: is_alone && !self.remove,
            install: Install {
                agents: self.agent.iter().filter(named).cloned().collect(),
                all: everything || self.agent.iter().any(|name| name == complete::ALL_AGENTS),
                whose: match (self.user, everything) {
                    (true, _) => Whose::User,
                    (false, true) => Whose::Both,
                    (false, false) => Whose::Project,
                },
                git_hooks: self.git_hooks || (everything && !self.user),
                way: if self.remove { Way::Out } else { Way::In },
                yes: call.yes,
                dry_run: self.dry_run.into(),
            },
        }
    }
}

/// A call in a repository, or outside of one.
struct Session<'a> {
    call: &'a Call<'a>,
    ctx: Option<Context<'a>>,
    room: Room,
}

impl Session<'_> {
    fn perform(self, request: &Init, hints: Vec<&'static str>) -> Reply {
        let installed = ops::init::init(self.ctx.as_ref(), self.call.env, request)?;
        reply(Ok(Done {
            installed,
            way: request.install.way,
            room: self.room,
            hints,
            is_unanswered: false,
        }))
    }

    fn offer(&self, request: &Init) -> Result<Option<Installed>> {
        ops::init::offer(self.ctx.as_ref(), self.call.env, request)
    }

    fn show(&self, plan: &Installed, way: Way) {
        let room = &self.room;
        self.call.output.preview(&Offer { plan, way, room });
    }

    /// tw's own settings, and on a terminal the agents that a person says yes to.
    fn set_up(self, mut request: Init) -> Reply {
        let is_dry = request.install.dry_run == DryRun::Yes;
        let snapshot = "'tw snapshot' takes a snapshot";
        let mut hints = if is_dry { Vec::new() } else { vec![snapshot] };
        if !self.call.ask.can_ask() {
            hints.push("'tw init --agent all' sets up the coding agents that you use");
            return self.perform(&request, hints);
        }
        let mut with_agents = request.clone();
        with_agents.install.all = true;
        let Some(plan) = self.offer(&with_agents)? else {
            return self.perform(&request, hints);
        };
        if plan.agents.is_empty() {
            hints
                .push("no coding agent was found; 'tw init --agent NAME' sets one up all the same");
            return self.perform(&request, hints);
        }
        if is_dry || !plan.agents_change() || self.call.ask.answered(Flag::Yes) {
            request = with_agents;
        } else {
            self.show(&plan, Way::In);
            match self.call.ask.agree("Set all of this up?")? {
                Some(true) => request = with_agents,
                Some(false) => hints.push("'tw init --agent NAME' sets one of them up"),
                None => return reply(Ok(Done::nothing())),
            }
        }
        if request.install.all && !is_dry {
            hints.push("'tw init --remove' takes it out again");
        }
        self.perform(&request, hints)
    }

    /// Everything that was ever put in.
    fn take_out(self, request: &Init) -> Reply {
        if self.call.ask.can_ask() && !self.call.ask.answered(Flag::Yes) {
            match self.offer(request)? {
                Some(plan) if !plan.changed.is_empty() || !plan.removed.is_empty() => {
                    self.show(&plan, Way::Out);
                }
                // There is nothing to ask about.
                _ => return self.perform(request, Vec::new()),
            }
        }
        self.call.ask.confirm("Take it out?", Flag::Yes)?;
        self.perform(request, Vec::new())
    }
}
