//! CONNECT and CONNACK say the largest limit, and differ in nothing else from what was received.

use super::*;
use crate::cli::limit_spec;
use crate::policy::PolicySpec;

/// Limits of 1,000 octets towards the broker and 2,000 towards the client, and both told.
const ADVERTISING: Terms = Terms {
    limit: 1_000,
    receive_limit: 2_000,
    advertise: Advertise::Largest,
    ..RECEIVE
};

/// Maximum Packet Size.
fn most(octets: u32) -> Vec<u8> {
    [&[0x27][..], &octets.to_be_bytes()].concat()
}

/// A user property that makes properties so many octets longer; at least 5.
fn filling(len: usize) -> Vec<u8> {
    [&[0x26][..], &string(""), &string(&"v".repeat(len - 5))].concat()
}

/// A CONNACK of MQTT 5.0 with these properties.
fn connack_with(flags: u8, code: u8, properties: &[u8]) -> Vec<u8> {
    let mut body = vec![flags, code];
    // A packet without its first octet is its length and what follows.
    body.extend_from_slice(&packet(0, properties)[1..]);
    packet(0x20, &body)
}

/// A CONNECT of MQTT 5.0 with client id "c" and properties of any length.
fn connect_v5(properties: &[u8]) -> Vec<u8> {
    let mut body = string("MQTT");
    body.extend_from_slice(&[V5, 0x02, 0, 60]);
    body.extend_from_slice(&packet(0, properties)[1..]);
    body.extend(string("c"));
    packet(0x10, &body)
}

/// What the client gets for this CONNACK, after a CONNECT with these properties.
fn answered(terms: Terms, properties: &[u8], connack: &[u8]) -> Vec<u8> {
    let mut gate = terms.open();
    gate.feed(Side::Client, &connect_v5(properties));
    for octet in connack {
        gate.feed(Side::Broker, &[*octet]);
    }
    gate.sent_to(Side::Client)
}

/// What the broker gets for a CONNECT with these properties.
fn asked(terms: Terms, properties: &[u8]) -> Vec<u8> {
    let mut gate = terms.open();
    for octet in connect_v5(properties) {
        gate.feed(Side::Client, &[octet]);
    }
    gate.sent_to(Side::Broker)
}

#[test]
fn a_connack_without_the_property_is_given_it_and_keeps_all_else() {
    for flags in [0, 1] {
        let received = connack_with(flags, 0, &[0x24, 1]);
        let expected = connack_with(flags, 0, &[&[0x24, 1][..], &most(1_000)].concat());
        assert_eq!(answered(ADVERTISING, &[], &received), expected);
        let expected = connack_with(flags, 0, &most(1_000));
        assert_eq!(
            answered(ADVERTISING, &[], &connack_with(flags, 0, &[])),
            expected
        );
    }
}

#[test]
fn the_brokers_own_maximum_is_lowered_and_never_raised() {
    for (own, told) in [
        (999, 999),
        (1_000, 1_000),
        (1_001, 1_000),
        (u32::MAX, 1_000),
    ] {
        let properties = |size| [&[0x24, 1][..], &most(size), &[0x25, 1]].concat();
        let received = connack_with(1, 0, &properties(own));
        let expected = connack_with(1, 0, &properties(told));
        assert_eq!(answered(ADVERTISING, &[], &received), expected, "{own}");
    }
}

#[test]
fn both_lengths_of_a_connack_grow_where_they_must() {
    // From 123 octets of properties on their length takes two; the remaining length does from 125
    // octets of it on: both boundaries, and one octet on each side of them.
    for len in 115..135 {
        let received = connack_with(0, 0, &filling(len));
        let expected = connack_with(0, 0, &[filling(len), most(1_000)].concat());
        assert_eq!(answered(ADVERTISING, &[], &received), expected, "{len}");
    }
}

#[test]
fn a_connack_that_the_client_would_not_take_any_more_is_left_as_it_is() {
    let received = connack_with(0, 0, &[]);
    for (own, is_told) in [(9, false), (10, true)] {
        let answer = answered(ADVERTISING, &most(own), &received);
        assert_eq!(answer != received, is_told, "{own}");
    }
    // One that does not grow fits as well as it did.
    let received = connack_with(0, 0, &most(5_000));
    let expected = connack_with(0, 0, &most(1_000));
    assert_eq!(answered(ADVERTISING, &most(9), &received), expected);
}

#[test]
fn a_connack_of_another_reason_code_is_left_as_it_is() {
    for code in [0x80, 0x87, 0x95] {
        let received = connack_with(0, code, &most(5_000));
        assert_eq!(answered(ADVERTISING, &[], &received), received);
    }
}

#[test]
fn nothing_is_told_where_nothing_is_known_or_nothing_is_to_be_told() {
    for terms in [
        Terms {
            limit: 0,
            receive_limit: 0,
            ..ADVERTISING
        },
        Terms {
            advertise: Advertise::Nothing,
            ..ADVERTISING
        },
        Terms {
            mode: Mode::DryRun,
            ..ADVERTISING
        },
        Terms {
            message_size: MessageSize::Payload,
            ..ADVERTISING
        },
        Terms {
            limit: 268_435_460,
            receive_limit: u64::from(u32::MAX) + 1,
            ..ADVERTISING
        },
    ] {
        let received = connack_with(0, 0, &[]);
        assert_eq!(answered(terms, &[], &received), received, "{terms:?}");
        let properties = [&[0x22, 0, 10][..], &most(100_000)].concat();
        assert_eq!(asked(terms, &properties), connect_v5(&properties));
    }
}

#[test]
fn mqtt_3_is_told_nothing() {
    for level in [V31, V311] {
        let mut gate = ADVERTISING.open();
        gate.feed(Side::Client, &connect(level, &[]));
        gate.feed(Side::Broker, &connack(level, 0));
        assert_eq!(gate.sent_to(Side::Broker), connect(level, &[]));
        assert_eq!(gate.sent_to(Side::Client), connack(level, 0));
    }
}

#[test]
fn a_limit_for_the_remaining_length_is_told_as_the_packet_that_it_allows() {
    for (limit, told) in [
        (600, 603),
        (16_383, 16_386),
        (16_384, 16_388),
        (2_097_152, 2_097_157),
    ] {
        let terms = Terms {
            limit,
            message_size: MessageSize::RemainingLength,
            ..ADVERTISING
        };
        let expected = connack_with(0, 0, &most(told));
        assert_eq!(answered(terms, &[], &connack_with(0, 0, &[])), expected);
        // The packet of exactly that size passes, and no larger one does.
        let mut gate = terms.connected(V311);
        gate.feed(Side::Client, &publish(V311, 0, 0, told as usize));
        assert_eq!(gate.sent_to(Side::Broker).len(), told as usize);
    }
}

#[test]
fn a_small_limit_is_told_as_it_is() {
    let terms = Terms {
        limit: 100,
        receive_limit: 100,
        ..ADVERTISING
    };
    let expected = connack_with(0, 0, &most(100));
    assert_eq!(answered(terms, &[], &connack_with(0, 0, &[])), expected);
    assert_eq!(asked(terms, &[]), connect_v5(&most(100)));
    assert_eq!(asked(terms, &most(50)), connect_v5(&most(50)));
}

#[test]
fn the_largest_limit_that_any_rule_could_give_the_client_is_told() {
    for (rules, told) in [
        (&["address:big/#=5000"][..], Some(5_000)),
        (&["user:somebody=5000"], Some(1_000)),
        (&["client:c=700"], Some(700)),
        (&["client:c=700", "address:big/#=5000"], Some(5_000)),
        (&["client:c=0"], None),
    ] {
        let limit = |size, rule: &str| Limit::new(ByteSize(size), rule);
        let mut spec = PolicySpec::new(
            limit(1_000, "--max-message-size"),
            limit(0, "--max-receive-size"),
        );
        let specs = rules.iter().map(|rule| limit_spec("--limit", rule));
        spec.send_rules = specs.collect::<Result<_, _>>().unwrap();
        let settings = Arc::new(Settings {
            max_control_size: ByteSize(1024),
            mqtt: crate::protocols::mqtt::Settings {
                ..Default::default()
            },
            advertise: Advertise::Largest,
            ..Settings::new(Policy::compile(&spec))
        });
        let mut gate = Harness::new(crate::protocols::mqtt::open(&Opening {
            settings: &settings,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            server_name: None,
            subject: None,
        }));
        gate.feed(Side::Client, &connect_v5(&[]));
        gate.feed(Side::Broker, &connack_with(0, 0, &[]));
        let properties = told.map(most).unwrap_or_default();
        let expected = connack_with(0, 0, &properties);
        assert_eq!(gate.sent_to(Side::Client), expected, "{rules:?}");
    }
}

#[test]
fn the_broker_is_told_the_smaller_of_the_clients_and_the_largest_receive_limit() {
    assert_eq!(asked(ADVERTISING, &[]), connect_v5(&most(2_000)));
    for (own, told) in [
        (1_999, 1_999),
        (2_000, 2_000),
        (2_001, 2_000),
        (u32::MAX, 2_000),
    ] {
        let properties = |size| [&[0x21, 0, 5][..], &most(size), &[0x17, 1]].concat();
        assert_eq!(
            asked(ADVERTISING, &properties(own)),
            connect_v5(&properties(told))
        );
    }
}

#[test]
fn a_broker_that_is_told_to_leave_messages_out_may_use_no_topic_alias() {
    // It would use the alias that a message which it left out has set.
    let alias_first = |maximum, size| [&[0x22, 0, maximum][..], &most(size)].concat();
    let alias_last = |maximum, size| [most(size), vec![0x22, 0, maximum]].concat();
    assert_eq!(
        asked(ADVERTISING, &alias_first(10, 5_000)),
        connect_v5(&alias_first(0, 2_000))
    );
    assert_eq!(
        asked(ADVERTISING, &alias_last(10, 5_000)),
        connect_v5(&alias_last(0, 2_000))
    );
    let expected = [&[0x22, 0, 0][..], &most(2_000)].concat();
    assert_eq!(asked(ADVERTISING, &[0x22, 0, 10]), connect_v5(&expected));
    // The client's own size leaves things as they would be without sizegate.
    assert_eq!(
        asked(ADVERTISING, &alias_first(10, 1_500)),
        connect_v5(&alias_first(10, 1_500))
    );
}

#[test]
fn both_lengths_of_a_connect_grow_where_they_must() {
    for len in 100..135 {
        let properties = [&[0x22, 0, 10][..], &filling(len)].concat();
        let expected = [&[0x22, 0, 0][..], &filling(len), &most(2_000)].concat();
        assert_eq!(
            asked(ADVERTISING, &properties),
            connect_v5(&expected),
            "{len}"
        );
    }
}

#[test]
fn a_connect_with_everything_keeps_everything() {
    let properties = [
        &[0x11, 0, 0, 0, 9, 0x15, 0, 1, b'm', 0x16, 0, 2, 7, 8][..],
        &[0x19, 1],
    ];
    let mut will = vec![5, 0x02, 0, 0, 0, 9];
    will.extend(
        [
            string("w/t"),
            string("payload"),
            string("alice"),
            string("secret"),
        ]
        .concat(),
    );
    let received = connect_with(V5, &properties.concat(), 0xCE, &will);
    let told = [&properties.concat()[..], &most(2_000)].concat();
    let expected = connect_with(V5, &told, 0xCE, &will);
    let mut gate = ADVERTISING.open();
    gate.feed(Side::Client, &received);
    assert_eq!(gate.sent_to(Side::Broker), expected);
}

#[test]
fn a_connect_does_not_grow_beyond_the_control_size() {
    let fits = |len| {
        let sent = connect_v5(&filling(len));
        let asked = asked(ADVERTISING, &filling(len));
        assert!(asked.len() <= 1024, "{} octets", asked.len());
        asked != sent
    };
    // Two octets for the remaining length, two for the properties', and 13 around them.
    assert!(fits(1024 - 17 - 1 - 5));
    assert!(!fits(1024 - 17 - 1 - 4));
    assert!(!fits(1024 - 17 - 1));
}

#[test]
fn what_the_client_takes_is_still_what_it_said_itself() {
    let mut gate = ADVERTISING.open();
    gate.feed(Side::Client, &connect_v5(&most(5)));
    gate.feed(Side::Broker, &connack_with(0, 0, &[]));
    gate.sent_to(Side::Client);
    gate.feed(Side::Client, &publish(V5, 1, 10, 1_001));
    assert_eq!(gate.sent_to(Side::Client), [0x40, 3, 0, 10, 0x97]);
}

#[test]
fn parked_refusals_follow_the_connack_that_was_rewritten() {
    let mut gate = ADVERTISING.open();
    let pipelined = [connect_v5(&[]), publish(V5, 1, 1, 1_001)].concat();
    gate.feed(Side::Client, &pipelined);
    let auth = packet(0xF0, &[0x18, 4, 0x15, 0, 1, b'm']);
    let small = publish(V5, 0, 0, 50);
    // An AUTH before it and a message behind it, all in one segment.
    let segment = [&auth[..], &connack_with(0, 0, &[]), &small].concat();
    gate.feed(Side::Broker, &segment);
    let expected = [
        auth,
        connack_with(0, 0, &most(1_000)),
        ack_with(0x40, 1, 0x97, &text(1_001, 1_000)),
        small,
    ];
    assert_eq!(gate.sent_to(Side::Client), expected.concat());
}

#[test]
fn a_goodbye_waits_for_the_connack_that_is_being_rewritten() {
    let mut gate = Terms {
        on_oversize: OnOversize::Close,
        ..ADVERTISING
    }
    .open();
    let pipelined = [connect_v5(&[]), publish(V5, 1, 1, 1_001)].concat();
    gate.feed(Side::Client, &pipelined);
    gate.feed(Side::Broker, &connack_with(0, 0, &[]));
    let expected = [
        connack_with(0, 0, &most(1_000)),
        last_word(&[0xE0, 0x95], &text(1_001, 1_000)),
    ];
    assert_eq!(gate.sent_to(Side::Client), expected.concat());
}

#[test]
fn a_connack_that_cannot_be_read_ends_the_connection_where_it_is_to_be_rewritten() {
    for properties in [
        &[0x7E, 0][..],
        &[0x27, 0, 0, 0, 0],
        &[0x27, 0, 0],
        &[0x1F, 0, 9],
    ] {
        let received = connack_with(0, 0, properties);
        let answer = answered(ADVERTISING, &[], &received);
        assert_eq!((answer[0], answer[2]), (0x20, 0), "{properties:?}");
        assert!(answer[3] == 0x81 || answer[3] == 0x82, "{answer:?}");
        let terms = Terms {
            advertise: Advertise::Nothing,
            ..ADVERTISING
        };
        assert_eq!(answered(terms, &[], &received), received);
    }
}
