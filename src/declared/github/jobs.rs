//! The jobs of a workflow: which run for a change (R2 to R4), their matrix, and the workflows that
//! they call.

use super::expression::{Maybe, Scope, Truth, Value};
use super::matrix::{self, Axis, Cell, Choice, Uses};
use super::steps::Steps;
use super::{
    Env, Flow, MAX_DEPTH, Reader, actions, blank, github, place, rust, steps, text_of, tox,
    value_of,
};
use crate::base::path::RepoPath;
use crate::declared::candidate::{Declarations, Reason, When};
use crate::declared::tree::DataFile;
use crate::front::tree::{Node, Value as Read};

/// The answer of an `if:`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Decision {
    /// The first event for which it may hold; `None`: it never holds for a change.
    pub(super) event: Option<&'static str>,
    /// The files that it asks for.
    pub(super) changed: Option<Vec<String>>,
    /// Its text, where it is not known to hold.
    pub(super) unknown: Option<String>,
}

/// Evaluates an `if:` for each event with a change, pull requests first.
pub(super) fn decide(
    reader: &Reader<'_>,
    scope: &Scope<'_>,
    text: &str,
    events: &[&'static str],
) -> Decision {
    for event in events {
        let mut scope = scope.clone();
        let workspace = scope.get("github").get("action_path");
        let mut context = github(reader.tree, event);
        if let (Value::Partial(entries), Value::Text(path)) = (&mut context, workspace) {
            entries.push(("action_path".to_owned(), Value::Text(path)));
        }
        scope.set("github", context);
        let (changed, unknown) = match scope.condition(text) {
            Truth::No => continue,
            Truth::Yes => (None, false),
            Truth::Maybe(Maybe { changed, unknown }) => (changed, unknown),
        };
        return Decision {
            event: Some(event),
            changed,
            unknown: unknown.then(|| shown(text)),
        };
    }
    Decision {
        event: None,
        changed: None,
        unknown: None,
    }
}

/// The text of a condition on one line, without `${{ }}`.
pub(super) fn shown(text: &str) -> String {
    let text = text.trim();
    let inner = text
        .strip_prefix("${{")
        .and_then(|rest| rest.strip_suffix("}}"))
        .unwrap_or(text);
    let words: Vec<&str> = inner.split_whitespace().collect();
    let mut line = words.join(" ");
    if line.chars().count() > 160 {
        line = line.chars().take(159).chain(['…']).collect();
    }
    line
}

/// The reason why a step or job with a condition that never holds is left out.
pub(super) fn why_not(text: &str) -> (Reason, String) {
    let lower = text.to_ascii_lowercase();
    let machine = [
        "runner.os",
        "runner.arch",
        "matrix.os",
        "matrix.platform",
        "matrix.runner",
        "matrix.arch",
    ];
    let reason = if machine.iter().any(|name| lower.contains(name)) {
        Reason::Machine
    } else if lower.contains("matrix.") {
        Reason::Matrix
    } else {
        Reason::Occasion
    };
    (reason, format!("only when `{}`", shown(text)))
}

/// Joins two conditions that are not known to hold.
pub(super) fn join(a: Option<&str>, b: Option<&str>) -> Option<String> {
    match (a, b) {
        (Some(a), Some(b)) if a != b => Some(format!("{a}, and {b}")),
        (Some(text), _) | (None, Some(text)) => Some(text.to_owned()),
        (None, None) => None,
    }
}

/// Narrows the files for which something is wanted: the inner list is taken, which is wider than
/// both together.
pub(super) fn narrowed(outer: &When, inner: Option<&Vec<String>>) -> When {
    inner.map_or_else(|| outer.clone(), |globs| When::Changed(globs.clone()))
}

/// The text of a key of a mapping.
fn key(doc: &DataFile, node: &Node, name: &str) -> String {
    node.get(name)
        .map(|node| text_of(doc, node))
        .unwrap_or_default()
}

impl Reader<'_> {
    /// Reads a workflow.
    pub(super) fn workflow(&mut self, found: &mut Declarations, flow: &Flow<'_>) {
        let doc = flow.doc;
        let Some(Read::Map(jobs)) = doc.root.get("jobs").map(|node| &node.value) else {
            let what = format!("workflow `{}`", super::name_of(&doc.file));
            found.skip(
                place(&doc.file, 1, ""),
                what,
                Reason::NotRead,
                "it has no jobs".to_owned(),
            );
            return;
        };
        let mut scope = flow.scope.clone();
        let mut env = Env::default();
        env.add(doc, doc.root.get("env"), &scope, &[]);
        scope.set("env", env.context());
        let needs = self.outputs_of_jobs(doc, &scope, flow.depth);
        scope.set("needs", needs);
        let several = jobs.len() > 1;
        for (name, node) in jobs {
            let name_of_job = match &flow.caller {
                Some(caller) if several => format!("{caller}/{}", name.name),
                Some(caller) => caller.clone(),
                None => name.name.clone(),
            };
            let job = JobOf {
                flow,
                node,
                name: name_of_job,
                line: doc.line_of(name.place),
                env: &env,
            };
            self.job(found, &job, scope.clone());
        }
    }

    /// Reads a job.
    fn job(&mut self, found: &mut Declarations, job: &JobOf<'_>, mut scope: Scope<'_>) {
        let (doc, node) = (job.flow.doc, job.node);
        let text = key(doc, node, "if");
        let decision = decide(self, &scope, &text, &job.flow.events);
        let Some(event) = decision.event else {
            let (reason, why) = why_not(&text);
            self.skip_job(found, job, reason, &why);
            return;
        };
        if looks_at_results(doc, node) {
            let what = format!("job `{}`", job.name);
            let why = "it looks at the results of other jobs".to_owned();
            found.skip(job.place(), what, Reason::Nothing, why);
            return;
        }
        let flow = Flow {
            doc,
            scope: scope.clone(),
            events: self.events_of(&scope, &text, &job.flow.events),
            when: narrowed(&job.flow.when, decision.changed.as_ref()),
            tier: job.flow.tier.max(u8::from(event == "push")),
            caller: Some(job.name.clone()),
            notes: job.flow.notes.clone(),
            condition: join(job.flow.condition.as_deref(), decision.unknown.as_deref()),
            depth: job.flow.depth,
        };
        if node.get("uses").is_some() {
            self.call(found, job, &flow);
            return;
        }
        let ignored = key(doc, node, "continue-on-error");
        let cells = node.get("strategy").and_then(|s| s.get("matrix")).map(|m| {
            scope.set("matrix", Value::unknown());
            matrix::cells(&scope, doc, m)
        });
        let uses = self.places_of_axes(doc, node);
        let choice = match cells {
            // No matrix, or one that is not known: then its values are not known.
            None | Some(None) => Choice {
                cells: vec![Vec::new()],
                notes: vec![None],
                ..Choice::default()
            },
            Some(Some(all)) => matrix::choose(
                self.tree,
                all,
                &uses,
                |cell| runs_on(doc, node, &scope, cell),
                |cell| matrix::is_ignored(cell, &scope, &ignored),
            ),
        };
        let unknown = matches!(cells_are(node, &scope, doc), Some(false));
        for (axis, values, kind) in &choice.dropped {
            let what = format!("axis `{axis}` of job `{}`", job.name);
            let values: Vec<String> = values.iter().take(8).map(|v| format!("`{v}`")).collect();
            let why = match kind {
                Axis::Shard => "the whole runs at once",
                Axis::Words => "further values",
                _ => "vplan runs on this machine",
            };
            found.skip(
                job.place(),
                what,
                Reason::Matrix,
                format!("{}: {why}", values.join(", ")),
            );
        }
        if choice.cells.is_empty() {
            let (reason, why) = if choice.elsewhere {
                (Reason::Machine, "all its cells are other machines")
            } else {
                (Reason::CannotFail, "`continue-on-error`")
            };
            self.skip_job(found, job, reason, why);
            return;
        }
        let first = found.candidates.len();
        for (at, cell) in choice.cells.iter().enumerate() {
            if !unknown {
                scope.set("matrix", Value::Map(cell.clone()));
            }
            let start = found.candidates.len();
            let note = choice.notes.get(at).cloned().flatten();
            self.cell(found, job, &flow, &scope, &choice, note, at > 0);
            if at > 0 {
                without_doubles(found, first, start);
            }
        }
    }

    /// Reads the steps of a job for one cell of its matrix.
    #[allow(clippy::too_many_arguments)]
    fn cell(
        &mut self,
        found: &mut Declarations,
        job: &JobOf<'_>,
        flow: &Flow<'_>,
        scope: &Scope<'_>,
        choice: &Choice,
        note: Option<String>,
        further: bool,
    ) {
        let (doc, node) = (flow.doc, job.node);
        let ignored = key(doc, node, "continue-on-error");
        if !ignored.is_empty() && scope.condition(&ignored) == Truth::Yes {
            self.skip_job(found, job, Reason::CannotFail, "`continue-on-error`");
            return;
        }
        let label = runs_on(doc, node, scope, &Vec::new());
        if matrix::is_foreign(&label) {
            self.skip_job(found, job, Reason::Machine, &format!("`{label}`"));
            return;
        }
        let options = node
            .get("container")
            .and_then(|c| c.get("options"))
            .map(|o| text_of(doc, o))
            .unwrap_or_default();
        if options.contains("--privileged") || options.contains("docker.sock") {
            self.skip_job(
                found,
                job,
                Reason::Machine,
                "a container with privileges is its subject",
            );
            return;
        }
        let mut scope = scope.clone();
        let mut env = job.env.clone();
        env.add(doc, node.get("env"), &scope, &choice.machine_axes);
        scope.set("env", env.context());
        let mut state = blank(&doc.file, &job.name);
        state.when = flow.when.clone();
        state.tier = flow.tier.max(u8::from(further));
        state.timeout = node
            .get("timeout-minutes")
            .and_then(|t| scope.fill(&text_of(doc, t)).parse().ok());
        state.notes = flow.notes.iter().cloned().chain(note).collect();
        state.secrets = env.secrets.iter().cloned().collect();
        state.services = super::env::services(doc, node, &[&env.known], &raw_env(doc, node));
        let defaults = |name: &str| -> Option<String> {
            let of = |node: &Node| {
                let run = node.get("defaults")?.get("run")?;
                Some(text_of(doc, run.get(name)?))
            };
            of(node).or_else(|| of(&doc.root))
        };
        let mut steps = Steps {
            doc,
            scope,
            env,
            job: state,
            events: flow.events.clone(),
            dir: defaults("working-directory"),
            shell: defaults("shell").unwrap_or_default(),
            checkout: None,
            foreign: Vec::new(),
            seen: String::new(),
            artifact: None,
            condition: flow.condition.clone(),
            machine_axes: choice.machine_axes.clone(),
            depth: flow.depth,
            out: None,
        };
        let list = node.get("steps").map(Node::list).unwrap_or_default();
        let start = found.candidates.len();
        self.steps(found, &mut steps, list);
        let cell = steps.scope.get("matrix");
        tox::choose(self.tree, &cell, found, start);
        rust::choose(self.tree, doc, &steps.scope, list, found, start);
    }

    /// The events for which a condition may hold.
    fn events_of(
        &self,
        scope: &Scope<'_>,
        text: &str,
        events: &[&'static str],
    ) -> Vec<&'static str> {
        let holds = |event: &&'static str| decide(self, scope, text, &[*event]).event.is_some();
        events
            .iter()
            .copied()
            .filter(|event| holds(event))
            .collect()
    }

    /// Leaves out a job as a whole, and accounts for its commands.
    fn skip_job(&mut self, found: &mut Declarations, job: &JobOf<'_>, reason: Reason, why: &str) {
        let what = format!("job `{}`", job.name);
        found.skip(job.place(), what, reason, why.to_owned());
        self.commands_out(found, job.flow.doc, &job.name, job.node, reason, why);
    }

    /// Reads the workflow that a job calls.
    fn call(&mut self, found: &mut Declarations, job: &JobOf<'_>, flow: &Flow<'_>) {
        let (doc, node) = (flow.doc, job.node);
        let named = key(doc, node, "uses");
        let what = format!("job `{}`", job.name);
        let Some(local) = named.strip_prefix("./") else {
            let why = format!("a workflow of another repository: `{named}`");
            found.skip(job.place(), what, Reason::Action, why);
            return;
        };
        if flow.depth + 1 >= MAX_DEPTH {
            let why = "workflows call each other too deep".to_owned();
            found.skip(job.place(), what, Reason::NotRead, why);
            return;
        }
        let called = match RepoPath::parse(local.as_bytes()) {
            Ok(file) => {
                self.called.insert(file.clone());
                self.open(&file)
            }
            Err(_) => Err("its path is none of the repository".to_owned()),
        };
        let called = match called {
            Ok(called) => called,
            Err(why) => {
                found.skip(
                    job.place(),
                    what,
                    Reason::NotRead,
                    format!("`{named}`: {why}"),
                );
                return;
            }
        };
        let mut scope = flow.scope.clone();
        let matrix = node.get("strategy").and_then(|s| s.get("matrix"));
        let mut cells: Vec<(Option<Cell>, Option<String>)> = vec![(None, None)];
        if let Some(matrix) = matrix {
            scope.set("matrix", Value::unknown());
            if let Some(all) = matrix::cells(&scope, doc, matrix) {
                let uses = Uses {
                    words: node
                        .get("with")
                        .map(|w| all_texts(doc, w))
                        .unwrap_or_default(),
                    ..Uses::default()
                };
                let none = |_: &Cell| String::new();
                let ignored = |cell: &Cell| matrix::is_ignored(cell, &scope, "");
                let choice = matrix::choose(self.tree, all, &uses, none, ignored);
                if choice.cells.is_empty() {
                    self.skip_job(
                        found,
                        job,
                        Reason::Machine,
                        "all its cells are other machines",
                    );
                    return;
                }
                cells = choice
                    .cells
                    .into_iter()
                    .map(Some)
                    .zip(choice.notes)
                    .collect();
            }
        }
        let first = found.candidates.len();
        for (at, (cell, note)) in cells.into_iter().enumerate() {
            if let Some(cell) = cell {
                scope.set("matrix", Value::Map(cell));
            }
            let mut inner = super::base_scope(self.tree);
            inner.set("inputs", inputs(&called, doc, node, &scope));
            let flow = Flow {
                doc: &called,
                scope: inner,
                events: flow.events.clone(),
                when: flow.when.clone(),
                tier: flow.tier.max(u8::from(at > 0)),
                caller: flow.caller.clone(),
                notes: flow.notes.iter().cloned().chain(note).collect(),
                condition: flow.condition.clone(),
                depth: flow.depth + 1,
            };
            let start = found.candidates.len();
            self.workflow(found, &flow);
            if at > 0 {
                without_doubles(found, first, start);
            }
        }
    }

    /// The results and outputs of all jobs, as far as they are conditions.
    fn outputs_of_jobs(&mut self, doc: &DataFile, scope: &Scope<'_>, depth: usize) -> Value {
        let mut all: Vec<(String, Value)> = Vec::new();
        let jobs = doc.root.get("jobs").map(Node::entries).unwrap_or_default();
        for (name, node) in jobs {
            let mut scope = scope.clone();
            scope.set("needs", Value::Partial(all.clone()));
            scope.set("matrix", Value::unknown());
            let outputs = match key(doc, node, "uses").strip_prefix("./") {
                Some(local) if depth + 1 < MAX_DEPTH => {
                    self.outputs_of_call(local, doc, node, &scope, depth + 1)
                }
                _ => {
                    let list = node.get("steps").map(Node::list).unwrap_or_default();
                    let steps = steps::outputs(self, doc, list, &scope, depth);
                    scope.set("steps", steps);
                    evaluated(doc, node.get("outputs"), &scope)
                }
            };
            let entry = vec![
                ("result".to_owned(), Value::text("success")),
                ("outputs".to_owned(), outputs),
            ];
            all.push((name.name.clone(), Value::Map(entry)));
        }
        Value::Partial(all)
    }

    fn outputs_of_call(
        &mut self,
        local: &str,
        doc: &DataFile,
        node: &Node,
        scope: &Scope<'_>,
        depth: usize,
    ) -> Value {
        let called = RepoPath::parse(local.as_bytes())
            .ok()
            .and_then(|file| self.open(&file).ok());
        let Some(called) = called else {
            return Value::unknown();
        };
        let declared = call_of(&called).and_then(|call| call.get("outputs"));
        if declared.is_none() || !self.step() {
            return Value::unknown();
        }
        let mut inner = super::base_scope(self.tree);
        inner.set("inputs", inputs(&called, doc, node, scope));
        let jobs = self.outputs_of_jobs(&called, &inner, depth);
        inner.set("jobs", jobs);
        let mut all = Vec::new();
        for (name, node) in declared.map(Node::entries).unwrap_or_default() {
            let value = node
                .get("value")
                .map_or_else(Value::unknown, |value| value_of(&inner, &called, value));
            all.push((name.name.clone(), value));
        }
        Value::Partial(all)
    }

    /// The places at which a job names the axes of its matrix.
    fn places_of_axes(&self, doc: &DataFile, node: &Node) -> Uses {
        let mut uses = Uses::default();
        for name in ["runs-on", "container"] {
            uses.machine.push_str(
                &node
                    .get(name)
                    .map(|n| all_texts(doc, n))
                    .unwrap_or_default(),
            );
            uses.machine.push('\n');
        }
        let words = |uses: &mut Uses, node: Option<&Node>| {
            uses.words
                .push_str(&node.map(|n| all_texts(doc, n)).unwrap_or_default());
            uses.words.push('\n');
        };
        words(&mut uses, node.get("env"));
        words(&mut uses, node.get("defaults"));
        for step in node.get("steps").map(Node::list).unwrap_or_default() {
            for name in ["run", "working-directory", "env"] {
                words(&mut uses, step.get(name));
            }
            let named = key(doc, step, "uses");
            if named.is_empty() {
                continue;
            }
            let (name, version) = steps::parts(&named);
            let used = actions::Use {
                name: &name,
                version: &version,
                with: &steps::inputs_as_written(doc, step),
                has_shell_scripts: true,
            };
            match actions::meaning(&used) {
                _ if named.starts_with("./") => words(&mut uses, step.get("with")),
                actions::Meaning::Runs(_) | actions::Meaning::Out(..) => {
                    words(&mut uses, step.get("with"));
                }
                actions::Meaning::Tools(_) => {
                    let with = step.get("with").map(|n| all_texts(doc, n));
                    uses.setup.push_str(&with.unwrap_or_default());
                    uses.setup.push('\n');
                }
                _ => {}
            }
        }
        uses
    }
}

/// A job in its workflow.
struct JobOf<'j> {
    flow: &'j Flow<'j>,
    node: &'j Node,
    /// What it is called, its callers included.
    name: String,
    line: u32,
    env: &'j Env,
}

impl JobOf<'_> {
    fn place(&self) -> crate::declared::candidate::Origin {
        place(&self.flow.doc.file, self.line, &self.name)
    }
}

/// All texts below a value, one a line.
fn all_texts(doc: &DataFile, node: &Node) -> String {
    let mut out = String::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        match &node.value {
            Read::List(items) => open.extend(items.iter().rev()),
            Read::Map(entries) => open.extend(entries.iter().rev().map(|(_, node)| node)),
            _ => {
                out.push_str(&text_of(doc, node));
                out.push('\n');
            }
        }
    }
    out
}

/// Whether a job has a matrix that is known.
fn cells_are(node: &Node, scope: &Scope<'_>, doc: &DataFile) -> Option<bool> {
    let matrix = node.get("strategy")?.get("matrix")?;
    Some(matrix::cells(scope, doc, matrix).is_some())
}

/// The label of the machine on which a job runs.
fn runs_on(doc: &DataFile, node: &Node, scope: &Scope<'_>, cell: &Cell) -> String {
    let mut scope = scope.clone();
    if !cell.is_empty() {
        scope.set("matrix", Value::Map(cell.clone()));
    }
    let Some(node) = node.get("runs-on") else {
        return String::new();
    };
    let mut out = Vec::new();
    let mut open = vec![value_of(&scope, doc, node)];
    while let Some(value) = open.pop() {
        match value {
            Value::List(items) => open.extend(items),
            Value::Map(entries) | Value::Partial(entries) => {
                open.extend(entries.into_iter().map(|(_, value)| value));
            }
            other => out.extend(other.scalar()),
        }
    }
    out.reverse();
    out.join(" ")
}

/// The environments of a job and its steps as written.
fn raw_env(doc: &DataFile, node: &Node) -> Vec<(String, String)> {
    let steps = node.get("steps").map(Node::list).unwrap_or_default();
    let all = std::iter::once(node).chain(steps);
    all.filter_map(|node| node.get("env"))
        .flat_map(Node::entries)
        .map(|(key, node)| (key.name.clone(), text_of(doc, node)))
        .collect()
}

/// Whether all that a job does is look at the results of the jobs that it needs (R2).
fn looks_at_results(doc: &DataFile, node: &Node) -> bool {
    if node.get("needs").is_none() {
        return false;
    }
    let mut looks = false;
    for step in node.get("steps").map(Node::list).unwrap_or_default() {
        let named = key(doc, step, "uses");
        if named.is_empty() {
            let mut text = key(doc, step, "run") + &key(doc, step, "if");
            text.push_str(
                &step
                    .get("env")
                    .map(|n| all_texts(doc, n))
                    .unwrap_or_default(),
            );
            text.push_str(
                &node
                    .get("env")
                    .map(|n| all_texts(doc, n))
                    .unwrap_or_default(),
            );
            let text = text.to_ascii_lowercase();
            let results = text.contains("needs.") && text.contains(".result")
                || text.contains("tojson(needs")
                || key(doc, node, "if").contains(".result") && text.contains("exit 1");
            if !results {
                return false;
            }
            looks = true;
            continue;
        }
        let (name, version) = steps::parts(&named);
        let used = actions::Use {
            name: &name,
            version: &version,
            with: &[],
            has_shell_scripts: false,
        };
        match actions::meaning(&used) {
            actions::Meaning::Results => looks = true,
            actions::Meaning::Nothing => {}
            _ => return false,
        }
    }
    looks
}

/// `on.workflow_call`.
fn call_of(doc: &DataFile) -> Option<&Node> {
    doc.root
        .get("on")
        .or_else(|| doc.root.get("true"))?
        .get("workflow_call")
}

/// The inputs of a called workflow: what the caller gives, else the defaults.
fn inputs(called: &DataFile, doc: &DataFile, job: &Node, scope: &Scope<'_>) -> Value {
    let mut all: Vec<(String, Value)> = Vec::new();
    let declared = call_of(called).and_then(|call| call.get("inputs"));
    let mut plain = Scope::default();
    plain.set("github", Value::unknown());
    for (key, node) in declared.map(Node::entries).unwrap_or_default() {
        let default = node.get("default");
        let value = match default {
            Some(default) => value_of(&plain, called, default),
            None if node.get("type").and_then(Node::text) == Some("boolean") => Value::Bool(false),
            None => Value::Null,
        };
        all.push((key.name.clone(), value));
    }
    for (key, node) in job.get("with").map(Node::entries).unwrap_or_default() {
        let value = value_of(scope, doc, node);
        match all.iter_mut().find(|(name, _)| *name == key.name) {
            Some((_, old)) => *old = value,
            None => all.push((key.name.clone(), value)),
        }
    }
    Value::Map(all)
}

/// Evaluates a mapping of outputs.
pub(super) fn evaluated(doc: &DataFile, node: Option<&Node>, scope: &Scope<'_>) -> Value {
    let entries = node.map(Node::entries).unwrap_or_default();
    Value::Partial(
        entries
            .iter()
            .map(|(key, node)| (key.name.clone(), value_of(scope, doc, node)))
            .collect(),
    )
}

/// Removes candidates from `start` on that an earlier cell (from `first` on) has too.
fn without_doubles(found: &mut Declarations, first: usize, start: usize) {
    let added = found.candidates.split_off(start);
    let mut moved: Vec<usize> = Vec::with_capacity(added.len());
    for candidate in added {
        let same = found
            .candidates
            .iter()
            .enumerate()
            .skip(first)
            .find(|(_, other)| {
                other.origin.file == candidate.origin.file
                    && other.origin.line == candidate.origin.line
                    && other.work == candidate.work
                    && other.dir == candidate.dir
                    && other.env == candidate.env
            })
            .map(|(index, _)| index);
        match same {
            Some(index) => moved.push(index),
            None => {
                moved.push(found.candidates.len());
                found.candidates.push(candidate);
            }
        }
    }
    let to = |index: usize| match index.checked_sub(start) {
        Some(offset) => moved.get(offset).copied().unwrap_or(index),
        None => index,
    };
    for candidate in found.candidates.iter_mut().skip(start) {
        for need in &mut candidate.needs {
            *need = to(*need);
        }
        if let crate::declared::candidate::State::Merged(index) = &mut candidate.state {
            *index = to(*index);
        }
    }
}
