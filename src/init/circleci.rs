//! CircleCI: the scripts of its jobs. What parameters and orbs put in is not known.

use crate::found::SourceReading;
use crate::github::is_foreign;
use crate::shell::ShellValue;
use crate::sink::{Script, Sink};
use crate::tree::{DataFile, Keys, RepositoryTree, scalar};
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use vplan_base::path::RepoPath;
use vplan_front::tree::TreeNode;

/// Words in the names of orbs' commands that verify nothing.
const PREPARES: [&str; 2] = ["install", "setup"];

/// Reads the configurations.
pub fn read(tree: &RepositoryTree, files: &[RepoPath]) -> SourceReading {
    let mut sink = Sink::default();
    for file in files {
        if let Some(doc) = sink.out.noted(file, tree.read(file)) {
            workflows(&doc, &mut sink);
        }
    }
    sink.reading()
}

fn workflows(doc: &DataFile, sink: &mut Sink) {
    for (name, workflow) in doc.root.entries_at("workflows") {
        if workflow.get("triggers").is_some() {
            let part = Some(format!("workflow `{}`", name.name));
            sink.out
                .skip(doc.place(name.place), part, "it starts on a schedule");
            continue;
        }
        for item in workflow.list_at("jobs") {
            let (name, with) = entry(item);
            let own = with.scalar_at("name");
            let own = if own.is_empty() { &name } else { &own };
            let read = job(doc, sink, (&name, own), with);
            sink.out.note(doc.place(item.place), own, read);
        }
    }
}

/// Reads a job as a workflow starts it. The error is why it is not read.
fn job(
    doc: &DataFile,
    sink: &mut Sink,
    (name, own): (&str, &str),
    with: Option<&TreeNode>,
) -> Result<(), &'static str> {
    if with.scalar_at("type") == "approval" {
        return Err("a person starts it");
    }
    let jobs = doc.root.get("jobs");
    let node = jobs.and_then(|jobs| jobs.get(name));
    let node = node.ok_or("a job of an orb")?;
    let branches = with.at("filters.branches");
    if branches.at("only").is_some() || matches!(&*branches.scalar_at("ignore"), "/.*/" | "/.+/") {
        return Err("it runs for tags or some branches only");
    }
    if node.get("macos").is_some() || is_foreign(&node.scalar_at("executor")) {
        return Err("it runs on another system");
    }
    let mut job = Job {
        doc,
        sink,
        script: Script::default(),
        dir: node.scalar_at("working_directory"),
        seen: BTreeSet::new(),
    };
    job.script.job = format!("circleci/{own}");
    add_env(&mut job.script, node);
    job.steps(node);
    Ok(())
}

/// A job while its steps are read.
struct Job<'d> {
    doc: &'d DataFile,
    sink: &'d mut Sink,
    script: Script,
    dir: String,
    /// The commands that were read.
    seen: BTreeSet<String>,
}

impl Job<'_> {
    fn steps(&mut self, node: &TreeNode) {
        for step in node.list_at("steps") {
            if let Err(part) = self.step(step) {
                let place = self.doc.place(step.place);
                let why = "its commands are not in the file";
                self.sink.out.skip(place, Some(part), why);
            }
        }
    }

    /// The error is the part that is not read.
    fn step(&mut self, step: &TreeNode) -> Result<(), String> {
        let (name, with) = entry(step);
        let commands = self.doc.root.get("commands");
        let command = commands.and_then(|commands| commands.get(&name));
        let prepares = || PREPARES.iter().any(|word| name.contains(word));
        match (&*name, with, command) {
            ("run", Some(run), _) => self.run(run),
            ("when" | "unless", Some(block), _) => self.steps(block),
            ("steps", ..) => {
                let job = self.script.job.trim_start_matches("circleci/");
                return Err(format!("job `{job}`, steps of a parameter"));
            }
            (_, _, Some(command)) if self.seen.insert(name.clone()) => self.steps(command),
            (_, _, None) if name.contains('/') && !prepares() => {
                return Err(format!("step `{name}`"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads a script.
    fn run(&mut self, run: &TreeNode) {
        if run.scalar_at("when") == "on_fail" {
            return;
        }
        let mut script = self.script.clone();
        script.label = run.scalar_at("name");
        add_env(&mut script, run);
        let own = run.scalar_at("working_directory");
        let dir = if own.is_empty() { &self.dir } else { &own };
        let bare = dir.trim_start_matches("~/project").trim_matches('/');
        match RepoPath::parse(bare.as_bytes()) {
            _ if bare.is_empty() => {}
            Ok(parsed) if !bare.contains(['$', '~', '<']) => script.dir = parsed,
            _ => script.lost = Some(format!("it runs in `{dir}`")),
        }
        let command = run.get("command").unwrap_or(run);
        let place = self.doc.text_place(command);
        let mut text = without_parameters(&scalar(command));
        if run.scalar_at("background") == "true" {
            text.push_str(" &");
        }
        self.sink
            .script(&place, &text, &script, |line| place.below(line));
    }
}

/// The name of a job or step, and what it is given.
fn entry(node: &TreeNode) -> (String, Option<&TreeNode>) {
    match node.entries().first() {
        Some((key, with)) => (key.name.clone(), Some(with)),
        None => (scalar(node), None),
    }
}

/// Adds the variables of `environment`.
fn add_env(script: &mut Script, node: &TreeNode) {
    for (key, node) in node.entries_at("environment") {
        let value = scalar(node);
        let is_known = !value.contains(['$', '<']);
        let variable = ShellValue::keep_known(value, is_known);
        script.variables.set(&key.name, variable, false);
    }
}

/// Makes each `<< NAME >>` an expression that the splitter does not know.
fn without_parameters(text: &str) -> String {
    static PARAMETER: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"<<\s*([\w-]+\.[\w.-]+)\s*>>").ok());
    let pattern = PARAMETER.as_ref();
    pattern.map_or_else(
        || text.to_owned(),
        |pattern| pattern.replace_all(text, "$${{ $1 }}").into_owned(),
    )
}

#[cfg(test)]
mod tests;
