//! Shards that do not make one run, and reports that vplan did not write of them.

use super::{caveat, codes};
use crate::support::{Project, Ran};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

const TWO: &str = "vplan 1\ncheck a: grep -q good a.txt\ncheck b: grep -q good b.txt\n";

/// A project with a plan of two checks, each about one file.
fn project() -> Project {
    let files = [
        ("contracts/verify.vplan", TWO),
        ("a.txt", "good\n"),
        ("b.txt", "good\n"),
    ];
    let project = Project::git_with(&files);
    plan(&project);
    project
}

fn plan(project: &Project) {
    let args = ["plan", "--changed-none", "-o", "../p.json"];
    project.run(&args).exits(0);
}

/// Runs a shard with its records beside the project; returns the folder of its run.
fn shard(project: &Project, shard: &str, records: &str, exit: i32) -> String {
    let args = ["run", "--plan", "../p.json", "--shard", shard];
    let ran = project.run(&[&args[..], &["--records", records, "--format", "json"]].concat());
    let run = ran.exits(exit).json()["runId"].as_str().unwrap().to_owned();
    format!("{records}/runs/{run}")
}

fn merge(project: &Project, args: &[&str]) -> Ran {
    project.run(&[&["merge", "--format", "json"], args].concat())
}

/// Merges where vplan does not remember the runs.
fn merge_elsewhere(project: &Project, args: &[&str]) -> Ran {
    project
        .vplan(&[&["merge", "--format", "json"], args].concat())
        .env("XDG_STATE_HOME", project.path("../elsewhere"))
        .run()
}

fn report(project: &Project, run: &str) -> Value {
    serde_json::from_str(&project.read(&format!("{run}/report.json"))).unwrap()
}

#[test]
fn shards_of_different_trees() {
    let project = project();
    project.write("b.txt", "bad\n");
    let one = shard(&project, "1/2", "../one", 0);
    project.write("a.txt", "bad\n").write("b.txt", "good\n");
    let two = shard(&project, "2/2", "../two", 0);
    let ran = merge(&project, &[&one, &two]);
    ran.exits(4).warns("vplan::merge::tree");
    for run in [&one, &two] {
        ran.warns(report(&project, run)["tree"].as_str().unwrap());
    }
    // A commit of the same content, other times and another place make no other tree.
    project.write("a.txt", "good\n");
    project.commit("all good");
    project.run(&["run", "--plan", "../p.json"]).exits(0);
    let one = shard(&project, "1/2", "../three", 0);
    project.write("a.txt", "bad\n").write("a.txt", "good\n");
    project.git(&["commit", "-q", "--allow-empty", "-m", "empty"]);
    let two = shard(&project, "2/2", "../four", 0);
    let merged = merge(&project, &[&one, &two]).exits(0).json();
    assert_eq!(merged["tree"], report(&project, &one)["tree"]);
    // A mode is content; so is a new file.
    project.mode("b.txt", 0o755);
    let executable = shard(&project, "2/2", "../five", 0);
    merge(&project, &[&one, &executable]).exits(4);
    project.mode("b.txt", 0o644).write("c.txt", "");
    let more = shard(&project, "2/2", "../six", 0);
    merge(&project, &[&one, &more])
        .exits(4)
        .warns("different trees");
}

#[test]
fn a_merged_report_is_checked_like_any_other() {
    let project = project();
    let one = shard(&project, "1/2", "../one", 0);
    let two = shard(&project, "2/2", "../two", 0);
    let merged = merge(&project, &[&one, &two]).exits(0).json();
    project.write("../merged.json", merged.to_string());
    let verify = || project.run(&["verify", "../merged.json"]);
    verify()
        .exits(0)
        .says("the plan of all shards is")
        .says("the work tree is the one that the report names");
    // What lies beside it is not about it.
    project.write("../plan.json", "{}");
    verify().exits(0);
    for (edit, says) in [
        (
            (|r| r["steps"][0]["exitCode"] = json!(1)) as fn(&mut Value),
            "exit code that is not accepted",
        ),
        (
            |r| r["verdict"] = json!("failed"),
            "the records give passed",
        ),
        (
            |r| r["merged"]["plan"]["steps"][0]["retries"] = json!(3),
            "does not have the digest",
        ),
        (|r| r["steps"] = json!([]), "has 0 records"),
        (|r| r["shard"] = json!(null), ""),
    ] {
        let mut forged = merged.clone();
        edit(&mut forged);
        project.write("../forged.json", forged.to_string());
        let exit = if says.is_empty() { 0 } else { 4 };
        project
            .run(&["verify", "../forged.json"])
            .exits(exit)
            .says(says);
    }
    project.write("a.txt", "bad\n");
    verify().exits(4).says("the work tree is sha256:");
    // A report of all shards is no shard.
    merge(&project, &["../merged.json"])
        .exits(2)
        .warns("whole run");
}

#[test]
fn shards_that_do_not_say_which_tree_they_verified() {
    let project = project();
    let one = shard(&project, "1/2", "../one", 0);
    let two = shard(&project, "2/2", "../two", 0);
    let without = |run: &str, file: &str| {
        let mut report = report(&project, run);
        report.as_object_mut().unwrap().remove("tree").unwrap();
        project.write(file, report.to_string());
    };
    without(&one, "../one.json");
    without(&two, "../two.json");
    let some = merge_elsewhere(&project, &["../one.json", &two]);
    let some = some.exits(44).json();
    assert_eq!(
        (&some["verdict"], some.get("tree")),
        (&json!("incomplete"), None)
    );
    let message = &caveat(&some, "no_common_tree")["message"];
    assert!(
        message.as_str().unwrap().contains("shards 1 of 2"),
        "{message}"
    );
    let all = merge_elsewhere(&project, &["../one.json", "../two.json"]);
    all.exits(44);
    project.write("../all.json", &all.stdout);
    project.run(&["verify", "../all.json"]).exits(0);
    // Here, vplan remembers what it wrote.
    merge(&project, &["../one.json", &two])
        .exits(2)
        .warns("not the one that vplan wrote");
    // Without git there is no tree; a failure stays one.
    let bare = Project::bare();
    bare.write(
        "contracts/verify.vplan",
        "vplan 1\ncheck a: true\ncheck b: true\n",
    );
    plan(&bare);
    let one = shard(&bare, "1/2", "../one", 0);
    let two = shard(&bare, "2/2", "../two", 0);
    merge(&bare, &[&one, &two]).exits(44);
    bare.run(&["merge", &one, &two])
        .says("no shard says which tree it verified");
    bare.write(
        "contracts/verify.vplan",
        "vplan 1\ncheck a: false\ncheck b: true\n",
    );
    plan(&bare);
    let one = shard(&bare, "1/2", "../one", 40);
    let two = shard(&bare, "2/2", "../two", 0);
    merge(&bare, &[&one, &two]).exits(40);
}

#[test]
fn a_shard_that_was_edited_into_a_pass() {
    let project = project();
    project.write("b.txt", "bad\n");
    let one = shard(&project, "1/2", "../one", 0);
    let two = shard(&project, "2/2", "../two", 40);
    merge(&project, &[&one, &two]).exits(40);
    // A status without what makes it one.
    let mut forged = report(&project, &two);
    forged["steps"][0]["status"] = json!("passed");
    forged["verdict"] = json!("passed");
    forged["exitCode"] = json!(0);
    let whole = |report: &Value| {
        let mut report = report.clone();
        report["steps"][0]["exitCode"] = json!(0);
        for key in ["reason", "detail", "failureCode"] {
            report["steps"][0].as_object_mut().unwrap().remove(key);
        }
        for key in ["reason", "feedback"] {
            report.as_object_mut().unwrap().remove(key);
        }
        report["decision"] = json!("advance");
        report
    };
    project.write("../forged.json", forged.to_string());
    merge_elsewhere(&project, &[&one, "../forged.json"])
        .exits(2)
        .warns("exit code that is not accepted");
    // By itself nothing contradicts this one: vplan's memory of the run does, and its journal.
    let forged = whole(&forged);
    project.write("../forged.json", forged.to_string());
    merge(&project, &[&one, "../forged.json"])
        .exits(2)
        .warns("not the one that vplan wrote");
    project.write(format!("{two}/report.json"), forged.to_string());
    merge_elsewhere(&project, &[&one, &two])
        .exits(2)
        .warns("the events end with");
    merge_elsewhere(&project, &[&one, &format!("{two}/report.json")]).exits(2);
    project.run(&["verify", &two]).exits(4);
}

#[test]
fn a_shard_that_is_incomplete() {
    let text = "vplan 1\ncheck a: true\ncheck b: git commit -q --allow-empty -m x\n";
    let project = Project::contract(text);
    for name in ["user.name", "user.email"] {
        project.git(&["config", name, "x"]);
    }
    plan(&project);
    let one = shard(&project, "1/2", "../one", 0);
    let two = shard(&project, "2/2", "../two", 44);
    let merged = merge(&project, &[&one, &two]).exits(44).json();
    assert!(codes(&merged).contains(&"head_moved"), "{merged:#}");
}

#[test]
fn shards_that_were_compared_with_different_commits() {
    let project = project();
    project.run(&["plan", "-o", "../p.json", "--all"]).exits(0);
    let one = shard(&project, "1/2", "../one", 0);
    let two = shard(&project, "2/2", "../two", 0);
    let edited = |run: &str, base: &str| {
        let mut report = report(&project, run);
        report["compared"] = json!({"base": base, "changed": 0, "what": "x"});
        let file = format!("../{base}.json");
        project.write(&file, report.to_string());
        file
    };
    let (a, b) = (edited(&one, "aaaa"), edited(&two, "bbbb"));
    merge_elsewhere(&project, &[&a, &b])
        .exits(4)
        .warns("vplan::merge::base")
        .warns("aaaa and bbbb");
}

#[test]
fn a_plan_that_is_expected() {
    let project = project();
    // Nothing at all, of nothing at all, and where nothing is.
    std::fs::create_dir(project.path("../empty")).unwrap();
    for paths in [
        &[][..],
        &["../empty"],
        &["../none", "../none/*/report.json"],
    ] {
        let ran = merge(&project, &[&["--expect", "../p.json"], paths].concat());
        let none = ran.exits(44).json();
        assert_eq!(codes(&none), ["shards_missing"]);
        assert_eq!(none["steps"].as_array().unwrap().len(), 2);
        project.write("../none.json", none.to_string());
        project.run(&["verify", "../none.json"]).exits(0);
    }
    let ran = merge(&project, &["--expect", "../p.json", "../none"]);
    ran.warns("`../none` cannot be read");
    merge(&project, &["../empty"])
        .exits(2)
        .warns("holds no report");
    let one = shard(&project, "1/2", "../one", 0);
    let two = shard(&project, "2/2", "../two", 0);
    merge(&project, &["--expect", "../p.json", &one]).exits(44);
    merge(&project, &["--expect", "../p.json", &one, &two]).exits(0);
    // Of another plan, and of the same one in other shards.
    project.run(&["plan", "--all", "-o", "../all.kdl"]).exits(0);
    merge(&project, &["--expect", "../all.kdl", &one, &two])
        .exits(4)
        .warns("is not about the expected plan");
    let third = shard(&project, "3/3", "../three", 0);
    merge(&project, &["--expect", "../p.json", &one, &two, &third])
        .exits(4)
        .warns("one of 3");
    // What is no plan, or no report, is an error all the same.
    merge(&project, &["--expect", "contracts/verify.vplan"]).exits(2);
    project.write("../torn.json", "{");
    merge(&project, &["--expect", "../p.json", "../torn.json"]).exits(2);
    merge(&project, &[]).exits(2);
}

#[test]
fn folders_of_runs() {
    let project = project();
    let one = shard(&project, "1/2", "../ci/one/.vplan", 0);
    shard(&project, "2/2", "../ci/two", 0);
    merge(&project, &["../ci"]).exits(0);
    merge(&project, &["../ci", &one, "../ci/one"]).exits(0);
    // A loop, a link to what is elsewhere, a pipe.
    symlink(project.path("../ci"), project.path("../ci/one/again")).unwrap();
    merge(&project, &["../ci"])
        .exits(0)
        .warns("not looked into");
    let deep = "../deep/a/b/c";
    std::fs::create_dir_all(project.path(deep)).unwrap();
    std::fs::rename(
        project.path("../ci/two/runs"),
        project.path("../deep/a/b/c/runs"),
    )
    .unwrap();
    let ran = merge(&project, &["../ci", "../deep"]);
    ran.exits(2).warns("holds no report, 4 folders deep");
    let ran = merge(&project, &["../ci", "../deep", "--expect", "../p.json"]);
    ran.exits(44).warns("not looked into");
    merge(&project, &["../ci", "../deep/a"]).exits(0);
    symlink(
        project.path("../deep/a/b/c/runs"),
        project.path("../ci/two/runs"),
    )
    .unwrap();
    merge(&project, &["../ci"]).exits(44).warns("symlink");
    let pipe = project.path("../ci/two/report.json");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_bits_retain(0o644),
        0,
    )
    .unwrap();
    merge(&project, &["../ci"]).exits(2).warns("regular file");
    std::fs::remove_file(&pipe).unwrap();
    // A run that did not come to an end is no report, and is named.
    project.write("../ci/torn/runs/x/events.jsonl", "");
    merge(&project, &["../ci", "../deep/a"])
        .exits(0)
        .warns("1 run did not come to an end");
}

#[test]
fn tools_that_differ_between_shards() {
    let contract = "vplan 1\ncheck a: tool a\ncheck b: tool b\ncheck c: true\n";
    let mut project = Project::contract(contract);
    plan(&project);
    let path = std::env::var("PATH").unwrap();
    let mut runs = Vec::new();
    for (index, words) in ["one", "two", "two"].iter().enumerate() {
        let bin = format!("../bin{index}");
        project.script(&format!("{bin}/tool"), &format!("#!/bin/sh\n# {words}\n"));
        let bin = project.path(&bin).canonicalize().unwrap();
        project = project.env("PATH", format!("{}:{path}", bin.display()));
        for own in ["1/2", "2/2"] {
            runs.push(shard(
                &project,
                own,
                &format!("../r{}{index}", &own[..1]),
                0,
            ));
        }
    }
    let [one, _, two, three, _, other] = runs.as_slice() else {
        panic!("{runs:?}")
    };
    let merged = merge(&project, &[one, three]).exits(0).json();
    assert_eq!(codes(&merged), ["tools_differ"]);
    assert_eq!(caveat(&merged, "tools_differ")["effect"], "note");
    merge(&project, &[one, three, "--same-tools"])
        .exits(4)
        .warns("vplan::merge::tools")
        .warns("`tool` (shards 1, 2)");
    // The same content in another place is the same tool.
    let merged = merge(&project, &[two, other, "--same-tools"])
        .exits(0)
        .json();
    assert!(codes(&merged).is_empty(), "{merged:#}");
    // What is not known is not the same.
    let mut report = report(&project, two);
    let program = report["steps"][0]["program"].as_object_mut().unwrap();
    program.remove("digest").unwrap();
    project.write("../unknown.json", report.to_string());
    merge_elsewhere(&project, &["../unknown.json", other]).exits(0);
    merge_elsewhere(&project, &["../unknown.json", other, "--same-tools"])
        .exits(4)
        .warns("not known: tool");
}

/// What one shard produces is no other tree for the next one.
#[test]
fn products_of_another_shard_are_no_part_of_the_tree() {
    let text =
        "vplan 1\ncheck a {\n  run cp b.txt out.txt\n  produces \"out.txt\"\n}\ncheck b: true\n";
    let files = [
        ("contracts/verify.vplan", text),
        ("b.txt", "b\n"),
        ("out.txt", "old\n"),
    ];
    let project = Project::git_with(&files);
    plan(&project);
    let one = shard(&project, "1/2", "../one", 0);
    let two = shard(&project, "2/2", "../two", 0);
    let merged = merge(&project, &[&one, &two]).exits(0).json();
    for run in [&one, &two] {
        project
            .run(&["verify", run])
            .exits(0)
            .says("the work tree is the one that was verified");
        assert_eq!(report(&project, run)["tree"], merged["tree"]);
    }
    project.write("../merged.json", merged.to_string());
    project.run(&["verify", "../merged.json"]).exits(0);
    project.write("b.txt", "c\n");
    project.run(&["verify", "../merged.json"]).exits(4);
}
