//! What grows with a peer has a ceiling, and a side that starves is fed.

use parsers::amqp091::{Channel, Tune};

use super::*;

/// The connection was ended because there was too much of something, and this is what the client
/// heard then.
#[track_caller]
fn has_too_many(raw: &mut Raw, heard: &[u8], what: &str) {
    let text = format!("Too many {what}");
    assert!(heard == close(506, &text), "{}", difference(heard, &[]));
    assert!(raw.hears(Side::Broker).ends_with(&close(320, &text)));
    raw.has_ended(Ending::by(Side::Client, Reason::Oversize));
}

#[test]
fn a_client_may_open_8192_channels() {
    let mut raw = Raw::opened(Terms::default());
    for number in 1..=8_192 {
        raw.passes(Side::Client, &channel_open(Channel(number)));
    }
    // One that is closed makes room for another.
    raw.passes(Side::Client, &channel_close(ONE, 200, "", (0, 0)));
    raw.passes(Side::Broker, &channel_close_ok(ONE));
    raw.passes(Side::Client, &channel_open(Channel(8_193)));
    raw.says(Side::Client, &channel_open(Channel(8_194)));
    let heard = raw.hears(Side::Client);
    has_too_many(&mut raw, &heard, "channels");
}

#[test]
fn publishes_that_wait_for_their_headers_are_bounded() {
    let mut raw = Raw::opened(Terms::default());
    let long = "k".repeat(255).leak();
    let publish = |number| {
        Message {
            exchange: long,
            routing_key: long,
            ..Message::on(Channel(number), 5)
        }
        .publish()
    };
    let each = publish(1).len();
    let most = (4 << 20) / each;
    assert!(most < 8_192, "channels are not the first to be used up");
    for number in 1..=most as u16 + 1 {
        raw.passes(Side::Client, &channel_open(Channel(number)));
        raw.says(Side::Client, &publish(number));
        raw.says(Side::Client, &heartbeat());
        if number as usize <= most {
            raw.expect(Side::Broker, &heartbeat());
        }
    }
    let heard = raw.hears(Side::Client);
    has_too_many(&mut raw, &heard, "things under way");
}

#[test]
fn consumers_that_do_not_acknowledge_are_bounded() {
    let mut raw = Raw::begun(Terms::default());
    let name = "n".repeat(200);
    let mut number = 0;
    let heard = loop {
        number += 1;
        assert!(number < 100_000, "they are not");
        let tag = format!("{name}{number:05}");
        raw.says(Side::Client, &consume(ONE, &tag, true, true));
        let heard = raw.hears(Side::Client);
        if !heard.is_empty() {
            break heard;
        }
    };
    // A name of 205 octets and what it takes to find it.
    assert_eq!(number, (4 << 20) / (205 + 64) + 1);
    has_too_many(&mut raw, &heard, "things under way");
}

#[test]
fn consumers_that_come_and_go_cost_nothing() {
    let mut raw = Raw::begun(Terms::default());
    let name = "n".repeat(200);
    for number in 0..40_000 {
        let tag = format!("{name}{number:05}");
        raw.says(Side::Client, &consume(ONE, &tag, true, number % 2 == 0));
        if number % 2 == 1 {
            raw.says(Side::Broker, &consume_ok(ONE, &tag));
        }
        raw.says(Side::Client, &cancel(ONE, &tag, number % 3 == 0));
        if number % 3 > 0 {
            raw.says(Side::Broker, &cancel_ok(ONE, &tag));
        }
        for side in SIDES {
            raw.hears(side);
        }
    }
    assert_eq!(SIDES.map(|side| raw.gate.ending(side)), [None, None]);
}

#[test]
fn a_client_is_not_read_while_it_has_much_to_hear_behind_a_content() {
    let mut raw = Raw::confirming(Terms::default());
    let delivery = Message::of(50);
    raw.passes(
        Side::Broker,
        &[delivery.deliver("c", 1), delivery.header()].concat(),
    );
    // What it is to be told has to wait for the end of the delivery.
    let message = Message::mandatory(101).whole();
    let mut sent = 0;
    while !raw.gate.waits(Side::Client) {
        raw.says(Side::Client, &message);
        sent += 1;
        assert!(sent < 10_000, "it is read on and on");
    }
    raw.is_quiet();
    raw.says(Side::Broker, &delivery.body_in(50));
    let heard = raw.hears(Side::Client);
    let (frames, _) = frames(&heard);
    // The body, and for each publish return, header and nack.
    assert_eq!(frames.len(), 1 + 3 * sent);
    assert!(!raw.gate.waits(Side::Client));
}

/// Lets the broker deliver messages over the limit until the client is told something; counts them to
/// the next hundred.
fn deliver_to_the_end(raw: &mut Raw) -> (usize, Vec<u8>) {
    let hundred: Vec<_> = (0..100)
        .map(|tag| Message::of(101).delivered("c", tag))
        .collect();
    let hundred = hundred.concat();
    let mut count = 0;
    loop {
        assert!(count < 1_000_000, "there is no bound");
        count += 100;
        raw.says(Side::Broker, &hundred);
        let heard = raw.hears(Side::Client);
        if !heard.is_empty() {
            return (count, heard);
        }
        raw.hears(Side::Broker);
    }
}

#[test]
fn rejects_that_wait_for_a_content_are_bounded() {
    let mut raw = Raw::begun(Terms::default());
    let message = Message::of(50);
    raw.passes(
        Side::Client,
        &[message.publish(), message.header()].concat(),
    );
    let (count, heard) = deliver_to_the_end(&mut raw);
    let most = (4 << 20) / reject(ONE, 1).len();
    assert!((most..most + 101).contains(&count), "{count}");
    has_too_many(&mut raw, &heard, "things under way");
}

#[test]
fn rejects_of_a_transaction_are_bounded() {
    let mut raw = Raw::begun(Terms::default());
    raw.passes(Side::Client, &tx(ONE, 10));
    let (count, heard) = deliver_to_the_end(&mut raw);
    let most = (4 << 20) / 32;
    assert!((most - 10..most + 101).contains(&count), "{count}");
    has_too_many(&mut raw, &heard, "things under way");
}

#[test]
fn a_side_that_starves_gets_heartbeats() {
    let mut raw = Raw::new(Terms::default());
    raw.open(Tune {
        heartbeat: 10,
        ..TUNE
    });
    raw.begin();
    let message = Message::of(100_000);
    let body = message.body_in(4_088);
    let mut pieces = body.chunks(4_096);
    let mut more = |raw: &mut Raw| {
        raw.is_kept(Side::Client, pieces.next().expect("a piece"));
    };
    assert_eq!(raw.gate.gate.tick_after(), None);
    raw.is_kept(
        Side::Client,
        &[message.publish(), message.header()].concat(),
    );
    more(&mut raw);
    let half = std::time::Duration::from_secs(5);
    assert_eq!(raw.gate.gate.tick_after(), Some(half));
    // It has heard something in the meantime.
    assert!(raw.gate.tick());
    raw.is_quiet();
    more(&mut raw);
    assert!(raw.gate.tick());
    raw.expect(Side::Broker, &heartbeat());
    more(&mut raw);
    raw.passes(Side::Client, &Message::on(TWO, 5).whole());
    assert!(raw.gate.tick());
    raw.is_quiet();
    // A client that is gone is missed.
    assert!(!raw.gate.tick());
    more(&mut raw);
    assert!(raw.gate.tick());
    raw.expect(Side::Broker, &heartbeat());
    raw.expect(Side::Client, &NOTHING);
}

#[test]
fn a_publish_that_waits_for_its_header_brings_no_heartbeats() {
    let mut raw = Raw::new(Terms::default());
    raw.open(Tune {
        heartbeat: 10,
        ..TUNE
    });
    raw.begin();
    raw.is_kept(Side::Client, &Message::of(5).publish());
    raw.passes(Side::Client, &heartbeat());
    assert!(!raw.gate.tick());
    raw.is_kept(Side::Client, &Message::on(TWO, 5).publish());
    assert!(!raw.gate.tick());
}

#[test]
fn a_client_gets_heartbeats_while_a_delivery_is_kept_from_it() {
    let mut raw = Raw::new(Terms::default());
    raw.open(Tune {
        heartbeat: 1,
        ..TUNE
    });
    raw.begin();
    let message = Message::of(3_000);
    let octets = message.delivered("c", 1);
    let (first, rest) = octets.split_at(1_000);
    raw.is_kept(Side::Broker, first);
    assert!(raw.gate.tick());
    raw.is_kept(Side::Broker, &rest[..1_000]);
    assert!(raw.gate.tick());
    raw.expect(Side::Client, &heartbeat());
}

#[test]
fn nobody_gets_heartbeats_who_asked_for_none() {
    let mut raw = Raw::begun(Terms::default());
    let octets = Message::of(3_000).whole();
    raw.is_kept(Side::Client, &octets[..1_000]);
    assert!(!raw.gate.tick());
}
