//! The stream of the broker: its CONNACK, and what it sends to the client.

use parsers::mqtt::{FixedHeader, PacketType, Version, lower_connack};

use super::ends::Control;
use super::packets::{Halt, Run, UNEXPECTED};
use super::session::{Session, Stage};
use crate::gate::{Direction, Meter, Side, Step};

impl Session {
    /// The next step in the broker's stream, or `None` if its octets ended the connection.
    #[inline]
    pub(super) fn broker_step(&mut self, input: &[u8], meter: &mut Meter) -> Option<Step> {
        match self.version() {
            Some(version) => self.packets(Side::Broker, version, input, meter),
            None if input.is_empty() => Some(Step::More(1)),
            // Whatever it is, it is no answer to a CONNECT that has not come.
            None => Some(Step::Wait),
        }
    }

    /// A packet of the broker other than PUBLISH.
    pub(super) fn broker_control(
        &mut self,
        version: Version,
        header: &FixedHeader,
        packet: &[u8],
        run: &Run,
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        use PacketType as P;
        match header.packet_type {
            P::Connect | P::Subscribe | P::Unsubscribe | P::Pingreq => {
                return Err(Halt::Malformed(UNEXPECTED));
            }
            P::Disconnect if version != Version::V5 => return Err(Halt::Malformed(UNEXPECTED)),
            P::Connack if self.is_answered => {
                return Err(Halt::Malformed(UNEXPECTED));
            }
            // What it says is awaited before anything is said of its length.
            P::Connack if packet.len() < header.len + 2 => {
                return Err(Halt::NeedMore(header.len + 2));
            }
            P::Pubrel => self.pubrel(Side::Broker, header, packet, run)?,
            _ => {}
        }
        let len = header.packet_len();
        if len as u64 > self.settings.max_control_size.0 {
            run.must_be_empty()?;
            if self.control_size(Side::Broker, len, meter) == Control::Ends {
                return Err(Halt::Over);
            }
        }
        match header.packet_type {
            P::Connack => self.connack(header, packet, run)?,
            P::Disconnect => self.disconnected(),
            _ => {}
        }
        Ok(len)
    }

    /// The broker's answer to the CONNECT.
    fn connack(&mut self, header: &FixedHeader, packet: &[u8], run: &Run) -> Result<(), Halt> {
        let Some(&[flags, code]) = packet.get(header.len..header.len + 2) else {
            return Err(Halt::NeedMore(header.len + 2));
        };
        if code != 0 || self.stage == Stage::Disconnected {
            // Nothing of a refused client may be processed (MQTT 5.0 §3.1.4-6), and one that has
            // left already is told what it can't hear.
            self.is_answered = true;
            self.disconnected();
            return Ok(());
        }
        let connected = Stage::Connected {
            resumed: flags & SESSION_PRESENT != 0,
        };
        if let Some(ceiling) = self.advertised(Direction::ToBroker) {
            run.must_be_empty()?;
            let len = header.packet_len();
            let whole = packet.get(..len).ok_or(Halt::NeedMore(len))?;
            let lowered = lower_connack(header, whole, ceiling)?;
            let takes = |octets: &Vec<u8>| {
                let client = self.client.as_ref();
                octets.len() == len || client.is_some_and(|client| client.takes(octets.len()))
            };
            if let Some(lowered) = lowered.filter(takes) {
                self.from_broker.replace(lowered, 0);
                self.is_answered = true;
                self.stage = connected;
                return Err(Halt::Withhold(len));
            }
        }
        self.is_answered = true;
        self.stage = connected;
        Ok(())
    }
}

const SESSION_PRESENT: u8 = 0x01;
