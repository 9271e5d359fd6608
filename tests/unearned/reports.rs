//! What counts as a report of a check: what this very try has written, and nothing else.

use crate::support::Project;
use std::time::{Duration, SystemTime};

const PASSED: &str = "<testsuite name='s' tests='1'><testcase name='t'/></testsuite>\n";

/// A project whose only check does this, with old reports that git ignores: one where it reports,
/// one elsewhere.
fn project(does: &str) -> Project {
    let contract = format!(
        "vplan 1\ncheck t {{\n  test sh -c '{does}'\n  report junit \"out/*.xml\"\n  min-tests 1\n}}\n"
    );
    let files = [
        ("contracts/verify.vplan", contract.as_str()),
        (".gitignore", "/out\n/old\n"),
    ];
    let project = Project::git_with(&files);
    for file in ["out/t.xml", "out/u.xml", "old/t.xml"] {
        project.write(file, PASSED);
        age(&project, file);
    }
    project
}

fn age(project: &Project, file: &str) {
    let file = std::fs::File::options()
        .append(true)
        .open(project.path(file));
    let then = SystemTime::now() - Duration::from_secs(3_600);
    file.unwrap().set_modified(then).unwrap();
}

#[test]
fn a_stale_report_that_is_dressed_up_is_no_pass() {
    for does in [
        "true",
        "touch out/t.xml",
        "touch -c out/*.xml",
        "chmod 600 out/t.xml || true",
        "mv out/t.xml out/new.xml || true",
        "ln out/t.xml out/new.xml || true",
        "ln -s t.xml out/new.xml",
        "mv old/t.xml out/new.xml",
        "ln old/t.xml out/new.xml",
        "ln -s ../old/t.xml out/new.xml",
        "rm -r out; mv old out",
        "cp -p old/t.xml out/t.xml",
    ] {
        let project = project(does);
        let ran = project.run(&["run", "--all", "--format", "json"]);
        ran.exits(42);
        assert_eq!(ran.json()["steps"][0]["status"], "failed", "{does}");
    }
}

#[test]
fn a_report_that_is_not_replaced_comes_back() {
    for (does, exit, there) in [
        ("true", 42, ["out/t.xml", "out/u.xml"].as_slice()),
        ("cp old/t.xml out/t.xml", 0, &["out/t.xml", "out/u.xml"]),
        (
            "cp old/t.xml out/new.xml",
            0,
            &["out/t.xml", "out/u.xml", "out/new.xml"],
        ),
        ("echo no > out/t.xml", 42, &["out/t.xml", "out/u.xml"]),
        (
            "test ! -e out/t.xml && exit 3",
            42,
            &["out/t.xml", "out/u.xml"],
        ),
    ] {
        let project = project(does);
        let ran = project.run(&["run", "--all", "--format", "json"]);
        ran.exits(exit);
        for file in there {
            assert!(project.exists(file), "{does}: {file}");
        }
        assert_eq!(project.read("out/u.xml"), PASSED);
        let run = ran.json()["runId"].as_str().unwrap().to_owned();
        let logs = std::fs::read_dir(project.path(format!(".vplan/runs/{run}/logs"))).unwrap();
        let aside = logs.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().starts_with(".aside")
        });
        assert_eq!(aside.count(), 0, "{does}: something is left aside");
    }
}

/// Two checks with the same places: each has what it wrote, and both keep it.
#[test]
fn checks_that_report_in_the_same_place_keep_their_own() {
    let one = |name: &str| {
        format!(
            "check {name} {{\n  test cp {name}.in out/{name}.xml\n  report junit \"out/*.xml\"\n  min-tests 1\n}}\n"
        )
    };
    let contract = format!("vplan 1\nlimits {{\n  jobs 1\n}}\n{}{}", one("a"), one("b"));
    let files = [
        ("contracts/verify.vplan", contract.as_str()),
        (".gitignore", "/out\n"),
        ("a.in", PASSED),
        ("b.in", PASSED),
        ("out/.keep", ""),
    ];
    let project = Project::git_with(&files);
    for _ in 0..2 {
        let report = project
            .run(&["run", "--all", "--format", "json"])
            .exits(0)
            .json();
        for step in report["steps"].as_array().unwrap() {
            assert_eq!(step["tests"]["passed"], 1, "{report:#}");
        }
        assert!(project.exists("out/a.xml") && project.exists("out/b.xml"));
    }
}

#[test]
fn a_tracked_report_is_an_error_of_the_contract() {
    let project = project("cp old/t.xml out/t.xml");
    project.git(&["add", "-f", "out/u.xml"]);
    for tracked in ["in the index", "in a commit", "deleted from the work tree"] {
        let ran = project.run(&["run", "--all"]);
        ran.exits(3).warns("out/u.xml");
        match tracked {
            "in the index" => drop(project.commit("x")),
            "in a commit" => drop(project.remove("out/u.xml")),
            _ => {}
        }
    }
    project.git(&["rm", "-q", "--cached", "out/u.xml"]);
    project.run(&["run", "--all"]).exits(0);
}
