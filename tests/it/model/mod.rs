//! A model of `tw`: long random sequences of what people, agents and git do, against full copies.
//!
//! Each case is a fresh repository and a list of steps ([`step::Step`]); edits and git run through a shell, `tw` as the real
//! binary. Around every `tw` command the whole working tree, index, HEAD, refs and operation files are copied
//! ([`world::World`]), and [`judge`] holds them against what DESIGN promises: nothing here is read from the engine's own
//! records. A failure shrinks to a short shell script, which stands in the message.
//!
//! `TW_MODEL_CASES` and `TW_MODEL_STEPS` make the run longer, `TW_MODEL_SEED` repeats or varies it, `TW_MODEL_WATCH` has it run
//! with a watcher (`tw watch`) beside it. `TW_MODEL_WITHOUT_GIT=1` has all of it in a directory without git, whose private repository
//! only plain git is told of; an ordinary run does a little of that. Crashes in mid-swap and
//! several processes at once are left to their own tests.

mod drive;
mod judge;
mod step;
mod world;

use std::fmt::Write as _;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use drive::{Drive, Git};
use step::Case;

/// A number from the environment, or what an ordinary run takes.
pub fn number(name: &str, ordinary: u64) -> u64 {
    std::env::var(name).map_or(ordinary, |text| {
        text.parse()
            .unwrap_or_else(|error| panic!("{name}={text}: {error}"))
    })
}

pub fn seeded(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

fn run(case: &Case, git: Git) -> Result<(), TestCaseError> {
    let mut drive = Drive::new(case.unborn, git);
    for step in &case.steps {
        drive.step(step);
        if !drive.problems.is_empty() {
            break;
        }
    }
    drive.end();
    if drive.problems.is_empty() {
        return Ok(());
    }
    let mut text = String::from("\n");
    for problem in &drive.problems {
        let _ = writeln!(text, "  {problem}");
    }
    let _ = write!(text, "--- to see it ---\n{}", drive.script());
    Err(TestCaseError::fail(text))
}

#[test]
fn random_steps_keep_the_promises() {
    let git = match number("TW_MODEL_WITHOUT_GIT", 0) {
        0 => Git::InTheDirectory,
        _ => Git::Elsewhere,
    };
    try_cases(number("TW_MODEL_CASES", 14), git);
}

#[test]
fn random_steps_keep_the_promises_without_git() {
    try_cases(3, Git::Elsewhere);
}

fn try_cases(cases: u64, git: Git) {
    let steps = number("TW_MODEL_STEPS", 30);
    let seed = number("TW_MODEL_SEED", 1);
    let config = Config {
        cases: u32::try_from(cases).unwrap(),
        max_shrink_iters: 400,
        failure_persistence: None,
        ..Config::default()
    };
    let strategy = step::cases(usize::try_from(steps).unwrap());
    let mut again = format!("TW_MODEL_SEED={seed} TW_MODEL_CASES={cases} TW_MODEL_STEPS={steps}");
    if git == Git::Elsewhere {
        again.push_str(" TW_MODEL_WITHOUT_GIT=1");
    }
    match TestRunner::new_with_rng(config, seeded(seed)).run(&strategy, |case| run(&case, git)) {
        Ok(()) => {}
        Err(TestError::Fail(reason, _)) => panic!("{again}\n{reason}"),
        Err(TestError::Abort(reason)) => panic!("{again}\naborted: {reason}"),
    }
}
