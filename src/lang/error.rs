//! The stable codes of messages about a text; each message is written where the fault is found.

use vplan_base::word::visible;

vplan_base::codes! {
    "vplan::lang::":
    /// The file is larger than the cap.
    pub FILE_TOO_LARGE = "file_too_large";
    /// A line is longer than the cap.
    pub LINE_TOO_LONG = "line_too_long";
    /// A name is longer than the cap.
    pub NAME_TOO_LONG = "name_too_long";
    /// Blocks are nested deeper than the cap.
    pub NESTED_TOO_DEEP = "nested_too_deep";
    /// A carriage return without a line feed.
    pub LONE_CARRIAGE_RETURN = "lone_carriage_return";
    /// A NUL character, which no argument and no path can hold.
    pub NUL = "nul";
    /// A bidirectional control character outside comments.
    pub BIDI_CONTROL = "bidi_control";
    /// A bidirectional control character in a comment (a warning).
    pub BIDI_CONTROL_IN_COMMENT = "bidi_control_in_comment";
    /// A backslash that is followed by nothing but blanks, or at the end of the file.
    pub BAD_CONTINUATION = "bad_continuation";
    /// No `vplan 1`.
    pub MISSING_HEADER = "missing_header";
    /// `vplan` is not the first statement.
    pub MISPLACED_HEADER = "misplaced_header";
    /// A version of the language that this program does not know.
    pub UNKNOWN_VERSION = "unknown_version";
    /// A line begins with a word that begins no statement.
    pub UNKNOWN_STATEMENT = "unknown_statement";
    /// A statement is in a block where it has no meaning.
    pub MISPLACED_STATEMENT = "misplaced_statement";
    /// A block without its `}`.
    pub UNCLOSED_BLOCK = "unclosed_block";
    /// A `}` without its block.
    pub UNEXPECTED_CLOSE = "unexpected_close";
    /// Something after a `{` or a `}` on the same line.
    pub BLOCK_ON_ONE_LINE = "block_on_one_line";
    /// A statement that needs a block has none.
    pub MISSING_BLOCK = "missing_block";
    /// A statement that has no block is given one.
    pub UNEXPECTED_BLOCK = "unexpected_block";
    /// A `tier` block inside another.
    pub NESTED_TIER = "nested_tier";
    /// A string without its closing quote.
    pub UNCLOSED_STRING = "unclosed_string";
    /// An escape that strings do not have.
    pub BAD_ESCAPE = "bad_escape";
    /// Two arguments without a blank between them.
    pub MISSING_BLANK = "missing_blank";
    /// An argument is missing.
    pub MISSING_ARGUMENT = "missing_argument";
    /// An argument of the wrong kind, or one too many.
    pub UNEXPECTED_ARGUMENT = "unexpected_argument";
    /// A name with characters that names do not have.
    pub BAD_NAME = "bad_name";
    /// A glob without quotes, or its `!` outside them.
    pub UNQUOTED_GLOB = "unquoted_glob";
    /// No blank after the `:` of a check, or one before it.
    pub CHECK_COLON = "check_colon";
    /// A shell operator in a command.
    pub COMMAND_OPERATOR = "command_operator";
    /// An expansion in a command.
    pub COMMAND_EXPANSION = "command_expansion";
    /// A shell builtin in a command.
    pub COMMAND_BUILTIN = "command_builtin";
    /// A quote in a command that is not closed, or a wrong escape.
    pub COMMAND_QUOTE = "command_quote";
    /// A command without a word.
    pub COMMAND_EMPTY = "command_empty";
    /// A `fix` without a command.
    pub MISSING_COMMAND = "missing_command";
    /// A command's first word cannot be a program.
    pub COMMAND_PROGRAM = "command_program";
    /// `{changed}` as part of a word.
    pub CHANGED_IN_WORD = "changed_in_word";
    /// `{changed}` after `shell`.
    pub CHANGED_IN_SHELL = "changed_in_shell";
    /// A `{name}` that has no value; a warning where it is a part of a word.
    pub UNKNOWN_HOLE = "unknown_hole";
    /// A placeholder where no value is allowed.
    pub HOLE_PLACE = "hole_place";
    /// A `ready` that does not say when a service is.
    pub READY_FORM = "ready_form";
    /// The first line of an `each` that is not written as one.
    pub EACH_HEAD = "each_head";
    /// A row of an `each` with another number of values than it has names.
    pub EACH_ROW = "each_row";
    /// A glob in the place of a value.
    pub EACH_GLOB = "each_glob";
    /// A name of an `each` that means something else.
    pub EACH_RESERVED = "each_reserved";
    /// A name of an `each` that one around it has, too.
    pub EACH_SHADOWS = "each_shadows";
    /// A statement that cannot be in an `each`.
    pub EACH_HOLDS = "each_holds";
    /// `each` blocks inside each other, more than the cap.
    pub EACH_DEPTH = "each_depth";
    /// An unquoted glob in a command (a warning).
    pub COMMAND_GLOB = "command_glob";
    /// After `NAME:`, a verb in the place of the program (a warning).
    pub VERB_AS_PROGRAM = "verb_as_program";
    /// A duration that cannot be read.
    pub BAD_DURATION = "bad_duration";
    /// A size or a range of sizes that cannot be read.
    pub BAD_SIZE = "bad_size";
    /// A number that cannot be read or is out of range.
    pub BAD_NUMBER = "bad_number";
    /// A word that is not among the allowed ones.
    pub UNKNOWN_WORD = "unknown_word";
    /// A glob that excludes where globs only select.
    pub EXCLUDING_GLOB = "excluding_glob";
    /// A variable name or a pattern for variable names that cannot be one.
    pub BAD_VARIABLE = "bad_variable";
}

/// Shows text of the user in backticks: made harmless, and cut when it is long.
pub fn quote(text: &str) -> String {
    const MOST: usize = 60;
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(MOST).collect();
    let more = if chars.next().is_some() { "…" } else { "" };
    format!("`{}{more}`", visible(&head))
}
