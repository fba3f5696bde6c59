//! Memory: what is held is bounded, and given back.

use std::time::Duration;

use super::*;

fn with_memory(hold_memory: u64) -> Raw {
    Raw::start(Terms {
        hold_memory,
        ..Terms::default()
    })
}

#[test]
fn without_memory_a_delivery_is_streamed() {
    let mut raw = with_memory(0);
    let frames = [transfer(more(first(0)), 60), transfer(next(), 40)];
    for frame in &frames {
        raw.passes(Side::Client, frame);
    }
    assert_eq!(raw.gate.meter.messages[0], [1, 0, 0]);
}

#[test]
fn a_streamed_delivery_over_the_limit_is_refused_with_its_link() {
    let mut raw = with_memory(0);
    raw.passes(Side::Client, &transfer(more(first(0)), 60));
    raw.says(Side::Client, &transfer(more(next()), 60));
    assert_is_detached(&raw.hears(Side::Broker), CLIENT, OUT, Side::Client);
    assert_is_detached(
        &raw.hears(Side::Client),
        BROKER,
        OUT_AT_BROKER,
        Side::Client,
    );
    assert_eq!(raw.refused(), [120]);
}

#[test]
fn a_single_frame_over_the_limit_needs_no_memory_to_be_rejected() {
    let mut raw = with_memory(0);
    raw.is_kept(Side::Client, &message(0, 101));
    raw.assert_rejected(0, 101);
}

#[test]
fn a_delivery_that_outgrows_the_memory_goes_out_with_what_is_held() {
    let frames = [
        transfer(more(first(0)), 30),
        transfer(more(next()), 30),
        transfer(more(next()), 30),
        transfer(next(), 10),
    ];
    let memory = frames[0].len() + frames[1].len();
    let mut raw = with_memory(memory as u64);
    raw.is_kept(Side::Client, &frames[0]);
    raw.is_kept(Side::Client, &frames[1]);
    raw.becomes(Side::Client, &frames[2], &frames[..3].concat());
    raw.passes(Side::Client, &frames[3]);
}

#[test]
fn memory_is_given_back_with_what_was_held() {
    let first_frame = transfer(more(first(0)), 60);
    // A higher id may take one octet more.
    let memory = first_frame.len() as u64 + 1;
    let aborts = Transfer {
        aborted: true,
        ..next()
    };
    // It is forwarded, aborted or refused; then there is room for another.
    for last in [
        transfer(next(), 40),
        transfer(aborts, 0),
        transfer(next(), 41),
    ] {
        let mut raw = with_memory(memory);
        raw.is_kept(Side::Client, &first_frame);
        raw.says(Side::Client, &last);
        raw.hears(Side::Broker);
        raw.is_kept(Side::Client, &transfer(more(first(1)), 60));
    }
}

#[test]
fn a_detach_gives_up_what_is_held() {
    let first_frame = transfer(more(first(0)), 60);
    let mut raw = with_memory(first_frame.len() as u64 + 1);
    raw.is_kept(Side::Client, &first_frame);
    raw.passes(Side::Client, &detach(CLIENT, OUT, true));
    raw.passes(Side::Broker, &detach(BROKER, OUT_AT_BROKER, true));
    raw.passes(
        Side::Client,
        &attach(CLIENT, &link("out", OUT, Role::Sender)),
    );
    raw.passes(
        Side::Broker,
        &attach(BROKER, &link("out", OUT_AT_BROKER, Role::Receiver)),
    );
    raw.is_kept(Side::Client, &transfer(more(first(1)), 60));
    // The broker has seen nothing of delivery 0.
    let frames = [transfer(more(first(0)), 60), transfer(next(), 40)];
    raw.becomes(Side::Client, &transfer(next(), 40), &frames.concat());
}

#[test]
fn a_broker_that_sees_nothing_is_sent_empty_frames_before_its_idle_time_out() {
    let mut raw = Raw::start(Start {
        broker_idle_time_out: Some(60_000),
        ..Start::default()
    });
    assert_eq!(raw.gate.gate.tick_after(), None, "nothing is held");
    raw.is_kept(Side::Client, &transfer(more(first(0)), 60));
    let after = raw.gate.gate.tick_after().expect("a frame is held");
    assert!(2 * after < Duration::from_secs(60), "{after:?}");
    raw.gate.tick();
    raw.gate.tick();
    assert_eq!(raw.hears(Side::Broker), written(encode::empty_frame));
    raw.says(Side::Client, &transfer(next(), 10));
    let held = [transfer(more(first(0)), 60), transfer(next(), 10)].concat();
    assert_eq!(raw.hears(Side::Broker), held);
    assert_eq!(raw.gate.gate.tick_after(), None, "nothing is held any more");
}
