//! Frame by frame: what the stream of a side brings, and who looks at it.

use parsers::Parsed;
use parsers::amqp10::{
    Channel, Descriptor, Fault, FrameHeader, FrameType, Malformed, Performative, common_transfer,
    frame_header, performative,
};

use super::act::{Act, Halt};
use super::connection::{Connection, Layer};
use super::refuse::Why;
use super::session::Session;
use crate::gate::{Ending, Meter, Reason, Report, Side, VerdictKind};
use crate::policy::Mode;

impl Connection {
    /// Looks at what starts `input` and answers with its octets if they go on as they are.
    pub(super) fn next_frame(
        &mut self,
        from: Side,
        input: &[u8],
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        match self.sides.of(from).layer {
            Layer::Header => return self.protocol_header(from, input),
            Layer::Sasl if input.first() == Some(&b'A') => {
                // No SASL frame is so long that it begins with this letter.
                return self.protocol_header(from, input);
            }
            Layer::Opaque if input.is_empty() => return Err(Halt::NeedMore(1)),
            Layer::Opaque => return Ok(input.len()),
            Layer::Closed if input.is_empty() => return Err(Halt::NeedMore(1)),
            // Nothing may follow a close (AMQP 1.0 §2.4.3).
            Layer::Closed => return Err(Halt::Act(Act::Withhold(input.len() as u64))),
            Layer::Sasl | Layer::Open | Layer::Opened => {}
        }
        let header = match frame_header(input)? {
            Parsed::Value(header) => header,
            Parsed::NeedMore(octets) => return Err(Halt::NeedMore(octets)),
        };
        let len = header.frame_len();
        if self.sides.of(from.other()).max_frame_size.is_some()
            && len > self.frame_ceiling(from.other())
        {
            return Err(Halt::Malformed(Malformed {
                at: 0,
                what: Fault::ValueBeyondEnd,
            }));
        }
        if from == Side::Client && !self.is_accepted() {
            let most = self.settings.max_control_size.0;
            if self.passed + len as u64 > most && self.passed > 0 {
                return Err(Halt::Wait);
            }
        }
        let passing = match (self.sides.of(from).layer, header.frame_type) {
            (Layer::Sasl, FrameType::Sasl) => self.sasl_frame(from, &header, input, meter)?,
            (Layer::Open | Layer::Opened, FrameType::Amqp) => {
                self.amqp_frame(from, &header, input, meter)?
            }
            _ => return Err(unexpected(&header)),
        };
        if from == Side::Client && !self.is_accepted() {
            self.passed += passing as u64;
        }
        Ok(passing)
    }

    /// The largest frame that a side takes.
    pub(super) fn frame_ceiling(&self, side: Side) -> usize {
        let size = self.sides.of(side).max_frame_size.unwrap_or(0);
        usize::try_from(size.max(MIN_MAX_FRAME_SIZE)).unwrap_or(usize::MAX)
    }

    /// Whether the broker has accepted the client.
    fn is_accepted(&self) -> bool {
        matches!(
            self.sides.broker.layer,
            Layer::Opened | Layer::Closed | Layer::Opaque
        )
    }

    fn amqp_frame(
        &mut self,
        from: Side,
        header: &FrameHeader,
        input: &[u8],
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        let len = header.frame_len();
        if header.is_empty() {
            return Ok(len);
        }
        let opened = self.sides.of(from).layer == Layer::Opened;
        if opened && let Some(transfer) = common_transfer(header, input) {
            return self.transfer(from, header, &transfer, None, input, meter);
        }
        let ceiling = usize::try_from(self.settings.max_control_size.0).unwrap_or(usize::MAX);
        let body = match performative(header, input, ceiling) {
            Ok(Parsed::Value(body)) => body,
            Ok(Parsed::NeedMore(octets)) => return Err(Halt::NeedMore(octets)),
            Err(fault) if fault.what == Fault::OverCeiling => {
                self.control_size(from, len, meter)?;
                return Ok(len);
            }
            Err(fault) => return Err(fault.into()),
        };
        if opened != (body.descriptor != Descriptor::Open) && body.descriptor != Descriptor::Close {
            return Err(unexpected(header));
        }
        if body.descriptor == Descriptor::Transfer {
            let transfer = body.transfer()?;
            return self.transfer(from, header, &transfer, Some(&body), input, meter);
        }
        self.control_size(from, len, meter)?;
        match body.descriptor {
            Descriptor::Open => self.open(from, &body)?,
            Descriptor::Begin => self.begin(from, &body)?,
            Descriptor::Attach => return self.attach(from, &body),
            Descriptor::Flow => return self.flow(from, &body),
            Descriptor::Disposition => return self.disposition(from, &body, meter),
            Descriptor::Detach => return self.detach(from, &body, meter),
            Descriptor::End => {
                let at = self.place(from, header.channel);
                if at.is_some_and(|at| self.has_to_wait(from, at)) {
                    return Err(Halt::Wait);
                }
                self.end_session(from, header.channel, meter);
            }
            Descriptor::Close => {
                // All of them begin to wait.
                let waiting = (0..self.sessions.len()).filter(|&at| self.has_to_wait(from, at));
                if waiting.count() > 0 {
                    return Err(Halt::Wait);
                }
                self.sides.of_mut(from).layer = Layer::Closed;
                self.sides.of_mut(from.other()).is_closed = true;
            }
            _ => {}
        }
        Ok(len)
    }

    /// Judges a frame that is no transfer by its length; ends the connection if it is refused.
    pub(super) fn control_size(
        &mut self,
        from: Side,
        len: usize,
        meter: &mut Meter,
    ) -> Result<(), Halt> {
        let (size, limit) = (len as u64, self.settings.max_control_size.0);
        if size <= limit {
            return Ok(());
        }
        let enforce = self.settings.policy.mode() == Mode::Enforce;
        meter.reports.push(Report::ControlOversize {
            side: from,
            verdict: if enforce {
                VerdictKind::Denied
            } else {
                VerdictKind::WouldDeny
            },
            size,
            limit,
        });
        if !enforce {
            return Ok(());
        }
        let text =
            format!("Frame size exceeded: {size} octets, limit {limit}, set by --max-control-size");
        self.end(Ending::by(from, Reason::Oversize), &Why::Framing(text));
        Err(Halt::Over)
    }

    fn begin(&mut self, from: Side, body: &Performative<'_>) -> Result<(), Halt> {
        let begin = body.begin()?;
        let channel = body.header.channel;
        if self.sides.of(from).channels.contains_key(&channel) {
            return Err(unexpected(&body.header));
        }
        let at = match begin.remote_channel {
            Some(theirs) => *self
                .sides
                .of(from.other())
                .channels
                .get(&theirs)
                .ok_or_else(|| unexpected(&body.header))?,
            None => self.place_for_session()?,
        };
        self.sides.of_mut(from).channels.insert(channel, at);
        let mut waiting = Vec::new();
        if let Some(session) = self.session_mut(at) {
            session.begin(from, channel, &begin);
            waiting = std::mem::take(session.waiting.of_mut(from));
            let is_freed = !session.ways.of(from.other()).queue.is_empty();
            self.sides.of_mut(from.other()).may_release |= is_freed;
        }
        for word in waiting {
            self.say(from.other(), at, word);
        }
        Ok(())
    }

    fn place_for_session(&mut self) -> Result<usize, Halt> {
        let free = self.sessions.iter().position(Option::is_none);
        let at = match free {
            Some(at) => at,
            None if self.sessions.len() < Self::MOST_SESSIONS => {
                self.sessions.push(None);
                self.sessions.len() - 1
            }
            None => return Err(self.too_many("sessions")),
        };
        if let Some(place) = self.sessions.get_mut(at) {
            *place = Some(Session::default());
        }
        Ok(at)
    }

    /// Ends a connection that has more of something than is kept track of.
    pub(super) fn too_many(&mut self, what: &str) -> Halt {
        let text = format!("Too many {what}");
        self.end(
            Ending::by(Side::Client, Reason::Oversize),
            &Why::Resources(text),
        );
        Halt::Over
    }

    fn end_session(&mut self, from: Side, channel: Channel, meter: &mut Meter) {
        let Some(at) = self.sides.of_mut(from).channels.remove(&channel) else {
            return;
        };
        if let Some(session) = self.session_mut(at) {
            session.ways.of_mut(from).queue.clear();
            *session.channels.of_mut(from) = None;
            if session.is_ended(Side::Client) && session.is_ended(Side::Broker) {
                session.lose_all(meter);
                if let Some(place) = self.sessions.get_mut(at) {
                    *place = None;
                }
            }
        }
    }

    /// Whether an end or a close of a side has to wait for something of a session.
    fn has_to_wait(&mut self, from: Side, at: usize) -> bool {
        self.waits_for_frames(from, at) || self.waits_for_outcomes(from, at)
    }

    /// Whether an end or a close of a side has to wait for frames of the session that its receiver
    /// does not take yet.
    ///
    /// That of a broker does not: what the client has not taken by then is lost with the session, as
    /// what is on its way is; nor may both streams wait for each other.
    fn waits_for_frames(&self, from: Side, at: usize) -> bool {
        let session = self.sessions.get(at).and_then(Option::as_ref);
        from == Side::Client
            && self.sides.broker.layer != Layer::Closed
            && session.is_some_and(|session| {
                !session.is_ended(Side::Broker) && !session.ways.client.queue.is_empty()
            })
    }

    /// The place of the session of a side's channel.
    pub(super) fn place(&self, from: Side, channel: Channel) -> Option<usize> {
        self.sides.of(from).channels.get(&channel).copied()
    }
}

/// A frame that may not stand here.
pub(super) fn unexpected(header: &FrameHeader) -> Halt {
    Halt::Malformed(Malformed {
        at: header.body_at(),
        what: Fault::UnexpectedPerformative,
    })
}

/// The largest frame that every peer takes (AMQP 1.0 §2.4.1).
const MIN_MAX_FRAME_SIZE: u32 = 512;
