//! MQTT 3.1, 3.1.1 and 5.0: fixed headers, the head of a PUBLISH, CONNECT, and what sizegate says.
//!
//! Knows the grammar of the parts that a size limit needs, and checks what is needed to walk from
//! one control packet to the next. Payloads, topic names and the properties of packets that are
//! only passed on are left to the broker.

mod connect;
mod encode;
mod fault;
mod fields;
mod fixed_header;
mod properties;
mod publish;
mod rewrite;
mod straight;
#[cfg(test)]
mod tests;

pub use connect::{Connect, ConnectStart, Version, Will, connect, connect_start};
pub use encode::{Acknowledgement, acknowledgement, connack, disconnect, publish_head};
pub use fault::{Fault, Malformed};
pub use fixed_header::{FixedHeader, PacketType, fixed_header, packet_len};
pub use publish::{Publish, QoS, publish};
pub use rewrite::{lower_connack, lower_connect};
pub use straight::{CommonPublish, common_publish};
