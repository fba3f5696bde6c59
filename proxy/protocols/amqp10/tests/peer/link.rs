//! A link as a peer sees it: how it is attached and detached, delivery-count, credit and drain.

use std::collections::VecDeque;

use parsers::amqp10::{
    AmqpError, Attach, Detach, Flow, Handle, Presence, ReceiverSettleMode, Role, SenderSettleMode,
    Terminus, encode,
};

use super::sending::{Delivery, Sending};
use super::session::{Session, distance};
use super::{Peer, Receiving, error_texts};

/// How a link is attached.
#[derive(Clone, Debug)]
pub(crate) struct LinkTerms {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// A handle that is free; the next one that was never used if none is given.
    pub(crate) handle: Option<u32>,
    pub(crate) source: Option<&'static str>,
    pub(crate) target: Option<&'static str>,
    pub(crate) snd_settle_mode: SenderSettleMode,
    pub(crate) rcv_settle_mode: ReceiverSettleMode,
    pub(crate) initial_delivery_count: u32,
    pub(crate) max_message_size: Option<u64>,
}

impl LinkTerms {
    pub(crate) fn new(name: &str, role: Role) -> Self {
        Self {
            name: name.to_owned(),
            role,
            handle: None,
            source: Some("q"),
            target: Some("q"),
            snd_settle_mode: SenderSettleMode::Mixed,
            rcv_settle_mode: ReceiverSettleMode::First,
            initial_delivery_count: 0,
            max_message_size: None,
        }
    }
}

/// At which frame of a delivery a peer advances the delivery-count: libraries differ, and the
/// specification does not say (AMQP 1.0 §2.6.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    AtFirst,
    AtLast,
}

/// The life of a link, as one side has told and heard it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// This side said attach.
    Attaching,
    Attached,
    /// This side said detach.
    Detaching,
    Over,
}

/// A link. Deliveries are counted from its attach, so that the delivery-count may wrap.
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) life: Life,
    pub(crate) handle: Handle,
    /// The other side's handle while it has one.
    remote_handle: Option<Handle>,
    pub(crate) rcv_settle_mode: ReceiverSettleMode,
    /// What this side said, and the other one.
    pub(crate) snd_settle_mode: SenderSettleMode,
    pub(crate) remote_snd_settle_mode: SenderSettleMode,
    /// The max-message-size of the other side's attach.
    pub(crate) remote_max_message_size: Option<u64>,
    /// Closed, and condition and description of the error, of the other side's detach.
    pub(crate) detached_by_other: Option<(bool, Option<(String, String)>)>,
    /// The delivery-count that the sender began with, once that is known.
    initial_delivery_count: Option<u32>,
    /// Deliveries that were begun, and credit that was given back.
    pub(crate) count: i64,
    /// Deliveries that the receiver allows in all: delivery-count and link-credit.
    pub(crate) allowed: i64,
    /// What its receiver granted last, and what that allows in all.
    pub(crate) granted: u32,
    stated: i64,
    /// Up to where the sender may give credit back; 0 before it was asked to.
    may_drain: i64,
    /// A receiver waits for its credit to be used up or given back; a sender was asked to.
    pub(crate) drain: bool,
    counts: Counts,
    credit_may_shrink: bool,
    /// The delivery whose last frame did not come yet, by its place in the session.
    pub(crate) open: Option<usize>,
    /// What is to be sent.
    pub(crate) queue: VecDeque<Delivery>,
}

impl Link {
    pub(crate) fn credit(&self) -> i64 {
        self.allowed - self.count
    }

    /// The link part of a flow of this peer.
    fn flow(&self, session: &Session) -> Flow {
        let uncounted = i64::from(self.open.is_some() && self.counts == Counts::AtLast);
        let count = self.count - uncounted;
        let initial = self.initial_delivery_count;
        Flow {
            handle: Some(self.handle),
            delivery_count: initial.map(|initial| initial.wrapping_add(count as u32)),
            link_credit: Some((self.allowed - count).max(0) as u32),
            drain: self.drain,
            ..session.flow()
        }
    }

    /// The deliveries that a delivery-count of the other side stands for.
    fn counted(&self, delivery_count: Option<u32>) -> i64 {
        let initial = self.initial_delivery_count.unwrap_or(0);
        let ours = initial.wrapping_add(self.count as u32);
        self.count + i64::from(distance(ours, delivery_count.unwrap_or(initial)))
    }

    /// Takes a flow of the receiver (AMQP 1.0 §2.6.7).
    fn credit_came(&mut self, flow: &Flow) {
        let counted = self.counted(flow.delivery_count);
        assert!(
            (0..=self.count).contains(&counted),
            "{}: a receiver's delivery-count for {counted} deliveries; {} were sent",
            self.name,
            self.count
        );
        let credit = flow.link_credit.expect("link-credit stands with a handle");
        let allowed = counted + i64::from(credit);
        assert!(
            allowed >= self.allowed || self.credit_may_shrink,
            "{}: credit for {} deliveries shrank to {allowed}",
            self.name,
            self.allowed
        );
        self.allowed = allowed;
        self.drain = flow.drain;
    }

    /// Takes a flow of the sender (AMQP 1.0 §2.6.7).
    fn count_came(&mut self, flow: &Flow) {
        let counted = self.counted(flow.delivery_count);
        let uncounted = i64::from(self.open.is_some());
        assert!(
            (self.count - uncounted..=self.count.max(self.may_drain)).contains(&counted),
            "{}: a sender's delivery-count for {counted} deliveries; {} came",
            self.name,
            self.count
        );
        self.count = self.count.max(counted);
        if self.credit() == 0 {
            self.drain = false;
        }
    }
}

impl Peer {
    /// Attaches a link, and says which one of the session's it is.
    pub(crate) fn attach(&mut self, session: usize, terms: &LinkTerms) -> usize {
        let node = |address| Terminus::Node {
            address,
            dynamic: false,
        };
        let is_sender = terms.role == Role::Sender;
        let attach = Attach {
            name: &terms.name,
            handle: self.free_handle(session, terms.handle),
            role: terms.role,
            snd_settle_mode: terms.snd_settle_mode,
            rcv_settle_mode: terms.rcv_settle_mode,
            source: node(terms.source),
            target: node(terms.target),
            unsettled: Presence::Absent,
            initial_delivery_count: is_sender.then_some(terms.initial_delivery_count),
            max_message_size: terms.max_message_size,
        };
        self.say_attach(session, &attach)
    }

    pub(crate) fn detach(&mut self, session: usize, link: usize, closed: bool) {
        self.detach_for(session, link, closed, None);
    }

    pub(crate) fn detach_for(
        &mut self,
        session: usize,
        link: usize,
        closed: bool,
        error: Option<AmqpError<'_>>,
    ) {
        let session = &mut self.sessions[session];
        let link = &mut session.links[link];
        assert!(matches!(link.life, Life::Attaching | Life::Attached));
        link.life = Life::Detaching;
        let detach = Detach {
            handle: link.handle,
            closed,
            error,
        };
        encode::detach(&mut self.output, session.channel, &detach);
    }

    /// Lets this many more deliveries come.
    pub(crate) fn grant_credit(&mut self, session: usize, link: usize, credit: u32) {
        let receiver = &mut self.sessions[session].links[link];
        assert_eq!(receiver.role, Role::Receiver);
        receiver.allowed = receiver.allowed.max(receiver.count + i64::from(credit));
        receiver.drain = false;
        self.send_link_flow(session, link, false);
    }

    /// Asks for the credit of a link to be used up or given back (AMQP 1.0 §2.6.7).
    pub(crate) fn ask_to_drain(&mut self, session: usize, link: usize) {
        let receiver = &mut self.sessions[session].links[link];
        assert_eq!(receiver.role, Role::Receiver);
        receiver.drain = receiver.credit() > 0;
        receiver.may_drain = receiver.allowed;
        self.send_link_flow(session, link, false);
    }

    /// Tells where a link stands, and asks the other side for the same or not.
    pub(crate) fn send_link_flow(&mut self, session: usize, link: usize, echo: bool) {
        let session = &mut self.sessions[session];
        let flow = Flow {
            echo,
            ..session.links[link].flow(session)
        };
        let receiver = &mut session.links[link];
        // To repeat what it allows is no grant.
        if receiver.allowed != receiver.stated {
            receiver.granted = flow.link_credit.unwrap_or(0);
            receiver.stated = receiver.allowed;
        }
        encode::flow(&mut self.output, session.channel, &flow);
    }

    /// Gives credit back if that was asked for and there is nothing to be sent.
    pub(super) fn drain(&mut self, session: usize, link: usize) {
        let sender = &mut self.sessions[session].links[link];
        let idle = sender.queue.is_empty() || sender.credit() <= 0;
        if sender.drain && idle && sender.open.is_none() {
            sender.count = sender.count.max(sender.allowed);
            self.send_link_flow(session, link, false);
            self.sessions[session].links[link].drain = false;
        }
    }

    pub(super) fn on_link_flow(&mut self, at: usize, handle: Handle, flow: &Flow) {
        let nth = self.link_of(at, handle);
        let link = &mut self.sessions[at].links[nth];
        if link.life != Life::Attached {
            return;
        }
        let role = link.role;
        match role {
            Role::Sender => link.credit_came(flow),
            Role::Receiver => link.count_came(flow),
        }
        if flow.echo {
            self.send_link_flow(at, nth, false);
        }
        if role == Role::Sender {
            self.drain(at, nth);
        }
    }

    pub(super) fn on_attach(&mut self, at: usize, attach: &Attach<'_>) {
        let ours = &self.sessions[at].links;
        let taken = |link: &Link| link.remote_handle == Some(attach.handle);
        assert!(
            !ours.iter().any(taken),
            "{:?}: {:?} is taken",
            self.side,
            attach.handle
        );
        let awaited = |link: &Link| {
            link.name == attach.name
                && link.role != attach.role
                && matches!(link.life, Life::Attaching | Life::Detaching)
                && link.detached_by_other.is_none()
        };
        let nth = ours.iter().position(awaited).unwrap_or_else(|| {
            let role = match attach.role {
                Role::Sender => Role::Receiver,
                Role::Receiver => Role::Sender,
            };
            let initial = self.terms.initial_delivery_count;
            let insists = role == Role::Sender && self.terms.insists_on_unsettled;
            let asked = attach.snd_settle_mode;
            let snd_settle_mode = match asked {
                SenderSettleMode::Settled => asked,
                _ if insists => SenderSettleMode::Unsettled,
                _ => asked,
            };
            let answer = Attach {
                snd_settle_mode,
                handle: self.free_handle(at, None),
                role,
                initial_delivery_count: (role == Role::Sender).then_some(initial),
                max_message_size: self.terms.max_message_size,
                ..*attach
            };
            self.say_attach(at, &answer)
        });
        let link = &mut self.sessions[at].links[nth];
        assert_eq!(link.remote_handle, None, "{}: a second attach", link.name);
        link.remote_handle = Some(attach.handle);
        link.remote_max_message_size = attach.max_message_size;
        link.remote_snd_settle_mode = attach.snd_settle_mode;
        let (asked, told) = (link.snd_settle_mode, attach.snd_settle_mode);
        assert!(
            link.role == Role::Receiver || asked != SenderSettleMode::Settled || told == asked,
            "{}: asked for {asked:?} and was told {told:?}",
            link.name
        );
        if link.life == Life::Attaching {
            link.life = Life::Attached;
        }
        if link.role == Role::Receiver {
            let initial = attach.initial_delivery_count;
            link.initial_delivery_count = Some(initial.expect("an initial-delivery-count"));
        }
    }

    pub(super) fn on_detach(&mut self, at: usize, detach: &Detach<'_>) {
        let nth = self.link_of(at, detach.handle);
        let session = &mut self.sessions[at];
        let link = &mut session.links[nth];
        link.detached_by_other = Some((detach.closed, detach.error.map(error_texts)));
        if let Some(open) = link.open.take() {
            match link.role {
                Role::Sender => session.sent[open].sending = Sending::Lost,
                Role::Receiver => session.received[open].receiving = Receiving::Lost,
            }
        }
        if link.life != Life::Detaching {
            self.detach(at, nth, detach.closed);
        }
        let link = &mut self.sessions[at].links[nth];
        link.remote_handle = None;
        link.life = Life::Over;
    }

    /// The link that the other side calls by this handle.
    pub(super) fn link_of(&self, session: usize, handle: Handle) -> usize {
        let links = &self.sessions[session].links;
        let by_handle = |link: &Link| link.remote_handle == Some(handle);
        let at = links.iter().position(by_handle);
        at.unwrap_or_else(|| panic!("{:?}: no link has {handle:?}", self.side))
    }

    fn free_handle(&mut self, session: usize, wanted: Option<u32>) -> Handle {
        let session = &mut self.sessions[session];
        let handle = wanted.unwrap_or_else(|| {
            session.next_handle += 1;
            session.next_handle - 1
        });
        let taken = |link: &Link| link.handle.0 == handle && link.life != Life::Over;
        assert!(!session.links.iter().any(taken), "handle {handle} is taken");
        Handle(handle)
    }

    fn say_attach(&mut self, session: usize, attach: &Attach<'_>) -> usize {
        let session = &mut self.sessions[session];
        encode::attach(&mut self.output, session.channel, attach);
        session.links.push(Link {
            name: attach.name.to_owned(),
            role: attach.role,
            life: Life::Attaching,
            handle: attach.handle,
            remote_handle: None,
            rcv_settle_mode: attach.rcv_settle_mode,
            snd_settle_mode: attach.snd_settle_mode,
            remote_snd_settle_mode: SenderSettleMode::Mixed,
            remote_max_message_size: None,
            detached_by_other: None,
            initial_delivery_count: attach.initial_delivery_count,
            count: 0,
            allowed: 0,
            granted: 0,
            stated: 0,
            may_drain: 0,
            drain: false,
            counts: self.terms.counts,
            credit_may_shrink: self.terms.credit_may_shrink,
            open: None,
            queue: VecDeque::new(),
        });
        session.links.len() - 1
    }
}
