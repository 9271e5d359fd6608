//! Chooses the program that answers `judge` checks, and loads the answers that are already
//! recorded.

use super::propose::{command, words};
use crate::{ChangeSet, Digest, Exit, Failure, Plan, Root, Session, Step, visible};
use std::ffi::OsStr;
use std::time::Duration;
use vplan_base::command::Env;
use vplan_base::word::Word;
use vplan_check::Kind;
use vplan_check::judge::JudgeAnswer;
use vplan_lock::RecordedAnswer;
use vplan_os::environment::{Environment, Grants};
use vplan_os::files::beneath::Beneath;
use vplan_os::process::ask::{Ask, ask};
use vplan_os::process::pool::Pool;
use vplan_repo::lockfile;
use vplan_runner::judge::{JudgeContext, PreparedQuestion, question};

/// The program that answers `judge` checks.
#[derive(Debug)]
pub struct JudgeProgram {
    /// The command in the form for people.
    pub shown: String,
    /// The program and its arguments.
    pub argv: Vec<Word>,
    /// Variables that its command sets.
    pub env: Env,
}

impl Session {
    /// Returns the judge: `--judge`, or the contract's `judge-with`. `None` if no step of the plan
    /// needs one.
    ///
    /// # Errors
    /// A command that cannot be started without a shell: exit 2 for the operator's, 3 for the
    /// contract's.
    pub fn judge(
        &self,
        operators: Option<&OsStr>,
        plan: &Plan,
    ) -> Result<Option<JudgeProgram>, Failure> {
        if let Some(text) = operators {
            // Parsed even if it is not used: a mistake in it must not be found later.
            let (argv, env) = words("--judge", command(text)?)?;
            return Ok(Some(JudgeProgram {
                shown: visible(text.as_encoded_bytes()),
                argv,
                env,
            }));
        }
        let asks = plan.steps.iter().any(|s| s.kind == Kind::Judge);
        let asked = self.contract().and_then(|c| c.judge_with.clone());
        let Some(asked) = asked.filter(|_| asks) else {
            return Ok(None);
        };
        let shown = asked.to_text();
        let wrong = |failure: Failure| Failure {
            exit: Exit::Contract,
            ..failure
        };
        let (argv, env) = words("judge-with", asked).map_err(wrong)?;
        Ok(Some(JudgeProgram { shown, argv, env }))
    }

    /// Returns the changed files without the lock, because an answer that was
    /// recorded just now would be the answer to another question.
    pub(super) fn changed_but_lock(&self) -> ChangeSet {
        let lock = lockfile::path_for(&self.contract_path);
        let files = self.request.changed.files().iter();
        let others = files.filter(|f| f.path != lock).cloned();
        ChangeSet::new(others.collect())
    }

    /// Makes the questions of a plan's steps, and looks up their answers in the lock.
    pub fn questions<'a>(
        &'a self,
        beneath: &'a Beneath,
        locked: bool,
    ) -> impl Fn(&Step) -> PreparedQuestion + Sync + 'a {
        let changed = self.changed_but_lock();
        move |step| {
            let ground = JudgeContext {
                root: &self.site.root,
                beneath,
                git: self.git(),
            };
            let (text, digest) = match question(&ground, step, &changed) {
                Ok(asked) => asked,
                Err(error) => return PreparedQuestion::Refused(error),
            };
            match self.recorded(&digest) {
                Ok(Some(answer)) => PreparedQuestion::Recorded { answer, digest },
                Ok(None) if locked => {
                    let message = format!(
                        "the judge's answer to {digest} is not recorded, and with `--locked` nobody is asked"
                    );
                    PreparedQuestion::refused("NOT_RECORDED", message)
                }
                Ok(None) => PreparedQuestion::Question { digest, text },
                Err(failure) => PreparedQuestion::refused("LOCK", failure.message),
            }
        }
    }

    /// Asks the judge the questions of a plan, and returns the answers to be recorded, in the
    /// plan's order.
    ///
    /// # Errors
    /// A question that cannot be made, or no answer that can be used: exit 5.
    pub(crate) fn judge_now(
        &self,
        judge: &JudgeProgram,
        plan: &Plan,
    ) -> Result<Vec<RecordedAnswer>, Failure> {
        let setup =
            |code: &str, message: String| Failure::setup(format!("vplan::judge::{code}"), message);
        let opened =
            Beneath::open(&self.site.root).and_then(|b| Ok((b, Root::open(&self.site.root)?)));
        let (beneath, root) =
            opened.map_err(|e| setup("root", format!("the repository cannot be opened: {e}")))?;
        let environment =
            Environment::of_this_process(&root, Grants::default()).of_judge(&root, &judge.env);
        let (pool, changed) = (Pool::new(None), self.changed_but_lock());
        let ground = JudgeContext {
            root: &self.site.root,
            beneath: &beneath,
            git: self.git(),
        };
        let mut answers = Vec::new();
        for step in plan.steps.iter().filter(|s| s.kind == Kind::Judge) {
            let (text, digest): (String, Digest) = question(&ground, step, &changed)
                .map_err(|e| setup("context", format!("`{}`: {}", step.id, e.message)))?;
            let what = Ask {
                root: &root,
                search: &environment.search,
                argv: &judge.argv,
                env: &environment.variables,
                question: text.as_bytes(),
                limit: Duration::from_millis(step.timeout_ms),
                most: vplan_check::judge::MAX_ANSWER,
                stop: None,
            };
            let (shown, id) = (&judge.shown, &step.id);
            let no_answer =
                |why: String| setup("no_answer", format!("the judge `{shown}` on `{id}`: {why}"));
            let said = ask(&pool, &what).map_err(|e| no_answer(e.to_string()))?;
            let answer = JudgeAnswer::read(&said).map_err(|e| no_answer(e.0))?;
            answers.push(RecordedAnswer {
                question: digest,
                proposer: shown.clone(),
                answer: vplan_base::canon::to_canonical(&answer),
            });
        }
        Ok(answers)
    }
}
