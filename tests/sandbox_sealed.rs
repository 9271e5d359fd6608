//! The level `sealed`: what exists for a step, what of what it makes stays, and what is said of it. What it
//! is refused is in `sandbox`, its mechanism in `sealed`.

use crate::sandbox::{FILTER, seals};
use crate::support::{Project, Ran, SYSTEM_PATH};
use serde_json::{Value, json};

pub const USUAL: &str = "  inputs \"work.sh\" \"src/**\"\n  writes \"out/**\"\n";

pub fn contract(lines: &str) -> String {
    format!("vplan 1\ncheck a {{\n  run sh work.sh\n{lines}  sandbox sealed\n}}\n")
}

pub fn project(lines: &str, work: &str) -> Option<Project> {
    let project = Project::contract(&contract(lines)).env("PATH", SYSTEM_PATH);
    project
        .write(".gitignore", ".vplan/\nout/\n")
        .write("work.sh", work)
        .write("src/a", "a\n")
        .write("secret", "secret\n")
        .write("../outside", "outside\n");
    project.commit("begin");
    seals(&project, &[]).then_some(project)
}

pub fn run(project: &Project) -> Ran {
    project.run(&["run", "--all", "--format", "json"])
}

pub fn step(ran: &Ran) -> Value {
    ran.json()["steps"][0].clone()
}

#[test]
fn what_is_not_declared_does_not_exist() {
    let work = r#"
set -e
test ! -e secret
test ! -e .git
test ! -e contracts
test ! -e ../outside
test "$(ls -A | tr '\n' ' ')" = "out src work.sh "
test "$(uname -n)" = vplan
test "$TMPDIR" = /tmp
test "$(ls -d /proc/[0-9]* | wc -l)" -lt 10
"#;
    let Some(project) = project(USUAL, work) else {
        return;
    };
    let ran = run(&project);
    let step = step(ran.exits(0));
    assert_eq!(step["inputs"], "enforced", "{step}");
    let reached = json!([
        "absence",
        "network-off",
        "no-privileges",
        "no-survivor",
        "no-tampering",
        "reads",
        "sockets",
        "writes"
    ]);
    assert_eq!(step["sandbox"]["reached"], reached);
    assert_eq!(step["sandbox"]["network"], "off");
    assert_eq!(ran.json()["containment"], "namespace");
    // A check that is not sealed is contained as without.
    let both = contract(USUAL) + "check b: true\n";
    project.write("contracts/verify.vplan", both);
    assert_eq!(run(&project).exits(0).json()["containment"], "subtree");
}

#[test]
fn products_stay_and_nothing_else_does() {
    let lines = "  inputs \"work.sh\" \"src/**\"\n  produces \"out/*.bin\"\n";
    let work = "set -e\ntest ! -e out/cache\ntest ! -e out/tool.bin\necho 1 > out/cache\necho 1 > /tmp/mine\n\
                cat src/a > out/tool.bin\nchmod 750 out/tool.bin\n";
    let Some(project) = project(lines, work) else {
        return;
    };
    for (content, status) in [("a\n", "passed"), ("a\n", "cached"), ("b\n", "passed")] {
        project.write("src/a", content);
        let step = step(run(&project).exits(0));
        assert_eq!(step["status"], status, "{step}");
        assert_eq!(project.read("out/tool.bin"), content);
        assert!(!project.path("out/cache").exists());
    }
    // What fails leaves no product.
    project
        .write("src/a", "c\n")
        .write("work.sh", "cat src/a > out/tool.bin\nexit 1\n");
    run(&project).exits(40);
    assert_eq!(project.read("out/tool.bin"), "b\n");
}

#[test]
fn no_product_leads_elsewhere() {
    let lines = format!("{USUAL}  produces \"out/bin/**\"\n");
    let Some(project) = project(&lines, "ln -s ../../.git/hooks out/bin/hooks\n") else {
        return;
    };
    let ran = project.run(&["run", "--all"]);
    ran.exits(5).says("leads elsewhere");
    assert!(project.path("out/bin/hooks").symlink_metadata().is_err());
    // Nor is anything copied over a link that is there.
    std::fs::remove_dir_all(project.path("out/bin")).unwrap();
    project
        .write("work.sh", "echo x > out/bin/pre-commit\n")
        .symlink("out/bin", "../.git/hooks");
    let ran = project.run(&["run", "--all"]);
    ran.exits(5);
    assert!(!project.path(".git/hooks/pre-commit").exists());
}

#[test]
fn a_network_that_is_named_is_used() {
    let Some(project) = project(USUAL, "true\n") else {
        return;
    };
    let explained = |says: &str| {
        let ran = project.run(&["explain", "--all"]);
        ran.exits(0).says(says);
    };
    explained("sandbox sealed, network off");
    project.write(
        "contracts/verify.vplan",
        contract("  inputs \"work.sh\"\n  network on\n"),
    );
    explained("sandbox sealed, network on");
    assert_eq!(step(run(&project).exits(0))["sandbox"]["network"], "on");
    project.write(
        "contracts/verify.vplan",
        "vplan 1\ncheck a {\n  run true\n  inputs \"src/**\"\n}\n",
    );
    let by_operator = ["explain", "--all", "--sandbox", "sealed"];
    project
        .run(&by_operator)
        .exits(0)
        .says("sandbox sealed, network off (asked by");
}

#[test]
fn a_pass_at_a_lower_level_does_not_stand_for_it() {
    let lines = "  inputs \"work.sh\"\n";
    let Some(project) = project(lines, "true\n") else {
        return;
    };
    let sealed = contract(lines);
    let with = |text: String| {
        project.write("contracts/verify.vplan", text);
        step(run(&project).exits(0))["status"].clone()
    };
    let files = sealed.replace("sandbox sealed", "sandbox files\n  network off");
    assert_eq!(with(files), "passed");
    assert_eq!(with(sealed.clone()), "passed");
    assert_eq!(with(sealed), "cached");
}

#[test]
fn where_it_cannot_be_nothing_starts() {
    let Some(project) = project(USUAL, "true\n") else {
        return;
    };
    // unshare and clone3, as under the profile of a container.
    let filter = ["python3", "-c", FILTER, "272:1,435:38"];
    let refused = project.vplan(&["run", "--all"]).under(&filter).run();
    refused
        .exits(5)
        .warns("vplan::sandbox::unavailable")
        .warns("`absence` does not hold");
    let less = [
        "run",
        "--all",
        "--sandbox-missing",
        "run",
        "--format",
        "json",
    ];
    let ran = project.vplan(&less).under(&filter).run();
    let step = step(ran.exits(0));
    let missing = json!(["absence", "no-survivor", "sockets"]);
    assert_eq!(step["sandbox"]["missing"], missing, "{step}");
    assert_eq!(ran.json()["coverage"], "narrowed");
    assert_eq!(ran.json()["containment"], "subtree");
    assert_ne!(step["inputs"], "enforced");
}

/// What a sealed step does that is seen: reads over links and out of its folder, what it makes, and what it
/// looks for and does not have.
const DOES: &str = r#"
cat src/a src/link ../repo/src/deep/../b /proc/self/cwd/src/c < src/d > /dev/null
cat secret data/x
test -e docs
test -e nowhere
mkdir out/deep && echo x > out/deep/made && cat out/deep/made
echo x > /tmp/x && cat /tmp/x
echo x > src/new
mkdir gen
./src/tool
true
"#;

fn seen() -> Option<Project> {
    let lines = "  inputs \"work.sh\" \"src/**\"\n  writes \"out/**\"\n";
    let project = project(lines, DOES)?;
    project
        .write(".gitignore", ".vplan/\nout/\n/gen\n")
        .write("src/b", "b\n")
        .write("src/c", "c\n")
        .write("src/d", "d\n")
        .write("src/deep/there", "")
        .write("data/x", "x\n")
        .write("docs/one.md", "x\n")
        .script("src/tool", "#!/usr/bin/env sh\ntrue\n")
        .symlink("src/link", "/proc/self/cwd/src/a");
    // An absolute link leads to where it is in the step's own root.
    std::fs::remove_file(project.path("src/link")).unwrap();
    let target = project.path("src/a");
    project.symlink("src/link", target.to_str().unwrap());
    project.commit("more");
    Some(project)
}

#[test]
fn what_a_sealed_step_does_is_seen() {
    for (who, launcher) in crate::sandbox::launchers() {
        let Some(project) = seen() else { return };
        crate::sandbox::give(&project, &launcher);
        let launched = |args: &[&str]| project.vplan(args).under(&launcher).run();
        if !seals(&project, &launcher) {
            continue;
        }
        let observed = ["run", "--all", "--observe", "--format", "json"];
        let ran = launched(&observed);
        let one = step(ran.exits(0));
        assert_eq!(one["inputs"], "enforced", "{who}");
        let run = ran.json()["runId"].as_str().unwrap().to_owned();
        let reads = project.read(&format!(".vplan/runs/{run}/logs/a.1.reads"));
        let uses = |path: &str| {
            let line = format!("{{\"file\":{{\"place\":{{\"repository\":\"{path}\"}},\"uses\":");
            let found = reads.lines().find_map(|one| one.strip_prefix(&line));
            found.unwrap_or_default().to_owned()
        };
        assert!(!reads.contains("\"gap\""), "{who}: {reads}");
        for (path, want) in [
            ("src/a", "\"read\":true"),
            ("src/link", "\"read\":true"),
            ("src/b", "\"read\":true"),
            ("src/c", "\"read\":true"),
            ("src/d", "\"read\":true"),
            ("src/tool", "\"read\":true"),
            ("secret", "\"missing\":true"),
            ("data/x", "\"missing\":true"),
            ("docs", "\"missing\":true"),
            ("nowhere", "\"missing\":true"),
            ("out/deep/made", "\"written\":true"),
            ("src/new", "\"written\":true"),
            ("gen", "\"folder\":true"),
        ] {
            assert!(uses(path).contains(want), "{who}, {path}: {reads}");
        }
        assert!(!uses("out/deep/made").contains("read"), "{who}: {reads}");
        assert!(reads.contains("/env\""), "{who}: {reads}");
    }
}

#[test]
fn an_audit_says_what_a_sealed_check_lacks() {
    let Some(project) = seen() else { return };
    let audited = project.run(&["audit", "--format", "json"]);
    let found = audited.exits(40).json();
    let of = |kind: &str, severity: &str| {
        let all = found["findings"].as_array().unwrap().iter();
        let mut all = all.filter(|one| one["kind"] == kind && one["severity"] == severity);
        let one = all.next().unwrap_or_else(|| panic!("{kind}: {found}"));
        assert!(all.next().is_none(), "{found}");
        (
            one["globs"].clone(),
            one["line"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let (globs, line) = of("undeclared_input", "error");
    assert_eq!(globs, json!(["data/x", "docs/**", "secret"]), "{found}");
    assert_eq!(
        line,
        "inputs \"work.sh\" \"src/**\" \"data/x\" \"docs/**\" \"secret\""
    );
    assert_eq!(of("undeclared_input", "warning").0, json!(["nowhere"]));
    assert_eq!(of("undeclared_write", "error").0, json!(["src/new"]));
    let (globs, line) = of("undeclared_write", "warning");
    assert_eq!(
        (globs, &*line),
        (json!(["gen/**"]), "writes \"out/**\" \"gen/**\"")
    );
    assert_eq!(found["incomplete"], json!([]));
    project
        .run(&["audit", "--write"])
        .exits(40)
        .says("was written");
    let text = project.read("contracts/verify.vplan");
    assert!(text.contains("  writes \"out/**\" \"gen/**\"\n"), "{text}");
    // Then it has them, and may not change a source.
    let after = project.run(&["audit", "--format", "json"]).exits(40).json();
    let left = after["findings"].as_array().unwrap().iter();
    let left: Vec<&Value> = left.filter(|one| one["severity"] == "error").collect();
    assert_eq!(left.len(), 1, "{after}");
    assert_eq!(left[0]["globs"], json!(["src/new"]), "{after}");
}

#[test]
fn what_a_sealed_step_hides_from_observation_is_said() {
    let lines = "  inputs \"work.sh\" \"src/**\"\n";
    for (work, why) in [
        ("unshare -Urm true\n", "changed its root or its mounts"),
        (
            "sleep 5 & cat /proc/$!/cwd/src/a; kill $!\n",
            "looked through those of another process",
        ),
    ] {
        let Some(project) = project(lines, work) else {
            return;
        };
        let audited = project.run(&["audit", "--format", "json"]);
        let said = audited.json()["incomplete"].to_string();
        // Where it is refused namespaces it has not changed anything.
        let is_refused = why.contains("mounts") && !why.contains("process") && said == "[]";
        assert!(is_refused || said.contains(why), "{work}: {said}");
    }
}

#[test]
fn what_cannot_be_put_together_is_named() {
    let lines = format!("{USUAL}  reads \"~/queue\"\n");
    let Some(project) = project(&lines, "true\n") else {
        return;
    };
    let home = project.path("../home");
    std::fs::create_dir_all(&home).unwrap();
    let mode = rustix::fs::Mode::RUSR;
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, home.join("queue"), kind, mode, 0).unwrap();
    let ran = run(&project);
    let step = step(ran.exits(5));
    let detail = step["detail"].as_str().unwrap();
    assert!(
        detail.contains("its files could not be put together"),
        "{step}"
    );
    assert!(detail.contains("home/queue`: "), "{step}");
    assert!(step["sandbox"].is_null(), "{step}");
}
