//! What a small message costs in system calls, counted by strace.
//!
//! The program runs twice, once with more round trips: the difference is theirs alone, without
//! start-up, handshake and shutdown.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use support::mqtt::{Connect, Publish, Version};
use support::{FakeBroker, Raw, field, pass, wait_for};

/// System calls for each round trip at most: each direction waits, reads and writes, which is 6,
/// and a turn in which nothing was ready after all is rare.
const MOST: f64 = 6.1;

/// System calls for each MiB of a large message at most. 8 read and write it in four segments of the
/// loopback interface each; a socket that has less to read or takes less costs more of them.
const MOST_A_MIB: f64 = 40.0;

#[test]
fn a_qos_1_round_trip_takes_six_system_calls() {
    let publish = Publish::new(Version::V311, 1, "t").id(7).packet_len(1_024);
    let puback = [0x40, 2, 0, 7];
    let each = calls_each(1_000, 4_000, &publish.encode(), &puback);
    let sum: f64 = each.values().sum();
    assert!(sum > 4.0, "reading and writing alone are 4: {each:#?}");
    assert!(sum <= MOST, "{sum:.3} calls for a round trip: {each:#?}");
}

#[test]
fn a_mebibyte_takes_few_system_calls() {
    let publish = Publish::new(Version::V311, 0, "t").packet_len(1 << 20);
    let each = calls_each(10, 110, &publish.encode(), &[]);
    let sum: f64 = each.values().sum();
    assert!(sum > 4.0, "reading and writing alone are 4: {each:#?}");
    assert!(sum <= MOST_A_MIB, "{sum:.3} calls for a MiB: {each:#?}");
}

/// System calls by name for each message and its answer.
fn calls_each(few: u32, many: u32, message: &[u8], answer: &[u8]) -> BTreeMap<String, f64> {
    let before = calls(few, message, answer);
    let after = calls(many, message, answer);
    let each = after.into_iter().map(|(name, count)| {
        let before = before.get(&name).copied().unwrap_or_default();
        let more = count as f64 - before as f64;
        (name, more / f64::from(many - few))
    });
    each.filter(|(_, count)| count.abs() > 0.001).collect()
}

#[test]
fn a_summary_of_strace_is_read() {
    let summary = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.000060           3        20         4 recvfrom
 40.00    0.000040           2        20           sendto
------ ----------- ----------- --------- --------- ----------------
100.00    0.000100           2        40         4 total
";
    let expected = [("recvfrom".to_owned(), 20), ("sendto".to_owned(), 20)];
    assert_eq!(parse(summary), BTreeMap::from(expected));
}

/// System calls by name of a sizegate through which one client sends so many messages, each of which
/// is answered.
fn calls(count: u32, message: &[u8], answer: &[u8]) -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().unwrap();
    let summary = folder.path().join("summary");
    let broker = FakeBroker::start();
    let traced = Traced::start(summary.to_str().unwrap(), broker.address());
    let connect = Connect::new(Version::V311, "c").encode();
    let connack = Version::V311.connack();
    let mut client = Raw::connect(traced.listen);
    client.send(&connect);
    let mut server = broker.accept();
    server.expect(&connect, "CONNECT");
    server.send(&connack);
    client.expect(&connack, "CONNACK");
    for _ in 0..count {
        pass(&mut client, &mut server, message, "the message");
        server.send(answer);
        client.expect(answer, "its answer");
    }
    drop((client, server));
    traced.finish();
    parse(&std::fs::read_to_string(summary).unwrap())
}

/// The calls by name in a summary of `strace -c`, without their sum.
fn parse(summary: &str) -> BTreeMap<String, u64> {
    let columns = summary
        .lines()
        .map(|line| line.split_whitespace().collect());
    let calls = columns.filter_map(|columns: Vec<&str>| {
        let name = *columns.last()?;
        let count = columns.get(3)?.parse().ok()?;
        (name != "total").then(|| (name.to_owned(), count))
    });
    calls.collect()
}

/// A sizegate under strace.
struct Traced {
    strace: Child,
    /// The process of sizegate itself: strace ends with it, and not when it is told to.
    pid: String,
    listen: SocketAddr,
}

impl Traced {
    fn start(summary: &str, upstream: SocketAddr) -> Self {
        let mut strace = Command::new("strace")
            .args(["-f", "-c", "-o", summary])
            // Says who it is before it becomes sizegate.
            .args(["sh", "-c", "echo $$; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_sizegate"))
            .args(["--listen", "127.0.0.1:0", "--admin", "off"])
            .args(["--upstream", &upstream.to_string()])
            .args(["--max-message-size", "2Mi", "--max-receive-size", "2Mi"])
            .args(["--log-format", "json", "--drain-timeout", "0s"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("strace is a program; tests/run installs it");
        let mut pid = String::new();
        let mut stdout = BufReader::new(strace.stdout.take().unwrap());
        stdout.read_line(&mut pid).unwrap();
        let mut lines = BufReader::new(strace.stderr.take().unwrap()).lines();
        let listen = lines.find_map(|line| {
            let line = serde_json::from_str(&line.ok()?).ok()?;
            (field(&line, "message") == "listening").then(|| field(&line, "listen"))
        });
        // What else it says is read, so that it is not kept from saying it.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            strace,
            pid: pid.trim().to_owned(),
            listen: listen.expect("sizegate listens").parse().unwrap(),
        }
    }

    /// Ends it in an orderly way, and waits until the summary is written.
    fn finish(mut self) {
        self.signal("TERM");
        let status = wait_for("the end of strace", || self.strace.try_wait().unwrap());
        assert!(status.success(), "sizegate ended with {status}");
    }

    fn signal(&self, name: &str) {
        // Failing means that it has ended already.
        let _ = Command::new("kill").args(["-s", name, &self.pid]).status();
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        if matches!(self.strace.try_wait(), Ok(None)) {
            self.signal("KILL");
            let _ = self.strace.wait();
        }
    }
}
