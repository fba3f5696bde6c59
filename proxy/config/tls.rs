//! TLS on both sides: the rules between its flags, and the files that they name.
//!
//! The files are read here, so that `--check` finds out what is wrong with them and what runs begins
//! with what was checked. A certificate that has expired is not wrong: it is told of when it is used.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use certs::{Client, ClientFiles, Error, Identity, MinVersion, Server, ServerFiles, Trust};
use tokio_rustls::rustls::pki_types::ServerName;

use super::Problem;
use crate::cli::{self, Args};

/// TLS on both sides.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// With clients; none is plain TCP.
    pub clients: Option<Arc<Server>>,
    /// With the broker; none is plain TCP.
    pub upstream: Option<UpstreamTls>,
    /// How often the files are looked at; none is when told to.
    pub reload_interval: Option<Duration>,
    /// The flags that have no default, as they were typed.
    pub(super) typed: Vec<(&'static str, Option<String>)>,
    /// The oldest version that clients may speak.
    pub(super) min_version: MinVersion,
}

/// TLS with the broker.
#[derive(Clone, Debug)]
pub struct UpstreamTls {
    /// Whom the broker's certificate must come from, and what it is shown if it asks.
    pub certificates: Arc<Client>,
    /// The name that its certificate must be for; none is the host that was connected to.
    pub name: Option<ServerName<'static>>,
}

/// A host as a certificate may name it: an address, or a name without the dot at its end.
pub fn server_name(host: &str) -> Option<ServerName<'static>> {
    let host = host.strip_suffix('.').unwrap_or(host);
    ServerName::try_from(host.to_owned()).ok()
}

impl Tls {
    /// Reads the flags and the files, and adds everything that is wrong with them to `problems`.
    pub(super) fn from_args(args: &Args, problems: &mut Vec<Problem>) -> Self {
        problems.extend(broken(args));
        Self {
            clients: clients(args, problems),
            upstream: upstream(args, problems),
            reload_interval: Some(args.tls_reload_interval).filter(|every| !every.is_zero()),
            typed: typed(args),
            min_version: args.tls_min_version,
        }
    }
}

/// What breaks the rules between the flags.
fn broken(args: &Args) -> Vec<Problem> {
    let is_default = args.tls_min_version == MinVersion::default();
    let min_version = Some(cli::TLS_MIN_VERSION.word(args.tls_min_version)).filter(|_| !is_default);
    let name = args.upstream_tls_name.as_ref().map(ServerName::to_str);
    let name = name.as_deref();
    let tls = args.tls_cert.is_some() || args.tls_key.is_some();
    let [cert, key, ca] = [&args.tls_cert, &args.tls_key, &args.tls_client_ca].map(text);
    let upstream = [
        &args.upstream_tls_cert,
        &args.upstream_tls_key,
        &args.upstream_tls_ca,
    ];
    let [upstream_cert, upstream_key, upstream_ca] = upstream.map(text);
    // A flag, its value, the one that it needs, and whether that is there.
    let needs = [
        ("--tls-cert", cert, "--tls-key", key.is_some()),
        ("--tls-key", key, "--tls-cert", cert.is_some()),
        ("--tls-client-ca", ca, "--tls-cert", tls),
        ("--tls-min-version", min_version, "--tls-cert", tls),
        (
            "--upstream-tls-cert",
            upstream_cert,
            "--upstream-tls-key",
            upstream_key.is_some(),
        ),
        (
            "--upstream-tls-key",
            upstream_key,
            "--upstream-tls-cert",
            upstream_cert.is_some(),
        ),
        (
            "--upstream-tls-ca",
            upstream_ca,
            "--upstream-tls",
            args.upstream_tls,
        ),
        (
            "--upstream-tls-name",
            name,
            "--upstream-tls",
            args.upstream_tls,
        ),
        (
            "--upstream-tls-cert",
            upstream_cert,
            "--upstream-tls",
            args.upstream_tls,
        ),
        (
            "--upstream-tls-key",
            upstream_key,
            "--upstream-tls",
            args.upstream_tls,
        ),
    ];
    let needs = needs
        .into_iter()
        .filter_map(|(flag, value, other, is_there)| {
            let value = value.filter(|_| !is_there)?.to_owned();
            let expected = format!("{other} beside it");
            Some(Problem::Setting {
                flag,
                value,
                expected,
            })
        });
    needs
        .chain(nameless(args))
        .chain(interval(args.tls_reload_interval))
        .collect()
}

/// A broker must have a name that its certificate can be for.
fn nameless(args: &Args) -> impl Iterator<Item = Problem> {
    let is_asked = args.upstream_tls && args.upstream_tls_name.is_none();
    let upstreams = args.upstream.iter().filter(move |_| is_asked);
    upstreams
        .filter(|upstream| server_name(&upstream.host).is_none())
        .map(|upstream| Problem::Setting {
            flag: "--upstream",
            value: upstream.to_string(),
            expected: "a host that a certificate can be for, or --upstream-tls-name beside it"
                .to_owned(),
        })
}

fn interval(interval: Duration) -> Option<Problem> {
    let is_short = !interval.is_zero() && interval < SHORTEST_INTERVAL;
    is_short.then(|| Problem::Setting {
        flag: "--tls-reload-interval",
        value: humantime::format_duration(interval).to_string(),
        expected: "0s (only when told by SIGHUP), or 100ms and more, such as 1m".to_owned(),
    })
}

/// The flags that have no default and were typed.
fn typed(args: &Args) -> Vec<(&'static str, Option<String>)> {
    let name = args.upstream_tls_name.as_ref().map(ServerName::to_str);
    let values = [
        ("--tls-cert", text(&args.tls_cert)),
        ("--tls-key", text(&args.tls_key)),
        ("--tls-client-ca", text(&args.tls_client_ca)),
        ("--upstream-tls-ca", text(&args.upstream_tls_ca)),
        ("--upstream-tls-name", name.as_deref()),
        ("--upstream-tls-cert", text(&args.upstream_tls_cert)),
        ("--upstream-tls-key", text(&args.upstream_tls_key)),
    ];
    let switch = args.upstream_tls.then_some(("--upstream-tls", None));
    let values = values
        .into_iter()
        .filter_map(|(flag, value)| Some((flag, Some(value?.to_owned()))));
    values.chain(switch).collect()
}

/// A path as it was typed.
fn text(path: &Option<PathBuf>) -> Option<&str> {
    path.as_deref()?.to_str()
}

/// Loads TLS with clients, if it is wanted and its flags are whole.
fn clients(args: &Args, problems: &mut Vec<Problem>) -> Option<Arc<Server>> {
    let identity = identity(args.tls_cert.as_ref(), args.tls_key.as_ref())?;
    let files = ServerFiles {
        identity,
        client_ca: args.tls_client_ca.clone(),
        min_version: args.tls_min_version,
    };
    match Server::load(files.clone()) {
        Ok(certificates) => Some(Arc::new(certificates)),
        Err(error) => {
            problems.extend(faults(error, Some(files.identity), files.client_ca));
            None
        }
    }
}

/// Loads TLS with the broker, if it is wanted and its flags are whole.
fn upstream(args: &Args, problems: &mut Vec<Problem>) -> Option<UpstreamTls> {
    if !args.upstream_tls {
        return None;
    }
    let ca = args.upstream_tls_ca.as_ref();
    let files = ClientFiles {
        trust: ca.map_or(Trust::System, |file| Trust::File(file.clone())),
        identity: identity(
            args.upstream_tls_cert.as_ref(),
            args.upstream_tls_key.as_ref(),
        ),
        min_version: MinVersion::default(),
    };
    match Client::load(files.clone()) {
        Ok(certificates) => Some(UpstreamTls {
            certificates: Arc::new(certificates),
            name: args.upstream_tls_name.clone(),
        }),
        Err(error) => {
            problems.extend(faults(error, files.identity, ca.cloned()));
            None
        }
    }
}

fn identity(cert: Option<&PathBuf>, key: Option<&PathBuf>) -> Option<Identity> {
    Some(Identity {
        cert: cert?.clone(),
        key: key?.clone(),
    })
}

/// Everything that is wrong with files, of which `first` was found: each is looked at by itself.
fn faults(first: Error, identity: Option<Identity>, ca: Option<PathBuf>) -> Vec<Problem> {
    let min_version = MinVersion::default();
    let identity = identity.map(|identity| {
        let files = ServerFiles {
            identity,
            client_ca: None,
            min_version,
        };
        Server::load(files).err()
    });
    let ca = ca.map(|file| {
        let files = ClientFiles {
            trust: Trust::File(file),
            identity: None,
            min_version,
        };
        Client::load(files).err()
    });
    let mut faults = Vec::from_iter(identity.flatten());
    if let Some(fault) = ca.flatten()
        && !faults.contains(&fault)
    {
        faults.push(fault);
    }
    if faults.is_empty() {
        faults.push(first);
    }
    faults.into_iter().map(Problem::from).collect()
}

/// A shorter one would keep the disk busy.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_without_the_dot_at_its_end() {
        for host in ["broker.example", "broker.example."] {
            let name = server_name(host).expect("a name");
            assert_eq!(name.to_str(), "broker.example");
        }
    }

    #[test]
    fn addresses_and_the_names_of_containers_can_be_in_certificates() {
        for host in ["127.0.0.1", "::1", "rabbit_1", "localhost"] {
            assert_eq!(server_name(host).expect("a name").to_str(), host);
        }
        for host in ["", ".", "-", "a..b", "a b"] {
            assert_eq!(server_name(host), None, "{host:?}");
        }
    }
}
