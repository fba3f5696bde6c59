//! MQTT 3.1.1 with rumqttc: all qualities of service in turn.

use rumqttc::mqttbytes::qos;
use rumqttc::{AsyncClient, Event, EventLoop, MqttOptions, Outgoing, Packet, QoS};

use crate::lane::{Client, Lane, Publish, Subscribe, Told, body};

/// A client, be it publisher or subscriber.
pub(crate) struct Mqtt3 {
    client: AsyncClient,
    events: EventLoop,
}

impl Mqtt3 {
    /// The next event; an error would be a lost connection.
    async fn next(&mut self, lane: &Lane) -> Event {
        let event = lane.soon("event", self.events.poll()).await;
        event.unwrap_or_else(|error| panic!("{}: {error}", lane.name))
    }
}

impl Client for Mqtt3 {
    async fn connect(lane: &Lane, id: &str) -> Self {
        let host = lane.address.ip().to_string();
        let mut options = MqttOptions::new(id, host, lane.address.port());
        options.set_max_packet_size(1 << 20, 1 << 20);
        let (client, events) = AsyncClient::new(options, 10);
        let mut connected = Self { client, events };
        let event = connected.next(lane).await;
        assert!(matches!(event, Event::Incoming(Packet::ConnAck(_))));
        connected
    }

    async fn leave(mut self, lane: &Lane) {
        self.client.disconnect().await.unwrap();
        while self.next(lane).await != Event::Outgoing(Outgoing::Disconnect) {}
    }
}

impl Publish for Mqtt3 {
    async fn publish(&mut self, lane: &Lane, number: usize) -> Told {
        let quality = qos((number % 3) as u8).unwrap();
        self.client
            .publish(&lane.name, quality, false, body(number))
            .await
            .unwrap();
        loop {
            // A refusal looks like success.
            match (self.next(lane).await, quality) {
                (Event::Outgoing(Outgoing::Publish(_)), QoS::AtMostOnce)
                | (Event::Incoming(Packet::PubAck(_)), QoS::AtLeastOnce)
                | (Event::Incoming(Packet::PubComp(_)), QoS::ExactlyOnce) => break,
                _ => {}
            }
        }
        Told::Taken
    }
}

impl Subscribe for Mqtt3 {
    async fn subscribe(&mut self, lane: &Lane) {
        let filter = &lane.name;
        self.client
            .subscribe(filter, QoS::ExactlyOnce)
            .await
            .unwrap();
        while !matches!(self.next(lane).await, Event::Incoming(Packet::SubAck(_))) {}
    }

    async fn receive(&mut self, lane: &Lane) -> Vec<u8> {
        loop {
            if let Event::Incoming(Packet::Publish(publish)) = self.next(lane).await {
                return publish.payload.to_vec();
            }
        }
    }
}
