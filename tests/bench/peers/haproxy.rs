//! HAProxy in TCP mode.

use std::process::Command;

use super::{Place, debian, first_line, write};
use crate::Error;

/// What brings it.
pub(super) const REMEDY: &str = "apt-get install haproxy";

pub(super) fn program() -> Command {
    debian("haproxy")
}

pub(super) fn is_there() -> bool {
    first_line(program().arg("-v")).is_some()
}

/// How it is started. One thread, because two cost more for each message.
pub(super) fn command(splices: bool, place: &Place<'_>) -> Result<Command, Error> {
    let options = if splices {
        "    option splice-request\n    option splice-response\n"
    } else {
        ""
    };
    let tls = place.certificate.map_or(String::new(), |certificate| {
        format!(" ssl crt {}", certificate.both.display())
    });
    let (listen, upstream) = (place.listen, place.upstream);
    let text = format!(
        "global\n    nbthread 1\n    maxconn 6000\n\
         defaults\n    mode tcp\n    timeout connect 5s\n    timeout client 1h\n    timeout server 1h\n\
         {options}\
         listen relay\n    bind 127.0.0.1:{listen}{tls}\n    server broker 127.0.0.1:{upstream}\n"
    );
    let path = write(place, "haproxy.cfg", &text)?;
    let mut command = program();
    // In the foreground.
    command.arg("-db").arg("-f").arg(path);
    Ok(command)
}
