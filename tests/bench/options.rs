//! What the user typed.

use argh::FromArgs;

/// Measures sizegate beside other relays and prints a table for each scenario.
///
/// As root it runs in a network namespace of its own with the congestion control reno. A machine
/// that does something else at the same time is measured too.
#[derive(Debug, FromArgs)]
pub struct Options {
    /// a scenario to run, by its name; repeatable (default: all)
    #[argh(option)]
    pub scenario: Vec<String>,
    /// a peer to measure, by its name; repeatable (default: all that are there)
    #[argh(option)]
    pub peer: Vec<String>,
    /// how often each peer is measured; they take turns (default: 5)
    #[argh(option, default = "5")]
    pub repeat: usize,
    /// how long a measurement takes, in seconds, after a fifth of it to warm up (default: 2)
    #[argh(option, default = "2.0")]
    pub seconds: f64,
    /// another build of sizegate, as PATH or NAME=PATH; repeatable
    #[argh(option)]
    pub sizegate: Vec<Named>,
    /// another proxy, as NAME=COMMAND with {{listen}} and {{upstream}} for the two ports of
    /// 127.0.0.1, and {{cert}} and {{key}} for two files; repeatable
    #[argh(option)]
    pub proxy: Vec<Named>,
    /// clients speak TLS 1.3 to the peers; those that can't are left out
    #[argh(switch)]
    pub tls: bool,
    /// print tables in Markdown
    #[argh(switch)]
    pub markdown: bool,
    /// print the names of scenarios and peers, and measure nothing
    #[argh(switch)]
    pub list: bool,
}

/// A value with a name: `NAME=VALUE`, or what is its own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

impl std::str::FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').unwrap_or((text, text));
        if name.is_empty() || value.is_empty() {
            return Err(format!("`{text}` is not NAME=VALUE"));
        }
        Ok(Self {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_its_name_or_is_its_own() {
        let named: Named = "old=/bin/sizegate".parse().unwrap();
        assert_eq!(
            (&named.name[..], &named.value[..]),
            ("old", "/bin/sizegate")
        );
        let own: Named = "/bin/x".parse().unwrap();
        assert_eq!(own.name, own.value);
        let proxy: Named = "s=socat -x=1 {listen}".parse().unwrap();
        assert_eq!(proxy.value, "socat -x=1 {listen}");
        assert!("=x".parse::<Named>().is_err());
    }
}
