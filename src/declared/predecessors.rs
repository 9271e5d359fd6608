//! Reads contracts of other tools that a repository has: their commands are proposed as checks, by
//! the converters of `vplan import`.

use super::candidate::{Belief, Candidate, Declarations, Origin, Reason, When, Work};
use super::tree::Tree;
use crate::base::command::{Command, Env, Piece};
use crate::base::diagnostic::Diagnostics;
use crate::base::path::RepoPath;
use crate::base::setting::Row;
use crate::base::source::{Source, Sources};
use crate::base::word::Word;
use crate::contract::draft::{Check, CheckEntry, Condition, Draft, Sel, SelKind, Verb, Written};
use crate::front::convert::{PREDECESSORS, Weight, convert};

/// Reads what is declared there.
pub fn read(tree: &Tree, found: &mut Declarations) {
    for (name, format) in PREDECESSORS {
        let Some((file, text)) = tree.text(&RepoPath::root(), name) else {
            continue;
        };
        let mut sources = Sources::default();
        let id = sources.add(Source::new((*name).to_owned(), text));
        let mut sink = Diagnostics::default();
        let origin = |line: u32| Origin {
            file: file.clone(),
            line,
            label: format.name().to_owned(),
        };
        let Some(conversion) = convert(&sources, id, *format, &mut sink) else {
            let why = sink.sorted().into_iter().next();
            let why = why.map_or_else(String::new, |d| d.message);
            found.skip(origin(1), format!("`{file}`"), Reason::NotRead, why);
            continue;
        };
        let line = |place| u32::try_from(sources.position(place).line).unwrap_or(u32::MAX);
        for lost in conversion.lost.iter().filter(|l| l.weight == Weight::Lost) {
            let what = lost.what.clone();
            found.skip(
                origin(line(lost.place)),
                what,
                Reason::NotRead,
                lost.why.clone(),
            );
        }
        for entry in &conversion.draft.entries {
            let CheckEntry::Check(check) = entry else {
                continue;
            };
            let origin = origin(line(check.place));
            match candidate(&conversion.draft, check, origin.clone()) {
                Some(candidate) => found.candidates.push(candidate),
                None => {
                    let what = check.name.as_ref().map_or("a check", |n| n.value.as_str());
                    let why = "it is no command; `vplan import` converts it".to_owned();
                    found.skip(origin, format!("`{what}`"), Reason::NotRead, why);
                }
            }
        }
    }
}

/// A check of a draft as a candidate; `None` for what runs no command.
fn candidate(draft: &Draft, check: &Check, origin: Origin) -> Option<Candidate> {
    let (work, env) = match &check.verbs.first()?.value {
        Verb::Command(_, Command::Argv { env, pieces }) => {
            let words: Option<Vec<String>> = pieces
                .iter()
                .map(|piece| match piece {
                    Piece::Word(word) => text(word),
                    Piece::Changed => Some("{changed}".to_owned()),
                })
                .collect();
            (Work::Words(words?), env.clone())
        }
        Verb::Command(_, Command::Unsupported { text, .. }) => {
            (Work::Shell(text.clone()), Env::new())
        }
        Verb::Shell(text) => (Work::Shell(text.clone()), Env::new()),
        Verb::File { .. } | Verb::Judge(_) => return None,
    };
    let mut one = Candidate::new(origin, Belief::Predecessor, work, RepoPath::root());
    one.name = check.name.as_ref().map(|name| name.value.clone());
    for (name, value) in env {
        one.env.insert(name, text(&value)?);
    }
    one.tier = check.tier_block.as_ref().map_or(0, |tier| tier.value);
    for setting in &check.settings {
        let setting = &setting.value;
        match (setting.row, &setting.value) {
            (Row::Dir, Written::Text(dir)) => {
                one.dir = RepoPath::parse(dir.as_bytes()).ok()?;
            }
            (Row::Env, Written::Variable(name, value)) => {
                one.env.insert(name.clone(), text(value)?);
            }
            (Row::Timeout, Written::Number(milliseconds)) => {
                one.timeout = u32::try_from(milliseconds.div_ceil(60_000)).ok();
            }
            (Row::Tier, Written::Number(tier)) => one.tier = u8::try_from(*tier).unwrap_or(2),
            (Row::Severity, Written::Text(word)) => one.warning = word == "warning",
            (Row::Produces, Written::Sels(sels)) => one.produces.extend(globs(sels)),
            _ => {}
        }
    }
    for index in &check.conditions {
        match &draft.conditions[*index].value {
            Condition::ChangedAny(sels) if one.when == When::Unsaid => {
                one.when = When::Changed(globs(sels));
            }
            Condition::Role(roles) => {
                let names: Vec<&str> = roles.iter().map(|r| r.value.as_str()).collect();
                one.notes
                    .push(format!("there only for {}", names.join(", ")));
            }
            // Without the condition it runs more often, never less.
            _ => one.notes.push("there under a further condition".to_owned()),
        }
    }
    Some(one)
}

fn globs(sels: &[Sel]) -> Vec<String> {
    let glob = |sel: &Sel| match &sel.what.value {
        SelKind::Glob(glob) => Some(format!("{}{glob}", if sel.not { "!" } else { "" })),
        SelKind::Name(_) => None,
    };
    sels.iter().filter_map(glob).collect()
}

fn text(word: &Word) -> Option<String> {
    word.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared::candidate::State;

    fn read_one(name: &str, text: &str) -> Declarations {
        let mut tree = Tree::default();
        let path = RepoPath::parse(name.as_bytes()).unwrap();
        tree.files.insert(path.clone());
        tree.texts.insert(path, text.to_owned());
        let mut found = Declarations::default();
        read(&tree, &mut found);
        found
    }

    #[test]
    fn commands_of_predecessors() {
        for (name, text, want) in [
            (
                ".opentiger/verify.contract.json",
                r#"{"commands": ["make vet"], "byRole": {"tester": ["make test"]},
                    "rules": [{"whenChangedAny": ["docs/**", "!docs/a"], "commands": ["vale {changed}"]}]}"#,
                &[
                    "make vet",
                    "make test # there only for tester",
                    "vale {changed} @ docs/** !docs/a",
                ][..],
            ),
            (
                ".runr/runr.config.json",
                r#"{"verification": {"tier0": ["npm run lint"], "tier1": ["npm test"]}}"#,
                &["npm run lint", "npm test"],
            ),
            (
                ".opentiger/verify.contract.json",
                r#"{"commands": ["a | b"]}"#,
                &["a | b"],
            ),
        ] {
            let found = read_one(name, text);
            let shown: Vec<String> = found
                .candidates
                .iter()
                .map(|one| {
                    assert_eq!(
                        (one.belief, &one.state),
                        (Belief::Predecessor, &State::Open)
                    );
                    let when = match &one.when {
                        When::Unsaid => String::new(),
                        When::Changed(globs) => format!(" @ {}", globs.join(" ")),
                    };
                    let notes = one.notes.iter().map(|note| format!(" # {note}"));
                    format!("{}{when}{}", one.text(), notes.collect::<String>())
                })
                .collect();
            assert_eq!(shown, want, "{text}");
        }
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let found = read_one(".opentiger/verify.contract.json", "{");
        assert_eq!(found.skipped.len(), 1);
        assert_eq!(found.skipped[0].reason, Reason::NotRead);
        let text = r#"{"commands": ["a"], "comands": ["b"]}"#;
        let found = read_one(".opentiger/verify.contract.json", text);
        assert_eq!(found.skipped[0].what, "`comands`");
    }
}
