//! Topic aliases: no message may reach the broker under another topic than its sender meant.

use std::collections::BTreeMap;

use parsers::Parsed;
use parsers::mqtt::{Version, fixed_header, publish};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// A PUBLISH of QoS 0 to a topic, or to none, with an alias, or with none.
pub(super) fn aliased(topic: &str, alias: Option<u16>, payload: &[u8]) -> Vec<u8> {
    let mut body = string(topic);
    match alias {
        Some(alias) => body.extend([&[3, 0x23][..], &alias.to_be_bytes()].concat()),
        None => body.push(0),
    }
    body.extend_from_slice(payload);
    packet(0x30, &body)
}

pub(super) const BIG: &[u8] = &[b'b'; 200];

#[test]
fn an_alias_that_a_refused_message_set_is_made_good_once() {
    let mut gate = Terms::default().connected(V5);
    gate.feed(Side::Client, &aliased("a/b", Some(1), BIG));
    gate.feed(Side::Client, &aliased("", Some(1), b"one"));
    assert_eq!(gate.sent_to(Side::Broker), aliased("a/b", Some(1), b"one"));
    gate.feed(Side::Client, &aliased("", Some(1), b"two"));
    assert_eq!(gate.sent_to(Side::Broker), aliased("", Some(1), b"two"));
}

#[test]
fn what_is_put_into_a_message_counts_as_forwarded() {
    let mut gate = Terms::default().connected(V5);
    gate.feed(Side::Client, &aliased("a/b", Some(1), BIG));
    gate.feed(Side::Client, &aliased("", Some(1), b"one"));
    // The relay counts the payload, which goes out as it was received.
    let head = aliased("a/b", Some(1), b"one").len() - 3;
    assert_eq!(gate.meter.released, [head as u64, 0]);
}

#[test]
fn an_alias_that_a_refused_message_set_anew_does_not_stand_for_the_old_topic() {
    let mut gate = Terms::default().connected(V5);
    let first = aliased("old", Some(1), b"");
    gate.feed(Side::Client, &first);
    gate.feed(Side::Client, &aliased("new", Some(1), BIG));
    gate.feed(Side::Client, &aliased("", Some(1), b"x"));
    let expected = [first, aliased("new", Some(1), b"x")].concat();
    assert_eq!(gate.sent_to(Side::Broker), expected);
}

#[test]
fn an_alias_that_the_client_sets_again_needs_no_repair() {
    let mut gate = Terms::default().connected(V5);
    gate.feed(Side::Client, &aliased("a", Some(1), BIG));
    let rest = [aliased("c", Some(1), b"x"), aliased("", Some(1), b"y")].concat();
    gate.feed(Side::Client, &rest);
    assert_eq!(gate.sent_to(Side::Broker), rest);
}

#[test]
fn a_repaired_message_is_judged_as_it_was_received() {
    let message = aliased("", Some(1), b"exactly");
    let mut gate = Terms {
        limit: message.len() as u64,
        ..Terms::default()
    }
    .connected(V5);
    gate.feed(Side::Client, &aliased("a/long/topic", Some(1), BIG));
    gate.feed(Side::Client, &message);
    assert_eq!(
        gate.sent_to(Side::Broker),
        aliased("a/long/topic", Some(1), b"exactly")
    );
    assert_eq!(refused(&gate).len(), 1);
}

#[test]
fn a_refused_message_is_reported_under_the_topic_that_its_alias_stands_for() {
    let mut gate = Terms::default().connected(V5);
    gate.feed(Side::Client, &aliased("a/b", Some(1), BIG));
    gate.feed(Side::Client, &aliased("", Some(1), BIG));
    let addresses = gate.meter.reports.iter().map(|report| match report {
        Report::Refused(refusal) => refusal.address.as_deref(),
        _ => None,
    });
    assert_eq!(addresses.collect::<Vec<_>>(), [Some("a/b"); 2]);
}

#[test]
fn topic_alias_0_costs_the_connection_where_aliases_matter() {
    let mut gate = Terms::default().connected(V5);
    gate.feed(Side::Client, &aliased("a", Some(0), BIG));
    assert_eq!(gate.sent_to(Side::Client), [0xE0, 1, 0x82]);
}

#[test]
fn aliases_of_refused_messages_take_a_bounded_amount_of_memory() {
    let mut gate = Terms {
        max_control_size: 1 << 20,
        ..Terms::default()
    }
    .connected(V5);
    let topic = "t".repeat(60_000);
    for alias in 1..=5 {
        gate.feed(Side::Client, &aliased(&topic, Some(alias), BIG));
    }
    let word = gate.sent_to(Side::Client);
    assert_eq!((word[0], word[2]), (0xE0, 0x97));
    assert!(gate.ending(Side::Client).is_some());
}

#[test]
fn properties_over_the_control_size_cost_the_connection_where_aliases_matter() {
    let mut body = string("t");
    // Property length 600 in two octets: one user property.
    let property = [&[0x26][..], &string("k"), &string(&"v".repeat(594))].concat();
    body.extend_from_slice(&[0xD8, 0x04]);
    body.extend_from_slice(&property);
    let mut gate = Terms {
        max_control_size: 512,
        ..Terms::default()
    }
    .connected(V5);
    gate.feed(Side::Client, &packet(0x30, &body));
    let word = gate.sent_to(Side::Client);
    assert_eq!((word[0], word[2]), (0xE0, 0x95));
}

/// Topics and payloads of a stream, as a receiver understands it.
fn understood(mut octets: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut aliases: BTreeMap<_, Vec<u8>> = BTreeMap::new();
    let mut messages = Vec::new();
    while !octets.is_empty() {
        let Ok(Parsed::Value(header)) = fixed_header(octets) else {
            panic!("no packet: {octets:02X?}");
        };
        let (packet, rest) = octets.split_at(header.packet_len());
        let Ok(Parsed::Value(publish)) = publish(&header, Version::V5, packet) else {
            panic!("no PUBLISH: {packet:02X?}");
        };
        let Ok(Parsed::Value(alias)) = publish.topic_alias(&header, packet) else {
            panic!("no properties: {packet:02X?}");
        };
        let topic = match (publish.topic, alias) {
            (&[], Some(alias)) => aliases.get(&alias).expect("an alias that was set").clone(),
            (topic, alias) => {
                alias.map(|alias| aliases.insert(alias, topic.to_vec()));
                topic.to_vec()
            }
        };
        messages.push((topic, packet[publish.head_len(&header)..].to_vec()));
        octets = rest;
    }
    messages
}

/// Messages that set aliases, use them, or do neither; only aliases that are set are used.
fn messages() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let message = (
        0..5_usize,
        1..4_u16,
        prop_oneof![0..40_usize, 120..200_usize],
        any::<bool>(),
    );
    vec(message, 1..40).prop_map(|messages| {
        let mut set = std::collections::BTreeSet::new();
        let each = messages.into_iter().enumerate();
        each.map(|(index, (topic, alias, len, reuse))| {
            let payload = vec![index as u8; len];
            let topic = ["a", "b/c", "d", "long/topic/name", ""][topic];
            match (topic, reuse && set.contains(&alias)) {
                (_, true) => aliased("", Some(alias), &payload),
                ("", false) => aliased("none", None, &payload),
                (topic, false) => {
                    set.insert(alias);
                    aliased(topic, Some(alias), &payload)
                }
            }
        })
        .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_broker_understands_each_message_as_its_sender_meant_it(
        messages in messages(),
        cuts in vec(any::<Index>(), 0..20),
    ) {
        let sent = messages.concat();
        let meant = understood(&sent);
        let passing = meant.iter().zip(&messages).filter(|(_, packet)| packet.len() <= 100);
        let expected: Vec<_> = passing.map(|(message, _)| message.clone()).collect();

        let mut gate = Terms::default().connected(V5);
        let mut rest = &sent[..];
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.index(rest.len() + 1));
            gate.feed(Side::Client, piece);
            rest = after;
        }
        gate.feed(Side::Client, rest);
        prop_assert_eq!(understood(&gate.sent_to(Side::Broker)), expected);
    }
}
