//! `tw`: words in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(timewarp::cli::run(std::env::args_os()))
}
