//! Command line words to flags and their values.
//!
//! argh takes `--flag value` only and says little when it is not pleased, so the words are taken
//! apart here: `--flag=value` is split, `--` ends the flags, and whatever is no flag, lacks its
//! value or has one too many is refused in one line. What comes out is what argh understands.

use std::ffi::{OsStr, OsString};

use super::Stop;
use super::flags::{Flag, HELP};

/// A flag as it was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Typed {
    /// Its name with the dashes.
    pub(super) flag: &'static str,
    /// Its value; none for a switch.
    pub(super) value: Option<String>,
}

/// Takes the words behind the program's name apart.
pub(super) fn split(
    words: impl Iterator<Item = OsString>,
    flags: &[Flag],
) -> Result<Vec<Typed>, Stop> {
    let mut words = words.peekable();
    let mut typed: Vec<Typed> = Vec::new();
    while let Some(word) = words.next() {
        let Some(word) = word.to_str() else {
            return Err(Stop::usage(format!("{word:?}: expected UTF-8")));
        };
        if word == "--" {
            return words.next().map_or(Ok(typed), |word| Err(no_flag(&word)));
        }
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word, None),
        };
        if !name.starts_with('-') {
            return Err(no_flag(word.as_ref()));
        }
        let Some(flag) = find(flags, name) else {
            return Err(Stop::usage(format!(
                "unknown flag {name:?}: sizegate --help lists those that exist"
            )));
        };
        let value = match (flag.value, joined) {
            (None, None) => None,
            (None, Some(value)) => {
                return Err(Stop::usage(format!(
                    "{name} {value:?}: expected no value, as in {name}"
                )));
            }
            (Some(_), Some(value)) => Some(value),
            (Some(kind), None) => Some(value_of(
                flag,
                kind,
                words.next_if(|word| !is_flag(flags, word)),
            )?),
        };
        if let Some(value) = &value
            && !flag.repeats
            && let Some(before) = typed.iter().find(|typed| typed.flag == flag.name)
        {
            return Err(Stop::usage(format!(
                "{name} {value:?}: expected once, and {:?} came before it",
                before.value.as_deref().unwrap_or_default(),
            )));
        }
        typed.push(Typed {
            flag: flag.name,
            value,
        });
    }
    Ok(typed)
}

/// The word that follows a flag, if it may be its value.
fn value_of(flag: &Flag, kind: &str, word: Option<OsString>) -> Result<String, Stop> {
    let Some(word) = word else {
        let name = flag.name;
        return Err(Stop::usage(format!(
            "{name} has no value: expected {name} {kind}"
        )));
    };
    word.into_string()
        .map_err(|word| Stop::usage(format!("{} {word:?}: expected UTF-8", flag.name)))
}

fn find<'a>(flags: &'a [Flag], name: &str) -> Option<&'a Flag> {
    let name = if name == "-h" { HELP } else { name };
    flags.iter().find(|flag| flag.name == name)
}

/// Says whether a word is one of our flags, and so not the value of the one before it.
fn is_flag(flags: &[Flag], word: &OsStr) -> bool {
    let name = word.to_str().and_then(|word| word.split('=').next());
    name.is_some_and(|name| find(flags, name).is_some())
}

fn no_flag(word: &OsStr) -> Stop {
    Stop::usage(format!(
        "unexpected argument {word:?}: expected flags only, such as --listen 127.0.0.1:1884"
    ))
}
