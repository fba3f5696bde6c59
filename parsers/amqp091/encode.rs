//! The frames that sizegate says itself, and those that its tests speak.
//!
//! All are appended whole. Short strings that are too long are cut, since they are texts for people.

use super::basic::{Ack, Cancel, Consume, Deliver, Get, GetOk, Publish, Reject, Return};
use super::connection::{Close, ConnectionOpen, StartOk, Tune};
use super::content_header::ContentHeader;
use super::frame_header::{Channel, FRAME_END, FrameHeader, FrameType};
use super::method::MethodId;
use super::protocol_header::Version;

/// Appends a heartbeat (AMQP 0-9-1 §4.2.7).
pub fn heartbeat(out: &mut Vec<u8>) {
    frame(out, FrameType::Heartbeat, Channel(0), |_| {});
}

/// Appends a content header with these property flags and properties, which are written as they are
/// (AMQP 0-9-1 §4.2.6.1).
pub fn content_header(out: &mut Vec<u8>, channel: Channel, body_size: u64, properties: &[u8]) {
    frame(out, FrameType::Header, channel, |out| {
        short(out, ContentHeader::CLASS);
        short(out, 0);
        out.extend_from_slice(&body_size.to_be_bytes());
        out.extend_from_slice(properties);
    });
}

/// Appends a body frame (AMQP 0-9-1 §4.2.6.2).
pub fn body(out: &mut Vec<u8>, channel: Channel, octets: &[u8]) {
    frame(out, FrameType::Body, channel, |out| {
        out.extend_from_slice(octets);
    });
}

/// Appends connection.start of AMQP 0-9 without server properties.
pub fn connection_start(out: &mut Vec<u8>, mechanisms: &str, locales: &str) {
    method(out, Channel(0), MethodId::of(10, 10), |out| {
        out.extend_from_slice(&[0, 9]);
        longstr(out, b"");
        longstr(out, mechanisms.as_bytes());
        longstr(out, locales.as_bytes());
    });
}

/// Appends connection.start-ok.
pub fn connection_start_ok(out: &mut Vec<u8>, start_ok: &StartOk<'_>) {
    method(out, Channel(0), MethodId::of(10, 11), |out| {
        longstr(out, start_ok.client_properties.0);
        shortstr(out, start_ok.mechanism);
        longstr(out, start_ok.response);
        shortstr(out, start_ok.locale);
    });
}

/// Appends connection.tune.
pub fn connection_tune(out: &mut Vec<u8>, tune: &Tune) {
    tuning(out, 30, tune);
}

/// Appends connection.tune-ok.
pub fn connection_tune_ok(out: &mut Vec<u8>, tune: &Tune) {
    tuning(out, 31, tune);
}

/// Appends connection.open.
pub fn connection_open(out: &mut Vec<u8>, open: &ConnectionOpen<'_>) {
    method(out, Channel(0), MethodId::of(10, 40), |out| {
        shortstr(out, open.virtual_host);
        shortstr(out, b"");
        out.push(0);
    });
}

/// Appends connection.open-ok.
pub fn connection_open_ok(out: &mut Vec<u8>) {
    method(out, Channel(0), MethodId::of(10, 41), |out| {
        shortstr(out, b"");
    });
}

/// Appends connection.close.
pub fn connection_close(out: &mut Vec<u8>, version: Version, close: &Close<'_>) {
    closing(out, Channel(0), MethodId::connection_close(version), close);
}

/// Appends connection.close-ok.
pub fn connection_close_ok(out: &mut Vec<u8>, version: Version) {
    plain(out, Channel(0), MethodId::connection_close_ok(version));
}

/// Appends channel.open.
pub fn channel_open(out: &mut Vec<u8>, channel: Channel) {
    method(out, channel, MethodId::of(20, 10), |out| shortstr(out, b""));
}

/// Appends channel.open-ok.
pub fn channel_open_ok(out: &mut Vec<u8>, channel: Channel) {
    method(out, channel, MethodId::of(20, 11), |out| longstr(out, b""));
}

/// Appends channel.close.
pub fn channel_close(out: &mut Vec<u8>, channel: Channel, close: &Close<'_>) {
    closing(out, channel, MethodId::of(20, 40), close);
}

/// Appends channel.close-ok.
pub fn channel_close_ok(out: &mut Vec<u8>, channel: Channel) {
    plain(out, channel, MethodId::of(20, 41));
}

/// Appends basic.consume without arguments.
pub fn basic_consume(out: &mut Vec<u8>, channel: Channel, consume: &Consume<'_>) {
    method(out, channel, MethodId::of(60, 20), |out| {
        short(out, 0);
        shortstr(out, consume.queue);
        shortstr(out, consume.consumer_tag);
        out.push(u8::from(consume.no_ack) << 1 | u8::from(consume.no_wait) << 3);
        longstr(out, b"");
    });
}

/// Appends basic.consume-ok.
pub fn basic_consume_ok(out: &mut Vec<u8>, channel: Channel, consumer_tag: &[u8]) {
    method(out, channel, MethodId::of(60, 21), |out| {
        shortstr(out, consumer_tag);
    });
}

/// Appends basic.cancel.
pub fn basic_cancel(out: &mut Vec<u8>, channel: Channel, cancel: &Cancel<'_>) {
    method(out, channel, MethodId::of(60, 30), |out| {
        shortstr(out, cancel.consumer_tag);
        out.push(cancel.no_wait.into());
    });
}

/// Appends basic.cancel-ok.
pub fn basic_cancel_ok(out: &mut Vec<u8>, channel: Channel, consumer_tag: &[u8]) {
    method(out, channel, MethodId::of(60, 31), |out| {
        shortstr(out, consumer_tag);
    });
}

/// Appends basic.publish; a content follows.
pub fn basic_publish(out: &mut Vec<u8>, channel: Channel, publish: &Publish<'_>) {
    method(out, channel, MethodId::BASIC_PUBLISH, |out| {
        short(out, 0);
        shortstr(out, publish.exchange);
        shortstr(out, publish.routing_key);
        out.push(u8::from(publish.mandatory) | u8::from(publish.immediate) << 1);
    });
}

/// Appends basic.return; a content follows.
pub fn basic_return(out: &mut Vec<u8>, channel: Channel, returned: &Return<'_>) {
    method(out, channel, MethodId::BASIC_RETURN, |out| {
        short(out, returned.reply_code);
        shortstr(out, returned.reply_text);
        shortstr(out, returned.exchange);
        shortstr(out, returned.routing_key);
    });
}

/// Appends basic.deliver; a content follows.
pub fn basic_deliver(out: &mut Vec<u8>, channel: Channel, deliver: &Deliver<'_>) {
    method(out, channel, MethodId::BASIC_DELIVER, |out| {
        shortstr(out, deliver.consumer_tag);
        longlong(out, deliver.delivery_tag);
        out.push(deliver.redelivered.into());
        shortstr(out, deliver.exchange);
        shortstr(out, deliver.routing_key);
    });
}

/// Appends basic.get.
pub fn basic_get(out: &mut Vec<u8>, channel: Channel, get: &Get<'_>) {
    method(out, channel, MethodId::of(60, 70), |out| {
        short(out, 0);
        shortstr(out, get.queue);
        out.push(get.no_ack.into());
    });
}

/// Appends basic.get-ok; a content follows.
pub fn basic_get_ok(out: &mut Vec<u8>, channel: Channel, get_ok: &GetOk<'_>) {
    method(out, channel, MethodId::BASIC_GET_OK, |out| {
        longlong(out, get_ok.delivery_tag);
        out.push(get_ok.redelivered.into());
        shortstr(out, get_ok.exchange);
        shortstr(out, get_ok.routing_key);
        out.extend_from_slice(&get_ok.message_count.to_be_bytes());
    });
}

/// Appends basic.get-empty.
pub fn basic_get_empty(out: &mut Vec<u8>, channel: Channel) {
    method(out, channel, MethodId::of(60, 72), |out| shortstr(out, b""));
}

/// Appends basic.ack.
pub fn basic_ack(out: &mut Vec<u8>, channel: Channel, ack: &Ack) {
    acknowledgement(out, channel, 80, ack);
}

/// Appends basic.nack, with requeue off.
pub fn basic_nack(out: &mut Vec<u8>, channel: Channel, nack: &Ack) {
    acknowledgement(out, channel, 120, nack);
}

/// Appends basic.reject.
pub fn basic_reject(out: &mut Vec<u8>, channel: Channel, reject: &Reject) {
    method(out, channel, MethodId::of(60, 90), |out| {
        longlong(out, reject.delivery_tag);
        out.push(reject.requeue.into());
    });
}

/// Appends confirm.select.
pub fn confirm_select(out: &mut Vec<u8>, channel: Channel, no_wait: bool) {
    method(out, channel, MethodId::of(85, 10), |out| {
        out.push(no_wait.into());
    });
}

/// Appends confirm.select-ok.
pub fn confirm_select_ok(out: &mut Vec<u8>, channel: Channel) {
    plain(out, channel, MethodId::of(85, 11));
}

/// Appends a method that has no arguments.
pub fn plain(out: &mut Vec<u8>, channel: Channel, id: MethodId) {
    method(out, channel, id, |_| {});
}

fn tuning(out: &mut Vec<u8>, number: u16, tune: &Tune) {
    method(out, Channel(0), MethodId::of(10, number), |out| {
        short(out, tune.channel_max);
        out.extend_from_slice(&tune.frame_max.to_be_bytes());
        short(out, tune.heartbeat);
    });
}

fn closing(out: &mut Vec<u8>, channel: Channel, id: MethodId, close: &Close<'_>) {
    method(out, channel, id, |out| {
        short(out, close.reply_code);
        shortstr(out, close.reply_text);
        short(out, close.failed.0);
        short(out, close.failed.1);
    });
}

fn acknowledgement(out: &mut Vec<u8>, channel: Channel, number: u16, ack: &Ack) {
    method(out, channel, MethodId::of(60, number), |out| {
        longlong(out, ack.delivery_tag);
        out.push(ack.multiple.into());
    });
}

fn method(out: &mut Vec<u8>, channel: Channel, id: MethodId, arguments: impl FnOnce(&mut Vec<u8>)) {
    frame(out, FrameType::Method, channel, |out| {
        short(out, id.class);
        short(out, id.method);
        arguments(out);
    });
}

/// Appends a frame with the payload that `payload` appends.
fn frame(
    out: &mut Vec<u8>,
    frame_type: FrameType,
    channel: Channel,
    payload: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    let mut header = FrameHeader {
        frame_type,
        channel,
        size: 0,
    };
    out.extend_from_slice(&header.octets());
    payload(out);
    header.size = (out.len() - start - FrameHeader::LEN) as u32;
    if let Some(place) = out.get_mut(start..start + FrameHeader::LEN) {
        place.copy_from_slice(&header.octets());
    }
    out.push(FRAME_END);
}

fn short(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn longlong(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_be_bytes());
}

fn shortstr(out: &mut Vec<u8>, octets: &[u8]) {
    let octets = octets.get(..usize::from(u8::MAX)).unwrap_or(octets);
    out.push(octets.len() as u8);
    out.extend_from_slice(octets);
}

fn longstr(out: &mut Vec<u8>, octets: &[u8]) {
    out.extend_from_slice(&(octets.len() as u32).to_be_bytes());
    out.extend_from_slice(octets);
}
