//! The half of a peer that receives deliveries, and says what becomes of them.

use std::ops::RangeInclusive;

use parsers::amqp10::{Disposition, ReceiverSettleMode, Role, SenderSettleMode, Transfer, encode};

use super::link::Life;
use super::sending::ids;
use super::{Peer, Session};
use crate::protocols::amqp10::tests::frames::Fate;

/// A delivery of which a frame was received.
#[derive(Debug)]
pub(crate) struct Received {
    /// The link, by its place in the session.
    pub(crate) link: usize,
    pub(crate) tag: Vec<u8>,
    pub(crate) message_format: u32,
    pub(crate) payload: Vec<u8>,
    pub(crate) receiving: Receiving,
    /// Whether a frame of it said settled.
    pub(crate) settled: bool,
    /// Whether the sender is to settle first.
    pub(crate) is_second: bool,
    /// What was said became of it.
    pub(crate) fate: Option<Fate>,
    pub(crate) settled_by_other: bool,
}

/// How far a delivery has been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiving {
    Open,
    Whole,
    Aborted,
    /// Its link was detached before its end.
    Lost,
}

impl Received {
    /// Whether it waits to be told what becomes of it.
    pub(crate) fn is_due(&self) -> bool {
        self.receiving == Receiving::Whole && !self.settled && self.fate.is_none()
    }
}

impl Session {
    /// The id of a delivery that was received.
    fn received_id(&self, nth: usize) -> u32 {
        let first = self.first_received_id.expect("a delivery came");
        first.wrapping_add(nth as u32)
    }
}

impl Peer {
    /// Says what becomes of a run of deliveries that wait for it and settle in the same way.
    pub(crate) fn dispose(&mut self, session: usize, run: RangeInclusive<usize>, fate: &Fate) {
        let session = &mut self.sessions[session];
        let (first, last) = (*run.start(), *run.end());
        let is_second = session.received[first].is_second;
        for received in &mut session.received[run] {
            assert!(received.is_due() && received.is_second == is_second);
            received.fate = Some(fate.clone());
        }
        let (first, last) = if self.terms.reverses_ranges {
            (last, first)
        } else {
            (first, last)
        };
        let state = fate.octets();
        let disposition = Disposition {
            role: Role::Receiver,
            first: session.received_id(first),
            last: (last != first).then(|| session.received_id(last)),
            settled: !is_second,
            state: state.as_deref(),
            batchable: false,
        };
        encode::disposition(&mut self.output, session.channel, &disposition);
    }

    /// Says the same of up to `most` deliveries that wait for it, from the first on that do.
    /// Returns whether there were any.
    pub(crate) fn dispose_next(&mut self, session: usize, most: usize, fate: &Fate) -> bool {
        let at = &self.sessions[session];
        let is_due = |received: &Received| {
            received.is_due() && at.links[received.link].life == Life::Attached
        };
        let Some(first) = at.received.iter().position(is_due) else {
            return false;
        };
        let is_second = at.received[first].is_second;
        let run = at.received[first..].iter().take(most);
        let run = run.take_while(|received| is_due(received) && received.is_second == is_second);
        let last = first + run.count() - 1;
        self.dispose(session, first..=last, fate);
        true
    }

    pub(super) fn on_transfer(&mut self, at: usize, transfer: &Transfer<'_>, payload: &[u8]) {
        self.sessions[at].frame_came();
        let nth = self.link_of(at, transfer.handle);
        let session = &mut self.sessions[at];
        let link = &mut session.links[nth];
        assert_eq!(link.role, Role::Receiver, "{}: from a receiver", link.name);
        let is_first = link.open.is_none();
        let received_nth = link.open.unwrap_or(session.received.len());
        if is_first {
            let id = transfer.delivery_id.expect("a first frame has its id");
            let first = *session.first_received_id.get_or_insert(id);
            let expected = first.wrapping_add(received_nth as u32);
            assert_eq!(id, expected, "{}: ids have a gap", link.name);
            assert!(
                link.credit() > 0,
                "{}: a delivery without credit",
                link.name
            );
            assert!(!transfer.aborted, "a delivery that begins with its abort");
            link.count += 1;
            link.open = Some(received_nth);
            let tag = transfer.delivery_tag.expect("a tag").to_vec();
            let is_unsettled = |other: &Received| !other.settled && other.fate.is_none();
            let mut others = session.received.iter().filter(|other| other.link == nth);
            assert!(
                transfer.settled == Some(true)
                    || !others.any(|other| other.tag == tag && is_unsettled(other)),
                "{}: {tag:02X?} is the tag of another delivery",
                link.name
            );
            let mode = transfer.rcv_settle_mode.unwrap_or(link.rcv_settle_mode);
            session.received.push(Received {
                link: nth,
                tag,
                message_format: transfer.message_format.expect("a message-format"),
                payload: Vec::new(),
                receiving: Receiving::Open,
                settled: false,
                is_second: mode == ReceiverSettleMode::Second,
                fate: None,
                settled_by_other: false,
            });
        }
        if let Some(id) = transfer.delivery_id {
            let expected = session.received_id(received_nth);
            assert_eq!(id, expected, "a frame of another delivery");
        }
        let link = &mut session.links[nth];
        let received = &mut session.received[received_nth];
        if let Some(tag) = transfer.delivery_tag {
            assert_eq!(tag, received.tag, "a frame of another delivery");
        }
        assert!(
            !received.settled || transfer.settled != Some(false),
            "{}: from settled to unsettled",
            link.name
        );
        received.settled |= transfer.settled == Some(true);
        if transfer.aborted {
            received.receiving = Receiving::Aborted;
        } else {
            assert!(!payload.is_empty(), "a frame without payload");
            received.payload.extend_from_slice(payload);
            if !transfer.more {
                received.receiving = Receiving::Whole;
                let mode = link.remote_snd_settle_mode;
                let allowed = match mode {
                    SenderSettleMode::Mixed => true,
                    SenderSettleMode::Settled => received.settled,
                    SenderSettleMode::Unsettled => !received.settled,
                };
                assert!(allowed, "{}: settled against {mode:?}", link.name);
            }
        }
        if received.receiving != Receiving::Open {
            link.open = None;
        }
    }

    pub(super) fn on_disposition(&mut self, at: usize, disposition: &Disposition<'_>) {
        match disposition.role {
            Role::Receiver => self.outcome_came(at, disposition),
            Role::Sender => self.settling_came(at, disposition),
        }
    }

    /// Takes a disposition of the sender, who settles what this peer said became of deliveries.
    fn settling_came(&mut self, at: usize, disposition: &Disposition<'_>) {
        assert!(disposition.settled, "a sender that says no news");
        let session = &mut self.sessions[at];
        let first = session.first_received_id.expect("a delivery came");
        for nth in ids(disposition, first, session.received.len()) {
            let received = &mut session.received[nth];
            let tag = &received.tag;
            assert!(received.fate.is_some(), "{tag:02X?} settled without a fate");
            assert!(received.is_second, "{tag:02X?} was settled by its receiver");
            assert!(!received.settled_by_other, "{tag:02X?} settled twice");
            received.settled_by_other = true;
        }
    }
}
