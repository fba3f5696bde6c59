//! Rules as people write them: `SELECTOR[,SELECTOR...]=SIZE` and `VHOST/NAME=USER[,USER...]`.
//!
//! In a rule the last `=` stands before the size, since addresses and certificate subjects have
//! some of their own; in a group the first one stands before the users. A comma always separates,
//! so a name with a comma in it is matched with a pattern. Nothing is trimmed: spaces count.
//! Whether a rule names a group that exists is not known here.

use std::net::IpAddr;

use ipnet::IpNet;

use super::size::SizeError;
use crate::policy::{
    AddressPattern, ByteSize, Glob, Group, GroupName, GroupNameError, PatternError, Rule, Selector,
    VhostPattern,
};

/// Reads the value of `--limit` or `--receive-limit`; `flag` is which of them.
pub fn limit_spec(flag: &'static str, text: &str) -> Result<Rule, LimitSpecError> {
    let at = |offset, fault| LimitSpecError::new(flag, text, offset, fault);
    let (selectors, size) = text
        .rsplit_once('=')
        .ok_or_else(|| at(text.len(), Fault::NoSize))?;
    let size_at = selectors.len() + 1;
    let size = size
        .parse::<ByteSize>()
        .map_err(|error| at(size_at, Fault::Size(error)))?;
    if size.0 != 0 && size < ByteSize::LEAST_LIMIT {
        return Err(at(size_at, Fault::TooSmall(size)));
    }
    let mut rule = Rule::new(size, format!("{flag} {text}"));
    let mut offset = 0;
    let mut before = None;
    for part in selectors.split(',') {
        let selector = selector(part, before).map_err(|(within, fault)| at(offset + within, fault));
        let repeated = |again: Selector| at(offset, Fault::Repeated(again.name()));
        rule.narrow(selector?).map_err(repeated)?;
        offset += part.len() + 1;
        before = Some(part);
    }
    Ok(rule)
}

/// Reads the value of `--group`.
pub fn group_spec(text: &str) -> Result<Group, LimitSpecError> {
    let at = |offset, fault| LimitSpecError::new("--group", text, offset, fault);
    let (name, users) = text
        .split_once('=')
        .ok_or_else(|| at(text.len(), Fault::NoUsers))?;
    let mut offset = name.len() + 1;
    let name = GroupName::new(name).map_err(|error| at(0, Fault::Group(error)))?;
    let mut group = Group {
        name,
        users: Vec::new(),
    };
    for user in users.split(',') {
        let pattern = Glob::new(user).map_err(|error| at(offset, Fault::Pattern(error)))?;
        group.users.push(pattern);
        offset += user.len() + 1;
    }
    Ok(group)
}

/// Why the value of a flag is no rule or no group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{flag} {text}`, at character {column}: {fault}; a right one is {}", self.example())]
pub struct LimitSpecError {
    /// The flag.
    pub flag: &'static str,
    /// Its value as it was typed.
    pub text: String,
    /// The character of the value where the fault is, from 1.
    pub column: usize,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong with a rule or a group.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is no size.
    #[error("there is no `=SIZE`")]
    NoSize,
    /// The size is none.
    #[error(transparent)]
    Size(SizeError),
    /// No message could be within the limit.
    #[error("no message is as small as {0} octets; give 0 for no limit, or at least {least}", least = ByteSize::LEAST_LIMIT)]
    TooSmall(ByteSize),
    /// A rule does not begin with a selector.
    #[error("`{0}` is no selector; there are peer:, address:, client:, user:, group: and vhost:")]
    NoSelector(String),
    /// What follows a comma is no selector.
    #[error(
        "a comma separates selectors, and `{part}` is none; \
         match a name that has a comma in it with a pattern, such as {pattern}"
    )]
    Comma {
        /// What follows the comma.
        part: String,
        /// A selector that does without the comma.
        pattern: String,
    },
    /// A kind of selector is there twice.
    #[error("`{0}:` is there twice, and no message has two of it")]
    Repeated(&'static str),
    /// A pattern is none.
    #[error(transparent)]
    Pattern(PatternError),
    /// The name of a group is none.
    #[error(transparent)]
    Group(GroupNameError),
    /// A network is none.
    #[error("`{0}` is neither a network nor an address")]
    Network(String),
    /// A network has bits of a host.
    #[error("`{given}` is inside a network; give {network} for all of it, or {host} for the one")]
    HostBits {
        /// What was given.
        given: String,
        /// The network that it lies in.
        network: IpNet,
        /// The one address.
        host: IpAddr,
    },
    /// A group has no users.
    #[error("there is no `=USER`")]
    NoUsers,
}

impl LimitSpecError {
    /// A fault that stands so many octets into the text.
    fn new(flag: &'static str, text: &str, offset: usize, fault: Fault) -> Self {
        Self {
            flag,
            text: text.to_owned(),
            column: text
                .char_indices()
                .take_while(|(at, _)| *at < offset)
                .count()
                + 1,
            fault,
        }
    }

    /// A value that would do, near to what was wrong.
    fn example(&self) -> String {
        let value = match &self.fault {
            Fault::Network(_) | Fault::HostBits { .. } => "peer:10.8.0.0/16=0",
            Fault::Group(_) if self.flag != "--group" => "group:prod/devs=64Ki",
            Fault::Pattern(PatternError::PartOfToken { .. }) => "vhost:*.example.com=64Ki",
            Fault::Pattern(PatternError::SharedSubscription { .. }) => "address:sensors/#=64Ki",
            _ if self.flag == "--group" => "prod/devs=alice,bob",
            _ => "user:alice,address:sensors/#=64Ki",
        };
        format!("{} {value}", self.flag)
    }
}

/// Reads one selector, given what stood before its comma. A fault says where in the selector it is.
fn selector(part: &str, before: Option<&str>) -> Result<Selector, (usize, Fault)> {
    let (name, value) = part.split_once(':').unwrap_or((part, ""));
    let pattern = match name {
        _ if !part.contains(':') => Err(unknown(part, before)),
        "peer" => network(value).map(Selector::Peer),
        "address" => AddressPattern::new(value)
            .map(Selector::Address)
            .map_err(Fault::Pattern),
        "client" => Glob::new(value)
            .map(Selector::Client)
            .map_err(Fault::Pattern),
        "user" => Glob::new(value).map(Selector::User).map_err(Fault::Pattern),
        "group" => GroupName::new(value)
            .map(Selector::Group)
            .map_err(Fault::Group),
        "vhost" => VhostPattern::new(value)
            .map(Selector::Vhost)
            .map_err(Fault::Pattern),
        _ => Err(unknown(part, before)),
    };
    pattern.map_err(|fault| match fault {
        Fault::NoSelector(_) | Fault::Comma { .. } => (0, fault),
        _ => (name.len() + 1, fault),
    })
}

/// What is wrong with something that is no selector.
fn unknown(part: &str, before: Option<&str>) -> Fault {
    let part = part.to_owned();
    match before {
        None => Fault::NoSelector(part),
        Some(before) => Fault::Comma {
            part,
            pattern: format!("{}*", before.trim_end_matches('*')),
        },
    }
}

/// Reads a network, or one address.
///
/// Bits beyond the prefix length are refused rather than cleared: whoever exempts `10.8.3.1/16` may
/// mean the host, and would exempt 65,536 of them.
pub(super) fn network(text: &str) -> Result<IpNet, Fault> {
    let address = text.parse::<IpAddr>().map(IpNet::from).ok();
    let network = address.or_else(|| text.parse::<IpNet>().ok());
    let network = network.ok_or_else(|| Fault::Network(text.to_owned()))?;
    if network != network.trunc() {
        return Err(Fault::HostBits {
            given: text.to_owned(),
            network: network.trunc(),
            host: network.addr(),
        });
    }
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selectors(text: &str) -> Vec<String> {
        let rule = limit_spec("--limit", text).unwrap();
        rule.selectors().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_rule_is_read_whole_and_shown_as_it_was_typed() {
        let rule = limit_spec("--receive-limit", "user:alice,address:a=b/#=1Ki").unwrap();
        assert_eq!(rule.limit().size, ByteSize(1024));
        assert_eq!(
            &*rule.limit().rule,
            "--receive-limit user:alice,address:a=b/#=1Ki"
        );
        assert_eq!(
            selectors("user:alice,address:a=b/#=1Ki"),
            ["address:a=b/#", "user:alice"]
        );
    }

    #[test]
    fn every_selector_is_read_by_its_name() {
        let all =
            "vhost:*.example.com,group://devs,user:CN=a*,client:c:1,address:sport/+,peer:::1=0";
        assert_eq!(
            selectors(all),
            [
                "peer:::1/128",
                "address:sport/+",
                "client:c:1",
                "user:CN=a*",
                "group://devs",
                "vhost:*.example.com",
            ]
        );
        assert_eq!(selectors("peer:2001:db8::/32=16"), ["peer:2001:db8::/32"]);
        assert_eq!(selectors("peer:10.8.0.1=16"), ["peer:10.8.0.1/32"]);
    }

    #[test]
    fn a_group_is_named_before_the_first_equals_sign_and_its_users_come_after() {
        let group = group_spec("*/devs=alice,CN=b*").unwrap();
        assert_eq!(group.name.as_str(), "*/devs");
        assert_eq!(
            group.users,
            ["alice", "CN=b*"].map(|user| Glob::new(user).unwrap())
        );
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_said_with_its_place_and_a_right_one() {
        for (text, column, words) in [
            ("user:alice", 11, "there is no `=SIZE`"),
            ("", 1, "there is no `=SIZE`"),
            ("user:alice=", 12, "the size is empty"),
            ("user:alice=1K", 12, "such as 1Ki"),
            ("user:CN=alice", 9, "does not begin with a digit"),
            ("user:alice=15", 12, "no message is as small as 15 octets"),
            ("=1Ki", 1, "`` is no selector"),
            ("alice=1Ki", 1, "`alice` is no selector"),
            ("usr:alice=1Ki", 1, "`usr:alice` is no selector"),
            ("User:alice=1Ki", 1, "`User:alice` is no selector"),
            ("user:CN=älice,O=Acme=1Ki", 15, "such as user:CN=älice*;"),
            ("user:CN=a*,O=b:c=1Ki", 12, "such as user:CN=a*;"),
            ("user:a, vhost:b=1Ki", 8, "` vhost:b` is none"),
            ("user:a,=1Ki", 8, "`` is none"),
            ("user:=1Ki", 6, "the pattern is empty"),
            ("vhost:a,user:=1Ki", 14, "the pattern is empty"),
            ("vhost:tenant-*=1Ki", 7, "`tenant-*` has more than that"),
            ("address:$share/g/a/#=1Ki", 9, "give the filter `a/#`"),
            ("group:devs=1Ki", 7, "VHOST/NAME"),
            ("group:v/=1Ki", 7, "there is no NAME"),
            ("group:a*/n=1Ki", 7, "`a*` has more than that"),
            ("user:a,vhost:v,user:b=1Ki", 16, "`user:` is there twice"),
            ("peer:10.8.0.0/33=0", 6, "neither a network nor an address"),
            ("peer:broker=0", 6, "neither a network nor an address"),
            (
                "peer:10.8.3.1/16=0",
                6,
                "give 10.8.0.0/16 for all of it, or 10.8.3.1 for the one",
            ),
        ] {
            let error = limit_spec("--limit", text).unwrap_err();
            let shown = error.to_string();
            assert_eq!(error.column, column, "{shown}");
            assert!(
                shown.starts_with(&format!("`--limit {text}`, at character ")),
                "{shown}"
            );
            assert!(shown.contains(words), "{shown}");
            let (_, example) = shown.rsplit_once("; a right one is --limit ").unwrap();
            limit_spec("--limit", example).unwrap();
        }
    }

    #[test]
    fn what_is_wrong_with_a_group_is_said_with_its_place_and_a_right_one() {
        for (text, column, words) in [
            ("prod/devs", 10, "there is no `=USER`"),
            ("prod/devs=", 11, "the pattern is empty"),
            ("prod/devs=alice,,bob", 17, "the pattern is empty"),
            ("devs=alice", 1, "VHOST/NAME"),
            ("/devs=alice", 1, "the pattern is empty"),
            ("a.b*/devs=alice", 1, "`b*` has more than that"),
        ] {
            let error = group_spec(text).unwrap_err();
            let shown = error.to_string();
            assert_eq!(error.column, column, "{shown}");
            assert!(shown.contains(words), "{shown}");
            let (_, example) = shown.rsplit_once("; a right one is --group ").unwrap();
            group_spec(example).unwrap();
        }
    }
}
