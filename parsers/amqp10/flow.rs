//! Flow: the windows of a session, and the credit of a link.

use super::descriptor::Descriptor;
use super::fault::Malformed;
use super::fields::{Field, boolean, mandatory, optional, uint};
use super::frame_header::Handle;
use super::performative::Performative;

/// A flow (AMQP 1.0 §2.7.4): of a session, and of a link if it has a handle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// The transfer-id that the sender of this frame expects next; null before the peer's begin.
    pub next_incoming_id: Option<u32>,
    /// Transfer frames that it takes now.
    pub incoming_window: u32,
    /// The transfer-id of the next transfer frame that it will send.
    pub next_outgoing_id: u32,
    /// Transfer frames that it may send.
    pub outgoing_window: u32,
    /// The link, by the handle of the sender of this frame.
    pub handle: Option<Handle>,
    /// The delivery-count of the link; null from a receiver that has not seen the sender's attach.
    pub delivery_count: Option<u32>,
    /// Deliveries that the link's receiver takes beyond the delivery-count.
    pub link_credit: Option<u32>,
    /// Deliveries that wait at the link's sender.
    pub available: Option<u32>,
    /// Whether credit is to be used up or given back.
    pub drain: bool,
    /// Whether the peer is asked for a flow in return.
    pub echo: bool,
}

/// The indices of the fields of a flow that may be changed on the way.
impl Flow {
    /// next-incoming-id.
    pub const NEXT_INCOMING_ID: usize = 0;
    /// incoming-window.
    pub const INCOMING_WINDOW: usize = 1;
    /// next-outgoing-id.
    pub const NEXT_OUTGOING_ID: usize = 2;
    /// outgoing-window.
    pub const OUTGOING_WINDOW: usize = 3;
    /// handle.
    pub const HANDLE: usize = 4;
    /// delivery-count.
    pub const DELIVERY_COUNT: usize = 5;
    /// link-credit.
    pub const LINK_CREDIT: usize = 6;
    /// drain.
    pub const DRAIN: usize = 8;
}

impl Performative<'_> {
    /// Reads the fields of a flow.
    pub fn flow(&self) -> Result<Flow, Malformed> {
        self.read(Descriptor::Flow, flow)
    }
}

fn flow(fields: &[u8]) -> Field<'_, Flow> {
    let (rest, next_incoming_id) = optional(uint)(fields)?;
    let (rest, incoming_window) = mandatory(uint)(rest)?;
    let (rest, next_outgoing_id) = mandatory(uint)(rest)?;
    let (rest, outgoing_window) = mandatory(uint)(rest)?;
    let (rest, handle) = optional(uint)(rest)?;
    let (rest, delivery_count) = optional(uint)(rest)?;
    let (rest, link_credit) = optional(uint)(rest)?;
    let (rest, available) = optional(uint)(rest)?;
    let (rest, drain) = optional(boolean)(rest)?;
    let (rest, echo) = optional(boolean)(rest)?;
    let flow = Flow {
        next_incoming_id,
        incoming_window,
        next_outgoing_id,
        outgoing_window,
        handle: handle.map(Handle),
        delivery_count,
        link_credit,
        available,
        drain: drain.unwrap_or(false),
        echo: echo.unwrap_or(false),
    };
    Ok((rest, flow))
}
