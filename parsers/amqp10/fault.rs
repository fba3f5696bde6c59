//! What can be wrong with AMQP 1.0 octets.

use std::fmt;

/// Octets that AMQP 1.0 does not allow, and where they stand.
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
    /// A SIZE that is smaller than a frame header (AMQP 1.0 §2.3.1).
    FrameTooSmall,
    /// A DOFF below 2, or one that points beyond the end of the frame (AMQP 1.0 §2.3.1).
    BadDataOffset,
    /// A frame body that does not begin with a described type (AMQP 1.0 §2.3.2).
    NotDescribed,
    /// A performative that is not a list (AMQP 1.0 §1.4).
    NotAList,
    /// A performative that is longer than the caller's ceiling.
    OverCeiling,
    /// A value that reaches beyond the frame or the list that holds it.
    ValueBeyondEnd,
    /// A list whose size and count do not agree with what it holds (AMQP 1.0 §1.6.22).
    ListDisagrees,
    /// A constructor that no encoding category has (AMQP 1.0 §1.2).
    UnknownConstructor,
    /// Described types inside of each other's descriptors beyond any use.
    NestedTooDeep,
    /// A field whose value has another type than the specification gives it.
    UnexpectedType,
    /// A field that is null or left out, and is mandatory.
    MandatoryMissing,
    /// A value outside of the choices that its type restricts it to.
    UnknownChoice,
    /// A string that is not UTF-8.
    NotUtf8,
    /// Another performative than the one that was asked for, or one that may not stand here.
    UnexpectedPerformative,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FrameTooSmall => "frame size smaller than a frame header",
            Self::BadDataOffset => "data offset outside of the frame",
            Self::NotDescribed => "frame body that is not a described type",
            Self::NotAList => "performative that is not a list",
            Self::OverCeiling => "performative longer than allowed",
            Self::ValueBeyondEnd => "value that reaches beyond what holds it",
            Self::ListDisagrees => "list whose size and count disagree with its contents",
            Self::UnknownConstructor => "unknown constructor",
            Self::NestedTooDeep => "descriptors nested too deep",
            Self::UnexpectedType => "field of another type than specified",
            Self::MandatoryMissing => "mandatory field missing",
            Self::UnknownChoice => "value outside of the specified choices",
            Self::NotUtf8 => "string that is not UTF-8",
            Self::UnexpectedPerformative => "unexpected performative",
        })
    }
}
