//! GitHub workflows: the commands that they run for a pull request on Linux.

mod events;
mod matrix;
mod steps;

use crate::expression::{Scope, Value};
use crate::found::{Place, Reading};
use crate::shell;
use crate::sink::{Script, Sink};
use crate::source::quoted;
use crate::tasks;
use crate::tree::{DataFile, Keys, Tree, scalar, scalars};
use crate::variables::Variables;
use matrix::Cell;
pub(crate) use matrix::{is_foreign, odd_words};
use std::collections::BTreeSet;
use vplan_base::path::RepoPath;
use vplan_front::tree::{Key, Node};

/// The folders of workflows; the first that has files holds.
const FOLDERS: &[&str] = &[
    ".github/workflows",
    ".forgejo/workflows",
    ".gitea/workflows",
];
/// How deep workflows and actions of the repository call each other.
const MAX_DEPTH: usize = 3;

/// The workflows of a repository.
pub fn files(tree: &Tree) -> Vec<RepoPath> {
    let of = |folder: &&str| -> Vec<RepoPath> {
        let is_workflow = |file: &&RepoPath| {
            let name = file.name();
            file.folder().as_bytes() == folder.as_bytes()
                && (name.ends_with(b".yml") || name.ends_with(b".yaml"))
        };
        tree.files.iter().filter(is_workflow).cloned().collect()
    };
    let mut all = FOLDERS.iter().map(of);
    all.find(|files| !files.is_empty()).unwrap_or_default()
}

/// Reads these workflows, and those that they call.
pub fn read(tree: &Tree, files: &[RepoPath]) -> Reading {
    let mut reader = Reader {
        tree,
        sink: Sink::default(),
        called: BTreeSet::new(),
    };
    let mut waiting = Vec::new();
    for file in files {
        let Some(doc) = reader.sink.open(tree, file) else {
            continue;
        };
        let starts = events::read(tree, &doc);
        if starts.live.is_empty() {
            waiting.push((Place::of(file, 1), starts));
            continue;
        }
        let script = Script {
            job: String::from_utf8_lossy(file.name()).into_owned(),
            paths: starts.paths,
            ..Script::default()
        };
        reader.workflow(Flow {
            doc: &doc,
            scope: base_scope(tree),
            events: starts.live,
            chain: vec![file.clone()],
            script,
            dir: String::new(),
            shell: String::new(),
        });
    }
    for (place, starts) in waiting {
        if !reader.called.contains(&place.file) {
            reader.sink.not_read(place, None, starts.why);
        }
    }
    reader.sink.reading()
}

/// What is known of every run, whatever started it.
fn base_scope(tree: &Tree) -> Scope {
    let mut scope = Scope::default();
    scope.set("runner", Value::from_json(RUNNER, false));
    // A pull request of a fork has no secrets.
    for name in ["secrets", "matrix", "inputs"] {
        scope.set(name, Value::Map(Vec::new(), true));
    }
    scope.set("env", Value::Map(Vec::new(), false));
    scope.set("github", github(tree, "pull_request", None));
    scope
}

/// What is known of a runner.
const RUNNER: &str =
    r#"{"os": "Linux", "arch": "X64", "debug": "", "workspace": "$RUNNER_WORKSPACE"}"#;
/// What is known of the context `github` of a pull request and of any other event; `null` is empty.
const REQUEST: &str = r#"{"event_name": "pull_request", "ref_type": "branch", "ref": "refs/pull/1/merge",
    "ref_name": "1/merge", "event": {"inputs": null, "schedule": null, "release": null, "issue": null,
    "comment": null, "label": null, "action": "synchronize", "head_commit": null, "pull_request":
    {"draft": false, "merged": false, "labels": [], "title": "", "body": ""}}}"#;
const OTHER: &str = r#"{"ref_type": "branch", "base_ref": "", "event": {"inputs": null, "schedule": null,
    "release": null, "issue": null, "comment": null, "label": null, "action": null,
    "head_commit": {"message": ""}, "pull_request": null}}"#;

/// The context `github` of a run.
fn github(tree: &Tree, event: &str, action: Option<&str>) -> Value {
    let known = |text: Option<&str>| text.map_or(Value::Unknown, Value::text);
    let slug = tree.slug.as_deref();
    let main = tree.default_branch.as_deref();
    let is_request = event == "pull_request";
    let text = if is_request { REQUEST } else { OTHER };
    let mut entries = Value::from_json(text, false).entries();
    let branch = main.map(|main| format!("refs/heads/{main}"));
    let owner = slug.and_then(|slug| slug.split('/').next());
    for (key, value) in [
        ("event_name", Value::text(event)),
        ("repository", known(slug)),
        ("repository_owner", known(owner)),
        ("ref", known(branch.as_deref())),
        ("ref_name", known(main)),
        ("base_ref", known(main)),
        ("workspace", Value::text("$GITHUB_WORKSPACE")),
        ("action_path", known(action)),
    ] {
        if !entries.iter().any(|(own, _)| own == key) {
            entries.push((key.to_owned(), value));
        }
    }
    Value::Map(entries, false)
}

/// A workflow as it is started or called, a job of it, or an action, while it is read.
#[derive(Clone)]
struct Flow<'d> {
    doc: &'d DataFile,
    scope: Scope,
    events: Vec<&'static str>,
    /// The files that call each other, the current one last.
    chain: Vec<RepoPath>,
    /// What is known of its commands; the job is the start of the names of its jobs.
    script: Script,
    /// The folder and the shell of steps that say none.
    dir: String,
    shell: String,
}

impl Flow<'_> {
    /// Adds the variables of `env:`.
    fn add_env(&mut self, node: &Node, of_step: bool) {
        let mut known = self.scope.get("env").entries();
        for (key, node) in node.entries_at("env") {
            let filled = self.scope.fill(&scalar(node));
            known.retain(|(name, _)| *name != key.name);
            let (value, variable) = match filled.contains("${{") {
                // In a condition, a secret is empty.
                true => (self.scope.value(&scalar(node)), shell::Value::Unknown),
                false => (Value::text(&filled), shell::Value::Known(filled)),
            };
            known.push((key.name.clone(), value));
            self.script.variables.set(&key.name, variable, of_step);
        }
        self.scope.set("env", Value::Map(known, false));
    }

    /// The inputs of a workflow or an action that a node calls: what `with` says, else their defaults.
    fn inputs(&self, declared: &[(Key, Node)], caller: &Node, as_text: bool) -> Value {
        let input = |(key, node): &(Key, Node)| {
            let value = match (given(caller, &key.name), node.get("default")) {
                (Some(given), _) => self.scope.node(given),
                (None, Some(default)) => Scope::default().node(default),
                (None, None) => Value::text(""),
            };
            let text = value.scalar().filter(|_| as_text);
            (key.name.clone(), text.map_or(value, Value::Text))
        };
        Value::Map(declared.iter().map(input).collect(), true)
    }

    /// Whether `continue-on-error` holds of a job or a step.
    fn ignores(&self, node: &Node) -> bool {
        let condition = node.scalar_at("continue-on-error");
        !condition.is_empty() && self.scope.condition(&condition) == Some(true)
    }
}

/// What `with` gives for an input.
fn given<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    let mut with = node.entries_at("with").iter();
    let found = with.find(|(key, _)| key.name.eq_ignore_ascii_case(name));
    found.map(|(_, node)| node)
}

struct Reader<'t> {
    tree: &'t Tree,
    sink: Sink,
    called: BTreeSet<RepoPath>,
}

impl Reader<'_> {
    /// The events for which the condition of a node may hold; else the reason.
    fn events(&self, flow: &Flow<'_>, node: &Node) -> Result<Vec<&'static str>, String> {
        let condition = node.scalar_at("if");
        let action = flow.scope.get("github").get("action_path").scalar();
        let holds = |event: &&'static str| {
            let mut scope = flow.scope.clone();
            scope.set("github", github(self.tree, event, action.as_deref()));
            scope.condition(&condition) != Some(false)
        };
        let events: Vec<&'static str> = flow.events.iter().copied().filter(holds).collect();
        if events.is_empty() {
            let shown = shown(&condition);
            return Err(format!("its `if` is false for a pull request: `{shown}`"));
        }
        Ok(events)
    }

    fn workflow(&mut self, mut flow: Flow<'_>) {
        flow.script.variables = Variables::default();
        let doc = flow.doc;
        flow.add_env(&doc.root, false);
        let jobs = doc.root.entries_at("jobs");
        if jobs.is_empty() {
            let place = Place::of(&doc.file, 1);
            self.sink.not_read(place, None, "it has no jobs");
        }
        for (key, node) in jobs {
            let job = Job {
                place: doc.place(key.place),
                name: &key.name,
                node,
            };
            let mut flow = flow.clone();
            flow.script.job = format!("{}/{}", flow.script.job, key.name);
            self.job(flow, &job);
        }
    }

    fn job(&mut self, mut flow: Flow<'_>, job: &Job<'_>) {
        let node = job.node;
        flow.scope.set("matrix", Value::Unknown);
        let started = flow.events.clone();
        let part = Some(format!("job `{}`", job.name));
        match self.events(&flow, node) {
            Ok(events) => flow.events = events,
            Err(why) => return self.sink.not_read(job.place.clone(), part, why),
        }
        let matrix = node.at("strategy.matrix");
        let cells = matrix.and_then(|matrix| matrix::cells(&flow.scope, matrix));
        let unknown = matrix.is_some() && cells.is_none();
        let cells = cells.unwrap_or_else(|| vec![Cell::new()]);
        let before = self.sink.len();
        let mut elsewhere = BTreeSet::new();
        let mut is_here = false;
        for cell in &cells {
            let mut flow = flow.clone();
            if !unknown {
                flow.scope.set("matrix", Value::Map(cell.clone(), true));
            }
            let labels = labels(&flow.scope, node);
            if labels.iter().any(|label| matrix::is_foreign(label)) {
                elsewhere.extend(labels);
                continue;
            }
            is_here = true;
            let words = odd_words(&format!("{} {}", job.name, labels.join(" ")));
            let odd = matrix::oddness(cell, &cells).saturating_add(words);
            flow.script.oddness = flow.script.oddness.saturating_add(odd);
            if node.get("uses").is_some() {
                self.call(&flow, job);
            } else {
                self.sink.is_read(&job.place);
                self.steps(flow, node);
            }
        }
        if started == ["push"] && self.sink.take_commits(before, &job.place) {
            let why = "only a push starts it, and it commits what it makes";
            self.sink.not_read(job.place.clone(), part.clone(), why);
        }
        if !is_here {
            let elsewhere: Vec<String> = elsewhere.into_iter().collect();
            let why = format!("it runs on {}", elsewhere.join(", "));
            self.sink.not_read(job.place.clone(), part, why);
        }
    }

    /// Takes the repository's own task of a job's name, where a workflow of another repository is the job.
    fn own_task(&mut self, flow: &Flow<'_>, job: &Job<'_>) {
        let Some(words) = tasks::named(self.tree, job.name) else {
            return;
        };
        let script = Script {
            label: job.name.to_owned(),
            variables: Variables::default(),
            ..flow.script.clone()
        };
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let uses = job.node.get("uses").unwrap_or(job.node);
        let place = flow.doc.place(uses.place);
        let text = words.join(" ");
        self.sink.script(&place, &text, &script, |_| place.clone());
    }

    /// Reads the workflow that a job calls.
    fn call(&mut self, flow: &Flow<'_>, job: &Job<'_>) {
        let named = job.node.scalar_at("uses");
        let doc = match self.open_workflow(flow, job, &named) {
            Ok(doc) => doc,
            Err(why) => {
                let part = Some(format!("job `{}`", job.name));
                return self.sink.not_read(job.place.clone(), part, why);
            }
        };
        let on = events::on(&doc);
        let inputs = on.entries_at("workflow_call.inputs");
        let mut scope = base_scope(self.tree);
        scope.set("inputs", flow.inputs(inputs, job.node, false));
        self.workflow(Flow {
            doc: &doc,
            scope,
            chain: [&*flow.chain, std::slice::from_ref(&doc.file)].concat(),
            ..flow.clone()
        });
    }

    fn open_workflow(
        &mut self,
        flow: &Flow<'_>,
        job: &Job<'_>,
        named: &str,
    ) -> Result<DataFile, String> {
        let Some(file) = named.strip_prefix("./") else {
            self.own_task(flow, job);
            return Err(format!("a workflow of another repository: {named}"));
        };
        let Ok(file) = RepoPath::parse(file.as_bytes()) else {
            return Err(format!("`{named}` is outside of the repository"));
        };
        if flow.chain.contains(&file) {
            return Err(format!("`{named}` calls itself"));
        }
        if flow.chain.len() > MAX_DEPTH {
            let why = format!("more than {MAX_DEPTH} workflows call each other");
            return Err(format!("`{named}`: {why}"));
        }
        self.called.insert(file.clone());
        let read = self.tree.read(&file);
        read.map_err(|why| format!("`{named}`: {why}"))
    }
}

/// A job of a workflow.
struct Job<'d> {
    place: Place,
    name: &'d str,
    node: &'d Node,
}

/// The labels of the runner: a scalar, a list, or those of a mapping (`runs-on: {labels: …}`).
fn labels(scope: &Scope, job: &Node) -> Vec<String> {
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

/// A condition on one line, without `${{ }}`.
fn shown(text: &str) -> String {
    let bare = text.trim().trim_start_matches("${{").trim_end_matches("}}");
    let line = bare.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(120).collect()
}

#[cfg(test)]
mod tests;
