//! Loads: clients that send, and a sink that counts what arrives.
//!
//! A [`Load`] is opened once for a measurement and then run twice, to warm up and to be measured.
//! A run ends when the sink has counted every message of it; one that is missing, or one too many,
//! is an error.

mod client;
mod link;
mod sink;
pub(crate) mod wire;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub(crate) use client::Client;
pub(crate) use link::Trust;
pub(crate) use sink::Sink;

use self::wire::Message;
use crate::Error;

/// How messages are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// As many as go, so many in a write, over connections that take turns.
    Flood {
        /// Connections.
        connections: usize,
        /// Messages in a write.
        batch: usize,
    },
    /// So many a second, one in a write, over connections that take turns.
    Paced {
        /// Connections.
        connections: usize,
        /// Messages a second.
        rate: u32,
    },
    /// One at a time, the next when it has been acknowledged.
    PingPong,
    /// One on each connection, and then nothing.
    Idle {
        /// Connections.
        connections: usize,
    },
    /// One on each connection, which is opened for it and then closed.
    Churn,
}

/// Clients that are connected, and what they send.
#[derive(Debug)]
pub(crate) struct Load<'a> {
    pattern: Pattern,
    message: Message,
    sink: &'a Sink,
    address: SocketAddr,
    trust: Option<&'a Trust>,
    clients: Vec<Client>,
    /// Messages that have been sent since the load was opened.
    sent: u64,
}

/// What was done in one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    /// Messages that were sent and counted.
    pub(crate) messages: u64,
    /// Octets of them on the wire.
    pub(crate) octets: u64,
    /// From the first write until the last message had been counted.
    pub(crate) elapsed: Duration,
    /// Times from a write to its acknowledgement in nanoseconds, where one is awaited.
    pub(crate) round_trips: Vec<u32>,
}

impl<'a> Load<'a> {
    /// Connects the clients of a load and lets them greet the broker.
    pub(crate) fn open(
        pattern: Pattern,
        message: Message,
        sink: &'a Sink,
        address: SocketAddr,
        trust: Option<&'a Trust>,
    ) -> Result<Self, Error> {
        let (connections, batch) = match pattern {
            Pattern::Flood { connections, batch } => (connections, batch),
            Pattern::Paced { connections, .. } | Pattern::Idle { connections } => (connections, 1),
            Pattern::PingPong => (1, 1),
            Pattern::Churn => (0, 1),
        };
        let clients = (0..connections).map(|_| Client::connect(address, &message, batch, trust));
        Ok(Self {
            pattern,
            message,
            sink,
            address,
            trust,
            clients: clients.collect::<Result<_, _>>()?,
            sent: 0,
        })
    }

    /// Sends for so long and waits until all has been counted.
    pub(crate) fn run(&mut self, span: Duration) -> Result<Run, Error> {
        let mut run = Run::default();
        let before = self.sent;
        let start = Instant::now();
        match self.pattern {
            Pattern::Flood { .. } => self.flood(start, span)?,
            Pattern::Paced { rate, .. } => self.pace(start, span, rate)?,
            Pattern::PingPong => self.ping(start, span, &mut run.round_trips)?,
            Pattern::Idle { .. } => self.touch()?,
            Pattern::Churn => self.churn(start, span)?,
        }
        self.sink.await_messages(self.sent)?;
        run.elapsed = start.elapsed();
        for client in &mut self.clients {
            client.await_acknowledgements(0)?;
        }
        run.messages = self.sent - before;
        let batch = wire::Batch::new(&self.message, 1).next().len();
        run.octets = run.messages * batch as u64;
        Ok(run)
    }

    fn flood(&mut self, start: Instant, span: Duration) -> Result<(), Error> {
        let mut rounds: u32 = 0;
        while start.elapsed() < span {
            for client in &mut self.clients {
                self.sent += client.send()?;
                client.await_acknowledgements(MOST_UNACKNOWLEDGED)?;
            }
            rounds = rounds.wrapping_add(1);
            if rounds.is_multiple_of(BETWEEN_LISTENING) {
                for client in &mut self.clients {
                    client.listen()?;
                }
            }
        }
        Ok(())
    }

    fn pace(&mut self, start: Instant, span: Duration, rate: u32) -> Result<(), Error> {
        // Otherwise a sleep takes 50 us longer than it should; without it the load is burstier.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let interval = Duration::from_secs(1) / rate;
        let mut due = start;
        while due < start + span {
            for client in &mut self.clients {
                let now = Instant::now();
                if due > now {
                    std::thread::sleep(due - now);
                }
                self.sent += client.send()?;
                due += interval;
            }
        }
        Ok(())
    }

    fn ping(&mut self, start: Instant, span: Duration, times: &mut Vec<u32>) -> Result<(), Error> {
        let mut before = start;
        while before < start + span {
            for client in &mut self.clients {
                self.sent += client.send()?;
                client.await_acknowledgements(0)?;
                let now = Instant::now();
                let taken = (now - before).as_nanos();
                times.push(u32::try_from(taken).unwrap_or(u32::MAX));
                before = now;
            }
        }
        Ok(())
    }

    /// Sends one message on each connection, once.
    fn touch(&mut self) -> Result<(), Error> {
        if self.sent == 0 {
            for client in &mut self.clients {
                self.sent += client.send()?;
                client.await_acknowledgements(0)?;
            }
        }
        Ok(())
    }

    fn churn(&mut self, start: Instant, span: Duration) -> Result<(), Error> {
        while start.elapsed() < span {
            let mut client = Client::connect(self.address, &self.message, 1, self.trust)?;
            self.sent += client.send()?;
            client.await_acknowledgements(0)?;
            client.leave()?;
        }
        Ok(())
    }
}

/// Messages of one client that may be unacknowledged before it waits.
const MOST_UNACKNOWLEDGED: u64 = 1_000;

/// Rounds of a flood after which clients look whether they were told something.
const BETWEEN_LISTENING: u32 = 4_096;
