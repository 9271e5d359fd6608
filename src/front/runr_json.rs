//! Converts runr's configuration: `runr.config.json`, `.runr/runr.config.json`,
//! `agent.config.json`.
//!
//! | key | here |
//! |---|---|
//! | `verification.tier0`, `tier1`, `tier2` | `tier N` blocks, a check a command |
//! | `verification.risk_triggers[]` | `risk NAME tier N …`; tier 2 counts as tier 1, as it does there |
//! | `verification.max_verify_time_per_milestone` (600) | `limits { budget }`, and the time limit of each command; there it counts for each milestone, which the account says |
//! | the three retries of a milestone | no key: the account says what `vplan loop` does instead |
//! | `verification.cwd` | `defaults { dir }` |
//! | `scope.allowlist`, `denylist`, `lockfiles` | `scope { allow deny }` |
//! | `scope.presets` | lost: a preset is defined in runr |
//! | `agent.name` | `contract NAME` |
//! | `scope.env_allowlist`, `agent.version`, `repo`, `workers`, `phases`, `resilience`, `receipts`, `workflow`, `task`, `$schema` | no effect on checks |
//! | any other key | lost |
//!
//! Commands run through a shell there. Here a command is an argument vector where that is
//! equivalent. `a && b` becomes two checks, and the second needs the first. Everything else goes
//! through `sh -c`, marked as such.

use super::convert::account::{Lost, Statement};
use super::convert::builder::{Builder, Spec, unused};
use super::picomatch::{Never, Translated, translate};
use super::tree::{self, TreeKey, TreeNode};
use std::collections::BTreeSet;
use vplan_base::setting::Row;
use vplan_base::span::Place;
use vplan_base::word::has_word;
use vplan_contract::InclusionIndex;
use vplan_contract::draft::{At, Paths, Policy, Risk, Sel, SelKind, Setting};

const TOP: &str = "verification scope agent";
const ELSEWHERE: &str = "repo workers phases resilience receipts workflow task $schema";
/// The reason why a key requires no check.
const HOW: &str = "it says how runr works, not what is checked";
const VERIFICATION: &str = "tier0 tier1 tier2 risk_triggers max_verify_time_per_milestone cwd";

/// Lowers the file.
pub(super) fn lower(builder: &mut Builder<'_>) {
    let Some(root) = tree::json(builder.sources, builder.id, builder.sink) else {
        return;
    };
    for (key, node) in builder.map("the configuration", &root) {
        match key.name.as_str() {
            "verification" => verification(builder, node),
            "scope" => scope(builder, node),
            "agent" => builder.project("agent", node, "name version", HOW),
            name if has_word(ELSEWHERE, name) => builder.no_effect("", key, HOW),
            _ => builder.unknown("", key, TOP),
        }
    }
    let place = root.get("verification").map_or(root.place, |n| n.place);
    let mut policy = builder.draft.policy.iter();
    if !policy.any(|line| matches!(line.value, Policy::Budget(_))) {
        // The default of runr.
        budget(builder, 600, place);
    }
    let why = "runr repairs a milestone up to three times, whatever fails; a loop here also ends when the same failure came three times in a row";
    let retries = Lost::no_effect("the three retries of a milestone", place, why);
    let hand = "`same-failure 4` in a `gate` block";
    builder.lose(retries.by_hand(hand));
}

fn verification(builder: &mut Builder<'_>, node: &TreeNode) {
    let entries = builder.map("verification", node);
    let cwd = entries.iter().find(|(k, _)| k.name == "cwd");
    let cwd = cwd.and_then(|(_, n)| Some((builder.directory("verification.cwd", n)?, n.place)));
    if let Some((dir, place)) = &cwd {
        let dir = Setting::new(Row::Dir, dir.clone());
        builder.draft.defaults.push(At::new(dir, *place));
    }
    let cwd = cwd.as_ref().map(|(dir, _)| dir.as_str());
    // Tiers come in their order, whatever the order of the file.
    for (tier, name) in (0_u8..).zip(["tier0", "tier1", "tier2"]) {
        if let Some((key, node)) = entries.iter().find(|(k, _)| k.name == name) {
            commands(builder, tier, key, node, cwd);
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
                    let why = "there it is for all verifications of a milestone, here for one run, as often as it is repeated";
                    let lost = Lost::changed(format!("`{what}`"), key.place, why);
                    builder.lose(lost.by_hand("`budget` with the time of one run"));
                }
            }
            _ => builder.unknown("verification.", key, VERIFICATION),
        }
    }
}

/// Sets the time limit of all commands together, and of each of them.
fn budget(builder: &mut Builder<'_>, seconds: u64, place: Place) {
    let ms = seconds * 1_000;
    let limit = Setting::new(Row::Timeout, ms);
    let budget = At::new(Policy::Budget(ms), place);
    builder.draft.policy.push(budget);
    builder.draft.defaults.push(At::new(limit, place));
}

fn commands(
    builder: &mut Builder<'_>,
    tier: u8,
    key: &TreeKey,
    node: &TreeNode,
    cwd: Option<&str>,
) {
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

fn risk(builder: &mut Builder<'_>, node: &TreeNode, names: &mut BTreeSet<String>) {
    const KEYS: &str = "name patterns tier";
    let before = builder.lost.len();
    let (mut name, mut tier, mut patterns) = (None, None, None);
    for (key, node) in builder.map("a risk trigger", node) {
        match key.name.as_str() {
            "name" => name = builder.read_string("name", node),
            "tier" => match builder.text("tier", node) {
                Some("tier0") => tier = Some(At::new(0, node.place)),
                Some("tier1" | "tier2") => tier = Some(At::new(1, node.place)),
                Some(other) => {
                    let message = format!("there is no tier `{other}`");
                    let label = "`tier0`, `tier1` or `tier2` is expected";
                    builder.bad_value(node.place, message, label);
                }
                None => {}
            },
            "patterns" => patterns = Some((node.place, builder.texts("patterns", node))),
            _ => builder.unknown("verification.risk_triggers[].", key, KEYS),
        }
    }
    for key in ["name", "tier", "patterns"] {
        if node.get(key).is_none() && matches!(node.value, tree::TreeValue::Map(_)) {
            let message = format!("a risk trigger without `{key}`");
            builder.bad_value(node.place, message, "in this trigger");
        }
    }
    let (Some(name), Some(tier), Some((place, patterns))) = (name, tier, patterns) else {
        return;
    };
    let what = format!("trigger `{}`", name.value);
    if patterns.is_empty() {
        let why = "a trigger without patterns never fires";
        return builder.lose(Lost::no_effect(what, place, why));
    }
    let wanted = unused(names, &name.value);
    if wanted != name.value {
        let why = format!("it is called `{wanted}` here");
        builder.lose(Lost::changed(what, name.place, why));
    }
    let items = at_least(builder, &format!("trigger-{wanted}"), &patterns);
    if items.is_empty() {
        return;
    }
    for lost in builder.lost.iter_mut().skip(before) {
        lost.about = Statement::Risk(builder.draft.risks.len());
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
                let why = format!("{why}; `{}` selects more", read.glob);
                builder.lose(Lost::changed(what, *place, why));
            }
            items.push(Sel::glob(false, read.glob, *place));
            continue;
        }
        // There a negated pattern is one more alternative: everything but what it names.
        let why =
            "there it matches every file but those it names, so it stands for nearly everything";
        let hand = "leave it out, or exclude with `\"!…\"` in the list, which is what was meant most of the time";
        builder.lose(Lost::changed(what, *place, why).by_hand(hand));
        if read.wider.is_some() {
            items.push(Sel::glob(false, "**", *place));
            continue;
        }
        let name = format!("{name}-not-{}", index + 1);
        items.push(all_but(builder, name, read.glob, *place));
        if read.wild {
            items.push(Sel::glob(false, "**/.*/**", *place));
        }
    }
    if let Some(place) = hidden {
        let why = "here `*` and `**` match names that begin with a dot too, there they do not";
        builder.lose(Lost::changed("its wildcards", place, why));
    }
    items
}

fn never_matches(builder: &mut Builder<'_>, what: &str, place: Place, never: &Never) {
    match never {
        Never::Empty => {
            let label = "runr stops at it when it selects tiers";
            builder.bad_value(place, "an empty pattern".to_owned(), label);
        }
        Never::Outside => {
            let why = "no changed file has such a path, so it never matched";
            builder.lose(Lost::no_effect(what, place, why));
        }
    }
}

/// Defines a named selection, and returns the item that refers to it.
fn define(builder: &mut Builder<'_>, name: String, items: Vec<Sel>, place: Place) -> Sel {
    builder.draft.paths.push(Paths {
        name: At::new(name.clone(), place),
        items,
        inclusion: InclusionIndex::CONTRACT,
    });
    let what = At::new(SelKind::Name(name), place);
    let (not, inner) = (false, None);
    Sel { not, what, inner }
}

/// Defines the selection of everything but what a glob selects.
fn all_but(builder: &mut Builder<'_>, name: String, text: String, place: Place) -> Sel {
    let items = vec![Sel::glob(false, "**", place), Sel::glob(true, text, place)];
    define(builder, name, items, place)
}

fn scope(builder: &mut Builder<'_>, node: &TreeNode) {
    const KEYS: &str = "allowlist denylist lockfiles presets env_allowlist";
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
                        Policy::Deny(vec![Sel::glob(false, "**", node.place)])
                    } else {
                        Policy::Allow(items)
                    };
                    builder.draft.policy.push(At::new(line, node.place));
                }
            }
            "denylist" | "lockfiles" => {
                let patterns = builder.texts(&what, node);
                if key.name == "lockfiles" && !patterns.is_empty() {
                    let why =
                        "there `--allow-deps` lets a change of them through, here nothing does";
                    builder.lose(Lost::changed("`scope.lockfiles`", key.place, why));
                }
                deny_place = deny_place.or(Some(node.place));
                let more = at_least(builder, &format!("scope-{}", key.name), &patterns);
                deny.extend(more);
            }
            "presets" => {
                let why = "what a preset allows is known to runr only";
                let lost = Lost::omitted("`scope.presets`", key.place, why);
                builder.lose(lost.by_hand("add its globs to `allow`"));
            }
            "env_allowlist" => {
                let why = "files that runr leaves alone; vplan looks at git";
                builder.no_effect("scope.", key, why);
            }
            _ => builder.unknown("scope.", key, KEYS),
        }
    }
    let policy = &mut builder.draft.policy;
    let denies_all = policy.iter().any(|s| matches!(s.value, Policy::Deny(_)));
    if let Some(place) = deny_place.filter(|_| !deny.is_empty() && !denies_all) {
        policy.push(At::new(Policy::Deny(deny), place));
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
                    Lost::changed(what, *place, why).by_hand("write a glob for what it allows"),
                );
            }
            Ok(Translated {
                not: true,
                glob: text,
                ..
            }) => {
                let name = format!("scope-allowlist-not-{}", index + 1);
                items.push(all_but(builder, name, text, *place));
                let why = "there it allows every file but those it names";
                builder.lose(
                    Lost::changed(what, *place, why).by_hand("exclude with `\"!…\"` in the list"),
                );
            }
            Ok(Translated {
                wild: true,
                dot: false,
                glob: text,
                ..
            }) => plain.push(Sel::glob(false, text, *place)),
            Ok(read) => {
                if read.wild {
                    let why = "here its wildcards match names that begin with a dot too";
                    let hand = "exclude what must stay untouched with `deny`";
                    builder.lose(Lost::changed(what, *place, why).by_hand(hand));
                }
                items.push(Sel::glob(false, read.glob, *place));
            }
        }
    }
    if let Some(place) = plain.first().map(|p| p.what.place) {
        // There wildcards do not match names that begin with a dot; to allow them would be to allow
        // more.
        plain.push(Sel::glob(true, "**/.*/**", place));
        let name = "scope-allowlist".to_owned();
        items.insert(0, define(builder, name, plain, place));
    }
    items
}
