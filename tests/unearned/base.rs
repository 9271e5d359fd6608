//! What is compared: work that was committed, a base that nobody knows, one that the change chose,
//! one that this clone lacks.

use crate::support::Project;
use std::os::unix::fs::PermissionsExt as _;

const CONTRACT: &str = "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: sh test.sh\n}\nwhenChangedAny \"docs/**\" {\n  check docs: true\n}\n";

/// A project on `main` whose test passes, and fails as soon as `src/a` says `bad`.
fn project() -> Project {
    Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        ("test.sh", "! grep -q bad src/a\n"),
        ("src/a", "good\n"),
        ("docs/a", ""),
    ])
}

/// The same without a remote.
fn alone() -> Project {
    let project = project();
    project.git(&["remote", "remove", "origin"]);
    project
}

#[test]
fn bad_work_that_was_committed() {
    for branch in ["main", "work"] {
        let project = project();
        if branch != "main" {
            project.git(&["checkout", "-q", "-b", branch]);
        }
        project.write("src/a", "bad\n").commit("bad");
        project
            .run(&["run"])
            .exits(40)
            .says("1 check is here because of earlier commits");
        // And in any number of commits, with something else in the work tree.
        project.write("docs/b", "").commit("docs");
        project.write("docs/c", "");
        let ran = project.run(&["run", "--keep-going", "--format", "json"]);
        let report = ran.exits(40).json();
        assert_eq!(report["compared"]["earlierChecks"], 1, "{report}");
        assert_eq!(report["compared"]["changed"], 3);
        assert_eq!(report["compared"]["branch"], "refs/remotes/origin/main");
        assert_eq!(
            report["compared"]["base"],
            project.git(&["rev-parse", "origin/main"])
        );
        let plan = project.run(&["plan", "--format", "json"]).exits(0).json();
        assert_eq!(plan["compared"], report["compared"]);
        // Mended in the work tree, it is not there for earlier commits alone.
        project.write("src/a", "good, really\n");
        project
            .run(&["explain"])
            .exits(0)
            .never_says("because of earlier commits");
        project
            .run(&["run"])
            .exits(0)
            .says("compared: the work tree against the merge base of `refs/remotes/origin/main`");
    }
}

#[test]
fn the_first_line_says_what_was_compared() {
    let project = project();
    for command in ["explain", "run"] {
        let ran = project.run(&[command]);
        ran.exits(0);
        let first = ran.out().lines().take(2).collect::<Vec<_>>().join(" ");
        assert!(
            first.contains("nothing changed since") || first.contains("nothing\n"),
            "{first}"
        );
        assert!(first.contains("refs/remotes/origin/main"), "{first}");
    }
    project.write("src/a", "better\n");
    let ran = project.run(&["run", "--base", "HEAD"]);
    ran.exits(0)
        .says("compared: the work tree against the merge base of `HEAD` and `HEAD`");
    project
        .run(&["run", "--changed", "docs/a"])
        .exits(0)
        .says("compared: the paths on the command line: 1 changed file");
}

#[test]
fn a_base_that_is_head_because_no_other_is_known() {
    let project = alone();
    let said = "commits before HEAD were not looked at";
    // An empty change, and a change that selects nothing.
    project
        .run(&["run"])
        .exits(44)
        .says(said)
        .says("--base REV")
        .says("--all")
        .says("--changed-none")
        .says("base \"BRANCH\"");
    project.write("other", "");
    project.run(&["run"]).exits(44).says(said);
    // One that selects something is narrowed.
    project.write("src/a", "better\n");
    project.run(&["run"]).exits(0).says(said).says("narrowed");
    project.run(&["run", "--require", "full"]).exits(44);
    let report = project.run(&["run", "--format", "json"]).exits(0).json();
    assert_eq!(report["coverage"], "narrowed");
    assert_eq!(report["caveats"][0]["code"], "base_unknown");
    assert_eq!(report["caveats"][0]["effect"], "narrows");
    // Each way out is one.
    for way in [&["--base", "HEAD"][..], &["--all"], &["--changed-none"]] {
        project
            .run(&[&["run"], way].concat())
            .exits(0)
            .never_says(said);
    }
    // So it is on a branch without a name that is known, and with several remotes.
    project.git(&["checkout", "-q", "-b", "work"]);
    project.git(&["branch", "-q", "-m", "main", "release"]);
    project.run(&["run"]).exits(0).says(said);
    project.git(&["remote", "add", "one", "/nowhere"]);
    project.git(&["remote", "add", "two", "/nowhere"]);
    project
        .run(&["run"])
        .exits(0)
        .says("several remotes")
        .says("base \"BRANCH\"")
        .says("--base");
    // What an agent reads names no way out.
    project.write("src/a", "bad\n");
    project.run(&["run"]).exits(40);
    project
        .run(&["feedback"])
        .exits(0)
        .says(said)
        .never_says("--changed-none");
}

#[test]
fn an_index_without_names_leaves_nothing_out_of_all_files() {
    let project = project();
    project.write("src/a", "bad\n");
    let whole = project
        .run(&["explain", "--all", "--format", "json"])
        .json()["request"]["changed"]
        .clone();
    let paths = |changed: &serde_json::Value| -> Vec<String> {
        changed
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["path"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(paths(&whole).contains(&"src/a".to_owned()));
    for args in [
        &["rm", "-q", "--cached", "src/a"][..],
        &["read-tree", "--empty"],
    ] {
        project.git(args);
        let now = project
            .run(&["explain", "--all", "--format", "json"])
            .json()["request"]["changed"]
            .clone();
        assert_eq!(paths(&now), paths(&whole), "{args:?}");
    }
    project.remove(".git/index");
    project.run(&["run", "--all"]).exits(40);
}

#[test]
fn a_base_that_is_later_than_the_whole_change() {
    let project = project();
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("src/a", "bad\n").commit("bad");
    let narrowed = "`--base` leaves out commits that are not on `refs/remotes/origin/main`";
    project
        .run(&["run", "--base", "HEAD"])
        .exits(0)
        .says(narrowed);
    project
        .run(&["run", "--base", "HEAD", "--require", "full"])
        .exits(44);
    // An earlier one, or the same, leaves nothing out.
    project
        .run(&["run", "--base", "origin/main"])
        .exits(40)
        .never_says(narrowed);
    project.write("src/a", "good\n").commit("good");
    let later = project.git(&["rev-parse", "HEAD~1"]);
    project.pushed(&project.git(&["rev-parse", "HEAD"]));
    project
        .run(&["run", "--base", &later])
        .exits(0)
        .never_says(narrowed);
}

#[test]
fn a_change_that_chooses_what_it_is_compared_with() {
    let project = project();
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("src/a", "bad\n").commit("bad");
    project.git(&["branch", "-q", "easy"]);
    project.write(
        "contracts/verify.vplan",
        CONTRACT.replace("vplan 1\n", "vplan 1\nbase \"easy\"\n"),
    );
    let ran = project.run(&["run", "--format", "json"]);
    let report = ran.exits(40).json();
    assert_eq!(report["compared"]["branch"], "refs/remotes/origin/main");
    let caveats: Vec<&str> = report["caveats"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|c| c["code"].as_str())
        .collect();
    assert!(caveats.contains(&"base_ignored"), "{caveats:?}");
    // Where it is on the branch that it names, it counts.
    project.write("src/a", "good\n").commit("line");
    project.git(&["branch", "-q", "-f", "easy", "work"]);
    project.write("docs/a", "x").commit("docs");
    let report = project.run(&["run", "--format", "json"]).exits(0).json();
    assert_eq!(
        (
            &report["compared"]["branch"],
            &report["compared"]["changed"]
        ),
        (&"refs/heads/easy".into(), &1.into())
    );
    assert!(report.get("caveats").is_none(), "{report}");
}

#[test]
fn a_clone_that_lacks_what_is_compared() {
    let origin = project();
    origin.git(&["checkout", "-q", "-b", "work"]);
    origin.write("src/a", "bad\n").commit("bad");
    origin.write("docs/a", "x").commit("docs");
    origin.git(&["checkout", "-q", "main"]);
    let url = format!("file://{}", origin.root().display());
    let clone = Project::bare();
    clone.git(&[
        "clone",
        "-q",
        "--depth",
        "1",
        "--no-single-branch",
        "-b",
        "work",
        &url,
        ".",
    ]);
    let command = "git fetch --unshallow origin main";
    // For a person, and where nobody looks.
    clone.write("docs/b", "");
    clone
        .run(&["run"])
        .exits(0)
        .says("commits before HEAD were not looked at")
        .says(command);
    clone
        .vplan(&["run"])
        .env("CI", "true")
        .run()
        .exits(2)
        .warns(command);
    for base in ["main", "origin/main"] {
        clone.run(&["run", "--base", base]).exits(2).warns(command);
    }
    clone.git(&["fetch", "-q", "--unshallow", "origin", "main"]);
    clone.run(&["run"]).exits(40);
    clone.run(&["run", "--base", "main"]).exits(40);
}

#[test]
fn histories_that_have_nothing_in_common() {
    let project = project();
    project.git(&["checkout", "-q", "--orphan", "alone"]);
    project.write("src/a", "bad\n").commit("alone");
    project.run(&["run"]).exits(40).says("no common ancestor");
    project.run(&["run", "--base", "origin/main"]).exits(40);
    project
        .run(&["run", "--base", "HEAD", "--require", "full"])
        .exits(44);
}

/// Puts a git in front of the real one that counts how often it is called.
fn counting(project: Project) -> Project {
    let path = std::env::var("PATH").unwrap();
    let real = std::env::split_paths(&path)
        .map(|d| d.join("git"))
        .find(|f| f.is_file())
        .unwrap();
    let bin = project.parent().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let log = project.parent().join("calls");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> '{}'\nexec '{}' \"$@\"\n",
        log.display(),
        real.display()
    );
    std::fs::write(bin.join("git"), script).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{path}", bin.display());
    project.env("PATH", path)
}

fn calls(project: &Project, args: &[&str]) -> usize {
    let log = project.parent().join("calls");
    let _ = std::fs::remove_file(&log);
    project.run(args).exits(0);
    std::fs::read_to_string(&log)
        .unwrap_or_default()
        .lines()
        .count()
}

#[test]
fn what_is_known_of_commits_is_not_asked_again() {
    let project = counting(project());
    project.write("docs/a", "x");
    // The first time the commit itself is read.
    let first = calls(&project, &["explain"]);
    let usual = calls(&project, &["explain"]);
    assert!(usual <= first && usual <= 2, "{first} {usual}");
    assert_eq!(calls(&project, &["explain"]), usual);
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("src/a", "better").commit("work");
    let moved = calls(&project, &["explain"]);
    assert!(moved > usual && moved <= usual + 2, "{usual} {moved}");
    assert_eq!(calls(&project, &["explain"]), usual);
    // What is kept is outside the work tree, and one that is gone or damaged costs time.
    let state = project.parent().join("home/state/vplan");
    for content in ["", "nonsense\n", "\0\0"] {
        for folder in std::fs::read_dir(&state).unwrap() {
            for name in ["commits", "difference"] {
                std::fs::write(folder.as_ref().unwrap().path().join(name), content).unwrap();
            }
        }
        assert_eq!(calls(&project, &["explain"]), moved);
        assert_eq!(calls(&project, &["explain"]), usual);
    }
    let id = project.git(&["rev-parse", "HEAD"]);
    project.pushed(&id);
    assert!(calls(&project, &["explain"]) <= usual + 2);
    assert_eq!(calls(&project, &["explain"]), usual);
}
