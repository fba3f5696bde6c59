//! What can be wrong with a header.

use std::fmt;

/// Octets that the PROXY protocol does not allow, and where they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at octet {at} of the header")]
pub struct Malformed {
    /// The offset of the offending field from the first octet of the header.
    pub at: usize,
    /// What is wrong with it.
    pub what: Fault,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The signature of neither version: these octets are something else (§2.2).
    NoHeader,
    /// A protocol other than TCP4, TCP6 and UNKNOWN (§2.1).
    UnknownProtocol,
    /// A line without its end within 107 octets (§2.1).
    LineTooLong,
    /// An address that is none, or of another family than the line announces (§2.1).
    BadAddress,
    /// A port that is none, or has leading zeros (§2.1).
    BadPort,
    /// A line that ends before its last field (§2.1).
    FieldMissing,
    /// Something behind the last field of a line (§2.1).
    TrailingOctets,
    /// A version other than 2 behind the binary signature (§2.2).
    UnknownVersion,
    /// A command other than LOCAL and PROXY (§2.2).
    UnknownCommand,
    /// An address family that the specification does not have (§2.2).
    UnknownFamily,
    /// A transport protocol that the specification does not have (§2.2).
    UnknownTransport,
    /// A length that leaves no room for the addresses of the family (§2.2).
    TooShort,
    /// A length above [`super::CEILING`].
    TooLong,
    /// A TLV that reaches beyond the header (§2.2).
    TlvBeyondHeader,
    /// A checksum that is not that of the header (§2.2.3).
    WrongChecksum,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoHeader => "no signature of the PROXY protocol",
            Self::UnknownProtocol => "protocol that is none of TCP4, TCP6 and UNKNOWN",
            Self::LineTooLong => "no end of the line within 107 octets",
            Self::BadAddress => "address that is not one of its family",
            Self::BadPort => "port that is not a decimal number up to 65535",
            Self::FieldMissing => "field missing",
            Self::TrailingOctets => "octets after the last field",
            Self::UnknownVersion => "unknown version",
            Self::UnknownCommand => "unknown command",
            Self::UnknownFamily => "unknown address family",
            Self::UnknownTransport => "unknown transport protocol",
            Self::TooShort => "length without room for the addresses",
            Self::TooLong => "length above what is read of a header",
            Self::TlvBeyondHeader => "TLV that reaches beyond the header",
            Self::WrongChecksum => "wrong checksum",
        })
    }
}
