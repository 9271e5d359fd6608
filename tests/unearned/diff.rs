//! A weaker contract that `vplan diff` lets pass: whoever reads its exit code trusts the newer one.

use crate::support::{Project, Ran};
use serde_json::Value;

fn diff(project: &Project, old: &str, new: &str, args: &[&str]) -> Ran {
    project
        .write("old.vplan", format!("vplan 1\n{old}"))
        .write("new.vplan", format!("vplan 1\n{new}"));
    project.run(&[&["diff", "old.vplan", "new.vplan"], args].concat())
}

/// What cannot be decided is no pass: commands, and what surrounds them.
#[test]
fn words_that_cannot_be_compared() {
    let check = |lines: &str| format!("check a {{\n  {lines}\n}}\n");
    let project = Project::bare();
    for (old, new) in [
        ("test cargo test", "test cargo test --no-run"),
        ("run sh -c false", "run true"),
        ("run sh -c false", "run sh -c true"),
        ("shell \"exit 1\"", "shell \"exit 0\""),
        ("run make", "run make\n  env MAKEFLAGS=-n"),
        ("run make", "run make\n  dir \"sub\""),
        ("run make", "run make\n  pass-env MAKEFLAGS"),
        ("run make", "run make\n  tool-path \"bin\""),
        (
            "test make\n  report junit \"a.xml\"",
            "test make\n  report junit \"b.xml\"",
        ),
        ("test make\n  format tap", "test make\n  format cargo"),
    ] {
        let (old, new) = (check(old), check(new));
        diff(&project, &old, &new, &[])
            .exits(45)
            .says("not decided:")
            .says("--accept a=sha256:");
        // It means what it meant: this, and no more.
        diff(&project, &old, &new, &["--strict"]).exits(45);
        diff(&project, &old, &new, &["--strict", "--exit-code"]).exits(45);
    }
    let judge = |with: &str| format!("judge-with {with}\ncheck a {{\n  judge \"Is it?\"\n}}\n");
    let ran = diff(&project, &judge("strict"), &judge("kind"), &[]);
    ran.exits(45).says("--accept judge-with=sha256:");
}

fn accepts(ran: &Ran) -> Vec<(String, bool)> {
    let list = ran.json()["differences"].as_array().unwrap().clone();
    let of = |d: &Value| {
        let accept = d["accept"].as_str()?.to_owned();
        Some((accept, d["accepted"] == true))
    };
    list.iter().filter_map(of).collect()
}

#[test]
fn one_check_is_accepted_by_its_new_words() {
    let project = Project::bare();
    let old = "check a: make a\ncheck b: make b\njudge-with x\n";
    let new = "check a: make -n a\ncheck b: make -n b\njudge-with y\n";
    let open = diff(&project, old, new, &["--format", "json"]);
    let found = accepts(open.exits(45));
    let [a, b, judge] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert!(a.0.starts_with("a=sha256:") && judge.0.starts_with("judge-with=sha256:"));
    let all = ["--accept", &a.0, "--accept", &b.0, "--accept", &judge.0];
    diff(&project, old, new, &all[..4])
        .exits(45)
        .says("3 not decided (2 accepted)");
    let ran = diff(
        &project,
        old,
        new,
        &[&all[..], &["--format", "json"]].concat(),
    );
    assert!(accepts(ran.exits(0)).iter().all(|(_, accepted)| *accepted));
    diff(&project, old, new, &all).exits(0).says("accepted");
    // Any other words of it are not these: the command, a setting, where it applies.
    for other in [
        new.replace("make -n a", "make -k a"),
        new.replace(
            "check a: make -n a",
            "check a {\n  run make -n a\n  retries 1\n}",
        ),
        new.replace(
            "check a: make -n a",
            "whenChangedAny \"x\" {\n  check a: make -n a\n}",
        ),
    ] {
        let ran = diff(&project, old, &other, &all);
        ran.exits(2)
            .warns("`a` is now sha256:")
            .warns("look at it again");
    }
    // Neither the other check nor a line in between is a part of them.
    let other = new.replace("check b: make -n b", "# more\ncheck b: make b");
    diff(&project, old, &other, &[all[0], all[1], all[4], all[5]]).exits(0);
    // What is accepted does not make what weakens pass.
    let weaker = new.replace("check b: make -n b\n", "");
    diff(&project, old, &weaker, &[all[0], all[1], all[4], all[5]]).exits(45);
    let digest = a.0.rsplit_once('=').unwrap().1;
    for (value, says) in [
        ("a", "expected NAME=sha256:"),
        ("a=", "is no digest"),
        ("a=sha256:12", "is no digest"),
        (&format!("={digest}"), "expected NAME=sha256:"),
        (&format!("a={}", digest.to_uppercase()), "is no digest"),
        (&format!("b={digest}"), "`b` is now sha256:"),
        (&format!("z={digest}"), "no check `z`"),
        (&format!("scope={digest}"), "no check `scope`"),
        (&format!("*={digest}"), "no check `*`"),
        ("all", "expected NAME=sha256:"),
    ] {
        diff(&project, old, new, &["--accept", value])
            .exits(2)
            .warns(says);
    }
    diff(&project, old, new, &["--accept", &a.0, "--accept", &a.0])
        .exits(2)
        .warns("`a` is accepted twice");
    // Where nothing is undecided any more, an acceptance of what is there may stay.
    diff(&project, new, new, &["--accept", &a.0]).exits(0);
    project.write("contracts/verify.vplan", "vplan 1\ncheck a: true\n");
    project
        .run(&["plan", "--changed-none", "-o", "p.json"])
        .exits(0);
    project
        .run(&["diff", "p.json", "p.json", "--accept", &a.0])
        .exits(2)
        .warns("about contracts");
}

/// Selections that are too hard for an exact comparison: one path may decide.
#[test]
fn a_hard_glob_hides_nothing_that_one_path_shows() {
    let hard = format!("**/*a{}x*", "?".repeat(24));
    let project = Project::git_with(&[("src/deep/real.rs", "")]);
    let when = |glob: &str| format!("whenChangedAny \"{glob}\" {{\n  check a: make\n}}\n");
    diff(&project, &when("src/**"), &when(&hard), &[])
        .exits(45)
        .says("weakens:")
        .says("changed \"src/");
    for (old, new) in [
        (
            "scope {\n  allow \"src/**\"\n}\n",
            format!("scope {{\n  allow \"{hard}\"\n}}\n"),
        ),
        (
            "risk r tier 1 \"src/**\"\ntier 1 {\n  check b: make\n}\n",
            format!("risk r tier 1 \"{hard}\"\ntier 1 {{\n  check b: make\n}}\n"),
        ),
        (
            "check a {\n  run make\n  unchanged \"src/**\"\n}\n",
            format!("check a {{\n  run make\n  unchanged \"{hard}\"\n}}\n"),
        ),
    ] {
        diff(&project, old, &new, &[]).exits(45).says("weakens:");
    }
    // Where no path shows it, it is not decided, and no pass.
    let (a, b) = (
        format!("*a{}", "?".repeat(24)),
        format!("*a{}", "?".repeat(25)),
    );
    diff(
        &project,
        &when(&format!("{a}\" \"{b}")),
        &when(&format!("{b}\" \"{a}")),
        &[],
    )
    .exits(45)
    .says("not decided:");
}

/// Edits after which a check that failed may pass, or is not asked for. Each was tried.
#[test]
fn edits_that_let_a_failing_check_pass() {
    const PLAIN: &str = "check a: make\n";
    let a = |lines: &str| format!("check a {{\n  run make\n  {lines}\n}}\n");
    let two = |rest: &str| format!("check a: make\ncheck b: make b\n{rest}");
    let with = |first: &str, second: &str| {
        format!("check a {{\n  run make\n  {first}\n}}\ncheck b {{\n  run make b\n  {second}\n}}\n")
    };
    let project = Project::git_with(&[("tests/one.sh", "exit 1\n")]);
    let table: &[(&str, String, String, &str)] = &[
        ("tier", PLAIN.into(), a("tier 2"), "tier 2"),
        (
            "an exclusion",
            "whenChangedAny \"src/**\" {\n  check a: make\n}\n".into(),
            "whenChangedAny \"src/**\" \"!src/gen/**\" {\n  check a: make\n}\n".into(),
            "weakens:",
        ),
        (
            "an exit code that was refused",
            a("exit 1"),
            PLAIN.into(),
            "`exit` adds 0",
        ),
        ("more exit codes", PLAIN.into(), a("exit 0 1"), "`exit` adds 1"),
        ("a code that skips", PLAIN.into(), a("skip-exit 1"), "weakens:"),
        ("severity", PLAIN.into(), a("severity warning"), "weakens:"),
        ("optional", PLAIN.into(), a("optional"), "weakens:"),
        ("setup", PLAIN.into(), a("setup"), "weakens:"),
        ("retries", PLAIN.into(), a("retries 3"), "weakens:"),
        ("timeout", a("timeout 1m"), a("timeout 2m"), "weakens:"),
        ("inputs", PLAIN.into(), a("inputs \"src/**\""), "weakens:"),
        ("writes", PLAIN.into(), a("writes \"tests/**\""), "weakens:"),
        (
            "writes of what only warns",
            a("severity warning"),
            a("severity warning\n  writes \"tests/**\""),
            "weakens:",
        ),
        (
            "writes of what is setup",
            a("setup"),
            a("setup\n  writes \"tests/**\""),
            "weakens:",
        ),
        ("produces", PLAIN.into(), a("produces \"tests/**\""), "not decided:"),
        ("cleans", PLAIN.into(), a("cleans \"tests/**\""), "not decided:"),
        (
            "what it waits for",
            with("produces \"dist/**\"", "requires \"dist/**\""),
            with("produces \"dist/**\"", ""),
            "not decided:",
        ),
        (
            "who it waits for",
            with("produces \"dist/**\"", "requires \"dist/**\""),
            with("produces \"out/**\"", "requires \"dist/**\""),
            "not decided:",
        ),
        ("needs", with("", "needs a"), with("", ""), "weakens:"),
        ("always", with("severity warning", "needs a"), with("severity warning", "needs a\n  always"), "not decided:"),
        ("a sequence", two("sequence a -> b\n"), two(""), "not decided:"),
        (
            "another sequence",
            two("sequence a -> b\n"),
            two("sequence b -> a\n"),
            "not decided:",
        ),
        (
            "setup that is gone",
            format!("{PLAIN}check s {{\n  run make s\n  setup\n}}\n"),
            PLAIN.into(),
            "not decided:",
        ),
        (
            "setup that may fail",
            a("setup"),
            a("setup\n  exit 0 1"),
            "not decided:",
        ),
        (
            "a new check that writes",
            PLAIN.into(),
            format!("{PLAIN}check f {{\n  run sed -i d tests/one.sh\n  writes \"tests/**\"\n}}\n"),
            "not decided:",
        ),
        (
            "a new check that makes what is tracked",
            PLAIN.into(),
            format!("{PLAIN}check f {{\n  run make f\n  produces \"tests/**\"\n}}\n"),
            "`produces` selects `tests/one.sh`, which git tracks",
        ),
        (
            "a new check that deletes what is tracked",
            PLAIN.into(),
            format!("{PLAIN}check f {{\n  run make f\n  cleans \"**/*.sh\"\n}}\n"),
            "`cleans` selects `tests/one.sh`",
        ),
        (
            "a role with less",
            PLAIN.into(),
            format!("{PLAIN}role quick {{\n  only none\n}}\n"),
            "not decided:",
        ),
        (
            "a role that conditions do not name",
            "byRole worker {\n  check a: make\n}\n".into(),
            "role quick {\n}\nbyRole worker {\n  check a: make\n}\n".into(),
            "not decided:",
        ),
        (
            "defaults of the file",
            PLAIN.into(),
            format!("defaults {{\n  severity warning\n}}\n{PLAIN}"),
            "weakens:",
        ),
        (
            "defaults that lead elsewhere",
            PLAIN.into(),
            format!("defaults {{\n  dir \"sub\"\n}}\n{PLAIN}"),
            "not decided:",
        ),
        (
            "a group of conditions",
            PLAIN.into(),
            "whenExists \"no/such\" {\n  check a: make\n}\n".into(),
            "weakens:",
        ),
        (
            "one condition more around it",
            "whenChangedAny \"src/**\" {\n  check a: make\n}\n".into(),
            "whenChangedAny \"src/**\" {\n  whenChangedNone \"docs/**\" {\n    check a: make\n  }\n}\n".into(),
            "weakens:",
        ),
        (
            "the name of paths",
            "paths p = \"src/**\"\nwhenChangedAny p {\n  check a: make\n}\n".into(),
            "paths p = \"src/*\"\nwhenChangedAny p {\n  check a: make\n}\n".into(),
            "weakens:",
        ),
        ("its verb", "check a {\n  test make\n}\n".into(), PLAIN.into(), "weakens:"),
        ("its budget", "limits {\n  budget 1m\n}\ncheck a: make\n".into(), PLAIN.into(), "weakens:"),
        ("recovery", PLAIN.into(), format!("{PLAIN}recover {{\n  contract\n}}\n"), "weakens:"),
        ("a linked folder", PLAIN.into(), format!("linked \"dist\"\n{PLAIN}"), "--accept linked=sha256:"),
        ("the branch", PLAIN.into(), format!("base \"other\"\n{PLAIN}"), "not decided:"),
    ];
    for (name, old, new, says) in table {
        let ran = diff(&project, old, new, &[]);
        assert_eq!(ran.exit, Some(45), "{name}: {}{}", ran.out(), ran.err());
        assert!(ran.out().contains(says), "{name}: {}", ran.out());
    }
}

/// Edits that take nothing away.
#[test]
fn edits_that_weaken_nothing() {
    let project = Project::git_with(&[("tests/one.sh", "exit 1\n")]);
    let two = |rest: &str| format!("check a: make\ncheck b: make b\ncheck c: make c\n{rest}");
    let b = |rest: &str| format!("check a: make\ncheck b {{\n  run make b\n  {rest}\n}}\n");
    for (old, new) in [
        (two("sequence a -> b\n"), two("sequence a -> b -> c\n")),
        (
            two("sequence a -> b -> c\n"),
            two("sequence b -> c\nsequence a -> b, c\n"),
        ),
        (two(""), two("sequence a -> b\n")),
        (b(""), b("requires \"dist/**\"")),
        (b(""), b("exit 0")),
        (b("exit 0 1"), b("exit 0")),
        (b(""), b("always")),
        (
            two(""),
            two("check d {\n  run make d\n  produces \"dist/**\"\n}\n"),
        ),
        (two(""), two("role quick {\n}\n")),
        (b(""), b("describe \"other words\"")),
    ] {
        diff(&project, &old, &new, &[]).exits(0);
    }
}

/// An import is what it says now: a new pin of weaker content is a weaker contract.
#[test]
fn what_is_imported_is_compared_by_content() {
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\nimport \"more.vplan\"\ncheck a: true\n",
        ),
        ("contracts/more.vplan", "vplan 1\ncheck m: make\n"),
    ]);
    let since = |text: &str| {
        project.write("contracts/more.vplan", format!("vplan 1\n{text}"));
        project.run(&["diff", "--base", "HEAD"])
    };
    since("check m: make -n\n")
        .exits(45)
        .says("--accept m=sha256:");
    since("check m {\n  run make\n  severity warning\n}\n").exits(45);
    since("").exits(45).says("check `m`: removed");
    since("# the same\ncheck m: make\n").exits(0);
}
