//! Which protocol a client speaks, by the first octets that it sends.

use crate::listen::{Beginning, beginning};
use crate::protocols::{PROTOCOLS, Protocol, Recognition};

/// What a client's first octets say.
#[derive(Clone, Copy, Debug)]
pub(super) enum Detection {
    /// They belong to this protocol.
    Known(&'static Protocol),
    /// Too few to say.
    NeedMore,
    /// They are a PROXY header, where none is due: one that was has been taken away.
    ProxyHeader,
    /// They belong to no protocol that is allowed here.
    Unknown,
}

/// Asks the allowed protocols in turn, all of them or the one that is named, and looks for a PROXY
/// header where none of them knows the octets.
pub(super) fn detect(octets: &[u8], only: Option<&str>) -> Detection {
    let mut answer = match beginning(octets) {
        Beginning::Header => Detection::ProxyHeader,
        Beginning::Perhaps => Detection::NeedMore,
        Beginning::Other => Detection::Unknown,
    };
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
    fn a_proxy_header_is_told_from_what_is_unknown_and_its_beginning_may_become_one() {
        for header in [
            &b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"[..],
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0C",
        ] {
            let signature = if header.starts_with(b"P") { 6 } else { 12 };
            for len in 1..=header.len() {
                let detection = detect(&header[..len], None);
                if len < signature {
                    assert!(matches!(detection, Detection::NeedMore), "{len}");
                } else {
                    assert!(matches!(detection, Detection::ProxyHeader), "{len}");
                }
            }
        }
        for other in [&b"POST / HTTP/1.1"[..], b"PROXIED", b"\r\n\r\nQUIT"] {
            assert!(matches!(detect(other, None), Detection::Unknown));
        }
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
    fn a_tls_client_is_unknown_at_its_first_octet() {
        assert!(matches!(detect(&[0x16], None), Detection::Unknown));
    }
}
