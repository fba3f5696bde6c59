//! Other people's clients as processes.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::{DEADLINE, wait_for};

/// A running client program whose standard output is read line by line.
#[derive(Debug)]
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    errors: Receiver<String>,
    name: String,
}

/// What a client program left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// How it ended.
    pub code: Option<i32>,
    /// The lines of its standard output that nobody had read.
    pub lines: Vec<String>,
    /// Its standard error.
    pub errors: String,
}

impl Running {
    /// Starts a program.
    pub fn start(program: &str, arguments: &[&str]) -> Self {
        Self::start_with(program, arguments, &[])
    }

    /// The same with these variables in its environment.
    pub fn start_with(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("{program} does not start: {error}; tests/run installs what is needed")
            });
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let (sender, errors) = channel();
        let mut stderr = child.stderr.take().unwrap();
        std::thread::spawn(move || {
            let mut text = String::new();
            // What is not text is cut short; it is only shown.
            let _ = stderr.read_to_string(&mut text);
            let _ = sender.send(text);
        });
        Self {
            child,
            lines,
            errors,
            name: program.to_owned(),
        }
    }

    /// Waits for the next line.
    pub fn line(&mut self) -> String {
        match self.lines.recv_timeout(DEADLINE) {
            Ok(line) => line,
            Err(_) => {
                let _ = self.child.kill();
                let errors = self.errors.recv_timeout(DEADLINE).unwrap_or_default();
                panic!("{} printed no further line; errors: {errors}", self.name)
            }
        }
    }

    /// The next line, if it is there.
    pub fn line_now(&self) -> Option<String> {
        match self.lines.try_recv() {
            Ok(line) => Some(line),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                let errors = self.errors.recv_timeout(DEADLINE).unwrap_or_default();
                panic!("{} printed no further line; errors: {errors}", self.name)
            }
        }
    }

    /// Waits for the line of which this is true, and drops those before it.
    pub fn line_that(&mut self, matches: impl Fn(&str) -> bool) -> String {
        loop {
            let line = self.line();
            if matches(&line) {
                return line;
            }
        }
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Output {
        let child = &mut self.child;
        let status: ExitStatus = wait_for(&format!("the end of {}", self.name), || {
            child.try_wait().unwrap()
        });
        let errors = self.errors.recv_timeout(DEADLINE).unwrap();
        Output {
            code: status.code(),
            lines: self.lines.iter().collect(),
            errors,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Failing means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The Python interpreter with the client libraries: that of `SIZEGATE_TEST_PYTHON`, or the one
/// that `tests/run` makes.
pub fn python() -> String {
    let python = std::env::var_os("SIZEGATE_TEST_PYTHON").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/test-venv/bin/python"),
        PathBuf::from,
    );
    assert!(
        python.exists(),
        "{} does not exist: run tests/run once, or set SIZEGATE_TEST_PYTHON",
        python.display()
    );
    python.to_str().unwrap().to_owned()
}

/// The folder with the client libraries for Node: that of `SIZEGATE_TEST_NODE`, or the one
/// that `tests/run` makes.
pub fn node_modules() -> String {
    let folder = std::env::var_os("SIZEGATE_TEST_NODE").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/test-node/node_modules"),
        PathBuf::from,
    );
    assert!(
        folder.exists(),
        "{} does not exist: run tests/run once, or set SIZEGATE_TEST_NODE",
        folder.display()
    );
    folder.to_str().unwrap().to_owned()
}
