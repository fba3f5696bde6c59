//! Open and close, begin and end: the life of a connection and of its sessions.

use super::descriptor::Descriptor;
use super::error::AmqpError;
use super::fault::Malformed;
use super::fields::{Field, any, mandatory, optional, text, uint, ushort};
use super::frame_header::{Channel, Handle};
use super::performative::Performative;

/// An open (AMQP 1.0 §2.7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open<'a> {
    /// The id of the container that sends it.
    pub container_id: &'a str,
    /// The host that is meant; brokers take it for a vhost.
    pub hostname: Option<&'a str>,
    /// The largest frame that the sender of this frame takes; 4,294,967,295 if left out.
    pub max_frame_size: u32,
    /// The highest channel that the sender of this frame takes; 65,535 if left out.
    pub channel_max: Channel,
    /// Milliseconds without a frame after which the sender of this frame gives up.
    pub idle_time_out: Option<u32>,
}

/// A begin (AMQP 1.0 §2.7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// The peer's channel of the session, if this is the answer to the peer's begin.
    pub remote_channel: Option<Channel>,
    /// The transfer-id of the first transfer frame that the sender of this frame will send.
    pub next_outgoing_id: u32,
    /// Transfer frames that it takes now.
    pub incoming_window: u32,
    /// Transfer frames that it may send.
    pub outgoing_window: u32,
    /// The highest handle that it takes; 4,294,967,295 if left out.
    pub handle_max: Handle,
}

/// An end (AMQP 1.0 §2.7.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End<'a> {
    /// Why, if it is for an error.
    pub error: Option<AmqpError<'a>>,
}

/// A close (AMQP 1.0 §2.7.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close<'a> {
    /// Why, if it is for an error.
    pub error: Option<AmqpError<'a>>,
}

impl<'a> Performative<'a> {
    /// Reads the fields of an open.
    pub fn open(&self) -> Result<Open<'a>, Malformed> {
        self.read(Descriptor::Open, open)
    }

    /// Reads the fields of a begin.
    pub fn begin(&self) -> Result<Begin, Malformed> {
        self.read(Descriptor::Begin, begin)
    }

    /// Reads the fields of an end.
    pub fn end(&self) -> Result<End<'a>, Malformed> {
        let error = self.read(Descriptor::End, optional(any))?;
        Ok(End {
            error: error.map(AmqpError::read),
        })
    }

    /// Reads the fields of a close.
    pub fn close(&self) -> Result<Close<'a>, Malformed> {
        let error = self.read(Descriptor::Close, optional(any))?;
        Ok(Close {
            error: error.map(AmqpError::read),
        })
    }
}

fn open(fields: &[u8]) -> Field<'_, Open<'_>> {
    let (rest, container_id) = mandatory(text)(fields)?;
    let (rest, hostname) = optional(text)(rest)?;
    let (rest, max_frame_size) = optional(uint)(rest)?;
    let (rest, channel_max) = optional(ushort)(rest)?;
    let (rest, idle_time_out) = optional(uint)(rest)?;
    let open = Open {
        container_id,
        hostname,
        max_frame_size: max_frame_size.unwrap_or(u32::MAX),
        channel_max: Channel(channel_max.unwrap_or(u16::MAX)),
        idle_time_out,
    };
    Ok((rest, open))
}

fn begin(fields: &[u8]) -> Field<'_, Begin> {
    let (rest, remote_channel) = optional(ushort)(fields)?;
    let (rest, next_outgoing_id) = mandatory(uint)(rest)?;
    let (rest, incoming_window) = mandatory(uint)(rest)?;
    let (rest, outgoing_window) = mandatory(uint)(rest)?;
    let (rest, handle_max) = optional(uint)(rest)?;
    let begin = Begin {
        remote_channel: remote_channel.map(Channel),
        next_outgoing_id,
        incoming_window,
        outgoing_window,
        handle_max: Handle(handle_max.unwrap_or(u32::MAX)),
    };
    Ok((rest, begin))
}
