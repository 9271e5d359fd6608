//! Executes a try of a step remotely: sends its inputs, and takes its outputs.
//!
//! INVARIANT (no answer, no pass): a try counts only by an answer with its nonce and the digest of
//! its order. Files that the step left are accepted only with the content that the answer lists.

mod back;
mod files;
mod folder;
mod lost;
mod outputs;
#[cfg(feature = "remote")]
mod reapi;

use back::Back;
pub use back::{ANSWER, LOG, OUT, WORK};
use files::{SentFiles, given};
pub use folder::FolderTransport;
use lost::Lost;
use outputs::take;
#[cfg(feature = "remote")]
pub use reapi::{ReapiSettings, ReapiTransport, UnusableServer};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};
use vplan_away::answer::{NoRemoteAnswer, StepAnswer};
use vplan_away::order::{MANY_FILES, OrderTerms, SentOrder, WorkOrder};
use vplan_away::seat::{SeatReason, seats};
use vplan_base::canon::Digest;
use vplan_base::word::visible;
use vplan_check::confine::{Confined, InputsBasis};
use vplan_check::environment::Withheld;
use vplan_check::evidence::{SpawnError, UNANSWERED};
use vplan_git::snapshot::Snapshot;
use vplan_os::environment::{Environment, StepEnvironment};
use vplan_os::files::beneath::Beneath;
use vplan_os::process::attempt::AttemptResult;
use vplan_os::process::program::Root;
use vplan_os::process::stop::{StopLevel, StopRequest};
use vplan_os::stat_cache::StatCacheStats;
use vplan_plan::{Note, Plan, Step};
use vplan_run::record::{Place, ProgramRecord};

/// The tries with an order of their own before a step counts as unanswered.
const MOST_ORDERS: u32 = 2;

/// The transport of remote tries.
#[derive(Debug)]
pub enum Transport {
    /// Folders, in which a vplan is started.
    Folder(FolderTransport),
    /// A server of the Remote Execution API.
    #[cfg(feature = "remote")]
    Reapi(Box<ReapiTransport>),
}

impl Transport {
    /// Carries an order.
    fn carry(
        &self,
        sent: &SentOrder<'_>,
        beneath: &Beneath,
        own: &StepEnvironment,
        stop: &StopRequest,
        began: &dyn Fn(),
    ) -> Result<Back<'_>, Lost> {
        match self {
            Transport::Folder(folder) => folder.carry(sent, beneath, own, stop, began),
            #[cfg(feature = "remote")]
            Transport::Reapi(server) => server.carry(sent, beneath, stop, began),
        }
    }

    /// Returns the reason why nothing is sent, if it is known at the start.
    fn down(&self) -> Option<&str> {
        match self {
            Transport::Folder(_) => None,
            #[cfg(feature = "remote")]
            Transport::Reapi(server) => server.down(),
        }
    }

    /// Returns the operator's settings that the report should mention.
    fn remarks(&self) -> Vec<(&'static str, String)> {
        match self {
            Transport::Folder(_) => Vec::new(),
            #[cfg(feature = "remote")]
            Transport::Reapi(server) => server.remarks(),
        }
    }
}

/// The remote execution of steps.
pub struct RemoteExecution<'a> {
    root: &'a Root,
    beneath: Beneath,
    environment: &'a Environment,
    transport: &'a Transport,
    /// Maximum number of steps in parallel.
    pub most: usize,
    /// Whether a step without an answer is executed here.
    pub fall_back: bool,
    notes: Mutex<BTreeSet<(&'static str, String)>>,
    /// Known digests of files.
    stats: Mutex<StatCacheStats>,
}

/// The parameters of one try.
pub struct Sent<'s> {
    pub step: &'s Step,
    /// The digest of the plan.
    pub plan: &'s Digest,
    /// Its limit in milliseconds.
    pub limit_ms: u64,
    /// Limit of the output in the log, in bytes.
    pub max_output: u64,
    /// By which it is stopped.
    pub stop: &'s StopRequest,
    /// The content of the tree, if it is known.
    pub tree: Option<&'s Snapshot>,
    /// Keeps the log.
    pub keep_log: &'s dyn Fn(&std::path::Path) -> io::Result<()>,
    /// Called when it has begun there.
    pub began: &'s dyn Fn(),
}

/// The outcome of a remote try.
#[derive(Debug)]
pub struct CameBack {
    /// Its evidence, and further facts that the runner has.
    pub tried: AttemptResult,
    /// How it was confined.
    pub confined: Option<Confined>,
    /// The evidence that it depends on its `inputs` alone.
    pub inputs: Option<InputsBasis>,
    /// The place where it was executed, or why it must be this machine.
    pub place: Place,
    /// The program that was started there.
    pub program: Option<ProgramRecord>,
    /// Variables that it requested and did not get.
    pub withheld: Vec<Withheld>,
}

/// The place of a step without an answer from elsewhere.
fn place_unanswered(why: &dyn std::fmt::Display) -> Place {
    Place::local(format!("there was no answer from elsewhere: {why}"))
}

impl<'a> RemoteExecution<'a> {
    /// Makes it for one run. `stats`: known digests of files.
    ///
    /// # Errors
    /// The repository's root cannot be opened.
    pub fn new(
        root: &'a Root,
        environment: &'a Environment,
        transport: &'a Transport,
        (most, fall_back): (usize, bool),
        stats: StatCacheStats,
    ) -> io::Result<Self> {
        Ok(Self {
            root,
            beneath: Beneath::open(root.path())?,
            environment,
            transport,
            most,
            fall_back,
            notes: Mutex::new(transport.remarks().into_iter().collect()),
            stats: Mutex::new(stats),
        })
    }

    /// Returns for each step of a plan, in plan order, why it is executed here; `None` if it is
    /// not.
    pub fn seats(&self, plan: &Plan) -> Vec<Option<SeatReason>> {
        seats(plan, &|step| {
            self.environment
                .kept_here(self.root, step.environment_request())
        })
    }

    /// If no step is sent, returns the place for all steps, with the reason.
    pub fn down(&self) -> Option<Place> {
        self.transport.down().map(|why| place_unanswered(&why))
    }

    /// Returns the remarks for the report's reader.
    pub fn notes(&self) -> Vec<Note> {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let note = |(kind, message): &(&str, String)| Note::new(kind, message.clone());
        notes.iter().map(note).collect()
    }

    fn note(&self, kind: &'static str, message: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.insert((kind, message));
    }

    /// Executes a try elsewhere. Takes as long as that does, or until it is stopped.
    pub fn execute(&self, sent: &Sent<'_>) -> CameBack {
        let environment = self
            .environment
            .of_step(self.root, sent.step.environment_request());
        let (mut orders, mut why) = (0, String::new());
        while orders < MOST_ORDERS && sent.stop.level() == StopLevel::Not {
            orders += 1;
            match self.try_once(sent, &environment) {
                Ok(mut came) => {
                    came.place.orders = Some(orders);
                    came.withheld = environment.withheld;
                    return came;
                }
                Err(Lost::Again(lost)) => why = lost,
                Err(Lost::Never(lost)) => {
                    why = lost;
                    break;
                }
            }
        }
        if sent.stop.level() != StopLevel::Not {
            why = "it was stopped".to_owned();
        }
        CameBack {
            tried: AttemptResult::refused(unanswered(&why), None),
            confined: None,
            inputs: None,
            place: place_unanswered(&why),
            program: None,
            withheld: environment.withheld,
        }
    }

    fn try_once(&self, sent: &Sent<'_>, environment: &StepEnvironment) -> Result<CameBack, Lost> {
        let step = sent.step;
        let id = visible(step.id.as_bytes());
        let given = {
            let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
            let search = &environment.search;
            given(self.root, &self.beneath, step, search, &mut stats)
        };
        let SentFiles { prints, sizes } = given?;
        if prints.len() > MANY_FILES {
            let count = prints.len();
            let message = format!(
                "`{id}` is sent with {count} files, which costs each of its tries time: fewer `inputs` do not"
            );
            self.note("large-root", message);
        }
        let mut nonce = [0; 16];
        rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty())
            .map_err(io::Error::from)?;
        let carried = self.environment.carried(environment);
        let terms = OrderTerms {
            files: prints,
            limit_ms: sent.limit_ms,
            max_output: sent.max_output,
            nonce,
            plan: sent.plan.clone(),
            variables: carried,
        };
        let order = WorkOrder::new(step, terms);
        let own = self.environment.of_service(self.root, &Default::default());
        let text = order.encode();
        let digest = Digest::hash(text.as_bytes());
        let carried = SentOrder {
            order: &order,
            text: &text,
            digest: &digest,
            sizes: &sizes,
        };
        let back = (self.transport).carry(&carried, &self.beneath, &own, sent.stop, sent.began)?;
        let answer = StepAnswer::decode_named(&back.answer, &order, &digest);
        let answer = answer.map_err(|wrong| match wrong {
            NoRemoteAnswer::Version(_) => Lost::Never(wrong.to_string()),
            _ => Lost::Again(wrong.to_string()),
        })?;
        let out = back.out(&answer.products, sent.stop)?;
        take(self.root, &out, &answer.products)?;
        if step.accepts(answer.evidence.exit) {
            for path in files::stale(self.root, &self.beneath, step, &answer.products) {
                let message =
                    format!("`{path}`, which `{id}` produces, was there before and was not made");
                self.note("stale-product", message);
            }
        }
        let log_error = answer.logged.then(|| (sent.keep_log)(&back.log()));
        let log_error = log_error.and_then(Result::err);
        Ok(came_back(
            answer,
            sent,
            (back.engine, back.worker),
            log_error,
        ))
    }
}

/// Reads an answer as if the try had been made here.
fn came_back(
    answer: StepAnswer,
    sent: &Sent<'_>,
    (engine, worker): (&str, Option<String>),
    log_error: Option<io::Error>,
) -> CameBack {
    let StepAnswer {
        changed,
        confined,
        mut evidence,
        inputs,
        logged,
        platform,
        program,
        survivors,
        ..
    } = answer;
    // Only its copy was changed there. Here it would have changed the tree.
    let is_held = |path: &_| sent.tree.is_some_and(|tree| tree.holds(path));
    evidence.mutated = (evidence.mutated).or_else(|| changed.into_iter().find(is_held));
    let has_started = evidence.spawn_error.is_none();
    CameBack {
        tried: AttemptResult {
            evidence,
            logged: logged && log_error.is_none(),
            log_error,
            survivors,
            has_started,
            ..AttemptResult::default()
        },
        confined,
        inputs,
        place: Place {
            engine: engine.to_owned(),
            orders: None,
            platform: Some(visible(platform.as_bytes())),
            reason: None,
            worker,
        },
        program,
        withheld: Vec::new(),
    }
}

/// Makes the error for a try without a valid answer.
fn unanswered(why: &str) -> SpawnError {
    SpawnError {
        code: UNANSWERED.to_owned(),
        message: format!("no answer that counts came from where it was sent: {why}"),
    }
}
