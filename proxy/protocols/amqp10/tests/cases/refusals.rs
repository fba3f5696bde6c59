//! A delivery over the limit: who is told what, and when.

use super::*;

#[test]
fn a_message_of_the_limit_passes_and_one_octet_more_does_not() {
    let mut raw = Raw::start(Start::default());
    raw.passes(Side::Client, &message(0, 100));
    raw.is_kept(Side::Client, &message(1, 101));
    raw.assert_rejected(1, 101);
    assert_eq!(raw.refused(), [101]);
    assert_eq!(raw.gate.meter.messages[0], [1, 1, 0]);
}

#[test]
fn a_delivery_is_rejected_after_its_last_frame_and_the_broker_hears_nothing_of_it() {
    let mut raw = Raw::start(Start::default());
    raw.is_kept(Side::Client, &transfer(more(first(0)), 60));
    raw.is_kept(Side::Client, &transfer(more(next()), 60));
    raw.is_kept(Side::Client, &transfer(more(next()), 60));
    assert_eq!(raw.hears(Side::Client), NOTHING, "it is not sent whole");
    raw.is_kept(Side::Client, &transfer(next(), 60));
    raw.assert_rejected(0, 240);
    assert_eq!(raw.hears(Side::Broker), NOTHING);
}

#[test]
fn the_whole_frame_has_to_come_before_its_delivery_is_rejected() {
    let mut raw = Raw::start(Start::default());
    let message = message(0, 101);
    raw.is_kept(Side::Client, &message[..message.len() - 1]);
    assert_eq!(raw.hears(Side::Client), NOTHING);
    raw.is_kept(Side::Client, &message[message.len() - 1..]);
    raw.assert_rejected(0, 101);
}

#[test]
fn ids_go_on_without_a_gap_after_a_refusal() {
    let mut raw = Raw::start(Start::default());
    raw.passes(Side::Client, &message(5, 10));
    raw.is_kept(Side::Client, &message(6, 101));
    raw.becomes(Side::Client, &message(7, 20), &message(6, 20));
    raw.becomes(Side::Client, &message(8, 100), &message(7, 100));
}

#[test]
fn ids_go_on_over_the_wrap_of_their_32_bits() {
    let mut raw = Raw::start(Start::default());
    raw.is_kept(Side::Client, &message(u32::MAX - 1, 101));
    let [before, last] = [u32::MAX - 1, u32::MAX];
    raw.becomes(Side::Client, &message(last, 20), &message(before, 20));
    raw.becomes(Side::Client, &message(0, 20), &message(last, 20));
    raw.becomes(Side::Client, &message(1, 20), &message(0, 20));
    raw.hears(Side::Client);
    let expected = [accepted(last, Some(last)), accepted(0, Some(1))].concat();
    raw.says(Side::Broker, &accepted(before, Some(0)));
    let heard = raw.hears(Side::Client);
    // The one range may come in one or more frames.
    assert!(
        heard == accepted(last, Some(1)) || heard == expected,
        "{heard:02X?}"
    );
}

#[test]
fn links_that_interleave_keep_their_order_and_their_ids() {
    let mut raw = Raw::start(Start::default());
    let other = |transfer| Transfer {
        handle: Handle(3),
        ..transfer
    };
    raw.passes(
        Side::Client,
        &attach(CLIENT, &link("out2", Handle(3), Role::Sender)),
    );
    raw.passes(
        Side::Broker,
        &attach(BROKER, &link("out2", Handle(13), Role::Receiver)),
    );
    raw.is_kept(Side::Client, &transfer(more(first(0)), 60));
    // The other link overtakes the delivery that is held, whose id it then has.
    let [was, is] = [other(first(1)), other(first(0))];
    raw.becomes(Side::Client, &transfer(was, 10), &transfer(is, 10));
    raw.is_kept(Side::Client, &transfer(more(other(first(2))), 10));
    let pieces = [transfer(more(first(1)), 60), transfer(next(), 40)];
    raw.becomes(Side::Client, &transfer(next(), 40), &pieces.concat());
    let pieces = [
        transfer(more(other(first(2))), 10),
        transfer(other(next()), 90),
    ];
    raw.becomes(Side::Client, &transfer(other(next()), 90), &pieces.concat());
    assert_eq!(raw.hears(Side::Client), NOTHING);
    raw.says(Side::Broker, &accepted(0, Some(2)));
    let heard = raw.hears(Side::Client);
    let ids = |octets: &&[u8]| {
        let disposition = frame(octets).disposition().expect("a disposition");
        (
            disposition.first,
            disposition.last.unwrap_or(disposition.first),
        )
    };
    let heard: Vec<_> = units(&heard).iter().map(ids).collect();
    assert_eq!(heard, [(1, 1), (0, 0), (2, 2)]);
}

#[test]
fn the_credit_that_a_refused_delivery_took_is_given_back() {
    let mut raw = Raw::start(Start::default());
    let one = Flow {
        link_credit: Some(1),
        ..Start::default().grant()
    };
    raw.passes(Side::Broker, &flow(BROKER, one));
    raw.is_kept(Side::Client, &message(0, 101));
    let heard = raw.hears(Side::Client);
    let units = units(&heard);
    assert_is_rejected(units[0], BROKER, 0, 101, true);
    let again = flow(
        BROKER,
        Flow {
            next_incoming_id: Some(1),
            delivery_count: Some(1),
            ..one
        },
    );
    assert!(units[1] == again, "{}", difference(units[1], &again));
    raw.becomes(Side::Client, &message(1, 50), &message(0, 50));
}

#[test]
fn a_receiver_that_settles_second_is_waited_for() {
    let mut raw = Raw::start(Start {
        rcv_settle_mode: ReceiverSettleMode::Second,
        ..Start::default()
    });
    raw.is_kept(Side::Client, &message(0, 101));
    let heard = raw.hears(Side::Client);
    assert_is_rejected(units(&heard)[0], BROKER, 0, 101, false);
    let settles = disposition(CLIENT, settled(Role::Sender, 0, None));
    raw.is_kept(Side::Client, &settles);
    raw.becomes(Side::Client, &message(1, 50), &message(0, 50));
}

#[test]
fn a_delivery_may_say_itself_that_its_receiver_settles_second() {
    let mut raw = Raw::start(Start::default());
    let second = Transfer {
        rcv_settle_mode: Some(ReceiverSettleMode::Second),
        ..first(0)
    };
    raw.is_kept(Side::Client, &transfer(second, 101));
    let heard = raw.hears(Side::Client);
    assert_is_rejected(units(&heard)[0], BROKER, 0, 101, false);
    raw.is_kept(
        Side::Client,
        &disposition(CLIENT, settled(Role::Sender, 0, None)),
    );
}

#[test]
fn in_a_transaction_the_outcome_is_that_of_the_transaction() {
    let mut raw = Raw::start(Start::default());
    let state = Fate::Transactional {
        txn_id: b"txn".to_vec(),
        outcome: None,
    };
    let state = state.octets();
    let part = Transfer {
        state: state.as_deref(),
        ..first(0)
    };
    raw.is_kept(Side::Client, &transfer(part, 101));
    let heard = raw.hears(Side::Client);
    let disposition = frame(units(&heard)[0]).disposition().expect("one");
    assert!(disposition.settled);
    let Fate::Transactional {
        txn_id,
        outcome: Some(outcome),
    } = Fate::read(disposition.state)
    else {
        panic!("{:02X?}", disposition.state);
    };
    assert_eq!(txn_id, b"txn");
    assert_refusal(&outcome, 101, 100, Side::Client);
}

#[test]
fn a_settled_delivery_is_dropped_and_nobody_is_told() {
    for settled_at in [0, 1] {
        let mut raw = Raw::start(Start::default());
        let settled = |nth: usize, transfer| Transfer {
            settled: (nth >= settled_at).then_some(true),
            ..transfer
        };
        raw.is_kept(Side::Client, &transfer(settled(0, more(first(0))), 60));
        raw.is_kept(Side::Client, &transfer(settled(1, next()), 60));
        let heard = raw.hears(Side::Client);
        for unit in units(&heard) {
            frame(unit)
                .flow()
                .expect("nothing but what gives the credit back");
        }
        assert_eq!(raw.refused(), [120]);
        raw.becomes(Side::Client, &message(1, 50), &message(0, 50));
    }
}

#[test]
fn a_held_delivery_that_is_aborted_reaches_nobody_and_its_credit_comes_back() {
    let mut raw = Raw::start(Start::default());
    let aborts = Transfer {
        aborted: true,
        ..next()
    };
    raw.is_kept(Side::Client, &transfer(more(first(0)), 60));
    raw.is_kept(Side::Client, &transfer(aborts, 0));
    let again = flow(
        BROKER,
        Flow {
            next_incoming_id: Some(2),
            delivery_count: Some(1),
            ..Start::default().grant()
        },
    );
    let heard = raw.hears(Side::Client);
    assert!(heard == again, "{}", difference(&heard, &again));
    assert_eq!(raw.refused(), [0_u64; 0]);
    raw.becomes(Side::Client, &message(1, 50), &message(0, 50));
}

#[test]
fn a_refused_delivery_that_is_aborted_is_settled_by_that() {
    let mut raw = Raw::start(Start::default());
    let aborts = Transfer {
        aborted: true,
        more: true,
        ..next()
    };
    raw.is_kept(Side::Client, &transfer(more(first(0)), 101));
    raw.is_kept(Side::Client, &transfer(aborts, 5));
    let heard = raw.hears(Side::Client);
    for unit in units(&heard) {
        frame(unit)
            .flow()
            .expect("nothing but what gives the credit back");
    }
    raw.becomes(Side::Client, &message(1, 50), &message(0, 50));
}

#[test]
fn a_batch_is_counted_like_any_other_message() {
    let mut raw = Raw::start(Start::default());
    let batch = |id| Transfer {
        message_format: Some(0x8001_3700),
        ..first(id)
    };
    raw.passes(Side::Client, &transfer(batch(0), 100));
    raw.is_kept(Side::Client, &transfer(batch(1), 101));
    raw.assert_rejected(1, 101);
}

#[test]
fn a_resumed_delivery_is_counted_from_its_first_frame_on() {
    let mut raw = Raw::start(Start::default());
    let resumed = |id| Transfer {
        resume: true,
        ..first(id)
    };
    // Nothing is left to be sent of it.
    raw.passes(Side::Client, &transfer(resumed(0), 0));
    let pieces = [transfer(more(resumed(1)), 60), transfer(next(), 40)];
    raw.passes(Side::Client, &pieces.concat());
    raw.is_kept(Side::Client, &transfer(resumed(2), 101));
    raw.assert_rejected(2, 101);
}

#[test]
fn a_delivery_that_is_within_the_limit_comes_out_as_it_was_sent() {
    let mut raw = Raw::start(Start::default());
    let ids_again = Transfer {
        delivery_id: Some(0),
        ..next()
    };
    let pieces = [
        transfer(more(first(0)), 60),
        transfer(more(ids_again), 39),
        transfer(more(next()), 1),
        // The sender's own empty last frame.
        transfer(next(), 0),
    ];
    for piece in &pieces[..3] {
        raw.is_kept(Side::Client, piece);
    }
    raw.becomes(Side::Client, &pieces[3], &pieces.concat());
    assert_eq!(raw.gate.meter.messages[0], [1, 0, 0]);
    assert_eq!(raw.gate.meter.sizes[0].sum, 100);
}

#[test]
fn a_dry_run_forwards_and_counts() {
    let terms = Terms {
        mode: crate::policy::Mode::DryRun,
        ..Terms::default()
    };
    let mut raw = Raw::start(terms);
    raw.passes(Side::Client, &message(0, 101));
    raw.passes(Side::Client, &transfer(more(first(1)), 101));
    raw.passes(Side::Client, &transfer(next(), 101));
    assert_eq!(raw.hears(Side::Client), NOTHING);
    assert_eq!(raw.gate.meter.messages[0], [0, 0, 2]);
}

#[test]
fn a_dry_run_leaves_ids_alone_that_do_not_follow_each_other() {
    for on_oversize in [OnOversize::Reject, OnOversize::Detach, OnOversize::Close] {
        let mut raw = Raw::start(Terms {
            mode: crate::policy::Mode::DryRun,
            ..Terms::with(on_oversize)
        });
        for id in [0, 0, 7] {
            raw.passes(Side::Client, &message(id, 10));
        }
    }
}
