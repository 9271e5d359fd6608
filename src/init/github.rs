//! GitHub workflows: the commands that they run for a pull request on Linux.

mod events;
mod matrix;
mod steps;

use crate::expression::{Scope, Value};
use crate::found::{Place, SourceReading};
use crate::shell;
use crate::sink::{Script, Sink};
use crate::tree::{DataFile, Keys, RepositoryTree, scalar, scalars};
use crate::variables::Variables;
pub(crate) use matrix::{is_foreign, odd_words};
use std::collections::BTreeSet;
use std::rc::Rc;
use vplan_base::path::RepoPath;
use vplan_front::tree::TreeKey;
use vplan_front::tree::TreeNode;

/// The folders of workflows; the first that has files holds.
pub(crate) const FOLDERS: &[&str] = &[
    ".github/workflows",
    ".forgejo/workflows",
    ".gitea/workflows",
];
/// Why a workflow that is called is not read.
pub(crate) const ELSEWHERE: &str = "a workflow of another repository";
/// How far a workflow of some changes, and one that comes after a change, is from the usual.
const NARROW: u32 = 50;
const AFTERWARDS: u32 = 100;
/// How deep workflows and actions of the repository call each other.
const MAX_DEPTH: usize = 3;

/// The workflows of a repository.
pub fn files(tree: &RepositoryTree) -> Vec<RepoPath> {
    let of = |folder: &&str| {
        let globs = ["yml", "yaml"].map(|ending| format!("{folder}/*.{ending}"));
        tree.matching(&globs).cloned().collect()
    };
    let mut all = FOLDERS.iter().map(of);
    all.find(|files: &Vec<RepoPath>| !files.is_empty())
        .unwrap_or_default()
}

/// Reads these workflows, and those that they call.
pub fn read(tree: &RepositoryTree, files: &[RepoPath]) -> SourceReading {
    let mut reader = Reader {
        tree,
        sink: Sink::default(),
        called: BTreeSet::new(),
    };
    let mut waiting = Vec::new();
    for file in files {
        let Some(doc) = reader.sink.out.noted(file, tree.read(file)) else {
            continue;
        };
        match events::read(tree, &doc) {
            Err(why) => waiting.push((file, why)),
            Ok((event, paths)) => reader.workflow(Flow {
                doc: Rc::new(doc),
                scope: scope(tree, event),
                event,
                chain: vec![file.clone()],
                script: Script {
                    job: String::from_utf8_lossy(file.name()).into_owned(),
                    oddness: u32::from(event == "push") * AFTERWARDS
                        + u32::from(!paths.is_empty()) * NARROW,
                    paths,
                    ..Script::default()
                },
                ..Flow::default()
            }),
        }
    }
    waiting.retain(|(file, _)| !reader.called.contains(file));
    for (file, why) in waiting {
        reader.sink.out.skip(Place::new(file, 1), None, why);
    }
    reader.sink.reading()
}

/// What is known of a run, as expressions over its `event`, the repository's `slug`, `owner` and branch
/// `main`, and the pull request `pull`, which is empty for other events. A pull request of a fork has
/// no secrets.
const KNOWN: &str = r#"{
    "runner": {"os": "Linux", "arch": "X64", "debug": "", "workspace": "$RUNNER_WORKSPACE", "*": "${{ any }}"},
    "secrets": {}, "matrix": {}, "inputs": {}, "env": {"*": "${{ any }}"},
    "github": {
        "event_name": "${{ event }}", "repository": "${{ slug }}", "repository_owner": "${{ owner }}",
        "ref": "${{ pull && 'refs/pull/1/merge' || format('refs/heads/{0}', main) }}",
        "ref_name": "${{ pull && '1/merge' || main }}", "ref_type": "branch",
        "base_ref": "${{ pull && main }}", "workspace": "$GITHUB_WORKSPACE",
        "event": {
            "inputs": null, "schedule": null, "release": null, "issue": null, "comment": null,
            "label": null, "action": "${{ pull && 'synchronize' }}", "head_commit": {"message": ""},
            "pull_request": "${{ pull && fromJSON(pull) }}", "*": "${{ any }}"
        },
        "*": "${{ any }}"
    },
    "*": "${{ any }}"
}"#;
const PULL: &str = r#"{"draft": false, "merged": false, "labels": [], "title": "", "body": "", "*": "${{ any }}"}"#;

/// What is known of a run for an event.
fn scope(tree: &RepositoryTree, event: &str) -> Scope {
    let slug = tree.slug.as_deref();
    let is_pull = event == "pull_request";
    let values = [
        ("event", Some(event)),
        ("pull", Some(if is_pull { PULL } else { "" })),
        ("slug", slug),
        ("owner", slug.and_then(|slug| slug.split('/').next())),
        ("main", tree.default_branch.as_deref()),
    ];
    Scope::from_json(KNOWN, &values)
}

/// A workflow as it is started or called, a job of it, or an action, while it is read.
#[derive(Clone, Default)]
struct Flow {
    doc: Rc<DataFile>,
    scope: Scope,
    event: &'static str,
    /// The files that call each other, the current one last.
    chain: Vec<RepoPath>,
    /// What is known of its commands; the job is the start of the names of its jobs.
    script: Script,
    /// The folder and the shell of steps that say none.
    dir: String,
    shell: String,
}

impl Flow {
    /// Adds the variables of `env:`.
    fn add_env(&mut self, node: &TreeNode, of_step: bool) {
        // They do not see each other.
        let outer = self.scope.clone();
        // `env: ${{ matrix.env }}`
        let all = node.at("env").map(|env| self.scope.node(env));
        let all = all.filter(|_| node.entries_at("env").is_empty());
        for (name, value) in all.into_iter().flat_map(|all| all.entries()) {
            let text = value.scalar();
            let is_known = text.is_some();
            let variable = shell::ShellValue::keep_known(text.unwrap_or_default(), is_known);
            self.script.variables.set(&name, variable, of_step);
            self.scope.put("env", &name, value);
        }
        for (key, node) in node.entries_at("env") {
            let text = scalar(node);
            let filled = outer.fill(&text);
            let is_known = !filled.contains("${{");
            // In a condition, a secret is empty.
            let value = match is_known {
                true => Value::Text(filled.clone()),
                false => outer.value(&text),
            };
            let variable = shell::ShellValue::keep_known(filled, is_known);
            self.script.variables.set(&key.name, variable, of_step);
            self.scope.put("env", &key.name, value);
        }
    }

    /// The inputs of a workflow or an action that a node calls: what `with` says, else their defaults.
    fn inputs(&self, declared: &[(TreeKey, TreeNode)], caller: &TreeNode, as_text: bool) -> Value {
        let input = |(key, node): &(TreeKey, TreeNode)| {
            let value = match (given(caller, &key.name), node.get("default")) {
                (Some(given), _) => self.scope.node(given),
                (None, Some(default)) => Scope::default().node(default),
                (None, None) => Value::text(""),
            };
            let text = value.scalar().filter(|_| as_text);
            (key.name.clone(), text.map_or(value, Value::Text))
        };
        Value::Map(declared.iter().map(input).collect())
    }

    /// Reads `continue-on-error` of a job or a step.
    fn ignore(&mut self, node: &TreeNode) {
        let condition = node.scalar_at("continue-on-error");
        if !condition.is_empty() && self.scope.condition(&condition) == Some(true) {
            self.script.ignored = Some("continue-on-error".to_owned());
        }
    }

    /// The error says that the condition of a node does not hold.
    fn condition(&self, node: &TreeNode) -> Result<(), String> {
        let condition = node.scalar_at("if");
        if self.scope.condition(&condition) != Some(false) {
            return Ok(());
        }
        let bare = condition.trim().trim_start_matches("${{");
        let words = bare.trim_end_matches("}}").split_whitespace();
        let line = words.collect::<Vec<_>>().join(" ");
        let shown: String = line.chars().take(120).collect();
        Err(format!("its `if` is false for a pull request: `{shown}`"))
    }

    /// Reads a file that is called.
    fn open(&self, tree: &RepositoryTree, file: &RepoPath) -> Result<DataFile, String> {
        if self.chain.contains(file) {
            return Err("it calls itself".to_owned());
        }
        if self.chain.len() > MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} call each other"));
        }
        tree.read(file)
    }

    /// The same in a file that is called.
    fn inside(&self, doc: DataFile, scope: Scope) -> Self {
        let mut inside = self.clone();
        inside.chain.push(doc.file.clone());
        (inside.doc, inside.scope) = (Rc::new(doc), scope);
        (inside.dir, inside.shell) = (String::new(), String::new());
        inside
    }
}

/// What `with` gives for an input.
fn given<'n>(node: &'n TreeNode, name: &str) -> Option<&'n TreeNode> {
    let mut with = node.entries_at("with").iter();
    let found = with.find(|(key, _)| key.name.eq_ignore_ascii_case(name));
    found.map(|(_, node)| node)
}

struct Reader<'t> {
    tree: &'t RepositoryTree,
    sink: Sink,
    called: BTreeSet<RepoPath>,
}

impl Reader<'_> {
    fn workflow(&mut self, mut flow: Flow) {
        flow.script.variables = Variables::default();
        let doc = Rc::clone(&flow.doc);
        flow.add_env(&doc.root, false);
        let jobs = doc.root.entries_at("jobs");
        if jobs.is_empty() {
            let place = Place::new(&doc.file, 1);
            self.sink.out.skip(place, None, "it has no jobs");
        }
        for (key, node) in jobs {
            let mut flow = flow.clone();
            flow.script.job = format!("{}/{}", flow.script.job, key.name);
            let place = doc.place(key.place);
            let read = self.job(flow, &place, &key.name, node);
            self.sink.out.note(place, &key.name, read);
        }
    }

    /// Reads a job for each cell of its matrix.
    fn job(
        &mut self,
        mut flow: Flow,
        place: &Place,
        name: &str,
        node: &TreeNode,
    ) -> Result<(), String> {
        flow.scope.set("matrix", Value::Unknown);
        flow.condition(node)?;
        let cells = matrix::cells(&flow.scope, node.at("strategy.matrix"));
        let before = self.sink.out.found.len();
        let mut elsewhere = BTreeSet::new();
        let mut is_here = false;
        for cell in &cells {
            let mut flow = flow.clone();
            flow.scope.set("matrix", Value::Map(cell.clone()));
            let labels = labels(&flow.scope, node);
            if labels.iter().any(|label| matrix::is_foreign(label)) {
                elsewhere.extend(labels);
                continue;
            }
            is_here = true;
            let words = odd_words(&format!("{name} {}", labels.join(" ")));
            let odd = matrix::oddness(cell, &cells).saturating_add(words);
            flow.script.oddness = flow.script.oddness.saturating_add(odd);
            if node.get("uses").is_some() {
                self.call(&flow, node)?;
            } else {
                self.sink.read.insert(place.clone());
                let jobs = &mut self.sink.out.jobs;
                jobs.insert(flow.script.job.clone(), place.clone());
                self.steps(flow, node);
            }
        }
        let release = (flow.event == "push").then(|| self.sink.take_release(before, place, name));
        if let Some(how) = release.flatten() {
            return Err(format!("only a push starts it, and it {how}"));
        }
        if !is_here {
            let elsewhere: Vec<String> = elsewhere.into_iter().collect();
            return Err(format!("it runs on {}", elsewhere.join(", ")));
        }
        Ok(())
    }

    /// Reads the workflow that a job calls.
    fn call(&mut self, flow: &Flow, node: &TreeNode) -> Result<(), String> {
        let named = node.scalar_at("uses");
        let Some(file) = named.strip_prefix("./") else {
            return Err(format!("{ELSEWHERE}: {named}"));
        };
        let file = RepoPath::parse(file.as_bytes())
            .map_err(|_| format!("`{named}` is outside of the repository"))?;
        let doc = flow.open(self.tree, &file);
        self.called.insert(file);
        let doc = doc.map_err(|why| format!("`{named}`: {why}"))?;
        let inputs = doc.root.entries_at("on.workflow_call.inputs");
        let mut scope = scope(self.tree, flow.event);
        scope.set("inputs", flow.inputs(inputs, node, false));
        self.workflow(flow.inside(doc, scope));
        Ok(())
    }
}

/// The labels of the runner: a scalar, a list, or those of a mapping (`runs-on: {labels: …}`).
fn labels(scope: &Scope, job: &TreeNode) -> Vec<String> {
    let Some(node) = job.get("runs-on") else {
        return Vec::new();
    };
    let node = node.get("labels").unwrap_or(node);
    match scope.node(node) {
        Value::List(items) => items.iter().filter_map(Value::scalar).collect(),
        Value::Unknown => scalars(node),
        value => value.scalar().into_iter().collect(),
    }
}

#[cfg(test)]
mod tests;
