//! The real program as a process: its addresses, its log, its metrics, its memory, its end.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use serde_json::Value;

use super::{DEADLINE, wait_for};

/// A running sizegate. It is killed when this is dropped; a panic inside it fails the test.
#[derive(Debug)]
pub struct Sidecar {
    child: Child,
    log: Arc<Log>,
    listen: Vec<SocketAddr>,
    admin: Option<SocketAddr>,
    is_to_panic: bool,
}

impl Sidecar {
    /// Starts it in front of this broker, on free ports, with these further flags.
    pub fn start(upstream: SocketAddr, flags: &[&str]) -> Self {
        Self::start_before(&upstream.to_string(), flags)
    }

    /// The same with the broker as the flag gives it.
    pub fn start_before(upstream: &str, flags: &[&str]) -> Self {
        Self::start_by(program(), &[&["--upstream", upstream], flags].concat())
    }

    /// Starts it with these flags by a command that may have more to do than to run it.
    pub fn start_by(mut command: Command, flags: &[&str]) -> Self {
        let mut arguments = Vec::new();
        for default in [
            ["--listen", "127.0.0.1:0"],
            ["--admin", "127.0.0.1:0"],
            ["--log-format", "json"],
        ] {
            if !flags.contains(&default[0]) {
                arguments.extend(default);
            }
        }
        arguments.extend(flags);
        let mut child = command
            .args(&arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("sizegate starts");
        let log = Arc::new(Log::default());
        let stderr = child.stderr.take().unwrap();
        let writer = Arc::clone(&log);
        std::thread::spawn(move || writer.collect(BufReader::new(stderr)));
        let mut sidecar = Self {
            child,
            log,
            listen: Vec::new(),
            admin: None,
            is_to_panic: false,
        };
        let line = sidecar.log_line(|line| field(line, "message") == "listening");
        let listen = field(&line, "listen");
        sidecar.listen = listen
            .split(',')
            .map(|address| address.trim().parse().expect("a bound address"))
            .collect();
        sidecar.admin = field(&line, "admin").parse().ok();
        sidecar
    }

    /// Lets a panic inside it not fail the test.
    pub fn is_to_panic(&mut self) {
        self.is_to_panic = true;
    }

    /// Where clients connect.
    pub fn listen(&self) -> SocketAddr {
        self.listen[0]
    }

    /// Where clients connect, by listener.
    pub fn listeners(&self) -> &[SocketAddr] {
        &self.listen
    }

    /// Where the operator looks.
    pub fn admin(&self) -> SocketAddr {
        self.admin.expect("an admin port")
    }

    /// Waits for a log line of which this is true, old ones included.
    pub fn log_line(&self, matches: impl Fn(&Value) -> bool) -> Value {
        self.log.line(matches)
    }

    /// All log lines until now; those that are not JSON as strings.
    pub fn log_lines(&self) -> Vec<Value> {
        self.log.state.lock().unwrap().lines.clone()
    }

    /// Waits until the program has closed its log, and returns all of it.
    pub fn log_to_its_end(&self) -> Vec<Value> {
        self.log.to_its_end()
    }

    /// What the admin port answers to GET: status and body.
    pub fn get(&self, path: &str) -> (u16, String) {
        let (status, _, body) = self.request("GET", path);
        (status, body)
    }

    /// What the admin port answers: status, headers and body.
    pub fn request(&self, method: &str, path: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect_timeout(&self.admin(), DEADLINE).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("an HTTP answer");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    /// The metrics of this moment.
    pub fn metrics(&self) -> Metrics {
        let (status, body) = self.get("/metrics");
        assert_eq!(status, 200, "/metrics");
        Metrics::parse(&body)
    }

    /// Waits until the series of this name and these labels add up to a value.
    pub fn metric_becomes(&self, name: &str, labels: &[(&str, &str)], value: f64) {
        let mut last = None;
        let start = Instant::now();
        while last != Some(value) {
            assert!(
                start.elapsed() < DEADLINE,
                "{name}{labels:?} is {last:?}, not {value}"
            );
            last = self.metrics().sum(name, labels);
        }
    }

    /// Resident memory now, in KiB.
    pub fn rss_kib(&self) -> u64 {
        self.status("VmRSS:")
    }

    /// The most resident memory it ever had, in KiB.
    pub fn peak_rss_kib(&self) -> u64 {
        self.status("VmHWM:")
    }

    /// How many files and sockets it has open.
    pub fn descriptors(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.child.id());
        std::fs::read_dir(folder).unwrap().count()
    }

    /// Processor time that it has used, in hundredths of a second.
    pub fn processor_ticks(&self) -> u64 {
        let path = format!("/proc/{}/stat", self.child.id());
        let stat = std::fs::read_to_string(path).unwrap();
        // Fields 14 and 15 of proc(5); the second one, in brackets, may hold spaces.
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let times = fields.split(' ').skip(11).take(2);
        times.map(|ticks| ticks.parse::<u64>().unwrap()).sum()
    }

    /// Sends a signal, by its name without SIG.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.child.id().to_string()])
            .status()
            .expect("kill is a program");
        assert!(sent.success(), "SIG{name} was not sent");
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        let child = &mut self.child;
        wait_for("the end of sizegate", || child.try_wait().unwrap())
    }

    /// Says whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    fn status(&self, key: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        // Failing means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let lines = self.log.to_its_end();
        if std::thread::panicking() {
            eprintln!("the log of sizegate:");
            for line in lines {
                eprintln!("  {line}");
            }
        } else if !self.is_to_panic {
            let panicked = lines
                .iter()
                .find(|line| line.to_string().contains("panicked"));
            assert!(panicked.is_none(), "sizegate panicked: {lines:?}");
        }
    }
}

/// The program under test.
pub fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sizegate"))
}

/// A field of a log line as text, whether it was written as text or as a number; else empty.
pub fn field(line: &Value, name: &str) -> String {
    match line.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// What `/metrics` said: values by name and labels.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Vec<(String, BTreeMap<String, String>, f64)>);

impl Metrics {
    /// Reads the Prometheus text format, as far as it is used here.
    pub fn parse(text: &str) -> Self {
        let series = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty());
        Self(series.map(Self::series).collect())
    }

    /// The sum of the series with this name and at least these labels; `None` if there is none.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut values = self
            .0
            .iter()
            .filter(|(its, has, _)| {
                its == name
                    && labels
                        .iter()
                        .all(|(key, value)| has.get(*key).is_some_and(|it| it == value))
            })
            .map(|(_, _, value)| *value)
            .peekable();
        values.peek()?;
        Some(values.sum())
    }

    /// The same, when it must be there.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.sum(name, labels)
            .unwrap_or_else(|| panic!("no metric {name}{labels:?}"))
    }

    fn series(line: &str) -> (String, BTreeMap<String, String>, f64) {
        let (series, value) = line.rsplit_once(' ').expect("a series and its value");
        let value = value.parse().expect("a number");
        let Some((name, labels)) = series.split_once('{') else {
            return (series.to_owned(), BTreeMap::new(), value);
        };
        let labels = labels
            .trim_end_matches('}')
            .split(',')
            .filter_map(|label| label.split_once('='))
            .map(|(key, value)| (key.to_owned(), value.trim_matches('"').to_owned()))
            .collect();
        (name.to_owned(), labels, value)
    }
}

/// The lines of standard error, as they come.
#[derive(Debug, Default)]
struct Log {
    state: Mutex<LogState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LogState {
    lines: Vec<Value>,
    ended: bool,
}

impl Log {
    fn collect(&self, from: impl BufRead) {
        for line in from.lines().map_while(Result::ok) {
            let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
            self.state.lock().unwrap().lines.push(line);
            self.changed.notify_all();
        }
        self.state.lock().unwrap().ended = true;
        self.changed.notify_all();
    }

    fn line(&self, matches: impl Fn(&Value) -> bool) -> Value {
        let state = self.state.lock().unwrap();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, DEADLINE, |state| {
                !state.ended && !state.lines.iter().any(&matches)
            })
            .unwrap();
        if let Some(line) = state.lines.iter().find(|line| matches(line)) {
            return line.clone();
        }
        // The log is shown once more when the sidecar is dropped, which needs it unlocked.
        let lines = state.lines.clone();
        drop(state);
        panic!("no such line in the log: {lines:#?}");
    }

    fn to_its_end(&self) -> Vec<Value> {
        let state = self.state.lock().unwrap();
        let (state, _) = self
            .changed
            .wait_timeout_while(state, DEADLINE, |state| !state.ended)
            .unwrap();
        state.lines.clone()
    }
}
