//! Reads GitLab's CI configuration: the jobs that run for a change, with all that they inherit, and
//! the commands of their scripts.

mod cells;
pub mod idiom;
mod item;
mod rules;

use super::candidate::{Belief, Candidate, Declarations, Origin, Reason, State, When};
use super::script::{self, Job, Script};
use super::tree::Tree;
use crate::base::path::RepoPath;
use cells::Cell;
use item::{At, Config, Item, ItemEntry, find};
use rules::{Facts, Pipeline, RuleAnswer};
use std::collections::{BTreeMap, BTreeSet};

/// The file's name, at the root.
pub const FILE: &str = ".gitlab-ci.yml";

/// Keys of the top level that are no job.
const GLOBAL: &[&str] = &[
    "after_script",
    "before_script",
    "cache",
    "default",
    "image",
    "include",
    "services",
    "spec",
    "stages",
    "variables",
    "workflow",
];
/// Keys that a job takes from the top level or from `default`.
const INHERITED: &[&str] = &[
    "after_script",
    "before_script",
    "image",
    "services",
    "tags",
    "timeout",
];
/// The most jobs that are read.
const MAX_JOBS: usize = 1000;

/// Reads what is declared there.
pub fn read(tree: &Tree, found: &mut Declarations) {
    let Ok(file) = RepoPath::parse(FILE.as_bytes()) else {
        return;
    };
    if tree.texts.contains_key(&file) || tree.unread.contains_key(&file) {
        read_file(tree, &file, found);
    }
}

/// Reads a configuration, wherever it is.
pub fn read_file(tree: &Tree, file: &RepoPath, found: &mut Declarations) {
    let Some(mut config) = Config::load(tree, file, found) else {
        return;
    };
    let names: Vec<(String, At)> = config
        .top
        .iter()
        .filter(|e| !GLOBAL.contains(&e.key.as_str()) && !e.key.starts_with('.'))
        .filter(|e| matches!(e.value, Item::Map(_)))
        .map(|e| (e.key.clone(), e.at))
        .collect();
    for (name, at) in names.into_iter().take(MAX_JOBS) {
        let Some(mut job) = config.job(&name) else {
            let what = format!("job `{name}`");
            let why = "it inherits more than can be read".to_owned();
            found.skip(origin(&config, at, &name), what, Reason::NotRead, why);
            continue;
        };
        inherit(&config, &mut job);
        let reader = Reader {
            tree,
            config: &config,
            name: &name,
            at,
            job: &job,
        };
        if let Err((reason, why)) = reader.read(found) {
            let what = format!("job `{name}`");
            if !reader.leave_out(reason, &format!("{what}: {why}"), found) {
                found.skip(origin(&config, at, &name), what, reason, why);
            }
        }
    }
}

fn origin(config: &Config, at: At, label: &str) -> Origin {
    Origin {
        file: config.files.get(at.file).cloned().unwrap_or_default(),
        line: at.line,
        label: label.to_owned(),
    }
}

/// Adds what `default` and the top level give to jobs that say nothing.
fn inherit(config: &Config, job: &mut Vec<ItemEntry>) {
    let from = find(job, "inherit").and_then(|i| i.get("default")).cloned();
    let allowed = |key: &str| match &from {
        Some(value) if value.is(false) => false,
        Some(list @ Item::List(_)) => list.texts().iter().any(|(text, _)| *text == key),
        _ => true,
    };
    let default = find(&config.top, "default");
    for key in INHERITED {
        if find(job, key).is_some() || !allowed(key) {
            continue;
        }
        let given = default
            .and_then(|d| d.get(key))
            .or_else(|| find(&config.top, key));
        if let Some(value) = given {
            job.push(ItemEntry {
                key: (*key).to_owned(),
                at: At::default(),
                value: value.clone(),
            });
        }
    }
}

struct Reader<'r> {
    tree: &'r Tree,
    config: &'r Config,
    name: &'r str,
    at: At,
    job: &'r [ItemEntry],
}

impl Reader<'_> {
    fn get(&self, key: &str) -> Option<&Item> {
        find(self.job, key)
    }

    /// Reads the job.
    ///
    /// # Errors
    /// The reason why it is no check of a change.
    fn read(&self, found: &mut Declarations) -> Result<(), (Reason, String)> {
        if self.get("trigger").is_some() {
            let why = "it starts another pipeline".to_owned();
            return Err((Reason::Action, why));
        }
        if self.get("script").is_none() {
            let reason = if self.get("run").is_some() {
                (Reason::NotRead, "its `run` steps".to_owned())
            } else {
                (Reason::Nothing, "it has no script".to_owned())
            };
            return Err(reason);
        }
        let variables = self.variables();
        let (answer, tier) = self.answer(&variables)?;
        if self.get("release").is_some() {
            return Err((Reason::Publishes, "it makes a release".to_owned()));
        }
        if let Some(environment) = self.get("environment") {
            let action = environment.get("action").and_then(Item::text);
            if !matches!(action, Some("prepare" | "verify" | "access")) {
                return Err((Reason::Deploys, "it deploys to an environment".to_owned()));
            }
        }
        self.machine(&variables)?;
        let chosen = self
            .get("parallel")
            .and_then(|p| p.get("matrix"))
            .and_then(|matrix| cells::choose(self.tree, matrix));
        let Some(chosen) = chosen else {
            self.cell(&variables, &answer, tier, None, found);
            return Ok(());
        };
        let note = format!(
            "one of {} cells: {}",
            chosen.count,
            cells::words(&chosen.first)
        );
        self.cell(
            &variables,
            &answer,
            tier,
            Some((&chosen.first, note)),
            found,
        );
        for cell in &chosen.more {
            let note = format!("a further cell: {}", cells::words(cell));
            self.cell(&variables, &answer, 1, Some((cell, note)), found);
        }
        if !chosen.dropped.is_empty() {
            let what = format!(
                "{} further cells of job `{}`",
                chosen.dropped.len(),
                self.name
            );
            let origin = origin(self.config, self.at, self.name);
            found.skip(origin, what, Reason::Matrix, chosen.dropped.join(", "));
        }
        Ok(())
    }

    /// Names the commands of a job that is no check. Returns whether there are any.
    fn leave_out(&self, reason: Reason, why: &str, found: &mut Declarations) -> bool {
        let mut variables = self.variables();
        settle(&mut variables);
        let lines = self.lines(&["script"]);
        let mut job = self.new_job(&variables, &lines);
        let begun = found.candidates.len();
        self.run(&mut job, &lines, &variables, &BTreeMap::new(), found);
        for candidate in found.candidates.iter_mut().skip(begun) {
            candidate.leave_out(reason, why);
        }
        found.candidates.len() > begun
    }

    /// The variables of the configuration and of the job.
    fn variables(&self) -> BTreeMap<String, String> {
        let inherits = self.get("inherit").and_then(|i| i.get("variables"));
        let mut all = rules::scalars(find(&self.config.top, "variables"));
        match inherits {
            Some(value) if value.is(false) => all.clear(),
            Some(list @ Item::List(_)) => {
                let names: BTreeSet<&str> = list.texts().into_iter().map(|(t, _)| t).collect();
                all.retain(|name, _| names.contains(name.as_str()));
            }
            _ => {}
        }
        all.extend(rules::scalars(self.get("variables")));
        all
    }

    /// Returns the answer of the job's rules for a change, and its tier.
    fn answer(
        &self,
        variables: &BTreeMap<String, String>,
    ) -> Result<(RuleAnswer, u8), (Reason, String)> {
        let workflow = find(&self.config.top, "workflow");
        let mut why = "no pipeline of a change has it".to_owned();
        let mut answers = Vec::new();
        for pipeline in Pipeline::ALL {
            let facts = Facts {
                tree: self.tree,
                variables,
                pipeline,
                workflow_rules: workflow.is_some_and(|w| w.get("rules").is_some()),
            };
            if !facts.pipeline_exists(workflow) {
                continue;
            }
            match facts.job(self.job) {
                Ok(answer) => answers.push((pipeline, answer)),
                Err(not) => why = not,
            }
        }
        let later = answers.iter().all(|(p, _)| *p == Pipeline::Default);
        let joined = rules::joined(answers.into_iter().map(|(_, answer)| answer));
        match joined {
            Some(answer) => Ok((answer, u8::from(later))),
            None => Err((Reason::Occasion, why)),
        }
    }

    /// Whether the job runs on a machine like this one.
    fn machine(&self, variables: &BTreeMap<String, String>) -> Result<(), (Reason, String)> {
        let tags = self.get("tags").map_or_else(Vec::new, Item::texts);
        let image = self.get("image").and_then(|i| i.get("name").or(Some(i)));
        let image = image.and_then(Item::text);
        let words = tags.iter().map(|(text, _)| *text).chain(image);
        for word in words {
            let word = fill(word, variables).to_ascii_lowercase();
            let other = [
                "windows",
                "macos",
                "darwin",
                "servercore",
                "nanoserver",
                "-gpu",
                "freebsd",
            ];
            if other.iter().any(|name| word.contains(name)) || word == "gpu" {
                return Err((Reason::Machine, word));
            }
        }
        Ok(())
    }

    /// Reads the scripts of the job, for one cell of its matrix.
    fn cell(
        &self,
        variables: &BTreeMap<String, String>,
        answer: &RuleAnswer,
        tier: u8,
        cell: Option<(&Cell, String)>,
        found: &mut Declarations,
    ) {
        let mut variables = variables.clone();
        variables.extend(answer.variables.clone());
        let mut notes: Vec<String> = Vec::new();
        if let Some((cell, note)) = cell {
            variables.extend(cell.iter().map(|(n, v)| (n.clone(), v.clone())));
            notes.push(note);
        }
        settle(&mut variables);
        notes.extend(
            answer
                .unknown
                .iter()
                .map(|text| format!("CI runs it when {text}")),
        );
        let allowed = self
            .get("allow_failure")
            .is_some_and(|value| !value.is(false));
        let lines = self.lines(&["before_script", "script"]);
        let mut job = Job {
            when: match &answer.changes {
                Some(globs) => changed(self.config, globs),
                None => When::Unsaid,
            },
            tier,
            warning: answer.warning.unwrap_or(allowed),
            notes,
            ..self.new_job(&variables, &lines)
        };
        // What a value refers to and nothing sets is not known.
        let mut env = variables.clone();
        env.retain(|_, value| !value.contains('$'));
        self.run(&mut job, &lines, &variables, &env, found);
        // Whatever it does, the job's end does not depend on it.
        let after = self.lines(&["after_script"]);
        if !after.is_empty() && cell_is_first(tier) {
            let begun = found.candidates.len();
            self.run(&mut job.clone(), &after, &variables, &env, found);
            for candidate in found.candidates.iter_mut().skip(begun) {
                if candidate.state == State::Open {
                    candidate.leave_out(Reason::CannotFail, "after_script");
                }
            }
        }
    }

    /// The job as its scripts begin, wanted for every change.
    fn new_job(&self, variables: &BTreeMap<String, String>, lines: &[(String, At)]) -> Job {
        Job {
            file: self.config.files.first().cloned().unwrap_or_default(),
            belief: Belief::Workflow,
            name: self.name.to_owned(),
            when: When::Unsaid,
            tier: 0,
            warning: false,
            timeout: self.get("timeout").and_then(Item::text).and_then(minutes),
            notes: Vec::new(),
            secrets: secrets(lines, variables),
            services: self.services(variables),
            exported: BTreeMap::new(),
            tool_path: Vec::new(),
            edited: None,
            built: Vec::new(),
            since_compared: Vec::new(),
        }
    }

    /// The lines of scripts, each with its place.
    fn lines(&self, keys: &[&str]) -> Vec<(String, At)> {
        let items = keys.iter().filter_map(|key| self.get(key));
        let texts: Vec<(&str, At)> = items.flat_map(Item::texts).collect();
        let mut all = Vec::new();
        for (text, at) in texts {
            for (line, index) in text.lines().zip(0..) {
                let at = At {
                    line: at.line.saturating_add(index),
                    ..at
                };
                all.push((line.to_owned(), at));
            }
        }
        all
    }

    /// Reads all lines as one script, and gives each candidate the place of its line.
    fn run(
        &self,
        job: &mut Job,
        lines: &[(String, At)],
        variables: &BTreeMap<String, String>,
        env: &BTreeMap<String, String>,
        found: &mut Declarations,
    ) {
        let texts: Vec<&str> = lines.iter().map(|(text, _)| text.as_str()).collect();
        let text = idiom::without(&fill(&texts.join("\n"), variables));
        let (candidates, skipped) = (found.candidates.len(), found.skipped.len());
        let script = Script {
            text: &text,
            line: 1,
            label: self.name.to_owned(),
            dir: RepoPath::root(),
            env: env.clone(),
            condition: None,
        };
        script::read(self.tree, job, &script, found);
        let place = |origin: &mut Origin| {
            let index = usize::try_from(origin.line).unwrap_or(1).saturating_sub(1);
            if let Some((_, at)) = lines.get(index).or(lines.last()) {
                origin.line = at.line;
                if let Some(file) = self.config.files.get(at.file) {
                    origin.file = file.clone();
                }
            }
        };
        let new = found.candidates.iter_mut().skip(candidates);
        new.for_each(|candidate: &mut Candidate| {
            place(&mut candidate.origin);
            candidate
                .env
                .retain(|name, value| means_something(name, value) && !is_parameter(lines, name));
        });
        let new = found.skipped.iter_mut().skip(skipped);
        new.for_each(|skipped| place(&mut skipped.origin));
    }

    /// The services of the job, each with the variables that name it.
    fn services(&self, variables: &BTreeMap<String, String>) -> Vec<(String, Vec<String>)> {
        let mut all = Vec::new();
        for service in self.get("services").map_or_else(Vec::new, Item::flat) {
            let image = service.get("name").unwrap_or(service).text();
            let image = fill(image.unwrap_or_default(), variables);
            let bare = image.split([':', '@']).next().unwrap_or_default();
            let short = bare.rsplit('/').next().unwrap_or_default().to_owned();
            let alias = service
                .get("alias")
                .and_then(Item::text)
                .unwrap_or_default();
            let hosts: Vec<&str> = alias
                .split([' ', ','])
                .chain([short.as_str()])
                .filter(|host| !host.is_empty())
                .collect();
            let prefix = format!("{}_", short.to_ascii_uppercase().replace('-', "_"));
            let of_service = |(name, value): (&String, &String)| {
                let mentions = value
                    .split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
                    .any(|word| hosts.contains(&word));
                (mentions || name.starts_with(&prefix)).then(|| name.clone())
            };
            let own: Vec<String> = variables.iter().filter_map(of_service).collect();
            all.push((short, own));
        }
        all
    }
}

/// `after_script` is told once for a job.
fn cell_is_first(tier: u8) -> bool {
    tier == 0
}

/// The condition of a job, without the configuration's own files: a change of those is risky anyway.
fn changed(config: &Config, globs: &[String]) -> When {
    let own = |glob: &String| {
        config
            .files
            .iter()
            .any(|file| file.as_bytes() == glob.as_bytes())
    };
    let kept: Vec<String> = globs.iter().filter(|glob| !own(glob)).cloned().collect();
    if kept.is_empty() {
        When::Unsaid
    } else {
        When::Changed(kept)
    }
}

/// Replaces variables in the values of others.
fn settle(variables: &mut BTreeMap<String, String>) {
    for _ in 0..4 {
        let before = variables.clone();
        for value in variables.values_mut() {
            if value.contains('$') && value.len() < 4096 {
                *value = fill(value, &before);
            }
        }
        if *variables == before {
            break;
        }
    }
}

/// Fills in `$NAME` and `${NAME}` of variables with a plain value, outside of single quotes, unless
/// the text sets them itself.
fn fill(text: &str, variables: &BTreeMap<String, String>) -> String {
    let plain = |value: &str| {
        !value.is_empty()
            && value
                .chars()
                .all(|c| c.is_alphanumeric() || "_-./:=,@%+".contains(c))
    };
    let sets = |name: &str| {
        [
            format!("{name}="),
            format!("read {name}"),
            format!("read -r {name}"),
        ]
        .iter()
        .any(|form| text.contains(form.as_str()))
    };
    let mut out = String::with_capacity(text.len());
    let mut quoted = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match c {
            '\'' => quoted = !quoted,
            '\\' if !quoted => {
                taken += rest.chars().nth(1).map_or(0, char::len_utf8);
            }
            '$' if !quoted => {
                let inner = rest.get(1..).unwrap_or_default();
                let braced = inner.strip_prefix('{');
                let name: String = braced
                    .unwrap_or(inner)
                    .chars()
                    .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .collect();
                let after = braced
                    .unwrap_or(inner)
                    .get(name.len()..)
                    .unwrap_or_default();
                let closed = braced.is_none() || after.starts_with('}');
                let value = variables.get(&name).filter(|v| plain(v) && !sets(&name));
                if let Some(value) = value.filter(|_| closed && !name.is_empty()) {
                    out.push_str(value);
                    let length = 1 + name.len() + if braced.is_some() { 2 } else { 0 };
                    rest = rest.get(length..).unwrap_or_default();
                    continue;
                }
            }
            // An apostrophe in a comment or in double quotes opens nothing on the next line.
            '\n' => quoted = false,
            _ => {}
        }
        out.push_str(rest.get(..taken).unwrap_or_default());
        rest = rest.get(taken..).unwrap_or_default();
    }
    out
}

/// Whether a variable changes what a command means; settings of the CI system, of caches and of
/// services, and secrets do not.
fn means_something(name: &str, value: &str) -> bool {
    let begins = [
        "ACTIONS_",
        "ARTIFACT_",
        "CACHE_",
        "CARGO_NET_",
        "CI_",
        "CS_",
        "DAST_",
        "DOCKER_",
        "DS_",
        "FF_",
        "GITHUB_",
        "GITLAB_",
        "GIT_",
        "KUBERNETES_",
        "MYSQL_",
        "PIP_",
        "POSTGRES_",
        "REDIS_",
        "RUNNER_",
        "SAST_",
        "SECRET_",
        "SECURE_",
        "TRANSFER_",
    ];
    let ends = [
        "_CACHE",
        "_CACHE_DIR",
        "_DIR",
        "_HOME",
        "_IMAGE",
        "_KEY",
        "_PASSWORD",
        "_REGISTRY",
        "_SECRET",
        "_TAG",
        "_TOKEN",
        "_VERSION",
    ];
    let exact = [
        "CARGO_HOME",
        "CARGO_INCREMENTAL",
        "CARGO_TERM_COLOR",
        "FORCE_COLOR",
        "IMAGE",
        "NO_COLOR",
        "PRE_COMMIT_HOME",
        "PY_COLORS",
        "TERM",
        "VERSION",
    ];
    !value.is_empty()
        && !value.contains('$')
        && !begins.iter().any(|start| name.starts_with(start))
        && !ends.iter().any(|end| name.ends_with(end))
        && !exact.contains(&name)
        && !name.contains("CACHE")
        && !(name == "NODE_OPTIONS" && value.starts_with("--max-old-space"))
}

/// Whether a variable is a part of the script's commands, which has been filled in.
fn is_parameter(lines: &[(String, At)], name: &str) -> bool {
    let prints = |line: &str| line.trim_start().starts_with("echo");
    let names = |part: &str| {
        let part = part.trim_start_matches('{');
        part.strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    };
    lines
        .iter()
        .filter(|(line, _)| !prints(line))
        .any(|(line, _)| line.split('$').skip(1).any(names))
}

/// The variables of a script that hold a secret by their name, and that the configuration does not
/// set.
fn secrets(lines: &[(String, At)], variables: &BTreeMap<String, String>) -> Vec<String> {
    let mut all = BTreeSet::new();
    for (line, _) in lines {
        for part in line.split('$').skip(1) {
            let name: String = part
                .trim_start_matches('{')
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            let secret = [
                "TOKEN",
                "PASSWORD",
                "PASSWD",
                "SECRET",
                "API_KEY",
                "PRIVATE_KEY",
            ];
            if secret.iter().any(|word| name.contains(word)) && !variables.contains_key(&name) {
                all.insert(name);
            }
        }
    }
    all.into_iter().collect()
}

/// The minutes of a duration: `20 minutes`, `1h 30m`, `3 hours 10m`.
fn minutes(text: &str) -> Option<u32> {
    let mut total = 0_u32;
    let mut number: Option<u32> = None;
    let mut word = String::new();
    let mut flush = |word: &mut String, number: &mut Option<u32>| -> Option<()> {
        if word.is_empty() {
            return Some(());
        }
        if word == "and" {
            word.clear();
            return Some(());
        }
        let count = number.take()?;
        let seconds = match word.as_str() {
            "s" | "sec" | "secs" | "second" | "seconds" => 1,
            "m" | "min" | "mins" | "minute" | "minutes" => 60,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600,
            "d" | "day" | "days" => 86_400,
            _ => return None,
        };
        total = total.saturating_add(count.saturating_mul(seconds));
        word.clear();
        Some(())
    };
    for c in text.chars() {
        if let Some(digit) = c.to_digit(10) {
            flush(&mut word, &mut number)?;
            let before = number.unwrap_or(0);
            number = Some(before.saturating_mul(10).saturating_add(digit));
        } else if c.is_alphabetic() {
            word.push(c.to_ascii_lowercase());
        } else if c.is_whitespace() {
            flush(&mut word, &mut number)?;
        } else {
            return None;
        }
    }
    flush(&mut word, &mut number)?;
    if let Some(seconds) = number {
        total = total.saturating_add(seconds);
    }
    (total > 0).then(|| total.div_ceil(60))
}

#[cfg(test)]
mod tests;
