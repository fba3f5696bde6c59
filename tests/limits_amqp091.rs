//! AMQP 0-9-1 over sockets, between a scripted client and a scripted broker.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use support::amqp091::{
    CHANNEL_CLOSE, CLOSE, FRAME_MAX, Frame, NACK, REJECT, RETURN, ack, body, channel_close_ok,
    channel_open, channel_open_ok, close_ok, confirm_select, confirm_select_ok, deliver,
    expect_method, frame, opened, publish, publish_head, read_frame,
};
use support::{Conversation, Raw, field, pass};

const LIMIT: usize = 1 << 20;

#[test]
fn a_refused_publish_is_nacked_and_the_confirms_after_it_keep_their_numbers() {
    let conversation = Conversation::start(&["--max-message-size", "1000"]);
    let (mut client, mut broker) = opened(&conversation, &[1], 0);
    client.send(confirm_select(1));
    broker.expect(confirm_select(1), "confirm.select");
    broker.send(confirm_select_ok(1));
    client.expect(confirm_select_ok(1), "select-ok");

    let within = publish(1, "eu", 1000);
    client.send([&within[..], &publish(1, "eu", 1001), &within].concat());
    broker.expect([&within[..], &within].concat(), "what is within the limit");
    let nack = expect_method(&mut client, 1, NACK);
    assert_eq!(nack.tag(), (2, 0));
    broker.send(ack(1, 2, true));
    client.expect(ack(1, 3, true), "the ack, with the number of the client's");

    let line = conversation
        .sidecar
        .log_line(|line| field(line, "message").contains("refused"));
    for (name, value) in [
        ("protocol", "amqp091"),
        ("vhost", "prod"),
        ("user", "alice"),
        ("client", "billing"),
        ("address", "events/eu"),
        ("direction", "send"),
        ("size", "1001"),
        ("limit", "1000"),
        ("rule", "--max-message-size"),
        ("action", "reject"),
        ("verdict", "denied"),
    ] {
        assert_eq!(field(&line, name), value, "{name} in {line}");
    }
    let sidecar = &conversation.sidecar;
    let send = [("protocol", "amqp091"), ("direction", "send")];
    let messages = |verdict| [&send[..], &[("verdict", verdict)]].concat();
    sidecar.metric_becomes("sizegate_messages_total", &messages("allowed"), 2.0);
    sidecar.metric_becomes("sizegate_messages_total", &messages("denied"), 1.0);
    let denied = [&send[..], &[("action", "reject")]].concat();
    sidecar.metric_becomes("sizegate_messages_denied_total", &denied, 1.0);
    let active = [("protocol", "amqp091")];
    sidecar.metric_becomes("sizegate_connections_active", &active, 1.0);
}

#[test]
fn rules_for_vhost_user_connection_name_and_address_hold() {
    let flags = [
        ("vhost:prod=1000", "eu", 1000),
        ("user:alice=1000", "eu", 1000),
        ("client:bill*=1000", "eu", 1000),
        ("address:events/eu.*=1000", "eu.paid", 1000),
        ("group:prod/staff=1000", "eu", 1000),
    ];
    for (rule, key, limit) in flags {
        let flags = ["--limit", rule, "--group", "prod/staff=alice"];
        let conversation = Conversation::start(&flags);
        let (mut client, mut broker) = opened(&conversation, &[1], 0);
        client.send([publish(1, key, limit + 1), publish(1, key, limit)].concat());
        broker.expect(publish(1, key, limit), "what is within the limit");
        let returned = expect_method(&mut client, 1, RETURN);
        let text = format!(
            "Message size exceeded: {} octets, limit {limit}, set by --limit {rule}",
            limit + 1
        );
        assert_eq!(returned.reason(), (311, text));
        let header = read_frame(&mut client);
        assert_eq!(
            (header.kind, &header.payload[4..12]),
            (2, &[0; 8][..]),
            "an empty body"
        );
    }
}

#[test]
fn a_delivery_over_the_limit_is_rejected_and_the_next_one_passes() {
    let conversation = Conversation::start(&["--max-receive-size", "1000"]);
    let (mut client, mut broker) = opened(&conversation, &[1], 0);
    let within = deliver(1, 2, "eu", 1000);
    broker.send([&deliver(1, 1, "eu", 1001)[..], &within].concat());
    client.expect(&within, "what is within the limit");
    let reject = expect_method(&mut broker, 1, REJECT);
    assert_eq!(reject.tag(), (1, 0), "it does not go back to its queue");
    client.send(ack(1, 2, true));
    broker.expect(ack(1, 2, true), "the client's ack");
    let denied = [("direction", "receive"), ("action", "reject")];
    let sidecar = &conversation.sidecar;
    sidecar.metric_becomes("sizegate_messages_denied_total", &denied, 1.0);
}

#[test]
fn detach_closes_the_channel_of_the_broker_and_then_of_the_client() {
    let conversation =
        Conversation::start(&["--max-message-size", "1000", "--on-oversize", "detach"]);
    let (mut client, mut broker) = opened(&conversation, &[1, 2], 0);
    let text = "Message size exceeded: 1001 octets, limit 1000, set by --max-message-size";
    client.send(
        [
            publish(1, "eu", 1001),
            publish(1, "eu", 5),
            publish(2, "eu", 5),
        ]
        .concat(),
    );
    let close = expect_method(&mut broker, 1, CHANNEL_CLOSE);
    assert_eq!(close.reason(), (311, text.to_owned()));
    broker.expect(publish(2, "eu", 5), "the other channel");
    broker.send([ack(2, 1, false), channel_close_ok(1)].concat());
    client.expect(ack(2, 1, false), "what the broker said before");
    let close = expect_method(&mut client, 1, CHANNEL_CLOSE);
    assert_eq!(close.reason(), (311, text.to_owned()));
    client.send([channel_close_ok(1), channel_open(1), publish(1, "eu", 5)].concat());
    broker.expect(
        [channel_open(1), publish(1, "eu", 5)].concat(),
        "the channel again",
    );
    broker.send(channel_open_ok(1));
    client.expect(channel_open_ok(1), "the channel again");
}

#[test]
fn close_ends_both_connections_in_an_orderly_way() {
    let flags = [
        "--max-message-size",
        "1000",
        "--on-oversize",
        "close",
        "--linger",
        "20s",
    ];
    let conversation = Conversation::start(&flags);
    let (mut client, mut broker) = opened(&conversation, &[1], 0);
    // Nothing of its body has to come.
    client.send(publish_head(1, "eu", 1001));
    let text = "Message size exceeded: 1001 octets, limit 1000, set by --max-message-size";
    for peer in [&mut client, &mut broker] {
        let close = expect_method(peer, 0, CLOSE);
        assert_eq!(close.reason(), (320, text.to_owned()));
    }
    for peer in [&mut client, &mut broker] {
        peer.send(close_ok());
    }
    for peer in [&mut client, &mut broker] {
        peer.expect_eof("the end after close-ok");
    }
    drop((client, broker));
    let labels = [
        ("protocol", "amqp091"),
        ("side", "client"),
        ("reason", "oversize"),
    ];
    let sidecar = &conversation.sidecar;
    sidecar.metric_becomes("sizegate_connections_closed_total", &labels, 1.0);
}

#[test]
fn a_dry_run_forwards_everything_and_counts_what_it_would_have_refused() {
    let flags = [
        "--max-message-size",
        "1000",
        "--max-receive-size",
        "1000",
        "--dry-run",
    ];
    let conversation = Conversation::start(&flags);
    let (mut client, mut broker) = opened(&conversation, &[1], 0);
    pass(
        &mut client,
        &mut broker,
        &publish(1, "eu", 5000),
        "a publish",
    );
    pass(
        &mut broker,
        &mut client,
        &deliver(1, 1, "eu", 5000),
        "a delivery",
    );
    for direction in ["send", "receive"] {
        let labels = [
            ("protocol", "amqp091"),
            ("direction", direction),
            ("verdict", "would-deny"),
        ];
        conversation
            .sidecar
            .metric_becomes("sizegate_messages_total", &labels, 1.0);
    }
}

#[test]
fn a_broker_hears_heartbeats_while_a_message_goes_nowhere() {
    let conversation = Conversation::start(&["--max-message-size", "1000"]);
    let (mut client, mut broker) = opened(&conversation, &[1], 1);
    client.send(publish_head(1, "eu", 100_000_000));
    let piece = frame(3, 1, &[b'b'; 1000]);
    let mut writer = client.writer();
    let (stop, stopped) = std::sync::mpsc::channel();
    let feeder = std::thread::spawn(move || {
        // As long as the broker has not heard enough.
        let each = std::time::Duration::from_millis(100);
        while stopped.recv_timeout(each).is_err() {
            writer.send(&piece);
        }
    });
    for _ in 0..2 {
        let heartbeat = read_frame(&mut broker);
        assert_eq!((heartbeat.kind, heartbeat.channel), (8, 0));
        assert_eq!(heartbeat.payload, b"");
    }
    stop.send(()).unwrap();
    feeder.join().unwrap();
}

#[test]
fn a_huge_message_costs_no_memory_in_any_mode() {
    for mode in ["reject", "detach", "close", "dry-run"] {
        let limit = LIMIT.to_string();
        let mut flags = vec!["--max-message-size", &limit, "--linger", "1s"];
        match mode {
            "dry-run" => flags.push("--dry-run"),
            mode => flags.extend(["--on-oversize", mode]),
        }
        let conversation = Conversation::start(&flags);
        let (mut client, mut broker) = opened(&conversation, &[1, 2], 0);
        let before = conversation.sidecar.peak_rss_kib();
        let mut writer = client.writer();
        // After a close it may not be able to write all of it.
        let sender = std::thread::spawn(move || write_huge(&mut writer));
        let text = format!("{HUGE} octets, limit {LIMIT}, set by --max-message-size");
        let says = |frame: Frame, code| {
            let (its, reason) = frame.reason();
            assert!(
                its == code && reason.ends_with(&text),
                "{mode}: {its} {reason}"
            );
        };
        match mode {
            "reject" => {
                says(expect_method(&mut client, 1, RETURN), 311);
                assert_eq!(read_frame(&mut client).kind, 2);
            }
            "detach" => {
                says(expect_method(&mut broker, 1, CHANNEL_CLOSE), 311);
                broker.send(channel_close_ok(1));
                says(expect_method(&mut client, 1, CHANNEL_CLOSE), 311);
            }
            "close" => {
                says(expect_method(&mut client, 0, CLOSE), 320);
                says(expect_method(&mut broker, 0, CLOSE), 320);
            }
            _ => {
                broker.expect(publish_head(1, "eu", HUGE), "the head");
                let mut left = HUGE;
                while left > 0 {
                    left -= read_frame(&mut broker).payload.len();
                }
            }
        }
        let all = sender.join().unwrap();
        if mode != "close" {
            all.unwrap();
            client.send(publish(2, "eu", 100));
            broker.expect(publish(2, "eu", 100), "the next message");
        }
        let grown = conversation.sidecar.peak_rss_kib() - before;
        assert!(grown < 16 * 1024, "{mode}: memory has grown by {grown} KiB");
    }
}

/// Writes one message of [`HUGE`] octets in frames that are as large as they may be.
fn write_huge(writer: &mut Raw) -> std::io::Result<()> {
    let write = |octets: &[u8]| std::io::Write::write_all(&mut writer.stream(), octets);
    write(&publish_head(1, "eu", HUGE))?;
    let full = FRAME_MAX as usize - 8;
    let frame = body(1, full);
    for _ in 0..HUGE / full {
        write(&frame)?;
    }
    write(&body(1, HUGE % full))
}

/// Octets of the huge message.
const HUGE: usize = 200_000_000;
