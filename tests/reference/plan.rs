//! What is the plan for a contract, a request and facts? The seven items of the compiler's
//! description, one after another, by brute force.

use super::glob::{is_selected, item_selects, may_meet};
use super::graph::{Before, closed, is_cyclic, nothing, sorted};
use std::collections::{BTreeMap, BTreeSet};
use vplan::base::change::Status;
use vplan::base::command::{Command, Env, Piece};
use vplan::base::setting::Row;
use vplan::check::Kind;
use vplan::check::verb::{self, CommandRequest};
use vplan::contract::{Body, Check, CheckIndex, Contract, Placement, Sought, Test};
use vplan::plan::facts::{Certainty, FactAnswer, Facts, Question};
use vplan::plan::request::{Boundary, Mode, Request, Risk, Selector};
use vplan::plan::{Origin, Plan};

/// What a plan must say.
#[derive(Clone, Debug, PartialEq)]
pub struct Right {
    /// The steps, in order.
    pub steps: Vec<RightStep>,
    /// The ids of what was left out, in base order.
    pub omitted: Vec<String>,
    /// The tiers reached, and why.
    pub tiers: Vec<(u8, Vec<String>)>,
}

/// What a step must be.
#[derive(Clone, Debug, PartialEq)]
pub struct RightStep {
    /// Its id.
    pub id: String,
    /// Its tier.
    pub tier: u8,
    /// Where it comes from: `explicit`, `contract`, `proposed`, `inferred`.
    pub origin: &'static str,
    /// Its words, when it is a command that can be started.
    pub argv: Option<Vec<Vec<u8>>>,
    /// Everything that it waits for, directly or not.
    pub behind: BTreeSet<String>,
    /// What it needs and is there.
    pub needs: BTreeSet<String>,
}

/// What makes two of them the same work.
#[derive(Clone, Debug, PartialEq)]
struct Work {
    words: Result<Vec<Piece>, String>,
    env: Env,
    dir: Vec<u8>,
    kind: Kind,
}

/// What takes part in the plan.
struct Node {
    id: String,
    tier: u8,
    origin: &'static str,
    argv: Option<Vec<Vec<u8>>>,
    check: Option<CheckIndex>,
}

/// What a command of the list became.
enum Listed {
    Alone(String),
    Check(CheckIndex),
}

struct World<'a> {
    contract: &'a Contract,
    is_declared: bool,
    request: &'a Request,
    facts: &'a Facts,
    role: &'a str,
}

/// The right plan; none when the request does not fit the contract.
pub fn right(
    declared: Option<&Contract>,
    empty: &Contract,
    request: &Request,
    facts: &Facts,
) -> Option<Right> {
    let contract = declared.unwrap_or(empty);
    let role = request.role.as_deref().unwrap_or("worker");
    let world = World {
        contract,
        is_declared: declared.is_some(),
        request,
        facts,
        role,
    };
    if request.mode == Mode::Off {
        let omitted = contract.checks.iter().map(|c| c.id.clone()).collect();
        return Some(Right {
            steps: Vec::new(),
            omitted,
            tiers: Vec::new(),
        });
    }
    let tiers = world.tiers();
    let reached: BTreeSet<u8> = tiers.iter().map(|(t, _)| *t).collect();

    // Which checks are in, and through which places.
    let checks = &contract.checks;
    let mut places: BTreeMap<CheckIndex, Vec<usize>> = BTreeMap::new();
    for (i, check) in checks.numbered() {
        let holding: Vec<usize> = (0..check.placements.len())
            .filter(|p| world.place_holds(&check.placements[*p]))
            .collect();
        let allowed = !holding.is_empty()
            && reached.contains(&check.tier)
            && world.role_allows(&check.tags)
            && world.is_asked_for(&check.id, &check.tags);
        if allowed && world.has_its_files(check, &holding) {
            places.insert(i, holding);
        }
    }
    // With what they need; a waiver of that does not fit.
    loop {
        let wanted: BTreeSet<CheckIndex> = places
            .keys()
            .flat_map(|i| checks[*i].needs.clone())
            .collect();
        if wanted
            .iter()
            .any(|i| request.skip.iter().any(|s| s.name == checks[*i].id))
        {
            return None;
        }
        // What a role, a tier or `--only` left out applies where it would; all else at its first place.
        let through = |i: CheckIndex| {
            let check = &checks[i];
            let mut holding: Vec<usize> = (0..check.placements.len())
                .filter(|p| world.place_holds(&check.placements[*p]))
                .collect();
            if holding.is_empty() {
                holding.push(0);
            }
            holding
        };
        let more: BTreeMap<CheckIndex, Vec<usize>> = wanted
            .into_iter()
            .filter(|i| !places.contains_key(i))
            .map(|i| (i, through(i)))
            .filter(|(i, through)| world.has_its_files(&checks[*i], through))
            .collect();
        if more.is_empty() {
            break;
        }
        places.extend(more);
    }
    let mut tier: BTreeMap<CheckIndex, u8> = places.keys().map(|i| (*i, checks[*i].tier)).collect();
    for _ in checks {
        for i in places.keys() {
            for need in &checks[*i].needs {
                if let Some(t) = tier.get(need).copied() {
                    tier.insert(*need, t.min(tier[i]));
                }
            }
        }
    }
    // Equal anonymous ones are the first of them.
    let mut stands_for: BTreeMap<CheckIndex, CheckIndex> = BTreeMap::new();
    let mut files: BTreeMap<CheckIndex, BTreeSet<(Vec<u8>, Vec<u8>)>> = BTreeMap::new();
    for (i, through) in &places {
        let is_same = |j: &&CheckIndex| {
            !checks[*i].named
                && !checks[**j].named
                && work(&checks[*i]).is_some()
                && work(&checks[*i]) == work(&checks[**j])
        };
        let first = *places.keys().find(is_same).filter(|j| *j < i).unwrap_or(i);
        stands_for.insert(*i, first);
        files
            .entry(first)
            .or_default()
            .extend(world.files_of(&checks[*i], through));
        let least = tier[i].min(tier[&first]);
        tier.insert(first, least);
    }

    // Commands: those equal to a check that is in are that check.
    let mut nodes: Vec<Node> = Vec::new();
    let mut omitted: Vec<String> = Vec::new();
    let mut behind: (Vec<Node>, Vec<String>) = (Vec::new(), Vec::new());
    let mut met: Vec<(Work, (Kind, Option<u64>))> = Vec::new();
    let limits = [contract.limits.max_checks, contract.roles[role].max_checks];
    let most = limits.into_iter().flatten().min().unwrap_or(u64::MAX);
    let mut count = 0;
    let mut list: Vec<Listed> = Vec::new();
    for (id, asked, origin) in world.commands() {
        let command = asked.command;
        let this = work_of_command(&command);
        let verb = verb::of_command(asked.verb, &command);
        let same = places
            .keys()
            .find(|i| requested(&checks[**i]).as_ref() == Some(&this));
        if let Some(check) = same.filter(|_| origin == "explicit") {
            list.push(Listed::Check(stands_for[check]));
        }
        if places
            .keys()
            .any(|i| requested(&checks[*i]).as_ref() == Some(&this))
            || met.contains(&(this.clone(), verb))
        {
            continue;
        }
        met.push((this.clone(), verb));
        let tagged = checks
            .iter()
            .filter(|c| requested(c).as_ref() == Some(&this))
            .any(|c| world.role_allows(&c.tags));
        let all: Vec<Vec<u8>> = world
            .existing(b".")
            .into_iter()
            .map(|(_, name)| name)
            .collect();
        let fits = (contract.roles[role].only.is_empty() || tagged)
            && world.is_asked_for(&id, &[])
            && !(command.has_changed() && all.is_empty());
        let (nodes, omitted) = if origin == "explicit" {
            (&mut nodes, &mut omitted)
        } else {
            (&mut behind.0, &mut behind.1)
        };
        if fits && count < most {
            count += 1;
            if origin == "explicit" {
                list.push(Listed::Alone(id.clone()));
            }
            nodes.push(Node {
                id,
                tier: 0,
                origin,
                argv: argv(&command, &all),
                check: None,
            });
        } else {
            omitted.push(id);
        }
    }
    for (i, check) in checks.numbered() {
        match stands_for.get(&i) {
            None => omitted.push(check.id.clone()),
            Some(first) if *first == i => {
                let files: Vec<Vec<u8>> = files[&i].iter().map(|(_, name)| name.clone()).collect();
                let argv = match &check.body {
                    Body::Command(command) => argv(command, &files),
                    Body::Shell(text) => Some(vec![
                        b"sh".to_vec(),
                        b"-c".to_vec(),
                        text.as_bytes().to_vec(),
                    ]),
                    Body::File { .. } | Body::Judge(_) => None,
                };
                nodes.push(Node {
                    id: check.id.clone(),
                    tier: tier[&i],
                    origin: "contract",
                    argv,
                    check: Some(i),
                });
            }
            Some(_) => {}
        }
    }
    nodes.extend(behind.0);
    omitted.extend(behind.1);
    Some(Right {
        steps: world.ordered(nodes, &stands_for, &list),
        omitted,
        tiers,
    })
}

impl World<'_> {
    fn tiers(&self) -> Vec<(u8, Vec<String>)> {
        let mut all = vec![
            (0, vec!["always".to_owned()]),
            (1, Vec::new()),
            (2, Vec::new()),
        ];
        let mut add = |tier: usize, why: String| all[tier].1.push(why);
        for risk in self.contract.risks.iter().filter(|r| r.tier > 0) {
            if self
                .request
                .changed
                .files()
                .iter()
                .any(|f| is_selected(&risk.selection, f.path.as_bytes()))
            {
                add(1, format!("trigger {}", risk.name));
            }
        }
        if self.request.boundaries.contains(&Boundary::MilestoneEnd) {
            add(1, "milestone-end".to_owned());
        }
        if self.request.risk == Risk::High {
            add(1, "high-risk".to_owned());
        }
        if self.request.boundaries.contains(&Boundary::RunEnd) {
            add(2, "run-end".to_owned());
        }
        for tier in 1..=self.request.min_tier {
            add(usize::from(tier), "min-tier".to_owned());
        }
        all.retain(|(_, why)| !why.is_empty());
        all
    }

    fn holds(&self, test: &Test) -> bool {
        let files: Vec<&[u8]> = self
            .request
            .changed
            .files()
            .iter()
            .map(|f| f.path.as_bytes())
            .collect();
        let is = |sought: &Sought, word| {
            let question = match sought {
                Sought::Path(path) => Question::Exists(path.clone()),
                Sought::Glob(glob) => Question::ExistsMatch(glob.clone()),
            };
            self.facts.get(&question) == Some(&FactAnswer::Word(word))
        };
        match test {
            Test::Role(roles) => roles.iter().any(|r| r == self.role),
            Test::ChangedAny(list) => files.iter().any(|f| is_selected(list, f)),
            Test::ChangedAll(list) => list.items.iter().filter(|i| !i.not).all(|item| {
                let is_out = |f: &[u8]| list.items.iter().any(|i| i.not && item_selects(i, f));
                files.iter().any(|f| item_selects(item, f) && !is_out(f))
            }),
            Test::ChangedOnly(list) => {
                !files.is_empty() && files.iter().all(|f| is_selected(list, f))
            }
            Test::ChangedNone(list) => !files.iter().any(|f| is_selected(list, f)),
            // What nobody knows leaves nothing out.
            Test::Exists(all) => !all.iter().any(|s| is(s, Certainty::No)),
            Test::ExistsAny(all) => !all.iter().all(|s| is(s, Certainty::No)),
            Test::Absent(all) => !all.iter().any(|s| is(s, Certainty::Yes)),
        }
    }

    fn place_holds(&self, place: &Placement) -> bool {
        place
            .conditions
            .iter()
            .all(|c| self.holds(&self.contract.conditions[*c].test))
    }

    fn role_allows(&self, tags: &[String]) -> bool {
        let only = &self.contract.roles[self.role].only;
        only.is_empty() || only.iter().any(|t| tags.contains(t))
    }

    /// `--only` and `--skip`.
    fn is_asked_for(&self, id: &str, tags: &[String]) -> bool {
        let only = &self.request.only;
        let named = |s: &Selector| match s {
            Selector::Name(name) => name == id,
            Selector::Tag(tag) => tags.contains(tag),
        };
        (only.is_empty() || only.iter().any(named))
            && !self.request.skip.iter().any(|s| s.name == id)
    }

    /// The changed files below a directory that are still there: the path, and the argument.
    fn existing(&self, dir: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let missing = match self.facts.get(&Question::MissingChanged) {
            Some(FactAnswer::List(list)) => list.iter().map(|w| w.as_bytes().to_vec()).collect(),
            _ => Vec::new(),
        };
        let mut all = Vec::new();
        for file in self.request.changed.files() {
            let path = file.path.as_bytes().to_vec();
            let below = if dir == b"." {
                Some(path.as_slice())
            } else {
                path.strip_prefix(&[dir, b"/"].concat()[..])
            };
            let Some(name) = below.map(<[u8]>::to_vec) else {
                continue;
            };
            if file.status != Status::Deleted && !missing.contains(&path) {
                let name = if matches!(name[0], b'-' | b'@') {
                    [b"./", &name[..]].concat()
                } else {
                    name
                };
                all.push((path, name));
            }
        }
        all.sort();
        all
    }

    /// What `{changed}` stands for at some places of a check: paths, in their order, and how they
    /// are passed.
    fn files_of(&self, check: &Check, places: &[usize]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let around = |path: &[u8], place: &Placement| {
            place
                .conditions
                .iter()
                .all(|c| match &self.contract.conditions[*c].test {
                    Test::ChangedAny(list) | Test::ChangedAll(list) | Test::ChangedOnly(list) => {
                        is_selected(list, path)
                    }
                    _ => true,
                })
        };
        let all = self.existing(check.dir.as_bytes());
        all.into_iter()
            .filter(|(path, _)| places.iter().any(|p| around(path, &check.placements[*p])))
            .collect()
    }

    fn has_its_files(&self, check: &Check, places: &[usize]) -> bool {
        !matches!(&check.body, Body::Command(c) if c.has_changed())
            || !self.files_of(check, places).is_empty()
    }

    /// All commands that are not the contract's, with their ids and where they come from.
    fn commands(&self) -> Vec<(String, CommandRequest, &'static str)> {
        let mut taken: BTreeSet<String> =
            self.contract.checks.iter().map(|c| c.id.clone()).collect();
        let mut all: Vec<(String, CommandRequest, &'static str)> = Vec::new();
        let mut unique = |id: String| {
            let numbered = (2..).map(|n| format!("{id}-{n}"));
            let free = std::iter::once(id.clone())
                .chain(numbered)
                .find(|id| !taken.contains(id))
                .unwrap();
            taken.insert(free.clone());
            free
        };
        for asked in &self.request.explicit {
            // What is asked for twice is one.
            if !all.iter().any(|(_, c, _)| c == asked) {
                all.push((unique(id_of(&asked.command)), asked.clone(), "explicit"));
            }
        }
        let mode = self.request.mode;
        if matches!(mode, Mode::Llm | Mode::Hybrid) {
            for (asked, _) in self.request.proposal.iter().flat_map(|p| &p.commands) {
                all.push((unique(id_of(&asked.command)), asked.clone(), "proposed"));
            }
        }
        if mode == Mode::Hybrid || (mode == Mode::Fallback && !self.is_declared) {
            for (id, command) in &self.request.inferred {
                all.push((unique(id.clone()), command.clone().into(), "inferred"));
            }
        }
        all
    }

    /// What prepares comes first where nothing says otherwise: `setup` before all else that the
    /// contract says, then the list of commands, one behind the other, then what is in it alone
    /// before all others.
    fn prepare(&self, nodes: &[Node], list: &[Listed], table: &mut Before) {
        let checks = &self.contract.checks;
        let wish = |a: usize, b: usize, table: &mut Before| {
            if a == b || nodes[a].tier > nodes[b].tier {
                return false;
            }
            let was = std::mem::replace(&mut table[a][b], true);
            table[a][b] = was || !is_cyclic(table);
            table[a][b]
        };
        let is_setup = |n: &Node| n.check.map(|c| checks[c].has(Row::Setup));
        for a in (0..nodes.len()).filter(|a| is_setup(&nodes[*a]) == Some(true)) {
            for b in (0..nodes.len()).filter(|b| is_setup(&nodes[*b]) == Some(false)) {
                wish(a, b, table);
            }
        }
        let place = |listed: &Listed| match listed {
            Listed::Alone(id) => nodes.iter().position(|n| n.check.is_none() && n.id == *id),
            Listed::Check(check) => nodes.iter().position(|n| n.check == Some(*check)),
        };
        let mut seen: Vec<usize> = Vec::new();
        for node in list.iter().filter_map(place) {
            if !seen.contains(&node) {
                seen.iter().rev().any(|earlier| wish(*earlier, node, table));
                seen.push(node);
            }
        }
        let alone: Vec<usize> = (0..nodes.len())
            .filter(|n| nodes[*n].origin == "explicit")
            .collect();
        for a in &alone {
            for b in (0..nodes.len()).filter(|b| !alone.contains(b)) {
                wish(*a, b, table);
            }
        }
    }

    fn ordered(
        &self,
        nodes: Vec<Node>,
        stands_for: &BTreeMap<CheckIndex, CheckIndex>,
        list: &[Listed],
    ) -> Vec<RightStep> {
        let node_of = |check: &CheckIndex| {
            let first = stands_for.get(check)?;
            nodes.iter().position(|n| n.check == Some(*first))
        };
        let tier = |n: usize| nodes[n].tier;
        let checks = &self.contract.checks;
        let mut table: Before = nothing(nodes.len());
        let mut needs = vec![BTreeSet::new(); nodes.len()];
        for (n, node) in nodes.iter().enumerate() {
            for needed in node
                .check
                .iter()
                .flat_map(|c| &checks[*c].needs)
                .filter_map(&node_of)
            {
                table[needed][n] = true;
                needs[n].insert(nodes[needed].id.clone());
            }
        }
        for sequence in &self.contract.sequences {
            for (i, group) in sequence.groups.iter().enumerate() {
                for a in group.iter().filter_map(&node_of) {
                    for b in sequence.groups[i + 1..]
                        .iter()
                        .flatten()
                        .filter_map(&node_of)
                    {
                        table[a][b] |= tier(a) <= tier(b);
                    }
                }
            }
        }
        // Who cleans before who produces before who requires, unless the two say the opposite of
        // each other, or all that was said before does.
        let meet = |a: &[vplan::base::glob::Glob], b: &[vplan::base::glob::Glob]| {
            a.iter()
                .any(|a| b.iter().any(|b| may_meet(a.text(), b.text())))
        };
        let mut soft = nothing(nodes.len());
        for a in 0..nodes.len() {
            for b in 0..nodes.len() {
                if let (Some(x), Some(y)) = (
                    nodes[a].check.map(|c| &checks[c]),
                    nodes[b].check.map(|c| &checks[c]),
                ) {
                    let makes = y.globs(Row::Produces);
                    let first = meet(x.globs(Row::Cleans), makes)
                        || meet(x.globs(Row::Produces), y.globs(Row::Requires));
                    soft[a][b] = a != b && first && tier(a) <= tier(b);
                }
            }
        }
        for a in 0..nodes.len() {
            for b in 0..nodes.len() {
                if soft[a][b] && !soft[b][a] && !table[a][b] {
                    table[a][b] = true;
                    table[a][b] = !is_cyclic(&table);
                }
            }
        }
        self.prepare(&nodes, list, &mut table);
        let behind = closed(table.clone());
        let is_judge = |n: usize| {
            nodes[n]
                .check
                .is_some_and(|c| checks[c].kind == Kind::Judge)
        };
        // A judge goes last in its tier, behind those for which others wait.
        let class = |n: usize| {
            let waits = |m: usize| tier(m) == tier(n) && !is_judge(m) && behind[n][m];
            match is_judge(n) {
                false => 0,
                true if (0..nodes.len()).any(waits) => 1,
                true => 2,
            }
        };
        let order =
            sorted(&with_tiers(&table, tier), |n| (tier(n), class(n), n)).expect("no cycle");
        let names = |n: usize| {
            (0..nodes.len())
                .filter(|a| behind[*a][n])
                .map(|a| nodes[a].id.clone())
                .collect()
        };
        order
            .into_iter()
            .map(|n| RightStep {
                id: nodes[n].id.clone(),
                tier: tier(n),
                origin: nodes[n].origin,
                argv: nodes[n].argv.clone(),
                behind: names(n),
                needs: needs[n].clone(),
            })
            .collect()
    }
}

/// An earlier tier is before a later one.
fn with_tiers(table: &Before, tier: impl Fn(usize) -> u8) -> Before {
    let mut table = table.clone();
    for a in 0..table.len() {
        for b in 0..table.len() {
            table[a][b] |= tier(a) < tier(b);
        }
    }
    table
}

fn argv(command: &Command, files: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let Command::Argv { pieces, .. } = command else {
        return None;
    };
    let words = pieces.iter().flat_map(|piece| match piece {
        Piece::Word(word) => vec![word.as_bytes().to_vec()],
        Piece::Changed => files.to_vec(),
    });
    Some(words.collect())
}

fn words(command: &Command) -> Result<Vec<Piece>, String> {
    match command {
        Command::Argv { pieces, .. } => Ok(pieces.clone()),
        Command::Unsupported { text, .. } => Err(text.trim().to_owned()),
    }
}

fn work(check: &Check) -> Option<Work> {
    let Body::Command(command) = &check.body else {
        return None;
    };
    let dir = check.dir.as_bytes().to_vec();
    Some(Work {
        words: words(command),
        env: check.env.clone(),
        dir,
        kind: check.kind,
    })
}

/// The command of a request that equals a check, whichever verb the contract gives it.
fn requested(check: &Check) -> Option<Work> {
    let work = work(check).filter(|w| ![Kind::Judge, Kind::Shell].contains(&w.kind))?;
    let kind = Kind::Run;
    Some(Work { kind, ..work })
}

fn work_of_command(command: &Command) -> Work {
    let env = match command {
        Command::Argv { env, .. } => env.clone(),
        Command::Unsupported { .. } => Env::new(),
    };
    Work {
        words: words(command),
        env,
        dir: b".".to_vec(),
        kind: Kind::Run,
    }
}

/// The words of a command, with one `-` for whatever no name has.
fn id_of(command: &Command) -> String {
    let text: Vec<String> = match command {
        Command::Argv { pieces, .. } => pieces
            .iter()
            .map(|p| match p {
                Piece::Word(word) => word.as_str().unwrap().to_owned(),
                Piece::Changed => "changed".to_owned(),
            })
            .collect(),
        Command::Unsupported { text, .. } => vec![text.clone()],
    };
    let text = text.join("-");
    let parts = text
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|p| !p.is_empty());
    let id = parts.collect::<Vec<_>>().join("-");
    if id.is_empty() { "run".to_owned() } else { id }
}

/// Everything that stands before a step by `after`.
fn behind(plan: &Plan) -> BTreeMap<&str, BTreeSet<String>> {
    let mut all: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for step in &plan.steps {
        let mut before: BTreeSet<String> = step.after.iter().cloned().collect();
        step.after
            .iter()
            .for_each(|a| before.extend(all.get(a.as_str()).into_iter().flatten().cloned()));
        all.insert(&step.id, before);
    }
    all
}

/// What a plan does say.
pub fn said(plan: &Plan) -> Right {
    let mut behind = behind(plan);
    let step = |s: &vplan::plan::Step| RightStep {
        id: s.id.clone(),
        tier: s.tier,
        origin: match s.origin {
            Origin::Explicit => "explicit",
            Origin::Contract => "contract",
            Origin::Inferred => "inferred",
            Origin::Proposed => "proposed",
        },
        argv: s
            .argv
            .as_ref()
            .map(|argv| argv.iter().map(|w| w.as_bytes().to_vec()).collect()),
        behind: behind.remove(s.id.as_str()).unwrap_or_default(),
        needs: s.needs.iter().cloned().collect(),
    };
    Right {
        steps: plan.steps.iter().map(step).collect(),
        omitted: plan.omitted.iter().map(|o| o.id.clone()).collect(),
        tiers: plan
            .tiers
            .iter()
            .map(|t| (t.tier, t.reasons.clone()))
            .collect(),
    }
}
