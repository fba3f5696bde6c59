//! The program panics as it is, with nothing built into it for the purpose: strace has the kernel say
//! once that it has read more than there was room for, which nobody expects of it.

use std::io::{ErrorKind, Read};
use std::process::Command;

use crate::expect_nothing_left;
use crate::support::mqtt::{Publish, Version};
use crate::support::{Conversation, FakeBroker, Sidecar, expect_quiet, field, program};

/// The read that goes wrong: by then all clients but one are silent.
const WRONG: usize = 200;

#[test]
fn a_panic_ends_the_connection_that_it_happens_in_and_nothing_else() {
    let broker = FakeBroker::start();
    let upstream = broker.address().to_string();
    let mut strace = Command::new("strace");
    let wrong = format!("inject=recvfrom:retval=1000000000:when={WRONG}");
    // The tracer is not the parent: what is started is sizegate itself.
    strace.args(["-D", "-f", "-qq", "-o", "/dev/null"]);
    strace.args(["-e", "trace=recvfrom", "-e", &wrong]);
    strace.arg(program().get_program());
    let mut sidecar = Sidecar::start_by(strace, &["--upstream", &upstream]);
    sidecar.is_to_panic();
    let mut conversation = Conversation { sidecar, broker };
    let before = conversation.sidecar.descriptors();

    let (mut other, mut others_broker) = conversation.client(Version::V5, "other");
    expect_quiet(&mut other, &mut others_broker);
    let (mut victim, victims_broker) = conversation.client(Version::V5, "victim");
    let publish = Publish::new(Version::V5, 0, "t").encode();
    let end = (0..WRONG).find_map(|_| {
        victim.send(&publish);
        let mut seen = vec![0; publish.len()];
        let read = victims_broker.stream().read_exact(&mut seen);
        assert!(read.is_err() || seen == publish);
        read.err()
    });
    // What was to be read with it makes it a reset.
    let kind = end.map(|error| error.kind());
    let ends = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset];
    assert!(kind.is_some_and(|kind| ends.contains(&kind)), "{kind:?}");
    victim.expect_gone("the end");

    expect_quiet(&mut other, &mut others_broker);
    let (mut after, mut afters_broker) = conversation.client(Version::V5, "after");
    expect_quiet(&mut after, &mut afters_broker);
    let line = |line: &_| field(line, "message") == "connection panicked";
    let line = conversation.sidecar.log_line(line);
    assert!(field(&line, "what").contains("out of range"), "{line}");
    drop((other, others_broker, after, afters_broker));
    expect_nothing_left(&mut conversation.sidecar, before);
    let panics = [("reason", "panic"), ("side", "sizegate")];
    let metrics = conversation.sidecar.metrics();
    let closed = metrics.value("sizegate_connections_closed_total", &panics);
    assert_eq!(closed as usize, 1);
}
