//! AMQP 0-9-1 with lapin: a channel with confirms, and a consumer that acknowledges.

use lapin::message::DeliveryResult;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions,
    QueueDeclareOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Confirmation, Connection, ConnectionProperties};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::lane::{Client, Lane, Publish, Subscribe, Told, body};

/// A client, be it publisher or subscriber.
pub(crate) struct Amqp091 {
    connection: Connection,
    channel: Channel,
    deliveries: Option<UnboundedReceiver<DeliveryResult>>,
}

impl Client for Amqp091 {
    async fn connect(lane: &Lane, id: &str) -> Self {
        let uri = format!("amqp://guest:guest@{}/%2f?heartbeat=60", lane.address);
        let properties = ConnectionProperties::default().with_connection_name(id.into());
        let connects = Connection::connect(&uri, properties);
        let connection = lane.soon("connection", connects).await.unwrap();
        let opens = connection.create_channel();
        let channel = lane.soon("channel", opens).await.unwrap();
        Self {
            connection,
            channel,
            deliveries: None,
        }
    }

    async fn leave(self, lane: &Lane) {
        let closes = self.connection.close(200, "bye".into());
        lane.soon("close", closes).await.unwrap();
    }
}

impl Publish for Amqp091 {
    async fn prepare(&mut self, lane: &Lane) {
        let confirms = self.channel.confirm_select(ConfirmSelectOptions::default());
        lane.soon("confirm mode", confirms).await.unwrap();
    }

    async fn publish(&mut self, lane: &Lane, number: usize) -> Told {
        let body = body(number);
        let published = self.channel.basic_publish(
            "".into(),
            lane.name.as_str().into(),
            BasicPublishOptions::default(),
            &body,
            BasicProperties::default(),
        );
        let confirm = lane.soon("place for a message", published).await.unwrap();
        match lane.soon("confirmation", confirm).await.unwrap() {
            Confirmation::Ack(_) => Told::Taken,
            Confirmation::Nack(_) => Told::Refused,
            Confirmation::NotRequested => panic!("{}: no confirms", lane.name),
        }
    }
}

impl Subscribe for Amqp091 {
    async fn subscribe(&mut self, lane: &Lane) {
        let queue = lane.name.as_str();
        let durable = QueueDeclareOptions {
            durable: true,
            ..QueueDeclareOptions::default()
        };
        let none = FieldTable::default();
        let declares = self.channel.queue_declare(queue.into(), durable, none);
        lane.soon("queue", declares).await.unwrap();
        let options = BasicConsumeOptions::default();
        let none = FieldTable::default();
        let consumes = self
            .channel
            .basic_consume(queue.into(), "".into(), options, none);
        let consumer = lane.soon("consumer", consumes).await.unwrap();
        let (sender, deliveries) = unbounded_channel();
        consumer.set_delegate(move |delivery: DeliveryResult| {
            let sender = sender.clone();
            async move {
                // Nobody listens any more when the last message has come.
                let _ = sender.send(delivery);
            }
        });
        self.deliveries = Some(deliveries);
    }

    async fn receive(&mut self, lane: &Lane) -> Vec<u8> {
        let deliveries = self.deliveries.as_mut().expect("a consumer");
        let delivery = lane.soon("message", deliveries.recv()).await;
        let delivery = delivery.expect("a consumer").unwrap();
        let delivery = delivery.expect("a consumer that lives on");
        delivery.ack(BasicAckOptions::default()).await.unwrap();
        delivery.data.clone()
    }
}
