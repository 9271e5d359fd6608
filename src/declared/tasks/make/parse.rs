//! Reads the rules and variables of a makefile (GNU make's manual, chapters 3 to 6), as far as they
//! are written down. Both branches of a condition are read: a recipe that may run is judged, and a
//! variable that depends is unknown.

use super::super::super::tree::Tree;
use super::expand::{Scope, TooLong, Value};
use crate::base::path::RepoPath;
use std::collections::{BTreeMap, BTreeSet};

/// The deepest inclusion of makefiles.
const MAX_INCLUDES: usize = 4;
/// The most files that one makefile includes.
const MAX_FILES: usize = 50;

/// Variables that make sets by itself (GNU make's manual, sections 5.7 and 10.3).
const PRESET: &[(&str, &str)] = &[
    ("AR", "ar"),
    ("CC", "cc"),
    ("CURDIR", "."),
    ("CXX", "g++"),
    ("MAKE", "make"),
    ("RM", "rm -f"),
    ("SHELL", "sh"),
];

/// Variables that come from the environment of everyone.
const OUTSIDE: &[&str] = &[
    "CI",
    "GOBIN",
    "GOPATH",
    "HOME",
    "PATH",
    "PWD",
    "TMPDIR",
    "USER",
    "VIRTUAL_ENV",
];

/// A line of a recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The file.
    pub file: RepoPath,
    /// Its line, from 1.
    pub line: u32,
    /// Its text, without `@`, `-` and `+`.
    pub text: String,
    /// Whether its failure is ignored.
    pub ignored: bool,
}

/// A rule.
#[derive(Clone, Debug, Default)]
struct Rule {
    targets: Vec<String>,
    needs: String,
    recipe: Vec<(RepoPath, u32, String)>,
    own: BTreeMap<String, Value>,
}

/// A makefile.
#[derive(Clone, Debug, Default)]
pub struct Makefile {
    file: Option<RepoPath>,
    variables: BTreeMap<String, Value>,
    /// Set on the command line: nothing in the file changes them.
    fixed: BTreeSet<String>,
    exported: BTreeSet<String>,
    rules: Vec<Rule>,
    /// Rules of each plain name.
    named: BTreeMap<String, Vec<usize>>,
    /// Names without a recipe of their own that are no files.
    phony: BTreeSet<String>,
    first: Option<String>,
    one_shell: bool,
    ignores: bool,
    files: usize,
}

/// Reads a makefile with what it includes.
pub fn read(
    tree: &Tree,
    dir: &RepoPath,
    file: &RepoPath,
    set: &BTreeMap<String, String>,
) -> Result<Makefile, String> {
    let mut made = Makefile {
        file: Some(file.clone()),
        ..Makefile::default()
    };
    for (name, value) in PRESET {
        let value = Value::Text((*value).to_owned());
        made.variables.insert((*name).to_owned(), value);
    }
    for name in OUTSIDE {
        made.variables.insert((*name).to_owned(), Value::Unknown);
    }
    for (name, value) in set {
        // What a command line sets is text, and no reference.
        let value = value.replace('$', "$$");
        made.variables.insert(name.clone(), Value::Text(value));
        made.fixed.insert(name.clone());
    }
    made.include(tree, dir, file, 0)?;
    Ok(made)
}

impl Makefile {
    fn include(
        &mut self,
        tree: &Tree,
        dir: &RepoPath,
        file: &RepoPath,
        depth: usize,
    ) -> Result<(), String> {
        let Some(text) = tree.texts.get(file) else {
            let why = tree
                .unread
                .get(file)
                .map_or("it is not read", String::as_str);
            return Err(format!("`{file}`: {why}"));
        };
        self.files += 1;
        if text.contains('\0') {
            return Err(format!("`{file}` is no text"));
        }
        let mut reader = Reader {
            file: file.clone(),
            rule: None,
            conditions: 0,
            define: 0,
        };
        let mut lines = text.lines().zip(1_u32..);
        while let Some((first, number)) = lines.next() {
            let mut whole = first.strip_suffix('\r').unwrap_or(first).to_owned();
            let recipe = whole.starts_with('\t');
            // A line that ends in an odd number of backslashes goes on.
            while whole.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1 {
                whole.pop();
                let Some((next, _)) = lines.next() else { break };
                let next = next.strip_suffix('\r').unwrap_or(next);
                whole.truncate(whole.trim_end().len());
                whole.push(' ');
                whole.push_str(next.trim_start());
            }
            let includes = self.line(&mut reader, &whole, number, recipe);
            for name in includes {
                self.included(tree, dir, &name, depth)?;
            }
        }
        Ok(())
    }

    /// Reads an included file: from make's directory. Targets of one that is not there are not known.
    fn included(
        &mut self,
        tree: &Tree,
        dir: &RepoPath,
        name: &str,
        depth: usize,
    ) -> Result<(), String> {
        let path = dir.join(name.as_bytes()).ok();
        let here = path.filter(|path| tree.texts.contains_key(path));
        match here {
            Some(path) if depth < MAX_INCLUDES && self.files < MAX_FILES => {
                self.include(tree, dir, &path, depth + 1)
            }
            _ => Ok(()),
        }
    }

    /// Takes a logical line; returns the files that it includes.
    fn line(&mut self, reader: &mut Reader, line: &str, number: u32, recipe: bool) -> Vec<String> {
        if recipe
            && reader.define == 0
            && let Some(rule) = reader.rule.and_then(|at| self.rules.get_mut(at))
        {
            let text = line.trim().to_owned();
            rule.recipe.push((reader.file.clone(), number, text));
            return Vec::new();
        }
        let line = without_comment(line).trim();
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if first == "endef" {
            reader.define = reader.define.saturating_sub(1);
            return Vec::new();
        }
        if reader.define > 0 {
            reader.define += usize::from(first == "define");
            return Vec::new();
        }
        let second = words.next().unwrap_or_default();
        // A word such as `include` is a variable's name when `=` follows.
        let assigns = second.starts_with(['=', '?', '+']) || second.starts_with(":=");
        match first {
            _ if assigns => {}
            "override" | "export" | "private" if second == "define" => {
                reader.define = 1;
                let name = words.next().unwrap_or_default();
                self.variables.insert(name.to_owned(), Value::Unknown);
                return Vec::new();
            }
            "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                reader.conditions += 1;
                return Vec::new();
            }
            "else" => return Vec::new(),
            "endif" => {
                reader.conditions = reader.conditions.saturating_sub(1);
                return Vec::new();
            }
            "define" => {
                reader.define = 1;
                self.variables.insert(second.to_owned(), Value::Unknown);
                return Vec::new();
            }
            "include" | "-include" | "sinclude" => {
                let names = line.split_once(char::is_whitespace).map_or("", |(_, n)| n);
                let names = self.expand(names).unwrap_or_default();
                return names.split_whitespace().map(str::to_owned).collect();
            }
            "undefine" => {
                self.variables.remove(second);
                return Vec::new();
            }
            "unexport" | "vpath" => return Vec::new(),
            _ => {}
        }
        let (exports, rest) = modifiers(line);
        if exports && assignment(rest).is_none() {
            self.exported
                .extend(rest.split_whitespace().map(str::to_owned));
            return Vec::new();
        }
        if let Some((name, operator, value)) = assignment(rest) {
            reader.rule = None;
            if exports {
                self.exported.insert(name.to_owned());
            }
            self.assign(name, operator, value, reader.conditions > 0);
            return Vec::new();
        }
        self.rule(reader, line, number);
        Vec::new()
    }

    fn assign(&mut self, name: &str, operator: &str, value: &str, depends: bool) {
        if self.fixed.contains(name) {
            return;
        }
        if name == ".DEFAULT_GOAL" && !depends {
            self.first = self.expand(value).ok().filter(|goal| !goal.is_empty());
            return;
        }
        let known = self.variables.get(name).cloned();
        // Make's own values are defaults, too.
        let preset = PRESET.iter().any(|(preset, _)| *preset == name) || OUTSIDE.contains(&name);
        let new = match operator {
            "?=" if known.is_some() && !preset => return,
            "!=" => Value::Unknown,
            "+=" => match &known {
                Some(Value::Text(old)) => Value::Text(format!("{old} {value}").trim().to_owned()),
                Some(Value::Unknown) => Value::Unknown,
                None => Value::Text(value.to_owned()),
            },
            ":=" | "::=" | ":::=" => self.settle(value).map_or(Value::Unknown, Value::Text),
            _ => Value::Text(value.to_owned()),
        };
        let silent =
            |value: &Value| matches!(value, Value::Text(t) if matches!(t.as_str(), "" | "@"));
        let new = if !depends {
            new
        } else if silent(&new) && known.as_ref().is_none_or(silent) {
            // `Q = @` only says how much is printed.
            Value::Text(String::new())
        } else if known.as_ref() == Some(&new) {
            new
        } else {
            Value::Unknown
        };
        self.variables.insert(name.to_owned(), new);
    }

    fn rule(&mut self, reader: &mut Reader, line: &str, number: u32) {
        let Some(colon) = colon(line) else {
            reader.rule = None;
            return;
        };
        let (left, right) = line.split_at_checked(colon).unwrap_or((line, ""));
        let left = left.strip_suffix('&').unwrap_or(left);
        let right = right.trim_start_matches(':');
        let Ok(left) = self.expand(left) else { return };
        let targets: Vec<String> = left
            .split_whitespace()
            .map(|name| {
                let plain = name.strip_prefix("./").filter(|n| !n.is_empty());
                plain.unwrap_or(name).to_owned()
            })
            .collect();
        let (needs, inline) = match right.split_once(';') {
            Some((needs, recipe)) => (needs, Some(recipe.trim())),
            None => (right, None),
        };
        // `target: NAME = value` sets a variable for its recipe.
        if let (true, Some((name, _, value))) =
            (inline.is_none(), assignment(modifiers(needs.trim()).1))
        {
            let value = match self.settle(value) {
                Ok(value) if reader.conditions == 0 => Value::Text(value),
                _ => Value::Unknown,
            };
            self.add(Rule {
                targets,
                own: BTreeMap::from([(name.to_owned(), value)]),
                ..Rule::default()
            });
            return;
        }
        match targets.first().map(String::as_str) {
            Some(".PHONY") => {
                let names = self.expand(needs).unwrap_or_default();
                self.phony
                    .extend(names.split_whitespace().map(str::to_owned));
            }
            Some(".ONESHELL") => self.one_shell = true,
            Some(".IGNORE") if needs.trim().is_empty() => self.ignores = true,
            Some(first) if self.first.is_none() => {
                let hidden = first.starts_with('.') && !first.contains('/');
                if !hidden && !first.contains('%') {
                    self.first = Some(first.to_owned());
                }
            }
            _ => {}
        }
        // `a b: %.o: %.c` has its pattern first.
        let needs = needs.split_once(": ").map_or(needs, |(_, needs)| needs);
        let recipe = inline
            .filter(|text| !text.is_empty())
            .map(|text| (reader.file.clone(), number, text.to_owned()));
        reader.rule = Some(self.add(Rule {
            targets,
            needs: needs.to_owned(),
            recipe: recipe.into_iter().collect(),
            own: BTreeMap::new(),
        }));
    }

    fn add(&mut self, rule: Rule) -> usize {
        let at = self.rules.len();
        for name in &rule.targets {
            self.named.entry(name.clone()).or_default().push(at);
        }
        self.rules.push(rule);
        at
    }

    fn expand(&self, text: &str) -> Result<String, TooLong> {
        self.globally().expand(text)
    }

    fn settle(&self, text: &str) -> Result<String, TooLong> {
        self.globally().settle(text)
    }

    fn globally(&self) -> Scope<'_> {
        Scope {
            global: &self.variables,
            own: BTreeMap::new(),
        }
    }

    /// The rules of a target with what `%` is in them: its own, else those of the first pattern that
    /// fits.
    fn rules_of(&self, name: &str) -> (Vec<&Rule>, String) {
        let real = |at: &&usize| {
            self.rules
                .get(**at)
                .is_some_and(|r| r.own.is_empty() && (!r.recipe.is_empty() || !r.needs.is_empty()))
        };
        let own = self.named.get(name).map_or(&[][..], Vec::as_slice);
        let mut found: Vec<&Rule> = own.iter().filter_map(|at| self.rules.get(*at)).collect();
        let has_recipe = found.iter().any(|r| !r.recipe.is_empty());
        let phony = self.phony.contains(name);
        if has_recipe || phony || own.iter().any(|at| real(&at)) {
            return (found, String::new());
        }
        for rule in &self.rules {
            for target in &rule.targets {
                let Some((before, after)) = target.split_once('%') else {
                    continue;
                };
                let stem = name
                    .strip_prefix(before)
                    .and_then(|n| n.strip_suffix(after));
                if let Some(stem) = stem.filter(|stem| !stem.is_empty()) {
                    found.push(rule);
                    return (found, stem.to_owned());
                }
            }
        }
        (found, String::new())
    }

    /// Whether there is a rule for a name, or it is declared as no file.
    pub fn knows(&self, name: &str) -> bool {
        self.phony.contains(name) || !self.rules_of(name).0.is_empty()
    }

    /// Whether a plain rule names it: neither a pattern nor only a declaration.
    pub fn declares(&self, name: &str) -> bool {
        self.named.contains_key(name)
    }

    /// The line of a target's first rule with a recipe, else 1, and its file.
    pub fn place(&self, name: &str) -> (Option<RepoPath>, u32) {
        let rules = self.rules_of(name).0;
        let first = rules.iter().find_map(|rule| rule.recipe.first());
        first.map_or((self.file.clone(), 1), |(file, line, _)| {
            (Some(file.clone()), *line)
        })
    }

    /// The target that is built when none is asked for.
    pub fn default_goal(&self) -> Option<String> {
        self.first.clone()
    }

    fn scope(&self, name: &str) -> (Vec<&Rule>, Scope<'_>) {
        let (rules, stem) = self.rules_of(name);
        let mut own = BTreeMap::new();
        for rule in &rules {
            own.extend(rule.own.iter().map(|(k, v)| (k.clone(), v.clone())));
        }
        for (key, value) in [("@", name), ("*", &stem)] {
            own.insert(key.to_owned(), Value::Text(value.replace('$', "$$")));
        }
        let scope = Scope {
            global: &self.variables,
            own,
        };
        (rules, scope)
    }

    /// What a target needs, in order.
    pub fn needs(&self, name: &str) -> Result<Vec<String>, String> {
        let (rules, scope) = self.scope(name);
        let stem = scope.own.get("*").cloned();
        let mut found = Vec::new();
        for rule in rules {
            let text = scope.expand(&rule.needs).map_err(|_| too_long(name))?;
            for word in text.split_whitespace().filter(|w| *w != "|") {
                let word = match &stem {
                    Some(Value::Text(stem)) => word.replacen('%', stem, 1),
                    _ => word.to_owned(),
                };
                let plain = word.strip_prefix("./").map_or(word.clone(), str::to_owned);
                found.push(plain);
            }
        }
        Ok(found)
    }

    /// The lines of a target's recipe, variables filled in.
    pub fn recipe(&self, name: &str) -> Result<Vec<Command>, String> {
        let needs = self.needs(name)?;
        let (rules, mut scope) = self.scope(name);
        let first = needs.first().cloned().unwrap_or_default();
        for (key, value) in [("<", first), ("^", needs.join(" ")), ("+", needs.join(" "))] {
            scope
                .own
                .insert(key.to_owned(), Value::Text(value.replace('$', "$$")));
        }
        let mut found: Vec<Command> = Vec::new();
        for rule in rules {
            for (file, line, text) in &rule.recipe {
                let text = scope.expand(text).map_err(|_| too_long(name))?;
                let plain = text.trim_start_matches(['@', '-', '+', ' ', '\t']);
                let marks = text.get(..text.len() - plain.len()).unwrap_or_default();
                if plain.is_empty() || plain.starts_with('#') {
                    continue;
                }
                let ignored = self.ignores || marks.contains('-');
                match found.last_mut() {
                    Some(last) if self.one_shell => {
                        last.text.push('\n');
                        last.text.push_str(plain);
                    }
                    _ => found.push(Command {
                        file: file.clone(),
                        line: *line,
                        text: plain.to_owned(),
                        ignored,
                    }),
                }
            }
        }
        Ok(found)
    }

    /// The exported variables with literal values.
    pub fn exported(&self) -> BTreeMap<String, String> {
        let value = |name: &String| {
            let is_text = matches!(self.variables.get(name), Some(Value::Text(_)));
            if !is_text {
                return None;
            }
            let text = self.expand(&format!("$({name})")).ok()?;
            (!text.contains('$')).then(|| (name.clone(), text))
        };
        self.exported.iter().filter_map(value).collect()
    }
}

fn too_long(name: &str) -> String {
    format!("the variables of `{name}` make a text that is too long")
}

/// Where the reading of one file is.
struct Reader {
    file: RepoPath,
    /// The rule to which a recipe line belongs.
    rule: Option<usize>,
    conditions: usize,
    define: usize,
}

/// Removes `export`, `override` and `private` in front of an assignment; whether `export` was one.
fn modifiers(line: &str) -> (bool, &str) {
    let (mut exports, mut rest) = (false, line);
    loop {
        let (word, further) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        match word {
            "export" => exports = true,
            "override" | "private" => {}
            _ => return (exports, rest),
        }
        rest = further.trim_start();
        if rest.is_empty() {
            return (exports, rest);
        }
    }
}

/// Splits `NAME op VALUE`.
fn assignment(line: &str) -> Option<(&str, &str, &str)> {
    let end = line.find(|c: char| c.is_whitespace() || matches!(c, '=' | ':' | '?' | '+' | '!'))?;
    let (name, rest) = line.split_at_checked(end)?;
    let rest = rest.trim_start();
    if name.is_empty() || name.contains(['$', '(', '%', '\\']) {
        return None;
    }
    let operators = [":::=", "::=", ":=", "?=", "+=", "!=", "="];
    let operator = operators.into_iter().find(|op| rest.starts_with(op))?;
    let value = rest.strip_prefix(operator)?.trim();
    Some((name, operator, value))
}

/// The `:` of a rule: the first one outside of `$(…)`.
fn colon(line: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in line.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

fn without_comment(line: &str) -> &str {
    let mut before = None;
    for (at, c) in line.char_indices() {
        if c == '#' && before != Some('\\') {
            return line.get(..at).unwrap_or_default();
        }
        before = Some(c);
    }
    line
}
