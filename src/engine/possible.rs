//! Lists the checks that a future change inside of some globs may need.

use crate::{ChangeSet, Engine, Failure, RepoPath, visible};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use vplan_base::glob::{Glob, Item, ItemContent, Selection};
use vplan_plan::diff::possible::{Possible, PossibleCheck};
use vplan_plan::facts::Question;
use vplan_plan::request::Request;
use vplan_repo::facts::{FactSources, answer};
use vplan_repo::survey::uncovered::groups;

/// What a change inside of some globs may need.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PossibleChecks {
    /// The checks, in the order of the contract.
    pub checks: Vec<PossibleCheck>,
    /// The tracked files inside of the globs of which no change of one file plans a check: whole
    /// folders where that holds for all in them.
    pub unguarded: Vec<Unguarded>,
    /// The version of this shape: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
}

/// Files of which no change plans a check.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Unguarded {
    /// The number of files.
    pub files: usize,
    /// All in a folder and below it (`dir/**`), or some directly in one (`dir/*`).
    pub glob: String,
}

impl Engine<'_> {
    /// Answers for changes of the files that these globs select, without those of globs with `!` in
    /// front. Conditions on existence are answered by the present work tree.
    ///
    /// # Errors
    /// No valid contract, invalid globs or globs that select nothing, an unknown role, a repository
    /// that cannot be read.
    pub fn possible(&self, request: &Request, globs: &[String]) -> Result<PossibleChecks, Failure> {
        let within = selection(globs)?;
        let site = self.locate()?;
        let (contract, _) = self.valid_contract(&site)?;
        let git = site.usable_git();
        let mut tracked = git.and_then(|git| git.tracked().ok()).unwrap_or_default();
        tracked.retain(|path| within.selects(path));
        let asked: BTreeSet<Question> = contract
            .sought()
            .into_iter()
            .map(Question::exists)
            .collect();
        let ground = FactSources {
            root: &site.root,
            git,
            base: None,
            changes: &ChangeSet::default(),
        };
        let facts = answer(&asked, &ground)
            .map_err(|error| Failure::setup("vplan::repository::root", error.to_string()))?;
        let possible = Possible::new(&contract, request, &facts, &within, &tracked)?;
        if !possible.is_any_inside() {
            let message = format!("no path lies inside of `{}`", visible(globs.join(" ")));
            return Err(Failure::usage("vplan::usage::glob", message));
        }
        let guarded: Vec<(&RepoPath, bool)> = tracked
            .iter()
            .map(|file| (file, possible.guards(file)))
            .collect();
        let group = |(glob, files)| Unguarded { files, glob };
        Ok(PossibleChecks {
            checks: possible.checks(),
            unguarded: groups(&guarded).into_iter().map(group).collect(),
            version: 1,
        })
    }
}

/// Parses the globs as a list in a contract.
fn selection(globs: &[String]) -> Result<Selection, Failure> {
    let item = |text: &String| {
        let (not, glob) = match text.strip_prefix('!') {
            Some(glob) => (true, glob),
            None => (false, text.as_str()),
        };
        let glob = Glob::parse(glob).map_err(|error| {
            let message = format!("`{}`: {}", visible(text), error.message);
            Failure::usage("vplan::usage::glob", message).helped(error.help)
        })?;
        let what = ItemContent::Glob(glob);
        Ok(Item { not, what })
    };
    let items = globs.iter().map(item).collect::<Result<_, Failure>>()?;
    Ok(Selection { items })
}
