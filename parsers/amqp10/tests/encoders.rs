//! What sizegate says: the octets of the specification, and decoding gives it back.

use proptest::prelude::*;

use super::*;

#[test]
fn a_rejected_disposition_has_the_octets_of_the_specification() {
    let error = AmqpError {
        condition: "a:b",
        description: Some("no"),
        info: &[("k", InfoValue::Text("v")), ("n", InfoValue::Number(256))],
    };
    let state = said(|out| encode::state(out, &Outcome::Rejected(error), None));
    let expected = [
        &[0x00, 0x53, 0x25, 0xC0, 43, 1][..], // rejected
        &[0x00, 0x53, 0x1D, 0xC0, 37, 3],     // error
        &[0xA3, 3, b'a', b':', b'b'],         // condition
        &[0xA1, 2, b'n', b'o'],               // description
        &[0xD1, 0, 0, 0, 22, 0, 0, 0, 4],     // info: a map of two
        &[0xA3, 1, b'k', 0xA1, 1, b'v'],
        &[0xA3, 1, b'n', 0x80, 0, 0, 0, 0, 0, 0, 1, 0],
    ]
    .concat();
    assert_eq!(state, expected);
    let octets = said(|out| {
        let disposition = Disposition {
            role: Role::Receiver,
            first: 1,
            last: None,
            settled: true,
            state: Some(&[0x00, 0x53, 0x24, 0x45]),
            batchable: false,
        };
        encode::disposition(out, Channel(3), &disposition);
    });
    let expected = [
        &[0, 0, 0, 23, 2, 0, 0, 3][..],   // frame header, channel 3
        &[0x00, 0x53, 0x15, 0xC0, 10, 5], // disposition
        &[0x41, 0x52, 1, 0x40, 0x41],     // role, first, last, settled
        &[0x00, 0x53, 0x24, 0x45],        // state: accepted
    ]
    .concat();
    assert_eq!(octets, expected);
}

#[test]
fn an_outcome_in_a_transaction_is_wrapped() {
    let state = said(|out| encode::state(out, &Outcome::Accepted, Some(b"tx")));
    let expected = [
        &[0x00, 0x53, 0x34, 0xC0, 9, 2][..], // transactional-state
        &[0xA0, 2, b't', b'x'],              // txn-id
        &[0x00, 0x53, 0x24, 0x45],           // outcome: accepted
    ]
    .concat();
    assert_eq!(state, expected);
}

#[test]
fn a_list_of_nothing_is_a_list0_and_a_long_one_a_list32() {
    let octets = said(|out| encode::close(out, &Close { error: None }));
    assert_eq!(octets, [0, 0, 0, 12, 2, 0, 0, 0, 0x00, 0x53, 0x18, 0x45]);
    for (len, constructor) in [(252, 0xC0), (253, 0xD0), (254, 0xD0), (300, 0xD0)] {
        let text = "x".repeat(len);
        let open = Open {
            container_id: &text,
            hostname: None,
            max_frame_size: u32::MAX,
            channel_max: Channel(u16::MAX),
            idle_time_out: None,
        };
        let octets = said(|out| encode::open(out, &open));
        assert_eq!(octets[11], constructor, "{len}");
        assert_eq!(read(&octets).unwrap().open(), Ok(open));
    }
}

#[test]
fn sasl_frames_are_of_their_own_type() {
    let octets = said(|out| encode::sasl_outcome(out, 0));
    assert_eq!(
        octets,
        [
            0, 0, 0, 16, 2, 1, 0, 0, // frame header, TYPE 1
            0x00, 0x53, 0x44, 0xC0, 3, 1, // sasl-outcome
            0x50, 0, // code
        ]
    );
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[ -~]{0,20}", 1 => "\\PC{0,9}", 1 => "[a-z]{250,300}"]
}

fn terminus_of(kind: &(u8, Option<String>, bool)) -> Terminus<'_> {
    match kind {
        (0, ..) => Terminus::Null,
        (1, ..) => Terminus::Coordinator,
        (_, address, dynamic) => Terminus::Node {
            address: address.as_deref(),
            dynamic: *dynamic,
        },
    }
}

fn terminus() -> impl Strategy<Value = (u8, Option<String>, bool)> {
    (0..5_u8, prop::option::of(text()), any::<bool>())
}

proptest! {
    #[test]
    fn decoding_gives_back_an_open_and_a_begin(
        (container_id, hostname) in (text(), prop::option::of(text())),
        (max_frame_size, channel_max, idle_time_out) in any::<(u32, u16, Option<u32>)>(),
        (remote_channel, next_outgoing_id, handle_max) in any::<(Option<u16>, u32, u32)>(),
        (incoming_window, outgoing_window, channel) in any::<(u32, u32, u16)>(),
    ) {
        let open = Open {
            container_id: &container_id,
            hostname: hostname.as_deref(),
            max_frame_size,
            channel_max: Channel(channel_max),
            idle_time_out,
        };
        let octets = said(|out| encode::open(out, &open));
        prop_assert_eq!(read(&octets).unwrap().open(), Ok(open));
        let begin = Begin {
            remote_channel: remote_channel.map(Channel),
            next_outgoing_id,
            incoming_window,
            outgoing_window,
            handle_max: Handle(handle_max),
        };
        let octets = said(|out| encode::begin(out, Channel(channel), &begin));
        let read = read(&octets).unwrap();
        prop_assert_eq!(read.header.channel, Channel(channel));
        prop_assert_eq!(read.begin(), Ok(begin));
        prop_assert_eq!(read.payload_len(), 0);
    }

    #[test]
    fn decoding_gives_back_an_attach(
        (name, source, target) in (text(), terminus(), terminus()),
        (handle, receiver, snd, second) in any::<(u32, bool, u8, bool)>(),
        (initial_delivery_count, max_message_size) in any::<(Option<u32>, Option<u64>)>(),
    ) {
        let attach = Attach {
            name: &name,
            handle: Handle(handle),
            role: if receiver { Role::Receiver } else { Role::Sender },
            snd_settle_mode: match snd % 3 {
                0 => SenderSettleMode::Unsettled,
                1 => SenderSettleMode::Settled,
                _ => SenderSettleMode::Mixed,
            },
            rcv_settle_mode: if second {
                ReceiverSettleMode::Second
            } else {
                ReceiverSettleMode::First
            },
            source: terminus_of(&source),
            target: terminus_of(&target),
            unsettled: Presence::Absent,
            initial_delivery_count,
            max_message_size,
        };
        let octets = said(|out| encode::attach(out, Channel(0), &attach));
        prop_assert_eq!(read(&octets).unwrap().attach(), Ok(attach));
    }

    #[test]
    fn decoding_gives_back_a_flow(
        (next_incoming_id, incoming_window) in any::<(Option<u32>, u32)>(),
        (next_outgoing_id, outgoing_window) in any::<(u32, u32)>(),
        (handle, delivery_count, link_credit) in any::<(Option<u32>, Option<u32>, Option<u32>)>(),
        (available, drain, echo) in any::<(Option<u32>, bool, bool)>(),
    ) {
        let flow = Flow {
            next_incoming_id,
            incoming_window,
            next_outgoing_id,
            outgoing_window,
            handle: handle.map(Handle),
            delivery_count,
            link_credit,
            available,
            drain,
            echo,
        };
        let octets = said(|out| encode::flow(out, Channel(9), &flow));
        prop_assert_eq!(read(&octets).unwrap().flow(), Ok(flow));
    }

    #[test]
    fn decoding_gives_back_a_disposition_and_its_state(
        (receiver, first, last) in any::<(bool, u32, Option<u32>)>(),
        (settled, batchable, accepted) in any::<(bool, bool, bool)>(),
        txn_id in prop::option::of(prop::collection::vec(any::<u8>(), 0..300)),
        (condition, description) in ("[a-z:-]{1,40}", prop::option::of(text())),
        number in any::<u64>(),
    ) {
        let info = [("size", InfoValue::Number(number)), ("rule", InfoValue::Text(&condition))];
        let error = AmqpError {
            condition: &condition,
            description: description.as_deref(),
            info: &info,
        };
        let outcome = if accepted { Outcome::Accepted } else { Outcome::Rejected(error) };
        let state = said(|out| encode::state(out, &outcome, txn_id.as_deref()));
        let disposition = Disposition {
            role: if receiver { Role::Receiver } else { Role::Sender },
            first,
            last,
            settled,
            state: Some(&state),
            batchable,
        };
        let octets = said(|out| encode::disposition(out, Channel(9), &disposition));
        prop_assert_eq!(read(&octets).unwrap().disposition(), Ok(disposition));

        let bare = said(|out| encode::state(out, &outcome, None));
        let plain = if accepted { DeliveryState::Accepted } else { DeliveryState::Rejected };
        prop_assert_eq!(delivery_state(&bare), plain);
        let expected = match &txn_id {
            Some(txn_id) => DeliveryState::Transactional { txn_id, outcome: Some(&bare) },
            None => plain,
        };
        prop_assert_eq!(delivery_state(&state), expected);
    }

    #[test]
    fn decoding_gives_back_a_transfer(
        (handle, delivery_id, message_format) in any::<(u32, Option<u32>, Option<u32>)>(),
        delivery_tag in prop::option::of(prop::collection::vec(any::<u8>(), 0..300)),
        (settled, more, second) in any::<(Option<bool>, bool, Option<bool>)>(),
        (has_state, resume, aborted, batchable) in any::<(bool, bool, bool, bool)>(),
        payload in prop::collection::vec(any::<u8>(), 0..30),
    ) {
        let state = said(|out| encode::state(out, &Outcome::Accepted, Some(b"tx")));
        let mut transfer = Transfer {
            handle: Handle(handle),
            delivery_id,
            delivery_tag: delivery_tag.as_deref(),
            message_format,
            settled,
            more,
            rcv_settle_mode: second.map(|second| if second {
                ReceiverSettleMode::Second
            } else {
                ReceiverSettleMode::First
            }),
            state: has_state.then_some(&state),
            resume,
            aborted,
            batchable,
            payload_at: 0,
        };
        let octets = said(|out| encode::transfer(out, Channel(9), &transfer, &payload));
        transfer.payload_at = octets.len() - payload.len();
        prop_assert_eq!(read(&octets).unwrap().transfer(), Ok(transfer));
        prop_assert_eq!(&octets[transfer.payload_at..], &payload);
    }

    #[test]
    fn decoding_gives_back_how_things_end(
        (handle, closed, has_error) in any::<(u32, bool, bool)>(),
        (condition, description) in ("[a-z:-]{1,40}", prop::option::of(text())),
    ) {
        let error = has_error.then_some(AmqpError {
            condition: &condition,
            description: description.as_deref(),
            info: &[],
        });
        let detach = Detach { handle: Handle(handle), closed, error };
        let octets = said(|out| encode::detach(out, Channel(9), &detach));
        prop_assert_eq!(read(&octets).unwrap().detach(), Ok(detach));
        let octets = said(|out| encode::end(out, Channel(9), &End { error }));
        prop_assert_eq!(read(&octets).unwrap().end(), Ok(End { error }));
        let octets = said(|out| encode::close(out, &Close { error }));
        prop_assert_eq!(read(&octets).unwrap().close(), Ok(Close { error }));
    }

    #[test]
    fn decoding_gives_back_sasl_frames(
        (mechanism, hostname) in ("[A-Z0-9-]{1,20}", prop::option::of(text())),
        (message, code) in (prop::collection::vec(any::<u8>(), 0..300), any::<u8>()),
    ) {
        let octets = said(|out| {
            encode::sasl_init(out, &mechanism, Some(&message), hostname.as_deref());
        });
        let init = SaslInit {
            mechanism: Mechanism::named(&mechanism),
            initial_response: Some(&message),
            hostname: hostname.as_deref(),
        };
        prop_assert_eq!(read(&octets).unwrap().sasl_init(), Ok(init));
        let octets = said(|out| encode::sasl_challenge(out, &message));
        prop_assert_eq!(read(&octets).unwrap().sasl_challenge(), Ok(&message[..]));
        let octets = said(|out| encode::sasl_response(out, &message));
        prop_assert_eq!(read(&octets).unwrap().sasl_response(), Ok(&message[..]));
        let octets = said(|out| encode::sasl_outcome(out, code));
        prop_assert_eq!(read(&octets).unwrap().sasl_outcome(), Ok(SaslOutcome { code }));
        let octets = said(|out| encode::sasl_mechanisms(out, &mechanism));
        let names: Vec<_> = read(&octets).unwrap().sasl_mechanisms().unwrap().collect();
        prop_assert_eq!(names, [Mechanism::named(&mechanism)]);
    }
}
