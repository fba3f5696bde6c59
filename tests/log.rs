//! What the log says of refusals and ends, and what it never says.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use serde_json::Value;
use support::mqtt::{Answer, Connect, PUBACK, Publish, Version, Will};
use support::{Conversation, expect_quiet, field, pass};

#[test]
fn a_refusal_is_one_line_that_says_who_what_and_why() {
    for version in Version::ALL {
        let conversation = Conversation::start(&["--max-message-size", "1000"]);
        let mut connect = Connect::new(version, "sensor-17");
        connect.user = Some("alice".to_owned());
        let (mut client, mut broker) = conversation.client_with(&connect);
        let publish = Publish::new(version, 1, "site/a/raw")
            .id(7)
            .packet_len(2000);
        client.send(publish.encode());
        assert_eq!(client.read_packet()[0], PUBACK);
        expect_quiet(&mut client, &mut broker);
        let line = conversation.sidecar.log_line(is_refusal);
        let peer = client.local_addr().to_string();
        for (name, value) in [
            ("peer", peer.as_str()),
            ("protocol", "mqtt"),
            ("user", "alice"),
            ("client", "sensor-17"),
            ("address", "site/a/raw"),
            ("direction", "send"),
            ("size", "2000"),
            ("limit", "1000"),
            (
                "action",
                if version == Version::V5 {
                    "reject"
                } else {
                    "drop"
                },
            ),
        ] {
            assert_eq!(field(&line, name), value, "{name} in {line}");
        }
        assert!(
            field(&line, "rule").contains("--max-message-size"),
            "{line}"
        );
        assert!(!field(&line, "connection").is_empty(), "{line}");
        let refusals = conversation.sidecar.log_lines();
        assert_eq!(refusals.iter().filter(|line| is_refusal(line)).count(), 1);
    }
}

#[test]
fn the_end_of_a_connection_is_one_line_that_says_whose_it_was() {
    let conversation = Conversation::start(&[]);
    let mut connect = Connect::new(Version::V5, "sensor-18");
    connect.user = Some("bob".to_owned());
    let (client, broker) = conversation.client_with(&connect);
    let peer = client.local_addr().to_string();
    drop((client, broker));
    let line = conversation.sidecar.log_line(|line| {
        field(line, "client") == "sensor-18" && line.to_string().contains("closed")
    });
    for (name, value) in [
        ("peer", peer.as_str()),
        ("protocol", "mqtt"),
        ("user", "bob"),
    ] {
        assert_eq!(field(&line, name), value, "{name} in {line}");
    }
}

#[test]
fn a_flood_of_refusals_does_not_flood_the_log() {
    let conversation = Conversation::start(&["--max-message-size", "16"]);
    let (mut client, mut broker) = conversation.client(Version::V5, "flood");
    let publish = Publish::new(Version::V5, 1, "t")
        .id(7)
        .packet_len(20)
        .encode();
    let mut writer = client.writer();
    let sender = std::thread::spawn(move || writer.send(publish.repeat(REFUSALS)));
    for _ in 0..REFUSALS {
        assert_eq!(Answer::parse(&client.read_packet()).code, 0x97);
    }
    sender.join().unwrap();
    expect_quiet(&mut client, &mut broker);
    drop((client, broker));
    let sidecar = &conversation.sidecar;
    sidecar.log_line(|line| field(line, "client") == "flood" && !is_refusal(line));
    let lines = sidecar.log_lines();
    let written = lines.iter().filter(|line| is_refusal(line)).count();
    assert!((1..REFUSALS / 10).contains(&written), "{written} lines");
    let suppressed: usize = lines
        .iter()
        .filter_map(|line| field(line, "suppressed").parse::<usize>().ok())
        .sum();
    assert_eq!(
        written + suppressed,
        REFUSALS,
        "each refusal is written or counted"
    );
}

#[test]
fn credentials_and_payloads_are_not_logged_at_any_level() {
    for version in Version::ALL {
        let flags = ["--max-message-size", "1000", "--log-level", "trace"];
        let mut conversation = Conversation::start(&flags);
        let mut connect = Connect::new(version, "discreet");
        connect.user = Some("alice".to_owned());
        connect.password = Some(SECRETS[0].to_owned());
        connect.will = Some(Will {
            properties: Vec::new(),
            topic: "w".to_owned(),
            payload: SECRETS[1].into(),
        });
        let (mut client, mut broker) = conversation.client_with(&connect);
        let small = Publish::new(version, 1, "t")
            .id(1)
            .payload(SECRETS[2])
            .encode();
        let large = Publish::new(version, 1, "t")
            .id(2)
            .payload(SECRETS[2].repeat(100))
            .encode();
        client.send(&small);
        broker.expect(&small, "the small message");
        client.send(&large);
        assert_eq!(client.read_packet()[0], PUBACK);
        pass(&mut broker, &mut client, &small, "a message to the client");
        // A malformed packet is worth a line of its own, and ends the connection.
        client.send([&[0x36, 100][..], SECRETS[2].as_bytes()].concat());
        drop((client, broker));
        let sidecar = &mut conversation.sidecar;
        sidecar.log_line(is_refusal);
        sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
        sidecar.signal("TERM");
        sidecar.wait();
        for line in sidecar.log_to_its_end() {
            let line = line.to_string();
            for secret in SECRETS {
                for form in forms(secret) {
                    assert!(!line.contains(&form), "{form} in {line}");
                }
            }
        }
    }
}

/// A password, and what stands in payloads.
const SECRETS: [&str; 3] = [
    "correct-horse-battery",
    "the-will-says-goodbye",
    "payload-marker-xyz",
];

/// How many refusals make a flood.
const REFUSALS: usize = 1000;

/// A secret as text, and as octets the way that Rust and hexadecimal dumps show them.
fn forms(secret: &str) -> [String; 4] {
    let join = |octets: Vec<String>, with: &str| octets.join(with);
    let decimal = secret.bytes().map(|octet| octet.to_string()).collect();
    let hexadecimal: Vec<_> = secret.bytes().map(|octet| format!("{octet:02x}")).collect();
    [
        secret.to_owned(),
        join(decimal, ", "),
        join(hexadecimal.clone(), ""),
        join(hexadecimal, " "),
    ]
}

/// Only the line of a refusal has both a size and a limit.
fn is_refusal(line: &Value) -> bool {
    !field(line, "size").is_empty() && !field(line, "limit").is_empty()
}
