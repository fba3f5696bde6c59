//! Who a client says it is: in TLS, in SASL and in its open, of which the later word counts more.

use parsers::amqp10::Mechanism;

use crate::protocols::Opening;

/// Who a client says it is.
#[derive(Debug, Default)]
pub(super) struct Claim {
    /// The host that its open is for; before that, and if it is for none, the server name of TLS.
    pub(super) vhost: Option<Box<str>>,
    /// The user of its SASL exchange; before that, and if it names none, its certificate's subject.
    pub(super) user: Option<Box<str>>,
    /// Its container-id.
    pub(super) client: Option<Box<str>>,
    /// Whether it has sent a sasl-init: the rest of the exchange waits for the broker.
    pub(super) has_begun: bool,
    /// Whether the mechanism that it chose may hide what follows.
    pub(super) is_opaque: bool,
}

impl Claim {
    /// What a client has shown before its first octet.
    pub(super) fn shown(opening: &Opening<'_>) -> Self {
        Self {
            vhost: opening.server_name.map(Into::into),
            user: opening.subject.map(Into::into),
            ..Self::default()
        }
    }

    /// Takes the name that it gives with a SASL mechanism. EXTERNAL means the certificate, so a
    /// name given there stands only where no certificate was asked for (RFC 4422 appendix A).
    pub(super) fn authenticates(&mut self, mechanism: Mechanism<'_>, name: Option<&str>) {
        let is_shown = self.user.is_some() && mechanism == Mechanism::External;
        if let (Some(name), false) = (name, is_shown) {
            self.user = Some(name.into());
        }
    }
}
