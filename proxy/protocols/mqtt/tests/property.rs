//! Laws that hold for every stream, however it is cut.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// Any packet that a connected client may send and that is not a PUBLISH.
fn control(level: u8) -> impl Strategy<Value = Vec<u8>> {
    let filter = if level == V5 {
        vec![0, 9, 0]
    } else {
        vec![0, 9]
    };
    let filter = [filter, string("a/+"), vec![1]].concat();
    prop_oneof![
        Just(vec![0xC0, 0]),
        (1..=u16::MAX, 0..4_usize).prop_map(|(id, at)| ack([0x40, 0x50, 0x62, 0x70][at], id)),
        Just(packet(0x82, &filter)),
    ]
}

/// A PUBLISH of up to 200 octets.
fn message(level: u8) -> impl Strategy<Value = Vec<u8>> {
    (0..=2_u8, 1..=u16::MAX, any::<bool>(), 12..200_usize).prop_filter_map(
        "no remaining length makes such a packet",
        move |(qos, id, retain, len)| {
            (len != 130).then(|| publish_flagged(level, qos << 1 | u8::from(retain), id, len))
        },
    )
}

/// A version and two streams of packets, one of each side.
fn streams() -> impl Strategy<Value = (u8, Vec<Vec<u8>>, Vec<Vec<u8>>)> {
    prop_oneof![Just(V31), Just(V311), Just(V5)].prop_flat_map(|level| {
        let client = vec(prop_oneof![3 => message(level), 1 => control(level)], 0..30);
        let answers = prop_oneof![
            Just(vec![0xD0, 0]),
            (1..=u16::MAX).prop_map(|id| ack(0x40, id)),
        ];
        let broker = vec(prop_oneof![3 => message(level), 1 => answers], 0..30);
        (Just(level), client, broker)
    })
}

/// Feeds two streams in pieces: each cut says where the next piece of which stream ends.
fn feed(gate: &mut Harness, client: &[u8], broker: &[u8], cuts: &[(bool, Index)]) {
    let (mut client, mut broker) = (client, broker);
    for (is_client, cut) in cuts {
        let (side, stream) = if *is_client {
            (Side::Client, &mut client)
        } else {
            (Side::Broker, &mut broker)
        };
        if !stream.is_empty() {
            let (piece, rest) = stream.split_at(1 + cut.index(stream.len()));
            gate.feed(side, piece);
            *stream = rest;
        }
    }
    gate.feed(Side::Client, client);
    gate.feed(Side::Broker, broker);
}

/// What is left of a client's packets, and what it is answered, under a limit of 100 octets.
fn model(level: u8, packets: &[Vec<u8>]) -> (Vec<u8>, Vec<u8>) {
    let (mut passed, mut answers) = (Vec::new(), Vec::new());
    let mut refused = std::collections::BTreeSet::new();
    for packet in packets {
        let is_publish = packet[0] & 0xF0 == 0x30;
        let qos = (packet[0] >> 1) & 0b11;
        let id_at = id_at(packet);
        let id = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
        if is_publish && packet.len() > 100 {
            if qos > 0 {
                let first = if qos == 1 { 0x40 } else { 0x50 };
                answers.extend(if level == V5 {
                    ack_with(first, id(id_at), 0x97, &text(packet.len(), 100))
                } else {
                    ack(first, id(id_at))
                });
            }
            if qos == 2 {
                refused.insert(id(id_at));
            }
        } else if packet[0] == 0x62 && refused.remove(&id(2)) {
            answers.extend(match level {
                V5 => [&[0x70, 3][..], &id(2).to_be_bytes(), &[0x92]].concat(),
                _ => ack(0x70, id(2)),
            });
        } else {
            if is_publish && qos > 0 {
                refused.remove(&id(id_at));
            }
            passed.extend(packet);
        }
    }
    (passed, answers)
}

/// The same packets, with an identifier of its own for each PUBLISH: none is used again before it
/// has been released (MQTT 3.1.1 §2.3.1), and here none is.
fn numbered(mut packets: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    for (id, packet) in (1_u16..).zip(&mut packets) {
        if packet[0] & 0xF0 == 0x30 && packet[0] & 0b110 != 0 {
            let id_at = id_at(packet);
            packet[id_at..id_at + 2].copy_from_slice(&id.to_be_bytes());
        }
    }
    packets
}

/// Where the identifier of a PUBLISH stands: a topic of three octets follows a fixed header of two,
/// or of three from 130 on.
fn id_at(packet: &[u8]) -> usize {
    if packet.len() > 129 { 3 + 5 } else { 2 + 5 }
}

fn cuts() -> impl Strategy<Value = Vec<(bool, Index)>> {
    vec(any::<(bool, Index)>(), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn compliant_traffic_passes_octet_for_octet_however_it_is_cut(
        (level, client, broker) in streams(),
        limit in prop_oneof![Just(0), Just(200), Just(1 << 20)],
        cuts in cuts(),
    ) {
        let (client, broker) = (client.concat(), broker.concat());
        let terms = Terms { limit, receive_limit: limit, ..Terms::default() };
        let mut gate = terms.connected(level);
        feed(&mut gate, &client, &broker, &cuts);
        prop_assert_eq!(gate.sent_to(Side::Broker), client);
        prop_assert_eq!(gate.sent_to(Side::Client), broker);
        prop_assert_eq!(&gate.meter.reports, &[]);
    }

    #[test]
    fn what_is_kept_from_a_client_does_not_depend_on_the_cuts(
        (level, _, broker) in streams(),
        cuts in cuts(),
    ) {
        let broker = numbered(broker);
        let played = |cuts: &[(bool, Index)]| {
            let mut gate = RECEIVE.connected(level);
            feed(&mut gate, &[], &broker.concat(), cuts);
            let sent = [Side::Client, Side::Broker].map(|side| gate.sent_to(side));
            (sent, gate.meter.messages, gate.meter.reports)
        };
        let (sent, messages, reports) = played(&[]);
        let small = broker.iter().filter(|packet| packet[0] & 0xF0 != 0x30 || packet.len() <= 100);
        let small: Vec<_> = small.flatten().copied().collect();
        prop_assert_eq!(&sent[0], &small);
        prop_assert_eq!(played(&cuts), (sent, messages, reports));
    }

    #[test]
    fn what_is_refused_and_answered_does_not_depend_on_the_cuts(
        (level, client, _) in streams(),
        cuts in cuts(),
    ) {
        let (passed, answers) = model(level, &client);
        let mut gate = Terms::default().connected(level);
        feed(&mut gate, &client.concat(), &[], &cuts);
        prop_assert_eq!(gate.sent_to(Side::Broker), passed);
        prop_assert_eq!(gate.sent_to(Side::Client), answers);
    }

    #[test]
    fn a_dry_run_changes_nothing(
        (level, client, broker) in streams(),
        cuts in cuts(),
    ) {
        let (client, broker) = (client.concat(), broker.concat());
        let terms = Terms { mode: Mode::DryRun, receive_limit: 100, ..Terms::default() };
        let mut gate = terms.connected(level);
        feed(&mut gate, &client, &broker, &cuts);
        prop_assert_eq!(gate.sent_to(Side::Broker), client);
        prop_assert_eq!(gate.sent_to(Side::Client), broker);
    }

    #[test]
    fn counting_equals_adding_up(
        (level, client, broker) in streams(),
        cuts in cuts(),
    ) {
        let mut gate = Terms::default().connected(level);
        feed(&mut gate, &client.concat(), &broker.concat(), &cuts);
        for (direction, packets) in [(0, &client), (1, &broker)] {
            let sizes = packets.iter().filter(|packet| packet[0] & 0xF0 == 0x30);
            let sizes: Vec<u64> = sizes.map(|packet| packet.len() as u64).collect();
            prop_assert_eq!(gate.meter.sizes[direction].sum, sizes.iter().sum::<u64>());
            let counted: u64 = gate.meter.messages[direction].iter().sum();
            prop_assert_eq!(counted, sizes.len() as u64);
        }
        let denied = client.iter().filter(|packet| packet[0] & 0xF0 == 0x30 && packet.len() > 100);
        prop_assert_eq!(gate.meter.messages[0][1], denied.count() as u64);
    }

    #[test]
    fn whatever_a_client_sends_the_broker_gets_nothing_else(
        level in prop_oneof![Just(V31), Just(V311), Just(V5)],
        client in vec(any::<u8>(), 0..400),
        broker in vec(any::<u8>(), 0..400),
        cuts in cuts(),
    ) {
        for mut gate in [Terms::default().open(), Terms::default().connected(level)] {
            feed(&mut gate, &client, &broker, &cuts);
            let mut left = client.iter();
            let passed = gate.sent_to(Side::Broker);
            prop_assert!(passed.iter().all(|octet| left.any(|sent| sent == octet)));
        }
    }
}

#[test]
fn a_stream_fed_octet_by_octet_is_judged_like_one_fed_whole() {
    for level in LEVELS {
        let packets = [
            publish(level, 0, 0, 90),
            publish(level, 2, 5, 150),
            ack(0x62, 5),
            publish(level, 1, 6, 101),
            publish(level, 1, 7, 100),
        ];
        let (passed, answers) = model(level, &packets);
        let mut gate = Terms::default().connected(level);
        for octet in packets.concat() {
            gate.feed(Side::Client, &[octet]);
        }
        assert_eq!(gate.sent_to(Side::Broker), passed);
        assert_eq!(gate.sent_to(Side::Client), answers);
    }
}
