//! `cargo xtask TASK`: what people who work on `tw` do again and again. Each command is printed before it runs.

use std::path::Path;
use std::process::{Command, ExitCode};

const HELP: &str = "\
cargo xtask TASK [ARGUMENTS]

  build                       tw, optimised
  test [FILTER...]            the tests whose names contain a filter; all without one
  case SEED [CASES [STEPS]]   cases of the model, as a failure of it names them
  bless                       writes the golden files anew: completions, manual pages, help, schemas, examples
  man PAGE                    writes the golden files anew and shows a manual page: tw, tw-travel, ...
  bench [ARGUMENTS...]        speed beside git and others (bench/run)
  instructions [--record]     counted instructions of a snapshot, which needs valgrind (bench/instructions)
  fuzz [TARGET [ARGUMENTS]]   a parser under cargo-fuzz and a nightly compiler; without arguments, the list of them
  package [KIND...]           the packages of the commit that is checked out (packaging/build); docs/packages.md
  release VERSION             version, changelog, commit and tag (packaging/release)
  ci                          everything that must hold before a change goes in (.ci/run)
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["build"] => cargo(&["build", "--release", "--locked"], &[]),
        ["test"] => cargo(&["test", "--locked"], &[]),
        ["test", ref filters @ ..] => cargo(&["test", "--locked", "--"], filters),
        ["case", seed] => case(&[seed]),
        ["case", seed, cases] => case(&[seed, cases]),
        ["case", seed, cases, steps] => case(&[seed, cases, steps]),
        ["bless"] => bless(),
        ["man", page] => bless() && run(Command::new("man").arg(format!("./man/{page}.1"))),
        ["bench", ref more @ ..] => run(Command::new("bench/run").args(more)),
        ["instructions", ref more @ ..] => run(Command::new("bench/instructions").args(more)),
        ["fuzz"] => cargo(&["+nightly", "fuzz", "list"], &[]),
        ["fuzz", ref more @ ..] => cargo(&["+nightly", "fuzz", "run"], more),
        ["package", ref kinds @ ..] => run(Command::new("packaging/build").args(kinds)),
        ["release", version] => run(Command::new("packaging/release").arg(version)),
        ["ci"] => run(&mut Command::new(".ci/run")),
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    if done {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Not the `cargo` that runs this: that one does not understand `+nightly`.
fn cargo(args: &[&str], more: &[&str]) -> bool {
    run(Command::new("cargo").args(args).args(more))
}

fn case(numbers: &[&str]) -> bool {
    let mut command = Command::new("cargo");
    command.args(["test", "--locked", "--test", "it", "--", "model::"]);
    for (name, number) in ["SEED", "CASES", "STEPS"].iter().zip(numbers) {
        command.env(format!("TW_MODEL_{name}"), number);
    }
    run(&mut command)
}

fn bless() -> bool {
    let tests = ["golden", "schema", "mcp::tools", "example", "readme"];
    let mut command = Command::new("cargo");
    command.args(["test", "--locked", "--test", "it", "--"]);
    run(command.args(tests).env("TW_BLESS", "1"))
}

/// Prints a command, and runs it at the top of the sources. Answers whether it succeeded.
fn run(command: &mut Command) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    eprintln!("{command:?}");
    match command.current_dir(root).status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("error: {error}");
            false
        }
    }
}
