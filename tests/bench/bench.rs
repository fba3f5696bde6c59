//! The benchmark of sizegate beside other relays. See `--help`.

#![allow(
    clippy::print_stderr,
    reason = "what went wrong is told on standard error"
)]

use std::process::ExitCode;

use sizegate_bench::{Options, relays, runner};

fn main() -> ExitCode {
    // The runner starts itself as one of the relays to compare with.
    let mut arguments = std::env::args().skip(1);
    let result = if arguments.next().as_deref() == Some(relays::COMMAND) {
        relays::main(arguments)
    } else {
        let options: Options = argh::from_env();
        runner::main(&options)
    };
    result.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}
