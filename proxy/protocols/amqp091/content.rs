//! Contents: a method, the header that says how large the body is, and the body.
//!
//! The method waits for the header, which mostly is right behind it and decides on both; where frames of
//! other channels come in between, it is kept.

use parsers::Parsed;
use parsers::amqp091::{
    Channel, Common, CommonMethod, ContentHeader, Fault, FrameHeader, FrameType, Method, Version,
    content_header, frame_header, method,
};

use super::arrival::{Ahead, Arrival, ContentMethod, look_ahead};
use super::channel::{Content, Fate, Life, Mode as ChannelMode};
use super::connection::Connection;
use super::direction;
use super::frames::fault;
use super::handshake::unexpected;
use super::walk::Halt;
use crate::gate::{Direction, Meter, Side, VerdictKind};
use crate::policy::Verdict;

impl Connection {
    /// A whole message in its common form; says whether it may pass. One that may not has to go the
    /// long way.
    #[inline]
    pub(super) fn common(&mut self, from: Side, common: &Common<'_>, meter: &mut Meter) -> bool {
        let (direction, method) = match (from, common.method) {
            (Side::Client, CommonMethod::Publish(publish)) => {
                (Direction::ToBroker, ContentMethod::Publish(publish))
            }
            (Side::Broker, CommonMethod::Deliver(deliver)) => {
                (Direction::ToClient, ContentMethod::Deliver(deliver))
            }
            _ => return false,
        };
        let (Some(limits), Some(state)) = (&self.limits, self.channels.get_mut(&common.channel))
        else {
            return false;
        };
        let most = self.most_payload.map_or(usize::MAX, |most| most as usize);
        let most_control = self.settings.max_control_size.0;
        let control = common.method_len.max(common.header_len);
        let is_free = state.life == Life::Open && matches!(state.contents.of(from), Content::None);
        let is_legal = control.max(common.body_len()) <= most && control as u64 <= most_control;
        if !is_free || !is_legal {
            return false;
        }
        let address = if limits.heeds_addresses(direction) {
            method.address(&mut self.address);
            &self.address[..]
        } else {
            &[]
        };
        let size = common.body_size as u64;
        if limits.judge(direction, address, size) != Verdict::Allowed {
            return false;
        }
        if let (Side::Client, ChannelMode::Confirm(confirms)) = (from, &mut state.mode) {
            confirms.forward();
        }
        meter.message(direction, VerdictKind::Allowed, size);
        true
    }

    /// A method that carries a content, whole at the front of the input.
    pub(super) fn content_method(
        &mut self,
        from: Side,
        header: &FrameHeader,
        method: ContentMethod<'_>,
        input: &[u8],
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        let (channel, len) = (header.channel, header.frame_len());
        let Some(state) = self.channels.get(&channel) else {
            return Err(fault(1, Fault::ChannelNotOpen));
        };
        if state.parked.client.len() > Self::MOST_WORDS && from == Side::Client {
            return Err(Halt::Wait);
        }
        if matches!(method, ContentMethod::Return) {
            return self.content_is_due(from, channel, Fate::Passes, len);
        }
        let behind = input.get(len..).unwrap_or_default();
        let refuses = *self.refuses.of(from);
        let mut most = self.settings.max_control_size.0;
        if let (false, Some(payload)) = (refuses, self.most_payload) {
            // The method may have passed before more of this frame was there.
            most = most.min(u64::from(payload) + FrameHeader::EMPTY_FRAME_LEN as u64);
        }
        let (next, body_size) = match look_ahead(channel, behind, most) {
            Ahead::ContentHeader(header, body_size) => (header, body_size),
            Ahead::NeedMore(octets) if refuses => {
                return Err(Halt::NeedMore(len + octets));
            }
            Ahead::NeedMore(_) | Ahead::Other => return self.hold(from, channel, input, len),
        };
        let arrival = Arrival {
            from,
            channel,
            method,
            body_size,
            header: next,
            octets: behind,
            before: len,
        };
        let fate = self.judge(&arrival, meter)?;
        self.content_is_due(from, channel, fate, len)
    }

    /// A content was decided on at its method, whose content header is right behind it or not judged.
    fn content_is_due(
        &mut self,
        from: Side,
        channel: Channel,
        fate: Fate,
        len: usize,
    ) -> Result<usize, Halt> {
        let passes = matches!(fate, Fate::Passes);
        if let Some(state) = self.channels.get_mut(&channel)
            && !state.discards(from)
        {
            *state.contents.of_mut(from) = Content::Header(fate);
        }
        if passes {
            return Ok(len);
        }
        self.weigh(channel)?;
        Err(Halt::Withhold(len))
    }

    /// Keeps a method until its content header comes; where nothing is refused, a copy of it.
    fn hold(
        &mut self,
        from: Side,
        channel: Channel,
        input: &[u8],
        len: usize,
    ) -> Result<usize, Halt> {
        let passes = !*self.refuses.of(from);
        if let Some(state) = self.channels.get_mut(&channel) {
            let frame = input.get(..len).unwrap_or_default().to_vec();
            *state.contents.of_mut(from) = Content::Held { frame, passes };
        }
        self.weigh(channel)?;
        if passes {
            Ok(len)
        } else {
            Err(Halt::Withhold(len))
        }
    }

    /// The frame of a content header.
    pub(super) fn content_header(
        &mut self,
        from: Side,
        header: &FrameHeader,
        input: &[u8],
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        let channel = header.channel;
        let Some(state) = self.channels.get(&channel) else {
            return Err(unexpected());
        };
        let held = match state.contents.of(from) {
            Content::Held { frame, passes } => Some((frame.clone(), *passes)),
            Content::Header(_) => None,
            Content::None | Content::Body { .. } => return Err(unexpected()),
        };
        let content = match content_header(header, input)? {
            Parsed::Value(content) => content,
            Parsed::NeedMore(octets) => return Err(Halt::NeedMore(octets)),
        };
        let len = header.frame_len() as u64;
        self.refuse_size(from, len, meter)?;
        if let Some((frame, has_passed)) = held {
            let arrival = Arrival {
                from,
                channel,
                method: held_method(self.version, &frame)?,
                body_size: content.body_size,
                header: *header,
                octets: input,
                before: 0,
            };
            self.decide_on_held(&arrival, &frame, has_passed, meter)?;
        }
        let passing = self.content_begins(from, header, content, input);
        if let Ok(_) | Err(Halt::Withhold(_)) = passing {
            self.would_deny(from, len, meter);
        }
        passing
    }

    /// Decides on a method that was kept, now that its content header is here.
    fn decide_on_held(
        &mut self,
        arrival: &Arrival<'_>,
        frame: &[u8],
        has_passed: bool,
        meter: &mut Meter,
    ) -> Result<(), Halt> {
        let Arrival { from, channel, .. } = *arrival;
        let fate = self.judge(arrival, meter)?;
        let passes = matches!(fate, Fate::Passes);
        if let Some(state) = self.channels.get_mut(&channel) {
            *state.contents.of_mut(from) = if state.discards(from) {
                Content::None
            } else {
                Content::Header(fate)
            };
        }
        self.weigh(channel)?;
        if passes && !has_passed {
            let to = self.sides.of_mut(from.other());
            to.words.extend_from_slice(frame);
            to.released += frame.len();
            return Err(Halt::Words);
        }
        Ok(())
    }

    /// A content header that was decided on: its body is due.
    fn content_begins(
        &mut self,
        from: Side,
        header: &FrameHeader,
        content: ContentHeader,
        input: &[u8],
    ) -> Result<usize, Halt> {
        // A fault is found before anything is noted, so that it is found again if this is met again.
        header.whole(input)?;
        let due = self.channels.get_mut(&header.channel);
        let due = due.map(|state| state.contents.of_mut(from));
        let Some(due) = due else {
            return Err(unexpected());
        };
        let Content::Header(fate) = std::mem::take(due) else {
            // Its channel is closed over it.
            return self.swallow(from, header, input);
        };
        let passes = matches!(fate, Fate::Passes);
        *due = Content::Body {
            left: content.body_size,
            fate,
        };
        if passes {
            self.pass(from, header, input)
        } else {
            self.swallow(from, header, input)
        }
    }

    /// A body frame.
    pub(super) fn body(
        &mut self,
        from: Side,
        header: &FrameHeader,
        input: &[u8],
    ) -> Result<usize, Halt> {
        let due = self.channels.get(&header.channel);
        match due.map(|state| state.contents.of(from)) {
            Some(Content::Body { left, .. }) if u64::from(header.size) > *left => {
                Err(fault(3, Fault::BodyTooLong))
            }
            Some(Content::Body {
                fate: Fate::Passes, ..
            }) => self.pass(from, header, input),
            Some(Content::Body { .. }) => self.swallow(from, header, input),
            _ => Err(unexpected()),
        }
    }

    /// The last octet of a frame has come.
    pub(super) fn frame_ended(&mut self, from: Side, header: &FrameHeader) -> Result<(), Halt> {
        let Some(state) = self.channels.get_mut(&header.channel) else {
            return Ok(());
        };
        let content = state.contents.of_mut(from);
        if let Content::Body { left, .. } = content {
            if header.frame_type == FrameType::Body {
                *left = left.saturating_sub(header.size.into());
            }
            if *left == 0 {
                let ended = std::mem::take(content);
                return self.content_ended(from, header.channel, ended);
            }
        }
        Ok(())
    }

    /// The last octet of a content has come.
    fn content_ended(
        &mut self,
        from: Side,
        channel: Channel,
        content: Content,
    ) -> Result<(), Halt> {
        self.unpark(from.other(), channel);
        let life = self.channels.get(&channel).map(|state| &state.life);
        let (to_client, to_broker) = match life {
            Some(Life::Open) => (true, true),
            // The client does not know of it yet, and awaits an answer to what it has asked for.
            Some(Life::Refused(_)) => (true, false),
            _ => (false, false),
        };
        if let Content::Body {
            fate: Fate::Swallowed(owed),
            ..
        } = content
        {
            if to_client {
                self.say(Side::Client, channel, &owed.client);
            }
            if to_broker {
                self.say(Side::Broker, channel, &owed.broker);
                self.has_rejected(channel, owed.rejects);
            }
        }
        self.weigh(channel)
    }

    /// The verdict on a message: whether it passes, or what is owed for it.
    fn judge(&mut self, arrival: &Arrival<'_>, meter: &mut Meter) -> Result<Fate, Halt> {
        let Arrival {
            from,
            channel,
            method,
            body_size,
            ..
        } = *arrival;
        let Some(limits) = &self.limits else {
            return Err(unexpected());
        };
        let direction = direction(from);
        method.address(&mut self.address);
        match limits.judge(direction, &self.address, body_size) {
            Verdict::Denied(limit) => {
                let limit = limit.clone();
                return self.refuse(arrival, &limit, meter);
            }
            Verdict::WouldDeny(limit) => {
                let limit = limit.clone();
                self.would_refuse(arrival, &limit, meter);
            }
            Verdict::Allowed => meter.message(direction, VerdictKind::Allowed, body_size),
        }
        if let Some(state) = self.channels.get_mut(&channel) {
            if let (Side::Client, ChannelMode::Confirm(confirms)) = (from, &mut state.mode) {
                confirms.forward();
            }
            if self.answers_broker && matches!(method, ContentMethod::GetOk(_)) {
                state.consumers.got();
            }
        }
        Ok(Fate::Passes)
    }
}

/// The method in a frame that was kept.
fn held_method(version: Version, frame: &[u8]) -> Result<ContentMethod<'_>, Halt> {
    let Parsed::Value(header) = frame_header(frame)? else {
        return Err(unexpected());
    };
    match method(version, &header, frame)? {
        Method::BasicPublish(publish) => Ok(ContentMethod::Publish(publish)),
        Method::BasicDeliver(deliver) => Ok(ContentMethod::Deliver(deliver)),
        Method::BasicGetOk(get_ok) => Ok(ContentMethod::GetOk(get_ok)),
        _ => Err(unexpected()),
    }
}
