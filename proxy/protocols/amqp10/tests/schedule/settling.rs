//! What has to be true of messages that are settled in another way on either side.

use parsers::amqp10::SenderSettleMode;

use super::super::frames::Fate;
use super::super::peer::{Life, Link, Received, Receiving, Sending, Sent};
use super::oracle::{Ends, Refusals};
use super::play::Play;
use crate::gate::{Outcome, Side};

impl Ends<'_> {
    /// The payload that a delivery has to arrive with, and whether settled.
    pub(super) fn arrival(&self, sent: &Sent) -> (Vec<u8>, bool) {
        let delivery = &sent.delivery;
        if !self.is_changed(sent) {
            return (delivery.payload(&sent.tag), sent.settled);
        }
        let (size, mark_len) = (delivery.size(), delivery.content.mark_len());
        match (self.side, delivery.content.is_marked()) {
            (Side::Client, true) => (delivery.payload(&sent.tag), false),
            (Side::Client, false) => {
                let marked = delivery.content.marked(true);
                (marked.octets(&sent.tag, size + mark_len), false)
            }
            (Side::Broker, _) => {
                let plain = delivery.content.marked(false);
                (plain.octets(&sent.tag, size - mark_len), true)
            }
        }
    }

    /// Whether this is what was made of a delivery.
    pub(super) fn is_it(&self, sent: &Sent, came: &Received) -> bool {
        let (payload, _) = self.arrival(sent);
        let is_same = match came.receiving {
            Receiving::Whole => came.payload == payload,
            // What was broken off did not arrive as a whole.
            _ => payload.starts_with(&came.payload) && sent.sending == Sending::Aborted,
        };
        let has_its_tag = match self.side == Side::Client && self.is_changed(sent) {
            true => came.tag.starts_with(b"sizegate"),
            false => came.tag.is_empty() || came.tag == sent.tag,
        };
        is_same && has_its_tag
    }

    /// What was received, and which of what was sent it was made of. Several deliveries may have the
    /// same octets and no tag; but they come in the order in which they were sent.
    pub(super) fn pairs<'s>(&self, sent: &[&'s Sent]) -> Vec<(&Received, Option<&'s Sent>)> {
        let mut sent = sent.iter();
        let pairs = self.received.iter().map(|came| {
            let mut later = sent.clone();
            let made_of = later.find(|sent| self.is_it(sent, came));
            if made_of.is_some() {
                sent = later;
            }
            (*came, made_of.copied())
        });
        pairs.collect()
    }

    /// Whether the two sides settle a delivery each on its own.
    pub(super) fn is_changed(&self, sent: &Sent) -> bool {
        let delivery = &sent.delivery;
        let is_plain = delivery.content.is_message(delivery.size())
            && delivery.message_format == 0
            && delivery.txn_id.is_none();
        let is_it = match self.side {
            Side::Client => self.is_presettled(sent),
            Side::Broker => {
                let asked = self.receiver.snd_settle_mode;
                delivery.content.is_marked() && asked != SenderSettleMode::Unsettled
            }
        };
        self.unsettles && is_plain && is_it
    }

    /// Whether the client said so of it before it sent the first octet of its payload.
    pub(super) fn is_presettled(&self, sent: &Sent) -> bool {
        let says_so = sent.delivery.settled_from == Some(0);
        let mode = self.sender.snd_settle_mode;
        self.side == Side::Client && (says_so || mode == SenderSettleMode::Settled)
    }

    /// The octets that counted against the limit so far.
    pub(super) fn judged_size(&self, sent: &Sent) -> usize {
        self.less_the_mark(sent, sent.size())
    }

    /// Those that counted in the end.
    pub(super) fn whole_size(&self, sent: &Sent) -> usize {
        self.less_the_mark(sent, sent.delivery.size())
    }

    /// A mark that is taken away does not count.
    fn less_the_mark(&self, sent: &Sent, size: usize) -> usize {
        if self.side == Side::Broker && self.is_changed(sent) {
            size.saturating_sub(sent.delivery.content.mark_len())
        } else {
            size
        }
    }

    /// Its sender was told nothing of what became of it, or that it was accepted; and its receiver
    /// that it is settled, if it waited for that.
    pub(super) fn assert_settled_apart(&self, sent: &Sent, came: &Received) {
        let tag = &sent.tag;
        if self.side == Side::Client {
            assert_eq!(sent.fate, None, "{tag:02X?} was pre-settled");
            let is_settled = came.is_second && came.fate.is_some();
            assert_eq!(came.settled_by_other, is_settled, "{tag:02X?}: settling");
            return;
        }
        assert_eq!(came.fate, None, "{tag:02X?} was restored");
        assert!(!came.settled_by_other, "{tag:02X?} was settled before");
        let accepted = (!sent.settled).then_some(Fate::Accepted);
        assert_eq!(sent.fate, accepted, "{tag:02X?}: what became of it");
    }

    /// What the broker has not settled of the pre-settled messages of a client; none if something
    /// of the link is still on its way.
    fn unsettled(&self) -> Option<u32> {
        let arrives =
            |sent: &&Sent| self.judged_size(sent) <= self.limit && sent.sending != Sending::Aborted;
        let sent: Vec<&Sent> = self.sent.iter().copied().filter(arrives).collect();
        let is_whole = |came: &&Received| came.receiving != Receiving::Aborted;
        let came: Vec<&Received> = self.received.iter().copied().filter(is_whole).collect();
        let is_quiet = self.to.window() > 0
            && sent.len() == came.len()
            && self.sent.iter().all(|sent| sent.sending != Sending::Open)
            && came.iter().all(|came| came.receiving == Receiving::Whole);
        let both = sent.iter().zip(&came);
        let is_owed = |sent: &Sent, came: &Received| self.is_changed(sent) && came.fate.is_none();
        let owed = both.filter(|(sent, came)| is_owed(sent, came)).count();
        is_quiet.then_some(owed as u32)
    }
}

impl Play {
    /// Checks that no client has more credit than the settlements of its pre-settled messages leave
    /// it, and none if that leaves it some. Nothing may be on its way.
    pub(super) fn assert_paced(&self) {
        if self.conversation.client.said_close {
            return;
        }
        for link in 0..self.links.len() {
            let Some(ends) = self.ends(link, Refusals::Alone) else {
                continue;
            };
            let is_up = |link: &Link| link.life == Life::Attached && !link.drain;
            if ends.side == Side::Broker || !is_up(ends.sender) || !is_up(ends.receiver) {
                continue;
            }
            let Some(unsettled) = ends.unsettled() else {
                continue;
            };
            let (name, told) = (&ends.sender.name, ends.sender.credit());
            let (left, granted) = (ends.receiver.credit(), ends.receiver.granted);
            let most = left.min(i64::from(granted) - i64::from(unsettled)).max(0);
            assert!(
                told.max(0) <= most && (most == 0 || told > 0),
                "{name}: credit of {told}; {left} of {granted} are left, {unsettled} not settled"
            );
        }
    }

    /// Checks that each pre-settled message that went to the broker was counted once, or is due.
    pub(super) fn assert_all_counted(&self) {
        let sessions = &self.conversation.the(Side::Broker).sessions;
        let came = sessions.iter().flat_map(|session| &session.received);
        let is_ours = |came: &&Received| {
            came.tag.starts_with(b"sizegate") && came.receiving != Receiving::Aborted
        };
        let gate = &self.conversation.gate;
        let counted: u64 = gate.meter.outcomes.iter().sum();
        let all = counted + gate.gate.unsettled();
        assert_eq!(
            all,
            came.filter(is_ours).count() as u64,
            "{:?}",
            gate.meter.outcomes
        );
    }

    /// Checks that each pre-settled message that went to the broker was counted by what became of it.
    pub(super) fn assert_outcomes_counted(&self) {
        let mut due = [0; 4];
        let mut restored = 0;
        for link in 0..self.links.len() {
            let Some(ends) = self.ends(link, Refusals::Alone) else {
                continue;
            };
            let pairs = ends.pairs(&ends.sent).into_iter();
            for (came, sent) in pairs.filter(|(came, _)| came.receiving == Receiving::Whole) {
                let is_changed = sent.is_some_and(|sent| ends.is_changed(sent));
                match &came.fate {
                    _ if !is_changed => {}
                    _ if ends.side == Side::Broker => restored += 1,
                    Some(Fate::Accepted) => due[Outcome::Accepted as usize] += 1,
                    Some(Fate::Rejected { .. }) => due[Outcome::Rejected as usize] += 1,
                    Some(Fate::Released) => due[Outcome::Released as usize] += 1,
                    Some(Fate::Modified) => due[Outcome::Modified as usize] += 1,
                    other => panic!("{:02X?}: {other:?} became of it", came.tag),
                }
            }
        }
        let meter = &self.conversation.gate.meter;
        assert_eq!(meter.outcomes[..4], due);
        assert_eq!(meter.outcomes[Outcome::Lost as usize], 0);
        assert_eq!(meter.restored, restored);
        assert_eq!(self.conversation.gate.gate.unsettled(), 0);
    }
}
