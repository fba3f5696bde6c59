//! Writes certificates for development into a folder: an authority, a server's, and a client's.
//!
//!     cargo run -p sizegate-certs --example dev_certificates -- DIR [--client SUBJECT] [NAME...]
//!
//! NAME is a name or an address of the server; without one it is this machine: localhost, 127.0.0.1
//! and ::1. SUBJECT is `CN=client` unless given.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool of the command line talks there"
)]

mod generate;

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use generate::{Authority, Valid};

fn main() -> ExitCode {
    let Some(order) = Order::from_args(env::args().skip(1)) else {
        eprintln!("usage: dev_certificates DIR [--client SUBJECT] [NAME...]");
        return ExitCode::from(64);
    };
    match write(&order) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dev_certificates: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(order: &Order) -> Result<(), Box<dyn Error>> {
    let authority = Authority::new("sizegate development CA")?;
    let names: Vec<&str> = order.names.iter().map(String::as_str).collect();
    fs::create_dir_all(&order.folder)?;
    for (name, issued) in [
        ("ca", authority.own()),
        ("server", authority.server(&names, Valid::Now)?),
        ("client", authority.client(&order.client, Valid::Now)?),
    ] {
        issued.write(&order.folder, name)?;
        let path = order.folder.join(name);
        println!("{0}.crt {0}.key", path.display());
    }
    Ok(())
}

/// What is wanted.
struct Order {
    /// Where the files go.
    folder: PathBuf,
    /// The subject of the client.
    client: String,
    /// The names of the server; at least one.
    names: Vec<String>,
}

impl Order {
    fn from_args(mut args: impl Iterator<Item = String>) -> Option<Self> {
        let mut order = Self {
            folder: args
                .next()
                .filter(|folder| !folder.starts_with('-'))?
                .into(),
            client: "CN=client".to_owned(),
            names: Vec::new(),
        };
        while let Some(arg) = args.next() {
            match &*arg {
                "--client" => order.client = args.next()?,
                name if name.starts_with('-') => return None,
                _ => order.names.push(arg),
            }
        }
        if order.names.is_empty() {
            order.names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        }
        Some(order)
    }
}
