//! `vplan loop`: verify, have somebody repair what failed, verify again, until there is a decision.
//!
//! The fixer is not believed. What it says and how it ends decides nothing; and between its turn and the next verification the loop
//! makes sure that the same is asked for as before.

use super::run::{Once, Round, grants, once};
use super::{command, format};
use crate::base::canon::{Digest, to_canonical};
use crate::base::command::Env;
use crate::base::unit::show_duration;
use crate::base::word::{Word, visible};
use crate::cli::args::{Allowed, Format, Global, Run, duration};
use crate::cli::error::Failure;
use crate::cli::propose::words;
use crate::cli::render::feedback;
use crate::cli::render::style::{Tone, count, paint};
use crate::cli::round::{Keeper, NOT_RECORDED, tree};
use crate::cli::session::Session;
use crate::cli::terminal::Terminal;
use crate::effect::environment::Environment;
use crate::effect::files;
use crate::effect::fixer::{Fixed, Fixer, How, fix};
use crate::effect::git::object::Oid;
use crate::effect::lockfile;
use crate::effect::process::program::Root;
use crate::ledger::round::{Because, Change, Said};
use crate::ledger::{Contents, Ledger, Status};
use crate::plan::request::ChangedFrom;
use crate::run::event::Interrupt;
use crate::run::report::{Decision, Report};
use crate::run::verdict::{Exit, Verdict};
use clap::{Arg, Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// `vplan loop`
#[derive(Debug, Args)]
#[command(
    mut_args(not_in_a_loop),
    after_help = "Examples:\n  \
        vplan loop --fix ./repair.sh\n  \
        vplan loop --fix 'my-agent --print' --subject M1 --max-rounds 5\n  \
        vplan loop --fix ./repair.sh --feedback json --base main\n\n\
        Exit codes: 0 passed; 2 usage; 3 contract invalid or missing; 4 lock or plan drift; 5 setup, also a fixer that cannot be \
                        started; 21 retries or rounds used up; 22 escalated, also a contract that was changed; 44 retries used up, and \
                        allowed to go on; 130, 143 interrupted. `vplan help rounds` says how the loop decides, and what it does not \
                        believe."
)]
pub struct Loop {
    /// The command that repairs: it finds the feedback on its standard input, and its path in `VPLAN_FEEDBACK`. Its exit code decides
    /// nothing.
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true, help_heading = LOOP)]
    pub fix: OsString,
    /// How long one repair may take.
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = duration, help_heading = LOOP)]
    pub fix_timeout: u64,
    /// The form of the feedback.
    #[arg(long, value_name = "FORM", default_value = "md", help_heading = LOOP)]
    pub feedback: Form,
    /// How often is verified at most.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..), help_heading = LOOP)]
    pub max_rounds: u32,
    /// How each round verifies.
    #[command(flatten)]
    pub run: Run,
}

const LOOP: &str = "Loop";

/// What means one run, not many.
fn not_in_a_loop(arg: Arg) -> Arg {
    let single =
        ["names", "plan", "allow_drift", "plan_as_is", "expect_digest", "shard", "attempt", "status", "events"]
            .contains(&arg.get_id().as_str());
    if single { arg.hide(true).conflicts_with("fix") } else { arg }
}

/// Forms of feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Markdown.
    Md,
    /// Plain text.
    Text,
    /// One JSON document.
    Json,
}

impl Form {
    fn ending(self) -> &'static str {
        match self {
            Form::Md => "md",
            Form::Text => "txt",
            Form::Json => "json",
        }
    }
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Stop {
    /// It passed, as often as it must.
    Passed,
    /// The retries are used up.
    Exhausted,
    /// The same failure came too often, or the round could not be recorded.
    Escalated,
    /// `--max-rounds`
    MaxRounds,
    /// Another contract would have been verified.
    ContractChanged,
    /// The change could not be told from what was there before any more.
    HistoryChanged,
    /// There is nobody who could repair.
    FixerNotStarted,
    /// A signal.
    Interrupted,
}

impl Stop {
    fn words(self) -> &'static str {
        match self {
            Stop::Passed => "passed",
            Stop::Exhausted => "the retries are used up",
            Stop::Escalated => "a person should look at it",
            Stop::MaxRounds => "no more rounds are allowed",
            Stop::ContractChanged => "the contract is not what it was in the first round",
            Stop::HistoryChanged => "what has changed cannot be told any more",
            Stop::FixerNotStarted => "the fixer could not be started",
            Stop::Interrupted => "interrupted",
        }
    }
}

/// The answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer<'a> {
    /// What the caller should do.
    decision: Decision,
    /// The exit code.
    exit_code: u8,
    /// Of the last round that was verified.
    report: &'a Report,
    /// The rounds, in order.
    rounds: &'a [Line],
    /// Why the loop ended.
    stop: Stop,
    /// Whose rounds they were, if anybody's.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    #[schemars(extend("const" = 1))]
    version: u32,
}

/// One round.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Round")]
struct Line {
    /// Which attempt it was, from 1.
    attempt: u32,
    /// The contract had changed, and that was allowed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    contract_changed: bool,
    /// What it came to.
    decision: Decision,
    /// The verdict's.
    exit_code: u8,
    /// The repair after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<Repair>,
    /// Whether nothing had changed since the round before.
    no_change: bool,
    /// How many rounds of repair are left.
    retries_remaining: u32,
    /// From 1.
    round: u32,
    /// The run.
    run_id: String,
    /// Its verdict.
    verdict: Verdict,
}

/// One turn of the fixer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Repair {
    /// How long it took, in milliseconds.
    duration_ms: u64,
    /// Its exit code, which decides nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// Where the feedback is that it was given.
    feedback: String,
    /// How many processes it left behind.
    leaked: u32,
    /// What it wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    /// Whether it changed nothing.
    no_change: bool,
    /// `exited`, `signalled`, `timed_out`, `not_started`, `interrupted`, `lost`
    outcome: &'static str,
    /// Why it came to that, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The end of what it wrote.
    said: String,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
}

/// What a fixer is told when nothing failed and it is no pass all the same.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Unexplained<'a> {
    /// What decided the verdict, on one line.
    reason: &'a str,
    /// The verdict.
    verdict: Verdict,
    #[schemars(extend("const" = 1))]
    version: u32,
}

/// What must not change while the loop runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pin {
    contract: Option<Digest>,
    imports: Vec<(String, Digest)>,
    /// Of the lock's bytes, or why it cannot be read.
    lock: Result<Option<Digest>, String>,
}

impl Pin {
    fn of(session: &Session) -> Self {
        let contract = session.contract();
        let imports = contract.map(|c| c.imports.iter().map(|i| (i.name.clone(), i.digest.clone())).collect());
        let revision = session.loaded.as_ref().and_then(|l| l.revision.as_ref());
        let lock = lockfile::read(&session.site, &lockfile::beside(&session.contract_path), revision);
        let lock = lock.map(|l| l.text.map(|text| Digest::of(text.as_bytes()))).map_err(|e| e.to_string());
        Self { contract: contract.map(|c| c.digest.clone()), imports: imports.unwrap_or_default(), lock }
    }
}

/// Verifies and repairs until there is a decision.
///
/// # Errors
/// Whatever keeps the first round from beginning; later what is no decision about the work (a disk that is full).
pub fn run(global: &Global, args: &Loop, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(global, &[Format::Text, Format::Json])?;
    let (argv, env) = words("--fix", command(&args.fix)?)?;
    let memory = RefCell::new(Ledger::default());
    let task = Task {
        global,
        args,
        terminal,
        format,
        argv,
        env,
        memory: &memory,
        run: args.run.clone(),
        pin: None,
        head: None,
        base: None,
        changed: false,
        lines: Vec::new(),
    };
    task.go()
}

/// Whether another contract than that of the first round may be verified.
fn is_allowed(allowed: Option<&Allowed>, session: &Session) -> bool {
    match allowed {
        None => false,
        Some(Allowed::Any) => true,
        Some(Allowed::Contract(digest)) => session.contract().is_some_and(|c| c.identity() == *digest),
    }
}

struct Task<'t> {
    global: &'t Global,
    args: &'t Loop,
    terminal: &'t Terminal,
    format: Format,
    argv: Vec<Word>,
    env: Env,
    memory: &'t RefCell<Ledger>,
    /// The request of the next round.
    run: Run,
    pin: Option<Pin>,
    /// HEAD in the first round, where it matters.
    head: Option<Option<Oid>>,
    /// What the changed files are compared with from the first round on, where that is a commit.
    base: Option<Oid>,
    /// The contract has changed since the round before.
    changed: bool,
    lines: Vec<Line>,
}

const CHANGED: &str = "vplan::loop::contract_changed";
const MOVED: &str = "vplan::loop::history_changed";

impl Task<'_> {
    fn go(mut self) -> Result<u8, Failure> {
        let mut last: Option<Once> = None;
        for round in 1.. {
            self.announce(round);
            let verified = match self.verify() {
                Ok(verified) => verified,
                Err(failure) => match last {
                    Some(last) => return self.refused(failure, &last),
                    None => return Err(failure),
                },
            };
            self.line(round, &verified.report);
            if let Some((stop, exit)) = self.stop(round, &verified.report) {
                return Ok(self.end(stop, exit, verified.report.decision, &verified));
            }
            if verified.report.decision == Decision::Retry {
                let repair = self.repair(&verified)?;
                let (outcome, reason) = (repair.outcome, repair.reason.clone());
                let interrupt = repair.signal.clone();
                self.told(&repair);
                if let Some(line) = self.lines.last_mut() {
                    line.fix = Some(repair);
                }
                match outcome {
                    "not_started" => {
                        let why = reason.unwrap_or_default();
                        let message = format!("the fixer `{}` could not be started: {why}", shown(&self.args.fix));
                        self.terminal.failure(&Failure::new(Exit::Setup.code(), "vplan::loop::fixer", message));
                        let exit = Exit::Setup.code();
                        return Ok(self.end(Stop::FixerNotStarted, exit, Decision::Escalate, &verified));
                    }
                    "interrupted" => {
                        let terminated = interrupt.as_deref() == Some("SIGTERM");
                        let exit = if terminated { Exit::Terminated } else { Exit::Interrupted };
                        return Ok(self.end(Stop::Interrupted, exit.code(), Decision::Retry, &verified));
                    }
                    _ => {}
                }
            }
            last = Some(verified);
        }
        // There are fewer rounds than numbers: `--max-rounds` is one.
        Ok(Exit::Exhausted.code())
    }

    fn announce(&self, round: u32) {
        if round > 1 && self.format == Format::Text && !self.terminal.quiet {
            let text = format!("round {round}");
            self.terminal.print(&format!("\n{}\n", paint(self.terminal.color, Tone::Strong, &text)));
        }
    }

    fn verify(&mut self) -> Result<Once, Failure> {
        let (pin, head, base) = (&mut self.pin, &mut self.head, &mut self.base);
        let allowed = self.args.run.allow_contract_change.clone();
        let mut changed = false;
        let mut look = |session: &Session| {
            let now = Pin::of(session);
            match pin {
                Some(before) if *before != now && !is_allowed(allowed.as_ref(), session) => {
                    return Err(Failure::new(
                        Exit::Escalated.code(),
                        CHANGED,
                        "the fixer changed the contract, what it imports, or its lock",
                    )
                    .help("look at the change; `--allow-contract-change` goes on under the new contract"));
                }
                Some(before) => changed = *before != now,
                None => {
                    *base = session.gathered.base;
                }
            }
            *pin = Some(now);
            // A commit takes its files out of what is staged, and nothing says which.
            let staged = session.request.changed_from == Some(ChangedFrom::Staged);
            let work_tree = session.request.changed_from == Some(ChangedFrom::WorkTree);
            if staged || work_tree {
                let now = session.git().and_then(|git| git.head().ok().flatten());
                match head {
                    // `--base` takes over where there was a commit; see `compare`.
                    Some(before) if *before != now => {
                        return Err(Failure::new(
                            Exit::Escalated.code(),
                            MOVED,
                            "HEAD is not what it was in the first round",
                        )
                        .help("a fixer changes files, and leaves it to others to commit them"));
                    }
                    Some(_) => {}
                    None => *head = Some(now),
                }
            }
            Ok(())
        };
        let format = (self.format == Format::Text).then_some(Format::Text);
        let round = Round { format, memory: Some(self.memory), look: &mut look };
        let verified = once(self.global, &self.run, self.terminal, round)?;
        self.changed = changed;
        self.compare(&verified.session);
        Ok(verified)
    }

    /// From the second round on, what is compared with a commit is compared with that of the first round: whatever the fixer
    /// commits, and wherever it moves a branch, its changes stay changes.
    fn compare(&mut self, session: &Session) {
        // What a subject is compared with is in the ledger.
        let from_commit = self.run.round.subject.is_none()
            && matches!(session.request.changed_from, Some(ChangedFrom::WorkTree | ChangedFrom::Base(_)));
        if let Some(base) = self.base.as_ref().filter(|_| from_commit) {
            self.run.request.changes.base = Some(base.to_string());
        }
    }

    fn line(&mut self, round: u32, report: &Report) {
        self.lines.push(Line {
            attempt: report.attempt,
            contract_changed: std::mem::take(&mut self.changed),
            decision: report.decision,
            exit_code: report.verdict_code.unwrap_or(report.exit_code),
            fix: None,
            no_change: report.no_change.unwrap_or(false),
            retries_remaining: report.retries_remaining,
            round,
            run_id: report.run_id.clone(),
            verdict: report.verdict,
        });
    }

    /// Whether this round was the last one, and the exit code.
    fn stop(&self, round: u32, report: &Report) -> Option<(Stop, u8)> {
        let exhausted = report.decision_reason.as_deref() == Some(Because::VerificationFailedMaxRetries.word());
        // Without a subject the report is about the round alone.
        let exit = |exit: Exit| if report.subject.is_some() { report.exit_code } else { exit.code() };
        let last = round >= self.args.max_rounds;
        match report.decision {
            _ if report.verdict == Verdict::Cancelled => Some((Stop::Interrupted, report.exit_code)),
            _ if report.decision_reason.as_deref() == Some(NOT_RECORDED) => Some((Stop::Escalated, report.exit_code)),
            Decision::Advance if exhausted => Some((Stop::Exhausted, exit(Exit::Incomplete))),
            Decision::Advance | Decision::Complete => Some((Stop::Passed, report.exit_code)),
            Decision::Fail => Some((Stop::Exhausted, exit(Exit::Exhausted))),
            Decision::Escalate if exhausted => Some((Stop::Exhausted, exit(Exit::Escalated))),
            Decision::Escalate => Some((Stop::Escalated, exit(Exit::Escalated))),
            Decision::Retry | Decision::Reverify if last => Some((Stop::MaxRounds, Exit::Exhausted.code())),
            Decision::Retry | Decision::Reverify => None,
        }
    }

    /// Has the fixer repair what failed.
    fn repair(&self, verified: &Once) -> Result<Repair, Failure> {
        let Once { report, session, record, .. } = verified;
        let text = self.feedback(report);
        let record = std::path::absolute(record).unwrap_or_else(|_| record.clone());
        let path = record.join(format!("feedback.{}", self.args.feedback.ending()));
        let failed = |what: &str, e: &dyn std::fmt::Display| {
            Failure::new(Exit::Setup.code(), "vplan::loop::record", format!("{what}: {e}"))
        };
        files::replace(&path, text.as_bytes()).map_err(|e| failed("the feedback cannot be written", &e))?;
        let root = Root::open(&session.site.root).map_err(|e| failed("the repository cannot be opened", &e))?;
        let environment = Environment::of_this_process(&root, grants(&self.run)?);
        let mut env = self.env.clone();
        env.insert("VPLAN_FEEDBACK".to_owned(), Word::new(path.as_os_str().as_encoded_bytes()));
        if let Some(subject) = &report.subject {
            env.insert("VPLAN_SUBJECT".to_owned(), Word::from(subject.as_str()));
        }
        let before = self.contents(verified)?;
        let fixed = fix(Fixer {
            root: &root,
            environment: &environment,
            granted: &self.run.grant_env,
            argv: &self.argv,
            env,
            feedback: text.as_bytes(),
            limit_ms: self.args.fix_timeout,
            max_output: self.run.max_output,
            logs: &record.join("logs"),
        })
        .map_err(|e| failed("the fixer could not be run", &e))?;
        // Files that cannot be listed any more are not as they were; the next verification finds out what that means.
        let no_change = self.contents(verified).is_ok_and(|after| after == before);
        Ok(Repair::of(fixed, no_change, &path, &record))
    }

    fn contents(&self, verified: &Once) -> Result<Contents, Failure> {
        let Once { session, own, .. } = verified;
        tree(&session.site, session.contract(), self.global, own).contents().map_err(|e| {
            let message = format!("the files of the work tree cannot be listed: {e}");
            Failure::new(Exit::Setup.code(), "vplan::ledger::contents", message)
        })
    }

    fn feedback(&self, report: &Report) -> String {
        let Some(told) = &report.feedback else {
            // Nothing failed, and yet it is no pass: a budget that was used up, nothing that was verified.
            let why = visible(report.reason.as_deref().unwrap_or_default().as_bytes());
            return match self.args.feedback {
                Form::Md => format!("## {}\n\n{why}\n", report.verdict.name()),
                Form::Text => format!("{}: {why}\n", report.verdict.name()),
                Form::Json => to_canonical(&Unexplained { reason: &why, verdict: report.verdict, version: 1 }) + "\n",
            };
        };
        match self.args.feedback {
            Form::Md => feedback::markdown(told),
            Form::Text => feedback::text(told),
            Form::Json => to_canonical(told) + "\n",
        }
    }

    fn told(&self, repair: &Repair) {
        if self.format != Format::Text || self.terminal.quiet {
            return;
        }
        let how = match (repair.outcome, repair.exit_code, &repair.signal) {
            (_, Some(code), _) => format!("exit code {code}"),
            ("timed_out", ..) => format!("stopped: it took longer than {}", show_duration(self.args.fix_timeout)),
            ("signalled", _, Some(signal)) => format!("ended by {}", visible(signal.as_bytes())),
            (other, ..) => other.replace('_', " "),
        };
        let changed = if repair.no_change { "changed nothing" } else { "changed files" };
        let sign = paint(self.terminal.color, Tone::Warn, "↻");
        let mut text = format!("  {sign} fix: {changed} ({how}, {})\n", show_duration(repair.duration_ms));
        if repair.leaked > 0 {
            let noun = if repair.leaked == 1 { "process" } else { "processes" };
            text.push_str(&format!("    left {} {noun} behind, stopped\n", repair.leaked));
        }
        if let Some(log) = &repair.log {
            text.push_str(&format!("    {}\n", paint(self.terminal.color, Tone::Faint, &visible(log.as_bytes()))));
        }
        self.terminal.say(&text);
    }

    /// A later round could not begin. If that is the fixer's doing, it is a decision about the work.
    fn refused(self, failure: Failure, last: &Once) -> Result<u8, Failure> {
        let stop = match failure.code.as_str() {
            CHANGED => Stop::ContractChanged,
            MOVED => Stop::HistoryChanged,
            // The contract of the first round was valid, and its changed files were known.
            _ if [Exit::Contract.code(), Exit::Drift.code()].contains(&failure.exit) => Stop::ContractChanged,
            _ if failure.exit == Exit::Usage.code() => Stop::HistoryChanged,
            _ => return Err(failure),
        };
        self.terminal.failure(&failure);
        if let Some(subject) = &last.report.subject {
            let Session { site, .. } = &last.session;
            let keeper = Keeper::by_hand(self.global, subject, site, last.session.contract())?;
            let tree = tree(site, last.session.contract(), self.global, &last.own);
            keeper.note(Change::Auto, Said::ByHand(Status::Stuck), &tree)?;
        }
        Ok(self.end(stop, Exit::Escalated.code(), Decision::Escalate, last))
    }

    fn end(&self, stop: Stop, exit: u8, decision: Decision, last: &Once) -> u8 {
        let exit = match last.finish(&self.run, self.terminal) {
            // A document that was asked for could not be written.
            code if code != last.report.exit_code && exit == Exit::Success.code() => code,
            _ => exit,
        };
        let decision = if stop == Stop::MaxRounds { Decision::Fail } else { decision };
        if self.format == Format::Json {
            self.terminal.print_json(&Answer {
                decision,
                exit_code: exit,
                report: &last.report,
                rounds: &self.lines,
                stop,
                subject: last.report.subject.as_deref(),
                version: 1,
            });
        } else if !self.terminal.quiet || exit != Exit::Success.code() {
            let repairs = self.lines.iter().filter(|l| l.fix.is_some()).count();
            let tone = if stop == Stop::Passed { Tone::Good } else { Tone::Bad };
            let words = paint(self.terminal.color, tone, stop.words());
            let rounds = count(self.lines.len(), "round");
            self.terminal.print(&format!("\n{words} after {rounds} and {}\n", count(repairs, "repair")));
        }
        exit
    }
}

impl Repair {
    fn of(fixed: Fixed, no_change: bool, feedback: &Path, record: &Path) -> Self {
        let Fixed { duration_ms, how, leaked, log, said } = fixed;
        let place = |path: PathBuf| visible(path.as_os_str().as_encoded_bytes());
        let mut repair = Self {
            duration_ms,
            exit_code: None,
            feedback: place(feedback.to_owned()),
            leaked,
            log: log.map(|name| place(record.join("logs").join(name))),
            no_change,
            outcome: "lost",
            reason: None,
            said,
            signal: None,
        };
        match how {
            How::Exited(code) => (repair.outcome, repair.exit_code) = ("exited", Some(code)),
            How::Signalled(signal) => (repair.outcome, repair.signal) = ("signalled", Some(signal)),
            How::TimedOut => repair.outcome = "timed_out",
            How::NotStarted(why) => (repair.outcome, repair.reason) = ("not_started", Some(visible(why.as_bytes()))),
            How::Interrupted(signal) => {
                let name = if signal == Interrupt::Int { "SIGINT" } else { "SIGTERM" };
                (repair.outcome, repair.signal) = ("interrupted", Some(name.to_owned()));
            }
            How::Lost => {}
        }
        repair
    }
}

fn shown(text: &OsString) -> String {
    visible(text.as_encoded_bytes())
}
