//! Both directions of one connection, from the first decided octet to the last goodbye.
//!
//! One task polls both lanes; a gate that one lane has moved may have something to say on the
//! other. Once a side or the gate has ended the connection, what is left to say is said, what the
//! peers still send is thrown away for a bounded time, and only then are the sockets closed: a
//! socket closed with octets unread answers with a reset, which can overtake the last words.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::handshake::Handshake;
use super::lane::{Halt, Lane, WhenOver};
use super::tally::Tally;
use crate::gate::{Ending, Gate, HangUp, Meter, Phase, Reason, Side};
use crate::lifecycle::{Lifecycle, Stage};
use crate::transport::Duplex;

/// One connection and what is on its way through it.
pub(super) struct Pump<C, B> {
    client: C,
    /// The broker's connection; there once the gate let the first octet through.
    broker: Option<B>,
    gate: Box<dyn Gate>,
    to_broker: Lane,
    to_client: Lane,
    /// Where counts and reports go.
    tally: Box<Tally>,
    /// How long peers have to leave after the connection was ended.
    linger: Duration,
    /// When the client must have said who it is; none once it has.
    handshake: Option<Box<Handshake>>,
    /// When the sockets are closed at the latest; none before the connection has been ended.
    patience: Option<Pin<Box<Sleep>>>,
    /// When the gate wants to be called though nothing comes.
    tick: Option<Pin<Box<Sleep>>>,
    /// How the connection ended: the first reason stands.
    ending: Option<Ending>,
    /// How the relay has asked for it to end; stands if it ended in no other way.
    asked: Option<Ending>,
    /// How far the end of the program has come.
    lifecycle: Arc<Lifecycle>,
    /// The stage of it that this connection has taken note of.
    stage: Stage,
    /// Wakes the task at the next stage; looked at only when the stage has changed.
    bell: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Whether the bell knows whom to wake.
    bell_is_set: bool,
}

/// Why the pump stopped.
#[derive(Debug)]
pub(super) enum Event {
    /// The broker is needed: octets of the client may pass.
    NeedsBroker,
    /// The broker ended TLS before it said anything. In TLS 1.3 it may do so when the handshake has
    /// long been over for us, if it does not take our certificate.
    Spurned(io::Error),
    /// The connection is over.
    Over(Outcome),
}

/// How a connection went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Both sides left, or nothing was to be awaited.
    Ended,
    /// A side was still there when its time was up.
    Cut,
}

/// The terms on which a pump ends.
pub(super) struct Terms {
    /// How long peers have to leave after the connection was ended.
    pub(super) linger: Duration,
    /// When the client must have said who it is.
    pub(super) handshake: Instant,
    /// How far the end of the program has come.
    pub(super) lifecycle: Arc<Lifecycle>,
}

impl<C, B> Pump<C, B>
where
    C: Duplex,
    B: Duplex,
{
    /// A pump without a broker; `to_broker` holds what has been read of the client already.
    pub(super) fn new(
        client: C,
        to_broker: Lane,
        gate: Box<dyn Gate>,
        tally: Box<Tally>,
        terms: Terms,
    ) -> Self {
        let goodbye = terms.lifecycle.goodbye.clone();
        Self {
            client,
            broker: None,
            gate,
            to_broker,
            to_client: Lane::new(Side::Broker),
            tally,
            linger: terms.linger,
            handshake: Some(Box::new(Handshake::until(terms.handshake))),
            patience: None,
            tick: None,
            ending: None,
            asked: None,
            lifecycle: terms.lifecycle,
            stage: Stage::Running,
            bell: Box::pin(goodbye.cancelled_owned()),
            bell_is_set: false,
        }
    }

    /// Takes the broker's connection.
    pub(super) fn attach(&mut self, broker: B) {
        self.broker = Some(broker);
    }

    /// Notes that the broker is being looked for.
    pub(super) fn awaits_broker(&mut self) {
        if let Some(handshake) = &mut self.handshake {
            handshake.stands_still();
        }
    }

    /// The number of the connection, and where its client is.
    pub(super) fn client(&self) -> (u64, SocketAddr) {
        (self.tally.connection(), self.tally.peer())
    }

    /// Has the client told that there is no broker.
    pub(super) fn broker_is_unreachable(&mut self) {
        if let Some(handshake) = &mut self.handshake {
            handshake.goes_on();
        }
        self.gate.hang_up(HangUp::BrokerUnreachable);
        self.asked = Some(Ending::by(Side::Broker, Reason::UpstreamUnreachable));
        self.to_broker.drop_step();
        self.patience
            .get_or_insert_with(|| Box::pin(sleep(self.linger)));
    }

    /// Runs until the broker is needed or the connection is over.
    pub(super) async fn run(&mut self) -> Event {
        poll_fn(|cx| self.poll(cx)).await
    }

    /// Books the end of the connection.
    pub(super) fn close(self, outcome: Outcome) {
        if outcome == Outcome::Cut && self.stage >= Stage::Goodbye {
            self.lifecycle.note_cut();
        }
        let ending = self
            .ending
            .or(self.asked)
            .unwrap_or(Ending::by(Side::Client, Reason::Closed));
        self.tally.close(ending, Some(&*self.gate));
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        let mut meter = Meter::default();
        let event = self.poll_lanes(cx, &mut meter);
        let carried = [self.to_broker.take_carried(), self.to_client.take_carried()];
        self.tally.take(&mut meter, carried, &*self.gate);
        if let Poll::Ready(Event::Over(_)) = event {
            self.part(cx);
        }
        event
    }

    /// Tells the peers of an end, as far as they can be told without waiting: TLS has a word for it.
    fn part(&mut self, cx: &mut Context<'_>) {
        let (client, broker) = (Some(&mut self.client), self.broker.as_mut());
        let _ = self.to_client.poll_shut(cx, client, WhenOver::Shut);
        let _ = self.to_broker.poll_shut(cx, broker, WhenOver::Shut);
    }

    fn poll_lanes(&mut self, cx: &mut Context<'_>, meter: &mut Meter) -> Poll<Event> {
        if self.poll_stage(cx).is_ready() {
            return Poll::Ready(Event::Over(Outcome::Ended));
        }
        if self.stage == Stage::Cut {
            return Poll::Ready(Event::Over(Outcome::Cut));
        }
        loop {
            let when_over = self.when_over();
            let to_broker = self.to_broker.poll(
                cx,
                Some(&mut self.client),
                self.broker.as_mut(),
                &mut *self.gate,
                meter,
                when_over,
            );
            let to_client = self.to_client.poll(
                cx,
                self.broker.as_mut(),
                Some(&mut self.client),
                &mut *self.gate,
                meter,
                when_over,
            );
            if let Some(fault) = self.spurned() {
                return Poll::Ready(Event::Spurned(fault));
            }
            self.note_endings();
            if to_broker == Halt::NeedsSink {
                self.flush(cx);
                return Poll::Ready(Event::NeedsBroker);
            }
            // Without a broker there is nothing that its lane could still bring.
            let nothing_comes = self.broker.is_none() && self.to_client.ending().is_none();
            if to_broker == Halt::Finished && (to_client == Halt::Finished || nothing_comes) {
                return Poll::Ready(Event::Over(Outcome::Ended));
            }
            if self.to_broker.discarded() > MOST_DISCARDED {
                return Poll::Ready(Event::Over(Outcome::Cut));
            }
            let goes_on = self.when_over() != when_over
                || self.to_broker.can_be_asked() && self.gate.pending(Side::Client)
                || self.to_client.can_be_asked() && self.gate.pending(Side::Broker)
                || to_broker == Halt::Waiting && self.to_client.has_moved()
                || to_client == Halt::Waiting && self.to_broker.has_moved();
            if !goes_on && !self.flush(cx) {
                return self.poll_time(cx).map(Event::Over);
            }
        }
    }

    /// Has both sides sent what was kept back; says whether a lane came to be over by it.
    fn flush(&mut self, cx: &mut Context<'_>) -> bool {
        let to_broker = self.to_broker.flush(cx, self.broker.as_mut());
        self.to_client.flush(cx, Some(&mut self.client)) || to_broker
    }

    /// What ended TLS with a broker that has not said anything; it is as good as not reached then.
    fn spurned(&mut self) -> Option<io::Error> {
        if self.to_client.has_heard() || self.to_broker.ending().is_some() {
            return None;
        }
        let fault = self.to_client.take_fault()?;
        self.broker = None;
        self.to_client = Lane::new(Side::Broker);
        Some(fault)
    }

    /// Takes note of how far the end of the program has come; ready if that ends the connection
    /// here and now.
    fn poll_stage(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while !self.bell_is_set || self.lifecycle.stage() != self.stage {
            let stage = self.lifecycle.stage();
            if stage >= Stage::Goodbye && self.stage < Stage::Goodbye {
                let ending = Ending::ours(Reason::Drain);
                if self.gate.phase() == Phase::Unidentified {
                    self.ending.get_or_insert(ending);
                    return Poll::Ready(());
                }
                self.gate.hang_up(HangUp::Drain);
                self.asked.get_or_insert(ending);
                self.patience
                    .get_or_insert_with(|| Box::pin(sleep(self.linger)));
            }
            if stage == Stage::Cut {
                self.ending.get_or_insert(Ending::ours(Reason::Drain));
            }
            self.stage = stage;
            let token = if stage < Stage::Goodbye {
                &self.lifecycle.goodbye
            } else {
                &self.lifecycle.cut
            };
            self.bell.set(token.clone().cancelled_owned());
            self.bell_is_set = self.bell.as_mut().poll(cx).is_pending() || stage == Stage::Cut;
        }
        Poll::Pending
    }

    /// Both sinks are shut together, once neither lane has anything left to say.
    fn when_over(&self) -> WhenOver {
        if self.to_broker.ending().is_some() && self.to_client.ending().is_some() {
            WhenOver::Shut
        } else {
            WhenOver::Keep
        }
    }

    /// Notes how the connection ended, and from when on its time is bounded.
    fn note_endings(&mut self) {
        for (side, lane) in [
            (Side::Client, &mut self.to_broker),
            (Side::Broker, &mut self.to_client),
        ] {
            if let Some(ending) = lane.ending() {
                self.ending.get_or_insert(ending);
            }
            if let Some(fault) = lane.take_fault() {
                self.tally.broke(side, &fault, &*self.gate);
            }
        }
        // Who broke off, and did not only end a stream, will not be served either: the other side
        // need not wait for that.
        if let Some(ending) = self.to_broker.broken_off() {
            self.to_client.break_off(ending);
        }
        if let Some(ending) = self.to_client.broken_off() {
            self.to_broker.break_off(ending);
        }
        // A client that only ended its own stream may still be served; a broker that did is gone.
        if self.to_broker.was_cut_short() || self.to_client.ending().is_some() {
            self.patience
                .get_or_insert_with(|| Box::pin(sleep(self.linger)));
        }
    }

    /// Ends what has taken too long.
    fn poll_time(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        if let Some(handshake) = &mut self.handshake {
            if self.to_client.has_heard() {
                handshake.goes_on();
            }
            if self.gate.phase() > Phase::Unidentified {
                self.handshake = None;
            } else if handshake.poll(cx).is_ready() {
                let ending = Ending::by(Side::Client, Reason::HandshakeTimeout);
                self.ending.get_or_insert(ending);
                return Poll::Ready(Outcome::Cut);
            }
        }
        if self.poll_tick(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
        match &mut self.patience {
            Some(patience) => patience.as_mut().poll(cx).map(|()| Outcome::Cut),
            None => Poll::Pending,
        }
    }
}

impl<C, B> Pump<C, B> {
    /// Calls the gate when it wants to be called though nothing comes; ready if that was now.
    fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(after) = self.gate.tick_after() else {
            self.tick = None;
            return Poll::Pending;
        };
        let due = Instant::now() + after;
        let tick = self.tick.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if tick.deadline() > due {
            tick.as_mut().reset(due);
        }
        ready!(tick.as_mut().poll(cx));
        self.tick = None;
        self.gate.tick();
        Poll::Ready(())
    }
}

/// Octets of a client that are read and thrown away after its connection was ended.
const MOST_DISCARDED: u64 = 64 << 20;
