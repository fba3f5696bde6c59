//! nginx with its stream module.

use std::path::Path;
use std::process::Command;

use super::{Place, debian, first_line, write};
use crate::Error;

/// What brings it.
pub(super) const REMEDY: &str = "apt-get install nginx libnginx-mod-stream";

/// Where Debian puts the module.
const MODULE: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";

pub(super) fn program() -> Command {
    debian("nginx")
}

pub(super) fn is_there() -> bool {
    Path::new(MODULE).exists() && first_line(program().arg("-v")).is_some()
}

/// How it is started: a master and one worker.
pub(super) fn command(place: &Place<'_>) -> Result<Command, Error> {
    let (ssl, tls) = match place.certificate {
        Some(certificate) => (
            " ssl",
            format!(
                "ssl_certificate {};\n ssl_certificate_key {};\n ssl_protocols TLSv1.3;\n",
                certificate.chain.display(),
                certificate.key.display()
            ),
        ),
        None => ("", String::new()),
    };
    let folder = place.folder.display();
    let (listen, upstream) = (place.listen, place.upstream);
    let text = format!(
        "load_module {MODULE};\ndaemon off;\nworker_processes 1;\n\
         error_log stderr warn;\npid {folder}/nginx.pid;\n\
         events {{ worker_connections 12000; }}\n\
         stream {{\n {tls} proxy_timeout 1h;\n\
         server {{ listen 127.0.0.1:{listen}{ssl}; proxy_pass 127.0.0.1:{upstream}; }}\n}}\n"
    );
    let path = write(place, "nginx.conf", &text)?;
    let mut command = program();
    command.arg("-e").arg("stderr").arg("-c").arg(path);
    Ok(command)
}
