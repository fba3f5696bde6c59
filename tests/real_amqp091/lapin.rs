//! The client that is a library of Rust: lapin.

use std::net::SocketAddr;
use std::sync::Arc;

use lapin::message::{BasicReturnMessage, DeliveryResult};
use lapin::options::{
    BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicGetOptions, BasicPublishOptions,
    BasicQosOptions, ConfirmSelectOptions, QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{
    BasicProperties, Channel as LapinChannel, Confirmation, Connection, ConnectionProperties,
    Error, ErrorKind,
};
use serde_json::{Value, json};
use tokio::sync::{Barrier, mpsc};
use tokio::time::timeout;

use crate::plan::{Channel, HEARTBEAT, LAST, Mode, Plan};
use crate::support::DEADLINE;

/// Sends or receives as planned.
pub(crate) fn play(what: &str, address: SocketAddr, plan: &Plan) -> Value {
    in_time(async {
        let connection = open(address).await.unwrap();
        let channels = match what {
            "send" => send(&connection, plan).await,
            "receive" => match receive(&connection, plan).await {
                Ok(channels) => channels,
                Err(closed) => return json!({"closed": closed, "channels": []}),
            },
            _ => get(&connection, plan).await,
        };
        let closed = match connection.close(200, "bye".into()).await {
            Ok(()) => Value::Null,
            Err(error) => reason(&error),
        };
        json!({"closed": closed, "channels": channels})
    })
}

/// Connects, and returns how its connection ends.
pub(crate) fn idle(address: SocketAddr, when_open: impl FnOnce()) -> Value {
    in_time(async {
        let connection = match open(address).await {
            Ok(connection) => connection,
            Err(error) => return reason(&error),
        };
        let channel = connection.create_channel().await.unwrap();
        when_open();
        loop {
            // The library says so by the next thing that is asked of it.
            if let Err(error) = declare(&channel, "idle", false).await {
                return reason(&error);
            }
            tokio::task::yield_now().await;
        }
    })
}

fn in_time<T>(what: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let ends = async { timeout(DEADLINE, what).await };
    runtime.block_on(ends).expect("lapin is done in time")
}

async fn open(address: SocketAddr) -> Result<Connection, Error> {
    let uri = format!("amqp://guest:guest@{address}/%2f?heartbeat={HEARTBEAT}");
    let properties = ConnectionProperties::default().with_connection_name("lapin".into());
    Connection::connect(&uri, properties).await
}

async fn declare(channel: &LapinChannel, queue: &str, passive: bool) -> Result<(), Error> {
    let options = QueueDeclareOptions {
        durable: true,
        passive,
        ..QueueDeclareOptions::default()
    };
    let declared = channel.queue_declare(queue.into(), options, FieldTable::default());
    declared.await.map(|_| ())
}

async fn send(connection: &Connection, plan: &Plan) -> Vec<Value> {
    let barrier = Arc::new(Barrier::new(plan.channels.len()));
    let last = plan.failing < plan.channels.len();
    let mut tasks = Vec::new();
    for its in &plan.channels {
        let channel = connection.create_channel().await.unwrap();
        let sending = send_on(channel, its.clone(), last, Arc::clone(&barrier));
        tasks.push(tokio::spawn(sending));
    }
    let mut seen = Vec::new();
    for task in tasks {
        seen.push(task.await.unwrap());
    }
    seen
}

/// Sends all messages of a channel without waiting for one outcome before the next, and a last one
/// when all channels have come that far.
async fn send_on(channel: LapinChannel, its: Channel, last: bool, barrier: Arc<Barrier>) -> Value {
    declare(&channel, &its.queue, false).await.unwrap();
    if its.mode == Mode::Confirm {
        channel
            .confirm_select(ConfirmSelectOptions::default())
            .await
            .unwrap();
    }
    let mut seen = Seen::default();
    let mut pending = Vec::new();
    for (number, size) in its.sizes.iter().enumerate() {
        match publish(&channel, &its, number, *size).await {
            Ok(confirm) => pending.push(confirm),
            Err(error) => {
                seen.fails(&error);
                break;
            }
        }
    }
    seen.outcomes = vec![Value::Null; its.sizes.len() + 1];
    for (number, confirm) in pending.into_iter().enumerate() {
        let outcome = confirm.await;
        seen.settles(number, outcome);
    }
    seen.flush(&channel, &its).await;
    barrier.wait().await;
    if seen.error.is_null() && last {
        let confirm = publish(&channel, &its, its.sizes.len(), LAST)
            .await
            .unwrap();
        let outcome = confirm.await;
        seen.settles(its.sizes.len(), outcome);
        seen.flush(&channel, &its).await;
    }
    json!({"outcomes": seen.outcomes, "returned": seen.returned, "error": seen.error})
}

async fn publish(
    channel: &LapinChannel,
    its: &Channel,
    number: usize,
    size: usize,
) -> Result<lapin::PublisherConfirm, Error> {
    let options = BasicPublishOptions {
        mandatory: its.mandatory,
        ..BasicPublishOptions::default()
    };
    let properties = BasicProperties::default().with_message_id(number.to_string().into());
    let mut body = format!("{number:08}").into_bytes();
    body.resize(size, (number % 251) as u8);
    let queue = its.queue.as_str().into();
    channel
        .basic_publish("".into(), queue, options, &body, properties)
        .await
}

/// What was seen on a channel.
#[derive(Default)]
struct Seen {
    outcomes: Vec<Value>,
    returned: Vec<Value>,
    error: Value,
}

impl Seen {
    fn fails(&mut self, error: &Error) {
        if self.error.is_null() {
            self.error = reason(error);
        }
    }

    fn settles(&mut self, number: usize, outcome: Result<Confirmation, Error>) {
        let (what, returned) = match outcome {
            Ok(Confirmation::Ack(returned)) => (json!("ack"), returned),
            Ok(Confirmation::Nack(returned)) => (json!("nack"), returned),
            Ok(Confirmation::NotRequested) => (Value::Null, None),
            Err(error) => {
                self.fails(&error);
                return;
            }
        };
        self.outcomes[number] = what;
        self.returned.extend(returned.iter().map(comes_back));
    }

    /// Waits for what is returned, where there are no confirms to wait for.
    async fn flush(&mut self, channel: &LapinChannel, its: &Channel) {
        if its.mode == Mode::Confirm {
            return;
        }
        if let Err(error) = declare(channel, &its.queue, true).await {
            self.fails(&error);
            return;
        }
        let returned = channel.wait_for_confirms().await.unwrap();
        self.returned.extend(returned.iter().map(comes_back));
    }
}

fn comes_back(returned: &BasicReturnMessage) -> Value {
    assert!(returned.data.is_empty(), "a body comes back");
    let number = returned
        .properties
        .message_id()
        .as_ref()
        .unwrap()
        .to_string();
    let number: usize = number.parse().unwrap();
    json!([number, returned.reply_code, returned.reply_text.as_str()])
}

/// A consumer that ends early is how an orderly end of the connection shows here; a frame that was not
/// expected is an error that the consumer is given.
async fn receive(connection: &Connection, plan: &Plan) -> Result<Vec<Value>, Value> {
    let mut channels = Vec::new();
    for its in &plan.channels {
        let channel = connection.create_channel().await.unwrap();
        let qos = BasicQosOptions::default();
        channel.basic_qos(plan.prefetch, qos).await.unwrap();
        let options = BasicConsumeOptions {
            no_ack: its.no_ack,
            ..BasicConsumeOptions::default()
        };
        let queue = its.queue.as_str().into();
        let consumer = channel.basic_consume(queue, "".into(), options, FieldTable::default());
        let consumer = consumer.await.unwrap();
        let (sender, mut deliveries) = mpsc::unbounded_channel();
        consumer.set_delegate(move |delivery: DeliveryResult| {
            let sender = sender.clone();
            async move {
                // Nobody listens any more when what was awaited has come.
                let _ = sender.send(delivery);
            }
        });
        let mut received = Vec::new();
        loop {
            let Some(delivery) = deliveries.recv().await else {
                return Err(json!(["consumer ended"]));
            };
            let delivery = delivery.map_err(|error| reason(&error))?;
            let delivery = delivery.expect("the consumer lives");
            let number = number_of(&delivery.data);
            received.push(json!([number, delivery.data.len()]));
            if !its.no_ack {
                delivery.ack(BasicAckOptions::default()).await.unwrap();
            }
            if number == its.until {
                break;
            }
        }
        let cancel = BasicCancelOptions::default();
        channel.basic_cancel(consumer.tag(), cancel).await.unwrap();
        channel.close(200, "bye".into()).await.unwrap();
        channels.push(json!({"received": received, "error": null}));
    }
    Ok(channels)
}

async fn get(connection: &Connection, plan: &Plan) -> Vec<Value> {
    let mut channels = Vec::new();
    for its in &plan.channels {
        let channel = connection.create_channel().await.unwrap();
        let options = BasicGetOptions { no_ack: its.no_ack };
        let mut received = Vec::new();
        loop {
            let got = channel.basic_get(its.queue.as_str().into(), options).await;
            let Some(message) = got.unwrap() else {
                received.push(json!("empty"));
                continue;
            };
            let number = number_of(&message.data);
            received.push(json!([number, message.data.len()]));
            if !its.no_ack {
                message.ack(BasicAckOptions::default()).await.unwrap();
            }
            if number == its.until {
                break;
            }
        }
        channel.close(200, "bye".into()).await.unwrap();
        channels.push(json!({"received": received, "error": null}));
    }
    channels
}

/// The number that a body begins with, and goes on with.
fn number_of(body: &[u8]) -> usize {
    let number: usize = std::str::from_utf8(&body[..8]).unwrap().parse().unwrap();
    let filler = (number % 251) as u8;
    assert!(body[8..].iter().all(|octet| *octet == filler), "{number}");
    number
}

/// Reply code and text.
fn reason(error: &Error) -> Value {
    match error.kind() {
        ErrorKind::ProtocolError(error) => {
            json!([error.get_id(), error.get_message().as_str()])
        }
        other => json!([format!("{other:?}")]),
    }
}
