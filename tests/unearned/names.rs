//! A name that means two things compares with whatever the change's author put there.

use crate::support::Project;

const STRICT: &str = "vplan 1\ncheck strict: false\n";
const WEAK: &str = "vplan 1\ncheck weak: true\n";

/// A change on a branch: main has the strict contract, the change replaces it and says that it is
/// done. `origin` has main.
fn project() -> Project {
    let project = Project::contract(STRICT);
    project.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    project.git(&["checkout", "-q", "-b", "work"]);
    project
        .write("contracts/verify.vplan", WEAK)
        .commit("weaker");
    project
}

#[track_caller]
fn refused(project: &Project, args: &[&str], names: &[&str]) {
    let ran = project.run(args);
    ran.exits(2).warns("means several things here");
    for name in names {
        ran.warns(name);
    }
}

/// Every argument that takes a revision.
fn arguments(name: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["run", "--base", name],
        vec!["plan", "--base", name],
        vec!["explain", "--base", name],
        vec!["run", "--all", "--contract-from", name],
        vec!["lock", "--check", "--contract-from", name],
        vec!["lock", "--contract-from", name],
        vec!["diff", "--base", name],
    ]
}

#[test]
fn a_tag_beside_a_branch_does_not_choose_the_contract() {
    let project = project();
    project.git(&["tag", "main", "work"]);
    for args in arguments("main") {
        refused(
            &project,
            &args,
            &[
                "refs/tags/main",
                "write the full name, for example `refs/heads/main`",
            ],
        );
    }
    for name in ["main~0", "main^{commit}", "heads/main"] {
        let ran = project.run(&["run", "--all", "--contract-from", name]);
        assert_eq!(
            ran.exit,
            Some(if name == "heads/main" { 40 } else { 2 }),
            "{name}"
        );
    }
    // The full names say which.
    project
        .run(&["run", "--all", "--contract-from", "refs/heads/main"])
        .exits(40);
    project
        .run(&["run", "--all", "--contract-from", "refs/tags/main"])
        .exits(0);
}

#[test]
fn the_repository_does_not_silence_git() {
    let project = project();
    project.git(&["tag", "main", "work"]);
    project.git(&["config", "core.warnAmbiguousRefs", "false"]);
    refused(
        &project,
        &["run", "--all", "--contract-from", "main"],
        &["refs/tags/main", "refs/heads/main"],
    );
}

#[test]
fn a_tag_beside_a_branch_that_only_a_remote_has_does_not_choose_the_contract() {
    let project = project();
    project.git(&["branch", "-q", "-D", "main"]);
    project.git(&["tag", "main", "work"]);
    for args in arguments("main") {
        refused(
            &project,
            &args,
            &["refs/tags/main", "refs/remotes/origin/main"],
        );
    }
}

#[test]
fn a_local_branch_is_not_taken_for_a_remotes() {
    let project = project();
    project.git(&["branch", "origin/main", "work"]);
    for args in arguments("origin/main") {
        refused(
            &project,
            &args,
            &["refs/heads/origin/main", "refs/remotes/origin/main"],
        );
    }
}

#[test]
fn a_file_in_gits_folder_is_not_taken_for_a_branch() {
    let project = project();
    let id = project.git(&["rev-parse", "work"]);
    project.write(".git/main", format!("{id}\n"));
    refused(
        &project,
        &["run", "--all", "--contract-from", "main"],
        &[".git/main", "`refs/heads/main`"],
    );
    project.git(&["branch", "-q", "-D", "main"]);
    refused(
        &project,
        &["run", "--all", "--contract-from", "main"],
        &[".git/main", "refs/remotes/origin/main"],
    );
}

#[test]
fn a_branch_is_not_taken_for_a_full_name() {
    let project = project();
    project.git(&["update-ref", "refs/heads/refs/heads/main", "work"]);
    project
        .run(&["run", "--all", "--contract-from", "refs/heads/main"])
        .exits(40);
    project.git(&["update-ref", "-d", "refs/heads/main"]);
    project
        .run(&["run", "--all", "--contract-from", "refs/heads/main"])
        .exits(2)
        .warns("names no commit");
}

#[test]
fn a_branch_is_not_taken_for_the_beginning_of_an_id() {
    let project = project();
    let id = project.git(&["rev-parse", "main"]);
    project
        .run(&["run", "--all", "--contract-from", &id[..8]])
        .exits(40);
    project.git(&["update-ref", &format!("refs/heads/{}", &id[..8]), "work"]);
    refused(
        &project,
        &["run", "--all", "--contract-from", &id[..8]],
        &[&format!("refs/heads/{}", &id[..8])],
    );
    // A whole id is no name.
    project.git(&["update-ref", &format!("refs/heads/{id}"), "work"]);
    project
        .run(&["run", "--all", "--contract-from", &id])
        .exits(40);
}

#[test]
fn grafts_give_no_change_another_beginning() {
    let project = project();
    let (main, work) = (
        project.git(&["rev-parse", "main"]),
        project.git(&["rev-parse", "work"]),
    );
    project.write(".git/info/grafts", format!("{main} {work}\n{work}\n"));
    let ran = project.run(&["plan", "--base", "main", "--format", "json"]);
    assert_eq!(
        ran.json()["request"]["changed"][0]["path"],
        "contracts/verify.vplan"
    );
}

/// A local branch `origin/main` where the remote's is not here: nothing else has the name, but
/// something else is meant.
#[test]
fn a_local_branch_that_reads_like_a_remotes_is_not_taken_for_it() {
    let project = project();
    project.git(&["symbolic-ref", "-d", "refs/remotes/origin/HEAD"]);
    project.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    project.git(&["branch", "origin/main", "work"]);
    for remote in [true, false] {
        if !remote {
            project.git(&["remote", "remove", "origin"]);
        }
        for args in arguments("origin/main") {
            refused(
                &project,
                &args,
                &[
                    "refs/heads/origin/main",
                    "of a remote origin, which is not here",
                ],
            );
        }
        refused(
            &project,
            &["run", "--base", "origin/main~1"],
            &["refs/heads/origin/main"],
        );
    }
    project
        .run(&["run", "--all", "--contract-from", "refs/heads/origin/main"])
        .exits(0);
    project.git(&["branch", "feature/main", "work"]);
    project
        .run(&["run", "--all", "--contract-from", "feature/main"])
        .exits(0);
    project.git(&["remote", "add", "feature", "/nowhere"]);
    refused(
        &project,
        &["run", "--all", "--contract-from", "feature/main"],
        &["of a remote feature"],
    );
}
