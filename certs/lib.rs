//! PEM files to TLS configurations, and again when the files change.
//!
//! Knows files, certificates and rustls, and neither sockets nor tasks: [`Server`] and [`Client`] give
//! each new connection its configuration, and whoever owns the clock and the signals says when to
//! read again. A certificate that has expired is loaded all the same, since a proxy that starts and
//! says so helps more than one that does not start; [`Lifetime`] is there to say so.

mod client;
mod error;
mod identity;
mod lifetime;
mod pem_file;
mod provider;
mod reload;
mod sections;
mod server;
mod subject;
mod trust;
mod x509;

pub use client::{Client, ClientFiles};
pub use error::Error;
pub use identity::Identity;
pub use lifetime::{Lifetime, Phase, Role};
pub use reload::Reload;
pub use sections::{Fault, Found};
pub use server::{Server, ServerFiles};
pub use subject::{SubjectError, subject};
pub use trust::Trust;

/// The oldest version of TLS that is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MinVersion {
    /// TLS 1.2 and TLS 1.3.
    #[default]
    Tls12,
    /// TLS 1.3 alone.
    Tls13,
}
