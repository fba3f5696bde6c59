//! What happens in a schedule: who the peers are, which links they have, and what they do in turn.
//!
//! All of it is made from drawn octets by arithmetic, not by strategies inside of strategies: those
//! would take most of the time. Smaller octets make simpler schedules.

use parsers::amqp10::{ReceiverSettleMode, SenderSettleMode};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::SIDES;
use super::super::peer::{Content, Counts, Delivery, PeerTerms, Sections};
use crate::gate::Side;

/// A whole schedule.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) client: PeerTerms,
    pub(super) broker: PeerTerms,
    pub(super) sessions: usize,
    pub(super) links: Vec<LinkPlan>,
    pub(super) ops: Vec<Op>,
}

/// A link that the client attaches at the beginning.
#[derive(Clone, Debug)]
pub(super) struct LinkPlan {
    /// Modulo the number of sessions.
    pub(super) session: usize,
    pub(super) sender: Side,
    pub(super) rcv_settle_mode: ReceiverSettleMode,
    pub(super) snd_settle_mode: SenderSettleMode,
    pub(super) initial_delivery_count: u32,
    /// What the receiver grants at once.
    pub(super) credit: u32,
}

/// One thing that happens. Links are meant modulo their number.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// The sender of a link lines a delivery up.
    Queue { link: usize, delivery: Delivery },
    /// It sends so many frames, as far as it may.
    Push { link: usize, frames: usize },
    /// The receiver of a link grants credit.
    Credit { link: usize, credit: u32 },
    /// It asks for its credit back.
    Drain { link: usize },
    /// The sender of a link tells where it stands.
    Tell { link: usize, echo: bool },
    /// A side lets so many transfer frames come in the session of a link.
    Window {
        side: Side,
        link: usize,
        frames: u32,
    },
    /// The receiver of a link says what becomes of deliveries of its session.
    Dispose {
        link: usize,
        most: usize,
        fate: usize,
    },
    /// A side sends an empty frame.
    Beat { side: Side },
    /// The sender of a link settles what waits for it in its session.
    Settle { link: usize },
    /// So many octets of a side reach the gate.
    Carry { side: Side, octets: usize },
    /// A side detaches a link.
    Detach {
        side: Side,
        link: usize,
        closed: bool,
    },
    /// A link that is over is attached again.
    Attach { link: usize },
}

/// Which schedules are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope {
    /// The largest message, and around which size there are most.
    pub(super) max_size: usize,
    pub(super) limit: usize,
    pub(super) max_pieces: usize,
    /// Whether links are detached and attached again.
    pub(super) detaches: bool,
    /// Whether deliveries are broken off.
    pub(super) aborts: bool,
    /// Whether every frame of a delivery is as large as it may be.
    pub(super) fills: bool,
    pub(super) max_links: usize,
    /// Whether deliveries are messages of AMQP 1.0, some with the mark, on links of all modes.
    pub(super) messages: bool,
}

impl Scope {
    pub(super) const USUAL: Self = Self {
        max_size: 240,
        limit: 100,
        max_pieces: 7,
        detaches: false,
        aborts: true,
        fills: false,
        max_links: 4,
        messages: false,
    };
    pub(super) const WITH_DETACHES: Self = Self {
        detaches: true,
        ..Self::USUAL
    };
    /// Nothing is over the limit.
    pub(super) const COMPLIANT: Self = Self {
        max_size: 100,
        aborts: false,
        ..Self::USUAL
    };
    pub(super) const FULL_FRAMES: Self = Self {
        max_pieces: 4,
        fills: true,
        ..Self::USUAL
    };
    pub(super) const MESSAGES: Self = Self {
        messages: true,
        ..Self::USUAL
    };
    /// Frames that are nearly full, and no limit.
    pub(super) const LARGE_MESSAGES: Self = Self {
        max_size: 1_400,
        limit: 450,
        max_pieces: 3,
        ..Self::MESSAGES
    };
}

impl Plan {
    pub(super) fn any(scope: Scope) -> impl Strategy<Value = Self> {
        let peers = (any::<[u8; 14]>(), any::<[u8; 14]>());
        let links = vec(any::<[u8; 7]>(), 1..=scope.max_links);
        let ops = vec(any::<[u8; 10]>(), 15..75);
        (peers, 0..2_usize, links, ops).prop_map(move |(peers, sessions, links, ops)| Self {
            client: peer(scope, Draw(&peers.0)),
            broker: peer(scope, Draw(&peers.1)),
            sessions: sessions + 1,
            links: links
                .iter()
                .map(|drawn| LinkPlan::of(scope, Draw(drawn)))
                .collect(),
            ops: ops.iter().map(|drawn| Op::of(scope, Draw(drawn))).collect(),
        })
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

    /// A number from 1 on, up to `last`.
    fn up_to(&mut self, last: usize) -> usize {
        1 + self.below(last)
    }

    fn side(&mut self) -> Side {
        SIDES[self.below(2)]
    }

    /// A serial number, often one that is about to wrap or to take more octets.
    fn serial(&mut self) -> u32 {
        let (kind, by) = (self.below(4), self.octet() as u32);
        match kind {
            0 => by % 3,
            1 => u32::MAX - by % 6,
            2 => 250 + by % 7,
            _ => by.wrapping_mul(0x0101_0101),
        }
    }
}

impl LinkPlan {
    fn of(scope: Scope, mut draw: Draw<'_>) -> Self {
        Self {
            session: draw.below(2),
            sender: draw.side(),
            rcv_settle_mode: match draw.below(4) {
                3 => ReceiverSettleMode::Second,
                _ => ReceiverSettleMode::First,
            },
            initial_delivery_count: draw.serial(),
            credit: draw.below(11) as u32,
            snd_settle_mode: match draw.below(6) {
                4 if scope.messages => SenderSettleMode::Settled,
                5 if scope.messages => SenderSettleMode::Unsettled,
                _ => SenderSettleMode::Mixed,
            },
        }
    }
}

impl Op {
    fn of(scope: Scope, mut draw: Draw<'_>) -> Self {
        let kind = draw.octet();
        let link = draw.below(scope.max_links);
        // How often each comes, of 256.
        match kind {
            0..75 => Self::Carry {
                side: draw.side(),
                octets: match draw.below(3) {
                    0 => usize::MAX,
                    1 => draw.up_to(40),
                    _ => draw.up_to(256) * 2,
                },
            },
            75..135 => Self::Push {
                link,
                frames: draw.up_to(4),
            },
            135..185 => Self::Queue {
                link,
                delivery: delivery(scope, &mut draw),
            },
            185..203 => Self::Dispose {
                link,
                most: draw.up_to(4),
                fate: draw.below(5),
            },
            203..217 => Self::Window {
                side: draw.side(),
                link,
                frames: draw.up_to(20) as u32,
            },
            217..231 => Self::Credit {
                link,
                credit: draw.up_to(10) as u32,
            },
            231..238 => Self::Tell {
                link,
                echo: draw.below(2) == 1,
            },
            238..242 => Self::Settle { link },
            242..244 => Self::Drain { link },
            244..246 => Self::Beat { side: draw.side() },
            246..251 if scope.detaches => Self::Detach {
                side: draw.side(),
                link,
                closed: draw.below(2) == 1,
            },
            _ if scope.detaches => Self::Attach { link },
            _ => Self::Push { link, frames: 1 },
        }
    }
}

fn peer(scope: Scope, mut draw: Draw<'_>) -> PeerTerms {
    PeerTerms {
        next_outgoing_id: draw.serial(),
        delivery_id: draw.serial(),
        initial_delivery_count: draw.serial(),
        incoming_window: draw.up_to(20) as u32,
        channel: draw.below(3) as u16,
        handle: draw.below(3) as u32,
        reverses_ranges: draw.below(2) == 1,
        counts: [Counts::AtFirst, Counts::AtLast][draw.below(2)],
        empty_tags: draw.below(2) == 1 && scope.messages,
        insists_on_unsettled: draw.below(2) == 1 && scope.messages,
        says_unsettled: draw.below(2) == 1 && scope.messages,
        credit_may_shrink: scope.messages,
        ..PeerTerms::default()
    }
}

fn delivery(scope: Scope, draw: &mut Draw<'_>) -> Delivery {
    let size = match (draw.below(5), draw.octet()) {
        (0 | 1, by) => 1 + by * (scope.limit - 1) / 256,
        (2 | 3, by) => scope.limit - 2 + by % 5,
        (_, by) => scope.limit + 1 + by * (scope.max_size - scope.limit) / 256,
    };
    let pieces = match draw.octet() {
        even if even % 2 == 0 && !scope.fills => 1,
        odd => 1 + odd / 2 % scope.max_pieces,
    };
    let size = size.min(scope.max_size);
    let pieces = pieces.max(size.div_ceil(MOST_IN_A_FRAME));
    let settled_from = match draw.below(9) {
        6 | 7 => Some(0),
        8 => Some(2),
        _ => None,
    };
    let (last, unusual) = (draw.octet(), draw.octet());
    Delivery {
        pieces: cut(size, pieces),
        settled_from,
        aborts: scope.aborts && last % 12 == 11,
        fills: scope.fills,
        rcv_settle_mode: (unusual % 16 == 15).then_some(ReceiverSettleMode::Second),
        txn_id: (unusual / 16 == 15).then(|| b"txn".to_vec()),
        repeats_id: last / 12 % 2 == 1,
        message_format: (unusual % 16) as u32 / 14,
        content: if scope.messages {
            content(draw)
        } else {
            Content::Octets
        },
    }
}

fn content(draw: &mut Draw<'_>) -> Content {
    let drawn = draw.octet();
    let bit = |nth: usize| drawn >> nth & 1 == 1;
    if drawn == 0 {
        return Content::Octets;
    }
    Content::Message {
        sections: Sections {
            header: bit(0),
            delivery_annotations: bit(1) && bit(2),
            message_annotation: bit(3).then_some([3, 30][drawn >> 4 & 1]),
            properties: bit(2),
        },
        marked: bit(5) && bit(6),
    }
}

/// Octets of payload that fit into a frame of 512 whatever stands before them.
const MOST_IN_A_FRAME: usize = 455;

/// Cuts a size into so many pieces, each of at least one octet.
fn cut(size: usize, pieces: usize) -> Vec<usize> {
    let pieces = pieces.min(size);
    (0..pieces)
        .map(|nth| size * (nth + 1) / pieces - size * nth / pieces)
        .collect()
}
