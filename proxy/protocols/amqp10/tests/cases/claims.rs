//! Who a client is that has shown something in TLS: which word counts, and which rule it meets.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::*;
use crate::cli::limit_spec;
use crate::policy::{ByteSize, Identity, Limit, Policy, PolicySpec};
use crate::protocols::{Opening, Settings};

/// A client that called this server `sni.example` and whose certificate is for `CN=alice,O=Acme`,
/// under 100 octets unless one of these rules is for it.
fn shown(rules: &[&str]) -> Raw {
    let limit = |size, rule: &str| Limit::new(ByteSize(size), rule);
    let mut spec = PolicySpec::new(
        limit(100, "--max-message-size"),
        limit(0, "--max-receive-size"),
    );
    let rules = rules.iter().map(|rule| limit_spec("--limit", rule));
    spec.send_rules = rules.collect::<Result<_, _>>().expect("rules");
    let gate = crate::protocols::amqp10::open(&Opening {
        settings: &Arc::new(Settings::new(Policy::compile(&spec))),
        peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
        server_name: Some("sni.example"),
        subject: Some(SUBJECT),
    });
    Raw {
        gate: Harness::new(gate),
    }
}

const SUBJECT: &str = "CN=alice,O=Acme";

/// A SASL exchange that the broker ends well.
fn authenticate(raw: &mut Raw, mechanism: &str, response: Option<&[u8]>) {
    let header = ProtocolHeader::SASL.octets();
    raw.passes(Side::Client, &header);
    let offer = written(|out| encode::sasl_mechanisms(out, mechanism));
    raw.passes(Side::Broker, &[&header[..], &offer].concat());
    let init = written(|out| encode::sasl_init(out, mechanism, response, None));
    raw.passes(Side::Client, &init);
    raw.passes(Side::Broker, &written(|out| encode::sasl_outcome(out, 0)));
}

/// Both sides open, begin and attach a link on which the client sends.
fn attach_as(raw: &mut Raw, hostname: Option<&str>) {
    let open = |hostname| {
        let mut octets = ProtocolHeader::AMQP.octets().to_vec();
        let open = Open {
            hostname,
            ..open(512)
        };
        encode::open(&mut octets, &open);
        octets
    };
    let client = [
        open(hostname),
        begin(CLIENT, None, 0, 100),
        attach(CLIENT, &link("out", OUT, Role::Sender)),
    ];
    let broker = [
        open(None),
        begin(BROKER, Some(CLIENT), 0, 100),
        attach(BROKER, &link("out", OUT_AT_BROKER, Role::Receiver)),
        flow(BROKER, Start::default().grant()),
    ];
    raw.passes(Side::Client, &client.concat());
    raw.passes(Side::Broker, &broker.concat());
}

/// Whether a message of 200 octets, twice the limit of everybody else, passes.
fn is_exempt(raw: &mut Raw) -> bool {
    raw.says(Side::Client, &message(0, 200));
    !raw.hears(Side::Broker).is_empty()
}

#[test]
fn the_host_of_the_open_comes_before_the_server_name() {
    for (hostname, vhost) in [
        (None, "sni.example"),
        (Some(""), "sni.example"),
        (Some("open.example"), "open.example"),
        (Some("vhost:prod"), "prod"),
    ] {
        for rule in ["sni.example", "open.example", "prod"] {
            let mut raw = shown(&[&format!("vhost:{rule}=200")]);
            attach_as(&mut raw, hostname);
            assert_eq!(raw.gate.gate.identity().vhost, Some(vhost), "{hostname:?}");
            assert_eq!(
                is_exempt(&mut raw),
                rule == vhost,
                "{hostname:?} and {rule}"
            );
        }
    }
}

#[test]
fn the_subject_is_the_user_unless_the_client_gives_another_name() {
    for (sasl, user) in [
        (None, SUBJECT),
        (Some(("EXTERNAL", None)), SUBJECT),
        (Some(("EXTERNAL", Some(&b""[..]))), SUBJECT),
        // A name that goes with a certificate is not the one that the certificate proves.
        (Some(("EXTERNAL", Some(b"root"))), SUBJECT),
        (Some(("ANONYMOUS", None)), SUBJECT),
        (Some(("ANONYMOUS", Some(b"trace"))), SUBJECT),
        (Some(("PLAIN", Some(b"\0carol\0secret"))), "carol"),
        (Some(("PLAIN", Some(b"zid\0carol\0secret"))), "carol"),
        (Some(("SCRAM-SHA-256", Some(b"n,,n=carol,r=x"))), "carol"),
    ] {
        for rule in ["CN=alice*", "carol", "root", "trace", "zid"] {
            let mut raw = shown(&[&format!("user:{rule}=200")]);
            if let Some((mechanism, response)) = sasl {
                authenticate(&mut raw, mechanism, response);
            }
            attach_as(&mut raw, None);
            assert_eq!(raw.gate.gate.identity().user, Some(user), "{sasl:?}");
            let is_for = rule.trim_end_matches('*');
            assert_eq!(
                is_exempt(&mut raw),
                user.starts_with(is_for),
                "{sasl:?} and {rule}"
            );
        }
    }
}

#[test]
fn a_name_given_with_external_counts_where_no_certificate_was_asked_for() {
    let mut raw = Raw::new(Terms::default());
    authenticate(&mut raw, "EXTERNAL", Some(b"carol"));
    assert_eq!(raw.gate.gate.identity().user, Some("carol"));
}

#[test]
fn a_client_is_known_by_what_it_has_shown_before_it_says_a_word() {
    let raw = shown(&[]);
    let Identity { vhost, user, .. } = raw.gate.gate.identity();
    assert_eq!((vhost, user), (Some("sni.example"), Some(SUBJECT)));
}
