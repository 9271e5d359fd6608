//! The changes for which checks run: sets of files by language, and `code`, everything but prose.

use super::check::{Check, Condition};
use super::tree::{Tree, is_prose};
use std::collections::BTreeSet;
use vplan_base::path::RepoPath;
use vplan_check::tool::table;

/// The most patterns of prose in `code`.
const MAX_PROSE: usize = 8;

/// The condition of a command: that of its source, else the set of its row.
pub fn of(paths: &[String], set: &'static str, tree: &Tree) -> Condition {
    if !paths.is_empty() {
        return Condition::Own(paths.to_vec());
    }
    let has = |set: &str| {
        let globs = globs_of(set);
        let globs: Vec<_> = globs
            .iter()
            .filter_map(|glob| vplan_base::glob::Glob::parse(glob).ok())
            .collect();
        tree.files
            .iter()
            .any(|file| globs.iter().any(|glob| glob.matches(file)))
    };
    match set {
        "all" => Condition::Set("all"),
        // A set that no file is in would select nothing.
        _ if !set.is_empty() && set != "code" && has(set) => Condition::Set(set),
        _ => Condition::Set("code"),
    }
}

fn globs_of(set: &str) -> Vec<String> {
    let language = table::languages()
        .iter()
        .find(|language| language.name == set);
    let globs = language.map_or(&[][..], |language| &language.globs);
    globs.iter().map(|glob| (*glob).to_owned()).collect()
}

/// The globs of a set. Of a language those that some file matches; `code` leaves out the prose that no
/// kept command names.
pub fn globs(set: &str, tree: &Tree, checks: &[Check]) -> Vec<String> {
    match set {
        "all" => vec!["**".to_owned()],
        "code" => code(tree, checks),
        _ => {
            let all = globs_of(set);
            let parsed = all.iter().filter(|glob| {
                let glob = vplan_base::glob::Glob::parse(glob);
                glob.is_ok_and(|glob| tree.files.iter().any(|file| glob.matches(file)))
            });
            parsed.cloned().collect()
        }
    }
}

fn code(tree: &Tree, checks: &[Check]) -> Vec<String> {
    let mut out = vec!["**".to_owned()];
    let code = checks
        .iter()
        .filter(|check| check.condition == Condition::Set("code"));
    let words: Vec<&str> = code
        .flat_map(|check| &check.words)
        .map(String::as_str)
        .collect();
    let names = |name: &str| {
        let is = |word: &&str| {
            let word = word.trim_start_matches("./").trim_end_matches('/');
            word == name
                || word
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        words.iter().any(is)
    };
    let prose: Vec<&RepoPath> = tree.files.iter().filter(|file| is_prose(file)).collect();
    let named = prose.iter().any(|file| {
        let text = file.to_string();
        words
            .iter()
            .any(|word| word.trim_start_matches("./") == text)
    });
    let endings: BTreeSet<&str> = prose
        .iter()
        .filter_map(|file| std::str::from_utf8(file.name()).ok()?.rsplit_once('.'))
        .map(|(_, ending)| ending)
        .filter(|ending| matches!(*ending, "md" | "markdown" | "adoc" | "rst"))
        .collect();
    let is_glob = |ending: &str| {
        words
            .iter()
            .any(|word| word.ends_with(&format!("*.{ending}")))
    };
    if !named {
        let free = endings.into_iter().filter(|ending| !is_glob(ending));
        out.extend(free.map(|ending| format!("!**/*.{ending}")));
    } else {
        // A command or a test reads one of them: those in folders of prose stay excluded.
        let own = prose.iter().filter(|file| file.segments().count() == 1);
        let own = own
            .map(|file| file.to_string())
            .filter(|name| !names(name) && name.contains('.'));
        out.extend(
            own.take(MAX_PROSE)
                .map(|name| format!("!{}", vplan_base::glob::escape(&name))),
        );
    }
    for folder in ["docs", "doc"] {
        let path = RepoPath::parse(folder.as_bytes()).unwrap_or_default();
        if tree.has_folder(&path) && !path.is_root() && !names(folder) {
            out.push(format!("!{folder}/**"));
        }
    }
    for licence in ["LICENSE", "LICENCE", "COPYING"] {
        let has = |file: &&RepoPath| {
            file.segments().count() == 1 && file.as_bytes().starts_with(licence.as_bytes())
        };
        if prose.iter().any(has) {
            out.push(format!("!{licence}*"));
        }
    }
    out.sort();
    out.dedup();
    // `**` is first by its meaning.
    out.sort_by_key(|glob| glob.starts_with('!'));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::check;

    #[test]
    fn code_is_everything_but_prose() {
        let files = [
            ("README.md", ""),
            ("docs/a.md", ""),
            ("LICENSE", ""),
            ("src/a.py", ""),
        ];
        let tree = Tree::of(&files);
        let globs = |text: &str| code(&tree, &[check(text)]);
        assert_eq!(globs("pytest"), ["**", "!**/*.md", "!LICENSE*", "!docs/**"]);
        assert_eq!(globs("mdbook test docs"), ["**", "!**/*.md", "!LICENSE*"]);
        assert_eq!(globs("doctest README.md"), ["**", "!LICENSE*", "!docs/**"]);
    }

    #[test]
    fn the_condition_of_the_source_is_first() {
        let tree = Tree::of(&[("a.py", "")]);
        let own = vec!["src/**".to_owned()];
        assert_eq!(of(&own, "python", &tree), Condition::Own(own.clone()));
        assert_eq!(of(&[], "python", &tree), Condition::Set("python"));
        assert_eq!(
            of(&[], "rust", &tree),
            Condition::Set("code"),
            "no file of it"
        );
        assert_eq!(of(&[], "", &tree), Condition::Set("code"));
    }
}
