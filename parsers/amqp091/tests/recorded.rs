//! Conversations of client libraries with RabbitMQ, as they were on the wire.

use super::*;

const PIKA_CLIENT: &[u8] = include_bytes!("../../testdata/amqp091/pika-client.bin");
const PIKA_SERVER: &[u8] = include_bytes!("../../testdata/amqp091/pika-server.bin");
const AMQPLIB_CLIENT: &[u8] = include_bytes!("../../testdata/amqp091/amqplib-client.bin");
const AMQPLIB_SERVER: &[u8] = include_bytes!("../../testdata/amqp091/amqplib-server.bin");

/// The methods of a stream, each with the size and the octets of its content if it has one.
fn walk(stream: &[u8]) -> Vec<(Method<'_>, Option<(u64, usize)>)> {
    let mut methods: Vec<(Method<'_>, Option<(u64, usize)>)> = Vec::new();
    let mut rest = stream;
    if let Parsed::Value(Some(header)) = protocol_header(rest) {
        assert_eq!(header, ProtocolHeader::AMQP);
        rest = &rest[ProtocolHeader::LEN..];
    }
    while !rest.is_empty() {
        let header = header_of(rest);
        let Ok(Parsed::Value(frame)) = header.whole(rest) else {
            panic!("{} octets are left", rest.len());
        };
        rest = &rest[frame.len()..];
        let last = methods.last_mut();
        match header.frame_type {
            FrameType::Method => methods.push((read(frame).unwrap(), None)),
            FrameType::Heartbeat => {}
            FrameType::Header => {
                let Ok(Parsed::Value(content)) = content_header(&header, frame) else {
                    panic!("no content header");
                };
                last.expect("a method").1 = Some((content.body_size, 0));
            }
            FrameType::Body => {
                let (_, Some((_, octets))) = last.expect("a method") else {
                    panic!("no content header");
                };
                *octets += header.payload_len();
            }
        }
    }
    methods
}

/// Exchange, routing key, size and mandatory of what a stream publishes.
fn published(stream: &[u8]) -> Vec<(String, String, u64, bool)> {
    let text = |octets: &[u8]| String::from_utf8(octets.to_vec()).unwrap();
    let publish = |(method, content): (Method<'_>, Option<(u64, usize)>)| match method {
        Method::BasicPublish(publish) => {
            let (exchange, key) = (text(publish.exchange), text(publish.routing_key));
            Some((exchange, key, content.unwrap().0, publish.mandatory))
        }
        _ => None,
    };
    walk(stream).into_iter().filter_map(publish).collect()
}

#[test]
fn the_frames_of_recorded_streams_follow_each_other() {
    for stream in [PIKA_CLIENT, PIKA_SERVER, AMQPLIB_CLIENT, AMQPLIB_SERVER] {
        let methods = walk(stream);
        for (method, content) in &methods {
            let (size, octets) = content.unwrap_or_default();
            assert_eq!(size, octets as u64, "{method:?}");
        }
        let (last, _) = methods.last().unwrap();
        assert!(matches!(
            last,
            Method::ConnectionClose(_) | Method::ConnectionCloseOk
        ));
    }
}

#[test]
fn recorded_clients_say_who_they_are_and_agree_upon_frames() {
    for (client, server) in [(PIKA_CLIENT, PIKA_SERVER), (AMQPLIB_CLIENT, AMQPLIB_SERVER)] {
        let methods = walk(client);
        let Method::ConnectionStartOk(start_ok) = methods[0].0 else {
            panic!("no start-ok: {:?}", methods[0]);
        };
        let mechanism = Mechanism::named(start_ok.mechanism);
        assert_eq!(mechanism, Mechanism::Plain);
        assert_eq!(identity(mechanism, start_ok.response), Some("guest"));
        let name = start_ok.client_properties.longstr(b"connection_name");
        assert_eq!(name, Some(&b"recorder"[..]));
        let Method::ConnectionTuneOk(tune) = methods[1].0 else {
            panic!("no tune-ok: {:?}", methods[1]);
        };
        assert_eq!((tune.frame_max, tune.heartbeat), (4_096, 10));
        let open = ConnectionOpen { virtual_host: b"/" };
        assert_eq!(methods[2].0, Method::ConnectionOpen(open));
        let answers = walk(server);
        let answers: Vec<_> = answers.iter().take(4).map(|(method, _)| *method).collect();
        assert!(matches!(
            answers[..],
            [
                Method::ConnectionStart,
                Method::ConnectionTune(_),
                Method::ConnectionOpenOk,
                Method::ChannelOpenOk
            ]
        ));
    }
}

#[test]
fn recorded_publishes_name_their_addresses_and_sizes() {
    let row = |exchange: &str, key: &str, size, mandatory| {
        (exchange.to_owned(), key.to_owned(), size, mandatory)
    };
    let pika = [
        row("", "orders-pika", 5, true),
        row("", "orders-pika", 9_000, false),
        row("amq.topic", "eu.orders", 0, false),
        row("amq.topic", "nowhere", 4, true),
    ];
    assert_eq!(published(PIKA_CLIENT), pika);
    let amqplib = [5, 9_000].map(|size| row("", "orders-amqplib", size, false));
    assert_eq!(published(AMQPLIB_CLIENT), amqplib);
}

#[test]
fn recorded_brokers_confirm_return_and_deliver() {
    let confirms = |stream| -> Vec<u64> {
        let acks = walk(stream)
            .into_iter()
            .filter_map(|(method, _)| match method {
                Method::BasicAck(ack) => Some(ack.delivery_tag),
                _ => None,
            });
        acks.collect()
    };
    assert_eq!(confirms(PIKA_SERVER), [1, 2, 3, 4]);
    assert_eq!(confirms(AMQPLIB_SERVER), [1, 2]);
    let has = |stream, what: &dyn Fn(&Method<'_>, u64) -> bool| {
        let all = walk(stream);
        let mut all = all.iter();
        all.any(|(method, content)| what(method, content.unwrap_or_default().0))
    };
    let no_route = |method: &Method<'_>, size| matches!(method, Method::BasicReturn(it) if it.reply_code == 312 && size == 4);
    assert!(has(PIKA_SERVER, &no_route));
    for stream in [PIKA_SERVER, AMQPLIB_SERVER] {
        let got = |method: &Method<'_>, size| matches!(method, Method::BasicGetOk(it) if it.delivery_tag == 1 && size == 5);
        assert!(has(stream, &got));
        let delivered = |method: &Method<'_>, size| matches!(method, Method::BasicDeliver(it) if it.delivery_tag == 2 && size == 9_000);
        assert!(has(stream, &delivered));
    }
}

#[test]
fn recorded_messages_of_one_frame_have_the_common_form() {
    for (stream, expected) in [
        (PIKA_CLIENT, vec![5, 0, 4]),
        (AMQPLIB_CLIENT, vec![5]),
        // What comes back or was asked for is not common, and 9000 octets take several frames.
        (PIKA_SERVER, vec![]),
    ] {
        let starts = 0..stream.len();
        let common = starts.filter_map(|at| common_content(&stream[at..]));
        let sizes: Vec<_> = common.map(|common| common.body_size).collect();
        assert_eq!(sizes, expected);
    }
}
