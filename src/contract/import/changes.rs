//! Changes what an import brings by the lines of its block.
//!
//! All is in its place already: names are whole, conditions and defaults are numbered. What is
//! named in a block is named as the imported file does; what is written in it is text of the
//! importing file, and is in the scope of that.

use super::error::{CHANGE_NEEDED, CHANGE_NOTHING, CHANGE_TWICE, CHANGE_UNKNOWN};
use super::scope::Scope;
use crate::InclusionIndex;
use crate::draft::{
    At, Changed, Changes, Check, CheckEntry, Draft, Group, Inclusion, Override, Sel, Sequence,
    Setting, SettingName, Verb, Written,
};
use std::collections::{BTreeMap, BTreeSet};
use vplan_base::command::Command;
use vplan_base::diagnostic::{Diagnostic, Diagnostics};
use vplan_base::name::{is_pattern, matches};
use vplan_base::nearest::nearest;
use vplan_base::setting::{Row, Takes, Unset};
use vplan_base::source::Sources;
use vplan_base::span::{Place, SourceId};
use vplan_base::word::visible;
use vplan_check::Kind;

/// The block of one import, and what it is about.
pub(super) struct ImportBlock<'b> {
    pub(super) changes: &'b Changes,
    /// Where the content of the imported file is put.
    pub(super) scope: &'b Scope,
    /// Where that of the importing file is.
    pub(super) importer: &'b Scope,
    /// The uses of files that come with the import, itself among them.
    pub(super) below: BTreeSet<InclusionIndex>,
    /// These files.
    pub(super) files: BTreeSet<SourceId>,
    /// Whether it is a file of another repository.
    pub(super) is_foreign: bool,
    /// The name of the imported file.
    pub(super) name: &'b str,
}

/// Applies the block of an import.
pub(super) fn apply(
    draft: &mut Draft,
    block: &ImportBlock<'_>,
    sources: &Sources,
    sink: &mut Diagnostics,
) {
    let mut applying = Applying {
        block,
        sources,
        sink,
        taken: BTreeMap::new(),
        seen: BTreeMap::new(),
    };
    applying.report_allowed();
    applying.take_out(draft, &block.changes.without);
    for change in &block.changes.overrides {
        applying.change(draft, change);
    }
    let taken = applying.taken;
    remove(draft, &taken, block);
    report_needed(draft, &taken, sink);
    let taken = taken.into_iter().map(|(name, place)| At::new(name, place));
    draft.taken_out.extend(taken);
}

/// A block while it is applied.
struct Applying<'b> {
    block: &'b ImportBlock<'b>,
    sources: &'b Sources,
    sink: &'b mut Diagnostics,
    /// The checks that are taken out, by their whole names.
    taken: BTreeMap<String, Place>,
    /// The changed parts of checks, with the places of the changes.
    seen: BTreeMap<(String, Changed), Place>,
}

impl Applying<'_> {
    /// Warns of what is allowed to a file that needs no leave.
    fn report_allowed(&mut self) {
        let first = self.block.changes.allowed.first();
        let Some(first) = first.filter(|_| !self.block.is_foreign) else {
            return;
        };
        let message = format!(
            "`{}` is no file of another repository, and needs no leave",
            visible(self.block.name)
        );
        self.sink.push(
            Diagnostic::warning(CHANGE_NOTHING, message)
                .label(first.place, "this changes nothing")
                .help("leave the line out; what that file imports from elsewhere it allows itself"),
        );
    }

    /// The checks that the import brings.
    fn brought<'d>(&self, draft: &'d Draft) -> impl Iterator<Item = (&'d str, &'d Check)> {
        let checks = draft.checks();
        let checks = checks.filter(|check| self.block.below.contains(&check.inclusion));
        checks.filter_map(|check| Some((check.name.as_ref()?.value.as_str(), check)))
    }

    /// The whole names of the checks that a line means; reports a name of none.
    fn meant(&mut self, draft: &Draft, name: &At<String>) -> Vec<String> {
        let prefix = &self.block.scope.namespace;
        let whole = format!("{prefix}{}", name.value);
        let is_meant = |found: &str| match is_pattern(&name.value) {
            true => name.value != "*" && matches(&whole, found),
            false => whole == found,
        };
        let known: BTreeSet<&str> = self.brought(draft).map(|(name, _)| name).collect();
        let found: BTreeSet<&str> = known.iter().copied().filter(|n| is_meant(n)).collect();
        let is_absent = draft.absent.iter().any(|a| whole.starts_with(a.as_str()));
        if found.is_empty() && !is_absent {
            let shown = visible(&name.value);
            let message = format!("`{}` has no check `{shown}`", visible(self.block.name));
            let error = Diagnostic::error(CHANGE_UNKNOWN, message);
            let known = known.iter().filter_map(|k| k.strip_prefix(prefix.as_str()));
            let known: Vec<&str> = known.collect();
            let near = nearest(&name.value, known.iter().copied());
            self.sink.push(match near {
                Some(near) => error
                    .label(name.place, format!("did you mean `{near}`?"))
                    .help(format!("replace `{shown}` by `{near}`")),
                None => error
                    .label(name.place, "checks are named here as that file names them")
                    .help(format!("it has {}", known.join(" "))),
            });
        }
        found.into_iter().map(str::to_owned).collect()
    }

    fn take_out(&mut self, draft: &Draft, names: &[At<String>]) {
        for name in names {
            for whole in self.meant(draft, name) {
                if let Some(first) = self.taken.get(&whole) {
                    self.report_twice(&whole, "taken out", *first, name.place);
                } else {
                    self.taken.insert(whole, name.place);
                }
            }
        }
    }

    /// Reports that a line changes what another one did. `what` happened there.
    fn report_twice(&mut self, whole: &str, what: &str, first: Place, again: Place) {
        let name = whole.strip_prefix(self.block.scope.namespace.as_str());
        let line = self.sources.position(first).line;
        let name = visible(name.unwrap_or(whole));
        let message = format!("`{name}` is {what} in line {line} already");
        let error = Diagnostic::twice(CHANGE_TWICE, message, again, first);
        self.sink.push(error.help("keep one of them"));
    }

    fn change(&mut self, draft: &mut Draft, change: &Override) {
        for whole in self.meant(draft, &change.name) {
            if let Some(first) = self.taken.get(&whole).copied() {
                self.report_twice(&whole, "taken out", first, change.name.place);
                continue;
            }
            let parts = parts_of(change);
            let twice = parts.iter().find_map(|part| {
                let key = (whole.clone(), part.value.clone());
                let first = self.seen.insert(key, part.place)?;
                Some((part, first))
            });
            if let Some((part, first)) = twice {
                let what = match &part.value {
                    Changed::Verb => "given another command".to_owned(),
                    Changed::Setting(name) => format!("given another `{name}`"),
                };
                self.report_twice(&whole, &what, first, part.place);
                continue;
            }
            let below = &self.block.below;
            let own = &draft.inclusions;
            let mut checks = draft.entries.iter_mut().filter_map(|entry| match entry {
                CheckEntry::Check(check) => Some(check),
                CheckEntry::Use { .. } => None,
            });
            let is_it = |check: &&mut Box<Check>| {
                check.name.as_ref().is_some_and(|name| name.value == whole)
                    && below.contains(&check.inclusion)
            };
            if let Some(check) = checks.find(is_it) {
                let defaults = Inclusion::find(own, check.inclusion);
                self.report_nothing(check, defaults, change);
                self.change_check(check, change);
                check.changed.extend(parts);
            }
        }
    }

    /// Warns of lines that say what holds anyway.
    fn report_nothing(&mut self, check: &Check, defaults: Option<&Inclusion>, change: &Override) {
        let Some(kind) = check.verbs.first().map(|verb| verb.value.kind()) else {
            return;
        };
        let kind = change.verbs.first().map_or(kind, |verb| verb.value.kind());
        let mut found = Vec::new();
        for setting in &change.settings {
            let name = SettingName::from_setting(&setting.value);
            // Lists of the defaults and the check are one.
            if matches!(name.row, Row::Tags | Row::ToolPath | Row::Reads) {
                continue;
            }
            let new = without_place(&self.block.importer.setting(setting).value.value);
            let old = written_setting(check, defaults, kind, &name).map(without_place);
            let old = old.or_else(|| usual(name.row, kind));
            if old.as_ref() == Some(&new) {
                found.push((setting.place, format!("`{name}` is that already")));
            }
        }
        for name in &change.without {
            if written_setting(check, defaults, kind, &name.value).is_none() {
                found.push((name.place, format!("it has no `{}`", name.value)));
            }
        }
        for verb in &change.verbs {
            let new = self.block.importer.verb(verb);
            let old = check.verbs.first();
            if old.is_some_and(|old| old.value == new.value) {
                found.push((verb.place, "it does that already".to_owned()));
            }
        }
        for (place, label) in found {
            let message = "a line of an `override` changes nothing";
            self.sink
                .push(Diagnostic::warning(CHANGE_NOTHING, message).label(place, label));
        }
    }

    fn change_check(&self, check: &mut Check, change: &Override) {
        let scope = self.block.importer;
        for name in &change.without {
            remove_setting(check, &name.value);
            if name.value.row == Row::Dir {
                // The folder that its file is used for.
                let dir = Setting::new(Row::Dir, self.block.scope.path("."));
                check.settings.push(At::new(dir, name.place));
            }
        }
        for setting in &change.settings {
            remove_setting(check, &SettingName::from_setting(&setting.value));
            check.settings.push(scope.setting(setting));
        }
        if change.hole.is_some() || !change.verbs.is_empty() {
            check.hole.clone_from(&change.hole);
        }
        if !change.verbs.is_empty() {
            check.verbs = change.verbs.iter().map(|verb| scope.verb(verb)).collect();
        }
    }
}

/// Takes a setting out of a check, and a variable out of what precedes its command.
fn remove_setting(check: &mut Check, name: &SettingName) {
    check.settings.retain(|own| !name.covers(&own.value));
    if name.row == Row::Tier {
        check.tier_block = None;
    }
    for verb in check.verbs.iter_mut().filter(|_| name.row == Row::Env) {
        if let Verb::Command(_, Command::Argv { env, .. }) = &mut verb.value {
            env.retain(|variable, _| name.variable.as_ref().is_some_and(|n| n != variable));
        }
    }
}

/// The parts of a check that an `override` changes.
fn parts_of(change: &Override) -> Vec<At<Changed>> {
    let verbs = change.verbs.iter();
    let verbs = verbs.map(|verb| At::new(Changed::Verb, verb.place));
    let settings = change.settings.iter().map(|setting| {
        let name = SettingName::from_setting(&setting.value);
        At::new(Changed::Setting(name), setting.place)
    });
    let without = change.without.iter();
    let without = without.map(|name| At::new(Changed::Setting(name.value.clone()), name.place));
    // All variables may go before one is set.
    let mut all: Vec<At<Changed>> = verbs.chain(settings).chain(without).collect();
    all.sort_by_key(|part| part.place);
    all
}

/// What a check and the defaults of its file say of a setting.
fn written_setting<'d>(
    check: &'d Check,
    defaults: Option<&'d Inclusion>,
    kind: Kind,
    name: &SettingName,
) -> Option<&'d Written> {
    let of_verb = defaults.into_iter().flat_map(|file| &file.verb_defaults);
    let of_verb = of_verb.filter(|block| block.verb == kind);
    let of_verb = of_verb.flat_map(|block| &block.settings);
    let of_all = defaults.into_iter().flat_map(|file| &file.defaults);
    let mut settings = check.settings.iter().chain(of_verb).chain(of_all);
    let found = settings.find(|setting| name.covers(&setting.value));
    found.map(|setting| &setting.value.value)
}

/// Returns the default of a setting.
fn usual(row: Row, kind: Kind) -> Option<Written> {
    match (row.setting().unset, row.setting().takes) {
        (Unset::Number(number), Takes::Number { .. } | Takes::Duration) => {
            Some(Written::Number(number))
        }
        (Unset::ByVerb, _) => Some(Written::Number(kind.default_timeout_ms())),
        // What is usual of the network depends on the level.
        (Unset::Word(word), _) if row != Row::Network => Some(Written::Text(word.to_owned())),
        _ => None,
    }
}

/// Removes checks that are taken out, from whatever comes with the import: where they are defined,
/// used and put into an order.
fn remove(draft: &mut Draft, taken: &BTreeMap<String, Place>, block: &ImportBlock<'_>) {
    let ImportBlock { below, files, .. } = block;
    if taken.is_empty() {
        return;
    }
    draft.entries.retain(|entry| match entry {
        CheckEntry::Check(check) => {
            let name = check.name.as_ref();
            let is_taken = name.is_some_and(|name| taken.contains_key(&name.value));
            !(is_taken && below.contains(&check.inclusion))
        }
        CheckEntry::Use { .. } => true,
    });
    let left = names(draft);
    let is_gone = |name: &At<String>| is_gone(&name.value, taken, &left);
    draft.entries.retain_mut(|entry| match entry {
        CheckEntry::Use { names, place, .. } if files.contains(&place.source) => {
            names.retain(|name| !is_gone(name));
            !names.is_empty()
        }
        _ => true,
    });
    draft.sequences.retain_mut(|sequence| {
        let is_whole = |sequence: &Sequence| sequence.groups.len() > 1;
        if !below.contains(&sequence.inclusion) || !is_whole(sequence) {
            return true;
        }
        sequence.groups.retain_mut(|group| match &mut group.value {
            Group::Names(names) => {
                names.retain(|name| !is_gone(name));
                !names.is_empty()
            }
            Group::Rest => true,
        });
        is_whole(sequence)
    });
}

fn names(draft: &Draft) -> BTreeSet<String> {
    let names = draft.checks().filter_map(|check| check.name.as_ref());
    names.map(|name| name.value.clone()).collect()
}

/// Whether a name, or a pattern, means only checks that are taken out.
fn is_gone(name: &str, taken: &BTreeMap<String, Place>, left: &BTreeSet<String>) -> bool {
    let means = |check: &String| match is_pattern(name) {
        true => matches(name, check),
        false => name == check,
    };
    taken.keys().any(means) && !left.iter().any(means)
}

/// Reports checks that need one that is taken out.
fn report_needed(draft: &mut Draft, taken: &BTreeMap<String, Place>, sink: &mut Diagnostics) {
    if taken.is_empty() {
        return;
    }
    let left = names(draft);
    for entry in &mut draft.entries {
        let CheckEntry::Check(check) = entry else {
            continue;
        };
        let own = check.name.as_ref().map_or("a check", |name| &name.value);
        let own = visible(own);
        for setting in &mut check.settings {
            let Written::Texts(needs) = &mut setting.value.value else {
                continue;
            };
            if setting.value.row != Row::Needs {
                continue;
            }
            needs.retain(|need| {
                if !is_gone(&need.value, taken, &left) {
                    return true;
                }
                let is_meant = |name: &String| *name == need.value || matches(&need.value, name);
                let shown = visible(&need.value);
                let message = format!("`{own}` needs `{shown}`, which is taken out");
                let mut error = Diagnostic::error(CHANGE_NEEDED, message);
                if let Some((_, place)) = taken.iter().find(|(name, _)| is_meant(name)) {
                    error = error.label(*place, "taken out here");
                }
                let help = format!(
                    "keep it, or change `{own}` too: `override` it with `without needs`, or with other `needs`"
                );
                sink.push(error.label(need.place, "needed here").help(help));
                false
            });
        }
    }
}

impl SettingName {
    /// The name of a setting that is written.
    fn from_setting(setting: &Setting) -> Self {
        let variable = match &setting.value {
            Written::Variable(name, _) => Some(name.clone()),
            _ => None,
        };
        Self {
            row: setting.row,
            variable,
        }
    }

    /// Whether a setting has this name.
    fn covers(&self, setting: &Setting) -> bool {
        let is_it =
            |name: &String| matches!(&setting.value, Written::Variable(own, _) if own == name);
        self.row == setting.row && self.variable.as_ref().is_none_or(is_it)
    }
}

impl std::fmt::Display for SettingName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.row.setting().word)?;
        match &self.variable {
            Some(name) => write!(f, ".{name}"),
            None => Ok(()),
        }
    }
}

/// The block of an import without the places of its text, to be compared with another.
pub(super) fn without_places(changes: &Changes) -> Changes {
    let setting = |setting: &At<Setting>| {
        let Setting { row, value } = &setting.value;
        let value = without_place(value);
        At::new(Setting { row: *row, value }, Place::default())
    };
    let verb = |verb: &At<Verb>| {
        let value = match &verb.value {
            Verb::File { path, assertions } => Verb::File {
                path: path.bare(),
                assertions: assertions.iter().map(At::bare).collect(),
            },
            other => other.clone(),
        };
        At::new(value, Place::default())
    };
    let overrides = changes.overrides.iter().map(|change| Override {
        name: change.name.bare(),
        verbs: change.verbs.iter().map(verb).collect(),
        settings: change.settings.iter().map(setting).collect(),
        hole: change.hole.as_ref().map(At::bare),
        without: change.without.iter().map(At::bare).collect(),
    });
    Changes {
        allowed: changes.allowed.iter().map(At::bare).collect(),
        without: changes.without.iter().map(At::bare).collect(),
        overrides: overrides.collect(),
    }
}

/// A value without the places of its text.
fn without_place(value: &Written) -> Written {
    let sel = |sel: &Sel| Sel {
        not: sel.not,
        what: sel.what.bare(),
        inner: None,
    };
    match value {
        Written::Texts(texts) => Written::Texts(texts.iter().map(At::bare).collect()),
        Written::Codes(codes) => Written::Codes(codes.iter().map(At::bare).collect()),
        Written::Sels(sels) => Written::Sels(sels.iter().map(sel).collect()),
        Written::Report(format, glob) => Written::Report(format.clone(), sel(glob)),
        Written::Flag
        | Written::Number(_)
        | Written::Text(_)
        | Written::Variable(..)
        | Written::Command(_) => value.clone(),
    }
}
