//! One end of a TLS connection, of which a test says every octet.

#![allow(dead_code, reason = "each user uses its part")]

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use tokio_rustls::rustls;

use crate::support::Raw;

/// One end of a TLS connection whose handshake is over.
pub(crate) struct Secure {
    stream: Box<dyn Octets>,
    /// Whose end this is, for what a failing test says.
    who: &'static str,
    /// The certificate of the other end, in DER.
    pub(crate) certificate: Option<Vec<u8>>,
}

/// A client that is about to begin TLS.
pub(crate) struct Hello(ClientConnection);

impl Hello {
    /// One that calls the server by this name.
    pub(crate) fn new(config: Arc<ClientConfig>, name: &str) -> Self {
        let name = ServerName::try_from(name.to_owned()).unwrap();
        Self(ClientConnection::new(config, name).unwrap())
    }

    /// The octets of its ClientHello, which the test sends by itself.
    pub(crate) fn octets(&mut self) -> Vec<u8> {
        let mut octets = Vec::new();
        self.0.write_tls(&mut octets).unwrap();
        octets
    }

    /// Goes through the rest of the handshake.
    pub(crate) fn finish(mut self, raw: &Raw) -> io::Result<Secure> {
        let mut socket = raw.stream().try_clone()?;
        while self.0.is_handshaking() {
            self.0.complete_io(&mut socket)?;
        }
        let certificate = self.0.peer_certificates().and_then(<[_]>::first);
        let certificate = certificate.map(|certificate| certificate.to_vec());
        Ok(Secure {
            stream: Box::new(StreamOwned::new(self.0, socket)),
            who: "client",
            certificate,
        })
    }
}

trait Octets: Read + Write + Send {
    fn say_goodbye(&mut self) -> io::Result<()>;
    fn socket(&self) -> &TcpStream;
}

impl Octets for StreamOwned<ClientConnection, TcpStream> {
    fn say_goodbye(&mut self) -> io::Result<()> {
        self.conn.send_close_notify();
        self.flush()
    }

    fn socket(&self) -> &TcpStream {
        &self.sock
    }
}

impl Octets for StreamOwned<ServerConnection, TcpStream> {
    fn say_goodbye(&mut self) -> io::Result<()> {
        self.conn.send_close_notify();
        self.flush()
    }

    fn socket(&self) -> &TcpStream {
        &self.sock
    }
}

impl Secure {
    /// Begins TLS as a client, with the server of this name.
    pub(crate) fn connect(raw: &Raw, config: Arc<ClientConfig>, name: &str) -> io::Result<Self> {
        Hello::new(config, name).finish(raw)
    }

    /// Begins TLS as a broker.
    pub(crate) fn accept(raw: &Raw, config: Arc<ServerConfig>) -> io::Result<Self> {
        let mut socket = raw.stream().try_clone()?;
        let mut connection = ServerConnection::new(config).unwrap();
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        let certificate = connection.peer_certificates().and_then(<[_]>::first);
        let certificate = certificate.map(|certificate| certificate.to_vec());
        Ok(Self {
            stream: Box::new(StreamOwned::new(connection, socket)),
            who: "broker",
            certificate,
        })
    }

    /// Writes all of these octets.
    pub(crate) fn send(&mut self, octets: impl AsRef<[u8]>) {
        let sent = self
            .stream
            .write_all(octets.as_ref())
            .and_then(|()| self.stream.flush());
        sent.unwrap_or_else(|error| panic!("{} cannot write: {error}", self.who));
    }

    /// Reads so many octets.
    pub(crate) fn read(&mut self, count: usize) -> Vec<u8> {
        let mut octets = vec![0; count];
        let read = self.stream.read_exact(&mut octets);
        read.unwrap_or_else(|error| panic!("{} cannot read: {error}", self.who));
        octets
    }

    /// Reads exactly these octets.
    pub(crate) fn expect(&mut self, expected: impl AsRef<[u8]>, what: &str) {
        let expected = expected.as_ref();
        let seen = self.read(expected.len());
        assert!(
            seen == expected,
            "{}: {what}: expected {}, seen {}",
            self.who,
            expected.escape_ascii(),
            seen.escape_ascii()
        );
    }

    /// Reads one MQTT control packet of less than 128 octets.
    pub(crate) fn read_packet(&mut self) -> Vec<u8> {
        let mut packet = self.read(2);
        assert!(packet[1] < 0x80, "{}: a longer packet", self.who);
        packet.extend(self.read(packet[1].into()));
        packet
    }

    /// Reads the end of the stream that TLS announces; an octet or an end without it is a failure.
    pub(crate) fn expect_eof(&mut self, what: &str) {
        match self.stream.read(&mut [0; 64]) {
            Ok(0) => {}
            Ok(count) => panic!("{}: {what}: {count} octets more", self.who),
            Err(error) => panic!("{}: {what}: {error}", self.who),
        }
    }

    /// Reads what TLS gives for an error.
    pub(crate) fn expect_error(&mut self) -> String {
        match self.stream.read(&mut [0; 64]) {
            Ok(count) => panic!("{}: {count} octets and no error", self.who),
            Err(error) => error.to_string(),
        }
    }

    /// Says that nothing follows.
    pub(crate) fn say_goodbye(&mut self) {
        self.stream.say_goodbye().unwrap();
    }

    /// The socket below.
    pub(crate) fn socket(&self) -> &TcpStream {
        self.stream.socket()
    }
}
