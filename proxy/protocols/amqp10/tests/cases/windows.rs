//! Windows and counts: no side is told more than the other has said, nor less.

use super::*;

/// A session flow of the broker that takes so many frames from a transfer-id on.
fn takes(next_incoming_id: u32, incoming_window: u32) -> Vec<u8> {
    flow(BROKER, session_flow(next_incoming_id, incoming_window, 0))
}

fn session_flow(next_incoming_id: u32, incoming_window: u32, next_outgoing_id: u32) -> Flow {
    Flow {
        next_incoming_id: Some(next_incoming_id),
        incoming_window,
        next_outgoing_id,
        outgoing_window: 1_000,
        ..Flow::default()
    }
}

/// How many more transfer frames a sender may send after the flows that it heard, if there were any.
fn window_after(heard: &[u8], sent: u32) -> Option<u32> {
    let flow = frame(units(heard).last()?).flow().expect("a flow");
    let next = flow.next_incoming_id.expect("a next-incoming-id");
    assert!(next <= sent, "{next} of {sent} frames are known");
    Some(next + flow.incoming_window - sent)
}

#[test]
fn a_window_smaller_than_a_message_lets_it_through_in_parts() {
    let mut raw = Raw::start(Start {
        broker_window: 2,
        ..Start::default()
    });
    let mut frames = vec![transfer(more(first(0)), 10)];
    frames.resize(6, transfer(more(next()), 10));
    frames.push(transfer(next(), 10));
    let mut window = 2;
    for (sent, frame) in (1..).zip(&frames[..6]) {
        assert!(window > 0, "the sender cannot go on after {sent} frames");
        raw.is_kept(Side::Client, frame);
        window = window_after(&raw.hears(Side::Client), sent).unwrap_or(window - 1);
    }
    assert!(window > 0, "the sender cannot go on");
    raw.becomes(Side::Client, &frames[6], &frames[..2].concat());
    raw.hears(Side::Client);
    raw.says(Side::Broker, &takes(2, 2));
    assert_eq!(raw.hears(Side::Broker), frames[2..4].concat());
    // A broker that has not taken what was sent gets no more.
    raw.says(Side::Broker, &takes(3, 1));
    assert_eq!(raw.hears(Side::Broker), NOTHING);
    raw.says(Side::Broker, &takes(4, 100));
    assert_eq!(raw.hears(Side::Broker), frames[4..].concat());
}

#[test]
fn what_a_broker_says_while_frames_wait_for_it_reaches_the_client() {
    let mut raw = Raw::start(Start {
        broker_window: 1,
        ..Start::default()
    });
    raw.passes(Side::Client, &message(0, 10));
    raw.passes(Side::Broker, &takes(1, 1));
    let frames = [transfer(more(first(1)), 10), transfer(next(), 10)];
    raw.is_kept(Side::Client, &frames[0]);
    raw.becomes(Side::Client, &frames[1], &frames[0]);
    raw.hears(Side::Client);
    raw.passes(Side::Broker, &accepted(0, None));
    // And what the client says reaches the broker.
    let state = Fate::Accepted.octets();
    let delivery = Transfer {
        handle: IN_AT_BROKER,
        ..first(0)
    };
    raw.passes(Side::Broker, &transfer_on(BROKER, delivery, 10));
    raw.passes(
        Side::Client,
        &disposition(
            CLIENT,
            Disposition {
                state: state.as_deref(),
                ..settled(Role::Receiver, 0, None)
            },
        ),
    );
    raw.says(Side::Broker, &takes(2, 1));
    assert_eq!(raw.hears(Side::Broker), frames[1]);
}

#[test]
fn two_sides_whose_frames_wait_for_each_other_go_on() {
    let mut raw = Raw::start(Start {
        broker_window: 1,
        client_window: 1,
        ..Start::default()
    });
    let mine = [transfer(more(first(0)), 10), transfer(next(), 10)];
    let from_broker = |transfer| Transfer {
        handle: IN_AT_BROKER,
        ..transfer
    };
    let theirs = [
        transfer_on(BROKER, more(from_broker(first(0))), 10),
        transfer_on(BROKER, from_broker(next()), 10),
    ];
    raw.says(Side::Client, &mine.concat());
    raw.says(Side::Broker, &theirs.concat());
    raw.hears(Side::Client);
    raw.hears(Side::Broker);
    // Each side's second frame waits for the other's flow, which comes behind it.
    raw.says(Side::Client, &flow(CLIENT, session_flow(1, 10, 2)));
    raw.says(Side::Broker, &flow(BROKER, session_flow(1, 10, 2)));
    let heard = [raw.hears(Side::Client), raw.hears(Side::Broker)];
    assert!(units(&heard[0]).contains(&&theirs[1][..]));
    assert!(units(&heard[1]).contains(&&mine[1][..]));
}

/// A gate that has taken a delivery of three frames, of which the broker takes one at present.
fn with_frames_that_wait() -> (Raw, [Vec<u8>; 3]) {
    let mut raw = Raw::start(Start {
        broker_window: 1,
        ..Start::default()
    });
    let frames = [
        transfer(more(first(0)), 10),
        transfer(more(next()), 10),
        transfer(next(), 10),
    ];
    raw.is_kept(Side::Client, &frames[0]);
    raw.is_kept(Side::Client, &frames[1]);
    raw.becomes(Side::Client, &frames[2], &frames[0]);
    raw.hears(Side::Client);
    (raw, frames)
}

fn end(channel: Channel) -> Vec<u8> {
    let end = parsers::amqp10::End { error: None };
    written(|out| encode::end(out, channel, &end))
}

#[test]
fn what_ends_goes_behind_the_frames_that_wait() {
    for last in [detach(CLIENT, OUT, true), end(CLIENT), close()] {
        let (mut raw, frames) = with_frames_that_wait();
        raw.is_kept(Side::Client, &last);
        raw.says(Side::Broker, &takes(1, 1));
        assert_eq!(raw.hears(Side::Broker), frames[1]);
        raw.says(Side::Broker, &takes(2, 5));
        let rest = [&frames[2][..], &last].concat();
        let heard = raw.hears(Side::Broker);
        assert!(heard == rest, "{}", difference(&heard, &rest));
    }
}

#[test]
fn other_links_and_sessions_go_on_while_frames_wait() {
    let (mut raw, frames) = with_frames_that_wait();
    raw.passes(Side::Client, &begin(Channel(4), None, 0, 100));
    raw.passes(Side::Broker, &begin(Channel(8), Some(Channel(4)), 0, 100));
    let other = link("other", OUT, Role::Sender);
    raw.passes(Side::Client, &attach(Channel(4), &other));
    raw.passes(Side::Client, &transfer_on(Channel(4), first(0), 100));
    // In the same session a frame waits behind the others; what is no transfer does not.
    raw.passes(
        Side::Client,
        &attach(CLIENT, &link("another", Handle(3), Role::Sender)),
    );
    let behind = Transfer {
        handle: Handle(3),
        ..first(1)
    };
    raw.is_kept(Side::Client, &transfer(behind, 10));
    raw.says(Side::Broker, &takes(1, 10));
    let rest = [&frames[1][..], &frames[2], &transfer(behind, 10)].concat();
    assert_eq!(raw.hears(Side::Broker), rest);
}

#[test]
fn frames_that_wait_for_a_side_that_left_are_given_up() {
    // The link, the session, the connection.
    let detaches = [
        detach(BROKER, OUT_AT_BROKER, true),
        detach(CLIENT, OUT, true),
    ];
    for [leaves, answers] in [detaches, [end(BROKER), end(CLIENT)], [close(), close()]] {
        let (mut raw, _) = with_frames_that_wait();
        raw.passes(Side::Broker, &leaves);
        raw.passes(Side::Client, &answers);
    }
}

#[test]
fn frames_that_are_thrown_away_do_not_use_the_window_up() {
    for pieces in [1, 8] {
        let mut raw = Raw::start(Start {
            broker_window: 3,
            ..Start::default()
        });
        let mut sent = 0;
        let mut window = 3;
        for id in 0..4 {
            for nth in 0..pieces {
                assert!(window > 0, "the sender cannot go on after {sent} frames");
                let frame = if nth == 0 { first(id) } else { next() };
                let frame = if nth + 1 == pieces {
                    frame
                } else {
                    more(frame)
                };
                raw.is_kept(Side::Client, &transfer(frame, 101));
                sent += 1;
                let heard = raw.hears(Side::Client);
                let flows: Vec<u8> = units(&heard)
                    .into_iter()
                    .filter(|unit| frame_is_flow(unit))
                    .flatten()
                    .copied()
                    .collect();
                window = window_after(&flows, sent).unwrap_or(window - 1);
            }
        }
    }
}

fn frame_is_flow(octets: &[u8]) -> bool {
    frame(octets).flow().is_ok()
}

#[test]
fn flows_of_both_sides_count_as_the_other_side_does() {
    let start = Start {
        client_id: u32::MAX - 1,
        client_count: u32::MAX,
        ..Start::default()
    };
    let mut raw = Raw::start(start);
    raw.is_kept(Side::Client, &transfer(more(first(0)), 60));
    raw.is_kept(Side::Client, &transfer(next(), 60));
    raw.hears(Side::Client);
    raw.becomes(Side::Client, &message(1, 10), &message(0, 10));
    // The client has sent three frames and two deliveries, of which the broker saw one.
    let of_client = |sent: u32, count: u32| {
        flow(
            CLIENT,
            Flow {
                handle: Some(OUT),
                delivery_count: Some(start.client_count.wrapping_add(count)),
                link_credit: Some(8),
                ..session_flow(0, 100, start.client_id.wrapping_add(sent))
            },
        )
    };
    raw.becomes(Side::Client, &of_client(3, 2), &of_client(1, 1));
    let of_broker = |known: u32, count: u32| {
        flow(
            BROKER,
            Flow {
                next_incoming_id: Some(start.client_id.wrapping_add(known)),
                incoming_window: 50,
                delivery_count: Some(start.client_count.wrapping_add(count)),
                link_credit: Some(20),
                ..start.grant()
            },
        )
    };
    raw.becomes(Side::Broker, &of_broker(1, 1), &of_broker(3, 2));
}

#[test]
fn a_receiver_that_knows_no_count_yet_is_put_right_all_the_same() {
    let mut raw = Raw::start(Start {
        client_count: 7,
        ..Start::default()
    });
    raw.is_kept(Side::Client, &message(0, 101));
    raw.hears(Side::Client);
    let of_broker = |next_incoming_id, delivery_count| {
        flow(
            BROKER,
            Flow {
                next_incoming_id: Some(next_incoming_id),
                delivery_count,
                link_credit: Some(5),
                ..Start::default().grant()
            },
        )
    };
    raw.becomes(Side::Broker, &of_broker(0, None), &of_broker(1, Some(8)));
}

#[test]
fn a_sender_that_counts_a_delivery_at_its_end_is_not_counted_back() {
    let mut raw = Raw::start(Start::default());
    let of_client = |sent, count| {
        flow(
            CLIENT,
            Flow {
                handle: Some(OUT),
                delivery_count: Some(count),
                link_credit: Some(10),
                ..session_flow(0, 100, sent)
            },
        )
    };
    raw.is_kept(Side::Client, &transfer(more(first(0)), 60));
    // The one that is held counts, or does not.
    raw.becomes(Side::Client, &of_client(1, 1), &of_client(0, 0));
    raw.becomes(Side::Client, &of_client(1, 0), &of_client(0, 0));
    raw.is_kept(Side::Client, &transfer(more(next()), 60));
    raw.becomes(Side::Client, &of_client(2, 1), &of_client(0, 0));
    raw.becomes(Side::Client, &of_client(2, 0), &of_client(0, 0));
    raw.is_kept(Side::Client, &transfer(next(), 60));
    raw.becomes(Side::Client, &of_client(3, 1), &of_client(0, 0));
}

#[test]
fn credit_that_is_drained_comes_back_in_full() {
    let mut raw = Raw::start(Start::default());
    let drain = Flow {
        link_credit: Some(3),
        drain: true,
        ..Start::default().grant()
    };
    raw.passes(Side::Broker, &flow(BROKER, drain));
    raw.is_kept(Side::Client, &message(0, 101));
    let heard = raw.hears(Side::Client);
    // The credit of the refused one is asked for again, to be used or given back as the rest.
    let again = flow(
        BROKER,
        Flow {
            next_incoming_id: Some(1),
            delivery_count: Some(1),
            ..drain
        },
    );
    assert_eq!(units(&heard)[1], again);
    let drained = |sent, count| {
        flow(
            CLIENT,
            Flow {
                handle: Some(OUT),
                delivery_count: Some(count),
                link_credit: Some(0),
                drain: true,
                ..session_flow(0, 100, sent)
            },
        )
    };
    raw.becomes(Side::Client, &drained(1, 4), &drained(0, 3));
}

#[test]
fn a_full_frame_whose_id_grows_is_cut_in_two() {
    let terms = Terms {
        limit: 490,
        ..Terms::default()
    };
    let mut raw = Raw::start(terms);
    raw.is_kept(Side::Client, &transfer(more(first(u32::MAX)), 480));
    raw.is_kept(Side::Client, &transfer(next(), 11));
    raw.hears(Side::Client);
    // Its id takes one octet, and four more at the broker.
    let room = 512 - message(0, 0).len();
    let full = message(0, room);
    assert_eq!(full.len(), 512);
    let cut = 512 - transfer(more(first(u32::MAX)), 0).len();
    let parts = [
        transfer(more(first(u32::MAX)), cut),
        transfer(next(), room - cut),
    ];

    raw.becomes(Side::Client, &full, &parts.concat());
    // The broker has got two frames for the client's third.
    let of_client = |sent: u32| flow(CLIENT, session_flow(0, 100, sent));
    raw.becomes(Side::Client, &of_client(3), &of_client(2));
    raw.becomes(Side::Client, &message(1, 10), &message(0, 10));
}

#[test]
fn a_number_that_no_frame_can_have_stays_while_all_frames_have_passed() {
    let mut raw = Raw::start(Terms::default());
    let before = u32::MAX - 2;
    raw.passes(Side::Broker, &takes(before, 100));
    raw.passes(Side::Client, &message(0, 10));
    raw.passes(Side::Broker, &takes(before, 50));
}
