//! The admin port: is it alive, is it ready, and do the metrics add up.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use support::mqtt::{Connect, DISCONNECT, PUBACK, PUBREC, Publish, Version, ack};
use support::{Conversation, FakeBroker, Metrics, Sidecar, expect_quiet};

#[test]
fn a_running_sidecar_is_alive_and_ready() {
    let conversation = Conversation::start(&[]);
    for path in ["/livez", "/healthz", "/readyz"] {
        assert_eq!(conversation.sidecar.get(path).0, 200, "{path}");
    }
}

#[test]
fn what_is_not_there_is_not_found() {
    let conversation = Conversation::start(&[]);
    for path in ["/", "/metric", "/metrics/x", "/livez/"] {
        assert_eq!(conversation.sidecar.get(path).0, 404, "{path}");
    }
}

#[test]
fn metrics_are_prometheus_text() {
    let conversation = Conversation::start(&[]);
    let (status, head, body) = conversation.sidecar.request("GET", "/metrics");
    assert_eq!(status, 200);
    assert!(
        head.contains("content-type: text/plain; version=0.0.4"),
        "{head}"
    );
    for name in METRICS {
        assert!(
            body.contains(&format!("# TYPE {name} ")),
            "{name} has a type"
        );
        assert!(
            body.contains(&format!("# HELP {name} ")),
            "{name} has a help text"
        );
    }
    let metrics = Metrics::parse(&body);
    for name in METRICS {
        if name != "sizegate_message_size_bytes" {
            assert!(
                metrics.sum(name, &[]).is_some(),
                "{name} is there from the start"
            );
        }
    }
}

#[test]
fn the_build_is_named() {
    let conversation = Conversation::start(&[]);
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    let build = conversation
        .sidecar
        .metrics()
        .value("sizegate_build_info", &version);
    assert!((build - 1.0).abs() < f64::EPSILON, "a constant 1");
}

#[test]
fn metrics_add_up_for_a_conversation() {
    for version in [Version::V311, Version::V5] {
        let conversation = Conversation::start(&["--max-message-size", "1000"]);
        let connect = Connect::new(version, "c");
        let (mut client, mut broker) = conversation.client_with(&connect);
        let mut to_broker = connect.encode().len();
        let mut to_client = version.connack().len();
        let mut sizes = 0;
        for (id, len) in [(1, 100), (2, 1000), (3, 100)] {
            let publish = Publish::new(version, 1, "t")
                .id(id)
                .packet_len(len)
                .encode();
            client.send(&publish);
            broker.expect(&publish, "an allowed message");
            broker.send(ack(PUBACK, id));
            client.expect(ack(PUBACK, id), "its PUBACK");
            to_broker += len;
            to_client += 4;
            sizes += len;
        }
        for (qos, len) in [(0, 1001), (1, 5000), (2, 20_000)] {
            client.send(
                Publish::new(version, qos, "t")
                    .id(9)
                    .packet_len(len)
                    .encode(),
            );
            sizes += len;
        }
        assert_eq!(client.read_packet()[0], PUBACK);
        assert_eq!(client.read_packet()[0], PUBREC);
        let down = Publish::new(version, 0, "t").packet_len(3000).encode();
        broker.send(&down);
        client.expect(&down, "a message to the client");
        to_client += down.len();
        expect_quiet(&mut client, &mut broker);
        to_broker += 2;
        to_client += 2;
        client.send([DISCONNECT, 0]);
        broker.expect([DISCONNECT, 0], "DISCONNECT");
        to_broker += 2;

        let sidecar = &conversation.sidecar;
        sidecar.metric_becomes("sizegate_connections_active", &[("protocol", "mqtt")], 1.0);
        drop(client);
        broker.expect_eof("the client's end");
        drop(broker);
        sidecar.metric_becomes("sizegate_connections_active", &[("protocol", "mqtt")], 0.0);
        let metrics = sidecar.metrics();
        let send = ("direction", "send");
        let receive = ("direction", "receive");
        let mqtt = ("protocol", "mqtt");
        // An old client is not told, whatever its QoS.
        let (dropped, rejected) = if version == Version::V5 {
            (1, 2)
        } else {
            (3, 0)
        };
        for (name, labels, expected) in [
            (
                "messages_total",
                vec![mqtt, send, ("verdict", "allowed")],
                3,
            ),
            ("messages_total", vec![mqtt, send, ("verdict", "denied")], 3),
            (
                "messages_total",
                vec![mqtt, send, ("verdict", "would-deny")],
                0,
            ),
            (
                "messages_total",
                vec![mqtt, receive, ("verdict", "allowed")],
                1,
            ),
            (
                "messages_total",
                vec![mqtt, receive, ("verdict", "denied")],
                0,
            ),
            ("messages_total", vec![], 7),
            (
                "messages_denied_total",
                vec![mqtt, send, ("action", "drop")],
                dropped,
            ),
            (
                "messages_denied_total",
                vec![mqtt, send, ("action", "reject")],
                rejected,
            ),
            ("messages_denied_total", vec![], 3),
            ("message_size_bytes_count", vec![mqtt, send], 6),
            ("message_size_bytes_sum", vec![mqtt, send], sizes),
            (
                "message_size_bytes_bucket",
                vec![mqtt, send, ("le", "+Inf")],
                6,
            ),
            (
                "message_size_bytes_bucket",
                vec![mqtt, send, ("le", "1024")],
                4,
            ),
            ("message_size_bytes_sum", vec![mqtt, receive], 3000),
            ("connections_total", vec![mqtt], 1),
            (
                "connections_closed_total",
                vec![mqtt, ("side", "client"), ("reason", "closed")],
                1,
            ),
            ("connections_closed_total", vec![], 1),
            ("forwarded_bytes_total", vec![send], to_broker),
            ("forwarded_bytes_total", vec![receive], to_client),
            ("malformed_total", vec![], 0),
            ("upstream_up", vec![], 1),
            ("upstream_connect_errors_total", vec![], 0),
            ("draining", vec![], 0),
        ] {
            let value = metrics.value(&format!("sizegate_{name}"), &labels);
            let expected = expected as f64;
            assert!(
                (value - expected).abs() < 0.5,
                "{name}{labels:?}: {value}, not {expected}"
            );
        }
    }
}

#[test]
fn without_an_admin_port_the_sidecar_works_all_the_same() {
    let broker = FakeBroker::start();
    let sidecar = Sidecar::start(broker.address(), &["--admin", "off"]);
    let conversation = Conversation { sidecar, broker };
    let (mut client, mut broker) = conversation.client(Version::V311, "c");
    expect_quiet(&mut client, &mut broker);
}

/// The metrics that every sidecar has, whatever its flags.
const METRICS: [&str; 12] = [
    "sizegate_messages_total",
    "sizegate_messages_denied_total",
    "sizegate_message_size_bytes",
    "sizegate_connections_total",
    "sizegate_connections_active",
    "sizegate_connections_closed_total",
    "sizegate_forwarded_bytes_total",
    "sizegate_malformed_total",
    "sizegate_upstream_up",
    "sizegate_upstream_connect_errors_total",
    "sizegate_draining",
    "sizegate_build_info",
];
