//! The files that `vplan emit` writes: what stands in them, when they are written, and what becomes
//! of a change in their jobs. The jobs are run here without the systems that they are for; with
//! them in `gitlab` and `slurm`, which `.ci/long emit` runs. A workflow of GitHub is looked at by
//! actionlint, and was never run there.

mod gitlab;
pub mod jobs;
mod slurm;

use crate::support::Project;
use crate::support::tree::have;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Three checks in two shards; the second one fails where `src/b` is not good.
const CONTRACT: &str =
    "vplan 1\ncheck a: grep -q good src/a\ncheck b: grep -q good src/b\ncheck c: true\n";

/// A project in which everything passes.
fn project() -> Project {
    let project = Project::contract(CONTRACT);
    project.write("src/a", "good\n").write("src/b", "good\n");
    project.commit("a good start");
    project
}

/// The text for a system.
fn emitted(project: &Project, words: &[&str]) -> String {
    project.run(&[&["emit"], words].concat()).exits(0).out()
}

/// The PATH of this process, with the vplan that is tested before all others.
fn path_with_vplan() -> OsString {
    let own = Path::new(env!("CARGO_BIN_EXE_vplan")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let folders = [own.to_owned()].into_iter();
    std::env::join_paths(folders.chain(std::env::split_paths(&path))).unwrap()
}

/// Replaces a piece of a text that must be there once.
fn changed(text: &str, piece: &str, by: &str) -> String {
    assert_eq!(text.matches(piece).count(), 1, "{piece}: {text}");
    text.replace(piece, by)
}

const ALL_OPTIONS: &[(&str, &[&str])] = &[
    ("github.yml", &["github"]),
    (
        "github-all.yml",
        &[
            "github",
            "--shards",
            "7",
            "--base-from",
            "env:COMPARED_WITH",
            "--contract",
            "ci/verify.vplan",
            "--image",
            "rust:1.95",
            "--require",
            "full",
        ],
    ),
    (
        "github-installed.yml",
        &["github", "--program", "installed", "--base-from", "default"],
    ),
    ("gitlab.yml", &["gitlab"]),
    (
        "gitlab-all.yml",
        &[
            "gitlab",
            "--shards",
            "200",
            "--base-from",
            "env:COMPARED_WITH",
            "--contract",
            "ci/verify.vplan",
            "--image",
            "registry.example.org/ci/vplan@sha256:00",
            "--require",
            "full",
            "--program",
            "installed",
        ],
    ),
    ("slurm.sh", &["slurm"]),
    (
        "slurm-all.sh",
        &[
            "slurm",
            "--shards",
            "1000",
            "--base-from",
            "all",
            "--contract",
            "ci/verify.vplan",
            "--require",
            "some",
            "--sbatch-args",
            "--partition=ci --time=1:00:00",
        ],
    ),
];

/// `UPDATE_GOLDEN=1` writes them anew.
#[test]
fn the_texts_are_what_they_were() {
    let project = project();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/emit");
    for (name, words) in ALL_OPTIONS {
        let text = emitted(&project, words);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(folder.join(name), &text).unwrap();
        }
        let golden = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert_eq!(text, golden, "{name}: UPDATE_GOLDEN=1 writes it anew");
        // What its first line says makes it again.
        let line = text
            .lines()
            .find_map(|l| l.strip_prefix("# Made by: vplan "))
            .unwrap();
        let quoted: Vec<&str> = line.split('\'').collect();
        let mut again: Vec<String> = quoted[0].split_whitespace().map(str::to_owned).collect();
        if let Some(args) = quoted.get(1) {
            again.last_mut().unwrap().push_str(args);
        }
        assert_eq!(project.run(&again).exits(0).out(), text, "{line}");
        // Nobody can write a contract so that something of it gets into the text.
        assert_eq!(
            Project::bare()
                .run(&[&["emit"], *words].concat())
                .exits(0)
                .out(),
            text
        );
    }
    let scripts = ["slurm.sh", "slurm-all.sh"];
    for script in scripts {
        let read = Command::new("bash")
            .arg("-n")
            .arg(folder.join(script))
            .output()
            .unwrap();
        assert!(read.status.success() && read.stderr.is_empty(), "{read:?}");
    }
}

#[test]
fn a_file_is_written_and_compared() {
    let project = project();
    let place = ".github/workflows/verify.yml";
    let emit = |words: &[&str]| project.run(&[&["emit", "github", "-o", place], words].concat());
    emit(&["--check"]).exits(2).warns("vplan::usage::output");
    emit(&[]).exits(0).says(&format!("{place}: written"));
    emit(&["--check"])
        .exits(0)
        .says(&format!("{place}: as it would be written"));
    assert_eq!(project.read(place), emitted(&project, &["github"]));
    // Other options give another text, and over its own file it writes.
    let differs = emit(&["--check", "--shards", "3"]);
    differs
        .exits(40)
        .says("-# Made by: vplan emit github --shards auto")
        .says("+# Made by: vplan emit github --shards 3")
        .warns("vplan::emit::differs")
        .warns(&format!(
            "`vplan emit github --shards 3 -o {place}` writes it"
        ));
    emit(&["--shards", "3"]).exits(0);
    emit(&["--check", "--shards", "3"]).exits(0);
    let json = emit(&["--check", "--format", "json"]);
    let document = json.exits(40).json();
    assert_eq!(document["status"], "differs");
    assert!(document["diff"].as_str().unwrap().contains("--shards 3"));
    // By hand: no line of the diff is a command for the log of a pipeline.
    let text = project.read(place);
    project.write(
        place,
        changed(&text, "fail-fast: false", "fail-fast: true\n::error::x"),
    );
    emit(&["--check", "--shards", "3", "-q"])
        .exits(40)
        .says("-      fail-fast: true");
    project.write(place, "name: mine\n");
    emit(&[])
        .exits(2)
        .warns("does not overwrite")
        .warns("--force");
    assert_eq!(project.read(place), "name: mine\n");
    emit(&["--force"]).exits(0);
    let printed = project.run(&["emit", "slurm", "-o", "-", "--format", "json"]);
    let document = printed.exits(0).json();
    assert_eq!(document["status"], "printed");
    assert_eq!(document["text"], emitted(&project, &["slurm"]));
}

#[test]
fn options_that_do_not_fit() {
    let project = project();
    for (words, says) in [
        (&["jenkins"][..], "[possible values: github, gitlab, slurm]"),
        (&[], "<SYSTEM>"),
        (
            &["github", "--shards", "257"],
            "`--shards` of `github` is a number from 1 to 256",
        ),
        (&["gitlab", "--shards", "auto"], "name it: `--shards 4`"),
        (
            &["gitlab", "--base-from", "main"],
            "`env:NAME` takes the revision from a variable",
        ),
        (&["gitlab", "--contract", "a b"], "`--contract`"),
        (&["gitlab", "--image", "x\"\n"], "`--image`"),
        (
            &["slurm", "--image", "x"],
            "`--image` is for GitHub and GitLab, and has no effect for `slurm`",
        ),
        (
            &["slurm", "--sbatch-args", "--test-only"],
            "which the script needs for itself",
        ),
        (
            &["slurm", "--sbatch-args", "--wrap=true"],
            "which the script needs for itself",
        ),
        (&["github", "--check"], "--output"),
        (
            &["github", "--check", "-o", "-"],
            "compares a file, and `-` is none",
        ),
        (&["github", "--format", "kdl"], "has no format `kdl`"),
    ] {
        let ran = project.run(&[&["emit"], words].concat());
        ran.exits(2).warns(says);
    }
    let refused = project.run(&["emit", "slurm", "--shards", "0"]);
    refused.exits(2).warns("vplan::usage::emit");
}

#[test]
fn workflows_pass_actionlint() {
    if !have(&["actionlint"]) {
        return;
    }
    let project = Project::git_empty();
    let all = ALL_OPTIONS
        .iter()
        .filter(|(name, _)| name.starts_with("github"));
    for (name, words) in all {
        let text = emitted(&project, words);
        project.write(format!(".github/workflows/{name}"), text);
    }
    let lint = || {
        let mut command = Command::new("actionlint");
        let ran = command.arg("-no-color").current_dir(project.root());
        let ran = ran.output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        (ran.status.success(), said)
    };
    let (sound, said) = lint();
    assert!(sound, "{said}");
    // It looks at them.
    let place = ".github/workflows/github.yml";
    let text = project.read(place);
    project.write(
        place,
        text.replace("needs.plan.outputs.shards", "needs.plan.outputs.shard"),
    );
    let (sound, said) = lint();
    assert!(!sound && said.contains("shard"), "{said}");
}
