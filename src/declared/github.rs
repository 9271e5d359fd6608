//! Reads GitHub workflows (also Forgejo's and Gitea's): which of them judge a change, and the
//! commands of their jobs.

mod actions;
mod env;
mod events;
mod expression;
mod filter;
mod globs;
mod jobs;
mod matrix;
mod rust;
mod steps;
mod tox;

use super::candidate::{Declarations, Origin, Reason, State, When};
use super::script::{self, Job, Script};
use super::tree::{DataFile, Syntax, Tree};
use crate::base::path::RepoPath;
use crate::front::tree::{Node, Value as Read};
use env::Env;
use expression::{Scope, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The folders of workflows.
const FOLDERS: &[&str] = &[
    ".github/workflows",
    ".forgejo/workflows",
    ".gitea/workflows",
];
/// How deep workflows and actions may call each other.
const MAX_DEPTH: usize = 4;
/// The most steps that are read in all.
const MAX_STEPS: usize = 5000;

/// Reads what is declared there.
pub fn read(tree: &Tree, found: &mut Declarations) {
    read_files(tree, &workflows(tree), found);
}

/// Reads these workflows, wherever they are.
pub fn read_files(tree: &Tree, files: &[RepoPath], found: &mut Declarations) {
    read_with(tree, files, found, script::read);
}

/// The reader of a script's commands.
type Take = fn(&Tree, &mut Job, &Script<'_>, &mut Declarations);

fn read_with(tree: &Tree, files: &[RepoPath], found: &mut Declarations, take: Take) {
    let mut reader = Reader {
        tree,
        take,
        documents: BTreeMap::new(),
        called: BTreeSet::new(),
        left: MAX_STEPS,
    };
    let mut dead = Vec::new();
    for file in files {
        let doc = match reader.open(file) {
            Ok(doc) => doc,
            Err(why) => {
                let what = format!("workflow `{}`", name_of(file));
                found.skip(place(file, 1, ""), what, Reason::NotRead, why);
                continue;
            }
        };
        let starts = events::read(tree, &doc);
        if starts.live.is_empty() {
            dead.push((doc, starts));
            continue;
        }
        let mut scope = base_scope(tree);
        scope.set("inputs", Value::Map(Vec::new()));
        let flow = Flow {
            doc: &doc,
            scope,
            events: starts.live,
            when: starts.when,
            tier: 0,
            caller: None,
            notes: Vec::new(),
            condition: None,
            depth: 0,
        };
        reader.workflow(found, &flow);
    }
    for (doc, starts) in dead {
        if !(starts.called && reader.called.contains(&doc.file)) {
            reader.without_a_change(found, &doc, &starts);
        }
    }
}

/// The tracked workflows.
fn workflows(tree: &Tree) -> Vec<RepoPath> {
    let folders: Vec<RepoPath> = FOLDERS
        .iter()
        .filter_map(|folder| RepoPath::parse(folder.as_bytes()).ok())
        .collect();
    let all: BTreeSet<&RepoPath> = tree.texts.keys().chain(tree.unread.keys()).collect();
    all.into_iter()
        .filter(|file| {
            folders.iter().any(|folder| {
                file.below(folder).is_some_and(|name| {
                    !name.contains(&b'/') && (name.ends_with(b".yml") || name.ends_with(b".yaml"))
                })
            })
        })
        .cloned()
        .collect()
}

fn name_of(file: &RepoPath) -> String {
    String::from_utf8_lossy(file.name()).into_owned()
}

fn place(file: &RepoPath, line: u32, label: &str) -> Origin {
    Origin {
        file: file.clone(),
        line,
        label: label.to_owned(),
    }
}

/// The text of a scalar as GitHub reads it: empty for lists and mappings.
fn text_of(doc: &DataFile, node: &Node) -> String {
    match &node.value {
        Read::Text(text) => text.clone(),
        Read::Bool(yes) => yes.to_string(),
        Read::Whole(n) => n.to_string(),
        Read::Other => {
            let raw = doc.raw(node);
            raw.parse::<f64>()
                .map_or_else(|_| raw.to_owned(), |n| n.to_string())
        }
        Read::Null | Read::List(_) | Read::Map(_) => String::new(),
    }
}

/// A value of YAML with its expressions evaluated. Recursion is bounded by the reader of YAML.
fn value_of(scope: &Scope<'_>, doc: &DataFile, node: &Node) -> Value {
    match &node.value {
        Read::Null => Value::Null,
        Read::Bool(yes) => Value::Bool(*yes),
        Read::List(items) => Value::List(
            items
                .iter()
                .map(|item| value_of(scope, doc, item))
                .collect(),
        ),
        Read::Map(entries) => Value::Map(
            entries
                .iter()
                .map(|(key, node)| (key.name.clone(), value_of(scope, doc, node)))
                .collect(),
        ),
        Read::Whole(_) | Read::Other => {
            let text = text_of(doc, node);
            text.parse()
                .map_or_else(|_| Value::Text(text), Value::Number)
        }
        Read::Text(text) => {
            let trimmed = text.trim();
            let single = trimmed.starts_with("${{")
                && trimmed.ends_with("}}")
                && trimmed.matches("${{").count() == 1;
            if single {
                return scope.evaluate(trimmed);
            }
            let filled = scope.fill(text);
            if filled.contains("${{") {
                Value::unknown()
            } else {
                Value::Text(filled)
            }
        }
    }
}

/// What is known of every run, whatever started it.
fn base_scope(tree: &Tree) -> Scope<'_> {
    let mut scope = Scope {
        contexts: Vec::new(),
        files: Some(&tree.files),
    };
    let runner = vec![
        ("os".to_owned(), Value::text("Linux")),
        ("arch".to_owned(), Value::text("X64")),
        ("debug".to_owned(), Value::Null),
    ];
    scope.set("runner", Value::Partial(runner));
    scope.set("secrets", Value::Map(Vec::new()));
    scope.set("matrix", Value::Map(Vec::new()));
    scope.set("needs", Value::Partial(Vec::new()));
    scope.set("github", github(tree, "pull_request"));
    scope
}

/// The context `github` of a run that an event with a change has started.
fn github(tree: &Tree, event: &str) -> Value {
    let entry = |key: &str, value: Value| (key.to_owned(), value);
    let slug = tree.slug.as_deref();
    let owner = slug.and_then(|slug| slug.split('/').next());
    let known = |text: Option<&str>| text.map_or_else(Value::unknown, Value::text);
    let main = tree.default_branch.as_deref();
    let repository = Value::Partial(vec![entry("full_name", known(slug))]);
    let mut payload = vec![
        entry("inputs", Value::Null),
        entry("schedule", Value::Null),
        entry("release", Value::Null),
        entry("issue", Value::Null),
        entry("comment", Value::Null),
        entry("label", Value::Null),
        entry("workflow_run", Value::Null),
    ];
    let mut all = vec![
        entry("event_name", Value::text(event)),
        entry("repository", known(slug)),
        entry("repository_owner", known(owner)),
        entry("ref_type", Value::text("branch")),
    ];
    match event {
        "pull_request" => {
            // Labels and messages contain nothing.
            payload.push(entry("action", Value::text("synchronize")));
            payload.push(entry("head_commit", Value::Null));
            let head = Value::Partial(vec![entry("repo", repository)]);
            payload.push(entry(
                "pull_request",
                Value::Partial(vec![
                    entry("draft", Value::Bool(false)),
                    entry("merged", Value::Bool(false)),
                    entry("labels", Value::List(Vec::new())),
                    entry("title", Value::text("")),
                    entry("body", Value::text("")),
                    entry("head", head),
                ]),
            ));
            all.push(entry("ref", Value::text("refs/pull/1/merge")));
            all.push(entry("base_ref", known(main)));
        }
        "push" => {
            payload.push(entry("action", Value::Null));
            payload.push(entry("pull_request", Value::Null));
            payload.push(entry(
                "head_commit",
                Value::Partial(vec![entry("message", Value::text(""))]),
            ));
            let name = main.map(|name| format!("refs/heads/{name}"));
            all.push(entry("ref", known(name.as_deref())));
            all.push(entry("ref_name", known(main)));
            all.push(entry("head_ref", Value::text("")));
            all.push(entry("base_ref", Value::text("")));
        }
        _ => {
            payload.push(entry("pull_request", Value::Null));
            payload.push(entry(
                "head_commit",
                Value::Partial(vec![entry("message", Value::text(""))]),
            ));
        }
    }
    all.push(entry("event", Value::Partial(payload)));
    Value::Partial(all)
}

/// A run of a workflow.
struct Flow<'f> {
    doc: &'f DataFile,
    /// What its expressions mean, but for what the event decides.
    scope: Scope<'f>,
    /// The events that start it.
    events: Vec<&'static str>,
    when: When,
    /// The least tier of its jobs.
    tier: u8,
    /// The job that calls it.
    caller: Option<String>,
    notes: Vec<String>,
    condition: Option<String>,
    depth: usize,
}

/// What is read, and what was seen of it.
struct Reader<'t> {
    tree: &'t Tree,
    take: Take,
    documents: BTreeMap<RepoPath, Result<Rc<DataFile>, String>>,
    /// Workflows that a live one calls.
    called: BTreeSet<RepoPath>,
    /// Steps that may still be read.
    left: usize,
}

/// A script of a step on its way to the reader of scripts.
struct Work<'w> {
    text: &'w str,
    line: u32,
    label: String,
    dir: Result<RepoPath, String>,
    env: BTreeMap<String, String>,
    /// The names of secrets in the environment of this step.
    secrets: Vec<String>,
    condition: Option<String>,
    /// A remark on what was changed.
    note: Option<String>,
    /// The reason why it is left out as a whole.
    out: Option<(Reason, String)>,
}

impl Reader<'_> {
    fn open(&mut self, file: &RepoPath) -> Result<Rc<DataFile>, String> {
        if let Some(known) = self.documents.get(file) {
            return known.clone();
        }
        let read = self.tree.read(file, Syntax::YamlMerged).map(Rc::new);
        self.documents.insert(file.clone(), read.clone());
        read
    }

    /// Takes a step from what may be read.
    fn step(&mut self) -> bool {
        let more = self.left > 0;
        self.left = self.left.saturating_sub(1);
        more
    }

    /// Reads the commands of a script into candidates.
    fn script(&self, found: &mut Declarations, job: &mut Job, work: Work<'_>) {
        let start = found.candidates.len();
        let (dir, out) = match (work.dir, work.out) {
            (dir, Some(out)) => (dir.unwrap_or_default(), Some(out)),
            (Ok(dir), None) => (dir, None),
            (Err(why), None) => (RepoPath::root(), Some((Reason::Unknown, why))),
        };
        let script = Script {
            text: work.text,
            line: work.line,
            label: work.label,
            dir,
            env: work.env,
            condition: work.condition,
        };
        if let Some((reason, why)) = out {
            // It leaves nothing for later steps.
            let mut job = job.clone();
            (self.take)(self.tree, &mut job, &script, found);
            leave_out(found, start, reason, &why);
            return;
        }
        let notes = job.notes.len();
        job.notes.extend(work.note);
        let secrets = job.secrets.len();
        job.secrets.extend(work.secrets.iter().cloned());
        (self.take)(self.tree, job, &script, found);
        job.notes.truncate(notes);
        job.secrets.truncate(secrets);
        let serious = work.secrets.iter().find(|name| !env::is_harmless(name));
        for candidate in found.candidates.iter_mut().skip(start) {
            if candidate.state != State::Open {
                continue;
            }
            if let Some(name) = serious {
                candidate.leave_out(Reason::Secret, format!("`{name}`"));
            } else if let Some(why) = other_machine(&candidate.text()) {
                candidate.leave_out(Reason::Machine, why);
            }
        }
    }

    /// Accounts for a workflow that starts without a change.
    fn without_a_change(
        &mut self,
        found: &mut Declarations,
        doc: &DataFile,
        starts: &events::Starts,
    ) {
        let Some(Read::Map(jobs)) = doc.root.get("jobs").map(|node| &node.value) else {
            let what = format!("workflow `{}`", name_of(&doc.file));
            let why = "it has no jobs".to_owned();
            found.skip(place(&doc.file, 1, ""), what, Reason::NotRead, why);
            return;
        };
        let why = if starts.others.is_empty() {
            "no workflow that judges a change calls it".to_owned()
        } else {
            format!("started by {}", starts.others.join(", "))
        };
        let what = format!("workflow `{}`", name_of(&doc.file));
        found.skip(place(&doc.file, 1, ""), what, Reason::Occasion, why.clone());
        for (key, node) in jobs {
            self.commands_out(found, doc, &key.name, node, Reason::Occasion, &why);
        }
    }

    /// Accounts for the commands of a job that is left out as a whole.
    fn commands_out(
        &mut self,
        found: &mut Declarations,
        doc: &DataFile,
        name: &str,
        job: &Node,
        reason: Reason,
        why: &str,
    ) {
        for step in job.get("steps").map(Node::list).unwrap_or_default() {
            let Some(node) = step.get("run") else {
                continue;
            };
            if !self.step() {
                return;
            }
            let mut blank = blank(&doc.file, name);
            let work = Work {
                text: &text_of(doc, node),
                line: doc.text_line(node),
                label: step
                    .get("name")
                    .map(|n| text_of(doc, n))
                    .unwrap_or_default(),
                dir: Ok(RepoPath::root()),
                env: BTreeMap::new(),
                secrets: Vec::new(),
                condition: None,
                note: None,
                out: Some((reason, why.to_owned())),
            };
            self.script(found, &mut blank, work);
        }
    }
}

/// A job of which nothing is known.
fn blank(file: &RepoPath, name: &str) -> Job {
    Job {
        file: file.clone(),
        belief: super::candidate::Belief::Workflow,
        name: name.to_owned(),
        when: When::Unsaid,
        tier: 0,
        warning: false,
        timeout: None,
        notes: Vec::new(),
        secrets: Vec::new(),
        services: Vec::new(),
        exported: BTreeMap::new(),
        tool_path: Vec::new(),
        edited: None,
        built: Vec::new(),
        since_compared: Vec::new(),
    }
}

/// Leaves out all candidates from an index on. What only prints stays that.
fn leave_out(found: &mut Declarations, start: usize, reason: Reason, why: &str) {
    for candidate in found.candidates.iter_mut().skip(start) {
        if !matches!(candidate.state, State::Out(Reason::Nothing, _)) {
            candidate.leave_out(reason, why);
        }
    }
}

/// Whether a command compiles or runs for another machine (R23), and for which.
fn other_machine(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let program = words.first()?.rsplit('/').next()?;
    if matches!(program, "cross" | "wine" | "wine64") || program.starts_with("qemu") {
        return Some(format!("`{program}`"));
    }
    if words.iter().any(|word| word.starts_with("-Zbuild-std")) {
        return Some("`-Zbuild-std`".to_owned());
    }
    if !matches!(program, "cargo" | "rustc" | "zig" | "maturin") {
        return None;
    }
    let mut all = words.iter();
    while let Some(word) = all.next() {
        let target = match word.strip_prefix("--target") {
            Some("") => all.next().copied(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        let foreign = target.filter(|t| t.contains('-') && !t.starts_with("x86_64-unknown-linux"));
        if let Some(target) = foreign {
            return Some(format!("`{target}`"));
        }
    }
    None
}

#[cfg(test)]
mod tests;
