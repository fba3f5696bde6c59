//! AMQP 1.0 with fe2o3-amqp: unsettled messages of one and several frames.

use fe2o3_amqp::connection::ConnectionHandle;
use fe2o3_amqp::link::delivery::Sendable;
use fe2o3_amqp::link::receiver::CreditMode;
use fe2o3_amqp::sasl_profile::SaslProfile;
use fe2o3_amqp::session::SessionHandle;
use fe2o3_amqp::types::definitions::{ErrorCondition, LinkError, SenderSettleMode};
use fe2o3_amqp::types::messaging::{Body, Data, Message, Outcome};
use fe2o3_amqp::types::primitives::{Binary, Value};
use fe2o3_amqp::{Connection, Receiver, Sender, Session};

use crate::lane::{Client, Lane, Publish, Subscribe, Told, body};

/// A client, be it publisher or subscriber.
pub(crate) struct Amqp10 {
    connection: ConnectionHandle<()>,
    session: SessionHandle<()>,
    sender: Option<Sender>,
    receiver: Option<Receiver>,
}

impl Client for Amqp10 {
    async fn connect(lane: &Lane, id: &str) -> Self {
        let url = format!("amqp://{}", lane.address);
        let opens = Connection::builder()
            .container_id(id)
            .sasl_profile(SaslProfile::Plain {
                username: "guest".to_owned(),
                password: "guest".to_owned(),
            })
            .open(&*url);
        let mut connection = lane.soon("connection", opens).await.unwrap();
        let begins = Session::begin(&mut connection);
        let session = lane.soon("session", begins).await.unwrap();
        Self {
            connection,
            session,
            sender: None,
            receiver: None,
        }
    }

    async fn leave(mut self, lane: &Lane) {
        if let Some(sender) = self.sender {
            lane.soon("detach", sender.close()).await.unwrap();
        }
        if let Some(receiver) = self.receiver {
            lane.soon("detach", receiver.close()).await.unwrap();
        }
        lane.soon("end", self.session.end()).await.unwrap();
        lane.soon("close", self.connection.close()).await.unwrap();
    }
}

impl Publish for Amqp10 {
    async fn prepare(&mut self, lane: &Lane) {
        let attaches = Sender::builder()
            .name("soak")
            .target(address(lane))
            .sender_settle_mode(SenderSettleMode::Unsettled)
            .attach(&mut self.session);
        self.sender = Some(lane.soon("link", attaches).await.unwrap());
    }

    async fn publish(&mut self, lane: &Lane, number: usize) -> Told {
        let sender = self.sender.as_mut().expect("a link");
        let message = Message::builder().data(Binary::from(body(number))).build();
        let message: Sendable<Data> = Sendable::builder().message(message).build();
        match lane.soon("outcome", sender.send(message)).await.unwrap() {
            Outcome::Accepted(_) => Told::Taken,
            Outcome::Rejected(rejected) => {
                let condition = rejected.error.map(|error| error.condition);
                let expected = ErrorCondition::LinkError(LinkError::MessageSizeExceeded);
                assert_eq!(condition, Some(expected), "{}", lane.name);
                Told::Refused
            }
            other => panic!("{}: {other:?}", lane.name),
        }
    }
}

impl Subscribe for Amqp10 {
    async fn subscribe(&mut self, lane: &Lane) {
        let attaches = Receiver::builder()
            .name("soak")
            .source(address(lane))
            .sender_settle_mode(SenderSettleMode::Unsettled)
            .credit_mode(CreditMode::Auto(10))
            .attach(&mut self.session);
        self.receiver = Some(lane.soon("link", attaches).await.unwrap());
    }

    async fn receive(&mut self, lane: &Lane) -> Vec<u8> {
        let receiver = self.receiver.as_mut().expect("a link");
        let comes = receiver.recv::<Body<Value>>();
        let delivery = lane.soon("message", comes).await.unwrap();
        receiver.accept(&delivery).await.unwrap();
        let Body::Data(sections) = delivery.body() else {
            panic!("{}: not data: {:?}", lane.name, delivery.body());
        };
        sections.iter().flat_map(|data| data.0.to_vec()).collect()
    }
}

/// A queue, which is made when it is used.
fn address(lane: &Lane) -> String {
    format!("/queue/{}", lane.name)
}
