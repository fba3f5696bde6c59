//! Real clients and a real broker: what is compliant is as without us, and what is too large makes
//! no client resend it for ever.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use std::fmt::Debug;
use std::net::SocketAddr;

use serde_json::Value;
use support::{Mosquitto, Running, Sidecar, python};

/// A limit that all compliant traffic of these tests is within.
const LIMIT: [&str; 2] = ["--max-message-size", "64Ki"];

/// The size of a message that is not.
const LARGE: usize = 100_000;

#[test]
fn mosquitto_clients_observe_the_same_with_and_without_us() {
    for version in ["mqttv31", "mqttv311", "mqttv5"] {
        let observed = both_ways(|address| mosquitto_traffic(address, version));
        assert_eq!(observed.len(), 3 * 4 + 1, "each message once: {observed:?}");
    }
}

#[test]
fn paho_clients_observe_the_same_with_and_without_us() {
    for version in ["3.1", "3.1.1", "5"] {
        let observed = both_ways(|address| paho("paho_traffic.py", address, &[version]));
        assert_eq!(observed["live"].as_array().unwrap().len(), 19);
        assert_eq!(observed["disconnects"].to_string(), "[0,0,0]");
        assert_eq!(observed["will"][0][0], "t/will");
    }
}

#[test]
fn mosquitto_pub_is_told_that_its_message_was_refused_and_does_not_repeat_it() {
    for (version, told) in [("mqttv31", false), ("mqttv311", false), ("mqttv5", true)] {
        for qos in ["1", "2"] {
            let (broker, sidecar) = limited();
            subscribe_for_later(broker.address(), version);
            let large = "x".repeat(LARGE);
            let output = mosquitto_pub(sidecar.listen(), version, "t/large", qos, &large);
            assert_eq!(output.code, Some(0), "{}", output.errors);
            if told {
                assert!(
                    output.errors.contains("Quota exceeded"),
                    "{}",
                    output.errors
                );
            } else {
                assert_eq!(output.errors, "");
            }
            expect_refused_once(&sidecar, 1.0);
            let output = mosquitto_pub(sidecar.listen(), version, "t/small", qos, "small");
            assert_eq!((output.code, output.errors.as_str()), (Some(0), ""));
            let received = take(broker.address(), version, 1);
            assert_eq!(received, [format!("t/small {qos} 0 5 small")]);
        }
    }
}

#[test]
fn paho_is_told_that_its_message_was_refused_and_does_not_repeat_it() {
    for (version, qos, code, reason) in [
        ("5", "1", 0x97, "Quota exceeded"),
        // It answers the refusing PUBREC with PUBREL all the same, and reports what comes of that.
        ("5", "2", 0x92, "Packet identifier not found"),
        ("3.1.1", "1", 0, "Success"),
        ("3.1.1", "2", 0, "Success"),
        ("3.1", "1", 0, "Success"),
        ("3.1", "2", 0, "Success"),
    ] {
        let (broker, sidecar) = limited();
        subscribe_for_later(broker.address(), "mqttv5");
        let size = LARGE.to_string();
        let arguments = [version, qos, &size];
        let observed = paho("paho_oversize.py", sidecar.listen(), &arguments);
        assert_eq!(observed["large"][0], code, "{observed}");
        assert_eq!(observed["large"][1], reason, "{observed}");
        for small in ["before", "after", "last"] {
            assert_eq!(observed[small][0], 0, "{small}: {observed}");
        }
        assert_eq!(observed["connects"], 1, "{observed}");
        assert_eq!(observed["disconnects-before-the-end"], 0, "{observed}");
        expect_refused_once(&sidecar, 1.0);
        let expected = [("before", qos), ("after", qos), ("last", "1")]
            .map(|(topic, qos)| format!("t/{topic} {qos} 0 10 xxxxxxxxxx"));
        let mut received = take(broker.address(), "mqttv5", 3);
        // The broker lets QoS 1 overtake QoS 2.
        received.sort_by_key(|line| !line.starts_with("t/before"));
        received.sort_by_key(|line| line.starts_with("t/last"));
        assert_eq!(received, expected);
    }
}

#[test]
fn a_message_without_acknowledgement_is_dropped_and_the_others_arrive() {
    for version in ["mqttv31", "mqttv311", "mqttv5"] {
        let (broker, sidecar) = limited();
        subscribe_for_later(broker.address(), version);
        let address = sidecar.listen();
        let large = "x".repeat(LARGE);
        for (topic, payload) in [("t/1", "one"), ("t/large", large.as_str()), ("t/2", "two")] {
            let output = mosquitto_pub(address, version, topic, "0", payload);
            assert_eq!((output.code, output.errors.as_str()), (Some(0), ""));
        }
        let received = take(broker.address(), version, 2);
        assert_eq!(received, ["t/1 0 0 3 one", "t/2 0 0 3 two"]);
        expect_refused_once(&sidecar, 3.0);
    }
}

#[test]
fn a_publisher_that_heeds_the_limit_it_is_told_sends_nothing_and_one_that_does_not_is_refused() {
    let broker = Mosquitto::start();
    let sidecar = Sidecar::start(broker.address(), &LIMIT);
    let large = "x".repeat(LARGE);
    let output = mosquitto_pub(sidecar.listen(), "mqttv5", "t/large", "1", &large);
    assert_eq!(output.code, Some(0), "{}", output.errors);
    let denied = || {
        let metrics = sidecar.metrics();
        metrics.value("sizegate_messages_total", &[("verdict", "denied")])
    };
    assert!(denied() < 0.5);
    let size = LARGE.to_string();
    let observed = paho("paho_oversize.py", sidecar.listen(), &["5", "1", &size]);
    assert_eq!(observed["large"][0], 0x97, "{observed}");
    assert_eq!(observed["connects"], 1, "{observed}");
    assert!((denied() - 1.0).abs() < 0.5);
}

#[test]
fn a_large_message_reaches_a_subscriber_through_us() {
    let (broker, sidecar) = limited();
    subscribe_for_later(sidecar.listen(), "mqttv5");
    let large = "x".repeat(LARGE);
    mosquitto_pub(broker.address(), "mqttv5", "t/large", "1", &large);
    let received = take(sidecar.listen(), "mqttv5", 1);
    assert_eq!(received, [format!("t/large 1 0 {LARGE} {large}")]);
}

/// Plays the same on a broker alone and on one behind a sidecar that has nothing to refuse.
fn both_ways<T: Debug + PartialEq>(play: impl Fn(SocketAddr) -> T) -> T {
    let alone = Mosquitto::start();
    let without = play(alone.address());
    let broker = Mosquitto::start();
    let sidecar = Sidecar::start(broker.address(), &LIMIT);
    let with = play(sidecar.listen());
    assert_eq!(without, with, "without us and with us");
    let metrics = sidecar.metrics();
    assert!(metrics.value("sizegate_messages_total", &[("verdict", "allowed")]) > 0.0);
    for none in ["sizegate_messages_denied_total", "sizegate_malformed_total"] {
        assert!(metrics.value(none, &[]) < 0.5, "{none}");
    }
    with
}

/// A limit that nobody is told of, so that it is met.
fn limited() -> (Mosquitto, Sidecar) {
    let broker = Mosquitto::start();
    let sidecar = Sidecar::start(
        broker.address(),
        &[&LIMIT[..], &["--no-advertise"]].concat(),
    );
    (broker, sidecar)
}

/// One message was refused, and so many connections were made: nobody came again to repeat it.
fn expect_refused_once(sidecar: &Sidecar, connections: f64) {
    sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
    let metrics = sidecar.metrics();
    for (name, labels, expected) in [
        ("sizegate_messages_total", [("verdict", "denied")], 1.0),
        (
            "sizegate_connections_total",
            [("protocol", "mqtt")],
            connections,
        ),
    ] {
        let value = metrics.value(name, &labels);
        assert!((value - expected).abs() < 0.5, "{name} is {value}");
    }
}

/// Every QoS with several sizes, and a retained message that a later subscriber gets.
fn mosquitto_traffic(address: SocketAddr, version: &str) -> Vec<String> {
    subscribe_for_later(address, version);
    let mut received = Vec::new();
    for qos in ["0", "1", "2"] {
        for size in [0, 1, 5000, 60_000] {
            let topic = format!("t/{qos}/{size}");
            let payload = "x".repeat(size);
            let output = mosquitto_pub(address, version, &topic, qos, &payload);
            assert_eq!((output.code, output.errors.as_str()), (Some(0), ""));
        }
    }
    received.extend(take(address, version, 12));
    let port = address.port().to_string();
    let place = ["-h", "127.0.0.1", "-p", &port, "-V", version];
    let keep = ["-t", "kept", "-m", "kept", "-r", "-q", "1"];
    Running::start("mosquitto_pub", &[&place[..], &keep].concat()).finish();
    let late = ["-t", "kept", "-C", "1", "-W", "30", "-F", FORMAT];
    let output = Running::start("mosquitto_sub", &[&place[..], &late].concat()).finish();
    received.extend(output.lines);
    received
}

fn mosquitto_pub(
    address: SocketAddr,
    version: &str,
    topic: &str,
    qos: &str,
    payload: &str,
) -> support::Output {
    let port = address.port().to_string();
    let mut arguments = vec!["-h", "127.0.0.1", "-p", &port, "-V", version, "-t", topic];
    arguments.extend(["-q", qos, "-m", payload]);
    Running::start("mosquitto_pub", &arguments).finish()
}

/// Opens a session that keeps what is published from now on for [`take`].
fn subscribe_for_later(address: SocketAddr, version: &str) {
    let output = mosquitto_sub(address, version, &["-E"]);
    assert_eq!(output.code, Some(0), "{}", output.errors);
}

/// Takes so many messages out of the session.
fn take(address: SocketAddr, version: &str, count: usize) -> Vec<String> {
    let count = count.to_string();
    let flags = ["-C", &count, "-W", "30", "-F", FORMAT];
    let output = mosquitto_sub(address, version, &flags);
    assert_eq!(output.code, Some(0), "{}", output.errors);
    output.lines
}

fn mosquitto_sub(address: SocketAddr, version: &str, flags: &[&str]) -> support::Output {
    let port = address.port().to_string();
    let mut arguments = vec!["-h", "127.0.0.1", "-p", &port, "-V", version];
    arguments.extend(["-i", "later", "-c", "-q", "2", "-t", "t/#"]);
    if version == "mqttv5" {
        arguments.extend(["-x", "600"]);
    }
    arguments.extend(flags);
    Running::start("mosquitto_sub", &arguments).finish()
}

/// Runs one of the scripts and reads the JSON that it prints.
fn paho(script: &str, address: SocketAddr, arguments: &[&str]) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");
    let script = format!("{folder}/{script}");
    let port = address.port().to_string();
    let mut all = vec!["-B", &script, "127.0.0.1", &port];
    all.extend(arguments);
    let output = Running::start(&python(), &all).finish();
    assert_eq!(output.code, Some(0), "{}", output.errors);
    serde_json::from_str(&output.lines.join("\n")).expect("JSON of the script")
}

/// Topic, QoS, RETAIN, length and payload of a message.
const FORMAT: &str = "%t %q %r %l %p";
