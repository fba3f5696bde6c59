//! The vocabulary of a gate: sides, steps, and how a connection ends.

/// One of the two peers of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The program that connected to sizegate.
    Client,
    /// The broker that sizegate connected to.
    Broker,
}

impl Side {
    /// The peer at the other end of the connection.
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Broker,
            Self::Broker => Self::Client,
        }
    }

    /// The word for metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Broker => "broker",
        }
    }
}

/// What the relay does next with the stream of one side.
///
/// A number of octets may exceed what has arrived: it then covers those that follow, and the relay
/// need not look at them, nor ask, before the last of them has been dealt with. That is how a large
/// payload, once judged, costs no more than its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next octets of the stream go to the other side as they are. At least 1.
    Forward(u64),
    /// The next octets of the stream are thrown away. At least 1.
    Withhold(u64),
    /// What the gate appended to `inject` goes to the other side, before what follows.
    Inject,
    /// Nothing can be decided before this many octets are there, counted from the first undecided
    /// one. More than were given, and never above the ceiling that the gate keeps for itself.
    More(usize),
    /// Nothing more of this side is taken until the other side's stream has moved.
    Wait,
    /// This stream is over: what the side still sends is read and thrown away, and the connection
    /// ends once the other stream is over too, or when the relay has lingered long enough.
    End(Ending),
}

/// Who ended a connection, and why: the labels of `sizegate_connections_closed_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The side at fault or that left first; `None` is sizegate itself.
    pub side: Option<Side>,
    /// Why.
    pub reason: Reason,
}

impl Ending {
    /// An end that a side brought about.
    pub fn by(side: Side, reason: Reason) -> Self {
        Self {
            side: Some(side),
            reason,
        }
    }

    /// An end that sizegate brought about.
    pub fn ours(reason: Reason) -> Self {
        Self { side: None, reason }
    }

    /// The word for the side in metrics and logs.
    pub fn side_str(self) -> &'static str {
        self.side.map_or("sizegate", Side::as_str)
    }
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// A side closed its connection.
    Closed,
    /// A side's connection broke.
    Reset,
    /// A side sent what its protocol does not allow.
    Malformed,
    /// A message, or a packet that is not one, was over its limit and cost the connection.
    Oversize,
    /// The client did not say who it is in time.
    HandshakeTimeout,
    /// The first octets belong to no protocol that is spoken here.
    UnknownProtocol,
    /// The client sent no PROXY header where one is due, one that it may not send, or a malformed
    /// one.
    ProxyProtocol,
    /// The client meant to connect to sizegate itself, where redirected clients are led on.
    NotRedirected,
    /// TLS was not spoken where it is, or went wrong.
    Tls,
    /// The broker could not be reached.
    UpstreamUnreachable,
    /// More clients than `--max-connections`.
    TooManyConnections,
    /// sizegate is shutting down.
    Drain,
    /// sizegate met a defect of its own.
    Panic,
}

impl Reason {
    /// Every reason, for the metrics to start at zero.
    pub const ALL: [Self; 13] = [
        Self::Closed,
        Self::Reset,
        Self::Malformed,
        Self::Oversize,
        Self::HandshakeTimeout,
        Self::UnknownProtocol,
        Self::ProxyProtocol,
        Self::NotRedirected,
        Self::Tls,
        Self::UpstreamUnreachable,
        Self::TooManyConnections,
        Self::Drain,
        Self::Panic,
    ];

    /// The word for metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::Malformed => "malformed",
            Self::Oversize => "oversize",
            Self::HandshakeTimeout => "handshake-timeout",
            Self::UnknownProtocol => "unknown-protocol",
            Self::ProxyProtocol => "proxy-protocol",
            Self::NotRedirected => "not-redirected",
            Self::Tls => "tls",
            Self::UpstreamUnreachable => "upstream-unreachable",
            Self::TooManyConnections => "too-many-connections",
            Self::Drain => "drain",
            Self::Panic => "panic",
        }
    }
}

/// Why the relay asks a gate to end its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangUp {
    /// sizegate is shutting down.
    Drain,
    /// The broker could not be reached; nothing of the client was passed on.
    BrokerUnreachable,
}

/// How far a client has come in saying who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It has not said yet.
    Unidentified,
    /// It has said; the broker has not agreed yet.
    Claimed,
    /// The broker has agreed.
    Accepted,
}
