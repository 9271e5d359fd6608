//! Helpers of the crate's tests, and tests of the crate as a whole.

use super::*;
use bare::{bare_plan, plan_of_words, reported_failure};
use vplan_base::command::{Command, Env, Link, Piece, Unsupported, UnsupportedReason};
use vplan_base::vocabulary::{FailureCode, RewriteRule};
use vplan_base::word::Word;
use vplan_plan::facts::Facts;
use vplan_plan::{Plan, Refusal};

/// Makes a plan like [`plan_of_words`]. ` && ` makes a conjunction, ` | ` makes a command outside
/// the grammar, and `NAME=value` may come first. `cd DIR` and `export NAME=value` have their usual
/// meaning, and `set -e` changes the shell.
pub(crate) fn plan_of_lines(lines: &[&str]) -> Plan {
    let unsupported = |line: &str, text: &str, chain: Vec<Link>| {
        let changes = |part: &str| {
            ["cd ", "export ", "set "]
                .iter()
                .any(|name| part.starts_with(name))
        };
        let (changes_shell, reason) =
            (line.split(" && ").any(changes), UnsupportedReason::Operator);
        Unsupported {
            chain,
            changes_shell,
            offset: 0,
            reason,
            text: text.to_owned(),
        }
    };
    let command = |line: &&str| {
        let text = (*line).to_owned();
        let links: Vec<Link> = line.split(" && ").map(link).collect();
        match links.as_slice() {
            [Link::Run { argv, env }] => {
                let pieces = argv.iter().cloned().map(Piece::Word).collect();
                Command::Argv {
                    env: env.clone(),
                    pieces,
                }
            }
            [Link::Other { .. }] => Command::Unsupported {
                text,
                unsupported: unsupported(line, "|", Vec::new()),
            },
            _ => Command::Unsupported {
                text,
                unsupported: unsupported(line, "&&", links),
            },
        }
    };
    bare_plan(&lines.iter().map(command).collect::<Vec<_>>())
}

/// Parses one part of such a line.
pub(crate) fn link(part: &str) -> Link {
    let pairs = |words: Vec<&str>| -> Env {
        let pair = |w: &str| {
            w.split_once('=')
                .map(|(name, value)| (name.to_owned(), Word::from(value)))
        };
        words.into_iter().filter_map(pair).collect()
    };
    if let Some(dir) = part.strip_prefix("cd ") {
        return Link::ChangeDirectory {
            cd: Word::from(dir),
        };
    }
    if let Some(variables) = part.strip_prefix("export ") {
        return Link::Export {
            export: pairs(variables.split(' ').collect()),
        };
    }
    if part.contains(" | ") || part.starts_with("set ") {
        let changes_shell = part.starts_with("set ");
        let (reason, text) = (UnsupportedReason::Operator, "|".to_owned());
        let unsupported = Unsupported {
            chain: Vec::new(),
            changes_shell,
            offset: 0,
            reason,
            text,
        };
        return Link::Other {
            text: part.to_owned(),
            unsupported: Box::new(unsupported),
        };
    }
    let (env, argv): (Vec<&str>, Vec<&str>) = part.split(' ').partition(|w| w.contains('='));
    Link::Run {
        argv: argv.into_iter().map(Word::from).collect(),
        env: pairs(env),
    }
}

#[test]
fn a_rule_applies_only_where_the_policy_names_it() {
    let mut plan = plan_of_words(&["npm run x", "npm run lint"]);
    let failures = [reported_failure(1, FailureCode::MissingScript)];
    plan.policy.recover = vec![RewriteRule::DropMissingMakeTarget.into()];
    let refusal = Refusal {
        reason: "the plan's policy does not allow it".to_owned(),
        recovery_rule: RewriteRule::DropMissingScript.into(),
        step: "command-1".to_owned(),
    };
    assert_eq!(
        recover(&plan, &failures, &Facts::default()),
        Recovery::Refused(vec![refusal])
    );
    plan.policy.recover = vec![RewriteRule::DropMissingScript.into()];
    let Recovery::Rewritten { rewrite, .. } = recover(&plan, &failures, &Facts::default()) else {
        panic!("not repaired");
    };
    assert_eq!(rewrite.dropped, ["command-1"]);
}

#[test]
fn what_a_step_asks_of_the_repository() {
    for (command, want) in [
        ("npm run x", &["scripts:.", "base-scripts:."][..]),
        (
            "make -C web x",
            &["make-targets:web", "base-make-targets:web"],
        ),
        ("env CI=1 npm run x", &["scripts:.", "base-scripts:."]),
        ("npm run x -w a", &[]),
        (
            "make -f other.mk x",
            &[
                "makefile-targets:other.mk",
                "base-makefile-targets:other.mk",
            ],
        ),
        (
            "make -C web -f ci/a.mk x",
            &[
                "makefile-targets:web/ci/a.mk",
                "base-makefile-targets:web/ci/a.mk",
            ],
        ),
        ("make -f a.mk -f b.mk x", &[]),
        ("make -f - x", &[]),
        ("make --file=../a.mk x", &[]),
        ("env MAKEFILES=o.mk make x", &[]),
        ("env MAKEFLAGS=-k make x", &[]),
        ("make MAKEFLAGS=--eval=x: x", &[]),
        ("make VPATH:=src x", &[]),
        ("cargo test", &[]),
    ] {
        let plan = plan_of_words(&[command]);
        let asked = questions(&plan.steps[0])
            .iter()
            .map(|q| String::from_utf8(q.to_word().as_bytes().to_vec()).unwrap())
            .collect::<Vec<_>>();
        assert_eq!(asked, want, "{command}");
    }
}

/// Checks that a failure of a step that does not exist belongs to no step, also after steps
/// were given new ids.
#[test]
fn no_new_step_is_called_as_one_that_failed() {
    let mut plan = plan_of_lines(&["make && make x", "make y"]);
    plan.steps[1].id = "command-1-1".to_owned();
    let elsewhere = |id: &str| Failure {
        step: id.to_owned(),
        ..reported_failure(1, FailureCode::MissingMakeTarget)
    };
    let failures = [
        elsewhere("command-1-2"),
        reported_failure(1, FailureCode::UnsupportedFormat),
    ];
    let Recovery::Rewritten { plan, .. } = recover(&plan, &failures, &Facts::default()) else {
        panic!("not repaired");
    };
    let ids: Vec<&str> = plan.steps.iter().map(|s| s.id.as_str()).collect();
    assert_eq!(ids, ["command-1-3", "command-1-4", "command-1-1"]);
    assert_eq!(
        recover(&plan, &failures, &Facts::default()),
        Recovery::NotApplicable
    );
}
