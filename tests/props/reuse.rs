//! A hit always equals a fresh run, in a simulated world: files, a variable, a tool, and commands
//! that are functions of what their step declares. With random edits, changed plans, cleanups,
//! products and failures in between. Some commands have a memory in a file that git ignores and that
//! they read again: one that has no say in their result, one of what failed last, one that they
//! trust whoever wrote it.
//!
//! That the model can tell is tested too: each part of the decision is taken away in turn, and the
//! law must break.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeMap;
use vplan::arbitrary::config;
use vplan::arbitrary::run::{plan, step};
use vplan::base::canon::Digest;
use vplan::base::glob::Glob;
use vplan::base::index::Index as _;
use vplan::base::path::RepoPath;
use vplan::base::word::Word;
use vplan::check::evidence::EarlierPass;
use vplan::plan::{Plan, Step, StepIndex};
use vplan::reuse::decide::{RunSoFar, barrier, eligible, replaces};
use vplan::reuse::entry::{KeptPass, Product};
use vplan::reuse::key::{
    FileSet, JUDGING, KeyOrder, KeyPrints, Parts, Print, Tool, all_of, depends_on, settings,
};
use vplan::reuse::listing::Listing;
use vplan::reuse::own_output::{TouchedFile, inherited, may_be_output};

const FILES: [&str; 8] = [
    "src/a",
    "src/b",
    "src/sub/c",
    "gen/x",
    "dist/app",
    "other",
    "cache/a",
    "cache/b",
];
/// Those of them that are not in a folder that git ignores.
const NOT_IGNORED: usize = 6;
const INPUTS: [&[&str]; 6] = [
    &["src/**"],
    &["src/a"],
    &["src/*", "gen/**"],
    &["**"],
    &["{src,gen}/**"],
    &["dist/**", "other"],
];

/// A part of the decision that is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    Nothing,
    Files,
    Contents,
    Modes,
    Environment,
    Tools,
    Settings,
    Predecessors,
    Products,
    Past,
    Cleaners,
    Written,
    /// A pass is kept for the state that it left, whatever it began with.
    Inherited,
    /// Any file may be a step's own output.
    Output,
    /// What git ignored when a step passed it is thought to ignore for ever.
    Ignored,
}

/// What a command does with the file that is its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// A cache: has no say in the result, and is another one after each run.
    Cache,
    /// Of what failed: where something did, only that runs, and passes.
    LastFailed,
    /// Of having passed: what others wrote there is taken for it.
    Trusting,
}

/// What a step is like beside its settings.
#[derive(Clone, Debug)]
struct Shape {
    /// Index into [`INPUTS`]; none for a step that may do anything, and runs every time.
    inputs: Option<usize>,
    /// It makes `gen/x` or `dist/app`, and says so.
    produces: Option<&'static str>,
    /// What it removes, and says so.
    cleans: Option<&'static str>,
    /// Writes a file of which it says nothing.
    writes: Option<usize>,
    /// What it does with which of the files in `cache/`.
    memory: Option<(Memory, usize)>,
    /// Steps before it that must be over.
    after: u8,
}

#[derive(Clone, Debug)]
enum Op {
    /// Whether git ignores `cache/`.
    Ignore(bool),
    Write(usize, u8),
    Mode(usize),
    Remove(usize),
    Variable(u8),
    Tool(u8),
    Toggle(usize),
    Version(usize, u8),
    Timeout(usize),
    Forget,
    Run,
}

#[derive(Clone, Debug)]
struct Story {
    shapes: Vec<Shape>,
    ops: Vec<Op>,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let inputs = prop_oneof![1 => Just(None), 4 => (0..INPUTS.len()).prop_map(Some)];
    let produces =
        prop_oneof![3 => Just(None), 1 => Just(Some("gen/x")), 1 => Just(Some("dist/app"))];
    let cleans =
        prop_oneof![5 => Just(None), 1 => Just(Some("gen/**")), 1 => Just(Some("dist/**"))];
    let writes = prop_oneof![5 => Just(None), 1 => (0..NOT_IGNORED).prop_map(Some)];
    let memory = prop_oneof![
        1 => Just(Memory::Cache),
        1 => Just(Memory::LastFailed),
        1 => Just(Memory::Trusting),
    ];
    let memory = prop_oneof![
        2 => Just(None),
        1 => (memory, NOT_IGNORED..FILES.len()).prop_map(Some),
    ];
    (inputs, produces, cleans, writes, memory, any::<u8>()).prop_map(
        |(inputs, produces, cleans, writes, memory, after)| Shape {
            // Such a command depends on all there is, its memory included.
            inputs: memory.map_or(inputs, |_| Some(3)),
            produces,
            cleans,
            writes: writes.filter(|_| memory.is_none()),
            memory,
            after,
        },
    )
}

fn stories() -> impl Strategy<Value = Story> {
    let file = || 0..FILES.len();
    let op = prop_oneof![
        4 => (file(), 0..3_u8).prop_map(|(f, v)| Op::Write(f, v)),
        1 => file().prop_map(Op::Mode),
        1 => file().prop_map(Op::Remove),
        1 => (0..2_u8).prop_map(Op::Variable),
        1 => (0..2_u8).prop_map(Op::Tool),
        1 => (0..5_usize).prop_map(Op::Toggle),
        1 => (0..5_usize, 0..2_u8).prop_map(|(s, v)| Op::Version(s, v)),
        1 => (0..5_usize).prop_map(Op::Timeout),
        1 => Just(Op::Forget),
        1 => any::<bool>().prop_map(Op::Ignore),
        11 => Just(Op::Run),
    ];
    (
        proptest::collection::vec(shapes(), 1..5),
        proptest::collection::vec(op, 4..40),
    )
        .prop_map(|(shapes, ops)| Story { shapes, ops })
}

#[derive(Clone, Debug, PartialEq)]
struct World {
    files: KeyPrints,
    variable: u8,
    tool: u8,
    is_ignored: bool,
    /// What steps that may do anything have left where no file says so: how often they ran.
    hidden: BTreeMap<usize, u64>,
}

struct Bench {
    shapes: Vec<Shape>,
    world: World,
    left_out: Vec<bool>,
    versions: Vec<u8>,
    hurried: Vec<bool>,
    kept: BTreeMap<Digest, KeptPass>,
    /// By step: the settings of the last pass, and the files that it left.
    last: BTreeMap<String, (Digest, Listing)>,
    broken: Broken,
    hits: usize,
}

fn path(text: &str) -> RepoPath {
    RepoPath::from_exact(text.as_bytes()).unwrap()
}

fn globs(list: &[&str]) -> Vec<Glob> {
    list.iter().map(|g| Glob::parse(g).unwrap()).collect()
}

fn file(content: &[u8]) -> Print {
    Print {
        content: Some(Digest::hash(content)),
        link: None,
        mode: 0o644,
    }
}

/// What a memory of a failure, and of a pass, holds.
fn memo(of: &str) -> Option<Digest> {
    Some(Digest::hash(of.as_bytes()))
}

impl World {
    fn ignores(&self, path: &RepoPath) -> bool {
        self.is_ignored && path.as_bytes().starts_with(b"cache/")
    }

    /// Lets a command use its memory; says whether it passes, which it would `by_itself`.
    fn remember(
        &mut self,
        (memory, which): (Memory, usize),
        seen: &Digest,
        by_itself: bool,
    ) -> bool {
        let at = path(FILES[which]);
        let there = self.files.get(&at).cloned();
        let content = there.as_ref().and_then(|print| print.content.clone());
        let (passes, left) = match memory {
            Memory::Cache => {
                let text = format!("{seen} {content:?}");
                (by_itself, Digest::hash(text.as_bytes()))
            }
            Memory::LastFailed => {
                let passes = by_itself || content == memo("failed");
                let left = if passes { "passed" } else { "failed" };
                (passes, Digest::hash(left.as_bytes()))
            }
            Memory::Trusting => {
                let is_own = content.is_none() || content == memo("own");
                (by_itself || !is_own, Digest::hash(b"own"))
            }
        };
        let left = Print {
            content: Some(left),
            link: None,
            mode: 0o644,
        };
        let is_same = there.as_ref() == Some(&left);
        self.files.insert(at, left);
        // A check that changes the tree fails.
        passes && (is_same || self.is_ignored)
    }

    /// Without what git ignores.
    fn tree(&self) -> Self {
        let mut tree = self.clone();
        tree.files.retain(|path, _| !self.ignores(path));
        tree
    }
}

impl Bench {
    fn new(story: &Story, broken: Broken) -> Self {
        let files = FILES
            .iter()
            .take(3)
            .map(|f| (path(f), file(b"0")))
            .collect();
        let count = story.shapes.len();
        Self {
            shapes: story.shapes.clone(),
            world: World {
                files,
                variable: 0,
                tool: 0,
                is_ignored: true,
                hidden: BTreeMap::new(),
            },
            left_out: vec![false; count],
            versions: vec![0; count],
            hurried: vec![false; count],
            kept: BTreeMap::new(),
            last: BTreeMap::new(),
            broken,
            hits: 0,
        }
    }

    /// The plan now, and which shape each of its steps has.
    fn plan(&self) -> (Plan, Vec<usize>) {
        let members: Vec<usize> = (0..self.shapes.len())
            .filter(|i| !self.left_out[*i])
            .collect();
        let steps = members.iter().map(|i| {
            let shape = &self.shapes[*i];
            let mut step = step(&format!("s{i}"));
            step.argv = Some(vec![
                Word::from("tool"),
                Word::from(format!("{i}.{}", self.versions[*i]).as_str()),
            ]);
            step.inputs = shape.inputs.map(|which| all_of(&globs(INPUTS[which])));
            step.produces = shape.produces.map(|p| globs(&[p])).unwrap_or_default();
            step.cleans = shape.cleans.map(|c| globs(&[c])).unwrap_or_default();
            step.timeout_ms = if self.hurried[*i] { 5 } else { 1000 };
            let before = members
                .iter()
                .filter(|b| *b < i && shape.after >> (*b % 8) & 1 == 1);
            step.after = before.map(|b| format!("s{b}")).collect();
            step
        });
        let steps: Vec<Step> = steps.collect();
        (plan(steps), members)
    }

    fn parts(&self, plan: &Plan, index: usize) -> Parts {
        let step = &plan.steps[index];
        let wanted = depends_on(step);
        let mut files = self.world.files.clone();
        files.retain(|path, _| wanted.iter().any(|s| s.selects(path)));
        for print in files.values_mut() {
            match self.broken {
                Broken::Contents => print.content = None,
                Broken::Modes => print.mode = 0,
                _ => {}
            }
        }
        if self.broken == Broken::Files {
            files.clear();
        }
        let unless = |what: Broken, value: u8| if self.broken == what { 0 } else { value };
        let nothing = Digest::hash(b"");
        Parts {
            enforced: step.confinement().guarantees(),
            environment: vec![(
                Word::from("A"),
                Digest::hash(&[unless(Broken::Environment, self.world.variable)]),
            )],
            files: FileSet::from_files(&files),
            judging: JUDGING,
            place: nothing.clone(),
            platform: String::new(),
            predecessors: if self.broken == Broken::Predecessors {
                nothing.clone()
            } else {
                KeyOrder::new(plan).settings_before(StepIndex::new(index))
            },
            reads: None,
            toolchains: None,
            settings: if self.broken == Broken::Settings {
                nothing
            } else {
                settings(step)
            },
            tools: vec![Tool {
                digest: Digest::hash(&[unless(Broken::Tools, self.world.tool)]),
                path: Word::from("/bin/tool"),
            }],
            vplan: String::new(),
        }
    }

    /// Runs a step: says whether it passes.
    fn execute(&self, world: &mut World, plan: &Plan, members: &[usize], index: usize) -> bool {
        let (step, shape) = (&plan.steps[index], &self.shapes[members[index]]);
        let wanted = depends_on(step);
        let own = shape.memory.map(|(_, which)| path(FILES[which]));
        let sees = world
            .files
            .iter()
            .filter(|(path, _)| wanted.iter().any(|s| s.selects(path)))
            .filter(|(path, _)| own.as_ref() != Some(path));
        let mut seen = format!(
            "{:?} {} {} {:?}",
            step.argv,
            world.variable,
            world.tool,
            sees.collect::<Vec<_>>()
        );
        if shape.inputs.is_none() {
            // A step that may do anything depends on anything.
            seen = format!("{seen} {:?}", world.files);
            *world.hidden.entry(members[index]).or_default() += 1;
        }
        // What such a step leaves behind is seen by those that come after it, unless it says all
        // that it makes.
        for before in KeyOrder::new(plan).before(StepIndex::new(index)) {
            let before = before.position();
            if self.shapes[members[before]].inputs.is_none()
                && plan.steps[before].produces.is_empty()
            {
                let member = members[before];
                seen.push_str(&format!(" {member} {:?}", world.hidden.get(&member)));
            }
        }
        let digest = Digest::hash(seen.as_bytes());
        let [first, second, ..] = *digest.as_bytes();
        if let Some(clean) = shape.cleans {
            let clean = all_of(&globs(&[clean]));
            world.files.retain(|path, _| !clean.selects(path));
        }
        if let Some(made) = shape.produces {
            world.files.insert(path(made), file(&[second]));
        }
        if let Some(written) = shape.writes {
            world
                .files
                .insert(path(FILES[written]), file(&[second % 3]));
        }
        let duration_ms = if second % 2 == 0 { 3 } else { 9 };
        let in_time = duration_ms <= step.timeout_ms;
        let by_itself = first % 5 != 0;
        let passes = match shape.memory {
            Some(memory) => world.remember(memory, &digest, by_itself),
            None => by_itself,
        };
        passes && in_time
    }

    fn run(&mut self) -> Result<(), String> {
        let (plan, members) = self.plan();
        let mut past = RunSoFar::default();
        for index in 0..plan.steps.len() {
            let step = &plan.steps[index];
            let history = if self.broken == Broken::Past {
                RunSoFar::default()
            } else {
                past.clone()
            };
            // As if nobody had thought of steps that clean.
            let blind = Step {
                cleans: Vec::new(),
                ..step.clone()
            };
            let free = match self.broken {
                Broken::Cleaners if !step.cleans.is_empty() => eligible(&blind),
                _ => barrier(
                    &plan,
                    &KeyOrder::new(&plan),
                    StepIndex::new(index),
                    &history,
                ),
            };
            past.tried.insert(step.id.clone());
            let parts = self.parts(&plan, index);
            let key = parts.key();
            if free.is_ok()
                && let Some(entry) = self.kept.get(&key)
                && replaces(
                    step,
                    &parts,
                    entry,
                    |path| match self.broken {
                        Broken::Products => entry
                            .products
                            .iter()
                            .find(|p| p.path == *path)
                            .map(|p| p.print.clone()),
                        _ => self.world.files.get(path).cloned(),
                    },
                    |path| self.thinks_ignored(path),
                )
                .is_ok()
            {
                self.hits += 1;
                let mut fresh = self.world.clone();
                if !self.execute(&mut fresh, &plan, &members, index) {
                    return Err(format!("a fresh run of {} fails", step.id));
                }
                if fresh.tree() != self.world.tree() {
                    return Err(format!(
                        "a fresh run of {} leaves {fresh:?} instead of {:?}",
                        step.id, self.world
                    ));
                }
                continue;
            }
            let before = self.world.files.clone();
            let mut world = self.world.clone();
            let passed = self.execute(&mut world, &plan, &members, index);
            self.world = world;
            past.ran.insert(step.id.clone());
            let touched = self.touched(step, &before);
            let is_ignored =
                |path: &RepoPath| self.broken == Broken::Output || self.world.ignores(path);
            let steady =
                may_be_output(&touched, is_ignored).is_ok() || self.broken == Broken::Written;
            let honest = self.shapes[members[index]].is_honest();
            if passed && steady && step.inputs.is_some() && honest {
                self.keep(&plan, index, parts, &touched);
            } else if let Some(entry) = self.kept.remove(&key) {
                entry.counterpart.map(|other| self.kept.remove(&other));
            }
            if !passed {
                break;
            }
        }
        Ok(())
    }

    /// Whether a pass that wrote this file may replace its step, as far as that goes.
    fn thinks_ignored(&self, path: &RepoPath) -> bool {
        matches!(self.broken, Broken::Ignored | Broken::Output) || self.world.ignores(path)
    }

    /// The inputs of a step that are not as they were.
    fn touched(&self, step: &Step, before: &KeyPrints) -> Vec<TouchedFile> {
        let wanted = depends_on(step);
        let now = &self.world.files;
        let all: std::collections::BTreeSet<&RepoPath> = before.keys().chain(now.keys()).collect();
        let touched = all.into_iter().map(|path| TouchedFile {
            path: path.clone(),
            before: before.get(path).cloned(),
            after: now.get(path).cloned(),
        });
        touched
            .filter(|t| t.is_changed() && wanted.iter().any(|s| s.selects(&t.path)))
            .collect()
    }

    fn keep(&mut self, plan: &Plan, index: usize, parts: Parts, touched: &[TouchedFile]) {
        let step = &plan.steps[index];
        let made = all_of(&step.produces);
        let products = self.world.files.iter();
        let products = products.filter(|(path, _)| made.selects(path));
        let products = products.map(|(path, print)| Product {
            path: path.clone(),
            print: print.clone(),
        });
        let mut entry = KeptPass::new(parts, products.collect(), EarlierPass::default());
        if self.broken != Broken::Written {
            entry.wrote = touched.iter().map(|t| t.path.clone()).collect();
        }
        let (_, then) = self
            .last
            .get(&step.id)
            .filter(|(last, _)| *last == settings(step))
            .cloned()
            .unzip();
        entry.inherited = inherited(touched, then.as_ref()).cloned();
        let wanted = depends_on(step);
        let files = self.world.files.iter();
        let files = files.filter(|(path, _)| wanted.iter().any(|s| s.selects(path)));
        let listing =
            Listing::from_files(files.map(|(path, print)| (path.clone(), print.digest())));
        let listing = listing.with_output(touched, then.as_ref());
        self.last.insert(step.id.clone(), (settings(step), listing));
        let believed = entry.inherited.is_none() || self.broken == Broken::Inherited;
        if !touched.is_empty() && believed && self.broken != Broken::Written {
            let left = entry.left(self.parts(plan, index));
            self.kept.insert(left.key.clone(), left);
        }
        self.kept.insert(entry.key.clone(), entry);
    }

    fn tell(&mut self, ops: &[Op]) -> Result<(), String> {
        let count = self.shapes.len();
        for op in ops {
            match *op {
                Op::Write(which, value) => {
                    drop(self.world.files.insert(path(FILES[which]), file(&[value])))
                }
                Op::Mode(which) => {
                    if let Some(print) = self.world.files.get_mut(&path(FILES[which])) {
                        print.mode ^= 0o111;
                    }
                }
                Op::Remove(which) => drop(self.world.files.remove(&path(FILES[which]))),
                Op::Variable(value) => self.world.variable = value,
                Op::Tool(value) => self.world.tool = value,
                Op::Toggle(which) => self.left_out[which % count] ^= true,
                Op::Version(which, value) => self.versions[which % count] = value,
                Op::Timeout(which) => self.hurried[which % count] ^= true,
                Op::Forget => drop(self.kept.pop_first()),
                Op::Ignore(is_ignored) => self.world.is_ignored = is_ignored,
                Op::Run => self.run()?,
            }
        }
        Ok(())
    }
}

impl Shape {
    /// Whether all that it changes is what it says that it makes, or is seen because it is an input
    /// of its own: only then is its command what `inputs` promises.
    fn is_honest(&self) -> bool {
        let selected = |file: &str| {
            self.inputs
                .is_some_and(|which| all_of(&globs(INPUTS[which])).selects(&path(file)))
        };
        self.writes.is_none_or(|which| selected(FILES[which]))
    }
}

fn tells(story: &Story, broken: Broken) -> Result<usize, String> {
    let mut bench = Bench::new(story, broken);
    bench.tell(&story.ops)?;
    Ok(bench.hits)
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn cache_sound(story in stories()) {
        prop_assert_eq!(tells(&story, Broken::Nothing).err(), None);
    }
}

fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 0,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn the_stories_have_hits() {
    let hits = std::cell::Cell::new(0);
    let told = runner(512).run(&stories(), |story| {
        hits.set(hits.get() + tells(&story, Broken::Nothing).unwrap());
        Ok(())
    });
    assert!(told.is_ok(), "{told:?}");
    assert!(hits.get() > 256, "{} hits", hits.get());
}

#[test]
fn a_memory_of_passes_alone_is_believed_at_once() {
    let shape = Shape {
        inputs: Some(3),
        produces: None,
        cleans: None,
        writes: None,
        memory: Some((Memory::Cache, NOT_IGNORED)),
        after: 0,
    };
    let story = Story {
        shapes: vec![shape],
        ops: Vec::new(),
    };
    let mut bench = Bench::new(&story, Broken::Nothing);
    let runs = |bench: &mut Bench| (bench.run().unwrap(), bench.hits).1;
    // Whether such a command passes is decided by a digest: an input for which it does.
    let passing = |bench: &mut Bench, from: u8| {
        (from..).find(|value| {
            bench.world.files.insert(path("src/a"), file(&[*value]));
            let (plan, members) = bench.plan();
            let mut world = bench.world.clone();
            bench.execute(&mut world, &plan, &members, 0)
        })
    };
    let first = passing(&mut bench, 0).unwrap();
    assert_eq!([runs(&mut bench), runs(&mut bench)], [0, 1]);
    passing(&mut bench, first + 1).unwrap();
    assert_eq!(
        [runs(&mut bench), runs(&mut bench)],
        [1, 2],
        "after an edit"
    );
    bench.world.files.insert(path("cache/a"), file(b"poison"));
    assert_eq!(runs(&mut bench), 2, "another program's");
    assert_eq!(runs(&mut bench), 2, "its pass may come from that");
    assert_eq!(runs(&mut bench), 3);
}

#[test]
fn every_part_of_the_decision_is_needed() {
    let unneeded = std::cell::RefCell::new(vec![
        Broken::Files,
        Broken::Contents,
        Broken::Modes,
        Broken::Environment,
        Broken::Tools,
        Broken::Settings,
        Broken::Predecessors,
        Broken::Products,
        Broken::Past,
        Broken::Cleaners,
        Broken::Written,
        Broken::Inherited,
        Broken::Output,
        Broken::Ignored,
    ]);
    // Until each has broken the law once.
    let _ = runner(20_000).run(&stories(), |story| {
        let mut unneeded = unneeded.borrow_mut();
        unneeded.retain(|broken| tells(&story, *broken).is_ok());
        let all = unneeded.is_empty().then(|| TestCaseError::fail("all"));
        all.map_or(Ok(()), Err)
    });
    assert_eq!(unneeded.take(), [], "without these the law should break");
}
