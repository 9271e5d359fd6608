//! What `vplan help integrations` shows works in the tools that it is for, where this machine has
//! them.

use crate::support::Project;
use crate::support::process::Bounded as _;
use crate::support::tree::is_there;
use std::ffi::OsString;
use std::process::{Command, Output, Stdio};

const TOPIC: &str = include_str!("../src/cli/integrations.md");

/// The block with this name.
fn block(kind: &str) -> &'static str {
    let (_, rest) = TOPIC
        .split_once(&format!("```{kind}\n"))
        .unwrap_or_else(|| panic!("no block {kind}"));
    rest.split_once("\n```").unwrap().0
}

/// A project whose staged change breaks its check when `broken` stands in it; `vplan` is on its
/// PATH.
fn project() -> Project {
    let project = Project::contract(
        "vplan 1\ngate {\n  retries 1\n}\nwhenChangedAny \"src/**\" {\n  check sound: grep -q good src/a\n}\n",
    );
    project.write("src/a", "good\n");
    project.commit("a good start");
    project
}

fn path() -> OsString {
    let own = std::path::Path::new(env!("CARGO_BIN_EXE_vplan"))
        .parent()
        .unwrap();
    let rest = std::env::var_os("PATH").unwrap();
    std::env::join_paths(
        [own.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&rest)),
    )
    .unwrap()
}

fn command(project: &Project, program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    let home = project.parent().join("home");
    command
        .args(args)
        .current_dir(project.root())
        .env("PATH", path())
        .env("HOME", &home);
    command
        .env("XDG_STATE_HOME", home.join("state"))
        .env_remove("GITHUB_ACTIONS")
        .stdin(Stdio::null());
    // In CI an empty change set has to be asked for.
    command.env_remove("CI");
    // Nor is this the job of the pipeline that runs the tests.
    for name in [
        "GITHUB_EVENT_NAME",
        "GITHUB_EVENT_PATH",
        "GITHUB_BASE_REF",
        "GITHUB_REF",
        "GITHUB_SHA",
    ] {
        command.env_remove(name);
    }
    command
}

fn output(project: &Project, program: &str, args: &[&str]) -> Output {
    command(project, program, args).output().unwrap()
}

fn tools(names: &[&'static str]) -> Vec<&'static str> {
    let (there, missing): (Vec<&str>, Vec<&str>) = names.iter().copied().partition(|n| is_there(n));
    if !missing.is_empty() {
        eprintln!("SKIPPED: {missing:?} not on this machine");
    }
    there
}

#[test]
fn pre_commit_and_prek() {
    for tool in tools(&["pre-commit", "prek"]) {
        let project = project();
        project.write(
            ".pre-commit-config.yaml",
            format!("{}\n", block("yaml pre-commit")),
        );
        project.write("src/a", "broken\n");
        project.git(&["add", "-A"]);
        let refused = output(&project, tool, &["run"]);
        let said = String::from_utf8_lossy(&refused.stdout).into_owned()
            + &String::from_utf8_lossy(&refused.stderr);
        assert!(
            !refused.status.success() && said.contains("sound"),
            "{tool}: {said}"
        );
        project.write("src/a", "good and new\n");
        project.git(&["add", "-A"]);
        let passed = output(&project, tool, &["run"]);
        assert!(
            passed.status.success(),
            "{tool}: {}",
            String::from_utf8_lossy(&passed.stdout)
        );
        // A deleted file must not let the hook be left out.
        project.git(&["rm", "-q", "-f", "src/a"]);
        assert!(
            !output(&project, tool, &["run"]).status.success(),
            "{tool}: a deleted file"
        );
    }
}

#[test]
fn the_hook_definition_of_this_repository() {
    let root = env!("CARGO_MANIFEST_DIR");
    for tool in tools(&["pre-commit", "prek"]) {
        // A repository of its own: the tools take the definition from a commit.
        let hooks = Project::git_with(&[(
            ".pre-commit-hooks.yaml",
            &std::fs::read_to_string(format!("{root}/.pre-commit-hooks.yaml")).unwrap(),
        )]);
        let project = project();
        let from = hooks.root().to_string_lossy().into_owned();
        project.write("src/a", "good\nand more\n");
        project.git(&["add", "-A"]);
        let tried = output(&project, tool, &["try-repo", &from, "vplan-system"]);
        let said = String::from_utf8_lossy(&tried.stdout).into_owned()
            + &String::from_utf8_lossy(&tried.stderr);
        assert!(
            tried.status.success() && said.contains("Passed"),
            "{tool}: {said}"
        );
    }
}

#[test]
fn lefthook() {
    for tool in tools(&["lefthook"]) {
        let project = project();
        project.write("lefthook.yml", format!("{}\n", block("yaml lefthook")));
        project.write("src/a", "broken\n");
        project.git(&["add", "-A"]);
        let refused = output(&project, tool, &["run", "pre-commit"]);
        assert!(
            !refused.status.success(),
            "{}",
            String::from_utf8_lossy(&refused.stdout)
        );
        project.write("src/a", "good and new\n");
        project.git(&["add", "-A"]);
        let passed = output(&project, tool, &["run", "pre-commit"]);
        assert!(
            passed.status.success(),
            "{}",
            String::from_utf8_lossy(&passed.stdout)
        );
    }
}

#[test]
fn what_runs_shards_elsewhere() {
    let project = project();
    for line in block("sh emit").lines() {
        let ran = output(&project, "sh", &["-c", line]);
        assert!(ran.status.success(), "{line}: {ran:?}");
    }
    assert!(project.exists("verify.slurm.sh"));
}

/// What is printed is what an agent runs: it is sent back when something fails, and let go when
/// everything passes.
#[test]
fn a_stop_hook() {
    let project = project();
    for line in block("sh stop-hook").lines() {
        let ran = output(&project, "sh", &["-c", line]);
        assert!(matches!(ran.status.code(), Some(0 | 40)), "{line}");
    }
    let printed = output(&project, "vplan", &["hook", "claude-code", "--print"]);
    let settings: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
    let hook = |event: &str| {
        use std::io::Write as _;
        let words = settings["hooks"][event][0]["hooks"][0]["command"]
            .as_str()
            .unwrap();
        let mut child = command(&project, "sh", &["-c", words]);
        let child = child
            .env("CLAUDE_PROJECT_DIR", project.root())
            .current_dir("/");
        let mut child = child
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let event = format!("{{\"session_id\": \"s-1\", \"hook_event_name\": \"{event}\"}}");
        child
            .stdin
            .take()
            .unwrap()
            .write_all(event.as_bytes())
            .unwrap();
        let out = child.finished();
        assert!(out.status.success());
        String::from_utf8(out.stdout).unwrap()
    };
    assert_eq!(hook("SessionStart"), "");
    assert_eq!(hook("Stop"), "{}\n");
    project.write("src/a", "broken\n");
    project.commit("work");
    let said = hook("Stop");
    assert!(
        said.contains("\"decision\":\"block\"") && said.contains("sound"),
        "{said}"
    );
    project.write("src/a", "good and new\n");
    assert_eq!(hook("Stop"), "{}\n");
}

/// The commands and the depth of the pipelines, in clones as their systems make them, for pushes
/// and requests that break the check and that do not.
#[test]
fn the_pipelines_of_github_and_gitlab() {
    let number = |kind: &str, key: &str| {
        let line = block(kind)
            .lines()
            .find_map(|l| l.trim().strip_prefix(key))
            .unwrap();
        line.trim().trim_matches('"').parse::<u32>().unwrap()
    };
    let depths = [
        number("yaml github", "fetch-depth:"),
        number("yaml gitlab", "GIT_DEPTH:"),
    ];
    let commands = ["yaml github", "yaml gitlab"].map(|kind| {
        let lines: Vec<&str> = block(kind)
            .lines()
            .filter(|l| l.contains("vplan run"))
            .collect();
        let [line] = lines.as_slice() else {
            panic!("{lines:?}")
        };
        line.trim()
            .trim_start_matches("- ")
            .trim_start_matches("run: ")
            .to_owned()
    });
    for good in [true, false] {
        let origin = project();
        let content = if good { "good and new\n" } else { "broken\n" };
        let old = origin.git(&["rev-parse", "main"]);
        origin.git(&["checkout", "-q", "-b", "work"]);
        let first = origin.write("src/a", content).commit("the change");
        let head = origin.write("README", "words\n").commit("words");
        origin.git(&["checkout", "-q", "--detach", "main"]);
        origin.git(&["merge", "-q", "--no-ff", "-m", "merge", "work"]);
        let merge = origin.git(&["rev-parse", "HEAD"]);
        // Afterwards it is pushed to the default branch.
        for (job, at, before) in [
            ("request", &merge, None),
            ("branch", &head, Some(first.as_str())),
            (
                "branch",
                &head,
                Some("0000000000000000000000000000000000000000"),
            ),
            ("default", &merge, Some(old.as_str())),
        ] {
            origin.git(&[
                "branch",
                "-f",
                "main",
                if job == "default" { &merge } else { &old },
            ]);
            for (system, command) in commands.iter().enumerate() {
                let clone = checked_out(&origin, at, depths[system]);
                let mut shell = self::command(&clone, "sh", &["-c", command]);
                match system {
                    0 => github(&clone, &mut shell, (job, at, before), &head),
                    _ => gitlab(&mut shell, (job, at, before)),
                }
                let out = shell.output().unwrap();
                let said = String::from_utf8_lossy(&out.stdout).into_owned()
                    + &String::from_utf8_lossy(&out.stderr);
                assert_eq!(
                    out.status.code(),
                    Some(if good { 0 } else { 40 }),
                    "{system} {job} {before:?}: {said}"
                );
                assert!(clone.read("vplan.xml").contains("sound"), "{system} {job}");
            }
        }
    }
}

/// A clone with the branches that are fetched along with the commit.
fn checked_out(origin: &Project, at: &str, depth: u32) -> Project {
    let clone = Project::git_empty();
    clone.git(&[
        "remote",
        "add",
        "origin",
        &format!("file://{}", origin.root().display()),
    ]);
    let own = format!("+{at}:refs/checkout");
    match depth {
        0 => clone.git(&[
            "fetch",
            "-q",
            "origin",
            "+refs/heads/*:refs/remotes/origin/*",
            &own,
        ]),
        depth => clone.git(&["fetch", "-q", &format!("--depth={depth}"), "origin", &own]),
    };
    clone.git(&["checkout", "-q", "--detach", at]);
    clone
}

fn github(
    clone: &Project,
    shell: &mut Command,
    (job, at, before): (&str, &str, Option<&str>),
    head: &str,
) {
    let mut event = serde_json::json!({"repository": {"default_branch": "main"}});
    let (name, reference) = match job {
        "request" => {
            event["pull_request"] =
                serde_json::json!({"base": {"ref": "main"}, "head": {"ref": "work", "sha": head}});
            shell.env("GITHUB_BASE_REF", "main");
            ("pull_request", "refs/pull/7/merge")
        }
        "branch" => ("push", "refs/heads/work"),
        _ => ("push", "refs/heads/main"),
    };
    if let Some(before) = before {
        event["before"] = before.into();
    }
    clone.write("../event.json", event.to_string());
    shell
        .env("CI", "true")
        .env("GITHUB_EVENT_NAME", name)
        .env("GITHUB_REF", reference)
        .env("GITHUB_SHA", at);
    shell.env("GITHUB_EVENT_PATH", clone.path("../event.json"));
}

fn gitlab(shell: &mut Command, (job, at, before): (&str, &str, Option<&str>)) {
    shell
        .env("CI", "true")
        .env("GITLAB_CI", "true")
        .env("CI_DEFAULT_BRANCH", "main")
        .env("CI_COMMIT_SHA", at);
    shell.env(
        "CI_COMMIT_BEFORE_SHA",
        before.unwrap_or("0000000000000000000000000000000000000000"),
    );
    match job {
        "request" => {
            shell
                .env("CI_PIPELINE_SOURCE", "merge_request_event")
                .env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main");
        }
        branch => {
            let branch = if branch == "branch" { "work" } else { "main" };
            shell
                .env("CI_PIPELINE_SOURCE", "push")
                .env("CI_COMMIT_BRANCH", branch);
        }
    }
}

/// What the CI snippets run is a command line that vplan takes.
#[test]
fn the_snippets_say_what_vplan_understands() {
    for line in TOPIC.lines().filter_map(|l| {
        l.trim()
            .trim_start_matches("- ")
            .split_once("vplan run")
            .map(|(_, r)| r)
    }) {
        let line = line.replace("\"$subject\"", "someone");
        let words = line
            .split(['>', '`', ';'])
            .next()
            .unwrap()
            .split_whitespace();
        let words: Vec<&str> = std::iter::once("run").chain(words).collect();
        let words: Vec<&str> = words.into_iter().chain(["--help"]).collect();
        let help = Command::new(env!("CARGO_BIN_EXE_vplan"))
            .args(&words)
            .output()
            .unwrap();
        assert!(help.status.success(), "{words:?}");
    }
}
