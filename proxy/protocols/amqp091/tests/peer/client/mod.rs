//! The strict client: what it sends.

mod receiving;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use parsers::Parsed;
use parsers::amqp091::{
    Channel, Consume, FrameHeader, Method, Publish, Version, encode, frame_header, method,
};

use super::super::words::*;
use super::assembler::Assembler;
use super::{Wire, body};

/// The client.
#[derive(Debug, Default)]
pub(in super::super::super) struct Client {
    pub(in super::super::super) wire: Wire,
    assembler: Assembler,
    channels: BTreeMap<u16, ClientChannel>,
    next_number: u32,
    /// All publishes, by number.
    pub(in super::super::super) sent: BTreeMap<u32, Sent>,
    /// What it was told about each.
    pub(in super::super::super) told: BTreeMap<u32, Vec<Fate>>,
    /// The deliveries that it has got, and the size of each.
    pub(in super::super::super) received: Vec<(u32, usize)>,
    /// The reply code of connection.close, once it was told.
    pub(in super::super::super) closed: Option<(u16, String)>,
    /// The reply codes of channel.close.
    pub(in super::super::super) channels_closed: Vec<(u16, String)>,
}

/// A publish.
#[derive(Clone, Debug)]
pub(in super::super::super) struct Sent {
    pub(in super::super::super) channel: u16,
    /// How often the channel had been opened then.
    pub(in super::super::super) life: u32,
    pub(in super::super::super) mode: ChannelMode,
    pub(in super::super::super) size: usize,
    pub(in super::super::super) mandatory: bool,
}

/// What a peer is told, or tells, about a publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super::super) enum Fate {
    Returned(u16),
    Nacked,
    Acked,
}

/// How publishes are sent on a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super::super) enum ChannelMode {
    #[default]
    Plain,
    Confirm,
    Tx,
}

/// What the client knows about a channel.
#[derive(Debug, Default)]
struct ClientChannel {
    is_open: bool,
    /// Whether it has asked for the end of it: what else it is sent then it discards.
    is_closing: bool,
    life: u32,
    mode: ChannelMode,
    /// Whether select-ok has come, or none was asked for.
    is_selected: bool,
    /// Answers that are due, in order.
    due: VecDeque<Due>,
    published: u64,
    /// Publishes that are not confirmed, by tag.
    outstanding: BTreeMap<u64, u32>,
    /// Consumers, and whether nothing is acknowledged.
    consumers: BTreeMap<String, bool>,
    last_delivery: u64,
    /// Deliveries that are not acknowledged.
    unacked: BTreeSet<u64>,
    /// Those that were acknowledged since the transaction began.
    in_tx: Vec<u64>,
}

/// An answer that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Due {
    Open,
    Select,
    Consume { tag: String, no_ack: bool },
    Cancel(String),
    Get { no_ack: bool },
    Tx(u16),
}

impl Client {
    /// A channel in use, and whether it may be used.
    fn usable(&mut self, channel: u16) -> Option<&mut ClientChannel> {
        let its = self.channels.entry(channel).or_default();
        (its.is_open && !its.is_closing).then_some(its)
    }

    /// Opens a channel that is not open, and selects its mode.
    pub(in super::super::super) fn open(&mut self, channel: u16, mode: ChannelMode, no_wait: bool) {
        let its = self.channels.entry(channel).or_default();
        if its.is_open {
            return;
        }
        *its = ClientChannel {
            is_open: true,
            life: its.life + 1,
            mode,
            is_selected: mode != ChannelMode::Confirm || no_wait,
            due: VecDeque::from([Due::Open]),
            ..ClientChannel::default()
        };
        let number = Channel(channel);
        self.wire.queue(channel, vec![channel_open(number)], None);
        match mode {
            ChannelMode::Plain => {}
            ChannelMode::Confirm => {
                if !no_wait {
                    its.due.push_back(Due::Select);
                }
                let select = confirm_select(number, no_wait);
                self.wire.queue(channel, vec![select], None);
            }
            ChannelMode::Tx => {
                its.due.push_back(Due::Tx(11));
                self.wire.queue(channel, vec![tx(number, 10)], None);
            }
        }
    }

    /// Asks for the end of a channel.
    pub(in super::super::super) fn close(&mut self, channel: u16) {
        if let Some(its) = self.usable(channel) {
            its.is_closing = true;
            let close = channel_close(Channel(channel), 200, "bye", (0, 0));
            self.wire.queue(channel, vec![close], None);
        }
    }

    /// Publishes a message with its body in so many frames.
    pub(in super::super::super) fn publish(
        &mut self,
        channel: u16,
        size: usize,
        mandatory: bool,
        pieces: usize,
    ) {
        let number = self.next_number;
        let Some(its) = self.usable(channel) else {
            return;
        };
        if its.mode == ChannelMode::Confirm {
            its.published += 1;
            its.outstanding.insert(its.published, number);
        }
        let sent = Sent {
            channel,
            life: its.life,
            mode: its.mode,
            size,
            mandatory,
        };
        self.sent.insert(number, sent);
        self.next_number += 1;
        let key = number.to_string();
        let publish = Publish {
            exchange: b"e",
            routing_key: key.as_bytes(),
            mandatory,
            immediate: false,
        };
        let method = written(|out| encode::basic_publish(out, Channel(channel), &publish));
        let frames = content(method, channel, &body(number, size), pieces);
        self.wire.queue(channel, frames, Some(number));
    }

    /// Begins a consumer, with a name of its own or without.
    pub(in super::super::super) fn consume(
        &mut self,
        channel: u16,
        tag: &str,
        no_ack: bool,
        no_wait: bool,
    ) {
        let no_wait = no_wait && !tag.is_empty();
        let Some(its) = self.usable(channel) else {
            return;
        };
        let due = its
            .due
            .iter()
            .any(|due| matches!(due, Due::Consume { tag: its, .. } if its == tag));
        if due && !tag.is_empty() || its.consumers.contains_key(tag) {
            return;
        }
        if no_wait {
            its.consumers.insert(tag.to_owned(), no_ack);
        } else {
            let tag = tag.to_owned();
            its.due.push_back(Due::Consume { tag, no_ack });
        }
        let consume = Consume {
            queue: b"q",
            consumer_tag: tag.as_bytes(),
            no_ack,
            no_wait,
        };
        let frame = written(|out| encode::basic_consume(out, Channel(channel), &consume));
        self.wire.queue(channel, vec![frame], None);
    }

    /// Ends the consumer with the lowest name.
    pub(in super::super::super) fn cancel(&mut self, channel: u16) {
        let Some(its) = self.usable(channel) else {
            return;
        };
        let due = &its.due;
        let tag = its
            .consumers
            .keys()
            .find(|tag| !due.contains(&Due::Cancel((*tag).clone())));
        let Some(tag) = tag.cloned() else {
            return;
        };
        its.due.push_back(Due::Cancel(tag.clone()));
        let frame = cancel(Channel(channel), &tag, false);
        self.wire.queue(channel, vec![frame], None);
    }

    /// Asks for one message.
    pub(in super::super::super) fn get(&mut self, channel: u16, no_ack: bool) {
        if let Some(its) = self.usable(channel) {
            its.due.push_back(Due::Get { no_ack });
            self.wire
                .queue(channel, vec![get(Channel(channel), no_ack)], None);
        }
    }

    /// Acknowledges a delivery, and with `multiple` those before it.
    pub(in super::super::super) fn acknowledge(
        &mut self,
        channel: u16,
        pick: usize,
        multiple: bool,
    ) {
        let Some(its) = self.usable(channel) else {
            return;
        };
        let Some(&tag) = its.unacked.iter().nth(pick % its.unacked.len().max(1)) else {
            return;
        };
        let acked: Vec<_> = match multiple {
            true => its.unacked.range(..=tag).copied().collect(),
            false => vec![tag],
        };
        its.unacked.retain(|tag| !acked.contains(tag));
        if its.mode == ChannelMode::Tx {
            its.in_tx.extend(acked);
        }
        self.wire
            .queue(channel, vec![ack(Channel(channel), tag, multiple)], None);
    }

    /// Commits a transaction, or rolls it back.
    pub(in super::super::super) fn end_tx(&mut self, channel: u16, commits: bool) {
        let Some(its) = self.usable(channel) else {
            return;
        };
        if its.mode != ChannelMode::Tx {
            return;
        }
        let number = if commits { 20 } else { 30 };
        let in_tx = std::mem::take(&mut its.in_tx);
        if !commits {
            its.unacked.extend(in_tx);
        }
        its.due.push_back(Due::Tx(number + 1));
        self.wire
            .queue(channel, vec![tx(Channel(channel), number)], None);
    }

    pub(in super::super::super) fn beat(&mut self) {
        self.wire.output.extend(heartbeat());
    }

    /// Takes what it is sent.
    pub(in super::super::super) fn receive(&mut self, octets: &[u8]) {
        for item in self.assembler.take(octets) {
            self.take(&item);
        }
    }

    /// Whether no frame and no content is half there.
    pub(in super::super::super) fn is_between_contents(&self) -> bool {
        self.assembler.is_between_contents()
    }

    /// Whether a channel has been the same since a publish.
    pub(in super::super::super) fn is_alive(&self, sent: &Sent) -> bool {
        let its = &self.channels[&sent.channel];
        its.is_open && !its.is_closing && its.life == sent.life
    }

    /// Answers that are due on channels that live.
    pub(in super::super::super) fn is_at_rest(&self) -> bool {
        self.channels
            .values()
            .filter(|its| its.is_open)
            .all(|its| its.due.is_empty() && !its.is_closing)
    }
}

/// The properties of a message: its number as a correlation-id.
pub(super) fn properties(number: u32) -> Vec<u8> {
    let number = number.to_string();
    [&[0x04, 0x00, number.len() as u8][..], number.as_bytes()].concat()
}

/// The frames of a content whose body is in so many pieces, of which some may be empty.
pub(super) fn content(method: Vec<u8>, channel: u16, body: &[u8], pieces: usize) -> Vec<Vec<u8>> {
    let number = method_number(&method);
    let channel = Channel(channel);
    let size = body.len() as u64;
    let header = written(|out| encode::content_header(out, channel, size, &properties(number)));
    let mut frames = vec![method, header];
    let each = body.len().div_ceil(pieces).max(1);
    for (at, piece) in body.chunks(each).enumerate() {
        if at % 3 == 1 {
            frames.push(frame(3, channel, b""));
        }
        frames.push(written(|out| encode::body(out, channel, piece)));
    }
    frames
}

/// The routing key of a method with a content.
fn method_number(frame: &[u8]) -> u32 {
    let key = match read(frame) {
        Method::BasicPublish(publish) => publish.routing_key,
        Method::BasicDeliver(deliver) => deliver.routing_key,
        Method::BasicGetOk(get_ok) => get_ok.routing_key,
        Method::BasicReturn(returned) => returned.routing_key,
        other => panic!("no content: {other:?}"),
    };
    String::from_utf8_lossy(key).parse().expect("a number")
}

/// The method in a frame.
pub(super) fn read(frame: &[u8]) -> Method<'_> {
    let header: FrameHeader = match frame_header(frame) {
        Ok(Parsed::Value(header)) => header,
        other => panic!("no frame: {other:?}"),
    };
    method(Version::V091, &header, frame).expect("a method")
}
