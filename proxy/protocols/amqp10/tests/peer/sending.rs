//! The half of a peer that sends deliveries, and hears what became of them.

use parsers::amqp10::{Disposition, ReceiverSettleMode, Role, SenderSettleMode, Transfer, encode};

use super::content::Content;
use super::link::Life;
use super::{Peer, Session};
use crate::protocols::amqp10::tests::frames::Fate;

/// A delivery that is to be sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// Octets of payload of each frame.
    pub(crate) pieces: Vec<usize>,
    /// What they are.
    pub(crate) content: Content,
    /// From which frame on it says settled; never if none.
    pub(crate) settled_from: Option<usize>,
    /// Whether it is broken off by a frame of its own behind the pieces.
    pub(crate) aborts: bool,
    pub(crate) message_format: u32,
    pub(crate) rcv_settle_mode: Option<ReceiverSettleMode>,
    /// The transaction that it belongs to.
    pub(crate) txn_id: Option<Vec<u8>>,
    /// Whether frames behind the first say the delivery-id again.
    pub(crate) repeats_id: bool,
    /// Whether each piece is as large as its frame may be, whatever is said of it.
    pub(crate) fills: bool,
}

impl Delivery {
    /// An unsettled one.
    pub(crate) fn of(pieces: &[usize]) -> Self {
        Self {
            pieces: pieces.to_vec(),
            ..Self::default()
        }
    }

    pub(crate) fn settled(self) -> Self {
        Self {
            settled_from: Some(0),
            ..self
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.pieces.iter().sum()
    }

    /// Its payload, that of a delivery by this tag.
    pub(crate) fn payload(&self, tag: &[u8]) -> Vec<u8> {
        self.content.octets(tag, self.size())
    }
}

/// A delivery of which a frame was sent.
#[derive(Debug)]
pub(crate) struct Sent {
    /// The link, by its place in the session.
    pub(crate) link: usize,
    pub(crate) tag: Vec<u8>,
    pub(crate) delivery: Delivery,
    /// Frames that were sent.
    frames: usize,
    pub(crate) sending: Sending,
    /// Whether a frame of it said settled.
    pub(crate) settled: bool,
    /// Whether the receiver is asked to wait for the sender to settle.
    pub(crate) is_second: bool,
    /// What the receiver said became of it.
    pub(crate) fate: Option<Fate>,
    pub(crate) settled_by_other: bool,
}

impl Sent {
    /// Payload octets that were sent of it.
    pub(crate) fn size(&self) -> usize {
        self.delivery.pieces.iter().take(self.frames).sum()
    }
}

/// How far a delivery has been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    Open,
    Whole,
    Aborted,
    /// Its link was detached before its end.
    Lost,
}

impl Peer {
    /// Lines a delivery up on a link; [`Self::push_frame`] sends it.
    pub(crate) fn queue(&mut self, session: usize, link: usize, delivery: Delivery) {
        let link = &mut self.sessions[session].links[link];
        assert_eq!(link.role, Role::Sender);
        link.queue.push_back(delivery);
    }

    /// Sends the next frame of a link, if there is one and it may be sent.
    pub(crate) fn push_frame(&mut self, session: usize, link: usize) -> bool {
        if !self.may_push(session, link) {
            return false;
        }
        let ceiling = self.frame_ceiling();
        let at = self.sessions[session].links[link].open;
        let at = at.unwrap_or_else(|| self.begin_delivery(session, link));
        let Session {
            sent,
            links,
            first_sent_id,
            channel,
            frames_sent,
            ..
        } = &mut self.sessions[session];
        let (link_nth, link) = (link, &mut links[link]);
        let sent = &mut sent[at];
        let delivery = &mut sent.delivery;
        let nth = sent.frames;
        let is_first = nth == 0;
        let aborted = nth == delivery.pieces.len();
        let is_last = aborted || (nth + 1 == delivery.pieces.len() && !delivery.aborts);
        let settled = delivery.settled_from.is_some_and(|from| nth >= from);
        let state = delivery.txn_id.as_ref().and_then(|txn_id| {
            let transactional = Fate::Transactional {
                txn_id: txn_id.clone(),
                outcome: None,
            };
            transactional.octets()
        });
        let says_no = self.terms.says_unsettled;
        // Some libraries give all that is settled one tag.
        let has_own_tag = !self.terms.empty_tags || delivery.settled_from != Some(0);
        let wire_tag = if has_own_tag { &sent.tag[..] } else { &[] };
        let transfer = Transfer {
            handle: link.handle,
            delivery_id: (is_first || delivery.repeats_id)
                .then(|| first_sent_id.wrapping_add(at as u32)),
            delivery_tag: is_first.then_some(wire_tag),
            message_format: is_first.then_some(delivery.message_format),
            settled: (settled || (says_no && !sent.settled)).then_some(settled),
            more: !is_last,
            rcv_settle_mode: delivery.rcv_settle_mode.filter(|_| is_first),
            state: state.as_deref().filter(|_| is_first),
            resume: false,
            aborted,
            batchable: false,
            payload_at: 0,
        };
        if let Some(piece) = delivery.pieces.get_mut(nth).filter(|_| delivery.fills) {
            let mut head = Vec::new();
            encode::transfer(&mut head, *channel, &transfer, &[]);
            *piece = ceiling - head.len();
        }
        let before: usize = delivery.pieces.iter().take(nth).sum();
        let len = delivery.pieces.get(nth).copied().unwrap_or(0);
        let payload = delivery.payload(&sent.tag);
        let start = self.output.len();
        let piece = &payload[before..before + len];
        encode::transfer(&mut self.output, *channel, &transfer, piece);
        assert!(self.output.len() - start <= ceiling, "a frame too large");
        *frames_sent += 1;
        sent.frames += 1;
        sent.settled |= settled;
        if is_last {
            sent.sending = if aborted {
                Sending::Aborted
            } else {
                Sending::Whole
            };
            link.open = None;
            self.drain(session, link_nth);
        }
        true
    }

    /// Sends all that may be sent of a link.
    pub(crate) fn push(&mut self, session: usize, link: usize) {
        while self.push_frame(session, link) {}
    }

    /// Lines a delivery up and sends what may be sent of it.
    pub(crate) fn send(&mut self, session: usize, link: usize, delivery: Delivery) {
        self.queue(session, link, delivery);
        self.push(session, link);
    }

    /// Settles all deliveries whose receiver waits for that, runs of ids in one disposition.
    pub(crate) fn settle(&mut self, session: usize) {
        let session = &mut self.sessions[session];
        let mut due = std::mem::take(&mut session.to_settle);
        due.sort_unstable();
        let mut at = 0;
        while at < due.len() {
            let run = (at..due.len()).take_while(|&next| due[next] - due[at] == next - at);
            let last = run.last().unwrap_or(at);
            let id = |nth: usize| session.first_sent_id.wrapping_add(nth as u32);
            let disposition = Disposition {
                role: Role::Sender,
                first: id(due[at]),
                last: (last > at).then(|| id(due[last])),
                settled: true,
                state: None,
                batchable: false,
            };
            encode::disposition(&mut self.output, session.channel, &disposition);
            at = last + 1;
        }
    }

    fn may_push(&self, session: usize, link: usize) -> bool {
        let session = &self.sessions[session];
        let link = &session.links[link];
        let is_up = !self.said_close && !session.said_end && link.life == Life::Attached;
        let due = link.role == Role::Sender
            && (link.open.is_some() || (!link.queue.is_empty() && link.credit() > 0));
        is_up && due && session.remote_window() > 0
    }

    fn begin_delivery(&mut self, session: usize, link: usize) -> usize {
        let tag = self.next_tag.to_be_bytes().to_vec();
        self.next_tag += 1;
        let session = &mut self.sessions[session];
        let nth = session.sent.len();
        let (link_nth, link) = (link, &mut session.links[link]);
        let mut delivery = link.queue.pop_front().expect("something is lined up");
        let last = delivery.pieces.len() - 1;
        delivery.settled_from = match link.snd_settle_mode {
            SenderSettleMode::Mixed => delivery.settled_from,
            SenderSettleMode::Unsettled => None,
            // It is said in the last frame at the latest.
            SenderSettleMode::Settled => {
                Some(delivery.settled_from.map_or(last, |from| from.min(last)))
            }
        };
        let mode = delivery.rcv_settle_mode.unwrap_or(link.rcv_settle_mode);
        link.open = Some(nth);
        link.count += 1;
        session.sent.push(Sent {
            link: link_nth,
            tag,
            delivery,
            frames: 0,
            sending: Sending::Open,
            settled: false,
            is_second: mode == ReceiverSettleMode::Second,
            fate: None,
            settled_by_other: false,
        });
        nth
    }

    /// Takes a disposition of the receiver.
    pub(super) fn outcome_came(&mut self, at: usize, disposition: &Disposition<'_>) {
        let session = &mut self.sessions[at];
        let fate = Fate::read(disposition.state);
        for nth in ids(disposition, session.first_sent_id, session.sent.len()) {
            let sent = &mut session.sent[nth];
            let tag = &sent.tag;
            if sent.sending == Sending::Lost || session.links[sent.link].life == Life::Over {
                continue;
            }
            assert_eq!(
                sent.sending,
                Sending::Whole,
                "{tag:02X?} {fate:?} when it was not sent whole"
            );
            assert!(!sent.settled, "{tag:02X?} was sent settled, and {fate:?}");
            if fate == Fate::Received {
                continue;
            }
            assert_eq!(sent.fate, None, "{tag:02X?} {fate:?} as a second outcome");
            assert_eq!(
                disposition.settled, !sent.is_second,
                "{tag:02X?} {fate:?}: settled against its rcv-settle-mode"
            );
            sent.fate = Some(fate.clone());
            sent.settled_by_other = disposition.settled;
            if sent.is_second {
                session.to_settle.push(nth);
            }
        }
    }
}

/// The places of the deliveries that a disposition names, of which `count` are known.
pub(super) fn ids(disposition: &Disposition<'_>, initial: u32, count: usize) -> Vec<usize> {
    let place = |id: u32| id.wrapping_sub(initial) as usize;
    let first = place(disposition.first);
    let last = place(disposition.last.unwrap_or(disposition.first));
    let (first, last) = (first.min(last), first.max(last));
    assert!(
        last < count,
        "a disposition of {:?} to {:?}; {count} deliveries are known since {initial}",
        disposition.first,
        disposition.last
    );
    (first..=last).collect()
}
