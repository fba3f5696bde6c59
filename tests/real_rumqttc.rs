//! The client library rumqttc and a real broker: as without us, and told of what is too large.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use std::net::SocketAddr;

use support::{Mosquitto, Sidecar};

/// A limit that all compliant traffic of these tests is within.
const LIMIT: [&str; 2] = ["--max-message-size", "64Ki"];

/// The size of a message that is not.
const LARGE: usize = 100_000;

/// QoS and sizes of compliant messages.
const COMPLIANT: [(u8, usize); 9] = [
    (0, 0),
    (0, 100),
    (0, 60_000),
    (1, 0),
    (1, 100),
    (1, 60_000),
    (2, 0),
    (2, 100),
    (2, 60_000),
];

/// Topic, QoS and length of what was received.
type Received = Vec<(String, u8, usize)>;

#[test]
fn version_3_1_1_observes_the_same_with_and_without_us() {
    both_ways(v4::traffic);
}

#[test]
fn version_5_observes_the_same_with_and_without_us() {
    both_ways(v5::traffic);
}

#[test]
fn version_3_1_1_does_not_repeat_a_refused_message() {
    for qos in [1, 2] {
        let (_broker, sidecar) = limited();
        let received = v4::oversize(sidecar.listen(), qos);
        assert_eq!(received, [("t/after".to_owned(), qos, 10)]);
        expect_refused_once(&sidecar);
    }
}

#[test]
fn version_5_is_told_quota_exceeded_and_does_not_repeat_a_refused_message() {
    for qos in [1, 2] {
        let (_broker, sidecar) = limited();
        let (received, reason) = v5::oversize(sidecar.listen(), qos);
        assert_eq!(received, [("t/after".to_owned(), qos, 10)]);
        assert!(reason.contains("--max-message-size"), "{reason}");
        expect_refused_once(&sidecar);
    }
}

fn both_ways(play: fn(SocketAddr) -> Received) {
    let alone = Mosquitto::start();
    let without = play(alone.address());
    let broker = Mosquitto::start();
    let sidecar = Sidecar::start(broker.address(), &LIMIT);
    let with = play(sidecar.listen());
    assert_eq!(without, with, "without us and with us");
    let expected = COMPLIANT.map(|(qos, size)| (format!("t/{qos}/{size}"), qos, size));
    let mut with = with;
    with.sort();
    assert_eq!(with, expected, "each message once");
}

/// A limit that nobody is told of: rumqttc ends its own connection over one that it is.
fn limited() -> (Mosquitto, Sidecar) {
    let broker = Mosquitto::start();
    let sidecar = Sidecar::start(
        broker.address(),
        &[&LIMIT[..], &["--no-advertise"]].concat(),
    );
    (broker, sidecar)
}

fn expect_refused_once(sidecar: &Sidecar) {
    let metrics = sidecar.metrics();
    for (name, labels) in [
        ("sizegate_messages_total", [("verdict", "denied")]),
        ("sizegate_connections_total", [("protocol", "mqtt")]),
    ] {
        let value = metrics.value(name, &labels);
        assert!((value - 1.0).abs() < 0.5, "{name} is {value}");
    }
}

/// MQTT 3.1.1.
mod v4 {
    use std::net::SocketAddr;

    use rumqttc::mqttbytes::qos;
    use rumqttc::{Client, Connection, Event, MqttOptions, Packet, QoS};

    use super::{COMPLIANT, LARGE, Received};
    use crate::support::DEADLINE;

    pub(super) fn traffic(address: SocketAddr) -> Received {
        let (client, mut connection) = connect(address);
        for (level, size) in COMPLIANT {
            let topic = format!("t/{level}/{size}");
            client
                .publish(topic, qos(level).unwrap(), false, vec![b'x'; size])
                .unwrap();
        }
        receive(&mut connection, COMPLIANT.len())
    }

    /// Publishes a message that is too large and one that is not, and returns what came back.
    pub(super) fn oversize(address: SocketAddr, level: u8) -> Received {
        let (client, mut connection) = connect(address);
        client
            .publish("t/large", qos(level).unwrap(), false, vec![b'x'; LARGE])
            .unwrap();
        client
            .publish("t/after", qos(level).unwrap(), false, vec![b'x'; 10])
            .unwrap();
        receive(&mut connection, 1)
    }

    fn connect(address: SocketAddr) -> (Client, Connection) {
        let host = address.ip().to_string();
        let mut options = MqttOptions::new("rumqttc", host, address.port());
        options.set_max_packet_size(1 << 20, 1 << 20);
        let (client, mut connection) = Client::new(options, 100);
        client.subscribe("t/#", QoS::ExactlyOnce).unwrap();
        while !matches!(next(&mut connection), Packet::SubAck(_)) {}
        (client, connection)
    }

    fn receive(connection: &mut Connection, count: usize) -> Received {
        let mut received = Vec::new();
        while received.len() < count {
            match next(connection) {
                Packet::Publish(publish) => {
                    received.push((publish.topic, publish.qos as u8, publish.payload.len()));
                }
                Packet::ConnAck(_) => panic!("it has connected again"),
                _ => {}
            }
        }
        received
    }

    /// The next packet that comes in; an error would be a lost connection.
    fn next(connection: &mut Connection) -> Packet {
        loop {
            let event = connection.recv_timeout(DEADLINE).expect("an event in time");
            if let Event::Incoming(packet) = event.expect("a connection that lives on") {
                return packet;
            }
        }
    }
}

/// MQTT 5.0.
mod v5 {
    use std::net::SocketAddr;

    use rumqttc::v5::mqttbytes::v5::{Packet, PubAckReason, PubRecReason};
    use rumqttc::v5::mqttbytes::{QoS, qos};
    use rumqttc::v5::{Client, Connection, Event, MqttOptions};

    use super::{COMPLIANT, LARGE, Received};
    use crate::support::DEADLINE;

    pub(super) fn traffic(address: SocketAddr) -> Received {
        let (client, mut connection) = connect(address);
        for (level, size) in COMPLIANT {
            let topic = format!("t/{level}/{size}");
            client
                .publish(topic, qos(level).unwrap(), false, vec![b'x'; size])
                .unwrap();
        }
        receive(&mut connection, COMPLIANT.len()).0
    }

    /// Publishes a message that is too large and one that is not, and returns what came back and
    /// the text of the refusal.
    pub(super) fn oversize(address: SocketAddr, level: u8) -> (Received, String) {
        let (client, mut connection) = connect(address);
        client
            .publish("t/large", qos(level).unwrap(), false, vec![b'x'; LARGE])
            .unwrap();
        client
            .publish("t/after", qos(level).unwrap(), false, vec![b'x'; 10])
            .unwrap();
        receive(&mut connection, 1)
    }

    fn connect(address: SocketAddr) -> (Client, Connection) {
        let host = address.ip().to_string();
        let mut options = MqttOptions::new("rumqttc", host, address.port());
        options.set_max_packet_size(Some(1 << 20));
        let (client, mut connection) = Client::new(options, 100);
        client.subscribe("t/#", QoS::ExactlyOnce).unwrap();
        while !matches!(next(&mut connection), Packet::SubAck(_)) {}
        (client, connection)
    }

    fn receive(connection: &mut Connection, count: usize) -> (Received, String) {
        let mut received = Vec::new();
        let mut reason = None;
        while received.len() < count {
            match next(connection) {
                Packet::Publish(publish) => {
                    let topic = String::from_utf8(publish.topic.to_vec()).unwrap();
                    received.push((topic, publish.qos as u8, publish.payload.len()));
                }
                Packet::PubAck(ack) if ack.reason == PubAckReason::QuotaExceeded => {
                    reason = ack
                        .properties
                        .and_then(|properties| properties.reason_string);
                }
                Packet::PubRec(ack) if ack.reason == PubRecReason::QuotaExceeded => {
                    reason = ack
                        .properties
                        .and_then(|properties| properties.reason_string);
                }
                Packet::ConnAck(_) => panic!("it has connected again"),
                _ => {}
            }
        }
        (received, reason.unwrap_or_default())
    }

    /// The next packet that comes in; an error would be a lost connection.
    fn next(connection: &mut Connection) -> Packet {
        loop {
            let event = connection.recv_timeout(DEADLINE).expect("an event in time");
            if let Event::Incoming(packet) = event.expect("a connection that lives on") {
                return packet;
            }
        }
    }
}
