//! The arguments of the methods of the basic class.

use super::fields::{Field, long, longlong, octet, short, shortstr};

/// A name that a consumer has on its channel.
pub type ConsumerTag<'a> = &'a [u8];

/// basic.consume: deliveries are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consume<'a> {
    /// The queue.
    pub queue: &'a [u8],
    /// The consumer's name; empty if the server is to choose one.
    pub consumer_tag: ConsumerTag<'a>,
    /// Whether deliveries are not acknowledged.
    pub no_ack: bool,
    /// Whether no consume-ok is sent.
    pub no_wait: bool,
}

/// basic.cancel: no more deliveries, by the consumer's wish or, with RabbitMQ, by the broker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancel<'a> {
    /// The consumer's name.
    pub consumer_tag: ConsumerTag<'a>,
    /// Whether no cancel-ok is sent.
    pub no_wait: bool,
}

/// basic.publish: a message for an exchange. A content follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publish<'a> {
    /// The exchange; empty for the default one.
    pub exchange: &'a [u8],
    /// The routing key; for the default exchange the queue.
    pub routing_key: &'a [u8],
    /// Whether the message is returned if it cannot be routed.
    pub mandatory: bool,
    /// Whether the message is returned if it cannot be delivered at once.
    pub immediate: bool,
}

/// basic.return: a message that comes back. A content follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Return<'a> {
    /// The reply code (AMQP 0-9-1 §1.2).
    pub reply_code: u16,
    /// A text for people.
    pub reply_text: &'a [u8],
    /// The exchange that it was published to.
    pub exchange: &'a [u8],
    /// The routing key that it was published with.
    pub routing_key: &'a [u8],
}

/// basic.deliver: a message for a consumer. A content follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deliver<'a> {
    /// The consumer's name.
    pub consumer_tag: ConsumerTag<'a>,
    /// The number of the delivery on its channel.
    pub delivery_tag: u64,
    /// Whether it was delivered before.
    pub redelivered: bool,
    /// The exchange that it was published to.
    pub exchange: &'a [u8],
    /// The routing key that it was published with.
    pub routing_key: &'a [u8],
}

/// basic.get: one message is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Get<'a> {
    /// The queue.
    pub queue: &'a [u8],
    /// Whether the message is not acknowledged.
    pub no_ack: bool,
}

/// basic.get-ok: the message that was asked for. A content follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetOk<'a> {
    /// The number of the delivery on its channel.
    pub delivery_tag: u64,
    /// Whether it was delivered before.
    pub redelivered: bool,
    /// The exchange that it was published to.
    pub exchange: &'a [u8],
    /// The routing key that it was published with.
    pub routing_key: &'a [u8],
    /// Messages that are left in the queue.
    pub message_count: u32,
}

/// basic.ack and basic.nack: what becomes of deliveries; with confirms, of publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The number of the delivery or of the publish.
    pub delivery_tag: u64,
    /// Whether all before it are meant too.
    pub multiple: bool,
}

impl Ack {
    /// The offset of the delivery tag from the first octet of the frame.
    pub const DELIVERY_TAG_AT: usize = 11;
}

/// basic.reject: what becomes of one delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The number of the delivery.
    pub delivery_tag: u64,
    /// Whether the message goes back to its queue.
    pub requeue: bool,
}

/// ```text
/// reserved: short | queue: shortstr | consumer-tag: shortstr | bits | arguments: table
///                       no-local 0, no-ack 1, exclusive 2, no-wait 3 (0-8 has none)
/// ```
pub(super) fn consume(input: &[u8]) -> Field<'_, Consume<'_>> {
    let (rest, _) = short(input)?;
    let (rest, queue) = shortstr(rest)?;
    let (rest, consumer_tag) = shortstr(rest)?;
    let (rest, bits) = octet(rest)?;
    let consume = Consume {
        queue,
        consumer_tag,
        no_ack: bits & 0b0010 != 0,
        no_wait: bits & 0b1000 != 0,
    };
    Ok((rest, consume))
}

/// ```text
/// consumer-tag: shortstr | no-wait: bit
/// ```
pub(super) fn cancel(input: &[u8]) -> Field<'_, Cancel<'_>> {
    let (rest, consumer_tag) = shortstr(input)?;
    let (rest, bits) = octet(rest)?;
    let cancel = Cancel {
        consumer_tag,
        no_wait: bits & 1 != 0,
    };
    Ok((rest, cancel))
}

/// ```text
/// reserved: short | exchange: shortstr | routing-key: shortstr | mandatory 0, immediate 1: bits
/// ```
#[inline]
pub(super) fn publish(input: &[u8]) -> Field<'_, Publish<'_>> {
    let (rest, _) = short(input)?;
    let (rest, exchange) = shortstr(rest)?;
    let (rest, routing_key) = shortstr(rest)?;
    let (rest, bits) = octet(rest)?;
    let publish = Publish {
        exchange,
        routing_key,
        mandatory: bits & 0b01 != 0,
        immediate: bits & 0b10 != 0,
    };
    Ok((rest, publish))
}

/// ```text
/// reply-code: short | reply-text: shortstr | exchange: shortstr | routing-key: shortstr
/// ```
pub(super) fn return_(input: &[u8]) -> Field<'_, Return<'_>> {
    let (rest, reply_code) = short(input)?;
    let (rest, reply_text) = shortstr(rest)?;
    let (rest, exchange) = shortstr(rest)?;
    let (rest, routing_key) = shortstr(rest)?;
    let returned = Return {
        reply_code,
        reply_text,
        exchange,
        routing_key,
    };
    Ok((rest, returned))
}

/// ```text
/// consumer-tag: shortstr | delivery-tag: longlong | redelivered: bit |
/// exchange: shortstr | routing-key: shortstr
/// ```
#[inline]
pub(super) fn deliver(input: &[u8]) -> Field<'_, Deliver<'_>> {
    let (rest, consumer_tag) = shortstr(input)?;
    let (rest, delivery_tag) = longlong(rest)?;
    let (rest, bits) = octet(rest)?;
    let (rest, exchange) = shortstr(rest)?;
    let (rest, routing_key) = shortstr(rest)?;
    let deliver = Deliver {
        consumer_tag,
        delivery_tag,
        redelivered: bits & 1 != 0,
        exchange,
        routing_key,
    };
    Ok((rest, deliver))
}

/// ```text
/// reserved: short | queue: shortstr | no-ack: bit
/// ```
pub(super) fn get(input: &[u8]) -> Field<'_, Get<'_>> {
    let (rest, _) = short(input)?;
    let (rest, queue) = shortstr(rest)?;
    let (rest, bits) = octet(rest)?;
    let get = Get {
        queue,
        no_ack: bits & 1 != 0,
    };
    Ok((rest, get))
}

/// ```text
/// delivery-tag: longlong | redelivered: bit | exchange: shortstr | routing-key: shortstr |
/// message-count: long
/// ```
pub(super) fn get_ok(input: &[u8]) -> Field<'_, GetOk<'_>> {
    let (rest, delivery_tag) = longlong(input)?;
    let (rest, bits) = octet(rest)?;
    let (rest, exchange) = shortstr(rest)?;
    let (rest, routing_key) = shortstr(rest)?;
    let (rest, message_count) = long(rest)?;
    let get_ok = GetOk {
        delivery_tag,
        redelivered: bits & 1 != 0,
        exchange,
        routing_key,
        message_count,
    };
    Ok((rest, get_ok))
}

/// ```text
/// delivery-tag: longlong | multiple 0 (nack: requeue 1): bits
/// ```
#[inline]
pub(super) fn ack(input: &[u8]) -> Field<'_, Ack> {
    let (rest, delivery_tag) = longlong(input)?;
    let (rest, bits) = octet(rest)?;
    let ack = Ack {
        delivery_tag,
        multiple: bits & 1 != 0,
    };
    Ok((rest, ack))
}

/// ```text
/// delivery-tag: longlong | requeue: bit
/// ```
pub(super) fn reject(input: &[u8]) -> Field<'_, Reject> {
    let (rest, delivery_tag) = longlong(input)?;
    let (rest, bits) = octet(rest)?;
    let reject = Reject {
        delivery_tag,
        requeue: bits & 1 != 0,
    };
    Ok((rest, reject))
}
