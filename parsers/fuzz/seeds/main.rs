//! Writes the corpora: recorded streams, and short conversations with each word of a protocol.
//!
//! Run as `cargo run --manifest-path parsers/fuzz/Cargo.toml --example seeds`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recorded = fuzz.with_file_name("testdata");
    let corpus = Corpus(fuzz.join("corpus"));
    for (protocol, clients) in [
        ("amqp10", ["proton", "rhea"]),
        ("amqp091", ["pika", "amqplib"]),
    ] {
        for client in clients {
            let streams = ["client", "server"].map(|side| {
                let name = format!("{client}-{side}");
                let stream = fs::read(recorded.join(protocol).join(format!("{name}.bin")));
                stream.map(|stream| (name, stream))
            });
            let streams = streams.into_iter().collect::<io::Result<Vec<_>>>()?;
            for (name, stream) in &streams {
                // The first octet chooses how it is read.
                corpus.write(protocol, name, &[&[0], &stream[..]])?;
            }
            let [(_, of_client), (_, of_server)] = &streams[..] else {
                continue;
            };
            let gate = format!("{protocol}_gate");
            for (terms, name) in RECORDED_TERMS.map(|at| TERMS[at]) {
                let silent = &[0, 0][..if protocol == "amqp10" { 2 } else { 1 }];
                let said = said(of_client, of_server);
                corpus.write(&gate, &format!("{client}-{name}"), &[terms, silent, &said])?;
            }
        }
    }
    messages(&corpus, &recorded.join("amqp10/messages"))?;
    headers(&corpus)?;
    packets(&corpus)?;
    for (gate, greetings, words) in [
        ("mqtt_gate", MQTT, 0x30),
        ("amqp10_gate", AMQP10, 0x2C),
        ("amqp091_gate", AMQP091, 0x2E),
    ] {
        for (at, greeting) in greetings.iter().enumerate() {
            for (terms, name) in TERMS {
                let said = words_of(words, at as u8);
                corpus.write(
                    gate,
                    &format!("words-{at}-{name}"),
                    &[terms, greeting, &said],
                )?;
            }
        }
    }
    Ok(())
}

/// The folder of all corpora.
struct Corpus(PathBuf);

impl Corpus {
    fn write(&self, target: &str, name: &str, parts: &[&[u8]]) -> io::Result<()> {
        let folder = self.0.join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), parts.concat())
    }
}

/// What two sides have said, in turns; each part is sent before the next one.
fn said(client: &[u8], server: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let parts = 6;
    let part = |stream: &[u8], at: usize| {
        let bound = |at: usize| stream.len() * at / parts;
        stream[bound(at)..bound(at + 1)].to_vec()
    };
    for at in 0..parts {
        for (side, stream) in [(0, client), (0x80, server)] {
            let octets = part(stream, at);
            out.push(side | OCTETS);
            out.extend((octets.len() as u16).to_be_bytes());
            out.extend(octets);
            out.extend([side | SEND_ALL | EMPTY, 0, 0]);
        }
    }
    out
}

/// Each word of both sides, with small numbers.
fn words_of(words: u8, salt: u8) -> Vec<u8> {
    let word = |word: u8| {
        let numbers =
            [1, 2, 3, 5].map(|number| word.wrapping_mul(7).wrapping_add(number * salt) % 90);
        [&[0x40 | word][..], &numbers, &[0xC0 | word], &numbers].concat()
    };
    (0..words).flat_map(word).collect()
}

/// Messages of client libraries, each behind its length.
fn messages(corpus: &Corpus, folder: &Path) -> io::Result<()> {
    for library in ["proton", "rhea", "fe2o3"] {
        let octets = fs::read(folder.join(format!("{library}.bin")))?;
        let mut rest = &octets[..];
        let mut number = 0;
        while let Some((len, behind)) = rest.split_first_chunk() {
            let len = u32::from_be_bytes(*len) as usize;
            let (message, behind) = behind.split_at(len.min(behind.len()));
            rest = behind;
            if number % 3 == 0 {
                corpus.write("amqp10", &format!("{library}-{number}"), &[&[1], message])?;
            }
            number += 1;
        }
    }
    Ok(())
}

/// Headers of the PROXY protocol.
fn headers(corpus: &Corpus) -> io::Result<()> {
    let signature = b"\r\n\r\n\0\r\nQUIT\n";
    let v4 = [
        &signature[..],
        b"\x21\x11\0\x0c\x7f\0\0\x01\x7f\0\0\x02\x10\x20\x30\x40",
    ]
    .concat();
    let v6 = [&signature[..], b"\x21\x21\0\x24", &[0x20; 36]].concat();
    let tlv = [
        &signature[..],
        b"\x21\x11\0\x13\x7f\0\0\x01\x7f\0\0\x02\x10\x20\x30\x40",
    ]
    .concat();
    let tlv = [&tlv[..], b"\x03\0\x04\0\0\0\0"].concat();
    let local = [&signature[..], b"\x20\0\0\0"].concat();
    for (name, octets) in [
        (
            "tcp4",
            &b"PROXY TCP4 192.0.2.1 198.51.100.2 4711 1883\r\nmore"[..],
        ),
        ("tcp6", b"PROXY TCP6 2001:db8::1 ::1 65535 0\r\n"),
        ("unknown", b"PROXY UNKNOWN whatever\r\n"),
        ("v2-tcp4", &v4),
        ("v2-tcp6", &v6),
        ("v2-tlv", &tlv),
        ("v2-local", &local),
    ] {
        corpus.write("proxy_protocol", name, &[octets])?;
    }
    Ok(())
}

/// Packets of MQTT; the first octet chooses the version.
fn packets(corpus: &Corpus) -> io::Result<()> {
    let connect = b"\x10\x25\0\x04MQTT\x05\xae\0\x3c\x08\x27\0\0\x01\0\x22\0\x04\0\x01c\0\0\x03a/b\0\x02by\0\x01u";
    let connect_v4 = b"\x10\x14\0\x04MQTT\x04\x82\0\x3c\0\x03cid\0\x03usr";
    let connect_v3 = b"\x10\x10\0\x06MQIsdp\x03\x02\0\x3c\0\x02id";
    for (name, octets) in [
        ("connect", &[&[0], &connect[..]].concat()[..]),
        ("connect-v311", &[&[1], &connect_v4[..]].concat()),
        ("connect-v31", &[&[2], &connect_v3[..]].concat()),
        ("connack", b"\0\x20\x0b\0\0\x08\x27\0\x01\0\0\x21\0\x0a"),
        (
            "publish",
            b"\0\x32\x0f\0\x03a/b\0\x07\x03\x23\0\x05hello\x34\x09\0\x03a/b\0\x08\0x",
        ),
        (
            "publish-v311",
            b"\x01\x3d\x08\0\x03a/b\0\x07x\x30\x06\0\x03a/bx",
        ),
        (
            "others",
            b"\0\x82\x09\0\x01\0\0\x03a/b\x01\x90\x04\0\x01\0\x01\xc0\0\xd0\0\xe0\0",
        ),
        (
            "answers",
            b"\0\x40\x02\0\x01\x50\x03\0\x02\x97\x62\x02\0\x02\x70\x02\0\x02\xf0\x02\x18\0",
        ),
    ] {
        corpus.write("mqtt", name, &[octets])?;
    }
    Ok(())
}

/// Terms by the octets that choose them: none, limits of all kinds, and a dry run.
const TERMS: [(&[u8], &str); 6] = [
    (&[0x00, 0x40, 0], "free"),
    (&[0x03, 0x40, 0], "reject"),
    (&[0x87, 0x40, 1], "detach-and-unsettle"),
    (&[0x0B, 0x15, 0], "close"),
    (&[0x63, 0x05, 0x14], "rules"),
    (&[0x33, 0x40, 0], "dry-run"),
];
/// Those on which recorded conversations are played.
const RECORDED_TERMS: [usize; 2] = [0, 2];
/// Greetings by the octets that choose them.
const MQTT: &[&[u8]] = &[&[0x03], &[0x0E, 40], &[0x1B, 1]];
const AMQP10: &[&[u8]] = &[&[0x05, 0x00], &[0x45, 0x05], &[0xA5, 0x12]];
const AMQP091: &[&[u8]] = &[&[0x09], &[0x39], &[0xC9]];
/// The lines of a conversation that are no words: octets as they are, and none of them; and the
/// bit that sends what was said before.
const OCTETS: u8 = 0x31;
const EMPTY: u8 = 0x31;
const SEND_ALL: u8 = 0x40;
