//! GitLab's pipeline: the scripts of the jobs that run for a merge request or a pushed branch.

mod config;

use crate::expression::{Scope, Value};
use crate::found::{Place, SourceReading};
use crate::github::{is_foreign, odd_words};
use crate::sink::{Script, Sink};
use crate::tree::{Keys, RepositoryTree, scalar, scalars};
use crate::words::{listed, words_of};
use crate::{globs, shell};
use config::{Config, Job, flat};
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_front::tree::TreeNode;

/// Reads the pipeline of a repository.
pub fn read(tree: &RepositoryTree, files: &[RepoPath]) -> SourceReading {
    let mut sink = Sink::default();
    for file in files {
        let mut config = Config::default();
        config.add(tree, file, &mut sink);
        let pipeline = Pipeline { tree, config };
        for (key, job) in pipeline.config.jobs() {
            let place = pipeline.config.data.place(key.place);
            let read = pipeline.job(&key.name, &place, &job, &mut sink);
            sink.out.note(place, &key.name, read);
        }
    }
    sink.reading()
}

/// What is known of a pipeline for a change: of `request` and `push` one is empty.
const KNOWN: &str = r#"{
    "CI": "true", "GITLAB_CI": "true", "CI_DEFAULT_BRANCH": "${{ main }}",
    "CI_PROJECT_PATH": "${{ slug }}", "CI_COMMIT_REF_NAME": "change",
    "CI_COMMIT_TAG": null, "CI_OPEN_MERGE_REQUESTS": null,
    "CI_PIPELINE_SOURCE": "${{ request && 'merge_request_event' || 'push' }}",
    "CI_COMMIT_BRANCH": "${{ push && 'change' }}",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "${{ request && 'change' }}",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "${{ request && main }}",
    "CI_MERGE_REQUEST_IID": "${{ request && '1' }}", "CI_MERGE_REQUEST_ID": "${{ request && '1' }}",
    "CI_*": "${{ any }}"
}"#;

/// The words of `only` and `except` for a change.
const CHANGES: &str = "merge_requests external_pull_requests branches pushes";

struct Pipeline<'t> {
    tree: &'t RepositoryTree,
    config: Config,
}

impl Pipeline<'_> {
    /// Reads the scripts of a job.
    fn job(&self, key: &str, place: &Place, job: &Job<'_>, sink: &mut Sink) -> Result<(), String> {
        let tags = job.scalars_at("tags");
        if !flat(job.at("trigger")).is_empty() {
            return Err("it starts another pipeline".to_owned());
        }
        if tags.iter().any(|tag| is_foreign(tag)) {
            return Err(format!("it runs on {}", tags.join(", ")));
        }
        let variables = self.variables(job);
        let runs = self.runs(job, &variables, true);
        let mut script = runs.or_else(|_| self.runs(job, &variables, false))?;
        let inherited = |name: &str| {
            let default = || self.config.tops("default").find_map(|top| top.get(name));
            let found = job.at(name).or_else(default);
            let found = found.or_else(|| self.config.tops(name).next());
            let mut values = self.config.values(found);
            values.retain(|node| !scalars(node).is_empty());
            values
        };
        let own = inherited("script");
        if own.is_empty() {
            return Err("it has no script".to_owned());
        }
        // One shell reads all texts. A line is that of the text that it is in.
        let (mut all, mut places) = (String::new(), Vec::new());
        for node in inherited("before_script").into_iter().chain(own) {
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
        script.services = inherited("services").into_iter().map(scalar).collect();
        script.oddness = odd_words(&format!("{key} {}", tags.join(" ")));
        // A variable of a matrix has several values.
        let groups = flat(job.at("parallel.matrix")).into_iter();
        let several = groups.flat_map(TreeNode::entries);
        let several = several.map(|(key, _)| (key.name.clone(), "$".to_owned()));
        for (name, text) in variables.into_iter().chain(several) {
            let is_known = !text.contains('$');
            let value = shell::ShellValue::keep_known(text, is_known);
            script.variables.set(&name, value, false);
        }
        sink.script(place, &all, &script, place_of);
        Ok(())
    }

    /// The variables of all jobs and of one, those that hold last.
    fn variables(&self, job: &Job<'_>) -> Vec<(String, String)> {
        let maps = job.all("variables").chain(self.config.tops("variables"));
        let maps: Vec<&TreeNode> = maps.collect();
        let all = maps.into_iter().rev().flat_map(TreeNode::entries);
        all.map(|(key, node)| (key.name.clone(), value_of(node)))
            .collect()
    }

    /// What its rules say of a job, for a merge request or a pushed branch; the error is why it does not
    /// run.
    fn runs(
        &self,
        job: &Job<'_>,
        variables: &[(String, String)],
        is_request: bool,
    ) -> Result<Script, String> {
        let main = self.tree.default_branch.as_deref().unwrap_or("main");
        let known = [
            ("main", Some(main)),
            ("slug", self.tree.slug.as_deref()),
            ("request", Some("true").filter(|_| is_request).or(Some(""))),
            ("push", Some("true").filter(|_| !is_request).or(Some(""))),
        ];
        let mut scope = Scope::from_json(KNOWN, &known);
        for (name, value) in variables {
            scope.set(name, Value::text(value));
        }
        let mut outer = self.config.tops("workflow");
        if let Some(rules) = outer.find_map(|top| top.get("rules")) {
            let outer = self.rules(&scope, rules);
            outer.map_err(|why| format!("`workflow: rules`: {why}"))?;
        }
        if let Some(rules) = job.at("rules") {
            return self.rules(&scope, rules);
        }
        when(job.at("when"))?;
        // The older `only` and `except`; a pattern may be that of the branch.
        let refs = |key: &str| {
            let list = job.at(key).filter(|node| node.entries().is_empty());
            let refs = list.or_else(|| job.at(&format!("{key}.refs")));
            refs.map(scalars)
        };
        let only = refs("only").unwrap_or_else(|| words_of(CHANGES));
        let except = refs("except").unwrap_or_default();
        let is_change = |name: &String| listed(CHANGES, name) || name == main;
        let may_be = |name: &String| is_change(name) || name.starts_with('/');
        if !only.iter().any(may_be) || except.iter().any(is_change) {
            return Err(format!("it runs only for: {}", only.join(", ")));
        }
        Ok(Script {
            paths: paths(job.at("only.changes")),
            ..Script::default()
        })
    }

    /// The first rule that holds, or may hold, decides.
    fn rules(&self, scope: &Scope, rules: &TreeNode) -> Result<Script, String> {
        for rule in self.config.values(Some(rules)) {
            let condition = rule.get("if").map(value_of).unwrap_or_default();
            let holds = scope.condition(&condition);
            let never = when(rule.get("when"));
            // A rule that may hold leaves nothing out.
            if holds == Some(false) || holds.is_none() && never.is_err() {
                continue;
            }
            let exists = rule.scalars_at("exists");
            if !exists.is_empty() && self.tree.matching(&exists).next().is_none() {
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
}

/// Whether `when` lets a job run without a person.
fn when(when: Option<&TreeNode>) -> Result<(), String> {
    match when.map(value_of).as_deref() {
        Some("never") => Err("no rule of it holds for a merge request".to_owned()),
        Some("manual") => Err("a person starts it".to_owned()),
        Some("on_failure") => Err("it runs after a failure".to_owned()),
        _ => Ok(()),
    }
}

/// The globs of `changes`; one with a variable selects all files.
fn paths(changes: Option<&TreeNode>) -> Vec<String> {
    let globs = changes.map(scalars).unwrap_or_default();
    let is_odd = |glob: &String| glob.contains('$') || Glob::parse(glob).is_err();
    match globs.iter().any(is_odd) {
        true => Vec::new(),
        false => globs::condition(globs),
    }
}

/// The text of a variable: of itself or of its `value`.
fn value_of(node: &TreeNode) -> String {
    let value = node.get("value").unwrap_or(node);
    scalars(value).into_iter().next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
