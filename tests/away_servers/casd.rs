//! A server that stores contents and executes actions: buildbox-casd, in folders of its own.

use crate::support::process::{Bounded as _, eventually, usual_signals};
use crate::support::tree::have;
use rustix::process::{Pid, Signal, kill_process};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a sandbox of buildbox has of this machine.
pub const SEEN: [&str; 4] = [
    "/usr:/usr",
    "/usr/bin:/bin",
    "/usr/lib:/lib",
    "/usr/lib64:/lib64",
];

/// Where a program of PATH is.
pub fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let mut all = std::env::split_paths(&path).map(|folder| folder.join(name));
    all.find(|file| file.is_file())
        .unwrap()
        .canonicalize()
        .unwrap()
}

/// A port on which connections are refused for as long as the value lives: it is taken, so that no
/// server of another test gets it, without a listener.
pub struct Refusing(std::os::fd::OwnedFd);

impl Refusing {
    pub fn bind() -> Self {
        use rustix::net::{AddressFamily, SocketType, bind, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        Self(socket)
    }

    pub fn address(&self) -> String {
        let address = rustix::net::getsockname(&self.0).unwrap();
        let address = SocketAddr::try_from(address).unwrap();
        format!("grpc://{address}")
    }
}

/// A port without a listener that no other test gets: below those that the system hands out by
/// itself, and each only once.
pub fn free_port() -> u16 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    // Test programs side by side begin at different places.
    let first = std::process::id().wrapping_mul(977);
    let ports = std::iter::repeat_with(|| {
        let next = first.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed));
        10_000 + u16::try_from(next % 20_000).unwrap()
    });
    let mut free = ports.filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok());
    free.next().unwrap()
}

/// Whether somebody listens on a port.
pub fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// All processes below one: their ids and their words.
pub fn below(parent: u32) -> Vec<(Pid, String)> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let parents: Vec<(u32, u32)> = all
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            let (_, rest) = stat.rsplit_once(')')?;
            Some((id, rest.split_ascii_whitespace().nth(1)?.parse().ok()?))
        })
        .collect();
    let (mut found, mut known) = (Vec::new(), vec![parent]);
    while let Some(parent) = known.pop() {
        for (id, _) in parents.iter().filter(|(_, of)| *of == parent) {
            known.push(*id);
            let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            found.push((Pid::from_raw(i32::try_from(*id).unwrap()).unwrap(), words));
        }
    }
    found
}

/// A process that a test has started. It ends with this, and with it what it has started.
pub struct Started(pub Child);

impl Started {
    /// Starts it, with its words in a file.
    pub fn new(command: &mut Command, log: &Path) -> Self {
        usual_signals();
        command.env("TMPDIR", log.parent().unwrap());
        let log = std::fs::File::create(log).unwrap();
        let command = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap());
        Self(command.stderr(log).spawn().unwrap())
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    /// The processes below it.
    pub fn below(&self) -> Vec<(Pid, String)> {
        below(self.0.id())
    }

    /// Ends it and all below it at once, as a machine does that loses its power.
    pub fn kill(&mut self) {
        if self.has_ended() {
            return;
        }
        // Stopped, it starts no more of them.
        let own = Pid::from_child(&self.0);
        let _ = kill_process(own, Signal::STOP);
        let all = self.below();
        let _ = self.0.kill();
        for (process, _) in all {
            let _ = kill_process(process, Signal::KILL);
        }
        self.0.ended();
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The server.
pub struct Casd {
    pub process: Started,
    pub port: u16,
    folder: tempfile::TempDir,
}

impl Casd {
    /// Starts one that executes, where there is all that it needs.
    pub fn start() -> Option<Self> {
        Self::with(4)
    }

    /// Starts one that stores and executes nothing.
    pub fn that_stores() -> Option<Self> {
        Self::with(0)
    }

    /// Starts one that executes so many actions side by side.
    pub fn with(places: u32) -> Option<Self> {
        if !have(&["buildbox-casd", "buildbox-run", "bwrap", "strip"]) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        loop {
            let port = free_port();
            if let Some(process) = begin(port, folder.path(), places) {
                return Some(Self {
                    process,
                    port,
                    folder,
                });
            }
        }
    }

    /// Ends it with all that it executes, and starts it with what it has stored.
    pub fn restart(&mut self) {
        self.process.kill();
        let again = || begin(self.port, self.folder.path(), 4);
        // The port is free once its connections are forgotten.
        let mut process = None;
        eventually("it is there again", || {
            process = again();
            process.is_some()
        });
        self.process = process.unwrap();
    }

    /// Its address.
    pub fn address(&self) -> String {
        format!("grpc://127.0.0.1:{}", self.port)
    }

    /// Whether it executes something that has these words.
    pub fn runs(&self, words: &str) -> bool {
        let all = self.process.below();
        all.iter().any(|(_, its)| its.contains(words))
    }

    /// Where its contents lie.
    pub fn contents(&self) -> PathBuf {
        self.folder.path().join("store/cas/objects")
    }

    /// Where it keeps a content.
    pub fn content(&self, bytes: &[u8]) -> PathBuf {
        let hash = vplan::base::canon::Digest::hash(bytes).hex();
        self.contents().join(&hash[..2]).join(&hash[2..])
    }
}

/// Starts one at a port; `None` where that is taken.
fn begin(port: u16, folder: &Path, places: u32) -> Option<Started> {
    let mut command = Command::new("buildbox-casd");
    command.arg(format!("--bind=127.0.0.1:{port}"));
    if places > 0 {
        let run = program("buildbox-run");
        command.arg(format!("--buildbox-run={}", run.display()));
        command.args(SEEN.map(|path| format!("--runner-arg=--ro-bind-mount={path}")));
        command.arg(format!("--jobs={places}"));
    }
    command.arg(folder.join("store"));
    let mut process = Started::new(&mut command, &folder.join("said"));
    eventually("it listens, or its port was taken", || {
        listens(port) || process.has_ended()
    });
    (!process.has_ended()).then_some(process)
}
