//! AMQP 1.0: what is refused is rejected with a reason, and its link lives on.

use std::net::SocketAddr;

use fe2o3_amqp::link::delivery::Sendable;
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::types::definitions::{Error, ErrorCondition, SenderSettleMode};
use fe2o3_amqp::types::messaging::{self, Data, Message};
use fe2o3_amqp::types::primitives::{Binary, Symbol};
use fe2o3_amqp::{Connection, Sender, Session};
use tokio::runtime::Builder;
use tokio::time::timeout;

use super::peer::Peer;
use super::{DEADLINE, LARGE, Outcome, SMALL, check};

/// Sends through sizegate on one link, and asks the peer what has come of it.
pub(super) fn show(sidecar: SocketAddr, peer: &Peer) -> Outcome<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let talk = async { timeout(DEADLINE, talk(sidecar, peer)).await };
    runtime.block_on(talk).map_err(|_| "nothing came in time")?
}

async fn talk(sidecar: SocketAddr, peer: &Peer) -> Outcome<()> {
    let mut connection = Connection::builder()
        .container_id("sender")
        .sasl_profile(SaslProfile::Anonymous)
        .open(&*format!("amqp://{sidecar}"))
        .await?;
    let mut session = Session::begin(&mut connection).await?;
    let mut sender = Sender::builder()
        .name("demo")
        .target("demo")
        .sender_settle_mode(SenderSettleMode::Unsettled)
        .attach(&mut session)
        .await?;

    let outcome = sender.send(message(SMALL)).await?;
    check(
        format!("a message with {SMALL} octets of payload is accepted by the peer"),
        outcome.is_accepted() && peer.received() == 1,
    )?;
    let (condition, description) = rejected(sender.send(message(LARGE)).await?)?;
    check(
        format!("one with {LARGE} octets is rejected: {condition}, \"{description}\""),
        condition == "amqp:link:message-size-exceeded"
            && description.starts_with("Message size exceeded: ")
            && description.contains("65536")
            && description.contains("--max-message-size"),
    )?;
    let outcome = sender.send(message(SMALL + 1)).await?;
    check(
        "and its link lives on: the next message on it is accepted",
        outcome.is_accepted(),
    )?;
    let received = peer.received();
    check(
        format!("the peer has got {received} messages, the first and the last"),
        received == 2,
    )?;

    sender.close().await?;
    session.end().await?;
    Ok(connection.close().await?)
}

fn message(size: usize) -> Sendable<Data> {
    let message = Message::builder().data(Binary::from(vec![b'x'; size]));
    Sendable::builder().message(message.build()).build()
}

/// Condition and description of the error that a message was rejected with.
fn rejected(outcome: messaging::Outcome) -> Outcome<(String, String)> {
    match outcome {
        messaging::Outcome::Rejected(messaging::Rejected {
            error:
                Some(Error {
                    condition: ErrorCondition::LinkError(condition),
                    description,
                    ..
                }),
        }) => {
            let condition = Symbol::from(&condition).as_str().to_owned();
            Ok((condition, description.unwrap_or_default()))
        }
        other => Err(format!("not rejected as it should be: {other:?}").into()),
    }
}
