//! Laws that hold for every schedule of links, sizes, windows, credit, outcomes and cuts.

mod oracle;
mod plan;
mod play;
mod settling;

use parsers::amqp10::Descriptor;
use proptest::prelude::*;

use super::conversation::Form;
use super::frames::{Unit, spelt_out, unit, units};
use super::{Advertise, SIDES, Terms};
use crate::policy::{Mode, OnOversize};
use crate::protocols::amqp10::Presettled;
use oracle::Refusals;
use plan::{Plan, Scope};
use play::Play;

pub(super) use oracle::{assert_refusal, assert_texts};

/// How many schedules are played; many times that with `SCHEDULES` set to how many.
fn schedules(usual: u32) -> ProptestConfig {
    let times = std::env::var("SCHEDULES").ok();
    let times = times.map_or(1, |times| times.parse().expect("a number"));
    ProptestConfig::with_cases(usual * times)
}

/// Plays a plan to its end, and one small message on every link after it.
fn play(terms: Terms, plan: &Plan) -> Play {
    go_on(Play::begin(terms, plan), plan)
}

fn go_on(mut play: Play, plan: &Plan) -> Play {
    for op in &plan.ops {
        play.play(op);
    }
    play.finish();
    play.play_small_round();
    play.tell_windows();
    play
}

/// What goes through the broker unsettled.
const UNSETTLED: Terms = Terms {
    presettled: Presettled::Unsettled,
    ..Terms::USUAL
};

const MODES: [OnOversize; 3] = [OnOversize::Reject, OnOversize::Detach, OnOversize::Close];

/// The transfer frames of a stream.
fn transfers(stream: &[u8]) -> Vec<&[u8]> {
    let is_transfer = |octets: &[u8]| match unit(octets) {
        Unit::Frame(frame) => frame.descriptor == Descriptor::Transfer,
        Unit::Header(_) | Unit::Empty(_) => false,
    };
    let all = units(stream).into_iter();
    all.filter(|octets| is_transfer(octets)).collect()
}

fn assert_unchanged(play: &Play) {
    let conversation = &play.conversation;
    for side in SIDES {
        let said = &conversation.said[side as usize];
        assert!(
            said == &conversation.heard[side.other() as usize],
            "what the {} said was changed",
            side.as_str()
        );
    }
}

proptest! {
    #![proptest_config(schedules(2_500))]

    #[test]
    fn without_limits_nothing_is_changed(plan in Plan::any(Scope::WITH_DETACHES)) {
        let terms = Terms { limit: 0, receive_limit: 0, ..Terms::default() };
        let play = play(terms, &plan);
        assert_unchanged(&play);
        play.assert_refusals(Refusals::Alone);
        let counted = play.conversation.gate.meter.messages;
        prop_assert_eq!([counted[0][1], counted[1][1]], [0, 0]);
    }

    #[test]
    fn a_refused_message_harms_nothing_else(plan in Plan::any(Scope::USUAL)) {
        let play = play(Terms::default(), &plan);
        play.assert_refusals(Refusals::Alone);
        play.assert_counted();
    }

    #[test]
    fn links_that_come_and_go_harm_nothing_either(plan in Plan::any(Scope::WITH_DETACHES)) {
        play(Terms::default(), &plan).assert_refusals(Refusals::Alone);
    }

    #[test]
    fn a_refused_link_harms_no_other(plan in Plan::any(Scope::USUAL)) {
        let mut play = play(Terms::with(OnOversize::Detach), &plan);
        play.assert_refusals(Refusals::WithLink);
        play.attach_all_again();
        play.play_small_round();
        play.assert_refusals(Refusals::WithLink);
    }

    #[test]
    fn without_memory_a_message_is_refused_alone_or_with_its_link(
        plan in Plan::any(Scope::USUAL),
        hold_memory in 0..300_u64,
    ) {
        let terms = Terms { hold_memory, ..Terms::default() };
        play(terms, &plan).assert_refusals(Refusals::Either);
    }

    #[test]
    fn links_that_come_and_go_are_refused_without_harm(
        plan in Plan::any(Scope::WITH_DETACHES),
        hold_memory in 0..300_u64,
        on_oversize in 0..2_usize,
    ) {
        let terms = Terms { hold_memory, ..Terms::with(MODES[on_oversize]) };
        let refusals = [Refusals::Either, Refusals::WithLink][on_oversize];
        play(terms, &plan).assert_refusals(refusals);
    }

    #[test]
    fn frames_that_are_full_stay_within_their_size(plan in Plan::any(Scope::FULL_FRAMES)) {
        let terms = Terms { limit: 1_200, receive_limit: 1_200, ..Terms::default() };
        play(terms, &plan).assert_refusals(Refusals::Alone);
    }

    #[test]
    fn a_refused_connection_is_closed_once_and_after_all_outcomes(
        plan in Plan::any(Scope::WITH_DETACHES),
    ) {
        let mut play = Play::begin(Terms::with(OnOversize::Close), &plan);
        for op in &plan.ops {
            play.play(op);
        }
        play.go_on();
        play.conversation.tick();
        play.finish();
        play.assert_closed_if_over();
    }

    #[test]
    fn a_refused_connection_is_closed_after_the_outcomes_of_pre_settled_messages_too(
        plan in Plan::any(Scope { detaches: true, ..Scope::MESSAGES }),
    ) {
        let terms = Terms { on_oversize: OnOversize::Close, ..UNSETTLED };
        let mut play = Play::begin(terms, &plan);
        for op in &plan.ops {
            play.play(op);
        }
        play.go_on();
        play.conversation.tick();
        play.go_on();
        play.assert_closed_if_over();
    }

    #[test]
    fn messages_of_one_frame_pass_octet_for_octet(
        plan in Plan::any(Scope { max_pieces: 1, ..Scope::COMPLIANT }),
        on_oversize in any::<u8>(),
    ) {
        let on_oversize = MODES[usize::from(on_oversize) % 3];
        assert_unchanged(&play(Terms::with(on_oversize), &plan));
    }

    #[test]
    fn the_straight_path_decides_and_counts_as_the_other_one(
        plan in Plan::any(Scope::WITH_DETACHES),
        on_oversize in 0..2_usize,
    ) {
        let terms = Terms::with(MODES[on_oversize]);
        let [straight, other] = [Form::WholeFrames, Form::SpeltOut].map(|form| {
            let mut play = Play::begin(terms, &plan);
            play.conversation.form = form;
            go_on(play, &plan)
        });
        let [one, two] = [&straight, &other].map(|play| &play.conversation.gate.meter);
        prop_assert_eq!(one.messages, two.messages);
        prop_assert_eq!(one.sizes, two.sizes);
        prop_assert_eq!(&one.reports, &two.reports);
        for side in SIDES {
            let heard = |play: &Play| spelt_out(&play.conversation.heard[side as usize]);
            prop_assert_eq!(heard(&straight), heard(&other));
        }
    }

    #[test]
    fn what_is_streamed_passes_octet_for_octet(
        plan in Plan::any(Scope { aborts: true, detaches: true, ..Scope::COMPLIANT }),
        on_oversize in 1..3_usize,
    ) {
        assert_unchanged(&play(Terms::with(MODES[on_oversize]), &plan));
    }

    #[test]
    fn what_is_held_on_one_link_comes_out_octet_for_octet(
        plan in Plan::any(Scope { max_links: 1, ..Scope::COMPLIANT }),
    ) {
        let play = play(Terms::default(), &plan);
        for side in SIDES {
            let said = transfers(&play.conversation.said[side as usize]);
            let heard = transfers(&play.conversation.heard[side.other() as usize]);
            prop_assert!(said == heard);
        }
    }

    #[test]
    fn messages_of_all_kinds_pass_unchanged_if_that_is_asked_for(
        plan in Plan::any(Scope { detaches: true, ..Scope::MESSAGES }),
    ) {
        let terms = Terms { limit: 0, receive_limit: 0, ..Terms::default() };
        let play = play(terms, &plan);
        assert_unchanged(&play);
        play.assert_refusals(Refusals::Alone);
    }

    #[test]
    fn pre_settled_messages_are_paced_and_restored(plan in Plan::any(Scope::MESSAGES)) {
        let terms = Terms { limit: 0, receive_limit: 0, ..UNSETTLED };
        let play = play(terms, &plan);
        play.assert_refusals(Refusals::Alone);
        play.assert_outcomes_counted();
    }

    #[test]
    fn pre_settled_messages_are_judged_and_paced(plan in Plan::any(Scope::MESSAGES)) {
        let play = play(UNSETTLED, &plan);
        play.assert_refusals(Refusals::Alone);
        play.assert_outcomes_counted();
    }

    #[test]
    fn pre_settled_messages_are_cut_where_frames_are_full(
        plan in Plan::any(Scope::LARGE_MESSAGES),
        limit in prop_oneof![Just(0), Just(450)],
    ) {
        let terms = Terms { limit, receive_limit: limit, ..UNSETTLED };
        let play = play(terms, &plan);
        play.assert_refusals(Refusals::Alone);
        play.assert_outcomes_counted();
    }

    #[test]
    fn pre_settled_messages_and_links_that_come_and_go(
        plan in Plan::any(Scope { detaches: true, ..Scope::MESSAGES }),
        on_oversize in 0..2_usize,
    ) {
        let terms = Terms { on_oversize: MODES[on_oversize], ..UNSETTLED };
        let refusals = [Refusals::Alone, Refusals::WithLink][on_oversize];
        let play = play(terms, &plan);
        play.assert_refusals(refusals);
        if on_oversize == 0 {
            // With their link, some are refused of which a part was counted.
            play.assert_all_counted();
        }
    }

    // Which of them stay settled for want of memory, nobody can tell beforehand.
    #[test]
    fn pre_settled_messages_go_on_without_memory(
        plan in Plan::any(Scope { detaches: true, ..Scope::MESSAGES }),
        hold_memory in 0..300_u64,
        on_oversize in 0..2_usize,
    ) {
        let terms = Terms { hold_memory, on_oversize: MODES[on_oversize], ..UNSETTLED };
        play(terms, &plan);
    }

    #[test]
    fn a_dry_run_changes_nothing(plan in Plan::any(Scope::WITH_DETACHES)) {
        let terms = Terms { mode: Mode::DryRun, advertise: Advertise::Largest, ..UNSETTLED };
        assert_unchanged(&play(terms, &plan));
    }
}
