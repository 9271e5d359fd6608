//! The commands of shell text, as a script, a step of CI or a recipe has it. A splitter that never
//! fails: what it does not understand is a command with a reason.
//!
//! Followed: `cd`, assignments, `export`, conditions that are known, loops around one command. Not
//! read: `case`, functions, here-documents. The commands of other loops have that reason.

mod grammar;
mod words;

use crate::found::{Ending, Place, SourceCommand};
use crate::listed::listed;
use grammar::{Item, Join, Node, Parser};
use std::collections::BTreeMap;
use vplan_base::path::RepoPath;
use vplan_check::tool::table::Class;
use words::{Kind, Piece, Token, Variable};

/// What is known of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Known(String),
    /// Unset: it is empty.
    Unset,
    Unknown,
}

/// Where shell text begins: the folder and the variables.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub dir: RepoPath,
    /// The variables that are set. Others are unset, but for those of every shell and CI system.
    pub variables: BTreeMap<String, Value>,
}

/// What shell text does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Its commands; their places are lines of the text, from 0.
    pub commands: Vec<SourceCommand>,
    /// What it appends to the environment of later steps (`>> "$GITHUB_ENV"`).
    pub sets: Vec<(String, Value)>,
}

/// Names that each shell or CI system sets, `*` at an end for any rest.
const MACHINE: &str = "\
    ! # $ - ? HOME PATH USER SHELL RANDOM TMPDIR OLDPWD HOSTNAME UID BASH_SOURCE LINENO \
    SECONDS CI GITHUB_* RUNNER_* CI_* CIRCLE_* BUILD_* SYSTEM_* AGENT_* TRAVIS_* ACTIONS_* \
    ANDROID_* JAVA_HOME* GOPATH CONDA* VCPKG_* GITLAB_* pythonLocation";
/// Variables with the root of the repository.
const ROOTS: &str = "\
    GITHUB_WORKSPACE CI_PROJECT_DIR BUILD_SOURCESDIRECTORY TRAVIS_BUILD_DIR \
    CIRCLE_WORKING_DIRECTORY";
/// Programs whose output is put in: the processors of a common runner, the folder, the root (`/`).
const OUTPUTS: &[(&str, &str)] = &[
    ("nproc", "4"),
    ("getconf _NPROCESSORS_ONLN", "4"),
    ("pwd", "."),
    ("git rev-parse --show-toplevel", "/"),
];
/// Programs that only list files: a shell expands them.
const LISTS: &[&str] = &["git ls-files", "git grep -l", "find", "ls", "go list", "fd"];
/// Commands that do not count as the work of a loop.
const IDLE: &str = "echo printf sleep break continue exit return read let date cat";
/// The most values of a loop that are put in.
const MAX_VALUES: usize = 8;
/// The most commands of a text.
const MAX_COMMANDS: usize = 2000;
/// The most pipes that are read, those of repeated loops counted each time.
const MAX_PIPES: usize = 20_000;

/// Returns the commands of a text, in order.
pub fn split(text: &str, scope: &Scope) -> Vec<SourceCommand> {
    read(text, scope).commands
}

/// Returns the commands of a text and what it sets for later steps.
pub fn read(text: &str, scope: &Scope) -> Script {
    let tokens = words::split(text);
    let items = Parser::new(text, &tokens).all();
    let mut walk = Walk {
        text,
        scope: scope.clone(),
        left: MAX_PIPES,
        ..Walk::default()
    };
    walk.list(&items);
    walk.out
}

/// A word with its variables put in.
#[derive(Default)]
struct Filled {
    fields: Vec<String>,
    /// As a shell must read it.
    spelled: String,
    needs_shell: bool,
    unknown: Option<String>,
}

#[derive(Default)]
struct Walk<'t> {
    text: &'t str,
    scope: Scope,
    /// The `cd` that leads to an unknown folder.
    lost: Option<String>,
    exported: BTreeMap<String, String>,
    folders: Vec<RepoPath>,
    /// Whether it is not known that the current command runs.
    unsure: bool,
    /// Whether the exit code only decides what runs next.
    condition: bool,
    /// The pipes that may still be read.
    left: usize,
    /// The byte of the last command, and its line.
    last: (usize, u32),
    out: Script,
}

impl Walk<'_> {
    fn raw(&self, part: &[Token]) -> String {
        let bounds = part.first().zip(part.last());
        let raw = bounds.and_then(|(first, last)| self.text.get(first.start..last.end));
        let raw = raw.unwrap_or_default();
        one_line(&raw.replace("\\\r\n", " ").replace("\\\n", " "))
    }

    /// Reads a list; the result is its exit code where it is known. Commands are taken to pass.
    fn list(&mut self, items: &[Item<'_>]) -> Option<bool> {
        let (unsure, mut status, mut chain) = (self.unsure, Some(true), 0);
        let mut previous: Option<&Item<'_>> = None;
        for item in items {
            if item.join == Join::Always {
                self.unsure = unsure;
                status = Some(true);
                chain = self.out.commands.len();
            }
            let emitted = self.out.commands.len() > chain;
            match (item.join, status) {
                (Join::Or, Some(true)) if emitted => self.fallback(chain, item, previous),
                (Join::And, Some(false)) | (Join::Or, Some(true)) => {}
                (join, _) => {
                    self.unsure |= join != Join::Always && status.is_none();
                    status = self.item(item);
                }
            }
            previous = Some(item);
        }
        self.unsure = unsure;
        status
    }

    /// Reads what runs when the commands since `chain` fail: unless it fails itself or tries them
    /// again, they cannot fail.
    fn fallback(&mut self, chain: usize, item: &Item<'_>, previous: Option<&Item<'_>>) {
        let text = self.raw(item.part);
        let again = previous.is_some_and(|previous| self.raw(previous.part) == text);
        if again || self.fails(item.part) || self.condition {
            return;
        }
        for command in self.out.commands.iter_mut().skip(chain) {
            command.ending = Ending::Ignored(format!("|| {text}"));
        }
    }

    /// Whether these tokens hold `exit 1`, `false`, `return`, or keep the failure in a variable.
    fn fails(&self, part: &[Token]) -> bool {
        let mut raws = part.iter().map(|token| token.raw(self.text)).peekable();
        while let Some(word) = raws.next() {
            let fails = match word {
                "exit" | "return" => raws.peek() != Some(&"0"),
                word => word == "false" || word.contains("=1") || word.contains("$?"),
            };
            if fails {
                return true;
            }
        }
        false
    }

    fn item(&mut self, item: &Item<'_>) -> Option<bool> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let start = self.out.commands.len();
        let mut status = None;
        let through = matches!(&*item.pipe, [Node::Simple(first), .., Node::Simple(last)]
            if self.lists(first, last, item));
        if through {
            let words = ["sh", "-c", &self.raw(item.part)].map(str::to_owned);
            self.emit(item.part, words.to_vec(), None, BTreeMap::new());
        } else {
            for (at, node) in item.pipe.iter().enumerate() {
                let first = self.out.commands.len();
                status = self.node(node);
                for command in self.out.commands.iter_mut().skip(first).filter(|_| at > 0) {
                    let why = "it reads the output of another command".to_owned();
                    command.unknown.get_or_insert(why);
                }
            }
        }
        let condition = self.condition;
        for command in self.out.commands.iter_mut().skip(start) {
            if item.background {
                command.ending = Ending::Background;
            } else if item.negated && !condition {
                command.unknown.get_or_insert("it must fail".to_owned());
            }
        }
        if item.pipe.len() > 1 && self.out.commands.len() > start {
            return Some(true);
        }
        status.map(|passes| passes != item.negated)
    }

    /// Whether a pipe is `find … | xargs TOOL`, which is one command of a shell.
    fn lists(&self, first: &[Token], last: &[Token], item: &Item<'_>) -> bool {
        lists(&self.raw(first))
            && self.raw(last).starts_with("xargs ")
            && !self.raw(item.part).contains('$')
    }

    fn node(&mut self, node: &Node<'_>) -> Option<bool> {
        match node {
            Node::Simple(part) => return self.simple(part),
            Node::Group(items, own) => {
                let before =
                    own.then(|| (self.scope.clone(), self.lost.clone(), self.exported.clone()));
                let status = self.list(items);
                if let Some(before) = before {
                    (self.scope, self.lost, self.exported) = before;
                }
                return status;
            }
            Node::If(branches, rest) => self.branches(branches, rest),
            Node::For {
                name,
                values,
                body,
                part,
            } => {
                let filled: Vec<Filled> = values.iter().map(|t| self.fill(t)).collect();
                let known = filled.iter().all(|f| f.unknown.is_none() && !f.needs_shell);
                let fields: Vec<String> = filled.into_iter().flat_map(|f| f.fields).collect();
                let is_named = names(&self.raw(part), name);
                if is_named && known && (1..=MAX_VALUES).contains(&fields.len()) {
                    for field in fields {
                        self.set(name, Value::Known(field));
                        self.list(body);
                    }
                } else {
                    self.set(name, Value::Unknown);
                    self.around_one(&[body], part);
                }
            }
            Node::While(condition, body, part) => self.around_one(&[condition, body], part),
            // A command without words.
            Node::Unread(why, part) => {
                self.forget(part);
                self.emit(part, Vec::new(), Some((*why).to_owned()), BTreeMap::new());
            }
        }
        None
    }

    /// Reads `if`: the branch that runs, or all of them where that is not known.
    fn branches(&mut self, branches: &[(Vec<Item<'_>>, Vec<Item<'_>>)], rest: &[Item<'_>]) {
        let unsure = self.unsure;
        for (condition, body) in branches {
            let start = self.out.commands.len();
            let was = std::mem::replace(&mut self.condition, true);
            let mut status = self.list(condition);
            self.condition = was;
            if self.out.commands.len() > start {
                status = None;
                let fails = body.iter().chain(rest).any(|item| self.fails(item.part));
                for command in self.out.commands.iter_mut().skip(start).filter(|_| !fails) {
                    command.ending = Ending::Ignored("it only decides what runs next".to_owned());
                }
            }
            if status != Some(false) {
                self.unsure = unsure || status.is_none();
                self.list(body);
            }
            self.unsure |= status.is_none();
            if status == Some(true) {
                self.unsure = unsure;
                return;
            }
        }
        self.list(rest);
        self.unsure = unsure;
    }

    /// Reads a loop around one command, such as a retry; any other loop is not read.
    fn around_one(&mut self, lists: &[&Vec<Item<'_>>], part: &[Token]) {
        let start = self.out.commands.len();
        let unsure = std::mem::replace(&mut self.unsure, true);
        let was = std::mem::replace(&mut self.condition, true);
        for list in lists {
            self.list(list);
        }
        (self.unsure, self.condition) = (unsure, was);
        let mut work = self.out.commands.split_off(start);
        work.retain(|c| c.words.first().is_none_or(|w| !listed(IDLE, w)));
        if work.len() > 1 || work.iter().any(|one| one.unknown.is_some()) {
            for one in &mut work {
                one.unknown = Some("a loop is not read".to_owned());
            }
            self.forget(part);
        }
        self.out.commands.append(&mut work);
    }

    /// What a part that is not read assigns is not known after it.
    fn forget(&mut self, part: &[Token]) {
        for (name, _) in part.iter().filter_map(|token| assignment(token.pieces())) {
            self.set(&name, Value::Unknown);
        }
    }

    fn set(&mut self, name: &str, value: Value) {
        self.scope.variables.insert(name.to_owned(), value);
    }

    fn emit(
        &mut self,
        part: &[Token],
        words: Vec<String>,
        unknown: Option<String>,
        mut env: BTreeMap<String, String>,
    ) {
        if self.out.commands.len() >= MAX_COMMANDS {
            return;
        }
        let start = part.first().map_or(0, |token| token.start);
        let (last, lines) = Some(self.last)
            .filter(|last| last.0 <= start)
            .unwrap_or_default();
        let between = self.text.get(last..start).unwrap_or_default();
        let line = lines + u32::try_from(between.matches('\n').count()).unwrap_or_default();
        self.last = (start, line);
        let text = self.raw(part);
        let compares_tree = compares_tree(&text) || assigns_tree(&text);
        if compares_tree {
            let earlier = self.out.commands.iter_mut().rev();
            for command in earlier.take_while(|c| !c.compares_tree) {
                if command.ending == Ending::Counts {
                    command.ending = Ending::TreeCompared;
                }
            }
        }
        for (name, value) in &self.exported {
            env.entry(name.clone()).or_insert_with(|| value.clone());
        }
        self.out.commands.push(SourceCommand {
            words,
            unknown: unknown.or_else(|| self.lost.clone()),
            text,
            dir: self.scope.dir.clone(),
            env,
            place: Place::of(&RepoPath::root(), line),
            compares_tree,
            ..SourceCommand::default()
        });
    }

    fn simple(&mut self, part: &[Token]) -> Option<bool> {
        let mut env = BTreeMap::new();
        let mut filled: Vec<Filled> = Vec::new();
        let mut unknown = None;
        let mut target = None;
        for token in part {
            match (&token.kind, target.take()) {
                (Kind::Redirection(sign), _) => target = Some(*sign),
                (Kind::Word(_), Some(sign)) => {
                    let raw = token.raw(self.text);
                    if sign.starts_with('<') && raw != "/dev/null" {
                        unknown = Some(format!("its input is {sign} {raw}"));
                    } else if sign == ">>" && raw.contains("GITHUB_ENV") {
                        self.sets(&filled);
                    }
                }
                (Kind::Word(pieces), None) => match assignment(pieces) {
                    Some((name, rest)) if filled.is_empty() => {
                        env.insert(name, self.fill_pieces(&rest));
                    }
                    _ => filled.push(self.fill(token)),
                },
                (Kind::Operator(_), _) => {}
            }
        }
        let is_empty = |word: &Filled| word.fields.is_empty() && word.unknown.is_none();
        if filled.iter().all(is_empty) {
            for (name, value) in env {
                self.assign(&name, value);
            }
            for piece in part.iter().flat_map(Token::pieces) {
                if let Piece::Output(inner) = piece
                    && let Some(words) = verifying(inner)
                {
                    let why = "its output is put into a variable".to_owned();
                    self.emit(part, words, Some(why), BTreeMap::new());
                }
            }
            if assigns_tree(&self.raw(part)) {
                self.emit(part, vec!["git".to_owned()], None, BTreeMap::new());
            }
            return Some(true);
        }
        let first = filled.first().and_then(|word| word.fields.first()).cloned();
        if let Some(status) = self.builtin(first.as_deref().unwrap_or_default(), &filled, part) {
            return status;
        }
        let mut assigned = BTreeMap::new();
        for (name, value) in env {
            match value {
                Value::Known(value) => drop(assigned.insert(name, value)),
                Value::Unset => drop(assigned.insert(name, String::new())),
                Value::Unknown if name == "PATH" => {}
                Value::Unknown => unknown = Some(format!("${name} in front of it")),
            }
        }
        unknown = unknown.or_else(|| filled.iter().find_map(|word| word.unknown.clone()));
        let words = if unknown.is_none() && filled.iter().any(|word| word.needs_shell) {
            let spelled: Vec<&str> = filled.iter().map(|word| &*word.spelled).collect();
            let text = spelled.join(" ");
            vec!["sh".to_owned(), "-c".to_owned(), text.trim_end().to_owned()]
        } else {
            filled.into_iter().flat_map(|word| word.fields).collect()
        };
        self.emit(part, words, unknown, assigned);
        Some(true)
    }

    /// Reads a command of the shell itself. `None` for any other.
    #[allow(clippy::option_option)]
    fn builtin(&mut self, name: &str, filled: &[Filled], part: &[Token]) -> Option<Option<bool>> {
        let arguments = filled.get(1..).unwrap_or_default();
        match name {
            "cd" | "pushd" | "popd" => self.enter(name, arguments),
            "export" | "declare" | "local" | "readonly" => {
                for token in part.iter().skip(1) {
                    let variable = match assignment(token.pieces()) {
                        Some((variable, rest)) => {
                            let value = self.fill_pieces(&rest);
                            self.assign(&variable, value);
                            variable
                        }
                        None => token.raw(self.text).to_owned(),
                    };
                    let value = self.scope.variables.get(&variable);
                    if let (Some(Value::Known(value)), "export") = (value, name) {
                        self.exported.insert(variable, value.clone());
                    }
                }
            }
            "unset" => {
                for field in arguments.iter().flat_map(|word| &word.fields) {
                    self.set(field, Value::Unset);
                    self.exported.remove(field);
                }
            }
            "read" => {
                let fields = arguments.iter().flat_map(|word| &word.fields);
                fields.for_each(|field| self.set(field, Value::Unknown));
            }
            "set" | "shopt" | "trap" | "exit" | "return" | "true" | ":" | "shift" | "wait" => {}
            "false" => return Some(Some(false)),
            "[" | "[[" | "test" => return Some(self.test(filled, part)),
            _ => return None,
        }
        Some(Some(true))
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

    /// Compares what a test compares. One of the tree's state is a command.
    fn test(&mut self, filled: &[Filled], part: &[Token]) -> Option<bool> {
        let text = self.raw(part);
        if compares_tree(&text) || (text.contains("$(") && !self.condition) {
            let why = "it compares an output".to_owned();
            self.emit(part, vec!["test".to_owned()], Some(why), BTreeMap::new());
            return None;
        }
        let unclear = filled.iter().any(|word| word.unknown.is_some());
        if unclear || text.contains("&&") || text.contains("||") {
            return None;
        }
        // An empty word is a word here.
        let word = |filled: &Filled| filled.fields.first().cloned().unwrap_or_default();
        let mut words: Vec<String> = filled.iter().map(word).collect();
        words.retain(|word| !matches!(&**word, "]" | "]]"));
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let (negated, words) = match words.split_first() {
            Some((&"!", rest)) => (true, rest),
            _ => (false, &*words),
        };
        let glob = |word: &str| word.contains(['*', '?', '[']);
        let holds = match *words {
            ["-n", value] | [value] if !value.starts_with('-') => !value.is_empty(),
            ["-z", value] => value.is_empty(),
            [left, "=" | "==" | "-eq", right] if !glob(right) => left == right,
            [left, "!=" | "-ne", right] if !glob(right) => left != right,
            _ => return None,
        };
        Some(holds != negated)
    }

    /// Reads `echo NAME=VALUE >> "$GITHUB_ENV"`.
    fn sets(&mut self, filled: &[Filled]) {
        let unknown = filled.iter().any(|word| word.unknown.is_some()) || self.unsure;
        let fields: Vec<String> = filled.iter().flat_map(|word| word.fields.clone()).collect();
        let text = fields.get(1..).unwrap_or_default().join(" ");
        if let Some((name, value)) = text.split_once('=') {
            let value = Value::Known(value.to_owned());
            let value = if unknown { Value::Unknown } else { value };
            self.out.sets.push((name.trim().to_owned(), value));
        }
    }

    fn assign(&mut self, name: &str, value: Value) {
        let value = if self.unsure { Value::Unknown } else { value };
        match (&value, self.exported.get_mut(name)) {
            (Value::Known(text), Some(exported)) => exported.clone_from(text),
            (_, Some(_)) => {
                self.exported.remove(name);
            }
            _ => {}
        }
        self.set(name, value);
    }

    fn fill(&self, token: &Token) -> Filled {
        let pieces = token.pieces();
        let unquoted = |piece: &Piece, marks: &[char]| matches!(piece, Piece::Text(text, false) if text.contains(marks));
        let is_home = |piece: &Piece| matches!(piece, Piece::Text(t, false) if t.starts_with('~'));
        let mut out = Filled {
            needs_shell: pieces.iter().any(|piece| unquoted(piece, &['*', '?'])),
            unknown: pieces.first().filter(|piece| is_home(piece)).map(raw_of),
            ..Filled::default()
        };
        // The last field, once it has begun, even if it is empty.
        let mut field: Option<String> = None;
        for piece in pieces {
            let (value, is_quoted) = match piece {
                Piece::Text(text, is_quoted) => (Value::Known(text.clone()), *is_quoted),
                Piece::Output(inner) if lists(inner) => {
                    out.needs_shell = true;
                    out.spelled.push_str(&raw_of(piece));
                    field.get_or_insert_default();
                    continue;
                }
                Piece::Variable(variable) => (self.value(variable), variable.quoted),
                other => (self.fill_pieces(std::slice::from_ref(other)), true),
            };
            let is_text = matches!(piece, Piece::Text(..));
            let alone = |p: &Piece| p == piece || matches!(p, Piece::Text(t, _) if t.is_empty());
            match value {
                // An unset variable is not an argument; inside a word it is unclear.
                Value::Unset if pieces.iter().all(alone) => return Filled::default(),
                Value::Unset | Value::Unknown => {
                    field.get_or_insert_default().push_str(&raw_of(piece));
                    out.unknown.get_or_insert_with(|| raw_of(piece));
                }
                Value::Known(value) if is_quoted || is_text => {
                    match is_quoted {
                        true => out.spelled.push_str(&escape(&value)),
                        false => out.spelled.push_str(&value),
                    }
                    if !value.is_empty() || is_text && is_quoted {
                        field.get_or_insert_default().push_str(&value);
                    }
                }
                Value::Known(value) => {
                    out.spelled.push_str(&value);
                    out.needs_shell |= value.contains(['*', '?']);
                    for (at, part) in value.split_whitespace().enumerate() {
                        if at > 0 {
                            out.fields.extend(field.take());
                        }
                        field.get_or_insert_default().push_str(part);
                    }
                }
            }
        }
        let literal = pieces.iter().all(|piece| matches!(piece, Piece::Text(..)));
        out.fields
            .extend(field.filter(|field| literal || !field.is_empty()));
        out
    }

    /// The text of pieces that are one value; unset variables are empty.
    fn fill_pieces(&self, pieces: &[Piece]) -> Value {
        let mut all = String::new();
        for piece in pieces {
            let value = match piece {
                Piece::Text(text, _) => Value::Known(text.clone()),
                Piece::Variable(variable) => self.value(variable),
                Piece::Output(inner) => {
                    let inner = one_line(inner);
                    match OUTPUTS.iter().find(|(program, _)| *program == inner) {
                        Some((_, "/")) => Value::Known(self.up()),
                        Some((_, output)) => Value::Known((*output).to_owned()),
                        None => Value::Unknown,
                    }
                }
                Piece::Unread(_) => Value::Unknown,
            };
            match value {
                Value::Known(text) => all.push_str(&text),
                Value::Unset => {}
                Value::Unknown => return Value::Unknown,
            }
        }
        Value::Known(all)
    }

    fn value(&self, variable: &Variable) -> Value {
        let value = match self.scope.variables.get(&variable.name) {
            Some(value) => value.clone(),
            None if listed(ROOTS, &variable.name) => Value::Known(self.up()),
            None if variable.name == "PWD" => Value::Known(".".to_owned()),
            None if listed(MACHINE, &variable.name) => Value::Unknown,
            None => Value::Unset,
        };
        let is_empty = matches!(&value, Value::Unset) || value == Value::Known(String::new());
        match (&variable.operator, &value) {
            (None, _) | (Some(_), Value::Unknown) => value,
            (Some(('-', alternative)), _) if is_empty => self.fill_pieces(alternative),
            (Some(('+', alternative)), _) if !is_empty => self.fill_pieces(alternative),
            (Some(('-', _)), _) => value,
            _ if is_empty => Value::Known(String::new()),
            _ => Value::Unknown,
        }
    }

    /// The root of the repository, from the current folder.
    fn up(&self) -> String {
        if self.scope.dir.is_root() {
            return ".".to_owned();
        }
        let steps: Vec<&str> = self.scope.dir.segments().map(|_| "..").collect();
        steps.join("/")
    }
}

/// A text on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text names a variable: `$NAME` or `${NAME`.
pub(crate) fn names(text: &str, variable: &str) -> bool {
    text.contains(&format!("${variable}")) || text.contains(&format!("${{{variable}"))
}

/// The name and value of `NAME=VALUE`.
fn assignment(pieces: &[Piece]) -> Option<(String, Vec<Piece>)> {
    let (Piece::Text(text, false), rest) = pieces.split_first()? else {
        return None;
    };
    let (name, value) = text.split_once('=')?;
    let appends = name.ends_with('+');
    let name = name.strip_suffix('+').unwrap_or(name);
    if !vplan_base::command::is_env_name(name) {
        return None;
    }
    let mut pieces = vec![Piece::Text(value.to_owned(), false)];
    pieces.extend_from_slice(rest);
    if appends {
        pieces.push(Piece::Unread(text.clone()));
    }
    Some((name.to_owned(), pieces))
}

/// Whether a command lists files, and nothing in it is a variable.
fn lists(inner: &str) -> bool {
    let mut rests = LISTS
        .iter()
        .filter_map(|name| inner.trim_start().strip_prefix(name));
    !inner.contains('$') && rests.any(|rest| rest.starts_with(' '))
}

fn raw_of(piece: &Piece) -> String {
    match piece {
        Piece::Text(text, _) | Piece::Unread(text) => text.clone(),
        Piece::Variable(variable) => variable.raw.clone(),
        Piece::Output(inner) => format!("$({inner})"),
    }
}

/// Whether a command fails when the tree has changed.
fn compares_tree(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    has(&["git diff", "git diff-index", "git diff-files"]) && has(&["--exit-code", "--quiet"])
        || text.contains("git status") && has(&["--porcelain", "--short", " -s"])
}

/// The words of the first command whose output is put in, if it verifies something.
fn verifying(inner: &str) -> Option<Vec<String>> {
    let first = inner
        .split(['|', ';', '&', '\n'])
        .next()?
        .split_whitespace();
    let words: Vec<String> = first.map(str::to_owned).collect();
    let reading = vplan_check::tool::reading::read(&words)?;
    (matches!(reading.class, Class::Tool | Class::Task) && reading.verb.is_some()).then_some(words)
}

/// Whether a variable gets what has changed in the tree, for a test of it.
fn assigns_tree(text: &str) -> bool {
    const CHANGES: [&str; 4] = [
        "diff",
        "status --porcelain",
        "status -s",
        "diff --name-only",
    ];
    let value = text.split_once('=').map_or("", |(_, value)| value);
    let value = value.trim_matches('"').strip_prefix("$(git ");
    value
        .and_then(|value| value.strip_suffix(')'))
        .is_some_and(|value| CHANGES.contains(&value))
}

/// Quotes what a shell would replace or split at.
fn escape(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,^".contains(c);
    match text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests;
