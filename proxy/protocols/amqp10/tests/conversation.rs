//! Two strict peers with a gate between them.

use super::SIDES;
use super::frames::{spelt_out, units};
use super::peer::{Peer, PeerTerms};
use super::transcript::Transcript;
use crate::gate::Side;
use crate::gate::harness::Harness;

/// A client and a broker, and the octets between them.
pub(super) struct Conversation {
    pub(super) gate: Harness,
    pub(super) client: Peer,
    pub(super) broker: Peer,
    /// What a side said and the gate was not given yet.
    on_the_way: [Vec<u8>; 2],
    /// All that the gate was given by a side.
    pub(super) said: [Vec<u8>; 2],
    /// All that a side was sent by the gate.
    pub(super) heard: [Vec<u8>; 2],
    pub(super) form: Form,
    transcript: Transcript,
}

/// In which form the gate is given what the peers say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As they say it, in any pieces.
    AsSaid,
    /// As they say it, in pieces of whole frames.
    WholeFrames,
    /// In the same pieces, with transfers spelt so that the straight path is not for them.
    SpeltOut,
}

impl Conversation {
    pub(super) fn new(gate: Harness, client: PeerTerms, broker: PeerTerms) -> Self {
        Self {
            gate,
            client: Peer::new(Side::Client, client),
            broker: Peer::new(Side::Broker, broker),
            on_the_way: Default::default(),
            said: Default::default(),
            heard: Default::default(),
            form: Form::AsSaid,
            transcript: Transcript::new(),
        }
    }

    pub(super) fn peer(&mut self, side: Side) -> &mut Peer {
        match side {
            Side::Client => &mut self.client,
            Side::Broker => &mut self.broker,
        }
    }

    /// A peer to be looked at.
    pub(super) fn the(&self, side: Side) -> &Peer {
        match side {
            Side::Client => &self.client,
            Side::Broker => &self.broker,
        }
    }

    /// Lets everything happen that is under way.
    pub(super) fn run(&mut self) {
        while SIDES
            .map(|side| self.carry(side, usize::MAX))
            .contains(&true)
        {}
    }

    /// Lets the time pass that the gate asked for, and says whether it asked.
    pub(super) fn tick(&mut self) -> bool {
        let asked = self.gate.tick();
        self.deliver();
        asked
    }

    /// Gives the gate up to this many octets of a side, and the peers what comes of it. Returns
    /// whether there were any.
    pub(super) fn carry(&mut self, side: Side, most: usize) -> bool {
        let said = self.peer(side).take();
        let on_the_way = &mut self.on_the_way[side as usize];
        on_the_way.extend(said);
        let mut len = most.min(on_the_way.len());
        if len == 0 {
            return false;
        }
        if self.form != Form::AsSaid {
            let ends = units(on_the_way).into_iter().scan(0, |end, unit| {
                *end += unit.len();
                Some(*end)
            });
            len = ends.filter(|&end| end >= len).min().unwrap_or(len);
        }
        let mut octets: Vec<u8> = on_the_way.drain(..len).collect();
        if self.form == Form::SpeltOut {
            octets = spelt_out(&octets);
        }
        self.said[side as usize].extend_from_slice(&octets);
        self.transcript.said(side, &octets);
        self.gate.feed(side, &octets);
        self.deliver();
        true
    }

    /// Gives the peers what the gate has for them.
    pub(super) fn deliver(&mut self) {
        for side in SIDES {
            let octets = self.gate.sent_to(side);
            self.heard[side as usize].extend_from_slice(&octets);
            self.transcript.heard(side, &octets);
            self.peer(side).receive(&octets);
        }
    }

    /// Checks that nothing was cut off in the middle of a frame.
    pub(super) fn assert_whole_frames(&self) {
        assert!(self.client.is_between_frames() && self.broker.is_between_frames());
    }
}
