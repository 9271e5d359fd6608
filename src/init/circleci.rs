//! CircleCI: the scripts of its jobs, with plain values put in.

use crate::found::{Place, Reading};
use crate::github::value::{text_at, text_of, texts};
use crate::github::{is_foreign, odd_words};
use crate::shell::Value as Variable;
use crate::sink::{Script, Sink, below, product};
use crate::tree::{DataFile, Keys, Syntax, Tree};
use std::collections::BTreeMap;
use vplan_base::path::RepoPath;
use vplan_front::tree::Node;

const FILES: [&str; 2] = [".circleci/config.yml", ".circleci/config.yaml"];
/// How deep commands use each other.
const MAX_DEPTH: usize = 3;
/// The most steps that are read.
const MAX_STEPS: usize = 2000;

/// The configurations.
#[must_use]
pub fn files(tree: &Tree) -> Vec<RepoPath> {
    let paths = FILES
        .iter()
        .filter_map(|name| RepoPath::from_exact(name.as_bytes()));
    paths.filter(|file| tree.files.contains(file)).collect()
}

/// Reads the configurations.
#[must_use]
pub fn read(tree: &Tree) -> Reading {
    let mut reader = Reader {
        sink: Sink::default(),
        left: MAX_STEPS,
    };
    for file in files(tree) {
        match tree.read(&file, Syntax::YamlMerged) {
            Ok(doc) => reader.workflows(&doc),
            Err(why) => reader.sink.not_read(Place { file, line: 1 }, None, why),
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
                let (name, with) = match item.entries().first() {
                    Some((key, with)) => (key.name.clone(), Some(with)),
                    None => (text_of(doc, item), None),
                };
                self.job(doc, doc.place(item.place), &name, with);
            }
        }
    }

    fn job(&mut self, doc: &DataFile, place: Place, name: &str, with: Option<&Node>) {
        let own = with
            .map(|with| text_at(doc, with, "name"))
            .unwrap_or_default();
        let own = if own.is_empty() { name } else { &*own };
        let part = Some(format!("job `{own}`"));
        let Some(node) = doc.root.get("jobs").and_then(|jobs| jobs.get(name)) else {
            let approval = with.is_some_and(|with| text_at(doc, with, "type") == "approval");
            let why = if approval {
                "a person starts it"
            } else {
                "a job of an orb"
            };
            return self.sink.not_read(place, part, why);
        };
        let branches = with.and_then(|with| with.get("filters")?.get("branches"));
        let ignored = branches.and_then(|branches| branches.text_at("ignore"));
        let ignored = ignored.unwrap_or_default();
        if matches!(ignored, "/.*/" | "/.+/") || branches.is_some_and(|b| b.get("only").is_some()) {
            return self
                .sink
                .not_read(place, part, "it runs for tags or some branches only");
        }
        if node.get("macos").is_some() || is_foreign(&text_at(doc, node, "executor")) {
            return self.sink.not_read(place, part, "it runs on another system");
        }
        let mut values = Values::new();
        for (key, parameter) in [&doc.root, node]
            .map(|node| node.entries_at("parameters"))
            .concat()
        {
            values.insert(key.name, text_at(doc, &parameter, "default"));
        }
        let given = with.map(Node::entries).unwrap_or_default();
        values.extend(
            given
                .iter()
                .map(|(key, node)| (key.name.clone(), text_of(doc, node))),
        );
        let matrix = with.and_then(|with| with.get("matrix"));
        let axes = matrix.map_or(&[][..], |matrix| matrix.entries_at("parameters"));
        let axes = axes
            .iter()
            .map(|(key, node)| (key.name.clone(), texts(doc, Some(node))));
        for cell in product(axes) {
            let mut job = Job {
                values: values.clone().into_iter().chain(cell).collect(),
                dir: text_at(doc, node, "working_directory"),
                ..Job::default()
            };
            job.script.job = format!("circleci/{own}");
            job.script.oddness = u32::try_from(odd_words(name)).unwrap_or(u32::MAX);
            environment(doc, node.get("environment"), &mut job);
            self.steps(doc, node, &job, 0);
        }
    }

    fn steps(&mut self, doc: &DataFile, node: &Node, job: &Job, depth: usize) {
        for step in node.list_at("steps") {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let (name, with) = match step.entries().first() {
                Some((key, with)) => (key.name.clone(), Some(with)),
                None => (text_of(doc, step), None),
            };
            let command = doc
                .root
                .get("commands")
                .and_then(|commands| commands.get(&name));
            match (&*name, with) {
                ("run", Some(run)) => {
                    let command = run.get("command").unwrap_or(run);
                    let mut job = job.clone();
                    job.script.label = text_at(doc, run, "name");
                    environment(doc, run.get("environment"), &mut job);
                    let dir = text_at(doc, run, "working_directory");
                    let dir = if dir.is_empty() { job.dir.clone() } else { dir };
                    if text_at(doc, run, "when") != "on_fail" {
                        let background = text_at(doc, run, "background") == "true";
                        let text = text_of(doc, command);
                        let text = if background {
                            format!("{text} &")
                        } else {
                            text
                        };
                        self.text(doc, command, &job, &dir, &text);
                    }
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
                        let given = with
                            .map(|with| text_at(doc, with, &key.name))
                            .unwrap_or_default();
                        let default = text_at(doc, parameter, "default");
                        let value = if given.is_empty() { default } else { given };
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

    fn text(&mut self, doc: &DataFile, node: &Node, job: &Job, dir: &str, text: &str) {
        let place = Place::of(&doc.file, doc.text_line(node));
        let mut script = job.script.clone();
        let dir = filled(dir, &job.values);
        let bare = dir
            .strip_prefix("~/project")
            .unwrap_or(&dir)
            .trim_matches('/');
        match RepoPath::parse(bare.as_bytes()) {
            _ if bare.is_empty() => {}
            Ok(parsed) if !bare.contains(['$', '~']) => script.dir = parsed,
            _ => script.lost = Some(format!("it runs in `{dir}`")),
        }
        let text = filled(text, &job.values);
        self.sink.script(
            &place,
            &text,
            &script,
            &[],
            |line| below(&place, line),
            |dir| Ok(dir.clone()),
        );
    }
}

/// Adds the variables of a mapping.
fn environment(doc: &DataFile, node: Option<&Node>, job: &mut Job) {
    for (key, node) in node.map(Node::entries).unwrap_or_default() {
        let value = text_of(doc, node);
        let variable = if value.contains(['$', '<']) {
            Variable::Unknown
        } else {
            Variable::Known(value.clone())
        };
        job.script.variables.set(&key.name, variable, false);
        job.values.insert(key.name.clone(), value);
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
