//! What the audit of an observed run says in the run's report: a note for each finding, and caveats
//! where kinds of findings are denied.

use super::context::{Audited, Finding, FindingKind};
use crate::Note;
use crate::caveat::{Caveat, Code, Effect};
use std::collections::BTreeSet;
use vplan_base::word::{count, first_of, visible};

/// The kind of notes on what was not seen.
const INCOMPLETE: &str = "observation_incomplete";
/// Maximum number of findings, or reasons, that a caveat names.
const SHOWN: usize = 3;
/// The help for a finding.
const WAY_OUT: &str = "`vplan audit --write` writes the lines that mend the contract";

/// What an observed run says of its contract.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedFindings {
    /// Denied findings, and gaps in the observation if something is denied.
    pub caveats: Vec<Caveat>,
    /// All of it, for people.
    pub notes: Vec<Note>,
}

impl ObservedFindings {
    /// Reports the findings of an audit, and fails the run for those of the kinds in `denied`. If
    /// the observation has gaps, the absence of findings proves nothing, and a pass is incomplete.
    pub fn new(audited: &Audited, denied: &[FindingKind]) -> Self {
        let gaps = audited.incomplete.iter();
        let gaps = gaps.map(|gap| format!("{}: {}", visible(&gap.check), gap.reason));
        let gaps: Vec<String> = gaps.collect();
        let notes = audited.findings.iter();
        let notes = notes.map(|found| Note::new(found.kind.name(), found.sentence()));
        let notes = notes.chain(gaps.iter().map(|gap| Note::new(INCOMPLETE, gap.clone())));
        let is_denied = |finding: &&Finding| denied.contains(&finding.kind);
        let findings: Vec<&Finding> = audited.findings.iter().filter(is_denied).collect();
        let refused = refused(&findings);
        Self {
            notes: notes.collect(),
            caveats: refused
                .into_iter()
                .chain(unobserved(&gaps, denied))
                .collect(),
        }
    }

    /// Reports that the contract could not be compared with the observed effects.
    pub fn unknown(why: String, denied: &[FindingKind]) -> Self {
        let unseen = unobserved(std::slice::from_ref(&why), denied);
        Self {
            caveats: unseen.into_iter().collect(),
            notes: vec![Note::new(INCOMPLETE, why)],
        }
    }
}

/// Returns the caveat that fails a run with findings that are denied.
fn refused(findings: &[&Finding]) -> Option<Caveat> {
    let first = findings.first()?;
    let said = |finding: &&Finding| {
        let check = visible(&finding.check);
        format!("{} of `{check}` ({})", finding.kind.name(), finding.what())
    };
    let all = first_of(findings.iter().map(said), SHOWN);
    let message = match findings {
        [_] => format!("a finding is denied: {all}"),
        _ => format!("{} are denied: {all}", count(findings.len(), "finding")),
    };
    let checks: BTreeSet<&String> = findings.iter().map(|finding| &finding.check).collect();
    let caveat = Caveat::new(Code::DeniedFindings, Effect::Fails, message)
        .of_checks(checks.into_iter().cloned().collect());
    Some(match first.line {
        Some(_) => caveat.way_out(WAY_OUT),
        None => caveat,
    })
}

/// Returns the caveat on what was not seen where findings are denied.
fn unobserved(gaps: &[String], denied: &[FindingKind]) -> Option<Caveat> {
    if gaps.is_empty() || denied.is_empty() {
        return None;
    }
    let gaps = first_of(gaps, SHOWN);
    let message = format!("findings are denied, and not all that was done could be seen: {gaps}");
    let (code, effect) = (Code::ObservationIncomplete, Effect::Incomplete);
    Some(Caveat::new(code, effect, message))
}
