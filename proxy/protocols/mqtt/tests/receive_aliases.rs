//! Topic aliases that the broker sets: the client understands each message as it was meant.

use super::aliases::{BIG, aliased};
use super::*;
use crate::cli::limit_spec;
use crate::policy::PolicySpec;

/// CONNECT's Topic Alias Maximum of 10.
const TAKES_ALIASES: &[u8] = &[0x22, 0, 10];

fn connected() -> Harness {
    RECEIVE.connected_with(V5, TAKES_ALIASES, 0)
}

#[test]
fn an_alias_that_a_swallowed_message_set_is_made_good_once() {
    let mut gate = connected();
    gate.feed(Side::Broker, &aliased("a/b", Some(1), BIG));
    gate.feed(Side::Broker, &aliased("", Some(1), b"one"));
    assert_eq!(gate.sent_to(Side::Client), aliased("a/b", Some(1), b"one"));
    gate.feed(Side::Broker, &aliased("", Some(1), b"two"));
    assert_eq!(gate.sent_to(Side::Client), aliased("", Some(1), b"two"));
}

#[test]
fn an_alias_that_a_swallowed_message_set_anew_does_not_lead_to_the_old_topic() {
    let mut gate = connected();
    let first = aliased("old", Some(1), b"");
    gate.feed(Side::Broker, &first);
    gate.feed(Side::Broker, &aliased("new", Some(1), BIG));
    let cut = aliased("", Some(1), b"x");
    for octet in cut {
        gate.feed(Side::Broker, &[octet]);
    }
    let expected = [first, aliased("new", Some(1), b"x")].concat();
    assert_eq!(gate.sent_to(Side::Client), expected);
}

#[test]
fn both_sides_have_aliases_of_their_own() {
    let mut gate = Terms {
        limit: 100,
        ..RECEIVE
    }
    .connected_with(V5, TAKES_ALIASES, 0);
    gate.feed(Side::Broker, &aliased("to/client", Some(1), BIG));
    gate.feed(Side::Client, &aliased("to/broker", Some(1), BIG));
    gate.feed(Side::Broker, &aliased("", Some(1), b"x"));
    gate.feed(Side::Client, &aliased("", Some(1), b"x"));
    assert_eq!(
        gate.sent_to(Side::Client),
        aliased("to/client", Some(1), b"x")
    );
    assert_eq!(
        gate.sent_to(Side::Broker),
        aliased("to/broker", Some(1), b"x")
    );
}

#[test]
fn a_message_whose_topic_would_make_it_larger_than_the_client_takes_is_kept_from_it() {
    let own = [TAKES_ALIASES, &[0x27, 0, 0, 0, 40]].concat();
    let mut gate = RECEIVE.connected_with(V5, &own, 0);
    let topic = "a/topic/of/20/octets";
    gate.feed(Side::Broker, &aliased(topic, Some(1), BIG));
    // 8 octets and the payload; 20 more with the topic.
    gate.feed(Side::Broker, &aliased("", Some(1), &[b'x'; 13]));
    assert_eq!(gate.sent_to(Side::Client), NOTHING);
    let fits = aliased(topic, Some(1), &[b'x'; 12]);
    gate.feed(Side::Broker, &aliased("", Some(1), &[b'x'; 12]));
    assert_eq!((fits.len(), gate.sent_to(Side::Client)), (40, fits));
    assert_eq!(refused(&gate), [229, 41]);
}

#[test]
fn a_goodbye_does_not_split_a_message_that_was_given_its_topic() {
    let mut gate = connected();
    gate.feed(Side::Broker, &aliased("a", Some(1), BIG));
    let message = aliased("", Some(1), b"0123456789");
    gate.feed(Side::Broker, &message[..message.len() - 1]);
    gate.gate.hang_up(crate::gate::HangUp::Drain);
    gate.settle();
    gate.feed(Side::Broker, &message[message.len() - 1..]);
    let expected = [aliased("a", Some(1), b"0123456789"), vec![0xE0, 1, 0x8B]];
    assert_eq!(gate.sent_to(Side::Client), expected.concat());
}

#[test]
fn a_large_message_with_large_properties_costs_no_client_that_takes_no_aliases_anything() {
    let mut body = string("t");
    let property = [&[0x26][..], &string("k"), &string(&"v".repeat(2_000))].concat();
    body.extend_from_slice(&[0xD6, 0x0F]);
    assert_eq!(property.len(), 0x7D6);
    body.extend_from_slice(&property);
    let mut gate = RECEIVE.connected(V5);
    gate.feed(Side::Broker, &packet(0x30, &body));
    assert_eq!(gate.sent_to(Side::Client), NOTHING);
    assert_eq!(gate.ending(Side::Broker), None);
    assert_eq!(refused(&gate).len(), 1);
}

#[test]
fn a_rule_for_a_topic_holds_for_those_who_are_sent_it_by_an_alias() {
    let limit = |size, rule: &str| Limit::new(ByteSize(size), rule);
    let mut spec = PolicySpec::new(
        limit(0, "--max-message-size"),
        limit(0, "--max-receive-size"),
    );
    spec.receive_rules = vec![limit_spec("--receive-limit", "address:small/#=50").unwrap()];
    let settings = Arc::new(Settings {
        max_control_size: ByteSize(1024),
        mqtt: crate::protocols::mqtt::Settings::default(),
        ..Settings::new(Policy::compile(&spec))
    });
    let mut gate = Harness::new(crate::protocols::mqtt::open(&Opening {
        settings: &settings,
        peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
        server_name: None,
        subject: None,
    }));
    gate.feed(Side::Client, &connect(V5, TAKES_ALIASES));
    gate.feed(Side::Broker, &connack(V5, 0));
    gate.sent_to(Side::Client);
    for (topic, alias) in [("small/a", 1), ("large/a", 2)] {
        gate.feed(Side::Broker, &aliased(topic, Some(alias), b""));
    }
    gate.sent_to(Side::Client);
    gate.feed(Side::Broker, &aliased("", Some(1), &[0; 60]));
    assert_eq!(gate.sent_to(Side::Client), NOTHING);
    let large = aliased("", Some(2), &[0; 60]);
    gate.feed(Side::Broker, &large);
    assert_eq!(gate.sent_to(Side::Client), large);
    let Report::Refused(refusal) = &gate.meter.reports[0] else {
        panic!("a refusal: {:?}", gate.meter.reports);
    };
    assert_eq!(refusal.address.as_deref(), Some("small/a"));
    assert_eq!(&*refusal.rule, "--receive-limit address:small/#=50");
}
