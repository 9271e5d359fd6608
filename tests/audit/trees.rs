//! Audits of real trees with real tools. Each contract lacks three things: a glob of a condition, an
//! item of `inputs`, an order.

use crate::support::Project;
use crate::support::tree::{copy, have};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use vplan::base::glob::Glob;
use vplan::base::path::RepoPath;
use vplan::check::observed::{Observed, Place, Uses};

/// What the tools make, which git ignores.
pub const IGNORED: &str = "/.vplan\n/build\n/gen\n/target\n__pycache__\ndist\nnode_modules\n";

/// Copies a tree into a repository.
pub fn copy_tree(project: &Project, name: &str) {
    let trees = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees");
    copy(&trees.join(format!("audit-{name}")), &project.root());
}

/// A repository whose programs find the toolchains of whoever runs the tests.
pub fn with_toolchains(project: Project) -> Project {
    let home = std::env::var("HOME").unwrap_or_default();
    let value = |name: &str, below: &str| std::env::var(name).unwrap_or(format!("{home}/{below}"));
    let path = std::env::var("PATH").unwrap_or_else(|_| "/bin".to_owned());
    project
        .env("CARGO_HOME", value("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", value("RUSTUP_HOME", ".rustup"))
        .env("PATH", format!("/usr/bin:{path}"))
}

/// A tree, and what its contract lacks.
struct Tree {
    name: &'static str,
    tools: &'static [&'static str],
    blind: [&'static str; 2],
    undeclared: (&'static str, &'static [&'static str]),
    unordered: [&'static str; 2],
}

const TREES: [Tree; 4] = [
    Tree {
        name: "cargo",
        tools: &["cargo"],
        blind: ["build", "app/data/greeting.txt"],
        undeclared: ("unit", &["app/tests/*.json"]),
        unordered: ["unit", "needs build"],
    },
    Tree {
        name: "pnpm",
        tools: &["pnpm"],
        blind: ["build", "packages/core/banner.txt"],
        undeclared: ("web", &["packages/web/test/*.txt"]),
        unordered: ["web", "needs install build"],
    },
    Tree {
        name: "python",
        tools: &["/usr/bin/python3", "/usr/bin/pytest"],
        blind: ["manifest", "NOTES.txt"],
        undeclared: ("unit", &["tests/data/*.csv"]),
        unordered: ["unit", "needs manifest"],
    },
    Tree {
        name: "make",
        tools: &["make", "cc"],
        blind: ["headers", "limits.txt"],
        undeclared: ("build", &["src/*.h"]),
        unordered: ["build", "needs headers"],
    },
];

impl Tree {
    /// A repository of it; none where a tool is missing.
    fn project(&self) -> Option<Project> {
        have(self.tools).then(|| self.copied())
    }

    fn copied(&self) -> Project {
        let project = with_toolchains(Project::git_empty());
        copy_tree(&project, self.name);
        project.write(".gitignore", IGNORED).commit("begin");
        project
    }

    /// Audits its contract, and mends it; then nothing is left.
    fn audit(&self) {
        let Some(project) = self.project() else {
            return;
        };
        let ran = project.run(&["audit", "--write", "--format", "json"]);
        let found = errors(&ran.exits(40).json());
        let (check, globs) = self.undeclared;
        let (blind, unordered) = (self.blind.map(str::to_owned), self.unordered);
        assert_eq!(found.len(), 3, "{found:#?}");
        assert_eq!(found["blind_spot"][..2], blind);
        assert_eq!(found["undeclared_input"][..2], [check, &globs.join(" ")]);
        let order = &found["undeclared_order"];
        assert_eq!([&order[0], &order[2]], unordered);
        // Nothing of the first run helps the second.
        project.git(&["clean", "-xfdq"]);
        let ran = project.run(&["audit", "--format", "json"]);
        let left = errors(&ran.exits(0).json());
        assert_eq!(left, BTreeMap::new());
        assert!(ran.json().get("diff").is_none());
    }
}

/// The errors of an audit, one of each kind: the check, the globs, and the line that mends it.
fn errors(document: &Value) -> BTreeMap<String, [String; 3]> {
    let mut found = BTreeMap::new();
    for finding in document["findings"].as_array().unwrap() {
        if finding["severity"] != "error" {
            continue;
        }
        let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let row = [text("check"), globs(finding).join(" "), text("line")];
        let twice = found.insert(text("kind"), row);
        assert_eq!(twice, None, "{document:#}");
    }
    found
}

fn globs(finding: &Value) -> Vec<&str> {
    let globs = finding["globs"].as_array().unwrap();
    globs.iter().map(|glob| glob.as_str().unwrap()).collect()
}

#[test]
fn a_cargo_workspace_with_a_build_script_and_a_macro() {
    TREES[0].audit();
}

#[test]
fn a_pnpm_workspace_that_reads_what_another_package_builds() {
    TREES[1].audit();
}

#[test]
fn a_python_package_with_conftest_and_data() {
    TREES[2].audit();
}

#[test]
fn make_with_generated_headers() {
    TREES[3].audit();
}

/// A run of which the steps were observed.
struct Observation {
    tracked: BTreeSet<RepoPath>,
    /// The steps in their order, and what each did.
    steps: Vec<(Value, Observed)>,
    findings: Value,
}

fn observe(project: &Project) -> Observation {
    let ran = project.run(&["audit", "--format", "json"]);
    let document = ran.json();
    let run = project.path(format!(
        ".vplan/runs/{}",
        document["runs"][0].as_str().unwrap()
    ));
    let plan = std::fs::read(run.join("plan.json")).unwrap();
    let plan: Value = serde_json::from_slice(&plan).unwrap();
    let steps = plan["steps"].as_array().unwrap().iter().map(|step| {
        let id = step["id"].as_str().unwrap();
        let reads = std::fs::read(run.join(format!("logs/{id}.1.reads"))).unwrap();
        (step.clone(), Observed::read(&reads).unwrap())
    });
    let tracked = project.git(&["ls-files"]);
    Observation {
        tracked: tracked.lines().map(path).collect(),
        steps: steps.collect(),
        findings: document["findings"].clone(),
    }
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.as_bytes()).unwrap()
}

impl Observation {
    /// The files of the repository with which the steps of a check did something.
    fn used(&self, check: &str, did: fn(&Uses) -> bool) -> BTreeSet<&RepoPath> {
        let steps = self.steps.iter().filter(|(step, _)| step["id"] == check);
        let files = steps.flat_map(|(_, observed)| &observed.files);
        let used = files.filter(|(_, uses)| did(uses));
        let inside = used.filter_map(|(place, _)| match place {
            Place::Repository(path) => Some(path),
            Place::Elsewhere(_) => None,
        });
        inside.collect()
    }

    /// The tracked files that a proposed glob selects, although nothing read them or listed their
    /// folders.
    fn too_many(&self) -> Vec<String> {
        let mut found = Vec::new();
        for finding in self.findings.as_array().unwrap() {
            if finding["kind"] != "blind_spot" && finding["kind"] != "undeclared_input" {
                continue;
            }
            let check = finding["check"].as_str().unwrap();
            let read = self.used(check, |uses| uses.read || uses.found);
            let listed = self.used(check, |uses| uses.listed);
            for text in globs(finding) {
                let glob = Glob::parse(text).unwrap();
                let selected = self.tracked.iter().filter(|path| glob.matches(path));
                let unread = selected
                    .filter(|path| !read.contains(path) && !listed.contains(&path.folder()));
                found.extend(unread.map(|path| format!("{check}: {text}: {path}")));
            }
        }
        found
    }
}

/// The tracked files that a step's command reads, as strace sees it.
fn traced(project: &Project, step: &Value, tracked: &BTreeSet<RepoPath>) -> BTreeSet<RepoPath> {
    let traces = project.parent().join("traces");
    std::fs::create_dir(&traces).unwrap();
    let words = step["argv"].as_array().unwrap().iter();
    let plain = project.vplan::<&str>(&[]).command();
    let variables = plain.get_envs().filter_map(|(n, v)| Some((n, v?)));
    let own = step["env"].as_object().unwrap().iter();
    let output = Command::new("strace")
        .args(["-ff", "-qq", "-y", "-s", "4096", "-e", "trace=%file"])
        .args(["-e", "signal=none", "-o"])
        .arg(traces.join("trace"))
        .args(words.map(|word| word.as_str().unwrap()))
        .current_dir(project.root())
        .env_clear()
        .envs(variables)
        .envs(own.map(|(name, value)| (name, value.as_str().unwrap())))
        .output()
        .unwrap();
    assert!(output.status.success(), "{step} {output:?}");
    let root = project.root().canonicalize().unwrap();
    let mut read = BTreeSet::new();
    for entry in std::fs::read_dir(&traces).unwrap() {
        let trace = std::fs::read(entry.unwrap().path()).unwrap();
        let trace = String::from_utf8_lossy(&trace);
        let files = trace.lines().filter_map(read_by);
        let inside = files.filter_map(|file| Path::new(file).strip_prefix(&root).ok());
        let inside = inside.filter_map(|file| RepoPath::parse(file.to_str()?.as_bytes()).ok());
        read.extend(inside.filter(|path| tracked.contains(path)));
    }
    std::fs::remove_dir_all(&traces).unwrap();
    read
}

/// The absolute path of the file that a call read, by its line in a trace.
fn read_by(line: &str) -> Option<&str> {
    let (call, arguments) = line.split_once('(')?;
    let quoted = || arguments.split('"').nth(1);
    match call {
        "execve" => quoted().filter(|_| line.ends_with(" = 0")),
        "open" | "openat" | "openat2" => {
            let is_no_read = ["O_WRONLY", "O_PATH", "O_DIRECTORY", "O_TRUNC"];
            if is_no_read.iter().any(|flag| arguments.contains(flag)) {
                return None;
            }
            let (_, result) = arguments.rsplit_once(" = ")?;
            result.split_once('<')?.1.strip_suffix('>')
        }
        _ => None,
    }
}

#[test]
fn what_strace_sees_is_seen() {
    let can_trace = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .status();
    if !can_trace.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: no strace, or it may not watch");
        return;
    }
    for tree in &TREES {
        let Some(project) = tree.project() else {
            continue;
        };
        let observation = observe(&project);
        assert_eq!(observation.too_many(), Vec::<String>::new());
        project.git(&["clean", "-xfdq"]);
        let mut count = 0;
        for (step, _) in &observation.steps {
            let id = step["id"].as_str().unwrap();
            let seen = observation.used(id, |uses| uses.read);
            let traced = traced(&project, step, &observation.tracked);
            let missed = traced.iter().filter(|path| !seen.contains(path));
            assert_eq!(missed.collect::<Vec<_>>(), Vec::<&RepoPath>::new(), "{id}");
            count += traced.len();
        }
        assert!(
            count > observation.tracked.len() / 2,
            "{} {count}",
            tree.name
        );
    }
}
