//! Lists the definitions of a contract: what each is called, where it is written, when it applies, the
//! rows of the `each` blocks around it, and what the blocks of imports change.

use super::{Mark, Options, place, wrap};
use crate::select::words;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

use vplan_base::hole::Alike;
use vplan_base::word::{count, visible};
use vplan_contract::{ChangedPart, Check, Contract, Placement};

/// The definitions of a contract.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Definitions {
    /// In the order of the contract.
    pub definitions: Vec<Definition>,
    /// The checks that the blocks of imports take out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taken_out: Vec<TakenOut>,
    /// The version of this document.
    #[schemars(extend("const" = 1))]
    pub version: u32,
}

/// A definition: one check, or one for each row of the `each` blocks around it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
    /// When it applies: the conditions of each place, of which one must hold. Of several rows, those
    /// of the first, with its values as holes.
    pub applies: Vec<String>,
    /// What the blocks of imports change of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<Change>,
    /// The file that it is written in.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// Its name, with holes.
    pub name: String,
    /// The names of its checks, and the values of their rows. Without an `each`, one without values.
    pub rows: Vec<Row>,
    /// Its verb.
    pub verb: &'static str,
}

/// A row of a definition.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The values, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub each: BTreeMap<String, String>,
    /// The name of the check.
    pub id: String,
}

/// A part of a check that the block of an import changes.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// The file of the change.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// `command`, or the name of a setting.
    pub part: String,
}

/// A check that the block of an import takes out.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TakenOut {
    /// The file of the block.
    pub file: String,
    /// The line of its `without`.
    pub line: usize,
    /// The name of the check.
    pub name: String,
}

/// Collects the definitions of a contract.
pub fn definitions(contract: &Contract) -> Definitions {
    let mut all: Vec<(Definition, Alike, Vec<Alike>)> = Vec::new();
    let mut known: BTreeMap<(&str, usize, usize), Vec<usize>> = BTreeMap::new();
    for check in contract.checks.iter() {
        let values = contract.rows.get(check.place).cloned().unwrap_or_default();
        let file = contract.file(check.place.source);
        let applies = check.placements.iter().map(|placement| {
            let asks = asks(contract, check, placement);
            all_of(&asks)
        });
        let applies: Vec<String> = applies.collect();
        let row = Row {
            each: contract.row_of(check.place),
            id: check.id.clone(),
        };
        // A file that is imported twice makes a definition anew.
        let same = known.entry((file, check.line, check.column)).or_default();
        let takes = |at: &usize| {
            let definition = all.get_mut(*at);
            definition.is_some_and(|(_, name, _)| name.takes(&values.in_names(), &check.id))
        };
        let found = same.clone().into_iter().find(takes);
        if let Some((definition, _, when)) = found.and_then(|at| all.get_mut(at)) {
            definition.rows.push(row);
            for (when, text) in when.iter_mut().zip(&applies) {
                when.takes(&values, text);
            }
            continue;
        }
        same.push(all.len());
        let alike = |text: &String| Alike::new(values.clone(), text);
        let definition = Definition {
            applies: Vec::new(),
            changed: changes(contract, check),
            file: file.to_owned(),
            line: check.line,
            name: String::new(),
            rows: vec![row],
            verb: check.kind.verb(),
        };
        all.push((
            definition,
            Alike::new(values.in_names(), &check.id),
            applies.iter().map(alike).collect(),
        ));
    }
    let definitions = all.into_iter().map(|(definition, name, when)| Definition {
        applies: when.iter().map(|when| when.written().to_owned()).collect(),
        name: name.written().to_owned(),
        ..definition
    });
    Definitions {
        definitions: definitions.collect(),
        taken_out: taken_out(contract),
        version: 1,
    }
}

/// Returns the checks that the blocks of imports take out.
pub fn taken_out(contract: &Contract) -> Vec<TakenOut> {
    let taken = contract.taken_out.iter().map(|taken| TakenOut {
        file: contract.file(taken.source).to_owned(),
        line: taken.line,
        name: taken.name.clone(),
    });
    taken.collect()
}

/// Returns the conditions of a placement, outermost first.
/// Joins the conditions of a placement.
pub(super) fn all_of(asks: &[String]) -> String {
    match asks {
        [] => "always".to_owned(),
        asks => asks.join(", and "),
    }
}

/// Returns the conditions of a placement, outermost first.
pub(super) fn asks(contract: &Contract, check: &Check, placement: &Placement) -> Vec<String> {
    let mut asks = Vec::new();
    for condition in contract.around(placement) {
        let what = words(&condition.test).join(" ");
        let at = place(contract.imported(condition.place.source), condition.line);
        asks.push(format!("{} {what} ({at})", condition.test.keyword()));
    }
    if placement.is_use {
        let at = place(contract.imported(placement.source), placement.line);
        asks.push(format!("use {} ({at})", visible(&check.id)));
    }
    asks
}

fn changes(contract: &Contract, check: &Check) -> Vec<Change> {
    let change = |changed: &ChangedPart| Change {
        file: contract.file(changed.source).to_owned(),
        line: changed.line,
        part: changed.part.clone(),
    };
    check.changed.iter().map(change).collect()
}

/// Says what the blocks of imports change of a check: `timeout changed in contracts/verify.vplan:6`.
pub(crate) fn changed_text(contract: &Contract, check: &Check) -> Option<String> {
    changes_text(&changes(contract, check))
}

/// Returns that text for each changed check, by name.
pub(crate) fn changed_texts(contract: &Contract) -> BTreeMap<&str, String> {
    let checks = contract.checks.iter();
    checks
        .filter_map(|check| Some((check.id.as_str(), changed_text(contract, check)?)))
        .collect()
}

fn changes_text(changes: &[Change]) -> Option<String> {
    let same_file = |a: &Change, b: &Change| a.file == b.file;
    let text = |changes: &[Change]| {
        let parts: Vec<String> = changes.iter().map(|c| visible(&c.part)).collect();
        let lines: Vec<String> = changes.iter().map(|c| c.line.to_string()).collect();
        let file = changes.first().map(|c| visible(&c.file));
        let (parts, lines) = (parts.join(", "), lines.join(","));
        format!("{parts} changed in {}:{lines}", file.unwrap_or_default())
    };
    let texts: Vec<String> = changes.chunk_by(same_file).map(text).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// Says which checks are taken out, and where.
pub(crate) fn taken_out_text(taken_out: &[TakenOut]) -> Vec<String> {
    let text = |taken: &TakenOut| {
        let at = place(Some(&taken.file), taken.line);
        format!("{} ({at})", visible(&taken.name))
    };
    taken_out.iter().map(text).collect()
}

/// Renders the definitions as text: a line each, with what belongs to it below.
pub fn definitions_text(of: &Definitions, options: &Options) -> String {
    let mut out = String::new();
    let paint = |mark, text: &str| options.style.paint(mark, text);
    let below = |out: &mut String, label: &str, text: &str| {
        let width = options.width.saturating_sub(2 + label.len()).max(20);
        for (at, part) in wrap(text, width).iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let pad = 9 - label.len();
            out.push_str(&format!("  {}{:pad$}{part}\n", paint(Mark::Dim, label), ""));
        }
    };
    for definition in &of.definitions {
        let name = paint(Mark::Id, &visible(&definition.name));
        let at = place(Some(&definition.file), definition.line);
        let about = paint(Mark::Dim, &format!("{}  {at}", definition.verb));
        out.push_str(&format!("{name}  {about}\n"));
        for (at, applies) in definition.applies.iter().enumerate() {
            below(&mut out, if at == 0 { "when" } else { "or" }, applies);
        }
        if definition.rows.iter().any(|row| !row.each.is_empty()) {
            let ids = definition.rows.iter().map(|row| visible(&row.id));
            let ids: Vec<String> = ids.collect();
            let text = format!("{}: {}", count(ids.len(), "row"), ids.join(" "));
            below(&mut out, "rows", &text);
        }
        if let Some(text) = changes_text(&definition.changed) {
            below(&mut out, "import", &text);
        }
    }
    if !of.taken_out.is_empty() {
        let text = format!("taken out: {}", taken_out_text(&of.taken_out).join(", "));
        out.push_str(&format!("{text}\n"));
    }
    out
}
