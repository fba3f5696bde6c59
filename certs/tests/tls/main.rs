//! The crate from outside: files on a disk, and handshakes in memory.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that meets what it did not expect has to fail"
)]

mod damage;
mod folder;
#[path = "../../examples/generate/mod.rs"]
mod generate;
mod handshake;
mod keys;
mod lifetimes;
mod refusals;
mod renewal;
mod resumption;
mod subjects;
mod tlv;
