//! Parses a contract file to a syntax tree.
//!
//! Line by line, with an explicit stack of open blocks: no input can overflow the stack, and an
//! error costs its line. The statement table defines what may occur where; after an error reading
//! goes on at the next line, or after the matching `}`.

mod argument;
mod block;
mod command;
mod each;
mod foreign;
mod line;
mod meant;
mod parser;
mod resolve;
mod rest;
mod screen;
mod service;
mod token;

use super::ast::{Ast, Node, Trivia};
use super::error;
use super::statement::{Keyword, StatementContext};
use line::Line;
use parser::{Head, Parser};
pub use parser::{ParserCaps, VERSIONS};
use resolve::{Reading, Resolved};
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::source::Source;
use vplan_base::span::{SourceId, Span};

/// Reads a file. The tree is as complete as the text allows; without errors, it has the whole text.
pub fn parse<'a>(source: &'a Source, id: SourceId, caps: &ParserCaps) -> (Ast<'a>, Diagnostics) {
    let text = source.text();
    let mut parser = Parser::new(text, id, *caps);
    if text.len() > caps.file_bytes {
        let message = format!(
            "the file has {} bytes, more than the {} allowed",
            text.len(),
            caps.file_bytes
        );
        let start = Span::new(0, 0);
        let error = parser.error(error::FILE_TOO_LARGE, message, start, "it was not read");
        parser.report(error.help("an operator can raise the limit with `--max-file`"));
    } else {
        parser.file();
    }
    let mut diagnostics = Diagnostics::default();
    parser.out.into_iter().for_each(|d| diagnostics.push(d));
    (
        Ast {
            source: id,
            nodes: parser.nodes,
            end: parser.trivia,
        },
        diagnostics,
    )
}

impl<'a> Parser<'a> {
    fn file(&mut self) {
        // Lines that must not be read, in order: too long, or with a lone CR.
        let mut bad = self.bad_lines().into_iter().peekable();
        let mut at = 0;
        while at < self.text.len() && !self.stopped {
            let line = line::read(self.text, at);
            at = line.next;
            let mut skip = false;
            while let Some(span) = bad.next_if(|s| s.start < line.next) {
                skip |= span.end > line.content.start;
            }
            if let Some(comment) = line.comment {
                self.comments.push(comment);
            }
            if skip {
                self.break_frame();
                continue;
            }
            if line.content.is_empty()
                || self.slice(line.content).trim().is_empty() && line.loose_backslash.is_none()
            {
                match line.comment {
                    Some(comment) => self.trivia.push(Trivia::Comment(comment)),
                    None if self.trivia.last() != Some(&Trivia::Blank) => {
                        self.trivia.push(Trivia::Blank)
                    }
                    None => {}
                }
                continue;
            }
            self.line(&line);
            at = at.max(self.skip_to);
        }
        while let Some(frame) = self.frames.last() {
            if !frame.doubtful {
                self.unclosed(frame.open);
            }
            self.pop(Span::new(self.text.len(), self.text.len()), None);
        }
        self.header();
        self.bidi_controls();
    }

    fn line(&mut self, line: &Line) {
        if let Some(span) = line.loose_backslash {
            let message = "a backslash at the end of a line with nothing to join";
            let label = match span.len() {
                0 | 1 => "the file ends here",
                _ => "blanks behind the backslash",
            };
            let help =
                "a backslash joins the next line only when it is the line's very last character";
            let error = self.error(error::BAD_CONTINUATION, message, span, label);
            self.report(error.help(help));
            self.break_frame();
            if line.opens {
                self.push_unknown(line);
            }
            return;
        }
        let text = self.slice(line.content);
        if self.buried > 0 {
            if text.starts_with('}') {
                self.buried -= 1;
            } else if line.opens {
                self.buried += 1;
            }
            return;
        }
        if text.starts_with('}') {
            return self.close(text, line);
        }
        let start = line.content.start;
        if self.context() != StatementContext::Unknown {
            if self.comment_line(text, line) {
                return;
            }
            if text.starts_with("- ") {
                return self.list_item(line);
            }
        }
        let Ok((rest, word)) = token::word(text) else {
            if self.context() != StatementContext::Unknown {
                let span = Span::new(start, start + text.trim_end().len());
                let message = "a line begins with no statement";
                let label = "a word is expected at its beginning";
                self.report(self.error(error::UNKNOWN_STATEMENT, message, span, label));
                self.break_frame();
            }
            return if line.opens {
                self.push_unknown(line)
            };
        };
        // `whenChangedAny("src/**")`
        let call = word.find(['(', '[']).filter(|at| *at > 0);
        let (word, rest) = match call.and_then(|at| text.split_at_checked(at)) {
            Some(call) => call,
            None => (word, rest),
        };
        let keyword = Span::new(start, start + word.len());
        match self.resolve(word, rest, keyword, line) {
            Resolved::Statement(statement, reading) => {
                if reading == Reading::Misplaced {
                    self.presume_head(statement, line);
                }
                self.statement(Head { statement, keyword }, rest, line, reading);
            }
            Resolved::Nothing if line.opens => self.push_unknown(line),
            Resolved::Nothing | Resolved::Answered => {}
        }
    }

    fn statement(&mut self, head: Head, text: &'a str, line: &Line, reading: Reading) {
        let (statement, keyword) = (head.statement, head.keyword);
        let rest = (text, keyword.end);
        let misplaced = matches!(reading, Reading::Misplaced | Reading::Foreign);
        if !misplaced && self.over_lines(head, text, line) {
            return;
        }
        let said = self.out.len();
        let mut parts = self.arguments(head, rest);
        if misplaced {
            // The wrong place, or the word, was reported.
            self.out.truncate(said);
        } else if parts.broken && self.verb_of_default(said, statement, rest) {
            // Its value was read as something else, and one message is enough.
        } else if parts.broken
            && self.out.len() > said
            && let Some(written) = meant::meant_with(statement, text, &self.known_holes())
        {
            if reading == Reading::Guessed {
                self.out.truncate(said);
            } else {
                self.repair(said, statement, rest, &written);
                if statement.body == Some(StatementContext::Group) {
                    // What was read of it is not what was meant.
                    parts.args.clear();
                }
            }
        } else if let Some(first) = self.out.get(said)
            && first.code == error::MISSING_BLANK
            && first
                .labels
                .first()
                .is_some_and(|l| l.place == self.place(Span::new(keyword.start, l.place.span.end)))
        {
            // What follows was not read as its author meant it.
            self.out.truncate(said + 1);
        }
        let last = parts.args.last().map_or(keyword, |a| a.span);
        let node = Node {
            args: parts.args,
            span: keyword.to(last),
            // Nothing is known about a guess at a single word.
            broken: parts.broken || misplaced || reading == Reading::Guessed && last == keyword,
            ..self.broken(head, line)
        };
        if !misplaced {
            self.remarks(&node);
        }
        if reading == Reading::Guessed {
            // Arguments that the guessed statement would lack may not be missing at all.
            let at = self.place(keyword);
            let found = self.out.split_off(said).into_iter();
            let is_elsewhere = |d: &Diagnostic| d.labels.first().is_none_or(|l| l.place != at);
            self.out.extend(found.filter(is_elsewhere));
        }
        match parts.open {
            Some(open) => {
                let context = match (statement.keyword, statement.body) {
                    // Its block holds what the block around it holds.
                    (Keyword::Each, _) if self.context() == StatementContext::Group => {
                        StatementContext::Group
                    }
                    (_, Some(context)) => context,
                    (Keyword::RunAnonymous | Keyword::Run, None) => StatementContext::Check,
                    (_, None) => StatementContext::Unknown,
                };
                let doubtful = parts.doubtful || misplaced && statement.body.is_none();
                self.push(node, context, open, line.indent, doubtful);
            }
            None => match statement.body {
                Some(context)
                    if parts.broken
                        && reading == Reading::Certain
                        && self.goes_deeper(line, context) =>
                {
                    self.presume(node, context, line.indent);
                }
                _ => self.add(node),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::diagnostic::Severity;

    /// Returns the codes of all messages about a text, without their prefix, each with the text it
    /// points at.
    fn faults(text: &str, caps: &ParserCaps) -> Vec<(String, String)> {
        let source = Source::new("verify.vplan", text);
        let (_, diagnostics) = parse(&source, SourceId(0), caps);
        let show = |d: &Diagnostic| {
            let code = d.code.0.strip_prefix("vplan::lang::").unwrap().to_owned();
            (code, source.slice(d.labels[0].place.span).to_owned())
        };
        diagnostics.sorted().iter().map(show).collect()
    }

    fn check(cases: &[(&str, &[(&str, &str)])], head: &str, foot: &str) {
        for (text, want) in cases {
            let want: Vec<(String, String)> = want
                .iter()
                .map(|(c, t)| ((*c).to_owned(), (*t).to_owned()))
                .collect();
            assert_eq!(
                faults(&format!("{head}{text}{foot}"), &ParserCaps::default()),
                want,
                "{text:?}"
            );
        }
    }

    #[test]
    fn headers() {
        check(
            &[
                ("vplan 1\n", &[]),
                ("# a comment\n\n  vplan 1", &[]),
                ("\u{feff}vplan 1\r\n", &[]),
                ("", &[("missing_header", "")]),
                ("check a: b\n", &[("missing_header", "check")]),
                ("vplan\n", &[("missing_argument", "vplan")]),
                ("vplan 1 2\n", &[("unexpected_argument", "2")]),
                (
                    "vplan one\nfoo\n",
                    &[("unknown_version", "one"), ("unknown_statement", "foo")],
                ),
                ("vplan 2\nfoo\n", &[("unknown_version", "2")]),
                ("vplan \"1\"\n", &[("unexpected_argument", "\"1\"")]),
                (
                    "contract \"a\"\nvplan 1\n",
                    &[("misplaced_header", "vplan")],
                ),
                ("vplan 1\nvplan 1\n", &[("misplaced_header", "vplan")]),
            ],
            "",
            "",
        );
    }

    #[test]
    fn lines_and_characters() {
        check(
            &[
                ("check a: b \\\n c\n", &[]),
                ("check a: b \\ \n", &[("bad_continuation", "\\ ")]),
                ("check a: b \\", &[("bad_continuation", "\\")]),
                (
                    "check a: b\rcheck c: d\n",
                    &[("lone_carriage_return", "\r")],
                ),
                ("# a\rb\n", &[("lone_carriage_return", "\r")]),
                ("contract \"a\u{202e}b\"\n", &[("bidi_control", "\u{202e}")]),
                ("check a: shell\u{200f}\n", &[("bidi_control", "\u{200f}")]),
                (
                    "check a: b # \u{202e}\u{202c}\n",
                    &[("bidi_control_in_comment", "\u{202e}")],
                ),
                ("\"a\"\n", &[("unknown_statement", "\"a\"")]),
                ("= b\n", &[("unknown_statement", "= b")]),
                ("contract \"a\n", &[("unclosed_string", "\"a")]),
                ("contract 'a\n", &[("unclosed_string", "'a")]),
                ("contract \"a\\qb\"\n", &[("bad_escape", "\\q")]),
                ("contract \"\\u{d800}\"\n", &[("bad_escape", "\\u")]),
                (
                    "contract \"a\"\"b\"\n",
                    &[("missing_blank", "\"b\""), ("unexpected_argument", "\"b\"")],
                ),
                ("contract\"a\"\n", &[("missing_blank", "contract\"")]),
            ],
            "vplan 1\n",
            "",
        );
    }

    #[test]
    fn statements() {
        check(
            &[
                ("contract a\n", &[("unexpected_argument", "a")]),
                ("contract\n", &[("missing_argument", "contract")]),
                ("paths a \"b\"\n", &[("missing_argument", "\"b\"")]),
                ("paths = \"b\"\n", &[("unexpected_argument", "=")]),
                ("paths a =\n", &[("missing_argument", "paths")]),
                ("paths a = b/*.c \"d\"\n", &[("unquoted_glob", "b/*.c")]),
                ("paths a = !\"b\"\n", &[("unquoted_glob", "!\"b\"")]),
                ("paths a = ! b\n", &[("unexpected_argument", "!")]),
                ("paths a/b = \"c\"\n", &[("bad_name", "a/b")]),
                ("paths a = \"b\", \"c\"\n", &[("unexpected_argument", ",")]),
                ("check\n", &[("missing_argument", "check")]),
                ("check a\n", &[("missing_argument", "check")]),
                ("check a b\n", &[("unexpected_argument", "b")]),
                ("check a:\n", &[("command_empty", "")]),
                ("check a: run b\n", &[("verb_as_program", "run")]),
                ("check a: 'run' b\n", &[]),
                ("check a: test -f b\n", &[]),
                ("check a:b\n", &[("check_colon", ":")]),
                ("check a : b\n", &[("check_colon", ":")]),
                ("check 1a: b\n", &[("bad_name", "1a")]),
                ("check \"a\": b\n", &[("unexpected_argument", "\"a\"")]),
                ("check a { run b }\n", &[("block_on_one_line", " run b }")]),
                (
                    "check a: {\n  run b\n  tags c\n}\ncheck c: d\n",
                    &[("command_operator", "{")],
                ),
                (
                    "check a {\n  run b\n} check c: d\n",
                    &[("block_on_one_line", " check c: d")],
                ),
                (
                    "check a {\n  run b {\n  }\n}\n",
                    &[("command_operator", "{")],
                ),
                ("check a {\n  run b\n", &[("unclosed_block", "{")]),
                (
                    "check a {\n  run b\ncheck c: d\n",
                    &[("unclosed_block", "{")],
                ),
                ("}\n", &[("unexpected_close", "}")]),
                ("byRole tester\n", &[("missing_block", "byRole")]),
                ("byrole tester\n", &[("unknown_statement", "byrole")]),
                ("path\n", &[("unknown_statement", "path")]),
                (
                    "chekc a: b && c\n",
                    &[("unknown_statement", "chekc"), ("command_operator", "&&")],
                ),
                (
                    "byrole tester {\n  chekc a: b\n}\n",
                    &[
                        ("unknown_statement", "byrole"),
                        ("unknown_statement", "chekc"),
                    ],
                ),
                // A head without its `{`, or none at all: the error is not in the content of the
                // block.
                (
                    "check a\n  run b\n  timeout 5s\n}\ncheck c: d\n",
                    &[("missing_argument", "check")],
                ),
                (
                    "check a\n  run b\n  timeot 5s\ncheck c: d\n",
                    &[
                        ("missing_argument", "check"),
                        ("unknown_statement", "timeot"),
                    ],
                ),
                (
                    "check a\"b {\n  run b\n}\n",
                    &[("unclosed_string", "\"b {")],
                ),
                (
                    "byRole a\n  check b {\n    run c\n  }\n  check d: e\n}\n",
                    &[("missing_block", "byRole")],
                ),
                (
                    "byRole a {\n  check b\n    run c\n    retries 1\n}\ncheck d: e\n",
                    &[("missing_argument", "check")],
                ),
                (
                    "  compile b\n  timeout 5s\n}\ncheck c: d\n",
                    &[("misplaced_statement", "compile")],
                ),
                (
                    "byRole a {\n    compile b\n    timeout 5s\n  }\n  timeout 5s\n}\ncheck c: d\n}\n",
                    &[
                        ("misplaced_statement", "compile"),
                        ("misplaced_statement", "timeout"),
                        ("unexpected_close", "}"),
                    ],
                ),
                (
                    "timeout 5s\ntier 1 {\n  check a: b\n}\n",
                    &[("misplaced_statement", "timeout")],
                ),
                (
                    "check a\nrun b\n}\n",
                    &[("missing_argument", "check"), ("unexpected_close", "}")],
                ),
                (
                    "byRole \"tester\" {\n}\n",
                    &[("unexpected_argument", "\"tester\"")],
                ),
                ("byRole {\n}\n", &[("missing_argument", "{")]),
                (
                    "xyzzy a {\n  foo {\n  }\n}\nplugh\n",
                    &[
                        ("unknown_statement", "xyzzy"),
                        ("unknown_statement", "plugh"),
                    ],
                ),
                ("unit: pnpm test\n", &[("unknown_statement", "unit")]),
                ("use a\n", &[("misplaced_statement", "use")]),
                ("timeout 5s\n", &[("misplaced_statement", "timeout")]),
                (
                    "byRole a {\n  paths b = \"c\"\n}\n",
                    &[("misplaced_statement", "paths")],
                ),
                (
                    "check a {\n  run b\n  check c: d\n}\n",
                    &[("misplaced_statement", "check")],
                ),
                (
                    "tier 1 {\n  byRole a {\n    tier 2 {\n    }\n  }\n}\n",
                    &[("nested_tier", "tier")],
                ),
                ("risk a 1 \"b\"\n", &[("missing_argument", "1")]),
                ("risk a tier \"b\"\n", &[("unexpected_argument", "\"b\"")]),
                ("sequence a\n", &[("missing_argument", "sequence")]),
                ("sequence a b\n", &[("unexpected_argument", "b")]),
                ("sequence a ->\n", &[("missing_argument", "sequence")]),
                ("sequence -> a\n", &[("unexpected_argument", "->")]),
                (
                    "limits {\n  tags a\n}\n",
                    &[("misplaced_statement", "tags")],
                ),
                ("limits 5 {\n}\n", &[("unexpected_argument", "5")]),
                ("scope {\n  allow\n}\n", &[("missing_argument", "allow")]),
                ("import \"a\" as b at \"c\"\n", &[]),
                ("import a.vplan\n", &[("unexpected_argument", "a.vplan")]),
                ("import \"a\" as\n", &[("missing_argument", "as")]),
                (
                    "import \"a\" at \"b\" as c\n",
                    &[("unexpected_argument", "as c")],
                ),
                (
                    "expect \"a\" {\n  plan b\n  whatever {\n  }\n}\ncheck a: b\n",
                    &[("unknown_statement", "whatever")],
                ),
                ("judge-with\n", &[("command_empty", "")]),
            ],
            "vplan 1\n",
            "",
        );
    }

    #[test]
    fn settings_and_commands() {
        check(
            &[
                ("setup now\n", &[("unexpected_argument", "now")]),
                ("setup {\n}\n", &[("unexpected_block", "{")]),
                ("timeot 5s\n", &[("unknown_statement", "timeot")]),
                ("dir apps/web\n", &[("unexpected_argument", "apps/web")]),
                ("env A\n", &[("unexpected_argument", "A")]),
                ("env A=1 B=2\n", &[("unexpected_argument", "A=1 B=2")]),
                ("env\n", &[("missing_argument", "env")]),
                ("env A=$B\n", &[("command_expansion", "$B")]),
                ("env A='$B' # c\n", &[]),
                (
                    "env A=x{changed}\n",
                    &[("unexpected_argument", "A=x{changed}")],
                ),
                ("needs a/b c\n", &[]),
                ("needs a//b\n", &[("bad_name", "a//b")]),
                ("produces dist\n", &[("unquoted_glob", "dist")]),
                ("report junit\n", &[("missing_argument", "report")]),
                ("file \"x\"\n", &[("missing_block", "file")]),
                (
                    "file \"x\" {\n    exist\n  }\n",
                    &[("unknown_statement", "exist")],
                ),
                ("shell\n", &[("command_empty", "shell")]),
                (
                    "shell a {changed}\n",
                    &[("changed_in_shell", "a {changed}")],
                ),
                ("shell a | b # 'c {\n", &[]),
                ("test -f x\n", &[("command_program", "-f")]),
                ("run a && b && c\n", &[("command_operator", "&&")]),
                (
                    "run a | b > c\n",
                    &[("command_operator", "|"), ("command_operator", ">")],
                ),
                ("run a \"$(b)\"\n", &[("command_expansion", "$(b)")]),
                ("run cd x\n", &[("command_builtin", "cd")]),
                ("run a 'b\n", &[("command_quote", "'")]),
                ("run a $'\\q'\n", &[("command_quote", "\\q")]),
                ("run A=1\n", &[("command_empty", "")]),
                ("run a: b\n", &[("command_program", "a:")]),
                ("run a x{changed}\n", &[("changed_in_word", "x{changed}")]),
                ("run a *.c\n", &[("command_glob", "*.c")]),
                ("run! a\n", &[("unknown_statement", "run!")]),
            ],
            "vplan 1\ncheck a {\n",
            "}\n",
        );
    }

    #[test]
    fn caps() {
        let nested = |n: usize| format!("vplan 1\n{}{}", "byRole a {\n".repeat(n), "}\n".repeat(n));
        assert_eq!(faults(&nested(64), &ParserCaps::default()), []);
        assert_eq!(
            faults(&nested(65), &ParserCaps::default()),
            [("nested_too_deep".to_owned(), "{".to_owned())]
        );
        // No depth can overflow anything.
        assert_eq!(faults(&nested(40_000), &ParserCaps::default()).len(), 1);
        let long = format!("vplan 1\ncheck {}: b\n", "n".repeat(129));
        assert_eq!(faults(&long, &ParserCaps::default())[0].0, "name_too_long");
        let line = format!("vplan 1\ncheck a: {}\ncheck\n", "b".repeat(65_536));
        let codes: Vec<String> = faults(&line, &ParserCaps::default())
            .into_iter()
            .map(|f| f.0)
            .collect();
        assert_eq!(codes, ["line_too_long", "missing_argument"]);
        let file = format!("vplan 1\n{}", "#\n".repeat(1 << 19));
        assert_eq!(
            faults(&file, &ParserCaps::default()),
            [("file_too_large".to_owned(), String::new())]
        );
        assert_eq!(
            faults(
                &file,
                &ParserCaps {
                    file_bytes: 1 << 21,
                    ..ParserCaps::default()
                }
            ),
            []
        );
    }

    #[test]
    fn every_error_of_a_file_and_each_only_once() {
        let text =
            "vplan 1\ncheck a: b | c\nbyRole 7 {\n  check d: $e\n}\nfoo\ncheck f {\n  run g\n";
        let codes: Vec<String> = faults(text, &ParserCaps::default())
            .into_iter()
            .map(|f| f.0)
            .collect();
        assert_eq!(
            codes,
            [
                "command_operator",
                "bad_name",
                "command_expansion",
                "unknown_statement",
                "unclosed_block"
            ]
        );
    }

    #[test]
    fn trivia_and_comments_are_kept() {
        let text = "# a\n\n\nvplan 1 # b\n\ncheck c {\n  run d\n  # e\n} # f\n# g\n";
        let source = Source::new("verify.vplan", text);
        let (ast, diagnostics) = parse(&source, SourceId(0), &ParserCaps::default());
        assert!(diagnostics.iter().all(|d| d.severity == Severity::Warning));
        let kept = |t: &Trivia| match t {
            Trivia::Blank => "",
            Trivia::Comment(span) => source.slice(*span),
        };
        let [header, check] = ast.nodes.as_slice() else {
            panic!("{ast:?}")
        };
        assert_eq!(
            header.before.iter().map(kept).collect::<Vec<_>>(),
            ["# a", ""]
        );
        assert_eq!(header.comment.map(|c| source.slice(c)), Some("# b"));
        let body = check.body.as_ref().unwrap();
        assert_eq!(body.end.iter().map(kept).collect::<Vec<_>>(), ["# e"]);
        assert_eq!(body.comment.map(|c| source.slice(c)), Some("# f"));
        assert_eq!(ast.end.iter().map(kept).collect::<Vec<_>>(), ["# g"]);
    }
}
