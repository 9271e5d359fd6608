//! Whether a job of GitLab runs for a change: `rules`, `only` and `except`, `workflow`.

use super::item::{Item, ItemEntry, find};
use crate::base::glob::Glob;
use crate::declared::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// A pipeline that judges a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pipeline {
    /// Of a merge request.
    MergeRequest,
    /// Of a push to a branch that is not the default one.
    Branch,
    /// Of a push to the default branch.
    Default,
}

impl Pipeline {
    pub(super) const ALL: [Pipeline; 3] =
        [Pipeline::MergeRequest, Pipeline::Branch, Pipeline::Default];
}

/// The knowledge of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Certainty {
    /// Its value; `None` where it is not set.
    Is(Option<String>),
    /// It has a value, which is not known.
    Set,
    /// Nothing.
    Open,
}

/// A branch of no particular name: that of a change.
const A_BRANCH: &str = "a-change";

/// The answer of an expression or a rule: `None` when that depends on what only CI knows.
type Three = Option<bool>;

/// The facts that expressions are evaluated against.
#[derive(Clone, Debug)]
pub(super) struct Facts<'a> {
    pub(super) tree: &'a Tree,
    pub(super) variables: &'a BTreeMap<String, String>,
    pub(super) pipeline: Pipeline,
    /// Whether `workflow` has rules: then jobs without rules run in every pipeline.
    pub(super) workflow_rules: bool,
}

/// The answer of a job's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RuleAnswer {
    /// The changes for which it runs; `None` for all.
    pub(super) changes: Option<Vec<String>>,
    /// The conditions that are not known to hold.
    pub(super) unknown: Vec<String>,
    /// Whether its failure is no more than a warning, as its rule has it.
    pub(super) warning: Option<bool>,
    /// Variables that its rule sets.
    pub(super) variables: BTreeMap<String, String>,
}

impl RuleAnswer {
    fn always() -> Self {
        Self {
            changes: None,
            unknown: Vec::new(),
            warning: None,
            variables: BTreeMap::new(),
        }
    }
}

impl Facts<'_> {
    /// Whether the pipeline exists: the `workflow`'s rules.
    pub(super) fn pipeline_exists(&self, workflow: Option<&Item>) -> bool {
        let Some(rules) = workflow.and_then(|w| w.get("rules")) else {
            return true;
        };
        self.rules(rules).is_ok()
    }

    /// Whether a job runs in the pipeline.
    ///
    /// # Errors
    /// The reason why it does not.
    pub(super) fn job(&self, job: &[ItemEntry]) -> Result<RuleAnswer, String> {
        if let Some(rules) = find(job, "rules") {
            return self.rules(rules);
        }
        if let Some(when) = find(job, "when").and_then(Item::text) {
            by_itself(when)?;
        }
        self.only(find(job, "only"), find(job, "except"))
    }

    /// The first rule that holds decides; one that may hold adds to what the next ones say.
    fn rules(&self, rules: &Item) -> Result<RuleAnswer, String> {
        let mut all: Option<RuleAnswer> = None;
        let mut why = "no rule holds for a change".to_owned();
        for rule in rules.flat() {
            let text = rule.get("if").and_then(Item::text);
            let condition = text.map_or(Some(true), |text| self.holds(text));
            let exists = rule.get("exists").map_or(Some(true), |e| self.exists(e));
            if condition == Some(false) || exists == Some(false) {
                continue;
            }
            let changes = rule.get("changes").map(|c| self.globs(c));
            let certain = condition.is_some() && exists.is_some() && changes.is_none();
            let when = rule
                .get("when")
                .and_then(Item::text)
                .unwrap_or("on_success");
            if let Err(not) = by_itself(when) {
                why = not;
                if certain {
                    break;
                }
                continue;
            }
            let mut unknown = Vec::new();
            if condition.is_none() {
                unknown.extend(text.map(str::to_owned));
            }
            let one = RuleAnswer {
                changes: changes.flatten(),
                unknown,
                warning: rule.get("allow_failure").map(|value| !value.is(false)),
                variables: scalars(rule.get("variables")),
            };
            all = Some(match all {
                Some(before) => either(before, one),
                None => one,
            });
            if certain {
                break;
            }
        }
        all.ok_or(why)
    }

    fn only(&self, only: Option<&Item>, except: Option<&Item>) -> Result<RuleAnswer, String> {
        let refs = |item: &Item| -> Option<Vec<String>> {
            let item = if let Item::Map(_) = item {
                item.get("refs")?
            } else {
                item
            };
            let texts = item.texts().into_iter();
            Some(texts.map(|(text, _)| text.to_owned()).collect())
        };
        let variables = |item: &Item| -> Three {
            let Some(list) = item.get("variables") else {
                return Some(true);
            };
            any(list.texts().into_iter().map(|(text, _)| self.holds(text)))
        };
        let mut answer = RuleAnswer::always();
        let here = match only {
            Some(item) => match refs(item) {
                Some(names) => any(names.iter().map(|name| self.is_ref(name))),
                None => Some(self.pipeline != Pipeline::MergeRequest),
            },
            None => Some(self.workflow_rules || self.pipeline != Pipeline::MergeRequest),
        };
        if here == Some(false) {
            return Err("it runs only for other references".to_owned());
        }
        if here.is_none() {
            let names = only.and_then(refs).unwrap_or_default();
            answer.unknown.push(format!("only {}", names.join(", ")));
        }
        if let Some(only) = only {
            match variables(only) {
                Some(false) => return Err("its `only: variables` do not hold".to_owned()),
                None => answer.unknown.push("only: variables".to_owned()),
                Some(true) => {}
            }
            answer.changes = only.get("changes").and_then(|c| self.globs(c));
        }
        if let Some(except) = except {
            let by_ref = refs(except).map_or(Some(false), |names| {
                any(names.iter().map(|name| self.is_ref(name)))
            });
            let by_variable = except.get("variables").map_or(Some(false), |list| {
                any(list.texts().into_iter().map(|(text, _)| self.holds(text)))
            });
            match any([by_ref, by_variable].into_iter()) {
                Some(true) => return Err("its `except` holds".to_owned()),
                None => answer.unknown.push("except".to_owned()),
                Some(false) => {}
            }
        }
        Ok(answer)
    }

    /// Whether a name of `only` and `except` is this pipeline.
    fn is_ref(&self, name: &str) -> Three {
        let name = name.split_once('@').map_or(name, |(name, _)| name);
        let merge_request = self.pipeline == Pipeline::MergeRequest;
        if let Some((pattern, flags)) = name.strip_prefix('/').and_then(|n| n.rsplit_once('/')) {
            return match self.pipeline {
                Pipeline::MergeRequest => Some(false),
                Pipeline::Branch => matches(pattern, flags, A_BRANCH),
                Pipeline::Default => matches(pattern, flags, self.default_branch()),
            };
        }
        Some(match name {
            "merge_requests" => merge_request,
            "branches" | "pushes" => !merge_request,
            "tags"
            | "schedules"
            | "web"
            | "api"
            | "triggers"
            | "pipelines"
            | "chat"
            | "external"
            | "external_pull_requests" => false,
            "$CI_DEFAULT_BRANCH" => self.pipeline == Pipeline::Default,
            _ => match self.pipeline {
                Pipeline::MergeRequest | Pipeline::Branch => false,
                Pipeline::Default => self.is_default(name),
            },
        })
    }

    fn default_branch(&self) -> &str {
        self.tree.default_branch.as_deref().unwrap_or("main")
    }

    fn is_default(&self, name: &str) -> bool {
        match &self.tree.default_branch {
            Some(branch) => branch == name,
            None => matches!(name, "main" | "master" | "trunk" | "dev"),
        }
    }

    /// Returns the knowledge of a variable in this pipeline.
    fn variable(&self, name: &str) -> Certainty {
        use Pipeline::{Branch, Default, MergeRequest};
        let text = |text: &str| Certainty::Is(Some(text.to_owned()));
        let unset = Certainty::Is(None);
        let default = text(self.default_branch());
        let merge_request = self.pipeline == MergeRequest;
        match name {
            "CI" | "GITLAB_CI" => text("true"),
            "CI_PIPELINE_SOURCE" if merge_request => text("merge_request_event"),
            "CI_PIPELINE_SOURCE" => text("push"),
            "CI_DEFAULT_BRANCH" => default,
            "CI_COMMIT_TAG"
            | "CI_COMMIT_TAG_MESSAGE"
            | "CI_PIPELINE_TRIGGERED"
            | "CI_EXTERNAL_PULL_REQUEST_IID" => unset,
            "CI_COMMIT_BRANCH" => match self.pipeline {
                MergeRequest => unset,
                Branch => text(A_BRANCH),
                Default => default,
            },
            "CI_COMMIT_REF_NAME" | "CI_COMMIT_REF_SLUG" => match self.pipeline {
                MergeRequest | Branch => text(A_BRANCH),
                Default => default,
            },
            "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME" if merge_request => text(A_BRANCH),
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME" if merge_request => default,
            "CI_MERGE_REQUEST_LABELS"
            | "CI_COMMIT_MESSAGE"
            | "CI_COMMIT_TITLE"
            | "CI_COMMIT_DESCRIPTION"
            | "CI_MERGE_REQUEST_TITLE"
            | "CI_MERGE_REQUEST_DESCRIPTION" => text(""),
            "CI_MERGE_REQUEST_DRAFT" => text("false"),
            "CI_OPEN_MERGE_REQUESTS" => match self.pipeline {
                MergeRequest => Certainty::Set,
                // A branch without a merge request is judged by its own pipeline.
                Branch | Default => unset,
            },
            _ if name.starts_with("CI_MERGE_REQUEST_") => {
                if merge_request {
                    Certainty::Set
                } else {
                    unset
                }
            }
            "CI_PROJECT_PATH" => match &self.tree.slug {
                Some(slug) => text(slug),
                None => Certainty::Open,
            },
            "CI_PROJECT_NAMESPACE" | "CI_PROJECT_ROOT_NAMESPACE" => {
                match self.tree.slug.as_deref().and_then(|s| s.split_once('/')) {
                    Some((owner, _)) => text(owner),
                    None => Certainty::Open,
                }
            }
            _ => match self.variables.get(name) {
                Some(value) if !value.contains('$') => text(value),
                Some(_) => Certainty::Set,
                None if name.starts_with("CI_") => Certainty::Set,
                None => Certainty::Open,
            },
        }
    }

    fn exists(&self, item: &Item) -> Three {
        let item = item.get("paths").unwrap_or(item);
        any(item.texts().into_iter().map(|(pattern, _)| {
            let pattern = pattern.trim_start_matches("./").trim_start_matches('/');
            if pattern.contains('$') {
                return None;
            }
            let glob = Glob::parse(pattern).ok()?;
            Some(self.tree.files.iter().any(|file| glob.matches(file)))
        }))
    }

    /// The globs of `changes`; `None` where one of them cannot be said.
    fn globs(&self, item: &Item) -> Option<Vec<String>> {
        let item = item.get("paths").unwrap_or(item);
        let texts = item.texts();
        if texts.is_empty() {
            return None;
        }
        texts.into_iter().map(|(text, _)| self.glob(text)).collect()
    }

    fn glob(&self, text: &str) -> Option<String> {
        let mut text = text.to_owned();
        for (name, value) in self.variables {
            text = text
                .replace(&format!("${{{name}}}"), value)
                .replace(&format!("${name}"), value);
        }
        let text = text.trim_start_matches("./").trim_start_matches('/');
        let text = text.replace("[^", "[!");
        if text.contains('$') {
            return None;
        }
        Glob::parse(&text).ok().map(|_| text)
    }

    /// Evaluates an expression.
    pub(super) fn holds(&self, text: &str) -> Three {
        let tokens = tokens(text)?;
        let mut reader = Reader {
            facts: self,
            tokens: &tokens,
            depth: 0,
        };
        let value = reader.either()?;
        reader.tokens.is_empty().then_some(value)?
    }
}

/// Whether a job that runs `when` runs without a person.
fn by_itself(when: &str) -> Result<(), String> {
    match when {
        "manual" => Err("it runs only by hand".to_owned()),
        "delayed" => Err("it runs only after a delay".to_owned()),
        "never" => Err("a rule excludes it".to_owned()),
        "on_failure" => Err("it runs only after a failure".to_owned()),
        _ => Ok(()),
    }
}

fn either(a: RuleAnswer, b: RuleAnswer) -> RuleAnswer {
    let changes = match (a.changes, b.changes) {
        (Some(a), Some(b)) => {
            let mut seen = BTreeSet::new();
            let mut all: Vec<String> = a.into_iter().chain(b).collect();
            all.retain(|glob| seen.insert(glob.clone()));
            Some(all)
        }
        _ => None,
    };
    RuleAnswer {
        changes,
        // One rule that surely holds is enough.
        unknown: if a.unknown.is_empty() || b.unknown.is_empty() {
            Vec::new()
        } else {
            let mut seen = BTreeSet::new();
            let mut all: Vec<String> = a.unknown.into_iter().chain(b.unknown).collect();
            all.retain(|text| seen.insert(text.clone()));
            all
        },
        warning: a.warning.zip(b.warning).map(|(a, b)| a && b),
        variables: if a.variables == b.variables {
            a.variables
        } else {
            BTreeMap::new()
        },
    }
}

/// Joins what several pipelines say of a job.
pub(super) fn joined(answers: impl Iterator<Item = RuleAnswer>) -> Option<RuleAnswer> {
    answers.reduce(either)
}

/// The scalars of a mapping of variables, `value:` of the long form included.
pub(super) fn scalars(item: Option<&Item>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for entry in item.map_or(&[][..], Item::entries) {
        let value = entry.value.get("value").unwrap_or(&entry.value);
        match value {
            Item::Text(text, _) => all.insert(entry.key.clone(), text.clone()),
            Item::Null => all.insert(entry.key.clone(), String::new()),
            Item::List(_) | Item::Map(_) => None,
        };
    }
    all
}

fn any(values: impl Iterator<Item = Three>) -> Three {
    let mut unknown = false;
    for value in values {
        match value {
            Some(true) => return Some(true),
            None => unknown = true,
            Some(false) => {}
        }
    }
    (!unknown).then_some(false)
}

fn matches(pattern: &str, flags: &str, text: &str) -> Three {
    let built = regex::RegexBuilder::new(pattern)
        .case_insensitive(flags.contains('i'))
        .size_limit(1 << 20)
        .build();
    built.ok().map(|regex| regex.is_match(text))
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Variable(String),
    Text(String),
    Pattern(String, String),
    Null,
    Sign(&'static str),
}

const SIGNS: &[&str] = &["==", "!=", "=~", "!~", "&&", "||", "(", ")"];

/// Splits an expression; `None` for what is none.
fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let after = if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            all.push(Token::Sign(sign));
            rest.get(sign.len()..)?
        } else if c == '$' {
            let braced = rest.get(1..)?.strip_prefix('{');
            let name: String = braced
                .unwrap_or(rest.get(1..)?)
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect();
            let length = 1 + name.len() + if braced.is_some() { 2 } else { 0 };
            all.push(Token::Variable(name));
            rest.get(length..)?
        } else if c == '"' || c == '\'' {
            let (inner, after) = rest.get(1..)?.split_once(c)?;
            all.push(Token::Text(inner.to_owned()));
            after
        } else if c == '/' {
            let inner = rest.get(1..)?;
            let mut escaped = false;
            let end = inner.char_indices().find(|(_, c)| {
                let ends = *c == '/' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            let (end, _) = end?;
            let after = inner.get(end + 1..)?;
            let flags: String = after
                .chars()
                .take_while(char::is_ascii_alphabetic)
                .collect();
            let pattern = inner.get(..end)?.replace("\\/", "/");
            let tail = after.get(flags.len()..)?;
            all.push(Token::Pattern(pattern, flags));
            tail
        } else {
            let after = rest.strip_prefix("null")?;
            all.push(Token::Null);
            after
        };
        rest = after.trim_start();
    }
    Some(all)
}

struct Reader<'r> {
    facts: &'r Facts<'r>,
    tokens: &'r [Token],
    depth: usize,
}

/// An operand: what is known of it, or a pattern.
enum Operand {
    Value(Certainty),
    Pattern(String, String),
    Truth(Three),
}

impl Reader<'_> {
    /// Whether the next token is this sign, which is then taken.
    fn takes(&mut self, wanted: &str) -> bool {
        match self.tokens.split_first() {
            Some((Token::Sign(sign), rest)) if *sign == wanted => {
                self.tokens = rest;
                true
            }
            _ => false,
        }
    }

    /// `None` for a text that is no expression.
    fn either(&mut self) -> Option<Three> {
        let mut value = self.both()?;
        while self.takes("||") {
            let other = self.both()?;
            value = any([value, other].into_iter());
        }
        Some(value)
    }

    fn both(&mut self) -> Option<Three> {
        let mut value = self.comparison()?;
        while self.takes("&&") {
            let other = self.comparison()?;
            value = match (value, other) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
        }
        Some(value)
    }

    fn comparison(&mut self) -> Option<Three> {
        let left = self.operand()?;
        for sign in ["==", "!=", "=~", "!~"] {
            if !self.takes(sign) {
                continue;
            }
            let right = self.operand()?;
            let equal = compare(left, right, sign.ends_with('~'));
            return Some(equal.map(|equal| equal != sign.starts_with('!')));
        }
        Some(match left {
            Operand::Truth(value) => value,
            Operand::Value(Certainty::Is(value)) => Some(value.is_some_and(|v| !v.is_empty())),
            Operand::Value(Certainty::Set) => Some(true),
            Operand::Value(Certainty::Open) => None,
            Operand::Pattern(..) => return None,
        })
    }

    fn operand(&mut self) -> Option<Operand> {
        if self.takes("(") {
            self.depth += 1;
            if self.depth > 32 {
                return None;
            }
            let value = self.either()?;
            self.depth -= 1;
            return self.takes(")").then_some(Operand::Truth(value));
        }
        let (token, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        match token {
            Token::Variable(name) => Some(Operand::Value(self.facts.variable(name))),
            Token::Text(text) => Some(Operand::Value(Certainty::Is(Some(text.clone())))),
            Token::Null => Some(Operand::Value(Certainty::Is(None))),
            Token::Pattern(pattern, flags) => {
                Some(Operand::Pattern(pattern.clone(), flags.clone()))
            }
            Token::Sign(_) => None,
        }
    }
}

/// Whether two operands are equal, or the left one matches the right one.
fn compare(left: Operand, right: Operand, is_match: bool) -> Three {
    match (left, right) {
        (Operand::Value(Certainty::Is(text)), Operand::Pattern(pattern, flags)) if is_match => {
            text.map_or(Some(false), |text| matches(&pattern, &flags, &text))
        }
        (Operand::Value(Certainty::Is(a)), Operand::Value(Certainty::Is(b))) if !is_match => {
            Some(a == b)
        }
        // What is set is not null.
        (Operand::Value(Certainty::Set), Operand::Value(Certainty::Is(None)))
        | (Operand::Value(Certainty::Is(None)), Operand::Value(Certainty::Set))
            if !is_match =>
        {
            Some(false)
        }
        _ => None,
    }
}
