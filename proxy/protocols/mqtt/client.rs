//! The client of a connection, as its CONNECT describes it.

use std::net::IpAddr;
use std::sync::Arc;

use parsers::mqtt::{Connect, Version};

use super::VhostSource;
use crate::gate::{Direction, Identity, Limits};
use crate::policy::{AddressSyntax, ByteSize, Limit, Mode, OnOversize, Policy, Verdict};
use crate::protocols::Opening;

/// What a CONNECT said that holds for the rest of the connection.
#[derive(Debug)]
pub(super) struct Client {
    /// The version of the protocol that it speaks.
    pub(super) version: Version,
    /// Its client identifier, unless the broker is to choose one.
    client_id: Option<Box<str>>,
    /// The virtual host that it asks for.
    vhost: Option<Box<str>>,
    /// The user that it claims to be.
    user: Option<Box<str>>,
    /// The largest packet that it takes, in octets; `u32::MAX` when it did not say.
    pub(super) maximum_packet_size: u32,
    /// The same as a limit of what the broker sends, if it said.
    own_limit: Option<Limit>,
    /// Whether acknowledgements to it may carry a reason string.
    pub(super) reason_strings: ReasonStrings,
    /// Its limits.
    pub(super) limits: Limits,
}

/// What a client has shown before its CONNECT.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    /// Its network address.
    pub(super) peer: IpAddr,
    /// The name that it calls this server by in TLS.
    server_name: Option<Box<str>>,
    /// The subject of its certificate.
    subject: Option<Box<str>>,
}

impl Shown {
    pub(super) fn new(opening: &Opening<'_>) -> Self {
        Self {
            peer: opening.peer,
            server_name: opening.server_name.map(Into::into),
            subject: opening.subject.map(Into::into),
        }
    }

    /// Who the client is, as long as it has not said more.
    pub(super) fn identity(&self) -> Identity<'_> {
        Identity {
            peer: Some(self.peer),
            user: self.subject.as_deref(),
            ..Identity::default()
        }
    }
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
    pub(super) fn new(
        connect: &Connect<'_>,
        shown: &Shown,
        vhost: VhostSource,
        policy: &Arc<Policy>,
    ) -> Self {
        let (vhost, user) = match (vhost, connect.user_name) {
            (VhostSource::UserName, Some(name)) => match name.rsplit_once(':') {
                Some((vhost, user)) => (Some(vhost), Some(user)),
                None => (None, Some(name)),
            },
            (VhostSource::ServerName, name) => (shown.server_name.as_deref(), name),
            (VhostSource::UserName | VhostSource::Nowhere, name) => (None, name),
        };
        // A name that the client gives comes before the one of its certificate.
        let user = user.or(shown.subject.as_deref());
        let client = Some(connect.client_id).filter(|id| !id.is_empty());
        let limits = policy.identify(
            &Identity {
                peer: Some(shown.peer),
                vhost,
                user,
                client,
            },
            AddressSyntax::Topic,
        );
        let welcome = connect.version == Version::V5 && connect.request_problem_information;
        Self {
            client_id: client.map(Into::into),
            vhost: vhost.map(Into::into),
            user: user.map(Into::into),
            maximum_packet_size: connect.maximum_packet_size.unwrap_or(u32::MAX),
            own_limit: connect
                .maximum_packet_size
                .map(|size| Limit::new(ByteSize(size.into()), "the client's Maximum Packet Size")),
            reason_strings: if welcome {
                ReasonStrings::Welcome
            } else {
                ReasonStrings::Unwanted
            },
            ..Self::unread(connect.version, limits)
        }
    }

    /// A client whose CONNECT is too long to be looked at.
    pub(super) fn unread(version: Version, limits: Limits) -> Self {
        Self {
            version,
            client_id: None,
            vhost: None,
            user: None,
            maximum_packet_size: u32::MAX,
            own_limit: None,
            reason_strings: ReasonStrings::Unwanted,
            limits,
        }
    }

    /// Who it says it is.
    pub(super) fn identity(&self, peer: IpAddr) -> Identity<'_> {
        Identity {
            peer: Some(peer),
            vhost: self.vhost.as_deref(),
            user: self.user.as_deref(),
            client: self.client_id.as_deref(),
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

    /// Judges a packet of the broker by what the client said it takes; that counts whole packets
    /// (MQTT 5.0 §3.1.2.11.4).
    pub(super) fn own_verdict(&self, packet_len: usize) -> Verdict<'_> {
        match &self.own_limit {
            Some(limit) => self.limits.weigh(limit, packet_len as u64),
            None => Verdict::Allowed,
        }
    }

    /// Whether a message of the broker could be kept from it while its connection lives on.
    pub(super) fn can_lose_messages(&self, policy: &Policy) -> bool {
        let direction = Direction::ToClient;
        let has_limit = || {
            let anywhere = self.limits.judge(direction, b"", u64::MAX);
            anywhere != Verdict::Allowed || self.limits.heeds_addresses(direction)
        };
        policy.mode() == Mode::Enforce
            && (self.own_limit.is_some()
                || policy.on_oversize() == OnOversize::Reject && has_limit())
    }
}
