//! Converts the steps of acode's pipeline, `verifier.steps`.

use super::criteria::Size;
use super::verifier::Verifier;
use crate::convert::account::{BAD_VALUE, DUPLICATE_STEP, Lost};
use crate::convert::builder::{Builder, Spec, slug};
use crate::tree::TreeNode;
use std::collections::BTreeMap;
use vplan_base::setting::Row;
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_check::request::Assertion;
use vplan_contract::draft::{At, CheckEntry, Setting, Verb};

const STEP: &str = "\
    name kind run depends_on enabled cwd env timeout retry continue_on_error max_errors \
    max_warnings min_tests path exists not_empty contains not_contains matches min_size max_size \
    question";

/// A parsed step of the pipeline.
struct Step<'n> {
    node: &'n TreeNode,
    name: At<String>,
    kind: Kind,
    settings: Vec<Setting>,
    depends_on: Vec<At<String>>,
    assertions: Vec<At<Assertion>>,
    enabled: bool,
}

impl Step<'_> {
    /// Returns its name, for a message.
    fn label(&self) -> String {
        visible(&self.name.value)
    }
}

/// Converts the steps of the pipeline.
pub(super) fn steps(builder: &mut Builder<'_>, node: &TreeNode, verifier: &Verifier) {
    let read = builder.list("verifier.steps", node).iter();
    let read: Vec<Step<'_>> = read.filter_map(|n| step(builder, n, verifier)).collect();
    // acode's names of the steps, ignoring case, and the names of their checks here; the last of
    // them represents the step.
    let mut known: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut pending: Vec<(Vec<At<String>>, usize)> = Vec::new();
    for step in read {
        let (folded, place) = (step.name.value.to_lowercase(), step.name.place);
        if known.contains_key(&folded) {
            let message = format!("two steps are called `{}`", step.label());
            let label = "names count without their case";
            builder.fault(DUPLICATE_STEP, place, message, label, None);
            continue;
        }
        let what = format!("step `{}`", step.name.value);
        if !step.enabled || verifier.off.contains(&step.kind) {
            if !step.enabled {
                let why = "it is switched off there and left out here";
                builder.lose(Lost::no_effect(what, place, why));
            }
            known.insert(folded, None);
            continue;
        }
        let entry = builder.draft.entries.len();
        let made = make(builder, &step);
        if let Some(last) = made.last()
            && slug(&step.name.value) != step.name.value
        {
            let why = format!("it is called `{last}` here");
            builder.lose(Lost::changed(what, place, why));
        }
        known.insert(folded, made.last().cloned());
        if !made.is_empty() {
            pending.push((step.depends_on, entry));
        }
    }
    for (depends_on, entry) in pending {
        let mut needs = Vec::new();
        for name in depends_on {
            match known.get(&name.value.to_lowercase()) {
                Some(Some(check)) => needs.push(At::new(check.clone(), name.place)),
                Some(None) => {
                    let what = format!("depends_on `{}`", name.value);
                    let why = "that step is switched off";
                    builder.lose(Lost::changed(what, name.place, why));
                }
                None => {
                    let message = format!("there is no step `{}`", visible(&name.value));
                    builder.bad_value(name.place, message, "no step has this name");
                }
            }
        }
        if let Some(CheckEntry::Check(check)) = builder.draft.entries.get_mut(entry)
            && !needs.is_empty()
        {
            let place = check.place;
            let needs = Setting::new(Row::Needs, needs);
            check.settings.push(At::new(needs, place));
        }
    }
}

fn step<'n>(
    builder: &mut Builder<'_>,
    node: &'n TreeNode,
    verifier: &Verifier,
) -> Option<Step<'n>> {
    let entries = builder.map("a step", node);
    let (mut name, mut kind, mut settings) = (None, None, Vec::new());
    let (mut depends_on, mut assertions, mut enabled) = (Vec::new(), Vec::new(), true);
    let mut size = Size::default();
    for (key, node) in entries {
        let what = format!("verifier.steps[].{}", key.name);
        let mut assert = |a: Assertion| assertions.push(At::new(a, node.place));
        match key.name.as_str() {
            "name" => name = builder.read_string(&what, node),
            "kind" => kind = Some(read_kind(builder, node)?),
            "enabled" => enabled = builder.boolean(&what, node).unwrap_or(true),
            "depends_on" => {
                let names = builder.list(&what, node).iter();
                depends_on.extend(names.filter_map(|n| builder.read_string(&what, n)));
            }
            "timeout" | "retry" | "continue_on_error" | "env" => {
                builder.shared(&what, key, node, &mut settings)
            }
            "max_errors" | "max_warnings" | "min_tests" => {
                settings.extend(builder.count(&what, key, node))
            }
            "exists" => match builder.boolean(&what, node) {
                Some(true) => assert(Assertion::Exists),
                Some(false) => assert(Assertion::Absent),
                None => {}
            },
            "not_empty" if builder.boolean(&what, node) == Some(true) => {
                assert(Assertion::NotEmpty)
            }
            "contains" | "not_contains" => {
                for (text, _) in builder.texts(&what, node) {
                    assert(match key.name.as_str() {
                        "contains" => Assertion::Contains(text.to_owned()),
                        _ => Assertion::Lacks(text.to_owned()),
                    });
                }
            }
            "matches" => {
                let text = builder.text(&what, node);
                text.into_iter()
                    .for_each(|t| assert(Assertion::Matches(t.to_owned())));
            }
            "min_size" | "max_size" => size.read(builder, &what, key, node),
            "run" | "cwd" | "path" | "question" | "not_empty" => {}
            _ => builder.unknown("verifier.steps[].", key, STEP),
        }
    }
    assertions.extend(size.assertion(node.place));
    let (Some(name), Some(kind)) = (name, kind) else {
        if node.get("name").is_none() || node.get("kind").is_none() {
            let message = "a step has a `name` and a `kind`".to_owned();
            builder.bad_value(node.place, message, "in this step");
        }
        return None;
    };
    if kind != Kind::File {
        let otherwise = if kind == Kind::Judge { 30_000 } else { 60_000 };
        verifier.complete(kind, &mut settings, otherwise);
    }
    Some(Step {
        node,
        name,
        kind,
        settings,
        depends_on,
        assertions,
        enabled,
    })
}

fn read_kind(builder: &mut Builder<'_>, node: &TreeNode) -> Option<Kind> {
    Some(match builder.text("verifier.steps[].kind", node)? {
        "build" | "compile" => Kind::Compile,
        "test" => Kind::Test,
        "lint" => Kind::Lint,
        "file" => Kind::File,
        "custom" => Kind::Run,
        "llm_review" => Kind::Judge,
        other => {
            let message = format!("there is no kind `{}`", visible(other));
            let help = Some("the kinds are build, test, lint, file, custom and llm_review");
            builder.fault(BAD_VALUE, node.place, message, "no kind of step", help);
            return None;
        }
    })
}

/// Makes a step's checks.
fn make(builder: &mut Builder<'_>, step: &Step<'_>) -> Vec<String> {
    let place = step.name.place;
    let wanted = match step.kind {
        Kind::File => "path",
        Kind::Judge => "question",
        _ => "run",
    };
    let Some(node) = step.node.get(wanted) else {
        let message = format!("the step `{}` has no `{wanted}`", step.label());
        builder.bad_value(place, message, "of this kind");
        return Vec::new();
    };
    let Some(text) = builder.text(&format!("verifier.steps[].{wanted}"), node) else {
        return Vec::new();
    };
    let dir = step.node.get("cwd");
    let dir = dir.and_then(|n| builder.directory("verifier.steps[].cwd", n));
    let settings = step.settings.iter().cloned();
    let (settings, unused): (Vec<_>, Vec<_>) = settings.partition(|s| suits(step.kind, s));
    for setting in unused {
        let what = format!("`{}` of step `{}`", setting.keyword(), step.name.value);
        let why = "a step of this kind does not use it";
        builder.lose(Lost::no_effect(what, place, why));
    }
    let verb = match step.kind {
        Kind::File => {
            let path = At::new(text.to_owned(), node.place);
            let mut assertions = step.assertions.clone();
            if assertions.is_empty() {
                assertions.push(At::new(Assertion::Exists, node.place));
            }
            Verb::File { path, assertions }
        }
        Kind::Judge => {
            builder.unanswered(&format!("step `{}`", step.label()), place, false);
            Verb::Judge(text.to_owned())
        }
        kind => {
            return builder.command(Spec {
                name: step.name.value.clone(),
                kind,
                settings,
                dir: dir.as_deref(),
                ..Spec::bare(text, node.place)
            });
        }
    };
    let name = builder.name(&step.name.value);
    builder.push_check(&name, At::new(verb, node.place), settings, None, place);
    vec![name]
}

/// Whether a check of this kind takes the setting.
fn suits(kind: Kind, setting: &Setting) -> bool {
    match setting.row {
        Row::MaxErrors | Row::MaxWarnings => kind == Kind::Lint,
        Row::MinTests => kind == Kind::Test,
        Row::Severity => true,
        Row::Timeout | Row::Retries => kind != Kind::File,
        _ => !matches!(kind, Kind::File | Kind::Judge),
    }
}
