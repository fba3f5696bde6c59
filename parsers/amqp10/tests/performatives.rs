//! The fields of each performative, octet for octet.

use super::build::frame;
use super::*;

#[test]
fn an_open_is_read() {
    let octets = frame(
        0x10,
        6,
        &[
            &[0xA1, 2, b'i', b'd'],    // container-id
            &[0xA1, 2, b'v', b'h'],    // hostname
            &[0x70, 0, 1, 0, 0],       // max-frame-size
            &[0x60, 0, 0xFF],          // channel-max
            &[0x70, 0, 0, 0x75, 0x30], // idle-time-out
            &[0x40],                   // outgoing-locales
        ],
    );
    let expected = Open {
        container_id: "id",
        hostname: Some("vh"),
        max_frame_size: 65_536,
        channel_max: Channel(255),
        idle_time_out: Some(30_000),
    };
    assert_eq!(read(&octets).unwrap().open(), Ok(expected));

    let short = frame(0x10, 1, &[&[0xA1, 0]]);
    let expected = Open {
        container_id: "",
        hostname: None,
        max_frame_size: 4_294_967_295,
        channel_max: Channel(65_535),
        idle_time_out: None,
    };
    assert_eq!(read(&short).unwrap().open(), Ok(expected));
}

#[test]
fn a_begin_is_read() {
    let octets = frame(
        0x11,
        5,
        &[
            &[0x60, 0, 7],                   // remote-channel
            &[0x70, 0xFF, 0xFF, 0xFF, 0xFC], // next-outgoing-id
            &[0x70, 0, 0, 1, 0x90],          // incoming-window
            &[0x52, 9],                      // outgoing-window
            &[0x52, 0xFF],                   // handle-max
        ],
    );
    let expected = Begin {
        remote_channel: Some(Channel(7)),
        next_outgoing_id: 0xFFFF_FFFC,
        incoming_window: 400,
        outgoing_window: 9,
        handle_max: Handle(255),
    };
    assert_eq!(read(&octets).unwrap().begin(), Ok(expected));
}

#[test]
fn a_flow_of_a_link_and_one_of_a_session_are_read() {
    let octets = frame(
        0x13,
        10,
        &[
            &[0x52, 1],          // next-incoming-id
            &[0x70, 0, 0, 8, 0], // incoming-window
            &[0x43],             // next-outgoing-id
            &[0x52, 2],          // outgoing-window
            &[0x43],             // handle
            &[0x52, 3],          // delivery-count
            &[0x52, 100],        // link-credit
            &[0x52, 4],          // available
            &[0x41],             // drain
            &[0x56, 0x01],       // echo
        ],
    );
    let expected = Flow {
        next_incoming_id: Some(1),
        incoming_window: 2048,
        next_outgoing_id: 0,
        outgoing_window: 2,
        handle: Some(Handle(0)),
        delivery_count: Some(3),
        link_credit: Some(100),
        available: Some(4),
        drain: true,
        echo: true,
    };
    let performative = read(&octets).unwrap();
    assert_eq!(performative.flow(), Ok(expected));
    assert_eq!(
        performative.field(Flow::DELIVERY_COUNT),
        Some(&[0x52, 3][..])
    );
    assert_eq!(
        performative.field(Flow::LINK_CREDIT),
        Some(&[0x52, 100][..])
    );

    let session = frame(0x13, 4, &[&[0x40], &[0x52, 5], &[0x43], &[0x43]]);
    let expected = Flow {
        incoming_window: 5,
        ..Flow::default()
    };
    assert_eq!(read(&session).unwrap().flow(), Ok(expected));
}

#[test]
fn a_transfer_is_read() {
    let octets = frame(
        0x14,
        11,
        &[
            &[0x52, 2],                                           // handle
            &[0x52, 7],                                           // delivery-id
            &[0xA0, 2, 1, 2],                                     // delivery-tag
            &[0x43],                                              // message-format
            &[0x42],                                              // settled
            &[0x41],                                              // more
            &[0x50, 1],                                           // rcv-settle-mode: second
            &[0x00, 0x53, 0x34, 0xC0, 5, 1, 0xA0, 2, b't', b'x'], // state
            &[0x41],                                              // resume
            &[0x41],                                              // aborted
            &[0x41],                                              // batchable
        ],
    );
    let mut octets = [&octets[..], b"payload"].concat();
    octets[3] += 7;
    let expected = Transfer {
        handle: Handle(2),
        delivery_id: Some(7),
        delivery_tag: Some(&[1, 2]),
        message_format: Some(0),
        settled: Some(false),
        more: true,
        rcv_settle_mode: Some(ReceiverSettleMode::Second),
        state: Some(&[0x00, 0x53, 0x34, 0xC0, 5, 1, 0xA0, 2, b't', b'x']),
        resume: true,
        aborted: true,
        batchable: true,
        payload_at: octets.len() - 7,
    };
    let read = read(&octets).unwrap();
    assert_eq!(read.transfer(), Ok(expected));
    assert_eq!(read.payload_len(), 7);
    assert_eq!(
        expected.state.map(delivery_state),
        Some(DeliveryState::Transactional {
            txn_id: b"tx",
            outcome: None
        })
    );
}

#[test]
fn a_disposition_is_read() {
    let accepted = &[0x00, 0x53, 0x24, 0x45];
    let octets = frame(
        0x15,
        6,
        &[
            &[0x41],    // role: receiver
            &[0x52, 1], // first
            &[0x52, 3], // last
            &[0x41],    // settled
            accepted,   // state
            &[0x41],    // batchable
        ],
    );
    let expected = Disposition {
        role: Role::Receiver,
        first: 1,
        last: Some(3),
        settled: true,
        state: Some(accepted),
        batchable: true,
    };
    assert_eq!(read(&octets).unwrap().disposition(), Ok(expected));
    assert_eq!(delivery_state(accepted), DeliveryState::Accepted);
}

#[test]
fn detach_end_and_close_are_read_with_their_errors() {
    let error = [
        &[0x00, 0x53, 0x1D, 0xC0, 13, 2][..],
        &[0xA3, 3, b'a', b':', b'b'],             // condition
        &[0xA1, 5, b's', b'o', b'r', b'r', b'y'], // description
    ]
    .concat();
    let expected = AmqpError {
        condition: "a:b",
        description: Some("sorry"),
        info: &[],
    };
    let octets = frame(0x16, 3, &[&[0x52, 4], &[0x41], &error]);
    let detach = Detach {
        handle: Handle(4),
        closed: true,
        error: Some(expected),
    };
    assert_eq!(read(&octets).unwrap().detach(), Ok(detach));
    let error = Some(expected);
    let octets = frame(0x17, 1, &[&octets[8 + 6 + 3..]]);
    assert_eq!(read(&octets).unwrap().end(), Ok(End { error }));
    let octets = frame(0x18, 1, &[&octets[8 + 6..]]);
    assert_eq!(read(&octets).unwrap().close(), Ok(Close { error }));

    // An error that cannot be read is still one.
    let octets = frame(0x18, 1, &[&[0x00, 0x53, 0x1D, 0x45]]);
    let error = Some(AmqpError::default());
    assert_eq!(read(&octets).unwrap().close(), Ok(Close { error }));
    let octets = frame(0x18, 0, &[]);
    assert_eq!(read(&octets).unwrap().close(), Ok(Close { error: None }));
}

#[test]
fn a_mandatory_field_that_is_missing_or_null_is_malformed() {
    let missing = |at| Malformed {
        at,
        what: Fault::MandatoryMissing,
    };
    let read_as = |octets: &[u8]| {
        let read = read(octets).unwrap();
        match read.descriptor {
            Descriptor::Open => read.open().map(|_| ()),
            Descriptor::Begin => read.begin().map(|_| ()),
            Descriptor::Attach => read.attach().map(|_| ()),
            Descriptor::Flow => read.flow().map(|_| ()),
            Descriptor::Transfer => read.transfer().map(|_| ()),
            Descriptor::Disposition => read.disposition().map(|_| ()),
            Descriptor::Detach => read.detach().map(|_| ()),
            Descriptor::SaslMechanisms => read.sasl_mechanisms().map(|_| ()),
            Descriptor::SaslInit => read.sasl_init().map(|_| ()),
            Descriptor::SaslChallenge => read.sasl_challenge().map(|_| ()),
            Descriptor::SaslResponse => read.sasl_response().map(|_| ()),
            Descriptor::SaslOutcome => read.sasl_outcome().map(|_| ()),
            other => panic!("{other:?} has no mandatory field"),
        }
    };
    for (code, fields) in [
        (0x10, &[][..]),
        (0x11, &[&[0x40][..], &[0x43], &[0x43]]),
        (0x12, &[&[0xA1, 0], &[0x43]]),
        (0x13, &[&[0x40], &[0x43], &[0x43]]),
        (0x14, &[]),
        (0x15, &[&[0x41]]),
        (0x16, &[]),
        (0x40, &[]),
        (0x41, &[]),
        (0x42, &[]),
        (0x43, &[]),
        (0x44, &[]),
    ] {
        let octets = frame(code, fields.len() as u8, fields);
        assert_eq!(read_as(&octets), Err(missing(octets.len())), "{code:02X}");
        let octets = [fields, &[&[0x40]]].concat();
        let octets = frame(code, fields.len() as u8 + 1, &octets);
        assert_eq!(
            read_as(&octets),
            Err(missing(octets.len() - 1)),
            "{code:02X}"
        );
    }
}

#[test]
fn a_field_of_another_type_is_malformed() {
    for (code, fields, at, what) in [
        (0x10, &[&[0x43][..]][..], 14, Fault::UnexpectedType),
        (0x10, &[&[0xA1, 1, 0xC3]], 14, Fault::NotUtf8),
        (0x14, &[&[0x43], &[0xA1, 0]], 15, Fault::UnexpectedType),
        (0x14, &[&[0x53, 1]], 14, Fault::UnexpectedType),
        (
            0x14,
            &[&[0x43], &[0x40], &[0x40], &[0x40], &[0x56, 2]],
            18,
            Fault::UnexpectedType,
        ),
        (
            0x12,
            &[&[0xA1, 0], &[0x43], &[0x41], &[0x50, 3]],
            18,
            Fault::UnknownChoice,
        ),
        (
            0x12,
            &[&[0xA1, 0], &[0x43], &[0x41], &[0x40], &[0x50, 2]],
            19,
            Fault::UnknownChoice,
        ),
    ] {
        let octets = frame(code, fields.len() as u8, fields);
        let read = read(&octets).unwrap();
        let fault = match code {
            0x10 => read.open().unwrap_err(),
            0x12 => read.attach().unwrap_err(),
            _ => read.transfer().unwrap_err(),
        };
        assert_eq!((fault.at, fault.what), (at, what), "{fields:02X?}");
    }
}

#[test]
fn the_fields_of_another_performative_are_refused() {
    let octets = frame(0x18, 0, &[]);
    let fault = read(&octets).unwrap().open().unwrap_err();
    assert_eq!((fault.at, fault.what), (8, Fault::UnexpectedPerformative));
}
