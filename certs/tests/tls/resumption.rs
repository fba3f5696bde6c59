//! Sessions that are resumed skip the certificates, so they may not outlive what those stand for.

use certs::Reload;
use rustls::version::{TLS12, TLS13};
use rustls::{CertificateError, Error};

use crate::folder::{self, Folder, authority};
use crate::handshake::{Refused, connect, connect_as, foreign_client, foreign_server};

#[test]
fn a_session_is_resumed_where_no_certificate_is_asked_for() {
    let folder = Folder::of(&authority("here"));
    let server = folder.server();
    for version in [&TLS12, &TLS13] {
        let client = foreign_client(&folder, version, None);
        let first = connect_as("localhost", client.clone(), server.current()).unwrap();
        assert!(!first.was_resumed(), "{version:?}");
        let mut second = connect_as("localhost", client, server.current()).unwrap();
        assert!(second.was_resumed(), "{version:?}");
        assert!(second.carries_data());
    }
    let client = folder.client();
    connect(&client, &server).unwrap();
    assert!(connect(&client, &server).unwrap().was_resumed());
}

#[test]
fn a_session_is_not_resumed_after_a_renewal_and_nobody_is_turned_away() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let server = folder.server();
    for version in [&TLS12, &TLS13] {
        let client = foreign_client(&folder, version, None);
        connect_as("localhost", client.clone(), server.current()).unwrap();
        folder.put("server", &folder::server(&here));
        assert_eq!(server.reload(), Reload::Renewed);
        let mut second = connect_as("localhost", client, server.current()).unwrap();
        assert!(!second.was_resumed(), "{version:?}");
        assert!(second.carries_data());
    }
}

#[test]
fn a_client_that_must_show_a_certificate_shows_it_at_each_connection() {
    let folder = Folder::of(&authority("here"));
    let server = folder.mutual_server();
    for version in [&TLS12, &TLS13] {
        let client = foreign_client(&folder, version, Some("client"));
        for _ in 0..2 {
            let connection = connect_as("localhost", client.clone(), server.current()).unwrap();
            assert!(!connection.was_resumed(), "{version:?}");
            assert_eq!(connection.client_subject(), "CN=alice,O=Acme");
        }
    }
}

#[test]
fn a_client_of_a_ca_that_was_removed_does_not_come_back_by_an_old_session() {
    let (old, new) = (authority("old"), authority("new"));
    let folder = Folder::of(&old);
    for version in [&TLS12, &TLS13] {
        folder.write("clients.crt", old.own().cert);
        let server = certs::Server::load(certs::ServerFiles {
            client_ca: Some(folder.file("clients.crt")),
            ..folder.server_files()
        });
        let server = server.unwrap();
        let client = foreign_client(&folder, version, Some("client"));
        let mut before = connect_as("localhost", client.clone(), server.current()).unwrap();

        folder.write("clients.crt", new.own().cert);
        assert_eq!(server.reload(), Reload::Renewed);
        let refused = connect_as("localhost", client, server.current()).err();
        assert!(
            matches!(
                refused,
                Some(Refused::ByServer(Error::InvalidCertificate(
                    CertificateError::UnknownIssuer
                )))
            ),
            "{version:?}: {refused:?}"
        );
        assert!(before.carries_data());

        folder.put("newcomer", &folder::client(&new));
        let newcomer = foreign_client(&folder, version, Some("newcomer"));
        connect_as("localhost", newcomer, server.current()).unwrap();
    }
}

#[test]
fn a_session_of_a_listener_that_asks_for_nothing_is_no_certificate() {
    let folder = Folder::of(&authority("here"));
    let (open, closed) = (folder.server(), folder.mutual_server());
    for version in [&TLS12, &TLS13] {
        let client = foreign_client(&folder, version, None);
        connect_as("localhost", client.clone(), open.current()).unwrap();
        let refused = connect_as("localhost", client, closed.current()).err();
        assert!(
            matches!(
                refused,
                Some(Refused::ByServer(Error::NoCertificatesPresented))
            ),
            "{version:?}: {refused:?}"
        );
    }
}

#[test]
fn the_broker_is_resumed_with_unless_it_is_shown_a_certificate() {
    let folder = Folder::of(&authority("here"));
    let (plain, with_identity) = (folder.client(), folder.client_with("client"));
    for version in [&TLS12, &TLS13] {
        let broker = foreign_server(&folder, version);
        for (client, resumes) in [(&plain, true), (&with_identity, false)] {
            let connect = || connect_as("localhost", client.current(), broker.clone()).unwrap();
            connect();
            assert_eq!(connect().was_resumed(), resumes, "{version:?}");
        }
    }
}
