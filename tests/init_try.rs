//! `vplan init --try`: the proposal runs once on HEAD, apart from the work tree, and is mended by what
//! comes of it.

use crate::support::Project;

fn workflow(commands: &[&str]) -> String {
    let mut text =
        "on: pull_request\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n".to_owned();
    for command in commands {
        text.push_str(&format!("      - run: {command}\n"));
    }
    text
}

fn project(commands: &[&str]) -> Project {
    let project = Project::git_empty();
    project
        .write(".github/workflows/ci.yml", workflow(commands))
        .write("src/made.txt", "old\n")
        .write("check-passes.py", "print('fine')\n")
        .write("check-fails.py", "raise SystemExit(1)\n")
        .write(
            "check-writes.py",
            "open('src/made.txt', 'w').write('new')\n",
        )
        .write(
            "check-reads.py",
            "raise SystemExit(open('src/made.txt').read() != 'old\\n')\n",
        );
    project.commit("begin");
    project
}

#[test]
fn a_proposal_is_mended_by_its_trial() {
    let project = project(&[
        "python3 check-passes.py",
        "python3 check-writes.py",
        "python3 check-fails.py",
        "python3 check-reads.py",
        "hadolint Dockerfile",
    ]);
    // What is not committed is neither tried nor touched.
    project.write("src/made.txt", "mine\n");
    let ran = project.run(&["init", "--try", "--format", "json"]);
    let document = ran.exits(0).json();
    let tried: Vec<(&str, &str)> = document["tried"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["name"].as_str().unwrap(),
                one["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    let of = |name: &str| tried.iter().find(|(n, _)| *n == name).unwrap().1;
    assert_eq!(of("check-passes"), "passes", "{tried:?}");
    assert!(
        of("check-writes").starts_with("left out: it wrote"),
        "{tried:?}"
    );
    assert!(
        of("check-fails").starts_with("left out: it fails"),
        "{tried:?}"
    );
    assert!(of("hadolint").contains("is not on the PATH"), "{tried:?}");
    let text = project.read("contracts/verify.vplan");
    assert!(
        text.contains("python3 check-passes.py") && text.contains("check hadolint"),
        "{text}"
    );
    for gone in ["check check-writes", "check check-fails"] {
        assert!(!text.contains(gone), "{text}");
    }
    project.run(&["check"]).exits(0);
    project.run(&["fmt", "--check"]).exits(0);
    assert_eq!(project.read("src/made.txt"), "mine\n");
    assert_eq!(
        project.git(&["status", "--porcelain"]),
        " M src/made.txt\n?? contracts/"
    );
    let left = std::fs::read_dir(project.path(".git")).unwrap();
    let left = left.filter(|e| {
        let name = e.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("vplan")
    });
    assert_eq!(left.count(), 0, "the index of the trial is removed");
}

#[test]
fn what_may_have_written_and_cannot_be_tried_alone_is_left_out() {
    let project = project(&["python3 check-passes.py", "python3 check-once.py"]);
    let mark = project.parent().join("ran-before");
    let text = format!(
        "import os, sys\nif os.path.exists({mark:?}):\n    os.kill(os.getpid(), 9)\n\
         open({mark:?}, 'w').close()\nopen('src/made.txt', 'w').write('new')\n"
    );
    project.write("check-once.py", text);
    project.commit("once");
    let ran = project.run(&["init", "--try", "--format", "json"]);
    let document = ran.exits(0).json();
    let tried = document["tried"].as_array().unwrap();
    let once = tried
        .iter()
        .find(|one| one["name"] == "check-once")
        .unwrap();
    let outcome = once["outcome"].as_str().unwrap();
    assert!(
        outcome.starts_with("left out: perhaps it wrote `src/made.txt`"),
        "{outcome}"
    );
    let text = project.read("contracts/verify.vplan");
    assert!(text.contains("check check-passes"), "{text}");
    assert!(!text.contains("check check-once"), "{text}");
}

#[test]
fn rows_of_packages_are_tried() {
    let folders = ["packages/a", "packages/b", "packages/c"];
    let commands = folders.map(|folder| format!("python3 check-folder.py {folder}"));
    let project = project(&commands.each_ref().map(String::as_str));
    project.write("package.json", "{\"workspaces\": [\"packages/*\"]}");
    for folder in folders {
        let name = folder.rsplit('/').next().unwrap();
        let manifest = format!("{{\"name\": \"{name}\"}}");
        project.write(format!("{folder}/package.json"), manifest);
    }
    let text = "import os, sys\nraise SystemExit(not os.path.isdir(sys.argv[1]))\n";
    project.write("check-folder.py", text);
    project.commit("packages");
    let outcome = || {
        let ran = project.run(&["init", "--try", "--force", "--format", "json"]);
        let document = ran.exits(0).json();
        let tried = document["tried"].as_array().unwrap();
        assert_eq!(tried.len(), 1, "{tried:?}");
        tried[0]["outcome"].as_str().unwrap().to_owned()
    };
    assert_eq!(outcome(), "passes");
    project.write(
        "check-folder.py",
        "import sys\nraise SystemExit(sys.argv[1].endswith('c'))\n",
    );
    project.commit("one row fails");
    let outcome = outcome();
    assert!(outcome.starts_with("left out: it fails"), "{outcome}");
}

#[test]
fn what_was_red_before_goes_into_a_baseline() {
    let project = project(&["eslint ."]);
    let finding =
        "src/a.js\\n  1:1  error  bad  no-bad\\n\\n\u{2716} 1 problem (1 error, 0 warnings)\\n";
    project.write("package.json", "{\"devDependencies\": {\"eslint\": \"9\"}}");
    project.write("src/a.js", "x\n");
    project.script(
        "../bin/eslint",
        &format!("#!/bin/sh\nprintf '{finding}'\nexit 1\n"),
    );
    project.commit("eslint");
    let path = format!(
        "{}:{}",
        project.parent().join("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let project = project.env("PATH", path);
    project
        .run(&["init", "--try"])
        .exits(0)
        .says("1 finding of before vplan")
        .warns("apart from the work tree\n");
    let baseline = project.read("contracts/verify.baseline.kdl");
    assert!(baseline.contains("no-bad"), "{baseline}");
    project.run(&["run", "--all"]).exits(0).says("1 known");
}

#[test]
fn where_nothing_can_be_tried() {
    let project = Project::git_empty();
    project.write(
        ".github/workflows/ci.yml",
        workflow(&["python3 check-passes.py"]),
    );
    project.git(&["add", "-A"]);
    project
        .run(&["init", "--try"])
        .exits(0)
        .says("not tried: ")
        .says("python3 check-passes.py");
    // A manifest alone is no reason to run anything.
    let project = Project::git_with(&[("Makefile", "test:\n\ttrue\n")]);
    project.run(&["init", "--try"]).exits(0);
    project
        .run(&["init", "--force", "--budget", "5m"])
        .exits(2)
        .warns("--try");
}

#[test]
fn what_a_check_reads_in_the_trial_is_proposed() {
    let project = Project::git_empty();
    project
        .write(
            ".github/workflows/ci.yml",
            workflow(&[
                "python3 -I tools/check-look.py",
                "python3 -I tools/check-ignored.py",
            ]),
        )
        .write(".gitignore", "*.secret\n")
        .write("tools/check-look.py", "open('data/a/b.json').read()\n")
        .write(
            "tools/check-ignored.py",
            "open('tools/check-look.py').read(); open('/etc/passwd').read()\n",
        )
        .write("data/a/b.json", "1\n")
        .write("docs/unread.md", "2\n");
    project.commit("begin");
    project.run(&["init", "--try"]).exits(0);
    let text = project.read("contracts/verify.vplan");
    assert!(
        text.contains("  inputs \"data/**\" \"tools/**\"\n"),
        "{text}"
    );
    assert!(
        text.contains("around what it read when it was tried"),
        "{text}"
    );
    project.run(&["check"]).exits(0);
    project.run(&["fmt", "--check"]).exits(0);
    project.commit("contract");
    project.run(&["run", "--all"]).exits(0);
    // Nothing that it depends on changed, and then something did.
    project.write("docs/unread.md", "3\n");
    let reused = project
        .run(&["run", "--all", "--format", "json"])
        .exits(0)
        .json();
    let status = |report: &serde_json::Value, id: &str| {
        let steps = report["steps"].as_array().unwrap().iter();
        let step = steps.clone().find(|step| step["id"] == id).unwrap();
        step["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status(&reused, "check-look"), "cached", "{reused}");
    project.write("data/a/b.json", "4\n");
    let run = project
        .run(&["run", "--all", "--format", "json"])
        .exits(0)
        .json();
    assert_eq!(status(&run, "check-look"), "passed", "{run}");
}

#[test]
fn a_check_that_reads_what_git_ignores_gets_no_inputs() {
    let project = Project::git_empty();
    project
        .write(
            ".github/workflows/ci.yml",
            workflow(&[
                "python3 -I check-make.py",
                "python3 -I check-look.py",
                "python3 -I check-ring.py",
            ]),
        )
        .write(".gitignore", "left.txt\n")
        .write("check-make.py", "open('left.txt', 'a').close()\n")
        .write("check-look.py", "import time\nopen('.git/HEAD').read()\n")
        .write(
            "check-ring.py",
            "import socket\ns = socket.socket()\ns.settimeout(1)\n\
             try: s.connect(('127.0.0.1', 9))\nexcept OSError: pass\n",
        );
    project.commit("begin");
    project.run(&["init", "--try"]).exits(0);
    let text = project.read("contracts/verify.vplan");
    let check = |name: &str| {
        let from = text.find(&format!("check {name}")).unwrap();
        let rest = &text[from..];
        rest[..rest.find("\n\n").unwrap_or(rest.len())].to_owned()
    };
    assert!(
        check("check-look").contains("inputs \"check-look.py\""),
        "{text}"
    );
    assert!(!check("check-ring").contains("inputs"), "{text}");
}
