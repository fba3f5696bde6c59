//! What is in the deliveries of a peer: octets that can be told apart, or messages of AMQP 1.0.

/// What a delivery carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Content {
    /// Octets that are no message.
    #[default]
    Octets,
    /// A message with these sections before its body, and the mark of a pre-settled one or not.
    Message { sections: Sections, marked: bool },
}

/// Which sections a message has before its body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sections {
    pub(crate) header: bool,
    pub(crate) delivery_annotations: bool,
    /// Octets of the value of the one message annotation, if there is one.
    pub(crate) message_annotation: Option<u8>,
    pub(crate) properties: bool,
}

/// Octets of a message that tell it from those of other tags.
pub(crate) fn payload(tag: &[u8], size: usize) -> Vec<u8> {
    let mut state = tag.iter().fold(1_u32, |sum, &octet| {
        sum.wrapping_mul(31).wrapping_add(octet.into())
    });
    let mut octets = Vec::with_capacity(size);
    for _ in 0..size {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        octets.push((state >> 24) as u8);
    }
    octets
}

impl Content {
    /// The octets of it, of this size if that is enough for what it is, else such as are none.
    pub(crate) fn octets(&self, tag: &[u8], size: usize) -> Vec<u8> {
        match self {
            Self::Octets => payload(tag, size),
            Self::Message { sections, marked } => {
                let head = sections.octets(*marked);
                let Some(body_len) = size.checked_sub(head.len() + 5) else {
                    return payload(tag, size);
                };
                [head, body(tag, body_len)].concat()
            }
        }
    }

    /// Whether it is a message in so many octets.
    pub(crate) fn is_message(&self, size: usize) -> bool {
        match self {
            Self::Octets => false,
            Self::Message { sections, marked } => size >= sections.octets(*marked).len() + 5,
        }
    }

    pub(crate) fn is_marked(&self) -> bool {
        matches!(self, Self::Message { marked: true, .. })
    }

    /// The same message with the mark, or without it.
    pub(crate) fn marked(&self, marked: bool) -> Self {
        match self {
            Self::Message { sections, .. } => Self::Message {
                sections: *sections,
                marked,
            },
            Self::Octets => Self::Octets,
        }
    }

    /// Octets by which the mark makes the message longer.
    pub(crate) fn mark_len(&self) -> usize {
        match self {
            Self::Message { sections, .. } => {
                sections.octets(true).len() - sections.octets(false).len()
            }
            Self::Octets => 0,
        }
    }
}

impl Sections {
    /// The sections before the body; the mark is the first of the message annotations.
    fn octets(self, marked: bool) -> Vec<u8> {
        let mut out = Vec::new();
        if self.header {
            out.extend([0x00, 0x53, 0x70, 0xC0, 2, 1, 0x41]);
        }
        if self.delivery_annotations {
            out.extend(b"\x00\x53\x71\xC1\x06\x02\xA3\x01d\x52\x07");
        }
        let mut entries = Vec::new();
        if marked {
            entries.extend(b"\xA3\x19x-opt-sizegate-presettled\x41");
        }
        if let Some(len) = self.message_annotation {
            entries.extend(b"\xA3\x01m\xA0");
            entries.push(len);
            entries.extend(vec![b'v'; usize::from(len)]);
        }
        if !entries.is_empty() {
            let count = 2 * (u8::from(marked) + u8::from(self.message_annotation.is_some()));
            out.extend([0x00, 0x53, 0x72]);
            match u8::try_from(entries.len() + 1) {
                Ok(size) => out.extend([0xC1, size, count]),
                Err(_) => {
                    out.push(0xD1);
                    out.extend((entries.len() as u32 + 4).to_be_bytes());
                    out.extend(u32::from(count).to_be_bytes());
                }
            }
            out.extend(entries);
        }
        if self.properties {
            out.extend(b"\x00\x53\x73\xC0\x04\x01\xA1\x01i");
        }
        out
    }
}

/// A data section of so many octets besides the five that a short one needs.
fn body(tag: &[u8], len: usize) -> Vec<u8> {
    let octets = |len: usize| payload(tag, len);
    match u8::try_from(len) {
        Ok(short) => [&[0x00, 0x53, 0x75, 0xA0, short][..], &octets(len)].concat(),
        Err(_) => {
            let len = len - 3;
            let size = (len as u32).to_be_bytes();
            [&[0x00, 0x53, 0x75, 0xB0], &size[..], &octets(len)].concat()
        }
    }
}
