//! Plans: the compiler against the reference, plan files, differences between contracts,
//! `{changed}`.

use super::choices::{Choices, fields, mutated};
use super::contract::{answered, checked};
use crate::reference::diff::covers;
use crate::reference::plan::{right, said};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;
use vplan::arbitrary::drawn;
use vplan::arbitrary::plan::{
    Compilation, command, compilation, plain_check, plain_contract, varied,
};
use vplan::base::change::{ChangeSet, ChangedFile, Status};
use vplan::base::command::{Command, Piece};
use vplan::base::index::Index as _;
use vplan::base::path::RepoPath;
use vplan::base::setting::{Row, Value};
use vplan::base::source::Sources;
use vplan::contract::CheckIndex;
use vplan::contract::{Body, Contract};
use vplan::lang::command::parse_command;
use vplan::plan::canonical::without_annotations;
use vplan::plan::compile::{Compiled, compile};
use vplan::plan::diff::contracts::{Side, compare};
use vplan::plan::diff::{Class, plans};
use vplan::plan::digest::digest as digest_of;
use vplan::plan::document::{DocumentForm, canonical};
use vplan::plan::drift::drift;
use vplan::plan::facts::{FactAnswer, Facts, Question};
use vplan::plan::kdl::text;
use vplan::plan::order::check_order;
use vplan::plan::request::{Boundary, Mode, Request, Risk};
use vplan::plan::shard::division::Division;
use vplan::plan::shard::{Shard, share};
use vplan::plan::skeleton::without_contract;
use vplan::plan::soundness::sound;
use vplan::plan::{Origin, Plan};

/// What holds of every plan that was compiled.
pub fn holds_of_plan(plan: &Plan) {
    assert_eq!(plan.digest.as_ref(), Some(&digest_of(plan)));
    check_order(plan).unwrap();
    sound(plan).unwrap();
    assert!(
        plan.steps.iter().all(|s| !s.reasons.is_empty()),
        "a step without a reason"
    );
    for form in [DocumentForm::Json, DocumentForm::Kdl] {
        let text = form.write(plan);
        assert_eq!(form.read(&text).as_ref(), Ok(plan), "{text}");
    }
    assert!(drift(plan, plan).is_empty() && plans::compare(plan, plan).equal);
    let shares: Vec<Plan> = (1..=3)
        .map(|index| share(plan, Shard { count: 3, index }, None).plan)
        .collect();
    for step in &plan.steps {
        assert!(
            shares
                .iter()
                .any(|s| s.steps.iter().any(|other| other.id == step.id)),
            "no share has {}",
            step.id
        );
    }
}

thread_local! {
    static COMPILATIONS: RefCell<BoxedStrategy<Compilation>> = RefCell::new(prop_oneof![compilation(), varied()].boxed());
}

/// Any contract, request and facts, drawn by the first eight bytes and changed by the rest: the
/// plan is that of a naive evaluator, it says who it is, and the order of the files has no say in
/// it.
pub fn compile_drawn(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let seed = choices.take(8);
    let Some(mut c) = COMPILATIONS.with_borrow(|all| drawn(all, seed)) else {
        return;
    };
    for _ in 0..8 {
        if choices.is_over() {
            break;
        }
        edit(&mut c, &mut choices);
    }
    let got = match compile(c.contract.as_ref(), &c.request, &c.facts) {
        Ok(Compiled::Plan(plan)) => {
            holds_of_plan(&plan);
            Some(said(&plan))
        }
        Ok(Compiled::Needs(questions)) => panic!("asks for {questions:?}"),
        Err(_) => None,
    };
    assert_eq!(
        got,
        right(
            c.contract.as_ref(),
            &without_contract(),
            &c.request,
            &c.facts
        ),
        "{c:?}"
    );
}

/// One change to what is compiled, such that validation would still accept it.
fn edit(c: &mut Compilation, choices: &mut Choices<'_>) {
    const FILES: [&str; 8] = [
        "src/a.rs",
        "src/gen/a.rs",
        "docs/a.md",
        "README.md",
        "-x",
        "@y",
        "src",
        "docs/-1",
    ];
    let request = &mut c.request;
    let (what, value) = (choices.byte() % 12, choices.byte());
    match what {
        0 => request.risk = [Risk::Low, Risk::Medium, Risk::High][usize::from(value) % 3],
        1 => request.min_tier = value % 3,
        2 => {
            request.boundaries = [vec![], vec![Boundary::MilestoneEnd], vec![Boundary::RunEnd]]
                [usize::from(value) % 3]
                .clone()
        }
        3 => {
            request.mode = [
                Mode::Contract,
                Mode::Fallback,
                Mode::Hybrid,
                Mode::Llm,
                Mode::Off,
            ][usize::from(value) % 5]
        }
        4 | 5 => {
            let status = [
                Status::Added,
                Status::Modified,
                Status::Deleted,
                Status::TypeChanged,
            ][usize::from(value) / 8 % 4];
            let path = RepoPath::parse(FILES[usize::from(value) % 8].as_bytes()).unwrap();
            let others = request
                .changed
                .files()
                .iter()
                .filter(|f| f.path != path)
                .cloned();
            let one = (what == 4).then_some(ChangedFile {
                path: path.clone(),
                status,
            });
            request.changed = ChangeSet::new(others.chain(one).collect());
        }
        6 => request.explicit.push(
            command(
                ["true", "echo a", "make test", "fmt {changed}", "new one"][usize::from(value) % 5],
            )
            .into(),
        ),
        7 => drop(request.explicit.pop()),
        _ => {
            let Some(contract) = &mut c.contract else {
                return;
            };
            let count = contract.checks.len();
            let picked = CheckIndex::new(usize::from(value) % count);
            let check = &mut contract.checks[picked];
            match what {
                8 => {
                    if check.settings.remove(&Row::Optional).is_none() {
                        check.set(Row::Optional, Value::Flag);
                    }
                }
                9 if check.named => check.placements[0].conditions.clear(),
                10 => check.set(Row::Retries, Value::Number(u64::from(value) % 4)),
                _ => contract.limits.max_checks = Some(u64::from(value) % 4),
            }
        }
    }
}

/// Any text as a plan, in either form: reading is total; what is read is written again to the same
/// bytes and the same digest, and what is read as KDL is KDL. And any change of a plan that was
/// written is harmless, or is refused. The same of any text as a division.
pub fn plan(bytes: &[u8]) {
    let Ok(written) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(division) = Division::decode(written) {
        assert_eq!(Division::decode(&division.to_json()), Ok(division));
    }
    for form in [DocumentForm::Json, DocumentForm::Kdl] {
        if let Ok(plan) = form.read(written) {
            for other in [DocumentForm::Json, DocumentForm::Kdl] {
                let text = other.write(&plan);
                assert_eq!(other.read(&text).as_ref(), Ok(&plan), "{text}");
            }
            let mut choices = Choices(bytes);
            let division = Division::new(&plan, 3, &BTreeMap::new());
            assert_eq!(division.check(&plan, Some(3)), Ok(()));
            let edited = mutated(division.to_json().as_bytes(), &mut choices);
            if let Ok(read) = Division::decode(&String::from_utf8_lossy(&edited)) {
                assert_eq!(read, division, "an edit that nobody noticed");
            }
            let edited = mutated(form.write(&plan).as_bytes(), &mut choices);
            if let Ok(read) = form.read(&String::from_utf8_lossy(&edited)) {
                let plain = |plan: &Plan| canonical(&without_annotations(plan));
                assert_eq!(plain(&read), plain(&plan), "an edit that nobody noticed");
            }
        }
    }
    if let Ok(nodes) = text::parse(written) {
        let theirs: Result<kdl::KdlDocument, _> = written.parse();
        assert_eq!(
            theirs.map(|d| d.nodes().len()).ok(),
            Some(nodes.len()),
            "{written}"
        );
    }
}

/// Any text as a contract, a zero, changes to its lines, a zero, any request: between a contract
/// and itself there is no difference, and what is not called weaker asks for all that was asked for
/// before, whatever is asked.
pub fn diff(bytes: &[u8]) {
    let [text, edits, asked] = fields(bytes);
    let Some(old) = checked("contracts/verify.vplan", text) else {
        return;
    };
    let found = compared(&old, &old);
    assert!(found.differences.is_empty(), "{found:?}");
    let new = mutated(text, &mut Choices(edits));
    let Some(new) = checked("contracts/verify.vplan", &new) else {
        return;
    };
    let found = compared(&old, &new);
    let back = compared(&new, &old);
    // Whoever only adds to what is asked takes away on the way back.
    let only = |found: &vplan::plan::diff::ContractDiff, class| {
        !found.differences.is_empty() && found.differences.iter().all(|d| d.class == class)
    };
    assert!(
        !(only(&found, Class::Cosmetic) && back.count(Class::Weakens) > 0),
        "{found:?}\n{back:?}"
    );
    if found.count(Class::Weakens) + found.count(Class::Undecided) > 0 {
        return;
    }
    let mut choices = Choices(asked);
    let request = Request {
        risk: choices.one(&[Risk::Medium, Risk::High]),
        min_tier: choices.one(&[0, 1, 2]),
        boundaries: if choices.byte() % 2 == 1 {
            vec![Boundary::RunEnd]
        } else {
            Vec::new()
        },
        ..Request::default()
    };
    let salt = choices.byte();
    // The files that are asked about: as given, and those that tell apart what the two select.
    let given = choices
        .0
        .split(|b| *b == b'\n')
        .filter_map(RepoPath::from_exact)
        .collect::<Vec<_>>();
    let mut sets: Vec<Vec<RepoPath>> = given.iter().map(|path| vec![path.clone()]).collect();
    sets.push(given);
    for files in sets {
        let changed = ChangeSet::new(
            files
                .into_iter()
                .map(|path| ChangedFile {
                    path,
                    status: Status::Modified,
                })
                .collect(),
        );
        for role in old
            .roles
            .keys()
            .filter(|role| new.roles.contains_key(*role))
        {
            let request = Request {
                changed: changed.clone(),
                role: Some(role.clone()),
                ..request.clone()
            };
            let (Some(before), Some(after)) = (
                answered(Some(&old), &request, salt).1,
                answered(Some(&new), &request, salt).1,
            ) else {
                continue;
            };
            for step in before
                .steps
                .iter()
                .filter(|s| s.is_effective() && s.origin == Origin::Contract)
            {
                assert!(
                    after.steps.iter().any(|other| covers(other, step)),
                    "`{}` is lost, and nobody said so: {request:?}\n{found:#?}",
                    step.id
                );
            }
        }
    }
}

fn compared(old: &Contract, new: &Contract) -> vplan::plan::diff::ContractDiff {
    let none = Sources::default();
    compare(
        &Side {
            contract: old,
            sources: &none,
        },
        &Side {
            contract: new,
            sources: &none,
        },
        &[],
    )
}

/// A directory, a zero, any names of files, a line each: `{changed}` is one argument a file, none
/// of which is an option, a list or a placeholder, and each of which is the file again; batches
/// together are the list.
pub fn substitute(bytes: &[u8]) {
    let [dir, names] = fields(bytes);
    let dir = RepoPath::parse(dir).unwrap_or_else(|_| RepoPath::root());
    let file = |name: &[u8]| {
        let (deleted, name) = name
            .strip_prefix(b"\x7f")
            .map_or((false, name), |rest| (true, rest));
        let status = if deleted {
            Status::Deleted
        } else {
            Status::Modified
        };
        RepoPath::from_exact(name).map(|path| ChangedFile { path, status })
    };
    let changed = ChangeSet::new(names.split(|b| *b == b'\n').filter_map(file).collect());
    let mut check = plain_check("each");
    check.body = Body::Command(command("tool {changed} end"));
    check.dir = dir.clone();
    let mut facts = Facts::default();
    facts.add(Question::MissingChanged, FactAnswer::List(Vec::new()));
    let request = Request {
        changed: changed.clone(),
        ..Request::default()
    };
    let plan = match compile(Some(&plain_contract(vec![check])), &request, &facts) {
        Ok(Compiled::Plan(plan)) => *plan,
        other => panic!("{other:?}"),
    };
    let wanted: Vec<&[u8]> = changed
        .files()
        .iter()
        .filter(|f| f.status != Status::Deleted)
        .filter_map(|f| {
            if dir.is_root() {
                Some(f.path.as_bytes())
            } else {
                f.path.below(&dir)
            }
        })
        .filter(|below| !below.is_empty())
        .collect();
    let mut got: Vec<Vec<u8>> = Vec::new();
    for step in &plan.steps {
        let argv = step.argv.as_deref().unwrap();
        let [tool, files @ .., end] = argv else {
            panic!("{argv:?}")
        };
        assert!(
            tool.as_bytes() == b"tool" && end.as_bytes() == b"end" && !files.is_empty(),
            "{argv:?}"
        );
        for word in files {
            assert!(
                !matches!(word.as_bytes(), [] | [b'-' | b'@', ..]),
                "{word:?} is no file to a tool"
            );
            got.push(
                word.as_bytes()
                    .strip_prefix(b"./")
                    .unwrap_or(word.as_bytes())
                    .to_vec(),
            );
        }
        // The text that is shown is the command again.
        let pieces = argv.iter().cloned().map(Piece::Word).collect();
        assert_eq!(
            parse_command(&step.command),
            Command::Argv {
                env: step.env.clone(),
                pieces
            },
            "{}",
            step.command
        );
    }
    assert_eq!(got, wanted);
}
