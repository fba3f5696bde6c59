//! What has to be true when a schedule has come to its end.

use super::super::SIDES;
use super::super::frames::Fate;
use super::super::peer::{Life, Link, Received, Receiving, Sending, Sent, Session};
use super::play::Play;
use crate::gate::Side;
use crate::protocols::amqp10::Presettled;

/// What a schedule does to links on which a message is over the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusals {
    /// They refuse the message alone.
    Alone,
    /// They end the link.
    WithLink,
    /// One of both, as memory allows.
    Either,
}

/// A link at the end of a schedule, and what went over it.
pub(super) struct Ends<'a> {
    from: &'a Session,
    pub(super) sender: &'a Link,
    pub(super) sent: Vec<&'a Sent>,
    pub(super) to: &'a Session,
    pub(super) receiver: &'a Link,
    pub(super) received: Vec<&'a Received>,
    /// The side that sends.
    pub(super) side: Side,
    /// Whether what is settled goes to the broker unsettled.
    pub(super) unsettles: bool,
    /// Whether the receiver detached it on its own account.
    is_left: bool,
    pub(super) limit: usize,
    refusals: Refusals,
}

impl Play {
    /// Checks every link on which a message may have been refused, or none if there is no limit.
    pub(super) fn assert_refusals(&self, refusals: Refusals) {
        for link in 0..self.links.len() {
            if let Some(ends) = self.ends(link, refusals) {
                ends.assert();
            }
        }
    }

    /// Checks that each message that was sent whole was counted by what became of it.
    pub(super) fn assert_counted(&self) {
        for side in SIDES {
            let sessions = self.conversation.the(side).sessions.iter();
            let sent: Vec<&Sent> = sessions.flat_map(|session| &session.sent).collect();
            let limit = self.terms.limit_from(side) as usize;
            let denied = sent.iter().filter(|sent| sent.size() > limit).count();
            let is_allowed = |sent: &&&Sent| sent.sending == Sending::Whole && sent.size() <= limit;
            let allowed = sent.iter().filter(is_allowed).count();
            let counted = self.conversation.gate.meter.messages[side as usize];
            assert_eq!(counted, [allowed as u64, denied as u64, 0], "{side:?}");
        }
    }

    /// Checks that a message over the limit closed the connection, once on each side, and took no
    /// outcome along; and that nothing was closed without one.
    pub(super) fn assert_closed_if_over(&self) {
        let links = 0..self.links.len();
        let links = links.filter_map(|link| self.ends(link, Refusals::WithLink));
        let (mut over, mut has_to_close) = (Vec::new(), false);
        for ends in links {
            let is_over = |sent: &&Sent| ends.judged_size(sent) > ends.limit;
            let before = over.len();
            over.extend(ends.sent.iter().copied().filter(is_over));
            // What comes for a receiver that has left may be thrown away unseen.
            has_to_close |= over.len() > before && !(ends.is_left && ends.unsettles);
        }
        let closes = SIDES.map(|side| self.conversation.the(side).closed_by_other.as_ref());
        if over.is_empty() || !has_to_close && closes == [None, None] {
            return assert_eq!(closes, [None, None]);
        }
        let error = (
            "amqp:connection:forced".into(),
            "Message size exceeded".into(),
        );
        assert_eq!(closes, [Some(&Some(error)), Some(&None)]);
        let [over] = over[..] else {
            return;
        };
        for link in 0..self.links.len() {
            let Some(ends) = self.ends(link, Refusals::WithLink).filter(Ends::is_up) else {
                continue;
            };
            if ends.sent.iter().any(|sent| std::ptr::eq(*sent, over)) {
                ends.assert_outcomes();
                if over.sending == Sending::Whole {
                    ends.assert_refused(over);
                }
            }
        }
    }

    pub(super) fn ends(&self, link: usize, refusals: Refusals) -> Option<Ends<'_>> {
        let side = self.links[link].sender;
        let (from, to) = (self.place(link, side)?, self.place(link, side.other())?);
        let (sender, receiver) = (from.1, to.1);
        let from = &self.conversation.the(side).sessions[from.0];
        let to = &self.conversation.the(side.other()).sessions[to.0];
        let sent = from.sent.iter().filter(|sent| sent.link == sender);
        let received = to.received.iter().filter(|came| came.link == receiver);
        Some(Ends {
            sent: sent.collect(),
            sender: &from.links[sender],
            from,
            received: received.collect(),
            receiver: &to.links[receiver],
            to,
            side,
            unsettles: self.terms.presettled == Presettled::Unsettled,
            is_left: self.links[link].is_left,
            limit: match self.terms.limit_from(side) {
                0 => usize::MAX,
                limit => limit as usize,
            },
            refusals,
        })
    }
}

impl Ends<'_> {
    fn assert(&self) {
        let name = &self.sender.name;
        let is_over = |sent: &&&Sent| self.judged_size(sent) > self.limit;
        let first_over = self.sent.iter().position(|sent| is_over(&sent));
        let stays = self.refusals == Refusals::Alone || first_over.is_none();
        let is_refused = if stays {
            false
        } else {
            let is_refused = self.sender.life == Life::Over && !self.was_detached_by_peers();
            assert!(is_refused || self.refusals == Refusals::Either || self.is_left);
            is_refused
        };
        let due = self.sent.iter().filter(|sent| self.is_due(sent));
        let due: Vec<&Sent> = due.copied().collect();
        let came = self.received.iter().filter(|came| self.is_complete(came));
        let came: Vec<&Received> = came.copied().collect();
        let least = match first_over {
            Some(first) if is_refused => self.sent[..first]
                .iter()
                .filter(|sent| self.is_due(sent))
                .count(),
            _ => due.len(),
        };
        if self.is_left {
            // What it was sent after it left goes nowhere; what it was sent is still whole.
            let pairs = self.pairs(&due).into_iter();
            for (came, due) in pairs.filter(|(came, _)| self.is_complete(came)) {
                self.assert_arrived(due.expect("it was due"), came);
            }
            return;
        }
        let wanted: Vec<_> = due.iter().map(|due| &due.tag).collect();
        let tags: Vec<_> = came.iter().map(|came| &came.tag).collect();
        let mut both = came.iter().zip(&due);
        let most = if self.refusals == Refusals::WithLink {
            least
        } else {
            due.len()
        };
        assert!(
            (least..=most).contains(&tags.len()) && both.all(|(came, due)| self.is_it(due, came)),
            "{name}: {tags:02X?} arrived of {wanted:02X?}; {least} had to"
        );
        for (came, due) in came.iter().zip(&due) {
            self.assert_arrived(due, came);
        }
        for sent in &self.sent {
            if sent.sending == Sending::Aborted {
                assert_eq!(sent.fate, None, "{:02X?} was aborted", sent.tag);
            } else if sent.sending == Sending::Whole && is_over(&sent) {
                self.assert_refused(sent);
            }
        }
        if is_refused {
            self.assert_detached();
        } else if self.is_up() {
            self.assert_even();
        }
    }

    /// What the receiver said of a delivery has reached its sender.
    fn assert_outcomes(&self) {
        for (came, sent) in self.pairs(&self.sent) {
            if came.receiving == Receiving::Whole {
                let sent = sent.expect("it was sent");
                let fate = came.fate.clone().filter(|_| !self.is_changed(sent));
                let due = if self.is_changed(sent) && self.side == Side::Broker && !sent.settled {
                    Some(Fate::Accepted)
                } else {
                    fate
                };
                assert_eq!(sent.fate, due, "{:02X?}", came.tag);
            }
        }
    }

    fn is_up(&self) -> bool {
        self.sender.life == Life::Attached
    }

    /// Whether one of the peers detached the link, and not sizegate.
    fn was_detached_by_peers(&self) -> bool {
        let sides = [self.sender, self.receiver];
        sides
            .iter()
            .any(|link| matches!(link.detached_by_other, Some((_, None))))
    }

    /// Whether a delivery has to arrive, unless its link ends before.
    fn is_due(&self, sent: &Sent) -> bool {
        let is_held = self.limit != usize::MAX && self.refusals != Refusals::WithLink;
        match sent.sending {
            _ if self.judged_size(sent) > self.limit => false,
            Sending::Whole => true,
            // What was forwarded before its end has to be broken off there too.
            Sending::Aborted => !is_held && !self.unsettles,
            Sending::Open | Sending::Lost => false,
        }
    }

    fn is_complete(&self, came: &Received) -> bool {
        match came.receiving {
            Receiving::Whole => true,
            // Some was streamed, some was held.
            Receiving::Aborted => self.refusals != Refusals::Either && !self.unsettles,
            Receiving::Open | Receiving::Lost => false,
        }
    }

    /// It arrived as it was sent, and its outcome came back.
    fn assert_arrived(&self, sent: &Sent, came: &Received) {
        let tag = &sent.tag;
        let is_aborted = sent.sending == Sending::Aborted;
        assert_eq!(
            came.receiving == Receiving::Aborted,
            is_aborted,
            "{tag:02X?}"
        );
        let (payload, settled) = self.arrival(sent);
        assert!(came.payload == payload, "{tag:02X?}: the payload changed");
        assert_eq!(came.message_format, sent.delivery.message_format);
        if !is_aborted {
            assert_eq!(came.settled, settled, "{tag:02X?}: settled");
        }
        assert_eq!(came.is_second, sent.is_second, "{tag:02X?}: settle mode");
        if self.is_up() && self.is_changed(sent) {
            self.assert_settled_apart(sent, came);
        } else if self.is_up() {
            assert_eq!(sent.fate, came.fate, "{tag:02X?}: what became of it");
            let settled = sent.is_second && sent.fate.is_some();
            assert_eq!(came.settled_by_other, settled, "{tag:02X?}: settling");
        }
    }

    /// It was refused in the words that it has to be, or in silence if it was settled.
    fn assert_refused(&self, sent: &Sent) {
        let (tag, size) = (&sent.tag, self.whole_size(sent));
        match &sent.fate {
            fate if sent.settled || self.is_presettled(sent) => {
                assert_eq!(*fate, None, "{tag:02X?} was settled")
            }
            Some(Fate::Transactional {
                txn_id,
                outcome: Some(outcome),
            }) => {
                assert_eq!(sent.delivery.txn_id.as_ref(), Some(txn_id));
                assert_refusal(outcome, size, self.limit, self.side);
            }
            Some(fate) => {
                assert_eq!(sent.delivery.txn_id, None, "{tag:02X?}: no transaction");
                assert_refusal(fate, size, self.limit, self.side);
            }
            None => assert!(!self.is_up(), "{tag:02X?} of {size} octets stands open"),
        }
    }

    /// Both ends were detached for good, and were told why.
    fn assert_detached(&self) {
        for link in [self.sender, self.receiver] {
            let name = &link.name;
            let Some((true, Some(error))) = &link.detached_by_other else {
                panic!(
                    "{name} of a message too large: {:?}",
                    link.detached_by_other
                );
            };
            let (condition, description) = error;
            assert_texts(condition, description, None, self.limit, self.side);
        }
    }

    /// Both ends count alike, and nothing is stuck between them.
    fn assert_even(&self) {
        let name = &self.sender.name;
        let is_open = |came: &&&Received| came.receiving == Receiving::Open;
        assert_eq!(self.received.iter().filter(is_open).count(), 0, "{name}");
        let (told, granted) = (self.sender.credit(), self.receiver.credit());
        if self.unsettles && self.side == Side::Client {
            // A part of it is told when the rest is used up.
            assert!(
                told <= granted && (told > 0) == (granted > 0),
                "{name}: {told}/{granted}"
            );
        } else {
            assert_eq!(told, granted, "{name}: the credit of both sides");
        }
        assert!(!self.receiver.drain, "{name} was never drained");
        let window = i64::from(self.to.window());
        assert!(
            self.from.remote_window() >= window,
            "{name}: a window leaked"
        );
    }
}

/// Checks the words of a rejected.
pub(in super::super) fn assert_refusal(fate: &Fate, size: usize, limit: usize, sender: Side) {
    let Fate::Rejected {
        condition,
        description,
    } = fate
    else {
        panic!("{size} octets are over {limit}, and {fate:?}");
    };
    assert_texts(condition, description, Some(size), limit, sender);
}

/// Checks the error of a refusal.
pub(in super::super) fn assert_texts(
    condition: &str,
    description: &str,
    size: Option<usize>,
    limit: usize,
    sender: Side,
) {
    assert_eq!(condition, "amqp:link:message-size-exceeded");
    let rule = match sender {
        Side::Client => "--max-message-size",
        Side::Broker => "--max-receive-size",
    };
    let has_size = size.is_none_or(|size| description.contains(&format!(" {size} ")));
    assert!(
        description.starts_with("Message size exceeded")
            && (has_size || description.contains("at least"))
            && description.contains(&limit.to_string())
            && description.contains(rule),
        "{description:?} for {size:?} octets over {limit} of {rule}"
    );
}
