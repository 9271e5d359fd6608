//! Surveys a valid contract for contradictions with the repository, or with itself. For `vplan
//! check` only: plans do not depend on it.

pub mod folders;
pub mod misread;
mod programs;
mod selected;
pub mod tracked;
pub mod uncovered;

use crate::facts;
use crate::load::Site;
use programs::{Tree, push_merged};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::change::ChangeSet;
use vplan_base::command::Command;
use vplan_base::diagnostic::{Code, Diagnostic, Diagnostics};
use vplan_base::glob::{Glob, Selection};
use vplan_base::matching::match_all;
use vplan_base::setting::{Row, Takes, Value};
use vplan_base::source::Sources;
use vplan_base::span::Place;
use vplan_base::vocabulary::FailureCode;
use vplan_base::word::visible;
use vplan_contract::draft::{Draft, SelKind};
use vplan_contract::{Body, Check, Contract, Sought, Test};
use vplan_git::error::GitError;
use vplan_plan::facts::Facts;
use vplan_plan::fixes::{contract_of_fixes, fix};
use vplan_plan::{Plan, Step};
use vplan_recover::{self as recover, bare};

/// A glob that selects no file of the repository.
pub(crate) const GLOB_SELECTS_NOTHING: Code = Code("vplan::repository::glob_selects_nothing");
/// A script that package.json does not declare.
pub(crate) const MISSING_SCRIPT: Code = Code("vplan::repository::missing_script");
/// A goal that the makefile does not have.
pub(crate) const MISSING_MAKE_TARGET: Code = Code("vplan::repository::missing_make_target");
/// All codes of this file and of those below.
pub const CODES: &[Code] = &[
    GLOB_SELECTS_NOTHING,
    MISSING_SCRIPT,
    MISSING_MAKE_TARGET,
    programs::MISSING_DIRECTORY,
    programs::PROGRAM_NOT_FOUND,
    programs::QUOTED_COMMAND,
    folders::FOLDER_GLOB,
    misread::MISREAD_GLOB,
    selected::NEVER_SELECTED,
    selected::SHADOWED,
    tracked::TRACKED_REPORT,
    uncovered::UNCOVERED,
];

/// The result of a survey.
#[derive(Debug, Default)]
pub struct Survey {
    /// The diagnostics. A missing file is a warning, since it may be added later.
    pub found: Diagnostics,
    /// The parts that could not be examined, a sentence each.
    pub notes: Vec<String>,
}

/// Compares a contract with itself and with the repository; unless `pure`, also with this machine.
pub fn survey(site: &Site, contract: &Contract, sources: &Sources, pure: bool) -> Survey {
    let mut sink = Diagnostics::default();
    let mut notes = Vec::new();
    // Read once already, without an error: its diagnostics were reported before.
    let draft = folders::draft(sources);
    let none = ChangeSet::default();
    let folders = folders::find(site, contract, sources, &none, &mut sink);
    let folders = folders.unwrap_or_else(|why| {
        notes.push(format!("whether a glob names a folder is not known: {why}"));
        BTreeSet::new()
    });
    if let Err(why) = globs(site, contract, sources, &draft, folders, &mut sink) {
        notes.push(format!(
            "no glob was compared with the files of the repository: {why}"
        ));
    }
    if let Err(why) = tracked::find(site, contract, &mut sink) {
        notes.push(format!(
            "whether a check reports in a tracked file is not known: {why}"
        ));
    }
    selected::never_selected(contract, &mut sink);
    selected::shadowed(contract, &mut sink);
    let tree = Tree::new(site, contract, pure);
    let checks: Vec<(&Check, Step)> = contract
        .checks
        .iter()
        .filter(|c| may_apply(&tree, contract, c))
        .filter_map(|c| Some((c, step(c)?)))
        .collect();
    declarations(site, &checks, &mut sink);
    // Fix commands are started in the same way as their checks.
    let mending = contract.checks.iter().filter(|check| fix(check).is_some());
    let mending: BTreeSet<&str> = mending.map(|check| check.id.as_str()).collect();
    let fixes = (!mending.is_empty()).then(|| contract_of_fixes(contract, &mending));
    let fixes = fixes.iter().flat_map(|fixes| fixes.checks.iter());
    let fixes = fixes.filter(|c| mending.contains(c.id.as_str()) && may_apply(&tree, contract, c));
    let fixes: Vec<(&Check, Step)> = fixes.filter_map(|c| Some((c, step(c)?))).collect();
    let beside = contract
        .checks
        .iter()
        .filter(|c| may_apply(&tree, contract, c));
    let beside = [fixes, services(beside)].concat();
    let started = programs::Started {
        checks: &checks,
        beside: &beside,
    };
    if pure {
        programs::of_the_repository(&tree, &started, &mut sink);
    } else {
        programs::of_this_machine(site, &started, &mut sink);
    }
    Survey { found: sink, notes }
}

/// Whether the check may apply in one of its places: no condition on files there is certainly
/// false.
fn may_apply(tree: &Tree<'_>, contract: &Contract, check: &Check) -> bool {
    let absent = |sought: &Sought| !tree.meets(sought);
    check.placements.iter().any(|placement| {
        !contract.around(placement).any(|c| match &c.test {
            Test::Exists(all) => all.iter().any(absent),
            Test::ExistsAny(all) => all.iter().all(absent),
            Test::Absent(all) => !all.iter().all(absent),
            _ => false,
        })
    })
}

/// Makes a step of each service that one of these checks uses, each once.
fn services<'c>(checks: impl Iterator<Item = &'c Check>) -> Vec<(&'c Check, Step)> {
    let mut known = BTreeSet::new();
    let mut all = Vec::new();
    for check in checks {
        let with = match check.settings.get(&Row::With) {
            Some(Value::Services(services)) => services.as_slice(),
            _ => &[],
        };
        for service in with.iter().filter(|s| known.insert(s.name.as_str())) {
            let step = Step {
                argv: Some(service.argv.clone()),
                command: service.command.clone(),
                dir: service.dir.clone(),
                env: service.env.clone(),
                id: check.id.clone(),
                ..Step::default()
            };
            all.push((check, step));
        }
    }
    all
}

/// Makes the step that a check would start.
fn step(check: &Check) -> Option<Step> {
    let Body::Command(command @ Command::Argv { .. }) = &check.body else {
        return None;
    };
    Some(Step {
        dir: check.dir.clone(),
        env: check.env.clone(),
        produces: check.globs(Row::Produces).to_vec(),
        tool_path: check.tool_path.clone(),
        ..bare::step(&check.id, command)
    })
}

/// Reports globs that select nothing. The error is git's, which is not called without globs.
fn globs(
    site: &Site,
    contract: &Contract,
    sources: &Sources,
    draft: &Draft,
    mut reported: BTreeSet<String>,
    sink: &mut Diagnostics,
) -> Result<(), GitError> {
    let mut selecting = selecting(draft);
    selecting.retain(|(text, _)| !reported.contains(*text));
    if selecting.is_empty() {
        return Ok(());
    }
    let files = site.git.as_ref().map_err(GitError::clone)?.present()?;
    let misread = misread::find(contract, sources, files.iter(), |_| true, true, sink);
    reported.extend(misread);
    selecting.retain(|(text, _)| !reported.contains(*text));
    let files = ChangeSet::modified(&files);
    let mut places: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
    for (text, place) in selecting {
        places.entry(text).or_default().push(place);
    }
    let idle = idle(places.keys().map(|text| (*text).to_owned()), &files);
    // These errors are frequent: globs are anchored at the root, and select files only.
    let anywhere = |text: &str| format!("**/{text}");
    let within = |text: &str| format!("{text}/**");
    let others = idle.iter().flat_map(|text| [anywhere(text), within(text)]);
    let idle_others: BTreeSet<String> = self::idle(others, &files).into_iter().collect();
    for text in &idle {
        let shown = visible(text);
        for place in places.get(text.as_str()).into_iter().flatten() {
            let message = format!("`{shown}` selects no file of the repository");
            let diagnostic = Diagnostic::warning(GLOB_SELECTS_NOTHING, message)
                .label(*place, "nothing here has such a path");
            let (deeper, below) = (anywhere(text), within(text));
            sink.push(if !idle_others.contains(&below) && !text.ends_with('/') {
                diagnostic.help(format!(
                    "a glob selects files, not folders: did you mean `{}`?",
                    visible(below)
                ))
            } else if !idle_others.contains(&deeper) {
                diagnostic.help(format!(
                    "globs begin at the root of the repository: did you mean `{}`?",
                    visible(deeper)
                ))
            } else {
                diagnostic
            });
        }
    }
    Ok(())
}

/// Returns the globs that match none of the files. Invalid globs are reported elsewhere.
fn idle(texts: impl Iterator<Item = String>, files: &ChangeSet) -> Vec<String> {
    let read = |text: String| {
        let glob = Glob::parse(&text).ok()?;
        Some((text, Selection::from_iter([glob])))
    };
    let globs: Vec<(String, Selection)> = texts.filter_map(read).collect();
    let selected = match_all(&globs.iter().map(|(_, s)| s).collect::<Vec<_>>(), files);
    globs
        .into_iter()
        .zip(selected)
        .filter(|(_, s)| s.all.count == 0)
        .map(|((text, _), _)| text)
        .collect()
}

/// Returns the globs that should select files of the repository. Files that a check produces,
/// cleans, requires or reports may not exist yet, and an exclusion may exclude nothing.
fn selecting(draft: &Draft) -> Vec<(&str, Place)> {
    folders::sels(draft)
        .into_iter()
        .filter(|(sel, takes)| !sel.not && *takes == Takes::Selection)
        .filter_map(|(sel, _)| match &sel.what.value {
            SelKind::Glob(text) => Some((text.as_str(), sel.what.place)),
            SelKind::Name(_) | SelKind::Dependents(_) => None,
        })
        .collect()
}

/// Reports scripts and goals that are certainly not declared.
fn declarations(site: &Site, checks: &[(&Check, Step)], sink: &mut Diagnostics) {
    let plan = Plan {
        steps: checks.iter().map(|(_, step)| step.clone()).collect(),
        ..bare::bare_plan::<Command>(&[])
    };
    // Every question gets an answer, so each round leaves fewer; without answers nothing is
    // certain.
    let asked = |facts: &Facts| recover::preflight_questions(&plan, facts);
    let facts = facts::settled(&site.root, site.git.as_ref().ok(), usize::MAX, asked);
    let mut found = Vec::new();
    for failure in recover::foreseen(&plan, &facts) {
        let code = match failure.code {
            FailureCode::MissingScript => MISSING_SCRIPT,
            FailureCode::MissingMakeTarget => MISSING_MAKE_TARGET,
            _ => continue,
        };
        // An `optional` check may lack it.
        let Some((check, step)) = checks
            .iter()
            .find(|(c, _)| c.id == failure.step && !c.has(Row::Optional))
        else {
            continue;
        };
        let warning = Diagnostic::warning(code, failure.evidence)
            .label(check.place, format!("runs `{}`", step.command))
            .help("declare it, or mark the check `optional` if it may be missing");
        found.push((*check, warning));
    }
    push_merged(found, sink);
}
