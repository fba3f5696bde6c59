//! Reading manifests, and what Kubernetes itself has against them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::support::python;

/// What runs a broker behind sizegate, with a pod in it.
pub(super) const PODS: [&str; 5] = [
    "mosquitto-classic-sidecar.yaml",
    "mosquitto-redirect.yaml",
    "mosquitto-sidecar.yaml",
    "mosquitto-tls.yaml",
    "rabbitmq-sidecar.yaml",
];

/// What belongs to others' kinds, of which Kubernetes has no schema.
const OTHERS: [(&str, &str, &str); 2] = [
    ("certificate.yaml", "cert-manager.io/v1", "Certificate"),
    ("podmonitor.yaml", "monitoring.coreos.com/v1", "PodMonitor"),
];

/// The first version that has native sidecars without being asked to, and the latest there is.
const VERSIONS: [&str; 2] = ["1.29", "1.37"];

#[test]
fn every_manifest_keeps_to_the_schemas_of_kubernetes() {
    for file in PODS {
        for (document, problems) in read(file, &VERSIONS) {
            assert_eq!(problems, Vec::<String>::new(), "{file}: {document}");
        }
    }
}

#[test]
fn what_kubernetes_does_not_know_is_found_in_a_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let good = fs::read_to_string(deploy(PODS[0])).unwrap();
    for (from, to) in [
        (
            "readOnlyRootFilesystem: true",
            "readOnlyRootFileSystem: true",
        ),
        ("containerPort: 9090", "containerPort: admin"),
        ("kind: StatefulSet", "kind: StatefullSet"),
    ] {
        let file = folder.path().join("bad.yaml");
        fs::write(&file, good.replace(from, to)).unwrap();
        let problems = read(file.to_str().unwrap(), &VERSIONS);
        let found = problems.iter().any(|(_, problems)| !problems.is_empty());
        assert!(found, "{to} is none of its problems");
    }
}

#[test]
fn every_file_is_a_pod_or_belongs_to_somebody_known() {
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(deploy("")).unwrap() {
        files.insert(entry.unwrap().file_name().into_string().unwrap());
    }
    let readme = fs::read_to_string(deploy("README.md")).unwrap();
    for file in &files {
        let told = file == "README.md" || readme.contains(&format!("\n| `{file}` | "));
        assert!(told, "README.md does not tell what {file} is");
    }
    let others = OTHERS.map(|(file, ..)| file);
    let rest = ["README.md", "alerts.yaml", "dashboard.json"];
    let known = PODS.iter().chain(&others).chain(&rest);
    assert_eq!(files, known.map(|&file| file.to_owned()).collect());
}

#[test]
fn what_is_for_others_is_of_their_kind_and_about_these_pods() {
    for (file, version, kind) in OTHERS {
        let documents = read(file, &[]);
        let [(document, _)] = documents.as_slice() else {
            panic!("{file} has not one document");
        };
        assert_eq!(document["apiVersion"], version, "{file}");
        assert_eq!(document["kind"], kind, "{file}");
    }
    let certificate = &read("certificate.yaml", &[])[0].0;
    let (_, pod) = pod("mosquitto-tls.yaml");
    let volumes = pod["volumes"].as_array().unwrap();
    let secret = volumes.iter().find(|volume| volume["name"] == "tls");
    assert_eq!(
        certificate["spec"]["secretName"],
        secret.unwrap()["secret"]["secretName"]
    );
    let monitor = &read("podmonitor.yaml", &[])[0].0["spec"];
    let chosen = &monitor["selector"]["matchExpressions"][0];
    assert_eq!(chosen["key"], LABEL);
    for file in PODS {
        let (metadata, pod) = super::manifest::pod(file);
        let chosen = chosen["values"].as_array().unwrap();
        assert!(chosen.contains(&metadata["labels"][LABEL]), "{file}");
        let ports = sizegate(&pod)["ports"].as_array().unwrap().clone();
        let scraped = &monitor["podMetricsEndpoints"][0]["port"];
        assert!(ports.iter().any(|port| port["name"] == *scraped), "{file}");
    }
}

/// A file of `proxy/deploy`.
pub(super) fn deploy(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("proxy/deploy")
        .join(file)
}

/// The documents of a file, each with the problems that it has in these versions of Kubernetes.
pub(super) fn read(file: &str, versions: &[&str]) -> Vec<(Value, Vec<String>)> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/manifests.py");
    let output = Command::new(python())
        .arg(script)
        .args(versions.iter().flat_map(|version| ["--for", version]))
        .arg(deploy(file))
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{file}: {errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    let documents: Vec<_> = text.lines().map(document).collect();
    assert!(!documents.is_empty(), "{file} is empty");
    documents
}

fn document(line: &str) -> (Value, Vec<String>) {
    let mut line: Value = serde_json::from_str(line).unwrap();
    let problems = serde_json::from_value(line["problems"].take()).unwrap();
    (line["document"].take(), problems)
}

/// Metadata and specification of the one pod in a file.
pub(super) fn pod(file: &str) -> (Value, Value) {
    let template = |(mut document, _): (Value, _)| document["spec"]["template"].take();
    let mut pods: Vec<_> = read(file, &[])
        .into_iter()
        .filter(|(document, _)| document["kind"] == "StatefulSet")
        .map(template)
        .collect();
    assert_eq!(pods.len(), 1, "{file} has not one pod");
    let mut pod = pods.remove(0);
    (pod["metadata"].take(), pod["spec"].take())
}

/// All containers of a pod, in the order in which they start.
pub(super) fn containers(pod: &Value) -> Vec<&Value> {
    ["initContainers", "containers"]
        .iter()
        .filter_map(|list| pod[list].as_array())
        .flatten()
        .collect()
}

/// The container of a pod that is called so.
pub(super) fn sizegate(pod: &Value) -> &Value {
    let mut containers = containers(pod).into_iter();
    containers
        .find(|container| container["name"] == "sizegate")
        .expect("a sizegate in the pod")
}

/// How pods are told apart.
pub(super) const LABEL: &str = "app.kubernetes.io/name";
