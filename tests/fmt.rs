//! `vplan fmt`: what is written, what is not, and what it says.

use crate::support::Project;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const UGLY: &str = "# licence\n\n\nvplan 1\ncheck a {\n\ttimeout 5m # long\n\trun true\n}\n";
const GOOD: &str = "# licence\n\nvplan 1\ncheck a {\n  run true\n  timeout 5m # long\n}\n";
const TEST: &str = "contracts/verify.vplan";

#[test]
fn the_contract_and_its_tests_are_formatted_in_place() {
    let project = Project::contract(UGLY);
    project.mode(TEST, 0o640);
    project
        .write("contracts/deep.test.vplan", UGLY)
        .write("contracts/other.vplan", UGLY);
    let before = project
        .run(&["plan", "--format", "canonical", "--all"])
        .stdout;
    let ran = project.run(&["fmt"]);
    ran.exits(0).is_quiet();
    assert_eq!(
        ran.out(),
        "contracts/verify.vplan: formatted\ncontracts/deep.test.vplan: formatted\n"
    );
    assert_eq!(
        [
            project.read(TEST),
            project.read("contracts/deep.test.vplan")
        ],
        [GOOD, GOOD]
    );
    assert_eq!(
        project.read("contracts/other.vplan"),
        UGLY,
        "nobody asked for it"
    );
    assert_eq!(project.path(TEST).metadata().unwrap().mode() & 0o777, 0o640);
    assert_eq!(
        std::fs::read_dir(project.path("contracts"))
            .unwrap()
            .count(),
        3,
        "nothing is left behind"
    );
    assert_eq!(
        project
            .run(&["plan", "--format", "canonical", "--all"])
            .stdout,
        before
    );
    // A file that is right is not even opened for writing.
    let inode = project.path(TEST).metadata().unwrap().ino();
    let again = project.run(&["fmt"]);
    again.exits(0).says("2 files, all formatted already");
    assert_eq!(project.path(TEST).metadata().unwrap().ino(), inode);
    assert_eq!(project.run(&["fmt", "-q"]).exits(0).out(), "");
}

#[test]
fn check_shows_and_writes_nothing() {
    let project = Project::contract(UGLY);
    let ran = project.run(&["fmt", "--check"]);
    ran.exits(40)
        .warns("1 of 1 file not formatted")
        .warns("`vplan fmt` formats them");
    assert_eq!(
        ran.out(),
        "--- contracts/verify.vplan\n+++ contracts/verify.vplan (formatted)\n@@ -1,8 +1,7 @@\n # licence\n \n-\n vplan 1\n check a {\n\
         -\ttimeout 5m # long\n-\trun true\n+  run true\n+  timeout 5m # long\n }\n"
    );
    assert_eq!(project.read(TEST), UGLY);
    let json = project.run(&["fmt", "--check", "--format", "json"]);
    let document = json.exits(40).json();
    assert_eq!(document["files"][0]["status"], "differs");
    assert_eq!(document["files"][0]["diff"], ran.out());
    project
        .run(&["fmt", "--format", "json"])
        .exits(0)
        .says("\"status\":\"changed\"");
    project
        .run(&["fmt", "--format", "json"])
        .exits(0)
        .says("\"status\":\"formatted\"");
    project
        .run(&["fmt", "--check"])
        .exits(0)
        .says("1 file, all formatted already");
}

#[test]
fn line_ends_and_byte_order_marks_differ_too() {
    let project = Project::contract(&format!("\u{feff}{}", GOOD.replace('\n', "\r\n")));
    project
        .run(&["fmt", "--check"])
        .exits(40)
        .says("-\\u{feff}# licence\\r\n")
        .says("+# licence\n");
    project.run(&["fmt"]).exits(0);
    assert_eq!(project.read(TEST), GOOD);
}

#[test]
fn standard_input_goes_to_standard_output() {
    let project = Project::bare();
    let ran = project.vplan(&["fmt", "-"]).stdin(UGLY).run();
    assert_eq!(ran.exits(0).is_quiet().out(), GOOD);
    project
        .vplan(&["fmt", "-", "--check"])
        .stdin(GOOD)
        .run()
        .exits(0);
    project
        .vplan(&["fmt", "-", "--check"])
        .stdin(UGLY)
        .run()
        .exits(40)
        .says("+++ - (formatted)");
    let ran = project
        .vplan(&["fmt", "-", "--format", "json"])
        .stdin(UGLY)
        .run();
    assert_eq!(ran.exits(0).json()["files"][0]["text"], GOOD);
    // What cannot be formatted comes out as it went in: an editor may put it in the place of the
    // text.
    for broken in [
        &b"vplan 1\nchek a: true  \n"[..],
        b"vplan 1\n# \xff\n",
        b"",
        b"\0",
    ] {
        let ran = project.vplan(&["fmt", "-"]).stdin(broken).run();
        ran.exits(3);
        assert_eq!(ran.stdout, broken);
    }
    project
        .vplan(&["fmt", "-", "a.vplan"])
        .run()
        .exits(2)
        .warns("stands alone");
    project
        .vplan(&["fmt", "-", "--max-file", "10B"])
        .stdin(UGLY)
        .run()
        .exits(2)
        .warns("larger");
}

#[test]
fn format_erroneous_untouched() {
    let project = Project::contract(UGLY);
    project.write("contracts/a.test.vplan", "vplan 1\nchek x: true   \n");
    let ran = project.run(&["fmt"]);
    ran.exits(3)
        .warns("`chek`")
        .warns("contracts/a.test.vplan:2:1")
        .warns("1 error; nothing was written");
    assert_eq!(ran.out(), "");
    assert_eq!(project.read(TEST), UGLY);
    assert_eq!(
        project.read("contracts/a.test.vplan"),
        "vplan 1\nchek x: true   \n"
    );
    let document = project.run(&["fmt", "--format", "json"]).exits(3).json();
    assert_eq!(document["files"][0]["status"], "differs");
    assert_eq!(document["files"][1]["status"], "invalid");
    assert_eq!(
        document["diagnostics"][0]["code"],
        "vplan::lang::unknown_statement"
    );
    // With --check the other files' differences are shown all the same.
    project
        .run(&["fmt", "--check"])
        .exits(3)
        .says("+  run true")
        .warns("`chek`");
    // Names that mean nothing are no errors of syntax.
    project.write(
        "contracts/a.test.vplan",
        "vplan 1\ncheck a {\n run true\n needs nobody\n}\n",
    );
    project.run(&["fmt"]).exits(0);
}

#[test]
fn files_that_are_named() {
    let project = Project::bare();
    project
        .write("a b.vplan", UGLY)
        .write("sub/c.vplan", UGLY)
        .symlink("link.vplan", "sub/c.vplan");
    let ran = project.run(&["fmt", "a b.vplan", "link.vplan", "sub/c.vplan"]);
    assert_eq!(
        ran.exits(0).out(),
        "a b.vplan: formatted\nlink.vplan: formatted\n"
    );
    assert!(project.path("link.vplan").is_symlink());
    assert_eq!(
        [project.read("a b.vplan"), project.read("sub/c.vplan")],
        [GOOD, GOOD]
    );
    project.write("sub/c.vplan", UGLY);
    project
        .vplan(&["fmt", "c.vplan"])
        .within("sub")
        .run()
        .exits(0);
    assert_eq!(project.read("sub/c.vplan"), GOOD);
    project
        .run(&["fmt", "-C", "sub", "c.vplan"])
        .exits(0)
        .says("1 file, all formatted already");
}

#[test]
fn files_that_cannot_be_formatted() {
    let project = Project::contract(UGLY);
    project
        .write("bytes.vplan", b"vplan 1\n# \xff\n")
        .write("c.json", "{}")
        .symlink("loop.vplan", "loop.vplan");
    project
        .symlink("broken.vplan", "none")
        .write("read-only.vplan", UGLY)
        .mode("read-only.vplan", 0o444);
    let pipe = project.path("pipe.vplan");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    for (file, exit, words) in [
        ("bytes.vplan", 3, "not UTF-8: byte 0xff at offset 10"),
        ("c.json", 2, "`vplan import c.json` converts it"),
        ("none.vplan", 2, "no such file"),
        ("broken.vplan", 2, "symlink to nothing"),
        ("loop.vplan", 2, "cannot be read"),
        ("contracts", 2, "name its files"),
        ("pipe.vplan", 2, "no regular file"),
        ("/dev/null", 2, "no regular file"),
        ("read-only.vplan", 2, "is read-only"),
        ("x\u{1b}[2J", 2, "x\\u{1b}[2J"),
    ] {
        project
            .run(&["fmt", TEST, file])
            .exits(exit)
            .warns(words)
            .never_says("\u{1b}");
        if file != "read-only.vplan" {
            assert_eq!(project.read(TEST), UGLY, "{file}");
        }
        project.write(TEST, UGLY);
    }
    assert_eq!(project.read("read-only.vplan"), UGLY);
    project
        .run(&["fmt", "--contract", "c.json"])
        .exits(2)
        .warns("is JSON");
    project
        .run(&["fmt", "--max-file", "20B"])
        .exits(3)
        .warns("larger");
    project
        .run(&["fmt", "--format", "dot"])
        .exits(2)
        .warns("dot");
    // Short lines, nested deep, are long when they are indented.
    let deep = format!(
        "vplan 1\n{}{}{}",
        "byRole worker {\n".repeat(40),
        "run true\n".repeat(300),
        "}\n".repeat(40)
    );
    project.write("deep.vplan", &deep);
    project
        .run(&["fmt", "deep.vplan", "--max-file", "10KB"])
        .exits(3)
        .warns("over a limit");
    assert_eq!(project.read("deep.vplan"), deep);
    Project::bare()
        .run(&["fmt"])
        .exits(3)
        .warns("there is no contract");
    let outside = Project::bare();
    outside
        .write("../verify.vplan", UGLY)
        .symlink(TEST, "../../verify.vplan");
    outside
        .run(&["fmt"])
        .exits(3)
        .warns("out of the repository");
    assert_eq!(outside.read("../verify.vplan"), UGLY);
}

/// All contracts below a directory.
fn contracts(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            contracts(&path, found);
        } else if path.extension().is_some_and(|e| e == "vplan") {
            found.push(path);
        }
    }
}

#[test]
fn our_own_contracts_are_formatted() {
    let mut all = Vec::new();
    contracts(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("contracts"),
        &mut all,
    );
    assert!(all.len() >= 5, "{all:?}");
    let mut args = vec!["fmt".into(), "--check".into()];
    args.extend(all);
    Project::bare().run(&args).exits(0);
}

#[test]
fn the_examples_of_the_reference_are_formatted() {
    let examples: Vec<&str> = vplan::lang::GRAMMAR
        .split("```vplan\n")
        .skip(1)
        .filter_map(|b| b.split("```").next())
        .collect();
    assert!(examples.len() >= 5);
    for example in examples {
        let header = if example.starts_with("vplan 1\n") {
            ""
        } else {
            "vplan 1\n"
        };
        let ran = Project::bare()
            .vplan(&["fmt", "-", "--check"])
            .stdin(format!("{header}{example}"))
            .run();
        assert_ne!(ran.exit, Some(40), "{}", ran.out());
    }
}

#[test]
fn statements_that_came_later_need_no_code_of_their_own() {
    let project = Project::bare();
    project.write(
        "a.vplan",
        "vplan 1\n# shared\nimport 'x.vplan'   as  n \\\n at \"apps\" # here\n",
    );
    project.run(&["fmt", "a.vplan"]).exits(0);
    let want = "vplan 1\n# shared\nimport \"x.vplan\" as n \\\n    at \"apps\" # here\n";
    assert_eq!(project.read("a.vplan"), want);
    project.write("b.test.vplan", "vplan 1\ntests  'verify.vplan'\n\nexpect 'a'   {\n# who\n\n\nrole   tester\n changed  'x' 'y' # c\nplan a b\n}\n");
    project.run(&["fmt", "b.test.vplan"]).exits(0);
    let want = "vplan 1\ntests \"verify.vplan\"\n\nexpect \"a\" {\n  # who\n\n  role tester\n  changed \"x\" \"y\" # c\n  plan a b\n}\n";
    assert_eq!(project.read("b.test.vplan"), want);
}
