//! The table of statements: where each may occur and what it takes. It drives parsing, suggestions,
//! help and the canonical order.

use std::sync::LazyLock;
use vplan_base::setting::{Row, Setting, Takes};

/// The context of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StatementContext {
    /// The top level.
    Top,
    /// A conditional block or a `tier` block.
    Group,
    /// An `each` block that no other block is around.
    Each,
    /// A `check` block.
    Check,
    /// The block of an `import`.
    Change,
    /// An `override` block.
    Override,
    /// A `service` block.
    Service,
    /// A `file` block.
    File,
    /// A `role` block.
    Role,
    /// A `limits` block.
    Limits,
    /// A `defaults` block.
    Defaults,
    /// A `scope` block.
    Scope,
    /// A `recover` block.
    Recover,
    /// A `gate` block.
    Gate,
    /// A `format` block.
    Format,
    /// A `machine` block.
    Machine,
    /// An `expect` block.
    Expect,
    /// A block that is not read, because its head is unknown.
    Unknown,
}

impl StatementContext {
    /// Returns its name for people.
    pub fn name(self) -> &'static str {
        match self {
            StatementContext::Top => "at the top level",
            StatementContext::Group => "in a conditional or `tier` block",
            StatementContext::Each => "in an `each` block",
            StatementContext::Check => "in a `check` block",
            StatementContext::Change => "in the block of an `import`",
            StatementContext::Override => "in an `override` block",
            StatementContext::Service => "in a `service` block",
            StatementContext::File => "in a `file` block",
            StatementContext::Role => "in a `role` block",
            StatementContext::Limits => "in a `limits` block",
            StatementContext::Defaults => "in a `defaults` block",
            StatementContext::Scope => "in a `scope` block",
            StatementContext::Recover => "in a `recover` block",
            StatementContext::Gate => "in a `gate` block",
            StatementContext::Format => "in a `format` block",
            StatementContext::Machine => "in a `machine` block",
            StatementContext::Expect => "in an `expect` block",
            StatementContext::Unknown => "in this block",
        }
    }
}

/// One kind of argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementItem {
    /// A name that is defined here, or a plain label.
    Name,
    /// A name that is defined elsewhere, perhaps in a namespace.
    Reference,
    Str,
    /// A quoted glob or the name of a `paths` definition, with or without `!`.
    Sel,
    /// A quoted glob.
    Glob,
    /// A bare word that the front end reads: a number, a duration, one of a few words.
    Word(&'static str),
}

/// A place for arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Exactly one.
    One(StatementItem),
    /// One or more.
    Many(StatementItem),
    /// Any number, none included.
    Any(StatementItem),
    /// One, or none.
    Maybe(StatementItem),
    /// Exactly this word.
    Literal(&'static str),
    /// Exactly this word and an item after it, or neither.
    Optional(&'static str, StatementItem),
    /// `=`
    Equals,
    /// Groups of names, joined with `->`.
    Groups,
    /// The rest of the line is a command.
    Command,
    /// `: COMMAND`, or a block where the statement opens one.
    ColonOrBlock,
    /// A block, or none.
    MaybeBlock,
    /// The names of an `each`, and their values.
    Each,
    /// When a service is ready.
    Ready,
    /// The level of a finding, a bare word, or nothing.
    Level,
    /// The rest of the line is text for a shell.
    Shell,
    /// `NAME=VALUE`
    Assignment,
    /// Anything: the statement is refused anyway.
    Anything,
}

/// A kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement {
    pub keyword: Keyword,
    /// The word that begins it.
    pub word: &'static str,
    /// The contexts in which it may occur.
    pub contexts: &'static [StatementContext],
    pub slots: &'static [Slot],
    /// The context of its block, if it opens one.
    pub body: Option<StatementContext>,
    /// Its syntax, for messages.
    pub usage: &'static str,
}

macro_rules! statements {
    (
        $($keyword:ident $word:literal in $contexts:expr, takes $slots:expr, opens $body:expr, $usage:literal;)*
        => rows;
        $($after:ident $after_word:literal in $after_contexts:expr, takes $after_slots:expr, opens $after_body:expr, $after_usage:literal;)*
    ) => {
        /// The identity of a statement. Their order is the canonical order of the settings in a
        /// block. A word that means something else in another block has one for each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Keyword {
            $(#[doc = $usage] $keyword,)*
            /// A setting of the table.
            Row(Row),
            $(#[doc = $after_usage] $after,)*
        }

        /// All statements, in the order of their keywords.
        pub static STATEMENTS: LazyLock<Vec<Statement>> = LazyLock::new(|| {
            let mut all = Vec::new();
            let mut add = |keyword, word, contexts, slots, body, usage| {
                all.push(Statement { keyword, word, contexts, slots, body, usage });
            };
            $(add(Keyword::$keyword, $word, $contexts, $slots, $body, $usage);)*
            for (row, setting) in Row::ALL.iter().map(|row| (*row, row.setting())) {
                let contexts = match (row, setting.in_defaults) {
                    (Row::Dir | Row::Env | Row::Timeout, _) => SERVED,
                    (Row::Needs, _) => OF_COMMAND,
                    (_, true) => SHARED,
                    (_, false) => OF_CHECK,
                };
                add(Keyword::Row(row), setting.word, contexts, slots(setting), None, setting.usage);
            }
            $(add(Keyword::$after, $after_word, $after_contexts, $after_slots, $after_body, $after_usage);)*
            all
        });
    };
}

const TOP: &[StatementContext] = &[StatementContext::Top];
/// At the top level, and as often as an `each` around says.
const REPEATED: &[StatementContext] = &[StatementContext::Top, StatementContext::Each];
const ENTRY: &[StatementContext] = &[
    StatementContext::Top,
    StatementContext::Each,
    StatementContext::Group,
];
const GROUP: &[StatementContext] = &[StatementContext::Group];
/// Of a check, where it is defined or where an import changes it.
const OF_CHECK: &[StatementContext] = &[StatementContext::Check, StatementContext::Override];
const SHARED: &[StatementContext] = &[
    StatementContext::Check,
    StatementContext::Override,
    StatementContext::Defaults,
];
const CHANGE: &[StatementContext] = &[StatementContext::Change];
const OVERRIDE: &[StatementContext] = &[StatementContext::Override];
/// Of a check, and of a service that runs with it.
const OF_COMMAND: &[StatementContext] = &[
    StatementContext::Check,
    StatementContext::Override,
    StatementContext::Service,
];
const SERVED: &[StatementContext] = &[
    StatementContext::Check,
    StatementContext::Override,
    StatementContext::Defaults,
    StatementContext::Service,
];
const SERVICE: &[StatementContext] = &[StatementContext::Service];
const FILE: &[StatementContext] = &[StatementContext::File];
const ROLE: &[StatementContext] = &[StatementContext::Role];
const LIMITS: &[StatementContext] = &[StatementContext::Limits];
const SCOPE: &[StatementContext] = &[StatementContext::Scope];
const RECOVER: &[StatementContext] = &[StatementContext::Recover];
const GATE: &[StatementContext] = &[StatementContext::Gate];
const FORMAT: &[StatementContext] = &[StatementContext::Format];
const MACHINE: &[StatementContext] = &[StatementContext::Machine];
const EXPECT: &[StatementContext] = &[StatementContext::Expect];

const COMMAND: &[Slot] = &[Slot::Command];
const STR: &[Slot] = &[Slot::One(StatementItem::Str)];
const STRS: &[Slot] = &[Slot::Many(StatementItem::Str)];
const SELS: &[Slot] = &[Slot::Many(StatementItem::Sel)];
const NAME: &[Slot] = &[Slot::One(StatementItem::Name)];
const NAMES: &[Slot] = &[Slot::Many(StatementItem::Name)];
const REFERENCES: &[Slot] = &[Slot::Many(StatementItem::Reference)];
const NUMBER: &[Slot] = &[Slot::One(StatementItem::Word("a number"))];
const TIER: &[Slot] = &[Slot::One(StatementItem::Word("a tier"))];
const DURATION: &[Slot] = &[Slot::One(StatementItem::Word("a duration"))];
const FLAG: &[Slot] = &[];
const SEVERITIES: &[Slot] = &[Slot::Many(StatementItem::Word("a word of `{severity}`"))];

/// Returns the arguments of a setting.
fn slots(setting: &Setting) -> &'static [Slot] {
    match setting.takes {
        Takes::Flag => FLAG,
        // Once for each such row, as long as the table is there.
        Takes::Number { called, .. } | Takes::Word { called, .. } => {
            Vec::leak(vec![Slot::One(StatementItem::Word(called))])
        }
        Takes::Duration => DURATION,
        Takes::Text | Takes::Path => STR,
        Takes::Paths | Takes::Outside => STRS,
        Takes::Name => NAME,
        Takes::Names => NAMES,
        Takes::References => REFERENCES,
        Takes::Variables => &[Slot::Many(StatementItem::Word("the name of a variable"))],
        Takes::Assignment => &[Slot::Assignment],
        Takes::Codes => &[Slot::Many(StatementItem::Word("an exit code"))],
        Takes::Globs => &[Slot::Many(StatementItem::Glob)],
        Takes::Selection => SELS,
        Takes::Command => COMMAND,
        Takes::Report => &[
            Slot::One(StatementItem::Word("a report format")),
            Slot::One(StatementItem::Glob),
        ],
    }
}

statements! {
    Vplan "vplan" in TOP, takes &[Slot::One(StatementItem::Word("a version"))], opens None, "vplan 1";
    Contract "contract" in TOP, takes STR, opens None, "contract \"NAME\"";
    Base "base" in TOP, takes STR, opens None, "base \"BRANCH\"";
    Linked "linked" in TOP, takes STRS, opens None, "linked \"PATH\" …";
    Import "import" in REPEATED,
        takes &[
            Slot::One(StatementItem::Str), Slot::Optional("as", StatementItem::Name), Slot::Optional("at", StatementItem::Str), Slot::MaybeBlock,
        ],
        opens Some(StatementContext::Change), "import \"PATH\" as NAME at \"DIR\"";
    Without "without" in CHANGE, takes REFERENCES, opens None, "without NAME …";
    AllowImport "allow" in CHANGE, takes &[Slot::Many(StatementItem::Word("`reads`, `network` or `sandbox`"))], opens None,
        "allow WORD …";
    Override "override" in CHANGE, takes &[Slot::One(StatementItem::Reference)], opens Some(StatementContext::Override),
        "override NAME {";
    Paths "paths" in REPEATED, takes &[Slot::One(StatementItem::Name), Slot::Equals, Slot::Many(StatementItem::Sel)], opens None,
        "paths NAME = \"GLOB\" …";
    Each "each" in ENTRY, takes &[Slot::Each], opens Some(StatementContext::Each), "each NAME in VALUE … {";
    Check "check" in ENTRY, takes &[Slot::One(StatementItem::Name), Slot::ColonOrBlock], opens Some(StatementContext::Check),
        "check NAME: COMMAND";
    Service "service" in REPEATED, takes &[Slot::One(StatementItem::Name), Slot::ColonOrBlock], opens Some(StatementContext::Service),
        "service NAME: COMMAND";
    RunAnonymous "run" in ENTRY, takes COMMAND, opens None, "run COMMAND";
    Use "use" in GROUP, takes REFERENCES, opens None, "use NAME …";
    ByRole "byRole" in ENTRY, takes NAMES, opens Some(StatementContext::Group), "byRole NAME … {";
    WhenChangedAny "whenChangedAny" in ENTRY, takes SELS, opens Some(StatementContext::Group), "whenChangedAny \"GLOB\" … {";
    WhenChangedAll "whenChangedAll" in ENTRY, takes SELS, opens Some(StatementContext::Group), "whenChangedAll \"GLOB\" … {";
    WhenChangedOnly "whenChangedOnly" in ENTRY, takes SELS, opens Some(StatementContext::Group), "whenChangedOnly \"GLOB\" … {";
    WhenChangedNone "whenChangedNone" in ENTRY, takes SELS, opens Some(StatementContext::Group), "whenChangedNone \"GLOB\" … {";
    WhenExists "whenExists" in ENTRY, takes STRS, opens Some(StatementContext::Group), "whenExists \"PATH\" … {";
    WhenExistsAny "whenExistsAny" in ENTRY, takes STRS, opens Some(StatementContext::Group), "whenExistsAny \"PATH\" … {";
    WhenAbsent "whenAbsent" in ENTRY, takes STRS, opens Some(StatementContext::Group), "whenAbsent \"PATH\" … {";
    TierBlock "tier" in ENTRY, takes TIER, opens Some(StatementContext::Group), "tier N {";
    Risk "risk" in REPEATED,
        takes &[
            Slot::One(StatementItem::Name), Slot::Literal("tier"), Slot::One(StatementItem::Word("a tier")), Slot::Many(StatementItem::Sel),
        ],
        opens None, "risk NAME tier N \"GLOB\" …";
    Sequence "sequence" in REPEATED, takes &[Slot::Groups], opens None, "sequence NAME -> NAME …";
    Role "role" in TOP, takes NAME, opens Some(StatementContext::Role), "role NAME {";
    Limits "limits" in TOP, takes FLAG, opens Some(StatementContext::Limits), "limits {";
    Defaults "defaults" in TOP, takes &[Slot::Maybe(StatementItem::Word("a verb"))], opens Some(StatementContext::Defaults),
        "defaults VERB {";
    Scope "scope" in TOP, takes FLAG, opens Some(StatementContext::Scope), "scope {";
    Recover "recover" in TOP, takes FLAG, opens Some(StatementContext::Recover), "recover {";
    Gate "gate" in TOP, takes FLAG, opens Some(StatementContext::Gate), "gate {";
    FormatBlock "format" in TOP, takes NAME, opens Some(StatementContext::Format), "format NAME {";
    Toolchain "toolchain" in TOP, takes &[Slot::One(StatementItem::Name), Slot::ColonOrBlock], opens None,
        "toolchain NAME: COMMAND";
    Machine "machine" in TOP, takes NAME, opens Some(StatementContext::Machine), "machine NAME {";
    JudgeWith "judge-with" in TOP, takes COMMAND, opens None, "judge-with COMMAND";
    Tests "tests" in TOP, takes STR, opens None, "tests \"verify.vplan\"";
    Expect "expect" in REPEATED, takes STR, opens Some(StatementContext::Expect), "expect \"TEXT\" {";

    Run "run" in OF_COMMAND, takes COMMAND, opens None, "run COMMAND";
    Compile "compile" in OF_CHECK, takes COMMAND, opens None, "compile COMMAND";
    Test "test" in OF_CHECK, takes COMMAND, opens None, "test COMMAND";
    Lint "lint" in OF_CHECK, takes COMMAND, opens None, "lint COMMAND";
    Shell "shell" in OF_CHECK, takes &[Slot::Shell], opens None, "shell TEXT";
    File "file" in OF_CHECK, takes STR, opens Some(StatementContext::File), "file \"PATH\" {";
    Ready "ready" in SERVICE, takes &[Slot::Ready], opens None, "ready tcp PORT";
    Judge "judge" in OF_CHECK, takes STR, opens None, "judge \"QUESTION\"";
    => rows;
    WithoutSetting "without" in OVERRIDE, takes &[Slot::Many(StatementItem::Word("a setting"))], opens None,
        "without SETTING …";
    Exists "exists" in FILE, takes FLAG, opens None, "exists";
    Absent "absent" in FILE, takes FLAG, opens None, "absent";
    NotEmpty "not-empty" in FILE, takes FLAG, opens None, "not-empty";
    Contains "contains" in FILE, takes STR, opens None, "contains \"TEXT\"";
    Lacks "lacks" in FILE, takes STR, opens None, "lacks \"TEXT\"";
    Matches "matches" in FILE, takes STR, opens None, "matches 'REGEX'";
    Size "size" in FILE, takes &[Slot::One(StatementItem::Word("a range of sizes"))], opens None, "size 1B..2MiB";
    Type "type" in FILE, takes &[Slot::One(StatementItem::Word("the type of a file"))], opens None, "type file";

    RoleOnly "only" in ROLE, takes NAMES, opens None, "only TAG …";
    RoleMaxChecks "max-checks" in ROLE, takes NUMBER, opens None, "max-checks N";
    Budget "budget" in LIMITS, takes DURATION, opens None, "budget 10m";
    MaxChecks "max-checks" in LIMITS, takes NUMBER, opens None, "max-checks N";
    Jobs "jobs" in LIMITS, takes &[Slot::One(StatementItem::Word("a number or `auto`"))], opens None, "jobs N";
    Allow "allow" in SCOPE, takes SELS, opens None, "allow \"GLOB\" …";
    Deny "deny" in SCOPE, takes SELS, opens None, "deny \"GLOB\" …";
    RecoverOff "off" in RECOVER, takes FLAG, opens None, "off";
    RecoverOnly "only" in RECOVER, takes NAMES, opens None, "only RULE …";
    RecoverContract "contract" in RECOVER, takes FLAG, opens None, "contract";
    Confirmations "confirmations" in GATE, takes NUMBER, opens None, "confirmations N";
    GateRetries "retries" in GATE, takes NUMBER, opens None, "retries N";
    SameFailure "same-failure" in GATE, takes NUMBER, opens None, "same-failure N";
    OnExhausted "on-exhausted" in GATE, takes &[Slot::One(StatementItem::Word("`fail`, `escalate` or `allow`"))], opens None,
        "on-exhausted fail";
    Propagate "propagate" in GATE, takes &[Slot::One(StatementItem::Word("`downgrade`, `reset` or `off`"))], opens None,
        "propagate downgrade";

    Finding "finding" in FORMAT, takes &[Slot::Level, Slot::One(StatementItem::Str)], opens None,
        "finding error '{file}:{line}: {message}'";
    Heading "heading" in FORMAT, takes STR, opens None, "heading '{file}'";
    Clean "clean" in FORMAT, takes STR, opens None, "clean 'TEXT'";
    Passed "passed" in FORMAT, takes STR, opens None, "passed '{count} passed'";
    Failed "failed" in FORMAT, takes STR, opens None, "failed '{count} failed'";
    SkippedTests "skipped" in FORMAT, takes STR, opens None, "skipped '{count} skipped'";
    Errors "errors" in FORMAT, takes SEVERITIES, opens None, "errors WORD …";
    Warnings "warnings" in FORMAT, takes SEVERITIES, opens None, "warnings WORD …";
    Notes "notes" in FORMAT, takes SEVERITIES, opens None, "notes WORD …";

    Property "property" in MACHINE, takes &[Slot::One(StatementItem::Str), Slot::One(StatementItem::Str)], opens None,
        "property \"NAME\" \"VALUE\"";

    ExpectRole "role" in EXPECT, takes NAME, opens None, "role NAME";
    Changed "changed" in EXPECT, takes STRS, opens None, "changed \"PATH\" …";
    ExpectTier "tier" in EXPECT, takes TIER, opens None, "tier N";
    RiskLevel "risk-level" in EXPECT, takes &[Slot::One(StatementItem::Word("`low`, `medium` or `high`"))], opens None,
        "risk-level high";
    At "at" in EXPECT, takes &[Slot::Many(StatementItem::Word("`milestone-end` or `run-end`"))], opens None, "at milestone-end";
    ExpectCommand "command" in EXPECT, takes STR, opens None, "command \"TEXT\"";
    ExpectExists "exists" in EXPECT, takes STRS, opens None, "exists \"PATH\" …";
    ExpectPlan "plan" in EXPECT, takes &[Slot::Any(StatementItem::Reference)], opens None, "plan NAME …";
    Runs "runs" in EXPECT, takes REFERENCES, opens None, "runs NAME …";
    Skips "skips" in EXPECT, takes REFERENCES, opens None, "skips NAME …";
}

impl Statement {
    /// Whether it may be without a block.
    pub(crate) fn has_maybe_block(&self) -> bool {
        self.slots.last() == Some(&Slot::MaybeBlock)
    }

    /// Says how it is written.
    pub(crate) fn help(&self) -> String {
        format!("it is written `{}`", self.usage)
    }
}

/// Finds the statement that a word begins in this context.
pub fn find(word: &str, context: StatementContext) -> Option<&'static Statement> {
    let first = word.as_bytes().first();
    // The first byte distinguishes most of them, without a call.
    STATEMENTS.iter().find(|s| {
        s.word.as_bytes().first() == first && s.word == word && s.contexts.contains(&context)
    })
}

/// Returns all statements that may occur in a context.
pub fn allowed(context: StatementContext) -> impl Iterator<Item = &'static Statement> {
    STATEMENTS
        .iter()
        .filter(move |s| s.contexts.contains(&context))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_one_thing_in_each_context() {
        for (i, a) in STATEMENTS.iter().enumerate() {
            for b in &STATEMENTS[i + 1..] {
                let both = a.word == b.word && a.contexts.iter().any(|c| b.contexts.contains(c));
                assert!(!both, "{} stands twice", a.word);
            }
            assert!(a.usage.starts_with(a.word), "{}", a.usage);
        }
    }
}
