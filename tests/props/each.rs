//! Laws of `each`: it means what is written out by hand, its rows have no order but the file's, and
//! laying it out changes nothing.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use std::collections::BTreeSet;
use vplan::arbitrary::config;
use vplan::base::change::{ChangeSet, ChangedFile, Status};
use vplan::base::diagnostic::Diagnostics;
use vplan::base::path::RepoPath;
use vplan::base::source::{Source, Sources};
use vplan::base::span::SourceId;
use vplan::contract::Contract;
use vplan::contract::validate::validate;
use vplan::front::vplan::lower;
use vplan::lang::layout::{Formatted, reformat};
use vplan::lang::parse::Caps;
use vplan::plan::Step;
use vplan::plan::compile::{Compiled, compile};
use vplan::plan::diff::contracts::{Side, compare};
use vplan::plan::facts::Facts;
use vplan::plan::request::{Boundary, Request};

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
    let mut sources = Sources::default();
    let id = sources.add(Source::new("contracts/verify.vplan", text));
    let mut sink = Diagnostics::default();
    let draft = lower(&sources, id, &Caps::default(), &mut sink);
    let contract = validate(&draft, &sources, &mut sink);
    contract.ok_or_else(|| TestCaseError::fail(format!("{text}\n{:?}", sink.sorted())))
}

/// The steps without what says where they are written.
fn steps(contract: &Contract, changed: &[String]) -> Result<Vec<Step>, TestCaseError> {
    let file = |path: &String| ChangedFile {
        path: RepoPath::parse(path.as_bytes()).unwrap(),
        status: Status::Modified,
    };
    let request = Request {
        changed: ChangeSet::new(changed.iter().map(file).collect()),
        boundaries: vec![Boundary::RunEnd],
        ..Request::default()
    };
    let Ok(Compiled::Plan(mut plan)) = compile(Some(contract), &request, &Facts::default()) else {
        return Err(TestCaseError::fail("no plan"));
    };
    for step in &mut plan.steps {
        step.source = None;
        step.each.clear();
        step.reasons
            .iter_mut()
            .for_each(|reason| reason.line = None);
    }
    Ok(plan.steps)
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
        let Ok(Formatted::Text(laid_out)) = reformat(&source, SourceId(0), &Caps::default()) else {
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
