//! The walk over the packets of one side: what may pass in one piece, and what stops it.

use parsers::Parsed;
use parsers::mqtt::{Fault, FixedHeader, Malformed, PacketType, Version, fixed_header, publish};

use super::publish::Head;
use super::refuse::Answer;
use super::session::{Session, Stage};
use crate::gate::{Meter, Side, Step};

impl Session {
    /// Walks over the packets of a side, as far as they may pass; `None` if one of them ended the
    /// connection.
    #[inline]
    pub(super) fn packets(
        &mut self,
        from: Side,
        version: Version,
        input: &[u8],
        meter: &mut Meter,
    ) -> Option<Step> {
        let mut run = Run {
            len: 0,
            room: match (from, self.stage) {
                (Side::Client, Stage::Connecting) => {
                    let most = self.settings.max_control_size.0;
                    most.saturating_sub(self.passed)
                }
                _ => u64::MAX,
            },
        };
        let stage = self.stage;
        let halt = loop {
            let mut packet = input.get(run.len..).unwrap_or_default();
            if let [0x30 | 0x31, ..] = packet {
                run.len += self.straight_run(from, version, packet, meter);
                packet = input.get(run.len..).unwrap_or_default();
            }
            if packet.is_empty() && run.len > 0 {
                break Halt::NeedMore(1);
            }
            match self.packet(from, version, packet, &run, meter) {
                Ok(len) => run.len += len,
                Err(halt) => break halt,
            }
            // What has become due goes out right behind this packet.
            if self.stage != stage || (from == Side::Client && self.receipts_are_due()) {
                break Halt::NeedMore(1);
            }
        };
        // A packet that stops the run is met again once what is before it has gone out.
        if run.len > 0 {
            if from == Side::Client && stage == Stage::Connecting {
                self.passed += run.len as u64;
            }
            return Some(Step::Forward(run.len as u64));
        }
        match halt {
            Halt::NeedMore(octets) => Some(Step::More(octets)),
            Halt::Wait => Some(Step::Wait),
            Halt::Withhold(octets) => Some(Step::Withhold(octets as u64)),
            Halt::Malformed(fault) => {
                self.malformed(from, fault, meter);
                None
            }
            Halt::Over => None,
        }
    }

    /// Looks at the packet that starts `packet` and answers with its length if it may pass.
    ///
    /// What is written down here is written down once: a packet that stops the run leaves no trace
    /// unless it is the first of the run.
    #[inline]
    fn packet(
        &mut self,
        from: Side,
        version: Version,
        packet: &[u8],
        run: &Run,
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        let header = match fixed_header(packet)? {
            Parsed::Value(header) => header,
            Parsed::NeedMore(octets) => return Err(Halt::NeedMore(octets)),
        };
        if version == Version::V5 {
            header.check_shortest()?;
        }
        header.check(version)?;
        if header.packet_type == PacketType::Publish {
            return match publish(&header, version, packet)? {
                Parsed::Value(publish) => {
                    let (header, publish) = (&header, &publish);
                    let head = Head {
                        header,
                        publish,
                        packet,
                    };
                    self.publish(from, head, run, meter)
                }
                Parsed::NeedMore(octets) => Err(Halt::NeedMore(octets)),
            };
        }
        match from {
            Side::Client => self.client_control(&header, packet, run, meter),
            Side::Broker => self.broker_control(version, &header, packet, run, meter),
        }
    }

    /// Keeps a PUBREL that follows a refusal from the other side, and sees to its answer.
    pub(super) fn pubrel(
        &mut self,
        from: Side,
        header: &FixedHeader,
        packet: &[u8],
        run: &Run,
    ) -> Result<(), Halt> {
        let id = packet_id(header, packet)?;
        let stream = self.stream(from);
        if !stream.refused.contains(id) {
            return Ok(());
        }
        run.must_be_empty()?;
        stream.refused.remove(id);
        stream.owed = Some(Box::new(Answer::Pubcomp { id }));
        Err(Halt::Withhold(header.packet_len()))
    }
}

/// The packet identifier right behind the fixed header.
pub(super) fn packet_id(header: &FixedHeader, packet: &[u8]) -> Result<u16, Halt> {
    match packet.get(header.len..header.len + 2) {
        Some(&[high, low]) => Ok(u16::from_be_bytes([high, low])),
        _ => Err(Halt::NeedMore(header.len + 2)),
    }
}

/// The packets at the front of the input that go to the other side in one piece.
pub(super) struct Run {
    /// Their octets; may reach beyond the input by the rest of the last packet.
    len: usize,
    /// Octets that may go now; fewer than all only for a client that the broker has not accepted.
    room: u64,
}

impl Run {
    /// Lets a packet join, unless the broker has to accept the client first.
    #[inline]
    pub(super) fn admit(&self, len: usize) -> Result<(), Halt> {
        if (self.len + len) as u64 <= self.room {
            Ok(())
        } else {
            Err(Halt::Wait)
        }
    }

    /// Lets the packets before this one go out first.
    pub(super) fn must_be_empty(&self) -> Result<(), Halt> {
        if self.len == 0 {
            Ok(())
        } else {
            Err(Halt::Wait)
        }
    }
}

/// Why a run of packets ends before the next one.
pub(super) enum Halt {
    /// Too little of it is there: this many octets are needed.
    NeedMore(usize),
    /// It has to wait.
    Wait,
    /// It is thrown away, and is this many octets long.
    Withhold(usize),
    /// It is not allowed.
    Malformed(Malformed),
    /// The connection has been ended over it.
    Over,
}

impl From<Malformed> for Halt {
    fn from(fault: Malformed) -> Self {
        Self::Malformed(fault)
    }
}

/// A packet that its side may not send, or not now.
pub(super) const UNEXPECTED: Malformed = Malformed {
    at: 0,
    what: Fault::UnexpectedPacket,
};
