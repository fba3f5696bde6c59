//! What holds for all frames: cuts, garbage, encoders, and the short way through a message.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![4 => vec(any::<u8>(), 0..20), 1 => vec(any::<u8>(), 250..=255)]
}

fn channel() -> impl Strategy<Value = Channel> {
    prop_oneof![0..4_u16, any::<u16>()].prop_map(Channel)
}

/// A message in the common form, or nearly.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let body = vec(any::<u8>(), 0..40);
    let flaws = (0..6_usize, any::<prop::sample::Index>(), any::<u8>());
    (channel(), text(), text(), any::<u64>(), body, flaws).prop_map(
        |(channel, exchange, routing_key, number, body, (flaw, at, octet))| {
            let mut octets = Vec::new();
            if number % 2 == 0 {
                let publish = Publish {
                    exchange: &exchange,
                    routing_key: &routing_key,
                    mandatory: number % 4 == 0,
                    immediate: number % 8 == 0,
                };
                encode::basic_publish(&mut octets, channel, &publish);
            } else {
                let deliver = Deliver {
                    consumer_tag: &routing_key,
                    delivery_tag: number,
                    redelivered: number % 3 == 0,
                    exchange: &exchange,
                    routing_key: &routing_key,
                };
                encode::basic_deliver(&mut octets, channel, &deliver);
            }
            encode::content_header(&mut octets, channel, body.len() as u64, &[0, 0]);
            if !body.is_empty() {
                encode::body(&mut octets, channel, &body);
            }
            match flaw {
                0 => octets.truncate(at.index(octets.len())),
                1 | 2 => {
                    let at = at.index(octets.len());
                    octets[at] = octet;
                }
                3 => octets.push(octet),
                _ => {}
            }
            octets
        },
    )
}

/// The same message by the general parsers, if it is whole and has just three frames.
fn by_the_general_way(input: &[u8]) -> Option<Common<'_>> {
    let whole = |input| -> Option<(FrameHeader, &[u8], &[u8])> {
        let Ok(Parsed::Value(header)) = frame_header(input) else {
            return None;
        };
        let Ok(Parsed::Value(frame)) = header.whole(input) else {
            return None;
        };
        Some((header, frame, &input[frame.len()..]))
    };
    let (first, frame, rest) = whole(input)?;
    if first.frame_type != FrameType::Method {
        return None;
    }
    let method = match method(Version::V091, &first, frame) {
        Ok(Method::BasicPublish(publish)) => CommonMethod::Publish(publish),
        Ok(Method::BasicDeliver(deliver)) => CommonMethod::Deliver(deliver),
        _ => return None,
    };
    let (second, frame, rest) = whole(rest)?;
    if second.frame_type != FrameType::Header || second.channel != first.channel {
        return None;
    }
    let Ok(Parsed::Value(content)) = content_header(&second, frame) else {
        return None;
    };
    let body_size = content.body_size as usize;
    if body_size > 0 {
        let (third, _, _) = whole(rest)?;
        if third.frame_type != FrameType::Body
            || third.channel != first.channel
            || third.payload_len() != body_size
        {
            return None;
        }
    }
    Some(Common {
        channel: first.channel,
        method,
        method_len: first.frame_len(),
        header_len: second.frame_len(),
        body_size,
    })
}

/// Reads a method frame of what an encoder has written.
fn written(write: impl FnOnce(&mut Vec<u8>)) -> (Channel, Vec<u8>) {
    let mut frame = Vec::new();
    write(&mut frame);
    let header = header_of(&frame);
    assert_eq!(header.whole(&frame), Ok(Parsed::Value(&frame[..])));
    assert_eq!(header.frame_len(), frame.len());
    (header.channel, frame)
}

/// Checks that what is written on a channel is read as it was meant.
fn check(its: Channel, write: impl FnOnce(&mut Vec<u8>), expected: Method<'_>) {
    let (on, frame) = written(write);
    assert_eq!(on, its);
    assert_eq!(read(&frame), Ok(expected));
}

type Texts = (Vec<u8>, Vec<u8>, Vec<u8>);

fn undone_of_the_connection((one, two, three): &Texts, number: u64, code: u16) {
    use encode as e;
    let zero = Channel(0);
    let close = Close {
        reply_code: code,
        reply_text: one,
        failed: (code, !code),
    };
    let read = Method::ConnectionClose(close);
    check(
        zero,
        |out| e::connection_close(out, Version::V091, &close),
        read,
    );
    let read = Method::ConnectionCloseOk;
    check(zero, |out| e::connection_close_ok(out, Version::V091), read);
    let tune = Tune {
        channel_max: code,
        frame_max: number as u32,
        heartbeat: !code,
    };
    check(
        zero,
        |out| e::connection_tune(out, &tune),
        Method::ConnectionTune(tune),
    );
    check(
        zero,
        |out| e::connection_tune_ok(out, &tune),
        Method::ConnectionTuneOk(tune),
    );
    let open = ConnectionOpen { virtual_host: one };
    check(
        zero,
        |out| e::connection_open(out, &open),
        Method::ConnectionOpen(open),
    );
    check(zero, e::connection_open_ok, Method::ConnectionOpenOk);
    let start_ok = StartOk {
        client_properties: Table(three),
        mechanism: one,
        response: two,
        locale: b"en_US",
    };
    let read = Method::ConnectionStartOk(start_ok);
    check(zero, |out| e::connection_start_ok(out, &start_ok), read);
}

fn undone_of_channels(
    channel: Channel,
    (one, two, three): &Texts,
    number: u64,
    code: u16,
    (yes, no): (bool, bool),
) {
    use Method as M;
    use encode as e;
    let close = Close {
        reply_code: code,
        reply_text: one,
        failed: (code, !code),
    };
    let check = |write: &dyn Fn(&mut Vec<u8>), read| check(channel, write, read);
    check(&|out| e::channel_open(out, channel), M::ChannelOpen);
    check(&|out| e::channel_open_ok(out, channel), M::ChannelOpenOk);
    check(
        &|out| e::channel_close(out, channel, &close),
        M::ChannelClose(close),
    );
    check(&|out| e::channel_close_ok(out, channel), M::ChannelCloseOk);
    let returned = Return {
        reply_code: code,
        reply_text: one,
        exchange: two,
        routing_key: three,
    };
    check(
        &|out| e::basic_return(out, channel, &returned),
        M::BasicReturn(returned),
    );
    let publish = Publish {
        exchange: two,
        routing_key: three,
        mandatory: yes,
        immediate: no,
    };
    check(
        &|out| e::basic_publish(out, channel, &publish),
        M::BasicPublish(publish),
    );
    let deliver = Deliver {
        consumer_tag: one,
        delivery_tag: number,
        redelivered: yes,
        exchange: two,
        routing_key: three,
    };
    check(
        &|out| e::basic_deliver(out, channel, &deliver),
        M::BasicDeliver(deliver),
    );
    let get_ok = GetOk {
        delivery_tag: number,
        redelivered: yes,
        exchange: two,
        routing_key: three,
        message_count: code.into(),
    };
    check(
        &|out| e::basic_get_ok(out, channel, &get_ok),
        M::BasicGetOk(get_ok),
    );
    let get = Get {
        queue: one,
        no_ack: no,
    };
    check(&|out| e::basic_get(out, channel, &get), M::BasicGet(get));
    check(&|out| e::basic_get_empty(out, channel), M::BasicGetEmpty);
    let consume = Consume {
        queue: one,
        consumer_tag: two,
        no_ack: yes,
        no_wait: no,
    };
    check(
        &|out| e::basic_consume(out, channel, &consume),
        M::BasicConsume(consume),
    );
    check(
        &|out| e::basic_consume_ok(out, channel, two),
        M::BasicConsumeOk(two),
    );
    let cancel = Cancel {
        consumer_tag: two,
        no_wait: no,
    };
    check(
        &|out| e::basic_cancel(out, channel, &cancel),
        M::BasicCancel(cancel),
    );
    check(
        &|out| e::basic_cancel_ok(out, channel, two),
        M::BasicCancelOk(two),
    );
    let ack = Ack {
        delivery_tag: number,
        multiple: yes,
    };
    check(&|out| e::basic_ack(out, channel, &ack), M::BasicAck(ack));
    check(&|out| e::basic_nack(out, channel, &ack), M::BasicNack(ack));
    let reject = Reject {
        delivery_tag: number,
        requeue: no,
    };
    check(
        &|out| e::basic_reject(out, channel, &reject),
        M::BasicReject(reject),
    );
    let select = M::ConfirmSelect { no_wait: yes };
    check(&|out| e::confirm_select(out, channel, yes), select);
    check(
        &|out| e::confirm_select_ok(out, channel),
        M::ConfirmSelectOk,
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_short_way_finds_what_the_general_one_does(octets in message()) {
        prop_assert_eq!(common_content(&octets), by_the_general_way(&octets));
    }

    #[test]
    fn whatever_the_octets_are_nothing_panics(
        octets in vec(prop_oneof![any::<u8>(), 0..4_u8, Just(60), Just(0xCE)], 0..60),
    ) {
        common_content(&octets);
        if let Ok(Parsed::Value(header)) = frame_header(&octets) {
            let _ = header.whole(&octets);
            let _ = content_header(&header, &octets);
            for version in [Version::V091, Version::V08] {
                let _ = method(version, &header, &octets);
            }
        }
        Table(&octets).longstr(b"name");
        for mechanism in [Mechanism::Plain, Mechanism::AmqPlain, Mechanism::External] {
            identity(mechanism, &octets);
        }
    }

    #[test]
    fn a_part_of_a_frame_is_read_as_the_whole_or_not_yet(octets in message()) {
        let Ok(Parsed::Value(header)) = frame_header(&octets) else {
            return Ok(());
        };
        let whole = (header.whole(&octets), content_header(&header, &octets));
        for cut in 0..octets.len() {
            let part = &octets[..cut];
            match frame_header(part) {
                Ok(Parsed::NeedMore(more)) => {
                    prop_assert!(cut < more && more <= 7);
                    continue;
                }
                read => prop_assert_eq!(read, Ok(Parsed::Value(header))),
            }
            match header.whole(part) {
                Ok(Parsed::NeedMore(more)) => prop_assert!(cut < more && more == header.frame_len()),
                read => prop_assert_eq!(read, whole.0),
            }
            match content_header(&header, part) {
                Ok(Parsed::NeedMore(more)) => prop_assert!(cut < more && more <= 19),
                read => prop_assert_eq!(read, whole.1),
            }
        }
    }

    #[test]
    fn decoding_undoes_encoding(
        channel in channel(),
        texts in (text(), text(), text()),
        (number, code) in (any::<u64>(), any::<u16>()),
        bits in (any::<bool>(), any::<bool>()),
    ) {
        undone_of_the_connection(&texts, number, code);
        undone_of_channels(channel, &texts, number, code, bits);
        let (on, header) = written(|out| encode::content_header(out, channel, number, &[0, 0]));
        prop_assert_eq!(on, channel);
        let content = Parsed::Value(ContentHeader { body_size: number });
        prop_assert_eq!(content_header(&header_of(&header), &header), Ok(content));
    }
}
