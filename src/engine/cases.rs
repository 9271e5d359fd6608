//! Reads the tests of a contract that asks for folders. Each test gets the contract with the
//! folders that it mentions, so that its result does not depend on the folders of the repository.

use crate::{Contract, Engine, Failure, RepoPath, Site};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use vplan_base::change::{Status, split_status};
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::source::Sources;
use vplan_contract::draft::{self, ExpectLine};
use vplan_contract::error::UNKNOWN_CHECK;
use vplan_contract::expect::Expect;
use vplan_contract::expect::validate::validate_tests;
use vplan_repo::folders::FoldersOf;

/// A test, and the contract with the folders that it mentions.
#[derive(Debug)]
pub struct Case {
    /// The expectation, validated.
    pub expect: Expect,
    /// The contract, shared by all tests that mention the same folders.
    pub contract: Rc<Contract>,
}

impl Engine<'_> {
    /// Reads tests of a contract that asks for folders. `sources`: the files of the tests; messages
    /// go to the sink.
    ///
    /// # Errors
    /// A contract that is invalid with the folders of a test.
    pub fn cases(
        &self,
        site: &Site,
        contract: &Contract,
        drafts: &[draft::Expect],
        sources: &Sources,
        sink: &mut Diagnostics,
    ) -> Result<Vec<Case>, Failure> {
        let mut known: BTreeMap<BTreeSet<RepoPath>, Rc<Contract>> = BTreeMap::new();
        let mut cases = Vec::new();
        let mut titles: BTreeMap<&str, &draft::Expect> = BTreeMap::new();
        for draft in drafts {
            let mentioned = mentioned(draft);
            let of_case = match known.get(&mentioned) {
                Some(of_case) => Rc::clone(of_case),
                None => {
                    let of_case = Rc::new(self.with_paths(site, &mentioned)?);
                    known.insert(mentioned, Rc::clone(&of_case));
                    of_case
                }
            };
            let mut found = Diagnostics::default();
            // Two tests with one title are validated together, for the message about that.
            let twice = titles.insert(&draft.title.value, draft);
            let both: Vec<draft::Expect> = twice.into_iter().chain([draft]).cloned().collect();
            let mut expects = validate_tests(&both, &of_case, sources, &mut found);
            for mut message in found.sorted() {
                self.name_folder(site, &mut message, (contract, draft, sources));
                sink.push(message);
            }
            if let Some(expect) = expects
                .pop()
                .filter(|expect| expect.place == draft.title.place)
            {
                cases.push(Case {
                    expect,
                    contract: of_case,
                });
            }
        }
        Ok(cases)
    }

    /// Adds the way in which a test can mention the folder of a check that it does not know.
    fn name_folder(
        &self,
        site: &Site,
        message: &mut Diagnostic,
        (contract, draft, sources): (&Contract, &draft::Expect, &Sources),
    ) {
        let place = message.labels.first().map(|label| label.place);
        let source = place.and_then(|place| sources.get(place.source).zip(Some(place)));
        let name = source.map(|(source, place)| source.slice(place.span));
        let check = contract
            .checks
            .iter()
            .find(|check| Some(check.id.as_str()) == name);
        let Some(check) = check.filter(|_| message.code == UNKNOWN_CHECK) else {
            return;
        };
        // The folder whose name is part of the check's name, and with which the check exists.
        let folders = contract.folders.values().flatten();
        let mut folders = folders.filter(|folder| {
            std::str::from_utf8(folder.name()).is_ok_and(|name| check.id.contains(name))
        });
        let makes = |folder: &&RepoPath| {
            let mut paths = mentioned(draft);
            paths.insert((*folder).clone());
            let with = self.with_paths(site, &paths);
            with.is_ok_and(|with| with.checks.iter().any(|c| c.id == check.id))
        };
        if let Some(folder) = folders.find(makes) {
            message.message = format!(
                "`{}` is of a folder that the test does not mention",
                check.id
            );
            message.help = Some(format!("add `exists \"{folder}\"` to the test"));
        }
    }

    /// Reads the contract as it would be with these paths alone.
    fn with_paths(&self, site: &Site, paths: &BTreeSet<RepoPath>) -> Result<Contract, Failure> {
        let paths: Vec<RepoPath> = paths.iter().cloned().collect();
        self.with_folders(site, None, FoldersOf::Paths(&paths))
    }
}

/// The paths that a test mentions: those that change, but are not deleted, and those that exist.
fn mentioned(draft: &draft::Expect) -> BTreeSet<RepoPath> {
    let mut paths = BTreeSet::new();
    for line in &draft.lines {
        let (list, is_change) = match &line.value {
            ExpectLine::Changed(list) => (list, true),
            ExpectLine::Exists(list) => (list, false),
            _ => continue,
        };
        for text in list {
            let (status, path) = match is_change {
                true => split_status(text.value.as_bytes()),
                false => (Status::Modified, text.value.as_bytes()),
            };
            if status != Status::Deleted {
                paths.extend(RepoPath::parse(path));
            }
        }
    }
    paths
}
