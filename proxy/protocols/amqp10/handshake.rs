//! How a connection begins: protocol headers, the SASL layer, and open.

use std::time::Duration;

use parsers::Parsed;
use parsers::amqp10::{
    Descriptor, Fault, FrameHeader, Malformed, Mechanism, Performative, Protocol, ProtocolHeader,
    encode, identity, performative, protocol_header,
};

use super::OnOpaque;
use super::act::Halt;
use super::connection::{Connection, Layer};
use super::frames::unexpected;
use super::refuse::Why;
use crate::gate::{Ending, Gate, Meter, Reason, Report, Side};
use crate::policy::{AddressSyntax, Mode};

impl Connection {
    /// A protocol header; what it asks for is what follows.
    pub(super) fn protocol_header(&mut self, from: Side, input: &[u8]) -> Result<usize, Halt> {
        let header = match protocol_header(input) {
            Parsed::Value(Some(header)) => header,
            Parsed::NeedMore(octets) => return Err(Halt::NeedMore(octets)),
            Parsed::Value(None) => {
                return Err(Halt::Malformed(Malformed {
                    at: 0,
                    what: Fault::UnexpectedPerformative,
                }));
            }
        };
        self.sides.of_mut(from).layer = match header.protocol() {
            Protocol::Amqp10 => Layer::Open,
            Protocol::Sasl => Layer::Sasl,
            // The broker's answer names what it would rather speak, and it hangs up.
            _ if from == Side::Broker => Layer::Opaque,
            _ => {
                return Err(Halt::Malformed(Malformed {
                    at: 4,
                    what: Fault::UnknownChoice,
                }));
            }
        };
        if from == Side::Client {
            self.passed += ProtocolHeader::LEN as u64;
            if self.is_alone && self.sides.client.layer == Layer::Open {
                self.end_alone();
            }
        }
        Ok(ProtocolHeader::LEN)
    }

    /// A frame of the SASL layer (AMQP 1.0 §5.3.2).
    pub(super) fn sasl_frame(
        &mut self,
        from: Side,
        header: &FrameHeader,
        input: &[u8],
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        let len = header.frame_len();
        let mode = self.settings.policy.mode();
        if mode == Mode::Enforce {
            self.control_size(from, len, meter)?;
        }
        let body = match performative(header, input, len)? {
            Parsed::Value(body) => body,
            Parsed::NeedMore(octets) => return Err(Halt::NeedMore(octets)),
        };
        if mode == Mode::DryRun {
            // All of it is there, so that it is told once.
            self.control_size(from, len, meter)?;
        }
        match (from, body.descriptor) {
            (Side::Client, Descriptor::SaslInit) => self.sasl_init(&body, meter)?,
            (Side::Broker, Descriptor::SaslOutcome) => {
                let outcome = body.sasl_outcome()?;
                let hides = self.claim.is_opaque && outcome.is_ok();
                if hides {
                    self.sides.client.layer = Layer::Opaque;
                }
                self.sides.broker.layer = if hides { Layer::Opaque } else { Layer::Header };
            }
            (Side::Client, Descriptor::SaslResponse)
            | (Side::Broker, Descriptor::SaslMechanisms | Descriptor::SaslChallenge)
            | (_, Descriptor::Unknown) => {}
            _ => return Err(unexpected(header)),
        }
        Ok(len)
    }

    fn sasl_init(&mut self, body: &Performative<'_>, meter: &mut Meter) -> Result<(), Halt> {
        let init = body.sasl_init()?;
        if let Mechanism::MayAddSecurityLayer(name) = init.mechanism {
            if self.settings.amqp10.on_opaque == OnOpaque::Close {
                meter.reports.push(Report::Malformed {
                    side: Side::Client,
                    what: format!("SASL mechanism {name}, which may hide all that follows"),
                });
                self.end(
                    Ending::by(Side::Client, Reason::UnknownProtocol),
                    &Why::Silence,
                );
                return Err(Halt::Over);
            }
            self.claim.is_opaque = true;
        }
        let response = init.initial_response.unwrap_or_default();
        let name = identity(init.mechanism, response);
        self.claim.authenticates(init.mechanism, name.as_deref());
        self.claim.has_begun = true;
        if self.is_alone {
            // Whoever it is: nothing is served, and it can be told so.
            encode::sasl_outcome(&mut self.sides.client.words, 0);
        }
        Ok(())
    }

    /// An open: of the client, who it is; of each side, the largest frame that it takes.
    pub(super) fn open(&mut self, from: Side, body: &Performative<'_>) -> Result<(), Halt> {
        let open = body.open()?;
        let peer = self.sides.of_mut(from);
        peer.layer = Layer::Opened;
        peer.max_frame_size = Some(open.max_frame_size);
        let time_out = open.idle_time_out.filter(|&time_out| time_out > 0);
        peer.idle_time_out = time_out.map(|time_out| Duration::from_millis(time_out.into()));
        if from == Side::Client {
            let hostname = open.hostname.filter(|name| !name.is_empty());
            // RabbitMQ has a vhost written so.
            let vhost = hostname.map(|name| name.strip_prefix("vhost:").unwrap_or(name));
            if let Some(vhost) = vhost {
                self.claim.vhost = Some(vhost.into());
            }
            self.claim.client = Some(open.container_id.into());
            let policy = &self.settings.policy;
            self.limits = Some(policy.identify(&self.identity(), AddressSyntax::Name));
        }
        Ok(())
    }
}
