//! Steps that real servers of the Remote Execution API execute: buildbox-casd and BuildGrid.

pub mod casd;
mod grid;
mod wire;

use crate::away::{There, comparable, small_vplan};
use crate::shared_servers::{Fault, faulty};
use crate::support::process::Bounded as _;
use crate::support::{Ran, eventually};
use casd::{Casd, Refusing};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Child, Stdio};
use wire::Wire;

/// Returns the words of a run that has a server execute steps.
fn words<'w>(address: &'w str, more: &[&'w str]) -> Vec<&'w str> {
    let words = ["run", "--all", "--no-cache", "--keep-going"];
    let server = ["--remote", address, "--remote-binary", small_vplan()];
    [&words[..], &server, more].concat()
}

fn run(there: &There, address: &str, more: &[&str]) -> Ran {
    let more = [&["--format", "json"], more].concat();
    there.project.run(&words(address, &more))
}

/// Starts a run that goes on by itself.
fn begin(there: &There, address: &str) -> Child {
    let run = there.project.vplan(&words(address, &["--format", "json"]));
    let mut command = run.command();
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::null()).spawn().unwrap()
}

fn step<'r>(report: &'r Value, id: &str) -> &'r Value {
    let steps = report["steps"].as_array().unwrap();
    steps.iter().find(|step| step["id"] == id).unwrap()
}

fn statuses(report: &Value) -> String {
    let steps = report["steps"].as_array().unwrap();
    let word = |step: &'_ Value, key: &str| step[key].as_str().unwrap().to_owned();
    let both = steps
        .iter()
        .map(|step| word(step, "id") + ":" + &word(step, "status"));
    both.collect::<Vec<_>>().join(" ")
}

/// A check that sleeps only where a server executes it, where no time limit ends it.
const SLEEPS: &str =
    "vplan 1\n\ncheck slow {\n  run sh slow.sh\n  inputs \"slow.sh\"\n  timeout LIMIT\n}\n";
const SLEEP: &str = "test -e /vplan/order.json || exit 0\nsleep 43211 &\nsleep 43211\n";

fn sleeping(limit: &str) -> There {
    There::with(&SLEEPS.replace("LIMIT", limit), &[("slow.sh", SLEEP)])
}

/// A check that takes its time wherever it is executed.
const DOZES: &str =
    "vplan 1\n\ncheck dozes {\n  run sh -c 'echo dozed; sleep 4.3211'\n  inputs \"src/**\"\n}\n";

/// Whether a step of [`SLEEPS`] runs there.
fn sleeps(server: &Casd) -> bool {
    server.runs("sleep 43211")
}

/// Every way in which a step may end, and all that it may be given.
const ENDS: &str = r#"vplan 1

check passes {
  run true
  inputs "src/**"
}

check fails {
  run sh -c 'echo out; echo err >&2; exit 3'
  inputs "src/**"
}

check dies {
  run sh -c 'kill -9 $$'
  inputs "src/**"
}

check late {
  run sleep 1000
  inputs "src/**"
  timeout 100ms
}

check skips {
  run sh -c 'exit 7'
  inputs "src/**"
  skip-exit 7
}

check sevens {
  run sh -c 'exit 7'
  inputs "src/**"
  exit 7
}

check lacks {
  run no-such-program
  inputs "src/**"
}

check leaves {
  run sh -c 'sleep 1000 & exit 0'
  inputs "src/**"
}

check counts {
  test sh tap.sh
  inputs "tap.sh"
  format tap
}

check lints {
  lint sh -c 'echo "src/a:1:2: error: no"; exit 1'
  inputs "src/**"
}

check asks {
  run sh -c 'test "$OWN" = own && test "$ASKED" = asked && test -z "$OTHER"'
  inputs "src/**"
  env OWN=own
  pass-env ASKED
}

check within {
  run sh -c 'test -e a && test -e ../src/a'
  inputs "src/**"
  dir "src"
}

check files {
  run sh files.sh
  inputs "src/**" "deep/**" "files.sh"
}

check makes {
  run sh make.sh
  inputs "make.sh" "src/a"
  produces "out/**"
}
"#;

const FILES: &str = "set -e
test -x deep/er/tool
test ! -x src/a
test ! -s deep/empty
test \"$(readlink deep/link)\" = ../src/a
grep -qx ok deep/link
grep -qx ok deep/folder/a
test \"$(deep/er/tool)\" = tool
test ! -e /vplan/order.json || test ! -e README.md
";

fn with_files(contract: &str) -> There {
    let tap = "printf 'TAP version 13\\n1..2\\nok 1 - a\\nnot ok 2 - b\\n'; exit 1\n";
    let more = [("tap.sh", tap), ("files.sh", FILES), ("deep/empty", "")];
    let mut there = There::with(contract, &more);
    there.project = there.project.env("ASKED", "asked").env("OTHER", "x");
    let project = &there.project;
    project.script("deep/er/tool", "#!/bin/sh\necho tool\n");
    project.symlink("deep/link", "../src/a");
    project.symlink("deep/folder", "../src");
    project.commit("files");
    there
}

#[test]
fn a_report_is_the_same_wherever_its_steps_are_executed() {
    let Some(server) = Casd::start() else { return };
    let there = with_files(ENDS);
    let ran = run(&there, &server.address(), &[]);
    let elsewhere = ran.json();
    for step in elsewhere["steps"].as_array().unwrap() {
        assert_eq!(step["place"]["engine"], "reapi", "{step:#}");
    }
    let left = there.project.read("out/bin/tool");
    there.project.git(&["checkout", "-q", "."]);
    there.project.remove("out");
    let here = there.report_here(&["--keep-going"]);
    assert_eq!(left, there.project.read("out/bin/tool"));
    let statuses = statuses(&elsewhere);
    let of = |status: &str| statuses.matches(&format!(":{status}")).count();
    assert!(of("passed") > 5 && of("failed") > 3, "{statuses}");
    assert_eq!(comparable(elsewhere.clone()), comparable(here));
    eventually("nothing is left there", || {
        server.process.below().is_empty()
    });
}

#[test]
fn what_a_step_does_to_what_it_was_given_reaches_no_other() {
    let Some(server) = Casd::start() else { return };
    let contract = r#"vplan 1

check mends {
  run sh -c 'chmod u+w src/a src && echo mended > src/a'
  inputs "src/**"
}

check reads {
  run grep -qx ok src/a
  inputs "src/**"
}
"#;
    let there = There::with(contract, &[]);
    for _ in 0..2 {
        let report = run(&there, &server.address(), &["mends"]).json();
        assert_eq!(statuses(&report), "mends:failed", "{report:#}");
        assert_eq!(step(&report, "mends")["reason"], "mutated");
        assert_eq!(there.project.read("src/a"), "ok\n");
        let report = run(&there, &server.address(), &["reads"]).json();
        assert_eq!(statuses(&report), "reads:passed", "{report:#}");
    }
}

/// What a step makes is used there and here.
const CONTRACT: &str = r#"vplan 1

check makes {
  run sh make.sh
  inputs "make.sh" "src/**"
  produces "out/**"
}

check large {
  run sh -c 'mkdir made; yes "a line of it" | head -c 9000000 > made/large; : > made/empty'
  inputs "src/**"
  produces "made/**"
}

check there {
  run sh -c 'grep -qx ok out/text && test -x out/bin/tool && grep -qx ok out/link && test "$(wc -c < made/large)" = 9000000 && test -e made/empty'
  inputs "out/**" "made/**"
  needs makes large
}

check here {
  run sh -c 'grep -qx ok out/link && test -x out/bin/tool && test -e README.md && test -e made/empty'
  needs there
}
"#;

#[test]
fn what_a_step_makes_there_is_used_there_and_here() {
    let Some(server) = Casd::start() else { return };
    let there = There::with(CONTRACT, &[]);
    let report = run(&there, &server.address(), &[]).json();
    assert_eq!(report["verdict"], "passed", "{report:#}");
    let engine = |id| step(&report, id)["place"]["engine"].as_str().unwrap();
    let engines = ["makes", "large", "there", "here"].map(engine);
    assert_eq!(engines, ["reapi", "reapi", "reapi", "here"]);
    let project = &there.project;
    assert_eq!(project.read("out/text"), "ok\n");
    assert_eq!(
        project.read("made/large"),
        "a line of it\n".repeat(700_000)[..9_000_000]
    );
    assert_eq!(project.read("made/empty"), "");
    let log = project.run(&["log", "makes"]);
    log.exits(0).says("made");
}

#[test]
fn many_steps_are_executed_side_by_side() {
    let Some(server) = Casd::start() else { return };
    let check = |n: u32| {
        format!("\ncheck c{n} {{\n  run sh -c 'sleep 0.1; echo {n}'\n  inputs \"src/**\"\n}}\n")
    };
    let checks: String = (0..12).map(check).collect();
    let there = There::with(&format!("vplan 1\n{checks}"), &[]);
    let report = run(&there, &server.address(), &[]).json();
    assert_eq!(report["verdict"], "passed", "{report:#}");
    for step in report["steps"].as_array().unwrap() {
        assert_eq!(step["place"]["engine"], "reapi", "{step:#}");
        assert_eq!(step["place"]["orders"], 1, "{step:#}");
    }
}

#[test]
fn a_server_that_is_gone_in_the_middle_is_no_pass() {
    for fallback in ["none", "here"] {
        let Some(mut server) = Casd::start() else {
            return;
        };
        let there = sleeping("1h");
        let address = server.address();
        let all = words(
            &address,
            &["--format", "json", "--remote-fallback", fallback],
        );
        let mut command = there.project.vplan(&all).command();
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        eventually("it sleeps there", || sleeps(&server));
        server.process.kill();
        let ended = child.finished();
        let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
        let slow = step(&report, "slow");
        if fallback == "none" {
            assert_eq!(ended.status.code(), Some(5), "{report:#}");
            assert_eq!(
                (&slow["status"], &slow["reason"]),
                (&"errored".into(), &"away".into())
            );
            assert_eq!(slow["failureCode"], "verification_remote_unavailable");
        } else {
            assert_eq!(ended.status.code(), Some(0), "{report:#}");
            assert_eq!(slow["place"]["engine"], "here");
            let notes = report["notes"].as_array().unwrap();
            let note = notes.iter().find(|note| note["kind"] == "remote-fallback");
            let said = note.unwrap()["message"].as_str().unwrap();
            assert!(said.ends_with("no answer from elsewhere: `slow`"), "{said}");
        }
    }
}

#[test]
fn nothing_runs_there_once_a_run_is_over() {
    for (signal, limit, code) in [
        // Nothing but the cancellation ends it.
        (Signal::INT, "1h", Some(130)),
        (Signal::TERM, "1h", Some(143)),
        // Nothing but its limit.
        (Signal::KILL, "2s", None),
    ] {
        let Some(server) = Casd::start() else { return };
        let there = sleeping(limit);
        let mut child = begin(&there, &server.address());
        drop(child.stdout.take());
        eventually("it sleeps there", || sleeps(&server));
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.ended().code(), code, "{signal:?}");
        eventually("nothing is left there", || {
            server.process.below().is_empty()
        });
    }
}

#[test]
fn what_a_server_has_lost_is_sent_again() {
    let Some(server) = Casd::start() else { return };
    let lose = server.content(b"ok\n");
    let contract = format!(
        r#"vplan 1

check first {{
  run sh -c 'grep -qx ok src/a && mkdir -p made && : > made/first'
  inputs "src/**"
  produces "made/first"
}}

check loses {{
  run sh -c 'rm {} && : > made/mark'
  produces "made/mark"
  needs first
}}

check second {{
  run grep -qx ok src/a
  inputs "src/**" "made/**"
  needs loses
}}
"#,
        lose.display()
    );
    let there = There::with(&contract, &[]);
    let there = || run(&there, &server.address(), &[]);
    for _ in 0..2 {
        let report = there().json();
        assert_eq!(report["verdict"], "passed", "{report:#}");
        let place = &step(&report, "second")["place"];
        assert_eq!(
            (&place["engine"], &place["orders"]),
            (&"reapi".into(), &1.into())
        );
        assert_eq!(step(&report, "loses")["place"]["engine"], "here");
    }
    // Everything, between two runs.
    std::fs::read_dir(server.contents())
        .unwrap()
        .for_each(|folder| {
            for content in std::fs::read_dir(folder.unwrap().path()).unwrap() {
                std::fs::remove_file(content.unwrap().path()).unwrap();
            }
        });
    let report = there().json();
    assert_eq!(report["verdict"], "passed", "{report:#}");
}

#[test]
fn what_cannot_execute_steps_is_said_before_anything_runs() {
    let Some(server) = Casd::that_stores() else {
        return;
    };
    let contract =
        "vplan 1\n\ncheck here: touch ran\ncheck there {\n  run true\n  inputs \"src/**\"\n}\n";
    let there = There::with(contract, &[]);
    let nobody = Refusing::bind();
    // With `here`, steps of a server that is down are executed here: `unearned/confined.rs`.
    for (address, fallback, code) in [
        (&nobody.address(), "none", "vplan::away::unreachable"),
        (&server.address(), "none", "vplan::away::capabilities"),
        (&server.address(), "here", "vplan::away::capabilities"),
    ] {
        let more = ["--remote-fallback", fallback];
        let ran = there.project.run(&words(address, &more));
        ran.exits(5).warns(code);
        assert!(!there.project.exists("ran"));
    }
}

#[test]
fn a_connection_that_fails_in_the_middle_changes_nothing() {
    let Some(server) = Casd::start() else { return };
    let wire = Wire::to(server.port);
    let there = There::with(DOZES, &[]);
    let child = begin(&there, &wire.address());
    eventually("it runs there", || server.runs("sleep 4.3211"));
    wire.cut();
    let report: Value = serde_json::from_slice(&child.finished().stdout).unwrap();
    assert_eq!(report["verdict"], "passed", "{report:#}");
    // The same execution was waited for.
    assert_eq!(step(&report, "dozes")["place"]["orders"], 1);
}

#[test]
fn a_server_that_comes_back_executes_again() {
    let Some(mut server) = Casd::start() else {
        return;
    };
    let there = There::with(DOZES, &[]);
    let child = begin(&there, &server.address());
    eventually("it runs there", || server.runs("sleep 4.3211"));
    server.restart();
    let report: Value = serde_json::from_slice(&child.finished().stdout).unwrap();
    assert_eq!(report["verdict"], "passed", "{report:#}");
    assert_eq!(step(&report, "dozes")["place"]["engine"], "reapi");
}

#[test]
fn a_run_can_be_stopped_whatever_the_network_does() {
    let Some(server) = Casd::start() else { return };
    let there = sleeping("1h");
    for early in [true, false] {
        let wire = Wire::to(server.port);
        let mut child = begin(&there, &wire.address());
        drop(child.stdout.take());
        if early {
            eventually("something is sent", || wire.passed() > 1 << 20);
        } else {
            eventually("it sleeps there", || sleeps(&server));
        }
        wire.die();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        assert_eq!(child.ended().code(), Some(130));
    }
}

#[test]
fn a_network_that_fails_makes_no_pass() {
    let Some(server) = Casd::start() else { return };
    let there = There::with(
        "vplan 1\n\ncheck fails {\n  run sh -c 'exit 3'\n  inputs \"src/**\"\n}\n",
        &[],
    );
    for at in [9, 200, 2000] {
        let address = format!("grpc://127.0.0.1:{}", faulty(server.port, Fault::Cut(at)));
        let ran = run(&there, &address, &[]);
        // It says that it failed, or nothing that counts.
        let ends = [Some(5), Some(40)];
        assert!(ends.contains(&ran.exit), "{at}: {}{}", ran.out(), ran.err());
    }
}

#[test]
#[ignore = "takes minutes: `.ci/long servers` runs it"]
fn a_step_that_waits_for_a_place_has_all_its_time_still() {
    let Some(server) = Casd::with(1) else { return };
    let long = DOZES.replace("4.3211", "60.4321");
    let first = There::with(&long.replace("inputs", "timeout 1h\n  inputs"), &[]);
    let child = begin(&first, &server.address());
    eventually("it runs there", || server.runs("sleep 60.4321"));
    // Longer than after its limit nobody would wait for it any more.
    let limited = DOZES
        .replace("; sleep 4.3211", "")
        .replace("inputs", "timeout 5s\n  inputs");
    let second = There::with(&limited, &[]);
    let report = run(&second, &server.address(), &[]).json();
    assert_eq!(report["verdict"], "passed", "{report:#}");
    assert_eq!(step(&report, "dozes")["place"]["orders"], 1);
    assert_eq!(child.finished().status.code(), Some(0));
}

#[test]
#[ignore = "takes minutes: `.ci/long servers` runs it"]
fn whoever_freezes_there_is_ended_by_the_server() {
    let Some(server) = Casd::start() else { return };
    // All but the first process there, which no signal from within reaches, and itself.
    let freeze = [("slow.sh", "kill -STOP -1\nexec sleep 43211\n")];
    let there = There::with(&SLEEPS.replace("LIMIT", "1s"), &freeze);
    let ran = run(&there, &server.address(), &[]);
    ran.exits(5);
    assert_eq!(statuses(&ran.json()), "slow:errored");
    eventually("nothing is left there", || {
        server.process.below().is_empty()
    });
    let mut child = begin(&there, &server.address());
    drop(child.stdout.take());
    eventually("it sleeps there", || sleeps(&server));
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    assert_eq!(child.ended().code(), None);
    eventually("nothing is left there", || {
        server.process.below().is_empty()
    });
}
