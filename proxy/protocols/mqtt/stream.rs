//! What is kept about the packets of one side, on their way to the other.

use super::aliases::Aliases;
use super::packet_ids::PacketIds;
use super::refuse::Answer;
use crate::gate::Step;

/// The account of one side's stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Whether a PUBLISH in it may name its topic by an alias.
    pub(super) has_aliases: bool,
    /// What the topic aliases stand for, as far as they matter.
    pub(super) aliases: Aliases,
    /// What the side is owed once the packet that is being thrown away has gone by; like the
    /// substitute in a box, since most connections never need one.
    pub(super) owed: Option<Box<Answer>>,
    /// Refused QoS 2 PUBLISHes whose PUBREL, if one comes, is not the other side's.
    pub(super) refused: PacketIds,
    /// What takes the place of the octets that are being thrown away.
    pub(super) substitute: Option<Box<Substitute>>,
}

/// Octets in place of those received, and the payload that follows them as it was.
#[derive(Debug)]
pub(super) struct Substitute {
    /// Empty once they have gone out.
    pub(super) head: Vec<u8>,
    /// Octets of the payload.
    pub(super) payload_len: usize,
}

impl Stream {
    /// Has these octets go out once those that they stand for have been thrown away.
    pub(super) fn replace(&mut self, head: Vec<u8>, payload_len: usize) {
        self.substitute = Some(Box::new(Substitute { head, payload_len }));
    }

    /// The next step of a packet whose head is replaced, if there is one.
    pub(super) fn go_on(&mut self, inject: &mut Vec<u8>) -> Option<Step> {
        let Substitute { head, payload_len } = *self.substitute.take()?;
        if head.is_empty() {
            return (payload_len > 0).then_some(Step::Forward(payload_len as u64));
        }
        inject.extend(head);
        if payload_len > 0 {
            self.replace(Vec::new(), payload_len);
        }
        Some(Step::Inject)
    }
}
