//! `vplan init` on trees shaped like real repositories: the contract that was wanted of each before
//! it could be read, and what became of every command that CI runs.

use crate::support::tree::copy;
use crate::support::{Project, Ran};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use vplan::base::command::{Command, Piece};
use vplan::base::diagnostic::Diagnostics;
use vplan::base::path::RepoPath;
use vplan::base::source::{Source, Sources};
use vplan::contract::draft::{CheckEntry, Verb, Written};
use vplan::declared::normal;
use vplan::front::lower;

fn trees() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/init")
}

/// The names of all trees.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(trees()).unwrap();
    let folders = entries.map(Result::unwrap).filter(|e| e.path().is_dir());
    let mut names: Vec<String> = folders
        .map(|e| e.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A check, as far as two contracts are compared: its command in normal form with its directory,
/// or what it imports.
fn checks(text: &str) -> BTreeMap<String, String> {
    let mut sources = Sources::default();
    let id = sources.add(Source::new("contracts/verify.vplan", text));
    let mut sink = Diagnostics::default();
    let draft = lower(&sources, id, &mut sink);
    assert!(!sink.has_errors(), "{sink:?}\n{text}");
    let mut found = BTreeMap::new();
    for import in text.lines().filter(|line| line.starts_with("import ")) {
        let words: Vec<&str> = import.split(' ').collect();
        let at = words.iter().skip_while(|word| **word != "at").nth(1);
        found.insert(
            format!("{}/", words[3]),
            format!("{} {}", words[1], at.unwrap_or(&"")),
        );
    }
    for entry in &draft.entries {
        let CheckEntry::Check(check) = entry else {
            continue;
        };
        let dir = check.settings.iter().find_map(|setting| {
            let Written::Text(dir) = &setting.value.value else {
                return None;
            };
            (setting.value.row.setting().word == "dir").then(|| dir.clone())
        });
        let form = match &check.verbs[0].value {
            Verb::Command(_, Command::Argv { pieces, .. }) => {
                let words: Vec<String> = pieces
                    .iter()
                    .map(|piece| match piece {
                        Piece::Word(word) => String::from_utf8_lossy(word.as_bytes()).into_owned(),
                        Piece::Changed => "{changed}".to_owned(),
                    })
                    .collect();
                let dir = RepoPath::parse(dir.clone().unwrap_or_default().as_bytes());
                normal::form(
                    &dir.unwrap_or_else(|_| RepoPath::root()),
                    &BTreeMap::new(),
                    &words,
                )
            }
            Verb::Shell(text) => {
                let text: Vec<&str> = text.split_whitespace().collect();
                format!("{} sh {}", dir.clone().unwrap_or_default(), text.join(" "))
            }
            other => panic!("{other:?}"),
        };
        let name = check.name.as_ref().unwrap().value.clone();
        found.insert(name, form);
    }
    found
}

/// A command as it is compared: words, without what only a shell reads.
fn words(text: &str) -> String {
    let text: String = text
        .chars()
        .filter(|c| !matches!(c, '"' | '\'' | '\\'))
        .collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line of an account, with what is wrong with it.
struct Account {
    out: Vec<(String, String)>,
    quiet: Vec<String>,
    loud: Vec<(String, Vec<String>)>,
}

fn account(name: &str) -> Account {
    let text = std::fs::read_to_string(trees().join(format!("{name}.account"))).unwrap();
    let mut account = Account {
        out: Vec::new(),
        quiet: Vec::new(),
        loud: Vec::new(),
    };
    for line in text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
    {
        let (kind, rest) = line.split_once(' ').unwrap();
        match kind {
            "out" => {
                let (reason, command) = rest.split_once(": ").unwrap();
                account.out.push((reason.to_owned(), words(command)));
            }
            "quiet" => account.quiet.push(rest.to_owned()),
            "loud" => {
                let mut all = rest.split(' ').map(str::to_owned);
                account.loud.push((all.next().unwrap(), all.collect()));
            }
            other => panic!("{name}: {other}"),
        }
    }
    account
}

/// The steps of a plan, with their kinds.
fn steps(project: &Project, args: &[&str]) -> Vec<(String, String)> {
    let fixed = [
        "plan",
        "--format",
        "json",
        "--role",
        "tester",
        "--min-tier",
        "2",
    ];
    let ran = project.run(&[&fixed[..], args].concat());
    ran.exits(0);
    let plan = ran.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let steps = plan["steps"].as_array().unwrap().iter();
    // A check whose changed files do not fit on one command line has several steps.
    let name = |id: String| id.split('#').next().unwrap_or_default().to_owned();
    let kind = |value: &Value| value.as_str().unwrap_or("run").to_owned();
    steps
        .map(|s| (name(text(&s["id"])), kind(&s["kind"])))
        .collect()
}

struct Score {
    name: String,
    wanted: usize,
    missing: Vec<String>,
    extra: Vec<String>,
    reasons: usize,
    wrong: Vec<String>,
    other: Vec<String>,
    checks: usize,
    lines: usize,
}

fn project(name: &str) -> Project {
    let project = Project::git_empty();
    // The name of the folder is the name of the contract.
    copy(&trees().join(name), &project.root());
    project.commit("begin");
    project
}

fn score(name: &str) -> Score {
    let project = project(name);
    let shown = project.run(&["init", "--stdout"]);
    shown.exits(0).is_quiet();
    let before = project.git(&["status", "--porcelain", "--ignored"]);
    assert_eq!(before, "", "{name}: nothing is written by --stdout");
    let ran: Ran = project.run(&["init", "--format", "json"]);
    ran.exits(0);
    let document = ran.json();
    let text = project.read("contracts/verify.vplan");
    assert_eq!(text, shown.out(), "{name}: the same bytes twice");
    assert_eq!(
        project.git(&["status", "--porcelain"]).trim(),
        "?? contracts/"
    );
    project.run(&["check"]).exits(0);
    project.run(&["fmt", "--check"]).exits(0);

    let wanted_text = std::fs::read_to_string(trees().join(format!("{name}.vplan"))).unwrap();
    let (got, wanted) = (checks(&text), checks(&wanted_text));
    let forms = |all: &BTreeMap<String, String>| all.values().cloned().collect::<BTreeSet<_>>();
    let wanted_forms = forms(&wanted);
    // A script or target that runs one command is as good as that command.
    let mut same: BTreeMap<String, String> = BTreeMap::new();
    for check in document["checks"].as_array().unwrap() {
        let runs = check["runs"].as_array().unwrap();
        if let ([one], Some(own)) = (&runs[..], got.get(check["name"].as_str().unwrap())) {
            let words: Vec<String> = one
                .as_str()
                .unwrap()
                .split(' ')
                .map(str::to_owned)
                .collect();
            let dir = RepoPath::parse(check["dir"].as_str().unwrap().as_bytes());
            let dir = dir.unwrap_or_else(|_| RepoPath::root());
            same.insert(own.clone(), normal::form(&dir, &BTreeMap::new(), &words));
        }
    }
    let as_wanted = |form: &String| match same.get(form) {
        Some(inner) if !wanted_forms.contains(form) && wanted_forms.contains(inner) => {
            inner.clone()
        }
        _ => form.clone(),
    };
    let got: BTreeMap<String, String> = got
        .iter()
        .map(|(name, form)| (name.clone(), as_wanted(form)))
        .collect();
    let got_forms = forms(&got);
    let account = account(name);

    let mut left: Vec<(String, String)> = document["leftOut"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let text = |key: &str| words(one[key].as_str().unwrap());
            (text("reason"), text("command"))
        })
        .collect();
    let mut wrong = Vec::new();
    for (reason, command) in &account.out {
        let same = left.iter().position(|(r, c)| r == reason && c == command);
        let alike = same.or_else(|| {
            left.iter()
                .position(|(r, c)| r == reason && c.contains(&**command))
        });
        match alike {
            Some(at) => drop(left.swap_remove(at)),
            None => {
                let found = left.iter().find(|(_, c)| c == command);
                let found = found.map_or("not in the account".to_owned(), |(r, _)| r.clone());
                wrong.push(format!("out {reason}: {command} ({found})"));
            }
        }
    }

    let mut other = Vec::new();
    for path in &account.quiet {
        for (check, kind) in steps(&project, &["--changed", path]) {
            if kind == "compile" || kind == "test" {
                other.push(format!("{path} selects {check}"));
            }
        }
    }
    for (path, named) in &account.loud {
        let selected = steps(&project, &["--changed", path]);
        for check in named {
            let Some(form) = wanted.get(check) else {
                continue;
            };
            let ours = got
                .iter()
                .find(|(_, other)| *other == form)
                .map(|(name, _)| name);
            // A command that is missing is counted already.
            let Some(ours) = ours else { continue };
            if !selected
                .iter()
                .any(|(name, _)| name == ours || name.starts_with(&**ours) && ours.ends_with('/'))
            {
                other.push(format!("{path} does not select {ours}"));
            }
        }
    }
    for check in document["checks"].as_array().unwrap() {
        let source = &check["source"];
        let file = project.read(source["file"].as_str().unwrap());
        let line = usize::try_from(source["line"].as_u64().unwrap()).unwrap();
        if file.lines().nth(line.wrapping_sub(1)).is_none() {
            other.push(format!("{}: its source is no line", check["name"]));
        }
    }
    Score {
        name: name.to_owned(),
        wanted: wanted_forms.len(),
        missing: wanted_forms.difference(&got_forms).cloned().collect(),
        extra: got_forms.difference(&wanted_forms).cloned().collect(),
        reasons: account.out.len(),
        wrong,
        other,
        checks: got.len(),
        lines: text.lines().count(),
    }
}

/// The proposal of every tree against the contract that is wanted of it.
#[test]
fn what_was_wanted() {
    let only = std::env::var("VPLAN_TREE").ok();
    let names = names();
    let scores: Vec<Score> = names
        .iter()
        .filter(|name| only.as_ref().is_none_or(|only| only == *name))
        .map(|name| score(name))
        .collect();
    let (mut wanted, mut missing, mut reasons, mut wrong) = (0, 0, 0, 0);
    let mut faults = Vec::new();
    for score in &scores {
        println!(
            "{}: {} of {} commands, {} more; {} of {} reasons; {} checks, {} lines",
            score.name,
            score.wanted - score.missing.len(),
            score.wanted,
            score.extra.len(),
            score.reasons - score.wrong.len(),
            score.reasons,
            score.checks,
            score.lines
        );
        for (what, list) in [
            ("missing", &score.missing),
            ("more", &score.extra),
            ("reason", &score.wrong),
            ("condition", &score.other),
        ] {
            list.iter().for_each(|one| println!("    {what}: {one}"));
        }
        wanted += score.wanted;
        missing += score.missing.len();
        reasons += score.reasons;
        wrong += score.wrong.len();
        if score.missing.len() * 5 > score.wanted {
            faults.push(format!("{}: fewer than four fifths", score.name));
        }
        if !score.extra.is_empty() {
            faults.push(format!("{}: {:?} was not wanted", score.name, score.extra));
        }
        faults.extend(
            score
                .other
                .iter()
                .map(|one| format!("{}: {one}", score.name)),
        );
        if score.checks > 20 || score.lines > 120 {
            faults.push(format!(
                "{}: {} checks in {} lines",
                score.name, score.checks, score.lines
            ));
        }
    }
    println!(
        "all: {} of {wanted} commands, {} of {reasons} reasons",
        wanted - missing,
        reasons - wrong
    );
    if missing * 10 > wanted {
        faults.push("fewer than nine tenths of all commands".to_owned());
    }
    if wrong * 10 > reasons {
        faults.push("fewer than nine tenths of all reasons".to_owned());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(only.is_some() || names.len() >= 16, "{names:?}");
}

/// What a repository's fixtures declare is not declared for the repository.
#[test]
fn fixtures_declare_nothing() {
    let project = Project::git_empty();
    for name in names() {
        copy(
            &trees().join(&name),
            &project.path(format!("tests/fixtures/{name}")),
        );
    }
    project.commit("begin");
    let ran = project.run(&["init", "--format", "json"]);
    ran.exits(0);
    let document = ran.json();
    assert_eq!(document["checks"], serde_json::json!([]), "{document:#}");
}
