//! How channels begin and end: by the peers' wish, or over a message.
//!
//! A channel that a message ends is closed towards the broker first, and its close-ok awaited, before
//! the client hears of it. Otherwise a client could open the number again before the broker has
//! given it free, which costs it the connection. Until then the broker's frames go on to the client:
//! what it confirms is confirmed.

use parsers::amqp091::{Channel, Close, Method, encode};

use super::PerSide;
use super::channel::{ChannelState, Life, Refused};
use super::connection::Connection;
use super::refuse::CONTENT_TOO_LARGE;
use super::walk::Halt;
use crate::gate::Side;

impl Connection {
    /// The client opens a channel. One whose number is in use is the broker's to refuse.
    pub(super) fn channel_open(&mut self, channel: Channel) -> Result<(), Halt> {
        match self.channels.get(&channel).map(|state| &state.life) {
            Some(Life::Open) => return Ok(()),
            // The client counts it as closed, though not all has been said.
            Some(_) => self.forget(channel),
            None if self.channels.len() >= Self::MOST_CHANNELS => {
                return Err(self.too_many("channels"));
            }
            None => {}
        }
        self.channels.insert(channel, ChannelState::opened());
        Ok(())
    }

    /// A side closes a channel.
    pub(super) fn channel_close(
        &mut self,
        from: Side,
        channel: Channel,
        len: usize,
    ) -> Result<usize, Halt> {
        let Some(state) = self.channels.get_mut(&channel) else {
            return Ok(len);
        };
        let is_unsaid = !state.parked.broker.is_empty();
        match &mut state.life {
            // The broker does not know of sizegate's wish yet: its own comes first.
            Life::Refused(_) | Life::Left if !is_unsaid => {
                if let Some(words) = self.sides.broker.words() {
                    encode::channel_close_ok(words, channel);
                }
                return Err(Halt::Withhold(len));
            }
            Life::Closing(owes) => *owes.of_mut(from.other()) = true,
            _ => {
                let mut owes = PerSide::default();
                *owes.of_mut(from.other()) = true;
                state.life = Life::Closing(owes);
            }
        }
        state.parked = PerSide::default();
        Ok(len)
    }

    /// A side agrees to the end of a channel.
    pub(super) fn channel_close_ok(
        &mut self,
        from: Side,
        channel: Channel,
        len: usize,
    ) -> Result<usize, Halt> {
        let Some(state) = self.channels.get_mut(&channel) else {
            return Ok(len);
        };
        match &mut state.life {
            Life::Open | Life::Told => {}
            Life::Closing(owes) => {
                *owes.of_mut(from) = false;
                if !owes.client && !owes.broker {
                    self.forget(channel);
                }
            }
            Life::Left => self.forget(channel),
            Life::Refused(refused) => {
                let close = Close {
                    reply_code: CONTENT_TOO_LARGE,
                    reply_text: refused.text.as_bytes(),
                    failed: refused.failed,
                };
                if let Some(words) = self.sides.client.words() {
                    words.append(&mut state.parked.client);
                    encode::channel_close(words, channel, &close);
                }
                state.life = Life::Told;
                return Err(Halt::Withhold(len));
            }
        }
        Ok(len)
    }

    /// Ends a channel over a message, on both sides.
    pub(super) fn refuse_channel(&mut self, channel: Channel, refused: Refused) {
        let mut close = Vec::new();
        encode::channel_close(
            &mut close,
            channel,
            &Close {
                reply_code: CONTENT_TOO_LARGE,
                reply_text: refused.text.as_bytes(),
                failed: (0, 0),
            },
        );
        self.say(Side::Broker, channel, &close);
        if let Some(state) = self.channels.get_mut(&channel) {
            state.life = Life::Refused(refused);
        }
    }

    /// A method of a side on a channel that is closed towards the other: what belongs to its end is
    /// taken note of.
    pub(super) fn discarded_method(
        &mut self,
        from: Side,
        channel: Channel,
        method: &Method<'_>,
        len: usize,
    ) -> Result<usize, Halt> {
        let Some(state) = self.channels.get_mut(&channel) else {
            return Err(Halt::Withhold(len));
        };
        match (from, &state.life, method) {
            (Side::Client, Life::Refused(_), Method::ChannelClose(_)) => state.life = Life::Left,
            (Side::Client, Life::Told, Method::ChannelClose(_)) => {
                if let Some(words) = self.sides.client.words() {
                    encode::channel_close_ok(words, channel);
                }
            }
            (Side::Client, Life::Told, Method::ChannelCloseOk) => self.forget(channel),
            (Side::Client, Life::Told, Method::ChannelOpen) => {
                self.channel_open(channel)?;
                return Ok(len);
            }
            _ => {}
        }
        Err(Halt::Withhold(len))
    }
}
