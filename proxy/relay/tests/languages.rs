//! Each protocol in as many words as a test of the relay needs.

use parsers::amqp10::{Open, encode as v10};
use parsers::amqp091::{Channel, ConnectionOpen, Publish, StartOk, Table, Tune, encode as v091};

use super::*;

/// How peers of one protocol begin, and what they may say at any time from then on.
pub(super) struct Language {
    /// The protocol as metrics name it.
    pub(super) protocol: &'static str,
    /// What is said until the broker has accepted the client, in turns.
    pub(super) greeting: Vec<(Side, Vec<u8>)>,
    /// Octets that either side may send and that pass as they are.
    pub(super) traffic: Vec<u8>,
    /// Octets of the client that are kept from the broker, and that it is answered.
    pub(super) refused: Vec<u8>,
}

impl Language {
    /// MQTT 5.0, AMQP 0-9-1 and, without anything that is refused, AMQP 1.0.
    pub(super) fn all() -> [Self; 3] {
        [Self::mqtt(), Self::amqp091(), Self::amqp10()]
    }

    /// Those in which a message that is refused needs no more than one link or channel.
    pub(super) fn that_refuse() -> [Self; 2] {
        [Self::mqtt(), Self::amqp091()]
    }

    fn mqtt() -> Self {
        Self {
            protocol: "mqtt",
            greeting: vec![
                (Side::Client, CONNECT_V5.to_vec()),
                (Side::Broker, CONNACK_V5.to_vec()),
            ],
            traffic: SMALL.to_vec(),
            refused: large(),
        }
    }

    fn amqp10() -> Self {
        let open = Open {
            container_id: "c",
            hostname: None,
            max_frame_size: 4_096,
            channel_max: parsers::amqp10::Channel(16),
            idle_time_out: None,
        };
        let open = written(|out| v10::open(out, &open));
        Self {
            protocol: "amqp10",
            greeting: vec![
                (Side::Client, b"AMQP\0\x01\0\0".to_vec()),
                (Side::Broker, b"AMQP\0\x01\0\0".to_vec()),
                (Side::Client, open.clone()),
                (Side::Broker, open),
            ],
            traffic: written(v10::empty_frame),
            refused: Vec::new(),
        }
    }

    fn amqp091() -> Self {
        let start_ok = StartOk {
            client_properties: Table(b""),
            mechanism: b"PLAIN",
            response: b"\0alice\0secret",
            locale: b"en_US",
        };
        let tune = Tune {
            channel_max: 16,
            frame_max: 4_096,
            heartbeat: 0,
        };
        let open = ConnectionOpen {
            virtual_host: b"prod",
        };
        let publish = Publish {
            exchange: b"",
            routing_key: b"t",
            mandatory: true,
            immediate: false,
        };
        let channel = Channel(1);
        let client = |write: &dyn Fn(&mut Vec<u8>)| (Side::Client, written(write));
        let broker = |write: &dyn Fn(&mut Vec<u8>)| (Side::Broker, written(write));
        Self {
            protocol: "amqp091",
            greeting: vec![
                (Side::Client, b"AMQP\0\0\x09\x01".to_vec()),
                broker(&|out| v091::connection_start(out, "PLAIN", "en_US")),
                client(&|out| v091::connection_start_ok(out, &start_ok)),
                broker(&|out| v091::connection_tune(out, &tune)),
                client(&|out| v091::connection_tune_ok(out, &tune)),
                client(&|out| v091::connection_open(out, &open)),
                broker(&v091::connection_open_ok),
                client(&|out| v091::channel_open(out, channel)),
                broker(&|out| v091::channel_open_ok(out, channel)),
            ],
            traffic: written(v091::heartbeat),
            refused: written(|out| {
                v091::basic_publish(out, channel, &publish);
                v091::content_header(out, channel, 600, b"\0\0");
                v091::body(out, channel, &[b'b'; 600]);
            }),
        }
    }

    /// A relay whose client and broker have greeted each other.
    pub(super) async fn greeted(&self, setting: Setting) -> (Bench, DuplexStream) {
        let mut bench = setting.start();
        let mut broker = None;
        for (side, octets) in &self.greeting {
            if *side == Side::Client {
                bench.client.write_all(octets).await.unwrap();
                if broker.is_none() {
                    broker = bench.broker.recv().await;
                }
                expect(broker.as_mut().unwrap(), octets).await;
            } else {
                broker.as_mut().unwrap().write_all(octets).await.unwrap();
                expect(&mut bench.client, octets).await;
            }
        }
        (bench, broker.unwrap())
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut octets = Vec::new();
    write(&mut octets);
    octets
}
