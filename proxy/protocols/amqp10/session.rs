//! One session: its channels, its links, and the windows of its two sides.

use std::collections::{BTreeMap, VecDeque};

use parsers::amqp10::{Attach, Begin, Channel, Flow, Handle};

use super::PerSide;
use super::delivery::{Course, Delivery};
use super::link::{Link, LinkState, sender};
use super::presettled::{Leaving, Owed, Patience};
use super::refuse::Word;
use super::release::Outgoing;
use super::translate::{Frames, Translator};
use crate::gate::{Meter, Side};

/// A session that at least one side has begun and not ended.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The channel of each side; none before its begin and after its end.
    pub(super) channels: PerSide<Option<Channel>>,
    /// What each side said of its windows last; none before its begin.
    pub(super) windows: PerSide<Option<Window>>,
    /// The deliveries that each side sends.
    pub(super) ways: PerSide<Way>,
    /// Its links, each in a place that it keeps; at most [`Session::MOST_LINKS`].
    pub(super) links: Vec<Option<Link>>,
    /// Where the link of a handle is, for each side.
    pub(super) handles: PerSide<BTreeMap<Handle, usize>>,
    /// What waits for the begin of the side in whose name it is said.
    pub(super) waiting: PerSide<Vec<Word>>,
    /// Links whose client may have to be told of credit, by their places.
    pub(super) credit_dues: Vec<usize>,
    /// Whether the client has ended it, which waits for outcomes.
    pub(super) is_ending: bool,
    /// For how long.
    pub(super) patience: Patience,
}

/// The deliveries of one direction.
#[derive(Debug, Default)]
pub(super) struct Way {
    /// Their frames.
    pub(super) frames: Frames,
    /// Frames that the sender may still send by what it was told last; 0 before both begins.
    pub(super) left: i64,
    /// Whether that may be more than the receiver takes, because frames are held.
    pub(super) is_paced: bool,
    /// Frames that may go out when their receiver takes more, in order; all of them are held.
    pub(super) queue: VecDeque<Outgoing>,
    /// Links that have come to an end of which their receiver has not been told yet.
    pub(super) leaving: Vec<Leaving>,
    /// Those that were settled when they came and that their receiver has to settle.
    pub(super) owed: Owed,
    /// Those that were restored and are to be accepted in their receiver's name: runs of their
    /// sender's ids, and whether they are settled second.
    pub(super) accepts: Vec<(u32, u32, bool)>,
    /// Their ids, once the sides do not number alike.
    pub(super) translator: Option<Translator>,
}

/// What a side said of its windows last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The transfer-id of its first frame.
    pub(super) first_outgoing_id: u32,
    /// Frames that it may send.
    pub(super) outgoing_window: u32,
    /// The transfer-id that it expects next, in its own numbers; none if it has not said.
    pub(super) next_incoming_id: Option<u32>,
    /// Frames that it takes from there.
    pub(super) incoming_window: u32,
}

impl Session {
    /// Links that may be attached at once in a session.
    pub(super) const MOST_LINKS: usize = 4_096;

    /// Takes over the begin of a side.
    pub(super) fn begin(&mut self, side: Side, channel: Channel, begin: &Begin) {
        *self.channels.of_mut(side) = Some(channel);
        *self.windows.of_mut(side) = Some(Window {
            first_outgoing_id: begin.next_outgoing_id,
            outgoing_window: begin.outgoing_window,
            next_incoming_id: None,
            incoming_window: begin.incoming_window,
        });
        for from in [side, side.other()] {
            self.tell(from);
        }
    }

    /// Takes over the session part of a side's flow.
    pub(super) fn note_flow(&mut self, side: Side, flow: &Flow) {
        if let Some(window) = self.windows.of_mut(side) {
            window.outgoing_window = flow.outgoing_window;
            window.next_incoming_id = flow.next_incoming_id;
            window.incoming_window = flow.incoming_window;
        }
    }

    /// Finds the link that a side attaches, or makes room for it; `None` if there are too many.
    pub(super) fn place_of(&mut self, side: Side, attach: &Attach<'_>) -> Option<usize> {
        let from = sender(side, attach.role);
        // A link that was detached for a refusal may be attached again by one side before the other
        // has answered the detach: that is another one.
        let is_it = |link: &Link| {
            link.sender == from && *link.name == *attach.name && !link.attached.of(side)
        };
        let known = self
            .links
            .iter()
            .position(|link| link.as_ref().is_some_and(is_it));
        let at = match known.or_else(|| self.links.iter().position(Option::is_none)) {
            Some(at) => at,
            None if self.links.len() < Self::MOST_LINKS => {
                self.links.push(None);
                self.links.len() - 1
            }
            None => return None,
        };
        if let Some(place) = self.links.get_mut(at) {
            place.get_or_insert_with(|| Link::new(side, attach));
        }
        self.handles.of_mut(side).insert(attach.handle, at);
        Some(at)
    }

    /// The place and the link of a side's handle.
    pub(super) fn link_mut(&mut self, side: Side, handle: Handle) -> Option<(usize, &mut Link)> {
        let at = *self.handles.of(side).get(&handle)?;
        let link = self.links.get_mut(at)?.as_mut()?;
        Some((at, link))
    }

    /// The link at a place.
    pub(super) fn at_mut(&mut self, at: usize) -> Option<&mut Link> {
        self.links.get_mut(at)?.as_mut()
    }

    /// Takes a side's handle off its link; the link is gone with the second one.
    pub(super) fn detach(&mut self, side: Side, handle: Handle, meter: &mut Meter) {
        let Some(at) = self.handles.of_mut(side).remove(&handle) else {
            return;
        };
        if let Some(place) = self.links.get_mut(at)
            && let Some(link) = place
        {
            *link.handles.of_mut(side) = None;
            if !link.is_gone() {
                return;
            }
            let (sender, is_closed) = (link.sender, link.is_closed);
            let address = link.address.take();
            *place = None;
            self.lose_link(at, address.as_deref(), meter);
            match &mut self.ways.of_mut(sender).translator {
                Some(translator) if is_closed => translator.forget_link(at),
                Some(translator) => translator.suspend_link(at),
                None => {}
            }
        }
    }

    /// The first of the deliveries of a side of which its receiver has seen nothing yet; the first
    /// whose id will not be the same on both sides. None if that has been found before.
    pub(super) fn oldest_held(&self, from: Side) -> Option<u32> {
        let way = self.ways.of(from);
        if way.frames.held() == 0 || way.translator.is_some() {
            return None;
        }
        let links = self.links.iter().flatten();
        let held = links
            .filter(|link| link.sender == from)
            .filter_map(|link| link.current.as_ref())
            .filter(|delivery| delivery.is_held())
            .map(|delivery| delivery.id);
        let queued = way.queue.iter().filter(|outgoing| outgoing.has_first);
        let ids = held.chain(queued.map(|outgoing| outgoing.id));
        ids.reduce(|one, other| {
            if (other.wrapping_sub(one) as i32) < 0 {
                other
            } else {
                one
            }
        })
    }

    /// The delivery-count that the receiver of a link has to be told where the sender says this one:
    /// without the deliveries that the receiver has not seen.
    ///
    /// Some senders count a delivery at its first frame, some at its last (AMQP 1.0 §2.6.7 leaves
    /// that open), and more than their deliveries only when they give credit back.
    pub(super) fn seen(&mut self, from: Side, at: usize, delivery_count: u32) -> u32 {
        let queue = &self.ways.of(from).queue;
        let queued = queue
            .iter()
            .filter(|outgoing| outgoing.link == at && outgoing.has_first);
        let Some(link) = self.links.get_mut(at).and_then(Option::as_mut) else {
            return delivery_count;
        };
        let mut unseen = link.swallowed;
        let current = link.current.as_ref();
        let mut current_is_unseen = current.is_some_and(|current| current.is_unseen);
        if current.is_some_and(Delivery::is_held) {
            unseen = unseen.wrapping_add(1);
            current_is_unseen = true;
        }
        for outgoing in queued {
            unseen = unseen.wrapping_add(1);
            current_is_unseen |= current.is_some_and(|current| current.id == outgoing.id);
        }
        if link.note_count(delivery_count) && current_is_unseen {
            unseen = unseen.wrapping_sub(1);
        }
        delivery_count.wrapping_sub(unseen)
    }

    /// Whether a side has ended the session, or none of it has begun.
    pub(super) fn is_ended(&self, side: Side) -> bool {
        self.channels.of(side).is_none() && self.windows.of(side).is_some()
    }

    /// The id that the receiver is to know a side's delivery on a link by, of which a frame goes out;
    /// `oldest` is the first of those that are held. `None` if there are too many.
    pub(super) fn number(
        &mut self,
        from: Side,
        oldest: Option<u32>,
        (id, link): (u32, usize),
        is_changed: bool,
    ) -> Option<u32> {
        let way = self.ways.of_mut(from);
        if way.translator.is_none()
            && let Some(first) = oldest.or(is_changed.then_some(id))
        {
            // It overtakes a delivery that is held, or the two sides settle it each on its own.
            way.number_from(first).note(id);
        }
        let Some(translator) = &mut way.translator else {
            return Some(id);
        };
        let theirs = translator.forward(id, link)?;
        if is_changed {
            translator.part(id);
        }
        Some(theirs)
    }

    /// Gives up frames of a side's delivery that its receiver will not see, and all of the delivery
    /// if that has seen nothing of it.
    pub(super) fn give_up(&mut self, from: Side, id: u32, frames: u32, is_unseen: bool) {
        let oldest = self.oldest_held(from);
        let way = self.ways.of_mut(from);
        way.frames.swallowed = way.frames.swallowed.wrapping_add(frames);
        if is_unseen {
            let first = oldest.filter(|&oldest| (id.wrapping_sub(oldest) as i32) > 0);
            way.number_from(first.unwrap_or(id)).skip(id);
        } else if let Some(translator) = &mut way.translator {
            translator.forget(id);
            translator.skip(id);
        }
    }

    /// Gives up those of the frames that wait for their receiver.
    pub(super) fn give_up_queue(&mut self, from: Side, which: impl Fn(&Outgoing) -> bool) {
        let queue = std::mem::take(&mut self.ways.of_mut(from).queue);
        let (given_up, kept): (VecDeque<_>, _) = queue.into_iter().partition(which);
        for outgoing in given_up {
            let frames = outgoing.held.frames.len() as u32;
            self.give_up(from, outgoing.id, frames, outgoing.has_first);
        }
        self.ways.of_mut(from).queue = kept;
    }

    /// Whether the receiver of a link has seen something of the present delivery, unless that is held.
    pub(super) fn has_begun(&self, from: Side, link: usize) -> bool {
        let current = self.links.get(link).and_then(Option::as_ref);
        let id = current.and_then(|link| Some(link.current.as_ref()?.id));
        let mut queue = self.ways.of(from).queue.iter();
        !queue.any(|it| it.link == link && it.has_first && Some(it.id) == id)
    }

    /// Throws away what follows on a link, whose receiver has left it.
    pub(super) fn leave(&mut self, at: usize) {
        let Some(link) = self.at_mut(at) else {
            return;
        };
        if link.state == LinkState::Attached {
            link.state = LinkState::Left;
        }
        let sender = link.sender;
        if let Some(delivery) = link.current.as_mut().filter(|delivery| delivery.is_held()) {
            let (id, held) = (delivery.id, delivery.held_frames());
            delivery.course = Course::Swallowed;
            self.give_up(sender, id, held, true);
        }
    }

    /// Whether frames of a link wait for their receiver.
    pub(super) fn is_queued(&self, from: Side, link: usize) -> bool {
        let mut queue = self.ways.of(from).queue.iter();
        queue.any(|outgoing| outgoing.link == link)
    }

    /// What is to be said to the receiver of a link now that nothing of it waits any more.
    pub(super) fn take_leaving(&mut self, from: Side, link: usize) -> Option<Word> {
        let leaving = &mut self.ways.of_mut(from).leaving;
        let at = leaving.iter().position(|leaving| leaving.link == link)?;
        Some(leaving.swap_remove(at).word)
    }
}

impl Way {
    /// Counts a frame that came, whatever becomes of it.
    pub(super) fn frame_came(&mut self) {
        self.frames.received = self.frames.received.wrapping_add(1);
        self.left -= 1;
    }

    /// Counts frames that came and went on as they are.
    pub(super) fn frames_went(&mut self, frames: u32) {
        self.frames.received = self.frames.received.wrapping_add(frames);
        self.frames.forwarded = self.frames.forwarded.wrapping_add(frames);
        self.left -= i64::from(frames);
    }

    /// Begins to number deliveries anew with this one, unless that has begun already.
    pub(super) fn number_from(&mut self, id: u32) -> &mut Translator {
        self.translator.get_or_insert_with(|| Translator::new(id))
    }
}
