//! Pods: their security, their ports and probes, and the time that they have to end.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::flags::{arguments, duration, values};
use super::manifest::{LABEL, PODS, containers, pod, read, sizegate};

#[test]
fn every_container_keeps_to_restricted_but_the_one_that_sets_the_rules() {
    for file in PODS {
        let (_, pod) = pod(file);
        for container in containers(&pod) {
            let against = unrestricted(&pod, container);
            let name = container["name"].as_str().unwrap();
            if (file, name) == ("mosquitto-redirect.yaml", "redirect") {
                assert_eq!(
                    against,
                    ["runAsNonRoot", "runAsUser", "NET_ADMIN"],
                    "{file}"
                );
            } else {
                assert_eq!(against, Vec::<String>::new(), "{file}: {name}");
            }
        }
    }
}

#[test]
fn what_restricted_refuses_is_found_in_a_container() {
    let (_, mut pod) = pod(PODS[0]);
    let good = sizegate(&pod).clone();
    for (field, value, found) in [
        ("runAsUser", json!(0), "runAsUser"),
        (
            "allowPrivilegeEscalation",
            json!(true),
            "allowPrivilegeEscalation",
        ),
        ("privileged", json!(true), "privileged"),
        (
            "seccompProfile",
            json!({"type": "Unconfined"}),
            "seccompProfile",
        ),
        ("capabilities", json!({"drop": ["KILL"]}), "capabilities"),
        (
            "capabilities",
            json!({"drop": ["ALL"], "add": ["SYS_TIME"]}),
            "SYS_TIME",
        ),
    ] {
        let mut container = good.clone();
        container["securityContext"][field] = value;
        assert_eq!(unrestricted(&pod, &container), [found]);
    }
    pod["hostNetwork"] = json!(true);
    assert_eq!(unrestricted(&pod, &good), ["hostNetwork"]);
}

#[test]
fn every_sizegate_is_the_user_of_the_image_and_writes_nothing() {
    let dockerfile = concat!(env!("CARGO_MANIFEST_DIR"), "/Dockerfile");
    let dockerfile = fs::read_to_string(dockerfile).unwrap();
    let user = dockerfile
        .lines()
        .find_map(|line| line.strip_prefix("USER "));
    for file in PODS {
        let (_, pod) = pod(file);
        let container = sizegate(&pod);
        let security = &container["securityContext"];
        let its = format!("{}:{}", security["runAsUser"], security["runAsGroup"]);
        assert_eq!(Some(its.as_str()), user, "{file}");
        assert_eq!(security["readOnlyRootFilesystem"], true, "{file}");
        let image = container["image"].as_str().unwrap();
        let tag = concat!("sizegate:", env!("CARGO_PKG_VERSION"));
        assert!(image.ends_with(tag), "{file}: {image}");
        // Nobody else is that user: the redirect would take him for sizegate.
        let others = containers(&pod);
        let same = others
            .iter()
            .filter(|other| other["securityContext"]["runAsUser"] == security["runAsUser"]);
        assert_eq!(same.count(), 1, "{file}");
        let memory = &container["resources"]["limits"]["memory"];
        assert!(memory.is_string(), "{file} has no limit of memory");
    }
}

#[test]
fn every_sizegate_listens_where_its_pod_and_its_service_say() {
    for file in PODS {
        let (metadata, pod) = pod(file);
        let arguments = arguments(sizegate(&pod));
        let port = |address: &str| address.rsplit_once(':').unwrap().1.parse::<u64>().unwrap();
        let clients: BTreeSet<u64> = values(&arguments, "--listen")
            .into_iter()
            .map(port)
            .collect();
        let admin = port(values(&arguments, "--admin")[0]);
        for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
            let asked = &sizegate(&pod)[probe]["httpGet"];
            let path = if probe == "livenessProbe" {
                "/livez"
            } else {
                "/readyz"
            };
            assert_eq!(
                *asked,
                json!({"path": path, "port": admin}),
                "{file}: {probe}"
            );
        }
        let annotations = &metadata["annotations"];
        assert_eq!(annotations["prometheus.io/scrape"], "true", "{file}");
        assert_eq!(
            annotations["prometheus.io/port"],
            admin.to_string(),
            "{file}"
        );
        assert_eq!(annotations["prometheus.io/path"], "/metrics", "{file}");

        let redirected = file == "mosquitto-redirect.yaml";
        let declared = ports(&sizegate(&pod)["ports"], "containerPort");
        let mut expected = if redirected {
            BTreeSet::new()
        } else {
            clients.clone()
        };
        expected.insert(admin);
        assert_eq!(declared, expected, "{file}");
        for (service, _) in read(file, &[]) {
            if service["kind"] == "Service" {
                let reached = ports(&service["spec"]["ports"], "targetPort");
                assert_eq!(reached == clients, !redirected, "{file}");
                assert_eq!(
                    service["spec"]["selector"][LABEL],
                    metadata["labels"][LABEL]
                );
            }
        }
    }
}

#[test]
fn every_pod_has_more_time_to_end_than_sizegate_and_the_broker_take() {
    for file in PODS {
        let (_, pod) = pod(file);
        let arguments = arguments(sizegate(&pod));
        let drain = duration(&arguments, "--drain-timeout") + duration(&arguments, "--linger");
        let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
        let grace = Duration::from_secs(grace);
        let together = pod["initContainers"].is_null();
        let before_the_broker = if together {
            // They are told to stop at the same time: the broker waits until sizegate has.
            let [broker] = &containers(&pod)[1..] else {
                panic!("{file}: who is the broker?")
            };
            let wait = &broker["lifecycle"]["preStop"]["exec"]["command"];
            assert_eq!(wait[0], "sleep", "{file}");
            let wait = wait[1].as_str().unwrap().parse().unwrap();
            let wait = Duration::from_secs(wait);
            assert!(wait > drain, "{file}: {wait:?} for {drain:?}");
            wait
        } else {
            assert_eq!(sizegate(&pod)["restartPolicy"], "Always", "{file}");
            drain
        };
        let needed = before_the_broker + LEAST_FOR_A_BROKER;
        assert!(grace > needed, "{file}: {grace:?} for {needed:?}");
    }
}

/// For a broker that writes down what it holds.
const LEAST_FOR_A_BROKER: Duration = Duration::from_secs(10);

/// The numbers of ports in a list.
fn ports(list: &Value, field: &str) -> BTreeSet<u64> {
    let list = list.as_array().unwrap();
    list.iter()
        .map(|port| port[field].as_u64().unwrap())
        .collect()
}

/// What the pod security standard `restricted` has against a container.
fn unrestricted(pod: &Value, container: &Value) -> Vec<String> {
    let of_pod = &pod["securityContext"];
    let own = &container["securityContext"];
    // What the container does not say, the pod says.
    let says = |field: &str| match &own[field] {
        Value::Null => of_pod[field].clone(),
        own => own.clone(),
    };
    let mut against = Vec::new();
    for field in ["hostNetwork", "hostPID", "hostIPC"] {
        if pod[field] == true {
            against.push(field);
        }
    }
    let volumes = pod["volumes"].as_array().into_iter().flatten();
    if volumes
        .into_iter()
        .any(|volume| !volume["hostPath"].is_null())
    {
        against.push("hostPath");
    }
    if own["privileged"] == true {
        against.push("privileged");
    }
    if own["allowPrivilegeEscalation"] != false {
        against.push("allowPrivilegeEscalation");
    }
    if says("runAsNonRoot") != true {
        against.push("runAsNonRoot");
    }
    if says("runAsUser") == 0 {
        against.push("runAsUser");
    }
    if says("seccompProfile")["type"] != "RuntimeDefault" {
        against.push("seccompProfile");
    }
    let capabilities = &own["capabilities"];
    if capabilities["drop"] != json!(["ALL"]) {
        against.push("capabilities");
    }
    let added = capabilities["add"].as_array().into_iter().flatten();
    against.extend(
        added
            .filter_map(Value::as_str)
            .filter(|it| *it != "NET_BIND_SERVICE"),
    );
    against.into_iter().map(str::to_owned).collect()
}
