//! Decides whether an earlier pass replaces a step, at this point of this run.

use super::entry::KeptPass;
use super::key::{KeyOrder, Parts, Print, all_of, depends_on};
use std::collections::BTreeSet;
use vplan_base::glob::automaton::{AutomatonLimits, Region, atoms};
use vplan_base::glob::overlap::overlaps;
use vplan_base::index::Index as _;
use vplan_base::path::RepoPath;
use vplan_base::word::visible;
use vplan_check::Kind;
use vplan_check::difference::{Difference, DifferenceKind, FileChange};
use vplan_plan::{Plan, Step, StepIndex};

/// The use of earlier results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Use {
    /// They replace steps.
    #[default]
    Reuse,
    /// Every step runs; passes are cached for later (`--no-cache`, and rounds that count towards
    /// more than one confirmation).
    Keep,
    /// Every step runs, and is compared with the pass that would have replaced it (`--confirm`).
    Confirm,
}

/// The reason why no earlier pass replaces a step. Safe to print.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoReuseReason {
    /// The step has no `inputs`.
    #[error("it has no `inputs`")]
    NoInputs,
    /// It is run for its effect.
    #[error("{0}")]
    Never(&'static str),
    /// It was tried before in this run.
    #[error("it was tried before in this run")]
    Again,
    /// An earlier step of the plan may remove its outputs.
    #[error("`{0}` before it cleans what it produces")]
    Cleaned(String),
    /// A step before it ran, and may have changed files that no `inputs` name.
    #[error("`{0}` before it ran, and not all that it may have made is among the inputs")]
    Ran(String),
    /// Its inputs cannot be read reliably.
    #[error("{0}")]
    Unsteady(String),
    /// The caller requests a run.
    #[error("earlier results are not used in this run")]
    NotWanted,
    /// No earlier pass is stored.
    #[error("there is no earlier pass of it")]
    Unknown,
    /// There is one, with another key.
    #[error("since its last pass, {0}")]
    Differs(Difference),
    /// It passed with files that others had left, and changed them.
    #[error(
        "its last pass began with `{0}` as another run left it, and changed it: it passes once more"
    )]
    Inherited(RepoPath),
    /// A file that it writes counts as a change of the tree now.
    #[error("`{0}`, which it writes, is no file that git ignores")]
    NotIgnored(RepoPath),
    /// The cached entry is damaged.
    #[error("what was kept of an earlier pass is damaged")]
    Damaged,
    /// One of its products is missing or different.
    #[error("`{0}`, which it made when it passed, is not as it was")]
    Product(RepoPath),
}

impl NoReuseReason {
    /// Returns the difference from its last cached pass, if that is the reason.
    pub fn difference(&self) -> Option<Difference> {
        let file = |path: &RepoPath| Difference::file(FileChange::Changed, path.as_bytes());
        match self {
            NoReuseReason::Differs(difference) => Some(difference.clone()),
            NoReuseReason::Ran(step) | NoReuseReason::Cleaned(step) => {
                Some(Difference::with_name(DifferenceKind::Step, step.as_bytes()))
            }
            NoReuseReason::Inherited(path)
            | NoReuseReason::NotIgnored(path)
            | NoReuseReason::Product(path) => Some(file(path)),
            NoReuseReason::NoInputs
            | NoReuseReason::Never(_)
            | NoReuseReason::Again
            | NoReuseReason::Unsteady(_)
            | NoReuseReason::NotWanted
            | NoReuseReason::Unknown
            | NoReuseReason::Damaged => None,
        }
    }
}

/// The steps of this run so far.
#[derive(Clone, Debug, Default)]
pub struct RunSoFar {
    /// Ids of steps that started a process.
    pub ran: BTreeSet<String>,
    /// Ids of steps that were considered before, under any plan of this run.
    pub tried: BTreeSet<String>,
}

/// Checks whether an earlier pass can replace a step at all.
///
/// # Errors
/// The reason why no pass can.
pub fn eligible(step: &Step) -> Result<(), NoReuseReason> {
    if step.inputs.is_none() {
        return Err(NoReuseReason::NoInputs);
    }
    if step.argv.is_none() || matches!(step.kind, Kind::File | Kind::Judge) {
        return Err(NoReuseReason::Never("only commands are reused"));
    }
    if step.setup {
        return Err(NoReuseReason::Never(
            "a `setup` step prepares more than its inputs say",
        ));
    }
    if !step.cleans.is_empty() {
        return Err(NoReuseReason::Never("a step that cleans is there to run"));
    }
    if step.is_writer() {
        return Err(NoReuseReason::Never(
            "a step that may change the tree is there to run",
        ));
    }
    if !step.with.is_empty() {
        return Err(NoReuseReason::Never(
            "a step beside a service depends on more than its inputs say",
        ));
    }
    if step.always {
        return Err(NoReuseReason::Never("an `always` step is there to run"));
    }
    let hidden = [".git", ".vplan"];
    let texts = depends_on(step)
        .into_iter()
        .flat_map(|s| s.items)
        .filter(|i| !i.not);
    let mut open: Vec<_> = texts.map(|i| i.what).collect();
    while let Some(what) = open.pop() {
        match what {
            vplan_base::glob::ItemContent::Glob(glob) => {
                // Inputs never include these folders: git and vplan write to them all the time.
                if glob
                    .text()
                    .split(['/', '{', '}', ','])
                    .any(|segment| hidden.contains(&segment))
                {
                    return Err(NoReuseReason::Never(
                        "what is in `.git` and `.vplan` cannot be followed",
                    ));
                }
            }
            vplan_base::glob::ItemContent::Paths { items, .. } => {
                open.extend(
                    items
                        .items
                        .iter()
                        .filter(|i| !i.not)
                        .map(|i| i.what.clone()),
                );
            }
        }
    }
    Ok(())
}

/// Checks whether the plan and this run so far allow an earlier pass of a step. `order` is the
/// plan's.
///
/// # Errors
/// The reason why they do not.
pub fn barrier(
    plan: &Plan,
    order: &KeyOrder,
    index: StepIndex,
    past: &RunSoFar,
) -> Result<(), NoReuseReason> {
    let step = plan.step(index);
    eligible(step)?;
    if past.tried.contains(&step.id) {
        return Err(NoReuseReason::Again);
    }
    let cleans = |other: &&Step| {
        other
            .cleans
            .iter()
            .any(|c| step.produces.iter().any(|p| overlaps(c, p)))
    };
    if let Some(other) = plan.steps.iter().take(index.position()).find(cleans) {
        return Err(NoReuseReason::Cleaned(visible(&other.id)));
    }
    let before = order.bound_before(index);
    let steps = before.iter().map(|i| plan.step(*i));
    let mut ran = steps.filter(|s| past.ran.contains(&s.id));
    match ran.find(|s| !makes_only_inputs(s, step)) {
        Some(other) => Err(NoReuseReason::Ran(visible(&other.id))),
        None => Ok(()),
    }
}

/// Whether a step declares its outputs, and another depends on all of them. Undecided counts as no.
pub fn makes_only_inputs(maker: &Step, user: &Step) -> bool {
    if maker.produces.is_empty() {
        return false;
    }
    let made = all_of(&maker.produces);
    let inputs = depends_on(user);
    let regions: Vec<Region<'_>> = std::iter::once(&made)
        .chain(&inputs)
        .map(Region::Selected)
        .collect();
    let limits = AutomatonLimits {
        states: 20_000,
        atoms: 4_096,
        nodes: 4_096,
    };
    let Some(atoms) = atoms(&regions, &limits) else {
        return false;
    };
    atoms.iter().all(|atom| match atom.inside.as_slice() {
        [true, inputs @ ..] => inputs.contains(&true),
        _ => true,
    })
}

/// Checks whether an earlier pass replaces a step with these parts. `product` reads a file that the
/// step made; `is_ignored`: whether git ignores a file, and tracks none at its path.
///
/// # Errors
/// The reason why it does not.
pub fn replaces(
    step: &Step,
    parts: &Parts,
    entry: &KeptPass,
    mut product: impl FnMut(&RepoPath) -> Option<Print>,
    is_ignored: impl Fn(&RepoPath) -> bool,
) -> Result<(), NoReuseReason> {
    if entry.key != parts.key() || entry.parts != *parts {
        return Err(NoReuseReason::Unknown);
    }
    // It would write them again.
    if let Some(path) = entry.wrote.iter().find(|path| !is_ignored(path)) {
        return Err(NoReuseReason::NotIgnored(path.clone()));
    }
    if !step.produces.is_empty() && entry.products.is_empty() {
        return Err(NoReuseReason::Unsteady(
            "it made nothing of what it `produces`".to_owned(),
        ));
    }
    match entry
        .products
        .iter()
        .find(|p| product(&p.path).as_ref() != Some(&p.print))
    {
        Some(other) => Err(NoReuseReason::Product(other.path.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_arbitrary::made::{plan, step};
    use vplan_base::glob::{Glob, Selection};
    use vplan_base::service::Service;

    fn globs(list: &[&str]) -> Vec<Glob> {
        list.iter().map(|g| Glob::parse(g).unwrap()).collect()
    }

    fn select(list: &[&str]) -> Option<Selection> {
        Some(all_of(&globs(list)))
    }

    fn barrier_of(plan: &Plan, index: usize, past: &RunSoFar) -> Result<(), NoReuseReason> {
        barrier(plan, &KeyOrder::new(plan), StepIndex::new(index), past)
    }

    type Row = (&'static str, fn(&mut Step), bool);

    #[test]
    fn what_is_never_reused() {
        let with = |change: fn(&mut Step)| {
            let mut one = step("a");
            one.inputs = select(&["src/**"]);
            change(&mut one);
            eligible(&one).is_ok()
        };
        let rows: [Row; 13] = [
            ("plain", |_| {}, true),
            ("shell", |s| s.kind = Kind::Shell, true),
            ("no inputs", |s| s.inputs = None, false),
            ("setup", |s| s.setup = true, false),
            ("with", |s| s.with = vec![Service::default()], false),
            ("always", |s| s.always = true, false),
            ("cleans", |s| s.cleans = globs(&["dist/**"]), false),
            ("file", |s| s.kind = Kind::File, false),
            ("judge", |s| s.kind = Kind::Judge, false),
            ("no command", |s| s.argv = None, false),
            (
                "git's folder",
                |s| s.inputs = select(&["src/**", ".git/HEAD"]),
                false,
            ),
            ("our folder", |s| s.inputs = select(&[".vplan/**"]), false),
            (
                "not git's folder",
                |s| s.inputs = select(&[".github/**"]),
                true,
            ),
        ];
        for (name, change, want) in rows {
            assert_eq!(with(change), want, "{name}");
        }
    }

    #[test]
    fn the_past_counts() {
        let (mut a, mut b, mut c) = (step("a"), step("b"), step("c"));
        a.produces = globs(&["gen/**"]);
        b.after = vec!["a".into()];
        b.inputs = select(&["src/**"]);
        c.after = vec!["b".into()];
        c.inputs = select(&["src/**", "gen/**"]);
        let plan = plan(vec![a, b, c]);
        let past = |ran: &[&str]| RunSoFar {
            ran: ran.iter().map(|s| (*s).to_owned()).collect(),
            ..RunSoFar::default()
        };
        let ran = |id: &str| Err(NoReuseReason::Ran(id.to_owned()));
        for (index, ran_before, want) in [
            (0, &[][..], Err(NoReuseReason::NoInputs)),
            (1, &[], Ok(())),
            (1, &["a"], ran("a")),
            (2, &["a"], Ok(())),
            (2, &["b"], ran("b")),
            (2, &["a", "b"], ran("b")),
        ] {
            assert_eq!(
                barrier_of(&plan, index, &past(ran_before)),
                want,
                "{index} {ran_before:?}"
            );
        }
        let mut narrower = plan.clone();
        narrower.steps[2].inputs = select(&["src/**", "gen/*.c"]);
        assert_eq!(
            barrier_of(&narrower, 2, &past(&["a"])),
            ran("a"),
            "only a part of what it made"
        );
        narrower.steps[2].requires = globs(&["gen"]);
        assert_eq!(
            barrier_of(&narrower, 2, &past(&["a"])),
            ran("a"),
            "`gen/**` is more than `gen` and `gen/*.c`"
        );
        narrower.steps[2].requires = globs(&["gen/**"]);
        assert_eq!(
            barrier_of(&narrower, 2, &past(&["a"])),
            Ok(()),
            "what it requires counts as well"
        );
        let again = RunSoFar {
            tried: BTreeSet::from(["c".to_owned()]),
            ..RunSoFar::default()
        };
        assert_eq!(barrier_of(&plan, 2, &again), Err(NoReuseReason::Again));
    }

    #[test]
    fn who_cleans_first() {
        let (mut clean, mut build) = (step("clean"), step("build"));
        clean.cleans = globs(&["dist/**"]);
        build.produces = globs(&["dist/app"]);
        build.inputs = select(&["src/**"]);
        let before = plan(vec![clean.clone(), build.clone()]);
        assert_eq!(
            barrier_of(&before, 1, &RunSoFar::default()),
            Err(NoReuseReason::Cleaned("clean".to_owned()))
        );
        let after = plan(vec![build.clone(), clean.clone()]);
        assert_eq!(barrier_of(&after, 0, &RunSoFar::default()), Ok(()));
        clean.cleans = globs(&["target/**"]);
        assert_eq!(
            barrier_of(&plan(vec![clean, build]), 1, &RunSoFar::default()),
            Ok(())
        );
    }
}
