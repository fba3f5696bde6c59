//! Conversations of AMQP 0-9-1.

use parsers::Parsed;
use parsers::amqp091::{
    Ack, Cancel, Channel, Close, ConnectionOpen, Consume, Deliver, Get, GetOk, Method, Publish,
    Reject, Return, StartOk, Table, Tune, Version, encode, frame_header, method,
};

use super::laws::Dialect;
use super::scene::Scene;
use super::{Script, Side};

/// AMQP 0-9-1, and 0-9 and 0-8 as far as they are the same.
pub(super) const DIALECT: Dialect = Dialect {
    name: "amqp091",
    greet,
    word,
    leaves,
    frame_len: |_, octets| match octets.first() {
        Some(b'A') => (octets.len() >= 8).then_some(8),
        _ => match frame_header(octets) {
            Ok(Parsed::Value(header)) => Some(header.frame_len()),
            _ => None,
        },
    },
    hurries: |_| false,
    steady: <[u8]>::to_vec,
    // Of a body, and of what is no message in a dry run, the end is not awaited.
    passes_in_part: true,
    most_awaited: 0,
};

/// As many of the words of a beginning as are chosen.
fn greet(scene: &mut Scene, script: &mut Script<'_>) {
    let how = script.octet();
    let tune = Tune {
        channel_max: 0,
        frame_max: if how & 0x10 == 0 { 4_096 } else { 0 },
        heartbeat: if how & 0x20 == 0 { 0 } else { 10 },
    };
    let version: &[u8] = match how & 0x40 {
        0 => b"\0\0\x09\x01",
        _ => b"\x01\x01\x08\0",
    };
    let steps = [
        (Side::Client, BEGIN),
        (Side::Broker, BEGIN),
        (Side::Client, BEGIN + 1),
        (Side::Broker, BEGIN + 1),
        (Side::Client, BEGIN + 2),
        (Side::Client, BEGIN + 3),
        (Side::Broker, BEGIN + 3),
        (Side::Client, OPEN_CHANNELS),
        (Side::Broker, OPEN_CHANNELS),
    ];
    for (side, what) in &steps[..usize::from(how & 0xF).min(steps.len())] {
        scene.says(*side, |out| beginning(*side, *what, version, tune, out));
        // Pipelined or step by step.
        if how & 0x80 == 0 {
            scene.send(*side, usize::MAX);
        }
    }
}

fn beginning(side: Side, what: u8, version: &[u8], tune: Tune, out: &mut Vec<u8>) {
    match (side, what) {
        (Side::Client, BEGIN) => {
            out.extend_from_slice(b"AMQP");
            out.extend_from_slice(version);
        }
        (Side::Broker, BEGIN) => encode::connection_start(out, "PLAIN AMQPLAIN", "en_US"),
        (Side::Client, START) => {
            let start_ok = StartOk {
                client_properties: Table(b"\x0Fconnection_nameS\0\0\0\x06client"),
                mechanism: b"PLAIN",
                response: b"\0alice\0secret",
                locale: b"en_US",
            };
            encode::connection_start_ok(out, &start_ok);
        }
        (Side::Broker, START) => encode::connection_tune(out, &tune),
        (_, TUNE) => encode::connection_tune_ok(out, &tune),
        (Side::Client, OPEN) => {
            let open = ConnectionOpen {
                virtual_host: b"prod",
            };
            encode::connection_open(out, &open);
        }
        (Side::Broker, OPEN) => encode::connection_open_ok(out),
        (Side::Client, _) => {
            for channel in CHANNELS {
                encode::channel_open(out, channel);
            }
        }
        (Side::Broker, _) => {
            for channel in CHANNELS {
                encode::channel_open_ok(out, channel);
            }
        }
    }
}

fn word(side: Side, what: u8, script: &mut Script<'_>, out: &mut Vec<u8>) {
    let channel = Channel(u16::from(what & 1) + 1);
    match (what >> 1, side) {
        (0..6, Side::Client) => {
            publish(what, channel, script, out);
            content(what, channel, script, out);
        }
        (0..6, Side::Broker) => {
            delivery(what, channel, script, out);
            content(what, channel, script, out);
        }
        (6, Side::Client) => publish(0, channel, script, out),
        (6, Side::Broker) => delivery(0, channel, script, out),
        (7, _) => {
            let size = [u64::from(script.octet()), u64::MAX, 1 << 32][usize::from(what & 1)];
            encode::content_header(out, channel, size, &[0, 0]);
        }
        (8, _) => encode::body(out, channel, script.octets(usize::from(what))),
        (9 | 10, _) => {
            let ack = Ack {
                delivery_tag: script.number().into(),
                multiple: script.is(),
            };
            match what >> 1 {
                9 => encode::basic_ack(out, channel, &ack),
                _ => encode::basic_nack(out, channel, &ack),
            }
        }
        (11, _) => {
            let reject = Reject {
                delivery_tag: script.number().into(),
                requeue: script.is(),
            };
            encode::basic_reject(out, channel, &reject);
        }
        (12, Side::Client) => encode::confirm_select(out, channel, script.is()),
        (12, Side::Broker) => encode::confirm_select_ok(out, channel),
        (13, Side::Client) => encode::channel_open(out, channel),
        (13, Side::Broker) => encode::channel_open_ok(out, channel),
        (14, _) => encode::channel_close(out, channel, &CLOSE),
        (15, _) => encode::channel_close_ok(out, channel),
        (16, _) if what & 1 == 0 => encode::connection_close(out, Version::V091, &CLOSE),
        (16, _) => encode::connection_close_ok(out, Version::V091),
        (17, Side::Client) => {
            let consume = Consume {
                queue: b"q",
                consumer_tag: script.one_of(&[b"c", b"d", b""]),
                no_ack: script.is(),
                no_wait: script.is(),
            };
            encode::basic_consume(out, channel, &consume);
        }
        (17, Side::Broker) => {
            encode::basic_consume_ok(out, channel, script.one_of(&[b"c", b"d", b""]));
        }
        (18, Side::Client) => {
            let cancel = Cancel {
                consumer_tag: script.one_of(&[b"c", b"d", b""]),
                no_wait: script.is(),
            };
            encode::basic_cancel(out, channel, &cancel);
        }
        (18, Side::Broker) => {
            encode::basic_cancel_ok(out, channel, script.one_of(&[b"c", b"d", b""]));
        }
        (19, Side::Client) => {
            let get = Get {
                queue: b"q",
                no_ack: script.is(),
            };
            encode::basic_get(out, channel, &get);
        }
        (19, Side::Broker) => encode::basic_get_empty(out, channel),
        // The methods of tx, and any other one.
        (20, _) => method_frame(channel, 90, 10 + u16::from(script.octet() % 24), &[], out),
        (21, _) => {
            let (class, number) = (script.octet().into(), script.octet().into());
            method_frame(channel, class, number, script.octets(8), out);
        }
        (22, _) => encode::heartbeat(out),
        _ => frame(
            script.octet(),
            Channel(script.number() as u16),
            script.octets(24),
            out,
        ),
    }
}

fn publish(what: u8, channel: Channel, script: &mut Script<'_>, out: &mut Vec<u8>) {
    let bits = script.octet();
    let publish = Publish {
        exchange: b"a",
        routing_key: if what & 2 == 0 { b"b" } else { b"" },
        mandatory: bits & 1 != 0,
        immediate: bits & 2 != 0,
    };
    encode::basic_publish(out, channel, &publish);
}

fn delivery(what: u8, channel: Channel, script: &mut Script<'_>, out: &mut Vec<u8>) {
    let delivery_tag = script.number().into();
    let (exchange, routing_key): (&[u8], &[u8]) = (b"a", b"b");
    match what >> 1 {
        0..4 => {
            let deliver = Deliver {
                consumer_tag: script.one_of(&[b"c", b"d", b""]),
                delivery_tag,
                redelivered: false,
                exchange,
                routing_key,
            };
            encode::basic_deliver(out, channel, &deliver);
        }
        4 => {
            let get_ok = GetOk {
                delivery_tag,
                redelivered: false,
                exchange,
                routing_key,
                message_count: 0,
            };
            encode::basic_get_ok(out, channel, &get_ok);
        }
        _ => {
            let returned = Return {
                reply_code: 312,
                reply_text: b"NO_ROUTE",
                exchange,
                routing_key,
            };
            encode::basic_return(out, channel, &returned);
        }
    }
}

/// A content header and body frames; the last one may be missing.
fn content(what: u8, channel: Channel, script: &mut Script<'_>, out: &mut Vec<u8>) {
    let (size, piece_len) = (script.octet(), script.octet());
    encode::content_header(out, channel, size.into(), &[0, 0]);
    let body = vec![b'b'; usize::from(size)];
    let pieces = body.chunks(usize::from(piece_len).max(20));
    let missing = usize::from(what >> 1 == 2);
    for piece in pieces.clone().take(pieces.len().saturating_sub(missing)) {
        encode::body(out, channel, piece);
    }
}

fn method_frame(channel: Channel, class: u16, number: u16, arguments: &[u8], out: &mut Vec<u8>) {
    let id = [class.to_be_bytes(), number.to_be_bytes()].concat();
    frame(1, channel, &[&id, arguments].concat(), out);
}

fn frame(frame_type: u8, channel: Channel, payload: &[u8], out: &mut Vec<u8>) {
    out.push(frame_type);
    out.extend(channel.0.to_be_bytes());
    out.extend((payload.len() as u32).to_be_bytes());
    out.extend_from_slice(payload);
    out.push(0xCE);
}

/// After connection.close the rest is thrown away (AMQP 0-9-1 §1.4.2.9); a protocol header of the broker
/// says that it will not talk.
fn leaves(side: Side, said: &[u8]) -> bool {
    let mut rest = said;
    if rest.starts_with(b"AMQP") {
        if side == Side::Broker {
            return true;
        }
        rest = rest.get(8..).unwrap_or_default();
    }
    while let Ok(Parsed::Value(header)) = frame_header(rest) {
        let Ok(Parsed::Value(octets)) = header.whole(rest) else {
            return false;
        };
        for version in [Version::V091, Version::V08] {
            if header.channel == Channel(0)
                && let Ok(Method::ConnectionClose(_) | Method::ConnectionCloseOk) =
                    method(version, &header, octets)
            {
                return true;
            }
        }
        rest = rest.get(header.frame_len()..).unwrap_or_default();
    }
    false
}

const CHANNELS: [Channel; 2] = [Channel(1), Channel(2)];
const CLOSE: Close<'_> = Close {
    reply_code: 200,
    reply_text: b"bye",
    failed: (0, 0),
};
/// The words of a beginning.
const BEGIN: u8 = 0;
const START: u8 = BEGIN + 1;
const TUNE: u8 = BEGIN + 2;
const OPEN: u8 = BEGIN + 3;
const OPEN_CHANNELS: u8 = BEGIN + 4;
