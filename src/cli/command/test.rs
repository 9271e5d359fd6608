//! `vplan test`: runs the tests of a contract.

use super::answer::*;
use crate::render::diagnostic;
use crate::render::test::{TestResultRows, json, junit, text};
use std::rc::Rc;
use vplan_base::diagnostic::Severity;
use vplan_base::source::Sources;
use vplan_contract::Contract;
use vplan_contract::expect::Expect;
use vplan_plan::expectation::coverage::{Item, TestCoverage};
use vplan_plan::expectation::{Examiner, Verdict};
use vplan_repo::cases::{CaseError, Cases, Shelf};

/// A test, with the contract that it is about, if that is not the one that was read.
type TestOf = (Expect, Option<Rc<Contract>>);

/// The text of `--help` after the flags.
const ABOUT: &str = "\
Tests are the `expect` blocks of the contract, and those in files `*.test.vplan` beside it that name it with \
`tests \"verify.vplan\"`. Each is a request with the plan that it must give. The repository is not looked at and nothing runs: a \
path exists when the test says so with `exists`, and not otherwise.

Coverage counts items: each check (in the plan of some test), each conditional block twice (some test found it true, some test \
found it false; a test counts when all blocks around it apply), each risk trigger (a changed file of some test pulled it), and \
each role that the contract names in `byRole` or `role` (some test has it). What `std:` and `git+` \
imports bring is not counted: it is tested where it comes from. Percentages are rounded down. Covered means touched, not asserted.

Exit codes: 0 all tests passed; 2 usage, also when no title contains the text of --filter; 3 the contract or a file of tests is \
invalid; 40 a test failed, or coverage is below --min-coverage; 44 there is no test, so nothing was verified.";

/// `vplan test`
#[derive(Debug, Args)]
#[command(after_long_help = ABOUT)]
pub struct TestArgs {
    /// Run the tests of these files only; the contract itself names its own.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Run the tests whose title contains this text.
    #[arg(long, value_name = "TEXT", conflicts_with = "min_coverage")]
    pub filter: Option<String>,
    /// Show the tests and run none.
    #[arg(long)]
    pub list: bool,
    /// Fail when the tests cover less of the contract, in percent of all items.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub min_coverage: Option<u8>,
}

/// Runs the tests; exit 40 when one fails.
///
/// # Errors
/// No contract or an invalid one, invalid tests, none at all.
pub fn run(global: &Global, args: &TestArgs, terminal: &Terminal) -> Result<u8, Failure> {
    let format = format(
        global,
        &[OutputFormat::Text, OutputFormat::Json, OutputFormat::Junit],
    )?;
    let site = global.engine().locate()?;
    let (contract, mut loaded) = global.engine().valid_contract(&site)?;
    let cases = gather(&site, global, args, &contract, &mut loaded, terminal)?;
    let cases = filtered(cases, args.filter.as_deref())?;
    let examiner = Examiner::new(&contract);
    // A test that mentions folders is about the contract as it is with these.
    let evaluate = |(expect, of): &TestOf| match of {
        None => examiner.evaluate(expect),
        Some(of) => {
            let verdict = Examiner::new(of).evaluate(expect);
            Verdict {
                touched: verdict.touched.onto(of, &contract),
                ..verdict
            }
        }
    };
    let evaluated = cases.iter().filter(|_| !args.list);
    let verdicts: Vec<Verdict> = evaluated.map(evaluate).collect();
    let expects: Vec<Expect> = cases.into_iter().map(|(expect, _)| expect).collect();
    let coverage = TestCoverage::new(&contract, verdicts.iter().map(|v| &v.touched));
    let results = TestResultRows {
        contract: &contract,
        sources: &loaded.sources,
        expects: &expects,
        verdicts: (!args.list).then_some(&verdicts),
        coverage: &coverage,
        filtered: args.filter.is_some(),
    };
    match format {
        OutputFormat::Json => terminal.print_document(&json::document(&results)),
        OutputFormat::Junit => terminal.print(&junit::document(&results)),
        _ => {
            let (quiet, color) = (terminal.quiet, terminal.color);
            terminal.say(&text::page(&results, quiet, color, terminal.width));
        }
    }
    if args.list {
        return Ok(Exit::Success.code());
    }
    if expects.is_empty() {
        let message = format!("`{}` has no tests, so nothing was verified", loaded.path);
        return Err(Failure::new(Exit::Incomplete, "vplan::test::none", message)
            .help("write an `expect` into the contract, or into a file `NAME.test.vplan` beside it (`vplan help language`)"));
    }
    if verdicts.iter().any(|v| !v.passed()) {
        return Ok(Exit::Failed.code());
    }
    enough(args, &results)
}

/// The tests whose title contains a text.
fn filtered(mut expects: Vec<TestOf>, filter: Option<&str>) -> Result<Vec<TestOf>, Failure> {
    let Some(filter) = filter else {
        return Ok(expects);
    };
    let found = expects.len();
    expects.retain(|(e, _)| e.title.contains(filter));
    if expects.is_empty() && found > 0 {
        let filter = visible(filter);
        let message = format!("no title of {} contains `{filter}`", count(found, "test"));
        return Err(Failure::usage("vplan::test::filter", message)
            .help("`vplan test --list` shows the titles"));
    }
    Ok(expects)
}

/// Returns all tests if they are valid; prints warnings about them.
fn gather(
    site: &vplan_repo::load::Site,
    global: &Global,
    args: &TestArgs,
    contract: &Contract,
    loaded: &mut vplan_repo::load::Loaded,
    terminal: &Terminal,
) -> Result<Vec<TestOf>, Failure> {
    let path = loaded.path.clone();
    let own = std::mem::take(&mut loaded.cases);
    let shelf = Shelf {
        site,
        contract,
        drafts: &own,
        path: &path,
        max_file: global.max_file,
    };
    let mut cases = read(&shelf, args, &mut loaded.sources)?;
    let found = &mut cases.diagnostics;
    let engine = global.engine();
    let of_folders = engine.cases(site, contract, &cases.drafts, &loaded.sources, found)?;
    // Warnings about the contract are for `vplan check`; those about files of tests are only
    // printed here.
    let list = cases.diagnostics.sorted();
    let errors = list
        .iter()
        .filter(|d| d.severity == Severity::Error)
        .count();
    let sources = &mut loaded.sources;
    if errors > 0 {
        let message = format!("the tests of `{path}` have {}", count(errors, "error"));
        return Err(Failure::contract("vplan::test::invalid", message)
            .diagnosed(std::mem::take(sources), list));
    }
    if !terminal.quiet {
        let (color, width) = (terminal.color_stderr, terminal.width);
        terminal.note(&diagnostic::diagnostics(sources, &list, color, width));
    }
    let plain = cases.expects.into_iter().map(|expect| (expect, None));
    let of_folders = of_folders.into_iter();
    let of_folders = of_folders.map(|case| (case.expect, Some(case.contract)));
    Ok(plain.chain(of_folders).collect())
}

/// Reads the tests of these files, or all.
fn read(shelf: &Shelf<'_>, args: &TestArgs, sources: &mut Sources) -> Result<Cases, Failure> {
    if args.files.is_empty() {
        let mut cases = shelf.read_next_to(sources);
        let own = shelf.contract.expects.iter().cloned();
        cases.expects.splice(0..0, own);
        cases.drafts.splice(0..0, shelf.drafts.iter().cloned());
        return Ok(cases);
    }
    shelf.read_files(&args.files, sources).map_err(|error| {
        let help = match &error {
            CaseError::Outside(_) => {
                "name a file with tests of the contract, relative to the current directory"
                    .to_owned()
            }
            CaseError::Other { contract, .. } => {
                format!("run its tests with `--contract {contract}`")
            }
        };
        Failure::usage("vplan::test::file", error.to_string()).help(help)
    })
}

/// `--min-coverage`
fn enough(args: &TestArgs, results: &TestResultRows<'_>) -> Result<u8, Failure> {
    const NAMED: usize = 5;
    let total = results.coverage.total();
    let least = usize::from(args.min_coverage.unwrap_or(0));
    if total.covered * 100 >= least * total.total {
        return Ok(Exit::Success.code());
    }
    let uncovered = &results.coverage.uncovered;
    let item = |i: &Item| {
        let (name, file) = (visible(&i.name), visible(&i.file));
        format!("`{name}` ({file}:{}, {})", i.line, i.never)
    };
    let mut missing: Vec<String> = uncovered.iter().take(NAMED).map(item).collect();
    let more = uncovered.len().saturating_sub(NAMED);
    missing.extend((more > 0).then(|| format!("and {more} more")));
    let (percent, covered, items) = (total.percent(), total.covered, total.total);
    let message = format!(
        "the tests cover {percent}% of the contract ({covered} of {items} items), less than the {least}% asked for"
    );
    Err(Failure::new(Exit::Failed, "vplan::test::coverage", message)
        .help(format!("no test covers {}", missing.join(", "))))
}
