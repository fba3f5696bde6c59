//! Methods: which one a frame carries, and its arguments as far as they matter.

use super::basic::{
    Ack, Cancel, Consume, ConsumerTag, Deliver, Get, GetOk, Publish, Reject, Return,
};
use super::connection::{Close, ConnectionOpen, StartOk, Tune};
use super::fault::{Fault, Malformed};
use super::fields::{all, first, octet, shortstr};
use super::frame_header::FrameHeader;
use super::protocol_header::Version;
use super::{basic, connection};

/// A class and a method in it (AMQP 0-9-1 §4.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodId {
    /// The class.
    pub class: u16,
    /// The method.
    pub method: u16,
}

impl MethodId {
    /// basic.publish.
    pub const BASIC_PUBLISH: Self = Self::of(60, 40);
    /// basic.return.
    pub const BASIC_RETURN: Self = Self::of(60, 50);
    /// basic.deliver.
    pub const BASIC_DELIVER: Self = Self::of(60, 60);
    /// basic.get-ok.
    pub const BASIC_GET_OK: Self = Self::of(60, 71);

    pub(super) const fn of(class: u16, method: u16) -> Self {
        Self { class, method }
    }

    /// connection.close, or connection.close-ok, in this version.
    pub(super) const fn connection_close(version: Version) -> Self {
        match version {
            Version::V091 => Self::of(10, 50),
            Version::V08 => Self::of(10, 60),
        }
    }

    /// connection.close-ok in this version.
    pub(super) const fn connection_close_ok(version: Version) -> Self {
        match version {
            Version::V091 => Self::of(10, 51),
            Version::V08 => Self::of(10, 61),
        }
    }
}

/// A method. Those without fields here have arguments that are not read, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method<'a> {
    /// connection.start.
    ConnectionStart,
    /// connection.start-ok.
    ConnectionStartOk(StartOk<'a>),
    /// connection.secure.
    ConnectionSecure,
    /// connection.secure-ok.
    ConnectionSecureOk,
    /// connection.tune.
    ConnectionTune(Tune),
    /// connection.tune-ok.
    ConnectionTuneOk(Tune),
    /// connection.open.
    ConnectionOpen(ConnectionOpen<'a>),
    /// connection.open-ok.
    ConnectionOpenOk,
    /// connection.close.
    ConnectionClose(Close<'a>),
    /// connection.close-ok.
    ConnectionCloseOk,
    /// channel.open.
    ChannelOpen,
    /// channel.open-ok.
    ChannelOpenOk,
    /// channel.close.
    ChannelClose(Close<'a>),
    /// channel.close-ok.
    ChannelCloseOk,
    /// basic.consume.
    BasicConsume(Consume<'a>),
    /// basic.consume-ok.
    BasicConsumeOk(ConsumerTag<'a>),
    /// basic.cancel.
    BasicCancel(Cancel<'a>),
    /// basic.cancel-ok.
    BasicCancelOk(ConsumerTag<'a>),
    /// basic.publish.
    BasicPublish(Publish<'a>),
    /// basic.return.
    BasicReturn(Return<'a>),
    /// basic.deliver.
    BasicDeliver(Deliver<'a>),
    /// basic.get.
    BasicGet(Get<'a>),
    /// basic.get-ok.
    BasicGetOk(GetOk<'a>),
    /// basic.get-empty.
    BasicGetEmpty,
    /// basic.ack.
    BasicAck(Ack),
    /// basic.reject.
    BasicReject(Reject),
    /// basic.nack, of RabbitMQ.
    BasicNack(Ack),
    /// confirm.select, of RabbitMQ: whether no select-ok is sent.
    ConfirmSelect {
        /// Whether no select-ok is sent.
        no_wait: bool,
    },
    /// confirm.select-ok.
    ConfirmSelectOk,
    /// tx.select.
    TxSelect,
    /// tx.commit.
    TxCommit,
    /// tx.rollback.
    TxRollback,
    /// One that is none of these.
    Other(MethodId),
}

/// Reads the method in a method frame that is there as a whole.
///
/// ```text
///  7          9           11
/// +----------+-----------+-----------+
/// | class-id | method-id | arguments |   AMQP 0-9-1 §4.2.4
/// | 2        | 2         |           |
/// +----------+-----------+-----------+
/// ```
#[inline]
pub fn method<'a>(
    version: Version,
    header: &FrameHeader,
    frame: &'a [u8],
) -> Result<Method<'a>, Malformed> {
    let end = header.end_at();
    let payload = frame.get(FrameHeader::LEN..end).unwrap_or_default();
    let &[c0, c1, m0, m1, ref input @ ..] = payload else {
        return Err(Malformed {
            at: FrameHeader::LEN,
            what: Fault::MethodTooShort,
        });
    };
    let id = MethodId::of(u16::from_be_bytes([c0, c1]), u16::from_be_bytes([m0, m1]));
    if id.class != 10 {
        return of_channel(id, end, input);
    }
    Ok(match id.method {
        10 => Method::ConnectionStart,
        11 => Method::ConnectionStartOk(all(end, connection::start_ok(input))?),
        20 => Method::ConnectionSecure,
        21 => Method::ConnectionSecureOk,
        30 => Method::ConnectionTune(all(end, connection::tune(input))?),
        31 => Method::ConnectionTuneOk(all(end, connection::tune(input))?),
        40 => Method::ConnectionOpen(all(end, connection::open(input))?),
        41 => Method::ConnectionOpenOk,
        _ if id == MethodId::connection_close(version) => {
            Method::ConnectionClose(all(end, connection::close(input))?)
        }
        _ if id == MethodId::connection_close_ok(version) => Method::ConnectionCloseOk,
        _ => Method::Other(id),
    })
}

/// A method of another class than that of the connection.
#[inline]
fn of_channel(id: MethodId, end: usize, input: &[u8]) -> Result<Method<'_>, Malformed> {
    Ok(match (id.class, id.method) {
        (20, 10) => Method::ChannelOpen,
        (20, 11) => Method::ChannelOpenOk,
        (20, 40) => Method::ChannelClose(all(end, connection::close(input))?),
        (20, 41) => Method::ChannelCloseOk,
        (60, 20) => Method::BasicConsume(first(end, basic::consume(input))?),
        (60, 21) => Method::BasicConsumeOk(all(end, shortstr(input))?),
        (60, 30) => Method::BasicCancel(all(end, basic::cancel(input))?),
        (60, 31) => Method::BasicCancelOk(all(end, shortstr(input))?),
        (60, 40) => Method::BasicPublish(all(end, basic::publish(input))?),
        (60, 50) => Method::BasicReturn(all(end, basic::return_(input))?),
        (60, 60) => Method::BasicDeliver(all(end, basic::deliver(input))?),
        (60, 70) => Method::BasicGet(all(end, basic::get(input))?),
        (60, 71) => Method::BasicGetOk(all(end, basic::get_ok(input))?),
        (60, 72) => Method::BasicGetEmpty,
        (60, 80) => Method::BasicAck(all(end, basic::ack(input))?),
        (60, 90) => Method::BasicReject(all(end, basic::reject(input))?),
        (60, 120) => Method::BasicNack(all(end, basic::ack(input))?),
        (85, 10) => Method::ConfirmSelect {
            no_wait: all(end, octet(input))? & 1 != 0,
        },
        (85, 11) => Method::ConfirmSelectOk,
        (90, 10) => Method::TxSelect,
        (90, 20) => Method::TxCommit,
        (90, 30) => Method::TxRollback,
        _ => Method::Other(id),
    })
}
