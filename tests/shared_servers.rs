//! Passes that are shared by a server: plain HTTP, and a real store of the Remote Execution API; over a network
//! that fails in every way.

use crate::shared::{OWN, SHARED, Store, machines, notes, other_machine, statuses};
use crate::support::certs::Ends;
use crate::support::process::{Bounded as _, eventually};
use crate::support::tree::have;
use rustix::process::{Pid, Signal, kill_process};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// What a store behind HTTP keeps, by path.
type Kept = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Answers one request after the other, each on a connection of its own, as `answer` says by the path: the status,
/// with what is kept.
fn serve(kept: Kept, answer: impl Fn(&str) -> Option<u16> + Send + 'static) -> String {
    serve_by(None, kept, answer)
}

/// The same by TLS, if that is how.
fn serve_by(
    tls: Option<ServerConfig>,
    kept: Kept,
    answer: impl Fn(&str) -> Option<u16> + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let address = format!("{scheme}://{}/cache", listener.local_addr().unwrap());
    let tls = tls.map(Arc::new);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            // Who is refused, or has lost interest, is gone.
            let _ = match &tls {
                None => serve_one(&mut stream, &kept, &answer),
                Some(tls) => {
                    let connection = ServerConnection::new(Arc::clone(tls)).unwrap();
                    let mut stream = StreamOwned::new(connection, stream);
                    let served = serve_one(&mut stream, &kept, &answer);
                    stream.conn.send_close_notify();
                    served.and(stream.flush())
                }
            };
        }
    });
    address
}

/// Answers one request.
fn serve_one(
    stream: &mut (impl Read + Write),
    kept: &Kept,
    answer: impl Fn(&str) -> Option<u16>,
) -> std::io::Result<()> {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    let head = loop {
        if let Some(at) = read.windows(4).position(|w| w == b"\r\n\r\n") {
            break at;
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => read.extend(&buffer[..count]),
        }
    };
    let text = String::from_utf8(read[..head].to_vec()).unwrap();
    let mut words = text.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap().to_owned());
    let lower = text.to_lowercase();
    let length = lower.split("content-length: ").nth(1);
    let length = length.map_or(0, |l| l.lines().next().unwrap().trim().parse().unwrap());
    let mut body = read[head + 4..].to_vec();
    while body.len() < length {
        let count = stream.read(&mut buffer)?;
        body.extend(&buffer[..count]);
    }
    let mut kept = kept.lock().unwrap();
    let (status, sent) = match (answer(&path), method) {
        (Some(status), _) => (status, Vec::new()),
        (None, "PUT") => {
            kept.push((path, body));
            (200, Vec::new())
        }
        (None, _) => match kept.iter().find(|(at, _)| *at == path) {
            Some((_, bytes)) => (200, bytes.clone()),
            None => (404, Vec::new()),
        },
    };
    let head = format!(
        "HTTP/1.1 {status} -\r\nConnection: close\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: {}\r\n\r\n",
        sent.len()
    );
    stream.write_all(&[head.as_bytes(), &sent].concat())
}

#[test]
fn a_store_behind_http() {
    let Some((one, other)) = machines() else {
        return;
    };
    let kept = Kept::default();
    let address = serve(Arc::clone(&kept), |_| None);
    let store = Store::at(&address);
    assert_eq!(statuses(store.keep(&one).exits(0)), OWN);
    let paths: Vec<String> = kept
        .lock()
        .unwrap()
        .iter()
        .map(|(path, _)| path.clone())
        .collect();
    assert_eq!(paths.len(), 4, "{paths:?}");
    assert!(
        paths
            .iter()
            .all(|path| path.starts_with("/cache/ac/") || path.starts_with("/cache/cas/"))
    );
    assert_eq!(statuses(store.run(&other, &[]).exits(0)), SHARED);
    // Whatever it answers, the verdict is that of the steps.
    let refusals: [fn(&str) -> Option<u16>; 4] = [
        |_| Some(500),
        |_| Some(302),
        |_| Some(401),
        |path| path.contains("/cas/").then_some(404),
    ];
    for refuse in refusals {
        let store = Store::at(&serve(Arc::clone(&kept), refuse));
        let said = statuses(store.run(&other_machine(), &[]).exits(0));
        assert!(
            said == OWN || said == "reads:cached= makes:passed",
            "{said}"
        );
    }
    let gone = Store::at("http://127.0.0.1:1/cache");
    assert_eq!(statuses(gone.run(&other_machine(), &[]).exits(0)), OWN);
}

/// By HTTP; `--remote` has the same by gRPC. Nothing counts where one end does not know the other.
#[test]
fn both_ends_know_each_other_by_certificates() {
    let Some((one, _)) = machines() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let ends = Ends::new(folder.path());
    let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let mut known = RootCertStore::empty();
    known.add(certificate(&ends.ca)).unwrap();
    let key = PrivateKeyDer::from_pem_slice(ends.server.1.as_bytes()).unwrap();
    let clients = WebPkiClientVerifier::builder(Arc::new(known));
    let tls = ServerConfig::builder()
        .with_client_cert_verifier(clients.build().unwrap())
        .with_single_cert(vec![certificate(&ends.server.0)], key)
        .unwrap();
    let kept = Kept::default();
    let store = Store::at(&serve_by(Some(tls), Arc::clone(&kept), |_| None));
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let flags = |ca: &str, cert: &str, key: &str| {
        let flags = [("--tls-ca", ca), ("--tls-cert", cert), ("--tls-key", key)];
        let flags = flags.iter().filter(|(_, name)| !name.is_empty());
        flags
            .flat_map(|(flag, name)| [(*flag).to_owned(), path(name)])
            .collect::<Vec<String>>()
    };
    fn words(words: &[String]) -> Vec<&str> {
        words.iter().map(String::as_str).collect()
    }
    let right = flags("ca", "cert", "key");
    let keeping = store.keeping(&words(&right));
    assert_eq!(statuses(one.run(&keeping).exits(0)), OWN);
    assert!(!kept.lock().unwrap().is_empty());
    for (flags, expected) in [
        (right, SHARED),
        (flags("", "cert", "key"), OWN),
        (flags("other-ca", "cert", "key"), OWN),
        (flags("ca", "", ""), OWN),
        (flags("ca", "other-cert", "other-key"), OWN),
    ] {
        let ran = store.run(&other_machine(), &words(&flags));
        let said = notes(&ran.json());
        assert_eq!(statuses(ran.exits(0)), expected, "{flags:?} {said}");
        assert_eq!(
            said.contains("the store of shared passes failed: "),
            expected == OWN,
            "{flags:?} {said}"
        );
    }
}

#[test]
fn a_signal_ends_what_is_kept_for_others_and_changes_no_verdict() {
    let Some((one, _)) = machines() else {
        return;
    };
    let kept = Kept::default();
    let vplan = Arc::new(Mutex::new(None));
    let signalled = Arc::clone(&vplan);
    let address = serve(Arc::clone(&kept), move |_| {
        eventually("its process is known", || {
            signalled.lock().unwrap().is_some()
        });
        let process = signalled.lock().unwrap().unwrap();
        kill_process(process, Signal::INT).unwrap();
        None
    });
    let store = Store::at(&address);
    let mut command = one.vplan(&store.keeping(&["--no-cache"])).command();
    let child = command.stdout(Stdio::piped()).spawn().unwrap();
    *vplan.lock().unwrap() = Some(Pid::from_child(&child));
    let ended = child.finished();
    assert_eq!(ended.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    let said = notes(&report);
    assert!(
        said.contains("nor are those that follow: there was no time"),
        "{said}"
    );
    assert_eq!(
        kept.lock().unwrap().len(),
        3,
        "contents and the pass of the first"
    );
}

/// A real store, which ends with this.
struct Server {
    process: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Starts one, where there is its program.
    fn start() -> Option<Self> {
        if !have(&["buildbox-casd"]) {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        // The port is free once this listener is gone.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let process = Command::new("buildbox-casd")
            .arg(format!("--bind=127.0.0.1:{port}"))
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self {
            process,
            port,
            _folder: folder,
        };
        eventually("the store listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Some(server)
    }

    fn address(&self) -> String {
        format!("grpc://127.0.0.1:{}", self.port)
    }
}

/// What happens to the bytes that a server sends.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The connection ends after so many.
    Cut(usize),
    /// Nothing comes any more after so many, and nothing ends.
    Stall(usize),
    /// The one at this place is another one.
    Flip(usize),
}

/// Passes on what is sent to and from a port of this machine, with a fault on each connection. Returns its own port.
pub fn faulty(port: u16, fault: Fault) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for asking in listener.incoming() {
            let (mut asking, mut asked) = (
                asking.unwrap(),
                TcpStream::connect(("127.0.0.1", port)).unwrap(),
            );
            let (mut from, mut to) = (asking.try_clone().unwrap(), asked.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Write);
            });
            std::thread::spawn(move || {
                let (mut buffer, mut count) = ([0; 4096], 0);
                while let Ok(read @ 1..) = asked.read(&mut buffer) {
                    let bytes = &mut buffer[..read];
                    let left = match fault {
                        Fault::Cut(at) | Fault::Stall(at) => at.saturating_sub(count).min(read),
                        Fault::Flip(at) => {
                            if (count..count + read).contains(&at) {
                                bytes[at - count] ^= 1;
                            }
                            read
                        }
                    };
                    if asking.write_all(&bytes[..left]).is_err() {
                        break;
                    }
                    count += read;
                    if left < read && matches!(fault, Fault::Cut(_)) {
                        break;
                    }
                }
                let _ = asking.shutdown(Shutdown::Both);
            });
        }
    });
    own
}

/// Whatever the network does, the verdict is that of the steps, and what they make is there.
fn survives(port: u16, address: impl Fn(u16) -> String + Sync) {
    let survives = &|fault: Fault| {
        let store = Store::at(&address(faulty(port, fault)));
        let other = other_machine();
        let ran = store.run(&other, &[]);
        let said = statuses(ran.exits(0));
        let mixed = ["reads:cached= makes:passed", "reads:passed makes:cached="];
        assert!(
            [&[OWN, SHARED][..], &mixed]
                .concat()
                .contains(&said.as_str()),
            "{fault:?}: {said}"
        );
        assert_eq!(other.read("out/bin/tool"), "ok\n", "{fault:?}");
        assert_eq!(other.read("out/text"), "text\n", "{fault:?}");
    };
    let faults = |at| [Fault::Cut(at), Fault::Stall(at), Fault::Flip(at)];
    // Side by side: most of their time they wait.
    std::thread::scope(|scope| {
        for fault in [0, 9, 200, 2000].into_iter().flat_map(faults) {
            scope.spawn(move || survives(fault));
        }
    });
}

#[test]
fn a_store_of_the_remote_execution_api() {
    let Some((one, other)) = machines() else {
        return;
    };
    let Some(server) = Server::start() else {
        return;
    };
    let store = Store::at(&server.address());
    assert_eq!(statuses(store.run(&other, &["--no-cache"]).exits(0)), OWN);
    assert_eq!(statuses(store.keep(&one).exits(0)), OWN);
    let other = other_machine();
    assert_eq!(statuses(store.run(&other, &[]).exits(0)), SHARED);
    assert_eq!(other.read("out/text"), "text\n");
    // It can be reached by a socket.
    let socket = one.parent().join("socket");
    crate::away_server::passes_on(&socket, server.port);
    let by_socket = Store::at(&format!("unix:{}", socket.display()));
    let ran = by_socket.run(&other_machine(), &[]);
    assert_eq!(statuses(ran.exits(0)), SHARED);
    // Another instance is another store.
    let elsewhere = Store::at(&format!("{}/elsewhere", server.address()));
    let ran = elsewhere.run(&other_machine(), &[]);
    assert_eq!(statuses(ran.exits(0)), OWN, "{}", notes(&ran.json()));
    // One that is gone.
    drop(server);
    let ran = store.run(&other_machine(), &[]);
    assert_eq!(statuses(ran.exits(0)), OWN);
}

#[test]
fn what_is_large_comes_in_parts() {
    let Some((one, other)) = machines() else {
        return;
    };
    let Some(server) = Server::start() else {
        return;
    };
    let large = |project: &crate::support::Project| {
        let line = "ok, and so on, for as long as it takes\n";
        project.write("src/a", line.repeat(200_000));
    };
    large(&one);
    large(&other);
    let store = Store::at(&server.address());
    assert_eq!(statuses(store.keep(&one).exits(0)), OWN);
    assert_eq!(statuses(store.run(&other, &[]).exits(0)), SHARED);
    assert_eq!(other.read("out/bin/tool"), other.read("src/a"));
}

#[test]
fn a_network_that_fails_changes_no_verdict() {
    let Some((one, _)) = machines() else {
        return;
    };
    let kept = Kept::default();
    let store = Store::at(&serve(Arc::clone(&kept), |_| None));
    store.keep(&one).exits(0);
    let port = store.port();
    survives(port, |port| format!("http://127.0.0.1:{port}/cache"));
    if let Some(server) = Server::start() {
        Store::at(&server.address()).keep(&one).exits(0);
        survives(server.port, |port| format!("grpc://127.0.0.1:{port}"));
    }
}
