//! Wraps lines at a terminal's columns. Continuation lines are indented after the bar or sign of
//! their line: foreign text at the left edge could pass for vplan's own words.

use textwrap::core::{Word, display_width};
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm, fill};
use vplan_base::inert::without_escapes;

/// The fewest columns for which lines are wrapped.
const LEAST: usize = 20;
/// The bar in front of each line of foreign text.
const BAR: &str = "│ ";
/// Signs of vplan's own at the beginning of a line.
const SIGNS: [&str; 7] = ["✗ ", "→ ", "! ", "… ", "↻ ", "- ", "⧖ "];
/// A line that begins like this ends in a path of vplan's own, which is copied as a whole.
const PATH: &str = "whole output";

/// Wraps the lines of a text that are longer than `columns`; colours take none. A line with a bar
/// is broken where it is full, any other at a blank if it has one.
pub fn wrapped(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns.filter(|columns| *columns >= LEAST) else {
        return text.to_owned();
    };
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.split_at(line.trim_end_matches('\n').len());
        if display_width(line) <= columns || is_path(line) {
            out.push_str(line);
        } else {
            out.push_str(&broken(line, columns));
        }
        out.push_str(end);
    }
    out
}

/// Whether a line names the path of an output, in colour or not.
fn is_path(line: &str) -> bool {
    without_escapes(line).trim_start().starts_with(PATH)
}

/// All of a line as one word, which is broken where the row is full.
fn whole<'t>(line: &'t str) -> Box<dyn Iterator<Item = Word<'t>> + 't> {
    Box::new(std::iter::once(Word::from(line)))
}

fn broken(line: &str, columns: usize) -> String {
    let plain = without_escapes(line);
    let rest = plain.trim_start_matches(' ');
    let blanks = " ".repeat(plain.len() - rest.len());
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
    let bar = line.split_once(BAR).filter(|_| rest.starts_with(BAR));
    let indent = match bar {
        Some(_) => blanks + BAR,
        None => blanks + &" ".repeat(sign.map_or(0, |sign| display_width(sign))),
    };
    // Where an indent would leave no room, the text may as well begin at its own.
    let has_room = display_width(&indent) + LEAST / 2 <= columns;
    let options = Options::new(columns)
        .subsequent_indent(if has_room { &indent } else { "  " })
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    let Some((lead, foreign)) = bar else {
        return fill(line, options);
    };
    let lead = format!("{lead}{BAR}");
    let options = options.initial_indent(&lead);
    fill(
        foreign,
        options.word_separator(WordSeparator::Custom(whole)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_its_bar_or_sign() {
        for (text, columns, want) in [
            (
                "  │ abcdefghijklmnopqrstuvw\n",
                20,
                "  │ abcdefghijklmnop\n  │ qrstuvw\n",
            ),
            (
                "  │ aaaa bbbb cccc dddd eee\n",
                20,
                "  │ aaaa bbbb cccc d\n  │ ddd eee\n",
            ),
            (
                "    ✗ a test that fails: it is so\n",
                20,
                "    ✗ a test that\n      fails: it is\n      so\n",
            ),
            (
                "  → one two three four five",
                20,
                "  → one two three\n    four five",
            ),
            (
                "one two three four five six\n",
                20,
                "one two three four\nfive six\n",
            ),
            (
                "    ✗ aaaaaaaaaaaaaaaaaaaaaaaaaaa\n",
                20,
                "    ✗ aaaaaaaaaaaaaa\n      aaaaaaaaaaaaa\n",
            ),
            (
                "  whole output: .vplan/runs/abcdef/logs/a.log\n",
                20,
                "  whole output: .vplan/runs/abcdef/logs/a.log\n",
            ),
            ("short\n\nlines\n", 20, "short\n\nlines\n"),
            (
                "  │ 漢字漢字漢字漢字漢字\n",
                20,
                "  │ 漢字漢字漢字漢字\n  │ 漢字\n",
            ),
            (
                "\u{1b}[1mone two three four\u{1b}[0m five\n",
                20,
                "\u{1b}[1mone two three four\u{1b}[0m\nfive\n",
            ),
        ] {
            assert_eq!(wrapped(text, Some(columns)), want, "{text}");
            assert_eq!(wrapped(text, None), text);
            assert_eq!(wrapped(text, Some(10)), text);
        }
    }

    #[test]
    fn nothing_is_lost_and_no_row_is_longer() {
        let text = "  │ x yy  zzz ".to_owned()
            + &"word, 漢é ".repeat(50)
            + "\n  ! "
            + &"n".repeat(300)
            + "\n";
        let letters = |t: &str| {
            t.chars()
                .filter(|c| !" │!\n".contains(*c))
                .collect::<String>()
        };
        for columns in [20, 40, 80, 120] {
            let made = wrapped(&text, Some(columns));
            assert_eq!(letters(&made), letters(&text));
            assert!(
                made.lines().all(|line| display_width(line) <= columns),
                "{made}"
            );
            assert!(made.lines().all(|line| line.starts_with("  ")), "{made}");
        }
    }
}
