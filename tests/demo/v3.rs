//! MQTT 3.1.1: what is refused is acknowledged like any other, since there is no word for it.

use std::net::SocketAddr;

use rumqttc::{Client, Connection, Event, MqttOptions, Packet, QoS};

use super::{DEADLINE, LARGE, Outcome, SMALL, check};

/// Publishes through sizegate, and looks at the broker for what has come of it.
pub(super) fn show(sidecar: SocketAddr, broker: SocketAddr) -> Outcome<()> {
    let (subscriber, mut received) = connect("subscriber-3", broker)?;
    subscriber.subscribe("demo/3", QoS::AtLeastOnce)?;
    while !matches!(next(&mut received)?, Packet::SubAck(_)) {}
    let (publisher, mut answers) = connect("publisher-3", sidecar)?;
    let mut publish = |size| -> Outcome<u16> {
        publisher.publish("demo/3", QoS::AtLeastOnce, false, vec![b'x'; size])?;
        loop {
            if let Packet::PubAck(ack) = next(&mut answers)? {
                return Ok(ack.pkid);
            }
        }
    };

    publish(SMALL)?;
    let first = payload_len(&mut received)?;
    check(
        format!("a message with {SMALL} octets of payload arrives"),
        first == SMALL,
    )?;
    let acknowledged = publish(LARGE)?;
    check(
        format!("one with {LARGE} octets gets its PUBACK, so that nobody resends it"),
        acknowledged == 2,
    )?;
    publish(SMALL + 1)?;
    let second = payload_len(&mut received)?;
    check(
        "and is not passed on: the next message at the subscriber is the one after it",
        second == SMALL + 1,
    )
}

fn connect(name: &str, to: SocketAddr) -> Outcome<(Client, Connection)> {
    let mut options = MqttOptions::new(name, to.ip().to_string(), to.port());
    options.set_max_packet_size(1 << 20, 1 << 20);
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
