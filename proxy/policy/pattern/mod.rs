//! Patterns for names: how they are written, and what they match.
//!
//! Three kinds, for three kinds of text: a [`Glob`] for plain names, a [`VhostPattern`] for virtual
//! hosts, and an [`AddressPattern`] that is read as a glob or as a topic filter, as the connection
//! demands. Names compare exactly, case included. Which of several patterns wins is said in
//! `precedence`; how thousands of them are searched, in `index`.

mod address;
mod glob;
mod vhost;

pub use address::AddressPattern;
pub(crate) use address::TopicFilter;
pub use glob::Glob;
pub use vhost::VhostPattern;

/// What the search structures need to know of a pattern.
pub(crate) trait Pattern {
    /// The pattern as it was written.
    fn text(&self) -> &str;

    /// Where the first wildcard stands, in octets; none if the pattern is a name.
    fn wildcard(&self) -> Option<usize>;

    /// Octets with which everything that matches begins.
    fn head(&self) -> &[u8];

    /// Octets with which everything that matches ends; they may overlap the head.
    fn tail(&self) -> &[u8];

    /// Says whether a name matches.
    fn matches(&self, name: &[u8]) -> bool;
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// There is nothing in it.
    #[error("the pattern is empty")]
    Empty,
    /// A wildcard for whole tokens has other characters beside it.
    #[error("`*` and `#` stand for whole tokens between dots, but `{token}` has more than that")]
    PartOfToken {
        /// The token at fault.
        token: String,
    },
    /// It names a shared subscription, of which a message says nothing.
    #[error("a message carries its topic, never a shared subscription: give the filter `{filter}`")]
    SharedSubscription {
        /// The topic filter of the subscription.
        filter: String,
    },
}
