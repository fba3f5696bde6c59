//! The credit that a client is let have while pre-settled deliveries of it are not settled.

use parsers::amqp10::{Flow, Scalar, encode::uint};

use super::super::link::{Credit, Link};
use super::super::session::Session;
use crate::gate::Side;

/// What a sender is told that it may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Told {
    /// The delivery-count up to which deliveries are known, in the sender's numbers, if that is said.
    pub(in super::super) delivery_count: Option<u32>,
    /// Deliveries beyond that.
    pub(in super::super) link_credit: u32,
}

/// What the sender of a link has been told of its receiver's credit.
///
/// What a client was told may be used up by deliveries that are on their way, so that only what it was
/// never told can be disposed of otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Pace {
    /// The link-credit by which the receiver changed last how much it allows in all; a flow that
    /// repeats that is no grant.
    granted: u32,
    /// How much of what the receiver allows was withheld from the sender when it was told last.
    pub(in super::super) withheld: u32,
    /// How much of it the sender has never been told of; below 0 if that has become less.
    pub(in super::super) untold: i64,
}

impl Link {
    /// Takes the receiver's last word on the credit.
    pub(in super::super) fn note_credit(&mut self, credit: Option<Credit>) {
        let before = self.allowed();
        self.credit = credit;
        let (Some(credit), Some(now)) = (credit, self.allowed()) else {
            return;
        };
        let (from, to) = before.unwrap_or((now.0, 0));
        let known = i64::from(now.0.wrapping_sub(from) as i32);
        let more = known + i64::from(now.1) - i64::from(to);
        self.pace.untold += more;
        if more != 0 {
            self.pace.granted = credit.link_credit;
        }
    }

    /// What the sender is to be told by the receiver's last word on the credit.
    ///
    /// That is the smaller of what is left of the credit, and of the last grant less the pre-settled
    /// deliveries that are not settled. The sum of both numbers is what counts (AMQP 1.0 §2.6.7).
    pub(in super::super) fn told(&self) -> Option<Told> {
        let credit = self.credit?;
        let as_it_is = Told {
            delivery_count: credit.delivery_count,
            link_credit: credit.link_credit,
        };
        let withheld = self.withheld_now();
        if self.swallowed == 0 && withheld == 0 {
            return Some(as_it_is);
        }
        let Some((known, _)) = self.allowed() else {
            return Some(as_it_is);
        };
        Some(Told {
            delivery_count: Some(known),
            link_credit: credit.link_credit.saturating_sub(withheld),
        })
    }

    /// Up to where the receiver allows deliveries: the delivery-count that it knew when it spoke
    /// last, in the sender's numbers, and the link-credit.
    fn allowed(&self) -> Option<(u32, u32)> {
        let credit = self.credit?;
        let known = credit.delivery_count.or(self.initial_delivery_count)?;
        Some((known.wrapping_add(self.swallowed), credit.link_credit))
    }

    /// Deliveries that the receiver allows beyond those that have begun.
    fn left(&self) -> Option<i64> {
        let (known, credit) = self.allowed()?;
        let begun = self.initial_delivery_count?.wrapping_add(self.count);
        Some(i64::from(credit) - i64::from(begun.wrapping_sub(known) as i32))
    }

    /// How much of what the receiver allows is withheld from the sender at present.
    ///
    /// Where the receiver wants it back, nothing is: it has got what the sender was never told of, and
    /// gets the rest from the sender.
    fn withheld_now(&self) -> u32 {
        let drain = self.credit.is_some_and(|credit| credit.drain);
        if drain { 0 } else { self.unsettled_share() }
    }

    /// How much of what the receiver allows the sender must not have, because pre-settled deliveries
    /// are not settled.
    fn unsettled_share(&self) -> u32 {
        let (Some(credit), Some(left)) = (self.credit, self.left()) else {
            return 0;
        };
        if self.unsettled == 0 {
            return 0;
        }
        let paced = i64::from(self.pace.granted) - i64::from(self.unsettled);
        let withheld = (left - paced).clamp(0, credit.link_credit.into());
        u32::try_from(withheld).unwrap_or(credit.link_credit)
    }

    /// Notes that the sender has been told, or is about to be.
    pub(in super::super) fn note_told(&mut self) {
        self.pace.withheld = self.withheld_now();
        self.pace.untold = self.pace.untold.min(self.pace.withheld.into());
    }

    /// Whether the sender is to be told now of credit that settlements have left it.
    ///
    /// One that has none left is told of any; another one when it has become half of the grant, so
    /// that it does not get a flow for each of its messages.
    pub(in super::super) fn credit_is_due(&self) -> bool {
        let Some(left) = self.left() else {
            return false;
        };
        let withheld = i64::from(self.pace.withheld);
        let gain = withheld - i64::from(self.withheld_now());
        let half = i64::from((self.pace.granted / 2).max(1));
        gain > 0 && (left <= withheld || gain >= half)
    }

    /// Gives what the sender was never told of back to a receiver that asks for it, since its sender
    /// can't. Returns how much that is: no more than the receiver knows of deliveries, so that what it
    /// knows still is not before the beginning in the sender's numbers.
    fn give_back(&mut self) -> u32 {
        let untold = u32::try_from(self.pace.untold).unwrap_or(0);
        let untold = untold.min(self.unsettled_share());
        self.swallowed = self.swallowed.wrapping_sub(untold);
        self.pace.untold -= i64::from(untold);
        untold
    }

    /// The link-credit that a sender states to a receiver which knows it by this delivery-count.
    pub(in super::super) fn stated_credit(&self, delivery_count: u32) -> Option<u32> {
        let credit = self.credit?;
        let known = credit.delivery_count.or(self.initial_delivery_count)?;
        let ahead = i64::from(delivery_count.wrapping_sub(known) as i32);
        u32::try_from((i64::from(credit.link_credit) - ahead).max(0)).ok()
    }
}

impl Session {
    /// What changes of a receiver's flow on its way to the sender of a link, whose credit it has
    /// become; and the flow that tells the receiver of credit that it is given back.
    pub(in super::super) fn pace(
        &mut self,
        sender: Side,
        at: usize,
        flow: &Flow,
        is_coming_in: bool,
    ) -> (Vec<(usize, Scalar)>, Option<Flow>) {
        let mut changes = Vec::new();
        let Some(link) = self.at_mut(at) else {
            return (changes, None);
        };
        let given_back = if flow.drain { link.give_back() } else { 0 };
        link.note_told();
        if let Some(told) = link.told() {
            if told.delivery_count != flow.delivery_count
                && let Some(delivery_count) = told.delivery_count
            {
                changes.push((Flow::DELIVERY_COUNT, uint(delivery_count)));
            }
            if Some(told.link_credit) != flow.link_credit {
                changes.push((Flow::LINK_CREDIT, uint(told.link_credit)));
            }
        }
        let unseen = u32::from(is_coming_in);
        let back = (given_back > 0)
            .then(|| self.count_flow(sender, at, unseen))
            .flatten();
        (changes, back)
    }

    /// A flow to the receiver of a link, in its sender's name, that says where that stands; it does not
    /// count as many deliveries as the receiver has seen nothing of, besides those that are held.
    fn count_flow(&mut self, sender: Side, at: usize, unseen: u32) -> Option<Flow> {
        let link = self.at_mut(at)?;
        let (handle, drain) = ((*link.handles.of(sender))?, link.credit?.drain);
        let sent = link.initial_delivery_count?.wrapping_add(link.count);
        let delivery_count = self.seen(sender, at, sent).wrapping_sub(unseen);
        let link_credit = self.at_mut(at)?.stated_credit(delivery_count);
        let session = self.flow_to(sender.other())?;
        Some(Flow {
            handle: Some(handle),
            delivery_count: Some(delivery_count),
            link_credit,
            drain,
            ..session
        })
    }
}
