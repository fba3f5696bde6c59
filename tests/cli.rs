//! The command line as a user meets it: what is printed where, and the exit code.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

const SIZEGATE: &str = env!("CARGO_BIN_EXE_sizegate");
const GOOD: [&str; 4] = ["--listen", "127.0.0.1:1884", "--upstream", "127.0.0.1:1883"];

/// What a run that ends by itself leaves behind.
#[derive(Debug, PartialEq)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

fn sizegate<S: AsRef<OsStr>>(words: impl IntoIterator<Item = S>) -> Ran {
    let output = Command::new(SIZEGATE)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .expect("a binary that starts");
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// The one line on standard error of a run that ends with `code`.
fn refused(words: &[&str], code: i32) -> String {
    let ran = sizegate(words);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(code), ""),
        "{words:?}: {}",
        ran.err
    );
    let line = ran.err.strip_suffix('\n').expect("whole lines");
    assert!(!line.contains('\n'), "{words:?}: {line}");
    line.to_owned()
}

#[test]
fn version_is_one_line_on_standard_output() {
    let version = format!("sizegate {}\n", env!("CARGO_PKG_VERSION"));
    let expected = Ran {
        code: Some(0),
        out: version,
        err: String::new(),
    };
    assert_eq!(sizegate(["--version"]), expected);
    assert_eq!(sizegate(GOOD.iter().chain(&["--version"])), expected);
}

#[test]
fn help_is_on_standard_output_and_names_every_flag() {
    for word in ["--help", "-h"] {
        let ran = sizegate([word]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        for flag in sizegate::cli::flags() {
            assert!(
                ran.out.contains(&format!("\n  {}", flag.name)),
                "{}",
                flag.name
            );
        }
    }
}

#[test]
fn help_into_a_closed_pipe_is_no_failure() {
    let mut child = Command::new(SIZEGATE)
        .arg("--help")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a binary that starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("an end");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn without_listen_or_upstream_the_exit_code_is_64() {
    assert!(refused(&["--upstream", "b:1"], 64).starts_with("sizegate: --listen is missing: "));
    let line = refused(&["--listen", "127.0.0.1:1884"], 64);
    assert!(
        line.starts_with("sizegate: --upstream is missing: "),
        "{line}"
    );
    assert!(line.ends_with(", or --original-destination"), "{line}");
    let line = refused(&["--original-destination"], 64);
    assert!(
        line.starts_with("sizegate: --listen is missing: ") && !line.contains("--upstream"),
        "{line}"
    );
    let line = refused(&[], 64);
    assert!(line.contains("--listen is missing") && line.contains("--upstream is missing"));
}

#[test]
fn what_is_not_understood_is_named_and_the_exit_code_is_64() {
    let cases: &[(&[&str], &str)] = &[
        (&["--no-such-flag"], "unknown flag \"--no-such-flag\""),
        (&["serve"], "unexpected argument \"serve\""),
        (&["--", "--dry-run"], "unexpected argument \"--dry-run\""),
        (&["--dry-run=on"], "--dry-run \"on\": expected no value"),
        (
            &["--linger"],
            "--linger has no value: expected --linger DURATION",
        ),
        (
            &["--listen=1884"],
            "--listen \"1884\": expected an IP address and a port",
        ),
        (
            &["--upstream=b"],
            "--upstream \"b\": expected a host and a port",
        ),
        (
            &["--protocol=http"],
            "--protocol \"http\": expected auto, amqp10, amqp091 or mqtt",
        ),
        (
            &["--max-message-size=10 MB"],
            "--max-message-size \"10 MB\": expected ",
        ),
        (
            &["--max-control-size=big"],
            "--max-control-size \"big\": expected ",
        ),
        (
            &["--on-oversize=nack"],
            "--on-oversize \"nack\": expected reject, detach or close",
        ),
        (
            &["--mqtt-size=all"],
            "--mqtt-size \"all\": expected packet, remaining-length or payload",
        ),
        (
            &["--on-unknown=drop"],
            "--on-unknown \"drop\": expected close or forward",
        ),
        (
            &["--proxy-protocol-from=10.8.3.1/16"],
            "--proxy-protocol-from \"10.8.3.1/16\": expected a network, such as 10.8.0.0/16; \
             `10.8.3.1/16` is inside a network; give 10.8.0.0/16 for all of it, or 10.8.3.1 for",
        ),
        (
            &["--proxy-protocol-from=::ffff:10.8.0.0/112"],
            "--proxy-protocol-from \"::ffff:10.8.0.0/112\": expected IPv4 networks as such",
        ),
        (
            &["--send-proxy-protocol=3"],
            "--send-proxy-protocol \"3\": expected none, v1 or v2",
        ),
        (
            &["--original-destination=yes"],
            "--original-destination \"yes\": expected no value",
        ),
        (
            &["--max-connections=-1"],
            "--max-connections \"-1\": expected a whole number",
        ),
        (
            &["--handshake-timeout=10"],
            "--handshake-timeout \"10\": expected a duration",
        ),
        (
            &["--connect-timeout=5 parsecs"],
            "--connect-timeout \"5 parsecs\": expected a duration",
        ),
        (&["--linger=soon"], "--linger \"soon\": expected a duration"),
        (
            &["--drain-timeout="],
            "--drain-timeout \"\": expected a duration",
        ),
        (
            &["--admin=no"],
            "--admin \"no\": expected off, or an IP address and a port",
        ),
        (
            &["--log-level=all"],
            "--log-level \"all\": expected error, warn, info, debug or trace",
        ),
        (
            &["--log-format=yaml"],
            "--log-format \"yaml\": expected text or json",
        ),
        (
            &["--threads=many"],
            "--threads \"many\": expected a whole number",
        ),
        (
            &["--linger=1s", "--linger=2s"],
            "--linger \"2s\": expected once",
        ),
    ];
    for (words, expected) in cases {
        let line = refused(&[&GOOD, *words].concat(), 64);
        assert!(
            line.starts_with(&format!("sizegate: {expected}")),
            "{words:?}: {line}"
        );
    }
}

#[test]
fn every_value_that_does_not_parse_comes_with_an_example() {
    let tested = [
        "ADDR", "HOST", "SIZE", "DURATION", "N", "NAME", "FILE", "CIDR", "|",
    ];
    for flag in sizegate::cli::flags() {
        let Some(kind) = flag.value else { continue };
        if ["RULE", "GROUP"].contains(&kind) {
            // All that is wrong with these is told at once, with the rest of the configuration.
            let lines = refused(&[&GOOD[..], &[flag.name, "?"]].concat(), 78);
            assert!(
                lines.contains(&format!("`{} ?`, at character 2: ", flag.name)),
                "{lines}"
            );
            assert!(lines.contains("; a right one is "), "{lines}");
            continue;
        }
        assert!(tested.iter().any(|word| kind.contains(word)), "{kind}");
        // Any other text may be the name of a file.
        let bad = if kind == "FILE" { "" } else { "?" };
        let line = refused(&[&format!("{}={bad}", flag.name)], 64);
        assert!(
            line.starts_with(&format!("sizegate: {} {bad:?}: expected ", flag.name)),
            "{line}"
        );
        assert!(line.contains("such as ") || line.contains(" or "), "{line}");
    }
}

#[cfg(unix)]
#[test]
fn words_that_are_not_utf_8_are_refused() {
    use std::os::unix::ffi::OsStrExt;

    let ran = sizegate([OsStr::new("--upstream"), OsStr::from_bytes(b"b\xff:1")]);
    assert_eq!(ran.code, Some(64));
    assert_eq!(
        ran.err,
        "sizegate: --upstream \"b\\xFF:1\": expected UTF-8\n"
    );
}

#[test]
fn check_prints_what_is_in_effect_and_starts_nothing() {
    // An address that is not this machine's: opening it would fail.
    let ran = sizegate([
        "--listen=192.0.2.1:1884",
        "--upstream=192.0.2.2:1883",
        "--check",
    ]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for line in [
        "flags in effect:",
        "  --listen 192.0.2.1:1884",
        "  --upstream 192.0.2.2:1883",
        "  --max-control-size 131072",
        "  --drain-timeout 25s",
        "limits, the first that matches decides:",
    ] {
        assert!(
            ran.out.lines().any(|printed| printed == line),
            "{line}: {}",
            ran.out
        );
    }
}

#[test]
fn check_says_every_problem_and_the_exit_code_is_78() {
    let bad = [
        "--max-message-size=15",
        "--threads=0",
        "--upstream=b:0",
        "--connect-timeout=0s",
    ];
    let with_check = sizegate(GOOD.iter().chain(&bad).chain(&["--check"]));
    assert_eq!((with_check.code, with_check.out.as_str()), (Some(78), ""));
    let lines: Vec<&str> = with_check.err.lines().collect();
    for (flag, value) in [
        ("--upstream", "127.0.0.1:1883 b:0"),
        ("--upstream", "b:0"),
        ("--max-message-size", "15"),
        ("--connect-timeout", "0s"),
        ("--threads", "0"),
    ] {
        let start = format!("sizegate: {flag} {value:?}: expected ");
        assert!(
            lines.iter().any(|line| line.starts_with(&start)),
            "{start}: {lines:?}"
        );
    }
    assert_eq!(lines.len(), 5, "{lines:?}");

    assert_eq!(
        sizegate(GOOD.iter().chain(&bad)),
        with_check,
        "--check changes nothing of it"
    );
}
