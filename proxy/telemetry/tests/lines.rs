use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tracing::Level;

use crate::gate::{Ending, NotAccepted, Outcome, Reason, Refusal, Side, VerdictKind};
use crate::policy::{Action, Direction, Identity};
use crate::telemetry::report::{BURST, INTERVAL, LONGEST, bounded};
use crate::telemetry::{
    Closed, Format, Log, Panic, RefusalLog, Who, broke, closed, log, malformed, panicked, start,
};

/// A place to write a log to and read it again.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("one thread").write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What `events` writes to the log.
fn written(format: Format, level: Level, events: impl FnOnce()) -> String {
    let page = Page::default();
    let writer = page.clone();
    let subscriber = log::subscriber(Log { level, format }, move || writer.clone());
    tracing::subscriber::with_default(subscriber, events);
    let octets = page.0.lock().expect("one thread").clone();
    String::from_utf8(octets).expect("UTF-8")
}

fn who<'a>(client: &'a str) -> Who<'a> {
    Who {
        connection: 7,
        peer: "10.0.0.9:4711".parse().expect("an address"),
        protocol: Some("mqtt"),
        identity: Identity {
            client: Some(client),
            ..Identity::default()
        },
        group: None,
    }
}

fn refusal(topic: &str) -> Refusal {
    Refusal {
        direction: Direction::ToBroker,
        verdict: VerdictKind::Denied,
        action: Action::Reject,
        address: Some(topic.to_owned()),
        size: 2000,
        limit: 1000,
        rule: "--max-message-size".into(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_one_line_with_its_fields() {
    let line = written(Format::Text, Level::INFO, || {
        RefusalLog::default().refused(Instant::now(), &who("c1"), &refusal("a/b"));
    });
    let (_, line) = line
        .split_once("  WARN ")
        .or(line.split_once(" WARN "))
        .expect("a warning");
    assert_eq!(
        line,
        "message refused connection=7 peer=10.0.0.9:4711 protocol=\"mqtt\" client=\"c1\" \
         address=\"a/b\" direction=\"send\" size=2000 limit=1000 rule=\"--max-message-size\" \
         action=\"reject\" verdict=\"denied\" suppressed=0\n"
    );
}

fn not_accepted(messages: u64) -> NotAccepted {
    NotAccepted {
        outcome: Outcome::Rejected,
        messages,
        address: Some("a/b".to_owned()),
    }
}

#[tokio::test(start_paused = true)]
async fn messages_that_were_not_accepted_are_one_line_with_its_fields() {
    let line = written(Format::Text, Level::INFO, || {
        RefusalLog::default().not_accepted(Instant::now(), &who("c1"), &not_accepted(3));
    });
    let (_, line) = line.split_once(" WARN ").expect("a warning");
    assert_eq!(
        line,
        "pre-settled not accepted connection=7 peer=10.0.0.9:4711 protocol=\"mqtt\" \
         client=\"c1\" address=\"a/b\" direction=\"send\" outcome=\"rejected\" messages=3 \
         suppressed=0\n"
    );
}

#[tokio::test(start_paused = true)]
async fn messages_that_were_not_accepted_share_the_lines_of_refusals() {
    let mut log = RefusalLog::default();
    let text = written(Format::Text, Level::INFO, || {
        for _ in 0..BURST {
            log.refused(Instant::now(), &who("c1"), &refusal("a/b"));
        }
        for _ in 0..4 {
            log.not_accepted(Instant::now(), &who("c1"), &not_accepted(25));
        }
    });
    assert!(!text.contains("not accepted"), "{text}");
    assert_eq!(log.suppressed(), 100);
    tokio::time::advance(INTERVAL).await;
    let text = written(Format::Text, Level::INFO, || {
        log.not_accepted(Instant::now(), &who("c1"), &not_accepted(1));
    });
    assert!(text.contains("messages=1 suppressed=100"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn json_has_the_fields_beside_time_level_and_message() {
    let dry = Refusal {
        verdict: VerdictKind::WouldDeny,
        address: None,
        ..refusal("")
    };
    let line = written(Format::Json, Level::INFO, || {
        RefusalLog::default().refused(Instant::now(), &who("c\"1"), &dry);
    });
    assert!(line.starts_with("{\"timestamp\":\"20"), "{line}");
    for member in [
        "\"level\":\"WARN\"",
        "\"message\":\"message would be refused\"",
        "\"connection\":7",
        "\"peer\":\"10.0.0.9:4711\"",
        "\"client\":\"c\\\"1\"",
        "\"size\":2000",
        "\"verdict\":\"would-deny\"",
    ] {
        assert!(line.contains(member), "{member} is not in {line}");
    }
    assert!(
        !line.contains("address"),
        "what is not known is left out: {line}"
    );
    assert!(!line.contains("fields"), "nothing is nested: {line}");
}

#[tokio::test(start_paused = true)]
async fn no_peer_can_write_a_line_of_its_own() {
    let evil = "a\n2026-01-01T00:00:00Z INFO all is well\u{1b}[2K\r\u{202e}";
    for format in [Format::Text, Format::Json] {
        let log = written(format, Level::INFO, || {
            RefusalLog::default().refused(Instant::now(), &who(evil), &refusal(evil));
            closed(
                &who(evil),
                Ending::by(Side::Client, Reason::Closed),
                Closed::default(),
                0,
            );
            malformed(&who(evil), Side::Client, evil);
        });
        assert_eq!(log.lines().count(), 3, "{log}");
        assert!(!log.contains(['\r', '\u{1b}']), "{log}");
    }
}

#[test]
fn what_a_peer_chose_is_cut_between_characters_and_marked() {
    assert_eq!(bounded(&"x".repeat(LONGEST)), "x".repeat(LONGEST));
    assert_eq!(bounded(&"x".repeat(LONGEST + 1)), "x".repeat(LONGEST) + "…");
    // Three octets a character: 256 falls within the 86th.
    assert_eq!(bounded(&"€".repeat(100)), "€".repeat(85) + "…");
}

#[tokio::test(start_paused = true)]
async fn refusals_get_a_burst_of_lines_and_then_one_a_second() {
    let mut log = RefusalLog::default();
    let start = Instant::now();
    let lines = |log: &mut RefusalLog, after: Duration, times: u32| {
        written(Format::Text, Level::INFO, || {
            for _ in 0..times {
                log.refused(start + after, &who("c"), &refusal("t"));
            }
        })
    };
    let text = lines(&mut log, Duration::ZERO, BURST + 3);
    assert_eq!(text.lines().count(), BURST as usize);
    assert_eq!(log.suppressed(), 3);

    let text = lines(&mut log, INTERVAL - Duration::from_millis(1), 1);
    assert_eq!((text.as_str(), log.suppressed()), ("", 4));

    let text = lines(&mut log, INTERVAL, 2);
    assert_eq!(text.lines().count(), 1);
    assert!(text.ends_with(" suppressed=4\n"), "{text}");
    assert_eq!(log.suppressed(), 1);

    // Half a second is not lost: the next line is due two seconds after the first.
    let text = lines(&mut log, INTERVAL * 2 - INTERVAL / 2, 1);
    assert_eq!((text.as_str(), log.suppressed()), ("", 2));
    let text = lines(&mut log, INTERVAL * 2, 1);
    assert!(text.ends_with(" suppressed=2\n"), "{text}");

    let text = lines(&mut log, INTERVAL * 1000, BURST + 1);
    assert_eq!(
        text.lines().count(),
        BURST as usize,
        "the allowance has a ceiling"
    );
}

#[test]
fn the_end_of_a_connection_is_one_line_with_its_fields() {
    let amount = Closed {
        sent: 11,
        received: 22,
        lost: 4,
        lasted: Duration::from_millis(1500),
    };
    let line = written(Format::Text, Level::INFO, || {
        closed(&who("c1"), Ending::ours(Reason::Oversize), amount, 3);
    });
    let (_, line) = line.split_once(" INFO ").expect("of level info");
    assert_eq!(
        line,
        "connection closed connection=7 peer=10.0.0.9:4711 protocol=\"mqtt\" client=\"c1\" \
         side=\"sizegate\" reason=\"oversize\" sent_bytes=11 received_bytes=22 \
         duration_seconds=1.5 presettled_lost=4 suppressed=3\n"
    );
}

#[test]
fn the_level_keeps_what_is_less_important_out() {
    let log = written(Format::Text, Level::WARN, || {
        closed(
            &who("c1"),
            Ending::ours(Reason::Drain),
            Closed::default(),
            0,
        );
        malformed(&who("c1"), Side::Broker, "no such packet");
    });
    assert_eq!(log.lines().count(), 1);
    assert!(log.contains("malformed connection=7"), "{log}");
    assert!(
        log.contains("side=\"broker\" what=\"no such packet\""),
        "{log}"
    );
}

/// Standard error belongs to a process, so this test runs itself in one of its own.
#[test]
fn a_log_that_nobody_reads_harms_nobody() {
    const CHILD: &str = "SIZEGATE_TEST_LOGS_TO_NOBODY";
    if std::env::var_os(CHILD).is_some() {
        // The parent closes this once nobody reads standard error any more.
        io::stdin().read_to_end(&mut Vec::new()).expect("the end");
        let log = Log {
            level: Level::INFO,
            format: Format::Text,
        };
        start(log).expect("the first log of the process");
        malformed(&who("c1"), Side::Client, "no such packet");
        return;
    }
    let name = format!(
        "{}::a_log_that_nobody_reads_harms_nobody",
        module_path!().trim_start_matches("sizegate::")
    );
    let mut child = Command::new(std::env::current_exe().expect("a path"))
        .args([&name, "--exact", "--nocapture"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a binary that starts");
    drop(child.stderr.take());
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("an end");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn what_tls_finds_wrong_is_one_line_with_its_fields() {
    let line = written(Format::Text, Level::INFO, || {
        let fault = io::Error::other("received fatal alert: BadRecordMac");
        broke(&who("c1"), Side::Broker, &fault);
    });
    let (_, line) = line.split_once(" WARN ").expect("a warning");
    assert_eq!(
        line,
        "TLS broke connection=7 peer=10.0.0.9:4711 protocol=\"mqtt\" client=\"c1\" \
         side=\"broker\" what=\"received fatal alert: BadRecordMac\"\n"
    );
}

#[tokio::test(start_paused = true)]
async fn the_readme_lists_every_field() {
    let identity = Identity {
        peer: None,
        vhost: Some("v"),
        user: Some("u"),
        client: Some("c"),
    };
    let who = Who {
        identity,
        group: Some("g"),
        ..who("c")
    };
    let log = written(Format::Text, Level::INFO, || {
        RefusalLog::default().refused(Instant::now(), &who, &refusal("t"));
        RefusalLog::default().not_accepted(Instant::now(), &who, &not_accepted(2));
        malformed(&who, Side::Client, "w");
        broke(&who, Side::Broker, &io::Error::other("w"));
        let amount = Closed {
            lost: 1,
            ..Closed::default()
        };
        closed(&who, Ending::ours(Reason::Drain), amount, 0);
        let panic = Panic {
            what: "w".to_owned(),
            place: "p".to_owned(),
            backtrace: Some("b".to_owned()),
        };
        panicked(&who, Ending::ours(Reason::Panic), amount, 0, &panic);
    });
    let fields = log
        .split_whitespace()
        .filter_map(|word| word.split_once('='));
    let logged: BTreeSet<&str> = fields.map(|(field, _)| field).collect();

    let (_, table) = include_str!("../../../README.md")
        .split_once("\n| field | on lines | meaning |\n| --- | --- | --- |\n")
        .expect("the table of fields");
    let rows = table.split("\n\n").next().unwrap_or_default().lines();
    let names = rows.filter_map(|row| row.split('|').nth(1));
    let listed = names
        .flat_map(|names| names.split('`').skip(1).step_by(2))
        .collect();
    assert_eq!(logged, listed);
}
