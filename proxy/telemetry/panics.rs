//! Panics: a defect of sizegate costs the connection that met it, and the log tells of it.
//!
//! What the standard library writes to standard error is no log line, and it is written before
//! anything is known of whom the panic ends. So a hook keeps what it learns for those that are
//! ended and know more, and tells of a panic by itself where nothing is contained. That the thread
//! goes on is the runtime's doing: a panic goes no further than the task that it happens in.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{self, PanicHookInfo};
use std::pin::Pin;
use std::thread;

use tracing::error;

use super::report::bounded;

/// What is known of a panic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Panic {
    /// What it says, cut to a bounded length.
    pub what: String,
    /// File, line and column.
    pub place: String,
    /// Who had called whom, where `RUST_BACKTRACE` asks for it.
    pub backtrace: Option<String>,
}

/// Runs a future that a panic may end, with all that it owns, and nothing else of this thread.
///
/// What drops meanwhile asks [`ending`] whether that is why.
pub async fn contain<F: Future>(mut future: Pin<&mut F>) -> F::Output {
    poll_fn(|cx| {
        let _contained = Contained::begin();
        future.as_mut().poll(cx)
    })
    .await
}

/// The panic that ends what is contained here; whoever asks first tells of it.
pub fn ending() -> Option<Panic> {
    let is_ending = CONTAINED.get() && thread::panicking();
    is_ending.then(|| HEARD.take().unwrap_or_default())
}

/// Has panics told in the log.
pub(super) fn tell() {
    panic::set_hook(Box::new(hear));
}

fn hear(info: &PanicHookInfo<'_>) {
    let backtrace = Backtrace::capture();
    let has_one = backtrace.status() == BacktraceStatus::Captured;
    let panic = Panic {
        what: bounded(said(info.payload())).into_owned(),
        place: info.location().map(ToString::to_string).unwrap_or_default(),
        backtrace: has_one.then(|| backtrace.to_string()),
    };
    match HEARD.take() {
        None if CONTAINED.get() => HEARD.set(Some(panic)),
        // A panic while another one unwinds ends the process.
        earlier => earlier.iter().chain([&panic]).for_each(say),
    }
}

/// What a panic was called with: text, unless somebody took pains.
fn said(payload: &dyn Any) -> &str {
    let whole = payload.downcast_ref::<String>().map(String::as_str);
    whole
        .or(payload.downcast_ref::<&str>().copied())
        .unwrap_or_default()
}

/// Writes the line of a panic of which nobody knows more.
fn say(panic: &Panic) {
    error!(
        what = &*panic.what,
        place = &*panic.place,
        backtrace = panic.backtrace.as_deref(),
        "panicked"
    );
}

/// While it is there, a panic of this thread ends what is contained and is told by it.
struct Contained;

impl Contained {
    fn begin() -> Self {
        CONTAINED.set(true);
        Self
    }
}

impl Drop for Contained {
    fn drop(&mut self) {
        CONTAINED.set(false);
        if let Some(untold) = HEARD.take() {
            say(&untold);
        }
    }
}

thread_local! {
    /// Whether something is contained on this thread now.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
    /// The panic that ends it, until somebody has told of it.
    static HEARD: RefCell<Option<Panic>> = const { RefCell::new(None) };
}
