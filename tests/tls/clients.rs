//! TLS with clients: who comes in, as whom, and who is told why not.

use std::io::Write;

use crate::certificates::{AsClient, BOTH, ONLY_12, ONLY_13};
use crate::generate::Valid;
use crate::secure::Secure;
use crate::support::mqtt::{Connect, Publish, Version};
use crate::support::{Raw, field};
use crate::{Stage, expect_through, nth_line};

#[test]
fn a_client_and_its_broker_hear_each_other_in_every_version() {
    let stage = Stage::start(&[]);
    for versions in [BOTH, ONLY_12, ONLY_13] {
        let client = AsClient::of(&stage.certificates).speaking(versions);
        let mut client = enter(&stage, &client).unwrap();
        let mut broker = greet(&stage, &mut client, "c");
        expect_through(&mut client, &mut broker);
    }
    stage
        .sidecar
        .metric_becomes("sizegate_connections_total", &[("protocol", "mqtt")], 3.0);
}

#[test]
fn who_speaks_too_old_a_version_is_told_so() {
    let stage = Stage::start(&["--tls-min-version", "1.3"]);
    let client = AsClient::of(&stage.certificates).speaking(ONLY_12);
    let told = enter(&stage, &client).err().unwrap();
    assert_eq!(told, "received fatal alert: ProtocolVersion");
    refused(&stage, 1, "TLS failed: peer is incompatible: ");
    let client = AsClient::of(&stage.certificates).speaking(ONLY_13);
    let mut client = enter(&stage, &client).unwrap();
    greet(&stage, &mut client, "c");
}

#[test]
fn who_must_show_a_certificate_and_shows_none_or_a_wrong_one_is_told_why() {
    let stage = Stage::start(&["--tls-client-ca", "@ca.crt"]);
    let certificates = &stage.certificates;
    certificates.client("late", "CN=late", Valid::Past);
    certificates.client("early", "CN=early", Valid::Future);
    // A certificate of a server is none of a client.
    certificates.server("broker", &["broker"], Valid::Now);
    let nobody = AsClient::of(certificates);
    let mut count = 0;
    for (client, logged) in [
        (nobody.clone(), "peer sent no certificates"),
        (
            nobody.clone().showing(certificates, "stranger"),
            "UnknownIssuer",
        ),
        (nobody.clone().showing(certificates, "late"), "expired"),
        (
            nobody.clone().showing(certificates, "early"),
            "not valid yet",
        ),
        (
            nobody.clone().showing(certificates, "broker"),
            "invalid peer certificate: ",
        ),
    ] {
        for versions in [ONLY_12, ONLY_13] {
            let told = match enter(&stage, &client.clone().speaking(versions)) {
                // In TLS 1.3 a client learns it when it reads.
                Ok(mut client) => client.expect_error(),
                Err(told) => told,
            };
            assert!(told.starts_with("received fatal alert: "), "{told}");
            count += 1;
            refused(&stage, count, logged);
        }
    }
    let mut client = enter(&stage, &nobody.showing(certificates, "alice")).unwrap();
    greet(&stage, &mut client, "c");
}

#[test]
fn a_client_that_does_not_trust_the_certificate_is_logged_with_its_reason() {
    let stage = Stage::start(&[]);
    let mut client = AsClient::of(&stage.certificates);
    client.trust = stage.certificates.file("stranger-ca.crt").into();
    let error = enter(&stage, &client).err().unwrap();
    assert!(error.contains("UnknownIssuer"), "{error}");
    refused(&stage, 1, "received fatal alert: ");
}

#[test]
fn rules_hold_for_the_server_name_and_for_the_subject() {
    let flags = [
        "--max-message-size",
        "1Mi",
        "--tls-client-ca",
        "@ca.crt",
        "--limit",
        "vhost:tenant.example=100",
        "--limit",
        "user:CN=alice*=50",
        "--no-advertise",
    ];
    let stage = Stage::start(&flags);
    stage.certificates.client("bob", "CN=bob", Valid::Now);
    // Who shows which certificate, the server's name, and which rule a message of 101 octets meets.
    for (who, name, user, rule) in [
        (
            "alice",
            "localhost",
            None,
            Some("--limit user:CN=alice*=50"),
        ),
        ("alice", "localhost", Some("carol"), None),
        ("bob", "localhost", None, None),
    ] {
        let client = AsClient::of(&stage.certificates).showing(&stage.certificates, who);
        let raw = stage.connect();
        let mut client = Secure::connect(&raw, client.config(), name).unwrap();
        let mut connect = Connect::new(Version::V5, "c");
        connect.user = user.map(str::to_owned);
        let mut broker = greet_with(&stage, &mut client, &connect);
        let publish = Publish::new(Version::V5, 1, "t")
            .id(1)
            .packet_len(101)
            .encode();
        client.send(&publish);
        match rule {
            Some(rule) => {
                let answer = client.read_packet();
                assert_eq!((answer[0], answer[4]), (0x40, 0x97));
                let told = String::from_utf8_lossy(&answer).into_owned();
                assert!(told.contains(rule), "{told}");
            }
            None => broker.expect(&publish, "the message"),
        }
    }
}

#[test]
fn a_server_name_is_the_vhost_of_a_client_that_names_no_other() {
    let flags = ["--limit", "vhost:tenant.example=100", "--no-advertise"];
    let stage = Stage::start(&flags);
    stage
        .certificates
        .server("server", &["tenant.example", "other.example"], Valid::Now);
    stage.sidecar.signal("HUP");
    stage
        .sidecar
        .log_line(|line| field(line, "message") == "certificates renewed");
    let publish = Publish::new(Version::V5, 0, "t").packet_len(101).encode();
    for (name, passes) in [
        ("tenant.example", false),
        ("TENANT.example", false),
        ("other.example", true),
    ] {
        let raw = stage.connect();
        let config = AsClient::of(&stage.certificates).config();
        let mut client = Secure::connect(&raw, config, name).unwrap();
        let mut broker = greet(&stage, &mut client, "c");
        client.send(&publish);
        if passes {
            broker.expect(&publish, "the message");
        }
        expect_through(&mut client, &mut broker);
    }
    let line = stage
        .sidecar
        .log_line(|line| field(line, "message") == "message refused");
    assert_eq!(field(&line, "vhost"), "tenant.example");
}

#[test]
fn ends_are_told_in_tls() {
    let stage = Stage::start(&[]);
    let client = AsClient::of(&stage.certificates);
    // The broker's end.
    let mut one = enter(&stage, &client).unwrap();
    let broker = greet(&stage, &mut one, "one");
    drop(broker);
    one.expect_eof("the end of the broker");
    // The client's end with and without close_notify.
    for polite in [true, false] {
        let mut two = enter(&stage, &client).unwrap();
        let mut broker = greet(&stage, &mut two, "two");
        if polite {
            two.say_goodbye();
            broker.expect_eof("the end of the client's stream");
            broker.send([0xD0, 0]);
            two.expect([0xD0, 0], "what the broker still had to say");
        }
        drop(two);
        if !polite {
            broker.expect_eof("the end of the client");
        }
    }
    // One that speaks nothing known.
    let mut three = enter(&stage, &client).unwrap();
    three.send(b"GET / HTTP/1.1\r\n\r\n");
    three.expect_eof("the end of a client that speaks nothing known");
    // One that leaves TLS.
    let mut four = enter(&stage, &client).unwrap();
    let mut broker = greet(&stage, &mut four, "four");
    four.socket().write_all(&[0; 32]).unwrap();
    broker.expect_eof("the end of a client that left TLS");
    assert!(four.expect_error().starts_with("received fatal alert: "));
    let line = stage
        .sidecar
        .log_line(|line| field(line, "message") == "TLS broke");
    assert_eq!(
        (field(&line, "side"), field(&line, "client")),
        ("client".into(), "four".into())
    );
}

/// Begins TLS as this client.
pub(crate) fn enter(stage: &Stage, client: &AsClient) -> Result<Secure, String> {
    let raw = stage.connect();
    Secure::connect(&raw, client.config(), "localhost").map_err(|error| error.to_string())
}

/// Has a client accepted by its broker, and returns the broker's end.
pub(crate) fn greet(stage: &Stage, client: &mut Secure, id: &str) -> Raw {
    greet_with(stage, client, &Connect::new(Version::V5, id))
}

fn greet_with(stage: &Stage, client: &mut Secure, connect: &Connect) -> Raw {
    client.send(connect.encode());
    let mut broker = stage.broker.accept();
    broker.expect(connect.encode(), "CONNECT, octet for octet");
    broker.send(connect.version.connack());
    client.expect(connect.version.connack(), "CONNACK");
    broker
}

/// Waits until so many clients were not let in, and returns the line of the last one, whose reason
/// has these words.
pub(crate) fn refused(stage: &Stage, count: usize, reason: &str) -> serde_json::Value {
    let labels = [("side", "client"), ("reason", "tls")];
    let sidecar = &stage.sidecar;
    sidecar.metric_becomes("sizegate_connections_closed_total", &labels, count as f64);
    let line = nth_line(sidecar, "client not let in", count);
    let error = field(&line, "error");
    assert!(error.contains(reason), "{error}, not {reason}");
    line
}
