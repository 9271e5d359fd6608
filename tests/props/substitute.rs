//! Laws of `{changed}`: one file, one argument; nothing split, nothing read twice, nothing that
//! looks like an option.

use proptest::prelude::*;
use vplan::arbitrary::config;
use vplan::arbitrary::glob::path;
use vplan::arbitrary::plan::{command, plain_check, plain_contract};
use vplan::base::change::{ChangeSet, ChangedFile, Status};
use vplan::base::path::RepoPath;
use vplan::base::word::Word;
use vplan::contract::Body;
use vplan::plan::Plan;
use vplan::plan::compile::{Compiled, compile};
use vplan::plan::facts::{FactAnswer, Facts, Question};
use vplan::plan::request::Request;

/// Names that an option, a response file, a placeholder, a glob or a shell would be made of.
fn hostile() -> impl Strategy<Value = RepoPath> {
    const NAMES: [&str; 14] = [
        "-rf",
        "--help",
        "@args",
        "{changed}",
        "{}",
        "a b",
        "$HOME",
        "`id`",
        "a\nb",
        "'",
        "\"",
        "*",
        "~",
        "-",
    ];
    let name = prop::sample::select(&NAMES[..]).prop_map(|n| n.as_bytes().to_vec());
    let names = prop::collection::vec(
        prop_oneof![3 => name, 1 => prop::collection::vec(1_u8.., 1..6)],
        1..4,
    );
    names.prop_filter_map("no path", |names| RepoPath::from_exact(&names.join(&b'/')))
}

fn files(most: usize) -> impl Strategy<Value = ChangeSet> {
    let one = prop_oneof![2 => hostile(), 1 => path()];
    prop::collection::vec(one, 0..most).prop_map(|paths| {
        let file = |path| ChangedFile {
            path,
            status: Status::Modified,
        };
        ChangeSet::new(paths.into_iter().map(file).collect())
    })
}

fn planned(text: &str, dir: &str, changed: &ChangeSet) -> Plan {
    let mut check = plain_check("each");
    check.body = Body::Command(command(text));
    check.dir = RepoPath::parse(dir.as_bytes()).unwrap();
    let mut facts = Facts::default();
    facts.add(Question::MissingChanged, FactAnswer::List(Vec::new()));
    let request = Request {
        changed: changed.clone(),
        ..Request::default()
    };
    match compile(Some(&plain_contract(vec![check])), &request, &facts) {
        Ok(Compiled::Plan(plan)) => *plan,
        other => panic!("{other:?}"),
    }
}

/// What stands for `{changed}` in `tool {changed} end`.
fn substituted(plan: &Plan) -> Vec<Word> {
    plan.steps
        .iter()
        .flat_map(|s| s.argv.as_ref().map(|a| a[1..a.len() - 1].to_vec()).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn subst_one_path_one_arg(changed in files(12)) {
        let plan = planned("tool {changed} end", ".", &changed);
        if changed.is_empty() {
            prop_assert!(plan.steps.is_empty());
        } else {
            prop_assert_eq!(plan.steps[0].argv.as_ref().unwrap().len(), 2 + changed.len());
            let twice = planned("tool {changed} and {changed}", ".", &changed);
            prop_assert_eq!(twice.steps[0].argv.as_ref().unwrap().len(), 2 + 2 * changed.len());
        }
    }

    #[test]
    fn subst_no_leading_dash(changed in files(12), below in any::<bool>()) {
        // Also where the name begins with one only because the directory in front is gone.
        let dir = if below { "-rf" } else { "." };
        for word in substituted(&planned("tool {changed} end", dir, &changed)) {
            prop_assert!(!matches!(word.as_bytes(), [] | [b'-' | b'@', ..]), "{:?}", word);
        }
    }

    #[test]
    fn subst_reversible(changed in files(12)) {
        let words = substituted(&planned("tool {changed} end", ".", &changed));
        let back: Vec<&[u8]> = words.iter().map(|w| w.as_bytes().strip_prefix(b"./").unwrap_or(w.as_bytes())).collect();
        let paths: Vec<&[u8]> = changed.files().iter().map(|f| f.path.as_bytes()).collect();
        prop_assert_eq!(back, paths);
    }

    /// What a name says is never read: as a placeholder, as quotes, as a variable; not in the text that is shown either.
    #[test]
    fn subst_no_reexpansion(changed in files(12)) {
        let plan = planned("tool {changed} end", ".", &changed);
        for step in &plan.steps {
            use vplan::base::command::{Command, Piece};
            let pieces = step.argv.iter().flatten().cloned().map(Piece::Word).collect();
            let env = step.env.clone();
            prop_assert_eq!(vplan::lang::command::parse_command(&step.command), Command::Argv { env, pieces });
        }
        prop_assert_eq!(substituted(&plan).len(), changed.len());
    }

    #[test]
    fn subst_empty_policy(changed in files(6), other in files(6)) {
        // Deleted, or elsewhere: there is nothing left, and a tool without files would take all of them.
        let gone = changed.files().iter().map(|f| ChangedFile { status: Status::Deleted, ..f.clone() }).collect();
        let elsewhere: Vec<ChangedFile> = other.files().iter().filter(|f| !f.path.as_bytes().starts_with(b"docs/")).cloned().collect();
        for plan in [planned("tool {changed} end", ".", &ChangeSet::new(gone)), planned("tool {changed} end", "docs", &ChangeSet::new(elsewhere))] {
            prop_assert!(plan.steps.is_empty());
            prop_assert_eq!(plan.omitted.len(), 1);
            prop_assert_eq!(&plan.omitted[0].reasons[0].condition, "changed");
        }
    }
}

proptest! {
    #![proptest_config(config(256))]

    /// Batches, put together, are the list; each is within the limits and has at least one file.
    #[test]
    fn subst_batches_partition(count in 1_usize..200, length in prop::sample::select(&[1_usize, 700, 2_000, 5_000, 131_000][..]), more in 0_usize..3) {
        // Many short names are as good as a few long ones; the limit of the number is met once in a while.
        let count = if length == 1 && count % 64 == 0 { 3_999 + more } else if length == 131_000 { count % 3 + 1 } else { count };
        let file = |i: usize| ChangedFile { path: RepoPath::from_exact(format!("{i:05}{}", "x".repeat(length)).as_bytes()).unwrap(), status: Status::Added };
        let changed = ChangeSet::new((0..count).map(file).collect());
        let plan = planned("tool {changed} end", ".", &changed);
        let words = substituted(&plan);
        prop_assert_eq!(words.len(), count);
        prop_assert!(words.iter().zip(changed.files()).all(|(w, f)| w.as_bytes() == f.path.as_bytes()));
        for step in &plan.steps {
            let argv = step.argv.as_ref().unwrap();
            let bytes: usize = argv.iter().map(|w| w.as_bytes().len() + 1).sum();
            prop_assert!((3..=4_002).contains(&argv.len()));
            prop_assert!(bytes <= 128 * 1024 || argv.len() == 3, "{}", bytes);
        }
        prop_assert_eq!(plan.steps.len() == 1, plan.steps[0].batch_of.is_none());
    }
}
