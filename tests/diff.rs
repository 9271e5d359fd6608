//! `vplan diff`: two plans, two contracts, and a change against its base.

use crate::support::{Project, Ran};
use serde_json::Value;

const OLD: &str = "\
vplan 1
paths api = \"apps/api/**\" \"packages/core/**\"

check lint: pnpm run lint

whenChangedAny api {
  check unit {
    test pnpm run test
    timeout 2m
    min-tests 3
  }
}

byRole tester reviewer {
  check slow: pnpm run slow
}

tier 1 {
  check bundle: pnpm run bundle
}

risk auth tier 1 \"**/auth/**\"
";

/// Compares a contract with a changed form of it.
fn edited(edits: &[(&str, &str)]) -> (Project, Ran) {
    let mut new = OLD.to_owned();
    for (from, to) in edits {
        assert!(new.contains(from), "{from:?} is not in the contract");
        new = new.replace(from, to);
    }
    let project = Project::bare();
    project.write("old.vplan", OLD).write("new.vplan", new);
    let ran = project.run(&["diff", "old.vplan", "new.vplan"]);
    (project, ran)
}

fn differences(ran: &Ran) -> Vec<(String, String, String)> {
    let list = ran.json()["differences"].as_array().unwrap().clone();
    let text = |d: &Value, key: &str| d[key].as_str().unwrap_or_default().to_owned();
    list.iter()
        .map(|d| (text(d, "class"), text(d, "subject"), text(d, "what")))
        .collect()
}

/// An edit of the contract, its exit code, and what is said of it.
#[test]
fn what_weakens_and_what_does_not() {
    type Row<'t> = (&'t [(&'t str, &'t str)], i32, &'t [&'t str]);
    let table: &[Row<'_>] = &[
        (&[], 0, &["the contracts mean the same"]),
        (
            &[
                ("vplan 1\n", "vplan 1\n\n# a comment\n"),
                ("  timeout 2m", "    timeout   120s"),
            ],
            0,
            &["the contracts mean the same"],
        ),
        (
            &[("check lint: pnpm run lint\n", "")],
            45,
            &[
                "check `lint`: removed",
                "old.vplan:4 -> nothing",
                "expect \"only the older contract runs lint\" {\n        role worker\n        runs lint\n      }",
            ],
        ),
        (
            &[("\"apps/api/**\" ", "\"apps/api/**\" \"!**/*.md\" ")],
            45,
            &[
                "check `unit`: applies `whenChangedAny api`, in which a selection differs",
                "some requests are no longer asked for it",
                "changed \"apps/api/a.md\"",
                "runs unit",
                "1 weakens",
            ],
        ),
        (
            &[("\"apps/api/**\" ", "\"apps/{api,web}/**\" ")],
            0,
            &["strengthens:", "changed \"apps/web\"", "runs unit"],
        ),
        (
            &[("\"apps/api/**\" ", "\"apps/api\" \"apps/api/**/*\" ")],
            0,
            &["the same requests are asked for it", "1 cosmetic"],
        ),
        (
            &[("timeout 2m", "timeout 3m")],
            45,
            &["timeout 2m -> 3m", "old.vplan:7 -> new.vplan:7"],
        ),
        (
            &[("timeout 2m", "timeout 1m")],
            0,
            &["strengthens:", "timeout 2m -> 1m"],
        ),
        (&[("min-tests 3", "min-tests 2")], 45, &["min-tests 3 -> 2"]),
        (
            &[("min-tests 3", "severity warning")],
            45,
            &["severity blocking -> warning", "min-tests 3 -> unset (1)"],
        ),
        (
            &[("byRole tester reviewer", "byRole reviewer")],
            45,
            &[
                "`byRole tester reviewer` -> `byRole reviewer`",
                "role tester",
            ],
        ),
        (
            &[("byRole tester reviewer", "byRole reviewer tester")],
            0,
            &["the contracts mean the same"],
        ),
        (
            &[("tier 1 {", "tier 2 {")],
            45,
            &["`tier 1` -> `tier 2`", "risk-level high\n"],
        ),
        (
            &[("tier 1 {", "tier 0 {")],
            0,
            &["strengthens:", "`tier 1` -> always"],
        ),
        (
            &[("\"**/auth/**\"", "\"src/auth/**\"")],
            45,
            &[
                "risk `auth`: \"**/auth/**\" -> \"src/auth/**\"",
                "a change of `auth` no longer reaches tier 1",
                "changed \"auth\"",
                "runs bundle",
            ],
        ),
        (
            &[("pnpm run lint", "true")],
            45,
            &[
                "not decided:",
                "command `pnpm run lint` -> `true`",
                "1 not decided",
            ],
        ),
        (
            &[("check lint: pnpm", "check linting: pnpm")],
            0,
            &["check `lint`: renamed to `linting`"],
        ),
        (
            &[("risk auth", "limits {\n  budget 10m\n}\nrisk auth")],
            0,
            &["limits: budget none -> 10m"],
        ),
        (
            &[("risk auth", "scope {\n  allow \"src/**\"\n}\nrisk auth")],
            0,
            &["strengthens:", "scope: allow all -> \"src/**\""],
        ),
        (
            &[("risk auth", "recover {\n  contract\n}\nrisk auth")],
            45,
            &["recover: is now `contract`"],
        ),
        (
            &[("risk auth", "gate {\n  confirmations 2\n}\nrisk auth")],
            0,
            &["gate: confirmations 1 -> 2"],
        ),
        (
            &[("risk auth", "role docser {\n  only docs\n}\nrisk auth")],
            45,
            &["role `docser`: only all -> `docs`", "role docser\n"],
        ),
        (
            &[("    timeout 2m\n", "    timeout 2m\n    needs lint\n")],
            0,
            &["check `unit`: needs `lint`"],
        ),
    ];
    for (edits, exit, says) in table {
        let (_project, ran) = edited(edits);
        ran.exits(*exit).is_quiet();
        says.iter().for_each(|text| {
            ran.says(text);
        });
    }
}

/// What is asked of the whole contract: each way, and back.
#[test]
fn what_loosens_and_what_tightens() {
    const PLAIN: &str = "vplan 1\ncheck lint: pnpm run lint\n";
    let block =
        |name: &str, lines: &[&str]| format!("{PLAIN}{name} {{\n  {}\n}}\n", lines.join("\n  "));
    let plain = PLAIN.to_owned();
    // The tighter contract, the looser one, what is said of the step from the first to the second,
    // and of the way back.
    let table = [
        (
            block("scope", &["allow \"src/**\""]),
            plain.clone(),
            (
                "scope: allow \"src/**\" -> all",
                "a change of `a` is no longer a violation by it",
            ),
            (
                "scope: allow all -> \"src/**\"",
                "a change of `a` is a violation",
            ),
        ),
        (
            block("scope", &["allow \"src/**\""]),
            block("scope", &["allow \"src/**\" \"docs/**\""]),
            (
                "allow \"src/**\" -> \"src/**\" \"docs/**\"",
                "a change of `docs` is no longer a violation by it",
            ),
            (
                "allow \"src/**\" \"docs/**\" -> \"src/**\"",
                "a change of `docs` is a violation",
            ),
        ),
        (
            block("scope", &["deny \"**/*.lock\""]),
            plain.clone(),
            (
                "scope: deny \"**/*.lock\" -> none",
                "is no longer a violation by it",
            ),
            ("scope: deny none -> \"**/*.lock\"", "is a violation"),
        ),
        (
            block("scope", &["deny \"**/*.lock\" \"!docs/**\""]),
            block("scope", &["deny \"**/*.lock\" \"!docs/**\" \"!src/**\""]),
            (
                "scope: deny",
                "a change of `src/a.lock` is no longer a violation by it",
            ),
            ("scope: deny", "a change of `src/a.lock` is a violation"),
        ),
        (
            block("gate", &["confirmations 2"]),
            plain.clone(),
            ("gate: confirmations 2 -> 1", ""),
            ("gate: confirmations 1 -> 2", ""),
        ),
        (
            block("gate", &["retries 2"]),
            plain.clone(),
            ("gate: retries 2 -> 3", "rounds of repair"),
            ("gate: retries 3 -> 2", "rounds of repair"),
        ),
        (
            block("gate", &["same-failure 2"]),
            plain.clone(),
            ("gate: same-failure 2 -> 3", ""),
            ("gate: same-failure 3 -> 2", ""),
        ),
        (
            plain.clone(),
            block("gate", &["on-exhausted escalate"]),
            ("gate: on-exhausted fail -> escalate", ""),
            ("gate: on-exhausted escalate -> fail", ""),
        ),
        (
            block("gate", &["on-exhausted escalate"]),
            block("gate", &["on-exhausted allow"]),
            ("gate: on-exhausted escalate -> allow", ""),
            ("gate: on-exhausted allow -> escalate", ""),
        ),
        (
            block("gate", &["propagate reset"]),
            plain.clone(),
            ("gate: propagate reset -> downgrade", ""),
            ("gate: propagate downgrade -> reset", ""),
        ),
        (
            plain.clone(),
            block("gate", &["propagate off"]),
            ("gate: propagate downgrade -> off", ""),
            ("gate: propagate off -> downgrade", ""),
        ),
        (
            block("limits", &["budget 5m"]),
            block("limits", &["budget 10m"]),
            ("limits: budget 5m -> 10m", "time for the whole run"),
            ("limits: budget 10m -> 5m", "time for the whole run"),
        ),
        (
            block("limits", &["budget 5m"]),
            plain.clone(),
            ("limits: budget 5m -> none", ""),
            ("limits: budget none -> 5m", ""),
        ),
        (
            block("recover", &["only hoist-directory"]),
            block("recover", &["only hoist-directory split-conjunction"]),
            (
                "recover: allows `split-conjunction`",
                "recovery may rewrite more plans",
            ),
            ("recover: no longer allows `split-conjunction`", ""),
        ),
        (
            plain.clone(),
            block("recover", &["contract"]),
            (
                "recover: is now `contract`",
                "recovery may drop the contract's own checks",
            ),
            ("recover: is no longer `contract`", ""),
        ),
        (
            format!("{PLAIN}whenAbsent \"dist/app.js\" {{\n  check bundle: make\n}}\n"),
            format!(
                "{PLAIN}whenAbsent \"dist/app.js\" \"Makefile\" {{\n  check bundle: make\n}}\n"
            ),
            ("check `bundle`: applies", "exists \"Makefile\""),
            ("check `bundle`: applies", "exists \"Makefile\""),
        ),
        (
            format!("{PLAIN}check bundle: make\n"),
            format!("{PLAIN}whenAbsent \"dist/app.js\" {{\n  check bundle: make\n}}\n"),
            (
                "check `bundle`: applies always -> `whenAbsent \"dist/app.js\"`",
                "exists \"dist/app.js\"",
            ),
            (
                "check `bundle`: applies `whenAbsent \"dist/app.js\"` -> always",
                "exists \"dist/app.js\"",
            ),
        ),
    ];
    let project = Project::bare();
    for (tight, loose, down, up) in table {
        project
            .write("tight.vplan", tight)
            .write("loose.vplan", loose);
        project
            .run(&["diff", "tight.vplan", "loose.vplan"])
            .exits(45)
            .is_quiet()
            .says(down.0)
            .says(down.1)
            .says("1 weakens");
        let back = project.run(&["diff", "loose.vplan", "tight.vplan"]);
        back.exits(0)
            .is_quiet()
            .says(up.0)
            .says(up.1)
            .says("1 strengthens");
    }
    // One condition for its opposite is both.
    let with = |word: &str| format!("{PLAIN}{word} \"Makefile\" {{\n  check bundle: make\n}}\n");
    project
        .write("old.vplan", with("whenExists"))
        .write("new.vplan", with("whenAbsent"));
    let ran = project.run(&["diff", "old.vplan", "new.vplan"]);
    ran.exits(45)
        .says("1 weakens, 1 strengthens")
        .says("exists \"Makefile\"");
    // How many steps run side by side is neither.
    project
        .write("old.vplan", PLAIN)
        .write("new.vplan", block("limits", &["jobs 4"]));
    project
        .run(&["diff", "old.vplan", "new.vplan"])
        .exits(0)
        .says("limits: jobs 1 -> 4")
        .says("1 other");
    project
        .write("old.vplan", block("limits", &["jobs auto"]))
        .run(&["diff", "old.vplan", "new.vplan"])
        .exits(0)
        .says("limits: jobs auto -> 4")
        .says("1 other");
}

#[test]
fn the_request_that_is_printed_tells_them_apart() {
    let (project, _) = edited(&[("\"apps/api/**\" ", "\"apps/api/**\" \"!**/*.md\" ")]);
    let shown = project
        .run(&["diff", "old.vplan", "new.vplan", "--format", "json"])
        .json()["requests"][0]
        .clone();
    let path = shown["changed"][0]["path"].as_str().unwrap();
    for (contract, runs) in [("old.vplan", true), ("new.vplan", false)] {
        let plan = project
            .run(&[
                "plan",
                "--contract",
                contract,
                "--changed",
                path,
                "--format",
                "json",
            ])
            .json();
        let has = plan["steps"]
            .as_array()
            .unwrap()
            .iter()
            .any(|s| s["id"] == "unit");
        assert_eq!(has, runs, "{contract} {path}");
    }
}

#[test]
fn real_paths_are_the_better_examples() {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", OLD),
        ("packages/core/docs/guide.md", ""),
        ("packages/core/src/index.ts", ""),
    ]);
    let text = OLD.replace("\"packages/core/**\"", "\"packages/core/**\" \"!**/*.md\"");
    project.write("contracts/verify.vplan", text);
    project
        .run(&["diff", "--base", "main"])
        .exits(45)
        .says("changed \"packages/core/docs/guide.md\"");
}

#[test]
fn against_the_base_of_a_change() {
    let project = Project::contract(OLD);
    project
        .run(&["diff", "--base", "HEAD"])
        .exits(0)
        .says("the contracts mean the same");
    project.git(&["checkout", "-q", "-b", "topic"]);
    project.write(
        "contracts/verify.vplan",
        OLD.replace("check lint: pnpm run lint\n", ""),
    );
    project.commit("weaker");
    // What others did to main since is not this branch's doing.
    project.git(&["checkout", "-q", "main"]);
    project.write(
        "contracts/verify.vplan",
        OLD.replace("check lint", "check more: true\ncheck lint"),
    );
    project.commit("stronger");
    project.git(&["checkout", "-q", "topic"]);
    let ran = project.run(&["diff", "--base", "main", "--format", "json"]);
    ran.exits(45);
    let found = differences(&ran);
    assert_eq!(
        found,
        [(
            "weakens".to_owned(),
            "check `lint`".to_owned(),
            "removed".to_owned()
        )]
    );
    // The whole contract may go, and may come.
    project.remove("contracts/verify.vplan");
    project
        .run(&["diff", "--base", "main"])
        .exits(45)
        .warns("is deleted")
        .says("check `unit`: removed");
    let empty = Project::git_with(&[("a", "")]);
    empty.write("contracts/verify.vplan", OLD);
    empty
        .run(&["diff", "--base", "HEAD"])
        .exits(0)
        .warns("has no contract")
        .says("check `unit`: added");
    empty.remove("contracts/verify.vplan");
    empty
        .run(&["diff", "--base", "HEAD"])
        .exits(3)
        .warns("there is no contract");
}

#[test]
fn what_cannot_be_decided() {
    let (project, ran) = edited(&[("pnpm run lint", "true")]);
    ran.exits(45).says("not decided:");
    for flag in ["--strict", "--exit-code"] {
        project
            .run(&["diff", "old.vplan", "new.vplan", flag])
            .exits(45);
    }
    // Which of twenty characters are `a`: a million states.
    let hard = format!("\"*a{}\"", "?".repeat(24));
    project.write("hard.vplan", OLD.replace("\"apps/api/**\"", &hard));
    project
        .run(&["diff", "old.vplan", "hard.vplan"])
        .exits(45)
        .says("weakens:")
        .says("changed \"apps/api");
    // A path that only the other side asks for tells nothing.
    let more = format!("\"apps/api/**\" {hard}");
    project.write("more.vplan", OLD.replace("\"apps/api/**\"", &more));
    project
        .run(&["diff", "old.vplan", "more.vplan"])
        .exits(45)
        .says("not decided:")
        .says("too hard to tell apart");
}

#[test]
fn changed_files_that_are_no_longer_seen() {
    let contract = |glob: &str| {
        format!(
            "vplan 1\nwhenChangedAny \"{glob}\" \"docs/**\" {{\n  check md: markdownlint {{changed}}\n}}\n"
        )
    };
    let project = Project::bare();
    project
        .write("old.vplan", contract("**/*.md"))
        .write("new.vplan", contract("src/**/*.md"));
    project
        .run(&["diff", "old.vplan", "new.vplan"])
        .exits(45)
        .says("or asked for with fewer files")
        .says("changed \"a.md\"");
    project
        .run(&["diff", "new.vplan", "old.vplan"])
        .exits(0)
        .says("strengthens:");
}

#[test]
fn what_others_need_is_not_lost() {
    let contract = |tier: &str| {
        format!(
            "vplan 1\n{tier}  check build: make\n}}\ncheck bundle {{\n  run ls dist\n  needs build\n}}\n"
        )
    };
    let project = Project::bare();
    project
        .write("old.vplan", contract("tier 0 {\n"))
        .write("new.vplan", contract("tier 2 {\n"));
    project
        .run(&["diff", "old.vplan", "new.vplan"])
        .exits(0)
        .says("the same requests are asked for it");
}

#[test]
fn two_plans() {
    let project = Project::contract(OLD);
    let plan = |args: &[&str]| {
        let args: Vec<&str> = ["plan", "--format", "json"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        project.run(&args).out()
    };
    project.write("a.json", plan(&["--changed", "x"]));
    project.write(
        "b.json",
        plan(&[
            "--changed",
            "apps/api/x",
            "--role",
            "tester",
            "--budget",
            "5m",
        ]),
    );
    project
        .run(&["diff", "a.json", "a.json", "--exit-code"])
        .exits(0)
        .is_quiet()
        .says("the plans are the same: sha256:");
    let ran = project.run(&["diff", "a.json", "b.json"]);
    ran.exits(0)
        .says("+ step unit")
        .says("+ step slow")
        .says("- left out unit")
        .says("policy.budgetMs nothing -> 300000");
    ran.says("request.role \"worker\" -> \"tester\"")
        .says("steps: 2 added");
    project
        .run(&["diff", "a.json", "b.json", "--exit-code"])
        .exits(4);
    project
        .vplan(&["diff", "a.json", "-"])
        .stdin(plan(&["--changed", "x"]))
        .run()
        .exits(0)
        .says("the same");
    project.write(
        "contracts/verify.vplan",
        OLD.replace("check lint: pnpm", "check lint: npm")
            .replace("2m", "3m"),
    );
    project.write(
        "c.json",
        plan(&[
            "--changed",
            "apps/api/x",
            "--role",
            "tester",
            "--budget",
            "5m",
        ]),
    );
    let ran = project.run(&["diff", "b.json", "c.json"]);
    ran.exits(0)
        .says("step lint")
        .says("argv [\"pnpm\",\"run\",\"lint\"] -> [\"npm\",\"run\",\"lint\"]");
    ran.says("timeoutMs 120000 -> 180000")
        .says("contract.digest");
    let json = project
        .run(&["diff", "b.json", "c.json", "--format", "json"])
        .json();
    assert_eq!(
        (
            json["kind"].as_str(),
            json["version"].as_u64(),
            json["equal"].as_bool()
        ),
        (Some("plans"), Some(1), Some(false))
    );
    assert_eq!(json["steps"]["changed"].as_array().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_compared() {
    let project = Project::contract(OLD);
    project.write(
        "bad.vplan",
        "vplan 1\ncheck a: true\ncheck a: true\nchek b: true\n",
    );
    project.write(
        "plan.json",
        project
            .run(&["plan", "--changed", "x", "--format", "json"])
            .out(),
    );
    project.write(
        "tampered.json",
        project.read("plan.json").replace("60000", "70000"),
    );
    project
        .write("list.json", "[1]")
        .write("half.json", "{\"steps\": [")
        .write_bytes(b"latin.json", b"\xff");
    project.write("old.json", "{\"version\":1,\"checks\":[\"true\"]}");
    for (args, exit, says) in [
        (&["diff"][..], 2, "--base"),
        (&["diff", "a.vplan"], 2, "2 values"),
        (
            &["diff", "contracts/verify.vplan", "nope.vplan"],
            2,
            "`nope.vplan` cannot be read",
        ),
        (
            &["diff", "nope/nope.vplan", "contracts/verify.vplan"],
            2,
            "`nope/nope.vplan` cannot be read",
        ),
        (
            &["diff", "contracts/verify.vplan", "contracts"],
            3,
            "cannot be read",
        ),
        (
            &["diff", "contracts/verify.vplan", "bad.vplan"],
            3,
            "`bad.vplan` has 2 errors",
        ),
        (&["diff", "bad.vplan", "contracts/verify.vplan"], 3, "chek"),
        (
            &["diff", "plan.json", "contracts/verify.vplan"],
            2,
            "`plan.json` is a plan, `contracts/verify.vplan` is a contract",
        ),
        (
            &["diff", "plan.json", "tampered.json"],
            4,
            "`tampered.json`: the plan says its digest is",
        ),
        (&["diff", "plan.json", "list.json"], 2, "this is no plan"),
        (&["diff", "plan.json", "half.json"], 2, "this is no plan"),
        (&["diff", "plan.json", "latin.json"], 2, "is not UTF-8"),
        (
            &["diff", "plan.json", "missing.json"],
            2,
            "`missing.json` cannot be read",
        ),
        (
            &["diff", "--base", "no-such-revision"],
            2,
            "no-such-revision",
        ),
        (
            &["diff", "--base", "HEAD", "plan.json", "plan.json"],
            2,
            "cannot be used with",
        ),
        (&["diff", "--base=--output=x"], 2, "--output=x"),
        (
            &["diff", "plan.json", "plan.json", "--format", "dot"],
            2,
            "dot",
        ),
    ] {
        let ran = project.run(args);
        ran.exits(exit).warns(says);
        assert!(ran.stdout.is_empty(), "{args:?}");
    }
    // A contract in JSON is a contract.
    let ran = project.run(&["diff", "old.json", "contracts/verify.vplan"]);
    assert_ne!(ran.exit, Some(2), "{}", ran.err());
    let bare = Project::bare();
    bare.write("contracts/verify.vplan", OLD);
    bare.run(&["diff", "--base", "main"]).exits(2);
}

#[test]
fn rows_of_one_definition_are_one_line() {
    let project = Project::bare();
    let contract = |rows: &str| {
        format!(
            "vplan 1\neach p in {rows} {{\n  whenChangedAny \"{{p}}/**\" {{\n    check test-{{p}}: test {{p}}\n  }}\n}}\ncheck own: true\n"
        )
    };
    project.write("old.vplan", contract("a b c d e f g h i"));
    project.write("new.vplan", contract("a"));
    let ran = project.run(&["diff", "old.vplan", "new.vplan"]);
    ran.exits(45)
        .says("  check `test-b`, `test-c`, `test-d`, `test-e`, `test-f`, `test-g` and 2 more: removed\n")
        .says("8 weaken\n");
    assert_eq!(ran.out().matches("removed").count(), 1);
    let json = project
        .run(&["diff", "old.vplan", "new.vplan", "--format", "json"])
        .json();
    assert_eq!(
        json["differences"].as_array().unwrap().len(),
        8,
        "each for programs"
    );
}
