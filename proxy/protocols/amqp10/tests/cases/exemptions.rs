//! Which limit a message is under: by the address of its link or its own, or none.

use super::*;
use crate::cli::{group_spec, limit_spec};
use crate::policy::{ByteSize, Limit, Policy, PolicySpec};

/// A gate under 100 octets in each direction, with these rules of the send direction and those of
/// the receive direction, whose client has opened and begun, and whose broker has too.
fn under(send: &[&str], receive: &[&str], hostname: Option<&str>) -> Raw {
    let limit = |rule: &str| Limit::new(ByteSize(100), rule);
    let mut spec = PolicySpec::new(limit("--max-message-size"), limit("--max-receive-size"));
    let rules = |flag: &'static str, rules: &[&str]| {
        let rules = rules.iter().map(|rule| limit_spec(flag, rule));
        rules.collect::<Result<_, _>>().expect("a rule")
    };
    spec.send_rules = rules("--limit", send);
    spec.receive_rules = rules("--receive-limit", receive);
    spec.groups = vec![group_spec("prod/devs=alice").expect("a group")];
    Raw::begun(Terms::default().open_with(Policy::compile(&spec)), hostname)
}

/// Attaches a link on which the client sends to a target.
fn attach_to(raw: &mut Raw, target: Terminus<'_>) {
    let client = Attach {
        target,
        ..link("link", OUT, Role::Sender)
    };
    let broker = Attach {
        target,
        ..link("link", OUT_AT_BROKER, Role::Receiver)
    };
    raw.passes(Side::Client, &attach(CLIENT, &client));
    raw.passes(Side::Broker, &attach(BROKER, &broker));
    raw.passes(Side::Broker, &flow(BROKER, Start::default().grant()));
}

fn node(address: &str) -> Terminus<'_> {
    Terminus::Node {
        address: Some(address),
        dynamic: false,
    }
}

/// The properties section of a message to an address: no message-id, no user-id, to.
fn to(address: &str) -> Vec<u8> {
    let mut fields = vec![0x40, 0x40];
    encode::string(&mut fields, address);
    [
        &[0x00, 0x53, 0x73, 0xC0, fields.len() as u8 + 1, 3][..],
        &fields,
    ]
    .concat()
}

#[test]
fn messages_to_a_coordinator_are_under_no_limit() {
    let mut raw = under(&[], &[], None);
    attach_to(&mut raw, Terminus::Coordinator);
    raw.passes(Side::Client, &message(0, 101));
    raw.passes(Side::Client, &transfer(more(first(1)), 101));
}

#[test]
fn messages_to_the_management_of_a_broker_are_under_no_limit() {
    for address in ["$management", "$cbs", "/management"] {
        let mut raw = under(&[], &[], None);
        attach_to(&mut raw, node(address));
        raw.passes(Side::Client, &message(0, 101));
    }
}

#[test]
fn the_answers_of_the_management_are_under_no_limit() {
    let mut raw = under(&[], &[], None);
    let from = node("$management");
    let client = Attach {
        source: from,
        ..link("link", IN, Role::Receiver)
    };
    let broker = Attach {
        source: from,
        ..link("link", IN_AT_BROKER, Role::Sender)
    };
    raw.passes(Side::Client, &attach(CLIENT, &client));
    raw.passes(Side::Broker, &attach(BROKER, &broker));
    let answer = Transfer {
        handle: IN_AT_BROKER,
        ..first(0)
    };
    raw.passes(Side::Broker, &transfer_on(BROKER, answer, 101));
}

#[test]
fn a_rule_for_an_address_is_for_links_to_it() {
    let mut raw = under(&["address:big=200"], &[], None);
    attach_to(&mut raw, node("big"));
    raw.passes(Side::Client, &message(0, 200));
    raw.is_kept(Side::Client, &message(1, 201));
    let heard = raw.hears(Side::Client);
    let state = frame(units(&heard)[0]).disposition().expect("one").state;
    let Fate::Rejected { description, .. } = Fate::read(state) else {
        panic!("{state:02X?}");
    };
    assert!(
        description.contains("--limit address:big=200"),
        "{description}"
    );
    assert!(description.contains("201 octets"), "{description}");
}

#[test]
fn a_rule_for_an_address_to_receive_from_is_for_links_from_it() {
    let mut raw = under(&[], &["address:big=0"], None);
    let from = node("big");
    let client = Attach {
        source: from,
        target: node("small"),
        ..link("link", IN, Role::Receiver)
    };
    let broker = Attach {
        source: from,
        target: node("small"),
        ..link("link", IN_AT_BROKER, Role::Sender)
    };
    raw.passes(Side::Client, &attach(CLIENT, &client));
    raw.passes(Side::Broker, &attach(BROKER, &broker));
    let large = Transfer {
        handle: IN_AT_BROKER,
        ..first(0)
    };
    raw.passes(Side::Broker, &transfer_on(BROKER, large, 101));
}

#[test]
fn on_an_anonymous_link_each_message_is_judged_by_where_it_goes_itself() {
    let anonymous = Terminus::Node {
        address: None,
        dynamic: false,
    };
    let mut raw = under(&["address:big=200"], &[], None);
    attach_to(&mut raw, anonymous);
    let message = |id, address: &str, len: usize| {
        let mut payload = to(address);
        payload.resize(len, b'p');
        written(|out| encode::transfer(out, CLIENT, &first(id), &payload))
    };
    raw.passes(Side::Client, &message(0, "big", 200));
    raw.passes(Side::Client, &message(1, "small", 100));
    raw.is_kept(Side::Client, &message(2, "small", 101));
    raw.assert_rejected(2, 101);
    raw.is_kept(Side::Client, &message(3, "big", 201));
    let addresses = raw
        .gate
        .meter
        .reports
        .iter()
        .filter_map(|report| match report {
            Report::Refused(refusal) => refusal.address.as_deref(),
            _ => None,
        });
    assert_eq!(addresses.collect::<Vec<_>>(), ["small", "big"]);
}

#[test]
fn where_it_goes_is_read_from_the_first_frame_however_that_is_cut() {
    let anonymous = Terminus::Node {
        address: None,
        dynamic: false,
    };
    let mut raw = under(&["address:big=200"], &[], None);
    attach_to(&mut raw, anonymous);
    let payload = to("big");
    let start = written(|out| encode::transfer(out, CLIENT, &more(first(0)), &payload));
    let rest = transfer(next(), 200 - payload.len());
    for octet in [&start[..], &rest].concat() {
        raw.says(Side::Client, &[octet]);
    }
    assert_eq!(raw.hears(Side::Broker), [start, rest].concat());
}

#[test]
fn a_host_that_is_asked_for_as_a_vhost_is_that_vhost() {
    for hostname in ["vhost:prod", "prod"] {
        let mut raw = under(&["vhost:prod=200"], &[], Some(hostname));
        attach_to(&mut raw, node("q"));
        assert_eq!(raw.gate.gate.identity().vhost, Some("prod"));
        raw.passes(Side::Client, &message(0, 200));
    }
    let mut raw = under(&["vhost:prod=200"], &[], Some("other"));
    attach_to(&mut raw, node("q"));
    raw.is_kept(Side::Client, &message(0, 200));
}

#[test]
fn the_container_id_is_who_the_client_is() {
    let mut raw = under(&["client:c=200"], &[], None);
    attach_to(&mut raw, node("q"));
    assert_eq!(raw.gate.gate.identity().client, Some("c"));
    raw.passes(Side::Client, &message(0, 200));
}
