//! A confined step, and a fixer under `--fix-sandbox guard`, change nothing that later runs rely on.

use crate::sandbox::guards;
use crate::support::process::eventually;
use crate::support::{Project, Ran};

const CONTRACT: &str = "vplan 1\nwhenChangedAny \"src/**\" {\n  check unit: grep -q good src/a\n}\ncheck other: true\n";

/// A failing change on the branch `work`, which began at `main`, and a fixer next to the repository.
fn project(fixer: &str) -> Project {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        (".gitignore", ".vplan/\n"),
        ("src/a", "good\n"),
    ]);
    super::pushed(&project);
    project.git(&["tag", "v1"]);
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("src/a", "bad\n");
    project.symlink("../bin/vplan", env!("CARGO_BIN_EXE_vplan"));
    project.script(
        "../fix.sh",
        &format!("#!/bin/sh\nPATH=$(cd \"$(dirname \"$0\")\" && pwd)/bin:$PATH\ng() {{ git -c user.name=f -c user.email=f@example.org \"$@\"; }}\n{fixer}\n"),
    );
    project
}

fn repaired(project: &Project, flags: &[&str]) -> Ran {
    let guarded = ["loop", "--fix", "../fix.sh", "--fix-sandbox", "guard"];
    project.run(&[&guarded[..], flags].concat())
}

fn refs(project: &Project) -> String {
    project.git(&[
        "for-each-ref",
        "--format=%(refname) %(objectname) %(symref)",
    ])
}

#[test]
fn a_guarded_fixer_moves_no_reference_of_others() {
    let bad = "echo baad > src/a; g commit -qam wip";
    for (name, act) in [
        ("refs/heads/main", "git update-ref refs/heads/main HEAD"),
        (
            "refs/heads/main",
            "git pack-refs --all; git update-ref refs/heads/main HEAD; git pack-refs --all",
        ),
        (
            "refs/heads/main",
            "git rev-parse HEAD > .git/refs/heads/main; touch .git/refs/heads/main.lock",
        ),
        ("refs/heads/main", "echo garbage > .git/refs/heads/main"),
        ("refs/heads/main", "git branch -qD main"),
        ("refs/heads/trunk", "git branch trunk"),
        ("refs/heads/origin/main", "git branch origin/main"),
        (
            "refs/remotes/origin/main",
            "git update-ref refs/remotes/origin/main HEAD",
        ),
        (
            "refs/remotes/origin/HEAD",
            "git update-ref refs/remotes/origin/x HEAD; git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/x",
        ),
        ("refs/replace/", "git replace main HEAD"),
        ("refs/tags/v1", "git tag -f v1"),
    ] {
        let project = project(&format!("{bad}; {act}"));
        if !guards(&project) {
            return;
        }
        let before = refs(&project);
        repaired(&project, &[])
            .exits(40)
            .warns("vplan::sandbox::changed")
            .warns(name)
            .warns("(restored)");
        let moved: Vec<String> = (refs(&project).lines())
            .filter(|line| !line.starts_with("refs/heads/work ") && !before.contains(line))
            .map(ToOwned::to_owned)
            .collect();
        assert_eq!(moved, Vec::<String>::new(), "{act}");
        project.run(&["run", "--require", "full"]).exits(40);
    }
}

#[test]
fn a_guarded_fixer_changes_no_file_that_decides_what_git_reads() {
    for (file, act) in [
        ("shallow", "git rev-parse HEAD > .git/shallow"),
        (
            "objects/info/alternates",
            "mkdir -p .git/objects/info; echo /tmp > .git/objects/info/alternates",
        ),
        ("commondir", "mkdir evil && echo ../evil > .git/commondir"),
        ("vplan-mended", "echo '{}' > .git/vplan-mended"),
    ] {
        let project = project(&format!("echo baad > src/a; {act}"));
        if !guards(&project) {
            return;
        }
        repaired(&project, &[])
            .exits(40)
            .warns(file)
            .warns("(restored)");
        assert!(!project.exists(&format!(".git/{file}")), "{file}");
    }
}

#[test]
fn a_stash_that_a_guarded_fixer_leaves_ends_the_loop_and_stays() {
    let project = project("g stash -q");
    if !guards(&project) {
        return;
    }
    repaired(&project, &[])
        .exits(40)
        .warns("refs/stash")
        .warns("(not restored)");
    assert_eq!(project.git(&["show", "stash@{0}:src/a"]), "bad");
}

#[test]
fn a_guarded_fixer_writes_no_record_and_no_memory_of_others() {
    let shm = format!("/dev/shm/vplan-test-{}", std::process::id());
    let project = project(&format!(
        "for run in .vplan/runs/*; do echo '{{}}' > \"$run/x\" && exit 7; done; echo x > {shm} || exit 8\n\
         ipcmk -Q > /dev/null || exit 9; echo fine and good > src/a; echo done > src/done"
    ));
    if !guards(&project) {
        return;
    }
    let queues = std::fs::read_to_string("/proc/sysvipc/msg").unwrap_or_default();
    repaired(&project, &[]).exits(0);
    assert!(project.exists("src/done"));
    assert!(!std::path::Path::new(&shm).exists());
    assert_eq!(
        std::fs::read_to_string("/proc/sysvipc/msg").unwrap_or_default(),
        queues
    );
}

#[test]
fn a_record_has_no_other_name_through_which_a_guarded_fixer_could_write() {
    let project = project("echo fine and good > src/a; echo x > out/x || true");
    if !guards(&project) {
        return;
    }
    project.run(&["run"]).exits(40);
    let record = std::fs::read_dir(project.path(".vplan/runs"))
        .unwrap()
        .map(|run| run.unwrap().path().join("report.json"))
        .find(|file| file.is_file());
    let other = project.path("out/x");
    std::fs::create_dir_all(other.parent().unwrap()).unwrap();
    std::fs::hard_link(record.unwrap(), &other).unwrap();
    repaired(&project, &[]).exits(5).warns("has 2 names");
    project.remove("out/x");
    repaired(&project, &[]).exits(0);
}

#[test]
fn honest_work_of_a_guarded_fixer_is_free() {
    for act in [
        "g commit -qam fixed && git pack-refs --all && git gc -q --prune=now",
        "g commit -qam fixed && g tag v2 && g tag -a -m x v3",
        "g stash -q && g stash pop -q && echo fine and good > src/a",
        "git checkout -q -b next && g commit -qam fixed",
        "git branch keep && g commit -qam fixed",
        "g commit -qam one && g commit -q --amend -m two && git reflog expire --expire=now --all",
        "g commit -qam one && g rebase -q main",
        "git checkout -q --detach && g commit -qam fixed",
    ] {
        let project = project(&format!(
            "set -e; echo fine and good > src/a; echo more > src/b; git add src/b; {act}"
        ));
        if !guards(&project) {
            return;
        }
        repaired(&project, &["--require", "full"]).exits(0);
    }
}

#[test]
fn what_another_work_tree_moves_meanwhile_is_not_blamed_on_a_fixer() {
    let project = project(
        "touch here; for _ in $(seq 3000); do test -e go && break; sleep 0.02; done; echo fine and good > src/a",
    );
    project.write(".gitignore", ".vplan/\nlinked/\nhere\ngo\n");
    project.git(&["worktree", "add", "-q", "linked", "main"]);
    if !guards(&project) {
        return;
    }
    let moved = std::thread::scope(|scope| {
        let fixed = scope.spawn(|| repaired(&project, &[]));
        eventually("the fixer has started", || project.exists("here"));
        project.git_in(
            "linked",
            &["commit", "-q", "--allow-empty", "-m", "meanwhile"],
        );
        let moved = project.git(&["rev-parse", "main"]);
        project.write("go", "");
        fixed.join().unwrap().exits(0);
        moved
    });
    assert_eq!(project.git(&["rev-parse", "main"]), moved);
    // The fixer cannot say so itself: it cannot write that work tree's log.
    project.write("src/a", "bad\n");
    project.script(
        "../fix.sh",
        "#!/bin/sh\nid=$(git rev-parse HEAD)\necho \"$id $id a <a@b> 1 +0000\tx\" >> .git/worktrees/linked/logs/HEAD\n\
         echo baad > src/a\ngit update-ref refs/heads/main $id\n",
    );
    repaired(&project, &[]).exits(40).warns("refs/heads/main");
    assert_eq!(project.git(&["rev-parse", "main"]), moved);
}

/// A change of `src/a` that a guarded check writes `out/made` about.
fn writing(lines: &str) -> Project {
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            &format!(
                "vplan 1\ncheck w {{\n  run sh w.sh\n  writes \"out/**\" \"more/**\"\n  sandbox guard\n{lines}}}\n"
            ),
        ),
        (
            "w.sh",
            "set -e\necho changed > out/made\nln -f out/made out/second\n",
        ),
        (".gitignore", ".vplan/\nout/\nmore/\n"),
        ("src/a", "good\n"),
    ]);
    project
        .mkdir("out")
        .mkdir("more")
        .mkdir("../store")
        .write("src/a", "better\n");
    project
}

fn link(project: &Project, from: &str, to: &str) {
    std::fs::hard_link(project.path(from), project.path(to)).unwrap();
}

#[test]
fn a_hard_link_below_writes_leads_nowhere_else() {
    for (what, victim) in [
        ("outside", "../victim"),
        ("in the tree", "src/a"),
        ("in git", ".git/hooks/x"),
    ] {
        let project = writing("");
        if !guards(&project) {
            return;
        }
        project.mkdir(".git/hooks").write(victim, "keep\n");
        link(&project, victim, "out/made");
        let ran = project.run(&["run", "--require", "full"]);
        ran.exits(5)
            .says("`out/made` has 2 names")
            .says("--sandbox-store");
        assert_eq!(project.read(victim), "keep\n", "{what}");
        // A further folder, and one that cannot be listed.
        project
            .remove("out/made")
            .mkdir("out/deep")
            .write("../other", "keep\n");
        link(&project, "../other", "out/deep/made");
        project.run(&["run"]).exits(5).says("out/deep/made");
    }
}

#[test]
fn hard_links_that_stay_below_writes_are_free() {
    let project = writing("");
    if !guards(&project) {
        return;
    }
    for _ in 0..2 {
        project
            .run(&["run", "--require", "full", "--no-cache"])
            .exits(0);
    }
    link(&project, "out/made", "more/third");
    project.write("src/a", "best\n");
    project.run(&["run", "--require", "full"]).exits(0);
    // What the operator allows: a store, from which the file comes.
    project.write("../store/one", "kept\n");
    link(&project, "../store/one", "more/one");
    project.run(&["run"]).exits(5).says("more/one");
    project
        .run(&["run", "--require", "full", "--sandbox-store", "../store"])
        .exits(0);
    project
        .run(&["run", "--sandbox-store", "src"])
        .exits(2)
        .warns("lies in the repository");
}

#[test]
fn what_every_run_refuses_is_no_valid_contract() {
    for (line, why) in [
        ("writes \".git/hooks/*\"", "would let it change `.git`"),
        ("writes \"**\"", "needs the root of the repository"),
        ("produces \"*.o\"", "needs the root of the repository"),
        ("cleans \"{out,.vplan}/**\"", "would let it change `.vplan`"),
        ("writes \"contracts/**\"", "would let it change `contracts/"),
        (
            "writes \"contracts/verify.lock.kdl\"",
            "would let it change `contracts/",
        ),
        ("env TMPDIR=/x", "names another temporary folder"),
    ] {
        let project = Project::contract(&format!(
            "vplan 1\ncheck w {{\n  run true\n  {line}\n  sandbox guard\n}}\n"
        ));
        project
            .run(&["check"])
            .exits(3)
            .warns("vplan::sandbox::conflict")
            .warns(why);
        if guards(&project) {
            project
                .run(&["run", "--all"])
                .exits(5)
                .warns("vplan::sandbox::conflict")
                .warns(why);
        }
    }
    for honest in [
        "writes \"out/**\"",
        "writes \"contractsx/**\"",
        "writes \"src/made\"",
    ] {
        let text = format!(
            "vplan 1\ncheck w {{\n  run true\n  {honest}\n  sandbox guard\n}}\ncheck free {{\n  run true\n  writes \"**\"\n}}\n"
        );
        let project = Project::contract(&text);
        project.write("src/made", "");
        project.run(&["check"]).exits(0);
    }
}

/// Whether the pass of the only check was reused.
fn is_reused(ran: &Ran) -> bool {
    ran.exits(0);
    ran.json()["steps"][0]["status"] == "cached"
}

fn path_of(project: &Project, front: &[&str], back: &[&str]) -> String {
    let folder = |name: &&str| {
        // A path over the repository is left out of PATH.
        let outside = name
            .strip_prefix("../")
            .map(|name| project.parent().join(name));
        outside
            .unwrap_or_else(|| project.path(name))
            .display()
            .to_string()
    };
    let own = std::env::var("PATH").unwrap();
    let front = front.iter().map(folder);
    let back = back.iter().map(folder);
    front.chain([own]).chain(back).collect::<Vec<_>>().join(":")
}

#[test]
fn a_path_that_leads_to_other_programs_discards_a_pass() {
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\ncheck c {\n  run sh c.sh\n  inputs \"src/**\" \"c.sh\"\n}\n",
        ),
        ("c.sh", "cat src/a\n"),
        ("src/a", "1\n"),
    ]);
    project.script("../bin/cat", "#!/bin/sh\necho other\n");
    project.script("../tools/tool", "#!/bin/sh\n");
    project
        .mkdir("../empty")
        .write("../docs/readme", "")
        .symlink("../same", "tools");
    let run = |path: &str| {
        project
            .vplan(&["run", "--all", "--format", "json"])
            .env("PATH", path)
            .run()
    };
    let usual = path_of(&project, &[], &["../tools"]);
    assert!(!is_reused(&run(&usual)));
    assert!(is_reused(&run(&usual)));
    for (front, back) in [
        (&[][..], &["../tools", "../nonexistent"][..]),
        (
            &["../nonexistent", "../empty", "../docs"],
            &["../tools", "../tools", "../same"],
        ),
        (&["", "src"], &["../tools"]),
    ] {
        assert!(
            is_reused(&run(&path_of(&project, front, back))),
            "{front:?} {back:?}"
        );
    }
    for (front, back) in [
        (&["../bin"][..], &["../tools"][..]),
        (&["../tools"], &[]),
        (&[], &[]),
    ] {
        let path = path_of(&project, front, back);
        let ran = run(&path);
        assert!(!is_reused(&ran), "{front:?} {back:?}");
        let differs = &ran.json()["steps"][0]["differs"];
        assert_eq!(differs["name"], "PATH");
    }
    // The summary says so, too.
    let path = path_of(&project, &["../empty", "../bin"], &[]);
    project.script("../empty/tool", "#!/bin/sh\n");
    let ran = project.vplan(&["run", "--all"]).env("PATH", path).run();
    ran.exits(0)
        .says("no earlier pass was reused: variable `PATH` changed");
}

#[test]
fn a_confined_step_has_its_own_temporary_folder_whatever_the_caller_has() {
    for (level, reused) in [("guard", true), ("none", false)] {
        let project = Project::contract(&format!(
            "vplan 1\ncheck c {{\n  run sh -c 'echo x > $TMPDIR/x'\n  inputs \"contracts/**\"\n  sandbox {level}\n}}\n"
        ));
        if !guards(&project) {
            return;
        }
        project.mkdir("../one").mkdir("../two");
        let run = |folder: &str| {
            let folder = project.path(folder);
            project
                .vplan(&["run", "--all", "--format", "json"])
                .env("TMPDIR", folder)
                .run()
        };
        assert!(!is_reused(&run("../one")));
        assert_eq!(is_reused(&run("../two")), reused, "{level}");
    }
}

#[test]
fn programs_of_a_tool_path_can_be_executed_and_count() {
    for level in ["files", "sealed"] {
        let project = Project::git_with(&[
            (
                "contracts/verify.vplan",
                &format!(
                    "vplan 1\ncheck c {{\n  run lint src/a\n  inputs \"src/**\"\n  tool-path \"tools\"\n  sandbox {level}\n}}\n"
                ),
            ),
            ("src/a", "1\n"),
        ]);
        project.script("tools/lint", "#!/bin/sh\nexec helper \"$1\"\n");
        project.script("tools/helper", "#!/bin/sh\ngrep -q 1 \"$1\"\n");
        let can = project
            .run(&["audit", "--machine", "--require", level])
            .exit
            == Some(0);
        if !can {
            return;
        }
        let run = || project.run(&["run", "--all", "--format", "json"]);
        assert!(!is_reused(&run()));
        assert!(is_reused(&run()));
        // Also one that the command does not name.
        project.script("tools/helper", "#!/bin/sh\ngrep -q 2 \"$1\"\n");
        run().exits(40);
    }
}

#[test]
fn a_vplan_in_a_confined_step_or_fixer_answers() {
    let project = project("vplan run > out.txt; echo $? > exit.txt; echo fine and good > src/a");
    if !guards(&project) {
        return;
    }
    repaired(&project, &[]).exits(0);
    assert_eq!(
        project.read("exit.txt"),
        "40\n",
        "{}",
        project.read("out.txt")
    );
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\ncheck outer {\n  run vplan run inner\n  sandbox guard\n}\ncheck inner: true\n",
        ),
        (".gitignore", ".vplan/\n"),
    ]);
    let bin = project.parent().join("bin");
    project.symlink("../bin/vplan", env!("CARGO_BIN_EXE_vplan"));
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    project
        .vplan(&["run", "--all", "--require", "full"])
        .env("PATH", path)
        .run()
        .exits(0);
}

#[test]
fn a_server_that_is_down_at_the_start_executes_nothing_and_the_steps_here_where_that_is_asked_for()
{
    let checks = ["a", "b", "c", "d"].map(|name| {
        format!("check {name} {{\n  run grep -q good src/a\n  inputs \"src/**\"\n}}\n")
    });
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            &format!("vplan 1\n{}", checks.concat()),
        ),
        ("src/a", "good\n"),
    ]);
    let down = ["run", "--all", "--remote", "grpc://127.0.0.1:9"];
    let ran = project.run(&down);
    if ran.err().contains("was built without") {
        return;
    }
    ran.exits(5).warns("vplan::away::unreachable");
    let here = [
        "--remote-fallback",
        "here",
        "--require",
        "full",
        "--format",
        "json",
    ];
    let report = project.run(&[&down[..], &here].concat()).exits(0).json();
    for step in report["steps"].as_array().unwrap() {
        assert_eq!(step["status"], "passed", "{report:#}");
        assert_eq!(step["place"]["engine"], "here", "{report:#}");
    }
    let notes = report["notes"].to_string();
    assert!(notes.contains("remote-fallback"), "{notes}");
    project.write("src/a", "bad\n");
    project.run(&[&down[..], &here].concat()).exits(40);
}
