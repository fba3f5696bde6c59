//! What octets look like that are not what was expected, for the log; nothing is decided by it.

/// The protocol that begins like this, in a word for people.
pub fn looks_like(octets: &[u8]) -> &'static str {
    match octets {
        // A handshake record that holds a ClientHello (RFC 8446 §5.1).
        [0x16, 0x03, ..] => "TLS",
        // The header that announces TLS (AMQP 1.0 §5.2).
        [b'A', b'M', b'Q', b'P', 2, ..] => "AMQP in TLS",
        [b'A', b'M', b'Q', b'P', ..] => "AMQP",
        [b'P', b'R', b'O', b'X', b'Y', b' ', ..] | [0x0D, 0x0A, 0x0D, 0x0A, ..] => "PROXY protocol",
        [0x10, ..] => "MQTT",
        [b'G', b'E', b'T', b' ', ..]
        | [b'H', b'E', b'A', b'D', ..]
        | [b'P', b'O', b'S', b'T', ..] => "HTTP",
        [b'S', b'S', b'H', b'-', ..] => "SSH",
        _ => "nothing known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_named() {
        for (octets, name) in [
            (&[0x16, 0x03, 0x01][..], "TLS"),
            (b"AMQP\x02\x01\x00\x00", "AMQP in TLS"),
            (b"AMQP\x00\x01\x00\x00", "AMQP"),
            (b"AMQP", "AMQP"),
            (b"PROXY TCP4", "PROXY protocol"),
            (b"\r\n\r\n\0\r\nQUIT\n", "PROXY protocol"),
            (b"\x10\x0C\0\x04MQTT", "MQTT"),
            (b"GET / HTTP/1.1", "HTTP"),
            (b"HEAD / HTTP/1.1", "HTTP"),
            (b"POST / HTTP/1.1", "HTTP"),
            (b"SSH-2.0-", "SSH"),
            (b"AM", "nothing known"),
            (b"", "nothing known"),
        ] {
            assert_eq!(looks_like(octets), name, "{octets:02X?}");
        }
    }
}
