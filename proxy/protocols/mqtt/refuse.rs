//! What is said to a client: answers to what was kept from the broker, and the last word.
//!
//! Both wait for their turn in the broker's stream to the client: between packets, and answers not
//! before the broker has accepted the client. Neither may be larger than what the client takes.

use std::collections::VecDeque;

use parsers::mqtt::{Acknowledgement, PacketType, acknowledgement, connack, disconnect};

use super::client::{Client, ReasonStrings};
use super::packet_ids::PacketIds;
use super::verdict::Oversize;
use crate::gate::Ending;

/// An answer that the sender of a packet is owed, which the other side never saw.
#[derive(Debug)]
pub(super) enum Answer {
    /// PUBACK for a refused PUBLISH.
    Puback { id: u16, oversize: Oversize },
    /// PUBREC for a refused PUBLISH.
    ///
    /// A repeated one (DUP) in a resumed session may be the broker's already: its PUBREC is a
    /// success, and the PUBREL that follows is the broker's to answer.
    Pubrec {
        id: u16,
        dup: bool,
        oversize: Oversize,
    },
    /// PUBCOMP for the PUBREL that followed a refusal.
    Pubcomp { id: u16 },
}

/// The answers that wait for their turn, in order.
#[derive(Debug, Default)]
pub(super) struct Answers(VecDeque<Answer>);

impl Answers {
    /// Beyond this many nothing more is taken of the client, so that one that never reads what it
    /// is answered costs no more memory.
    pub(super) const CEILING: usize = 128;

    pub(super) fn push(&mut self, answer: Answer) {
        self.0.push_back(answer);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= Self::CEILING
    }

    /// Forgets all of them: the client will not be there to read them.
    pub(super) fn clear(&mut self) {
        self.0 = VecDeque::new();
    }

    /// Appends all answers to `out`, or says that one of them does not fit the client.
    ///
    /// `resumed` is CONNACK's Session Present; `refused` learns which PUBREL will be sizegate's.
    pub(super) fn write(
        &mut self,
        client: &Client,
        resumed: bool,
        refused: &mut PacketIds,
        out: &mut Vec<u8>,
    ) -> Result<(), DoesNotFit> {
        while let Some(answer) = self.0.pop_front() {
            let (packet_type, packet_id, reason_code, text) = match answer {
                Answer::Puback { id, oversize } => (
                    PacketType::Puback,
                    id,
                    QUOTA_EXCEEDED,
                    Some(oversize.text()),
                ),
                Answer::Pubrec { id, dup: true, .. } if resumed => {
                    refused.remove(id);
                    (PacketType::Pubrec, id, SUCCESS, None)
                }
                Answer::Pubrec { id, oversize, .. } => {
                    refused.insert(id);
                    (
                        PacketType::Pubrec,
                        id,
                        QUOTA_EXCEEDED,
                        Some(oversize.text()),
                    )
                }
                Answer::Pubcomp { id } => {
                    (PacketType::Pubcomp, id, PACKET_IDENTIFIER_NOT_FOUND, None)
                }
            };
            let text = text.filter(|_| client.reason_strings == ReasonStrings::Welcome);
            let reason_code = if client.is_v5() { reason_code } else { SUCCESS };
            fitting(client, out, text.as_deref(), |out, reason_string| {
                acknowledgement(
                    out,
                    &Acknowledgement {
                        packet_type,
                        packet_id,
                        reason_code,
                        reason_string,
                    },
                );
            })?;
        }
        Ok(())
    }
}

/// The last word to a client, and the end that follows it.
#[derive(Debug)]
pub(super) struct Farewell {
    /// Who ended the connection, and why.
    pub(super) ending: Ending,
    /// When it may be said.
    pub(super) due: Due,
    /// What is said.
    pub(super) word: Word,
}

/// When a farewell may be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// At the next packet boundary.
    Now,
    /// When the broker has accepted the client; never, if it does not.
    Accepted,
}

/// What a farewell says.
#[derive(Debug)]
pub(super) enum Word {
    /// Nothing: the end of the connection is all there is.
    Silence,
    /// A reason code of MQTT 5.0, in a CONNACK or a DISCONNECT, whichever is due.
    Reason { code: u8, text: Option<String> },
    /// A return code of MQTT 3.x, which only a CONNACK can carry.
    ReturnCode(u8),
}

impl Farewell {
    /// Appends the word to `out`, if it has one that fits the client; nothing is said otherwise.
    pub(super) fn write(&self, client: Option<&Client>, greeting: Greeting, out: &mut Vec<u8>) {
        match (&self.word, greeting) {
            (Word::Silence, _) | (Word::ReturnCode(_), Greeting::Over) => {}
            (Word::ReturnCode(code), Greeting::Due) => {
                out.extend_from_slice(&[0x20, 2, 0, *code]);
            }
            (Word::Reason { code, text }, greeting) => {
                let say = |out: &mut Vec<u8>, text: Option<&str>| match greeting {
                    Greeting::Due => connack(out, *code, text),
                    Greeting::Over => disconnect(out, *code, text),
                };
                match client {
                    // One that takes not even the bare code is told by the end of the connection.
                    Some(client) => {
                        let _ = fitting(client, out, text.as_deref(), say);
                    }
                    None => say(out, text.as_deref()),
                }
            }
        }
    }
}

/// Whether the client still waits for its CONNACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// It waits, and the CONNACK can carry the word.
    Due,
    /// It has had it.
    Over,
}

/// An answer that is larger than the client's Maximum Packet Size.
#[derive(Debug)]
pub(super) struct DoesNotFit;

/// Appends a packet with its reason string, or without where that does not fit the client.
fn fitting(
    client: &Client,
    out: &mut Vec<u8>,
    text: Option<&str>,
    write: impl Fn(&mut Vec<u8>, Option<&str>),
) -> Result<(), DoesNotFit> {
    let start = out.len();
    for text in [text, None] {
        write(out, text);
        if client.takes(out.len() - start) {
            return Ok(());
        }
        out.truncate(start);
    }
    Err(DoesNotFit)
}

pub(super) const SUCCESS: u8 = 0x00;
pub(super) const PACKET_IDENTIFIER_NOT_FOUND: u8 = 0x92;
/// "An implementation or administrative imposed limit has been exceeded": the one of the legal
/// codes for PUBACK and PUBREC that fits (MQTT 5.0 §3.4.2.1). 0x95 is not among them.
pub(super) const QUOTA_EXCEEDED: u8 = 0x97;
