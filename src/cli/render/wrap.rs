//! Wraps lines at a terminal's columns. Continuation lines are indented after the bar or sign of
//! their line: foreign text at the left edge could pass for vplan's own words.

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
        if width(line) <= columns || is_path(line) {
            out.push_str(line);
        } else {
            broken(line, columns, &mut out);
        }
        out.push_str(end);
    }
    out
}

/// Whether a line names the path of an output, in colour or not.
fn is_path(line: &str) -> bool {
    plain(line).trim_start().starts_with(PATH)
}

/// Returns a line without its colours.
fn plain(line: &str) -> String {
    let shown = pieces(line).filter(|piece| !piece.is_escape);
    shown.map(|piece| piece.text).collect()
}

fn broken(line: &str, columns: usize, out: &mut String) {
    let plain = plain(line);
    let blanks = plain.len() - plain.trim_start_matches(' ').len();
    let rest = plain.get(blanks..).unwrap_or_default();
    let is_bar = rest.starts_with(BAR);
    let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
    let indent = if is_bar {
        format!("{}{BAR}", " ".repeat(blanks))
    } else {
        " ".repeat(blanks + sign.map_or(0, |sign| width(sign)))
    };
    // Where an indent would leave no room, the text may as well begin at its own.
    let indent = if width(&indent) + LEAST / 2 > columns {
        " ".repeat(2)
    } else {
        indent
    };
    let lead = width(&indent);
    let (mut row, mut used, mut shown) = (String::new(), 0, false);
    // Where the row could end: the offset after its last blank, and the columns used up to there.
    let mut blank: Option<(usize, usize)> = None;
    for piece in pieces(line) {
        let wide = piece.width();
        if shown && wide > 0 && used + wide > columns {
            let cut = blank.filter(|_| !is_bar && piece.text != " ");
            let (end, before) = cut.unwrap_or((row.len(), used));
            let rest = row.split_off(end);
            out.push_str(row.trim_end_matches(' '));
            out.push('\n');
            row = format!("{indent}{rest}");
            used = lead + used.saturating_sub(before);
            blank = None;
            if piece.text == " " && !is_bar {
                continue;
            }
        }
        row.push_str(piece.text);
        used += wide;
        shown |= wide > 0 && used > lead;
        if piece.text == " " && used > lead {
            blank = Some((row.len(), used));
        }
    }
    out.push_str(&row);
}

/// A character, or a whole sequence that sets a colour.
struct Piece<'t> {
    text: &'t str,
    is_escape: bool,
}

impl Piece<'_> {
    fn width(&self) -> usize {
        let shown = self.text.chars().filter(|_| !self.is_escape);
        shown.map(columns_of).sum()
    }
}

fn pieces(line: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_escape = first == '\u{1b}';
        let length = if is_escape {
            rest.find('m').map_or(rest.len(), |end| end + 1)
        } else {
            first.len_utf8()
        };
        let (text, behind) = rest.split_at_checked(length)?;
        rest = behind;
        Some(Piece { text, is_escape })
    })
}

/// Returns the columns that a text takes.
fn width(text: &str) -> usize {
    pieces(text).map(|piece| piece.width()).sum()
}

/// Returns the columns of a character: none for one that joins the one before it, two for wide ones
/// (Unicode Standard Annex 11, by blocks), else one.
fn columns_of(c: char) -> usize {
    match u32::from(c) {
        0x300..=0x36f | 0x200b..=0x200f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xe0100..=0xe01ef => {
            0
        }
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
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
            assert!(made.lines().all(|line| width(line) <= columns), "{made}");
            assert!(made.lines().all(|line| line.starts_with("  ")), "{made}");
        }
    }
}
