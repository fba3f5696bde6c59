//! The checksum that a binary header may carry among its TLVs.

use super::fault::{Fault, Malformed};

/// Walks the TLVs that begin at `tlvs_at` of a whole header, and verifies a checksum among them.
///
/// ```text
/// +------+--------+--------+
/// | type | length | value  |   §2.2
/// | 1    | 2      | length |
/// +------+--------+--------+
/// ```
///
/// All other types are skipped. Who sends a checksum wants it verified, and HAProxy does so too.
pub(super) fn verify(header: &[u8], tlvs_at: usize) -> Result<(), Malformed> {
    let mut at = tlvs_at;
    while at < header.len() {
        let fault = |what| Err(Malformed { at, what });
        let Some(&[kind, len_0, len_1]) = header.get(at..at + 3) else {
            return fault(Fault::TlvBeyondHeader);
        };
        let value_at = at + 3;
        let end = value_at + usize::from(u16::from_be_bytes([len_0, len_1]));
        let Some(value) = header.get(value_at..end) else {
            return fault(Fault::TlvBeyondHeader);
        };
        if kind == CRC32C && crc32c(header, value_at..end).to_be_bytes() != *value {
            return fault(Fault::WrongChecksum);
        }
        at = end;
    }
    Ok(())
}

/// The CRC32c (RFC 4960, Appendix B) of `octets`, those in `blank` taken for 0.
fn crc32c(octets: &[u8], blank: std::ops::Range<usize>) -> u32 {
    let mut crc = !0;
    for (at, &octet) in octets.iter().enumerate() {
        crc ^= u32::from(if blank.contains(&at) { 0 } else { octet });
        for _ in 0..u8::BITS {
            let carry = crc & 1;
            crc >>= 1;
            crc ^= POLYNOMIAL * carry;
        }
    }
    !crc
}

/// The type of the checksum (§2.2.3).
const CRC32C: u8 = 0x03;
/// Castagnoli's, its bits in the order in which they are shifted out.
const POLYNOMIAL: u32 = 0x82F6_3B78;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_castagnoli() {
        // RFC 3720 §B.4 has the first two, and every list of CRCs the last.
        assert_eq!(crc32c(&[0; 32], 0..0), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32], 0..0), 0x62A8_AB43);
        assert_eq!(crc32c(b"123456789", 0..0), 0xE306_9283);
    }

    #[test]
    fn octets_left_blank_count_as_zero() {
        assert_eq!(crc32c(&[7; 32], 0..32), 0x8A91_36AA);
    }
}
