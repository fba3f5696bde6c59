//! A transfer that has come, with where it belongs.

use parsers::Parsed;
use parsers::amqp10::encode::uint;
use parsers::amqp10::{FrameHeader, Performative, Transfer, performative};

use crate::gate::Side;

/// A transfer with where it belongs.
#[derive(Clone, Copy)]
pub(super) struct Arrival<'a> {
    pub(super) from: Side,
    /// The session, and the place of the link in it.
    pub(super) at: (usize, usize),
    pub(super) header: &'a FrameHeader,
    pub(super) transfer: &'a Transfer<'a>,
    /// The performative, if it has been read in full.
    pub(super) body: Option<&'a Performative<'a>>,
    /// The octets of the frame that are there, and perhaps those of others behind it.
    pub(super) input: &'a [u8],
    /// Whether it can go on only behind others that its receiver does not take yet.
    pub(super) queues: bool,
}

impl Arrival<'_> {
    pub(super) fn len(&self) -> usize {
        self.header.frame_len()
    }

    pub(super) fn payload_len(&self) -> usize {
        self.len() - self.transfer.payload_at
    }

    /// Whether no frame of the delivery follows; aborted wins over more (AMQP 1.0 §2.7.5).
    pub(super) fn is_last(&self) -> bool {
        !self.transfer.more || self.transfer.aborted
    }
}

/// The head of a transfer with another delivery-id.
pub(super) fn with_id(arrival: &Arrival<'_>, id: u32) -> Option<Vec<u8>> {
    let read;
    let body = match arrival.body {
        Some(body) => body,
        None => match performative(arrival.header, arrival.input, arrival.len()) {
            Ok(Parsed::Value(body)) => {
                read = body;
                &read
            }
            _ => return None,
        },
    };
    let mut head = Vec::new();
    let value = uint(id);
    let changes = [(Transfer::DELIVERY_ID, &*value)];
    body.patch(
        arrival.header.channel,
        arrival.payload_len(),
        &changes,
        &mut head,
    )?;
    Some(head)
}
