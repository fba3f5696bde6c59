//! Signs of life for a side while what the other one sends goes nowhere.
//!
//! A peer that thinks that it is sending sends no heartbeats, so while its octets are thrown away the
//! other side gets heartbeats from sizegate; but only as long as octets come, so that a peer that is
//! gone is still missed.

use std::time::Duration;

use parsers::amqp091::encode;

use super::connection::Connection;
use crate::gate::Side;

impl Connection {
    /// How long from now [`Connection::take_tick`] wants to be called.
    ///
    /// Half of what was agreed upon: a side then hears something at least once in an interval, of
    /// which it waits for two (AMQP 0-9-1 §4.2.7).
    pub(super) fn next_tick(&self) -> Option<Duration> {
        if self.farewell.is_some() {
            return self.sides.client.owes_close_ok.then_some(CLOSE_OK_AFTER);
        }
        let is_losing = self.sides.client.is_losing || self.sides.broker.is_losing;
        let may_starve = is_losing && !self.is_alone && self.heartbeat > 0;
        may_starve.then(|| Duration::from_millis(u64::from(self.heartbeat) * 500))
    }

    /// Feeds the sides that have been sent nothing since the last time, though there was something.
    /// After the last word, ends the stream of a client that does not answer it: that begins the time
    /// that both sides have to leave.
    pub(super) fn take_tick(&mut self) {
        if self.farewell.is_some() {
            self.sides.client.owes_close_ok = false;
            return;
        }
        for to in [Side::Client, Side::Broker] {
            let is_starving = self.sides.of(to.other()).is_losing && !self.sides.of(to).is_fed;
            let peer = self.sides.of_mut(to);
            peer.is_fed = false;
            if let (true, Some(words)) = (is_starving, peer.words()) {
                encode::heartbeat(words);
            }
        }
        for from in [Side::Client, Side::Broker] {
            self.sides.of_mut(from).is_losing = false;
        }
    }
}

/// How long a client has to answer its close before its stream is ended.
const CLOSE_OK_AFTER: Duration = Duration::from_secs(1);
