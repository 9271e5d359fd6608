//! GitLab's pipeline: the scripts of the jobs that run for a merge request or a pushed branch.

mod config;

use crate::expression::{Scope, Value};
use crate::found::{Place, Reading};
use crate::github::{is_foreign, odd_words};
use crate::globs;
use crate::shell;
use crate::sink::{MAX_CELLS, Script, Sink, product};
use crate::tree::{Keys, Tree, scalar};
use crate::variables::Variables;
use config::{Config, flat, is_scalar, texts};
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_front::tree::{self, Node};

/// Keys of the top level that are no jobs.
const KEYWORDS: &str = "\
    after_script before_script cache default image include services spec stages variables \
    workflow";
/// The configuration, where there is one.
pub fn files(tree: &Tree) -> Vec<RepoPath> {
    tree.present(".gitlab-ci.yml")
}

/// Reads the pipeline of a repository.
pub fn read(tree: &Tree, files: &[RepoPath]) -> Reading {
    let mut sink = Sink::default();
    for file in files {
        let config = Config::read(tree, file, &mut sink);
        Pipeline {
            tree,
            config,
            sink: &mut sink,
        }
        .jobs();
    }
    sink.reading()
}

struct Pipeline<'t> {
    tree: &'t Tree,
    config: Config,
    sink: &'t mut Sink,
}

impl Pipeline<'_> {
    fn jobs(&mut self) {
        for (key, job) in self.config.jobs(KEYWORDS) {
            let place = self.config.data.place(key.place);
            let tags = texts(job.get("tags"));
            let read = if job
                .get("trigger")
                .is_some_and(|node| !matches!(node.value, tree::Value::Null))
            {
                Err("it starts another pipeline".to_owned())
            } else if tags.iter().any(|tag| is_foreign(tag)) {
                Err(format!("it runs on {}", tags.join(", ")))
            } else {
                let runs = self.runs(&job);
                runs.and_then(|runs| self.job(&key.name, &place, &job, &tags, runs))
            };
            if let Err(why) = read {
                self.sink
                    .not_read(place, Some(format!("job `{}`", key.name)), why);
            }
        }
    }

    /// Reads the scripts of a job for each cell of its matrix.
    fn job(
        &mut self,
        key: &str,
        place: &Place,
        job: &Node,
        tags: &[String],
        mut script: Script,
    ) -> Result<(), String> {
        let inherited = |name: &str| {
            let default = || self.config.top("default")?.get(name);
            let found = job.get(name).or_else(default);
            let found = found.or_else(|| self.config.top(name));
            found
                .map(|found| self.config.resolved(found))
                .unwrap_or_default()
        };
        let (before, own) = (inherited("before_script"), inherited("script"));
        if texts(Some(&own)).is_empty() {
            return Err("it has no script".to_owned());
        }
        // One shell reads all texts. A line is that of the text that it is in.
        let (mut all, mut places) = (String::new(), Vec::new());
        let lines = [flat(&before), flat(&own)].concat().into_iter();
        for node in lines.filter(|node| is_scalar(node)) {
            let text = scalar(node) + "\n";
            let start = self.config.data.text_place(node);
            places.extend((0..).zip(text.lines()).map(|(line, _)| start.below(line)));
            all.push_str(&text);
        }
        let place_of = |line: u32| {
            let found = usize::try_from(line).ok().and_then(|line| places.get(line));
            found.unwrap_or(place).clone()
        };
        if job.scalar_at("allow_failure") == "true" {
            script.ignored = Some("allow_failure".to_owned());
        }
        script.label = key.to_owned();
        script.job = format!(".gitlab-ci.yml/{key}");
        script.services = texts(Some(&inherited("services")));
        let variables = self.variables(job);
        for cell in cells(job) {
            let values = cell.iter().map(|(_, value)| value);
            let words: Vec<&str> = tags.iter().chain(values).map(String::as_str).collect();
            script.oddness = odd_words(&format!("{key} {}", words.join(" ")));
            script.variables = Variables::default();
            for (name, text) in variables.iter().cloned().chain(cell) {
                let value = match text.contains('$') {
                    true => shell::Value::Unknown,
                    false => shell::Value::Known(text),
                };
                script.variables.set(&name, value, false);
            }
            self.sink.script(place, &all, &script, place_of);
        }
        Ok(())
    }

    /// Whether a job runs for a merge request or a pushed branch; else the reason.
    fn runs(&self, job: &Node) -> Result<Script, String> {
        let run = |event: &str| {
            let scope = self.scope(job, event);
            if let Some(rules) = self.config.data.root.at("workflow.rules") {
                let outer = self.rules(&scope, rules);
                outer.map_err(|why| format!("`workflow: rules`: {why}"))?;
            }
            match job.get("rules") {
                Some(rules) => self.rules(&scope, rules),
                None => when(job.get("when")).and_then(|()| self.only(job, event)),
            }
        };
        run("merge_request_event").or_else(|_| run("push"))
    }

    /// The variables of all jobs and of one.
    fn variables(&self, job: &Node) -> Vec<(String, String)> {
        let all = [self.config.top("variables"), job.get("variables")];
        let all = all.into_iter().flatten().flat_map(Node::entries);
        all.map(|(key, node)| (key.name.clone(), value_of(node)))
            .collect()
    }

    /// What is known of a pipeline for a change.
    fn scope(&self, job: &Node, event: &str) -> Scope {
        let mut scope = Scope::default();
        let is_request = event == "merge_request_event";
        let default = self.tree.default_branch.as_deref();
        for (name, value) in [
            ("CI", Some("true")),
            ("GITLAB_CI", Some("true")),
            ("CI_PIPELINE_SOURCE", Some(event)),
            ("CI_COMMIT_BRANCH", Some("change").filter(|_| !is_request)),
            ("CI_COMMIT_REF_NAME", Some("change")),
            ("CI_OPEN_MERGE_REQUESTS", None),
            ("CI_COMMIT_TAG", None),
            ("CI_DEFAULT_BRANCH", default.or(Some("main"))),
        ] {
            scope.set(name, value.map_or(Value::Null, Value::text));
        }
        for (name, value) in [
            ("SOURCE_BRANCH_NAME", Some("change")),
            ("IID", Some("1")),
            ("ID", Some("1")),
            ("TARGET_BRANCH_NAME", default),
        ] {
            let known = value.map_or(Value::Unknown, Value::text);
            let value = if is_request { known } else { Value::Null };
            scope.set(&format!("CI_MERGE_REQUEST_{name}"), value);
        }
        let slug = self.tree.slug.as_deref();
        scope.set("CI_PROJECT_PATH", slug.map_or(Value::Unknown, Value::text));
        scope.missing = |name| {
            if name.starts_with("CI_") {
                Value::Unknown
            } else {
                Value::Null
            }
        };
        for (name, value) in self.variables(job) {
            scope.set(&name, Value::Text(value));
        }
        scope
    }

    /// The first rule that holds, or may hold, decides.
    fn rules(&self, scope: &Scope, rules: &Node) -> Result<Script, String> {
        for rule in flat(&self.config.resolved(rules)) {
            let condition = rule.get("if").map(value_of).unwrap_or_default();
            let holds = scope.condition(&condition);
            let never = when(rule.get("when"));
            // A rule that may hold leaves nothing out.
            if holds == Some(false) || holds.is_none() && never.is_err() {
                continue;
            }
            let exists = texts(rule.get("exists"));
            let is_there = |glob: &String| {
                Glob::parse(glob).is_err() || self.tree.matching(&[glob]).next().is_some()
            };
            if !exists.is_empty() && !exists.iter().any(is_there) {
                continue;
            }
            never?;
            let changes = rule.get("changes");
            let may_fail = rule.scalar_at("allow_failure") == "true";
            return Ok(Script {
                paths: paths(changes.map(|node| node.get("paths").unwrap_or(node))),
                ignored: may_fail.then(|| "allow_failure".to_owned()),
                ..Script::default()
            });
        }
        Err("no rule of it holds for a merge request".to_owned())
    }

    /// The older `only` and `except`.
    fn only(&self, job: &Node, event: &str) -> Result<Script, String> {
        let refs = |name: &str| {
            let node = job.get(name)?;
            let refs = match node.entries() {
                [] => node,
                _ => node.get("refs")?,
            };
            Some(texts(Some(refs)))
        };
        let request = event == "merge_request_event";
        let kinds: &[&str] = if request {
            &["merge_requests", "external_pull_requests"]
        } else {
            &["branches", "pushes"]
        };
        let default = self.tree.default_branch.as_deref().unwrap_or("main");
        let selects = |refs: &[String]| {
            refs.iter().any(|name| {
                let pattern = name.strip_prefix('/').and_then(|name| name.split_once('/'));
                let fits = |pattern: &str| {
                    regex::Regex::new(pattern).map_or(true, |p| p.is_match("change"))
                };
                kinds.contains(&&**name)
                    || !request && pattern.is_some_and(|(pattern, _)| fits(pattern))
            })
        };
        // A job without `only` runs for branches and tags.
        let (only, except) = (refs("only"), refs("except").unwrap_or_default());
        let default_only = only
            .as_ref()
            .is_some_and(|refs| !request && refs.iter().any(|name| name == default));
        if !only.as_ref().map_or(!request, |refs| selects(refs)) && !default_only
            || selects(&except)
        {
            let refs = only.unwrap_or_default().join(", ");
            return Err(format!("it runs only for: {refs}"));
        }
        Ok(Script {
            paths: paths(job.at("only.changes")),
            ..Script::default()
        })
    }
}

/// Whether `when` lets a job run without a person.
fn when(when: Option<&Node>) -> Result<(), String> {
    match when.map(value_of).as_deref() {
        Some("never") => Err("no rule of it holds for a merge request".to_owned()),
        Some("manual") => Err("a person starts it".to_owned()),
        Some("on_failure") => Err("it runs after a failure".to_owned()),
        _ => Ok(()),
    }
}

/// The globs of `changes`; one with a variable selects all files.
fn paths(changes: Option<&Node>) -> Vec<String> {
    let globs = texts(changes);
    if globs
        .iter()
        .any(|glob| glob.contains('$') || Glob::parse(glob).is_err())
    {
        return Vec::new();
    }
    globs::condition(globs)
}

/// The text of a variable: of itself or of its `value`.
fn value_of(node: &Node) -> String {
    let value = node.get("value").unwrap_or(node);
    texts(Some(value)).into_iter().next().unwrap_or_default()
}

/// The variables of the cells of `parallel: matrix`; one without any for other jobs.
fn cells(job: &Node) -> Vec<Vec<(String, String)>> {
    let mut all = Vec::new();
    for group in job.at("parallel.matrix").map(flat).unwrap_or_default() {
        let axes = group.entries().iter();
        all.extend(product(
            axes.map(|(key, node)| (key.name.clone(), texts(Some(node)))),
        ));
    }
    all.truncate(MAX_CELLS);
    if all.is_empty() {
        all.push(Vec::new());
    }
    all
}

#[cfg(test)]
mod tests;
