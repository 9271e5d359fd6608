//! Finds globs that mean something other than they seem to: `[id]` is one character, not a
//! directory of that name, and a blank in braces belongs to the name.

use super::folders::{UsedGlob, label_places, used};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_base::source::Sources;
use vplan_base::word::{quote_pattern, visible};
use vplan_contract::Contract;

/// A glob that means something other than it seems to.
pub const MISREAD_GLOB: Code = Code("vplan::repository::misread_glob");

/// What a glob seems to mean.
struct Look<'c> {
    used: UsedGlob<'c>,
    /// The glob that was probably meant.
    meant: Glob,
    /// Whether blanks are the difference; otherwise brackets.
    blanks: bool,
}

/// Reports an error for each glob that does not select one of these files, and seems to.
/// `is_there`: whether such a file is in the work tree. `is_whole`: the files are all of the
/// repository's. Then a blank in braces is an error unless a file has it.
pub fn find<'f>(
    contract: &Contract,
    sources: &Sources,
    files: impl Iterator<Item = &'f RepoPath> + Clone,
    is_there: impl Fn(&RepoPath) -> bool,
    is_whole: bool,
    sink: &mut Diagnostics,
) -> BTreeSet<String> {
    let written = used(contract);
    let texts: BTreeSet<&str> = written.iter().map(|used| used.glob.text()).collect();
    let looks = written.iter().flat_map(|used| {
        let of = |text: Option<String>, blanks| {
            // The contract has it, too.
            let text = text.filter(|text| !texts.contains(text.as_str()))?;
            let (used, meant) = (used.clone(), Glob::parse(&text).ok()?);
            Some(Look {
                used,
                meant,
                blanks,
            })
        };
        let text = used.glob.text();
        [
            of(with_literal_brackets(text), false),
            of(without_blanks(text), true),
        ]
    });
    let mut found: BTreeMap<String, Look<'_>> = BTreeMap::new();
    for look in looks.flatten() {
        let other = |of: &Glob, not: &Glob| {
            let mut files = files.clone();
            files.any(|path| of.matches(path) && !not.matches(path) && is_there(path))
        };
        let is_lacking = other(&look.meant, look.used.glob);
        let may_be_meant = || other(look.used.glob, &look.meant);
        if is_lacking || look.blanks && is_whole && !may_be_meant() {
            found.insert(look.used.glob.text().to_owned(), look);
        }
    }
    let texts = found.keys().cloned().collect();
    for (text, look) in &found {
        let shown = visible(text);
        let (message, label) = if look.blanks {
            (
                format!("`{shown}` has a blank in its braces, which belongs to the name"),
                "no file has such a name",
            )
        } else {
            (
                format!(
                    "`{shown}` selects one character for its brackets, not a file of this name"
                ),
                "does not select it",
            )
        };
        let help = format!("write `{}`", visible(&*quote_pattern(look.meant.text())));
        for (place, _) in label_places(sources, &look.used) {
            sink.push(
                Diagnostic::error(MISREAD_GLOB, message.clone())
                    .label(place, label)
                    .help(help.clone()),
            );
        }
    }
    texts
}

/// Returns a glob with its classes as names in brackets, if it has any.
fn with_literal_brackets(text: &str) -> Option<String> {
    if !text.contains('[') {
        return None;
    }
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars();
    let mut has_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(chars.next());
            }
            '[' | ']' => {
                has_class |= c == '[';
                out.extend(['\\', c]);
            }
            c => out.push(c),
        }
    }
    has_class.then_some(out)
}

/// Returns a glob without the blanks at the ends of its alternatives, if it has any.
fn without_blanks(text: &str) -> Option<String> {
    if !text.contains('{') || !text.contains(' ') {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let (mut depth, mut is_start) = (0_usize, false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(chars.next());
                is_start = false;
                continue;
            }
            ' ' if is_start => continue,
            ',' | '}' if depth > 0 => out.truncate(out.trim_end_matches(' ').len()),
            _ => {}
        }
        depth = match c {
            '{' => depth + 1,
            '}' => depth.saturating_sub(1),
            _ => depth,
        };
        is_start = depth > 0 && matches!(c, '{' | ',');
        out.push(c);
    }
    (out != text).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_glob_looks_like() {
        for (text, brackets, blanks) in [
            ("src/a", None, None),
            ("app/[id]/p.tsx", Some("app/\\[id\\]/p.tsx"), None),
            ("app/\\[id\\]/p.tsx", None, None),
            ("[[...slug]]/*", Some("\\[\\[...slug\\]\\]/*"), None),
            ("*.{ts, tsx}", None, Some("*.{ts,tsx}")),
            ("*.{ ts ,tsx }", None, Some("*.{ts,tsx}")),
            ("{a, {b , c}}/x y", None, Some("{a,{b,c}}/x y")),
            ("a, b", None, None),
            ("my docs/*.{a b,c}", None, None),
        ] {
            let own = |text: Option<&str>| text.map(str::to_owned);
            assert_eq!(with_literal_brackets(text), own(brackets), "{text}");
            assert_eq!(without_blanks(text), own(blanks), "{text}");
        }
    }
}
