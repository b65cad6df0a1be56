//! `tw`: words in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    timewarp::runner::program::this_is_tw();
    ExitCode::from(timewarp::cli::run(std::env::args_os()))
}
