//! `--check` with files of TLS: everything that is wrong with them, and nothing is started.

use std::process::Command;

use crate::certificates::Certificates;
use crate::generate::Valid;
use crate::placed;

/// The exit code, standard output and standard error of `--check` with these flags.
fn check(certificates: &Certificates, flags: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_sizegate"))
        .args([
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            "broker:1",
            "--check",
        ])
        .args(placed(certificates, flags))
        .output()
        .unwrap();
    let text = |octets| String::from_utf8(octets).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn good_files_are_in_the_report() {
    let certificates = Certificates::new();
    // One that has expired is told of when it is used; a proxy that does not start helps nobody.
    certificates.server("server", &["localhost"], Valid::Past);
    let flags = [
        "--tls-cert",
        "@server.crt",
        "--tls-key",
        "@server.key",
        "--tls-client-ca",
        "@ca.crt",
        "--tls-min-version",
        "1.3",
        "--upstream-tls",
        "--upstream-tls-ca",
        "@ca.crt",
        "--upstream-tls-name",
        "broker.example",
        "--upstream-tls-cert",
        "@alice.crt",
        "--upstream-tls-key",
        "@alice.key",
    ];
    let (code, report, errors) = check(&certificates, &flags);
    assert_eq!((code, &*errors), (Some(0), ""));
    let mut words = placed(&certificates, &flags).into_iter().peekable();
    while let Some(flag) = words.next() {
        let value = words.next_if(|word| !word.starts_with("--"));
        let line = value.map_or(flag.clone(), |value| format!("{flag} {value}"));
        assert!(
            report.lines().any(|it| it.trim() == line),
            "{line}: {report}"
        );
    }
}

#[test]
fn each_faulty_file_is_told_with_its_fault() {
    let certificates = Certificates::new();
    let write = |name: &str, text: &str| {
        std::fs::write(certificates.folder().join(name), text).unwrap();
    };
    write("empty.crt", "");
    write(
        "garbled.crt",
        "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
    );
    let flags = |ca: &'static str, key: &'static str| {
        [
            ["--tls-cert", "@server.crt"],
            ["--tls-key", key],
            ["--tls-client-ca", ca],
            ["--upstream-tls-ca", "@absent.crt"],
            ["--upstream-tls-cert", "@alice.crt"],
            ["--upstream-tls-key", "@server.key"],
        ]
        .concat()
    };
    for (ca, key, faults) in [
        (
            "@empty.crt",
            "@alice.key",
            [
                "alice.key: the private key does not fit the first certificate in ",
                "empty.crt: no certificate in it",
                "server.key: the private key does not fit the first certificate in ",
                "absent.crt: no such file",
            ],
        ),
        (
            "@garbled.crt",
            "@ca.crt",
            [
                "ca.crt: no private key in it",
                "garbled.crt: not well-formed PEM: ",
                "server.key: the private key does not fit the first certificate in ",
                "absent.crt: no such file",
            ],
        ),
    ] {
        let mut flags = flags(ca, key);
        flags.push("--upstream-tls");
        let (code, _, errors) = check(&certificates, &flags);
        assert_eq!(code, Some(78), "{errors}");
        assert_eq!(errors.lines().count(), faults.len(), "{errors}");
        for (line, fault) in errors.lines().zip(faults) {
            assert!(
                line.starts_with("sizegate: ") && line.contains(fault),
                "{line}, not {fault}"
            );
        }
    }
}

#[test]
fn flags_that_need_each_other_are_told() {
    let certificates = Certificates::new();
    let beside = |flag: &str, value: &str, other: &str| {
        format!("sizegate: {flag} {value:?}: expected {other} beside it")
    };
    let cert = certificates.file("server.crt");
    for (flags, faults) in [
        (
            &["--tls-cert", "@server.crt"][..],
            &[("--tls-cert", &*cert, "--tls-key")][..],
        ),
        (
            &["--tls-key", "@server.crt"],
            &[("--tls-key", &cert, "--tls-cert")],
        ),
        (
            &["--tls-client-ca", "@server.crt", "--tls-min-version", "1.3"],
            &[
                ("--tls-client-ca", &cert, "--tls-cert"),
                ("--tls-min-version", "1.3", "--tls-cert"),
            ],
        ),
        (
            &[
                "--upstream-tls-ca",
                "@server.crt",
                "--upstream-tls-name",
                "a.example",
                "--upstream-tls-cert",
                "@server.crt",
            ],
            &[
                ("--upstream-tls-cert", &cert, "--upstream-tls-key"),
                ("--upstream-tls-ca", &cert, "--upstream-tls"),
                ("--upstream-tls-name", "a.example", "--upstream-tls"),
                ("--upstream-tls-cert", &cert, "--upstream-tls"),
            ],
        ),
        (
            &[
                "--upstream-tls",
                "--upstream-tls-ca",
                "@ca.crt",
                "--upstream-tls-key",
                "@server.crt",
            ],
            &[("--upstream-tls-key", &cert, "--upstream-tls-cert")],
        ),
    ] {
        let (code, _, errors) = check(&certificates, flags);
        assert_eq!(code, Some(78), "{errors}");
        let expected: Vec<String> = faults
            .iter()
            .map(|(flag, value, other)| beside(flag, value, other))
            .collect();
        let told: Vec<&str> = errors.lines().collect();
        assert_eq!(told, expected);
    }
}

#[test]
fn a_broker_that_no_certificate_can_name_needs_a_name() {
    let certificates = Certificates::new();
    let run = |more: &[&str]| {
        let ca = certificates.file("ca.crt");
        let output = Command::new(env!("CARGO_BIN_EXE_sizegate"))
            .args([
                "--listen",
                "127.0.0.1:0",
                "--upstream",
                "-broker:1",
                "--check",
            ])
            .args(["--upstream-tls", "--upstream-tls-ca", &ca])
            .args(more)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let fault = "sizegate: --upstream \"-broker:1\": expected a host that a certificate can be for, \
                 or --upstream-tls-name beside it\n";
    assert_eq!(run(&[]), (Some(78), fault.to_owned()));
    assert_eq!(
        run(&["--upstream-tls-name", "broker.example"]),
        (Some(0), String::new())
    );
    let (code, told) = run(&[
        "--upstream-tls-name",
        "a.example",
        "--tls-reload-interval",
        "99ms",
    ]);
    assert_eq!(code, Some(78));
    assert_eq!(
        told,
        "sizegate: --tls-reload-interval \"99ms\": expected 0s (only when told by SIGHUP), or \
         100ms and more, such as 1m\n"
    );
}
