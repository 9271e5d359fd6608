//! Splits shell text into its commands: words, operators, compound commands, here-documents. What is
//! no plain command keeps its text; the boundaries are right.
//!
//! One pass of recursive descent, with a cap on the depth: a text that is nested deeper, or whose
//! quotes are not closed, is `broken`, and its rest is one part that only a shell understands.

mod reader;

use reader::Reader;

/// A shell's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Its parts on the top level, in order.
    pub parts: Vec<Part>,
    /// Every simple command in it, however deep: in loops, functions, substitutions.
    pub commands: Vec<Simple>,
    /// The names of functions that it defines.
    pub functions: Vec<String>,
    /// Whether a quote or a parenthesis is not closed, or the nesting is too deep: its commands are
    /// not all known.
    pub broken: bool,
}

/// A part of a text on its top level: between line ends, `;`, and `&&`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its text, from its first byte to its last, without the operator behind it.
    pub text: String,
    /// The line of the text on which it begins, from 0.
    pub line: u32,
    /// The number of its lines.
    pub lines: u32,
    /// Whether it runs only after the part before it has passed (`&&`).
    pub and: bool,
    /// Whether it runs in the background (`&`).
    pub background: bool,
    /// Its shape.
    pub shape: Shape,
}

/// The shapes of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A simple command.
    Plain(Simple),
    /// `a | b`, with the text of each.
    Pipe(Vec<String>),
    /// `a || b`, with the text of each.
    Or(Vec<String>),
    /// `( … )` or `{ …; }`, with the text inside; `true` for the first, which keeps its changes of
    /// the shell to itself.
    Group(String, bool),
    /// A loop, a condition, a function, a negation.
    Compound,
}

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simple {
    /// Assignments in front.
    pub env: Vec<(String, Word)>,
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Redirections, in order.
    pub redirections: Vec<Redirection>,
}

/// A redirection: `2>&1`, `> FILE`, `<< END`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// The operator without a number in front: `>`, `>>`, `>&`, `<`, `<<`.
    pub operator: String,
    /// The word behind it.
    pub target: Word,
}

/// A word of a command, quotes resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Its pieces.
    pub pieces: Vec<Piece>,
    /// Whether any of it was quoted.
    pub quoted: bool,
    /// Whether a shell would replace it by names of files, or by several words: an unquoted `*`,
    /// `?`, `[…]`, `{a,b}`, `~` in front.
    pub glob: bool,
}

/// A piece of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text.
    Text(String),
    /// `$NAME`, `${NAME}`, `${NAME:-DEFAULT}`.
    Variable {
        /// Its name.
        name: String,
        /// The text that replaces it where it is not set.
        default: Option<String>,
        /// As it is written.
        raw: String,
    },
    /// A substitution or an expression, as it is written.
    Opaque(String),
}

impl Word {
    /// The word with what expands as it is written.
    #[must_use]
    pub fn shown(&self) -> String {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) | Piece::Opaque(text) => text.as_str(),
            Piece::Variable { raw, .. } => raw,
        });
        texts.collect()
    }

    /// The word when nothing in it expands.
    #[must_use]
    pub fn literal(&self) -> Option<String> {
        let text = self.fill(&|_| None);
        text.ok()
    }

    /// The word with its variables filled in.
    ///
    /// # Errors
    /// The first piece that is not known, as it is written.
    pub fn fill(&self, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Opaque(raw) => return Err(raw.clone()),
                Piece::Variable { name, default, raw } => {
                    let filled = value(name).filter(|v| default.is_none() || !v.is_empty());
                    let filled = filled.or_else(|| default.clone());
                    out.push_str(&filled.ok_or_else(|| raw.clone())?);
                }
            }
        }
        Ok(out)
    }
}

impl Simple {
    /// The words as text, with what expands as it is written.
    #[must_use]
    pub fn shown(&self) -> Vec<String> {
        self.words.iter().map(Word::shown).collect()
    }
}

/// Reads a shell's text.
#[must_use]
pub fn read(text: &str) -> Text {
    Reader::new(text).text()
}

/// The words of every simple command of a text, however deep.
#[must_use]
pub fn commands(text: &str) -> Vec<Vec<String>> {
    let found = read(text).commands;
    let words = found.iter().map(Simple::shown);
    words.filter(|words| !words.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> Vec<String> {
        let name = |part: &Part| {
            let kind = match &part.shape {
                Shape::Plain(_) => "plain",
                Shape::Pipe(_) => "pipe",
                Shape::Or(_) => "or",
                Shape::Group(..) => "group",
                Shape::Compound => "compound",
            };
            let and = if part.and { "&& " } else { "" };
            let back = if part.background { " &" } else { "" };
            format!(
                "{}+{} {kind}: {and}{}{back}",
                part.line, part.lines, part.text
            )
        };
        read(text).parts.iter().map(name).collect()
    }

    #[test]
    fn parts() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("\n  # only a comment\n", &[]),
            ("a", &["0+1 plain: a"]),
            ("a; b\nc", &["0+1 plain: a", "0+1 plain: b", "1+1 plain: c"]),
            ("a && b", &["0+1 plain: a", "0+1 plain: && b"]),
            ("a &&\n  b", &["0+1 plain: a", "1+1 plain: && b"]),
            ("a \\\n  b\nc", &["0+2 plain: a \\\n  b", "2+1 plain: c"]),
            ("a 'x\n;y' \"z && w\"", &["0+2 plain: a 'x\n;y' \"z && w\""]),
            ("a | b", &["0+1 pipe: a | b"]),
            ("a || b", &["0+1 or: a || b"]),
            ("a && b || c; d", &["0+1 or: a && b || c", "0+1 plain: d"]),
            ("a && b | c", &["0+1 plain: a", "0+1 pipe: && b | c"]),
            ("a |\n b", &["0+2 pipe: a |\n b"]),
            ("a & b", &["0+1 plain: a &", "0+1 plain: b"]),
            ("! a", &["0+1 compound: ! a"]),
            ("(a; b) && c", &["0+1 group: (a; b)", "0+1 plain: && c"]),
            ("{ a; b; }", &["0+1 group: { a; b; }"]),
            (
                "if a; then\n  b\nelse\n  c\nfi\nd",
                &[
                    "0+5 compound: if a; then\n  b\nelse\n  c\nfi",
                    "5+1 plain: d",
                ],
            ),
            (
                "for i in a b; do c; done; d",
                &["0+1 compound: for i in a b; do c; done", "0+1 plain: d"],
            ),
            (
                "for ((i=0;i<3;i++)); do c; done\nd",
                &[
                    "0+1 compound: for ((i=0;i<3;i++)); do c; done",
                    "1+1 plain: d",
                ],
            ),
            (
                "while read -r x; do\n c\ndone < f\nd",
                &[
                    "0+3 compound: while read -r x; do\n c\ndone < f",
                    "3+1 plain: d",
                ],
            ),
            (
                "case x in\n a) b;;\n (c|d) e ;;\nesac\nf",
                &[
                    "0+4 compound: case x in\n a) b;;\n (c|d) e ;;\nesac",
                    "4+1 plain: f",
                ],
            ),
            (
                "f() {\n a\n}\nb",
                &["0+3 compound: f() {\n a\n}", "3+1 plain: b"],
            ),
            (
                "function f {\n a\n}\nb",
                &["0+3 compound: function f {\n a\n}", "3+1 plain: b"],
            ),
            (
                "[[ a && b || c ]] && d",
                &["0+1 compound: [[ a && b || c ]]", "0+1 plain: && d"],
            ),
            (
                "cat <<E\na; b\nE\nc",
                &["0+3 plain: cat <<E\na; b\nE", "3+1 plain: c"],
            ),
            (
                "cat <<-'E' > f\n\ta'\n\tE\nc",
                &["0+3 plain: cat <<-'E' > f\n\ta'\n\tE", "3+1 plain: c"],
            ),
            (
                "cat <<E && b\nx\nE\nc",
                &["0+1 plain: cat <<E", "0+1 plain: && b", "3+1 plain: c"],
            ),
            (
                "a $(b; c) `d; e`; f",
                &["0+1 plain: a $(b; c) `d; e`", "0+1 plain: f"],
            ),
            (
                "a ${x:-;} $((1 + (2))); b",
                &["0+1 plain: a ${x:-;} $((1 + (2)))", "0+1 plain: b"],
            ),
            (
                "a ${{ x && 'y;' }} ; b",
                &["0+1 plain: a ${{ x && 'y;' }}", "0+1 plain: b"],
            ),
            (
                "a $(case x in y) z;; esac); b",
                &["0+1 plain: a $(case x in y) z;; esac)", "0+1 plain: b"],
            ),
            (
                "a <(b; c) > >(d); e",
                &["0+1 plain: a <(b; c) > >(d)", "0+1 plain: e"],
            ),
            ("x=(a\n b); c", &["0+2 plain: x=(a\n b)", "1+1 plain: c"]),
            ("echo if; fi", &["0+1 plain: echo if", "0+1 plain: fi"]),
            ("a # b; c\nd", &["0+1 plain: a", "1+1 plain: d"]),
            (
                "a 2>&1 >f &>g; b",
                &["0+1 plain: a 2>&1 >f &>g", "0+1 plain: b"],
            ),
            ("a\r\nb\r\n", &["0+1 plain: a", "1+1 plain: b"]),
            ("a 'b\nc; d", &["0+2 compound: a 'b\nc; d"]),
            ("a; $(b", &["0+1 plain: a", "0+1 compound: $(b"]),
            ("a )\nb", &["0+1 plain: a", "1+1 plain: b"]),
        ];
        for (text, want) in cases {
            let got = shown(text);
            assert_eq!(
                got.iter().map(String::as_str).collect::<Vec<_>>(),
                *want,
                "{text:?}"
            );
        }
    }

    #[test]
    fn commands_however_deep() {
        for (text, want) in [
            ("a b; c", "a b/c"),
            ("x=$(rm y) z", "rm y/z"),
            ("echo \"$(rm y)\"", "rm y/echo $(rm y)"),
            ("echo `rm y`", "rm y/echo `rm y`"),
            ("echo ${x:-$(rm y)}", "rm y/echo ${x:-$(rm y)}"),
            (
                "if rm a; then rm b; elif rm c; then rm d; else rm e; fi",
                "rm a/rm b/rm c/rm d/rm e",
            ),
            ("for i in $(rm a); do rm b; done", "rm a/rm b"),
            ("while rm a; do rm b; done", "rm a/rm b"),
            (
                "case $(rm a) in x) rm b;; y|z) rm c; esac",
                "rm a/rm b/rm c",
            ),
            ("f() { rm a; }; f", "rm a/f"),
            ("(rm a) | (rm b) || rm c", "rm a/rm b/rm c"),
            ("cat <<E\n$(rm a)\nE", "cat/rm a"),
            ("cat <<'E'\n$(rm a)\nE", "cat"),
            ("a <(rm b)", "rm b/a <(rm b)"),
            ("! rm a && x=1 rm b", "rm a/rm b"),
            ("[[ -n $(rm a) ]]", "rm a/[[ -n $(rm a) ]]"),
            ("time rm a", "time rm a"),
            ("> f rm a", "rm a"),
            ("echo $((1 + $(rm a)))", "rm a/echo $((1 + $(rm a)))"),
        ] {
            let got: Vec<String> = commands(text).iter().map(|w| w.join(" ")).collect();
            assert_eq!(got.join("/"), want, "{text:?}");
        }
    }

    #[test]
    fn words() {
        let plain = |text: &str| match read(text).parts.into_iter().next().map(|p| p.shape) {
            Some(Shape::Plain(simple)) => simple,
            other => panic!("{text}: {other:?}"),
        };
        let simple = plain("A=1 B='x y' c\"d e\"\\ f $'\\n' \"$X\" ${Y:-z} $Z 'a*' b*");
        assert_eq!(simple.env.len(), 2);
        assert_eq!(simple.env[1].1.literal().unwrap(), "x y");
        let value = |name: &str| (name == "X").then(|| "1".to_owned());
        let words: Vec<Result<String, String>> =
            simple.words.iter().map(|w| w.fill(&value)).collect();
        assert_eq!(words[0], Ok("cd e f".to_owned()));
        assert_eq!(words[1], Ok("\n".to_owned()));
        assert_eq!(words[2], Ok("1".to_owned()));
        assert_eq!(words[3], Ok("z".to_owned()));
        assert_eq!(words[4], Err("$Z".to_owned()));
        let globs: Vec<bool> = simple.words.iter().map(|w| w.glob).collect();
        assert_eq!(globs, [false, false, false, false, false, false, true]);
        let simple = plain("a 2>&1 >> $GITHUB_ENV < b");
        let shown: Vec<String> = simple
            .redirections
            .iter()
            .map(|r| format!("{} {}", r.operator, r.target.shown()))
            .collect();
        assert_eq!(shown, [">& 1", ">> $GITHUB_ENV", "< b"]);
    }

    #[test]
    fn deep_and_broken_texts() {
        for text in [
            "(".repeat(5000),
            "$(".repeat(5000),
            "`".repeat(5001),
            "{ ".repeat(5000),
            "if ".repeat(5000),
            "${x:-".repeat(5000),
            "\"$(".repeat(3000),
        ] {
            assert!(read(&text).broken, "{}", &text[..8]);
        }
    }

    #[test]
    fn a_here_document_inside_of_another_command_is_not_understood() {
        for (text, is_broken) in [
            ("a <<E; case x in \nE\n esac", true),
            ("a <<E && ( b\nE\nc )", true),
            ("a <<E; b |\nE\nc", true),
            ("a <<E; b\nx\nE\nc", false),
            ("a <<E &&\nx\nE\n(b\nc)", false),
        ] {
            assert_eq!(read(text).broken, is_broken, "{text:?}");
        }
        // Nor is it part of one that it follows.
        let parts = read("a <<E; b\n(\nE\nc").parts;
        let texts: Vec<&str> = parts.iter().map(|part| &*part.text).collect();
        assert_eq!(texts, ["a <<E", "b", "c"]);
    }

    fn fragments() -> impl Strategy<Value = String> {
        let one = proptest::sample::select(vec![
            "a",
            "b c",
            " ",
            "\n",
            ";",
            "&&",
            "||",
            "|",
            "&",
            "'x; y'",
            "\"p && q\"",
            "\"$(r; s)\"",
            "$(t)",
            "`u`",
            "${v:-w}",
            "(",
            ")",
            "{",
            "}",
            "if",
            "then",
            "fi",
            "for x in y",
            "do",
            "done",
            "case x in",
            "esac",
            ";;",
            "<<E",
            "\nE\n",
            "> f",
            "2>&1",
            "\\\n",
            "\\",
            "'",
            "\"",
            "#",
            "é",
            "${{ a || 'b' }}",
            "$((",
            "))",
            "[[",
            "]]",
            "!",
            "f()",
            "=",
            "x=(",
            "\r\n",
        ]);
        proptest::collection::vec(one, 0..40).prop_map(|v| v.join(" ").replace("  ", ""))
    }

    proptest! {
        /// Any text is read, and each part of a text that is whole is itself whole, and one part or
        /// a conjunction.
        #[test]
        fn any_text(text in fragments()) {
            let found = read(&text);
            let mut line = 0;
            for part in &found.parts {
                prop_assert!(text.contains(&part.text));
                prop_assert!(part.line >= line);
                line = part.line;
                if !found.broken {
                    let again = read(&part.text);
                    prop_assert!(!again.broken, "{:?} of {:?}", part.text, text);
                }
            }
        }

        #[test]
        fn any_characters(text in "\\PC{0,60}") {
            let _ = read(&text);
        }

        /// No boundary is inside of quotes.
        #[test]
        fn quotes_are_whole(inner in "[^']{0,20}", quoted in "[^\"\\\\$`]{0,20}") {
            let text = format!("a '{inner}' && b \"{quoted}\"; c");
            let parts = read(&text).parts;
            prop_assert_eq!(parts.len(), 3);
            prop_assert_eq!(&parts[0].text, &format!("a '{inner}'"));
            prop_assert_eq!(&parts[1].text, &format!("b \"{quoted}\""));
        }
    }
}
