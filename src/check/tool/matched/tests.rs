//! The table of tools runs its own examples.

use super::super::table::{self, actions, fits};
use super::*;
use std::collections::BTreeSet;

fn words(command: &str) -> Vec<String> {
    command.split_whitespace().map(str::to_owned).collect()
}

/// A reading, as the examples of the table write it.
fn format_reading(reading: &CommandReading) -> String {
    match reading.class {
        ToolClass::Never(_) => return "never".to_owned(),
        ToolClass::Service(_) => return "service".to_owned(),
        ToolClass::Setup(_) => return "setup".to_owned(),
        ToolClass::Plumbing => return "plumbing".to_owned(),
        ToolClass::Tool | ToolClass::Task | ToolClass::Launcher => {}
    }
    let form = reading
        .form
        .words()
        .map_or_else(|| "none".to_owned(), |words| words.join(" "));
    match reading.verb {
        Some(verb) => format!("{} {}: {form}", verb.verb(), reading.name),
        None => format!("task: {form}"),
    }
}

/// All rows but launchers.
fn rows() -> impl Iterator<Item = &'static ToolRow> {
    let all = table::rows().unwrap().into_iter();
    all.filter(|row| row.class != ToolClass::Launcher)
}

#[test]
fn the_table_is_read_to_its_end() {
    assert_eq!(table::rows().map(|rows| rows.is_empty()), Ok(false));
}

#[test]
fn every_row_has_an_example_and_runs_it() {
    let mut wrong = Vec::new();
    for row in table::rows().unwrap() {
        if row.examples.is_empty() {
            wrong.push(format!("line {}: no example", row.line));
        }
        for (command, want) in &row.examples {
            let words = words(command);
            let started = started(&words);
            let got = if row.class == ToolClass::Launcher {
                started
                    .text
                    .clone()
                    .unwrap_or_else(|| words[started.at()..].join(" "))
            } else {
                let found = find(&words, &started).map(|found| found.row.line);
                if found != Some(row.line) {
                    wrong.push(format!(
                        "line {}: `{command}` is of line {found:?}",
                        row.line
                    ));
                }
                read(&words)
                    .map_or_else(|| "unknown".to_owned(), |reading| format_reading(&reading))
            };
            if got != *want {
                wrong.push(format!(
                    "line {}: `{command}`\n  is {got}\n  not {want}",
                    row.line
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The commands that a row is called by, each alternative once.
fn calls(row: &ToolRow) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for call in row.calls.iter().filter(|call| call.program != "*") {
        let mut commands = vec![vec![call.program.replace('*', "1")]];
        for word in &call.words {
            let word = word.strip_prefix('~').unwrap_or(word);
            let alternatives: Vec<&str> = word.split('/').collect();
            commands = commands
                .iter()
                .flat_map(|command| {
                    let with = |one: &&str| {
                        let more = one.replace('*', "x");
                        command.iter().cloned().chain([more]).collect::<Vec<_>>()
                    };
                    alternatives.iter().map(with).collect::<Vec<_>>()
                })
                .collect();
        }
        all.extend(commands);
    }
    all
}

#[test]
fn every_call_of_a_row_reaches_it() {
    let mut wrong = Vec::new();
    for row in rows() {
        for call in calls(row) {
            let only = Started {
                starts: vec![0],
                text: None,
            };
            let found = find(&call, &only).map(|found| found.row.line);
            if found != Some(row.line) {
                wrong.push(format!(
                    "line {}: `{}` is of {found:?}",
                    row.line,
                    call.join(" ")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_checking_form_of_a_checking_form_is_itself() {
    let mut wrong = Vec::new();
    let mut commands: Vec<Vec<String>> = rows().flat_map(calls).collect();
    commands.extend(rows().flat_map(|row| row.examples.iter().map(|(c, _)| words(c))));
    for row in rows() {
        for call in calls(row) {
            for option in row.writes.when.iter().chain(&row.writes.unless) {
                commands.push(call.iter().cloned().chain([(*option).to_owned()]).collect());
            }
        }
    }
    for command in commands {
        let Some(form) = read(&command).and_then(|r| r.form.words().map(<[String]>::to_vec)) else {
            continue;
        };
        let again = read(&form).map(|reading| reading.form);
        if again != Some(Form::AsWritten(form.clone())) {
            wrong.push(format!(
                "{}\n  {}\n  {again:?}",
                command.join(" "),
                form.join(" ")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A launcher in front changes no reading.
#[test]
fn tools_behind_launchers() {
    let mut wrong = Vec::new();
    let launchers: Vec<(&str, &str)> = table::rows()
        .unwrap()
        .into_iter()
        .filter(|r| r.class == ToolClass::Launcher && r.within.is_empty() && r.never.is_none())
        .flat_map(|row| row.examples.iter().copied())
        .collect();
    for row in rows().filter(|row| row.class == ToolClass::Tool) {
        for (command, _) in &row.examples {
            let command = words(command);
            let bare = &command[started(&command).at()..];
            let Some(want) = read(bare) else { continue };
            for (example, starts) in &launchers {
                // That of `find` has words after the command.
                let Some(launcher) = example.strip_suffix(starts) else {
                    continue;
                };
                let shell = started(&words(example)).text.is_some();
                let joined = bare.join(" ");
                if shell && (joined.contains(['*', '"', '@', '~', '(']) || bare.len() > 1) {
                    continue;
                }
                let got = read(&words(&format!("{launcher}{joined}")));
                let same = got.as_ref().is_some_and(|got| {
                    (got.verb, &got.name, &got.key, &got.positional)
                        == (want.verb, &want.name, &want.key, &want.positional)
                        && got
                            .form
                            .words()
                            .map(|w| w.ends_with(want.form.words().unwrap_or(&[])))
                            == want.form.words().map(|_| true)
                });
                if !same {
                    wrong.push(format!("{launcher}{joined}\n  {got:?}\n  {want:?}"));
                }
            }
        }
    }
    wrong.truncate(12);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_format_is_known_and_some_tool_writes_it() {
    let named: BTreeSet<&str> = table::rows()
        .unwrap()
        .into_iter()
        .flat_map(|row| row.formats.iter().copied())
        .collect();
    let asked = ["junit", "junit-findings", "sarif", "trx"];
    let known = crate::output::ALL.iter().map(|format| format.id);
    let known: BTreeSet<&str> = known.filter(|id| !asked.contains(id)).collect();
    assert_eq!(named, known);
}

#[test]
fn every_set_of_paths_is_known() {
    let languages = super::super::table::languages();
    for row in rows().filter(|row| matches!(row.class, ToolClass::Tool | ToolClass::Task)) {
        let known = ["code", "all"].contains(&row.paths)
            || languages.iter().any(|language| language.name == row.paths);
        assert!(known, "line {}: `{}`", row.line, row.paths);
    }
}

#[test]
fn every_command_of_a_hook_or_action_is_read() {
    let mut names = BTreeSet::new();
    for action in actions("action").chain(actions("hook")) {
        let Some(command) = action.filled(|_| None) else {
            continue;
        };
        let piped = command.rsplit("xargs -0 ").next().unwrap_or_default();
        let known = matches!(
            read(&words(piped)).map(|reading| reading.class),
            Some(ToolClass::Tool | ToolClass::Task | ToolClass::Setup(_))
        );
        // A command that is all input of the action is read where it is filled in.
        let is_open = piped.is_empty() || piped == "cargo";
        assert!(known || is_open, "line {}: {command}", action.line);
    }
    for action in actions("action") {
        for name in &action.names {
            assert!(
                names.insert(*name) && *name == name.to_lowercase(),
                "{name}"
            );
        }
    }
    for language in table::languages() {
        for command in &language.gap {
            assert!(
                read(&words(command)).is_some_and(|r| r.verb.is_some()),
                "{command}"
            );
        }
    }
}

#[test]
fn names_of_tasks() {
    use super::super::table::TaskVerb::{Compile, Idle, Lint, Test, Unclear, Writes};
    for (name, want) in [
        ("test", Test),
        ("test:unit", Test),
        ("unitTests", Test),
        ("lint-css", Lint),
        ("lint:fix", Writes),
        ("test:watch", Idle),
        ("testWatch", Idle),
        ("typecheck", Compile),
        ("build", Compile),
        ("dev", Idle),
        ("generate", Writes),
        ("ci", Unclear),
        ("all", Unclear),
        ("contest", Unclear),
    ] {
        assert_eq!(task_word(name), want, "{name}");
    }
    assert!(matches!(task_word("docker-build"), TaskVerb::Never(_)));
}

#[test]
fn other_commands() {
    for (command, want) in [
        ("./x.py test", Some("test test: ./x.py test")),
        ("./tool publish", Some("never")),
        ("./tool other", None),
        ("own", None),
        ("sh -c pytest", Some("test pytest: pytest")),
        ("FOO=1 env pytest", Some("test pytest: FOO=1 env pytest")),
        ("", None),
        ("env", Some("plumbing")),
        ("pnpm -r test", Some("test test: pnpm -r test")),
        (
            "npx lerna run test --since main",
            Some("test test: npx lerna run test"),
        ),
        ("npm run publish", Some("never")),
        ("sudo -u ci make test", Some("setup")),
    ] {
        let got = read(&words(command)).map(|reading| format_reading(&reading));
        assert_eq!(got.as_deref(), want, "{command}");
    }
    let two = ["sh".to_owned(), "-c".to_owned(), "make && x".to_owned()];
    assert_eq!(read(&two), None);
}

#[test]
fn actions_and_hooks_by_name() {
    use super::super::table::{action, hook};
    let with = |name: &str, value: &'static str| {
        let name = name.to_owned();
        move |input: &str| (input == name).then(|| value.to_owned())
    };
    let golangci = action("golangci/golangci-lint-action@v8").unwrap();
    assert_eq!(
        golangci.filled(with("args", "--timeout=5m")).as_deref(),
        Some("golangci-lint run --timeout=5m")
    );
    let ruff = action("astral-sh/ruff-action").unwrap();
    assert_eq!(ruff.filled(|_| None).as_deref(), Some("ruff check"));
    let typos = action("crate-ci/typos@v1").unwrap();
    assert_eq!(
        typos.filled(with("config", "t.toml")).as_deref(),
        Some("typos --config t.toml")
    );
    let shell = action("ludeeus/action-shellcheck@master").unwrap();
    assert_eq!(
        shell.filled(|_| None).as_deref(),
        Some("git ls-files -z '*.sh' | xargs -0 shellcheck")
    );
    assert_eq!(action("actions/checkout@v4").unwrap().command, None);
    assert!(action("docker://rhysd/actionlint:1.7").is_some());
    assert_eq!(
        hook("alejandra").unwrap().command,
        Some("alejandra --check")
    );
    assert_eq!(hook("trailing-whitespace").unwrap().reason, "only rewrites");
    assert!(hook("own").is_none());
    assert!(fits("a*c*", "abcd") && !fits("a*c", "abcd") && fits("*", ""));
}
