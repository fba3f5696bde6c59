//! Limits for tenants: who sends a message and where to decides which one holds, the metrics say so,
//! and a claim gets nobody past the broker.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use std::net::SocketAddr;
use std::process::Command;

use support::mqtt::{Connect, Publish, Version};
use support::{Conversation, Mosquitto, Output, Running, Sidecar, field};

#[test]
fn each_user_of_a_real_broker_has_its_own_limit_and_the_metrics_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let passwords = folder.path().join("passwords");
    std::fs::write(&passwords, "").unwrap();
    for user in ["alice", "bob"] {
        let added = Command::new("mosquitto_passwd")
            .args(["-b", passwords.to_str().unwrap(), user, "secret"])
            .status()
            .expect("mosquitto_passwd is installed: tests/run installs it");
        assert!(added.success());
    }
    let file = passwords.to_str().unwrap();
    let broker = Mosquitto::start_with(&format!("password_file {file}\nuser root"));
    let sidecar = Sidecar::start(
        broker.address(),
        &[
            "--max-message-size=1Ki",
            "--limit=group:*/sensors=2Ki",
            "--group=*/sensors=alice",
            "--limit=user:bob=8Ki",
            "--limit=user:bob,address:t/small/#=512",
            // mosquitto_pub would not send what it knows to be too large.
            "--no-advertise",
        ],
    );
    let subscribed = later(broker.address(), &["-E"]);
    assert_eq!(subscribed.code, Some(0), "{}", subscribed.errors);

    let mut expected = Vec::new();
    for (user, topic, size, allowed) in [
        ("alice", "t/a", 1_500, true),
        ("alice", "t/a", 3_000, false),
        ("bob", "t/b", 3_000, true),
        ("bob", "t/b", 9_000, false),
        ("bob", "t/small/x", 400, true),
        ("bob", "t/small/x", 600, false),
    ] {
        let said = publish(sidecar.listen(), user, topic, size);
        if allowed {
            assert_eq!(said.errors, "", "{user} {topic} {size}");
            expected.push(format!("{topic} {size}"));
        } else {
            assert!(
                said.errors.contains("Quota exceeded"),
                "{user} {topic} {size}: {said:?}"
            );
        }
    }
    let received = later(broker.address(), &["-C", "3", "-W", "30", "-F", "%t %l"]);
    assert_eq!(received.lines, expected, "{}", received.errors);
    let metrics = sidecar.metrics();
    let denied = |group| {
        let labels = [
            ("group", group),
            ("action", "reject"),
            ("direction", "send"),
        ];
        metrics.value("sizegate_messages_denied_total", &labels)
    };
    assert_eq!((denied("*/sensors"), denied("other")), (1.0, 2.0));
    let line = sidecar.log_line(|line| {
        field(line, "message") == "message refused" && field(line, "user") == "alice"
    });
    assert_eq!(field(&line, "group"), "*/sensors");
    assert_eq!(field(&line, "rule"), "--limit group:*/sensors=2Ki");
    assert_eq!(
        (&line["size"], &line["limit"]),
        (&(3_000 + 3 + 2 + 3 + 2 + 1).into(), &2_048.into())
    );
    let line = sidecar.log_line(|line| field(line, "address") == "t/small/x");
    assert_eq!(
        field(&line, "rule"),
        "--limit user:bob,address:t/small/#=512"
    );
}

#[test]
fn a_user_with_a_wrong_password_gets_nothing_past_the_broker() {
    let conversation = Conversation::start(&["--max-message-size=1Ki", "--limit=user:root=0"]);
    let mut connect = Connect::new(Version::V5, "c");
    connect.user = Some("root".to_owned());
    connect.password = Some("wrong".to_owned());
    let (mut client, mut broker) = conversation.client_waiting(&connect);
    let message = Publish::new(Version::V5, 0, "t")
        .packet_len(30_000)
        .encode();
    client.send(message.repeat(10));
    let passed = 128 * 1024 - connect.encode().len();
    let whole = passed / message.len();
    broker.expect(
        message.repeat(whole),
        "what may pass before the broker agrees",
    );
    broker.send([0x20, 3, 0, 0x86, 0]);
    client.expect([0x20, 3, 0, 0x86, 0], "the broker's refusal");
    broker.shut_write();
    client.expect_eof("nothing of a client that was refused is answered");
    client.shut_write();
    broker.expect_eof("and nothing more of it passes");
}

#[test]
fn a_thousand_names_that_clients_choose_add_no_series() {
    let conversation = Conversation::start(&[
        "--mqtt-vhost=username",
        "--limit=vhost:tenant=1Ki",
        "--limit=vhost:*=512",
    ]);
    let series = || conversation.sidecar.get("/metrics").1.lines().count();
    let talk = |number: usize| {
        let mut connect = Connect::new(Version::V311, &format!("client-{number}"));
        connect.user = Some(format!("vhost{number}:user{number}"));
        let (mut client, _broker) = conversation.client_with(&connect);
        let message = Publish::new(Version::V311, 1, &format!("topic/{number}"));
        client.send(message.id(7).packet_len(600).encode());
        client.expect([0x40, 2, 0, 7], "acknowledged and dropped");
    };
    talk(0);
    let before = series();
    (1..1_000).for_each(talk);
    assert_eq!(series(), before);
    let labels = [("vhost", "*"), ("action", "drop")];
    let metrics = conversation.sidecar.metrics();
    assert_eq!(
        metrics.value("sizegate_messages_denied_total", &labels),
        1_000.0
    );
}

#[test]
fn a_network_is_known_whatever_a_client_claims() {
    let flags = [
        "--max-message-size=1Ki",
        "--limit=peer:127.0.0.0/8=0",
        "--limit=user:a=64",
    ];
    let conversation = Conversation::start(&flags);
    let mut connect = Connect::new(Version::V5, "c");
    connect.user = Some("a".to_owned());
    let (mut client, mut broker) = conversation.client_with(&connect);
    let message = Publish::new(Version::V5, 0, "t")
        .packet_len(100_000)
        .encode();
    client.send(&message);
    broker.expect(&message, "peer ranks above user");
}

/// Sends one message of QoS 1 with a payload of this size.
fn publish(to: SocketAddr, user: &str, topic: &str, size: usize) -> Output {
    let (port, payload) = (to.port().to_string(), "x".repeat(size));
    Running::start(
        "mosquitto_pub",
        &[
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-u",
            user,
            "-P",
            "secret",
            "-V",
            "mqttv5",
            "-q",
            "1",
            "-t",
            topic,
            "-m",
            &payload,
        ],
    )
    .finish()
}

/// A session of bob's that the broker keeps messages for.
fn later(broker: SocketAddr, flags: &[&str]) -> Output {
    let port = broker.port().to_string();
    let mut arguments = vec!["-h", "127.0.0.1", "-p", &port, "-u", "bob", "-P", "secret"];
    arguments.extend([
        "-V", "mqttv5", "-i", "later", "-c", "-x", "600", "-q", "1", "-t", "t/#",
    ]);
    arguments.extend(flags);
    Running::start("mosquitto_sub", &arguments).finish()
}
