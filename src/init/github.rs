//! GitHub workflows: the commands that they run for a pull request on Linux.

mod events;
mod matrix;
mod steps;
pub(crate) mod value;

use crate::expression::{Scope, Value};
use crate::found::{Place, Reading};
use crate::shell;
use crate::sink::{Script, Sink};
use crate::source::quoted;
use crate::tasks;
use crate::tree::{DataFile, Keys, Syntax, Tree};
use crate::variables::Variables;
use matrix::Cell;
pub(crate) use matrix::{is_foreign, odd_words};
use std::collections::BTreeSet;
use value::{text_at, text_of, texts, value_of};
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
#[must_use]
pub fn files(tree: &Tree) -> Vec<RepoPath> {
    let of = |folder: &&str| -> Vec<RepoPath> {
        let is_workflow = |file: &&RepoPath| {
            let name = file.name();
            file.folder().as_bytes() == folder.as_bytes()
                && (name.ends_with(b".yml") || name.ends_with(b".yaml"))
        };
        tree.files.iter().filter(is_workflow).cloned().collect()
    };
    FOLDERS
        .iter()
        .map(of)
        .find(|files| !files.is_empty())
        .unwrap_or_default()
}

/// Reads the workflows of a repository.
#[must_use]
pub fn read(tree: &Tree) -> Reading {
    read_files(tree, &files(tree))
}

/// Reads these workflows, and those that they call.
#[must_use]
pub fn read_files(tree: &Tree, files: &[RepoPath]) -> Reading {
    let mut reader = Reader {
        tree,
        sink: Sink::default(),
        called: BTreeSet::new(),
    };
    let mut waiting = Vec::new();
    for file in files {
        let place = Place::of(file, 1);
        let doc = match tree.read(file, Syntax::YamlMerged) {
            Ok(doc) => doc,
            Err(why) => {
                reader.sink.not_read(place, None, why);
                continue;
            }
        };
        let starts = events::read(tree, &doc);
        if starts.live.is_empty() {
            waiting.push((place, starts));
            continue;
        }
        let name = String::from_utf8_lossy(file.name()).into_owned();
        let flow = Flow {
            doc: &doc,
            scope: base_scope(tree),
            events: starts.live,
            paths: starts.paths,
            job: name,
            chain: vec![file.clone()],
            oddness: 0,
        };
        reader.workflow(&flow);
    }
    for (place, starts) in waiting {
        if !reader.called.contains(&place.file) {
            let only = starts.called && starts.why == "it starts on workflow_call";
            let why = if only {
                "no workflow that is read calls it".to_owned()
            } else {
                starts.why
            };
            reader.sink.not_read(place, None, why);
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
    let text = if event == "pull_request" {
        REQUEST
    } else {
        OTHER
    };
    let mut entries = Value::from_json(text, false).entries();
    let branch = main.map(|main| format!("refs/heads/{main}"));
    for (key, value) in [
        ("event_name", Value::text(event)),
        ("repository", known(slug)),
        (
            "repository_owner",
            known(slug.and_then(|slug| slug.split('/').next())),
        ),
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

/// A workflow as it is started or called.
#[derive(Clone)]
struct Flow<'d> {
    doc: &'d DataFile,
    scope: Scope,
    events: Vec<&'static str>,
    paths: Vec<String>,
    /// The start of the names of its jobs.
    job: String,
    /// The files that call each other, the current one last.
    chain: Vec<RepoPath>,
    /// That of the cell that calls it.
    oddness: u32,
}

struct Reader<'t> {
    tree: &'t Tree,
    sink: Sink,
    called: BTreeSet<RepoPath>,
}

impl Reader<'_> {
    /// The events for which a condition may hold.
    fn events(&self, scope: &Scope, text: &str, events: &[&'static str]) -> Vec<&'static str> {
        let action = scope.get("github").get("action_path").scalar();
        let holds = |event: &&&'static str| {
            let mut scope = scope.clone();
            scope.set("github", github(self.tree, event, action.as_deref()));
            scope.condition(text) != Some(false)
        };
        events.iter().filter(holds).copied().collect()
    }

    fn workflow(&mut self, flow: &Flow<'_>) {
        let doc = flow.doc;
        let mut scope = flow.scope.clone();
        let mut variables = Variables::default();
        add_env(doc, &doc.root, &mut scope, &mut variables, false);
        let jobs = doc.root.entries_at("jobs");
        if jobs.is_empty() {
            let place = Place::of(&doc.file, 1);
            self.sink.not_read(place, None, "it has no jobs");
        }
        for (key, node) in jobs {
            let job = Job {
                place: doc.place(key.place),
                name: key.name.clone(),
                id: format!("{}/{}", flow.job, key.name),
                node,
                variables: variables.clone(),
            };
            self.job(flow, &job, scope.clone());
        }
    }

    fn job(&mut self, flow: &Flow<'_>, job: &Job<'_>, mut scope: Scope) {
        let (doc, node) = (flow.doc, job.node);
        let condition = text_at(doc, node, "if");
        scope.set("matrix", Value::Unknown);
        let events = self.events(&scope, &condition, &flow.events);
        let part = Some(format!("job `{}`", job.name));
        if events.is_empty() {
            let why = format!(
                "its `if` is false for a pull request: `{}`",
                shown(&condition)
            );
            return self.sink.not_read(job.place.clone(), part, why);
        }
        let matrix = node
            .get("strategy")
            .and_then(|strategy| strategy.get("matrix"));
        let cells = matrix.and_then(|matrix| matrix::cells(&scope, doc, matrix));
        let unknown = matrix.is_some() && cells.is_none();
        let cells = cells.unwrap_or_else(|| vec![Cell::new()]);
        let before = self.sink.len();
        let mut elsewhere = Vec::new();
        let mut here = 0_usize;
        for cell in &cells {
            if !unknown {
                scope.set("matrix", Value::Map(cell.clone(), true));
            }
            let labels = texts_filled(doc, &scope, node.get("runs-on"));
            let foreign = labels.iter().any(|label| matrix::is_foreign(label));
            if foreign {
                elsewhere.extend(labels);
                continue;
            }
            here += 1;
            let words = odd_words(&format!("{} {}", job.name, labels.join(" ")));
            let words = u32::try_from(words).unwrap_or(u32::MAX);
            let odd = matrix::oddness(cell, &cells).saturating_add(words);
            let inner = Flow {
                scope: scope.clone(),
                events: events.clone(),
                job: job.id.clone(),
                oddness: flow.oddness.saturating_add(odd),
                ..flow.clone()
            };
            if node.get("uses").is_some() {
                self.call(&inner, job);
            } else {
                self.sink.is_read(&job.place);
                self.cell(&inner, job);
            }
        }
        if flow.events == ["push"] && self.sink.take_commits(before, &job.place) {
            let why = "only a push starts it, and it commits what it makes";
            self.sink.not_read(job.place.clone(), part.clone(), why);
        }
        if here == 0 {
            elsewhere.sort();
            elsewhere.dedup();
            let why = format!("it runs on {}", elsewhere.join(", "));
            self.sink.not_read(job.place.clone(), part, why);
        }
    }

    /// Takes the repository's own task of a job's name, where a workflow of another repository is the job.
    fn own_task(&mut self, flow: &Flow<'_>, job: &Job<'_>) {
        let Some(words) = tasks::named(self.tree, &job.name) else {
            return;
        };
        let script = Script {
            label: job.name.clone(),
            job: job.id.clone(),
            paths: flow.paths.clone(),
            oddness: flow.oddness,
            ..Script::default()
        };
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let line = job.node.get("uses").map_or(1, |uses| flow.doc.line(uses));
        let place = Place::of(&flow.doc.file, line);
        let (of, dir) = (|_| place.clone(), |dir: &RepoPath| Ok(dir.clone()));
        self.sink
            .script(&place, &words.join(" "), &script, &[], of, dir);
    }

    /// Reads the workflow that a job calls.
    fn call(&mut self, flow: &Flow<'_>, job: &Job<'_>) {
        let named = text_at(flow.doc, job.node, "uses");
        let part = Some(format!("job `{}`", job.name));
        let file = named
            .strip_prefix("./")
            .map(|file| RepoPath::parse(file.as_bytes()));
        let opened = match file {
            None => {
                self.own_task(flow, job);
                Err(format!("a workflow of another repository: {named}"))
            }
            Some(Err(_)) => Err(format!("`{named}` is outside of the repository")),
            Some(Ok(file)) if flow.chain.contains(&file) => Err(format!("`{named}` calls itself")),
            Some(Ok(_)) if flow.chain.len() > MAX_DEPTH => Err(format!(
                "`{named}`: more than {MAX_DEPTH} workflows call each other"
            )),
            Some(Ok(file)) => {
                self.called.insert(file.clone());
                let read = self.tree.read(&file, Syntax::YamlMerged);
                read.map_err(|why| format!("`{named}`: {why}"))
            }
        };
        let doc = match opened {
            Ok(doc) => doc,
            Err(why) => return self.sink.not_read(job.place.clone(), part, why),
        };
        let on = doc.root.get("on").or_else(|| doc.root.get("true"));
        let call = on.and_then(|on| on.get("workflow_call"));
        let inputs = call.map_or(&[][..], |call| call.entries_at("inputs"));
        let mut scope = base_scope(self.tree);
        scope.set("inputs", inputs_of(&doc, inputs, flow, job.node, false));
        let mut chain = flow.chain.clone();
        chain.push(doc.file.clone());
        self.workflow(&Flow {
            doc: &doc,
            scope,
            job: job.id.clone(),
            chain,
            ..flow.clone()
        });
    }
}

/// A job of a workflow.
struct Job<'d> {
    place: Place,
    name: String,
    /// Its name in the repository.
    id: String,
    node: &'d Node,
    variables: Variables,
}

/// Adds the variables of `env:`.
fn add_env(
    doc: &DataFile,
    node: &Node,
    scope: &mut Scope,
    variables: &mut Variables,
    of_step: bool,
) {
    let mut known = scope.get("env").entries();
    for (key, node) in node.entries_at("env") {
        let filled = scope.fill(&text_of(doc, node));
        known.retain(|(name, _)| *name != key.name);
        if filled.contains("${{") {
            // In a condition, a secret is empty.
            let value = scope.value(&text_of(doc, node));
            known.push((key.name.clone(), value));
            variables.set(&key.name, shell::Value::Unknown, of_step);
        } else {
            known.push((key.name.clone(), Value::text(&filled)));
            variables.set(&key.name, shell::Value::Known(filled), of_step);
        }
    }
    scope.set("env", Value::Map(known, false));
}

/// The inputs of a workflow or an action: what `with` says, else their defaults.
fn inputs_of(
    doc: &DataFile,
    declared: &[(Key, Node)],
    caller: &Flow<'_>,
    with: &Node,
    as_text: bool,
) -> Value {
    let mut inputs = Vec::new();
    for (key, node) in declared {
        let mut with = with.entries_at("with").iter();
        let given = with.find(|(own, _)| own.name.eq_ignore_ascii_case(&key.name));
        let value = match (given, node.get("default")) {
            (Some((_, given)), _) => value_of(&caller.scope, caller.doc, given),
            (None, Some(default)) => value_of(&Scope::default(), doc, default),
            (None, None) => Value::text(""),
        };
        let value = match value.scalar() {
            Some(text) if as_text => Value::Text(text),
            _ => value,
        };
        inputs.push((key.name.clone(), value));
    }
    Value::Map(inputs, true)
}

/// The texts of a scalar, a list, or the lists of a mapping (`runs-on: {labels: …}`).
fn texts_filled(doc: &DataFile, scope: &Scope, node: Option<&Node>) -> Vec<String> {
    let Some(node) = node else {
        return Vec::new();
    };
    let node = node.get("labels").unwrap_or(node);
    match value_of(scope, doc, node) {
        Value::List(items) => items.iter().filter_map(Value::scalar).collect(),
        Value::Unknown => texts(doc, Some(node)),
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
