//! DER by hand, for what no generator would make.

/// An element: type, length, and all parts as its contents (X.690 §8.1).
pub(crate) fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let contents = parts.concat();
    let mut out = vec![tag];
    match contents.len() {
        len @ 0..=0x7F => out.push(len as u8),
        len @ 0x80..=0xFF => out.extend([0x81, len as u8]),
        len => {
            out.push(0x82);
            out.extend(u16::try_from(len).unwrap().to_be_bytes());
        }
    }
    out.extend(contents);
    out
}

pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OID: u8 = 0x06;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;

/// A certificate with nothing in it but these; no signature of it would hold. `version` is the
/// element of that name, empty for version 1.
pub(crate) fn certificate(version: &[u8], validity: &[u8], subject: &[u8]) -> Vec<u8> {
    let empty = tlv(SEQUENCE, &[]);
    let tbs = tlv(
        SEQUENCE,
        &[
            version,
            &tlv(INTEGER, &[&[1]]),
            &empty,
            &empty,
            validity,
            subject,
            &empty,
        ],
    );
    tlv(SEQUENCE, &[&tbs, &empty, &tlv(0x03, &[&[0]])])
}

/// `[0] EXPLICIT INTEGER`, 2 for version 3.
pub(crate) fn version(number: u8) -> Vec<u8> {
    tlv(0xA0, &[&tlv(INTEGER, &[&[number]])])
}

/// From 2000 to 2049.
pub(crate) fn validity() -> Vec<u8> {
    let from = tlv(UTC_TIME, &[b"000101000000Z"]);
    tlv(SEQUENCE, &[&from, &tlv(UTC_TIME, &[b"491231235959Z"])])
}

/// A section of PEM.
pub(crate) fn pem(label: &str, octets: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut base64 = String::new();
    for chunk in octets.chunks(3) {
        let mut three = [0; 3];
        three[..chunk.len()].copy_from_slice(chunk);
        let [a, b, c] = three.map(u32::from);
        let bits = a << 16 | b << 8 | c;
        for place in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * place)) as usize & 0x3F];
            base64.push(if place <= chunk.len() {
                digit as char
            } else {
                '='
            });
        }
    }
    format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n")
}
