//! Computes the key of a step: one digest of everything that may influence its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufWriter, Write as _};
use vplan_base::canon::{Digest, Hasher};
use vplan_base::glob::{Glob, Selection, escape};
use vplan_base::index::Dense;
use vplan_base::path::RepoPath;
use vplan_base::word::Word;
use vplan_check::confine::{Guarantee, SandboxLevel};
use vplan_check::difference::{Difference, DifferenceKind};
use vplan_plan::{Origin, Plan, Step, StepIndex, predecessors};

/// The version of the evaluation. Raised whenever the same evidence may get another result than
/// before.
pub const JUDGING: u32 = 1;

/// The state of a file at that time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Print {
    /// Of its content, symlinks followed; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Digest>,
    /// The target of a symlink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Word>,
    /// The permission bits.
    pub mode: u32,
}

impl Print {
    /// Returns one digest of everything.
    pub fn digest(&self) -> Digest {
        FileSet::from_files([(&RepoPath::root(), self)]).digest
    }
}

/// Digests of files, by path.
pub type KeyPrints = BTreeMap<RepoPath, Print>;

/// All files of a set: how many, and one digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FileSet {
    /// The number of files.
    pub count: u64,
    /// Of their paths, contents, permissions and targets.
    pub digest: Digest,
}

impl FileSet {
    /// Computes the set's digest.
    pub fn from_files<'p>(files: impl IntoIterator<Item = (&'p RepoPath, &'p Print)>) -> Self {
        // Room for some files: most sets that are digested have one.
        let (mut hasher, mut count) = (BufWriter::with_capacity(512, Hasher::default()), 0);
        // Lengths go first, so that no two lists of files are the same bytes. Writing into a hasher
        // cannot fail.
        let mut add = |bytes: &[u8]| {
            let _ = hasher.write_all(&(bytes.len() as u64).to_le_bytes());
            let _ = hasher.write_all(bytes);
        };
        for (path, print) in files {
            count += 1;
            add(path.as_bytes());
            add(&print.mode.to_le_bytes());
            match &print.content {
                Some(content) => add(content.as_bytes()),
                None => add(b""),
            }
            match &print.link {
                Some(link) => add(&[b"@", link.as_bytes()].concat()),
                None => add(b""),
            }
        }
        Self {
            count,
            digest: hasher.into_inner().unwrap_or_default().finish(),
        }
    }
}

/// A file that is executed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tool {
    /// Of its content.
    pub digest: Digest,
    /// The path where it was found.
    pub path: Word,
}

/// All that may have a say in how a step ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Parts {
    /// What the system makes sure of while the step runs, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enforced: Vec<Guarantee>,
    /// Every variable that the step sees, ascending by name. The digest is keyed with a secret of
    /// the store, so that values cannot be tried.
    pub environment: Vec<(Word, Digest)>,
    /// The files that `inputs`, `requires` and `unchanged` select.
    pub files: FileSet,
    /// The version of the rules that evaluated it: raised whenever the same evidence may be
    /// evaluated otherwise than before.
    pub judging: u32,
    /// Of the root's absolute path.
    pub place: Digest,
    /// The system and its processor.
    pub platform: String,
    /// Of the settings of all steps that must be over before it, in no order, as one.
    pub predecessors: Digest,
    /// The state of what it may read outside of the repository, by `reads`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<Digest>,
    /// Of the settings of the step itself.
    pub settings: Digest,
    /// The state of the toolchains that it may read, where its reads are held to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolchains: Option<Digest>,
    /// The program that its command names, then that program's interpreter, and so on; where its reads
    /// are held to, also the other programs that its words name.
    pub tools: Vec<Tool>,
    /// The version of vplan.
    pub vplan: String,
}

impl Parts {
    /// Returns the key: the digest of all parts.
    pub fn key(&self) -> Digest {
        Digest::of_value(self)
    }

    /// Lists the differences from an earlier pass: first those of the contract, then `files`, then
    /// those of the environment. Names, no values.
    pub fn differences(&self, earlier: &Parts, files: Vec<Difference>) -> Vec<Difference> {
        let mut list = Vec::new();
        let unnamed = |differs: bool, kind| differs.then(|| Difference::unnamed(kind));
        list.extend(unnamed(
            self.settings != earlier.settings || self.enforced != earlier.enforced,
            DifferenceKind::Settings,
        ));
        list.extend(unnamed(
            self.predecessors != earlier.predecessors,
            DifferenceKind::StepsBefore,
        ));
        list.extend(files);
        let variables = differing(&self.environment, &earlier.environment);
        list.extend(
            variables
                .into_iter()
                .map(|name| Difference::with_name(DifferenceKind::Variable, name.as_bytes())),
        );
        let tools = |parts: &Parts| -> Vec<(Word, Digest)> {
            let tools = parts.tools.iter();
            tools.map(|t| (t.path.clone(), t.digest.clone())).collect()
        };
        // The program itself comes before its interpreters.
        let (now, then) = (tools(self), tools(earlier));
        let other = now.iter().filter(|tool| !then.contains(tool));
        let less = (now.len() < then.len()).then(|| then.last()).flatten();
        list.extend(
            other
                .chain(less)
                .map(|(path, _)| Difference::with_name(DifferenceKind::Program, path.as_bytes())),
        );
        list.extend(unnamed(
            self.reads != earlier.reads,
            DifferenceKind::Outside,
        ));
        list.extend(unnamed(
            self.toolchains != earlier.toolchains,
            DifferenceKind::Toolchain,
        ));
        list.extend(unnamed(
            self.vplan != earlier.vplan || self.judging != earlier.judging,
            DifferenceKind::Vplan,
        ));
        list.extend(unnamed(
            self.place != earlier.place || self.platform != earlier.platform,
            DifferenceKind::Place,
        ));
        list
    }
}

/// Returns the names that are in only one of both lists, or have another digest, ascending.
fn differing<'n>(now: &'n [(Word, Digest)], then: &'n [(Word, Digest)]) -> BTreeSet<&'n Word> {
    let other = |list: &'n [(Word, Digest)], than: &'n [(Word, Digest)]| {
        list.iter()
            .filter(|pair| !than.contains(pair))
            .map(|(name, _)| name)
    };
    other(now, then).chain(other(then, now)).collect()
}

/// Returns the digest of all settings that may influence how a step ends.
///
/// Settings without influence are omitted: its name, the reasons and sources of its place in the
/// plan, its position, the effect of its end on others, what it waits for (that is
/// [`Parts::predecessors`]), and further tries, since only a pass at the first try is cached.
/// Everything else counts, including the time limit.
pub fn settings(step: &Step) -> Digest {
    let mut deciding = Step {
        after: Vec::new(),
        batch_of: None,
        id: String::new(),
        needs: Vec::new(),
        origin: Origin::Contract,
        prepared_by: Vec::new(),
        reasons: Vec::new(),
        sandbox_from: None,
        source: None,
        tags: Vec::new(),
        tier: 0,
        ..step.clone()
    };
    deciding.forget(|setting| !setting.decides);
    Digest::of_value(&deciding)
}

/// The steps of a plan with the digest of their settings and their predecessors. Made once per
/// plan.
#[derive(Clone, Debug)]
pub struct KeyOrder {
    /// Direct predecessors by constraints.
    direct: Predecessors,
    /// Those of `direct` that do not merely prepare.
    bound: Predecessors,
    settings: Dense<StepIndex, Digest>,
}

type Predecessors = Dense<StepIndex, Vec<StepIndex>>;

impl KeyOrder {
    /// Computes the order of a plan.
    pub fn new(plan: &Plan) -> Self {
        let positions = plan.positions();
        let direct = |(own, s): (StepIndex, &Step)| {
            predecessors(&positions, own, s.after.iter().chain(&s.needs)).collect()
        };
        let bound =
            |(own, s): (StepIndex, &Step)| predecessors(&positions, own, s.bound_to()).collect();
        Self {
            direct: plan.numbered_steps().map(direct).collect(),
            bound: plan.numbered_steps().map(bound).collect(),
            settings: plan.steps.iter().map(settings).collect(),
        }
    }

    /// Returns all steps that must end before a step, directly or not, ascending.
    pub fn before(&self, step: StepIndex) -> BTreeSet<StepIndex> {
        all_before(&self.direct, step)
    }

    /// Like [`KeyOrder::before`], without steps that only prepare: their outputs are inputs like any
    /// other.
    pub fn bound_before(&self, step: StepIndex) -> BTreeSet<StepIndex> {
        all_before(&self.bound, step)
    }

    /// Returns the digest for [`Parts::predecessors`].
    pub fn settings_before(&self, step: StepIndex) -> Digest {
        let before = self.before(step).into_iter();
        let mut list: Vec<&Digest> = before.map(|i| &self.settings[i]).collect();
        list.sort();
        let bytes: Vec<u8> = list
            .into_iter()
            .flat_map(Digest::as_bytes)
            .copied()
            .collect();
        Digest::hash(&bytes)
    }

    /// Returns the digest for [`Parts::settings`].
    pub fn settings(&self, step: StepIndex) -> &Digest {
        &self.settings[step]
    }
}

fn all_before(direct: &Predecessors, step: StepIndex) -> BTreeSet<StepIndex> {
    let mut found = BTreeSet::new();
    let mut open = vec![step];
    while let Some(here) = open.pop() {
        open.extend(direct[here].iter().filter(|before| found.insert(**before)));
    }
    found
}

/// Returns the inputs of a step, as selections; a file counts if any of them matches. They are
/// `inputs`, and `requires`, which names artifacts that it reads. Empty without `inputs`. Files of
/// `unchanged` count too, but are scanned separately, without files that git ignores. Only a step
/// that is confined to its declared files may read those, and the folders of its `tool-path`.
pub fn depends_on(step: &Step) -> Vec<Selection> {
    let Some(inputs) = step.inputs.clone() else {
        return Vec::new();
    };
    let required = Some(all_of(&step.requires)).filter(|required| !required.items.is_empty());
    let unchanged = step.unchanged.clone();
    let unchanged = unchanged.filter(|_| step.sandbox >= SandboxLevel::Files);
    let tools = Some(all_of(&tool_globs(step))).filter(|tools| !tools.items.is_empty());
    let all = [Some(inputs), required, unchanged, tools];
    all.into_iter().flatten().collect()
}

/// Returns the globs of the `tool-path` folders, whose programs a step with confined reads may
/// execute.
fn tool_globs(step: &Step) -> Vec<Glob> {
    let folders = step.tool_path.iter();
    let folders = folders.filter(|folder| step.sandbox >= SandboxLevel::Files && !folder.is_root());
    let text = folders.filter_map(|folder| std::str::from_utf8(folder.as_bytes()).ok());
    let globs = text.filter_map(|text| Glob::parse(&format!("{}/**", escape(text))).ok());
    globs.collect()
}

/// Returns the selection of all these globs.
pub fn all_of(globs: &[Glob]) -> Selection {
    globs.iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_arbitrary::made::{plan, step};
    use vplan_base::index::Index as _;
    use vplan_base::vocabulary::FormatName;
    use vplan_check::confine::NetworkUse;
    use vplan_check::{Kind, Severity};

    type Row = (&'static str, fn(&mut Step));

    #[test]
    fn cache_key_sensitive() {
        let base = step("a");
        let changed = |change: fn(&mut Step)| {
            let mut other = base.clone();
            change(&mut other);
            settings(&other) != settings(&base)
        };
        let counts: [Row; 18] = [
            ("argv", |s| s.argv = Some(vec![Word::from("b")])),
            ("dir", |s| s.dir = RepoPath::parse(b"sub").unwrap()),
            ("env", |s| {
                drop(s.env.insert("A".to_owned(), Word::from("1")))
            }),
            ("exit", |s| s.exit = vec![0, 3]),
            ("skip-exit", |s| s.skip_exit = vec![77]),
            ("format", |s| s.format = Some(FormatName::Tap.into())),
            ("kind", |s| s.kind = Kind::Test),
            ("min-tests", |s| s.min_tests = Some(2)),
            ("max-warnings", |s| s.max_warnings = Some(2)),
            ("timeout", |s| s.timeout_ms = 1),
            ("produces", |s| {
                s.produces = vec![Glob::parse("dist/**").unwrap()]
            }),
            ("pass-env", |s| s.pass_env = vec!["A".to_owned()]),
            ("sandbox guard", |s| s.sandbox = SandboxLevel::Guard),
            ("sandbox files", |s| s.sandbox = SandboxLevel::Files),
            ("network loopback", |s| s.network = NetworkUse::Loopback),
            ("network off", |s| s.network = NetworkUse::Off),
            ("reads", |s| s.reads = vec!["~/.cargo".to_owned()]),
            ("writes", |s| {
                s.writes = Some(all_of(&[Glob::parse("target/**").unwrap()]))
            }),
        ];
        for (name, change) in counts {
            assert!(changed(change), "{name}");
        }
        let does_not: [Row; 8] = [
            ("who asks for its confinement", |s| {
                s.sandbox_from = Some(vplan_plan::SandboxFrom::Operator)
            }),
            ("id", |s| s.id = "z".to_owned()),
            ("describe", |s| s.describe = Some("x".to_owned())),
            ("fix", |s| s.fix = Some("x".to_owned())),
            ("tags", |s| s.tags = vec!["x".to_owned()]),
            ("severity", |s| s.severity = Severity::Warning),
            ("retries", |s| s.retries = 3),
            ("tier", |s| s.tier = 2),
        ];
        for (name, change) in does_not {
            assert!(!changed(change), "{name}");
        }
    }

    #[test]
    fn programs_of_a_tool_path_count_where_reads_are_held_to() {
        let mut own = step("a");
        own.inputs = Some(all_of(&[Glob::parse("src/**").unwrap()]));
        own.tool_path = vec![RepoPath::parse(b"to[o]ls/bin").unwrap(), RepoPath::root()];
        let tool = RepoPath::parse(b"to[o]ls/bin/lint").unwrap();
        let counts = |step: &Step| depends_on(step).iter().any(|one| one.selects(&tool));
        assert!(!counts(&own), "it may read everything");
        own.sandbox = SandboxLevel::Files;
        assert!(counts(&own));
        assert_eq!(depends_on(&own).len(), 2);
        assert!(!counts(&Step {
            inputs: None,
            ..own
        }));
    }

    #[test]
    fn all_that_comes_before() {
        let mut chain = plan(["a", "b", "c", "d"].iter().map(|id| step(id)).collect());
        chain.steps[1].after = vec!["a".into()];
        chain.steps[2].needs = vec!["b".into()];
        let order = KeyOrder::new(&chain);
        let [a, b, c, d] = [0, 1, 2, 3].map(StepIndex::new);
        assert_eq!(order.before(c), BTreeSet::from([a, b]));
        assert_eq!(order.before(d), BTreeSet::new());
        chain.steps[0].timeout_ms = 7;
        let other = KeyOrder::new(&chain);
        assert_ne!(
            order.settings_before(c),
            other.settings_before(c),
            "a step before it is another one"
        );
        assert_eq!(order.settings_before(d), other.settings_before(d));
    }

    #[test]
    fn files_are_told_apart() {
        let path = |p: &str| RepoPath::from_exact(p.as_bytes()).unwrap();
        let file = |text: &str| Print {
            content: Some(Digest::hash(text.as_bytes())),
            link: None,
            mode: 0o644,
        };
        let link = |to: &str| Print {
            content: None,
            link: Some(Word::from(to)),
            mode: 0o777,
        };
        let sets = [
            vec![],
            vec![(path("a"), file("1"))],
            vec![(path("b"), file("1"))],
            vec![(path("a"), file("2"))],
            vec![(
                path("a"),
                Print {
                    mode: 0o755,
                    ..file("1")
                },
            )],
            vec![(path("a"), link("b"))],
            vec![(path("a"), link(""))],
            vec![(
                path("a"),
                Print {
                    link: Some(Word::from("b")),
                    ..file("1")
                },
            )],
            vec![(path("a"), file("1")), (path("b"), file("1"))],
        ];
        let digests: BTreeSet<Digest> = sets
            .iter()
            .map(|s| FileSet::from_files(s.iter().map(|(p, f)| (p, f))).digest)
            .collect();
        assert_eq!(digests.len(), sets.len());
    }
}
