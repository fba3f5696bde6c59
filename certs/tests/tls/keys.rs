//! The kinds of keys and of files that are in use.

use std::fs;

use certs::{Identity, Server, ServerFiles};
use rcgen::{
    CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
    PKCS_RSA_SHA256,
};

use crate::folder::{Folder, authority};
use crate::handshake::connect;
use crate::tlv::{OID, pem, tlv};

#[test]
fn each_kind_of_key_makes_a_server() {
    for algorithm in [
        &PKCS_RSA_SHA256,
        &PKCS_ECDSA_P256_SHA256,
        &PKCS_ECDSA_P384_SHA384,
        &PKCS_ED25519,
    ] {
        let folder = self_signed(&KeyPair::generate_for(algorithm).unwrap());
        let mut connection = connect(&folder.client(), &folder.server()).unwrap();
        assert!(connection.carries_data(), "{algorithm:?}");
    }
}

#[test]
fn a_key_may_be_in_a_form_older_than_pkcs8() {
    let key = KeyPair::generate_for(&PKCS_RSA_SHA256).unwrap();
    let folder = self_signed(&key);
    folder.write("server.key", pem("RSA PRIVATE KEY", &inner(&key)));
    connect(&folder.client(), &folder.server()).unwrap();

    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let folder = self_signed(&key);
    // SEC 1 as rcgen has it lacks the curve, which OpenSSL names before the key and in it.
    let curve = tlv(OID, &[&[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]]);
    let sec1 = with_curve(&inner(&key), &curve);
    let file = pem("EC PARAMETERS", &curve) + &pem("EC PRIVATE KEY", &sec1);
    folder.write("server.key", file);
    connect(&folder.client(), &folder.server()).unwrap();
}

#[test]
fn certificate_and_key_may_be_in_one_file_with_other_text() {
    let folder = Folder::of(&authority("here"));
    let read = |name: &str| fs::read_to_string(folder.file(name)).unwrap();
    let both = format!(
        "Bag Attributes\r\n    friendlyName: server\r\n{}\r\n{}",
        read("server.key").replace('\n', "\r\n"),
        read("server.crt").replace('\n', "\r\n")
    );
    folder.write("both.pem", both);
    let server = Server::load(ServerFiles {
        identity: Identity {
            cert: folder.file("both.pem"),
            key: folder.file("both.pem"),
        },
        ..folder.server_files()
    });
    connect(&folder.client(), &server.unwrap()).unwrap();
}

/// A server with this key whose certificate is its own CA.
fn self_signed(key: &KeyPair) -> Folder {
    let folder = Folder::new();
    let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let cert = params.self_signed(key).unwrap().pem();
    folder.write("server.crt", &cert);
    folder.write("ca.crt", cert);
    folder.write("server.key", key.serialize_pem());
    folder
}

/// The key within PKCS #8: the OCTET STRING that comes third (RFC 5208 §5).
fn inner(key: &KeyPair) -> Vec<u8> {
    let mut rest = contents(key.serialized_der()).0;
    for _ in 0..2 {
        rest = contents(rest).1;
    }
    contents(rest).0.to_vec()
}

/// An ECPrivateKey with its parameters (RFC 5915 §3) after version and key.
fn with_curve(key: &[u8], curve: &[u8]) -> Vec<u8> {
    let fields = contents(key).0;
    let public = contents(contents(fields).1).1;
    let private = &fields[..fields.len() - public.len()];
    tlv(0x30, &[private, &tlv(0xA0, &[curve]), public])
}

/// What is in the first element, and what comes after it.
fn contents(octets: &[u8]) -> (&[u8], &[u8]) {
    let (head, len) = match octets[1] {
        0x81 => (3, usize::from(octets[2])),
        0x82 => (4, usize::from(octets[2]) << 8 | usize::from(octets[3])),
        short => (2, usize::from(short)),
    };
    (&octets[head..head + len], &octets[head + len..])
}
