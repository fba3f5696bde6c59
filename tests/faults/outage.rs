//! A broker that is killed under load, is away for a while, and comes back.

use std::io::Read;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::expect_nothing_left;
use crate::support::mqtt::{Answer, CONNACK, Connect, PUBACK, Publish, Version, ack};
use crate::support::{Mosquitto, Raw, Sidecar, wait_for};

const CLIENTS: usize = 16;
/// In which a client learns that its broker is gone: less than the linger time of the sidecar.
const PROMPT: Duration = Duration::from_secs(10);

#[test]
fn clients_of_a_broker_that_is_killed_hear_of_it_at_once_and_come_back_when_it_does() {
    let mut mosquitto = Mosquitto::start();
    let mut sidecar = Sidecar::start(mosquitto.address(), &["--linger", "60s"]);
    let before = sidecar.descriptors();
    for round in 1..=2 {
        let acknowledged = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|number| {
                    let (sidecar, acknowledged) = (&sidecar, &acknowledged);
                    scope.spawn(move || publish_until_the_end(sidecar, number, acknowledged))
                })
                .collect();
            wait_for("all publish", || {
                (acknowledged.load(Relaxed) > 20 * CLIENTS).then_some(())
            });
            mosquitto.kill();
            let killed = Instant::now();
            for client in clients {
                client.join().unwrap();
            }
            assert!(killed.elapsed() < PROMPT, "{:?}", killed.elapsed());
        });
        expect_nothing_left(&mut sidecar, before);

        let mut client = Raw::connect(sidecar.listen());
        client.send(Connect::new(Version::V5, "during").encode());
        let answer = Answer::parse(&client.read_packet());
        assert_eq!((answer.first, answer.code), (CONNACK, 0x88));
        client.expect_eof("the end");
        drop(client);
        sidecar.metric_becomes("sizegate_upstream_up", &[], 0.0);
        // Whether the broker is there is not what a sidecar is asked when it is asked to be ready.
        assert_eq!(sidecar.get("/readyz").0, 200);

        mosquitto.start_again();
        let mut client = connect(&sidecar, "after");
        publish_one(&mut client).unwrap();
        sidecar.metric_becomes("sizegate_upstream_up", &[], 1.0);
        drop(client);
        expect_nothing_left(&mut sidecar, before);
        let metrics = sidecar.metrics();
        let count = |name, labels: &[_]| metrics.value(name, labels) as usize;
        let closed = "sizegate_connections_closed_total";
        let connections = round * (CLIENTS + 2);
        assert_eq!(count("sizegate_connections_total", &[]), connections);
        assert_eq!(count(closed, &[]), connections);
        let unreachable = count(closed, &[("reason", "upstream-unreachable")]);
        assert_eq!(unreachable, round);
        // A client whose words found nobody may have been the first to notice.
        assert_eq!(count(closed, &[("side", "broker")]), round * (CLIENTS + 1));
        assert_eq!(count("sizegate_malformed_total", &[]), 0);
    }
}

fn connect(sidecar: &Sidecar, name: &str) -> Raw {
    let mut client = Raw::connect(sidecar.listen());
    client.send(Connect::new(Version::V311, name).encode());
    client.expect(Version::V311.connack(), "CONNACK");
    client
}

/// Publishes and waits for each acknowledgement, until the connection ends.
fn publish_until_the_end(sidecar: &Sidecar, number: usize, acknowledged: &AtomicUsize) {
    let mut client = connect(sidecar, &format!("load-{number}"));
    while publish_one(&mut client).is_some() {
        acknowledged.fetch_add(1, Relaxed);
    }
}

/// Publishes and waits for the acknowledgement; `None` if the connection ended first.
fn publish_one(client: &mut Raw) -> Option<()> {
    let publish = Publish::new(Version::V311, 1, "t").id(7).payload_len(5_000);
    let mut stream = client.stream();
    std::io::Write::write_all(&mut stream, &publish.encode()).ok()?;
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).ok()?;
    assert_eq!(answer[..], ack(PUBACK, 7));
    Some(())
}
