//! The client of a connection, as its CONNECT describes it.

use parsers::mqtt::{Connect, Version};

use crate::policy::Limits;

/// What a CONNECT said that holds for the rest of the connection.
#[derive(Debug)]
pub(super) struct Client {
    /// The version of the protocol that it speaks.
    pub(super) version: Version,
    /// Its client identifier; empty when the broker is to choose one.
    pub(super) client_id: Box<str>,
    /// The user name that it claims.
    pub(super) user_name: Option<Box<str>>,
    /// The largest packet that it takes, in octets; `u32::MAX` when it did not say.
    pub(super) maximum_packet_size: u32,
    /// Whether acknowledgements to it may carry a reason string.
    pub(super) reason_strings: ReasonStrings,
    /// Its limits.
    pub(super) limits: Limits,
}

/// Whether acknowledgements may carry a reason string (MQTT 5.0 §3.1.2.11.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReasonStrings {
    /// The client takes them.
    Welcome,
    /// It asked for none, or its version has none.
    Unwanted,
}

impl Client {
    /// Takes over what matters of a CONNECT.
    pub(super) fn new(connect: &Connect<'_>, limits: Limits) -> Self {
        let welcome = connect.version == Version::V5 && connect.request_problem_information;
        Self {
            version: connect.version,
            client_id: connect.client_id.into(),
            user_name: connect.user_name.map(Into::into),
            maximum_packet_size: connect.maximum_packet_size.unwrap_or(u32::MAX),
            reason_strings: if welcome {
                ReasonStrings::Welcome
            } else {
                ReasonStrings::Unwanted
            },
            limits,
        }
    }

    /// A client whose CONNECT was too long to be looked at, and was let through (dry run).
    pub(super) fn unread(version: Version, limits: Limits) -> Self {
        Self {
            version,
            client_id: "".into(),
            user_name: None,
            maximum_packet_size: u32::MAX,
            reason_strings: ReasonStrings::Unwanted,
            limits,
        }
    }

    /// Whether it speaks MQTT 5.0, which alone has reason codes and a DISCONNECT from the broker.
    pub(super) fn is_v5(&self) -> bool {
        self.version == Version::V5
    }

    /// Whether it takes a packet of this many octets.
    pub(super) fn takes(&self, packet_len: usize) -> bool {
        u64::from(self.maximum_packet_size) >= packet_len as u64
    }
}
