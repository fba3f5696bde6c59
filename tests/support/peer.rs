//! The two peers of the sidecar, octet by octet: a raw client and a fake broker.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use socket2::SockRef;

use super::DEADLINE;

/// One end of a connection, of which a test says every octet.
#[derive(Debug)]
pub struct Raw {
    stream: TcpStream,
    /// Whose end this is, for what a failing test says.
    who: &'static str,
}

impl Raw {
    /// Connects as a client.
    pub fn connect(to: SocketAddr) -> Self {
        let stream = TcpStream::connect_timeout(&to, DEADLINE)
            .unwrap_or_else(|error| panic!("cannot connect to {to}: {error}"));
        Self::new(stream, "client")
    }

    /// Takes a connection over; no read or write on it outlasts the deadline.
    pub fn new(stream: TcpStream, who: &'static str) -> Self {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, who }
    }

    /// The socket itself.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The address of this end.
    pub fn local_addr(&self) -> SocketAddr {
        self.stream.local_addr().unwrap()
    }

    /// Writes all of these octets.
    pub fn send(&mut self, octets: impl AsRef<[u8]>) {
        self.stream
            .write_all(octets.as_ref())
            .unwrap_or_else(|error| panic!("{} cannot write: {error}", self.who));
    }

    /// Reads so many octets.
    pub fn read(&mut self, count: usize) -> Vec<u8> {
        let mut octets = vec![0; count];
        let mut filled = 0;
        while filled < count {
            match self.stream.read(&mut octets[filled..]) {
                Ok(0) => panic!(
                    "{}: the connection ended after {filled} of {count} octets: {}",
                    self.who,
                    hex(&octets[..filled])
                ),
                Ok(more) => filled += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!(
                    "{}: {error} after {filled} of {count} octets: {}",
                    self.who,
                    hex(&octets[..filled])
                ),
            }
        }
        octets
    }

    /// Reads one MQTT control packet, whatever it is.
    pub fn read_packet(&mut self) -> Vec<u8> {
        let mut packet = self.read(2);
        let mut remaining = usize::from(packet[1] & 0x7f);
        let mut shift = 7;
        while packet[packet.len() - 1] & 0x80 != 0 {
            assert!(shift < 28, "{}: Remaining Length too long", self.who);
            let octet = self.read(1);
            remaining |= usize::from(octet[0] & 0x7f) << shift;
            shift += 7;
            packet.extend(octet);
        }
        packet.extend(self.read(remaining));
        packet
    }

    /// Reads exactly these octets. What follows stays unread, so that the next expectation proves
    /// that nothing stood between the two.
    pub fn expect(&mut self, expected: impl AsRef<[u8]>, what: &str) {
        let expected = expected.as_ref();
        let seen = self.read(expected.len());
        if let Some(at) = seen.iter().zip(expected).position(|(a, b)| a != b) {
            let from = at.saturating_sub(8);
            panic!(
                "{}: {what}: differs at octet {at} of {}: expected {}, seen {}",
                self.who,
                expected.len(),
                hex(&expected[from..]),
                hex(&seen[from..])
            );
        }
    }

    /// Reads the orderly end of the stream; an octet or a reset is a failure.
    pub fn expect_eof(&mut self, what: &str) {
        let mut octets = [0; 64];
        match self.stream.read(&mut octets) {
            Ok(0) => {}
            Ok(count) => panic!(
                "{}: {what}: expected the end, seen {}",
                self.who,
                hex(&octets[..count])
            ),
            Err(error) => panic!("{}: {what}: expected the end: {error}", self.who),
        }
    }

    /// Reads the end of the connection, orderly or not; an octet is a failure.
    pub fn expect_gone(&mut self, what: &str) {
        let mut octets = [0; 64];
        match self.stream.read(&mut octets) {
            Ok(0) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Ok(count) => panic!(
                "{}: {what}: expected no more, seen {}",
                self.who,
                hex(&octets[..count])
            ),
            Err(error) => panic!("{}: {what}: expected the end: {error}", self.who),
        }
    }

    /// Reads to the end of the connection, orderly or not.
    pub fn read_to_the_end(&mut self) -> Vec<u8> {
        let mut octets = Vec::new();
        match self.stream.read_to_end(&mut octets) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            Err(error) => panic!("{}: expected the end: {error}", self.who),
        }
        octets
    }

    /// Breaks the connection off: the other side sees a reset, at once and whatever is under way.
    pub fn reset(self) {
        let socket = SockRef::from(&self.stream);
        socket.set_linger(Some(Duration::ZERO)).unwrap();
    }

    /// Shuts the sending side.
    pub fn shut_write(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }

    /// A second handle to the same connection, to write with while the first one reads.
    pub fn writer(&self) -> Self {
        Self {
            stream: self.stream.try_clone().unwrap(),
            who: self.who,
        }
    }
}

/// Sends octets from one peer and reads exactly these at the other, however many they are.
pub fn pass(from: &mut Raw, to: &mut Raw, octets: &[u8], what: &str) {
    std::thread::scope(|scope| {
        scope.spawn(|| from.send(octets));
        to.expect(octets, what);
    });
}

/// A broker that says nothing by itself.
#[derive(Debug)]
pub struct FakeBroker {
    address: SocketAddr,
    accepted: Receiver<TcpStream>,
}

impl FakeBroker {
    /// Listens on a free port of the loopback address.
    pub fn start() -> Self {
        Self::start_on(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Listens on this address.
    pub fn start_on(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, accepted) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if sender.send(stream).is_err() {
                    break;
                }
            }
        });
        Self { address, accepted }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits for the next connection, in the order in which they came.
    pub fn accept(&self) -> Raw {
        match self.accepted.recv_timeout(DEADLINE) {
            Ok(stream) => Raw::new(stream, "broker"),
            Err(RecvTimeoutError::Timeout) => panic!("no connection reached the broker"),
            Err(RecvTimeoutError::Disconnected) => panic!("the fake broker no longer listens"),
        }
    }
}

/// A port of the loopback address on which nothing listens.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Ports of the loopback address on which nothing listens, no two the same.
pub fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    let listeners = [(); COUNT].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

fn hex(octets: &[u8]) -> String {
    let shown = octets.iter().take(48).map(|octet| format!("{octet:02x}"));
    let mut text = shown.collect::<Vec<_>>().join(" ");
    if octets.len() > 48 {
        text += &format!(" .. ({} octets)", octets.len());
    }
    text
}
