//! Outcomes: each reaches the deliveries that it is for, whatever they are called on either side.

use super::*;

/// A gate that has refused the client's delivery 1 of 0 to 3.
fn with_one_refused(start: Start) -> Raw {
    let mut raw = Raw::start(start);
    raw.passes(Side::Client, &message(0, 10));
    raw.is_kept(Side::Client, &message(1, 101));
    raw.becomes(Side::Client, &message(2, 10), &message(1, 10));
    raw.becomes(Side::Client, &message(3, 10), &message(2, 10));
    raw.hears(Side::Client);
    raw
}

#[test]
fn before_anything_is_refused_they_pass_as_they_are() {
    for start in [OnOversize::Reject, OnOversize::Detach, OnOversize::Close] {
        let mut raw = Raw::start(start);
        raw.passes(Side::Client, &[message(0, 10), message(1, 10)].concat());
        raw.passes(Side::Broker, &accepted(1, Some(0)));
        // Those about deliveries that are settled too.
        raw.passes(Side::Broker, &accepted(0, Some(1)));
        raw.passes(
            Side::Client,
            &disposition(CLIENT, settled(Role::Sender, 0, Some(1))),
        );
    }
}

#[test]
fn a_range_over_a_refused_delivery_leaves_it_out() {
    let expected = [accepted(0, Some(0)), accepted(2, Some(3))].concat();
    let mut raw = with_one_refused(Start::default());
    raw.becomes(Side::Broker, &accepted(0, Some(2)), &expected);
}

#[test]
fn a_range_that_is_written_backwards_is_understood() {
    let expected = [accepted(0, Some(0)), accepted(2, Some(3))].concat();
    let mut raw = with_one_refused(Start::default());
    raw.becomes(Side::Broker, &accepted(2, Some(0)), &expected);
}

#[test]
fn single_ones_are_put_right() {
    let mut raw = with_one_refused(Start::default());
    raw.passes(Side::Broker, &accepted(0, None));
    for (theirs, ours) in [(1, 2), (2, 3)] {
        raw.says(Side::Broker, &accepted(theirs, None));
        let heard = raw.hears(Side::Client);
        let disposition = frame(&heard).disposition().expect("one");
        assert_eq!(disposition.first, ours);
        assert_eq!(disposition.last.unwrap_or(ours), ours);
        assert!(disposition.settled);
        assert_eq!(Fate::read(disposition.state), Fate::Accepted);
    }
}

#[test]
fn a_sender_that_settles_a_range_settles_what_the_receiver_knows() {
    let mut raw = with_one_refused(Start {
        rcv_settle_mode: ReceiverSettleMode::Second,
        ..Start::default()
    });
    let state = Fate::Accepted.octets();
    let accepts = |first, last| {
        disposition(
            BROKER,
            Disposition {
                settled: false,
                state: state.as_deref(),
                ..settled(Role::Receiver, first, Some(last))
            },
        )
    };
    let expected = [accepts(0, 0), accepts(2, 3)].concat();
    raw.becomes(Side::Broker, &accepts(0, 2), &expected);
    let settles = |first, last| disposition(CLIENT, settled(Role::Sender, first, Some(last)));
    raw.becomes(Side::Client, &settles(0, 3), &settles(0, 2));
}

#[test]
fn those_of_the_other_direction_are_left_alone() {
    let mut raw = with_one_refused(Start::default());
    let state = Fate::Accepted.octets();
    let delivery = Transfer {
        handle: IN_AT_BROKER,
        ..first(0)
    };
    for id in 0..3 {
        let delivery = Transfer {
            delivery_id: Some(id),
            ..delivery
        };
        raw.passes(Side::Broker, &transfer_on(BROKER, delivery, 10));
    }
    raw.passes(
        Side::Client,
        &disposition(
            CLIENT,
            Disposition {
                state: state.as_deref(),
                ..settled(Role::Receiver, 0, Some(2))
            },
        ),
    );
}
