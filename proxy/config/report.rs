//! The configuration in effect, as `--check` prints it.

use super::Config;
use crate::cli;
use crate::policy::{ByteSize, Mode};

impl Config {
    /// Every setting as the flag that gives it, and the table of limits; without the last line
    /// feed.
    ///
    /// The flags can be copied into a command line and give this configuration again.
    pub fn report(&self) -> String {
        let mut lines = vec!["flags in effect:".to_owned()];
        lines.extend(self.flags().iter().map(|flag| format!("  {flag}")));
        lines.extend([String::new(), "limits:".to_owned()]);
        lines.push(row("direction", "size in octets", "set by"));
        for (direction, limit) in &self.limits {
            lines.push(match limit.size {
                ByteSize(0) => row(direction.as_str(), "no limit", "-"),
                size => row(direction.as_str(), &size.to_string(), &limit.rule),
            });
        }
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
            .map(|it| format!("--upstream {}", it.upstream));
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
        let [(_, send), _] = &self.limits;
        let values = [
            ("--protocol", cli::PROTOCOL.word(self.protocol).to_owned()),
            (
                "--on-unknown",
                cli::ON_UNKNOWN.word(self.on_unknown).to_owned(),
            ),
            ("--max-connections", max_connections.to_string()),
            ("--max-message-size", size(send.size)),
            ("--max-control-size", size(self.max_control_size)),
            (
                "--mqtt-size",
                cli::MQTT_SIZE.word(self.mqtt_size).to_owned(),
            ),
            (
                "--on-oversize",
                cli::ON_OVERSIZE.word(self.policy.on_oversize()).to_owned(),
            ),
            ("--handshake-timeout", duration(self.handshake_timeout)),
            ("--connect-timeout", duration(self.connect_timeout)),
            ("--linger", duration(self.linger)),
            ("--drain-timeout", duration(self.drain_timeout)),
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
        listen
            .chain(upstream)
            .chain(
                values
                    .into_iter()
                    .map(|(flag, value)| format!("{flag} {value}")),
            )
            .chain(dry_run)
            .collect()
    }
}

fn row(direction: &str, size: &str, rule: &str) -> String {
    format!("  {direction:<12}{size:<20}{rule}")
}
