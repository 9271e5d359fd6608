//! Writes where `tools.table` has each row and program, so that no start of vplan looks for them.

#![allow(
    clippy::disallowed_methods,
    reason = "what builds a crate is not of it"
)]

use std::path::Path;

/// The classes of rows, each with its details in the indented lines below.
const ROWS: [&str; 7] = [
    "tool", "task", "never", "setup", "service", "plumbing", "launcher",
];
/// What is one line.
const LINES: [&str; 10] = [
    "words",
    "action",
    "hook",
    "dry",
    "keeps",
    "language",
    "list",
    "source",
    "configured",
    "output",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=tools.table");
    let text = std::fs::read_to_string("tools.table")?;
    let (mut rows, mut lines) = (Vec::new(), Vec::new());
    let (mut programs, mut patterns) = (Vec::new(), Vec::new());
    let mut end = 0;
    let mut in_row = false;
    for (line, words) in (1..).zip(text.split_inclusive('\n')) {
        let start = end;
        end += words.len();
        if words.starts_with(' ') && !in_row && !words.trim().is_empty() {
            return Err(format!("tools.table:{line}: a detail of no row").into());
        }
        if words.starts_with([' ', '#', '\n']) {
            if let Some((_, last, _)) = rows.last_mut().filter(|_| in_row) {
                *last = end;
            }
            continue;
        }
        let (class, rest) = words.split_once(' ').unwrap_or((words, ""));
        in_row = ROWS.contains(&class);
        if !in_row {
            if !LINES.contains(&class) {
                return Err(format!("tools.table:{line}: `{class}`").into());
            }
            lines.push((start, end, line));
            continue;
        }
        let calls = rest.split(" | ").next().unwrap_or(rest).split(',');
        for (call, words) in calls.enumerate() {
            let program = words.split_whitespace().next().unwrap_or_default();
            let start = program.as_ptr() as usize - text.as_ptr() as usize;
            let (length, row) = (program.len(), rows.len());
            let place =
                format!("Place {{ start: {start}, length: {length}, row: {row}, call: {call} }}");
            let is_pattern = program.contains('*');
            let list = if is_pattern {
                &mut patterns
            } else {
                &mut programs
            };
            list.push((program, place));
        }
        rows.push((start, end, line));
    }
    programs.sort_by_key(|(program, _)| *program);
    let spans = |list: Vec<(usize, usize, usize)>| {
        let span =
            |(start, end, line)| format!("Span {{ start: {start}, end: {end}, line: {line} }}");
        list.into_iter().map(span).collect()
    };
    let places = |list: Vec<(&str, String)>| list.into_iter().map(|(_, place)| place).collect();
    let all: [(&str, Vec<String>); 4] = [
        ("ROWS: [Span", spans(rows)),
        ("LINES: [Span", spans(lines)),
        ("PROGRAMS: [Place", places(programs)),
        ("PATTERNS: [Place", places(patterns)),
    ];
    let out = all
        .map(|(head, items)| format!("static {head}; {}] = [{}];", items.len(), items.join(",")));
    std::fs::write(
        Path::new(&std::env::var("OUT_DIR")?).join("tools.rs"),
        out.join("\n"),
    )?;
    Ok(())
}
