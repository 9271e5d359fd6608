//! Files that change, appear and vanish while checks run.

use super::{caveat, codes, pushed};
use crate::support::Project;
use serde_json::{Value, json};

/// A project with this contract, whose change is `src/a` and the untracked `src/new`.
fn project(contract: &str) -> Project {
    let contract = format!("vplan 1\n{contract}");
    let project = Project::git_with(&[
        ("contracts/verify.vplan", contract.as_str()),
        (".gitignore", ".vplan/\n/out/\n"),
        ("src/a", "one\n"),
        ("src/d/x", "one\n"),
        ("docs/a", "one\n"),
    ]);
    project.write("src/a", "change\n").write("src/new", "new\n");
    project
}

fn full(project: &Project, exit: i32) -> Value {
    project
        .run(&["run", "--require", "full", "--format", "json"])
        .exits(exit)
        .json()
}

/// Ways in which a check can be about `src/new`, with `does` as its command.
fn about(does: &str) -> [String; 3] {
    let check = |more: &str| format!("check unit {{\n  shell {does}\n{more}}}\n");
    [
        format!("whenChangedAny \"src/**\" {{\n  {}}}\n", check("")),
        check("  inputs \"src/**\"\n"),
        check(""),
    ]
}

#[test]
fn an_untracked_file_that_a_check_is_about_counts_like_a_tracked_one() {
    for does in [
        "echo BROKEN > src/new",
        "rm src/new",
        "chmod +x src/new",
        "rm src/new; ln -s a src/new",
        "mv src/new docs/new",
    ] {
        for contract in about(does) {
            let project = project(&contract);
            let report = full(&project, 40);
            let changed = caveat(&report, "tree_changed");
            assert_eq!(changed["files"], json!(["src/new"]), "{contract}");
            assert_eq!(report.get("tree"), None, "{contract}");
            project.run(&["status", "--require", "verified"]).exits(44);
        }
    }
    // One that no check is about is a note.
    let other = project("check unit {\n  shell echo x > docs/new\n  inputs \"src/**\"\n}\n");
    other.write("docs/new", "new\n");
    full(&other, 0);
    // Hidden by a rule of this machine, it counts all the same.
    for contract in about("echo BROKEN > src/new") {
        let project = project(&contract);
        project.write(".git/info/exclude", "/src/new\n");
        let report = full(&project, 40);
        assert_eq!(caveat(&report, "tree_changed")["files"], json!(["src/new"]));
    }
    // Where several ran, none of them is blamed.
    let text = "check one: true\ncheck two {\n  shell echo BROKEN > src/new\n}\n";
    let report = full(&project(text), 44);
    assert_eq!(caveat(&report, "tree_moved")["files"], json!(["src/new"]));
}

#[test]
fn a_file_that_appears_where_a_check_selects_files_is_verified_by_the_next_run() {
    let [conditioned, inputs, everything] = about("echo $(ls src) >> ../ran; echo made > src/made");
    for contract in [&conditioned, &inputs] {
        let project = project(contract);
        let report = full(&project, 44);
        let grew = caveat(&report, "change_grew");
        assert_eq!(
            (&grew["files"], &grew["checks"]),
            (&json!(["src/made"]), &json!(["unit"]))
        );
        assert_eq!(report["feedback"]["failureCode"], "change_grew");
        // `src` has files of the change: it is not offered to ignore it, nor what is in it.
        let way_out = grew["wayOut"].as_str().unwrap_or_default();
        assert!(!way_out.contains("src"), "{way_out}");
        project.run(&["status", "--require", "verified"]).exits(44);
        full(&project, 0);
        project.run(&["status", "--require", "verified"]).exits(0);
    }
    // Of a subject it is no round that completes it.
    let subject = project(&conditioned);
    subject.run(&["run", "--subject", "s"]).exits(44);
    subject
        .run(&["gate", "show", "--subject", "s", "--check"])
        .exits(20);
    // A rule that is not tracked changes nothing.
    let hidden = project(&conditioned);
    hidden.write(".git/info/exclude", "/src/made\n");
    full(&hidden, 44);
    // A check without a condition may leave files: they are named.
    assert_eq!(codes(&full(&project(&everything), 0)), ["new_files"]);
}

#[test]
fn a_hook_does_not_let_go_while_an_untracked_file_changes_under_its_checks() {
    let [contract, ..] = about("echo $$ > src/new");
    let project = project(&contract);
    pushed(&project);
    let tell = |name: &str| {
        let event = json!({"session_id": "s-1", "hook_event_name": name, "stop_hook_active": false, "cwd": "/"});
        project
            .vplan(&["hook", "claude-code", "--timeout", "120"])
            .stdin(event.to_string())
            .run()
    };
    tell("SessionStart").exits(0);
    project.write("src/a", "more\n");
    assert_eq!(tell("Stop").exits(0).json()["decision"], "block");
}

#[test]
fn a_file_for_which_another_check_exists_asks_for_that_check() {
    let lint =
        "whenChangedAny \"lib/**\" {\n  check lint {\n    shell ! grep -r BROKEN lib\n  }\n}\n";
    let generate = "check generate {\n  shell mkdir -p lib; echo BROKEN > lib/made.c\n}\n";
    for generate in [
        generate.to_owned(),
        format!("whenChangedAny \"src/**\" {{\n  {generate}}}\n"),
    ] {
        let project = project(&format!("{generate}{lint}"));
        let report = full(&project, 44);
        let grew = caveat(&report, "change_grew");
        assert_eq!(
            (&grew["checks"], &grew["files"]),
            (&json!(["lint"]), &json!(["lib/made.c"]))
        );
        full(&project, 40);
    }
    // Nor is it verified by a plan that was made before it, nor by a share of one.
    let saved = project(&format!("{generate}{lint}"));
    saved.run(&["plan", "-o", "../plan.json"]).exits(0);
    let report = saved.run(&["run", "--plan", "../plan.json", "--format", "json"]);
    caveat(&report.exits(44).json(), "change_grew");
    let shared = project(&format!("{generate}check other: true\n{lint}"));
    let ran = shared.run(&["run", "--shard", "1/2", "--format", "json"]);
    let codes_of_share = ran.json();
    assert!(
        codes(&codes_of_share).contains(&"change_grew"),
        "{codes_of_share:#}"
    );
    // What no check selects, and what git ignores, is only left.
    for (place, codes_then) in [("dist", vec!["new_files"]), ("out", vec![])] {
        let project = project(&format!("{}{lint}", generate.replace("lib", place)));
        assert_eq!(codes(&full(&project, 0)), codes_then, "{place}");
        let project = self::project(&format!("{}{lint}", generate.replace("lib", place)));
        project.run(&["plan", "-o", "../plan.json"]).exits(0);
        project.run(&["run", "--plan", "../plan.json"]).exits(0);
    }
}

#[test]
fn a_product_that_the_change_itself_ignores_narrows_like_one_that_was_there() {
    let lint =
        "whenChangedAny \"lib/**\" {\n  check lint {\n    shell ! grep -r BROKEN lib\n  }\n}\n";
    let make = |more: &str| {
        let does = "mkdir -p lib; echo BROKEN > lib/made.c";
        format!("check generate {{\n  shell {does}\n{more}}}\n")
    };
    let ignoring = |contract: &str| {
        let project = project(contract);
        project.write(".gitignore", ".vplan/\n/out/\n/lib/\n");
        project
    };
    let [selected, unchanged] = [
        format!("{}{lint}", make("")),
        make("  unchanged \"lib/**\"\n"),
    ];
    for contract in [&selected, &unchanged] {
        let project = ignoring(contract);
        for _ in 0..2 {
            let ignored = caveat(&full(&project, 44), "newly_ignored").clone();
            assert_eq!(ignored["effect"], "narrows");
            assert_eq!(ignored["files"], json!(["lib/made.c"]));
            project.run(&["status", "--require", "verified"]).exits(44);
        }
    }
    let subject = ignoring(&selected);
    subject
        .run(&["run", "--subject", "s", "--require", "full"])
        .exits(44);
    subject
        .run(&["gate", "show", "--subject", "s", "--check"])
        .exits(20);
    let named = ignoring(&selected);
    let words = ["run", "--require", "full", "--changed", "src/a", "src/new"];
    named.run(&words).exits(44);
    // What the plan declares as its product, and what no check selects, is free.
    let declared = format!("{}{lint}", make("  produces \"lib/**\"\n"));
    for contract in [declared, make("")] {
        full(&ignoring(&contract), 0);
    }
}

#[test]
fn an_ignored_file_for_which_a_check_exists_asks_for_that_check() {
    let lint = |sought: &str| {
        format!(
            "whenExists \"{sought}\" {{\n  check lint {{\n    shell ! grep -r BROKEN out\n  }}\n}}\n"
        )
    };
    let make = |more: &str| {
        let does = "mkdir -p out; echo BROKEN > out/made.c";
        format!("check generate {{\n  shell {does}\n{more}}}\n")
    };
    for sought in ["out/made.c", "out/*.c"] {
        let project = project(&(make("") + &lint(sought)));
        let grew = caveat(&full(&project, 44), "change_grew").clone();
        assert_eq!(
            (&grew["effect"], &grew["checks"]),
            (&json!("narrows"), &json!(["lint"]))
        );
        project.run(&["status", "--require", "verified"]).exits(44);
        full(&project, 40);
        let subject = self::project(&(make("") + &lint(sought)));
        subject
            .run(&["run", "--subject", "s", "--require", "full"])
            .exits(44);
        subject
            .run(&["gate", "show", "--subject", "s", "--check"])
            .exits(20);
        // What the plan declares as its product is free, and so is what nothing asks for.
        let declared = make("  produces \"out/**\"\n") + &lint(sought);
        full(&self::project(&declared), 0);
        full(&self::project(&(make("") + &lint("out/other"))), 0);
    }
}

#[test]
fn what_tools_editors_and_declared_reports_leave_is_a_full_pass() {
    let cache = "mkdir -p .pytest_cache; printf '*\\n' > .pytest_cache/.gitignore; date +%N > .pytest_cache/v";
    for (does, more) in [
        (cache, ""),
        (
            "mkdir -p src/__pycache__; date +%N > src/__pycache__/a.pyc",
            "",
        ),
        ("echo $$ > src/.a.swp", ""),
        ("echo $$ > src/r.xml", "  produces \"src/*.xml\"\n"),
        (
            "test -e src/made || echo x > src/made",
            "  writes \"src/**\"\n",
        ),
        ("cat src/a > out.tmp; cat out.tmp > src/a; rm out.tmp", ""),
        ("git stash -q; git stash pop -q", ""),
    ] {
        for everything in ["**", "src/**"] {
            let contract = format!(
                "whenChangedAny \"{everything}\" {{\n  check unit {{\n    shell {does}\n  {more}  }}\n}}\n"
            );
            let project = project(&contract);
            for _ in 0..2 {
                full(&project, 0);
                project.run(&["status", "--require", "verified"]).exits(0);
            }
        }
    }
    // An editor's folder that the user's own ignore file hides.
    let project =
        project("check unit {\n  shell mkdir -p .idea; echo $$ > .idea/workspace.xml\n}\n");
    project.write("../home/.config/git/ignore", ".idea/\n");
    full(&project, 0);
    full(&project, 0);
}

#[test]
fn a_name_that_people_give_too_is_a_tools_only_where_a_rule_hides_it() {
    for file in ["src/venv/new", "src/n~", "src/htmlcov/render.py"] {
        let contracts = about(&format!("echo BROKEN > {file}"));
        for contract in &contracts {
            let project = project(contract);
            project.write(file, "new\n");
            let report = full(&project, 40);
            assert_eq!(caveat(&report, "tree_changed")["files"], json!([file]));
            project.run(&["status", "--require", "verified"]).exits(44);
            let honest = self::project(contract);
            honest
                .write(file, "new\n")
                .write(".git/info/exclude", "venv/\n*~\nhtmlcov/\n");
            full(&honest, 0);
            honest.run(&["status", "--require", "verified"]).exits(0);
        }
    }
}

#[test]
fn no_line_is_offered_that_would_ignore_a_folder_of_the_change() {
    for does in [
        "mv src/a src/b",
        "mv src/d src/e",
        "echo x > src/b",
        "mkdir src/f; echo x > src/f/b",
    ] {
        let project = project(&format!("check unit {{\n  shell {does}\n}}\n"));
        let ran = project.run(&["run"]);
        for line in ["`/src/`", "`/src/b`", "\"src/**\"", "writes \""] {
            ran.never_says(line);
        }
    }
}

/// Three checks in order, about `src/**`: what they do to it.
fn three(does: [&str; 3]) -> Project {
    let check = |name: &str, does: &str| format!("  check {name} {{\n    shell {does}\n  }}\n");
    let text = ["one", "two", "three"]
        .iter()
        .zip(does)
        .map(|(name, does)| check(name, does));
    project(&format!(
        "whenChangedAny \"src/**\" {{\n{}}}\n",
        text.collect::<String>()
    ))
}

#[test]
fn a_file_that_is_good_only_while_its_check_runs_narrows_it() {
    let good = "grep -qx good src/a";
    for [swap, trusted, back] in [
        [
            "cp -p src/a ../kept; echo good > src/a",
            good,
            "cp -p ../kept src/a",
        ],
        [
            "cp -p src/a ../kept; echo good > src/a",
            good,
            "cp ../kept src/a; touch -d 2001-01-01 src/a",
        ],
        [
            "mv src/a ../kept; echo good > src/a",
            good,
            "mv ../kept src/a",
        ],
        [
            "mv src/a ../kept; echo good > ../good; ln -s ../../good src/a",
            good,
            "mv ../kept src/a",
        ],
        [
            "mv src ../kept; mkdir src; echo good > src/a",
            good,
            "rm -r src; mv ../kept src",
        ],
        ["rm src/new", "test ! -e src/new", "echo new > src/new"],
        [
            "echo x > src/conftest.py",
            "test -e src/conftest.py",
            "rm src/conftest.py",
        ],
        [
            "mkdir -p src/f/g; echo x > src/f/g/h",
            "test -e src/f/g/h",
            "rm -r src/f",
        ],
        ["chmod +x src/a", "test -x src/a", "chmod -x src/a"],
    ] {
        let project = three([swap, trusted, back]);
        let report = full(&project, 44);
        let restored = caveat(&report, "touched_and_restored");
        assert_eq!(restored["effect"], "narrows", "{swap}");
        assert_eq!(restored["checks"], json!(["one", "three", "two"]), "{swap}");
        project.run(&["status", "--require", "verified"]).exits(44);
    }
    // It is narrowed for those that are about it, and where the plan says so, it is a product.
    let about = |paths: &str| {
        format!(
            "check one {{\n  shell cp src/a ../kept; echo good > src/a\n  inputs \"docs/**\"\n}}\n\
             check two {{\n  run true\n  inputs {paths}\n}}\n\
             check three {{\n  shell cp ../kept src/a\n  inputs \"docs/**\"\n}}\n"
        )
    };
    let report = full(&project(&about("\"src/**\"")), 44);
    assert_eq!(
        caveat(&report, "touched_and_restored")["checks"],
        json!(["two"])
    );
    full(&project(&about("\"docs/**\"")), 0);
}

/// A service is started before its step and stopped after it.
#[test]
fn what_a_service_swaps_and_restores_narrows_its_step() {
    let swaps = "cp -p src/a ../kept; echo good > src/a; touch ../ready; trap 'cp -p ../kept src/a; exit 0' TERM; while :; do sleep 0.05; done\n";
    let serves = "touch ../ready; trap 'exit 0' TERM; while :; do sleep 0.05; done\n";
    let step = "check unit {\n  run grep -q . src/a\n  with s\n}\n";
    for more in [
        "",
        "check first: true\n",
        "check last {\n  run true\n  needs unit\n}\n",
    ] {
        for (script, exit) in [(swaps, 44), (serves, 0)] {
            let contract = format!(
                "service s {{\n  run sh ../serve.sh\n  ready file \"../ready\"\n}}\n{more}{step}"
            );
            let project = project(&contract);
            project.write("../serve.sh", script);
            let report = full(&project, exit);
            if exit == 44 {
                let restored = caveat(&report, "touched_and_restored");
                assert_eq!(restored["files"], json!(["src/a"]), "{more}: {report:#}");
            }
        }
    }
}

/// The script of a check decides about it, whatever its condition selects.
#[test]
fn a_script_that_is_another_one_while_its_check_runs_narrows_it() {
    let contract = "whenChangedAny \"src/**\" {\n  check one {\n    shell SWAP\n  }\n  check two: sh check.sh\n  check three {\n    shell BACK\n  }\n}\n";
    for (swap, back, exit) in [
        (
            "cp -p check.sh ../kept; echo true > check.sh",
            "cp -p ../kept check.sh",
            44,
        ),
        (
            "cp -p other.sh ../kept; echo true > other.sh",
            "cp -p ../kept other.sh",
            0,
        ),
    ] {
        let project = project(&contract.replace("SWAP", swap).replace("BACK", back));
        project
            .write("check.sh", "grep -q . src/a\n")
            .write("other.sh", "false\n")
            .commit("scripts");
        pushed(&project);
        project.write("src/a", "another\n");
        let report = full(&project, exit);
        if exit == 44 {
            let restored = caveat(&report, "touched_and_restored");
            assert_eq!(restored["checks"], json!(["two"]), "{report:#}");
        }
    }
}

#[test]
fn a_file_check_and_an_earlier_pass_count_for_what_was_there_at_that_moment() {
    let swap = "check one {\n  shell cp src/a ../kept; cp ../good src/a\n  inputs \"docs/**\"\n}\n";
    let back = "check three {\n  shell cp ../kept src/a\n  inputs \"docs/**\"\n}\n";
    let asserts = "check two {\n  file \"src/a\" {\n    matches \"good\"\n  }\n}\n";
    let cached = "check two {\n  run grep -qx good src/a\n  inputs \"src/**\"\n}\n";
    for (two, status) in [(asserts, "passed"), (cached, "cached")] {
        let project = project(&format!("{swap}{two}{back}"));
        project.write("../good", "good\n").write("src/a", "good\n");
        full(&project, 0);
        project.write("src/a", "bad\n").write("docs/a", "two\n");
        let report = full(&project, 44);
        assert_eq!(
            caveat(&report, "touched_and_restored")["checks"],
            json!(["two"])
        );
        let steps = report["steps"].as_array().unwrap();
        let two = steps.iter().find(|step| step["id"] == "two").unwrap();
        assert_eq!(two["status"], status);
    }
}

/// What a check does to `src`, and what it makes of the state.
type Act = (&'static str, fn(&mut [u8; 4]));

/// Acts after which everything is as before.
const HONEST: [Act; 9] = [
    ("true", |_| {}),
    ("cat src/a > ../t; cat ../t > src/a", |_| {}),
    ("cp -p src/a ../t; mv ../t src/a", |_| {}),
    ("touch src/* src/d/x", |_| {}),
    ("mkdir -p out; ln -f src/a out/link", |_| {}),
    ("chmod 600 src/a; chmod 640 src/d/x", |_| {}),
    ("echo t > src/tmp; rm src/tmp; echo t > tmp; rm tmp", |_| {}),
    ("rm -rf out; mkdir out; echo $$ > out/x", |_| {}),
    (
        "cp -p src/a ../k; echo other > src/a; mv ../k src/a",
        |_| {},
    ),
];

/// Acts that change a tracked file, an untracked one, one that was not there, a folder.
const CHANGES: [Act; 8] = [
    ("echo a > src/a", |s| s[0] = 1),
    ("echo change > src/a", |s| s[0] = 0),
    ("echo u > src/new", |s| s[1] = 1),
    ("echo new > src/new", |s| s[1] = 0),
    ("echo n > src/n", |s| s[2] = 1),
    ("rm -f src/n", |s| s[2] = 0),
    (
        "test -e ../d1 || { mv src/d ../d1; cp -r ../d2 src/d; }",
        |s| s[3] = 1,
    ),
    ("test ! -e ../d1 || { rm -r src/d; mv ../d1 src/d; }", |s| {
        s[3] = 0
    }),
];

/// What differs after any check is in the answer; what every check leaves as it was is a full pass,
/// however often it was touched.
#[test]
fn what_differs_between_checks_is_in_the_answer_and_touching_is_free() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |most: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % most
    };
    let mut answers = [0; 3];
    for case in 0..36 {
        let (mut state, mut states, mut scripts) = ([0; 4], Vec::new(), Vec::new());
        for step in 0..3 {
            let mut script = Vec::new();
            let acts = below(3) + 1;
            for _ in 0..acts {
                let changes = case % 3 != 0 && below(2) == 0;
                let acts: &[Act] = if changes { &CHANGES } else { &HONEST };
                let (act, effect) =
                    acts[usize::try_from(below(u64::try_from(acts.len()).unwrap())).unwrap()];
                script.push(act);
                effect(&mut state);
            }
            if step == 2 && below(3) > 0 {
                for (act, effect) in [CHANGES[1], CHANGES[3], CHANGES[5], CHANGES[7]] {
                    script.push(act);
                    effect(&mut state);
                }
            }
            states.push(state);
            scripts.push(format!("{}\n", script.join("\n")));
        }
        let project = three(["sh ../0.sh", "sh ../1.sh", "sh ../2.sh"]);
        project.write("../d2/x", "another one\n");
        for (at, script) in scripts.iter().enumerate() {
            project.write(format!("../{at}.sh"), format!("set -e\n{script}"));
        }
        let ran = project.run(&["run", "--require", "full", "--format", "json"]);
        let report = ran.json();
        let is_restored = codes(&report).contains(&"touched_and_restored");
        let what = format!("{case} {scripts:?} {states:?} {report:#}");
        let answer = match states.as_slice() {
            [.., end] if *end != [0; 4] => {
                assert!(matches!(ran.exit, Some(40 | 44)), "{what}");
                0
            }
            [one, two, _] if (*one, *two) != ([0; 4], [0; 4]) => {
                assert!(is_restored && ran.exit == Some(44), "{what}");
                1
            }
            _ => {
                assert!(!is_restored && ran.exit == Some(0), "{what}");
                project.run(&["status", "--require", "verified"]).exits(0);
                2
            }
        };
        answers[answer] += 1;
    }
    assert!(answers.iter().all(|count| *count > 2), "{answers:?}");
}

#[test]
fn an_option_does_not_take_sources_out_of_what_is_compared() {
    for option in ["--records", "--state-dir"] {
        let contract = "vplan 1\nwhenChangedAny \"src/**\" {\n  check a: grep -q good src/n\n  check b: sh ../bad.sh\n}\n";
        let project = Project::git_with(&[("contracts/verify.vplan", contract), ("src/a", "a\n")]);
        super::pushed(&project);
        project.write("src/n", "good\n");
        project.write("../bad.sh", "echo bad > src/n\n");
        let ran = project.run(&["run", "--require", "full", option, "src"]);
        assert!(matches!(ran.exit, Some(40..=44)), "{option}: {}", ran.out());
    }
}

/// What vplan records inside the tree is as what tools leave; what else is hidden there is not.
#[test]
fn records_within_the_tree_are_left_by_a_tool() {
    for (place, beside, exit) in [
        (".vplan/more", None, 0),
        ("../records", None, 0),
        ("records", None, 0),
        ("src/records", None, 0),
        ("src", None, 44),
        ("records", Some("records/helper"), 44),
        ("records", Some("records/runs/helper"), 44),
    ] {
        let contract = "vplan 1\ncheck a: grep -q good src/a\n";
        let files = [
            ("contracts/verify.vplan", contract),
            (".gitignore", ".vplan/\n"),
            ("src/a", "good\n"),
        ];
        let project = Project::git_with(&files);
        project.write("src/a", "good, too\n");
        project.run(&["run", "--records", place]).exits(0);
        if let Some(beside) = beside {
            project.write(beside, "x\n");
        }
        let again = ["run", "--records", place, "--require", "full"];
        project.run(&again).exits(exit);
    }
}
