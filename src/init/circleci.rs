//! CircleCI: the scripts of its jobs, with plain values put in.

use crate::found::{Place, Reading};
use crate::github::{is_foreign, odd_words};
use crate::shell::Value as Variable;
use crate::sink::{Script, Sink, product};
use crate::tree::{DataFile, Keys, Tree, scalar, scalars};
use std::collections::BTreeMap;
use vplan_base::path::RepoPath;
use vplan_front::tree::Node;

/// How deep commands use each other.
const MAX_DEPTH: usize = 3;
/// The most steps that are read.
const MAX_STEPS: usize = 2000;

/// The configurations.
pub fn files(tree: &Tree) -> Vec<RepoPath> {
    tree.present(".circleci/config.yml .circleci/config.yaml")
}

/// Reads the configurations.
pub fn read(tree: &Tree, files: &[RepoPath]) -> Reading {
    let mut reader = Reader {
        sink: Sink::default(),
        left: MAX_STEPS,
    };
    for file in files {
        if let Some(doc) = reader.sink.open(tree, file) {
            reader.workflows(&doc);
        }
    }
    reader.sink.reading()
}

/// Values by name: of parameters, or of variables.
type Values = BTreeMap<String, String>;

/// A job while its steps are read.
#[derive(Clone, Default)]
struct Job {
    script: Script,
    values: Values,
    dir: String,
}

struct Reader {
    sink: Sink,
    left: usize,
}

impl Reader {
    fn workflows(&mut self, doc: &DataFile) {
        for (name, workflow) in doc.root.entries_at("workflows") {
            if workflow.get("triggers").is_some() {
                let part = Some(format!("workflow `{}`", name.name));
                let why = "it starts on a schedule";
                self.sink.not_read(doc.place(name.place), part, why);
                continue;
            }
            for item in workflow.list_at("jobs") {
                let (name, with) = entry(item);
                let place = doc.place(item.place);
                self.job(doc, place, &name, with);
            }
        }
    }

    fn job(&mut self, doc: &DataFile, place: Place, name: &str, with: Option<&Node>) {
        let own = Some(with.scalar_at("name")).filter(|own| !own.is_empty());
        let own = own.unwrap_or_else(|| name.to_owned());
        let part = Some(format!("job `{own}`"));
        let node = doc.root.get("jobs").and_then(|jobs| jobs.get(name));
        let branches = with.at("filters.branches");
        let ignored = branches.text_at("ignore").unwrap_or_default();
        let why = match node {
            None if with.scalar_at("type") == "approval" => "a person starts it",
            None => "a job of an orb",
            Some(_) if matches!(ignored, "/.*/" | "/.+/") || branches.at("only").is_some() => {
                "it runs for tags or some branches only"
            }
            Some(node)
                if node.get("macos").is_some() || is_foreign(&node.scalar_at("executor")) =>
            {
                "it runs on another system"
            }
            Some(_) => "",
        };
        let Some(node) = node.filter(|_| why.is_empty()) else {
            return self.sink.not_read(place, part, why);
        };
        let parameters = [&doc.root, node].map(|node| node.entries_at("parameters"));
        let parameters = parameters.into_iter().flatten();
        let default = parameters.map(|(key, node)| (key.name.clone(), node.scalar_at("default")));
        let given = with.map(Node::entries).unwrap_or_default().iter();
        let given = given.map(|(key, node)| (key.name.clone(), scalar(node)));
        let values: Values = default.chain(given).collect();
        let axes = with.entries_at("matrix.parameters").iter();
        let axes = axes.map(|(key, node)| (key.name.clone(), scalars(node)));
        for cell in product(axes) {
            let mut job = Job {
                values: values.clone().into_iter().chain(cell).collect(),
                dir: node.scalar_at("working_directory"),
                ..Job::default()
            };
            job.script.job = format!("circleci/{own}");
            job.script.oddness = odd_words(name);
            job.add_env(node);
            self.steps(doc, node, &job, 0);
        }
    }

    fn steps(&mut self, doc: &DataFile, node: &Node, job: &Job, depth: usize) {
        for step in node.list_at("steps") {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let (name, with) = entry(step);
            let commands = doc.root.get("commands");
            let command = commands.and_then(|commands| commands.get(&name));
            match (&*name, with) {
                ("run", Some(run)) if run.scalar_at("when") == "on_fail" => {}
                ("run", Some(run)) => {
                    let mut job = job.clone();
                    job.script.label = run.scalar_at("name");
                    job.add_env(run);
                    let dir = run.scalar_at("working_directory");
                    if !dir.is_empty() {
                        job.dir = dir;
                    }
                    let ending = match &*run.scalar_at("background") {
                        "true" => " &",
                        _ => "",
                    };
                    let command = run.get("command").unwrap_or(run);
                    self.text(
                        &doc.text_place(command),
                        &mut job,
                        &(scalar(command) + ending),
                    );
                }
                ("when" | "unless", Some(block)) => self.steps(doc, block, job, depth),
                ("steps", Some(_)) => {
                    let job = job.script.job.trim_start_matches("circleci/");
                    let part = Some(format!("job `{job}`, a step"));
                    let why = "its steps are a parameter";
                    self.sink.not_read(doc.place(step.place), part, why);
                }
                (_, with) if command.is_some() && depth < MAX_DEPTH => {
                    let Some(command) = command else { continue };
                    let mut job = job.clone();
                    for (key, parameter) in command.entries_at("parameters") {
                        let given = with.and_then(|with| with.get(&key.name)).map(scalar);
                        let given = given.filter(|given| !given.is_empty());
                        let value = given.unwrap_or_else(|| parameter.scalar_at("default"));
                        job.values.insert(key.name.clone(), value);
                    }
                    self.steps(doc, command, &job, depth + 1);
                }
                (orb, _)
                    if orb.contains('/') && !orb.contains("install") && !orb.contains("setup") =>
                {
                    let part = Some(format!("step `{orb}`"));
                    let why = "a command of an orb";
                    self.sink.not_read(doc.place(step.place), part, why);
                }
                _ => {}
            }
        }
    }

    fn text(&mut self, place: &Place, job: &mut Job, text: &str) {
        let dir = filled(&job.dir, &job.values);
        let bare = dir.strip_prefix("~/project").unwrap_or(&dir);
        let bare = bare.trim_matches('/');
        match RepoPath::parse(bare.as_bytes()) {
            _ if bare.is_empty() => {}
            Ok(parsed) if !bare.contains(['$', '~']) => job.script.dir = parsed,
            _ => job.script.lost = Some(format!("it runs in `{dir}`")),
        }
        let text = filled(text, &job.values);
        self.sink
            .script(place, &text, &job.script, |line| place.below(line));
    }
}

/// The name of a job or step, and what it is given.
fn entry(node: &Node) -> (String, Option<&Node>) {
    match node.entries().first() {
        Some((key, with)) => (key.name.clone(), Some(with)),
        None => (scalar(node), None),
    }
}

impl Job {
    /// Adds the variables of `environment`.
    fn add_env(&mut self, node: &Node) {
        for (key, node) in node.entries_at("environment") {
            let value = scalar(node);
            let variable = match value.contains(['$', '<']) {
                true => Variable::Unknown,
                false => Variable::Known(value.clone()),
            };
            self.script.variables.set(&key.name, variable, false);
            self.values.insert(key.name.clone(), value);
        }
    }
}

/// Replaces `<< NAME >>` by its value. What has none becomes an expression that the splitter does not
/// know.
fn filled(text: &str, values: &Values) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<<") {
        let Some((inner, tail)) = after.split_once(">>") else {
            break;
        };
        out.push_str(before);
        let name = inner.trim();
        let bare = name.trim_start_matches("pipeline.");
        let bare = bare.trim_start_matches("matrix.");
        let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
        match values.get(bare.trim_start_matches("parameters.")) {
            Some(value) => out.push_str(value),
            None if !name.is_empty() && name.chars().all(is_name) => {
                out.push_str(&format!("${{{{ {name} }}}}"));
            }
            None => out.push_str(&format!("<<{inner}>>")),
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
