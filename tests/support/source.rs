//! Reads a Rust source file as far as the architecture test needs: which paths does it name?
//!
//! No parser: comments, literals and test code are blanked out, `use` trees are unfolded, and what
//! is left is searched for paths. Names that a `use` brought in are followed to where they are from.

#![allow(
    dead_code,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "each test uses its part"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The source without comments, the insides of literals, and what is compiled for tests only.
pub(crate) fn code(source: &str) -> String {
    without_tests(&without_text(source))
}

/// Every path that code in this module names, from its crate on: `crate::gate::Step`,
/// `tokio::net::TcpStream`. The module is given as `crate::relay::pump`.
pub(crate) fn paths(code: &str, module: &str) -> BTreeSet<String> {
    let tokens = tokens(code);
    let mut names = BTreeMap::new();
    let mut found = BTreeSet::new();
    let mut rest = &tokens[..];
    let mut loose = Vec::new();
    while let [token, tail @ ..] = rest {
        if token == "use" {
            let end = tail
                .iter()
                .position(|token| token == ";")
                .unwrap_or(tail.len());
            let mut tree = &tail[..end];
            unfold(&mut tree, &[], &mut |path, name| {
                let path = from_its_crate(path, module);
                names.insert(name.to_owned(), path.clone());
                found.insert(path);
            });
            rest = &tail[end..];
            continue;
        }
        let mut path = Vec::new();
        let mut at = rest;
        while let [name, tail @ ..] = at
            && is_name(name)
        {
            path.push(name.clone());
            at = tail;
            match at {
                [colons, tail @ ..] if colons == "::" => at = tail,
                _ => break,
            }
        }
        if path.len() > 1 {
            loose.push(path);
        }
        rest = if at.len() < rest.len() { at } else { tail };
    }
    for mut path in loose {
        if let Some(origin) = names.get(&path[0]) {
            let origin = origin.split("::").map(str::to_owned);
            path.splice(..1, origin);
        }
        found.insert(from_its_crate(&path, module));
    }
    found
}

/// Whether the code holds this word by itself.
pub(crate) fn has_word(code: &str, word: &str) -> bool {
    tokens(code).iter().any(|token| token == word)
}

/// Walks a `use` tree and calls back with each path in it and the name it gets.
fn unfold(tree: &mut &[String], prefix: &[String], each: &mut impl FnMut(&[String], &str)) {
    let mut path = prefix.to_vec();
    while let [token, tail @ ..] = *tree {
        match token.as_str() {
            "::" => *tree = tail,
            "{" => {
                *tree = tail;
                while !matches!(tree.first().map(String::as_str), None | Some("}")) {
                    unfold(tree, &path, each);
                    if tree.first().is_some_and(|token| token == ",") {
                        *tree = &tree[1..];
                    }
                }
                *tree = tree.get(1..).unwrap_or_default();
                return;
            }
            "as" => {
                let name = tail.first().cloned().unwrap_or_default();
                *tree = tail.get(1..).unwrap_or_default();
                each(&path, &name);
                return;
            }
            "," | "}" => break,
            _ => {
                path.push(token.clone());
                *tree = tail;
            }
        }
    }
    // `a::{self}` is `a`.
    if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
        path.pop();
    }
    let name = path.last().cloned().unwrap_or_default();
    each(&path, &name);
}

/// Replaces what is relative to the module.
fn from_its_crate(path: &[String], module: &str) -> String {
    let mut base: Vec<&str> = module.split("::").collect();
    let mut rest = path;
    match rest.first().map(String::as_str) {
        Some("self") => rest = &rest[1..],
        Some("super") => {
            while let [first, tail @ ..] = rest
                && first == "super"
            {
                base.pop();
                rest = tail;
            }
        }
        _ => base.clear(),
    }
    base.extend(rest.iter().map(String::as_str));
    base.join("::")
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Names, `::`, and every other character by itself.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut characters = code.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_alphanumeric() || character == '_' {
            let mut name = character.to_string();
            while let Some(next) = characters.next_if(|next| next.is_alphanumeric() || *next == '_')
            {
                name.push(next);
            }
            tokens.push(name);
        } else if character == ':' && characters.next_if_eq(&':').is_some() {
            tokens.push("::".to_owned());
        } else if !character.is_whitespace() {
            tokens.push(character.to_string());
        }
    }
    tokens
}

/// Removes each item that is marked as test code.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut kept = String::new();
    let mut rest = code;
    while let Some(at) = rest.find(MARK) {
        kept += &rest[..at];
        rest = &rest[at + MARK.len()..];
        let mut depth = 0;
        let end = rest.find(|character| {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            depth == 0 && [';', '}'].contains(&character)
        });
        rest = end.map_or("", |end| &rest[end + 1..]);
    }
    kept + rest
}

/// Blanks comments and the insides of literals.
fn without_text(source: &str) -> String {
    let mut code = String::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(len) = string_len(rest) {
            code.push_str("\"\"");
            len
        } else if let Some(len) = character_len(rest) {
            len
        } else {
            // A whole name at once, so that its end is not taken for the beginning of a literal.
            let name = rest.find(|next: char| !next.is_alphanumeric() && next != '_');
            let len = name.unwrap_or(rest.len()).max(first.len_utf8());
            code.push_str(&rest[..len]);
            len
        };
        rest = &rest[len..];
    }
    code
}

/// The length of the string literal that the text begins with.
fn string_len(text: &str) -> Option<usize> {
    let open = text.trim_start_matches(['b', 'c', 'r']);
    let prefix = text.len() - open.len();
    let raw = text[..prefix].ends_with('r');
    let hashes = if raw {
        open.len() - open.trim_start_matches('#').len()
    } else {
        0
    };
    if prefix > 2 || !open[hashes..].starts_with('"') {
        return None;
    }
    let body = &open[hashes + 1..];
    let start = prefix + hashes + 1;
    if raw {
        let close = format!("\"{}", "#".repeat(hashes));
        return body.find(&close).map(|at| start + at + close.len());
    }
    let mut escaped = false;
    let end = body.find(|character| {
        let ends = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        ends
    });
    end.map(|end| start + end + 1)
}

/// The length of the character literal that the text begins with; a lifetime is none.
fn character_len(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\'')?;
    if let Some(escape) = body.strip_prefix('\\') {
        let escaped = escape.chars().next()?.len_utf8();
        return escape[escaped..]
            .find('\'')
            .map(|end| 2 + escaped + end + 1);
    }
    let len = body.chars().next()?.len_utf8();
    body[len..].starts_with('\'').then_some(len + 2)
}

/// Every Rust file in a folder.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The folder of the project.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
