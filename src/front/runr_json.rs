//! Converts runr's configuration: `runr.config.json`, `.runr/runr.config.json`,
//! `agent.config.json`.
//!
//! | key | here |
//! |---|---|
//! | `verification.tier0`, `tier1`, `tier2` | `tier N` blocks, a check a command |
//! | `verification.risk_triggers[]` | `risk NAME tier N …`; tier 2 counts as tier 1, as it does there |
//! | `verification.max_verify_time_per_milestone` (600) | `limits { budget }`, and the time limit of each command |
//! | `verification.cwd` | `defaults { dir }` |
//! | `scope.allowlist`, `denylist`, `lockfiles` | `scope { allow deny }` |
//! | `scope.presets` | lost: a preset is defined in runr |
//! | `agent.name` | `contract NAME` |
//! | `scope.env_allowlist`, `agent.version`, `repo`, `workers`, `phases`, `resilience`, `receipts`, `workflow`, `task`, `$schema` | no effect on checks |
//! | any other key | lost |
//!
//! Commands run through a shell there. Here a command is an argument vector where that is the same;
//! `a && b` becomes two checks of which the second needs the first; everything else goes through
//! `sh -c`, marked as such.

use super::convert::builder::{Builder, Spec, slug};
use super::convert::{About, BAD_VALUE, Weight};
use super::picomatch::{Never, Translated, translate};
use super::tree::{self, Key, Node};
use crate::base::setting::Row;
use crate::base::span::Place;
use crate::contract::InclusionIndex;
use crate::contract::draft::{At, Limit, Paths, Risk, Scope, Sel, SelKind, Setting};
use std::collections::BTreeSet;

const TOP: &[&str] = &["verification", "scope", "agent"];
const ELSEWHERE: &[&str] = &[
    "repo",
    "workers",
    "phases",
    "resilience",
    "receipts",
    "workflow",
    "task",
    "$schema",
];
const VERIFICATION: &[&str] = &[
    "tier0",
    "tier1",
    "tier2",
    "risk_triggers",
    "max_verify_time_per_milestone",
    "cwd",
];

/// Lowers the file.
pub(super) fn lower(builder: &mut Builder<'_>) {
    let Some(root) = tree::json(builder.sources, builder.id, builder.sink) else {
        return;
    };
    for (key, node) in builder.map("the configuration", &root) {
        match key.name.as_str() {
            "verification" => verification(builder, node),
            "scope" => scope(builder, node),
            "agent" => agent(builder, node),
            name if ELSEWHERE.contains(&name) => {
                builder.no_effect("", key, "it says how runr works, not what is checked")
            }
            _ => builder.unknown("", key, TOP),
        }
    }
    if builder.draft.limits.is_empty() {
        // The default of runr.
        let place = root.get("verification").map_or(root.place, |n| n.place);
        budget(builder, 600, place);
    }
}

fn agent(builder: &mut Builder<'_>, node: &Node) {
    for (key, node) in builder.map("agent", node) {
        match key.name.as_str() {
            "name" => {
                if let Some(name) = builder.text("agent.name", node) {
                    builder
                        .draft
                        .names
                        .push(At::new(name.to_owned(), node.place));
                }
            }
            "version" => {
                builder.no_effect("agent.", key, "it says how runr works, not what is checked")
            }
            _ => builder.unknown("agent.", key, &["name", "version"]),
        }
    }
}

fn verification(builder: &mut Builder<'_>, node: &Node) {
    let entries = builder.map("verification", node);
    let cwd = entries.iter().find(|(k, _)| k.name == "cwd");
    let cwd = cwd.and_then(|(_, n)| Some((builder.directory("verification.cwd", n)?, n.place)));
    if let Some((dir, place)) = &cwd {
        builder
            .draft
            .defaults
            .push(At::new(Setting::new(Row::Dir, dir.clone()), *place));
    }
    // Tiers come in their order, whatever the order of the file.
    for (tier, name) in (0_u8..).zip(["tier0", "tier1", "tier2"]) {
        if let Some((key, node)) = entries.iter().find(|(k, _)| k.name == name) {
            commands(
                builder,
                tier,
                key,
                node,
                cwd.as_ref().map(|(dir, _)| dir.as_str()),
            );
        }
    }
    for (key, node) in entries {
        match key.name.as_str() {
            "tier0" | "tier1" | "tier2" | "cwd" => {}
            "risk_triggers" => {
                let mut names = BTreeSet::new();
                for trigger in builder.list("verification.risk_triggers", node) {
                    risk(builder, trigger, &mut names);
                }
            }
            "max_verify_time_per_milestone" => {
                let what = "verification.max_verify_time_per_milestone";
                if let Some(seconds) = builder.whole(what, node, 1, 1_000_000_000) {
                    budget(builder, seconds, node.place);
                }
            }
            _ => builder.unknown("verification.", key, VERIFICATION),
        }
    }
}

/// Sets the time limit of all commands together, and of each of them.
fn budget(builder: &mut Builder<'_>, seconds: u64, place: Place) {
    builder
        .draft
        .limits
        .push(At::new(Limit::Budget(seconds * 1_000), place));
    builder
        .draft
        .defaults
        .push(At::new(Setting::new(Row::Timeout, seconds * 1_000), place));
}

fn commands(builder: &mut Builder<'_>, tier: u8, key: &Key, node: &Node, cwd: Option<&str>) {
    let what = format!("verification.{}", key.name);
    let texts = builder.texts(&what, node);
    builder.list_of(cwd, |builder| {
        for (text, place) in texts {
            builder.command(Spec {
                tier: (tier > 0).then(|| At::new(tier, key.place)),
                default_dir: cwd,
                ..Spec::bare(text, place)
            });
        }
    });
}

fn risk(builder: &mut Builder<'_>, node: &Node, names: &mut BTreeSet<String>) {
    const KEYS: &[&str] = &["name", "patterns", "tier"];
    let before = builder.lost.len();
    let (mut name, mut tier, mut patterns) = (None, None, None);
    for (key, node) in builder.map("a risk trigger", node) {
        match key.name.as_str() {
            "name" => {
                name = builder
                    .text("name", node)
                    .map(|t| At::new(t.to_owned(), node.place))
            }
            "tier" => {
                tier = match builder.text("tier", node) {
                    Some("tier0") => Some(At::new(0, node.place)),
                    Some("tier1" | "tier2") => Some(At::new(1, node.place)),
                    Some(other) => {
                        let message = format!("there is no tier `{other}`");
                        let label = "`tier0`, `tier1` or `tier2` is expected";
                        builder.fault(BAD_VALUE, node.place, message, label, None);
                        None
                    }
                    None => None,
                };
            }
            "patterns" => patterns = Some((node.place, builder.texts("patterns", node))),
            _ => builder.unknown("verification.risk_triggers[].", key, KEYS),
        }
    }
    for (missing, key) in [
        (node.get("name"), "name"),
        (node.get("tier"), "tier"),
        (node.get("patterns"), "patterns"),
    ] {
        if missing.is_none() && matches!(node.value, tree::Value::Map(_)) {
            let message = format!("a risk trigger without `{key}`");
            builder.fault(BAD_VALUE, node.place, message, "in this trigger", None);
        }
    }
    let (Some(name), Some(tier), Some((place, patterns))) = (name, tier, patterns) else {
        return;
    };
    if patterns.is_empty() {
        let what = format!("trigger `{}`", name.value);
        builder.lose(
            Weight::NoEffect,
            &what,
            place,
            "a trigger without patterns never fires",
            None,
        );
        return;
    }
    let mut wanted = slug(&name.value);
    let base = wanted.clone();
    let mut counter = 1;
    while !names.insert(wanted.clone()) {
        counter += 1;
        wanted = format!("{base}-{counter}");
    }
    if wanted != name.value {
        let why = format!("it is called `{wanted}` here");
        builder.lose(
            Weight::Changed,
            &format!("trigger `{}`", name.value),
            name.place,
            &why,
            None,
        );
    }
    let items = at_least(builder, &format!("trigger-{wanted}"), &patterns);
    for lost in builder.lost.iter_mut().skip(before) {
        lost.about = About::Risk(builder.draft.risks.len());
    }
    if items.is_empty() {
        for lost in builder.lost.iter_mut().skip(before) {
            lost.about = About::File;
        }
        return;
    }
    builder.draft.risks.push(Risk {
        name: At::new(wanted, name.place),
        tier,
        items,
        inclusion: InclusionIndex::CONTRACT,
    });
}

/// Returns globs that select at least what the patterns match.
fn at_least(builder: &mut Builder<'_>, name: &str, patterns: &[(&str, Place)]) -> Vec<Sel> {
    let mut items = Vec::new();
    let mut hidden = None;
    for (index, (pattern, place)) in patterns.iter().enumerate() {
        let what = format!("pattern `{pattern}`");
        let read = match translate(pattern) {
            Ok(read) => read,
            Err(never) => {
                never_matches(builder, &what, *place, &never);
                continue;
            }
        };
        if !read.not {
            if read.wider.is_some() || read.wild {
                hidden = hidden.or(Some(*place).filter(|_| read.wild));
            }
            if let Some(why) = read.wider {
                builder.lose(
                    Weight::Changed,
                    &what,
                    *place,
                    &format!("{why}; `{}` selects more", read.glob),
                    None,
                );
            }
            items.push(glob(read.glob, *place));
            continue;
        }
        // There a negated pattern is one more alternative: everything but what it names.
        let why =
            "there it matches every file but those it names, so it stands for nearly everything";
        let hand = "leave it out, or exclude with `\"!…\"` in the list, which is what was meant most of the time";
        builder.lose(Weight::Changed, &what, *place, why, Some(hand));
        if read.wider.is_some() {
            items.push(glob("**".to_owned(), *place));
            continue;
        }
        let name = format!("{name}-not-{}", index + 1);
        let excluded = Sel {
            not: true,
            ..glob(read.glob, *place)
        };
        let all = vec![glob("**".to_owned(), *place), excluded];
        builder.draft.paths.push(Paths {
            name: At::new(name.clone(), *place),
            items: all,
            inclusion: InclusionIndex::CONTRACT,
        });
        items.push(Sel {
            not: false,
            what: At::new(SelKind::Name(name), *place),
            inner: None,
        });
        if read.wild {
            items.push(glob("**/.*/**".to_owned(), *place));
        }
    }
    if let Some(place) = hidden {
        let why = "here `*` and `**` match names that begin with a dot too, there they do not";
        builder.lose(Weight::Changed, "its wildcards", place, why, None);
    }
    items
}

fn never_matches(builder: &mut Builder<'_>, what: &str, place: Place, never: &Never) {
    match never {
        Never::Empty => {
            let message = "an empty pattern".to_owned();
            builder.fault(
                BAD_VALUE,
                place,
                message,
                "runr stops at it when it selects tiers",
                None,
            );
        }
        Never::Outside => {
            let why = "no changed file has such a path, so it never matched";
            builder.lose(Weight::NoEffect, what, place, why, None);
        }
    }
}

fn glob(text: String, place: Place) -> Sel {
    Sel {
        not: false,
        what: At::new(SelKind::Glob(text), place),
        inner: None,
    }
}

fn scope(builder: &mut Builder<'_>, node: &Node) {
    const KEYS: &[&str] = &[
        "allowlist",
        "denylist",
        "lockfiles",
        "presets",
        "env_allowlist",
    ];
    let mut deny = Vec::new();
    let mut deny_place = None;
    for (key, node) in builder.map("scope", node) {
        let what = format!("scope.{}", key.name);
        match key.name.as_str() {
            "allowlist" => {
                let patterns = builder.texts(&what, node);
                if !patterns.is_empty() {
                    let items = at_most(builder, &patterns);
                    let line = if items.is_empty() {
                        Scope::Deny(vec![glob("**".to_owned(), node.place)])
                    } else {
                        Scope::Allow(items)
                    };
                    builder.draft.scopes.push(At::new(line, node.place));
                }
            }
            "denylist" | "lockfiles" => {
                let patterns = builder.texts(&what, node);
                if key.name == "lockfiles" && !patterns.is_empty() {
                    let why =
                        "there `--allow-deps` lets a change of them through, here nothing does";
                    builder.lose(Weight::Changed, "`scope.lockfiles`", key.place, why, None);
                }
                deny_place = deny_place.or(Some(node.place));
                let more = at_least(builder, &format!("scope-{}", key.name), &patterns);
                deny.extend(more);
            }
            "presets" => {
                let why = "what a preset allows is known to runr only";
                builder.lose(
                    Weight::Lost,
                    "`scope.presets`",
                    key.place,
                    why,
                    Some("add its globs to `allow`"),
                );
            }
            "env_allowlist" => builder.no_effect(
                "scope.",
                key,
                "files that runr leaves alone; vplan looks at git",
            ),
            _ => builder.unknown("scope.", key, KEYS),
        }
    }
    let denies_all = builder
        .draft
        .scopes
        .iter()
        .any(|s| matches!(s.value, Scope::Deny(_)));
    if let Some(place) = deny_place.filter(|_| !deny.is_empty() && !denies_all) {
        builder.draft.scopes.push(At::new(Scope::Deny(deny), place));
    }
}

/// Returns globs that select no more than the patterns match.
fn at_most(builder: &mut Builder<'_>, patterns: &[(&str, Place)]) -> Vec<Sel> {
    let mut items = Vec::new();
    let mut plain: Vec<Sel> = Vec::new();
    for (index, (pattern, place)) in patterns.iter().enumerate() {
        let what = format!("pattern `{pattern}`");
        match translate(pattern) {
            Err(never) => never_matches(builder, &what, *place, &never),
            Ok(Translated {
                not: false,
                wider: Some(why),
                ..
            }) => {
                let why = format!("{why}; it is left out, so that less is allowed");
                builder.lose(
                    Weight::Changed,
                    &what,
                    *place,
                    &why,
                    Some("write a glob for what it allows"),
                );
            }
            Ok(Translated {
                not: true,
                glob: text,
                ..
            }) => {
                let name = format!("scope-allowlist-not-{}", index + 1);
                let all = vec![
                    glob("**".to_owned(), *place),
                    Sel {
                        not: true,
                        ..glob(text, *place)
                    },
                ];
                builder.draft.paths.push(Paths {
                    name: At::new(name.clone(), *place),
                    items: all,
                    inclusion: InclusionIndex::CONTRACT,
                });
                items.push(Sel {
                    not: false,
                    what: At::new(SelKind::Name(name), *place),
                    inner: None,
                });
                let why = "there it allows every file but those it names";
                builder.lose(
                    Weight::Changed,
                    &what,
                    *place,
                    why,
                    Some("exclude with `\"!…\"` in the list"),
                );
            }
            Ok(Translated {
                wild: true,
                dot: false,
                glob: text,
                ..
            }) => plain.push(glob(text, *place)),
            Ok(read) => {
                if read.wild {
                    let why = "here its wildcards match names that begin with a dot too";
                    let hand = "exclude what must stay untouched with `deny`";
                    builder.lose(Weight::Changed, &what, *place, why, Some(hand));
                }
                items.push(glob(read.glob, *place));
            }
        }
    }
    if let Some(place) = plain.first().map(|p| p.what.place) {
        // There wildcards do not match names that begin with a dot; to allow them would be to allow
        // more.
        plain.push(Sel {
            not: true,
            ..glob("**/.*/**".to_owned(), place)
        });
        let name = "scope-allowlist".to_owned();
        builder.draft.paths.push(Paths {
            name: At::new(name.clone(), place),
            items: plain,
            inclusion: InclusionIndex::CONTRACT,
        });
        items.insert(
            0,
            Sel {
                not: false,
                what: At::new(SelKind::Name(name), place),
                inner: None,
            },
        );
    }
    items
}
