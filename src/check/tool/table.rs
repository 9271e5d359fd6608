//! The table of tools, `tools.table`: what is known of each program, read once. Its head says what
//! its columns are.

use crate::Kind;
use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

/// The text of the table.
pub(super) const TEXT: &str = include_str!("../tools.table");

/// The class of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolClass {
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
    /// The key of its configuration that makes it write.
    pub steered: Option<&'static str>,
}

/// An example of a row: a command and its reading.
pub(super) type Example = (&'static str, &'static str);

/// A row of the table.
#[derive(Clone, Debug, Default)]
pub struct ToolRow {
    pub class: ToolClass,
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
    /// Whether its exit code is 0 whatever it finds.
    pub(super) silent: bool,
    /// The options with which it does not.
    pub(super) fails_with: Vec<&'static str>,
    /// How it prepares where no task is named.
    pub(super) bare: Option<&'static str>,
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
    /// Whether a launcher starts what the project installs.
    pub(super) installed: bool,
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
pub struct RowAction {
    pub(super) names: Vec<&'static str>,
    /// The command with placeholders for inputs: `{args}`, `{path=.}` with a default,
    /// `{config: --config _}` with a text that applies if the input is set, `_` being its value.
    pub command: Option<&'static str>,
    /// The reason why it runs no command; empty where it prepares, publishes or reports.
    pub reason: &'static str,
    /// Its line of the table.
    pub line: usize,
}

impl RowAction {
    fn is(&self, name: &str) -> bool {
        self.names.iter().any(|known| fits(known, name))
    }

    /// The command with its inputs.
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
    /// The globs of files; at least one file must exist for that.
    pub tests: Vec<&'static str>,
}

/// A call in the table.
struct Place {
    /// The offset of its program's name in the table, in bytes.
    start: u32,
    length: u32,
    row: usize,
    /// Which of the calls of the row it is.
    call: usize,
}

/// A part of the table, in bytes.
struct Span {
    start: u32,
    end: u32,
    line: usize,
}

// Where the rows are, the other lines, and the calls: those of programs, sorted, and those of patterns.
include!(concat!(env!("OUT_DIR"), "/tools.rs"));

/// The rows, each parsed when a program of it is first asked for.
static PARSED: [OnceLock<Option<ToolRow>>; ROWS.len()] = [const { OnceLock::new() }; ROWS.len()];

/// The row of this number; `None` if it cannot be parsed: `rows` in the tests parses all.
fn row(number: usize) -> Option<&'static ToolRow> {
    let (parsed, span) = (PARSED.get(number)?, ROWS.get(number)?);
    parsed.get_or_init(|| parse(span).ok()).as_ref()
}

fn part(start: u32, end: u32) -> &'static str {
    TEXT.get(start as usize..end as usize).unwrap_or_default()
}

/// The rows of a program, with its calls: those that name it in the order of the table, then those of
/// patterns that it fits.
pub(super) fn rows_for(program: &str) -> impl Iterator<Item = (&'static ToolRow, &'static Call)> {
    let name = |place: &Place| part(place.start, place.start + place.length);
    let first = PROGRAMS.partition_point(|place| name(place) < program);
    let own = PROGRAMS.iter().skip(first);
    let own = own.take_while(move |place| name(place) == program);
    let patterns = PATTERNS.iter();
    own.chain(patterns.filter(move |place| fits(name(place), program)))
        .filter_map(|place| {
            let row = row(place.row)?;
            Some((row, row.calls.get(place.call)?))
        })
}

/// All rows, in their order. The error says the line.
#[cfg(test)]
pub(super) fn rows() -> Result<Vec<&'static ToolRow>, String> {
    ROWS.iter().try_for_each(|span| parse(span).map(|_| ()))?;
    Ok((0..ROWS.len()).filter_map(row).collect())
}

/// The lines of the table that begin with this word, without it, each with its number.
fn lines(word: &str) -> impl Iterator<Item = (&'static str, usize)> {
    LINES.iter().filter_map(move |span| {
        let rest = part(span.start, span.end).strip_prefix(word)?;
        Some((rest.strip_prefix(' ')?, span.line))
    })
}

/// The columns of a line.
struct Columns(std::str::Split<'static, &'static str>);

impl Columns {
    fn parse(line: &'static str) -> Self {
        Self(line.split(" | "))
    }

    /// The next one; empty for `-`, or where there is none.
    fn next(&mut self) -> &'static str {
        let column = self.0.next().unwrap_or_default().trim();
        if column == "-" { "" } else { column }
    }

    fn next_given(&mut self) -> Option<&'static str> {
        Some(self.next()).filter(|column| !column.is_empty())
    }
}

pub fn languages() -> &'static [Language] {
    static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
        lines("language")
            .map(|(line, _)| {
                let mut columns = Columns::parse(line);
                Language {
                    name: columns.next(),
                    globs: list(columns.next()),
                    manifests: list(columns.next()),
                    gap: commands(columns.next()),
                    tests: list(columns.next()),
                }
            })
            .collect()
    });
    &LANGUAGES
}

/// The files that a program keeps in the folder in which it runs.
pub fn kept(program: &str) -> impl Iterator<Item = &'static str> {
    words_of("keeps", program)
}

/// The words with which a program executes nothing; `-x=test` is an option with its value.
pub(super) fn dry(program: &str) -> impl Iterator<Item = &'static str> {
    words_of("dry", program)
}

fn words_of(word: &str, program: &str) -> impl Iterator<Item = &'static str> {
    lines(word).flat_map(move |(line, _)| {
        let mut columns = Columns::parse(line);
        let is_of = names(columns.next()).contains(&program);
        columns.next().split_whitespace().filter(move |_| is_of)
    })
}

/// The lines of actions or hooks.
pub(super) fn actions(word: &str) -> impl Iterator<Item = RowAction> {
    lines(word).map(|(line, number)| {
        let mut columns = Columns::parse(line);
        RowAction {
            names: names(columns.next()),
            command: columns.next_given(),
            reason: columns.next(),
            line: number,
        }
    })
}

/// A GitHub action by its name; a version is ignored.
pub fn action(uses: &str) -> Option<RowAction> {
    let name = uses.split(['@']).next().unwrap_or(uses).to_lowercase();
    let name = match name.strip_prefix("docker://") {
        Some(image) => image.split(':').next().map(|i| format!("docker://{i}")),
        None => Some(name),
    }?;
    actions("action").find(|action| action.is(&name))
}

/// A hook of pre-commit by its id.
pub fn hook(id: &str) -> Option<RowAction> {
    actions("hook").find(|action| action.is(id))
}

/// The meanings of words in a task's name.
fn task_words() -> &'static [(TaskVerb, Vec<&'static str>)] {
    static WORDS: LazyLock<Vec<(TaskVerb, Vec<&'static str>)>> = LazyLock::new(|| {
        lines("words")
            .map(|(line, _)| {
                let mut columns = Columns::parse(line);
                let verb = match columns.next() {
                    "test" => TaskVerb::Test,
                    "lint" => TaskVerb::Lint,
                    "compile" => TaskVerb::Compile,
                    "idle" => TaskVerb::Idle,
                    "writes" => TaskVerb::Writes,
                    reason => TaskVerb::Never(reason.trim_start_matches("never ")),
                };
                (verb, list(columns.next()))
            })
            .collect()
    });
    &WORDS
}

/// The meaning of a task's name: of its words, the first list that has one decides.
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
    let has = |known: &&str| words.iter().any(|word| fits(known, word));
    let found = task_words().iter().find(|(_, known)| known.iter().any(has));
    found.map_or(TaskVerb::Unclear, |(verb, _)| *verb)
}

/// Whether a program writes nothing that is read: it prepares, or passes on what others write.
pub(crate) fn is_quiet(program: &str) -> bool {
    list_of("quiet").any(|known| known == program)
}

/// Whether the name of a program begins a line of an output that may be a command.
pub(crate) fn is_echoed(program: &str) -> bool {
    list_of("echoed").any(|known| known == program)
}

/// The columns of the lines that begin with this word, empty for `-`.
pub fn columns<const N: usize>(word: &str) -> impl Iterator<Item = [&'static str; N]> {
    lines(word).map(|(line, _)| {
        let mut columns = Columns::parse(line);
        std::array::from_fn(|_| columns.next())
    })
}

/// The names of a list of the table.
pub fn list_of(name: &str) -> impl Iterator<Item = &'static str> + use<> {
    static LISTS: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
        let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for [name, words] in columns("list") {
            all.entry(name).or_default().extend(words.split(' '));
        }
        all
    });
    LISTS.get(name).into_iter().flatten().copied()
}

/// Whether a list of the table has a name.
pub fn is_listed(name_of_list: &str, name: &str) -> bool {
    list_of(name_of_list).any(|pattern| fits(pattern, name))
}

/// Whether an option makes a tool exit with 0 whatever it finds. Its value may be the next word.
pub(super) fn mutes(words: &[String]) -> bool {
    let values = words.iter().skip(1).map(String::as_str).chain([""]);
    let is_muting = |(word, next): (&String, &str)| {
        list_of("muting").any(|option| match option.split_once('=') {
            Some((name, value)) if name == word => value == next,
            _ => option == word,
        })
    };
    words.iter().zip(values).any(is_muting)
}

/// Whether a text fits a pattern in which `*` is any text.
pub fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut read) = (0, 0);
    // Where the last `*` is, and how much of the text those before and it are taken to be.
    let mut star = None;
    while at < pattern.len() || read < text.len() {
        match (pattern.get(at), text.get(read)) {
            (Some(b'*'), _) => star = Some((at, read)),
            (wanted, got) if wanted == got => read += 1,
            _ => match star {
                Some((of, to)) if to < text.len() => {
                    star = Some((of, to + 1));
                    (at, read) = (of, to + 1);
                }
                _ => return false,
            },
        }
        at += 1;
    }
    true
}

/// Parses a row. The error says the line.
fn parse(span: &Span) -> Result<ToolRow, String> {
    let mut lines = part(span.start, span.end).lines();
    let wrong = |line: &str| format!("line {}: {line}", span.line);
    let line = lines.next().unwrap_or_default();
    let mut row = first(line, span.line).ok_or_else(|| wrong(line))?;
    for line in lines.filter(|line| line.starts_with(' ')) {
        let words = line.trim();
        let (key, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        detail(&mut row, key, rest.trim()).ok_or_else(|| wrong(line))?;
    }
    Ok(row)
}

/// Parses the first line of a row.
fn first(text: &'static str, line: usize) -> Option<ToolRow> {
    let (class, rest) = text.split_once(' ')?;
    let mut columns = Columns::parse(rest);
    let mut row = blank(columns.next(), line)?;
    row.class = match class {
        "never" => ToolClass::Never(columns.next_given()?),
        "setup" => ToolClass::Setup(columns.next_given()?),
        "service" => ToolClass::Service(columns.next_given()?),
        "plumbing" => ToolClass::Plumbing,
        "launcher" => ToolClass::Launcher,
        "tool" => ToolClass::Tool,
        _ => ToolClass::Task,
    };
    if matches!(row.class, ToolClass::Tool | ToolClass::Task) {
        row.verb = verb(columns.next())?;
        row.paths = columns.next();
        row.name = columns.next();
    }
    Some(row)
}

fn names(text: &'static str) -> Vec<&'static str> {
    text.split(',').map(str::trim).collect()
}

/// Commands with `;` between them.
fn commands(text: &'static str) -> Vec<&'static str> {
    let commands = text.split(';').map(str::trim);
    commands.filter(|command| !command.is_empty()).collect()
}

fn list(text: &'static str) -> Vec<&'static str> {
    text.split_whitespace().collect()
}

fn verb(text: &str) -> Option<Verb> {
    let mut verb = Verb::default();
    for word in text.split_whitespace() {
        match word {
            "name" => verb.by_name = true,
            _ => verb.kind = Some(Kind::parse(word)?),
        }
    }
    (verb.by_name || verb.kind.is_some()).then_some(verb)
}

fn blank(calls: &'static str, line: usize) -> Option<ToolRow> {
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
    Some(ToolRow {
        calls: calls?,
        line,
        ..ToolRow::default()
    })
}

/// Parses an indented line, a detail of the row above it.
fn detail(row: &mut ToolRow, key: &str, rest: &'static str) -> Option<()> {
    let words = || rest.split_whitespace();
    match key {
        "writes" if rest == "always" => row.writes.always = true,
        "writes" => row.writes.when.extend(words()),
        "unless" => row.writes.unless.extend(words()),
        "adds" => row.writes.adds.extend(words()),
        "becomes" => row.writes.becomes.extend(words()),
        "uncheckable" => row.writes.uncheckable = Some(rest),
        "steered" => row.writes.steered = Some(rest),
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
        "silent" => {
            row.silent = true;
            row.fails_with.extend(words().skip(1));
        }
        "tools" => row.starts_tools = true,
        "installed" => row.installed = true,
        "bare" => row.bare = Some(rest),
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
