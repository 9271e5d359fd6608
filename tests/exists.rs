//! `whenExists`, `whenExistsAny`, `whenAbsent`, and their globs: which files a glob is met by, and
//! what all that looks at conditions makes of it.

use crate::support::{Project, Ran};
use serde_json::Value;
use std::collections::BTreeMap;

/// What is said of each glob here, and why.
const GLOBS: [(&str, &str, &str); 26] = [
    ("Cargo.*", "yes", "tracked"),
    ("new.*", "yes", "neither tracked nor ignored"),
    ("staged.*", "yes", "only in the index and the work tree"),
    ("gone.*", "no", "in the index, and not in the work tree"),
    ("folder?", "no", "a folder was where a tracked file is"),
    ("*.log", "no", "ignored"),
    ("**/*.log", "no", "ignored, at any depth"),
    ("kept/*.log", "yes", "ignored, below a folder that is named"),
    ("{kept/a,x}.log", "yes", "the same, without a star"),
    ("{ignored,x}.log", "no", "ignored, and no folder is named"),
    ("**/kept/*.log", "no", "it begins with no folder"),
    (
        "node_modules/*/package.json",
        "yes",
        "an ignored folder that is named",
    ),
    (
        "node_modules/**/nothing",
        "no",
        "nothing there has this name",
    ),
    (
        "*/p/package.json",
        "no",
        "an ignored folder that is not named",
    ),
    ("hidden.*", "yes", "only a rule of this machine hides it"),
    ("empty*", "no", "an empty folder"),
    ("sr?", "no", "a folder with files is no file"),
    ("sr?/", "yes", "a folder with files, as a folder"),
    ("empt?/", "no", "an empty folder has no files"),
    ("lin[k]*", "yes", "a symlink to a file"),
    ("broken*", "no", "a symlink to nothing"),
    ("sub/*.c", "yes", "tracked in a submodule"),
    (
        "**/in-sub.h",
        "yes",
        "neither tracked nor ignored in a submodule",
    ),
    ("**/sub.o", "no", "ignored in a submodule"),
    ("s?b", "no", "a submodule is a folder"),
    (".git/*", "no", "what git keeps is not of the repository"),
];

/// A repository in which each of [`GLOBS`] has its answer.
fn repository() -> Project {
    let project = Project::git_empty();
    project.git(&["init", "-q", "-b", "main", "sub"]);
    project
        .write("sub/a.c", "")
        .write("sub/.gitignore", "*.o\n");
    project.git_in("sub", &["add", "-A"]);
    project.git_in("sub", &["commit", "-qm", "sub"]);
    for path in ["Cargo.toml", "gone.rs", "folder1", "src/a", "kept/b"] {
        project.write(path, "");
    }
    project.write(".gitignore", "*.log\nnode_modules/\n");
    project
        .symlink("link", "Cargo.toml")
        .symlink("broken", "nowhere");
    project.write("contracts/verify.vplan", contract());
    project.commit("begin");
    project.remove("gone.rs").remove("folder1");
    for path in [
        "new.rs",
        "staged.rs",
        "folder1/x",
        "ignored.log",
        "kept/a.log",
        "node_modules/p/package.json",
        "hidden.rs",
        "sub/in-sub.h",
        "sub/sub.o",
    ] {
        project.write(path, "");
    }
    project.write(".git/info/exclude", "hidden.rs\n");
    project.mkdir("empty");
    project.git(&["add", "staged.rs"]);
    project
}

/// A contract that asks for each glob.
fn contract() -> String {
    let block = |(i, (glob, _, _)): (usize, &(&str, &str, &str))| {
        format!("whenExists \"{glob}\" {{\n  check c{i}: true\n}}\n")
    };
    let blocks: String = GLOBS.iter().enumerate().map(block).collect();
    format!("vplan 1\n{blocks}")
}

/// The answers that a plan depends on, by question.
fn facts(ran: &Ran) -> BTreeMap<String, String> {
    let of = |fact: &Value| {
        let [question, answer] =
            ["question", "answer"].map(|key| fact[key].as_str().unwrap().to_owned());
        (question, answer)
    };
    ran.exits(0).json()["facts"]
        .as_array()
        .unwrap()
        .iter()
        .map(of)
        .collect()
}

fn steps(ran: &Ran) -> Vec<String> {
    let steps = ran.exits(0).json()["steps"].as_array().unwrap().clone();
    steps
        .iter()
        .map(|step| step["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn which_files_a_glob_is_met_by() {
    let project = repository();
    // After a comparison of the work tree, and without one.
    for change in [
        &["--all"][..],
        &["--base", "HEAD"],
        &["--changed", "src/a"],
        &["--changed-none"],
    ] {
        let args = [&["plan", "--format", "json"], change].concat();
        let facts = facts(&project.run(&args));
        for (glob, want, why) in GLOBS {
            assert_eq!(
                facts[&format!("exists:{glob}")],
                want,
                "{glob}: {why} {change:?}"
            );
        }
    }
    // Without git, whatever is there.
    std::fs::remove_dir_all(project.path(".git")).unwrap();
    let facts = facts(&project.run(&["plan", "--format", "json", "--changed-none"]));
    for (glob, want) in [
        ("*.log", "yes"),
        ("*/p/package.json", "yes"),
        ("gone.*", "no"),
        ("sr?", "no"),
    ] {
        assert_eq!(facts[&format!("exists:{glob}")], want, "{glob}");
    }
}

/// Files of the index that are not there any more do not hide one that is.
#[test]
fn more_files_are_gone_than_are_looked_at_first() {
    let project = Project::contract("vplan 1\nwhenExists \"d/*.x\" {\n  check x: true\n}\n");
    for i in 100..140 {
        project.write(format!("d/{i}.x"), "");
    }
    project.write("d/z.x", "");
    project.commit("more");
    for i in 100..140 {
        project.remove(&format!("d/{i}.x"));
    }
    let plan = || project.run(&["plan", "--format", "json", "--changed-none"]);
    assert_eq!(steps(&plan()), ["x"]);
    project.remove("d/z.x");
    assert_eq!(steps(&plan()), Vec::<String>::new());
}

/// Rows 56 to 58 of the examples of the design.
#[test]
fn all_any_and_none() {
    let text = "vplan 1\n\
        whenExistsAny \".markdownlint.json\" \".markdownlint.*\" {\n  check either: true\n}\n\
        whenExists \"Cargo.toml\" \"*.lock\" {\n  check both: true\n}\n\
        whenAbsent \"**/*.tf\" {\n  check none: true\n}\n";
    let project = Project::contract(text);
    let plan = || steps(&project.run(&["plan", "--format", "json", "--changed-none"]));
    assert_eq!(plan(), ["none"]);
    project.write("Cargo.toml", "").write("a/b.tf", "");
    assert_eq!(plan(), Vec::<String>::new());
    project.write("a.lock", "").write(".markdownlint.yaml", "");
    assert_eq!(plan(), ["either", "both"]);
    project
        .remove(".markdownlint.yaml")
        .remove("Cargo.toml")
        .remove("a/b.tf");
    assert_eq!(plan(), ["none"]);
    project.write(".markdownlint.json", "");
    assert_eq!(plan(), ["either", "none"]);
    project.run(&["check", "--pure"]).exits(0).is_quiet();
    // Which of them decided.
    project
        .run(&["explain", "--changed-none"])
        .exits(0)
        .says("whenExistsAny .markdownlint.json .markdownlint.* (line 2)")
        .says("whenAbsent **/*.tf (line 8)")
        .says("both  `Cargo.toml` does not exist, whenExists asks for it (line 5)");
    project
        .remove(".markdownlint.json")
        .write("x.tf", "")
        .write("Cargo.toml", "")
        .remove("a.lock");
    project
        .run(&["explain", "--changed-none"])
        .says("either  none of `.markdownlint.json` `.markdownlint.*` exists, whenExistsAny asks for one (line 2)")
        .says("both    no file matches `*.lock`, whenExists asks for it (line 5)")
        .says("none    a file matches `**/*.tf`, whenAbsent asks for its absence (line 8)");
    project
        .run(&["explain", "either", "--changed-none"])
        .exits(0)
        .says(".markdownlint.json in the repository");
    project.write(
        "contracts/verify.vplan",
        "vplan 1\nwhenExistsAll \"a\" {\n  check x: true\n}\n",
    );
    project
        .run(&["check"])
        .exits(3)
        .warns("write `whenExists \"a\" {`");
}

/// Brackets and braces without a comma are of a path, as they ever were.
#[test]
fn paths_stay_paths() {
    let text =
        "vplan 1\nwhenExists \"app/[id]/page.tsx\" \"{{slug}}\" \"dir/\" {\n  check x: true\n}\n";
    let project = Project::contract(text);
    project
        .write("app/[id]/page.tsx", "")
        .write("{{slug}}/a", "")
        .mkdir("dir");
    let ran = project.run(&["plan", "--format", "json", "--changed-none"]);
    assert_eq!(steps(&ran), ["x"]);
    let questions: Vec<String> = facts(&ran).into_keys().collect();
    assert_eq!(
        questions,
        ["exists:app/[id]/page.tsx", "exists:dir", "exists:{{slug}}"]
    );
}

#[test]
fn an_import_has_its_globs_below_its_folder() {
    let project = Project::contract("vplan 1\nimport \"p.vplan\" as web at \"apps/[web]\"\n");
    project
        .write(
            "contracts/p.vplan",
            "vplan 1\nwhenExistsAny \"*.lock\" \"x/y\" {\n  check x: true\n}\n",
        )
        .write("apps/w/a.lock", "")
        .write("b.lock", "");
    let plan = || project.run(&["plan", "--format", "json", "--changed-none"]);
    assert_eq!(steps(&plan()), Vec::<String>::new());
    project.write("apps/[web]/a.lock", "");
    assert_eq!(steps(&plan()), ["web/x"]);
    let questions: Vec<String> = facts(&plan()).into_keys().collect();
    assert_eq!(
        questions,
        ["exists:apps/[web]/x/y", "exists:apps/\\[web\\]/*.lock"]
    );
}

/// A plan that was saved is held against today's files.
#[test]
fn a_saved_plan_knows_what_it_depends_on() {
    let project =
        Project::contract("vplan 1\nwhenAbsent \"**/*.tf\" {\n  check x: true\n}\ncheck y: true\n");
    project
        .run(&["plan", "--changed-none", "-o", "p.json"])
        .exits(0);
    project
        .run(&["plan", "--changed-none", "-o", "p.kdl"])
        .exits(0);
    for plan in ["p.json", "p.kdl"] {
        project.run(&["run", "--plan", plan]).exits(0);
    }
    project.write("a/b.tf", "");
    for plan in ["p.json", "p.kdl"] {
        project.run(&["run", "--plan", plan]).exits(4);
    }
}

/// A change that makes a check go away by a file that it adds or deletes is named.
#[test]
fn what_the_change_switches_off() {
    let project = Project::contract(
        "vplan 1\nwhenAbsent \"**/*.skip\" {\n  check a: true\n}\nwhenExists \"*.lock\" {\n  check b: true\n}\ncheck c: true\n",
    );
    project.write("x.lock", "").write("y.lock", "");
    project.commit("more");
    let said = || {
        let ran = project.run(&["plan", "--base", "HEAD", "--format", "json"]);
        let caveats = ran.exits(0).json()["caveats"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let caveat = caveats
            .into_iter()
            .find(|caveat| caveat["code"] == "switched_off");
        caveat.map(|caveat| (caveat["checks"].clone(), caveat["files"].clone()))
    };
    project.remove("x.lock");
    assert_eq!(said(), None, "another one is there");
    project.remove("y.lock");
    let (checks, files) = said().unwrap();
    assert_eq!(
        (checks, files),
        (
            ["b"].as_slice().into(),
            ["x.lock", "y.lock"].as_slice().into()
        )
    );
    project
        .write("x.lock", "")
        .write("y.lock", "")
        .write("d/e.skip", "");
    let (checks, files) = said().unwrap();
    assert_eq!(
        (checks, files),
        (["a"].as_slice().into(), ["d/e.skip"].as_slice().into())
    );
    project.commit("one is there");
    project.write("d/f.skip", "");
    assert_eq!(said(), None, "it did not apply before either");
}

#[test]
fn a_glob_that_names_a_folder_is_an_error() {
    let project =
        Project::contract("vplan 1\nwhenExistsAny \"{src,lib}\" \"src\" {\n  check x: true\n}\n");
    project.write("src/a", "");
    for command in ["check", "run"] {
        project
            .run(&[command])
            .exits(3)
            .warns("`src` is a folder, and a glob selects files")
            .warns("end it with `/` for all that is in `src`");
    }
}

#[test]
fn a_test_says_which_files_a_glob_is_met_by() {
    let text = "vplan 1\n\
        whenExistsAny \"*.lock\" \"Makefile\" {\n  check any: true\n}\n\
        whenAbsent \"**/*.tf\" {\n  check none: true\n}\n\
        expect \"nothing is there\" {\n  plan none\n}\n\
        expect \"a file of each\" {\n  exists \"a.lock\" \"b/c.tf\"\n  plan any\n}\n\
        expect \"a folder is no file of it\" {\n  exists \"Makefile\" \"a/b.lock\"\n  plan any none\n}\n";
    let project = Project::contract(text);
    project
        .run(&["test", "--min-coverage", "100"])
        .exits(0)
        .says("coverage 100%");
    let formatted = project.read("contracts/verify.vplan");
    project.run(&["fmt"]).exits(0);
    assert_eq!(
        project
            .read("contracts/verify.vplan")
            .matches("whenExistsAny \"*.lock\" \"Makefile\" {")
            .count(),
        1
    );
    project.write(
        "contracts/verify.vplan",
        formatted.replace("plan any none", "plan none"),
    );
    project
        .run(&["test"])
        .exits(40)
        .says("whenExistsAny Makefile");
}

/// The word for the difference, and what is shown of it.
#[test]
fn what_differs_between_contracts() {
    let project = Project::bare();
    let with = |head: &str| format!("vplan 1\n{head} {{\n  check x: make\n}}\ncheck y: make y\n");
    for (old, new, exit, words) in [
        (
            "whenExistsAny \"a\" \"*.b\"",
            "whenExistsAny \"*.b\" \"a\"",
            0,
            &[][..],
        ),
        (
            "whenExistsAny \"a\" \"b\"",
            "whenExistsAny \"a\"",
            45,
            &["1 weakens", "exists \"b\""],
        ),
        (
            "whenExistsAny \"a\"",
            "whenExistsAny \"a\" \"b\"",
            0,
            &["1 strengthens", "exists \"b\""],
        ),
        (
            "whenExistsAny \"a\" \"b\"",
            "whenExists \"a\" \"b\"",
            45,
            &["1 weakens"],
        ),
        (
            "whenExistsAny \"a\"",
            "whenExists \"a\"",
            0,
            &["1 cosmetic"],
        ),
        (
            "whenExists \"a\" \"*.b\"",
            "whenExists \"a\"",
            0,
            &["1 strengthens"],
        ),
        (
            "whenExists \"a\"",
            "whenExists \"a\" \"*.b\"",
            45,
            &["1 weakens", "exists \"a\""],
        ),
        (
            "whenAbsent \"*.b\"",
            "whenExists \"*.b\"",
            45,
            &["1 weakens, 1 strengthens"],
        ),
        (
            "whenAbsent \"a\"",
            "whenAbsent \"*.b\"",
            45,
            &["1 weakens, 1 strengthens"],
        ),
        // A file of both would be one of the other glob; what git ignores is not.
        (
            "whenExists \"a.b\"",
            "whenExists \"*.b\"",
            45,
            &["1 not decided", "no file fits all"],
        ),
        (
            "whenExists \"a.*\"",
            "whenExists \"*\"",
            45,
            &["1 not decided"],
        ),
        ("whenExists \"*\"", "whenExists \"a.*\"", 45, &["1 weakens"]),
        // A change of such a file deletes it.
        (
            "whenChangedAny \"*.b\" {\n  whenAbsent \"*.b\"",
            "whenChangedNone \"**\" {\n  whenAbsent \"*.b\"",
            45,
            &["1 weakens, 1 strengthens", "changed \"deleted:"],
        ),
    ] {
        let text = |head: &str| {
            let text = with(head);
            if head.contains('\n') {
                text.replace("make\n}\n", "make\n}\n}\n")
            } else {
                text
            }
        };
        project
            .write("old.vplan", text(old))
            .write("new.vplan", text(new));
        let ran = project.run(&["diff", "old.vplan", "new.vplan"]);
        ran.exits(exit);
        for words in words {
            assert!(
                ran.out().contains(words),
                "{old} -> {new}: {words}\n{}",
                ran.out()
            );
        }
    }
}
