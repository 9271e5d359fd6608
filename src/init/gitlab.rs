//! GitLab's pipeline: the scripts of the jobs that run for a merge request or a pushed branch.

mod config;

use crate::expression::{Scope, Value};
use crate::found::{Place, Reading};
use crate::globs;
use crate::shell;
use crate::sink::{MAX_CELLS, Script, Sink, below, product};
use crate::tree::Tree;
use crate::variables::Variables;
use config::{Config, Item, ItemEntry};
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;

/// Keys of the top level that are no jobs.
const KEYWORDS: &str = "\
    after_script before_script cache default image include services spec stages variables \
    workflow";
/// The configuration, where there is one.
#[must_use]
pub fn files(tree: &Tree) -> Vec<RepoPath> {
    let file = RepoPath::from_exact(b".gitlab-ci.yml");
    file.filter(|file| tree.files.contains(file))
        .into_iter()
        .collect()
}

/// Reads the pipeline of a repository.
#[must_use]
pub fn read(tree: &Tree) -> Reading {
    let mut sink = Sink::default();
    for file in files(tree) {
        let config = Config::read(tree, &file, &mut sink);
        Pipeline {
            tree,
            config,
            sink: &mut sink,
        }
        .jobs();
    }
    sink.reading()
}

/// Whether a job runs, and how.
#[derive(Clone, Debug, Default)]
struct Runs {
    paths: Vec<String>,
    may_fail: bool,
}

struct Pipeline<'t> {
    tree: &'t Tree,
    config: Config,
    sink: &'t mut Sink,
}

impl Pipeline<'_> {
    fn jobs(&mut self) {
        for ItemEntry { key, at, value } in self.config.jobs(KEYWORDS) {
            let place = self.config.place(at);
            let part = Some(format!("job `{key}`"));
            let get = |name: &str| value.get(name).cloned().unwrap_or(Item::Null);
            if !matches!(get("trigger"), Item::Null) {
                self.sink
                    .not_read(place, part, "it starts another pipeline");
                continue;
            }
            let tags = get("tags").texts();
            if tags.iter().any(|(tag, _)| crate::github::is_foreign(tag)) {
                let tags: Vec<String> = tags.into_iter().map(|(tag, _)| tag).collect();
                self.sink
                    .not_read(place, part, format!("it runs on {}", tags.join(", ")));
                continue;
            }
            match self.runs(&value) {
                Ok(runs) => self.job(&key, &place, &value, &runs),
                Err(why) => self.sink.not_read(place, part, why),
            }
        }
    }

    /// Reads the scripts of a job for each cell of its matrix.
    fn job(&mut self, key: &str, place: &Place, job: &Item, runs: &Runs) {
        let inherited = |name: &str| {
            let own = job.get(name).cloned();
            let default = || self.config.top("default")?.get(name).cloned();
            own.or_else(default)
                .or_else(|| self.config.top(name).cloned())
                .unwrap_or(Item::Null)
        };
        let texts = |item: &Item| self.config.resolved(item).texts();
        let (before, script) = (
            texts(&inherited("before_script")),
            texts(&inherited("script")),
        );
        if script.is_empty() {
            let part = Some(format!("job `{key}`"));
            return self.sink.not_read(place.clone(), part, "it has no script");
        }
        let may_fail = runs.may_fail
            || job
                .get("allow_failure")
                .is_some_and(|value| value.is("true"));
        let tags = job.get("tags").map(Item::texts).unwrap_or_default();
        let tags: String = tags.into_iter().map(|(tag, _)| format!(" {tag}")).collect();
        for cell in cells(job) {
            let values: String = cell.iter().map(|(_, value)| format!(" {value}")).collect();
            let odd = crate::github::odd_words(&format!("{key}{tags}{values}"));
            let mut variables = Variables::default();
            let all = [self.config.top("variables"), job.get("variables")];
            let all = all.into_iter().flatten().flat_map(Item::entries);
            let all = all.map(|entry| (entry.key.clone(), text_of(&entry.value)));
            for (name, text) in all.chain(cell) {
                let known = !text.contains('$');
                let value = if known {
                    shell::Value::Known(text)
                } else {
                    shell::Value::Unknown
                };
                variables.set(&name, value, false);
            }
            let shared = Script {
                label: key.to_owned(),
                job: format!(".gitlab-ci.yml/{key}"),
                variables,
                paths: runs.paths.clone(),
                services: texts(&inherited("services"))
                    .into_iter()
                    .map(|(name, _)| name)
                    .collect(),
                ignored: may_fail.then(|| "allow_failure".to_owned()),
                oddness: u32::try_from(odd).unwrap_or(u32::MAX),
                ..Script::default()
            };
            // One shell reads all texts. A line is that of the text that it is in.
            let (mut all, mut starts, mut lines) = (String::new(), Vec::new(), 0_u32);
            for (text, at) in before.iter().chain(&script) {
                starts.push((lines, *at));
                all.push_str(text);
                all.push('\n');
                let count = text.matches('\n').count() + 1;
                lines = lines.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
            }
            let place_of = |line: u32| {
                let at = starts.partition_point(|(start, _)| *start <= line);
                let found = starts.get(at.saturating_sub(1));
                let (start, at) = found.copied().unwrap_or((0, (0, 1)));
                below(&self.config.place(at), line.saturating_sub(start))
            };
            let root = |dir: &RepoPath| Ok(dir.clone());
            self.sink.script(place, &all, &shared, &[], place_of, root);
        }
    }

    /// Whether a job runs for a merge request or a pushed branch; else the reason.
    fn runs(&self, job: &Item) -> Result<Runs, String> {
        let mut why = String::new();
        for event in ["merge_request_event", "push"] {
            let scope = self.scope(job, event);
            let outer = self
                .config
                .top("workflow")
                .and_then(|workflow| workflow.get("rules"));
            if let Some(rules) = outer
                && let Err(reason) = self.rules(&scope, rules)
            {
                why = format!("`workflow: rules`: {reason}");
                continue;
            }
            let answer = match job.get("rules") {
                Some(rules) => self.rules(&scope, rules),
                None => match when(job.get("when")) {
                    Ok(()) => self.only(job, event),
                    Err(why) => Err(why),
                },
            };
            match answer {
                Ok(runs) => return Ok(runs),
                Err(reason) => why = reason,
            }
        }
        Err(why)
    }

    /// What is known of a pipeline for a change.
    fn scope(&self, job: &Item, event: &str) -> Scope {
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
        for variables in [self.config.top("variables"), job.get("variables")]
            .into_iter()
            .flatten()
        {
            for entry in variables.entries() {
                scope.set(&entry.key, Value::Text(text_of(&entry.value)));
            }
        }
        scope
    }

    /// The first rule that holds, or may hold, decides.
    fn rules(&self, scope: &Scope, rules: &Item) -> Result<Runs, String> {
        let rules = self.config.resolved(rules);
        for rule in rules.flat() {
            let condition = rule.get("if").map(text_of).unwrap_or_default();
            let holds = scope.condition(&condition);
            let never = when(rule.get("when"));
            // A rule that may hold leaves nothing out.
            if holds == Some(false) || holds.is_none() && never.is_err() {
                continue;
            }
            let exists = rule.get("exists").map(Item::texts).unwrap_or_default();
            if !exists.is_empty() && !exists.iter().any(|(glob, _)| self.exists(glob)) {
                continue;
            }
            never?;
            let changes = rule.get("changes");
            let changes = changes
                .map(|c| c.get("paths").unwrap_or(c).texts())
                .unwrap_or_default();
            return Ok(Runs {
                paths: paths(changes),
                may_fail: rule
                    .get("allow_failure")
                    .is_some_and(|value| value.is("true")),
            });
        }
        Err("no rule of it holds for a merge request".to_owned())
    }

    fn exists(&self, glob: &str) -> bool {
        Glob::parse(glob).map_or(true, |glob| {
            self.tree.files.iter().any(|file| glob.matches(file))
        })
    }

    /// The older `only` and `except`.
    fn only(&self, job: &Item, event: &str) -> Result<Runs, String> {
        let refs = |name: &str| -> Option<Vec<String>> {
            let item = job.get(name)?;
            let refs = if item.entries().is_empty() {
                item
            } else {
                item.get("refs")?
            };
            Some(plain(refs.texts()))
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
        let changes = job.get("only").and_then(|only| only.get("changes"));
        Ok(Runs {
            paths: paths(changes.map(Item::texts).unwrap_or_default()),
            may_fail: false,
        })
    }
}

/// Whether `when` lets a job run without a person.
fn when(when: Option<&Item>) -> Result<(), String> {
    match when.map(text_of).as_deref() {
        Some("never") => Err("no rule of it holds for a merge request".to_owned()),
        Some("manual") => Err("a person starts it".to_owned()),
        Some("on_failure") => Err("it runs after a failure".to_owned()),
        _ => Ok(()),
    }
}

/// Texts without their places.
fn plain(texts: Vec<(String, config::At)>) -> Vec<String> {
    texts.into_iter().map(|(text, _)| text).collect()
}

/// The globs of `changes`; one with a variable selects all files.
fn paths(changes: Vec<(String, config::At)>) -> Vec<String> {
    let globs = plain(changes);
    if globs
        .iter()
        .any(|glob| glob.contains('$') || Glob::parse(glob).is_err())
    {
        return Vec::new();
    }
    globs::condition(globs)
}

/// The text of a variable: of itself or of its `value`.
fn text_of(item: &Item) -> String {
    let value = item.get("value").unwrap_or(item);
    plain(value.texts()).into_iter().next().unwrap_or_default()
}

/// The variables of the cells of `parallel: matrix`; one without any for other jobs.
fn cells(job: &Item) -> Vec<Vec<(String, String)>> {
    let matrix = job
        .get("parallel")
        .and_then(|parallel| parallel.get("matrix"));
    let mut all = Vec::new();
    for group in matrix.map(Item::flat).unwrap_or_default() {
        let axes = group.entries().iter();
        all.extend(product(
            axes.map(|entry| (entry.key.clone(), plain(entry.value.texts()))),
        ));
    }
    all.truncate(MAX_CELLS);
    if all.is_empty() {
        vec![Vec::new()]
    } else {
        all
    }
}

#[cfg(test)]
mod tests;
