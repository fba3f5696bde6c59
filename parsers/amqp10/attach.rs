//! Attach and detach: the beginning and the end of a link.

use super::descriptor::Descriptor;
use super::error::AmqpError;
use super::fault::Malformed;
use super::fields::{Field, any, boolean, choice, mandatory, nested, optional, text, uint, ulong};
use super::frame_header::Handle;
use super::performative::Performative;
use super::terminus::Terminus;

/// An attach (AMQP 1.0 §2.7.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attach<'a> {
    /// The name of the link; with the role it tells links between two containers apart.
    pub name: &'a str,
    /// The handle that the sender of this frame gives to the link.
    pub handle: Handle,
    /// What the sender of this frame is on the link.
    pub role: Role,
    /// How the link's sender settles; mixed if left out.
    pub snd_settle_mode: SenderSettleMode,
    /// How the link's receiver settles; first if left out.
    pub rcv_settle_mode: ReceiverSettleMode,
    /// Where messages come from.
    pub source: Terminus<'a>,
    /// Where messages go to.
    pub target: Terminus<'a>,
    /// Whether there is a map of unsettled deliveries: the link is being resumed.
    pub unsettled: Presence,
    /// The delivery-count that the link's sender begins with; only a sender has one.
    pub initial_delivery_count: Option<u32>,
    /// The largest message that the sender of this frame takes; 0 is no limit.
    pub max_message_size: Option<u64>,
}

/// Whether a field that is not read is there and not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Null or left out.
    Absent,
    /// There.
    Present,
}

/// What a side is on a link (AMQP 1.0 §2.8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It sends the deliveries; false on the wire.
    Sender,
    /// It receives them; true on the wire.
    Receiver,
}

/// How a sender settles (AMQP 1.0 §2.8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the specification's own")]
pub enum SenderSettleMode {
    Unsettled = 0,
    Settled = 1,
    Mixed = 2,
}

/// How a receiver settles (AMQP 1.0 §2.8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the specification's own")]
pub enum ReceiverSettleMode {
    First = 0,
    Second = 1,
}

/// A detach (AMQP 1.0 §2.7.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detach<'a> {
    /// The link, by the handle of the sender of this frame.
    pub handle: Handle,
    /// Whether the link is ended for good.
    pub closed: bool,
    /// Why, if it is for an error.
    pub error: Option<AmqpError<'a>>,
}

/// The indices of the fields of an attach that may be changed on the way.
impl Attach<'_> {
    /// snd-settle-mode.
    pub const SND_SETTLE_MODE: usize = 3;
    /// max-message-size.
    pub const MAX_MESSAGE_SIZE: usize = 10;
}

impl<'a> Performative<'a> {
    /// Reads the fields of an attach.
    pub fn attach(&self) -> Result<Attach<'a>, Malformed> {
        self.read(Descriptor::Attach, attach)
    }

    /// Reads the fields of a detach.
    pub fn detach(&self) -> Result<Detach<'a>, Malformed> {
        self.read(Descriptor::Detach, detach)
    }
}

impl Role {
    pub(super) fn from_bool(receiver: bool) -> Self {
        if receiver {
            Self::Receiver
        } else {
            Self::Sender
        }
    }
}

impl SenderSettleMode {
    fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Unsettled,
            1 => Self::Settled,
            2 => Self::Mixed,
            _ => return None,
        })
    }
}

impl ReceiverSettleMode {
    pub(super) fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::First,
            1 => Self::Second,
            _ => return None,
        })
    }
}

fn attach(fields: &[u8]) -> Field<'_, Attach<'_>> {
    let (rest, name) = mandatory(text)(fields)?;
    let (rest, handle) = mandatory(uint)(rest)?;
    let (rest, role) = mandatory(boolean)(rest)?;
    let (rest, snd_settle_mode) = optional(choice(SenderSettleMode::from_code))(rest)?;
    let (rest, rcv_settle_mode) = optional(choice(ReceiverSettleMode::from_code))(rest)?;
    let (rest, source) = optional(nested(Terminus::read))(rest)?;
    let (rest, target) = optional(nested(Terminus::read))(rest)?;
    let (rest, unsettled) = optional(any)(rest)?;
    let (rest, _incomplete_unsettled) = optional(any)(rest)?;
    let (rest, initial_delivery_count) = optional(uint)(rest)?;
    let (rest, max_message_size) = optional(ulong)(rest)?;
    let attach = Attach {
        name,
        handle: Handle(handle),
        role: Role::from_bool(role),
        snd_settle_mode: snd_settle_mode.unwrap_or(SenderSettleMode::Mixed),
        rcv_settle_mode: rcv_settle_mode.unwrap_or(ReceiverSettleMode::First),
        source: source.unwrap_or(Terminus::Null),
        target: target.unwrap_or(Terminus::Null),
        unsettled: unsettled.map_or(Presence::Absent, |_| Presence::Present),
        initial_delivery_count,
        max_message_size,
    };
    Ok((rest, attach))
}

fn detach(fields: &[u8]) -> Field<'_, Detach<'_>> {
    let (rest, handle) = mandatory(uint)(fields)?;
    let (rest, closed) = optional(boolean)(rest)?;
    let (rest, error) = optional(any)(rest)?;
    let detach = Detach {
        handle: Handle(handle),
        closed: closed.unwrap_or(false),
        error: error.map(AmqpError::read),
    };
    Ok((rest, detach))
}
