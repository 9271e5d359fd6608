//! Converts the criteria of acode's steps: what has to hold, by type.

use super::verifier::Verifier;
use crate::convert::account::{BAD_VALUE, Lost};
use crate::convert::builder::{Builder, Spec};
use crate::tree::{TreeKey, TreeNode, TreeValue};
use std::collections::BTreeSet;
use vplan_base::setting::Row;
use vplan_base::span::Place;
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_check::request::Assertion;
use vplan_contract::draft::{At, Sel, Setting, Verb, Written};

/// The types, each with the kind of the checks that it becomes.
pub(super) const TYPES: &[(&str, Kind)] = &[
    ("file_exists", Kind::File),
    ("file_content", Kind::File),
    ("compilation", Kind::Compile),
    ("tests", Kind::Test),
    ("linter", Kind::Lint),
    ("static_analysis", Kind::Lint),
    ("llm_review", Kind::Judge),
];

/// The keys of a criterion.
const CRITERION: &str = "\
    type name path paths file files command run cwd timeout timeout_seconds contains \
    not_contains matches pattern not_empty min_size max_size max_errors max_warnings min_tests \
    required prompt question criteria context language description";
/// The keys that hold paths.
const PATHS: &[&str] = &["path", "paths", "file", "files"];

/// Returns the lists of criteria in a file, each with its name.
pub(super) fn lists<'n>(root: &'n TreeNode) -> Vec<(String, &'n TreeNode)> {
    let own = |name: &str, node: &'n TreeNode| Some((name.to_owned(), node.get("criteria")?));
    let of_verifier = root.get("verifier");
    let of_verifier = of_verifier.and_then(|node| own("verifier.criteria", node));
    let mut found: Vec<_> = (own("criteria", root).into_iter().chain(of_verifier)).collect();
    if let Some(TreeValue::List(steps)) = root.get("steps").map(|steps| &steps.value) {
        let lists = steps.iter().filter_map(|step| step.get("criteria"));
        found.extend(lists.map(|list| ("steps[].criteria".to_owned(), list)));
    }
    found
}

/// Returns the types that a file has criteria of.
pub(super) fn types(root: &TreeNode) -> BTreeSet<String> {
    let items = lists(root).into_iter().flat_map(|(_, list)| items(list));
    items.filter_map(type_of).collect()
}

fn items(list: &TreeNode) -> &[TreeNode] {
    match &list.value {
        TreeValue::List(items) => items,
        _ => std::slice::from_ref(list),
    }
}

fn type_of(item: &TreeNode) -> Option<String> {
    let node = item.get("type").or_else(|| item.get("kind"))?;
    match &node.value {
        TreeValue::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// Converts the criteria of a list.
pub(super) fn criteria(
    builder: &mut Builder<'_>,
    what: &str,
    list: &TreeNode,
    verifier: &Verifier,
) {
    for item in items(list) {
        if let TreeValue::Text(text) = &item.value {
            let why = "it is a sentence, and says of no command or file what it must be";
            let hand = format!("a check with `judge \"{}\"`", visible(text));
            builder.lose(Lost::omitted(format!("`{what}`"), item.place, why).by_hand(hand));
            continue;
        }
        let entries = builder.map(what, item);
        let Some(node) = item.get("type").or_else(|| item.get("kind")) else {
            if !entries.is_empty() {
                let message = "a criterion has a `type`".to_owned();
                builder.bad_value(item.place, message, "in this criterion");
            }
            continue;
        };
        let Some(name) = builder.text(&format!("{what}[].type"), node) else {
            continue;
        };
        let Some((name, kind)) = TYPES.iter().find(|(known, _)| *known == name) else {
            let message = format!("there is no type `{}`", visible(name));
            let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
            let help = format!("the types are {}", names.join(", "));
            let label = "no type of criterion";
            builder.fault(BAD_VALUE, node.place, message, label, Some(&help));
            continue;
        };
        if verifier.is_off(name, *kind) {
            let why = "its type is switched off there and left out here";
            let what = format!("a criterion `{name}`");
            builder.lose(Lost::no_effect(what, node.place, why));
            continue;
        }
        let read = Criterion::read(builder, what, name, *kind, entries);
        read.make(builder, item, verifier);
    }
}

/// A criterion as it is read.
struct Criterion<'n> {
    name: &'static str,
    kind: Kind,
    /// Its own name.
    called: Option<String>,
    paths: Vec<At<String>>,
    command: Option<At<&'n str>>,
    dir: Option<String>,
    settings: Vec<Setting>,
    assertions: Vec<At<Assertion>>,
    question: Vec<String>,
    context: Vec<Sel>,
}

impl<'n> Criterion<'n> {
    fn read(
        builder: &mut Builder<'_>,
        what: &str,
        name: &'static str,
        kind: Kind,
        entries: &'n [(TreeKey, TreeNode)],
    ) -> Self {
        let mut read = Self {
            name,
            kind,
            called: None,
            paths: Vec::new(),
            command: None,
            dir: None,
            settings: Vec::new(),
            assertions: Vec::new(),
            question: Vec::new(),
            context: Vec::new(),
        };
        let mut size = Size::default();
        for (key, node) in entries {
            let path = format!("{what}[].{}", key.name);
            match (key.name.as_str(), kind) {
                ("type" | "kind", _) => {}
                ("name" | "id", _) => {
                    read.called = builder.read_string(&path, node).map(|n| n.value)
                }
                (paths, Kind::File) if PATHS.contains(&paths) => {
                    read.paths.extend(texts(builder, &path, node));
                }
                ("files" | "paths" | "context", Kind::Judge) => {
                    let globs = texts(builder, &path, node).into_iter();
                    read.context.extend(globs.map(selected));
                }
                ("command" | "run", Kind::Compile | Kind::Test | Kind::Lint) => {
                    let text = builder.text(&path, node);
                    read.command = text.map(|text| At::new(text, node.place));
                }
                ("cwd", Kind::Compile | Kind::Test | Kind::Lint) => {
                    read.dir = builder.directory(&path, node);
                }
                ("timeout" | "timeout_seconds", _) if kind != Kind::File => {
                    read.settings.extend(builder.timeout(&path, node));
                }
                ("max_errors" | "max_warnings", Kind::Lint | Kind::Compile)
                | ("min_tests", Kind::Test) => {
                    read.settings.extend(builder.count(&path, key, node));
                }
                (
                    "contains" | "not_contains" | "patterns" | "pattern" | "matches" | "regex",
                    Kind::File,
                ) => {
                    for text in texts(builder, &path, node) {
                        let assertion = match key.name.as_str() {
                            "contains" => Assertion::Contains(text.value),
                            "not_contains" => Assertion::Lacks(text.value),
                            _ => Assertion::Matches(text.value),
                        };
                        read.assertions.push(At::new(assertion, text.place));
                    }
                }
                ("not_empty", Kind::File) => {
                    let asserted = builder.boolean(&path, node).filter(|yes| *yes);
                    let asserted = asserted.map(|_| At::new(Assertion::NotEmpty, node.place));
                    read.assertions.extend(asserted);
                }
                ("min_size" | "max_size", Kind::File) => size.read(builder, &path, key, node),
                ("prompt" | "question" | "criteria" | "description", Kind::Judge) => {
                    let found = texts(builder, &path, node).into_iter();
                    read.question.extend(found.map(|text| text.value));
                }
                ("required", _) => read.required(builder, &path, key, node),
                ("language" | "description", _) => {
                    builder.no_effect(&format!("{what}[]."), key, "it asks for no check");
                }
                ("files" | "paths" | "path" | "file" | "pattern", _) => {
                    let why = "the command says which files it looks at";
                    let hand = "a block `whenChangedAny \"GLOB\" {` around the check, or the files in its command";
                    builder.lose(Lost::omitted(format!("`{path}`"), key.place, why).by_hand(hand));
                }
                _ => builder.unknown(&format!("{what}[]."), key, CRITERION),
            }
        }
        let first = entries.first().map(|(key, _)| key.place);
        (read.assertions).extend(first.and_then(|place| size.assertion(place)));
        read
    }

    /// Reads how much of it must hold: all, or nothing.
    fn required(&mut self, builder: &mut Builder<'_>, path: &str, key: &TreeKey, node: &TreeNode) {
        match &node.value {
            TreeValue::Bool(true) => {}
            TreeValue::Text(text) if matches!(text.as_str(), "all_pass" | "all") => {}
            TreeValue::Bool(false) => {
                let warning = Setting::new(Row::Severity, "warning".to_owned());
                self.settings.push(warning);
            }
            _ => {
                let why = "a check passes or fails, and here all of it must pass";
                builder.lose(Lost::changed(format!("`{path}`"), key.place, why));
            }
        }
    }

    /// Makes its checks, or accounts for what keeps it from being one.
    fn make(mut self, builder: &mut Builder<'_>, item: &TreeNode, verifier: &Verifier) {
        let what = format!("a criterion `{}`", self.name);
        let name = self.called.clone().unwrap_or_else(|| self.name.to_owned());

        match self.kind {
            Kind::File => self.files(builder, item, &what),
            Kind::Judge => {
                if self.question.is_empty() {
                    let why = "it asks nothing";
                    let hand = "a check with `judge \"QUESTION\"`";
                    return builder.lose(Lost::omitted(what, item.place, why).by_hand(hand));
                }
                verifier.complete(self.kind, &mut self.settings, 30_000);
                builder.unanswered(&what, item.place, !self.context.is_empty());
                if !self.context.is_empty() {
                    let context = Written::Sels(std::mem::take(&mut self.context));
                    self.settings.push(Setting::new(Row::Context, context));
                }
                let question = self.question.join(" ");
                let words: Vec<&str> = question.split_whitespace().collect();
                let verb = Verb::Judge(words.join(" "));
                let name = builder.name(&name);
                let verb = At::new(verb, item.place);
                builder.push_check(&name, verb, self.settings, None, item.place);
            }
            kind => {
                let Some(command) = self.command else {
                    let lost = if builder.has_check(kind) {
                        let why = "it names no command: the checks of its kind, from `commands` and `verifier.tools`, are in the contract anyway";
                        Lost::no_effect(what, item.place, why)
                    } else {
                        let why = "it names no command, and neither does `verifier.tools`: acode chose one by what it found";
                        let hand = format!(
                            "a check with `{} COMMAND`; `vplan init` proposes one",
                            kind.verb()
                        );
                        Lost::omitted(what, item.place, why).by_hand(hand)
                    };
                    let own = self.settings.iter().filter(|s| s.row != Row::Timeout);
                    for setting in own {
                        let what =
                            format!("`{}` of a criterion `{}`", setting.keyword(), self.name);
                        let why = "it belongs to no command of its own";
                        let hand = format!("`{}` in the check", setting.keyword());
                        builder.lose(Lost::omitted(what, item.place, why).by_hand(hand));
                    }
                    return builder.lose(lost);
                };
                verifier.complete(kind, &mut self.settings, kind.default_timeout_ms());
                builder.command(Spec {
                    name,
                    kind,
                    settings: self.settings,
                    dir: self.dir.as_deref(),
                    ..Spec::bare(command.value, command.place)
                });
            }
        }
    }

    /// Makes a `file` check for each path.
    fn files(self, builder: &mut Builder<'_>, item: &TreeNode, what: &str) {
        if self.paths.is_empty() {
            return builder.lose(
                Lost::omitted(what, item.place, "it names no file")
                    .by_hand("a check with `file \"PATH\" {`"),
            );
        }
        if self.name == "file_content" && self.assertions.is_empty() {
            let why = "it says nothing of what the file contains: here the file must not be empty";
            builder.lose(Lost::changed(what, item.place, why));
        }
        for path in &self.paths {
            if path.value.contains(['*', '?', '{', '[']) {
                let what = format!("`{}` of {what}", path.value);
                let why = "a `file` check is about one path, not about those of a glob";
                let hand = "a check for each file, or a script";
                builder.lose(Lost::omitted(what, path.place, why).by_hand(hand));
                continue;
            }
            let mut assertions = self.assertions.clone();
            if self.name == "file_exists" {
                assertions.insert(0, At::new(Assertion::Exists, path.place));
            } else if assertions.is_empty() {
                assertions.push(At::new(Assertion::NotEmpty, path.place));
            }
            let otherwise = || format!("{} {}", self.name, path.value);
            let name = builder.name(&self.called.clone().unwrap_or_else(otherwise));
            let path = path.clone();
            let place = path.place;
            let verb = At::new(Verb::File { path, assertions }, place);
            builder.push_check(&name, verb, self.settings.clone(), None, place);
        }
    }
}

/// The bounds of the size of a file.
#[derive(Default)]
pub(super) struct Size {
    least: Option<u64>,
    most: Option<u64>,
}

impl Size {
    /// Reads `min_size` or `max_size`. A size of zero allows every size.
    pub(super) fn read(
        &mut self,
        builder: &mut Builder<'_>,
        what: &str,
        key: &TreeKey,
        node: &TreeNode,
    ) {
        match key.name.as_str() {
            "min_size" => self.least = builder.whole(what, node, 0, 1 << 50).filter(|n| *n > 0),
            _ => self.most = builder.whole(what, node, 1, 1 << 50),
        }
    }

    pub(super) fn assertion(self, place: Place) -> Option<At<Assertion>> {
        let (min, max) = (self.least, self.most);
        let is_bound = min.is_some() || max.is_some();
        is_bound.then_some(At::new(Assertion::Size { max, min }, place))
    }
}

/// Reads a string, or a list of strings.
fn texts(builder: &mut Builder<'_>, what: &str, node: &TreeNode) -> Vec<At<String>> {
    match &node.value {
        TreeValue::Text(text) => vec![At::new(text.clone(), node.place)],
        _ => {
            let texts = builder.texts(what, node).into_iter();
            texts
                .map(|(text, place)| At::new(text.to_owned(), place))
                .collect()
        }
    }
}

fn selected(glob: At<String>) -> Sel {
    let not = glob.value.starts_with('!');
    Sel::glob(not, glob.value.trim_start_matches('!'), glob.place)
}
