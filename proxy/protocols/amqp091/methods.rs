//! The methods of a channel, as far as they matter for its contents.

use parsers::amqp091::{Ack, Channel, Fault, FrameHeader, Method, MethodId, Reject, encode};

use super::arrival::ContentMethod;
use super::channel::{ChannelState, Content, Mode};
use super::confirms::Confirms;
use super::connection::{Connection, Layer};
use super::frames::fault;
use super::handshake::unexpected;
use super::walk::Halt;
use crate::gate::{Meter, Side};

impl Connection {
    /// A method on a channel, which is there as a whole at the front of the input.
    pub(super) fn channel_method(
        &mut self,
        from: Side,
        header: &FrameHeader,
        method: &Method<'_>,
        input: &[u8],
        meter: &mut Meter,
    ) -> Result<usize, Halt> {
        use Method as M;
        let (channel, len) = (header.channel, header.frame_len());
        if self.sides.of(from).layer < Layer::Opened {
            return Err(unexpected());
        }
        let state = self.channels.get(&channel);
        if state.is_some_and(|state| !matches!(state.contents.of(from), Content::None)) {
            // It stands within a content (AMQP 0-9-1 §4.2.6).
            return Err(unexpected());
        }
        match (from, method) {
            (Side::Client, M::ChannelOpen) => self.channel_open(channel)?,
            (_, M::ChannelClose(_)) => return self.channel_close(from, channel, len),
            (_, M::ChannelCloseOk) => return self.channel_close_ok(from, channel, len),
            (Side::Broker, M::ChannelOpenOk | M::ConfirmSelectOk) => self.answered(channel),
            (Side::Client, M::ConfirmSelect { no_wait }) => self.confirms(channel, *no_wait),
            (Side::Broker, M::BasicAck(ack) | M::BasicNack(ack)) => {
                return self.confirmed(channel, ack, input, len);
            }
            (Side::Client, M::TxSelect | M::TxCommit | M::TxRollback) => {
                self.transacts(channel, method);
            }
            (Side::Client, M::BasicPublish(publish)) => {
                let method = ContentMethod::Publish(*publish);
                return self.content_method(from, header, method, input, meter);
            }
            (Side::Broker, M::BasicDeliver(deliver)) => {
                let method = ContentMethod::Deliver(*deliver);
                return self.content_method(from, header, method, input, meter);
            }
            (Side::Broker, M::BasicGetOk(get_ok)) => {
                let method = ContentMethod::GetOk(*get_ok);
                return self.content_method(from, header, method, input, meter);
            }
            (Side::Broker, M::BasicReturn(_)) => {
                return self.content_method(from, header, ContentMethod::Return, input, meter);
            }
            (
                _,
                M::BasicPublish(_)
                | M::BasicDeliver(_)
                | M::BasicGetOk(_)
                | M::BasicReturn(_)
                | M::ChannelOpen
                | M::ChannelOpenOk,
            ) => return Err(unexpected()),
            (_, M::Other(MethodId { class: 10, .. })) => return Err(on_channel()),
            (
                _,
                M::ConnectionStart
                | M::ConnectionStartOk(_)
                | M::ConnectionSecure
                | M::ConnectionSecureOk
                | M::ConnectionTune(_)
                | M::ConnectionTuneOk(_)
                | M::ConnectionOpen(_)
                | M::ConnectionOpenOk
                | M::ConnectionClose(_)
                | M::ConnectionCloseOk,
            ) => return Err(on_channel()),
            _ if self.answers_broker => self.consumes(from, channel, method)?,
            _ => {}
        }
        Ok(len)
    }

    /// The broker has answered channel.open or confirm.select.
    fn answered(&mut self, channel: Channel) {
        if let Some(state) = self.channels.get_mut(&channel) {
            state.awaited = state.awaited.saturating_sub(1);
            self.unpark(Side::Client, channel);
        }
    }

    /// The client wants its publishes confirmed. Asked for again it changes nothing, and in a
    /// transaction it is the broker's to refuse.
    fn confirms(&mut self, channel: Channel, no_wait: bool) {
        if let Some(state) = self.channels.get_mut(&channel) {
            if matches!(state.mode, Mode::Plain) {
                state.mode = Mode::Confirm(Confirms::default());
            }
            state.awaited = state.awaited.saturating_add(u32::from(!no_wait));
        }
    }

    /// The broker has confirmed publishes; where they have other numbers for the client, it is told
    /// those.
    fn confirmed(
        &mut self,
        channel: Channel,
        ack: &Ack,
        input: &[u8],
        len: usize,
    ) -> Result<usize, Halt> {
        let Some(ChannelState {
            mode: Mode::Confirm(confirms),
            ..
        }) = self.channels.get_mut(&channel)
        else {
            return Ok(len);
        };
        let tag = confirms.confirm(ack.delivery_tag, ack.multiple);
        self.weigh(channel)?;
        if tag == ack.delivery_tag {
            return Ok(len);
        }
        let client = &mut self.sides.client;
        let (tag_at, start) = (Ack::DELIVERY_TAG_AT, client.words.len());
        client
            .words
            .extend_from_slice(input.get(..len).unwrap_or_default());
        client.released += len;
        let place = start + tag_at..start + tag_at + 8;
        if let Some(place) = client.words.get_mut(place) {
            place.copy_from_slice(&tag.to_be_bytes());
        }
        Err(Halt::Withhold(len))
    }

    /// The client begins or ends a transaction.
    ///
    /// A rollback also takes back what sizegate has rejected in the client's place, so that is done
    /// again.
    fn transacts(&mut self, channel: Channel, method: &Method<'_>) {
        let Some(state) = self.channels.get_mut(&channel) else {
            return;
        };
        match (&mut state.mode, method) {
            (Mode::Plain, Method::TxSelect) => {
                state.mode = Mode::Tx {
                    rejected: Vec::new(),
                }
            }
            (Mode::Tx { rejected }, Method::TxCommit) => rejected.clear(),
            (Mode::Tx { rejected }, Method::TxRollback) => {
                let mut again = Vec::new();
                for &delivery_tag in rejected.iter() {
                    let reject = Reject {
                        delivery_tag,
                        requeue: false,
                    };
                    encode::basic_reject(&mut again, channel, &reject);
                }
                self.say(Side::Broker, channel, &again);
            }
            _ => {}
        }
    }

    /// Takes note of what sizegate has rejected: where it is part of a transaction that may be undone.
    pub(super) fn has_rejected(&mut self, channel: Channel, delivery_tag: Option<u64>) {
        let state = self.channels.get_mut(&channel);
        if let Some(Mode::Tx { rejected }) = state.map(|state| &mut state.mode) {
            rejected.extend(delivery_tag);
        }
    }

    /// Takes note of who acknowledges what.
    fn consumes(&mut self, from: Side, channel: Channel, method: &Method<'_>) -> Result<(), Halt> {
        let Some(state) = self.channels.get_mut(&channel) else {
            return Ok(());
        };
        let consumers = &mut state.consumers;
        match (from, method) {
            (Side::Client, Method::BasicConsume(consume)) => consumers.consume(consume),
            (Side::Broker, Method::BasicConsumeOk(tag)) => consumers.consume_ok(tag),
            (Side::Client, Method::BasicCancel(cancel)) => consumers.cancel(cancel),
            (Side::Broker, Method::BasicCancelOk(consumer_tag)) => {
                consumers.cancel_ok(consumer_tag);
            }
            (Side::Broker, Method::BasicCancel(cancel)) => {
                consumers.cancel_ok(cancel.consumer_tag);
            }
            (Side::Client, Method::BasicGet(get)) => consumers.get(get),
            (Side::Broker, Method::BasicGetEmpty) => {
                consumers.got();
            }
            _ => return Ok(()),
        }
        self.weigh(channel)
    }
}

/// A method of the connection on a channel.
fn on_channel() -> Halt {
    fault(1, Fault::ConnectionMethodOnChannel)
}
