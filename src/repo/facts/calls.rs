//! Lists the other files that a script, a makefile or a package.json calls. Each line has one form:
//! `. NAME`, `include NAME`, `SCRIPT: TEXT`. The value of a variable or a command is `$` in a NAME.

use super::package;
use std::collections::BTreeSet;
use vplan_base::path::RepoPath;

/// Maximum number of returned lines.
const MOST: usize = 500;

/// Words after which a shell's line may begin a command.
const BEFORE: [&str; 10] = [
    "!", "&&", "(", "do", "else", "if", "then", "until", "while", "{",
];

/// Returns the lines of a file that call others; `None` when it cannot be read.
pub fn calls(path: &RepoPath, bytes: &[u8]) -> Option<BTreeSet<String>> {
    if path.name() == b"package.json" {
        let scripts = package::read(bytes)?.scripts.into_iter();
        let line = |(name, text): (String, String)| format!("{name}: {text}");
        return Some(scripts.map(line).take(MOST).collect());
    }
    // A compiled program is not a script.
    if bytes.contains(&0) {
        return Some(BTreeSet::new());
    }
    let text = String::from_utf8_lossy(bytes).replace("\\\n", " ");
    let found = text.lines().flat_map(|line| {
        let mut found = included(line);
        found.extend(sourced(line));
        found
    });
    Some(found.take(MOST).collect())
}

/// The makefiles that a line includes.
fn included(line: &str) -> Vec<String> {
    let line = line.trim_start_matches(' ');
    let Some((word, rest)) = line.split_once(char::is_whitespace) else {
        return Vec::new();
    };
    if !matches!(word, "include" | "-include" | "sinclude") || rest.trim_start().starts_with('=') {
        return Vec::new();
    }
    let mut rest = rest.split('#').next().unwrap_or_default().to_owned();
    // `$(wildcard a/*.mk b/*.mk)` is `a/*.mk b/*.mk`.
    while let Some((before, call)) = rest.split_once("$(wildcard ") {
        let (names, after) = call.split_once(')').unwrap_or((call, ""));
        rest = format!("{before}{names}{after}");
    }
    let mut names = Vec::new();
    let mut left = rest.trim_start();
    while !left.is_empty() {
        let (name, after) = word_of(left);
        names.push(format!("include {name}"));
        // Characters that cannot begin a word are skipped.
        let skipped = after.len() == left.len();
        left = after.get(usize::from(skipped)..).unwrap_or_default();
        left = left.trim_start();
    }
    names
}

/// The scripts that a line of a shell sources.
fn sourced(line: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut at = 0;
    let mut before = "&&";
    for word in line.split_whitespace() {
        let Some(begin) = line.get(at..).and_then(|rest| rest.find(word)) else {
            break;
        };
        at += begin + word.len();
        let begins = BEFORE.contains(&before) || before.ends_with([';', '&', '|']);
        let plain = word.trim_start_matches(['(', '{', '@', '-']);
        if begins && matches!(plain, "." | "source") {
            let rest = line.get(at..).unwrap_or_default().trim_start();
            let (name, _) = word_of(rest);
            if !name.is_empty() {
                names.push(format!(". {name}"));
            }
        }
        before = word;
    }
    names
}

/// Returns the first word of a text, without its quotes and with `$` for computed parts; and the
/// rest.
fn word_of(text: &str) -> (String, &str) {
    let mut word = String::new();
    let mut quote = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(c),
            '$' | '`' if quote != Some('\'') => {
                let end = at + computed(text.get(at..).unwrap_or_default());
                while chars.next_if(|(next, _)| *next < end).is_some() {}
                if !word.ends_with('$') {
                    word.push('$');
                }
            }
            _ if quote.is_none() && (c.is_whitespace() || ";&|()<>".contains(c)) => {
                return (word, text.get(at..).unwrap_or_default());
            }
            c => word.push(c),
        }
    }
    (word, "")
}

/// The length of the computed part at the beginning of a text: `$NAME`, `${…}`, `$(…)`, `` `…` ``.
fn computed(text: &str) -> usize {
    if let Some(rest) = text.strip_prefix('`') {
        return rest.find('`').map_or(text.len(), |end| end + 2);
    }
    let rest = text.get(1..).unwrap_or_default();
    if !rest.starts_with(['(', '{']) {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let name = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        // `$0`, `$@` and their like are one character.
        return 1 + name.max(rest.chars().next().map_or(0, char::len_utf8));
    }
    let mut depth = 0_usize;
    for (at, c) in rest.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 2;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_call_other_files() {
        for (name, text, want) in [
            (
                "Makefile",
                "include mk/a.mk b.mk # c\nall:\n",
                &["include b.mk", "include mk/a.mk"][..],
            ),
            (
                "Makefile",
                "-include .env\nsinclude x\n",
                &["include .env", "include x"],
            ),
            (
                "Makefile",
                "include $(TOP)/a.mk $(wildcard mk/*.mk)\n",
                &["include $/a.mk", "include mk/*.mk"],
            ),
            (
                "a.mk",
                "include $(dir $(lastword $(MAKEFILE_LIST)))b.mk\n",
                &["include $b.mk"],
            ),
            (
                "a.mk",
                "include a.mk \\\n  b.mk\ninclude = 5\nincluded: x\n",
                &["include a.mk", "include b.mk"],
            ),
            ("a.mk", "include )(x\n", &["include ", "include x"]),
            (
                "x.sh",
                "#!/bin/sh\n. ./lib.sh\n  source ci/env.sh arg\n",
                &[". ./lib.sh", ". ci/env.sh"],
            ),
            ("x.sh", ". \"$(dirname \"$0\")/lib.sh\"\n", &[". $/lib.sh"]),
            (
                "x.sh",
                "source \"${BASH_SOURCE%/*}/a b.sh\"; x\n",
                &[". $/a b.sh"],
            ),
            (
                "x.sh",
                ". $here/lib.sh; . `dirname $0`/l.sh\n",
                &[". $/l.sh", ". $/lib.sh"],
            ),
            (
                "x.sh",
                "[ -f a.sh ] && . a.sh\nif . b.sh; then\n",
                &[". a.sh", ". b.sh"],
            ),
            (
                "x.sh",
                "x; (. c.sh)\n\t@. venv/activate; pytest\n",
                &[". c.sh", ". venv/activate"],
            ),
            ("x.sh", "echo . a\ncp x .\nfind . -name y\n# . z\n", &[]),
            (
                "x.sh",
                ". 'a$b'\n. ${open\n. \u{e4}\u{20ac}$\u{20ac}\n.",
                &[". $", ". a$b", ". \u{e4}\u{20ac}$"],
            ),
            ("tool", "\0. x\n", &[]),
            (
                "package.json",
                "{\"scripts\":{\"test\":\"node x.js\"}}",
                &["test: node x.js"],
            ),
        ] {
            let path = RepoPath::parse(name.as_bytes()).unwrap();
            let got: Vec<String> = calls(&path, text.as_bytes()).unwrap().into_iter().collect();
            assert_eq!(got, want, "{text:?}");
        }
        let path = RepoPath::parse(b"a/package.json").unwrap();
        assert_eq!(calls(&path, b"{"), None);
    }
}
