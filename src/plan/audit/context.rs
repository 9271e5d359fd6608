//! The subject of an audit, its findings, and what all questions ask of it.

use super::super::request::Request;
use super::super::{Plan, StepSource, step};
use super::amendment::Amendment;
use super::covering::TrackedFiles;
use crate::compile::assemble_with;
use crate::facts::{Certainty, FactAnswer, Facts, Question};
use crate::prepared::Prepared;
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::change::ChangeSet;
use vplan_base::glob::Glob;
use vplan_base::path::RepoPath;
use vplan_base::word::{Word, count, first_of, framed, visible};
use vplan_check::observed::Observed;
use vplan_contract::{Check, CheckIndex, Contract};
/// Maximum number of files that a finding names.
pub(super) const FILES_SHOWN: usize = 5;

/// A contract, its repository, and the runs in which its checks were observed.
#[derive(Clone, Copy)]
pub struct AuditSubject<'a> {
    /// The audited contract.
    pub contract: &'a Contract,
    /// What is known of the repository, for the conditions that ask what exists. What is not known
    /// leaves nothing out.
    pub facts: &'a Facts,
    /// The files that git tracks, sorted.
    pub tracked: &'a [RepoPath],
    /// Whether git ignores a path that it does not track.
    pub is_ignored: &'a dyn Fn(&RepoPath) -> bool,
    /// Whether git would ignore a path where nothing is yet; with `true`, as a folder.
    pub would_ignore: &'a dyn Fn(&RepoPath, bool) -> bool,
    /// Whether nothing has a path.
    pub is_absent: &'a dyn Fn(&RepoPath) -> bool,
    /// The user's folder, an absolute path.
    pub home: Option<&'a Word>,
    /// Additional folders of the toolchain, absolute: those of the programs on PATH.
    pub toolchain: &'a [Word],
    /// The runs, in any order.
    pub runs: &'a [ObservedRun<'a>],
}

/// A run in which steps were observed.
#[derive(Clone, Copy)]
pub struct ObservedRun<'a> {
    /// The identity of the tree that it ran on.
    pub tree: &'a str,
    /// The plan that ran.
    pub plan: &'a Plan,
    /// The observed effects of the steps, by step id.
    pub steps: &'a BTreeMap<String, Observed>,
    /// The ids of those that did not pass.
    pub failed: &'a BTreeSet<String>,
}

vplan_base::vocabulary! {
    /// The kind of a finding.
    FindingKind {
        /// A tracked file that the check read, and whose change alone does not plan the check.
        BlindSpot = "blind_spot",
        /// A file that the check depends on, outside of its `inputs`.
        UndeclaredInput = "undeclared_input",
        /// A file that another check writes, before or after it by chance.
        UndeclaredOrder = "undeclared_order",
        /// A file that the check wrote, that git does not ignore and that the contract does not name.
        UndeclaredWrite = "undeclared_write",
        /// Something outside of the repository and of the toolchain.
        Outside = "outside",
        /// A file that git ignores, and that the check read.
        IgnoredInput = "ignored_input",
        /// A glob of a condition, of whose files no check below it has read one.
        IdleCondition = "idle_condition",
    }
}

impl FindingKind {
    /// Returns the meaning and the severity.
    fn row(self) -> (&'static str, Severity) {
        use Severity::{Error, Note, Warning};
        match self {
            Self::BlindSpot => (
                "read, and a change of it alone does not plan the check",
                Error,
            ),
            Self::UndeclaredInput => (
                "the check depends on it, and its `inputs` do not select it",
                Error,
            ),
            Self::UndeclaredOrder => ("another check writes it, and nothing orders the two", Error),
            Self::UndeclaredWrite => (
                "written, and neither the contract says so nor does git ignore it",
                Error,
            ),
            Self::Outside => (
                "read or reached outside of the repository and the toolchain",
                Warning,
            ),
            Self::IgnoredInput => ("read, and git ignores it", Warning),
            Self::IdleCondition => ("no observed run of its checks has read a file of it", Note),
        }
    }

    /// Says what findings of the kind mean.
    pub fn meaning(self) -> &'static str {
        self.row().0
    }

    /// Returns the severity, unless the caller requests a higher one.
    pub fn severity(self) -> Severity {
        self.row().1
    }
}

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "AuditSeverity")]
pub enum Severity {
    /// A pass may stand where a run would fail.
    Error,
    /// Something outside of the contract's reach decides.
    Warning,
    /// Something in the contract may be of no use.
    Note,
}

/// Something that the contract does not say, or says in vain.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// The check.
    pub check: String,
    /// The number of files, addresses or sockets.
    pub count: usize,
    /// The first of them.
    pub files: Vec<String>,
    /// What it is about: globs that select the files and nothing that the check did not read; paths
    /// and addresses outside of the repository.
    pub globs: Vec<String>,
    /// The kind of finding.
    pub kind: FindingKind,
    /// The line of the contract that would mend it, if one would.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The program that did it; of several the one with most files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// How grave it is.
    pub severity: Severity,
    /// The place of the check in the contract, or of the condition that is idle.
    pub source: StepSource,
    /// All that `count` counts.
    #[serde(skip)]
    pub all: BTreeSet<String>,
    /// The change of the contract that would fix it.
    #[serde(skip)]
    pub amendment: Option<Amendment>,
}

/// A check of which not everything was seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Incomplete {
    /// The check.
    pub check: String,
    /// What was not seen, and why.
    pub reason: String,
}

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Audited {
    /// The findings, by kind, check and glob.
    pub findings: Vec<Finding>,
    /// The checks of which not everything was seen: for them, no finding says nothing.
    pub incomplete: Vec<Incomplete>,
}

impl Audited {
    /// Whether something is an error.
    pub fn has_errors(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.severity == Severity::Error)
    }
}

/// A subject, with what all questions ask of it.
pub(super) struct Context<'a> {
    pub(super) subject: &'a AuditSubject<'a>,
    pub(super) contract: &'a Contract,
    /// What the checks produce.
    pub(super) products: Vec<(CheckIndex, Glob)>,
    /// The tracked files, by what globs ask of them; made when the first glob is wanted.
    pub(super) tracked: OnceCell<TrackedFiles<'a>>,
}

/// What a check did, as a finding counts it: a path or an address, and the programs.
pub(super) type Deeds<'a> = BTreeMap<String, &'a BTreeSet<&'a Word>>;

impl<'a> Context<'a> {
    pub(super) fn new(subject: &'a AuditSubject<'a>) -> Self {
        let checks = subject.contract.checks.numbered();
        let products = checks.flat_map(|(index, check)| {
            let produces = declared(check).into_iter().flat_map(|step| step.produces);
            produces.map(move |glob| (index, glob))
        });
        Self {
            subject,
            contract: subject.contract,
            products: products.collect(),
            tracked: OnceCell::new(),
        }
    }

    pub(super) fn tracked(&self) -> &TrackedFiles<'a> {
        self.tracked
            .get_or_init(|| TrackedFiles::new(self.subject.tracked))
    }

    /// Every tracked file, as changed.
    pub(super) fn everything(&self) -> ChangeSet {
        ChangeSet::modified(self.subject.tracked)
    }

    pub(super) fn check(&self, index: CheckIndex) -> &'a Check {
        &self.contract.checks[index]
    }

    /// Whether the contract itself has a check, with a name by which it can be changed.
    pub(super) fn can_change(&self, index: CheckIndex) -> bool {
        let check = self.check(index);
        check.named && self.contract.imported(check.place.source).is_none()
    }

    pub(super) fn is_tracked(&self, path: &RepoPath) -> bool {
        self.subject.tracked.binary_search(path).is_ok()
    }

    /// Whether git neither tracks nor shows a path. A path that is gone does not count as a change.
    pub(super) fn is_ignored(&self, path: &RepoPath) -> bool {
        let is_shown = || !(self.subject.is_ignored)(path) && !(self.subject.is_absent)(path);
        !self.is_tracked(path) && !is_shown()
    }

    pub(super) fn source(&self, check: &Check) -> StepSource {
        StepSource {
            column: check.column,
            file: self.contract.file(check.place.source).to_owned(),
            line: check.line,
        }
    }

    /// Makes a finding about a check, without an amendment.
    pub(super) fn finding(
        &self,
        kind: FindingKind,
        index: CheckIndex,
        globs: Vec<String>,
        did: &Deeds<'_>,
    ) -> Finding {
        let check = self.check(index);
        Finding {
            check: check.id.clone(),
            count: did.len(),
            files: did.keys().take(FILES_SHOWN).cloned().collect(),
            globs,
            kind,
            line: None,
            program: busiest(did),
            severity: kind.severity(),
            source: self.source(check),
            all: did.keys().cloned().collect(),
            amendment: None,
        }
    }
}

impl Finding {
    /// Says what it is about, for people.
    pub fn what(&self) -> String {
        let named = match self.globs.is_empty() {
            true => &self.files,
            false => &self.globs,
        };
        let named = first_of(named.iter().map(visible), FILES_SHOWN);
        let noun = match self.kind {
            FindingKind::Outside => "place",
            _ => "file",
        };
        match self.count {
            0 | 1 => named,
            many => format!("{named} ({})", count(many, noun)),
        }
    }

    /// Says what it means.
    pub fn meaning(&self) -> &'static str {
        match (self.kind, self.severity) {
            (FindingKind::UndeclaredInput, Severity::Warning) => {
                "the check looked for it in vain, and its `inputs` would not select it"
            }
            (FindingKind::UndeclaredWrite, Severity::Warning) => {
                "git ignores it, and the check is confined: it was not let write it"
            }
            (kind, _) => kind.meaning(),
        }
    }

    /// Says it in one sentence, for people.
    pub fn sentence(&self) -> String {
        let program = framed(" by ", self.program.as_ref(), "");
        let line = framed("; `", self.line.as_ref(), "` would mend it");
        format!(
            "{}: {}{program}: {}{line}",
            visible(&self.check),
            self.what(),
            self.meaning(),
        )
    }

    /// Adds the amendment that would fix the finding.
    pub(super) fn mended_by(mut self, contract: &Contract, amendment: Option<Amendment>) -> Self {
        self.line = amendment.as_ref().map(|one| one.line(contract));
        self.amendment = amendment;
        self
    }
}

/// Returns the program that did most of it; of equals the first by name.
pub(super) fn busiest(did: &Deeds<'_>) -> Option<String> {
    let mut counts: BTreeMap<&Word, usize> = BTreeMap::new();
    for program in did.values().copied().flatten() {
        *counts.entry(program).or_default() += 1;
    }
    let most = counts.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
    most.map(|(program, _)| visible(program))
}

/// Returns the step that a check is made of, with all its settings; none of a check that is no
/// command.
pub(super) fn declared(check: &Check) -> Option<super::super::Step> {
    // For a command with `{changed}` there is no step without a file.
    let files = [Word::new(b"x".to_vec())];
    step::of_check(check, "", &files).into_iter().next()
}

/// Returns the request for checks of a role, whatever changed.
pub(super) fn request_for(role: &str, tier: u8) -> Request {
    Request {
        min_tier: tier,
        role: Some(role.to_owned()),
        ..Request::default()
    }
}

/// Plans a request, with what is not known left open; `None` if the contract refuses it.
pub(super) fn planned(
    contract: &Contract,
    request: &Request,
    facts: &mut Facts,
    prepared: Option<&Prepared<'_>>,
) -> Option<Plan> {
    let unknown = |_: &Question| FactAnswer::Word(Certainty::Unknown);
    assemble_with(contract, request, facts, prepared, unknown)
}
