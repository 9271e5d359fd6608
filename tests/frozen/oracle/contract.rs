//! Contracts as text, in every form in which they are read, up to the plan that they give.

use super::choices::{Choices, fields};
use super::plan::holds_of_plan;
use crate::reference::plan::{right, said};
use std::collections::BTreeSet;
use vplan::base::change::{ChangeSet, ChangedFile, Status};
use vplan::base::command::Command;
use vplan::base::diagnostic::Diagnostics;
use vplan::base::folders::{EachQuestion, FolderAnswers};
use vplan::base::path::RepoPath;
use vplan::base::setting::Row;
use vplan::base::source::{Source, Sources};
use vplan::base::span::Place;
use vplan::base::word::Word;
use vplan::base::workspace::{FoundMembers, Manifest, Member};
use vplan::contract::caps::Caps;
use vplan::contract::draft::{Draft, Rows};
use vplan::contract::validate::validate;
use vplan::contract::{Body, Check, Contract, Test};
use vplan::effect::repo::changes::list::{ListFormat, parse};
use vplan::front;
use vplan::front::convert::{Format, convert as convert_text, recognize, text as text_of, verify};
use vplan::front::print::{Comments, print};
use vplan::lang::command::parse_command;
use vplan::plan::compile::{Compiled, compile};
use vplan::plan::facts::{Certainty, FactAnswer, Facts, Question};
use vplan::plan::request::{Boundary, Mode, Request, Risk, Selector, Skip};
use vplan::plan::skeleton::without_contract;

/// Any bytes as a contract: parsing is total, places lie inside, what is right round-trips.
pub fn contract(bytes: &[u8]) {
    super::language::contract(bytes).unwrap();
}

/// Any bytes as a contract: what is laid out says the same, keeps its comments, and is laid out
/// once and for all.
pub fn fmt(bytes: &[u8]) {
    super::language::fmt(bytes).unwrap();
}

/// Any bytes as the file of any other tool: reading ends, and what is accepted converts to a text
/// that reads as the same.
pub fn convert(bytes: &[u8]) {
    for format in Format::ALL {
        converted(format, bytes).unwrap();
    }
}

/// Any bytes as any format: reading ends without a panic, and what is accepted is written as a text
/// that reads as the same.
///
/// # Errors
/// What does not hold.
pub fn converted(format: Format, bytes: &[u8]) -> Result<(), String> {
    let mut sources = Sources::default();
    let text = String::from_utf8_lossy(bytes);
    let _ = recognize("-", &text);
    let id = sources.add(Source::new("fuzz", &text));
    let mut sink = Diagnostics::default();
    let converted = convert_text(&sources, id, format, &mut sink);
    let inside = |place: Place| {
        let end = sources.get(place.source).map_or(0, |s| s.text().len());
        place.span.end <= end
            && sources
                .get(place.source)
                .is_some_and(|s| s.text().get(place.span.start..place.span.end).is_some())
    };
    if let Some(bad) = sink
        .iter()
        .find(|d| d.labels.is_empty() || !d.labels.iter().all(|l| inside(l.place)))
    {
        return Err(format!("{}: a label outside the text", bad.code));
    }
    match converted {
        None if sink.has_errors() => Ok(()),
        None => Err("refused without a word".to_owned()),
        Some(conversion) => {
            if let Some(bad) = conversion
                .lost
                .iter()
                .find(|l| !inside(l.place) || l.what.contains('\n'))
            {
                return Err(format!("the account points outside the text: {bad:?}"));
            }
            let written = text_of(&conversion, &sources);
            verify(&conversion, &sources, &written)
                .map(|_| ())
                .map_err(|e| format!("{e}\n{written}"))
        }
    }
}

/// What a text says, before it is checked, in a repository that has every folder that it asks for,
/// once as `a` and once as `b`; as packages, `b` uses `a`.
pub fn drafted(name: &str, text: &[u8]) -> (Sources, Draft, Diagnostics) {
    drafted_among(name, text, |asked| {
        let EachQuestion::Folders(query) = asked else {
            return Some(packages());
        };
        let folder = |name: &[u8]| query.folder(&vec![name; query.stars()]);
        let folders = [b"a", b"b"].iter();
        Some(folders.filter_map(|name| folder(*name)).collect())
    })
}

fn packages() -> FoundMembers {
    let [a, b] = ["a", "b"].map(|name| RepoPath::parse(name.as_bytes()).unwrap_or_default());
    let member = |name: &str, uses| Member {
        name: format!("@x/{name}"),
        uses,
    };
    let uses = BTreeSet::from([a.clone()]);
    FoundMembers {
        manifest: Some(Manifest::Npm),
        members: [(a, member("a", BTreeSet::new())), (b, member("b", uses))].into(),
    }
}

/// What a text says in a repository with the folders that `answer` gives, or of which nothing is
/// known.
pub fn drafted_among(
    name: &str,
    text: &[u8],
    answer: impl Fn(&EachQuestion) -> Option<FoundMembers>,
) -> (Sources, Draft, Diagnostics) {
    let mut sources = Sources::default();
    let id = sources.add(Source::new(name, &String::from_utf8_lossy(text)));
    let mut known = FolderAnswers::new();
    loop {
        let mut sink = Diagnostics::default();
        let root = RepoPath::root();
        let draft = front::lower_for(&sources, id, &root, &known, Rows::default(), &mut sink);
        let open = draft
            .asked
            .keys()
            .filter(|query| !known.contains_key(query));
        let found = open.filter_map(|query| Some((query.clone(), answer(query)?)));
        let found: Vec<_> = found.collect();
        if found.is_empty() {
            return (sources, draft, sink);
        }
        known.extend(found);
    }
}

/// Reads a text and checks it. All that is said of it is one line, about a place that there is.
pub fn checked(name: &str, text: &[u8]) -> Option<Contract> {
    let (sources, draft, mut sink) = drafted(name, text);
    let contract = validate(&draft, &sources, &mut sink);
    for diagnostic in sink.iter() {
        assert!(
            !diagnostic.message.contains('\n') && !diagnostic.message.ends_with('.'),
            "{diagnostic:?}"
        );
        for label in &diagnostic.labels {
            let source = sources.get(label.place.source).expect("a source");
            assert!(
                source
                    .text()
                    .get(label.place.span.start..label.place.span.end)
                    .is_some(),
                "{diagnostic:?}"
            );
        }
    }
    assert_eq!(
        contract.is_none(),
        sink.has_errors(),
        "refused without a word, or accepted with one"
    );
    // What is written of a draft in the language of its own is the same contract. JSON may hold
    // what the language refuses: commands that need a shell, which `vplan import` writes
    // otherwise.
    let refused = |check: &Check| matches!(check.body, Body::Command(Command::Unsupported { .. }));
    if contract
        .as_ref()
        .is_some_and(|c| !c.checks.iter().any(refused))
        && sink.is_empty()
    {
        let text = print(&draft, &Comments::default());
        let (_, again, said) = drafted("contracts/verify.vplan", text.as_bytes());
        assert!(!said.has_errors(), "{said:?}\n{text}");
        assert_eq!(again.entries.len(), draft.entries.len(), "{text}");
        assert_eq!(again.digest.is_some(), draft.digest.is_some(), "{text}");
    }
    contract
}

/// Any text as a contract, a zero, any decisions, a zero, any list of changed files: it is read,
/// checked and compiled, and the plan is the one that a naive evaluator gives of what was checked;
/// it says who it is, is in order, keeps to its limits, and reads back from each of its forms.
pub fn request(bytes: &[u8]) {
    let [text, decisions, changed] = fields(bytes);
    let is_json = text.trim_ascii_start().first() == Some(&b'{');
    let name = if is_json {
        "contracts/verify.contract.json"
    } else {
        "contracts/verify.vplan"
    };
    let Some(contract) = checked(name, text) else {
        return;
    };
    let caps = Caps::default();
    assert!(contract.checks.len() <= caps.checks);
    let mut choices = Choices(decisions);
    let format = choices.one(&[ListFormat::Names, ListFormat::NameStatus, ListFormat::Raw]);
    let files = parse(changed, format, false).unwrap_or_else(|_| {
        let path = |line: &[u8]| RepoPath::from_exact(line);
        changed
            .split(|b| *b == b'\n')
            .filter_map(path)
            .map(|path| ChangedFile {
                path,
                status: Status::Modified,
            })
            .collect()
    });
    let request = asked(&contract, &mut choices, files);
    let salt = choices.byte();
    let (facts, plan) = answered(Some(&contract), &request, salt);
    let Some(plan) = plan else {
        if is_small(&contract, &request) {
            assert_eq!(
                right(Some(&contract), &without_contract(), &request, &facts),
                None,
                "{request:?}"
            );
        }
        return;
    };
    holds_of_plan(&plan);
    if let Some(most) = contract.limits.max_checks {
        let added = plan
            .steps
            .iter()
            .filter(|s| s.origin != vplan::plan::Origin::Contract);
        assert!(
            u64::try_from(added.filter(|s| s.batch_of.is_none()).count()).unwrap() <= most,
            "{plan:?}"
        );
    }
    // The same files, named in another order, twice: the same plan to the last byte.
    let mut turned: Vec<ChangedFile> = request.changed.files().to_vec();
    turned.reverse();
    turned.extend(request.changed.files().first().cloned());
    let turned = Request {
        changed: ChangeSet::new(turned),
        ..request.clone()
    };
    match compile(Some(&contract), &turned, &facts) {
        Ok(Compiled::Plan(other)) => assert_eq!(*other, plan),
        other => panic!("{other:?}"),
    }
    if is_small(&contract, &request) {
        let right = right(Some(&contract), &without_contract(), &request, &facts);
        assert_eq!(Some(said(&plan)), right, "{request:?}\n{facts:?}");
    }
}

/// A request that knows the contract's names.
fn asked(contract: &Contract, choices: &mut Choices<'_>, files: Vec<ChangedFile>) -> Request {
    let mut request = Request {
        changed: ChangeSet::new(files),
        ..Request::default()
    };
    let roles: Vec<&String> = contract.roles.keys().collect();
    let role = usize::from(choices.byte());
    request.role = roles.get(role % (roles.len() + 1)).map(|r| (*r).clone());
    request.risk = choices.one(&[Risk::Medium, Risk::Low, Risk::High]);
    request.min_tier = choices.one(&[0, 1, 2]);
    request.boundaries = match choices.byte() % 4 {
        0 | 1 => Vec::new(),
        2 => vec![Boundary::MilestoneEnd],
        _ => vec![Boundary::MilestoneEnd, Boundary::RunEnd],
    };
    request.mode = choices.one(&[Mode::Contract, Mode::Fallback, Mode::Off]);
    request.keep_going = choices.byte() % 2 == 1;
    request.inferred = vec![("inferred-test".to_owned(), parse_command("make test"))];
    let names: Vec<&str> = contract
        .checks
        .iter()
        .filter(|c| c.named)
        .map(|c| c.id.as_str())
        .collect();
    let tags: Vec<&String> = contract.checks.iter().flat_map(|c| &c.tags).collect();
    for _ in 0..choices.byte() % 4 {
        let (what, which) = (choices.byte() % 4, usize::from(choices.byte()));
        match what {
            0 if !names.is_empty() => request
                .only
                .push(Selector::Name(names[which % names.len()].to_owned())),
            1 if !tags.is_empty() => request
                .only
                .push(Selector::Tag(tags[which % tags.len()].clone())),
            2 if !names.is_empty() => {
                request.skip.push(Skip {
                    name: names[which % names.len()].to_owned(),
                    reason: "known".to_owned(),
                });
            }
            _ => {
                let known = contract.checks.iter().filter_map(|c| match &c.body {
                    Body::Command(command) => Some(command.clone()),
                    _ => None,
                });
                let known: Vec<_> = known
                    .chain(["fmt {changed}", "a | b", "true"].map(parse_command))
                    .collect();
                request
                    .explicit
                    .push(known[which % known.len()].clone().into());
            }
        }
    }
    request
}

/// Answers each question as the salt says, until there is a plan.
pub fn answered(
    contract: Option<&Contract>,
    request: &Request,
    salt: u8,
) -> (Facts, Option<vplan::plan::Plan>) {
    let mut facts = Facts::default();
    for _ in 0..16 {
        match compile(contract, request, &facts) {
            Ok(Compiled::Plan(plan)) => return (facts, Some(*plan)),
            Err(_) => return (facts, None),
            Ok(Compiled::Needs(questions)) => {
                assert!(!questions.is_empty(), "needs nothing");
                for question in questions {
                    assert!(facts.get(&question).is_none(), "asks twice: {question:?}");
                    let dice = question
                        .to_word()
                        .as_bytes()
                        .iter()
                        .fold(salt, |sum, b| sum.wrapping_mul(31).wrapping_add(*b))
                        % 3;
                    let answer = match &question {
                        Question::MissingChanged => {
                            let missing = request
                                .changed
                                .files()
                                .iter()
                                .filter(|f| f.path.as_bytes().len() % 3 == usize::from(dice));
                            FactAnswer::List(
                                missing.map(|f| Word::new(f.path.as_bytes())).collect(),
                            )
                        }
                        _ => FactAnswer::Word(
                            [Certainty::Yes, Certainty::No, Certainty::Unknown][usize::from(dice)],
                        ),
                    };
                    facts.add(question, answer);
                }
            }
        }
    }
    panic!("it never stops asking");
}

/// Whether trying everything ends in time.
fn is_small(contract: &Contract, request: &Request) -> bool {
    let globs = vplan::arbitrary::glob::globs_of(
        contract
            .conditions
            .iter()
            .filter_map(|c| match &c.test {
                Test::ChangedAny(s)
                | Test::ChangedAll(s)
                | Test::ChangedOnly(s)
                | Test::ChangedNone(s) => Some(s),
                Test::Role(_) | Test::Exists(_) | Test::ExistsAny(_) | Test::Absent(_) => None,
            })
            .chain(contract.risks.iter().map(|r| &r.selection)),
    );
    let artifacts = contract
        .checks
        .iter()
        .flat_map(|c| [Row::Produces, Row::Cleans, Row::Requires].map(|row| c.globs(row)))
        .flatten();
    let is_plain = |text: &str| text.matches(['*', '{', '?']).count() <= 4 && text.len() <= 40;
    // Where two globs with stars may meet is decided by search here, and by trying names there.
    let artifacts: Vec<&str> = artifacts.map(|g| g.text()).collect();
    let files = request.changed.files();
    globs.iter().all(|g| is_plain(g.text()))
        && artifacts.iter().all(|g| !g.contains(['*', '?', '[', '{']))
        && contract.checks.len() <= 12
        && files.len() <= 12
        && files.iter().all(|f| f.path.as_bytes().len() <= 60)
}
