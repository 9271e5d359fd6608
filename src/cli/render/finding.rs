//! Collects the findings of a run with their places in the repository, for annotations of a
//! pipeline and SARIF.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use vplan_base::inert::inert;
use vplan_base::path::RepoPath;
use vplan_base::vocabulary::FailureCode;
use vplan_base::word::{framed, visible};
use vplan_check::Severity;
use vplan_check::results::Level;
use vplan_plan::scope::{List, named_outside};
use vplan_plan::{Plan, Step};
use vplan_run::record::StepRecord;
use vplan_run::report::Report;

/// A place in the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// From 1; only with a line.
    pub column: Option<u64>,
    /// From 1.
    pub line: Option<u64>,
    /// Relative to the repository.
    pub path: RepoPath,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// The tool's code for it.
    pub code: Option<String>,
    /// Whether the baseline that counted lists it.
    pub known: bool,
    /// Its effect on the run: an error fails it.
    pub level: Level,
    /// The message; several lines, inert.
    pub message: String,
    /// The place, if it is in the repository.
    pub spot: Option<Spot>,
    /// The check that found it, or [`FailureCode::PolicyViolation`].
    pub step: String,
    /// Its title, on one line.
    pub title: String,
}

/// All issues of a run, worst first: errors before warnings; the first of each step before the
/// second of any; then in the order of the plan. `root` is the repository, if it is here: files are
/// then looked for in it.
pub fn issues(report: &Report, plan: &Plan, root: Option<&Path>) -> Vec<Issue> {
    let mut ranked: Vec<(Level, usize, Issue)> = Vec::new();
    for (path, list) in named_outside(&plan.notes).0 {
        let why = match list {
            List::Allow => "the contract's scope does not allow to change this file",
            List::Deny => "the contract's scope denies to change this file",
        };
        let spot = Spot {
            column: None,
            line: None,
            path: path.clone(),
        };
        let issue = Issue {
            code: None,
            known: false,
            level: Level::Error,
            message: why.to_owned(),
            spot: Some(spot),
            step: FailureCode::PolicyViolation.to_string(),
            title: "outside the scope".to_owned(),
        };
        ranked.push((Level::Error, 0, issue));
    }
    for (step, record) in plan.steps.iter().zip(&report.steps) {
        let (mut errors, mut warnings) = (0, 0);
        for issue in of_step(step, record, root) {
            let rank = match issue.level {
                Level::Error => &mut errors,
                Level::Warning => &mut warnings,
            };
            ranked.push((issue.level, *rank, issue));
            *rank += 1;
        }
    }
    ranked.sort_by_key(|(level, rank, _)| (*level, *rank));
    ranked.into_iter().map(|(_, _, issue)| issue).collect()
}

fn of_step(step: &Step, record: &StepRecord, root: Option<&Path>) -> Vec<Issue> {
    let failed = record.status.is_failure();
    let fails = failed && step.severity == Severity::Blocking;
    // What a passing run found fails nothing, whatever the tool calls it.
    let level = |level| if fails { level } else { Level::Warning };
    let name = step.check();
    let mut issues = Vec::new();
    let known = |at: usize| record.identities.get(at).is_some_and(|i| i.known);
    // What is known fails nothing.
    let of = |known: bool, own| if known { Level::Warning } else { level(own) };
    for (at, finding) in record.diagnostics.iter().enumerate() {
        let known = known(at);
        let code = finding.code.as_deref().map(visible);
        let file = finding.file.as_deref();
        issues.push(Issue {
            known,
            level: of(known, finding.severity),
            message: inert(finding.message.as_bytes()),
            spot: file.and_then(|f| spot(step, f, finding.line, finding.column, root)),
            step: name.to_owned(),
            title: format!("{name}{}", framed(": ", code.as_ref(), "")),
            code,
        });
    }
    for (at, test) in record.failed_tests.iter().enumerate() {
        let known = known(record.diagnostics.len() + at);
        let test_name = visible(&test.name);
        let why = test.message.as_deref().map(|m| inert(m.as_bytes()));
        let why = framed("\n", why.as_deref().map(str::trim_end), "");
        let file = test.file.as_deref();
        issues.push(Issue {
            code: None,
            known,
            level: of(known, Level::Error),
            message: format!("{test_name} failed{why}"),
            spot: file.and_then(|f| spot(step, f, test.line, None, root)),
            step: name.to_owned(),
            title: format!("{name}: test failed"),
        });
    }
    // A failed step with a place of its own is not listed itself, too.
    let explains = |i: &Issue| i.level == level(Level::Error) && i.spot.is_some();
    if failed && !issues.iter().any(explains) {
        issues.insert(0, itself(step, record, level(Level::Error)));
    }
    issues
}

/// A failed step that has no place of its own.
fn itself(step: &Step, record: &StepRecord, level: Level) -> Issue {
    let (name, status) = (step.check(), record.status.name().replace('_', " "));
    let command = visible(&record.command);
    let detail = record.detail.as_ref().unwrap_or(&status);
    Issue {
        code: None,
        known: false,
        level,
        message: format!("{command}: {detail}"),
        spot: source(step),
        step: name.to_owned(),
        title: format!("{name} {status}"),
    }
}

/// Returns the place of a check's definition, if that is a file of the repository.
fn source(step: &Step) -> Option<Spot> {
    let source = step.source.as_ref()?;
    let path = RepoPath::from_exact(plain_file(&source.file)?.as_bytes())?;
    let number = |n: usize| u64::try_from(n).ok().filter(|n| *n > 0);
    Some(Spot {
        column: number(source.column),
        line: number(source.line),
        path,
    })
}

/// The name of a contract's file, unless it is an import from elsewhere (`std:…`, `git+…`).
pub fn plain_file(name: &str) -> Option<String> {
    let elsewhere = name.starts_with("std:") || name.starts_with("git+") || name.starts_with('/');
    (!elsewhere).then(|| name.to_owned())
}

/// Returns the place that a tool reports: it counts from the directory in which it ran, or from the
/// root, or from the root of all files.
fn spot(
    step: &Step,
    file: &str,
    line: Option<u64>,
    column: Option<u64>,
    root: Option<&Path>,
) -> Option<Spot> {
    let name = file.strip_prefix("file://").unwrap_or(file);
    let is_absolute = name.starts_with('/');
    let inside = match root {
        _ if !is_absolute => name.as_bytes(),
        root => Path::new(name)
            .strip_prefix(root?)
            .ok()?
            .as_os_str()
            .as_bytes(),
    };
    let from_root = RepoPath::parse(inside);
    let from_dir = match is_absolute {
        true => from_root.clone(),
        false => step.dir.join(inside),
    };
    let is_there = |path: &RepoPath| root.is_some_and(|root| root.join(path.to_os()).is_file());
    let path = match (from_dir, from_root) {
        (Ok(here), Ok(above)) if !is_there(&here) && is_there(&above) => above,
        (Ok(here), _) => here,
        (Err(_), Ok(above)) if is_there(&above) => above,
        _ => return None,
    };
    if path.is_root() {
        return None;
    }
    let line = line.filter(|n| *n > 0);
    Some(Spot {
        column: line.and(column).filter(|n| *n > 0),
        line,
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vplan_check::Kind;
    use vplan_check::outcome::{Cause, Outcome, Status};
    use vplan_plan::{Origin, step::empty};
    use vplan_run::report::Circumstances;
    use vplan_run::state::StateEnding;

    #[test]
    fn places() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["app/src/a.rs", "b.rs"] {
            vplan_os::files::replace(&dir.path().join(file), b"").unwrap();
        }
        let step = Step {
            dir: RepoPath::parse(b"app").unwrap(),
            ..empty(Kind::Lint, Origin::Contract)
        };
        let absolute = dir.path().join("app/src/a.rs").display().to_string();
        for (file, want) in [
            ("src/a.rs", Some("app/src/a.rs")),
            ("app/src/a.rs", Some("app/src/a.rs")),
            ("./src//a.rs", Some("app/src/a.rs")),
            ("../b.rs", Some("b.rs")),
            ("b.rs", Some("b.rs")),
            ("gone.rs", Some("app/gone.rs")),
            (&absolute, Some("app/src/a.rs")),
            (&format!("file://{absolute}"), Some("app/src/a.rs")),
            ("/etc/passwd", None),
            ("../../x", None),
            ("", None),
            ("..", None),
        ] {
            let found = spot(&step, file, Some(3), Some(0), Some(dir.path()));
            assert_eq!(
                found.as_ref().map(|s| s.path.to_string()).as_deref(),
                want,
                "{file}"
            );
            assert!(found.is_none_or(|s| s.line == Some(3) && s.column.is_none()));
        }
        assert_eq!(spot(&step, "/x/a.rs", None, None, None), None);
    }

    #[test]
    fn worst_first_and_each_step_heard() {
        let mut plan = vplan_arbitrary::made::plan(
            ["a", "b", "soft", "fine"]
                .map(vplan_arbitrary::made::step)
                .to_vec(),
        );
        plan.steps
            .iter_mut()
            .filter(|s| s.id == "soft")
            .for_each(|s| s.severity = Severity::Warning);
        let finding = |severity, line| vplan_check::results::Finding {
            file: Some("f".to_owned()),
            line: Some(line),
            message: "m".to_owned(),
            severity,
            ..vplan_check::results::Finding::default()
        };
        let records = plan.steps.iter().map(|step| {
            let outcome = Outcome::new(Status::Failed, Cause::ExitCode, "exit code 1");
            let mut record = StepRecord::without_evidence(step, outcome);
            match step.id.as_str() {
                "a" => {
                    record.diagnostics = vec![
                        finding(Level::Warning, 1),
                        finding(Level::Error, 2),
                        finding(Level::Error, 3),
                    ];
                }
                "fine" => {
                    record.status = Status::PassedWithWarnings;
                    record.diagnostics = vec![finding(Level::Error, 4)];
                }
                _ => {}
            }
            record
        });
        let circumstances = Circumstances {
            attempt: 1,
            ..Circumstances::default()
        };
        let report = vplan_run::report::report(
            &plan,
            records.collect(),
            &StateEnding::default(),
            circumstances,
        );
        let found: Vec<(String, Level, Option<u64>)> = issues(&report, &plan, None)
            .into_iter()
            .map(|i| (i.step, i.level, i.spot.and_then(|s| s.line)))
            .collect();
        let (error, warning) = (Level::Error, Level::Warning);
        let want = [
            ("a", error, Some(2)),
            ("b", error, None),
            ("a", error, Some(3)),
            ("a", warning, Some(1)),
            ("soft", warning, None),
            ("fine", warning, Some(4)),
        ];
        assert_eq!(
            found,
            want.map(|(step, level, line)| (step.to_owned(), level, line))
        );
    }
}
