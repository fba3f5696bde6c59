//! The list of flags, read from the definition of [`Args`], and the help text made from it.
//!
//! A help line has a fixed form, `topic: meaning [default: value]`, so that every text that speaks
//! of flags can be made from it or held against it.

use argh::{ArgsInfo, FlagInfo, FlagInfoKind, Optionality};

use super::Args;

/// A flag as its definition describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name with the dashes.
    pub name: &'static str,
    /// What its value looks like; none for a switch.
    pub value: Option<&'static str>,
    /// The heading it belongs under.
    pub topic: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Its default as one would type it; none for a switch and a flag that is required.
    pub default: Option<&'static str>,
    /// Whether it may be given more than once.
    pub repeats: bool,
}

impl Flag {
    fn new(info: &FlagInfo<'static>) -> Self {
        let (topic, text) = info
            .description
            .split_once(": ")
            .unwrap_or(("operation", info.description));
        let default = text
            .strip_suffix(']')
            .and_then(|text| text.split_once(" [default: "));
        Self {
            name: info.long,
            value: match info.kind {
                FlagInfoKind::Switch => None,
                FlagInfoKind::Option { arg_name } => Some(arg_name),
            },
            topic,
            meaning: default.map_or(text, |(meaning, _)| meaning),
            default: default.map(|(_, default)| default),
            repeats: info.optionality == Optionality::Repeating,
        }
    }
}

/// The flag that asks for the help text; argh defines it.
pub(super) const HELP: &str = "--help";

/// Every flag, in the order of the help text.
pub fn flags() -> Vec<Flag> {
    let info = Args::get_args_info();
    let (help, mut flags): (Vec<_>, Vec<_>) = info
        .flags
        .iter()
        .map(Flag::new)
        .partition(|flag| flag.name == HELP);
    flags.extend(help);
    flags
}

/// The help text, without the last line feed.
pub(super) fn help() -> String {
    let mut text = vec![
        USAGE.to_owned(),
        String::new(),
        Args::get_args_info().description.to_owned(),
    ];
    let mut topic = "";
    for flag in flags() {
        if flag.topic != topic {
            topic = flag.topic;
            text.extend([String::new(), format!("{topic}:")]);
        }
        text.push(match flag.value {
            Some(value) => format!("  {} {value}", flag.name),
            None => format!("  {}", flag.name),
        });
        let default = flag.default.map(|value| format!("[default: {value}]"));
        let words = flag.meaning.split(' ').map(str::to_owned).chain(default);
        wrap(words, &mut text);
    }
    text.extend([String::new(), NOTES.to_owned()]);
    text.join("\n")
}

/// Fills lines with words, none of which is broken.
fn wrap(words: impl Iterator<Item = String>, lines: &mut Vec<String>) {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() && INDENT.len() + line.len() + 1 + word.len() > WIDTH {
            lines.push(format!("{INDENT}{line}"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.push(format!("{INDENT}{line}"));
}

const INDENT: &str = "        ";
const WIDTH: usize = 80;

const USAGE: &str = "Usage: sizegate --listen ADDR:PORT --upstream HOST:PORT [FLAG [VALUE]]...";

const NOTES: &str = "\
A flag and its value may also be joined: --flag=value.
A SIZE is a number of octets, with Ki, Mi and Gi for powers of 1024, k, M and G
for powers of 1000.
A DURATION has a unit: 500ms, 10s, 2m, 1h.

Exit codes: 0 done; 1 failed, or connections were cut at the end; 64 the command
line is not understood; 78 the configuration can't be run.";
