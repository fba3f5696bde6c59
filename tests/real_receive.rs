//! Real subscribers with a small limit, and real brokers with messages that are too large for them.
//!
//! A retained message that is too large, and live ones, and one that was published while the
//! subscriber was away: none of them ends a connection, none of them comes again for ever, and what
//! is small arrives.

#![allow(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

#[path = "support/rumqttc.rs"]
mod rumqttc_subscriber;

use std::net::SocketAddr;

use support::mqtt::{Connect, PUBREC, PUBREL, Publish, Version, ack, subscribe};
use support::{Mosquitto, RabbitMq, Raw, Release, Running, Sidecar, node_modules, python};

/// The limit of what a subscriber is sent.
const LIMIT: [&str; 2] = ["--max-receive-size", "16Ki"];

/// The size of a message that is not within it.
const LARGE: usize = 100_000;

/// Which times of a subscriber these are: it subscribes the first time, and comes again twice.
const PHASES: [&str; 3] = ["first", "again", "again"];

/// A client library in a version of MQTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subscriber {
    MosquittoSub(&'static str),
    Paho(&'static str),
    MqttJs(&'static str),
    Rumqttc(u8),
}

use Subscriber::{MosquittoSub, MqttJs, Paho, Rumqttc};

impl Subscriber {
    fn is_v5(self) -> bool {
        matches!(
            self,
            MosquittoSub("mqttv5") | Paho("5") | MqttJs("5") | Rumqttc(5)
        )
    }

    /// How many refusals there are: of a retained message, of live ones of each QoS, of one from
    /// its absence; and of the retained one each time it subscribes again.
    fn refusals(self, most_qos: u8) -> f64 {
        let live = f64::from(most_qos) + 1.0;
        let again = matches!(self, MosquittoSub(_)).then_some(2.0);
        1.0 + live + 1.0 + again.unwrap_or(0.0)
    }

    /// Lets it connect, and take what comes until `t/end`, or `count` messages where that is what
    /// it is told by; `at_small` happens when the retained
    /// message has arrived, the first time.
    fn run(self, to: SocketAddr, phase: &str, count: usize, at_small: impl Fn()) -> Vec<String> {
        let port = to.port().to_string();
        let place = ["127.0.0.1", &port];
        let count = count.to_string();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");
        let mut running = match self {
            Rumqttc(level) => return rumqttc_subscriber::run(level, to, phase, at_small),
            MosquittoSub(version) => {
                let mut arguments = vec!["-h", place[0], "-p", place[1], "-V", version];
                arguments.extend(["-i", "subscriber", "-c", "-q", "2", "-F", "%t %l"]);
                arguments.extend(["-t", "kept/large", "-t", "kept/small", "-t", "t/#"]);
                arguments.extend(["-C", &count, "-W", "60"]);
                if version == "mqttv5" {
                    arguments.extend(["-x", "600"]);
                }
                Running::start("mosquitto_sub", &arguments)
            }
            Paho(version) => {
                let script = format!("{folder}/paho_subscriber.py");
                let arguments = ["-B", &script, place[0], place[1], version, phase];
                Running::start(&python(), &arguments)
            }
            MqttJs(version) => {
                let script = format!("{folder}/mqttjs_subscriber.js");
                let modules = node_modules();
                let arguments = [&script, &modules, place[0], place[1], version, phase];
                Running::start("node", &arguments)
            }
        };
        let mut lines = Vec::new();
        if phase == "first" {
            lines.push(running.line());
            at_small();
        }
        let output = running.finish();
        assert_eq!(output.code, Some(0), "{self:?} {phase}: {output:?}");
        lines.extend(output.lines);
        if !matches!(self, MosquittoSub(_)) {
            let connects = lines.pop().unwrap();
            assert_eq!(connects, "connects 1", "{self:?} {phase}");
        }
        lines
    }
}

#[test]
fn mosquitto_and_mosquitto_sub_live_on() {
    for version in ["mqttv31", "mqttv311", "mqttv5"] {
        with_mosquitto(MosquittoSub(version));
    }
}

#[test]
fn mosquitto_and_paho_live_on() {
    for version in ["3.1", "3.1.1", "5"] {
        with_mosquitto(Paho(version));
    }
}

#[test]
fn mosquitto_and_mqtt_js_live_on() {
    for version in ["3", "4", "5"] {
        with_mosquitto(MqttJs(version));
    }
}

#[test]
fn mosquitto_and_rumqttc_live_on() {
    for version in [4, 5] {
        with_mosquitto(Rumqttc(version));
    }
}

#[test]
fn rabbitmq_and_its_subscribers_live_on() {
    for subscriber in [
        MosquittoSub("mqttv31"),
        MosquittoSub("mqttv311"),
        Paho("3.1.1"),
        MqttJs("4"),
        Rumqttc(4),
    ] {
        let broker = RabbitMq::start(Release::V3);
        let sidecar = Sidecar::start(broker.mqtt(), &LIMIT);
        // It takes no message of QoS 2.
        live_on(subscriber, broker.mqtt(), &sidecar, 1);
        expect_refusals(&sidecar, subscriber.refusals(1));
    }
}

fn with_mosquitto(subscriber: Subscriber) {
    let broker = Mosquitto::start();
    let sidecar = Sidecar::start(
        broker.address(),
        &[&LIMIT[..], &["--no-advertise"]].concat(),
    );
    live_on(subscriber, broker.address(), &sidecar, 2);
    expect_refusals(&sidecar, subscriber.refusals(2));
    if subscriber.is_v5() {
        // A broker that was told the limit leaves the messages out by itself.
        let broker = Mosquitto::start();
        let sidecar = Sidecar::start(broker.address(), &LIMIT);
        live_on(subscriber, broker.address(), &sidecar, 2);
        expect_refusals(&sidecar, 0.0);
    }
}

/// Three times of a subscriber, and what it gets each time.
fn live_on(subscriber: Subscriber, broker: SocketAddr, sidecar: &Sidecar, most_qos: u8) {
    let large = "x".repeat(LARGE);
    publish(broker, "kept/large", "1", &large, &["-r"]);
    publish(broker, "kept/small", "1", "small", &["-r"]);
    for phase in PHASES {
        let mut expected = vec!["t/back 4", "t/end 0"];
        if phase == "first" {
            expected = vec!["kept/small 5", "t/0 5", "t/1 5", "t/2 5", "t/end 0"];
            if most_qos < 2 {
                expected.remove(3);
            }
        } else {
            let is_second = sidecar.metrics().value("sizegate_connections_total", &[]) < 1.5;
            if is_second {
                publish(broker, "t/away", "1", &large, &[]);
            }
            publish(broker, "t/back", "1", "back", &[]);
            publish(broker, "t/end", "1", "", &[]);
        }
        // It gets the retained message each time, since it subscribes each time.
        let count = expected.len() + usize::from(phase == "again");
        let mut lines = subscriber.run(sidecar.listen(), phase, count, || {
            for qos in 0..=most_qos {
                let qos = qos.to_string();
                publish(broker, "t/large", &qos, &large, &[]);
                publish(broker, &format!("t/{qos}"), &qos, "small", &[]);
            }
            // The last one must not overtake those before it.
            publish(broker, "t/end", &most_qos.to_string(), "", &[]);
        });
        if phase == "again" {
            // Who subscribes again gets what is retained again.
            lines.retain(|line| line != "kept/small 5");
        }
        // A broker lets QoS 1 overtake QoS 2.
        lines.sort();
        assert_eq!(lines, expected, "{subscriber:?} {phase}");
        sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
    }
    let connections = sidecar.metrics().value("sizegate_connections_total", &[]);
    assert!((connections - 3.0).abs() < 0.5, "{connections} connections");
}

#[test]
fn mosquitto_goes_on_after_more_refusals_than_it_has_messages_in_flight() {
    for version in [Version::V311, Version::V5] {
        let broker = Mosquitto::start_with("max_inflight_messages 2");
        // mosquitto must not leave them out by itself.
        let flags = [&LIMIT[..], &["--no-advertise"]].concat();
        let sidecar = Sidecar::start(broker.address(), &flags);
        let mut subscriber = connect(version, "subscriber", sidecar.listen());
        subscriber.send(subscribe(version, 1, &["t"]));
        subscriber.read_packet();
        let mut publisher = connect(version, "publisher", broker.address());
        for id in 1..=5 {
            let large = Publish::new(version, 2, "t").id(id).payload_len(LARGE);
            publish_twice_acknowledged(&mut publisher, &large, id);
        }
        let small = Publish::new(version, 2, "t").id(6).payload_len(10);
        publish_twice_acknowledged(&mut publisher, &small, 6);
        let arrived = subscriber.read_packet();
        assert_eq!(arrived.len(), small.encode().len(), "{version:?}");
    }
}

/// A client without a library that the broker has accepted.
fn connect(version: Version, name: &str, to: SocketAddr) -> Raw {
    let mut client = Raw::connect(to);
    client.send(Connect::new(version, name).encode());
    client.read_packet();
    client
}

/// Publishes with QoS 2, up to PUBCOMP.
fn publish_twice_acknowledged(publisher: &mut Raw, message: &Publish, id: u16) {
    publisher.send(message.encode());
    publisher.expect(ack(PUBREC, id), "PUBREC");
    publisher.send(ack(PUBREL, id));
    publisher.read_packet();
}

/// So many messages were refused in all, so none of them came again by itself.
fn expect_refusals(sidecar: &Sidecar, expected: f64) {
    let metrics = sidecar.metrics();
    let refused = |direction| {
        let labels = [("direction", direction), ("verdict", "denied")];
        metrics.value("sizegate_messages_total", &labels)
    };
    assert!(
        (refused("receive") - expected).abs() < 0.5,
        "{}",
        refused("receive")
    );
    assert!(refused("send") < 0.5);
    assert!(metrics.value("sizegate_malformed_total", &[]) < 0.5);
}

/// Publishes right at the broker.
fn publish(broker: SocketAddr, topic: &str, qos: &str, payload: &str, flags: &[&str]) {
    let port = broker.port().to_string();
    let mut arguments = vec!["-h", "127.0.0.1", "-p", &port, "-V", "mqttv311"];
    arguments.extend(["-t", topic, "-q", qos]);
    if payload.is_empty() {
        arguments.push("-n");
    } else {
        arguments.extend(["-m", payload]);
    }
    arguments.extend(flags);
    let output = Running::start("mosquitto_pub", &arguments).finish();
    assert_eq!((output.code, output.errors.as_str()), (Some(0), ""));
}
