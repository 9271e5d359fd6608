//! Lines of YAML that begin too far left inside brackets: the standard wants them deeper than the
//! key before the bracket, the readers of CI systems do not.

/// The state of a scan of a text.
#[derive(Default)]
struct Scan {
    /// The brackets that are open.
    open: usize,
    /// The quote that is open.
    quote: Option<char>,
    /// The column of the key before the first open bracket.
    column: usize,
    /// The column of the key of a block scalar, whose lines are deeper.
    block: Option<usize>,
}

/// Returns the text with the lines inside brackets moved to the right, each on its line as before.
/// `None` where there are none that begin too far left.
pub(super) fn indented(text: &str) -> Option<String> {
    let mut scan = Scan::default();
    let mut out = String::with_capacity(text.len());
    let mut moved = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start_matches(' ');
        let indent = line.len() - bare.len();
        let blank = bare.trim().is_empty();
        if let Some(column) = scan.block {
            if blank || indent > column {
                out.push_str(line);
                continue;
            }
            scan.block = None;
        }
        if scan.open == 0 && scan.quote.is_none() {
            scan.column = indent + dashes(bare);
        } else if scan.quote.is_none() && !blank && indent <= scan.column {
            out.push_str(&" ".repeat(scan.column + 2 - indent));
            moved = true;
        }
        out.push_str(line);
        scan.line(bare);
    }
    moved.then_some(out)
}

/// The width of the marks of sequences at the beginning of a line.
fn dashes(bare: &str) -> usize {
    let mut rest = bare;
    while let Some(after) = rest.strip_prefix("- ") {
        rest = after.trim_start_matches(' ');
    }
    bare.len() - rest.len()
}

impl Scan {
    /// Reads a line for brackets, quotes and the header of a block scalar.
    fn line(&mut self, line: &str) {
        let mut before = ' ';
        // The last character that is not blank: a value begins behind `:`, `-` or a bracket.
        let mut last = None;
        let mut escaped = false;
        for c in line.chars() {
            if let Some(quote) = self.quote {
                if escaped {
                    escaped = false;
                } else if c == '\\' && quote == '"' {
                    escaped = true;
                } else if c == quote {
                    self.quote = None;
                }
                before = c;
                last = Some(c);
                continue;
            }
            let begins = match last {
                None => true,
                Some(':' | '-') => before.is_whitespace(),
                Some('[' | '{' | ',') => self.open > 0,
                Some(_) => false,
            };
            match c {
                '#' if before.is_whitespace() => break,
                '\'' | '"' if begins => self.quote = Some(c),
                '[' | '{' if begins || self.open > 0 => self.open += 1,
                ']' | '}' => self.open = self.open.saturating_sub(1),
                _ => {}
            }
            before = c;
            if !c.is_whitespace() {
                last = Some(c);
            }
        }
        let header = line.trim_end().rsplit(' ').next().unwrap_or_default();
        let marks = header.strip_prefix(['|', '>']);
        if self.open == 0
            && self.quote.is_none()
            && marks
                .is_some_and(|rest| rest.chars().all(|c| "+-".contains(c) || c.is_ascii_digit()))
        {
            self.block = Some(self.column);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::indented;

    #[test]
    fn a_bracket_that_closes_below_its_key_is_moved() {
        let text = "m:\n  os: [\n    \"a\",\n  # one\n  b,\n  ]\n  x: 1\n";
        let want = "m:\n  os: [\n    \"a\",\n    # one\n    b,\n    ]\n  x: 1\n";
        assert_eq!(indented(text).as_deref(), Some(want));
        let item = "- on: {\n  push: {},\n}\n- b\n";
        let want = "- on: {\n    push: {},\n    }\n- b\n";
        assert_eq!(indented(item).as_deref(), Some(want));
    }

    #[test]
    fn scripts_quotes_and_comments_have_no_brackets() {
        for text in [
            "run: |\n  if [\n  a ]\nb: 1\n",
            "- run: >-\n    x {\n  env: {}\n- y\n",
            "a: \"[\"\nb: '{'\n# [\nc: x [\nd: ${{ x }}\n",
            "a: [b,\n  c]\nd: 1\n",
            "a: it's\nb: [\"\\\"]\"]\nc: 1\n",
        ] {
            assert_eq!(indented(text), None, "{text}");
        }
    }
}
