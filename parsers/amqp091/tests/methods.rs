//! Every method that is read, octet for octet.

use super::*;

const CLOSE: Close<'_> = Close {
    reply_code: 311,
    reply_text: b"no",
    failed: (60, 40),
};

/// What a method looks like, as its payload in octets.
fn table() -> Vec<(&'static [u8], Method<'static>)> {
    use Method as M;
    let tune = Tune {
        channel_max: 2_047,
        frame_max: 131_072,
        heartbeat: 60,
    };
    vec![
        // version 0-9, no properties, "PLAIN", "en_US"
        (
            b"\0\x0A\0\x0A\0\x09\0\0\0\0\0\0\0\x05PLAIN\0\0\0\x05en_US",
            M::ConnectionStart,
        ),
        (
            b"\0\x0A\0\x0B\0\0\0\x05\x03keyV\x05PLAIN\0\0\0\x04\0a\0b\x05en_US",
            M::ConnectionStartOk(StartOk {
                client_properties: Table(b"\x03keyV"),
                mechanism: b"PLAIN",
                response: b"\0a\0b",
                locale: b"en_US",
            }),
        ),
        (b"\0\x0A\0\x14\0\0\0\x01?", M::ConnectionSecure),
        (b"\0\x0A\0\x15\0\0\0\x01!", M::ConnectionSecureOk),
        // channel-max, frame-max, heartbeat
        (
            b"\0\x0A\0\x1E\x07\xFF\0\x02\0\0\0\x3C",
            M::ConnectionTune(tune),
        ),
        (
            b"\0\x0A\0\x1F\x07\xFF\0\x02\0\0\0\x3C",
            M::ConnectionTuneOk(tune),
        ),
        (
            b"\0\x0A\0\x28\x01/\0\0",
            M::ConnectionOpen(ConnectionOpen { virtual_host: b"/" }),
        ),
        (b"\0\x0A\0\x29\0", M::ConnectionOpenOk),
        (
            b"\0\x0A\0\x32\x01\x37\x02no\0\x3C\0\x28",
            M::ConnectionClose(CLOSE),
        ),
        (b"\0\x0A\0\x33", M::ConnectionCloseOk),
        // connection.blocked and connection.unblocked of RabbitMQ
        (
            b"\0\x0A\0\x3C\x03low",
            M::Other(MethodId {
                class: 10,
                method: 60,
            }),
        ),
        (
            b"\0\x0A\0\x3D",
            M::Other(MethodId {
                class: 10,
                method: 61,
            }),
        ),
        (b"\0\x14\0\x0A\0", M::ChannelOpen),
        (b"\0\x14\0\x0B\0\0\0\0", M::ChannelOpenOk),
        (
            b"\0\x14\0\x14\x01",
            M::Other(MethodId {
                class: 20,
                method: 20,
            }),
        ),
        (
            b"\0\x14\0\x28\x01\x37\x02no\0\x3C\0\x28",
            M::ChannelClose(CLOSE),
        ),
        (b"\0\x14\0\x29", M::ChannelCloseOk),
        // reserved, queue, consumer-tag, bits, arguments
        (
            b"\0\x3C\0\x14\0\0\x01q\x01c\x02\0\0\0\0",
            M::BasicConsume(Consume {
                queue: b"q",
                consumer_tag: b"c",
                no_ack: true,
                no_wait: false,
            }),
        ),
        // as in 0-8: no arguments
        (
            b"\0\x3C\0\x14\0\0\x01q\0\x08",
            M::BasicConsume(Consume {
                queue: b"q",
                consumer_tag: b"",
                no_ack: false,
                no_wait: true,
            }),
        ),
        (b"\0\x3C\0\x15\x01c", M::BasicConsumeOk(b"c")),
        (
            b"\0\x3C\0\x1E\x01c\x01",
            M::BasicCancel(Cancel {
                consumer_tag: b"c",
                no_wait: true,
            }),
        ),
        (b"\0\x3C\0\x1F\x01c", M::BasicCancelOk(b"c")),
        // reserved, exchange, routing-key, bits
        (
            b"\0\x3C\0\x28\0\0\x01e\x02rk\x01",
            M::BasicPublish(Publish {
                exchange: b"e",
                routing_key: b"rk",
                mandatory: true,
                immediate: false,
            }),
        ),
        (
            b"\0\x3C\0\x28\0\0\0\0\x02",
            M::BasicPublish(Publish {
                exchange: b"",
                routing_key: b"",
                mandatory: false,
                immediate: true,
            }),
        ),
        (
            b"\0\x3C\0\x32\x01\x37\x02no\x01e\x02rk",
            M::BasicReturn(Return {
                reply_code: 311,
                reply_text: b"no",
                exchange: b"e",
                routing_key: b"rk",
            }),
        ),
        // consumer-tag, delivery-tag, redelivered, exchange, routing-key
        (
            b"\0\x3C\0\x3C\x01c\0\0\0\0\0\0\x01\x07\0\x01e\x02rk",
            M::BasicDeliver(Deliver {
                consumer_tag: b"c",
                delivery_tag: 0x107,
                redelivered: false,
                exchange: b"e",
                routing_key: b"rk",
            }),
        ),
        (
            b"\0\x3C\0\x46\0\0\x01q\x01",
            M::BasicGet(Get {
                queue: b"q",
                no_ack: true,
            }),
        ),
        (
            b"\0\x3C\0\x47\0\0\0\0\0\0\0\x07\x01\x01e\x02rk\0\0\0\x09",
            M::BasicGetOk(GetOk {
                delivery_tag: 7,
                redelivered: true,
                exchange: b"e",
                routing_key: b"rk",
                message_count: 9,
            }),
        ),
        (b"\0\x3C\0\x48\0", M::BasicGetEmpty),
        (
            b"\0\x3C\0\x50\0\0\0\0\0\0\0\x07\x01",
            M::BasicAck(Ack {
                delivery_tag: 7,
                multiple: true,
            }),
        ),
        (
            b"\0\x3C\0\x5A\0\0\0\0\0\0\0\x07\x01",
            M::BasicReject(Reject {
                delivery_tag: 7,
                requeue: true,
            }),
        ),
        // multiple is off, requeue is on
        (
            b"\0\x3C\0\x78\0\0\0\0\0\0\0\x07\x02",
            M::BasicNack(Ack {
                delivery_tag: 7,
                multiple: false,
            }),
        ),
        (b"\0\x55\0\x0A\x01", M::ConfirmSelect { no_wait: true }),
        (b"\0\x55\0\x0B", M::ConfirmSelectOk),
        (b"\0\x5A\0\x0A", M::TxSelect),
        (b"\0\x5A\0\x14", M::TxCommit),
        (b"\0\x5A\0\x1E", M::TxRollback),
        // queue.declare, and a class that nobody has
        (
            b"\0\x32\0\x0A\0\0",
            M::Other(MethodId {
                class: 50,
                method: 10,
            }),
        ),
        (
            b"\xF0\0\0\x01?",
            M::Other(MethodId {
                class: 0xF000,
                method: 1,
            }),
        ),
    ]
}

/// Methods of which the arguments are not read to their end, or not at all.
fn is_read_in_part(method: &Method<'_>) -> bool {
    use Method as M;
    matches!(
        method,
        M::ConnectionStart
            | M::ConnectionSecure
            | M::ConnectionSecureOk
            | M::ConnectionOpenOk
            | M::ConnectionCloseOk
            | M::ChannelOpen
            | M::ChannelOpenOk
            | M::ChannelCloseOk
            | M::BasicConsume(_)
            | M::BasicGetEmpty
            | M::ConfirmSelectOk
            | M::TxSelect
            | M::TxCommit
            | M::TxRollback
            | M::Other(_)
    )
}

#[test]
fn every_method_is_read() {
    for (payload, expected) in table() {
        let frame = frame(1, 1, payload);
        assert_eq!(read(&frame), Ok(expected), "{payload:02X?}");
    }
}

#[test]
fn a_method_ends_where_its_arguments_do() {
    for (payload, expected) in table() {
        let longer = frame(1, 1, &[payload, b"\0"].concat());
        let trailing = Err(fault(7 + payload.len(), Fault::TrailingOctets));
        if is_read_in_part(&expected) {
            assert_eq!(read(&longer), Ok(expected));
        } else {
            assert_eq!(read(&longer), trailing, "{expected:?}");
        }
    }
}

#[test]
fn an_argument_that_is_cut_short_is_a_fault() {
    for (payload, expected) in table() {
        for len in 4..payload.len() {
            let cut = frame(1, 1, &payload[..len]);
            match read(&cut) {
                Err(malformed) => {
                    assert_eq!(malformed.what, Fault::ArgumentBeyondEnd);
                    assert!((11..=7 + len).contains(&malformed.at), "{malformed}");
                }
                // The last argument of basic.consume is not read.
                Ok(read) if is_read_in_part(&expected) => assert_eq!(read, expected),
                Ok(read) => panic!("{len} octets of {expected:?} are {read:?}"),
            }
        }
    }
}

#[test]
fn a_method_frame_has_a_class_and_a_method() {
    for len in 0..4 {
        let short = frame(1, 0, &[0; 4][..len]);
        assert_eq!(read(&short), Err(fault(7, Fault::MethodTooShort)));
    }
}

#[test]
fn connection_close_has_another_number_in_0_8() {
    let close = frame(1, 0, b"\0\x0A\0\x3C\x01\x37\x02no\0\x3C\0\x28");
    let close_ok = frame(1, 0, b"\0\x0A\0\x3D");
    let redirect = frame(1, 0, b"\0\x0A\0\x32\x01h\0");
    let read = |frame| method(Version::V08, &header_of(frame), frame);
    assert_eq!(read(&close), Ok(Method::ConnectionClose(CLOSE)));
    assert_eq!(read(&close_ok), Ok(Method::ConnectionCloseOk));
    let other = MethodId {
        class: 10,
        method: 50,
    };
    assert_eq!(read(&redirect), Ok(Method::Other(other)));
}

#[test]
fn what_is_written_is_written_so() {
    type Write = fn(&mut Vec<u8>);
    let table: [(Write, Vec<u8>); 12] = [
        (encode::heartbeat, b"\x08\0\0\0\0\0\0\xCE".to_vec()),
        (
            |out| encode::connection_start(out, "PLAIN", "en_US"),
            frame(
                1,
                0,
                b"\0\x0A\0\x0A\0\x09\0\0\0\0\0\0\0\x05PLAIN\0\0\0\x05en_US",
            ),
        ),
        (
            |out| encode::connection_close(out, Version::V091, &CLOSE),
            frame(1, 0, b"\0\x0A\0\x32\x01\x37\x02no\0\x3C\0\x28"),
        ),
        (
            |out| encode::connection_close(out, Version::V08, &CLOSE),
            frame(1, 0, b"\0\x0A\0\x3C\x01\x37\x02no\0\x3C\0\x28"),
        ),
        (
            |out| encode::connection_close_ok(out, Version::V08),
            frame(1, 0, b"\0\x0A\0\x3D"),
        ),
        (
            |out| encode::channel_close(out, Channel(3), &CLOSE),
            frame(1, 3, b"\0\x14\0\x28\x01\x37\x02no\0\x3C\0\x28"),
        ),
        (
            |out| encode::channel_close_ok(out, Channel(3)),
            frame(1, 3, b"\0\x14\0\x29"),
        ),
        (
            |out| encode::basic_get_empty(out, Channel(3)),
            frame(1, 3, b"\0\x3C\0\x48\0"),
        ),
        (
            |out| {
                let reject = Reject {
                    delivery_tag: 7,
                    requeue: false,
                };
                encode::basic_reject(out, Channel(3), &reject);
            },
            frame(1, 3, b"\0\x3C\0\x5A\0\0\0\0\0\0\0\x07\0"),
        ),
        (
            |out| {
                let nack = Ack {
                    delivery_tag: 7,
                    multiple: false,
                };
                encode::basic_nack(out, Channel(3), &nack);
            },
            frame(1, 3, b"\0\x3C\0\x78\0\0\0\0\0\0\0\x07\0"),
        ),
        (
            |out| {
                let returned = Return {
                    reply_code: 311,
                    reply_text: b"no",
                    exchange: b"e",
                    routing_key: b"rk",
                };
                encode::basic_return(out, Channel(3), &returned);
            },
            frame(1, 3, b"\0\x3C\0\x32\x01\x37\x02no\x01e\x02rk"),
        ),
        (
            |out| encode::content_header(out, Channel(3), 0, b"\x80\0\x01t"),
            frame(2, 3, b"\0\x3C\0\0\0\0\0\0\0\0\0\0\x80\0\x01t"),
        ),
    ];
    for (write, expected) in table {
        let mut octets = vec![0xAA];
        write(&mut octets);
        assert_eq!(octets[0], 0xAA, "it is appended");
        assert_eq!(octets[1..], expected[..]);
    }
}

#[test]
fn a_text_that_is_too_long_is_cut() {
    let mut octets = Vec::new();
    let text = [b'x'; 300];
    let close = Close {
        reply_text: &text,
        ..CLOSE
    };
    encode::channel_close(&mut octets, Channel(1), &close);
    let Ok(Method::ChannelClose(close)) = read(&octets) else {
        panic!("not a close");
    };
    assert_eq!(close.reply_text, &text[..255]);
}
