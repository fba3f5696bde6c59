//! Every scenario runs through the relays that come with the benchmark, for a moment each.
//!
//! What is measured means nothing here; that each message arrives does.

#![allow(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sizegate-bench"))
        .args(["--seconds", "0.02", "--repeat", "1", "--markdown"])
        .args(arguments)
        .output()
        .unwrap()
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

#[test]
fn each_scenario_runs_through_each_relay() {
    let peers = ["direct", "tokio-copy", "epoll-copy", "epoll-splice"];
    let arguments: Vec<&str> = peers.iter().flat_map(|peer| ["--peer", peer]).collect();
    let output = bench(&arguments);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    let listed = text(&bench(&["--list"]).stdout);
    let scenarios = listed.lines().filter(|line| line.starts_with("scenario "));
    let mut count = 0;
    for line in scenarios {
        let name = line.split_whitespace().nth(1).unwrap();
        assert!(
            told.contains(&format!("### {name}: ")),
            "no {name} in {told}"
        );
        count += 1;
    }
    for peer in peers {
        // A table for each scenario, and one for all.
        let rows = told
            .lines()
            .filter(|line| line.starts_with(&format!("| {peer} |")));
        assert_eq!(rows.count(), count + 1, "{peer} in {told}");
    }
}

#[test]
fn a_peer_that_ends_is_a_failure_and_the_others_are_measured() {
    let output = bench(&[
        "--scenario",
        "mqtt-ping",
        "--proxy",
        "gone=false",
        "--peer",
        "gone",
        "--peer",
        "epoll-copy",
    ]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("gone: FAILED: gone ended with"), "{told}");
    assert!(told.contains("| gone | failed |"), "{told}");
    assert!(told.contains("| epoll-copy | ") && !told.contains("| epoll-copy | failed"));
}

#[test]
fn a_name_that_is_none_is_told_with_those_that_are() {
    let output = bench(&["--scenario", "nothing"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        told.contains("no scenario `nothing`") && told.contains("mqtt-ping"),
        "{told}"
    );
}
