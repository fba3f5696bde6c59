//! A panic ends the connection that it happens in, and that is all.

use std::process::{Command, Stdio};

use serde_json::Value;
use tracing::Level;

use super::*;
use crate::gate::{HangUp, HoldBudget, Identity, Limits, Meter, Phase, Reservation, Step};
use crate::lifecycle::{self, Patience};
use crate::telemetry::{self, Format, Log};

/// Forwards octets and panics at an exclamation mark.
struct Brittle {
    /// What a message that it holds would take up.
    _held: Reservation,
}

impl Gate for Brittle {
    fn step(&mut self, _: Side, input: &[u8], _: &mut Meter, _: &mut Vec<u8>) -> Step {
        assert!(!input.contains(&b'!'), "a defect\nof two lines");
        match input.len() {
            0 => Step::More(1),
            len => Step::Forward(len as u64),
        }
    }

    fn pending(&self, _: Side) -> bool {
        false
    }

    fn hang_up(&mut self, _: HangUp) {}

    fn unsettled(&self) -> u64 {
        UNSETTLED
    }

    fn phase(&self) -> Phase {
        Phase::Accepted
    }

    fn identity(&self) -> Identity<'_> {
        Identity::default()
    }

    fn limits(&self) -> Option<&Limits> {
        None
    }
}

/// Connections with brittle gates.
struct Brittles {
    shared: Arc<Shared>,
    hold: Arc<HoldBudget>,
}

impl Brittles {
    fn new() -> Self {
        Self {
            shared: Setting::default().shared(),
            hold: Arc::new(HoldBudget::new(2 * HELD)),
        }
    }

    /// The client's and the broker's end of a connection that carries octets.
    async fn connect(&self, connection: u64) -> (DuplexStream, DuplexStream) {
        let shared = Arc::clone(&self.shared);
        let place = Place::take(&shared);
        let (mut client, near_client) = duplex(1024);
        let (brokers, mut broker) = tokio::sync::mpsc::unbounded_channel();
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let mut held = Reservation::new(&self.hold);
        assert!(held.grow(HELD));
        let mut tally = Tally::new(&shared.metrics, connection, peer);
        tally.speaks("mqtt");
        let terms = Terms {
            linger: LINGER,
            handshake: Instant::now() + HANDSHAKE,
            lifecycle: Arc::clone(&shared.lifecycle),
        };
        let gate = Box::new(Brittle { _held: held });
        let lane = Lane::new(Side::Client);
        let pump = Box::new(Pump::new(near_client, lane, gate, tally, terms));
        let lifecycle = Arc::clone(&shared.lifecycle);
        lifecycle.connections.spawn(async move {
            let _place = place;
            let dial = || async {
                let (broker, near_broker) = duplex(1024);
                brokers.send(broker).expect("the test is there");
                Ok(Dialled {
                    broker: near_broker,
                    entry: None,
                })
            };
            contain(pin!(carry(&shared, pump, dial))).await;
        });
        client.write_all(b"octets").await.unwrap();
        let mut broker = broker.recv().await.unwrap();
        expect(&mut broker, b"octets").await;
        (client, broker)
    }

    /// Fails unless these are the connections, and what they have to do with is theirs alone.
    fn are_left(&self, connections: usize) {
        let count = connections as u64;
        assert_eq!(self.shared.lifecycle.connections.len(), connections);
        assert_eq!(self.shared.census.present.load(Relaxed), connections);
        assert_eq!(self.hold.held(), HELD * count);
        for (metric, value) in [
            ("sizegate_connections_active{protocol=\"mqtt\"}", count),
            ("sizegate_presettled_unsettled", UNSETTLED * count),
        ] {
            self.counts(metric, value);
        }
    }

    fn counts(&self, metric: &str, value: u64) {
        let text = self.shared.metrics.render();
        let line = format!("{metric} {value}\n");
        assert!(text.contains(&line), "no {line} in {text}");
    }
}

async fn passes(from: &mut DuplexStream, to: &mut DuplexStream) {
    from.write_all(b"octets").await.unwrap();
    expect(to, b"octets").await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_ends_the_connection_that_it_happens_in_and_nothing_else() {
    let brittles = Brittles::new();
    let (mut client, mut broker) = brittles.connect(1).await;
    let (mut others_client, mut others_broker) = brittles.connect(2).await;
    brittles.are_left(2);
    client.write_all(b"half!").await.unwrap();
    assert_eq!(rest(&mut client).await, NOTHING);
    assert_eq!(rest(&mut broker).await, NOTHING);
    brittles.are_left(1);
    brittles.counts(PANICKED, 1);
    brittles.counts("sizegate_presettled_lost_total", UNSETTLED);
    passes(&mut others_client, &mut others_broker).await;
    passes(&mut others_broker, &mut others_client).await;

    drop((others_client, others_broker));
    let patience = Patience {
        stay: LINGER,
        linger: LINGER,
    };
    let shared = &brittles.shared;
    let hurry = std::future::pending();
    let outcome = lifecycle::drain(&shared.lifecycle, &shared.metrics, patience, hurry).await;
    assert_eq!(outcome, lifecycle::Outcome::Clean);
    brittles.are_left(0);
    brittles.counts(PANICKED, 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_broker_brings_about_ends_its_connection_alone_too() {
    let brittles = Brittles::new();
    let (mut client, mut broker) = brittles.connect(1).await;
    broker.write_all(b"!").await.unwrap();
    assert_eq!(rest(&mut client).await, NOTHING);
    assert_eq!(rest(&mut broker).await, NOTHING);
    brittles.are_left(0);
    brittles.counts(PANICKED, 1);
}

/// Runs itself again as a program of its own, whose log is read: hook and log are the process's.
#[test]
fn a_panic_is_one_line_of_the_log_that_says_whom_it_ended() {
    if std::env::var_os(CHILD).is_some() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(panic_with_a_log());
        return;
    }
    for backtrace in ["0", "1"] {
        let lines = log_of_child(backtrace);
        let [contained, alone] = lines.as_slice() else {
            panic!("not two lines: {lines:#?}");
        };
        for line in [contained, alone] {
            assert_eq!(line["level"], "ERROR");
            assert_eq!(line["what"], "a defect\nof two lines");
            let place = line["place"].as_str().unwrap_or_default();
            assert!(place.starts_with(&format!("{}:", file!())), "{line}");
            assert_eq!(line.get("backtrace").is_some(), backtrace == "1", "{line}");
        }
        assert_eq!(contained["message"], "connection panicked");
        assert_eq!(contained["connection"], 7);
        assert_eq!(contained["peer"], "127.0.0.1:1");
        assert_eq!(contained["protocol"], "mqtt");
        assert_eq!(contained["side"], "sizegate");
        assert_eq!(contained["reason"], "panic");
        assert_eq!(contained["sent_bytes"], 6);
        assert_eq!(alone["message"], "panicked");
        assert_eq!(alone.get("connection"), None);
    }
}

/// One panic within a connection, and one that is no connection's.
async fn panic_with_a_log() {
    let log = Log {
        level: Level::INFO,
        format: Format::Json,
    };
    telemetry::start(log).expect("the first log of the process");
    let (mut client, _broker) = Brittles::new().connect(7).await;
    client.write_all(b"!").await.unwrap();
    assert_eq!(rest(&mut client).await, NOTHING);
    let alone = tokio::spawn(async {
        let mut brittle = Brittle {
            _held: Reservation::new(&Arc::new(HoldBudget::new(0))),
        };
        brittle.step(Side::Client, b"!", &mut Meter::default(), &mut Vec::new());
    });
    assert!(alone.await.is_err(), "it has panicked");
}

fn log_of_child(backtrace: &str) -> Vec<Value> {
    let name = format!(
        "{}::a_panic_is_one_line_of_the_log_that_says_whom_it_ended",
        module_path!().trim_start_matches("sizegate::")
    );
    let output = Command::new(std::env::current_exe().expect("a path"))
        .args([&name, "--exact", "--nocapture"])
        .env(CHILD, "1")
        .env("RUST_BACKTRACE", backtrace)
        .stdin(Stdio::null())
        .output()
        .expect("a binary that starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
    let log = String::from_utf8(output.stderr).expect("UTF-8");
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
        .collect()
}

/// Octets that each gate holds, and messages of which each awaits the outcome.
const HELD: u64 = 40;
const UNSETTLED: u64 = 3;

/// The metric of connections that ended so.
const PANICKED: &str = "sizegate_connections_closed_total{protocol=\"mqtt\",reason=\"panic\",\
                        side=\"sizegate\"}";

/// Says to this binary that it is the one that panics.
const CHILD: &str = "SIZEGATE_TEST_PANICS";
