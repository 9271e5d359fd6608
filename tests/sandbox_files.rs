//! The level `files`: what a step declares is what it reads, from the contract to the report and to
//! reuse. What it is refused is in `sandbox`.

use crate::sandbox::{guards, seals};
use crate::support::{Project, Ran, SYSTEM_PATH};
use serde_json::{Value, json};

fn contract(lines: &str) -> String {
    format!("vplan 1\ncheck a {{\n{lines}  sandbox files\n}}\n")
}

fn project(lines: &str) -> Option<Project> {
    let project = Project::contract(&contract(lines)).env("PATH", SYSTEM_PATH);
    project
        .write(".gitignore", ".vplan/\nout/\n")
        .write("src/a", "a\n");
    project.commit("begin");
    let tried = project.run(&["audit", "--machine", "--require", "files"]);
    if tried.exit != Some(0) {
        eprintln!("SKIPPED: sandbox files: {}", tried.out());
        return None;
    }
    Some(project)
}

fn step(ran: &Ran) -> Value {
    ran.json()["steps"][0].clone()
}

fn run(project: &Project) -> Ran {
    project.run(&["run", "--all", "--format", "json"])
}

#[test]
fn the_report_says_on_what_inputs_rest() {
    for (lines, basis) in [
        ("  run cat src/a\n  inputs \"src/**\"\n", "enforced"),
        (
            "  run cat src/a\n  inputs \"src/**\"\n  writes \"out/**\"\n",
            "believed",
        ),
    ] {
        let Some(project) = project(lines) else {
            return;
        };
        let step = step(run(&project).exits(0));
        assert_eq!(step["inputs"], basis, "{step}");
        let reached = serde_json::json!(["no-privileges", "no-tampering", "reads", "writes"]);
        assert_eq!(step["sandbox"]["reached"], reached);
        assert_eq!(step["sandbox"]["asked"], "files");
    }
}

#[test]
fn what_was_not_started_was_not_confined_and_read_nothing() {
    let Some(project) = project("  run no-such-program\n  inputs \"src/**\"\n") else {
        return;
    };
    let report = run(&project).exits(5).json();
    let step = &report["steps"][0];
    assert_eq!(step["status"], "errored", "{step}");
    assert!(step["inputs"].is_null(), "{step}");
    assert!(step["sandbox"].is_null(), "{step}");
}

#[test]
fn a_forged_basis_of_inputs_does_not_verify() {
    let enforced = "  run cat src/a\n  inputs \"src/**\"\n";
    let writes = format!("{enforced}  writes \"out/**\"\n");
    let Some(project) = project(enforced) else {
        return;
    };
    let plain = "vplan 1\ncheck a {\n  run cat src/a\n  inputs \"src/**\"\n}\n";
    let none = "vplan 1\ncheck a: cat src/a\n";
    let all = json!(["no-privileges", "no-tampering", "reads", "writes"]);
    let confined = json!({"asked": "files", "missing": [], "network": "on", "reached": all});
    type Forge<'a> = &'a dyn Fn(&mut Value);
    let cases: &[(&str, &[&str], Forge<'_>)] = &[
        // Nothing held it, whatever the record says of that.
        (plain, &[], &|step| step["inputs"] = json!("enforced")),
        (plain, &[], &|step| {
            step["inputs"] = json!("enforced");
            step["sandbox"] = confined.clone();
            step["sandbox"]["reached"] = json!(["reads"]);
        }),
        // What it wrote may have stayed.
        (&contract(&writes), &[], &|step| {
            step["inputs"] = json!("enforced")
        }),
        // The guarantee that it needs is not among those that held.
        (&contract(enforced), &[], &|step| {
            step["sandbox"]["reached"] = json!(["no-privileges", "no-tampering", "writes"]);
        }),
        (&contract(enforced), &[], &|step| {
            drop(step["sandbox"].take())
        }),
        // It has no inputs, or what was seen of it is not there.
        (none, &[], &|step| step["inputs"] = json!("believed")),
        (plain, &[], &|step| step["inputs"] = json!("observed")),
    ];
    for (number, (text, flags, forge)) in cases.iter().enumerate() {
        project.write("contracts/verify.vplan", text);
        let args = [&["run", "--all", "--no-cache", "--format", "json"], *flags].concat();
        let report = project.run(&args).exits(0).json();
        let id = report["runId"].as_str().unwrap();
        project.run(&["verify"]).exits(0);
        let path = format!(".vplan/runs/{id}/report.json");
        let mut forged: Value = serde_json::from_str(&project.read(&path)).unwrap();
        forge(&mut forged["steps"][0]);
        project.write(&path, forged.to_string());
        let answer = project.run(&["verify", "--format", "json"]).exits(4).json();
        let aspects = answer["aspects"].as_array().unwrap().iter();
        let broken = aspects.filter(|one| one["holds"] == "no");
        let broken: Vec<&str> = broken.map(|one| one["aspect"].as_str().unwrap()).collect();
        assert!(
            broken.contains(&"statuses") || broken.contains(&"logs"),
            "{number}: {broken:?}"
        );
    }
    // What is less than what held may be said, and is what observation says of a plain step.
    project.write("contracts/verify.vplan", plain);
    let observed = project.run(&["run", "--all", "--observe", "--format", "json"]);
    assert_eq!(step(observed.exits(0))["inputs"], "observed");
    project.run(&["verify"]).exits(0);
}

#[test]
fn a_pass_stands_only_while_what_it_may_read_is_as_it_was() {
    let lines = "  run cat src/a\n  inputs \"src/**\"\n  reads \"~/named\"\n";
    let Some(project) = project(lines) else {
        return;
    };
    let status = || {
        let step = step(run(&project).exits(0));
        step["status"].as_str().unwrap().to_owned()
    };
    project.write("../home/named/x", "1");
    assert_eq!(status(), "passed");
    assert_eq!(status(), "cached");
    project.write("../home/named/x", "22");
    assert_eq!(status(), "passed", "its content is another one");
    assert_eq!(status(), "cached");
    project.write("../home/named/new", "");
    assert_eq!(status(), "passed", "a file is new");
    // What is ignored and selected counts, as it can be read.
    project.write("src/.gitignore", "ignored\n");
    project.write("src/ignored", "1");
    assert_eq!(status(), "passed");
    assert_eq!(status(), "cached");
    project.write("src/ignored", "2");
    assert_eq!(status(), "passed");
}

#[test]
fn what_reads_names_is_outside_and_may_be_missing() {
    let with = |path: &str| format!("  run true\n  inputs \"src/**\"\n  reads \"{path}\"\n");
    let Some(project) = project(&with("~/none")) else {
        return;
    };
    let notes = run(&project).exits(0).json()["notes"].to_string();
    assert!(notes.contains("reads_missing"), "{notes}");
    project
        .run(&["explain", "--all"])
        .exits(0)
        .says("sandbox files, reads ~/none");
    let root = project.parent().canonicalize().unwrap();
    let inside = project.path("src").canonicalize().unwrap();
    for path in [&root, &inside] {
        project.write(
            "contracts/verify.vplan",
            contract(&with(path.to_str().unwrap())),
        );
        project
            .run(&["run", "--all"])
            .exits(5)
            .warns("vplan::sandbox::conflict");
    }
    for path in ["src", "~", "~/../x", "/", "/a//b"] {
        project.write("contracts/verify.vplan", contract(&with(path)));
        project
            .run(&["check"])
            .exits(3)
            .warns("vplan::contract::reads");
    }
}

#[test]
fn without_inputs_nothing_starts() {
    let Some(project) = project("  run true\n  inputs \"src/**\"\n") else {
        return;
    };
    project.write("contracts/verify.vplan", "vplan 1\ncheck a: touch out\n");
    project
        .run(&["run", "--all", "--sandbox", "files"])
        .exits(5)
        .warns("vplan::sandbox::without_inputs");
    assert!(!project.exists("out"));
    project
        .write(
            "contracts/verify.vplan",
            "vplan 1\ncheck a {\n  run true\n  inputs \"src/**\"\n}\n",
        )
        .run(&["check", "--deny", "unconfined"])
        .exits(3)
        .warns("`a` has `inputs`");
    project
        .write(
            "contracts/verify.vplan",
            contract("  run true\n  inputs \"src/**\"\n"),
        )
        .run(&["check", "--deny", "unconfined"])
        .exits(0);
}

#[test]
fn a_pass_stands_only_while_the_toolchain_is_as_it_was() {
    let lines = "  run greet\n  inputs \"src/**\"\n";
    let Some(project) = project(lines) else {
        return;
    };
    // A program that reads what is beside its folder, as an interpreter reads its modules.
    let greet = "#!/bin/sh\ncat ${0%/bin/greet}/lib/greeting\n";
    project.script("../tools/bin/greet", greet);
    project.write("../tools/lib/greeting", "one\n");
    let path = std::env::join_paths([
        project.path("../tools/bin").canonicalize().unwrap(),
        "/usr/bin".into(),
        "/bin".into(),
    ]);
    let project = project.env("PATH", path.unwrap());
    let ended = |ran: Ran| {
        let steps = ran.exits(0).json()["steps"].take();
        let status = |step: &Value| step["status"].as_str().unwrap().to_owned();
        steps
            .as_array()
            .unwrap()
            .iter()
            .map(status)
            .collect::<Vec<_>>()
    };
    assert_eq!(ended(run(&project)), ["passed"]);
    assert_eq!(ended(run(&project)), ["cached"]);
    project.write("../tools/lib/greeting", "two\n");
    let said = project.run(&["explain", "--all"]);
    said.exits(0).says("the toolchain changed");
    assert_eq!(ended(run(&project)), ["passed"]);
    // What is not confined may change it before `b`.
    let check = |id: &str| {
        format!("check {id} {{\n  run greet {id}\n  inputs \"src/**\"\n  sandbox files\n}}\n")
    };
    let both = |between: &str| {
        let (a, b) = (check("a"), check("b"));
        project.write(
            "contracts/verify.vplan",
            format!("vplan 1\n{a}{between}{b}"),
        );
        ended(project.run(&["run", "--all", "--jobs", "1", "--format", "json"]))
    };
    assert_eq!(both(""), ["passed", "passed"]);
    let change = "check change {\n  shell echo three > ../tools/lib/greeting\n}\n";
    assert_eq!(both(change), ["cached", "passed", "passed"]);
}

/// A step that is not confined replaces the toolchain of the ones before and behind it.
#[test]
fn a_toolchain_is_the_one_that_is_there_when_a_step_begins() {
    let Some(project) = project("  run true\n  inputs \"src/**\"\n") else {
        return;
    };
    let parent = project.parent().canonicalize().unwrap();
    let path = std::env::join_paths([parent.join("current/bin"), "/usr/bin".into(), "/bin".into()]);
    let project = project.env("PATH", path.unwrap());
    let levels = if seals(&project, &[]) {
        &["files", "sealed"][..]
    } else {
        &["files"]
    };
    for version in ["one", "two"] {
        let greet = "#!/bin/sh\ncat ${0%/bin/greet}/lib/greeting\n";
        project.script(&format!("../{version}/bin/greet"), greet);
        project.write(format!("../{version}/lib/greeting"), format!("{version}\n"));
    }
    // Of what was the toolchain nothing can be read.
    let work = "set -e\ntest \"$(greet)\" = two\nif cat $1/lib/greeting; then exit 1; fi\n";
    project.write("work.sh", work);
    let run = |level: &str, change: &str, old: &str| {
        if project.exists("../old") {
            std::fs::rename(parent.join("one"), parent.join("two")).unwrap();
            std::fs::rename(parent.join("old"), parent.join("one")).unwrap();
        }
        let _ = std::fs::remove_file(parent.join("current"));
        project.symlink("../current", "one");
        let check = |id: &str, run: &str| {
            format!("check {id} {{\n  run {run}\n  inputs \"work.sh\"\n  sandbox {level}\n}}\n")
        };
        let before = check("before", "greet");
        let behind = check("behind", &format!("sh work.sh {old}"));
        let change = format!("check change {{\n  shell {change}\n}}\n");
        project.write(
            "contracts/verify.vplan",
            format!("vplan 1\n{before}{change}{behind}"),
        );
        let ran = project.run(&["run", "--all", "--jobs", "1", "--format", "json"]);
        let status = ran.json()["steps"][2]["status"].clone();
        status.as_str().unwrap().to_owned()
    };
    for level in levels {
        for (change, old) in [
            ("ln -sfn two ../current", "../one"),
            ("mv ../one ../old && mv ../two ../one", "../old"),
        ] {
            assert_eq!(run(level, change, old), "passed", "{level}: {change}");
            // That pass is none of the toolchain that was there before.
            assert_eq!(run(level, "true", old), "failed", "{level}: {change}");
            assert_eq!(run(level, change, old), "cached", "{level}: {change}");
        }
    }
}

#[test]
fn what_another_check_makes_is_readable_only_where_it_is_declared() {
    let two = |inputs: &str| {
        format!(
            "vplan 1\ncheck make {{\n  shell mkdir -p out && echo x > out/x\n  produces \"out/**\"\n}}\n\
             check use {{\n  run cat out/x\n  needs make\n  inputs {inputs}\n  sandbox files\n}}\n"
        )
    };
    let Some(project) = project("  run true\n  inputs \"src/**\"\n") else {
        return;
    };
    project.write("contracts/verify.vplan", two("\"src/**\" \"out/**\""));
    project.run(&["run", "--all"]).exits(0);
    project.write("contracts/verify.vplan", two("\"src/**\""));
    project.run(&["run", "--all"]).exits(40);
}

#[test]
fn many_single_files_are_said_and_too_many_are_refused() {
    let Some(project) = project("  run true\n  inputs \"src/**\"\n") else {
        return;
    };
    let many = |from: usize, to: usize| {
        for number in from..to {
            project.write(format!("src/many/{number}.c"), "");
        }
    };
    many(0, 1_001);
    let notes = |globs: &str| {
        let lines = format!("  run cat src/many/7.c\n  inputs {globs}\n");
        project.write("contracts/verify.vplan", contract(&lines));
        run(&project).exits(0).json()["notes"].to_string()
    };
    assert!(notes("\"src/**/*.c\"").contains("many_file_rules"));
    assert!(!notes("\"src/**\"").contains("many_file_rules"));
    many(1_001, 10_001);
    let lines = "  run true\n  inputs \"src/**/*.c\"\n";
    project.write("contracts/verify.vplan", contract(lines));
    project
        .run(&["run", "--all"])
        .exits(5)
        .warns("write a glob for whole folders");
}

/// Compares two contracts of one check.
pub fn diff(old: &str, new: &str) -> Ran {
    let project = Project::bare();
    let text = |lines: &str| format!("vplan 1\ncheck a {{\n  run true\n{lines}}}\n");
    project
        .write("old.vplan", text(old))
        .write("new.vplan", text(new));
    project.run(&["diff", "old.vplan", "new.vplan"])
}

#[test]
fn to_read_more_is_weaker() {
    let files = |inputs: &str, reads: &str| format!("  inputs {inputs}\n  sandbox files\n{reads}");
    for (less, more) in [
        (
            files("\"src/**\"", ""),
            files("\"src/**\"", "  reads \"~/a\"\n"),
        ),
        (
            files("\"src/**\"", "  reads \"~/a/b\"\n"),
            files("\"src/**\"", "  reads \"~/a\"\n"),
        ),
        (files("\"src/**\" \"!src/x\"", ""), files("\"src/**\"", "")),
        (
            files("\"src/**\"", ""),
            "  inputs \"src/**\"\n  sandbox guard\n".to_owned(),
        ),
    ] {
        diff(&less, &more).exits(45).says("weakens:");
        diff(&more, &less).exits(0).says("strengthens:");
    }
    let other = |path: &str| files("\"src/**\"", &format!("  reads \"{path}\"\n"));
    diff(&other("~/a"), &other("~/b")).says("not decided:");
    let guard = "  inputs \"src/**\"\n  sandbox guard\n";
    diff(guard, &other("~/a")).exits(0).says("strengthens:");
}

#[test]
fn the_lists_of_defaults_and_check_add_up() {
    let project = Project::contract(
        "vplan 1\ndefaults {\n  sandbox files\n  reads \"~/a\"\n}\ncheck a {\n  run true\n  reads \"~/b/\"\n  inputs \"src/**\"\n}\n",
    );
    let plan = project
        .run(&["plan", "--changed-none", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(plan["steps"][0]["reads"], serde_json::json!(["~/b", "~/a"]));
    project.run(&["fmt"]).exits(0);
    assert!(
        project
            .read("contracts/verify.vplan")
            .contains("  inputs \"src/**\"\n  reads \"~/b/\"\n")
    );
}

#[test]
fn the_tools_of_others_read_only_what_is_declared() {
    let project = Project::contract(
        "vplan 1\ndefaults {\n  sandbox files\n  network off\n}\n\
         check make {\n  compile make\n  inputs \"Makefile\" \"src/**\"\n  writes \"build/**\"\n}\n\
         check python {\n  test python3 -m unittest discover -v\n  inputs \"*.py\"\n  env PYTHONDONTWRITEBYTECODE=1\n}\n\
         check shell {\n  shell sort < src/a.c | uniq > $TMPDIR/x && test -s $TMPDIR/x && cat $TMPDIR/x\n  inputs \"src/**\"\n}\n",
    );
    project
        .write(".gitignore", "build/\n.vplan/\n")
        .write(
            "Makefile",
            "all: build/a\nbuild/a: build/a.o\n\tcc -o $@ $<\nbuild/a.o: src/a.c src/a.h\n\tmkdir -p build\n\tcc -c -o $@ $<\n",
        )
        .write("src/a.c", "#include \"a.h\"\nint main(void) { return A; }\n")
        .write("src/a.h", "#define A 0\n")
        .write("helper.py", "x = 1\n")
        .write(
            "test_one.py",
            "import helper, tempfile, unittest\nclass T(unittest.TestCase):\n    def test_one(self):\n        tempfile.mkdtemp()\n        self.assertEqual(helper.x, 1)\n",
        );
    project.commit("begin");
    if !guards(&project) {
        return;
    }
    project.run(&["run", "--all", "--keep-going"]).exits(0);
}

#[test]
fn an_audit_proposes_what_is_read_outside_and_never_secrets() {
    let lines = "  shell cat ~/named/deep/x; cat ~/.ssh/id; true\n  inputs \"src/**\"\n";
    let Some(project) = project(lines) else {
        return;
    };
    project
        .write("../home/named/deep/x", "1")
        .write("../home/.ssh/id", "1");
    let found = project.run(&["audit", "--format", "json"]);
    let found = found.json()["findings"].to_string();
    assert!(found.contains("reads \\\"~/named/deep\\\""), "{found}");
    assert!(!found.contains("reads \\\"~/.ssh"), "{found}");
    let written = project.run(&["audit", "--write"]);
    assert!(written.exit.is_some());
    let text = project.read("contracts/verify.vplan");
    assert!(text.contains("  reads \"~/named/deep\"\n"), "{text}");
}
