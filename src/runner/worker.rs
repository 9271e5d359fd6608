//! Executes a step that another vplan has ordered: `vplan step`.

use crate::context::Context;
use crate::executor::{DriveError, Driver, Executor as _, ExecutorMessage};
use crate::remote::{ANSWER, LOG, OUT, WORK};
use crate::sandbox::{Sandbox, missing};
use crate::step::Finished;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vplan_away::answer::{LeftFile, StepAnswer};
use vplan_away::order::{MOST, NoOrder, VERSION, WorkOrder};
use vplan_base::path::RepoPath;
use vplan_check::evidence::Evidence;
use vplan_os::environment::Environment;
use vplan_os::files::beneath::Beneath;
use vplan_os::files::{make_folders, publish, read_plain, walk};
use vplan_os::process::attempt::unconfined;
use vplan_os::process::program::{Root, message_of};
use vplan_os::stat_cache::StatStamp;
use vplan_plan::Plan;
use vplan_reuse::key::Print;
use vplan_reuse::shared::portable;
use vplan_run::event::{Event, Interrupt};
use vplan_run::record::ProgramRecord;
use vplan_run::state::{RunState, StateBeginning};
use vplan_store::reuse::content::digest;

/// The folder for the log as long as the step runs.
const LOGS: &str = "logs";

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// The order cannot be read, or is invalid.
    #[error("{0}")]
    NoOrder(String),
    /// There is an answer already.
    #[error("there is an answer already: `{}`", .0.display())]
    Answered(PathBuf),
    /// The step cannot be executed here.
    #[error("{0}")]
    Unable(String),
    /// It received a signal to end.
    #[error("it was stopped")]
    Stopped(Interrupt),
}

impl From<io::Error> for Unanswered {
    fn from(error: io::Error) -> Self {
        Unanswered::Unable(message_of(&error))
    }
}

impl From<DriveError> for Unanswered {
    fn from(error: DriveError) -> Self {
        Unanswered::Unable(error.to_string())
    }
}

/// Executes the step of an order, and writes the answer. `order`: the file. Next to it is the
/// folder `work` with the files of the step.
///
/// # Errors
/// No answer was written.
pub fn execute(order: &Path) -> Result<(), Unanswered> {
    let no_order = |why: String| Unanswered::NoOrder(why);
    let bytes = read_plain(order, MOST);
    let bytes =
        bytes.map_err(|e| no_order(format!("`{}` cannot be read: {e}", order.display())))?;
    let file = order.canonicalize()?;
    let base = file.parent().and_then(Path::parent);
    let base = base.ok_or_else(|| no_order("it lies in no folder of a try".to_owned()))?;
    let order = WorkOrder::decode(&bytes).map_err(|e: NoOrder| no_order(e.to_string()))?;
    let place = base.join(ANSWER);
    if place.symlink_metadata().is_ok() {
        return Err(Unanswered::Answered(place));
    }
    let answer = answer(&order, base)?;
    publish(&place, answer.encode().as_bytes())?;
    Ok(())
}

fn answer(order: &WorkOrder, base: &Path) -> Result<StepAnswer, Unanswered> {
    let root = Root::open(&base.join(WORK))?;
    let beneath = Beneath::open(root.path())?;
    let given = given(order, &beneath)?;
    let Tried { evidence, finished } = tried(order, &root, base)?;
    let changed = changed(order, &beneath, &given);
    let ended_well = order.step.accepts(evidence.exit);
    let products = left(order, root.path(), &base.join(OUT), ended_well)?;
    let log = finished.log.as_ref();
    if let Some(log) = log {
        std::fs::rename(base.join(LOGS).join(log), base.join(LOG))?;
    }
    let program = finished.program.as_ref();
    Ok(StepAnswer {
        changed,
        confined: finished.confined,
        evidence,
        inputs: finished.inputs,
        logged: log.is_some(),
        nonce: order.nonce.clone(),
        order: order.digest(),
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        products,
        program: program.map(|program| ProgramRecord {
            digest: program.digest(),
            path: vplan_base::word::Word::new(program.path.as_os_str().as_bytes()),
            size: program.size,
        }),
        survivors: finished.survivors,
        version: VERSION,
        vplan: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// The times of the input files, by path; `None` for a symlink.
type Given = BTreeMap<RepoPath, Option<StatStamp>>;

/// Checks that all files of the order are there.
fn given(order: &WorkOrder, beneath: &Beneath) -> Result<Given, Unanswered> {
    let mut given = Given::new();
    for (path, print) in &order.files {
        let stamp = beneath.status(path).ok().map(|stat| StatStamp::from(&stat));
        let is_there = match &print.link {
            Some(target) => beneath.link(path).as_deref() == Some(target.as_bytes()),
            None => stamp.is_some() && beneath.link(path).is_none(),
        };
        if !is_there {
            let why = format!("`{path}` did not arrive with the order");
            return Err(Unanswered::Unable(why));
        }
        given.insert(path.clone(), stamp.filter(|_| print.link.is_none()));
    }
    Ok(given)
}

/// Returns the files of the order that are not as they were.
fn changed(order: &WorkOrder, beneath: &Beneath, given: &Given) -> Vec<RepoPath> {
    let is_as_given = |path: &RepoPath, print: &Print| {
        if let Some(target) = &print.link {
            return beneath.link(path).as_deref() == Some(target.as_bytes());
        }
        let now = beneath.status(path).ok().map(|stat| StatStamp::from(&stat));
        beneath.link(path).is_none()
            && (now.is_some() && given.get(path) == Some(&now)
                || print_of(beneath, path).is_ok_and(|now| now == *print))
    };
    let files = order.files.iter();
    let changed = files.filter(|(path, print)| !is_as_given(path, print));
    changed.map(|(path, _)| path.clone()).collect()
}

fn print_of(beneath: &Beneath, path: &RepoPath) -> io::Result<Print> {
    if let Some(target) = beneath.link(path) {
        return Ok(Print {
            content: None,
            link: Some(vplan_base::word::Word::new(target)),
            mode: 0o644,
        });
    }
    let file = beneath.file(path).map_err(io::Error::other)?;
    let mode = file.metadata()?.permissions().mode();
    let (digest, _) = digest(file)?;
    Ok(portable(&Print {
        content: Some(digest),
        link: None,
        mode,
    }))
}

/// Moves the outputs of the step to the place where they are fetched.
fn left(
    order: &WorkOrder,
    work: &Path,
    out: &Path,
    ended_well: bool,
) -> Result<Vec<LeftFile>, Unanswered> {
    let beneath = Beneath::open(work)?;
    let mut left = Vec::new();
    let files = walk(work, &RepoPath::root())?;
    for path in files
        .into_iter()
        .filter(|path| order.may_leave(path, ended_well))
    {
        let from = work.join(path.to_os());
        let metadata = from.symlink_metadata()?;
        // Only files and links can be transferred.
        if !metadata.is_file() && !metadata.is_symlink() {
            continue;
        }
        let print = print_of(&beneath, &path)?;
        let size = if print.link.is_some() {
            0
        } else {
            metadata.len()
        };
        let to = out.join(path.to_os());
        to.parent().map_or(Ok(()), make_folders)?;
        std::fs::rename(&from, &to)?;
        left.push(LeftFile { path, print, size });
    }
    Ok(left)
}

struct Tried {
    evidence: Evidence,
    finished: Finished,
}

/// Tries the step, as every step is.
fn tried(order: &WorkOrder, root: &Root, base: &Path) -> Result<Tried, Unanswered> {
    let own = std::env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec()));
    let environment = Environment::of_sent(root, own, &order.step.pass_env, &order.variables);
    let asked = order.step.confinement();
    if let Some((_, why)) = missing(asked).into_iter().next() {
        return Ok(Tried {
            evidence: Evidence {
                spawn_error: Some(unconfined(&why)),
                ..Evidence::default()
            },
            finished: Finished::default(),
        });
    }
    let home = environment_home();
    let sandbox = (!asked.is_none())
        .then(|| Sandbox::new(root.path(), BTreeSet::new(), &[base], home.as_deref()));
    let logs = base.join(LOGS);
    std::fs::create_dir_all(&logs)?;
    let logs = std::fs::File::open(&logs)?;
    let context = Context {
        logs: Some(rustix::fd::AsFd::as_fd(&logs)),
        max_output: order.max_output,

        sandbox: sandbox.as_ref(),
        ..Context::new(root, &environment)
    };
    let plan = Arc::new(Plan::of_steps(vec![order.step.clone()]));
    let mut driver = Driver::new(None, false)?;
    let (mut state, first) = RunState::begin(Arc::clone(&plan), StateBeginning::default());
    let (mut last, mut stopped) = (None, None);
    driver.drive(&plan, &context, first, &mut |message| match message {
        ExecutorMessage::Event(event, finished) => {
            match (&event, finished) {
                (Event::Finished { evidence, .. }, Some(finished)) => {
                    last = Some(((**evidence).clone(), finished.clone()));
                }
                (Event::Interrupt { signal, .. }, _) => {
                    stopped.get_or_insert(*signal);
                }
                _ => {}
            }
            state.handle(event)
        }
        _ => Vec::new(),
    })?;
    match (stopped, last) {
        (Some(signal), _) => Err(Unanswered::Stopped(signal)),
        (None, Some((evidence, finished))) => match &finished.log_error {
            Some(why) => Err(Unanswered::Unable(why.clone())),
            None => Ok(Tried { evidence, finished }),
        },
        (None, None) => Err(Unanswered::Unable("the step did not start".to_owned())),
    }
}

fn environment_home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}
