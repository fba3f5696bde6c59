//! The stream of the broker: its CONNACK, and what it sends to the client.

use parsers::Parsed;
use parsers::mqtt::{Fault, Malformed, PacketType, Version, fixed_header, publish};

use super::publish::message_size;
use super::session::{Control, Session, Stage};
use crate::gate::{Direction, Meter, Side, Step, VerdictKind};

impl Session {
    /// The next step in the broker's stream, or `None` if its octets ended the connection.
    pub(super) fn broker_step(&mut self, input: &[u8], meter: &mut Meter) -> Option<Step> {
        let Some(version) = self.version() else {
            return Some(Step::More(1.max(input.len() + 1)));
        };
        let mut run = 0;
        loop {
            let packet = input.get(run..).unwrap_or_default();
            if packet.is_empty() && run > 0 {
                return Some(Step::Forward(run as u64));
            }
            let stage = self.stage;
            match self.broker_packet(version, packet, run == 0, meter) {
                Ok(Parsed::Value(len)) => run += len,
                Ok(Parsed::NeedMore(_)) | Err(_) if run > 0 => {
                    return Some(Step::Forward(run as u64));
                }
                Ok(Parsed::NeedMore(octets)) => return Some(Step::More(octets)),
                Err(Some(fault)) => {
                    self.malformed(Side::Broker, fault, meter);
                    return None;
                }
                Err(None) => return None,
            }
            // What was parked goes out right behind the CONNACK.
            if self.stage != stage {
                return Some(Step::Forward(run as u64));
            }
        }
    }

    /// Looks at one packet and answers with its length; an error ends the connection, and with
    /// nothing in it has done so already.
    #[inline]
    fn broker_packet(
        &mut self,
        version: Version,
        packet: &[u8],
        is_first: bool,
        meter: &mut Meter,
    ) -> Result<Parsed<usize>, Option<Malformed>> {
        use PacketType as P;
        let header = match fixed_header(packet)? {
            Parsed::Value(header) => header,
            Parsed::NeedMore(octets) => return Ok(Parsed::NeedMore(octets)),
        };
        if version == Version::V5 {
            header.check_shortest()?;
        }
        header.check(version)?;
        let len = header.packet_len();
        match header.packet_type {
            P::Publish => {
                let publish = match publish(&header, version, packet)? {
                    Parsed::Value(publish) => publish,
                    Parsed::NeedMore(octets) => return Ok(Parsed::NeedMore(octets)),
                };
                let size = message_size(self.settings.mqtt.message_size, &header, &publish);
                meter.message(Direction::ToClient, VerdictKind::Allowed, size);
                return Ok(Parsed::Value(len));
            }
            P::Connect | P::Subscribe | P::Unsubscribe | P::Pingreq => {
                return Err(Some(UNEXPECTED));
            }
            P::Disconnect if version != Version::V5 => return Err(Some(UNEXPECTED)),
            P::Connack if self.stage != Stage::Connecting => return Err(Some(UNEXPECTED)),
            _ => {}
        }
        if len as u64 > self.settings.max_control_size.0 {
            if !is_first {
                return Err(None);
            }
            if self.control_size(Side::Broker, len, meter) == Control::Ends {
                return Err(None);
            }
        }
        match header.packet_type {
            P::Connack => {
                let Some(&[flags, code]) = packet.get(header.len..header.len + 2) else {
                    return Ok(Parsed::NeedMore(header.len + 2));
                };
                self.stage = if code == 0 {
                    let resumed = flags & SESSION_PRESENT != 0;
                    Stage::Connected { resumed }
                } else {
                    // Nothing of a refused client may be processed (MQTT 5.0 §3.1.4-6).
                    self.answers.clear();
                    Stage::Disconnected
                };
            }
            P::Disconnect => {
                self.stage = Stage::Disconnected;
                self.answers.clear();
            }
            _ => {}
        }
        Ok(Parsed::Value(len))
    }
}

const UNEXPECTED: Malformed = Malformed {
    at: 0,
    what: Fault::UnexpectedPacket,
};

const SESSION_PRESENT: u8 = 0x01;
