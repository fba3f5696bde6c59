//! The PROXY header of a client that must send one.

use parsers::Parsed;
use parsers::proxy_protocol::{self, Addresses, Fault, Malformed};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::Unwelcome;

/// Whether a client's first octets are a PROXY header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// They announce one, well formed or not.
    Header,
    /// They may become one: too few to say.
    Perhaps,
    /// They are something else.
    Other,
}

/// Says whether octets are a PROXY header. Nobody may send one where none is due: a broker that
/// takes it would believe of the client what the client likes.
pub fn beginning(octets: &[u8]) -> Beginning {
    match proxy_protocol::announces(octets) {
        Parsed::Value(true) => Beginning::Header,
        Parsed::Value(false) => Beginning::Other,
        Parsed::NeedMore(_) => Beginning::Perhaps,
    }
}

/// Reads a header to its last octet and leaves those behind it in the socket.
///
/// What is there is looked at before it is taken. As long as a header is not whole, all that is
/// there belongs to it, and is taken: a socket with octets unread is ready for ever, and to look
/// again at the same ones would be to spin.
pub(super) async fn read(client: &mut TcpStream) -> Result<Option<Addresses>, Unwelcome> {
    let mut octets = Vec::new();
    let mut need = 0;
    loop {
        let taken = octets.len();
        // Most headers are there as a whole at the first look.
        octets.resize(need.max(taken + LOOK), 0);
        let there = client.peek(octets.get_mut(taken..).unwrap_or_default());
        let there = taken + there.await?;
        if there == taken {
            return Err(Unwelcome::Left);
        }
        octets.truncate(there);
        let (end, header) = match proxy_protocol::header(&octets).map_err(unwelcome)? {
            Parsed::Value(header) => (header.len, Some(header)),
            Parsed::NeedMore(least) => {
                need = least;
                (there, None)
            }
        };
        client
            .read_exact(octets.get_mut(taken..end).unwrap_or_default())
            .await?;
        if let Some(header) = header {
            return Ok(header.addresses);
        }
    }
}

fn unwelcome(malformed: Malformed) -> Unwelcome {
    match malformed.what {
        Fault::NoHeader => Unwelcome::NoHeader,
        _ => Unwelcome::MalformedHeader(malformed),
    }
}

/// Octets to look at at once: the longest line of version 1, and version 2 with a few TLVs.
const LOOK: usize = 128;
