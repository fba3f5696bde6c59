//! The tree as a test: where files may stand, how long they may be, what they are not called.

#![allow(
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

#[path = "support/source.rs"]
mod source;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use source::{root, rust_files};

#[test]
fn everything_stands_where_the_map_says() {
    let map: [(&str, &[&str]); 4] = [
        (
            "",
            &[
                "Cargo.toml",
                "Cargo.lock",
                "proxy",
                "parsers",
                "certs",
                "tests",
                "Dockerfile",
                "README.md",
                "LICENSE",
                "CHANGELOG.md",
                "target",
            ],
        ),
        (
            "proxy",
            &[
                "main.rs",
                "lib.rs",
                "run.rs",
                "cli",
                "config",
                "listen",
                "upstream",
                "relay",
                "gate",
                "policy",
                "protocols",
                "admin",
                "telemetry",
                "transport",
                "lifecycle",
                "deploy",
            ],
        ),
        ("proxy/protocols", &["mod.rs", "amqp10", "amqp091", "mqtt"]),
        (
            "parsers",
            &[
                "Cargo.toml",
                "lib.rs",
                "amqp10",
                "amqp091",
                "mqtt",
                "proxy_protocol",
                "testdata",
                "fuzz",
            ],
        ),
    ];
    for (folder, allowed) in map {
        let allowed: BTreeSet<_> = allowed.iter().copied().collect();
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let known = name.starts_with('.') || allowed.contains(name.as_str());
            assert!(known, "{folder}/{name} is not on the map");
        }
    }
}

#[test]
fn no_file_is_long_without_a_reason() {
    let mut long = Vec::new();
    for file in own_files() {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().count();
        let mut head = text.lines().take(20);
        if lines > 400 && !head.any(|line| line.starts_with(LONG_BECAUSE)) {
            long.push(format!("{}: {lines} lines", file.display()));
        }
    }
    assert!(long.is_empty(), "no `{LONG_BECAUSE}` in {long:#?}");
    let main = fs::read_to_string(root().join("proxy/main.rs")).unwrap();
    assert!(
        main.lines().count() < 60,
        "main does more than parse, run and exit"
    );
}

#[test]
fn no_folder_is_a_place_for_anything() {
    for file in own_files() {
        for folder in ["common", "util", "utils", "helpers", "helper", "misc"] {
            let found = file.iter().any(|part| part == folder)
                || file.file_stem().is_some_and(|stem| stem == folder);
            assert!(!found, "{} has a name that says nothing", file.display());
        }
    }
}

#[test]
fn nothing_is_unsafe() {
    for file in own_files() {
        let code = source::code(&fs::read_to_string(&file).unwrap());
        assert!(
            !source::has_word(&code, "unsafe"),
            "{} is unsafe",
            file.display()
        );
    }
}

#[test]
fn a_release_stops_at_a_wrong_sum_and_a_panic_ends_no_more_than_its_task() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, release) = manifest.split_once("\n[profile.release]\n").unwrap();
    let release = release.split("\n[").next().unwrap();
    let mut lines = release.lines();
    assert!(lines.any(|line| line == "overflow-checks = true"));
    // What Cargo is told elsewhere would win over the manifest.
    for file in [
        "Cargo.toml",
        ".cargo/config.toml",
        "Dockerfile",
        "tests/run",
    ] {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let told = text.lines().map(str::to_ascii_lowercase).find(|line| {
            let is_told = ["panic", "overflow"].iter().any(|word| line.contains(word));
            is_told && line != "overflow-checks = true"
        });
        assert_eq!(told, None, "{file}");
    }
}

/// Every Rust file of the project.
fn own_files() -> Vec<PathBuf> {
    let folders = ["proxy", "parsers", "certs", "tests"].map(|folder| root().join(folder));
    let existing = folders.iter().filter(|folder| folder.exists());
    existing.flat_map(|folder| rust_files(folder)).collect()
}

/// How a file that is longer than 400 lines begins the sentence that says why.
const LONG_BECAUSE: &str = "//! Longer than 400 lines because";
