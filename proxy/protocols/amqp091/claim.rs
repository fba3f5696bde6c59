//! Who a client says it is: in TLS, in connection.start-ok and in connection.open.

use parsers::amqp091::{Mechanism, StartOk, identity};

use crate::protocols::Opening;

/// Who a client says it is.
#[derive(Debug, Default)]
pub(super) struct Claim {
    /// The virtual host that its connection.open is for. It always names one, so the server name of
    /// TLS says nothing here.
    pub(super) vhost: Option<Box<str>>,
    /// The user of its security mechanism; before that, and if it names none, its certificate's
    /// subject.
    pub(super) user: Option<Box<str>>,
    /// The name that it has given its connection.
    pub(super) client: Option<Box<str>>,
}

impl Claim {
    /// What a client has shown before its first octet.
    pub(super) fn shown(opening: &Opening<'_>) -> Self {
        Self {
            user: opening.subject.map(Into::into),
            ..Self::default()
        }
    }

    /// Takes the names in connection.start-ok. EXTERNAL means the certificate, so a name given there
    /// stands only where no certificate was asked for (RFC 4422 appendix A).
    pub(super) fn starts(&mut self, start_ok: &StartOk<'_>) {
        let mechanism = Mechanism::named(start_ok.mechanism);
        let is_shown = self.user.is_some() && mechanism == Mechanism::External;
        if let (Some(name), false) = (identity(mechanism, start_ok.response), is_shown) {
            self.user = Some(name.into());
        }
        let name = start_ok.client_properties.longstr(b"connection_name");
        self.client = name.filter(|name| !name.is_empty()).map(text);
    }

    /// Takes the virtual host of connection.open.
    pub(super) fn opens(&mut self, virtual_host: &[u8]) {
        self.vhost = Some(text(virtual_host));
    }
}

/// A name that should be UTF-8; what is not can be in no rule.
fn text(octets: &[u8]) -> Box<str> {
    String::from_utf8_lossy(octets).into()
}
