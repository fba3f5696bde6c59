//! Changing a few fields of a performative and leaving every other octet as it came.

use super::fields::NULL;
use super::frame_header::{Channel, FrameHeader};
use super::list::list_head;
use super::performative::Performative;

/// A field by its index, and the encoded value that it is to have.
pub type Change<'a> = (usize, &'a [u8]);

impl Performative<'_> {
    /// Appends the head of the frame, from its first octet to its payload, with these changes.
    ///
    /// The frame header has this channel, and the SIZE of the new head and `payload_len` octets of
    /// payload; that is [`Performative::payload_len`] where the payload stays as it is. Extended
    /// header, descriptor and all other fields keep their octets. Fields before a changed one that
    /// were left out become null. The list keeps its constructor unless the fields outgrow it.
    /// Each of `changes` has to be one encoded value, and each index may stand once.
    ///
    /// `None`, and nothing is appended, if the frame would be larger than a frame can be, or if
    /// fields are to change of a frame whose descriptor is not known.
    #[must_use = "nothing is appended if this is None"]
    pub fn patch(
        &self,
        channel: Channel,
        payload_len: usize,
        changes: &[Change<'_>],
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let extended = self.head.get(FrameHeader::LEN..self.list_at)?;
        let mut fields_len = 0_usize;
        self.patched_fields(changes, |field| fields_len += field.len());
        let list_head = match self.head.get(self.list_at) {
            Some(&constructor) => {
                let changed = changes.iter().map(|&(index, _)| index + 1).max();
                let count = self.count.max(u32::try_from(changed.unwrap_or(0)).ok()?);
                Some(list_head(
                    constructor,
                    count,
                    u32::try_from(fields_len).ok()?,
                ))
            }
            None if changes.is_empty() => None,
            None => return None,
        };
        let list_head = list_head.as_deref().unwrap_or_default();
        let head_len = self.list_at + list_head.len() + fields_len;
        let header = FrameHeader {
            size: u32::try_from(head_len.checked_add(payload_len)?).ok()?,
            channel,
            ..self.header
        };
        out.reserve(head_len);
        out.extend_from_slice(&header.octets());
        out.extend_from_slice(extended);
        out.extend_from_slice(list_head);
        self.patched_fields(changes, |field| out.extend_from_slice(field));
        Some(())
    }

    /// Hands over the fields as they are to be, one after the other; those behind the last change
    /// as one run.
    fn patched_fields(&self, changes: &[Change<'_>], mut take: impl FnMut(&[u8])) {
        let changed = changes.iter().map(|&(index, _)| index + 1).max();
        let mut fields = self.fields();
        for index in 0..changed.unwrap_or(0) {
            let was = fields.next();
            let change = changes.iter().find(|&&(changed, _)| changed == index);
            take(match change {
                Some((_, value)) => value,
                None => was.unwrap_or(&[NULL]),
            });
        }
        take(fields.rest());
    }
}
