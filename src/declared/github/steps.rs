//! The steps of a job and of local actions: scripts, directories, shells (R6, R8), known actions.

use super::actions::{self, Meaning, Use};
use super::env::Env;
use super::expression::{Scope, Truth, Value};
use super::jobs::{decide, join, narrowed, why_not};
use super::{MAX_DEPTH, Reader, Work, filter, matrix, place, text_of, tox};
use crate::base::path::RepoPath;
use crate::declared::candidate::{Declarations, Reason};
use crate::declared::script::Job;
use crate::declared::tree::DataFile;
use crate::front::tree::Node;
use std::collections::BTreeSet;

/// A list of steps while it is read.
pub(super) struct Steps<'s> {
    pub(super) doc: &'s DataFile,
    pub(super) scope: Scope<'s>,
    pub(super) env: Env,
    pub(super) job: Job,
    pub(super) events: Vec<&'static str>,
    /// The directory of steps that name none.
    pub(super) dir: Option<String>,
    /// The shell of steps that name none.
    pub(super) shell: String,
    /// The folder into which this repository is checked out.
    pub(super) checkout: Option<String>,
    /// Folders into which other repositories are checked out.
    pub(super) foreign: Vec<String>,
    /// The scripts before, which may have made folders.
    pub(super) seen: String,
    /// An artifact of another job that was fetched.
    pub(super) artifact: Option<String>,
    pub(super) condition: Option<String>,
    pub(super) machine_axes: Vec<String>,
    pub(super) depth: usize,
    /// The reason why all of them are left out.
    pub(super) out: Option<(Reason, String)>,
}

/// The name and version of `uses`: `OWNER/NAME@V`, `https://HOST/OWNER/NAME@V`, `docker://IMAGE:TAG`.
pub(super) fn parts(uses: &str) -> (String, String) {
    let uses = uses.trim();
    if let Some(image) = uses.strip_prefix("docker://") {
        let (name, tag) = image.rsplit_once(':').unwrap_or((image, ""));
        return (format!("docker://{name}"), tag.to_owned());
    }
    let (name, version) = uses.split_once('@').unwrap_or((uses, ""));
    let name = match name.split_once("://") {
        Some((_, rest)) => rest.split_once('/').map_or(rest, |(_, path)| path),
        None => name,
    };
    (name.to_owned(), version.to_owned())
}

/// The inputs of a step as they are written.
pub(super) fn inputs_as_written(doc: &DataFile, step: &Node) -> Vec<(String, String)> {
    let entries = step.get("with").map(Node::entries).unwrap_or_default();
    entries
        .iter()
        .map(|(key, node)| (key.name.clone(), text_of(doc, node)))
        .collect()
}

fn key(doc: &DataFile, node: &Node, name: &str) -> String {
    node.get(name)
        .map(|node| text_of(doc, node))
        .unwrap_or_default()
}

/// The outputs of all steps with an `id`, as far as they are conditions.
pub(super) fn outputs(
    reader: &mut Reader<'_>,
    doc: &DataFile,
    steps: &[Node],
    scope: &Scope<'_>,
    depth: usize,
) -> Value {
    let mut all: Vec<(String, Value)> = Vec::new();
    for step in steps {
        let id = key(doc, step, "id");
        let named = key(doc, step, "uses");
        if id.is_empty() || named.is_empty() {
            continue;
        }
        let outputs = if let Some(local) = named.strip_prefix("./") {
            of_action(reader, local, doc, step, scope, depth)
        } else {
            let (name, version) = parts(&named);
            let with: Vec<(String, String)> = inputs_as_written(doc, step)
                .into_iter()
                .map(|(key, value)| (key, scope.fill(&value)))
                .collect();
            let used = Use {
                name: &name,
                version: &version,
                with: &with,
                has_shell_scripts: false,
            };
            match actions::meaning(&used) {
                Meaning::Filter => filter::outputs(reader.tree, &used),
                _ => Value::unknown(),
            }
        };
        let entry = vec![
            ("outputs".to_owned(), outputs),
            ("outcome".to_owned(), Value::text("success")),
            ("conclusion".to_owned(), Value::text("success")),
        ];
        all.push((id, Value::Map(entry)));
    }
    Value::Partial(all)
}

/// The outputs of a local action.
fn of_action(
    reader: &mut Reader<'_>,
    local: &str,
    doc: &DataFile,
    step: &Node,
    scope: &Scope<'_>,
    depth: usize,
) -> Value {
    let action = action_file(reader, local).and_then(|file| reader.open(&file).ok());
    let action = action.filter(|action| action.root.get("outputs").is_some());
    let Some(action) = action else {
        return Value::unknown();
    };
    if depth + 1 >= MAX_DEPTH || !reader.step() {
        return Value::unknown();
    }
    let mut inner = scope.clone();
    inner.set("inputs", inputs(&action, doc, step, scope));
    let list = action.root.get("runs").and_then(|r| r.get("steps"));
    let list = list.map(Node::list).unwrap_or_default();
    let steps = outputs(reader, &action, list, &inner, depth + 1);
    inner.set("steps", steps);
    let mut all = Vec::new();
    let declared = action
        .root
        .get("outputs")
        .map(Node::entries)
        .unwrap_or_default();
    for (name, node) in declared {
        let value = node.get("value");
        let value = value.map_or_else(Value::unknown, |v| super::value_of(&inner, &action, v));
        all.push((name.name.clone(), value));
    }
    Value::Partial(all)
}

/// The file of a local action.
fn action_file(reader: &Reader<'_>, local: &str) -> Option<RepoPath> {
    let dir = RepoPath::parse(local.as_bytes()).ok()?;
    ["action.yml", "action.yaml"]
        .iter()
        .filter_map(|name| dir.join(name.as_bytes()).ok())
        .find(|file| reader.tree.texts.contains_key(file))
}

/// The inputs of a local action: what the step gives, else the defaults; always texts.
fn inputs(action: &DataFile, doc: &DataFile, step: &Node, scope: &Scope<'_>) -> Value {
    let text = |filled: String| {
        if filled.contains("${{") {
            Value::unknown()
        } else {
            Value::Text(filled)
        }
    };
    let mut all: Vec<(String, Value)> = Vec::new();
    for (key, node) in action
        .root
        .get("inputs")
        .map(Node::entries)
        .unwrap_or_default()
    {
        let default = node.get("default").map(|d| text_of(action, d));
        all.push((key.name.clone(), text(default.unwrap_or_default())));
    }
    for (name, value) in inputs_as_written(doc, step) {
        let value = text(scope.fill(&value));
        match all
            .iter_mut()
            .find(|(key, _)| key.eq_ignore_ascii_case(&name))
        {
            Some((_, old)) => *old = value,
            None => all.push((name, value)),
        }
    }
    Value::Map(all)
}

/// A step whose condition and environment are known.
struct Step<'s> {
    node: &'s Node,
    line: u32,
    label: String,
    scope: Scope<'s>,
    env: Env,
    /// Secrets that its own `env` holds.
    secrets: Vec<String>,
    condition: Option<String>,
    out: Option<(Reason, String)>,
}

impl Reader<'_> {
    /// Reads a list of steps.
    pub(super) fn steps(&mut self, found: &mut Declarations, steps: &mut Steps<'_>, list: &[Node]) {
        let outputs = outputs(self, steps.doc, list, &steps.scope, steps.depth);
        steps.scope.set("steps", outputs);
        for node in list {
            if !self.step() {
                let origin = place(&steps.job.file, steps.doc.line(node), &steps.job.name);
                let why = format!("more than {} steps", super::MAX_STEPS);
                found.skip(origin, "further steps".to_owned(), Reason::NotRead, why);
                return;
            }
            self.one(found, steps, node);
        }
    }

    fn one(&mut self, found: &mut Declarations, steps: &mut Steps<'_>, node: &Node) {
        let doc = steps.doc;
        let mut scope = steps.scope.clone();
        let mut env = steps.env.clone();
        let before = env.secrets.clone();
        env.add(doc, node.get("env"), &scope, &steps.machine_axes);
        let own: BTreeSet<String> = node
            .get("env")
            .map(Node::entries)
            .unwrap_or_default()
            .iter()
            .map(|(key, _)| key.name.clone())
            .collect();
        let secrets = env
            .secrets
            .iter()
            .filter(|s| own.contains(*s) || !before.contains(*s));
        let secrets = secrets.cloned().collect();
        for (name, value) in &steps.job.exported {
            env.known.insert(name.clone(), value.clone());
        }
        scope.set("env", env.context());
        let text = key(doc, node, "if");
        let decision = decide(self, &scope, &text, &steps.events);
        let mut out = steps.out.clone();
        if out.is_none() && decision.event.is_none() {
            out = Some(why_not(&text));
        }
        let ignored = key(doc, node, "continue-on-error");
        if out.is_none() && !ignored.is_empty() && scope.condition(&ignored) == Truth::Yes {
            out = Some((Reason::CannotFail, "`continue-on-error`".to_owned()));
        }
        let named = scope.fill(&key(doc, node, "name"));
        let step = Step {
            node,
            line: doc.line(node),
            label: if named.contains("${{") {
                String::new()
            } else {
                named
            },
            env,
            secrets,
            condition: join(steps.condition.as_deref(), decision.unknown.as_deref()),
            out,
            scope,
        };
        let (when, tier, timeout) = (steps.job.when.clone(), steps.job.tier, steps.job.timeout);
        steps.job.when = narrowed(&when, decision.changed.as_ref());
        steps.job.tier = tier.max(u8::from(decision.event == Some("push")));
        let own = key(doc, node, "timeout-minutes").parse::<u32>().ok();
        steps.job.timeout = own.or(timeout);
        if node.get("run").is_some() {
            self.run(found, steps, step);
        } else if node.get("uses").is_some() {
            self.uses(found, steps, step);
        }
        (steps.job.when, steps.job.tier, steps.job.timeout) = (when, tier, timeout);
    }

    /// Reads a `run` block.
    fn run(&mut self, found: &mut Declarations, steps: &mut Steps<'_>, step: Step<'_>) {
        let Some(node) = step.node.get("run") else {
            return;
        };
        let doc = steps.doc;
        let raw = text_of(doc, node);
        let shell = match key(doc, step.node, "shell") {
            own if own.is_empty() => steps.shell.clone(),
            own => own,
        };
        let named = step.node.get("working-directory").map(|n| text_of(doc, n));
        let named = named.or_else(|| steps.dir.clone());
        let dir = self.directory(steps, &step.scope, named.as_deref());
        let line = doc.text_line(node);
        let mut out = step.out.clone();
        if out.is_none() {
            out = other_shell(&shell, &raw);
        }
        self.emit(found, steps, step, &raw, line, dir, None, out);
        steps.seen.push_str(&raw);
        steps.seen.push('\n');
    }

    /// Hands a script to the reader of scripts.
    #[allow(clippy::too_many_arguments)]
    fn emit(
        &mut self,
        found: &mut Declarations,
        steps: &mut Steps<'_>,
        step: Step<'_>,
        raw: &str,
        line: u32,
        dir: Result<RepoPath, String>,
        note: Option<String>,
        out: Option<(Reason, String)>,
    ) {
        let mut scope = step.scope;
        if let Ok(dir) = &dir {
            with_workspace(&mut scope, raw, dir);
        }
        let mut text = scope.fill(raw);
        let (whole, sharded) = matrix::without_shards(&text);
        let mut notes: Vec<String> = note.into_iter().collect();
        if sharded {
            text = whole;
            notes.push("all shards at once".to_owned());
        }
        if let Some(prefix) = &steps.checkout {
            text = without_prefix(&text, prefix);
        }
        let packs = tox::without_package(&text);
        let artifact = steps
            .artifact
            .as_ref()
            .filter(|_| packs.is_none())
            .map(|name| {
                (
                    Reason::Unknown,
                    format!("it needs what another job has built: `{name}`"),
                )
            });
        if let Some(packs) = packs {
            text = packs;
            notes.push("tox builds the package".to_owned());
        }
        let work = Work {
            text: &text,
            line,
            label: step.label,
            dir,
            env: step.env.kept,
            secrets: step.secrets,
            condition: step.condition,
            note: (!notes.is_empty()).then(|| notes.join("; ")),
            out: out.or(artifact),
        };
        self.script(found, &mut steps.job, work);
    }

    /// The directory of a step (R6).
    fn directory(
        &self,
        steps: &Steps<'_>,
        scope: &Scope<'_>,
        named: Option<&str>,
    ) -> Result<RepoPath, String> {
        let Some(named) = named.map(str::trim).filter(|named| !named.is_empty()) else {
            return Ok(RepoPath::root());
        };
        let mut scope = scope.clone();
        with_workspace(&mut scope, "", &RepoPath::root());
        let filled = scope.fill(named);
        let filled = filled
            .strip_prefix("$GITHUB_WORKSPACE")
            .map_or(filled.clone(), |rest| format!(".{rest}"));
        if filled.contains("${{") || filled.starts_with(['$', '~', '/']) {
            return Err(format!("its directory is `{named}`"));
        }
        let path = filled.trim_end_matches('/');
        let path = path.strip_prefix("./").unwrap_or(path);
        let below = |folder: &str| {
            path == folder
                || path
                    .strip_prefix(folder)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        if let Some(folder) = steps.foreign.iter().find(|folder| below(folder)) {
            return Err(format!("`{folder}` is another repository"));
        }
        let path = match &steps.checkout {
            Some(prefix) if below(prefix) => path
                .get(prefix.len()..)
                .unwrap_or_default()
                .trim_start_matches('/'),
            _ => path,
        };
        if path.is_empty() {
            return Ok(RepoPath::root());
        }
        let dir =
            RepoPath::parse(path.as_bytes()).map_err(|_| format!("its directory is `{named}`"))?;
        let name = String::from_utf8_lossy(dir.name()).into_owned();
        let made = steps.seen.contains(&name);
        if self.tree.has_folder(&dir) || made {
            Ok(dir)
        } else {
            Err(format!("`{path}` is no folder of the repository"))
        }
    }

    /// Reads a step that uses an action.
    fn uses(&mut self, found: &mut Declarations, steps: &mut Steps<'_>, step: Step<'_>) {
        let doc = steps.doc;
        let Some(node) = step.node.get("uses") else {
            return;
        };
        let named = text_of(doc, node);
        if let Some(local) = named.strip_prefix("./") {
            let prefix = steps.checkout.clone().map(|p| format!("{p}/"));
            let local = prefix
                .and_then(|p| local.strip_prefix(&*p))
                .unwrap_or(local);
            self.action(found, steps, step, local, doc.line(node));
            return;
        }
        let (name, version) = parts(&named);
        let mut scope = step.scope.clone();
        with_workspace(&mut scope, "", &RepoPath::root());
        let with: Vec<(String, String)> = inputs_as_written(doc, step.node)
            .into_iter()
            .map(|(key, value)| (key, scope.fill(&value)))
            .collect();
        let used = Use {
            name: &name,
            version: &version,
            with: &with,
            has_shell_scripts: self.tree.files.iter().any(|f| f.name().ends_with(b".sh")),
        };
        let line = doc.line(node);
        let skip = |found: &mut Declarations, reason: Reason, why: &str| {
            let what = format!("action `{name}`");
            let known = found
                .skipped
                .iter()
                .any(|one| one.what == what && one.origin.file == doc.file);
            if !known {
                let origin = place(&doc.file, line, &steps.job.name);
                found.skip(origin, what, reason, why.to_owned());
            }
        };
        match actions::meaning(&used) {
            Meaning::Runs(runs) => {
                for run in runs {
                    let dir = match &run.dir {
                        Some(named) => self.directory(steps, &step.scope, Some(named)),
                        None => Ok(RepoPath::root()),
                    };
                    let one = Step {
                        node: step.node,
                        line: step.line,
                        label: step.label.clone(),
                        scope: step.scope.clone(),
                        env: step.env.clone(),
                        // Tokens of actions are for their own reports.
                        secrets: Vec::new(),
                        condition: step.condition.clone(),
                        out: step.out.clone(),
                    };
                    let out = step.out.clone();
                    self.emit(found, steps, one, &run.text, line, dir, run.note, out);
                }
            }
            Meaning::Tools(tools) => {
                if name.eq_ignore_ascii_case("actions-rust-lang/setup-rust-toolchain") {
                    let flags = with.iter().find(|(key, _)| key == "rustflags");
                    let flags = flags.map_or("-D warnings", |(_, flags)| flags);
                    if !flags.is_empty() && !steps.env.known.contains_key("RUSTFLAGS") {
                        let exported = &mut steps.job.exported;
                        exported.insert("RUSTFLAGS".to_owned(), flags.to_owned());
                    }
                }
                for tool in tools {
                    if step.out.is_none() && !found.tools.contains(&tool) {
                        found.tools.push(tool);
                    }
                }
            }
            Meaning::Nothing => self.prepares(steps, &name, &with),
            Meaning::Filter | Meaning::Results => {}
            Meaning::Out(reason, why) => skip(found, reason, why),
            Meaning::Unknown => skip(found, Reason::Action, "not known"),
        }
    }

    /// Notes what a checkout and a download leave for the steps behind it.
    fn prepares(&self, steps: &mut Steps<'_>, name: &str, with: &[(String, String)]) {
        let get = |key: &str| {
            let found = with.iter().find(|(k, _)| k == key);
            found
                .map(|(_, value)| value.trim())
                .filter(|value| !value.is_empty())
        };
        match &*name.to_ascii_lowercase() {
            "actions/checkout" => {
                let own = get("repository").is_none_or(|repository| {
                    self.tree.slug.as_deref() == Some(repository)
                        || repository.contains("github.repository")
                });
                let Some(path) = get("path") else {
                    return;
                };
                let path = path
                    .trim_start_matches("./")
                    .trim_end_matches('/')
                    .to_owned();
                if path.is_empty() || path == "." {
                    return;
                }
                if own && steps.checkout.is_none() && get("ref").is_none() {
                    steps.checkout = Some(path);
                } else {
                    steps.foreign.push(path);
                }
            }
            "actions/download-artifact" => {
                let name = get("name").or(get("pattern")).unwrap_or("all");
                steps.artifact = Some(name.to_owned());
            }
            _ => {}
        }
    }

    /// Reads a local action.
    fn action(
        &mut self,
        found: &mut Declarations,
        steps: &mut Steps<'_>,
        step: Step<'_>,
        local: &str,
        line: u32,
    ) {
        let doc = steps.doc;
        let origin = place(&doc.file, line, &steps.job.name);
        let what = format!("action `./{local}`");
        let Some(file) = action_file(self, local) else {
            found.skip(origin, what, Reason::NotRead, "it is not there".to_owned());
            return;
        };
        if steps.depth + 1 >= MAX_DEPTH {
            let why = "actions call each other too deep".to_owned();
            found.skip(origin, what, Reason::NotRead, why);
            return;
        }
        let action = match self.open(&file) {
            Ok(action) => action,
            Err(why) => {
                found.skip(origin, what, Reason::NotRead, why);
                return;
            }
        };
        let runs = action.root.get("runs");
        if runs.and_then(|r| r.get("using")).and_then(Node::text) != Some("composite") {
            let why = "it is a program of its own".to_owned();
            found.skip(origin, what, Reason::Action, why);
            return;
        }
        let mut scope = step.scope.clone();
        scope.set("inputs", inputs(&action, doc, step.node, &step.scope));
        let dir = RepoPath::parse(local.as_bytes()).unwrap_or_default();
        if let Value::Partial(entries) = scope.get("github") {
            let mut entries = entries;
            entries.retain(|(key, _)| key != "action_path");
            entries.push(("action_path".to_owned(), Value::Text(dir.to_string())));
            scope.set("github", Value::Partial(entries));
        }
        let mut job = steps.job.clone();
        job.file = file;
        let mut inner = Steps {
            doc: &action,
            scope,
            env: step.env,
            job,
            events: steps.events.clone(),
            dir: None,
            shell: String::new(),
            checkout: steps.checkout.clone(),
            foreign: steps.foreign.clone(),
            seen: std::mem::take(&mut steps.seen),
            artifact: steps.artifact.clone(),
            condition: step.condition,
            machine_axes: steps.machine_axes.clone(),
            depth: steps.depth + 1,
            out: step.out.clone(),
        };
        let list = runs
            .and_then(|r| r.get("steps"))
            .map(Node::list)
            .unwrap_or_default();
        self.steps(found, &mut inner, list);
        steps.seen = inner.seen;
        if step.out.is_none() {
            // All but its place holds for the steps behind it.
            let file = steps.job.file.clone();
            let (when, tier, timeout) = (steps.job.when.clone(), steps.job.tier, steps.job.timeout);
            steps.job = inner.job;
            steps.job.file = file;
            (steps.job.when, steps.job.tier, steps.job.timeout) = (when, tier, timeout);
            steps.artifact = inner.artifact;
            steps.checkout = inner.checkout;
            steps.foreign = inner.foreign;
        }
    }
}

/// Gives `github.workspace` and `github.action_path` their place as seen from a directory, unless
/// the script changes its directory otherwise.
fn with_workspace(scope: &mut Scope<'_>, raw: &str, dir: &RepoPath) {
    let Value::Partial(mut entries) = scope.get("github") else {
        return;
    };
    let up = if dir.is_root() {
        ".".to_owned()
    } else {
        vec![".."; dir.segments().count()].join("/")
    };
    let action = entries.iter().position(|(key, _)| key == "action_path");
    let action = action.map(|at| entries.remove(at).1);
    let words: Vec<&str> = raw.split(|c: char| c.is_whitespace() || c == ';').collect();
    let moves = words
        .iter()
        .zip(words.iter().skip(1).chain([&""]))
        .any(|(word, next)| matches!(*word, "cd" | "pushd") && !next.contains("${{"));
    if !moves {
        entries.retain(|(key, _)| key != "workspace");
        if let Some(Value::Text(path)) = &action {
            let path = if up == "." {
                path.clone()
            } else {
                format!("{up}/{path}")
            };
            entries.push(("action_path".to_owned(), Value::Text(path)));
        }
        entries.push(("workspace".to_owned(), Value::Text(up)));
    }
    scope.set("github", Value::Partial(entries));
}

/// Removes the folder of the checkout behind `cd`.
fn without_prefix(text: &str, prefix: &str) -> String {
    let wanted = format!("cd {prefix}");
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&*wanted) {
        out.push_str(before);
        let ends = after.is_empty() || after.starts_with(['/', ' ', '\n', ';', '&']);
        out.push_str(if ends { "cd ." } else { &wanted });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The reason why a script in another shell is left out (R8), unless it is a single plain call.
fn other_shell(shell: &str, text: &str) -> Option<(Reason, String)> {
    let program = shell.split_whitespace().next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let name = program
        .strip_suffix(".exe")
        .unwrap_or(program)
        .to_ascii_lowercase();
    match &*name {
        "pwsh" | "powershell" | "cmd" | "msys2" | "cygwin" => {
            (!is_plain_call(text)).then(|| (Reason::Machine, format!("a script for `{name}`")))
        }
        "python" | "python3" | "perl" | "node" | "ruby" | "nu" | "rscript" => {
            Some((Reason::Inline, format!("a script for `{name}`")))
        }
        _ => None,
    }
}

/// Whether a script is one program with plain words: the same in every shell.
fn is_plain_call(text: &str) -> bool {
    let text = text.trim();
    let first = text.split_whitespace().next().unwrap_or_default();
    let cmdlet = first
        .split_once('-')
        .is_some_and(|(verb, _)| verb.starts_with(|c: char| c.is_ascii_uppercase()));
    !text.is_empty()
        && !cmdlet
        && !text.contains([
            '\n', '$', '|', ';', '&', '<', '>', '(', ')', '{', '}', '\'', '"', '`', '\\', '%', '^',
        ])
}
