//! The parameters that all steps of a run share.

use crate::judge::JudgeRunner;
use crate::remote::RemoteExecution;
use crate::reports::Aside;
use crate::sandbox::Sandbox;
use crate::snapshots::RunSnapshots;
use rustix::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;
use vplan_git::Git;
use vplan_os::environment::Environment;
use vplan_os::files::beneath::Beneath;
use vplan_os::process::program::Root;
use vplan_store::reuse::RunCache;

/// The parameters that all steps share.
pub struct Context<'a> {
    pub root: &'a Root,
    /// The environment that steps are given.
    pub environment: &'a Environment,
    /// The folder for logs, if there is a record.
    pub logs: Option<BorrowedFd<'a>>,
    /// Limit of a step's output in its log, in bytes (`--max-output`).
    pub max_output: u64,
    /// The files of the repository, for `file` checks and for the identity of findings.
    pub beneath: Option<&'a Beneath>,
    /// Its git, if it has one.
    pub git: Option<&'a Git>,
    /// Where reports of earlier runs are moved, if that is allowed.
    pub aside: Option<&'a Arc<Aside>>,

    /// The snapshots of the tree, if any are taken.
    pub looks: Option<&'a RunSnapshots>,
    /// Results of earlier runs, if they may be used.
    pub recall: Option<&'a RunCache<'a>>,
    /// The judge that answers the questions of `judge` checks, if there is one.
    pub judge: Option<&'a JudgeRunner<'a>>,
    /// The standard input of steps, if that is not empty. A judge reads its question there.
    pub input: Option<&'a [u8]>,
    /// The interval of ticks while something runs; never without.
    pub tick: Option<Duration>,
    /// Whether steps are observed (`--observe`): the effects of each try are written next to its
    /// log.
    pub observe: bool,
    /// The sandbox for steps with confinement.
    pub sandbox: Option<&'a Sandbox>,
    /// The remote execution, if it is available.
    pub away: Option<&'a RemoteExecution<'a>>,
}

impl<'a> Context<'a> {
    /// Makes parameters without a cache, a judge and logs.
    pub fn new(root: &'a Root, environment: &'a Environment) -> Self {
        Self {
            root,
            environment,
            logs: None,
            max_output: 0,
            beneath: None,
            git: None,
            aside: None,

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
