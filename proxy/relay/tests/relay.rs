//! One connection over pipes, as [`super::super::admit`] runs it over sockets.

use tokio::time::Instant;

use crate::protocols::Opening;
use crate::relay::arrival::begin;
use crate::relay::tally::Tally;
use crate::relay::{Dialled, Shared, carry};
use crate::transport::Duplex;
use crate::upstream::ConnectError;

/// Relays between a client and the broker that `dial` leads to.
pub(super) async fn relay<C, B, D>(
    shared: &Shared,
    client: C,
    dial: impl FnOnce() -> D,
    tally: Box<Tally>,
    opening: &Opening<'_>,
    handshake: Instant,
) where
    C: Duplex,
    B: Duplex,
    D: Future<Output = Result<Dialled<B>, ConnectError>>,
{
    if let Some(pump) = begin(shared, client, tally, opening, handshake).await {
        carry(shared, pump, dial).await;
    }
}
