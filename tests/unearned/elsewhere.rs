//! An agent that wants to stop, and whose work is not where it is verified: on another branch, in
//! the stash, in another repository.

use super::hook::{
    CONTRACT, answer, blocked, entry, event, gate, passes, project, start, start_in, stop, stop_in,
};
use crate::support::Project;
use serde_json::{Value, json};
use std::process::Command;

/// What is done to a project, by its name.
type Act<'a> = (&'a str, &'a dyn Fn(&Project));

const ELSEWHERE: &str = "work of this session is not in its work tree";

/// The answer's message to people.
#[track_caller]
fn said(answer: &Value) -> &str {
    answer["systemMessage"]
        .as_str()
        .unwrap_or_else(|| panic!("nothing is said: {answer}"))
}

/// Runs git with the present time.
fn now(project: &Project, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(project.root())
        .env("HOME", project.parent());
    for name in ["GIT_AUTHOR", "GIT_COMMITTER"] {
        git.env(format!("{name}_NAME"), "A")
            .env(format!("{name}_EMAIL"), "a@b");
    }
    let out = git.args(args).output().unwrap();
    assert!(out.status.success(), "{args:?}: {out:?}");
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

/// Red work in a commit on the branch `work`.
fn commit_on_work(project: &Project) {
    project.git(&["checkout", "-q", "-b", "work"]);
    project.write("src/a", "bad\n").commit("red");
}

fn to_main(project: &Project) {
    project.git(&["checkout", "-q", "main"]);
}

#[test]
fn work_that_head_left_sends_back() {
    let acts: [Act<'_>; 14] = [
        ("another branch", &|p| {
            commit_on_work(p);
            to_main(p);
        }),
        ("detached", &|p| {
            commit_on_work(p);
            p.git(&["checkout", "-q", "--detach", "main"]);
        }),
        ("a detached commit that HEAD left", &|p| {
            p.git(&["checkout", "-q", "--detach"]);
            p.write("src/a", "bad\n").commit("red");
            to_main(p);
        }),
        ("a branch that was renamed", &|p| {
            commit_on_work(p);
            p.git(&["branch", "-q", "-m", "other"]);
            to_main(p);
        }),
        ("a tag", &|p| {
            p.write("src/a", "bad\n").commit("red");
            p.git(&["tag", "keep"]);
            p.git(&["reset", "-q", "--hard", "HEAD~1"]);
        }),
        ("another reference", &|p| {
            p.write("src/a", "bad\n").commit("red");
            p.git(&["update-ref", "refs/keep/x", "HEAD"]);
            p.git(&["reset", "-q", "--hard", "HEAD~1"]);
        }),
        ("a branch of a remote", &|p| {
            commit_on_work(p);
            p.git(&["update-ref", "refs/remotes/origin/work", "HEAD"]);
            to_main(p);
            p.git(&["branch", "-q", "-D", "work"]);
        }),
        ("an orphan branch", &|p| {
            p.git(&["checkout", "-q", "--orphan", "work"]);
            p.write("src/a", "bad\n").commit("red");
            to_main(p);
        }),
        ("a HEAD that was moved without a line in the reflog", &|p| {
            commit_on_work(p);
            p.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
            p.git(&["reset", "-q", "--hard"]);
        }),
        ("a line of the reflog that was deleted", &|p| {
            commit_on_work(p);
            to_main(p);
            p.git(&["reflog", "delete", "HEAD@{1}"]);
        }),
        ("the stash", &|p| {
            p.write("src/a", "bad\n");
            p.git(&["stash", "-q"]);
        }),
        ("a new file in the stash", &|p| {
            p.write("src/b", "bad\n");
            p.git(&["stash", "-q", "-u"]);
        }),
        ("an entry stored by hand", &|p| {
            p.write("src/a", "bad\n");
            let made = p.git(&["stash", "create"]);
            p.git(&["stash", "store", "-m", "x", &made]);
            p.git(&["checkout", "-q", "src/a"]);
        }),
        ("what a waiting rebase has put aside", &|p| {
            p.write("docs/a", "y\n").commit("docs");
            p.write("src/a", "bad\n");
            let editor = "sequence.editor=sed -i 1s/pick/edit/";
            p.git(&["-c", editor, "rebase", "-q", "-i", "--autostash", "HEAD~1"]);
        }),
    ];
    for (what, act) in acts {
        let project = project(&gate("retries 1"));
        start(&project, "s-1");
        act(&project);
        let answer = stop(&project);
        let reason = blocked(&answer);
        assert!(
            reason.contains(ELSEWHERE) && reason.contains("`src/"),
            "{what}: {reason}"
        );
        assert!(said(&answer).contains("NOT verified"), "{what}: {answer}");
        // It is never let go in silence.
        for _ in 0..2 {
            let answer = stop(&project);
            assert!(answer["decision"].is_null(), "{what}: {answer}");
            let said = said(&answer);
            assert!(
                said.contains("NOT verified") && said.contains("`src/"),
                "{what}: {said}"
            );
        }
        project.run(&["gate", "show", "--check"]).exits(20);
    }
}

/// A green file elsewhere, and a pass of what is here, make no pass of what is not.
#[test]
fn other_work_that_passes_hides_nothing() {
    let project = project(CONTRACT);
    start(&project, "s-1");
    commit_on_work(&project);
    to_main(&project);
    project.write("src/b", "ok\n").write("docs/a", "y\n");
    assert!(blocked(&stop(&project)).contains(ELSEWHERE));
    assert!(blocked(&stop(&project)).contains("attempt 2, "));
    project.run(&["gate", "show", "--check"]).exits(20);
    project.commit("green");
    assert!(blocked(&stop(&project)).contains("attempt 3, "));
    // Back there it is verified.
    project.git(&["checkout", "-q", "work"]);
    assert!(blocked(&stop(&project)).contains("`unit`"));
    project.write("src/a", "ok too\n").commit("mended");
    // What is on the other branch has passed before.
    passes(&stop(&project));
    project.git(&["merge", "-q", "-m", "both", "main"]);
    passes(&stop(&project));
    to_main(&project);
    passes(&stop(&project));
}

#[test]
fn a_reflog_that_is_gone_sends_back() {
    let acts: [Act<'_>; 3] = [
        ("removed", &|p| {
            p.remove(".git/logs/HEAD");
        }),
        ("begun anew", &|p| {
            p.remove(".git/logs/HEAD");
            p.git(&["checkout", "-q", "-b", "x"]);
            to_main(p);
        }),
        ("cut", &|p| {
            p.write(".git/logs/HEAD", "x\n");
        }),
    ];
    for (what, act) in acts {
        let project = project(CONTRACT);
        now(&project, &["commit", "-q", "--allow-empty", "-m", "new"]);
        start(&project, "s-1");
        commit_on_work(&project);
        to_main(&project);
        act(&project);
        let answer = stop(&project);
        assert!(
            blocked(&answer).contains("the reflog of `HEAD` was removed or rewritten"),
            "{what}: {answer}"
        );
    }
}

/// Neither HEAD nor the stash was ever there: it may be a neighbour's, and is named.
#[test]
fn new_references_and_work_trees_are_named() {
    let acts: [Act<'_>; 2] = [
        ("refs/heads/keep", &|p| {
            p.write("src/a", "bad\n");
            let made = now(p, &["stash", "create"]);
            p.git(&["branch", "-q", "keep", &made]);
            p.git(&["checkout", "-q", "src/a"]);
        }),
        ("refs/tags/keep", &|p| {
            p.write("src/a", "bad\n");
            now(p, &["stash", "-q"]);
            p.git(&["tag", "keep", "stash@{0}"]);
            p.git(&["stash", "drop", "-q"]);
        }),
    ];
    for (name, act) in acts {
        let project = project(CONTRACT);
        start(&project, "s-1");
        act(&project);
        let answer = stop(&project);
        assert!(
            answer["decision"].is_null() && said(&answer).contains(name),
            "{name}: {answer}"
        );
    }
    let project = project(CONTRACT);
    start(&project, "s-1");
    project.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    project.write("../side/src/a", "bad\n");
    project.git_in("../side", &["commit", "-q", "-a", "-m", "work"]);
    let answer = stop(&project);
    assert!(
        answer["decision"].is_null()
            && said(&answer).contains("/side` is a work tree that was added"),
        "{answer}"
    );
    // What is thrown away is named, too.
    let project = self::project(CONTRACT);
    start(&project, "s-1");
    project.write("src/a", "bad\n").commit("red");
    project.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let answer = stop(&project);
    assert!(
        answer["decision"].is_null() && said(&answer).contains("(commit: red), on no branch"),
        "{answer}"
    );
}

#[test]
fn a_repository_that_is_moved_removed_or_replaced_sends_back() {
    let rename = |project: &Project, from: &str, to: &str| {
        let parent = project.root().parent().unwrap().to_owned();
        std::fs::rename(parent.join(from), parent.join(to)).unwrap();
    };
    let stop_at = |project: &Project| {
        let root = project.root();
        let args = ["-C", root.to_str().unwrap(), "hook", "claude-code"];
        answer(
            &project
                .vplan(&args)
                .within("/")
                .stdin(event("Stop", "s-1"))
                .run(),
        )
    };
    let made = || {
        let project = project(&gate("retries 1"));
        start(&project, "s-1");
        project.write("src/a", "bad\n");
        let name = project
            .root()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        (project, name)
    };
    // Moved, and moved back.
    let (project, name) = made();
    rename(&project, &name, "real");
    let answer = stop_at(&project);
    assert!(
        blocked(&answer).contains("was moved or removed"),
        "{answer}"
    );
    rename(&project, "real", &name);
    assert!(said(&stop_at(&project)).contains("NOT verified"));
    project.write("src/a", "ok too\n");
    passes(&stop_at(&project));
    // Moved, and a link is in its place.
    let (project, name) = made();
    rename(&project, &name, "real");
    let parent = project.root().parent().unwrap().to_owned();
    std::os::unix::fs::symlink("real", parent.join(&name)).unwrap();
    let answer = stop_at(&project);
    assert!(
        blocked(&answer).contains("was moved or removed"),
        "{answer}"
    );
    // Replaced by a clone.
    let (project, name) = made();
    project.git(&["clone", "-q", ".", "../clone"]);
    rename(&project, &name, "real");
    rename(&project, "clone", &name);
    let answer = stop_at(&project);
    assert!(
        blocked(&answer).contains("is not the repository in which the session began"),
        "{answer}"
    );
    // Removed: in the end people are told.
    let (project, _) = made();
    std::fs::remove_dir_all(project.root()).unwrap();
    let answers: Vec<Value> = (0..4).map(|_| stop_at(&project)).collect();
    blocked(&answers[0]);
    assert!(
        answers[3]["decision"].is_null() && said(&answers[3]).contains("NOT verified"),
        "{answers:?}"
    );
    // A session that is not known has no place to be in, either.
    let run = project
        .vplan(&["-C", "/nowhere/at/all", "hook", "claude-code"])
        .within("/")
        .stdin(event("Stop", "s-9"));
    blocked(&super::hook::answer(&run.run()));
}

#[test]
fn a_session_that_was_sent_back_is_never_let_go_in_silence() {
    let acts: [Act<'_>; 2] = [
        ("taken back", &|p| drop(p.git(&["checkout", "-q", "src/a"]))),
        ("a dropped stash entry", &|p| {
            p.git(&["stash", "-q"]);
            p.git(&["stash", "drop", "-q"]);
        }),
    ];
    for (what, act) in acts {
        let project = project(CONTRACT);
        start(&project, "s-1");
        project.write("src/a", "bad\n");
        blocked(&stop(&project));
        act(&project);
        for _ in 0..3 {
            let answer = stop(&project);
            assert!(said(&answer).contains("NOT verified"), "{what}: {answer}");
        }
        project.write("src/a", "ok too\n");
        passes(&stop(&project));
    }
}

#[test]
fn a_hook_says_what_a_run_says() {
    let project = project("vplan 1\ncheck lint: sh lint.sh\n");
    project
        .write("lint.sh", "grep -q ok src/a\n")
        .commit("lint");
    super::pushed(&project);
    start(&project, "s-1");
    project.write("src/a", "bad\n").write("lint.sh", "exit 0\n");
    let answer = stop(&project);
    assert!(
        answer["decision"].is_null()
            && said(&answer).contains(
                "the change touches `lint.sh` (what it runs), which defines what `lint` does"
            ),
        "{answer}"
    );
    project.write("lint.sh", "exit 1\n");
    let answer = stop(&project);
    blocked(&answer);
    assert!(
        said(&answer).contains("the change touches `lint.sh`"),
        "{answer}"
    );
    // Newly ignored files.
    let project = self::project(CONTRACT);
    start(&project, "s-1");
    project
        .write("src/a", "ok too\n")
        .write("src/new", "bad\n")
        .write(".gitignore", "/.vplan\n/src/new\n");
    let run = project.run(&["run", "--base", "HEAD"]);
    assert!(run.out().contains("src/new"), "{}", run.out());
    let answer = stop(&project);
    assert!(
        answer["reason"].to_string().contains("src/new") || said(&answer).contains("src/new"),
        "{answer}"
    );
}

#[test]
fn subagents_have_rounds_of_their_own() {
    let project = project(&gate("retries 1"));
    start(&project, "s-1");
    let stop_of = |agent: Option<&str>| {
        let event =
            json!({"session_id": "s-1", "hook_event_name": "SubagentStop", "agent_id": agent});
        let run = project
            .vplan(&["hook", "claude-code"])
            .stdin(event.to_string());
        answer(&run.run())
    };
    passes(&stop_of(None));
    project.write("src/a", "bad\n");
    for agent in [None, Some("a-1")] {
        blocked(&stop_of(agent));
        for _ in 0..3 {
            assert!(said(&stop_of(agent)).contains("NOT verified"));
        }
    }
    assert_eq!(entry(&project, "s-1"), Value::Null);
    assert!(blocked(&stop(&project)).contains("attempt 1, "));
    assert_ne!(entry(&project, "s-1/a-1"), Value::Null);
    project
        .vplan(&["hook", "claude-code"])
        .stdin(
            json!({"session_id": "s", "hook_event_name": "SubagentStop", "agent_id": "../x"})
                .to_string(),
        )
        .run()
        .exits(1);
}

#[test]
fn honest_sessions_are_let_go_in_silence() {
    let acts: [Act<'_>; 12] = [
        ("a session that reads", &|p| {
            p.git(&["checkout", "-q", "there"]);
            to_main(p);
            p.git(&["checkout", "-q", "--detach", "there"]);
            to_main(p);
        }),
        ("a fast-forward of another branch", &|p| {
            p.git(&["checkout", "-q", "-b", "later"]);
            p.git(&["merge", "-q", "--ff-only", "there"]);
            to_main(p);
        }),
        ("a stash that is popped", &|p| {
            p.write("src/a", "ok too\n").write("src/b", "x\n");
            p.git(&["stash", "-q", "-u"]);
            p.git(&["stash", "pop", "-q"]);
        }),
        ("a stash that is applied and stays", &|p| {
            p.write("src/a", "ok too\n");
            p.git(&["stash", "-q"]);
            p.git(&["stash", "apply", "-q"]);
        }),
        ("a branch with a pass", &|p| {
            p.git(&["checkout", "-q", "-b", "work"]);
            p.write("src/a", "ok too\n").commit("green");
            passes(&stop(p));
            to_main(p);
        }),
        ("a pass before the commit", &|p| {
            p.write("src/a", "ok too\n").write("docs/a", "y\n");
            passes(&stop(p));
            p.git(&["checkout", "-q", "-b", "work"]);
            p.git(&["commit", "-q", "-m", "a part", "src/a"]);
            p.commit("all");
            to_main(p);
        }),
        ("a pass before the stash", &|p| {
            p.write("src/a", "ok too\n");
            passes(&stop(p));
            p.git(&["stash", "-q"]);
        }),
        ("an amend", &|p| {
            p.write("src/a", "bad\n").commit("one");
            p.write("src/a", "ok too\n");
            p.git(&["commit", "-q", "-a", "--amend", "-m", "two"]);
        }),
        ("a rebase of what a backup keeps", &|p| {
            p.git(&["checkout", "-q", "-b", "work"]);
            p.write("src/a", "ok too\n").commit("work");
            p.git(&["branch", "-q", "backup"]);
            p.git(&["rebase", "-q", "there"]);
        }),
        ("a squash of a branch that stays", &|p| {
            p.git(&["checkout", "-q", "-b", "work"]);
            p.write("src/a", "bad\n").commit("one");
            p.write("src/a", "ok too\n").commit("two");
            to_main(p);
            p.git(&["merge", "-q", "--squash", "work"]);
            p.commit("both");
        }),
        ("switching back and forth", &|p| {
            p.git(&["checkout", "-q", "-b", "work"]);
            p.write("src/a", "ok too\n").commit("work");
            to_main(p);
            p.git(&["checkout", "-q", "-"]);
        }),
        ("another approach", &|p| {
            p.write("src/a", "bad\n").commit("one");
            p.git(&["reset", "-q", "--hard", "HEAD~1"]);
            p.write("src/a", "ok too\n").commit("two");
        }),
    ];
    for (what, act) in acts {
        let project = project(CONTRACT);
        project.git(&["checkout", "-q", "-b", "there"]);
        project.write("README", "x\n").commit("there");
        to_main(&project);
        start(&project, "s-1");
        act(&project);
        let answer = stop(&project);
        assert_eq!(answer, json!({}), "{what}");
    }
}

#[test]
fn a_neighbour_keeps_no_session_from_stopping() {
    let acts: [Act<'_>; 4] = [
        ("commits and stashes", &|p| {
            p.write("../side/src/a", "bad\n");
            p.git_in("../side", &["commit", "-q", "-a", "-m", "work"]);
            p.write("../side/src/a", "worse\n");
            p.git_in("../side", &["stash", "-q"]);
        }),
        ("stashes on the same commit", &|p| {
            p.write("../side/src/a", "bad\n");
            p.git_in("../side", &["stash", "-q"]);
        }),
        ("stashes on the same commit, and is removed", &|p| {
            p.write("../side/src/a", "bad\n");
            p.git_in("../side", &["stash", "-q"]);
            p.git(&["worktree", "remove", "../side"]);
        }),
        ("is detached, and moved", &|p| {
            p.git_in("../side", &["checkout", "-q", "--detach"]);
            p.write("../side/src/a", "bad\n");
            p.git_in("../side", &["commit", "-q", "-a", "-m", "work"]);
            p.git(&["worktree", "move", "../side", "../moved"]);
        }),
    ];
    for (what, act) in acts {
        for changes in [false, true] {
            let project = project(CONTRACT);
            project.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
            start(&project, "s-1");
            if changes {
                project.write("src/a", "ok too\n");
            }
            act(&project);
            assert_eq!(stop(&project), json!({}), "{what} {changes}");
        }
    }
    // The stash entry of this session is its own, whatever a neighbour does.
    let project = project(CONTRACT);
    project.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    start(&project, "s-1");
    project.write("src/a", "bad\n");
    project.git(&["stash", "-q"]);
    assert!(blocked(&stop(&project)).contains("stash entry"));
    // The work tree of the session is moved away.
    let project = self::project(CONTRACT);
    project.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    start_in(&project, "../side", "s-1");
    project.write("../side/src/a", "bad\n");
    project.git(&["worktree", "move", "../side", "../moved"]);
    assert!(blocked(&stop(&project)).contains("was moved or removed"));
    assert!(blocked(&stop_in(&project, "../moved", "s-1")).contains("was moved or removed"));
}

#[test]
fn two_branches_pass_one_after_the_other() {
    let project = project(CONTRACT);
    start(&project, "s-1");
    for name in ["one", "two"] {
        project.git(&["checkout", "-q", "-b", name, "main"]);
        project.write(format!("src/{name}"), "x\n").commit(name);
    }
    to_main(&project);
    blocked(&stop(&project));
    project.git(&["checkout", "-q", "one"]);
    assert!(blocked(&stop(&project)).contains("in `refs/heads/two`"));
    project.git(&["checkout", "-q", "two"]);
    passes(&stop(&project));
    to_main(&project);
    passes(&stop(&project));
}

/// Work in a submodule is parked like that of the repository around it.
#[test]
fn work_that_a_submodule_left_sends_back() {
    let inner = |p: &Project, args: &[&str]| drop(p.git_in("src/sub", args));
    let commit = |p: &Project, text: &str| {
        p.write("src/sub/a", text);
        inner(p, &["commit", "-q", "-a", "-m", "work"]);
    };
    type Act<'a> = (&'a str, bool, &'a dyn Fn(&Project));
    let acts: [Act<'_>; 7] = [
        ("another branch", true, &|p| {
            inner(p, &["checkout", "-q", "-b", "work"]);
            commit(p, "bad\n");
            inner(p, &["checkout", "-q", "main"]);
        }),
        ("the stash", true, &|p| {
            p.write("src/sub/a", "bad\n");
            inner(p, &["stash", "-q"]);
        }),
        ("no longer checked out", true, &|p| {
            p.write("src/sub/a", "bad\n");
            inner(p, &["stash", "-q"]);
            p.git(&["submodule", "--quiet", "deinit", "src/sub"]);
        }),
        ("a stash that is popped", false, &|p| {
            p.write("src/sub/a", "ok too\n");
            inner(p, &["stash", "-q"]);
            inner(p, &["stash", "pop", "-q"]);
        }),
        ("a commit that stays", false, &|p| {
            commit(p, "ok too\n");
            p.commit("bump");
        }),
        ("a pass before the stash", false, &|p| {
            p.write("src/sub/a", "ok too\n");
            passes(&stop(p));
            inner(p, &["stash", "-q"]);
        }),
        ("a session that reads", false, &|p| {
            inner(p, &["checkout", "-q", "there"]);
            inner(p, &["checkout", "-q", "main"]);
        }),
    ];
    let sub = Project::git_with(&[("a", "ok\n")]);
    sub.git(&["checkout", "-q", "-b", "there"]);
    sub.write("a", "bad\n").commit("there");
    sub.git(&["checkout", "-q", "main"]);
    for (what, sends_back, act) in acts {
        let project = project(&CONTRACT.replace("src/a", "src/sub/a"));
        let url = sub.root().display().to_string();
        project.git(&["submodule", "--quiet", "add", &url, "src/sub"]);
        inner(&project, &["branch", "-q", "there", "origin/there"]);
        // An entry of before the session.
        project.write("src/sub/a", "older\n");
        inner(&project, &["stash", "-q"]);
        project.commit("a submodule");
        super::pushed(&project);
        start(&project, "s-1");
        act(&project);
        let answer = stop(&project);
        if sends_back {
            let reason = blocked(&answer);
            assert!(reason.contains("submodule `src/sub`"), "{what}: {reason}");
        } else {
            assert_eq!(answer, json!({}), "{what}");
        }
    }
}
