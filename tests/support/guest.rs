//! Raw clients of a real RabbitMQ that have said who they are.

use std::net::SocketAddr;

use super::amqp10::{
    BEGIN, HEADER, OPEN, SASL_HEADER, SASL_MECHANISMS, SASL_OUTCOME, begin, open, read_frame,
    sasl_init,
};
use super::{Raw, amqp091};

/// A client of AMQP 1.0 with an open connection and a session.
pub fn amqp10(to: SocketAddr, name: &str) -> Raw {
    let mut client = amqp10_sasl(to);
    client.send([HEADER, &open(name, 8192), &begin(None)].concat());
    client.expect(HEADER, "a header");
    for code in [OPEN, BEGIN] {
        assert_eq!(read_frame(&mut client).code, Some(code));
    }
    client
}

/// A client of AMQP 1.0 that has come through the SASL layer.
pub fn amqp10_sasl(to: SocketAddr) -> Raw {
    let mut client = Raw::connect(to);
    client.send(SASL_HEADER);
    client.expect(SASL_HEADER, "the header of the SASL layer");
    read_frame(&mut client).expect(SASL_MECHANISMS, &["ANONYMOUS"]);
    client.send(sasl_init());
    read_frame(&mut client).expect(SASL_OUTCOME, &[]);
    client
}

/// A client of AMQP 0-9-1 with an open connection.
pub fn amqp091(to: SocketAddr, name: &str) -> Raw {
    let mut client = amqp091_opening(to, name);
    client.expect(amqp091::open_ok(), "connection.open-ok");
    client
}

/// A client of AMQP 0-9-1 that has said all that it has to say before open-ok.
pub fn amqp091_opening(to: SocketAddr, name: &str) -> Raw {
    let mut client = Raw::connect(to);
    client.send(amqp091::HEADER);
    amqp091::expect_method(&mut client, 0, amqp091::START);
    let properties = [
        &amqp091::short(b"connection_name")[..],
        b"S",
        &amqp091::long(name.as_bytes()),
    ]
    .concat();
    let start_ok: [&[u8]; 4] = [
        &amqp091::long(&properties),
        &amqp091::short(b"PLAIN"),
        &amqp091::long(b"\0guest\0guest"),
        &amqp091::short(b"en_US"),
    ];
    client.send(amqp091::method(0, (10, 11), &start_ok));
    let tune = amqp091::expect_method(&mut client, 0, amqp091::TUNE);
    // What the broker offers, since it accepts no more, but without heartbeats.
    let tune_ok: [&[u8]; 2] = [&tune.payload[4..10], &[0, 0]];
    let tune_ok = amqp091::method(0, (10, 31), &tune_ok);
    client.send([tune_ok, amqp091::open("/")].concat());
    client
}
