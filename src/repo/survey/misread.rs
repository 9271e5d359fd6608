//! Finds globs that mean something other than they seem to: `[id]` is one character, not a
//! directory of that name, a blank belongs to the name, `@(a|b)` and a list are names, too.

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
struct GlobMeaning<'c> {
    used: UsedGlob<'c>,
    /// The glob that was probably meant.
    meant: Glob,
    seems: Seems,
}

/// The way in which a glob seems to mean something else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seems {
    /// Its brackets are of a name.
    Brackets,
    /// A blank in its braces is of no name.
    Blanks,
    /// It is written as another language of globs or lists would have it.
    Foreign,
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
        let of = |text: Option<String>, seems| {
            // The contract has it, too.
            let text = text.filter(|text| !texts.contains(text.as_str()))?;
            let (used, meant) = (used.clone(), Glob::parse(&text).ok()?);
            Some(GlobMeaning { used, meant, seems })
        };
        let text = used.glob.text();
        [
            of(with_literal_brackets(text), Seems::Brackets),
            of(without_blanks(text), Seems::Blanks),
            of(in_braces(text), Seems::Foreign),
        ]
    });
    let mut found: BTreeMap<String, GlobMeaning<'_>> = BTreeMap::new();
    for look in looks.flatten() {
        let other = |of: &Glob, not: &Glob| {
            let mut files = files.clone();
            files.any(|path| of.matches(path) && !not.matches(path) && is_there(path))
        };
        let is_lacking = other(&look.meant, look.used.glob);
        let may_be_meant = || other(look.used.glob, &look.meant);
        let has_blank = || look.seems == Seems::Blanks && is_whole;
        if is_lacking || has_blank() && !may_be_meant() {
            found.insert(look.used.glob.text().to_owned(), look);
        }
    }
    let texts = found.keys().cloned().collect();
    for (text, look) in &found {
        let shown = visible(text);
        let (message, label) = match look.seems {
            Seems::Blanks => (
                format!("`{shown}` has a blank in its braces, which belongs to the name"),
                "no file has such a name",
            ),
            Seems::Brackets => (
                format!(
                    "`{shown}` selects one character for its brackets, not a file of this name"
                ),
                "does not select it",
            ),
            Seems::Foreign => (
                format!("`{shown}` is one name with these characters, not several"),
                "does not select what is meant",
            ),
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

/// Returns what was meant by an alternative of another language (`@(a|b)`), by a list in one glob,
/// or by a glob with blanks around it.
fn in_braces(text: &str) -> Option<String> {
    if text.contains(['\\', '{', '[']) {
        return None;
    }
    if text.trim() != text {
        return Some(text.trim().to_owned());
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, (inner, behind))) = rest
        .split_once('(')
        .and_then(|(before, rest)| Some((before, rest.split_once(')')?)))
    {
        let sign = before.chars().next_back();
        let is_group = matches!(sign, Some('@' | '+' | '?')) || inner.contains('|');
        let is_sign = |c: char| matches!(c, '@' | '+' | '?' | '*');
        match before.strip_suffix(is_sign).filter(|_| is_group) {
            _ if !is_group => out.push_str(&format!("{before}({inner})")),
            unsigned => {
                let none = if sign == Some('?') { "," } else { "" };
                let one = inner.replace('|', ",") + none;
                out.push_str(unsigned.unwrap_or(before));
                let is_one = !one.contains(',');
                out.push_str(&if is_one { one } else { format!("{{{one}}}") });
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    if out != text {
        return Some(out);
    }
    let parts: Vec<&str> = text.split([',', '|', ' ']).collect();
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    // A name may have a blank or a comma.
    let is_list = parts.len() > 1 && parts.iter().all(|part| part.contains('*'));
    is_list.then(|| format!("{{{}}}", parts.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_languages_write() {
        for (text, want) in [
            ("src/@(a|b).ts", Some("src/{a,b}.ts")),
            ("src/*.(ts|js)", Some("src/*.{ts,js}")),
            ("src/?(a).ts", Some("src/{a,}.ts")),
            ("src/+(a).ts", Some("src/a.ts")),
            ("src/*.ts ", Some("src/*.ts")),
            ("src/*.ts,src/*.js", Some("{src/*.ts,src/*.js}")),
            ("src/*.ts, src/*.js", Some("{src/*.ts,src/*.js}")),
            ("src/*.ts|src/*.js", Some("{src/*.ts,src/*.js}")),
            ("src/*.ts src/*.js", Some("{src/*.ts,src/*.js}")),
            ("app/(group)/**", None),
            ("app/@modal/(.)photo/*", None),
            ("my docs/**", None),
            ("src/@types/**", None),
            ("src/a,b.ts", None),
            ("*.{ts,tsx}", None),
        ] {
            assert_eq!(in_braces(text).as_deref(), want, "{text}");
        }
    }

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
