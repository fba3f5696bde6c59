//! Conversations of client libraries, as they were on the wire.

use super::*;

const PROTON_CLIENT: &[u8] = include_bytes!("../../testdata/amqp10/proton-client.bin");
const PROTON_SERVER: &[u8] = include_bytes!("../../testdata/amqp10/proton-server.bin");
const RHEA_CLIENT: &[u8] = include_bytes!("../../testdata/amqp10/rhea-client.bin");
const RHEA_SERVER: &[u8] = include_bytes!("../../testdata/amqp10/rhea-server.bin");
const PROTON_MESSAGES: &[u8] = include_bytes!("../../testdata/amqp10/messages/proton.bin");
const RHEA_MESSAGES: &[u8] = include_bytes!("../../testdata/amqp10/messages/rhea.bin");
const FE2O3_MESSAGES: &[u8] = include_bytes!("../../testdata/amqp10/messages/fe2o3.bin");

/// The performatives of a stream after its protocol headers, each with its frame.
fn walk(stream: &[u8]) -> Vec<(Performative<'_>, &[u8])> {
    let mut frames = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        if let Parsed::Value(Some(header)) = protocol_header(rest) {
            assert!(matches!(
                header.protocol(),
                Protocol::Sasl | Protocol::Amqp10
            ));
            rest = &rest[ProtocolHeader::LEN..];
            continue;
        }
        let Ok(Parsed::Value(header)) = frame_header(rest) else {
            panic!("{} octets are left", rest.len());
        };
        let frame = &rest[..header.frame_len()];
        rest = &rest[header.frame_len()..];
        if !header.is_empty() {
            frames.push((read(frame).unwrap(), frame));
        }
    }
    frames
}

fn descriptors(stream: &[u8]) -> Vec<Descriptor> {
    walk(stream)
        .iter()
        .map(|(read, _)| read.descriptor)
        .collect()
}

#[test]
fn the_frames_of_recorded_streams_follow_each_other() {
    use Descriptor as D;
    let client = [D::SaslInit, D::Open, D::Begin, D::Attach, D::Attach];
    let transfers = [D::Transfer, D::Transfer, D::Transfer];
    let proton = [&client[..], &transfers, &[D::Transfer, D::Close]].concat();
    assert_eq!(descriptors(PROTON_CLIENT), proton);
    let rhea = [&client[..], &transfers, &[D::Close]].concat();
    assert_eq!(descriptors(RHEA_CLIENT), rhea);
    let server = [
        D::SaslMechanisms,
        D::SaslOutcome,
        D::Open,
        D::Begin,
        D::Attach,
        D::Flow,
    ];
    let proton = [&server[..], &[D::Attach, D::Flow, D::Disposition, D::Close]].concat();
    assert_eq!(descriptors(PROTON_SERVER), proton);
    let ends = [D::Attach, D::Disposition, D::Disposition, D::Close];
    let rhea = [&server[..], &ends].concat();
    assert_eq!(descriptors(RHEA_SERVER), rhea);
}

#[test]
fn recorded_clients_say_who_they_are_and_where_they_send() {
    for (stream, hostname, init_hostname) in [
        (PROTON_CLIENT, Some("127.0.0.1"), None),
        (RHEA_CLIENT, None, Some("127.0.0.1")),
    ] {
        let frames = walk(stream);
        let init = frames[0].0.sasl_init().unwrap();
        assert_eq!(
            (init.mechanism, init.hostname),
            (Mechanism::Plain, init_hostname)
        );
        let name = identity(init.mechanism, init.initial_response.unwrap());
        assert_eq!(name.as_deref(), Some("alice"));
        let open = frames[1].0.open().unwrap();
        assert_eq!((open.hostname, open.max_frame_size), (hostname, 512));
        let attach = frames[3].0.attach().unwrap();
        assert_eq!((attach.name, attach.role), ("to-orders", Role::Sender));
        assert_eq!(attach.target.address(), Some("orders"));
    }
}

#[test]
fn recorded_transfers_take_the_short_way() {
    for (stream, expected) in [
        (
            PROTON_CLIENT,
            &[(0, 0, false), (0, 1, true), (0, 1, false), (1, 2, false)][..],
        ),
        (RHEA_CLIENT, &[(0, 0, false), (0, 1, true), (0, 1, false)]),
    ] {
        let mut transfers = Vec::new();
        for (read, frame) in walk(stream) {
            let short = common_transfer(&read.header, frame);
            assert_eq!(short, read.transfer().ok());
            let is_whole = short.is_some_and(|it| !it.more && it.delivery_id.is_some());
            assert_eq!(whole_delivery(frame).is_some(), is_whole);
            transfers.extend(short);
        }
        let seen: Vec<_> = transfers
            .iter()
            .map(|transfer| {
                let id = transfer.delivery_id.unwrap();
                (transfer.handle.0, id, transfer.more)
            })
            .collect();
        assert_eq!(seen, expected);
    }
}

#[test]
fn recorded_messages_say_where_they_go() {
    for (stream, expected) in [
        (PROTON_CLIENT, [None, None, Some("orders/eu")]),
        (RHEA_CLIENT, [None, Some("orders/eu"), None]),
    ] {
        let mut seen = Vec::new();
        let mut first = true;
        for (read, frame) in walk(stream) {
            let Ok(transfer) = read.transfer() else {
                continue;
            };
            if first {
                let payload = &frame[transfer.payload_at..];
                seen.push(message_to(payload, payload.len(), CEILING));
            }
            first = !transfer.more;
        }
        let seen: Vec<_> = seen
            .into_iter()
            .chain([Parsed::Value(None)])
            .take(3)
            .collect();
        assert_eq!(seen, expected.map(Parsed::Value));
    }
}

#[test]
fn recorded_answers_are_read() {
    for stream in [PROTON_SERVER, RHEA_SERVER] {
        let frames = walk(stream);
        let mechanisms = frames[0].0.sasl_mechanisms().unwrap();
        let names: Vec<_> = mechanisms.collect();
        assert_eq!(names, [Mechanism::Plain, Mechanism::Anonymous]);
        assert!(frames[1].0.sasl_outcome().unwrap().is_ok());
        assert_eq!(frames[2].0.open().unwrap().container_id, "rhea-server");
        assert_eq!(
            frames[3].0.begin().unwrap().remote_channel,
            Some(Channel(0))
        );
        let flow = frames[5].0.flow().unwrap();
        assert_eq!(
            (flow.handle, flow.link_credit),
            (Some(Handle(0)), Some(1_000))
        );
        let dispositions: Vec<_> = frames
            .iter()
            .filter_map(|(read, _)| read.disposition().ok())
            .collect();
        for disposition in dispositions {
            assert_eq!(disposition.role, Role::Receiver);
            assert!(disposition.settled);
            let state = disposition.state.map(delivery_state);
            assert_eq!(state, Some(DeliveryState::Accepted));
        }
    }
}

#[test]
fn recorded_frames_are_patched_to_themselves() {
    for stream in [PROTON_CLIENT, PROTON_SERVER, RHEA_CLIENT, RHEA_SERVER] {
        for (read, frame) in walk(stream) {
            let fields: Vec<_> = read.fields().enumerate().collect();
            for changes in [&fields[..], &[]] {
                let channel = read.header.channel;
                let head = said(|out| {
                    read.patch(channel, read.payload_len(), changes, out)
                        .unwrap();
                });
                assert_eq!(head, &frame[..read.payload_at]);
            }
        }
    }
}

/// The messages of a library, each of which stands behind its length.
fn messages(mut recorded: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while let Some((len, rest)) = recorded.split_first_chunk() {
        let (message, rest) = rest.split_at(u32::from_be_bytes(*len) as usize);
        messages.push(message);
        recorded = rest;
    }
    messages
}

#[test]
fn recorded_messages_are_marked_and_the_mark_is_taken_away_again() {
    const KEY: &str = "x-opt-sizegate-presettled";
    for library in [PROTON_MESSAGES, RHEA_MESSAGES, FE2O3_MESSAGES] {
        let messages = messages(library);
        assert_eq!(messages.len(), 16);
        for (bits, message) in messages.into_iter().enumerate() {
            let Ok(Parsed::Value(found)) = annotations(message) else {
                panic!("message {bits}: {message:02X?}");
            };
            let own = (bits & 4 > 0)
                .then_some("value")
                .map(|text| said(|out| encode::string(out, text)));
            assert_eq!(found.value("x-opt-a"), own.as_deref());
            assert_eq!(found.value(KEY), None);
            let edit = found.with_true(KEY).unwrap();
            let mut marked = message.to_vec();
            marked.splice(edit.at, edit.octets);
            let Ok(Parsed::Value(found)) = annotations(&marked) else {
                panic!("message {bits}: {marked:02X?}");
            };
            assert_eq!(found.value(KEY), Some(&[0x41][..]));
            assert_eq!(found.value("x-opt-a"), own.as_deref());
            let edit = found.without(KEY).unwrap();
            marked.splice(edit.at, edit.octets);
            assert_eq!(marked, message, "message {bits}");
        }
    }
}
