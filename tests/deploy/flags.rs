//! The command lines of manifests: the program itself is asked whether it takes them.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::generate::{Authority, Valid};
use super::manifest::{deploy, pod, sizegate};
use super::support::network::BROKER;

#[test]
fn the_native_sidecar_of_mosquitto_starts() {
    expect_check("mosquitto-sidecar.yaml");
}

#[test]
fn the_classic_sidecar_of_mosquitto_starts() {
    expect_check("mosquitto-classic-sidecar.yaml");
}

#[test]
fn the_sidecar_of_rabbitmq_starts() {
    expect_check("rabbitmq-sidecar.yaml");
}

#[test]
fn the_sidecar_with_tls_starts() {
    expect_check("mosquitto-tls.yaml");
}

#[test]
fn the_sidecar_of_the_redirect_starts() {
    expect_check("mosquitto-redirect.yaml");
}

#[test]
fn the_five_lines_of_the_readme_start_it() {
    let readme = fs::read_to_string(deploy("README.md")).unwrap();
    let (_, block) = readme.split_once("```yaml\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    assert_eq!(block.lines().count(), 5, "{block}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("readme.yaml");
    fs::write(&file, block).unwrap();
    let (pod, _) = super::manifest::read(file.to_str().unwrap(), &[]).remove(0);
    assert_eq!(sizegate(&pod)["restartPolicy"], "Always");
    let checked = check(&arguments(sizegate(&pod)));
    assert!(
        checked.contains("  --max-message-size 1048576\n"),
        "{checked}"
    );
}

#[test]
fn every_example_in_a_comment_is_taken_too() {
    let good = ["--listen=0.0.0.0:1883", "--upstream=127.0.0.1:1884"].map(str::to_owned);
    for file in super::manifest::PODS {
        let text = fs::read_to_string(deploy(file)).unwrap();
        let comments = text.lines().filter_map(|line| line.split_once("# "));
        let words = comments.flat_map(|(_, comment)| comment.split_whitespace());
        let flags = words.map(|word| word.trim_end_matches(['.', ',', ':', ';']));
        let examples: Vec<_> = flags
            .filter(|word| word.starts_with("--") && (word.contains('=') || *word == "--dry-run"))
            // Of kubectl, and of another listener.
            .filter(|word| !word.starts_with("--from-file") && !word.starts_with("--listen"))
            .collect();
        for example in examples {
            check(&[good.as_slice(), &[example.to_owned()]].concat());
        }
    }
}

/// Runs the sizegate of a manifest as far as `--check` goes.
fn expect_check(file: &str) {
    let (_, pod) = pod(file);
    let (arguments, _secrets) = with_secrets(&pod);
    check(&arguments);
}

/// What `--check` says of a command line that is right.
fn check(arguments: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_sizegate"))
        .arg("--check")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The arguments of a container.
pub(super) fn arguments(container: &Value) -> Vec<String> {
    let arguments = container["args"].as_array().unwrap();
    arguments
        .iter()
        .map(|argument| argument.as_str().unwrap().to_owned())
        .collect()
}

/// The values that a flag has on a command line.
pub(super) fn values<'a>(arguments: &'a [String], flag: &str) -> Vec<&'a str> {
    let values = arguments
        .iter()
        .filter_map(|argument| argument.split_once('='));
    values
        .filter(|(name, _)| *name == flag)
        .map(|(_, value)| value)
        .collect()
}

/// How long a flag says that something may last, be it by its default.
pub(super) fn duration(arguments: &[String], flag: &str) -> Duration {
    let flags = sizegate::cli::flags();
    let default = flags.iter().find(|known| known.name == flag).unwrap();
    let given = values(arguments, flag).first().copied();
    humantime::parse_duration(given.or(default.default).unwrap()).unwrap()
}

/// The arguments of the sizegate of a pod, with its secrets in folders of this machine.
pub(super) fn with_secrets(pod: &Value) -> (Vec<String>, Vec<TempDir>) {
    let container = sizegate(pod);
    let secret = |name: &Value| {
        let mut volumes = pod["volumes"].as_array().into_iter().flatten();
        volumes.any(|volume| volume["name"] == *name && volume["secret"].is_object())
    };
    let mounts = container["volumeMounts"].as_array().into_iter().flatten();
    let folders: BTreeMap<String, TempDir> = mounts
        .filter(|mount| secret(&mount["name"]))
        .map(|mount| {
            let place = format!("{}/", mount["mountPath"].as_str().unwrap());
            (place, certificates())
        })
        .collect();
    let moved = arguments(container).into_iter().map(|argument| {
        let (flag, value) = argument.split_once('=').unwrap_or((&argument, ""));
        for (place, folder) in &folders {
            if let Some(file) = value.strip_prefix(place.as_str()) {
                return format!("{flag}={}", folder.path().join(file).display());
            }
        }
        argument
    });
    (moved.collect(), folders.into_values().collect())
}

/// A folder with what a secret of the type `kubernetes.io/tls` has, `ca.crt`, and beside it a
/// certificate for a client.
fn certificates() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let authority = Authority::new("authority").unwrap();
    fs::write(place.join("ca.crt"), authority.own().cert).unwrap();
    let names = ["mosquitto", &BROKER.to_string()];
    let server = authority.server(&names, Valid::Now).unwrap();
    server.write(place, "tls").unwrap();
    let client = authority.client("CN=camera-1", Valid::Now).unwrap();
    client.write(place, "client").unwrap();
    // A group may read the secret, and here everybody is in it.
    fs::set_permissions(place, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(place.join("tls.key"), Permissions::from_mode(0o644)).unwrap();
    folder
}
