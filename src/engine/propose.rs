//! Calls external proposers of checks, in modes `llm` and `hybrid`.

use super::pins;
use super::request::PROPOSER_TIMEOUT;
use crate::{Caveat, Code, Digest, Effect, Exit, Failure, PlanRequest, Session, visible};
use std::ffi::OsStr;
use vplan_base::command::{Command, Env, Piece};
use vplan_base::word::Word;
use vplan_check::verb::CommandRequest;
use vplan_lang::command::parse_command;
use vplan_os::process::ask::NoAnswer;
use vplan_plan::proposal::{Proposal, ProposalAnswer, Question};
use vplan_plan::request::Request;
use vplan_plan::skeleton::{known_role, without_contract};
use vplan_repo::lockfile;
use vplan_runner::propose::propose;

/// The prefix of the codes of a proposer's failures.
const OF_PROPOSER: &str = "vplan::proposer::";

/// Whether the proposer may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposerUse {
    /// Only recorded answers count: the command is quiet, or `--locked`.
    Recorded,
    /// An answer that is not recorded is requested.
    Now,
    /// An answer is requested, even if one is recorded.
    Anew,
}

impl Session {
    /// Makes the question. The lock is excluded from the changed files: otherwise recording an
    /// answer would change its question.
    fn question(&self) -> Question {
        let request = Request {
            changed: self.changed_but_lock(),
            ..self.request.clone()
        };
        Question::from_request(self.contract(), &request)
    }

    /// Returns the lock's answer to a question.
    pub(super) fn recorded(&self, question: &Digest) -> Result<Option<String>, Failure> {
        let path = lockfile::path_for(&self.contract_path);
        let revision = self.loaded.as_ref().and_then(|l| l.revision.as_ref());
        let found = lockfile::read(&self.site, &path, revision)?;
        if found.has_errors() {
            return Err(pins::invalid(&path, found));
        }
        Ok(found.content.answer(question).map(|a| a.answer.clone()))
    }

    /// Returns the proposal for a run. If the proposer fails, the run continues with the contract's
    /// checks, and `failed` is the message.
    pub(super) fn proposal(
        &self,
        requested: &PlanRequest,
        asking: ProposerUse,
        demanded: bool,
        failed: &mut Option<Caveat>,
    ) -> Result<Option<Proposal>, Failure> {
        match self.propose(requested, asking, demanded) {
            Err(why)
                if asking == ProposerUse::Now
                    && why.exit == Exit::Setup
                    && why.code.starts_with(OF_PROPOSER) =>
            {
                let mut caveat = Caveat::new(Code::ProposerFailed, Effect::Incomplete, why.message);
                caveat.way_out = why.help;
                *failed = Some(caveat);
                Ok(None)
            }
            answer => answer,
        }
    }

    /// Returns the proposer's answer to this request: the recorded one, or a new one if the
    /// proposer may be called. `None` if it has neither and no answer was demanded.
    pub(super) fn propose(
        &self,
        requested: &PlanRequest,
        asking: ProposerUse,
        demanded: bool,
    ) -> Result<Option<Proposal>, Failure> {
        // An answer may take long and cost money: it is not requested if no plan can be made.
        let none = without_contract();
        known_role(self.contract().unwrap_or(&none), &self.request)?;
        let question = self.question().text();
        let digest = Digest::hash(question.as_bytes());
        tracing::debug!(%digest, bytes = question.len(), "a question for the proposer");
        let recorded = match asking {
            ProposerUse::Anew => None,
            ProposerUse::Recorded | ProposerUse::Now => self.recorded(&digest)?,
        };
        if let Some(recorded) = recorded {
            let understood = understand(question, recorded.as_bytes()).map(Some);
            return understood.map_err(|why| {
                let message = format!("the recorded answer to {digest} cannot be used: {why}");
                Failure::drift("vplan::proposer::bad_record", message)
                    .help("`vplan lock --record --proposer COMMAND` records it anew")
            });
        }
        if requested.proposer.is_none() && !demanded {
            return Ok(None);
        }
        // For a command that must not call a proposer, it makes no difference whether one is named.
        if asking == ProposerUse::Recorded {
            let message = format!(
                "the proposer's answer to {digest} is not recorded, and nobody may be asked now"
            );
            return Err(Failure::drift("vplan::proposer::not_recorded", message).help(
                "`vplan lock --record` with the same request and `--proposer` records it; `vplan run` without \
                 `--locked` asks by itself",
            ));
        }
        let Some(text) = &requested.proposer else {
            let message = match asking {
                ProposerUse::Anew => "there is no proposer to ask",
                _ => "mode `llm` needs a proposer, and no recorded answer fits this request",
            };
            return Err(Failure::usage("vplan::usage::no_proposer", message)
                .help("name one with `--proposer COMMAND`"));
        };
        let (argv, env) = words("--proposer", command(text)?)?;
        let limit = requested.proposer_timeout.unwrap_or(PROPOSER_TIMEOUT);
        // The proposer may take long, and write files: the next run must scan the tree again.
        self.git().iter().for_each(|git| git.forget_observed());
        let said = propose(&self.site.root, &argv, &env, &question, limit)
            .map_err(|why| no_answer(text, &why))?;
        understand(question, &said).map(Some).map_err(|why| {
            let message = format!("the proposer `{}`: {why}", visible(text.as_encoded_bytes()));
            Failure::setup("vplan::proposer::bad_answer", message)
                .help("it writes one JSON object and nothing else: {\"commands\":[\"make test\"]}")
        })
    }
}

fn understand(question: String, answer: &[u8]) -> Result<Proposal, String> {
    let answer = ProposalAnswer::read(answer).map_err(|bad| bad.0)?;
    let read = |command: &str| CommandRequest::read(command, parse_command);
    let commands = answer.commands.iter();
    let commands = commands.map(|s| (read(&s.command), s.why.clone()));
    Ok(Proposal {
        question,
        answer: answer.text(),
        commands: commands.collect(),
    })
}

/// Returns the words of a program's command, from a flag or a statement.
pub fn words(of: &str, command: Command) -> Result<(Vec<Word>, Env), Failure> {
    let wrong = |why: &str| {
        let name = of.trim_start_matches('-').replace('-', "_");
        Failure::usage(format!("vplan::usage::{name}"), format!("`{of}`: {why}"))
            .help("a command without shell operators; `sh -c '…'` if it needs them")
    };
    match command {
        Command::Unsupported { unsupported, .. } => {
            let text = visible(&unsupported.text);
            Err(wrong(&format!(
                "`{text}` cannot be started without a shell"
            )))
        }
        Command::Argv { env, pieces } => {
            let words = pieces.into_iter().map(|p| match p {
                Piece::Word(word) => Some(word),
                Piece::Changed => None,
            });
            let words: Option<Vec<Word>> = words.collect();
            let why = "`{changed}` means nothing here: the changed files are in the question";
            words.map(|words| (words, env)).ok_or_else(|| wrong(why))
        }
    }
}

fn no_answer(text: &std::ffi::OsStr, why: &NoAnswer) -> Failure {
    let code = match why {
        NoAnswer::NotStarted(_) => "vplan::proposer::not_started",
        NoAnswer::TimedOut => "vplan::proposer::timed_out",
        NoAnswer::TooMuch(_) => "vplan::proposer::too_much",
        NoAnswer::Failed { .. } | NoAnswer::Stopped => "vplan::proposer::failed",
    };
    let shown = visible(text.as_encoded_bytes());
    let message = format!("the proposer `{shown}` gave no answer: {why}");
    let failure = Failure::setup(code, message);
    match why {
        NoAnswer::Failed { stderr, .. } if !stderr.is_empty() => {
            let lines = stderr.rsplit(|b| *b == b'\n').filter(|l| !l.is_empty());
            let mut last: Vec<String> = lines.take(3).map(visible).collect();
            last.reverse();
            failure.help(format!("it said: {}", last.join(" | ")))
        }
        NoAnswer::TimedOut => failure.help("`--proposer-timeout` gives it longer"),
        _ => failure,
    }
}

/// Reads a command from the command line.
///
/// # Errors
/// It is not UTF-8 (exit 2).
pub fn command(text: &OsStr) -> Result<Command, Failure> {
    command_text(text).map(parse_command)
}

/// Reads a command's text from the command line.
///
/// # Errors
/// It is not UTF-8 (exit 2).
pub fn command_text(text: &OsStr) -> Result<&str, Failure> {
    text.to_str().ok_or_else(|| {
        Failure::usage("vplan::usage::not_utf8", "a command's text must be UTF-8")
            .help("write other bytes as `$'\\xHH'`")
    })
}
