//! What can be wrong with MQTT octets, and which reason code says so.

use std::fmt;

/// Octets that MQTT does not allow, and where they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at octet {at} of the packet")]
pub struct Malformed {
    /// The offset of the offending field from the first octet of the packet.
    pub at: usize,
    /// What is wrong with it.
    pub what: Fault,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Control packet type 0 is forbidden, and 15 is before MQTT 5.0.
    ReservedType,
    /// The lower four bits of the first octet are not what the type prescribes.
    ReservedFlags,
    /// A variable byte integer of more than four octets.
    OverlongInteger,
    /// A variable byte integer that uses more octets than it needs.
    PaddedInteger,
    /// A remaining length that the type does not allow.
    ImpossibleLength,
    /// A field that reaches beyond the end of its packet.
    FieldBeyondPacket,
    /// Octets that no field of the packet accounts for.
    TrailingOctets,
    /// QoS 3.
    ReservedQoS,
    /// DUP set on a QoS 0 PUBLISH.
    DuplicateWithoutQoS,
    /// Packet identifier 0 where one is due.
    ZeroPacketId,
    /// A string that is not UTF-8 or holds U+0000.
    NotUtf8,
    /// A property that this packet may not carry, or that does not exist.
    UnknownProperty,
    /// A property that may stand once and stands twice.
    RepeatedProperty,
    /// A property whose value is outside of its range.
    BadPropertyValue,
    /// The reserved connect flag is set.
    ReservedConnectFlag,
    /// Will QoS or Will Retain without a Will, or a password without a user name before 5.0.
    ContradictoryFlags,
    /// A protocol name or level that is none of 3.1, 3.1.1 and 5.0.
    UnknownVersion,
    /// A packet that this side may not send, or not now.
    UnexpectedPacket,
}

impl Fault {
    /// The reason code for DISCONNECT and CONNACK (MQTT 5.0 §2.4): 0x82 Protocol Error for what is
    /// well formed and not allowed, 0x81 Malformed Packet for the rest.
    pub fn reason_code(self) -> u8 {
        match self {
            Self::ZeroPacketId
            | Self::RepeatedProperty
            | Self::BadPropertyValue
            | Self::UnexpectedPacket => 0x82,
            Self::UnknownVersion => 0x84,
            _ => 0x81,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReservedType => "reserved control packet type",
            Self::ReservedFlags => "reserved flags in the fixed header",
            Self::OverlongInteger => "variable byte integer of more than four octets",
            Self::PaddedInteger => "variable byte integer longer than its value needs",
            Self::ImpossibleLength => "remaining length that the packet type does not allow",
            Self::FieldBeyondPacket => "field that reaches beyond its packet",
            Self::TrailingOctets => "octets after the last field",
            Self::ReservedQoS => "QoS 3",
            Self::DuplicateWithoutQoS => "DUP set with QoS 0",
            Self::ZeroPacketId => "packet identifier 0",
            Self::NotUtf8 => "string that is not UTF-8",
            Self::UnknownProperty => "property that does not belong here",
            Self::RepeatedProperty => "property given twice",
            Self::BadPropertyValue => "property value out of range",
            Self::ReservedConnectFlag => "reserved connect flag",
            Self::ContradictoryFlags => "connect flags that contradict each other",
            Self::UnknownVersion => "unknown protocol version",
            Self::UnexpectedPacket => "packet that this side may not send now",
        })
    }
}
