//! Values of the primitive types, encoded in their shortest form (AMQP 1.0 §1.6).

use std::ops::Deref;

/// An encoded value of at most nine octets, constructor included: its octets are what it derefs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    octets: [u8; 9],
    /// How many of the octets count, 1 to 9.
    len: u8,
}

impl Scalar {
    /// A constructor and its data, of at most eight octets.
    pub(super) fn of<const N: usize>(constructor: u8, data: [u8; N]) -> Self {
        const { assert!(N <= 8) };
        let mut octets = [0; 9];
        for (octet, value) in octets.iter_mut().zip([constructor].into_iter().chain(data)) {
            *octet = value;
        }
        Self {
            octets,
            len: N as u8 + 1,
        }
    }
}

impl AsRef<[u8]> for Scalar {
    fn as_ref(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl Deref for Scalar {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.as_ref()
    }
}

/// Null (AMQP 1.0 §1.6.1).
pub fn null() -> Scalar {
    Scalar::of(0x40, [])
}

/// A boolean (AMQP 1.0 §1.6.2).
pub fn boolean(value: bool) -> Scalar {
    Scalar::of(if value { 0x41 } else { 0x42 }, [])
}

/// A ubyte (AMQP 1.0 §1.6.3).
pub fn ubyte(value: u8) -> Scalar {
    Scalar::of(0x50, [value])
}

/// A ushort (AMQP 1.0 §1.6.4).
pub fn ushort(value: u16) -> Scalar {
    Scalar::of(0x60, value.to_be_bytes())
}

/// A uint (AMQP 1.0 §1.6.5).
pub fn uint(value: u32) -> Scalar {
    match (value, u8::try_from(value)) {
        (0, _) => Scalar::of(0x43, []),
        (_, Ok(small)) => Scalar::of(0x52, [small]),
        _ => Scalar::of(0x70, value.to_be_bytes()),
    }
}

/// A ulong (AMQP 1.0 §1.6.6).
pub fn ulong(value: u64) -> Scalar {
    match (value, u8::try_from(value)) {
        (0, _) => Scalar::of(0x44, []),
        (_, Ok(small)) => Scalar::of(0x53, [small]),
        _ => Scalar::of(0x80, value.to_be_bytes()),
    }
}

/// Appends a binary (AMQP 1.0 §1.6.19).
pub fn binary(out: &mut Vec<u8>, value: &[u8]) {
    variable(out, 0xA0, value);
}

/// Appends a string (AMQP 1.0 §1.6.20).
pub fn string(out: &mut Vec<u8>, value: &str) {
    variable(out, 0xA1, value.as_bytes());
}

/// Appends a symbol (AMQP 1.0 §1.6.21); `value` has to be ASCII.
pub fn symbol(out: &mut Vec<u8>, value: &str) {
    debug_assert!(value.is_ascii());
    variable(out, 0xA3, value.as_bytes());
}

/// Constructor `short` and a length of one octet, or the one 16 further and a length of four.
fn variable(out: &mut Vec<u8>, short: u8, value: &[u8]) {
    match u8::try_from(value.len()) {
        Ok(len) => out.extend_from_slice(&[short, len]),
        Err(_) => {
            out.push(short + 0x10);
            // What is written here fits into a frame, whose own size has four octets.
            out.extend_from_slice(&(value.len() as u32).to_be_bytes());
        }
    }
    out.extend_from_slice(value);
}
