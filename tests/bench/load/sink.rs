//! The sink: a broker for any number of clients that counts their messages.
//!
//! One thread with epoll and one large buffer, so that it costs little and idle connections cost
//! nothing.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, epoll, eventfd};

use super::link::PATIENCE;
use super::wire::{Broker, HEAD, Message};
use crate::Error;

/// A running sink. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Sink {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Written to when the thread is to end.
    bell: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Messages that have come, of all connections.
    messages: AtomicU64,
    /// Why the sink has given up, if it has.
    error: Mutex<Option<Error>>,
}

impl Sink {
    /// Listens on a free port of the loopback address for messages of this kind.
    pub(crate) fn start(message: Message) -> Result<Self, Error> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        let listener = listener.map_err(Error::io("listening"))?;
        let address = listener.local_addr().map_err(Error::io("listening"))?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC).map_err(Error::io("eventfd"))?;
        let shared = Arc::new(Shared::default());
        let served = Served::new(message, listener, &bell, Arc::clone(&shared));
        let mut served = served.map_err(Error::io("epoll"))?;
        let thread = std::thread::spawn(move || {
            if let Err(error) = served.run() {
                let mut place = served.shared.error();
                place.get_or_insert(error);
            }
        });
        Ok(Self {
            address,
            shared,
            bell,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Fails if it has given up.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.shared.error().take().map_or(Ok(()), Err)
    }

    /// Waits until exactly so many messages have come.
    pub(crate) fn await_messages(&self, sent: u64) -> Result<(), Error> {
        let mut last = (0, Instant::now());
        loop {
            self.check()?;
            let counted = self.shared.messages.load(Acquire);
            if counted == sent {
                return Ok(());
            }
            if counted != last.0 {
                last = (counted, Instant::now());
            }
            if counted > sent || last.1.elapsed() > PATIENCE {
                return Err(Error::Lost { sent, counted });
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // It fails only if the thread has ended already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn error(&self) -> std::sync::MutexGuard<'_, Option<Error>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the thread of a sink has.
struct Served {
    message: Message,
    listener: TcpListener,
    epoll: OwnedFd,
    guests: Vec<Option<Guest>>,
    /// Places of guests that have left.
    free: Vec<usize>,
    buffer: Vec<u8>,
    answer: Vec<u8>,
    shared: Arc<Shared>,
}

/// One connection.
struct Guest {
    stream: TcpStream,
    broker: Broker,
    /// Octets of a unit that came in part; fewer than [`HEAD`].
    kept: Vec<u8>,
}

impl Served {
    fn new(
        message: Message,
        listener: TcpListener,
        bell: &OwnedFd,
        shared: Arc<Shared>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let readable = epoll::EventFlags::IN;
        epoll::add(&epoll, &listener, token(LISTENER), readable)?;
        epoll::add(&epoll, bell, token(BELL), readable)?;
        Ok(Self {
            message,
            listener,
            epoll,
            guests: Vec::new(),
            free: Vec::new(),
            buffer: vec![0; BUFFER],
            answer: Vec::new(),
            shared,
        })
    }

    fn run(&mut self) -> Result<(), Error> {
        let mut events = Vec::with_capacity(256);
        loop {
            events.clear();
            let spare = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, spare, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Error::io("epoll")(error)),
            }
            for event in &events {
                match event.data.u64() {
                    BELL => return Ok(()),
                    LISTENER => self.accept().map_err(Error::io("accepting"))?,
                    at => self.serve(at as usize)?,
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let at = self.free.pop().unwrap_or(self.guests.len());
            if at == self.guests.len() {
                self.guests.push(None);
            }
            epoll::add(
                &self.epoll,
                &stream,
                token(at as u64),
                epoll::EventFlags::IN,
            )?;
            if let Some(place) = self.guests.get_mut(at) {
                *place = Some(Guest {
                    stream,
                    broker: Broker::new(self.message),
                    kept: Vec::new(),
                });
            }
        }
    }

    /// Reads once from a guest, counts and answers.
    fn serve(&mut self, at: usize) -> Result<(), Error> {
        let Some(place) = self.guests.get_mut(at) else {
            return Ok(());
        };
        let Some(guest) = place else {
            return Ok(());
        };
        let counted = &self.shared.messages;
        if guest.read(&mut self.buffer, &mut self.answer, counted)? {
            return Ok(());
        }
        *place = None;
        self.free.push(at);
        Ok(())
    }
}

impl Guest {
    /// Reads once, counts, and answers only then; says whether the connection goes on.
    fn read(
        &mut self,
        buffer: &mut [u8],
        answer: &mut Vec<u8>,
        counted: &AtomicU64,
    ) -> Result<bool, Error> {
        let kept = self.kept.len();
        let (front, room) = buffer.split_at_mut(kept);
        front.copy_from_slice(&self.kept);
        let count = match self.stream.read(room) {
            Ok(0) => 0,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            // A client that leaves with a reset has left.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            Err(error) => return Err(Error::io("reading from the proxy")(error)),
        };
        if count == 0 {
            if self.broker.is_between() && kept == 0 {
                return Ok(false);
            }
            return Err(Error::Ended {
                side: "sink",
                after: self.broker.messages(),
            });
        }
        let octets = buffer.get(..kept + count).unwrap_or_default();
        answer.clear();
        let before = self.broker.messages();
        let taken = self.broker.take(octets, answer)?;
        let more = self.broker.messages() - before;
        if more > 0 {
            counted.fetch_add(more, Release);
        }
        let rest = octets.get(taken..).unwrap_or_default();
        debug_assert!(rest.len() < HEAD, "{} octets are left", rest.len());
        self.kept.clear();
        self.kept.extend_from_slice(rest);
        if !answer.is_empty() {
            let written = self.stream.write_all(answer);
            written.map_err(Error::io("answering the proxy"))?;
        }
        Ok(true)
    }
}

fn token(number: u64) -> epoll::EventData {
    epoll::EventData::new_u64(number)
}

const LISTENER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;

/// Octets that are read at once.
const BUFFER: usize = 256 << 10;

/// Leaves the processor to what is being waited for.
const BETWEEN_LOOKS: Duration = Duration::from_micros(100);

#[cfg(test)]
mod tests {
    use super::super::Client;
    use super::super::wire::{Batch, Protocol};
    use super::*;

    const MESSAGE: Message = Message {
        protocol: Protocol::Mqtt,
        size: 64,
        is_acknowledged: true,
    };

    #[test]
    fn what_comes_twice_is_an_error() {
        let sink = Sink::start(MESSAGE).unwrap();
        let mut client = Client::connect(sink.address(), &MESSAGE, 1, None).unwrap();
        client.send().unwrap();
        client.await_acknowledgements(0).unwrap();
        sink.await_messages(1).unwrap();
        client.send().unwrap();
        client.await_acknowledgements(0).unwrap();
        let twice = sink.await_messages(1);
        assert!(
            matches!(
                twice,
                Err(Error::Lost {
                    sent: 1,
                    counted: 2
                })
            ),
            "{twice:?}"
        );
    }

    #[test]
    fn a_connection_that_ends_within_a_message_is_an_error() {
        let sink = Sink::start(MESSAGE).unwrap();
        let mut stream = TcpStream::connect(sink.address()).unwrap();
        let greeting = MESSAGE.protocol.greeting();
        stream.write_all(&greeting[0].0).unwrap();
        let publish = Batch::new(&MESSAGE, 1).next().to_vec();
        stream.write_all(&publish).unwrap();
        sink.await_messages(1).unwrap();
        stream.write_all(&publish[..40]).unwrap();
        drop(stream);
        let ended = sink.await_messages(2);
        assert!(
            matches!(ended, Err(Error::Ended { after: 1, .. })),
            "{ended:?}"
        );
    }

    #[test]
    fn what_is_not_the_protocol_is_an_error() {
        let sink = Sink::start(MESSAGE).unwrap();
        let mut stream = TcpStream::connect(sink.address()).unwrap();
        stream.write_all(&[0xf0, 0]).unwrap();
        let wrong = sink.await_messages(1);
        assert!(matches!(wrong, Err(Error::Unexpected { .. })), "{wrong:?}");
    }
}
