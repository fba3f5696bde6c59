//! What a client ends while outcomes of its pre-settled deliveries are due waits for them, but not
//! for long: what the broker says behind the end of a link, a session or a connection, nobody hears.

use std::time::Duration;

use parsers::amqp10::{Attach, Handle};

use super::super::connection::{Connection, Layer};
use super::super::link::sender;
use super::super::refuse::Word;
use super::super::session::Session;
use crate::gate::Side;

/// A link that its sender has left, or that sizegate has ended, and what its receiver is to be told
/// behind what waits for it.
#[derive(Debug)]
pub(in super::super) struct Leaving {
    /// The place of the link.
    pub(in super::super) link: usize,
    /// The sender's handle.
    pub(in super::super) handle: Handle,
    /// What is to be told.
    pub(in super::super) word: Word,
    /// How long it still waits for outcomes.
    pub(in super::super) patience: Patience,
}

/// How long an end still waits for outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Patience {
    /// Two ticks, or none if nothing is due.
    #[default]
    Fresh,
    /// One.
    Waning,
    /// No longer.
    Over,
}

impl Patience {
    /// One tick less.
    fn wane(&mut self) {
        *self = match self {
            Self::Fresh => Self::Waning,
            Self::Waning | Self::Over => Self::Over,
        };
    }
}

impl Connection {
    /// Whether the end of a session, or the close of its connection, by a side has to wait for
    /// outcomes of its deliveries.
    pub(in super::super) fn waits_for_outcomes(&mut self, from: Side, at: usize) -> bool {
        let is_closed = self.sides.broker.layer == Layer::Closed;
        let Some(session) = self.session_mut(at) else {
            return false;
        };
        let waits = from == Side::Client
            && !is_closed
            && !session.is_ended(Side::Broker)
            && session.ways.client.owed.len() > 0
            && session.patience != Patience::Over;
        session.is_ending |= waits;
        self.dues.is_waited_for |= waits;
        waits
    }

    /// Lets the links of a session go whose ends have waited long enough for outcomes.
    pub(in super::super) fn let_leave(&mut self, at: usize) {
        loop {
            let Some(session) = self.session_mut(at) else {
                return;
            };
            let leaving = session.ways.client.leaving.iter();
            let mut links = leaving.map(|leaving| leaving.link);
            let Some(link) = links.find(|&link| session.may_leave(Side::Client, link)) else {
                return;
            };
            if let Some(word) = session.take_leaving(Side::Client, link) {
                self.say(Side::Broker, at, word);
            }
        }
    }

    /// How long until what waits for outcomes has waited for one tick more.
    pub(in super::super) fn wanes_after(&self) -> Option<Duration> {
        self.dues.is_waited_for.then_some(TICK)
    }

    /// One tick has passed.
    pub(in super::super) fn wane(&mut self) {
        self.dues.is_waited_for = false;
        for at in 0..self.sessions.len() {
            let Some(session) = self.session_mut(at) else {
                continue;
            };
            if session.is_ending {
                session.patience.wane();
            }
            let mut waits = session.is_ending && session.patience != Patience::Over;
            for leaving in &mut session.ways.client.leaving {
                leaving.patience.wane();
                waits |= leaving.patience != Patience::Over;
            }
            self.dues.is_waited_for |= waits;
            self.let_leave(at);
        }
    }
}

impl Session {
    /// Whether nothing keeps the end of a link from its receiver any more.
    pub(in super::super) fn may_leave(&self, from: Side, link: usize) -> bool {
        let way = self.ways.of(from);
        let mut leaving = way.leaving.iter();
        let is_over = leaving.any(|it| it.link == link && it.patience == Patience::Over);
        !self.is_queued(from, link) && (is_over || way.owed.of_link(link) == 0)
    }

    /// Whether a side attaches a link by the handle or the name of one whose end the other side has
    /// not been told.
    pub(in super::super) fn is_leaving(&self, from: Side, attach: &Attach<'_>) -> bool {
        let is_sender = sender(from, attach.role) == from;
        let is_it = |at: usize| {
            let link = self.links.get(at).and_then(Option::as_ref);
            is_sender && link.is_some_and(|link| *link.name == *attach.name)
        };
        let mut leaving = self.ways.of(from).leaving.iter();
        leaving.any(|it| it.handle == attach.handle || is_it(it.link))
    }
}

/// How long half of the patience lasts.
const TICK: Duration = Duration::from_millis(500);
