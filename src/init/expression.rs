//! Expressions of GitHub workflows (`${{ … }}`, `if:`) and of GitLab's rules (`$NAME =~ /…/`), with what
//! is known of a run for a change. One grammar reads both.

use crate::tree::scalar;
use regex::Regex;
use std::sync::LazyLock;
use vplan_front::tree::{self, Node};

/// The longest expression that is read, in bytes.
const MAX_LENGTH: usize = 4096;
/// The deepest nesting of an expression.
const MAX_DEPTH: usize = 40;

/// A value, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Value>),
    /// A mapping, and whether all its keys are there: any other key is null, or else unknown.
    Map(Vec<(String, Value)>, bool),
    Unknown,
}

impl Value {
    pub(crate) fn text(text: &str) -> Self {
        Value::Text(text.to_owned())
    }

    /// Whether it holds; `None` where that is not known.
    pub(crate) fn truth(&self) -> Option<bool> {
        Some(match self {
            Value::Null => false,
            Value::Bool(yes) => *yes,
            Value::Number(n) => *n != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(_) | Value::Map(..) => true,
            Value::Unknown => return None,
        })
    }

    /// The text of a scalar that is known.
    pub(crate) fn scalar(&self) -> Option<String> {
        match self {
            Value::Null => Some(String::new()),
            Value::Bool(yes) => Some(yes.to_string()),
            Value::Number(n) => Some(n.to_string()),
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// The entries of a mapping.
    pub(crate) fn entries(self) -> Vec<(String, Value)> {
        match self {
            Value::Map(entries, _) => entries,
            _ => Vec::new(),
        }
    }

    /// The value of a key or an index.
    pub(crate) fn get(&self, key: &str) -> Value {
        match self {
            Value::Map(entries, whole) => {
                let found = entries.iter().find(|(k, _)| k.eq_ignore_ascii_case(key));
                let missing = if *whole { Value::Null } else { Value::Unknown };
                found.map_or(missing, |(_, value)| value.clone())
            }
            Value::Unknown => Value::Unknown,
            Value::List(items) => {
                let item = key.parse::<usize>().ok().and_then(|at| items.get(at));
                item.cloned().unwrap_or(Value::Null)
            }
            _ => Value::Null,
        }
    }

    /// Reads JSON, which is refused where it is nested deeper than 128. `whole`: mappings have no
    /// other keys.
    pub(crate) fn from_json(text: &str, whole: bool) -> Value {
        serde_json::from_str(text).map_or(Value::Unknown, |value| from_json(&value, whole))
    }

    fn number(&self) -> Option<f64> {
        match self {
            Value::Null => Some(0.0),
            Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
            Value::Number(n) => Some(*n),
            Value::Text(text) if text.trim().is_empty() => Some(0.0),
            Value::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// `None` where it is not known.
    pub(crate) fn equals(&self, other: &Value) -> Option<bool> {
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => Some(a.to_lowercase() == b.to_lowercase()),
            (Value::List(_) | Value::Map(..) | Value::Unknown, _)
            | (_, Value::List(_) | Value::Map(..) | Value::Unknown) => None,
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => Some(a - b == 0.0),
                // A text that is no number equals no number.
                _ => Some(false),
            },
        }
    }
}

impl From<Option<bool>> for Value {
    fn from(truth: Option<bool>) -> Self {
        truth.map_or(Value::Unknown, Value::Bool)
    }
}

/// Contexts (`github`, `matrix`) and variables by name.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    contexts: Vec<(String, Value)>,
    /// The value of a name that is not set.
    pub(crate) missing: fn(&str) -> Value,
}

impl Default for Scope {
    fn default() -> Self {
        Self {
            contexts: Vec::new(),
            missing: |_| Value::Unknown,
        }
    }
}

impl Scope {
    pub(crate) fn get(&self, name: &str) -> Value {
        let mut contexts = self.contexts.iter();
        let found = contexts.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map_or_else(|| (self.missing)(name), |(_, value)| value.clone())
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.contexts.retain(|(key, _)| key != name);
        self.contexts.push((name.to_owned(), value));
    }

    /// Evaluates an expression without `${{ }}` around it.
    pub(crate) fn evaluate(&self, text: &str) -> Value {
        let Some(tokens) = (text.len() <= MAX_LENGTH).then(|| tokens(text)).flatten() else {
            return Value::Unknown;
        };
        let mut parser = Parser {
            scope: self,
            tokens: &tokens,
            at: 0,
            depth: 0,
        };
        match parser.or() {
            Some(value) if parser.at == tokens.len() => value,
            _ => Value::Unknown,
        }
    }

    /// Evaluates a text that may be one expression as a whole.
    pub(crate) fn value(&self, text: &str) -> Value {
        if let Some(inner) = whole(text) {
            return self.evaluate(inner);
        }
        let filled = self.fill(text);
        if filled.contains("${{") {
            Value::Unknown
        } else {
            Value::Text(filled)
        }
    }

    /// Evaluates `if:`; an empty one holds.
    pub(crate) fn condition(&self, text: &str) -> Option<bool> {
        match (text.trim(), whole(text)) {
            ("", _) => Some(true),
            (_, Some(inner)) => self.evaluate(inner).truth(),
            (text, None) if !text.contains("${{") => self.evaluate(text).truth(),
            // Text around an expression is never empty.
            _ => Some(true),
        }
    }

    /// A value of YAML with its expressions evaluated. The reader of YAML bounds the recursion.
    pub(crate) fn node(&self, node: &Node) -> Value {
        match &node.value {
            tree::Value::Null => Value::Null,
            tree::Value::Bool(yes) => Value::Bool(*yes),
            tree::Value::List(items) => Value::List(items.iter().map(|i| self.node(i)).collect()),
            tree::Value::Map(entries) => {
                let entry = |(key, node): &(tree::Key, Node)| (key.name.clone(), self.node(node));
                Value::Map(entries.iter().map(entry).collect(), true)
            }
            tree::Value::Whole(_) | tree::Value::Other(_) => {
                let text = scalar(node);
                text.parse()
                    .map_or_else(|_| Value::Text(text), Value::Number)
            }
            tree::Value::Text(text) => self.value(text),
        }
    }

    /// Replaces the expressions in a text by their values; one that is not known or holds a secret
    /// stays.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            out.push_str(before);
            let (inner, tail) = split_at_end(after);
            let lower = inner.to_ascii_lowercase();
            let secret = lower.contains("secrets") || lower.contains("github.token");
            let value = if secret {
                None
            } else {
                self.evaluate(inner).scalar()
            };
            out.push_str(&value.unwrap_or_else(|| format!("${{{{{inner}}}}}")));
            rest = tail;
        }
        out.push_str(rest);
        out
    }
}

/// The expression that a text is.
fn whole(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("${{")?.strip_suffix("}}")?;
    (!inner.contains("${{")).then_some(inner)
}

/// Splits at the first `}}` outside of quotes.
fn split_at_end(text: &str) -> (&str, &str) {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        quoted ^= c == '\'';
        let rest = text.get(at..).unwrap_or_default();
        if let Some(tail) = rest.strip_prefix("}}").filter(|_| !quoted) {
            return (text.get(..at).unwrap_or_default(), tail);
        }
    }
    (text, "")
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Number(f64),
    Pattern(String),
    Mark(String),
}

/// A token with the blanks behind it. What is in quotes has no others of them; `''` is one.
const TOKEN: &str = r#"(?xs)^(?:
    '(?<single>(?:[^']|'')*)' | "(?<double>[^"]*)"
    | /(?<pattern>(?:[^/\\]|\\.)*)/(?<folded>i)?[A-Za-z]*
    | (?<number>[+-]?[0-9][A-Za-z0-9.+-]*) | (?<word>[\p{Alphabetic}_][\p{Alphabetic}\p{N}_-]*)
    | (?<mark>&& | \|\| | == | =~ | != | !~ | [!()\[\],.*])
    )\s* | ^\$\{*"#;

fn tokens(text: &str) -> Option<Vec<Token>> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(TOKEN).ok());
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let found = PATTERN.as_ref()?.captures(rest)?;
        rest = rest.get(found.get(0)?.end()..)?;
        let part = |name: &str| found.name(name).map(|part| part.as_str());
        tokens.push(if let Some(text) = part("single") {
            Token::Text(text.replace("''", "'"))
        } else if let Some(text) = part("double") {
            Token::Text(text.to_owned())
        } else if let Some(pattern) = part("pattern") {
            let flags = part("folded").map_or("", |_| "(?i)");
            Token::Pattern(format!("{flags}{}", pattern.replace("\\/", "/")))
        } else if let Some(number) = part("number") {
            Token::Number(number.parse().ok()?)
        } else if let Some(word) = part("word") {
            Token::Word(word.to_owned())
        } else if let Some(mark) = part("mark") {
            Token::Mark(mark.to_owned())
        } else {
            continue;
        });
    }
    Some(tokens)
}

/// A parser by recursive descent; `None` is an expression that is not understood.
struct Parser<'p> {
    scope: &'p Scope,
    tokens: &'p [Token],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    /// Takes the next token if it is this mark.
    fn mark(&mut self, mark: &str) -> bool {
        let is_next = matches!(self.tokens.get(self.at), Some(Token::Mark(next)) if next == mark);
        self.at += usize::from(is_next);
        is_next
    }

    fn or(&mut self) -> Option<Value> {
        self.depth += 1;
        let value = (self.depth <= MAX_DEPTH).then(|| self.joined("||", true))?;
        self.depth -= 1;
        value
    }

    /// Reads `a && b …` or `a || b …`: a value of this truth decides, and the rest does not count.
    fn joined(&mut self, mark: &'static str, decides: bool) -> Option<Value> {
        let next = |parser: &mut Self| match decides {
            true => parser.joined("&&", false),
            false => parser.equality(),
        };
        let mut left = next(self)?;
        while self.mark(mark) {
            let right = next(self)?;
            left = match left.truth() {
                Some(truth) if truth == decides => left,
                None if right.truth() != Some(decides) || decides && right != Value::Bool(true) => {
                    Value::Unknown
                }
                _ => right,
            };
        }
        Some(left)
    }

    fn equality(&mut self) -> Option<Value> {
        let mut left = self.unary()?;
        loop {
            let mut marks = ["==", "=~", "!=", "!~"].into_iter();
            let Some(mark) = marks.find(|mark| self.mark(mark)) else {
                return Some(left);
            };
            let holds = match mark {
                "==" | "!=" => left.equals(&self.unary()?),
                _ => self.fits(&left)?,
            };
            left = holds.map(|holds| holds != mark.starts_with('!')).into();
        }
    }

    /// Whether a value fits the pattern that comes next.
    #[allow(clippy::option_option)]
    fn fits(&mut self, value: &Value) -> Option<Option<bool>> {
        let pattern = match self.tokens.get(self.at)? {
            Token::Pattern(pattern) => regex::Regex::new(pattern).ok(),
            _ => None,
        };
        self.at += 1;
        Some(
            pattern
                .zip(value.scalar())
                .map(|(pattern, text)| pattern.is_match(&text)),
        )
    }

    fn unary(&mut self) -> Option<Value> {
        let mut negated = None;
        while self.mark("!") {
            negated = Some(negated != Some(true));
        }
        let value = self.primary()?;
        Some(match negated {
            Some(negated) => value.truth().map(|holds| holds != negated).into(),
            None => value,
        })
    }

    fn primary(&mut self) -> Option<Value> {
        let token = self.tokens.get(self.at)?.clone();
        self.at += 1;
        let value = match token {
            Token::Text(text) => Value::Text(text),
            Token::Number(n) => Value::Number(n),
            Token::Mark(mark) if mark == "(" => {
                let value = self.or()?;
                self.mark(")").then_some(value)?
            }
            Token::Pattern(_) | Token::Mark(_) => return None,
            Token::Word(word) if self.mark("(") => {
                let mut arguments = Vec::new();
                while !self.mark(")") {
                    arguments.push(self.or()?);
                    self.mark(",");
                }
                call(&word.to_ascii_lowercase(), &arguments)
            }
            Token::Word(word) => match &*word {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => Value::Null,
                _ => self.scope.get(&word),
            },
        };
        self.path(value)
    }

    /// `.key`, `[key]` and `.*`, which takes the key after it of each item.
    fn path(&mut self, mut value: Value) -> Option<Value> {
        let mut each = false;
        loop {
            if self.mark(".") {
                if self.mark("*") {
                    each = true;
                    continue;
                }
                let word = match self.tokens.get(self.at)? {
                    Token::Word(word) => word,
                    _ => return None,
                };
                self.at += 1;
                value = match value {
                    Value::List(items) if each => {
                        Value::List(items.iter().map(|item| item.get(word)).collect())
                    }
                    Value::Map(..) if each => Value::Unknown,
                    other => other.get(word),
                };
            } else if self.mark("[") {
                let key = self.or()?.scalar();
                value = key.map_or(Value::Unknown, |key| value.get(&key));
                self.mark("]").then_some(())?;
            } else {
                return Some(value);
            }
        }
    }
}

fn call(name: &str, arguments: &[Value]) -> Value {
    let first = arguments.first().unwrap_or(&Value::Null);
    let second = arguments.get(1).unwrap_or(&Value::Null);
    let texts = |holds: fn(&str, &str) -> bool| match (first.scalar(), second.scalar()) {
        (Some(a), Some(b)) => Value::Bool(holds(&a.to_lowercase(), &b.to_lowercase())),
        _ => Value::Unknown,
    };
    match (name, first) {
        ("success" | "always", _) => Value::Bool(true),
        ("failure" | "cancelled", _) => Value::Bool(false),
        ("contains", Value::List(items)) => {
            let equal: Vec<Option<bool>> = items.iter().map(|item| item.equals(second)).collect();
            match equal.contains(&Some(true)) {
                false if equal.contains(&None) => Value::Unknown,
                found => Value::Bool(found),
            }
        }
        ("contains", _) => texts(|a, b| a.contains(b)),
        ("startswith", _) => texts(|a, b| a.starts_with(b)),
        ("endswith", _) => texts(|a, b| a.ends_with(b)),
        ("format", _) => format(arguments),
        ("fromjson", Value::Text(text)) => Value::from_json(text, true),
        _ => Value::Unknown,
    }
}

/// `format('{0} {1}', a, b)`.
fn format(arguments: &[Value]) -> Value {
    let texts: Option<Vec<String>> = arguments.iter().map(Value::scalar).collect();
    let Some((pattern, values)) = texts.as_deref().and_then(<[String]>::split_first) else {
        return Value::Unknown;
    };
    let mut out = pattern.clone();
    for (at, value) in values.iter().enumerate() {
        out = out.replace(&format!("{{{at}}}"), value);
    }
    Value::Text(out.replace("{{", "{").replace("}}", "}"))
}

fn from_json(value: &serde_json::Value, whole: bool) -> Value {
    match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(yes) => Value::Bool(*yes),
        serde_json::Value::Number(n) => n.as_f64().map_or(Value::Unknown, Value::Number),
        serde_json::Value::String(text) => Value::Text(text.clone()),
        serde_json::Value::Array(items) => {
            Value::List(items.iter().map(|item| from_json(item, whole)).collect())
        }
        serde_json::Value::Object(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| (key.clone(), from_json(value, whole)));
            Value::Map(entries.collect(), whole)
        }
    }
}
