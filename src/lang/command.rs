//! Parses command text, by its one grammar (src/lang/grammar.md, "How is a command read?").

use super::conjunction;
use super::state::{Changes, changes};
use super::word::{Remark, Scan, Scanned, WordError, scan};
use vplan_base::command::{Command, Env, Link, Piece, Unsupported, UnsupportedReason, is_env_name};
use vplan_base::word::{Word, is_unsafe_to_show};

/// Parses a command from outside a contract file: a request's, a converted one's. Never fails: a
/// text outside the grammar is `Command::Unsupported`.
pub fn parse_command(text: &str) -> Command {
    let words = scan(text);
    match unsupported(text, &words) {
        None => argv(words),
        Some(fault) => {
            let chain = match conjunction::split(text) {
                Some(parts) => parts.into_iter().map(link).collect(),
                None => link(text).filter(Link::is_carried).map(|link| vec![link]),
            };
            let unsupported = Unsupported {
                chain: chain.unwrap_or_default(),
                ..fault
            };
            Command::Unsupported {
                text: text.to_owned(),
                unsupported,
            }
        }
    }
}

/// Whether a shell would expand a word of the text that this grammar passes on unchanged: `*`,
/// `?`, `[…]`, `~`, `{a,b}`.
pub fn would_expand(text: &str) -> bool {
    scan(text)
        .remarks
        .iter()
        .any(|r| matches!(r, Remark::Glob(_)))
}

/// Whether a shell's text can follow the verb `shell`, as it is. A backslash at the end of a
/// line, or before blanks there, would join the next one.
pub fn is_shell_line(text: &str) -> bool {
    !text.trim().is_empty()
        && !text.trim_end().ends_with('\\')
        && !text.chars().any(is_unsafe_to_show)
}

/// Whether a text only changes the shell that reads it, so that a shell of its own would verify
/// nothing.
pub fn only_changes_shell(text: &str) -> bool {
    // A text that no shell can read does nothing at all.
    let brace = |f: &WordError| matches!(text.get(f.span.start..f.span.end), Some("{" | "}"));
    let broken = |f: &WordError| f.reason == UnsupportedReason::Quote || brace(f);
    changes(text) == Changes::Only && !scan(text).faults.iter().any(broken)
}

/// Returns what is wrong with a scanned text.
pub(super) fn unsupported(text: &str, words: &Scan<'_>) -> Option<Unsupported> {
    let fault = words.first_fault()?;
    let found = text
        .get(fault.span.start..fault.span.end)
        .unwrap_or_default()
        .to_owned();
    let changes_shell = changes(text) != Changes::Nothing;
    Some(Unsupported {
        chain: Vec::new(),
        changes_shell,
        offset: fault.span.start,
        reason: fault.reason,
        text: found,
    })
}

/// Makes the command of the words of a text without faults.
pub(super) fn argv(words: Scan<'_>) -> Command {
    let piece = |w: Scanned| {
        if w.is_changed() {
            Piece::Changed
        } else {
            Piece::Word(Word::new(w.bytes))
        }
    };
    Command::Argv {
        env: env(&words),
        pieces: words.words.into_iter().map(piece).collect(),
    }
}

/// Collects the assignments; the last one of a name wins.
fn env(words: &Scan<'_>) -> Env {
    words
        .env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Word::new(value.bytes.clone())))
        .collect()
}

/// Parses one part of a conjunction. `None` when it cannot be a part: `{changed}` has no place in a
/// link.
fn link(part: &str) -> Option<Link> {
    let words = scan(part);
    if words.words.iter().any(Scanned::is_changed) {
        return None;
    }
    let Some(fault) = unsupported(part, &words) else {
        let argv = words
            .words
            .iter()
            .map(|w| Word::new(w.bytes.clone()))
            .collect();
        return Some(Link::Run {
            argv,
            env: env(&words),
        });
    };
    // A text that a shell would expand first is unknown here.
    let plain = words.env.is_empty() && !words.remarks.iter().any(|r| matches!(r, Remark::Glob(_)));
    let carried = if fault.reason == UnsupportedReason::Builtin && plain {
        carried(&words.words)
    } else {
        None
    };
    Some(carried.unwrap_or_else(|| Link::Other {
        text: part.to_owned(),
        unsupported: Box::new(fault),
    }))
}

/// Parses `cd DIR`, or `export NAME=VALUE…`: their effect on the commands after them is known
/// without a shell.
fn carried(words: &[Scanned]) -> Option<Link> {
    let (builtin, operands) = words.split_first()?;
    match (builtin.bytes.as_slice(), operands) {
        (b"cd", [dir]) if !matches!(dir.bytes.as_slice(), [] | [b'-', ..]) => {
            Some(Link::ChangeDirectory {
                cd: Word::new(dir.bytes.clone()),
            })
        }
        (b"export", [_, ..]) => {
            let pair = |word: &Scanned| {
                let at = word.bytes.iter().position(|b| *b == b'=')?;
                let name = std::str::from_utf8(word.bytes.get(..at)?)
                    .ok()
                    .filter(|name| is_env_name(name))?;
                Some((name.to_owned(), Word::new(word.bytes.get(at + 1..)?)))
            };
            Some(Link::Export {
                export: operands.iter().map(pair).collect::<Option<Env>>()?,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use UnsupportedReason::{Builtin, Comment, Empty, Expansion, Operator, Program, Quote};

    type Words = (Vec<(String, Vec<u8>)>, Vec<Vec<u8>>);

    fn read(text: &str) -> Result<Words, (UnsupportedReason, String, usize)> {
        match parse_command(text) {
            Command::Argv { env, pieces } => {
                let env = env.into_iter().map(|(k, v)| (k, v.into_bytes())).collect();
                let words = pieces.into_iter().map(|p| match p {
                    Piece::Word(w) => w.into_bytes(),
                    Piece::Changed => b"<changed>".to_vec(),
                });
                Ok((env, words.collect()))
            }
            Command::Unsupported { unsupported: u, .. } => Err((u.reason, u.text, u.offset)),
        }
    }

    #[test]
    fn words() {
        for (text, want) in [
            ("a  b\tc ", vec!["a", "b", "c"]),
            ("a 'b c'\"d e\"f\\ g", vec!["a", "b cd ef g"]),
            ("a '' \"\" b''", vec!["a", "", "", "b"]),
            ("a \"\\\"\\\\\\$\\`\\n\\'\"", vec!["a", "\"\\$`\\n\\'"]),
            ("a \\\nb", vec!["a", "b"]),
            ("a b\\\nc", vec!["a", "b", "c"]),
            ("a \"b\\\nc\"", vec!["a", "b c"]),
            ("a 'b\nc' \"d\ne\"", vec!["a", "b\nc", "d\ne"]),
            ("a $'\\x41\\\\\\'\\n\\t\\r' b", vec!["a", "A\\'\n\t\r", "b"]),
            (
                "a {} {b} c} {d x{y",
                vec!["a", "{}", "{b}", "c}", "{d", "x{y"],
            ),
            (
                "a {changed} '{changed}' x{changed}",
                vec!["a", "<changed>", "{changed}", "x{changed}"],
            ),
            ("test ! -f x", vec!["test", "!", "-f", "x"]),
            ("'!' a", vec!["!", "a"]),
            ("a $ \"$\" x$ $\"b\"", vec!["a", "$", "$", "x$", "$b"]),
            ("a \"$'b'\"", vec!["a", "$'b'"]),
            ("a b#c \\#d '#'", vec!["a", "b#c", "#d", "#"]),
            ("FOO-BAR=1 a", vec!["FOO-BAR=1", "a"]),
            ("'FOO=1' a", vec!["FOO=1", "a"]),
            ("FO\\O=1 a", vec!["FOO=1", "a"]),
            ("echo a\\ ", vec!["echo", "a "]),
            ("[ -f a ]", vec!["[", "-f", "a", "]"]),
            ("echo a\\\\", vec!["echo", "a\\"]),
        ] {
            let want = want.into_iter().map(|w| w.as_bytes().to_vec()).collect();
            assert_eq!(read(text), Ok((Vec::new(), want)), "{text:?}");
        }
        assert_eq!(
            read("a $'\\xff\\x0a'"),
            Ok((Vec::new(), vec![b"a".to_vec(), b"\xff\n".to_vec()]))
        );
        let env = vec![
            ("A".to_owned(), b"3 $".to_vec()),
            ("B".to_owned(), Vec::new()),
        ];
        assert_eq!(
            read("A=1 B= A='3 $' c D=4"),
            Ok((env, vec![b"c".to_vec(), b"D=4".to_vec()]))
        );
    }

    #[test]
    fn faults() {
        for (text, reason, found, offset) in [
            ("a || b", Operator, "||", 2),
            ("a&&b", Operator, "&&", 1),
            ("a 2>&1", Operator, ">", 3),
            ("a\nb", Operator, "\n", 1),
            ("! a", Operator, "!", 0),
            ("A=1 ! a", Operator, "!", 4),
            ("a {", Operator, "{", 2),
            ("a } b", Operator, "}", 2),
            ("echo (a)", Operator, "(", 5),
            ("cd x && y", Operator, "&&", 5),
            ("echo \"a $B\"", Expansion, "$B", 8),
            ("echo ${A} | b", Expansion, "${A}", 5),
            ("echo $(a (b) c)d", Expansion, "$(a (b) c)", 5),
            ("echo $1", Expansion, "$1", 5),
            ("echo $?", Expansion, "$?", 5),
            ("echo $$", Expansion, "$$", 5),
            ("echo `a b`", Expansion, "`a b`", 5),
            ("cd x", Builtin, "cd", 0),
            ("A=1 'export' B=2", Builtin, "'export'", 4),
            (". x", Builtin, ".", 0),
            ("echo 'a", Quote, "'", 5),
            ("echo \"a $B", Quote, "\"", 5),
            ("echo \"a\\\"", Quote, "\"", 5),
            ("echo a\\", Quote, "\\", 6),
            ("echo $'a", Quote, "$'", 5),
            ("echo $'\\q'", Quote, "\\q", 7),
            ("echo $'\\x00'", Quote, "\\x", 7),
            ("echo \0", Quote, "\0", 5),
            ("echo # a", Comment, "# a", 5),
            ("", Empty, "", 0),
            (" \t", Empty, "", 2),
            ("A=1", Empty, "", 3),
            ("'' a", Empty, "''", 0),
            ("a: b", Program, "a:", 0),
            ("-f x", Program, "-f", 0),
            ("{changed} a", Program, "{changed}", 0),
        ] {
            assert_eq!(
                read(text),
                Err((reason, found.to_owned(), offset)),
                "{text:?}"
            );
        }
    }

    #[test]
    fn chains() {
        let run = |words: &[&str]| Link::Run {
            argv: words.iter().map(|w| Word::from(*w)).collect(),
            env: Env::new(),
        };
        let cd = |dir: &str| Link::ChangeDirectory {
            cd: Word::from(dir),
        };
        let other = |text: &str, reason, found: &str, offset| Link::Other {
            text: text.to_owned(),
            unsupported: Box::new(Unsupported {
                chain: Vec::new(),
                changes_shell: changes(text) != Changes::Nothing,
                offset,
                reason,
                text: found.to_owned(),
            }),
        };
        let export = |pairs: &[(&str, &str)]| Link::Export {
            export: pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), Word::from(*value)))
                .collect(),
        };
        for (text, want) in [
            (
                "cd 'a b' && echo '' \\\\",
                vec![cd("a b"), run(&["echo", "", "\\"])],
            ),
            (
                "a | b && c",
                vec![other("a | b", Operator, "|", 2), run(&["c"])],
            ),
            ("cd && a", vec![other("cd", Builtin, "cd", 0), run(&["a"])]),
            (
                "cd - && a",
                vec![other("cd -", Builtin, "cd", 0), run(&["a"])],
            ),
            (
                "cd ~/x && a",
                vec![other("cd ~/x", Builtin, "cd", 0), run(&["a"])],
            ),
            (
                "a && A=1 cd x",
                vec![run(&["a"]), other("A=1 cd x", Builtin, "cd", 4)],
            ),
            (
                "echo $X && a",
                vec![other("echo $X", Expansion, "$X", 5), run(&["a"])],
            ),
            ("a && b || c", vec![]),
            ("a &&", vec![]),
            ("cd x", vec![cd("x")]),
            (" cd 'a b' ", vec![cd("a b")]),
            ("cd x y", vec![]),
            ("cd a*", vec![]),
            ("A=1 cd x", vec![]),
            ("cd {changed}", vec![]),
            ("pushd x", vec![]),
            (
                "export A=1 'B=x y' A=2",
                vec![export(&[("A", "2"), ("B", "x y")])],
            ),
            (
                "export A= && make",
                vec![export(&[("A", "")]), run(&["make"])],
            ),
            ("export A", vec![]),
            ("export", vec![]),
            ("export -n A=1", vec![]),
            ("export A=$B", vec![]),
            ("export A=~/x", vec![]),
            ("export A-B=1", vec![]),
            ("cd a && export B=1", vec![cd("a"), export(&[("B", "1")])]),
            ("a && b {changed}", vec![]),
        ] {
            let Command::Unsupported { unsupported, .. } = parse_command(text) else {
                panic!("{text}")
            };
            assert_eq!(unsupported.chain, want, "{text}");
        }
    }
}
