//! What the client is sent, and whether it may be.

use parsers::amqp091::{Channel, Method};

use super::super::assembler::Item;
use super::super::body;
use super::{Client, ClientChannel, Due, Fate, channel_close_ok, properties, read};

impl Client {
    pub(super) fn take(&mut self, item: &Item) {
        let text = || item.method.escape_ascii().to_string();
        let read = read(&item.method);
        if item.channel == 0 {
            let Method::ConnectionClose(close) = read else {
                panic!("the client is sent {}", text());
            };
            let reason = String::from_utf8_lossy(close.reply_text).into_owned();
            assert_eq!(self.closed, None, "one close");
            self.closed = Some((close.reply_code, reason));
            return;
        }
        assert_eq!(self.closed, None, "the client is sent {}", text());
        let its = self.channels.entry(item.channel).or_default();
        assert!(its.is_open, "the channel is not open: {}", text());
        match read {
            Method::ChannelClose(close) => {
                // One that has said the same still gets its answer.
                its.is_open = its.is_closing && !self.wire.is_waiting(item.channel);
                let reason = String::from_utf8_lossy(close.reply_text).into_owned();
                self.channels_closed.push((close.reply_code, reason));
                for number in self.wire.take_back(item.channel) {
                    self.sent.remove(&number);
                }
                let number = Channel(item.channel);
                self.wire
                    .queue(item.channel, vec![channel_close_ok(number)], None);
            }
            Method::ChannelCloseOk => {
                assert!(its.is_closing, "it has not closed the channel");
                its.is_open = false;
            }
            // It has closed the channel: it listens to nothing else.
            _ if its.is_closing => {}
            Method::ChannelOpenOk => its.is_due(&Due::Open),
            read => {
                assert_ne!(
                    its.due.front(),
                    Some(&Due::Open),
                    "before open-ok: {}",
                    text()
                );
                self.take_open(item, read);
            }
        }
    }

    fn take_open(&mut self, item: &Item, read: Method<'_>) {
        let its = self.channels.entry(item.channel).or_default();
        match read {
            Method::ConfirmSelectOk => {
                its.is_due(&Due::Select);
                its.is_selected = true;
            }
            Method::BasicAck(ack) => {
                self.confirmed(item, ack.delivery_tag, ack.multiple, Fate::Acked)
            }
            Method::BasicNack(ack) => {
                self.confirmed(item, ack.delivery_tag, ack.multiple, Fate::Nacked);
            }
            Method::BasicReturn(returned) => {
                let key = String::from_utf8_lossy(returned.routing_key);
                let number = key.parse().expect("a number");
                assert_eq!(returned.exchange, b"e");
                assert!(self.sent.contains_key(&number), "{number} was not sent");
                if returned.reply_code == 311 {
                    assert_eq!(item.body, b"");
                    assert_eq!(item.properties, properties(number));
                }
                let told = self.told.entry(number).or_default();
                told.push(Fate::Returned(returned.reply_code));
            }
            Method::BasicConsumeOk(tag) => {
                let tag = String::from_utf8_lossy(tag).into_owned();
                let Some(Due::Consume { tag: asked, no_ack }) = its.due.pop_front() else {
                    panic!("no consumer {tag} was asked for");
                };
                assert!(asked.is_empty() || asked == tag);
                its.consumers.insert(tag, no_ack);
            }
            Method::BasicCancelOk(tag) => {
                let tag = String::from_utf8_lossy(tag).into_owned();
                its.consumers.remove(&tag).expect("a consumer");
                its.is_due(&Due::Cancel(tag));
            }
            Method::BasicDeliver(deliver) => {
                let tag = String::from_utf8_lossy(deliver.consumer_tag).into_owned();
                let no_ack = *its.consumers.get(&tag).expect("a consumer of this name");
                its.delivered(deliver.delivery_tag, no_ack);
                self.got(deliver.routing_key, &item.body);
            }
            Method::BasicGetOk(get_ok) => {
                let Some(Due::Get { no_ack }) = its.due.pop_front() else {
                    panic!("nothing was asked for");
                };
                its.delivered(get_ok.delivery_tag, no_ack);
                self.got(get_ok.routing_key, &item.body);
            }
            Method::BasicGetEmpty => {
                let due = its.due.pop_front();
                assert!(
                    matches!(due, Some(Due::Get { .. })),
                    "nothing was asked for"
                );
            }
            Method::Other(id) => {
                assert_eq!(id.class, 90, "the client is sent {id:?}");
                its.is_due(&Due::Tx(id.method));
            }
            other => panic!("the client is sent {other:?}"),
        }
    }

    fn confirmed(&mut self, item: &Item, tag: u64, multiple: bool, fate: Fate) {
        let its = self.channels.entry(item.channel).or_default();
        assert!(its.is_selected, "a confirm before select-ok");
        let number = its.outstanding.remove(&tag);
        let number = number.unwrap_or_else(|| panic!("{tag} is not outstanding: {its:?}"));
        self.told.entry(number).or_default().push(fate);
        if multiple {
            let later = its.outstanding.split_off(&tag);
            for number in std::mem::replace(&mut its.outstanding, later).into_values() {
                self.told.entry(number).or_default().push(fate);
            }
        }
    }

    fn got(&mut self, routing_key: &[u8], octets: &[u8]) {
        let key = String::from_utf8_lossy(routing_key);
        let number = key.parse().expect("a number");
        assert_eq!(octets, body(number, octets.len()));
        self.received.push((number, octets.len()));
    }
}

impl ClientChannel {
    fn is_due(&mut self, due: &Due) {
        assert_eq!(self.due.pop_front().as_ref(), Some(due));
    }

    fn delivered(&mut self, tag: u64, no_ack: bool) {
        assert!(
            tag > self.last_delivery,
            "{tag} after {}",
            self.last_delivery
        );
        self.last_delivery = tag;
        if !no_ack {
            self.unacked.insert(tag);
        }
    }
}
