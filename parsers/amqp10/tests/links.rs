//! The ends of links, and what becomes of deliveries.

use super::build::frame;
use super::*;

#[test]
fn an_attach_is_read() {
    let octets = frame(
        0x12,
        11,
        &[
            &[0xA1, 1, b'l'], // name
            &[0x43],          // handle
            &[0x42],          // role: sender
            &[0x50, 1],       // snd-settle-mode: settled
            &[0x50, 1],       // rcv-settle-mode: second
            // source: address "s", durable 0, session-end, timeout 0, dynamic false
            &[0x00, 0x53, 0x28, 0xC0, 20, 5, 0xA1, 1, b's', 0x43],
            &[
                0xA3, 11, b's', b'e', b's', b's', b'i', b'o', b'n', b'-', b'e', b'n', b'd',
            ],
            &[0x43, 0x42],
            &[0x00, 0x53, 0x29, 0xC0, 6, 5, 0x40, 0x40, 0x40, 0x40, 0x41], // target: dynamic
            &[0xC1, 1, 0],                   // unsettled: a map of nothing
            &[0x42],                         // incomplete-unsettled
            &[0x52, 5],                      // initial-delivery-count
            &[0x80, 0, 0, 0, 0, 1, 0, 0, 0], // max-message-size: 16 Mi
        ],
    );
    let expected = Attach {
        name: "l",
        handle: Handle(0),
        role: Role::Sender,
        snd_settle_mode: SenderSettleMode::Settled,
        rcv_settle_mode: ReceiverSettleMode::Second,
        source: Terminus::Node {
            address: Some("s"),
            dynamic: false,
        },
        target: Terminus::Node {
            address: None,
            dynamic: true,
        },
        unsettled: Presence::Present,
        initial_delivery_count: Some(5),
        max_message_size: Some(16_777_216),
    };
    let read = read(&octets).unwrap();
    assert_eq!(read.attach(), Ok(expected));
    assert_eq!(read.field(Attach::SND_SETTLE_MODE), Some(&[0x50, 1][..]));
    assert_eq!(
        read.field(Attach::MAX_MESSAGE_SIZE),
        Some(&[0x80, 0, 0, 0, 0, 1, 0, 0, 0][..])
    );
}

#[test]
fn a_terminus_is_read_whatever_it_is() {
    let node = |address| Terminus::Node {
        address,
        dynamic: false,
    };
    for (target, expected) in [
        (&[0x40][..], Terminus::Null),
        (&[0x00, 0x53, 0x29, 0x45], node(None)),
        (
            &[0x00, 0x53, 0x29, 0xC0, 4, 1, 0xA1, 1, b'q'],
            node(Some("q")),
        ),
        (
            &[0x00, 0x53, 0x29, 0xC0, 4, 1, 0xA3, 1, b'q'],
            node(Some("q")),
        ),
        // Addresses that are no strings: a binary, a string that is not UTF-8, a described one.
        (&[0x00, 0x53, 0x29, 0xC0, 4, 1, 0xA0, 1, b'q'], node(None)),
        (&[0x00, 0x53, 0x29, 0xC0, 4, 1, 0xA1, 1, 0xFF], node(None)),
        (
            &[
                0x00, 0x53, 0x29, 0xC0, 7, 1, 0x00, 0x53, 0x99, 0xA1, 1, b'q',
            ],
            node(None),
        ),
        (&[0x00, 0x53, 0x30, 0x45], Terminus::Coordinator),
        (
            &[0x00, 0x53, 0x30, 0xC0, 4, 1, 0xA3, 1, b'x'],
            Terminus::Coordinator,
        ),
        (&[0x00, 0x53, 0x99, 0x45], Terminus::Other),
        (&[0xA1, 1, b'q'], Terminus::Other),
    ] {
        let octets = frame(
            0x12,
            7,
            &[
                &[0xA1, 1, b'l'],
                &[0x43],
                &[0x41],
                &[0x40, 0x40, 0x40],
                target,
            ],
        );
        let attach = read(&octets).unwrap().attach().unwrap();
        assert_eq!(attach.target, expected, "{target:02X?}");
        assert_eq!(attach.role, Role::Receiver);
        assert_eq!(attach.unsettled, Presence::Absent);
    }
    for (target, what) in [
        (&[0x00, 0x53, 0x29, 0x43][..], Fault::NotAList),
        (&[0x00, 0x53, 0x29, 0xC0, 2, 2, 0x43], Fault::ListDisagrees),
        (
            &[0x00, 0x53, 0x29, 0xC0, 6, 5, 0x40, 0x40, 0x40, 0x40, 0x43],
            Fault::UnexpectedType,
        ),
    ] {
        let octets = frame(
            0x12,
            7,
            &[
                &[0xA1, 1, b'l'],
                &[0x43],
                &[0x41],
                &[0x40, 0x40, 0x40],
                target,
            ],
        );
        let fault = read(&octets).unwrap().attach().unwrap_err();
        // 8 of frame header, 6 up to the fields, 8 of fields: the target's own constructor.
        assert_eq!((fault.at, fault.what), (22, what), "{target:02X?}");
    }
}

#[test]
fn each_delivery_state_is_known() {
    let wrapped = [
        0x00, 0x53, 0x34, 0xC0, 7, 2, // transactional-state
        0xA0, 0, // txn-id
        0x00, 0x53, 0x24, 0x45, // outcome
    ];
    for (octets, state) in [
        (
            &[0x00, 0x53, 0x23, 0xC0, 3, 2, 0x43, 0x44][..],
            DeliveryState::Received,
        ),
        (&[0x00, 0x53, 0x24, 0xC0, 1, 0], DeliveryState::Accepted),
        (&[0x00, 0x53, 0x25, 0x45], DeliveryState::Rejected),
        (&[0x00, 0x53, 0x26, 0x45], DeliveryState::Released),
        (
            &[0x00, 0x53, 0x27, 0xC0, 2, 1, 0x41],
            DeliveryState::Modified,
        ),
        (
            &[0x00, 0x53, 0x33, 0xC0, 3, 1, 0xA0, 0],
            DeliveryState::Declared,
        ),
        (
            &wrapped,
            DeliveryState::Transactional {
                txn_id: &[],
                outcome: Some(&[0x00, 0x53, 0x24, 0x45]),
            },
        ),
        (&[0x00, 0x53, 0x34, 0x45], DeliveryState::Other),
        (&[0x00, 0x53, 0x24, 0x43], DeliveryState::Other),
        (&[0x00, 0x53, 0x99, 0x45], DeliveryState::Other),
        (&[0x43], DeliveryState::Other),
        (&[], DeliveryState::Other),
    ] {
        assert_eq!(delivery_state(octets), state, "{octets:02X?}");
    }
}
