//! Plays a schedule, and looks at what has come of it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::conversation::Conversation;
use super::super::peer::{ChannelMode, Fate, Sent};
use super::super::words::frames;
use super::super::{LIMIT, SIDES, Terms};
use super::plan::{CHANNELS, Op, Plan};
use crate::gate::Side;

/// A schedule that is played.
pub(super) struct Play {
    pub(super) conversation: Conversation,
    modes: [ChannelMode; CHANNELS as usize],
}

impl Play {
    /// Opens the channels.
    pub(super) fn begin(terms: Terms, plan: &Plan) -> Self {
        let mut play = Self {
            conversation: Conversation::open(terms),
            modes: plan.modes,
        };
        play.open_all();
        play
    }

    /// Opens the channels that are not open.
    fn open_all(&mut self) {
        for (channel, mode) in (1..).zip(self.modes) {
            self.conversation.client.open(channel, mode, channel == 2);
        }
    }

    /// Plays one event, if the connection is still open.
    pub(super) fn play(&mut self, op: &Op) {
        let talk = &mut self.conversation;
        if talk.client.closed.is_some() || talk.broker.closed.is_some() {
            return;
        }
        let (client, broker) = (&mut talk.client, &mut talk.broker);
        match *op {
            Op::Open {
                channel,
                mode,
                no_wait,
            } => client.open(channel, mode, no_wait),
            Op::Close {
                side: Side::Client,
                channel,
            } => client.close(channel),
            Op::Close {
                side: Side::Broker,
                channel,
            } => broker.close(channel),
            Op::Publish {
                channel,
                size,
                mandatory,
                pieces,
            } => {
                client.publish(channel, size, mandatory, pieces);
            }
            Op::Confirm {
                channel,
                pick,
                multiple,
                nacks,
            } => {
                broker.confirm(channel, pick, multiple, nacks);
            }
            Op::Consume {
                channel,
                tag,
                no_ack,
                no_wait,
            } => {
                client.consume(channel, tag, no_ack, no_wait);
            }
            Op::Cancel { channel } => client.cancel(channel),
            Op::Deliver {
                channel,
                pick,
                size,
                pieces,
            } => {
                broker.deliver(channel, pick, size, pieces);
            }
            Op::Get { channel, no_ack } => client.get(channel, no_ack),
            Op::Ready { size, pieces } => broker.ready.push_back((size, pieces)),
            Op::Acknowledge {
                channel,
                pick,
                multiple,
            } => {
                client.acknowledge(channel, pick, multiple);
            }
            Op::EndTx { channel, commits } => client.end_tx(channel, commits),
            Op::Push {
                side: Side::Client,
                channel,
                frames,
            } => client.wire.push(channel, frames),
            Op::Push {
                side: Side::Broker,
                channel,
                frames,
            } => broker.wire.push(channel, frames),
            Op::Carry { side, octets } => {
                talk.carry(side, octets);
            }
            Op::Beat { side: Side::Client } => client.beat(),
            Op::Beat { side: Side::Broker } => broker.beat(),
            Op::Tick => talk.tick(),
        }
    }

    /// Lets everything come to its end: each publish has its outcome, each transaction is committed.
    pub(super) fn finish(&mut self) {
        self.conversation.run();
        for channel in 1..=CHANNELS {
            self.conversation.client.end_tx(channel, true);
        }
        self.conversation.run();
        self.conversation.broker.confirm_all();
        self.conversation.run();
        let talk = &self.conversation;
        assert!(talk.client.is_between_contents() && talk.broker.is_between_contents());
        assert!(talk.client.wire.is_empty() && talk.broker.wire.is_empty());
        assert!(talk.client.is_at_rest(), "{:?}", talk.client);
        let undecided = SIDES.map(|side| self.conversation.gate.undecided(side));
        assert_eq!(undecided, [0, 0]);
    }

    /// Opens what is closed, and sends one small message each way on every channel.
    pub(super) fn play_small_round(&mut self) {
        self.open_all();
        for channel in 1..=CHANNELS {
            let client = &mut self.conversation.client;
            client.publish(channel, 1, false, 1);
            client.consume(channel, "last", false, false);
        }
        self.conversation.run();
        for channel in 1..=CHANNELS {
            self.conversation.broker.deliver(channel, 0, 1, 1);
        }
        self.finish();
    }

    /// Each publish has exactly its own outcome, and the broker has got none that is over the limit.
    pub(super) fn assert_publishes(&self) {
        let talk = &self.conversation;
        let got: Vec<_> = talk
            .broker
            .received
            .iter()
            .map(|(_, number, _)| *number)
            .collect();
        let distinct: BTreeSet<_> = got.iter().copied().collect();
        assert_eq!(distinct.len(), got.len(), "one came twice");
        for channel in 1..=CHANNELS {
            let received = talk.broker.received.iter();
            let its: Vec<_> = received.filter(|(on, ..)| *on == channel).collect();
            assert!(
                its.is_sorted_by_key(|(_, number, _)| number),
                "out of order"
            );
        }
        for (number, sent) in &talk.client.sent {
            let case = format!("{number}: {sent:?}");
            let told = talk.client.told.get(number).cloned().unwrap_or_default();
            let is_over = sent.size as u64 > LIMIT;
            let due = match is_over {
                true => due(sent),
                false => talk.broker.told.get(number).cloned().unwrap_or_default(),
            };
            assert!(
                !(is_over && distinct.contains(number)),
                "{case} came through"
            );
            if talk.client.is_alive(sent) {
                assert_eq!(told, due, "{case}");
                assert!(is_over || distinct.contains(number), "{case} is lost");
            } else {
                // Of what was said before the end of the channel some may not have been heard.
                assert!(due.starts_with(&told), "{case}: told {told:?} of {due:?}");
            }
        }
    }

    /// Each delivery within the limit has come, and each over it was rejected, unless nothing is
    /// acknowledged.
    pub(super) fn assert_deliveries(&self) {
        let talk = &self.conversation;
        let count = |numbers: &mut dyn Iterator<Item = u32>, number| {
            numbers.filter(|its| *its == number).count()
        };
        for (&number, delivered) in &talk.broker.delivered {
            let case = format!("{number}: {delivered:?}");
            let mut received = talk.client.received.iter().map(|(number, _)| *number);
            let received = count(&mut received, number);
            let rejected = count(&mut talk.broker.rejected.iter().copied(), number);
            let is_over = delivered.size as u64 > LIMIT;
            let due = (
                usize::from(!is_over),
                usize::from(is_over && !delivered.no_ack),
            );
            if talk.broker.is_alive(delivered) {
                assert_eq!((received, rejected), due, "{case}");
            } else {
                assert!(received <= due.0 && rejected <= due.1, "{case}");
            }
        }
        for (number, size) in &talk.client.received {
            assert!(*size as u64 <= LIMIT, "{number} came through");
        }
    }

    /// Every channel that a message has ended was closed with the words for it.
    pub(super) fn assert_channels_closed(&self) {
        let talk = &self.conversation;
        for (code, text) in &talk.client.channels_closed {
            let is_ours = *code == 311 && text.starts_with("Message size exceeded: ");
            assert!(
                is_ours || (*code, &**text) == (404, "NOT_FOUND"),
                "{code} {text}"
            );
        }
        for sent in talk.client.sent.values() {
            let is_over = sent.size as u64 > LIMIT;
            assert!(
                !is_over || !talk.client.is_alive(sent),
                "{sent:?} ended nothing"
            );
        }
    }

    /// Both sides heard one close if there was a message over the limit, and nothing after it.
    pub(super) fn assert_closed_if_over(&self) {
        let talk = &self.conversation;
        let refused = talk
            .gate
            .meter
            .messages
            .iter()
            .map(|counts| counts[1])
            .sum::<u64>();
        let closed = [&talk.client.closed, &talk.broker.closed];
        if refused == 0 {
            assert_eq!(closed, [&None, &None]);
            return;
        }
        assert_eq!(refused, 1, "it ends at the first one");
        for closed in closed {
            let (code, text) = closed.as_ref().expect("a close");
            assert_eq!(*code, 320);
            assert!(text.starts_with("Message size exceeded: "), "{text}");
        }
    }

    /// Each side has heard what the other one said.
    pub(super) fn assert_unchanged(&self) {
        for side in SIDES {
            let said = &self.conversation.said[side as usize];
            let heard = &self.conversation.heard[side.other() as usize];
            assert!(said == heard, "what the {} said was changed", side.as_str());
        }
    }

    /// Each side has heard what the other one said on each channel.
    pub(super) fn assert_channels_unchanged(&self) {
        for side in SIDES {
            let said = by_channel(&self.conversation.said[side as usize]);
            let heard = by_channel(&self.conversation.heard[side.other() as usize]);
            assert!(said == heard, "what the {} said was changed", side.as_str());
        }
    }

    /// Each message was counted once, under its size.
    pub(super) fn assert_counted(&self) {
        let talk = &self.conversation;
        let sent = talk.client.sent.values().map(|sent| sent.size as u64);
        let delivered = talk.broker.delivered.values().map(|its| its.size as u64);
        let meter = &talk.gate.meter;
        for (direction, sizes) in [sent.collect::<Vec<_>>(), delivered.collect()]
            .iter()
            .enumerate()
        {
            let over = sizes.iter().filter(|size| **size > LIMIT).count() as u64;
            let counts = [sizes.len() as u64 - over, over, 0];
            assert_eq!(meter.messages[direction], counts);
            assert_eq!(meter.sizes[direction].sum, sizes.iter().sum::<u64>());
        }
    }
}

/// The frames of each channel.
fn by_channel(stream: &[u8]) -> BTreeMap<u16, Vec<&[u8]>> {
    let mut channels: BTreeMap<u16, Vec<&[u8]>> = BTreeMap::new();
    let (frames, rest) = frames(stream);
    assert!(rest.is_empty());
    for frame in frames {
        let channel = u16::from_be_bytes([frame[1], frame[2]]);
        channels.entry(channel).or_default().push(frame);
    }
    channels
}

/// What the client is to be told about a publish over the limit.
fn due(sent: &Sent) -> Vec<Fate> {
    match sent.mode {
        ChannelMode::Plain => vec![Fate::Returned(311)],
        ChannelMode::Confirm if sent.mandatory => vec![Fate::Returned(311), Fate::Nacked],
        ChannelMode::Confirm => vec![Fate::Nacked],
        ChannelMode::Tx => Vec::new(),
    }
}
