//! Runs a case under valgrind and reads the count.

use std::process::Command;

use crate::Error;

/// The first argument of a process that runs a case; its name and the number of messages follow.
pub(super) const CASE: &str = "case";

/// Instructions of a process that runs so many messages of a case.
pub(super) fn instructions(case: &str, messages: usize) -> Result<u64, Error> {
    let own = std::env::current_exe().map_err(Error::io("finding this program"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(own)
        .args([CASE, case, &messages.to_string()])
        .output()
        .map_err(Error::io("valgrind (apt-get install valgrind)"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(Error::Program {
            program: format!("valgrind {CASE} {case} {messages}: {told}"),
            status: output.status,
        });
    }
    collected(&told).ok_or(Error::Unread {
        program: "valgrind",
        what: "number of instructions",
    })
}

/// The number in the line `==123== Collected : 456`.
fn collected(told: &str) -> Option<u64> {
    let line = told.lines().find(|line| line.contains("Collected"))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read() {
        let told = "==12== Events    : Ir\n==12== Collected : 1234567\n==12== \n";
        assert_eq!(collected(told), Some(1_234_567));
        assert_eq!(collected("==12== Events    : Ir\n"), None);
    }
}
