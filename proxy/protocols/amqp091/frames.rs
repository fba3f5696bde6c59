//! Frame by frame: what the stream of a side brings, and who looks at it.

use parsers::Parsed;
use parsers::amqp091::{
    Channel, Fault, FrameHeader, FrameType, Malformed, Method, common_content, frame_header, method,
};

use super::connection::{Connection, Layer, Partial};
use super::refuse::{FRAME_ERROR, Why};
use super::walk::Halt;
use crate::gate::{Meter, Reason, Report, Side, VerdictKind};
use crate::policy::Mode;

impl Connection {
    /// Looks at what starts `input` and answers with its octets if they go on as they are.
    pub(super) fn next_frame(
        &mut self,
        from: Side,
        input: &[u8],
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        if self.sides.of(from).partial.is_some() {
            return self.rest_of_frame(from, input);
        }
        if self.farewell.is_some() {
            return self.last_frame(from, input);
        }
        match (self.sides.of(from).layer, from) {
            (Layer::Header, Side::Client) => return self.protocol_header(input),
            // No frame type has this number.
            (Layer::Header, Side::Broker) if input.first() == Some(&b'A') => {
                return self.other_protocol_header(input);
            }
            (Layer::Closed, _) if !input.is_empty() => return Err(Halt::Withhold(input.len())),
            (Layer::Opened, _) if self.is_accepted() => {
                if let Some(common) = common_content(input)
                    && self.common(from, &common, meter)
                {
                    return Ok(common.total_len());
                }
            }
            _ => {}
        }
        let header = match frame_header(input)? {
            Parsed::Value(header) => header,
            Parsed::NeedMore(octets) => return Err(Halt::NeedMore(octets)),
        };
        if self.most_payload.is_some_and(|most| header.size > most) {
            return Err(fault(3, Fault::FrameTooLarge));
        }
        let is_stranger = from == Side::Client && !self.is_accepted();
        let total = self.passed + header.frame_len() as u64;
        let most = self.settings.max_control_size.0;
        if is_stranger && total > most {
            if self.sides.client.layer == Layer::Opened {
                return Err(Halt::Wait);
            }
            // It is not the broker's turn before connection.open: nothing would come of waiting.
            self.refuse_size(from, total, meter)?;
        }
        let passing = self.frame(from, &header, input, meter)?;
        if is_stranger {
            // In a dry run it is told once, and of a frame that is too long by itself at once.
            if total > most && self.passed <= most && header.frame_len() as u64 <= most {
                self.would_deny(from, total, meter);
            }
            let partial = &self.sides.client.partial;
            let is_cut = partial.is_some_and(|partial| partial.passes);
            self.passed += passing as u64 + u64::from(is_cut);
        }
        Ok(passing)
    }

    /// A frame of a side whose close-ok is awaited: all of it is thrown away, whatever it is.
    fn last_frame(&mut self, from: Side, input: &[u8]) -> Result<usize, Halt> {
        let header = match frame_header(input)? {
            Parsed::Value(header) => header,
            Parsed::NeedMore(octets) => return Err(Halt::NeedMore(octets)),
        };
        let is_method = header.frame_type == FrameType::Method && header.channel == Channel(0);
        let is_long = header.frame_len() as u64 > self.settings.max_control_size.0;
        if is_method && !is_long {
            let frame = whole(&header, input)?;
            if let Ok(Method::ConnectionCloseOk) = method(self.version, &header, frame) {
                self.sides.of_mut(from).owes_close_ok = false;
            }
        }
        self.swallow(from, &header, input)
    }

    fn frame(
        &mut self,
        from: Side,
        header: &FrameHeader,
        input: &[u8],
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        if header.frame_type == FrameType::Heartbeat {
            if header.channel != Channel(0) || header.size != 0 {
                return Err(fault(0, Fault::BadHeartbeat));
            }
            return Ok(whole(header, input)?.len());
        }
        let is_closing = from == Side::Client && self.sides.client.layer == Layer::Closing;
        let channel = self.channels.get(&header.channel);
        if is_closing || channel.is_some_and(|channel| channel.discards(from)) {
            return self.discard(from, header, input);
        }
        match header.frame_type {
            FrameType::Method => {
                let len = header.frame_len() as u64;
                self.refuse_size(from, len, meter)?;
                if len > self.settings.max_control_size.0 {
                    let passing = self.pass(from, header, input)?;
                    self.would_deny(from, len, meter);
                    return Ok(passing);
                }
                let frame = whole(header, input)?;
                let method = method(self.version, header, frame)?;
                if header.channel == Channel(0) {
                    self.connection_method(from, &method)?;
                    Ok(frame.len())
                } else {
                    self.channel_method(from, header, &method, input, meter)
                }
            }
            _ if header.channel == Channel(0) => Err(fault(1, Fault::ChannelZero)),
            FrameType::Header => self.content_header(from, header, input, meter),
            _ => self.body(from, header, input),
        }
    }

    /// Judges a frame that holds no body by its length; ends the connection if it is refused.
    pub(super) fn refuse_size(
        &mut self,
        from: Side,
        size: u64,
        meter: &mut Meter,
    ) -> Result<(), Halt> {
        let limit = self.settings.max_control_size.0;
        if size <= limit || self.settings.policy.mode() == Mode::DryRun {
            return Ok(());
        }
        self.note_size(from, VerdictKind::Denied, size, meter);
        let text =
            format!("Frame size exceeded: {size} octets, limit {limit}, set by --max-control-size");
        let why = Why::Fault {
            side: from,
            code: FRAME_ERROR,
            text,
        };
        self.end_if_accepted(from, Reason::Oversize, why);
        Err(Halt::Over)
    }

    /// Notes that a frame goes on which is refused where this is no dry run. To be called when all
    /// else has been decided on it, so that it is told once.
    pub(super) fn would_deny(&self, from: Side, size: u64, meter: &mut Meter) {
        if size > self.settings.max_control_size.0 {
            self.note_size(from, VerdictKind::WouldDeny, size, meter);
        }
    }

    fn note_size(&self, side: Side, verdict: VerdictKind, size: u64, meter: &mut Meter) {
        meter.reports.push(Report::ControlOversize {
            side,
            verdict,
            size,
            limit: self.settings.max_control_size.0,
        });
    }

    /// Lets a frame go on; what of it has not come is not waited for.
    pub(super) fn pass(
        &mut self,
        from: Side,
        header: &FrameHeader,
        input: &[u8],
    ) -> Result<usize, Halt> {
        match header.whole(input)? {
            Parsed::Value(frame) => {
                self.frame_ended(from, header)?;
                Ok(frame.len())
            }
            Parsed::NeedMore(_) => {
                self.sides.of_mut(from).partial = Some(Partial {
                    header: *header,
                    left: 0,
                    passes: true,
                });
                Ok(header.end_at())
            }
        }
    }

    /// Throws a frame away, as it comes.
    pub(super) fn swallow(
        &mut self,
        from: Side,
        header: &FrameHeader,
        input: &[u8],
    ) -> Result<usize, Halt> {
        self.sides.of_mut(from).is_losing = true;
        match header.whole(input)? {
            Parsed::Value(frame) => {
                self.frame_ended(from, header)?;
                Err(Halt::Withhold(frame.len()))
            }
            Parsed::NeedMore(_) => {
                let there = input.len().min(header.end_at());
                self.sides.of_mut(from).partial = Some(Partial {
                    header: *header,
                    left: header.end_at() - there,
                    passes: false,
                });
                Err(Halt::Withhold(there))
            }
        }
    }

    /// More of a frame that had come in part.
    fn rest_of_frame(&mut self, from: Side, input: &[u8]) -> Result<usize, Halt> {
        let peer = self.sides.of_mut(from);
        let (Some(partial), Some(&next)) = (&mut peer.partial, input.first()) else {
            return Err(Halt::NeedMore(1));
        };
        peer.is_losing |= !partial.passes;
        if partial.left > 0 {
            let there = input.len().min(partial.left);
            partial.left -= there;
            return Err(Halt::Withhold(there));
        }
        let Partial { header, passes, .. } = *partial;
        if let Err(fault) = header.check_end(next) {
            self.sides.of_mut(from.other()).is_cut |= passes;
            return Err(fault.into());
        }
        peer.partial = None;
        self.frame_ended(from, &header)?;
        if passes {
            Ok(1)
        } else {
            Err(Halt::Withhold(1))
        }
    }

    /// Throws a frame away that comes after the end of its channel or of the connection, unless it
    /// belongs to that end.
    fn discard(&mut self, from: Side, header: &FrameHeader, input: &[u8]) -> Result<usize, Halt> {
        if header.frame_type != FrameType::Method {
            return self.swallow(from, header, input);
        }
        if header.frame_len() as u64 > self.settings.max_control_size.0 {
            return self.swallow(from, header, input);
        }
        let frame = whole(header, input)?;
        let method = method(self.version, header, frame)?;
        if header.channel == Channel(0) {
            match method {
                Method::ConnectionCloseOk => self.sides.of_mut(from).layer = Layer::Closed,
                _ => return Err(Halt::Withhold(frame.len())),
            }
            return Ok(frame.len());
        }
        self.discarded_method(from, header.channel, &method, frame.len())
    }
}

/// The whole frame at the front of the input.
#[inline]
pub(super) fn whole<'a>(header: &FrameHeader, input: &'a [u8]) -> Result<&'a [u8], Halt> {
    match header.whole(input)? {
        Parsed::Value(frame) => Ok(frame),
        Parsed::NeedMore(octets) => Err(Halt::NeedMore(octets)),
    }
}

/// A frame that is not allowed.
pub(super) fn fault(at: usize, what: Fault) -> Halt {
    Halt::Malformed(Malformed { at, what })
}
