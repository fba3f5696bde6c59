//! Laws that hold for every schedule of channels, publishes, deliveries, outcomes and cuts.

mod plan;
mod play;

use proptest::prelude::*;

use super::Terms;
use crate::policy::{Mode, OnOversize};
use plan::{Plan, Scope};
use play::Play;

/// How many schedules are played; many times that with `SCHEDULES` set to how many.
fn schedules(usual: u32) -> ProptestConfig {
    let times = std::env::var("SCHEDULES").ok();
    let times = times.map_or(1, |times| times.parse().expect("a number"));
    ProptestConfig::with_cases(usual * times)
}

/// Plays a plan to its end, and one small message on every channel after it.
fn play(terms: Terms, plan: &Plan) -> Play {
    let mut play = Play::begin(terms, plan);
    for op in &plan.ops {
        play.play(op);
    }
    play.finish();
    play.play_small_round();
    play
}

const MODES: [OnOversize; 3] = [OnOversize::Reject, OnOversize::Detach, OnOversize::Close];

proptest! {
    #![proptest_config(schedules(2_500))]

    #[test]
    fn without_limits_nothing_is_changed(plan in Plan::any(Scope::ALL)) {
        let terms = Terms { limit: 0, receive_limit: 0, ..Terms::default() };
        let play = play(terms, &plan);
        play.assert_unchanged();
        let counted = play.conversation.gate.meter.messages;
        prop_assert_eq!([counted[0][1], counted[1][1]], [0, 0]);
    }

    #[test]
    fn a_refused_message_harms_nothing_else(plan in Plan::any(Scope::USUAL)) {
        let play = play(Terms::default(), &plan);
        play.assert_publishes();
        play.assert_deliveries();
        play.assert_counted();
    }

    #[test]
    fn channels_that_come_and_go_harm_nothing_either(plan in Plan::any(Scope::ALL)) {
        let play = play(Terms::default(), &plan);
        play.assert_publishes();
        play.assert_deliveries();
    }

    #[test]
    fn a_channel_that_is_refused_harms_no_other(plan in Plan::any(Scope::ALL)) {
        let play = play(Terms::with(OnOversize::Detach), &plan);
        play.assert_channels_closed();
        play.assert_deliveries();
    }

    #[test]
    fn a_refused_connection_is_closed_once(plan in Plan::any(Scope::ALL)) {
        let mut play = Play::begin(Terms::with(OnOversize::Close), &plan);
        for op in &plan.ops {
            play.play(op);
        }
        play.conversation.run();
        play.assert_closed_if_over();
    }

    #[test]
    fn compliant_traffic_passes_octet_for_octet(
        plan in Plan::any(Scope::COMPLIANT),
        on_oversize in 0..3_usize,
    ) {
        play(Terms::with(MODES[on_oversize]), &plan).assert_channels_unchanged();
    }

    #[test]
    fn a_dry_run_changes_nothing(plan in Plan::any(Scope::ALL)) {
        let terms = Terms { mode: Mode::DryRun, ..Terms::default() };
        play(terms, &plan).assert_unchanged();
    }
}
