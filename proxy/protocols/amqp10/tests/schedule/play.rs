//! Plays a schedule between two strict peers, and brings it to a good end.

use std::sync::Arc;

use parsers::amqp10::Role;

use super::super::conversation::Conversation;
use super::super::frames::Fate;
use super::super::peer::{Delivery, Life, LinkTerms, Peer};
use super::super::{SIDES, Terms};
use super::plan::{Op, Plan};
use crate::gate::{HoldBudget, Side};
use crate::protocols::amqp10::Presettled;

/// A schedule that is being played.
pub(super) struct Play {
    pub(super) conversation: Conversation,
    pub(super) terms: Terms,
    /// What messages are held in.
    pub(super) hold: Arc<HoldBudget>,
    /// Every link that there was.
    pub(super) links: Vec<PlayedLink>,
    /// The one that each link of the plan is at present, by its place in `links`.
    current: Vec<usize>,
}

/// A link, and where each side keeps it.
#[derive(Clone, Debug)]
pub(super) struct PlayedLink {
    pub(super) terms: LinkTerms,
    pub(super) sender: Side,
    /// The session and the place of the link in it, by side; the broker's once it has been attached.
    pub(super) client: (usize, usize),
    /// Whether its receiver detached it on its own account.
    pub(super) is_left: bool,
}

impl Play {
    /// Lets the client attach the links of a plan, all in one go.
    pub(super) fn begin(terms: Terms, plan: &Plan) -> Self {
        let (client, broker) = (plan.client.clone(), plan.broker.clone());
        let hold = Arc::new(HoldBudget::new(terms.hold_memory));
        let gate = terms.open_within(&hold, terms.policy());
        let mut conversation = Conversation::new(gate, client, broker);
        conversation.client.start();
        for _ in 0..plan.sessions {
            conversation.client.begin();
        }
        let mut play = Self {
            conversation,
            terms,
            hold,
            links: Vec::new(),
            current: Vec::new(),
        };
        for (nth, link) in plan.links.iter().enumerate() {
            let role = match link.sender {
                Side::Client => Role::Sender,
                Side::Broker => Role::Receiver,
            };
            let terms = LinkTerms {
                rcv_settle_mode: link.rcv_settle_mode,
                snd_settle_mode: link.snd_settle_mode,
                initial_delivery_count: link.initial_delivery_count,
                ..LinkTerms::new(&format!("link-{nth}"), role)
            };
            play.current.push(nth);
            play.attach(terms, link.session % plan.sessions);
        }
        play.conversation.run();
        for (nth, link) in plan.links.iter().enumerate() {
            play.with(nth, link.sender.other(), |peer, session, at| {
                peer.grant_credit(session, at, link.credit);
            });
        }
        play
    }

    fn attach(&mut self, terms: LinkTerms, session: usize) {
        let sender = match terms.role {
            Role::Sender => Side::Client,
            Role::Receiver => Side::Broker,
        };
        let at = self.conversation.client.attach(session, &terms);
        self.links.push(PlayedLink {
            terms,
            sender,
            client: (session, at),
            is_left: false,
        });
    }

    /// Where a side keeps a link, if it knows it yet.
    pub(super) fn place(&self, link: usize, side: Side) -> Option<(usize, usize)> {
        let PlayedLink { terms, client, .. } = &self.links[link];
        if side == Side::Client {
            return Some(*client);
        }
        // Sessions are begun by the client, and reach the broker in order.
        let session = client.0;
        let links = &self.conversation.broker.sessions.get(session)?.links;
        let at = links.iter().position(|link| link.name == terms.name)?;
        Some((session, at))
    }

    /// Lets a side do something with a link that it has attached.
    fn with(&mut self, link: usize, side: Side, act: impl FnOnce(&mut Peer, usize, usize)) {
        let link = self.current[link % self.current.len()];
        if let Some((session, at)) = self.place(link, side) {
            let peer = self.conversation.peer(side);
            if peer.sessions[session].links[at].life == Life::Attached && !peer.said_close {
                act(peer, session, at);
            }
        }
    }

    fn sender_of(&self, link: usize) -> Side {
        self.links[self.current[link % self.current.len()]].sender
    }

    pub(super) fn play(&mut self, op: &Op) {
        match *op {
            Op::Queue { link, ref delivery } => {
                let delivery = delivery.clone();
                self.with(link, self.sender_of(link), |peer, session, at| {
                    peer.queue(session, at, delivery);
                });
            }
            Op::Push { link, frames } => {
                self.with(link, self.sender_of(link), |peer, session, at| {
                    for _ in 0..frames {
                        peer.push_frame(session, at);
                    }
                });
            }
            Op::Credit { link, credit } => {
                self.with(link, self.sender_of(link).other(), |peer, session, at| {
                    peer.grant_credit(session, at, credit);
                });
            }
            Op::Drain { link } => {
                self.with(link, self.sender_of(link).other(), |peer, session, at| {
                    peer.ask_to_drain(session, at);
                });
            }
            Op::Tell { link, echo } => {
                self.with(link, self.sender_of(link), |peer, session, at| {
                    peer.send_link_flow(session, at, echo);
                });
            }
            Op::Window { side, link, frames } => {
                self.with(link, side, |peer, session, _| {
                    peer.grant_window(session, frames);
                });
            }
            Op::Dispose { link, most, fate } => {
                self.with(link, self.sender_of(link).other(), |peer, session, _| {
                    peer.dispose_next(session, most, &fates(fate));
                });
            }
            Op::Beat { side } => {
                let peer = self.conversation.peer(side);
                if !peer.said_close {
                    peer.heartbeat();
                }
            }
            Op::Settle { link } => {
                self.with(link, self.sender_of(link), |peer, session, _| {
                    peer.settle(session);
                });
            }
            Op::Carry { side, octets } => {
                self.conversation.carry(side, octets);
            }
            Op::Detach { side, link, closed } => self.detach(side, link, closed),
            Op::Attach { link } => self.attach_again(link),
        }
    }

    fn detach(&mut self, side: Side, link: usize, closed: bool) {
        let nth = self.current[link % self.current.len()];
        let mut did = false;
        self.with(link, side, |peer, session, at| {
            peer.detach(session, at, closed);
            did = true;
        });
        self.links[nth].is_left |= did && side != self.links[nth].sender;
    }

    /// Attaches a link whose former self is over, by the same handle and another name.
    fn attach_again(&mut self, link: usize) {
        let link = link % self.current.len();
        let before = self.links[self.current[link]].clone();
        let (session, at) = before.client;
        let was = &self.conversation.client.sessions[session].links[at];
        if was.life == Life::Over && !self.conversation.client.said_close {
            let terms = LinkTerms {
                name: format!("{}'", before.terms.name),
                handle: Some(was.handle.0),
                ..before.terms
            };
            self.current[link] = self.links.len();
            self.attach(terms, session);
        }
    }

    /// Attaches every link again that is over.
    pub(super) fn attach_all_again(&mut self) {
        for link in 0..self.current.len() {
            self.attach_again(link);
        }
        self.conversation.run();
    }

    /// Lets all that is lined up be sent, allowed, received, answered and settled, and checks that
    /// it was.
    pub(super) fn finish(&mut self) {
        self.go_on();
        for link in 0..self.links.len() {
            self.assert_sent(link);
        }
        assert_eq!(self.hold.held(), 0, "what is held when all has gone out");
    }

    /// Lets all that is lined up be sent, allowed, received, answered and settled.
    pub(super) fn go_on(&mut self) {
        for round in 0.. {
            assert!(round < 200, "this does not come to an end");
            self.conversation.run();
            if self.terms.presettled == Presettled::Unsettled && self.terms.hold_memory > 300 {
                self.assert_paced();
            }
            let mut moved = false;
            for side in SIDES {
                moved |= self.finish_side(side);
            }
            if !moved {
                break;
            }
        }
        self.conversation.assert_whole_frames();
    }

    fn finish_side(&mut self, side: Side) -> bool {
        let peer = self.conversation.peer(side);
        if peer.said_close {
            return false;
        }
        let mut moved = false;
        for session in 0..peer.sessions.len() {
            for link in 0..peer.sessions[session].links.len() {
                while peer.push_frame(session, link) {
                    moved = true;
                }
                let at = &peer.sessions[session].links[link];
                let is_up = at.life == Life::Attached;
                if is_up && at.role == Role::Receiver && at.credit() < 3 {
                    peer.grant_credit(session, link, 3);
                    moved = true;
                }
            }
            while peer.dispose_next(session, 3, &Fate::Accepted) {
                moved = true;
            }
            if !peer.sessions[session].to_settle.is_empty() {
                peer.settle(session);
                moved = true;
            }
            if peer.sessions[session].window() < 3 {
                peer.grant_window(session, 10);
                moved = true;
            }
        }
        moved
    }

    fn assert_sent(&self, link: usize) {
        let side = self.links[link].sender;
        let Some((session, at)) = self.place(link, side) else {
            return;
        };
        let peer = self.conversation.the(side);
        let sender = &peer.sessions[session].links[at];
        let stalls = !sender.queue.is_empty() || sender.open.is_some();
        assert!(
            !stalls || sender.life != Life::Attached || peer.said_close,
            "{} stalls: {} deliveries wait, with credit {} and a window of {}",
            sender.name,
            sender.queue.len(),
            sender.credit(),
            peer.sessions[session].remote_window()
        );
    }

    /// Sends one small message on every link that is up, and lets all of it be answered.
    pub(super) fn play_small_round(&mut self) {
        for link in 0..self.current.len() {
            self.play(&Op::Queue {
                link,
                delivery: Delivery::of(&[7]),
            });
        }
        self.finish();
    }

    /// Lets every side tell where it stands in every session.
    pub(super) fn tell_windows(&mut self) {
        for side in SIDES {
            let peer = self.conversation.peer(side);
            for session in 0..peer.sessions.len() {
                if !peer.said_close {
                    let window = peer.sessions[session].window();
                    peer.grant_window(session, window);
                }
            }
        }
        self.conversation.run();
    }
}

fn fates(nth: usize) -> Fate {
    match nth {
        0 => Fate::rejected("amqp:internal-error", "no"),
        1 => Fate::Released,
        2 => Fate::Modified,
        _ => Fate::Accepted,
    }
}
