//! One channel: how far its contents and its end have come, and what is kept about it.

use super::PerSide;
use super::confirms::Confirms;
use super::consumers::Consumers;
use crate::gate::Side;

/// What is known about a channel.
#[derive(Debug, Default)]
pub(super) struct ChannelState {
    /// How far its end has come.
    pub(super) life: Life,
    /// What the client's publishes are part of.
    pub(super) mode: Mode,
    /// How far the content of each side has come.
    pub(super) contents: PerSide<Content>,
    /// What each side is to be told as soon as it may be.
    pub(super) parked: PerSide<Vec<u8>>,
    /// Answers of the broker, to channel.open and to confirm.select, before which the client may be
    /// told nothing.
    pub(super) awaited: u32,
    /// Who acknowledges what, where that matters.
    pub(super) consumers: Consumers,
    /// What [`ChannelState::weight`] was when it was asked last.
    pub(super) kept: usize,
}

/// How far the end of a channel has come.
///
/// ```text
///          close of a side                       all close-oks
/// Open ----------------------> Closing ------------------------------------> no channel
///  |                                                                             ^
///  | a message is refused with it: close to the broker                           |
///  v        close-ok of the broker: close to the client     close-ok of it       |
/// Refused --------------------------------------------> Told ------------------->+
///  |                                                                             |
///  | close of the client                                close-ok of the broker   |
///  +---------------------> Left ------------------------------------------------>+
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Life {
    /// It is open, or about to be.
    #[default]
    Open,
    /// A side has closed it; who owes a close-ok.
    Closing(PerSide<bool>),
    /// sizegate has closed it towards the broker, or will once the content on its way there has ended;
    /// why, for people.
    Refused(Refused),
    /// The same, and the client has closed it meanwhile.
    Left,
    /// The broker has closed it and sizegate has closed it towards the client.
    Told,
}

/// Why a channel is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// The reason for people.
    pub(super) text: String,
    /// The class and the method of the message.
    pub(super) failed: (u16, u16),
}

/// What the publishes of a channel are part of.
#[derive(Debug, Default)]
pub(super) enum Mode {
    /// Nothing.
    #[default]
    Plain,
    /// Each is confirmed.
    Confirm(Confirms),
    /// They are part of a transaction.
    Tx {
        /// Deliveries that sizegate has rejected in the client's place since it was committed.
        rejected: Vec<u64>,
    },
}

/// How far the content of one side on one channel has come (AMQP 0-9-1 §4.2.6).
///
/// ```text
///          method             content header           body size octets
/// None --------------> Header ---------------> Body ---------------------> None
///  |                     ^
///  | its header does not come right behind it
///  +------> Held --------+
/// ```
#[derive(Debug, Default)]
pub(super) enum Content {
    /// There is none.
    #[default]
    None,
    /// The method was not decided on: its content header is awaited.
    Held {
        /// The method frame.
        frame: Vec<u8>,
        /// Whether it has gone on all the same, since nothing is refused.
        passes: bool,
    },
    /// The method was decided on; its content header is due.
    Header(Fate),
    /// The body is due.
    Body {
        /// Octets of it that have not come; at least 1 between frames.
        left: u64,
        /// What becomes of it.
        fate: Fate,
    },
}

/// What becomes of a content.
#[derive(Debug)]
pub(super) enum Fate {
    /// It goes on.
    Passes,
    /// It is thrown away; then this is said.
    Swallowed(Box<Owed>),
}

/// What is said after the last octet of a content that was thrown away.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Owed {
    /// To the client.
    pub(super) client: Vec<u8>,
    /// To the broker.
    pub(super) broker: Vec<u8>,
    /// The delivery that the broker is told to be rejected.
    pub(super) rejects: Option<u64>,
}

impl ChannelState {
    /// A channel whose open goes to the broker.
    pub(super) fn opened() -> Self {
        Self {
            awaited: 1,
            ..Self::default()
        }
    }

    /// Whether a side may not be told anything on this channel now: a content is on its way to it,
    /// within which nothing else may stand (AMQP 0-9-1 §4.2.6), or an answer of the broker.
    pub(super) fn must_wait(&self, to: Side) -> bool {
        self.contents.of(to.other()).passes() || (to == Side::Client && self.awaited > 0)
    }

    /// Whether what a side sends goes nowhere: sizegate has closed the channel towards the other.
    pub(super) fn discards(&self, from: Side) -> bool {
        match (&self.life, from) {
            (Life::Open | Life::Closing(_), _) => false,
            (Life::Refused(_) | Life::Left, Side::Broker) => false,
            (Life::Refused(_), Side::Client) => !self.contents.client.passes(),
            (Life::Left | Life::Told, _) => true,
        }
    }

    /// Octets of memory that grow with what the peers do.
    pub(super) fn weight(&self) -> usize {
        let mode = match &self.mode {
            Mode::Plain => 0,
            Mode::Confirm(confirms) => confirms.weight(),
            // A number, and the frame in which it is said again.
            Mode::Tx { rejected } => rejected.len() * 32,
        };
        let contents = self.contents.client.weight() + self.contents.broker.weight();
        mode + contents
            + self.parked.client.len()
            + self.parked.broker.len()
            + self.consumers.weight()
    }
}

impl Content {
    /// Whether part of it is on its way to the other side, and more is due.
    pub(super) fn passes(&self) -> bool {
        matches!(
            self,
            Self::Held { passes: true, .. }
                | Self::Header(Fate::Passes)
                | Self::Body {
                    fate: Fate::Passes,
                    ..
                }
        )
    }

    fn weight(&self) -> usize {
        match self {
            Self::Held { frame, .. } => frame.len(),
            Self::Header(Fate::Swallowed(owed))
            | Self::Body {
                fate: Fate::Swallowed(owed),
                ..
            } => owed.client.len() + owed.broker.len(),
            _ => 0,
        }
    }
}
