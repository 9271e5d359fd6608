//! Fills variables into text, as far as their values are written down.

use std::collections::BTreeMap;

/// The deepest use of variables within variables.
const MAX_DEPTH: usize = 16;
/// The longest text that comes of it, in bytes.
const MAX_TEXT: usize = 1 << 15;

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Its text, in which others may be named.
    Text(String),
    /// Only make knows it: it depends on a condition, or is several lines.
    Unknown,
}

/// The variables of a makefile, over them those of a target (`$@`, `$<` and its own).
pub struct Scope<'a> {
    /// Those of the makefile.
    pub global: &'a BTreeMap<String, Value>,
    /// Those of the target.
    pub own: BTreeMap<String, Value>,
}

/// The text became too long.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

impl Scope<'_> {
    /// Fills in variables. What only make knows stays as it is written: `$(shell …)`, `$(X:a=b)`,
    /// values under a condition. A variable that is nowhere is empty, as for make.
    pub fn expand(&self, text: &str) -> Result<String, TooLong> {
        let mut out = String::new();
        self.fill(text, 0, "$", &mut out)?;
        Ok(out)
    }

    /// Fills in variables in a value that will be filled into another text: `$$` stays.
    pub fn settle(&self, text: &str) -> Result<String, TooLong> {
        let mut out = String::new();
        self.fill(text, 0, "$$", &mut out)?;
        Ok(out)
    }

    fn fill(
        &self,
        text: &str,
        depth: usize,
        dollar: &str,
        out: &mut String,
    ) -> Result<(), TooLong> {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            if out.len() > MAX_TEXT {
                return Err(TooLong);
            }
            let (name, whole, taken) = reference(after);
            rest = after.get(taken..).unwrap_or_default();
            match name {
                // A dollar of the shell.
                Name::Dollar => out.push_str(dollar),
                Name::Odd => {
                    out.push('$');
                    out.push_str(whole);
                }
                Name::Plain(name) => match self.own.get(name).or_else(|| self.global.get(name)) {
                    Some(Value::Text(value)) if depth < MAX_DEPTH => {
                        self.fill(value, depth + 1, dollar, out)?;
                    }
                    Some(_) => {
                        out.push('$');
                        out.push_str(whole);
                    }
                    None => {}
                },
            }
        }
        out.push_str(rest);
        if out.len() > MAX_TEXT {
            return Err(TooLong);
        }
        Ok(())
    }
}

enum Name<'a> {
    Dollar,
    Plain(&'a str),
    Odd,
}

/// Reads what is behind a `$`: its name, its text, and how many bytes it takes.
fn reference(after: &str) -> (Name<'_>, &str, usize) {
    let Some(first) = after.chars().next() else {
        return (Name::Odd, "", 0);
    };
    let (open, close) = match first {
        '$' => return (Name::Dollar, "$", 1),
        '(' => ('(', ')'),
        '{' => ('{', '}'),
        _ => {
            let taken = first.len_utf8();
            let whole = after.get(..taken).unwrap_or_default();
            return (Name::Plain(whole), whole, taken);
        }
    };
    let mut depth = 0_usize;
    for (at, c) in after.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                let inner = after.get(1..at).unwrap_or_default();
                let whole = after.get(..=at).unwrap_or_default();
                let plain = |c: char| c.is_alphanumeric() || "_-.@<^*+?%/".contains(c);
                let name = if !inner.is_empty() && inner.chars().all(plain) {
                    Name::Plain(inner)
                } else {
                    Name::Odd
                };
                return (name, whole, at + 1);
            }
        }
    }
    (Name::Odd, after, after.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let text = |t: &str| Value::Text(t.to_owned());
        let mut global = BTreeMap::from([
            ("A".to_owned(), text("a")),
            ("B".to_owned(), text("$(A)-${A}")),
            ("LOOP".to_owned(), text("x$(LOOP)")),
            ("U".to_owned(), Value::Unknown),
        ]);
        let scope = Scope {
            global: &global,
            own: BTreeMap::from([("@".to_owned(), text("all"))]),
        };
        for (given, want) in [
            ("plain", "plain"),
            ("$A $(A) ${A}", "a a a"),
            ("$(B)", "a-a"),
            ("$@ $$HOME $$(date)", "all $HOME $(date)"),
            ("x$(NONE)y", "xy"),
            ("$(U)", "$(U)"),
            ("$(shell a $(A)) b", "$(shell a $(A)) b"),
            ("$(A:.c=.o)", "$(A:.c=.o)"),
            ("$(open", "$(open"),
            ("end$", "end$"),
            ("$é", ""),
        ] {
            assert_eq!(scope.expand(given).as_deref(), Ok(want), "{given}");
        }
        assert!(scope.expand("$(LOOP)").is_ok_and(|t| t.len() < 100));
        let mut name = "A".to_owned();
        for i in 0..40 {
            let next = format!("X{i}");
            global.insert(
                next.clone(),
                text(&format!("$({name})$({name})$({name})$({name})")),
            );
            name = next;
        }
        let scope = Scope {
            global: &global,
            own: BTreeMap::new(),
        };
        assert_eq!(scope.expand("$(X15)"), Err(TooLong), "4^16 letters");
    }
}
