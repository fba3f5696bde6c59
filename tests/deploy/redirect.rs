//! The rules of the redirect: iptables takes them, and they let sizegate through to the broker.

use std::fs;
use std::process::Command;

use super::flags::{arguments, values};
use super::manifest::{pod, read, sizegate};

#[test]
fn the_rules_of_the_redirect_are_about_the_ports_and_the_user_of_their_pod() {
    let (_, pod) = pod(FILE);
    let listen = arguments(sizegate(&pod));
    let (_, listen) = values(&listen, "--listen")[0].rsplit_once(':').unwrap();
    let user = &sizegate(&pod)["securityContext"]["runAsUser"];
    let to = format!("-p tcp --dport 1883 -j REDIRECT --to-ports {listen}");
    let others = format!("-m owner ! --uid-owner {user} ");
    let rules = rules();
    let rules: Vec<_> = rules
        .lines()
        .filter(|line| line.starts_with("-A"))
        .collect();
    assert_eq!(
        rules,
        [
            format!("-A PREROUTING {to}"),
            format!(
                "-A OUTPUT -o lo {}",
                to.replace("-j", &format!("{others}-j"))
            ),
        ]
    );
}

#[test]
fn iptables_takes_the_rules_of_the_redirect() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.v4");
    fs::write(&file, rules()).unwrap();
    let (_, pod) = pod(FILE);
    let container = &pod["initContainers"][0];
    let command: Vec<String> = serde_json::from_value(container["command"].clone()).unwrap();
    let [program, noflush, rules] = command.as_slice() else {
        panic!("{command:?}")
    };
    let mount = &container["volumeMounts"][0];
    assert_eq!(
        *rules,
        format!("{}/rules.v4", mount["mountPath"].as_str().unwrap())
    );
    // In a network of its own, which ends with it.
    let script = format!("{program} {noflush} \"$0\" && iptables-nft -t nat -S");
    let output = Command::new("unshare")
        .args(["--net", "sh", "-c", &script])
        .arg(&file)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8_lossy(&output.stdout);
    let redirects = text.lines().filter(|line| line.contains("-j REDIRECT"));
    assert_eq!(redirects.count(), 2, "{text}");
}

const FILE: &str = "mosquitto-redirect.yaml";

/// The rules of the pod's configuration.
fn rules() -> String {
    let documents = read(FILE, &[]);
    let mut documents = documents.iter().map(|(document, _)| document);
    let map = documents.find(|document| document["kind"] == "ConfigMap");
    map.unwrap()["data"]["rules.v4"]
        .as_str()
        .unwrap()
        .to_owned()
}
