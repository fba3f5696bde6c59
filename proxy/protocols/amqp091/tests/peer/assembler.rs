//! Octets to methods and whole contents, as strictly as the specification lets one.

use std::collections::BTreeMap;

use parsers::Parsed;
use parsers::amqp091::{FrameHeader, FrameType, MethodId, content_header, frame_header};

use super::FRAME_MAX;

/// What a peer has been sent, up to the last whole frame.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    input: Vec<u8>,
    contents: BTreeMap<u16, Incoming>,
}

/// A content that is not whole yet.
#[derive(Debug)]
struct Incoming {
    method: Vec<u8>,
    properties: Option<Vec<u8>>,
    body_size: usize,
    body: Vec<u8>,
}

/// A method, and its content if it has one.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) channel: u16,
    /// The method frame.
    pub(super) method: Vec<u8>,
    pub(super) properties: Vec<u8>,
    pub(super) body: Vec<u8>,
}

impl Assembler {
    /// Takes octets and returns what is whole.
    pub(super) fn take(&mut self, octets: &[u8]) -> Vec<Item> {
        self.input.extend_from_slice(octets);
        let mut items = Vec::new();
        loop {
            let header = match frame_header(&self.input) {
                Ok(Parsed::Value(header)) => header,
                Ok(Parsed::NeedMore(_)) => return items,
                Err(fault) => panic!("{fault}: {}", self.input.escape_ascii()),
            };
            assert!(header.frame_len() <= FRAME_MAX, "a frame of {header:?}");
            if self.input.len() < header.frame_len() {
                return items;
            }
            let frame: Vec<u8> = self.input.drain(..header.frame_len()).collect();
            assert_eq!(frame.last(), Some(&0xCE), "{}", frame.escape_ascii());
            items.extend(self.frame(&header, frame));
        }
    }

    /// Whether all frames are whole, and all contents.
    pub(super) fn is_between_contents(&self) -> bool {
        self.input.is_empty() && self.contents.is_empty()
    }

    fn frame(&mut self, header: &FrameHeader, frame: Vec<u8>) -> Option<Item> {
        let channel = header.channel.0;
        let text = || frame.escape_ascii().to_string();
        match header.frame_type {
            FrameType::Heartbeat => {
                assert_eq!(frame.len(), 8);
                None
            }
            FrameType::Method => {
                assert!(
                    !self.contents.contains_key(&channel),
                    "a method within a content: {}",
                    text()
                );
                if !has_content(&frame) {
                    return Some(Item {
                        channel,
                        method: frame,
                        properties: Vec::new(),
                        body: Vec::new(),
                    });
                }
                let incoming = Incoming {
                    method: frame,
                    properties: None,
                    body_size: 0,
                    body: Vec::new(),
                };
                self.contents.insert(channel, incoming);
                None
            }
            FrameType::Header => {
                let Ok(Parsed::Value(content)) = content_header(header, &frame) else {
                    panic!("no content header: {}", text());
                };
                let incoming = self.contents.get_mut(&channel);
                let incoming = incoming.unwrap_or_else(|| panic!("not due: {}", text()));
                assert_eq!(incoming.properties, None, "a second header: {}", text());
                incoming.properties = Some(frame[19..frame.len() - 1].to_vec());
                incoming.body_size = content.body_size as usize;
                self.ended(channel)
            }
            FrameType::Body => {
                let incoming = self.contents.get_mut(&channel);
                let incoming = incoming.unwrap_or_else(|| panic!("not due: {}", text()));
                assert!(incoming.properties.is_some(), "no header: {}", text());
                incoming.body.extend_from_slice(&frame[7..frame.len() - 1]);
                assert!(incoming.body.len() <= incoming.body_size, "{}", text());
                self.ended(channel)
            }
        }
    }

    fn ended(&mut self, channel: u16) -> Option<Item> {
        let incoming = self.contents.get(&channel)?;
        if incoming.body.len() < incoming.body_size {
            return None;
        }
        let incoming = self.contents.remove(&channel)?;
        Some(Item {
            channel,
            method: incoming.method,
            properties: incoming.properties?,
            body: incoming.body,
        })
    }
}

fn has_content(method: &[u8]) -> bool {
    let id = MethodId {
        class: u16::from_be_bytes([method[7], method[8]]),
        method: u16::from_be_bytes([method[9], method[10]]),
    };
    [
        MethodId::BASIC_PUBLISH,
        MethodId::BASIC_RETURN,
        MethodId::BASIC_DELIVER,
        MethodId::BASIC_GET_OK,
    ]
    .contains(&id)
}
