//! Is every law proved by a test that is there? `laws.md` says which; this keeps it true. Below
//! that stand those laws that only the whole program can show.

use crate::support::process::Bounded as _;
use crate::support::{Project, eventually};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How many laws there are; one that is proved and one that cannot be each count once.
const LAWS: usize = 184;

/// A row of the table.
struct Row {
    law: String,
    proofs: Vec<String>,
}

/// The rows of the table below a heading: the first column, and what stands between backticks in
/// the second.
fn rows(text: &str, heading: &str) -> Vec<Row> {
    let part = text
        .split(heading)
        .nth(1)
        .unwrap()
        .split("\n## ")
        .next()
        .unwrap();
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|c| c.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let row = |line: &str| {
        let cells = cells(line);
        let law = cells[0].trim_matches('`').to_owned();
        Row {
            law,
            proofs: cells[1]
                .split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect(),
        }
    };
    part.lines()
        .filter(|l| l.starts_with("| `"))
        .map(row)
        .collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The file of a module: `props::compile` in `tests/`, `vplan::base::inert` in `src/`.
fn source(modules: &[&str]) -> Option<String> {
    let (base, modules) = match modules {
        ["vplan", "effect", rest @ ..] | ["vplan", rest @ ..] => (root().join("src"), rest),
        rest => (root().join("tests"), rest),
    };
    let path = modules
        .iter()
        .fold(base, |path: PathBuf, part| path.join(part));
    let roots = ["mod.rs", "lib.rs", "main.rs"].map(|name| path.join(name));
    [path.with_extension("rs")]
        .iter()
        .chain(&roots)
        .find_map(|p| std::fs::read_to_string(p).ok())
}

/// Whether a path names a function that is marked as a test.
fn is_test(path: &str) -> bool {
    let parts: Vec<&str> = path.split("::").collect();
    let Some((name, modules)) = parts.split_last() else {
        return false;
    };
    let Some(text) = source(modules) else {
        return false;
    };
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let starts = [format!("fn {name}("), format!("fn {name} (")];
    lines.iter().enumerate().any(|(at, line)| {
        let marks = lines[..at]
            .iter()
            .rev()
            .take_while(|l| l.starts_with("#[") || l.starts_with("//"));
        starts.iter().any(|s| line.starts_with(s.as_str()))
            && marks.clone().any(|l| *l == "#[test]")
    })
}

#[test]
fn every_law_has_its_test() {
    let text = std::fs::read_to_string(root().join("tests/laws.md")).unwrap();
    let (proved, not) = (
        rows(&text, "\n## Proved\n"),
        rows(&text, "\n## Not applicable\n"),
    );
    let mut names = BTreeSet::new();
    for row in proved.iter().chain(&not) {
        assert!(
            names.insert(row.law.clone()),
            "`{}` is there twice",
            row.law
        );
    }
    for Row { law, proofs } in &proved {
        let named = proofs.iter().any(|p| p.rsplit("::").next() == Some(law));
        assert!(named, "no test is called `{law}`");
        for proof in proofs {
            assert!(is_test(proof), "`{law}`: there is no test `{proof}`");
        }
    }
    let mut seen = BTreeSet::new();
    for proof in proved.iter().flat_map(|r| &r.proofs) {
        // One test may prove a part of several laws, but the test of a law's name is that law's.
        let own = names.contains(proof.rsplit("::").next().unwrap_or_default());
        assert!(!own || seen.insert(proof), "`{proof}` is there twice");
    }
    for row in &not {
        let line = text
            .lines()
            .find(|l| l.starts_with(&format!("| `{}` |", row.law)))
            .unwrap();
        assert!(
            line.len() > row.law.len() + 40,
            "`{}` needs a reason",
            row.law
        );
    }
    assert_eq!((names.len(), proved.len() + not.len()), (LAWS, LAWS));
    let guide = std::fs::read_to_string(root().join(".github/CONTRIBUTING.md")).unwrap();
    assert!(
        guide.contains(&format!("| {LAWS} laws ")),
        "CONTRIBUTING.md says how many there are"
    );
}

#[test]
fn what_is_no_test_is_not_found() {
    assert!(is_test("laws::every_law_has_its_test"));
    assert!(
        !is_test("laws::every_law")
            && !is_test("laws::root")
            && !is_test("nowhere::x")
            && !is_test("x")
    );
}

fn files(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in dir.read_dir().unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            files(&entry.path(), into)
        } else {
            into.push(entry.path())
        }
    }
}

/// Planning, judging and repairing cannot look at anything: what could is not named there.
#[test]
fn no_env_no_clock_no_fs() {
    let forbidden = [
        "std::fs",
        "std::env",
        "std::net",
        "std::process",
        "std::io::stdin",
        "SystemTime",
        "Instant::now",
        "rustix::",
        "tokio::",
        "std::thread",
        "RandomState",
        "HashMap",
        "HashSet",
    ];
    let mut all = Vec::new();
    for room in [
        "base", "lang", "check", "contract", "plan", "recover", "run", "ledger", "lock", "reuse",
        "baseline",
    ] {
        files(&root().join("src").join(room), &mut all);
    }
    assert!(all.len() > 100, "{} files", all.len());
    // What builds a room runs before it is one.
    let is_code = |path: &&PathBuf| {
        path.extension().is_some_and(|e| e == "rs") && !path.ends_with("build.rs")
    };
    for path in all.iter().filter(is_code) {
        let text = std::fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let code: Vec<&str> = code
            .lines()
            .filter(|l| !l.trim_start().starts_with("//"))
            .collect();
        // There only keys are looked up; what is taken from all of a table is sorted.
        let is_matching = path
            .parent()
            .is_some_and(|dir| dir.ends_with("base/matching"));
        let is_free = |word: &&str| is_matching && *word == "HashMap";
        for word in forbidden.iter().filter(|word| !is_free(word)) {
            let is_test_file = path.file_name().is_some_and(|n| n == "tests.rs");
            assert!(
                is_test_file || !code.iter().any(|l| l.contains(word)),
                "{} names {word}",
                path.display()
            );
        }
    }
}

#[test]
fn json_and_text_report_same_codes() {
    for text in [
        "chek a: true\n",
        "check a {\n  run true\n  timeout 5\n  timeout 6s\n}\ncheck a: false\n",
        "check a: x && y\nbyRole nobody {\n  check b: $HOME\n}\n",
        "whenChangedAny \"/a\" \"**b\" {\n  use c\n}\n",
        "check a {\n  run true\n  needs b\n}\ncheck b {\n  run true\n  needs a\n}\n",
        "paths unused = \"a\"\ncheck a: ls *\nrisk r tier 2 \"a\"\n",
    ] {
        let project = Project::contract(&format!("vplan 1\n{text}"));
        let json = project.run(&["check", "--format", "json"]).json();
        let mut codes: Vec<String> = json["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| d["code"].as_str().unwrap().to_owned())
            .collect();
        let ran = project.run(&["check"]);
        let shown = ran.out() + &ran.err();
        let mut told: Vec<String> = shown
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))
            .filter(|w| w.starts_with("vplan::"))
            .map(|w| w.trim_end_matches(':').to_owned())
            .collect();
        codes.sort();
        codes.dedup();
        // The last line sums up.
        told.retain(|code| code != "vplan::contract::invalid");
        told.sort();
        told.dedup();
        assert!(!codes.is_empty());
        assert_eq!(told, codes, "{shown}");
    }
}

/// Three files in a ring, reached through a fourth: the ring is shown, and nothing but the ring.
#[test]
fn import_cycle_minimal_witness() {
    let project = Project::contract("vplan 1\nimport \"lead.vplan\"\ncheck a: true\n");
    for (file, next) in [
        ("lead", "one"),
        ("one", "two"),
        ("two", "three"),
        ("three", "one"),
    ] {
        project.write(
            format!("contracts/{file}.vplan"),
            format!("vplan 1\nimport \"{next}.vplan\"\n"),
        );
    }
    let ran = project.run(&["check"]);
    ran.exits(3);
    let text = ran.out() + &ran.err();
    let message = text
        .lines()
        .find(|l| l.contains("import") && l.contains("one.vplan"))
        .unwrap();
    assert_eq!(
        text.matches("vplan::contract::import_cycle").count(),
        1,
        "{text}"
    );
    assert!(
        text.contains("two.vplan") && text.contains("three.vplan"),
        "{message}"
    );
}

const GIT_IMPORT: &str =
    "import \"git+https://example.org/x.git?rev=0123456789012345678901234567890123456789#a.vplan\"";

#[test]
fn lock_missing_entry_is_error() {
    let project = Project::contract(&format!("vplan 1\n{GIT_IMPORT}\ncheck a: true\n"));
    for args in [
        &["plan", "--all"][..],
        &["explain", "--all"],
        &["run", "--all"],
        &["lock", "--check"],
    ] {
        project.run(args).exits(4);
        assert!(!project.exists("contracts/verify.lock.kdl"), "{args:?}");
    }
    // An empty lock pins no more than none.
    project.write("contracts/verify.lock.kdl", "version 1\n");
    project
        .run(&["plan", "--all"])
        .exits(4)
        .warns("vplan::lock::not_pinned");
}

#[test]
fn lock_never_written_by_quiet_or_run() {
    let project = Project::contract("vplan 1\ncheck a: true\n");
    let lock = "// ours\nversion 1\n";
    project.write("contracts/verify.lock.kdl", lock);
    let before = std::fs::metadata(project.path("contracts/verify.lock.kdl")).unwrap();
    for args in [
        &["check"][..],
        &["explain", "--all"],
        &["plan", "--all"],
        &["run", "--all"],
        &["fmt"],
        &["fmt", "--check"],
        &["test"],
        &["lock", "--check"],
        &[
            "recover",
            "--command",
            "make",
            "--failed",
            "1",
            "--exit",
            "2",
        ],
        &["status"],
    ] {
        let _ = project.run(args);
        let after = std::fs::metadata(project.path("contracts/verify.lock.kdl")).unwrap();
        assert_eq!(project.read("contracts/verify.lock.kdl"), lock, "{args:?}");
        assert_eq!(
            before.modified().unwrap(),
            after.modified().unwrap(),
            "{args:?}"
        );
    }
}

/// Every line of a real record is an object of the documented kind, and says nothing that is not
/// documented.
#[test]
fn journal_schema_valid() {
    let project = Project::contract(
        "vplan 1\ncheck a: true\ncheck b: false\ncheck c {\n  shell echo hello\n  needs b\n}\n",
    );
    let _ = project.run(&[
        "run",
        "--changed-none",
        "--keep-going",
        "--no-cache",
        "--command",
        "make x && make y",
    ]);
    let runs: Vec<PathBuf> = project
        .path(".vplan/runs")
        .read_dir()
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    let text = runs
        .iter()
        .find_map(|run| std::fs::read_to_string(run.join("events.jsonl")).ok())
        .unwrap();
    assert!(text.lines().count() > 4 && text.ends_with('\n'), "{text}");
    for (number, line) in text.lines().enumerate() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["seq"], number);
        assert!(value["t"].is_u64(), "{line}");
        let read: vplan::run::journal::Line = serde_json::from_str(line).unwrap();
        assert_eq!(
            serde_json::to_value(&read).unwrap(),
            value,
            "nothing is lost, nothing is new"
        );
        let documented = vplan::run::journal::EVENTS;
        assert!(
            documented.contains(&format!("`{}`", value["type"].as_str().unwrap())),
            "{line}"
        );
        assert!(
            value
                .as_object()
                .unwrap()
                .keys()
                .all(|k| documented.contains(k.as_str())),
            "{line}"
        );
    }
}

fn changed(project: &Project) -> Vec<String> {
    let json = project.run(&["plan", "--format", "json"]).exits(0).json();
    let one = |f: &serde_json::Value| {
        format!(
            "{} {}",
            f["status"].as_str().unwrap(),
            f["path"].as_str().unwrap()
        )
    };
    json["request"]["changed"]
        .as_array()
        .unwrap()
        .iter()
        .map(one)
        .collect()
}

#[test]
fn rename_reports_both_names() {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", "vplan 1\ncheck a: true\n"),
        ("old/name.ts", "text\n"),
    ]);
    std::fs::create_dir(project.path("new")).unwrap();
    project.git(&["mv", "old/name.ts", "new/name.ts"]);
    assert_eq!(
        changed(&project),
        ["added new/name.ts", "deleted old/name.ts"]
    );
    // Also when the caller's git would rather say it in one line.
    project.git(&["config", "diff.renames", "copies"]);
    project.git(&["config", "status.renames", "true"]);
    assert_eq!(
        changed(&project),
        ["added new/name.ts", "deleted old/name.ts"]
    );
}

#[test]
fn untracked_listed_individually() {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", "vplan 1\ncheck a: true\n"),
        (".gitignore", "*.log\n"),
    ]);
    project
        .write("new/deep/a.ts", "")
        .write("new/deep/b.ts", "")
        .write("new/x.log", "")
        .write("c", "");
    let all = ["added c", "added new/deep/a.ts", "added new/deep/b.ts"];
    assert_eq!(changed(&project), all);
    project.git(&["config", "status.showUntrackedFiles", "no"]);
    assert_eq!(changed(&project), all);
}

/// What a step leaves behind is swept; who stands beside it, in the same session as vplan, lives
/// on.
#[test]
fn sweep_kills_only_descendants() {
    let project = Project::contract(
        "vplan 1\ncheck a {\n  shell sleep 600 & setsid sleep 601 & echo $! > left; true\n}\n",
    );
    let mut beside: Vec<std::process::Child> = (0..4)
        .map(|_| {
            std::process::Command::new("sleep")
                .arg("600")
                .spawn()
                .unwrap()
        })
        .collect();
    let _ = project.run(&["run", "--changed-none", "--no-cache"]);
    let left = project.read("left");
    eventually("what was left behind is gone", || {
        let state =
            std::fs::read_to_string(format!("/proc/{}/stat", left.trim())).unwrap_or_default();
        state.is_empty() || state.contains(") Z")
    });
    for child in &mut beside {
        assert!(
            child.try_wait().unwrap().is_none(),
            "a stranger was stopped"
        );
        child.kill().unwrap();
        child.ended();
    }
}
