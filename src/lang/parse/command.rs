//! Reports faults of a command in a contract file, and how to write it instead.

use super::parser::{Parser, Text};
use crate::ast::{Hole, Holed, HoledWord};
use crate::command::{argv, unsupported};
use crate::error::{self, quote};
use crate::word::{FILE_HOLES, HoleInWord, Remark, Scan, Scanned, WordError, scan};
use std::collections::BTreeSet;
use vplan_base::command::{Command, Unsupported, UnsupportedReason};
use vplan_base::diagnostic::{Code, Diagnostic, Severity};
use vplan_base::hole::{package_hole, service_hole};
use vplan_base::nearest::nearest;
use vplan_base::span::{Place, Span};

impl Parser<'_> {
    /// Reads a command, reports every fault once, and returns whether there was one. `verb` is the
    /// word in front of it.
    ///
    /// `fillable` are the placeholders that are filled there.
    pub(super) fn read_command(
        &mut self,
        (text, offset): Text<'_>,
        verb: &str,
        fillable: &Fillable<'_>,
    ) -> (Holed<Command>, bool) {
        let known = &fillable.rows;
        let words = scan(text);
        let inside = |span: Span| text.get(span.start..span.end).unwrap_or_default();
        let here = |span: Span| Span::new(offset + span.start, offset + span.end);
        let before = self.out.len();
        let mut told: BTreeSet<(UnsupportedReason, &str)> = BTreeSet::new();
        for fault in &words.faults {
            let found = inside(fault.span);
            if !told.insert((fault.reason, found)) {
                continue;
            }
            let (code, message, label) = match (fault.reason, verb) {
                (UnsupportedReason::Empty, "fix") => (
                    error::MISSING_COMMAND,
                    "`fix` has no command".to_owned(),
                    "a command is expected here",
                ),
                _ => describe(*fault, found, &words),
            };
            let mut diagnostic = self.error(code, message, here(fault.span), label);
            diagnostic.help = help(*fault, found, verb, &words, text);
            self.report(diagnostic);
        }
        for remark in &words.remarks {
            match *remark {
                Remark::ChangedInWord(span) => {
                    let message = "`{changed}` is part of a longer word";
                    let label = "only a word of its own stands for the changed files";
                    let error = self.error(error::CHANGED_IN_WORD, message, here(span), label);
                    self.report(error.help("write `{changed}` between blanks, or quote it with '…' for the literal text"));
                }
                Remark::Hole(span) if fillable.knows(inside(span)) => {}
                Remark::Hole(span) => {
                    self.report(hole(inside(span), known, self.place(here(span))));
                }
                Remark::Glob(span) => {
                    let message = format!("{} is passed on literally", quote(inside(span)));
                    let label = "there is no shell to expand this";
                    let warning = self.warning(error::COMMAND_GLOB, message, here(span), label);
                    self.report(warning.help("quote it with '…' if the program expands it itself, or use the verb `shell`"));
                }
            }
        }
        let variables = words.env.iter().map(|(_, word)| word);
        for word in words.words.iter().chain(variables) {
            let said = words.remarks.contains(&Remark::Hole(word.span));
            let is_unknown = |h: &&HoleInWord| !said && fillable.lacks(&h.name);
            let Some(unknown) = word.holes.iter().find(is_unknown) else {
                continue;
            };
            let (found, span) = (format!("{{{}}}", unknown.name), here(word.span));
            if !known.is_empty() || service_hole(&unknown.name).is_some() {
                self.report(hole(&found, known, self.place(span)));
            } else if word.holes.iter().any(|h| is_unknown(&h) && !h.quoted) {
                let message = format!("`{found}` stands for nothing");
                let label = "passed on literally";
                let warning = self.warning(error::UNKNOWN_HOLE, message, span, label);
                let help = format!("quote it with '…' to say that it is meant: `'{found}'`");
                self.report(warning.help(help));
            }
        }
        // A comment of another language would be arguments.
        let is_comment = |word: &&Scanned| word.bare && word.bytes == b"//";
        if let Some(word) = words.words.iter().skip(1).find(is_comment) {
            let error = self.unexpected_at(here(word.span), "a comment begins with `#`");
            self.report(error.help("quote it with '…' if it is an argument"));
        }
        let found = self.out.iter().skip(before);
        let broken = found.into_iter().any(|d| d.severity == Severity::Error);
        let mut verbs = VERBS.iter();
        if let (":", false, Some(first)) = (verb, broken, words.words.first())
            && let Some(verb) = verbs.find(|v| first.bare && v.as_bytes() == first.bytes)
        {
            let message = format!("this starts a program with the name `{verb}`");
            let (code, label) = (error::VERB_AS_PROGRAM, "no verb stands here");
            let warning = self.warning(code, message, here(first.span), label);
            let help = "leave the verb out, or write it in a block: `check NAME {`";
            self.report(warning.help(help));
        }
        let command = match unsupported(text, &words) {
            None if broken => Holed::whole(none(text)),
            None => {
                let holes = holes_of(&words, fillable);
                Holed {
                    value: argv(words),
                    holes,
                }
            }
            Some(unsupported) => Holed::whole(Command::Unsupported {
                text: text.to_owned(),
                unsupported,
            }),
        };
        (command, broken)
    }
}

/// The placeholders that are filled at a place.
#[derive(Default)]
pub(super) struct Fillable<'a> {
    /// The names of the `each` blocks around.
    pub(super) rows: Vec<&'a str>,
    /// Those for packages, which have names.
    pub(super) packages: Vec<&'a str>,
    /// Whether those of services are, too.
    pub(super) services: bool,
}

impl Fillable<'_> {
    /// Whether a placeholder with this name is filled.
    pub(super) fn has(&self, name: &str) -> bool {
        self.rows.contains(&name)
            || package_hole(name).is_some_and(|each| self.packages.contains(&each))
            || self.services && service_hole(name).is_some()
    }

    /// Whether a placeholder with this name stays unfilled. Without packages, a name like
    /// `pkg.name` is literal text.
    pub(super) fn lacks(&self, name: &str) -> bool {
        !self.has(name) && (package_hole(name).is_none() || !self.packages.is_empty())
    }

    /// Whether a text is `{name}` and this placeholder is filled.
    pub(super) fn knows(&self, found: &str) -> bool {
        inside(found).is_some_and(|name| self.has(name))
    }
}

/// Returns what is between the braces of a text.
fn inside(found: &str) -> Option<&str> {
    found.strip_prefix('{')?.strip_suffix('}')
}

/// Whether a text is `{name}` with the name of a service placeholder.
pub(super) fn is_of_service(found: &str) -> bool {
    inside(found).is_some_and(|name| service_hole(name).is_some())
}

/// Returns the filled placeholders of the words.
pub(super) fn holes_of(words: &Scan<'_>, fillable: &Fillable<'_>) -> Vec<Hole> {
    if fillable.rows.is_empty() && !fillable.services {
        return Vec::new();
    }
    let variables = words
        .env
        .iter()
        .map(|(name, word)| (HoledWord::Variable((*name).to_owned()), word));
    let pieces = words.words.iter().enumerate();
    let pieces = pieces.map(|(n, word)| (HoledWord::Piece(n), word));
    let all = variables.chain(pieces).flat_map(|(of, word)| {
        let hole = move |hole: &HoleInWord| Hole {
            word: of.clone(),
            range: hole.range.clone(),
        };
        let filled = word.holes.iter().filter(|hole| fillable.has(&hole.name));
        filled.map(hole)
    });
    all.collect()
}

/// Describes a `{name}` that has no value. `known`: the placeholders that are filled here.
pub(super) fn hole(found: &str, known: &[&str], place: Place) -> Diagnostic {
    let name = found.trim_start_matches('{').trim_end_matches('}');
    if let Some(near) = known.iter().find(|known| **known == name) {
        // `{{name}}`
        return unknown_hole(found, place).help(format!("write `{{{near}}}`"));
    }
    if service_hole(name).is_some() {
        let message = format!("{} is of a service, and none is known here", quote(found));
        return Diagnostic::error(error::UNKNOWN_HOLE, message)
            .label(place, "stands for nothing here")
            .help(format!(
                "it stands in a `service`, and in a block of a check that says `with NAME`; `'{found}'` is the literal text"
            ));
    }
    let holds = |name: &&&str| found.contains(&format!("{{{name}}}"));
    let files = FILE_HOLES.iter().find(holds);
    let help = if let Some(files) =
        files.filter(|_| !found.starts_with('{') || !found.ends_with('}'))
    {
        format!(
            "write `{{changed}}` as a word of its own in place of `{{{files}}}`: the changed files, one argument each"
        )
    } else if files.is_some() || FILES.contains(&name) || nearest(name, ["changed"]).is_some() {
        "write `{changed}`: the changed files, one argument each".to_owned()
    } else if FOLDERS.contains(&name) {
        "write `.`: a command runs in the root of the repository, or in the check's `dir \"PATH\"`"
            .to_owned()
    } else if ARGUMENTS.contains(&name) {
        "vplan has none: arguments stand in the command".to_owned()
    } else if let Some(near) = nearest(name, known.iter().copied()) {
        format!("did you mean `{{{near}}}`?")
    } else if known.is_empty() {
        "`{changed}` alone stands for something; quote it with '…' for the literal text".to_owned()
    } else {
        let known: Vec<String> = known.iter().map(|name| format!("`{{{name}}}`")).collect();
        format!(
            "here are {}; quote it with '…' for the literal text",
            known.join(", ")
        )
    };
    unknown_hole(found, place).help(help)
}

fn unknown_hole(found: &str, place: Place) -> Diagnostic {
    let message = format!("{} stands for nothing", quote(found));
    Diagnostic::error(error::UNKNOWN_HOLE, message).label(place, "unknown here")
}

/// Names in braces of other tools: for files, for the folder of a project, for arguments.
const FILES: &[&str] = &[
    "file",
    "filename",
    "filenames",
    "filepath",
    "path",
    "paths",
    "staged",
    "change",
    "changes",
    "diff",
];
const FOLDERS: &[&str] = &[
    "toxinidir",
    "tox_root",
    "root",
    "workspaceRoot",
    "projectRoot",
    "workspace_root",
    "cwd",
    "dir",
];
const ARGUMENTS: &[&str] = &["posargs", "args", "cmd", "arguments"];

/// Verbs that are hardly the names of programs. `test` and `file` are.
const VERBS: &[&str] = &["run", "compile", "lint", "shell", "judge"];

/// Returns the command of a line that has none.
pub(super) fn none(text: &str) -> Command {
    let reason = UnsupportedReason::Empty;
    let unsupported = Unsupported {
        chain: Vec::new(),
        changes_shell: false,
        offset: 0,
        reason,
        text: String::new(),
    };
    Command::Unsupported {
        text: text.to_owned(),
        unsupported,
    }
}

fn describe(fault: WordError, found: &str, words: &Scan<'_>) -> (Code, String, &'static str) {
    let text = if found == "\n" {
        "a line break".to_owned()
    } else {
        quote(found)
    };
    match fault.reason {
        UnsupportedReason::Operator => (
            error::COMMAND_OPERATOR,
            format!("{text} is a shell operator, and no shell reads this"),
            "means nothing here",
        ),
        UnsupportedReason::Expansion => (
            error::COMMAND_EXPANSION,
            format!("{text} would be expanded by a shell, and no shell reads this"),
            "stays as it is",
        ),
        UnsupportedReason::Builtin => (
            error::COMMAND_BUILTIN,
            format!("{text} is a part of the shell, no program"),
            "no program has this name",
        ),
        UnsupportedReason::Quote if found == "\0" => (
            error::COMMAND_QUOTE,
            "a NUL character can be in no argument".to_owned(),
            "here",
        ),
        UnsupportedReason::Quote if found == "\\" => (
            error::COMMAND_QUOTE,
            "a backslash has nothing behind it".to_owned(),
            "nothing follows",
        ),
        UnsupportedReason::Quote if found.starts_with('\\') => (
            error::COMMAND_QUOTE,
            format!("{text} is no escape of `$'…'`"),
            "unknown escape",
        ),
        UnsupportedReason::Quote => (
            error::COMMAND_QUOTE,
            format!("the quote {text} is not closed"),
            "opened here",
        ),
        UnsupportedReason::Comment => (
            error::COMMAND_OPERATOR,
            format!("{text} begins a comment"),
            "here",
        ),
        UnsupportedReason::Empty if !words.words.is_empty() => (
            error::COMMAND_EMPTY,
            "the name of the program is empty".to_owned(),
            "an empty word",
        ),
        UnsupportedReason::Empty if !words.env.is_empty() => (
            error::COMMAND_EMPTY,
            "assignments alone start no program".to_owned(),
            "a program is expected here",
        ),
        UnsupportedReason::Empty => (
            error::COMMAND_EMPTY,
            "the command is missing".to_owned(),
            "a command is expected here",
        ),
        UnsupportedReason::Program => (
            error::COMMAND_PROGRAM,
            format!("{text} is not the name of a program"),
            "a program is expected here",
        ),
    }
}

fn help(fault: WordError, found: &str, verb: &str, words: &Scan<'_>, text: &str) -> Option<String> {
    let first = words.words.first().map(|w| w.bytes.as_slice());
    let second = || {
        words
            .words
            .get(1)
            .and_then(|w| text.get(w.span.start..w.span.end))
            .unwrap_or("DIR")
    };
    let at_end = text
        .get(fault.span.end..)
        .is_some_and(|rest| rest.trim().is_empty());
    Some(match (fault.reason, found) {
        (UnsupportedReason::Operator, "&&") if first == Some(b"cd") => {
            format!(
                "leave out the `cd`, and give the check the setting `dir \"{}\"`",
                second().trim_matches(['"', '\''])
            )
        }
        (UnsupportedReason::Operator, "&&") => {
            "write two checks, and `sequence first -> second` for their order, or `needs first` in the second"
                .to_owned()
        }
        (UnsupportedReason::Operator, "||") => {
            "accept the exit code with `exit 0 1`, or use the verb `shell` for the whole line".to_owned()
        }
        (UnsupportedReason::Operator, ";" | "\n") => {
            "write one check for each command; `sequence` puts them in order".to_owned()
        }
        (UnsupportedReason::Operator, "|") => "use the verb `shell` for a pipe, or quote it with '…'".to_owned(),
        (UnsupportedReason::Operator, "&") => {
            "a check ends with its command; use the verb `shell`, or quote it with '…'".to_owned()
        }
        (UnsupportedReason::Operator, "<" | ">") => {
            "output is recorded anyway; use the verb `shell` to redirect, or quote it with '…'".to_owned()
        }
        (UnsupportedReason::Operator, "{") if at_end => {
            "a line with a command opens no block: write `check NAME {`, and the command as `run …` in the block"
                .to_owned()
        }
        (UnsupportedReason::Operator, "!") => {
            "leave out the `!`, and accept the failure with the setting `exit 1`".to_owned()
        }
        (UnsupportedReason::Operator | UnsupportedReason::Comment, _) => {
            "quote it with '…' for the literal character, or use the verb `shell`".to_owned()
        }
        (UnsupportedReason::Expansion, _) => {
            "there is no expansion: quote it with '…' for the literal text, or use the verb `shell`".to_owned()
        }
        (UnsupportedReason::Builtin, _) => match first {
            Some(b"cd") => format!("give the check the setting `dir \"{}\"`", second().trim_matches(['"', '\''])),
            Some(b"export") => "give the check the setting `env NAME=VALUE`".to_owned(),
            Some(b"command" | b"type" | b"hash") => "a program that is missing is reported anyway".to_owned(),
            _ => "use the verb `shell`, or a script".to_owned(),
        },
        (UnsupportedReason::Quote, "\0") => return None,
        (UnsupportedReason::Quote, "\\") => r"write `\\` for the character itself".to_owned(),
        (UnsupportedReason::Quote, found) if found.starts_with('\\') => {
            r"the escapes are `\xHH` (not 00), `\\`, `\'`, `\n`, `\t`, `\r`".to_owned()
        }
        (UnsupportedReason::Quote, "'") => "close it on the same line, or write `\\'` for an apostrophe".to_owned(),
        (UnsupportedReason::Quote, _) => "close it on the same line".to_owned(),
        (UnsupportedReason::Empty, _) if verb == "fix" => {
            "write what mends a failure of the check, such as `fix cargo fmt`".to_owned()
        }
        (UnsupportedReason::Empty, _) => format!("write it behind `{verb}`, such as `{} pnpm test`", example(verb)),
        (UnsupportedReason::Program, found) if verb == "test" && found.starts_with('-') => {
            format!("`test` is a verb here: write `run test {}`, or use the verb `file`", text.trim())
        }
        (UnsupportedReason::Program, "{changed}") => "write the program in front of it".to_owned(),
        (UnsupportedReason::Program, found) if found.ends_with(':') => {
            format!("a check with this name is written `check {found} COMMAND`")
        }
        (UnsupportedReason::Program, _) => "a program's name does not begin with `-`".to_owned(),
    })
}

fn example(verb: &str) -> &str {
    if verb == ":" { "check test:" } else { verb }
}
