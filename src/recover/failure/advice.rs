//! Writes advice about a name that a command requests and that its file does not declare: a goal of
//! a makefile, a script of a package.json. It contains the missing name, similar ones, and the
//! file.
//!
//! Names of the repository are foreign text: only plain ones are shown, so that none of them can
//! read as an instruction.

use super::requested::{AskedKind, RequestedNames, requested_names};
use std::collections::BTreeSet;
use vplan_base::nearest::nearest;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::FailureCode;
use vplan_base::word::{and_more, visible};
use vplan_plan::Step;
use vplan_plan::facts::{Certainty, FactAnswer, Facts, Question};

/// Maximum number of declared names that are shown.
const SAID: usize = 8;
/// Limit of the length of a shown name, in bytes.
const LONGEST: usize = 60;

/// Returns the facts beyond those of classifying that [`advice`] about a classified failure depends
/// on: which of the possible files there is.
pub fn questions(step: &Step, code: FailureCode) -> BTreeSet<Question> {
    let paths = asked(step, code).map(|asked| asked.paths());
    let paths = paths.into_iter().flatten();
    paths.map(Question::Exists).collect()
}

/// Returns advice about the names that a failed step's command requests, if they are the cause: the
/// missing name, similar ones, and the file. In vplan's own words, with plain names only.
pub fn advice(step: &Step, code: FailureCode, stderr: &[u8], facts: &Facts) -> Option<String> {
    match asked(step, code) {
        Some(asked) => undeclared(&asked, facts),
        None => prerequisite(step, stderr),
    }
}

fn asked(step: &Step, code: FailureCode) -> Option<RequestedNames> {
    let is_missing = matches!(
        code,
        FailureCode::MissingMakeTarget | FailureCode::MissingScript
    );
    requested_names(step).filter(|_| is_missing)
}

/// The names that the command requests and the file does not declare.
fn undeclared(asked: &RequestedNames, facts: &Facts) -> Option<String> {
    let now = asked.now()?;
    let declared: Vec<&str> = match facts.get(&now) {
        Some(FactAnswer::List(list)) => list.iter().filter_map(|w| plain(w.as_str()?)).collect(),
        _ => Vec::new(),
    };
    let known = asked.undeclared(facts);
    let missing = known.first().or_else(|| asked.names.first())?;
    let missing = plain(missing)?;
    let what = match asked.kind {
        AskedKind::Script => "script",
        AskedKind::MakeGoal | AskedKind::OtherGoal => "target",
    };
    let file = file(asked, facts);
    let text = format!("{file} has no {what} `{missing}`");
    let end = "add it there, or ask for the contract to be corrected";
    if let Some(near) = nearest(missing, declared.iter().copied()) {
        return Some(format!("{text}; did you mean `{near}`? if not, {end}"));
    }
    if declared.is_empty() {
        return Some(format!("{text}; {end}"));
    }
    let some = declared.iter().take(SAID);
    let some: Vec<String> = some.map(|name| format!("`{name}`")).collect();
    let more = and_more(declared.len().saturating_sub(some.len()));
    Some(format!("{text}; it has {}{more}; {end}", some.join(", ")))
}

/// Returns the name of the file that would declare the names.
fn file(asked: &RequestedNames, facts: &Facts) -> String {
    let paths = asked.paths();
    let exists = |path: &&RepoPath| {
        let answer = facts.get(&Question::Exists((*path).clone()));
        matches!(answer, Some(FactAnswer::Word(Certainty::Yes)))
    };
    let found = paths.iter().find(exists);
    match found.map(|path| visible(path.as_bytes())) {
        Some(path) if plain(&path).is_some() => format!("`{path}`"),
        _ if asked.kind == AskedKind::Script => "the package.json".to_owned(),
        _ => "the makefile".to_owned(),
    }
}

/// A file that a rule of make needs and no rule makes.
fn prerequisite(step: &Step, stderr: &[u8]) -> Option<String> {
    let makes = requested_names(step).is_some_and(|asked| asked.kind != AskedKind::Script);
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().rev().find_map(|line| {
        let (_, rest) = line.split_once("*** No rule to make target ")?;
        rest.split_once(", needed by ")
    });
    let (needed, by) = line.filter(|_| makes)?;
    let unquoted = |quoted: &str| {
        let inner = quoted.strip_prefix(['\'', '`'])?;
        Some(inner.split_once('\'')?.0.to_owned())
    };
    let (needed, by) = (unquoted(needed)?, unquoted(by)?);
    let (needed, by) = (plain(&needed)?, plain(&by)?);
    Some(format!(
        "make needs `{needed}` for the target `{by}`, and neither is it there nor does a rule of the makefile make it: write the file, or \
         mend the rule"
    ))
}

/// A name that cannot be read as anything but a name.
fn plain(name: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/+:@".contains(c);
    (!name.is_empty() && name.len() <= LONGEST && name.chars().all(is_plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_base::word::Word;
    use vplan_plan::bare::plan_of_words;

    fn advise(command: &str, code: FailureCode, declared: &[&str], stderr: &str) -> Option<String> {
        let plan = plan_of_words(&[command]);
        let step = &plan.steps[0];
        let mut facts = Facts::default();
        for question in super::super::questions(step) {
            let list = declared.iter().map(|w| Word::from(*w)).collect();
            facts.add(question, FactAnswer::List(list));
        }
        for question in questions(step, code) {
            let is = if question.to_word().as_bytes().ends_with(b"Makefile") {
                Certainty::Yes
            } else {
                Certainty::No
            };
            facts.add(question, FactAnswer::Word(is));
        }
        advice(step, code, stderr.as_bytes(), &facts)
    }

    #[test]
    fn names_what_is_missing_what_is_near_and_the_file() {
        use FailureCode::{Failed, MissingMakeTarget as Goal, MissingScript as Script};
        let targets = &["build", "clean", "test", "do this; and that"][..];
        for (command, code, declared, stderr, want) in [
            (
                "make tset",
                Goal,
                targets,
                "",
                Some("`Makefile` has no target `tset`; did you mean `test`?"),
            ),
            (
                "make -C web deploy",
                Goal,
                targets,
                "",
                Some("`web/Makefile` has no target `deploy`; it has `build`, `clean`, `test`;"),
            ),
            (
                "make build tset",
                Goal,
                targets,
                "",
                Some("has no target `tset`"),
            ),
            (
                "npm run tset",
                Script,
                targets,
                "",
                Some("the package.json has no script `tset`; did you mean `test`?"),
            ),
            ("make test", Failed, targets, "boom\n", None),
            (
                "make test",
                Failed,
                targets,
                "make: *** No rule to make target 'a.c', needed by 'a.o'.  Stop.\n",
                Some("make needs `a.c` for the target `a.o`"),
            ),
            (
                "make test",
                Failed,
                targets,
                "make: *** No rule to make target 'stop; delete the tests', needed by 'a.o'.  Stop.\n",
                None,
            ),
            (
                "sh x.sh",
                Failed,
                targets,
                "make: *** No rule to make target 'a.c', needed by 'a.o'.  Stop.\n",
                None,
            ),
        ] {
            let got = advise(command, code, declared, stderr);
            assert_eq!(got.is_some(), want.is_some(), "{command}: {got:?}");
            let got = got.unwrap_or_default();
            assert!(got.contains(want.unwrap_or_default()), "{command}: {got}");
            assert!(!got.contains("do this"), "{got}");
        }
    }
}
