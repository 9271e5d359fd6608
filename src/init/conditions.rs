//! The changes for which checks run: sets of files by language, and `code`, everything but prose.

use crate::check::{ProposedCheck, ProposedCondition};
use crate::tree::{RepositoryTree, is_prose};
use vplan_check::tool::table::{self};

/// The condition of a command: that of its source, else the set of its row.
pub fn condition(paths: &[String], set: &'static str, tree: &RepositoryTree) -> ProposedCondition {
    match set {
        _ if paths.first().is_some_and(|first| first.starts_with('!')) => {
            let own = globs_of(set).iter().map(|glob| (*glob).to_owned());
            let mut all: Vec<String> = own.collect();
            if all.is_empty() {
                all.push("**".to_owned());
            }
            ProposedCondition::Own([&all, paths].concat())
        }
        _ if !paths.is_empty() => ProposedCondition::Own(paths.to_vec()),
        "all" => ProposedCondition::Set(set),
        _ if tree.matching(globs_of(set)).next().is_some() => ProposedCondition::Set(set),
        // A set that no file is in would select nothing.
        _ => ProposedCondition::Set("code"),
    }
}

/// The globs of a language.
fn globs_of(set: &str) -> &'static [&'static str] {
    let mut languages = table::languages().iter();
    let language = languages.find(|language| language.name == set);
    language.map_or(&[], |language| &language.globs)
}

/// Whether a set is of code: `code` itself, or a language that has manifests.
pub fn is_of_code(set: &str) -> bool {
    let mut languages = table::languages().iter();
    let named = languages.find(|language| language.name == set);
    set != "all" && named.is_none_or(|language| !language.manifests.is_empty())
}

/// The globs of a set. Of a language those that some file matches; `code` leaves out the prose that no
/// kept command names.
pub fn globs(set: &str, tree: &RepositoryTree, checks: &[ProposedCheck]) -> Vec<String> {
    match set {
        "all" => vec!["**".to_owned()],
        "code" => code(tree, checks),
        _ => {
            let matches = |glob: &&&str| tree.matching(&[glob]).next().is_some();
            let own = globs_of(set).iter().filter(matches);
            own.map(|glob| (*glob).to_owned()).collect()
        }
    }
}

/// Prose, in the order of a contract.
const PROSE: &str = "\
    **/*.adoc **/*.markdown **/*.md **/*.rdoc **/*.rst *.cff .all-contributorsrc \
    .git-blame-ignore-revs .mailmap .zenodo.json AUTHORS CHANGELOG CHANGES COPYING* LICENCE* \
    LICENSE* NEWS codemeta.json doc/** docs/**";

fn code(tree: &RepositoryTree, checks: &[ProposedCheck]) -> Vec<String> {
    let is_code = |check: &&ProposedCheck| check.condition == ProposedCondition::Set("code");
    let code = checks.iter().filter(is_code);
    let words = code.flat_map(|check| &check.found.words);
    let words: Vec<&str> = words.map(|word| word.trim_start_matches("./")).collect();
    let names = |name: &str| {
        let is = |word: &&str| {
            let rest = word.trim_end_matches('/').strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        words.iter().any(is)
    };
    // A command that reads one of them may read others.
    let reads = |glob: &str| match glob.strip_prefix("**/*") {
        Some(ending) => words.iter().any(|word| word.ends_with(ending)),
        None => glob.strip_suffix("/**").is_some_and(names),
    };
    let is_left = |glob: &&str| {
        let is_whole = glob.ends_with("/**");
        tree.matching(&[glob])
            .any(|file| is_whole || is_prose(file))
            && !reads(glob)
    };
    let left = PROSE
        .split(' ')
        .filter(is_left)
        .map(|glob| format!("!{glob}"));
    std::iter::once("**".to_owned()).chain(left).collect()
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
            ("src/.mailmap", ""),
            ("src/a.py", ""),
        ];
        let tree = RepositoryTree::from_files(&files);
        let globs = |text: &str| code(&tree, &[check(text)]);
        assert_eq!(globs("pytest"), ["**", "!**/*.md", "!LICENSE*", "!docs/**"]);
        assert_eq!(globs("mdbook test docs"), ["**", "!**/*.md", "!LICENSE*"]);
        assert_eq!(globs("doctest README.md"), ["**", "!LICENSE*", "!docs/**"]);
    }

    #[test]
    fn the_condition_of_the_source_is_first() {
        let tree = RepositoryTree::from_files(&[("a.py", "")]);
        let own = vec!["src/**".to_owned()];
        assert_eq!(
            condition(&own, "python", &tree),
            ProposedCondition::Own(own.clone())
        );
        assert_eq!(
            condition(&[], "python", &tree),
            ProposedCondition::Set("python")
        );
        assert_eq!(
            condition(&[], "rust", &tree),
            ProposedCondition::Set("code"),
            "no file of it"
        );
        assert_eq!(condition(&[], "", &tree), ProposedCondition::Set("code"));
    }
}
