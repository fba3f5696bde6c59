//! A rule: whose messages it is for, and how large they may be.
//!
//! Rules are what `--limit`, `--receive-limit` and `--group` say, read and checked one by one. Which
//! of several rules decides is said in `precedence`.

use std::fmt;
use std::sync::Arc;

use ipnet::IpNet;

use super::pattern::{AddressPattern, Glob, Pattern, PatternError, VhostPattern};
use super::{ByteSize, Limit};

/// A limit for some messages only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The limit, and the flag with its value as the user typed it.
    limit: Limit,
    /// All must match; the highest rank first, each rank at most once.
    selectors: Vec<Selector>,
}

impl Rule {
    /// A rule without selectors, which is for every message.
    ///
    /// `text` is the flag and its value as the user typed it: `--limit user:alice=1Ki`.
    pub fn new(size: ByteSize, text: impl Into<Arc<str>>) -> Self {
        Self {
            limit: Limit::new(size, text),
            selectors: Vec::new(),
        }
    }

    /// Narrows the rule by a selector, which comes back if the rule has one of its rank already.
    pub fn narrow(&mut self, selector: Selector) -> Result<(), Selector> {
        let search = |other: &Selector| selector.rank().cmp(&other.rank());
        match self.selectors.binary_search_by(search) {
            Ok(_) => Err(selector),
            Err(at) => {
                self.selectors.insert(at, selector);
                Ok(())
            }
        }
    }

    /// The limit that it sets.
    pub fn limit(&self) -> &Limit {
        &self.limit
    }

    /// What narrows it, the highest rank first.
    pub fn selectors(&self) -> &[Selector] {
        &self.selectors
    }
}

/// What one part of a message's identity has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector {
    /// The client's network address lies in this network. IPv4-mapped IPv6 counts as IPv4.
    Peer(IpNet),
    /// The address of the message.
    Address(AddressPattern),
    /// The MQTT client id, AMQP container-id or connection name.
    Client(Glob),
    /// The authenticated name.
    User(Glob),
    /// The user is in this group.
    Group(GroupName),
    /// The virtual host.
    Vhost(VhostPattern),
}

impl Selector {
    /// Where it stands in the order of precedence; the higher decides.
    ///
    /// The network address is highest, since it is the one thing that a client cannot claim.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Peer(_) => 6,
            Self::Address(_) => 5,
            Self::Client(_) => 4,
            Self::User(_) => 3,
            Self::Group(_) => 2,
            Self::Vhost(_) => 1,
        }
    }

    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Peer(_) => "peer",
            Self::Address(_) => "address",
            Self::Client(_) => "client",
            Self::User(_) => "user",
            Self::Group(_) => "group",
            Self::Vhost(_) => "vhost",
        }
    }
}

/// A group of users, for rules to name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name. A name that is declared more than once is one group, with all their users.
    pub name: GroupName,
    /// Who is in it.
    pub users: Vec<Glob>,
}

/// The name of a group: `VHOST/NAME`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupName {
    /// The whole name as it was written.
    text: Arc<str>,
    /// The virtual hosts in which the group exists; none is `*`: any, and also without one.
    vhost: Option<VhostPattern>,
}

impl GroupName {
    /// Reads a name. The last slash separates the two parts, so that the virtual host may be `/`.
    pub fn new(text: impl Into<Arc<str>>) -> Result<Self, GroupNameError> {
        let text = text.into();
        let (vhost, name) = text.rsplit_once('/').ok_or(GroupNameError::NoSlash)?;
        if name.is_empty() {
            return Err(GroupNameError::NoName);
        }
        let vhost = match vhost {
            "*" => None,
            vhost => Some(VhostPattern::new(vhost).map_err(GroupNameError::Vhost)?),
        };
        Ok(Self { text, vhost })
    }

    /// The pattern of its virtual host; none where that is any, and also none.
    pub fn vhost(&self) -> Option<&VhostPattern> {
        self.vhost.as_ref()
    }

    /// The whole name as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

/// Why a text is no name of a group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupNameError {
    /// There is only one part.
    #[error("a group is named VHOST/NAME, with `*` as VHOST for any")]
    NoSlash,
    /// There is nothing after the slash.
    #[error("a group is named VHOST/NAME, and there is no NAME")]
    NoName,
    /// The part before the slash is no pattern for virtual hosts.
    #[error(transparent)]
    Vhost(PatternError),
}

/// The selector as it is written on the command line.
impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.name())?;
        match self {
            Self::Peer(network) => network.fmt(f),
            Self::Address(pattern) => f.write_str(pattern.text()),
            Self::Client(pattern) | Self::User(pattern) => f.write_str(pattern.text()),
            Self::Group(name) => name.fmt(f),
            Self::Vhost(pattern) => f.write_str(pattern.text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_kept_by_rank_and_each_rank_once() {
        let user = |text| Selector::User(Glob::new(text).unwrap());
        let vhost = Selector::Vhost(VhostPattern::new("v").unwrap());
        let mut rule = Rule::new(ByteSize(1), "--limit");
        rule.narrow(vhost.clone()).unwrap();
        rule.narrow(user("a")).unwrap();
        assert_eq!(rule.narrow(user("b")), Err(user("b")));
        assert_eq!(rule.selectors(), [user("a"), vhost]);
    }

    #[test]
    fn the_last_slash_separates_the_virtual_host_of_a_group_from_its_name() {
        let vhost =
            |text| GroupName::new(text).map(|name| name.vhost().map(|v| v.text().to_owned()));
        assert_eq!(vhost("prod/devs"), Ok(Some("prod".to_owned())));
        assert_eq!(vhost("//devs"), Ok(Some("/".to_owned())));
        assert_eq!(vhost("*/devs"), Ok(None));
        assert_eq!(vhost("devs"), Err(GroupNameError::NoSlash));
        assert_eq!(vhost("prod/"), Err(GroupNameError::NoName));
        assert_eq!(
            vhost("/devs"),
            Err(GroupNameError::Vhost(PatternError::Empty))
        );
    }
}
