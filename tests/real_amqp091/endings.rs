//! `--on-oversize detach` and `close`, transactions, a broker that is down and a sidecar that goes:
//! what ends, what lives on, and what the client is told.

use serde_json::{Value, json};

use crate::plan::{Channel, HEARTBEAT, Library, Mode, Plan, refusal};
use crate::support::amqp091::{
    CLOSE, HEADER, channel_open_ok, close_ok, confirm_select_ok, content_header, expect_method,
    frame, method, open_ok, read_frame, short, start, tune,
};
use crate::support::{FakeBroker, RabbitMq, Raw, Release, Sidecar, free_port};
use crate::{LIMIT, expect_counts, expect_queues};

#[test]
fn detach_ends_the_channel_of_the_message_and_the_other_channels_live_on() {
    for release in [Release::V3, Release::V4] {
        let broker = RabbitMq::shared(release);
        for library in Library::ALL {
            let case = format!("{release:?} and {library:?}");
            let sidecar = sidecar(broker, "detach");
            let queue = |name: &str| format!("detach-{library:?}-{name}");
            let channel = |name, mode, sizes| Channel::with_sizes(queue(name), mode, sizes);
            let mut plan = Plan::new(vec![
                channel("ends", Mode::Confirm, vec![5 * LIMIT]),
                channel("plain", Mode::Plain, vec![2 * LIMIT]),
                channel("lives", Mode::Confirm, vec![LIMIT; 50]),
            ]);
            plan.failing = 2;
            let sent = library.send(sidecar.listen(), &plan);
            assert_eq!(sent["closed"], Value::Null, "{case}");
            for (number, size) in [(0, 5 * LIMIT), (1, 2 * LIMIT)] {
                let channel = &sent["channels"][number];
                expect_error(library, &channel["error"], 311, &refusal(size, LIMIT));
                assert_eq!(channel["outcomes"], json!([null, null]), "{case}");
                assert_eq!(channel["returned"], json!([]), "{case}");
            }
            let lives = &sent["channels"][2];
            assert_eq!(lives["error"], Value::Null, "{case}");
            assert_eq!(lives["outcomes"], plan.outcomes(2, LIMIT), "{case}");
            expect_counts(&sidecar, "send", 50 + 1, &[("detach", 2)]);
            let counts = [("ends", 0), ("plain", 0), ("lives", 50 + 1)];
            expect_queues(broker, &counts.map(|(name, count)| (queue(name), count)));
        }
    }
}

#[test]
fn close_ends_the_connection_and_says_why() {
    for release in [Release::V3, Release::V4] {
        let broker = RabbitMq::shared(release);
        for library in Library::ALL {
            let sidecar = sidecar(broker, "close");
            let queue = format!("close-{library:?}");
            let mut sizes = vec![LIMIT; 10];
            sizes.push(5 * LIMIT);
            let mut plan = Plan::new(vec![Channel::with_sizes(
                queue.clone(),
                Mode::Confirm,
                sizes,
            )]);
            plan.failing = 1;
            let sent = library.send(sidecar.listen(), &plan);
            let error = match library {
                // Its channels know better than its connection.
                Library::Lapin => &sent["channels"][0]["error"],
                _ => &sent["closed"],
            };
            expect_error(library, error, 320, &refusal(5 * LIMIT, LIMIT));
            sidecar.metric_becomes("sizegate_connections_active", &[], 0.0);
            expect_counts(&sidecar, "send", 10, &[("close", 1)]);
            expect_queues(broker, &[(queue, 10)]);
        }
    }
}

#[test]
fn a_transaction_is_committed_as_a_whole_or_not_at_all() {
    for release in [Release::V3, Release::V4] {
        let broker = RabbitMq::shared(release);
        let limit = LIMIT.to_string();
        let sidecar = Sidecar::start(broker.address(), &["--max-message-size", &limit]);
        let channel = |name: &str, sizes| Channel::with_sizes(name.to_owned(), Mode::Tx, sizes);
        let mut plan = Plan::new(vec![
            channel("tx-whole", vec![LIMIT; 10]),
            channel("tx-not", vec![LIMIT, LIMIT + 1, LIMIT]),
        ]);
        plan.failing = 1;
        // The one library of these that commits.
        let sent = Library::Pika.send(sidecar.listen(), &plan);
        assert_eq!(sent["closed"], Value::Null);
        assert_eq!(sent["channels"][0]["error"], Value::Null);
        let error = &sent["channels"][1]["error"];
        expect_error(Library::Pika, error, 311, &refusal(LIMIT + 1, LIMIT));
        expect_counts(&sidecar, "send", 10 + 1 + 1, &[("detach", 1)]);
        let counts = [("tx-whole", 10 + 1), ("tx-not", 0)];
        expect_queues(
            broker,
            &counts.map(|(name, count)| (name.to_owned(), count)),
        );
    }
}

#[test]
fn every_library_understands_that_the_broker_is_down() {
    let sidecar = Sidecar::start_before(&format!("127.0.0.1:{}", free_port()), &[]);
    for library in Library::ALL {
        let closed = library.idle(sidecar.listen(), || panic!("there is no broker"));
        if matches!(library, Library::AioPika | Library::Amqplib) {
            // They fail over being told no here, be it by RabbitMQ, and keep the reason to themselves.
            let said = closed[1].as_str().unwrap().replace('.', "");
            assert!(said.contains("ConnectionClose"), "{library:?}: {said}");
            continue;
        }
        expect_error(library, &closed, 320, "The broker cannot be reached");
    }
}

#[test]
fn every_library_hears_the_goodbye_of_a_sidecar_that_goes() {
    for release in [Release::V3, Release::V4] {
        let broker = RabbitMq::shared(release);
        for library in Library::ALL {
            let flags = ["--drain-timeout", "0s", "--linger", "20s"];
            let mut sidecar = Sidecar::start(broker.address(), &flags);
            let closed = library.idle(sidecar.listen(), || sidecar.signal("TERM"));
            expect_error(library, &closed, 320, "sizegate is shutting down");
            assert_eq!(
                sidecar.wait().code(),
                Some(0),
                "{release:?} and {library:?}"
            );
        }
    }
}

#[test]
fn every_library_takes_a_goodbye_within_a_delivery() {
    for library in Library::ALL {
        let broker = FakeBroker::start();
        let flags = ["--drain-timeout", "0s", "--linger", "20s"];
        let sidecar = Sidecar::start(broker.address(), &flags);
        let mut channel = Channel::with_sizes("any".to_owned(), Mode::Plain, Vec::new());
        channel.until = 1;
        let plan = Plan::new(vec![channel]);
        let received = std::thread::scope(|scope| {
            let client = scope.spawn(|| library.receive(sidecar.listen(), &plan));
            let mut broker = broker.accept();
            serve(&mut broker);
            sidecar.signal("TERM");
            let close = expect_method(&mut broker, 0, CLOSE);
            assert_eq!(close.reason().0, 320);
            broker.send(close_ok());
            client.join().unwrap()
        });
        let closed = &received["closed"];
        match library {
            // It tells a consumer no more; what it makes of the goodbye is above.
            Library::Lapin => assert_eq!(*closed, json!(["consumer ended"])),
            _ => expect_error(library, closed, 320, "sizegate is shutting down"),
        }
    }
}

/// Answers a client until it consumes, and begins to deliver a second message to it.
fn serve(broker: &mut Raw) {
    broker.expect(HEADER, "the protocol header");
    broker.send(start());
    loop {
        let asked = read_frame(broker);
        let channel = asked.channel;
        let answer = match asked.method() {
            // connection.start-ok, tune-ok and open, channel.open, basic.qos, confirm.select
            (10, 11) => tune(HEARTBEAT),
            (10, 31) => continue,
            (10, 40) => open_ok(),
            (20, 10) => channel_open_ok(channel),
            (60, 10) => method(channel, (60, 11), &[]),
            (85, 10) => confirm_select_ok(channel),
            // basic.consume: reserved, queue, consumer-tag
            (60, 20) => {
                let at = 7 + usize::from(asked.payload[6]);
                let tag = &asked.payload[at + 1..at + 1 + usize::from(asked.payload[at])];
                let tag = if tag.is_empty() { b"chosen" } else { tag };
                broker.send(method(channel, (60, 21), &[&short(tag)]));
                let deliver = |number: u64, size: usize| {
                    // delivery-tag, redelivered, exchange, routing-key
                    let which = [&number.to_be_bytes()[..], &[0, 0, 0]].concat();
                    let deliver = method(channel, (60, 60), &[&short(tag), &which]);
                    [deliver, content_header(channel, size)].concat()
                };
                let whole = [deliver(1, 8), frame(3, channel, b"00000000")].concat();
                let begun = [deliver(2, 10_000), frame(3, channel, &[b'b'; 5_000])].concat();
                broker.send([whole, begun].concat());
                continue;
            }
            // basic.ack of what came together with the delivery that is to be broken off
            (60, 80) => return,
            other => panic!("the client says {other:?}"),
        };
        broker.send(answer);
    }
}

fn sidecar(broker: &RabbitMq, on_oversize: &str) -> Sidecar {
    let limit = LIMIT.to_string();
    let flags = ["--max-message-size", &limit, "--on-oversize", on_oversize];
    Sidecar::start(broker.address(), &flags)
}

/// The library was told a code and a text; where it keeps no code of its own, the text has it.
fn expect_error(library: Library, error: &Value, code: u16, text: &str) {
    let said = error[1]
        .as_str()
        .unwrap_or_else(|| panic!("{library:?}: {error}"));
    assert!(said.contains(text), "{library:?}: {error}");
    let is_coded = error[0] == code || (error[0].is_null() && said.contains(&code.to_string()));
    assert!(is_coded, "{library:?}: {error}");
}
