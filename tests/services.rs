//! Services: what runs beside checks is there when they run, is gone when they are over, whatever
//! ends them, and never makes a check pass or fail that it did not.

use crate::support::Project;
use crate::support::process::{Bounded, eventually};
use crate::support::tree::have;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::Path;

/// A service that writes its number and that of a child that has left it, and goes on.
const SERVE: &str = "#!/bin/sh\nset -eu\n(setsid sleep 1000 & echo $! >\"$1/pids\")\necho $$ >>\"$1/pids\"\ntouch \"$1/up\"\nwhile :; do sleep 1; done\n";

/// A project with that service, and these further lines.
fn project(lines: &str) -> Project {
    let contract = format!(
        "vplan 1\n\
         service up {{\n  run ./serve ./out {{port}}\n  ready file \"out/up\"\n}}\n{lines}"
    );
    let project = Project::git_with(&[
        ("contracts/verify.vplan", &contract),
        (".gitignore", "out/\n"),
    ]);
    project.script("serve", SERVE).mkdir("out");
    project.commit("a service");
    project
}

/// The processes that the service has started.
fn pids(project: &Project) -> Vec<i32> {
    let text = project.read("out/pids");
    let pids: Vec<i32> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    pids
}

fn is_there(pid: i32) -> bool {
    // A zombie of somebody else is no process any more.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .map(|(_, rest)| rest.starts_with('Z'));
    Path::new(&format!("/proc/{pid}")).exists() && state == Some(false)
}

fn statuses(report: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let step = |step: &Value| {
        (
            text(&step["id"]),
            text(&step["status"]),
            text(&step["reason"]),
        )
    };
    report["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(step)
        .collect()
}

#[test]
fn a_server_of_python_is_beside_its_checks() {
    if !have(&["python3", "curl"]) {
        return;
    }
    let project = Project::contract(
        r#"vplan 1
service web: python3 -u -m http.server {port} --bind 127.0.0.1 --directory {tmp}
check one {
  run curl -sSf http://127.0.0.1:{port}/
  with web
}
check two {
  shell test -d "$DIR" && touch "$DIR/made" && curl -sSf "http://127.0.0.1:$PORT/made"
  env DIR={web.tmp}
  env PORT={web.port}
  with web
}
"#,
    );
    let plan = project.run(&["plan", "--all", "--format", "json"]);
    let ran = project.run(&["run", "--all", "--format", "json"]);
    ran.exits(0);
    // The plan holds the hole.
    let digest = plan.json()["digest"].clone();
    assert_eq!(ran.json()["planDigest"], digest);
    let step = &plan.json()["steps"][0];
    assert_eq!(step["argv"][2], "http://127.0.0.1:{web.port}/");
    assert_eq!(step["with"][0]["name"], "web");
    assert_eq!(step["with"][0]["line"], 2);
    assert_eq!(step["with"][0]["ready"]["tcp"], "{port}");
    assert_eq!(step["with"][0]["argv"][4], "{port}");
    // Both forms of the plan hold it, and it runs as it was saved.
    for file in ["plan.json", "plan.kdl"] {
        project.run(&["plan", "--all", "-o", file]).exits(0);
        project.run(&["run", "--plan", file]).exits(0);
        project.remove(file);
    }
    // One server answered both checks, and its log is kept.
    let log = project.run(&["log", "web"]);
    log.exits(0).says("GET / HTTP").says("GET /made HTTP");
    project
        .run(&["explain", "--all"])
        .says("with   web (line 2): python3 -u -m http.server '{port}'")
        .says("ready when something");
    project
        .run(&["explain", "one", "--all"])
        .says("with web (line 2): python3");
    project
        .run(&["explain", "--all", "--format", "shell"])
        .says("# not for a shell");
}

#[test]
fn what_a_dead_service_does_to_its_checks() {
    let project = Project::contract(
        r#"vplan 1
service dead: sh -c 'echo one; echo two >&2; exit 3'
service late {
  run sh -c 'echo starting; sleep 1000'
  ready line "never"
  timeout 300ms
}
service dies {
  run sh -c 'echo $$ >"$1/pid"; touch "$1/up"; while ! test -e "$1/go"; do sleep 0.02; done; echo bye' x {tmp}
  ready file "{tmp}/up"
}
service missing: no-such-program-here
service asked {
  run sleep 1000
  ready run no-such-probe-here
}
# It waits, since its service is not ready by anything but having been started, and may outlive `true`.
check beside-dead {
  run sleep 1000
  with dead
}
check beside-late {
  run true
  with late
}
# It fails because its service goes, and is stopped where it would wait.
check killer {
  shell touch "$TMP/go"; sleep 1000
  env TMP={tmp}
  with dies
  retries 2
}
check after {
  run true
  with dies
}
check missed {
  run true
  with missing
}
check unasked {
  run true
  with asked
}
check alone: true
"#,
    );
    let ran = project.run(&["run", "--all", "--keep-going", "--format", "json"]);
    ran.exits(5);
    let found = statuses(&ran.json());
    for (id, status, reason) in &found {
        let want = if id == "alone" {
            ("passed", "")
        } else {
            ("errored", "service")
        };
        assert_eq!((status.as_str(), reason.as_str()), want, "{id}");
    }
    assert_eq!(found.len(), 7);
    let told = project.run(&["run", "--all", "--keep-going"]);
    told.says("the service `dead` ended with exit code 3; its last lines: one / two")
        .says("the service `late` was not ready within 300ms; its last lines: starting")
        .says("the service `dies` ended with exit code 0; its last lines: bye")
        .says("the service `missing` could not be started")
        .says("whether the service `asked` is ready could not be started");
    project.run(&["log", "dead"]).exits(0).says("one");
    // The first one that fails in time: what a check does just before its service is gone.
    let quick = project.read("contracts/verify.vplan").replace(
        "sleep 1000\n  env",
        "while kill -0 \"$(cat \"$TMP/pid\")\"; do sleep 0.02; done; exit 1\n  env",
    );
    project.write("contracts/verify.vplan", quick);
    let ran = project.run(&["run", "--all", "--only", "killer", "--format", "json"]);
    assert_eq!(statuses(&ran.json())[0].1, "errored");
}

#[test]
fn a_service_is_ready_when_it_says_so() {
    let project = Project::contract(
        r#"vplan 1
service printed {
  run sh -c 'printf "not yet\nlisten"; sleep 0.3; echo "ing on 1"; sleep 1000'
  ready line "listening on"
}
service asked {
  run sh -c 'sleep 0.3; touch "$1/x"; sleep 1000' x {tmp}
  ready run test -e {tmp}/x
  env WORD=a
}
# Its own time is short: that until the services are ready is no part of it.
check beside {
  shell test -e "$A/x" && test -z "${WORD-}"
  env A={asked.tmp}
  with printed asked
  timeout 10s
}
check short {
  run sleep 100
  with asked
  timeout 200ms
}
"#,
    );
    let ran = project.run(&["run", "--all", "--keep-going", "--format", "json"]);
    let found = statuses(&ran.json());
    let of = |n: usize| (found[n].0.as_str(), found[n].1.as_str());
    assert_eq!(
        [of(0), of(1)],
        [("beside", "passed"), ("short", "timed_out")]
    );
    ran.exits(43);
}

#[test]
fn nothing_of_a_service_outlives_the_run() {
    let wait = "check wait {\n  shell touch out/began; sleep 1000\n  with up\n}\n";
    // vplan is told to end, to end at once, and killed.
    for (signals, code) in [
        (&[Signal::INT][..], Some(130)),
        (&[Signal::TERM, Signal::TERM], Some(143)),
        (&[Signal::KILL], None),
    ] {
        let project = project(wait);
        let mut child = project.vplan(&["run", "--all"]).command().spawn().unwrap();
        eventually("the check runs", || project.exists("out/began"));
        let pids = pids(&project);
        assert!(pids.iter().all(|pid| is_there(*pid)));
        for signal in signals {
            kill_process(Pid::from_child(&child), *signal).unwrap();
        }
        assert_eq!(child.ended().code(), code, "{signals:?}");
        eventually("no process is left", || {
            !pids.iter().any(|pid| is_there(*pid))
        });
    }
    for (lines, code) in [
        ("check a {\n  run true\n  with up\n}\n", 0),
        ("check a {\n  run false\n  with up\n}\n", 40),
        (
            "limits {\n  budget 2s\n}\ncheck a {\n  run sleep 100\n  with up\n}\n",
            43,
        ),
        ("check a {\n  run true\n  with up\n}\ncheck b: false\n", 40),
    ] {
        let project = project(lines);
        project.run(&["run", "--all"]).exits(code);
        let pids = pids(&project);
        assert!(!pids.iter().any(|pid| is_there(*pid)), "{lines}");
    }
}

#[test]
fn a_service_is_stopped_when_the_last_check_beside_it_is_over() {
    let project = project(
        "check first {\n  shell kill -0 $(cat out/pids)\n  with up\n}\n\
         check second {\n  shell kill -0 $(cat out/pids) && test $(wc -l <out/pids) = 2\n  with up\n}\n\
         check last: sh -c 'for n in 1 2 3 4 5 6 7 8 9; do kill -0 $(cat out/pids) 2>/dev/null || exit 0; sleep 1; done; exit 1'\n\
         sequence second -> last\n",
    );
    project.run(&["run", "--all"]).exits(0);
}

#[test]
fn checks_with_one_service_never_run_side_by_side() {
    let beside = |name: &str, with: &str, lock: &str| {
        format!(
            "check {name} {{\n  shell mkdir out/{lock} && sleep 0.3 && rmdir out/{lock}\n  with {with}\n}}\n"
        )
    };
    let lines = [
        "service other: sleep 1000\n".to_owned(),
        beside("a", "up", "x"),
        beside("b", "up other", "x"),
        beside("c", "other", "y"),
        "limits {\n  jobs 4\n}\n".to_owned(),
    ];
    let project = project(&lines.concat());
    project.run(&["run", "--all"]).exits(0);
}

#[test]
fn two_runs_live_side_by_side() {
    if !have(&["python3", "curl"]) {
        return;
    }
    let text = "vplan 1\nservice web: python3 -m http.server {port} --bind 127.0.0.1\n\
                check a {\n  shell echo \"$PORT\" >port; while ! test -e go; do sleep 0.05; done; curl -sSf \"http://127.0.0.1:$PORT/go\"\n  env PORT={port}\n  with web\n}\n";
    let projects = [(); 2].map(|()| {
        let project = Project::git_with(&[
            ("contracts/verify.vplan", text),
            (".gitignore", "port\ngo\n"),
        ]);
        project.commit("again");
        project
    });
    let mut children: Vec<_> = projects
        .iter()
        .map(|project| project.vplan(&["run", "--all"]).command().spawn().unwrap())
        .collect();
    for project in &projects {
        eventually("it runs", || {
            project.exists("port") && !project.read("port").is_empty()
        });
    }
    let ports: Vec<String> = projects
        .iter()
        .map(|project| project.read("port"))
        .collect();
    assert_ne!(ports[0], ports[1]);
    for project in &projects {
        project.write("go", "1");
    }
    for child in &mut children {
        assert_eq!(child.ended().code(), Some(0));
    }
}

#[test]
fn what_a_contract_says_of_services() {
    let project = Project::contract("vplan 1\ncheck a: true\n");
    project.mkdir("apps/web").write(
        "lib.vplan",
        "vplan 1\ncheck fetch: true\nservice db {\n  run ./db {port} {db.tmp}\n  needs fetch\n}\n\
         check q {\n  run ./q {db.port}\n  with db\n}\n",
    );
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nimport \"../lib.vplan\" as web at \"apps/web\"\n\
         check own {\n  run ./own {db.port} \"x{web/db.tmp}\"\n  env A=p{port}\n  with web/db\n}\n",
    );
    let plan = project.run(&["plan", "--all", "--format", "json"]).json();
    let steps = plan["steps"].as_array().unwrap();
    let ids: Vec<&str> = steps.iter().map(|s| s["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["web/fetch", "web/q", "own"]);
    assert_eq!(steps[1]["argv"][1], "{web/db.port}");
    assert_eq!(steps[1]["with"][0]["dir"], "apps/web");
    assert_eq!(steps[1]["with"][0]["argv"][2], "{tmp}");
    assert_eq!(steps[1]["with"][0]["file"], "lib.vplan");
    assert_eq!(steps[2]["argv"][2], "x{web/db.tmp}");
    assert_eq!(steps[2]["env"]["A"], "p{web/db.port}");
    assert_eq!(steps[2]["needs"][0], "web/fetch");
    // Only the check: what prepares its service comes along.
    let only = project
        .run(&["plan", "--all", "--only", "own", "--format", "json"])
        .json();
    assert_eq!(only["steps"].as_array().unwrap().len(), 2);

    // A check with several services is named once.
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nservice a: no-such-program\nservice b: no-such-program\n\
         check one {\n  run true\n  with a b\n}\ncheck two {\n  run true\n  with a b\n}\n",
    );
    let warned = project.run(&["check"]);
    warned
        .exits(0)
        .warns("`no-such-program` is not on the PATH");
    assert_eq!(warned.err().matches("the same holds for").count(), 0);

    let check = "check a {\n  run x\n  with db\n}\n";
    for (text, code, help) in [
        (
            "check a {\n  run x {port}\n}\n",
            "contract::unknown_service",
            "write `with NAME`",
        ),
        (
            "service db: y\ncheck a {\n  run x {port}\n}\n",
            "contract::unknown_service",
            "write `with db`",
        ),
        (
            "check a {\n  run x {db.port}\n}\n",
            "contract::unknown_service",
            "write `with db`",
        ),
        (
            "service db: y\nservice c: y\ncheck a {\n  run x {port}\n  with db c\n}\n",
            "contract::unknown_service",
            "write `{c.port}`",
        ),
        (
            "service db: y\ncheck a {\n  run x\n  env P={cb.port}\n  with db\n}\n",
            "contract::unknown_service",
            "write `{db.port}`",
        ),
        (
            "check a {\n  run x\n  with db\n}\n",
            "contract::unknown_service",
            "write `service db: COMMAND`",
        ),
        (
            "service db: y {c.port}\nCHECK",
            "contract::unknown_service",
            "write `{port}`",
        ),
        (
            "service db: y\nservice db: z\nCHECK",
            "contract::duplicate_name",
            "another name",
        ),
        (
            "service db {\n  timeout 5m\n}\nCHECK",
            "contract::no_verb",
            "run COMMAND",
        ),
        (
            "service db {\n  run y\n  run z\n}\nCHECK",
            "contract::several_verbs",
            "two services",
        ),
        (
            "service db {\n  run y\n  ready tcp 1\n  ready tcp 2\n}\nCHECK",
            "contract::duplicate_line",
            "keep one",
        ),
        (
            "service db: y {changed}\nCHECK",
            "contract::changed_misplaced",
            "hand the files",
        ),
        (
            "service db {\n  run y\n  retries 2\n}\nCHECK",
            "lang::misplaced_statement",
            "",
        ),
        (
            "service db {\n  test y\n}\nCHECK",
            "lang::misplaced_statement",
            "",
        ),
        (
            "service db {\n  run y\n  ready \"a b\"\n}\nCHECK",
            "lang::ready_form",
            "write `ready line \"a b\"`",
        ),
        (
            "service db {\n  run y\n  ready tcp 0\n}\nCHECK",
            "lang::ready_form",
            "write `ready tcp {port}`",
        ),
        (
            "service db {\n  run y\n  ready\n}\nCHECK",
            "lang::ready_form",
            "write `ready tcp {port}`",
        ),
        (
            "service db {\n  run y\n  ready run\n}\nCHECK",
            "lang::command_empty",
            "",
        ),
        ("service db{x}: y\nCHECK", "lang::unknown_hole", ""),
        (
            "each x in 1 2 {\n  service db-{x}: y {x}\n}\nCHECK",
            "lang::hole_place",
            "without a hole",
        ),
        (
            "each x in 1 2 {\n  service db: y {x}\n}\nCHECK",
            "contract::duplicate_name",
            "rows differ",
        ),
        ("check a: x {port}\n", "lang::unknown_hole", "with NAME"),
        (
            "check a: x --port={db.port}\n",
            "lang::unknown_hole",
            "with NAME",
        ),
        (
            "service db: y\ncheck a {\n  run x '{port}'\n  with db\n}\n",
            "lang::hole_place",
            "outside of '…'",
        ),
        (
            "service db: y\ncheck a {\n  shell x {port}\n  with db\n}\n",
            "lang::hole_place",
            "$PORT",
        ),
        (
            "service db: y\neach n v in a '{port}', b c {\n  check c-{n} {\n    run x {v}\n    with db\n  }\n}\n",
            "lang::hole_place",
            "",
        ),
        (
            "service db: y\ncheck a {\n  file \"x\" {\n    exists\n  }\n  with db\n}\n",
            "contract::foreign_setting",
            "",
        ),
        (
            "service db {\n  run y\n  needs a\n}\nCHECK",
            "contract::cycle",
            "",
        ),
        (
            "service db y\nCHECK",
            "lang::unexpected_argument",
            "`service db: y`",
        ),
        (
            "service db : y\nCHECK",
            "lang::check_colon",
            "write `service db: y`",
        ),
        (
            "service db\nCHECK",
            "lang::missing_argument",
            "`service NAME: COMMAND`",
        ),
    ] {
        project.write(
            "contracts/verify.vplan",
            format!("vplan 1\n{}", text.replace("CHECK", check)),
        );
        let ran = project.run(&["check"]);
        ran.exits(3).warns(&format!("vplan::{code}")).warns(help);
    }
    for text in [
        // Elsewhere the text is text.
        "check a: x '{port}'\n",
        "check a: x --format=%{tmp_file}\n",
        // An `each` may hold one, for all its rows alike.
        "each x in 1 2 {\n  service db: y {port}\n  check a-{x} {\n    run z {x} {port}\n    with db\n  }\n}\n",
        "service db {\n  run y\n  ready file \"{tmp}/s\"\n  ready-not\n}\n",
    ] {
        project.write("contracts/verify.vplan", format!("vplan 1\n{text}"));
        let ran = project.run(&["check"]);
        ran.exits(if text.contains("ready-not") { 3 } else { 0 });
    }
}

#[test]
fn what_two_contracts_differ_in() {
    let project = Project::contract("vplan 1\ncheck a: true\n");
    let contract =
        |service: &str, with: &str| format!("vplan 1\n{service}check a {{\n  run x\n{with}}}\n");
    let beside = contract("service db: y {port}\n", "  with db\n");
    for (name, text, says) in [
        (
            "same.vplan",
            contract("\n\nservice db: y {port}\n", "  with db\n"),
            None,
        ),
        (
            "other.vplan",
            contract("service db: z {port}\n", "  with db\n"),
            Some("not decided"),
        ),
        ("gone.vplan", contract("", ""), Some("not decided")),
        (
            "ready.vplan",
            contract(
                "service db {\n  run y {port}\n  ready line \"x\"\n}\n",
                "  with db\n",
            ),
            Some("not decided"),
        ),
    ] {
        project.write("a.vplan", &beside).write(name, text);
        let ran = project.run(&["diff", "a.vplan", name]);
        match says {
            Some(says) => _ = ran.says(says).says("with"),
            None => _ = ran.exits(0).never_says("with"),
        }
    }
    // What it starts is looked for, as what a check starts.
    project.write(
        "contracts/verify.vplan",
        contract("service db: no-such-program-here {port}\n", "  with db\n"),
    );
    project
        .run(&["check"])
        .exits(0)
        .warns("vplan::repository::program_not_found")
        .warns("no-such-program-here");
    // The one layout.
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nservice db {\n   needs  a\n env B=1\n  ready  file   '{x}'\n  run  y   {port}\n}\ncheck a: b\ncheck c {\n with db\n run z\n}\n",
    );
    project.run(&["fmt"]).exits(0);
    assert_eq!(
        project.read("contracts/verify.vplan"),
        "vplan 1\nservice db {\n  run y {port}\n  ready file '{x}'\n  env B=1\n  needs a\n}\ncheck a: b\ncheck c {\n  run z\n  with db\n}\n"
    );
}

#[test]
fn a_repaired_plan_and_a_fix_keep_their_services() {
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            r#"vplan 1
service up: sh -c 'touch "$1/up"; sleep 1000' x {tmp}
check gone {
  run npm run nope
  optional
  with up
}
check mended {
  shell test -e "$TMP" && test -e made
  fix sh -c 'test -d "$1" && touch made' x {tmp}
  env TMP={tmp}
  writes "made"
  with up
}
"#,
        ),
        ("package.json", "{\"scripts\":{}}\n"),
    ]);
    if !have(&["npm"]) {
        return;
    }
    let ran = project.run(&[
        "run",
        "--changed",
        "x",
        "--no-preflight",
        "--keep-going",
        "--format",
        "json",
    ]);
    let report = ran.json();
    assert_eq!(
        report["rewrites"][0]["recoveryRule"], "drop-missing-script",
        "{report}"
    );
    assert_eq!(statuses(&report)[0].1, "failed");
    project.run(&["fix", "mended"]).exits(0);
    assert!(project.exists("made"));
}

#[test]
fn a_service_whose_port_somebody_took_gets_another_one() {
    if !have(&["python3", "curl"]) {
        return;
    }
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\nservice web {\n  run ./serve {port}\n  ready line \"Serving HTTP\"\n}\n\
             check a {\n  run curl -sSf http://127.0.0.1:{port}/serve\n  with web\n}\n",
        ),
        (".gitignore", "out/\n"),
    ]);
    project.mkdir("out").script(
        "serve",
        "#!/bin/sh\nif ! test -e out/port; then\n  echo $1 >out/new && mv out/new out/port\n  while ! test -e out/taken; do sleep 0.02; done\n  echo 'address in use' >&2\n  exit 1\nfi\n\
         echo $1 >out/second\nexec python3 -u -m http.server $1 --bind 127.0.0.1\n",
    );
    project.commit("a server");
    let mut child = project.vplan(&["run", "--all"]).command().spawn().unwrap();
    eventually("a port is chosen", || project.exists("out/port"));
    let port: u16 = project.read("out/port").trim().parse().unwrap();
    // Whoever has it does not answer as the service would.
    let taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    project.write("out/taken", "");
    let code = child.ended().code();
    drop(taken);
    let second = project.read("out/second");
    assert_ne!(second.trim(), port.to_string());
    assert_eq!(code, Some(0));
}

#[test]
fn the_log_of_a_service_keeps_no_secret() {
    let project = Project::contract(
        "vplan 1\nservice up {\n  run sh -c 'echo got $DEPLOY_TOKEN; exit 1'\n  ready line \"never\"\n}\n\
         check a {\n  run true\n  with up\n}\n",
    )
    .env("DEPLOY_TOKEN", "a-secret-of-many-bytes");
    let ran = project.run(&["run", "--all", "--inherit-env"]);
    ran.exits(5)
        .says("got ***")
        .never_says("a-secret-of-many-bytes");
    project
        .run(&["log", "up"])
        .says("got ***")
        .never_says("a-secret-of-many-bytes");
    // Without that it has no secret at all.
    project
        .run(&["run", "--all"])
        .exits(5)
        .says("its last lines: got");
}

#[test]
fn a_step_beside_a_service_is_never_reused() {
    let project = Project::contract(
        "vplan 1\nservice up: sleep 1000\ncheck a {\n  run true\n  inputs \"contracts/**\"\n  with up\n}\n",
    );
    for _ in 0..2 {
        let ran = project.run(&["run", "--all", "--format", "json"]);
        ran.exits(0);
        assert_eq!(statuses(&ran.json())[0].1, "passed");
    }
}

/// Databases from Debian's packages, as an application has them.
#[test]
fn databases_are_beside_their_checks() {
    if !have(&["redis-server", "redis-cli", "psql"]) {
        return;
    }
    let project = Project::contract(
        r#"vplan 1
service cache {
  run redis-server --port {port} --bind 127.0.0.1 --dir {tmp} --save ""
  ready line "Ready to accept connections"
}
service db {
  run ./postgres {tmp} {port}
  ready run psql -h 127.0.0.1 -p {port} -U check -c "select 1" postgres
  timeout 2m
}
check redis {
  run redis-cli -h 127.0.0.1 -p {port} set a b
  with cache
}
check sql {
  test psql -h 127.0.0.1 -p {db.port} -U check -v ON_ERROR_STOP=1 -c "create table t (a int)" postgres
  min-tests 0
  with db cache
}
"#,
    );
    // PostgreSQL refuses to be root's.
    project.script(
        "postgres",
        "#!/bin/sh\nset -eu\nfor bin in /usr/lib/postgresql/*/bin; do PATH=$bin:$PATH; done\nas=\nif [ \"$(id -u)\" = 0 ]; then chown postgres \"$1\"; as='setpriv --reuid=postgres --regid=postgres --clear-groups'; fi\n\
         $as initdb -D \"$1/data\" -A trust -U check --no-sync >&2\nexec $as postgres -D \"$1/data\" -k \"$1\" -h 127.0.0.1 -p \"$2\" -F\n",
    );
    project.commit("a script");
    project
        .run(&["run", "--all", "--keep-capabilities"])
        .exits(0);
    project
        .run(&["log", "cache"])
        .says("Ready to accept connections");
    project.run(&["log", "db"]).says("database system is ready");
}
