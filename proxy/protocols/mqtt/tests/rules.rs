//! Limits by who sends a message and where to, as an MQTT client says it.

use super::*;
use crate::cli::{group_spec, limit_spec};
use crate::policy::PolicySpec;

/// A gate with rules and a group, and a limit of 100 octets for everybody else.
fn open(rules: &[&str], vhost: VhostSource) -> Harness {
    open_shown(rules, vhost, None, None)
}

/// The same for a client that has shown this in TLS.
fn open_shown(
    rules: &[&str],
    vhost: VhostSource,
    server_name: Option<&str>,
    subject: Option<&str>,
) -> Harness {
    let limit = |size, rule: &str| Limit::new(ByteSize(size), rule);
    let mut spec = PolicySpec::new(
        limit(100, "--max-message-size"),
        limit(0, "--max-receive-size"),
    );
    let rules = rules.iter().map(|rule| limit_spec("--limit", rule));
    spec.send_rules = rules.collect::<Result<_, _>>().unwrap();
    spec.groups = vec![group_spec("prod/devs=alice,bob").unwrap()];
    let settings = Arc::new(Settings {
        max_control_size: ByteSize(1024),
        mqtt: crate::protocols::mqtt::Settings {
            message_size: MessageSize::Packet,
            vhost,
        },
        advertise: Advertise::Nothing,
        ..Settings::new(Policy::compile(&spec))
    });
    Harness::new(crate::protocols::mqtt::open(&Opening {
        settings: &settings,
        peer: IpAddr::V4(Ipv4Addr::new(10, 8, 0, 1)),
        server_name,
        subject,
    }))
}

/// Lets a client of MQTT 5.0 with this user name come in.
fn greet(gate: &mut Harness, user: &str) {
    gate.feed(Side::Client, &connect_with(V5, &[], 0x82, &string(user)));
    gate.feed(Side::Broker, &connack(V5, 0));
    gate.sent_to(Side::Broker);
    gate.sent_to(Side::Client);
}

/// The largest of these sizes that passes to a topic of three octets.
fn largest(gate: &mut Harness, sizes: &[usize]) -> usize {
    let passes = |&size: &usize| {
        gate.feed(Side::Client, &publish(V5, 0, 0, size));
        !gate.sent_to(Side::Broker).is_empty()
    };
    sizes.iter().copied().filter(passes).max().unwrap_or(0)
}

const SIZES: [usize; 6] = [50, 100, 101, 150, 200, 300];

#[test]
fn each_user_has_the_limit_of_its_rule() {
    for (user, limit) in [("alice", 150), ("bob", 300), ("carol", 100), ("Alice", 100)] {
        let rules = ["user:alice=150", "user:bob=0"];
        let mut gate = open(&rules, VhostSource::Nowhere);
        greet(&mut gate, user);
        assert_eq!(largest(&mut gate, &SIZES), limit, "{user}");
    }
}

#[test]
fn a_client_id_a_network_and_a_group_have_their_rules() {
    for (rule, limit) in [
        ("client:c=150", 150),
        ("client:other=150", 100),
        ("peer:10.8.0.0/16=200", 200),
        ("peer:10.9.0.0/16=200", 100),
        ("vhost:prod=150", 150),
        ("group:prod/devs=300", 300),
    ] {
        let mut gate = open(&[rule], VhostSource::UserName);
        greet(&mut gate, "prod:alice");
        assert_eq!(largest(&mut gate, &SIZES), limit, "{rule}");
        let identity = gate.gate.identity();
        assert_eq!(
            (identity.vhost, identity.user),
            (Some("prod"), Some("alice"))
        );
    }
}

#[test]
fn a_user_name_has_a_vhost_only_where_that_is_wanted_and_before_its_last_colon() {
    for (vhost, name, expected) in [
        (VhostSource::UserName, "a:b:c", (Some("a:b"), Some("c"))),
        (VhostSource::UserName, "c", (None, Some("c"))),
        (VhostSource::Nowhere, "b:c", (None, Some("b:c"))),
        (VhostSource::ServerName, "b:c", (None, Some("b:c"))),
    ] {
        let mut gate = open(&[], vhost);
        greet(&mut gate, name);
        let identity = gate.gate.identity();
        assert_eq!(
            (identity.vhost, identity.user),
            expected,
            "{vhost:?} {name}"
        );
    }
}

#[test]
fn the_server_name_of_tls_is_the_vhost_only_where_that_is_wanted() {
    let names = [Some("tenant.example"), None];
    for (vhost, expected) in [
        (VhostSource::ServerName, names),
        (VhostSource::UserName, [Some("prod"), Some("prod")]),
        (VhostSource::Nowhere, [None, None]),
    ] {
        for (server_name, expected) in names.into_iter().zip(expected) {
            let rules = ["vhost:tenant.example=150", "vhost:prod=200"];
            let mut gate = open_shown(&rules, vhost, server_name, None);
            greet(&mut gate, "prod:alice");
            assert_eq!(gate.gate.identity().vhost, expected, "{vhost:?}");
            let limit = match expected {
                Some("prod") => 200,
                Some(_) => 150,
                None => 100,
            };
            assert_eq!(
                largest(&mut gate, &SIZES),
                limit,
                "{vhost:?} {server_name:?}"
            );
        }
    }
}

#[test]
fn the_subject_of_a_certificate_is_the_user_of_a_client_that_gives_no_name() {
    let subject = "CN=alice,O=Acme";
    for (level, name, user) in [
        (V5, None, subject),
        (V311, None, subject),
        (V5, Some("carol"), "carol"),
        (V311, Some("carol"), "carol"),
    ] {
        let rules = ["user:CN=alice*=150", "user:carol=200"];
        let mut gate = open_shown(&rules, VhostSource::ServerName, None, Some(subject));
        assert_eq!(
            gate.gate.identity().user,
            Some(subject),
            "before its CONNECT"
        );
        let (flags, name) = name.map_or((2, Vec::new()), |name| (0x82, string(name)));
        gate.feed(Side::Client, &connect_with(level, &[], flags, &name));
        gate.feed(Side::Broker, &connack(level, 0));
        gate.sent_to(Side::Broker);
        assert_eq!(gate.gate.identity().user, Some(user));
        let passes = |gate: &mut Harness, size| {
            gate.feed(Side::Client, &publish(level, 0, 0, size));
            !gate.sent_to(Side::Broker).is_empty()
        };
        let limit = if user == "carol" { 200 } else { 150 };
        assert!(passes(&mut gate, limit), "{level} {user}");
        assert!(!passes(&mut gate, limit + 1), "{level} {user}");
    }
}

#[test]
fn where_the_user_name_names_the_vhost_the_server_name_does_not() {
    let subject = Some("CN=alice");
    let mut gate = open_shown(&[], VhostSource::UserName, Some("sni.example"), subject);
    greet(&mut gate, "prod:alice");
    let identity = gate.gate.identity();
    assert_eq!(
        (identity.vhost, identity.user),
        (Some("prod"), Some("alice"))
    );
    let mut gate = open_shown(&[], VhostSource::UserName, Some("sni.example"), subject);
    gate.feed(Side::Client, &connect_with(V5, &[], 2, &[]));
    let identity = gate.gate.identity();
    assert_eq!((identity.vhost, identity.user), (None, Some("CN=alice")));
}

#[test]
fn a_rule_for_a_topic_holds_for_each_message_by_itself() {
    // The topic of `publish` is t/x.
    let mut gate = open(
        &["address:t/+=200", "address:u/#=300"],
        VhostSource::Nowhere,
    );
    greet(&mut gate, "alice");
    assert_eq!(largest(&mut gate, &SIZES), 200);
    let to_u = packet(0x30, &[&string("u")[..], &[0], &[b'p'; 200]].concat());
    let elsewhere = packet(0x30, &[&string("v")[..], &[0], &[b'p'; 200]].concat());
    gate.feed(Side::Client, &[elsewhere, to_u.clone()].concat());
    assert_eq!(gate.sent_to(Side::Broker), to_u);
}

#[test]
fn a_topic_alias_is_no_way_round_the_limit_of_its_topic() {
    let aliased = |topic: &str, len| {
        let head = [&string(topic)[..], &[3, 0x23, 0, 1]].concat();
        packet(0x30, &[head, vec![b'p'; len]].concat())
    };
    let mut gate = open(
        &["address:big=300", "address:small=20"],
        VhostSource::Nowhere,
    );
    greet(&mut gate, "alice");
    for (topic, passing, refused) in [("big", 200, 300), ("small", 5, 60)] {
        gate.feed(Side::Client, &aliased(topic, 1));
        gate.feed(Side::Client, &aliased("", passing));
        let expected = [aliased(topic, 1), aliased("", passing)].concat();
        assert_eq!(gate.sent_to(Side::Broker), expected, "{topic}");
        gate.feed(Side::Client, &aliased("", refused));
        assert_eq!(gate.sent_to(Side::Broker), NOTHING, "{topic}");
    }
}

#[test]
fn a_will_has_the_limit_of_its_topic() {
    for (rule, passes) in [("address:w=200", true), ("address:v=200", false)] {
        let mut gate = open(&[rule], VhostSource::Nowhere);
        let will = [&[0][..], &string("w"), &string(&"p".repeat(150))].concat();
        gate.feed(Side::Client, &connect_with(V5, &[], 0x06, &will));
        assert_eq!(!gate.sent_to(Side::Broker).is_empty(), passes, "{rule}");
    }
}

#[test]
fn a_refusal_names_the_rule_and_is_counted_under_its_tenant() {
    let rules = ["group:prod/devs=150", "vhost:*=120"];
    let mut gate = open(&rules, VhostSource::UserName);
    greet(&mut gate, "prod:alice");
    gate.feed(Side::Client, &publish(V5, 1, 9, 200));
    let text = "Message size exceeded: 200 octets, limit 150, set by --limit group:prod/devs=150";
    assert_eq!(gate.sent_to(Side::Client), ack_with(0x40, 9, 0x97, text));
    let limits = gate.gate.limits().expect("the client has said who it is");
    assert_eq!(limits.group_label(), "prod/devs");
    assert_eq!(limits.vhost_label(), "prod");
}

#[test]
fn a_claim_gets_no_more_than_the_control_size_past_until_the_broker_agrees() {
    let mut gate = open(&["user:root=0"], VhostSource::Nowhere);
    let connect = connect_with(V5, &[], 0x82, &string("root"));
    gate.feed(Side::Client, &connect);
    gate.feed(Side::Client, &publish(V5, 0, 0, 1_010));
    assert_eq!(
        gate.sent_to(Side::Broker),
        connect,
        "1,010 and the CONNECT are more than 1,024"
    );
    assert!(gate.waits(Side::Client));
    gate.feed(Side::Broker, &connack(V5, 0x86));
    gate.feed(Side::Client, &publish(V5, 0, 0, 1_010));
    assert_eq!(
        gate.sent_to(Side::Broker),
        NOTHING,
        "the broker did not agree"
    );
    assert_eq!(gate.sent_to(Side::Client), connack(V5, 0x86));
}
