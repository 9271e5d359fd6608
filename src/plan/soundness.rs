//! Validates a plan from a file before it is executed. Anything that compiling and recovery can
//! never produce is refused, so that a forged plan with a right digest gains nothing that a
//! contract could not have.

use super::canonical::FIRST;
use super::field::FieldValue;
use super::order::check_order;
use super::request::ChangedIn;
use super::{Plan, Step};
use vplan_base::command::{is_env_name, to_text};
use vplan_base::hole::service_holes;
use vplan_base::jobs::Jobs;
use vplan_base::machine::{MOST_PROPERTIES, On};
use vplan_base::path::RepoPath;
use vplan_base::setting::Row;
use vplan_base::unit::MAX_INTEGER;
use vplan_base::word::{Word, visible};
use vplan_check::Kind;

/// A plan that no contract could have given, and that is not run.
pub const UNFIT: &str = "vplan::plan::unfit";

/// Maximum size of an id, in bytes.
const LONGEST_ID: usize = 1024;

/// The reason why a plan may not be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// A stable code.
    pub code: &'static str,
    /// One line for people.
    pub message: String,
    /// The next step, for people.
    pub help: Option<String>,
    /// The step at fault, by its place in the plan.
    pub step: Option<usize>,
    /// The field at fault: of the step, or of the plan.
    pub field: Option<&'static str>,
}

/// Checks everything that the types of a plan leave open.
///
/// # Errors
/// The first violation, in plan order.
pub fn sound(plan: &Plan) -> Result<(), Unfit> {
    let unfit = |step, field, message: String| {
        Err(Unfit {
            code: UNFIT,
            message,
            help: None,
            step,
            field: Some(field),
        })
    };
    for (index, step) in plan.steps.iter().enumerate() {
        if let Err((field, why)) = step_is_sound(step) {
            let id = visible(&step.id);
            let message = format!("the step `{id}` is none that can be planned: {why}");
            return unfit(Some(index), field, message);
        }
    }
    let whole = |field, message: String| unfit(None, field, message);
    if let Err(fault) = check_order(plan) {
        return whole("steps", visible(fault.to_string()));
    }
    if plan.version == FIRST && plan.steps.iter().any(|s| !s.prepared_by.is_empty()) {
        let message = "a plan of version 1 has no `preparedBy`";
        return whole("steps", message.to_owned());
    }
    let policy = &plan.policy;
    if let Jobs::Number(jobs) = policy.jobs
        && !(1..=Jobs::MOST).contains(&jobs)
    {
        let most = Jobs::MOST;
        return whole("policy", format!("`jobs` is {jobs}, not 1 to {most}"));
    }
    if policy.budget_ms.is_some_and(|ms| !is_time(ms)) {
        return whole("policy", "`budgetMs` is no time that can pass".to_owned());
    }
    if let Some(rule) = policy.recover.iter().find(|r| r.to_known().is_none()) {
        let message = format!("no recovery rule is called `{}`", visible(&**rule));
        return whole("policy", message);
    }
    if let Some(contract) = &plan.contract
        && RepoPath::from_exact(contract.path.as_bytes()).is_none()
    {
        let message = "the contract's path is none of the repository's";
        return whole("contract", message.to_owned());
    }
    if let Err(message) = base_is_sound(plan) {
        return whole("request", message.to_owned());
    }
    if plan.request.min_tier > 2 || plan.tiers.iter().any(|t| t.tier > 2) {
        return whole("tiers", "tiers are 0, 1 and 2".to_owned());
    }
    Ok(())
}

/// Checks that the base of the change is one that a plan of its version can have.
fn base_is_sound(plan: &Plan) -> Result<(), &'static str> {
    let request = &plan.request;
    match (&request.base, request.changed_in) {
        (None, None) => Ok(()),
        _ if plan.version == FIRST => Err("a plan of version 1 has neither `base` nor `changedIn`"),
        (None, Some(_)) => Ok(()),
        (Some(_), None | Some(ChangedIn::Tracked)) => Err("nothing is compared with the `base`"),
        (Some(id), _) => {
            let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
            let is_whole = matches!(id.len(), 40 | 64) && id.bytes().all(hex);
            is_whole
                .then_some(())
                .ok_or("`base` is no id of a commit, in full")
        }
    }
}

type Wrong = (&'static str, String);

fn step_is_sound(step: &Step) -> Result<(), Wrong> {
    let wrong = |field, why: &str| Err((field, why.to_owned()));
    let ids = [
        Some(&step.id),
        step.batch_of.as_ref(),
        step.exclusive.as_ref(),
    ];
    if !ids.into_iter().flatten().all(|id| is_id(id)) {
        return wrong("id", "its id is no name");
    }
    if step.tier > 2 {
        return wrong("tier", "tiers are 0, 1 and 2");
    }
    if !is_time(step.timeout_ms) {
        return wrong("timeoutMs", "its time limit is no time that can pass");
    }
    let large = |row: &Row| matches!(step.held(*row), FieldValue::Number(n) if n > MAX_INTEGER);
    if Row::ALL.iter().any(large) {
        return wrong("id", "one of its numbers is too large");
    }
    let mut codes = step.exit.iter().chain(&step.skip_exit);
    if codes.any(|code| !(0..=255).contains(code)) {
        return wrong("exit", "exit codes are 0 to 255");
    }
    if let Some(name) = step.env.keys().find(|name| !is_env_name(name)) {
        let why = format!("`{}` is no name of a variable", visible(name));
        return Err(("env", why));
    }
    let mut words = step.argv.iter().flatten().chain(step.env.values());
    if words.any(|word| word.as_bytes().contains(&0)) {
        return wrong("argv", "a word holds a NUL byte");
    }
    match (step.kind, &step.argv, &step.unsupported) {
        (Kind::File | Kind::Judge, Some(_), _) => {
            return wrong("argv", "this kind of check runs no command");
        }
        (Kind::File | Kind::Judge, None, Some(_)) => {
            return wrong("unsupported", "this kind of check runs no command");
        }
        (Kind::File, None, None) if step.path.is_none() => {
            return wrong("id", "a `file` check needs its `path`");
        }
        (Kind::Judge, None, None) if step.question.is_none() => {
            return wrong("id", "a judge needs its `question`");
        }
        (Kind::File | Kind::Judge, None, None) => {}
        (_, Some(_), Some(_)) => {
            let why = "it has both a command and a reason why it has none";
            return wrong("unsupported", why);
        }
        (_, None, None) => return wrong("argv", "it has no command"),
        (_, None, Some(_)) => {}
        (kind, Some(argv), None) => {
            if !has_program(argv) {
                return wrong("argv", "its command has no program");
            }
            // The text that people read must be the command that runs.
            if step.command != to_text(&step.env, argv) {
                let why = "`command` says something else than `argv` and `env`";
                return wrong("command", why);
            }
            let is_shell = match argv.as_slice() {
                [sh, c, _] => [sh.as_bytes(), c.as_bytes()] == [&b"sh"[..], b"-c"],
                _ => false,
            };
            if kind == Kind::Shell && !is_shell {
                return wrong("argv", "a `shell` check is `sh -c TEXT`");
            }
        }
    }
    services_are_sound(step)?;
    if step.on.is_some() && !step.starts_command() {
        return wrong("on", "only a command is executed on a machine");
    }
    if let Some(machine) = step.machine()
        && (!is_id(&machine.name)
            || machine.name == On::HERE
            || !(1..=MOST_PROPERTIES).contains(&machine.properties.len()))
    {
        return wrong("on", "its machine is none that a contract can name");
    }
    if step.kind != Kind::File && !(step.path.is_none() && step.assertions.is_empty()) {
        return wrong("path", "only a `file` check asserts something about a path");
    }
    Ok(())
}

/// Checks the services of a step, and its placeholders for them.
fn services_are_sound(step: &Step) -> Result<(), Wrong> {
    let wrong = |why: String| Err(("with", why));
    if !step.with.is_empty() && step.argv.is_none() {
        return wrong("only a command runs beside services".to_owned());
    }
    if !step.with.is_sorted_by(|a, b| a.name < b.name) {
        return wrong("its services are not in the order of their names, each once".to_owned());
    }
    for service in &step.with {
        let words = || service.argv.iter().chain(service.env.values());
        let name = visible(&service.name);
        if !is_id(&service.name)
            || !has_program(&service.argv)
            || words().any(|word| word.as_bytes().contains(&0))
            || !service.env.keys().all(|name| is_env_name(name))
            || !is_time(service.timeout_ms)
        {
            return wrong(format!("the service `{name}` is none that can be started"));
        }
        if service.command != to_text(&Default::default(), &service.argv) {
            return wrong(format!(
                "`command` of the service `{name}` says something else than its `argv`"
            ));
        }
        let foreign = |text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            service_holes(&text).any(|hole| hole.service.is_some())
        };
        if service.texts().any(foreign) {
            return wrong(format!("the service `{name}` has a hole of another one"));
        }
    }
    Ok(())
}

/// Whether a text is `ns/name`, `name#2` for a batch, or `name-2` and the like for repetitions.
fn is_time(ms: u64) -> bool {
    (1..=MAX_INTEGER).contains(&ms)
}

fn has_program(argv: &[Word]) -> bool {
    argv.first()
        .is_some_and(|program| !program.as_bytes().is_empty())
}

fn is_id(id: &str) -> bool {
    let name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '#'))
    };
    id.len() <= LONGEST_ID && id.split('/').all(name)
}
