//! The stream of a client: its CONNECT, then packet by packet what goes on to the broker.

use parsers::Parsed;
use parsers::mqtt::{
    ConnectStart, Fault, FixedHeader, Malformed, PacketType, Publish, QoS, Version, connect,
    connect_start, fixed_header, publish,
};

use super::client::Client;
use super::publish::{Oversize, action, message_size, note, will_size};
use super::refuse::{Answer, Due, Word};
use super::session::{Control, Session, Stage};
use crate::gate::{Direction, Ending, Meter, Reason, Side, Step, VerdictKind};
use crate::policy::{Action, Identity, OnOversize, Verdict};

impl Session {
    /// The next step in the client's stream.
    pub(super) fn client_step(&mut self, input: &[u8], meter: &mut Meter) -> Step {
        if self.answers.is_full() {
            return Step::Wait;
        }
        match (self.stage, self.version()) {
            (Stage::Disconnected, _) if input.is_empty() => Step::More(1),
            // After its DISCONNECT a client may not send a thing (MQTT 5.0 §3.14.4).
            (Stage::Disconnected, _) => Step::Withhold(input.len() as u64),
            (Stage::Connecting | Stage::Connected { .. }, Some(version)) => {
                self.packets(version, input, meter)
            }
            _ => self.connect(input, meter),
        }
    }

    /// Walks over the packets of a connected client, as far as they may pass.
    fn packets(&mut self, version: Version, input: &[u8], meter: &mut Meter) -> Step {
        let mut run = Run {
            len: 0,
            room: match self.stage {
                Stage::Connecting => self.settings.max_control_size.0 - self.passed,
                _ => u64::MAX,
            },
        };
        let halt = loop {
            let packet = input.get(run.len..).unwrap_or_default();
            if packet.is_empty() && run.len > 0 {
                break Halt::NeedMore(1);
            }
            match self.packet(version, packet, &run, meter) {
                Ok(len) => run.len += len,
                Err(halt) => break halt,
            }
            if self.stage == Stage::Disconnected {
                break Halt::NeedMore(1);
            }
        };
        // A packet that stops the run is met again once what is before it has gone out.
        if run.len > 0 {
            if self.stage == Stage::Connecting {
                self.passed += run.len as u64;
            }
            return Step::Forward(run.len as u64);
        }
        match halt {
            Halt::NeedMore(octets) => Step::More(octets),
            Halt::Wait => Step::Wait,
            Halt::Withhold(octets) => Step::Withhold(octets as u64),
            Halt::Malformed(fault) => {
                self.malformed(Side::Client, fault, meter);
                self.over()
            }
            Halt::Over => self.over(),
        }
    }

    /// Looks at the packet that starts `packet` and answers with its length if it may pass.
    ///
    /// What is written down here is written down once: a packet that stops the run leaves no trace
    /// unless it is the first of the run.
    #[inline]
    fn packet(
        &mut self,
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
            match publish(&header, version, packet)? {
                Parsed::Value(publish) => self.publish(&header, &publish, run, meter),
                Parsed::NeedMore(octets) => Err(Halt::NeedMore(octets)),
            }
        } else {
            self.control(&header, packet, run, meter)
        }
    }

    fn publish(
        &mut self,
        header: &FixedHeader,
        publish: &Publish<'_>,
        run: &Run,
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        let Some(client) = &self.client else {
            return Err(Halt::Over);
        };
        let size = message_size(self.settings.mqtt.message_size, header, publish);
        let on_oversize = self.settings.policy.on_oversize();
        match client
            .limits
            .judge(Direction::ToBroker, publish.topic, size)
        {
            Verdict::Allowed => {
                run.admit(header)?;
                meter.message(Direction::ToBroker, VerdictKind::Allowed, size);
            }
            Verdict::WouldDeny(limit) => {
                run.admit(header)?;
                let action = action(on_oversize, publish.qos, client.is_v5());
                note(
                    meter,
                    VerdictKind::WouldDeny,
                    publish.topic,
                    size,
                    limit,
                    action,
                );
            }
            Verdict::Denied(limit) => {
                run.must_be_empty()?;
                let action = action(on_oversize, publish.qos, client.is_v5());
                note(
                    meter,
                    VerdictKind::Denied,
                    publish.topic,
                    size,
                    limit,
                    action,
                );
                let limit = limit.clone();
                let oversize = Oversize { size, limit };
                return Err(self.refuse(on_oversize, header, publish, oversize));
            }
        }
        if let QoS::AtLeastOnce(id) | QoS::ExactlyOnce(id) = publish.qos {
            // The identifier is in use again, and now the broker knows it (MQTT 5.0 §4.3.3).
            self.refused.remove(id.get());
        }
        Ok(header.packet_len())
    }

    /// Keeps a PUBLISH from the broker and decides how its sender learns of it.
    #[cold]
    fn refuse(
        &mut self,
        on_oversize: OnOversize,
        header: &FixedHeader,
        publish: &Publish<'_>,
        oversize: Oversize,
    ) -> Halt {
        if on_oversize != OnOversize::Reject {
            let word = self.packet_too_large(oversize.text());
            self.end(
                Ending::by(Side::Client, Reason::Oversize),
                Due::Accepted,
                word,
            );
            return Halt::Over;
        }
        self.owed = match publish.qos {
            QoS::AtMostOnce => None,
            QoS::AtLeastOnce(id) => Some(Answer::Puback {
                id: id.get(),
                oversize,
            }),
            QoS::ExactlyOnce(id) => Some(Answer::Pubrec {
                id: id.get(),
                dup: publish.dup,
                oversize,
            }),
        };
        Halt::Withhold(header.packet_len())
    }

    /// A packet other than PUBLISH.
    fn control(
        &mut self,
        header: &FixedHeader,
        packet: &[u8],
        run: &Run,
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        use PacketType as P;
        match header.packet_type {
            P::Connect | P::Connack | P::Suback | P::Unsuback | P::Pingresp => {
                return Err(Halt::Malformed(UNEXPECTED));
            }
            P::Pubrel => {
                let id_at = header.len..header.len + 2;
                let Some(&[high, low]) = packet.get(id_at) else {
                    return Err(Halt::NeedMore(header.len + 2));
                };
                let id = u16::from_be_bytes([high, low]);
                if run.len == 0 && self.refused.remove(id) {
                    self.owed = Some(Answer::Pubcomp { id });
                    return Err(Halt::Withhold(header.packet_len()));
                }
                if self.refused.contains(id) {
                    return Err(Halt::Wait);
                }
            }
            _ => {}
        }
        run.admit(header)?;
        if header.packet_len() as u64 > self.settings.max_control_size.0 {
            run.must_be_empty()?;
            if self.control_size(Side::Client, header.packet_len(), meter) == Control::Ends {
                return Err(Halt::Over);
            }
        }
        if header.packet_type == P::Disconnect {
            self.stage = Stage::Disconnected;
            self.answers.clear();
        }
        Ok(header.packet_len())
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
        let identity = Identity {
            peer: Some(self.peer),
            ..Identity::default()
        };
        if len as u64 > self.settings.max_control_size.0
            && let Some(version) = start.version
        {
            // Known from its first octets alone, so that it can be answered in its own words.
            let limits = self.settings.policy.identify(&identity);
            self.client = Some(Client::unread(version, limits));
            if self.control_size(Side::Client, len, meter) == Control::Ends {
                return self.over();
            }
            self.stage = Stage::Connecting;
            self.passed = self.settings.max_control_size.0;
            return Step::Forward(len as u64);
        }
        match input.get(..len) {
            Some(packet) => self.whole_connect(&start, packet, identity, meter),
            None if start.version.is_some() => Step::More(len),
            None => self.whole_connect(&start, input, identity, meter),
        }
    }

    /// A CONNECT that is there as a whole, or of a version that is not known.
    fn whole_connect(
        &mut self,
        start: &ConnectStart,
        packet: &[u8],
        identity: Identity<'_>,
        meter: &mut Meter,
    ) -> Step {
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
        let limits = self.settings.policy.identify(&Identity {
            user: connect.user_name,
            client: Some(connect.client_id),
            ..identity
        });
        let client = self.client.insert(Client::new(&connect, limits));
        if let Some(will) = &connect.will {
            let topic = will.topic.as_bytes();
            let size = will_size(self.settings.mqtt.message_size, will);
            let refused = match client.limits.judge(Direction::ToBroker, topic, size) {
                Verdict::Allowed => None,
                Verdict::WouldDeny(limit) => {
                    note(
                        meter,
                        VerdictKind::WouldDeny,
                        topic,
                        size,
                        limit,
                        Action::Close,
                    );
                    None
                }
                Verdict::Denied(limit) => {
                    note(
                        meter,
                        VerdictKind::Denied,
                        topic,
                        size,
                        limit,
                        Action::Close,
                    );
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
        self.passed = packet.len() as u64;
        Step::Forward(packet.len() as u64)
    }

    /// The end that has been decided.
    fn over(&self) -> Step {
        match &self.farewell {
            Some(farewell) => Step::End(farewell.ending),
            None => Step::Wait,
        }
    }
}

/// The packets at the front of the input that go to the broker in one piece.
struct Run {
    /// Their octets; may reach beyond the input by the rest of the last packet.
    len: usize,
    /// Octets that may go to the broker now; fewer than all only before it accepted the client.
    room: u64,
}

impl Run {
    /// Lets a packet join, unless the broker has to accept the client first.
    #[inline]
    fn admit(&self, header: &FixedHeader) -> Result<(), Halt> {
        if (self.len + header.packet_len()) as u64 <= self.room {
            Ok(())
        } else {
            Err(Halt::Wait)
        }
    }

    /// Lets the packets before this one go out first.
    fn must_be_empty(&self) -> Result<(), Halt> {
        if self.len == 0 {
            Ok(())
        } else {
            Err(Halt::Wait)
        }
    }
}

/// Why a run of packets ends before the next one.
enum Halt {
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

const UNEXPECTED: Malformed = Malformed {
    at: 0,
    what: Fault::UnexpectedPacket,
};

/// CONNACK "unacceptable protocol version" (MQTT 3.1.1 §3.2.2.3).
const RETURN_UNACCEPTABLE_VERSION: u8 = 0x01;
