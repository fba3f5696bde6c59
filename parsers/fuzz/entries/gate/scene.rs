//! A conversation: what happens between two sides, one thing after the other.

use std::fmt;

use sizegate::gate::{HangUp, Side};

use super::terms::LONGEST_CONVERSATION;
use super::{Dialect, SIDES, Script};

/// Something that happens to a gate.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// Octets come from a side.
    Says(Side, Vec<u8>),
    /// The time passes that the gate asked for.
    Tick,
    /// The relay wants an end.
    HangUp(HangUp),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Says(side, octets) => write!(f, "{side:?}: {}", octets.escape_ascii()),
            Self::Tick => f.write_str("tick"),
            Self::HangUp(why) => write!(f, "{why:?}"),
        }
    }
}

/// A conversation while it is written.
#[derive(Debug, Default)]
pub(super) struct Scene {
    pub(super) events: Vec<Event>,
    /// What each side says next, and has not been sent yet.
    waiting: [Vec<u8>; 2],
    /// Octets so far.
    len: usize,
    /// Whether the broker has said anything.
    is_answered: bool,
    /// Whether the relay has asked for an end; it does so once.
    is_hung_up: bool,
    /// Whether there is no broker.
    is_alone: bool,
}

impl Scene {
    /// Makes a conversation out of all octets that are left.
    ///
    /// Each line begins with an octet: the top bit is the side, the next one says whether what that
    /// side said before is sent now, the others are what it says.
    pub(super) fn play(dialect: &Dialect, script: &mut Script<'_>) -> Vec<Event> {
        let mut scene = Self::default();
        (dialect.greet)(&mut scene, script);
        while !script.is_over() && scene.len < LONGEST_CONVERSATION as usize {
            let line = script.octet();
            let side = if line & 0x80 == 0 {
                Side::Client
            } else {
                Side::Broker
            };
            if line & 0x40 != 0 {
                scene.send(side, usize::MAX);
            }
            scene.line(dialect, side, line & 0x3F, script);
        }
        for side in SIDES {
            scene.send(side, usize::MAX);
        }
        scene.events
    }

    fn line(&mut self, dialect: &Dialect, side: Side, what: u8, script: &mut Script<'_>) {
        match what {
            // Words of the protocol, as far as there are so many.
            0..0x30 => self.says(side, |out| (dialect.word)(side, what, script, out)),
            0x30 => {
                let most = usize::from(script.octet());
                self.send(side, most);
            }
            0x31 => {
                let most = usize::from(script.short());
                let octets = script.octets(most);
                self.says(side, |out| out.extend_from_slice(octets));
            }
            0x32 => {
                let times = usize::from(script.octet());
                let octets = self.waiting[side as usize].clone();
                let room = (LONGEST_CONVERSATION as usize).saturating_sub(self.len);
                let times = times.min(room / octets.len().max(1));
                self.says(side, |out| out.extend(octets.repeat(times)));
            }
            0x33 => self.happens(Event::Tick),
            0x34 => self.hang_up(HangUp::Drain),
            0x35 => self.hang_up(HangUp::BrokerUnreachable),
            // Damage to what is about to be sent.
            0x36 => {
                let (at, octet) = (usize::from(script.octet()), script.octet());
                if let Some(place) = self.waiting[side as usize].get_mut(at) {
                    *place = octet;
                }
            }
            0x37 => {
                let most = usize::from(script.octet());
                self.waiting[side as usize].truncate(most);
            }
            _ => {
                let octets = script.octets(usize::from(what - 0x37));
                self.says(side, |out| out.extend_from_slice(octets));
            }
        }
    }

    /// A side says something; it is sent with what follows.
    pub(super) fn says(&mut self, side: Side, write: impl FnOnce(&mut Vec<u8>)) {
        if side == Side::Broker && self.is_alone {
            return;
        }
        self.is_answered |= side == Side::Broker;
        let waiting = &mut self.waiting[side as usize];
        let before = waiting.len();
        write(waiting);
        self.len += waiting.len() - before;
    }

    /// Sends up to so many octets of what a side has said.
    pub(super) fn send(&mut self, side: Side, most: usize) {
        let waiting = &mut self.waiting[side as usize];
        let rest = waiting.split_off(most.min(waiting.len()));
        let octets = std::mem::replace(waiting, rest);
        if !octets.is_empty() {
            self.events.push(Event::Says(side, octets));
        }
    }

    fn hang_up(&mut self, why: HangUp) {
        // A broker that has been reached stays reached.
        let is_true = why == HangUp::Drain || !self.is_answered;
        if is_true && !self.is_hung_up {
            self.is_hung_up = true;
            self.is_alone = why == HangUp::BrokerUnreachable;
            self.happens(Event::HangUp(why));
        }
    }

    /// Something happens after all that was said has come.
    fn happens(&mut self, event: Event) {
        for side in SIDES {
            self.send(side, usize::MAX);
        }
        self.events.push(event);
    }
}
