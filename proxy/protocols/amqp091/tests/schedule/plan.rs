//! What happens in a schedule, in turn.
//!
//! All of it is made from drawn octets by arithmetic, not by strategies inside of strategies: those
//! would take most of the time. Smaller octets make simpler schedules.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::LIMIT;
use super::super::peer::ChannelMode;
use crate::gate::Side;

/// One thing that happens.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Open {
        channel: u16,
        mode: ChannelMode,
        no_wait: bool,
    },
    Close {
        side: Side,
        channel: u16,
    },
    Publish {
        channel: u16,
        size: usize,
        mandatory: bool,
        pieces: usize,
    },
    Confirm {
        channel: u16,
        pick: usize,
        multiple: bool,
        nacks: bool,
    },
    Consume {
        channel: u16,
        tag: &'static str,
        no_ack: bool,
        no_wait: bool,
    },
    Cancel {
        channel: u16,
    },
    Deliver {
        channel: u16,
        pick: usize,
        size: usize,
        pieces: usize,
    },
    Get {
        channel: u16,
        no_ack: bool,
    },
    /// There is a message for the next basic.get.
    Ready {
        size: usize,
        pieces: usize,
    },
    Acknowledge {
        channel: u16,
        pick: usize,
        multiple: bool,
    },
    EndTx {
        channel: u16,
        commits: bool,
    },
    /// A side sends so many frames of a channel.
    Push {
        side: Side,
        channel: u16,
        frames: usize,
    },
    /// So many octets of a side reach the gate.
    Carry {
        side: Side,
        octets: usize,
    },
    Beat {
        side: Side,
    },
    Tick,
}

/// Which schedules are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    /// The largest body.
    pub(super) max_size: usize,
    /// Whether channels are closed and opened again.
    pub(super) closes: bool,
    pub(super) transacts: bool,
}

impl Scope {
    pub(super) const USUAL: Self = Self {
        max_size: 300,
        closes: false,
        transacts: false,
    };
    pub(super) const ALL: Self = Self {
        closes: true,
        transacts: true,
        ..Self::USUAL
    };
    /// Nothing is over the limit.
    pub(super) const COMPLIANT: Self = Self {
        max_size: LIMIT as usize,
        ..Self::ALL
    };
}

/// A whole schedule: the modes of the channels at first, and what happens then.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) modes: [ChannelMode; CHANNELS as usize],
    pub(super) ops: Vec<Op>,
}

/// How many channels there are, from 1 on.
pub(super) const CHANNELS: u16 = 3;

impl Plan {
    pub(super) fn any(scope: Scope) -> impl Strategy<Value = Self> {
        let ops = vec(any::<[u8; 7]>(), 15..120);
        (any::<[u8; CHANNELS as usize]>(), ops).prop_map(move |(modes, ops)| Self {
            modes: modes.map(|octet| mode(scope, octet.into())),
            ops: ops.iter().map(|drawn| Op::of(scope, Draw(drawn))).collect(),
        })
    }
}

fn mode(scope: Scope, octet: usize) -> ChannelMode {
    match octet % 8 {
        0..4 => ChannelMode::Confirm,
        4 if scope.transacts => ChannelMode::Tx,
        _ => ChannelMode::Plain,
    }
}

/// Octets that choices are made from, one after the other.
struct Draw<'a>(&'a [u8]);

impl Draw<'_> {
    fn octet(&mut self) -> usize {
        let (first, rest) = self.0.split_first().expect("as many octets as choices");
        self.0 = rest;
        usize::from(*first)
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.octet() % end
    }

    fn bit(&mut self) -> bool {
        self.below(2) == 1
    }

    fn side(&mut self) -> Side {
        match self.bit() {
            false => Side::Client,
            true => Side::Broker,
        }
    }

    fn channel(&mut self) -> u16 {
        1 + self.below(CHANNELS.into()) as u16
    }

    /// A size, of which many are just within the limit or just over it.
    fn size(&mut self, scope: Scope) -> usize {
        let limit = LIMIT as usize;
        let size = match self.octet() {
            0..20 => 0,
            20..90 => limit,
            90..160 => limit + 1,
            octet => octet * 7 % scope.max_size,
        };
        size.min(scope.max_size)
    }
}

impl Op {
    fn of(scope: Scope, mut draw: Draw<'_>) -> Self {
        let kind = draw.below(64);
        let channel = draw.channel();
        match kind {
            0..14 => Self::Carry {
                side: draw.side(),
                octets: 1 + draw.octet() * draw.below(4),
            },
            14..28 => Self::Push {
                side: draw.side(),
                channel,
                frames: 1 + draw.below(4),
            },
            28..40 => Self::Publish {
                channel,
                size: draw.size(scope),
                mandatory: draw.bit(),
                pieces: 1 + draw.below(4),
            },
            40..46 => Self::Deliver {
                channel,
                pick: draw.octet(),
                size: draw.size(scope),
                pieces: 1 + draw.below(4),
            },
            46..51 => Self::Confirm {
                channel,
                pick: draw.octet(),
                multiple: draw.bit(),
                nacks: draw.below(4) == 3,
            },
            51..54 => Self::Consume {
                channel,
                tag: ["", "a", "b"][draw.below(3)],
                no_ack: draw.bit(),
                no_wait: draw.bit(),
            },
            54 => Self::Cancel { channel },
            55 => Self::Get {
                channel,
                no_ack: draw.bit(),
            },
            56 => Self::Ready {
                size: draw.size(scope),
                pieces: 1 + draw.below(3),
            },
            57 | 58 => Self::Acknowledge {
                channel,
                pick: draw.octet(),
                multiple: draw.bit(),
            },
            59 if scope.transacts => Self::EndTx {
                channel,
                commits: draw.bit(),
            },
            60 if scope.closes => Self::Close {
                side: draw.side(),
                channel,
            },
            61 => Self::Open {
                channel,
                mode: mode(scope, draw.octet()),
                no_wait: draw.bit(),
            },
            62 => Self::Tick,
            _ => Self::Beat { side: draw.side() },
        }
    }
}
