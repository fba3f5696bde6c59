//! One link: who sends on it, under which limit, and what its two ends count.

use std::sync::Arc;

use parsers::amqp10::{Attach, Handle, ReceiverSettleMode, Role, SenderSettleMode, Terminus};

use super::PerSide;
use super::delivery::Delivery;
use super::presettled::Pace;
use crate::gate::{Direction, Limits, Side};
use crate::policy::Limit;

/// A link that at least one side has attached and not detached.
#[derive(Debug)]
pub(super) struct Link {
    /// Its name; with the sending side it tells the links of a session apart.
    pub(super) name: Box<str>,
    /// The side that sends on it.
    pub(super) sender: Side,
    /// The handle that each side has given it; none before its attach and after its detach.
    pub(super) handles: PerSide<Option<Handle>>,
    /// Whether each side has attached it, though it may have detached it since.
    pub(super) attached: PerSide<bool>,
    /// Whether a side has closed it, so that it can't be resumed.
    pub(super) is_closed: bool,
    /// Where messages go to, or come from, as far as it is said.
    pub(super) address: Option<Arc<str>>,
    /// Under which limit its messages are.
    pub(super) limit: LinkLimit,
    /// Whether its receiver settles second.
    pub(super) second: bool,
    /// The largest message that its receiver says it takes.
    pub(super) max_message_size: Option<u64>,
    /// How its sender settles, as each side has said.
    pub(super) snd_settle_mode: PerSide<Option<SenderSettleMode>>,
    /// Deliveries that the receiver has not seen and never will, less credit that was given back to
    /// it in the sender's name; wraps.
    pub(super) swallowed: u32,
    /// The delivery-count that the sender began with.
    pub(super) initial_delivery_count: Option<u32>,
    /// Deliveries that the sender has begun, and credit that it gave back; wraps.
    pub(super) count: u32,
    /// The credit that the receiver gave last.
    pub(super) credit: Option<Credit>,
    /// Pre-settled deliveries that have begun and that the broker has not settled; none unless they
    /// go to it unsettled.
    pub(super) unsettled: u32,
    /// What its sender has been told of the receiver's credit because of them.
    pub(super) pace: Pace,
    /// The delivery whose last frame has not come.
    pub(super) current: Option<Delivery>,
    /// Whether it goes on.
    pub(super) state: LinkState,
}

/// Under which limit the messages of a link are.
#[derive(Clone, Debug)]
pub(super) enum LinkLimit {
    /// Under none, whatever is configured: it is for management, or for transactions.
    Exempt,
    /// Under one and the same.
    One(Limit),
    /// Under that of the address that each message bears itself.
    ByMessage,
}

/// A receiver's last word on the credit of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credit {
    /// The delivery-count that it knew, in its own numbers.
    pub(super) delivery_count: Option<u32>,
    /// Deliveries beyond that.
    pub(super) link_credit: u32,
    /// Whether it wants them used up or given back.
    pub(super) drain: bool,
}

/// Whether a link goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LinkState {
    /// It does.
    Attached,
    /// Its receiver was not sent all frames of a delivery, because it left or because the connection
    /// is about to be closed; those behind them are thrown away too.
    Left,
    /// sizegate has detached it on both sides, for this reason; what still comes is thrown away.
    Detached(String),
}

impl Link {
    /// A link that `side` has attached.
    pub(super) fn new(side: Side, attach: &Attach<'_>) -> Self {
        Self {
            name: attach.name.into(),
            sender: sender(side, attach.role),
            handles: PerSide::default(),
            attached: PerSide::default(),
            is_closed: false,
            address: None,
            limit: LinkLimit::Exempt,
            second: false,
            max_message_size: None,
            snd_settle_mode: PerSide::default(),
            swallowed: 0,
            initial_delivery_count: None,
            count: 0,
            credit: None,
            unsettled: 0,
            pace: Pace::default(),
            current: None,
            state: LinkState::Attached,
        }
    }

    /// Takes over what the attach of a side says.
    pub(super) fn attach(&mut self, side: Side, attach: &Attach<'_>, limits: Option<&Limits>) {
        *self.handles.of_mut(side) = Some(attach.handle);
        *self.attached.of_mut(side) = true;
        *self.snd_settle_mode.of_mut(side) = Some(attach.snd_settle_mode);
        if side == self.sender {
            self.initial_delivery_count = attach.initial_delivery_count;
        } else {
            self.max_message_size = attach.max_message_size.filter(|&size| size > 0);
        }
        // The receiver's word holds; before it has come, that of the sender.
        self.second = attach.rcv_settle_mode == ReceiverSettleMode::Second;
        let terminus = match self.sender {
            Side::Client => &attach.target,
            Side::Broker => &attach.source,
        };
        // The client names the node, but for one that the broker creates and names in its answer.
        if side == Side::Client || self.address.is_none() {
            self.address = terminus.address().map(Into::into);
            self.limit = link_limit(self.sender, terminus, limits);
        }
    }

    /// Notes a delivery-count of the sender, and says whether it leaves out the delivery that has
    /// begun.
    pub(super) fn note_count(&mut self, delivery_count: u32) -> bool {
        let Some(initial) = self.initial_delivery_count else {
            return false;
        };
        let told = delivery_count.wrapping_sub(initial);
        if (told.wrapping_sub(self.count) as i32) > 0 {
            self.count = told;
        }
        self.current.is_some() && told != self.count
    }

    /// The address of the present message, if each message of the link bears its own, cut to a length
    /// that may be remembered.
    pub(super) fn own_address(&self) -> Option<Arc<str>> {
        let address = self.address.as_deref();
        let address = address.filter(|_| matches!(self.limit, LinkLimit::ByMessage))?;
        let mut end = address.len().min(LONGEST);
        while !address.is_char_boundary(end) {
            end -= 1;
        }
        address.get(..end).map(Into::into)
    }

    /// Which way its messages go.
    pub(super) fn direction(&self) -> Direction {
        direction(self.sender)
    }

    /// Whether neither side has it attached.
    pub(super) fn is_gone(&self) -> bool {
        self.handles.client.is_none() && self.handles.broker.is_none()
    }
}

/// The side that sends on a link which `side` has attached in this role.
pub(super) fn sender(side: Side, role: Role) -> Side {
    match role {
        Role::Sender => side,
        Role::Receiver => side.other(),
    }
}

/// Which way the octets of a side go.
pub(super) fn direction(from: Side) -> Direction {
    match from {
        Side::Client => Direction::ToBroker,
        Side::Broker => Direction::ToClient,
    }
}

fn link_limit(sender: Side, terminus: &Terminus<'_>, limits: Option<&Limits>) -> LinkLimit {
    let direction = direction(sender);
    match (terminus, limits) {
        (Terminus::Coordinator, _) | (_, None) => LinkLimit::Exempt,
        (
            Terminus::Node {
                address: Some(address),
                ..
            },
            _,
        ) if is_management(address) => LinkLimit::Exempt,
        // The anonymous terminus (AMQP 1.0 §2.6.3, "Using the Anonymous Terminus").
        (
            Terminus::Node {
                address: None,
                dynamic: false,
            },
            Some(_),
        ) if sender == Side::Client => LinkLimit::ByMessage,
        (terminus, Some(limits)) => {
            let address = terminus.address().unwrap_or_default();
            LinkLimit::One(limits.limit(direction, address.as_bytes()).clone())
        }
    }
}

/// Whether a node is for the management of the broker or of access to it, whose messages are no
/// tenant's.
fn is_management(address: &str) -> bool {
    matches!(address, "$management" | "$cbs" | "/management")
}

/// Octets of an address that are remembered for a delivery; a few more than are logged, so that those
/// are seen to be cut.
const LONGEST: usize = 260;
