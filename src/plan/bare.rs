//! Turns a bare list of commands into a plan.

use super::step::empty;
use super::{Origin, Plan, Step};
use vplan_base::command::{Command, Env, Piece, to_text};
use vplan_base::vocabulary::{Open, RewriteRule};
use vplan_base::word::Word;
use vplan_check::Kind;
use vplan_check::verb::CommandRequest;

/// Returns a plan of explicit commands alone, `command-1` and so on. It has no digest: it was made
/// from no request.
pub fn bare_plan<T: Clone + Into<CommandRequest>>(commands: &[T]) -> Plan {
    let commands: Vec<CommandRequest> = commands.iter().cloned().map(T::into).collect();
    let steps = commands.iter().enumerate().map(|(i, asked)| Step {
        kind: asked.verb.unwrap_or_default(),
        ..step(&format!("command-{}", i + 1), &asked.command)
    });
    let mut plan = Plan::of_steps(steps.collect());
    plan.policy.recover = RewriteRule::ALL.iter().copied().map(Open::Known).collect();
    plan.request.explicit = commands.iter().map(CommandRequest::to_text).collect();
    plan.request.role = "worker".to_owned();
    plan
}

/// Creates an explicit step with default settings. `{changed}` expands to no file here.
pub fn step(id: &str, command: &Command) -> Step {
    let (argv, env, unsupported) = match command {
        Command::Argv { env, pieces } => {
            let word = |piece: &Piece| match piece {
                Piece::Word(word) => Some(word.clone()),
                Piece::Changed => None,
            };
            let argv: Vec<Word> = pieces.iter().filter_map(word).collect();
            (Some(argv), env.clone(), None)
        }
        Command::Unsupported { unsupported, .. } => (None, Env::new(), Some(unsupported.clone())),
    };
    let text = match &argv {
        Some(argv) => to_text(&env, argv),
        None => command.to_text(),
    };
    Step {
        argv,
        command: text,
        env,
        exit: vec![0],
        id: id.to_owned(),
        timeout_ms: Kind::Run.default_timeout_ms(),
        unsupported,
        ..empty(Kind::Run, Origin::Explicit)
    }
}

/// Returns a bare plan of commands without quoting, for tests and examples.
pub fn plan_of_words(commands: &[&str]) -> Plan {
    let command = |text: &&str| {
        let words = text.split_whitespace().map(Word::from);
        Command::Argv {
            env: Env::new(),
            pieces: words.map(Piece::Word).collect(),
        }
    };
    bare_plan(&commands.iter().map(command).collect::<Vec<_>>())
}
