//! The command line: what each command prints, and what it says to wrong input.

use crate::support::Project;

const CONTRACT: &str =
    "vplan 1\ncheck lint: true\nwhenChangedAny \"src/**\" {\n  check unit: true\n}\n";

/// Command line, exit code, and words that standard error must hold.
const WRONG: &[(&[&str], i32, &str)] = &[
    (&["frobnicate"], 2, "frobnicate"),
    (&[], 2, "Usage"),
    (&["plan", "--risk", "extreme"], 2, "extreme"),
    (&["plan", "--mode", "sometimes"], 2, "sometimes"),
    (&["plan", "--min-tier", "3"], 2, "--min-tier"),
    (&["plan", "--role", "testr"], 2, "`tester`"),
    (&["plan", "--only", "lnt"], 2, "`lint`"),
    (&["plan", "--only", "tag:nope"], 2, "nope"),
    (&["plan", "--skip", "lint"], 2, "--reason"),
    (&["plan", "--skip", "lint", "--reason", "  "], 2, "reason"),
    (&["plan", "--skip", "nope", "--reason", "x"], 2, "nope"),
    (&["plan", "--reason", "x"], 2, "--skip"),
    (
        &["plan", "--changed", "a", "--all"],
        2,
        "cannot be used with",
    ),
    (&["plan", "--changed", "../x"], 2, "../x"),
    (&["plan", "--changed", "/etc/passwd"], 2, "/etc/passwd"),
    (&["plan", "--changed", ""], 2, "empty"),
    (
        &["plan", "--changed-from", "no-such-list"],
        2,
        "no-such-list",
    ),
    (&["plan", "-z"], 2, "--changed-from"),
    (
        &["plan", "--base", "no-such-revision"],
        2,
        "no-such-revision",
    ),
    (&["plan", "--base=--output=x"], 2, "--output=x"),
    (&["plan", "--base", "auto"], 2, "CI system"),
    (
        &["plan", "--contract-from", "no-such-revision"],
        2,
        "no-such-revision",
    ),
    (&["plan", "--contract", "nope.vplan"], 3, "nope.vplan"),
    (
        &["plan", "--contract", "../outside.vplan"],
        2,
        "../outside.vplan",
    ),
    (&["plan", "--format", "dot"], 2, "dot"),
    (&["plan", "--format", "yaml"], 2, "yaml"),
    (&["plan", "--jobs", "0"], 2, "0"),
    (&["plan", "--budget", "5"], 2, "duration"),
    (&["plan", "--max-file", "1"], 2, "size"),
    (
        &["plan", "--commands-from", "no-such-file"],
        2,
        "no-such-file",
    ),
    (&["plan", "-C", "no/such/dir"], 2, "no/such/dir"),
    (&["explain", "nope", "--changed-none"], 2, "nope"),
    (&["explain", "--format", "canonical"], 2, "canonical"),
    (&["run", "--progress", "loud"], 2, "loud"),
    (&["run", "--require", "most"], 2, "most"),
    (&["run", "--attempt", "0"], 2, "0"),
    (&["run", "--max-output", "many"], 2, "size"),
    (&["run", "--grant-env", "1X", "--changed-none"], 2, "1X"),
    (&["run", "--deny", "anything"], 2, "anything"),
    (&["check", "--deny", "nonsense"], 2, "nonsense"),
    (&["fmt", "no-such-file.vplan"], 2, "no-such-file.vplan"),
    (&["fmt", "--check=maybe"], 2, "maybe"),
    (&["argv"], 2, "TEXT"),
    (&["classify"], 2, "--command"),
    (
        &["classify", "--command", "make", "--exit", "many"],
        2,
        "many",
    ),
    (
        &["classify", "--command", "make", "--signal", "SIGNOPE"],
        2,
        "SIGNOPE",
    ),
    (
        &["classify", "--command", "make", "--stdout", "no-such-file"],
        2,
        "no-such-file",
    ),
    (&["recover"], 2, "--command"),
    (&["recover", "--command", "make"], 2, "--failed"),
    (&["recover", "--command", "make", "--failed", "2"], 2, "2"),
    (&["recover", "--command", "make", "--failed", "0"], 2, "0"),
    (
        &[
            "recover",
            "--command",
            "make",
            "--failed",
            "1",
            "--code",
            "nope",
        ],
        2,
        "nope",
    ),
    (&["recover", "--plan", "p.json"], 2, "--failure"),
    (
        &["recover", "--plan", "no.json", "--failure", "no.json"],
        2,
        "no.json",
    ),
    (&["completions", "tcsh"], 2, "tcsh"),
    (&["man", "nope"], 2, "nope"),
    (&["help", "langage"], 2, "`language`"),
    (&["init"], 2, "--force"),
];

#[test]
fn wrong_input_is_told_with_a_way_out() {
    let project = Project::contract(CONTRACT);
    for (args, code, words) in WRONG {
        let ran = project.run(args);
        ran.exits(*code).warns(words);
        assert!(
            ran.stdout.is_empty(),
            "{args:?} prints nothing on standard output: {}",
            ran.out()
        );
        assert!(!ran.err().contains("panicked"), "{args:?}");
    }
}

#[test]
fn no_contract_and_empty_contract() {
    let project = Project::git_with(&[("a", "1")]);
    for command in ["plan", "explain", "run", "check"] {
        let args: &[&str] = if command == "check" {
            &["check"]
        } else {
            &[command, "--changed-none"]
        };
        project.run(args).exits(3).warns("contracts/verify.vplan");
    }
    project.write("contracts/verify.vplan", "");
    project.run(&["check"]).exits(3).warns("vplan 1");
    project.write("contracts/verify.vplan", "vplan 1\n");
    project
        .run(&["run", "--changed-none"])
        .exits(44)
        .says("the contract has no checks");
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nwhenChangedAny \"src/**\" {\n  check a: true\n}\n",
    );
    project
        .run(&["run", "--changed-none"])
        .exits(0)
        .says("nothing to verify");
    project
        .run(&["run", "--changed-none", "--require", "some"])
        .exits(44);
    project.write("contracts/verify.vplan", b"vplan 1\ncheck a: echo \xff\n");
    project.run(&["check"]).exits(3).warns("UTF-8");
}

#[test]
fn an_empty_change_set_in_ci_must_be_asked_for() {
    let project = Project::contract(CONTRACT).env("CI", "true");
    project.run(&["plan"]).exits(2).warns("--changed-none");
    project.run(&["plan", "--changed-none"]).exits(0);
    project.run(&["plan", "--all"]).exits(0);
}

#[test]
fn one_json_document_on_standard_output() {
    let project = Project::contract(CONTRACT);
    for args in [
        &["plan", "--format", "json", "--changed", "src/a"][..],
        &["explain", "--format", "json", "--changed", "src/a"],
        &["run", "--format", "json", "--changed", "src/a", "-v"],
        &["check", "--format", "json"],
        &["argv", "a b"],
        &["classify", "--command", "false", "--exit", "1"],
    ] {
        let ran = project.run(args);
        ran.exits(0);
        let version = if ["plan", "explain"].contains(&args[0]) {
            2
        } else {
            1
        };
        assert_eq!(ran.json()["version"], version, "{args:?}");
    }
}

#[test]
fn the_digest_can_be_checked_with_sha256sum() {
    let project = Project::contract(CONTRACT);
    let digest = project.run(&["plan", "--format", "json", "--all"]).json()["digest"]
        .as_str()
        .unwrap()
        .to_owned();
    let script = format!(
        "{} plan --format canonical --all | sha256sum",
        env!("CARGO_BIN_EXE_vplan")
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(project.root())
        .output()
        .unwrap();
    let sum = String::from_utf8(output.stdout).unwrap();
    assert_eq!(digest, format!("sha256:{}", sum.split(' ').next().unwrap()));
}

#[test]
fn the_same_plan_in_another_place_and_environment() {
    let plan = |project: &Project, env: &[(&str, &str)]| {
        let run = project.vplan(&[
            "plan",
            "--format",
            "canonical",
            "--changed",
            "src/a",
            "--role",
            "tester",
        ]);
        let ran = env
            .iter()
            .fold(run, |run, (name, value)| run.env(name, *value))
            .run();
        ran.exits(0);
        ran.stdout
    };
    let here = plan(&Project::contract(CONTRACT), &[]);
    let there = plan(
        &Project::contract(CONTRACT),
        &[
            ("LC_ALL", "tr_TR.UTF-8"),
            ("TZ", "Asia/Kathmandu"),
            ("HOME", "/nonexistent"),
            ("COLUMNS", "20"),
        ],
    );
    assert_eq!(here, there);
}

#[test]
fn completions_manual_and_help() {
    let project = Project::bare();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        project.run(&["completions", shell]).exits(0).says("vplan");
    }
    project.run(&["man"]).exits(0).says(".TH vplan");
    project.run(&["man", "run"]).exits(0).says("grant");
    project.run(&["help"]).exits(0).says("explain");
    project.run(&["help", "run"]).exits(0).says("--require");
    project
        .run(&["help", "language"])
        .exits(0)
        .says("whenChangedAny");
    project.run(&["help", "environment"]).exits(0).says("PATH");
    project
        .run(&["help", "security"])
        .exits(0)
        .says("## Not promised");
    project
        .run(&["help", "tour"])
        .exits(0)
        .says("$ vplan explain prose");
    project
        .run(&["help", "reference"])
        .exits(0)
        .says("## Exit codes");
    project
        .run(&["help", "proposer"])
        .exits(0)
        .says("\"commands\":");
    project
        .run(&["--version"])
        .exits(0)
        .says(env!("CARGO_PKG_VERSION"));
    // The short help has the daily commands with what they do, the others by name.
    let short = project.run(&["-h"]).exits(0).out();
    assert!(
        short.contains("\n  run          Verify this change"),
        "{short}"
    );
    assert!(short.contains("  Records      runs, details"), "{short}");
    assert!(!short.contains("Exit codes"), "{short}");
    project.run(&[] as &[&str]).exits(2).warns(short.trim_end());
    let run = project.run(&["run", "-h"]).exits(0).out();
    assert!(
        run.contains("--only") && !run.contains("--proposer"),
        "{run}"
    );
    project
        .run(&["run", "--help"])
        .exits(0)
        .says("--proposer")
        .says("Exit codes: 0 passed");
}

#[test]
fn every_document_is_what_the_reference_says() {
    let project = Project::contract(CONTRACT);
    project.write("runr.config.json", r#"{"verification":{"tier0":["true"]}}"#);
    let reference = include_str!("../src/reference.md");
    let documents: &[(&[&str], &str)] = &[
        (
            &["plan", "--changed", "src/a.rs"],
            "`plan`, `explain`; plan files",
        ),
        (
            &["explain", "--changed", "src/a.rs"],
            "`plan`, `explain`; plan files",
        ),
        (
            &["run", "--changed-none", "--records", "../records"],
            "`run`, `merge`; `report.json`",
        ),
        (
            &[
                "loop",
                "--fix",
                "true",
                "--changed-none",
                "--records",
                "../records",
            ],
            "`loop`",
        ),
        (
            &[
                "gate",
                "record",
                "--subject",
                "a",
                "--status",
                "stuck",
                "--changed",
                "none",
            ],
            "`gate record`",
        ),
        (&["gate", "show"], "`gate show`"),
        (
            &["run", "--command", "ls --nope", "--changed-none"],
            "`run`, `merge`; `report.json`",
        ),
        (&["feedback"], "`feedback`"),
        (&["status"], "`status`"),
        (&["runs"], "`runs`; `stats`"),
        (&["stats"], "`runs`; `stats`"),
        (&["details"], "`details`"),
        (&["log", "ls-nope"], "`log`"),
        (&["report"], "`report`"),
        (&["verify"], "`verify`"),
        (&["gc", "--keep", "9"], "`gc`"),
        (&["check"], "`check`, `fmt`"),
        (&["fmt", "--check"], "`check`, `fmt`"),
        (&["test"], "`test`"),
        (
            &["diff", "contracts/verify.vplan", "contracts/verify.vplan"],
            "`diff`",
        ),
        (
            &["import", "runr.config.json", "--from", "runr", "--stdout"],
            "`import`",
        ),
        (&["lock", "--check"], "`lock`"),
        (&["std"], "`std`"),
        (&["emit", "github"], "`emit`"),
        (&["std", "rust"], "`std`"),
        (
            &["recover", "--command", "a && b", "--failed", "1"],
            "`recover`, `classify`, `argv`",
        ),
        (
            &["classify", "--command", "a", "--exit", "1"],
            "`recover`, `classify`, `argv`",
        ),
        (&["argv", "a b"], "`recover`, `classify`, `argv`"),
    ];
    for (words, row) in documents {
        let ran = project.run(&[*words, &["--format", "json"]].concat());
        let document = ran.json();
        let version = if matches!(words[0], "plan" | "explain") {
            2
        } else {
            1
        };
        assert_eq!(document["version"], version, "{words:?}: {document}");
        let start = format!("| {row} | ");
        let (_, table) = reference.split_once("## JSON documents").unwrap();
        let line = table
            .lines()
            .find_map(|l| l.strip_prefix(&start))
            .unwrap_or_else(|| panic!("no row {start}"));
        let keys: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
        // Each command of a row has one of the keys at least, the first of all of them has every
        // one but those of its entries.
        let has = keys.iter().filter(|k| document.get(k).is_some()).count();
        assert!(has >= 1, "{words:?} has none of {keys:?}: {document}");
        if !row.contains("`check`") && !row.contains("`recover`") && !row.contains("`std`") {
            assert_eq!(
                has,
                keys.len(),
                "{words:?} has not all of {keys:?}: {document}"
            );
        }
    }
}

/// The commands that the help lists, in their groups.
pub fn commands(help: &str) -> Vec<String> {
    let (_, list) = help.split_once("\nDaily:\n").expect("the daily commands");
    let (list, _) = list
        .split_once("\nEverywhere:\n")
        .expect("the end of the groups");
    let lines = list.lines().filter_map(|line| line.strip_prefix("  "));
    lines
        .map(|line| line.split(' ').next().expect("a word").to_owned())
        .collect()
}

#[test]
fn manual_pages_of_all_commands_are_written_into_a_folder() {
    let project = Project::bare();
    project
        .write("man1/vplan-run.1", "foreign")
        .write("own.1", "");
    let ran = project.run(&["man", "--dir", "man1"]);
    ran.exits(2).warns("vplan-run.1").warns("--force");
    assert!(!project.exists("man1/vplan.1"), "nothing is written");
    project.run(&["man", "--dir", "man1", "--force"]).exits(0);
    for _ in 0..2 {
        project
            .run(&["man", "--dir", "new/man1"])
            .exits(0)
            .says("pages to `new/man1`");
    }
    for dir in ["man1", "new/man1"] {
        for name in commands(&project.run(&["help"]).exits(0).out()) {
            let page = project.read(&format!("{dir}/vplan-{name}.1"));
            assert_eq!(page, project.run(&["man", &name]).exits(0).out());
        }
        for name in ["vplan", "vplan-gate-record", "vplan-gate-show"] {
            let page = project.read(&format!("{dir}/{name}.1"));
            assert!(page.contains(&format!(".TH {name} ")), "{page}");
        }
    }
    project
        .run(&["man", "--dir", "own.1"])
        .exits(5)
        .warns("own.1");
    project.run(&["man", "run", "--dir", "x"]).exits(2);
    project.run(&["man", "--force"]).exits(2).warns("--dir");
}

#[test]
fn every_command_has_its_help_its_page_and_its_completion() {
    let project = Project::bare();
    let help = project.run(&["help"]).exits(0).out();
    let commands = commands(&help);
    assert!(commands.len() >= 18, "{commands:?}");
    let asked = project
        .vplan(&["--", "vplan", ""])
        .env("VPLAN_COMPLETE", "fish");
    let completed = asked.run().exits(0).out();
    let page = project.run(&["man"]).exits(0).out();
    for name in &commands {
        let name = name.as_str();
        let begins = |line: &str| line.starts_with(&format!("{name}\t"));
        assert!(completed.lines().any(begins), "no completion of {name}");
        assert!(
            page.contains(&format!("vplan\\-{name}(1)")),
            "{name} is not in the manual page"
        );
        project
            .run(&["man", name])
            .exits(0)
            .says(&format!(".TH vplan-{name}"));
        let own = project.run(&[name, "--help"]).exits(0).out();
        assert!(
            own.contains("Exit codes: 0 "),
            "the help on {name} does not say its exit codes"
        );
        // `help tour` is the page that `tour` runs.
        if name != "tour" {
            assert_eq!(project.run(&["help", name]).exits(0).out(), own, "{name}");
        }
    }
}

#[test]
fn explain_in_every_form() {
    let project = Project::contract(CONTRACT);
    let explain = |format: &str| {
        let ran = project.run(&["explain", "--format", format, "--changed", "src/a.rs"]);
        ran.exits(0);
        ran.out()
    };
    let text = explain("text");
    for words in ["lint", "unit", "src/**", "src/a.rs", "always"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(explain("dot").starts_with("digraph"));
    assert!(explain("mermaid").starts_with("flowchart") || explain("mermaid").starts_with("graph"));
    let script = explain("shell");
    let status = std::process::Command::new("sh")
        .arg("-c")
        .arg(&script)
        .current_dir(project.root())
        .status()
        .unwrap();
    assert!(status.success(), "{script}");
    project
        .run(&["explain", "unit", "--changed", "docs/a"])
        .exits(0)
        .says("src/**")
        .says("--changed");
    let omitted = project.run(&["explain", "--changed", "docs/a"]);
    omitted.exits(0).says("unit").says("src/**");
}

#[test]
fn modes() {
    let project = Project::contract(CONTRACT);
    project
        .run(&["run", "--mode", "off", "--changed-none"])
        .exits(0)
        .says("off");
    let bare = Project::git_with(&[("Makefile", "check:\n\ttrue\ntest:\n\ttrue\n")]);
    bare.run(&["plan", "--changed-none"]).exits(3);
    let ran = bare.run(&[
        "plan",
        "--changed-none",
        "--mode",
        "fallback",
        "--format",
        "json",
    ]);
    ran.exits(0);
    let steps = ran.json()["steps"].as_array().unwrap().clone();
    assert!(
        steps
            .iter()
            .any(|s| s["command"] == "make test" && s["origin"] == "inferred"),
        "{steps:?}"
    );
    bare.write(
        "contracts/verify.vplan",
        "vplan 1\ncheck a: true && false\n",
    );
    bare.run(&["plan", "--changed-none", "--mode", "fallback"])
        .exits(3);
}

#[test]
fn init_proposes_what_the_repository_declares() {
    let project = Project::git_with(&[("Makefile", "check:\n\ttrue\ntest:\n\ttrue\n")]);
    let shown = project.run(&["init", "--stdout"]);
    shown.exits(0).says("vplan 1").says("make test");
    assert!(!project.exists("contracts/verify.vplan"));
    project.run(&["init"]).exits(0);
    project.run(&["check"]).exits(0);
    project.run(&["run", "--all"]).exits(0);
    project.run(&["init"]).exits(2).warns("--force");
    project.run(&["init", "--force"]).exits(0);
    let empty = Project::git_with(&[("a", "1")]);
    empty.run(&["init"]).exits(0);
    empty.run(&["check"]).exits(0);
}

#[test]
fn a_contract_cannot_be_deleted_or_weakened_unseen() {
    let project = Project::contract("vplan 1\ncheck gate: false\n");
    project.run(&["run", "--changed-none"]).exits(40);
    project.write("contracts/verify.vplan", "vplan 1\ncheck gate: true\n");
    let ran = project.run(&["plan", "--format", "json"]);
    ran.exits(0);
    assert_eq!(ran.json()["notes"][0]["kind"], "contract-changed");
    project.run(&["run", "--contract-from", "HEAD"]).exits(40);
    project.remove("contracts/verify.vplan");
    project.run(&["run"]).exits(3);
    project
        .run(&["run", "--command", "true"])
        .exits(3)
        .warns("deleting the contract");
    project.run(&["run", "--mode", "fallback"]).exits(3);
}

#[test]
fn definitions_under_change() {
    let project = Project::contract("vplan 1\ncheck a: ./check.sh\n");
    project.script("check.sh", "#!/bin/sh\nexit 0\n");
    project.commit("a script");
    project
        .run(&["run", "--deny", "definition-changed", "--changed", "src/x"])
        .exits(0);
    project
        .run(&[
            "run",
            "--deny",
            "definition-changed",
            "--changed",
            "check.sh",
        ])
        .exits(40)
        .warns("check.sh");
    let shell = Project::contract("vplan 1\ncheck a {\n  shell true\n}\n");
    shell.run(&["run", "--changed-none"]).exits(0);
    shell
        .run(&["run", "--changed-none", "--deny", "shell"])
        .exits(40);
    shell
        .run(&["check", "--deny", "shell"])
        .exits(3)
        .warns("shell");
    let hidden = Project::contract("vplan 1\ncheck a: timeout 5 bash -o pipefail -c 'exit 0'\n");
    hidden
        .run(&["run", "--changed-none", "--deny", "shell"])
        .exits(40);
    hidden.run(&["check", "--deny", "shell"]).exits(3);
}

/// What scripts and makefiles call is found in their content, and said by `explain`, `run` and `feedback`; a
/// table of a file that is as it was is not.
#[test]
fn definitions_by_the_content_of_files() {
    let project = Project::contract(
        "vplan 1\ncheck unit: npm test\ncheck rules: make lint\ncheck own: sh ci/own.sh\ncheck style: ruff check\n",
    );
    project
        .write(
            "package.json",
            "{\"scripts\":{\"test\":\"node ci/unit.js\"}}",
        )
        .write("Makefile", "include ci/*.mk\n")
        .write("ci/own.sh", ". \"$(dirname \"$0\")/lib.sh\"\nexit 1\n")
        .write("pyproject.toml", "[tool.ruff]\nline-length = 80\n");
    project.pushed(&project.commit("files that call others"));
    project
        .write("ci/unit.js", "")
        .write("ci/lint.mk", "lint:\n\tfalse\n")
        .write("ci/lib.sh", "x=1\n")
        .write(
            "pyproject.toml",
            "[project]\nname = \"x\"\n[tool.ruff]\nline-length = 80\n",
        );
    let said = [
        "`ci/unit.js` (what its script `test` runs), which defines what `unit` does",
        "`ci/lint.mk` (rules that `Makefile` includes), which defines what `rules` does",
        "`ci/lib.sh` (what `ci/own.sh` sources), which defines what `own` does",
    ];
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let explained = flat(&project.run(&["explain"]).out());
    assert!(
        explained.contains("ci/lib.sh (what `ci/own.sh` sources)"),
        "{explained}"
    );
    assert!(!explained.contains("tool.ruff"), "{explained}");
    let ran = project.run(&["run", "--keep-going"]);
    let feedback = project.run(&["feedback"]).out();
    for line in said {
        assert!(flat(&ran.out()).contains(line), "{line}: {}", ran.out());
        assert!(flat(&feedback).contains(line), "{line}: {feedback}");
    }
    project
        .run(&["run", "--deny", "definition-changed", "--only", "unit"])
        .exits(40)
        .warns(said[0]);
    project.write("pyproject.toml", "[tool.ruff]\nline-length = 90\n");
    let explained = flat(&project.run(&["explain", "--only", "style"]).out());
    assert!(explained.contains("ruff, by `tool.ruff`"), "{explained}");
}

#[test]
fn hostile_names_are_inert_everywhere() {
    let project =
        Project::contract("vplan 1\nwhenChangedAny \"**\" {\n  check a: echo {changed}\n}\n");
    let names: [&[u8]; 7] = [
        b"new\nline",
        b"-rf",
        b"@file",
        b"esc\x1b[2Jape",
        "bidi\u{202e}txt".as_bytes(),
        b"not\xffutf8",
        b"::error::forged",
    ];
    for name in names {
        project.write_bytes(name, "x");
    }
    for args in [
        &["explain"][..],
        &["plan", "--format", "json"],
        &["run"],
        &["run", "--format", "json"],
        &["explain", "--format", "shell"],
    ] {
        let ran = project.run(args);
        ran.exits(0);
        let all = [ran.out(), ran.err()].concat();
        assert!(!all.contains('\x1b'), "{args:?}: {all:?}");
        // JSON has one canonical way to write a character; what reads it is no terminal.
        assert!(
            args.contains(&"json") || !all.contains('\u{202e}'),
            "{args:?}: {all:?}"
        );
        assert!(!all.contains("new\nline"), "{args:?}");
        assert!(
            all.lines().all(|l| !l.trim_start().starts_with("::")),
            "{args:?}: {all}"
        );
    }
    let plan = project.run(&["plan", "--format", "json"]).json();
    let argv = plan["steps"][0]["argv"].as_array().unwrap().clone();
    assert!(
        argv.contains(&serde_json::json!("./-rf")) && argv.contains(&serde_json::json!("./@file")),
        "{argv:?}"
    );
    assert_eq!(argv.len(), 1 + names.len());
}

#[test]
fn no_git_at_all() {
    let project = Project::bare();
    project
        .write("contracts/verify.vplan", CONTRACT)
        .write("src/a", "1");
    let ran = project.run(&["plan", "--format", "json", "--changed", "src/a"]);
    ran.exits(0);
    assert_eq!(ran.json()["steps"].as_array().unwrap().len(), 2);
    project.run(&["run", "--changed", "src/a"]).exits(0);
    project.run(&["plan"]).exits(2).warns("--changed");
}

#[test]
fn a_reader_that_goes_away_is_no_fault() {
    let project = Project::contract(CONTRACT);
    let script = format!("{} help language | head -1", env!("CARGO_BIN_EXE_vplan"));
    let output = std::process::Command::new("bash")
        .args(["-o", "pipefail", "-c", &script])
        .current_dir(project.root())
        .output()
        .unwrap();
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn check_compares_the_contract_with_the_repository() {
    let project = Project::contract(
        "vplan 1\n\
         paths api = \"api/**\" \"!**/*.none\"\n\
         whenChangedAny api \"apps/**\" \"nowhere/**\" {\n  check a: no-such-program --x\n}\n\
         check b: npm run nope\n\
         check c: make nope\n\
         check d {\n  run true\n  dir \"web\"\n}\n\
         check e: ./missing.sh\n\
         check f: ./target/tool\n\
         check g {\n  run true\n  produces \"target/**\"\n}\n\
         whenExists \"Cargo.toml\" {\n  check h: no-such-program\n}\n\
         check i {\n  run npm run nope\n  optional\n}\n",
    );
    project
        .write("package.json", "{\"scripts\":{}}")
        .write("Makefile", "all:\n\ttrue\n")
        .write("apps/api/a", "1");
    project.commit("files");
    let ran = project.run(&["check", "--format", "json"]);
    ran.exits(0);
    let json = ran.json();
    let found: Vec<(String, u64, String)> = json["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|d| {
            d["code"]
                .as_str()
                .unwrap()
                .starts_with("vplan::repository::")
        })
        // npm need not be installed here.
        .filter(|d| !d["message"].as_str().unwrap().contains("`npm`"))
        .map(|d| {
            assert_eq!(d["severity"], "warning");
            let code = d["code"]
                .as_str()
                .unwrap()
                .trim_start_matches("vplan::repository::")
                .to_owned();
            (
                code,
                d["labels"][0]["line"].as_u64().unwrap(),
                d["message"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let found: Vec<(&str, u64, &str)> = found
        .iter()
        .map(|(c, l, m)| (c.as_str(), *l, m.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (
                "glob_selects_nothing",
                2,
                "`api/**` selects no file of the repository"
            ),
            (
                "glob_selects_nothing",
                3,
                "`nowhere/**` selects no file of the repository"
            ),
            (
                "program_not_found",
                4,
                "`no-such-program` is not on the PATH: install it, or name its folder with `tool-path`"
            ),
            (
                "missing_script",
                6,
                "package.json declares no script `nope`"
            ),
            ("missing_make_target", 7, "the makefile has no goal `nope`"),
            ("missing_directory", 8, "the directory `web` does not exist"),
            ("program_not_found", 12, "`missing.sh` does not exist"),
        ]
    );
    let text = project.run(&["check"]);
    text.exits(0)
        .says("9 checks")
        .warns("did you mean `**/api/**`?");
    project.run(&["check", "--deny", "warnings"]).exits(3);
    project
        .run(&["check", "--deny", "vplan::repository::missing_script"])
        .exits(3)
        .warns("`nope`");
    project
        .run(&["check", "--deny", "vplan::contract::unused_paths"])
        .exits(0);
    let good =
        Project::contract("vplan 1\nwhenChangedAny \"contracts/\" {\n  check a: sh -c true\n}\n");
    let ran = good.run(&["check", "--deny", "warnings"]);
    ran.exits(0).is_quiet();
}

#[test]
fn a_message_shows_the_whole_line() {
    let project = Project::contract("vplan 1\r\n\tcheck a: echo größe && true\r\n");
    project
        .run(&["check"])
        .exits(3)
        .warns("[contracts/verify.vplan:2:24]")
        .warns("check a: echo größe && true\n")
        .warns("`sequence first -> second`");
    let long = format!(
        "\u{feff}vplan 1\ncheck a: echo {} && true {}\n",
        "x ".repeat(2_000),
        "y ".repeat(2_000)
    );
    project.write("contracts/verify.vplan", long.as_bytes());
    let ran = project.run(&["check"]);
    ran.exits(3).warns("x x  && true y");
    assert!(
        ran.err().lines().all(|line| line.chars().count() < 120),
        "{}",
        ran.err()
    );
}

#[test]
fn words_of_settings_and_statements() {
    for (text, message, label) in [
        (
            "check a {\n  run true\n  timeot 5s\n}\n",
            "unknown setting `timeot`",
            "sets nothing in a `check` block",
        ),
        (
            "limits {\n  bugdet 5s\n}\n",
            "unknown setting `bugdet`",
            "sets nothing in a `limits` block",
        ),
        (
            "check a {\n  file \"x\" {\n    exist\n  }\n}\n",
            "unknown assertion `exist`",
            "asserts nothing in a `file` block",
        ),
        (
            "byrole tester {\n  run true\n}\n",
            "unknown statement `byrole`",
            "begins no statement",
        ),
    ] {
        let project = Project::contract(&format!("vplan 1\n{text}"));
        project
            .run(&["check"])
            .exits(3)
            .warns(message)
            .warns(label)
            .warns("did you mean");
    }
}

#[test]
fn colour_is_asked_for_or_not() {
    let project = Project::contract(CONTRACT);
    let colored = |args: &[&str], env: &[(&str, &str)]| {
        let ran = env
            .iter()
            .fold(project.vplan(args), |run, (name, value)| {
                run.env(name, *value)
            })
            .run();
        [ran.out(), ran.err()].concat().contains('\x1b')
    };
    let none: &[(&str, &str)] = &[];
    let force: &[(&str, &str)] = &[("FORCE_COLOR", "1")];
    let both: &[(&str, &str)] = &[("FORCE_COLOR", "1"), ("NO_COLOR", "1")];
    // An answer, a message of vplan, a message about the command line, and help.
    for args in [
        &["explain", "--all"][..],
        &["plan", "--only", "nope"],
        &["plan", "--nope"],
        &["help", "plan"],
        &["plan", "--help"],
    ] {
        let with = |color: &'static str| args.iter().copied().chain([color]).collect::<Vec<_>>();
        // Behind `--help` nothing is read any more, in front of it everything.
        let with = |color| {
            if args == ["plan", "--help"] {
                vec!["plan", color, "--help"]
            } else {
                with(color)
            }
        };
        assert!(!colored(args, none), "{args:?}");
        assert!(colored(args, force), "{args:?}");
        assert!(!colored(args, both), "{args:?}");
        assert!(colored(&with("--color=always"), both), "{args:?}");
        assert!(!colored(&with("--color=never"), force), "{args:?}");
    }
}

#[test]
fn a_trace_shows_what_was_done_and_no_secret() {
    let project = Project::contract(
        "vplan 1\nwhenExists \"a\\u{1b}b\" {\n  check a: true\n}\ncheck b: true\n",
    );
    let run = project.vplan(&["plan", "-v", "--base", "HEAD", "--command", "npm run nope"]);
    let ran = run.env("MY_TOKEN", "hunter2hunter2").run();
    ran.exits(0);
    let trace = ran.err();
    for words in [
        "rev-parse --verify --quiet --end-of-options 'HEAD^{commit}'",
        "changed files",
        "contracts/verify.vplan",
        "compiling needs facts round=1",
        "question=exists:a\\u{1b}b answer=no",
        "compiled round=2",
        "questions=",
    ] {
        assert!(trace.contains(words), "{words}: {trace}");
    }
    assert!(
        !trace.contains("hunter2") && !trace.contains('\x1b'),
        "{trace}"
    );
    project.run(&["plan", "--base", "HEAD"]).exits(0).is_quiet();
}

#[test]
fn the_base_that_ci_names_is_told() {
    let project = Project::contract(CONTRACT);
    project.git(&["branch", "base"]);
    project.commit("a change");
    let ran = project
        .vplan(&["plan", "--base", "auto"])
        .env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "base")
        .run();
    ran.exits(0)
        .warns("note: the base is `base`, from `CI_MERGE_REQUEST_TARGET_BRANCH_NAME`");
    let quiet = project.vplan(&["plan", "-q", "--base", "auto"]);
    quiet
        .env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "base")
        .run()
        .exits(0)
        .is_quiet();
}

#[test]
fn refusals_and_commands_read_well() {
    let project = Project::bare();
    let ran = project.run(&[
        "recover",
        "--command",
        "a | b",
        "--command",
        "c | d",
        "--failed",
        "1",
        "--failed",
        "2",
    ]);
    ran.exits(44);
    assert_eq!(
        ran.json()["refused"],
        "drop-unsupported-format: no step that verifies something would remain"
    );
    let ran = project.run(
        &[
            "recover",
            "--command",
            "make",
            "--command",
            "make clean",
            "--command",
            "[ -f build/x ]",
        ]
        .iter()
        .copied()
        .chain(["--failed", "3", "--exit", "1"])
        .collect::<Vec<_>>(),
    );
    ran.exits(0);
    assert_eq!(
        ran.json()["nextCommands"],
        serde_json::json!(["make", "[ -f build/x ]", "make clean"])
    );
}

#[test]
fn a_trigger_says_what_pulled_it() {
    let contract = |head: &str| {
        format!(
            "vplan 1\n{head}paths secure = \"src/auth/**\"\ntier 1 {{\n  check deep: true\n}}\nrisk auth tier 1 secure\n"
        )
    };
    let project = Project::contract(&contract(""));
    let args = [
        "plan",
        "--format",
        "json",
        "--changed",
        "src/auth/key",
        "docs/a",
    ];
    let tier = project.run(&args).json()["tiers"][1].clone();
    let trigger = serde_json::json!([{
        "condition": "risk", "glob": "src/auth/**", "line": 6, "matched": ["src/auth/key"], "matchedCount": 1,
        "names": ["auth"], "paths": "secure",
    }]);
    assert_eq!(
        (&tier["reasons"], &tier["triggers"]),
        (&serde_json::json!(["trigger auth"]), &trigger)
    );
    let told = project.run(&["explain", "--changed", "src/auth/key"]);
    told.exits(0)
        .says("risk auth secure with \"src/auth/**\" (line 6) selects src/auth/key");
    // The line is a remark, no part of what the digest covers.
    let digest = |project: &Project| project.run(&args).json()["digest"].clone();
    let before = digest(&project);
    project.write("contracts/verify.vplan", contract("\n# moved\n\n"));
    assert_eq!(digest(&project), before);
}

#[test]
fn a_flag_of_another_tool_is_answered_with_what_to_write() {
    let project = Project::contract(CONTRACT);
    for (args, advice) in [
        (["run", "--dry-run"], "`vplan explain` shows what would run"),
        (["run", "--fail-fast"], "`--keep-going` goes on"),
        (["run", "--affected"], "`--base REV`"),
        (["run", "--watch"], "`vplan loop --fix COMMAND`"),
    ] {
        let ran = project.run(&args);
        ran.exits(2).warns("unexpected argument").warns(advice);
    }
}
