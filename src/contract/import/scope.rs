//! Rewrites the content of an imported file for its directory and namespace.

use crate::draft::{
    At, Check, CheckEntry, Condition, Draft, Format, Group, Inclusion, Paths, Risk, Sel, SelKind,
    Sequence, Service, Setting, Sought, Verb, VerbDefaults, Written,
};
use crate::{ConditionIndex, InclusionIndex};
use vplan_base::glob::{Glob, escape};
use vplan_base::index::Index as _;
use vplan_base::path::RepoPath;
use vplan_base::setting::{Row, Takes};
use vplan_base::span::{Place, SourceId};
use vplan_check::output::is_built_in;

/// The place that the content of a file is put into.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    /// The prefix of its names: `web/`, or nothing.
    pub(super) namespace: String,
    /// The directory that all its paths are below.
    pub(super) dir: RepoPath,
    /// The same in front of a glob: `apps/web/`, or nothing.
    prefix: String,
    inclusion: InclusionIndex,
    /// The number of conditions that come before its own.
    pub(super) conditions: usize,
}

impl Default for Scope {
    fn default() -> Self {
        Self::new(String::new(), RepoPath::root(), InclusionIndex::CONTRACT)
    }
}

impl Scope {
    pub(super) fn new(namespace: String, dir: RepoPath, inclusion: InclusionIndex) -> Self {
        let prefix = match std::str::from_utf8(dir.as_bytes()) {
            Ok(text) if !dir.is_root() => escape(text) + "/",
            _ => String::new(),
        };
        Self {
            namespace,
            dir,
            prefix,
            inclusion,
            conditions: 0,
        }
    }

    /// Returns the data of this import of a file. Without a default of its own, its checks work in
    /// the directory.
    pub(super) fn inclusion(
        &self,
        source: SourceId,
        draft: &Draft,
        chain: Vec<Place>,
    ) -> Inclusion {
        let defaults = self.settings_with_dir(&draft.defaults);
        let verb_defaults = draft.verb_defaults.iter().map(|block| VerbDefaults {
            verb: block.verb,
            settings: self.settings(&block.settings),
        });
        Inclusion {
            source,
            namespace: self.namespace.clone(),
            defaults,
            verb_defaults: verb_defaults.collect(),
            roles: draft.roles.iter().map(|r| r.name.clone()).collect(),
            chain,
        }
    }

    fn settings(&self, settings: &[At<Setting>]) -> Vec<At<Setting>> {
        settings.iter().map(|s| self.setting(s)).collect()
    }

    /// Settings with the directory of the import, if they have none of their own.
    fn settings_with_dir(&self, settings: &[At<Setting>]) -> Vec<At<Setting>> {
        let mut settings = self.settings(settings);
        if !self.dir.is_root() && !settings.iter().any(|s| s.value.row == Row::Dir) {
            // It has no place in a text, and nothing can be wrong with it: `at` was examined.
            let dir = Setting::new(Row::Dir, self.path("."));
            settings.push(At::new(dir, Place::default()));
        }
        settings
    }

    fn name(&self, name: &At<String>) -> At<String> {
        At::new(format!("{}{}", self.namespace, name.value), name.place)
    }

    fn names(&self, names: &[At<String>]) -> Vec<At<String>> {
        names.iter().map(|n| self.name(n)).collect()
    }

    /// A path below the directory. One that cannot be read stays as it is, so that the message
    /// about it repeats what was written.
    pub(super) fn path(&self, text: &str) -> String {
        let path = RepoPath::parse(text.as_bytes()).ok();
        let path = path.filter(|_| !self.dir.is_root());
        let path = path.and_then(|path| self.dir.join(path.as_bytes()).ok());
        let path = path.and_then(|path| String::from_utf8(path.as_bytes().to_vec()).ok());
        path.unwrap_or_else(|| text.to_owned())
    }

    fn paths_of(&self, paths: &[At<String>]) -> Vec<At<String>> {
        let below = |path: &At<String>| At::new(self.path(&path.value), path.place);
        paths.iter().map(below).collect()
    }

    fn sought(&self, all: &[Sought]) -> Vec<Sought> {
        let below = |sought: &Sought| {
            let At { value, place } = &sought.text;
            let (text, inner) = match sought.is_glob {
                true => self.glob(value, sought.inner),
                false => (self.path(value), sought.inner),
            };
            Sought {
                text: At::new(text, *place),
                inner,
                ..sought.clone()
            }
        };
        all.iter().map(below).collect()
    }

    /// A glob below the directory, and where its text begins in the file, which is nowhere once
    /// something precedes it. As with paths, one that cannot be read stays as it is.
    fn glob(&self, text: &str, inner: Option<usize>) -> (String, Option<usize>) {
        if self.prefix.is_empty() || Glob::parse(text).is_err() {
            (text.to_owned(), inner)
        } else {
            (format!("{}{text}", self.prefix), None)
        }
    }

    fn sel(&self, sel: &Sel) -> Sel {
        let mut sel = sel.clone();
        match &mut sel.what.value {
            SelKind::Name(name) => name.insert_str(0, &self.namespace),
            SelKind::Glob(text) => (*text, sel.inner) = self.glob(text, sel.inner),
            // It has its paths from the root.
            SelKind::Dependents(_) => {}
        }
        sel
    }

    fn sels(&self, sels: &[Sel]) -> Vec<Sel> {
        sels.iter().map(|s| self.sel(s)).collect()
    }

    pub(super) fn paths(&self, paths: &Paths) -> Paths {
        Paths {
            name: self.name(&paths.name),
            items: self.sels(&paths.items),
            inclusion: self.inclusion,
        }
    }

    pub(super) fn risk(&self, risk: &Risk) -> Risk {
        Risk {
            name: self.name(&risk.name),
            items: self.sels(&risk.items),
            inclusion: self.inclusion,
            ..risk.clone()
        }
    }

    pub(super) fn sequence(&self, sequence: &Sequence) -> Sequence {
        let group = |group: &At<Group>| {
            let value = match &group.value {
                Group::Names(names) => Group::Names(self.names(names)),
                Group::Rest => Group::Rest,
            };
            At::new(value, group.place)
        };
        let groups = sequence.groups.iter().map(group).collect();
        Sequence {
            groups,
            place: sequence.place,
            inclusion: self.inclusion,
        }
    }

    pub(super) fn format(&self, format: &Format) -> Format {
        Format {
            name: self.name(&format.name),
            ..format.clone()
        }
    }

    pub(super) fn condition(&self, condition: &At<Condition>) -> At<Condition> {
        let mut condition = condition.clone();
        match &mut condition.value {
            // The roles of a request are the same everywhere.
            Condition::Role(_) => {}
            Condition::ChangedAny(sels)
            | Condition::ChangedAll(sels)
            | Condition::ChangedOnly(sels)
            | Condition::ChangedNone(sels) => *sels = self.sels(sels),
            Condition::Exists(all) | Condition::ExistsAny(all) | Condition::Absent(all) => {
                *all = self.sought(all);
            }
        }
        condition
    }

    pub(super) fn entry(&self, entry: &CheckEntry) -> CheckEntry {
        let moved = |conditions: &[ConditionIndex]| {
            let moved = |c: &ConditionIndex| ConditionIndex::new(self.conditions + c.position());
            conditions.iter().map(moved).collect()
        };
        match entry {
            CheckEntry::Check(check) => CheckEntry::Check(Box::new(Check {
                name: check.name.as_ref().map(|n| self.name(n)),
                verbs: check.verbs.iter().map(|v| self.verb(v)).collect(),
                settings: self.settings(&check.settings),
                conditions: moved(&check.conditions),
                inclusion: self.inclusion,
                ..Check::clone(check)
            })),
            CheckEntry::Use {
                names,
                conditions,
                tier_block,
                place,
            } => CheckEntry::Use {
                names: self.names(names),
                conditions: moved(conditions),
                tier_block: tier_block.clone(),
                place: *place,
            },
        }
    }

    /// A service. Without a directory of its own, it works in that of the import.
    pub(super) fn service(&self, service: &Service) -> Service {
        Service {
            name: self.name(&service.name),
            settings: self.settings_with_dir(&service.settings),
            inclusion: self.inclusion,
            ..service.clone()
        }
    }

    pub(super) fn verb(&self, verb: &At<Verb>) -> At<Verb> {
        let mut verb = verb.clone();
        if let Verb::File { path, .. } = &mut verb.value {
            path.value = self.path(&path.value);
        }
        verb
    }

    pub(super) fn setting(&self, setting: &At<Setting>) -> At<Setting> {
        let row = setting.value.row;
        let value = match (&setting.value.value, row.setting().takes) {
            (Written::Text(path), Takes::Path) => Written::Text(self.path(path)),
            (Written::Texts(paths), Takes::Paths) => Written::Texts(self.paths_of(paths)),
            (Written::Texts(names), Takes::References) => Written::Texts(self.names(names)),
            (Written::Text(name), _) if row == Row::Format && !is_built_in(name) => {
                Written::Text(format!("{}{name}", self.namespace))
            }
            (Written::Sels(sels), _) => Written::Sels(self.sels(sels)),
            (Written::Report(format, sel), _) => Written::Report(format.clone(), self.sel(sel)),
            // An `exclusive` resource is outside the contract, such as a port or a database: two
            // uses of one template must not use it in parallel, so it is not renamed.
            (other, _) => other.clone(),
        };
        At::new(Setting { row, value }, setting.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<T>(value: T) -> At<T> {
        At::new(value, Place::default())
    }

    #[test]
    fn globs_and_paths_below_a_directory() {
        let dir = RepoPath::parse(b"apps/[id]").unwrap();
        let scope = Scope::new("web/".to_owned(), dir, InclusionIndex::new(1));
        let glob = |text: &str| Sel {
            not: true,
            what: at(SelKind::Glob(text.to_owned())),
            inner: Some(3),
        };
        for (text, want) in [
            ("**", "apps/\\[id\\]/**"),
            ("{a/**,b}", "apps/\\[id\\]/{a/**,b}"),
            ("x/", "apps/\\[id\\]/x/"),
            // What cannot be read is reported as it was written.
            ("/x", "/x"),
            ("../x", "../x"),
            ("", ""),
        ] {
            let sel = scope.sel(&glob(text));
            assert_eq!(
                (sel.not, &sel.what.value),
                (true, &SelKind::Glob(want.to_owned()))
            );
        }
        for (text, want) in [
            ("a/b", "apps/[id]/a/b"),
            (".", "apps/[id]"),
            ("a/../b/", "apps/[id]/b"),
            ("../x", "../x"),
            ("/x", "/x"),
            ("", ""),
        ] {
            assert_eq!(scope.path(text), want);
        }
        assert_eq!(scope.name(&at("t".to_owned())).value, "web/t");
    }
}
