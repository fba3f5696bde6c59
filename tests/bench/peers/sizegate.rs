//! sizegate itself, with limits in both directions so that it judges everything.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Place;
use crate::Error;

/// How a build of it is started.
pub(super) fn command(program: &Path, place: &Place<'_>) -> Command {
    let mut command = Command::new(program);
    let local = |port| format!("127.0.0.1:{port}");
    command
        .args(["--listen", &local(place.listen)])
        .args(["--upstream", &local(place.upstream)])
        .args(["--max-message-size", LIMIT, "--max-receive-size", LIMIT])
        .args(["--admin", "off", "--log-level", "warn"])
        .args(place.scenario.flags);
    if let Some(certificate) = place.certificate {
        command.arg("--tls-cert").arg(&certificate.chain);
        command.arg("--tls-key").arg(&certificate.key);
    }
    command
}

/// Builds it for release, where this program was itself started by cargo, and says where it is.
pub(crate) fn build() -> Result<PathBuf, Error> {
    if let Some(cargo) = std::env::var_os("CARGO") {
        let status = Command::new(cargo)
            .args(BUILD)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .map_err(Error::io("cargo"))?;
        if !status.success() {
            let program = format!("cargo {}", BUILD.join(" "));
            return Err(Error::Program { program, status });
        }
    }
    place()
}

/// Where cargo puts it. This program stands in `debug` or `release`, and sizegate in the latter.
pub(crate) fn place() -> Result<PathBuf, Error> {
    let own = std::env::current_exe().map_err(Error::io("finding this program"))?;
    let folder = own.parent().and_then(Path::parent);
    Ok(folder.unwrap_or(Path::new(".")).join("release/sizegate"))
}

const BUILD: [&str; 4] = ["build", "--release", "--locked", "--bin=sizegate"];

/// More than any message of a scenario.
const LIMIT: &str = "2Mi";
