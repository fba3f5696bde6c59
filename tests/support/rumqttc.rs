//! A subscriber with rumqttc and a lasting session, in MQTT 3.1.1 and 5.0.

use std::net::SocketAddr;

use crate::support::DEADLINE;

/// The filters that it subscribes to.
const FILTERS: [&str; 3] = ["kept/large", "kept/small", "t/#"];

/// Lets it connect, subscribe the first time, and take what comes until `t/end`; `at_small` happens
/// when the first message has arrived, the first time. Answers with topic and length of each.
pub(crate) fn run(level: u8, to: SocketAddr, phase: &str, at_small: impl Fn()) -> Vec<String> {
    let mut lines = Vec::new();
    let mut take = |topic: &str, len: usize| {
        lines.push(format!("{topic} {len}"));
        if phase == "first" && lines.len() == 1 {
            at_small();
        }
        topic == "t/end"
    };
    match level {
        5 => v5(to, phase, &mut take),
        _ => v4(to, phase, &mut take),
    }
    lines
}

/// How far the last message has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// It has not come, or the goodbye has been said.
    Ahead,
    /// It has come and must be released: whoever leaves before is sent PUBREL the next time, and
    /// rumqttc ends its connection over one that it does not expect.
    Unreleased(u16),
    /// It has come, and nothing of it is left to say.
    Here,
}

impl End {
    /// What it is after one more message.
    fn or(self, is_last: bool, is_exactly_once: bool, id: u16) -> Self {
        match (is_last, is_exactly_once) {
            (false, _) => self,
            (true, true) => Self::Unreleased(id),
            (true, false) => Self::Here,
        }
    }

    fn released(self, id: u16) -> Self {
        if self == Self::Unreleased(id) {
            Self::Here
        } else {
            self
        }
    }
}

fn v4(to: SocketAddr, phase: &str, take: &mut dyn FnMut(&str, usize) -> bool) {
    use rumqttc::{Client, Event, MqttOptions, Outgoing, Packet, QoS};

    let mut options = MqttOptions::new("subscriber", to.ip().to_string(), to.port());
    options.set_max_packet_size(1 << 20, 1 << 20);
    options.set_clean_session(false);
    let (client, mut connection) = Client::new(options, 100);
    if phase == "first" {
        for filter in FILTERS {
            client.subscribe(filter, QoS::ExactlyOnce).unwrap();
        }
    }
    let mut end = End::Ahead;
    loop {
        let event = connection.recv_timeout(DEADLINE).expect("an event in time");
        match event.expect("a connection that lives on") {
            Event::Incoming(Packet::Publish(publish)) => {
                let is_last = take(&publish.topic, publish.payload.len());
                end = end.or(is_last, publish.qos == QoS::ExactlyOnce, publish.pkid);
            }
            Event::Outgoing(Outgoing::PubComp(id)) => end = end.released(id),
            Event::Outgoing(Outgoing::Disconnect) => return,
            _ => {}
        }
        if end == End::Here {
            end = End::Ahead;
            client.disconnect().unwrap();
        }
    }
}

fn v5(to: SocketAddr, phase: &str, take: &mut dyn FnMut(&str, usize) -> bool) {
    use rumqttc::Outgoing;
    use rumqttc::v5::mqttbytes::QoS;
    use rumqttc::v5::mqttbytes::v5::Packet;
    use rumqttc::v5::{Client, Event, MqttOptions};

    let mut options = MqttOptions::new("subscriber", to.ip().to_string(), to.port());
    options.set_max_packet_size(Some(1 << 20));
    options.set_session_expiry_interval(Some(600));
    options.set_clean_start(false);
    let (client, mut connection) = Client::new(options, 100);
    if phase == "first" {
        for filter in FILTERS {
            client.subscribe(filter, QoS::ExactlyOnce).unwrap();
        }
    }
    let mut end = End::Ahead;
    loop {
        let event = connection.recv_timeout(DEADLINE).expect("an event in time");
        match event.expect("a connection that lives on") {
            Event::Incoming(Packet::Publish(publish)) => {
                let topic = String::from_utf8(publish.topic.to_vec()).unwrap();
                let is_last = take(&topic, publish.payload.len());
                end = end.or(is_last, publish.qos == QoS::ExactlyOnce, publish.pkid);
            }
            Event::Outgoing(Outgoing::PubComp(id)) => end = end.released(id),
            Event::Outgoing(Outgoing::Disconnect) => return,
            _ => {}
        }
        if end == End::Here {
            end = End::Ahead;
            client.disconnect().unwrap();
        }
    }
}
