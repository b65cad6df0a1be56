//! `tw init`.

use serde_json::Value;

use crate::cli::human::text;
use crate::cli::prelude::*;
use crate::ops::install::{Install, Installed, Way};
use crate::ops::outcome::Initialised;
use crate::wire::schema::{described_by, of_outcome};

/// Set the repository up for tw
///
/// Writes a .timewarp/config.toml with every setting commented out, and puts the rest of .timewarp/ into git's
/// info/exclude. Never required: every command works without it. Files that are right already stay as they are.
///
/// With --agent or --git-hooks it sets up those instead. --agent writes an agent's hooks, its entry for 'tw mcp' and a
/// skill that teaches it tw into the project's files for that agent; --remove takes them out again and leaves every byte
/// that is not tw's. --git-hooks adds a pre-push hook that refuses to publish what is tw's by accident, and a
/// post-checkout hook that takes a snapshot, as marked blocks in the hooks that are there.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # What would it write?
  tw init --dry-run

  # Write it, and share the settings with your team
  tw init
  git add .timewarp/config.toml

  # Let two agents snapshot when their sessions start
  tw init --agent claude,codex

  # The same for all your projects, and away again
  tw init --agent claude --user
  tw init --agent claude --user --remove

  # Guard against publishing tw's refs
  tw init --git-hooks")]
pub struct Args {
    /// List what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Set these agents up: claude, codex, gemini, kimi, kimi-code, opencode, cursor, copilot
    ///
    /// May be given more than once, or with commas between the names. kimi and kimi-code have settings for the user only.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub agent: Vec<String>,

    /// Write your own settings under HOME instead of the project's
    #[arg(long, requires = "agent")]
    pub user: bool,

    /// Set up git's pre-push and post-checkout hooks
    ///
    /// A hooks directory outside of this repository's git directory (core.hooksPath) is not written: the lines are
    /// printed. --yes writes them all the same.
    #[arg(long)]
    pub git_hooks: bool,

    /// Take out what --agent or --git-hooks put in
    #[arg(long)]
    pub remove: bool,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[described_by("init", describe)];

    fn run(&self, call: &Call<'_>) -> Reply {
        if self.agent.is_empty() && !self.git_hooks {
            if self.remove {
                return Err(Error::usage("--remove needs --agent NAME or --git-hooks"));
            }
            let request = ops::init::Init {
                dry_run: self.dry_run.into(),
            };
            return reply(ops::init::init(&call.open()?, &request));
        }
        let request = Install {
            agents: self.agent.clone(),
            user: self.user,
            git_hooks: self.git_hooks,
            way: if self.remove { Way::Out } else { Way::In },
            yes: call.yes,
            dry_run: self.dry_run.into(),
        };
        // The user's own settings need no repository.
        let ctx = match call.open() {
            Err(error) if error.code() == Code::NotARepository => None,
            other => Some(other?),
        };
        reply(ops::install::install(ctx.as_ref(), call.env, &request))
    }
}

/// What it answers for agents and git's hooks; without them it removes and prints nothing, and does not say so.
fn describe(command: &str) -> Value {
    let mut schema = of_outcome::<Installed>(command);
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| name != "removed" && name != "printed");
    }
    schema
}

impl Human for Initialised {
    fn print(&self, page: &mut Page) {
        let verb = if self.dry_run { "would write" } else { "wrote" };
        for file in &self.changed {
            page.line(format!("{verb} {}", text::path(file)));
        }
        for file in &self.unchanged {
            page.line(format!("as it should be: {}", text::path(file)));
        }
        page.notices(&self.notices);
        if !self.dry_run {
            page.hint("'tw snapshot' takes a snapshot");
        }
    }

    fn brief(&self) -> Option<Vec<String>> {
        Some(self.changed.iter().map(|file| text::path(file)).collect())
    }
}

impl Human for Installed {
    fn print(&self, page: &mut Page) {
        let would = if self.dry_run { "would " } else { "" };
        let verbs = if self.dry_run {
            ["write", "remove"]
        } else {
            ["wrote", "removed"]
        };
        for file in &self.changed {
            page.line(format!("{would}{} {}", verbs[0], text::path(file)));
        }
        for file in &self.removed {
            page.line(format!("{would}{} {}", verbs[1], text::path(file)));
        }
        for file in &self.unchanged {
            page.line(format!("as it should be: {}", text::path(file)));
        }
        for one in &self.printed {
            page.line(format!("for {}:", text::path(&one.path)));
            page.text.extend_from_slice(one.text.as_bytes());
        }
        if self.changed.len() + self.removed.len() + self.unchanged.len() + self.printed.len() == 0
        {
            page.line("nothing to do");
        }
        page.notices(&self.notices);
    }

    fn brief(&self) -> Option<Vec<String>> {
        let files = self.changed.iter().chain(&self.removed);
        Some(files.map(|file| text::path(file)).collect())
    }
}
