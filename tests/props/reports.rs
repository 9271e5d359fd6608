//! Properties of what is shown of foreign text: whatever commands print, it stays text.

use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use vplan::arbitrary::config;
use vplan::arbitrary::run::{plan, step};
use vplan::base::change::{ChangedFile, Status as Change};
use vplan::base::inert::without_commands;
use vplan::base::path::RepoPath;
use vplan::check::evidence::{Captured, Evidence};
use vplan::check::outcome::{Cause, Outcome, Status};
use vplan::check::results::{FailedTest, Finding, Level, Reading, TestCounts};
use vplan::cli::render;
use vplan::plan::scope::List;
use vplan::plan::{Plan, StepSource};
use vplan::run::feedback::{
    AllowedPath, Excerpt, FEEDBACK_BYTES, FailedCheck, Feedback, OutsideScope, json_size,
};
use vplan::run::record::StepRecord;
use vplan::run::report::{Circumstances, Report, report};
use vplan::run::state::StateEnding;

/// A failed check of which no more is known.
fn failed(id: &str) -> FailedCheck {
    let known = serde_json::json!({"command": "", "detail": "", "id": id, "status": "failed"});
    serde_json::from_value(known).unwrap()
}

/// What an attacker would try.
pub const PIECES: &[&str] = &[
    "\u{1b}]0;title\u{7}",
    "\u{1b}[2J",
    "\u{1b}[H",
    "\u{1b}[?1049h",
    "\u{1b}[6n",
    "\u{1b}c",
    "\u{1b}]52;c;ZXZpbA==\u{7}",
    "\u{1b}]8;;http://evil.example\u{1b}\\",
    "\u{1b}[8m",
    "\u{1b}P",
    "\u{1b}",
    "\u{9b}31m",
    "\u{7}",
    "\u{8}",
    "\r",
    "\n",
    "\t",
    "\u{b}",
    "\u{c}",
    "\u{0}",
    "\u{85}",
    "\u{2028}",
    "\u{202e}",
    "\u{200b}",
    "\u{feff}",
    "\n::error::x",
    "::add-mask::x",
    "\n  ::stop-commands::t\n",
    "\n\u{fe0f}::warning::x",
    "##[error]x",
    "\n##[group]",
    "#\u{34f}#[x]",
    "`",
    "```",
    "\n```\n",
    "\n````text\n",
    "~~~\n",
    "<script>x</script>",
    "<!--",
    "-->",
    "[x](http://evil.example)",
    "![x](http://evil.example)",
    "http://evil.example",
    "@org/team",
    "#12",
    "org/repo#1",
    "&lt;",
    "\n# h\n",
    "\n- i\n",
    "\n> q\n",
    "|",
    "\\",
    "*a*",
    "_b_",
    "$x$",
    "]]>",
    "<![CDATA[",
    "%0A",
    "%",
    ",",
    ":",
    "é",
    "日本",
    "\u{10ffff}",
    " ",
    "a",
    "x.rs:1:2",
    "error",
];

/// Begins with a letter, so that no part of a document vanishes because it is blank.
fn hostile() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..12)
        .prop_map(|pieces| format!("x{}", pieces.concat()))
}

/// As [`hostile`], or a long run of backticks, or nothing at all at its beginning.
fn noise() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => hostile(),
        1 => (1..80_usize).prop_map(|n| format!("x{}\n{0}\n", "`".repeat(n))),
        1 => prop::collection::vec(prop::sample::select(PIECES), 0..12).prop_map(|pieces| pieces.concat()),
    ]
}

/// Twelve texts for all places of foreign text.
fn texts(text: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(text, 12)
}

fn repo_path(text: &str) -> RepoPath {
    RepoPath::from_exact(text.replace(['\0', '/'], "_").as_bytes()).unwrap_or_else(RepoPath::root)
}

fn feedback(texts: &[String]) -> Feedback {
    let text = |i: usize| texts[i].clone();
    Feedback {
        allowed_paths_needed: vec![AllowedPath {
            path: text(0),
            step_id: text(1),
        }],
        attempt_number: 2,
        changed_files: vec![ChangedFile {
            path: repo_path(&texts[2]),
            status: Change::Added,
        }],
        changed_files_count: 3,
        detail: text(3),
        diagnostics: vec![Finding {
            code: Some(text(4)),
            column: Some(2),
            file: Some(text(5)),
            line: Some(1),
            message: text(6),
            severity: Level::Error,
        }],
        errors: Some(1),
        exit_code: Some(1),
        failed_command: text(7),
        failed_tests: vec![FailedTest {
            file: Some(text(5)),
            line: Some(3),
            message: Some(text(6)),
            name: text(8),
        }],
        failure_code: Some(text(9).into()),
        log: Some(text(10)),
        failing: vec![text(1), text(8), text(9)],
        other_failures: vec![FailedCheck {
            command: text(7),
            cut: true,
            detail: text(3),
            diagnostics: vec![Finding {
                file: Some(text(5)),
                message: text(6),
                ..Finding::default()
            }],
            failed_tests: vec![FailedTest {
                message: Some(text(11)),
                name: text(8),
                ..FailedTest::default()
            }],
            log: Some(text(10)),
            problems: vec![text(11)],
            stderr: Excerpt {
                head: text(6),
                ..Excerpt::default()
            },
            suggestion: format!("X{}", text(0)),
            ..failed(&text(1))
        }],
        other_failures_count: 2,
        outside_scope: vec![OutsideScope {
            list: List::Deny,
            path: repo_path(&texts[2]),
        }],
        outside_scope_count: 1,
        problems: vec![text(11)],
        reason: Some(Cause::TestsFailed),
        retries_remaining: 1,
        run_id: text(10),
        status: Some(Status::Failed),
        stderr: Excerpt {
            head: text(6),
            omitted_bytes: 7,
            tail: text(11),
        },
        stdout: Excerpt {
            head: text(11),
            omitted_bytes: 0,
            tail: String::new(),
        },
        step_id: text(1),
        suggestion: format!("X{}", text(0)),
        tests: Some(TestCounts {
            failed: 1,
            passed: 2,
            skipped: 3,
            ..TestCounts::default()
        }),
        version: 1,
        ..Feedback::default()
    }
}

/// A run of two steps that print what they like; the second fails as a warning.
fn run(texts: &[String]) -> (Plan, Report) {
    let text = |i: usize| texts[i].clone();
    let mut steps = vec![step("a"), step("b")];
    steps[0].source = Some(StepSource {
        column: 1,
        file: "contracts/verify.vplan".to_owned(),
        line: 3,
    });
    steps[1].severity = vplan::check::Severity::Warning;
    steps[0].command = text(7);
    let mut plan = plan(steps);
    plan.policy.fail_fast = false;
    let mut reading = Reading::from_format("rustc");
    for i in 0..15 {
        let severity = if i % 3 == 0 {
            Level::Warning
        } else {
            Level::Error
        };
        let (code, file) = (Some(text(4)), (i % 2 == 0).then(|| text(5)));
        reading.find(Finding {
            code,
            column: Some(i),
            file,
            line: Some(i),
            message: text(6),
            severity,
        });
        reading.fail(FailedTest {
            file: Some(text(8)),
            line: None,
            message: Some(text(6)),
            name: text(9),
        });
    }
    reading.object(text(11));
    let evidence = Evidence {
        exit: Some(1),
        reading: Some(Box::new(reading)),
        stderr: Captured::from(texts[10].as_bytes()),
        stdout: Captured::from(texts[11].as_bytes()),
        ..Evidence::default()
    };
    let detail = vplan::base::word::visible(texts[3].as_bytes());
    let record = |step| {
        let outcome = Outcome::new(Status::Failed, Cause::ExitCode, detail.clone());
        StepRecord::with_evidence(step, outcome, &evidence, 1, 5)
    };
    let records = plan.steps.iter().map(record).collect();
    let circumstances = Circumstances {
        attempt: 1,
        retries: 3,
        run_id: "r".into(),
        ..Circumstances::default()
    };
    let report = report(&plan, records, &StateEnding::default(), circumstances);
    (plan, report)
}

/// What a terminal was asked to do beside showing text in colour.
#[derive(Default)]
struct Asked(Vec<String>);

impl vt100::Callbacks for Asked {
    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("bell".into());
    }
    fn visual_bell(&mut self, _: &mut vt100::Screen) {
        self.0.push("visual bell".into());
    }
    fn resize(&mut self, _: &mut vt100::Screen, to: (u16, u16)) {
        self.0.push(format!("resize {to:?}"));
    }
    fn set_window_icon_name(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("icon".into());
    }
    fn set_window_title(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("title".into());
    }
    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], _: &[u8]) {
        self.0.push("copy".into());
    }
    fn paste_from_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.0.push("paste".into());
    }
    fn unhandled_char(&mut self, _: &mut vt100::Screen, c: char) {
        // What stands for a character that cannot be shown.
        if c != '\u{fffd}' {
            self.0.push(format!("char {c:?}"));
        }
    }
    fn unhandled_control(&mut self, _: &mut vt100::Screen, b: u8) {
        self.0.push(format!("control {b}"));
    }
    fn unhandled_escape(&mut self, _: &mut vt100::Screen, _: Option<u8>, _: Option<u8>, b: u8) {
        self.0.push(format!("escape {b}"));
    }
    fn unhandled_csi(
        &mut self,
        _: &mut vt100::Screen,
        _: Option<u8>,
        _: Option<u8>,
        _: &[&[u16]],
        c: char,
    ) {
        self.0.push(format!("csi {c}"));
    }
    fn unhandled_osc(&mut self, _: &mut vt100::Screen, _: &[&[u8]]) {
        self.0.push("osc".into());
    }
}

/// Shows a text in an emulator, line by line, so that the cursor can be looked at after each.
pub fn only_text(text: &str) -> Result<(), TestCaseError> {
    let columns = 4000_u16;
    let mut terminal = vt100::Parser::new_with_callbacks(
        5.try_into().unwrap(),
        columns.try_into().unwrap(),
        0,
        Asked::default(),
    );
    for line in text.split_terminator('\n') {
        prop_assert!(!line.contains('\r'));
        terminal.process(b"\x1b[H\x1b[2J");
        terminal.process(line.as_bytes());
        let plain: String = colourless(line);
        prop_assume!(plain.len() < usize::from(columns));
        let screen = terminal.screen();
        prop_assert!(
            !screen.alternate_screen() && !screen.hide_cursor() && !screen.application_cursor()
        );
        prop_assert_eq!(
            screen.cursor_position().0,
            0,
            "the cursor left its line: {:?}",
            line
        );
        // Whatever is in the line is on the screen, in that order. A tab moves on.
        let shown: String = screen
            .contents()
            .chars()
            .filter(|c| !c.is_whitespace())
            .collect();
        let want: String = plain
            .chars()
            .filter(|c| !c.is_whitespace() && *c != '\u{fffd}')
            .collect();
        prop_assert_eq!(shown, want);
    }
    let asked = &terminal.callbacks().0;
    prop_assert!(asked.is_empty(), "{:?}", asked);
    Ok(())
}

/// A line of ours without the colours that we write; any other sequence stays.
fn colourless(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("\u{1b}[") {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 2..];
        let digits = behind.chars().take_while(char::is_ascii_digit).count();
        assert!(behind[digits..].starts_with('m'), "no colour: {line:?}");
        rest = &behind[digits + 1..];
    }
    out + rest
}

/// GitHub's runner, as it reads a line of a log; characters that a comparison of texts overlooks
/// are left out.
pub fn obeyed(line: &str) -> bool {
    let seen: String = line
        .chars()
        .filter(|c| {
            !matches!(
                c,
                '\u{200b}' | '\u{feff}' | '\u{fe0f}' | '\u{34f}' | '\u{202e}' | '\u{ad}' | '\0'
            )
        })
        .collect();
    seen.trim_start().starts_with("::") || seen.contains("##[")
}

/// The texts of a Markdown document outside code, and what else is in it.
pub fn skeleton(markdown: &str) -> Vec<String> {
    let mut in_code = false;
    let mut out = Vec::new();
    for event in Parser::new_ext(markdown, Options::all()) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                in_code = true;
                out.push(format!("fence {info}"));
            }
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(_) if in_code => {}
            Event::Code(_) => out.push("code".to_owned()),
            event => out.push(format!("{event:?}")),
        }
    }
    out
}

/// Every line is inside a fence or outside, by the rule that people know: a fence ends at a line of
/// at least as many signs.
pub fn fenced(markdown: &str) -> Vec<&str> {
    let run = |line: &str| line.trim_start().chars().take_while(|c| *c == '`').count();
    let mut open: Option<usize> = None;
    let mut outside = Vec::new();
    for line in markdown.lines() {
        match open {
            None if run(line) >= 3 => open = Some(run(line)),
            Some(signs) if run(line) >= signs && line.trim().chars().all(|c| c == '`') => {
                open = None
            }
            None => outside.push(line),
            Some(_) => {}
        }
    }
    assert_eq!(open, None, "a fence stays open");
    outside
}

// What the properties at the end say, for anybody who has other texts.

pub fn check_feedback_as_text_is_text(texts: &[String]) -> Result<(), TestCaseError> {
    let text = render::feedback::text(&feedback(texts));
    only_text(&text)?;
    prop_assert!(!text.lines().any(obeyed), "{}", text);
    Ok(())
}

pub fn check_feedback_as_markdown_has_one_shape(texts: &[String]) -> Result<(), TestCaseError> {
    let markdown = render::feedback::markdown(&feedback(texts));
    let plain: Vec<String> = texts.iter().map(|_| "X".to_owned()).collect();
    let plain = render::feedback::markdown(&feedback(&plain));
    // Code spans beside each other may be two or one in number only if something leaks; all else
    // must be equal, too.
    prop_assert_eq!(skeleton(&markdown), skeleton(&plain), "{}", markdown);
    prop_assert_eq!(fenced(&markdown).len(), fenced(&plain).len());
    prop_assert!(!markdown.lines().any(obeyed), "{}", markdown);
    let strange = markdown
        .chars()
        .find(|c| *c != '\n' && *c != '\t' && vplan::base::word::is_unsafe_to_show(*c));
    prop_assert_eq!(strange, None);
    Ok(())
}

/// A feedback of several failing checks whose messages begin with a word of their own.
fn several(checks: usize, noise: &str, items: usize, repeat: usize) -> Feedback {
    let check = |i: usize| FailedCheck {
        command: format!("run {i} {noise}"),
        detail: format!("detail-{i} {noise}"),
        diagnostics: (0..items)
            .map(|n| Finding {
                file: Some(format!("src/file{n}.rs")),
                line: Some(7),
                message: format!("message-{i}-{n} {}", noise.repeat(repeat)),
                ..Finding::default()
            })
            .collect(),
        stderr: Excerpt {
            head: format!("output-{i} {}", noise.repeat(repeat)),
            ..Excerpt::default()
        },
        suggestion: "repair the reported places; do not silence the rule".to_owned(),
        ..failed(&format!("check-{i}"))
    };
    let first = check(0);
    Feedback {
        attempt_number: 1,
        caveats: vec![format!("caveat {noise}"); items],
        detail: first.detail,
        diagnostics: first.diagnostics,
        failed_command: first.command,
        failing: (0..checks).map(|i| format!("check-{i}")).collect(),
        other_failures: (1..checks).map(check).collect(),
        other_failures_count: checks - 1,
        run_id: "20260102T030405.678Z-0123456789abcdef0123456789abcdef".to_owned(),
        status: Some(Status::Failed),
        stderr: first.stderr,
        step_id: first.id,
        suggestion: first.suggestion,
        version: 1,
        ..Feedback::default()
    }
}

/// What must hold of any budget: it is kept but for names; every name is there, and the number of
/// them; the first failing check has its message.
fn check_a_budget(
    budget: usize,
    (checks, items, repeat): (usize, usize, usize),
    noise: &str,
) -> Result<(), TestCaseError> {
    let whole = several(checks, noise, items, repeat);
    let bare = Feedback {
        failing: whole.failing.clone(),
        step_id: whole.step_id.clone(),
        ..Feedback::default()
    };
    type Show = fn(&Feedback) -> String;
    let forms: [(&str, Show); 3] = [
        ("text", render::feedback::text),
        ("md", render::feedback::markdown),
        ("json", |f| vplan::base::canon::to_canonical(f)),
    ];
    for (form, show) in forms {
        let told = whole.within(budget, &|f| show(f).len());
        let text = show(&told);
        prop_assert!(
            text.len() <= budget + show(&bare).len(),
            "{} {} > {}: {}",
            form,
            text.len(),
            budget,
            text
        );
        prop_assert_eq!(&told.failing, &whole.failing);
        prop_assert_eq!(told.other_failures_count, checks - 1);
        for name in &whole.failing {
            prop_assert!(
                text.contains(name.as_str()),
                "{} in {}: {}",
                name,
                form,
                text
            );
        }
        let message = if items > 0 { "message-0-0" } else { "output-0" };
        prop_assert!(
            text.contains(message) && text.contains("detail-0"),
            "{}: {}",
            form,
            text
        );
        // What is left out is said.
        let all = told.other_failures.len() + 1 == checks;
        prop_assert!(
            all || form == "json" || text.contains("more are not shown"),
            "{}",
            text
        );
        if show(&whole).len() <= budget {
            prop_assert_eq!(&told, &whole);
        }
    }
    Ok(())
}

pub fn check_feedback_is_inert_in_json(texts: &[String]) -> Result<(), TestCaseError> {
    let (_, report) = run(texts);
    let feedback = report.feedback.unwrap();
    let json = vplan::base::canon::to_canonical(&feedback);
    prop_assert!(json_size(&feedback) == json.len() && json.len() <= FEEDBACK_BYTES);
    for text in [
        &feedback.stdout.head,
        &feedback.stderr.head,
        &feedback.diagnostics[0].message,
        &feedback.problems[0],
    ] {
        prop_assert!(
            !text
                .chars()
                .any(|c| c != '\n' && c != '\t' && vplan::base::word::is_unsafe_to_show(c)),
            "{:?}",
            text
        );
    }
    let back: Feedback = serde_json::from_str(&json).unwrap();
    prop_assert_eq!(back, feedback);
    Ok(())
}

pub fn check_a_report_for_people_is_text(
    texts: &[String],
    color: bool,
) -> Result<(), TestCaseError> {
    let (plan, report) = run(texts);
    let seen = std::collections::BTreeMap::new();
    let look = render::report::ReportStyle {
        color,
        columns: Some(100),
        statuses: &seen,
        quiet: false,
    };
    let text = without_commands(&render::report::report(
        &report,
        &plan,
        Some("records"),
        look,
    ));
    only_text(&text)?;
    prop_assert!(!text.lines().any(obeyed), "{}", text);
    Ok(())
}

/// On a terminal of so many columns no line of a report wraps by itself, but for the path of an
/// output, and what a command wrote stays behind its bar.
pub fn check_a_report_fits_its_terminal(
    texts: &[String],
    columns: usize,
) -> Result<(), TestCaseError> {
    let (plan, report) = run(texts);
    let seen = std::collections::BTreeMap::new();
    let look = render::report::ReportStyle {
        color: true,
        columns: Some(columns),
        statuses: &seen,
        quiet: false,
    };
    let text = render::report::report(&report, &plan, Some("records"), look);
    let rows = u16::try_from(text.lines().count() + 100).unwrap();
    let size = |n: u16| std::num::NonZero::new(n).unwrap();
    let width = u16::try_from(columns).unwrap();
    let mut terminal = vt100::Parser::new(size(rows), size(width), 0);
    terminal.process(text.replace('\n', "\r\n").as_bytes());
    let screen = terminal.screen();
    let shown: Vec<String> = screen.rows(0, width).collect();
    for (at, row) in shown.iter().enumerate() {
        let wraps = screen.row_wrapped(u16::try_from(at).unwrap());
        prop_assert!(!wraps || row.contains("whole output"), "{}: {}", at, text);
    }
    Ok(())
}

pub fn check_junit_is_xml(texts: &[String]) -> Result<(), TestCaseError> {
    let (plan, report) = run(texts);
    let xml = render::junit::run(&report, &plan);
    prop_assert!(!xml.lines().any(obeyed), "{}", xml);
    let valid = |c: char| matches!(c, '\t' | '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}');
    prop_assert!(xml.chars().all(valid));
    let mut reader = quick_xml::Reader::from_str(&xml);
    reader.config_mut().check_end_names = true;
    let (mut cases, mut failures, mut depth) = (0, 0, 0_i32);
    loop {
        use quick_xml::events::Event as Xml;
        let event = reader
            .read_event()
            .map_err(|e| TestCaseError::fail(format!("{e}\n{xml}")))?;
        let (tag, open) = match &event {
            Xml::Start(tag) => (tag, true),
            Xml::Empty(tag) => (tag, false),
            Xml::End(_) => {
                depth -= 1;
                continue;
            }
            Xml::Eof => break,
            _ => continue,
        };
        depth += i32::from(open);
        for attribute in tag.attributes() {
            prop_assert!(attribute.is_ok(), "{}", xml);
        }
        cases += i32::from(tag.name().as_ref() == "testcase");
        failures += i32::from(tag.name().as_ref() == "failure");
    }
    prop_assert_eq!((depth, cases, failures), (0, 2 + 2 * 15, 1 + 15));
    Ok(())
}

pub fn check_sarif_keeps_to_its_schema(texts: &[String]) -> Result<(), TestCaseError> {
    let (plan, report) = run(texts);
    let log = render::sarif::log(&report, &plan, None);
    if let Err(why) = crate::reports::is_sarif(&log) {
        return Err(TestCaseError::fail(format!("{why}: {log}")));
    }
    Ok(())
}

pub fn check_gha_escape_roundtrip(texts: &[String]) -> Result<(), TestCaseError> {
    let (plan, report) = run(texts);
    let commands =
        render::github::annotations(&report, &plan, None, std::path::Path::new("sub dir"));
    let mut counts = std::collections::BTreeMap::new();
    for line in commands.lines() {
        let (command, rest) = line
            .strip_prefix("::")
            .and_then(|l| l.split_once(' '))
            .unwrap();
        *counts.entry(command.to_owned()).or_insert(0) += 1;
        let (properties, message) = rest.split_once("::").unwrap();
        for property in properties.split(',') {
            let (name, value) = property.split_once('=').unwrap();
            prop_assert!(["file", "line", "col", "title"].contains(&name), "{}", line);
            prop_assert!(!value.contains(':'), "{}", line);
        }
        prop_assert!(!line.contains("##[") && !message.is_empty(), "{}", line);
        let unescaped = message
            .replace("%0A", "\n")
            .replace("%0D", "\r")
            .replace("%25", "%");
        prop_assert!(
            !unescaped.contains('\r') && !unescaped.lines().any(obeyed),
            "{}",
            line
        );
    }
    prop_assert_eq!(counts.get("error"), Some(&10), "{}", commands);
    prop_assert_eq!(counts.get("warning"), Some(&10));
    prop_assert_eq!(counts.get("notice"), Some(&1), "how many were cut");
    Ok(())
}

pub fn check_a_summary_has_one_shape(texts: &[String]) -> Result<(), TestCaseError> {
    let summary = |texts: &[String]| {
        let (plan, report) = run(texts);
        render::github::summary(&report, &plan)
    };
    let plain: Vec<String> = texts.iter().map(|_| "X".to_owned()).collect();
    let shown = summary(texts);
    prop_assert_eq!(skeleton(&shown), skeleton(&summary(&plain)));
    prop_assert!(!shown.lines().any(obeyed), "{}", shown);
    Ok(())
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn feedback_as_text_is_text(texts in texts(noise())) {
        check_feedback_as_text_is_text(&texts)?;
    }

    #[test]
    fn feedback_as_markdown_has_one_shape(texts in texts(hostile())) {
        check_feedback_as_markdown_has_one_shape(&texts)?;
    }

    #[test]
    fn feedback_is_inert_in_json(texts in texts(noise())) {
        check_feedback_is_inert_in_json(&texts)?;
    }

    #[test]
    fn a_report_for_people_is_text(texts in texts(noise()), color: bool) {
        check_a_report_for_people_is_text(&texts, color)?;
    }

    #[test]
    fn a_report_fits_its_terminal(
        texts in texts(noise()),
        columns in prop::sample::select(vec![40_usize, 80, 120]),
    ) {
        check_a_report_fits_its_terminal(&texts, columns)?;
    }

    #[test]
    fn junit_is_xml(texts in texts(noise())) {
        check_junit_is_xml(&texts)?;
    }

    #[test]
    fn sarif_keeps_to_its_schema(texts in texts(noise())) {
        check_sarif_keeps_to_its_schema(&texts)?;
    }

    #[test]
    fn gha_escape_roundtrip(texts in texts(noise())) {
        check_gha_escape_roundtrip(&texts)?;
    }

    #[test]
    fn a_summary_has_one_shape(texts in texts(hostile())) {
        check_a_summary_has_one_shape(&texts)?;
    }
}

proptest! {
    // Each case makes many feedbacks.
    #![proptest_config(config(48))]

    #[test]
    fn a_budget_cuts_no_name_and_no_first_message(
        budget in prop_oneof![1024_usize..2_048, 1024_usize..30_000],
        checks in prop_oneof![1_usize..4, 1_usize..30],
        items in 0_usize..12,
        repeat in 0_usize..300,
        noise in prop::sample::select(vec!["word ", "\"", "\\", "é", "`", "\n", "\u{fffd}", "<"]),
    ) {
        check_a_budget(budget, (checks, items, repeat), noise)?;
    }
}
