//! What can be wrong with AMQP 0-9-1 octets, and which reply code says so.

use std::fmt;

/// Octets that AMQP 0-9-1 does not allow, and where they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at octet {at} of the frame")]
pub struct Malformed {
    /// The offset of the offending field from the first octet of the frame.
    pub at: usize,
    /// What is wrong with it.
    pub what: Fault,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A frame type other than method, header, body and heartbeat (AMQP 0-9-1 §4.2.3).
    UnknownFrameType,
    /// A frame that is larger than was agreed upon (AMQP 0-9-1 §4.2.3).
    FrameTooLarge,
    /// A frame that does not end with 0xCE (AMQP 0-9-1 §4.2.3).
    BadFrameEnd,
    /// A heartbeat with a payload, or on a channel (AMQP 0-9-1 §4.2.7).
    BadHeartbeat,
    /// A content header that is too short for its fields (AMQP 0-9-1 §4.2.6.1).
    ContentHeaderTooShort,
    /// A content header of another class than the method before it (AMQP 0-9-1 §4.2.6.1).
    WrongClass,
    /// A weight other than zero in a content header (AMQP 0-9-1 §4.2.6.1).
    NonzeroWeight,
    /// Body frames that hold more than the content header said (AMQP 0-9-1 §4.2.6.2).
    BodyTooLong,
    /// A method frame that is too short for a class and a method (AMQP 0-9-1 §4.2.4).
    MethodTooShort,
    /// An argument that reaches beyond the frame or the table that holds it.
    ArgumentBeyondEnd,
    /// Octets that no argument of the method accounts for.
    TrailingOctets,
    /// A method of the connection on a channel (AMQP 0-9-1 §4.2.3).
    ConnectionMethodOnChannel,
    /// A content, or a method of a channel, on channel 0 (AMQP 0-9-1 §4.2.6.1).
    ChannelZero,
    /// A content on a channel that is not open.
    ChannelNotOpen,
    /// A frame that this side may not send, or not now.
    UnexpectedFrame,
}

impl Fault {
    /// The reply code for connection.close (AMQP 0-9-1 §1.2).
    pub fn reply_code(self) -> u16 {
        match self {
            Self::UnknownFrameType
            | Self::FrameTooLarge
            | Self::BadFrameEnd
            | Self::BadHeartbeat
            | Self::ContentHeaderTooShort
            | Self::WrongClass
            | Self::NonzeroWeight
            | Self::BodyTooLong => 501,
            Self::MethodTooShort | Self::ArgumentBeyondEnd | Self::TrailingOctets => 502,
            Self::ConnectionMethodOnChannel => 503,
            Self::ChannelZero | Self::ChannelNotOpen => 504,
            Self::UnexpectedFrame => 505,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownFrameType => "unknown frame type",
            Self::FrameTooLarge => "frame larger than frame-max",
            Self::BadFrameEnd => "frame without its frame-end",
            Self::BadHeartbeat => "heartbeat with a payload or a channel",
            Self::ContentHeaderTooShort => "content header that is too short",
            Self::WrongClass => "content header of another class than its method",
            Self::NonzeroWeight => "content header with a weight",
            Self::BodyTooLong => "more body than its content header said",
            Self::MethodTooShort => "method frame without a method",
            Self::ArgumentBeyondEnd => "argument that reaches beyond its end",
            Self::TrailingOctets => "octets after the last argument",
            Self::ConnectionMethodOnChannel => "method of the connection on a channel",
            Self::ChannelZero => "content or method of a channel on channel 0",
            Self::ChannelNotOpen => "content on a channel that is not open",
            Self::UnexpectedFrame => "frame that this side may not send now",
        })
    }
}
