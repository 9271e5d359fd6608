//! A shell that completes a command line is told what there is: commands, options, checks, tags,
//! roles, runs, topics.

use crate::support::{Project, Ran, tree};

const CONTRACT: &str = "vplan 1\n\
    check lint: true\n\
    check unit {\n  test true\n  tags quick slow\n}\n\
    role fixer {\n  only quick\n}\n";

/// Asks as the script of a shell asks that bash, zsh or fish has read, for the last word.
fn asked(project: &Project, shell: &str, words: &[&str]) -> Ran {
    let line = [&["--", "vplan"], words].concat();
    project
        .vplan(&line)
        .env("VPLAN_COMPLETE", shell)
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n")
        .run()
}

/// The candidates, without what zsh and fish are told about them.
fn candidates(project: &Project, shell: &str, words: &[&str]) -> Vec<String> {
    let ran = asked(project, shell, words);
    ran.exits(0);
    assert_eq!(ran.err(), "", "{words:?}");
    let about = if shell == "zsh" { ':' } else { '\t' };
    let text = ran.out().replace("\\:", "\u{0}");
    text.lines()
        .map(|line| line.split(about).next().unwrap().replace('\u{0}', ":"))
        .collect()
}

/// What is typed, what must be offered, and what must not be.
const OFFERED: &[(&[&str], &[&str], &[&str])] = &[
    (&[""], &["run", "explain", "tour"], &["lint", "unit"]),
    (&["ex"], &["explain"], &["run"]),
    (
        &["run", ""],
        &["lint", "unit", "tag:quick", "tag:slow", "--only"],
        &["fixer"],
    ),
    (&["run", "lint", "u"], &["unit"], &["lint"]),
    (
        &["run", "--only", ""],
        &["lint", "unit", "tag:quick"],
        &["--only", "explain"],
    ),
    (&["run", "--only=l"], &["--only=lint"], &["--only=unit"]),
    (
        &["loop", "--only", "tag:q"],
        &["tag:quick"],
        &["tag:slow", "lint"],
    ),
    (&["run", "--skip", ""], &["lint", "unit"], &["tag:quick"]),
    (
        &["plan", "--role", ""],
        &["fixer", "worker", "tester"],
        &["lint"],
    ),
    (&["explain", "--role", "f"], &["fixer"], &["worker"]),
    (&["explain", ""], &["lint", "unit"], &["tag:quick"]),
    (&["log", ""], &["lint", "unit"], &["latest"]),
    (
        &["log", "unit", "--run", ""],
        &["latest"],
        &["lint", "latest~1"],
    ),
    (&["stats", "--check", ""], &["lint", "unit"], &[]),
    (&["baseline", "record", "l"], &["lint"], &["latest"]),
    (&["baseline", "record", "--run", ""], &["latest"], &["lint"]),
    (&["baseline", "show", ""], &["unit"], &["latest"]),
    (&["details", "l"], &["latest"], &["lint"]),
    (&["report", ""], &["latest"], &["lint"]),
    (&["help", ""], &["tour", "language", "run"], &["lint"]),
    (&["man", "st"], &["stats", "status", "std"], &["security"]),
    (&["std", "py"], &["python@2"], &["rust@2"]),
    (&["schema", "feed"], &["feedback"], &[]),
    (&["check", "--color", ""], &["never"], &[]),
    (&["run", "--changed", "contr"], &["contracts/"], &[]),
    (&["fmt", "contracts/v"], &["contracts/verify.vplan"], &[]),
];

#[test]
fn a_shell_is_told_what_there_is() {
    let project = Project::contract(CONTRACT);
    project.run(&["run", "--all"]).exits(0);
    for shell in ["bash", "zsh", "fish"] {
        for (words, there, not_there) in OFFERED {
            let found = candidates(&project, shell, words);
            // Of a word with a `:` or `=` bash replaces what is behind it.
            let cut = |text: &str| match (shell, words.last().unwrap().rfind([':', '='])) {
                ("bash", Some(at)) => text[at + 1..].to_owned(),
                _ => text.to_owned(),
            };
            // The test gives bash whole words, as only the other shells do.
            let whole = |text: &str| found.iter().any(|f| f == text || *f == cut(text));
            for name in *there {
                assert!(whole(name), "{shell} {words:?}: no {name} in {found:?}");
            }
            for name in *not_there {
                assert!(!whole(name), "{shell} {words:?}: {name} in {found:?}");
            }
        }
    }
    let runs = candidates(&project, "zsh", &["report", ""]);
    let listed = project.run(&["runs"]).exits(0).out();
    let short = listed.split_whitespace().nth(1).unwrap();
    assert!(runs.contains(&short.to_owned()), "{short}: {runs:?}");
    project.run(&["report", short]).exits(0);
}

#[test]
fn another_folder_and_another_contract_count() {
    let project = Project::contract(CONTRACT);
    project.write("other.vplan", "vplan 1\ncheck fuzz: true\n");
    let found = candidates(
        &project,
        "fish",
        &["run", "--contract", "other.vplan", "--only", ""],
    );
    assert_eq!(found, ["fuzz"]);
    let elsewhere = project.vplan(&["--", "vplan", "-C", "repo", "run", "--only", "un"]);
    let ran = elsewhere.within("..").env("VPLAN_COMPLETE", "fish").run();
    assert!(ran.exits(0).out().starts_with("unit\t"), "{}", ran.out());
    for words in [
        &["-C", "no/such", "run", "--only", ""][..],
        &["run", "--contract", "../x", "--only", ""],
    ] {
        assert_eq!(candidates(&project, "fish", words), [""; 0], "{words:?}");
    }
}

#[test]
fn nothing_is_said_of_what_is_broken() {
    let broken = [
        ("contracts/verify.vplan", "vplan 1\ncheck {{{ \n"),
        (
            "contracts/verify.vplan",
            "vplan 1\nimport \"no/such.vplan\" as x\ncheck a: true\n",
        ),
        ("contracts/verify.vplan", "vplan 99\n"),
        (".vplan", "a file where the records are"),
    ];
    for (path, text) in broken {
        let project = Project::git_with(&[("a", "1")]);
        project.write(path, text);
        for words in [
            &["run", "--only", ""][..],
            &["explain", "x"],
            &["log", "a", "--run", ""],
        ] {
            assert_eq!(
                candidates(&project, "fish", words),
                [""; 0],
                "{text} {words:?}"
            );
        }
        let roles = candidates(&project, "fish", &["run", "--role", "t"]);
        assert_eq!(roles, ["tester"], "{text}");
        assert!(candidates(&project, "fish", &["run", "--ju"]).contains(&"--junit".to_owned()));
    }
    let nowhere = Project::bare();
    assert_eq!(
        candidates(&nowhere, "fish", &["run", "--only", ""]),
        [""; 0]
    );
}

/// A variable that a run inherits must not turn it into an answer to a shell, which is exit 0.
#[test]
fn an_inherited_variable_turns_no_run_into_an_answer() {
    let project = Project::contract("vplan 1\ncheck gate: false\n");
    for shell in ["bash", "zsh", "fish", "1", ""] {
        for variable in ["VPLAN_COMPLETE", "COMPLETE"] {
            let run = project.vplan(&["run", "--all"]).env(variable, shell);
            run.run().exits(40).says("gate");
        }
    }
    // Nor is `--` an answer without the variable.
    let ran = project.run(&["--", "vplan", "run", ""]);
    ran.exits(2);
    let unknown = asked(&project, "tcsh", &["run", ""]);
    assert_eq!(unknown.exits(2).out(), "");
}

/// The script, read by bash, and its function called as bash calls it.
const IN_BASH: &str = r#"
set -eu
source <(vplan completions bash)
function=$(complete -p vplan | sed 's/.* -F \([^ ]*\).*/\1/')
ask() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9; COMPREPLY=()
    COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
    local word="${COMP_WORDS[COMP_CWORD]}"
    [[ $word == : || $word == = ]] && word=
    "$function" vplan "$word" "${COMP_WORDS[COMP_CWORD-1]}"
    echo "$* -> ${COMPREPLY[*]-}"
}
ask vplan run --only ''
ask vplan run --only tag :
ask vplan run --only tag : sl
ask vplan run --only = li
ask vplan explain u
ask vplan help tou
ask vplan log unit --run lat
"#;

#[test]
fn bash_itself_completes() {
    if !tree::have(&["bash"]) {
        return;
    }
    let project = Project::contract(CONTRACT);
    project.run(&["run", "--all"]).exits(0);
    let mut path = std::ffi::OsString::from(
        std::path::Path::new(env!("CARGO_BIN_EXE_vplan"))
            .parent()
            .unwrap(),
    );
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let output = std::process::Command::new("bash")
        .args(["--norc", "-c", IN_BASH])
        .current_dir(project.root())
        .env("PATH", path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        [
            "vplan run --only  -> lint unit tag:quick tag:slow",
            "vplan run --only tag : -> quick slow",
            "vplan run --only tag : sl -> slow",
            "vplan run --only = li -> lint",
            "vplan explain u -> unit",
            "vplan help tou -> tour",
            "vplan log unit --run lat -> latest",
        ]
    );
}
