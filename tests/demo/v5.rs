//! MQTT 5.0: what is refused is acknowledged with a reason.

use std::net::SocketAddr;

use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{Packet, PubAckReason};
use rumqttc::v5::{Client, Connection, Event, MqttOptions};

use super::{DEADLINE, LARGE, Outcome, SMALL, check};

/// Publishes through sizegate, and looks at the broker for what has come of it.
pub(super) fn show(sidecar: SocketAddr, broker: SocketAddr) -> Outcome<()> {
    let (subscriber, mut received) = connect("subscriber-5", broker)?;
    subscriber.subscribe("demo/5", QoS::AtLeastOnce)?;
    while !matches!(next(&mut received)?, Packet::SubAck(_)) {}
    let (publisher, mut answers) = connect("publisher-5", sidecar)?;
    let mut publish = |size| -> Outcome<(PubAckReason, String)> {
        publisher.publish("demo/5", QoS::AtLeastOnce, false, vec![b'x'; size])?;
        loop {
            if let Packet::PubAck(ack) = next(&mut answers)? {
                let text = ack
                    .properties
                    .and_then(|properties| properties.reason_string);
                return Ok((ack.reason, text.unwrap_or_default()));
            }
        }
    };

    let (reason, _) = publish(SMALL)?;
    let first = payload_len(&mut received)?;
    check(
        format!("a message with {SMALL} octets of payload arrives"),
        first == SMALL && reason == PubAckReason::Success,
    )?;
    let (reason, text) = publish(LARGE)?;
    check(
        format!("one with {LARGE} octets is refused: Quota exceeded, \"{text}\""),
        reason == PubAckReason::QuotaExceeded
            && text.contains("65536")
            && text.contains("--max-message-size"),
    )?;
    let (reason, _) = publish(SMALL + 1)?;
    let second = payload_len(&mut received)?;
    check(
        "and is not passed on: the next message at the subscriber is the one after it",
        second == SMALL + 1 && reason == PubAckReason::Success,
    )
}

fn connect(name: &str, to: SocketAddr) -> Outcome<(Client, Connection)> {
    let mut options = MqttOptions::new(name, to.ip().to_string(), to.port());
    options.set_max_packet_size(Some(1 << 20));
    let (client, mut connection) = Client::new(options, 10);
    // The only CONNACK that is accepted: a second one would be a second connection.
    match recv(&mut connection)? {
        Event::Incoming(Packet::ConnAck(_)) => Ok((client, connection)),
        other => Err(format!("{name} is not connected: {other:?}").into()),
    }
}

fn payload_len(connection: &mut Connection) -> Outcome<usize> {
    loop {
        if let Packet::Publish(publish) = next(connection)? {
            return Ok(publish.payload.len());
        }
    }
}

/// The next packet that comes in on a connection that must not be lost.
fn next(connection: &mut Connection) -> Outcome<Packet> {
    loop {
        match recv(connection)? {
            Event::Incoming(Packet::ConnAck(_)) => return Err("it had to connect again".into()),
            Event::Incoming(packet) => return Ok(packet),
            Event::Outgoing(_) => {}
        }
    }
}

fn recv(connection: &mut Connection) -> Outcome<Event> {
    let event = connection.recv_timeout(DEADLINE);
    Ok(event.map_err(|_| "nothing came in time")??)
}
