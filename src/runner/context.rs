//! The parameters that all steps of a run share.

use crate::away::Away;
use crate::file_watch::{Looked, Watch};
use crate::judge::Judge;
use crate::looks::Looks;
use crate::sandbox::Sandbox;
use rustix::fd::BorrowedFd;
use std::time::Duration;
use vplan_check::evidence::Evidence;
use vplan_check::reading::{Identity, Reading};
use vplan_os::environment::Environment;
use vplan_os::process::program::Root;
use vplan_plan::Step;
use vplan_store::reuse::Recall;

/// The parameters that all steps share.
pub struct Context<'a> {
    /// The repository.
    pub root: &'a Root,
    /// The environment that steps are given.
    pub environment: &'a Environment,
    /// The folder for logs, if there is a record.
    pub logs: Option<BorrowedFd<'a>>,
    /// The most bytes of a step's output that its log keeps (`--max-output`).
    pub max_output: u64,
    /// Makes the evidence of a step that starts nothing (`file`). Called on the step's thread;
    /// must start no process that leaves its session.
    pub evaluate: &'a (dyn Fn(&Step) -> Evidence + Sync),
    /// Makes the fingerprints of what a step has found. Called behind each try.
    pub identify: &'a (dyn Fn(&Step, &Reading) -> Vec<Identity> + Sync),
    /// Called before each try of a step that is watched; the returned function is called after the
    /// try.
    pub watch: &'a (dyn Fn(&Step) -> Watch + Sync),
    /// The snapshots of the tree, if any are taken.
    pub looks: Option<&'a Looks>,
    /// Results of earlier runs, if they may be used.
    pub recall: Option<&'a Recall<'a>>,
    /// The judge that answers the questions of `judge` checks, if there is one.
    pub judge: Option<&'a Judge<'a>>,
    /// The standard input of steps, if that is not empty. A judge reads its question there.
    pub input: Option<&'a [u8]>,
    /// The interval of ticks while something runs; never without.
    pub tick: Option<Duration>,
    /// Whether steps are observed (`--observe`): what each try of one was seen to do is written
    /// beside its log.
    pub observe: bool,
    /// What confines steps that are to be confined.
    pub sandbox: Option<&'a Sandbox>,
    /// What executes steps elsewhere, if some may be.
    pub away: Option<&'a Away<'a>>,
}

impl<'a> Context<'a> {
    /// Makes the parameters of steps that are not watched, recalled or judged, and keep no logs.
    #[must_use]
    pub fn new(root: &'a Root, environment: &'a Environment) -> Self {
        Self {
            root,
            environment,
            logs: None,
            max_output: 0,
            evaluate: &|_| Evidence::default(),
            identify: &|_, _| Vec::new(),
            watch: &|_| Box::new(|_| Looked::default()),
            looks: None,
            recall: None,
            judge: None,
            input: None,
            tick: None,
            observe: false,
            sandbox: None,
            away: None,
        }
    }
}
