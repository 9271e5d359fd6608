//! Explains one check: what it does, when it applies, what the plan decided about it, and what
//! would select it.

use super::checks::{all_of, asks, changed_text};
use super::text::{command_line, confinement, omission, service_line, settings};
use super::{Mark, Options, sentence};
use crate::compile::assemble_with;
use crate::error::{PlanError, UNKNOWN_CHECK};
use crate::facts::{Certainty, FactAnswer, Facts, Question};
use crate::order::{OrderReason, why};
use crate::request::Request;
use crate::{Omitted, Plan, Step, StepIndex};
use std::collections::BTreeSet;
use vplan_base::change::{ChangeSet, ChangedFile};
use vplan_base::command::{quote, to_text};
use vplan_base::glob::{Glob, Item, ItemContent, Selection};
use vplan_base::index::Index as _;
use vplan_base::matching::SHOWN;
use vplan_base::path::RepoPath;
use vplan_base::setting::{Row, Value};
use vplan_base::word::{Word, visible};
use vplan_contract::{Check, Contract, Placement, Sought, Test};

/// Everything about one check: its definition, its conditions, and the plan's decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Story<'a> {
    /// The id of the check.
    pub id: String,
    /// Its definition, for a contract's check.
    pub check: Option<&'a Check>,
    /// File and line of the definition.
    pub place: Option<(String, usize)>,
    /// Its place in the plan, or why it has none.
    pub outcome: StoryOutcome<'a>,
    /// The conditions of each placement, outermost first.
    pub placements: Vec<Vec<String>>,
    /// For an omitted check, the smallest change of the request that would select it, if one was
    /// found.
    pub would: Option<StoryChange>,
}

/// The plan's decision on a check.
#[derive(Clone, Debug, PartialEq)]
pub enum StoryOutcome<'a> {
    /// It is in the plan: its steps (several when it is batched), and for each
    /// step that it directly waits for the reason.
    Planned {
        /// The steps, in plan order.
        steps: Vec<(StepIndex, &'a Step)>,
        /// Ids of direct predecessors, and why it waits.
        waits: Vec<(String, OrderReason)>,
    },
    /// It was omitted.
    LeftOut(&'a Omitted),
    /// A rewrite rule dropped it: the rule's name.
    Dropped(&'a str),
    /// It is the same work as another check of the plan.
    Merged,
}

/// A change of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoryChange {
    /// The changed role.
    pub role: Option<String>,
    /// The changed minimum tier.
    pub min_tier: Option<u8>,
    /// Whether the files below replace the changed files instead of joining them.
    pub instead: bool,
    /// Files that changed.
    pub files: Vec<RepoPath>,
    /// Paths that do not exist, and globs that no file matches.
    pub absent: Vec<Sought>,
    /// Paths that exist, and globs that a file matches.
    pub exist: Vec<Sought>,
    /// Whether `--only` is removed.
    pub without_only: bool,
    /// Whether `--skip` of the check is removed.
    pub without_skip: bool,
}

impl StoryChange {
    /// Returns the size of the change; the smallest one is printed.
    fn cost(&self) -> usize {
        let flags = [
            self.role.is_some(),
            self.min_tier.is_some(),
            self.without_only,
            self.without_skip,
        ];
        flags.iter().filter(|f| **f).count() * 4
            + self.files.len() * 4
            + (self.exist.len() + self.absent.len()) * 4
            + usize::from(self.instead)
    }

    /// Returns the flags of a command line.
    pub(crate) fn to_args(&self) -> Vec<Word> {
        let mut args: Vec<Word> = Vec::new();
        if let Some(role) = &self.role {
            args.extend([Word::from("--role"), Word::from(role.as_str())]);
        }
        if let Some(tier) = self.min_tier {
            args.extend([Word::from("--min-tier"), Word::from(tier.to_string())]);
        }
        if !self.files.is_empty() {
            args.push("--changed".into());
            // `:` in front takes a path literally.
            args.extend(self.files.iter().map(|f| {
                let literal = f.as_bytes().contains(&b':') || f.as_bytes().starts_with(b"-");
                Word::new([if literal { &b":"[..] } else { b"" }, f.as_bytes()].concat())
            }));
        } else if self.instead {
            args.push("--changed-none".into());
        }
        args
    }
}

/// Collects the story of a check, given its name.
///
/// # Errors
/// Neither the contract nor the plan has the name.
pub fn story<'a>(
    contract: Option<&'a Contract>,
    request: &Request,
    facts: &Facts,
    plan: &'a Plan,
    name: &str,
) -> Result<Story<'a>, PlanError> {
    let check = contract.and_then(|c| c.check(name));
    let steps = plan.numbered_steps();
    let steps: Vec<(StepIndex, &Step)> = steps
        .filter(|(_, s)| s.id == name || s.check() == name)
        .collect();
    let left_out = plan.omitted.iter().find(|o| o.id == name);
    let mut rewrites = plan.rewrites.iter();
    let dropped = rewrites.find(|r| r.dropped.iter().any(|d| d == name));
    let outcome = match (left_out, dropped) {
        _ if !steps.is_empty() => {
            let waits = waits(plan, &steps);
            StoryOutcome::Planned { steps, waits }
        }
        (Some(out), _) => StoryOutcome::LeftOut(out),
        (None, Some(rewrite)) => StoryOutcome::Dropped(&rewrite.recovery_rule),
        (None, None) if check.is_some() => StoryOutcome::Merged,
        (None, None) => {
            let checks = contract.into_iter().flat_map(|c| c.checks.iter());
            let ids = checks.map(|c| c.id.as_str());
            let ids = ids.chain(plan.steps.iter().map(Step::check));
            return Err(PlanError::unknown(UNKNOWN_CHECK, "check", name, ids));
        }
    };
    let known = contract.zip(check);
    let placements = known.map(|(contract, check)| {
        let placements = check.placements.iter();
        placements.map(|p| asks(contract, check, p)).collect()
    });
    let left_out = known.filter(|_| matches!(outcome, StoryOutcome::LeftOut(_)));
    let would =
        left_out.and_then(|(contract, check)| smallest_change(contract, check, request, facts));
    let place = known.map(|(contract, check)| {
        let file = contract.file(check.place.source);
        (file.to_owned(), check.line)
    });
    Ok(Story {
        id: name.to_owned(),
        check,
        place,
        outcome,
        placements: placements.unwrap_or_default(),
        would,
    })
}

fn waits(plan: &Plan, steps: &[(StepIndex, &Step)]) -> Vec<(String, OrderReason)> {
    let Some((index, step)) = steps.first() else {
        return Vec::new();
    };
    let direct = |id: &String| {
        let before = plan.find(id).filter(|before| before < index)?;
        Some((id.clone(), why(plan.step(before), step)))
    };
    let implied = step.needs.iter().filter(|id| !step.after.contains(id));
    let implied = implied.map(|id| (id.clone(), OrderReason::Needs));
    let after = step.after.iter().filter_map(direct);
    implied.chain(after).collect()
}

/// Finds the smallest change of a request that selects a check, by trying: every answer was
/// compiled.
fn smallest_change(
    contract: &Contract,
    check: &Check,
    request: &Request,
    facts: &Facts,
) -> Option<StoryChange> {
    let placements = check.placements.iter();
    let changes = placements.flat_map(|p| candidates(contract, check, p, request));
    let mut changes: Vec<StoryChange> = changes.collect();
    changes.sort_by_key(StoryChange::cost);
    let mut changes = changes.into_iter();
    changes.find(|change| selects(contract, check, request, facts, change))
}

/// Whether the check is in the plan of the changed request.
fn selects(
    contract: &Contract,
    check: &Check,
    request: &Request,
    facts: &Facts,
    change: &StoryChange,
) -> bool {
    let mut request = request.clone();
    let mut facts = facts.clone();
    if let Some(role) = &change.role {
        request.role = Some(role.clone());
    }
    request.min_tier = request.min_tier.max(change.min_tier.unwrap_or(0));
    let kept = match change.instead {
        true => &[],
        false => request.changed.files(),
    };
    let added = change.files.iter().map(ChangedFile::modified);
    request.changed = ChangeSet::new(kept.iter().cloned().chain(added).collect());
    if change.without_only {
        request.only.clear();
    }
    if change.without_skip {
        request.skip.retain(|s| s.name != check.id);
    }
    let absent = change.absent.iter().map(|sought| (sought, Certainty::No));
    let exist = change.exist.iter().map(|sought| (sought, Certainty::Yes));
    for (sought, answer) in absent.chain(exist) {
        facts.add(Question::exists(sought), FactAnswer::Word(answer));
    }
    // Invented files are taken to exist; conditions elsewhere may ask for more facts.
    facts.add(Question::MissingChanged, FactAnswer::List(Vec::new()));
    let no = |_: &Question| FactAnswer::Word(Certainty::No);
    let plan = assemble_with(contract, &request, &mut facts, None, no);
    plan.is_some_and(|plan| plan.steps.iter().any(|s| s.check() == check.id))
}

/// Returns changes that may select the check through a placement.
fn candidates(
    contract: &Contract,
    check: &Check,
    placement: &Placement,
    request: &Request,
) -> Vec<StoryChange> {
    let mut base = StoryChange::default();
    let role = request.role.as_deref().unwrap_or("worker");
    let mut wanted: Vec<&Selection> = Vec::new();
    let mut one_of: Vec<&Selection> = Vec::new();
    let mut each: Vec<RepoPath> = Vec::new();
    let mut forbids = false;
    let (mut exist, mut absent) = (BTreeSet::new(), BTreeSet::new());
    let mut one_exists: Vec<&[Sought]> = Vec::new();
    let mut allowed: Option<Vec<&String>> = None;
    for condition in contract.around(placement) {
        match &condition.test {
            Test::Role(roles) => {
                let keep = |r: &&String| allowed.as_ref().is_none_or(|a| a.contains(r));
                allowed = Some(roles.iter().filter(keep).collect());
            }
            Test::ChangedAny(s) => {
                wanted.push(s);
                one_of.push(s);
            }
            Test::ChangedAll(s) => {
                each.extend(s.positive().filter_map(|item| {
                    let mut examples = examples_of(item).into_iter();
                    examples.find(|p| item.selects(p) && s.selects(p))
                }));
                wanted.push(s);
            }
            Test::ChangedOnly(s) => {
                wanted.push(s);
                one_of.push(s);
                forbids = true;
            }
            Test::ChangedNone(_) => forbids = true,
            Test::Exists(all) => exist.extend(all.iter().cloned()),
            Test::ExistsAny(all) => one_exists.push(all),
            Test::Absent(all) => absent.extend(all.iter().cloned()),
        }
    }
    // No repository both has a path and lacks it.
    let can_exist = |sought: &Sought| match sought {
        _ if absent.contains(sought) => false,
        Sought::Path(path) => {
            let mut globs = absent.iter().filter(|a| matches!(a, Sought::Glob(_)));
            !globs.any(|glob| glob.is_about(path))
        }
        Sought::Glob(_) => true,
    };
    for all in one_exists {
        if !all.iter().any(|sought| exist.contains(sought)) {
            let possible = all.iter().find(|sought| can_exist(sought));
            exist.extend(possible.or(all.first()).cloned());
        }
    }
    let asked = exist.iter().all(can_exist).then(|| StoryChange {
        exist: exist.into_iter().collect(),
        absent: absent.into_iter().collect(),
        ..StoryChange::default()
    });
    let asked = asked.filter(|asked| *asked != StoryChange::default());
    let tagged = |role: &str| contract.lets_through(role, &check.tags);
    let mut roles: Vec<Option<String>> = Vec::new();
    let is_allowed = |names: &Vec<&String>| names.iter().any(|name| *name == role);
    if allowed.as_ref().is_none_or(is_allowed) && tagged(role) {
        roles.push(None);
    } else {
        let names = allowed.unwrap_or_else(|| contract.roles.keys().collect());
        let other = names.into_iter().find(|name| tagged(name));
        roles.extend(other.map(|name| Some(name.clone())));
    }
    base.without_only = !request.only.is_empty();
    base.without_skip = request.skip.iter().any(|s| s.name == check.id);

    let mut files: Vec<Vec<RepoPath>> = vec![Vec::new()];
    let single = combined_examples(&wanted);
    let of_all = single.iter();
    let of_all = of_all.filter(|p| wanted.iter().all(|s| s.selects(p)));
    files.extend(of_all.take(4).map(|p| vec![p.clone()]));
    let of_one = one_of.iter();
    let of_one = of_one.filter_map(|s| single.iter().find(|p| s.selects(p)));
    let mut one_each: Vec<RepoPath> = of_one.cloned().chain(each).collect();
    one_each.sort();
    one_each.dedup();
    files.push(one_each);

    let ways: &[bool] = if forbids { &[false, true] } else { &[false] };
    let mut all = Vec::new();
    for role in roles {
        for min_tier in [None, Some(check.tier).filter(|t| *t > request.min_tier)] {
            for files in &files {
                for instead in ways.iter().copied() {
                    // As the repository is, then as the conditions require it.
                    for like in [&StoryChange::default()].into_iter().chain(&asked) {
                        all.push(StoryChange {
                            role: role.clone(),
                            min_tier,
                            instead,
                            files: files.clone(),
                            exist: like.exist.clone(),
                            absent: like.absent.clone(),
                            ..base.clone()
                        });
                    }
                }
            }
        }
    }
    all
}

/// Names for files that do not exist yet; the second one is for those that exclude the first.
const FILLERS: [&str; 2] = ["x", "y"];

/// Returns paths that may be selected by all of these: examples of each, and each with an example
/// of another in place of its `**`.
fn combined_examples(wanted: &[&Selection]) -> Vec<RepoPath> {
    const MOST: usize = 512;
    let globs: Vec<&Glob> = wanted.iter().flat_map(|s| s.positive_globs()).collect();
    let examples = |fillers: &[&str]| -> Vec<String> {
        let examples = globs.iter().flat_map(|glob| glob.examples(fillers));
        examples.take(MOST).collect()
    };
    let plain = examples(&FILLERS);
    let fillers: Vec<&str> = plain.iter().map(String::as_str).take(32).collect();
    let mixed = examples(&fillers);
    let mut paths = paths_of(plain.iter().chain(&mixed));
    paths.sort_by_key(|p| (p.as_bytes().len(), p.clone()));
    paths.dedup();
    paths
}

fn examples_of(item: &Item) -> Vec<RepoPath> {
    let globs = match &item.what {
        ItemContent::Glob(glob) => vec![glob],
        ItemContent::Paths { items, .. } => items.positive_globs(),
    };
    let examples = globs.iter().flat_map(|glob| glob.examples(&FILLERS));
    paths_of(examples)
}

fn paths_of(texts: impl Iterator<Item = impl AsRef<[u8]>>) -> Vec<RepoPath> {
    let paths = texts.map(|text| RepoPath::from_exact(text.as_ref()));
    paths.flatten().collect()
}

/// Renders the story as text.
pub fn story_text(story: &Story, options: &Options) -> String {
    let mut out = String::new();
    let id = visible(&story.id);
    let mut line = |indent: usize, mark: Option<Mark>, text: &str| {
        let head = " ".repeat(indent);
        options.hang(&mut out, (&head, indent), indent + 2, mark, text);
    };
    let title = match &story.outcome {
        StoryOutcome::Planned { steps, .. } => {
            let numbers = steps.iter().map(|(i, _)| (i.position() + 1).to_string());
            format!("runs as step {}", shorten(&numbers.collect::<Vec<_>>()))
        }
        StoryOutcome::LeftOut(_) => "is left out".to_owned(),
        StoryOutcome::Dropped(rule) => format!("was dropped by the repair {}", visible(rule)),
        StoryOutcome::Merged => "is the same work as another check of the plan".to_owned(),
    };
    line(0, Some(Mark::Title), &format!("{id} {title}"));
    if let StoryOutcome::LeftOut(out) = &story.outcome {
        line(2, Some(Mark::Bad), &omission(out));
    }
    let said = story.check.and_then(|c| c.settings.get(&Row::Describe));
    if let Some(Value::Text(text)) = said {
        line(2, Some(Mark::Dim), &visible(text));
    }
    if let StoryOutcome::Planned { steps, waits } = &story.outcome
        && let Some((_, step)) = steps.first()
    {
        line(2, Some(Mark::Dim), &settings(step).join(", "));
        let sign = if step.argv.is_some() { "$" } else { "·" };
        let command = format!("{sign} {}", command_line(step));
        line(2, Some(Mark::Command), &command);
        if !step.dir.is_root() {
            line(2, None, &format!("in {}", step.dir));
        }
        for service in &step.with {
            line(2, None, &format!("with {}", service_line(service)));
        }
        if let Some(fix) = &step.fix {
            let fix = visible(fix);
            line(2, None, &format!("fix {fix}; only `vplan fix` starts it"));
        }
        if let Some(text) = confinement(step) {
            line(2, None, &text);
        }
        for (name, value) in &step.env {
            let name = visible(name);
            line(2, None, &format!("env {name}={}", quote(value)));
        }
        line(0, None, "");
        line(0, Some(Mark::Title), "why it runs");
        for reason in &step.reasons {
            line(2, Some(Mark::Good), &sentence(reason, SHOWN));
        }
        if !waits.is_empty() {
            line(0, None, "");
            line(0, Some(Mark::Title), "what it waits for");
            for (id, why) in waits {
                let why = match why {
                    OrderReason::Needs => "needed",
                    OrderReason::Sequence => "sequence",
                    OrderReason::Artifacts => "artifacts",
                    OrderReason::Writer => "writes",
                    OrderReason::Preparing => "prepares it",
                };
                line(2, None, &format!("{} ({why})", visible(id)));
            }
        }
    }
    let check = options.contract.zip(story.check);
    if let Some(text) = check.and_then(|(contract, check)| changed_text(contract, check)) {
        line(0, None, "");
        line(0, Some(Mark::Title), "what an import changes");
        line(2, None, &text);
    }
    if let Some((file, at)) = &story.place {
        line(0, None, "");
        let title = format!("when it applies ({}:{at})", visible(file));
        line(0, Some(Mark::Title), &title);
        for (i, placement) in story.placements.iter().enumerate() {
            let head = if i == 0 { "" } else { "or " };
            line(2, None, &format!("{head}{}", all_of(placement)));
        }
        if let Some(tier) = story.check.map(|c| c.tier).filter(|t| *t > 0) {
            line(2, None, &format!("and tier {tier} is reached"));
        }
    }
    if let StoryOutcome::LeftOut(_) = story.outcome
        && story.check.is_some()
    {
        line(0, None, "");
        line(0, Some(Mark::Title), "what would select it");
        match &story.would {
            None => line(2, None, "no change of the request was found that would"),
            Some(change) => {
                for text in change_text(change) {
                    line(2, Some(Mark::Good), &text);
                }
                let args = change.to_args();
                if !args.is_empty() {
                    let command = ["vplan", "explain"].map(Word::from);
                    let command = [command.as_slice(), &args].concat();
                    let command = format!("$ {}", to_text(&Default::default(), &command));
                    line(2, Some(Mark::Command), &command);
                }
            }
        }
    }
    out
}

/// Renders a change, one item a line.
fn change_text(change: &StoryChange) -> Vec<String> {
    fn list(all: &[impl ToString]) -> String {
        let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
        texts.join(", ")
    }
    let some = |what: &str, all: &str| (!all.is_empty()).then(|| what.replace("{}", all));
    let role = change.role.as_deref().map(visible);
    let files = match change.instead {
        true => "only a change of {}",
        false => "a change of {}",
    };
    let nothing = change.instead && change.files.is_empty();
    let lines = [
        change.without_only.then(|| "without --only".to_owned()),
        change.without_skip.then(|| "without --skip".to_owned()),
        role.map(|role| format!("role {role}")),
        change.min_tier.map(|tier| format!("tier {tier}")),
        some("{} in the repository", &list(&change.exist)),
        some("no {} in the repository", &list(&change.absent)),
        some(files, &list(&change.files)),
        nothing.then(|| "no changed file".to_owned()),
    ];
    lines.into_iter().flatten().collect()
}

fn shorten(numbers: &[String]) -> String {
    match numbers {
        [first, .., last] if numbers.len() > 3 => format!("{first} to {last}"),
        few => few.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::{plain_check, plain_contract};
    use crate::compile::{Compiled, compile};
    use vplan_base::glob::Glob;
    use vplan_contract::ConditionIndex;
    use vplan_contract::{Condition, Role};

    fn list(texts: &[&str]) -> Selection {
        let item = |t: &&str| Item {
            not: t.starts_with('!'),
            what: ItemContent::Glob(Glob::parse(t.trim_start_matches('!')).unwrap()),
        };
        Selection {
            items: texts.iter().map(item).collect(),
        }
    }

    #[test]
    fn the_smallest_change_that_selects() {
        let any = |texts: &[&str]| Test::ChangedAny(list(texts));
        for (tests, tier, want) in [
            (vec![any(&["apps/web/**"])], 0, "--changed apps/web/x"),
            (vec![any(&["src/**", "!src/x"])], 0, "--changed src/y"),
            (
                vec![any(&["src/**"]), any(&["**/*.ts"])],
                0,
                "--changed src/x.ts",
            ),
            (
                vec![Test::ChangedOnly(list(&["docs/**"])), any(&["**/*.md"])],
                0,
                "--changed docs/x.md",
            ),
            (
                vec![Test::ChangedAll(list(&["a/*", "b/*"]))],
                0,
                "--changed a/x b/x",
            ),
            (
                vec![Test::ChangedNone(list(&["main.rs"]))],
                0,
                "--changed-none",
            ),
            (
                vec![Test::Role(vec!["tester".to_owned()])],
                0,
                "--role tester",
            ),
            (vec![any(&["x"])], 2, "--min-tier 2 --changed x"),
            (
                vec![Test::Exists(vec![Sought::Path(
                    RepoPath::parse(b"Cargo.toml").unwrap(),
                )])],
                0,
                "",
            ),
            (
                vec![Test::Absent(vec![Sought::Path(
                    RepoPath::parse(b"main.rs").unwrap(),
                )])],
                0,
                "",
            ),
        ] {
            let n = tests.len();
            let mut check = plain_check("c");
            check.tier = tier;
            check.placements = vec![Placement {
                conditions: (0..n).map(ConditionIndex::new).collect(),
                line: 1,
                source: Default::default(),
                is_use: false,
            }];
            let mut contract = plain_contract(vec![check]);
            contract.conditions = tests
                .into_iter()
                .map(|test| Condition {
                    line: 1,
                    place: Default::default(),
                    test,
                })
                .collect();
            contract.roles.insert("docser".to_owned(), Role::default());
            let main = RepoPath::parse(b"main.rs").unwrap();
            let request = Request {
                changed: ChangeSet::modified([&main]),
                ..Request::default()
            };
            let mut facts = Facts::default();
            facts.add(
                Question::Exists(RepoPath::parse(b"Cargo.toml").unwrap()),
                FactAnswer::Word(Certainty::No),
            );
            facts.add(
                Question::Exists(RepoPath::parse(b"main.rs").unwrap()),
                FactAnswer::Word(Certainty::Yes),
            );
            let Ok(Compiled::Plan(plan)) = compile(Some(&contract), &request, &facts) else {
                panic!()
            };
            let told = story(Some(&contract), &request, &facts, &plan, "c").unwrap();
            let would = told.would.unwrap_or_else(|| panic!("nothing for {want}"));
            assert_eq!(to_text(&Default::default(), &would.to_args()), want);
            assert_eq!(
                would.exist.is_empty() && would.absent.is_empty(),
                !want.is_empty()
            );
        }
    }

    #[test]
    fn no_path_is_to_be_there_and_not_there() {
        let path = |text: &str| Sought::Path(RepoPath::parse(text.as_bytes()).unwrap());
        let glob = |text: &str| Sought::Glob(Glob::parse(text).unwrap());
        let tests = [
            Test::Exists(vec![path("a"), path("b")]),
            Test::Absent(vec![path("a")]),
            Test::Exists(vec![path("b")]),
            Test::Absent(vec![glob("*")]),
            Test::ExistsAny(vec![path("c"), glob("d/*")]),
        ];
        let placement = |conditions: &[usize]| Placement {
            conditions: conditions
                .iter()
                .copied()
                .map(ConditionIndex::new)
                .collect(),
            line: 1,
            source: Default::default(),
            is_use: false,
        };
        for (places, exist, absent) in [
            ([&[0, 1][..], &[0, 2]], vec![path("a"), path("b")], vec![]),
            // A file of the glob would be `c`.
            ([&[0, 3], &[3, 4]], vec![glob("d/*")], vec![glob("*")]),
        ] {
            let mut check = plain_check("c");
            check.placements = places.map(placement).into();
            let mut contract = plain_contract(vec![check]);
            contract.conditions = tests
                .clone()
                .map(|test| Condition {
                    line: 1,
                    place: Default::default(),
                    test,
                })
                .into_iter()
                .collect();
            let mut facts = Facts::default();
            for sought in contract.sought() {
                let is_there = [path("a"), glob("*")].contains(sought);
                let answer = if is_there {
                    Certainty::Yes
                } else {
                    Certainty::No
                };
                facts.add(Question::exists(sought), FactAnswer::Word(answer));
            }
            let request = Request::default();
            let Ok(Compiled::Plan(plan)) = compile(Some(&contract), &request, &facts) else {
                panic!()
            };
            let told = story(Some(&contract), &request, &facts, &plan, "c").unwrap();
            let would = told.would.unwrap();
            assert_eq!((would.exist, would.absent), (exist, absent));
        }
    }
}
