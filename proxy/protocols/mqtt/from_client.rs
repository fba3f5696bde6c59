//! The stream of a client: its CONNECT, then packet by packet what goes on to the broker.

use parsers::Parsed;
use parsers::mqtt::{ConnectStart, FixedHeader, PacketType, Version, connect, connect_start};

use super::client::Client;
use super::ends::Control;
use super::packets::{Halt, Run, UNEXPECTED, packet_id};
use super::receipts::Receipts;
use super::refuse::{Due, Word};
use super::session::{Session, Stage};
use super::verdict::{Note, Oversize, note, will_size};
use crate::gate::{Direction, Ending, Gate, Meter, Reason, Side, Step, VerdictKind};
use crate::policy::{Action, AddressSyntax, Verdict};
use crate::protocols::Settings;

impl Session {
    /// The next step in the client's stream.
    #[inline]
    pub(super) fn client_step(&mut self, input: &[u8], meter: &mut Meter) -> Step {
        match (self.stage, self.version()) {
            (Stage::Disconnected, _) if input.is_empty() => Step::More(1),
            // After its DISCONNECT a client may not send a thing (MQTT 5.0 §3.14.4).
            (Stage::Disconnected, _) => Step::Withhold(input.len() as u64),
            (Stage::Connecting | Stage::Connected { .. }, Some(version)) => {
                let step = self.packets(Side::Client, version, input, meter);
                step.unwrap_or_else(|| self.over())
            }
            _ => self.connect(input, meter),
        }
    }

    /// A packet of the client other than PUBLISH.
    pub(super) fn client_control(
        &mut self,
        header: &FixedHeader,
        packet: &[u8],
        run: &Run,
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        use PacketType as P;
        let mut acknowledged = None;
        match header.packet_type {
            P::Connect | P::Connack | P::Suback | P::Unsuback | P::Pingresp => {
                return Err(Halt::Malformed(UNEXPECTED));
            }
            P::Pubrel => self.pubrel(Side::Client, header, packet, run)?,
            P::Puback | P::Pubrec if self.receipts.is_some() => {
                acknowledged = Some(packet_id(header, packet)?);
            }
            _ => {}
        }
        let len = header.packet_len();
        run.admit(len)?;
        if len as u64 > self.settings.max_control_size.0 {
            run.must_be_empty()?;
            if self.control_size(Side::Client, len, meter) == Control::Ends {
                return Err(Halt::Over);
            }
        }
        if let (Some(id), Some(receipts)) = (acknowledged, &mut self.receipts) {
            receipts.acknowledged(header.packet_type, id);
        }
        if header.packet_type == P::Disconnect {
            self.disconnected();
        }
        Ok(len)
    }

    /// The first packet of the client.
    fn connect(&mut self, input: &[u8], meter: &mut Meter) -> Step {
        let start = match connect_start(input) {
            Parsed::Value(Some(start)) => start,
            Parsed::Value(None) => {
                self.malformed(Side::Client, UNEXPECTED, meter);
                return self.over();
            }
            Parsed::NeedMore(octets) => return Step::More(octets),
        };
        let len = start.header.packet_len();
        if len as u64 > self.settings.max_control_size.0
            && let Some(version) = start.version
        {
            // Known from its first octets alone, so that it can be answered in its own words.
            let stranger = self.identity();
            let policy = &self.settings.policy;
            let limits = policy.identify(&stranger, AddressSyntax::Topic);
            self.client = Some(Client::unread(version, limits));
            // What it said about topic aliases is not known.
            self.from_client.has_aliases = true;
            self.from_broker.has_aliases = true;
            if self.control_size(Side::Client, len, meter) == Control::Ends {
                return self.over();
            }
            self.stage = Stage::Connecting;
            self.passed = self.settings.max_control_size.0;
            return Step::Forward(len as u64);
        }
        match input.get(..len) {
            Some(packet) => self.whole_connect(&start, packet, meter),
            None if start.version.is_some() => Step::More(len),
            None => self.whole_connect(&start, input, meter),
        }
    }

    /// A CONNECT that is there as a whole, or of a version that is not known.
    fn whole_connect(&mut self, start: &ConnectStart, packet: &[u8], meter: &mut Meter) -> Step {
        let connect = match connect(start, packet) {
            Ok(connect) => connect,
            Err(fault) => {
                let word = match start.version {
                    Some(Version::V5) => Word::Reason {
                        code: fault.what.reason_code(),
                        text: None,
                    },
                    Some(_) => Word::Silence,
                    // The one answer that every version understands (MQTT 3.1.1 §3.1.2.2).
                    None => Word::ReturnCode(RETURN_UNACCEPTABLE_VERSION),
                };
                self.malformed_answered(Side::Client, fault, word, meter);
                return self.over();
            }
        };
        let Settings { policy, mqtt, .. } = &*self.settings;
        let client = Client::new(&connect, &self.shown, mqtt.vhost, policy);
        let client = self.client.insert(client);
        if let Some(will) = &connect.will {
            let topic = will.topic.as_bytes();
            let size = will_size(self.settings.mqtt.message_size, will);
            let will = |meter: &mut Meter, verdict, limit: &_| {
                let what = Note {
                    direction: Direction::ToBroker,
                    verdict,
                    action: Action::Close,
                    topic,
                    message_size: size,
                };
                note(meter, what, size, limit);
            };
            let refused = match client.limits.judge(Direction::ToBroker, topic, size) {
                Verdict::Allowed => None,
                Verdict::WouldDeny(limit) => {
                    will(meter, VerdictKind::WouldDeny, limit);
                    None
                }
                Verdict::Denied(limit) => {
                    will(meter, VerdictKind::Denied, limit);
                    let limit = limit.clone();
                    Some(Oversize { size, limit })
                }
            };
            if let Some(oversize) = refused {
                let word = self.packet_too_large(oversize.text());
                self.end(Ending::by(Side::Client, Reason::Oversize), Due::Now, word);
                return self.over();
            }
        }
        self.stage = Stage::Connecting;
        if client.can_lose_messages(&self.settings.policy) {
            self.receipts = Some(Box::new(Receipts::default()));
        }
        self.from_client.has_aliases = true;
        let Some(lowered) = self.connect_for_broker(start, packet) else {
            self.from_broker.has_aliases = connect.topic_alias_maximum > 0;
            self.passed = packet.len() as u64;
            return Step::Forward(packet.len() as u64);
        };
        self.passed = lowered.len() as u64;
        self.from_client.replace(lowered, 0);
        Step::Withhold(packet.len() as u64)
    }

    /// The end that has been decided.
    fn over(&self) -> Step {
        match &self.farewell {
            Some(farewell) => Step::End(farewell.ending),
            None => Step::Wait,
        }
    }
}

/// CONNACK "unacceptable protocol version" (MQTT 3.1.1 §3.2.2.3).
const RETURN_UNACCEPTABLE_VERSION: u8 = 0x01;
