//! Converts other tools' configurations to contracts, and accounts for what a contract cannot
//! express.
//!
//! One front end a format makes a [`Conversion`]: a draft, and an account of all that is not in it,
//! or is in it with another meaning. Nothing is dropped in silence. The rule for everything that
//! cannot be expressed exactly: the contract requires at least what the file did.

pub(super) mod account;
pub(super) mod builder;
mod contract_json;

use super::print::{Comments, print};
use super::tree::{self, TreeNode};
use super::{acode_yaml, ralph_tui, runr_json};
pub use account::{
    BAD_COMMAND, BAD_VALUE, CODES, DUPLICATE_STEP, EMPTY_COMMAND, Lost, SHELL_STATE, Statement,
    WRONG_TYPE, Weight,
};
use builder::Builder;
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::index::Dense;
use vplan_base::source::{Source, Sources};
use vplan_base::span::{Place, SourceId};
use vplan_base::word::visible;
use vplan_contract::draft::{Draft, Rows};
use vplan_contract::validate::validate;
use vplan_contract::{Condition, Contract};

vplan_base::words! {
    /// A format that can be converted.
    Format {
        /// openTiger's contract in JSON.
        VerifyContractJson = "verify-contract-json",
        /// runr's configuration, JSON.
        Runr = "runr",
        /// ralph-tui's configuration, TOML.
        RalphTui = "ralph-tui",
        /// acode's configuration, YAML.
        Acode = "acode",
    }
}

/// The paths of contracts of other tools in a repository: `vplan import` converts them, and `vplan init`
/// proposes their commands.
pub const PREDECESSORS: &[(&str, Format)] = &[
    (
        ".opentiger/verify.contract.json",
        Format::VerifyContractJson,
    ),
    (".runr/runr.config.json", Format::Runr),
    (".ralph-tui/config.toml", Format::RalphTui),
    (".agent/config.yml", Format::Acode),
    (".agent/config.yaml", Format::Acode),
    (".acode/config.yml", Format::Acode),
    (".acode/config.yaml", Format::Acode),
];

/// A converted file.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    /// The format of the file.
    pub format: Format,
    /// The contract's draft.
    pub draft: Draft,
    /// The account, in the order of the file.
    pub lost: Vec<Lost>,
}

/// Recognises the format by the file's name, else by keys that only one of them has.
pub fn recognize(name: &str, text: &str) -> Option<Format> {
    let mut segments = name.rsplit('/');
    let (file, folder) = (
        segments.next().unwrap_or_default(),
        segments.next().unwrap_or_default(),
    );
    match (folder, file) {
        (_, "verify.contract.json") => return Some(Format::VerifyContractJson),
        (_, "runr.config.json" | "agent.config.json") => return Some(Format::Runr),
        (".ralph-tui" | "ralph-tui", "config.toml") => return Some(Format::RalphTui),
        (".agent" | ".acode", "config.yml" | "config.yaml") => return Some(Format::Acode),
        _ => {}
    }
    let mut sources = Sources::default();
    let id = sources.add(Source::new(name, text));
    let mut sink = Diagnostics::default();
    let mut has = |read: Read, keys: &[&str]| {
        read(&sources, id, &mut sink)
            .is_some_and(|root| keys.iter().any(|key| root.get(key).is_some()))
    };
    let toml = !file.ends_with(".json") && !file.ends_with(".yml") && !file.ends_with(".yaml");
    let yaml = !file.ends_with(".json") && !file.ends_with(".toml");
    if has(tree::json, &["byRole", "rules", "visualProbes"]) {
        Some(Format::VerifyContractJson)
    } else if has(tree::json, &["verification"]) {
        Some(Format::Runr)
    } else if has(tree::json, &["commands"]) {
        Some(Format::VerifyContractJson)
    } else if toml
        && has(
            tree::toml,
            &[
                "verification",
                "tracker",
                "trackers",
                "maxIterations",
                "defaultTracker",
            ],
        )
    {
        Some(Format::RalphTui)
    } else if yaml
        && has(
            tree::yaml,
            &["schema_version", "verifier", "commands", "criteria"],
        )
    {
        Some(Format::Acode)
    } else {
        None
    }
}

type Read = fn(&Sources, SourceId, &mut Diagnostics) -> Option<TreeNode>;

/// Converts a file. `None` when the sink holds an error: a text that cannot be read, a value of a
/// wrong type.
pub fn convert(
    sources: &Sources,
    id: SourceId,
    format: Format,
    sink: &mut Diagnostics,
) -> Option<Conversion> {
    let mut builder = Builder::new(sources, id, sink);
    match format {
        Format::VerifyContractJson => builder.contract_json(),
        Format::Runr => runr_json::lower(&mut builder),
        Format::RalphTui => ralph_tui::lower(&mut builder),
        Format::Acode => acode_yaml::lower(&mut builder),
    }
    let Builder {
        draft, mut lost, ..
    } = builder;
    lost.sort_by_key(|l| l.place);
    // A converted contract is one file: globs and paths that are invalid are found here, with the
    // place in the file.
    let mut found = Diagnostics::default();
    let valid = !sink.has_errors() && validate(&draft, sources, &mut found).is_some();
    for error in found
        .sorted()
        .into_iter()
        .filter(|d| d.severity == vplan_base::diagnostic::Severity::Error)
    {
        sink.push(error);
    }
    if !valid {
        return None;
    }
    let conversion = Conversion {
        format,
        draft,
        lost,
    };
    let most = vplan_lang::parse::ParserCaps::default().line_bytes;
    let longest = text(&conversion, sources)
        .lines()
        .map(str::len)
        .max()
        .unwrap_or(0);
    if longest > most {
        let message =
            format!("a line of the contract would have {longest} bytes, {most} are the most");
        let place = Place {
            source: id,
            ..Place::default()
        };
        let error = Diagnostic::error(tree::TOO_LARGE, message)
            .label(place, "a list or a text in this file");
        sink.push(error.help("split the list, or put the command into a script"));
        return None;
    }
    Some(conversion)
}

/// Writes the contract, with a comment for everything in the account that concerns checks.
pub fn text(conversion: &Conversion, sources: &Sources) -> String {
    let name = visible(&conversion.draft.path);
    let mut comments = Comments {
        head: vec![format!("Converted from {name} by `vplan import`.")],
        ..Comments::default()
    };
    let head = [
        "Commands get a clean environment here; `pass-env NAME` lets a variable through.",
        "As there, each has 300 s, and `node_modules/.bin` is on its PATH. No `.env` is read.",
        "For docser, only commands like `pnpm run check` could be added there; `max-checks 0` in `role docser {` lets none be.",
    ];
    let told = if conversion.format == Format::VerifyContractJson {
        head.len()
    } else {
        1
    };
    comments
        .head
        .extend(head.iter().take(told).map(|line| (*line).to_owned()));
    for lost in conversion
        .lost
        .iter()
        .filter(|l| l.weight != Weight::NoEffect)
    {
        let line = sources.position(lost.place).line;
        let mut lines = vec![format!(
            "{}, line {line}: {}: {}",
            lost.weight.name(),
            lost.what,
            lost.why
        )];
        lines.extend(lost.instead.iter().map(|text| format!("  by hand: {text}")));
        match lost.about {
            Statement::File => comments.head.extend(lines),
            Statement::Entry(index) => comments.entries.entry(index).or_default().extend(lines),
            Statement::Risk(index) => comments.risks.entry(index).or_default().extend(lines),
        }
    }
    print(&conversion.draft, &comments)
}

/// The text of a conversion is not what was converted, which is a bug in vplan.
#[derive(Debug)]
pub enum Unfaithful {
    /// The draft is not a contract.
    Draft,
    /// The text is not a contract; its first error.
    Text(Option<Diagnostic>),
    Meaning,
}

impl std::fmt::Display for Unfaithful {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Draft => "the draft is no contract",
            Self::Text(Some(first)) => &first.message,
            Self::Text(None) => "the text is no contract",
            Self::Meaning => "the text means something else",
        })
    }
}

/// Reads the text again and compares it with what was converted.
///
/// # Errors
/// They differ.
pub fn verify(
    conversion: &Conversion,
    sources: &Sources,
    text: &str,
) -> Result<Contract, Unfaithful> {
    let mut sink = Diagnostics::default();
    let wanted = validate(&conversion.draft, sources, &mut sink).ok_or(Unfaithful::Draft)?;
    let mut again = Sources::default();
    let id = again.add(Source::new("converted.vplan", text));
    let mut sink = Diagnostics::default();
    let caps = vplan_lang::parse::ParserCaps::of_bytes(usize::MAX);
    let draft = super::vplan::lower(&again, id, &caps, &mut sink);
    let Some(read) = validate(&draft, &again, &mut sink) else {
        let mut sorted = sink.sorted().into_iter();
        let first = sorted.find(|d| d.severity == vplan_base::diagnostic::Severity::Error);
        return Err(Unfaithful::Text(first));
    };
    if essence(&wanted) == essence(&read) {
        Ok(read)
    } else {
        Err(Unfaithful::Meaning)
    }
}

/// Returns a contract without places, names of the file and shared conditions.
fn essence(contract: &Contract) -> Contract {
    let mut plain = contract.clone();
    plain.path.clear();
    plain.rows = Rows::default();
    plain.digest = vplan_base::canon::Digest::hash(b"");
    plain.conditions = Dense::default();
    for check in &mut plain.checks {
        (check.place, check.line, check.column) = (Place::default(), 0, 0);
        for placement in &mut check.placements {
            for index in &mut placement.conditions {
                let condition = contract.conditions[*index].clone();
                *index = plain.conditions.push(Condition {
                    line: 0,
                    place: Place::default(),
                    ..condition
                });
            }
            placement.line = 0;
        }
    }
    for risk in &mut plain.risks {
        (risk.line, risk.place) = (0, Place::default());
    }
    plain.sequences.iter_mut().for_each(|s| s.line = 0);
    plain.services.values_mut().for_each(|s| s.line = 0);
    plain
        .roles
        .values_mut()
        .for_each(|r| r.line = r.line.map(|_| 0));
    plain.scope.line = plain.scope.line.map(|_| 0);
    plain
}
