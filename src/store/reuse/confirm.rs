//! Compares a step that has run with earlier passes on the same inputs.

use std::collections::BTreeMap;
use vplan_base::path::RepoPath;
use vplan_base::word::framed;
use vplan_base::word::visible;
use vplan_check::evidence::EarlierPass;
use vplan_check::outcome::Status;
use vplan_reuse::entry::{KeptPass, Product};
use vplan_reuse::key::Print;
use vplan_reuse::shared::{SharedPass, portable};
use vplan_run::record::{Confirmation, StepRecord};

/// An earlier pass on the same inputs.
pub(super) struct Expected {
    pass: EarlierPass,
    products: Vec<Product>,
    /// The id of the key that signed it, where it is one of another machine.
    signed_by: Option<String>,
}

impl Expected {
    /// Creates it from a pass of this machine.
    pub(super) fn own(entry: KeptPass) -> Self {
        Self {
            pass: entry.pass,
            products: entry.products,
            signed_by: None,
        }
    }

    /// Creates it from a pass of another machine.
    pub(super) fn others(shared: SharedPass, signed_by: &str) -> Self {
        let products = shared.products.into_iter();
        let products = products.map(|product| Product {
            path: product.path,
            print: product.print,
        });
        Self {
            pass: shared.pass,
            products: products.collect(),
            signed_by: Some(signed_by.to_owned()),
        }
    }

    /// Describes how a step differs from it.
    fn difference(&self, record: &StepRecord, made: Option<&[Product]>) -> Option<String> {
        if !matches!(record.status, Status::Passed) {
            let status = record.status.name().replace('_', " ");
            let why = framed(" (", record.detail.as_deref(), ")");
            return Some(format!("it passed then, now it is {status}{why}"));
        }
        if self.pass.tests != record.tests {
            return Some("it counted other tests".to_owned());
        }
        if self.pass.exit_code != record.exit_code {
            return Some("it ended with another exit code".to_owned());
        }
        let print = |print: &Print| match self.signed_by {
            Some(_) => portable(print),
            None => print.clone(),
        };
        let of = |list: &[Product]| {
            let prints = list.iter();
            let prints = prints.map(|product| (product.path.clone(), print(&product.print)));
            prints.collect::<BTreeMap<RepoPath, Print>>()
        };
        let (then, now) = (of(&self.products), of(made?));
        let paths = then.keys().chain(now.keys());
        let differs = paths.filter(|p| then.get(*p) != now.get(*p)).min();
        differs.map(|path| format!("it made another `{path}`"))
    }
}

/// Compares a step with all passes that are expected: the first one that differs counts. With remarks for the
/// report's reader.
pub(super) fn all(
    expected: &[Expected],
    record: &StepRecord,
    made: Option<&[Product]>,
) -> Option<(Confirmation, Vec<String>)> {
    let id = visible(&record.id);
    let mut notes = Vec::new();
    let mut found: Option<Confirmation> = None;
    for one in expected {
        let difference = one.difference(record, made);
        let run = visible(&one.pass.run_id);
        if let Some(what) = &difference {
            let of = framed(", signed by ", one.signed_by.as_ref(), ",");
            notes.push(format!(
                "`{id}` is not what it was in run {run}{of} on the same inputs: {what}"
            ));
        }
        let before = found.as_ref();
        if before.is_none_or(|found| found.difference.is_none()) {
            found = Some(Confirmation {
                difference,
                run_id: one.pass.run_id.clone(),
            });
        }
    }
    found.map(|found| (found, notes))
}
