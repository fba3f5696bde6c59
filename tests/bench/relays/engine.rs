//! A relay on epoll without a runtime: one thread, level-triggered, one turn of a lane an event.
//!
//! How octets are moved is a [`Carrier`]'s. A lane whose sink takes no more is not read from until
//! it does.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use rustix::event::epoll;
use rustix::event::epoll::EventFlags;

/// Moves octets in one direction of one connection.
pub(super) trait Carrier: Default {
    /// What all carriers of a thread share.
    type Shared: Default;

    /// Moves octets once, those first that were left over.
    fn carry(
        &mut self,
        from: &TcpStream,
        to: &TcpStream,
        shared: &mut Self::Shared,
    ) -> io::Result<Turn>;
}

/// What came of one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing is left over.
    Clear,
    /// The sink has not taken everything.
    LeftOver,
    /// The source has ended, and everything is taken.
    Ended,
}

/// One connection: its client's end, its broker's end, and what goes from each to the other.
struct Pair<C> {
    ends: [End<C>; 2],
}

/// One end of a connection.
struct End<C> {
    stream: TcpStream,
    /// Carries what comes from this end.
    carrier: C,
    /// How far that is.
    state: Turn,
    /// What epoll was told to look for.
    interest: EventFlags,
}

/// All connections of a thread.
struct Engine<C: Carrier> {
    epoll: OwnedFd,
    listener: TcpListener,
    upstream: SocketAddr,
    pairs: Vec<Option<Pair<C>>>,
    /// Places of connections that have ended.
    free: Vec<usize>,
    shared: C::Shared,
}

/// Relays for all who come.
pub(super) fn run<C: Carrier>(listener: TcpListener, upstream: SocketAddr) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &listener, token(LISTENER), EventFlags::IN)?;
    let mut engine = Engine::<C> {
        epoll,
        listener,
        upstream,
        pairs: Vec::new(),
        free: Vec::new(),
        shared: C::Shared::default(),
    };
    let mut events = Vec::with_capacity(256);
    loop {
        events.clear();
        let spare = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&engine.epoll, spare, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            match event.data.u64() {
                LISTENER => engine.accept()?,
                token => engine.turn(token, event.flags),
            }
        }
    }
}

impl<C: Carrier> Engine<C> {
    fn accept(&mut self) -> io::Result<()> {
        loop {
            let client = match self.listener.accept() {
                Ok((client, _)) => client,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            // A connection that breaks is its clients' affair.
            let _ = self.admit(client);
        }
    }

    /// Connects to the broker, which on the loopback interface is done at once.
    fn admit(&mut self, client: TcpStream) -> io::Result<()> {
        let broker = TcpStream::connect(self.upstream)?;
        let at = self.free.pop().unwrap_or(self.pairs.len());
        let mut place = 2 * at as u64;
        let mut end = |stream: TcpStream| {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            epoll::add(&self.epoll, &stream, token(place), EventFlags::IN)?;
            place += 1;
            Ok::<_, io::Error>(End {
                stream,
                carrier: C::default(),
                state: Turn::Clear,
                interest: EventFlags::IN,
            })
        };
        let pair = Pair {
            ends: [end(client)?, end(broker)?],
        };
        if at == self.pairs.len() {
            self.pairs.push(None);
        }
        if let Some(place) = self.pairs.get_mut(at) {
            *place = Some(pair);
        }
        Ok(())
    }

    /// Does what an end of a connection is ready for.
    fn turn(&mut self, token: u64, ready: EventFlags) {
        let (at, is_broker) = ((token / 2) as usize, token % 2 == 1);
        let Some(place) = self.pairs.get_mut(at) else {
            return;
        };
        // One that ended by an event before this one.
        let Some(Pair {
            ends: [client, broker],
        }) = place
        else {
            return;
        };
        let (this, other) = if is_broker {
            (broker, client)
        } else {
            (client, broker)
        };
        let is_readable = ready.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR);
        let mut result = Ok(());
        if is_readable && this.state == Turn::Clear {
            result = this.carry_to(&other.stream, &mut self.shared);
        }
        if ready.contains(EventFlags::OUT) && other.state == Turn::LeftOver {
            result = result.and_then(|()| other.carry_to(&this.stream, &mut self.shared));
        }
        let has_ended = [&*this, &*other].map(|end| end.state) == [Turn::Ended; 2];
        let broke = ready.contains(EventFlags::ERR);
        result = result.and_then(|()| {
            this.tell(other.state, token, &self.epoll)?;
            other.tell(this.state, token ^ 1, &self.epoll)
        });
        if result.is_err() || has_ended || broke {
            *place = None;
            self.free.push(at);
        }
    }
}

impl<C: Carrier> End<C> {
    fn carry_to(&mut self, to: &TcpStream, shared: &mut C::Shared) -> io::Result<()> {
        self.state = self.carrier.carry(&self.stream, to, shared)?;
        if self.state == Turn::Ended {
            to.shutdown(Shutdown::Write)?;
        }
        Ok(())
    }

    /// Tells epoll what to look for at this end, where that has changed.
    fn tell(&mut self, others: Turn, token_number: u64, epoll: &OwnedFd) -> io::Result<()> {
        let mut interest = EventFlags::empty();
        if self.state == Turn::Clear {
            interest |= EventFlags::IN;
        }
        if others == Turn::LeftOver {
            interest |= EventFlags::OUT;
        }
        if interest != self.interest {
            epoll::modify(epoll, &self.stream, token(token_number), interest)?;
            self.interest = interest;
        }
        Ok(())
    }
}

fn token(number: u64) -> epoll::EventData {
    epoll::EventData::new_u64(number)
}

const LISTENER: u64 = u64::MAX;
