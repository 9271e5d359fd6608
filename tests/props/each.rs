//! Laws of `each`: it means what is written out by hand, its rows have no order but the file's, and
//! laying it out changes nothing. Over folders it means the values that are their names.

use crate::frozen::oracle::contract::drafted_among;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::collections::{BTreeMap, BTreeSet};
use vplan::arbitrary::config;
use vplan::base::change::{ChangeSet, ChangedFile, Status};
use vplan::base::folders::EachQuestion;
use vplan::base::path::RepoPath;
use vplan::base::source::{Source, Sources};
use vplan::base::span::SourceId;
use vplan::base::workspace::{FoundMembers, Manifest, Member};
use vplan::contract::validate::validate;
use vplan::contract::{Check, Contract};
use vplan::lang::layout::{Formatted, reformat};
use vplan::lang::parse::ParserCaps;
use vplan::plan::compile::{Compiled, compile};
use vplan::plan::diff::contracts::{Side, compare};
use vplan::plan::digest::digest;
use vplan::plan::facts::{FactAnswer, Facts, Question};
use vplan::plan::request::{Boundary, Request};
use vplan::plan::{Plan, Step};

/// What an `each` may hold: `‹x›` is the value of the outer one, `‹y›` that of the inner one.
const ITEMS: &[&str] = &[
    "check a#-‹x›: run ‹x› \"‹x›.y\" '{x}' w‹x›\n",
    "whenChangedAny \"d/‹x›/**\" \"!d/‹x›/no\" {\ncheck b#-‹x› {\nrun t ‹x›\nneeds all-*\nenv V=\"‹x› z\"\n}\n}\n",
    "check c#-‹x› {\nrun c\ntags r-‹x› t\ntimeout 1m30s\ndir \"d/‹x›\"\n}\n",
    "tier 1 {\ncheck e#-‹x› {\ntest e ‹x›\nexclusive r-‹x›\n}\n}\n",
    "run anonymous ‹x› #\n",
    "paths p#-‹x› = \"d/‹x›/**\"\nwhenChangedNone p#-‹x› {\ncheck f#-‹x›: f ‹x›\n}\n",
    "check g#-‹x›: g\nsequence g#-‹x› -> all-‹x›\n",
    "‹each›check i#-‹x›-‹y›: i ‹x› ‹y›\nwhenChangedOnly \"d/‹y›/**\" {\ncheck j#-‹x›-‹y›: j ‹x›‹y›\n}\n}\n",
];

fn values() -> impl Strategy<Value = Vec<String>> {
    btree_set("[a-z0-9]{1,2}", 1..4).prop_map(|set| set.into_iter().collect())
}

/// Writes the `each`: its text, and by hand.
fn texts(rows: &[String], inner: &[String], items: &[usize]) -> (String, String) {
    let body = |n: usize, item: &usize| ITEMS[*item].replace('#', &n.to_string());
    let items: Vec<String> = items
        .iter()
        .enumerate()
        .map(|(n, item)| body(n, item))
        .collect();
    let all = format!("check all-‹x›: all\n{}", items.concat());
    let each = format!("each y in {} {{\n", inner.join(" "));
    let written = all
        .replace("‹each›", &each)
        .replace("‹x›", "{x}")
        .replace("‹y›", "{y}");
    let written = format!("vplan 1\neach x in {} {{\n{written}}}\n", rows.join(" "));
    let of_row = |row: &String| {
        let mut text = String::new();
        for item in std::iter::once("check all-‹x›: all\n".to_owned()).chain(items.iter().cloned())
        {
            match item
                .strip_prefix("‹each›")
                .and_then(|rest| rest.strip_suffix("}\n"))
            {
                Some(rest) => inner
                    .iter()
                    .for_each(|y| text.push_str(&rest.replace("‹y›", y))),
                None => text.push_str(&item),
            }
        }
        text.replace("‹x›", row)
    };
    let by_hand: String = rows.iter().map(of_row).collect();
    (written, format!("vplan 1\n{by_hand}"))
}

fn read(text: &str) -> Result<Contract, TestCaseError> {
    read_among(text, None)
}

/// Reads a contract in a repository with these files, or one of which nothing is known.
fn read_among(text: &str, files: Option<&[RepoPath]>) -> Result<Contract, TestCaseError> {
    let name = "contracts/verify.vplan";
    let (sources, draft, mut sink) = drafted_among(name, text.as_bytes(), |asked| {
        let (EachQuestion::Folders(query), files) = (asked, files?.iter()) else {
            return None;
        };
        Some(files.filter_map(|file| query.folder_of(file)).collect())
    });
    let contract = validate(&draft, &sources, &mut sink);
    contract.ok_or_else(|| TestCaseError::fail(format!("{text}\n{:?}", sink.sorted())))
}

/// Reads a contract in a repository with this workspace.
fn read_with(text: &str, found: &FoundMembers) -> Result<Contract, TestCaseError> {
    let name = "contracts/verify.vplan";
    let known = |asked: &EachQuestion| {
        let is_workspace = matches!(asked, EachQuestion::Workspace(_));
        is_workspace.then(|| found.clone())
    };
    let (sources, draft, mut sink) = drafted_among(name, text.as_bytes(), known);
    let contract = validate(&draft, &sources, &mut sink);
    contract.ok_or_else(|| TestCaseError::fail(format!("{text}\n{:?}", sink.sorted())))
}

/// The packages `p0`, `p1`, … of a workspace of Go, by the numbers of those that each uses.
fn workspace(uses: &[BTreeSet<usize>]) -> FoundMembers {
    let folder = |at: usize| RepoPath::parse(format!("p{at}").as_bytes()).unwrap();
    let member = |(at, uses): (usize, &BTreeSet<usize>)| {
        let uses = uses
            .iter()
            .filter(|used| **used != at)
            .map(|used| folder(*used));
        let name = format!("n{at}");
        (
            folder(at),
            Member {
                name,
                uses: uses.collect(),
            },
        )
    };
    FoundMembers {
        manifest: Some(Manifest::Go),
        members: uses.iter().enumerate().map(member).collect(),
    }
}

/// A package and all that it uses.
fn reached(uses: &[BTreeSet<usize>], from: usize) -> BTreeSet<usize> {
    let (mut all, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        if all.insert(at) {
            open.extend(&uses[at]);
        }
    }
    all
}

/// The ids, commands and folders of the steps.
fn started(contract: &Contract, changed: &[String]) -> Result<Vec<String>, TestCaseError> {
    let steps = steps(contract, changed)?.into_iter();
    Ok(steps
        .map(|step| format!("{} {} {}", step.id, step.command, step.dir))
        .collect())
}

fn plan(contract: &Contract, changed: &[String]) -> Result<Plan, TestCaseError> {
    let file = |path: &String| ChangedFile {
        path: RepoPath::from_exact(path.as_bytes()).unwrap(),
        status: Status::Modified,
    };
    let request = Request {
        changed: ChangeSet::new(changed.iter().map(file).collect()),
        boundaries: vec![Boundary::RunEnd],
        ..Request::default()
    };
    let mut facts = Facts::default();
    facts.add(Question::MissingChanged, FactAnswer::List(Vec::new()));
    match compile(Some(contract), &request, &facts) {
        Ok(Compiled::Plan(plan)) => Ok(*plan),
        _ => Err(TestCaseError::fail("no plan")),
    }
}

/// The steps without what says where they are written.
fn steps(contract: &Contract, changed: &[String]) -> Result<Vec<Step>, TestCaseError> {
    let mut plan = plan(contract, changed)?;
    for step in &mut plan.steps {
        step.source = None;
        step.each.clear();
        step.reasons
            .iter_mut()
            .for_each(|reason| reason.line = None);
    }
    Ok(plan.steps)
}

/// What an `each` over folders may hold whatever their names are.
const OF_ANY_NAME: &[&str] = &[
    "run t {x} \"{x}.y\" '{x}' w{x} {changed}\n",
    "whenChangedAny \"r/{x}/**\" \"!r/{x}/no\" {\nrun V=\"{x} z\" in {x}\n}\n",
    "whenChangedNone \"r/{x}/a*\" {\nrun none {x}\n}\n",
    "whenChangedOnly \"r/{x}\" \"r/*/{x}\" {\ntier 1 {\nrun only {x}\n}\n}\n",
    "each y in-folders \"r/{x}/*\" {\nwhenChangedAll \"r/{x}/{y}/*\" {\nrun u {x}{y} \"{y}\"\n}\n}\n",
];

/// Names of folders: most hold something that means something elsewhere.
fn folder_name() -> impl Strategy<Value = String> {
    let odd = select(vec![
        "*",
        "**",
        "?",
        "[a]",
        "{x}",
        "{y}",
        "{a,b}",
        "{changed}",
        "{",
        "}",
        "\\",
        "!",
        "#",
        "'",
        "\"",
        " ",
        "$X",
        "$(x)",
        "`",
        ",",
        "->",
        "in",
        "with",
        "\n",
        "\t",
        "é",
        "日",
        "\u{202e}",
        "-rf",
        "=",
        ":",
        "~",
    ]);
    let part = prop_oneof![2 => "[a-c]", 3 => odd.prop_map(str::to_owned)];
    vec(part, 1..4).prop_map(|parts| parts.concat())
}

/// Files in folders `r/NAME` and `r/NAME/NAME`; each folder has a folder.
fn files(name: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = Vec<RepoPath>> {
    let folder = (name.clone(), btree_set(name, 1..3));
    vec(folder, 1..4).prop_map(|folders| {
        let inner = folders
            .iter()
            .flat_map(|(x, all)| all.iter().map(move |y| format!("r/{x}/{y}/f")));
        inner
            .map(|path| RepoPath::from_exact(path.as_bytes()).unwrap())
            .collect()
    })
}

/// The same blocks over the values that are the names of the folders, one outer value at a time.
fn over_values(text: &str, files: &[RepoPath]) -> String {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        let path = std::str::from_utf8(file.as_bytes()).unwrap();
        let mut names = path.split('/').skip(1);
        folders
            .entry(names.next().unwrap())
            .or_default()
            .insert(names.next().unwrap());
    }
    let value = |name: &str| {
        let bytes: String = name.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
        format!("$'{bytes}'")
    };
    let blocks = folders.iter().map(|(x, inner)| {
        let inner: Vec<String> = inner.iter().map(|y| value(y)).collect();
        text.replace("in-folders \"r/*\"", &format!("in {}", value(x)))
            .replace("in-folders \"r/{x}/*\"", &format!("in {}", inner.join(" ")))
    });
    blocks.collect()
}

fn over_folders(all: &[&str], items: &[usize]) -> String {
    let item = |(n, item): (usize, &usize)| all[*item].replace('#', &n.to_string());
    let items: String = items.iter().enumerate().map(item).collect();
    format!("each x in-folders \"r/*\" {{\n{items}}}\n")
        .replace("‹each›", "each y in-folders \"r/{x}/*\" {\n")
        .replace("‹x›", "{x}")
        .replace("‹y›", "{y}")
}

fn equal_to_values(
    block: &str,
    files: &[RepoPath],
    changed: &[String],
) -> Result<(), TestCaseError> {
    let over_folders = format!("vplan 1\n{block}");
    let over_values = format!("vplan 1\n{}", over_values(block, files));
    let (folders, values) = (read_among(&over_folders, Some(files))?, read(&over_values)?);
    prop_assert_eq!(
        steps(&folders, changed)?,
        steps(&values, changed)?,
        "{}\n{}",
        &over_folders,
        &over_values
    );
    let rows = |contract: &Contract| {
        let row = |check: &Check| (check.id.clone(), contract.row_of(check.place));
        contract.checks.iter().map(row).collect::<Vec<_>>()
    };
    prop_assert_eq!(rows(&folders), rows(&values));
    // Read alone, nothing is known of folders, and nothing is wrong.
    prop_assert!(read(&over_folders).is_ok());
    Ok(())
}

proptest! {
    #![proptest_config(config(512))]

    /// Over folders it is the `each` over their names.
    #[test]
    fn over_folders_it_is_what_is_over_their_names(
        files in files("[a-z0-9]{1,2}".boxed()),
        items in vec(0..ITEMS.len(), 0..5),
        changed in btree_set("d/[a-z0-9]{1,2}/(a|no)", 0..4),
    ) {
        let all = "check all-‹x›: all\n";
        let items: Vec<usize> = std::iter::once(0).chain(items.iter().map(|item| item + 1)).collect();
        let all: Vec<&str> = std::iter::once(all).chain(ITEMS.iter().copied()).collect();
        let changed: Vec<String> = changed.into_iter().collect();
        equal_to_values(&over_folders(&all, &items), &files, &changed)?;
    }

    /// Rows over packages are the values by hand, and `dependents` the folders that are reached.
    #[test]
    fn over_packages_it_is_what_is_over_their_folders(
        uses in (1..6_usize).prop_flat_map(|count| vec(btree_set(0..count, 0..3), count)),
        changed in btree_set(prop_oneof![
            "p[0-5]/(a|go[.]mod)", Just("go.work".to_owned()), Just("go.work.sum".to_owned()), Just("x".to_owned()),
        ], 0..3),
    ) {
        let changed: Vec<String> = changed.into_iter().collect();
        let check = "check t-{x} {\nrun t {x} \"{x}.y\" NAME\ndir \"{x}\"\n}\n";
        let packages = format!(
            "vplan 1\neach x in-workspace {{\nwhenChangedAny dependents {{x}} {{\n{}}}\n}}\n",
            check.replace("NAME", "{x.name}"),
        );
        let by_hand = (0..uses.len()).map(|at| {
            let globs = reached(&uses, at).into_iter().map(|at| format!("\"p{at}/**\" "));
            let globs: String = globs.collect();
            let check = check.replace("{x}", &format!("p{at}")).replace("NAME", &format!("n{at}"));
            format!("whenChangedAny {globs}\"go.work\" \"go.work.sum\" {{\n{check}}}\n")
        });
        let by_hand = format!("vplan 1\n{}", by_hand.collect::<String>());
        let rows = read_with(&packages, &workspace(&uses))?;
        prop_assert_eq!(
            started(&rows, &changed)?, started(&read(&by_hand)?, &changed)?, "{}\n{:?}", by_hand, uses
        );
    }

    /// Whatever the folders are called: a name is one argument, and selects itself alone.
    #[test]
    fn a_folder_may_have_any_name(
        files in files(folder_name().boxed()),
        items in vec(0..OF_ANY_NAME.len(), 1..5),
        picked in vec((any::<Index>(), select(vec!["", "/a", "/no", "/f"])), 0..4),
    ) {
        let block = over_folders(OF_ANY_NAME, &items);
        let changed = picked.iter().map(|(index, behind)| {
            let file = std::str::from_utf8(index.get(&files).as_bytes()).unwrap();
            let folder: Vec<&str> = file.splitn(4, '/').take(2).collect();
            format!("{}{behind}", folder.join("/"))
        });
        equal_to_values(&block, &files, &changed.collect::<Vec<_>>())?;
    }

    /// A contract is its text, and a plan moves with the set of folders, not with the files in them.
    #[test]
    fn only_other_folders_are_another_plan(
        one in files("[ab]".boxed()),
        other in files("[ab]".boxed()),
        more in vec(("[c-f]", any::<Index>()), 0..3),
    ) {
        let text = "vplan 1\neach x in-folders \"r/*\" {\n  each y in-folders \"r/{x}/*\" {\n    check t-{x}-{y}: t\n  }\n}\n";
        let around = |file: &RepoPath| file.ancestors().into_iter().nth_back(1).unwrap();
        let folders = |files: &[RepoPath]| files.iter().map(around).collect::<BTreeSet<_>>();
        let digests = |files: &[RepoPath]| {
            let contract = read_among(text, Some(files))?;
            let plan = plan(&contract, &["r/a/a/f".to_owned()])?;
            Ok::<_, TestCaseError>((contract.digest, digest(&plan)))
        };
        let (a, b) = (digests(&one)?, digests(&other)?);
        prop_assert_eq!(&a.0, &b.0);
        prop_assert_eq!(a.1 == b.1, folders(&one) == folders(&other), "{:?} {:?}", one, other);
        // Further files in the same folders, in another order.
        let mut again: Vec<RepoPath> = one.iter().rev().cloned().collect();
        again.extend(more.iter().map(|(name, index)| {
            around(index.get(&one)).join(name.as_bytes()).unwrap()
        }));
        prop_assert_eq!(digests(&again)?, a);
    }
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn it_is_what_is_written_out(
        rows in values(),
        inner in values(),
        items in vec(0..ITEMS.len(), 0..5),
        changed in btree_set("d/[a-z0-9]{1,2}/(a|no)", 0..4),
    ) {
        let changed: Vec<String> = changed.into_iter().collect();
        let (written, by_hand) = texts(&rows, &inner, &items);
        let (each, plain) = (read(&written)?, read(&by_hand)?);
        prop_assert_eq!(
            steps(&each, &changed)?,
            steps(&plain, &changed)?,
            "{}\n{}", &written, &by_hand
        );
        // Nothing differs between the two.
        let none = Sources::default();
        fn side<'s>(contract: &'s Contract, sources: &'s Sources) -> Side<'s> {
            Side { contract, sources }
        }
        let differences = compare(&side(&each, &none), &side(&plain, &none), &[]).differences;
        prop_assert!(differences.is_empty(), "{differences:?}\n{written}");
        // Laid out it is the same.
        let source = Source::new("a.vplan", &written);
        let Ok(Formatted::Text(laid_out)) = reformat(&source, SourceId(0), &ParserCaps::default()) else {
            return Err(TestCaseError::fail("not laid out"));
        };
        let laid_out = read(&laid_out)?;
        prop_assert_eq!(&laid_out.digest, &each.digest);
        prop_assert_eq!(steps(&laid_out, &changed)?, steps(&each, &changed)?);
        // Rows in another order are the same checks.
        let reversed: Vec<String> = rows.iter().rev().cloned().collect();
        let reversed = read(&texts(&reversed, &inner, &items).0)?;
        let ids = |contract: &Contract| -> BTreeSet<String> {
            contract.checks.iter().filter(|c| c.named).map(|c| c.id.clone()).collect()
        };
        prop_assert_eq!(ids(&reversed), ids(&each));
    }
}
