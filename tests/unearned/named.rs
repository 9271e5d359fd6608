//! A request that does less: a saved plan, named files and lists that cover a part of the change, or
//! name files that are nowhere.

use super::codes;
use crate::support::{Project, Ran};
use serde_json::{Value, json};

const CONTRACT: &str = "vplan 1
whenChangedAny \"src/**\" {
  check unit: sh -c '! grep -q bad src/a'
}
whenChangedAny \"docs/**\" {
  check docs: true
}
";

/// A branch with one change of `src/a`, which is good.
fn project() -> Project {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        ("src/a", "good\n"),
        ("src/old", ""),
        ("docs/a", ""),
        ("docs/[id]/p.md", ""),
        ("other", ""),
    ]);
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("src/a", "good 2\n");
    project
}

fn report(ran: &Ran) -> (Option<i32>, Value) {
    (ran.exit, ran.json())
}

fn run(project: &Project, args: &[&str]) -> (Option<i32>, Value) {
    report(&project.run(&[&["run", "--format", "json", "--require", "full"], args].concat()))
}

/// Runs with a list on standard input.
fn list(project: &Project, bytes: impl Into<Vec<u8>>, args: &[&str]) -> Ran {
    let words = [
        "run",
        "--format",
        "json",
        "--require",
        "full",
        "--changed-from",
        "-",
    ];
    project
        .vplan(&[&words[..], args].concat())
        .stdin(bytes)
        .run()
}

/// Checks that a request covers less, with this caveat.
#[track_caller]
fn covers_less((exit, report): (Option<i32>, Value), code: &str, files: &[&str]) {
    assert_eq!(exit, Some(44), "{report:#}");
    let caveats = report["caveats"].as_array().unwrap();
    let caveat = caveats.iter().find(|c| c["code"] == code);
    let caveat = caveat.unwrap_or_else(|| panic!("no {code}: {report:#}"));
    assert_eq!(caveat["files"], json!(files), "{report:#}");
    assert_eq!(caveat["effect"], "narrows");
}

/// Checks that a request is a full pass.
#[track_caller]
fn is_full((exit, report): (Option<i32>, Value)) {
    assert_eq!(exit, Some(0), "{report:#}");
    assert_eq!(codes(&report), [""; 0], "{report:#}");
}

#[test]
fn a_saved_plan_for_a_part_of_the_change() {
    let project = project();
    project.write("docs/a", "x");
    let saved = ["--plan", "../p.json"];
    for (source, lacking) in [
        (&["--changed-none"][..], &["docs/a", "src/a"][..]),
        (&["--changed", "docs/a"], &["src/a"]),
    ] {
        let plan = [&["plan", "-o", "../p.json", "--force"], source].concat();
        project.run(&plan).exits(0);
        // The plan's own file says nothing of it: the run compares.
        covers_less(run(&project, &saved), "part_of_change", lacking);
        let shard = [&saved[..], &["--shard", "1/1"]].concat();
        covers_less(run(&project, &shard), "part_of_change", lacking);
    }
    project
        .run(&["run", "--plan", "../p.json"])
        .exits(0)
        .says("the saved plan covers only a part of the change, which also requires `unit`: src/a");
    // What was good when the plan was made, and changed since.
    project.git(&["checkout", "-q", "src/a"]);
    let plan = ["plan", "-o", "../p.json", "--force", "--changed", "docs/a"];
    project.run(&plan).exits(0);
    is_full(run(&project, &saved));
    project.write("src/a", "bad\n");
    covers_less(run(&project, &saved), "part_of_change", &["src/a"]);
    project.commit("bad");
    covers_less(run(&project, &saved), "part_of_change", &["src/a"]);
}

#[test]
fn named_files_that_are_a_part_of_the_change() {
    let project = project();
    project.write("docs/a", "x").write("src/new", "");
    covers_less(
        run(&project, &["--changed", "docs/a"]),
        "part_of_change",
        &["src/a", "src/new"],
    );
    covers_less(
        run(&project, &["--changed-none"]),
        "part_of_change",
        &["docs/a", "src/a", "src/new"],
    );
    covers_less(
        report(&list(&project, "docs/a\n", &[])),
        "part_of_change",
        &["src/a", "src/new"],
    );
    let ci = project
        .vplan(&["run", "--require", "full", "--changed", "docs/a"])
        .env("CI", "true")
        .run();
    ci.exits(44);
    // Committed is no less a part of the change.
    project.commit("all");
    covers_less(
        run(&project, &["--changed", "docs/a"]),
        "part_of_change",
        &["src/a", "src/new"],
    );
    // A repair covers what the request covers.
    let words = [
        "loop",
        "--fix",
        "true",
        "--changed",
        "docs/a",
        "--require",
        "full",
    ];
    project
        .run(&words)
        .exits(22)
        .says("only a part of the change");
}

#[test]
fn named_files_that_are_all_of_the_change_are_a_full_pass() {
    let project = project();
    project.write("other", "x").write("docs/new", "");
    for args in [
        // What is not named requires no check, or no other one.
        &["--changed", "src/a", "docs/new"][..],
        &["--changed", "src/old", "docs/a"],
        &[
            "--changed",
            "src/a",
            "docs/new",
            "other",
            "docs/a",
            "docs/[id]/p.md",
        ],
        &["--changed", ":/src/a", "added:docs/new"],
        &["--all"],
    ] {
        is_full(run(&project, args));
    }
    let tracked = project.git(&["ls-files"]) + "\ndocs/new\n";
    is_full(report(&list(&project, tracked, &[])));
    let plan = ["plan", "-o", "../p.json", "--changed", "src/a", "docs/new"];
    project.run(&plan).exits(0);
    is_full(run(&project, &["--plan", "../p.json"]));
    // A clone without the branch compares with HEAD.
    project.commit("all");
    project.git(&["remote", "remove", "origin"]);
    project.git(&["branch", "-D", "main"]);
    is_full(run(&project, &["--changed", "docs/a"]));
}

#[test]
fn named_files_beside_hidden_ones() {
    let project = project();
    project
        .write("src/helper", "")
        .write("notes/x", "")
        .write(".git/info/exclude", "/src/helper\n/notes/\n");
    let named = ["--changed", "src/a"];
    let hidden = |ran| covers_less(ran, "hidden_files", &["src/helper"]);
    hidden(run(&project, &named));
    hidden(run(&project, &["--changed", "src/a", "--subject", "S"]));
    hidden(report(&list(&project, "src/a\n", &[])));
    project
        .run(&["plan", "-o", "../p.json", "--changed", "src/a"])
        .exits(0);
    hidden(run(&project, &["--plan", "../p.json"]));
    let words = ["loop", "--fix", "true", "--require", "full"];
    project.run(&[&words[..], &named].concat()).exits(22);
    // A file that is named is part of what is verified; one that no check selects does not count.
    is_full(run(&project, &["--changed", "src/a", "src/helper"]));
    project.remove("src/helper");
    is_full(run(&project, &named));
    // So is it with what the change itself hides.
    project
        .write("src/new", "")
        .write(".gitignore", "/src/new\n");
    project.git(&["add", ".gitignore"]);
    covers_less(run(&project, &named), "newly_ignored", &["src/new"]);
    is_full(run(&project, &["--changed", "src/a", "src/new"]));
}

#[test]
fn a_list_that_is_empty_in_ci() {
    let project = project();
    project.write("../empty", "").write("../blank", "\n\r\n");
    project.write("../mark", "\u{feff}");
    for (command, file) in [
        ("run", "../empty"),
        ("run", "../blank"),
        ("run", "../mark"),
        ("run", "-"),
        ("plan", "../empty"),
        ("explain", "-"),
    ] {
        let words = [command, "--changed-from", file];
        let here = project.vplan(&words).env("CI", "true").run();
        here.exits(2)
            .warns("the list of changed files is empty, and this is CI")
            .warns("--changed-none");
    }
    let words = ["run", "-z", "--changed-from", "-"];
    project.vplan(&words).env("CI", "true").run().exits(2);
    // Asked for, and outside CI: nothing to verify.
    let words = ["run", "--changed-none"];
    project.vplan(&words).env("CI", "true").run().exits(0);
    project.run(&["run", "--changed-from", "../empty"]).exits(0);
}

#[test]
fn names_that_are_nowhere() {
    let project = project();
    project.symlink("link", "src");
    let nowhere: &[(&[&str], &[&str])] = &[
        (&["--changed", "srx/a"], &["srx/a"]),
        (&["--changed", "src/a", "srx/a"], &["srx/a"]),
        // A directory is no file of the change.
        (&["--changed", "src"], &["src"]),
        (&["--changed", "src/"], &["src"]),
        (
            &["--changed", "added:src/b", "deleted:src/c"],
            &["src/b", "src/c"],
        ),
        (&["--changed", ":src/**", "src/a"], &["src/**"]),
        (&["--changed", "SRC/A"], &["SRC/A"]),
        (&["--changed", "src/a", ".git/HEAD"], &[".git/HEAD"]),
        (&["--changed", "src/a", "link/a"], &["link/a"]),
    ];
    for (args, files) in nowhere {
        covers_less(run(&project, args), "unknown_files", files);
        // A preview of files that are not there yet says so.
        let preview = project.run(&[&["explain"], *args].concat());
        preview.exits(0).says(files[0]).says("neither");
    }
    // What was saved with it.
    let plan = [
        "plan",
        "-o",
        "../p.json",
        "--changed",
        "src/a",
        "docs/later",
    ];
    project.run(&plan).exits(0);
    covers_less(
        run(&project, &["--plan", "../p.json"]),
        "unknown_files",
        &["docs/later"],
    );
    project.write("docs/later", "");
    is_full(run(&project, &["--plan", "../p.json"]));
    // Lists of other forms than git's, and of paths that are relative to a folder.
    for (bytes, file) in [
        ("a\n", "a"),
        (" M src/a\n", " M src/a"),
        ("M\tsrc/a\nsrc/old\n", "M\tsrc/a"),
        ("src/**\n", "src/**"),
    ] {
        let ran = list(&project, bytes, &[]);
        covers_less(report(&ran), "unknown_files", &[file]);
    }
    // A subject whose round names them is not done.
    let words = [
        "run",
        "--subject",
        "S",
        "--changed",
        "src/a",
        "docs/x",
        "--format",
        "json",
    ];
    let ran = project.run(&words);
    assert!(
        codes(&ran.json()).contains(&"unknown_files"),
        "{}",
        ran.out()
    );
}

/// Who asks for nothing gets no pass in full.
#[test]
fn a_run_without_its_checks() {
    let project = project();
    project.run(&["run", "--mode", "off"]).exits(0);
    let (exit, report) = run(&project, &["--mode", "off"]);
    assert_eq!((exit, &report["coverage"]), (Some(44), &json!("narrowed")));
}

#[test]
fn thousands_of_names_that_are_nowhere() {
    let project = project();
    project.git(&["rm", "-q", "src/old"]);
    project.commit("gone");
    let nowhere: Vec<String> = (0..5_000).map(|i| format!("n/d{i}/e/f")).collect();
    let names = format!("src/a\nsrc/old\n{}\n", nowhere.join("\n"));
    let (exit, report) = report(&list(&project, names, &[]));
    assert_eq!(exit, Some(44), "{report:#}");
    let caveats = report["caveats"].as_array().unwrap();
    let caveat = caveats.iter().find(|c| c["code"] == "unknown_files");
    let files = caveat.unwrap()["files"].as_array().unwrap();
    assert!(!files.contains(&json!("src/old")), "it is at the base");
    assert!(files.contains(&json!("n/d0/e/f")), "{files:?}");
}

#[test]
fn lists_of_another_form_in_the_default_form() {
    let project = project();
    project.write("src/a", "bad\n");
    let bad = |bytes: &[u8], args: &[&str]| {
        let (exit, report) = report(&list(&project, bytes, args));
        assert_eq!(exit, Some(40), "{bytes:?} {report:#}");
        assert_eq!(codes(&report), [""; 0], "{bytes:?}");
    };
    bad(b"src/a\n", &[]);
    bad(b"\xef\xbb\xbfsrc/a\r\n", &[]);
    bad(b"M\tsrc/a\n", &[]);
    bad(b"\"src/\\141\"\n", &[]);
    bad(b"src/a\0", &[]);
    bad(b"M\0src/a\0", &[]);
    bad(b"M\0src/a\0", &["-z"]);
    for form in ["--name-only", "--name-status", "--raw"] {
        for separator in ["--no-color", "-z"] {
            let printed = project.git(&["diff", form, separator]);
            bad(printed.as_bytes(), &[]);
        }
    }
    // The caller's word counts.
    let ran = list(&project, "M\tsrc/a\n", &["--changed-format", "names"]);
    covers_less(report(&ran), "unknown_files", &["M\tsrc/a"]);
    let ran = list(&project, b"\xff\xfes\0r\0c\0/\0a\0\n\0".to_vec(), &[]);
    ran.exits(2).warns("UTF-16");
    // A file that is named as a status.
    project.write("M", "").write("src/a", "good\n");
    let ran = list(&project, "M\0src/a\0", &[]);
    assert_eq!(ran.json()["compared"]["changed"], 2, "{}", ran.out());
}

#[test]
fn lists_of_git_are_full_passes() {
    let project = project();
    // Deleted in the work tree, in the index, by a commit; renamed; with a name that git quotes.
    project.remove("src/old");
    project.write("docs/g\u{e4}ns \"x\"", "");
    project.git(&["add", "-A"]);
    let names = |args: &[&str]| project.git(&[&["diff", "--name-only"], args].concat()) + "\n";
    is_full(report(&list(&project, names(&["HEAD"]), &[])));
    project.commit("one");
    project.git(&["mv", "docs/a", "docs/b"]);
    project.commit("two");
    is_full(report(&list(&project, names(&["main...HEAD"]), &[])));
    // From a folder git prints the same.
    let printed = project.git_in("src", &["diff", "--name-only", "main...HEAD"]);
    let words = ["run", "--require", "full", "--changed-from", "-"];
    project
        .vplan(&words)
        .within("src")
        .stdin(printed)
        .run()
        .exits(0);
    // On the default branch, what one push deleted: it is neither in HEAD nor at the base.
    project.pushed(&project.git(&["rev-parse", "HEAD"]));
    is_full(report(&list(&project, names(&["HEAD~2", "HEAD"]), &[])));
    is_full(report(&list(
        &project,
        names(&["--no-renames", "HEAD~1", "HEAD"]),
        &[],
    )));
}

#[test]
fn a_path_that_could_mean_two_files() {
    let project = project();
    project.write("src/other", "x");
    let within = |dir: &str, path: &str| {
        let words = ["run", "--require", "full", "--changed", path];
        project.vplan(&words).within(dir).run()
    };
    for path in ["other", "./other", "added:other", ":other", "a"] {
        let ran = within("src", path);
        ran.exits(2).warns("could mean").warns(":/src/");
    }
    within("src", "other").warns("write `:/other` or `:/src/other`");
    within("src", "../other").exits(2);
    within("src", ":/src/other").exits(0);
    within("src", "src/other").exits(0);
    within("docs", "other").exits(44).says("unit");
    // One of the root that nothing in the folder is called like.
    project.git(&["checkout", "-q", "src/a"]);
    project.remove("src/other");
    within("src", "docs/a").exits(0);
    within("src", ":/other").exits(0);
}

#[test]
fn a_glob_as_a_name() {
    let project = project();
    for glob in [
        "src/**",
        "*",
        "src/?",
        "src/[ab]",
        "src/{a,b}",
        "added:src/*",
    ] {
        for command in ["run", "explain", "plan"] {
            let ran = project.run(&[command, "--changed", glob]);
            ran.exits(2).warns("globs are not expanded").warns("--all");
        }
    }
    // A file that has the name, also one that is yet to be, where the name is literal.
    project.git(&["checkout", "-q", "src/a"]);
    is_full(run(&project, &["--changed", "docs/[id]/p.md"]));
    project.remove("docs/[id]/p.md");
    is_full(run(&project, &["--changed", "docs/[id]/p.md"]));
    for path in [":docs/[slug]/p.md", "docs/[id]/later.md"] {
        let ran = project.run(&["explain", "--changed", path]);
        ran.exits(0).says("docs");
    }
}

#[test]
fn a_glob_that_is_read_otherwise_than_it_looks() {
    let contract = |glob: &str| format!("vplan 1\nwhenChangedAny {glob} {{\n  check a: true\n}}\n");
    let project = Project::contract(&contract("\"app/[id]/page.tsx\" \"x.{ts, tsx}\""));
    project.write("app/[id]/page.tsx", "").write("x.ts", "");
    project
        .run(&["check"])
        .exits(3)
        .warns("write `'app/\\[id\\]/page.tsx'`")
        .warns("write `'x.{ts,tsx}'`");
    // A run only if a changed file is concerned.
    let run = |file: &str| project.run(&["run", "--changed", file]);
    for file in ["app/[id]/page.tsx", "x.tsx"] {
        project.write(file, "");
        run(file).exits(3).warns("vplan::repository::misread_glob");
    }
    run("x.ts").exits(0);
    for (glob, file) in [
        ("\"app/[id]/*\"", "app/[id]/page.tsx"),
        ("\"app/[id]/\"", "app/[id]/page.tsx"),
        ("\"**/[id]/page.*\"", "app/[id]/page.tsx"),
        ("\"[...slug]/**\"", "[...slug]/a"),
        ("\"x.{ts , tsx}\"", "x.ts"),
        ("\"src/@(a|b).ts\"", "src/a.ts"),
        ("\"src/*.(ts|js)\"", "src/a.ts"),
        ("\"src/+(a).ts\"", "src/a.ts"),
        ("\"src/*.ts \"", "src/a.ts"),
        ("\"src/*.ts,src/*.js\"", "src/a.ts"),
        ("\"src/*.ts|src/*.js\"", "src/a.ts"),
        ("\"src/*.ts src/*.js\"", "src/a.ts"),
    ] {
        let project = Project::contract(&contract(glob));
        project.write(file, "");
        project.run(&["check"]).exits(3).warns("misread_glob");
    }
    // Classes, literal brackets, and names with blanks are what they are.
    for (glob, file) in [
        ("'app/\\[id\\]/page.tsx'", "app/[id]/page.tsx"),
        ("\"app/[id]/*\" 'app/\\[id\\]/*'", "app/[id]/page.tsx"),
        ("\"app/[a-z]*/*\"", "app/main/page.tsx"),
        ("\"{my docs, x}/**\"", " x/a"),
        ("\"{my docs,x}/**\"", "my docs/a"),
        ("\"app/(group)/**\"", "app/(group)/p.tsx"),
        ("\"app/@modal/(.)photo/*\"", "app/@modal/(.)photo/p.tsx"),
        ("\"src/@types/**\"", "src/@types/t.ts"),
        ("\"a b/*\"", "a b/c"),
        ("\"a,b/*\"", "a,b/c"),
    ] {
        let project = Project::contract(&contract(glob));
        project.write(file, "");
        project.run(&["check"]).exits(0);
        project.run(&["run", "--require", "full"]).exits(0);
    }
}

#[test]
fn a_whole_command_in_quotes() {
    let contract = |line: &str| format!("vplan 1\n{line}\n");
    for line in [
        "check t: \"npm run lint\"",
        "check t {\n  test 'cargo test --all'\n}",
        "check t: \"./lint.sh --all\"",
    ] {
        let project = Project::contract(&contract(line));
        for args in [&["check"][..], &["check", "--pure"]] {
            let ran = project.run(args);
            ran.exits(3)
                .warns("quoted_command")
                .warns("write it without the quotes");
        }
    }
    let project = Project::contract(&contract("check t: \"npm run lint\""));
    project.run(&["run"]).exits(5).says("is one word");
    // A program of such a name.
    let project = Project::contract(&contract(
        "check t: \"./my tool\"\ncheck u: \"./my tool\" x",
    ));
    project.script("my tool", "#!/bin/sh\nexit 0\n");
    project.commit("tool");
    for args in [&["check"][..], &["check", "--pure"], &["run", "--all"]] {
        project.run(args).exits(0);
    }
}

#[test]
fn names_that_look_like_ones_that_checks_are_for() {
    let contract = "vplan 1
whenChangedAny \"src/**\" \"d\u{e9}j\u{e0}/*\" {
  check unit: true
}
check all: true
";
    for name in [
        "\u{455}rc/a",
        "Src/a",
        "s\u{200b}rc/a",
        "src\u{2215}a",
        "de\u{301}ja\u{300}/a",
    ] {
        let project = Project::contract(contract);
        project.write(name, "");
        let (exit, report) = run(&project, &[]);
        assert_eq!(
            (exit, codes(&report)),
            (Some(0), vec!["lookalikes"]),
            "{name}"
        );
        assert_eq!(report["caveats"][0]["effect"], "note");
        project
            .run(&["explain"])
            .exits(0)
            .says("look like ones that checks are for");
    }
    // Another name, one that is selected, one that another condition names.
    let contract = contract.to_owned() + "whenChangedAny \"**/*.C\" {\n  check c: true\n}\n";
    for name in ["README.md", "src/A", "d\u{e9}j\u{e0}/X", "lib/A", "Src/x.C"] {
        let project = Project::contract(&contract);
        project.write(name, "");
        let (exit, report) = run(&project, &[]);
        assert_eq!((exit, codes(&report)), (Some(0), vec![]), "{name}");
    }
}
