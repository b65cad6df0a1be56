//! `tw completions`: prints the script that is checked in.

use schemars::JsonSchema;
use serde::Serialize;

use clap::ValueEnum;

use crate::cli::prelude::*;

/// Print the completion script of a shell
///
/// The script asks the installed tw for every completion, so that commands, flags, ids, labels and the paths of snapshots are
/// always up to date. It needs tw in PATH, and a file its directory ('mkdir -p'). Completion never writes anything.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  # bash: in ~/.bashrc, or as a file for you alone
  eval \"$(tw completions bash)\"
  tw completions bash > ~/.local/share/bash-completion/completions/tw

  # zsh: in ~/.zshrc behind compinit, or as a file in a directory of your fpath
  source <(tw completions zsh)
  tw completions zsh > ~/.zfunc/_tw

  # fish: in ~/.config/fish/config.fish, or as a file
  tw completions fish | source
  tw completions fish > ~/.config/fish/completions/tw.fish

  # elvish
  tw completions elvish >> ~/.config/elvish/rc.elv

  # PowerShell
  tw completions powershell >> $PROFILE")]
pub struct Args {
    /// Print the script of this shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// The shells with completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
    /// Elvish
    Elvish,
    /// PowerShell
    Powershell,
}

impl Run for Args {
    const DOCUMENTS: &[Document] = &[document::<Script>("completions")];

    fn run(&self, _call: &Call<'_>) -> Reply {
        // A test holds those of elvish and PowerShell equal to what clap renders, so that nothing is rendered here.
        let (shell, script) = match self.shell {
            Shell::Bash => ("bash", include_str!("../../completions/tw.bash")),
            Shell::Zsh => ("zsh", include_str!("../../completions/_tw")),
            Shell::Fish => ("fish", include_str!("../../completions/tw.fish")),
            Shell::Elvish => ("elvish", include_str!("../../completions/tw.elv")),
            Shell::Powershell => ("powershell", include_str!("../../completions/_tw.ps1")),
        };
        reply(Ok(Script { shell, script }))
    }
}

/// Answer of `completions`: the registration script of one shell.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Script {
    /// The shell's name.
    pub shell: &'static str,
    /// The registration script, as checked in.
    pub script: &'static str,
}

impl Human for Script {
    fn print(&self, page: &mut Page) {
        page.text.extend_from_slice(self.script.as_bytes());
    }
}
