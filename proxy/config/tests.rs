use std::ffi::OsString;
use std::iter;
use std::sync::Arc;

use super::*;
use crate::cli::{self, Stop, Stream, flags};
use crate::policy::{AddressSyntax, Direction, Identity, Limit, Mode, OnOversize, Verdict};
use crate::telemetry::Format;

fn config(line: &str) -> Result<Config, Problems> {
    let words = iter::once("sizegate")
        .chain(line.split_whitespace())
        .map(OsString::from);
    Config::from_args(&cli::parse(words).expect("a line that parses"))
}

/// A line in which everything is good but what is added.
fn with(words: &str) -> Result<Config, Problems> {
    config(&format!(
        "--listen 127.0.0.1:1884 --upstream broker:1883 {words}"
    ))
}

fn problems(config: Result<Config, Problems>) -> Vec<String> {
    let problems = config.expect_err("a configuration that can't be run");
    problems.0.iter().map(Problem::to_string).collect()
}

#[test]
fn each_setting_arrives_where_it_belongs() {
    let config = with(
        "--protocol mqtt --on-unknown forward --max-connections 7 --max-message-size 1000 \
         --max-control-size 4Ki --mqtt-size payload --on-oversize detach --dry-run --no-advertise \
         --handshake-timeout 1s --connect-timeout 2s --linger 3s --drain-timeout 4s \
         --proxy-protocol-from 10.8.0.0/16 --proxy-protocol-from ::1 --send-proxy-protocol v1 \
         --admin [::1]:9 --log-level debug --log-format json --threads 3",
    )
    .expect("a good configuration");
    assert_eq!(config.protocol, ProtocolChoice::Only("mqtt"));
    assert_eq!(config.on_unknown, OnUnknown::Forward);
    assert_eq!(config.max_connections, NonZeroUsize::new(7));
    let proxies = ["10.8.0.0/16", "::1/128"].map(|network| network.parse().unwrap());
    assert_eq!(config.proxy_protocol_from, proxies);
    assert_eq!(config.send_proxy_protocol, Some(Version::V1));
    assert_eq!(config.max_control_size, ByteSize(4096));
    assert_eq!(config.mqtt_size, MessageSize::Payload);
    assert_eq!(config.policy.on_oversize(), OnOversize::Detach);
    assert_eq!(config.policy.mode(), Mode::DryRun);
    assert_eq!(config.advertise, Advertise::Nothing);
    let times = [1, 2, 3, 4].map(Duration::from_secs);
    let Config {
        handshake_timeout,
        connect_timeout,
        linger,
        drain_timeout,
        ..
    } = config;
    assert_eq!(
        [handshake_timeout, connect_timeout, linger, drain_timeout],
        times
    );
    assert_eq!(config.admin, "[::1]:9".parse().ok());
    assert_eq!(config.log.level, tracing::Level::DEBUG);
    assert_eq!(config.log.format, Format::Json);
    assert_eq!(config.threads.get(), 3);

    let limits = Arc::new(config.policy).identify(&Identity::default(), AddressSyntax::Topic);
    let verdict = limits.judge(Direction::ToBroker, b"t", 1001);
    assert_eq!(
        verdict,
        Verdict::WouldDeny(&Limit::new(ByteSize(1000), "--max-message-size"))
    );
    assert_eq!(
        limits.judge(Direction::ToBroker, b"t", 1000),
        Verdict::Allowed
    );
    assert_eq!(
        limits.judge(Direction::ToClient, b"t", 1001),
        Verdict::Allowed
    );
}

#[test]
fn no_limit_no_ceiling_and_no_admin_port_are_none() {
    let config = with("--max-connections 0 --admin off").expect("a good configuration");
    assert_eq!(config.max_connections, None);
    assert_eq!(config.admin, None);
}

#[test]
fn one_upstream_serves_all_listeners_and_several_serve_one_each() {
    let led = |line: &str| -> Vec<String> {
        let config = config(line).expect("a good configuration");
        let listeners = config.listeners.iter();
        listeners
            .map(|it| {
                let upstream = it.destination.upstream().expect("one is given");
                format!("{}>{upstream}", it.listen.port())
            })
            .collect()
    };
    assert_eq!(
        led("--listen 127.0.0.1:1 --listen [::1]:2 --upstream a:7"),
        ["1>a:7", "2>a:7"]
    );
    assert_eq!(
        led("--upstream a:7 --listen 127.0.0.1:1 --listen [::1]:2 --upstream [::9]:8"),
        ["1>a:7", "2>[::9]:8"]
    );
}

#[test]
fn all_listeners_lead_on_where_their_clients_meant_to_go() {
    let config = config("--listen 127.0.0.1:1 --listen [::1]:2 --original-destination");
    let listeners = config.expect("a good configuration").listeners;
    let led: Vec<_> = listeners.iter().map(|it| &it.destination).collect();
    assert_eq!(led, [&Destination::Original; 2]);
}

#[test]
fn every_broken_rule_is_told() {
    let base = "--listen 127.0.0.1:1884 --upstream broker:1883";
    let cases = [
        (
            "--listen 127.0.0.1:1884 --upstream a:1 --upstream b:2",
            "--upstream \"a:1 b:2\": expected one, since --listen is given once, and not 2",
        ),
        (
            "--listen 127.0.0.1:1 --listen 127.0.0.1:2 --listen 127.0.0.1:3 \
             --upstream a:1 --upstream b:2",
            "--upstream \"a:1 b:2\": expected one for all, or one for each of the 3 --listen, \
             not 2",
        ),
        (
            "--listen 127.0.0.1:1884 --upstream a:1 --original-destination",
            "--upstream \"a:1\": expected none, since --original-destination leads clients where \
             they meant to go",
        ),
        (
            "--listen 127.0.0.1:1 --listen 127.0.0.1:2 --upstream a:1 --upstream b:2 \
             --original-destination",
            "--upstream \"a:1 b:2\": expected none, since --original-destination leads clients \
             where they meant to go",
        ),
        (
            "--listen 127.0.0.1:1884 --upstream broker:0",
            "--upstream \"broker:0\": expected a port from 1 to 65535, such as 1883",
        ),
        (
            "--listen 127.0.0.1:1884 --listen 127.0.0.1:1884 --upstream broker:1883",
            "--listen \"127.0.0.1:1884\": expected an address that --listen 127.0.0.1:1884 does \
             not take already",
        ),
        (
            "--listen 0.0.0.0:1884 --listen 127.0.0.1:1884 --upstream broker:1883",
            "--listen \"127.0.0.1:1884\": expected an address that --listen 0.0.0.0:1884 does \
             not take already",
        ),
        (
            "--listen 127.0.0.1:1884 --upstream 127.0.0.1:1884",
            "--upstream \"127.0.0.1:1884\": expected the broker and not sizegate itself, which \
             is at --listen 127.0.0.1:1884",
        ),
        (
            "--listen 127.0.0.1:9090 --upstream broker:1883",
            "--admin \"127.0.0.1:9090\": expected off, or an address that --listen \
             127.0.0.1:9090 does not take already",
        ),
        (
            "--listen 127.0.0.1:1884 --upstream localhost:9090",
            "--admin \"127.0.0.1:9090\": expected off, or an address that is not --upstream \
             localhost:9090",
        ),
        (
            &format!("{base} --max-message-size 15"),
            "--max-message-size \"15\": expected 0 (no limit), or 16 octets and more, such as 1Mi",
        ),
        (
            &format!("{base} --max-control-size 511"),
            "--max-control-size \"511\": expected 512 octets and more, such as 128Ki",
        ),
        (
            &format!("{base} --handshake-timeout 0s"),
            "--handshake-timeout \"0s\": expected more than 0s, such as 10s",
        ),
        (
            &format!("{base} --connect-timeout 0s"),
            "--connect-timeout \"0s\": expected more than 0s, such as 10s",
        ),
        (
            &format!("{base} --threads 0"),
            "--threads \"0\": expected 1 to 1024",
        ),
        (
            &format!("{base} --threads 1025"),
            "--threads \"1025\": expected 1 to 1024",
        ),
    ];
    for (line, problem) in cases {
        assert_eq!(problems(config(line)), [problem], "{line}");
    }
}

#[test]
fn what_is_just_within_the_rules_is_good() {
    let lines = [
        "--max-message-size 16 --max-control-size 512 --threads 1024",
        "--linger 0s --drain-timeout 0s --handshake-timeout 365days",
        "--listen 127.0.0.1:0 --listen 127.0.0.1:0",
        "--listen 127.0.0.2:1884 --listen [::1]:1884 --listen 127.0.0.1:1885",
        "--listen 0.0.0.0:1883 --listen [::]:1885",
    ];
    for line in lines {
        assert!(with(line).is_ok(), "{line}");
    }
    // The broker of one listener may be the other listener.
    let chain = "--listen 127.0.0.1:1 --upstream 127.0.0.1:2 --listen 127.0.0.1:2 --upstream b:3";
    assert!(config(chain).is_ok());
}

#[test]
fn a_loop_is_seen_through_wildcards_and_local_names() {
    let ends_at = |upstream: &str, listen: &str| {
        let line = format!("--listen {listen}:1884 --upstream {upstream}:1884 --admin off");
        config(&line).is_err()
    };
    for upstream in ["127.0.0.1", "localhost", "LOCALHOST", "0.0.0.0"] {
        assert!(ends_at(upstream, "127.0.0.1"), "{upstream}");
        assert!(ends_at(upstream, "0.0.0.0"), "{upstream}");
    }
    assert!(ends_at("[::1]", "[::1]"));
    assert!(ends_at("[::1]", "[::]"));
    assert!(ends_at("10.0.0.7", "10.0.0.7"));
    assert!(!ends_at("127.0.0.2", "127.0.0.1"));
    assert!(!ends_at("10.0.0.7", "0.0.0.0"));
    assert!(!ends_at("broker", "0.0.0.0"));
}

#[test]
fn all_problems_are_told_at_once_and_the_exit_code_is_78() {
    let problems = with("--threads 0 --max-message-size 3 --connect-timeout 0s")
        .expect_err("a configuration that can't be run");
    assert_eq!(problems.0.len(), 3);
    let stop = Stop::from(problems);
    assert_eq!((stop.stream, stop.code), (Stream::Err, 78));
    assert_eq!(stop.text.lines().count(), 3);
    assert!(
        stop.text
            .lines()
            .all(|line| line.starts_with("sizegate: --")),
        "{}",
        stop.text
    );
}

#[test]
fn limits_are_told_in_advance_unless_that_is_switched_off() {
    assert_eq!(with("").unwrap().advertise, Advertise::Largest);
}

#[test]
fn each_protocol_of_the_list_has_a_word_of_its_own() {
    for protocol in crate::protocols::PROTOCOLS {
        let config = with(&format!("--protocol {}", protocol.name)).expect("a good configuration");
        assert_eq!(config.protocol, ProtocolChoice::Only(protocol.name));
        let report = config.report();
        assert!(
            report.contains(&format!("--protocol {}", protocol.name)),
            "{report}"
        );
    }
}

#[test]
fn the_report_has_every_flag_and_is_the_configuration_again() {
    let lines = [
        "",
        "--proxy-protocol-from 10.8.0.0/16 --proxy-protocol-from ::1 --send-proxy-protocol v2",
        "--listen [::1]:0 --dry-run --max-message-size 1Mi --drain-timeout 90s --admin off \
         --protocol mqtt --max-connections 7 --linger 1500ms --log-level trace \
         --limit group:prod/devs=64Ki --group prod/devs=alice,bob --limit peer:10.8.0.0/16=0 \
         --receive-limit address:a/b=1Ki --max-receive-size 2Mi --mqtt-vhost username \
         --no-advertise",
    ];
    for line in lines {
        let report = with(line).expect("a good configuration").report();
        let typed: String = report
            .lines()
            .filter(|line| line.starts_with("  --"))
            .map(|line| format!("{line} "))
            .collect();
        let again = config(&typed).expect("a report that parses").report();
        assert_eq!(again, report);
        let rules = [
            "--limit",
            "--receive-limit",
            "--group",
            "--proxy-protocol-from",
        ];
        let always = |flag: &&cli::Flag| {
            let may_be_left_out = flag.value == Some("FILE") || flag.value == Some("NAME");
            flag.value.is_some() && !rules.contains(&flag.name) && !may_be_left_out
        };
        for flag in flags().iter().filter(always) {
            assert!(
                typed.contains(&format!("  {} ", flag.name)),
                "{} is missing",
                flag.name
            );
        }
        for switch in ["--dry-run", "--no-advertise"] {
            assert_eq!(typed.contains(switch), line.contains(switch), "{switch}");
        }
    }
}

#[test]
fn the_report_of_clients_that_are_led_on_is_the_configuration_again() {
    let line = "--listen 127.0.0.1:1 --listen 0.0.0.0:2 --original-destination";
    let report = config(line).expect("a good configuration").report();
    let flags = || report.lines().map(str::trim);
    let typed: Vec<&str> = flags().filter(|line| line.starts_with("--")).collect();
    assert!(typed.contains(&"--original-destination"), "{report}");
    assert!(!report.contains("--upstream"), "{report}");
    let again = config(&typed.join(" ")).expect("a report that parses");
    assert_eq!(again.report(), report);
}

#[test]
fn the_report_ends_with_the_table_of_limits() {
    let report = with(
        "--max-message-size 1Mi --limit user:alice=0 --limit peer:10.8.0.0/16,user:bob=64Ki \
         --receive-limit address:a/#=1Ki",
    )
    .expect("a good configuration")
    .report();
    let (_, table) = report
        .split_once("\nlimits, the first that matches decides:\n")
        .expect("a table");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let rows: Vec<String> = table.lines().map(words).collect();
    assert_eq!(
        rows,
        [
            "DIRECTION LIMIT RANK RULE",
            "send 65536 6 peer, 3 user --limit peer:10.8.0.0/16,user:bob=64Ki",
            "send none 3 user --limit user:alice=0",
            "receive 1024 5 address --receive-limit address:a/#=1Ki",
            "send 1048576 default --max-message-size",
            "receive none default --max-receive-size",
        ]
    );
}

#[test]
fn a_rule_that_a_shell_would_change_is_quoted_in_the_report() {
    let report = with("--limit address:it's/#=1Ki")
        .expect("a good configuration")
        .report();
    assert!(
        report.contains("\n  --limit 'address:it'\\''s/#=1Ki'\n"),
        "{report}"
    );
}

#[test]
fn every_faulty_rule_is_told_at_once() {
    let told = problems(with(
        "--limit user:alice --limit usr:bob=1Ki --receive-limit peer:10.8.0.0/33=0 \
         --group devs=alice --limit group:prod/ops=1Ki --max-message-size 15",
    ));
    let places = [
        "--max-message-size \"15\": expected 0 (no limit), or 16 octets and more, such as 1Mi",
        "`--limit user:alice`, at character 11: ",
        "`--limit usr:bob=1Ki`, at character 1: ",
        "`--receive-limit peer:10.8.0.0/33=0`, at character 6: ",
        "`--group devs=alice`, at character 1: ",
        "`--limit group:prod/ops=1Ki`: there is no group `prod/ops`; ",
    ];
    assert_eq!(told.len(), places.len(), "{told:#?}");
    for (problem, place) in told.iter().zip(places) {
        assert!(problem.starts_with(place), "{problem}");
    }
}

#[test]
fn rules_decide_before_the_default() {
    let config = with("--max-message-size 1Mi --limit user:alice=64Ki");
    let policy = Arc::new(config.expect("a good configuration").policy);
    let alice = Identity {
        user: Some("alice"),
        ..Identity::default()
    };
    let limits = policy.identify(&alice, AddressSyntax::Topic);
    let limit = limits.limit(Direction::ToBroker, b"t");
    assert_eq!(
        (limit.size, &*limit.rule),
        (ByteSize(65_536), "--limit user:alice=64Ki")
    );
}
