//! Conversations of client libraries with RabbitMQ, as they were on the wire.

use super::*;

const STREAMS: [[&[u8]; 2]; 2] = [
    [
        include_bytes!("../../../../../parsers/testdata/amqp091/pika-client.bin"),
        include_bytes!("../../../../../parsers/testdata/amqp091/pika-server.bin"),
    ],
    [
        include_bytes!("../../../../../parsers/testdata/amqp091/amqplib-client.bin"),
        include_bytes!("../../../../../parsers/testdata/amqp091/amqplib-server.bin"),
    ],
];

#[test]
fn recorded_conversations_pass_octet_for_octet_however_they_are_cut() {
    let terms = Terms {
        limit: 9_000,
        receive_limit: 9_000,
        ..Terms::default()
    };
    for [client, server] in STREAMS {
        for len in [1, 7, 64, 4_096, usize::MAX] {
            let mut raw = Raw::new(terms);
            for (from, stream) in [(Side::Client, client), (Side::Broker, server)] {
                for piece in stream.chunks(len.min(stream.len())) {
                    raw.says(from, piece);
                }
            }
            raw.expect(Side::Broker, client);
            raw.expect(Side::Client, server);
            assert_eq!(raw.gate.meter.reports, []);
        }
    }
}

#[test]
fn in_recorded_conversations_what_is_over_the_limit_is_refused() {
    for [client, server] in STREAMS {
        let mut raw = Raw::new(Terms::default());
        raw.says(Side::Client, client);
        raw.says(Side::Broker, server);
        // Each has one message of 9000 octets, which is sent and would be delivered, when the client
        // has said all that it says and left.
        let refused = [(9_000, Action::Reject), (9_000, Action::Drop)];
        assert_eq!(raw.refused(), refused);
        assert!(raw.hears(Side::Broker).len() < client.len() - 9_000);
        assert!(raw.hears(Side::Client).len() < server.len() - 9_000);
    }
}
