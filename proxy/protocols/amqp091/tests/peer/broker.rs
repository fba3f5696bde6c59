//! The strict broker.

use std::collections::{BTreeMap, VecDeque};

use parsers::amqp091::{Channel, Deliver, GetOk, Method, Return, encode};

use super::super::words::*;
use super::assembler::{Assembler, Item};
use super::client::{ChannelMode, Fate, content, read};
use super::{Wire, body};

/// The broker.
#[derive(Debug, Default)]
pub(in super::super) struct Broker {
    pub(in super::super) wire: Wire,
    assembler: Assembler,
    channels: BTreeMap<u16, BrokerChannel>,
    /// The publishes that it has got, in order: channel, number, size.
    pub(in super::super) received: Vec<(u16, u32, usize)>,
    /// What it has told about each.
    pub(in super::super) told: BTreeMap<u32, Vec<Fate>>,
    /// All deliveries, by number.
    pub(in super::super) delivered: BTreeMap<u32, Delivered>,
    /// The deliveries that were rejected.
    pub(in super::super) rejected: Vec<u32>,
    /// Messages that basic.get finds; none is an empty queue. Its size and the pieces of its body.
    pub(in super::super) ready: VecDeque<(usize, usize)>,
    /// The reply code of connection.close, once it was told.
    pub(in super::super) closed: Option<(u16, String)>,
    names: u32,
    next_number: u32,
}

/// A delivery.
#[derive(Clone, Debug)]
pub(in super::super) struct Delivered {
    pub(in super::super) channel: u16,
    /// How often the channel had been opened then.
    pub(in super::super) life: u32,
    pub(in super::super) size: usize,
    pub(in super::super) no_ack: bool,
}

#[derive(Debug, Default)]
struct BrokerChannel {
    is_open: bool,
    /// Whether it has asked for the end of it.
    is_closing: bool,
    life: u32,
    mode: ChannelMode,
    published: u64,
    /// Publishes that are not confirmed, by tag.
    unconfirmed: BTreeMap<u64, u32>,
    consumers: Vec<(String, bool)>,
    delivery_tag: u64,
    /// Deliveries that are not acknowledged.
    unacked: BTreeMap<u64, u32>,
    /// Those that were, since the transaction began, and whether by a rejection.
    in_tx: Vec<(u64, u32, bool)>,
}

impl Broker {
    fn usable(&mut self, channel: u16) -> Option<&mut BrokerChannel> {
        let its = self.channels.entry(channel).or_default();
        (its.is_open && !its.is_closing).then_some(its)
    }

    /// Confirms a publish, and with `multiple` all before it.
    pub(in super::super) fn confirm(
        &mut self,
        channel: u16,
        pick: usize,
        multiple: bool,
        nacks: bool,
    ) {
        let Some(its) = self.usable(channel) else {
            return;
        };
        let count = its.unconfirmed.len().max(1);
        let Some((&tag, _)) = its.unconfirmed.iter().nth(pick % count) else {
            return;
        };
        let mut numbers = vec![its.unconfirmed.remove(&tag).expect("it is there")];
        if multiple {
            let later = its.unconfirmed.split_off(&tag);
            numbers.extend(std::mem::replace(&mut its.unconfirmed, later).into_values());
        }
        let (frame, fate) = match nacks {
            true => (nack(Channel(channel), tag, multiple), Fate::Nacked),
            false => (ack(Channel(channel), tag, multiple), Fate::Acked),
        };
        for number in numbers {
            self.told.entry(number).or_default().push(fate);
        }
        self.wire.queue(channel, vec![frame], None);
    }

    /// Confirms all publishes.
    pub(in super::super) fn confirm_all(&mut self) {
        let channels: Vec<_> = self.channels.keys().copied().collect();
        for channel in channels {
            self.confirm(channel, usize::MAX, false, false);
            while self
                .usable(channel)
                .is_some_and(|its| !its.unconfirmed.is_empty())
            {
                self.confirm(channel, 0, false, false);
            }
        }
    }

    /// Delivers a message to a consumer.
    pub(in super::super) fn deliver(
        &mut self,
        channel: u16,
        pick: usize,
        size: usize,
        pieces: usize,
    ) {
        let number = self.next_number;
        let Some(its) = self.usable(channel) else {
            return;
        };
        let count = its.consumers.len().max(1);
        let Some((tag, no_ack)) = its.consumers.get(pick % count).cloned() else {
            return;
        };
        let delivery_tag = its.delivery(number, no_ack);
        let key = number.to_string();
        let deliver = Deliver {
            consumer_tag: tag.as_bytes(),
            delivery_tag,
            redelivered: false,
            exchange: b"e",
            routing_key: key.as_bytes(),
        };
        let method = written(|out| encode::basic_deliver(out, Channel(channel), &deliver));
        let delivered = Delivered {
            channel,
            life: its.life,
            size,
            no_ack,
        };
        self.delivered.insert(number, delivered);
        self.next_number += 1;
        let frames = content(method, channel, &body(number, size), pieces);
        self.wire.queue(channel, frames, Some(number));
    }

    /// Asks for the end of a channel.
    pub(in super::super) fn close(&mut self, channel: u16) {
        if let Some(its) = self.usable(channel) {
            its.is_closing = true;
            let close = channel_close(Channel(channel), 404, "NOT_FOUND", (0, 0));
            self.wire.queue(channel, vec![close], None);
        }
    }

    pub(in super::super) fn beat(&mut self) {
        self.wire.output.extend(heartbeat());
    }

    /// Takes what it is sent.
    pub(in super::super) fn receive(&mut self, octets: &[u8]) {
        for item in self.assembler.take(octets) {
            self.take(&item);
        }
    }

    /// Whether no frame and no content is half there.
    pub(in super::super) fn is_between_contents(&self) -> bool {
        self.assembler.is_between_contents()
    }

    /// Whether a channel has been the same since a delivery.
    pub(in super::super) fn is_alive(&self, delivered: &Delivered) -> bool {
        let its = &self.channels[&delivered.channel];
        its.is_open && !its.is_closing && its.life == delivered.life
    }

    fn take(&mut self, item: &Item) {
        let text = || item.method.escape_ascii().to_string();
        let channel = item.channel;
        let read = read(&item.method);
        if channel == 0 {
            let Method::ConnectionClose(close) = read else {
                panic!("the broker is sent {}", text());
            };
            let reason = String::from_utf8_lossy(close.reply_text).into_owned();
            assert_eq!(self.closed, None, "one close");
            self.closed = Some((close.reply_code, reason));
            return;
        }
        assert_eq!(self.closed, None, "the broker is sent {}", text());
        let its = self.channels.entry(channel).or_default();
        match read {
            Method::ChannelOpen => {
                assert!(!its.is_open, "second 'channel.open' seen");
                *its = BrokerChannel {
                    is_open: true,
                    life: its.life + 1,
                    ..BrokerChannel::default()
                };
                self.says(channel, channel_open_ok(Channel(channel)));
                return;
            }
            _ => assert!(its.is_open, "the channel is not open: {}", text()),
        }
        match read {
            Method::ChannelClose(_) => {
                // RabbitMQ answers also if it has closed the channel itself, and waits for that answer.
                its.is_open = its.is_closing && !self.wire.is_waiting(channel);
                if !its.is_open {
                    for number in self.wire.take_back(channel) {
                        self.delivered.remove(&number);
                    }
                }
                self.says(channel, channel_close_ok(Channel(channel)));
            }
            Method::ChannelCloseOk => {
                assert!(its.is_closing, "it has not closed the channel");
                its.is_open = false;
            }
            _ if its.is_closing => {}
            read => self.take_open(item, read),
        }
    }

    fn says(&mut self, channel: u16, frame: Vec<u8>) {
        self.wire.queue(channel, vec![frame], None);
    }

    fn take_open(&mut self, item: &Item, read: Method<'_>) {
        let (channel, number) = (item.channel, Channel(item.channel));
        let its = self.channels.entry(channel).or_default();
        match read {
            Method::ConfirmSelect { no_wait } => {
                its.mode = ChannelMode::Confirm;
                if !no_wait {
                    self.says(channel, confirm_select_ok(number));
                }
            }
            Method::TxSelect => {
                its.mode = ChannelMode::Tx;
                self.says(channel, tx(number, 11));
            }
            Method::TxCommit => {
                let done = std::mem::take(&mut its.in_tx);
                let rejected = done.into_iter().filter(|(_, _, rejects)| *rejects);
                self.rejected.extend(rejected.map(|(_, number, _)| number));
                self.says(channel, tx(number, 21));
            }
            Method::TxRollback => {
                let undone = std::mem::take(&mut its.in_tx).into_iter();
                its.unacked
                    .extend(undone.map(|(tag, number, _)| (tag, number)));
                self.says(channel, tx(number, 31));
            }
            Method::BasicPublish(publish) => {
                let key = String::from_utf8_lossy(publish.routing_key);
                let number = key.parse().expect("a number");
                self.published(item, number, publish.mandatory);
            }
            Method::BasicConsume(consume) => {
                let mut tag = String::from_utf8_lossy(consume.consumer_tag).into_owned();
                if tag.is_empty() {
                    self.names += 1;
                    tag = format!("amq.ctag-{}", self.names);
                }
                its.consumers.push((tag.clone(), consume.no_ack));
                if !consume.no_wait {
                    self.says(channel, consume_ok(number, &tag));
                }
            }
            Method::BasicCancel(cancel) => {
                let tag = String::from_utf8_lossy(cancel.consumer_tag).into_owned();
                its.consumers.retain(|(its, _)| *its != tag);
                self.says(channel, cancel_ok(number, &tag));
            }
            Method::BasicGet(get) => self.get(channel, get.no_ack),
            Method::BasicAck(ack) => {
                let acked = its.acknowledged(ack.delivery_tag, ack.multiple);
                if its.mode == ChannelMode::Tx {
                    its.in_tx
                        .extend(acked.into_iter().map(|(tag, number)| (tag, number, false)));
                }
            }
            Method::BasicReject(reject) => {
                assert!(!reject.requeue, "it would come again");
                let rejected = its.acknowledged(reject.delivery_tag, false);
                if its.mode == ChannelMode::Tx {
                    its.in_tx.extend(
                        rejected
                            .into_iter()
                            .map(|(tag, number)| (tag, number, true)),
                    );
                } else {
                    self.rejected
                        .extend(rejected.into_iter().map(|(_, number)| number));
                }
            }
            other => panic!("the broker is sent {other:?}"),
        }
    }

    fn published(&mut self, item: &Item, number: u32, mandatory: bool) {
        assert_eq!(item.body, body(number, item.body.len()));
        self.received.push((item.channel, number, item.body.len()));
        let its = self.channels.entry(item.channel).or_default();
        if its.mode == ChannelMode::Confirm {
            its.published += 1;
            its.unconfirmed.insert(its.published, number);
        }
        // Some cannot be routed.
        if mandatory && number.is_multiple_of(3) {
            let key = number.to_string();
            let returned = Return {
                reply_code: 312,
                reply_text: b"NO_ROUTE",
                exchange: b"e",
                routing_key: key.as_bytes(),
            };
            let channel = Channel(item.channel);
            let method = written(|out| encode::basic_return(out, channel, &returned));
            let frames = content(method, item.channel, &item.body, 2);
            self.wire.queue(item.channel, frames, None);
            self.told
                .entry(number)
                .or_default()
                .push(Fate::Returned(312));
        }
    }

    fn get(&mut self, channel: u16, no_ack: bool) {
        let Some((size, pieces)) = self.ready.pop_front() else {
            self.says(channel, get_empty(Channel(channel)));
            return;
        };
        let number = self.next_number;
        let its = self.channels.entry(channel).or_default();
        let key = number.to_string();
        let get_ok = GetOk {
            delivery_tag: its.delivery(number, no_ack),
            redelivered: false,
            exchange: b"e",
            routing_key: key.as_bytes(),
            message_count: self.ready.len() as u32,
        };
        let delivered = Delivered {
            channel,
            life: its.life,
            size,
            no_ack,
        };
        self.delivered.insert(number, delivered);
        self.next_number += 1;
        let method = written(|out| encode::basic_get_ok(out, Channel(channel), &get_ok));
        let frames = content(method, channel, &body(number, size), pieces);
        self.wire.queue(channel, frames, Some(number));
    }
}

impl BrokerChannel {
    /// The tag of a new delivery.
    fn delivery(&mut self, number: u32, no_ack: bool) -> u64 {
        self.delivery_tag += 1;
        if !no_ack {
            self.unacked.insert(self.delivery_tag, number);
        }
        self.delivery_tag
    }

    /// What an acknowledgement is for; one that is for nothing costs the channel.
    fn acknowledged(&mut self, tag: u64, multiple: bool) -> Vec<(u64, u32)> {
        let number = self.unacked.remove(&tag);
        let number = number.unwrap_or_else(|| panic!("unknown delivery tag {tag}: {self:?}"));
        let mut all = vec![(tag, number)];
        if multiple {
            let later = self.unacked.split_off(&tag);
            all.extend(std::mem::replace(&mut self.unacked, later));
        }
        all
    }
}
