//! Names and contents that bite, as changed files, as what checks print and as what files hold,
//! through everything that shows them: they stay what they are where a program reads, and text
//! where a person reads.

use super::{ZOO, name, names, os};
use crate::faults::sweep::{Case, Sweep};
use crate::props::reports::{self, only_text};
use crate::support::Project;
use proptest::test_runner::TestCaseError;
use serde_json::Value;
use std::collections::BTreeSet;
use vplan::base::path::RepoPath;

/// Checks that print what they are given, in every way that is read: as output, as findings, as
/// names of tests.
const CONTRACT: &str = r#"vplan 1
whenChangedAny "**" "!contracts/**" "!*.pl" {
  check words: perl words.pl {changed}
  check contents: perl contents.pl {changed}
  check findings {
    lint perl findings.pl {changed}
    format gcc
  }
  check cases {
    test perl cases.pl {changed}
    format tap
  }
  check reports {
    test perl reports.pl {changed}
    report junit "out.xml"
  }
}
"#;

const WORDS: &str = r#"open(my $f, '>', '../words'); print $f map { "$_\0" } @ARGV; print map { "$_\n" } @ARGV; print STDERR map { $_ } @ARGV; exit 1"#;
const CONTENTS: &str = r#"$/ = undef; for (@ARGV) { if (open(my $f, '<', $_)) { my $t = <$f>; print $t; print STDERR $t } } exit 1"#;
const FINDINGS: &str = r#"for (@ARGV) { print "$_:1:2: error: $_\n"; print STDERR "src/x.c:3: warning: $_\n" } exit 1"#;
const CASES: &str = r#"print "TAP version 13\n1..", scalar @ARGV, "\n"; my $n = 0; for (@ARGV) { $n++; print "not ok $n - $_\n  ---\n  message: $_\n  ...\n" } exit 1"#;
const REPORTS: &str = r#"open(my $f, '>', 'out.xml'); print $f '<testsuites><testsuite name="s">'; for (@ARGV) { my $t = $_; $t =~ s/([&<>"'\x00-\x1f\x7f-\xff])/'&#' . (ord($1) < 32 ? 32 : ord($1)) . ';'/ge; print $f "<testcase name=\"$t\" file=\"$t\"><failure message=\"$t\">$t</failure></testcase>" } print $f '</testsuite></testsuites>'; exit 1"#;

fn project() -> Project {
    let project = Project::git_with(&[
        ("contracts/verify.vplan", CONTRACT),
        ("words.pl", WORDS),
        ("contents.pl", CONTENTS),
        ("findings.pl", FINDINGS),
        ("cases.pl", CASES),
        ("reports.pl", REPORTS),
        (".gitignore", "out.xml\n"),
    ]);
    project.write(".git/info/exclude", "");
    project
}

/// A text of hostile pieces for people: at the beginning of lines, too.
fn hostile_text(case: &mut Case) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..case.below(12) {
        match case.below(3) {
            0 => text.extend_from_slice(ZOO[case.below(ZOO.len() as u64) as usize]),
            1 => text.extend_from_slice(case.one_of(reports::PIECES).as_bytes()),
            _ => text.extend(name(case)),
        }
        if case.below(2) == 0 {
            text.push(b'\n');
        }
    }
    text
}

/// Bytes as vplan writes them in JSON.
fn bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.clone().into_bytes(),
        other => serde_json::from_value::<RepoPath>(other.clone())
            .unwrap()
            .as_bytes()
            .to_vec(),
    }
}

/// What people see is text: no sequence but colours, and no line that GitHub's runner obeys but
/// `ours`.
#[track_caller]
fn is_text(what: &str, shown: &[u8], ours: &[&str]) {
    let text = std::str::from_utf8(shown).unwrap_or_else(|e| panic!("{what}: {e}"));
    for line in text
        .lines()
        .filter(|l| !ours.iter().any(|o| l.starts_with(o)))
    {
        assert!(!reports::obeyed(line), "{what}: obeyed: {line:?}");
    }
    match only_text(text) {
        // A line may be wider than the terminal that looks at it.
        Ok(()) | Err(TestCaseError::Reject(_)) => {}
        Err(e) => panic!("{what}: {e}\n{text:?}"),
    }
    let strange = text
        .chars()
        .find(|c| !matches!(c, '\n' | '\t' | '\u{1b}') && vplan::base::word::is_unsafe_to_show(*c));
    assert_eq!(strange, None, "{what}");
}

/// Counts what `tags` finds: the names of the elements, and their attributes without values.
fn elements(page: &str) -> BTreeSet<String> {
    crate::html::tags(page)
        .into_iter()
        .map(|t| t.split('=').next().unwrap().trim().to_owned())
        .collect()
}

#[test]
fn whatever_files_are_called() {
    assert!(ZOO.len() >= 32);
    let mut sweep = Sweep::new("faults::hostile::names::whatever_files_are_called", 1, 24);
    let plain = {
        let project = project();
        project.write("plain", "x\n").write("other", "y\n");
        project.run(&["run", "--keep-going"]).exits(42);
        elements(&project.run(&["report", "--html", "-"]).exits(0).out())
    };
    while let Some(mut case) = sweep.next() {
        let project = project();
        let count = 3 + case.below(10) as usize;
        let mut all = names(&mut case, count);
        all.retain(|n| {
            ![
                "contracts",
                "out.xml",
                ".gitignore",
                ".gitattributes",
                ".gitmodules",
            ]
            .iter()
            .any(|x| n == x.as_bytes())
                && !n.ends_with(b".pl")
        });
        if case.below(3) == 0 {
            // As deep as a path may be: 4,095 bytes, of which the root's own take some.
            let room = 3800 - project.root().as_os_str().len();
            let deep = [&[b'd'; 250][..], &all[0][..]].concat();
            let mut path = deep[..deep.len().min(255)].to_vec();
            while path.len() + 256 < room {
                path = [&path[..], b"/", &[b'e'; 255]].concat();
            }
            all.push(path);
        }
        let texts: Vec<Vec<u8>> = all.iter().map(|_| hostile_text(&mut case)).collect();
        for (name, text) in all.iter().zip(&texts) {
            project.write_bytes(name, text);
        }
        let want: BTreeSet<Vec<u8>> = all.iter().cloned().collect();
        sweep.count("names", all.len() as u64);

        let ran = project
            .vplan(&[
                "run",
                "--keep-going",
                "--format",
                "json",
                "--junit",
                "../j.xml",
                "--sarif",
                "../s.json",
                "--events",
                "../e.jsonl",
            ])
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_STEP_SUMMARY", project.path("../summary"))
            .run();
        ran.exits(42);
        let report = ran.json();
        let plan: Value = serde_json::from_slice(
            &std::fs::read(super::record(&project).join("plan.json")).unwrap(),
        )
        .unwrap();
        let changed = plan["request"]["changed"].as_array().unwrap();
        assert_eq!(
            changed
                .iter()
                .map(|f| bytes(&f["path"]))
                .collect::<BTreeSet<_>>(),
            want,
            "as changed files"
        );
        let given = std::fs::read(project.path("../words")).unwrap();
        let given: Vec<&[u8]> = given
            .strip_suffix(b"\0")
            .unwrap()
            .split(|b| *b == 0)
            .collect();
        assert!(given.iter().all(|w| !w.starts_with(b"-")), "{given:?}");
        let given: BTreeSet<Vec<u8>> = given
            .iter()
            .map(|w| w.strip_prefix(b"./").unwrap_or(w).to_vec())
            .collect();
        assert_eq!(given, want, "as arguments");
        for step in report["steps"].as_array().unwrap() {
            assert_eq!(step["status"], "failed", "{step:#}");
            sweep.count(
                "findings and failed tests",
                step["failedTests"].as_array().map_or(0, Vec::len) as u64,
            );
            sweep.count(
                "findings and failed tests",
                step["diagnostics"].as_array().map_or(0, Vec::len) as u64,
            );
        }
        is_text(
            "stderr of run",
            &ran.stderr,
            &["::error ", "::warning ", "::notice "],
        );
        let commands = ran.err().lines().filter(|l| l.starts_with("::")).count();
        assert!(commands > 0 && commands <= 21, "{}", ran.err());
        sweep.count("workflow commands of ours", commands as u64);
        documents(&project, &report);

        // Everything else that shows a run or a plan.
        let show = |args: &[&str]| {
            let shown = project.vplan(args).env("GITHUB_ACTIONS", "true").run();
            super::orderly(&shown);
            assert!(shown.exit != Some(2), "{shown:?}");
            shown
        };
        for args in [
            &["feedback"][..],
            &["feedback", "--format", "md"],
            &["report"],
            &["details"],
            &["runs"],
            &["status"],
            &["verify"],
            &["stats"],
            &["explain"],
            &["explain", "words"],
            &["plan"],
            &["explain", "--format", "mermaid"],
            &["explain", "--format", "dot"],
            &["explain", "--format", "shell"],
            &["plan", "--format", "kdl"],
            &["log", "words"],
            &["--color", "always", "explain"],
            &["--color", "always", "details"],
            &["--color", "always", "feedback"],
        ] {
            let shown = show(args);
            // Graphs and scripts are for programs, which want every byte.
            let programs = ["dot", "mermaid", "shell"]
                .iter()
                .any(|f| args.last() == Some(f));
            is_text(
                &format!("{args:?}"),
                &shown.stdout,
                if programs { &[""] } else { &[] },
            );
            is_text(&format!("{args:?}, errors"), &shown.stderr, &[]);
            sweep.count("texts for people", 2);
        }
        for args in [
            &["plan"][..],
            &["explain"],
            &["feedback"],
            &["report"],
            &["details"],
            &["runs"],
            &["status"],
            &["verify"],
            &["stats"],
        ] {
            let shown = show(&[args, &["--format", "json"]].concat());
            serde_json::from_slice::<Value>(&shown.stdout).unwrap();
            sweep.count("documents", 1);
        }
        let page = show(&["report", "--html", "-"]).out();
        assert_eq!(
            elements(&page).difference(&plain).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "elements of the page"
        );

        // A script to copy does with a shell what vplan does without.
        let script = show(&["explain", "--format", "shell", "--only", "words"]).stdout;
        std::fs::remove_file(project.path("../words")).unwrap();
        project.write("../script", script);
        let shell = std::process::Command::new("sh")
            .arg("../script")
            .current_dir(project.root())
            .output()
            .unwrap();
        assert_eq!(shell.status.code(), Some(1), "{shell:?}");
        let again = std::fs::read(project.path("../words")).unwrap();
        let again: BTreeSet<Vec<u8>> = again
            .strip_suffix(b"\0")
            .unwrap()
            .split(|b| *b == 0)
            .map(|w| w.strip_prefix(b"./").unwrap_or(w).to_vec())
            .collect();
        assert_eq!(again, want, "through a shell");
        assert!(!project.exists("pwned") && !project.exists("../pwned"));

        // A plan file reads back to the same plan; the same names as a list give the same plan.
        for file in ["../p.json", "../p.kdl"] {
            let _ = show(&["plan", "-o", file]);
            project.run(&["diff", file, "../p.json"]).exits(0);
        }
        let mut list: Vec<u8> = all
            .iter()
            .flat_map(|n| [&b"added\0"[..], n, b"\0"].concat())
            .collect();
        list = String::from_utf8(list.clone()).map_or(list, String::into_bytes);
        let records: Vec<u8> = all
            .iter()
            .flat_map(|n| [&b"A\0"[..], n, b"\0"].concat())
            .collect();
        let listed = project
            .vplan(&[
                "plan",
                "--format",
                "json",
                "-z",
                "--changed-from",
                "-",
                "--changed-format",
                "name-status",
            ])
            .stdin(records)
            .run();
        assert_eq!(
            listed.exits(0).json()["steps"],
            plan["steps"],
            "as a list: {:?}",
            os(&list)
        );
        let mut args: Vec<&std::ffi::OsStr> = ["plan", "--format", "json", "--changed"]
            .iter()
            .map(|a| a.as_ref())
            .collect();
        let named: Vec<std::ffi::OsString> = all
            .iter()
            .map(|n| os(&[b"added:./", &n[..]].concat()).to_owned())
            .collect();
        args.extend(named.iter().map(|n| n.as_os_str()));
        assert_eq!(
            project.run(&args).exits(0).json()["steps"],
            plan["steps"],
            "as arguments of vplan"
        );
        case.held();
    }
    assert!(super::alone() || sweep.seen("findings and failed tests") > 0);
}

/// The documents that a run writes for other programs.
fn documents(project: &Project, report: &Value) {
    let xml = project.read("../j.xml");
    let mut reader = quick_xml::Reader::from_str(&xml);
    reader.config_mut().check_end_names = true;
    while !matches!(
        reader.read_event().unwrap_or_else(|e| panic!("{e}: {xml}")),
        quick_xml::events::Event::Eof
    ) {}
    assert!(!xml.lines().any(reports::obeyed), "{xml}");
    crate::reports::is_sarif(&serde_json::from_str(&project.read("../s.json")).unwrap()).unwrap();
    let events = std::fs::read(project.path("../e.jsonl")).unwrap();
    assert_eq!(
        events,
        std::fs::read(super::record(project).join("events.jsonl")).unwrap()
    );
    for line in events.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        serde_json::from_slice::<Value>(line).unwrap();
    }
    let summary = project.read("../summary");
    assert!(!summary.lines().any(reports::obeyed), "{summary}");
    // A fence that stays open is found by `fenced`.
    let outside = reports::fenced(&summary);
    assert!(
        outside
            .iter()
            .all(|l| !l.contains("<script") || l.contains('`')),
        "{outside:?}"
    );
    let saved: Value =
        serde_json::from_slice(&std::fs::read(super::record(project).join("report.json")).unwrap())
            .unwrap();
    assert_eq!(&saved, report);
}

/// A list of names that no file system could hold: paths of 4,095 bytes, a thousand of them, and
/// one byte too many.
#[test]
fn paths_of_any_length() {
    let mut sweep = Sweep::new("faults::hostile::names::paths_of_any_length", 1, 20);
    while let Some(mut case) = sweep.next() {
        let project =
            Project::contract("vplan 1\nwhenChangedAny \"**\" {\n  check a: true {changed}\n}\n");
        let mut want = BTreeSet::new();
        while want.len() < 20 {
            let mut path = name(&mut case);
            while path.len() < 4096 {
                path.push(b'/');
                path.extend(name(&mut case));
            }
            path.truncate(4095);
            if RepoPath::from_exact(&path).is_some() {
                want.insert(path);
            }
        }
        let list: Vec<u8> = want.iter().flat_map(|p| [&p[..], b"\0"].concat()).collect();
        let args = ["plan", "--format", "json", "-z", "--changed-from", "-"];
        let plan = project.vplan(&args).stdin(list).run().exits(0).json();
        let changed = plan["request"]["changed"].as_array().unwrap();
        assert_eq!(
            changed
                .iter()
                .map(|f| bytes(&f["path"]))
                .collect::<BTreeSet<_>>(),
            want
        );
        sweep.count("paths of 4,095 bytes", want.len() as u64);
        for long in [4096, 5000, 200_000] {
            let ran = project
                .vplan(&args)
                .stdin([vec![b'x'; long], vec![0]].concat())
                .run();
            super::orderly(&ran);
            is_text("too long", &ran.stderr, &[]);
        }
        case.held();
    }
    assert!(super::alone() || sweep.seen("paths of 4,095 bytes") > 0);
}

/// Anything at all in every place of a report that foreign text gets to, through every reporter.
#[test]
fn whatever_is_reported() {
    let mut sweep = Sweep::new(
        "faults::hostile::names::whatever_is_reported",
        24,
        100_000_u64.div_ceil(12),
    );
    while let Some(mut case) = sweep.next() {
        let texts: Vec<String> = (0..12)
            .map(|_| format!("x{}", String::from_utf8_lossy(&hostile_text(&mut case))))
            .collect();
        let color = case.below(2) == 0;
        for (name, holds) in [
            (
                "feedback as text",
                reports::check_feedback_as_text_is_text(&texts),
            ),
            (
                "feedback as Markdown",
                reports::check_feedback_as_markdown_has_one_shape(&texts),
            ),
            (
                "feedback as JSON",
                reports::check_feedback_is_inert_in_json(&texts),
            ),
            (
                "the report",
                reports::check_a_report_for_people_is_text(&texts, color),
            ),
            ("JUnit", reports::check_junit_is_xml(&texts)),
            ("SARIF", reports::check_sarif_keeps_to_its_schema(&texts)),
            ("annotations", reports::check_gha_escape_roundtrip(&texts)),
            (
                "the summary",
                reports::check_a_summary_has_one_shape(&texts),
            ),
        ] {
            match holds {
                Ok(()) => sweep.count("documents", 1),
                Err(TestCaseError::Reject(_)) => sweep.count("lines too wide to look at", 1),
                Err(e) => panic!("{name}: {e}\n{texts:?}"),
            }
        }
        sweep.count("strings", 12);
        case.held();
    }
    assert!(super::alone() || sweep.seen("documents") > 0);
}
