//! A run whose steps a server of the Remote Execution API executes, in this process: what it is told, and what the
//! report says.

use crate::away::{There, small_vplan};
use crate::support::Ran;
use crate::support::certs::Ends;
use crate::support::reapi::{Fault, Server};
use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixListener;
use std::path::Path;
use tonic::transport::{Certificate, Identity, ServerTlsConfig};

const CONTRACT: &str = r#"vplan 1

check makes {
  run sh -c 'mkdir -p out; cp src/a out/text; echo "$MY_FLAG"'
  inputs "src/**"
  produces "out/**"
  pass-env MY_*
}

check uses {
  run grep -q ok out/text
  inputs "out/**"
  needs makes
}
"#;

fn run(there: &There, url: &str, more: &[&str]) -> Ran {
    let words = ["run", "--all", "--no-cache", "--format", "json", "--remote"];
    let server = [url, "--remote-binary", small_vplan()];
    there.project.run(&[&words[..], &server, more].concat())
}

fn shown(ran: &Ran) -> String {
    format!("{}{}", ran.out(), ran.err())
}

#[test]
fn a_server_executes_steps() {
    let server = Server::real();
    // The operator has the last word.
    let machine =
        "machine m {\n  property \"cores\" \"8\"\n  property \"OSFamily\" \"x\"\n}\n\ncheck makes";
    let contract = CONTRACT.replace("check makes", machine);
    let contract = contract.replace("inputs", "on m\n  inputs");
    let there = There::with(&contract, &[]);
    let ran = run(
        &there,
        &server.url,
        &["--remote-property", "OSFamily=linux"],
    );
    let report = ran.json();
    assert_eq!(report["verdict"], "passed", "{report:#}");
    for step in report["steps"].as_array().unwrap() {
        let place = &step["place"];
        assert_eq!(place["engine"], "reapi", "{step:#}");
        // What it says moves no cursor.
        assert_eq!(place["worker"], "fake\\u{1b}[2J-1");
    }
    assert_eq!(there.project.read("out/text"), "ok\n");
    let expected = [("OSFamily", "linux"), ("cores", "8")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(server.properties(), expected);
    let notes = report["notes"].as_array().unwrap();
    let note = notes.iter().find(|note| note["kind"] == "remote-property");
    let said = "machines were asked for that have `OSFamily=linux`";
    assert_eq!(note.unwrap()["message"], said);
}

/// Passes on what is sent to and from a socket.
pub fn passes_on(socket: &Path, port: u16) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for asking in listener.incoming() {
            let (asking, asked) = (
                asking.unwrap(),
                TcpStream::connect(("127.0.0.1", port)).unwrap(),
            );
            let back = (asked.try_clone().unwrap(), asking.try_clone().unwrap());
            std::thread::spawn(move || io::copy(&mut &asking, &mut &asked));
            std::thread::spawn(move || io::copy(&mut &back.0, &mut &back.1));
        }
    });
}

#[test]
fn a_server_of_this_machine_can_be_a_socket() {
    let server = Server::real();
    let there = There::with(CONTRACT, &[]);
    let socket = there.project.parent().join("socket");
    let port = server.url.trim_end_matches("/fake").rsplit(':').next();
    let port = port.unwrap().parse().unwrap();
    server.forgets_its_name();
    passes_on(&socket, port);
    let url = format!("unix:{}", socket.display());
    let report = run(&there, &url, &[]).json();
    assert_eq!(report["steps"][1]["place"]["engine"], "reapi", "{report:#}");
    assert_eq!(report["verdict"], "passed");
    // Nobody is there; least of all, whoever changes the repository.
    passes_on(&there.project.path("socket"), port);
    for nobody in [&format!("{url}-x"), "unix://socket", "unix:///socket"] {
        let nobody = run(&there, nobody, &[]);
        assert_eq!(nobody.exit, Some(5), "{}", shown(&nobody));
        assert!(shown(&nobody).contains("vplan::away::unreachable"));
    }
}

#[test]
fn what_has_no_byte_comes_back_without_being_asked_for() {
    let server = Server::real();
    let contract = CONTRACT.replace("cp src/a", ": > out/none; cp src/a");
    let there = There::with(&contract, &[("src/none", "")]);
    run(&there, &server.url, &[]).exits(0);
    assert_eq!(there.project.read("out/none"), "");
}

#[test]
fn secrets_are_not_sent() {
    let server = Server::real();
    let mut there = There::with(CONTRACT, &[]);
    let project = there.project.env("MY_TOKEN", "swordfish-1");
    there.project = project.env("MY_FLAG", "flag-1").env("OTHER", "swordfish-2");
    run(&there, &server.url, &[]).exits(0);
    let sent = server.contents();
    let is_in = |word: &str| {
        let word = word.as_bytes();
        sent.iter()
            .any(|bytes| bytes.windows(word.len()).any(|w| w == word))
    };
    assert!(is_in("flag-1"));
    assert!(!is_in("swordfish"));
}

#[test]
fn a_server_that_lies_passes_nothing() {
    let server = Server::real();
    let there = There::with(CONTRACT, &[]);
    for fault in [
        Fault::Empty,
        Fault::Torn(500),
        Fault::Evicted,
        Fault::Misnamed,
        Fault::Ended(4),
        Fault::Answer(|answer| answer.nonce = "0".repeat(32)),
    ] {
        server.fails([Some(fault.clone())]);
        let ran = run(&there, &server.url, &[]);
        let report = ran.json();
        assert_eq!(ran.exit.unwrap(), 5, "{fault:?}: {report:#}");
        let step = &report["steps"][0];
        assert_eq!(step["status"], "errored", "{fault:?}");
        assert_eq!(step["failureCode"], "verification_remote_unavailable");
        assert_eq!(report["steps"][1]["status"], "not_run", "{report:#}");
        assert!(!there.project.exists("out"), "{fault:?}");
    }
}

#[test]
fn a_server_that_cannot_is_said_before_anything_runs() {
    let server = Server::real();
    let there = There::with(CONTRACT, &[]);
    for (fault, code, said) in [
        (Fault::NoExecution, "capabilities", "it executes nothing"),
        (Fault::Api3, "capabilities", "it does not speak version 2"),
        (
            Fault::OtherDigests,
            "capabilities",
            "other digests than SHA-256",
        ),
        (
            Fault::Unknown,
            "refused",
            "Unauthenticated: who\\u{1b}[31m are you?",
        ),
    ] {
        server.fails([Some(fault.clone())]);
        let ran = run(&there, &server.url, &[]);
        let shown = shown(&ran);
        assert_eq!(ran.exit.unwrap(), 5, "{shown}");
        assert!(shown.contains(&format!("vplan::away::{code}")), "{shown}");
        assert!(shown.contains(said), "{shown}");
        assert_eq!(server.executed(), 0);
    }
    let own = format!("unix:{}", there.project.path("socket").display());
    // Another host could be anybody's.
    for (words, said) in [
        (vec!["--remote", "grpc://example.com/x"], "could read it"),
        (vec!["--remote", "grpcs://"], "is no host"),
        (
            vec!["--remote", "grpcs://me:word@example.com"],
            "a name or a password",
        ),
        (
            vec!["--remote", &server.url, "--remote-property", "x"],
            "NAME=VALUE",
        ),
        (vec!["--remote-queue", "1m"], "--remote"),
        (vec!["--remote", "unix:s"], "no absolute path"),
        (vec!["--remote", &own], "in the repository"),
    ] {
        let ran = there.project.run(&[&["run"], &words[..]].concat());
        assert_eq!(ran.exit.unwrap(), 2, "{}", shown(&ran));
        assert!(shown(&ran).contains(said), "{words:?}: {}", shown(&ran));
    }
}

#[test]
fn both_ends_know_each_other_by_certificates() {
    let there = There::with(CONTRACT, &[]);
    let Ends { ca, server } = Ends::new(there.project.parent());
    let tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(server.0, server.1))
        .client_ca_root(Certificate::from_pem(&ca));
    let server = Server::with_tls(tls);
    for (name, text) in [("no-pem", "x"), ("repo/ca", &ca)] {
        std::fs::write(there.project.parent().join(name), text).unwrap();
    }
    let path = |name: &str| {
        there
            .project
            .parent()
            .join(name)
            .to_str()
            .unwrap()
            .to_owned()
    };
    let with = |ca: &str, cert: &str, key: &str| {
        let flags = [("--tls-ca", ca), ("--tls-cert", cert), ("--tls-key", key)];
        let flags = flags.iter().filter(|(_, name)| !name.is_empty());
        let words: Vec<String> = flags
            .flat_map(|(flag, name)| [(*flag).to_owned(), path(name)])
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = run(&there, &server.url, &words);
        (ran.exit.unwrap(), shown(&ran))
    };
    let (exit, said) = with("ca", "cert", "key");
    assert_eq!(exit, 0, "{said}");
    for (ca, cert, key, exit, code) in [
        ("", "cert", "key", 5, "vplan::away::unreachable"),
        ("other-ca", "cert", "key", 5, "vplan::away::unreachable"),
        ("ca", "", "", 5, "vplan::away::unreachable"),
        (
            "ca",
            "other-cert",
            "other-key",
            5,
            "vplan::away::unreachable",
        ),
        ("no-pem", "", "", 5, "vplan::away::unusable"),
        ("absent", "", "", 5, "vplan::away::unusable"),
        ("ca", "key", "cert", 5, "vplan::away::unusable"),
        ("ca", "cert", "", 2, "--tls-key"),
        ("repo/ca", "cert", "key", 2, "vplan::usage::remote"),
    ] {
        let (ended, said) = with(ca, cert, key);
        assert_eq!(ended, exit, "{ca} {cert} {key}: {said}");
        assert!(said.contains(code), "{ca} {cert} {key}: {said}");
    }
}
