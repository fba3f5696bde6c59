//! The log on standard error: its level, and whether people or machines read it.

use std::io;

use tracing::{Level, Subscriber};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use super::panics;

/// What is logged, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// The least important level that is still logged.
    pub level: Level,
    /// Who reads it.
    pub format: Format,
}

/// Who reads the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// People: one line of `field=value` for each event.
    #[default]
    Text,
    /// Machines: one flat JSON object for each event.
    Json,
}

/// Lets everything that is logged from here on go to standard error, panics included.
///
/// Fails if it was called before.
pub fn start(log: Log) -> Result<(), TryInitError> {
    subscriber(log, io::stderr).try_init()?;
    panics::tell();
    Ok(())
}

/// What formats events and writes each with one call.
pub(super) fn subscriber<W>(log: Log, writer: W) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt()
        .with_max_level(log.level)
        .with_target(false)
        .with_ansi(false)
        // The complaint would go to standard error and panic if that can't be written to, which is
        // what there would be to complain about.
        .log_internal_errors(false)
        .with_writer(writer);
    match log.format {
        Format::Text => Box::new(builder.finish()),
        Format::Json => Box::new(builder.json().flatten_event(true).finish()),
    }
}
