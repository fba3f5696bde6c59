//! Who gets through a handshake, and who does not.

use certs::{Client, ClientFiles, MinVersion, Server, ServerFiles};
use rustls::version::TLS12;
use rustls::{CertificateError, Error, ProtocolVersion};

use crate::folder::{self, Folder, authority};
use crate::generate::Valid;
use crate::handshake::{Connection, Refused, connect, connect_as, foreign_client, foreign_server};

#[test]
fn a_client_that_trusts_the_ca_gets_through_with_tls_13() {
    let folder = Folder::of(&authority("here"));
    let mut connection = connect(&folder.client(), &folder.server()).unwrap();
    assert!(connection.carries_data());
    let version = connection.client.protocol_version();
    assert_eq!(version, Some(ProtocolVersion::TLSv1_3));
    assert_eq!(connection.server.alpn_protocol(), None);
    assert_eq!(connection.server.peer_certificates(), None);
}

#[test]
fn a_server_of_another_ca_is_refused_by_the_client() {
    let folder = Folder::of(&authority("here"));
    folder.put("server", &folder::server(&authority("elsewhere")));
    let error = refused_by_client(connect(&folder.client(), &folder.server()));
    assert_eq!(error, CertificateError::UnknownIssuer);
}

#[test]
fn each_ca_of_a_file_is_trusted() {
    let (one, other) = (authority("one"), authority("other"));
    let folder = Folder::of(&one);
    folder.write("ca.crt", one.own().cert + &other.own().cert);
    let client = folder.client_with("client");
    connect(&client, &folder.mutual_server()).unwrap();
    folder.put("server", &folder::server(&other));
    folder.put("client", &folder::client(&other));
    let client = folder.client_with("client");
    connect(&client, &folder.mutual_server()).unwrap();
}

#[test]
fn a_server_of_another_name_is_refused_by_the_client() {
    let folder = Folder::of(&authority("here"));
    let (client, server) = (folder.client().current(), folder.server().current());
    let error = refused_by_client(connect_as("broker.example", client, server));
    assert!(
        matches!(error, CertificateError::NotValidForNameContext { .. }),
        "{error:?}"
    );
}

#[test]
fn a_server_is_found_by_its_address_too() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let issued = here.server(&["broker.example", "::1"], Valid::Now).unwrap();
    folder.put("server", &issued);
    for name in ["broker.example", "::1"] {
        let (client, server) = (folder.client().current(), folder.server().current());
        connect_as(name, client, server).unwrap();
    }
}

#[test]
fn a_server_certificate_out_of_its_time_loads_and_is_refused_by_the_client() {
    let here = authority("here");
    let folder = Folder::of(&here);
    for (valid, expired) in [(Valid::Past, true), (Valid::Future, false)] {
        folder.put("server", &here.server(&["localhost"], valid).unwrap());
        let error = refused_by_client(connect(&folder.client(), &folder.server()));
        assert!(
            match error {
                CertificateError::ExpiredContext { .. } => expired,
                CertificateError::NotValidYetContext { .. } => !expired,
                _ => false,
            },
            "{valid:?}: {error:?}"
        );
    }
}

#[test]
fn a_client_certificate_is_asked_for_and_names_the_client() {
    let folder = Folder::of(&authority("here"));
    let client = folder.client_with("client");
    let mut connection = connect(&client, &folder.mutual_server()).unwrap();
    assert!(connection.carries_data());
    assert_eq!(connection.client_subject(), "CN=alice,O=Acme");
}

#[test]
fn a_client_certificate_that_is_not_asked_for_is_not_shown() {
    let folder = Folder::of(&authority("here"));
    let connection = connect(&folder.client_with("client"), &folder.server()).unwrap();
    assert_eq!(connection.server.peer_certificates(), None);
}

#[test]
fn a_client_without_a_certificate_is_refused_where_one_is_asked_for() {
    let folder = Folder::of(&authority("here"));
    for min_version in [MinVersion::Tls12, MinVersion::Tls13] {
        let server = Server::load(ServerFiles {
            min_version,
            ..folder.mutual_files()
        });
        let refused = connect(&folder.client(), &server.unwrap()).err();
        assert!(
            matches!(
                refused,
                Some(Refused::ByServer(Error::NoCertificatesPresented))
            ),
            "{refused:?}"
        );
    }
}

#[test]
fn a_client_of_another_ca_is_refused_by_the_server() {
    let folder = Folder::of(&authority("here"));
    folder.put("client", &folder::client(&authority("elsewhere")));
    let client = folder.client_with("client");
    let error = refused_by_server(connect(&client, &folder.mutual_server()));
    assert_eq!(error, CertificateError::UnknownIssuer);
}

#[test]
fn a_ca_of_the_same_name_and_another_key_is_another_ca() {
    let folder = Folder::of(&authority("here"));
    folder.put("client", &folder::client(&authority("here")));
    let client = folder.client_with("client");
    let error = refused_by_server(connect(&client, &folder.mutual_server()));
    assert_eq!(error, CertificateError::BadSignature);
}

#[test]
fn a_client_certificate_out_of_its_time_is_refused_by_the_server() {
    let here = authority("here");
    let folder = Folder::of(&here);
    for (valid, expired) in [(Valid::Past, true), (Valid::Future, false)] {
        folder.put("client", &here.client("CN=alice", valid).unwrap());
        let client = folder.client_with("client");
        let error = refused_by_server(connect(&client, &folder.mutual_server()));
        assert!(
            match error {
                CertificateError::ExpiredContext { .. } => expired,
                CertificateError::NotValidYetContext { .. } => !expired,
                _ => false,
            },
            "{valid:?}: {error:?}"
        );
    }
}

#[test]
fn a_certificate_of_a_server_makes_no_client() {
    let folder = Folder::of(&authority("here"));
    let client = folder.client_with("server");
    let error = refused_by_server(connect(&client, &folder.mutual_server()));
    assert!(
        matches!(error, CertificateError::InvalidPurposeContext { .. }),
        "{error:?}"
    );
}

#[test]
fn tls_12_is_spoken_unless_tls_13_is_the_lowest_version() {
    let folder = Folder::of(&authority("here"));
    let old_client = foreign_client(&folder, &TLS12, None);
    let old_server = foreign_server(&folder, &TLS12);
    let mut spoken = Vec::new();
    for min_version in [MinVersion::Tls12, MinVersion::Tls13] {
        let server = Server::load(ServerFiles {
            min_version,
            ..folder.server_files()
        });
        let client = Client::load(ClientFiles {
            min_version,
            ..folder.client_files()
        });
        let (client, server) = (client.unwrap(), server.unwrap());
        spoken.extend([
            connect_as("localhost", old_client.clone(), server.current()),
            connect_as("localhost", client.current(), old_server.clone()),
            connect(&client, &server),
        ]);
    }
    let versions: Vec<_> = spoken
        .iter()
        .map(|outcome| match outcome {
            Ok(connection) => connection.server.protocol_version(),
            Err(Refused::ByServer(Error::PeerIncompatible(_))) => None,
            Err(other) => panic!("one side is too old for the other: {other:?}"),
        })
        .collect();
    let (old, new) = (ProtocolVersion::TLSv1_2, ProtocolVersion::TLSv1_3);
    let expected = [Some(old), Some(old), Some(new), None, None, Some(new)];
    assert_eq!(versions, expected);
}

fn refused_by_client(outcome: Result<Connection, Refused>) -> CertificateError {
    match outcome.err() {
        Some(Refused::ByClient(Error::InvalidCertificate(error))) => error,
        other => panic!("the client refuses the certificate: {other:?}"),
    }
}

fn refused_by_server(outcome: Result<Connection, Refused>) -> CertificateError {
    match outcome.err() {
        Some(Refused::ByServer(Error::InvalidCertificate(error))) => error,
        other => panic!("the server refuses the certificate: {other:?}"),
    }
}
