//! A transfer that has come, with where it belongs.

use parsers::amqp10::{FrameHeader, Performative, Transfer};

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

    /// The octets of its payload that are there.
    pub(super) fn payload(&self) -> &[u8] {
        let frame = self.input.get(..self.len()).unwrap_or(self.input);
        frame.get(self.transfer.payload_at..).unwrap_or_default()
    }

    /// Whether no frame of the delivery follows; aborted wins over more (AMQP 1.0 §2.7.5).
    pub(super) fn is_last(&self) -> bool {
        !self.transfer.more || self.transfer.aborted
    }
}
