//! Expressions of GitHub workflows (`${{ … }}`, `if:`) and of GitLab's rules (`$NAME =~ /…/`), with what
//! is known of a run for a change. One grammar reads both.

use crate::tree::scalar;
use regex::{Captures, Regex};
use std::sync::LazyLock;
use vplan_base::diagnostic::Diagnostics;
use vplan_base::source::{Source, Sources};
use vplan_front::tree::{self, TreeKey, TreeNode};

/// The longest expression that is read, in bytes.
const MAX_LENGTH: usize = 4096;
/// The deepest nesting of an expression.
const MAX_DEPTH: usize = 40;

/// Values by name. A name that ends in `*` stands for all that begin so and are not named before it.
pub(crate) type Entries = Vec<(String, Value)>;

/// A value, as far as it is known. Numbers are texts, and `null` is an empty one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    Text(String),
    List(Vec<Value>),
    Map(Entries),
    Unknown,
}

impl Value {
    pub(crate) fn text(text: &str) -> Self {
        Value::Text(text.to_owned())
    }

    fn from_truth(truth: Option<bool>) -> Self {
        truth.map_or(Value::Unknown, Value::Bool)
    }

    /// Whether it holds; `None` where that is not known.
    fn truth(&self) -> Option<bool> {
        Some(match self {
            Value::Bool(yes) => *yes,
            Value::Text(text) => !text.is_empty(),
            Value::List(_) | Value::Map(_) => true,
            Value::Unknown => return None,
        })
    }

    /// The text of a scalar that is known.
    pub(crate) fn scalar(&self) -> Option<String> {
        match self {
            Value::Bool(yes) => Some(yes.to_string()),
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// The entries of a mapping.
    pub(crate) fn entries(self) -> Entries {
        match self {
            Value::Map(entries) => entries,
            _ => Vec::new(),
        }
    }

    /// The value of a key or an index.
    fn get(&self, key: &str) -> Value {
        match self {
            Value::Map(entries) => get(entries, key),
            Value::List(items) => match key.parse::<usize>() {
                Ok(at) => items.get(at).cloned().unwrap_or(Value::text("")),
                Err(_) if items.is_empty() => Value::text(""),
                Err(_) => Value::Unknown,
            },
            Value::Unknown => Value::Unknown,
            _ => Value::text(""),
        }
    }

    /// Whether two scalars are equal; of texts `1` is true, and an empty one false. `None` where it is not
    /// known.
    fn equals(&self, other: &Value) -> Option<bool> {
        let (own, text) = (self.scalar()?, other.scalar()?);
        Some(match (self, other) {
            (Value::Bool(yes), Value::Text(text)) | (Value::Text(text), Value::Bool(yes)) => {
                text == if *yes { "1" } else { "" }
            }
            _ => own.to_lowercase() == text.to_lowercase(),
        })
    }
}

/// The value of a name.
pub(crate) fn get(entries: &Entries, key: &str) -> Value {
    let is = |name: &str| match name.strip_suffix('*') {
        Some(start) => key.starts_with(start),
        None => key.eq_ignore_ascii_case(name),
    };
    let found = entries.iter().find(|(name, _)| is(name));
    found.map_or(Value::text(""), |(_, value)| value.clone())
}

/// Contexts (`github`, `matrix`) and variables by name.
#[derive(Clone, Debug)]
pub(crate) struct Scope(Entries);

impl Default for Scope {
    fn default() -> Self {
        Self(vec![("*".to_owned(), Value::Unknown)])
    }
}

impl Scope {
    /// What an object of JSON says, its expressions evaluated with these values.
    pub(crate) fn from_json(json: &str, values: &[(&str, Option<&str>)]) -> Self {
        let mut scope = Self::default();
        for (name, value) in values {
            scope.set(name, value.map_or(Value::Unknown, Value::text));
        }
        Self(scope.json(json).entries())
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(0, (name.to_owned(), value));
    }

    /// Sets a name of a context.
    pub(crate) fn put(&mut self, context: &str, name: &str, value: Value) {
        let mut entries = get(&self.0, context).entries();
        entries.insert(0, (name.to_owned(), value));
        self.0.retain(|(own, _)| own != context);
        self.set(context, Value::Map(entries));
    }

    /// Reads JSON.
    fn json(&self, text: &str) -> Value {
        let mut sources = Sources::default();
        let id = sources.add(Source::new("expression", text));
        let read = tree::json(&sources, id, &mut Diagnostics::default());
        read.map_or(Value::Unknown, |node| self.node(&node))
    }

    /// Evaluates an expression without `${{ }}` around it.
    fn evaluate(&self, text: &str) -> Value {
        let Some(tokens) = (text.len() <= MAX_LENGTH).then(|| tokens(text)).flatten() else {
            return Value::Unknown;
        };
        let mut parser = Parser {
            scope: self,
            tokens: &tokens,
            depth: 0,
        };
        let value = parser.joined("||", true);
        value
            .filter(|_| parser.tokens.is_empty())
            .unwrap_or(Value::Unknown)
    }

    /// Evaluates a text that may be one expression as a whole.
    pub(crate) fn value(&self, text: &str) -> Value {
        match (whole(text), self.fill(text)) {
            (Some(inner), _) => self.evaluate(inner),
            (None, filled) if filled.contains("${{") => Value::Unknown,
            (None, filled) => Value::Text(filled),
        }
    }

    /// Evaluates `if:`; an empty one holds.
    pub(crate) fn condition(&self, text: &str) -> Option<bool> {
        match text.trim() {
            "" => Some(true),
            text if text.contains("${{") => self.value(text).truth(),
            text => self.evaluate(text).truth(),
        }
    }

    /// A value of YAML with its expressions evaluated. The reader of YAML bounds the recursion.
    pub(crate) fn node(&self, node: &TreeNode) -> Value {
        match &node.value {
            tree::TreeValue::Bool(yes) => Value::Bool(*yes),
            tree::TreeValue::List(items) => {
                Value::List(items.iter().map(|i| self.node(i)).collect())
            }
            tree::TreeValue::Map(entries) => {
                let entry = |(key, node): &(TreeKey, TreeNode)| (key.name.clone(), self.node(node));
                Value::Map(entries.iter().map(entry).collect())
            }
            tree::TreeValue::Text(text) => self.value(text),
            _ => Value::Text(scalar(node)),
        }
    }

    /// Replaces the expressions in a text by their values; one that is not known or holds a secret
    /// stays.
    pub(crate) fn fill(&self, text: &str) -> String {
        static EXPRESSION: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r"(?s)\$\{\{((?:'[^']*'|.)*?)\}\}").ok());
        let value = |found: &Captures<'_>| {
            let (all, [inner]) = found.extract();
            let lower = inner.to_ascii_lowercase();
            let is_secret = lower.contains("secrets") || lower.contains("github.token");
            let value = self.evaluate(inner).scalar().filter(|_| !is_secret);
            value.unwrap_or_else(|| all.to_owned())
        };
        match &*EXPRESSION {
            Some(pattern) => pattern.replace_all(text, value).into_owned(),
            None => text.to_owned(),
        }
    }
}

/// The expression that a text is.
fn whole(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("${{")?.strip_suffix("}}")?;
    (!inner.contains("${{")).then_some(inner)
}

/// A token: text in quotes, in which `''` is one of them, a pattern, a number, a name or a mark.
const TOKEN: &str = r#"(?x)^\s*\$?( '(?:[^']|'')*' | "[^"]*" | /(?:[^/\\]|\\.)*/[A-Za-z]*
    | [+-]?[0-9][A-Za-z0-9.+-]* | [\p{Alphabetic}_][\p{Alphabetic}\p{N}_-]*
    | && | \|\| | == | =~ | != | !~ | [!()\[\],.*] )"#;

fn tokens(text: &str) -> Option<Vec<&str>> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(TOKEN).ok());
    let mut tokens = Vec::new();
    let mut rest = text.trim_end();
    while !rest.is_empty() {
        let (all, [token]) = PATTERN.as_ref()?.captures(rest)?.extract();
        tokens.push(token);
        rest = rest.get(all.len()..)?;
    }
    Some(tokens)
}

/// A parser by recursive descent; `None` is an expression that is not understood.
struct Parser<'p> {
    scope: &'p Scope,
    /// Those that are still to be read.
    tokens: &'p [&'p str],
    depth: usize,
}

impl<'p> Parser<'p> {
    fn take(&mut self) -> Option<&'p str> {
        let (token, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(token)
    }

    /// Takes the next token if it is one of these marks.
    fn mark(&mut self, marks: &[&str]) -> Option<&'p str> {
        let is_next = self.tokens.first().is_some_and(|next| marks.contains(next));
        is_next.then(|| self.take()).flatten()
    }

    /// Reads `a && b …` or `a || b …`: a value of this truth decides, and the rest does not count.
    fn joined(&mut self, mark: &str, decides: bool) -> Option<Value> {
        let next = |parser: &mut Self| match decides {
            true => parser.joined("&&", false),
            false => parser.equality(),
        };
        let mut left = next(self)?;
        while self.mark(&[mark]).is_some() {
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
        while let Some(mark) = self.mark(&["==", "=~", "!=", "!~"]) {
            let holds = match mark.ends_with('~') {
                true => fits(&left, self.take()?),
                false => left.equals(&self.unary()?),
            };
            left = Value::from_truth(holds.map(|holds| holds != mark.starts_with('!')));
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Value> {
        self.depth += 1;
        let value = match self.mark(&["!"]) {
            _ if self.depth > MAX_DEPTH => return None,
            Some(_) => Value::from_truth(self.unary()?.truth().map(|holds| !holds)),
            None => self.primary()?,
        };
        self.depth -= 1;
        Some(value)
    }

    fn primary(&mut self) -> Option<Value> {
        let token = self.take()?;
        let inner = token.get(1..token.len().saturating_sub(1));
        let value = match token.chars().next()? {
            '\'' => Value::Text(inner?.replace("''", "'")),
            '"' => Value::text(inner?),
            '(' => {
                let value = self.joined("||", true)?;
                self.mark(&[")"]).map(|_| value)?
            }
            '0'..='9' | '+' | '-' => Value::Text(token.parse::<f64>().ok()?.to_string()),
            c if !is_of_name(c) => return None,
            _ if self.mark(&["("]).is_some() => {
                let mut arguments = Vec::new();
                while self.mark(&[")"]).is_none() {
                    arguments.push(self.joined("||", true)?);
                    self.mark(&[","]);
                }
                call(&token.to_ascii_lowercase(), &arguments)
            }
            _ => match token {
                "true" | "false" => Value::Bool(token == "true"),
                "null" => Value::text(""),
                _ => get(&self.scope.0, token),
            },
        };
        self.path(value)
    }

    /// `.key`, `[key]`, and `.*`, of which only that of an empty list is known.
    fn path(&mut self, mut value: Value) -> Option<Value> {
        while let Some(mark) = self.mark(&[".", "["]) {
            if mark == "[" {
                let key = self.joined("||", true)?.scalar();
                value = key.map_or(Value::Unknown, |key| value.get(&key));
                self.mark(&["]"])?;
                continue;
            }
            let key = self.take();
            let key = key.filter(|key| *key == "*" || key.starts_with(is_of_name))?;
            value = value.get(key);
        }
        Some(value)
    }
}

/// Whether a name begins with a character.
fn is_of_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Whether a value fits `/PATTERN/` or `/PATTERN/i`.
fn fits(value: &Value, pattern: &str) -> Option<bool> {
    let (pattern, flags) = pattern.strip_prefix('/')?.rsplit_once('/')?;
    let flags = if flags.contains('i') { "(?i)" } else { "" };
    let pattern = Regex::new(&format!("{flags}{pattern}")).ok()?;
    Some(pattern.is_match(&value.scalar()?))
}

fn call(name: &str, arguments: &[Value]) -> Value {
    let first = arguments.first().unwrap_or(&Value::Unknown);
    let second = arguments.get(1).unwrap_or(&Value::Unknown);
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
        ("format", Value::Text(pattern)) => {
            let values = arguments.iter().skip(1).enumerate();
            let filled = values
                .into_iter()
                .try_fold(pattern.clone(), |out, (at, value)| {
                    Some(out.replace(&format!("{{{at}}}"), &value.scalar()?))
                });
            let text = |text: String| Value::Text(text.replace("{{", "{").replace("}}", "}"));
            filled.map_or(Value::Unknown, text)
        }
        ("fromjson", Value::Text(text)) => Scope::default().json(text),
        _ => Value::Unknown,
    }
}
