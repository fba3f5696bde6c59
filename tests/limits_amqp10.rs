//! AMQP 1.0 over sockets, between a scripted client and a scripted broker.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

mod support;

use support::amqp10::{
    ATTACH, BEGIN, CLOSE, DETACH, DISPOSITION, FLOW, HEADER, Link, OPEN, SASL_HEADER,
    SASL_MECHANISMS, SASL_OUTCOME, TRANSFER, accepted, attach_receiver, attach_sender, begin,
    close, detach, flow, message, open, read_frame, read_until, sasl_init, transfer,
};
use support::{Conversation, Raw, Sidecar, free_port};

const LIMIT: usize = 1 << 20;
const FIRST: Link = Link {
    handle: 0,
    address: "first",
};
const OTHER: Link = Link {
    handle: 1,
    address: "other",
};

#[test]
fn a_refusal_in_a_batch_of_all_at_once_is_said_after_the_broker_has_answered() {
    let conversation = Conversation::start(&["--max-message-size", "1000", "--no-advertise"]);
    let mut client = conversation.connect();
    let small = transfer(FIRST, 0, false, &message(1000));
    let large = transfer(FIRST, 1, false, &message(1001));
    let before = [
        HEADER,
        &open("c", FRAME),
        &begin(None),
        &attach_sender(FIRST),
    ]
    .concat();
    client.send([&before[..], &small, &large].concat());
    let mut broker = conversation.broker.accept();
    broker.expect(&before, "all before the messages");
    broker.expect(&small, "the message within the limit");
    let answers = [
        HEADER,
        &open("b", FRAME),
        &begin(Some(0)),
        &attach_receiver(FIRST),
        &flow(FIRST, 10),
    ]
    .concat();
    broker.send(&answers);
    client.expect(HEADER, "the broker's header");
    for code in [OPEN, BEGIN] {
        assert_eq!(read_frame(&mut client).code, Some(code));
    }
    let exceeded = "Message size exceeded: 1001 octets, limit 1000, set by --max-message-size";
    let rejected = read_until(&mut client, DISPOSITION);
    rejected.expect(DISPOSITION, &["amqp:link:message-size-exceeded", exceeded]);

    broker.send(accepted(0));
    read_until(&mut client, DISPOSITION).expect(DISPOSITION, &["\x00\x53\x24"]);
    client.send(transfer(FIRST, 2, false, &message(10)));
    let last = read_until(&mut broker, TRANSFER);
    // The broker's ids have no gap; the delivery-tag is still the client's.
    let numbered = [&[0x52, 1, 0xa0, 4][..], &2_u32.to_be_bytes()].concat();
    assert!(last.octets.windows(8).any(|octets| octets == numbered));
}

#[test]
fn a_client_of_a_broker_that_is_down_is_told_so_by_a_close() {
    for with_sasl in [false, true] {
        let upstream = format!("127.0.0.1:{}", free_port());
        let sidecar = Sidecar::start_before(&upstream, &[]);
        let mut client = Raw::connect(sidecar.listen());
        if with_sasl {
            client.send(SASL_HEADER);
            client.expect(SASL_HEADER, "the header of the SASL layer");
            read_frame(&mut client).expect(SASL_MECHANISMS, &["ANONYMOUS"]);
            client.send(sasl_init());
            read_frame(&mut client).expect(SASL_OUTCOME, &[]);
        }
        client.send([HEADER, &open("c", FRAME)].concat());
        client.expect(HEADER, "a header");
        read_frame(&mut client).expect(OPEN, &[]);
        let texts = ["amqp:connection:forced", "the broker cannot be reached"];
        read_frame(&mut client).expect(CLOSE, &texts);
        client.expect_eof("the end after close");
        drop(client);
        sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
        let attempts = sidecar.metrics();
        let attempts = attempts.value("sizegate_upstream_connect_errors_total", &[]);
        assert!(
            (attempts - 1.0).abs() < 0.5,
            "{attempts} attempts to reach the broker"
        );
    }
}

#[test]
fn a_draining_sidecar_closes_both_connections_in_an_orderly_way() {
    let mut conversation = Conversation::start(&["--drain-timeout", "100ms", "--linger", "20s"]);
    let (mut client, mut broker) = opened(&conversation);
    conversation.sidecar.signal("TERM");
    read_frame(&mut client).expect(CLOSE, &["amqp:connection:forced"]);
    client.expect_eof("the end after close");
    read_frame(&mut broker).expect(CLOSE, &[]);
    client.send(close());
    broker.send(close());
    drop((client, broker));
    assert_eq!(conversation.sidecar.wait().code(), Some(0));
}

#[test]
fn a_huge_delivery_costs_no_memory_in_any_mode() {
    for mode in ["reject", "detach", "close", "dry-run"] {
        let limit = LIMIT.to_string();
        let mut flags = vec!["--max-message-size", &limit, "--linger", "1s"];
        match mode {
            "dry-run" => flags.push("--dry-run"),
            mode => flags.extend(["--on-oversize", mode]),
        }
        let conversation = Conversation::start(&flags);
        let (mut client, mut broker) = opened(&conversation);
        let before = conversation.sidecar.peak_rss_kib();
        let mut writer = client.writer();
        // After a close it may not be able to write all of it.
        let sender = std::thread::spawn(move || write_huge(&mut writer));
        match mode {
            "reject" => {
                let text = format!("{HUGE} octets, limit {LIMIT}, set by --max-message-size");
                read_until(&mut client, DISPOSITION).expect(DISPOSITION, &[&text]);
            }
            "detach" => {
                let text = format!(", limit {LIMIT}, set by --max-message-size");
                read_until(&mut client, DETACH).expect(DETACH, &["at least ", &text]);
                let swallowed = read_until(&mut broker, DETACH);
                swallowed.expect(DETACH, &["amqp:link:message-size-exceeded"]);
                broker.send(detach(FIRST));
            }
            "close" => {
                let texts = ["amqp:connection:forced", "Message size exceeded"];
                read_until(&mut client, CLOSE).expect(CLOSE, &texts);
                read_until(&mut broker, CLOSE);
            }
            _ => {
                let frames = (0..).map(|_| read_frame(&mut broker));
                let overhead = transfer(FIRST, 0, true, &[]).len();
                let mut left = HUGE;
                for frame in frames {
                    frame.expect(TRANSFER, &[]);
                    left -= frame.octets.len() - overhead;
                    if left == 0 {
                        break;
                    }
                }
            }
        }
        let all = sender.join().unwrap();
        if mode != "close" {
            all.unwrap();
            if mode == "detach" {
                client.send(detach(FIRST));
            }
            client.send(transfer(OTHER, 1, false, &message(100)));
            let next = read_until(&mut broker, TRANSFER);
            assert!(
                next.octets.ends_with(&message(100)),
                "{mode}: the next message"
            );
        }
        let grown = conversation.sidecar.peak_rss_kib() - before;
        assert!(grown < 16 * 1024, "{mode}: memory has grown by {grown} KiB");
    }
}

/// A client that this broker has accepted, with two links that have credit.
fn opened(conversation: &Conversation) -> (Raw, Raw) {
    let mut client = conversation.connect();
    let begins = [
        HEADER,
        &open("c", FRAME),
        &begin(None),
        &attach_sender(FIRST),
        &attach_sender(OTHER),
    ];
    client.send(begins.concat());
    let mut broker = conversation.broker.accept();
    broker.expect(begins.concat(), "what the client begins with");
    let answers = [
        HEADER,
        &open("b", FRAME),
        &begin(Some(0)),
        &attach_receiver(FIRST),
        &attach_receiver(OTHER),
        &flow(FIRST, 10),
        &flow(OTHER, 10),
    ];
    broker.send(answers.concat());
    client.expect(HEADER, "the broker's header");
    for code in [OPEN, BEGIN, ATTACH, ATTACH, FLOW, FLOW] {
        assert_eq!(read_frame(&mut client).code, Some(code));
    }
    (client, broker)
}

/// Writes one delivery of [`HUGE`] octets in frames that are as large as they may be.
fn write_huge(writer: &mut Raw) -> std::io::Result<()> {
    let overhead = transfer(FIRST, 0, true, &[]).len();
    let full = transfer(FIRST, 0, true, &vec![b'h'; FRAME as usize - overhead]);
    let mut left = HUGE;
    while left > full.len() - overhead {
        std::io::Write::write_all(&mut writer.stream(), &full)?;
        left -= full.len() - overhead;
    }
    let last = transfer(FIRST, 0, false, &vec![b'h'; left]);
    std::io::Write::write_all(&mut writer.stream(), &last)
}

/// Payload octets of the huge delivery.
const HUGE: usize = 200_000_000;
/// What both peers say is the largest frame that they take.
const FRAME: u32 = 16 * 1024;
