//! The lines of a makefile as make reads them before it expands anything (GNU make's manual, chapters 3
//! to 6). What its tasks run is read from them, and which targets it certainly has.

/// A logical line, without its comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MakefileLine<'t> {
    /// Of a recipe, behind its tab.
    Recipe(&'t str),
    /// A variable: what is in front of `=`, and behind it.
    Variable(&'t str, &'t str),
    /// A variable of some targets: what is behind their colon.
    OfTargets(&'t str),
    /// Targets, what they need, and a command on the same line.
    Rule(&'t str, &'t str, &'t str),
    Other,
}

impl<'t> MakefileLine<'t> {
    /// Reads a line by the first `:` or `=` outside of `$(…)`.
    pub fn parse(text: &'t str) -> Self {
        if let Some(command) = text.strip_prefix('\t') {
            return Self::Recipe(command);
        }
        let line = without_comment(text);
        let Some((at, sign)) = mark(line) else {
            return Self::Other;
        };
        let part = |range: std::ops::Range<usize>| line.get(range).unwrap_or_default();
        if let Some(sign) = sign {
            return Self::Variable(part(0..sign), part(sign + 1..line.len()));
        }
        let left = part(0..at);
        let right = part(at + 1..line.len());
        let right = right.strip_prefix(':').unwrap_or(right);
        let (needs, command) = right.split_once(';').unwrap_or((right, ""));
        match mark(needs) {
            Some((_, Some(_))) => Self::OfTargets(needs),
            _ => Self::Rule(
                left.strip_suffix('&').unwrap_or(left).trim_ascii(),
                needs,
                command,
            ),
        }
    }
}

/// The place of the first `:` or `=` outside of `$(…)`, and that of `=` where it is `=`, `:=`, `::=`.
fn mark(line: &str) -> Option<(usize, Option<usize>)> {
    let mut closers: Vec<char> = Vec::new();
    let mut previous = ' ';
    for (at, c) in line.char_indices() {
        match c {
            '(' if previous == '$' || closers.last() == Some(&')') => closers.push(')'),
            '{' if previous == '$' || closers.last() == Some(&'}') => closers.push('}'),
            ')' | '}' if closers.last() == Some(&c) => drop(closers.pop()),
            '=' | ':' if closers.is_empty() => {
                let behind = line.get(at..)?.trim_start_matches(':');
                let sign = behind.starts_with('=').then(|| line.len() - behind.len());
                return Some((at, sign));
            }
            _ => {}
        }
        previous = c;
    }
    None
}

/// A line up to its comment, without the blanks around it.
pub fn without_comment(line: &str) -> &str {
    let starts = |(at, _): &(usize, &str)| line.get(..*at).is_none_or(|text| !text.ends_with('\\'));
    let end = line.match_indices('#').find(starts).map(|(at, _)| at);
    line.get(..end.unwrap_or(line.len()))
        .unwrap_or(line)
        .trim_ascii()
}

/// The lines of a text with their numbers; one that ends in an odd number of backslashes goes on.
pub fn lines(text: &str) -> Vec<(u32, String)> {
    let mut out: Vec<(u32, String)> = Vec::new();
    let mut open = false;
    for (number, line) in (1..).zip(text.lines()) {
        let rest = line.strip_suffix('\\').filter(|rest| {
            let backslashes = rest.len() - rest.trim_end_matches('\\').len();
            backslashes % 2 == 0
        });
        let part = rest.unwrap_or(line);
        match out.last_mut() {
            Some((_, whole)) if open => {
                whole.push(' ');
                whole.push_str(part.trim_start());
            }
            _ => out.push((number, part.to_owned())),
        }
        open = rest.is_some();
    }
    out
}
