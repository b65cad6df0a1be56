//! `tw completions`: prints the script that is checked in.

use super::{Reply, reply};
use crate::cli::args::{self, Shell};
use crate::wire::Script;

pub fn run(args: &args::Completions) -> Reply {
    let (shell, script) = match args.shell {
        Shell::Bash => ("bash", include_str!("../../../completions/tw.bash")),
        Shell::Zsh => ("zsh", include_str!("../../../completions/_tw")),
        Shell::Fish => ("fish", include_str!("../../../completions/tw.fish")),
        Shell::Elvish => ("elvish", include_str!("../../../completions/tw.elv")),
        Shell::Powershell => ("powershell", include_str!("../../../completions/_tw.ps1")),
    };
    reply(Ok(Script { shell, script }))
}
