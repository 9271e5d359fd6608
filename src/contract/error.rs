//! The codes of messages about a contract whose syntax is right.

use super::InclusionIndex;
use vplan_base::diagnostic::Diagnostic;
use vplan_base::span::Place;
use vplan_check::verb::WrongVerb;

/// Says that a name is given a second time, and where it was given first.
pub(super) fn defined_twice(what: &str, place: Place, first: Place) -> Diagnostic {
    Diagnostic::error(DUPLICATE_NAME, format!("{what} is defined twice"))
        .label(place, "defined again here")
        .label(first, "first defined here")
        .help("give one of them another name")
}

/// Says how two things of the contract, or of what it imports, can have a name each.
pub(super) fn another_name(of: [InclusionIndex; 2]) -> &'static str {
    match of == [InclusionIndex::CONTRACT; 2] {
        true => "give one of them another name",
        false => "import with `as NAME`: then the names begin with `NAME/`",
    }
}

/// How to say what a check reads.
pub(super) const ADD_INPUTS: &str =
    "add `inputs`: `vplan audit` shows what it reads, and `--write` adds it";

/// Reports a command of a request with a verb that is none.
pub fn command_verb(found: &WrongVerb, place: Place) -> Diagnostic {
    Diagnostic::error(COMMAND_VERB, found.to_string())
        .label(place, "not a verb of a command")
        .help(&*found.help)
}

vplan_base::codes! {
    "vplan::contract::":
    // Names.
    /// Two definitions of one name.
    pub DUPLICATE_NAME = "duplicate_name";
    /// A name is longer than the cap.
    pub NAME_LENGTH = "name_length";
    /// `use`, `needs` or `sequence` names a check that is not defined.
    pub UNKNOWN_CHECK = "unknown_check";
    /// `with` names an undefined service, or a placeholder names a service the check does not use.
    pub UNKNOWN_SERVICE = "unknown_service";
    /// A lone `*` where a pattern of names is expected.
    pub PATTERN_ALL = "pattern_all";
    /// A pattern of names that no check has.
    pub PATTERN_EMPTY = "pattern_empty";
    /// A selection names a `paths` definition that is not there.
    pub UNKNOWN_PATHS = "unknown_paths";
    /// `byRole` names a role that the contract does not know.
    pub UNKNOWN_ROLE = "unknown_role";
    /// `recover only` names a rule that does not exist.
    pub UNKNOWN_RULE = "unknown_rule";
    /// A setting's word is none of those it knows.
    pub UNKNOWN_WORD = "unknown_word";

    // Statements.
    /// A statement or a line of a block that may occur once at most occurs twice.
    pub DUPLICATE_LINE = "duplicate_line";
    /// An `import` in a text that was read on its own.
    pub IMPORT = "import";
    /// `off` combined with another line of `recover`.
    pub RECOVER_CONFLICT = "recover_conflict";
    /// A number outside the range of its setting.
    pub NUMBER = "number";

    // `each`.
    /// A row of an `each` that is there twice.
    pub EACH_TWICE = "each_twice";
    /// A name of an `each` that nothing in its block uses.
    pub EACH_UNUSED = "each_unused";
    /// Rows of an `each` that give several checks, or tests, the same name.
    pub EACH_SAME_NAME = "each_same_name";
    /// A value that results in an invalid name.
    pub EACH_NAME = "each_name";
    /// More rows, checks or statements than the cap.
    pub EACH_TOO_MANY = "each_too_many";
    /// The text after `in-folders` is not a glob with one folder name for each name of the `each`.
    pub EACH_GLOB = "each_glob";
    /// The workspace of an `each` cannot be read, or it is not said which one is meant.
    pub EACH_WORKSPACE = "each_workspace";
    /// `dependents` of something that is not a package of an enclosing `each NAME in-workspace`.
    pub EACH_PACKAGE = "each_package";
    /// Something in the manifests of a workspace that names nothing, or two things.
    pub EACH_MEMBER = "each_member";
    /// No folder is found by the glob of an `each`.
    pub EACH_EMPTY = "each_empty";

    // Checks.
    /// A check that does nothing.
    pub NO_VERB = "no_verb";
    /// A check with two verbs.
    pub SEVERAL_VERBS = "several_verbs";
    /// A setting that may occur once at most occurs twice.
    pub DUPLICATE_SETTING = "duplicate_setting";
    /// A setting that the check's verb does not know.
    pub FOREIGN_SETTING = "foreign_setting";
    /// A `fix` with the command of the verb.
    pub FIX_IS_VERB = "fix_is_verb";
    /// A setting that `defaults` cannot hold.
    pub DEFAULTS_SETTING = "defaults_setting";
    /// Two blocks of `defaults` set the same for one verb.
    pub DEFAULTS_TWICE = "defaults_twice";
    /// A `tier` setting inside a `tier` block.
    pub TIER_TWICE = "tier_twice";
    /// A `tier` block around `use`.
    pub TIER_AROUND_USE = "tier_around_use";
    /// The name of an environment variable that can be none.
    pub ENV_NAME = "env_name";
    /// `reads` names something other than a path outside the repository.
    pub READS = "reads";
    /// `reads` where nothing is kept from being read.
    pub READS_WITHOUT_SANDBOX = "reads_without_sandbox";
    /// `shared` where nothing says on what a pass rests.
    pub SHARED_WITHOUT_INPUTS = "shared_without_inputs";
    /// `shared` where a check may read what it does not declare, or finds what an earlier run left.
    pub SHARED_WITHOUT_SANDBOX = "shared_without_sandbox";
    /// `shared` where no `toolchain` says which programs are there.
    pub SHARED_WITHOUT_TOOLCHAIN = "shared_without_toolchain";
    /// `on` and a name that no `machine` block has.
    pub UNKNOWN_MACHINE = "unknown_machine";
    /// `on` a machine where nothing says what must be there.
    pub ON_WITHOUT_INPUTS = "on_without_inputs";
    /// A check that may read what it declares, and declares nothing.
    pub SANDBOX_WITHOUT_INPUTS = "sandbox_without_inputs";
    /// One exit code is both accepted and a reason to skip.
    pub EXIT_OVERLAP = "exit_overlap";
    /// A report format that holds nothing the verb counts.
    pub REPORT_FORMAT = "report_format";
    /// A path that is absolute, empty or outside the repository.
    pub PATH = "path";
    /// A `file` check that asserts nothing.
    pub EMPTY_FILE = "empty_file";
    /// A regular expression that cannot be read.
    pub REGEX = "regex";
    /// A range of sizes that holds no size.
    pub SIZE_RANGE = "size_range";
    /// More checks than the cap.
    pub TOO_MANY_CHECKS = "too_many_checks";

    // The changed files as arguments.
    /// `{changed}` where no file changed.
    pub CHANGED_IN_NONE = "changed_in_none";
    /// `{changed}` in a command that gets no files.
    pub CHANGED_MISPLACED = "changed_misplaced";

    // Selections.
    /// A glob that cannot be read.
    pub GLOB = "glob";
    /// A name or an exclusion where a single glob belongs.
    pub NOT_A_GLOB = "not_a_glob";
    /// A list that excludes only.
    pub ONLY_EXCLUSIONS = "only_exclusions";
    /// `paths` definitions that contain themselves.
    pub PATHS_CYCLE = "paths_cycle";
    /// `paths` definitions nested too deep or grown too large.
    pub PATHS_SIZE = "paths_size";

    // Formats.
    /// A `format` with the name of one that vplan knows by itself.
    pub FORMAT_BUILT_IN = "format_built_in";
    /// A placeholder that is unknown, or that this line of a `format` cannot have.
    pub FORMAT_HOLE = "format_hole";
    /// Two adjacent placeholders in a pattern.
    pub FORMAT_TOUCH = "format_touch";
    /// A placeholder, or a word of `{severity}`, that occurs twice.
    pub FORMAT_TWICE = "format_twice";
    /// A pattern without what its line is about, or a `format` without what a check needs of it.
    pub FORMAT_LACKS = "format_lacks";
    /// A finding whose level nothing says, or two things say.
    pub FORMAT_LEVEL = "format_level";
    /// A `format` with more lines than the cap.
    pub FORMAT_ANY = "format_any";
    /// More lines than a format may have.
    pub FORMAT_SIZE = "format_size";
    /// A `format` that no check uses.
    pub FORMAT_UNUSED = "format_unused";

    // Machines.
    /// A `machine` with the name of the one that vplan runs on.
    pub MACHINE_HERE = "machine_here";
    /// A `machine` without a property.
    pub EMPTY_MACHINE = "empty_machine";
    /// More properties than a machine may have.
    pub MACHINE_SIZE = "machine_size";
    /// A `machine` that no check names.
    pub UNUSED_MACHINE = "unused_machine";

    // The base.
    /// A `base` that names no branch.
    pub BASE_BRANCH = "base_branch";

    // Order.
    /// `needs` and `sequence` that wait for each other.
    pub CYCLE = "cycle";
    /// A `sequence` from a later tier to an earlier one.
    pub SEQUENCE_AGAINST_TIERS = "sequence_against_tiers";
    /// One check twice in a `sequence`.
    pub SEQUENCE_REPEATS = "sequence_repeats";
    /// A second `*` in a `sequence`.
    pub SEQUENCE_REST = "sequence_rest";
    /// A `sequence` with fewer than two groups.
    pub SEQUENCE_SHORT = "sequence_short";
    /// Sequences that grow too large with `*`.
    pub SEQUENCE_SIZE = "sequence_size";

    // Tests of a contract.
    /// An `expect` that asserts nothing.
    pub EMPTY_EXPECT = "empty_expect";
    /// An `expect` whose title is blank.
    pub EXPECT_TITLE = "expect_title";
    /// Assertions that cannot hold together.
    pub EXPECT_CONFLICT = "expect_conflict";
    /// `tests` in a contract, where only files of tests have it.
    pub TESTS_MISPLACED = "tests_misplaced";
    /// A file of tests that does not say which contract it tests.
    pub TESTS_MISSING = "tests_missing";
    /// A command of a request begins with a misspelt verb, or one that takes no command.
    pub COMMAND_VERB = "command_verb";
    /// A statement that may not occur in a file of tests.
    pub NOT_A_TEST = "not_a_test";

    // Warnings.
    /// A contract without checks.
    pub NO_CHECKS = "no_checks";
    /// A trigger for tier 2.
    pub RISK_TIER = "risk_tier";
    /// A `paths` definition that nothing uses.
    pub UNUSED_PATHS = "unused_paths";
    /// A service that no check uses.
    pub UNUSED_SERVICE = "unused_service";
    /// A role restricted to a tag that no check has.
    pub UNUSED_TAG = "unused_tag";
    /// A path that looks like a glob.
    pub GLOB_IN_PATH = "glob_in_path";
    /// `absent` combined with another assertion.
    pub ABSENT_AND_MORE = "absent_and_more";
}
