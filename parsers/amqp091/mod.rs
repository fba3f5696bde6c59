//! AMQP 0-9-1, and 0-9 and 0-8 as far as they are the same: protocol headers, frames, methods, content
//! headers, and what sizegate says.
//!
//! Knows the grammar of the parts that a size limit needs: where a frame ends, which method it carries,
//! how large a content is, and the arguments that tie a content to a channel, a consumer and an
//! address. Of a content it reads no property and no octet of the body. What a method means for a
//! channel, and which frame is legal when, is the gate's to know.

mod basic;
mod connection;
mod content_header;
pub mod encode;
mod fault;
mod fields;
mod frame_header;
mod identity;
mod message;
mod method;
mod protocol_header;
mod table;
#[cfg(test)]
mod tests;

pub use basic::{Ack, Cancel, Consume, ConsumerTag, Deliver, Get, GetOk, Publish, Reject, Return};
pub use connection::{Close, ConnectionOpen, StartOk, Tune};
pub use content_header::{ContentHeader, content_header};
pub use fault::{Fault, Malformed};
pub use frame_header::{Channel, FRAME_END, FrameHeader, FrameType, frame_header};
pub use identity::{Mechanism, identity};
pub use message::{Common, CommonMethod, common_content};
pub use method::{Method, MethodId, method};
pub use protocol_header::{ProtocolHeader, Version, protocol_header};
pub use table::Table;
