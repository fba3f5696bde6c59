//! Every fuzz entry, on what is in its corpus, on what it once failed on, and on some more.
//!
//! The fuzzers themselves are run by `tests/fuzzing`; this keeps their entries compiling, and what
//! was found stays found.

#![allow(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that meets what it did not expect has to fail"
)]

#[allow(
    unreachable_pub,
    reason = "the entries are a crate's own interface where they are fuzzed"
)]
#[path = "../parsers/fuzz/entries/mod.rs"]
mod entries;

use std::fs;
use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use entries::{ENTRIES, Entry};

/// The files of a folder of a target; none where there is no such folder.
fn files(folder: &str, target: &str) -> Vec<PathBuf> {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("parsers/fuzz");
    let Ok(entries) = fs::read_dir(fuzz.join(folder).join(target)) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let files = files("corpus", target);
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn every_target_runs_its_entry_and_has_a_small_corpus() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("parsers/fuzz");
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    assert_eq!(manifest.matches("[[bin]]").count(), ENTRIES.len());
    let mut octets = 0;
    for (target, _) in ENTRIES {
        let path = format!("fuzz_targets/{target}.rs");
        assert!(manifest.contains(&format!("path = \"{path}\"")), "{target}");
        let text = fs::read_to_string(fuzz.join(path)).unwrap();
        assert!(
            text.contains(&format!("entries::{target}(octets)")),
            "{target}"
        );
        let corpus = corpus(target);
        assert!(
            (1..=40).contains(&corpus.len()),
            "{target}: {}",
            corpus.len()
        );
        octets += corpus.iter().map(Vec::len).sum::<usize>();
    }
    assert!(octets <= 200 << 10, "{octets} octets");
}

#[test]
fn what_was_found_once_is_not_found_again() {
    let mut count = 0;
    for (target, run) in ENTRIES {
        for folder in ["corpus", "crashes"] {
            for file in files(folder, target) {
                // Said only if the next line fails.
                println!("{}", file.display());
                run(&fs::read(&file).unwrap());
                count += 1;
            }
        }
    }
    assert!(count > ENTRIES.len());
}

/// An entry, and octets: of its corpus with some damage, or any.
fn inputs() -> impl Strategy<Value = (Entry, Vec<u8>)> {
    let corpora = ENTRIES.map(|entry| (entry, corpus(entry.0)));
    let change = (any::<Index>(), any::<u8>(), 0..4_u8);
    let made = (
        any::<Index>(),
        any::<Index>(),
        vec(change, 0..6),
        vec(any::<u8>(), 0..80),
    );
    made.prop_map(move |(which, seed, changes, octets)| {
        let (entry, corpus) = which.get(&corpora);
        if changes.is_empty() {
            return (*entry, octets);
        }
        let mut input = seed.get(corpus).clone();
        for (at, octet, what) in changes {
            let at = at.index(input.len() + 1);
            match what {
                0 => input.insert(at, octet),
                1 => input.truncate(at),
                _ if at < input.len() => {
                    input.splice(at..=at, [octet]);
                }
                _ => input.extend_from_slice(&octets),
            }
        }
        (*entry, input)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn the_laws_hold_for_any_octets(((_, run), octets) in inputs()) {
        run(&octets);
    }
}
