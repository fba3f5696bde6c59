//! What the tests of the sidecar as a whole share.
//!
//! [`Sidecar`] is the real program as a process of its own; [`FakeBroker`] and [`Raw`] are the two
//! peers it stands between, each octet of which a test writes and reads itself; [`mqtt`],
//! [`amqp10`] and [`amqp091`] write packets and frames and read answers without any code of the
//! product; [`Mosquitto`] and [`RabbitMq`] are real brokers. Nothing here waits without a deadline.

#![allow(
    dead_code,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::unwrap_used,
    unreachable_pub,
    unused_imports,
    reason = "each test uses its part"
)]

pub mod amqp091;
pub mod amqp10;
mod conversation;
mod descriptors;
pub mod guest;
mod mosquitto;
pub mod mqtt;
pub mod network;
mod peer;
mod program;
mod rabbitmq;
mod sidecar;
mod wait;

pub use conversation::{Conversation, expect_quiet};
pub use descriptors::raise_descriptor_limit;
pub use mosquitto::Mosquitto;
pub use peer::{FakeBroker, Raw, free_port, free_ports, pass};
pub use program::{Output, Running, node_modules, python};
pub use rabbitmq::{RabbitMq, Release};
pub use sidecar::{Metrics, Sidecar, field, program};
pub use wait::{DEADLINE, wait_for};
