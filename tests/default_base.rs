//! What a change is compared with when nobody says, in real repositories.

use crate::support::Project;
use vplan::base::path::RepoPath;
use vplan::effect::git::Git;
use vplan::effect::repo::changes::base::{
    BaseOrigin, BaseStatement, DefaultBase, Lacking, UnknownBase, default_base,
};
use vplan::effect::repo::changes::commit_cache::CommitCache;

fn open(project: &Project) -> Git {
    let path = std::env::var_os("PATH").unwrap();
    let home = project.parent().join("home");
    let lookup = |name: &str| match name {
        "PATH" => Some(path.clone()),
        "HOME" => Some(home.clone().into_os_string()),
        _ => None,
    };
    Git::open(&project.root(), &lookup).unwrap()
}

fn find(project: &Project) -> DefaultBase {
    default_base(&open(project), None, &CommitCache::nowhere()).unwrap()
}

fn find_stated(project: &Project, branch: &str) -> DefaultBase {
    let contract = RepoPath::parse(b"contracts/verify.vplan").unwrap();
    let statement = BaseStatement {
        branch,
        contract: &contract,
    };
    default_base(&open(project), Some(statement), &CommitCache::nowhere()).unwrap()
}

#[track_caller]
fn is_known(found: &DefaultBase, how: &BaseOrigin, reference: &str, commit: &str) {
    let id = found.commit.map(|c| c.to_string());
    assert_eq!(
        (&found.how, found.reference.as_deref(), id.as_deref()),
        (how, Some(reference), Some(commit))
    );
}

/// One commit on `main`, one more on `work`, which is checked out; a second one on `main`.
fn forked() -> (Project, String) {
    let project = Project::git_empty();
    let fork = project.write("a", "").commit("begin");
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("w", "").commit("work");
    project.git(&["checkout", "-q", "main"]);
    project.write("m", "").commit("main");
    project.git(&["checkout", "-q", "work"]);
    (project, fork)
}

fn remote(project: &Project, name: &str) {
    project.git(&["remote", "add", name, "/nowhere"]);
}

#[test]
fn a_common_name_where_no_remote_says() {
    let (project, fork) = forked();
    is_known(
        &find(&project),
        &BaseOrigin::CommonName,
        "refs/heads/main",
        &fork,
    );
    // Packed, and with a folder of its name.
    project.git(&["pack-refs", "--all"]);
    is_known(
        &find(&project),
        &BaseOrigin::CommonName,
        "refs/heads/main",
        &fork,
    );
    project.git(&["branch", "-q", "-m", "main", "trunk"]);
    is_known(
        &find(&project),
        &BaseOrigin::CommonName,
        "refs/heads/trunk",
        &fork,
    );
    project.git(&["branch", "-q", "master", "work"]);
    let head = project.git(&["rev-parse", "HEAD"]);
    is_known(
        &find(&project),
        &BaseOrigin::CommonName,
        "refs/heads/master",
        &head,
    );
    // What a remote has goes first, whatever it is called.
    remote(&project, "origin");
    project.git(&["update-ref", "refs/remotes/origin/trunk", "trunk"]);
    is_known(
        &find(&project),
        &BaseOrigin::CommonName,
        "refs/remotes/origin/trunk",
        &fork,
    );
    // A detached HEAD is on no branch.
    project.git(&["checkout", "-q", "--detach"]);
    is_known(
        &find(&project),
        &BaseOrigin::CommonName,
        "refs/remotes/origin/trunk",
        &fork,
    );
}

#[test]
fn the_head_of_origin_or_of_the_only_remote() {
    for name in ["origin", "upstream", "a/b"] {
        let (project, fork) = forked();
        remote(&project, name);
        let tracking = |branch: &str| format!("refs/remotes/{name}/{branch}");
        project.git(&["update-ref", &tracking("main"), "work"]);
        project.git(&["update-ref", &tracking("dev"), "main"]);
        project.git(&["symbolic-ref", &tracking("HEAD"), &tracking("dev")]);
        is_known(
            &find(&project),
            &BaseOrigin::RemoteHead,
            &tracking("dev"),
            &fork,
        );
        project.git(&["pack-refs", "--all"]);
        is_known(
            &find(&project),
            &BaseOrigin::RemoteHead,
            &tracking("dev"),
            &fork,
        );
        // On the default branch itself: what the remote has of it.
        project.git(&["checkout", "-q", "-B", "dev", "work"]);
        is_known(
            &find(&project),
            &BaseOrigin::RemoteHead,
            &tracking("dev"),
            &fork,
        );
    }
}

#[test]
fn several_remotes_are_none_unless_one_is_origin() {
    let (project, fork) = forked();
    for name in ["two", "one"] {
        remote(&project, name);
        project.git(&["update-ref", &format!("refs/remotes/{name}/main"), "main"]);
    }
    let found = find(&project);
    assert_eq!(
        found.unknown(),
        Some(&UnknownBase::SeveralRemotes(vec![
            "one".into(),
            "two".into()
        ]))
    );
    assert_eq!(
        found.commit.map(|c| c.to_string()),
        Some(project.git(&["rev-parse", "HEAD"]))
    );
    is_known(
        &find_stated(&project, "one/main"),
        &BaseOrigin::Statement,
        "refs/remotes/one/main",
        &fork,
    );
    remote(&project, "origin");
    project.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    is_known(
        &find(&project),
        &BaseOrigin::CommonName,
        "refs/remotes/origin/main",
        &fork,
    );
}

#[test]
fn the_branch_that_is_checked_out_is_no_base() {
    let project = Project::git_empty();
    assert_eq!(find(&project).how, BaseOrigin::Unborn);
    project.write("a", "").commit("begin");
    assert_eq!(
        find(&project).unknown(),
        Some(&UnknownBase::CheckedOut("main".into()))
    );
    assert_eq!(
        find_stated(&project, "main").unknown(),
        Some(&UnknownBase::CheckedOut("main".into()))
    );
    project.git(&["branch", "-q", "-m", "main", "topic"]);
    assert_eq!(find(&project).unknown(), Some(&UnknownBase::Nothing));
    project.git(&["branch", "-q", "-m", "topic", "main"]);
    remote(&project, "origin");
    let lacking = Lacking {
        remote: Some("origin".into()),
        branch: Some("main".into()),
        apart: false,
        shallow: false,
        follows: true,
    };
    assert_eq!(
        find(&project).unknown(),
        Some(&UnknownBase::Lacking(lacking.clone()))
    );
    assert_eq!(lacking.commands().as_deref(), Some("git fetch origin main"));
    let id = project.git(&["rev-parse", "HEAD"]);
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    is_known(
        &find(&project),
        &BaseOrigin::CommonName,
        "refs/remotes/origin/main",
        &id,
    );
}

#[test]
fn what_the_contract_names_counts_when_its_base_names_it_too() {
    let (project, fork) = forked();
    project.git(&["branch", "-q", "release", "work"]);
    // No contract at the merge base.
    is_known(
        &find_stated(&project, "main"),
        &BaseOrigin::Statement,
        "refs/heads/main",
        &fork,
    );
    let head = project.git(&["rev-parse", "HEAD"]);
    is_known(
        &find_stated(&project, "release"),
        &BaseOrigin::Statement,
        "refs/heads/release",
        &head,
    );
    // One that names nothing, another one, twice, or cannot be read.
    for text in [
        &b"vplan 1\n"[..],
        b"vplan 1\nbase \"main\"\n",
        b"vplan 1\nbase \"release\"\nbase \"release\"\n",
        b"\xff",
    ] {
        project
            .write("contracts/verify.vplan", text)
            .commit("contract");
        project.git(&["branch", "-q", "-f", "release", "work"]);
        let found = find_stated(&project, "release");
        assert_eq!(found.ignored.as_deref(), Some("release"));
        is_known(&found, &BaseOrigin::CommonName, "refs/heads/main", &fork);
    }
    project
        .write("contracts/verify.vplan", "vplan 1\nbase \"release\"\n")
        .commit("contract");
    project.git(&["branch", "-q", "-f", "release", "work"]);
    let id = project.git(&["rev-parse", "HEAD"]);
    is_known(
        &find_stated(&project, "release"),
        &BaseOrigin::Statement,
        "refs/heads/release",
        &id,
    );
    is_known(
        &find_stated(&project, "refs/heads/release"),
        &BaseOrigin::CommonName,
        "refs/heads/main",
        &fork,
    );
    // A remote's goes before the local one.
    remote(&project, "origin");
    project.git(&["update-ref", "refs/remotes/origin/release", "main"]);
    is_known(
        &find_stated(&project, "release"),
        &BaseOrigin::Statement,
        "refs/remotes/origin/release",
        &fork,
    );
    // A branch that is not here is no reason to guess another one.
    let Some(UnknownBase::Lacking(lacking)) = find_stated(&project, "gone").unknown().cloned()
    else {
        panic!()
    };
    assert_eq!(lacking.commands().as_deref(), Some("git fetch origin gone"));
}

/// A clone of a project with branches `main` and `work`, of which the last commit each is there.
fn shallow(args: &[&str]) -> (Project, Project) {
    let (origin, _) = forked();
    origin.git(&["checkout", "-q", "main"]);
    let url = format!("file://{}", origin.root().display());
    let clone = Project::bare();
    clone.git(
        &[
            &["clone", "-q", "--depth", "1", "-b", "work"],
            args,
            &[&url, "."],
        ]
        .concat(),
    );
    (origin, clone)
}

/// Runs what a person is told to run.
fn obey(clone: &Project, commands: &str) {
    for command in commands.split(" && ") {
        let words: Vec<String> = command
            .split(' ')
            .map(|w| w.trim_matches('\'').to_owned())
            .collect();
        assert_eq!(words[0], "git");
        clone.git(&words[1..].iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[test]
fn a_clone_that_lacks_the_branch_or_its_history_says_how_to_get_it() {
    for (args, want) in [
        (
            &["--no-single-branch"][..],
            "git fetch --unshallow origin main",
        ),
        (
            &[],
            "git fetch --unshallow origin '+refs/heads/*:refs/remotes/origin/*' && git remote set-head origin -a",
        ),
    ] {
        let (origin, clone) = shallow(args);
        let found = find(&clone);
        let Some(UnknownBase::Lacking(lacking)) = found.unknown() else {
            panic!("{found:?}")
        };
        assert!(lacking.shallow);
        assert_eq!(
            lacking.commands().as_deref(),
            Some(want),
            "{}",
            lacking.message()
        );
        obey(&clone, want);
        let fork = origin.git(&["merge-base", "main", "work"]);
        is_known(
            &find(&clone),
            &BaseOrigin::RemoteHead,
            "refs/remotes/origin/main",
            &fork,
        );
    }
    // The contract's line says which branch it is, which a clone of one branch does not follow.
    let (origin, clone) = shallow(&[]);
    let found = find_stated(&clone, "main");
    let Some(UnknownBase::Lacking(lacking)) = found.unknown() else {
        panic!("{found:?}")
    };
    obey(&clone, &lacking.commands().unwrap());
    let fork = origin.git(&["merge-base", "main", "work"]);
    is_known(
        &find_stated(&clone, "main"),
        &BaseOrigin::Statement,
        "refs/remotes/origin/main",
        &fork,
    );
}

#[test]
fn histories_that_have_nothing_in_common_begin_at_nothing() {
    let (project, _) = forked();
    project.git(&["checkout", "-q", "--orphan", "alone"]);
    project.commit("alone");
    is_known(
        &find(&project),
        &BaseOrigin::CommonName,
        "refs/heads/main",
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    );
}

#[test]
fn references_in_tables_are_read_by_git() {
    let project = Project::bare();
    let made = std::process::Command::new("git")
        .args(["init", "-q", "-b", "main", "--ref-format=reftable"])
        .current_dir(project.root())
        .env("HOME", project.parent().join("home"))
        .output()
        .unwrap();
    if !made.status.success() {
        eprintln!("SKIPPED: this git has no reftable");
        return;
    }
    let fork = project.write("a", "").commit("begin");
    assert_eq!(
        find(&project).unknown(),
        Some(&UnknownBase::CheckedOut("main".into()))
    );
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("w", "").commit("work");
    is_known(
        &find(&project),
        &BaseOrigin::CommonName,
        "refs/heads/main",
        &fork,
    );
    remote(&project, "origin");
    project.git(&["update-ref", "refs/remotes/origin/dev", "main"]);
    project.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/dev",
    ]);
    is_known(
        &find(&project),
        &BaseOrigin::RemoteHead,
        "refs/remotes/origin/dev",
        &fork,
    );
}

#[test]
fn a_repository_cannot_lie_about_what_comes_before_a_commit_for_longer_than_it_does() {
    let (project, fork) = forked();
    let state = project.parent().join("state");
    let kept = || CommitCache::below(state.clone(), &project.root());
    let ask = || {
        default_base(&open(&project), None, &kept())
            .unwrap()
            .commit
            .unwrap()
            .to_string()
    };
    // A graft says that `work` grew out of `main`.
    let (work, main) = (
        project.git(&["rev-parse", "work"]),
        project.git(&["rev-parse", "main"]),
    );
    project.write(".git/info/grafts", format!("{work} {main}\n"));
    ask();
    project.remove(".git/info/grafts");
    assert_eq!(ask(), fork);
    // What is kept is not asked again, and one that is damaged is.
    let file = std::fs::read_dir(&state)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path()
        .join("commits");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(&fork));
    std::fs::write(&file, text.replace(&fork, &work)).unwrap();
    assert_eq!(ask(), fork);
}

/// `base "origin/main"` is what the remote has of `main`, and no local branch of that name.
#[test]
fn a_line_with_the_name_of_the_remote() {
    let (project, fork) = forked();
    project.git(&["branch", "-q", "origin/main", "work"]);
    let Some(UnknownBase::Lacking(lacking)) =
        find_stated(&project, "origin/main").unknown().cloned()
    else {
        panic!()
    };
    assert_eq!(
        (lacking.remote, lacking.branch.as_deref()),
        (None, Some("origin/main"))
    );
    remote(&project, "origin");
    let Some(UnknownBase::Lacking(lacking)) =
        find_stated(&project, "origin/main").unknown().cloned()
    else {
        panic!()
    };
    assert_eq!(lacking.commands().as_deref(), Some("git fetch origin main"));
    project.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    is_known(
        &find_stated(&project, "origin/main"),
        &BaseOrigin::Statement,
        "refs/remotes/origin/main",
        &fork,
    );
    let head = project.git(&["rev-parse", "HEAD"]);
    is_known(
        &find_stated(&project, "refs/heads/origin/main"),
        &BaseOrigin::Statement,
        "refs/heads/origin/main",
        &head,
    );
}

#[test]
fn a_run_on_a_clean_tree_says_what_it_compared_and_what_to_try() {
    // No remote: one would be the base.
    let project = Project::git_empty();
    let contract = "vplan 1\nwhenChangedAny \"src/**\" {\n  check a: false\n}\n";
    project.write("contracts/verify.vplan", contract);
    project.write("src/a", "1").commit("begin");
    project.git(&["checkout", "-q", "-b", "work"]);
    for (args, compared, advice) in [
        (
            &["run"][..],
            "compared: the work tree against the merge base of `refs/heads/main` and `HEAD`",
            "no file changed against `refs/heads/main`; try `--all`",
        ),
        (
            &["run", "--base", "main"],
            "compared: the work tree against the merge base of `main` and `HEAD`",
            "no file changed against `main`; try `--all`",
        ),
        (
            &["run", "--staged"],
            "compared: ",
            "nothing is staged; try `--all`",
        ),
        (
            &["run", "--changed-none"],
            "compared: no changed file, as asked",
            "no changed file was named; try `--all`, `--base BRANCH`",
        ),
    ] {
        let ran = project.run(args);
        ran.exits(0)
            .says("nothing to verify")
            .says(compared)
            .says(advice);
    }
    project.run(&["run", "--all"]).exits(40);
    // Nothing says what came before: no green, and what to write.
    project.git(&["checkout", "-q", "main"]);
    project
        .run(&["run"])
        .exits(44)
        .says("the work tree against `HEAD`")
        .says("name a base with `--base REV`");
}
