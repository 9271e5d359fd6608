//! An unchecked contract: what its author wrote.
//!
//! A front end lowers its syntax to this; `validate` turns it into a [`Contract`](super::Contract).
//! Values are typed, but names are unresolved, globs unread, and nothing has been compared with
//! anything else.

use std::collections::{BTreeMap, BTreeSet};
use vplan_base::canon::Digest;
use vplan_base::command::Command;
use vplan_base::diagnostic::Diagnostics;
use vplan_base::folders::{EachQuestion, FolderAnswers};
use vplan_base::hole::Values;
use vplan_base::index::{Dense, Index as _, at};
use vplan_base::jobs::Jobs;
use vplan_base::path::RepoPath;
use vplan_base::setting::Row;
use vplan_base::span::{Place, SourceId};
use vplan_base::vocabulary::{Boundary, RiskLevel};
use vplan_base::word::Word;
use vplan_base::workspace::WorkspaceQuery;
use vplan_check::Kind;
use vplan_check::definition::{LineLevel, LineMeaning};
use vplan_check::request::Assertion;
use vplan_check::verb::CommandRequest;

/// A value and the place it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At<T> {
    pub value: T,
    /// Its place in the text.
    pub place: Place,
}

impl<T> At<T> {
    /// Pairs them.
    pub fn new(value: T, place: Place) -> Self {
        Self { value, place }
    }
}

impl<T: Clone> At<T> {
    /// The value without its place, to be compared with another.
    pub(super) fn bare(&self) -> Self {
        Self::new(self.value.clone(), Place::default())
    }
}

impl Draft {
    /// Returns the checks, in file order.
    pub fn checks(&self) -> impl Iterator<Item = &Check> + Clone {
        self.entries.iter().filter_map(|entry| match entry {
            CheckEntry::Check(check) => Some(&**check),
            CheckEntry::Use { .. } => None,
        })
    }
}

/// A whole contract, unchecked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// Repository path of the main file.
    pub path: String,
    /// Digest of the formatted, comment-free form.
    pub digest: Option<Digest>,
    /// `contract` statements (a second one is an error).
    pub names: Vec<At<String>>,
    /// `base` statements (a second one is an error).
    pub bases: Vec<At<String>>,
    /// The folders of `linked` statements.
    pub linked: Vec<At<String>>,
    /// `import` statements that are still to be resolved: `contract::import` puts what they bring
    /// into their place.
    pub imports: Vec<Import>,
    /// The imports whose content is part of this draft; [`InclusionIndex`] counts the contract before
    /// them.
    pub inclusions: Vec<Inclusion>,
    /// The other files that were read, in the order of their sources.
    pub imported: Vec<Imported>,
    /// The prefixes of the names in files that could not be read: a name missing there is not
    /// reported.
    pub absent: Vec<String>,
    /// `paths` statements.
    pub paths: Vec<Paths>,
    /// The heads of all conditional blocks, in file order.
    pub conditions: Dense<ConditionIndex, At<Condition>>,
    /// Checks and uses, in file order.
    pub entries: Vec<CheckEntry>,
    /// `service` statements.
    pub services: Vec<Service>,
    /// `risk` statements.
    pub risks: Vec<Risk>,
    /// `sequence` statements.
    pub sequences: Vec<Sequence>,
    /// `role` blocks.
    pub roles: Vec<Role>,
    /// The settings of all `defaults` blocks without a verb.
    pub defaults: Vec<At<Setting>>,
    /// The `defaults` blocks of a verb, in file order.
    pub verb_defaults: Vec<VerbDefaults>,
    /// The lines of all `limits`, `scope`, `recover` and `gate` blocks.
    pub policy: Vec<At<Policy>>,
    /// `format` blocks.
    pub formats: Vec<Format>,
    /// `toolchain` statements: names and commands.
    pub toolchains: Vec<(At<String>, At<Command>)>,
    /// `machine` blocks.
    pub machines: Vec<Machine>,
    /// `judge-with` statements.
    pub judge_with: Vec<At<Command>>,
    /// `expect` blocks.
    pub expects: Vec<Expect>,
    /// `tests` statements, which only files of tests have.
    pub tests: Vec<At<String>>,
    /// The rows of `each` blocks, of each file.
    pub rows: Rows,
    /// What `each` blocks ask of folders, with the place of the first that asks.
    pub asked: BTreeMap<EachQuestion, Place>,
    /// The answers that were known.
    pub folders: FolderAnswers,
    /// The checks that the blocks of imports take out.
    pub taken_out: Vec<At<String>>,
    /// What imports from other repositories are allowed.
    pub allowed: Vec<Allowed>,
}

/// The rows of the `each` blocks of some files; a [`Place`] has the number of its row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows(BTreeMap<SourceId, Vec<Values>>);

impl Rows {
    /// Adds a row of a file: the values of all `each` blocks around. Returns its number.
    pub fn add(&mut self, source: SourceId, values: Values) -> u32 {
        let rows = self.0.entry(source).or_default();
        rows.push(values);
        u32::try_from(rows.len()).unwrap_or(u32::MAX)
    }

    /// Adds the rows of other files.
    pub fn append(&mut self, other: &Self) {
        let other = other.0.iter().map(|(source, rows)| (*source, rows.clone()));
        self.0.extend(other);
    }

    /// Returns the values of the row that a place is in, if it is in one.
    pub fn get(&self, place: Place) -> Option<&Values> {
        let number = usize::try_from(place.row).ok()?.checked_sub(1)?;
        self.0.get(&place.source)?.get(number)
    }

    /// Names the row in each message about a text in one. Of messages that say the same of several
    /// rows, the first is kept.
    pub fn name_in(&self, messages: &mut Diagnostics) {
        let mut said = BTreeSet::new();
        messages.retain(|message| {
            let Some(first) = message.labels.first().filter(|label| label.place.row > 0) else {
                return true;
            };
            let Place { source, span, .. } = first.place;
            if !said.insert((message.code, source, span)) {
                return false;
            }
            for label in &mut message.labels {
                if let Some(values) = self.get(label.place) {
                    label.text.push_str(&format!(", in the row {values}"));
                }
                // So that it is named once.
                label.place.row = 0;
            }
            true
        });
    }
}

vplan_base::index!(
    ConditionIndex,
    "condition of a contract",
    "Position of a condition in its contract, and in the draft of that."
);
vplan_base::index!(
    InclusionIndex,
    "use of a file",
    "Number of a use of an imported file; the contract itself is the first."
);
vplan_base::index!(
    PathsIndex,
    "named selection of a draft",
    "Position of a `paths` statement in its draft."
);

impl InclusionIndex {
    /// The contract itself, which nothing imports.
    pub const CONTRACT: Self = Self(0);
}

impl Default for InclusionIndex {
    fn default() -> Self {
        Self::CONTRACT
    }
}

/// `import STRING [as NAME] [at STRING]`
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The imported source, as it was written.
    pub source: At<String>,
    /// `as`
    pub alias: Option<At<String>>,
    /// `at`
    pub below: Option<At<String>>,
    /// What its block changes of what it brings.
    pub changes: Changes,
    pub place: Place,
    /// The part of the draft that preceded it.
    pub extent: Extent,
}

/// The block of an import: what it changes of the checks that it brings, which are named as the
/// imported file does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// `allow WORD…`: what a file of another repository may widen.
    pub allowed: Vec<At<Allowance>>,
    /// `without NAME…`: checks that are taken out.
    pub without: Vec<At<String>>,
    /// `override` blocks, in file order.
    pub overrides: Vec<Override>,
}

vplan_base::words! {
    /// What a file of another repository may widen where the importing file allows it.
    Allowance {
        /// `reads` of anything but toolchains.
        Reads = "reads",
        /// `network on`
        Network = "network",
        /// `sandbox none`
        Sandbox = "sandbox",
    }
}

impl Allowance {
    /// Says of a setting what it does.
    pub fn label(self) -> &'static str {
        match self {
            Allowance::Reads => "it lets a confined check read outside of the repository",
            Allowance::Network => "it asks for every network",
            Allowance::Sandbox => "it asks for no confinement",
        }
    }
}

/// What an import from another repository is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The file, without its commit and path in it, and the place of the import.
    pub import: At<String>,
    /// The prefix of its names.
    pub namespace: String,
    /// What it may widen.
    pub words: BTreeSet<Allowance>,
}

/// `override NAME { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// The check, or a pattern of several.
    pub name: At<String>,
    /// What it does instead; at most one is valid.
    pub verbs: Vec<At<Verb>>,
    /// The settings that replace those of the same name; may contain duplicates.
    pub settings: Vec<At<Setting>>,
    /// The first service placeholder in it.
    pub hole: Option<At<String>>,
    /// `without SETTING…`: settings that get their default again.
    pub without: Vec<At<SettingName>>,
}

/// The name of a setting, or of one variable of `env`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SettingName {
    pub row: Row,
    /// The variable; `None` for all of them, and for other settings.
    pub variable: Option<String>,
}

/// A part of a check that the block of an import changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Changed {
    /// What it does.
    Verb,
    /// A setting; the defaults of the check's file no longer apply to it.
    Setting(SettingName),
}

/// A part of a draft, from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// [`Draft::entries`]
    pub entries: usize,
    /// [`Draft::paths`]
    pub paths: usize,
    /// [`Draft::risks`]
    pub risks: usize,
    /// [`Draft::sequences`]
    pub sequences: usize,
}

/// One use of an imported file.
#[derive(Clone, Debug, PartialEq)]
pub struct Inclusion {
    pub source: SourceId,
    /// The prefix of its names: `web/`, or nothing.
    pub namespace: String,
    /// Its own defaults, which apply to its own checks only.
    pub defaults: Vec<At<Setting>>,
    /// Its own defaults of verbs.
    pub verb_defaults: Vec<VerbDefaults>,
    /// The roles that its own blocks make known, which stay with it.
    pub roles: Vec<At<String>>,
    /// The `import` statements that lead to it, outermost first.
    pub chain: Vec<Place>,
}

impl Inclusion {
    /// Returns the use of a file that something belongs to; none for the contract's own.
    pub(super) fn find(all: &[Self], index: InclusionIndex) -> Option<&Self> {
        let imported = index.position().checked_sub(1)?;
        Some(at(all, InclusionIndex::new(imported)))
    }
}

/// A file that was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The id of its source.
    pub source: SourceId,
    /// Its name: a path of the repository, `std:rust@1`, `git+URL?rev=OBJECTID#path`.
    pub name: String,
    /// Its path, if it is a file of this repository.
    pub path: Option<RepoPath>,
    /// Digest of its formatted, comment-free form.
    pub digest: Digest,
}

/// `paths NAME = SEL…`
#[derive(Clone, Debug, PartialEq)]
pub struct Paths {
    pub name: At<String>,
    pub items: Vec<Sel>,
    /// The [`Inclusion`] that brought it, or the contract.
    pub inclusion: InclusionIndex,
}

/// An item of a selection.
#[derive(Clone, Debug, PartialEq)]
pub struct Sel {
    /// Whether it excludes.
    pub not: bool,
    /// A glob or a name; the place covers the `!` too.
    pub what: At<SelKind>,
    /// The place of the glob's own first byte when the text between the quotes has no escapes, so
    /// that faults inside the glob can be pointed at.
    pub inner: Option<usize>,
}

impl Sel {
    /// Makes a glob that is not written as a contract writes it.
    pub fn glob(not: bool, text: impl Into<String>, place: Place) -> Self {
        let what = At::new(SelKind::Glob(text.into()), place);
        let inner = None;
        Self { not, what, inner }
    }
}

/// The kind of an item.
#[derive(Clone, Debug, PartialEq)]
pub enum SelKind {
    /// The text of a glob, without a leading `!`.
    Glob(String),
    /// The name of a `paths` definition.
    Name(String),
    /// `dependents {NAME}`: the files of a package, and of what it uses.
    Dependents(Package),
}

/// A package of a workspace that an `each` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    pub workspace: WorkspaceQuery,
    /// The folder of the package.
    pub folder: RepoPath,
}

/// The head of a conditional block.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// `byRole`
    Role(Vec<At<String>>),
    /// `whenChangedAny`
    ChangedAny(Vec<Sel>),
    /// `whenChangedAll`
    ChangedAll(Vec<Sel>),
    /// `whenChangedOnly`
    ChangedOnly(Vec<Sel>),
    /// `whenChangedNone`
    ChangedNone(Vec<Sel>),
    /// `whenExists`
    Exists(Vec<Sought>),
    /// `whenExistsAny`
    ExistsAny(Vec<Sought>),
    /// `whenAbsent`
    Absent(Vec<Sought>),
}

/// What a condition asks the existence of.
#[derive(Clone, Debug, PartialEq)]
pub struct Sought {
    /// A path or a glob.
    pub text: At<String>,
    /// Whether it is a glob.
    pub is_glob: bool,
    /// As of [`Sel`].
    pub inner: Option<usize>,
}

/// A check, or a `use` of one.
#[derive(Clone, Debug, PartialEq)]
pub enum CheckEntry {
    Check(Box<Check>),
    /// `use NAME…`
    Use {
        names: Vec<At<String>>,
        /// The conditions around it, outermost first.
        conditions: Vec<ConditionIndex>,
        /// The `tier` block around it, which is an error.
        tier_block: Option<At<u8>>,
        place: Place,
    },
}

/// A definition of a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Check {
    /// Its name; `None` for an anonymous `run`.
    pub name: Option<At<String>>,
    /// Its verbs; exactly one is valid.
    pub verbs: Vec<At<Verb>>,
    /// Its settings in text order; may contain duplicates.
    pub settings: Vec<At<Setting>>,
    /// The conditions around it, outermost first.
    pub conditions: Vec<ConditionIndex>,
    /// The `tier` block around it.
    pub tier_block: Option<At<u8>>,
    /// What the blocks of imports change of it.
    pub changed: Vec<At<Changed>>,
    /// The first service placeholder in it, if all of it could be read.
    pub hole: Option<At<String>>,
    /// The name, or the `run` of an anonymous one.
    pub place: Place,
    /// The [`Inclusion`] that brought it, or the contract.
    pub inclusion: InclusionIndex,
}

/// A verb with its object.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    /// `run`, `compile`, `test`, `lint`: the kind and the command.
    Command(Kind, Command),
    /// `shell TEXT`
    Shell(String),
    /// `file PATH { … }`
    File {
        path: At<String>,
        assertions: Vec<At<Assertion>>,
    },
    /// `judge STRING`
    Judge(String),
}

/// `defaults VERB { … }`: settings for the checks with this verb.
#[derive(Clone, Debug, PartialEq)]
pub struct VerbDefaults {
    pub verb: Kind,
    /// Its settings in text order; may contain duplicates.
    pub settings: Vec<At<Setting>>,
}

/// A setting of a check or of `defaults`, with its value read.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The row of the setting.
    pub row: Row,
    /// Its value, of the kind that the row takes.
    pub value: Written,
}

/// The value of a setting, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// None: it is set.
    Flag,
    /// A number, or a duration in milliseconds.
    Number(u64),
    /// A text, a path, a name or a word.
    Text(String),
    /// Names or paths.
    Texts(Vec<At<String>>),
    /// A variable and its value.
    Variable(String, Word),
    /// Exit codes.
    Codes(Vec<At<i32>>),
    /// Globs, or the items of a selection.
    Sels(Vec<Sel>),
    /// A format and a glob.
    Report(String, Sel),
    Command(Command),
}

impl From<u64> for Written {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for Written {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<At<String>>> for Written {
    fn from(texts: Vec<At<String>>) -> Self {
        Self::Texts(texts)
    }
}

impl Setting {
    /// Pairs a row with a value of the kind that it takes.
    pub fn new(row: Row, value: impl Into<Written>) -> Self {
        let value = value.into();
        Self { row, value }
    }

    /// Returns the path of a `dir`.
    pub fn dir(&self) -> Option<&String> {
        match (&self.value, self.row) {
            (Written::Text(dir), Row::Dir) => Some(dir),
            _ => None,
        }
    }

    /// Returns the word that begins it.
    pub fn keyword(&self) -> &'static str {
        self.row.setting().word
    }
}

/// `service NAME { … }`: a program that runs while checks with `with NAME` run.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    pub name: At<String>,
    /// What it runs; exactly one `run` is valid.
    pub verbs: Vec<At<Verb>>,
    /// Its `ready` lines; at most one is valid.
    pub ready: Vec<At<Ready>>,
    /// `timeout`, `env`, `dir` and `needs`, in the order of the text; repetitions have not been
    /// looked for.
    pub settings: Vec<At<Setting>>,
    /// Whether a line of it could not be read, so that what is missing needs no message.
    pub broken: bool,
    /// The [`Inclusion`] that brought it, or the contract.
    pub inclusion: InclusionIndex,
}

/// What shows that a service is ready.
#[derive(Clone, Debug, PartialEq)]
pub enum Ready {
    /// `tcp`: a port, or a placeholder for one.
    Tcp(String),
    /// `file`: a path.
    File(String),
    /// `line`: a text of its output.
    Line(String),
    /// `run`: a command.
    Run(Command),
}

/// `format NAME { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct Format {
    pub name: At<String>,
    /// Its lines, in file order.
    pub lines: Vec<At<FormatLine>>,
    /// Whether a line could not be read.
    pub is_broken: bool,
}

/// `machine NAME { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    pub name: At<String>,
    /// The names and values of its `property` lines, in file order; may contain duplicates.
    pub properties: Vec<At<(String, String)>>,
    /// Whether a line could not be read.
    pub is_broken: bool,
}

/// A line of a `format` block.
#[derive(Clone, Debug, PartialEq)]
pub enum FormatLine {
    /// What a line of output says, the level of its finding, and how it looks.
    Pattern(LineMeaning, Option<LineLevel>, At<String>),
    /// The words of `{severity}` that mean a level.
    Words(LineLevel, Vec<At<String>>),
}

/// `risk NAME tier N SEL…`
#[derive(Clone, Debug, PartialEq)]
pub struct Risk {
    pub name: At<String>,
    /// The tier: 0, 1 or 2.
    pub tier: At<u8>,
    /// The files that pull it.
    pub items: Vec<Sel>,
    /// The [`Inclusion`] that brought it, or the contract.
    pub inclusion: InclusionIndex,
}

/// `sequence GROUP -> GROUP …`
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    pub groups: Vec<At<Group>>,
    pub place: Place,
    /// The [`Inclusion`] that brought it, or the contract.
    pub inclusion: InclusionIndex,
}

/// A group of a sequence.
#[derive(Clone, Debug, PartialEq)]
pub enum Group {
    /// `name, name`
    Names(Vec<At<String>>),
    /// `*`: all other checks of this file in the same tier.
    Rest,
}

/// `role NAME { … }`
#[derive(Clone, Debug, PartialEq)]
pub struct Role {
    pub name: At<String>,
    /// `only TAG…` lines.
    pub only: Vec<At<Vec<At<String>>>>,
    /// `max-checks N` lines.
    pub max_checks: Vec<At<u64>>,
}

/// A line of `limits`, `scope`, `recover` or `gate`.
#[derive(Clone, Debug, PartialEq)]
pub enum Policy {
    /// `budget D`, in milliseconds
    Budget(u64),
    /// `max-checks N`
    MaxChecks(u64),
    /// `jobs N`, `jobs auto`
    Jobs(Jobs),
    /// `allow SEL…`
    Allow(Vec<Sel>),
    /// `deny SEL…`
    Deny(Vec<Sel>),
    /// `off`
    RecoverOff,
    /// `only RULE…`
    RecoverOnly(Vec<At<String>>),
    /// `contract`
    RecoverContract,
    /// `confirmations N`
    Confirmations(u32),
    /// `retries N`
    Retries(u32),
    /// `same-failure N`
    SameFailure(u32),
    /// `on-exhausted WORD`
    OnExhausted(String),
    /// `propagate WORD`
    Propagate(String),
}

impl Policy {
    /// Returns the words of its block and of itself.
    pub fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Budget(_) => ("limits", "budget"),
            Self::MaxChecks(_) => ("limits", "max-checks"),
            Self::Jobs(_) => ("limits", "jobs"),
            Self::Allow(_) => ("scope", "allow"),
            Self::Deny(_) => ("scope", "deny"),
            Self::RecoverOff => ("recover", "off"),
            Self::RecoverOnly(_) => ("recover", "only"),
            Self::RecoverContract => ("recover", "contract"),
            Self::Confirmations(_) => ("gate", "confirmations"),
            Self::Retries(_) => ("gate", "retries"),
            Self::SameFailure(_) => ("gate", "same-failure"),
            Self::OnExhausted(_) => ("gate", "on-exhausted"),
            Self::Propagate(_) => ("gate", "propagate"),
        }
    }
}

/// `expect STRING { … }`: a test of the contract itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    pub title: At<String>,
    /// Its lines in text order; may contain duplicates.
    pub lines: Vec<At<ExpectLine>>,
    /// Whether a line of it could not be read, so that what is missing needs no message.
    pub broken: bool,
}

vplan_base::words! {
    /// The relation of a plan to an assertion's names.
    AssertionKind {
        /// `plan`: exactly these, in this order; without a name, nothing at all.
        Plan = "plan",
        /// `runs`: these are among them.
        Runs = "runs",
        /// `skips`: none of these is.
        Skips = "skips",
    }
}

/// A line of an `expect`.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectLine {
    /// `role NAME`
    Role(At<String>),
    /// `changed STR…`: paths, each with an optional prefix: `added:`, `modified:`, `deleted:`,
    /// `type-changed:` or `:`.
    Changed(Vec<At<String>>),
    /// `tier N`
    Tier(u8),
    /// `risk-level LEVEL`
    RiskLevel(RiskLevel),
    /// `at milestone-end|run-end …`
    At(Vec<Boundary>),
    /// `command STR`
    Command(CommandRequest),
    /// `exists STR…`
    Exists(Vec<At<String>>),
    /// `plan NAME…`, `runs NAME…`, `skips NAME…`
    Assertion(AssertionKind, Vec<At<String>>),
}

impl ExpectLine {
    /// The word that begins it.
    pub fn keyword(&self) -> &'static str {
        match self {
            ExpectLine::Role(_) => "role",
            ExpectLine::Changed(_) => "changed",
            ExpectLine::Tier(_) => "tier",
            ExpectLine::RiskLevel(_) => "risk-level",
            ExpectLine::At(_) => "at",
            ExpectLine::Command(_) => "command",
            ExpectLine::Exists(_) => "exists",
            ExpectLine::Assertion(kind, _) => kind.name(),
        }
    }
}
