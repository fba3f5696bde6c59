//! AMQP 1.0: protocol headers, frames, performatives, SASL, and what sizegate says.
//!
//! Knows the grammar of the parts that a size limit needs: where a frame ends, which performative
//! it carries, where its payload begins, and the fields that tie a transfer to a link and a session.
//! Of the payload it reads only the way to the `to` of a message, and its message-annotations. What
//! a field means for a link or a session, and which performative is legal when, is the gate's to
//! know.

mod annotations;
mod attach;
mod connection;
mod descriptor;
mod disposition;
pub mod encode;
mod error;
mod fault;
mod fields;
mod flow;
mod frame_header;
mod identity;
mod list;
mod message;
mod patch;
mod performative;
mod protocol_header;
mod sasl;
mod scalar;
mod state;
mod terminus;
#[cfg(test)]
mod tests;
mod transfer;
mod value;
mod whole;

pub use annotations::{Annotations, Edit, annotations};
pub use attach::{Attach, Detach, Presence, ReceiverSettleMode, Role, SenderSettleMode};
pub use connection::{Begin, Close, End, Open};
pub use descriptor::Descriptor;
pub use disposition::Disposition;
pub use error::{AmqpError, InfoValue, condition};
pub use fault::{Fault, Malformed};
pub use flow::Flow;
pub use frame_header::{Channel, FrameHeader, FrameType, Handle, frame_header};
pub use identity::{Mechanism, identity};
pub use message::message_to;
pub use patch::Change;
pub use performative::{Fields, Performative, performative};
pub use protocol_header::{Protocol, ProtocolHeader, protocol_header};
pub use sasl::{SaslInit, SaslMechanisms, SaslOutcome};
pub use scalar::Scalar;
pub use state::{DeliveryState, Outcome, delivery_state};
pub use terminus::Terminus;
pub use transfer::{Transfer, common_transfer};
pub use whole::{WholeDelivery, whole_delivery};
