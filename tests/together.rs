//! Do the features fit together? Imports, locks, revisions, saved plans, shards, tests and
//! comparisons, two or three at a time.

use crate::support::process::Bounded as _;
use crate::support::{Project, Ran};

const MAIN: &str = "\
vplan 1
import \"pkg/verify.vplan\" as pkg at \"packages/core\"
check lint: true
whenChangedAny \"src/**\" {
  check unit: true
}
";
const PKG: &str = "vplan 1\nwhenChangedAny \"src/**\" {\n  check core: true\n}\n";
const PKG_PATH: &str = "contracts/pkg/verify.vplan";
const CONTRACT: &str = "contracts/verify.vplan";

fn project() -> Project {
    Project::git_with(&[
        (CONTRACT, MAIN),
        (PKG_PATH, PKG),
        ("packages/core/src/a.ts", "a"),
        ("src/a.c", "a"),
        ("README", "r"),
    ])
}

fn ids(ran: &Ran) -> Vec<String> {
    ran.json()["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["id"].as_str().unwrap().to_owned())
        .collect()
}

/// A repository beside the project with a file `shared.vplan`, pinned nowhere. Gives the import of
/// it.
fn remote(project: &Project) -> String {
    let git = |args: &[&str]| {
        let mut words = vec![
            "-C",
            "../lib",
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.org",
        ];
        words.extend(args);
        project.git(&words)
    };
    project.write(
        "../lib/shared.vplan",
        "vplan 1\nwhenChangedAny \"lib/**\" {\n  check remote: true\n}\n",
    );
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "shared"]);
    let revision = git(&["rev-parse", "HEAD"]);
    format!(
        "git+file://{}?rev={}#shared.vplan",
        project.parent().join("lib").display(),
        revision.trim()
    )
}

#[test]
fn a_directory_to_work_in_is_one_to_start_in() {
    let project = project();
    project.write(
        "contracts/more.test.vplan",
        "vplan 1\ntests \"verify.vplan\"\nexpect \"t\" {\n  plan lint\n}\n",
    );
    project.write("../verify.contract.json", "{\"commands\":[\"true\"]}");
    project
        .write("../changed", "src/a.c\n")
        .write("../commands", "echo x\n");
    // Each is what it would be when started there: files to read and files to write.
    for (words, exit) in [
        (
            &[
                "plan",
                "--changed-from",
                "../changed",
                "--commands-from",
                "../commands",
                "-o",
                "../p.json",
            ][..],
            0,
        ),
        (
            &[
                "run",
                "--plan",
                "../p.json",
                "--events",
                "../events",
                "--records",
                "../records",
            ],
            0,
        ),
        (&["diff", "../p.json", "../p.json"], 0),
        (
            &[
                "diff",
                "contracts/verify.vplan",
                "contracts/pkg/verify.vplan",
            ],
            45,
        ),
        (&["test", "contracts/more.test.vplan"], 0),
        (
            &["import", "../verify.contract.json", "-o", "../out.vplan"],
            0,
        ),
        (&["merge", "../records/runs"], 2),
        (&["lock", "--cache-dir", "../cache"], 0),
        (&["fmt", "--check", "contracts/verify.vplan"], 0),
    ] {
        let outputs = ["events", "out.vplan", "records"].map(|name| project.parent().join(name));
        let clean = || {
            for path in &outputs {
                let _ = if path.is_dir() {
                    std::fs::remove_dir_all(path)
                } else {
                    std::fs::remove_file(path)
                };
            }
        };
        clean();
        project.vplan(words).run().exits(exit);
        let written = outputs.clone().map(|path| path.exists());
        clean();
        project
            .vplan(&[&["-C", "../repo"][..], words].concat())
            .within("../home")
            .run()
            .exits(exit);
        assert_eq!(outputs.map(|path| path.exists()), written, "{words:?}");
    }
    for words in [
        &["argv", "-C", "none", "true"][..],
        &["std", "-C", "none"],
        &["run", "-C", "README"],
    ] {
        project.run(words).exits(2).warns("vplan::");
    }
}

#[test]
fn a_contract_from_a_revision_brings_imports_and_lock_from_there() {
    let project = project();
    let import = remote(&project);
    project.write(CONTRACT, format!("{MAIN}import \"{import}\"\n"));
    project.run(&["lock"]).exits(0);
    project.commit("pinned");
    let ask = [
        "--changed",
        "lib/x",
        "--changed",
        "packages/core/src/a.ts",
        "--format",
        "json",
    ];
    let want = ["pkg/core", "lint", "remote"];
    let from = |rev: &'static str, words: &[&str]| {
        project.run(&[words, &["--contract-from", rev], &ask].concat())
    };
    // The work tree weakens all three files.
    project
        .write(CONTRACT, "vplan 1\ncheck nothing: true\n")
        .write(PKG_PATH, "vplan 1\n");
    project.remove("contracts/verify.lock.kdl");
    for words in [
        &["plan"][..],
        &["plan", "--locked"],
        &["run"],
        &["run", "--locked"],
    ] {
        let ran = from("HEAD", words);
        ran.exits(0);
        assert_eq!(ids(&ran), want);
    }
    // A lock of the work tree that is torn, or pins something else, makes no difference either.
    project.write("contracts/verify.lock.kdl", "version 1\nimport {");
    assert_eq!(ids(&from("HEAD", &["plan", "--locked"])), want);
    project
        .run(&["plan", "--changed-none", "--locked"])
        .exits(4)
        .warns("vplan::lock::");
    // One of the revision does, and so does the cache.
    project.commit("torn");
    project.write("contracts/verify.lock.kdl", "");
    let ran = from("HEAD", &["plan", "--locked"]);
    ran.exits(4).warns("vplan::lock::");
    assert!(ran.stdout.is_empty());
    from("HEAD~1", &["plan", "--cache-dir", "../empty"])
        .exits(4)
        .warns("vplan::lock::not_cached");
    // A saved plan of it is confirmed by it alone.
    project
        .run(&[
            "plan",
            "--contract-from",
            "HEAD~1",
            "--changed",
            "lib/x",
            "-o",
            "../p.kdl",
        ])
        .exits(0);
    project
        .run(&["run", "--plan", "../p.kdl"])
        .exits(4)
        .warns("contract.digest: ");
    project
        .run(&[
            "run",
            "--plan",
            "../p.kdl",
            "--contract-from",
            "HEAD~1",
            "--locked",
        ])
        .exits(0);
}

#[test]
fn a_saved_plan_notices_a_changed_import() {
    let project = project();
    let ask = ["--changed", "packages/core/src/a.ts", "-o"];
    for name in ["../p.kdl", "../p.json"] {
        project
            .run(&[&["plan"][..], &ask, &[name]].concat())
            .exits(0);
    }
    for (text, field) in [
        (
            PKG.replace("core: true", "core: echo"),
            "steps.pkg/core.argv: ",
        ),
        (PKG.replace("src/**", "src/b/**"), "steps.pkg/core: "),
        // Nothing that this request asks for: the contract is another one all the same.
        (
            format!("{PKG}whenChangedAny \"never\" {{\n  check more: true\n}}\n"),
            "contract.imports.contracts/pkg/verify.vplan.digest: ",
        ),
    ] {
        project.write(PKG_PATH, text);
        for name in ["../p.kdl", "../p.json"] {
            project
                .run(&["run", "--plan", name])
                .exits(4)
                .warns(field)
                .warns("contract.imports.");
            let ran = project.run(&["run", "--plan", name, "--allow-drift", "--format", "json"]);
            assert_eq!(ids(ran.exits(0)), ["pkg/core", "lint"]);
            assert!(
                !ran.json()["savedPlan"]["drift"]
                    .as_array()
                    .unwrap()
                    .is_empty()
            );
        }
    }
    // Comments and blank lines are no meaning.
    project.write(PKG_PATH, format!("# said\n\n{PKG}"));
    project
        .run(&["run", "--plan", "../p.kdl", "--locked"])
        .exits(0);
    project.remove(PKG_PATH);
    project
        .run(&["run", "--plan", "../p.kdl", "--allow-drift"])
        .exits(3)
        .warns("import_missing");
}

#[test]
fn changes_to_what_judges_them_are_noted() {
    let project = project();
    let import = remote(&project);
    project.write(CONTRACT, format!("{MAIN}import \"{import}\"\n"));
    project.run(&["lock"]).exits(0);
    project.commit("pinned");
    for (path, says) in [
        (
            CONTRACT,
            "the contract `contracts/verify.vplan` is itself among the changed files",
        ),
        (
            PKG_PATH,
            "the imported contract `contracts/pkg/verify.vplan` is itself",
        ),
        (
            "contracts/verify.lock.kdl",
            "the contract's lock `contracts/verify.lock.kdl` is itself",
        ),
    ] {
        for status in ["", "added:", "deleted:"] {
            let changed = format!("{status}{path}");
            project
                .run(&["explain", "--changed", &changed])
                .exits(0)
                .says(says);
            let plan = project
                .run(&["plan", "--changed", &changed, "--format", "json"])
                .exits(0)
                .json();
            assert_eq!(plan["notes"][0]["kind"], "contract-changed", "{changed}");
        }
    }
    // A contract in JSON imports nothing, but has a lock with recorded answers.
    project.write("verify.contract.json", "{\"commands\":[\"true\"]}");
    let json = [
        "--contract",
        "verify.contract.json",
        "--changed",
        "verify.contract.lock.kdl",
    ];
    project
        .run(&[&["explain"][..], &json].concat())
        .exits(0)
        .says("lock `verify.contract.lock.kdl` is itself");
    let plan = project
        .run(&["plan", "--changed", "README", "--format", "json"])
        .exits(0)
        .json();
    assert!(plan["notes"].as_array().is_none_or(Vec::is_empty));
}

#[test]
fn tests_of_a_contract_with_imports() {
    let project = project();
    let import = remote(&project);
    let cases = "expect \"both\" {\n  changed \"packages/core/src/a.ts\" \"lib/x\"\n  plan pkg/core lint ext/remote\n}\n";
    project.write(
        CONTRACT,
        format!("{MAIN}import \"{import}\" as ext\n{cases}"),
    );
    let ran = project.run(&["test", "--format", "json"]);
    ran.exits(4)
        .warns("vplan::lock::not_pinned")
        .warns("vplan lock");
    assert!(ran.stdout.is_empty(), "nothing was tested");
    project.run(&["test", "--locked"]).exits(4);
    project.run(&["lock"]).exits(0);
    project
        .run(&["test", "--locked"])
        .exits(0)
        .says("1 test passed");
    // An import that changes fails the test that is about it.
    project.write(PKG_PATH, PKG.replace("src/**", "lib/**"));
    project.run(&["test"]).exits(40).says("`pkg/core`");
    project.write(
        CONTRACT,
        project
            .read(CONTRACT)
            .replace("plan pkg/core", "plan pkg/cores"),
    );
    project
        .run(&["test"])
        .exits(3)
        .warns("did you mean `pkg/core`?");
}

#[test]
fn a_weakening_in_an_imported_file_is_found_there() {
    let project = project();
    project.run(&["diff", "--base", "HEAD"]).exits(0);
    project.write(PKG_PATH, PKG.replace("src/**", "src/b/**"));
    let ran = project.run(&["diff", "--base", "HEAD", "--format", "json"]);
    let found = ran.exits(45).json();
    let one = &found["differences"][0];
    assert_eq!(
        (&one["class"], &one["new"]["file"], &one["new"]["line"]),
        (&"weakens".into(), &PKG_PATH.into(), &3.into())
    );
    assert_eq!(found["requests"][0]["lost"][0], "pkg/core");
    // The case that it prints tells the two apart.
    let case = found["requests"][0]["expect"].as_str().unwrap().to_owned();
    project.write(
        "contracts/d.test.vplan",
        format!("vplan 1\ntests \"verify.vplan\"\n{case}"),
    );
    project.run(&["test"]).exits(40);
    project.git(&["checkout", "-q", PKG_PATH]);
    project.run(&["test"]).exits(0);
    // So is an import that goes, and one whose pin changes.
    project.write(
        CONTRACT,
        MAIN.replace(
            "import \"pkg/verify.vplan\" as pkg at \"packages/core\"\n",
            "",
        ),
    );
    project
        .run(&["diff", "--base", "HEAD"])
        .exits(45)
        .says("pkg/core");
    project.write(CONTRACT, MAIN.replace("packages/core", "packages/other"));
    project
        .run(&["diff", "--base", "HEAD"])
        .exits(45)
        .says("pkg/core");
    project.write(PKG_PATH, "vplan 1\nchek x: true\n");
    let ran = project.run(&["diff", "--base", "HEAD", "--format", "json"]);
    ran.exits(3).warns("contracts/pkg/verify.vplan:2");
    assert!(ran.stdout.is_empty());
}

/// What a symlink in the work tree leads to, the same symlink in a revision leads to as well: or a
/// contract behind one could be weakened, or deleted, without anybody noticing.
#[test]
fn symlinks_lead_to_the_same_file_in_a_revision() {
    let project = Project::git_with(&[
        (
            "ci/real.vplan",
            "vplan 1\nimport \"../pkgs/x.vplan\"\nimport \"more.vplan\"\ncheck a: true\n",
        ),
        ("packages/x.vplan", "vplan 1\ncheck x: true\n"),
        ("ci/deep/more.vplan", "vplan 1\ncheck more: true\n"),
    ]);
    project
        .symlink("contracts/verify.vplan", "../a/real.vplan")
        .symlink("a", "loop/../ci/")
        .symlink("loop", "packages");
    project
        .symlink("pkgs", "packages")
        .symlink("contracts/more.vplan", ".././ci//deep/more.vplan");
    project.commit("links");
    let all = |words: &[&str]| {
        let ran = project.run(&[&["plan", "--all", "--format", "json"][..], words].concat());
        ids(ran.exits(0))
    };
    assert_eq!(all(&[]), ["x", "more", "a"]);
    assert_eq!(all(&["--contract-from", "HEAD"]), ["x", "more", "a"]);
    project
        .run(&["diff", "--base", "HEAD"])
        .exits(0)
        .says("mean the same");
    project.write("ci/deep/more.vplan", "vplan 1\n");
    project
        .run(&["diff", "--base", "HEAD"])
        .exits(45)
        .says("check `more`");
    project.git(&["checkout", "-q", "ci"]);
    project.remove("contracts/verify.vplan");
    for mode in ["fallback", "contract"] {
        project
            .run(&["plan", "--mode", mode, "--all", "--command", "true"])
            .exits(3)
            .warns("vplan::load::deleted");
    }
    // What leads nowhere, in circles or out is no file there either.
    for target in [
        "nowhere",
        "verify.vplan",
        "../../x",
        "/etc/passwd",
        "../ci",
        "../ci/real.vplan/",
        "",
    ] {
        let _ = std::fs::remove_file(project.path(CONTRACT));
        if target.is_empty() {
            project.write(CONTRACT, "../ci/real.vplan");
        } else {
            project.symlink(CONTRACT, target);
        }
        let commit = project.commit("elsewhere");
        project
            .run(&["plan", "--changed-none", "--contract-from", commit.trim()])
            .exits(3);
    }
}

#[test]
fn one_json_document_and_nothing_else() {
    let project = project();
    project.write("../verify.contract.json", "{\"commands\":[\"true *\"]}");
    project.write(
        "contracts/x.test.vplan",
        "vplan 1\ntests \"verify.vplan\"\nexpect \"t\" {\n  plan lint\n}\n",
    );
    project.run(&["plan", "--all", "-o", "../p.json"]).exits(0);
    let report = project.run(&["run", "--all", "--format", "json"]);
    project.write("../r.json", &report.exits(0).stdout);
    for (words, exit) in [
        (&["plan", "--all", "-o", "../p.json"][..], 0),
        (&["run", "--plan", "../p.json"], 0),
        (&["run", "--plan", "../p.json", "--shard", "1/2"], 0),
        (&["merge", "../r.json"], 2),
        (&["diff", "../p.json", "../p.json"], 0),
        (&["diff", "--base", "HEAD"], 0),
        (&["diff", CONTRACT, PKG_PATH], 45),
        (&["test"], 0),
        (&["test", "--list"], 0),
        (&["test", "--min-coverage", "100"], 40),
        (&["check", "--uncovered"], 0),
        (&["check", "--uncovered", "--deny", "warnings"], 3),
        (&["fmt", "--check"], 0),
        (&["lock"], 0),
        (&["lock", "--check"], 0),
        (&["std"], 0),
        (
            &["import", "../verify.contract.json", "-o", "../out.vplan"],
            0,
        ),
        (&["import", "../verify.contract.json", "--stdout"], 0),
        (&["plan", "--all", "-o", "../p.kdl"], 2),
        (&["diff", "none", CONTRACT], 2),
        (&["test", "--filter", "zzz"], 2),
        (&["import", "none.json"], 2),
        (&["std", "nope"], 2),
        (&["fmt", "none"], 2),
        (&["lock", "--contract", "none.vplan"], 3),
    ] {
        let ran = project.run(&[words, &["--format", "json"]].concat());
        ran.exits(exit);
        if exit == 2 || (exit == 3 && ran.stdout.is_empty()) {
            assert!(
                ran.stdout.is_empty() && !ran.stderr.is_empty(),
                "{words:?}: {}",
                ran.out()
            );
        } else {
            assert_eq!(ran.json()["version"], 1, "{words:?}");
            assert_eq!(ran.out().lines().count(), 1, "{words:?}");
        }
        // Quiet: nothing when nothing is wrong.
        if exit == 0
            && !["test", "check", "std", "run", "diff"].contains(&words[0])
            && !words.contains(&"--stdout")
        {
            let ran = project.run(
                &[
                    words,
                    &["-q", "--force"][..usize::from(words[0] == "import") + 1],
                ]
                .concat(),
            );
            assert!(
                ran.exits(0).stdout.is_empty() && ran.stderr.is_empty(),
                "{words:?}: {}{}",
                ran.out(),
                ran.err()
            );
        }
    }
}

#[test]
fn a_json_contract_and_its_conversion() {
    let project = Project::git_with(&[(
        "verify.contract.json",
        r#"{"commands":["true","echo 'a b'"],"byRole":{"tester":["echo t"]},
            "rules":[{"whenChangedAny":["src/**","!src/gen/**"],"commands":["echo any"]},
                     {"whenChangedAll":["a","b"],"whenChangedAny":["c"],"commands":["echo all"]},
                     {"commands":["echo always"]}]}"#,
    )]);
    project.run(&["import", "verify.contract.json"]).exits(0);
    project
        .run(&["check", "--deny", "vplan::contract::no_checks"])
        .exits(0);
    for (a, b) in [
        ("verify.contract.json", CONTRACT),
        (CONTRACT, "verify.contract.json"),
    ] {
        let ran = project.run(&["diff", a, b, "--strict", "--format", "json"]);
        // The conversion says what held for every command in openTiger: 300 s, and the programs of
        // packages. Nothing else differs.
        let found = ran.exits(45).json();
        let what = |d: &serde_json::Value| d["what"].as_str().unwrap().to_owned();
        let real: Vec<_> = found["differences"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|d| d["class"] != "cosmetic")
            .filter(|d| !what(d).starts_with("timeout ") && what(d) != "tool-path differs")
            .collect();
        assert!(real.is_empty(), "{real:?}");
    }
    // It may be imported, too.
    project.write(
        "contracts/all.vplan",
        "vplan 1\nimport \"../verify.contract.json\"\n",
    );
    project
        .run(&[
            "diff",
            "verify.contract.json",
            "contracts/all.vplan",
            "--strict",
        ])
        .exits(0);
}

#[test]
fn a_shard_that_was_interrupted() {
    let project = Project::git_with(&[
        (
            CONTRACT,
            "vplan 1\ncheck quick: true\ncheck slow: sh -c 'touch ../started; exec sleep 600'\n",
        ),
        ("a", "a"),
    ]);
    project.run(&["plan", "--all", "-o", "../p.kdl"]).exits(0);
    let run = |shard: &str| {
        let events = format!("../events{}", &shard[..1]);
        project.vplan(&[
            "run",
            "--plan",
            "../p.kdl",
            "--shard",
            shard,
            "--records",
            "../r",
            "--events",
            &events,
            "--format",
            "json",
        ])
    };
    // The share that holds `slow` is stopped while it runs.
    let mut child = run("2/2")
        .command()
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while !project.parent().join("started").exists() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&child),
        rustix::process::Signal::INT,
    )
    .unwrap();
    let output = child.finished();
    assert_eq!(output.status.code(), Some(130));
    project.write("../two.json", &output.stdout);
    let one = run("1/2").run();
    one.exits(0);
    project.write("../one.json", &one.stdout);
    let merged = project.run(&["merge", "../one.json", "../two.json", "--format", "json"]);
    let report = merged.exits(130).json();
    assert_eq!(report["verdict"], "cancelled");
    assert_eq!(report["exitCode"], 130);
    let status = |id: &str| {
        let steps = report["steps"].as_array().unwrap().clone();
        steps.iter().find(|s| s["id"] == id).unwrap()["status"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(status("quick"), "passed");
    assert_ne!(status("slow"), "passed");
    // A run that was killed has no report: its record says so, and nothing stands for a pass.
    let mut child = run("2/2")
        .command()
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    project.remove("../started");
    while !project.parent().join("started").exists() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.ended();
    let runs: Vec<_> = std::fs::read_dir(project.parent().join("r/runs"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    let torn = runs
        .iter()
        .find(|run| !run.join("report.json").exists())
        .unwrap();
    let words = ["merge", "../one.json", torn.to_str().unwrap()];
    project.run(&words).exits(2).warns("did not come to an end");
}

#[test]
fn hostile_words_are_shown_and_not_obeyed() {
    let evil = "\u{1b}[2J\u{9b}2J\u{202e}";
    let project = Project::git_with(&[
        (
            CONTRACT,
            "vplan 1\ncheck a: true\ncheck b: true\nexpect \"evil \\u{1b}[2J\\u{9b}2J\\u{202e}\" {\n  changed \"x\\u{1b}y\"\n  \
             command \"echo \\u{1b}[2J\"\n  plan b\n}\nwhenChangedAny \"x\\u{1b}y\" {\n  check c: true \"\\033\"\n}\n",
        ),
        ("a", "a"),
    ]);
    project.write_bytes(b"x\x1by", "x");
    let answer = serde_json::json!({ "commands": [{"command": format!("echo '{evil}'"), "why": format!("why {evil}")}] });
    project.write("../answer", answer.to_string());
    let ask = [
        "--mode",
        "llm",
        "--changed",
        "x\u{1b}y",
        "--command",
        "echo '\u{1b}[2J'",
    ];
    let safe = |ran: Ran, what: &str| {
        for text in [ran.out(), ran.err()] {
            // A JSON document is for programs, and holds what it holds; but no escape character.
            let json = text.starts_with('{');
            let bad = text.chars().find(|c| match c {
                '\n' => false,
                '\u{80}'..='\u{9f}' | '\u{202e}' => !json,
                c => c.is_control(),
            });
            assert_eq!(bad, None, "{what}: {text}");
        }
    };
    for words in [
        &["check"][..],
        &["test"],
        &["test", "--list"],
        &["test", "--format", "json"],
        &["test", "--format", "junit"],
        &["test", "--filter", evil],
        &["diff", "--base", evil],
        &["diff", evil, evil],
        &["diff", CONTRACT, evil],
        &["merge", evil],
        &["import", evil],
        &["import", CONTRACT, "--from", "runr"],
        &["lock", "--contract", evil],
        &["check", "--contract", evil],
        &["std", evil],
        &["plan", "--contract-from", evil, "--changed-none"],
        &["plan", "-o", evil, "--changed-none"],
        &["run", "--plan", evil],
        &["check", "-C", evil],
        &["argv", evil],
        &["plan", "--role", evil, "--changed-none"],
        &["plan", "--only", evil, "--changed-none"],
        &["plan", "--skip", evil, "--reason", evil, "--changed-none"],
        &[
            "lock",
            "--record",
            "--mode",
            "llm",
            "--changed-none",
            "--proposer",
            evil,
        ],
        &[
            "lock",
            "--record",
            "--mode",
            "llm",
            "--changed-none",
            "--proposer",
            "sh -c 'printf \"\\033[2J\" >&2; exit 1'",
        ],
    ] {
        safe(project.run(words), &format!("{words:?}"));
    }
    let with = "cat ../answer";
    let ran = project.run(&[&["lock", "--record", "--proposer", with][..], &ask].concat());
    ran.exits(0);
    safe(ran, "lock --record");
    for words in [
        &["explain"][..],
        &["plan"],
        &["plan", "--format", "json"],
        &["plan", "--format", "kdl"],
        &["plan", "-o", "../p.kdl"],
        &["explain", "--format", "dot"],
        &["explain", "--format", "mermaid"],
        &["explain", "--format", "shell"],
    ] {
        let ran = project.run(&[words, &ask].concat());
        ran.exits(0);
        safe(ran, &format!("{words:?}"));
    }
    safe(
        project.run(&["lock", "--check", "--format", "json"]),
        "lock --check",
    );
    assert!(!project.read("contracts/verify.lock.kdl").contains('\u{1b}'));
    assert!(!project.read("../p.kdl").contains('\u{1b}'));
    // What other tools wrote.
    let json = format!(
        r#"{{"commands":["echo {0}"],"rules":[{{"whenChangedAny":["x{0}"],"commands":["c"]}}]}}"#,
        "\\u001b2J\\u202e"
    );
    let runr = r#"{"verification":{"tier0":["echo \u001b[2J"],"risk_triggers":[{"name":"a\u001b[2J","patterns":["x\u001b2J"],"tier":"tier1"}]},"agent":{"\u001b[2J\u202e":1}}"#;
    for (kind, text) in [
        ("verify-contract-json", json.as_str()),
        ("verify-contract-json", "{\"commands\":[],\"\\u001b[2J\":1}"),
        ("verify-contract-json", "{\"commands\":[\"\u{1b}[2J\"]}"),
        ("runr", runr),
        ("acode", "\"a\\e[2J\": 1\nrules:\n  - \"x\\e[2J\"\n"),
        ("acode", "a: \u{1b}[2J\n"),
        ("ralph-tui", "\"k\\u001b[2J\" = 1\n"),
        ("ralph-tui", "k = \u{1b}[2J"),
    ] {
        project.write("../c", text);
        for more in [
            &["--stdout"][..],
            &["-o", "../o.vplan", "--force"],
            &["--stdout", "--format", "json"],
            &["--strict", "--stdout"],
        ] {
            let ran = project.run(&[&["import", "../c", "--from", kind][..], more].concat());
            safe(ran, &format!("{kind} {text:?} {more:?}"));
        }
    }
}
