//! Everything that can be wrong with a file, and what is said about it.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use certs::{Client, ClientFiles, Error, Fault, Found, Identity, Server, ServerFiles, Trust};
use rustls::CertificateError;

use crate::folder::{self, Folder, authority};
use crate::generate::Issued;
use crate::tlv::{SEQUENCE, certificate, pem, tlv, validity, version};

#[test]
fn a_file_that_is_not_there_is_named() {
    let folder = Folder::of(&authority("here"));
    symlink("nowhere", folder.file("dangling.crt")).unwrap();
    let cert = |name: &str| Identity {
        cert: folder.file(name),
        ..folder.identity("server")
    };
    for (identity, name) in [
        (cert("absent.crt"), "absent.crt"),
        (cert("dangling.crt"), "dangling.crt"),
        (
            Identity {
                key: folder.file("absent.key"),
                ..folder.identity("server")
            },
            "absent.key",
        ),
    ] {
        let error = Server::load(ServerFiles {
            identity,
            ..folder.server_files()
        });
        let file = folder.file(name);
        says(&error.unwrap_err(), &file, "no such file");
    }
    let file = folder.file("absent.crt");
    let missing = Error::Missing { file: file.clone() };
    let server = Server::load(ServerFiles {
        client_ca: Some(file.clone()),
        ..folder.server_files()
    });
    assert_eq!(server.unwrap_err(), missing);
    let client = Client::load(ClientFiles {
        trust: Trust::File(file),
        ..folder.client_files()
    });
    assert_eq!(client.unwrap_err(), missing);
}

#[test]
fn a_file_that_cannot_be_read_is_told_from_one_that_is_not_there() {
    let folder = Folder::of(&authority("here"));
    fs::create_dir(folder.file("folder")).unwrap();
    let error = with_cert_file(&folder, &folder.file("folder"));
    let reason = io::ErrorKind::IsADirectory;
    says(
        &error,
        &folder.file("folder"),
        "cannot be read: is a directory",
    );
    assert!(matches!(error, Error::Unreadable { reason: found, .. } if found == reason));

    // Where the file is beneath another file.
    let file = folder.file("server.key").join("below");
    let error = with_cert_file(&folder, &file);
    says(&error, &file, "cannot be read: not a directory");
}

#[test]
fn a_file_without_a_certificate_says_what_it_holds_instead() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let Issued { cert, key } = folder::server(&here);
    let indented = cert.replace("-----BEGIN", "  -----BEGIN");
    let bom = format!("\u{FEFF}{cert}");
    for (octets, found, text) in [
        ("", Found::Nothing, ": it is empty"),
        ("hello\n", Found::NoPem, ": it is not PEM"),
        (&pem("certificate", b""), Found::NoPem, ": it is not PEM"),
        (&*key, sections(&["PRIVATE KEY"]), ", only PRIVATE KEY"),
        (
            &indented,
            Found::Displaced,
            ": its BEGIN does not stand at the start of a line",
        ),
        (
            &bom,
            Found::Displaced,
            ": its BEGIN does not stand at the start of a line",
        ),
        (
            &cert.replace("CERTIFICATE", "TRUSTED CERTIFICATE"),
            sections(&["TRUSTED CERTIFICATE"]),
            ", only TRUSTED CERTIFICATE",
        ),
        (
            &(pem("X509 CRL", b"") + &key).replace('\n', "\r"),
            sections(&["X509 CRL", "PRIVATE KEY"]),
            ", only X509 CRL, PRIVATE KEY",
        ),
        (
            &(pem("CERTIFICATE REQUEST", b"") + &pem("DH PARAMETERS", b"") + &key + &key),
            sections(&["CERTIFICATE REQUEST", "DH PARAMETERS", "PRIVATE KEY"]),
            ", only CERTIFICATE REQUEST, DH PARAMETERS, PRIVATE KEY",
        ),
    ] {
        folder.write("server.crt", octets);
        let error = Server::load(folder.server_files()).unwrap_err();
        let file = folder.file("server.crt");
        says(&error, &file, &format!("no certificate in it{text}"));
        assert_eq!(error, Error::NoCertificate { file, found }, "{octets}");
    }
    let ca = folder.file("ca.crt");
    folder.write("ca.crt", &key);
    let found = sections(&["PRIVATE KEY"]);
    let expected = Error::NoCertificate { file: ca, found };
    assert_eq!(Client::load(folder.client_files()).unwrap_err(), expected);
    folder.put("server", &folder::server(&here));
    assert_eq!(Server::load(folder.mutual_files()).unwrap_err(), expected);
}

#[test]
fn der_and_pkcs12_are_told_from_pem() {
    let folder = Folder::of(&authority("here"));
    folder.write("server.crt", tlv(SEQUENCE, &[&[0; 300]]));
    let file = folder.file("server.crt");
    let error = Server::load(folder.server_files()).unwrap_err();
    says(
        &error,
        &file,
        "no certificate in it: it is DER or PKCS #12, and PEM is needed",
    );
}

#[test]
fn labels_are_repeated_only_if_they_are_labels_and_few() {
    let folder = Folder::of(&authority("here"));
    let file: String = ["x\u{1B}[2J", &"F".repeat(41), "A", "B", "C", "D", "E"]
        .map(|label| pem(label, b""))
        .concat();
    folder.write("server.crt", file);
    let error = Server::load(folder.server_files()).unwrap_err();
    let file = folder.file("server.crt");
    says(&error, &file, "no certificate in it, only A, B, C, D");
}

#[test]
fn a_file_without_a_private_key_says_what_it_holds_instead() {
    let folder = Folder::of(&authority("here"));
    let cert = fs::read_to_string(folder.file("server.crt")).unwrap();
    for (octets, found) in [
        ("", Found::Nothing),
        (&*cert, sections(&["CERTIFICATE"])),
        (
            &pem("OPENSSH PRIVATE KEY", b""),
            sections(&["OPENSSH PRIVATE KEY"]),
        ),
        (&pem("DSA PRIVATE KEY", b""), sections(&["DSA PRIVATE KEY"])),
    ] {
        folder.write("server.key", octets);
        let file = folder.file("server.key");
        let error = Server::load(folder.server_files()).unwrap_err();
        says(&error, &file, &format!("no private key in it{found}"));
        assert_eq!(error, Error::NoKey { file, found });
    }
}

#[test]
fn a_private_key_with_a_password_is_told_from_a_damaged_one() {
    let folder = Folder::of(&authority("here"));
    let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\
               DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\nAAAA\n\
               -----END RSA PRIVATE KEY-----\n";
    for octets in [&*pem("ENCRYPTED PRIVATE KEY", &[0x30, 0]), old] {
        folder.write("server.key", octets);
        let file = folder.file("server.key");
        let error = Server::load(folder.server_files()).unwrap_err();
        assert_eq!(error, Error::EncryptedKey { file });
    }
    let text = "the private key is encrypted, and is needed without a password";
    let error = Server::load(folder.server_files()).unwrap_err();
    says(&error, &folder.file("server.key"), text);
}

#[test]
fn a_private_key_that_is_none_is_refused() {
    let folder = Folder::of(&authority("here"));
    for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"] {
        folder.write("server.key", pem(label, &[0x30, 0x00]));
        let file = folder.file("server.key");
        let error = Server::load(folder.server_files()).unwrap_err();
        assert_eq!(error, Error::UnusableKey { file }, "{label}");
    }
}

#[test]
fn a_section_that_is_damaged_says_how() {
    let folder = Folder::of(&authority("here"));
    let whole = fs::read_to_string(folder.file("server.crt")).unwrap();
    let end = whole.find("-----END").unwrap();
    for (octets, fault, text) in [
        (&whole[..end], Fault::NoEnd, "a section has no END line"),
        (
            &whole[..end + 12],
            Fault::NoEnd,
            "a section has no END line",
        ),
        (
            &whole.replacen("CERTIFICATE-----", "CERTIFICATE--", 1),
            Fault::Begin,
            "a BEGIN line is not whole",
        ),
        (
            &whole.replacen("\nMII", "\n?II", 1),
            Fault::Base64,
            "a section is not base64",
        ),
    ] {
        folder.write("server.crt", octets);
        let file = folder.file("server.crt");
        let error = Server::load(folder.server_files()).unwrap_err();
        says(&error, &file, &format!("not well-formed PEM: {text}"));
        assert_eq!(error, Error::Damaged { file, fault });
    }
    folder.write("server.crt", &whole);
    let key = fs::read_to_string(folder.file("server.key")).unwrap();
    folder.write("server.key", &key[..key.len() / 2]);
    let (file, fault) = (folder.file("server.key"), Fault::NoEnd);
    let error = Server::load(folder.server_files()).unwrap_err();
    assert_eq!(error, Error::Damaged { file, fault });
}

#[test]
fn a_certificate_that_is_damaged_is_named_by_its_place() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let ca = here.own().cert;
    let broken = pem("CERTIFICATE", &[0x30, 0x03, 0x02, 0x01, 0x00]);
    let expected = |file: &str, position| Error::DamagedCertificate {
        file: folder.file(file),
        position,
        reason: CertificateError::BadEncoding,
    };
    folder.write("server.crt", &broken);
    let error = Server::load(folder.server_files()).unwrap_err();
    assert_eq!(error, expected("server.crt", 1));
    folder.put("server", &folder::server(&here));

    folder.write("ca.crt", ca.clone() + &broken + &ca);
    let error = Server::load(folder.mutual_files()).unwrap_err();
    assert_eq!(error, expected("ca.crt", 2));
    let error = Client::load(folder.client_files()).unwrap_err();
    assert_eq!(error, expected("ca.crt", 2));
    let text = "certificate 2 in it is damaged: BadEncoding";
    says(&error, &folder.file("ca.crt"), text);
}

#[test]
fn a_certificate_that_can_be_no_trust_anchor_is_named_by_its_place() {
    // It has dates and a name, and where extensions could be is something else.
    let here = authority("here");
    let folder = Folder::of(&here);
    let empty = tlv(SEQUENCE, &[]);
    let odd = certificate(&version(2), &validity(), &[&*empty, &*empty].concat());
    folder.write("ca.crt", here.own().cert + &pem("CERTIFICATE", &odd));
    for error in [
        Server::load(folder.mutual_files()).err(),
        Client::load(folder.client_files()).err(),
    ] {
        let Some(Error::DamagedCertificate { file, position, .. }) = error else {
            panic!("the second CA is of no use: {error:?}");
        };
        assert_eq!((file, position), (folder.file("ca.crt"), 2));
    }
}

#[test]
fn a_certificate_of_an_old_version_says_what_is_needed() {
    let folder = Folder::of(&authority("here"));
    for (element, number) in [(vec![], 1), (version(1), 2)] {
        let old = certificate(&element, &validity(), &tlv(SEQUENCE, &[]));
        folder.write("server.crt", pem("CERTIFICATE", &old));
        let (file, version) = (folder.file("server.crt"), number);
        let error = Server::load(folder.server_files()).unwrap_err();
        assert_eq!(error, Error::OldCertificate { file, version });
    }
}

#[test]
fn a_ca_may_be_of_an_old_version() {
    // Some that are still in use are from before version 3.
    let folder = Folder::of(&authority("here"));
    let old = certificate(&[], &validity(), &tlv(SEQUENCE, &[]));
    folder.write("ca.crt", pem("CERTIFICATE", &old));
    Client::load(folder.client_files()).unwrap();
    Server::load(folder.mutual_files()).unwrap();
}

#[test]
fn a_key_of_another_certificate_names_both_files() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let Identity { cert, key } = folder.identity("server");
    let expected = Error::KeyMismatch { cert, key };
    let right = folder::server(&here);
    folder.write("server.key", &right.key);
    let error = Server::load(folder.server_files()).unwrap_err();
    assert_eq!(error, expected);
    let text = format!(
        "the private key does not fit the first certificate in {} \
         (the own certificate comes first, those of its issuers after it)",
        folder.file("server.crt").display()
    );
    says(&error, &folder.file("server.key"), &text);

    // The right pair, with the issuer before it.
    folder.write("server.crt", here.own().cert + &right.cert);
    assert_eq!(Server::load(folder.server_files()).unwrap_err(), expected);
    folder.write("server.crt", right.cert + &here.own().cert);
    Server::load(folder.server_files()).unwrap();
}

#[test]
fn the_identity_towards_the_broker_is_checked_like_any() {
    let folder = Folder::of(&authority("here"));
    let identity = Identity {
        cert: folder.file("client.crt"),
        key: folder.file("server.key"),
    };
    let Identity { cert, key } = identity.clone();
    let client = Client::load(ClientFiles {
        identity: Some(identity),
        ..folder.client_files()
    });
    assert_eq!(client.unwrap_err(), Error::KeyMismatch { cert, key });
}

fn with_cert_file(folder: &Folder, cert: &Path) -> Error {
    let identity = Identity {
        cert: cert.to_owned(),
        ..folder.identity("server")
    };
    let server = Server::load(ServerFiles {
        identity,
        ..folder.server_files()
    });
    server.unwrap_err()
}

fn says(error: &Error, file: &Path, text: &str) {
    assert_eq!(error.to_string(), format!("{}: {text}", file.display()));
}

fn sections(labels: &[&str]) -> Found {
    Found::Sections(labels.iter().map(|&label| label.to_owned()).collect())
}
