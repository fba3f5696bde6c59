//! What the broker is told in the client's place about a PUBLISH that was kept from the client.
//!
//! A client acknowledges in the order in which it was sent things, PUBLISHes of QoS 1 and of QoS 2
//! each for themselves (MQTT 5.0 §4.6), so these wait until the client has acknowledged what was
//! sent to it before. They go out between two packets of the client.

use std::collections::VecDeque;

use parsers::mqtt::{Acknowledgement, PacketType, QoS, acknowledgement};

use super::outstanding::{Outstanding, Whose};
use super::packet_ids::PacketIds;
use super::refuse::{Answer, QUOTA_EXCEEDED, SUCCESS};

/// The PUBLISHes of the broker that are not acknowledged, and the PUBRELs that are sizegate's to
/// answer.
#[derive(Debug, Default)]
pub(super) struct Receipts {
    /// To be answered by PUBACK.
    pubacks: Outstanding,
    /// To be answered by PUBREC.
    pubrecs: Outstanding,
    /// To be answered by PUBCOMP; no more than the broker was sent PUBRECs.
    pubcomps: VecDeque<u16>,
}

impl Receipts {
    /// Notes that the client is sent a PUBLISH, and will acknowledge it.
    #[inline]
    pub(super) fn sent(&mut self, qos: QoS) {
        match qos {
            QoS::AtMostOnce => {}
            QoS::AtLeastOnce(id) => self.pubacks.push(id.get(), Whose::Client),
            QoS::ExactlyOnce(id) => self.pubrecs.push(id.get(), Whose::Client),
        }
    }

    /// Notes that the client acknowledges one: by PUBACK or by PUBREC.
    #[inline]
    pub(super) fn acknowledged(&mut self, packet_type: PacketType, id: u16) {
        match packet_type {
            PacketType::Puback => self.pubacks.acknowledged(id),
            PacketType::Pubrec => self.pubrecs.acknowledged(id),
            _ => {}
        }
    }

    /// Takes an answer that the broker is owed from here on.
    pub(super) fn owe(&mut self, answer: &Answer) {
        match *answer {
            Answer::Puback { id, .. } => self.pubacks.push(id, Whose::Ours),
            Answer::Pubrec { id, dup, .. } => {
                let whose = if dup {
                    Whose::OursRepeated
                } else {
                    Whose::Ours
                };
                self.pubrecs.push(id, whose);
            }
            Answer::Pubcomp { id } => self.pubcomps.push_back(id),
        }
    }

    /// Whether there is something to tell the broker now.
    #[inline]
    pub(super) fn are_due(&self) -> bool {
        self.pubacks.is_due() || self.pubrecs.is_due() || !self.pubcomps.is_empty()
    }

    /// Appends what is due to `out`.
    ///
    /// Every PUBREC is a success. One of 0x80 or more would end the flow (MQTT 5.0 §4.3.3) and give
    /// the broker its quota back (§4.9), but mosquitto 2.0 forgets the latter, and sends no more of
    /// QoS 1 or 2 when its quota has been used up so. `refused` learns which PUBREL will be
    /// sizegate's; that of a repeated PUBLISH in a resumed session, which may be the client's
    /// already, is the client's to answer. A reason string would help nobody here.
    pub(super) fn write(&mut self, terms: Terms, refused: &mut PacketIds, out: &mut Vec<u8>) {
        let mut write = |packet_type, packet_id, reason_code| {
            let reason_code = if terms.is_v5 { reason_code } else { SUCCESS };
            acknowledgement(
                out,
                &Acknowledgement {
                    packet_type,
                    packet_id,
                    reason_code,
                    reason_string: None,
                },
            );
        };
        while let Some(entry) = self.pubacks.pop_due() {
            write(PacketType::Puback, entry.id, QUOTA_EXCEEDED);
        }
        while let Some(entry) = self.pubrecs.pop_due() {
            if entry.whose == Whose::OursRepeated && terms.is_resumed {
                refused.remove(entry.id);
            } else {
                refused.insert(entry.id);
            }
            write(PacketType::Pubrec, entry.id, SUCCESS);
        }
        while let Some(id) = self.pubcomps.pop_front() {
            write(PacketType::Pubcomp, id, SUCCESS);
        }
    }
}

/// What decides on how the broker is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Whether MQTT 5.0 is spoken, which alone has reason codes.
    pub(super) is_v5: bool,
    /// CONNACK's Session Present: the client may know packet identifiers from before.
    pub(super) is_resumed: bool,
}
