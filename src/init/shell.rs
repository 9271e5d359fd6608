//! The commands of shell text, as a script, a step of CI or a recipe has it. A splitter that never
//! fails: what it does not understand is a command with a reason.
//!
//! Followed: `cd`, assignments, `export`, all branches of a condition. Not read: `case`, functions,
//! here-documents. The commands of loops have that reason.

mod scope;
mod words;

use crate::found::{CommandEnding, Place, SourceCommand};
use crate::words::{listed, of_shell};
use scope::Filled;
pub use scope::{ShellScope, ShellValue};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use vplan_base::path::RepoPath;
use vplan_check::tool::table::ToolClass;
use words::{Kind, Token, one_line};

/// What shell text does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellScript {
    /// Its commands; their places are lines of the text, from 0.
    pub commands: Vec<SourceCommand>,
    /// What it appends to the environment of later steps (`>> "$GITHUB_ENV"`).
    pub sets: Vec<(String, ShellValue)>,
}

/// The most commands of a text.
const MAX_COMMANDS: usize = 2000;

/// The deepest nesting that is read.
const MAX_DEPTH: usize = 40;
/// What ends a list.
const ENDS: &[&str] = &[
    "then", "elif", "else", "fi", "do", "done", "esac", "}", ")", ";;", ";;&", ";&",
];
/// What ends a pipe.
const PIPE_ENDS: &[&str] = &["&&", "||", ";", "\n", "&"];

/// Returns the commands of a text, in order.
pub fn split(text: &str, scope: &ShellScope) -> Vec<SourceCommand> {
    read(text, scope).commands
}

/// Returns the commands of a text and what it sets for later steps.
pub fn read(text: &str, scope: &ShellScope) -> ShellScript {
    let text = text.replace("\r\n", "\n");
    let tokens = words::split(&text);
    let mut walk = Walk {
        text: &text,
        tokens: &tokens,
        scope: scope.clone(),
        ..Walk::default()
    };
    while walk.at < tokens.len() {
        walk.list();
        // A closing word or bracket of nothing.
        walk.at += 1;
    }
    walk.out
}

/// A walk over the tokens of a text.
#[derive(Default)]
struct Walk<'t> {
    text: &'t str,
    tokens: &'t [Token<'t>],
    /// The next token.
    at: usize,
    depth: usize,
    scope: ShellScope,
    /// The `cd` that leads to an unknown folder.
    lost: Option<String>,
    exported: BTreeSet<String>,
    /// The variables in front of the command.
    assigned: BTreeMap<String, String>,
    folders: Vec<RepoPath>,
    /// Whether it is not known that the current command runs.
    unsure: bool,
    /// Whether the exit code only decides what runs next.
    condition: bool,
    out: ShellScript,
}

impl<'t> Walk<'t> {
    fn next(&self, kind: Kind) -> &'t str {
        let next = self.tokens.get(self.at);
        let next = next.filter(|token| token.kind == kind);
        next.map_or("", |token| token.raw)
    }

    /// The operator that comes next; none before a word.
    fn operator(&self) -> &'t str {
        self.next(Kind::Operator)
    }

    /// The word that comes next.
    fn word(&self) -> &'t str {
        self.next(Kind::Word)
    }

    fn skip(&mut self, signs: &[&str]) {
        while signs.contains(&self.operator()) {
            self.at += 1;
        }
    }

    fn take(&mut self, sign: &str) -> bool {
        let is_next = self.word() == sign || self.operator() == sign;
        self.at += usize::from(is_next);
        is_next
    }

    /// The next of these signs, or what ends the list, over all constructs that begin before it.
    fn end(&self, stops: &[&str]) -> usize {
        const BEGINS: &str = "if then elif else fi while until do done esac { } !";
        let mut open: Vec<&str> = Vec::new();
        let mut begins = true;
        for (at, token) in self.tokens.iter().enumerate().skip(self.at) {
            let closes = open.last() == Some(&token.raw);
            let is_sign = match token.kind {
                Kind::Word => begins || closes && token.raw == "]]",
                kind => kind == Kind::Operator,
            };
            begins = is_sign && (token.kind == Kind::Operator || listed(BEGINS, token.raw));
            let closing = match token.raw {
                _ if !is_sign => continue,
                _ if closes => {
                    open.pop();
                    continue;
                }
                "if" => "fi",
                "for" | "select" | "while" | "until" => "done",
                "case" => "esac",
                "{" => "}",
                "(" => ")",
                "[[" => "]]",
                sign if open.is_empty() && (stops.contains(&sign) || ENDS.contains(&sign)) => {
                    return at;
                }
                _ => continue,
            };
            open.push(closing);
        }
        self.tokens.len()
    }

    fn raw(&self, tokens: Range<usize>) -> String {
        let part = self.tokens.get(tokens).unwrap_or_default();
        let bounds = part.first().zip(part.last());
        let raw = bounds.and_then(|(first, last)| self.text.get(first.start..last.end()));
        one_line(&raw.unwrap_or_default().replace("\\\n", " "))
    }

    /// Reads a list; the result is whether it is taken to pass: all but tests are.
    fn list(&mut self) -> bool {
        let (unsure, mut passes, mut chain) = (self.unsure, true, 0);
        let (mut join, mut previous) = ("", 0..0);
        loop {
            self.skip(&["\n", ";", "&"]);
            let next = [self.operator(), self.word()];
            if self.at >= self.tokens.len() || next.iter().any(|sign| ENDS.contains(sign)) {
                self.unsure = unsure;
                return passes;
            }
            if join.is_empty() {
                self.unsure = unsure;
                passes = true;
                chain = self.out.commands.len();
            }
            let item = self.at..self.end(PIPE_ENDS);
            if join == "||" && passes {
                self.fallback(chain, &item, previous);
            } else {
                self.unsure |= !passes;
                passes = self.pipe(&item);
            }
            // Nothing is read twice, whatever it is.
            self.at = self.at.max(item.end);
            join = match self.operator() {
                sign @ ("&&" | "||") => sign,
                _ => "",
            };
            self.at += usize::from(!join.is_empty() || self.at == item.start);
            previous = item;
        }
    }

    /// What runs when the commands since `chain` fail: unless it fails itself or tries them again,
    /// they cannot fail.
    fn fallback(&mut self, chain: usize, item: &Range<usize>, previous: Range<usize>) {
        let text = self.raw(item.clone());
        let again = text.contains(&self.raw(previous));
        if self.condition || again || self.fails(item.clone()) {
            return;
        }
        for command in self.out.commands.iter_mut().skip(chain) {
            command.ending = CommandEnding::Ignored(format!("|| {text}"));
        }
    }

    /// Whether these tokens hold `exit 1`, `false`, `return`, or keep the failure in a variable.
    fn fails(&self, tokens: Range<usize>) -> bool {
        let part = self.tokens.get(tokens).unwrap_or_default();
        let follows = part.iter().skip(1).map(|token| token.raw).chain([""]);
        let fails = |(token, next): (&Token<'_>, &str)| match token.raw {
            "exit" | "return" => next != "0",
            word => word == "false" || word.contains("=1") || word.contains("$?"),
        };
        part.iter().zip(follows).any(fails)
    }

    fn pipe(&mut self, item: &Range<usize>) -> bool {
        let start = self.out.commands.len();
        let mut negated = false;
        while self.take("!") {
            negated = !negated;
        }
        let (mut passes, mut piped) = (true, false);
        if self.lists(item) {
            let words = of_shell(&self.raw(item.clone()));
            self.emit(item.clone(), words, None);
            self.at = item.end;
        } else {
            passes = self.command();
            while matches!(self.operator(), "|" | "|&") {
                piped = true;
                self.at += 1;
                self.skip(&["\n"]);
                let first = self.out.commands.len();
                passes = self.command();
                for command in self.out.commands.iter_mut().skip(first) {
                    let why = "it reads the output of another command".to_owned();
                    command.unknown.get_or_insert(why);
                }
            }
        }
        let background = self.operator() == "&";
        let condition = self.condition;
        for command in self.out.commands.iter_mut().skip(start) {
            if background {
                command.ending = CommandEnding::Background;
            } else if negated && !condition {
                command.unknown.get_or_insert("it must fail".to_owned());
            }
        }
        piped && self.out.commands.len() > start || passes && !negated
    }

    /// Whether a pipe is `find … | xargs TOOL`, which is one command of a shell.
    fn lists(&self, item: &Range<usize>) -> bool {
        let text = self.raw(item.clone());
        let last = text.rsplit('|').next().unwrap_or_default();
        last.starts_with(" xargs ") && scope::lists(&text)
    }

    fn command(&mut self) -> bool {
        let start = self.at;
        self.depth += 1;
        let passes = self.compound(start);
        self.depth -= 1;
        // Redirections of all of it.
        while self.at < self.tokens.len() && self.operator().is_empty() {
            self.at += 1;
        }
        passes
    }

    fn compound(&mut self, start: usize) -> bool {
        if self.depth > MAX_DEPTH {
            self.at = self.tokens.len();
            return self.unread(start, "it is nested too deep");
        }
        let opens = |at: usize| self.tokens.get(at).is_some_and(|token| token.raw == "(");
        match self.word() {
            "" if opens(start) && opens(start + 1) => {
                self.at = self.end(PIPE_ENDS);
                self.forget(start);
                true
            }
            open if open == "{" || open.is_empty() && opens(start) => {
                self.at += 1;
                let before = (self.scope.clone(), self.lost.clone(), self.exported.clone());
                let passes = self.list();
                if open.is_empty() {
                    (self.scope, self.lost, self.exported) = before;
                }
                self.at += 1;
                passes
            }
            word @ ("if" | "for" | "select" | "while" | "until") => {
                let unsure = self.unsure;
                self.unsure |= word != "if";
                match word {
                    "if" => self.branches(),
                    _ => self.repeated(start),
                }
                self.unsure = unsure;
                false
            }
            "case" => {
                self.at = self.end(PIPE_ENDS);
                self.unread(start, "a `case` is not read")
            }
            word if word == "function" || !matches!(word, "" | "[[") && opens(start + 1) => {
                self.at += 1 + usize::from(word == "function");
                self.skip(&["(", ")", "\n"]);
                self.at = self.end(PIPE_ENDS);
                self.unread(start, "a function is not read")
            }
            _ => self.simple(start),
        }
    }

    /// Notes a construct that is not read, as a command without words. What it assigns is not known
    /// after it.
    fn unread(&mut self, start: usize, why: &str) -> bool {
        self.forget(start);
        let why = Some(why.to_owned());
        self.emit(start..self.at, Vec::new(), why);
        false
    }

    /// Reads the branches of `if` that may run.
    fn branches(&mut self) {
        let fails = self.fails(self.at..self.end(PIPE_ENDS));
        let unsure = self.unsure;
        // Whether a branch was the one that runs, and whether all comparisons so far are known.
        let (mut taken, mut known) = (false, true);
        loop {
            let mut holds = Some(true);
            if self.take("if") || self.take("elif") {
                holds = self.compared();
                self.unsure = true;
                let start = self.out.commands.len();
                let was = std::mem::replace(&mut self.condition, true);
                self.list();
                self.condition = was;
                let conditions = self.out.commands.iter_mut().skip(start);
                for command in conditions.filter(|_| !fails) {
                    command.ending =
                        CommandEnding::Ignored("it only decides what runs next".to_owned());
                }
                self.take("then");
            } else if !self.take("else") {
                break;
            }
            let was = (self.scope.clone(), self.out.commands.len());
            known &= holds.is_some();
            self.unsure = unsure || !known;
            self.list();
            if taken || holds == Some(false) {
                self.out.commands.truncate(was.1);
                self.scope = was.0;
            }
            taken |= holds == Some(true);
        }
        self.take("fi");
    }

    /// Whether the comparison that comes next holds, where it is all that decides, of two known texts.
    fn compared(&self) -> Option<bool> {
        let end = self.end(PIPE_ENDS);
        let part = self.tokens.get(self.at..=end)?;
        let words: Vec<&str> = part.iter().map(|token| token.raw).collect();
        let ["[" | "[[", left, sign, right, _, ";" | "\n"] = words[..] else {
            return None;
        };
        let text = |word| match self.scope.joined(word) {
            // A variable that nothing here sets may be set elsewhere.
            ShellValue::Known(text) if !text.is_empty() && !text.contains('*') => Some(text),
            _ => None,
        };
        let is_equal = text(left)? == text(right)?;
        match sign {
            "=" | "==" => Some(is_equal),
            "!=" => Some(!is_equal),
            _ => None,
        }
    }

    /// Reads the commands of a loop, which are no checks.
    fn repeated(&mut self, start: usize) {
        let first = self.out.commands.len();
        let has_values = matches!(self.word(), "for" | "select");
        self.at += 1;
        if has_values {
            self.set(self.word(), ShellValue::Unknown);
            self.at = self.end(&[";", "\n"]);
        }
        self.list();
        if self.take("do") {
            self.list();
        }
        self.take("done");
        for command in self.out.commands.iter_mut().skip(first) {
            command.unknown = Some("a loop is not read".to_owned());
        }
        self.forget(start);
    }

    /// What a part that is not read assigns is not known after it.
    fn forget(&mut self, start: usize) {
        for token in self.tokens.get(start..self.at).into_iter().flatten() {
            if let Some((name, _)) = self.scope.assignment(token.raw) {
                self.set(name, ShellValue::Unknown);
            }
        }
    }

    fn set(&mut self, name: &str, value: ShellValue) {
        self.scope.variables.insert(name.to_owned(), value);
    }

    fn emit(&mut self, part: Range<usize>, words: Vec<String>, unknown: Option<String>) {
        let mut env = std::mem::take(&mut self.assigned);
        if self.out.commands.len() >= MAX_COMMANDS {
            return;
        }
        let line = self.tokens.get(part.start).map_or(0, |token| token.line);
        let text = self.raw(part);
        let compares_tree = compares_tree(&text);
        if compares_tree {
            let earlier = self.out.commands.iter_mut().rev();
            for command in earlier.take_while(|c| !c.compares_tree) {
                if command.ending == CommandEnding::Counts {
                    command.ending = CommandEnding::TreeCompared;
                }
            }
        }
        for name in &self.exported {
            if let Some(ShellValue::Known(value)) = self.scope.variables.get(name) {
                env.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        self.out.commands.push(SourceCommand {
            words,
            unknown: unknown.or_else(|| self.lost.clone()),
            text,
            dir: self.scope.dir.clone(),
            env,
            place: Place::new(&RepoPath::root(), line),
            compares_tree,
            ..SourceCommand::default()
        });
    }

    fn simple(&mut self, start: usize) -> bool {
        self.at = match self.word() {
            "[[" => self.end(PIPE_ENDS),
            _ => self.at,
        };
        while self.at < self.tokens.len() && self.operator().is_empty() {
            self.at += 1;
        }
        let item = start..self.at;
        let part = self.tokens.get(item.clone()).unwrap_or_default();
        let is_digit = |c: char| c.is_ascii_digit();
        let mut env = BTreeMap::new();
        let mut filled: Vec<Filled> = Vec::new();
        let mut unknown = None;
        let mut target = None;
        for token in part {
            match (token.kind, target.take()) {
                (Kind::Redirection, _) => target = Some(token.raw.trim_start_matches(is_digit)),
                (Kind::Word, Some(sign)) => {
                    if sign.starts_with('<') && token.raw != "/dev/null" {
                        unknown = Some(format!("its input is {sign} {}", token.raw));
                    } else if sign == ">>" && token.raw.contains("GITHUB_ENV") {
                        self.sets(&filled);
                    }
                }
                (Kind::Word, None) => match self.scope.assignment(token.raw) {
                    Some((name, value)) if filled.is_empty() => {
                        env.insert(name.to_owned(), value);
                    }
                    _ => filled.push(self.scope.fill(token.raw)),
                },
                (Kind::Operator, _) => {}
            }
        }
        let is_empty = |word: &Filled| word.fields.is_empty() && word.unknown.is_none();
        if filled.iter().all(is_empty) {
            for (name, value) in env {
                self.assign(&name, value);
            }
            self.outputs(&item, "its output is put into a variable");
            let text = self.raw(item.clone());
            if compares_tree(&text) {
                self.emit(item, vec!["git".to_owned()], None);
            }
            return true;
        }
        let first = filled.first().and_then(|word| word.fields.first()).cloned();
        let first = first.unwrap_or_default();
        if let Some(passes) = self.builtin(&first, &filled, item.clone()) {
            return passes;
        }
        for (name, value) in env {
            match value {
                ShellValue::Known(value) => drop(self.assigned.insert(name, value)),
                ShellValue::Unset => drop(self.assigned.insert(name, String::new())),
                ShellValue::Unknown if name == "PATH" => {}
                ShellValue::Unknown => unknown = Some(format!("${name} in front of it")),
            }
        }
        unknown = unknown.or_else(|| filled.iter().find_map(|word| word.unknown.clone()));
        let words = if unknown.is_none() && filled.iter().any(|word| word.needs_shell) {
            let spelled: Vec<&str> = filled.iter().map(|word| &*word.spelled).collect();
            of_shell(spelled.join(" ").trim_end())
        } else {
            filled.into_iter().flat_map(|word| word.fields).collect()
        };
        self.emit(item, words, unknown);
        true
    }

    /// Notes the tools whose output only a shell reads.
    fn outputs(&mut self, item: &Range<usize>, why: &str) {
        let text = self.raw(item.clone()).replace('`', "$(");
        for words in text.split("$(").skip(1).filter_map(verifying) {
            self.emit(item.clone(), words, Some(why.to_owned()));
        }
    }

    /// Reads a command of the shell itself. `None` for any other.
    fn builtin(&mut self, name: &str, filled: &[Filled], item: Range<usize>) -> Option<bool> {
        let arguments = filled.get(1..).unwrap_or_default();
        match name {
            "cd" | "pushd" | "popd" => self.enter(name, arguments),
            "export" | "declare" | "local" | "readonly" => {
                for token in self.tokens.get(item).into_iter().flatten().skip(1) {
                    let assigned = self.scope.assignment(token.raw);
                    let variable = assigned.as_ref().map_or(token.raw, |(name, _)| name);
                    if let Some((_, value)) = assigned {
                        self.assign(variable, value);
                    }
                    if name == "export" {
                        self.exported.insert(variable.to_owned());
                    }
                }
            }
            "unset" | "read" => {
                let value = match name {
                    "read" => ShellValue::Unknown,
                    _ => ShellValue::Unset,
                };
                for field in arguments.iter().flat_map(|word| &word.fields) {
                    self.set(field, value.clone());
                }
            }
            "set" | "shopt" | "trap" | "exit" | "return" | "true" | "false" | ":" | "shift"
            | "wait" | "break" | "continue" => {}
            "[" | "[[" | "test" => {
                if compares_tree(&self.raw(item.clone())) {
                    self.emit(item, vec!["test".to_owned()], None);
                } else {
                    self.outputs(&item, "its output is compared");
                }
                return Some(false);
            }
            _ => return None,
        }
        Some(true)
    }

    fn enter(&mut self, name: &str, arguments: &[Filled]) {
        let unclear = |word: &Filled| {
            let spelled = word.needs_shell.then(|| word.spelled.clone());
            word.unknown.clone().or(spelled)
        };
        let unknown = arguments.iter().find_map(unclear);
        let mut fields = arguments.iter().flat_map(|word| &word.fields);
        let folder = fields.find(|field| *field != "--").map_or("~", |f| f);
        if folder == "-" || name == "popd" {
            self.lost = None;
            self.scope.dir = self.folders.pop().unwrap_or_default();
            return;
        }
        match self.scope.dir.join(folder.as_bytes()) {
            Ok(dir) if unknown.is_none() && !folder.starts_with('~') => {
                self.folders
                    .push(std::mem::replace(&mut self.scope.dir, dir));
            }
            _ => {
                let shown = unknown.unwrap_or_else(|| folder.to_owned());
                self.lost = Some(format!("it runs in `{shown}`"));
            }
        }
    }

    /// Reads `echo NAME=VALUE >> "$GITHUB_ENV"`.
    fn sets(&mut self, filled: &[Filled]) {
        let unknown = filled.iter().any(|word| word.unknown.is_some()) || self.unsure;
        let fields: Vec<String> = filled.iter().flat_map(|word| word.fields.clone()).collect();
        let text = fields.get(1..).unwrap_or_default().join(" ");
        if let Some((name, value)) = text.split_once('=') {
            let value = ShellValue::keep_known(value.to_owned(), !unknown);
            self.out.sets.push((name.trim().to_owned(), value));
        }
    }

    fn assign(&mut self, name: &str, value: ShellValue) {
        self.set(
            name,
            if self.unsure {
                ShellValue::Unknown
            } else {
                value
            },
        );
    }
}

/// Whether a text names a variable: `$NAME` or `${NAME`.
pub(crate) fn names(text: &str, variable: &str) -> bool {
    text.contains(&format!("${variable}")) || text.contains(&format!("${{{variable}"))
}

/// Whether a command fails when the tree has changed, or keeps what has changed for a test of it.
pub(crate) fn compares_tree(text: &str) -> bool {
    const CHANGES: [&str; 4] = [
        "$(git diff)",
        "$(git status --porcelain)",
        "$(git status -s)",
        "$(git diff --name-only)",
    ];
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let value = text.split_once('=').map_or("", |(_, value)| value);
    text.contains("git diff") && has(&["--exit-code", "--quiet"])
        || text.contains("git status") && has(&["--porcelain", "--short", " -s"])
        || CHANGES.contains(&value.trim_matches('"'))
}

/// The words of the first command whose output is put in, if it may verify something.
fn verifying(inner: &str) -> Option<Vec<String>> {
    let first = inner.split(['|', ';', '&', ')']).next()?.split_whitespace();
    let words: Vec<String> = first.map(str::to_owned).collect();
    let is_name = |word: &String| word.starts_with(|c: char| c.is_ascii_alphabetic());
    let verifies = match vplan_check::tool::matched::read(&words) {
        Some(one) => matches!(one.class, ToolClass::Tool | ToolClass::Task) && one.verb.is_some(),
        // An unknown command is reported.
        None => words.len() > 1 && words.first().is_some_and(is_name),
    };
    verifies.then_some(words)
}

#[cfg(test)]
mod tests;
