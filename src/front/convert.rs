//! What does another tool's configuration ask for, in terms of a contract, and what of it has no such terms?
//!
//! One front end a format makes a [`Conversion`]: a draft, and an account of all that is not in it, or is in it with another
//! meaning. Nothing is dropped in silence. The rule for everything that cannot be said exactly: the contract requires at least
//! what the file did.

use super::print::{Comments, print};
use super::tree::{self, Key, Node, Value};
use super::{acode_yaml, ralph_tui, runr_json, verify_contract_json};
use crate::base::command::{Command, Env, Link, Piece, UnsupportedReason};
use crate::base::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::base::nearest::nearest;
use crate::base::path::RepoPath;
use crate::base::source::{Source, Sources};
use crate::base::span::{Place, SourceId};
use crate::base::word::{Word, is_unsafe_to_show, visible};
use crate::check::Kind;
use crate::contract::draft::{At, Check, Draft, Entry, Role, Setting, Verb};
use crate::contract::validate::validate;
use crate::contract::{BUILT_IN_ROLES, Contract, Placement};
use crate::lang::command::{parse_command, would_expand};
use std::collections::BTreeSet;

/// A value of another type than its key has.
pub const WRONG_TYPE: Code = Code("vplan::convert::wrong_type");
/// A value of the right type that its key does not take.
pub const BAD_VALUE: Code = Code("vplan::convert::bad_value");
/// A command without a word.
pub const EMPTY_COMMAND: Code = Code("vplan::convert::empty_command");
/// A command that no line of a contract can hold.
pub const BAD_COMMAND: Code = Code("vplan::convert::bad_command");
/// A name that two steps have.
pub const DUPLICATE_STEP: Code = Code("vplan::convert::duplicate_step");

/// All codes of the conversion; those of strict JSON are in `verify_contract_json`.
pub const CODES: &[Code] = &[
    WRONG_TYPE,
    BAD_VALUE,
    EMPTY_COMMAND,
    BAD_COMMAND,
    DUPLICATE_STEP,
    tree::TOML,
    tree::YAML,
    tree::TOO_LARGE,
    tree::DUPLICATE_KEY,
];

/// The longest command, in bytes: its line, quoted, still is one of a contract.
const MAX_COMMAND: usize = 15 << 10;

/// A format that can be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// openTiger's contract in JSON.
    VerifyContractJson,
    /// runr's configuration, JSON.
    Runr,
    /// ralph-tui's configuration, TOML.
    RalphTui,
    /// acode's configuration, YAML.
    Acode,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [Format::VerifyContractJson, Format::Runr, Format::RalphTui, Format::Acode];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::VerifyContractJson => "verify-contract-json",
            Format::Runr => "runr",
            Format::RalphTui => "ralph-tui",
            Format::Acode => "acode",
        }
    }
}

/// How much something in the account weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It is not in the contract.
    Lost,
    /// It is in the contract and means something else there, never less.
    Changed,
    /// It asks for no check, there or here.
    NoEffect,
}

impl Weight {
    /// How the account calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Weight::Lost => "lost",
            Weight::Changed => "changed",
            Weight::NoEffect => "no-effect",
        }
    }
}

/// Something that the contract does not say, or says in another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// How much it weighs.
    pub weight: Weight,
    /// The key, or what stands there; one line.
    pub what: String,
    /// Where it stands.
    pub place: Place,
    /// Why it is not there as it was; one line.
    pub why: String,
    /// What to write by hand, where that is known.
    pub instead: Option<String>,
    /// What of the draft carries the comment about it.
    pub about: About,
}

/// What a comment stands in front of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum About {
    /// Nothing in particular: the comment stands at the top.
    #[default]
    File,
    /// An entry of the draft.
    Entry(usize),
    /// A trigger of the draft.
    Risk(usize),
}

/// A converted file.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversion {
    /// What it was.
    pub format: Format,
    /// What it asks for.
    pub draft: Draft,
    /// The account, in the order of the file.
    pub lost: Vec<Lost>,
}

/// Tells the format by the file's name, else by keys that only one of them has.
#[must_use]
pub fn tell(name: &str, text: &str) -> Option<Format> {
    let mut segments = name.rsplit('/');
    let (file, folder) = (segments.next().unwrap_or_default(), segments.next().unwrap_or_default());
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
        read(&sources, id, &mut sink).is_some_and(|root| keys.iter().any(|key| root.get(key).is_some()))
    };
    let toml = !file.ends_with(".json") && !file.ends_with(".yml") && !file.ends_with(".yaml");
    let yaml = !file.ends_with(".json") && !file.ends_with(".toml");
    if has(tree::json, &["byRole", "rules", "visualProbes"]) {
        Some(Format::VerifyContractJson)
    } else if has(tree::json, &["verification"]) {
        Some(Format::Runr)
    } else if has(tree::json, &["commands"]) {
        Some(Format::VerifyContractJson)
    } else if toml && has(tree::toml, &["verification", "tracker", "trackers", "maxIterations", "defaultTracker"]) {
        Some(Format::RalphTui)
    } else if yaml && has(tree::yaml, &["schema_version", "verifier", "commands"]) {
        Some(Format::Acode)
    } else {
        None
    }
}

type Read = fn(&Sources, SourceId, &mut Diagnostics) -> Option<Node>;

/// Converts a file. `None` when the sink holds an error: a text that cannot be read, a value of a wrong type.
pub fn convert(sources: &Sources, id: SourceId, format: Format, sink: &mut Diagnostics) -> Option<Conversion> {
    let mut builder = Builder::new(sources, id, sink);
    match format {
        Format::VerifyContractJson => builder.contract_json(),
        Format::Runr => runr_json::lower(&mut builder),
        Format::RalphTui => ralph_tui::lower(&mut builder),
        Format::Acode => acode_yaml::lower(&mut builder),
    }
    let Builder { draft, mut lost, .. } = builder;
    lost.sort_by_key(|l| l.place);
    // A converted contract is one: globs and paths that are none are found here, with the place in the file.
    let mut found = Diagnostics::default();
    let valid = !sink.has_errors() && validate(&draft, sources, &mut found).is_some();
    for error in found.sorted().into_iter().filter(|d| d.severity == crate::base::diagnostic::Severity::Error) {
        sink.push(error);
    }
    if !valid {
        return None;
    }
    let conversion = Conversion { format, draft, lost };
    let most = crate::lang::parse::Caps::default().line_bytes;
    let longest = text(&conversion, sources).lines().map(str::len).max().unwrap_or(0);
    if longest > most {
        let message = format!("a line of the contract would have {longest} bytes, {most} are the most");
        let place = Place { source: id, ..Place::default() };
        let error = Diagnostic::error(tree::TOO_LARGE, message).label(place, "a list or a text in this file");
        sink.push(error.help("split the list, or put the command into a script"));
        return None;
    }
    Some(conversion)
}

/// Writes the contract, with a comment for everything in the account that has to do with checks.
#[must_use]
pub fn text(conversion: &Conversion, sources: &Sources) -> String {
    let name = visible(conversion.draft.path.as_bytes());
    let mut comments =
        Comments { head: vec![format!("Converted from {name} by `vplan import`.")], ..Comments::default() };
    if conversion.format != Format::VerifyContractJson {
        comments
            .head
            .push("Commands get a clean environment here; `pass-env NAME` lets a variable through.".to_owned());
    }
    for lost in conversion.lost.iter().filter(|l| l.weight != Weight::NoEffect) {
        let line = sources.position(lost.place).line;
        let mut lines = vec![format!("{}, line {line}: {}: {}", lost.weight.name(), lost.what, lost.why)];
        lines.extend(lost.instead.iter().map(|text| format!("  by hand: {text}")));
        match lost.about {
            About::File => comments.head.extend(lines),
            About::Entry(index) => comments.entries.entry(index).or_default().extend(lines),
            About::Risk(index) => comments.risks.entry(index).or_default().extend(lines),
        }
    }
    print(&conversion.draft, &comments)
}

/// Reads the text again and compares it with what was converted.
///
/// # Errors
/// What differs; a fault of vplan.
pub fn verify(conversion: &Conversion, sources: &Sources, text: &str) -> Result<Contract, String> {
    let mut sink = Diagnostics::default();
    let wanted = validate(&conversion.draft, sources, &mut sink).ok_or("the draft is no contract")?;
    let mut again = Sources::default();
    let id = again.add(Source::new("converted.vplan", text));
    let mut sink = Diagnostics::default();
    let caps = crate::lang::parse::Caps { file_bytes: usize::MAX, ..crate::lang::parse::Caps::default() };
    let draft = super::vplan::lower(&again, id, &caps, &mut sink);
    let Some(read) = validate(&draft, &again, &mut sink) else {
        let first = sink.sorted().into_iter().find(|d| d.severity == crate::base::diagnostic::Severity::Error);
        return Err(first.map_or_else(|| "the text is no contract".to_owned(), |d| d.message));
    };
    if essence(&wanted) == essence(&read) { Ok(read) } else { Err("the text means something else".to_owned()) }
}

/// Any bytes as any format: reading ends without a panic, and what is accepted is written as a text that reads as the same.
///
/// # Errors
/// What does not hold.
pub fn oracle(format: Format, bytes: &[u8]) -> Result<(), String> {
    let mut sources = Sources::default();
    let text = String::from_utf8_lossy(bytes);
    let _ = tell("-", &text);
    let id = sources.add(Source::new("fuzz", &text));
    let mut sink = Diagnostics::default();
    let converted = convert(&sources, id, format, &mut sink);
    let inside = |place: Place| {
        let end = sources.get(place.source).map_or(0, |s| s.text().len());
        place.span.end <= end
            && sources.get(place.source).is_some_and(|s| s.text().get(place.span.start..place.span.end).is_some())
    };
    if let Some(bad) = sink.iter().find(|d| d.labels.is_empty() || !d.labels.iter().all(|l| inside(l.place))) {
        return Err(format!("{}: a label outside the text", bad.code));
    }
    match converted {
        None if sink.has_errors() => Ok(()),
        None => Err("refused without a word".to_owned()),
        Some(conversion) => {
            if let Some(bad) = conversion.lost.iter().find(|l| !inside(l.place) || l.what.contains('\n')) {
                return Err(format!("the account points outside the text: {bad:?}"));
            }
            let written = self::text(&conversion, &sources);
            verify(&conversion, &sources, &written).map(|_| ()).map_err(|e| format!("{e}\n{written}"))
        }
    }
}

/// A contract without places, names of the file and shared conditions.
fn essence(contract: &Contract) -> Contract {
    let mut plain = contract.clone();
    plain.path.clear();
    plain.digest = crate::base::canon::Digest::of(b"");
    plain.conditions.clear();
    for check in &mut plain.checks {
        (check.place, check.line, check.column) = (Place::default(), 0, 0);
        for placement in &mut check.placements {
            let first = plain.conditions.len();
            let tests = placement.conditions.iter().filter_map(|c| contract.conditions.get(*c)).cloned();
            plain.conditions.extend(tests.map(|c| crate::contract::Condition { line: 0, ..c }));
            *placement = Placement {
                conditions: (first..plain.conditions.len()).collect(),
                line: 0,
                source: placement.source,
                is_use: placement.is_use,
            };
        }
    }
    plain.risks.iter_mut().for_each(|r| r.line = 0);
    plain.sequences.iter_mut().for_each(|s| s.line = 0);
    plain.roles.values_mut().for_each(|r| r.line = r.line.map(|_| 0));
    plain.scope.line = plain.scope.line.map(|_| 0);
    plain
}

/// Puts a draft and its account together.
pub(super) struct Builder<'s> {
    pub(super) sources: &'s Sources,
    pub(super) id: SourceId,
    pub(super) sink: &'s mut Diagnostics,
    pub(super) draft: Draft,
    pub(super) lost: Vec<Lost>,
    names: BTreeSet<String>,
}

/// A command that was written for a shell.
pub(super) struct Spec<'a> {
    pub(super) text: &'a str,
    pub(super) place: Place,
    /// What the check is called; made a name, and unique. Empty: after its words.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) tier: Option<At<u8>>,
    pub(super) settings: Vec<Setting>,
    /// Its directory, from the root: written out unless it is the default.
    pub(super) dir: Option<&'a str>,
    /// The `dir` of `defaults`.
    pub(super) default_dir: Option<&'a str>,
}

/// How a command that is no argument vector is said instead.
enum Instead {
    /// Its parts, each in a directory (none: the check's own).
    Parts(Vec<(Command, Option<String>)>),
    /// A shell.
    Shell,
}

impl<'s> Builder<'s> {
    pub(super) fn new(sources: &'s Sources, id: SourceId, sink: &'s mut Diagnostics) -> Self {
        let path = sources.get(id).map_or("", Source::name).to_owned();
        Self { sources, id, sink, draft: Draft { path, ..Draft::default() }, lost: Vec::new(), names: BTreeSet::new() }
    }

    pub(super) fn lose(&mut self, weight: Weight, what: &str, place: Place, why: &str, instead: Option<&str>) {
        self.lose_at(About::File, weight, what, place, why, instead);
    }

    pub(super) fn lose_at(
        &mut self,
        about: About,
        weight: Weight,
        what: &str,
        place: Place,
        why: &str,
        instead: Option<&str>,
    ) {
        let shown = |text: &str| visible(cut(text, 200).as_bytes());
        let instead = instead.map(shown);
        self.lost.push(Lost { weight, what: shown(what), place, why: shown(why), instead, about });
    }

    /// A key that the format is not known to have.
    pub(super) fn unknown(&mut self, within: &str, key: &Key, known: &[&str]) {
        let near = nearest(&key.name, known.iter().copied()).map(|k| format!("was `{k}` meant?"));
        let what = format!("`{within}{}`", key.name);
        self.lose(Weight::Lost, &what, key.place, "a key that vplan does not know in this format", near.as_deref());
    }

    /// A key that asks for no check.
    pub(super) fn no_effect(&mut self, within: &str, key: &Key, why: &str) {
        self.lose(Weight::NoEffect, &format!("`{within}{}`", key.name), key.place, why, None);
    }

    pub(super) fn fault(&mut self, code: Code, place: Place, message: String, label: &str, help: Option<&str>) {
        let mut error = Diagnostic::error(code, message).label(place, label);
        error.help = help.map(str::to_owned);
        self.sink.push(error);
    }

    pub(super) fn wrong_type(&mut self, what: &str, wanted: &str, node: &Node) {
        let message = format!("`{what}` is {wanted}, not {}", node.value.name());
        self.fault(WRONG_TYPE, node.place, message, node.value.name(), None);
    }

    pub(super) fn map<'n>(&mut self, what: &str, node: &'n Node) -> &'n [(Key, Node)] {
        match &node.value {
            Value::Map(entries) => entries,
            _ => {
                self.wrong_type(what, "a mapping", node);
                &[]
            }
        }
    }

    pub(super) fn list<'n>(&mut self, what: &str, node: &'n Node) -> &'n [Node] {
        match &node.value {
            Value::List(nodes) => nodes,
            _ => {
                self.wrong_type(what, "a list", node);
                &[]
            }
        }
    }

    pub(super) fn text<'n>(&mut self, what: &str, node: &'n Node) -> Option<&'n str> {
        match &node.value {
            Value::Text(text) => Some(text),
            _ => {
                self.wrong_type(what, "a string", node);
                None
            }
        }
    }

    pub(super) fn texts<'n>(&mut self, what: &str, node: &'n Node) -> Vec<(&'n str, Place)> {
        let nodes = self.list(what, node);
        nodes.iter().filter_map(|n| Some((self.text(what, n)?, n.place))).collect()
    }

    pub(super) fn boolean(&mut self, what: &str, node: &Node) -> Option<bool> {
        match node.value {
            Value::Bool(value) => Some(value),
            _ => {
                self.wrong_type(what, "a boolean", node);
                None
            }
        }
    }

    /// A whole number within bounds.
    pub(super) fn whole(&mut self, what: &str, node: &Node, least: u64, most: u64) -> Option<u64> {
        let Value::Whole(value) = node.value else {
            self.wrong_type(what, "a whole number", node);
            return None;
        };
        let found = u64::try_from(value).ok().filter(|n| (least..=most).contains(n));
        if found.is_none() {
            let label = format!("from {least} to {most}");
            self.fault(BAD_VALUE, node.place, format!("`{what}` cannot be {value}"), &label, None);
        }
        found
    }

    /// A directory of the repository, as it is to be written.
    pub(super) fn directory(&mut self, what: &str, node: &Node) -> Option<String> {
        let text = self.text(what, node)?;
        match RepoPath::parse(text.as_bytes()) {
            Ok(path) => path.as_bytes().utf8_chunks().map(|c| c.valid().to_owned()).next(),
            Err(_) => {
                let message = format!("`{what}` leaves the repository: `{}`", visible(text.as_bytes()));
                self.fault(BAD_VALUE, node.place, message, "a directory below the root is expected", None);
                None
            }
        }
    }

    /// A name that no check has yet, as near to the wish as the language allows.
    pub(super) fn name(&mut self, wish: &str) -> String {
        let base = slug(wish);
        let mut name = base.clone();
        let mut counter = 1;
        while !self.names.insert(name.clone()) {
            counter += 1;
            name = format!("{base}-{counter}");
        }
        name
    }

    /// Makes the checks that a command for a shell comes to, and says what they are called, in order. Each but the first needs
    /// the one before it.
    pub(super) fn command(&mut self, spec: Spec<'_>) -> Vec<String> {
        if !self.can_be_written(spec.text, spec.place) {
            return Vec::new();
        }
        let text = spec.text.trim();
        let read = match parse_command(text) {
            // In another tool's file `{changed}` is no placeholder.
            Command::Argv { env, pieces } => Command::Argv { env, pieces: pieces.into_iter().map(literal).collect() },
            other => other,
        };
        let parts = if would_expand(text) {
            Instead::Shell
        } else {
            match &read {
                Command::Argv { .. } => Instead::Parts(vec![(read, None)]),
                Command::Unsupported { unsupported, .. } => {
                    parts_of(&unsupported.chain, spec.dir.or(spec.default_dir)).unwrap_or(Instead::Shell)
                }
            }
        };
        let settings = |dir: Option<String>, needs: Option<&String>| {
            let dir = dir.or_else(|| spec.dir.map(str::to_owned)).map(Setting::Dir);
            let needs = needs.map(|n| Setting::Needs(vec![At::new(n.clone(), spec.place)]));
            let all = spec.settings.iter().cloned().chain(dir).chain(needs);
            all.map(|s| At::new(s, spec.place)).collect::<Vec<_>>()
        };
        let mut made: Vec<String> = Vec::new();
        match parts {
            Instead::Shell => {
                let name = self.name(if spec.name.is_empty() { text } else { &spec.name });
                let verb = shell(spec.kind, text);
                let settings = settings(None, None);
                self.push_check(&name, verb, settings, &spec);
                made.push(name);
            }
            Instead::Parts(parts) => {
                let last = parts.len().saturating_sub(1);
                let first_entry = self.draft.entries.len();
                for (index, (command, dir)) in parts.into_iter().enumerate() {
                    let own = index < last || spec.name.is_empty();
                    let wish = if own { words_of(&command) } else { spec.name.clone() };
                    let name = self.name(&wish);
                    // What comes before the last part prepares it.
                    let kind = if index == last { spec.kind } else { Kind::Run };
                    let settings = settings(dir, made.last()).into_iter().filter(|s| fits(kind, &s.value)).collect();
                    self.push_check(&name, Verb::Command(kind, command), settings, &spec);
                    made.push(name);
                }
                if last > 0 {
                    let why = "`&&` became checks that need each other; time limits and retries apply to each of them";
                    let what = format!("`{}`", cut(text, 60));
                    self.lose_at(About::Entry(first_entry), Weight::Changed, &what, spec.place, why, None);
                }
            }
        }
        made
    }

    fn push_check(&mut self, name: &str, verb: Verb, settings: Vec<At<Setting>>, spec: &Spec<'_>) {
        self.draft.entries.push(Entry::Check(Box::new(Check {
            inclusion: 0,
            name: Some(At::new(name.to_owned(), spec.place)),
            verbs: vec![At::new(verb, spec.place)],
            settings,
            conditions: Vec::new(),
            tier_block: spec.tier.clone(),
            place: spec.place,
        })));
    }

    /// Reports commands that do nothing, and those that no line of a contract can hold.
    fn can_be_written(&mut self, text: &str, place: Place) -> bool {
        let trimmed = text.trim();
        let comment = trimmed.starts_with('#') && !trimmed.contains('\n');
        let assigns = matches!(
            parse_command(trimmed),
            Command::Unsupported { unsupported, .. } if unsupported.reason == UnsupportedReason::Empty
        );
        if comment || assigns {
            let help = Some("take the entry away; a check has a command");
            self.fault(EMPTY_COMMAND, place, "a command without a word".to_owned(), "nothing to run", help);
            return false;
        }
        if text.contains('\0') {
            let message = "a command with a character NUL".to_owned();
            self.fault(BAD_COMMAND, place, message, "no argument can hold it", None);
            return false;
        }
        if text.len() > MAX_COMMAND {
            let message = format!("a command of {} bytes, {MAX_COMMAND} are the most", text.len());
            self.fault(BAD_COMMAND, place, message, "too long for a line", Some("put it into a script"));
            return false;
        }
        true
    }

    /// `verify.contract.json`: its own front end reads it; what the language cannot say is replaced here.
    fn contract_json(&mut self) {
        let mut found = Diagnostics::default();
        self.draft = verify_contract_json::lower(self.sources, self.id, &mut found);
        for message in found.sorted() {
            let place = message.labels.first().map(|l| l.place).unwrap_or_default();
            let key = self.sources.get(place.source).map_or("", |s| s.slice(place.span)).trim_matches('"').to_owned();
            let what = format!("`{key}`");
            if message.code == verify_contract_json::UNKNOWN_KEY {
                let why = "a key that such a contract does not have, so that it never had an effect";
                let near = message.labels.first().map(|l| l.text.clone()).filter(|t| t.ends_with('?'));
                self.lose(Weight::Lost, &what, place, why, near.as_deref());
            } else if message.code == verify_contract_json::UNSUPPORTED_KEY {
                let why = "vplan looks at no images";
                let hand = "a check that runs the captureCommand, and a `file` check for its imagePath that needs it";
                self.lose(Weight::Lost, &what, place, why, Some(hand));
            } else {
                self.sink.push(message);
            }
        }
        if self.sink.has_errors() {
            return;
        }
        self.declare_roles();
        self.report_idle_conditions();
        let mut ignored = Diagnostics::default();
        let Some(contract) = validate(&self.draft, self.sources, &mut ignored) else { return };
        self.names = contract.checks.iter().map(|c| c.id.clone()).collect();
        let checks = std::mem::take(&mut self.draft.entries).into_iter().zip(contract.checks);
        for (entry, check) in checks {
            let Entry::Check(draft) = entry else { continue };
            match draft.verbs.first().map(|v| &v.value) {
                Some(Verb::Command(_, Command::Unsupported { text, .. })) => {
                    let text = text.clone();
                    self.replace_unsupported(*draft, &check.id, &text);
                }
                _ => self.draft.entries.push(Entry::Check(draft)),
            }
        }
    }

    /// Roles that only this file knows become known.
    fn declare_roles(&mut self) {
        let mut seen = BTreeSet::new();
        let mut new = Vec::new();
        for condition in &self.draft.conditions {
            let crate::contract::draft::Condition::Role(roles) = &condition.value else { continue };
            for role in roles.iter().filter(|r| !BUILT_IN_ROLES.contains(&r.value.as_str())) {
                if seen.insert(role.value.clone()) {
                    new.push(role.clone());
                }
            }
        }
        for role in new {
            if slug(&role.value) != role.value {
                let message = format!("`{}` cannot be the name of a role", visible(role.value.as_bytes()));
                let help = Some("a name has letters, digits, `_` and `-`, and begins with none of the last two kinds");
                self.fault(BAD_VALUE, role.place, message, "no name", help);
                continue;
            }
            let what = format!("role `{}`", role.value);
            let why = "vplan knows worker, tester, docser and reviewer; a block makes this one known";
            self.lose(Weight::Changed, &what, role.place, why, None);
            self.draft.roles.push(Role { name: role, only: Vec::new(), max_checks: Vec::new() });
        }
    }

    /// A rule or a role without commands asks for nothing.
    fn report_idle_conditions(&mut self) {
        let used: BTreeSet<usize> = self
            .draft
            .entries
            .iter()
            .flat_map(|e| if let Entry::Check(c) = e { c.conditions.clone() } else { Vec::new() })
            .collect();
        let idle: Vec<Place> =
            self.draft.conditions.iter().enumerate().filter(|(i, _)| !used.contains(i)).map(|(_, c)| c.place).collect();
        for place in idle {
            self.lose(Weight::NoEffect, "a condition", place, "there are no commands under it", None);
        }
    }

    /// A command outside the grammar: the parts of a conjunction, or a shell. It keeps its id.
    fn replace_unsupported(&mut self, check: Check, id: &str, text: &str) {
        if !self.can_be_written(text, check.place) {
            return;
        }
        let Some(At { value: Verb::Command(_, Command::Unsupported { unsupported, .. }), .. }) = check.verbs.first()
        else {
            return;
        };
        let parts = if would_expand(text) { None } else { parts_of(&unsupported.chain, None) };
        let (about, what) = (About::Entry(self.draft.entries.len()), format!("`{}`", cut(text, 60)));
        let named = |name: &str, verb: Verb, settings: Vec<Setting>| {
            let settings = settings.into_iter().map(|s| At::new(s, check.place)).collect();
            let (name, verb) = (At::new(name.to_owned(), check.place), At::new(verb, check.place));
            Entry::Check(Box::new(Check { name: Some(name), verbs: vec![verb], settings, ..check.clone() }))
        };
        if let Some(Instead::Parts(parts)) = parts {
            let last = parts.len().saturating_sub(1);
            let mut before: Option<String> = None;
            for (index, (command, dir)) in parts.into_iter().enumerate() {
                let name = if index == last { id.to_owned() } else { self.name(&format!("{id}-part")) };
                let needs = before.map(|n| Setting::Needs(vec![At::new(n, check.place)]));
                let settings = dir.map(Setting::Dir).into_iter().chain(needs).collect();
                self.draft.entries.push(named(&name, Verb::Command(Kind::Run, command), settings));
                before = Some(name);
            }
            let why = "`&&` and `cd` are no commands: it became what recovery would make of it";
            self.lose_at(about, Weight::Changed, &what, check.place, why, None);
        } else {
            self.draft.entries.push(named(id, shell(Kind::Run, text.trim()), Vec::new()));
            let why = "it needs a shell, and no shell reads commands: it goes through one explicitly";
            self.lose_at(
                about,
                Weight::Changed,
                &what,
                check.place,
                why,
                Some("a script, or checks without operators"),
            );
        }
    }
}

/// The parts of a conjunction as checks: commands, each in its directory. `None` when a part is neither a command nor a `cd` to a
/// directory of the repository, or when the last part is a `cd`.
fn parts_of(chain: &[Link], dir: Option<&str>) -> Option<Instead> {
    let base = RepoPath::parse(dir.unwrap_or(".").as_bytes()).ok()?;
    let mut here: Option<RepoPath> = None;
    let mut parts = Vec::new();
    for link in chain {
        match link {
            Link::Other { .. } => return None,
            Link::ChangeDirectory { cd } => {
                here = Some(here.as_ref().unwrap_or(&base).join(cd.as_bytes()).ok()?);
            }
            Link::Run { argv, env } => {
                let pieces = argv.iter().cloned().map(Piece::Word).collect();
                let dir =
                    here.as_ref().map(|d| std::str::from_utf8(d.as_bytes()).map(str::to_owned)).transpose().ok()?;
                parts.push((Command::Argv { env: env.clone(), pieces }, dir));
            }
        }
    }
    let ends_in_cd = matches!(chain.last(), Some(Link::ChangeDirectory { .. }) | None);
    (!ends_in_cd).then_some(Instead::Parts(parts))
}

/// A text for a shell. Where the verb `shell` cannot hold it, or the check has another verb, `sh` is the program.
fn shell(kind: Kind, text: &str) -> Verb {
    let plain = !text.chars().any(is_unsafe_to_show) && !text.ends_with('\\') && !text.contains("{changed}");
    if kind == Kind::Run && plain {
        return Verb::Shell(text.to_owned());
    }
    let pieces = ["sh", "-c", text].into_iter().map(|w| Piece::Word(Word::from(w))).collect();
    Verb::Command(kind, Command::Argv { env: Env::new(), pieces })
}

/// Whether a check of this kind takes the setting.
fn fits(kind: Kind, setting: &Setting) -> bool {
    match setting {
        Setting::MaxErrors(_) | Setting::MaxWarnings(_) => matches!(kind, Kind::Lint | Kind::Compile),
        Setting::MinTests(_) => kind == Kind::Test,
        _ => true,
    }
}

/// The words of a command, for its name.
fn words_of(command: &Command) -> String {
    match command {
        Command::Argv { pieces, .. } => Command::Argv { env: Env::new(), pieces: pieces.clone() }.to_text(),
        Command::Unsupported { text, .. } => text.clone(),
    }
}

fn literal(piece: Piece) -> Piece {
    match piece {
        Piece::Changed => Piece::Word(Word::from("{changed}")),
        word => word,
    }
}

/// The beginning of a text, for the account.
fn cut(text: &str, most: usize) -> String {
    let mut cut: String = text.chars().take(most).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

/// The nearest name of the language: letters, digits and `_` stay, all else becomes `-`. What is a name stays as it is.
pub(super) fn slug(text: &str) -> String {
    let begins = |text: &str| text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if plain && begins(text) && text.len() <= 100 {
        return text.to_owned();
    }
    let mut name = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
        if name.len() == 64 {
            break;
        }
    }
    name.truncate(name.trim_end_matches('-').len());
    if begins(&name) { name } else { format!("check-{name}").trim_end_matches('-').to_owned() }
}
