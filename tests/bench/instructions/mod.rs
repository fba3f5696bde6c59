//! How many instructions a gate executes for each message, counted by valgrind.
//!
//! Unlike a time, the count is the same on a busy machine, so it can be held to a ceiling. A case
//! runs twice, once with twice as many messages: the difference is theirs alone, without start-up
//! and handshake. Only the gate is counted, driven as the relay drives it: no socket, no runtime.

mod callgrind;
mod cases;
mod ceilings;
mod passage;

use std::path::PathBuf;
use std::process::ExitCode;

use self::callgrind::instructions;
use self::cases::{CASES, Case};
use self::ceilings::{Ceilings, Finding, Toolchain};
use crate::Error;

/// Compares with the ceilings; `--renew` writes them anew. `case NAME MESSAGES` is what runs under
/// valgrind.
pub fn main(mut arguments: impl Iterator<Item = String>) -> Result<ExitCode, Error> {
    match arguments.next().as_deref() {
        None => compare(),
        Some("--renew") => renew(),
        Some(callgrind::CASE) => {
            let name = arguments.next().unwrap_or_default();
            let messages = arguments.next().unwrap_or_default();
            let messages = messages.parse().map_err(|_| Error::Value {
                value: messages,
                expected: "a number of messages",
            })?;
            cases::named(&name)?.run(messages)?;
            Ok(ExitCode::SUCCESS)
        }
        Some(other) => Err(Error::Value {
            value: other.to_owned(),
            expected: "`--renew` or nothing",
        }),
    }
}

/// Where the ceilings stand.
fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("instructions/ceilings.txt")
}

fn compare() -> Result<ExitCode, Error> {
    let text = std::fs::read_to_string(file()).map_err(Error::io("the ceilings"))?;
    let ceilings = Ceilings::parse(&text)?;
    let toolchain = Toolchain::here()?;
    let tolerance = ceilings.tolerance(&toolchain);
    println!(
        "toolchain: {toolchain}; that of the ceilings: {}",
        ceilings.toolchain
    );
    println!("a case may grow by {:.0} %", tolerance * 100.0);
    let mut is_over = false;
    for case in CASES {
        let counted = count(case)?;
        let finding = ceilings.find(case.name, counted, tolerance);
        is_over |= matches!(finding, Finding::Over(_) | Finding::Unknown);
        println!("{:24} {counted:8.1} a message: {finding}", case.name);
    }
    if is_over {
        println!("If that is as it should be, renew the ceilings and say in the commit why:");
        println!("  cargo run --release -p sizegate-bench --bin instructions -- --renew");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn renew() -> Result<ExitCode, Error> {
    let counts = CASES
        .iter()
        .map(|case| Ok((case.name.to_owned(), count(case)?)));
    let ceilings = Ceilings {
        toolchain: Toolchain::here()?,
        cases: counts.collect::<Result<_, Error>>()?,
    };
    let text = ceilings.to_string();
    std::fs::write(file(), &text).map_err(Error::io("the ceilings"))?;
    print!("{text}");
    Ok(ExitCode::SUCCESS)
}

/// Instructions for each message of a case.
fn count(case: &Case) -> Result<f64, Error> {
    let [fewer, more] = [cases::MESSAGES / 2, cases::MESSAGES];
    let difference = instructions(case.name, more)?.saturating_sub(instructions(case.name, fewer)?);
    Ok(difference as f64 / (more - fewer) as f64)
}
