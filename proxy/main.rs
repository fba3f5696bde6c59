//! The program: parse, run, exit code.

use std::env::args_os;
use std::error::Error;
use std::process::ExitCode;

use sizegate::cli::{self, FAILED, Stop};
use sizegate::config::Config;
use sizegate::lifecycle::Outcome;
use sizegate::run::{RunError, Sidecar};
use sizegate::telemetry;

fn main() -> ExitCode {
    match start() {
        Ok(Outcome::Clean) => ExitCode::SUCCESS,
        Ok(Outcome::Cut) => ExitCode::from(FAILED),
        Err(stop) => stop.say(),
    }
}

fn start() -> Result<Outcome, Stop> {
    let args = cli::parse(args_os())?;
    let config = Config::from_args(&args)?;
    if args.check {
        return Err(Stop::done(config.report()));
    }
    run(config).map_err(|error| Stop::failed(chain(&error)))
}

fn run(config: Config) -> Result<Outcome, RunError> {
    telemetry::start(config.log)?;
    Sidecar::start(config)?.run()
}

/// An error and its causes in one line.
fn chain(mut error: &dyn Error) -> String {
    let mut text = error.to_string();
    while let Some(cause) = error.source() {
        text = format!("{text}: {cause}");
        error = cause;
    }
    text
}
