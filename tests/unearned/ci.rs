//! What a pipeline did not compare was green.

use crate::support::Project;
use serde_json::json;

const CONTRACT: &str =
    "vplan 1\nwhenChangedAny \"src/**\" {\n  check sound: grep -q good src/a\n}\n";

/// A repository and a clone of it, as a job has it, with `main` of the remote.
fn clone() -> (Project, Project) {
    let origin = Project::contract(CONTRACT);
    origin.write("src/a", "good\n").commit("a good start");
    let clone = Project::git_empty();
    clone.git(&[
        "remote",
        "add",
        "origin",
        &format!("file://{}", origin.root().display()),
    ]);
    clone.git(&["fetch", "-q", "origin"]);
    clone.git(&["checkout", "-q", "-b", "work", "origin/main"]);
    (origin, clone)
}

/// A push of `work`, on GitHub and on GitLab.
fn pushed(clone: &Project, before: &str) -> [Vec<(&'static str, String)>; 2] {
    let event = json!({"before": before, "repository": {"default_branch": "main"}});
    clone.write("../event.json", event.to_string());
    let path = clone.path("../event.json").display().to_string();
    let own = |list: &[(&'static str, &str)]| {
        list.iter()
            .map(|(k, v)| (*k, (*v).to_owned()))
            .collect::<Vec<_>>()
    };
    let mut github = own(&[
        ("GITHUB_EVENT_NAME", "push"),
        ("GITHUB_REF", "refs/heads/work"),
        ("CI", "true"),
    ]);
    github.push(("GITHUB_EVENT_PATH", path));
    let gitlab = own(&[
        ("GITLAB_CI", "true"),
        ("CI", "true"),
        ("CI_PIPELINE_SOURCE", "push"),
        ("CI_COMMIT_BRANCH", "work"),
        ("CI_DEFAULT_BRANCH", "main"),
        ("CI_COMMIT_BEFORE_SHA", before),
    ]);
    [github, gitlab]
}

fn exit(clone: &Project, vars: &[(&'static str, String)], args: &[&str]) -> Option<i32> {
    let run = vars
        .iter()
        .fold(clone.vplan(args), |run, (name, value)| run.env(name, value));
    run.run().exit
}

#[test]
fn a_harmless_push_after_a_red_one_is_not_green() {
    let (_origin, clone) = clone();
    let red = clone.write("src/a", "bad\n").commit("broken");
    clone.write("README", "words\n").commit("words");
    for vars in pushed(&clone, &red) {
        assert_eq!(
            exit(&clone, &vars, &["run", "--base", "auto"]),
            Some(40),
            "{vars:?}"
        );
    }
}

#[test]
fn a_clone_without_the_default_branch_is_not_compared_with_head() {
    let (_origin, clone) = clone();
    let red = clone.write("src/a", "bad\n").commit("broken");
    clone.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    for vars in pushed(&clone, &red) {
        assert_eq!(
            exit(&clone, &vars, &["run", "--base", "auto"]),
            Some(2),
            "{vars:?}"
        );
        let ran = vars
            .iter()
            .fold(clone.vplan(&["run", "--base", "auto"]), |run, (k, v)| {
                run.env(k, v)
            })
            .run();
        ran.exits(2)
            .warns("fetch it first: `git fetch origin main`");
    }
}

#[test]
fn the_target_of_a_pull_request_is_not_verified_in_its_place() {
    let (_origin, clone) = clone();
    let vars = [
        ("GITHUB_EVENT_NAME", "pull_request_target".to_owned()),
        ("GITHUB_BASE_REF", "main".to_owned()),
    ];
    assert_eq!(exit(&clone, &vars, &["run", "--base", "auto"]), Some(2));
    assert_eq!(exit(&clone, &vars, &["diff", "--base", "auto"]), Some(2));
    clone.write("src/a", "bad\n").commit("broken");
    assert_eq!(exit(&clone, &vars, &["run", "--base", "auto"]), Some(40));
}

#[test]
fn a_local_branch_or_a_tag_is_not_the_target() {
    let (_origin, clone) = clone();
    let bad = clone.write("src/a", "bad\n").commit("broken");
    clone.git(&["branch", "main", &bad]);
    clone.git(&["tag", "main", &bad]);
    clone.git(&["tag", "origin/main", &bad]);
    clone.git(&["update-ref", "refs/heads/origin/main", &bad]);
    let vars = [
        ("GITHUB_EVENT_NAME", "pull_request".to_owned()),
        ("GITHUB_BASE_REF", "main".to_owned()),
    ];
    assert_eq!(exit(&clone, &vars, &["run", "--base", "auto"]), Some(40));
}

#[test]
fn a_nightly_run_verifies_everything_and_says_so() {
    let (_origin, clone) = clone();
    clone.write("src/a", "bad\n").commit("broken");
    let run = |args: &[&str]| clone.vplan(args).env("GITHUB_EVENT_NAME", "schedule").run();
    let ran = run(&["run", "--base", "auto", "--format", "json"]);
    ran.exits(40);
    let report = ran.json();
    let said = "every tracked file counts as changed: `GITHUB_EVENT_NAME` is `schedule`";
    assert_eq!(report["caveats"][0]["message"], said);
    run(&["explain", "--base", "auto"]).exits(0).says(said);
    // `run --plan` of such a plan is about all files again.
    let plan = run(&["plan", "--base", "auto", "--format", "json"]);
    assert_eq!(plan.json()["request"]["changedIn"], "tracked");
}

#[test]
fn pushes_before_the_one_to_the_default_branch_are_said() {
    let (_origin, clone) = clone();
    clone.git(&["checkout", "-q", "-B", "main"]);
    let before = clone.write("src/a", "bad\n").commit("broken");
    clone.write("README", "words\n").commit("words");
    let event = json!({"before": before, "repository": {"default_branch": "main"}});
    clone.write("../event.json", event.to_string());
    let run = |args: &[&str]| {
        let run = clone
            .vplan(args)
            .env("GITHUB_EVENT_NAME", "push")
            .env("GITHUB_REF", "refs/heads/main");
        run.env("GITHUB_EVENT_PATH", clone.path("../event.json"))
            .run()
    };
    let said = "pushes to `main` before this one were not looked at";
    run(&["explain", "--base", "auto"]).exits(0).says(said);
    run(&["run", "--base", "auto"]).exits(0).says(said);
}

#[test]
fn an_empty_change_must_be_asked_for_where_a_system_does_not_set_ci() {
    let (_origin, clone) = clone();
    for (name, value) in [
        ("TF_BUILD", "True"),
        ("JENKINS_URL", "http://x/"),
        ("TEAMCITY_VERSION", "1"),
        ("CI", "true"),
    ] {
        let ran = clone.vplan(&["run"]).env(name, value).run();
        ran.exits(2).warns("an empty change set must be asked for");
    }
}

/// What `explain --base auto` says was compared, and its caveats.
fn compared(clone: &Project, vars: &[(&'static str, &str)]) -> (String, Vec<String>) {
    let run = clone.vplan(&["explain", "--base", "auto", "--format", "json"]);
    let plan = vars
        .iter()
        .fold(run, |run, (name, value)| run.env(name, value))
        .run()
        .exits(0)
        .json();
    let caveats = plan["caveats"].as_array().cloned().unwrap_or_default();
    let codes = caveats
        .iter()
        .map(|c| c["code"].as_str().unwrap().to_owned())
        .collect();
    (plan["compared"]["what"].as_str().unwrap().to_owned(), codes)
}

#[test]
fn the_contracts_branch_counts_where_the_system_names_none() {
    const SILENT: [(&str, &str); 3] = [
        ("CIRCLECI", "true"),
        ("CIRCLE_BRANCH", "work"),
        ("CI", "true"),
    ];
    let stated = |branch: &str| CONTRACT.replacen('\n', &format!("\nbase \"{branch}\"\n"), 1);
    let (_origin, clone) = clone();
    let head =
        |name: &str| clone.git(&["update-ref", &format!("refs/remotes/origin/{name}"), "HEAD"]);
    clone.git(&["remote", "set-head", "origin", "main"]);
    assert!(compared(&clone, &SILENT).0.contains("`origin/main`"));
    clone
        .write("contracts/verify.vplan", stated("develop"))
        .commit("the line");
    head("develop");
    let begin = clone.git(&["rev-parse", "HEAD"]);
    clone.write("src/a", "bad\n").commit("broken");
    let (what, caveats) = compared(&clone, &SILENT);
    assert!(
        what.contains("`origin/develop`") && caveats.is_empty(),
        "{what} {caveats:?}"
    );
    // The event goes before it.
    let event = [
        ("GITLAB_CI", "true"),
        ("CI", "true"),
        ("CI_PIPELINE_SOURCE", "push"),
        ("CI_COMMIT_BRANCH", "work"),
        ("CI_DEFAULT_BRANCH", "main"),
    ];
    assert!(compared(&clone, &event).0.contains("`origin/main`"));
    // A push to the very branch: what was there before.
    let own = [
        ("CIRCLECI", "true"),
        ("CIRCLE_BRANCH", "develop"),
        ("CI", "true"),
    ];
    clone.git(&["update-ref", "refs/remotes/origin/develop", "HEAD"]);
    let ran = own
        .iter()
        .fold(clone.vplan(&["run", "--base", "auto"]), |run, (k, v)| {
            run.env(k, v)
        })
        .run();
    ran.exits(40).says("every tracked file counts as changed");
    // One that the change chooses does not count, and that is said: `decoy` holds the bad work
    // already.
    head("decoy");
    clone.git(&["update-ref", "refs/remotes/origin/develop", &begin]);
    clone
        .write("contracts/verify.vplan", stated("decoy"))
        .commit("another line");
    let (what, caveats) = compared(&clone, &SILENT);
    assert!(
        what.contains("`origin/main`") && caveats.contains(&"base_ignored".to_owned()),
        "{what} {caveats:?}"
    );
    let vars: Vec<(&'static str, String)> =
        SILENT.iter().map(|(k, v)| (*k, (*v).to_owned())).collect();
    assert_eq!(exit(&clone, &vars, &["run", "--base", "auto"]), Some(40));
}
