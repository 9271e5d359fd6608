//! Expressions of GitHub workflows (`${{ … }}`, `if:`) under what is known of a run that judges a
//! change: three-valued, and a filter of paths is a value that depends on the change.

use super::globs;
use crate::base::path::RepoPath;
use std::collections::BTreeSet;

/// The longest expression that is read, in bytes.
const MAX_LENGTH: usize = 4096;
/// The deepest nesting of an expression.
const MAX_DEPTH: usize = 40;

/// A value, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Value>),
    /// All keys are there; any other one is null.
    Map(Vec<(String, Value)>),
    /// Some keys are known, nothing is known of others.
    Partial(Vec<(String, Value)>),
    /// A value that is not known now.
    Maybe(Maybe),
}

/// What is known of a value that is not known.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Maybe {
    /// It is true when a change selects these files, and else false. With `unknown`: it is true at
    /// most then.
    pub(super) changed: Option<Vec<String>>,
    /// Whether it depends on what is not known.
    pub(super) unknown: bool,
}

/// What a condition says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Truth {
    No,
    Yes,
    Maybe(Maybe),
}

impl Value {
    pub(super) fn unknown() -> Self {
        Value::Maybe(Maybe {
            changed: None,
            unknown: true,
        })
    }

    pub(super) fn changed(globs: Vec<String>) -> Self {
        Value::Maybe(Maybe {
            changed: Some(globs),
            unknown: false,
        })
    }

    pub(super) fn text(text: &str) -> Self {
        Value::Text(text.to_owned())
    }

    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Value::Maybe(_))
    }

    pub(super) fn truth(&self) -> Truth {
        let yes = match self {
            Value::Null => false,
            Value::Bool(yes) => *yes,
            Value::Number(n) => *n != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(_) | Value::Map(_) | Value::Partial(_) => true,
            Value::Maybe(maybe) => return Truth::Maybe(maybe.clone()),
        };
        if yes { Truth::Yes } else { Truth::No }
    }

    /// The text of a scalar that is known.
    pub(super) fn scalar(&self) -> Option<String> {
        match self {
            Value::Null => Some(String::new()),
            Value::Bool(yes) => Some(yes.to_string()),
            Value::Number(n) => Some(number(*n)),
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// The value of a key, or of an index.
    pub(super) fn get(&self, key: &str) -> Value {
        let find = |entries: &[(String, Value)]| {
            let found = entries.iter().find(|(k, _)| k.eq_ignore_ascii_case(key));
            found.map(|(_, value)| value.clone())
        };
        match self {
            Value::Map(entries) => find(entries).unwrap_or(Value::Null),
            Value::Partial(entries) => find(entries).unwrap_or_else(Value::unknown),
            Value::Maybe(_) => Value::unknown(),
            Value::List(items) => {
                let index = key.parse::<usize>().ok();
                let item = index.and_then(|i| items.get(i));
                item.cloned().unwrap_or(Value::Null)
            }
            _ => Value::Null,
        }
    }

    /// All values of a list or a mapping (`.*`).
    fn all(&self) -> Value {
        match self {
            Value::List(items) => Value::List(items.clone()),
            Value::Map(entries) => Value::List(entries.iter().map(|(_, v)| v.clone()).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
                Value::List(Vec::new())
            }
            Value::Partial(_) | Value::Maybe(_) => Value::unknown(),
        }
    }
}

fn number(n: f64) -> String {
    // Rust writes 3 for 3.0, as GitHub does.
    format!("{n}")
}

/// The conjunction: wider than the truth, never narrower.
pub(super) fn both(a: Truth, b: Truth) -> Truth {
    match (a, b) {
        (Truth::No, _) | (_, Truth::No) => Truth::No,
        (Truth::Yes, other) | (other, Truth::Yes) => other,
        (Truth::Maybe(a), Truth::Maybe(b)) => {
            let narrower = a.changed.is_some() && b.changed.is_some() && a.changed != b.changed;
            Truth::Maybe(Maybe {
                unknown: a.unknown || b.unknown || narrower,
                changed: b.changed.or(a.changed),
            })
        }
    }
}

/// The disjunction: wider than the truth, never narrower.
pub(super) fn either(a: Truth, b: Truth) -> Truth {
    match (a, b) {
        (Truth::Yes, _) | (_, Truth::Yes) => Truth::Yes,
        (Truth::No, other) | (other, Truth::No) => other,
        (Truth::Maybe(a), Truth::Maybe(b)) => Truth::Maybe(Maybe {
            unknown: a.unknown || b.unknown,
            changed: match (a.changed, b.changed) {
                (Some(a), Some(b)) => Some(globs::union(&a, &b)),
                _ => None,
            },
        }),
    }
}

/// What names in an expression mean.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope<'a> {
    /// The contexts by name (`github`, `matrix`); nothing is known of others.
    pub(super) contexts: Vec<(String, Value)>,
    /// All tracked files, for `hashFiles`.
    pub(super) files: Option<&'a BTreeSet<RepoPath>>,
}

impl Scope<'_> {
    pub(super) fn get(&self, name: &str) -> Value {
        let found = self
            .contexts
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map_or_else(Value::unknown, |(_, value)| value.clone())
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        match self.contexts.iter_mut().find(|(key, _)| key == name) {
            Some((_, old)) => *old = value,
            None => self.contexts.push((name.to_owned(), value)),
        }
    }

    /// Evaluates an expression, with or without `${{ }}` around it.
    pub(super) fn evaluate(&self, text: &str) -> Value {
        let text = text.trim();
        let inner = text
            .strip_prefix("${{")
            .and_then(|rest| rest.strip_suffix("}}"))
            .filter(|inner| !inner.contains("${{"));
        self.bare(inner.unwrap_or(text))
    }

    fn bare(&self, text: &str) -> Value {
        if text.len() > MAX_LENGTH {
            return Value::unknown();
        }
        let Some(tokens) = tokens(text) else {
            return Value::unknown();
        };
        let mut parser = Parser {
            scope: self,
            tokens: &tokens,
            at: 0,
            depth: 0,
        };
        match parser.or() {
            Some(value) if parser.at == tokens.len() => value,
            _ => Value::unknown(),
        }
    }

    /// Evaluates the `if:` of a job or step: `${{ a }} && b` is understood as GitHub does, which
    /// puts the whole into one expression.
    pub(super) fn condition(&self, text: &str) -> Truth {
        let text = text.trim();
        if text.is_empty() {
            return Truth::Yes;
        }
        let whole =
            text.starts_with("${{") && text.ends_with("}}") && text.matches("${{").count() == 1;
        if whole || !text.contains("${{") {
            return self.evaluate(text).truth();
        }
        // Text around an expression: the result is a text that is not empty, and holds.
        Truth::Yes
    }

    /// Replaces the expressions in a text by their values. One that is not known, or that holds a
    /// secret, stays.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            out.push_str(before);
            let Some((inner, tail)) = split_at_end(after) else {
                out.push_str("${{");
                rest = after;
                continue;
            };
            let lower = inner.to_ascii_lowercase();
            let secret = lower.contains("secrets") || lower.contains("github.token");
            let value = if secret {
                None
            } else {
                self.bare(inner).scalar()
            };
            match value {
                Some(value) => out.push_str(&value),
                None => {
                    out.push_str("${{");
                    out.push_str(inner);
                    out.push_str("}}");
                }
            }
            rest = tail;
        }
        out.push_str(rest);
        out
    }
}

/// Splits at the first `}}` that is in no quotes.
fn split_at_end(text: &str) -> Option<(&str, &str)> {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        quoted ^= c == '\'';
        let rest = text.get(at..).unwrap_or_default();
        if let Some(tail) = rest.strip_prefix("}}").filter(|_| !quoted) {
            return text.get(..at).map(|inner| (inner, tail));
        }
    }
    None
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Number(f64),
    Mark(&'static str),
}

const MARKS: &[&str] = &[
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", "[", "]", ",", ".", "*",
];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if first == '\'' {
            let mut value = String::new();
            let mut after = rest.get(1..)?;
            loop {
                let (part, tail) = after.split_once('\'')?;
                value.push_str(part);
                match tail.strip_prefix('\'') {
                    Some(tail) => {
                        value.push('\'');
                        after = tail;
                    }
                    None => {
                        after = tail;
                        break;
                    }
                }
            }
            tokens.push(Token::Text(value));
            rest = after.trim_start();
            continue;
        }
        let digit = first.is_ascii_digit()
            || matches!(first, '-' | '+')
                && rest.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
        if digit {
            let end = rest
                .char_indices()
                .find(|(at, c)| *at > 0 && !c.is_ascii_alphanumeric() && *c != '.')
                .map_or(rest.len(), |(at, _)| at);
            let (word, tail) = rest.split_at_checked(end)?;
            tokens.push(Token::Number(word.parse().ok()?));
            rest = tail.trim_start();
            continue;
        }
        if first.is_alphabetic() || first == '_' {
            let end = rest
                .char_indices()
                .find(|(_, c)| !c.is_alphanumeric() && !matches!(c, '_' | '-'))
                .map_or(rest.len(), |(at, _)| at);
            let (word, tail) = rest.split_at_checked(end)?;
            tokens.push(Token::Word(word.to_owned()));
            rest = tail.trim_start();
            continue;
        }
        let mark = MARKS.iter().find(|mark| rest.starts_with(**mark))?;
        tokens.push(Token::Mark(mark));
        rest = rest.get(mark.len()..)?.trim_start();
    }
    Some(tokens)
}

struct Parser<'p, 'a> {
    scope: &'p Scope<'a>,
    tokens: &'p [Token],
    at: usize,
    depth: usize,
}

impl Parser<'_, '_> {
    fn mark(&mut self, mark: &str) -> bool {
        let there = matches!(self.tokens.get(self.at), Some(Token::Mark(m)) if *m == mark);
        self.at += usize::from(there);
        there
    }

    fn or(&mut self) -> Option<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut left = self.and()?;
        while self.mark("||") {
            let right = self.and()?;
            left = match left.truth() {
                Truth::Yes => left,
                Truth::No => right,
                maybe => fold(either(maybe, right.truth()), &right),
            };
        }
        self.depth -= 1;
        Some(left)
    }

    fn and(&mut self) -> Option<Value> {
        let mut left = self.equality()?;
        while self.mark("&&") {
            let right = self.equality()?;
            left = match left.truth() {
                Truth::Yes => right,
                Truth::No => left,
                maybe => fold(both(maybe, right.truth()), &right),
            };
        }
        Some(left)
    }

    fn equality(&mut self) -> Option<Value> {
        let mut left = self.order()?;
        loop {
            let negated = if self.mark("==") {
                false
            } else if self.mark("!=") {
                true
            } else {
                return Some(left);
            };
            let right = self.order()?;
            left = equal(&left, &right, negated);
        }
    }

    fn order(&mut self) -> Option<Value> {
        let mut left = self.unary()?;
        loop {
            let Some(mark) = ["<=", ">=", "<", ">"].into_iter().find(|m| self.mark(m)) else {
                return Some(left);
            };
            let right = self.unary()?;
            left = match (as_number(&left), as_number(&right)) {
                (Some(a), Some(b)) => Value::Bool(match mark {
                    "<=" => a <= b,
                    ">=" => a >= b,
                    "<" => a < b,
                    _ => a > b,
                }),
                _ => Value::unknown(),
            };
        }
    }

    fn unary(&mut self) -> Option<Value> {
        let mut negations = 0_usize;
        while self.mark("!") {
            negations += 1;
        }
        let mut value = self.primary()?;
        for _ in 0..negations.min(2 + negations % 2) {
            value = match value.truth() {
                Truth::Yes => Value::Bool(false),
                Truth::No => Value::Bool(true),
                // No file of these has changed: no condition of a contract's list.
                Truth::Maybe(_) => Value::unknown(),
            };
        }
        Some(value)
    }

    fn primary(&mut self) -> Option<Value> {
        let token = self.tokens.get(self.at)?.clone();
        self.at += 1;
        let value = match token {
            Token::Text(text) => Value::Text(text),
            Token::Number(n) => Value::Number(n),
            Token::Mark("(") => {
                let value = self.or()?;
                self.mark(")").then_some(())?;
                value
            }
            Token::Mark(_) => return None,
            Token::Word(word) => {
                if self.mark("(") {
                    let mut arguments = Vec::new();
                    if !self.mark(")") {
                        loop {
                            arguments.push(self.or()?);
                            if self.mark(")") {
                                break;
                            }
                            self.mark(",").then_some(())?;
                        }
                    }
                    call(self.scope, &word, &arguments)
                } else {
                    match &*word {
                        "true" => Value::Bool(true),
                        "false" => Value::Bool(false),
                        "null" => Value::Null,
                        _ => self.scope.get(&word),
                    }
                }
            }
        };
        self.path(value)
    }

    fn path(&mut self, mut value: Value) -> Option<Value> {
        let mut each = false;
        loop {
            if self.mark(".") {
                if self.mark("*") {
                    value = value.all();
                    each = true;
                    continue;
                }
                let token = self.tokens.get(self.at).cloned();
                let Some(Token::Word(word)) = token else {
                    return None;
                };
                self.at += 1;
                value = match value {
                    Value::List(items) if each => {
                        Value::List(items.iter().map(|item| item.get(&word)).collect())
                    }
                    other => other.get(&word),
                };
            } else if self.mark("[") {
                if self.mark("*") {
                    value = value.all();
                    each = true;
                } else {
                    let key = self.or()?;
                    value = match key.scalar() {
                        Some(key) => value.get(&key),
                        None => Value::unknown(),
                    };
                }
                self.mark("]").then_some(())?;
            } else {
                return Some(value);
            }
        }
    }
}

/// The value of `a && b`, `a || b` where `a` is not known: a condition, no text.
fn fold(truth: Truth, right: &Value) -> Value {
    match (truth, right) {
        (Truth::Maybe(maybe), Value::Bool(_) | Value::Maybe(_) | Value::Null) => {
            Value::Maybe(maybe)
        }
        // A text that is one of two: its truth is known, its words are not.
        (Truth::Maybe(maybe), _) => Value::Maybe(Maybe {
            unknown: true,
            ..maybe
        }),
        (Truth::Yes, Value::Bool(true)) => Value::Bool(true),
        (Truth::Yes, _) => Value::unknown(),
        (Truth::No, _) => Value::Bool(false),
    }
}

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Null => Some(0.0),
        Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
        Value::Number(n) => Some(*n),
        Value::Text(text) if text.trim().is_empty() => Some(0.0),
        Value::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn equal(a: &Value, b: &Value, negated: bool) -> Value {
    // The output of a filter of paths is the text `true` or `false`.
    let said = |value: &Value| match value {
        Value::Bool(yes) => Some(*yes),
        Value::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    };
    match (a, b) {
        (Value::Maybe(maybe), other) | (other, Value::Maybe(maybe)) => {
            if maybe.changed.is_some() && said(other) == Some(!negated) {
                Value::Maybe(maybe.clone())
            } else {
                Value::unknown()
            }
        }
        (Value::Text(a), Value::Text(b)) => {
            Value::Bool((a.to_lowercase() == b.to_lowercase()) != negated)
        }
        (Value::List(_) | Value::Map(_) | Value::Partial(_), _)
        | (_, Value::List(_) | Value::Map(_) | Value::Partial(_)) => Value::unknown(),
        _ => match (as_number(a), as_number(b)) {
            (Some(a), Some(b)) => Value::Bool((a - b == 0.0) != negated),
            // A text that is no number equals no number.
            _ => Value::Bool(negated),
        },
    }
}

fn call(scope: &Scope<'_>, name: &str, arguments: &[Value]) -> Value {
    let first = arguments.first().unwrap_or(&Value::Null);
    let second = arguments.get(1).unwrap_or(&Value::Null);
    match &*name.to_ascii_lowercase() {
        "success" | "always" => Value::Bool(true),
        "failure" | "cancelled" => Value::Bool(false),
        "contains" => contains(first, second),
        "startswith" => texts(first, second, |a, b| a.starts_with(b)),
        "endswith" => texts(first, second, |a, b| a.ends_with(b)),
        "join" => join(first, arguments.get(1)),
        "format" => format(arguments),
        "fromjson" => match first {
            Value::Text(text) => json(text),
            Value::Maybe(_) => first.clone(),
            _ => Value::unknown(),
        },
        "hashfiles" => {
            let Some(files) = scope.files else {
                return Value::unknown();
            };
            let none = arguments.iter().all(|argument| match argument {
                Value::Text(pattern) => globs::selects_none(pattern, files),
                _ => false,
            });
            if none {
                Value::Text(String::new())
            } else {
                Value::unknown()
            }
        }
        _ => Value::unknown(),
    }
}

fn contains(all: &Value, one: &Value) -> Value {
    match all {
        Value::List(items) => {
            let found: Vec<Value> = items.iter().map(|item| equal(item, one, false)).collect();
            if found.contains(&Value::Bool(true)) {
                Value::Bool(true)
            } else if found.iter().any(Value::is_unknown) {
                Value::unknown()
            } else {
                Value::Bool(false)
            }
        }
        _ => texts(all, one, |a, b| a.contains(b)),
    }
}

/// Compares two texts, upper and lower case alike. A part of the first one that is known decides
/// where it can.
fn texts(a: &Value, b: &Value, holds: impl Fn(&str, &str) -> bool) -> Value {
    match (a.scalar(), b.scalar()) {
        (Some(a), Some(b)) => Value::Bool(holds(&a.to_lowercase(), &b.to_lowercase())),
        _ => Value::unknown(),
    }
}

fn join(items: &Value, separator: Option<&Value>) -> Value {
    let separator = separator.map_or(Some(",".to_owned()), Value::scalar);
    let (Value::List(items), Some(separator)) = (items, separator) else {
        return Value::unknown();
    };
    let texts: Option<Vec<String>> = items.iter().map(Value::scalar).collect();
    texts.map_or_else(Value::unknown, |texts| Value::Text(texts.join(&separator)))
}

fn format(arguments: &[Value]) -> Value {
    let texts: Option<Vec<String>> = arguments.iter().map(Value::scalar).collect();
    let Some((pattern, values)) = texts.as_deref().and_then(<[String]>::split_first) else {
        return Value::unknown();
    };
    let mut out = String::new();
    let mut rest = &**pattern;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(&before.replace("}}", "}"));
        if let Some(after) = after.strip_prefix('{') {
            out.push('{');
            rest = after;
            continue;
        }
        let value = after.split_once('}').and_then(|(index, tail)| {
            Some((values.get(index.trim().parse::<usize>().ok()?)?, tail))
        });
        let Some((value, tail)) = value else {
            return Value::unknown();
        };
        out.push_str(value);
        rest = tail;
    }
    out.push_str(&rest.replace("}}", "}"));
    Value::Text(out)
}

/// Reads JSON as a value.
fn json(text: &str) -> Value {
    fn of(value: &serde_json::Value) -> Value {
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(yes) => Value::Bool(*yes),
            serde_json::Value::Number(n) => n.as_f64().map_or_else(Value::unknown, Value::Number),
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(items) => Value::List(items.iter().map(of).collect()),
            serde_json::Value::Object(map) => {
                Value::Map(map.iter().map(|(k, v)| (k.clone(), of(v))).collect())
            }
        }
    }
    // serde_json refuses what is nested deeper than 128.
    serde_json::from_str(text).map_or_else(|_| Value::unknown(), |value| of(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> Scope<'static> {
        let map = |entries: &[(&str, Value)]| {
            Value::Map(
                entries
                    .iter()
                    .map(|(k, v)| ((*k).to_owned(), v.clone()))
                    .collect(),
            )
        };
        let labels = map(&[("labels", Value::List(Vec::new()))]);
        let github = Value::Partial(vec![
            ("event_name".to_owned(), Value::text("pull_request")),
            ("event".to_owned(), map(&[("pull_request", labels)])),
            ("ref_type".to_owned(), Value::text("branch")),
        ]);
        let mut scope = Scope::default();
        scope.set("github", github);
        scope.set(
            "matrix",
            map(&[
                ("os", Value::text("ubuntu-latest")),
                ("n", Value::Number(3.0)),
            ]),
        );
        scope.set("secrets", map(&[]));
        scope.set(
            "inputs",
            map(&[
                ("strict", Value::Bool(true)),
                ("list", Value::text("[\"a\",\"b\"]")),
            ]),
        );
        let outputs = map(&[("code", Value::changed(vec!["src/**".to_owned()]))]);
        scope.set("needs", map(&[("changes", map(&[("outputs", outputs)]))]));
        scope
    }

    #[test]
    fn conditions_have_three_values() {
        let scope = scope();
        let when = |globs: &[&str], unknown| {
            Truth::Maybe(Maybe {
                changed: Some(globs.iter().map(|g| (*g).to_owned()).collect()),
                unknown,
            })
        };
        let unknown = Truth::Maybe(Maybe {
            changed: None,
            unknown: true,
        });
        for (text, want) in [
            ("", Truth::Yes),
            ("always()", Truth::Yes),
            ("${{ !cancelled() }}", Truth::Yes),
            ("failure()", Truth::No),
            ("success() || failure()", Truth::Yes),
            ("github.event_name == 'pull_request'", Truth::Yes),
            ("github.event_name == 'PULL_REQUEST'", Truth::Yes),
            ("github.event_name != 'schedule'", Truth::Yes),
            (
                "github.event_name == 'push' && github.actor == 'x'",
                Truth::No,
            ),
            ("github.actor == 'x'", unknown.clone()),
            ("github.actor == 'x' || true", Truth::Yes),
            ("github.actor == 'x' && false", Truth::No),
            ("!(github.actor == 'x')", unknown.clone()),
            (
                "contains(github.event.pull_request.labels.*.name, 'run')",
                Truth::No,
            ),
            (
                "!contains(github.event.pull_request.labels.*.name, 'skip')",
                Truth::Yes,
            ),
            ("startsWith(matrix.os, 'ubuntu')", Truth::Yes),
            ("endsWith(matrix.os, 'x')", Truth::No),
            ("matrix.n >= 3 && matrix.n < 4", Truth::Yes),
            ("matrix.none == ''", Truth::Yes),
            ("secrets.TOKEN != ''", Truth::No),
            ("inputs.strict", Truth::Yes),
            ("inputs['strict'] == true", Truth::Yes),
            ("contains(fromJSON(inputs.list), 'b')", Truth::Yes),
            ("contains(fromJSON('[\"x\"]'), 'b')", Truth::No),
            (
                "needs.changes.outputs.code == 'true'",
                when(&["src/**"], false),
            ),
            (
                "needs.changes.outputs.code != 'false'",
                when(&["src/**"], false),
            ),
            ("needs.changes.outputs.code == 'false'", unknown.clone()),
            (
                "needs.changes.outputs.code == 'true' || github.event_name == 'push'",
                when(&["src/**"], false),
            ),
            (
                "needs.changes.outputs.code == 'true' && github.actor == 'x'",
                when(&["src/**"], true),
            ),
            (
                "needs.changes.outputs.code == 'true' || github.actor == 'x'",
                unknown.clone(),
            ),
            (
                "fromJSON(needs.changes.outputs.code)",
                when(&["src/**"], false),
            ),
            ("((", unknown.clone()),
            ("'open", unknown.clone()),
            ("${{ true }} text", Truth::Yes),
            ("nothing.known", unknown.clone()),
        ] {
            assert_eq!(scope.condition(text), want, "{text}");
        }
        let deep = format!("{}true{}", "(".repeat(5000), ")".repeat(5000));
        assert_eq!(scope.condition(&deep), unknown);
        let deep = format!("{}true{}", "(".repeat(100), ")".repeat(100));
        assert_eq!(scope.condition(&deep), unknown);
    }

    #[test]
    fn texts_are_filled_in_where_they_are_known() {
        let scope = scope();
        for (text, want) in [
            ("a ${{ matrix.os }} b", "a ubuntu-latest b"),
            ("${{ matrix.none }}x", "x"),
            ("${{ matrix.n }}/2", "3/2"),
            ("${{ secrets.A }}", "${{ secrets.A }}"),
            ("${{ secrets.A || 'x' }}", "${{ secrets.A || 'x' }}"),
            ("${{ github.sha }}", "${{ github.sha }}"),
            ("${{ inputs.strict && '--strict' || '' }}", "--strict"),
            (
                "${{ github.actor == 'a' && '--x' || '' }}",
                "${{ github.actor == 'a' && '--x' || '' }}",
            ),
            ("${{ format('{0}-{{{1}}}', 'a', 1) }}", "a-{1}"),
            ("${{ join(fromJSON(inputs.list), ' ') }}", "a b"),
            ("${{ 'it''s' }}", "it's"),
            ("${{ open", "${{ open"),
            ("none", "none"),
        ] {
            assert_eq!(scope.fill(text), want, "{text}");
        }
    }

    #[test]
    fn lists_are_joined_wider_never_narrower() {
        let when = |globs: &[&str]| {
            Truth::Maybe(Maybe {
                changed: Some(globs.iter().map(|g| (*g).to_owned()).collect()),
                unknown: false,
            })
        };
        let one = when(&["a/**", "!a/x"]);
        assert_eq!(
            either(one.clone(), when(&["b/**"])),
            when(&["a/**", "b/**"])
        );
        assert_eq!(either(one.clone(), Truth::No), one);
        assert_eq!(both(one.clone(), Truth::Yes), one);
        let Truth::Maybe(both) = both(one, when(&["b/**"])) else {
            panic!()
        };
        assert_eq!(both.changed, Some(vec!["b/**".to_owned()]));
        assert!(both.unknown);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_an_expression_or_not_known(text in "[a-z.'()!&|=<>, \\[\\]*0-9$\\{\\}]{0,60}") {
            let scope = scope();
            let _ = scope.condition(&text);
            let _ = scope.fill(&text);
            let _ = scope.fill(&format!("${{{{ {text} }}}}"));
        }
    }
}
