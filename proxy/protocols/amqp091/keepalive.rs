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
        let is_losing = self.sides.client.is_losing || self.sides.broker.is_losing;
        let is_served = !self.is_alone && self.farewell.is_none();
        let may_starve = is_losing && is_served && self.heartbeat > 0;
        may_starve.then(|| Duration::from_millis(u64::from(self.heartbeat) * 500))
    }

    /// Feeds the sides that have been sent nothing since the last time, though there was something.
    pub(super) fn take_tick(&mut self) {
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
