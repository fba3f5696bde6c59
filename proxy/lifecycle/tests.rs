use std::future::{Future, pending};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::*;
use crate::telemetry::Metrics;

const PATIENCE: Patience = Patience {
    stay: Duration::from_secs(25),
    linger: Duration::from_secs(5),
};

/// A program with one connection, which lives as `connection` says.
fn with<F>(connection: impl FnOnce(Arc<Lifecycle>) -> F) -> Arc<Lifecycle>
where
    F: Future<Output = ()> + Send + 'static,
{
    let lifecycle = Arc::new(Lifecycle::new());
    lifecycle
        .connections
        .spawn(connection(Arc::clone(&lifecycle)));
    lifecycle
}

/// Drains and says how that ended, and after how many seconds.
async fn drained(lifecycle: &Lifecycle, hurry: impl Future<Output = ()>) -> (Outcome, u64) {
    let metrics = Metrics::new(&[], &[], &[], &Arc::new(crate::gate::HoldBudget::new(0)))
        .expect("metrics that have names");
    let start = Instant::now();
    let outcome = drain(lifecycle, &metrics, PATIENCE, hurry).await;
    assert!(lifecycle.draining());
    assert!(metrics.render().contains("\nsizegate_draining 1\n"));
    (outcome, start.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn with_no_connection_left_the_drain_is_over_at_once() {
    let lifecycle = Lifecycle::new();
    assert!(!lifecycle.draining());
    assert_eq!(drained(&lifecycle, pending()).await, (Outcome::Clean, 0));
    assert!(!lifecycle.goodbye.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn connections_that_end_by_themselves_are_not_told_to_go() {
    let lifecycle = with(|_| sleep(Duration::from_secs(10)));
    assert_eq!(drained(&lifecycle, pending()).await, (Outcome::Clean, 10));
    assert!(!lifecycle.goodbye.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn connections_that_stay_are_told_to_go_when_the_time_is_up() {
    let lifecycle = with(|lifecycle| async move { lifecycle.goodbye.cancelled().await });
    assert_eq!(drained(&lifecycle, pending()).await, (Outcome::Clean, 25));
    assert!(!lifecycle.cut.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn connections_that_take_no_note_are_cut() {
    let lifecycle = with(|lifecycle| async move { lifecycle.cut.cancelled().await });
    let (outcome, after) = drained(&lifecycle, pending()).await;
    assert_eq!(outcome, Outcome::Cut);
    assert!((30..=31).contains(&after), "cut after {after}s");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_the_relay_cut_counts_as_cut() {
    let lifecycle = with(|lifecycle| async move {
        lifecycle.goodbye.cancelled().await;
        sleep(PATIENCE.linger).await;
        lifecycle.note_cut();
    });
    assert_eq!(drained(&lifecycle, pending()).await, (Outcome::Cut, 30));
    assert!(!lifecycle.cut.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn whoever_is_in_a_hurry_cuts_at_once() {
    let lifecycle = with(|lifecycle| async move { lifecycle.cut.cancelled().await });
    let hurry = sleep(Duration::from_secs(3));
    assert_eq!(drained(&lifecycle, hurry).await, (Outcome::Cut, 3));
}

#[test]
fn each_stage_wakes_those_who_wait_for_an_earlier_one() {
    let lifecycle = Lifecycle::new();
    lifecycle.cut_all();
    assert_eq!(lifecycle.stage(), Stage::Cut);
    for token in [&lifecycle.accepting, &lifecycle.goodbye, &lifecycle.cut] {
        assert!(token.is_cancelled());
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_never_ends_does_not_keep_the_program() {
    let lifecycle = with(|_| pending());
    let (outcome, after) = drained(&lifecycle, sleep(Duration::from_secs(3))).await;
    assert_eq!(outcome, Outcome::Cut);
    assert!((4..=5).contains(&after), "over after {after}s");
}

#[tokio::test]
async fn a_hangup_does_not_stop_and_a_termination_does() {
    let (mut signals, mut hangups) = Signals::take().expect("signals");
    let send = |signal: &str| {
        let kill = format!("kill -{signal} {}", std::process::id());
        let sent = Command::new("sh")
            .args(["-c", &kill])
            .status()
            .expect("a shell");
        assert!(sent.success());
    };
    send("HUP");
    tokio::select! {
        // Both see the hangup at the same time; the one under test says first what it makes of it.
        biased;
        () = signals.stop() => panic!("stopped by a hangup"),
        () = hangups.next() => {}
    }
    send("TERM");
    signals.stop().await;
    send("INT");
    signals.stop().await;
}
