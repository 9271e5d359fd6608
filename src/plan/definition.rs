//! Finds the changed files that define what a step does: a change can weaken the checks that
//! verify it.

mod files;

use super::facts::{Certainty, FactAnswer, Facts, Question};
use super::{Plan, Reason, Step};
use files::{File, Files, Place};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::change::ChangeSet;
use vplan_base::path::RepoPath;
use vplan_base::word::{Word, and_more, count, first_of, visible};

/// The reason's name.
pub const DEFINITION_CHANGED: &str = "definition-changed";

/// Returns the steps of a plan whose defining files are among the changed ones, with those files.
pub(crate) fn changed_definitions(plan: &Plan) -> impl Iterator<Item = (&Step, &Reason)> {
    let steps = plan.steps.iter();
    steps.filter_map(|step| {
        let mut reasons = step.reasons.iter();
        Some((step, reasons.find(|r| r.condition == DEFINITION_CHANGED)?))
    })
}

/// Maximum number of lines about changed definitions.
const LINES: usize = 8;
/// Maximum number of steps that such a line names.
const STEPS: usize = 3;

/// Says which changed files define what a plan's steps do, and what they are to them: a line for each set
/// of files.
pub fn lines(plan: &Plan) -> Vec<String> {
    let mut sets: Vec<(&Reason, Vec<&Step>)> = Vec::new();
    for (step, reason) in changed_definitions(plan) {
        let same = |set: &&mut (&Reason, _)| set.0 == reason;
        match sets.iter_mut().take(LINES).find(same) {
            Some((_, steps)) => steps.push(step),
            None => sets.push((reason, vec![step])),
        }
    }
    let more = sets.len().saturating_sub(LINES);
    let mut lines: Vec<String> = sets.iter().take(LINES).map(line).collect();
    if more > 0 {
        let steps = count(more, "other step");
        lines.push(format!("the change touches what defines {steps}"));
    }
    lines
}

fn line((reason, steps): &(&Reason, Vec<&Step>)) -> String {
    let parts = reason.names.iter().map(|part| format!(" ({part})"));
    let parts = parts.chain(std::iter::repeat(String::new()));
    let files = reason.matched.iter().zip(parts);
    let files: Vec<String> = files
        .map(|(path, part)| format!("`{path}`{part}"))
        .collect();
    let matched = reason.matched_count.unwrap_or_default();
    let more = and_more(matched.saturating_sub(files.len() as u64));
    let files = files.join(", ");
    let names = steps.iter().map(|step| format!("`{}`", visible(&step.id)));
    let names = first_of(names, STEPS);
    format!("the change touches {files}{more}, which defines what {names} does")
}

/// A command of a check or a step, with what says where its files are.
#[derive(Clone, Copy)]
pub struct CommandPlace<'a> {
    /// Program and arguments.
    pub words: &'a [String],
    /// Where it starts.
    pub dir: &'a RepoPath,
    /// The folders in which its program may be.
    pub tool_path: &'a [RepoPath],
}

/// Returns what each file that has a say in what a command does is to it (`configuration of pytest`).
pub fn parts_of(
    command: CommandPlace<'_>,
    facts: &Facts,
    paths: &[RepoPath],
) -> Vec<(RepoPath, String)> {
    let files = Files::new(command.words, command.dir, command.tool_path, facts).files;
    let part = |path: &RepoPath| {
        let file = files.iter().find(|file| file.place.is(path))?;
        Some((path.clone(), file.part.to_string()))
    };
    paths.iter().filter_map(part).collect()
}

/// Whether a step's words tell that a file has a say in what it does: a script that they name, the
/// configuration of its program.
pub fn is_defined_by(step: &Step, path: &RepoPath) -> bool {
    let files = Files::of_step(step, &Facts::default()).files;
    files.iter().any(|file| file.place.is(path))
}

/// The questions whose answers show more of the files that have a say in what a command does.
pub fn questions_of(command: CommandPlace<'_>, facts: &Facts) -> BTreeSet<Question> {
    Files::new(command.words, command.dir, command.tool_path, facts).asked
}

/// Gives each step whose defining files are among the changed ones that reason, and records the facts
/// that it rests on. `answer` finds those that show more, or fewer, of these files; they may lead to
/// others.
pub(super) fn name_definitions(
    plan: &mut Plan,
    changes: &ChangeSet,
    facts: &mut Facts,
    answer: impl Fn(&BTreeSet<Question>) -> Facts,
) {
    if changes.is_empty() {
        return;
    }
    let changed = Changed::new(changes);
    loop {
        let (mut rests_on, mut asked) = (BTreeSet::new(), BTreeSet::new());
        let reason = |step: &Step| changed.reason(step, facts, &mut rests_on, &mut asked);
        let reasons: Vec<Option<Reason>> = plan.steps.iter().map(reason).collect();
        let answers = answer(&asked);
        if answers.0.is_empty() {
            let steps = plan.steps.iter_mut().zip(reasons);
            steps.for_each(|(step, reason)| step.reasons.extend(reason));
            let rests_on = rests_on.into_iter();
            plan.facts.extend(rests_on.filter_map(|q| facts.fact(q)));
            plan.facts.sort_by(|a, b| a.question.cmp(&b.question));
            return;
        }
        facts.0.extend(answers.0);
    }
}

/// The changed files by name: a workspace's tool may mean any package.json, configuration lies in
/// many folders.
struct Changed<'a>(BTreeMap<&'a [u8], Vec<&'a RepoPath>>);

/// The question whether the part of a file that is about a step's tool has changed.
fn same_table(path: &RepoPath, file: &File) -> Option<Question> {
    match &file.place {
        Place::Configuration(steering) => {
            let table = steering.part?.to_owned();
            Some(Question::SameTable(path.clone(), table))
        }
        Place::Exact(_) | Place::Below(_) | Place::Fitting(..) => None,
    }
}

impl<'a> Changed<'a> {
    fn new(changes: &'a ChangeSet) -> Self {
        let mut by_name: BTreeMap<&[u8], Vec<&RepoPath>> = BTreeMap::new();
        for path in changes.files().iter().map(|file| &file.path) {
            by_name.entry(path.name()).or_default().push(path);
        }
        Self(by_name)
    }

    /// Returns the reason for a step whose defining file is among the changed ones; adds the facts
    /// that it rests on, and the questions that have no answer.
    fn reason(
        &self,
        step: &Step,
        facts: &Facts,
        rests_on: &mut BTreeSet<Question>,
        asked: &mut BTreeSet<Question>,
    ) -> Option<Reason> {
        let mut matched: BTreeMap<&RepoPath, String> = BTreeMap::new();
        let files = Files::of_step(step, facts);
        asked.extend(files.asked);
        for file in &files.files {
            for path in self.fitting(&file.place) {
                if let Some(table) = same_table(path, file) {
                    match facts.get(&table) {
                        Some(FactAnswer::Word(Certainty::Yes)) => {
                            rests_on.insert(table);
                            continue;
                        }
                        Some(_) => {}
                        None => drop(asked.insert(table)),
                    }
                }
                if let Entry::Vacant(vacant) = matched.entry(path) {
                    vacant.insert(file.part.to_string());
                    rests_on.extend(file.by.iter().cloned());
                }
            }
        }
        let count = matched.len() as u64;
        let shown = matched.into_iter().take(vplan_base::matching::SHOWN);
        let (matched, names) = shown.map(|(path, part)| (path.clone(), part)).unzip();
        (count > 0).then(|| Reason {
            condition: DEFINITION_CHANGED.to_owned(),
            matched,
            matched_count: Some(count),
            names,
            ..Reason::default()
        })
    }

    fn fitting(&self, place: &Place) -> Vec<&'a RepoPath> {
        let name = place.name();
        let all = self.0.values().filter(|_| name.contains(&b'*'));
        let paths = self.0.get(name).into_iter().chain(all).flatten();
        paths.copied().filter(|path| place.is(path)).collect()
    }
}

/// Variables, and a setting of git, whose value names files to execute, or their folders.
const EXECUTED: [&str; 7] = [
    "BASH_ENV",
    "ENV",
    "NODE_PATH",
    "PERL5LIB",
    "PYTHONPATH",
    "RUBYLIB",
    "core.hooksPath",
];

/// Returns the files that a step starts, or gives to an interpreter, in a `.git` or in `.vplan`: no
/// change shows them.
pub fn out_of_tree(step: &Step) -> Vec<RepoPath> {
    // What a path is made of has what the path has.
    let dirs = [&step.dir].into_iter().chain(&step.tool_path);
    let dirs = dirs.map(|dir| dir.as_bytes());
    let words = || step.argv.iter().flatten().map(|word| word.as_bytes());
    let values = || step.env.values().map(|value| value.as_bytes());
    let mut parts = words().chain(dirs).chain(values());
    let may_be_out = |part: &[u8]| part.windows(4).any(|w| w == b".git" || w == b".vpl");
    if !parts.any(may_be_out) {
        return Vec::new();
    }
    let is_out = |path: &RepoPath| {
        let mut names = path.as_bytes().split(|b| *b == b'/');
        path.as_bytes().starts_with(b".vplan/") || names.any(|name| name == b".git")
    };
    let exact = |file: File| match file.place {
        Place::Exact(path) => is_out(&path).then_some(path),
        Place::Below(_) | Place::Fitting(..) | Place::Configuration(_) => None,
    };
    let set = |word: &'_ [u8]| {
        let at = word.iter().position(|b| *b == b'=')?;
        let (name, value) = (word.get(..at)?, word.get(at + 1..)?);
        EXECUTED
            .iter()
            .any(|known| known.as_bytes() == name)
            .then(|| value.to_vec())
    };
    let known = |(name, value): (&String, &Word)| {
        EXECUTED
            .contains(&name.as_str())
            .then(|| value.as_bytes().to_vec())
    };
    let executed: Vec<Vec<u8>> = words()
        .filter_map(set)
        .chain(step.env.iter().filter_map(known))
        .collect();
    let executed = executed
        .iter()
        .flat_map(|value| value.split(|b| *b == b':'));
    let executed = executed.filter_map(|path| step.dir.join(path).ok());
    let facts = Facts::default();
    let files = Files::of_step(step, &facts).files;
    let executed = executed.filter(is_out);
    files
        .into_iter()
        .filter_map(exact)
        .chain(executed)
        .collect()
}
