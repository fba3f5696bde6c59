//! When certificates expire, and that it is told.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use certs::{Client, ClientFiles, Lifetime, Phase, Reload, Role, Trust};

use crate::folder::{Folder, authority};
use crate::generate::Valid;
use crate::tlv::{GENERALIZED_TIME, SEQUENCE, UTC_TIME, certificate, pem, tlv, version};

#[test]
fn each_role_has_its_word() {
    for (role, word) in [
        (Role::Server, "server"),
        (Role::ClientCa, "client-ca"),
        (Role::UpstreamCa, "upstream-ca"),
        (Role::UpstreamClient, "upstream-client"),
    ] {
        assert_eq!(role.as_str(), word);
    }
}

#[test]
fn a_server_tells_its_own_certificate_and_its_client_ca() {
    let here = authority("here");
    let folder = Folder::of(&here);
    folder.put("server", &here.server(&["localhost"], Valid::Past).unwrap());
    let (from, to) = Valid::Past.period();
    let own = Lifetime {
        role: Role::Server,
        file: folder.file("server.crt"),
        not_before: UNIX_EPOCH + from,
        not_after: UNIX_EPOCH + to,
    };
    let alone = folder.server().lifetimes();
    let lifetimes = folder.mutual_server().lifetimes();
    assert_eq!(lifetimes[0], own);
    assert_eq!(alone, lifetimes[..1]);
    assert_eq!(lifetimes[1].role, Role::ClientCa);
    assert_eq!(lifetimes[1].file, folder.file("ca.crt"));
    assert_eq!(lifetimes.len(), 2);
}

#[test]
fn a_client_tells_the_ca_of_the_broker_and_its_own_certificate() {
    let here = authority("here");
    let folder = Folder::of(&here);
    folder.put("client", &here.client("CN=a", Valid::Future).unwrap());
    let (_, to) = Valid::Future.period();
    let lifetimes = folder.client_with("client").lifetimes();
    let roles: Vec<_> = lifetimes.iter().map(|lifetime| lifetime.role).collect();
    assert_eq!(roles, [Role::UpstreamCa, Role::UpstreamClient]);
    assert_eq!(lifetimes[1].not_after, UNIX_EPOCH + to);
    assert_eq!(lifetimes[1].file, folder.file("client.crt"));
}

#[test]
fn of_several_cas_the_first_to_expire_counts_and_of_a_chain_the_first_certificate() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let issued = [Valid::Future, Valid::Past, Valid::Now]
        .map(|valid| here.client("CN=any", valid).unwrap().cert);
    folder.write("ca.crt", issued.concat());
    let lifetime = &folder.client().lifetimes()[0];
    assert_eq!(lifetime.not_after, UNIX_EPOCH + Valid::Past.period().1);
    assert_eq!(lifetime.not_before, UNIX_EPOCH + Valid::Future.period().0);

    let own = here.server(&["localhost"], Valid::Future).unwrap();
    folder.write("server.crt", own.cert + &issued.concat());
    folder.write("server.key", own.key);
    let lifetime = &folder.server().lifetimes()[0];
    assert_eq!(lifetime.not_after, UNIX_EPOCH + Valid::Future.period().1);
}

#[test]
fn lifetimes_are_those_of_what_is_in_force() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let server = folder.server();
    let before = server.lifetimes();
    folder.write("server.crt", "");
    assert!(matches!(server.reload(), Reload::Kept(_)));
    assert_eq!(server.lifetimes(), before);
    folder.put(
        "server",
        &here.server(&["localhost"], Valid::Future).unwrap(),
    );
    assert_eq!(server.reload(), Reload::Renewed);
    let (_, to) = Valid::Future.period();
    assert_eq!(server.lifetimes()[0].not_after, UNIX_EPOCH + to);
}

#[test]
fn a_certificate_is_valid_from_its_first_second_to_its_last() {
    let second = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
    let lifetime = Lifetime {
        role: Role::Server,
        file: "server.crt".into(),
        not_before: second(100),
        not_after: second(200),
    };
    for (seconds, phase) in [
        (99, Phase::NotYetValid),
        (100, Phase::Valid),
        (200, Phase::Valid),
        (201, Phase::Expired),
    ] {
        assert_eq!(lifetime.at(second(seconds)), phase, "{seconds}");
    }
    let folder = Folder::of(&authority("here"));
    let now = SystemTime::now();
    assert_eq!(folder.server().lifetimes()[0].at(now), Phase::Valid);
}

#[test]
fn dates_are_read_in_both_forms() {
    for (tag, text, seconds) in [
        (UTC_TIME, "700101000001Z", Some(1)),
        (UTC_TIME, "010909014640Z", Some(1_000_000_000)),
        (UTC_TIME, "491231235959Z", Some(2_524_607_999)),
        (GENERALIZED_TIME, "20500101000000Z", Some(2_524_608_000)),
        // RFC 5280 §4.1.2.5: no end that anybody knows.
        (GENERALIZED_TIME, "99991231235959Z", Some(253_402_300_799)),
        (UTC_TIME, "0109090146Z", None),
        (UTC_TIME, "010909014640+0100", None),
        (UTC_TIME, "011309014640Z", None),
        (GENERALIZED_TIME, "20010909014640.5Z", None),
        (0x0C, "010909014640Z", None),
    ] {
        let found = not_after(&tlv(UTC_TIME, &[b"500101000000Z"]), tag, text);
        let expected =
            seconds.map(|seconds| (UNIX_EPOCH, UNIX_EPOCH + Duration::from_secs(seconds)));
        assert_eq!(found, expected, "{text}");
    }
}

/// The dates of a CA that expires at `text`, if it loads.
fn not_after(not_before: &[u8], tag: u8, text: &str) -> Option<(SystemTime, SystemTime)> {
    let validity = tlv(SEQUENCE, &[not_before, &tlv(tag, &[text.as_bytes()])]);
    let folder = Folder::new();
    let ca = certificate(&version(2), &validity, &tlv(SEQUENCE, &[]));
    folder.write("ca.crt", pem("CERTIFICATE", &ca));
    let client = Client::load(ClientFiles {
        trust: Trust::File(folder.file("ca.crt")),
        ..folder.client_files()
    });
    let lifetime = client.ok()?.lifetimes().pop()?;
    Some((lifetime.not_before, lifetime.not_after))
}
