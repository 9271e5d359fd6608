//! Steps that are executed elsewhere, end to end: the transport copies folders.

use crate::support::process::Bounded as _;
use crate::support::{Project, Ran, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// A check that makes a file, one that uses it, and one that stays.
const CONTRACT: &str = r#"vplan 1

check makes {
  run sh make.sh
  inputs "make.sh" "src/**"
  produces "out/**"
}

check uses {
  run sh -c 'grep -q ok out/text && test -x out/bin/tool && test ! -e README.md'
  inputs "out/**"
  needs makes
}

check stays {
  run test -e README.md
}
"#;

const MAKE: &str = "mkdir -p out/bin; cp src/a out/text; cp src/a out/bin/tool; chmod 700 out/bin/tool; ln -s text out/link; echo made\n";

/// The vplan that executes steps: this one without what only a debugger reads.
pub fn small_vplan() -> &'static str {
    static BINARY: OnceLock<String> = OnceLock::new();
    BINARY.get_or_init(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let own = folder.join(format!("vplan-away-{}", std::process::id()));
        let mut strip = Command::new("strip");
        strip.arg("-o").arg(&own).arg(env!("CARGO_BIN_EXE_vplan"));
        assert!(strip.status().unwrap().success());
        // Whoever else makes it meanwhile makes the same.
        let binary = folder.join("vplan-away");
        std::fs::rename(own, &binary).unwrap();
        binary.to_str().unwrap().to_owned()
    })
}

/// A project, and where its steps are executed: in a folder for tries, if nothing else is said.
pub struct There {
    /// The project.
    pub project: Project,
    folder: tempfile::TempDir,
    server: Option<String>,
}

impl There {
    fn new(contract: &str) -> Self {
        Self::with(contract, &[])
    }

    /// Makes a project with a contract and more files.
    pub fn with(contract: &str, more: &[(&str, &str)]) -> Self {
        let files = [
            ("contracts/verify.vplan", contract),
            ("make.sh", MAKE),
            ("src/a", "ok\n"),
            ("README.md", "x\n"),
            (".gitignore", "/out\n/made\n"),
        ];
        let project = Project::git_with(&[&files[..], more].concat());
        let folder = tempfile::tempdir().unwrap();
        Self {
            project,
            folder,
            server: None,
        }
    }

    /// Has a server execute its steps.
    pub fn by(self, server: &str) -> Self {
        Self {
            server: Some(server.to_owned()),
            ..self
        }
    }

    fn words(&self, more: &[&str]) -> Vec<String> {
        let folder = format!("folder:{}", self.folder.path().display());
        let url = self.server.as_ref().unwrap_or(&folder);
        let mut words = vec!["run", "--all", "--no-cache", "--remote", url];
        if self.server.is_some() {
            words.extend(["--remote-binary", small_vplan()]);
        }
        let words = words.iter().chain(more);
        words.map(|word| (*word).to_owned()).collect()
    }

    fn run(&self, more: &[&str]) -> Ran {
        self.project.run(&self.words(more))
    }

    /// The report of a run with steps elsewhere.
    pub fn report(&self, more: &[&str]) -> Value {
        self.run(&[more, &["--format", "json"]].concat()).json()
    }

    /// The report of a run here.
    pub fn report_here(&self, more: &[&str]) -> Value {
        let words = ["run", "--all", "--no-cache", "--format", "json"];
        self.project.run(&[&words, more].concat()).json()
    }

    /// A program in the place of the vplan that executes steps.
    fn binary(&self, script: &str) -> String {
        let path = self.project.parent().join("other-vplan");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// What is left of tries.
    pub fn left(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Whether a process works in the folder of a try.
    fn is_busy(&self) -> bool {
        let folder = self.folder.path().canonicalize().unwrap();
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let mut dirs = all.filter_map(|entry| std::fs::read_link(entry.path().join("cwd")).ok());
        dirs.any(|dir| dir.starts_with(&folder))
    }
}

fn shown(ran: &Ran) -> String {
    format!("{}{}", ran.out(), ran.err())
}

fn step<'r>(report: &'r Value, id: &str) -> &'r Value {
    let steps = report["steps"].as_array().unwrap();
    steps.iter().find(|step| step["id"] == id).unwrap()
}

/// What of a report depends on the run, or on where its steps were executed.
const APART: [&str; 11] = [
    "differs",
    "durationMs",
    "endedAt",
    "inputs",
    "log",
    "notReused",
    "place",
    "program",
    "runId",
    "startedAt",
    "tree",
];

/// Takes that out of a report.
pub fn comparable(mut value: Value) -> Value {
    match &mut value {
        Value::Object(object) => {
            object.retain(|key, _| !APART.contains(&key.as_str()));
            for value in object.values_mut() {
                *value = comparable(value.take());
            }
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|value| *value = comparable(value.take())),
        _ => {}
    }
    value
}

#[test]
fn a_step_that_says_what_it_depends_on_is_executed_elsewhere() {
    let there = There::new(CONTRACT);
    let report = there.report(&[]);
    assert_eq!(report["verdict"], "passed", "{report:#}");
    for id in ["makes", "uses"] {
        let place = &step(&report, id)["place"];
        assert_eq!(
            (&place["engine"], &place["orders"]),
            (&"folder".into(), &1.into())
        );
        assert_eq!(
            step(&report, id)["program"]["path"]
                .as_str()
                .map(|p| p.ends_with("/sh")),
            Some(true)
        );
    }
    let stays = &step(&report, "stays")["place"];
    assert_eq!(stays["engine"], "here");
    assert_eq!(stays["reason"], "it has no `inputs`");
    assert_eq!(there.project.read("out/text"), "ok\n");
    assert_eq!(there.project.read("out/link"), "ok\n");
    let mode = |path: &str| {
        there
            .project
            .path(path)
            .metadata()
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(
        (mode("out/bin/tool") & 0o777, mode("out/text") & 0o777),
        (0o755, 0o644)
    );
    assert!(there.left().is_empty(), "{:?}", there.left());
    let log = step(&report, "makes")["log"].as_str().unwrap();
    let runs = there.project.path(".vplan/runs");
    let log = std::fs::read_to_string(runs.join(report["runId"].as_str().unwrap()).join(log));
    assert!(log.unwrap().contains("made"));
    // Where nothing is to be executed elsewhere, nothing is said of places.
    let here = there.report_here(&[]);
    assert!(step(&here, "stays").get("place").is_none());
}

#[test]
fn a_report_is_the_same_wherever_its_steps_are_executed() {
    // How a step may end, and what its check says.
    let ends: [(&str, &str); 11] = [
        ("run true", ""),
        ("run sh -c 'echo out; echo err >&2; exit 3'", ""),
        ("run sh -c 'kill -9 $$'", ""),
        ("run sleep 100", "timeout 50ms"),
        ("run sh -c 'exit 7'", "skip-exit 7"),
        ("run sh -c 'exit 7'", "exit 7"),
        ("run no-such-program", ""),
        ("run sh -c 'sleep 100 & exit 0'", ""),
        ("test sh tap.sh", "format tap"),
        ("lint sh -c 'echo \"src/a:1:2: error: no\"; exit 1'", ""),
        (
            "run sh -c 'test \"$OWN\" = own && test \"$ASKED\" = asked'",
            "env OWN=own\n  pass-env ASKED",
        ),
    ];
    for (command, more) in ends {
        let contract = format!(
            "vplan 1\n\ncheck one {{\n  {command}\n  inputs \"src/**\" \"tap.sh\"\n  {more}\n}}\n"
        );
        let tap = "printf 'TAP version 13\\n1..2\\nok 1 - a\\nnot ok 2 - b\\n'; exit 1\n";
        let there = There::with(&contract, &[("tap.sh", tap)]);
        let there = There {
            project: there.project.env("ASKED", "asked"),
            ..there
        };
        let elsewhere = there.report(&[]);
        assert_eq!(
            step(&elsewhere, "one")["place"]["engine"],
            "folder",
            "{command}"
        );
        there.project.git(&["checkout", "-q", "."]);
        let here = there.report_here(&[]);
        assert_eq!(comparable(elsewhere), comparable(here), "{command}");
    }
}

#[test]
fn no_answer_is_no_pass_and_leaves_nothing() {
    let there = There::new(CONTRACT);
    let own = env!("CARGO_BIN_EXE_vplan");
    // A worker that lies: what it does in the folder of a try once vplan has answered, or instead.
    let changed = |script: &str| {
        format!(
            "{own} step \"$2\" || exit $?\npython3 - <<'PY'\nimport json, os\na = json.load(open('answer.json'))\n{script}\njson.dump(a, open('answer.json', 'w'))\nPY"
        )
    };
    let lies = [
        "exit 0".to_owned(),
        "exit 5".to_owned(),
        "kill -9 $$".to_owned(),
        "echo '{}' > answer.json".to_owned(),
        format!("{own} step \"$2\" && head -c 200 answer.json > torn && mv torn answer.json"),
        format!("{own} step \"$2\" && rm answer.json"),
        format!("{own} step \"$2\" && mv answer.json x && ln -s x answer.json"),
        changed("a['nonce'] = '0' * 32"),
        changed("a['order'] = 'sha256:' + '0' * 64"),
        changed("a['vplan'] = '0.0.1'"),
        changed("a['more'] = 1"),
        changed(
            "a['evidence']['earlier'] = {'runId': 'x', 'step': 'makes', 'at': '', 'durationMs': 0}",
        ),
        changed("open('out/out/text', 'w').write('other\\n')"),
        changed("os.remove('out/out/text')"),
        changed("os.remove('out/out/text'); os.symlink('/etc/passwd', 'out/out/text')"),
        changed("a['products'][0]['path'] = 'src/a'"),
        changed("a['products'][0]['path'] = '.git/hooks/pre-commit'"),
        changed(
            "import pathlib\nfor p in a['products']:\n  if p['path'] == 'out/link': p['print']['link'] = '../../../etc/passwd'",
        ),
    ];
    for lie in lies {
        let binary = there.binary(&lie);
        let ran = there.run(&["--remote-binary", &binary, "--format", "json"]);
        let report = ran.json();
        let makes = step(&report, "makes");
        assert_eq!(ran.exit.unwrap(), 5, "{lie}\n{report:#}");
        assert_eq!(
            (&makes["status"], &makes["reason"]),
            (&"errored".into(), &"away".into()),
            "{lie}"
        );
        assert_eq!(
            makes["failureCode"], "verification_remote_unavailable",
            "{lie}"
        );
        assert!(!there.project.exists("out"), "{lie}");
        assert_eq!(there.project.read("src/a"), "ok\n", "{lie}");
        assert!(there.left().is_empty(), "{lie}: {:?}", there.left());
    }
}

#[test]
fn a_worker_that_answers_the_second_order_is_believed() {
    let there = There::new(CONTRACT);
    let own = env!("CARGO_BIN_EXE_vplan");
    let mark = there.project.parent().join("mark");
    let binary = there.binary(&format!(
        "test -e {mark} && exec {own} step \"$2\"\n: > {mark}; exit 1",
        mark = mark.display()
    ));
    let report = there.report(&["--remote-binary", &binary]);
    assert_eq!(report["verdict"], "passed", "{report:#}");
    assert_eq!(step(&report, "makes")["place"]["orders"], 2);
    assert_eq!(step(&report, "makes")["tries"], 1);
}

#[test]
fn a_step_without_an_answer_is_executed_here_where_that_is_asked_for() {
    let there = There::new(&CONTRACT.replace(" && test ! -e README.md", ""));
    let binary = there.binary("exit 1");
    let more = ["--remote-binary", &binary, "--remote-fallback", "here"];
    let report = there.report(&more);
    assert_eq!(report["verdict"], "passed", "{report:#}");
    let place = &step(&report, "uses")["place"];
    assert_eq!(place["engine"], "here");
    let reason = place["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("there was no answer from elsewhere: "),
        "{reason}"
    );
    let notes = report["notes"].as_array().unwrap();
    let note = notes.iter().find(|note| note["kind"] == "remote-fallback");
    let said = note.unwrap()["message"].as_str().unwrap();
    assert_eq!(
        said,
        "2 steps were executed here, as there was no answer from elsewhere: `makes`, `uses`"
    );
    let text = shown(&there.run(&more));
    assert!(text.contains("2 steps were executed here"), "{text}");
}

#[test]
fn after_three_steps_in_a_row_without_an_answer_none_is_sent() {
    let check = |n: u32| format!("check c{n} {{\n  run true\n  inputs \"src/**\"\n}}\n");
    let checks: Vec<String> = (0..6).map(check).collect();
    let there = There::new(&format!("vplan 1\n\n{}", checks.join("\n")));
    let mark = there.project.parent().join("asked");
    let binary = there.binary(&format!("echo x >> {}; exit 1", mark.display()));
    let more = [
        "--remote-binary",
        &binary,
        "--keep-going",
        "--remote-jobs",
        "1",
    ];
    let report = there.report(&more);
    let asked = || std::fs::read_to_string(&mark).unwrap().lines().count();
    assert_eq!(asked(), 6, "each of three is ordered twice");
    let last = step(&report, "c5");
    assert_eq!(
        (&last["status"], &last["reason"]),
        (&"errored".into(), &"away".into())
    );
    assert!(
        last["detail"]
            .as_str()
            .unwrap()
            .starts_with("it was not sent"),
        "{last}"
    );
    let here = there.report(&[&more[..], &["--remote-fallback", "here"]].concat());
    assert_eq!((&here["verdict"], asked()), (&"passed".into(), 12));
}

#[test]
fn a_step_that_changes_what_it_was_given_has_not_passed() {
    let contract =
        "vplan 1\n\ncheck mends {\n  run sh -c 'echo mended > src/a'\n  inputs \"src/**\"\n}\n";
    let there = There::new(contract);
    let report = there.report(&[]);
    let mends = step(&report, "mends");
    assert_eq!(
        (&mends["status"], &mends["reason"]),
        (&"failed".into(), &"mutated".into())
    );
    assert_eq!(there.project.read("src/a"), "ok\n");
    // What git ignores may change, as here.
    let contract =
        "vplan 1\n\ncheck mends {\n  run sh -c 'echo mended > made/a'\n  inputs \"made/**\"\n}\n";
    let there = There::new(contract);
    there.project.write("made/a", "x");
    assert_eq!(there.report(&[])["verdict"], "passed");
}

#[test]
fn secrets_and_what_is_no_function_of_inputs_stay() {
    let contract = r#"vplan 1

check granted {
  run sh -c 'test -n "$MY_TOKEN"'
  inputs "src/**"
  pass-env MY_TOKEN
}

check links {
  run true
  inputs "links/**"
}

check plain {
  run sh -c 'test "$MY_FLAG" = 1 && test -z "$MY_TOKEN" && test -z "$OTHER"'
  inputs "src/**"
  pass-env MY_*
}
"#;
    let there = There::new(contract);
    there.project.symlink("links/out", "../README.md");
    let there = There {
        project: (there.project.env("MY_TOKEN", "swordfish-1"))
            .env("MY_FLAG", "1")
            .env("OTHER", "x"),
        ..there
    };
    let spy = there.project.parent().join("spy");
    let own = env!("CARGO_BIN_EXE_vplan");
    let binary = there.binary(&format!(
        "{{ cat \"$2\"; env; }} >> {}; exec {own} step \"$2\"",
        spy.display()
    ));
    let more = [
        "--remote-binary",
        &binary,
        "--remote-fallback",
        "here",
        "--keep-going",
    ];
    let report = there.report(&[&more[..], &["--grant-env", "MY_TOKEN"]].concat());
    let place = |id: &str| {
        step(&report, id)["place"]["reason"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        place("granted"),
        "it is granted a secret, which never leaves this machine"
    );
    assert_eq!(
        place("links"),
        "there was no answer from elsewhere: `links/out` is a link to what does not go with it"
    );
    assert!(
        !std::fs::read_to_string(&spy)
            .unwrap_or_default()
            .contains("swordfish")
    );
    // Without the grant the step goes, and what it asks for does not.
    let report = there.report(&more);
    assert_eq!(step(&report, "plain")["status"], "passed", "{report:#}");
    let seen = std::fs::read_to_string(&spy).unwrap();
    assert!(!seen.contains("swordfish") && seen.contains("MY_FLAG"));
    assert!(!seen.contains("OTHER="));
}

#[test]
fn what_a_step_made_before_and_not_now_is_said() {
    let there = There::new(CONTRACT);
    there.project.write("out/old", "x");
    let report = there.report(&[]);
    let notes = report["notes"].as_array().unwrap();
    let note = notes.iter().find(|note| note["kind"] == "stale-product");
    let said = note.unwrap()["message"].as_str().unwrap();
    assert_eq!(
        said,
        "`out/old`, which `makes` produces, was there before and was not made"
    );
}

#[test]
fn nobody_is_left_there_when_a_run_is_stopped() {
    let contract = "vplan 1\n\ncheck slow {\n  run sh slow.sh\n  inputs \"slow.sh\"\n}\n";
    for (signal, code) in [
        (Signal::KILL, None),
        (Signal::INT, Some(130)),
        (Signal::TERM, Some(143)),
    ] {
        let there = There::with(contract, &[("slow.sh", "sleep 1000 & sleep 1000\n")]);
        let mut run = there
            .project
            .vplan(&there.words(&[]))
            .command()
            .spawn()
            .unwrap();
        eventually("the step runs there", || {
            there
                .left()
                .iter()
                .any(|folder| folder.join("work/slow.sh").exists())
                && there.is_busy()
        });
        let pid = Pid::from_raw(i32::try_from(run.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        assert_eq!(run.ended().code(), code, "{signal:?}");
        eventually("nobody is left", || !there.is_busy());
        assert!(!there.project.is_busy());
    }
}

#[test]
fn a_killed_worker_is_no_pass() {
    let contract = "vplan 1\n\ncheck one {\n  run sh kill.sh\n  inputs \"kill.sh\"\n}\n";
    // It ends all that executes it, up to the vplan that has ordered it.
    let kill = "p=$PPID; for n in 1 2; do q=$(cut -d' ' -f4 /proc/$p/stat); kill -9 $p; p=$q; done; sleep 1000\n";
    let there = There::with(contract, &[("kill.sh", kill)]);
    let ran = there.run(&["--format", "json"]);
    let report = ran.json();
    assert_ne!(report["verdict"], "passed");
    assert_eq!(step(&report, "one")["status"], "errored", "{report:#}");
    eventually("nobody is left", || !there.is_busy());
}

#[test]
fn what_is_wrong_is_said() {
    let there = There::new(CONTRACT);
    let inside = format!("folder:{}", there.project.root().display());
    for (words, code, said) in [
        (
            vec!["run", "--remote", "ssh://x"],
            "vplan::usage::remote",
            "nothing that carries",
        ),
        (
            vec!["run", "--remote", "folder:"],
            "vplan::usage::remote",
            "nothing that carries",
        ),
        (
            vec!["run", "--remote", "folder:/no/such"],
            "vplan::usage::remote",
            "cannot be opened",
        ),
        (
            vec!["run", "--remote", &inside],
            "vplan::usage::remote",
            "lies in the repository",
        ),
        (
            vec![
                "run",
                "--remote",
                "folder:/tmp",
                "--remote-binary",
                "/etc/passwd",
            ],
            "vplan::usage::remote",
            "cannot be executed",
        ),
        (
            vec!["run", "--remote", "folder:/tmp", "--remote-binary", "src/a"],
            "vplan::usage::remote",
            "lies in the repository",
        ),
        (vec!["run", "--remote-jobs", "2"], "--remote", "required"),
        (
            vec!["run", "--remote", "folder:/tmp", "--observe"],
            "--observe",
            "cannot be used",
        ),
        (
            vec!["step", "README.md"],
            "vplan::away::order",
            "it is no order",
        ),
        (vec!["step", "none"], "vplan::away::order", "cannot be read"),
    ] {
        let ran = there.project.run(&words);
        assert_eq!(ran.exit.unwrap(), 2, "{words:?}: {}", shown(&ran));
        assert!(
            shown(&ran).contains(code) && shown(&ran).contains(said),
            "{words:?}: {}",
            shown(&ran)
        );
    }
}

#[test]
fn an_order_is_answered_once_and_by_its_version_alone() {
    let there = There::new(CONTRACT);
    let kept = there.project.parent().join("kept");
    let own = env!("CARGO_BIN_EXE_vplan");
    let keep = format!("cp -r . {}; exec {own} step \"$2\"", kept.display());
    let binary = there.binary(&keep);
    let more = ["--remote-binary", &binary, "makes"];
    assert_eq!(there.report(&more)["verdict"], "passed");
    let order = kept.join("vplan/order.json");
    let step = || there.project.run(&["step", order.to_str().unwrap()]);
    assert_eq!(step().exit.unwrap(), 0);
    assert_eq!(
        std::fs::read_to_string(kept.join("out/out/text")).unwrap(),
        "ok\n"
    );
    let again = step();
    assert_eq!(again.exit.unwrap(), 2, "{}", shown(&again));
    assert!(shown(&again).contains("there is an answer already"));
    std::fs::remove_file(kept.join("answer.json")).unwrap();
    std::fs::remove_file(kept.join("work/src/a")).unwrap();
    let lost = step();
    assert_eq!(lost.exit.unwrap(), 5, "{}", shown(&lost));
    assert!(
        shown(&lost).contains("`src/a` did not arrive"),
        "{}",
        shown(&lost)
    );
    let text = std::fs::read_to_string(&order).unwrap();
    let version = format!("\"vplan\":\"{}\"", env!("CARGO_PKG_VERSION"));
    std::fs::write(&order, text.replace(&version, "\"vplan\":\"0.0.1\"")).unwrap();
    assert!(shown(&step()).contains("it is an order of vplan 0.0.1"));
}

#[test]
fn explain_says_where_each_step_is_executed() {
    let there = There::new(CONTRACT);
    let text = there.project.run(&["explain", "--all", "--remote"]).out();
    let (_, places) = text.split_once("With --remote:\n").unwrap();
    assert_eq!(
        places.trim_end(),
        "  makes: elsewhere\n  uses: elsewhere\n  stays: here: it has no `inputs`"
    );
    let json = there
        .project
        .run(&["explain", "--all", "--remote", "--format", "json"])
        .json();
    let places = json["places"].as_array().unwrap();
    assert_eq!(places.len(), 3);
    assert_eq!(places[2]["reason"], "it has no `inputs`");
    assert!(places[0].get("reason").is_none());
    // A plan has the same digest wherever its steps are executed.
    let report = there.report(&[]);
    assert_eq!(report["planDigest"], json["digest"]);
}

#[test]
fn what_says_on_here_stays() {
    let contract = r#"vplan 1
machine linux {
  property "OSFamily" "linux"
}

check goes {
  run grep -q ok src/a
  inputs "src/**"
  on linux
}

check stays {
  run grep -q ok src/a
  inputs "src/**"
  on here
}
"#;
    let there = There::new(contract);
    let text = there.project.run(&["explain", "--all", "--remote"]).out();
    let (plan, places) = text.split_once("With --remote:\n").unwrap();
    assert_eq!(
        places.trim_end(),
        "  goes: elsewhere\n  stays: here: it says `on here`"
    );
    for said in ["on linux", "on here"] {
        assert!(plan.contains(said), "{plan}");
    }
    let report = there.report(&[]);
    assert_eq!(step(&report, "goes")["place"]["engine"], "folder");
    let place = &step(&report, "stays")["place"];
    assert_eq!(place["engine"], "here");
    assert_eq!(place["reason"], "it says `on here`");
    assert_eq!(report["verdict"], "passed", "{report:#}");
}

#[test]
fn a_step_here_rests_on_what_came_back() {
    let contract = r#"vplan 1

check makes {
  run sh -c 'mkdir -p gen; cp src/a gen/a'
  inputs "src/**"
  produces "gen/**"
}

check uses {
  run grep -q ok gen/a
  inputs "gen/**"
  needs makes
  pass-env MY_TOKEN
}
"#;
    let there = There::new(contract);
    let there = There {
        project: there.project.env("MY_TOKEN", "swordfish-1"),
        ..there
    };
    let url = format!("folder:{}", there.folder.path().display());
    let words = [
        "run",
        "--all",
        "--remote",
        &url,
        "--grant-env",
        "MY_TOKEN",
        "--format",
        "json",
    ];
    let first = there.project.run(&words).json();
    assert_eq!(step(&first, "uses")["status"], "passed", "{first:#}");
    assert_eq!(step(&first, "uses")["place"]["engine"], "here");
    // It was kept with what was there when it ran, not with what was there before.
    let second = there.project.run(&words).json();
    assert_eq!(step(&second, "makes")["place"]["engine"], "folder");
    assert_eq!(step(&second, "uses")["status"], "cached", "{second:#}");
    there.project.write("gen/a", "other\n");
    there.project.write("src/a", "no\n");
    let third = there.project.run(&words).json();
    assert_eq!(step(&third, "uses")["status"], "failed");
}

#[test]
fn a_program_of_the_repository_goes_with_its_step() {
    let contract = "vplan 1\n\ncheck one {\n  run ./tools/check\n  inputs \"src/**\"\n}\n";
    let there = There::with(contract, &[]);
    there
        .project
        .script("tools/real", "#!/bin/sh\ngrep -q ok src/a\n");
    there.project.symlink("tools/check", "real");
    let report = there.report(&[]);
    assert_eq!(step(&report, "one")["place"]["engine"], "folder");
    assert_eq!(report["verdict"], "passed", "{report:#}");
}
