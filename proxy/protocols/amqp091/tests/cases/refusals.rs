//! A publish over the limit on a channel without confirms: who is told what, and when.

use parsers::amqp091::Tune;

use super::*;
use crate::policy::{
    AddressPattern, ByteSize, Glob, Limit, Policy, PolicySpec, Rule, Selector, VhostPattern,
};

#[test]
fn a_message_of_the_limit_passes_and_one_octet_more_does_not() {
    let mut raw = Raw::begun(Terms::default());
    raw.passes(Side::Client, &Message::of(100).whole());
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.expect(
        Side::Client,
        &Message::of(101).returned(&exceeded(101), &[0, 0]),
    );
    assert_eq!(raw.refused(), [(101, Action::Reject)]);
    assert_eq!(raw.gate.meter.messages[0], [1, 1, 0]);
    raw.passes(Side::Client, &Message::of(100).whole());
}

#[test]
fn a_message_is_returned_after_its_last_octet() {
    let mut raw = Raw::begun(Terms::default());
    let message = Message::of(300);
    let octets = [message.publish(), message.header(), message.body_in(90)].concat();
    let (before, last) = octets.split_at(octets.len() - 1);
    raw.is_kept(Side::Client, before);
    raw.is_quiet();
    raw.is_kept(Side::Client, last);
    raw.expect(Side::Client, &message.returned(&exceeded(300), &[0, 0]));
}

#[test]
fn an_empty_message_ends_with_its_content_header() {
    let mut raw = Raw::begun(Terms::default());
    raw.passes(Side::Client, &Message::of(0).whole());
    raw.passes(Side::Client, &Message::of(0).whole());
    assert_eq!(raw.gate.meter.messages[0], [2, 0, 0]);
}

#[test]
fn a_returned_message_has_its_properties_and_no_body() {
    let mut raw = Raw::begun(Terms::default());
    let message = Message {
        exchange: "events",
        routing_key: "eu.paid",
        ..Message::of(101)
    };
    // content-type, correlation-id
    let properties = b"\x84\x00\x0Atext/plain\x02id";
    let octets = [
        message.publish(),
        message.header_with(properties),
        message.body_in(50),
    ];
    let octets = octets.concat();
    for cut in 0..octets.len() {
        raw.is_kept(Side::Client, &octets[..cut]);
        raw.is_quiet();
        raw.is_kept(Side::Client, &octets[cut..]);
        raw.expect(Side::Client, &message.returned(&exceeded(101), properties));
    }
}

#[test]
fn many_properties_are_not_sent_back() {
    let mut raw = Raw::new(Terms::default());
    raw.open(Tune {
        frame_max: 0,
        ..TUNE
    });
    raw.begin();
    let message = Message::of(101);
    for (len, returned) in [(4_084, true), (4_085, false)] {
        let properties = [&[0x20, 0][..], &vec![b'h'; len - 2]].concat();
        raw.says(Side::Client, &message.publish());
        raw.says(Side::Client, &message.header_with(&properties));
        raw.says(Side::Client, &message.body_in(101));
        let properties = if returned { &properties[..] } else { &[0, 0] };
        raw.expect(Side::Client, &message.returned(&exceeded(101), properties));
        raw.is_quiet();
    }
}

#[test]
fn a_refusal_closes_the_channel_of_a_transaction() {
    let mut raw = Raw::begun(Terms::default());
    raw.passes(Side::Client, &tx(ONE, 10));
    raw.passes(Side::Broker, &tx(ONE, 11));
    raw.passes(Side::Client, &Message::of(100).whole());
    let close = channel_close(ONE, 311, &exceeded(101), (0, 0));
    raw.becomes(Side::Client, &Message::of(101).whole(), &close);
    raw.becomes(
        Side::Broker,
        &channel_close_ok(ONE),
        &channel_close(ONE, 311, &exceeded(101), (60, 40)),
    );
    assert_eq!(raw.refused(), [(101, Action::Detach)]);
    // The other channel has no transaction.
    raw.is_kept(Side::Client, &Message::on(TWO, 101).whole());
    raw.expect(
        Side::Client,
        &Message::on(TWO, 101).returned(&exceeded(101), &[0, 0]),
    );
}

#[test]
fn a_channel_is_confirmed_or_in_a_transaction_by_what_it_asked_for_first() {
    let mut raw = Raw::confirming(Terms::default());
    raw.passes(Side::Client, &tx(ONE, 10));
    raw.is_kept(Side::Client, &Message::of(101).whole());
    raw.expect(Side::Client, &nack(ONE, 1, false));
    raw.passes(Side::Client, &tx(TWO, 10));
    raw.passes(Side::Client, &confirm_select(TWO, true));
    raw.says(Side::Client, &Message::on(TWO, 101).whole());
    let close = channel_close(TWO, 311, &exceeded(101), (0, 0));
    raw.expect(Side::Broker, &close);
}

#[test]
fn a_dry_run_forwards_everything_and_notes_what_it_would_have_done() {
    for (on_oversize, action) in [
        (OnOversize::Reject, Action::Reject),
        (OnOversize::Detach, Action::Detach),
        (OnOversize::Close, Action::Close),
    ] {
        let terms = Terms {
            mode: Mode::DryRun,
            ..Terms::with(on_oversize)
        };
        let mut raw = Raw::begun(terms);
        raw.passes(Side::Client, &Message::of(101).whole());
        raw.passes(Side::Client, &Message::of(100).whole());
        raw.passes(Side::Broker, &Message::of(101).delivered("c", 1));
        raw.is_quiet();
        assert_eq!(raw.refused(), [(101, action); 2]);
        assert_eq!(raw.gate.meter.messages, [[1, 0, 1], [0, 0, 1]]);
    }
}

#[test]
fn a_limit_is_that_of_the_exchange_and_the_routing_key() {
    let none = Limit::new(ByteSize(0), "none");
    let address = |text| Selector::Address(AddressPattern::new(text).expect("a pattern"));
    let client = || Selector::Client(Glob::new("billing").expect("a name"));
    let bob = Selector::User(Glob::new("bob").expect("a name"));
    let prod = Selector::Vhost(VhostPattern::new("prod").expect("a name"));
    let rule = |size, text: &str, selectors: Vec<_>| {
        let mut rule = Rule::new(ByteSize(size), text);
        for selector in selectors {
            rule.narrow(selector).expect("one of each rank");
        }
        rule
    };
    let policy = Policy::compile(&PolicySpec {
        send_rules: vec![
            rule(60, "address:/orders=60", vec![address("/orders")]),
            rule(1_000, "both", vec![client(), address("events/*")]),
            rule(20, "user:bob=20", vec![bob]),
            rule(200, "vhost:prod=200", vec![prod]),
        ],
        receive_rules: vec![rule(30, "received", vec![client(), address("events/*")])],
        ..PolicySpec::new(none.clone(), none)
    });
    let mut raw = Raw {
        gate: Terms::default().open_with(policy),
    };
    raw.open(TUNE);
    raw.begin();
    let message = |exchange, routing_key, size| Message {
        exchange,
        routing_key,
        ..Message::of(size)
    };
    for (exchange, routing_key, limit, rule) in [
        ("events", "us", 1_000, "both"),
        ("", "orders", 60, "address:/orders=60"),
        ("", "others", 200, "vhost:prod=200"),
        ("orders", "", 200, "vhost:prod=200"),
    ] {
        let text =
            |size| format!("Message size exceeded: {size} octets, limit {limit}, set by {rule}");
        raw.passes(Side::Client, &message(exchange, routing_key, limit).whole());
        let over = message(exchange, routing_key, limit + 1);
        raw.is_kept(Side::Client, &over.whole());
        raw.expect(Side::Client, &over.returned(&text(limit + 1), &[0, 0]));
    }
    raw.passes(Side::Broker, &message("events", "us", 30).delivered("c", 1));
    raw.is_kept(Side::Broker, &message("events", "us", 31).delivered("c", 2));
    raw.expect(Side::Broker, &reject(ONE, 2));
    raw.passes(
        Side::Broker,
        &message("", "orders", 3_000).delivered("c", 3),
    );
    let addresses = raw.gate.meter.reports.iter().map(|report| match report {
        Report::Refused(refusal) => refusal.address.clone().unwrap_or_default(),
        other => panic!("{other:?}"),
    });
    let addresses: Vec<_> = addresses.collect();
    assert_eq!(
        addresses,
        ["events/us", "/orders", "/others", "orders/", "events/us"]
    );
}

#[test]
fn a_long_rule_is_cut_so_that_its_text_fits() {
    let rule = format!("--limit address:{}=100", "x".repeat(300));
    let limit = Limit::new(ByteSize(100), rule.as_str());
    let none = Limit::new(ByteSize(0), "none");
    let policy = Policy::new(limit, none, OnOversize::Reject, Mode::Enforce);
    let mut raw = Raw {
        gate: Terms::default().open_with(policy),
    };
    raw.open(TUNE);
    raw.begin();
    raw.is_kept(Side::Client, &Message::of(4_000).whole());
    let text = format!(
        "Message size exceeded: 4000 octets, limit 100, set by {}",
        &rule[..128]
    );
    raw.expect(Side::Client, &Message::of(4_000).returned(&text, &[0, 0]));
}
