//! Strict peers: each says only what it may, and fails at the first frame that it may not be sent.
//!
//! They are a client and a broker of their own, written from the specification and from what RabbitMQ
//! does. What they send stands in units by channel, each a method or a whole content, whose frames a
//! schedule puts on the wire in any mixture of channels.

mod assembler;
mod broker;
mod client;

use std::collections::{BTreeMap, VecDeque};

pub(super) use broker::Broker;
pub(super) use client::{ChannelMode, Client, Fate, Sent};

/// What a peer sends.
#[derive(Debug, Default)]
pub(super) struct Wire {
    /// What is to be sent on each channel, in order.
    queues: BTreeMap<u16, VecDeque<Unit>>,
    /// What is on its way.
    pub(super) output: Vec<u8>,
}

/// A method, or a method with its content.
#[derive(Debug)]
struct Unit {
    /// Frames that are not on their way yet.
    frames: VecDeque<Vec<u8>>,
    /// Whether some of them are.
    is_begun: bool,
    /// The message in it.
    message: Option<u32>,
}

impl Wire {
    /// Puts a unit behind all others of its channel.
    fn queue(&mut self, channel: u16, frames: Vec<Vec<u8>>, message: Option<u32>) {
        self.queues.entry(channel).or_default().push_back(Unit {
            frames: frames.into(),
            is_begun: false,
            message,
        });
    }

    /// Takes back what has not been begun, and returns the messages in it.
    fn take_back(&mut self, channel: u16) -> Vec<u32> {
        let queue = self.queues.entry(channel).or_default();
        let begun = usize::from(queue.front().is_some_and(|unit| unit.is_begun));
        let unsent = queue.drain(begun..);
        unsent.filter_map(|unit| unit.message).collect()
    }

    /// Whether something of a channel has not been begun.
    fn is_waiting(&self, channel: u16) -> bool {
        let queue = self.queues.get(&channel);
        queue
            .and_then(VecDeque::back)
            .is_some_and(|unit| !unit.is_begun)
    }

    /// Sends up to so many frames of a channel.
    pub(super) fn push(&mut self, channel: u16, frames: usize) {
        let Some(queue) = self.queues.get_mut(&channel) else {
            return;
        };
        for _ in 0..frames {
            let Some(unit) = queue.front_mut() else {
                break;
            };
            unit.is_begun = true;
            self.output
                .extend(unit.frames.pop_front().expect("a unit has frames"));
            if unit.frames.is_empty() {
                queue.pop_front();
            }
        }
    }

    /// Sends everything.
    pub(super) fn push_all(&mut self) {
        let channels: Vec<_> = self.queues.keys().copied().collect();
        for channel in channels {
            self.push(channel, usize::MAX);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.output.is_empty() && self.queues.values().all(VecDeque::is_empty)
    }
}

/// The largest frame that both agree upon.
pub(super) const FRAME_MAX: usize = 4_096;

/// A body that tells its message and its place in it.
pub(super) fn body(message: u32, size: usize) -> Vec<u8> {
    (0..size).map(|at| (message as usize + at) as u8).collect()
}
