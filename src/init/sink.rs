//! Where a CI reader puts the commands and the parts that it does not read: each once, however many
//! cells of a matrix have it.

use crate::found::{CommandEnding, CommandOrigin, NotRead, Place, SourceCommand, SourceReading};
use crate::shell::{self, ShellScope, ShellValue};
use crate::variables::Variables;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::path::RepoPath;
use vplan_check::Kind;
use vplan_check::tool::matched::read;
use vplan_check::tool::table::{TaskVerb, ToolClass, task_word};

/// What all commands of a script share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub(crate) label: String,
    pub(crate) job: String,
    pub(crate) dir: RepoPath,
    /// Why its folder is not known.
    pub(crate) lost: Option<String>,
    pub(crate) checkout: Checkout,
    /// The commands of the step before, by index.
    pub(crate) before: Vec<usize>,
    pub(crate) variables: Variables,
    pub(crate) paths: Vec<String>,
    /// How a failure is ignored.
    pub(crate) ignored: Option<String>,
    pub(crate) services: Vec<String>,
    pub(crate) oddness: u32,
}

/// The folders of the workspace in which repositories are checked out, and whether it is this one: all
/// of the workspace, where it is in none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checkout(Vec<(RepoPath, bool)>);

impl Checkout {
    /// Adds a folder. A further copy of this repository is another one.
    pub(crate) fn add(&mut self, folder: RepoPath, is_own: bool) {
        let mut copies = self.0.iter().filter(|(_, is_own)| *is_own);
        let is_own = is_own && copies.all(|(copy, _)| *copy == folder);
        self.0.push((folder, is_own));
    }

    /// The folder of the repository at a folder of the workspace.
    pub(crate) fn to_root(&self, dir: &RepoPath) -> Result<RepoPath, String> {
        let around = self.0.iter().filter_map(|(folder, is_own)| {
            let below = match dir == folder {
                true => RepoPath::root(),
                false => dir.below(folder).and_then(RepoPath::from_exact)?,
            };
            let depth = (!folder.is_root(), folder.as_bytes().len());
            Some((depth, !is_own, below))
        });
        match around.max() {
            Some((_, false, below)) => Ok(below),
            Some(_) => Err("it runs in another checkout".to_owned()),
            None if self.0.iter().any(|(_, is_own)| *is_own) => {
                Err("it runs outside of the checkout".to_owned())
            }
            None => Ok(dir.clone()),
        }
    }
}

/// The most bytes of shell text that are read, all cells of matrices counted.
const MAX_TEXT: usize = 4 << 20;

#[derive(Default)]
pub(crate) struct Sink {
    /// The bytes of shell text that were read.
    spent: usize,
    /// What the reader returns.
    pub(crate) out: SourceReading,
    /// The commands by place, ending and identity.
    index: BTreeMap<(Place, CommandEnding, String), usize>,
    /// The places that were read at least once, whatever other cells of a matrix leave out of them.
    pub(crate) read: BTreeSet<Place>,
}

impl Sink {
    /// Takes the commands of a job, those from a number on, out again if it commits what it makes, or
    /// publishes it and tests nothing. Returns what it does.
    pub(crate) fn take_release(&mut self, from: usize, job: &Place, name: &str) -> Option<&str> {
        let own = self.out.found.get(from..).unwrap_or_default();
        let is_git = |found: &SourceCommand| match &*found.words {
            [git, verb, ..] => git == "git" && matches!(&**verb, "commit" | "push"),
            _ => false,
        };
        let read: Vec<_> = own.iter().filter_map(|one| read(&one.words)).collect();
        let mut verbs = read.iter().filter_map(|one| one.verb);
        let verifies = verbs.any(|verb| matches!(verb, Kind::Test | Kind::Lint));
        let publishes = matches!(task_word(name), TaskVerb::Never(_))
            || read
                .iter()
                .any(|one| matches!(one.class, ToolClass::Never(_)));
        let how = match own.iter().any(is_git) {
            true => "commits what it makes",
            false if publishes && !verifies => "publishes or measures",
            false => return None,
        };
        self.out.found.truncate(from);
        self.read.remove(job);
        self.out.jobs.retain(|_, place| place != job);
        self.index.retain(|_, at| *at < from);
        Some(how)
    }

    /// Adds the commands of shell text of a part of a file; `place_of` has the place of each of its
    /// lines. Returns them by index, and what it sets for later steps.
    pub(crate) fn script(
        &mut self,
        part: &Place,
        text: &str,
        script: &Script,
        place_of: impl Fn(u32) -> Place,
    ) -> (Vec<usize>, Vec<(String, ShellValue)>) {
        self.read.insert(part.clone());
        let jobs = &mut self.out.jobs;
        jobs.entry(script.job.clone()).or_insert(part.clone());
        self.spent = self.spent.saturating_add(text.len());
        if self.spent > MAX_TEXT {
            self.out
                .skip(part.clone(), None, "more shell text than is read");
            return (Vec::new(), Vec::new());
        }
        let scope = ShellScope {
            dir: script.dir.clone(),
            variables: script.variables.all.clone(),
        };
        let read = shell::read(text, &scope);
        let mut added = Vec::new();
        self.compare(&read.commands, &script.before);
        for mut found in read.commands.into_iter().filter(|one| !one.compares_tree) {
            script.variables.needed(text, &found.words, &mut found.env);
            let dir = script.checkout.to_root(&found.dir);
            let outside = dir.map(|dir| found.dir = dir).err();
            found.unknown = found.unknown.or_else(|| script.lost.clone()).or(outside);
            if let (Some(how), CommandEnding::Counts | CommandEnding::TreeCompared) =
                (&script.ignored, &found.ending)
            {
                found.ending = CommandEnding::Ignored(how.clone());
            }
            added.push(self.add(SourceCommand {
                place: place_of(found.place.line),
                origin: CommandOrigin::Ci,
                job: Some(script.job.clone()),
                label: script.label.clone(),
                paths: script.paths.clone(),
                services: script.services.clone(),
                oddness: script.oddness,
                ..found
            }));
        }
        (added, read.sets)
    }

    /// Marks the commands of the step before if these begin with a comparison of the tree.
    fn compare(&mut self, commands: &[SourceCommand], before: &[usize]) {
        let is_git = |command: &SourceCommand| command.words.first().is_some_and(|w| w == "git");
        let mut commands = commands.iter();
        let first = commands.find(|one| one.compares_tree || !is_git(one));
        if first.is_some_and(|first| first.compares_tree) {
            for at in before {
                let found = self.out.found.get_mut(*at);
                if let Some(found) = found.filter(|found| found.ending == CommandEnding::Counts) {
                    found.ending = CommandEnding::TreeCompared;
                }
            }
        }
    }

    /// Adds a command, or keeps the more ordinary one of two that are equal.
    fn add(&mut self, found: SourceCommand) -> usize {
        let key = (found.place.clone(), found.ending.clone(), found.identity());
        let at = *self.index.entry(key).or_insert(self.out.found.len());
        match self.out.found.get_mut(at) {
            Some(old) if old.unknown.is_some() || old.oddness > found.oddness => *old = found,
            Some(_) => {}
            None => self.out.found.push(found),
        }
        at
    }

    pub(crate) fn reading(self) -> SourceReading {
        let Self { mut out, read, .. } = self;
        let is_left = |one: &NotRead| !read.contains(&one.place) || one.why.starts_with("more ");
        out.not_read.retain(is_left);
        out.not_read.sort();
        out.not_read.dedup();
        out
    }
}
