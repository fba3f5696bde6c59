//! Which protocol a client speaks, by the first octets that it sends.

use crate::protocols::{PROTOCOLS, Protocol, Recognition};

/// What a client's first octets say.
#[derive(Clone, Copy, Debug)]
pub(super) enum Detection {
    /// They belong to this protocol.
    Known(&'static Protocol),
    /// Too few to say.
    NeedMore,
    /// They belong to no protocol that is allowed here.
    Unknown,
}

/// Asks the allowed protocols in turn: all of them, or the one that is named.
pub(super) fn detect(octets: &[u8], only: Option<&str>) -> Detection {
    let mut answer = Detection::Unknown;
    let allowed = PROTOCOLS
        .iter()
        .filter(|protocol| only.is_none_or(|name| name == protocol.name));
    for protocol in allowed {
        match (protocol.recognise)(octets) {
            Recognition::Ours => return Detection::Known(protocol),
            Recognition::Perhaps => answer = Detection::NeedMore,
            Recognition::Foreign => {}
        }
    }
    answer
}

/// What unknown first octets look like, for the log; nothing is decided by it.
pub(super) fn looks_like(octets: &[u8]) -> &'static str {
    match octets {
        // A handshake record that holds a ClientHello (RFC 8446 §5.1).
        [0x16, 0x03, ..] => "TLS",
        [b'A', b'M', b'Q', b'P', ..] => "AMQP",
        [b'P', b'R', b'O', b'X', b'Y', b' ', ..] | [0x0D, 0x0A, 0x0D, 0x0A, ..] => "PROXY protocol",
        [0x10, ..] => "MQTT of an unknown version",
        [b'G', b'E', b'T', b' ', ..]
        | [b'H', b'E', b'A', b'D', ..]
        | [b'P', b'O', b'S', b'T', ..] => "HTTP",
        _ => "nothing known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connect_is_mqtt_and_its_beginning_may_become_one() {
        let connect = b"\x10\x0c\0\x04MQTT\x04\0\0\0\0\0";
        for len in 0..9 {
            assert!(
                matches!(detect(&connect[..len], None), Detection::NeedMore),
                "{len}"
            );
        }
        let Detection::Known(protocol) = detect(&connect[..9], None) else {
            panic!("nine octets are enough");
        };
        assert_eq!(protocol.name, "mqtt");
    }

    #[test]
    fn a_protocol_that_is_not_allowed_is_unknown() {
        let connect = b"\x10\x0c\0\x04MQTT\x04\0\0\0\0\0";
        assert!(matches!(detect(connect, Some("mqtt")), Detection::Known(_)));
        assert!(matches!(
            detect(connect, Some("amqp10")),
            Detection::Unknown
        ));
    }

    #[test]
    fn protocols_that_begin_alike_are_told_apart_by_their_first_octets() {
        for (octets, name) in [
            (b"AMQP\x00\x00\x09\x01", "amqp091"),
            (b"AMQP\x01\x01\x00\x09", "amqp091"),
            (b"AMQP\x01\x01\x08\x00", "amqp091"),
            (b"AMQP\x01\x01\x09\x01", "amqp091"),
            (b"AMQP\x00\x01\x00\x00", "amqp10"),
            (b"AMQP\x03\x01\x00\x00", "amqp10"),
        ] {
            for len in 0..8 {
                let part = detect(&octets[..len], None);
                assert!(matches!(part, Detection::NeedMore), "{len} of {name}");
            }
            let Detection::Known(protocol) = detect(octets, None) else {
                panic!("{octets:02X?} is {name}");
            };
            assert_eq!(protocol.name, name);
            assert!(matches!(detect(octets, Some("mqtt")), Detection::Unknown));
        }
        for octets in [b"AMQP\x00\x00\x0A\x00", b"AMQP\x02\x01\x00\x00"] {
            assert!(matches!(detect(octets, None), Detection::Unknown));
        }
    }

    #[test]
    fn a_tls_client_is_unknown_at_its_first_octet_and_named_in_the_log() {
        assert!(matches!(detect(&[0x16], None), Detection::Unknown));
        assert_eq!(looks_like(&[0x16, 0x03, 0x01]), "TLS");
    }
}
