//! One publisher and its subscriber: which messages there are, and what was seen of them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::stage::Protocol;

/// A pair of clients with a topic or queue of their own.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    /// What they speak.
    pub(crate) protocol: Protocol,
    /// The name of both clients, and of what is between them.
    pub(crate) name: String,
    /// Where they connect.
    pub(crate) address: SocketAddr,
    /// Between two messages.
    pub(crate) between: Duration,
    /// How many messages the first connection is short of the others.
    pub(crate) offset: usize,
}

/// What a publisher did, and what it was told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    /// Messages within both limits.
    pub(crate) small: u64,
    /// Messages that may be sent, and not received.
    pub(crate) middle: u64,
    /// Messages that may not be sent.
    pub(crate) large: u64,
    /// Large ones of which it learnt that they were refused.
    pub(crate) refused: u64,
    /// Large ones of which nobody can be told, or only by success.
    pub(crate) silent: u64,
    /// Octets in the bodies of small and middle ones.
    pub(crate) octets: u64,
    /// Connections it has made.
    pub(crate) connects: u64,
    /// The longest wait for an outcome.
    pub(crate) longest: Duration,
}

/// What a subscriber got.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    /// Messages.
    pub(crate) messages: u64,
    /// The longest time between two of them.
    pub(crate) longest: Duration,
    next: usize,
    last_at: Option<Instant>,
}

/// What is to become of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// It arrives.
    Small,
    /// It is refused on its way to the subscriber.
    Middle,
    /// It is refused on its way to the broker.
    Large,
}

/// What a client heard of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// That it was taken.
    Taken,
    /// That it was refused for its size.
    Refused,
}

/// One connection of a client.
pub(crate) trait Client: Sized {
    /// Connects as a client of this name, and waits until the broker has agreed.
    async fn connect(lane: &Lane, id: &str) -> Self;
    /// Says goodbye.
    async fn leave(self, lane: &Lane);
}

/// A client that publishes.
pub(crate) trait Publish: Client {
    /// Does what is to be done once for a connection.
    async fn prepare(&mut self, _lane: &Lane) {}
    /// Publishes a message and waits for what becomes of it.
    async fn publish(&mut self, lane: &Lane, number: usize) -> Told;
}

/// A client that subscribes.
pub(crate) trait Subscribe: Client {
    /// Asks for the messages of its lane.
    async fn subscribe(&mut self, lane: &Lane);
    /// Waits for the next one, and returns its body.
    async fn receive(&mut self, lane: &Lane) -> Vec<u8>;
}

/// Publishes until the end, one message after another, each with its outcome.
pub(crate) async fn send<P: Publish>(lane: Lane, end: Instant) -> Sent {
    let mut sent = Sent::default();
    let mut publisher: P = come(&lane, &mut sent).await;
    let mut number = 0;
    while lane.goes_on(end).await {
        if lane.turns(number) {
            publisher.leave(&lane).await;
            publisher = come(&lane, &mut sent).await;
        }
        sent.publish(&lane, &mut publisher, number).await;
        number += 1;
    }
    sent.publish(&lane, &mut publisher, LAST).await;
    publisher.leave(&lane).await;
    sent
}

async fn come<P: Publish>(lane: &Lane, sent: &mut Sent) -> P {
    sent.connects += 1;
    let id = format!("{}-{}", lane.name, sent.connects);
    let mut publisher = P::connect(lane, &id).await;
    publisher.prepare(lane).await;
    publisher
}

/// Takes what comes, until the last message.
pub(crate) async fn receive<S: Subscribe>(lane: Lane, ready: oneshot::Sender<()>) -> Received {
    let mut subscriber = S::connect(&lane, &lane.name).await;
    subscriber.subscribe(&lane).await;
    ready.send(()).unwrap();
    let mut received = Received::default();
    while received.count(&lane, &subscriber.receive(&lane).await) {}
    subscriber.leave(&lane).await;
    received
}

impl Lane {
    /// Messages of one connection.
    const STAY: usize = 40;

    /// Whether the publisher leaves and comes back before this message.
    fn turns(&self, number: usize) -> bool {
        (number + self.offset).is_multiple_of(Self::STAY)
    }

    /// Waits until it is time for the next message; `false` when there is time for none.
    async fn goes_on(&self, end: Instant) -> bool {
        tokio::time::sleep(self.between).await;
        Instant::now() < end
    }

    /// Waits for something that must not take long.
    pub(crate) async fn soon<T>(&self, what: &str, comes: impl Future<Output = T>) -> T {
        match timeout(STUCK, comes).await {
            Ok(seen) => seen,
            Err(_) => panic!("{} is stuck: no {what} within {STUCK:?}", self.name),
        }
    }
}

impl Sent {
    /// Publishes a message and counts it by its outcome, which must be one that it may have.
    async fn publish(&mut self, lane: &Lane, by: &mut impl Publish, number: usize) {
        let since = Instant::now();
        let told = by.publish(lane, number).await;
        self.longest = self.longest.max(since.elapsed());
        let kind = Kind::of(number);
        assert!(
            told == Told::Taken || kind == Kind::Large,
            "{}: {kind:?} {number} was refused",
            lane.name
        );
        match kind {
            Kind::Small => self.small += 1,
            Kind::Middle => self.middle += 1,
            Kind::Large => self.large += 1,
        }
        if kind != Kind::Large {
            self.octets += size(number) as u64;
        }
        match told {
            Told::Refused => self.refused += 1,
            Told::Taken if kind == Kind::Large => {
                let mute = lane.protocol.is_silent(number);
                assert!(mute, "{}: {number} was not refused", lane.name);
                self.silent += 1;
            }
            Told::Taken => {}
        }
    }
}

impl Received {
    /// Counts a message; says whether others will come.
    ///
    /// Each must be whole, one that may arrive, and come once and in order.
    fn count(&mut self, lane: &Lane, body: &[u8]) -> bool {
        let (head, filling) = body.split_at(HEAD);
        let number: usize = std::str::from_utf8(head).unwrap().parse().unwrap();
        assert_eq!(body.len(), size(number), "{}: {number}", lane.name);
        assert!(
            filling.iter().all(|octet| *octet == filler(number)),
            "{}: {number} has changed",
            lane.name
        );
        assert_eq!(Kind::of(number), Kind::Small, "{}: {number}", lane.name);
        assert!(
            number >= self.next,
            "{}: {number} came after {}",
            lane.name,
            self.next
        );
        self.next = number + 1;
        self.messages += 1;
        let now = Instant::now();
        let gap = self.last_at.map(|at| now - at);
        self.longest = self.longest.max(gap.unwrap_or_default());
        self.last_at = Some(now);
        number != LAST
    }
}

impl Kind {
    /// What this message of a publisher is.
    fn of(number: usize) -> Self {
        match number % 20 {
            7 => Self::Large,
            13 => Self::Middle,
            _ => Self::Small,
        }
    }
}

/// The body of a message.
pub(crate) fn body(number: usize) -> Vec<u8> {
    let mut body = format!("{number:0HEAD$}").into_bytes();
    body.resize(size(number), filler(number));
    body
}

fn size(number: usize) -> usize {
    match Kind::of(number) {
        // From one frame to three.
        Kind::Small => HEAD + number * 7_919 % 20_000,
        Kind::Middle => MIDDLE,
        Kind::Large => LARGE,
    }
}

fn filler(number: usize) -> u8 {
    (number % 251) as u8
}

/// A message that says that none follows.
const LAST: usize = 99_999_999;

/// Body octets that may be sent, and not received.
const MIDDLE: usize = 50_000;

/// Body octets that may not be sent.
const LARGE: usize = 100_000;

/// Digits of a message's number.
const HEAD: usize = 8;

/// A client that waits so long is stuck, however busy the machine.
pub(crate) const STUCK: Duration = Duration::from_secs(30);
