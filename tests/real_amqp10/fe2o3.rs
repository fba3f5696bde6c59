//! The client that is a library of Rust: fe2o3-amqp.

use std::net::SocketAddr;
use std::sync::Arc;

use fe2o3_amqp::connection::{ConnectionHandle, Error as ConnectionError};
use fe2o3_amqp::link::delivery::Sendable;
use fe2o3_amqp::link::receiver::CreditMode;
use fe2o3_amqp::link::{LinkStateError, SendError};
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::types::definitions::{Error, SenderSettleMode};
use fe2o3_amqp::types::messaging::{Body, Data, Message, Outcome};
use fe2o3_amqp::types::primitives::{Binary, Value as AmqpValue};
use fe2o3_amqp::{Connection, Receiver, Sender, Session};
use serde_json::{Map, Value, json};
use tokio::sync::Barrier;
use tokio::time::timeout;

use crate::plan::{LAST, Link, Plan, body};
use crate::support::DEADLINE;

/// Sends or receives as planned.
pub(crate) fn play(what: &str, address: SocketAddr, plan: &Plan) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let ends = async {
        let (connection, session) = open(address, plan).await;
        match what {
            "send" => send(connection, session, plan).await,
            _ => receive(connection, session, plan).await,
        }
    };
    let ends = async { timeout(DEADLINE, ends).await };
    runtime.block_on(ends).expect("fe2o3-amqp is done in time")
}

type SessionHandle = fe2o3_amqp::session::SessionHandle<()>;

async fn open(address: SocketAddr, plan: &Plan) -> (ConnectionHandle<()>, SessionHandle) {
    let url = format!("amqp://{address}");
    let mut connection = Connection::builder()
        .container_id("fe2o3")
        .max_frame_size(plan.frame)
        .sasl_profile(SaslProfile::Plain {
            username: "guest".to_owned(),
            password: "guest".to_owned(),
        })
        .open(&*url)
        .await
        .unwrap();
    let session = Session::begin(&mut connection).await.unwrap();
    (connection, session)
}

async fn send(
    mut connection: ConnectionHandle<()>,
    mut session: SessionHandle,
    plan: &Plan,
) -> Value {
    let barrier = Arc::new(Barrier::new(plan.links.len()));
    let mut tasks = Vec::new();
    for (number, link) in plan.links.iter().enumerate() {
        let mode = match link.settled {
            true => SenderSettleMode::Settled,
            false => SenderSettleMode::Unsettled,
        };
        let sender = Sender::builder()
            .name(number.to_string())
            .target(link.address.as_str())
            .sender_settle_mode(mode)
            .attach(&mut session)
            .await
            .unwrap();
        let last = plan.failing < plan.links.len();
        let sending = send_on(sender, link.clone(), last, Arc::clone(&barrier));
        tasks.push(tokio::spawn(sending));
    }
    let mut links = Vec::new();
    let mut senders = Vec::new();
    for task in tasks {
        let (sender, observed) = task.await.unwrap();
        senders.push(sender);
        links.push(observed);
    }
    if plan.failing == plan.links.len() {
        let closed = closed(connection.on_close().await);
        return json!({"connects": 1, "closed": closed, "links": links});
    }
    for sender in senders.into_iter().flatten() {
        // With RabbitMQ 3 this is always an error, also without us.
        let _ = sender.close().await;
    }
    let closed = end(&mut connection, &mut session).await;
    json!({"connects": 1, "closed": closed, "links": links})
}

/// Sends all messages of a link, awaits their outcomes, and sends a last one when all links have
/// come that far, unless the connection is to be closed. Gives the sender back if it still lives.
async fn send_on(
    mut sender: Sender,
    link: Link,
    last: bool,
    barrier: Arc<Barrier>,
) -> (Option<Sender>, Value) {
    let limit = sender.max_message_size().unwrap_or(0);
    let mut outcomes = Vec::new();
    let mut error = Value::Null;
    let mut pending = Vec::new();
    for (number, size) in link.sizes.iter().enumerate() {
        match sender.send_batchable(message(number, *size)).await {
            Ok(outcome) => pending.push(Some(outcome)),
            Err(SendError::MessageSizeExceeded(_)) => pending.push(None),
            Err(failed) => {
                error = failure(&failed);
                break;
            }
        }
    }
    for outcome in pending {
        let Some(outcome) = outcome else {
            outcomes.push(json!("refused by itself"));
            continue;
        };
        match outcome.await {
            Ok(outcome) => outcomes.push(what(&outcome, link.settled)),
            Err(failed) => {
                error = failure(&failed);
                outcomes.push(Value::Null);
            }
        }
    }
    barrier.wait().await;
    if error.is_null() && last {
        match sender.send(message(link.sizes.len(), LAST)).await {
            Ok(outcome) => outcomes.push(what(&outcome, link.settled)),
            Err(failed) => error = failure(&failed),
        }
    }
    let observed = json!({"outcomes": outcomes, "error": error, "max-message-size": limit});
    (error.is_null().then_some(sender), observed)
}

async fn receive(
    mut connection: ConnectionHandle<()>,
    mut session: SessionHandle,
    plan: &Plan,
) -> Value {
    let mut tasks = Vec::new();
    for (number, link) in plan.links.iter().enumerate() {
        let mode = match link.settled {
            true => SenderSettleMode::Settled,
            false => SenderSettleMode::Unsettled,
        };
        let receiver = Receiver::builder()
            .name(number.to_string())
            .source(link.address.as_str())
            .sender_settle_mode(mode)
            .credit_mode(CreditMode::Auto(plan.credit))
            .attach(&mut session)
            .await
            .unwrap();
        tasks.push(tokio::spawn(receive_on(receiver, link.clone())));
    }
    let mut links = Vec::new();
    for task in tasks {
        let (receiver, received) = task.await.unwrap();
        links.push(json!({"received": received, "error": null}));
        // With RabbitMQ 3 this is always an error, also without us.
        let _ = receiver.close().await;
    }
    let closed = end(&mut connection, &mut session).await;
    json!({"connects": 1, "closed": closed, "links": links})
}

async fn receive_on(mut receiver: Receiver, link: Link) -> (Receiver, Vec<Value>) {
    let mut received = Vec::new();
    loop {
        let delivery = receiver.recv::<Body<AmqpValue>>().await.unwrap();
        receiver.accept(&delivery).await.unwrap();
        let Body::Data(sections) = delivery.body() else {
            panic!("not data: {:?}", delivery.body());
        };
        let octets: Vec<u8> = sections.iter().flat_map(|data| data.0.to_vec()).collect();
        let number: usize = std::str::from_utf8(&octets[..8]).unwrap().parse().unwrap();
        let filler = (number % 251) as u8;
        assert!(octets[8..].iter().all(|octet| *octet == filler), "{number}");
        received.push(json!([number, octets.len()]));
        if number == link.until {
            return (receiver, received);
        }
    }
}

/// Ends what is left, and says with which error the peer had closed the connection, if it had.
async fn end(connection: &mut ConnectionHandle<()>, session: &mut SessionHandle) -> Value {
    let _ = session.end().await;
    closed(connection.close().await)
}

fn closed(result: Result<(), ConnectionError>) -> Value {
    match result {
        Ok(()) => Value::Null,
        Err(ConnectionError::RemoteClosedWithError(error)) => condition(&error),
        Err(other) => panic!("the connection ended with {other:?}"),
    }
}

/// A message of so many octets: one data section that begins with its number.
fn message(number: usize, size: usize) -> Sendable<Data> {
    let mut octets = format!("{number:08}").into_bytes();
    octets.resize(body(size), (number % 251) as u8);
    let message = Message::builder().data(Binary::from(octets)).build();
    Sendable::builder().message(message).build()
}

fn what(outcome: &Outcome, settled: bool) -> Value {
    match outcome {
        Outcome::Accepted(_) if settled => json!("settled"),
        Outcome::Accepted(_) => json!("accepted"),
        Outcome::Rejected(rejected) => {
            let error = rejected.error.as_ref().unwrap();
            let condition = condition(error);
            json!(["rejected", condition[0], condition[1]])
        }
        other => json!(format!("{other:?}")),
    }
}

fn failure(error: &SendError) -> Value {
    match error {
        SendError::LinkStateError(
            LinkStateError::RemoteClosedWithError(error)
            | LinkStateError::RemoteDetachedWithError(error),
        ) => condition(error),
        other => json!([format!("{other:?}")]),
    }
}

/// Condition, description, and what else the error says.
fn condition(error: &Error) -> Value {
    let condition = serde_json::to_value(&error.condition).unwrap();
    let info = error.info.iter().flat_map(|info| info.iter());
    let info: Map<_, _> = info
        .map(|(name, value)| (name.0.clone(), plain(value)))
        .collect();
    json!([condition, error.description, info])
}

fn plain(value: &AmqpValue) -> Value {
    match value {
        AmqpValue::Ulong(number) => json!(number),
        AmqpValue::String(text) => json!(text),
        other => json!(format!("{other:?}")),
    }
}
