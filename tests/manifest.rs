//! The manifest against what stands elsewhere: the oldest Rust that it names.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

const MANIFEST: &str = include_str!("../Cargo.toml");

/// What the manifest says, as text.
fn oldest_rust() -> &'static str {
    let line = MANIFEST
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "));
    line.unwrap().trim_matches('"')
}

#[test]
fn nothing_in_the_program_claims_to_need_a_newer_rust() {
    let ours = version(oldest_rust());
    let mut newer = Vec::new();
    let mut seen = 0;
    for package in packages_of_the_program() {
        seen += 1;
        if let Some(theirs) = package["rust_version"].as_str()
            && version(theirs) > ours
        {
            newer.push(format!("{} needs {theirs}", package["id"]));
        }
    }
    assert!(seen > 20, "only {seen} packages were found");
    assert!(newer.is_empty(), "{newer:#?}");
}

#[test]
fn the_image_and_the_readme_name_the_oldest_rust() {
    let named = format!("Rust {} and a C compiler", oldest_rust());
    for (file, text) in [
        ("Dockerfile", include_str!("../Dockerfile")),
        ("README.md", include_str!("../README.md")),
    ] {
        assert!(text.contains(&named), "{file} does not say `{named}`");
    }
}

/// What cargo knows of everything that takes part in building the program.
fn packages_of_the_program() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--offline", "--format-version", "1"])
        .args(["--manifest-path", "Cargo.toml"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata: {output:?}");
    let mut metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let nodes: BTreeMap<_, _> = list(&metadata["resolve"]["nodes"])
        .map(|node| (text(&node["id"]), &node["deps"]))
        .collect();
    let mut found = BTreeSet::new();
    let mut next = vec![text(&metadata["resolve"]["root"])];
    while let Some(id) = next.pop() {
        if found.insert(id) {
            let needed = list(nodes[id]).filter(|needed| {
                let mut kinds = list(&needed["dep_kinds"]);
                kinds.any(|kind| kind["kind"] != "dev")
            });
            next.extend(needed.map(|needed| text(&needed["pkg"])));
        }
    }
    let found: BTreeSet<_> = found.into_iter().map(str::to_owned).collect();
    let mut packages = metadata["packages"].take();
    let packages = packages.as_array_mut().unwrap();
    packages.retain(|package| found.contains(text(&package["id"])));
    std::mem::take(packages)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().unwrap().iter()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Numbers that compare as versions do; what is left out is 0.
fn version(text: &str) -> [u64; 3] {
    let mut numbers = text.split('.').map(|number| number.parse().unwrap());
    [(); 3].map(|()| numbers.next().unwrap_or(0))
}
