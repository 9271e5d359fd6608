//! The settings `sandbox` and `network`: from the language to the plan, and what `--sandbox` and
//! `--network` add to them.

use crate::support::{Project, Ran};
use serde_json::Value;

const CONTRACT: &str = "vplan 1\n\
    defaults {\n  sandbox guard\n}\n\
    check unit {\n  run true\n  network off\n}\n\
    check open {\n  shell true\n  sandbox none\n}\n\
    check there {\n  file \"contracts/verify.vplan\" {\n    exists\n  }\n}\n";

/// The confinement of each step of a plan: level, network, and who asked for more.
fn confined(plan: &Value) -> Vec<[String; 4]> {
    let steps = plan["steps"].as_array().unwrap().iter();
    let text = |step: &Value, key: &str| step[key].as_str().unwrap_or("-").to_owned();
    steps
        .map(|step| ["id", "sandbox", "network", "sandboxFrom"].map(|key| text(step, key)))
        .collect()
}

fn planned(project: &Project, flags: &[&str]) -> Value {
    let args = [&["plan", "--changed-none", "--format", "json"], flags].concat();
    project.run(&args).exits(0).json()
}

/// The digest of the plan of a contract.
fn digest(text: &str) -> Value {
    let project = Project::bare();
    project.write("contracts/verify.vplan", text);
    let plan = planned(&project, &[]);
    // The contract's own digest and places are another matter.
    let mut steps = plan["steps"].clone();
    for step in steps.as_array_mut().unwrap() {
        step.as_object_mut().unwrap().remove("source");
    }
    steps
}

#[test]
fn a_check_s_own_replaces_that_of_the_defaults() {
    let project = Project::contract(CONTRACT);
    let plan = planned(&project, &[]);
    assert_eq!(
        confined(&plan),
        [
            ["unit", "guard", "off", "-"],
            ["open", "-", "-", "-"],
            ["there", "-", "-", "-"],
        ]
    );
    // Both forms of a plan file keep them.
    for file in ["p.kdl", "p.json"] {
        project
            .run(&["plan", "--changed-none", "-o", file])
            .exits(0);
        project.run(&["diff", file, "p.kdl"]).exits(0);
    }
    let kdl = project.read("p.kdl");
    assert!(kdl.contains("sandbox") && kdl.contains("network"), "{kdl}");
}

#[test]
fn of_a_verb_before_those_of_all() {
    let project = Project::contract(
        "vplan 1\ndefaults {\n  network off\n}\ndefaults test {\n  sandbox guard\n  network on\n}\n\
         check unit: true\ncheck suite {\n  test true\n}\n",
    );
    assert_eq!(
        confined(&planned(&project, &[])),
        [["unit", "-", "off", "-"], ["suite", "guard", "-", "-"],]
    );
}

#[test]
fn what_is_usual_changes_no_plan() {
    let plain = "vplan 1\ncheck unit {\n  run true\n}\n";
    let said = "vplan 1\ncheck unit {\n  run true\n  sandbox none\n  network on\n}\n";
    let other = "vplan 1\ncheck unit {\n  run true\n  network off\n}\n";
    assert_eq!(digest(plain), digest(said));
    assert_ne!(digest(plain), digest(other));
}

#[test]
fn the_layout_puts_them_behind_the_inputs() {
    let project = Project::bare();
    project.write(
        "contracts/verify.vplan",
        "vplan 1\ncheck unit {\n  run true\n  writes \"a\"\n  network off\n  setup\n  sandbox guard\n  inputs \"src/**\"\n}\n",
    );
    project.run(&["fmt"]).exits(0);
    assert_eq!(
        project.read("contracts/verify.vplan"),
        "vplan 1\ncheck unit {\n  run true\n  inputs \"src/**\"\n  sandbox guard\n  network off\n  writes \"a\"\n  setup\n}\n"
    );
}

#[test]
fn wrong_words_and_verbs() {
    let check = |lines: &str| {
        let project = Project::bare();
        project.write("contracts/verify.vplan", format!("vplan 1\n{lines}"));
        project.run(&["check"])
    };
    let of_run = |line: &str| check(&format!("check unit {{\n  run true\n  {line}\n}}\n"));
    for (line, word, known) in [
        ("sandbox shut", "shut", "known are: sealed files guard none"),
        ("sandbox gard", "gard", "did you mean `guard`?"),
        ("network local", "local", "known are: off loopback on"),
    ] {
        let ran = of_run(line);
        ran.exits(3)
            .warns("vplan::lang::unknown_word")
            .warns(&format!("`{word}`"))
            .warns(known)
            .warns("verify.vplan:4:");
    }
    of_run("sandbox")
        .exits(3)
        .warns("vplan::lang::missing_argument");
    of_run("sandbox guard\n  sandbox none")
        .exits(3)
        .warns("vplan::contract::duplicate_setting");
    let file = "file \"x\" {\n    exists\n  }";
    for (verb, text) in [("file", file), ("judge", "judge \"good?\"")] {
        for setting in ["sandbox guard", "network off"] {
            let lines = format!("check unit {{\n  {text}\n  {setting}\n}}\n");
            check(&lines)
                .exits(3)
                .warns("vplan::contract::foreign_setting")
                .warns(&format!("not a setting of `{verb}`"))
                .warns("it is a setting of `run`, `compile`, `test`, `lint`, `shell`");
        }
    }
    check("defaults file {\n  sandbox guard\n}\ncheck unit: true\n")
        .exits(3)
        .warns("vplan::contract::foreign_setting");
}

#[test]
fn an_explanation_says_how_and_who_asked() {
    let project = Project::contract(CONTRACT);
    let explain = |flags: &[&str]| {
        let ran = project.run(&[&["explain", "--changed-none"], flags].concat());
        ran.exits(0);
        ran
    };
    let plain = explain(&[]);
    plain.says("sandbox guard, network off\n");
    plain.never_says("asked by");
    explain(&["--network", "off"]).says("network off (asked by --network)\n");
    explain(&["--sandbox", "guard"]).says("sandbox guard (asked by --sandbox)\n");
    explain(&["open", "--sandbox", "guard", "--network", "off"])
        .says("sandbox guard, network off (asked by --sandbox or --network)\n");
    explain(&["unit"]).says("sandbox guard, network off\n");
    explain(&["--format", "shell"])
        .says("# 1 unit (up to 1m; here without sandbox guard, network off)\n");
    let bare = Project::contract("vplan 1\ncheck unit: true\n");
    bare.run(&["explain", "--changed-none"])
        .exits(0)
        .never_says("sandbox")
        .never_says("network");
}

/// Compares two contracts of one check with these settings.
fn diff(old: &str, new: &str) -> Ran {
    let project = Project::bare();
    let contract = |settings: &str| format!("vplan 1\ncheck unit {{\n  run true\n{settings}}}\n");
    project
        .write("old.vplan", contract(old))
        .write("new.vplan", contract(new));
    project.run(&["diff", "old.vplan", "new.vplan"])
}

#[test]
fn less_of_it_is_weaker() {
    for (weak, strong, back, why) in [
        (
            "",
            "  sandbox guard\n",
            "sandbox guard -> none",
            "it runs under fewer restrictions",
        ),
        (
            "  network on\n",
            "  network off\n",
            "network off -> on",
            "it may use more of the network",
        ),
        (
            "",
            "  network loopback\n",
            "network loopback -> on",
            "it may use more of the network",
        ),
        (
            "  network loopback\n",
            "  network off\n",
            "network off -> loopback",
            "it may use more of the network",
        ),
        (
            "  network off\n",
            "  sandbox guard\n  network off\n",
            "sandbox guard -> none",
            "it runs under fewer restrictions",
        ),
        (
            "  writes \"a\"\n",
            "  sandbox guard\n  writes \"a\"\n",
            "sandbox guard -> none",
            "it runs under fewer restrictions",
        ),
    ] {
        diff(strong, weak)
            .exits(45)
            .says("weakens:")
            .says(back)
            .says(why);
        diff(weak, strong)
            .exits(0)
            .says("strengthens:")
            .never_says("weakens:");
    }
    diff("", "  sandbox none\n  network on\n")
        .exits(0)
        .says("the contracts mean the same");
    // What may be written is compared as it is without a sandbox.
    let guarded = |globs: &str| format!("  sandbox guard\n  writes {globs}\n");
    diff(&guarded("\"a\""), &guarded("\"a\" \"b\""))
        .exits(45)
        .says("it may change more");
    diff(&guarded("\"a\" \"b\""), &guarded("\"a\""))
        .exits(0)
        .says("strengthens:");
}

#[test]
fn flags_only_strengthen() {
    let project = Project::contract(CONTRACT);
    let none = ["there", "-", "-", "-"];
    for (flags, unit, open) in [
        (
            &["--sandbox", "none", "--network", "on"][..],
            ["guard", "off", "-"],
            ["-", "-", "-"],
        ),
        (
            &["--sandbox", "guard"],
            ["guard", "off", "-"],
            ["guard", "-", "operator"],
        ),
        (
            &["--network", "off"],
            ["guard", "off", "-"],
            ["-", "off", "operator"],
        ),
        (
            &["--network", "loopback"],
            ["guard", "off", "-"],
            ["-", "loopback", "operator"],
        ),
        (
            &["--network", "off", "--sandbox", "guard"],
            ["guard", "off", "-"],
            ["guard", "off", "operator"],
        ),
    ] {
        let row = |id: &'static str, [a, b, c]: [&'static str; 3]| [id, a, b, c];
        let plan = planned(&project, flags);
        assert_eq!(
            confined(&plan),
            [row("unit", unit), row("open", open), none],
            "{flags:?}"
        );
    }
    // The plan is another one exactly where they add something.
    let digest = |flags: &[&str]| planned(&project, flags)["digest"].clone();
    assert_eq!(digest(&[]), digest(&["--sandbox", "none"]));
    assert_ne!(digest(&[]), digest(&["--sandbox", "guard"]));
    // A command of the request is confined, too.
    let plan = planned(&project, &["--sandbox", "guard", "--command", "echo a"]);
    assert_eq!(confined(&plan)[0], ["echo-a", "guard", "-", "operator"]);
    // So is what recovery makes of one.
    let flags = ["--sandbox", "guard", "--command", "cd contracts && true"];
    let plan = planned(&project, &flags);
    assert_eq!(plan["rewrites"].as_array().map_or(0, Vec::len), 1, "{plan}");
    let commands = confined(&plan);
    let mut commands = commands.iter().filter(|step| step[0] != "there");
    assert!(commands.all(|step| step[1] == "guard"), "{plan}");
    for flags in [["--sandbox", "shut"], ["--network", "local"]] {
        let ran = project.run(&[&["plan", "--changed-none"], &flags[..]].concat());
        ran.exits(2).warns("invalid value");
    }
    project
        .run(&["run", "--changed-none", "--sandbox-missing", "ignore"])
        .exits(2);
}

/// Runs a saved plan, and returns its record of the plan that ran. Where this machine cannot confine
/// a step, it runs as it can.
fn run(project: &Project, flags: &[&str]) -> Value {
    let args = ["run", "--format", "json", "--sandbox-missing", "run"];
    let report = project.run(&[&args, flags].concat()).exits(0).json();
    let id = report["runId"].as_str().unwrap().to_owned();
    let plan: Value =
        serde_json::from_str(&project.read(&format!(".vplan/runs/{id}/plan.json"))).unwrap();
    assert_eq!(plan["digest"], report["planDigest"]);
    assert_eq!(
        report["savedPlan"]["drift"].as_array().map_or(0, Vec::len),
        0,
        "{report}"
    );
    plan
}

#[test]
fn a_saved_plan_runs_with_stronger_flags_and_never_with_weaker_ones() {
    let project = Project::contract(CONTRACT);
    let saved = planned(&project, &[]);
    project
        .run(&["plan", "--changed-none", "-o", "../p.json"])
        .exits(0);
    let plan = run(&project, &["--plan", "../p.json"]);
    assert_eq!(plan["digest"], saved["digest"]);
    let plan = run(
        &project,
        &[
            "--plan",
            "../p.json",
            "--sandbox",
            "none",
            "--network",
            "on",
        ],
    );
    assert_eq!(plan["digest"], saved["digest"]);
    let plan = run(&project, &["--plan", "../p.json", "--network", "off"]);
    assert_eq!(confined(&plan)[1], ["open", "-", "off", "operator"]);
    assert_ne!(plan["digest"], saved["digest"]);

    // One that was made with flags keeps what they asked for, and is no drift.
    for flags in [
        &["--sandbox", "guard"][..],
        &["--network", "off"],
        &["--sandbox", "guard", "--network", "off"],
    ] {
        let made = planned(&project, flags);
        let args = ["plan", "--changed-none", "--force", "-o", "../strong.kdl"];
        project.run(&[&args, flags].concat()).exits(0);
        let plan = run(&project, &["--plan", "../strong.kdl"]);
        assert_eq!(confined(&plan), confined(&made), "{flags:?}");
        assert_eq!(plan["digest"], made["digest"]);
    }
    let plan = run(&project, &["--plan", "../strong.kdl", "--sandbox", "none"]);
    assert_eq!(confined(&plan)[1], ["open", "guard", "off", "operator"]);

    // A contract that asks for more by now is drift.
    project.write(
        "contracts/verify.vplan",
        CONTRACT.replace("  sandbox none\n", ""),
    );
    project
        .run(&["run", "--plan", "../p.json"])
        .exits(4)
        .warns("steps.open.sandbox: (absent) -> \"guard\"");
}

#[test]
fn a_pass_stands_only_under_the_same_guarantees() {
    let project = Project::git_with(&[
        (
            "contracts/verify.vplan",
            "vplan 1\ncheck one {\n  run cat src/a\n  inputs \"src/**\"\n}\n",
        ),
        ("src/a", "1"),
    ]);
    let status = |flags: &[&str]| {
        let args = ["run", "--changed-none", "--format", "json"];
        let report = project.run(&[&args, flags].concat()).exits(0).json();
        report["steps"][0]["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status(&[]), "passed");
    assert_eq!(status(&[]), "cached");
    for flags in [
        ["--network", "off"],
        ["--network", "loopback"],
        ["--sandbox", "guard"],
    ] {
        let flags = [&flags[..], &["--sandbox-missing", "run"]].concat();
        assert_eq!(status(&flags), "passed", "{flags:?}");
    }
    assert_eq!(status(&[]), "cached");
}

#[test]
fn merged_reports_keep_each_step_s_own() {
    let project = Project::contract(CONTRACT);
    let mut reports = Vec::new();
    project.write("../filter.py", crate::sandbox::FILTER);
    let filter = project.parent().join("filter.py");
    // One of the machines has no Landlock.
    let without = ["python3", "-I", filter.to_str().unwrap(), "444:38"];
    for (shard, launcher) in [("1/2", &without[..]), ("2/2", &[])] {
        let args = [
            "run",
            "--changed-none",
            "--format",
            "json",
            "--shard",
            shard,
        ];
        let args = [&args[..], &["--sandbox-missing", "run"]].concat();
        let report = project.vplan(&args).under(launcher).run().exits(0).json();
        let name = format!("../report-{}.json", reports.len());
        project.write(&name, report.to_string());
        reports.push((name, report));
    }
    let names: Vec<&str> = reports.iter().map(|(name, _)| name.as_str()).collect();
    let merged = project
        .run(&[&["merge", "--format", "json"], names.as_slice()].concat())
        .exits(0)
        .json();
    let steps = merged["steps"].as_array().unwrap();
    let mut found = 0;
    for step in reports
        .iter()
        .flat_map(|(_, r)| r["steps"].as_array().unwrap())
    {
        let kept = steps.iter().find(|s| s["id"] == step["id"]).unwrap();
        assert_eq!(kept["sandbox"], step["sandbox"], "{merged}");
        found += 1;
    }
    assert_eq!(found, 3);
    // Who reads it as text is told of what is missing, and of nothing else.
    let ran = project.run(&[&["merge"], names.as_slice()].concat());
    ran.exits(0).says("not held: no-tampering, writes");
    let lacks = |step: &&Value| {
        let missing = step["sandbox"]["missing"].as_array();
        missing.is_some_and(|missing| !missing.is_empty())
    };
    assert_eq!(
        ran.out().matches("not held:").count(),
        steps.iter().filter(lacks).count()
    );
}

#[test]
fn a_report_is_held_against_the_confinement_that_the_plan_asks_for() {
    let project = Project::contract("vplan 1\ncheck unit {\n  run true\n  network off\n}\n");
    let args = ["run", "--format", "json", "--sandbox-missing", "run"];
    let report = project.run(&args).exits(0).json();
    let id = report["runId"].as_str().unwrap();
    project.run(&["verify", id]).exits(0);
    let sandbox = report["steps"][0]["sandbox"].clone();
    if sandbox["missing"] == serde_json::json!([]) {
        project.run(&["details"]).says("network off");
    }
    type Edit = fn(&mut Value);
    let edited: [(&str, Edit); 4] = [
        ("it is not said", |step| {
            step.as_object_mut().unwrap().remove("sandbox");
        }),
        ("less was asked", |step| {
            step["sandbox"]["network"] = "on".into()
        }),
        ("nothing held", |step| {
            step["sandbox"]["reached"] = serde_json::json!([]);
        }),
        ("it did not hold, and nothing says so", |step| {
            step["sandbox"]["reached"] = serde_json::json!([]);
            step["sandbox"]["missing"] = serde_json::json!(["network-off"]);
        }),
    ];
    for (what, edit) in edited {
        let mut report = report.clone();
        report["caveats"] = serde_json::json!([]);
        edit(&mut report["steps"][0]);
        let file = format!(".vplan/runs/{id}/report.json");
        project.write(&file, report.to_string());
        println!("{what}");
        project
            .run(&["verify", id])
            .exits(4)
            .says("was not confined as the plan asks");
    }
}
