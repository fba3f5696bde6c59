//! The arguments of the methods of the connection, and of both close methods.

use super::fields::{Field, long, longstr, octet, short, shortstr, table};
use super::table::Table;

/// connection.start-ok: who the client is (AMQP 0-9-1 connection.start-ok).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartOk<'a> {
    /// What the client says about itself.
    pub client_properties: Table<'a>,
    /// The security mechanism that it chose.
    pub mechanism: &'a [u8],
    /// Its first message of that mechanism.
    pub response: &'a [u8],
    /// The language of the texts that it wants.
    pub locale: &'a [u8],
}

/// connection.tune and connection.tune-ok: what is proposed and what is agreed upon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tune {
    /// The highest channel number; 0 is no limit.
    pub channel_max: u16,
    /// The largest frame, header and frame-end included; 0 is no limit.
    pub frame_max: u32,
    /// Seconds between two heartbeats; 0 is none at all.
    pub heartbeat: u16,
}

/// connection.open: the virtual host that the client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionOpen<'a> {
    /// Its name.
    pub virtual_host: &'a [u8],
}

/// connection.close and channel.close: the end, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close<'a> {
    /// The reply code (AMQP 0-9-1 §1.2).
    pub reply_code: u16,
    /// A text for people.
    pub reply_text: &'a [u8],
    /// The class and the method that brought it about; zeros if it was none.
    pub failed: (u16, u16),
}

/// ```text
/// client-properties: table | mechanism: shortstr | response: longstr | locale: shortstr
/// ```
pub(super) fn start_ok(input: &[u8]) -> Field<'_, StartOk<'_>> {
    let (rest, client_properties) = table(input)?;
    let (rest, mechanism) = shortstr(rest)?;
    let (rest, response) = longstr(rest)?;
    let (rest, locale) = shortstr(rest)?;
    let start_ok = StartOk {
        client_properties,
        mechanism,
        response,
        locale,
    };
    Ok((rest, start_ok))
}

/// ```text
/// channel-max: short | frame-max: long | heartbeat: short
/// ```
pub(super) fn tune(input: &[u8]) -> Field<'_, Tune> {
    let (rest, channel_max) = short(input)?;
    let (rest, frame_max) = long(rest)?;
    let (rest, heartbeat) = short(rest)?;
    let tune = Tune {
        channel_max,
        frame_max,
        heartbeat,
    };
    Ok((rest, tune))
}

/// ```text
/// virtual-host: shortstr | reserved: shortstr | reserved: bit
/// ```
pub(super) fn open(input: &[u8]) -> Field<'_, ConnectionOpen<'_>> {
    let (rest, virtual_host) = shortstr(input)?;
    let (rest, _) = shortstr(rest)?;
    let (rest, _) = octet(rest)?;
    Ok((rest, ConnectionOpen { virtual_host }))
}

/// ```text
/// reply-code: short | reply-text: shortstr | class-id: short | method-id: short
/// ```
pub(super) fn close(input: &[u8]) -> Field<'_, Close<'_>> {
    let (rest, reply_code) = short(input)?;
    let (rest, reply_text) = shortstr(rest)?;
    let (rest, class) = short(rest)?;
    let (rest, method) = short(rest)?;
    let close = Close {
        reply_code,
        reply_text,
        failed: (class, method),
    };
    Ok((rest, close))
}
