//! The configuration in effect, as `--check` prints it.

use super::{Config, Destination, Listener};
use crate::cli;
use crate::policy::{ByteSize, Mode, PolicySpec};
use crate::protocols::Advertise;

impl Config {
    /// Every setting as the flag that gives it, and the table of limits; without the last line
    /// feed.
    ///
    /// The flags can be copied into a command line and give this configuration again.
    pub fn report(&self) -> String {
        let mut lines = vec!["flags in effect:".to_owned()];
        lines.extend(self.flags().iter().map(|flag| format!("  {flag}")));
        lines.extend([
            String::new(),
            "limits, the first that matches decides:".to_owned(),
        ]);
        let listing = self.limits.spec.listing();
        lines.extend(listing.lines().map(|line| format!("  {line}")));
        lines.join("\n")
    }

    fn flags(&self) -> Vec<String> {
        let listen = self
            .listeners
            .iter()
            .map(|it| format!("--listen {}", it.listen));
        let upstream = self
            .listeners
            .iter()
            .filter_map(|it| it.destination.upstream())
            .map(|upstream| format!("--upstream {upstream}"));
        let is_original = |it: &Listener| it.destination == Destination::Original;
        let original = self.listeners.iter().any(is_original);
        let original = original.then(|| "--original-destination".to_owned());
        let proxies = self.proxy_protocol_from.iter();
        let proxies = proxies.map(|network| format!("--proxy-protocol-from {network}"));
        let size = |size: ByteSize| size.to_string();
        let duration = |duration| {
            // The words of one duration stand apart, which a shell would take for two values.
            humantime::format_duration(duration)
                .to_string()
                .replace(' ', "")
        };
        let admin = self
            .admin
            .map_or("off".to_owned(), |admin| admin.to_string());
        let max_connections = self.max_connections.map_or(0, usize::from);
        let PolicySpec { send, receive, .. } = &self.limits.spec;
        let values = [
            ("--protocol", cli::PROTOCOL.word(self.protocol).to_owned()),
            (
                "--on-unknown",
                cli::ON_UNKNOWN.word(self.on_unknown).to_owned(),
            ),
            ("--max-connections", max_connections.to_string()),
            (
                "--send-proxy-protocol",
                cli::SEND_PROXY_PROTOCOL
                    .word(self.send_proxy_protocol)
                    .to_owned(),
            ),
            ("--max-message-size", size(send.size)),
            ("--max-receive-size", size(receive.size)),
            (
                "--mqtt-vhost",
                cli::MQTT_VHOST.word(self.mqtt_vhost).to_owned(),
            ),
            ("--max-control-size", size(self.max_control_size)),
            ("--hold-memory", size(self.hold_memory)),
            (
                "--mqtt-size",
                cli::MQTT_SIZE.word(self.mqtt_size).to_owned(),
            ),
            (
                "--on-oversize",
                cli::ON_OVERSIZE.word(self.policy.on_oversize()).to_owned(),
            ),
            (
                "--presettled",
                cli::PRESETTLED.word(self.presettled).to_owned(),
            ),
            ("--handshake-timeout", duration(self.handshake_timeout)),
            ("--connect-timeout", duration(self.connect_timeout)),
            ("--linger", duration(self.linger)),
            ("--drain-timeout", duration(self.drain_timeout)),
            (
                "--tls-min-version",
                cli::TLS_MIN_VERSION.word(self.tls.min_version).to_owned(),
            ),
            (
                "--tls-reload-interval",
                duration(self.tls.reload_interval.unwrap_or_default()),
            ),
            ("--admin", admin),
            (
                "--log-level",
                cli::LOG_LEVEL.word(self.log.level).to_owned(),
            ),
            (
                "--log-format",
                cli::LOG_FORMAT.word(self.log.format).to_owned(),
            ),
            ("--threads", self.threads.to_string()),
        ];
        let dry_run = (self.policy.mode() == Mode::DryRun).then(|| "--dry-run".to_owned());
        let no_advertise =
            (self.advertise == Advertise::Nothing).then(|| "--no-advertise".to_owned());
        let tls = self.tls.typed.iter().map(|(flag, value)| match value {
            Some(value) => format!("{flag} {}", quoted(value)),
            None => (*flag).to_owned(),
        });
        let typed = self.limits.typed.iter();
        let typed = typed.map(|(flag, text)| format!("{flag} {}", quoted(text)));
        listen
            .chain(upstream)
            .chain(original)
            .chain(proxies)
            .chain(
                values
                    .into_iter()
                    .map(|(flag, value)| format!("{flag} {value}")),
            )
            .chain(dry_run)
            .chain(no_advertise)
            .chain(tls)
            .chain(typed)
            .collect()
    }
}

/// A word as a shell takes it for itself.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || ":/@._,=+%-".contains(c);
    if word.chars().all(is_plain) && !word.is_empty() {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
