//! The frames that sizegate says itself, and those that its tests and its demo speak.
//!
//! All are appended whole, with values in their shortest form and nulls at the end left out.

use super::attach::{Attach, Detach, ReceiverSettleMode, Role, SenderSettleMode};
use super::connection::{Begin, Close, End, Open};
use super::disposition::Disposition;
use super::error::AmqpError;
use super::flow::Flow;
use super::frame_header::{Channel, FrameHeader, FrameType, Handle};
use super::list::ListWriter;
pub use super::scalar::{binary, boolean, null, string, symbol, ubyte, uint, ulong, ushort};
pub use super::state::state;
use super::transfer::Transfer;

/// Appends an empty frame, a heartbeat (AMQP 1.0 §2.4.5).
pub fn empty_frame(out: &mut Vec<u8>) {
    let header = FrameHeader {
        size: 8,
        doff: 2,
        frame_type: FrameType::Amqp,
        channel: Channel(0),
    };
    out.extend_from_slice(&header.octets());
}

/// Appends an open, on channel 0 (AMQP 1.0 §2.7.1).
pub fn open(out: &mut Vec<u8>, open: &Open<'_>) {
    amqp(out, Channel(0), 0x10, |list| {
        list.field(|out| string(out, open.container_id))
            .field(|out| optional_string(out, open.hostname))
            .value(other_than(u32::MAX, open.max_frame_size).map(uint))
            .value(other_than(u16::MAX, open.channel_max.0).map(ushort))
            .value(open.idle_time_out.map(uint));
    });
}

/// Appends a begin (AMQP 1.0 §2.7.2).
pub fn begin(out: &mut Vec<u8>, channel: Channel, begin: &Begin) {
    amqp(out, channel, 0x11, |list| {
        list.value(begin.remote_channel.map(|channel| ushort(channel.0)))
            .value(Some(uint(begin.next_outgoing_id)))
            .value(Some(uint(begin.incoming_window)))
            .value(Some(uint(begin.outgoing_window)))
            .value(other_than(u32::MAX, begin.handle_max.0).map(uint));
    });
}

/// Appends an attach (AMQP 1.0 §2.7.3). A map of unsettled deliveries is not written, nor is a
/// terminus of a kind that is not known.
pub fn attach(out: &mut Vec<u8>, channel: Channel, attach: &Attach<'_>) {
    let snd_settle_mode = other_than(SenderSettleMode::Mixed, attach.snd_settle_mode);
    let rcv_settle_mode = other_than(ReceiverSettleMode::First, attach.rcv_settle_mode);
    amqp(out, channel, 0x12, |list| {
        list.field(|out| string(out, attach.name))
            .value(Some(uint(attach.handle.0)))
            .value(Some(boolean(attach.role == Role::Receiver)))
            .value(snd_settle_mode.map(|mode| ubyte(mode as u8)))
            .value(rcv_settle_mode.map(|mode| ubyte(mode as u8)))
            .field(|out| attach.source.write(out, 0x28))
            .field(|out| attach.target.write(out, 0x29))
            .null() // unsettled
            .null() // incomplete-unsettled
            .value(attach.initial_delivery_count.map(uint))
            .value(attach.max_message_size.map(ulong));
    });
}

/// Appends a flow (AMQP 1.0 §2.7.4).
pub fn flow(out: &mut Vec<u8>, channel: Channel, flow: &Flow) {
    amqp(out, channel, 0x13, |list| {
        list.value(flow.next_incoming_id.map(uint))
            .value(Some(uint(flow.incoming_window)))
            .value(Some(uint(flow.next_outgoing_id)))
            .value(Some(uint(flow.outgoing_window)))
            .value(flow.handle.map(|Handle(handle)| uint(handle)))
            .value(flow.delivery_count.map(uint))
            .value(flow.link_credit.map(uint))
            .value(flow.available.map(uint))
            .value(if_true(flow.drain))
            .value(if_true(flow.echo));
    });
}

/// Appends a transfer with its payload (AMQP 1.0 §2.7.5); `payload_at` is not looked at.
pub fn transfer(out: &mut Vec<u8>, channel: Channel, transfer: &Transfer<'_>, payload: &[u8]) {
    let at = out.len();
    amqp(out, channel, 0x14, |list| {
        list.value(Some(uint(transfer.handle.0)))
            .value(transfer.delivery_id.map(uint))
            .field(|out| optional_binary(out, transfer.delivery_tag))
            .value(transfer.message_format.map(uint))
            .value(transfer.settled.map(boolean))
            .value(if_true(transfer.more))
            .value(transfer.rcv_settle_mode.map(|mode| ubyte(mode as u8)))
            .value(transfer.state)
            .value(if_true(transfer.resume))
            .value(if_true(transfer.aborted))
            .value(if_true(transfer.batchable));
    });
    out.extend_from_slice(payload);
    write_size(out, at);
}

/// Appends a disposition (AMQP 1.0 §2.7.6).
pub fn disposition(out: &mut Vec<u8>, channel: Channel, disposition: &Disposition<'_>) {
    amqp(out, channel, 0x15, |list| {
        list.value(Some(boolean(disposition.role == Role::Receiver)))
            .value(Some(uint(disposition.first)))
            .value(disposition.last.map(uint))
            .value(if_true(disposition.settled))
            .value(disposition.state)
            .value(if_true(disposition.batchable));
    });
}

/// Appends a detach (AMQP 1.0 §2.7.7).
pub fn detach(out: &mut Vec<u8>, channel: Channel, detach: &Detach<'_>) {
    amqp(out, channel, 0x16, |list| {
        list.value(Some(uint(detach.handle.0)))
            .value(if_true(detach.closed))
            .field(|out| optional_error(out, detach.error.as_ref()));
    });
}

/// Appends an end (AMQP 1.0 §2.7.8).
pub fn end(out: &mut Vec<u8>, channel: Channel, end: &End<'_>) {
    amqp(out, channel, 0x17, |list| {
        list.field(|out| optional_error(out, end.error.as_ref()));
    });
}

/// Appends a close, on channel 0 (AMQP 1.0 §2.7.9).
pub fn close(out: &mut Vec<u8>, close: &Close<'_>) {
    amqp(out, Channel(0), 0x18, |list| {
        list.field(|out| optional_error(out, close.error.as_ref()));
    });
}

/// Appends a sasl-mechanisms with one mechanism (AMQP 1.0 §5.3.3.1).
pub fn sasl_mechanisms(out: &mut Vec<u8>, mechanism: &str) {
    frame(out, FrameType::Sasl, Channel(0), 0x40, |list| {
        list.field(|out| symbol(out, mechanism));
    });
}

/// Appends a sasl-init (AMQP 1.0 §5.3.3.2).
pub fn sasl_init(
    out: &mut Vec<u8>,
    mechanism: &str,
    initial_response: Option<&[u8]>,
    hostname: Option<&str>,
) {
    frame(out, FrameType::Sasl, Channel(0), 0x41, |list| {
        list.field(|out| symbol(out, mechanism))
            .field(|out| optional_binary(out, initial_response))
            .field(|out| optional_string(out, hostname));
    });
}

/// Appends a sasl-challenge (AMQP 1.0 §5.3.3.3).
pub fn sasl_challenge(out: &mut Vec<u8>, challenge: &[u8]) {
    frame(out, FrameType::Sasl, Channel(0), 0x42, |list| {
        list.field(|out| binary(out, challenge));
    });
}

/// Appends a sasl-response (AMQP 1.0 §5.3.3.4).
pub fn sasl_response(out: &mut Vec<u8>, response: &[u8]) {
    frame(out, FrameType::Sasl, Channel(0), 0x43, |list| {
        list.field(|out| binary(out, response));
    });
}

/// Appends a sasl-outcome (AMQP 1.0 §5.3.3.5).
pub fn sasl_outcome(out: &mut Vec<u8>, code: u8) {
    frame(out, FrameType::Sasl, Channel(0), 0x44, |list| {
        list.value(Some(ubyte(code)));
    });
}

fn amqp(out: &mut Vec<u8>, channel: Channel, code: u8, fields: impl FnOnce(&mut ListWriter<'_>)) {
    frame(out, FrameType::Amqp, channel, code, fields);
}

fn frame(
    out: &mut Vec<u8>,
    frame_type: FrameType,
    channel: Channel,
    code: u8,
    fields: impl FnOnce(&mut ListWriter<'_>),
) {
    let at = out.len();
    let header = FrameHeader {
        size: 0,
        doff: 2,
        frame_type,
        channel,
    };
    out.extend_from_slice(&header.octets());
    ListWriter::described(out, code, fields);
    write_size(out, at);
}

/// Writes the SIZE of the frame that reaches from `at` to the end.
fn write_size(out: &mut [u8], at: usize) {
    let size = (out.len() - at) as u32;
    if let Some(field) = out.get_mut(at..at + 4) {
        field.copy_from_slice(&size.to_be_bytes());
    }
}

fn optional_string(out: &mut Vec<u8>, text: Option<&str>) {
    if let Some(text) = text {
        string(out, text);
    }
}

fn optional_binary(out: &mut Vec<u8>, octets: Option<&[u8]>) {
    if let Some(octets) = octets {
        binary(out, octets);
    }
}

fn optional_error(out: &mut Vec<u8>, error: Option<&AmqpError<'_>>) {
    if let Some(error) = error {
        error.write(out);
    }
}

/// A value that is left out where it is the one that left out means.
fn other_than<T: Copy + PartialEq>(default: T, value: T) -> Option<T> {
    (value != default).then_some(value)
}

/// A boolean whose default is false.
fn if_true(value: bool) -> Option<super::scalar::Scalar> {
    other_than(false, value).map(boolean)
}
