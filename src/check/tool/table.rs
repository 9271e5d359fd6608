//! The table of tools, `tools.table`: what is known of each program, read once. Its head says what
//! its columns are.

use crate::Kind;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The text of the table.
pub(super) const TEXT: &str = include_str!("../tools.table");

/// The class of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Verifies something itself.
    Tool,
    /// Runs a named task of the repository.
    Task,
    /// Is never proposed, with the reason.
    Never(&'static str),
    /// Is never proposed, since it prepares the machine or the checkout, with how.
    Setup(&'static str),
    /// Is never proposed, since it starts or needs a service.
    Service(&'static str),
    /// Prepares or prints: not worth a line.
    #[default]
    Plumbing,
    /// Only starts the command that follows.
    Launcher,
}

/// The verb of a row: `name` means that the task's name gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verb {
    pub by_name: bool,
    /// The verb, or the one that holds where the task's name says nothing.
    pub kind: Option<Kind>,
}

/// A way to call a tool: its program, then words that must be present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub program: &'static str,
    /// Subcommands and options; `a/b` are alternatives.
    pub words: Vec<&'static str>,
}

/// An option, and what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Swap {
    /// The option, or a plain word.
    pub name: &'static str,
    /// The pattern of its value: empty without one.
    pub value: &'static str,
    /// The words in its place.
    pub by: &'static str,
}

/// The commands that write, and their checking form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Writes {
    /// The options with which it writes; they are removed.
    pub when: Vec<&'static str>,
    /// The options with which it does not write.
    pub unless: Vec<&'static str>,
    /// Whether it writes without any option.
    pub always: bool,
    /// The words added after the call.
    pub adds: Vec<&'static str>,
    /// The words that replace the call.
    pub becomes: Vec<&'static str>,
    /// The reason why there is no checking form.
    pub uncheckable: Option<&'static str>,
}

/// An example of a row: a command and its reading.
pub(super) type Example = (&'static str, &'static str);

/// A row of the table.
#[derive(Clone, Debug)]
pub struct Row {
    pub class: Class,
    pub(super) calls: Vec<Call>,
    pub(super) verb: Verb,
    /// The language of the files that it looks at, a name of [`languages`], `code` or `all`.
    pub paths: &'static str,
    /// The stem of the check's name; `=` is the program's.
    pub(super) name: &'static str,
    pub(super) writes: Writes,
    pub(super) selectors: Vec<Swap>,
    /// The options that take a value.
    pub(super) values: Vec<&'static str>,
    /// The options whose value names the task.
    pub(super) task_options: Vec<&'static str>,
    /// The name of the task, where the call says it (`npm test`).
    pub(super) task_names: Vec<&'static str>,
    /// Whether each operand is a task.
    pub(super) several: bool,
    /// Whether a plain word after the call may be a tool of the table (`yarn eslint .`).
    pub(super) starts_tools: bool,
    /// The words that precede the command that a launcher starts, after its options.
    pub(super) operands: usize,
    /// The words after which the command of a launcher begins.
    pub(super) after: Vec<&'static str>,
    /// The options whose value is the text of a shell.
    pub(super) text: Vec<&'static str>,
    /// Whether a launcher starts such text only.
    pub(super) only_text: bool,
    /// The options that name the folder that a launcher enters.
    pub(super) folder: Vec<&'static str>,
    /// The reason why no command of a launcher is proposed.
    pub(super) never: Option<&'static str>,
    /// The options after which a module is named (`python -m`).
    pub(super) module: Vec<&'static str>,
    /// The parts of an operand that make it a program (`node node_modules/…`).
    pub(super) within: Vec<&'static str>,
    /// The file patterns of its configuration; `FILE:KEY` is a part of a file.
    pub config: Vec<&'static str>,
    /// The formats of its output.
    pub formats: Vec<&'static str>,
    /// The phrases with which it says that nothing was tested.
    pub no_tests: Vec<&'static str>,
    pub(super) examples: Vec<Example>,
    /// Its line of the table.
    pub line: usize,
}

/// The meaning of a task's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskVerb {
    /// Never proposed, with the reason.
    Never(&'static str),
    Test,
    Lint,
    Compile,
    /// Neither verifies nor writes: a server, a cleanup.
    Idle,
    /// Changes files.
    Writes,
    Unclear,
}

impl TaskVerb {
    /// The verb of a check, if the name has one.
    #[must_use]
    pub fn kind(self) -> Option<Kind> {
        match self {
            Self::Test => Some(Kind::Test),
            Self::Lint => Some(Kind::Lint),
            Self::Compile => Some(Kind::Compile),
            Self::Never(_) | Self::Idle | Self::Writes | Self::Unclear => None,
        }
    }
}

/// A GitHub action, or a hook of a hook manager.
#[derive(Clone, Debug)]
pub struct Action {
    pub(super) names: Vec<&'static str>,
    /// The command with holes for inputs: `{args}`, `{path=.}` with a default, `{config: --config _}`
    /// with a text that holds where the input is set, `_` being its value.
    pub command: Option<&'static str>,
    /// The reason why it runs no command; empty where it prepares, publishes or reports.
    pub reason: &'static str,
    /// Its line of the table.
    pub line: usize,
}

impl Action {
    /// The command with its inputs.
    #[must_use]
    pub fn filled(&self, input: impl Fn(&str) -> Option<String>) -> Option<String> {
        let mut out = String::new();
        let mut rest = self.command?;
        while let Some((before, hole)) = rest.split_once('{') {
            out.push_str(before);
            let (hole, after) = hole.split_once('}')?;
            rest = after;
            let get = |name: &str| input(name.trim()).filter(|value| !value.trim().is_empty());
            if let Some((name, text)) = hole.split_once(':') {
                if let Some(value) = get(name) {
                    out.push_str(&text.replace('_', value.trim()));
                }
            } else {
                let (name, default) = hole.split_once('=').unwrap_or((hole, ""));
                let value = get(name).unwrap_or_else(|| default.to_owned());
                out.push_str(value.trim());
            }
        }
        out.push_str(rest);
        let words: Vec<&str> = out.split_whitespace().collect();
        Some(words.join(" ").replace("\\|", "|"))
    }
}

/// A language: its files, and the test that is run where nothing else tests it.
#[derive(Clone, Debug)]
pub struct Language {
    pub name: &'static str,
    /// The globs of its files, manifests among them.
    pub globs: Vec<&'static str>,
    /// The names of manifests that show that a repository is written in it.
    pub manifests: Vec<&'static str>,
    /// The commands that test it by convention, in order; empty if there is none.
    pub gap: Vec<&'static str>,
    /// The globs of files of which one must exist for that.
    pub tests: Vec<&'static str>,
}

/// The whole table.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub rows: Vec<Row>,
    pub words: Vec<(TaskVerb, Vec<&'static str>)>,
    pub actions: Vec<Action>,
    pub hooks: Vec<Action>,
    pub languages: Vec<Language>,
    /// The files that programs keep.
    pub keeps: Vec<(Vec<&'static str>, Vec<&'static str>)>,
    quiet: Vec<&'static str>,
    echoed: Vec<&'static str>,
    /// The rows and calls of each program, in the order of the table.
    by_program: BTreeMap<&'static str, Vec<(usize, usize)>>,
    /// The rows and calls whose program is a pattern.
    patterns: Vec<(usize, usize)>,
}

impl Table {
    /// The rows of a program, with its calls.
    pub fn of<'a, 'p>(
        &'a self,
        program: &'p str,
    ) -> impl Iterator<Item = (&'a Row, &'a Call)> + use<'a, 'p> {
        let own = self.by_program.get(program).into_iter().flatten();
        let get = |(row, call): &(usize, usize)| {
            let row = self.rows.get(*row)?;
            Some((row, row.calls.get(*call)?))
        };
        let by_pattern = self.patterns.iter().filter_map(get);
        let by_pattern = by_pattern.filter(move |(_, call)| fits(call.program, program));
        own.filter_map(get).chain(by_pattern)
    }
}

/// The table; empty if it cannot be parsed, which a test excludes.
pub(super) fn table() -> &'static Table {
    static TABLE: LazyLock<Table> = LazyLock::new(|| parse(TEXT).unwrap_or_default());
    &TABLE
}

/// The languages.
#[must_use]
pub fn languages() -> &'static [Language] {
    &table().languages
}

/// The files that a program keeps in the folder in which it runs.
pub fn kept(program: &str) -> impl Iterator<Item = &'static str> {
    let rows = table().keeps.iter();
    rows.filter(move |(programs, _)| programs.contains(&program))
        .flat_map(|(_, files)| files.iter().copied())
}

/// A GitHub action by its name; a version is ignored.
#[must_use]
pub fn action(uses: &str) -> Option<&'static Action> {
    let name = uses.split(['@']).next().unwrap_or(uses).to_lowercase();
    let name = match name.strip_prefix("docker://") {
        Some(image) => image.split(':').next().map(|i| format!("docker://{i}")),
        None => Some(name),
    }?;
    named(&table().actions, &name)
}

/// A hook of pre-commit by its id.
#[must_use]
pub fn hook(id: &str) -> Option<&'static Action> {
    named(&table().hooks, id)
}

fn named(actions: &'static [Action], name: &str) -> Option<&'static Action> {
    actions
        .iter()
        .find(|action| action.names.iter().any(|known| fits(known, name)))
}

/// The meaning of a task's name: of its words, the first list that has one decides.
#[must_use]
pub fn task_word(name: &str) -> TaskVerb {
    let mut spaced = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.extend(c.to_lowercase());
        before = c;
    }
    let words: Vec<&str> = spaced
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty())
        .collect();
    let lists = &table().words;
    let has = |known: &&str| words.iter().any(|word| fits(known, word));
    let found = lists.iter().find(|(_, known)| known.iter().any(has));
    found.map_or(TaskVerb::Unclear, |(verb, _)| *verb)
}

/// Whether a program writes nothing that is read: it prepares, or passes on what others write.
pub(crate) fn is_quiet(program: &str) -> bool {
    table().quiet.contains(&program)
}

/// Whether the name of a program begins a line of an output that may be a command.
pub(crate) fn is_echoed(program: &str) -> bool {
    table().echoed.contains(&program)
}

/// Whether a text fits a pattern in which `*` is any text.
#[must_use]
pub fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

/// Parses the table. The error says the line.
pub(super) fn parse(text: &'static str) -> Result<Table, String> {
    let mut table = Table::default();
    for (index, line) in text.lines().enumerate() {
        let line_number = index + 1;
        let words = line.trim();
        if words.is_empty() || words.starts_with('#') {
            continue;
        }
        let (key, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let rest = rest.trim();
        let parsed = if line.starts_with(' ') {
            match table.rows.last_mut() {
                Some(row) => detail(row, key, rest),
                None => None,
            }
        } else {
            head(&mut table, key, rest, line_number)
        };
        parsed.ok_or_else(|| format!("line {line_number}: {line}"))?;
    }
    for (row, calls) in table.rows.iter().map(|row| &row.calls).enumerate() {
        for (call, program) in calls.iter().map(|call| call.program).enumerate() {
            let list = if program.contains('*') {
                &mut table.patterns
            } else {
                table.by_program.entry(program).or_default()
            };
            list.push((row, call));
        }
    }
    Ok(table)
}

/// Parses a line that begins a row.
fn head(table: &mut Table, key: &str, rest: &'static str, line: usize) -> Option<()> {
    let mut columns = rest.split(" | ").map(str::trim);
    let first = columns.next()?;
    let mut next = || columns.next().filter(|c| *c != "-").unwrap_or_default();
    match key {
        "tool" | "task" | "never" | "setup" | "service" | "plumbing" | "launcher" => {
            let mut row = blank(first, line)?;
            let mut reason = || Some(next()).filter(|reason| !reason.is_empty());
            match key {
                "never" => row.class = Class::Never(reason()?),
                "setup" => row.class = Class::Setup(reason()?),
                "service" => row.class = Class::Service(reason()?),
                "plumbing" => row.class = Class::Plumbing,
                "launcher" => row.class = Class::Launcher,
                _ => {
                    row.class = if key == "tool" {
                        Class::Tool
                    } else {
                        Class::Task
                    };
                    row.verb = verb(next())?;
                    row.paths = next();
                    row.name = next();
                }
            }
            table.rows.push(row);
        }
        "words" => {
            let verb = match first {
                "test" => TaskVerb::Test,
                "lint" => TaskVerb::Lint,
                "compile" => TaskVerb::Compile,
                "idle" => TaskVerb::Idle,
                "writes" => TaskVerb::Writes,
                reason => TaskVerb::Never(reason.strip_prefix("never ")?.trim()),
            };
            table.words.push((verb, list(next())));
        }
        "action" | "hook" => {
            let command = Some(next()).filter(|c| !c.is_empty());
            let actions = if key == "action" {
                &mut table.actions
            } else {
                &mut table.hooks
            };
            actions.push(Action {
                names: names(first),
                command,
                reason: next(),
                line,
            });
        }
        "keeps" => table.keeps.push((names(first), list(next()))),
        "quiet" => table.quiet.extend(list(first)),
        "echoed" => table.echoed.extend(list(first)),
        "language" => table.languages.push(Language {
            name: first,
            globs: list(next()),
            manifests: list(next()),
            gap: Some(next().split(';').map(str::trim))
                .map(|gap| gap.filter(|c| !c.is_empty()).collect())?,
            tests: list(next()),
        }),
        _ => return None,
    }
    Some(())
}

fn names(text: &'static str) -> Vec<&'static str> {
    text.split(',').map(str::trim).collect()
}

fn list(text: &'static str) -> Vec<&'static str> {
    text.split_whitespace().collect()
}

fn verb(text: &str) -> Option<Verb> {
    let mut verb = Verb::default();
    for word in text.split_whitespace() {
        match word {
            "name" => verb.by_name = true,
            "test" => verb.kind = Some(Kind::Test),
            "lint" => verb.kind = Some(Kind::Lint),
            "compile" => verb.kind = Some(Kind::Compile),
            "run" => verb.kind = Some(Kind::Run),
            _ => return None,
        }
    }
    (verb.by_name || verb.kind.is_some()).then_some(verb)
}

fn blank(calls: &'static str, line: usize) -> Option<Row> {
    let calls: Option<Vec<Call>> = calls
        .split(',')
        .map(|call| {
            let mut words = call.split_whitespace();
            Some(Call {
                program: words.next()?,
                words: words.collect(),
            })
        })
        .collect();
    Some(Row {
        class: Class::Plumbing,
        calls: calls?,
        verb: Verb::default(),
        paths: "",
        name: "",
        writes: Writes::default(),
        selectors: Vec::new(),
        values: Vec::new(),
        task_options: Vec::new(),
        task_names: Vec::new(),
        several: false,
        starts_tools: false,
        operands: 0,
        after: Vec::new(),
        text: Vec::new(),
        only_text: false,
        folder: Vec::new(),
        never: None,
        module: Vec::new(),
        within: Vec::new(),
        config: Vec::new(),
        formats: Vec::new(),
        no_tests: Vec::new(),
        examples: Vec::new(),
        line,
    })
}

/// Parses an indented line, a detail of the row above it.
fn detail(row: &mut Row, key: &str, rest: &'static str) -> Option<()> {
    let words = || rest.split_whitespace();
    match key {
        "writes" if rest == "always" => row.writes.always = true,
        "writes" => row.writes.when.extend(words()),
        "unless" => row.writes.unless.extend(words()),
        "adds" => row.writes.adds.extend(words()),
        "becomes" => row.writes.becomes.extend(words()),
        "uncheckable" => row.writes.uncheckable = Some(rest),
        "select" => {
            let (from, by) = rest.split_once("=>").unwrap_or((rest, ""));
            for word in from.split_whitespace() {
                let (name, value) = word.split_once('=').unwrap_or((word, ""));
                row.selectors.push(Swap {
                    name,
                    value,
                    by: by.trim(),
                });
            }
        }
        "values" => row.values.extend(words()),
        "task" => {
            let (options, names): (Vec<_>, Vec<_>) =
                words().partition(|word| word.starts_with('-'));
            row.task_options.extend(options);
            row.task_names.extend(names);
        }
        "several" => row.several = true,
        "tools" => row.starts_tools = true,
        "operands" => row.operands = rest.parse().ok()?,
        "after" => row.after.extend(words()),
        "text" => row.text.extend(words()),
        "shell" => {
            row.text.extend(words());
            row.only_text = true;
        }
        "never" => row.never = Some(rest),
        "folder" => row.folder.extend(words()),
        "module" => row.module.extend(words()),
        "within" => row.within.extend(words()),
        "config" => row.config.extend(words()),
        "format" => row.formats.extend(words()),
        "nothing" => row.no_tests.push(rest),
        "example" => row
            .examples
            .push(rest.split_once("->").map(|(a, b)| (a.trim(), b.trim()))?),
        _ => return None,
    }
    Some(())
}
