//! The gate for a connection whose protocol is unknown and that is to be forwarded all the same.

use super::{Ending, Gate, HangUp, Identity, Limits, Meter, Phase, Reason, Side, Step};

/// Forwards everything and knows nothing (`--on-unknown forward`).
#[derive(Debug, Default)]
pub struct Opaque {
    /// Set once the relay wants the connection to end; there is no word to say it with.
    hung_up: Option<HangUp>,
}

impl Gate for Opaque {
    fn step(&mut self, _: Side, input: &[u8], _: &mut Meter, _: &mut Vec<u8>) -> Step {
        match self.hung_up {
            Some(HangUp::Drain) => Step::End(Ending::ours(Reason::Drain)),
            Some(HangUp::BrokerUnreachable) => {
                Step::End(Ending::by(Side::Broker, Reason::UpstreamUnreachable))
            }
            None if input.is_empty() => Step::More(1),
            None => Step::Forward(input.len() as u64),
        }
    }

    fn pending(&self, _: Side) -> bool {
        self.hung_up.is_some()
    }

    fn hang_up(&mut self, why: HangUp) {
        self.hung_up = Some(why);
    }

    fn phase(&self) -> Phase {
        Phase::Accepted
    }

    fn identity(&self) -> Identity<'_> {
        Identity::default()
    }

    fn limits(&self) -> Option<&Limits> {
        None
    }
}
