use super::*;

const BASE: [&str; 4] = ["--listen", "127.0.0.1:1884", "--upstream", "broker:1883"];

/// Flags that are given once or not at all.
const OPTIONAL: [&str; 7] = [
    "--tls-cert",
    "--tls-key",
    "--tls-client-ca",
    "--upstream-tls-ca",
    "--upstream-tls-name",
    "--upstream-tls-cert",
    "--upstream-tls-key",
];

fn parse_words(words: &[&str]) -> Result<Args, Stop> {
    parse(
        iter::once("sizegate")
            .chain(words.iter().copied())
            .map(OsString::from),
    )
}

fn with(words: &[&str]) -> Result<Args, Stop> {
    parse_words(&[&BASE, words].concat())
}

fn refused(words: &[&str]) -> String {
    let stop = with(words).expect_err("a usage error");
    assert_eq!((stop.stream, stop.code), (Stream::Err, 64), "{words:?}");
    assert_eq!(stop.text.lines().count(), 1, "{}", stop.text);
    stop.text
}

#[test]
fn every_default_in_the_help_is_the_default() {
    let defaults = with(&[]).expect("a good command line");
    for flag in flags() {
        match (flag.value, flag.default) {
            (Some(_), Some(default)) => {
                assert_eq!(
                    with(&[flag.name, default]).as_ref(),
                    Ok(&defaults),
                    "{}",
                    flag.name
                );
            }
            (Some(_), None) => {
                let may_have_none = flag.repeats || OPTIONAL.contains(&flag.name);
                assert!(may_have_none, "{} has no default", flag.name);
            }
            (None, default) => assert_eq!(default, None, "{} is a switch", flag.name),
        }
    }
}

#[test]
fn the_help_has_every_flag_with_its_value_and_its_default() {
    let help = flags::help();
    for flag in flags() {
        let head = [flag.name]
            .into_iter()
            .chain(flag.value)
            .collect::<Vec<_>>()
            .join(" ");
        let (_, text) = help
            .split_once(&format!("\n  {head}\n"))
            .unwrap_or_else(|| panic!("{head} is not in the help"));
        let text = text.split("\n  --").next().unwrap_or_default();
        if let Some(default) = flag.default {
            assert!(
                text.contains(&format!("[default: {default}]")),
                "{head}: {text}"
            );
        }
        assert!(
            help.contains(&format!("\n{}:\n", flag.topic)),
            "{} has no topic",
            flag.name
        );
    }
    assert!(
        help.lines().all(|line| line.chars().count() <= 80),
        "{help}"
    );
}

#[test]
fn every_word_that_the_help_offers_is_accepted() {
    let offering = flags()
        .into_iter()
        .filter_map(|flag| Some((flag.name, flag.value?)));
    let mut offered = 0;
    for (name, value) in offering.filter(|(_, value)| value.contains('|')) {
        for word in value.split('|').filter(|word| *word != "ADDR:PORT") {
            assert!(with(&[name, word]).is_ok(), "{name} {word}");
            offered += 1;
        }
    }
    assert!(offered > 0);
}

#[test]
fn a_value_may_be_joined_to_its_flag() {
    let apart = with(&["--linger", "1m", "--admin", "off"]);
    assert!(apart.is_ok());
    assert_eq!(with(&["--linger=1m", "--admin=off"]), apart);
}

#[test]
fn only_the_first_equals_sign_divides() {
    assert_eq!(
        refused(&["--linger=1s=2s"]),
        "sizegate: --linger \"1s=2s\": expected a duration with a unit, such as 500ms, 10s or 2m"
    );
}

#[test]
fn every_bad_word_is_refused_in_one_line() {
    let cases: &[(&[&str], &str)] = &[
        (&["--bogus"], "unknown flag \"--bogus\": "),
        (&["--bogus=1"], "unknown flag \"--bogus\": "),
        (&["-x"], "unknown flag \"-x\": "),
        (&["-"], "unknown flag \"-\": "),
        (&["--Linger", "1s"], "unknown flag \"--Linger\": "),
        (
            &["--max-message", "1Mi"],
            "unknown flag \"--max-message\": ",
        ),
        (&["run"], "unexpected argument \"run\": "),
        (&[""], "unexpected argument \"\": "),
        (&["--", "--check"], "unexpected argument \"--check\": "),
        (&["--dry-run", "yes"], "unexpected argument \"yes\": "),
        (&["--dry-run=yes"], "--dry-run \"yes\": expected no value"),
        (&["--help=limits"], "--help \"limits\": expected no value"),
        (
            &["--linger"],
            "--linger has no value: expected --linger DURATION",
        ),
        (
            &["--linger", "--check"],
            "--linger has no value: expected --linger DURATION",
        ),
        (
            &["--linger", "--admin=off"],
            "--linger has no value: expected --linger DURATION",
        ),
        (&["--linger="], "--linger \"\": expected a duration"),
        (
            &["--linger", "1s", "--linger=2s"],
            "--linger \"2s\": expected once, and \"1s\" came",
        ),
        (&["--tls-cert="], "--tls-cert \"\": expected a file"),
        (
            &["--tls-min-version", "1.1"],
            "--tls-min-version \"1.1\": expected 1.2 or 1.3",
        ),
        (
            &["--upstream-tls-name", "not a name"],
            "--upstream-tls-name \"not a name\": expected a name or an address",
        ),
        (&["--linger", "10"], "--linger \"10\": expected a duration"),
        (
            &["--linger", "366days"],
            "--linger \"366days\": expected 365days at most",
        ),
        (
            &["--linger", "-1s"],
            "--linger \"-1s\": expected a duration",
        ),
        (
            &["--max-message-size", "10 MB"],
            "--max-message-size \"10 MB\": expected ",
        ),
        (
            &["--max-message-size", "-1"],
            "--max-message-size \"-1\": expected ",
        ),
        (
            &["--max-control-size", "1\n2"],
            "--max-control-size \"1\\n2\": expected ",
        ),
        (
            &["--threads", "two"],
            "--threads \"two\": expected a whole number",
        ),
        (
            &["--threads", "+2"],
            "--threads \"+2\": expected a whole number",
        ),
        (
            &["--max-connections", "1k"],
            "--max-connections \"1k\": expected a whole number",
        ),
        (
            &["--listen", "localhost:1884"],
            "--listen \"localhost:1884\": expected an IP address",
        ),
        (
            &["--listen", "127.0.0.1"],
            "--listen \"127.0.0.1\": expected an IP address",
        ),
        (
            &["--admin", "on"],
            "--admin \"on\": expected off, or an IP address",
        ),
        (
            &["--upstream", "broker"],
            "--upstream \"broker\": expected a host and a port",
        ),
        (
            &["--protocol", "amqp"],
            "--protocol \"amqp\": expected auto, amqp10, amqp091 or mqtt",
        ),
        (
            &["--on-oversize", "drop"],
            "--on-oversize \"drop\": expected reject, detach or close",
        ),
        (
            &["--on-unknown", "Close"],
            "--on-unknown \"Close\": expected close or forward",
        ),
        (
            &["--mqtt-size", "body"],
            "--mqtt-size \"body\": expected packet, remaining-length or payload",
        ),
        (
            &["--log-level", "loud"],
            "--log-level \"loud\": expected error, warn, info, debug or trace",
        ),
        (
            &["--log-format", "xml"],
            "--log-format \"xml\": expected text or json",
        ),
    ];
    for (words, expected) in cases {
        let text = refused(words);
        assert!(text.starts_with(&format!("sizegate: {expected}")), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn words_that_are_not_utf_8_are_refused() {
    use std::os::unix::ffi::OsStringExt;

    let bad = |octets: &[u8]| OsString::from_vec(octets.to_vec());
    let cases = [
        (
            vec![bad(b"--listen=\xff")],
            "sizegate: \"--listen=\\xFF\": expected UTF-8",
        ),
        (
            vec!["--listen".into(), bad(b"\xff")],
            "sizegate: --listen \"\\xFF\": expected UTF-8",
        ),
        (vec![bad(b"\xff")], "sizegate: \"\\xFF\": expected UTF-8"),
    ];
    for (words, text) in cases {
        let stop = parse(iter::once("sizegate".into()).chain(words)).expect_err("not UTF-8");
        assert_eq!((stop.text.as_str(), stop.code), (text, 64));
    }
}

#[test]
fn what_is_missing_is_named() {
    let stop = parse_words(&[]).expect_err("nothing to do");
    assert_eq!(stop.code, 64);
    assert!(stop.text.contains("--listen is missing"), "{}", stop.text);
    assert!(stop.text.contains("--upstream is missing"), "{}", stop.text);

    let stop = parse_words(&["--listen", "[::1]:1884"]).expect_err("no broker");
    assert!(!stop.text.contains("--listen is missing"), "{}", stop.text);
    assert!(stop.text.contains("--upstream is missing"), "{}", stop.text);

    let stop = parse_words(&["--upstream", "broker:1883", "--check"]).expect_err("no listener");
    assert!(stop.text.contains("--listen is missing"), "{}", stop.text);
    assert!(
        !stop.text.contains("--upstream is missing"),
        "{}",
        stop.text
    );
}

#[test]
fn help_and_version_need_nothing_else() {
    let version = Stop::done(format!("sizegate {}", env!("CARGO_PKG_VERSION")));
    assert_eq!(parse_words(&["--version"]), Err(version.clone()));
    assert_eq!(with(&["--version", "--"]), Err(version));
    for words in [
        &["--help"][..],
        &["-h"],
        &["--help", "--version"],
        &["--check", "--help"],
    ] {
        assert_eq!(
            parse_words(words),
            Err(Stop::done(flags::help())),
            "{words:?}"
        );
    }
    assert_eq!(refused(&["--version", "--bogus"]).split(':').count(), 3);
}

#[test]
fn an_upstream_is_a_name_or_an_address_and_a_port() {
    let good = [
        ("broker:1883", "broker"),
        ("broker.example.:1883", "broker.example."),
        ("my_broker-0.mq:1883", "my_broker-0.mq"),
        ("10.0.0.7:1883", "10.0.0.7"),
        ("[::1]:1883", "::1"),
        ("[2001:DB8::7]:1883", "2001:db8::7"),
    ];
    for (typed, host) in good {
        let upstream = values::upstream(typed).expect(typed);
        assert_eq!((upstream.host.as_str(), upstream.port), (host, 1883));
        let again = values::upstream(&upstream.to_string());
        assert_eq!(again, Ok(upstream), "{typed} is written as it is read");
    }
    let bad = [
        "",
        ":1883",
        "broker:",
        "broker:x",
        "broker:65536",
        "broker:+1",
        "::1:1883",
        "[::1]",
        "[::1:1883",
        "::1]:1883",
        "[broker]:1883",
        "[10.0.0.7]:1883",
        "10.0.0.256:1883",
        "10.0.0:1883",
        "a..b:1883",
        ".:1883",
        "a b:1883",
        "mqtt://broker:1883",
        "user@broker:1883",
    ];
    for typed in bad {
        assert!(values::upstream(typed).is_err(), "{typed}");
    }
    let label = "a".repeat(64);
    assert!(values::upstream(&format!("{label}:1883")).is_err());
}
