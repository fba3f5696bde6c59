//! Octets to frames and back, for the protocols that sizegate speaks.
//!
//! Every parser here is a plain function of octets: no I/O, no clock, no state. It answers in one of
//! three ways, and never mixes them: a value, [`Parsed::NeedMore`], or an error that says at which
//! octet what was wrong. Payloads are not parsed; a caller that knows their length counts them.

pub mod amqp091;
pub mod amqp10;
pub mod mqtt;
pub mod proxy_protocol;

/// What a parser makes of the octets it was given, unless they are malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed<T> {
    /// The value that stands at the front of the octets.
    Value(T),
    /// Nothing can be said before this many octets are there, counted from the front.
    ///
    /// More than were given, and bounded by what the grammar allows a header to be.
    NeedMore(usize),
}
