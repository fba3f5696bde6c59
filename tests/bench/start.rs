//! The program itself: how large it is, how soon it listens, and what memory it takes until a client
//! comes.
//!
//! `cargo bench --bench start` starts it again and again, in turn with a program that does nothing,
//! which is what a process costs on this machine.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement that meets what it did not expect has to fail"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often it is started.
const STARTS: usize = 41;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sizegate");

fn main() {
    let (mut starts, mut nothing, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..STARTS {
        nothing.push(start_nothing());
        let (start, resident) = start();
        starts.push(start);
        memory.push(resident);
    }
    println!("the program     {:>8} KiB", size(PROGRAM));
    println!("  stripped      {:>8} KiB", stripped());
    println!("from its start until it listens, of {STARTS} starts:");
    for (name, times) in [("sizegate", &mut starts), ("true", &mut nothing)] {
        times.sort();
        let at = |part: usize| times.get(part * (STARTS - 1) / 4).unwrap().as_secs_f64() * 1e3;
        println!(
            "  {name:8} median {:6.2} ms, a quarter below {:6.2} ms, a quarter above {:6.2} ms",
            at(2),
            at(1),
            at(3)
        );
    }
    memory.sort_unstable();
    println!("resident memory {:>8} KiB", memory.get(STARTS / 2).unwrap());
}

/// The time until it says that it listens, and the KiB that are resident then.
fn start() -> (Duration, u64) {
    let since = Instant::now();
    let mut child = Command::new(PROGRAM)
        .args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])
        .args(["--upstream", "127.0.0.1:1883", "--max-message-size", "1Mi"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("listening") {
        line.clear();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "it has ended");
    }
    let start = since.elapsed();
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let resident = status.lines().find_map(|line| {
        let rest = line.strip_prefix("VmRSS:")?;
        rest.split_whitespace().next()?.parse().ok()
    });
    child.kill().unwrap();
    child.wait().unwrap();
    (start, resident.unwrap())
}

/// The time from the start to the end of a program that does nothing.
fn start_nothing() -> Duration {
    let since = Instant::now();
    assert!(Command::new("true").status().unwrap().success());
    since.elapsed()
}

/// KiB of a file.
fn size(path: &str) -> u64 {
    fs::metadata(path).unwrap().len() / 1024
}

/// KiB of the program without its symbols.
fn stripped() -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sizegate");
    let path = path.to_str().unwrap();
    let strip = Command::new("strip").args(["-o", path, PROGRAM]).status();
    assert!(strip.unwrap().success(), "strip is part of binutils");
    size(path)
}
