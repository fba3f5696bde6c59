//! Counts the instructions of the gates for each message, and compares them with the ceilings.
//!
//! `instructions` compares, `instructions --renew` writes the ceilings anew.

#![allow(
    clippy::print_stderr,
    reason = "what went wrong is told on standard error"
)]

use std::process::ExitCode;

use sizegate_bench::instructions;

fn main() -> ExitCode {
    instructions::main(std::env::args().skip(1)).unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}
