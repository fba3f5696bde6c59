//! How a connection begins and ends: protocol headers, and the methods of the connection.

use parsers::Parsed;
use parsers::amqp091::{
    Fault, FrameHeader, Method, ProtocolHeader, StartOk, Tune, encode, protocol_header,
};

use super::PerSide;
use super::connection::{Connection, Layer};
use super::frames::fault;
use super::walk::Halt;
use crate::gate::{Direction, Gate, Side};
use crate::policy::{AddressSyntax, Limits, Mode, OnOversize, Verdict};

impl Connection {
    /// The protocol header of the client.
    pub(super) fn protocol_header(&mut self, input: &[u8]) -> Result<usize, Halt> {
        let header = match protocol_header(input) {
            Parsed::Value(header) => header,
            Parsed::NeedMore(octets) => return Err(Halt::NeedMore(octets)),
        };
        let Some(version) = header.and_then(|header| header.version()) else {
            return Err(unexpected());
        };
        self.version = version;
        self.sides.client.layer = Layer::Start;
        self.passed = ProtocolHeader::LEN as u64;
        Ok(ProtocolHeader::LEN)
    }

    /// A protocol header of the broker: the one that it would rather have seen. It hangs up then
    /// (AMQP 0-9-1 §4.2.2).
    pub(super) fn other_protocol_header(&mut self, input: &[u8]) -> Result<usize, Halt> {
        match protocol_header(input) {
            Parsed::Value(Some(_)) => {
                self.sides.broker.layer = Layer::Closed;
                Ok(ProtocolHeader::LEN)
            }
            Parsed::Value(None) => Err(unexpected()),
            Parsed::NeedMore(octets) => Err(Halt::NeedMore(octets)),
        }
    }

    /// A method on channel 0.
    pub(super) fn connection_method(
        &mut self,
        from: Side,
        method: &Method<'_>,
    ) -> Result<(), Halt> {
        use Layer as L;
        use Method as M;
        let layer = match (from, self.sides.of(from).layer, method) {
            (_, _, M::Other(_)) => return Ok(()),
            (_, _, M::ConnectionClose(_)) => {
                self.sides.of_mut(from.other()).is_closed = true;
                L::Closing
            }
            (_, _, M::ConnectionCloseOk) => L::Closed,
            (Side::Client, L::Start, M::ConnectionStartOk(start_ok)) => {
                self.start_ok(start_ok);
                L::Tune
            }
            (Side::Client, L::Tune, M::ConnectionSecureOk) => L::Tune,
            (Side::Client, L::Tune, M::ConnectionTuneOk(tune)) => {
                self.tune_ok(tune);
                L::Open
            }
            (Side::Client, L::Open, M::ConnectionOpen(open)) => {
                self.claim.opens(open.virtual_host);
                self.open();
                L::Opened
            }
            (Side::Broker, L::Header, M::ConnectionStart) => L::Tune,
            (Side::Broker, L::Tune, M::ConnectionSecure) => L::Tune,
            (Side::Broker, L::Tune, M::ConnectionTune(_)) => L::Open,
            (Side::Broker, L::Open, M::ConnectionOpenOk)
                if self.sides.client.layer >= L::Opened =>
            {
                L::Opened
            }
            (
                _,
                _,
                M::ConnectionStart
                | M::ConnectionStartOk(_)
                | M::ConnectionSecure
                | M::ConnectionSecureOk
                | M::ConnectionTune(_)
                | M::ConnectionTuneOk(_)
                | M::ConnectionOpen(_)
                | M::ConnectionOpenOk,
            ) => return Err(unexpected()),
            _ => return Err(fault(1, Fault::ChannelZero)),
        };
        self.sides.of_mut(from).layer = layer;
        if layer == L::Opened && self.is_alone {
            self.end_alone();
        }
        if layer == L::Opened
            && from == Side::Broker
            && let Some((ending, why)) = self.deferred.take()
        {
            self.end(ending, &why);
        }
        Ok(())
    }

    fn start_ok(&mut self, start_ok: &StartOk<'_>) {
        self.claim.starts(start_ok);
        if self.is_alone {
            // Whoever it is: nothing is served, and it can be told so.
            encode::connection_tune(&mut self.sides.client.words, &ALONE);
        }
    }

    fn tune_ok(&mut self, tune: &Tune) {
        // RabbitMQ lets a payload be as large as a frame may be, because there are clients that
        // forget the eight octets around it, and so does sizegate.
        self.most_payload = Some(tune.frame_max).filter(|&most| most > 0);
        self.heartbeat = tune.heartbeat;
    }

    /// The client has said all that it says about itself.
    fn open(&mut self) {
        let policy = &self.settings.policy;
        let limits = policy.identify(&self.identity(), AddressSyntax::Name);
        let limits_any = |direction| limits_something(&limits, direction);
        self.answers_broker =
            policy.on_oversize() == OnOversize::Reject && limits_any(Direction::ToClient);
        let enforces = policy.mode() == Mode::Enforce;
        self.refuses = PerSide {
            client: enforces && limits_any(Direction::ToBroker),
            broker: enforces && limits_any(Direction::ToClient),
        };
        self.limits = Some(limits);
    }
}

/// Whether some message may be over its limit.
fn limits_something(limits: &Limits, direction: Direction) -> bool {
    limits.heeds_addresses(direction) || limits.judge(direction, b"", u64::MAX) != Verdict::Allowed
}

/// A frame that may not stand here.
pub(super) fn unexpected() -> Halt {
    fault(FrameHeader::LEN, Fault::UnexpectedFrame)
}

/// What is agreed upon with a client that has no broker.
const ALONE: Tune = Tune {
    channel_max: 2_047,
    frame_max: 128 * 1_024,
    heartbeat: 60,
};
