//! How a sidecar with many clients ends: each of them gets the goodbye of its protocol, in front of
//! real brokers.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use support::amqp10::{CLOSE, close, read_frame};
use support::mqtt::{Answer, Connect, DISCONNECT, Version};
use support::{
    Mosquitto, RabbitMq, Raw, Release, Sidecar, amqp091, field, guest, raise_descriptor_limit,
};

/// Clients of each protocol.
const CROWD: usize = 200;
/// What each of them may take, with all others before it in the queue for two cores.
const PATIENCE: [&str; 4] = ["--drain-timeout", "100ms", "--linger", "60s"];

/// A sidecar that leads to mosquitto and to RabbitMQ.
struct Brokers {
    sidecar: Sidecar,
    _mosquitto: Mosquitto,
}

impl Brokers {
    fn start(flags: &[&str]) -> Self {
        raise_descriptor_limit();
        let mosquitto = Mosquitto::start();
        let rabbitmq = RabbitMq::shared(Release::V3).address().to_string();
        let pairs = [
            "--listen",
            "127.0.0.1:0",
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &rabbitmq,
        ];
        let sidecar = Sidecar::start(mosquitto.address(), &[&pairs[..], flags].concat());
        Self {
            sidecar,
            _mosquitto: mosquitto,
        }
    }

    fn mqtt(&self, version: Version, number: usize) -> Raw {
        let mut client = Raw::connect(self.sidecar.listeners()[0]);
        let name = format!("{version:?}-{number}");
        client.send(Connect::new(version, &name).encode());
        let connack = client.read_packet();
        assert_eq!((connack[0], connack[3]), (0x20, 0), "{name} is accepted");
        client
    }

    /// A client of AMQP 1.0.
    fn amqp(&self, number: usize) -> Raw {
        guest::amqp10(self.sidecar.listeners()[1], &format!("amqp-{number}"))
    }

    /// A client of AMQP 0-9-1, on the port of the other one.
    fn amqp091(&self, number: usize) -> Raw {
        guest::amqp091(self.sidecar.listeners()[1], &format!("amqp091-{number}"))
    }
}

fn mqtt_hears_goodbye(client: &mut Raw, version: Version) {
    if version == Version::V5 {
        let answer = Answer::parse(&client.read_packet());
        assert_eq!((answer.first, answer.code), (DISCONNECT, 0x8b));
    }
    client.expect_eof("the end");
}

fn amqp_hears_goodbye(client: &mut Raw) {
    let texts = ["amqp:connection:forced", "sizegate is shutting down"];
    read_frame(client).expect(CLOSE, &texts);
    client.expect_eof("the end after close");
}

fn amqp091_hears_goodbye(client: &mut Raw) {
    let close = amqp091::expect_method(client, 0, amqp091::CLOSE);
    let (code, text) = close.reason();
    assert_eq!(code, 320, "{text}");
    assert!(text.contains("sizegate is shutting down"), "{text}");
}

#[test]
fn each_of_a_crowd_hears_goodbye_in_its_own_protocol() {
    let mut brokers = Brokers::start(&PATIENCE);
    let mut crowd = Vec::new();
    for number in 0..CROWD {
        let v5 = brokers.mqtt(Version::V5, number);
        let v3 = brokers.mqtt(Version::V311, number);
        crowd.push((v5, v3, brokers.amqp(number), brokers.amqp091(number)));
    }
    brokers.sidecar.signal("TERM");
    for (mut v5, mut v3, mut amqp, mut amqp091) in crowd {
        mqtt_hears_goodbye(&mut v5, Version::V5);
        mqtt_hears_goodbye(&mut v3, Version::V311);
        amqp_hears_goodbye(&mut amqp);
        amqp.send(close());
        amqp091_hears_goodbye(&mut amqp091);
        amqp091.send(amqp091::close_ok());
        amqp091.expect_eof("the end after close-ok");
    }
    assert_eq!(brokers.sidecar.wait().code(), Some(0));
    let log = brokers.sidecar.log_to_its_end();
    let told = |line: &&_| {
        field(line, "message") == "connection closed" && field(line, "reason") == "drain"
    };
    assert_eq!(log.iter().filter(told).count(), 4 * CROWD);
}

#[test]
fn a_client_that_does_not_leave_costs_the_exit_code_and_nobody_the_goodbye() {
    let flags = ["--drain-timeout", "100ms", "--linger", "2s"];
    let mut brokers = Brokers::start(&flags);
    let mut leave = (
        brokers.mqtt(Version::V5, 1),
        brokers.mqtt(Version::V311, 1),
        brokers.amqp(1),
    );
    let mut stays = brokers.amqp(2);
    brokers.sidecar.signal("TERM");
    mqtt_hears_goodbye(&mut leave.0, Version::V5);
    mqtt_hears_goodbye(&mut leave.1, Version::V311);
    amqp_hears_goodbye(&mut leave.2);
    leave.2.send(close());
    drop(leave);
    amqp_hears_goodbye(&mut stays);
    assert_eq!(brokers.sidecar.wait().code(), Some(1));
}

#[test]
fn a_second_signal_cuts_a_crowd_at_once() {
    let flags = ["--drain-timeout", "1h", "--linger", "1h"];
    let mut brokers = Brokers::start(&flags);
    let crowd: Vec<_> = (0..CROWD)
        .map(|number| {
            let v3 = brokers.mqtt(Version::V311, number);
            (v3, brokers.amqp(number))
        })
        .collect();
    brokers.sidecar.signal("TERM");
    brokers
        .sidecar
        .metric_becomes("sizegate_draining", &[], 1.0);
    brokers.sidecar.signal("TERM");
    assert_eq!(brokers.sidecar.wait().code(), Some(1));
    for (mut v3, mut amqp) in crowd {
        v3.expect_gone("the end");
        amqp.expect_gone("the end without a word");
    }
}
